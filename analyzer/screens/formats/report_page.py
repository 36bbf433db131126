"""Writes the page of `report`: one HTML file with its script, its style and all of its data (docs/report.md).

It loads nothing: its Content-Security-Policy allows only its own script and style, by their SHA-256. So text from a capture cannot
become code, whatever it says. The script is built from `web/` and lies in `page_assets/`.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import Any

from msgspec import Struct

from analyzer.core.output.gate import Destination
from analyzer.core.output.json import dumps
from analyzer.questions.films.film_maker import FilmMaker
from analyzer.questions.filters.filter_vocabulary import vocabulary
from analyzer.results.analysis import Analysis
from analyzer.results.next_command import next_command
from analyzer.results.provenance import EvidenceRecord
from analyzer.screens.formats.report_page_data import (
    DETAILS_IN_BLOCK,
    HEADS_IN_BLOCK,
    Shared,
    audit_block,
    detail_blocks,
    exact,
    films_block,
    packed,
    record_blocks,
    rows_block,
    series_block,
)
from analyzer.screens.viewmodel.plotted_series import series_views
from analyzer.screens.views.report import Report

# A browser holds these with ease, as measured (docs/report.md). Calls beyond them stay in the list, without their layers.
MAX_DETAILS = 50_000
MAX_DETAIL_BYTES = 96 << 20
MAX_READINGS = 2_000_000
# For hours of polls, values matter most: films come first, and calls have less room.
MAX_FILM_BYTES = 14 << 20
MAX_DETAILS_OF_A_LONG_POLL = 1_000
MAX_DETAIL_BYTES_OF_A_LONG_POLL = 2 << 20


class LiveVersion(Struct, frozen=True):
    """The version of the report page of a growing capture, and whether it is the last."""

    version: int
    ended: bool


class ValueBlocks(Struct, frozen=True):
    """The blocks of counter values on the report page, by name, and whether a long poll made it cut series."""

    texts: dict[str, bytes]
    is_long: bool

    @property
    def most_details(self) -> int:
        """Returns how many calls the report page shows layer by layer at most."""
        return MAX_DETAILS_OF_A_LONG_POLL if self.is_long else MAX_DETAILS

    @property
    def most_detail_bytes(self) -> int:
        """Returns how many bytes the layers of calls may take in the report page."""
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
    series, left_out = series_views(analysis, MAX_READINGS, maker.take_readings)
    texts = {"series": packed(series_block(series, left_out, base))}
    films = maker.films()
    texts["films"] = packed([dumps(exact(films_block(films, base)))])
    blocks = [block for film in films.films for block in film.blocks]
    texts |= {f"film-{number}": b64encode(block.data) for number, block in enumerate(blocks)}
    return ValueBlocks(texts, is_long=left_out > 0)


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
    yield _script("audit", packed(audit_block(report)))
    yield from _block("fields", vocabulary())
    yield b"<script>" + script + b"</script>\n"
    # Blocks after the script do not delay the call list; the page waits for one when it needs it.
    yield from _calls(report, values.most_details, values.most_detail_bytes)
    for name, text in values.texts.items():
        yield _script(name, text)
    yield b"</body>\n</html>\n"


def opening(title: str, policy: str, style: bytes) -> Iterator[bytes]:
    """Yields the beginning of an HTML page up to its style. `policy` is its Content-Security-Policy; the title is already HTML."""
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


def _calls(report: Report, most_details: int, most_bytes: int) -> Iterator[bytes]:
    """Yields the layers and records of calls on the report page, as many as a browser holds; last, how many have layers."""
    analysis = report.analysis
    numbers = range(1, min(len(analysis.calls), most_details) + 1)
    held = 0
    shown = 0
    shared: Shared | None = None
    for number, block in enumerate(detail_blocks(analysis, numbers)):
        if shared is not None and block.shared is not shared:
            text = packed(shared.content)
            held += len(text)
            yield _script(f"shared-{shared.number}", text)
        shared = block.shared
        text = packed(block.content)
        held += len(text)
        if held > most_bytes:
            break
        shown = min((number + 1) * DETAILS_IN_BLOCK, len(numbers))
        yield _script(f"details-{number}", text)
    if shared is not None:
        yield _script(f"shared-{shared.number}", packed(shared.content))
    for number, (heads, buffers) in enumerate(record_blocks(analysis, shown)):
        yield _script(f"heads-{number}", packed(_listed(heads)))
        if buffers:
            yield _script(f"buffers-{number}", packed(_listed(buffers)))
    yield from _block("tail", {"details": shown})


def _listed(texts: list[bytes]) -> tuple[bytes, bytes, bytes]:
    """Returns a JSON list for the report page, from values that are JSON already."""
    return b"[", b",".join(texts), b"]"


def _block(name: str, value: Any) -> Iterator[bytes]:
    yield _script(name, packed([dumps(value)]))


def _script(name: str, text: bytes) -> bytes:
    return b'<script type="text/plain" id="' + name.encode() + b'">' + text + b"</script>\n"


def _harmless(text: bytes) -> bytes:
    """Returns JSON for the report page in which no `</script>` and no comment can begin."""
    return text.replace(b"<", b"\\u003c").replace(b">", b"\\u003e").replace(b"&", b"\\u0026")


def hash_of(text: bytes) -> str:
    """Returns the digest by which a page's Content-Security-Policy allows a script or a style."""
    return f"sha256-{b64encode(sha256(text).digest()).decode()}"


def asset(name: str) -> bytes:
    """Reads a built file (script, style) of an HTML page."""
    return (Path(__file__).with_name("page_assets") / name).read_bytes()
