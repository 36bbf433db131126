"""Merges the tables of calls that several processes made of parts of one capture into the table that one process would make.

Each call has a moment: the number of the event that completed it, which is equal in every process. The tables come in blocks, and
are merged by moments as they come, so that memory holds only a block of each. Rows are kept; the numbers and places in them become
those of the merged table, in the order in which values and bytes first occur.

Sessions, logons and channels of a shard of a capture are renumbered to the numbers of the whole analysis.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, SupportsInt, TypeAlias

import numpy as np
from msgspec import Struct, msgpack
from msgspec.structs import replace

from analyzer.core.array_functions import distinct, first_places, whole_rows
from analyzer.core.events import Event
from analyzer.results.calls.call import AuthFacts
from analyzer.results.calls.call_row_columns import (
    APART,
    FORMATS,
    Context,
    PackedPlains,
    PdusRow,
    RareOfCall,
    RareOfSide,
    SharedValues,
    rare_of,
)
from analyzer.results.calls.call_table import CallTable
from analyzer.results.connection import Bound, Channel, FeaturesOffered, LateLogon, Logon, SmbSession, logon_key
from analyzer.results.methods import scmr, winreg

if TYPE_CHECKING:
    import numpy.typing as npt

# --------------------------------------------------------------------------------------------------- merged call tables


# A block has so many rows, and fewer where these have so many bytes.
_ROWS, _BYTES = 4096, 1 << 20
_ROW = np.dtype([(name, f"<{form}") for name, form in FORMATS.items()])
_WHOLE_ROW = whole_rows(_ROW.itemsize)
_SIDES = ("request", "response")
_ENCODER = msgpack.Encoder()
_Rows: TypeAlias = "npt.NDArray[Any]"
_Numbers: TypeAlias = "npt.NDArray[np.int64]"


class MovedCalls(Struct, array_like=True, frozen=True):
    """Rows of a table of calls that move to another table, with their moments and bytes. The bytes of row i end at `ends[i]` of the
    log; those of the first begin at `begin`."""

    moments: bytes
    ends: bytes
    rows: bytes
    begin: int
    log: bytes


def blocks_of(table: CallTable, moments: _Numbers, ends: _Numbers) -> Iterator[MovedCalls]:
    """Yields the rows of a table of calls in blocks, to be sent to another process."""
    first, begin = 0, 0
    while first < len(table):
        stop = int(np.searchsorted(ends, begin + _BYTES, side="right"))
        stop = max(min(stop, first + _ROWS, len(table)), first + 1)
        end = int(ends[stop - 1])
        rows = table.rows(np.arange(first, stop))
        yield MovedCalls(
            moments[first:stop].tobytes(),
            ends[first:stop].tobytes(),
            rows.tobytes(),
            begin,
            table.log.read(begin, end - begin),
        )
        first, begin = stop, end


class MergedRows(Struct, frozen=True):
    """Rows that were merged into the table of calls, one behind the other from `begin`: the source table of each, and its row
    there."""

    begin: int
    tables: _Numbers
    rows: _Numbers


class MergedTable(CallTable):
    """A table of calls that takes the rows of other processes' tables."""

    def take_rows(self, rows: npt.NDArray[Any], log: bytes) -> None:
        """Takes rows of other processes' tables into the merged table, with their bytes. Numbers and places are already those of
        this table."""
        self.log.append(log)
        at = len(self)
        self._growing.extend(rows)
        unbound = [context.interface.uuid is None for context in self.contexts]
        if any(unbound):
            for row, (context, context_id) in enumerate(
                zip(rows["context"].tolist(), rows["context_id"].tolist(), strict=True)
            ):
                if unbound[context]:
                    key = self.contexts[context].channel, context_id
                    self.unbound.setdefault(key, array("I")).append(at + row)

    def number_of(self, name: str, value: Any) -> int:
        """Returns the number of a shared value in the merged table; `name` is `contexts`, `smbs`, `texts`, `steps` or `handles`."""
        numbered: dict[Any, int] = getattr(self, f"_{name}")
        return numbered[value]


class CallMerger:
    """Merges tables of calls into an empty one."""

    def __init__(
        self, table: MergedTable, values: Sequence[SharedValues], numbers: Sequence[Mapping[str, _Numbers]]
    ) -> None:
        """`values` are the shared values of each table, with the numbers of the whole capture. `numbers` maps for each table its
        own numbers of `keys`, `services` and `reads` (from 1) to those of the whole capture."""
        self._table, self._numbers = table, numbers
        self._values = [_SharedNumbers(table, each) for each in values]

    def merge(self, sources: Sequence[Iterator[MovedCalls]]) -> Iterator[MergedRows]:
        """Merges the blocks of all tables of calls; yields the rows that were put into the table, some at a time."""
        waiting = [_WaitingTable(number, blocks) for number, blocks in enumerate(sources)]
        while waiting := [one for one in waiting if one.has_rows()]:
            until = min(one.last for one in waiting)
            yield self._put([one.take_rows(until) for one in waiting])

    def _put(self, parts: Sequence[_Part]) -> MergedRows:
        order = np.argsort(np.concatenate([part.moments for part in parts]), kind="stable")
        origins = np.concatenate([np.full(len(part.rows), at) for at, part in enumerate(parts)])[order]
        whole, begins, ends, numbers = (
            np.concatenate([getattr(part, name) for part in parts])[order]
            for name in ("rows", "begins", "ends", "numbers")
        )
        rows = whole.view(_ROW)
        lengths = ends - begins
        tables = np.array([part.table for part in parts])[origins]
        rares = self._rares(rows, parts, origins, begins, ends)
        self._number_handles(rows, tables)
        self._number_values(rows, tables, rares)
        # Where the bytes of each will lie. What few calls have is written anew, where it has numbers and places in it.
        place, changed, until = self._table.log.end, dict[int, bytes](), 0
        places = np.empty(len(rows), np.int64)
        for at in [*rares, len(rows)]:
            some = lengths[until:at]
            places[until:at] = place + np.cumsum(some) - some
            place += int(some.sum())
            if at == len(rows):
                break
            places[at] = place
            made = self._renumbered(rares[at], int(tables[at]), place - int(begins[at]))
            changed[at] = made
            place += int(lengths[at]) - int(rows["rare"][at]) + len(made)
            until = at + 1
        log = _bytes_of(parts, origins, begins, ends, rows["rare"], changed)
        for at, made in changed.items():
            rows["rare"][at] = len(made)
        self._move(rows, places - begins)
        merged = MergedRows(len(self._table), tables, numbers)
        self._table.take_rows(rows, log)
        return merged

    def _rares(
        self, rows: _Rows, parts: Sequence[_Part], origins: _Numbers, begins: _Numbers, ends: _Numbers
    ) -> dict[int, RareOfCall]:
        """Returns the rare facts of those merged rows whose rare facts contain numbers or places."""
        found = {}
        for at in np.flatnonzero(rows["rare"]).tolist():
            part, end = parts[origins[at]], int(ends[at])
            rare = rare_of(part.bytes(end - int(rows["rare"][at]), end))
            if rare.read is not None or any(side is not None and side.apart for side in (rare.request, rare.response)):
                found[at] = rare
        return found

    def _number_handles(self, rows: _Rows, tables: _Numbers) -> None:
        """Numbers the handles of keys and services in rows that are merged as in the whole capture."""
        for table in distinct(tables).tolist():
            have_one = np.flatnonzero((tables == table) & (rows["key_number"] >= 0))
            interfaces = self._values[table].interfaces[rows["context"][have_one]]
            for interface, kind in _HANDLES.items():
                its = have_one[interfaces == interface]
                rows["key_number"][its] = self._numbers[table][kind][rows["key_number"][its] - 1]

    def _number_values(self, rows: _Rows, tables: _Numbers, rares: dict[int, RareOfCall]) -> None:
        """Replaces the numbers of shared values in merged rows by those of the merged table. New values get the numbers that they
        would get if the rows were added one by one."""
        has_pdus = {side: _has_pdus(rows, side) for side in _SIDES}
        # The first row with each new value. Those behind it find it numbered.
        firsts = set(rares)
        for table in distinct(tables).tolist():
            are_its = tables == table
            values = self._values[table]
            for kind, name, side in _POINTING:
                if not values.has_new(kind):
                    continue
                pointing = np.flatnonzero(are_its & (has_pdus[side] if side else rows[name].astype(np.int64) >= 0))
                own = rows[name][pointing]
                are_new = values.are_new(kind, own)
                firsts.update(pointing[are_new][first_places(own[are_new])].tolist())
        for at in sorted(firsts):
            self._number_row(rows[at], self._values[tables[at]], rares.get(at))
        for table in distinct(tables).tolist():
            are_its = tables == table
            for kind, name, side in _POINTING:
                pointing = are_its & (has_pdus[side] if side else rows[name].astype(np.int64) >= 0)
                rows[name][pointing] = self._values[table].numbers[kind][rows[name][pointing]]

    @staticmethod
    def _number_row(row: Any, values: _SharedNumbers, rare: RareOfCall | None) -> None:
        """Numbers the values of a merged row in the order in which `CallTable` numbers them."""
        for side in _SIDES:
            of_side = getattr(rare, side) if rare is not None else None
            if of_side is not None and of_side.apart:
                for one, _ in of_side.apart:
                    values.number("steps", one.steps)
                    values.number("texts", one.step)
            elif 0 < row[f"{side}_pdus"] < APART:
                values.number("steps", row[f"{side}_steps"])
                values.number("texts", row[f"{side}_step"])
        values.number("contexts", row["context"])
        values.number("texts", row["method"])
        values.number("smbs", row["smb"])
        if row["handle"] >= 0:
            values.number("handles", row["handle"])

    def _renumbered(self, rare: RareOfCall, table: int, move: int) -> bytes:
        """Returns a call's rare facts, packed, with the numbers and places of the merged table; `move` is how far its bytes
        moved."""
        values, read = self._values[table], rare.read
        if read is not None:
            read = replace(read, number=int(self._numbers[table]["reads"][read.number - 1]))
        request, response = (
            _moved(side, values, move) if side is not None else None for side in (rare.request, rare.response)
        )
        return _ENCODER.encode(replace(rare, read=read, request=request, response=response))

    @staticmethod
    def _move(rows: _Rows, moves: _Numbers) -> None:
        """Moves the places of merged rows in the log by these distances."""
        rows["place"] = rows["place"].astype(np.int64) + moves
        for side in _SIDES:
            has_pdus, places = _has_pdus(rows, side), rows[f"{side}_pdus_place"]
            places[has_pdus] = places[has_pdus].astype(np.int64) + moves[has_pdus]


# The interfaces whose calls use handles that are numbered, and which numbers these are.
_HANDLES = {winreg.INTERFACE: "keys", scmr.INTERFACE: "services"}
# Columns that refer to shared values: the kind, the column, and the side that must have PDUs.
_POINTING = (
    ("steps", "request_steps", "request"),
    ("texts", "request_step", "request"),
    ("steps", "response_steps", "response"),
    ("texts", "response_step", "response"),
    ("contexts", "context", None),
    ("texts", "method", None),
    ("smbs", "smb", None),
    ("handles", "handle", None),
)


def _has_pdus(rows: _Rows, side: str) -> npt.NDArray[np.bool_]:
    """Returns which merged rows have PDUs of a side that the row itself describes."""
    found: npt.NDArray[np.bool_] = (rows[f"{side}_pdus"] > 0) & (rows[f"{side}_pdus"] < APART)
    return found


def _moved(side: RareOfSide, values: _SharedNumbers, move: int) -> RareOfSide:
    apart: list[tuple[PdusRow, PackedPlains | None]] = []
    for row, plains in side.apart:
        steps, step = int(values.numbers["steps"][row.steps]), int(values.numbers["texts"][row.step])
        apart.append((row._replace(pdus_place=row.pdus_place + move, steps=steps, step=step), plains))
    return replace(side, apart=tuple(apart))


def _bytes_of(
    parts: Sequence[_Part],
    origins: _Numbers,
    begins: _Numbers,
    ends: _Numbers,
    rares: npt.NDArray[Any],
    changed: dict[int, bytes],
) -> bytes:
    """The bytes of merged rows, one behind the other. Neighbours in one table are taken together."""
    is_last = np.append(origins[1:] != origins[:-1], True)
    is_last[list(changed)] = True
    lasts = np.flatnonzero(is_last)
    firsts = np.append(0, lasts[:-1] + 1)
    stops = ends.copy()
    stops[list(changed)] -= rares[list(changed)]
    starts = np.array([part.origin for part in parts])[origins[firsts]]
    logs, found = [part.log for part in parts], list[bytes | memoryview]()
    for at, origin, begin, stop in zip(
        lasts.tolist(),
        origins[firsts].tolist(),
        (begins[firsts] - starts).tolist(),
        (stops[lasts] - starts).tolist(),
        strict=True,
    ):
        found.append(logs[origin][begin:stop])
        if at in changed:
            found.append(changed[at])
    return b"".join(found)


class _SharedNumbers:
    """The shared values of one table of calls, and the number of each in the merged table; -1 until it has one."""

    def __init__(self, table: MergedTable, values: SharedValues) -> None:
        self._table = table
        self._values = {name: getattr(values, name) for name in SharedValues.__struct_fields__}
        self.interfaces = np.array([context.interface.uuid or "" for context in values.contexts], np.str_)
        self.numbers = {name: np.full(len(found), -1, np.int64) for name, found in self._values.items()}

    def has_new(self, kind: str) -> bool:
        """Whether any of these shared values has no number in the merged table yet."""
        return bool((self.numbers[kind] < 0).any())

    def are_new(self, kind: str, numbers: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """Returns which of these shared values have no number in the merged table yet."""
        found: npt.NDArray[np.bool_] = self.numbers[kind][numbers] < 0
        return found

    def number(self, kind: str, own: int) -> None:
        """Gives a shared value a number in the merged table, if it has none."""
        if self.numbers[kind][own] < 0:
            self.numbers[kind][own] = self._table.number_of(kind, self._values[kind][own])


class _Part(Struct, frozen=True):
    """Rows of one table of calls that are merged at once. `numbers` are their numbers there; their bytes lie from `begins` to
    `ends` of the log of that table. `log` is the part of that log from `origin`."""

    table: int
    moments: _Numbers
    rows: _Rows
    begins: _Numbers
    ends: _Numbers
    numbers: _Numbers
    origin: int
    log: memoryview

    def bytes(self, begin: int, end: int) -> memoryview:
        return self.log[begin - self.origin : end - self.origin]


class _WaitingTable:
    """One source table of calls, whose next block waits to be merged."""

    def __init__(self, table: int, blocks: Iterator[MovedCalls]) -> None:
        self._table, self._blocks = table, blocks
        self._count = self._at = 0
        self._part: _Part | None = None

    def has_rows(self) -> bool:
        """Whether this source table has any rows of calls left to merge; reads its next block."""
        if self._part is None:
            block = next(self._blocks, None)
            if block is None:
                return False
            ends, rows = np.frombuffer(block.ends, np.int64), np.frombuffer(block.rows, _WHOLE_ROW)
            begins = np.concatenate([np.array([block.begin], np.int64), ends[:-1]])
            moments, numbers = np.frombuffer(block.moments, np.int64), np.arange(len(rows)) + self._count
            self._part = _Part(self._table, moments, rows, begins, ends, numbers, block.begin, memoryview(block.log))
            self._count, self._at = self._count + len(rows), 0
        return True

    @property
    def last(self) -> int:
        """The moment of the last row of the block of a table that waits to be merged."""
        assert self._part is not None
        return int(self._part.moments[-1])

    def take_rows(self, until: int) -> _Part:
        """Takes from a table of calls those waiting rows that are merged next: all up to a moment."""
        part = self._part
        assert part is not None
        stop = int(np.searchsorted(part.moments, until, side="right"))
        some = slice(self._at, stop)
        self._at = stop
        if stop == len(part.rows):
            self._part = None
        return _Part(
            part.table,
            part.moments[some],
            part.rows[some],
            part.begins[some],
            part.ends[some],
            part.numbers[some],
            part.origin,
            part.log,
        )


# ---------------------------------------------------------------------------------------------------- shard renumbering


class NewNumbers(Protocol):
    """Maps the numbers in a part that is to be merged to those of the whole analysis."""

    def __getitem__(self, own: int, /) -> SupportsInt: ...


class Renumbering:
    """Renumbers sessions, logons and channels before tables of calls are merged, from those of a part to those of the whole
    analysis. `places` maps them by kind: `sessions`, `smb_logons`, `rpc_logons` and `channels`."""

    def __init__(self, places: Mapping[str, NewNumbers]) -> None:
        self._places = places
        self._channels: dict[Channel, Channel] = {}

    def _number(self, kind: str, own: int) -> int:
        return int(self._places[kind][own])

    def _maybe(self, kind: str, own: int | None) -> int | None:
        return None if own is None else self._number(kind, own)

    def event(self, event: Event) -> Event:
        """Renumbers an event beside the tables that are merged, such as a session or a logon: returns it with the numbers of the
        whole."""
        match event:
            case SmbSession():
                return replace(event, number=self._number("sessions", event.number))
            case Logon():
                return replace(
                    event,
                    number=self._number(f"{event.by}_logons", event.number),
                    session=self._maybe("sessions", event.session),
                    channel=self._maybe("channels", event.channel),
                )
            case LateLogon():
                session, logon = self._number("sessions", event.session), self._number("smb_logons", event.logon)
                return replace(event, session=session, logon=logon)
            case Bound() | FeaturesOffered():
                return replace(event, channel=self._channel(event.channel))
            case _:
                return event

    def values(self, values: SharedValues) -> SharedValues:
        """Returns the shared values of a table of calls that is to be merged, renumbered."""
        return replace(values, contexts=[self.context(context) for context in values.contexts])

    def _channel(self, channel: Channel) -> Channel:
        if (found := self._channels.get(channel)) is None:
            found = self._channels[channel] = replace(
                channel,
                number=self._number("channels", channel.number),
                session=self._maybe("sessions", channel.session),
                logon=self._maybe("smb_logons", channel.logon),
            )
        return found

    def context(self, context: Context) -> Context:
        """Returns the context that calls of a table to be merged share, renumbered."""
        security = context.security
        return replace(
            context,
            session=self._maybe("sessions", context.session),
            channel=self._number("channels", context.channel),
            auth=self._auth(context.auth),
            security=replace(security, logon=self._maybe("rpc_logons", security.logon)),
        )

    def _auth(self, auth: AuthFacts) -> AuthFacts:
        return replace(auth, logon=self._logon(auth.logon), later_logon=self._logon(auth.later_logon))

    def _logon(self, key: str | None) -> str | None:
        if key is None:
            return None
        for by in ("smb", "rpc"):
            if key.startswith(by):
                return logon_key(by, self._number(f"{by}_logons", int(key.removeprefix(by))))
        raise AssertionError(key)
