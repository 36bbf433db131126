"""A filter of calls or samples: takes its text, then says of each call or sample whether it passes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from analyzer.interfaces.call_contents.call_records import CallRecords
from analyzer.interfaces.call_contents.raw_samples import sample_records
from analyzer.questions.filters.binder import bind
from analyzer.questions.filters.bound_expression import Expression, Joined
from analyzer.questions.filters.field_values import CallColumns, LookedAt, of_record, of_sample
from analyzer.questions.filters.filterable_fields import FilterField, call_fields, counter_fields, sample_fields
from analyzer.questions.filters.grammar import parse
from analyzer.results.analysis import Analysis, Selected
from analyzer.results.calls.call import CallRecord
from analyzer.results.records.sample import CounterRecord, SampleRecord

if TYPE_CHECKING:
    from analyzer.questions.filters.bound_expression import Numbers


class CallFilter:
    """A filter over the fields of calls. `str()` returns its text in a standard form."""

    def __init__(self, source: str) -> None:
        self.tree = parse(source)
        self.expression = bind(self.tree, source, call_fields())

    @property
    def parts(self) -> tuple[Expression, ...]:
        """Returns the parts of the call filter that must all hold."""
        return _parts(self.expression)

    @property
    def fields(self) -> frozenset[FilterField]:
        """The fields of a call that the filter asks for."""
        return frozenset(self.expression.fields)

    def asks_for(self, name: str) -> bool:
        """Whether the filter asks for a field of this name."""
        return any(field.name == name for field in self.fields)

    def servers_among(self, servers: Iterable[str]) -> list[str]:
        """Returns the addresses of servers whose calls may pass the filter, by its parts that ask only for the server's address."""
        parts = [part for part in self.parts if {field.name for field in part.fields} == {"server.ip"}]
        return [ip for ip in servers if all(part.passes(lambda _: [ip]) for part in parts)]  # noqa: B023

    def __str__(self) -> str:
        return str(self.tree)

    def again(self, source: str) -> CallFilter:
        """Returns a call filter made from other text."""
        return CallFilter(source)

    def passes(self, record: CallRecord | Mapping[str, Any]) -> bool:
        """Whether a call passes the filter, given its record."""
        return self.expression.passes(of_record(record))


class SampleFilter:
    """A filter over the fields of samples and of their calls; with `of_counters`, over those of formatted values."""

    def __init__(self, source: str, *, of_counters: bool = False) -> None:
        self.tree = parse(source)
        self._of_counters = of_counters
        parts = _parts(bind(self.tree, source, counter_fields() if of_counters else sample_fields()))
        # Parts only about calls are asked of all calls at once, before the values of buffers are read.
        self._of_calls = Joined("and", tuple(part for part in parts if not _is_of_values(part)))
        self._of_samples = Joined("and", tuple(part for part in parts if _is_of_values(part)))

    def __str__(self) -> str:
        return str(self.tree)

    def again(self, source: str) -> SampleFilter:
        """A sample filter of the same kind from other text."""
        return SampleFilter(source, of_counters=self._of_counters)

    def records(self, analysis: Analysis) -> Iterator[SampleRecord]:
        """Yields those sample records of an analysis that pass this filter."""
        shown = analysis.shown
        wanted = shown.only(self._wanted(CallColumns(analysis), np.array(shown.numbers)))
        return filter(self._passing(analysis, wanted), sample_records(analysis, wanted))

    def test(self, analysis: Analysis) -> Callable[[SampleRecord | CounterRecord], bool]:
        """Returns the test whether a sample or a formatted value passes the filter."""
        numbers = np.arange(1, len(analysis.calls) + 1)
        return self._passing(analysis, analysis.shown.only(self._wanted(CallColumns(analysis), numbers)))

    def _wanted(self, columns: CallColumns, numbers: Numbers) -> list[int]:
        """Returns the numbers of those calls whose samples may pass this sample filter."""
        found: list[int] = numbers[self._of_calls.passing(columns, numbers)].tolist()
        return found

    def _passing(self, analysis: Analysis, wanted: Selected) -> Callable[[SampleRecord | CounterRecord], bool]:
        """Returns this sample filter as a test whether a sample passes, if its call is `wanted`."""
        number, values = 0, None
        records = CallRecords(analysis)

        def passes(record: SampleRecord | CounterRecord) -> bool:
            nonlocal number, values
            if record.call != number:
                number = record.call or 0
                values = LookedAt(analysis.calls[number - 1], records) if wanted.holds(number) else None
            return values is not None and self._of_samples.passes(of_sample(record, values))

        return passes


def _parts(expression: Expression) -> tuple[Expression, ...]:
    """Returns the parts of a call filter or sample filter that must all hold."""
    if isinstance(expression, Joined) and expression.operator == "and":
        return expression.parts
    return (expression,)


def _is_of_values(expression: Expression) -> bool:
    return any(field.of_value for field in expression.fields)
