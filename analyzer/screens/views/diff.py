"""The view of `diff`: what differs between two sides, as records and as text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from msgspec import UNSET, Struct

from analyzer.core.printable_text import counted, plural, shortened
from analyzer.questions.audit.rule_registry import catalogue
from analyzer.questions.differences.baseline import NOT_USUAL, NewThings
from analyzer.questions.differences.conversation_comparison import property_words
from analyzer.questions.differences.difference_records import Differences
from analyzer.results.analysis import Analysis
from analyzer.results.records.difference import (
    Breach,
    DifferenceKind,
    DifferenceRecord,
    DiffSummaryRecord,
    FieldDifference,
    NotComparedRecord,
    Occurrence,
    Subject,
)
from analyzer.screens.viewmodel.call_summary_words import request_words, section_words
from analyzer.screens.viewmodel.unread import key_hint
from analyzer.screens.views.text_report import folded, nothing_passes, safe, styled

_TITLES: dict[Subject, str] = {
    "machine": "Machines",
    "account": "Accounts",
    "counterset": "Countersets",
    "counter": "Counters",
    "process": "Processes",
    "service": "Services",
    "conversation": "Conversations",
    "call": "Calls",
}
_KINDS = {"only-a": "only A", "only-b": "only B", "changed": "differs"}
_NEW = {"only-b": "new", "changed": "new in"}
_STYLES = {"only-a": "yellow", "only-b": "yellow", "changed": "red"}
_POSITION = re.compile(r"\[\d+\]")
# The text shows at most so many differences about one subject, and so many fields of a call.
_MOST_SHOWN, _MOST_FIELDS = 40, 5
_SHOWN_BYTES = 16
# At most so many files of a side are named.
_MOST_NAMES = 4
# A longer value is cut: JSON Lines have the whole.
_SHOWN_TEXT = 160
_TIMES = "\xa0×\xa0"


class DifferencesView(Struct, frozen=True):
    """The view of `diff`: what differs between two analyses, or is new in one. `baseline` are the files of the baseline."""

    differences: Differences | NewThings
    baseline: tuple[str, ...] = ()

    def inputs(self) -> tuple[str, ...]:
        return (*self.baseline, *(name for _, one in self.differences.sides for name in one.capture.files))

    def records(self) -> Iterator[DifferenceRecord | NotComparedRecord | DiffSummaryRecord]:
        return self.differences.records()

    def lines(self, width: int | None) -> Iterator[str]:
        found = self.differences
        summary = found.summary
        for name in self.baseline:
            yield styled("bold", f"A  {name}: what is usual")
        for name, analysis in found.sides:
            words = f"{name}  {sources_of(analysis)}: {calls_of(analysis)}"
            yield from (styled("bold", line) for line in folded(words, 3, width))
            yield from nothing_passes(analysis)
        lone = {(one.kind, one.machine, one.name) for one in found.found if one.about == "counterset"}
        for title, group in groupby(found.found, key=lambda one: title_of(one.about)):
            records = list(group)
            yield ""
            yield styled("bold", f"{title} of {records[0].machine}" if _is_of_one(records) else title)
            told = [one for one in records if not (one.about == "counter" and _is_of_counterset(one, lone))]
            yield from self._section(told, width)
            for kind, count in Counter(one.kind for one in records if one not in told).items():
                words = f"{counted(count, 'counter')} of countersets that are only there"
                yield from _marked(kinds_of(records[0])[kind], kind, words, width)
        yield ""
        hints: dict[str, list[str]] = {}
        for side, one in found.sides:
            if (hint := key_hint(one)) is not None:
                hints.setdefault(hint, []).append(side)
        lacking = [f"{' and '.join(names)}: {hint}" for hint, names in hints.items()]
        yield from _closing_lines(summary, found.uncompared, lacking, width)

    def _section(self, records: Sequence[DifferenceRecord], width: int | None) -> Iterator[str]:
        for record in records[:_MOST_SHOWN]:
            if record.about == "call":
                yield from self._call_lines(record, width)
            else:
                yield from _fact_lines(record, width, is_of_one=_is_of_one(records), is_new=bool(self.baseline))
            for words in altered_words(record):
                yield from _plain(f"    {words}", 6, width)
        if len(records) > _MOST_SHOWN:
            yield f"  and {len(records) - _MOST_SHOWN:,} more: --format jsonl"

    def _call_lines(self, record: DifferenceRecord, width: int | None) -> Iterator[str]:
        where = ", ".join(
            f"{name if record.kind == 'changed' else ''} #{side.calls[0]} ({frames_of(side)})".lstrip()
            if side.count == 1 or record.kind == "changed"
            else numbers_of(side)
            for name, side in (("A", record.a), ("B", record.b))
            if side is not None
        )
        # Keeps a count on the line of its noun.
        what = f"{record.name.replace(' × ', _TIMES)} {shortened(request_of(self, record))}".rstrip()
        yield from _marked(kinds_of(record)[record.kind], record.kind, f"{where}: {what}", width)
        yield from _all_field_lines(record, width)
        for breach in record.breaches:
            yield from _plain(f"    {breach_words(breach)}", 6, width)
        if record.kind == "changed" and record.a is not None and record.b is not None and record.a.count > 1:
            words = f"    {record.a.count - 1:,} more alike: A {numbers_of(record.a, 1)}, B {numbers_of(record.b, 1)}"
            yield from _plain(words, 6, width)


def sources_of(analysis: Analysis) -> str:
    """Says what a side of `diff` was read from: captures, or a dataset with its number of captures."""
    sources, origin = analysis.sources, analysis.dataset
    names = ", ".join(sources[:_MOST_NAMES])
    if len(sources) > _MOST_NAMES:
        return f"{names} and {counted(len(sources) - _MOST_NAMES, 'more file')}"
    return names if origin is None else f"{names} ({counted(origin.captures, 'capture')})"


def calls_of(analysis: Analysis) -> str:
    """Says how many calls of a side of `diff` are compared, and of how many."""
    of_all = f" of {len(analysis.calls):,} ({analysis.part.words})" if analysis.part is not None else ""
    return f"{counted(len(analysis.shown), 'call')}{of_all}"


def title_of(about: Subject) -> str:
    """Returns the heading in `diff` for differences about this subject."""
    return _TITLES["call"] if about in ("conversation", "call") else _TITLES[about]


def kinds_of(record: DifferenceRecord) -> Mapping[str, str]:
    """Returns the marks of `diff` for kinds of differences: those of two sides, or those of a baseline."""
    return _NEW if record.text.endswith(NOT_USUAL) else _KINDS


def request_of(view: DifferencesView, record: DifferenceRecord) -> str:
    """Returns the words that `diff` prints for the first of two differing calls: what it asks; "" for a call that only one side
    has."""
    if record.kind != "changed" or record.a is None:
        return ""
    _, analysis = view.differences.sides[0]
    return request_words(analysis.calls[analysis.number_of(record.a.calls[0]) - 1], analysis)


def _marked(mark: str, kind: DifferenceKind, words: str, width: int | None) -> Iterator[str]:
    lines = folded(f"  {mark:<8}{words}", 10, width)
    for number, line in enumerate(one.replace(_TIMES, " × ") for one in lines):
        if number:
            yield safe(line)
        else:
            yield f"  {styled(_STYLES[kind], line[2:9])}{safe(line[9:])}"


def _plain(words: str, indent: int, width: int | None) -> Iterator[str]:
    return (safe(line) for line in folded(words, indent, width))


def _is_of_counterset(record: DifferenceRecord, lone: Collection[tuple[DifferenceKind, str | None, str]]) -> bool:
    """Tells whether the view of `diff` counts a counter with its counterset, which is on one side only, and does not list it."""
    counterset, is_named, _ = record.name.partition(": ")
    return bool(is_named) and record.kind != "changed" and (record.kind, record.machine, counterset) in lone


def _is_of_one(records: Sequence[DifferenceRecord]) -> bool:
    """Tells whether these differences in `diff` all belong to the same machine."""
    return records[0].about != "machine" and len({one.machine for one in records}) == 1


def _fact_lines(record: DifferenceRecord, width: int | None, *, is_of_one: bool, is_new: bool) -> Iterator[str]:
    of = "" if is_of_one or record.about in ("machine", "conversation") else f" of {record.machine}"
    side = record.a if record.kind == "only-a" else record.b if record.kind == "only-b" else None
    calls = f"  ({numbers_of(side)})" if side is not None else ""
    mark = kinds_of(record)[record.kind]
    yield from _marked(mark, record.kind, f"{record.name}{of}{calls}", width)
    for one in record.properties:
        if is_new:
            yield from _plain(f"    {one.name}: {one.b} is new, known: {one.a}", 6, width)
        else:
            yield from _both_lines(f"    {property_words(one)}", f"    {one.name}", (one.a, one.b), width)


def _field_lines(field: FieldDifference, width: int | None) -> Iterator[str]:
    yield from _plain(f"    {field.path}", 6, width)
    a, b = (shortened(one, _SHOWN_TEXT) if one is not None else None for one in (field.a, field.b))
    if field.kind == "changed":
        yield from _both_lines(f"      {a}  →  {b}", "", (a, b), width)
    else:
        yield from _plain(f"      in {field.kind[-1].upper()} alone: {a or b}", 8, width)
    places = [
        f"{name} {_bytes_shown(raw, start, begin)}"
        for begin in (_first_shown(field),)
        for name, raw, start in (("A", field.a_bytes, field.a_start), ("B", field.b_bytes, field.b_start))
        if raw is not None and start is not None
    ]
    line = f"      bytes: {', '.join(places)}"
    if places and (width is None or len(line) <= width):
        yield safe(line)
    else:
        for number, place in enumerate(places):
            yield from _plain(f"      {'       ' if number else 'bytes: '}{place}", 15, width)
    if field.reference:
        yield from _plain(f"      {field.reference}", 8, width)


def _both_lines(line: str, heading: str, both: tuple[str | None, str | None], width: int | None) -> Iterator[str]:
    """Yields the values of both sides of `diff` on one line, or on a line each under a heading if that is too long."""
    if width is None or len(line) <= width:
        yield safe(line)
        return
    if heading:
        yield from _plain(heading, 6, width)
    for name, words in zip(("A", "B"), both, strict=True):
        yield from _plain(f"      {name} {words}", 8, width)


def _first_shown(field: FieldDifference) -> int:
    """Returns the offset from which `diff` shows the bytes of both sides: near their first difference, or 0 if that shows it."""
    a, b = (bytes.fromhex(one or "") for one in (field.a_bytes, field.b_bytes))
    at = next((at for at, (one, other) in enumerate(zip(a, b, strict=False)) if one != other), 0)
    return at - at % 4 if at > _SHOWN_BYTES - 4 else 0


def _bytes_shown(raw: str, start: int, begin: int) -> str:
    shown = raw[2 * begin :][: 2 * _SHOWN_BYTES]
    more = "…" if len(raw) > 2 * (begin + _SHOWN_BYTES) else ""
    return f"{'…' if begin else ''}{shown}{more} at byte {start + begin}"


def _all_field_lines(record: DifferenceRecord, width: int | None) -> Iterator[str]:
    """Yields the differing fields of two calls in `diff`; of list elements that differ in the same field, only the first."""
    groups: dict[tuple[str, str], list[FieldDifference]] = {}
    for field in record.fields:
        if not field.follows:
            groups.setdefault((_POSITION.sub("[]", field.path), field.kind), []).append(field)
    for fields in list(groups.values())[:_MOST_FIELDS]:
        yield from _field_lines(fields[0], width)
        if len(fields) > 1:
            yield f"      {counted(len(fields) - 1, 'more element')} of the list alike"
    more = sum(map(len, list(groups.values())[_MOST_FIELDS:])) + record.fields_left_out
    if more:
        yield f"    and {counted(more, 'more field')}: --format jsonl"
    if lengths := sum(one.follows for one in record.fields):
        yield f"    {following_words(lengths)}"


def following_words(count: int) -> str:
    """Says for `diff` how many fields differ only because another field does."""
    return f"{count} length{'s, counts or offsets follow' if count > 1 else ', count or offset follows'} from it"


def breach_words(breach: Breach) -> str:
    """Says for `diff` which requirement one side breaks, and what was seen."""
    requirement = catalogue()[breach.requirement]
    seen = f" (seen: {breach.seen})" if breach.seen is not None else ""
    return f"{breach.side.upper()} breaks {section_words(requirement)}: {breach.statement}{seen} [{breach.rule}]"


def altered_words(record: DifferenceRecord) -> Iterator[str]:
    """Says for `diff` on which side calls that show the difference may have been changed by others."""
    for name, side in (("A", record.a), ("B", record.b)):
        if side is not None and side.altered is not UNSET:
            have, them = ("has", "it") if side.altered == 1 else ("have", "them")
            which = f"{side.altered:,} of these calls" if side.count > 1 else "the call"
            yield f"in {name}, {which} {have} a signature that does not fit, so others may have changed {them}"


def numbers_of(side: Occurrence, first: int = 0) -> str:
    """Lists the numbers of calls in `diff`: `#4 #5 #6 …`."""
    shown = " ".join(f"#{number}" for number in side.calls[first:])
    return shown + (" …" if side.count > len(side.calls) else "")


def frames_of(side: Occurrence, most: int = 4) -> str:
    """Lists the frames of the first call in `diff`: `frames 4, 5, …`; `2:4` for frame 4 of the second of several files."""
    files = side.frame_files
    names = [
        str(frame) if files is UNSET else f"{files[at] + 1}:{frame}" for at, frame in enumerate(side.frames[:most])
    ]
    shown = ", ".join(names) + (", …" if len(side.frames) > most else "")
    return f"{plural(len(side.frames), 'frame')} {shown}"


def volatile_words(summary: DiffSummaryRecord) -> str:
    """Says for `diff` what differs by its nature, and how often."""
    return ", ".join(f"{what} {count:,}" for what, count in summary.volatile.items())


def _closing_lines(
    summary: DiffSummaryRecord, uncompared: Sequence[NotComparedRecord], hints: Iterable[str], width: int | None
) -> Iterator[str]:
    """Yields the last lines of `diff`: what was left out, what could not be compared, which keys lack (`hints`), and the result."""
    if summary.values_different:
        words = f"values differ: {summary.values_different:,} of {summary.values:,} values of counters (--values tells them)"
        yield from _plain(words, 4, width)
    if summary.volatile:
        yield from _plain(f"left out, since they differ by their nature: {volatile_words(summary)}", 4, width)
    for one in uncompared:
        seen = [f"{name} {numbers_of(side)}" for name, side in (("A", one.a), ("B", one.b)) if side is not None]
        calls = f" ({', '.join(seen)})" if seen else ""
        yield from (styled("yellow", line) for line in folded(f"not compared: {one.text}{calls}", 4, width))
    for hint in hints:
        yield from (styled("yellow", line) for line in folded(hint, 4, width))
    count = summary.compared_calls
    compared = f"{counted(count, 'pair')} of calls compared: " if summary.a_calls else ""
    yield from (styled("bold", line) for line in folded(f"{compared}{summary.text}", 4, width))
