"""HTML of layers, captures and findings, at and beyond the limits of what is shown of them."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from msgspec.structs import replace

from analyzer.results.records.display_records import LayerBytes, Node, Run
from analyzer.results.records.record_types import Endpoint
from analyzer.screens.notebook.notebook_html import (
    _MOST_BYTES,
    _MOST_FIELDS,
    _MOST_LINES,
    _dump,
    _layer_html,
    capture_html,
    findings_html,
    table_of,
    text_of,
)
from tests.build.calls import analysis_of, smb_session
from tests.screens.views.test_whole_views import broken, sessions
from tests.written import is_as_written


def field(number: int, value: Any = None, *children: Node, meaning: str | None = None) -> Node:
    return Node(f"f{number}", "F", "u4", number, 4, value, meaning, "", children)


def layer(tree: Node | None = None, data: bytes = b"", **more: Any) -> LayerBytes:
    given: dict[str, Any] = {"id": "request.stub", "kind": "stub", "title": "a <stub>", "runs": (), "steps": ()}
    return LayerBytes(**{**given, "data": data, "tree": tree, **more})


def html_of(shown: LayerBytes) -> str:
    return _layer_html(shown, analysis_of(files=("a.pcap",)).capture)


def test_limits_are_what_a_screen_or_two_hold() -> None:
    """64 lines of 16 bytes, 200 fields, twelve rows of a table."""
    assert (_MOST_BYTES, _MOST_FIELDS, _MOST_LINES) == (1024, 200, 12)


def capture_at(first: int | None, last: int | None) -> str:
    whole = analysis_of()
    facts = replace(whole.capture, first_time_ns=first, last_time_ns=last, frames=12_345, files=("<x>", "y"))
    return capture_html(replace(whole, capture=facts))


@pytest.mark.parametrize("count", [199, 200, 201, 1300])
def test_of_a_long_tree_the_first_fields_are_shown_and_the_others_counted(count: int) -> None:
    """Fields in fields, three deep: the structure itself is one."""
    inner = tuple(field(at, at) for at in range(2, 50))
    tree = field(0, None, field(1, None, *inner), *(field(at, at) for at in range(50, count)))
    html = html_of(layer(tree))
    assert re.findall(r"</small> f(\d+)", html) == [str(at) for at in range(min(count, 200))]
    assert re.findall(r"<div>\.\.\. ([\d,]+) more fields</div>", html) == ([f"{count - 200:,}"] if count > 200 else [])


@pytest.mark.parametrize("size", [1008, 1024, 1025, 9024])
def test_of_many_bytes_the_first_are_shown_and_the_others_counted(size: int) -> None:
    lines = [f"{at:06x}" for at in range(0, min(size, 1024), 16)]
    found = _dump(bytes(size)).splitlines()
    assert [line[:6] for line in found[: len(lines)]] == lines
    assert found[len(lines) :] == ([f"... {size - 1024:,} more bytes"] if size > 1024 else [])


TREE = field(0, None, field(4, "<b>", meaning="&"), field(70000, 0))
TWO = layer(data=b"xy", runs=(Run(0, 1, 2, 0, 0, 1), Run(1, 2, 3, 1, 0, 1)))


def cases() -> dict[str, str]:
    return {
        "fields beside bytes": html_of(layer(TREE, b"A<\0", steps=("joined",), runs=(Run(0, 3, 7, 0, 0, 3),))),
        **{f"{kind}, open or not": html_of(layer(kind=kind)) for kind in ("frame", "pdu", "sealed", "stub", "buffer")},
        **{
            f"what was undone: {steps}, by {undone_by}": html_of(layer(steps=steps, undone_by=undone_by))
            for steps, undone_by in (((), ()), (("a", "<b>"), ()), (("a",), ("c",)), ((), ("c", "d")))
        },
        **{
            f"{frames} frames": html_of(
                layer(data=b"x", runs=tuple(Run(at, at + 1, 20 + at, 0, 0, 1) for at in range(frames)))
            )
            for frames in (0, 1, 8, 9)
        },
        "frames of several files": _layer_html(TWO, analysis_of(files=("a.pcap", "<b>.pcap")).capture),
        "a layout that nothing states": html_of(layer(None, b"x")),
        "a line of bytes": _dump(bytes(range(16))),
        "what prints": _dump(b"\x1f ~\x7f\x80" + b"&" * 12),  # 32 to 126 are the characters of ASCII that print
        "no bytes": _dump(b""),
        "text": text_of("<a href='x'>\x1b&"),
        "a table": table_of(("<t>", "u"), [(1, "<"), (None, "")]),
        **{
            f"a capture from {first} to {last}": capture_at(first, last)
            for first, last in ((None, None), (1, None), (None, 1), (0, 0), (10**9, 2_235_567_000_000))
        },
    }


def lines_of(name: str, html: str) -> str:
    """Each element on a line of its own."""
    lines = re.sub(r"(?<=>)(?=<(?!/))", "\n", html).splitlines() or [""]
    return "\n  ".join([name, *lines]) + "\n"


def test_all_that_is_shown_is_in_one_text() -> None:
    """`PCQ_WRITE_PAGES=1 pytest -n 0 THIS_FILE` writes it."""
    is_as_written(Path(__file__).parent / "shown" / "html.txt", "".join(lines_of(*case) for case in cases().items()))


@pytest.mark.parametrize(("logons", "more"), [(12, []), (14, ["2 more lines"])])
def test_of_what_was_found_the_first_twelve_lines_are_shown_and_the_others_counted(
    logons: int, more: list[str]
) -> None:
    servers = [Endpoint(f"10.0.1.{number}", 445) for number in range(logons)]
    found = [replace(smb_session(number, 0xC000006D), server=server) for number, server in enumerate(servers)]
    html = behind_sessions(capture_html(analysis_of(*found)))
    assert html.count("logons refused: user") == 12
    assert re.findall(r"<p>\.\.\. ([^<]+)</p>", html) == more


def behind_sessions(html: str) -> str:
    """What stands behind the table of sessions."""
    return html[html.index("what happened") :]


def test_of_many_sessions_and_findings_the_first_twelve_are_shown() -> None:
    whole = broken()
    many = tuple(replace(sessions()[0], number=at) for at in range(100, 113))
    html = capture_html(replace(whole, sessions=many))
    assert re.findall(r"top'>(1\d\d)</td>", html) == [str(at) for at in range(100, 112)]
    assert re.findall(r"</table><p>\.\.\. ([^<]+)</p>", html) == ["1 more sessions"]
    assert "more sessions" not in capture_html(replace(whole, sessions=many[:12]))
    table = pl.DataFrame({"rule": ["R"] * 25, "verdict": "fail", "call": range(25), "message": "m", "other": 1})
    for rows, shown, more in ((0, 0, []), (24, 24, []), (25, 24, ["1"])):
        found = findings_html(table.head(rows), pl.DataFrame({"verdict": ["pass"]}))
        assert re.findall(r"top'>(\d+)</td>", found) == [str(at) for at in range(shown)]
        assert re.findall(r"<p>\.\.\. (\d+) more findings</p>", found) == more
    verdicts = pl.DataFrame({"verdict": ["pass", "warn", "inconclusive"]})
    assert findings_html(table.clear(), verdicts) == (
        "<p>nothing was found in the 2 requirements that could be judged; 1 could not be judged</p>"
    )
    none = pl.DataFrame({"verdict": ["inconclusive", "inconclusive", "not-exercised"]})
    assert findings_html(table.clear(), none) == (
        "<p>no requirement could be judged: what they bind could not be read</p>"
    )


HOSTILE = "\x1b[31m<b>\u202e\x07"
IN_IPYTHON = f"""
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
import polars as pl
from analyzer.core.errors import InputError
from analyzer.screens.notebook import Capture, Findings
from tests.build.calls import Calls, analysis_of
hostile = {HOSTILE!r}
table = pl.DataFrame({{hostile: [hostile], "b": [[hostile]]}})
frames = [table, table.filter(pl.lit(True)), table.lazy(), table[hostile], {{"a": table}}, Findings(a=table)]
texts = []
for one in [Capture(analysis_of(Calls().open_query(), files=(hostile,))), *frames]:
    for kind in ("text/plain",) if isinstance(one, dict) else ("text/plain", "text/html"):
        texts.append(shell.display_formatter.format(one, include=[kind])[0].get(kind, ""))
error = InputError(hostile, hint=hostile)
texts += [str(error), *error.__notes__]
for text in texts:
    assert not any(mark in text for mark in "\\x1b\\u202e\\x07"), ascii(text)
print(sum("\\\\x1b[31m" in text for text in texts), len(texts))
"""


@pytest.mark.needs("IPython")
def test_what_ipython_shows_is_escaped() -> None:
    """Tables, what is made of them, errors and the capture itself."""
    done = subprocess.run([sys.executable, "-c", IN_IPYTHON], capture_output=True, text=True, check=False, timeout=120)
    assert (done.stdout, done.stderr) == ("13 14\n", "")
