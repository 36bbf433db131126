"""What a list of hosts needs of the calls in SMB sessions: exchanges in, of those that state what others stated before none out."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import ClassVar

from msgspec.structs import replace

from analyzer.core.events import Event
from analyzer.results.perflib import INTERFACE, Opnum
from analyzer.results.security import of_any_logon
from analyzer.transport.rpc.exchange import Exchange

# The methods whose request names the machine that is asked ([MS-PCQ] sections 3.1.4.1.1 to 3.1.4.1.4).
NAMING = (
    Opnum.ENUMERATE_COUNTER_SET,
    Opnum.QUERY_COUNTER_SET_REGISTRATION_INFO,
    Opnum.ENUMERATE_COUNTER_SET_INSTANCES,
    Opnum.OPEN_QUERY_HANDLE,
)
_NAMING = frozenset(map(int, NAMING))


class NamingExchanges:
    """Passes on the exchanges outside SMB sessions, those whose request names a machine or whose interface is not known, and of all
    others the first between two machines with the same security."""

    takes: ClassVar[frozenset[type[Event]]] = frozenset({Exchange})

    def __init__(self) -> None:
        # When the first one began, of those that were passed on.
        self._known: dict[Hashable, int] = {}

    def feed(self, event: Event) -> Iterator[Event]:
        assert isinstance(event, Exchange)
        if event.interface is None or event.channel.session is None:
            yield event
            return
        is_first = self._is_first(event)
        is_naming = event.interface == INTERFACE and event.opnum in _NAMING and event.request is not None
        if is_first or is_naming:
            # What was answered names nobody.
            yield replace(event, response=None) if event.request is not None else event

    def _is_first(self, exchange: Exchange) -> bool:
        """Whether none that began before it was passed on. They do not come in the order in which they began."""
        channel, smb, began = exchange.channel, exchange.smb, exchange.first_time_ns
        # What carried a message may be another channel of the session.
        ends = (smb.client, smb.server) if smb is not None else None
        key = channel.client.ip, channel.server.ip, ends, of_any_logon(exchange.auth), channel.identity
        if self._known.get(key, began) < began:
            return False
        self._known[key] = began
        return True

    def finish(self) -> Iterator[Event]:
        return iter(())
