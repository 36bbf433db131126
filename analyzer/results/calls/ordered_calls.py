"""The calls of a capture in order, and questions about all of them that columns answer."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, overload

from analyzer.core.caches import cached_property
from analyzer.core.errors import CONTRADICTIONS
from analyzer.results.calls.call import Call
from analyzer.results.calls.call_row_columns import KIND_NUMBERS, PARAMS_DECODER, STATES, Context, RareOfCall
from analyzer.results.calls.call_table import CallTable, Tally, altered_rows, disordered_rows
from analyzer.results.calls.held_calls import HeldCall
from analyzer.results.calls.query_state import QueryView
from analyzer.results.methods import winreg
from analyzer.results.methods.perflib import INTERFACE, Opnum

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

# The most different texts to tell apart at once.
_TEXTS_KEPT = 1 << 14


class OrderedCalls(Sequence[Call]):
    """The calls of a capture in order: call number n is at position n - 1.

    `order` has the position of each call in the table, `views` for each call the position of its query handle's state in
    `states`, -1 for none.
    """

    def __init__(
        self, table: CallTable, order: Sequence[int], views: Sequence[int] = (), states: Sequence[QueryView] = ()
    ) -> None:
        self.table, self.order, self.states = table, order, states
        self.views = views if len(views) else array("i", [-1]) * len(order)
        self._last: Call | None = None

    @property
    def tally(self) -> Mapping[Tally, int]:
        """Returns how many of the ordered calls have each state, interface and method."""
        return self.table.tally

    def column(self, name: str) -> npt.NDArray[Any]:
        """Returns the numbers of a column in the order of the calls; `FORMATS` lists the columns."""
        import numpy as np

        found: npt.NDArray[Any] = self.table.column(name)
        return found if isinstance(self.order, range) else found[np.asarray(self.order, np.int64)]

    @cached_property
    def altered(self) -> frozenset[int]:
        """Returns the numbers of the ordered calls of which a signature does not fit, so that others may have changed them."""
        return frozenset(self._numbers(altered_rows(self.table)))

    @cached_property
    def disordered(self) -> frozenset[int]:
        """Returns the numbers of the calls that may have been made at another time than the order of frames says."""
        return frozenset(self._numbers(disordered_rows(self.table)))

    def first_of_contexts(self, numbers: Sequence[int]) -> list[int]:
        """Returns the numbers of the first call of each `Context` among the calls with these ascending numbers."""
        import numpy as np

        from analyzer.core.array_functions import first_places

        chosen = np.asarray(numbers, np.int64)
        firsts: list[int] = chosen[first_places(self.column("context")[chosen - 1])].tolist()
        return firsts

    def first_by_text(self, numbers: Sequence[int], param: str) -> list[int]:
        """Returns the numbers of the first calls of each `Context`, way in which SMB carried them, and text of a request parameter,
        among the calls with these numbers. If there are very many texts, a later call may be returned too."""
        import numpy as np

        chosen = np.asarray(numbers, np.int64) - 1
        columns = [self.column(name)[chosen].tolist() for name in ("context", "smb", "place", "request_params")]
        firsts, known, read = [], set[tuple[int, int, Any]](), self.table.log.read
        for number, context, smb, place, length in zip(numbers, *columns, strict=True):
            text: Any = read(place, length)
            with suppress(*CONTRADICTIONS):  # whoever looks at the call says so
                found = PARAMS_DECODER.decode(text).get(param)
                text = found if isinstance(found, str) else None
            if (key := (context, smb, text)) not in known:
                if len(known) == _TEXTS_KEPT:
                    known.clear()
                known.add(key)
                firsts.append(number)
        return firsts

    def shared_values(self, number: int) -> tuple[int, int]:
        """Returns for a call, by its number in order, the numbers of two shared values: its `context`, and how SMB carried it."""
        at, table = self.order[number - 1], self.table
        return table.number("context", at), table.number("smb", at)

    def contexts_by_last_call(self) -> list[Context]:
        """The contexts that the ordered calls have in common, each once, in the order of the last call of each."""
        from analyzer.core.array_functions import first_places

        backwards = self.column("context")[::-1]
        codes = backwards[first_places(backwards)].tolist()
        return [self.table.contexts[code] for code in reversed(codes)]

    def contexts_of(self, numbers: Sequence[int]) -> list[tuple[Context, int]]:
        """Returns the contexts of the calls with these numbers, with the count of calls of each, in the order of their first
        calls."""
        import numpy as np

        codes = Counter(self.column("context")[np.asarray(numbers, np.int64) - 1].tolist())
        return [(self.table.contexts[code], count) for code, count in codes.items()]

    def states_of(self, numbers: Sequence[int]) -> Counter[str]:
        """Counts the ordered calls with these numbers by state."""
        import numpy as np

        codes = Counter(self.column("state")[np.asarray(numbers, np.int64) - 1].tolist())
        return Counter({STATES[code]: count for code, count in codes.items()})

    def held(self, numbers: Sequence[int], *, pdus: bool = False) -> Iterator[HeldCall | None]:
        """Yields the ordered calls with these numbers as held calls, block by block. Yields None for a call that must be read as a
        `Call`."""
        order = self.order
        return self.table.held([order[number - 1] for number in numbers], pdus=pdus)

    def rare(self, number: int) -> RareOfCall:
        """Returns the facts that only few calls have, for the call with this number in the order."""
        return self.table.rare(self.order[number - 1])

    def frames(self, number: int) -> tuple[int, ...]:
        """Returns the frame ids of the call with this number in the order, like `Call.frames`."""
        return self.table.frames(self.order[number - 1])

    def with_values(self, numbers: Sequence[int]) -> list[int]:
        """Returns the numbers of those ordered calls whose answer holds performance data."""
        import numpy as np

        chosen = np.asarray(numbers, np.int64)
        kinds = [KIND_NUMBERS["perf-data"], KIND_NUMBERS["winperf"]]
        found: list[int] = chosen[np.isin(self.column("response_buffer_kind")[chosen - 1], kinds)].tolist()
        return found

    def of_perflib(self, opnums: Iterable[int]) -> list[int]:
        """Returns the numbers of the ordered calls of these PerflibV2 methods."""
        import numpy as np

        is_of_one = (self.table.column("opnum")[:, None] == np.array([*opnums])).any(axis=1)
        return self._numbers(self.table.is_of(INTERFACE) & is_of_one)

    def readings(self) -> list[int]:
        """The numbers of the ordered calls that ask for values of counters, as far as columns state it."""
        table = self.table
        of_perflib = table.is_of(INTERFACE) & (table.column("opnum") == Opnum.QUERY_COUNTER_DATA)
        # The value that is read is among the facts that few calls have.
        return self._numbers(of_perflib | (table.is_of(winreg.INTERFACE) & (table.column("rare") > 0)))

    def _numbers(self, rows: npt.NDArray[np.bool_]) -> list[int]:
        """Returns the numbers of the calls whose rows in the table are marked."""
        import numpy as np

        numbers: list[int] = (np.flatnonzero(rows[np.asarray(self.order, np.int64)]) + 1).tolist()
        return numbers

    def __len__(self) -> int:
        return len(self.order)

    @overload
    def __getitem__(self, where: int) -> Call: ...

    @overload
    def __getitem__(self, where: slice) -> Sequence[Call]: ...

    def __getitem__(self, where: int | slice) -> Call | Sequence[Call]:
        if isinstance(where, slice):
            return [self[at] for at in range(*where.indices(len(self)))]
        at = range(len(self.order))[where]
        # A call is often read again at once. Meanwhile another thread may read another call.
        call = self._last
        if call is None or call.number != at + 1:
            view = self.views[at]
            call = self._last = self.table.read(self.order[at], at + 1, self.states[view] if view >= 0 else None)
        return call

    def __iter__(self) -> Iterator[Call]:
        for at in range(len(self.order)):
            yield self[at]
