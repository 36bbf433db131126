"""The tables of `Capture.host` in a notebook: a machine at a moment, one table a counterset, each cell with the place of its
bytes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from analyzer.core.errors import InputError
from analyzer.core.printable_text import printable
from analyzer.questions.differences.machine_facts import Peer, peers_of
from analyzer.questions.films.film import Films
from analyzer.results.analysis import Analysis
from analyzer.screens.notebook.notebook_html import text_of
from analyzer.screens.viewmodel.task_manager import MachineCell, MachineTable, WatchedMachine

if TYPE_CHECKING:
    import polars as pl


class HostMoment(dict[str, "pl.DataFrame"]):
    """The counters of a machine at a moment: a table for each counterset, one row an instance, one column a counter, null without a
    value. `change` is `started` or `ended` since the poll before. `cells` has each cell in a row of its own: what a performance
    monitor shows, or why there is nothing, and where its bytes are in the buffer of the answer of `call`. `moments` are all there
    are.

        moment = cap.host(at="5m")
        moment["Process"].sort("% Processor Time", descending=True)
    """

    def __init__(self, machine: str, time_ns: int, moments: Iterable[int], tables: Sequence[MachineTable]) -> None:
        import polars as pl

        shown = [one for one in tables if one.poll is not None]
        names = _names(shown)
        super().__init__({name: _table(one) for name, one in zip(names, shown, strict=True)})
        self.machine, self.time = machine, _time(time_ns)
        self.moments = pl.Series("time", list(moments), pl.Int64).cast(pl.Datetime("ns", "UTC"))
        cells = [row for name, one in zip(names, shown, strict=True) for row in _cells(name, one)]
        kinds = {**dict.fromkeys(_TEXTS, pl.String()), "value": pl.Float64(), **dict.fromkeys(_NUMBERS, pl.Int64())}
        self.cells = pl.DataFrame(cells, kinds, orient="row")

    def __repr__(self) -> str:
        return f"HostMoment({printable(self.machine)} at {self.time.isoformat()}: {printable(', '.join(self))})"

    def _repr_html_(self) -> str:
        parts = [f"<p><b>{text_of(self.machine)}</b> at {text_of(self.time.isoformat())}</p>"]
        for name, table in self.items():
            parts += [f"<p><b>{text_of(name)}</b></p>", *map(printable, table._repr_html_().split("\n"))]
        return "\n".join(parts)


_TEXTS, _NUMBERS = ("counterset", "instance", "identity", "counter", "words", "says"), ("call", "start", "size")


def machine_of(analysis: Analysis, films: Films, machine: str | None) -> tuple[str, WatchedMachine]:
    """Returns a machine by address or name, and its display name for a notebook. Raises `InputError` if no polled machine has this
    name, or if none is named and several were polled."""
    peers, polled = peers_of(analysis), list(films.machines())
    # An address is that of one machine, even where clients call another one by it.
    known = [machine] if machine in polled else polled
    wanted = [ip for ip in known if machine is None or peers.get(ip, _unknown(ip)).is_called(machine)]
    if len(wanted) != 1:
        named = ", ".join(peers.get(ip, _unknown(ip)).words for ip in polled)
        if not polled:
            raise InputError("no machine was polled for counter values that could be read")
        raise InputError(
            f"{machine} was not polled" if machine is not None and not wanted else "several machines were polled",
            hint=f"name one of {named}",
        )
    return peers.get(wanted[0], _unknown(wanted[0])).words, WatchedMachine(films, wanted[0])


def _unknown(ip: str) -> Peer:
    return Peer(ip, (), is_server=True, properties={})


def _time(time_ns: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=time_ns // 1000)


def _names(tables: Sequence[MachineTable]) -> list[str]:
    """Returns the names of a machine's countersets in a notebook. If several clients polled one, its name says who."""
    names = [one.film.names[0] for one in tables]
    return [
        name if names.count(name) == 1 else f"{name} by {one.film.handles[0]} of {one.film.client}"
        for name, one in zip(names, tables, strict=True)
    ]


def _table(one: MachineTable) -> pl.DataFrame:
    import polars as pl

    columns: dict[str, Any] = {
        "instance": pl.Series([row.name for row in one.rows], dtype=pl.String),
        "identity": pl.Series([row.row.identity or None for row in one.rows], dtype=pl.String),
        "change": pl.Series([row.change for row in one.rows], dtype=pl.String),
    }
    for at, (_, column) in enumerate(one.columns):
        if column is not None:
            counter = one.film.columns[column].names[0]
            name, number = counter, 2
            while name in columns:
                name, number = f"{counter} ({number})", number + 1
            columns[name] = _column([row.cells[at] if row.cells else None for row in one.rows])
    return pl.DataFrame(columns)


def _column(cells: Sequence[MachineCell | None]) -> pl.Series:
    import polars as pl

    if any(cell is not None and cell.is_text for cell in cells):
        return pl.Series([None if cell is None or not cell.is_text else cell.words for cell in cells], dtype=pl.String)
    values = [None if cell is None else cell.value for cell in cells]
    is_whole = all(value is None or (isinstance(value, int) and abs(value) < 1 << 63) for value in values)
    if is_whole and any(value is not None for value in values):
        return pl.Series(values, dtype=pl.Int64)
    return pl.Series([None if value is None else float(value) for value in values], dtype=pl.Float64)


def _cells(name: str, one: MachineTable) -> Iterable[tuple[object, ...]]:
    for row in one.rows:
        for (title, column), cell in zip(one.columns, row.cells, strict=bool(row.cells)):
            counter = title if column is None else one.film.columns[column].names[0]
            value = None if cell.value is None else float(cell.value)
            place = (cell.call, cell.start, cell.size) if cell.call is not None else (None, None, None)
            yield name, row.name, row.row.identity or None, counter, cell.words, cell.says or None, value, *place
