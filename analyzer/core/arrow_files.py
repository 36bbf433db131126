"""Writes and reads tables in one form of Arrow IPC files ("Arrow Columnar Format": IPC File Format, Schema, Message, File.fbs).

A file has a schema, batches of rows, and a footer that says where these are. All of its bytes but the values follow from the
columns and from how many values each has: `written` lays them out. `ArrowTable` lays them out again, and compares them with what is
there, so that nothing of the form is parsed that somebody else may have written.

`SavedColumns` reads tables of numbers that were saved so, with numbers as narrow as possible.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from msgspec import Struct

from analyzer.core import growing_columns
from analyzer.core.byte_log import Readable

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


# ---------------------------------------------------------------------------------------------------------- arrow files


ColumnKind = Literal["number", "time", "flag", "text", "bytes", "list", "struct"]
# The types of numbers, the narrow ones first; times are of the last.
WIDTHS = ("u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8")


class ArrowColumn(Struct, frozen=True):
    """A column of an Arrow file: its name and type. `width` is the type of its numbers. A list has one child, a struct one for each
    field.

    Numbers of times are ns since 1970 UTC. Places in texts and lists are numbers of 64 bits.
    """

    name: str
    kind: ColumnKind
    width: str = "i8"
    nullable: bool = False
    children: tuple[ArrowColumn, ...] = ()


class ArrowValues(Struct, frozen=True, eq=False):
    """The values of an Arrow column: its own buffers (arrays, and bytes of texts), and the values of its children. In rows that are
    not `present`, the contents of the buffers have no meaning (None: all rows are present)."""

    length: int
    buffers: tuple[Any, ...] = ()
    children: tuple[ArrowValues, ...] = ()
    present: Any = None

    def part(self, kind: ColumnKind, columns: Sequence[ArrowColumn], start: int, stop: int) -> ArrowValues:
        """Returns the values of some rows of an Arrow column. `columns` are the children of the column."""
        present = self.present[start:stop] if self.present is not None else None
        buffers, children = self.buffers, self.children
        if kind == "struct":
            pairs = zip(children, columns, strict=True)
            children = tuple([child.part(one.kind, one.children, start, stop) for child, one in pairs])
        elif kind in ("number", "time", "flag"):
            buffers = (buffers[0][start:stop],)
        else:
            ends = buffers[0][start : stop + 1]
            first, last = int(ends[0]), int(ends[-1])
            ends = ends - first
            if kind == "list":
                buffers, children = (ends,), (children[0].part(columns[0].kind, columns[0].children, first, last),)
            else:
                buffers = (ends, buffers[1][first:last])
        return ArrowValues(stop - start, buffers, children, present)


# ------------------------------------------------------------------------------------------------------- flatbuffers


class _Reference(NamedTuple):
    """A reference in the flatbuffer of an Arrow file: to a table, a vector of tables, a vector of structs (their bytes), or a
    string."""

    value: _FlatTable | Sequence[_FlatTable] | tuple[int, bytes] | str


# The fields of a table by their numbers: a scalar with its code in `struct`, a reference, or nothing.
_FlatTable = Sequence[tuple[str, int] | _Reference | None]


class _Flat:
    """Builds a flatbuffer of an Arrow file: https://flatbuffers.dev/internals. Equal tables always give equal bytes."""

    def __init__(self, root: _FlatTable) -> None:
        self.out = bytearray(4)
        struct.pack_into("<I", self.out, 0, self._table(root))
        self._align(0)

    def _align(self, over: int) -> None:
        """Pads the flatbuffer of an Arrow file, so that the place `over` bytes behind its end is a multiple of 8."""
        self.out += bytes(-(len(self.out) + over) % 8)

    def _table(self, fields: _FlatTable) -> int:
        sizes = [4 if isinstance(one, _Reference) else struct.calcsize(f"<{one[0]}") if one else 0 for one in fields]
        places, end = [0] * len(fields), 4
        for number in sorted(range(len(fields)), key=lambda number: -sizes[number]):
            if sizes[number]:
                places[number], end = end, end + sizes[number]
        shape = struct.pack(f"<{2 + len(fields)}H", 4 + 2 * len(fields), end, *places)
        # Each table has its own shape in front of it: what polars reads tables with finds none that lies before the table around
        # it. Behind the place of the shape come numbers of 8 bytes.
        self._align(4 + len(shape))
        self.out += shape
        start = len(self.out)
        self.out += struct.pack("<i", len(shape)) + bytes(end - 4)
        for one, place in zip(fields, places, strict=True):
            if isinstance(one, _Reference):
                self._refer(start + place, one.value)
            elif one:
                struct.pack_into(f"<{one[0]}", self.out, start + place, one[1])
        return start

    def _refer(self, place: int, value: Any) -> None:
        if isinstance(value, str):
            text = value.encode()
            at = self._counted(len(text), text + b"\0")
        elif isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], bytes):
            at = self._counted(*value)
        elif isinstance(value, _TableVector):
            at = self._counted(len(value), bytes(4 * len(value)))
            for number, table in enumerate(value):
                self._refer(at + 4 + 4 * number, table)
        else:
            at = self._table(value)
        struct.pack_into("<I", self.out, place, at - place)

    def _counted(self, count: int, data: bytes) -> int:
        self._align(4)
        at = len(self.out)
        self.out += struct.pack("<I", count) + data
        return at


class _TableVector(tuple[_FlatTable, ...]):
    """A vector of tables in the flatbuffer of an Arrow file."""

    __slots__ = ()


# Schema.fbs and Message.fbs: V5, the numbers of types, of headers, and of the unit ns.
_VERSION = ("h", 4)
_TYPES: dict[ColumnKind, int] = {"number": 2, "time": 10, "flag": 6, "text": 20, "bytes": 19, "list": 21, "struct": 13}
_SCHEMA, _BATCH, _NANOSECOND = 1, 3, 3
_MAGIC, _CONTINUED = b"ARROW1", b"\xff\xff\xff\xff"
_END = _CONTINUED + bytes(4)


def _field(column: ArrowColumn) -> _FlatTable:
    made: _FlatTable = ()
    if column.kind == "number":
        made = (("i", 8 * int(column.width[1])), ("?", column.width[0] == "i"))
    elif column.kind == "time":
        made = (("h", _NANOSECOND), _Reference("UTC"))
    children = _Reference(_TableVector(map(_field, column.children)))
    nullable = ("?", column.nullable)
    return _Reference(column.name), nullable, ("B", _TYPES[column.kind]), _Reference(made), None, children


def _schema(columns: Sequence[ArrowColumn]) -> _FlatTable:
    return ("h", 0), _Reference(_TableVector(map(_field, columns)))


def _message(kind: int, header: _FlatTable, body: int) -> bytes:
    """Returns an Arrow message without its body. The message states the length of the body."""
    made = bytes(_Flat((_VERSION, ("B", kind), _Reference(header), ("q", body))).out)
    return _CONTINUED + struct.pack("<I", len(made)) + made


# Schemas of so many tables are laid out once; there are some twenty kinds of tables, with numbers of several widths.
@lru_cache(128)
def _head(columns: tuple[ArrowColumn, ...]) -> bytes:
    return _MAGIC.ljust(8, b"\0") + _message(_SCHEMA, _schema(columns), 0)


# The place of a batch in the file, the length of its message, and the length of its values.
_Block = tuple[int, int, int]
_BLOCK = struct.Struct("<qi4xq")
_COUNT = struct.Struct("<I")


@lru_cache(128)
def _before_blocks(columns: tuple[ArrowColumn, ...]) -> bytes:
    """Returns the footer of an Arrow file up to the number of its batches. Their places follow."""
    return bytes(_Flat((_VERSION, _Reference(_schema(columns)), None, _Reference((0, b"")))).out)[: -_COUNT.size]


def _foot(columns: tuple[ArrowColumn, ...], blocks: Sequence[_Block]) -> bytes:
    made = _before_blocks(columns) + _COUNT.pack(len(blocks)) + b"".join([_BLOCK.pack(*block) for block in blocks])
    return _END + made + _COUNT.pack(len(made)) + _MAGIC


_PAIR = struct.Struct("<qq")


class _BatchForm(NamedTuple):
    """The Arrow message of a batch with zeros in the place of its numbers. Also the places of these numbers: rows, nodes, buffers,
    and the length of the values."""

    zeros: bytes
    rows: int
    nodes: int
    buffers: int
    body: int


@lru_cache(128)
def _batch_form(nodes: int, buffers: int) -> _BatchForm:
    # Marks: no other bytes of the message are equal to them.
    rows, body = int.from_bytes(b"\4" * 8, "little"), int.from_bytes(b"\5" * 8, "little")
    node, buffer = b"\1" * 15 + b"\2", b"\1" * 15 + b"\3"
    marked = _message(
        _BATCH, (("q", rows), _Reference((nodes, node * nodes)), _Reference((buffers, buffer * buffers))), body
    )
    places = [
        marked.find(mark) if count else 0
        for mark, count in ((b"\4" * 8, 1), (node, nodes), (buffer, buffers), (b"\5" * 8, 1))
    ]
    zeros = bytearray(marked)
    for place, length in zip(places, (8, nodes * _PAIR.size, buffers * _PAIR.size, 8), strict=True):
        zeros[place : place + length] = bytes(length)
    return _BatchForm(bytes(zeros), *places)


# ------------------------------------------------------------------------------------------------------------ layout


class _Layout:
    """The layout of the values of an Arrow batch: rows and nulls of each column, place and length of each buffer."""

    def __init__(self, columns: Sequence[ArrowColumn], counts: Iterator[int], rows: int) -> None:
        """`counts` are the numbers that the columns do not state, column by column: nulls of nullable ones, total length of texts,
        number of values of lists."""
        self.rows, self.size = rows, 0
        self.nodes: list[tuple[int, int]] = []
        self.buffers: list[tuple[int, int]] = []
        for column in columns:
            self._add(column, counts, rows)

    def _add(self, column: ArrowColumn, counts: Iterator[int], rows: int) -> None:
        kind = column.kind
        self.nodes.append((rows, next(counts) if column.nullable else 0))
        self._buffer(-(-rows // 8) if column.nullable else 0)
        if kind in ("number", "time"):
            self._buffer(rows * int(column.width[1]))
        elif kind == "flag":
            self._buffer(-(-rows // 8))
        elif kind != "struct":
            self._buffer(8 * (rows + 1))
            rows = next(counts)
            if kind != "list":
                self._buffer(rows)
        for child in column.children:
            self._add(child, counts, rows)

    def _buffer(self, length: int) -> None:
        self.buffers.append((self.size, length))
        self.size += length + -length % 8

    def message(self) -> bytes:
        form = _batch_form(len(self.nodes), len(self.buffers))
        made = bytearray(form.zeros)
        struct.pack_into("<q", made, form.rows, self.rows)
        struct.pack_into("<q", made, form.body, self.size)
        for place, pairs in ((form.nodes, self.nodes), (form.buffers, self.buffers)):
            made[place : place + len(pairs) * _PAIR.size] = b"".join([_PAIR.pack(*one) for one in pairs])
        return bytes(made)


def _counts(columns: Sequence[ArrowColumn], values: Sequence[ArrowValues]) -> Iterator[int]:
    for column, one in zip(columns, values, strict=True):
        if column.nullable:
            yield 0 if one.present is None else one.length - int(one.present.sum())
        if column.kind in ("text", "bytes", "list"):
            yield int(one.buffers[0][-1])
        yield from _counts(column.children, one.children)


def _buffers(columns: Sequence[ArrowColumn], values: Sequence[ArrowValues]) -> Iterator[bytes]:
    import numpy as np

    for column, one in zip(columns, values, strict=True):
        present = np.ones(one.length, np.bool_) if one.present is None else one.present
        yield np.packbits(present, bitorder="little").tobytes() if column.nullable else b""
        for buffer in one.buffers:
            if isinstance(buffer, bytes):
                yield buffer
            elif column.kind == "flag":
                yield np.packbits(buffer, bitorder="little").tobytes()
            else:
                yield buffer.tobytes()
        yield from _buffers(column.children, one.children)


def written(given: Sequence[ArrowColumn], batches: Iterable[Sequence[ArrowValues]]) -> Iterator[bytes]:
    """Yields the bytes of an Arrow file of a table, in pieces. Each batch has the values of its rows, at least one row."""
    columns = tuple(given)
    head = _head(columns)
    yield head
    at, blocks = len(head), list[_Block]()
    for values in batches:
        layout = _Layout(columns, _counts(columns, values), values[0].length)
        message = layout.message()
        yield message
        for (_, length), data in zip(layout.buffers, _buffers(columns, values), strict=True):
            assert len(data) == length, "a column has other values than it says"
            yield data + bytes(-length % 8)
        blocks.append((at, len(message), layout.size))
        at += len(message) + layout.size
    yield _foot(columns, blocks)


# ----------------------------------------------------------------------------------------------------------- reading


class ColumnNode(Struct, frozen=True):
    """An Arrow column and the place of its values in a batch: which node, and which buffer is its first."""

    column: ArrowColumn
    number: int
    buffer: int
    children: tuple[ColumnNode, ...] = ()

    @property
    def end(self) -> tuple[int, int]:
        """The node and the buffer behind those of this Arrow column."""
        if self.children:
            return self.children[-1].end
        return self.number + 1, self.buffer + (3 if self.column.kind in ("text", "bytes") else 2)


def nodes_of(columns: Sequence[ArrowColumn], number: int = 0, buffer: int = 0) -> tuple[ColumnNode, ...]:
    """Returns the Arrow columns with the places of their values in batches."""
    found = []
    for column in columns:
        own = {"struct": 1, "list": 2}.get(column.kind, 0)
        children = nodes_of(column.children, number + 1, buffer + own) if own else ()
        made = ColumnNode(column, number, buffer, children)
        number, buffer = made.end if children or not own else (number + 1, buffer + own)
        found.append(made)
    return tuple(found)


class ArrowBatch(Struct, frozen=True):
    """A batch of an Arrow file whose layout was checked: rows, nulls of each node, place and length of each buffer."""

    rows: int
    lengths: tuple[int, ...]
    nulls: tuple[int, ...]
    buffers: tuple[tuple[int, int], ...]


class ArrowTable:
    """A table of `rows` rows in an Arrow file that somebody else wrote, in batches of `rows_of_batch`. The file may hold anything:
    if it is no such table, `ValueError` is raised where that shows."""

    def __init__(self, columns: Sequence[ArrowColumn], source: Readable, rows: int, rows_of_batch: int) -> None:
        self.columns, self.nodes, self.rows, self.rows_of_batch = tuple(columns), nodes_of(columns), rows, rows_of_batch
        self._source = source
        self._blocks: tuple[_Block, ...] | None = None
        self._batches: dict[int, ArrowBatch] = {}
        # Batches and columns whose nulls were counted.
        self._counted: set[tuple[int, int]] = set()

    def batch(self, number: int) -> ArrowBatch:
        """Returns one of the batches of the Arrow table. Each is read once."""
        found = self._batches.get(number)
        if found is None:
            found = self._batches[number] = self._read(number)
        return found

    @property
    def _places(self) -> tuple[_Block, ...]:
        if self._blocks is None:
            self._blocks = self._compared()
        return self._blocks

    def _compared(self) -> tuple[_Block, ...]:
        """Returns the places of the Arrow batches, after it compared all bytes before and behind them."""
        source, count = self._source, -(-self.rows // self.rows_of_batch)
        head, before = _head(self.columns), len(_END) + len(_before_blocks(self.columns)) + _COUNT.size
        tail = source.size - len(_foot(self.columns, ())) - count * _BLOCK.size
        if tail < len(head) or source.read(0, len(head)) != head:
            raise ValueError("what stands before its rows is not what a table of them has")
        found = source.read(tail, source.size - tail)
        blocks = tuple([_BLOCK.unpack_from(found, before + at * _BLOCK.size) for at in range(count)])
        ends = [len(head), *(place + length + size for place, length, size in blocks)]
        if _foot(self.columns, blocks) != found or [place for place, _, _ in blocks] != ends[:-1] or ends[-1] != tail:
            raise ValueError("what stands behind its rows is not what a table of them has")
        return blocks

    def _read(self, number: int) -> ArrowBatch:
        place, before, size = self._places[number]
        rows = min(self.rows_of_batch, self.rows - number * self.rows_of_batch)
        found = self._source.read(place, before)
        nodes, buffers = self.nodes[-1].end
        stated = _stated(found, nodes, buffers)
        layout = _Layout(self.columns, self._counts(self.nodes, *stated), rows)
        if (
            layout.message() != found
            or layout.size != size
            or any(not 0 <= nulls <= length for length, nulls in layout.nodes)
        ):
            raise ValueError("what stands before a batch is not what one of its columns has")
        at = place + before
        return ArrowBatch(
            rows,
            tuple([length for length, _ in layout.nodes]),
            tuple([nulls for _, nulls in layout.nodes]),
            tuple([(at + start, length) for start, length in layout.buffers]),
        )

    def _counts(
        self, nodes: Sequence[ColumnNode], lengths: Sequence[tuple[int, int]], buffers: Sequence[tuple[int, int]]
    ) -> Iterator[int]:
        """Yields the counts in an Arrow batch's message from which its layout follows."""
        most = self._source.size
        for node in nodes:
            if node.column.nullable:
                yield lengths[node.number][1]
            if node.column.kind == "list":
                yield _within(lengths[node.children[0].number][0], most)
            elif node.column.kind in ("text", "bytes"):
                yield _within(buffers[node.buffer + 2][1], most)
            yield from self._counts(node.children, lengths, buffers)

    def data(self, batch: ArrowBatch, buffer: int, start: int, stop: int) -> bytes:
        """Returns bytes of one buffer of an Arrow batch."""
        place, length = batch.buffers[buffer]
        if not 0 <= start <= stop <= length:
            raise ValueError("values that are not there")
        return self._source.read(place + start, stop - start)

    def numbers(self, node: ColumnNode, number: int, start: int, stop: int) -> npt.NDArray[Any]:
        """Returns some rows of an Arrow column of numbers or times, from one batch."""
        import numpy as np

        width = int(node.column.width[1])
        found = self.data(self.batch(number), node.buffer + 1, start * width, stop * width)
        return np.frombuffer(found, f"<{node.column.width}")

    def ends(self, node: ColumnNode, number: int, start: int, stop: int) -> npt.NDArray[np.int64]:
        """Returns the places where the values of rows of texts or lists begin and end, from one Arrow batch."""
        import numpy as np

        batch = self.batch(number)
        found = np.frombuffer(self.data(batch, node.buffer + 1, 8 * start, 8 * stop + 8), "<i8")
        whole = batch.lengths[node.children[0].number] if node.children else batch.buffers[node.buffer + 2][1]
        is_whole = (start > 0 or found[0] == 0) and (stop < batch.lengths[node.number] or found[-1] == whole)
        if not is_whole or found[0] < 0 or found[-1] > whole or (np.diff(found) < 0).any():
            raise ValueError("texts or lists that do not lie in theirs")
        return found

    def flags(self, node: ColumnNode, number: int, start: int, stop: int) -> npt.NDArray[np.bool_]:
        """Returns some rows of an Arrow column of flags, from one batch."""
        return self._bits(self.batch(number), node.buffer + 1, start, stop)

    def present(self, node: ColumnNode, number: int, start: int, stop: int) -> npt.NDArray[np.bool_]:
        """Tells which rows of a nullable Arrow column are not null, in one batch."""
        batch = self.batch(number)
        if (number, node.number) not in self._counted:
            rows = batch.lengths[node.number]
            if rows - int(self._bits(batch, node.buffer, 0, rows).sum()) != batch.nulls[node.number]:
                raise ValueError(f"more or fewer nulls than {node.column.name} says")
            self._counted.add((number, node.number))
        return self._bits(batch, node.buffer, start, stop)

    def _bits(self, batch: ArrowBatch, buffer: int, start: int, stop: int) -> npt.NDArray[np.bool_]:
        import numpy as np

        data = self.data(batch, buffer, start // 8, -(-stop // 8))
        bits = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little")
        found: npt.NDArray[np.bool_] = bits[start % 8 : start % 8 + stop - start].astype(np.bool_)
        return found


def _within(count: int, most: int) -> int:
    """Checks a count in an Arrow file against the most that the file's bytes can hold, and returns it."""
    if not 0 <= count <= most:
        raise ValueError("more values than there are bytes")
    return count


def _stated(message: bytes, nodes: int, buffers: int) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Returns the numbers of nodes and buffers that the message of an Arrow batch states."""
    form = _batch_form(nodes, buffers)
    if len(form.zeros) != len(message):
        raise ValueError("what stands before a batch is too long or too short")
    first, second = [
        [_PAIR.unpack_from(message, place + _PAIR.size * at) for at in range(count)]
        for place, count in ((form.nodes, nodes), (form.buffers, buffers))
    ]
    return first, second


# -------------------------------------------------------------------------------------------------------- saved columns


class SavedColumns(growing_columns.Columns):
    """The columns of a saved Arrow table that somebody else wrote. It may hold anything: a column that is none raises `ValueError`
    when it is read. A number below 0 is absent if its column is nullable."""

    __slots__ = ("_nodes", "_table")

    def __init__(self, formats: Mapping[str, str], table: ArrowTable) -> None:
        super().__init__(formats)
        self._table = table
        self._nodes = {node.column.name: node for node in table.nodes}

    def __len__(self) -> int:
        return self._table.rows

    def column(self, name: str) -> npt.NDArray[Any]:
        import numpy as np

        node, step = self._nodes[name], self._table.rows_of_batch
        starts = range(0, len(self), step)
        parts = [self._part(node, start // step, 0, min(step, len(self) - start)) for start in starts]
        return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, f"<{node.column.width}"), *parts])

    def _part(self, node: ColumnNode, number: int, start: int, stop: int) -> npt.NDArray[Any]:
        """Returns the numbers of a saved column in some rows of a batch."""
        numbers = self._table.numbers(node, number, start, stop)
        if node.column.nullable:
            present = self._table.present(node, number, start, stop)
            if (present != (numbers >= 0)).any():
                raise ValueError(f"{node.column.name} has numbers that are not there")
        return numbers

    def _read(self, number: int) -> bytes:
        import numpy as np

        begin, step = number * growing_columns.GROUP, self._table.rows_of_batch
        count = min(growing_columns.GROUP, len(self) - begin)
        if count <= 0:
            raise IndexError("there is no such row")
        rows = np.empty(count, self._dtype)
        for name in self.formats:
            rows[name] = self._part(self._nodes[name], begin // step, begin % step, begin % step + count)
        return rows.tobytes()
