"""Follows the SMB2 sessions of one connection, from negotiation and setup to their ends ([MS-SMB2] sections 2.2.3 to 2.2.6,
3.3.5.4, 3.3.5.5).

A session that was set up before the capture began is made when a message names it. Only its number is known.
"""

from __future__ import annotations

from msgspec import Struct, field

from analyzer.auth.token_handshake import TokenHandshake, is_first_token
from analyzer.core.byte_cursor import Cursor
from analyzer.core.events import Problem
from analyzer.core.printable_text import counted, guid_text
from analyzer.core.traced_bytes import TracedBytes
from analyzer.results.security import Granted
from analyzer.transport.smb.channel_emitter import Emitter
from analyzer.transport.smb.client_marks_in_smb import smb2_negotiate_marks, smb2_setup_mark
from analyzer.transport.smb.encrypted_messages import report
from analyzer.transport.smb.smb2_header import CANCEL, FLAG_RESPONSE, FLAG_SIGNED, Smb2Header, buffer_span
from analyzer.transport.smb.smb3_crypto import (
    AES_128_CCM,
    AES_CMAC,
    DIALECT_300,
    DIALECT_311,
    HMAC_SHA256,
    SessionKeys,
    check_signature,
    derive_keys,
    preauth_update,
)
from analyzer.transport.smb.smb_connection_state import ConnectionState
from analyzer.transport.smb.smb_framing import Message
from analyzer.transport.smb.smb_session import (
    MAX_FRAMES,
    Session,
    SessionLogon,
    SessionTimes,
    bind_connection,
    end_logons,
)

STATUS_SUCCESS = 0
STATUS_MORE_PROCESSING_REQUIRED = 0xC0000016
STATUS_USER_SESSION_DELETED = 0xC0000203
SESSION_FLAG_BINDING = 0x01
# Session flags of a response ([MS-SMB2] section 2.2.6).
SESSION_FLAG_IS_GUEST, SESSION_FLAG_IS_NULL = 0x0001, 0x0002
DIALECTS = {0x0202: "2.0.2", 0x0210: "2.1", 0x0300: "3.0", 0x0302: "3.0.2", 0x0311: "3.1.1"}
DIALECT_UNDECIDED = 0x02FF
CONTEXT_ENCRYPTION, CONTEXT_SIGNING = 2, 8
CAPABILITY_ENCRYPTION = 0x40
# Checking what large transfers of files were signed with would take longer than reading everything else.
MAX_CHECKED = 128 * 1024
_MAX_CONTEXTS = 64
# Memory of a session setup under way, its tokens among it, as measured.
SETUP_COST = 6000


class Smb2Setup(Struct):
    """An SMB2 session setup under way. `preauth_hash` is None if bytes of it are missing or the dialect has none. `fresh`: it asks
    for a new session. `renews`: it begins in an existing session. Both are false if its first request was not captured.
    `is_answered`: the server gave the id of the session in an answer."""

    handshake: TokenHandshake
    preauth_hash: bytes | None
    binding: bool
    fresh: bool
    renews: bool
    first_time_ns: int
    frames: list[int] = field(default_factory=list)
    logon: SessionLogon | None = None
    is_answered: bool = False


class Smb2Sessions:
    """The SMB2 sessions of one connection: follows negotiation and setups, and finds the session that a message names."""

    def __init__(self, state: ConnectionState, out: Emitter) -> None:
        self._state = state
        self._out = out
        self.setups: dict[int, Smb2Setup] = {}
        self.times = SessionTimes()

    def finish(self) -> None:
        """Makes sessions of SMB2 setups whose end was not captured, so that their data are not lost."""
        for session_id, setup in self.setups.items():
            self._ends_unanswered(session_id, setup)
        self.setups.clear()

    def leave(self, session: Session) -> None:
        """Removes an SMB2 session from this connection. A session without connections is over."""
        state = self._state
        self.times.flush()
        state.forget_session(session)
        if session.connections.pop(state.connection.number, None) is not None and not session.connections:
            self._end(session)

    def _end(self, session: Session) -> None:
        """Ends one of the connection's SMB2 sessions: closes its opens, and states its logons and its summary."""
        state, out = self._state, self._out
        session.close_all(out)
        report(session, out)
        summary = session.summary()
        if summary.wrong_signatures:
            out.append(Problem("note", "smb", summary.wrong_signature_frames, summary.wrong_signature_words))
        if session.doubtful_signatures and _has_key_of_its_own(session):
            many = counted(session.doubtful_signatures, "message")
            text = (
                f"SMB session {session.session_id:#x}: {many} with a signature that does not fit, before any that does: the "
                "capture of the negotiation or of the session setup may be damaged, so nothing is said of these signatures"
            )
            out.append(Problem("note", "smb", tuple(session.frames), text))
        state.shared.sessions.forget(session)
        session.ends()
        end_logons(session, out)
        out.append(summary)

    def logoff(self, session: Session) -> None:
        """Takes a logoff, which ends the SMB2 session on all of its connections."""
        self.times.flush()
        for state in session.connections.values():
            state.forget_session(session)
        session.connections.clear()
        self._end(session)

    def setup_of(self, session_id: int) -> Smb2Setup | None:
        """Returns the SMB2 setup under way with this session id, None if there is none."""
        return self.setups.get(session_id)

    def get(self, session_id: int, message: Message) -> Session | None:
        """Returns the SMB2 session that a message names. A session from before the capture is made here."""
        if session_id == 0:
            return None
        session = self._state.sessions.get(session_id)
        if session is None:
            session = self._session_in_use(session_id, message)
        data, times = message.data, self.times
        if session is times.session and type(data) is TracedBytes and data.source is times.source:
            times.last = data.start + message.start
        else:
            times.note(session, data, message.start)
        if session.former:
            session.at_ns = message.time_ns if session.needs_times else None
        return session

    def _session_in_use(self, session_id: int, message: Message) -> Session:
        state = self._state
        if session_id in self.setups:
            # The answer that completed the setup was not captured; that the session is used shows that there was one.
            return self._establish(session_id, self.setups.pop(session_id))
        if (known := state.shared.sessions.in_use(session_id, state)) is not None:
            known.connections[state.connection.number] = state
            state.sessions[session_id] = known
            return known
        session = Session(state, session_id, message.time_ns)
        self._register(session)
        self._state.shared.sessions.take_renewals(session, self._out)
        return session

    def check_signature(self, header: Smb2Header, message: Message, session: Session | None) -> bool | None:
        """Whether the signature of a message in an SMB2 session is right. None if it has none, if no key is there that fitted once,
        or if signatures are not checked."""
        flags = header.flags
        if not flags & FLAG_SIGNED or session is None or not self._state.shared.checks_signatures:
            return None
        if flags & FLAG_RESPONSE and header.status == STATUS_USER_SESSION_DELETED:
            # The server knows no such session on this connection ([MS-SMB2] section 3.3.5.2.9), so it has no key for it. smbd gives
            # the signature of the request back.
            return None
        session.signed += 1
        keys = session.proven_keys or session.keys
        key = session.channel_keys.get(self._state.connection.number, keys.signing_key if keys else None)
        algorithm = self._state.signing
        start, stop, length = message.start, message.stop, message.length
        if key is None or algorithm is None or stop - start != length or not 0 < length <= MAX_CHECKED:
            return None
        data, cancel = message.data.part(start, stop), header.command == CANCEL
        right = check_signature(algorithm, key, data, from_server=bool(flags & FLAG_RESPONSE), cancel=cancel)
        if right:
            session.verified += 1
            session.signing_keys.add(key)
            return True
        if key not in session.signing_keys:
            # One wrong bit in the negotiation or in the session setup makes another key.
            session.doubtful_signatures += 1
            return None
        session.wrong_signatures += 1
        session.wrong_signature_frames = session.wrong_signature_frames or message.frames
        return False

    # Negotiation

    def negotiate_request(self, cur: Cursor, part: Message) -> None:
        state = self._state
        state.preauth_hash = preauth_update(bytes(64), part.head.data) if part.whole else None
        cur.skip("negotiate.fixed", 12)
        state.client_guid = guid_text(cur.take_bytes("negotiate.client_guid", 16))
        state.note_marks(smb2_negotiate_marks(part.head.data), part, self._out)

    def negotiate_response(self, cur: Cursor, part: Message) -> None:
        state = self._state
        cur.skip("negotiate.structure_size", 2)
        cur.skip("negotiate.security_mode", 2)
        dialect = cur.u16("negotiate.dialect")
        num_contexts = cur.u16("negotiate.num_contexts")
        state.server_guid = guid_text(cur.take_bytes("negotiate.server_guid", 16))
        if dialect == DIALECT_UNDECIDED:
            # Another negotiation follows, and decides ([MS-SMB2] section 3.3.5.3.2). Until then there is no dialect.
            return
        state.dialect = DIALECTS.get(dialect, f"{dialect:#06x}")
        state.dialect_number = dialect
        if state.preauth_hash is not None:
            whole = part.whole and dialect == DIALECT_311
            state.preauth_hash = preauth_update(state.preauth_hash, part.head.data) if whole else None
        state.signing = None if dialect == DIALECT_311 else AES_CMAC if dialect >= DIALECT_300 else HMAC_SHA256
        capabilities = cur.u32("negotiate.capabilities")
        if DIALECT_300 <= dialect < DIALECT_311 and capabilities & CAPABILITY_ENCRYPTION:
            state.cipher = AES_128_CCM
        if dialect == DIALECT_311:
            cur.skip("negotiate.fixed", 32)
            self._negotiate_contexts(part, cur.u32("negotiate.ofs_contexts"), num_contexts)

    def _negotiate_contexts(self, part: Message, start: int, number: int) -> None:
        state, cur = self._state, Cursor(part.head.data, min(start, len(part.head)))
        for _ in range(min(number, _MAX_CONTEXTS)):
            cur.align(8)
            kind = cur.u16("context.type")
            length = cur.u16("context.len_data")
            cur.skip("context.reserved", 4)
            data = Cursor(cur.take_bytes("context.data", length))
            if kind == CONTEXT_ENCRYPTION and data.u16("context.num_ciphers") == 1:
                state.cipher = data.u16("context.cipher") or None
            elif kind == CONTEXT_SIGNING and data.u16("context.num_algorithms") == 1:
                state.signing = data.u16("context.algorithm")
        if state.signing is None and number <= _MAX_CONTEXTS:
            # What no context names is AES-CMAC ([MS-SMB2] section 3.2.5.2). That is known once all of them were read.
            state.signing = AES_CMAC

    # Session setup

    def setup_request(self, header: Smb2Header, cur: Cursor, part: Message) -> Smb2Setup:
        """Takes an SMB2 SESSION_SETUP request. Returns the setup that its response belongs to."""
        cur.skip("session_setup.structure_size", 2)
        binding = bool(cur.u8("session_setup.flags") & SESSION_FLAG_BINDING)
        marks = [smb2_setup_mark(cur.take_bytes("session_setup.fixed", 9))]
        token = _bytes(part, cur.u16("session_setup.ofs_buffer"), cur.u16("session_setup.len_buffer"))
        state, session_id = self._state, header.session_id
        is_first = token is not None and is_first_token(token.data)
        is_new = is_first or session_id == 0
        setup = self.setups.get(session_id) if session_id else None
        if setup is not None and is_first:
            # The answer to the one before was not captured.
            self._ends_unanswered(session_id, self.setups.pop(session_id))
            setup = None
        if setup is None:
            setup = self._new_setup(part, binding=binding, fresh=session_id == 0, renews=is_first and session_id != 0)
            setup.preauth_hash = setup.preauth_hash if is_new else None
        self._hash(setup, part)
        setup.frames += part.frames[: MAX_FRAMES - len(setup.frames)]
        if token is None:
            setup.handshake.missed("initiator")
        elif len(token):
            from analyzer.auth.client_marks_in_tokens import token_marks  # in some captures nobody logs on

            setup.handshake.feed("initiator", token.data)
            marks += token_marks(token.data, "smb")
        state.note_marks(marks, part, self._out)
        self._asks(session_id, setup)
        return setup

    def _asks(self, session_id: int, setup: Smb2Setup) -> None:
        """Takes a setup request for another logon of an SMB2 session. The server may grant it before its answer is met."""
        if setup.fresh or setup.binding:
            return
        session = self._state.sessions.get(session_id)
        if session is not None:
            logon = self._logon(setup)
            logon.begins = False
            if session.pending is not logon:
                session.asks_again(logon, setup.first_time_ns, self._out)

    def _ends_unanswered(self, session_id: int, setup: Smb2Setup) -> None:
        """Ends an SMB2 setup whose final answer was not captured. A new session is taken as granted, a renewal is not."""
        is_renewal = setup.logon is not None and setup.logon.begins is False
        if not is_renewal and (setup.fresh or setup.binding or session_id not in self._state.sessions):
            self._establish(session_id, setup)

    def setup_response(
        self, header: Smb2Header, setup: Smb2Setup | None, cur: Cursor, part: Message, *, is_encrypted: bool = False
    ) -> None:
        """Takes an SMB2 SESSION_SETUP response. `setup` is the result for its request, None if that was not captured."""
        if setup is None:
            setup = self._new_setup(part)
            setup.preauth_hash = None
            setup.handshake.missed("initiator")
        setup.frames += part.frames[: MAX_FRAMES - len(setup.frames)]
        more = header.status == STATUS_MORE_PROCESSING_REQUIRED
        granted: Granted = "account"
        if header.status == STATUS_SUCCESS or more:
            setup.is_answered = True
            cur.skip("session_setup.structure_size", 2)
            granted = _granted(cur.u16("session_setup.session_flags"))
            token = _bytes(part, cur.u16("session_setup.ofs_buffer"), cur.u16("session_setup.len_buffer"))
            if token is None:
                setup.handshake.missed("acceptor")
            elif len(token):
                setup.handshake.feed("acceptor", token.data)
        if more:
            self._hash(setup, part)
            if len(self.setups) >= (most := self._state.shared.limits.sessions):
                del self.setups[next(iter(self.setups))]
                text = f"more than {most} session setups under way on one connection; the oldest are forgotten"
                self._state.note("limit", text, part.frames)
            self.setups[header.session_id] = setup
            return
        self.setups.pop(header.session_id, None)
        if header.status != STATUS_SUCCESS:
            self._refuse(header, setup, part)
            return
        former = self._state.sessions.get(header.session_id)
        if former is not None and setup.fresh and not setup.binding:
            self.leave(former)
        session = self._establish(header.session_id, setup, granted, part.time_ns)
        session.seen(part.time_ns)
        if not is_encrypted:
            self.check_signature(header, part, session)

    def _refuse(self, header: Smb2Header, setup: Smb2Setup, part: Message) -> None:
        """Notes an SMB2 logon that the server refused. The session, if there is one, stays as it is."""
        session = self._state.sessions.get(header.session_id)
        if setup.binding and session is None:
            session = self._state.shared.sessions.bound(header.session_id, self._state)
        logon = self._logon(setup)
        logon.refused = header.status
        if session is None:
            session = Session(self._state, header.session_id, setup.first_time_ns)
            session.binds = setup.binding
            self._joins(session, setup)
            session.seen(part.time_ns)
            if setup.renews:
                session.refuses(logon, part.time_ns, self._out)
            else:
                session.logs_on(logon, part.time_ns, self._out)
            self.leave(session)
        elif setup.binding:
            bind_connection(session, self._state.connection.number, logon, part.time_ns, self._out)
        else:
            session.refuses(logon, part.time_ns, self._out)

    def _new_setup(
        self, part: Message, *, binding: bool = False, fresh: bool = False, renews: bool = False
    ) -> Smb2Setup:
        begun = self._state.shared.handshake()
        return Smb2Setup(begun, self._state.preauth_hash, binding, fresh, renews and not binding, part.time_ns)

    def _hash(self, setup: Smb2Setup, part: Message) -> None:
        if setup.preauth_hash is not None:
            setup.preauth_hash = preauth_update(setup.preauth_hash, part.head.data) if part.whole else None

    def _establish(
        self, session_id: int, setup: Smb2Setup, granted: Granted | None = None, time_ns: int | None = None
    ) -> Session:
        """Returns the SMB2 session that a setup made, bound to this connection, or renewed. `granted` is None if no answer states
        it."""
        state = self._state
        known = state.shared.sessions
        session = known.bound(session_id, state) if setup.binding else state.sessions.get(session_id)
        is_new = session is None
        if session is None:
            session = Session(state, session_id, setup.first_time_ns)
            session.binds = setup.binding
        session.is_shown |= setup.is_answered
        self._joins(session, setup)
        if is_new:
            self._state.shared.sessions.take_renewals(session, self._out)
        keys = self._keys(session_id, setup, is_new=is_new)
        logon = self._logon(setup)
        if is_new and logon.begins and not (setup.fresh or setup.binding) and known.perhaps_same(session):
            # The session was met over another connection, so that this may be a renewal whose first request was not captured.
            logon.begins = None
        logon.granted = granted
        at = time_ns if time_ns is not None else setup.first_time_ns
        if setup.binding and not is_new:
            bind_connection(session, state.connection.number, logon, at, self._out)
        else:
            session.logs_on(logon, at, self._out)
            if session.began is logon:
                session.preauth_hash = setup.preauth_hash
        if setup.binding:
            # [MS-SMB2] 3.3.5.5.2: a channel signs with a key of its own, and encrypts with the session's.
            # Without it nothing can be said of a signature there, whatever key of the session was given.
            key = keys.signing_key if keys is not None else None
            session.channel_keys[state.connection.number] = key or session.channel_keys.get(state.connection.number)
        elif session.began is logon:
            # Renewing does not change the keys of a session ([MS-SMB2] 3.3.5.5.3).
            session.keys = keys
        return session

    def _joins(self, session: Session, setup: Smb2Setup) -> None:
        """Joins the SMB2 session of a setup to this connection."""
        session.note_frames(tuple(setup.frames))
        session.connections[self._state.connection.number] = self._state
        self._register(session)

    def _keys(self, session_id: int, setup: Smb2Setup, *, is_new: bool) -> SessionKeys | None:
        """Derives the SMB session keys from a setup, or from a given session key. Returns None if neither has a key."""
        state, key = self._state, setup.handshake.session_key
        if key is not None and state.shared.key_log is not None and is_new and not setup.binding and not setup.renews:
            state.shared.key_log(session_id, key)
        if key is None and not setup.binding:
            given = (keys.session_key for keys in state.shared.keyring.smb_keys_for(session_id))
            key = next((value for value in given if value is not None), None)
        if key is None:
            return None
        dialect = state.dialect_number if state.dialect_number is not None else DIALECT_300
        return derive_keys(dialect, key, setup.preauth_hash, state.cipher)

    def _logon(self, setup: Smb2Setup) -> SessionLogon:
        made = setup.logon
        if made is None:
            made = setup.logon = self._state.shared.logon(setup.handshake, setup.first_time_ns)
            # A session of which this is the first that is met on a connection whose beginning was captured began there.
            begins = setup.fresh or self._state.dialect_number is not None or None
            made.begins = False if setup.renews else begins
            made.is_fresh = setup.fresh
            made.is_binding = setup.binding
            made.ends = self._state.client, self._state.server
        made.frames = setup.frames
        return made

    def _register(self, session: Session) -> None:
        self._state.add_session(session)
        self._state.shared.sessions.register(session)


def _has_key_of_its_own(session: Session) -> bool:
    """Whether the key of an SMB2 session is that of its first setup, and not one that was given."""
    began = session.began
    handshake = began.handshake if began is not None and began.begins else None
    return handshake is not None and handshake.session_key is not None


def _granted(flags: int) -> Granted:
    if flags & SESSION_FLAG_IS_GUEST:
        return "guest"
    return "anonymous" if flags & SESSION_FLAG_IS_NULL else "account"


def _bytes(part: Message, start: int, length: int) -> TracedBytes | None:
    """Returns the bytes of a security buffer in an SMB2 message, None if some of them were not captured."""
    start, stop = buffer_span(part, start, length)
    head = part.head
    return head[start:stop] if len(head) >= stop else None
