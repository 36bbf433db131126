"""Renumbers the sessions, logons and channels of a shard of a capture to the numbers of the whole analysis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, SupportsInt

from msgspec.structs import replace

from analyzer.core.events import Event
from analyzer.results.calls.call import AuthFacts
from analyzer.results.calls.call_row_columns import Context, SharedValues
from analyzer.results.connection import Bound, Channel, FeaturesOffered, LateLogon, Logon, SmbSession, logon_key


class NewNumbers(Protocol):
    """Maps a shard's own numbers to the numbers of the whole analysis."""

    def __getitem__(self, own: int, /) -> SupportsInt: ...


class Renumbering:
    """Renumbers sessions, logons and channels of a shard's analysis to the numbers of the whole. `places` maps them by kind:
    `sessions`, `smb_logons`, `rpc_logons` and `channels`."""

    def __init__(self, places: Mapping[str, NewNumbers]) -> None:
        self._places = places
        self._channels: dict[Channel, Channel] = {}

    def _number(self, kind: str, own: int) -> int:
        return int(self._places[kind][own])

    def _maybe(self, kind: str, own: int | None) -> int | None:
        return None if own is None else self._number(kind, own)

    def event(self, event: Event) -> Event:
        """An event of a shard, such as a session or a logon, with the numbers of the whole."""
        match event:
            case SmbSession():
                return replace(event, number=self._number("sessions", event.number))
            case Logon():
                return replace(
                    event,
                    number=self._number(f"{event.by}_logons", event.number),
                    session=self._maybe("sessions", event.session),
                    channel=self._maybe("channels", event.channel),
                )
            case LateLogon():
                session, logon = self._number("sessions", event.session), self._number("smb_logons", event.logon)
                return replace(event, session=session, logon=logon)
            case Bound() | FeaturesOffered():
                return replace(event, channel=self._channel(event.channel))
            case _:
                return event

    def values(self, values: SharedValues) -> SharedValues:
        """Returns the shared values of a shard's table of calls, renumbered."""
        return replace(values, contexts=[self.context(context) for context in values.contexts])

    def _channel(self, channel: Channel) -> Channel:
        if (found := self._channels.get(channel)) is None:
            found = self._channels[channel] = replace(
                channel,
                number=self._number("channels", channel.number),
                session=self._maybe("sessions", channel.session),
                logon=self._maybe("smb_logons", channel.logon),
            )
        return found

    def context(self, context: Context) -> Context:
        """Returns the context that calls of a shard share, renumbered."""
        security = context.security
        return replace(
            context,
            session=self._maybe("sessions", context.session),
            channel=self._number("channels", context.channel),
            auth=self._auth(context.auth),
            security=replace(security, logon=self._maybe("rpc_logons", security.logon)),
        )

    def _auth(self, auth: AuthFacts) -> AuthFacts:
        return replace(auth, logon=self._logon(auth.logon), later_logon=self._logon(auth.later_logon))

    def _logon(self, key: str | None) -> str | None:
        if key is None:
            return None
        for by in ("smb", "rpc"):
            if key.startswith(by):
                return logon_key(by, self._number(f"{by}_logons", int(key.removeprefix(by))))
        raise AssertionError(key)
