"""Writes the page of `diff`: one HTML file that shows what differs, without a script.

It loads nothing. Its Content-Security-Policy allows only the style that is in it, by its SHA-256. Text of captures is escaped, and
its control characters are shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby

from analyzer.core.printable_text import counted, printable
from analyzer.results.analysis import EvidenceRecord, evidence_lines
from analyzer.results.next_command import show_command
from analyzer.results.records.difference import (
    Breach,
    DifferenceRecord,
    FieldDifference,
    Occurrence,
    PropertyDifference,
)
from analyzer.screens.formats.report_page import asset, data_head, hash_of, opening
from analyzer.screens.views.diff import (
    DifferencesView,
    breach_words,
    calls_of,
    following_words,
    frames_of,
    kinds_of,
    numbers_of,
    request_of,
    sources_of,
    title_of,
    volatile_words,
)

# The page says how to get further differences about one subject.
MOST_SHOWN = 2_000
# Calls with more fields are closed until somebody opens them.
_OPEN_FIELDS = 12


def diff_page(view: DifferencesView, evidence: EvidenceRecord | None = None) -> Iterator[bytes]:
    """Yields the HTML page of `diff` in parts."""
    style = asset("diff.css")
    policy = f"default-src 'none'; style-src '{hash_of(style)}'; base-uri 'none'; form-action 'none'"
    found = view.differences
    names = [", ".join(analysis.sources) for _, analysis in found.sides]
    title = _text("What differs: " + " and ".join([*view.baseline, *names]))
    yield from opening(title, policy, style)
    if evidence is not None:
        yield data_head({"evidence": evidence})
    yield b"</head>\n<body>\n<main>\n"
    for part in (*_head(view), *_sections(view), *_closing(view, evidence)):
        yield part.encode()
    yield b"</main>\n</body>\n</html>\n"


def _head(view: DifferencesView) -> Iterator[str]:
    """Yields the head of the `diff` page: the result, both sides, and a link to each section."""
    found = view.differences
    summary = found.summary
    yield f'<header class="{summary.outcome}"><h1>{_text(summary.text)}</h1>\n<dl class="sides">\n'
    for name in view.baseline:
        yield f"<div><dt>A</dt><dd><b>{_text(name)}</b><br>what is usual</dd></div>\n"
    for name, analysis in found.sides:
        yield f"<div><dt>{name}</dt><dd><b>{_text(sources_of(analysis))}</b><br>{_text(calls_of(analysis))}</dd></div>\n"
    yield "</dl>\n"
    if len(groups := _groups(view)) > 1:
        links = (f'<a href="#s{at}">{title} <span>{len(records):,}</span></a>' for at, (title, records) in groups)
        yield f"<nav>{''.join(links)}</nav>\n"
    yield "</header>\n"


def _groups(view: DifferencesView) -> list[tuple[int, tuple[str, list[DifferenceRecord]]]]:
    found = groupby(view.differences.found, key=lambda one: title_of(one.about))
    return list(enumerate((title, list(records)) for title, records in found))


def _sections(view: DifferencesView) -> Iterator[str]:
    for at, (title, records) in _groups(view):
        yield f'<section id="s{at}"><h2>{title} <span>{len(records):,}</span></h2>\n'
        for record in records[:MOST_SHOWN]:
            yield from _record(view, record)
        if len(records) > MOST_SHOWN:
            yield f'<p class="more">{len(records) - MOST_SHOWN:,} more are not in this page: --format jsonl has them.</p>\n'
        yield "</section>\n"


def _record(view: DifferencesView, record: DifferenceRecord) -> Iterator[str]:
    is_named = record.machine is None or record.about in ("machine", "conversation")
    of = "" if is_named else f' <span class="of">on {_text(record.machine or "")}</span>'
    asked = f' <span class="asked">{_text(request_of(view, record))}</span>' if record.about == "call" else ""
    lone = "" if record.a or record.b or record.properties or record.fields else " lone"
    heading = f"<i>{kinds_of(record)[record.kind]}</i> <b>{_text(record.name)}</b>{asked}{of}"
    yield f'<article class="{record.kind}{lone}"><h3>{heading}</h3>\n'
    seen = [*_seen(view, "A", record.a), *_seen(view, "B", record.b)]
    if seen:
        yield f'<p class="where">{"<br>".join(seen)}</p>\n'
    if record.properties:
        yield from _properties(view, record.properties)
    fields = [one for one in record.fields if not one.follows]
    if fields:
        is_open = " open" if len(fields) <= _OPEN_FIELDS else ""
        yield f"<details{is_open}><summary>{counted(len(fields), 'field differs', 'fields differ')}</summary>\n"
        yield from _fields(fields)
        follow = len(record.fields) - len(fields)
        if follow:
            yield f'<p class="more">{following_words(follow)}.</p>\n'
        if record.fields_left_out:
            yield f'<p class="more">{counted(record.fields_left_out, "more field")}: --format jsonl tells how many.</p>\n'
        yield "</details>\n"
    for breach in record.breaches:
        yield from _breach(breach)
    yield "</article>\n"


def _seen(view: DifferencesView, name: str, side: Occurrence | None) -> Iterator[str]:
    """Yields where a side of the `diff` page shows a difference: calls, frames of the first, and the command that shows it."""
    if side is None or not side.calls:
        return
    analysis = dict(view.differences.sides).get(name)
    shown_by = show_command(analysis, side.calls[0]) if analysis is not None else None
    command = f" <code>{_text(shown_by)}</code>" if shown_by is not None else ""
    of = f" of {side.count:,} calls" if side.count > len(side.calls) else ""
    yield f"{name} {numbers_of(side)}{of}, {frames_of(side, 8)}{command}"


def _properties(view: DifferencesView, properties: Sequence[PropertyDifference]) -> Iterator[str]:
    of_a, of_b = ("usual", "new") if view.baseline else ("A", "B")
    yield f'<div class="wide"><table class="properties"><thead><tr><th></th><th>{of_a}</th><th>{of_b}</th></tr></thead><tbody>\n'
    for one in properties:
        yield f"<tr><th>{_text(one.name)}</th><td>{_text(one.a or '')}</td><td>{_text(one.b or '')}</td></tr>\n"
    yield "</tbody></table></div>\n"


def _fields(fields: Sequence[FieldDifference]) -> Iterator[str]:
    yield '<div class="wide"><table class="fields"><thead><tr><th>Field</th><th>A</th><th>B</th></tr></thead><tbody>\n'
    for one in fields:
        reference = f"<small>{_text(one.reference)}</small>" if one.reference else ""
        cells = (
            _cell(one.a, one.a_bytes, one.b_bytes, one.a_start),
            _cell(one.b, one.b_bytes, one.a_bytes, one.b_start),
        )
        yield f"<tr><th>{_breakable(one.path)}{reference}</th><td>{cells[0]}</td><td>{cells[1]}</td></tr>\n"
    yield "</tbody></table></div>\n"


def _cell(value: str | None, data: str | None, other: str | None, start: int | None) -> str:
    """Returns a cell of the `diff` page: the value and bytes of one side; it marks bytes that differ from the other side."""
    if value is None and data is None:
        return "<em>not there</em>"
    shown = _text(value) if value is not None else ""
    if data is None or start is None:
        return shown
    theirs = [] if other is None else [other[at : at + 2] for at in range(0, len(other), 2)]
    mine = [data[at : at + 2] for at in range(0, len(data), 2)]
    is_equal = [at < len(theirs) and theirs[at] == byte for at, byte in enumerate(mine)]
    runs = groupby(zip(mine, is_equal, strict=True), key=lambda one: one[1])
    marked = (
        text if equal else f"<mark>{text}</mark>" for equal, run in runs for text in [" ".join(byte for byte, _ in run)]
    )
    return f"{shown}<code>{' '.join(marked)}</code><small>from byte {start} of the stub</small>"


def _breach(breach: Breach) -> Iterator[str]:
    yield f'<p class="breach">{_text(breach_words(breach))}</p>\n'


def _closing(view: DifferencesView, evidence: EvidenceRecord | None) -> Iterator[str]:
    """Yields the end of the `diff` page: what was left out, what could not be compared, and what it was made from."""
    found = view.differences
    summary = found.summary
    lines = []
    if summary.values_different:
        of_all = f"{summary.values_different:,} of {summary.values:,}"
        lines.append(f"Values of counters differ: {of_all}. With --values each is told.")
    if summary.volatile:
        lines.append(f"Left out, since they differ by their nature: {volatile_words(summary)}.")
    if summary.a_calls:
        lines.append(f"Pairs of calls compared: {summary.compared_calls:,}.")
    lines += [f"Not compared: {one.text}." for one in found.uncompared]
    if lines:
        paragraphs = "".join(f"<p>{_text(one)}</p>" for one in lines)
        yield f'<section class="closing"><h2>How it was compared</h2>\n{paragraphs}\n</section>\n'
    if evidence is not None:
        text = "\n".join(map(_text, evidence_lines(evidence)))
        yield f'<section class="closing"><h2>Evidence</h2><pre>{text}</pre></section>\n'


def _breakable(path: str) -> str:
    """Returns a field path for the `diff` page that may break after its dots."""
    return _text(path).replace(".", ".<wbr>")


def _text(value: str) -> str:
    return escape(printable(value))
