"""Orders calls while a capture is read. The layers emit calls in any order. The stream yields each call, with its number and the
state of its query handle, once no later call can come before it.

`until` is a moment that the reading of the capture has passed: no call before it is open. The stream yields a call after all
earlier calls, once everything that concerns query handles before its end was followed. It does not wait for a call that is open for
too long: that call keeps its number, and comes when it ends. A call that began before a call with a number, and was not known to be
open, gets the next number: it is `late`. That happens if frames are not in the order of their times.

Calls without a captured bind are recognised by the calls of their context so far (`whole_capture_resolution`): from the first one
that proves the interface, as long as none contradicts it. Names are learnt from calls in the order in which the stream yields them.

Waiting calls are packed like those of a whole capture. From time to time they move to a new log, and the old one is dropped.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np

from analyzer.core.events import Moment, Problem
from analyzer.core.printable_text import counted
from analyzer.interfaces.pcq.perflib_layer import CatalogLearner, Loss
from analyzer.interfaces.pcq.query_handles import Following
from analyzer.interfaces.resolution.whole_capture_resolution import (
    NAMES,
    ContextGuess,
    ContextReadings,
    call_order,
    frames_noted,
    note_of,
    recognised,
)
from analyzer.interfaces.winperf.winreg_layer import KeyFollower
from analyzer.results.calls.call import Call
from analyzer.results.calls.call_table import CallTable, Tally, tally_of
from analyzer.transport.rpc.exchange_maker import OpenCall

# The fewest calls in a log before the waiting ones move to a new log.
_MOVED = 4096


class _Context:
    """A presentation context in the stream of calls whose bind was not captured."""

    def __init__(self) -> None:
        self.readings = ContextReadings()
        self.taken_for: ContextGuess | None = None
        self.frames: set[int] = set()
        # How many calls came before the first that proved what they are.
        self.unknown = 0


class CallStream:
    """The stream of calls: takes calls as they are completed, yields them in order."""

    def __init__(self, losses: list[Loss], learner: CatalogLearner, follower: KeyFollower, most: int) -> None:
        """`most` is about how many calls may wait. `losses` are removed from the list once they are handled."""
        self._learner, self._follower, self._most = learner, follower, most
        self._calls = CallTable()
        self._following = Following(self._calls, losses)
        self._contexts: dict[tuple[int, int], _Context] = {}
        # Positions of calls that have no place yet: those that were bound, and those that were not.
        self._fresh = {False: array("I"), True: array("I")}
        # When the last call began that has its place, how many have one, and the numbers of those that were not given out.
        self._last: Moment = (-1, -1)
        self._placed = 0
        self._numbers = array("q")
        self._next = 1
        # The numbers of calls that were passed over, by channel and call id.
        self._passed_over: dict[tuple[int, int], int] = {}
        self.given = 0
        # How many calls had a place behind one that began later.
        self.late = 0
        self.tally: Counter[Tally] = Counter()

    def take_call(self, call: Call) -> Iterator[Problem]:
        """Takes a completed call into the stream. Yields a note if it contradicts what its context was taken for."""
        is_unbound = call.interface.uuid is None
        if is_unbound:
            context = self._contexts.setdefault((call.channel, call.context_id), _Context())
            yield from self._read(context, call)
            if context.taken_for is not None:
                call = recognised(call, context.taken_for, self._follower)
        self._fresh[is_unbound].append(self._calls.append(call))
        self.tally[tally_of(call)] += 1

    def _read(self, context: _Context, call: Call) -> Iterator[Problem]:
        """Reads a streamed call of a context without a bind, to update what the calls of the context are taken for so far. Yields a
        note if the call contradicts."""
        before = context.taken_for
        context.readings.take_call(call)
        guess = context.taken_for = context.readings.only
        if guess is not None:
            frames_noted(context.frames, call)
        elif before is None:
            context.unknown += 1
        else:
            text = (
                f"taken for {NAMES[before.interface]} so far; the bind was not captured, and this call is no such call"
            )
            yield Problem("note", "timeline", call.frames, f"the calls of its context were {text}")

    def until(self, before: Moment | None, still_open: Iterable[OpenCall] = ()) -> Iterator[Call]:
        """The calls that are in order now that all before a moment was read (None: everything). `still_open` are calls that began
        before it and are under way."""
        self._place(before, still_open)
        self._following.until(before)
        if self._waiting - (self._following.settled - self.given) > self._most:
            self._place(None, ())
            self._following.until(None)
        first = self.given
        for place in range(first, self._following.settled):
            number = self._numbers[place - first]
            call = self._calls.read(self._following.row_of(place), number, self._following.view(place))
            self._learner.learn(call)
            self._follower.learn(call)
            self.given = place + 1
            yield call
        del self._numbers[: self.given - first]
        if len(self._calls) >= max(_MOVED, 2 * self._waiting):
            self._move()

    def notes(self) -> Iterator[Problem]:
        """Yields the problems to state at the end of a stream of calls: recognised calls, and late ones."""
        for context in self._contexts.values():
            if (guess := context.taken_for) is None:
                continue
            note = note_of(context.readings.count, guess, context.frames)
            if context.unknown:
                more = f"the first {context.unknown} of them were printed before that was known"
                note = Problem(note.kind, note.layer, note.frames, f"{note.text}; {more}")
            yield note
        if self.late:
            why = "frames are not in the order of their times, or more calls waited than may"
            text = f"{counted(self.late, 'call')} began before calls that are printed before them ({why})"
            yield Problem("note", "timeline", (), f"{text}; numbers from there on are not those of the whole capture")

    @property
    def _waiting(self) -> int:
        """Returns how many calls the stream took and did not yield."""
        return self._placed - self.given + sum(map(len, self._fresh.values()))

    def _place(self, before: Moment | None, still_open: Iterable[OpenCall]) -> None:
        """Numbers the calls in the stream that began before the moment, and the open calls that it does not wait for."""
        due = array("I")
        for is_unbound, positions in self._fresh.items():
            taken, self._fresh[is_unbound] = self._split(positions, before)
            due.extend(taken)
        passed = sorted(
            (one for one in still_open if (one.channel, one.call_id) not in self._passed_over),
            key=lambda one: one.began,
        )
        if not due and not passed:
            return
        calls, order = self._calls, call_order(self._calls, due)
        for at in order:
            began = calls.number("first_time", at), calls.number("first_frame", at)
            while passed and passed[0].began < began:
                self._pass_over(passed.pop(0))
            number = self._passed_over.pop((calls.context(at).channel, calls.number("call_id", at)), None)
            if number is None:
                self.late += began < self._last
                self._last = max(self._last, began)
                number, self._next = self._next, self._next + 1
            self._numbers.append(number)
        for one in passed:
            self._pass_over(one)
        self._placed += len(order)
        self._following.add(order)

    def _pass_over(self, one: OpenCall) -> None:
        """Reserves a number for an open call that the stream does not wait for."""
        self._passed_over[one.channel, one.call_id] = self._next
        self._next += 1
        self._last = max(self._last, one.began)

    def _split(self, positions: array[int], before: Moment | None) -> tuple[array[int], array[int]]:
        """Splits the waiting calls into those that began before the moment, and the others."""
        if before is None or not positions:
            return positions, array("I")
        calls, at = self._calls, np.array(positions)
        times, frames = calls.column("first_time")[at], calls.column("first_frame")[at]
        due = (times < before[0]) | ((times == before[0]) & (frames < before[1]))
        return array("I", at[due].tobytes()), array("I", at[~due].tobytes())

    def _move(self) -> None:
        """Moves the waiting calls of the stream to a new log, and drops the old one."""
        moved = CallTable()
        order = [moved.append(self._calls[self._following.row_of(at)]) for at in range(self.given, self._placed)]
        self._fresh = {
            is_unbound: array("I", [moved.append(self._calls[at]) for at in positions])
            for is_unbound, positions in self._fresh.items()
        }
        self._calls = moved
        self._following.moved(self.given, moved, order)
