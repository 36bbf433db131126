"""The terminal browser, driven by Textual's pilot."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from importlib.util import find_spec
from threading import Event

import pytest

from analyzer.core.errors import InputError
from analyzer.questions.filters.call_selection import Selection
from analyzer.questions.filters.filter import CallFilter
from analyzer.questions.series.series_limit import SeriesLimit
from analyzer.results.analysis import Analysis
from analyzer.results.records.display_records import CallView
from analyzer.screens.viewmodel.call_layers import call_view
from tests.build.buffers import name_table
from tests.build.calls import Calls, analysis_of, winreg
from tests.build.machine import NAMES, Machine
from tests.page import THREE, analysis_named

if find_spec("textual") is not None:
    from textual.pilot import Pilot
    from textual.widgets import Input, ProgressBar, Static

    from analyzer.screens.browse import app as module
    from analyzer.screens.browse.app import Browser, FieldSuggester
    from analyzer.screens.browse.host_pane import CounterList, RowList, TableList
    from analyzer.screens.browse.panes import Bytes, CallList, Lines, SeriesList, Tree

pytestmark = pytest.mark.needs("textual")


def browsed(
    analysis: Analysis, act: Callable[[Browser, Pilot[None]], Awaitable[None]], size: tuple[int, int] = (150, 44)
) -> None:
    """Opens a browser of an analysis, waits until all is there, and acts."""

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
    await pilot.pause()
    while not all(worker.is_finished for worker in app.workers):
        await app.workers.wait_for_complete()
        await pilot.pause()


def text(pane: Lines) -> str:
    """The lines of a pane that are drawn."""
    return "\n".join(pane.render_line(y).text.rstrip() for y in range(pane.size.height))


def words(app: Browser, selector: str) -> str:
    return str(app.query_one(selector, Static).render())


def test_a_call_is_chosen_and_its_field_lights_its_bytes() -> None:
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
    analysis = analysis_named(THREE[0])
    wanted = CallFilter("opnum == 6 and status == 0")
    passing = list(Selection(filter=wanted).calls(analysis).numbers)

    async def act(app: Browser, pilot: Pilot[None]) -> None:
        assert await FieldSuggester().get_suggestion("opnum == 6 and lat") == "opnum == 6 and latency"
        await pilot.press("slash", *"opnum==6 and lat", "tab")
        await pilot.pause()
        assert app.query_one("#filter", Input).value == "opnum==6 and latency"
        app.query_one("#filter", Input).value = str(wanted)
        await pilot.press("enter")
        await settled(app, pilot)
        assert list(app.query_one(CallList).order) == passing
        assert words(app, "#status") == f"{len(passing)} of 210 calls"
        await pilot.press("h")
        await settled(app, pilot)
        assert app.query_one("#filter", Input).value == "handle == q1"
        await pilot.press("slash", "tab")
        await pilot.pause()
        assert app.focused is app.query_one(CallList)
        app.run_filter("opnum = 6")
        assert "a single = is no operator" in words(app, "#status")
        await pilot.press("escape")
        await settled(app, pilot)
        assert words(app, "#status") == "210 of 210 calls"

    browsed(analysis, act)


def test_the_host_steps_through_its_moments_and_leads_to_bytes() -> None:
    machine, make = Machine(5, changes=1), winreg()
    events = [make.open_key(), make.query_value("Counter 009", name_table(NAMES))]
    truths = []
    for _ in range(4):
        truths.append(machine.step().truth)
        events.append(make.query_value("230 238 4 2", machine.answer(), room=1 << 20))

    def pids(app: Browser) -> list[int]:
        pane = app.query_one(RowList)
        return sorted(int(row.cells[0].words) for row in pane.rows if row.change != "ended")

    async def act(app: Browser, pilot: Pilot[None]) -> None:
        await pilot.press("4")
        await settled(app, pilot)
        assert "moment 1 of 4" in words(app, "#moment")
        assert pids(app) == sorted(truths[0])
        assert [line.split()[0] for line in text(app.query_one(TableList)).splitlines()[:4]] == [
            *("Process", "Processor", "Memory", "System")
        ]
        await pilot.press("right")
        await settled(app, pilot)
        assert pids(app) == sorted(truths[1])
        shown = text(app.query_one(RowList))
        assert "started" in shown
        assert "ended" in shown
        await pilot.press("ctrl+right", "left", "enter", "s")
        await settled(app, pilot)
        assert "moment 3 of 4" in words(app, "#moment")
        assert "Memory ▾" in words(app, "#titles")
        memory = [int(row.cells[3].value or 0) for row in app.query_one(RowList).rows if row.cells]
        assert memory == sorted((one.memory for one in truths[2].values()), reverse=True)
        await pilot.press("home", "enter", "down", "down", "down")
        await settled(app, pilot)
        cells = app.query_one(CounterList)
        assert f"{memory[0]:,}" in cells.line(cells.current).plain
        await pilot.press("enter")
        await settled(app, pilot)
        assert app.query_one(CallList).number == 5
        assert words(app, "#layer").startswith("response.buffer: bytes ")
        await pilot.press("4", "space")
        await settled(app, pilot)
        while "moment 4 of 4" not in words(app, "#moment"):
            await pilot.pause(0.05)

    browsed(analysis_of(*events), act)


def test_series_beyond_the_limit_are_told_before_those_that_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    machine, make = Machine(5), winreg()
    events = [make.open_key(), make.query_value("Counter 009", name_table(NAMES))]
    events += [make.query_value("230", machine.step().answer(), room=1 << 20) for _ in range(2)]
    monkeypatch.setattr(module, "SeriesLimit", lambda: SeriesLimit(of_set=20))
    monkeypatch.setattr(module, "MAX_READINGS", 12)

    async def act(app: Browser, pilot: Pilot[None]) -> None:
        pane = app.query_one(SeriesList)
        told = [pane.line(at).plain for at in range(2)]
        here = re.escape("\\\\10.0.0.1: ") + r"\d of up to 5 instances of Process are here, those that were read first"
        assert re.fullmatch(here + r"; [\d,]+ readings of others are not: counters prints all", told[0]), told
        assert re.fullmatch(r"[\d,]+ readings at the end are not here: counters prints all", told[1]), told
        assert pane.count == 2 + len(pane.series)
        assert "Process" in pane.line(2).plain

    browsed(analysis_of(*events), act)


def test_a_capture_that_is_gone_when_its_packets_are_wanted() -> None:
    def packets(analysis: Analysis) -> Analysis:
        raise InputError("made.pcap: no such file")

    async def run() -> None:
        app = Browser(lambda progress: analysis_of(Calls().open_query()), "made.pcap", 0, packets)
        async with app.run_test(size=(150, 44)) as pilot:
            await settled(app, pilot)
            plain = [one.text.plain for one in app.query_one(Tree).shown]
            assert "frames, TCP payload and SMB messages are not shown: made.pcap: no such file" in plain

    asyncio.run(run())


def test_keys_and_the_bar_go_on_while_it_reads() -> None:
    begun, going_on = Event(), Event()

    def reading(progress: Callable[[int, int], None]) -> Analysis:
        progress(1, 50)
        begun.set()
        assert going_on.wait(600)
        return analysis_of(Calls().open_query())

    async def run() -> None:
        app = Browser(reading, "made.pcap", 200)
        async with app.run_test() as pilot:
            while not begun.is_set():
                await pilot.pause()
            bar = app.query_one(ProgressBar)
            assert (bar.progress, bar.total) == (50, 200)
            await pilot.press("slash", "h", "l", "2", "escape")
            assert app.analysis is None
            going_on.set()
            await settled(app, pilot)
            assert words(app, "#status") == "1 of 1 calls"

    asyncio.run(run())


def test_a_call_that_is_passed_by_is_not_taken_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    analysis, taken = analysis_named(THREE[0]), []
    going_on = Event()

    def slow(analysis: Analysis, number: int) -> CallView:
        taken.append(number)
        assert going_on.wait(600)
        return call_view(analysis, number)

    async def act(app: Browser, pilot: Pilot[None]) -> None:
        monkeypatch.setattr(module, "call_view", slow)
        calls = app.query_one(CallList)
        for _ in range(28):
            calls.action_step(1)
            await asyncio.sleep(0)
        while calls.number != 29 or app._wanted != 29:
            await asyncio.sleep(0.001)
        going_on.set()
        await settled(app, pilot)
        view = app.query_one(Tree).view
        assert view.row.number == 29
        assert len(taken) < 28

    browsed(analysis, act)


def test_a_capture_that_cannot_be_read_ends_it_with_the_reason() -> None:
    def reading(progress: Callable[[int, int], None]) -> Analysis:
        raise InputError("this is no capture")

    async def run() -> None:
        app = Browser(reading, "x")
        async with app.run_test() as pilot:
            while app.failure is None:
                await pilot.pause()
        assert str(app.failure) == "this is no capture"

    asyncio.run(run())
