"""Finds the SMB sessions of all connections of a capture by id. A session may span connections (multichannel)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from analyzer.transport.smb.channel_emitter import Emitter
from analyzer.transport.smb.smb_session import MAX_FRAMES, MAX_NAMES, Session, SessionLogon

if TYPE_CHECKING:
    from analyzer.transport.smb.smb_connection_state import ConnectionState

_FOR_EVER = (1 << 63) - 1


class KnownSessions:
    """The SMB sessions of all connections of a capture, by id."""

    def __init__(self) -> None:
        self._by_id: dict[int, list[Session]] = {}
        # Sessions that are over, and may be the same as one that is met later.
        self._over: dict[int, list[_Traits]] = {}

    def register(self, session: Session) -> None:
        """Registers an SMB session by its id when a connection uses it."""
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
        """States which earlier read calls may belong to a later SMB logon: calls of its session and of sessions that may be the
        same."""
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
    """Whether two connections may share an SMB session. A server accepts a binding only from the client that began the session,
    which it knows by its GUID ([MS-SMB2] section 3.3.5.5.2)."""
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
