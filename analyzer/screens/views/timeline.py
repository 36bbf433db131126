"""The view of `timeline`: every call in order, what could not be read, and how many calls ended how."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from msgspec import UNSET, Struct

from analyzer.interfaces.call_contents.call_records import CallRecords, all_problems, problem_record
from analyzer.interfaces.call_contents.damaged_buffers import Damages
from analyzer.questions.filters.call_selection import EVERYTHING, Selection
from analyzer.results.analysis import Analysis, CaptureFacts
from analyzer.results.calls.call_table import Tally
from analyzer.results.records.capture_records import SCHEMA, CaptureRecord, ProblemRecord, StreamRecord, SummaryRecord
from analyzer.results.records.record_types import Record
from analyzer.screens.views.view_type import Clock, OfCalls


class Timeline(Struct, OfCalls, frozen=True):
    """The view of `pcq timeline`."""

    analysis: Analysis
    selection: Selection = EVERYTHING
    all_attempts: bool = False
    clock: Clock = "relative"
    unfold: bool = False

    def records(self, *, for_json: bool = False) -> Iterator[Record]:
        """Yields the records of the timeline. With `for_json`, buffers whose JSON is cheap to make come as JSON text."""
        shown = self.selection.shown(self.analysis)
        return timeline_records(self.analysis, shown=shown.numbers, selected_by=self.selection.words, for_json=for_json)

    def lines(self, width: int | None) -> Iterator[str]:
        """Returns the timeline as text. Loads the text module only here: most programs ask for records."""
        from analyzer.screens.views.timeline_text import timeline_lines

        return timeline_lines(self, width)


def capture_record(facts: CaptureFacts) -> CaptureRecord:
    return CaptureRecord(
        schema=SCHEMA,
        files=facts.files,
        frames=facts.frames,
        bytes=facts.bytes,
        first_time_ns=facts.first_time_ns,
        last_time_ns=facts.last_time_ns,
        traces=facts.traces or UNSET,
        redacted=facts.redacted or UNSET,
    )


def stream_record(facts: CaptureFacts) -> StreamRecord:
    return StreamRecord(schema=SCHEMA, files=facts.files, first_time_ns=facts.first_time_ns, names_from="now")


def summary_record(
    tally: Mapping[Tally, int], sessions: int, problems: Counter[str], shown: int, selected_by: str | None
) -> SummaryRecord:
    """Returns the summary record of a timeline: calls by state and by method, problems by kind. `tally` counts all calls; `shown`
    is the number of shown ones."""
    states: Counter[str] = Counter()
    methods: Counter[str] = Counter()
    for (state, interface, method), count in tally.items():
        states[state] += count
        methods[f"{interface}.{method}"] += count
    return SummaryRecord(
        calls=sum(tally.values()),
        calls_by_state=_sorted(states),
        calls_by_method=_sorted(methods),
        problems=sum(problems.values()),
        problems_by_kind=_sorted(problems),
        sessions=sessions,
        calls_shown=shown,
        selected_by=selected_by,
    )


def _sorted(counts: Counter[str]) -> dict[str, int]:
    return {name: count for name, count in sorted(counts.items()) if count}


def timeline_records(
    analysis: Analysis,
    *,
    shown: Sequence[int] | None = None,
    selected_by: str | None = None,
    for_json: bool = False,
) -> Iterator[Record]:
    """Yields the records of the timeline in its order: those of all calls, or of the calls with the numbers `shown`, selected by
    `selected_by`.

    With `for_json`, buffers are `Raw` if their JSON is quickly made, for code that writes JSON.
    """
    shown = shown if shown is not None else range(1, len(analysis.calls) + 1)

    def parts() -> Iterator[Iterable[Record]]:
        damages = Damages()
        yield (capture_record(analysis.capture),)
        yield CallRecords(analysis, for_json=for_json).records_of(shown, damages)
        yield records_behind_calls(analysis, damages, len(shown), selected_by)

    return chain.from_iterable(parts())


def records_behind_calls(
    analysis: Analysis, damages: Damages, shown: int, selected_by: str | None
) -> Iterator[ProblemRecord | SummaryRecord]:
    """Yields the timeline's records that follow the calls: problems and summary. `shown` is the number of shown calls."""
    facts = analysis.capture
    kinds: Counter[str] = Counter()
    for problem in all_problems(analysis, damages):
        kinds[problem.kind] += 1
        yield problem_record(problem, facts)
    yield summary_record(analysis.calls.tally, len(analysis.sessions), kinds, shown, selected_by)
