"""The application of `browse`: a capture in three panes of a terminal, with tabs for series, findings and polled machines
(Textual).

A function reads the capture in a thread and reports progress; another one reads its packets again. The panes read a call when its
line is drawn, so that the size of a capture does not matter. Filters, series, packets and the audit run in threads, which look at
the same calls.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np
from msgspec.structs import replace
from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.suggester import Suggester
from textual.widgets import Footer, Input, ProgressBar, Static, TabbedContent, TabPane
from textual.worker import get_current_worker

from analyzer.core.errors import InputError
from analyzer.core.printable_text import printable
from analyzer.interfaces.call_contents.machine_names import machine_names
from analyzer.questions.audit.audit_engine import Audit
from analyzer.questions.differences.machine_facts import peers_of
from analyzer.questions.films.film_maker import FilmMaker
from analyzer.questions.filters.field_values import CallColumns
from analyzer.questions.filters.filter import CallFilter
from analyzer.questions.filters.filterable_fields import call_fields
from analyzer.questions.series.series_limit import SeriesLimit
from analyzer.results.analysis import Analysis
from analyzer.results.captured_packets import Packets
from analyzer.results.records.display_records import CallView, LayerBytes, Row
from analyzer.screens.browse.host_pane import HostPane
from analyzer.screens.browse.panes import Bytes, CallList, FindingList, LayerTabs, Lines, SeriesList, Tree
from analyzer.screens.viewmodel.call_layers import call_view
from analyzer.screens.viewmodel.call_list import row_of
from analyzer.screens.viewmodel.placed_findings import finding_views
from analyzer.screens.viewmodel.plotted_series import left_out_words, series_views

# Called now and then with frames and bytes read.
Progress = Callable[[int, int], None]
Reading = Callable[[Progress], Analysis]
PacketReading = Callable[[Analysis], Analysis]
_WORD = re.compile(r"[\w.]*$")
MAX_READINGS = 2_000_000
# After this many filtered calls, the browser checks whether the result is still wanted.
_AT_ONCE = 4096


class FieldSuggester(Suggester):
    """Completes the name of a filter field while it is typed in the browser."""

    async def get_suggestion(self, value: str) -> str | None:
        word = _WORD.search(value)
        if word is None or not word[0]:
            return None
        found = min((name for name in call_fields() if name.startswith(word[0])), key=len, default=None)
        return value[: word.start()] + found if found is not None else None


class FilterInput(Input):
    """The browser's input line for the filter. Tab completes the name of a field; if there is nothing to complete, it moves to the
    list."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("tab", "complete", "complete", show=False)]

    async def action_complete(self) -> None:
        found = await self.suggester.get_suggestion(self.value) if self.suggester is not None else None
        if found is None or found == self.value:
            self.screen.focus_next()
        else:
            self.value = found
            self.cursor_position = len(found)


_HELP = """\
Keys of browse                                    any key closes this

  up, down, j, k       the line above or below; also PageUp, PageDown
  Home, End, g, G      the first or the last line
  Enter                calls: go to the tree; tree: open or close;
                       findings: go to the call and its bytes
  Tab                  the next pane
  l, L                 the next layer of the call, or the one before
  /                    write a filter, as for timeline -Y:
                       status != 0, handle == q2
  h                    only calls of this call's handle
  Escape               leave the filter out
  1, 2, 3, 4           calls, counter series, audit findings, host
  left, right, space   host: a moment back or on; play
  s, m                 host: sort by the next column; the next machine
  q                    quit

A call: number, seconds since the first frame, account > machine,
handle, what was asked => what came back. "account?" is only claimed.
Green: answered. Red: failed. Yellow: sealed, or answered in part."""


class HelpScreen(ModalScreen[None]):
    """The help screen of the browser: shows its keys until a key is pressed."""

    CSS = """
    HelpScreen { align: center middle; }
    HelpScreen Static { width: 74; height: auto; border: solid $foreground; padding: 0 1; }
    """

    def compose(self) -> ComposeResult:
        yield Static(_HELP, markup=False)

    def on_key(self, event: events.Key) -> None:
        event.stop()
        self.dismiss()

    def on_click(self) -> None:
        self.dismiss()


class _Tabs(Vertical):
    """The tabs of the browser: calls, series, findings and host."""

    def compose(self) -> ComposeResult:
        with TabbedContent(initial="of-calls"):
            with TabPane("Calls", id="of-calls"):
                yield FilterInput(
                    placeholder="filter, as for timeline -Y: /", id="filter", suggester=FieldSuggester(), compact=True
                )
                yield CallList(id="calls")
                with Horizontal(id="below"):
                    yield Tree(id="tree")
                    with Vertical(id="right"):
                        yield LayerTabs(id="tabs-of-layers")
                        yield Static(id="layer")
                        yield Bytes(id="bytes")
                yield Static(id="status")
            with TabPane("Series", id="of-series"):
                yield SeriesList(id="series")
            with TabPane("Findings", id="of-findings"):
                yield FindingList(id="findings")
            with TabPane("Host", id="of-host"):
                yield HostPane(id="host")


class Browser(App[None]):
    """The terminal browser of one capture. `size` is that of its files in bytes, 0 if unknown; `packets` adds its packets to an
    analysis."""

    CSS = """
    #reading { align: center middle; height: 1fr; }
    #reading Static { width: auto; }
    #tabs, TabbedContent, TabPane { height: 1fr; padding: 0; }
    #calls { height: 2fr; }
    #below { height: 3fr; border-top: solid $foreground; }
    #tree { width: 1fr; border-right: solid $foreground; }
    #right { width: 76; }
    .-narrow #below { layout: vertical; }
    .-narrow #tree { width: 1fr; border-right: none; }
    .-narrow #right { width: 1fr; border-top: solid $foreground; }
    #bytes { height: 1fr; }
    #layer, #status { height: 1; }
    #tabs-of-layers { height: 2; }
    #filter { height: 1; border: none; padding: 0; }
    #moment, #titles { height: 1; }
    #machine { height: 2fr; border-bottom: solid $foreground; }
    #tables { width: 42; border-right: solid $foreground; }
    #cells { height: 1fr; }
    .-narrow #machine { layout: vertical; }
    .-narrow #tables { width: 1fr; height: 5; border-right: none; border-bottom: solid $foreground; }
    """
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (130, "-wide")]  # noqa: RUF012  # as Textual declares it
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "filter", "filter"),
        Binding("h", "follow", "handle"),
        Binding("l", "layer(1)", "layer", show=False),
        Binding("L", "layer(-1)", "layer before", show=False),
        Binding("1", "tab('of-calls')", "calls"),
        Binding("2", "tab('of-series')", "series"),
        Binding("3", "tab('of-findings')", "findings"),
        Binding("4", "tab('of-host')", "host"),
        Binding("escape", "leave", "no filter", show=False),
        Binding("question_mark", "help", "help"),
        Binding("q", "quit", "quit"),
    ]

    def __init__(self, reading: Reading, title: str, size: int = 0, packets: PacketReading | None = None) -> None:
        super().__init__(ansi_color=True)
        # The 16 colours that the terminal has, as its user set them.
        self.theme = "ansi-dark"
        self.title, self._read_capture, self._bytes_to_read = title, reading, size
        self._read_packets = packets
        self.analysis: Analysis | None = None
        # The call that the tree will show, and the place in it that becomes current then.
        self._wanted: int | None = None
        self._aim: tuple[str, int, int] | None = None
        self.failure: InputError | None = None

    def compose(self) -> ComposeResult:
        with Vertical(id="reading"):
            yield Static(printable(f"reading {self.title}"))
            yield ProgressBar(total=self._bytes_to_read or None, show_eta=False)

    def on_mount(self) -> None:
        self.run_worker(self._read, thread=True)

    def _read(self) -> None:
        bar = self.query_one(ProgressBar)
        try:
            analysis = self._read_capture(lambda frames, done: self.call_from_thread(bar.update, progress=done))
        except InputError as error:
            self.failure = error
            self.call_from_thread(self.exit)
            return
        if self._read_packets is not None:
            analysis = replace(analysis, packets=Packets("they are being read"))
        self.analysis = analysis
        self.call_from_thread(self.call_later, self._begin)

    async def _begin(self) -> None:
        analysis = self.analysis
        assert analysis is not None
        await self.query_one("#reading").remove()
        await self.mount(_Tabs(id="tabs"), Footer())
        calls = self.query_one(CallList)
        calls.row, calls.base = self._row, analysis.capture.first_time_ns or 0
        calls.names = {ip: names[0] for ip, names in machine_names(analysis).items() if names}
        self._pass(range(1, len(analysis.calls) + 1))
        calls.focus()
        self.run_worker(self._derive, thread=True)

    def _row(self, number: int) -> Row:
        assert self.analysis is not None
        return row_of(self.analysis.calls[number - 1], self.analysis)

    def _derive(self) -> None:
        """Reads packets and makes findings, series and films for the browser in a thread, while calls are already shown."""
        analysis = self.analysis
        assert analysis is not None
        if self._read_packets is not None:
            try:
                found = self._read_packets(analysis)
            except InputError as error:
                found = replace(analysis, packets=Packets(str(error)))
            self.call_from_thread(self._show_packets, found)
        self.call_from_thread(self._show_findings, tuple(finding_views(analysis, Audit(analysis))))
        maker, limit = FilmMaker(), SeriesLimit()
        series, readings = series_views(analysis, MAX_READINGS, maker.take_readings, limit=limit)
        shown, left_out = tuple(one for one in series if not one.hidden), left_out_words(limit.left_out(), readings)
        self.call_from_thread(self.query_one(SeriesList).look_at, shown, left_out)
        names = {ip: peer.words for ip, peer in peers_of(analysis).items()}
        base = analysis.capture.first_time_ns or 0
        self.call_from_thread(self.query_one(HostPane).watch_films, maker.films(), names, base)

    def _show_packets(self, analysis: Analysis) -> None:
        self.analysis = analysis
        tree = self.query_one(Tree)
        if tree.view is not None and tree.view.row.number == self._wanted:
            tree.look_again(call_view(analysis, tree.view.row.number))

    def _show_findings(self, findings: Sequence[object]) -> None:
        pane = self.query_one(FindingList)
        pane.findings = findings  # type: ignore[assignment]
        pane.show(len(findings))

    # ------------------------------------------------------------------------------------------------ what is chosen

    def on_lines_moved(self, event: Lines.Moved) -> None:
        if isinstance(event.lines, CallList):
            self._open(event.lines.number)
        elif isinstance(event.lines, Tree):
            self._light(event.lines)

    def on_lines_chosen(self, event: Lines.Chosen) -> None:
        if isinstance(event.lines, CallList):
            self.query_one(Tree).focus()
        elif isinstance(event.lines, FindingList):
            finding = event.lines.findings[event.lines.current]
            if finding.call is not None:
                aim = (finding.layer, finding.start, finding.stop) if finding.layer is not None else None
                self._go_to(finding.call, aim)

    def _go_to(self, number: int, aim: tuple[str, int, int] | None = None) -> None:
        """Selects this call in the browser's list, even if the filter hides it, and the place `aim` in its tree."""
        assert self.analysis is not None
        calls = self.query_one(CallList)
        if number not in calls.order:
            self.query_one("#filter", Input).value = ""
            self._pass(range(1, len(self.analysis.calls) + 1))
        calls.current = calls.order.index(number)
        self.action_tab("of-calls")
        self._aim = aim
        view = self.query_one(Tree).view
        if view is not None and view.row.number == self._wanted == number:
            self._find()
        else:
            self._open(number)

    def _open(self, number: int | None) -> None:
        """Takes a call apart for the browser in a thread, so that the list scrolls on under held keys. Calls that were scrolled
        past are skipped."""
        if number is not None and self.analysis is not None and number != self._wanted:
            self._wanted = number
            self.run_worker(lambda: self._make_layers(number), thread=True)

    def _make_layers(self, number: int) -> None:
        analysis = self.analysis
        if analysis is not None and number == self._wanted:
            self.call_from_thread(self._look_at, analysis, call_view(analysis, number))

    def _look_at(self, analysis: Analysis, view: CallView) -> None:
        if view.row.number != self._wanted:
            return
        if analysis is self.analysis:
            self.query_one(Tree).look_at(view)
            self._find()
        else:  # its packets came meanwhile
            self.run_worker(lambda: self._make_layers(view.row.number), thread=True)

    def _find(self) -> None:
        if self._aim is not None:
            self.query_one(Tree).find(*self._aim)
        self._aim = None

    def _light(self, tree: Tree) -> None:
        """Makes the browser's app highlight the bytes of the tree's current line."""
        if not tree.shown:
            return
        one = tree.shown[tree.current]
        pane = self.query_one(Bytes)
        layer = one.layer if one.layer is not None else _first(tree)
        span = (one.node.start, one.node.stop) if one.node is not None else (0, 0)
        pane.look_at(layer, span)
        words = "nothing was captured"
        if layer is not None:
            start, stop = span if one.node is not None else (0, len(layer.data))
            frames = ", ".join(str(number) for _, number in layer.frames_at(start, stop)[:8]) or "none"
            words = f"{layer.id}: bytes {start} to {stop} of {len(layer.data)}, frames {frames}"
            if one.node is not None and one.node.reference:
                words += f"; {one.node.reference}"
        self.query_one("#layer", Static).update(words)
        self.query_one(LayerTabs).show(tree.view, layer)

    def on_layer_tabs_picked(self, event: LayerTabs.Picked) -> None:
        self.query_one(Tree).to_layer(event.layer)

    def on_host_pane_opened(self, event: HostPane.Opened) -> None:
        cell = event.cell
        assert cell.call is not None
        self._go_to(
            cell.call, None if cell.start is None else ("response.buffer", cell.start, cell.start + max(1, cell.size))
        )

    # ------------------------------------------------------------------------------------------------ keys

    def action_tab(self, name: str) -> None:
        if self.analysis is None:
            return
        self.query_one(TabbedContent).active = name
        self.query_one(f"#{name}").query(Lines).first().focus()

    def action_help(self) -> None:
        if not isinstance(self.screen, HelpScreen):
            self.push_screen(HelpScreen())

    def action_filter(self) -> None:
        if self.analysis is not None:
            self.query_one("#filter", Input).focus()  # which leads to its tab

    def action_leave(self) -> None:
        if self.analysis is not None:
            self.query_one("#filter", Input).value = ""
            self.run_filter("")
            self.query_one(CallList).focus()

    def action_follow(self) -> None:
        """Filters the browser's list to the calls of the current call's handle."""
        if self.analysis is None or (number := self.query_one(CallList).number) is None:
            return
        handle = self._row(number).handle
        if handle is None:
            self.query_one("#status", Static).update(f"call #{number} has no handle")
            return
        self.query_one("#filter", Input).value = f"handle == {handle}"
        self.run_filter(f"handle == {handle}")

    def action_layer(self, by: int) -> None:
        """Moves the browser's tree to the next layer of the call, or to the one before."""
        if self.analysis is None:
            return
        tree = self.query_one(Tree)
        ids = [layer.id for side in tree.view.sides for layer in side.layers] if tree.view is not None else []
        if ids:
            here = tree.shown[tree.current].layer
            at = ids.index(here.id) + by if here is not None else 0
            tree.to_layer(ids[at % len(ids)])

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.run_filter(event.value)
        self.query_one(CallList).focus()

    def run_filter(self, source: str) -> None:
        """Filters the browser's list of calls, or says what is wrong with the filter."""
        assert self.analysis is not None
        if not source.strip():
            self._pass(range(1, len(self.analysis.calls) + 1))
            return
        try:
            wanted = CallFilter(source)
        except InputError as error:
            self.query_one("#status", Static).update(printable(str(error)))
            return
        self.query_one("#status", Static).update("filtering ...")
        self.run_worker(lambda: self._filtered(wanted), thread=True, exclusive=True, group="filter")

    def _filtered(self, wanted: CallFilter) -> None:
        worker, analysis = get_current_worker(), self.analysis
        assert analysis is not None
        columns, found = CallColumns(analysis), list[int]()
        for first in range(1, len(analysis.calls) + 1, _AT_ONCE):
            if worker.is_cancelled:
                return
            numbers = np.arange(first, min(first + _AT_ONCE, len(analysis.calls) + 1))
            found += numbers[wanted.expression.passing(columns, numbers)].tolist()
        self.call_from_thread(self._pass, found)

    def _pass(self, order: Sequence[int]) -> None:
        assert self.analysis is not None
        calls = self.query_one(CallList)
        before = calls.number
        calls.order = order
        calls.show(len(order), order.index(before) if before is not None and before in order else 0)
        self._open(calls.number)
        self.query_one("#status", Static).update(f"{len(order):,} of {len(self.analysis.calls):,} calls")


def _first(tree: Tree) -> LayerBytes | None:
    """Returns the layer whose bytes the browser's app shows if none is chosen: the answer's buffer or stub, else the request's
    stub."""
    layers = [layer for side in tree.view.sides for layer in side.layers] if tree.view is not None else []
    for wanted in ("response.buffer", "response.stub", "request.stub"):
        for layer in layers:
            if layer.id == wanted:
                return layer
    return layers[0] if layers else None
