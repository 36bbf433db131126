"""Arrays and the plain parser say the same of every buffer, whether it is the first of its layout or the hundredth."""

from typing import cast

import numpy as np
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Raw
from msgspec.structs import replace

from analyzer.core.output.json import safe_json
from analyzer.interfaces.buffers.buffer_trees import decode_buffer, plain_decode
from analyzer.interfaces.buffers.known_layouts import SameLayout
from analyzer.interfaces.buffers.perf_data_layout import MAX_BYTES, Grid, PerfDataParts, PerfDataReader, read_perf_data
from analyzer.interfaces.buffers.perf_data_trees import values_of
from analyzer.interfaces.buffers.tree_texts import TreeTexts
from analyzer.interfaces.buffers.value_rows import (
    PerfColumns,
    columns_of,
    perf_data_columns,
    perf_data_rows,
    plain_perf_data_rows,
)
from analyzer.results.buffer_kinds import BufferKind
from tests.build.buffers import Block, perf_data
from tests.interfaces.buffers.strategies import any_buffer, damaged, perf_datas, u32


def rows_of_parts(read: PerfDataParts) -> list[tuple[object, ...]]:
    """Block, type, status, counter, instance, instance id, size and value of each value."""
    out: list[tuple[object, ...]] = []
    for part in read.layout.parts:
        if isinstance(part, Grid):
            ids = part.counter_ids if part.counter_ids is not None else [None] * len(part.data_sizes)
            out += [
                (part.block, part.block_type, part.status, counter, name, instance, held)
                for name, instance in zip(part.names, part.instance_ids.tolist(), strict=True)
                for counter, held in zip(ids, part.data_sizes, strict=False)
            ]
        else:
            out += [
                (block, kind, status, None if counter < 0 else counter, None, None, None if held < 0 else held)
                for block, kind, status, counter, held in zip(
                    part.block.tolist(),
                    part.block_type.tolist(),
                    part.status.tolist(),
                    part.counter_id.tolist(),
                    part.data_size.tolist(),
                    strict=True,
                )
            ]
    return [(*row, value if row[-1] is not None else None) for row, value in zip(out, values_of(read), strict=True)]


def assert_parts(read: PerfDataParts | None, data: bytes) -> None:
    """What was read in arrays is what the plain parser reads, and such a buffer leaves nothing to remark."""
    if read is None:
        return
    plain = plain_perf_data_rows(data)
    assert plain.problem is None
    assert not plain.notes
    assert (read.perf_time_stamp, read.perf_time_100ns, read.perf_freq) == (
        plain.perf_time_stamp,
        plain.perf_time_100ns,
        plain.perf_freq,
    )
    assert rows_of_parts(read) == [
        (
            *(row.block, row.block_type, row.status, row.counter_id, row.instance, row.instance_id),
            *(None if row.data is None else len(row.data), row.value),
        )
        for row in plain.rows
    ]


@settings(max_examples=150)
@given(perf_datas(), st.data())
def test_a_reader_is_not_misled_by_what_it_read_before(made: tuple[list[Block], bytes], draw: st.DataObject) -> None:
    """Buffers of one size, each a little different from the others: only some of them are of one layout."""
    reader = PerfDataReader()
    for _ in range(4):
        data = damaged(made[1], draw)
        read = reader.read(data)
        assert (read is None) == (read_perf_data(data) is None)
        assert_parts(read, data)


def test_answers_of_one_layout_share_it() -> None:
    reader = PerfDataReader()
    first, second, third = (
        reader.read(perf_data([counterset([(number(at), number(at + 1, 4))] * 30)], clocks=(at, at, at)))
        for at in (1, 2, 3)
    )
    assert first.layout is second.layout is third.layout
    assert second.values[:2].tolist() == [2, 3]
    assert third.perf_time_stamp == 3


def with_texts(count: int, text: bytes) -> bytes:
    """Numbers and texts: in a block alone and with counters, and in instances. The last text is empty, and ends the buffer."""
    blocks = (
        Block(1, values=((text,),)),
        Block(2, ids=(1, 2), values=((number(count), text),)),
        Block(4, instances=(("a", 1), ("b", 2)), values=((number(count),), (text,))),
        Block(2, ids=(3, 4), values=((number(count, 4), b""),)),
    )
    return perf_data(list(blocks), clocks=(count, count, count))


def test_answers_with_the_same_texts_share_their_layout() -> None:
    reader, same = PerfDataReader(), b"t\0e\0x\0t\0s\0"
    made = [with_texts(count, text) for count, text in ((1, same), (2, same), (3, same[::-1]), (4, same))]
    read = [reader.read(data) for data in made]
    layouts = [one.layout for one in read if one is not None]
    assert [layouts[0] is layout for layout in layouts] == [True, True, False, True]
    for one, data in zip(read, made, strict=True):
        assert_parts(one, data)
        assert list(one.layout.texts) == [0, 2, 4, 6]


@pytest.mark.parametrize("more", [0, 1])
def test_layouts_of_one_size_that_are_polled_in_turn_are_remembered_up_to_a_number(more: int) -> None:
    reader, most = PerfDataReader(), SameLayout.MAX_OF_A_SIZE
    blocks = [replace(counterset([(number(1),)] * 30), ids=(counter,)) for counter in range(most + more)]
    first, *others = [perf_data([block]) for block in blocks]
    read = {data: reader.read(data) for data in (first, *others)}
    for data in (*others, first):
        earlier, later = read[data], reader.read(data)
        assert (earlier.layout is later.layout) == (data is not first or not more)
        assert_parts(later, data)
    assert (len(reader._known), reader._known._bytes) == (most, most * len(first))


def test_what_a_reader_remembers_is_bounded() -> None:
    reader = PerfDataReader()
    for rows in range(1, 3 * SameLayout.MAX_LAYOUTS):
        assert reader.read(perf_data([counterset([(number(1),)] * rows)])) is not None
    assert len(reader._known) == SameLayout.MAX_LAYOUTS
    assert reader._known._bytes <= MAX_BYTES


# The fast path and the compiled parser say the same of every buffer, whole or damaged.


def assert_same(data: bytes) -> None:
    rows = perf_data_rows(data)
    plain = plain_perf_data_rows(data)
    assert str(rows.problem) == str(plain.problem)
    assert replace(rows, problem=None) == replace(plain, problem=None)
    made, stated = decode_buffer("perf-data", data), plain_decode("perf-data", data)
    assert (made.tree, made.consumed, made.notes) == (stated.tree, stated.consumed, stated.notes)
    assert str(made.problem) == str(stated.problem)
    assert_columns(perf_data_columns(data), data)


def assert_columns(columns: PerfColumns, data: bytes) -> None:
    raw = [
        (row.block, row.block_type, row.status, row.counter_id, row.instance, row.instance_id, row.data)
        for row in plain_perf_data_rows(data).rows
    ]
    plain = columns_of(raw)
    for name in ("block", "block_type", "status", "counter_id", "name", "instance_id", "data_size", "value", "is_int"):
        mine, theirs = getattr(columns, name), getattr(plain, name)
        assert mine.dtype == theirs.dtype
        assert np.array_equal(mine, theirs), name
    assert str(columns.problem) == str(plain_perf_data_rows(data).problem)
    assert len(columns) == len(raw)
    assert columns.names == plain.names
    assert columns.texts == plain.texts


@settings(max_examples=300)
@given(perf_datas(), st.data())
def test_damaged_buffers(made: tuple[list[Block], bytes], draw: st.DataObject) -> None:
    """Words replaced by small, great and any numbers, as sizes and counts are the words that matter; and cuts."""
    data = bytearray(made[1])
    for _ in range(draw.draw(st.integers(1, 3))):
        at = 4 * draw.draw(st.integers(0, len(data) // 4 - 1))
        word = draw.draw(st.one_of(st.integers(0, 64), u32, st.just(0xFFFFFFFF)))
        data[at : at + 4] = word.to_bytes(4, "little")
    assert_same(bytes(data[: draw.draw(st.sampled_from([len(data), len(data) - 1, len(data) // 2]))]))


def number(value: int, size: int = 8) -> bytes:
    return value.to_bytes(size, "little")


def counterset(rows: list[tuple[bytes, ...]], name: str = "instance") -> Block:
    named = tuple((f"{name} {at}", at) for at in range(len(rows)))
    return Block(6, ids=tuple(range(len(rows[0]))), instances=named, values=tuple(rows))


def test_instances_whose_values_have_other_sizes_are_noticed() -> None:
    for odd in ((number(1), number(2, 4)), (number(1, 4), number(2)), (b"t\0e\0x\0t\0" + bytes(2), number(2))):
        rows = [(number(1), number(2))] * 5
        rows[3] = odd
        data = perf_data([counterset(rows)])
        assert read_perf_data(data) is not None
        assert_same(data)


def test_equal_names_of_two_blocks_are_one_name() -> None:
    data = perf_data([counterset([(number(1),)] * 2), counterset([(number(2),)] * 2)])
    assert perf_data_columns(data).names == ("instance 0", "instance 1")
    assert_same(data)


@given(perf_datas(), st.data())
def test_ready_json_is_the_tree(made: tuple[list[Block], bytes], draw: st.DataObject) -> None:
    data = bytearray(made[1])
    at = 4 * draw.draw(st.integers(0, len(data) // 4 - 1))
    data[at : at + 4] = draw.draw(st.one_of(st.integers(0, 64), u32)).to_bytes(4, "little")
    trees = TreeTexts()
    for whole in (made[1], bytes(data)):
        assert_ready(trees, "perf-data", whole)


def assert_ready(trees: TreeTexts, kind: BufferKind, data: bytes) -> None:
    stated = plain_decode(kind, data)
    try:
        orjson.dumps(stated.tree)
    except TypeError:
        # A definition that is damaged can have a value of more than 64 bits, which orjson does not write.
        assert trees.tree(kind, data) is None
        return
    for _ in range(2):
        tree = trees.tree(kind, data)
        # Pieces are as they are written, and `Raw` becomes so.
        text = safe_json(bytes(tree.text)) if isinstance(tree.text, Raw) else b"".join(tree.text.made())
        assert (text, tree.notes) == (safe_json(orjson.dumps(stated.tree)), stated.notes)
        assert str(tree.problem) == str(stated.problem)


@given(any_buffer(), st.data())
def test_ready_json_of_any_buffer(made: tuple[str, bytes], draw: st.DataObject) -> None:
    """Whole or damaged, as one that was met before too: what else is to be stated of it is stated again."""
    kind, whole = cast(BufferKind, made[0]), made[1]
    trees = TreeTexts()
    for data in (whole, whole[: draw.draw(st.integers(0, len(whole)))], whole + b"\0"):
        assert_ready(trees, kind, data)
