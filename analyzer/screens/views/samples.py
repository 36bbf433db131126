"""The view of `samples`, raw counter values: one record or line a value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from analyzer.core.times import NS_PER_S
from analyzer.interfaces.call_contents.raw_samples import sample_records
from analyzer.results.analysis import Analysis
from analyzer.results.records.sample import SampleRecord
from analyzer.screens.views.view_type import OfSamples

if TYPE_CHECKING:
    from analyzer.interfaces.call_contents.raw_samples import SampleChunk
    from analyzer.questions.filters.filter import SampleFilter


class Samples(Struct, OfSamples, frozen=True):
    """The view of `pcq samples`: all values, or those that pass a filter."""

    analysis: Analysis
    filter: SampleFilter | None = None

    def records(self) -> Iterator[SampleRecord]:
        return sample_records(self.analysis) if self.filter is None else self.filter.records(self.analysis)

    def lines(self, width: int | None) -> Iterator[str]:
        """Yields one raw counter value a line: time, call, counter path, raw value."""
        from analyzer.screens.views.text_report import doubt_lines, folded, problem_lines, safe

        facts = self.analysis.capture
        start = facts.first_time_ns or 0
        count = 0
        for record in sample_records(self.analysis) if self.filter is None else self.filter.records(self.analysis):
            count += 1
            relative = ((record.time_ns or 0) - start) / NS_PER_S
            where = f"#{record.call:<5} {record.server.ip if record.server is not None else ''}"
            line = f"{relative:12.6f}  {where}  {counter_path(record)} = {value_words(record)}"
            yield from (safe(text) for text in folded(line, 22, width))
        selected = [self.analysis.part.words] if self.analysis.part is not None else []
        selected += [f"filter {self.filter}"] if self.filter is not None else []
        if selected:
            words = f"{count or 'no'} value{'s pass' if count > 1 else ' passes'}: {', '.join(selected)}"
            yield ""
            yield from (safe(text) for text in folded(words, 4, width))
        elif count == 0:
            yield "no counter value could be read"
        if count == 0:
            yield from problem_lines(self.analysis, width)
        yield from doubt_lines(self.analysis, width)

    def chunks(self) -> Iterator[SampleChunk | SampleRecord]:
        """Yields the raw samples: as chunks if those of an answer are columns (`sample_chunks`), else as records."""
        from analyzer.interfaces.call_contents.raw_samples import sample_chunks

        return sample_chunks(self.analysis) if self.filter is None else self.filter.records(self.analysis)


def value_words(record: SampleRecord) -> str:
    """Describes a raw value as `samples` prints it: a number, a quoted text, or why there is none."""
    raw = record.raw
    if raw is None:
        status = record.block_status
        return f"(no value: {record.block_status_name or f'error {status}'})" if status else "(no value)"
    return f'"{raw}"' if isinstance(raw, str) else str(raw)


def counter_path(record: SampleRecord) -> str:
    """Returns the counter path in a line that `samples` prints: `Processor(_Total)\\% Processor Time`, with numbers for names that
    are unknown."""
    instance = record.instance
    if record.source == "winperf":
        group = record.object_name or f"object {record.object_index}"
        counter = record.counter_name or f"counter {record.counter_index}"
        instance = instance if record.parent_instance is None else f"{record.parent_instance}/{instance}"
    else:
        group = record.counterset_name or record.counterset or f"block {record.block}"
        known = record.counter_id is not None
        counter = record.counter_name or (f"counter {record.counter_id}" if known else "unknown counter")
    return f"{group}({instance})\\{counter}" if instance else f"{group}\\{counter}"
