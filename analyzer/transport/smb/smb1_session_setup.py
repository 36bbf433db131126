"""Follows SMB1 negotiation and session setup, and keeps the sessions of one connection by UID ([MS-CIFS] section 2.2.4.53, [MS-SMB]
section 2.2.4.6). A connection may have several sessions; each message names its own."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct, field
from msgspec.structs import replace

from analyzer.auth.client_marks_in_tokens import token_marks
from analyzer.auth.token_handshake import TokenHandshake, is_first_token
from analyzer.core.printable_text import guid_text
from analyzer.results.security import Granted, Identity
from analyzer.transport.smb.channel_emitter import Emitter
from analyzer.transport.smb.client_marks_in_smb import smb1_negotiate_marks, smb1_setup_marks
from analyzer.transport.smb.smb1_message import Smb1Block, Smb1Header
from analyzer.transport.smb.smb_connection_state import ConnectionState
from analyzer.transport.smb.smb_framing import Message
from analyzer.transport.smb.smb_session import MAX_FRAMES, Session, SessionLogon

CAP_EXTENDED_SECURITY = 0x80000000
STATUS_MORE_PROCESSING_REQUIRED = 0xC0000016
# Action of the answer to SESSION_SETUP_ANDX ([MS-CIFS] section 2.2.4.53.2).
SMB_SETUP_GUEST = 0x0001
# Memory of a session setup under way, as measured.
_SETUP_COST = 6000


class Smb1Setup(Struct):
    """An SMB1 session setup under way."""

    handshake: TokenHandshake
    first_time_ns: int
    client_os: str | None = None
    frames: list[int] = field(default_factory=list)
    # Whether it asks for a new session; None where that does not show.
    begins: bool | None = None
    logon: SessionLogon | None = None


class Smb1Sessions:
    """Follows SMB1 negotiation and session setups of one connection, and finds the session that a message names.

    Calls `leave` with a session that is over, and `offers_smb2` when the client offers SMB2 in its negotiation.
    """

    def __init__(
        self, state: ConnectionState, leave: Callable[[Session], None], offers_smb2: Callable[[], None], out: Emitter
    ) -> None:
        self._state = state
        self._leave = leave
        self._offers_smb2 = offers_smb2
        self._out = out
        self._setups: dict[int, Smb1Setup] = {}

    @property
    def memory(self) -> int:
        """Roughly the bytes of memory that the SMB1 setups under way take."""
        return _SETUP_COST * len(self._setups)

    def finish(self) -> None:
        """Makes sessions of SMB1 setups whose end was not captured, so that their data are not lost."""
        for uid, setup in self._setups.items():
            self._ends_unanswered(uid, setup)
        self._setups.clear()

    def negotiate_request(self, block: Smb1Block, message: Message) -> None:
        dialects = [entry.rstrip(b"\0") for entry in block.data.rest().split(b"\x02")]
        if block.is_whole:
            self._state.note_marks(smb1_negotiate_marks(dialects), message, self._out)
        if any(dialect.startswith(b"SMB 2") for dialect in dialects):
            self._offers_smb2()

    def negotiate_response(self, header: Smb1Header, block: Smb1Block) -> None:
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
            state.server_guid = guid_text(block.data.take_bytes("negotiate.server_guid", 16))
        else:
            block.data.skip("negotiate.challenge", len_challenge)
            # Domain and server name follow as Unicode without alignment, where the server sends them.
            block.text_or_none(header.unicode, aligned=False)
            if (name := block.text_or_none(header.unicode, aligned=False)) is not None:
                state.name_host(state.server.ip, name, "SMB1 negotiation")

    def setup_request(self, header: Smb1Header, block: Smb1Block, message: Message) -> Smb1Setup | Identity:
        """Takes an SMB1 SESSION_SETUP request; returns what its answer belongs to: the setup under way, or the identity that the
        client claims."""
        words, data = block.words, block.data
        words.skip("session_setup.fixed", 10)
        if block.word_count == 12:
            length = words.u16("session_setup.len_blob")
            token = data.take_bytes("session_setup.blob", length)
            setup = self._setups.get(header.uid) if header.uid else None
            if setup is not None and is_first_token(token):
                # The answer to the one before was not captured.
                self._ends_unanswered(header.uid, self._setups.pop(header.uid))
                setup = None
            if setup is None:
                setup = Smb1Setup(self._state.shared.handshake(), message.time_ns, begins=header.uid == 0 or None)
            setup.frames += message.frames[: MAX_FRAMES - len(setup.frames)]
            setup.handshake.feed("initiator", token)
            marks = [*token_marks(token, "smb")]
            if data.left:
                setup.client_os = block.text_or_none(header.unicode)
                manager = block.text_or_none(header.unicode)
                marks += smb1_setup_marks(setup.client_os, manager) if block.is_whole else ()
            self._state.note_marks(marks, message, self._out)
            session = self._state.sessions.get(header.uid)
            if session is not None and not setup.begins:
                logon = self._logon(setup, message.time_ns, message.frames)
                logon.begins = False
                if session.pending is not logon:
                    session.asks_again(logon, setup.first_time_ns, self._out)
            return setup
        lengths = words.u16("session_setup.len_lm")
        if block.word_count >= 13:
            lengths += words.u16("session_setup.len_nt")
        data.skip("session_setup.passwords", lengths)
        user = block.text(header.unicode)
        domain, system, manager = (block.text_or_none(header.unicode) for _ in range(3))
        if block.is_whole:
            self._state.note_marks(smb1_setup_marks(system, manager), message, self._out)
        return Identity("ntlm", user or None, domain, client_os_version=system, is_anonymous=not user)

    def setup_response(
        self, header: Smb1Header, asked: Smb1Setup | Identity | None, block: Smb1Block, message: Message
    ) -> None:
        """Takes an SMB1 SESSION_SETUP answer. `asked` is the result for its request, None if that was not captured."""
        setup = asked if isinstance(asked, Smb1Setup) else None if asked is not None else self._setups.get(header.uid)
        more = header.status == STATUS_MORE_PROCESSING_REQUIRED
        system = None
        granted: Granted | None = None
        if (more or not header.failed) and block.word_count >= 3:
            granted = "guest" if block.words.u16("session_setup.action") & SMB_SETUP_GUEST else "account"
            if block.word_count >= 4:
                token = block.data.take_bytes("session_setup.blob", block.words.u16("session_setup.len_blob"))
                if setup is None:
                    setup = Smb1Setup(self._state.shared.handshake(), message.time_ns)
                    setup.handshake.missed("initiator")
                if token:
                    setup.handshake.feed("acceptor", token)
            system = block.text_or_none(header.unicode)
        if setup is not None:
            setup.frames += message.frames[: MAX_FRAMES - len(setup.frames)]
        if more and setup is not None:
            self._setups[header.uid] = setup
            return
        self._setups.pop(header.uid, None)
        is_first = header.uid not in self._state.sessions
        session = self._establish(header.uid, setup, message.time_ns, message.frames)
        logon = self._logon(setup, message.time_ns, message.frames)
        if isinstance(asked, Identity):
            logon.begins = is_first or None
            logon.plain_identity = replace(asked, os_version=system)
        elif system is not None:
            logon.server_os = system
        logon.granted = granted
        if header.failed:
            logon.refused = header.status
        if header.failed and not is_first:
            # A renewal that failed: the session goes on as it was.
            session.refuses(logon, message.time_ns, self._out)
            return
        session.logs_on(logon, message.time_ns, self._out)
        if header.failed:
            self._leave(session)

    def _ends_unanswered(self, uid: int, setup: Smb1Setup) -> None:
        """Ends an SMB1 setup whose final answer was not captured. A new session is taken as granted, a renewal is not."""
        if setup.begins or uid not in self._state.sessions:
            self._set_up(uid, setup, setup.first_time_ns)

    def _logon(self, setup: Smb1Setup | None, time_ns: int, frames: tuple[int, ...]) -> SessionLogon:
        if setup is None:
            return self._state.shared.logon(None, time_ns, frames)
        logon = setup.logon
        if logon is None:
            logon = setup.logon = self._state.shared.logon(setup.handshake, setup.first_time_ns)
            logon.begins = setup.begins
        logon.client_os, logon.frames = setup.client_os, setup.frames
        return logon

    def _set_up(self, uid: int, setup: Smb1Setup, time_ns: int, frames: tuple[int, ...] = ()) -> Session:
        """Makes the SMB1 session of a setup whose end was not captured."""
        session = self._establish(uid, setup, time_ns, frames)
        session.logs_on(self._logon(setup, time_ns, frames), time_ns, self._out)
        return session

    def _establish(self, uid: int, setup: Smb1Setup | None, time_ns: int, frames: tuple[int, ...] = ()) -> Session:
        """Returns the SMB1 session of this UID, or makes it. `frames` are those of the message that shows it."""
        session = self._state.sessions.get(uid)
        if session is None:
            session = Session(self._state, uid, setup.first_time_ns if setup is not None else time_ns)
            self._state.add_session(session)
        if setup is not None:
            # Only an answer gives a setup its UID.
            session.is_shown = True
            session.note_frames(tuple(setup.frames))
        session.seen(time_ns)
        session.note_frames(frames)
        return session

    def knows(self, uid: int) -> bool:
        """Whether this UID has an SMB1 session, or a setup under way."""
        return uid in self._state.sessions or uid in self._setups

    def get(self, uid: int, message: Message) -> Session:
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
