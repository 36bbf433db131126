"""Raw counter values as text, one a line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from analyzer.core.times import NS_PER_S
from analyzer.interfaces.contents.samples import sample_records
from analyzer.results.analysis import Analysis
from analyzer.results.sample import SampleRecord
from analyzer.screens.views.text import folded, problem_lines, safe

if TYPE_CHECKING:
    from analyzer.questions.filters.filter import SampleFilter


def sample_lines(analysis: Analysis, width: int | None, passing: SampleFilter | None = None) -> Iterator[str]:
    """One value a line: time, call, counter path, raw value; of all values, or of those that pass a filter."""
    facts = analysis.capture
    start = facts.first_time_ns or 0
    count = 0
    for record in sample_records(analysis) if passing is None else passing.records(analysis):
        count += 1
        relative = ((record.time_ns or 0) - start) / NS_PER_S
        where = f"#{record.call:<5} {record.server.ip if record.server is not None else ''}"
        line = f"{relative:12.6f}  {where}  {counter_path(record)} = {value_words(record)}"
        yield from (safe(text) for text in folded(line, 22, width))
    selected = [analysis.part.words] if analysis.part is not None else []
    selected += [f"filter {passing}"] if passing is not None else []
    if selected:
        words = f"{count or 'no'} value{'s pass' if count > 1 else ' passes'}: {', '.join(selected)}"
        yield ""
        yield from (safe(text) for text in folded(words, 4, width))
    elif count == 0:
        yield "no counter value could be read"
    if count == 0:
        yield from problem_lines(analysis, width)


def value_words(record: SampleRecord) -> str:
    """A raw value: a number, a quoted text, or why there is none."""
    raw = record.raw
    if raw is None:
        status = record.block_status
        return f"(no value: {record.block_status_name or f'error {status}'})" if status else "(no value)"
    return f'"{raw}"' if isinstance(raw, str) else str(raw)


def counter_path(record: SampleRecord) -> str:
    """`Processor(_Total)\\% Processor Time`, with numbers where the capture states no names."""
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
