"""The view of `stats`: response times, polls, identities, errors and findings, as records and as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter

from msgspec import Struct, UnsetType
from rich.cells import cell_len

from analyzer.core.frame_ids import frame_id
from analyzer.core.printable_text import counted, plural, shortened
from analyzer.core.times import NS_PER_S, shown_time
from analyzer.interfaces.call_contents.client_programs import client_programs
from analyzer.interfaces.call_contents.damaged_buffers import Damages
from analyzer.interfaces.call_contents.session_records import session_record
from analyzer.questions.statistics.call_statistics import (
    error_stats,
    identity_stats,
    method_stats,
    poll_stats,
    totals_of,
)
from analyzer.questions.statistics.process_sightings import image_records
from analyzer.questions.statistics.who_looked_at_what import ActivityFindings, activity_record, findings, omissions
from analyzer.results.analysis import Analysis
from analyzer.results.records.capture_records import OmissionRecord
from analyzer.results.records.record_types import Record
from analyzer.results.records.statistics import ActivityRecord, ErrorStatsRecord, ImageRecord, Who
from analyzer.results.security import who_words
from analyzer.screens.views.text_report import (
    doubt_lines,
    folded,
    frames_words,
    header_lines,
    nothing_passes,
    problem_lines,
    safe,
    styled,
)
from analyzer.screens.views.view_type import OfCapture

# -------------------------------------------------------------------------------------------------------- stats records


def stats_records(analysis: Analysis) -> Iterator[Record]:
    """Yields all records of `stats`: one for each line of its text."""
    # What was polled shows which answers are damaged, so that no buffer is decoded twice.
    damages = Damages()
    found = findings(analysis, damages)
    yield from method_stats(analysis, damages)
    yield from poll_stats(analysis)
    programs = client_programs(analysis)
    for session in analysis.shown_sessions:
        yield session_record(session, analysis.capture, programs)
    yield from identity_stats(analysis, damages)
    yield from error_stats(analysis)
    for activity in found.activities:
        yield activity_record(activity, analysis)
    yield from image_records(found.images, analysis)
    yield from omissions(found)


# ---------------------------------------------------------------------------------------------------------------- stats


_SHOWN_CALLS = 6
_SHOWN_NAME, _NARROW, _SHOWN_NARROW = 40, 100, 24
_UNIT_NS = ((NS_PER_S, "s"), (1_000_000, "ms"), (1_000, "µs"))


class Stats(Struct, OfCapture, frozen=True):
    analysis: Analysis

    def records(self) -> Iterator[Record]:
        return stats_records(self.analysis)

    def lines(self, width: int | None) -> Iterator[str]:
        """Yields the text of `stats`: a header, then each section that has something to say."""
        yield from header_lines(self.analysis, width)
        if not self.analysis.shown:
            yield ""
            yield from nothing_passes(self.analysis) or ("no call could be read",)
            yield from problem_lines(self.analysis, width)
        # Reading the polls also finds damaged answers, so that no buffer is decoded twice.
        damages = Damages()
        found = findings(self.analysis, damages)
        for title, lines in (
            ("Service response time", _method_lines(self.analysis, damages, width)),
            ("Polls", _poll_lines(self.analysis, width)),
            ("Who called", _identity_lines(self.analysis, damages)),
            ("Errors, most frequent first", _error_lines(self.analysis)),
        ):
            yield from _section(title, lines, width)
        yield from _section("Findings: who looked at what", _activity_lines(found, self.analysis), width)
        images = _image_lines(image_records(found.images, self.analysis), omissions(found), self.analysis, width)
        yield from _section("Findings: processes that were to be seen", images, width)
        doubts = list(doubt_lines(self.analysis, width, of_values=False))
        yield from ("", *doubts) if doubts else ()


# ------------------------------------------------------------------------------------------------------------ text


def _section(title: str, lines: Iterator[tuple[str, str | None]], width: int | None) -> Iterator[str]:
    first = True
    for line, style in lines:
        if first:
            yield ""
            yield f"[bold]{title}[/]"
            first = False
        for text in folded(line, 6, width):
            yield styled(style, text) if style else safe(text)


def _fitting(rows: Sequence[Sequence[str]], width: int | None, spare: Sequence[str]) -> list[tuple[str, ...]]:
    """Returns a `stats` table without as many of the `spare` columns as needed to fit the width. The first row has the titles."""
    shown = list(rows[0])
    for title in spare:
        if width is None or _width(rows) <= width:
            break
        at = shown.index(title)
        del shown[at]
        rows = [(*row[:at], *row[at + 1 :]) for row in rows]
    return [tuple(row) for row in rows]


def _width(rows: Sequence[Sequence[str]]) -> int:
    """Returns the width of a `stats` table on the terminal, in characters."""
    return sum(2 + max(map(cell_len, column)) for column in zip(*rows, strict=True))


def _columns(rows: Sequence[Sequence[str]], left: int) -> Iterator[str]:
    """Lays out the cells of a `stats` table in columns; the first `left` columns are flush left."""
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = []
        for at, (cell, size) in enumerate(zip(row, widths, strict=True)):
            room = " " * (size - cell_len(cell))
            cells.append(cell + room if at < left else room + cell)
        yield "  " + "  ".join(cells).rstrip()


def _method_lines(analysis: Analysis, damages: Damages, width: int | None) -> Iterator[tuple[str, str | None]]:
    methods = method_stats(analysis, damages)
    if not methods:
        return
    rows: list[tuple[str, ...]] = [
        ("", "calls", "failed", "min", "median", "p95", "max", "slowest", "bytes asked", "answered")
    ]
    for one in methods:
        spread = one.latency_ns
        method = one.method.removeprefix("PerflibV2") if one.interface == "PerflibV2" else one.method
        rows.append(
            (
                f"{one.interface}.{method}",
                f"{one.calls:,}",
                f"{one.failed:,}" if one.failed else "",
                *(duration(value) for value in (spread.min, spread.median, spread.p95, spread.max)),
                f"#{one.slowest}" if one.slowest is not None else "",
                f"{one.request_bytes.total:,}",
                f"{one.response_bytes.total:,}",
            )
        )
    if width is not None and _width(rows) > width:
        rows = _nested(rows)
    for line in _columns(_fitting(rows, width, ("answered", "bytes asked", "min", "p95")), 1):
        yield line, None
    total = totals_of(methods)
    if total.unread:
        words = f"  {total.unread:,} of {counted(total.calls, 'call')} could not be read in whole (`timeline` says which, and why)"
        yield f"{words}; of these, failed and bytes count what is known", "yellow"
    if total.retried:
        yield f"  {total.retried:,} of the failed calls only asked with too small a buffer", None
    if total.unanswered:
        verb = "has" if total.unanswered == 1 else "have"
        yield f"  {counted(total.unanswered, 'call')} {verb} no answer in the capture", None


def _nested(rows: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Puts the method rows of `stats` below one row for each interface."""
    found = [rows[0]]
    before = None
    for name, *cells in rows[1:]:
        interface, _, method = name.partition(".")
        if interface != before:
            found.append((interface, *("" for _ in cells)))
        found.append((f"  {method}", *cells))
        before = interface
    return found


def _poll_lines(analysis: Analysis, width: int | None) -> Iterator[tuple[str, str | None]]:
    polls = [poll for poll in poll_stats(analysis) if poll.polls]
    if not polls:
        return
    rows: list[tuple[str, ...]] = [
        ("", "client", "calls", "polls", "failed", "interval", "min", "p95", "max", "jitter")
    ]
    for one in polls:
        spread = one.intervals_ns
        rows.append(
            (
                one.handle,
                str(one.client),
                f"#{one.first_call}…#{one.last_call}" if one.polls > 1 else f"#{one.first_call}",
                f"{one.polls:,}",
                f"{one.failed:,}" if one.failed else "",
                *(duration(value) for value in (spread.median, spread.min, spread.p95, spread.max, one.jitter_ns)),
            )
        )
    for line, poll in zip(_columns(_fitting(rows, width, ("min", "p95", "jitter")), 3), [None, *polls], strict=True):
        yield line + (f"  {poll.what}" if poll is not None and poll.what is not None else ""), None


def _identity_lines(analysis: Analysis, damages: Damages) -> Iterator[tuple[str, str | None]]:
    for one in identity_stats(analysis, damages):
        machine = f"{one.workstation} ({one.client_ip})" if one.workstation else one.client_ip
        who = who_words(one.user, one.claimed_user, one.later_user)
        words = f"  {who} from {machine} at {one.server_ip}: {counted(one.calls, 'call')}"
        words += f", {one.unread:,} not read" if one.unread else ""
        words += f", {one.failed:,} failed" if one.failed else ""
        words += f", {counted(one.polls, 'poll')}" if one.polls else ""
        words += f"; {', '.join(one.security)}"
        words += f"; {plural(len(one.sessions), 'session')} {', '.join(_short(one.sessions))}" if one.sessions else ""
        yield (
            f"{words}; {_span(one.first_time_ns, one.last_time_ns)}; {_calls((one.first_call, one.last_call), 2)}",
            None,
        )


def _short(sessions: Sequence[str]) -> list[str]:
    shown = [f"{int(one, 16):#x}" for one in sessions[:_SHOWN_CALLS]]
    more = len(sessions) - len(shown)
    return [*shown, f"and {more} more"] if more else shown


def _error_lines(analysis: Analysis) -> Iterator[tuple[str, str | None]]:
    """Yields a line of `stats` for each error with its total. Below it, if there are several methods, a line for each."""
    kinds = {"return": "", "fault": "fault ", "counter": "counter refused: "}
    for (kind, code, name), group in groupby(error_stats(analysis), key=lambda one: (one.kind, one.code, one.name)):
        of_error = list(group)
        known = name or (f"{code:#x}" if kind == "fault" else f"error {code}")
        words = f"  {of_error[0].total:>4}  {kinds[kind]}{known} ({code:#x})"
        if len(of_error) == 1:
            yield f"{words}, {_method_with_calls(of_error[0])}", "yellow"
            continue
        yield f"{words}, {len(of_error)} methods", "yellow"
        for one in of_error:
            yield f"        {one.count:>4}  {_method_with_calls(one)}", None


def _method_with_calls(one: ErrorStatsRecord) -> str:
    """Describes a method in a line of `stats` about an error, with its calls that met the error."""
    method = one.method.removeprefix("PerflibV2") if one.interface == "PerflibV2" else one.method
    return f"{one.interface}.{method}: {_calls(one.call_numbers, one.count)}"


# By kind of activity: the words if it read something, and the words if it did not.
_KIND_WORDS = {
    "list-countersets": ("listed the countersets", "asked for the countersets"),
    "describe-counterset": ("asked what {} is", "asked what {} is"),
    "list-instances": ("listed the instances of {}", "asked for the instances of {}"),
    "read-names": ("read {}", "asked for {}"),
    "poll": ("polled {}", "asked for values of {}"),
}
_CATEGORY_WORDS = {
    "process": "Process: this is a list of processes",
    "network": "Network: interfaces and connections",
    "terminal-services": "Terminal Services: sessions of users",
    None: "Other",
}


def _activity_lines(found: ActivityFindings, analysis: Analysis) -> Iterator[tuple[str, str | None]]:
    order = list(_CATEGORY_WORDS)
    activities = sorted(
        (activity_record(one, analysis) for one in found.activities), key=lambda one: order.index(one.category)
    )
    for category, of_category in groupby(activities, key=lambda one: one.category):
        yield f"  {_CATEGORY_WORDS[category]}", "bold red" if category is not None else "bold"
        by_who: dict[Who, list[ActivityRecord]] = {}
        for one in of_category:
            by_who.setdefault(one.who, []).append(one)
        for who, deeds in by_who.items():
            yield f"    {who.name} from {who.client_ip} at {who.server_ip}", None
            for one in deeds:
                yield f"      {_activity_words(one)}; {_where(one, analysis)}", None


def _activity_words(one: ActivityRecord) -> str:
    name = one.name or (f"object {one.target}" if isinstance(one.target, int) else one.target) or "something"
    target = f"{name} ({one.target})" if one.name is not None and one.target is not None else str(name)
    verb = _KIND_WORDS[one.kind][not one.with_data]
    if one.kind != "list-countersets" and one.target is None:
        words = verb.format(one.detail)
    else:
        words = verb.format(target)
        words += f" ({one.detail})" if one.kind == "list-countersets" and one.detail else ""
    times = f" in {counted(one.count, 'call')}"
    if without := sum(one.without_data.values()):
        endings = one.without_data
        why = endings if len(endings) == 1 else (f"{ending} {count:,}" for ending, count in endings.items())
        times += f", {without:,} without data" if one.with_data else ", without data"
        times += f" ({', '.join(why)})"
    return f"{words}{times}, {_span(one.first_time_ns, one.last_time_ns)}"


def _image_lines(
    found: Iterable[ImageRecord], left_out: Iterable[OmissionRecord], analysis: Analysis, width: int | None
) -> Iterator[tuple[str, str | None]]:
    for server, group in groupby(sorted(found, key=attrgetter("server_ip")), key=attrgetter("server_ip")):
        yield f"  on {server}", "bold"
        images = list(group)
        rows = [("", "pid", "answers", "first seen", "last seen", "calls", "frames")]
        for one in images:
            pid = str(one.pid) if one.pid is not None else ""
            if one.pid is None and one.instance_id is not None:
                pid = f"instance {one.instance_id}"
            ends = _ends(one, analysis)
            name = shortened(one.name, _SHOWN_NARROW if width is not None and width < _NARROW else _SHOWN_NAME)
            rows.append((name, pid, str(one.calls), shown_time(one.first_time_ns), shown_time(one.last_time_ns), *ends))
        room = width - 2 if width is not None else None
        for line in _columns(_fitting(rows, room, ("frames", "answers", "calls", "last seen")), 1):
            yield "  " + line, None
    for omission in left_out:
        yield f"  {omission.text}", "yellow"


def _ends(one: ImageRecord, analysis: Analysis) -> tuple[str, str]:
    """Names for the view of `stats` the first and last call, and the first and last frame, that show a process."""
    if len(analysis.capture.files) > 1:
        first, last = (analysis.calls.frames(number) for number in (one.first_call, one.last_call))
        frames = f"{frames_words(first[:1], analysis.capture)}…{frames_words(last[-1:], analysis.capture)}"
    else:
        frames = f"{one.frames[0]}…{one.frames[-1]}"
    return f"#{one.first_call}…#{one.last_call}" if one.calls > 1 else f"#{one.first_call}", frames


def _where(one: ActivityRecord, analysis: Analysis) -> str:
    ids = one.frames
    if not isinstance(files := one.frame_files, UnsetType):
        ids = tuple(map(frame_id, files, one.frames))
    return f"{_calls(one.call_numbers, one.count)}, {frames_words(ids, analysis.capture)}"


def _calls(calls: Sequence[int], count: int) -> str:
    """Lists the calls of a `stats` line: `#3, #4, #9 and 12 more`."""
    distinct = list(dict.fromkeys(calls))
    more = (count if count > len(calls) else len(distinct)) - _SHOWN_CALLS
    return ", ".join(f"#{number}" for number in distinct[:_SHOWN_CALLS]) + (f" and {more} more" if more > 0 else "")


def _span(first_ns: int, last_ns: int) -> str:
    return shown_time(first_ns) if first_ns == last_ns else f"{shown_time(first_ns)} to {shown_time(last_ns)}"


def duration(time_ns: int | None) -> str:
    """Writes a length of time for `stats` and `handles`: four digits and the fitting unit, `12.34 ms`, `1.234 s`."""
    if time_ns is None:
        return ""
    for size, unit in _UNIT_NS:
        if abs(time_ns) >= size:
            value = time_ns / size
            return f"{value:.{max(0, 3 - len(str(int(abs(value)))) + 1)}f} {unit}"
    return f"{time_ns} ns"
