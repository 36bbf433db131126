"""The panes of the browser by themselves: lines of any number, and what each pane writes in one."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from importlib.util import find_spec
from itertools import chain, groupby, pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.text import Text

from analyzer.results.records.display_records import (
    CallView,
    Fact,
    FindingView,
    LayerBytes,
    Node,
    Row,
    Run,
    SeriesView,
    SideView,
)
from analyzer.results.records.record_types import Endpoint
from tests.records import record_of
from tests.written import is_as_written

if find_spec("textual") is not None:
    from textual.app import App, ComposeResult
    from textual.geometry import Size
    from textual.pilot import Pilot

    from analyzer.screens.browse.app import _first
    from analyzer.screens.browse.panes import (
        _FEW,
        _SPARK_CELLS,
        Bytes,
        CallList,
        FindingList,
        LayerTabs,
        Lines,
        SeriesList,
        Tree,
        _group_of,
    )

pytestmark = pytest.mark.needs("textual")
HEIGHT = 10


def mounted(pane: Any, act: Callable[[Any, Pilot[None], list[str]], Awaitable[None]]) -> None:
    """Shows one pane in a terminal of its own, and notes what it tells."""
    told: list[str] = []

    class Alone(App[None]):
        CSS = "Lines { height: 1fr; } LayerTabs { height: 3; }"

        def compose(self) -> ComposeResult:
            yield pane

        def on_lines_moved(self, event: Lines.Moved) -> None:
            assert event.control is event.lines is pane
            told.append(f"moved {pane.current}")

        def on_lines_chosen(self, event: Lines.Chosen) -> None:
            assert event.control is event.lines is pane
            told.append(f"chosen {pane.current}")

        def on_layer_tabs_picked(self, event: LayerTabs.Picked) -> None:
            told.append(event.layer)

    async def run() -> None:
        async with Alone().run_test(size=(60, HEIGHT)) as pilot:
            pane.focus()
            await pilot.pause()
            told.clear()
            await act(pane, pilot, told)

    asyncio.run(run())


def parts(text: Text) -> list[tuple[str, str]]:
    """The text in pieces, each with its style."""
    cuts = sorted({0, len(text), *(edge for span in text.spans for edge in (span.start, span.end))})
    return [
        (
            text.plain[start:stop],
            " ".join(str(span.style) for span in text.spans if span.start <= start and stop <= span.end)
            or str(text.style),
        )
        for start, stop in pairwise(cuts)
    ]


def marked(text: Text) -> str:
    """The text with what is not in the style of the terminal in brackets."""
    runs = groupby(parts(text), lambda part: part[1].replace("default", ""))
    both = (("".join(piece for piece, _ in run), style) for style, run in runs)
    return "".join(f"[{style}]{pieces}[/]" if style else pieces for pieces, style in both)


# --------------------------------------------------------------------------------------------------------------- lines


def numbered(count: int) -> Lines:
    class Numbered(Lines):
        made: list[int]

        def line(self, at: int) -> Text:
            self.made.append(at)
            return Text(f"{at} " + "x" * 2000)

    pane = Numbered(id="numbered")
    pane.made = []
    pane.count = count
    return pane


# A key, the line before it, and the line then.
KEYS = (
    *(("down", 5, 6), ("j", 5, 6), ("down", 29, 29), ("up", 5, 4), ("k", 5, 4), ("up", 0, 0)),
    *(("pagedown", 5, 14), ("pagedown", 25, 29), ("pageup", 12, 3), ("pageup", 5, 0)),
    *(("home", 12, 0), ("g", 12, 0), ("end", 3, 29), ("G", 3, 29)),
)


def test_keys_lead_to_another_line() -> None:
    """A page is as many lines as are seen but one, so that the last of them is the first then."""

    async def act(pane: Any, pilot: Pilot[None], told: list[str]) -> None:
        for key, begin, end in KEYS:
            pane.show(30, begin)
            await pilot.press(key)
            await pilot.pause()
            assert pane.current == end, key
            assert told == ([f"moved {end}"] if begin != end else [])
            told.clear()
            top = round(pane.scroll_offset.y)
            assert top <= end < top + HEIGHT

    mounted(numbered(30), act)


@pytest.mark.parametrize(("height", "step"), [(0, 1), (1, 1), (2, 1), (3, 2), (10, 9)])
def test_a_page_is_a_line_at_least(height: int, step: int) -> None:
    pane: Any = type("Low", (Lines,), {"size": Size(10, height)})(id="low")
    found: list[int] = []
    pane._go = found.append
    pane.action_page(1)
    pane.action_page(-1)
    assert found == [step, -step]


def test_the_current_line_is_one_of_those_there_are() -> None:
    async def act(pane: Any, pilot: Pilot[None], told: list[str]) -> None:
        for count, asked, current in ((3, 0, 0), (3, 2, 2), (3, 3, 2), (3, -1, 0), (0, 5, 0), (1, 0, 0)):
            pane.show(count, asked)
            assert (pane.count, pane.current) == (count, current)
            assert pane.virtual_size == (1000, count)  # a line is cut off behind a thousand columns
        pane.show(0)
        for key in ("down", "end", "enter", "pageup"):
            await pilot.press(key)
        await pilot.pause()
        assert (pane.current, told) == (0, [])
        assert pane.render_line(0).text.strip() == ""

    mounted(numbered(0), act)


def test_enter_or_a_second_click_chooses() -> None:
    async def act(pane: Any, pilot: Pilot[None], told: list[str]) -> None:
        pane.show(4, 1)
        await pilot.press("enter")
        await pilot.pause()
        assert told == ["chosen 1"]
        for row, then in ((3, ["moved 3"]), (3, ["chosen 3"]), (4, []), (0, ["moved 0"])):
            told.clear()
            await pilot.click("#numbered", offset=(2, row))
            await pilot.pause()
            assert told == then
        pane.show(30, 29)
        await pilot.pause()
        await pilot.click("#numbered", offset=(2, 3))
        await pilot.pause()
        assert pane.current == 23

    mounted(numbered(4), act)


def test_only_lines_that_are_seen_are_made() -> None:
    async def act(pane: Any, pilot: Pilot[None], told: list[str]) -> None:
        pane.show(1000, 500)
        await pilot.pause()
        pane.made.clear()
        pane.refresh()
        await pilot.pause()
        assert set(pane.made) == set(range(491, 501))
        assert pane.render_line(0).text.startswith("491 x")
        assert {(str(part.style), len(part.text)) for part in pane.render_line(9)} == {
            ("bold reverse", pane.size.width)
        }
        assert all(pane.render_line(y).cell_length == pane.size.width for y in range(HEIGHT))
        pane.marks_current = False
        assert "reverse" not in str([part.style for part in pane.render_line(9)])
        pane.marks_current = True
        pane.show(2, 0)
        await pilot.pause()
        assert [pane.render_line(y).text[:2].strip() for y in range(4)] == ["0", "1", "", ""]
        pane.scroll_to(x=3, animate=False, force=True)
        await pilot.pause()
        assert [pane.render_line(y).text[:3] for y in range(2)] == ["xxx", "xxx"]
        pane.made.clear()
        pane.app.set_focus(None)
        await pilot.pause()
        assert pane.made  # what it looks like is drawn at once
        assert {str(part.style) for part in pane.render_line(0)} == {"reverse"}
        pane.made.clear()
        pane.current = 1
        await pilot.pause()
        assert pane.made

    mounted(numbered(0), act)


# --------------------------------------------------------------------------------------------------------------- calls


def row(**more: Any) -> Row:
    given = {"number": 7, "time_ns": 3_250_000_000, "method": "Query", "status": "OK", "outcome": "ok"}
    ends = {"client": Endpoint("10.0.0.1", 5), "server": Endpoint("10.0.0.2", 445)}
    return record_of(Row, **given | ends | more)


def of_calls() -> Iterator[tuple[str, list[Text]]]:
    failed = {"answered": "more\u202e", "outcome": "failed", "status": "ERROR"}
    for changes in (
        *({}, {"handle": "q1", "asked": "of\x1b all"}, {"asked": "room for 4096 bytes"}, {"handle": "q1234"}),
        *({"answered": "3 blocks"}, failed, {"outcome": "sealed", "status": "sealed"}),
        *({"latency_ns": 1_234_567}, {"latency_ns": 0}),
        *({"user": user} for user in ("LAB\\perfmon", "perfmon@LAB.EXAMPLE", "LAB\\administrator")),
        {"claimed_user": "LAB\\admin"},
    ):
        pane = CallList(id="calls")
        assert pane.number is None
        pane.order, pane.base = (9, 7), 1_000_000_000
        pane.row = lambda number, changes=changes: row(**changes | {"number": number})
        assert pane.number == 9
        yield f"a call: {changes}", [pane.line(1)]
    pane.names = {"10.0.0.2": "SRV1"}
    yield "a server with a name", [pane.line(1)]


# ---------------------------------------------------------------------------------------------------------------- tree


def node(name: str, start: int, length: int, *children: Node, value: Any = None) -> Node:
    return Node(name, name, "u4", start, length, value, None, "", children)


def layer(id: str, kind: str, tree: Node | None = None, data: bytes = bytes(8), **more: Any) -> LayerBytes:
    given: dict[str, Any] = {"title": f"the {kind}", "runs": (Run(0, 8, 3, 0, 0, 8),), "steps": ()}
    return LayerBytes(id=id, kind=kind, data=data, tree=tree, **{**given, **more})


FIELDS = node(
    "stub", 0, 8, node("a", 0, 4, value=1), node("b", 4, 4, node("c", 4, 2, value=2), node("d", 6, 2, value=3))
)


def side(name: str, *layers: LayerBytes, **more: Any) -> SideView:
    return SideView(name=name, layers=layers, **{"missing": None, "buffer_kind": None, **more})


def view(*sides: SideView, facts: tuple[Fact, ...] = ()) -> CallView:
    return CallView(row(), facts, sides)


def tree_of(*sides: SideView, facts: tuple[Fact, ...] = (), is_all_open: bool = False) -> Any:
    tree = Tree(id="tree")
    tree.is_all_open = is_all_open
    tree.view = view(*sides, facts=facts)
    tree.shown = list(tree.lines())
    return tree


def of_trees() -> Iterator[tuple[str, list[Text]]]:
    asked = [
        layer("request.pdu1", "pdu", FIELDS),
        *(layer(f"request.{one}", one, FIELDS) for one in ("stub", "buffer")),
    ]
    said = [layer("response.stub", "stub"), layer("response.buffer", "buffer", node("x", 0, 8))]
    pdus = [layer(f"request.pdu{at}", "pdu", title=f"PDU {at}") for at in (1, 2, 3, 4)]
    sealed = [layer(f"request.sealed{at}", "sealed") for at in (1, 2, 3)]
    for is_all_open in (False, True):
        both = tree_of(side("request", *asked), side("response", *said), is_all_open=is_all_open)
        yield f"stubs and buffers are open and other layers closed, all are: {is_all_open}", lines_of(both)
        # In the order of layers, from the outside in.
        several = tree_of(side("request", *sealed, *pdus), is_all_open=is_all_open)
        yield f"more than three of a kind stand under one line, all are open: {is_all_open}", lines_of(several)
    for steps, undone_by in (((), ()), (("joined", "x\x1b"), ()), (("joined",), ("NTLM",)), ((), ("NTLM",))):
        one = layer("request.pdu1", "pdu", steps=steps, undone_by=undone_by)
        yield f"{steps}, undone by {undone_by}", lines_of(tree_of(side("request", one)))
    noted = layer("request.pdu1", "pdu", FIELDS, notes=("one\x1b", "two"), problem="broken\x1b")
    yield "notes and damage of a layer are below it", lines_of(tree_of(side("request", noted)))
    bare = (
        side("request", missing="sealed", problem="short\x1b", lacking="a case\x1b"),
        side("response", lacking="a case\x1b"),
    )
    facts = Fact("frames", "frames", "3, 4"), Fact("SMB", "session", "0x1\x1b")
    yield "what is lacking is said of a side and once of packets", lines_of(tree_of(*bare, facts=facts))
    for kind in ("frame", "tcp", "smb", "pdu", "sealed", "stub", "buffer"):
        many = tree_of(side("response", *(layer(f"response.{kind}{at}", kind) for at in range(_FEW + 1))))
        yield f"many of a kind have a name: {kind}", lines_of(many)
        assert (
            many.shown[1].key
            == _group_of(f"response.{kind}2")
            == _group_of(f"response.{kind}12")
            == f"response.{kind}s"
        )


def lines_of(tree: Any) -> list[Text]:
    return [tree.line(at).append(f"  <{one.key}>") for at, one in enumerate(tree.shown)]


def test_a_call_without_sides_or_no_call_has_no_lines() -> None:
    assert list(Tree(id="tree").lines()) == []
    assert tree_of().shown == []


def test_what_has_fields_in_it_opens_and_closes() -> None:
    first = view(side("request", layer("request.pdu1", "pdu", FIELDS), layer("request.stub", "stub", FIELDS)))

    async def act(tree: Any, pilot: Pilot[None], told: list[str]) -> None:
        tree.find("request.stub", 0, 1)
        tree.action_choose()
        tree.look_at(first)
        await pilot.pause()
        told.clear()
        assert (tree.current, tree.count) == (0, 7)
        await pilot.press("down", "enter")  # the PDU opens
        await pilot.pause()
        assert (tree.current, tree.count, tree.shown[2].key) == (1, 11, "request.pdu1.0")
        await pilot.press("enter")  # and closes
        await pilot.press("end", "enter")  # a field without others in it
        await pilot.pause()
        assert (tree.current, tree.count) == (6, 7)
        assert told == ["moved 1", "moved 1", "chosen 1", "moved 1", "chosen 1", "moved 6", "chosen 6"]
        await pilot.press("up", "up", "enter")
        await pilot.pause()
        assert [one.key for one in tree.shown][-1] == "request.stub.1"
        # Of another call, everything is as at first.
        tree.look_at(first)
        assert (tree.current, tree.count) == (0, 7)

    mounted(Tree(id="tree"), act)


def test_a_place_in_a_layer_is_found() -> None:
    pdus = [layer(f"request.pdu{at}", "pdu", FIELDS) for at in (1, 2, 3, 4)]
    whole = view(
        side("request", *pdus, layer("request.stub", "stub", FIELDS)),
        side("response", layer("response.stub", "stub", FIELDS)),
    )

    async def act(tree: Any, pilot: Pilot[None], told: list[str]) -> None:
        tree.look_at(whole)
        for id, start, stop, key in (
            ("request.stub", 0, 4, "request.stub.0"),
            ("request.stub", 4, 8, "request.stub.1"),
            ("request.stub", 6, 8, "request.stub.1.1"),
            ("request.stub", 4, 6, "request.stub.1.0"),
            ("request.stub", 5, 7, "request.stub.1"),
            ("request.stub", 0, 8, "request.stub"),
            ("response.stub", 6, 7, "response.stub.1.1"),
            ("request.pdu3", 1, 2, "request.pdu3.0"),
            ("request.nothing", 1, 2, ""),
        ):
            tree.find(id, start, stop)
            assert tree.shown[tree.current].key == key
        # The layer that was looked for is the only one of those that were closed; others that were open stay it.
        tree.look_at(whole)
        tree.find("request.pdu3", 1, 2)
        assert [one.key for one in tree.shown if one.layer is not None and one.node is None] == [
            *(f"request.pdu{at}" for at in (1, 2, 3, 4)),
            "request.stub",
            "response.stub",
        ]
        assert {one.layer.id for one in tree.shown if one.node is not None} == {"request.pdu3"}
        tree.to_layer("request.pdu2")
        assert tree.shown[tree.current].key == "request.pdu2"
        before = tree.current
        tree.to_layer("response.buffer")
        assert tree.current == before
        tree.look_at(whole)
        tree.to_layer("request.pdu4")
        assert (tree.shown[tree.current].key, tree.shown[1].key) == ("request.pdu4", "request.pdus")

    mounted(Tree(id="tree"), act)


def test_what_was_current_stays_it_when_layers_come() -> None:
    before = view(side("request", layer("request.stub", "stub", FIELDS)), side("response", lacking="no packets"))
    after = view(
        side("request", layer("request.frame1", "frame"), layer("request.stub", "stub", FIELDS)), side("response")
    )

    async def act(tree: Any, pilot: Pilot[None], told: list[str]) -> None:
        tree.look_again(before)
        assert (tree.current, tree.count) == (0, 8)
        for at, then in ((0, 0), (1, 2), (2, 3), (3, 4), (5, 6), (6, 7), (7, 0)):
            tree.look_at(before)
            tree._go(at)
            tree.look_again(after)
            assert tree.current == then
        tree.look_at(before)
        tree._go(3)
        tree.action_choose()
        tree.look_again(after)
        assert (tree.current, tree.count) == (4, 6)

    mounted(Tree(id="tree"), act)


# --------------------------------------------------------------------------------------------------------------- tabs


def test_layers_are_tabs_in_a_line_for_each_side() -> None:
    pdus = [layer(f"request.pdu{at}", "pdu") for at in (1, 2)]
    stubs = [layer(f"{name}.stub", "stub") for name in ("request", "response")]
    whole = view(side("request", stubs[0], *pdus), side("response", stubs[1]))

    async def act(tabs: Any, pilot: Pilot[None], told: list[str]) -> None:
        tabs.show(None, None)
        assert tabs.lines == []
        for current, words in (
            (None, "[bold]request  [/] [cyan]pdu /2[/] [cyan]stub[/]\n[bold]response [/] [cyan]stub[/]"),
            (pdus[1], "[bold]request  [/] [reverse]pdu 2/2[/] [cyan]stub[/]\n[bold]response [/] [cyan]stub[/]"),
            (pdus[0], "[bold]request  [/] [reverse]pdu 1/2[/] [cyan]stub[/]\n[bold]response [/] [cyan]stub[/]"),
            (stubs[1], "[bold]request  [/] [cyan]pdu /2[/] [cyan]stub[/]\n[bold]response [/] [reverse]stub[/]"),
        ):
            shown: list[Text] = []
            tabs.update, update = shown.append, tabs.update
            tabs.show(whole, current)
            tabs.update = update
            assert [marked(text) for text in shown] == [f"{words}\n"]
            tabs.update(shown[0])
        tabs.show(whole, pdus[1])
        assert tabs.lines == [[(10, 17, "request.pdu2"), (18, 22, "request.stub")], [(10, 14, "response.stub")]]
        await pilot.pause()
        for x, y, picked in (
            (9, 0, []),
            (10, 0, ["request.pdu2"]),
            (16, 0, ["request.pdu2"]),
            (17, 0, []),
            (18, 0, ["request.stub"]),
            (13, 1, ["response.stub"]),
            (14, 1, []),
            (10, 2, []),
        ):
            told.clear()
            await pilot.click("#tabs", offset=(x, y))
            await pilot.pause()
            assert told == picked

    mounted(LayerTabs(id="tabs"), act)


# -------------------------------------------------------------------------------------------- bytes, series, findings


@pytest.mark.parametrize(
    ("size", "span", "count", "current"),
    [(0, (0, 0), 0, 0), (1, (0, 1), 1, 0), (16, (15, 16), 1, 0), (17, (16, 17), 2, 1), (64, (31, 40), 4, 1)],
)
def test_bytes_stand_sixteen_in_a_line(size: int, span: tuple[int, int], count: int, current: int) -> None:
    pane = Bytes(id="bytes")
    shown: list[tuple[int, int]] = []
    pane.show = lambda count, current=0: shown.append((count, current))
    one = layer("request.stub", "stub", data=bytes(size))
    pane.look_at(one, span)
    assert (shown, pane.of_layer, pane.span, pane.marks_current) == ([(count, current)], one, span, False)
    pane.look_at(None, (0, 0))
    assert shown[1] == (0, 0)


def series(values: tuple[float | None, ...], unit: str | None = "%") -> SeriesView:
    return record_of(SeriesView, handle="q1", path="\\G\x1b\\C", unit=unit, values=values)


def of_others() -> Iterator[tuple[str, list[Text]]]:
    held = Bytes(id="bytes")
    assert (held.of_layer, held.span) == (None, (0, 0))
    held.of_layer = layer("request.stub", "stub", data=bytes(range(0x18, 0x28)) + b"~\x7f")
    for held.span in ((7, 10), (16, 17)):
        yield f"bytes of a field stand out: {held.span}", [held.line(0), held.line(1)]
    course = SeriesList(id="series")
    for values, unit in (
        ((None,), None),
        ((1.0, None, 3.0, None), "%"),
        ((2.0,), "B/s"),
        (tuple(map(float, range(24))), ""),
    ):
        course.series = [series((9.0,)), series(values, unit)]
        yield f"a series of {len(values)} in {unit}", [course.line(1)]
    seen: tuple[tuple[str, int | None, str | None, str | None], ...]
    seen = ("error", 3, "1\x1b", "2"), ("warning", 0, None, "2"), ("info", None, "1", None), ("error", None, None, None)
    findings = FindingList(id="findings")
    for severity, call, expected, found in seen:
        said = {"severity": severity, "call": call, "expected": expected, "seen": found}
        findings.findings = [record_of(FindingView, rule="PCQ1", message="odd\x1b", **said)]
        yield f"a finding: {said}", [findings.line(0)]


def of_first_layers() -> Iterator[tuple[str, list[Text]]]:
    for ids in (
        "request.pdu1 request.stub response.stub response.buffer",
        *("response.pdu1 response.stub request.stub", "request.pdu1 request.stub request.buffer"),
        *("request.pdu1 request.sealed1", ""),
    ):
        tree: Any = SimpleNamespace(view=view(side("request", *(layer(id, "stub") for id in ids.split()))))
        found = _first(tree)
        yield f"looked at first of {ids or 'nothing'}", [Text(found.id if found is not None else "none")]


def test_lines_of_all_panes_are_in_one_text() -> None:
    """`PCQ_WRITE_PAGES=1 pytest -n 0 THIS_FILE` writes it, with the styles and, of a tree, the keys."""
    found = chain(of_calls(), of_trees(), of_others(), of_first_layers())
    text = "".join("\n  ".join([name, *map(marked, lines)]) + "\n" for name, lines in found)
    is_as_written(Path(__file__).with_name("panes.txt"), text)


def test_a_course_has_as_many_cells_as_stand_before_its_value() -> None:
    assert _SPARK_CELLS == 24  # of the 80 columns of the least terminal


# --------------------------------------------------------------------------------------------------------- the browser


def test_without_a_call_no_layer_is_looked_at() -> None:
    assert _first(SimpleNamespace(view=None)) is None
