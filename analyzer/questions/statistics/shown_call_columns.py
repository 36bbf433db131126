"""Columns of the shown calls: statistics ask them about all shown calls without reading each."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from analyzer.core.array_functions import distinct
from analyzer.core.caches import cached_property
from analyzer.interfaces.call_contents.damaged_buffers import Damages
from analyzer.results.analysis import Analysis, Selected
from analyzer.results.calls.call_row_columns import Context, latencies_in, return_kinds_in
from analyzer.results.calls.call_table import altered_rows
from analyzer.results.methods import perflib, winreg
from analyzer.results.methods.return_kinds import ReturnKind

if TYPE_CHECKING:
    import numpy.typing as npt

    Mask = npt.NDArray[np.bool_]
    Numbers = npt.NDArray[Any]

_Key = TypeVar("_Key", bound=Hashable)


class ShownCalls:
    """The columns of the shown calls, or of the calls with these numbers, in order. Each column is read on demand."""

    def __init__(self, analysis: Analysis, numbers: Sequence[int] | None = None) -> None:
        self._calls = analysis.calls
        self.numbers: Numbers = np.array(analysis.shown.numbers if numbers is None else numbers, np.int64)
        self._read: dict[str, Numbers] = {}

    def __len__(self) -> int:
        return len(self.numbers)

    def column(self, name: str) -> Numbers:
        """Returns the numbers of the shown calls in a column of the table of calls."""
        if name not in self._read:
            self._read[name] = self._calls.column(name)[self.numbers - 1]
        return self._read[name]

    @property
    def views(self) -> Numbers:
        """Returns the positions of the states of the shown calls' query handles, -1 for none."""
        found: Numbers = np.array(self._calls.views, np.int64)[self.numbers - 1]
        return found

    def context(self, at: int) -> Context:
        """Returns the context of the shown call at a place: the fields that it shares with others."""
        found: Context = self._calls.table.contexts[self.column("context")[at]]
        return found

    def looked_at(self, which: Mask) -> Selected:
        """Returns some of the shown calls, to be read one by one."""
        return Selected(self._calls, self.numbers[which].tolist())

    # What columns state together

    def by_handle(self, which: Mask) -> dict[int, Numbers]:
        """The places of shown calls on query handles by the number of the handle, in the order of these numbers."""
        places = np.flatnonzero(which)
        handles = np.array([state.number for state in self._calls.states], np.int64)[self.views[places]]
        different = distinct(handles)
        groups = _split(places, np.searchsorted(different, handles), len(different))
        return dict(zip(different.tolist(), groups, strict=True))

    def in_context(self, test: Callable[[Context], bool]) -> Mask:
        """Returns for each shown call whether its context passes a test."""
        known = np.array([test(context) for context in self._calls.table.contexts], np.bool_)
        found: Mask = known[self.column("context")]
        return found

    def by(self, key: Callable[[Context], _Key], which: Mask) -> dict[_Key, Numbers]:
        """Groups the places of shown calls by a key of their context, in the order of the first call of each group."""
        contexts = self._calls.table.contexts
        places, codes = np.flatnonzero(which), self.column("context")[which]
        keys: dict[_Key, int] = {}
        numbers = np.zeros(len(contexts), np.int64)
        for code in _in_order(codes):
            numbers[code] = keys.setdefault(key(contexts[code]), len(keys))
        groups = _split(places, numbers[codes], len(keys))
        return dict(zip(keys, groups, strict=True))

    def alike(self, *names: str) -> list[Numbers]:
        """Groups the places of shown calls with equal numbers in some columns, in the order of the first call of each group."""
        codes = np.zeros(len(self), np.int64)
        for name in names:
            column = self.column(name)
            different = distinct(column)
            codes = codes * len(different) + np.searchsorted(different, column)
            codes = np.searchsorted(distinct(codes), codes)
        groups = _split(np.arange(len(self)), codes, int(codes.max(initial=-1)) + 1)
        return sorted(groups, key=lambda places: int(places[0]))

    def contexts(self, places: Numbers) -> Iterator[Context]:
        """Yields the contexts of the shown calls at some places, each once, in the order of their first calls."""
        contexts = self._calls.table.contexts
        return (contexts[code] for code in _in_order(self.column("context")[places]))

    def values(self, name: str, places: Numbers) -> Iterator[Any]:
        """Yields the values in a column for the shown calls at some places, each once, in the order of their first calls."""
        return map(self._calls.table.meaning(name), _in_order(self.column(name)[places]))

    @property
    def refused(self) -> Mask:
        """Returns which of the shown calls were refused (see `Call.outcome`)."""
        codes = self.column("status").astype(np.int64) * len(ReturnKind) + self.return_kinds
        codes[self.column("status") < 0] = -1
        different = distinct(codes)
        pairs = (divmod(code, len(ReturnKind)) for code in different.tolist())
        is_failure = np.array([status >= 0 and ReturnKind(kind).is_failure(status) for status, kind in pairs], np.bool_)
        found: Mask = (self.column("fault") >= 0) | is_failure[np.searchsorted(different, codes)]
        return found

    @property
    def return_kinds(self) -> Numbers:
        """Returns the kind of return value of each shown call (see `Call.return_kind`)."""
        found: Numbers = return_kinds_in(self.column, self._calls.table.contexts)
        return found

    @property
    def answered(self) -> Mask:
        """Returns which of the shown calls were answered (see `Call.outcome`)."""
        return ~self.refused & self.is_one("state", "complete")

    @property
    def asking_size(self) -> Mask:
        """Returns which of the shown calls were refused with the size that they need (see `Call.asks_size`)."""
        status, of_perflib = self.column("status"), self.is_of(perflib.INTERFACE)
        is_plain = self.column("fault") < 0
        found: Mask = is_plain & ~of_perflib & (status == winreg.ERROR_MORE_DATA)
        # Whether an answer states the size is among its parameters.
        may_state = is_plain & of_perflib & (status == perflib.ERROR_NOT_ENOUGH_MEMORY)
        found[may_state] = [call.asks_size for _, call in self.looked_at(may_state)]
        return found

    @property
    def latencies(self) -> tuple[Mask, Numbers]:
        """Returns which shown calls have a latency, and each latency (see `Call.latency_ns`)."""
        return latencies_in(self.column)

    @property
    def polls(self) -> Mask:
        """Returns which of the shown calls were answered with performance data."""
        by_query = self.is_of(perflib.INTERFACE) & (self.column("opnum") == perflib.Opnum.QUERY_COUNTER_DATA)
        by_value = self.is_of(winreg.INTERFACE) & self.is_one("response_buffer_kind", "winperf")
        found: Mask = self.answered & (by_query | by_value)
        return found

    def unread(self, damages: Damages) -> Mask:
        """Returns, as a column, which of the shown calls have a part that is missing, damaged or unreadable. A missing answer is
        counted elsewhere."""
        found = self.is_one("state", "partial", "sealed", "malformed", "response-only")
        may_be = ~found & ((self.column("request_buffer_kind") >= 0) | (self.column("response_buffer_kind") >= 0))
        damages.note_buffers(self._calls, self.numbers[may_be])
        for at, number in zip(np.flatnonzero(may_be).tolist(), self.numbers[may_be].tolist(), strict=True):
            if not damages.is_sound(number):
                found[at] = any(damage is not None for damage in damages.of_call(self._calls[number - 1]))
        return found

    def is_of(self, interface: str) -> Mask:
        """Returns which of the shown calls are of an interface."""
        return self.in_context(lambda context: context.interface.uuid == interface)

    def is_one(self, name: str, *values: Any) -> Mask:
        """Returns which of the shown calls have one of these values in a column."""
        column, meaning = self.column(name), self._calls.table.meaning(name)
        return np.isin(column, [number for number in distinct(column).tolist() if meaning(number) in values])

    @cached_property
    def altered(self) -> Mask:
        """Returns which of the shown calls have a signature that does not fit, so that others may have changed them."""
        found: Mask = altered_rows(self._calls.table)[self._rows]
        return found

    @cached_property
    def _rows(self) -> Numbers:
        """The positions of the shown calls in the table of calls."""
        found: Numbers = np.asarray(self._calls.order, np.int64)[self.numbers - 1]
        return found

    def buffers(self, side: str) -> tuple[Numbers, Numbers]:
        """Returns place and length of the buffer on one side of each shown call (see `CallTable.buffers`)."""
        places, lengths = self._calls.table.buffers(side)
        return places[self._rows], lengths[self._rows]

    def may_be_performance(self) -> Mask:
        """Returns which of the shown calls are about performance counters, or may be (see `Call.is_performance`)."""
        found, of_winreg = self.is_of(perflib.INTERFACE), self.is_of(winreg.INTERFACE)
        unread = of_winreg & (self.column("request_side") != 0)
        may_be = of_winreg & ~unread & (self.column("rare") > 0)
        found |= unread
        for at in np.flatnonzero(may_be).tolist():
            rare = self._calls.rare(int(self.numbers[at]))
            found[at] = rare.key is not None or rare.read is not None
        return found

    def may_be_others(self) -> Mask:
        """Returns which of the shown calls may be about performance counters or about something else: calls of the registry that
        could not be read, but for those whose method opens a performance key."""
        unread = self.is_of(winreg.INTERFACE) & (self.column("request_side") != 0)
        found: Mask = unread & ~np.isin(self.column("opnum"), list(winreg.PERFORMANCE_KEYS))
        return found


def _in_order(codes: Numbers) -> Sequence[int]:
    """Returns the different codes of shown calls, in the order of their first calls."""
    return list(dict.fromkeys(codes.tolist()))


def _split(places: Numbers, codes: Numbers, count: int) -> list[Numbers]:
    """Groups places of shown calls by their codes, which count from 0."""
    order = np.argsort(codes, kind="stable")
    return np.split(places[order], np.searchsorted(codes[order], np.arange(1, count))) if count else []
