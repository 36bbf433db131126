"""Tables of one form: what is written, pyarrow and polars read alike, and nothing of another form is taken for it."""

import io
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from analyzer.core.arrow_files import ArrowColumn, ArrowTable, ArrowValues, ColumnNode, nodes_of, written
from tests.build.cases import Kept

NUMBERS = ArrowValues(3, (np.array([1, 2, 3], "<u2"),))
LACKING = ArrowValues(3, (np.array([1, 2, 3], "<i8"),), (), np.array([True, False, True]))
TEXTS = ArrowValues(3, (np.array([0, 2, 2, 5]), b"abcde"))
FLAGS = ArrowValues(3, (np.array([True, False, True]),))
LISTS = ArrowValues(3, (np.array([0, 1, 1, 3]),), (NUMBERS,))
STRUCTS = ArrowValues(3, (), (NUMBERS, TEXTS), np.array([True, True, False]))
COLUMNS: dict[str, tuple[ArrowColumn, ArrowValues, list[Any]]] = {
    "numbers": (ArrowColumn("a", "number", "u2"), NUMBERS, [1, 2, 3]),
    "lacking": (ArrowColumn("a", "number", "i8", nullable=True), LACKING, [1, None, 3]),
    "texts": (ArrowColumn("a", "text"), TEXTS, ["ab", "", "cde"]),
    "bytes": (ArrowColumn("a", "bytes"), TEXTS, [b"ab", b"", b"cde"]),
    "flags": (ArrowColumn("a", "flag"), FLAGS, [True, False, True]),
    "lists": (ArrowColumn("a", "list", children=(ArrowColumn("item", "number", "u2"),)), LISTS, [[1], [], [2, 3]]),
    "structs": (
        ArrowColumn(
            "a", "struct", nullable=True, children=(ArrowColumn("n", "number", "u2"), ArrowColumn("t", "text"))
        ),
        STRUCTS,
        [{"n": 1, "t": "ab"}, {"n": 2, "t": ""}, None],
    ),
    "none lacking": (ArrowColumn("a", "number", "u2", nullable=True), NUMBERS, [1, 2, 3]),
}


def file_of(column: ArrowColumn, *batches: ArrowValues) -> bytes:
    return b"".join(written([column], [[values] for values in batches]))


@pytest.mark.parametrize("name", COLUMNS)
def test_other_programs_read_each_kind_of_column(name: str) -> None:
    column, values, expected = COLUMNS[name]
    data = file_of(column, values, values)
    whole = pa.ipc.open_file(io.BytesIO(data)).read_all()
    whole.validate(full=True)
    assert whole["a"].to_pylist() == expected * 2
    assert pl.read_ipc(io.BytesIO(data))["a"].to_list() == expected * 2
    assert whole.schema.field("a").nullable is column.nullable


@pytest.mark.parametrize("width", ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8"])
def test_numbers_are_of_the_width_that_they_have(width: str) -> None:
    held = np.iinfo(width)
    values = ArrowValues(2, (np.array([held.min, held.max], f"<{width}"),))
    whole = pl.read_ipc(io.BytesIO(file_of(ArrowColumn("a", "number", width), values)))
    assert whole["a"].to_list() == [held.min, held.max]
    assert (
        whole["a"].dtype
        == pl.Series([0]).cast(getattr(pl, f"{'U' * (width[0] == 'u')}Int{8 * held.dtype.itemsize}")).dtype
    )


def test_times_are_in_utc() -> None:
    whole = pl.read_ipc(io.BytesIO(file_of(ArrowColumn("a", "time"), LACKING)))
    assert whole["a"].dtype == pl.Datetime("ns", "UTC")
    assert whole["a"].cast(pl.Int64).to_list() == [1, 2, 3]


def test_a_table_without_rows_is_one() -> None:
    column = COLUMNS["structs"][0]
    assert pl.read_ipc(io.BytesIO(file_of(column))).height == 0
    assert ArrowTable([column], Kept(file_of(column)), 0, 8).rows == 0


@pytest.mark.parametrize("name", COLUMNS)
def test_each_part_of_a_table_is_read_alone(name: str) -> None:
    column, values, expected = COLUMNS[name]
    parts = [values.part(column.kind, column.children, 0, 2), values.part(column.kind, column.children, 2, 3)]
    data = file_of(column, *parts)
    assert pa.ipc.open_file(io.BytesIO(data)).read_all()["a"].to_pylist() == expected
    table = ArrowTable([column], Kept(data), 3, 2)
    (node,) = table.nodes
    assert [*read(table, node, 0, 0, 2), *read(table, node, 1, 0, 1)] == [*map(plain, expected)]
    assert read(table, node, 0, 1, 2) == [plain(expected[1])]


def plain(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple(map(plain, value.values()))
    return value.encode() if isinstance(value, str) else value


def read(table: ArrowTable, node: ColumnNode, number: int, start: int, stop: int) -> list[Any]:
    """The values of a column; parts as tuples, texts as bytes."""
    kind = node.column.kind
    if kind == "number":
        found = table.numbers(node, number, start, stop).tolist()
    elif kind == "flag":
        found = table.flags(node, number, start, stop).tolist()
    elif kind == "struct":
        found = list(zip(*(read(table, child, number, start, stop) for child in node.children), strict=True))
    else:
        ends = table.ends(node, number, start, stop).tolist()
        whole: Any = (
            read(table, node.children[0], number, 0, ends[-1])
            if kind == "list"
            else table.data(table.batch(number), node.buffer + 2, 0, ends[-1])
        )
        found = [whole[begin:end] for begin, end in pairwise(ends)]
    if node.column.nullable:
        present = table.present(node, number, start, stop).tolist()
        return [one if is_there else None for one, is_there in zip(found, present, strict=True)]
    return found


def test_nodes_and_buffers_are_counted_as_the_format_has_them() -> None:
    columns = [column for column, _, _ in COLUMNS.values()]
    # A struct of nothing has bits of what is there, like any other.
    nodes = nodes_of([*columns, ArrowColumn("b", "struct"), ArrowColumn("c", "flag")])
    assert [(node.number, node.buffer) for node in nodes] == [
        *((0, 0), (1, 2), (2, 4), (3, 7), (4, 10), (5, 12), (7, 16), (10, 22), (11, 24), (12, 25))
    ]
    assert nodes[-1].end == (13, 27)


@pytest.mark.parametrize("name", COLUMNS)
def test_no_byte_of_the_form_can_be_another(name: str) -> None:
    """Every byte but those of values, of their padding, and of the bits of what is there."""
    column, values, _ = COLUMNS[name]
    data = file_of(column, values)
    batch = ArrowTable([column], Kept(data), 3, 8).batch(0)
    first = batch.buffers[0][0]
    last = max(place + length for place, length in batch.buffers)
    form = [*range(first), *range(last + -last % 8, len(data))]
    assert len(form) > 400
    for at in form:
        forged = bytearray(data)
        forged[at] ^= 1 << at % 8
        table = ArrowTable([column], Kept(bytes(forged)), 3, 8)
        with pytest.raises(ValueError, match=r"what stands|more values than there are|in theirs|nulls than"):
            read(table, table.nodes[0], 0, 0, 3)
    for length in (0, 100, len(data) - 1):
        with pytest.raises(ValueError, match="what stands"):
            ArrowTable([column], Kept(data[:length]), 3, 8).batch(0)
    for rows, step in ((2, 8), (4, 8), (3, 2), (0, 8), (9, 8)):
        with pytest.raises((ValueError, IndexError)):
            ArrowTable([column], Kept(data), rows, step).batch(0)


def test_texts_lie_in_theirs() -> None:
    for ends in ([1, 2, 2, 5], [0, 2, 1, 5], [0, 2, 2, 6], [-1, 2, 2, 5]):
        data = file_of(COLUMNS["texts"][0], TEXTS)
        forged = data.replace(np.array([0, 2, 2, 5]).tobytes(), np.array(ends).tobytes())
        table = ArrowTable([COLUMNS["texts"][0]], Kept(forged), 3, 8)
        with pytest.raises(ValueError, match="do not lie in theirs"):
            table.ends(table.nodes[0], 0, 0, 3)


def test_rows_that_are_not_there_are_not_read() -> None:
    table = ArrowTable([COLUMNS["numbers"][0]], Kept(file_of(COLUMNS["numbers"][0], NUMBERS)), 3, 8)
    for start, stop in ((0, 4), (2, 1), (-1, 2)):
        with pytest.raises(ValueError, match="values that are not there"):
            table.numbers(table.nodes[0], 0, start, stop)
