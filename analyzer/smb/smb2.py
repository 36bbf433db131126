"""SMB2 and SMB3 messages in, channel events out ([MS-SMB2] sections 2.2 and 3.3).

A request is remembered by its MessageId until its answer comes; what the answer means (whose data a READ returned, which
FileId a CREATE got) is in the request. An interim answer (STATUS_PENDING) leaves the request waiting. Sessions and trees
that were set up before the capture began are made up as they are met, with what is known of them: their numbers.
"""

from __future__ import annotations

import struct
from collections.abc import Generator, Iterator, Sequence

from msgspec import Struct, field

from analyzer.auth.context import Handshake
from analyzer.core.cursor import Cursor
from analyzer.core.errors import DecodeError, MalformedError, TruncatedError
from analyzer.core.events import Event, Problem
from analyzer.core.guid import guid_text
from analyzer.core.traced import EMPTY, TracedBytes
from analyzer.model.connection import Channel
from analyzer.model.record import Endpoint
from analyzer.smb.crypto import (
    AES_128_CCM,
    AES_CMAC,
    DIALECT_300,
    DIALECT_311,
    HMAC_SHA256,
    TRANSFORM_LEN,
    check_signature,
    derive_keys,
    preauth_update,
)
from analyzer.smb.events import ChannelData, ChannelMessages, SmbInfo, Span
from analyzer.smb.framing import SMB2_MAGIC, TRANSFORM_MAGIC, Message
from analyzer.smb.seals import open_message, open_next, opened_at, report
from analyzer.smb.state import MAX_FRAMES, MAX_SESSIONS, Link, Open, OpenKind, Session, looks_like_dcerpc, pipe_name
from analyzer.tcp.events import Direction

HEADER_LEN = 64
NEGOTIATE, SESSION_SETUP, LOGOFF, TREE_CONNECT, TREE_DISCONNECT, CREATE, CLOSE = range(7)
READ, WRITE, IOCTL, CANCEL = 0x08, 0x09, 0x0B, 0x0C

FLAG_RESPONSE = 0x1
FLAG_ASYNC = 0x2
FLAG_RELATED = 0x4
FLAG_SIGNED = 0x8

STATUS_SUCCESS = 0
STATUS_PENDING = 0x103
STATUS_MORE_PROCESSING_REQUIRED = 0xC0000016

FSCTL_PIPE_TRANSCEIVE = 0x0011C017
SESSION_FLAG_BINDING = 0x01
SHARE_TYPE_PIPE = 0x02

ANY_FILE = b"\xff" * 16

DIALECTS = {0x0202: "2.0.2", 0x0210: "2.1", 0x02FF: "2.???", 0x0300: "3.0", 0x0302: "3.0.2", 0x0311: "3.1.1"}

CONTEXT_ENCRYPTION, CONTEXT_SIGNING = 2, 8
CAPABILITY_ENCRYPTION = 0x40
# Checking what large transfers of files were signed with would take longer than reading everything else.
MAX_CHECKED = 128 * 1024
_MAX_CONTEXTS = 64
# Clients send a handful; a forged compound of 64-byte headers would be a quarter of a million.
MAX_COMPOUND = 1024
# With more requests waiting than this, who asked is not looked up for each loss.
_MAX_ASKED = 64

# Windows grants a connection at most 8192 credits, so no more requests can wait; beyond, the oldest is forgotten.
MAX_PENDING = 8192


class Shell(Struct, frozen=True):
    """What was around a message: an SMB3 transform, a compression transform."""

    encrypted: bool = False
    compressed: bool = False


PLAIN = Shell()
SEALED = Shell(encrypted=True)


class Header(Struct, frozen=True):
    status: int
    command: int
    flags: int
    next_command: int
    message_id: int
    tree_id: int | None
    session_id: int

    @property
    def is_response(self) -> bool:
        return bool(self.flags & FLAG_RESPONSE)


class Setup(Struct):
    """A session setup under way. `preauth_hash` is None where bytes of it are missing or the dialect has none."""

    handshake: Handshake
    preauth_hash: bytes | None
    binding: bool
    fresh: bool
    first_time_ns: int
    frames: list[int] = field(default_factory=list)


class Chain(Struct):
    """Related operations of a compound share the FileId that its CREATE will get; `waiting` is data sent before it is known."""

    file_id: bytes | None = None
    session_id: int = 0
    tree_id: int | None = None
    waiting: list[tuple[Message, tuple[int, int], SmbInfo]] = field(default_factory=list)


class Request(Struct):
    command: int
    session_id: int
    tree_id: int | None
    chain: Chain | None = None
    file_id: bytes | None = None
    path: str | None = None
    impersonation: int | None = None
    setup: Setup | None = None


# ProtocolId, StructureSize, CreditCharge, Status, Command, Credits, Flags, NextCommand, MessageId, then AsyncId or Reserved
# and TreeId, SessionId, Signature ([MS-SMB2] 2.2.1). Every message passes here, so it is read in one step. The AsyncId is
# not needed: the final answer to an asynchronous request has its MessageId too ([MS-SMB2] 3.3.4.1).
_HEADER = struct.Struct("<4xH2xIH2xIIQ4xIQ16x")


# The same of a whole message that is taken the short way: with ProtocolId, without TreeId.
_QUICK_HEADER = struct.Struct("<4sH2xIH2xIIQ8xQ")
# Requests: what precedes the FileId of a READ; of a WRITE DataOffset, Length and FileId; of an IOCTL CtlCode, FileId, InputOffset,
# InputCount. Answers: of a READ StructureSize, DataOffset, DataLength; of an IOCTL StructureSize, CtlCode, FileId, OutputOffset,
# OutputCount ([MS-SMB2] 2.2.19 to 2.2.22, 2.2.31, 2.2.32).
_WRITE = struct.Struct("<2xHI8x16s")
_IOCTL = struct.Struct("<4xI16sII")
_READ_ANSWER = struct.Struct("<HBxI")
_IOCTL_ANSWER = struct.Struct("<H2xI16s8xII")
# The longest of these behind the header; the answer to a WRITE and the shortest answer to a READ have no more than 16 bytes.
_QUICK_LEN = HEADER_LEN + 40
_QUICK_LEAST = HEADER_LEN + 16
_NO_SESSION = 0xFFFFFFFFFFFFFFFF
_MAX_INFOS = 256
# What a request and the header of its answer take between the data of two answers, and little more.
_NEIGHBOURING = 512
# So much of its data tells what an open of unknown kind is.
_LOOKED_AT = 16


def read_header(data: bytes) -> Header:
    if len(data) < HEADER_LEN:
        raise TruncatedError(f"{HEADER_LEN} bytes wanted, {len(data)} there", field="header", start=0, stop=len(data))
    size, status, command, flags, next_command, message_id, tree_id, session_id = _HEADER.unpack_from(data)
    if size != HEADER_LEN:
        raise MalformedError(f"{size} is not {HEADER_LEN}", field="header.structure_size", start=4, stop=6)
    return Header(status, command, flags, next_command, message_id, None if flags & FLAG_ASYNC else tree_id, session_id)


class Smb2Reader:
    """Follows the SMB2 messages of one connection."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._pending: dict[int, Request] = {}
        self._setups: dict[int, Setup] = {}
        self._requests_lost = False
        self._forgot = False
        self._signature_ok: bool | None = None
        # Few differ, and all messages of a conversation are carried alike.
        self._infos: dict[tuple[object, ...], SmbInfo] = {}

    def feed(self, direction: Direction, message: Message, shell: Shell) -> Iterator[Event]:
        """One message, perhaps a compound, out of its shells."""
        head = message.head.data
        if len(head) < HEADER_LEN:
            yield from self._unreadable(direction, message, "its header is not in the capture")
            return
        header = read_header(head)
        if self._link.client_direction is None:
            self._link.client_direction = _other(direction) if header.is_response else direction
        yield from self._compound(direction, message, shell)

    def quick(
        self,
        speaker: Direction,
        data: TracedBytes,
        messages: Sequence[tuple[int, int] | None],
        replies: Sequence[bool],
        first: int,
        out: list[Event],
    ) -> tuple[int, TracedBytes | None]:
        """The same as `feed` for the messages that are nearly all there are: single ones that read, write or transceive, of
        opens that are known, encrypted or not.

        Message i lies whole in `data`, from start to stop of `messages[i]` (None: no message does), and was sent by `speaker`, or
        by the other direction where `replies[i]`. They are taken from number `first` on until one is of another kind; nothing
        has happened to that one, but that it is returned opened, where it was encrypted, beside its number.
        """
        link, sessions, pending = self._link, self._link.sessions, self._pending
        client = link.client_direction
        if client is None:
            return first, None
        # A single message may be a long one, of which only the first bytes are wanted.
        only = messages[0] if len(messages) == 1 else None
        raw = data.data if only is None else data.top(only[0] + _QUICK_LEN)
        seen, carried = _Seen(data), _Carried(out)
        opened: bytes | None = None
        asked: Request | None = None
        begin, number = 0, first
        while number < len(messages) and (message := messages[number]) is not None:
            begin, stop = message
            head, at, shell = raw, begin, PLAIN
            if head[at : at + 4] == TRANSFORM_MAGIC:
                session = sessions.get(int.from_bytes(raw[at + TRANSFORM_LEN - 8 : at + TRANSFORM_LEN], "little"))
                if session is None or session.session_id == 0:
                    break
                opened = open_next(session, data.data, begin, stop, (speaker == client) != replies[number])
                if opened is None:
                    break
                seen.note(session, begin)
                head, at, stop, shell = opened, 0, len(opened), SEALED
            if stop - at < HEADER_LEN:
                break
            magic, size, status, command, flags, next_command, message_id, session_id = _QUICK_HEADER.unpack_from(
                head, at
            )
            if (
                (command != READ and command != IOCTL and command != WRITE)
                or magic != SMB2_MAGIC
                or size != HEADER_LEN
                or next_command
                or flags & FLAG_RELATED
            ):
                break
            session = sessions.get(session_id)
            if session is None or session_id == 0 or session_id == _NO_SESSION:
                break
            is_response = flags & FLAG_RESPONSE
            file_id: bytes | None
            start = length = 0
            carries = True
            is_interim = is_response and status == STATUS_PENDING
            if is_interim:
                file_id, carries = None, False
            elif is_response:
                request = pending.get(message_id)
                if request is None or request.command != command or status >> 30 == 3 or stop - at < _QUICK_LEAST:
                    break
                if command == READ:
                    file_id = request.file_id
                    size, start, length = _READ_ANSWER.unpack_from(head, at + HEADER_LEN)
                    if size != 17 or file_id is None:
                        break
                elif command == IOCTL:
                    if stop - at < _QUICK_LEN:
                        break
                    size, code, file_id, start, length = _IOCTL_ANSWER.unpack_from(head, at + HEADER_LEN)
                    if size != 49 or code != FSCTL_PIPE_TRANSCEIVE:
                        break
                else:
                    file_id, carries = None, False
            else:
                if len(pending) >= MAX_PENDING or stop - at < _QUICK_LEN or flags & FLAG_ASYNC:
                    break
                if command == READ:
                    file_id, carries = head[at + HEADER_LEN + 16 : at + HEADER_LEN + 32], False
                elif command == WRITE:
                    start, length, file_id = _WRITE.unpack_from(head, at + HEADER_LEN)
                else:
                    code, file_id, start, length = _IOCTL.unpack_from(head, at + HEADER_LEN)
                    if code != FSCTL_PIPE_TRANSCEIVE:
                        break
                if file_id == ANY_FILE:
                    break
            channel: Channel | None = None
            if carries:
                to = session.opens.get(file_id) if file_id is not None else None
                if to is None or (length and (start < HEADER_LEN or start + length > stop - at)):
                    break
                if to.kind == "pipe" and to.is_dcerpc is None:
                    break
                if to.channel is None and to.kind != "file":
                    span = slice(at + start, at + start + min(length, _LOOKED_AT))
                    if to.kind == "pipe" or looks_like_dcerpc(data[span].data if opened is None else opened[span]):
                        break
                channel = to.channel if to.kind != "file" else None
            # From here on it is certain that nothing is unusual about the message.
            signed = flags & FLAG_SIGNED
            self._signature_ok = None
            if (is_response and not is_interim) or carries or (signed and shell is PLAIN):
                seen.note(session, begin if shell is PLAIN else begin + TRANSFORM_LEN)
            if signed and shell is PLAIN:
                self._signature_ok = self._judge(session, data, at, stop, is_response=bool(is_response), cancel=False)
            if is_interim:
                pass  # the request goes on waiting
            elif is_response:
                del pending[message_id]
            else:
                # Who reads on asks nothing else than before.
                if (
                    asked is None
                    or asked.file_id != file_id
                    or asked.command != command
                    or asked.session_id != session_id
                ):
                    asked = Request(command, session_id, None, None, file_id)
                pending[message_id] = asked
            if channel is not None and length:
                smb = self._carried(session_id, bool(signed), shell)
                held = data if opened is None else opened_at(data, begin, opened)
                carried.add(session, channel, not is_response, held, at + start, at + start + length, smb)
            opened = None
            number += 1
        seen.tell()
        carried.tell()
        return number, None if opened is None else opened_at(data, begin, opened)

    def open_transform(
        self, direction: Direction, message: Message
    ) -> Generator[Event, None, tuple[Message, Shell] | None]:
        """What an encrypted message holds, None where it stays shut."""
        head = message.head.data
        if len(head) < TRANSFORM_LEN:
            yield from self._unreadable(direction, message, "its header is not in the capture")
            return None
        session_id = int.from_bytes(head[TRANSFORM_LEN - 8 : TRANSFORM_LEN], "little")
        session = self._session(session_id, _time(message))
        if session is None:
            raise MalformedError(
                "an encrypted message without a session", field="transform.session_id", start=44, stop=52
            )
        way = self._link.client_direction
        opened = open_message(self._link, session, message, None if way is None else direction == way)
        if opened is None:
            yield from self.lost_data(direction, message.frames, session.seal.reason)
            return None
        return opened, SEALED

    def finish(self) -> None:
        """Setups whose end was not captured become sessions, so that what they said is not lost."""
        for session_id, setup in self._setups.items():
            self._establish(session_id, setup)
        self._setups.clear()

    def leave(self, session: Session) -> Iterator[Event]:
        """This connection has no more of the session; without connections the session is over."""
        if self._link.sessions.get(session.session_id) is session:
            del self._link.sessions[session.session_id]
        session.connections.discard(self._link.connection.number)
        if session.connections:
            return
        yield from session.close_all()
        yield from report(session)
        if session.wrong_signatures:
            many = "message" if session.wrong_signatures == 1 else "messages"
            text = f"SMB session {session.session_id:#x}: {session.wrong_signatures} {many} with a wrong signature"
            yield Problem("note", "smb", session.wrong_signature_frames, text)
        known = self._link.world.sessions.get(session.session_id, [])
        if session in known:
            known.remove(session)
            if not known:
                del self._link.world.sessions[session.session_id]
        yield session.summary()

    def expect_negotiate(self) -> None:
        """An SMB1 negotiation offered SMB2; its answer may come as an SMB2 one with MessageId 0."""
        self._pending[0] = Request(NEGOTIATE, 0, None)

    def _compound(self, direction: Direction, message: Message, shell: Shell) -> Iterator[Event]:
        at, chain = 0, Chain()
        for _ in range(MAX_COMPOUND):
            part = message
            step = 0
            try:
                # Only the header is cut out before the length is known: a long compound must not be copied at each step.
                own = message.part(at, min(at + HEADER_LEN, message.length)) if at else message
                header = read_header(own.head.data)
                step = header.next_command
                stop = at + step if step else message.length
                if step and (step < HEADER_LEN or stop >= message.length):
                    raise MalformedError(
                        f"{step} leads out of the compound", field="header.next_command", start=20, stop=24
                    )
                if at or step:
                    part = message.part(at, stop)
                yield from self._single(direction, header, part, shell, chain)
            except DecodeError as error:
                if part.whole or not isinstance(error, TruncatedError):
                    yield Problem.of("smb", error, part.frames or message.frames)
                else:
                    yield from self._unreadable(direction, part, str(error))
            if step < HEADER_LEN or at + step >= message.length:
                return
            at += step
        yield Problem("limit", "smb", message.frames, f"more than {MAX_COMPOUND} operations in one compound")

    def _single(
        self, direction: Direction, header: Header, part: Message, shell: Shell, chain: Chain
    ) -> Iterator[Event]:
        self._signature_ok = None
        if header.flags & FLAG_SIGNED and header.command != SESSION_SETUP and not shell.encrypted:
            session = self._session(header.session_id, _time(part))
            self._signature_ok = self._check_signature(header, part, session)
        if header.is_response:
            yield from self._response(header, part, shell)
            return
        session_id, tree_id = header.session_id, header.tree_id
        if header.flags & FLAG_RELATED:
            # [MS-SMB2] 3.3.5.2.7.2: related operations take session, tree and FileId from the one before.
            session_id, tree_id = chain.session_id, chain.tree_id
        else:
            chain.file_id, chain.session_id, chain.tree_id = None, session_id, tree_id
        if header.command == CANCEL:
            return
        request = Request(header.command, session_id, tree_id, chain)
        if header.message_id not in self._pending and len(self._pending) >= MAX_PENDING:
            del self._pending[next(iter(self._pending))]
            if not self._forgot:
                self._forgot = True
                yield Problem("limit", "smb", part.frames, f"more than {MAX_PENDING} requests without an answer")
        self._pending[header.message_id] = request
        yield from self._request(header, request, part, shell)

    # Requests

    def _request(self, header: Header, request: Request, part: Message, shell: Shell) -> Iterator[Event]:
        command, data = header.command, part.head.data
        cur = Cursor(data, HEADER_LEN)
        if command == NEGOTIATE:
            self._negotiate_request(cur, part)
        elif command == SESSION_SETUP:
            self._setup_request(header, request, cur, part)
        elif command == TREE_CONNECT:
            cur.skip("tree_connect.header", 4)
            request.path = _text(data, cur.u16("tree_connect.ofs_path"), cur.u16("tree_connect.len_path"))
        elif command == CREATE:
            cur.skip("create.header", 4)
            request.impersonation = cur.u32("create.impersonation_level")
            cur.skip("create.fixed", 36)
            request.path = _text(data, cur.u16("create.ofs_name"), cur.u16("create.len_name"))
        elif command == CLOSE:
            cur.skip("close.header", 8)
            self._take_file_id(request, cur)
        elif command == READ:
            cur.skip("read.fixed", 16)
            self._take_file_id(request, cur)
        elif command == WRITE:
            cur.skip("write.structure_size", 2)
            start = cur.u16("write.ofs_data")
            length = cur.u32("write.len_data")
            cur.skip("write.offset", 8)
            self._take_file_id(request, cur)
            yield from self._from_client(header, request, part, (start, length), shell)
        elif command == IOCTL:
            cur.skip("ioctl.header", 4)
            code = cur.u32("ioctl.ctl_code")
            self._take_file_id(request, cur)
            if code != FSCTL_PIPE_TRANSCEIVE:
                request.command = -1
                return
            start, length = cur.u32("ioctl.ofs_input"), cur.u32("ioctl.len_input")
            yield from self._from_client(header, request, part, (start, length), shell)

    def _take_file_id(self, request: Request, cur: Cursor) -> None:
        file_id = cur.take("file_id", 16)
        chain = request.chain
        if chain is not None and file_id == ANY_FILE:
            request.file_id = chain.file_id
        else:
            request.file_id = file_id
            if chain is not None:
                chain.file_id = file_id

    def _from_client(
        self, header: Header, request: Request, part: Message, where: tuple[int, int], shell: Shell
    ) -> Iterator[Event]:
        span = _span(part, *where)
        smb = self._info(header, request.session_id, shell)
        if request.file_id is None and request.chain is not None:
            request.chain.waiting.append((part, span, smb))
            return
        session = self._session(request.session_id, _time(part))
        if session is not None and request.file_id is not None:
            opened = yield from self._open(session, request.file_id)
            yield from session.deliver(opened, True, part, span, smb)

    # Responses

    def _response(self, header: Header, part: Message, shell: Shell) -> Iterator[Event]:
        if header.status == STATUS_PENDING:
            return
        request = self._pending.pop(header.message_id, None)
        command, status, data = header.command, header.status, part.head.data
        if request is not None and request.command != command:
            # FSCTLs other than the transceive carry no channel data.
            if request.command == -1:
                return
            request = None
        failed = status >> 30 == 3
        cur = Cursor(data, HEADER_LEN)
        if command == NEGOTIATE:
            if not failed:
                self._negotiate_response(cur, part)
            return
        if command == SESSION_SETUP:
            yield from self._setup_response(header, request, cur, part)
            return
        session_id = header.session_id
        if request is not None and session_id in (0, 0xFFFFFFFFFFFFFFFF):
            session_id = request.session_id
        session = self._session(session_id, _time(part))
        if session is None:
            return
        if command == LOGOFF and not failed:
            yield from self._logoff(session)
        elif command == TREE_CONNECT and not failed and header.tree_id is not None:
            self._tree_connected(session, header.tree_id, request, cur)
        elif command == TREE_DISCONNECT and not failed and header.tree_id is not None:
            yield from session.close_tree(header.tree_id)
        elif command == CREATE:
            yield from self._created(session, request, cur, failed)
        elif command == CLOSE and request is not None and request.file_id is not None:
            yield from session.close(request.file_id)
        elif command == READ and not failed:
            size = cur.u16("read.structure_size")
            if size == 17:
                start = cur.u8("read.ofs_data")
                cur.skip("read.reserved", 1)
                span = _span(part, start, cur.u32("read.len_data"))
                smb = self._info(header, session_id, shell)
                yield from self._read_answered(session, request, part, span, smb)
        elif command == IOCTL and cur.u16("ioctl.structure_size") == 49:
            cur.skip("ioctl.reserved", 2)
            code = cur.u32("ioctl.ctl_code")
            file_id = cur.take("ioctl.file_id", 16)
            cur.skip("ioctl.input", 8)
            span = _span(part, cur.u32("ioctl.ofs_output"), cur.u32("ioctl.len_output"))
            if code == FSCTL_PIPE_TRANSCEIVE and not failed:
                opened = yield from self._open(session, file_id)
                smb = self._info(header, session_id, shell)
                yield from session.deliver(opened, False, part, span, smb)

    def _read_answered(
        self, session: Session, request: Request | None, part: Message, span: tuple[int, int], smb: SmbInfo
    ) -> Iterator[Event]:
        file_id = request.file_id if request is not None else None
        if file_id is None and request is not None and request.chain is not None:
            file_id = request.chain.file_id
        if file_id is not None:
            opened = yield from self._open(session, file_id)
            yield from session.deliver(opened, False, part, span, smb)
            return
        pipes = session.pipes()
        if len(pipes) == 1:
            yield from session.deliver(pipes[0], False, part, span, smb)
            return
        first = part.part(*span).head.data
        if not pipes:
            if looks_like_dcerpc(first):
                yield from session.deliver_orphan(part, span, smb, self._link.client)
            return
        reason = "the request of a READ was not captured, so its data cannot be told to a pipe"
        self._link.note("gap", reason, part.frames)
        yield from session.lost(False, None, part.frames, reason)

    def _created(self, session: Session, request: Request | None, cur: Cursor, failed: bool) -> Iterator[Event]:
        if failed or cur.u16("create.structure_size") != 89:
            return
        cur.skip("create.fixed", 62)
        file_id = cur.take("create.file_id", 16)
        if request is None:
            yield from session.add_open(file_id, Open("unknown", None, client=self._link.client))
            return
        tree = session.trees.get(request.tree_id) if request.tree_id is not None else None
        kind: OpenKind = tree.kind if tree is not None else "unknown"
        name = pipe_name(request.path) if request.path is not None and kind != "file" else request.path
        opened = Open(kind, name, request.tree_id, impersonation=request.impersonation, client=self._link.client)
        yield from session.add_open(file_id, opened)
        chain = request.chain
        if chain is not None and chain.file_id is None:
            chain.file_id = file_id
            for waiting, span, smb in chain.waiting:
                yield from session.deliver(opened, True, waiting, span, smb)
            chain.waiting.clear()

    def _tree_connected(self, session: Session, tree_id: int, request: Request | None, cur: Cursor) -> None:
        cur.skip("tree_connect.structure_size", 2)
        share_type = cur.u8("tree_connect.share_type")
        path = request.path if request is not None and request.path is not None else ""
        is_pipe = share_type == SHARE_TYPE_PIPE or path.upper().endswith("\\IPC$")
        session.add_tree(tree_id, path, "pipe" if is_pipe else "file")

    def _logoff(self, session: Session) -> Iterator[Event]:
        session.connections.clear()
        yield from self.leave(session)

    # Negotiation and session setup

    def _negotiate_request(self, cur: Cursor, part: Message) -> None:
        link = self._link
        link.preauth_hash = preauth_update(bytes(64), part.head.data) if part.whole else None
        cur.skip("negotiate.fixed", 12)
        link.client_guid = guid_text(cur.take("negotiate.client_guid", 16))

    def _negotiate_response(self, cur: Cursor, part: Message) -> None:
        link = self._link
        cur.skip("negotiate.structure_size", 2)
        cur.skip("negotiate.security_mode", 2)
        dialect = cur.u16("negotiate.dialect")
        num_contexts = cur.u16("negotiate.num_contexts")
        link.server_guid = guid_text(cur.take("negotiate.server_guid", 16))
        link.dialect, link.dialect_number = DIALECTS.get(dialect, f"{dialect:#06x}"), dialect
        if link.preauth_hash is not None:
            whole = part.whole and dialect == DIALECT_311
            link.preauth_hash = preauth_update(link.preauth_hash, part.head.data) if whole else None
        link.signing = AES_CMAC if dialect >= DIALECT_300 else HMAC_SHA256
        capabilities = cur.u32("negotiate.capabilities")
        if DIALECT_300 <= dialect < DIALECT_311 and capabilities & CAPABILITY_ENCRYPTION:
            link.cipher = AES_128_CCM
        if dialect == DIALECT_311:
            cur.skip("negotiate.fixed", 32)
            self._negotiate_contexts(part, cur.u32("negotiate.ofs_contexts"), num_contexts)

    def _negotiate_contexts(self, part: Message, start: int, number: int) -> None:
        link, cur = self._link, Cursor(part.head.data, min(start, len(part.head)))
        for _ in range(min(number, _MAX_CONTEXTS)):
            cur.align(8)
            kind = cur.u16("context.type")
            length = cur.u16("context.len_data")
            cur.skip("context.reserved", 4)
            data = Cursor(cur.take("context.data", length))
            if kind == CONTEXT_ENCRYPTION and data.u16("context.num_ciphers") == 1:
                link.cipher = data.u16("context.cipher") or None
            elif kind == CONTEXT_SIGNING and data.u16("context.num_algorithms") == 1:
                link.signing = data.u16("context.algorithm")

    def _setup_request(self, header: Header, request: Request, cur: Cursor, part: Message) -> None:
        cur.skip("session_setup.structure_size", 2)
        binding = bool(cur.u8("session_setup.flags") & SESSION_FLAG_BINDING)
        cur.skip("session_setup.fixed", 9)
        token = _bytes(part, cur.u16("session_setup.ofs_buffer"), cur.u16("session_setup.len_buffer"))
        setup = self._setups.get(header.session_id) if header.session_id else None
        if setup is None:
            setup = self._new_setup(binding, header.session_id == 0, part)
        self._hash(setup, part)
        request.setup = setup
        setup.frames += part.frames[: MAX_FRAMES - len(setup.frames)]
        if token is None:
            setup.handshake.missed("initiator")
        elif len(token):
            setup.handshake.feed("initiator", token.data)

    def _setup_response(self, header: Header, request: Request | None, cur: Cursor, part: Message) -> Iterator[Event]:
        setup = request.setup if request is not None else self._setups.get(header.session_id)
        if setup is None:
            setup = self._new_setup(False, False, part)
            setup.preauth_hash = None
            setup.handshake.missed("initiator")
        setup.frames += part.frames[: MAX_FRAMES - len(setup.frames)]
        more = header.status == STATUS_MORE_PROCESSING_REQUIRED
        if header.status == STATUS_SUCCESS or more:
            cur.skip("session_setup.fixed", 4)
            token = _bytes(part, cur.u16("session_setup.ofs_buffer"), cur.u16("session_setup.len_buffer"))
            if token is None:
                setup.handshake.missed("acceptor")
            elif len(token):
                setup.handshake.feed("acceptor", token.data)
        if more:
            self._hash(setup, part)
            if len(self._setups) >= MAX_SESSIONS:
                del self._setups[next(iter(self._setups))]
            self._setups[header.session_id] = setup
            return
        self._setups.pop(header.session_id, None)
        if header.status != STATUS_SUCCESS:
            # A channel or a renewal that failed leaves the session as it is.
            if not setup.binding and header.session_id not in self._link.sessions:
                session = self._establish(header.session_id, setup)
                session.seen(_time(part))
                session.refused = header.status
                yield from self.leave(session)
            return
        former = self._link.sessions.get(header.session_id)
        if former is not None and setup.fresh and not setup.binding:
            yield from self.leave(former)
        session = self._establish(header.session_id, setup)
        session.seen(_time(part))
        self._check_signature(header, part, session)

    def _new_setup(self, binding: bool, fresh: bool, part: Message) -> Setup:
        begun = self._link.world.handshake()
        return Setup(begun, self._link.preauth_hash, binding, fresh, _time(part))

    def _hash(self, setup: Setup, part: Message) -> None:
        if setup.preauth_hash is not None:
            setup.preauth_hash = preauth_update(setup.preauth_hash, part.head.data) if part.whole else None

    def _establish(self, session_id: int, setup: Setup) -> Session:
        """The session that a setup has made, bound to this connection or renewed."""
        link = self._link
        session = self._bound_session(session_id) if setup.binding else link.sessions.get(session_id)
        renewed = session is not None
        if session is None:
            session = Session(link, session_id, setup.first_time_ns)
        session.note_frames(tuple(setup.frames))
        session.connections.add(link.connection.number)
        self._register(session)
        if session.handshake is None:
            session.handshake, session.preauth_hash = setup.handshake, setup.preauth_hash
        key = setup.handshake.session_key
        if key is not None and link.world.key_log is not None and not setup.binding:
            link.world.key_log(session_id, key)
        if key is None and not setup.binding:
            given = (keys.session_key for keys in link.world.keyring.smb_keys_for(session_id))
            key = next((value for value in given if value is not None), None)
        keys = None
        if key is not None:
            dialect = link.dialect_number if link.dialect_number is not None else DIALECT_300
            keys = derive_keys(dialect, key, setup.preauth_hash, link.cipher)
        if setup.binding:
            # [MS-SMB2] 3.3.5.5.2: a channel signs with a key of its own, and encrypts with the session's.
            if keys is not None and keys.signing_key is not None:
                session.channel_keys[link.connection.number] = keys.signing_key
        elif not renewed or session.keys is None:
            # Renewing does not change the keys of a session ([MS-SMB2] 3.3.5.5.3).
            session.keys = keys
        return session

    def _bound_session(self, session_id: int) -> Session | None:
        link = self._link
        for known in self._link.world.sessions.get(session_id, ()):
            same_ends = known.link.server_guid == link.server_guid and known.link.client_guid == link.client_guid
            if same_ends or known.server == link.server:
                return known
        return None

    def _check_signature(self, header: Header, part: Message, session: Session | None) -> bool | None:
        """Whether the signature is right; None where there is none, or no key to tell."""
        if not header.flags & FLAG_SIGNED or session is None:
            return None
        cancel = header.command == CANCEL
        head = part.head if part.whole else EMPTY
        return self._judge(session, head, 0, len(head), is_response=header.is_response, cancel=cancel)

    def _judge(
        self, session: Session, data: TracedBytes, at: int, stop: int, *, is_response: bool, cancel: bool
    ) -> bool | None:
        """Whether the signature of the signed message from `at` to `stop` of `data` is right; no bytes where it is not whole."""
        session.signed += 1
        keys = session.opener or session.keys
        key = session.channel_keys.get(self._link.connection.number) or (keys.signing_key if keys else None)
        algorithm = self._link.signing
        if key is None or algorithm is None or not 0 < stop - at <= MAX_CHECKED:
            return None
        message = data.part(at, stop)
        right = check_signature(algorithm, key, message, from_server=is_response, cancel=cancel)
        if right:
            session.verified += 1
        else:
            session.wrong_signatures += 1
            session.wrong_signature_frames = session.wrong_signature_frames or data[at:stop].frames
        return right

    def _register(self, session: Session) -> None:
        self._link.add_session(session)
        known = self._link.world.sessions.setdefault(session.session_id, [])
        if session not in known:
            known.append(session)

    def _session(self, session_id: int, time_ns: int) -> Session | None:
        """The session a message names; one that was set up before the capture began is made up."""
        if session_id == 0:
            return None
        session = self._link.sessions.get(session_id)
        if session is None and session_id in self._setups:
            # The answer that completed the setup was not captured; that the session is used says there was one.
            session = self._establish(session_id, self._setups.pop(session_id))
        if session is None:
            for known in self._link.world.sessions.get(session_id, ()):
                # Without the setup that bound it, another client's connection is another session with the same number.
                if known.server == self._link.server and known.client.ip == self._link.client.ip:
                    session = known
                    session.connections.add(self._link.connection.number)
                    self._link.sessions[session_id] = session
                    break
        if session is None:
            session = Session(self._link, session_id, time_ns)
            self._register(session)
        if time_ns:
            session.seen(time_ns)
        return session

    # Small things

    def _open(self, session: Session, file_id: bytes) -> Generator[Event, None, Open]:
        opened = session.opens.get(file_id)
        if opened is None:
            opened = Open("unknown", None, client=self._link.client)
            yield from session.add_open(file_id, opened)
        return opened

    def _info(self, header: Header, session_id: int, shell: Shell) -> SmbInfo:
        return self._carried(session_id, bool(header.flags & FLAG_SIGNED), shell)

    def _carried(self, session_id: int, signed: bool, shell: Shell) -> SmbInfo:
        """How the message was carried that was looked at last."""
        key = (self._link.dialect, session_id, signed, shell.encrypted, shell.compressed, self._signature_ok)
        info = self._infos.get(key)
        if info is None:
            if len(self._infos) >= _MAX_INFOS:
                self._infos.clear()
            info = self._infos[key] = SmbInfo(
                dialect=self._link.dialect,
                session_id=session_id,
                encrypted=shell.encrypted,
                signed=signed,
                compressed=shell.compressed,
                signature_ok=self._signature_ok,
            )
        return info

    def _unreadable(self, direction: Direction, message: Message, why: str) -> Iterator[Event]:
        """A message of which too little was captured to tell what it was about."""
        reason = message.reason or why
        self._link.note("truncated", f"an SMB2 message from {self._sender(direction)} is cut: {reason}", message.frames)
        yield from self.lost_data(direction, message.frames, reason)

    def _sender(self, direction: Direction) -> Endpoint:
        return self._link.connection.sender(direction)

    def lost_data(self, direction: Direction, frames: tuple[int, ...], reason: str) -> Iterator[Event]:
        """Messages of this direction were lost: pipes that may have lost data are told.

        Data of the server only come as an answer, so with all requests at hand only pipes with one unanswered are concerned.
        """
        from_client = direction == (self._link.client_direction or 0)
        self._requests_lost |= from_client
        asked: set[bytes] | None = None
        if not from_client and not self._requests_lost and len(self._pending) <= _MAX_ASKED:
            waiting = (request for request in self._pending.values() if request.command in (READ, IOCTL))
            asked = {request.file_id for request in waiting if request.file_id is not None}
        for session in self._link.sessions.values():
            yield from session.lost(from_client, asked, frames, reason)


class _Seen:
    """When sessions were seen in messages that follow each other in `data`: times ascend there, so the first and the last tell."""

    __slots__ = ("_data", "_first", "_last", "_session")

    def __init__(self, data: TracedBytes) -> None:
        self._data = data
        self._session: Session | None = None
        self._first = self._last = 0

    def note(self, session: Session, at: int) -> None:
        """A session was seen in what lies there."""
        if session is not self._session:
            self.tell()
            self._session, self._first = session, at
        self._last = at

    def tell(self) -> None:
        """Tells the session."""
        if self._session is not None:
            for at in (self._first, self._last):
                if time_ns := self._data.time_ns_at(at):
                    self._session.seen(time_ns)


class _Carried:
    """What messages carried for channels: what follows in one direction of one is told together."""

    __slots__ = ("_channel", "_from_client", "_out", "_smb", "_spans")

    def __init__(self, out: list[Event]) -> None:
        self._out = out
        self._channel: Channel | None = None
        self._from_client = False
        self._smb: SmbInfo | None = None
        self._spans: list[Span] = []

    def add(
        self,
        session: Session,
        channel: Channel,
        from_client: bool,
        data: TracedBytes,
        start: int,
        stop: int,
        smb: SmbInfo,
    ) -> None:
        """Takes the bytes `start` to `stop` of `data`."""
        if channel is self._channel and from_client == self._from_client and smb is self._smb:
            before, _, last = self._spans[-1]
            # What holds much between is not held for the little that is wanted.
            if data is not before or start - last <= _NEIGHBOURING:
                self._spans.append((data, start, stop))
                return
        self.tell()
        session.has_data(from_client, channel)
        self._channel, self._from_client, self._smb, self._spans = channel, from_client, smb, [(data, start, stop)]

    def tell(self) -> None:
        """Tells what was taken."""
        channel, smb = self._channel, self._smb
        if channel is not None and smb is not None:
            if len(self._spans) == 1:
                data, start, stop = self._spans[0]
                self._out.append(ChannelData(channel, self._from_client, data[start:stop], smb, True))
            else:
                self._out.append(ChannelMessages(channel, self._from_client, self._spans, smb))
            self._channel = None


def _other(direction: Direction) -> Direction:
    return 0 if direction else 1


def _time(message: Message) -> int:
    return message.head.time_ns_at(0)


def _span(part: Message, start: int, length: int) -> tuple[int, int]:
    """Start and stop of a buffer that a header describes, checked against the message's own length."""
    if length and (start < HEADER_LEN or start + length > part.length):
        raise MalformedError(f"{length} bytes at {start} lie outside of the {part.length}-byte message", field="buffer")
    return start, start + length


def _bytes(part: Message, start: int, length: int) -> TracedBytes | None:
    """The bytes of a buffer, None where some of them were not captured."""
    start, stop = _span(part, start, length)
    head = part.head
    return head[start:stop] if len(head) >= stop else None


def _text(data: bytes, start: int, length: int) -> str:
    raw = Cursor(data, min(start, len(data))).take("name", length)
    return raw[: len(raw) & ~1].decode("utf-16-le", "replace").partition("\0")[0]
