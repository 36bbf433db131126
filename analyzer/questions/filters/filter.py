"""A filter of calls or samples: text in, and then for each call or sample whether it passes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from analyzer.interfaces.contents.samples import sample_records
from analyzer.questions.filters.bind import bind
from analyzer.questions.filters.fields import Field, call_fields, counter_fields, sample_fields
from analyzer.questions.filters.grammar import parse
from analyzer.questions.filters.tree import And
from analyzer.questions.filters.values import CallValues, of_record, of_sample
from analyzer.results.analysis import Analysis
from analyzer.results.call import Call, CallRecord
from analyzer.results.sample import CounterRecord, SampleRecord


class CallFilter:
    """A filter over the fields of calls. `str()` is what it says, in one form of many it can be written in."""

    def __init__(self, source: str) -> None:
        self.tree = parse(source)
        parts = self.tree.parts if isinstance(self.tree, And) else (self.tree,)
        # Each of them must hold.
        self.parts = tuple(bind(part, source, call_fields()) for part in parts)

    @property
    def fields(self) -> frozenset[Field]:
        """Those that it asks for."""
        return frozenset[Field]().union(*(part.fields for part in self.parts))

    def asks_for(self, name: str) -> bool:
        """Whether it asks for a field of this name."""
        return any(field.name == name for field in self.fields)

    def __str__(self) -> str:
        return str(self.tree)

    def again(self, source: str) -> CallFilter:
        """A filter of the same kind."""
        return CallFilter(source)

    def __call__(self, number: int, call: Call, analysis: Analysis) -> bool:
        """Whether call `number` passes. What the filter does not ask for is not looked at."""
        values = CallValues(number, call, analysis)
        return all(part(values) for part in self.parts)

    def passes(self, record: CallRecord | Mapping[str, Any]) -> bool:
        """The same of a call that is a record already."""
        values = of_record(record)
        return all(part(values) for part in self.parts)


class SampleFilter:
    """A filter over the fields of samples and of the calls that brought them; with `of_counters`, of formatted values."""

    def __init__(self, source: str, *, of_counters: bool = False) -> None:
        self.tree = parse(source)
        self._of_counters = of_counters
        fields = counter_fields() if of_counters else sample_fields()
        parts = self.tree.parts if isinstance(self.tree, And) else (self.tree,)
        bound = [bind(part, source, fields) for part in parts]
        # What is only about calls is asked once a call, and before the values of its buffer are read.
        self._of_calls = [part for part in bound if not any(field.of_value for field in part.fields)]
        self._of_samples = [part for part in bound if any(field.of_value for field in part.fields)]

    def __str__(self) -> str:
        return str(self.tree)

    def again(self, source: str) -> SampleFilter:
        """A filter of the same kind."""
        return SampleFilter(source, of_counters=self._of_counters)

    def records(self, analysis: Analysis) -> Iterator[SampleRecord]:
        """The sample records that pass."""
        test = self.test(analysis)
        return (record for record in sample_records(analysis, partial(self._wants, analysis)) if test(record))

    def test(self, analysis: Analysis) -> Callable[[SampleRecord | CounterRecord], bool]:
        """Whether a sample passes, or a formatted value."""
        number, values, is_wanted = 0, None, False

        def passes(record: SampleRecord | CounterRecord) -> bool:
            nonlocal number, values, is_wanted
            if values is None or record.call != number:
                number = record.call or 0
                values = CallValues(number, analysis.calls[number - 1], analysis)
                is_wanted = all(part(values) for part in self._of_calls)
            if not is_wanted:
                return False
            of_both = of_sample(record, values)
            return all(part(of_both) for part in self._of_samples)

        return passes

    def _wants(self, analysis: Analysis, number: int, call: Call) -> bool:
        values = CallValues(number, call, analysis)
        return all(part(values) for part in self._of_calls)
