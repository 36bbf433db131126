"""SMB1 messages in, channel events out ([MS-CIFS] section 2.2.4, [MS-SMB] section 2.2.4).

A message may chain several commands (AndX), each with its own words and bytes. Requests and answers meet by process and
multiplex id. The data of a TRANSACTION may come in several messages either way; they are handed on as they come, placed by
their displacement. Signatures (MD5 over a key and a running number) are counted, not checked.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct, field
from msgspec.structs import replace

from analyzer.auth.context import Handshake
from analyzer.core.cursor import Cursor
from analyzer.core.errors import MalformedError, TruncatedError
from analyzer.core.events import Problem
from analyzer.core.guid import guid_text
from analyzer.results.security import Granted, Identity
from analyzer.transport.channel.events import ChannelGap, SmbInfo
from analyzer.transport.smb.emitter import Emitter
from analyzer.transport.smb.framing import Message
from analyzer.transport.smb.state import MAX_FRAMES, ConnectionState, Open, OpenKind, Session, SessionLogon, pipe_name
from analyzer.transport.tcp.events import Direction
from analyzer.transport.tcp.recognition import looks_like_dcerpc

HEADER_LEN = 32
CLOSE, OLD_READ, OLD_WRITE, TRANSACTION, TRANSACTION_SECONDARY = 0x04, 0x0A, 0x0B, 0x25, 0x26
ECHO, WRITE_AND_CLOSE, OPEN_ANDX, READ_ANDX, WRITE_ANDX = 0x2B, 0x2C, 0x2D, 0x2E, 0x2F
TREE_DISCONNECT, NEGOTIATE, SESSION_SETUP_ANDX, LOGOFF_ANDX, TREE_CONNECT_ANDX = 0x71, 0x72, 0x73, 0x74, 0x75
NT_CREATE_ANDX, LOCKING_ANDX, NO_ANDX = 0xA2, 0x24, 0xFF
_ANDX = frozenset(
    (LOCKING_ANDX, OPEN_ANDX, READ_ANDX, WRITE_ANDX, SESSION_SETUP_ANDX, LOGOFF_ANDX, TREE_CONNECT_ANDX, NT_CREATE_ANDX)
)

FLAG_REPLY = 0x80
FLAG2_SIGNED, FLAG2_NT_STATUS, FLAG2_UNICODE = 0x0004, 0x4000, 0x8000
CAP_EXTENDED_SECURITY = 0x80000000
STATUS_BUFFER_OVERFLOW, STATUS_MORE_PROCESSING_REQUIRED = 0x80000005, 0xC0000016
# ERRDOS class with ERRmoredata, as the DOS form of an error lies in the status field.
DOS_MORE_DATA = 0x01 | 234 << 16

TRANS_RAW_WRITE, TRANS_TRANSACT, TRANS_READ, TRANS_WRITE, TRANS_CALL = 0x0031, 0x0026, 0x0036, 0x0037, 0x0054
# Raw mode with start of message: the data begin with the length of the whole message ([MS-CIFS] 2.2.4.43.1).
_WRITE_MODE_RAW_START = 0x000C

# Action of the answer to SESSION_SETUP_ANDX ([MS-CIFS] section 2.2.4.53.2).
SMB_SETUP_GUEST = 0x0001

_MAX_CHAIN = 16
# Memory of a request that waits for its answer, and of a session setup under way, as measured.
_REQUEST_COST, _SETUP_COST = 500, 6000


class Header(Struct, frozen=True):
    command: int
    status: int
    flags: int
    flags2: int
    tid: int
    pid: int
    uid: int
    mid: int

    @property
    def is_response(self) -> bool:
        return bool(self.flags & FLAG_REPLY)

    @property
    def unicode(self) -> bool:
        return bool(self.flags2 & FLAG2_UNICODE)

    @property
    def failed(self) -> bool:
        if self.flags2 & FLAG2_NT_STATUS:
            return self.status >> 30 == 3
        return self.status not in (0, DOS_MORE_DATA, STATUS_BUFFER_OVERFLOW)


class Request(Struct):
    """What an answer has to be read with."""

    command: int
    uid: int
    tid: int
    name: str | None = None
    fid: int | None = None
    subcommand: int | None = None
    opened: Open | None = None
    sent: int = 0
    answered: int = 0
    setup: Setup | None = None
    identity: Identity | None = None


class Setup(Struct):
    handshake: Handshake
    first_time_ns: int
    client_os: str | None = None
    frames: list[int] = field(default_factory=list)


class Block(Struct):
    """One command's words and bytes. `data` reads on from the words over the bytes; offsets are the message's."""

    command: int
    words: Cursor
    word_count: int
    data: Cursor


def read_header(data: bytes) -> Header:
    cur = Cursor(data)
    cur.skip("header.protocol", 4)
    command, status = cur.u8("header.command"), cur.u32("header.status")
    flags, flags2 = cur.u8("header.flags"), cur.u16("header.flags2")
    cur.skip("header.extra", 12)
    tid, pid = cur.u16("header.tid"), cur.u16("header.pid")
    return Header(command, status, flags, flags2, tid, pid, cur.u16("header.uid"), cur.u16("header.mid"))


class Smb1Reader:
    """Follows the SMB1 messages of one connection. `offers_smb2` is called when the client offers SMB2 in its negotiation."""

    def __init__(
        self, state: ConnectionState, leave: Callable[[Session], None], offers_smb2: Callable[[], None], out: Emitter
    ) -> None:
        self._state = state
        self._leave = leave
        self._offers_smb2 = offers_smb2
        self._out = out
        self._pending: dict[tuple[int, int], Request] = {}
        self._setups: dict[int, Setup] = {}
        self._forgot = False
        self._most_pending = state.shared.limits.requests

    @property
    def memory(self) -> int:
        """About how many bytes of memory its requests and setups take."""
        return _REQUEST_COST * len(self._pending) + _SETUP_COST * len(self._setups)

    def feed(self, direction: Direction, message: Message) -> None:
        data = message.head.data
        if len(data) < HEADER_LEN:
            raise TruncatedError("the header is cut", field="header", start=len(data), stop=len(data))
        header = read_header(data)
        if self._state.client_direction is None:
            self._state.client_direction = (0 if direction else 1) if header.is_response else direction
        at, command, key = HEADER_LEN, header.command, (header.pid, header.mid)
        request = self._pending.get(key) if header.is_response else None
        if header.flags2 & FLAG2_SIGNED and (signer := self._state.sessions.get(header.uid)) is not None:
            signer.signed += 1
        if header.is_response and command != TRANSACTION:
            self._pending.pop(key, None)
        for _ in range(_MAX_CHAIN):
            if header.is_response and header.failed and at != HEADER_LEN:
                return
            block = _read_block(data, at, command)
            following = NO_ANDX
            if command in _ANDX and block.word_count >= 2:
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

    def finish(self) -> None:
        """Setups whose end was not captured become sessions, so that what they carried is not lost."""
        for uid, setup in self._setups.items():
            self._set_up(uid, setup, setup.first_time_ns)
        self._setups.clear()

    # Requests

    def _remember(self, header: Header, command: int, message: Message) -> None:
        key = (header.pid, header.mid)
        if key not in self._pending and len(self._pending) >= self._most_pending:
            del self._pending[next(iter(self._pending))]
            if not self._forgot:
                self._forgot = True
                text = f"more than {self._most_pending} requests without an answer; the oldest are forgotten"
                self._out.append(Problem("limit", "smb", message.frames, text))
        former = self._pending.get(key)
        request = Request(command, header.uid, header.tid)
        if former is not None and command != header.command:
            # Chained commands share one answer; what the first asked for stays known.
            request.name, request.fid, request.setup = former.name, former.fid, former.setup
            request.identity = former.identity
        self._pending[key] = request

    def _request(self, header: Header, block: Block, message: Message) -> None:
        command, words = block.command, block.words
        if command == TRANSACTION_SECONDARY:
            self._secondary(header, block, message)
            return
        self._remember(header, command, message)
        request = self._pending[header.pid, header.mid]
        if command == NEGOTIATE:
            self._negotiate_request(block)
        elif command == SESSION_SETUP_ANDX:
            self._setup_request(header, request, block, message)
        elif command == TREE_CONNECT_ANDX:
            words.skip("tree_connect.flags", 2)
            block.data.skip("tree_connect.password", words.u16("tree_connect.len_password"))
            request.name = _text(block.data, header.unicode)
        elif command == NT_CREATE_ANDX:
            words.skip("create.reserved", 1)
            request.name = _text(block.data, header.unicode, words.u16("create.len_name"))
        elif command == OPEN_ANDX:
            request.name = _text(block.data, header.unicode)
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

    def _written(self, header: Header, request: Request, message: Message, start: int, length: int, mode: int) -> None:
        session = self._session(header.uid, message)
        assert request.fid is not None
        start, stop = _span(message, start, length)
        begins = message.part(start, stop).head.data
        if mode & _WRITE_MODE_RAW_START == _WRITE_MODE_RAW_START and length >= 2 and not looks_like_dcerpc(begins):
            start += 2
        opened = session.open_of(_key(request.fid), self._out)
        session.deliver(opened, True, message, (start, stop), self._info(header, session), self._out)

    def _transaction(self, header: Header, request: Request, block: Block, message: Message) -> None:
        words = block.words
        words.skip("transaction.totals_and_parameters", 22)
        length, start = words.u16("transaction.len_data"), words.u16("transaction.ofs_data")
        if words.u8("transaction.num_setup") < 2:
            return
        words.skip("transaction.reserved", 1)
        request.subcommand = words.u16("transaction.subcommand")
        request.fid = words.u16("transaction.fid")
        session = self._session(header.uid, message)
        if request.subcommand == TRANS_CALL:
            # Open, transact and close in one: a pipe that lives for this message and its answer.
            name = pipe_name(_text(block.data, header.unicode))
            request.opened = Open("pipe", name, header.tid)
            request.fid = None
            session.add_open(_call_key(header), request.opened, self._out)
        elif request.subcommand in (TRANS_TRANSACT, TRANS_READ, TRANS_WRITE, TRANS_RAW_WRITE):
            request.opened = session.open_of(_key(request.fid), self._out)
        if request.opened is not None:
            self._piece(header, session, request, message, (0, start, length), from_client=True)

    def _secondary(self, header: Header, block: Block, message: Message) -> None:
        request = self._pending.get((header.pid, header.mid))
        if request is None or request.opened is None:
            return
        words = block.words
        words.skip("transaction.totals_and_parameters", 10)
        length, start = words.u16("transaction.len_data"), words.u16("transaction.ofs_data")
        displacement = words.u16("transaction.data_displacement")
        session = self._session(header.uid, message)
        self._piece(header, session, request, message, (displacement, start, length), from_client=True)

    def _piece(
        self,
        header: Header,
        session: Session,
        request: Request,
        message: Message,
        where: tuple[int, int, int],
        *,
        from_client: bool,
    ) -> None:
        """One message's share of a transaction's data: displacement, offset in the message, length."""
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
        # What came before is not emitted twice.
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

    def _response(self, header: Header, request: Request | None, block: Block, message: Message) -> None:
        command, words = block.command, block.words
        if command == TRANSACTION:
            self._transaction_answered(header, request, block, message)
            return
        if command == NEGOTIATE:
            self._negotiate_response(header, block)
        elif command == SESSION_SETUP_ANDX:
            self._setup_response(header, request, block, message)
        if header.failed or block.word_count == 0:
            closing = command in (CLOSE, WRITE_AND_CLOSE) and not header.failed
            if closing and request is not None and request.fid is not None:
                self._session(header.uid, message).close(_key(request.fid), self._out)
            elif command == TREE_DISCONNECT and not header.failed:
                self._session(header.uid, message).close_tree(header.tid, self._out)
            return
        if command in (NEGOTIATE, ECHO):
            return  # these belong to the connection, whatever UID they carry
        session = self._session(header.uid, message)
        if command == TREE_CONNECT_ANDX:
            service = _text(block.data, False)
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

    def _opened(self, session: Session, header: Header, request: Request | None, fid: int) -> None:
        tree = session.trees.get(header.tid)
        kind: OpenKind = tree.kind if tree is not None else "unknown"
        path = request.name if request is not None else None
        name = pipe_name(path) if path is not None and kind != "file" else path
        if kind == "unknown" and path is not None and path.lower().startswith("\\pipe\\"):
            kind = "pipe"
        session.add_open(_key(fid), Open(kind, name, header.tid), self._out)
        if request is not None:
            # What is chained behind an open means the file just opened.
            request.fid = fid

    def _read_answered(
        self, header: Header, session: Session, request: Request | None, message: Message, where: tuple[int, int]
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

    def _transaction_answered(self, header: Header, request: Request | None, block: Block, message: Message) -> None:
        words, key = block.words, (header.pid, header.mid)
        if block.word_count < 10:
            # An interim answer asks for the secondary requests; a failure ends it.
            if header.failed:
                self._pending.pop(key, None)
            return
        if request is None or request.opened is None:
            session = self._session(header.uid, message)
            pipes = session.pipes()
            if request is not None or len(pipes) != 1:
                return
            request = Request(TRANSACTION, header.uid, header.tid, opened=pipes[0])
        words.skip("transaction.total_parameters", 2)
        total = words.u16("transaction.total_data")
        words.skip("transaction.parameters", 8)
        length, start = words.u16("transaction.len_data"), words.u16("transaction.ofs_data")
        displacement = words.u16("transaction.data_displacement")
        session = self._session(header.uid, message)
        self._piece(header, session, request, message, (displacement, start, length), from_client=False)
        if request.answered >= total:
            self._pending.pop(key, None)
            if request.subcommand == TRANS_CALL:
                session.close(_call_key(header), self._out)

    # Negotiation and session setup

    def _negotiate_request(self, block: Block) -> None:
        dialects = [entry.rstrip(b"\0") for entry in block.data.rest().split(b"\x02")]
        if any(dialect.startswith(b"SMB 2") for dialect in dialects):
            self._offers_smb2()

    def _negotiate_response(self, header: Header, block: Block) -> None:
        state, words = self._state, block.words
        if header.failed or words.u16("negotiate.dialect_index") == 0xFFFF:
            return
        state.dialect = "1.0"
        if block.word_count < 17:
            return
        words.skip("negotiate.fixed", 17)
        capabilities = words.u32("negotiate.capabilities")
        words.skip("negotiate.time", 10)
        len_challenge = words.u8("negotiate.len_challenge")
        if capabilities & CAP_EXTENDED_SECURITY:
            state.server_guid = guid_text(block.data.take("negotiate.server_guid", 16))
        else:
            block.data.skip("negotiate.challenge", len_challenge)
            # Domain and server name follow as Unicode without alignment, where the server sends them.
            if block.data.left:
                _text(block.data, header.unicode, aligned=False)
            if block.data.left:
                state.name_host(state.server.ip, _text(block.data, header.unicode, aligned=False), "SMB1 negotiation")

    def _setup_request(self, header: Header, request: Request, block: Block, message: Message) -> None:
        words, data = block.words, block.data
        words.skip("session_setup.fixed", 10)
        if block.word_count == 12:
            length = words.u16("session_setup.len_blob")
            setup = self._setups.get(header.uid) if header.uid else None
            if setup is None:
                setup = Setup(self._state.shared.handshake(), message.time_ns)
            request.setup = setup
            setup.frames += message.frames[: MAX_FRAMES - len(setup.frames)]
            setup.handshake.feed("initiator", data.take("session_setup.blob", length))
            if data.left:
                setup.client_os = _text(data, header.unicode) or None
            return
        lengths = words.u16("session_setup.len_lm")
        if block.word_count >= 13:
            lengths += words.u16("session_setup.len_nt")
        data.skip("session_setup.passwords", lengths)
        user = _text(data, header.unicode)
        domain = _text(data, header.unicode) if data.left else ""
        system = _text(data, header.unicode) if data.left else ""
        request.identity = Identity(
            "ntlm", user or None, domain or None, client_os_version=system or None, is_anonymous=not user
        )

    def _setup_response(self, header: Header, request: Request | None, block: Block, message: Message) -> None:
        setup = request.setup if request is not None else self._setups.get(header.uid)
        more = header.status == STATUS_MORE_PROCESSING_REQUIRED
        system = None
        granted: Granted | None = None
        if (more or not header.failed) and block.word_count >= 3:
            granted = "guest" if block.words.u16("session_setup.action") & SMB_SETUP_GUEST else "account"
            if block.word_count >= 4:
                token = block.data.take("session_setup.blob", block.words.u16("session_setup.len_blob"))
                if setup is None:
                    setup = Setup(self._state.shared.handshake(), message.time_ns)
                    setup.handshake.missed("initiator")
                if token:
                    setup.handshake.feed("acceptor", token)
            if block.data.left:
                system = _text(block.data, header.unicode) or None
        if setup is not None:
            setup.frames += message.frames[: MAX_FRAMES - len(setup.frames)]
        if more and setup is not None:
            self._setups[header.uid] = setup
            return
        self._setups.pop(header.uid, None)
        is_first = header.uid not in self._state.sessions
        session = self._establish(header.uid, setup, message.time_ns, message.frames)
        logon = self._logon(setup, message.time_ns, message.frames)
        if request is not None and request.identity is not None:
            logon.plain_identity = replace(request.identity, os_version=system)
        elif system is not None:
            logon.server_os = system
        logon.granted = granted
        if not header.failed:
            session.logs_on(logon, message.time_ns, self._out)
            return
        logon.refused = header.status
        if is_first:
            session.logs_on(logon, message.time_ns, self._out)
            self._leave(session)
        else:
            # A renewal that failed: the session goes on as it was.
            session.refuses(logon, message.time_ns, self._out)

    def _logon(self, setup: Setup | None, time_ns: int, frames: tuple[int, ...]) -> SessionLogon:
        if setup is None:
            return self._state.shared.logon(None, time_ns, frames)
        logon = self._state.shared.logon(setup.handshake, setup.first_time_ns, setup.frames)
        logon.client_os = setup.client_os
        return logon

    def _set_up(self, uid: int, setup: Setup, time_ns: int, frames: tuple[int, ...] = ()) -> Session:
        """The session of a setup whose end was not captured."""
        session = self._establish(uid, setup, time_ns, frames)
        session.logs_on(self._logon(setup, time_ns, frames), time_ns, self._out)
        return session

    def _establish(self, uid: int, setup: Setup | None, time_ns: int, frames: tuple[int, ...] = ()) -> Session:
        """The session of a setup, or one whose setup was not captured; `frames` are those of the message that shows it."""
        session = self._state.sessions.get(uid)
        if session is None:
            session = Session(self._state, uid, setup.first_time_ns if setup is not None else time_ns)
            self._state.add_session(session)
        if setup is not None:
            session.note_frames(tuple(setup.frames))
        session.seen(time_ns)
        session.note_frames(frames)
        return session

    def _session(self, uid: int, message: Message) -> Session:
        session = self._state.sessions.get(uid)
        if session is None:
            setup = self._setups.pop(uid, None)
            if setup is not None:
                # The answer that completed the setup was not captured; that the session is used shows that there was one.
                session = self._set_up(uid, setup, message.time_ns, message.frames)
            else:
                session = self._establish(uid, None, message.time_ns)
        session.seen(message.time_ns)
        return session

    def _info(self, header: Header, session: Session) -> SmbInfo:
        signed, logon = bool(header.flags2 & FLAG2_SIGNED), session.logon
        dialect = self._state.dialect or "1.0"
        if logon is None:
            return SmbInfo(dialect, header.uid, False, signed, False)
        return SmbInfo(dialect, header.uid, False, signed, False, logon=logon.number, identity=logon.identity)


def _read_block(data: bytes, at: int, command: int) -> Block:
    cur = Cursor(data, min(at, len(data)))
    word_count = cur.u8("word_count")
    words = Cursor(data, cur.pos, cur.pos + 2 * word_count)
    if words.stop > len(data):
        raise TruncatedError("the words are cut", field="words", start=cur.pos, stop=len(data))
    cur.skip("words", 2 * word_count)
    # Large reads and writes outgrow the byte count; their own fields give where the data lie.
    if cur.left >= 2:
        cur.skip("byte_count", 2)
    return Block(command, words, word_count, cur)


def _text(cur: Cursor, unicode: bool, length: int | None = None, *, aligned: bool = True) -> str:
    """A string up to its NUL (or of `length` bytes), in UTF-16 from an even offset or in the OEM code page."""
    if unicode and aligned and cur.pos % 2 and cur.left:
        cur.skip("padding", 1)
    rest = cur.data[cur.pos : cur.stop]
    if length is not None:
        rest = rest[:length]
    if not unicode:
        text, nul, _ = rest.partition(b"\0")
        cur.pos += len(text) + len(nul)
        return text.decode("cp437")
    end = 0
    while end + 1 < len(rest) and rest[end : end + 2] != b"\0\0":
        end += 2
    cur.pos = min(cur.pos + end + 2, cur.stop)
    return rest[:end].decode("utf-16-le", "replace")


def _key(fid: int) -> bytes:
    return fid.to_bytes(2, "little")


def _call_key(header: Header) -> bytes:
    return f"call {header.pid} {header.mid}".encode()


def _span(message: Message, start: int, length: int) -> tuple[int, int]:
    if length and (start < HEADER_LEN or start + length > message.length):
        raise MalformedError(
            f"{length} bytes at {start} lie outside of the {message.length}-byte message", field="data"
        )
    return start, start + length
