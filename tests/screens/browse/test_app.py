"""The browser on a few calls: what each key, each choice and each late answer of a thread leads to."""

import asyncio
from collections.abc import Awaitable, Callable
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from analyzer.questions.filters.filter import CallFilter
from analyzer.results.analysis import Analysis
from analyzer.results.records.display_records import CallView, FindingView
from tests.build.buffers import Block, perf_data
from tests.build.calls import OTHER_HANDLE, Calls, analysis_of
from tests.records import record_of
from tests.screens.browse.test_browser import settled, words
from tests.screens.browse.test_panes import FIELDS, layer, series, side
from tests.written import Tables, held, is_as_written

if find_spec("textual") is not None:
    from textual.pilot import Pilot
    from textual.widgets import ProgressBar, Static

    from analyzer.screens.browse import app as module
    from analyzer.screens.browse.app import MAX_READINGS, Browser, FieldSuggester, FilterInput
    from analyzer.screens.browse.panes import (
        _FEW,
        _WIDTH,
        BYTES_IN_LINE,
        Bytes,
        CallList,
        FindingList,
        Lines,
        SeriesList,
        Tree,
    )

pytestmark = pytest.mark.needs("textual")
TABLES = Tables()


def few() -> Analysis:
    """Six calls: two on a handle, one on another, one on none, two on the first again."""
    make = Calls()
    data = perf_data([Block(1, values=((b"\1\0\0\0",),))])
    return analysis_of(
        make.open_query(),
        make.counter_data(data),
        make.open_query(OTHER_HANDLE),
        make.registration(1, b""),
        make.counter_data(data),
        make.close_query(),
    )


def opened(
    act: Callable[[Any, Pilot[None]], Awaitable[None]], analysis: Analysis | None = None, **options: Any
) -> Browser:
    """A browser of the few calls, acted on once all is there."""
    app = Browser(lambda progress: analysis or few(), "made\x1b.pcap", **options)

    async def run() -> None:
        async with app.run_test(size=(150, 44)) as pilot:
            await settled(app, pilot)
            await act(app, pilot)

    asyncio.run(run())
    return app


# --------------------------------------------------------------------------------------------------------------- tables


def test_keys_are_as_they_are_documented() -> None:
    """docs/browse.md; the footer shows the first column of those that are shown."""
    kinds: tuple[Any, ...] = Browser, FilterInput, Lines
    lines = [
        f"{kind.__name__} {one.key}: {one.action}, {one.description}{', shown' if one.show else ''}\n"
        for kind in kinds
        for one in kind.BINDINGS
    ]
    is_as_written(Path(__file__).with_name("keys.txt"), "".join(lines))


def test_limits_are_those_of_the_page_and_of_terminals() -> None:
    # The tree and 76 columns of bytes stand beside each other from 130 columns on.
    assert Browser.HORIZONTAL_BREAKPOINTS == [(0, "-narrow"), (130, "-wide")]
    assert Browser.ENABLE_COMMAND_PALETTE is False
    assert (MAX_READINGS, _WIDTH, _FEW, BYTES_IN_LINE) == (2_000_000, 1000, 3, 16)


# -------------------------------------------------------------------------------------------------------------- reading


@pytest.mark.parametrize(("size", "total"), [(0, None), (200, 200)])
def test_a_bar_shows_how_far_reading_has_come_where_that_is_known(size: int, total: int | None) -> None:
    app = Browser(lambda progress: few(), "made\x1b.pcap", size)
    assert (app.ansi_color, app.theme, app.analysis, app.failure) == (True, "ansi-dark", None, None)
    assert app.title == "made\x1b.pcap"
    assert Browser(lambda progress: few(), "x")._bytes_to_read == 0

    async def run() -> None:
        app._read = lambda: None
        async with app.run_test() as pilot:
            await pilot.pause()
            bar = app.query_one(ProgressBar)
            assert (bar.total, bar.show_eta) == (total, False)
            assert str(app.query_one("#reading").query(Static).first().render()) == "reading made\\x1b.pcap"
            # Nothing is there to be acted on.
            for action in (app.action_filter, app.action_leave, app.action_follow):
                action()
            app.action_layer(1)
            app.action_tab("of-series")
            app._open(1)
            assert app._wanted is None

    asyncio.run(run())


def test_a_capture_without_calls_is_browsed() -> None:
    async def act(app: Any, pilot: Pilot[None]) -> None:
        calls = app.query_one(CallList)
        assert (list(calls.order), calls.number, calls.base) == ([], None, 0)
        assert words(app, "#status") == "0 of 0 calls"
        await pilot.press("h", "l", "enter", "3", "enter", "2", "enter")
        await settled(app, pilot)
        assert app.query_one(Tree).view is None
        assert app.query_one(Bytes).of_layer is None

    nothing = analysis_of()
    opened(act, replace(nothing, capture=replace(nothing.capture, first_time_ns=None)))


def test_times_are_counted_from_the_first_frame() -> None:
    async def act(app: Any, pilot: Pilot[None]) -> None:
        assert app.query_one(CallList).base == 12

    whole = few()
    opened(act, replace(whole, capture=replace(whole.capture, first_time_ns=12)))


# ----------------------------------------------------------------------------------------------------------- the filter


class Stubs:
    """What a browser asks its panes for, without any."""

    def __init__(self, number: int | None = None, order: Any = (), view: Any = None) -> None:
        self.told: list[Any] = []
        self.app: Any = Browser(lambda progress: few(), "x")
        self.app.analysis = few()
        self.calls = SimpleNamespace(number=number, order=order, current=0, show=self.noted("show"))
        self.tree = SimpleNamespace(view=view, look_at=self.noted("look"), find=self.noted("find"), shown=[])
        self.line = SimpleNamespace(value="old", update=self.noted("say"), focus=self.noted("focus"))
        self.app.query_one = self.query_one
        self.app.run_worker = lambda work, **options: self.told.append(("worker", options))

    def noted(self, what: str) -> Callable[..., None]:
        return lambda *given: self.told.append((what, *given))

    def query_one(self, what: Any, kind: Any = None) -> Any:
        return {CallList: self.calls, Tree: self.tree}.get(what, self.line)


@TABLES.of(*((before, [2, 5]) for before in (5, 2, 3, None)), (5, []), (6, range(1, 7)))
def the_current_call_stays_it_where_it_is_left(before, order):
    stubs = Stubs(before)
    opened_calls: list[Any] = []
    stubs.app._open = opened_calls.append
    stubs.app._pass(order)
    assert (stubs.calls.order, opened_calls) == (order, [before])
    return stubs.told


@TABLES.of(*((5, *given) for given in ((5, 5), (5, 2), (2, 5), (5, None))), (3, 5, 5))
def a_place_is_found_in_the_call_that_is_shown_or_in_the_one_that_comes(number, wanted, shown):
    """Where calls 2 and 5 are listed."""
    stubs = Stubs(5, [2, 5], SimpleNamespace(row=SimpleNamespace(number=shown)) if shown is not None else None)
    app = stubs.app
    app._wanted = wanted

    def passed(given: Any) -> None:
        stubs.calls.order = given
        stubs.told.append(("pass", len(given)))

    app._pass, app._open, app.action_tab = passed, stubs.noted("open"), lambda name: None
    app._go_to(number, ("l", 1, 2))
    assert stubs.calls.order[stubs.calls.current] == number
    return [*stubs.told, {"filter": stubs.line.value, "to find": app._aim}]


def test_a_call_is_wanted_once() -> None:
    stubs = Stubs()
    app = stubs.app
    for number, wanted, workers in ((None, None, 0), (3, 3, 1), (3, 3, 1), (None, 3, 1), (4, 4, 2)):
        app._open(number)
        assert (app._wanted, len(stubs.told)) == (wanted, workers)
    app.analysis = None
    app._open(5)
    assert app._wanted == 4


def test_layers_that_come_late_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    stubs = Stubs()
    app, old = stubs.app, few()
    view: Any = SimpleNamespace(row=SimpleNamespace(number=2))
    app._wanted, app._aim = 3, ("l", 1, 2)
    app._look_at(app.analysis, view)
    assert stubs.told == []
    app._wanted = 2
    app._look_at(old, view)
    assert stubs.told == [("worker", {"thread": True})]
    stubs.told.clear()
    app._look_at(app.analysis, view)
    assert stubs.told == [("look", view), ("find", "l", 1, 2)]
    app._look_at(app.analysis, view)
    assert stubs.told[2:] == [("look", view)]
    monkeypatch.setattr(module, "call_view", lambda analysis, number: (analysis, number))
    made: list[Any] = []
    app.call_from_thread = lambda function, *given: made.append((function, *given))
    for number in (1, 2):
        app._make_layers(number)
    assert made == [(app._look_at, app.analysis, (app.analysis, 2))]
    app.analysis = None
    app._make_layers(2)
    assert len(made) == 1


def test_a_filter_is_run_in_a_thread_that_replaces_the_one_before() -> None:
    stubs = Stubs()
    passed: list[Any] = []
    stubs.app._pass = passed.append
    for source in ("", "  \t"):
        stubs.app.run_filter(source)
    assert (passed, stubs.told) == ([range(1, 7)] * 2, [])
    stubs.app.run_filter("opnum == 6")
    assert stubs.told == [("say", "filtering ..."), ("worker", {"thread": True, "exclusive": True, "group": "filter"})]
    stubs.app.run_filter("opnum ==")
    assert stubs.told[2][0] == "say"
    assert len(stubs.told) == 3


@TABLES.of(1, 3, 4, None)
def the_filter_of_a_handle(number):
    stubs = Stubs(number)
    stubs.app.run_filter = stubs.noted("run")
    stubs.app.action_follow()
    return [*stubs.told, {"filter": stubs.line.value}]


def test_findings_series_and_packets_are_shown_when_they_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    stubs = Stubs()
    app = stubs.app
    many = [series((1.0,)), replace(series((2.0,)), hidden=True)]
    monkeypatch.setattr(module, "series_views", lambda analysis, most, take, limit: (many, 0))
    monkeypatch.setattr(module, "finding_views", lambda analysis, audit: ["finding"])
    made: list[Any] = []
    app.call_from_thread = lambda function, *given: made.append((function, *given))
    app.query_one = lambda kind: SimpleNamespace(watch_films="films", look_at="look at")
    app._derive()
    assert made[:2] == [(app._show_findings, ("finding",)), ("look at", (many[0],), [])]
    assert [function for function, *_ in made[2:]] == ["films"]
    pane = SimpleNamespace(show=stubs.noted("show"))
    app.query_one = lambda kind: pane
    app._show_findings(["a", "b"])
    assert (stubs.told, pane.findings) == ([("show", 2)], ["a", "b"])


@TABLES.of(*((here, by) for by in (1, -1) for here in (None, "a", "b", "c")))
def layers_follow_each_other_round(here, by):
    layers = {id: layer(id, "stub") for id in "abc"}
    view = SimpleNamespace(sides=[side("request", layers["a"], layers["b"]), side("response", layers["c"])])
    stubs = Stubs(view=view)
    stubs.tree.shown = [SimpleNamespace(layer=layers["b"]), SimpleNamespace(layer=layers.get(here or ""))]
    stubs.tree.current, stubs.tree.to_layer = 1, stubs.noted("to")
    stubs.app.action_layer(by)
    told = [*stubs.told]
    for missing in (stubs.tree, stubs.app):
        vars(missing).update(view=None, analysis=None)
        stubs.app.action_layer(by)
    assert stubs.told == told
    return told


def test_a_filter_that_was_replaced_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    app = module.Browser(lambda progress: few(), "x")
    app.analysis = few()
    told: list[Any] = []
    app.call_from_thread = lambda function, found: told.append((function, found))

    monkeypatch.setattr(module, "_AT_ONCE", 4)
    for cancelled, expected in ((True, []), (False, [(app._pass, [2, 4, 6])])):
        worker = SimpleNamespace(is_cancelled=cancelled)
        monkeypatch.setattr(module, "get_current_worker", lambda worker=worker: worker)
        app._filtered(CallFilter("number in {2, 4, 6}"))
        assert told == expected


@TABLES.of("opn", "status == 0 and lat", "opnum", "nosuchfield", "")
def tab_completes_a_field_or_leads_on(value):
    """With what would be suggested, and where nothing suggests."""
    told: list[str] = []
    screen = SimpleNamespace(focus_next=lambda: told.append("on"))
    for suggester in (FieldSuggester(), None):
        line: Any = SimpleNamespace(suggester=suggester, value=value, cursor_position=0, screen=screen)
        asyncio.run(FilterInput.action_complete(line))
        told.append(f"{line.value!r} at {line.cursor_position}")
    return told


# ---------------------------------------------------------------------------------------------------------- what is seen


def test_layers_go_round_and_say_where_they_are_captured() -> None:
    async def act(app: Any, pilot: Pilot[None]) -> None:
        app.query_one(CallList).current = 1
        await settled(app, pilot)
        tree, pane = app.query_one(Tree), app.query_one(Bytes)
        ids = [one.id for one_side in tree.view.sides for one in one_side.layers]
        assert ids == ["request.pdu1", "request.stub", "response.pdu1", "response.stub", "response.buffer"]
        # Where none is chosen, what the answer holds is seen.
        assert (tree.shown[tree.current].layer, pane.of_layer.id, pane.span) == (None, "response.buffer", (0, 0))
        size = len(pane.of_layer.data)
        assert words(app, "#layer").startswith(f"response.buffer: bytes 0 to {size} of {size}, frames ")
        seen = []
        for key in ("l", "l", "L"):
            await pilot.press(key)
            await settled(app, pilot)
            seen.append(pane.of_layer.id)
        assert seen == [ids[0], ids[1], ids[0]]
        at = next(at for at, one in enumerate(tree.shown) if one.node is not None and one.layer.id == "request.stub")
        tree.current = at
        await settled(app, pilot)
        node = tree.shown[at].node
        assert pane.span == (node.start, node.stop)
        assert words(app, "#layer").startswith(f"request.stub: bytes {node.start} to {node.stop} of ")

    opened(act)


def test_the_frames_of_a_field_are_named_eight_at_most() -> None:
    from analyzer.results.records.display_records import Run

    async def act(app: Any, pilot: Pilot[None]) -> None:
        view = app.query_one(Tree).view
        for frames, shown in ((0, "none"), (1, "1"), (9, "1, 2, 3, 4, 5, 6, 7, 8")):
            runs = tuple(Run(at, at + 1, at + 1, 0, 0, 1) for at in range(frames))
            one = layer("request.stub", "stub", FIELDS, bytes(9), runs=runs)
            app.query_one(Tree).look_at(CallView(view.row, (), (side("request", one),)))
            await pilot.pause()
            assert words(app, "#layer") == f"request.stub: bytes 0 to 9 of 9, frames {shown}"
        app.query_one(Tree).look_at(CallView(view.row, (), (side("request", missing="not captured"),)))
        await pilot.pause()
        assert words(app, "#layer") == "nothing was captured"

    opened(act)


@TABLES.of({}, {"call": 0}, *({"call": 5, "layer": place, "start": 1, "stop": 4} for place in ("request.stub", None)))
def a_finding_leads_to_its_call_and_its_bytes(**chosen):
    stubs = Stubs()
    stubs.app._go_to = stubs.noted("go")
    pane = FindingList(id="findings")
    pane.findings = [record_of(FindingView, call=99), record_of(FindingView, **chosen)]
    pane.set_reactive(FindingList.current, 1)
    stubs.app.on_lines_chosen(SimpleNamespace(lines=pane))
    return stubs.told


def test_a_call_that_is_chosen_leads_to_its_tree_a_tab_to_its_layer_and_a_series_nowhere() -> None:
    stubs = Stubs()
    stubs.tree.focus = stubs.noted("tree")
    for pane in (SeriesList(id="series"), CallList(id="calls")):
        stubs.app.on_lines_chosen(SimpleNamespace(lines=pane))
    stubs.tree.to_layer = stubs.noted("layer")
    stubs.app.on_layer_tabs_picked(SimpleNamespace(layer="request.stub"))
    assert stubs.told == [("tree",), ("layer", "request.stub")]


def test_a_line_that_became_current_is_looked_at() -> None:
    stubs = Stubs()
    stubs.app._open, stubs.app._light = stubs.noted("open"), stubs.noted("light")
    calls, tree = CallList(id="calls"), Tree(id="tree")
    calls.order = (8, 9)
    for pane in (calls, tree, SeriesList(id="series")):
        stubs.app.on_lines_moved(SimpleNamespace(lines=pane))
    assert stubs.told == [("open", 8), ("light", tree)]


# ------------------------------------------------------------------------------------------------------- late answers


@TABLES.of((2, 2), (2, 3), (2, None), (None, 2), (None, None))
def packets_are_shown_of_the_call_that_is_looked_at(shown, wanted):
    stubs = Stubs(view=SimpleNamespace(row=SimpleNamespace(number=shown)) if shown is not None else None)
    stubs.app._wanted, stubs.tree.look_again = wanted, lambda view: stubs.told.append(view)
    whole = few()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "call_view", lambda analysis, number: ("again", analysis is whole, number))
        stubs.app._show_packets(whole)
    assert stubs.app.analysis is whole
    return stubs.told


def test_packets_are_read_once_more_behind_the_calls() -> None:
    given: list[Analysis] = []

    def packets(analysis: Analysis) -> Analysis:
        given.append(analysis)
        return replace(analysis, packets=None)

    async def act(app: Any, pilot: Pilot[None]) -> None:
        assert app.analysis.packets is None

    opened(act, packets=packets)
    (one,) = given
    assert one.packets.lacking == "they are being read"


test_what_is_asked_of_panes_is_as_it_was_read_through = held(__file__, TABLES)
