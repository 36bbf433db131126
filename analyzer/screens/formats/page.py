"""The page that `report` writes: one HTML file with its script, its style and all of its data (docs/report.md).

It loads nothing: its Content-Security-Policy allows the script and the style that are in it, by their SHA-256, and nothing else, so
that text from a capture cannot become code whatever it says. The script is built from `web/` and lies in `page_assets/`.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import Any

from analyzer.core.output.gate import Destination
from analyzer.core.output.json import dumps
from analyzer.questions.filters.names import vocabulary
from analyzer.results.analysis import Analysis
from analyzer.results.evidence import EvidenceRecord
from analyzer.results.next_command import next_command
from analyzer.screens.formats.page_data import (
    DETAILS_IN_BLOCK,
    HEADS_IN_BLOCK,
    Shared,
    audit_block,
    detail_blocks,
    exact,
    packed,
    record_blocks,
    rows_block,
    series_block,
)
from analyzer.screens.viewmodel.series import series_views
from analyzer.screens.views.report import Report

# What a browser was measured to hold with ease (docs/report.md). Calls beyond these stay in the list, without their layers.
MAX_DETAILS = 50_000
MAX_DETAIL_BYTES = 96 << 20
MAX_READINGS = 2_000_000


def write_page(report: Report, series: bytes, destination: Destination, evidence: EvidenceRecord | None = None) -> None:
    """Writes the page of a report, with its `series_text`, and with what it was made from."""
    with destination.sparing(report.inputs()).opened() as out:
        for part in page_parts(report, series, evidence):
            out.write(part)


def series_text(analysis: Analysis) -> bytes:
    """The block of series. It comes last in the page, and is made first: what that takes is free again for the rest."""
    base = analysis.capture.first_time_ns or 0
    return packed(series_block(*series_views(analysis, MAX_READINGS), base))


def page_parts(report: Report, series: bytes, evidence: EvidenceRecord | None = None) -> Iterator[bytes]:
    """The page in parts, in the order of the file: what is shown first comes first. `series` is its `series_text`."""
    analysis = report.analysis
    script, style = asset("report.js"), asset("report.css")
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; base-uri 'none'; form-action 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    )
    title = escape(report.title)
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
    }
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
    yield (
        b'</style>\n</head>\n<body>\n<div id="app"><main class="starting"><h1>'
        + title.encode()
        + b"</h1></main></div>\n"
    )
    yield b"<noscript><p>This page shows its data with a script that is part of it. Allow scripts to see it.</p></noscript>\n"
    yield b'<script type="application/json" id="head">' + _harmless(dumps(head)) + b"</script>\n"
    yield from _block("rows", rows_block(analysis))
    yield _script("audit", packed(audit_block(report)))
    yield from _block("fields", vocabulary())
    yield b"<script>" + script + b"</script>\n"
    # What comes behind the script does not delay the call list; the page waits for it where it is asked for.
    yield from _calls(report)
    yield _script("series", series)
    yield b"</body>\n</html>\n"


def _calls(report: Report) -> Iterator[bytes]:
    """The records and layers of calls, up to what a browser holds; then what was left out."""
    analysis = report.analysis
    numbers = range(1, min(len(analysis.calls), MAX_DETAILS) + 1)
    held = 0
    shown = 0
    shared: Shared | None = None
    for number, block in enumerate(detail_blocks(analysis, numbers)):
        if shared is not None and block.shared is not shared:
            yield _script(f"shared-{shared.number}", packed(shared.content))
        shared = block.shared
        text = packed(block.content)
        held += len(text)
        if held > MAX_DETAIL_BYTES:
            break
        shown = min((number + 1) * DETAILS_IN_BLOCK, len(numbers))
        yield _script(f"details-{number}", text)
    if shared is not None:
        yield _script(f"shared-{shared.number}", packed(shared.content))
    for number, (heads, buffers) in enumerate(record_blocks(analysis)):
        yield _script(f"heads-{number}", packed(_listed(heads)))
        if number * HEADS_IN_BLOCK < shown:
            yield _script(f"buffers-{number}", packed(_listed(buffers)))
    yield from _block("tail", {"details": shown})


def _listed(texts: list[bytes]) -> tuple[bytes, bytes, bytes]:
    """A list of values that are JSON already."""
    return b"[", b",".join(texts), b"]"


def _block(name: str, value: Any) -> Iterator[bytes]:
    yield _script(name, packed([dumps(value)]))


def _script(name: str, text: bytes) -> bytes:
    return b'<script type="text/plain" id="' + name.encode() + b'">' + text + b"</script>\n"


def _harmless(text: bytes) -> bytes:
    """JSON in which no `</script>` and no comment can begin."""
    return text.replace(b"<", b"\\u003c").replace(b">", b"\\u003e").replace(b"&", b"\\u0026")


def _hash(text: bytes) -> str:
    return f"sha256-{b64encode(sha256(text).digest()).decode()}"


def asset(name: str) -> bytes:
    """A built file of the page."""
    return (files("analyzer.screens.formats") / "page_assets" / name).read_bytes()
