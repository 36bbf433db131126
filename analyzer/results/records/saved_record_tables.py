"""Records as rows of a table, and back: the type of the record says which columns there are (`core/arrow_files.py` has their form).

A number, a word, a text is a column; a part is a struct with the columns of its type; what there may be several of is a list. What
may be anything is JSON. A row is made when somebody looks at it, and some rows beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from functools import cache
from itertools import pairwise
from types import NoneType, UnionType
from typing import Any, Generic, Literal, TypeVar, Union, get_args, get_origin, get_type_hints, overload

import msgspec
import numpy as np
from msgspec import Struct

from analyzer.core.arrow_files import WIDTHS, ArrowColumn, ArrowTable, ArrowValues, ColumnKind, ColumnNode, written
from analyzer.core.byte_log import Readable
from analyzer.core.errors import CONTRADICTIONS, CaseError

ROWS_OF_BATCH = 4096

_Row = TypeVar("_Row")


class _ValueType(Struct, frozen=True):
    """What the values of a type are in a record's table, what parts a value is taken into, and what makes it of them."""

    kind: ColumnKind
    nullable: bool
    take: Callable[[Any], Any] = lambda value: value
    make: Callable[..., Any] | None = None
    fields: tuple[tuple[str, _ValueType], ...] = ()

    # What lies in the place of a value that is not there.
    nothing: Any = 0


@cache
def _part_of(kind: Any) -> _ValueType:
    """How values of a type lie in a saved table of records."""
    choices = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    plain = [one for one in choices if one is not NoneType]
    nullable = len(plain) < len(choices)
    origin, arguments = get_origin(plain[0]), get_args(plain[0])
    first = plain[0] if origin is None else origin
    if len(plain) > 1 or first is Any or (first in (dict, Mapping) and arguments[1] is Any):
        return _ValueType(
            "text", nullable, lambda value: msgspec.json.encode(value).decode(), msgspec.json.decode, nothing="null"
        )
    if first is Literal:
        return _ValueType("text", nullable, make=_one_of(arguments), nothing=arguments[0])
    if first in (dict, Mapping):
        pair = _ValueType("struct", False, tuple, lambda *pair: pair, _fields_of(("key", "value"), arguments))
        return _ValueType("list", nullable, lambda value: tuple(value.items()), dict, (("item", pair),), ())
    if first in (list, Sequence) or (first is tuple and arguments[1:] == (...,)):
        make = list if first is list else None
        return _ValueType("list", nullable, make=make, fields=(("item", _part_of(arguments[0])),), nothing=())
    if first is tuple:
        names = [f"field_{number}" for number in range(len(arguments))]
        return _ValueType("struct", nullable, make=lambda *parts: parts, fields=_fields_of(names, arguments))
    if issubclass(first, Enum):
        return _ValueType("text", nullable, lambda value: value.value, first, nothing=next(iter(first)).value)
    if issubclass(first, Struct):
        hints, names = get_type_hints(first), first.__struct_fields__
        return _ValueType(
            "struct",
            nullable,
            lambda value: tuple([getattr(value, name) for name in names]),
            first,
            _fields_of(names, [hints[name] for name in names]),
        )
    kinds: dict[Any, ColumnKind] = {bool: "flag", int: "number", str: "text", bytes: "bytes"}
    return _ValueType(kinds[first], nullable, nothing=first())


def _fields_of(names: Sequence[str], kinds: Sequence[Any]) -> tuple[tuple[str, _ValueType], ...]:
    return tuple([(name, _part_of(kind)) for name, kind in zip(names, kinds, strict=True)])


def _one_of(words: Sequence[str]) -> Callable[[str], str]:
    def word(text: str) -> str:
        if text not in words:
            raise ValueError("a word that it may not be")
        return text

    return word


# ----------------------------------------------------------------------------------------------------------- writing


def _values(part: _ValueType, found: Sequence[Any]) -> ArrowValues:
    """The values of a column of records that are saved as a table."""
    count = len(found)
    present = np.array([one is not None for one in found], np.bool_) if part.nullable else None
    if part.kind == "struct":
        nothing = (None,) * len(part.fields)
        rows = [part.take(one) if one is not None else nothing for one in found]
        sides = zip(*rows, strict=True) if rows else ((),) * len(part.fields)
        children = [_values(inner, values) for (_, inner), values in zip(part.fields, sides, strict=True)]
        return ArrowValues(count, (), tuple(children), present)
    taken: list[Any] = [part.take(one) if one is not None else part.nothing for one in found]
    if part.kind == "number":
        is_wide = bool(taken) and max(taken) >= 1 << 63
        return ArrowValues(count, (np.array(taken, np.uint64 if is_wide else np.int64),), (), present)
    if part.kind == "flag":
        return ArrowValues(count, (np.array(taken, np.bool_),), (), present)
    # What stands for bytes of a file name, and halves of characters, have no UTF-8 form.
    parts = [one.encode("utf-8", "backslashreplace") for one in taken] if part.kind == "text" else taken
    ends = np.zeros(count + 1, np.int64)
    np.cumsum([len(one) for one in parts], out=ends[1:])
    if part.kind == "list":
        return ArrowValues(
            count, (ends,), (_values(part.fields[0][1], [item for one in parts for item in one]),), present
        )
    return ArrowValues(count, (ends, b"".join(parts)), (), present)


def narrowest(low: int, high: int, within: str | None = None) -> str:
    """The narrowest type that a saved table's column of numbers from `low` to `high` may have, none that `within` could not
    hold."""
    kinds = ((width, np.iinfo(width)) for width in WIDTHS if within is None or np.can_cast(width, within))
    return next(width for width, held in kinds if held.min <= low and high <= held.max)


def _column(name: str, part: _ValueType, values: ArrowValues) -> tuple[ArrowColumn, ArrowValues]:
    """A column of a saved table of records that is as narrow as its numbers are, with its values."""
    width = "i8"
    if part.kind == "number":
        numbers = values.buffers[0]
        low, high = (int(numbers.min()), int(numbers.max())) if len(numbers) else (0, 0)
        width = narrowest(low, high)
        values = msgspec.structs.replace(values, buffers=(numbers.astype(f"<{width}"),))
    pairs = zip(part.fields, values.children, strict=True)
    children = [_column(inner_name, inner, child) for (inner_name, inner), child in pairs]
    column = ArrowColumn(name, part.kind, width, part.nullable, tuple([child for child, _ in children]))
    return column, msgspec.structs.replace(values, children=tuple([child for _, child in children]))


def pieces_of(
    columns: Sequence[ArrowColumn], values: Sequence[ArrowValues], rows: int, rows_of_batch: int
) -> Iterator[bytes]:
    """The bytes of a saved table of records with these columns, whose values are all at hand."""
    cuts = [(start, min(start + rows_of_batch, rows)) for start in range(0, rows, rows_of_batch)]
    pairs = list(zip(columns, values, strict=True))
    return written(columns, ([one.part(column.kind, column.children, *cut) for column, one in pairs] for cut in cuts))


class TableFacts(Struct, frozen=True):
    """Facts about a table of a case: its number of rows, and the width of each column of numbers."""

    rows: int
    widths: str


class SavedTable(Struct, frozen=True, eq=False):
    """A table of records or calls that is to be written: how many rows, how wide its numbers are, and its bytes in pieces."""

    rows: int
    widths: str
    pieces: Callable[[], Iterator[bytes]]


def saved(kind: type[Struct], records: Sequence[Any]) -> SavedTable:
    """Saves records of a type as a table."""
    part = _part_of(kind)
    whole, values = _column("", part, _values(part, records))
    columns = whole.children
    widths = " ".join(_widths(columns))
    return SavedTable(len(records), widths, lambda: pieces_of(columns, values.children, len(records), ROWS_OF_BATCH))


def _widths(columns: Sequence[ArrowColumn]) -> Iterator[str]:
    for column in columns:
        if column.kind == "number":
            yield column.width
        yield from _widths(column.children)


# ----------------------------------------------------------------------------------------------------------- reading


def _columns(part: _ValueType, widths: Iterator[str]) -> tuple[ArrowColumn, ...]:
    return tuple(
        [
            ArrowColumn(name, inner.kind, _width(widths) if inner.kind == "number" else "i8", inner.nullable,
                   _columns(inner, widths))
            for name, inner in part.fields
        ]
    )  # fmt: skip


def _width(widths: Iterator[str]) -> str:
    width = next(widths, "")
    if width not in WIDTHS:
        raise ValueError("a column of no width that there is")
    return width


class Rows(Sequence[_Row], Generic[_Row]):
    """The records of a saved table that somebody wrote. Whoever wrote it may have written anything: what cannot be raises
    `CaseError` where a row is looked at."""

    def __init__(
        self,
        name: str,
        kind: type[_Row],
        source: Readable,
        rows: int,
        widths: str,
        *,
        check: Callable[[_Row], None] | None = None,
        at_once: int = 64,
    ) -> None:
        """`check` raises `ValueError` for a row that cannot be; `at_once`: so many rows are made when one is looked at."""
        self._name, self._kind, self._rows = name, kind, rows
        self._part = _part_of(kind)  # type: ignore[arg-type]
        self._check, self._at_once = check, at_once
        stated = iter(widths.split())
        columns = _columns(self._part, stated)
        if next(stated, None) is not None:
            raise ValueError(f"{name} has more columns than it may")
        if not 0 <= rows <= source.size:
            raise ValueError(f"{name} has {rows} rows, and {source.size} bytes of them")
        self._table = ArrowTable(columns, source, rows, ROWS_OF_BATCH)
        self._held: tuple[int, list[_Row]] = (0, [])

    def __len__(self) -> int:
        return self._rows

    @overload
    def __getitem__(self, where: int) -> _Row: ...

    @overload
    def __getitem__(self, where: slice) -> Sequence[_Row]: ...

    def __getitem__(self, where: int | slice) -> _Row | Sequence[_Row]:
        if isinstance(where, slice):
            return [self[at] for at in range(*where.indices(self._rows))]
        at = range(self._rows)[where]
        # Several threads may read: each looks at the rows it took.
        first, rows = self._held
        if not first <= at < first + len(rows):
            first, rows = self._held = self.beside(at)
        return rows[at - first]

    def beside(self, at: int) -> tuple[int, list[_Row]]:
        """The records that are made with one row of a saved table, and which of all is the first of these."""
        first = at - at % self._at_once
        return first, self._made(first, min(first + self._at_once, self._rows))

    def __iter__(self) -> Iterator[_Row]:
        for start in range(0, self._rows, self._at_once):
            yield from self._made(start, min(start + self._at_once, self._rows))

    def _made(self, start: int, stop: int) -> list[_Row]:
        number = start // ROWS_OF_BATCH
        first = number * ROWS_OF_BATCH
        try:
            cells = [
                _read_values(part, node, self._table, number, start - first, stop - first)
                for (_, part), node in zip(self._part.fields, self._table.nodes, strict=True)
            ]
            made: list[_Row] = [self._kind(*row) for row in zip(*cells, strict=True)]
            if self._check is not None:
                for row in made:
                    self._check(row)
            return made
        except CONTRADICTIONS as error:
            raise CaseError(f"the case is damaged: {self._name} cannot be read ({error})") from None


def _read_values(
    part: _ValueType, node: ColumnNode, table: ArrowTable, number: int, start: int, stop: int
) -> list[Any]:
    """The values of rows of a batch in a saved table of records."""
    found: list[Any]
    make = part.make
    if part.kind == "struct":
        assert make is not None
        sides = [_read_values(inner, child, table, number, start, stop) for (_, inner), child in _pairs(part, node)]
        rows = zip(*sides, strict=True)
        if not part.nullable:
            return [make(*row) for row in rows]
        present = _present(node, table, number, start, stop)
        return [make(*row) if there else None for row, there in zip(rows, present, strict=True)]
    if part.kind == "number":
        found = table.numbers(node, number, start, stop).tolist()
    elif part.kind == "flag":
        found = table.flags(node, number, start, stop).tolist()
    else:
        ends = table.ends(node, number, start, stop)
        first, last = int(ends[0]), int(ends[-1])
        whole: Sequence[Any]
        if part.kind == "list":
            whole = tuple(_read_values(part.fields[0][1], node.children[0], table, number, first, last))
        else:
            whole = table.data(table.batch(number), node.buffer + 2, first, last)
        places: list[int] = (ends - first).tolist()
        found = [whole[begin:end] for begin, end in pairwise(places)]
        if part.kind == "text":
            found = [one.decode() for one in found]
    if part.nullable:
        present = _present(node, table, number, start, stop)
        pairs = zip(found, present, strict=True)
        return [(one if make is None else make(one)) if there else None for one, there in pairs]
    return found if make is None else [make(one) for one in found]


def _pairs(part: _ValueType, node: ColumnNode) -> Iterator[tuple[tuple[str, _ValueType], ColumnNode]]:
    return zip(part.fields, node.children, strict=True)


def _present(node: ColumnNode, table: ArrowTable, number: int, start: int, stop: int) -> list[bool]:
    """Which rows of a batch in a saved table of records are there."""
    found: list[bool] = table.present(node, number, start, stop).tolist()
    return found
