"""What the terminal browser draws, cell by cell with its styles, as it was looked at and found right.

`PCQ_SNAPSHOTS=write pytest tests/screens/browse/test_snapshots.py` writes the files in `snapshots/` anew: look at what changed
before it is committed. They are of the version of Textual in constraints.txt.
"""

import os
import re
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from analyzer.results.analysis import Analysis
from tests.build.buffers import Block, perf_data
from tests.build.calls import HANDLE, Calls, analysis_of, sealed
from tests.page import THREE, analysis_named
from tests.screens.browse.test_browser import browsed, settled

if find_spec("textual") is not None:
    from textual.pilot import Pilot

    from analyzer.screens.browse.app import Browser

pytestmark = pytest.mark.needs("textual")
# Of the 16 colours of every terminal, with what a terminal does without colours.
_STYLE = re.compile(
    r"(?:(?:not )?(?:bold|dim|reverse|underline|italic)|none|default|black|red|green|yellow|blue|magenta|cyan|white"
    r"|bright_\w+|color\((?:[0-9]|1[0-5])\)|on)(?: |$)"
)


def drawn(app: Browser) -> str:
    """The screen line by line; `{style}` stands before what is in another style than plain text."""
    lines = []
    for strip in app.screen._compositor.render_strips():
        line, before = "", ""
        for text, style, _ in strip:
            words = str(style).replace("None", "none").removesuffix(" on default") if style is not None else "none"
            words = "none" if words in ("", "default", "on default") else words
            assert _STYLE.sub("", words) == "", f"{words} is no style of 16 colours"
            line += text if words == before or (not text.strip() and "reverse" not in words) else f"{{{words}}}{text}"
            before = words if text.strip() or "reverse" in words else before
        lines.append(line.replace("{none}", "{}").rstrip())
    return "\n".join(lines) + "\n"


def mixed() -> Analysis:
    """One call of each outcome."""
    make = Calls()
    blocks = [Block(1, values=((b"\1\0\0\0",),))]
    calls = [make.open_query(), make.counter_data(perf_data(blocks)), make.counter_data(perf_data(blocks))]
    failed = make.faulted(6, make.stub().handle(HANDLE).uint(4096), 0x1C00001A)
    return analysis_of(*calls, failed, sealed(make.close_query()))


@pytest.mark.parametrize(
    ("name", "analysis", "size", "keys"),
    [
        (
            "calls",
            lambda: analysis_named(THREE[1]),
            (140, 40),
            ["down", "down", "enter", "l", "l", "enter", "down", "down"],
        ),
        ("narrow", mixed, (80, 24), ["end"]),
        ("help", mixed, (80, 24), ["question_mark"]),
        ("outcomes", mixed, (140, 24), ["down", "enter", "end"]),
        ("series", lambda: analysis_named(THREE[0]), (100, 16), ["2"]),
        ("findings", lambda: analysis_named(THREE[0]), (120, 16), ["3", "down"]),
        ("filter", lambda: analysis_named(THREE[1]), (120, 16), ["slash", *"method contains Close", "enter"]),
    ],
)
def test_the_screen_is_as_it_was_looked_at(
    name: str, analysis: Callable[[], Analysis], size: tuple[int, int], keys: list[str]
) -> None:
    async def act(app: Browser, pilot: Pilot[None]) -> None:
        for key in keys:
            await pilot.press(key)
            await settled(app, pilot)
        path, found = Path(__file__).parent / "snapshots" / f"{name}.txt", drawn(app)
        if os.environ.get("PCQ_SNAPSHOTS") == "write":
            path.parent.mkdir(exist_ok=True)
            path.write_text(found, encoding="utf-8")
        assert found == path.read_text(encoding="utf-8"), f"{path} shows what it was; see the top of this file"

    browsed(analysis(), act, size)
