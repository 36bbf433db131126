"""The panes of the browser: call list, tree of a call, bytes, series, findings, all laid out from the view model.

Their base is `Lines`: any number of lines, one of them current. Only the visible ones are made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import ClassVar

from msgspec import Struct
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import Static

from analyzer.core.printable_text import cut_in_middle, printable, shortened
from analyzer.core.times import NS_PER_S
from analyzer.results.records.display_records import (
    CallView,
    FindingView,
    LayerBytes,
    LayerKind,
    Node,
    Row,
    SeriesView,
    SideView,
)
from analyzer.screens.views.counters import Spark, compact
from analyzer.screens.views.show import node_words
from analyzer.screens.views.text_report import OUTCOME_STYLES

# ------------------------------------------------------------------------------------------------------------ line pane


# Beyond so many columns a line is cut off.
_WIDTH = 1000


class Lines(ScrollView, can_focus=True):
    """A pane of the browser with any number of lines. A subclass overrides `line` and calls `show` when its lines change."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "step(1)", "next", show=False),
        Binding("up,k", "step(-1)", "previous", show=False),
        Binding("pagedown", "page(1)", "page down", show=False),
        Binding("pageup", "page(-1)", "page up", show=False),
        Binding("home,g", "edge(0)", "first", show=False),
        Binding("end,G", "edge(1)", "last", show=False),
        Binding("enter", "choose", "choose", show=False),
    ]
    DEFAULT_CSS = "Lines { scrollbar-size-horizontal: 0; }"
    current: reactive[int] = reactive(0)
    marks_current = True

    class Moved(Message):
        """The message that another line of a browser's pane is current."""

        def __init__(self, lines: Lines) -> None:
            super().__init__()
            self.lines = lines

        @property
        def control(self) -> Lines:
            return self.lines

    class Chosen(Moved):
        """The message that the current line of a browser's pane was chosen, by Enter or a second click."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.count = 0

    def line(self, at: int) -> Text:
        """Returns the text of a line in the browser's pane."""
        raise NotImplementedError

    def show(self, count: int, current: int = 0) -> None:
        """Shows `count` new lines in the browser's pane."""
        self.count = count
        self.virtual_size = Size(_WIDTH, count)
        self.set_reactive(Lines.current, max(0, min(current, count - 1)))
        self._into_sight()
        self.refresh()

    def render_line(self, y: int) -> Strip:
        at = round(self.scroll_offset.y) + y
        width = self.size.width
        if at >= self.count:
            return Strip.blank(width)
        text = self.line(at)
        first = round(self.scroll_offset.x)
        # The current line is reversed and has one colour: every terminal can show that.
        if at == self.current and self.marks_current:
            style = Style(reverse=True, bold=self.has_focus or None)
            return Strip([Segment(text.plain, style)]).crop_extend(first, first + width, style)
        text.no_wrap = True
        return Strip(text.render(self.app.console)).crop_extend(first, first + width, None)

    def watch_current(self) -> None:
        self._into_sight()
        if self.count:
            self.post_message(self.Moved(self))

    def _into_sight(self) -> None:
        self.scroll_to_region(Region(round(self.scroll_offset.x), self.current, 1, 1), animate=False, force=True)

    def _go(self, at: int) -> None:
        if self.count:
            self.current = max(0, min(at, self.count - 1))

    def action_step(self, by: int) -> None:
        self._go(self.current + by)

    def action_page(self, by: int) -> None:
        self._go(self.current + by * max(1, self.size.height - 1))

    def action_edge(self, which: int) -> None:
        self._go(which * (self.count - 1))

    def action_choose(self) -> None:
        if self.count:
            self.post_message(self.Chosen(self))

    def on_click(self, event: events.Click) -> None:
        at = round(self.scroll_offset.y) + event.y
        if at >= self.count:
            return
        if at == self.current:
            self.action_choose()
        self._go(at)


# ---------------------------------------------------------------------------------------------------------------- panes


_SEVERITIES = {"error": "bold red", "warning": "yellow", "info": "cyan"}
BYTES_IN_LINE = 16
# The kinds of layers from the outside in, with their plurals. More than a few layers of a kind stand under one line.
_GROUPS: dict[LayerKind, str] = {
    "frame": "frames",
    "tcp": "TCP payloads",
    "smb": "SMB messages",
    "pdu": "PDUs",
    "sealed": "sealed stubs",
    "stub": "stubs",
    "buffer": "buffers",
}
_FEW = 3
# Terminals of fewer columns show shorter times and names in the list of calls.
_WIDE = 110
_SPARK_CELLS = 24
_LEAST_ASKED = 16


class CallList(Lines):
    """The browser's call list, one call a line. A call is read when its line is drawn."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.order: Sequence[int] = ()
        self.row: Callable[[int], Row] = lambda number: NotImplemented
        self.base = 0
        # The first name of each address that has one.
        self.names: Mapping[str, str] = {}

    @property
    def number(self) -> int | None:
        """Returns the number of the current call in the browser's list."""
        return self.order[self.current] if self.order else None

    def line(self, at: int) -> Text:
        row = self.row(self.order[at])
        is_wide = self.size.width >= _WIDE
        words = f"{row.method} {row.asked}".rstrip()
        came = row.answered if row.outcome == "ok" and row.answered else row.status
        more = "" if row.outcome == "ok" or not row.answered else f", {row.answered}"
        outcome = f"=> {printable(came + more)}"
        number, time, name = (7, "12.6f", 16) if is_wide else (4, "8.3f", 9)
        text = Text(f"{row.number:>{number}} {(row.time_ns - self.base) / NS_PER_S:{time}} ")
        who, whom = (f"{shortened(printable(one), name):<{name}}" for one in (self._caller(row), self._called(row)))
        text.append(f" {who}>{whom} ", "magenta")
        text.append(f"{(row.handle or ''):<2} ", "cyan")
        # A long line shows the beginnings of request and outcome; on a narrow terminal, also the end of the request.
        left = self.size.width - len(text)
        room = max(_LEAST_ASKED, left // 2, left - len(outcome) - 1)
        text.append(f"{(shortened if is_wide else cut_in_middle)(printable(words), room)} ")
        text.append(outcome, OUTCOME_STYLES[row.outcome])
        if row.latency_ns is not None:
            text.append(f"  {row.latency_ns / 1e6:.3f} ms", "blue")
        return text

    def _caller(self, row: Row) -> str:
        """Returns the caller that the pane of calls shows: the account without its domain, with "?" if it is only claimed; else the
        machine."""
        if row.user is not None or row.claimed_user is not None:
            account = (row.user or f"{row.claimed_user}?").rpartition("\\")[2]
            return account.partition("@")[0] if "@" in account else account
        return self.names.get(row.client.ip, row.client.ip)

    def _called(self, row: Row) -> str:
        return self.names.get(row.server.ip, row.server.ip)


class _TreeLine(Struct):
    """A line of the browser's tree: a side, a layer, or a field of it."""

    depth: int
    words: Text | None
    layer: LayerBytes | None = None
    node: Node | None = None
    opens: bool = False
    key: str = ""

    @property
    def text(self) -> Text:
        """Returns the text of a line in the browser's tree. A field's text is made when its line is drawn: a call may have
        10,000."""
        if self.words is not None:
            return self.words
        assert self.node is not None
        if self.node.children:
            # The line above the bytes says where it is specified.
            name = Text(f"{printable(self.node.spelling or self.node.name)}:")
            return name.append(" §", "dim") if self.node.reference else name
        return Text(printable(node_words(self.node)))


class Tree(Lines):
    """The browser's tree of a call: its sides, their layers and fields. Lines with fields below them open and close."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.view: CallView | None = None
        self.shown: list[_TreeLine] = []
        self._toggled: dict[str, bool] = {}
        self.is_all_open = False

    def look_at(self, view: CallView) -> None:
        """Shows another call in the browser's tree."""
        self.view, self._toggled = view, {}
        self._lay(0)

    def look_again(self, view: CallView) -> None:
        """Shows the same call in the browser's tree with further layers; the current line stays current."""
        here = self.shown[self.current] if self.shown else None
        self.view = view
        self.shown = list(self.lines())
        same = (
            at
            for at, one in enumerate(self.shown)
            if here is not None and (one.key, one.words) == (here.key, here.words)
        )
        self._lay(next(same, 0))

    def to_layer(self, id: str) -> None:
        """Moves to the line of a layer in the browser's tree, and opens its group."""
        self._toggled[_group_of(id)] = True
        self._lay(self.current)
        self._go(next((at for at, one in enumerate(self.shown) if one.key == id), self.current))

    def line(self, at: int) -> Text:
        one = self.shown[at]
        sign = ("- " if self._is_open(one) else "+ ") if one.opens else "  "
        return Text(f"{'  ' * one.depth}{sign}").append_text(one.text)

    def action_choose(self) -> None:
        if self.shown and (one := self.shown[self.current]).opens:
            self._toggled[one.key] = not self._is_open(one)
            self._lay(self.current)
        super().action_choose()

    def find(self, layer: str, start: int, stop: int) -> None:
        """Moves to the innermost field with this byte range in the browser's tree, else to its layer."""
        if self.view is None:
            return
        for side in self.view.sides:
            for one in side.layers:
                self._toggled[one.id] = one.id == layer or self._toggled.get(one.id, False)
        self._toggled[_group_of(layer)] = True
        self._lay(self.current)
        found = 0
        for at, line in enumerate(self.shown):
            if line.layer is not None and line.layer.id == layer:
                inside = line.node is None or (line.node.start <= start and stop <= line.node.stop)
                found = at if inside else found
        self._go(found)

    def _is_open(self, one: _TreeLine) -> bool:
        if self.is_all_open:
            return True
        is_first = one.layer is not None and one.node is None and one.layer.kind in ("stub", "buffer")
        return self._toggled.get(one.key, is_first or one.node is not None)

    def _lay(self, current: int) -> None:
        self.shown = list(self.lines())
        self.show(len(self.shown), current)
        self.post_message(self.Moved(self))

    def lines(self) -> Iterator[_TreeLine]:
        """Yields all visible lines of the browser's tree."""
        if self.view is None:
            return
        for side in self.view.sides:
            yield _TreeLine(0, Text(side.name, "bold"))
            yield from self._side_lines(side)
            for problem in (side.problem, side.missing):
                if problem is not None:
                    yield _TreeLine(1, Text(printable(f"stub: {problem}"), "red"))
        for lacking in dict.fromkeys(side.lacking for side in self.view.sides if side.lacking is not None):
            yield _TreeLine(
                0, Text(printable(f"frames, TCP payload and SMB messages are not shown: {lacking}"), "yellow")
            )
        for fact in self.view.facts:
            label = fact.label if fact.layer == "frames" else f"{fact.layer} {fact.label}"
            yield _TreeLine(0, Text().append(f"{label}: ", "blue").append(printable(fact.text)))

    def _side_lines(self, side: SideView) -> Iterator[_TreeLine]:
        """Yields the layers of a side as lines of the browser's tree; more than a few of one kind stand under one line."""
        for kind, words in _GROUPS.items():
            layers = [layer for layer in side.layers if layer.kind == kind]
            if len(layers) > _FEW:
                line = _TreeLine(1, Text(f"{len(layers)} {words}", "cyan"), opens=True, key=f"{side.name}.{kind}s")
                yield line
                if not self._is_open(line):
                    continue
            for layer in layers:
                yield from self._layer_lines(layer)

    def _layer_lines(self, layer: LayerBytes) -> Iterator[_TreeLine]:
        steps = f" ({', '.join(layer.undone_by or layer.steps)})" if layer.undone_by or layer.steps else ""
        title = Text().append(layer.title, "cyan").append(f", {len(layer.data)} bytes{printable(steps)}")
        line = _TreeLine(1, title, layer, None, layer.tree is not None and bool(layer.tree.children), layer.id)
        yield line
        if layer.tree is not None and self._is_open(line):
            for at, child in enumerate(layer.tree.children):
                yield from self._node_lines(layer, child, 2, f"{layer.id}.{at}")
        for text, style in [*((note, "cyan") for note in layer.notes), (layer.problem, "red")]:
            if text is not None:
                yield _TreeLine(2, Text(printable(text), style))

    def _node_lines(self, layer: LayerBytes, node: Node, depth: int, key: str) -> Iterator[_TreeLine]:
        line = _TreeLine(depth, None, layer, node, bool(node.children), key)
        yield line
        if line.opens and self._is_open(line):
            for at, child in enumerate(node.children):
                yield from self._node_lines(layer, child, depth + 1, f"{key}.{at}")


def _group_of(layer: str) -> str:
    """Returns the key of the tree line above all layers of the same side and kind: `request.pdus` for `request.pdu12`."""
    return f"{layer.rstrip('0123456789')}s"


class LayerTabs(Static):
    """The browser's tabs for the layers of a call, one line a side. The shown layer stands out, and a click chooses another."""

    class Picked(Message):
        """The message that the user chose a layer in the browser."""

        def __init__(self, layer: str) -> None:
            super().__init__()
            self.layer = layer

    def show(self, view: CallView | None, current: LayerBytes | None) -> None:
        """Shows the layers of a call in the browser's tabs, and marks the current one."""
        self.lines: list[list[tuple[int, int, str]]] = []
        text = Text()
        for side in view.sides if view is not None else ():
            start = len(text)
            places: list[tuple[int, int, str]] = []
            text.append(f"{side.name:<9}", "bold")
            for kind in _GROUPS:
                layers = [layer for layer in side.layers if layer.kind == kind]
                if not layers:
                    continue
                here = next((layer for layer in layers if layer is current), None)
                words = kind + (f" {layers.index(here) + 1 if here else ''}/{len(layers)}" if len(layers) > 1 else "")
                text.append(" ")
                places.append((len(text) - start, len(text) - start + len(words), (here or layers[0]).id))
                text.append(words, "reverse" if here is not None else "cyan")
            self.lines.append(places)
            text.append("\n")
        self.update(text)

    def on_click(self, event: events.Click) -> None:
        for start, stop, layer in self.lines[event.y] if event.y < len(self.lines) else ():
            if start <= event.x < stop:
                self.post_message(self.Picked(layer))


class Bytes(Lines):
    """The browser's pane of a layer's bytes; it highlights those of the current field."""

    marks_current = False

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.of_layer: LayerBytes | None = None
        self.span = (0, 0)

    def look_at(self, layer: LayerBytes | None, span: tuple[int, int]) -> None:
        self.of_layer, self.span = layer, span
        count = -(-len(layer.data) // BYTES_IN_LINE) if layer is not None else 0
        self.show(count, span[0] // BYTES_IN_LINE)

    def line(self, at: int) -> Text:
        assert self.of_layer is not None
        start = at * BYTES_IN_LINE
        row = self.of_layer.data[start : start + BYTES_IN_LINE]
        text = Text().append(f"{start:06x}  ", "blue")
        for position, byte in enumerate(row, start):
            text.append(f"{byte:02x}", "bold black on yellow" if self._is_in(position) else "default")
            text.append("  " if position % 8 == 7 else " ")
        text.append("   " * (BYTES_IN_LINE - len(row)))
        for position, byte in enumerate(row, start):
            letter = chr(byte) if 32 <= byte < 127 else "."
            text.append(letter, "bold black on yellow" if self._is_in(position) else "default")
        return text

    def _is_in(self, position: int) -> bool:
        return self.span[0] <= position < self.span[1]


class SeriesList(Lines):
    """The browser's list of counter series, with their course as a sparkline."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.series: Sequence[SeriesView] = ()
        self._left_out: Sequence[str] = ()
        self._is_of_one = False

    def look_at(self, series: Sequence[SeriesView], left_out: Sequence[str]) -> None:
        """Puts these series of counters in the browser's list, and sentences about those `left_out` before them. The list names the
        machine only if there are several."""
        self.series, self._left_out = series, left_out
        self._is_of_one = len({one.server for one in series}) == 1
        self.show(len(left_out) + len(series))

    def line(self, at: int) -> Text:
        if at < len(self._left_out):
            return Text(printable(self._left_out[at]), "yellow")
        one = self.series[at - len(self._left_out)]
        spark = Spark(_SPARK_CELLS)
        for value in one.values:
            spark.add_value(value)
        known = [value for value in one.values if value is not None]
        text = Text().append(f"{spark!s:<{_SPARK_CELLS}} ", "green")
        text.append(f"{compact(known[-1]) if known else '-':>11} {one.unit or '':<3}", "bold")
        text.append(f" {len(known):>4}/{len(one.values):<4} ")
        path = one.path.removeprefix(f"\\\\{one.server}") if self._is_of_one else one.path
        room = self.scrollable_content_region.width - len(text) - len(one.handle) - 2
        path = cut_in_middle(printable(path), max(_LEAST_ASKED, room))
        return text.append(f"{path}  ").append(one.handle, "cyan")


class FindingList(Lines):
    """The browser's list of findings. Choosing one shows its call and bytes."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.findings: Sequence[FindingView] = ()

    def line(self, at: int) -> Text:
        one = self.findings[at]
        text = Text().append(f"{one.severity:<8}", _SEVERITIES[one.severity]).append(f"{one.rule} ", "bold")
        where = f"#{one.call} " if one.call is not None else ""
        values = [f"{name} {value}" for name, value in (("expected", one.expected), ("seen", one.seen)) if value]
        text.append(where, "cyan").append(printable(one.message))
        return text.append(f" ({printable(', '.join(values))})" if values else "", "yellow")
