"""A filter of calls or samples: text in, and then for each call or sample whether it passes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from analyzer.model.analysis import Analysis
from analyzer.model.records import Record
from analyzer.rpc.call import Call
from analyzer.timeline.filters.bind import bind
from analyzer.timeline.filters.fields import call_fields, is_own, sample_fields
from analyzer.timeline.filters.grammar import parse
from analyzer.timeline.filters.values import CallValues, of_record, of_sample


class CallFilter:
    """A filter over the fields of calls. `str()` is what it says, in one form of many it can be written in."""

    def __init__(self, source: str) -> None:
        self.tree = parse(source)
        self._passes = bind(self.tree, source, call_fields())

    def __str__(self) -> str:
        return str(self.tree)

    def __call__(self, number: int, call: Call, analysis: Analysis) -> bool:
        """Whether call `number` passes. What the filter does not ask for is not looked at."""
        return self._passes(CallValues(number, call, analysis))

    def passes(self, record: Record) -> bool:
        """The same of a call that is a record already."""
        return self._passes(of_record(record))


class SampleFilter:
    """A filter over the fields of samples and of the calls that brought them."""

    def __init__(self, source: str) -> None:
        self.tree = parse(source)
        self._passes = bind(self.tree, source, sample_fields())
        self._only_calls = not any(is_own(field) for field in self._passes.fields)

    def __str__(self) -> str:
        return str(self.tree)

    def passing(self, records: Iterable[Record], analysis: Analysis) -> Iterator[Record]:
        """The sample records that pass."""
        number, values, verdict = 0, None, False
        for record in records:
            if values is None or record["call"] != number:
                number = record["call"]
                values = CallValues(number, analysis.calls[number - 1], analysis)
                verdict = self._only_calls and self._passes(values)
            if verdict or (not self._only_calls and self._passes(of_sample(record, values))):
                yield record
