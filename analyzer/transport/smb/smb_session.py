"""SMB sessions: their logons, trees and opens, and the channels of opened pipes.

A session ([MS-SMB2] section 3.3.1.8) as one connection sees it, by its SessionId. `smb2_session_setup` makes these
transitions for SMB2, `smb1_session_setup` those of SMB1:

    state        input                                                 next state
    -            SESSION_SETUP response with MORE_PROCESSING_REQUIRED   IN SETUP (in `setups`)
    -            any other message that names it                        VALID: that of a client's other connection, or made up
    -            SESSION_SETUP response with success                    VALID; a binding joins the session of another connection
    IN SETUP     MORE_PROCESSING_REQUIRED                               IN SETUP
    IN SETUP     success, another message that names it, the end        VALID
    IN SETUP     an error                                               OVER, with its status (`refused`); VALID where it was before
    VALID        request of a SESSION_SETUP of the same session         VALID: a renewal under way (`pending`)
    VALID        success of it                                          VALID: another logon is in force, the keys stay
    VALID        an error, another such request, the end                as before: the renewal is stated, refused or unanswered
    VALID        success of a new SESSION_SETUP with its id             OVER, and VALID for the new one
    VALID        LOGOFF response                                        OVER on all of its connections
    IN SETUP     more setups under way than `Limits.sessions`           forgotten, the oldest first
    VALID        more than `Limits.sessions`, the connection ends       OVER, as soon as it has no connection left
    OVER         -                                                      emitted as `SmbSession`, with its opens closed

`KnownSessions` finds the sessions of all connections of a capture by id. A session may span connections (multichannel).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from analyzer.auth.token_handshake import TokenHandshake
from analyzer.core.byte_origins import FrameTable, Source
from analyzer.core.error_code_names import nt_status_name
from analyzer.core.traced_bytes import TracedBytes
from analyzer.results.connection import Channel, LateLogon, Logon, SmbSession
from analyzer.results.records.record_types import Endpoint
from analyzer.results.security import Decryption, Granted, Identity
from analyzer.transport.channel.channels import ChannelClosed, ChannelGap, SmbInfo
from analyzer.transport.smb.channel_emitter import Emitter
from analyzer.transport.smb.smb3_crypto import CIPHERS, SIGNINGS, SessionKeys
from analyzer.transport.smb.smb_framing import Hole, LostMessages, Message
from analyzer.transport.smb.trees_and_opens import LOOKED_AT, RPC_PIPES, ConnectedTree, Open, OpenKind, may_be_dcerpc
from analyzer.transport.tcp.protocol_recognition import looks_like_dcerpc

if TYPE_CHECKING:
    from analyzer.transport.smb.smb_connection_state import ConnectionState


# ---------------------------------------------------------------------------------------------------------- sessions by id


_FOR_EVER = (1 << 63) - 1


class KnownSessions:
    """The SMB sessions of all connections of a capture, by id."""

    def __init__(self) -> None:
        self._by_id: dict[int, list[Session]] = {}
        # Sessions that are over, and may be the same as one that is met later.
        self._over: dict[int, list[_Traits]] = {}

    def register(self, session: Session) -> None:
        """Makes an SMB session known by its id to all connections, when one uses it."""
        known = self._by_id.setdefault(session.session_id, [])
        if session not in known:
            known.append(session)

    def forget(self, session: Session) -> None:
        """Ends an SMB session, and keeps its traits, because it may be met again."""
        known = self._by_id.get(session.session_id, [])
        if session in known:
            known.remove(session)
            if len(self._over) < MAX_NAMES or session.session_id in self._over:
                over = self._over.setdefault(session.session_id, [])
                if len(over) < MAX_FRAMES:
                    over.append(_traits_of(session))
            if not known:
                del self._by_id[session.session_id]

    def in_use(self, session_id: int, state: ConnectionState) -> Session | None:
        """Returns the SMB session, between the same client and server, that a connection uses without having set it up. A client
        that did not bind the session has another session with the same number."""
        for known in self._by_id.get(session_id, ()):
            if known.server == state.server and known.client.ip == state.client.ip:
                return known
        return None

    def bound(self, session_id: int, state: ConnectionState) -> Session | None:
        """Returns the SMB session to which a connection binds itself (multichannel), None if it was not met."""
        for known in self._by_id.get(session_id, ()):
            if _may_be_bound(known.state, state):
                return known
        return None

    def state_late(self, session: Session, logon: SessionLogon, out: Emitter) -> None:
        """States for the known SMB sessions which earlier read calls may belong to a later logon of one: calls of the session and
        of sessions that may be the same."""
        if (until_ns := logon.late_until_ns) is not None:
            out.append(logon.late_for(session.number, until_ns))
        if len(session.renewals) < MAX_FRAMES:
            session.renewals.append(logon)
        for other in self.perhaps_same(session):
            out.append(logon.late_for(other.number, _FOR_EVER))

    def take_renewals(self, session: Session, out: Emitter) -> None:
        """States for a new SMB session the later logons of sessions that may be the same, met over other connections."""
        for other in self.perhaps_same(session):
            for logon in other.renewals:
                out.append(logon.late_for(session.number, _FOR_EVER))

    def perhaps_same(self, session: Session) -> list[_Traits]:
        """Returns other SMB sessions of this id that may be the same one. Such pairs arise when a connection is bound before the
        session is met, because bytes of the session's first connection were waited for."""
        known, over = self._by_id.get(session.session_id, ()), self._over.get(session.session_id, ())
        mine = _traits_of(session)
        others = [*(_traits_of(one) for one in known if one is not session), *over] if len(known) > 1 or over else []
        return [one for one in others if one.number != mine.number and _may_be_same(one, mine)]


def _may_be_bound(former: ConnectionState, state: ConnectionState) -> bool:
    """Whether a known SMB session of one connection may be that of another one too. A server accepts a binding only from the client
    that began the session, which it knows by its GUID ([MS-SMB2] section 3.3.5.5.2)."""
    is_client = None in (former.client_guid, state.client_guid) or former.client_guid == state.client_guid
    is_server = state.server_guid is not None and former.server_guid == state.server_guid
    return is_client and (is_server or former.server == state.server)


class _Traits(Struct, frozen=True):
    """The traits of an SMB session that tell whether it may be the same as another session with its id."""

    number: int
    is_begun: bool
    client_guid: str | None
    server_guid: str | None
    renewals: list[SessionLogon]


def _traits_of(session: Session) -> _Traits:
    began, state = session.began, session.state
    is_begun = not session.binds and began is not None and began.is_fresh
    return _Traits(session.number, is_begun, state.client_guid, state.server_guid, session.renewals)


def _may_be_same(one: _Traits, other: _Traits) -> bool:
    """Whether two SMB sessions may be the same: the beginning of one was not captured, and no client or server GUID differs."""
    pairs = (one.client_guid, other.client_guid), (one.server_guid, other.server_guid)
    return not (one.is_begun and other.is_begun) and all(None in pair or pair[0] == pair[1] for pair in pairs)


# ----------------------------------------------------------------------------------------------------------------- session


# The most frames and names that are kept of a session.
MAX_FRAMES = 64
MAX_NAMES = 1024
# Memory of a session and of a tree beside its path, as measured.
_SESSION_COST, _TREE_COST = 6000, 500


class Undecrypted(Struct):
    """The messages of an SMB session that stayed encrypted, and the reason."""

    count: int = 0
    bytes: int = 0
    frames: list[int] = field(default_factory=list)
    decryption: Decryption = Decryption.DECRYPTED
    reason: str = ""


class SessionLogon:
    """One logon of an SMB session, as its messages show it: the identity that the client claimed, and what the server granted."""

    def __init__(self, number: int, handshake: TokenHandshake | None, time_ns: int, frames: Iterable[int]) -> None:
        self.number = number
        self.handshake = handshake
        self.first_time_ns = time_ns
        self.frames = list(frames)[:MAX_FRAMES]
        # The identity that an SMB1 client states without a handshake.
        self.plain_identity: Identity | None = None
        # The grant in the answer, None if that was not captured.
        self.granted: Granted | None = None
        # The ends of the connection that its messages came over, where that may be a further one of the session.
        self.ends: tuple[Endpoint, Endpoint] | None = None
        self.is_binding = False
        # Whether its messages show that it asks for a new session (True), or that the session was there before (False).
        self.begins: bool | None = None
        # Whether the request for a new session was captured.
        self.is_fresh = False
        self.client_os: str | None = None
        self.server_os: str | None = None
        self.refused: int | None = None
        # The latest time of a message of the session that was read before it, though it was sent later.
        self.late_until_ns: int | None = None

    def late_for(self, session: int, until_ns: int) -> LateLogon:
        """Returns the statement that calls of the SMB session `session` may belong to this logon, from its first message on."""
        return LateLogon(session, self.number, self.identity, self.first_time_ns, until_ns)

    @property
    def identity(self) -> Identity:
        """The identity of the SMB logon, by its handshake and the answer. The texts of an SMB1 setup add the operating systems."""
        found = self.plain_identity or (self.handshake.identity if self.handshake is not None else Identity())
        if self.granted is not None:
            is_anonymous = self.granted == "anonymous" or (self.granted == "account" and found.is_anonymous)
            found = replace(found, granted="anonymous" if is_anonymous else self.granted, is_anonymous=is_anonymous)
        if self.client_os is None and self.server_os is None:
            return found
        return replace(
            found,
            os_version=found.os_version or self.server_os,
            client_os_version=found.client_os_version or self.client_os,
        )


def _are_of_one(one: SessionLogon | None, other: SessionLogon) -> bool:
    """Whether two SMB logons belong to one account, as far as their messages name it."""
    return one is not None and one.identity.account is not None and one.identity.account == other.identity.account


class Session:
    """An SMB session: its logons, trees and opens, and how its messages were protected."""

    def __init__(self, state: ConnectionState, session_id: int, time_ns: int) -> None:
        self.number = next(state.shared.numbers.sessions)
        self.session_id = session_id
        self.state = state
        self.client = state.client
        self.server = state.server
        self.connections = {state.connection.number: state}
        # The logon that began it, whose keys it keeps, None where that was not captured; the last one that the server granted; and
        # a renewal under way, whose answer may be lost: until it is met, either of the two may be in force.
        self.began: SessionLogon | None = None
        self.logon: SessionLogon | None = None
        self.pending: SessionLogon | None = None
        self.later: dict[Identity, None] = {}
        # The logons that took the place of another.
        self.renewals: list[SessionLogon] = []
        # The logons that others took the place of, each with when that began; and the time of the message that is read, where it
        # may have been sent before: bytes of its connection were waited for.
        self.former: list[tuple[int, SessionLogon]] = []
        self.at_ns: int | None = None
        # Logons that bound further connections, by their numbers.
        self.bound_by: dict[int, SessionLogon] = {}
        # Made for a channel whose session is not known; named by the server, other than to say that it knows no such session.
        self.binds = self.is_shown = False
        self.trees: dict[int, ConnectedTree] = {}
        self.opens: dict[bytes, Open] = {}
        self._by_tree: dict[int | None, dict[bytes, None]] = {}
        self._crowded: set[str] = set()
        self.orphan: Open | None = None
        # Channels that had data since their last reported loss of unknown length, server's and client's direction.
        self._intact: tuple[dict[int, Channel], dict[int, Channel]] = ({}, {})
        self.tree_names: dict[str, None] = {}
        self.pipe_names: dict[str, None] = {}
        self.keys: SessionKeys | None = None
        self.proven_keys: SessionKeys | None = None
        self.channel_keys: dict[int, bytes | None] = {}
        self.preauth_hash: bytes | None = None
        self.undecrypted = Undecrypted()
        self.cipher: str | None = CIPHERS.get(state.cipher) if state.cipher is not None else None
        self.signing: str | None = SIGNINGS.get(state.signing) if state.signing is not None else None
        # Keys that a signature fitted. Where none did, a signature that does not fit shows a wrong key as well as a wrong message.
        self.signing_keys: set[bytes] = set()
        self.wrong_signatures = 0
        self.wrong_signature_frames: tuple[int, ...] = ()
        self.doubtful_signatures = 0
        self.encrypted = 0
        self.decrypted = 0
        self.signed = 0
        self.verified = 0
        self.first_time_ns = self.last_time_ns = time_ns
        self.frames: list[int] = []
        # About how many bytes of memory it takes, which count for the connection that it was met on.
        self._memory = 0
        self._takes(_SESSION_COST)

    def _takes(self, size: int) -> None:
        self._memory += size
        self.state.memory += size

    def ends(self) -> None:
        """Gives back the memory that the SMB session held, when the session ends."""
        self._takes(-self._memory)

    @property
    def handshake(self) -> TokenHandshake | None:
        """The handshake that gave the SMB session its keys, None if it was not captured."""
        return self.began.handshake if self.began is not None else None

    @property
    def identity(self) -> Identity:
        """The identity that began the SMB session, even if another is logged on now: the session keeps the keys of that account."""
        return self.began.identity if self.began is not None else Identity()

    @property
    def in_force(self) -> SessionLogon | None:
        """The latest logon of the SMB session that may be in force at the server."""
        return (self._before() if self.former else None) or self.pending or self.logon

    @property
    def needs_times(self) -> bool:
        """Whether only the time of a message tells under which logon of the SMB session it was sent."""
        return bool(self.former) and len(self.connections) > 1

    def _before(self) -> SessionLogon | None:
        """Returns the SMB logon that was in force when the current message was sent, if another logon has replaced it since."""
        at_ns = self.at_ns
        if at_ns is None:
            return None
        return next((logon for until_ns, logon in self.former if at_ns < until_ns), None)

    @property
    def opener(self) -> SessionLogon | None:
        """The SMB logon under which new opens are made, None if it may be one of two logons with different accounts."""
        if (before := self._before()) is not None:
            return before
        return self.logon if self.pending is None or _are_of_one(self.logon, self.pending) else None

    @property
    def former_opener(self) -> SessionLogon | None:
        """The logon of this SMB session for what was opened at an unknown time, None if several accounts are possible."""
        began = self.began
        is_one = began is not None and all(one.account == began.identity.account for one in self.later)
        return self.opener if is_one and began is not None and began.begins else None

    def logs_on(self, logon: SessionLogon, time_ns: int, out: Emitter) -> None:
        """Notes an SMB logon, granted or refused. It begins the session, or replaces the logon in force."""
        self._settles(logon, time_ns, out)
        if self.logon is not None:
            out.append(_stated(self, self.logon, time_ns))
            if len(self.former) < MAX_FRAMES:
                self.former.append((logon.first_time_ns, self.logon))
        if self.logon is not None or not logon.begins:
            self._notes_lateness(logon)
            self.state.shared.sessions.state_late(self, logon, out)
        if logon.begins is not False:
            self.began = self.began or logon
        if len(self.later) < MAX_FRAMES and logon is not self.began and logon.identity != self.identity:
            self.later[logon.identity] = None
        self.logon = logon

    def asks_again(self, logon: SessionLogon, time_ns: int, out: Emitter) -> None:
        """Notes a request to replace the SMB logon in force."""
        self._settles(logon, time_ns, out)
        self.pending = logon
        self._notes_lateness(logon)

    def refuses(self, logon: SessionLogon, time_ns: int, out: Emitter) -> None:
        """Notes that the server refused an SMB logon that would have replaced the one in force."""
        self._settles(logon, time_ns, out)
        out.append(_stated(self, logon, time_ns))

    def _settles(self, logon: SessionLogon, time_ns: int, out: Emitter) -> None:
        """Settles the renewal of the SMB session's logon that is under way: it was answered, or another one follows."""
        if self.pending is not None and self.pending is not logon:
            out.append(_stated(self, self.pending, time_ns))
            self.state.shared.sessions.state_late(self, self.pending, out)
        self.pending = None

    def _notes_lateness(self, logon: SessionLogon) -> None:
        """Notes the latest message of the SMB session that was read before a logon but sent after it. It came over another
        connection, because each connection is read in order."""
        if logon.late_until_ns is None and len(self.connections) > 1 and logon.first_time_ns < self.last_time_ns:
            logon.late_until_ns = self.last_time_ns

    def seen(self, time_ns: int, until_ns: int = 0) -> None:
        """Notes that a message of the SMB session was captured at this time, or several until `until_ns`."""
        self.first_time_ns = min(self.first_time_ns, time_ns)
        self.last_time_ns = max(self.last_time_ns, time_ns, until_ns)

    def note_frames(self, frames: tuple[int, ...]) -> None:
        if len(self.frames) < MAX_FRAMES:
            self.frames += frames[: MAX_FRAMES - len(self.frames)]

    def add_tree(self, tree_id: int, path: str, kind: OpenKind) -> None:
        most = self.state.shared.limits.trees
        if len(self.trees) >= most:
            self._crowd("trees", f"more than {most} trees of one session are connected; the oldest are forgotten")
            self._forget_tree(next(iter(self.trees)))
        self._forget_tree(tree_id)
        self.trees[tree_id] = ConnectedTree(path, kind)
        self._takes(_TREE_COST + len(path))
        if path and len(self.tree_names) < MAX_NAMES:
            self.tree_names[path] = None

    def _forget_tree(self, tree_id: int) -> None:
        tree = self.trees.pop(tree_id, None)
        if tree is not None:
            self._takes(-_TREE_COST - len(tree.path))

    def add_open(self, file_id: bytes, opened: Open, out: Emitter, *, is_new: bool = True) -> None:
        """Adds an open to those of this SMB session. If its id is still open, a close was missed. An open that is not `is_new` was
        made earlier."""
        self.close(file_id, out)
        opened.logon = opened.logon or (self.opener if is_new else self.former_opener)
        shared, most = self.state.shared, self.state.shared.limits
        if len(self.opens) >= most.opens:
            self._crowd(
                "opens", f"more than {most.opens} files and pipes are open in one session; the oldest count as closed"
            )
            self.close(next(iter(self.opens)), out)
        elif shared.opens >= most.opens_in_all:
            crowded = f"more than {most.opens_in_all} files and pipes are open; others"
            if not self.opens:
                # All of them are of other sessions: read no further, like a file, so that no message makes a channel of its own.
                self._crowd("opens unread", f"{crowded} are not read")
                opened.kind = "file"
                return
            self._crowd("opens in all", f"{crowded} count as closed")
            self.close(next(iter(self.opens)), out)
        shared.opens += 1
        self.opens[file_id] = opened
        self._by_tree.setdefault(opened.tree_id, {})[file_id] = None
        if opened.channel is not None:
            for intact in self._intact:
                intact[opened.channel.number] = opened.channel
        elif opened.kind == "pipe":
            self._make_channel(opened)

    def open_of(self, file_id: bytes, out: Emitter) -> Open:
        """Returns the open of this SMB session that a message names. One from before the capture is added, of unknown kind."""
        opened = self.opens.get(file_id)
        if opened is None:
            opened = Open("unknown", None)
            self.add_open(file_id, opened, out, is_new=False)
        return opened

    def close(self, file_id: bytes, out: Emitter) -> None:
        opened = self.detach(file_id)
        if opened is None:
            return
        if opened.durable is not None:
            self.state.shared.durable.closed(opened.durable)
        if opened.channel is not None:
            out.append(ChannelClosed(opened.channel))

    def detach(self, file_id: bytes) -> Open | None:
        """Removes an open from this SMB session, because another session takes it over or it is closed. None if there is none."""
        opened = self.opens.pop(file_id, None)
        if opened is None:
            return None
        self.state.shared.opens -= 1
        others = self._by_tree[opened.tree_id]
        del others[file_id]
        if not others:
            del self._by_tree[opened.tree_id]
        if opened.channel is not None:
            self._not_intact(opened.channel)
        return opened

    def _crowd(self, what: str, text: str) -> None:
        """Notes once that this SMB session has so many opens or trees that the oldest is dropped."""
        if what not in self._crowded:
            self._crowded.add(what)
            self.state.note("limit", text, tuple(self.frames[:1]))

    def close_tree(self, tree_id: int, out: Emitter) -> None:
        self._forget_tree(tree_id)
        for file_id in list(self._by_tree.get(tree_id, ())):
            self.state.shared.durable.lost(self, file_id, out)

    def close_all(self, out: Emitter) -> None:
        for file_id in list(self.opens):
            self.state.shared.durable.lost(self, file_id, out)
        if self.orphan is not None and self.orphan.channel is not None:
            self._close(self.orphan.channel, out)
            self.orphan = None

    def _close(self, channel: Channel, out: Emitter) -> None:
        self._not_intact(channel)
        out.append(ChannelClosed(channel))

    def _not_intact(self, channel: Channel) -> None:
        for intact in self._intact:
            intact.pop(channel.number, None)

    def pipes(self) -> list[Open]:
        return [opened for opened in self.opens.values() if opened.channel is not None]

    def _make_channel(self, opened: Open) -> None:
        opened.kind = "pipe"
        opened.is_dcerpc = opened.name in RPC_PIPES or None
        opened.channel = self.state.shared.channels.pipe(
            self.client,
            self.server,
            opened.name,
            self.number,
            opened.logon.identity if opened.logon is not None else None,
            opened.impersonation,
            opened.logon.number if opened.logon is not None else None,
        )
        for intact in self._intact:
            intact[opened.channel.number] = opened.channel
        if opened.name and len(self.pipe_names) < MAX_NAMES:
            self.pipe_names[opened.name] = None

    def deliver(
        self,
        opened: Open,
        from_client: bool,
        message: Message,
        span: tuple[int, int],
        smb: SmbInfo,
        out: Emitter,
        *,
        fresh: bool = True,
    ) -> None:
        """Delivers to a pipe of this SMB session the bytes `span` of a message: data and gaps. Data of files are dropped."""
        if opened.kind == "file" or span[0] == span[1]:
            return
        if not opened.is_dcerpc and not self._carries_dcerpc(opened, message, span, out):
            return
        channel = opened.channel
        assert channel is not None
        self._intact[from_client][channel.number] = channel
        start, stop = span
        if stop <= message.stop - message.start:
            out.carry(channel, from_client, message.data, message.start + start, message.start + stop, smb, fresh)
            return
        for part in message.spans(start, stop):
            if isinstance(part, Hole):
                out.append(ChannelGap(channel, from_client, part.length, part.frames, message.reason))
            else:
                out.carry(channel, from_client, *part, smb, fresh)
            fresh = False

    def _carries_dcerpc(self, opened: Open, message: Message, span: tuple[int, int], out: Emitter) -> bool:
        """Decides for this SMB session whether an open of it carries DCERPC, by the first bytes of its data."""
        first = next(message.spans(*span))
        head = None
        if not isinstance(first, Hole):
            piece, start, stop = first
            head = piece[start : min(stop, start + LOOKED_AT)].data
        if opened.channel is None:
            if head is None or not looks_like_dcerpc(head):
                return False
            if self._take_orphan(opened) is None:
                self._make_channel(opened)
            opened.is_dcerpc = True
            return True
        # Programs talk over pipes in protocols of their own; where the first bytes were lost, nothing shows which.
        opened.is_dcerpc = head is None or may_be_dcerpc(head)
        if not opened.is_dcerpc:
            opened.kind = "file"
            channel, opened.channel = opened.channel, None
            self._close(channel, out)
        return opened.is_dcerpc

    def lost(
        self, from_client: bool, asked: set[bytes] | None, what: Message | LostMessages, reason: str, out: Emitter
    ) -> None:
        """States gaps in the channels of this SMB session's pipes that may have lost data: those of the FileIds `asked`, or all. It
        does so once until data comes."""
        intact = self._intact[from_client]
        if not intact:
            return
        if asked is None:
            concerned = list(intact.values())
        else:
            opens = (self.opens.get(file_id) for file_id in asked)
            channels = (opened.channel for opened in opens if opened is not None and opened.channel is not None)
            concerned = sorted((each for each in channels if each.number in intact), key=lambda each: each.number)
        for channel in concerned:
            del intact[channel.number]
            captured = what.whole if isinstance(what, Message) else what.length == 0
            out.append(ChannelGap(channel, from_client, None, what.frames, reason, captured))

    def deliver_orphan(self, message: Message, span: tuple[int, int], smb: SmbInfo, out: Emitter) -> None:
        """Delivers DCERPC that answers a request from before the capture, on the pipe that this SMB session meets first."""
        if self.orphan is None:
            self.orphan = Open("unknown", None, logon=self.former_opener)
        self.deliver(self.orphan, False, message, span, smb, out)

    def _take_orphan(self, opened: Open) -> Channel | None:
        orphan = self.orphan
        if orphan is None or orphan is opened:
            return None
        self.orphan = None
        opened.kind, opened.channel = "pipe", orphan.channel
        return orphan.channel

    def summary(self) -> SmbSession:
        state, began = self.state, self.began
        hosts = dict(state.hosts)
        for path in self.tree_names:
            host = path.lstrip("\\").partition("\\")[0]
            if host and host != self.server.ip:
                hosts[self.server.ip, host, "tree path"] = None
        decryption, reason = _state_words(self)
        return SmbSession(
            number=self.number,
            session_id=self.session_id,
            client=self.client,
            server=self.server,
            dialect=state.dialect,
            client_guid=state.client_guid,
            server_guid=state.server_guid,
            cipher=self.cipher,
            signing=self.signing,
            identity=self.identity,
            decryption=decryption,
            reason=reason,
            first_time_ns=self.first_time_ns,
            last_time_ns=self.last_time_ns,
            frames=tuple(sorted(set(self.frames))),
            encrypted_messages=self.encrypted,
            decrypted_messages=self.decrypted,
            signed_messages=self.signed,
            verified_messages=self.verified,
            trees=tuple(self.tree_names),
            pipes=tuple(self.pipe_names),
            hosts=tuple(hosts),
            refused=began.refused if began is not None else None,
            binds=self.binds,
            later=tuple(self.later),
            undecrypted_frames=tuple(sorted(set(self.undecrypted.frames))),
            wrong_signatures=self.wrong_signatures,
            wrong_signature_frames=self.wrong_signature_frames,
        )


def bind_connection(session: Session, number: int, logon: SessionLogon, time_ns: int, out: Emitter) -> None:
    """Notes that a logon bound an SMB session to a further connection, or was refused."""
    former = session.bound_by.pop(number, None)
    if former is not None:
        out.append(_stated(session, former, time_ns))
    if logon.refused is None:
        session.bound_by[number] = logon
    else:
        out.append(_stated(session, logon, time_ns))


def end_logons(session: Session, out: Emitter) -> None:
    """States the SMB logons that are in force until the end of a session."""
    if session.pending is not None:
        session.state.shared.sessions.state_late(session, session.pending, out)
    for logon in (session.logon, session.pending, *session.bound_by.values()):
        if logon is not None:
            out.append(_stated(session, logon, session.last_time_ns))
    session.pending = None
    session.bound_by.clear()


def _stated(session: Session, logon: SessionLogon, until_ns: int) -> Logon:
    """Returns the record of an SMB session's logon, when another replaces it or its session ends."""
    used = logon is session.logon and bool(session.tree_names or session.pipe_names or session.encrypted)
    handshake = logon.handshake
    client, server = logon.ends or (session.client, session.server)
    return Logon(
        number=logon.number,
        by="smb",
        session=session.number,
        channel=None,
        client=client,
        server=server,
        identity=logon.identity,
        first_time_ns=logon.first_time_ns,
        until_ns=max(until_ns, logon.first_time_ns),
        frames=tuple(sorted(set(logon.frames))),
        refused=logon.refused,
        is_binding=logon.is_binding,
        is_answered=logon.granted is not None or logon.refused is not None or used,
        opened_by=handshake.decrypted_by if handshake is not None else None,
        refused_by="session setup" if logon.refused is not None else None,
    )


def _state_words(session: Session) -> tuple[Decryption, str | None]:
    """Returns for the summary of an SMB session whether its messages could be decrypted, and the reason if not. The reason says so
    if only requests name the session."""
    decryption, reason = _decryption(session)
    began = session.began
    if session.is_shown or (began is not None and began.refused is not None):
        return decryption, reason
    alone = "only requests name the session: no captured answer shows that the server knew it"
    return decryption, f"{reason}; {alone}" if reason is not None else alone


def _decryption(session: Session) -> tuple[Decryption, str | None]:
    began = session.began
    if began is not None and began.refused is not None:
        return Decryption.NOT_SEALED, f"the server refused the session: {nt_status_name(began.refused)}"
    if session.undecrypted.count and not session.decrypted:
        return session.undecrypted.decryption, session.undecrypted.reason
    if session.decrypted:
        return Decryption.DECRYPTED, None
    if began is not None and began.plain_identity is not None:
        return Decryption.NOT_SEALED, None
    if began is not None and began.granted == "guest":
        # [MS-SMB2] 3.3.5.5.3: a guest's session is neither signed nor encrypted.
        return Decryption.NOT_SEALED, "a guest's session has no key"
    if session.handshake is None:
        return Decryption.NO_HANDSHAKE, "the session setup is not in the capture"
    if session.handshake.decryption is Decryption.DECRYPTED:
        return Decryption.NOT_SEALED, "nothing was encrypted; the key of the session is known"
    return session.handshake.decryption, session.handshake.reason


class SessionTimes:
    """Collects the times when an SMB session was seen in a batch: of ordered frames the first and the last place suffice.

    `session` was seen at the places `first` and `last` of `source`, and between. It is None if nothing is noted.
    """

    __slots__ = ("first", "last", "session", "source")

    def __init__(self) -> None:
        self.session: Session | None = None
        self.source: Source | None = None
        self.first = self.last = 0

    def note(self, session: Session, data: TracedBytes, at: int) -> None:
        """Notes for an SMB session that it was seen in the message at `at` of `data`, the first message of its session and
        source."""
        if self.session is not None:
            self.flush()
        # Bytes that are not joined yet find out where they are from only when they have to.
        source = data.source if type(data) is TracedBytes else None
        if isinstance(source, FrameTable) and source.ordered:
            self.session, self.source = session, source
            self.first = self.last = data.start + at
        elif time_ns := data.time_ns_at(at):
            session.seen(time_ns)

    def flush(self) -> None:
        """Tells the SMB session the times at which it was seen, as far as they were collected."""
        session, source = self.session, self.source
        if session is not None and source is not None:
            times = source.times(min(self.first, self.last), max(self.first, self.last) + 1)
            if times is not None and times[1]:
                session.seen(times[0] or times[1], times[1])
            self.session = self.source = None
