"""The RPC room: channel bytes in, paired and opened calls out (C706; [MS-RPCE])."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from analyzer.auth import handshake
from analyzer.auth.context import Handshake, SearchBudget
from analyzer.auth.keyring import Keyring
from analyzer.core.events import CaptureEnds, Event, Problem
from analyzer.model.connection import Channel
from analyzer.rpc.association import Association
from analyzer.smb.events import ChannelClosed, ChannelData, ChannelGap, ChannelMessages

# [MS-PCQ] 3.1.4.1.6 lets a client offer a buffer of 1 GiB; a forged stream of fragments must not make us hold that much for every
# call. 64 MiB is what the other methods and [MS-RRP] allow. Beyond it the call is told without its stub; --max-stub raises it.
DEFAULT_MAX_STUB_BYTES = 64 * 1024 * 1024

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
        """Without `pdus`, single PDUs are not told. `search` is what looking for places in keystreams may cost."""
        self._begin = lambda auth_type: begin(keyring, auth_type)
        self._search = search if search is not None else SearchBudget()
        self._max_stub = max_stub
        self._pdus = pdus
        self._associations: dict[int, Association] = {}
        self._unanswered = "no answer was captured before the pipe or connection was closed"

    def feed(self, event: Event) -> Iterable[Event]:
        """Takes one event; yields what it completed."""
        if isinstance(event, ChannelData):
            return self._association(event.channel).data(event)
        if isinstance(event, ChannelMessages):
            return self._association(event.channel).messages(event)
        return self._other(event)

    def _other(self, event: Event) -> Iterator[Event]:
        match event:
            case ChannelGap(channel=channel):
                yield from self._association(channel).gap(event)
                yield event
            case ChannelClosed(channel=channel):
                association = self._associations.pop(channel.number, None)
                if association is not None:
                    yield from association.close(self._unanswered)
                yield event
            case CaptureEnds():
                self._unanswered = _CAPTURE_ENDS
                yield event
            case _:
                yield event

    def finish(self) -> Iterator[Event]:
        """The capture ends: calls on their way are told as far as they got."""
        for association in self._associations.values():
            yield from association.close(_CAPTURE_ENDS)
        self._associations.clear()
        if count := self._search.given_up:
            text = "sealed messages were not looked for in their keystream to the end: all of an analysis share its searches"
            yield Problem("limit", "rpc", (), f"{count} {text}")

    def _association(self, channel: Channel) -> Association:
        association = self._associations.get(channel.number)
        if association is None:
            association = self._associations[channel.number] = Association(
                channel, self._begin, self._search, self._max_stub, self._pdus
            )
        return association
