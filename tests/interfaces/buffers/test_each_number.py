"""Each number of a buffer changed in turn: what is read by columns is what the compiled parser reads, whatever the number says."""

from collections.abc import Iterator
from struct import pack, unpack_from

import pytest
from msgspec.structs import replace

from analyzer.interfaces.buffers.buffer_trees import plain_decode
from analyzer.interfaces.buffers.perf_data_layout import PerfDataReader, read_perf_data
from analyzer.interfaces.buffers.tree_texts import TreeTexts
from analyzer.interfaces.buffers.value_rows import perf_data_columns
from analyzer.interfaces.buffers.winperf_layout import WinperfReader, read_winperf
from tests.build.buffers import Block, Counter, Instance, PerfObject, perf_data, wide, winperf
from tests.interfaces.buffers.test_perf_data_layout import (
    assert_columns,
    assert_parts,
    assert_ready,
    assert_same,
    number,
)
from tests.interfaces.buffers.test_winperf_layout import assert_block


def grid(rows: int, *values: bytes, kind: int = 6, name: str = "i") -> Block:
    """A block with instances, each with these values but for the first, which is the number of the instance."""
    named = tuple((f"{name}{row}", row + 7) for row in range(rows))
    table = tuple((row.to_bytes(len(values[0]), "little"), *values[1:]) for row in range(rows))
    return Block(kind, ids=tuple(range(5, 5 + len(values))) if kind == 6 else (), instances=named, values=table)


EIGHT, FOUR, TEXT, NOTHING = number(1 << 40), number(7, 4), wide("some text"), b""
SINGLES = [
    Block(0, status=0x1069),
    Block(1, values=((EIGHT,),)),
    Block(1, values=((FOUR,),)),
    Block(2, ids=(1, 2), values=((FOUR, EIGHT),)),
    Block(2, ids=(9, 8, 7), values=((FOUR, FOUR, EIGHT),)),
]
BUFFERS = {
    "nothing": [],
    "singles": SINGLES,
    "texts": [
        Block(1, values=((TEXT,),)),
        Block(2, ids=(1, 2), values=((TEXT, NOTHING),)),
        Block(1, values=((NOTHING,),)),
    ],
    "grid": [grid(2, EIGHT, FOUR)],
    "grid of one counter": [grid(3, FOUR, kind=4), Block(0, status=5)],
    "grid of text": [grid(2, EIGHT, TEXT), grid(1, NOTHING, FOUR)],
    "no instances": [Block(4), Block(6, ids=(1, 2)), *SINGLES[:2]],
    "long names": [grid(2, EIGHT, name="a name of some length "), grid(2, FOUR, kind=4, name="")],
    "many singles": SINGLES * 6,
    "many singles alike": [*SINGLES[1:3] * 13, *SINGLES[3:4] * 25, *SINGLES[4:] * 24],
    "many instances": [grid(30, EIGHT, FOUR)],
    "many instances of one counter": [SINGLES[1], grid(40, FOUR, kind=4), SINGLES[3]],
    "many columns": [grid(26, *([EIGHT, FOUR] * 6))],
    "many instances between words": [grid(26, EIGHT, number(5, 3))],
    "several grids": [*SINGLES, grid(2, EIGHT), *SINGLES[:2], grid(25, FOUR, EIGHT), Block(0, status=5)],
}


def each_changed(data: bytes, most: int) -> Iterator[bytes]:
    """The buffer with one of its numbers changed: the first so many of them, and the last."""
    count = len(data) // 4
    for at in sorted({*range(min(most, count)), *range(max(count - 6, 0), count)}):
        (old,) = unpack_from("<I", data, 4 * at)
        for new in {0, 1, 8, 16, 0xFFFFFFFF, old + 1, old - 1, old + 4, old - 4, old + 8, old - 8, old + 16, old - 16}:
            if new != old:
                yield data[: 4 * at] + pack("<I", new & 0xFFFFFFFF) + data[4 * at + 4 :]


@pytest.mark.parametrize("blocks", BUFFERS.values(), ids=BUFFERS.keys())
def test_a_buffer_is_read_alike_in_each_way(blocks: list[Block]) -> None:
    data = perf_data(blocks)
    assert read_perf_data(data) is not None
    assert_parts(read_perf_data(data), data)
    assert_same(data)
    assert_ready(TreeTexts(), "perf-data", data)
    reader, trees = PerfDataReader(), TreeTexts()
    for stamp in (3, 1 << 40):
        again = data[:8] + number(stamp) + data[16:]
        assert_parts(reader.read(again), again)
        assert_ready(trees, "perf-data", again)


@pytest.mark.parametrize("blocks", BUFFERS.values(), ids=BUFFERS.keys())
def test_each_number_of_a_buffer_counts(blocks: list[Block]) -> None:
    data = perf_data(blocks)
    reader = PerfDataReader()
    for changed in list(each_changed(data, 44))[:: 2 if len(data) < 600 else 5]:
        read = read_perf_data(changed)
        assert_parts(read, changed)
        again = reader.read(changed)
        assert (again is None) == (read is None)
        assert_parts(again, changed)


@pytest.mark.parametrize("blocks", BUFFERS.values(), ids=BUFFERS.keys())
def test_each_number_of_a_buffer_shows_in_its_columns(blocks: list[Block]) -> None:
    for changed in list(each_changed(perf_data(blocks), 44))[::11]:
        assert_columns(perf_data_columns(changed), changed)


@pytest.mark.parametrize("before", [0, 40])
def test_instances_without_counter_ids_are_read_by_the_compiled_parser(before: int) -> None:
    """In short buffers and in long ones, in which blocks are read at once; a row without values has no place for any."""
    data = perf_data([*SINGLES * before, Block(6, instances=(("a", 1), ("b", 2)), values=((), ())), *SINGLES])
    reader = PerfDataReader()
    assert [reader.read(data), reader.read(data), read_perf_data(data)] == [None] * 3
    assert_same(data)
    # Without instances there is nothing to be read.
    assert_parts(read_perf_data(none := perf_data([Block(6), *SINGLES])), none)


RAW, COUNTER, WIDE = 0x10000, 0x10410400, 0x10410500
OBJECTS = {
    "no objects": [],
    "an object without instances": [
        PerfObject(
            4, (Counter(24, RAW, 4), Counter(26, WIDE, 8)), (Instance(None, -1, (0, 0), (7, 8)),), has_instances=False
        )
    ],
    "two instances": [
        PerfObject(
            230,
            (Counter(784, RAW, 4), Counter(6, WIDE, 8), Counter(8, 0x40000200, 0)),
            (Instance("a", -1, (2, 3), (1, 2, 0)), Instance(None, 9, (4, 5), (3, 4, 0))),
            clock=(-3, 1 << 40),
            default_scale=-2,
        )
    ],
    "text": [
        PerfObject(5, (Counter(1, 0xB00, 8), Counter(2, RAW, 4)), (Instance("t", -1, (0, 0), ("ab", 9)),)),
        PerfObject(
            6, (Counter(1, 0x10B00, 6), Counter(2, RAW, 4)), (Instance("u", -1, (0, 0), ("abc", 9)),), code_page=1252
        ),
    ],
    "metadata": [
        PerfObject(7, (Counter(1, RAW, 4),), (), metadata=True),
        PerfObject(8, (Counter(1, RAW, 4),), (), has_instances=False, metadata=True),
        PerfObject(9, (Counter(1, RAW, 4),), ()),
    ],
}


@pytest.mark.parametrize("objects", OBJECTS.values(), ids=OBJECTS.keys())
def test_a_block_is_read_alike_in_each_way(objects: list[PerfObject]) -> None:
    data = winperf(objects)
    reader = WinperfReader()
    for clocks in ((1, 2, 3), (-1, 1 << 62, 1 << 40)):
        again = winperf([replace(one, clock=clocks[:2]) for one in objects], clocks=clocks)
        read = reader.read(again)
        assert read is not None
        assert_block(read, again)
    assert read_winperf(data) is not None


@pytest.mark.parametrize("objects", OBJECTS.values(), ids=OBJECTS.keys())
def test_each_number_of_a_block_counts(objects: list[PerfObject]) -> None:
    data = winperf(objects)
    reader = WinperfReader()
    reader.read(data)
    for changed in list(each_changed(data, 120))[:: 1 if len(data) < 300 else 5]:
        read = reader.read(changed)
        assert (read is None) == (read_winperf(changed) is None)
        assert_block(read, changed)


@pytest.mark.parametrize("objects", OBJECTS.values(), ids=OBJECTS.keys())
def test_what_the_parser_finds_sound_is_read_by_columns(objects: list[PerfObject]) -> None:
    """Whatever a number says, but for two: only blocks whose LittleEndian is 1, only values behind the length of their block.

    Quick and slow readings have one result; which one is taken is what is held here.
    """
    data = winperf(objects)
    # CounterOffset of the three objects of which there is metadata alone.
    offsets = {204, 308, 412}
    for at in range(0, len(data), 4):
        (old,) = unpack_from("<I", data, at)
        for new in {0, 1, 4, 8, old + 1, old - 1, old + 4, old - 4, old + 8, old - 8}:
            changed = data[:at] + pack("<I", new & 0xFFFFFFFF) + data[at + 4 :]
            is_quick = read_winperf(changed) is not None
            if at == 8:
                assert is_quick == (new == 1)
            elif not (at in offsets and new < 4 and old == 8):
                assert is_quick == (plain_decode("winperf", changed).problem is None), (at, old, new)


@pytest.mark.parametrize(
    "name", ["nothing", "singles", "texts", "grid", "grid of one counter", "grid of text", "no instances"]
)
def test_what_the_parser_finds_sound_and_usual_is_read_by_columns(name: str) -> None:
    """But for values of which less than a word is left over in their block, which is no reason for a remark."""
    data = perf_data(BUFFERS[name])
    for changed in each_changed(data, 60):
        stated = plain_decode("perf-data", changed)
        is_sound = stated.problem is None and not stated.notes
        if is_sound and (read_perf_data(changed) is None):
            at = next(at for at in range(0, len(data), 4) if data[at : at + 4] != changed[at : at + 4])
            (old,), (new,) = unpack_from("<I", data, at), unpack_from("<I", changed, at)
            assert (at, old - new) in {(116, 4), (116, 1), (68, 4), (68, 1)}
        else:
            assert is_sound == (read_perf_data(changed) is not None)
