"""Follows DCERPC on all channels: the RPC layer takes their bytes and gives paired and opened calls (C706; [MS-RPCE])."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import ClassVar

from analyzer.auth import token_handshake
from analyzer.auth.keyring import Keyring
from analyzer.auth.security_types import Handshake, SearchBudget
from analyzer.core.byte_log import Log
from analyzer.core.events import CaptureEnds, ClockSetBack, Event, Problem
from analyzer.core.limits import DEFAULTS, Limits, MemoryBudget
from analyzer.core.printable_text import counted
from analyzer.core.times import earliest
from analyzer.results.connection import Channel
from analyzer.transport.channel.channels import ChannelBatch, ChannelClosed, ChannelGap
from analyzer.transport.rpc.association import Association
from analyzer.transport.rpc.exchange import OpenCall, Selection

_CAPTURE_ENDS = "the capture ends before the answer"
_GIVEN_UP = "the association was given up before the answer: too much was under way in all of them"


class RpcLayer:
    """The layer that follows DCERPC on every channel. Gaps, ends of channels and unknown events pass unchanged."""

    takes: ClassVar[frozenset[type[Event]]] = frozenset(
        {ChannelBatch, ChannelGap, ChannelClosed, ClockSetBack, CaptureEnds}
    )

    def __init__(
        self,
        keyring: Keyring,
        *,
        limits: Limits = DEFAULTS,
        begin: Callable[[Keyring, int | None], Handshake] = token_handshake.begin,
        search: SearchBudget | None = None,
        pdus: bool = True,
        logons: Iterator[int] | None = None,
        shares: int = 1,
        selected: Selection | None = None,
    ) -> None:
        """Without `pdus`, the RPC layer emits no single PDUs. `search` limits the cost of finding places in keystreams. `logons`
        numbers logons (default: from 0). `shares` layers share the limit of memory. In SMB sessions only `selected` calls are
        emitted (default: all).

        [MS-PCQ] 3.1.4.1.6 lets a client offer a buffer of 1 GiB. A forged stream of fragments must not make us hold that much for
        every call. So a call beyond `limits.stub` is emitted without its stub.
        """
        self._begin = lambda auth_type: begin(keyring, auth_type)
        self._search = search if search is not None else SearchBudget(limits.search_tries, limits.search_keystream)
        self._limits = limits
        self._memory = MemoryBudget(max(limits.rpc_memory, limits.stub + limits.stub // 2) // shares)
        self._pdus, self._selected = pdus, selected
        self._logons = count() if logons is None else logons
        self._spill = Log(0)
        self._associations: dict[int, Association] = {}
        # The frames before which the clock of the capture went back, ascending.
        self._set_back: list[int] = []
        self._unanswered = "no answer was captured before the pipe or connection was closed"

    def feed(self, event: Event) -> list[Event]:
        """Takes one event of a channel; returns the RPC exchanges that it completes."""
        if isinstance(event, ChannelBatch | ChannelGap):
            number = event.channel.number
            association = self._associations.get(number)
            if association is None:
                association = self._begin_association(event.channel)
            out = association.feed(event)
            if association.early_acks and association.lacks_bind:
                out += self._bind_from_elsewhere(association)
            for other in self._memory.holds(number, association.memory):
                out += self._associations.pop(other).finish(_GIVEN_UP)
            if isinstance(event, ChannelGap):
                out.append(event)
            return out
        if isinstance(event, ChannelClosed):
            self._memory.ends(event.channel.number)
            closed = self._associations.pop(event.channel.number, None)
            return [*(closed.finish(self._unanswered) if closed is not None else ()), event]
        if isinstance(event, ClockSetBack):
            is_later = not self._set_back or event.frames[0] > self._set_back[-1]
            self._set_back += event.frames
            if not is_later:  # frames of several files come in turns
                self._set_back.sort()
            return []
        if isinstance(event, CaptureEnds):
            self._unanswered = _CAPTURE_ENDS
        return [event]

    def open_since(self, since_ns: int) -> int | None:
        """Returns the earliest beginning, from `since_ns` on, of an RPC call that is not complete."""
        return earliest((each.open_since(since_ns) for each in self._associations.values()), since_ns)

    def open_before(self, before_ns: int) -> Iterator[OpenCall]:
        """Yields the RPC calls that are under way and began before this time."""
        for channel, association in self._associations.items():
            for call in association.open_before(before_ns):
                times = call.times
                assert times is not None
                yield OpenCall(channel, call.call_id, (times[0], call.first_frame))

    def finish(self) -> list[Event]:
        """Ends all associations with the capture: returns their RPC calls as far as they got, and the limits that were reached."""
        out = [event for association in self._associations.values() for event in association.finish(_CAPTURE_ENDS)]
        self._associations.clear()
        if count := self._search.given_up:
            where = "sealed message was not looked for in its", "sealed messages were not looked for in their"
            text = f"{counted(count, *where)} keystream to the end: all of an analysis share its searches"
            out.append(Problem("limit", "rpc", (), text))
        if count := self._memory.given_up:
            text = f"more than {self._memory.most} bytes of memory for all DCERPC associations"
            out.append(Problem("limit", "rpc", (), f"{text}; {count} times the one silent longest was given up"))
        return out

    def _bind_from_elsewhere(self, association: Association) -> list[Event]:
        """Gives an association the bind that came over another channel. Returns the events of that."""
        for number, other in self._associations.items():
            if (out := association.takes_bind(other)) is not None:
                del self._associations[number]
                self._memory.ends(number)
                return out
        return []

    def _begin_association(self, channel: Channel) -> Association:
        begun = self._associations[channel.number] = Association(
            channel,
            self._begin,
            self._search,
            self._limits,
            self._pdus,
            self._logons,
            self._spill,
            self._set_back,
            self._selected,
        )
        return begun
