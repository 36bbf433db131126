"""The RPC layer: channel bytes in, paired and opened calls out (C706; [MS-RPCE])."""

from __future__ import annotations

from collections.abc import Callable

from analyzer.auth import handshake
from analyzer.auth.context import Handshake, SearchBudget
from analyzer.auth.keyring import Keyring
from analyzer.channel.events import ChannelBatch, ChannelClosed, ChannelGap
from analyzer.core.events import CaptureEnds, Event, Problem
from analyzer.core.limits import DEFAULTS
from analyzer.model.connection import Channel
from analyzer.rpc.association import Association

# [MS-PCQ] 3.1.4.1.6 lets a client offer a buffer of 1 GiB; a forged stream of fragments must not make us hold that much for every
# call. 64 MiB is what the other methods and [MS-RRP] allow. Beyond it the call is emitted without its stub; --max-stub raises it.
DEFAULT_MAX_STUB_BYTES = DEFAULTS.stub

_CAPTURE_ENDS = "the capture ends before the answer"


class RpcLayer:
    """Follows every channel; gaps, ends of channels and events it does not know pass unchanged."""

    def __init__(
        self,
        keyring: Keyring,
        *,
        max_stub: int = DEFAULT_MAX_STUB_BYTES,
        begin: Callable[[Keyring, int | None], Handshake] = handshake.begin,
        search: SearchBudget | None = None,
        pdus: bool = True,
    ) -> None:
        """Without `pdus`, single PDUs are not emitted. `search` is what looking for places in keystreams may cost."""
        self._begin = lambda auth_type: begin(keyring, auth_type)
        self._search = search if search is not None else SearchBudget()
        self._max_stub = max_stub
        self._pdus = pdus
        self._associations: dict[int, Association] = {}
        self._unanswered = "no answer was captured before the pipe or connection was closed"

    def feed(self, event: Event) -> list[Event]:
        """Takes one event; gives what it completed."""
        if isinstance(event, ChannelBatch):
            return self._association(event.channel).feed(event)
        if isinstance(event, ChannelGap):
            return [*self._association(event.channel).feed(event), event]
        if isinstance(event, ChannelClosed):
            association = self._associations.pop(event.channel.number, None)
            return [*(association.finish(self._unanswered) if association is not None else ()), event]
        if isinstance(event, CaptureEnds):
            self._unanswered = _CAPTURE_ENDS
        return [event]

    def finish(self) -> list[Event]:
        """The capture ends: calls on their way are emitted as far as they got."""
        out = [event for association in self._associations.values() for event in association.finish(_CAPTURE_ENDS)]
        self._associations.clear()
        if count := self._search.given_up:
            text = "sealed messages were not looked for in their keystream to the end: all of an analysis share its searches"
            out.append(Problem("limit", "rpc", (), f"{count} {text}"))
        return out

    def _association(self, channel: Channel) -> Association:
        association = self._associations.get(channel.number)
        if association is None:
            association = self._associations[channel.number] = Association(
                channel, self._begin, self._search, self._max_stub, self._pdus
            )
        return association
