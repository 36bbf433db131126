"""The records that `timeline` prints around those of calls: of the capture, its problems and its counts (docs/output.md)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from msgspec import UNSET

from analyzer.core.byte_origins import FrameExtent
from analyzer.core.events import Problem
from analyzer.interfaces.call_contents.call_records import CallRecords
from analyzer.interfaces.call_contents.damaged_buffers import Damages
from analyzer.results.analysis import Analysis, CaptureFacts
from analyzer.results.calls.call import Call, Side, SideName
from analyzer.results.calls.call_table import Tally
from analyzer.results.methods import scmr
from analyzer.results.records.capture_records import (
    SCHEMA,
    CaptureRecord,
    ProblemRecord,
    StreamRecord,
    SummaryRecord,
)
from analyzer.results.records.record_types import PlaceExtent, Record


def place_extents(extents: Iterable[FrameExtent], facts: CaptureFacts) -> tuple[PlaceExtent, ...]:
    """Returns where bytes were captured, with Wireshark's frame numbers, for a timeline record."""
    out = []
    for extent in extents:
        frames, files = facts.numbered((extent.frame,))
        out.append(PlaceExtent(frames=frames, frame_files=files, start=extent.start, length=extent.length))
    return tuple(out)


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


def problem_record(problem: Problem, facts: CaptureFacts) -> ProblemRecord:
    frames, files = facts.numbered(problem.frames)
    return ProblemRecord(kind=problem.kind, layer=problem.layer, frames=frames, frame_files=files, text=problem.text)


def shown_problems(analysis: Analysis) -> Iterator[Problem]:
    """Yields the problems of the shown calls: those that name one of their frames. If the calls are consecutive, a frame between
    their first and last one counts too. Yields all problems if all calls are shown."""
    if analysis.part is None:
        yield from all_problems(analysis)
        return
    numbers = analysis.part.numbers
    frames = {
        frame for _, call in analysis.shown for side in (call.request, call.response) if side for frame in side.frames
    }
    is_stretch = bool(frames) and numbers[-1] - numbers[0] + 1 == len(numbers)
    between = range(min(frames), max(frames)) if is_stretch else ()
    for problem in all_problems(analysis):
        if any(frame in between or frame in frames for frame in problem.frames):
            yield problem


def all_problems(analysis: Analysis, damages: Damages | None = None) -> Iterator[Problem]:
    """All problems of a timeline: those of the layers, then those of decoded calls (damaged buffers and stubs that do not decode).

    `damages` describes the buffers that were decoded before, which need not be decoded again.
    """
    yield from analysis.problems
    damages = damages if damages is not None else Damages()
    for number in damages.unsure(analysis.calls):
        yield from call_problems(analysis.calls[number - 1], damages)


def call_problems(call: Call, damages: Damages) -> Iterator[Problem]:
    """Yields the problems of a decoded call; `damages` is described at `all_problems`."""
    number, layer = call.number, "pcq" if call.is_perflib else "winperf" if call.is_winreg else scmr.NAME
    sides: tuple[tuple[SideName, Side | None], ...] = ("request", call.request), ("response", call.response)
    for name, side in sides:
        if side is None:
            continue
        if side.problem is not None:
            text = f"call #{number}: {name} stub does not decode: {side.problem}"
            if side.problem.undecoded is not None:
                text += f"; {side.problem.undecoded} of {side.stub_length} bytes are not decoded"
            yield Problem("malformed", layer, side.frames, text)
        if (damage := damages.problem_of(number, name, side)) is not None:
            found = Problem.from_error(layer, damage, side.frames)
            text = f"call #{number}: {side.buffer_kind} buffer of the {name} is damaged: {found.text}"
            yield Problem(found.kind, layer, found.frames, text)


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
