"""The view of `timeline` for a capture that is still being read: calls and problems as they come, counts and facts at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Protocol

from analyzer.core.events import BlockEnds, Problem
from analyzer.interfaces.call_contents.call_records import CallRecords, call_problems, problem_record
from analyzer.interfaces.call_contents.damaged_buffers import Damages
from analyzer.questions.filters.call_selection import Selection
from analyzer.results.analysis import Analysis
from analyzer.results.calls.call import Call
from analyzer.results.calls.call_table import Tally
from analyzer.results.records.record_types import Record
from analyzer.screens.viewmodel.unread import CallsMet, may_hide
from analyzer.screens.views.text_report import call_lines, folded, problem_words, safe, styled, time_words, total_words
from analyzer.screens.views.timeline import capture_record, stream_record, summary_record
from analyzer.screens.views.view_type import Clock

# So many records are written at once, at most.
_AT_ONCE = 256


class StreamedCapture(Protocol):
    """A capture that is read while it is iterated over (`pipeline.live_reading`)."""

    analysis: Analysis
    is_finished: bool

    @property
    def tally(self) -> Mapping[Tally, int]: ...

    def __iter__(self) -> Iterator[Call | Problem | BlockEnds]: ...


class StreamedTimeline:
    """The view of `pcq timeline --names-from now`. It is made once, while it is written."""

    def __init__(
        self, stream: StreamedCapture, files: tuple[str, ...], selection: Selection, *, clock: Clock = "relative"
    ) -> None:
        """`files` are the names of the captures that the streamed timeline reads."""
        self._stream, self._files, self._selection, self._clock = stream, files, selection, clock
        self._problems: Counter[str] = Counter()
        self._shown: Counter[str] = Counter()
        # The counts of calls that the end of the command needs.
        self.met = CallsMet()

    def inputs(self) -> tuple[str, ...]:
        return self._files

    @property
    def analysis(self) -> Analysis | None:
        """Returns what the streamed timeline knows of the capture at the end; None if writing ended early."""
        return self._stream.analysis if self._stream.is_finished else None

    @property
    def shown(self) -> int:
        """Returns how many calls the streamed timeline has shown."""
        return self._shown.total()

    @property
    def _is_wanted(self) -> bool:
        """Tells whether the streamed timeline may show one more call."""
        return self._selection.head is None or self.shown < self._selection.head

    def records(self) -> Iterator[Record]:
        for batch in self.batches():
            yield from batch

    def batches(self) -> Iterator[list[Record]]:
        """Yields the records of the streamed timeline in batches; each batch is written at once."""
        made: CallRecords | None = None
        batch = list[Record]()
        for event, damages in self._events():
            analysis = self._stream.analysis
            made = made or CallRecords(analysis, for_json=True)
            if event is None:
                batch.append(stream_record(analysis.capture))
            elif isinstance(event, Problem):
                batch.append(problem_record(event, analysis.capture))
            elif isinstance(event, Call):
                made.analysis = analysis
                batch.append(made.after_the_last(event, damages))
            if isinstance(event, BlockEnds) or len(batch) >= _AT_ONCE:
                yield batch
                batch = []
        analysis, words = self._stream.analysis, self._selection.words
        batch.append(capture_record(analysis.capture))
        batch.append(summary_record(self._stream.tally, len(analysis.sessions), self._problems, self.shown, words))
        yield batch

    def lines(self, width: int | None) -> Iterator[str]:
        """Yields a line of the streamed timeline for each call and problem as it comes, with both ends; then the totals."""
        before: int | None = None
        for event, damages in self._events():
            analysis = self._stream.analysis
            if event is None:
                yield from (styled("bold", name) for name in analysis.capture.files)
                yield ""
            elif isinstance(event, Problem):
                yield from (styled("yellow", text) for text in folded(problem_words(event, analysis.capture), 4, width))
            elif isinstance(event, Call):
                time = time_words(event.time_ns, analysis.capture, self._clock, before)
                before = event.time_ns
                yield from call_lines(
                    event.number, event, analysis, width, all_attempts=True, time=time, damages=damages
                )
        yield ""
        by = f" ({self._selection.words})" if self._selection.words is not None else ""
        total = total_words(self._shown, self.met.interfaces.total())
        yield from (safe(line) for line in folded(total + by, 4, width))

    def _events(self) -> Iterator[tuple[Call | Problem | BlockEnds | None, Damages | None]]:
        """Yields the events of the streamed timeline: first None, then shown calls, all problems, and the ends of blocks. Whoever
        decodes the buffers of a call notes their damage in the second value."""
        is_shown: Callable[[Call], bool] | None = None
        for event in self._stream:
            if is_shown is None:
                is_shown = self._selection.test(self._stream.analysis)
                yield None, None
            if not isinstance(event, Call):
                if isinstance(event, Problem):
                    self._problems[event.kind] += 1
                yield event, None
                continue
            self.met.count_call(event)
            damages = Damages(event.number)
            if self._is_wanted and is_shown(event):
                self._shown[event.state] += 1
                yield event, damages
            for problem in call_problems(event, damages):
                self._problems[problem.kind] += 1
                self.met.is_unread |= may_hide(problem, self.met.others)
                yield problem, None
        if is_shown is None:
            yield None, None
