"""Reads SMB2 and SMB3 messages and emits the channel events of their pipes ([MS-SMB2] sections 2.2 and 3.3).

A request is remembered by its MessageId until its response comes. The request shows what the response means: whose data a READ
returned, which FileId a CREATE got.

    state       input                                    next state
    -           request                                  PENDING (in `_pending`, by MessageId)
    PENDING     interim response (STATUS_PENDING)        PENDING
    PENDING     response                                 answered: the command's handler has both
    PENDING     too many requests after it (`Limits`)    forgotten
    -           response                                 the command's handler has no request: it was not captured

`_COMMANDS` names for each command what takes its requests and its responses.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct, field
from msgspec.structs import replace

from analyzer.core.byte_cursor import Cursor
from analyzer.core.errors import DecodeError, MalformedError, TruncatedError
from analyzer.core.events import Conflict, Problem
from analyzer.core.traced_bytes import TracedBytes
from analyzer.transport.channel.channels import SmbInfo
from analyzer.transport.smb.channel_emitter import Emitter
from analyzer.transport.smb.encrypted_messages import decrypted_message
from analyzer.transport.smb.smb2_header import (
    CANCEL,
    CLOSE,
    CREATE,
    FLAG_RELATED,
    FLAG_REPLAY,
    FLAG_RESPONSE,
    FLAG_SIGNED,
    HEADER_LEN,
    IOCTL,
    IOCTL_INPUT,
    IOCTL_REQUEST,
    IOCTL_RESPONSE,
    IOCTL_RESPONSE_SIZE,
    LOGOFF,
    LONGEST,
    NEGOTIATE,
    READ,
    READ_REQUEST,
    READ_RESPONSE,
    READ_RESPONSE_SIZE,
    SESSION_SETUP,
    TREE_CONNECT,
    TREE_DISCONNECT,
    WRITE,
    WRITE_REQUEST,
    Smb2Header,
    check_cut,
    check_error,
    lies_outside,
    read_header,
)
from analyzer.transport.smb.smb2_session_setup import STATUS_USER_SESSION_DELETED, Smb2Sessions, Smb2Setup
from analyzer.transport.smb.smb3_crypto import TRANSFORM_LEN
from analyzer.transport.smb.smb_connection_state import ConnectionState, SharedState, remember_info
from analyzer.transport.smb.smb_framing import LostMessages, Message
from analyzer.transport.smb.smb_session import Session
from analyzer.transport.smb.trees_and_opens import (
    Open,
    OpenKind,
    SentAlready,
    SentData,
    may_be_sent_again,
    pipe_name,
    whole_file_id,
)
from analyzer.transport.tcp.protocol_recognition import looks_like_dcerpc
from analyzer.transport.tcp.stream_events import Direction

STATUS_PENDING = 0x103
FSCTL_PIPE_TRANSCEIVE = 0x0011C017
SHARE_TYPE_PIPE = 0x02

ANY_FILE = b"\xff" * 16
_NO_SESSION = 0xFFFFFFFFFFFFFFFF

# With more requests waiting than this, which pipes were read is not looked up for each loss.
_MAX_ASKED = 64
# Memory of a request that waits for its response, as measured.
_REQUEST_COST = 400


class Transforms(Struct, frozen=True, cache_hash=True):
    """The transforms that wrapped an SMB2 message before it is read: SMB3 encryption and compression."""

    encrypted: bool = False
    compressed: bool = False


PLAIN = Transforms()
ENCRYPTED = Transforms(encrypted=True)


class Compound(Struct):
    """The values that related operations of an SMB2 compound share: ids, and the FileId that a CREATE among them gets. `waiting` is
    data sent before that CREATE was answered."""

    file_id: bytes | None = None
    session_id: int = 0
    tree_id: int | None = None
    waiting: list[tuple[Message, tuple[int, int], SmbInfo]] = field(default_factory=list)


class Smb2Request(Struct):
    """An SMB2 request, with the fields that its response needs."""

    command: int
    session_id: int
    tree_id: int | None
    compound: Compound | None = None
    file_id: bytes | None = None
    path: str | None = None
    impersonation: int | None = None
    setup: Smb2Setup | None = None
    # Data to a pipe that may come again; the open that it opens again; whether the request itself is sent again.
    sent: SentData | None = None
    reopens: bytes | None = None
    is_replay: bool = False
    # Bytes of memory that it takes, with those of names and data that it keeps.
    size: int = _REQUEST_COST


class Operation(Struct):
    """One SMB2 message, alone or in a compound. It begins at `at` of `lead`; its first `captured` bytes have no hole."""

    header: Smb2Header
    message: Message
    lead: bytes
    at: int
    captured: int
    transforms: Transforms
    # The session of the header, where it is known already.
    session: Session | None = None
    signature_ok: bool | None = None

    @property
    def body(self) -> Cursor:
        """A cursor on the body of the SMB2 message that is read, behind its header."""
        return Cursor(self.message.head.data, HEADER_LEN)


class Smb2Infos:
    """Keeps how the SMB2 messages that are read on a connection were carried. Few values differ: a conversation is carried
    alike."""

    def __init__(self, state: ConnectionState) -> None:
        self._state = state
        self._known: dict[tuple[object, ...], SmbInfo] = {}

    def info_of(self, operation: Operation, session_id: int, session: Session | None) -> SmbInfo:
        """Returns how an SMB2 message was carried (dialect, session, protection, logon)."""
        logon = stated = number = None
        if session is not None:
            number = session.number
            logon = session.in_force if session.former else session.pending or session.logon
            if logon is not None and logon is session.pending:
                # The identity of a renewal under way grows with its messages.
                stated = logon.identity
        transforms, dialect, signed = operation.transforms, self._state.dialect, operation.header.flags & FLAG_SIGNED
        key = (number, session_id, logon, stated, signed, transforms, operation.signature_ok, dialect)
        info = self._known.get(key)
        if info is None:
            how = (transforms.encrypted, bool(signed), transforms.compressed, operation.signature_ok)
            info = SmbInfo(dialect, session_id, *how, self._state.client, self._state.server, session=number)
            info = remember_info(self._known, key, info, logon)
        return info


class Smb2Reader:
    """Reads the SMB2 messages of one connection, and emits events to `out`."""

    def __init__(self, state: ConnectionState, out: Emitter) -> None:
        self._state = state
        self._out = out
        self._limits = state.shared.limits
        # About how many bytes of memory its requests take.
        self.memory = 0
        self.sessions = Smb2Sessions(state, out)
        self._pending: dict[int, Smb2Request] = {}
        self._requests_lost = False
        self._forgot = False
        self._infos = Smb2Infos(state)

    def feed(self, direction: Direction, message: Message, transforms: Transforms) -> None:
        """Takes one SMB2 message, perhaps a compound, that is free of its transforms."""
        data, start = message.data, message.start
        length = message.stop - start
        if length < HEADER_LEN:
            self._unreadable(direction, message, "its header is not in the capture")
            return
        lead = data.data if type(data) is TracedBytes else data.lead(start + min(length, LONGEST))
        header = read_header(lead, start, length)
        if self._state.client_direction is None:
            self._state.client_direction = _other(direction) if header.is_response else direction
        if header.next_command:
            self._compound(direction, message, transforms)
            return
        operation = Operation(header, message, lead, start, length, transforms)
        try:
            if header.flags & FLAG_RESPONSE:
                self._response(operation)
            else:
                self._request(operation, Compound() if header.flags & FLAG_RELATED else None)
        except DecodeError as error:
            self._decode_error(direction, message, message, error)

    def decrypt(self, direction: Direction, message: Message) -> Message | None:
        """Reads on inside an encrypted SMB2 message: returns the message in it, None if it stays encrypted."""
        if message.stop - message.start < TRANSFORM_LEN:
            self._unreadable(direction, message, "its header is not in the capture")
            return None
        at = message.start + TRANSFORM_LEN
        session_id = int.from_bytes(message.data.lead(at)[at - 8 : at], "little")
        session = self.sessions.get(session_id, message)
        if session is None:
            # impacket leaves its tree once more behind its logoff, encrypted for session 0; smbd ends the connection.
            text = "an encrypted message of no session, its SessionId is 0"
            raise MalformedError(text, field="transform.session_id", start=44, stop=52)
        client = self._state.client_direction
        session.is_shown |= client is not None and direction != client
        decrypted = decrypted_message(self._state, session, message, None if client is None else direction == client)
        if decrypted is None:
            self.lost_data(direction, message, session.undecrypted.reason)
        return decrypted

    def expect_negotiate(self) -> None:
        """Expects the response to an SMB1 negotiation that offered SMB2. It may be an SMB2 response with MessageId 0."""
        if 0 in self._pending:
            self._pop(0)
        self._pending[0] = Smb2Request(NEGOTIATE, 0, None)
        self.memory += _REQUEST_COST

    def lost_data(self, direction: Direction, what: Message | LostMessages, reason: str) -> None:
        """Notes that SMB2 messages of this direction were lost, and emits gaps for the pipes that may have lost data.

        The server sends data only in a response. So if all requests are known, only pipes with an unanswered request are concerned.
        """
        from_client = direction == (self._state.client_direction or 0)
        self._requests_lost |= from_client
        asked: set[bytes] | None = None
        if not from_client and not self._requests_lost and len(self._pending) <= _MAX_ASKED:
            waiting = (request for request in self._pending.values() if request.command in (READ, IOCTL))
            asked = {request.file_id for request in waiting if request.file_id is not None}
        for session in self._state.sessions.values():
            session.lost(from_client, asked, what, reason, self._out)

    def _compound(self, direction: Direction, message: Message, transforms: Transforms) -> None:
        at, compound = 0, Compound()
        for _ in range(self._limits.compound):
            part = message
            step = 0
            try:
                header = _header_of(message.part(at, min(at + HEADER_LEN, message.length)) if at else message)
                step = header.next_command
                stop = at + step if step else message.length
                if step and (step < HEADER_LEN or stop >= message.length):
                    raise MalformedError(
                        f"{step} leads out of the compound", field="header.next_command", start=20, stop=24
                    )
                part = message.part(at, stop)
                captured = part.stop - part.start
                lead = part.data.lead(part.start + min(captured, LONGEST))
                operation = Operation(header, part, lead, part.start, captured, transforms)
                if header.is_response:
                    self._response(operation)
                else:
                    self._request(operation, compound)
            except DecodeError as error:
                self._decode_error(direction, message, part, error)
            if step < HEADER_LEN or at + step >= message.length:
                return
            at += step
        text = f"more than {self._limits.compound} operations in one compound; the rest is not read"
        self._out.append(Problem("limit", "smb", message.frames, text))

    def _decode_error(self, direction: Direction, message: Message, part: Message, error: DecodeError) -> None:
        """Reports an SMB2 operation that violates its specification. Only this operation is lost."""
        if part.whole or not isinstance(error, TruncatedError):
            self._out.append(Problem.from_error("smb", error, part.frames or message.frames))
        else:
            self._unreadable(direction, part, str(error))

    def _check_signature(self, operation: Operation) -> None:
        """Checks the signature of an SMB2 message that is signed and not encrypted. That of a SESSION_SETUP is no message's own."""
        header, message, sessions = operation.header, operation.message, self.sessions
        if header.command != SESSION_SETUP and not operation.transforms.encrypted:
            session = operation.session = sessions.get(header.session_id, message)
            operation.signature_ok = sessions.check_signature(header, message, session)

    def _request(self, operation: Operation, compound: Compound | None) -> None:
        header = operation.header
        command, flags = header.command, header.flags
        if flags & FLAG_SIGNED:
            self._check_signature(operation)
        session_id, tree_id = header.session_id, header.tree_id
        if compound is not None:
            if flags & FLAG_RELATED:
                # [MS-SMB2] 3.3.5.2.7.2: related operations take session, tree and FileId from the one before.
                session_id, tree_id = compound.session_id, compound.tree_id
            else:
                compound.file_id, compound.session_id, compound.tree_id = None, session_id, tree_id
        if command == CANCEL:
            return
        request, pending = Smb2Request(command, session_id, tree_id, compound), self._pending
        if header.message_id in pending:
            self._pop(header.message_id)
        elif len(pending) >= self._limits.requests:
            self._forget_oldest(operation.message)
        pending[header.message_id] = request
        self.memory += _REQUEST_COST
        take = _COMMANDS.get(command, _UNREAD).request
        if take is not None:
            take(self, operation, request)

    def _forget_oldest(self, message: Message) -> None:
        """Forgets the oldest SMB2 request, because more wait than a server allows. It will have no response."""
        self._pop(next(iter(self._pending)))
        if not self._forgot:
            self._forgot = True
            text = f"more than {self._limits.requests} requests without an answer; the oldest are forgotten"
            self._out.append(Problem("limit", "smb", message.frames, text))

    def _keeps(self, request: Smb2Request, size: int) -> None:
        request.size += size
        self.memory += size

    def _pop(self, message_id: int) -> None:
        """Removes an SMB2 request from those that wait for a response."""
        self.memory -= self._pending.pop(message_id).size

    def _response(self, operation: Operation) -> None:
        header, pending = operation.header, self._pending
        if header.session_id not in self._state.sessions:
            asked = pending.get(header.message_id)
            header = operation.header = _of_request(self._state, header, asked, operation.message)
        if header.flags & FLAG_SIGNED:
            self._check_signature(operation)
        status = header.status
        if status == STATUS_PENDING:
            if (named := self._state.sessions.get(header.session_id)) is not None:
                named.is_shown = True
            return
        request = pending.pop(header.message_id, None)
        if request is not None:
            self.memory -= request.size
            if request.command != header.command:
                # FSCTLs other than the transceive carry no channel data.
                if request.command == -1:
                    return
                request = None
        command = _COMMANDS.get(header.command, _UNREAD)
        if command.is_setup:
            if command.response is not None:
                command.response(self, operation, request, None)
            return
        session = operation.session or self.sessions.get(header.session_id, operation.message)
        if session is not None:
            session.is_shown |= status != STATUS_USER_SESSION_DELETED
            if command.response is not None:
                command.response(self, operation, request, session)

    # Data

    def _read_request(self, operation: Operation, request: Smb2Request) -> None:
        if operation.captured < READ_REQUEST.stop:
            READ_REQUEST.fail(operation.captured)
        (file_id,) = READ_REQUEST.unpack(operation.lead, operation.at)
        _take_file_id(request, file_id)

    def _write_request(self, operation: Operation, request: Smb2Request) -> None:
        if operation.captured < WRITE_REQUEST.stop:
            WRITE_REQUEST.fail(operation.captured)
        start, length, file_id = WRITE_REQUEST.unpack(operation.lead, operation.at)
        _take_file_id(request, file_id)
        self._from_client(operation, request, start, length)

    def _ioctl_request(self, operation: Operation, request: Smb2Request) -> None:
        if operation.captured < IOCTL_REQUEST.stop:
            IOCTL_REQUEST.fail(operation.captured)
        code, file_id = IOCTL_REQUEST.unpack(operation.lead, operation.at)
        _take_file_id(request, file_id)
        if code != FSCTL_PIPE_TRANSCEIVE:
            request.command = -1
            return
        if operation.captured < IOCTL_INPUT.stop:
            IOCTL_INPUT.fail(operation.captured)
        start, length = IOCTL_INPUT.unpack(operation.lead, operation.at)
        self._from_client(operation, request, start, length)

    def _from_client(self, operation: Operation, request: Smb2Request, start: int, length: int) -> None:
        message, out = operation.message, self._out
        if length and (start < HEADER_LEN or start + length > message.length):
            raise lies_outside(message, start, length)
        span, session, session_id = (start, start + length), operation.session, request.session_id
        if session is None or session_id != operation.header.session_id:
            session = self.sessions.get(session_id, message)
        file_id = request.file_id
        if file_id is None and request.compound is not None:
            smb = self._infos.info_of(operation, session_id, session)
            request.compound.waiting.append((message, span, smb))
            self._keeps(request, message.length)
        elif session is not None and file_id is not None:
            opened = session.opens.get(file_id) or session.open_of(file_id, out)
            if opened.kind == "file":
                return
            if may_be_sent_again(session, opened) and _repeats(self._state, out, operation, request, opened, span):
                return
            smb = self._infos.info_of(operation, session_id, session)
            session.deliver(opened, True, message, span, smb, out)

    def _read_response(self, operation: Operation, request: Smb2Request | None, session: Session | None) -> None:
        assert session is not None
        if operation.header.failed:
            return
        message, lead, at, captured = operation.message, operation.lead, operation.at, operation.captured
        if captured < READ_RESPONSE.stop:
            check_cut(operation.header, lead, at, captured, READ_RESPONSE, READ_RESPONSE_SIZE)
            return
        size, start, length = READ_RESPONSE.unpack(lead, at)
        if size != READ_RESPONSE_SIZE:
            check_error(operation.header, size, READ_RESPONSE_SIZE)
            return
        if length and (start < HEADER_LEN or start + length > message.length):
            raise lies_outside(message, start, length)
        file_id = request.file_id if request is not None else None
        if file_id is None and request is not None and request.compound is not None:
            file_id = request.compound.file_id
        if file_id is not None:
            opened = session.opens.get(file_id) or session.open_of(file_id, self._out)
            if opened.kind != "file":
                smb = self._infos.info_of(operation, session.session_id, session)
                session.deliver(opened, False, message, (start, start + length), smb, self._out)
        else:
            smb = self._infos.info_of(operation, session.session_id, session)
            self._read_by_unknown(session, message, (start, start + length), smb)

    def _read_by_unknown(self, session: Session, message: Message, span: tuple[int, int], smb: SmbInfo) -> None:
        """Takes the data of an SMB2 READ whose request was not captured. They belong to the session's pipe, if it has only one."""
        pipes = session.pipes()
        if len(pipes) == 1:
            session.deliver(pipes[0], False, message, span, smb, self._out)
            return
        if not pipes:
            if looks_like_dcerpc(message.part(*span).head.data):
                session.deliver_orphan(message, span, smb, self._out)
            return
        reason = "the request of a READ was not captured, so its data cannot be assigned to a pipe"
        self._state.note("gap", reason, message.frames)
        session.lost(False, None, message, reason, self._out)

    def _ioctl_response(self, operation: Operation, request: Smb2Request | None, session: Session | None) -> None:
        assert session is not None
        message, lead, at, captured = operation.message, operation.lead, operation.at, operation.captured
        if captured < IOCTL_RESPONSE.stop:
            check_cut(operation.header, lead, at, captured, IOCTL_RESPONSE, IOCTL_RESPONSE_SIZE)
            return
        size, code, file_id, start, length = IOCTL_RESPONSE.unpack(lead, at)
        if size != IOCTL_RESPONSE_SIZE:
            check_error(operation.header, size, IOCTL_RESPONSE_SIZE)
            return
        if length and (start < HEADER_LEN or start + length > message.length):
            raise lies_outside(message, start, length)
        # A warning (STATUS_BUFFER_OVERFLOW) answers with data too.
        if code == FSCTL_PIPE_TRANSCEIVE and operation.header.status >> 30 != 3:
            file_id = (request.file_id if request is not None else None) or whole_file_id(session.opens, file_id)
            opened = session.opens.get(file_id) or session.open_of(file_id, self._out)
            smb = self._infos.info_of(operation, session.session_id, session)
            if request is None or request.sent is None or request.sent.is_first_answer():
                session.deliver(opened, False, message, (start, start + length), smb, self._out)

    # Opens and trees

    def _create_request(self, operation: Operation, request: Smb2Request) -> None:
        cur = operation.body
        cur.skip("create.header", 4)
        request.impersonation = cur.u32("create.impersonation_level")
        cur.skip("create.fixed", 36)
        request.path = _text(cur.data, cur.u16("create.ofs_name"), cur.u16("create.len_name"))
        self._keeps(request, len(request.path))
        request.is_replay = bool(operation.header.flags & FLAG_REPLAY)
        request.reopens = _reopened_file_id(cur)

    def _create_response(self, operation: Operation, request: Smb2Request | None, session: Session | None) -> None:
        assert session is not None
        cur = operation.body
        if operation.header.failed or cur.u16("create.structure_size") != 89:
            return
        cur.skip("create.fixed", 62)
        file_id = cur.take_bytes("create.file_id", 16)
        if request is None:
            session.add_open(file_id, Open("unknown", None), self._out)
            return
        opened = session.opens.get(file_id) if request.is_replay else None
        if opened is None:
            opened = _opened(request, session, self._state.shared)
            session.add_open(file_id, opened, self._out)
            if _grants_durability(cur):
                self._state.shared.durable.granted(session, file_id, opened)
        compound = request.compound
        if compound is not None and compound.file_id is None:
            compound.file_id = file_id
            for waiting, span, smb in compound.waiting:
                session.deliver(opened, True, waiting, span, smb, self._out)
            compound.waiting.clear()

    def _close_request(self, operation: Operation, request: Smb2Request) -> None:
        cur = operation.body
        cur.skip("close.header", 8)
        _take_file_id(request, cur.take_bytes("file_id", 16))

    def _close_response(self, operation: Operation, request: Smb2Request | None, session: Session | None) -> None:
        if session is not None and request is not None and request.file_id is not None:
            session.close(request.file_id, self._out)

    def _tree_request(self, operation: Operation, request: Smb2Request) -> None:
        cur = operation.body
        cur.skip("tree_connect.header", 4)
        request.path = _text(cur.data, cur.u16("tree_connect.ofs_path"), cur.u16("tree_connect.len_path"))
        self._keeps(request, len(request.path))

    def _tree_response(self, operation: Operation, request: Smb2Request | None, session: Session | None) -> None:
        header = operation.header
        if session is None or header.failed or header.tree_id is None:
            return
        cur = operation.body
        cur.skip("tree_connect.structure_size", 2)
        share_type = cur.u8("tree_connect.share_type")
        path = request.path if request is not None and request.path is not None else ""
        is_pipe = share_type == SHARE_TYPE_PIPE or path.upper().endswith("\\IPC$")
        session.add_tree(header.tree_id, path, "pipe" if is_pipe else "file")

    def _tree_disconnected(self, operation: Operation, request: Smb2Request | None, session: Session | None) -> None:
        header = operation.header
        if session is not None and not header.failed and header.tree_id is not None:
            session.close_tree(header.tree_id, self._out)

    # Negotiation and sessions

    def _negotiate_request(self, operation: Operation, request: Smb2Request) -> None:
        self.sessions.negotiate_request(operation.body, operation.message)

    def _negotiate_response(self, operation: Operation, request: Smb2Request | None, session: Session | None) -> None:
        if not operation.header.failed:
            self.sessions.negotiate_response(operation.body, operation.message)

    def _setup_request(self, operation: Operation, request: Smb2Request) -> None:
        request.setup = self.sessions.setup_request(operation.header, operation.body, operation.message)

    def _setup_response(self, operation: Operation, request: Smb2Request | None, session: Session | None) -> None:
        header = operation.header
        setup = request.setup if request is not None else self.sessions.setup_of(header.session_id)
        if request is None and setup is not None:
            setup.preauth_hash = None  # the request is part of it
        is_encrypted = operation.transforms.encrypted
        self.sessions.setup_response(header, setup, operation.body, operation.message, is_encrypted=is_encrypted)

    def _logoff_response(self, operation: Operation, request: Smb2Request | None, session: Session | None) -> None:
        if session is not None and not operation.header.failed:
            self.sessions.logoff(session)

    def _unreadable(self, direction: Direction, message: Message, why: str) -> None:
        """Reports an SMB2 message whose captured part is too short to show its purpose."""
        reason = message.reason or why
        sender = self._state.connection.sender(direction)
        self._state.note("truncated", f"an SMB2 message from {sender} is cut: {reason}", message.frames)
        self.lost_data(direction, message, reason)


class Smb2Command(Struct, frozen=True):
    """The handlers for requests and responses of one SMB2 command. `is_setup`: the command belongs to no session yet."""

    request: Callable[[Smb2Reader, Operation, Smb2Request], None] | None = None
    response: Callable[[Smb2Reader, Operation, Smb2Request | None, Session | None], None] | None = None
    is_setup: bool = False


_UNREAD = Smb2Command()
_COMMANDS: dict[int, Smb2Command] = {
    READ: Smb2Command(Smb2Reader._read_request, Smb2Reader._read_response),
    WRITE: Smb2Command(Smb2Reader._write_request),
    IOCTL: Smb2Command(Smb2Reader._ioctl_request, Smb2Reader._ioctl_response),
    CREATE: Smb2Command(Smb2Reader._create_request, Smb2Reader._create_response),
    CLOSE: Smb2Command(Smb2Reader._close_request, Smb2Reader._close_response),
    TREE_CONNECT: Smb2Command(Smb2Reader._tree_request, Smb2Reader._tree_response),
    TREE_DISCONNECT: Smb2Command(None, Smb2Reader._tree_disconnected),
    NEGOTIATE: Smb2Command(Smb2Reader._negotiate_request, Smb2Reader._negotiate_response, is_setup=True),
    SESSION_SETUP: Smb2Command(Smb2Reader._setup_request, Smb2Reader._setup_response, is_setup=True),
    LOGOFF: Smb2Command(None, Smb2Reader._logoff_response),
}


def _header_of(message: Message) -> Smb2Header:
    length = message.stop - message.start
    return read_header(message.data.lead(message.start + min(length, HEADER_LEN)), message.start, length)


def _of_request(
    state: ConnectionState, header: Smb2Header, request: Smb2Request | None, message: Message
) -> Smb2Header:
    """Returns the header of an SMB2 response that names no session. If its request does, it belongs to that one."""
    if request is None or request.command != header.command or request.session_id not in state.sessions:
        return header
    if header.session_id not in (0, _NO_SESSION):
        state.note_other_session(header.session_id, request.session_id, message)
    return replace(header, session_id=request.session_id)


def _repeats(
    state: ConnectionState,
    out: Emitter,
    operation: Operation,
    request: Smb2Request,
    opened: Open,
    span: tuple[int, int],
) -> bool:
    """Whether an SMB2 request that is read repeats data that an earlier request carried to the pipe. Both count as one."""
    opened.sent = opened.sent or SentAlready()
    is_replay = bool(operation.header.flags & FLAG_REPLAY)
    request.sent, kind = opened.sent.note(operation.message, span, is_replay=is_replay)
    if kind == "first" or request.sent is None:
        return False
    frames = (*request.sent.frames, *operation.message.frames)
    text = f"a request to the pipe {opened.name} was sent again (SMB2_FLAGS_REPLAY_OPERATION)"
    if kind == "same":
        state.note("note", f"{text}; both are one call", frames)
    else:
        state.note("conflict", f"{text} with other bytes; both are one call, and the first version was kept", frames)
        out.append(Conflict(request.sent.extents))
    return True


def _opened(request: Smb2Request, session: Session, shared: SharedState) -> Open:
    """Returns the open of an SMB2 CREATE that is read: a new one, or the durable open that the client opens again."""
    if request.reopens is not None:
        known = shared.durable.take_open(session, request.reopens)
        if known is not None:
            known.tree_id = request.tree_id
            return known
    tree = session.trees.get(request.tree_id) if request.tree_id is not None else None
    kind: OpenKind = tree.kind if tree is not None else "unknown"
    name = pipe_name(request.path) if request.path is not None and kind != "file" else request.path
    return Open(kind, name, request.tree_id, impersonation=request.impersonation)


def _take_file_id(request: Smb2Request, file_id: bytes) -> None:
    """Notes the FileId of an SMB2 request: the one that it names, or that of the operation before it."""
    compound = request.compound
    if file_id != ANY_FILE:
        request.file_id = file_id
        if compound is not None:
            compound.file_id = file_id
        return
    if compound is None:
        # It is related to nothing, so what it carries waits for ever.
        compound = request.compound = Compound()
    request.file_id = compound.file_id


def _other(direction: Direction) -> Direction:
    return 0 if direction else 1


def _text(data: bytes, start: int, length: int) -> str:
    raw = Cursor(data, min(start, len(data))).take_bytes("name", length)
    return raw[: len(raw) & ~1].decode("utf-16-le", "replace").partition("\0")[0]


# --------------------------------------------------------------------------------------------------------- create contexts


# Contexts of a CREATE that are read; the lengths of what says where they lie, of the fixed part of one, and of a FileId.
_MAX_CONTEXTS = 32
_PLACE_LEN, _CONTEXT_LEN, _FILE_ID_LEN = 8, 16, 16
_DURABLE = (b"DHn", b"DH2")


def _reopened_file_id(cur: Cursor) -> bytes | None:
    """Reads in an SMB2 CREATE request the FileId of the durable open that it opens again (contexts DHnC, DH2C), None if it asks for
    a new open ([MS-SMB2] sections 2.2.13.2.4 and 2.2.13.2.12). The cursor stands at CreateContextsOffset."""
    found = _create_contexts(cur)
    value = found.get(b"DHnC") or found.get(b"DH2C") or b""
    return value[:_FILE_ID_LEN] if len(value) >= _FILE_ID_LEN else None


def _grants_durability(cur: Cursor) -> bool:
    """Reads whether the create contexts of an SMB2 CREATE response make the open durable or persistent ([MS-SMB2] sections
    2.2.14.2.3 and 2.2.14.2.12). The cursor stands at CreateContextsOffset."""
    found = _create_contexts(cur)
    return b"DHnQ" in found or b"DH2Q" in found


def _create_contexts(fixed: Cursor) -> dict[bytes, bytes]:
    """Reads the create contexts of an SMB2 CREATE message by name ([MS-SMB2] section 2.2.13.2), as far as they were captured."""
    found: dict[bytes, bytes] = {}
    if fixed.left < _PLACE_LEN:
        return found
    data, start, length = fixed.data, fixed.u32("create.ofs_contexts"), fixed.u32("create.len_contexts")
    stop = min(start + length, len(data))
    if length < _CONTEXT_LEN or not any(data.find(name, start, stop) >= 0 for name in _DURABLE):
        return found
    for _ in range(_MAX_CONTEXTS):
        if stop - start < _CONTEXT_LEN:
            break
        cur = Cursor(data, start, stop)
        step, name_at, name_len = cur.u32("context.next"), cur.u16("context.ofs_name"), cur.u16("context.len_name")
        cur.skip("context.reserved", 2)
        data_at, data_len = cur.u16("context.ofs_data"), cur.u32("context.len_data")
        name = data[start + name_at : min(start + name_at + name_len, stop)]
        found[name] = data[start + data_at : min(start + data_at + data_len, stop)]
        if step < _CONTEXT_LEN:
            break
        start += step
    return found
