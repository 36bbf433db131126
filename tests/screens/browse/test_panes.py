"""The panes of the browser by themselves: lines of any number, and what each pane writes in one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from importlib.util import find_spec
from itertools import pairwise
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

if find_spec("textual") is not None:
    from textual.app import App, ComposeResult
    from textual.geometry import Size
    from textual.pilot import Pilot

    from analyzer.screens.browse.app import _first
    from analyzer.screens.browse.line_pane import Lines
    from analyzer.screens.browse.panes import (
        _FEW,
        _SPARK_CELLS,
        Bytes,
        CallList,
        FindingList,
        LayerTabs,
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


KEYS = (
    ("down", 5, 6),
    ("j", 5, 6),
    ("down", 29, 29),
    ("up", 5, 4),
    ("k", 5, 4),
    ("up", 0, 0),
    ("pagedown", 5, 14),
    ("pagedown", 25, 29),
    ("pageup", 12, 3),
    ("pageup", 5, 0),
    ("home", 12, 0),
    ("g", 12, 0),
    ("end", 3, 29),
    ("G", 3, 29),
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
    given: dict[str, Any] = {
        "number": 7,
        "time_ns": 3_250_000_000,
        "client": Endpoint("10.0.0.1", 5),
        "server": Endpoint("10.0.0.2", 445),
        "user": None,
        "claimed_user": None,
        "interface": None,
        "method": "Query",
        "handle": None,
        "asked": "",
        "answered": "",
        "status": "OK",
        "outcome": "ok",
        "state": "complete",
        "reason": None,
        "latency_ns": None,
        "frames": (),
    }
    return Row(**{**given, **more})


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({}, ("   ", "Query ", "=> OK", "green", None)),
        ({"handle": "q1", "asked": "of\x1b all"}, ("q1 ", "Query of\\x1b all ", "=> OK", "green", None)),
        ({"asked": "room for 4096 bytes"}, ("   ", "Query ro…6 bytes ", "=> OK", "green", None)),
        ({"handle": "q1234"}, ("q1234 ", "Query ", "=> OK", "green", None)),
        ({"answered": "3 blocks"}, ("   ", "Query ", "=> 3 blocks", "green", None)),
        (
            {"answered": "more\u202e", "outcome": "failed", "status": "ERROR"},
            ("   ", "Query ", "=> ERROR, more\\u202e", "red", None),
        ),
        ({"outcome": "sealed", "status": "sealed"}, ("   ", "Query ", "=> sealed", "yellow", None)),
        ({"latency_ns": 1_234_567}, ("   ", "Query ", "=> OK", "green", "  1.235 ms")),
        ({"latency_ns": 0}, ("   ", "Query ", "=> OK", "green", "  0.000 ms")),
    ],
)
def test_a_line_of_a_call(changes: dict[str, Any], line: tuple[str, str, str, str, str | None]) -> None:
    pane = CallList(id="calls")
    assert pane.number is None
    pane.order, pane.base, pane.row = (9, 7), 1_000_000_000, lambda number: row(**{**changes, "number": number})
    pane.names = {"10.0.0.2": "SRV1"}
    handle, words, came, style, latency = line
    assert pane.number == 9
    assert parts(pane.line(1)) == [
        ("   7    2.250 ", ""),
        (" 10.0.0.1 >SRV1      ", "magenta"),
        (handle, "cyan"),
        (words, ""),
        (came, style),
        *([(latency, "blue")] if latency else []),
    ]


@pytest.mark.parametrize(
    ("changes", "who"),
    [
        ({"user": "LAB\\perfmon"}, "perfmon  "),
        ({"user": "perfmon@LAB.EXAMPLE"}, "perfmon  "),
        ({"claimed_user": "LAB\\admin"}, "admin?   "),
        ({"user": "LAB\\administrator"}, "administ…"),
    ],
)
def test_a_line_of_a_call_names_the_account(changes: dict[str, Any], who: str) -> None:
    pane = CallList(id="calls")
    pane.order, pane.row = (7,), lambda number: row(**changes)
    assert parts(pane.line(0))[1] == (f" {who}>10.0.0.2  ", "magenta")


# ---------------------------------------------------------------------------------------------------------------- tree


def node(name: str, start: int, length: int, *children: Node, value: Any = None) -> Node:
    return Node(name, name, "u4", start, length, value, None, "", children)


def layer(id: str, kind: str, tree: Node | None = None, data: bytes = bytes(8), **more: Any) -> LayerBytes:
    given: dict[str, Any] = {"title": f"the {kind}", "runs": (Run(0, 8, 3, 0, 0, 8),), "steps": ()}
    return LayerBytes(id=id, kind=kind, data=data, tree=tree, **{**given, **more})  # type: ignore[arg-type]


FIELDS = node(
    "stub", 0, 8, node("a", 0, 4, value=1), node("b", 4, 4, node("c", 4, 2, value=2), node("d", 6, 2, value=3))
)


def side(name: str, *layers: LayerBytes, **more: Any) -> SideView:
    return SideView(name=name, layers=layers, **{"missing": None, "buffer_kind": None, **more})  # type: ignore[arg-type]


def view(*sides: SideView, facts: tuple[Fact, ...] = ()) -> CallView:
    return CallView(row(), facts, sides)


def tree_of(*sides: SideView, facts: tuple[Fact, ...] = ()) -> Any:
    tree = Tree(id="tree")
    tree.view = view(*sides, facts=facts)
    tree.shown = list(tree.lines())
    return tree


def written(tree: Any) -> list[str]:
    return [tree.line(at).plain for at in range(len(tree.shown))]


def test_stubs_and_buffers_are_open_and_other_layers_closed() -> None:
    tree = tree_of(
        side(
            "request",
            layer("request.pdu1", "pdu", FIELDS),
            layer("request.stub", "stub", FIELDS),
            layer("request.buffer", "buffer", FIELDS),
        ),
        side("response", layer("response.stub", "stub"), layer("response.buffer", "buffer", node("x", 0, 8))),
    )
    fields = ["    - b:", "        c = 2", "        d = 3"]
    assert [line[:14].rstrip() for line in written(tree)] == [
        "  request",
        "  + the pdu, 8",
        "  - the stub,",
        "      a = 1",
        *fields,
        "  - the buffer",
        "      a = 1",
        *fields,
        "  response",
        "    the stub,",
        "    the buffer",
    ]
    assert [one.key for one in tree.shown[1:7]] == [
        "request.pdu1",
        "request.stub",
        "request.stub.0",
        "request.stub.1",
        "request.stub.1.0",
        "request.stub.1.1",
    ]
    assert [one.depth for one in tree.shown[:7]] == [0, 1, 1, 2, 2, 3, 3]
    tree.is_all_open = True
    assert len(list(tree.lines())) == len(tree.shown) + 4


@pytest.mark.parametrize(
    ("steps", "undone_by", "words"),
    [
        ((), (), "the pdu, 8 bytes"),
        (("joined", "x\x1b"), (), "the pdu, 8 bytes (joined, x\\x1b)"),
        (("joined",), ("NTLM",), "the pdu, 8 bytes (NTLM)"),
        ((), ("NTLM",), "the pdu, 8 bytes (NTLM)"),
    ],
)
def test_a_layer_says_what_was_undone(steps: tuple[str, ...], undone_by: tuple[str, ...], words: str) -> None:
    tree = tree_of(side("request", layer("request.pdu1", "pdu", steps=steps, undone_by=undone_by)))
    assert tree.shown[1].text.plain == words
    assert parts(tree.shown[1].text) == [("the pdu", "cyan"), (words[7:], "")]


def test_notes_and_damage_of_a_layer_are_below_it() -> None:
    tree = tree_of(
        side("request", layer("request.pdu1", "pdu", FIELDS, notes=("one\x1b", "two"), problem="broken\x1b"))
    )
    assert [(one.depth, parts(one.text)) for one in tree.shown[2:]] == [
        (2, [("one\\x1b", "cyan")]),
        (2, [("two", "cyan")]),
        (2, [("broken\\x1b", "red")]),
    ]


def test_what_is_lacking_is_said_of_a_side_and_once_of_packets() -> None:
    facts = (Fact("frames", "frames", "3, 4"), Fact("SMB", "session", "0x1\x1b"))
    tree = tree_of(
        side("request", missing="sealed", problem="short\x1b", lacking="a case\x1b"),
        side("response", lacking="a case\x1b"),
        facts=facts,
    )
    lacking = "frames, TCP payload and SMB messages are not shown: a case\\x1b"
    assert [(one.depth, parts(one.text)) for one in tree.shown] == [
        (0, [("request", "bold")]),
        (1, [("stub: short\\x1b", "red")]),
        (1, [("stub: sealed", "red")]),
        (0, [("response", "bold")]),
        (0, [(lacking, "yellow")]),
        (0, [("frames: ", "blue"), ("3, 4", "")]),
        (0, [("SMB session: ", "blue"), ("0x1\\x1b", "")]),
    ]


def test_more_than_three_layers_of_a_kind_stand_under_one_line() -> None:
    pdus = [layer(f"request.pdu{at}", "pdu", title=f"PDU {at}") for at in (1, 2, 3, 4)]
    sealed = [layer(f"request.sealed{at}", "sealed") for at in (1, 2, 3)]
    tree = tree_of(side("request", *sealed, *pdus))
    # In the order of layers, from the outside in.
    assert written(tree) == ["  request", "  + 4 PDUs", *["    the sealed, 8 bytes"] * 3]
    group = tree.shown[1]
    assert (group.key, group.depth, group.opens, group.layer) == ("request.pdus", 1, True, None)
    assert parts(group.text) == [("4 PDUs", "cyan")]
    tree.is_all_open = True
    tree.shown = list(tree.lines())
    assert written(tree)[1:4] == ["  - 4 PDUs", "    PDU 1, 8 bytes", "    PDU 2, 8 bytes"]


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("frame", "frames"),
        ("tcp", "TCP payloads"),
        ("smb", "SMB messages"),
        ("pdu", "PDUs"),
        ("sealed", "sealed stubs"),
        ("stub", "stubs"),
        ("buffer", "buffers"),
    ],
)
def test_many_of_a_kind_have_a_name(kind: str, words: str) -> None:
    layers = [layer(f"response.{kind}{at}", kind) for at in range(_FEW + 1)]
    tree = tree_of(side("response", *layers))
    assert written(tree)[1] == f"  + 4 {words}"
    assert tree.shown[1].key == _group_of(layers[2].id) == _group_of(f"response.{kind}12") == f"response.{kind}s"


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
        for current, words, marked in (
            (None, ["request   pdu /2 stub", "response  stub"], []),
            (pdus[1], ["request   pdu 2/2 stub", "response  stub"], ["pdu 2/2"]),
            (pdus[0], ["request   pdu 1/2 stub", "response  stub"], ["pdu 1/2"]),
            (stubs[1], ["request   pdu /2 stub", "response  stub"], ["stub"]),
        ):
            shown: list[Text] = []
            tabs.update, update = shown.append, tabs.update
            tabs.show(whole, current)
            tabs.update = update
            (text,) = shown
            assert text.plain.splitlines() == words
            found = dict.fromkeys(("bold", "cyan", "reverse"), ())
            for piece, style in parts(text):
                found[style] = (*found.get(style, ()), piece)
            assert found["bold"] == ("request  ", "response ")
            assert list(found["reverse"]) == marked
            assert len(found["cyan"]) == 3 - len(marked)
            tabs.update(text)
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
    pane.show = lambda count, current=0: shown.append((count, current))  # type: ignore[method-assign,misc]
    one = layer("request.stub", "stub", data=bytes(size))
    pane.look_at(one, span)
    assert (shown, pane.of_layer, pane.span, pane.marks_current) == ([(count, current)], one, span, False)
    pane.look_at(None, (0, 0))
    assert shown[1] == (0, 0)


def test_the_bytes_of_a_field_stand_out() -> None:
    pane = Bytes(id="bytes")
    assert (pane.of_layer, pane.span) == (None, (0, 0))
    pane.of_layer, pane.span = layer("request.stub", "stub", data=bytes(range(0x18, 0x28)) + b"~\x7f"), (7, 10)
    text = pane.line(0)
    assert text.plain == "000000  18 19 1a 1b 1c 1d 1e 1f  20 21 22 23 24 25 26 27  ........ !\"#$%&'"
    assert pane.line(1).plain == "000010  7e 7f " + "   " * 14 + "~."
    marked = [piece for piece, style in parts(text) if style == "bold black on yellow"]
    assert marked == ["1f", "20", "21", ".", " ", "!"]
    assert parts(text)[0] == ("000000  ", "blue")
    pane.span = (16, 17)
    assert [piece for piece, style in parts(pane.line(1)) if style == "bold black on yellow"] == ["7e", "~"]


def series(values: tuple[float | None, ...], unit: str | None = "%") -> SeriesView:
    return SeriesView(
        number=1,
        source="winperf",
        server="s",
        client="c",
        handle="q1",
        group="G",
        instance=None,
        counter="C",
        path="\\G\x1b\\C",
        added=None,
        type=None,
        unit=unit,
        hidden=False,
        calls=(),
        times_ns=(),
        values=values,
        reasons=(),
    )


@pytest.mark.parametrize(
    ("values", "unit", "spark", "last"),
    [
        ((None,), None, "", "          -    "),
        ((1.0, None, 3.0, None), "%", "▁·█·", "          3 %  "),
        ((2.0,), "B/s", "▄", "          2 B/s"),
    ],
)
def test_a_series_is_its_course_and_its_last_value(
    values: tuple[float | None, ...], unit: str | None, spark: str, last: str
) -> None:
    pane = SeriesList(id="series")
    pane.series = [series((9.0,)), series(values, unit)]
    known = sum(value is not None for value in values)
    assert parts(pane.line(1)) == [
        (f"{spark:<24} ", "green"),
        (last, "bold"),
        (f" {known:>4}/{len(values):<4} \\G\\x1b\\C  ", ""),
        ("q1", "cyan"),
    ]


def test_a_course_has_as_many_cells_as_stand_before_its_value() -> None:
    assert _SPARK_CELLS == 24  # of the 80 columns of the least terminal
    pane = SeriesList(id="series")
    pane.series = [series(tuple(map(float, range(24))))]
    assert " " not in pane.line(0).plain[:24]
    assert pane.line(0).plain[24] == " "


@pytest.mark.parametrize(("severity", "style"), [("error", "bold red"), ("warning", "yellow"), ("info", "cyan")])
@pytest.mark.parametrize(
    ("call", "expected", "seen", "where", "values"),
    [
        (3, "1\x1b", "2", "#3 ", " (expected 1\\x1b, seen 2)"),
        (0, None, "2", "#0 ", " (seen 2)"),
        (None, "1", None, "", " (expected 1)"),
        (None, None, None, "", ""),
    ],
)
def test_a_finding_is_its_rule_its_call_and_what_was_seen(
    severity: Any, style: str, call: int | None, expected: str | None, seen: str | None, where: str, values: str
) -> None:
    pane = FindingList(id="findings")
    given: dict[str, Any] = dict.fromkeys(FindingView.__struct_fields__, "")
    found = {
        "severity": severity,
        "rule": "PCQ1",
        "message": "odd\x1b",
        "call": call,
        "expected": expected,
        "seen": seen,
    }
    pane.findings = [FindingView(**{**given, **found})]
    assert parts(pane.line(0)) == [
        (f"{severity:<8}", style),
        ("PCQ1 ", "bold"),
        *([(where, "cyan")] if where else []),
        ("odd\\x1b", ""),
        *([(values, "yellow")] if values else []),
    ]


# --------------------------------------------------------------------------------------------------------- the browser


@pytest.mark.parametrize(
    ("ids", "first"),
    [
        (("request.pdu1", "request.stub", "response.stub", "response.buffer"), "response.buffer"),
        (("response.pdu1", "response.stub", "request.stub"), "response.stub"),
        (("request.pdu1", "request.stub", "request.buffer"), "request.stub"),
        (("request.pdu1", "request.sealed1"), "request.pdu1"),
        ((), None),
    ],
)
def test_the_layer_that_is_looked_at_first(ids: tuple[str, ...], first: str | None) -> None:
    layers = [layer(id, "stub") for id in ids]
    found = _first(SimpleNamespace(view=view(side("request", *layers))))  # type: ignore[arg-type]
    assert (found and found.id) == first
    assert _first(SimpleNamespace(view=None)) is None  # type: ignore[arg-type]
