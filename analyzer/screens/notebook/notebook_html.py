"""Makes the HTML that a notebook shows for a capture, a call and findings. It is static, and nothing captured becomes markup."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from analyzer.core.printable_text import counted, printable, shortened
from analyzer.core.times import iso_time
from analyzer.interfaces.call_contents.call_records import shown_problems
from analyzer.questions.observations.triage_records import triage
from analyzer.results.analysis import Analysis, CaptureFacts
from analyzer.results.records.display_records import LayerBytes, Node
from analyzer.screens.viewmodel.call_layers import call_view
from analyzer.screens.viewmodel.overview import account_lines
from analyzer.screens.viewmodel.placed_findings import no_finding_words
from analyzer.screens.views.show import placed_words

# The rest of larger layers and longer trees is only counted.
_MOST_BYTES, _MOST_FIELDS, _MOST_LINES = 1024, 200, 12


def text_of(value: object) -> str:
    """Returns a value as HTML text for a notebook: no markup, and no control characters."""
    return escape(printable(str(value)))


def escape_frames() -> None:
    """Makes a running IPython show tables of polars without control characters: they hold names from captures."""
    if "IPython" not in sys.modules:
        return
    import polars as pl
    from IPython.core.getipython import get_ipython

    shell = get_ipython()
    if shell is None or shell.display_formatter is None:
        return
    formatters = shell.display_formatter.formatters
    for kind in (pl.DataFrame, pl.LazyFrame, pl.Series):
        formatters["text/plain"].for_type(kind, lambda frame, printer, _: printer.text(_lines(repr(frame))))
        formatters["text/html"].for_type(kind, lambda frame: _lines(frame._repr_html_()))


def _lines(text: str) -> str:
    return "\n".join(map(printable, text.split("\n")))


def table_of(titles: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    head = "".join(f"<th style='text-align:left'>{text_of(title)}</th>" for title in titles)
    body = "".join(
        "<tr>"
        + "".join(f"<td style='text-align:left;vertical-align:top'>{text_of(cell)}</td>" for cell in row)
        + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def capture_html(analysis: Analysis) -> str:
    """Returns the HTML of a capture for a notebook: who, when, decrypted or not, and what a responder would look at first."""
    facts = analysis.capture
    found = triage(analysis, ", ".join(facts.files), None)
    span = ""
    if facts.first_time_ns is not None and facts.last_time_ns is not None:
        seconds = (facts.last_time_ns - facts.first_time_ns) / 1e9
        span = f", {iso_time(facts.first_time_ns)} and {seconds:,.3f} s on"
    shown = f" shown of {len(analysis.calls):,}" if analysis.part is not None else ""
    read = f"{facts.frames:,} frames{text_of(span)}; {len(analysis.shown):,} calls{shown}"
    problems = sum(1 for _ in shown_problems(analysis))
    parts = [f"<p><b>{text_of(', '.join(facts.files))}</b>: {read}, {counted(problems, 'problem')}</p>"]
    if analysis.part is not None:
        parts.append(f"<p>{text_of(analysis.part.words)}</p>")
    sessions = [
        (
            one.number,
            f"{one.client} → {one.server}",
            one.identity.who if one.identity.account is not None else "-",
            one.dialect or "-",
            one.decryption.value,
        )
        for one in analysis.shown_sessions[:_MOST_LINES]
    ]
    if sessions:
        parts.append(table_of(("session", "ends", "account", "dialect", "decryption"), sessions))
        parts.append(_rest(len(analysis.shown_sessions) - _MOST_LINES, "sessions"))
    lines = account_lines(found.findings)
    if lines:
        rows = [(line.severity, line.machine, line.words) for line in lines[:_MOST_LINES]]
        parts.append(table_of(("", "machine", "what happened"), rows))
        parts.append(_rest(len(lines) - _MOST_LINES, "lines"))
    return "".join(parts)


def _rest(hidden: int, noun: str) -> str:
    return f"<p>... {hidden:,} more {noun}</p>" if hidden > 0 else ""


def call_html(analysis: Analysis, number: int) -> str:
    """Returns the HTML of a call for a notebook: its layers, each with its fields beside its bytes."""
    view = call_view(analysis, number)
    parts = [
        f"<p><b>call {number}</b>: {text_of(view.row.method)} {text_of(view.row.asked)} → {text_of(view.row.status)}</p>"
    ]
    for side in view.sides:
        if side.missing is not None:
            parts.append(f"<p>stub of the {side.name}: {text_of(side.missing)}</p>")
        parts += [_layer_html(layer, analysis.capture) for layer in side.layers]
    return "".join(parts)


def _layer_html(layer: LayerBytes, facts: CaptureFacts) -> str:
    size = counted(len(layer.data), "byte")
    stated = ", ".join(filter(None, (size, placed_words(layer.frames, facts), *(layer.undone_by or layer.steps))))
    head = f"<summary>{layer.id.partition('.')[0]} {text_of(f'{layer.title}: {stated}')}</summary>"
    opened = " open" if layer.kind in ("stub", "buffer") else ""
    tree = more = ""
    if layer.tree is not None:
        tree, _ = _node_html(layer.tree, _MOST_FIELDS)
        hidden = _count(layer.tree) - _MOST_FIELDS
        more = f"<div>... {hidden:,} more fields</div>" if hidden > 0 else ""
    return (
        f"<details data-layer='{layer.id}'{opened}>{head}<div style='display:flex;gap:2em'><div>{tree}{more}</div>"
        f"<pre style='line-height:1.2;white-space:pre'>{_dump(layer.data)}</pre></div></details>"
    )


def _node_html(node: Node, left: int) -> tuple[str, int]:
    if left <= 0:
        return "", left
    left -= 1
    value = "" if node.value is None else f" = {text_of(shortened(str(node.value)))}"
    meaning = f" ({text_of(node.meaning)})" if node.meaning is not None else ""
    inner = ""
    for child in node.children:
        html, left = _node_html(child, left)
        inner += html
    place = f"<small>{node.start:#06x}+{node.length}</small>"
    below = f"<ul style='margin:0'>{inner}</ul>" if inner else ""
    return f"<li style='list-style:none'>{place} {text_of(node.name)}{value}{meaning}{below}</li>", left


def _count(node: Node) -> int:
    return 1 + sum(_count(child) for child in node.children)


def _dump(data: bytes) -> str:
    lines = []
    for start in range(0, min(len(data), _MOST_BYTES), 16):
        row = data[start : start + 16]
        text = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
        lines.append(f"{start:06x}  {row.hex(' '):<47}  {escape(text)}")
    if len(data) > _MOST_BYTES:
        lines.append(f"... {len(data) - _MOST_BYTES:,} more bytes")
    return "\n".join(lines)


def findings_html(findings: Any, coverage: Any) -> str:
    """Returns the HTML of an audit's findings for a notebook, the first of many."""
    rows = findings.head(_MOST_LINES * 2).select("rule", "verdict", "call", "message").rows()
    more = f"<p>... {findings.height - len(rows):,} more findings</p>" if findings.height > len(rows) else ""
    if not rows:
        return f"<p>{text_of(no_finding_words(dict(coverage['verdict'].value_counts().rows())))}</p>"
    return table_of(("rule", "verdict", "call", "what was seen"), rows) + more
