"""The host pane of the browser: the polled tables of a machine, the instances of one table, and the counters of one instance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Static

from analyzer.core.printable_text import printable
from analyzer.core.times import NS_PER_S, iso_time
from analyzer.questions.films.film import Films
from analyzer.screens.browse.panes import Lines
from analyzer.screens.viewmodel.task_manager import MachineCell, MachineRow, MachineTable, WatchedMachine
from analyzer.screens.views.counters import Spark

_STEPS_PER_S = 4
# Polls of a sparkline.
_SPARK_CELLS = 24
_NAME, _LEAST, _MOST = 30, 9, 26
_STYLES = {"started": "green", "ended": "red", None: "default"}


class TableList(Lines):
    """The browser's list of a machine's countersets."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.tables: Sequence[MachineTable] = ()

    def line(self, at: int) -> Text:
        one = self.tables[at]
        count = sum(row.change != "ended" for row in one.rows)
        text = Text(printable(one.film.names[0]))
        text.append("  not polled yet" if one.poll is None else f"  {count}" if one.has_instances else "", "cyan")
        return text.append(f"  {printable(one.film.handles[0])} of {printable(one.film.client)}", "blue")


class RowList(Lines):
    """The browser's list of a counterset's instances at the present moment."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.table: MachineTable | None = None
        self.rows: Sequence[MachineRow] = ()

    @property
    def row(self) -> MachineRow | None:
        """Returns the current instance of the browser's list."""
        return self.rows[self.current] if self.rows else None

    def titles(self, by: int | None) -> Text:
        """Returns the column titles above the browser's list of instances. `by` is the column that it is sorted by."""
        text = Text(f"{'Name':<{_NAME}}", "bold")
        for at, (title, _) in enumerate(self.table.columns if self.table is not None else ()):
            text.append(_right(f"{title} ▾" if at == by else title, self._width(at)), "bold")
        return text

    def line(self, at: int) -> Text:
        one = self.rows[at]
        name = printable(one.name or "")
        mark = f" {one.change}" if one.change is not None else ""
        text = Text(f"{name[: _NAME - len(mark) - 1] + mark:<{_NAME}}", _STYLES[one.change])
        for column, cell in enumerate(one.cells):
            text.append(_right(_words(cell), self._width(column)), "default" if _has_value(cell) else "blue")
        return text

    def _width(self, column: int) -> int:
        assert self.table is not None
        return min(_MOST, max(_LEAST, len(self.table.columns[column][0]) + 2)) + 2


class CounterList(Lines):
    """The browser's list of the current instance's counters with their course. Choosing one shows its bytes."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.machine: WatchedMachine | None = None
        self.table: MachineTable | None = None
        self.row: MachineRow | None = None

    def line(self, at: int) -> Text:
        assert self.machine is not None
        assert self.table is not None
        assert self.table.poll is not None
        assert self.row is not None
        (title, column), cell, spark = self.table.columns[at], self.row.cells[at], Spark(_SPARK_CELLS)
        about = self.table.film.columns[column] if column is not None else None
        if column is not None:
            for value in self.machine.course(self.table.film, self.row.number, column, self.table.poll, _SPARK_CELLS):
                spark.add_value(value)
        text = Text().append(f"{spark!s:<{_SPARK_CELLS}} ", "green")
        unit = about.unit if about is not None else ""
        text.append(f"{_words(cell):>20} {unit:<3}", "bold" if _has_value(cell) else "blue")
        text.append(f" {printable(about.names[0] if about is not None else title)}")
        if cell.call is not None:
            place = "" if cell.start is None else f", from byte {cell.start}"
            if cell.start is not None and cell.size:
                place = f", bytes {cell.start} to {cell.start + cell.size}"
            text.append(f"  #{cell.call}{place}", "cyan")
        return text.append(f"  {printable(cell.says)}" if cell.says else "", "yellow")


class HostPane(Vertical):
    """The browser's pane of a machine at a moment. Arrow keys step, space plays, before the lists in it can scroll by them."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "step(-1)", "moment back", priority=True),
        Binding("right", "step(1)", "moment on", priority=True),
        Binding("ctrl+left", "step(-10)", "ten back", show=False, priority=True),
        Binding("ctrl+right", "step(10)", "ten on", show=False, priority=True),
        Binding("space", "play", "play"),
        Binding("s", "sort", "sort"),
        Binding("m", "machine", "machine"),
    ]

    class Opened(Message):
        """The message that the user wants the bytes of a cell in the host pane."""

        def __init__(self, cell: MachineCell) -> None:
            super().__init__()
            self.cell = cell

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._machines: Sequence[tuple[str, WatchedMachine]] = ()
        self._which = self._moment = 0
        self._tables: list[MachineTable] = []
        # The column of each counterset that its instances are sorted by.
        self._sorted: dict[str, int] = {}
        self._playing: Timer | None = None
        self._base_ns = 0

    def compose(self) -> ComposeResult:
        yield Static("no machine was polled for counter values", id="moment")
        with Horizontal(id="machine"):
            yield TableList(id="tables")
            with Vertical(id="of-table"):
                yield Static(id="titles")
                yield RowList(id="instances")
        yield CounterList(id="cells")

    def watch_films(self, films: Films, names: Mapping[str, str], base_ns: int) -> None:
        """Shows in the host pane what machines were polled for. `names` are those of machines by address."""
        self._machines = [(names.get(ip, ip), WatchedMachine(films, ip)) for ip in films.machines()]
        self._base_ns = base_ns
        self._look()

    def _look(self) -> None:
        if not self._machines:
            return
        name, machine = self._machines[self._which]
        time = machine.moments[self._moment]
        self._tables = list(machine.tables(time))
        where = f"moment {self._moment + 1:,} of {len(machine.moments):,}"
        others = f"  (m: {len(self._machines) - 1} more)" if len(self._machines) > 1 else ""
        words = f"{printable(name)}{others}  {iso_time(time)}  {(time - self._base_ns) / NS_PER_S:.6f} s, {where}"
        self.query_one("#moment", Static).update(Text(words, "bold"))
        tables = self.query_one(TableList)
        tables.tables = self._tables
        tables.show(len(self._tables), tables.current)
        self._look_at_table()

    def _look_at_table(self) -> None:
        table = self._tables[self.query_one(TableList).current]
        pane = self.query_one(RowList)
        is_same = pane.table is not None and pane.table.film is table.film
        before = pane.row.number if is_same and pane.row is not None else None
        by = self._sorted.get(table.film.names[0], table.use_column)
        pane.table, pane.rows = table, table.sorted_by(by)
        numbers = [row.number for row in pane.rows]
        pane.show(len(pane.rows), numbers.index(before) if before in numbers else 0)
        self.query_one("#titles", Static).update(pane.titles(by))
        self._look_at_row()

    def _look_at_row(self) -> None:
        rows, pane = self.query_one(RowList), self.query_one(CounterList)
        pane.machine, pane.table, pane.row = self._machines[self._which][1], rows.table, rows.row
        pane.show(len(rows.row.cells) if rows.row is not None else 0, pane.current)

    def on_lines_moved(self, event: Lines.Moved) -> None:
        event.stop()
        if isinstance(event.lines, TableList):
            self._look_at_table()
        elif isinstance(event.lines, RowList):
            self._look_at_row()

    def on_lines_chosen(self, event: Lines.Chosen) -> None:
        event.stop()
        following = {"tables": "#instances", "instances": "#cells"}.get(event.lines.id or "")
        if following is not None:
            self.query_one(following, Lines).focus()
        elif isinstance(event.lines, CounterList) and event.lines.row is not None:
            cell = event.lines.row.cells[event.lines.current]
            if cell.call is not None:
                self.post_message(self.Opened(cell))

    def action_step(self, by: int) -> None:
        if self._machines:
            last = len(self._machines[self._which][1].moments) - 1
            self._moment = max(0, min(self._moment + by, last))
            self._look()
            if self._moment == last:
                self._stop()

    def action_play(self) -> None:
        if self._playing is not None:
            self._stop()
        elif self._machines:
            self._playing = self.set_interval(1 / _STEPS_PER_S, lambda: self.action_step(1))

    def _stop(self) -> None:
        if self._playing is not None:
            self._playing.stop()
        self._playing = None

    def action_sort(self) -> None:
        """Sorts the host pane's instances by the next column."""
        if self._tables:
            table = self._tables[self.query_one(TableList).current]
            before = self._sorted.get(table.film.names[0], table.use_column)
            self._sorted[table.film.names[0]] = 0 if before is None else (before + 1) % len(table.columns)
            self._look_at_table()

    def action_machine(self) -> None:
        if self._machines:
            self._stop()
            self._which, self._moment = (self._which + 1) % len(self._machines), 0
            self._look()


def _has_value(cell: MachineCell) -> bool:
    return cell.value is not None or cell.is_text


def _words(cell: MachineCell) -> str:
    return printable(cell.words) + ("*" if cell.says and _has_value(cell) else "")


def _right(words: str, width: int) -> str:
    return f"{words if len(words) < width else words[: width - 2] + '…':>{width}}"
