"""What each query handle held when the calls of a capture were made: calls in order in, a state of the handle for each out.

A call takes its time, and others may be under way: a data answer describes a handle as it was somewhere between its request
and its response. So the begin and the end of each call are put in order by time, and

* ValidateCounters takes effect when its answer comes. A poll, an info or another ValidateCounters on the handle whose time
  overlaps with it may have seen the handle before or after: nothing is concluded from it, and its blocks have no names.
* ValidateCounters without a readable answer, from its request on, may have done anything to its handle; one that is sealed, to
  all handles of its channel.
* A request that was lost (`Loss`) may have been a ValidateCounters on any handle of its channel. Clients count their calls,
  so the next request on the channel states which numbers are missing. If the answers to all of these are there and none can
  be one of ValidateCounters, nothing was changed.
* QueryCounterInfo reports the polls that came before it too, as far back as nothing changed the handle.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Literal

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from analyzer.model.call import Call, handle_of
from analyzer.model.perflib import INTERFACE, Opnum
from analyzer.model.query import QueryView
from analyzer.model.store import NO_HANDLE, Moments
from analyzer.pcq.layer import Loss, identifiers_of, may_answer_validate_counters
from analyzer.pcq.queries import TOGETHER, UNREAD, BlockTypes, Query, QueryHandles, block_types


class _Watch(Struct):
    """A call under way: its handle, and what it was like when the call began."""

    query: Query
    epoch: int


def query_states(
    calls: Sequence[Call], moments: Moments, order: Sequence[int], losses: Iterable[Loss] = ()
) -> tuple[Sequence[int], Sequence[QueryView]]:
    """For each of the calls, in order, the position of its query handle's state in the second value; -1 for none.

    `moments` are those of the calls as they were taken, and `order` which of these each call is.
    """
    return _Following(calls, moments, order).through(_steps(moments, order, losses), _without_request(moments, order))


# What happens at the same time is looked at in this order.
_END, _LOSS, _BEGIN, _END_AT_ONCE = range(4)


# About so many calls are put in order at a time.
_AT_ONCE = 1 << 16
_Numbers = npt.NDArray[np.int64]


def _steps(moments: Moments, order: Sequence[int], losses: Iterable[Loss]) -> Iterator[tuple[int, int]]:
    """What happened, in order: its kind, and the position of the call (the number of the channel of a loss)."""
    taken = np.frombuffer(order, np.uint32)  # type: ignore[call-overload]  # an array
    is_perflib = np.frombuffer(moments.perflib, np.bool_)[taken]
    begins = is_perflib | np.frombuffer(moments.requests, np.bool_)[taken]
    begin_frames, end_frames = (
        np.frombuffer(moments.begin_frames, np.int64),
        np.frombuffer(moments.end_frames, np.int64),
    )
    begin_times = np.frombuffer(moments.begin_times, np.int64)[taken]
    # An answer that was captured before its request ends with it.
    end_times = np.maximum(np.frombuffer(moments.end_times, np.int64)[taken], begin_times)
    lost = np.array([(*loss.after, loss.channel) for loss in losses], np.int64).reshape(-1, 3)
    # One window of time after the other: nothing as long as the capture is sorted.
    bounds = np.unique(np.frombuffer(moments.first_times, np.int64)[taken[_AT_ONCE::_AT_ONCE]]).tolist()
    for window in pairwise([None, *bounds, None]):
        begun = np.flatnonzero(_within(begin_times, *window) & begins)
        ended = np.flatnonzero(_within(end_times, *window) & is_perflib)
        ended = ended[end_frames[taken[ended]] >= 0]
        lost_now = lost[_within(lost[:, 0], *window)]
        answered, asked = end_frames[taken[ended]], begin_frames[taken[ended]]
        at_end = np.frombuffer(moments.end_times, np.int64)[taken[ended]] - begin_times[ended]
        later = (at_end > 0) | ((at_end == 0) & (answered > asked))
        kinds = np.concatenate(
            [
                np.full(len(begun), _BEGIN, np.int8),
                np.where(later, _END, _END_AT_ONCE).astype(np.int8),
                np.full(len(lost_now), _LOSS, np.int8),
            ]
        )
        places = np.concatenate([begun, ended, lost_now[:, 2]])
        times = np.concatenate([begin_times[begun], end_times[ended], lost_now[:, 0]])
        frames = np.concatenate([begin_frames[taken[begun]], np.where(later, answered, asked), lost_now[:, 1]])
        steps = np.lexsort((places, kinds, frames, times))
        for first in range(0, len(steps), 4096):
            some = steps[first : first + 4096]
            yield from zip(kinds[some].tolist(), places[some].tolist(), strict=True)


def _within(times: _Numbers, first: int | None, stop: int | None) -> npt.NDArray[np.bool_]:
    """Which times are not before the first and before the last of a window, as far as it is bounded."""
    found = np.ones(len(times), np.bool_)
    if first is not None:
        found &= times >= first
    if stop is not None:
        found &= times < stop
    return found


def _without_request(moments: Moments, order: Sequence[int]) -> list[int]:
    """The positions of calls whose request is not there."""
    taken = np.frombuffer(order, np.uint32)  # type: ignore[call-overload]  # an array
    found: list[int] = np.flatnonzero(np.frombuffer(moments.requests, np.int8)[taken] == 0).tolist()
    return found


class _Following:
    def __init__(self, calls: Sequence[Call], moments: Moments, order: Sequence[int]) -> None:
        self._calls, self._moments, self._order = calls, moments, order
        self._book = QueryHandles()
        self._views = array("i", [-1]) * len(calls)
        self._states: list[QueryView] = []
        # The state that was given out last for each handle, by number: the same one serves as long as nothing changes.
        self._latest: dict[int, int] = {}
        self._watches: dict[int, _Watch] = {}
        # ValidateCounters under way, by the number of their handle.
        self._changing: dict[int, int] = {}
        # The polls of a handle since it last changed, by its number: the epoch they belong to, and their positions.
        self._polled: dict[int, tuple[int, array[int]]] = {}
        self._counts = _Counts()

    def through(
        self, steps: Iterable[tuple[int, int]], without_request: Iterable[int]
    ) -> tuple[Sequence[int], Sequence[QueryView]]:
        for at in without_request:
            self._counts.take_answer(self._calls[at])
        for kind, at in steps:
            if kind == _LOSS:
                self._book.lost(at)
                self._counts.lost(at)
            elif kind == _BEGIN:
                self._begins(at)
            else:
                self._ends(at)
        return self._views, self._states

    def _is(self, at: int, view: QueryView) -> None:
        """The handle of a call, as it stood."""
        latest = self._latest.get(view.number)
        if latest is None or self._states[latest] is not view:
            latest = self._latest[view.number] = len(self._states)
            self._states.append(view)
        self._views[at] = latest

    # A call begins

    def _begins(self, at: int) -> None:
        moments, taken = self._moments, self._order[at]
        handle = moments.handles[taken]
        if handle >= 0 or handle == NO_HANDLE:
            # Nothing else has to be known of a poll that was answered, or of a call that is about no handle.
            channel = moments.channels[taken]
            self._requested(channel, moments.call_ids[taken])
            if handle == NO_HANDLE:
                return
            server, name = moments.handle_names[handle]
            query = self._book.of(server, channel, name)
            self._watches[at] = _Watch(query, query.epoch)
            return
        call = self._calls[at]
        if call.request is not None:
            self._requested(call.channel, call.call_id)
        if not call.is_perflib:
            return
        opnum = call.opnum
        asked = handle_of(call.request, "hQuery") or handle_of(call.request, "phQuery")
        if asked is None:
            self._begins_unnamed(call)
            return
        query = self._book.of(call.server, call.channel, asked)
        if opnum == Opnum.VALIDATE_COUNTERS:
            self._is(at, query.view())
            if call.response is None or call.state != "complete" or call.fault is not None:
                # What was refused with a fault changed nothing by the letter, but [MS-PCQ] does not say at which point.
                query.forget(UNREAD)
                return
            query.changed()
            self._changing[query.number] = self._changing.get(query.number, 0) + 1
        elif opnum != Opnum.QUERY_COUNTER_DATA or call.response is None:
            self._is(at, query.view())
        self._watches[at] = _Watch(query, query.epoch)

    def _requested(self, channel: int, call_id: int) -> None:
        """A request is there, which may state what became of those before it."""
        verdict = self._counts.seen(channel, call_id)
        if verdict == "harmless":
            self._book.found(channel)
        elif verdict == "unknown":
            self._book.doubt(channel)

    def _begins_unnamed(self, call: Call) -> None:
        """A call that names no handle, or whose request was not read: it may have changed a handle of its channel."""
        channel, opnum = call.channel, call.opnum
        is_unknown = opnum is None and (call.request is not None or may_answer_validate_counters(call))
        if is_unknown or opnum == Opnum.VALIDATE_COUNTERS:
            self._book.doubt(channel)

    # A call ends

    def _ends(self, at: int) -> None:
        handle = self._moments.handles[self._order[at]]
        if handle == NO_HANDLE:
            return
        if handle >= 0:
            if (watch := self._watches.pop(at, None)) is not None:
                watch.query.sync()
                self._polled_once(at, watch)
            return
        call = self._calls[at]
        assert call.is_perflib
        opnum = call.opnum
        succeeded = call.state == "complete" and call.status == 0
        if opnum == Opnum.OPEN_QUERY_HANDLE and succeeded:
            if (given := handle_of(call.response, "phQuery")) is not None:
                self._is(at, self._book.opened(call.server, call.channel, given).view())
            return
        if (watch := self._watches.pop(at, None)) is None:
            return
        query = watch.query
        query.sync()
        if opnum == Opnum.VALIDATE_COUNTERS:
            self._validated(call, watch, succeeded=succeeded)
        elif opnum == Opnum.CLOSE_QUERY_HANDLE and succeeded:
            query.closed()
        elif opnum == Opnum.QUERY_COUNTER_INFO and succeeded:
            self._informed(call, watch)

    def _is_alone(self, watch: _Watch) -> bool:
        """Whether nothing else changed the handle while the call was under way."""
        return watch.query.epoch == watch.epoch and not self._changing.get(watch.query.number)

    def _validated(self, call: Call, watch: _Watch, *, succeeded: bool) -> None:
        query = watch.query
        self._changing[query.number] -= 1
        is_alone = self._is_alone(watch)
        identifiers = identifiers_of(call.response) if succeeded else ()
        if identifiers is None:
            query.forget(UNREAD)
            return
        assert call.request is not None
        if succeeded:
            query.validated(identifiers, add=call.request.params.get("dwAdd") != 0)
            if not is_alone:
                query.unorder(TOGETHER)

    def _informed(self, call: Call, watch: _Watch) -> None:
        query = watch.query
        identifiers = identifiers_of(call.response)
        if identifiers is None:
            query.forget(UNREAD)
        elif self._is_alone(watch):
            query.informed(identifiers)
            for earlier in self._since(query):
                if self._states[self._views[earlier]].id_source != "index":
                    self._is(earlier, query.view())

    def _polled_once(self, at: int, watch: _Watch) -> None:
        query = watch.query
        view = query.view()
        if not self._is_alone(watch):
            self._is(at, QueryView(view.handle, view.number, {}, None, unknown=TOGETHER))
            return
        polls = self._since(query)
        polls.append(at)
        if query.is_at_stake and (answer := _shape(self._calls[at])) is not None and query.contradicted(answer):
            # The same list was polled before, and is no more certain for that.
            for earlier in polls:
                self._is(earlier, query.view())
        else:
            self._is(at, query.view())

    def _since(self, query: Query) -> array[int]:
        """The positions of the polls since the handle last changed."""
        known = self._polled.get(query.number)
        if known is None or known[0] != query.epoch:
            known = self._polled[query.number] = (query.epoch, array("I"))
        return known[1]


class _Counts:
    """Which calls of a channel are not there, by the numbers that clients give them."""

    def __init__(self) -> None:
        self._last: dict[int, int] = {}
        # Channels that lost something; those whose next request is still to come.
        self._lossy: set[int] = set()
        self._waiting: set[int] = set()
        # Channels whose numbers do not grow call by call prove nothing.
        self._useless: set[int] = set()
        # Answers whose request was lost, and whether they can be those of ValidateCounters.
        self._answers: dict[tuple[int, int], bool] = {}

    def take_answer(self, call: Call) -> None:
        """A call whose request is not there."""
        place = call.channel, call.call_id
        self._answers[place] = _may_have_changed(call) or place in self._answers

    def lost(self, channel: int) -> None:
        self._lossy.add(channel)
        self._waiting.add(channel)

    def seen(self, channel: int, call_id: int) -> Literal["harmless", "unknown"] | None:
        """A request is there: what is known of those that were lost before it; None where none was."""
        last = self._last.get(channel)
        self._last[channel] = call_id
        grows = last is not None and last < call_id
        if not grows and last is not None:
            self._useless.add(channel)
        is_first = channel in self._waiting
        self._waiting.discard(channel)
        if channel not in self._lossy:
            return None
        if last is None or channel in self._useless:
            return "unknown" if is_first else None
        missing = range(last + 1, call_id)
        # Whoever skips more numbers than there are answers does not count by one.
        if len(missing) > len(self._answers) or any(self._answers.get((channel, one), True) for one in missing):
            return "unknown"
        return "harmless" if is_first else None


def _may_have_changed(call: Call) -> bool:
    """Whether an answer whose request was lost may be one of ValidateCounters."""
    return call.interface.uuid in (None, INTERFACE) and may_answer_validate_counters(call)


_BEGINNING = 256


def _shape(call: Call) -> BlockTypes | None:
    """The shape of the data a call was answered with, None where there is none."""
    side = call.response
    if side is None or side.buffer is None or side.buffer_kind != "perf-data" or call.status != 0:
        return None
    # Where a few blocks are all there are, the beginning describes them; a long answer is not read from the spill file for that.
    beginning = block_types(side.buffer.part(0, _BEGINNING))
    if beginning is None or len(beginning.types) == beginning.promised:
        return beginning
    return block_types(side.buffer.data)
