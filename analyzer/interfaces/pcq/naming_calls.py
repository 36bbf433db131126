"""Selects the calls in SMB sessions that a list of hosts needs: it leaves out those that state nothing new about machines."""

from __future__ import annotations

from collections.abc import Hashable

from analyzer.results.connection import Channel
from analyzer.results.methods.perflib import INTERFACE, Opnum
from analyzer.results.security import AuthInfo, of_any_logon
from analyzer.transport.channel.channel_events import SmbInfo
from analyzer.transport.rpc.call_pairing import PendingCall, SideState

# The methods whose request names the machine that is asked ([MS-PCQ] sections 3.1.4.1.1 to 3.1.4.1.4).
NAMING = (
    Opnum.ENUMERATE_COUNTER_SET,
    Opnum.QUERY_COUNTER_SET_REGISTRATION_INFO,
    Opnum.ENUMERATE_COUNTER_SET_INSTANCES,
    Opnum.OPEN_QUERY_HANDLE,
)
_NAMING = frozenset(map(int, NAMING))


class NamingCalls:
    """Selects the calls whose request names a machine, and the first other call between two machines with equal security."""

    def __init__(self) -> None:
        # When the first one began, of those that were selected.
        self._known: dict[Hashable, int] = {}

    def __call__(self, channel: Channel, smb: SmbInfo | None, auth: AuthInfo, call: PendingCall) -> bool:
        is_first = self._is_first(channel, smb, auth, (call.times or (0, 0))[0])
        presentation = call.presentation
        is_perflib = presentation is not None and presentation.abstract.uuid == INTERFACE
        return is_first or (is_perflib and call.opnum in _NAMING and call.request.state is not SideState.EMPTY)

    def _is_first(self, channel: Channel, smb: SmbInfo | None, auth: AuthInfo, began: int) -> bool:
        """Whether no selected call between these machines began before this one. Calls do not come in the order of their begin."""
        # Another channel of the session may have carried the message.
        ends = (smb.client, smb.server) if smb is not None else None
        key = channel.client.ip, channel.server.ip, ends, of_any_logon(auth), channel.identity
        if self._known.get(key, began) < began:
            return False
        self._known[key] = began
        return True
