"""The terminal browser, driven by Textual's pilot; and that it shows what `show` does."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from analyzer.core.errors import InputError
from analyzer.filters.filter import CallFilter
from analyzer.model.analysis import Analysis
from analyzer.model.tree import FieldNode
from analyzer.viewmodel.layers import call_view
from analyzer.views.show import Show
from tests.build.calls import Calls, analysis_of
from tests.page import THREE, analysis_named

if TYPE_CHECKING:
    from textual.pilot import Pilot

    from analyzer.browse.app import Browser
    from analyzer.browse.lines import Lines

pytestmark = pytest.mark.needs("textual")


def browsed(
    analysis: Analysis, act: Callable[[Browser, Pilot[None]], Awaitable[None]], size: tuple[int, int] = (150, 44)
) -> None:
    """Opens a browser of an analysis, waits until all is there, and acts."""
    from analyzer.browse.app import Browser

    def reading(progress: Callable[[int, int], None]) -> Analysis:
        progress(1, 100)
        return analysis

    async def run() -> None:
        app = Browser(reading, "made.pcap", 200)
        async with app.run_test(size=size) as pilot:
            await settled(app, pilot)
            await act(app, pilot)

    asyncio.run(run())


async def settled(app: Browser, pilot: Pilot[None]) -> None:
    """Nothing is under way any more."""
    for _ in range(3):
        await app.workers.wait_for_complete()
        await pilot.pause()


def text(pane: Lines) -> str:
    """The lines of a pane that are drawn."""
    return "\n".join(pane.render_line(y).text.rstrip() for y in range(pane.size.height))


def words(app: Browser, selector: str) -> str:
    from textual.widgets import Static

    return str(app.query_one(selector, Static).render())


def test_a_call_is_chosen_and_its_field_lights_its_bytes() -> None:
    from analyzer.browse.panes import Bytes, CallList, Tree

    async def act(app: Browser, pilot: Pilot[None]) -> None:
        await pilot.press("down", "down", "down", "down", "enter")
        await settled(app, pilot)
        calls, tree = app.query_one(CallList), app.query_one(Tree)
        assert (calls.number, app.focused) == (5, tree)
        assert "5     0.075330" in text(calls)
        at = next(at for at, one in enumerate(tree.shown) if "RequestCode = 1" in one.text.plain)
        await pilot.press(*["down"] * at)
        await settled(app, pilot)
        assert "RequestCode = 1" in text(tree)
        assert words(app, "#layer") == "request.stub: bytes 52 to 56 of 64, frames 73"
        assert app.query_one(Bytes).span == (52, 56)
        assert "000030  " in text(app.query_one(Bytes))
        before = len(tree.shown)
        await pilot.press("home", "enter", "l", "enter")
        await settled(app, pilot)
        assert len(tree.shown) > before

    browsed(analysis_named(THREE[0]), act)


def test_a_filter_is_that_of_the_command_and_completes_fields() -> None:
    from textual.widgets import Input

    from analyzer.browse.app import FieldSuggester
    from analyzer.browse.panes import CallList

    analysis = analysis_named(THREE[0])
    wanted = CallFilter("opnum == 6 and status == 0")
    passing = [call.number for call in analysis.calls if wanted(call.number, call, analysis)]

    async def act(app: Browser, pilot: Pilot[None]) -> None:
        assert await FieldSuggester().get_suggestion("opnum == 6 and lat") == "opnum == 6 and latency"
        await pilot.press("slash")
        app.query_one("#filter", Input).value = str(wanted)
        await pilot.press("enter")
        await settled(app, pilot)
        assert list(app.query_one(CallList).order) == passing
        assert words(app, "#status") == f"{len(passing)} of 210 calls"
        await pilot.press("h")
        await settled(app, pilot)
        assert app.query_one("#filter", Input).value == "handle == q1"
        app.run_filter("opnum = 6")
        assert "a single = is no operator" in words(app, "#status")
        await pilot.press("escape")
        await settled(app, pilot)
        assert words(app, "#status") == "210 of 210 calls"

    browsed(analysis, act)


def test_a_finding_leads_to_its_bytes_and_series_have_their_course() -> None:
    from analyzer.browse.panes import CallList, FindingList, SeriesList

    async def act(app: Browser, pilot: Pilot[None]) -> None:
        await pilot.press("2")
        await settled(app, pilot)
        assert "Memory V2 model\\Available Bytes" in text(app.query_one(SeriesList))
        assert "▁" in text(app.query_one(SeriesList))
        await pilot.press("3")
        await settled(app, pilot)
        assert "PCQ210 #139" in text(app.query_one(FindingList))
        await pilot.press("enter")
        await settled(app, pilot)
        assert app.query_one(CallList).number == 139
        assert words(app, "#layer").startswith("request.stub: bytes 52 to 56 of 64")

    browsed(analysis_named(THREE[0]), act)


def test_it_fits_a_small_terminal_and_takes_the_mouse() -> None:
    from analyzer.browse.panes import CallList, Tree

    async def act(app: Browser, pilot: Pilot[None]) -> None:
        await pilot.click("#calls", offset=(5, 1))
        await settled(app, pilot)
        assert app.query_one(CallList).number == 2
        assert app.query_one(Tree).size.width > 70

    browsed(analysis_of(Calls().open_query(), Calls().close_query()), act, (80, 24))


def test_a_capture_that_cannot_be_read_ends_it_with_the_reason() -> None:
    from analyzer.browse.app import Browser

    def reading(progress: Callable[[int, int], None]) -> Analysis:
        raise InputError("this is no capture")

    async def run() -> None:
        app = Browser(reading, "x")
        async with app.run_test() as pilot:
            while app.failure is None:
                await pilot.pause()
        assert str(app.failure) == "this is no capture"

    asyncio.run(run())


def shown_fields(node: FieldNode) -> Iterator[tuple[Any, ...]]:
    yield node.name, node.spelling, node.offset, node.length, node.value, node.meaning
    for child in node.children or ():
        yield from shown_fields(child)


@pytest.mark.parametrize("file", THREE)
def test_each_call_has_the_fields_values_and_ranges_of_show(file: str) -> None:
    from analyzer.browse.panes import Tree

    analysis = analysis_named(file)
    for number in range(1, len(analysis.calls) + 1):
        tree = Tree(id="tree")
        tree.view = call_view(analysis, number)
        tree.is_all_open = True
        lines = [one for one in tree.lines() if one.node is not None and one.layer is not None]
        (record,) = Show(analysis, number).records()
        for side, layers in record.layers.items():
            for part in ("stub", "buffer"):
                root = getattr(layers, part)
                shown = list(shown_fields(root))[1:] if root is not None else []
                found = [
                    (
                        one.node.name,
                        one.node.spelling,
                        one.node.start,
                        one.node.length,
                        one.node.value,
                        one.node.meaning,
                    )
                    for one in lines
                    if one.layer is not None and one.node is not None and one.layer.id == f"{side}.{part}"
                ]
                assert found == shown, f"call {number}, {side} {part}"
