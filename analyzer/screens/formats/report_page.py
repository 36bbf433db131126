"""Writes the page of `report`: one HTML file with its script, its style and all of its data (docs/report.md).

It loads nothing: its Content-Security-Policy allows only its own script and style, by their SHA-256. So text from a capture cannot
become code, whatever it says. The script is built from `web/` and lies in `page_assets/`.

Its data are the view model as blocks of JSON, most of them compressed. The page has no other source: it shows what is decoded here,
except values of fields that a form says how to read. A block is JSON, deflated (RFC 1951) and in base64, so that HTML reads it as
plain text; blocks of details have bytes behind it. Integers beyond 2**53, which JavaScript's numbers do not hold, are `{"$int":
"..."}`.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from html import escape
from itertools import chain, islice, pairwise, zip_longest
from pathlib import Path
from typing import Any

from msgspec import Raw, Struct, field
from msgspec.structs import replace

from analyzer.core.output.gate import Destination
from analyzer.core.output.json import Pieces, dumps
from analyzer.interfaces.call_contents.call_records import CallRecords
from analyzer.questions.films.film import Film, Films, deflated, moments
from analyzer.questions.films.film_maker import FilmMaker
from analyzer.questions.filters.filterable_fields import vocabulary
from analyzer.questions.processes.process_records import ProcessValues, may_state_parents
from analyzer.questions.series.series_limit import SeriesLeftOut, SeriesLimit
from analyzer.results.analysis import Analysis, EvidenceRecord
from analyzer.results.next_command import next_command
from analyzer.results.records.display_records import FindingView, Row, SeriesView
from analyzer.screens.formats.report_page_call_sides import (
    DETAILS_IN_BLOCK,
    SAFE_INTEGER,
    Shared,
    calls_with_layers,
    detail_blocks,
    exact,
)
from analyzer.screens.viewmodel.call_list import rows
from analyzer.screens.viewmodel.plotted_series import series_views
from analyzer.screens.viewmodel.task_manager import panel_of, usual_columns
from analyzer.screens.views.report import Report

# ----------------------------------------------------------------------------------------------------- report page data


# JSON of a list that waits to be compressed.
_COMPRESSED_AT_ONCE = 4 << 20
# Calls in a block of records, which a filter reads block after block.
HEADS_IN_BLOCK = 500
# How the columns of rows are named in the page, and the fields of `Row` that are texts.
_TEXTS = (
    "user",
    "claimed_user",
    "interface",
    "method",
    "handle",
    "asked",
    "answered",
    "status",
    "outcome",
    "state",
    "reason",
)


def packed(parts: Iterable[bytes]) -> bytes:
    """Compresses a block of the report page's data and returns it as base64 text. `parts` are its content."""
    return b64encode(deflated(parts))


class _NumberedTexts:
    """Numbers the texts of the report page's data, each once."""

    def __init__(self) -> None:
        self.all: dict[str, int] = {}

    def number(self, text: str | None) -> int:
        return -1 if text is None else self.all.setdefault(text, len(self.all))


def rows_block(analysis: Analysis) -> dict[str, Any]:
    """Returns the block with the rows of the call list in the data of the report page, as columns. Texts are positions in `texts`,
    -1 for none; times count from the first frame."""
    texts = _NumberedTexts()
    base = analysis.capture.first_time_ns or 0
    columns: dict[str, list[Any]] = {
        name: []
        for name in (
            "time",
            "client",
            "server",
            *_TEXTS,
            "latency",
            "frames",
            "opnum",
            "code",
            "fault",
            "full",
            "uuid",
            "name",
            "key",
        )
    }
    calls, table = analysis.calls, analysis.calls.table
    contexts, methods = table.contexts, table.meaning("method")
    # The fields that filters ask about most often, as the record has them.
    numbers = (calls.column(name).tolist() for name in ("opnum", "status", "fault", "method", "context", "key_number"))
    for row, opnum, status, fault, method, context, key in zip(rows(analysis), *numbers, strict=True):
        _add(columns, row, base, texts)
        for name, number in (("opnum", opnum), ("code", status), ("fault", fault)):
            columns[name].append(number if number >= 0 else None)
        interface, view = contexts[context].interface, calls.views[row.number - 1]
        handle = calls.states[view].handle if view >= 0 else calls[row.number - 1].handle_uuid if key >= 0 else None
        for name, text in (
            ("full", methods(method)),
            ("uuid", interface.uuid),
            ("name", interface.name),
            ("key", handle),
        ):
            columns[name].append(texts.number(text))
    return {"base": str(base), "texts": list(texts.all), **columns}


def _add(columns: dict[str, list[Any]], row: Row, base: int, texts: _NumberedTexts) -> None:
    columns["time"].append(row.time_ns - base)
    columns["client"].append(texts.number(str(row.client)))
    columns["server"].append(texts.number(str(row.server)))
    for name in _TEXTS:
        columns[name].append(texts.number(getattr(row, name)))
    columns["latency"].append(row.latency_ns)
    columns["frames"].append(", ".join(row.frames))


class RecordBlock:
    """The records of some calls for the report page, as `timeline` prints them in JSON. Not all buffers are held together: the
    records without buffers are there once `buffers` gave all buffers out."""

    def __init__(self, made: CallRecords, numbers: range, with_buffers: Sequence[int | None]) -> None:
        self._made, self._numbers, self._with_buffers = made, numbers, with_buffers
        self._heads: list[bytes] = []

    @property
    def heads(self) -> bytes:
        """Returns for the report page the list of the records without buffers."""
        return exact_text(b"[%b]" % b",".join(self._heads))

    @property
    def has_buffers(self) -> bool:
        return any(number is not None for number in self._with_buffers)

    def buffers(self) -> Iterator[bytes]:
        """Yields the buffers of each call, up to the last call that has them in the page: `null` for a call without."""
        last = max((at for at, number in enumerate(self._with_buffers) if number is not None), default=-1)
        for at, record in enumerate(self._made.records_of(self._numbers)):
            sides = record.request, record.response
            request, response = (None if side is None else replace(side, buffer=_MARK) for side in sides)
            pieces = dumps(replace(record, request=request, response=response)).split(_MARKED)
            held = [
                _NONE if side is None else side.buffer if isinstance(side.buffer, Pieces) else dumps(side.buffer)
                for side in sides
            ]
            # The page asks whether a buffer is there without reading it.
            has_buffer = [text not in _EMPTY for side, text in zip(sides, held, strict=True) if side is not None]
            says = [b'"has_buffer":true' if has else b'"has_buffer":false' for has in has_buffer]
            self._heads.append(b"".join(chain.from_iterable(zip_longest(pieces, says, fillvalue=b""))))
            if at > last:
                continue
            if self._with_buffers[at] is None:
                yield _NONE
                continue
            texts = [text if isinstance(text, bytes) else b"".join(text.made()) for text in held]
            yield b"[" + b",".join(map(exact_text, texts)) + b"]"


def record_blocks(analysis: Analysis, with_buffers: Sequence[int | None]) -> Iterator[RecordBlock]:
    """Yields for the HTML of the report page the records of calls in blocks. `with_buffers` has the number of each call whose
    buffers are in the page, None for another one, up to the last: the buffers of a long poll are longer than all else."""
    made = CallRecords(analysis, for_json=True)
    numbers = range(1, len(analysis.calls) + 1)
    for at in range(0, len(numbers), HEADS_IN_BLOCK):
        some = slice(at, at + HEADS_IN_BLOCK)
        yield RecordBlock(made, numbers[some], with_buffers[some])


def _as_list(texts: Iterable[bytes]) -> Iterator[bytes]:
    """Yields JSON texts as one list, in parts that are compressed as soon as they are there."""
    yield b"["
    held: list[bytes] = []
    size, before = 0, b""
    for text in texts:
        held.append(text)
        size += len(text)
        if size >= _COMPRESSED_AT_ONCE:
            yield before + b",".join(held)
            held, size, before = [], 0, b","
    if held:
        yield before + b",".join(held)
    yield b"]"


# Stands for a buffer in a record: no other field of that name is a text.
_MARK, _MARKED = Raw(b'"\\u0001"'), b'"buffer":"\\u0001"'
_NONE, _EMPTY = b"null", (b"null", b"{}")
# JavaScript's numbers hold all whole numbers of fewer digits. In a text where each digit is 0 and all else a space, longer ones are
# found much quicker than by a regular expression.
_DIGITS_ALONE, _LONG_NUMBER = bytes([48 if chr(byte) in "0123456789" else 32 for byte in range(256)]), b"0" * 16


def exact_text(text: bytes) -> bytes:
    """Rewrites the long integers of JSON text for the report page, so that JavaScript reads it without loss."""
    if len(text) < len(_LONG_NUMBER):
        return text
    if text[:1] not in b'[{"':
        return exact_text(b"[%b]" % text)[1:-1]
    plain = text
    if b"\\" in text:
        # Then each quotation mark begins or ends a text. There are no such bytes in JSON, and every byte keeps its place.
        plain = text.replace(b"\\\\", b"\x02\x02").replace(b'\\"', b"\x02\x03")
    out: list[bytes] = []
    done, at, quotes = 0, 0, 0
    for start, stop in _long_numbers(plain):
        quotes += plain.count(b'"', at, start)
        at = start
        number = plain[start:stop]
        if quotes % 2 == 0 and not -SAFE_INTEGER <= int(number) <= SAFE_INTEGER:
            out += text[done:start], b'{"$int":"%b"}' % number
            done = stop
    return b"".join((*out, text[done:])) if out else text


def _long_numbers(text: bytes) -> Iterator[tuple[int, int]]:
    """Yields where integers of many digits begin and end in the report page's JSON; they may be part of a text."""
    digits = text.translate(_DIGITS_ALONE)
    stop = 0
    while (at := digits.find(_LONG_NUMBER, stop)) >= 0:
        stop = digits.find(b" ", at)
        stop = len(digits) if stop < 0 else stop
        start = at - 1 if text[at - 1 : at] == b"-" else at
        before = start - 1 if text[start - 1 : start] == b" " else start
        if text[before - 1 : before] in (b":", b",", b"[") and text[stop : stop + 1] not in (b".", b"e", b"E"):
            yield start, stop


# So many become JSON at once.
_FINDINGS_AT_ONCE = 1024


def audit_block(report: Report) -> Iterator[bytes]:
    """Yields the audit's block of the report page as JSON in parts: its findings, its coverage, and the sentence if it found
    nothing.

    A finding is a position in `alike`, where alike findings share one entry, its call, and its frames.
    """
    numbers: dict[FindingView, int] = {}
    found = ((numbers.setdefault(view, len(numbers)), call, frames) for view, call, frames in report.findings())
    before = b'{"findings":['
    while some := list(islice(found, _FINDINGS_AT_ONCE)):
        yield before + dumps(some)[1:-1]
        before = b","
    if not numbers:
        yield before
    rest = {
        "alike": list(numbers),
        "coverage": report.coverage(),
        "nothing": None if numbers else report.no_finding_words(),
    }
    yield b"]," + dumps(rest)[1:]


def series_block(series: Iterable[SeriesView], left_out: int, base: int) -> Iterator[bytes]:
    """Yields the series block of the report page as JSON in parts, after the number of readings left out. Times count from the
    first frame."""
    before = b'{"left_out":%d,"series":[' % left_out
    # Series that were read in the same answers have the same numbers of calls and times, and as a rule follow each other.
    calls: tuple[int, ...] | None = None
    times: tuple[int, ...] | None = None
    shown_calls = shown_times = Raw()
    for one in series:
        if one.calls is not calls:
            calls, shown_calls = one.calls, Raw(dumps(one.calls))
        if one.times_ns is not times:
            times, shown_times = one.times_ns, Raw(dumps([time - base for time in one.times_ns]))
        yield before + dumps(replace(one, calls=shown_calls, times_ns=shown_times))
        before = b","
    yield b"]}" if before == b"," else before + b"]}"


def films_block(films: Films, base: int) -> dict[str, Any]:
    """Returns the films block of the report page, without the films' own blocks, which are numbered over all films. Calls, times
    and moments are differences; times begin at the first frame."""
    numbers = {id(film): number for number, film in enumerate(films.films)}
    machines = [
        {"ip": ip, "films": [numbers[id(film)] for film in some], "moments": _differences(moments(some), base)}
        for ip, some in films.machines().items()
    ]
    taken, shown = 0, []
    for film in films.films:
        shown.append(_film(film, taken, base))
        taken += len(film.blocks)
    return {"machines": machines, "films": shown, "says": films.says, "left_out": films.left_out}


def _film(film: Film, first_block: int, base: int) -> dict[str, Any]:
    panel = panel_of(film)
    return {
        "panel": panel.id,
        "title": panel.title,
        "name": film.names[0],
        "client": film.client,
        "handles": film.handles,
        "usual": usual_columns(film),
        "columns": film.columns,
        "rows": [[row.name, row.identity, [poll for span in row.spans for poll in span]] for row in film.rows],
        "calls": _differences(film.calls),
        "times": _differences(film.times_ns, base),
        "whole": film.whole,
        "blocks": [[block.first, block.polls] for block in film.blocks],
        "first_block": first_block,
    }


def _differences(numbers: Sequence[int], base: int = 0) -> list[int]:
    return [number - before for before, number in pairwise((base, *numbers))]


# ---------------------------------------------------------------------------------------------------------- report page


# A browser holds these with ease, as measured (docs/report.md). Calls beyond them stay in the list, without their layers.
MAX_DETAILS = 50_000
MAX_DETAIL_BYTES = 96 << 20
MAX_READINGS = 2_000_000
# For hours of polls, values matter most: films come first, and calls have less room.
MAX_FILM_BYTES = 14 << 20
MAX_DETAILS_OF_A_LONG_POLL = 1_000
MAX_DETAIL_BYTES_OF_A_LONG_POLL = 2 << 20


class LiveVersion(Struct, frozen=True):
    """The version of the report page of a growing capture, as the page states it, and whether it is the last."""

    version: int
    ended: bool


class ValuesLeftOut(Struct, frozen=True, omit_defaults=True):
    """The values that the report page leaves out: series of countersets that are too large, and later readings and polls of a long
    poll."""

    series: list[SeriesLeftOut] = field(default_factory=list)
    readings: int = 0
    polls: int = 0


class ValueBlocks(Struct, frozen=True):
    """The blocks of counter values on the report page, by name, and what they leave out. `processes` has what the values state of
    processes, None if none may state who created them or not all values were read."""

    texts: dict[str, bytes]
    left_out: ValuesLeftOut
    processes: ProcessValues | None

    @property
    def is_long(self) -> bool:
        """Returns whether the report page leaves out readings because of a long poll."""
        return self.left_out.readings > 0

    @property
    def most_details(self) -> int:
        """Returns how many calls the report page has layer by layer at most."""
        return MAX_DETAILS_OF_A_LONG_POLL if self.is_long else MAX_DETAILS

    @property
    def most_detail_bytes(self) -> int:
        """Returns how many bytes the layers of calls may take in the HTML of the report page."""
        return MAX_DETAIL_BYTES_OF_A_LONG_POLL if self.is_long else MAX_DETAIL_BYTES


def write_page(
    report: Report, values: ValueBlocks, destination: Destination, evidence: EvidenceRecord | None = None
) -> None:
    """Writes the page of a report, with its `value_blocks` and its evidence."""
    with destination.sparing(report.inputs()).opened() as out:
        for part in page_parts(report, values, evidence):
            out.write(part)


def value_blocks(analysis: Analysis) -> ValueBlocks:
    """Makes the blocks of series and films on the report page. They are made first, although they come last in the page, so that
    their memory is free again for the rest."""
    base = analysis.capture.first_time_ns or 0
    maker = FilmMaker(MAX_FILM_BYTES)
    processes = ProcessValues() if may_state_parents(analysis) else None
    takers = [one.take_readings for one in (maker, processes) if one is not None]
    limit = SeriesLimit()
    series, left_out = series_views(analysis, MAX_READINGS, *takers, limit=limit)
    texts = {"series": packed(series_block(series, left_out, base))}
    films = maker.films()
    texts["films"] = packed([dumps(exact(films_block(films, base)))])
    blocks = [block for film in films.films for block in film.blocks]
    texts |= {f"film-{number}": b64encode(block.data) for number, block in enumerate(blocks)}
    without = ValuesLeftOut(limit.left_out(), left_out, films.left_out)
    return ValueBlocks(texts, without, None if without.series else processes)


def page_parts(
    report: Report, values: ValueBlocks, evidence: EvidenceRecord | None = None, live: LiveVersion | None = None
) -> Iterator[bytes]:
    """Yields the parts of the report page in the order of the file, first what the page shows first. `values` are its
    `value_blocks`. With `live`, the page asks its server for newer versions."""
    analysis = report.analysis
    script, style = asset("report.js"), asset("report.css")
    policy = (
        f"default-src 'none'; script-src '{hash_of(script)}'; style-src '{hash_of(style)}'; base-uri 'none'; form-action 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    )
    if live is not None:
        policy += "; connect-src 'self'"
    base = analysis.capture.first_time_ns or 0
    head = {
        "title": report.title,
        "tool": report.tool,
        "show": next_command(analysis, "show", "--call"),
        "overview": exact(report.overview),
        "base": str(base),
        "heads": HEADS_IN_BLOCK,
        "details": DETAILS_IN_BLOCK,
        "profile": report.profile,
        "evidence": evidence,
        "live": live,
    }
    title = escape(report.title)
    yield from opening(title, policy, style)
    yield f'</head>\n<body>\n<div id="app"><main class="starting"><h1>{title}</h1></main></div>\n'.encode()
    yield b"<noscript><p>This page shows its data with a script that is part of it. Allow scripts to see it.</p></noscript>\n"
    yield data_head(head)
    yield from _block("rows", rows_block(analysis))
    yield from _script("audit", packed(audit_block(report)))
    yield from _block("fields", vocabulary())
    yield b"<script>" + script + b"</script>\n"
    # Blocks after the script do not delay the call list; the page waits for one when it needs it.
    yield from _calls(report, values)
    for name, text in values.texts.items():
        yield from _script(name, text)
    yield b"</body>\n</html>\n"


def opening(title: str, policy: str, style: bytes) -> Iterator[bytes]:
    """Yields the beginning of the report page, or of another HTML page, up to its style. `policy` is its Content-Security-Policy;
    the title is already HTML."""
    yield f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>""".encode()
    yield style
    yield b"</style>\n"


def data_head(head: Mapping[str, Any]) -> bytes:
    """Returns the script element with the report page's data about itself; `verify` looks for its evidence here."""
    return b'<script type="application/json" id="head">' + _harmless(dumps(head)) + b"</script>\n"


def _calls(report: Report, values: ValueBlocks) -> Iterator[bytes]:
    """Yields for the HTML of the report page the layers and records of calls, as many as a browser holds; last, how many calls
    have layers, and what was left out of the series."""
    analysis = report.analysis
    numbers = calls_with_layers(analysis, values.most_details)
    held = 0
    shown = 0
    shared: Shared | None = None
    for number, block in enumerate(detail_blocks(analysis, numbers)):
        if shared is not None and block.shared is not shared:
            text = packed(shared.content)
            held += len(text)
            yield from _script(f"shared-{shared.number}", text)
        shared = block.shared
        text = packed(block.content)
        held += len(text)
        if held > values.most_detail_bytes:
            break
        shown += len(block.calls)
        yield from _script(f"details-{number}", text)
    if shared is not None:
        yield from _script(f"shared-{shared.number}", packed(shared.content))
    for number, records in enumerate(record_blocks(analysis, numbers[:shown])):
        buffers = packed(_as_list(records.buffers()))
        yield from _script(f"heads-{number}", packed([records.heads]))
        if records.has_buffers:
            yield from _script(f"buffers-{number}", buffers)
    tail: dict[str, Any] = {"details": sum(number is not None for number in numbers[:shown])}
    yield from _block("tail", tail | ({"left_out": values.left_out} if values.left_out != ValuesLeftOut() else {}))


def _block(name: str, value: Any) -> Iterator[bytes]:
    yield from _script(name, packed([dumps(value)]))


def _script(name: str, text: bytes) -> Iterator[bytes]:
    """Yields the script element with a block of the report page in parts: a long block is not copied."""
    yield b'<script type="text/plain" id="' + name.encode() + b'">'
    yield text
    yield b"</script>\n"


def _harmless(text: bytes) -> bytes:
    """Returns JSON for the report page in which no `</script>` and no comment can begin."""
    return text.replace(b"<", b"\\u003c").replace(b">", b"\\u003e").replace(b"&", b"\\u0026")


def hash_of(text: bytes) -> str:
    """Returns the digest by which the Content-Security-Policy of the report page, or of another, allows a script or a style."""
    return f"sha256-{b64encode(sha256(text).digest()).decode()}"


def asset(name: str) -> bytes:
    """Reads a built file (script, style) of the report page or of another HTML page."""
    return (Path(__file__).with_name("page_assets") / name).read_bytes()
