"""Lays out a machine's counters like its Task Manager: the panel of each counterset, its usual counters, and the words of each
cell.

The page lays out films in its own script (`web/src/films.ts`), which must say the same as this module.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal

from msgspec import Struct

from analyzer.core.caches import Kept
from analyzer.questions.films.film import (
    NOT_ASKED,
    Change,
    Film,
    FilmBlock,
    FilmColumn,
    FilmFrame,
    FilmRow,
    Films,
    moments,
    read_block,
)


class Panel(Struct, frozen=True):
    """A panel of a Task Manager: its countersets by English names, and the counters that it always shows. A counter has a title and
    names, the preferred one first."""

    id: str
    title: str
    sets: tuple[str, ...]
    counters: tuple[tuple[str, tuple[str, ...]], ...] = ()


PANELS = (
    Panel(
        "processes",
        "Processes",
        ("Process", "Process V2"),
        (
            ("PID", ("ID Process", "Process ID")),
            ("Parent", ("Creating Process ID",)),
            ("CPU, %", ("% Processor Time",)),
            ("Memory", ("Working Set", "Working Set - Private", "Private Bytes")),
            ("Handles", ("Handle Count",)),
            ("Threads", ("Thread Count",)),
        ),
    ),
    Panel("cores", "Processors", ("Processor Information", "Processor")),
    Panel("memory", "Memory", ("Memory",)),
    Panel("disks", "Disks", ("PhysicalDisk", "LogicalDisk")),
    Panel("network", "Network", ("Network Interface", "TCPv4")),
    Panel("system", "System", ("System",)),
)
# Anything else that was polled.
OTHERS = Panel("others", "Other counters", ())


def panel_of(film: Film) -> Panel:
    """Returns the panel of the Task Manager that a film belongs to."""
    names = {name.casefold() for name in film.names}
    return next((one for one in PANELS if any(name.casefold() in names for name in one.sets)), OTHERS)


def usual_columns(film: Film) -> list[tuple[str, int | None]]:
    """Returns the counters that this Task Manager panel always shows, by title, each with its column in the film; None if it was
    not polled."""
    by_name = {name.casefold(): at for at, column in reversed(list(enumerate(film.columns))) for name in column.names}

    def column_of(names: Sequence[str]) -> int | None:
        return next((by_name[name.casefold()] for name in names if name.casefold() in by_name), None)

    return [(title, column_of(names)) for title, names in panel_of(film).counters]


class MachineCell(Struct, frozen=True):
    """A cell of a Task Manager: a counter of an instance at a poll. `words` are what a performance monitor shows, or why there is
    nothing; then, and for text, `value` is None. `says` is what else is known of it. The bytes are in the buffer of the answer of
    `call`, at `start`, None if unknown. A counter that was not polled has no call."""

    words: str
    value: int | Decimal | None
    says: str = ""
    call: int | None = None
    start: int | None = None
    size: int = 0
    is_text: bool = False


class MachineRow(Struct, frozen=True):
    """A row of a Task Manager: an instance, by its number in the film. An instance that ended since the poll before has no cells.
    `name` is as counter paths write it at this poll, or at the one before."""

    number: int
    name: str | None
    row: FilmRow
    change: Change | None
    cells: tuple[MachineCell, ...]


class MachineTable(Struct, frozen=True):
    """A table of a Task Manager: a counterset at a moment, as one client polled it. `poll` is None before the first poll. Columns
    have a title and their number in the film (None: not polled), the usual ones first."""

    film: Film
    panel: Panel
    poll: int | None
    columns: tuple[tuple[str, int | None], ...]
    rows: tuple[MachineRow, ...]

    @property
    def has_instances(self) -> bool:
        return any(one.name is not None for one in self.film.rows)

    @property
    def use_column(self) -> int | None:
        """Returns the column of a Task Manager's table that shows the use of the processor, else None."""
        asked = (
            at for at, (title, column) in enumerate(self.columns) if title.startswith("CPU") and column is not None
        )
        return next(asked, None)

    def sorted_by(self, column: int | None) -> list[MachineRow]:
        """Returns the rows of a Task Manager's table, the largest value first, those without a value last; unsorted without a
        column."""

        def rank(one: MachineRow) -> tuple[bool, Decimal]:
            value = one.cells[column].value if column is not None and one.cells else None
            return value is None, -Decimal(value or 0)

        return list(self.rows) if column is None else sorted(self.rows, key=rank)


# At most this many cells of decoded blocks are kept.
_MOST_CELLS = 8_000_000


class WatchedMachine:
    """Shows a machine like its Task Manager, at any moment of its polls."""

    def __init__(self, films: Films, ip: str) -> None:
        order = {one.id: place for place, one in enumerate((*PANELS, OTHERS))}
        self.ip, self._says = ip, films.says
        self.films = sorted(films.machines()[ip], key=lambda film: order[panel_of(film).id])
        self.moments = moments(self.films)
        self._frames: Kept[FilmFrame] = Kept(_MOST_CELLS)

    def tables(self, time_ns: int) -> Iterator[MachineTable]:
        """Yields the Task Manager's tables at a time: each counterset as its last poll showed it."""
        for film in self.films:
            poll = film.poll_at(time_ns)
            columns = columns_of(film)
            rows = () if poll < 0 else tuple(self._rows(film, poll, [at for _, at in columns]))
            yield MachineTable(film, panel_of(film), None if poll < 0 else poll, tuple(columns), rows)

    def course(self, film: Film, row: int, column: int, poll: int, polls: int) -> list[float | None]:
        """Returns the values of a Task Manager's cell at the last `polls` polls up to `poll`."""
        cells = [self._cell(film, at, row, column) for at in range(max(0, poll - polls + 1), poll + 1)]
        return [None if cell.value is None else float(cell.value) for cell in cells]

    def _rows(self, film: Film, poll: int, columns: Sequence[int | None]) -> Iterator[MachineRow]:
        names = self._names(film, poll)
        before: dict[int, str] = {}
        for number, row in enumerate(film.rows):
            change = film.change(row, poll)
            if row.is_there(poll):
                cells = tuple(self._cell(film, poll, number, one) for one in columns)
                yield MachineRow(number, names.get(number), row, change, cells)
            elif change == "ended":
                before = before or self._names(film, poll - 1)
                yield MachineRow(number, before.get(number), row, change, ())

    def _names(self, film: Film, poll: int) -> dict[int, str]:
        return film.names_at(poll, self._frame(film, film.block_of(poll)))

    def _frame(self, film: Film, block: FilmBlock) -> FilmFrame:
        return self._frames.get((id(film), block.first), lambda: read_block(block), lambda one: one.states.size)

    def _cell(self, film: Film, poll: int, row: int, column: int | None) -> MachineCell:
        block = film.block_of(poll)
        frame = self._frame(film, block)
        place = frame.place_of(row)
        if column is None or place is None or column >= len(frame.states):
            return _NO_CELL
        at = poll - block.first
        state = int(frame.states[column, place, at])
        if state == NOT_ASKED:
            return _NO_CELL
        about, (has_value, says) = film.columns[column], self._says[state]
        start = frame.start_of(column, place, at)
        text = frame.exact.get((column * len(frame.rows) + place) * frame.states.shape[2] + at)
        is_text = has_value and about.type == "PERF_COUNTER_TEXT"
        value: int | Decimal | None = None
        if not has_value:
            words = _NEEDS_TWO if _FIRST.match(says) else says.partition(":")[0]
        elif is_text:
            words = text or ""
        elif text is not None:
            words, value = text, Decimal(text) if about.decimals else int(text)
        else:
            number = int(frame.values[column, place, at])
            value = number if about.decimals == 0 else Decimal(number).scaleb(-about.decimals)
            words = cell_words(about, value)
        return MachineCell(words, value, says, film.calls[poll], start, about.size, is_text)


_NO_CELL = MachineCell("not asked", None, "no poll asked for it")
_NEEDS_TWO = "needs 2 polls"
_FIRST = re.compile("first-sample|instance-changed")
_ID = re.compile(r"\bid\b", re.IGNORECASE)


def columns_of(film: Film) -> list[tuple[str, int | None]]:
    """Returns the counters of a film by title for the Task Manager, the usual ones first."""
    usual = usual_columns(film)
    taken = {column for _, column in usual}
    return usual + [(about.names[0], at) for at, about in enumerate(film.columns) if at not in taken]


def cell_words(about: FilmColumn, value: int | Decimal) -> str:
    """Returns a number in a Task Manager's cell as a performance monitor shows it."""
    if about.is_hex and about.decimals == 0:
        return f"{value:X}"
    grouping = "" if any(map(_ID.search, about.names)) else ","
    return f"{value:{grouping}.{about.decimals}f}"
