"""Reads SMB1 messages and emits the channel events of their pipes ([MS-CIFS] section 2.2.4, [MS-SMB] section 2.2.4).

A message may chain several commands (AndX), each with its own words and bytes. Requests and answers meet by process and multiplex
id. The data of a TRANSACTION may come in several messages in both directions. They are passed on as they come, placed by their
displacement. Signatures (MD5 over a key and a running number) are counted, not checked.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from analyzer.core.errors import MalformedError, TruncatedError
from analyzer.core.events import Problem
from analyzer.results.security import Identity
from analyzer.transport.channel.channels import ChannelGap, SmbInfo
from analyzer.transport.smb.channel_emitter import Emitter
from analyzer.transport.smb.smb1_message import (
    FLAG2_SIGNED,
    HEADER_LEN,
    Smb1Block,
    Smb1Header,
    read_block,
    read_header,
)
from analyzer.transport.smb.smb1_session_setup import Smb1Sessions, Smb1Setup
from analyzer.transport.smb.smb_connection_state import ConnectionState, remember_info
from analyzer.transport.smb.smb_framing import Message
from analyzer.transport.smb.smb_session import Session
from analyzer.transport.smb.trees_and_opens import Open, OpenKind, pipe_name
from analyzer.transport.tcp.protocol_recognition import looks_like_dcerpc
from analyzer.transport.tcp.stream_events import Direction

CLOSE, OLD_READ, OLD_WRITE, TRANSACTION, TRANSACTION_SECONDARY = 0x04, 0x0A, 0x0B, 0x25, 0x26
ECHO, WRITE_AND_CLOSE, OPEN_ANDX, READ_ANDX, WRITE_ANDX = 0x2B, 0x2C, 0x2D, 0x2E, 0x2F
TREE_DISCONNECT, NEGOTIATE, SESSION_SETUP_ANDX, LOGOFF_ANDX, TREE_CONNECT_ANDX = 0x71, 0x72, 0x73, 0x74, 0x75
NT_CREATE_ANDX, LOCKING_ANDX, NO_ANDX = 0xA2, 0x24, 0xFF
# Further parts of a request: the answer is to the first one.
SECONDARY = frozenset((TRANSACTION_SECONDARY, 0x33, 0xA1))
ANDX = frozenset(
    (LOCKING_ANDX, OPEN_ANDX, READ_ANDX, WRITE_ANDX, SESSION_SETUP_ANDX, LOGOFF_ANDX, TREE_CONNECT_ANDX, NT_CREATE_ANDX)
)


TRANS_RAW_WRITE, TRANS_TRANSACT, TRANS_READ, TRANS_WRITE, TRANS_CALL = 0x0031, 0x0026, 0x0036, 0x0037, 0x0054
# Raw mode with start of message: the data begin with the length of the whole message ([MS-CIFS] 2.2.4.43.1).
_WRITE_MODE_RAW_START = 0x000C


_MAX_CHAIN = 16
# Memory of a request that waits for its answer, as measured.
_REQUEST_COST = 500


class Smb1Request(Struct):
    """An SMB1 request, with the fields that its answer needs. `command` is the first of a chain."""

    command: int
    uid: int
    tid: int
    name: str | None = None
    fid: int | None = None
    subcommand: int | None = None
    opened: Open | None = None
    sent: int = 0
    answered: int = 0
    setup: Smb1Setup | Identity | None = None


class Smb1Reader:
    """Reads the SMB1 messages of one connection. Calls `offers_smb2` when the client offers SMB2 in its negotiation."""

    def __init__(
        self, state: ConnectionState, leave: Callable[[Session], None], offers_smb2: Callable[[], None], out: Emitter
    ) -> None:
        self._state = state
        self._leave = leave
        self._out = out
        self._pending: dict[tuple[int, int], Smb1Request] = {}
        self._sessions = Smb1Sessions(state, leave, offers_smb2, out)
        self._forgot = False
        # Few differ, and all messages of a conversation are carried alike.
        self._infos: dict[tuple[object, ...], SmbInfo] = {}
        self._most_pending = state.shared.limits.requests

    @property
    def memory(self) -> int:
        """Roughly the bytes of memory that the requests and setups of this SMB1 connection take."""
        return _REQUEST_COST * len(self._pending) + self._sessions.memory

    def feed(self, direction: Direction, message: Message) -> None:
        data = message.head.data
        if len(data) < HEADER_LEN:
            raise TruncatedError("the header is cut", field="header", start=len(data), stop=len(data))
        header = read_header(data)
        if self._state.client_direction is None:
            self._state.client_direction = (0 if direction else 1) if header.is_response else direction
        at, command, key = HEADER_LEN, header.command, (header.pid, header.mid)
        request = self._pending.get(key) if header.is_response else None
        is_other = request is not None and request.command != command
        if request is not None and is_other:
            if request.fid is not None:
                text = f"command {command:#04x} in the answer to a request of command {request.command:#04x}"
                self._out.append(Problem("malformed", "smb", message.frames, f"header.command: {text}"))
            request = None
        if request is not None and command != SESSION_SETUP_ANDX and not self._sessions.knows(header.uid):
            header = self._of_request(header, request, message)
        if header.flags2 & FLAG2_SIGNED and (signer := self._state.sessions.get(header.uid)) is not None:
            signer.signed += 1
        if header.is_response and command != TRANSACTION and not is_other:
            self._pending.pop(key, None)
        for _ in range(_MAX_CHAIN):
            if header.is_response and header.failed and at != HEADER_LEN:
                return
            block = read_block(data, at, command, is_whole=message.whole)
            following = NO_ANDX
            if command in ANDX and block.word_count >= 2:
                following = block.words.u8("andx.command")
                block.words.skip("andx.reserved", 1)
                at = block.words.u16("andx.offset")
            if header.is_response:
                self._response(header, request, block, message)
            else:
                self._request(header, block, message)
            # An offset that does not lead on would be read for ever.
            if following == NO_ANDX or at <= block.words.pos:
                break
            command = following
        else:
            raise MalformedError("a chain of commands without end", field="andx.offset")

    def _of_request(self, header: Smb1Header, request: Smb1Request, message: Message) -> Smb1Header:
        """Returns the header of an SMB1 answer that names no session. If its request does, it belongs to that one."""
        if not self._sessions.knows(request.uid):
            return header
        self._state.note_other_session(header.uid, request.uid, message)
        return replace(header, uid=request.uid)

    def finish(self) -> None:
        """Ends the SMB1 sessions when the connection ends."""
        self._sessions.finish()

    # Requests

    def _remember(self, header: Smb1Header, command: int, message: Message) -> None:
        key = (header.pid, header.mid)
        if key not in self._pending and len(self._pending) >= self._most_pending:
            del self._pending[next(iter(self._pending))]
            if not self._forgot:
                self._forgot = True
                text = f"more than {self._most_pending} requests without an answer; the oldest are forgotten"
                self._out.append(Problem("limit", "smb", message.frames, text))
        former = self._pending.get(key)
        request = Smb1Request(header.command, header.uid, header.tid)
        if former is not None and command != header.command:
            # Chained commands share one answer; what the first asked for stays known.
            request.name, request.fid, request.setup = former.name, former.fid, former.setup
        self._pending[key] = request

    def _request(self, header: Smb1Header, block: Smb1Block, message: Message) -> None:
        command, words = block.command, block.words
        if command in SECONDARY:
            if command == TRANSACTION_SECONDARY:
                self._secondary(header, block, message)
            return
        self._remember(header, command, message)
        request = self._pending[header.pid, header.mid]
        if command == NEGOTIATE:
            self._sessions.negotiate_request(block, message)
        elif command == SESSION_SETUP_ANDX:
            request.setup = self._sessions.setup_request(header, block, message)
        elif command == TREE_CONNECT_ANDX:
            words.skip("tree_connect.flags", 2)
            block.data.skip("tree_connect.password", words.u16("tree_connect.len_password"))
            request.name = block.text(header.unicode)
        elif command == NT_CREATE_ANDX:
            words.skip("create.reserved", 1)
            request.name = block.text(header.unicode, words.u16("create.len_name"))
        elif command == OPEN_ANDX:
            request.name = block.text(header.unicode)
        elif command in (CLOSE, READ_ANDX, OLD_READ):
            request.fid = words.u16("fid")
        elif command == WRITE_ANDX:
            request.fid = words.u16("write.fid")
            words.skip("write.offset_and_timeout", 8)
            mode = words.u16("write.mode")
            words.skip("write.remaining", 2)
            high, low = words.u16("write.len_data_high"), words.u16("write.len_data")
            start = words.u16("write.ofs_data")
            self._written(header, request, message, start, high << 16 | low, mode)
        elif command == OLD_WRITE:
            request.fid = words.u16("write.fid")
            length = words.u16("write.len_data")
            self._written(header, request, message, block.data.pos + 3, length, 0)
        elif command == WRITE_AND_CLOSE:
            request.fid = words.u16("write.fid")
            length = words.u16("write.len_data")
            self._written(header, request, message, block.data.pos + 1, length, 0)
        elif command == TRANSACTION:
            self._transaction(header, request, block, message)

    def _written(
        self, header: Smb1Header, request: Smb1Request, message: Message, start: int, length: int, mode: int
    ) -> None:
        session = self._sessions.get(header.uid, message)
        assert request.fid is not None
        start, stop = _span(message, start, length)
        begins = message.part(start, stop).head.data
        if mode & _WRITE_MODE_RAW_START == _WRITE_MODE_RAW_START and length >= 2 and not looks_like_dcerpc(begins):
            start += 2
        opened = session.open_of(_key(request.fid), self._out)
        session.deliver(opened, True, message, (start, stop), self._info(header, session), self._out)

    def _transaction(self, header: Smb1Header, request: Smb1Request, block: Smb1Block, message: Message) -> None:
        words = block.words
        words.skip("transaction.totals_and_parameters", 22)
        length, start = words.u16("transaction.len_data"), words.u16("transaction.ofs_data")
        if words.u8("transaction.num_setup") < 2:
            return
        words.skip("transaction.reserved", 1)
        request.subcommand = words.u16("transaction.subcommand")
        request.fid = words.u16("transaction.fid")
        session = self._sessions.get(header.uid, message)
        if request.subcommand == TRANS_CALL:
            # Open, transact and close in one: a pipe that lives for this message and its answer.
            name = pipe_name(block.text(header.unicode))
            request.opened = Open("pipe", name, header.tid)
            request.fid = None
            session.add_open(_call_key(header), request.opened, self._out)
        elif request.subcommand in (TRANS_TRANSACT, TRANS_READ, TRANS_WRITE, TRANS_RAW_WRITE):
            request.opened = session.open_of(_key(request.fid), self._out)
        if request.opened is not None:
            self._piece(header, session, request, message, (0, start, length), from_client=True)

    def _secondary(self, header: Smb1Header, block: Smb1Block, message: Message) -> None:
        request = self._pending.get((header.pid, header.mid))
        if request is None or request.opened is None:
            return
        words = block.words
        words.skip("transaction.totals_and_parameters", 10)
        length, start = words.u16("transaction.len_data"), words.u16("transaction.ofs_data")
        displacement = words.u16("transaction.data_displacement")
        session = self._sessions.get(header.uid, message)
        self._piece(header, session, request, message, (displacement, start, length), from_client=True)

    def _piece(
        self,
        header: Smb1Header,
        session: Session,
        request: Smb1Request,
        message: Message,
        where: tuple[int, int, int],
        *,
        from_client: bool,
    ) -> None:
        """Takes one SMB1 message's share of the data of a transaction. `where`: displacement, offset in the message, length."""
        displacement, start, length = where
        opened = request.opened
        assert opened is not None
        if not length:
            return
        so_far = request.sent if from_client else request.answered
        start, stop = _span(message, start, length)
        if displacement > so_far and opened.channel is not None:
            missing = displacement - so_far
            reason = "a part of the transaction was not captured"
            self._out.append(ChannelGap(opened.channel, from_client, missing, message.frames, reason))
        # Bytes that came before are not emitted twice.
        start = min(start + max(so_far - displacement, 0), stop)
        if from_client:
            request.sent = max(so_far, displacement + length)
        else:
            request.answered = max(so_far, displacement + length)
        fresh = displacement == 0
        session.deliver(
            opened, from_client, message, (start, stop), self._info(header, session), self._out, fresh=fresh
        )

    # Responses

    def _response(self, header: Smb1Header, request: Smb1Request | None, block: Smb1Block, message: Message) -> None:
        command, words = block.command, block.words
        if command == TRANSACTION:
            self._transaction_answered(header, request, block, message)
            return
        if command == NEGOTIATE:
            self._sessions.negotiate_response(header, block)
        elif command == SESSION_SETUP_ANDX:
            self._sessions.setup_response(header, request.setup if request is not None else None, block, message)
        if header.failed or block.word_count == 0:
            # Windows leaves its tree behind the logoff: what is closed then is of a session that is over.
            if header.failed or not self._sessions.knows(header.uid):
                return
            if command in (CLOSE, WRITE_AND_CLOSE) and request is not None and request.fid is not None:
                self._sessions.get(header.uid, message).close(_key(request.fid), self._out)
            elif command == TREE_DISCONNECT:
                self._sessions.get(header.uid, message).close_tree(header.tid, self._out)
            return
        if command in (NEGOTIATE, ECHO):
            return  # these belong to the connection, whatever UID they carry
        session = self._sessions.get(header.uid, message)
        session.is_shown = True
        if command == TREE_CONNECT_ANDX:
            service = block.text(False)
            path = request.name if request is not None and request.name is not None else ""
            is_pipe = service == "IPC" or path.upper().endswith("\\IPC$")
            session.add_tree(header.tid, path, "pipe" if is_pipe else "file")
        elif command in (NT_CREATE_ANDX, OPEN_ANDX):
            if command == NT_CREATE_ANDX:
                words.skip("create.oplock_level", 1)
            self._opened(session, header, request, words.u16("create.fid"))
        elif command == WRITE_AND_CLOSE and request is not None and request.fid is not None:
            session.close(_key(request.fid), self._out)
        elif command == LOGOFF_ANDX:
            self._leave(session)
        elif command == READ_ANDX:
            words.skip("read.available", 6)
            low, start = words.u16("read.len_data"), words.u16("read.ofs_data")
            high = words.u16("read.len_data_high")
            self._read_answered(header, session, request, message, (start, high << 16 | low))
        elif command == OLD_READ:
            span = (block.data.pos + 3, words.u16("read.len_data"))
            self._read_answered(header, session, request, message, span)

    def _opened(self, session: Session, header: Smb1Header, request: Smb1Request | None, fid: int) -> None:
        tree = session.trees.get(header.tid)
        kind: OpenKind = tree.kind if tree is not None else "unknown"
        path = request.name if request is not None else None
        name = pipe_name(path) if path is not None and kind != "file" else path
        if kind == "unknown" and path is not None and path.lower().startswith("\\pipe\\"):
            kind = "pipe"
        session.add_open(_key(fid), Open(kind, name, header.tid), self._out)
        if request is not None:
            # Commands chained behind an open use the file just opened.
            request.fid = fid

    def _read_answered(
        self,
        header: Smb1Header,
        session: Session,
        request: Smb1Request | None,
        message: Message,
        where: tuple[int, int],
    ) -> None:
        span = _span(message, *where)
        if request is not None and request.fid is not None:
            opened = session.open_of(_key(request.fid), self._out)
            session.deliver(opened, False, message, span, self._info(header, session), self._out)
            return
        pipes = session.pipes()
        if len(pipes) == 1:
            session.deliver(pipes[0], False, message, span, self._info(header, session), self._out)
        elif pipes:
            reason = "the request of a READ was not captured, so its data cannot be assigned to a pipe"
            self._state.note("gap", reason, message.frames)
            session.lost(False, None, message, reason, self._out)

    def _transaction_answered(
        self, header: Smb1Header, request: Smb1Request | None, block: Smb1Block, message: Message
    ) -> None:
        words, key = block.words, (header.pid, header.mid)
        if block.word_count < 10:
            # An interim answer asks for the secondary requests; a failure ends it.
            if header.failed:
                self._pending.pop(key, None)
            return
        if request is None or request.opened is None:
            session = self._sessions.get(header.uid, message)
            pipes = session.pipes()
            if request is not None or len(pipes) != 1:
                return
            request = Smb1Request(TRANSACTION, header.uid, header.tid, opened=pipes[0])
        words.skip("transaction.total_parameters", 2)
        total = words.u16("transaction.total_data")
        words.skip("transaction.parameters", 8)
        length, start = words.u16("transaction.len_data"), words.u16("transaction.ofs_data")
        displacement = words.u16("transaction.data_displacement")
        session = self._sessions.get(header.uid, message)
        session.is_shown = True
        self._piece(header, session, request, message, (displacement, start, length), from_client=False)
        if request.answered >= total:
            self._pending.pop(key, None)
            if request.subcommand == TRANS_CALL:
                session.close(_call_key(header), self._out)

    # Negotiation and session setup

    def _info(self, header: Smb1Header, session: Session) -> SmbInfo:
        """Returns how an SMB1 message was carried (dialect, session, protection)."""
        signed, logon = bool(header.flags2 & FLAG2_SIGNED), session.in_force
        # The identity of a renewal under way grows with its messages.
        stated = logon.identity if logon is not None and logon is session.pending else None
        key = (self._state.dialect, header.uid, signed, logon, stated)
        info = self._infos.get(key)
        if info is None:
            info = SmbInfo(self._state.dialect or "1.0", header.uid, False, signed, False)
            info = remember_info(self._infos, key, info, logon)
        return info


def _key(fid: int) -> bytes:
    return fid.to_bytes(2, "little")


def _call_key(header: Smb1Header) -> bytes:
    return f"call {header.pid} {header.mid}".encode()


def _span(message: Message, start: int, length: int) -> tuple[int, int]:
    if length and (start < HEADER_LEN or start + length > message.length):
        raise MalformedError(
            f"{length} bytes at {start} lie outside of the {message.length}-byte message", field="data"
        )
    return start, start + length
