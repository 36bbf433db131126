"""Which way performance data is read: sound buffers by arrays, and just outside each limit by what is slower, with one result."""

from collections.abc import Callable
from struct import pack
from typing import Any

import numpy as np
import pytest

from analyzer.interfaces.buffers import perf_data_layout
from analyzer.interfaces.buffers.buffer_trees import decode_buffer, plain_decode
from analyzer.interfaces.buffers.perf_data_layout import (
    _FEW,
    _FEW_VALUES,
    _MOST_PACKED,
    _NAMES_AT_ONCE,
    _SEARCHED_SIZES,
    _SHORT,
    _VALUES_AT_ONCE,
    MAX_BYTES,
    Grid,
    PerfDataReader,
    read_perf_data,
)
from analyzer.interfaces.buffers.struct_layouts import _LONGEST_PLAN, Shape, planned
from analyzer.interfaces.buffers.value_rows import plain_perf_data_rows
from tests.build.buffers import Block, counter_data, instance_header, perf_data, wide
from tests.interfaces.buffers.test_perf_data_layout import assert_parts
from tests.interfaces.buffers.test_tree_texts import eight

WAYS = (
    "_in_arrays",
    "_one_by_one",
    "_number_shape",
    "_instances",
    "_instances_by_search",
    "_instances_by_size",
    "_aligned_values",
    "_packed_values",
    "utf16_text",
)


@pytest.fixture
def ways(monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], dict[str, int]]:
    """Reads a buffer, and says how often each way was taken."""
    taken: dict[str, int] = {}

    def spied(name: str) -> Callable[..., Any]:
        function = getattr(perf_data_layout, name)

        def call(*given: Any, **named: Any) -> Any:
            taken[name] = taken.get(name, 0) + 1
            return function(*given, **named)

        return call

    for name in WAYS:
        monkeypatch.setattr(perf_data_layout, name, spied(name))

    def read(data: bytes) -> dict[str, int]:
        taken.clear()
        made = read_perf_data(data)
        found = dict(taken)
        assert made is not None
        assert_parts(made, data)
        return found

    return read


def grid(rows: int, columns: int, *, kind: int = 6, name: str = "instance") -> Block:
    named = tuple((f"{name} {row}", row) for row in range(rows))
    values = tuple(tuple(eight(row * 1000 + column) for column in range(columns)) for row in range(rows))
    return Block(kind, ids=tuple(range(columns)) if kind == 6 else (), instances=named, values=values)


ERROR, ONE = Block(0, status=0x1069), Block(1, values=((eight(5),),))


def packed_rows(rows: int, columns: int, *, held: int = 4, end: bytes = b"\0\0") -> bytes:
    """A counterset whose values of 4 bytes have no padding, so that what is behind them lies between words."""
    made = b""
    for row in range(rows):
        name = f"i {row:03}".encode("utf-16-le") + end
        made += pack("<II", 8 + len(name), row) + name
        made += b"".join(
            pack("<II", held, 8 + held) + (row + column).to_bytes(held, "little") for column in range(columns)
        )
    ids = pack(f"<II{columns}I", 8 + 4 * columns, columns, *range(columns))
    ids += bytes(-len(ids) % 8)
    ids = pack("<I", len(ids)) + ids[4:]
    body = ids + pack("<II", 8 + len(made), rows) + made
    return pack("<4I", 0, 6, 16 + len(body), 0) + body


def whole(*blocks: bytes) -> bytes:
    body = b"".join(blocks)
    return pack("<II3Q8H", 48 + len(body), len(blocks), 1, 2, 3, *[0] * 8) + body


def named_block(names: list[bytes]) -> bytes:
    """Instances with these names, as they are padded, and a value each."""
    inner = b"".join(
        pack("<II", 8 + len(name), row) + name + counter_data(eight(row)) for row, name in enumerate(names)
    )
    return whole(pack("<4I", 0, 4, 24 + len(inner), 0) + pack("<II", 8 + len(inner), len(names)) + inner)


def with_name(name: str) -> bytes:
    """Forty instances, of which one has this name."""
    raw = (name + "\0").encode("utf-16-le", "surrogatepass")
    usual = [instance_header(f"instance {row}", row)[8:] for row in range(40)]
    return named_block([*usual[:20], raw + bytes(-len(raw) % 8), *usual[21:]])


SHAPE, ARRAYS = {"_number_shape": 1}, {"_in_arrays": 1}
BY_SIZE, BY_SEARCH = {"_instances_by_size": 1, "_aligned_values": 1}, {"_instances_by_search": 1, "_aligned_values": 1}
PACKED = {"_instances_by_size": 1, "_packed_values": 1}
FAKE = pack("<II", 8, 16)
ODD = [
    # One value that is text, among many that are numbers; instances of two shapes; no counters, and instances all the same.
    Block(1, values=((wide("some text"),),)),
    Block(6, ids=(1,), instances=(("a", 1), ("b", 2)), values=((eight(1),), (b"1234",))),
    Block(6, ids=(1,), instances=(("a", 1), ("b", 2), ("c", 3)), values=((eight(1),), (b"1234",), (eight(1),))),
    Block(6, ids=(1,), instances=(("a", 1),), values=((wide("text"),),)),
]
# A buffer, and how often each way is taken to read it.
TAKEN: list[tuple[bytes, dict[str, int]]] = [
    # An array costs some microseconds to make, as much as a kilobyte takes without.
    (perf_data([ERROR] * 61), {"_one_by_one": 1}),
    (perf_data([ERROR] * 62), ARRAYS),
    # Below 24 instances and 400 values in all, one after the other; each has its name read.
    *(
        (perf_data([grid(rows, columns)]), ARRAYS | SHAPE | found | {"utf16_text": rows})
        for rows, columns, found in (
            *((23, 17, {"_instances": 1}), (19, 21, {"_instances": 1}), (20, 20, BY_SIZE), (23, 18, BY_SIZE)),
        )
    ),
    # From 24 on names are one text; up to 8 sizes a row is searched for, beyond that the sizes are followed.
    *(
        (perf_data([grid(24, columns)]), ARRAYS | SHAPE | found)
        for columns, found in ((1, BY_SEARCH), (8, BY_SEARCH), (9, BY_SIZE))
    ),
    (perf_data([grid(2, 1026)]), ARRAYS | SHAPE | BY_SIZE | {"utf16_text": 2}),
    # Blocks of as many values are read together from 24 on.
    *(
        (perf_data([block] * count + [ERROR] * 40), ARRAYS | ({"_number_shape": count} if count < 24 else {}))
        for count in (23, 24, 25)
        for block in (ONE, *(Block(2, ids=tuple(range(n)), values=(tuple(map(eight, range(n))),)) for n in (2, 3)))
    ),
    # Values between words are read by their columns; names begin and end at multiples of 4 there, and are one text.
    *(
        (whole(packed_rows(rows, columns)), ARRAYS | SHAPE | PACKED | {"_instances_by_search": 1})
        for rows, columns in ((30, 1), (30, 2), (31, 2), (30, 3))
    ),
    (whole(packed_rows(26, 9)), ARRAYS | SHAPE | PACKED),
    (whole(packed_rows(40, 2, end=bytes(4))), ARRAYS | SHAPE | PACKED | {"_instances_by_search": 1, "utf16_text": 40}),
    # Numpy gives each column of such a row a name; a forged row has thousands.
    (whole(packed_rows(2, 1024)), ARRAYS | SHAPE | PACKED | {"utf16_text": 2}),
    (whole(packed_rows(2, 1025)), ARRAYS | SHAPE | {"_instances_by_size": 1, "utf16_text": 2, "_one_by_one": 1}),
    # What arrays do not hold is read value by value.
    *((perf_data([ERROR] * 60 + [block] + [ONE] * 3), ARRAYS | {"_one_by_one": 1}) for block in ODD),
    (perf_data([ERROR] * 60 + [ONE] * 3), ARRAYS | {"_number_shape": 3}),
    # Values that look like sizes make more places where a row may begin than there are rows.
    (
        perf_data(
            [Block(6, ids=(1, 2), instances=tuple((f"i{row}", row) for row in range(30)), values=((FAKE, FAKE),) * 30)]
        ),
        ARRAYS | SHAPE | BY_SIZE | {"_instances_by_search": 1},
    ),
    # A name without a first character, with more behind its NUL, or no UTF-16: then all of the block are read one by one.
    *((with_name(name), ARRAYS | SHAPE | BY_SEARCH) for name in ("some name", "\u0100\u0100\u0100", "\U0001f600")),
    *((with_name(name), ARRAYS | SHAPE | BY_SEARCH | {"utf16_text": 40}) for name in ("", "abc\0def", "\ud800x")),
    (named_block(["four".encode("utf-16-le")] * 40), ARRAYS | SHAPE | BY_SEARCH | {"utf16_text": 40}),
]


@pytest.mark.parametrize(("data", "expected"), TAKEN, ids=map(str, range(len(TAKEN))))
def test_a_sound_buffer_is_read_in_the_way_that_its_size_is_worth(
    data: bytes, expected: dict[str, int], ways: Callable[[bytes], dict[str, int]]
) -> None:
    assert (_FEW, _FEW_VALUES, _SEARCHED_SIZES, _MOST_PACKED, _LONGEST_PLAN, _SHORT) == (24, 400, 8, 1024, 1024, 1024)
    found = ways(data)
    if "_one_by_one" not in expected:
        assert found == expected
    else:
        assert {way: found.get(way) for way in (*expected, "_in_arrays")} == {"_in_arrays": None, **expected}


@pytest.mark.parametrize("first", [grid(30, 2), grid(2, 2), Block(4), Block(6, ids=(1, 2))])
def test_a_buffer_may_end_between_words_behind_instances_alone(
    first: Block, ways: Callable[[bytes], dict[str, int]]
) -> None:
    before = [*[ERROR.encoded()] * 60, first.encoded()]
    assert "_one_by_one" not in ways(whole(*before, packed_rows(31, 2)))
    assert ways(whole(*before, pack("<4I", 0, 1, 28, 0) + pack("<II", 4, 12) + b"1234"))["_one_by_one"] == 1


@pytest.mark.parametrize("rows", [2, 30, 60])
@pytest.mark.parametrize("kind", [4, 6])
def test_names_are_one_text_where_each_is_whole(rows: int, kind: int, ways: Callable[[bytes], dict[str, int]]) -> None:
    """Names of any length up to what pads them, with the last before the end of the buffer and more behind it."""
    grids = [grid(rows, 1, kind=kind, name="n" * length) for length in range(8) for _ in range(8)]
    for behind in ([], [ONE] * 3):
        assert ways(perf_data(grids + behind)).get("utf16_text", 0) == (0 if rows >= _FEW else 64 * rows)


@pytest.mark.parametrize("size", [8, 4])
def test_many_values_and_names_are_looked_at_some_at_a_time(
    size: int, ways: Callable[[bytes], dict[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that copies stay in the cache of a processor: 2 MB of values, 8,192 names."""
    assert (_VALUES_AT_ONCE * 8, _NAMES_AT_ONCE) == (2 << 20, 8192)
    named = tuple((f"name {row:04}", row) for row in range(100))
    values = tuple((row.to_bytes(size, "little"), eight(row)) for row in range(100))
    data = perf_data([Block(6, ids=(1, 2), instances=named, values=values)])
    for at_once, pieces in ((199, 2), (200, 1), (100, 2), (98, 3), (1, 100)):
        monkeypatch.setattr(perf_data_layout, "_VALUES_AT_ONCE", at_once)
        assert ways(data)["_aligned_values"] == pieces
    monkeypatch.setattr(perf_data_layout, "_NAMES_AT_ONCE", 40)
    # Those of the last 20 are below the least that are one text.
    assert ways(data)["utf16_text"] == 20
    monkeypatch.setattr(perf_data_layout, "_NAMES_AT_ONCE", 100)
    assert "utf16_text" not in ways(data)


def test_a_long_buffer_is_not_kept_for_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    """16 MB are twice what the largest answer known to us has (80,000 values, and the names of their instances)."""
    assert MAX_BYTES == 16 << 20
    data = perf_data([grid(30, 2)])
    for most, has_places in ((len(data), True), (len(data) - 1, False)):
        monkeypatch.setattr(perf_data_layout, "MAX_BYTES", most)
        read = read_perf_data(data)
        assert (read.layout.places is not None) == has_places


@pytest.mark.parametrize(
    ("blocks", "expected"),
    [
        ([ONE], None),
        ([ONE, grid(2, 3)], None),
        ([Block(1, values=((b"1234",),))], [0xFFFFFFFF]),
        ([ONE, Block(2, ids=(1, 2), values=((b"1234", eight(1)),)), ERROR], [2**64 - 1, 0xFFFFFFFF, 2**64 - 1, 0]),
        ([], None),
    ],
)
def test_the_bits_of_a_word_that_a_value_has(blocks: list[Block], expected: list[int] | None) -> None:
    read = read_perf_data(perf_data(blocks))
    masks = read.layout.masks
    assert (masks.tolist() if masks is not None else None) == expected


def test_places_are_the_words_in_which_values_stand() -> None:
    for count in (1, 50):
        data = perf_data([ONE, ERROR, Block(2, ids=(1, 2), values=((b"1234", eight(7)),)), grid(2, 2)] * count)
        read = read_perf_data(data)
        assert read.layout.places is not None
        held = read.layout.data_sizes
        words = np.frombuffer(data, "<u8")[read.layout.places]
        masks = read.layout.masks
        assert masks is not None
        assert (words & masks).tolist() == read.values.tolist()
        assert held.tolist() == [8, -1, 4, 8, 8, 8, 8, 8] * count


def test_an_answer_of_a_known_layout_is_only_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = PerfDataReader()
    blocks = [ONE, grid(2, 2), ERROR]
    first = reader.read(perf_data(blocks, (1, 2, 3)))
    monkeypatch.setattr(perf_data_layout, "read_perf_data", lambda _data: None)
    again = reader.read(perf_data(blocks, (4, 5, 6)))
    assert again.layout is first.layout
    assert (again.perf_time_stamp, again.perf_time_100ns, again.perf_freq) == (4, 5, 6)
    changed = perf_data([Block(1, values=((eight(77),),)), *blocks[1:]])
    read = reader.read(changed)
    assert read.values[0] == 77
    # An error has no value: another status is another layout.
    assert reader.read(perf_data([ONE, grid(2, 2), Block(0, status=1)])) is None


def test_a_grid_of_no_instances_has_the_sizes_of_numbers() -> None:
    data = perf_data([Block(4), Block(6, ids=(1, 2, 3))])
    read = read_perf_data(data)
    grids = [part for part in read.layout.parts if isinstance(part, Grid)]
    assert [(part.block, part.block_type, part.counter_ids) for part in grids] == [(0, 4, None), (1, 6, (1, 2, 3))]
    assert [(part.shape.data_sizes, part.shape.sizes) for part in grids] == [((8,), (16,)), ((8,) * 3, (16,) * 3)]
    assert [len(part) for part in grids] == [0, 0]


def test_shapes_are_planned_once_up_to_a_width() -> None:
    narrow, wider = ((8, 16),) * _LONGEST_PLAN, ((8, 16),) * (_LONGEST_PLAN + 1)
    assert planned(narrow) is planned(narrow)
    assert planned(wider) is not planned(wider)


@pytest.mark.parametrize(
    ("pairs", "words", "in_words", "texts", "length"),
    [
        ((), [1], True, [], 0),
        (((8, 16),), [1], True, [], 16),
        (((4, 16), (8, 16)), [1, 3], True, [], 32),
        (((4, 12), (8, 16)), [1, 2], False, [], 28),
        (((8, 24), (4, 16), (9, 24)), [1, 4, 6], True, [2], 64),
        (((0, 8), (5, 13), (8, 16)), [1, 2, 3], False, [0, 1], 37),
    ],
)
def test_a_shape_says_where_its_values_are(
    pairs: tuple[tuple[int, int], ...], words: list[int], in_words: bool, texts: list[int], length: int
) -> None:
    shape = Shape(pairs)
    assert (shape.words, shape.in_words, shape.texts, shape.length) == (words, in_words, texts, length)
    assert shape.ints.size == shape.raw.size == length
    row = b"".join(pack("<II", held, size) + bytes(range(1, held + 1)) + bytes(size - held - 8) for held, size in pairs)
    expected = [bytes(range(1, held + 1)) for held, _ in pairs]
    assert list(shape.raw.unpack(row)[2::3]) == expected
    numbers = [int.from_bytes(one, "little") if len(one) in (4, 8) else one for one in expected]
    assert list(shape.ints.unpack(row)[2::3]) == numbers
    found = shape.values(row, 0)
    assert [type(value) for value in found] == [int if len(one) in (4, 8) else str for one in expected]
    assert shape.fits(shape.ints.unpack(row))
    if pairs:
        other = list(shape.ints.unpack(row))
        for at in (0, 1):
            changed = [*other]
            changed[at] += 1
            assert not shape.fits(tuple(changed))


def test_sound_buffers_never_meet_the_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise AssertionError("read by the parser")

    buffers = [perf_data(blocks) for blocks in ([], [ONE], [ERROR], [ONE] * 40, [grid(2, 2)], [grid(30, 2)])]
    expected = [plain_decode("perf-data", data) for data in buffers]
    assert all(not plain_perf_data_rows(data).notes for data in buffers)
    monkeypatch.setattr("analyzer.interfaces.buffers.buffer_trees.plan_for", refused)
    for data, stated in zip(buffers, expected, strict=True):
        made = decode_buffer("perf-data", data)
        assert (made.tree, made.consumed, made.problem, made.notes) == (stated.tree, stated.consumed, None, ())
