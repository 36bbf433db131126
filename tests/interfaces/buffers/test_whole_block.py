"""One PERF_DATA_BLOCK with something of everything (winperf.h): its tree, its rows and its fields, as they were put in."""

from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import asdict, replace

from analyzer.interfaces.buffers import field_map, winperf_layout
from analyzer.interfaces.buffers.buffer_trees import decode_buffer, find_damage, plain_decode, plan_for
from analyzer.interfaces.buffers.field_map import map_fields
from analyzer.interfaces.buffers.known_layouts import SameLayout
from analyzer.interfaces.buffers.value_rows import WinPerf, winperf_rows
from analyzer.interfaces.buffers.winperf_layout import (
    PERF_METADATA_MULTIPLE_INSTANCES,
    PERF_METADATA_NO_INSTANCES,
    PERF_NO_INSTANCES,
    WinperfParts,
    WinperfReader,
    read_winperf,
)
from tests.build.buffers import Counter, Instance, Order, PerfObject, wide, winperf
from tests.interfaces.buffers.strategies import objects
from tests.interfaces.buffers.test_field_map import encodes, lines
from tests.interfaces.buffers.test_vectors import assert_tree_has_fields
from tests.written import is_as_written

ASCII_TEXT, TEXT = 0x10B00, 0xB00
COUNTERS = (
    Counter(6, 0x10000, 4),
    Counter(8, 0x10410500, 8),
    Counter(10, 0x40000200, 0),
    Counter(12, ASCII_TEXT, 6),
    Counter(14, TEXT, 8),
)
MIXED = PerfObject(
    238,
    COUNTERS,
    (Instance("café", -1, (2, 3), (1, 2, 0, "one", "ab")), Instance(None, 9, (4, 5), (3, 4, 0, "two", "cd"))),
    code_page=1252,
    default_scale=-2,
    clock=(-3, 1000),
)
NUMBERS = PerfObject(
    5,
    COUNTERS[:3],
    (Instance("été", 7, (1, 0), (21, 22, 0)), Instance("b", -1, (1, 1), (23, 1 << 40, 0))),
)
ALONE = PerfObject(4, (Counter(24, 0x10000, 4),), (Instance(None, -1, (0, 0), (7,)),), has_instances=False)
OBJECTS = [MIXED, NUMBERS, ALONE]
ROW_NAMES = {
    "name_index": "object_name_title_index",
    "help_index": "object_help_title_index",
    "parent_index": "parent_object_title_index",
    "parent_instance": "parent_object_instance",
    "size": "counter_size",
    "offset": "counter_offset",
}


# What rows say of their reading.
READING = {"big_endian", "problem", "notes"}


def has_all_of(made: Struct, tree: dict[str, Any]) -> bool:
    """Whether a row has the values of a tree, under the names of the description."""
    names = {name: ROW_NAMES.get(name, name) for name in made.__struct_fields__}
    if "counter_type" in names:
        names |= {"name_index": "counter_name_title_index", "help_index": "counter_help_title_index"}
    return all(value == tree[names[name]] for name, value in asdict(made).items() if name not in READING)


@pytest.mark.parametrize("order", ["little", "big"])
def test_tree_rows_and_fields_of_a_block_have_all_that_was_put_in(order: Order) -> None:
    """The fields are held by `winperf.txt`, and the tree has what they have; the rows have what the tree has."""
    data = winperf(OBJECTS, order)
    assert_tree_has_fields("winperf", data)
    made, stated, read = decode_buffer("winperf", data), plain_decode("winperf", data), winperf_rows(data)
    assert (made.tree, list(made.tree)) == (stated.tree, list(stated.tree))
    assert [(one.consumed, one.problem, one.notes) for one in (made, stated)] == [(len(data), None, ())] * 2
    assert find_damage("winperf", data) is None
    assert (read.big_endian, read.problem, read.notes) == (order == "big", None, ())
    assert read.system_time is not None
    assert has_all_of(read, {**made.tree, "system_time": read.system_time, "objects": read.objects})
    assert asdict(read.system_time) == made.tree["system_time"]
    for item, put, tree in zip(read.objects, OBJECTS, (one["body"] for one in made.tree["objects"]), strict=True):
        assert has_all_of(item, {**tree, "definitions": item.definitions, "instances": item.instances})
        assert all(has_all_of(one, entry) for one, entry in zip(item.definitions, tree["counters"], strict=True))
        for instance, put_in in zip(item.instances, put.instances, strict=True):
            wanted = [value if one.size else None for one, value in zip(put.counters, put_in.values, strict=True)]
            assert list(instance.values) == wanted
            assert instance.name == put_in.name
            assert instance.unique_id == (None if put_in.unique_id == -1 else put_in.unique_id)
            parent = put_in.parent if put.has_instances else (None, None)
            assert (instance.parent_index, instance.parent_instance) == parent


def test_the_fields_of_a_block_are_where_the_header_file_has_them() -> None:
    """`winperf.txt` has names, types, places, values and meanings; the bytes of each leaf encode its value."""
    data = winperf([MIXED, ALONE])
    mapped = map_fields("winperf", data)
    assert (mapped.problem, mapped.notes) == (None, ())
    is_as_written(Path(__file__).parent / "tables" / "winperf.txt", "".join(lines(mapped.root, set())))
    leaves = list(mapped.root.leaves())
    assert all(encodes(leaf, ("little",)) for leaf in leaves)
    assert [leaf.start for leaf in leaves] == [0, *(leaf.stop for leaf in leaves[:-1])]


def test_instances_that_are_none_have_numbers_of_their_own() -> None:
    """winperf.h: PERF_NO_INSTANCES, PERF_METADATA_MULTIPLE_INSTANCES, PERF_METADATA_NO_INSTANCES."""
    assert (PERF_NO_INSTANCES, PERF_METADATA_MULTIPLE_INSTANCES, PERF_METADATA_NO_INSTANCES) == (-1, -2, -3)


def refused(*_: object, **__: object) -> Any:
    raise AssertionError("not on the quick path")


def test_a_sound_block_never_meets_the_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("analyzer.interfaces.buffers.buffer_trees.plan_for", refused)
    for made in ([], OBJECTS, [NUMBERS], [PerfObject(7, COUNTERS, (), metadata=True)], [PerfObject(7, COUNTERS, ())]):
        data = winperf(made)
        assert decode_buffer("winperf", data, big_endian=False).problem is None
        assert find_damage("winperf", data) is None


@pytest.mark.parametrize(
    ("begin", "big_endian", "expected"),
    [
        (wide("PERF")[:8] + b"\1\0\0\0", None, False),
        (wide("PERF")[:8] + bytes(4), None, True),
        (wide("PERF", "big")[:8] + bytes(4), None, True),
        (wide("PERF", "big")[:8] + b"\0\0\0\1", None, True),
        (wide("PERF")[:8] + b"\0\0\0\1", None, False),
        (wide("PERF")[:8] + bytes(3), None, False),
        (wide("PERF")[:8] + b"\1\0\0\0", True, True),
        (wide("PERF", "big")[:8] + bytes(4), False, False),
    ],
)
def test_the_order_of_bytes_is_that_of_the_signature_or_what_is_said(
    begin: bytes, big_endian: bool | None, expected: bool
) -> None:
    plan = plan_for("winperf", begin + bytes(80 if len(begin) == 12 else 0), big_endian)
    assert (plan.reading.big_endian, plan.arguments) == (expected, (expected,))


def free_words(data: bytes, reader: WinperfReader, monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """The 4-byte words of a block that another of its layout may have otherwise."""
    assert reader.read(data) is not None
    monkeypatch.setattr(winperf_layout, "read_winperf", lambda _data: None)
    found = set()
    for at in range(0, len(data), 4):
        changed = data[:at] + bytes(byte ^ 0xFF for byte in data[at : at + 4]) + data[at + 4 :]
        if reader.read(changed) is not None:
            found.add(at)
    return found


def test_blocks_of_a_layout_differ_in_clocks_and_values_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The times of the block and of its objects, and the values (winperf.h); text is a value too."""
    # Header: SystemTime, PerfTime, PerfFreq, PerfTime100nSec. The places of the rest are those of winperf.txt.
    clocks = {*range(36, 52, 4), *range(56, 80, 4)}
    first = {152, 156, 160, 164, *range(408, 436, 4), *range(472, 500, 4)}
    data = winperf([MIXED, ALONE])
    assert free_words(data, WinperfReader(), monkeypatch) == clocks | first | {552, 556, 560, 564, 616}


def test_numbers_of_8_bytes_are_free_in_both_halves(monkeypatch: pytest.MonkeyPatch) -> None:
    # The instances of NUMBERS stand at 288, with names of 8 bytes and blocks of 24.
    clocks = {*range(36, 52, 4), *range(56, 80, 4), 152, 156, 160, 164}
    values = {at + place for at in (288 + 32, 288 + 32 + 24 + 32) for place in (8, 12, 16)}
    assert free_words(winperf([NUMBERS]), WinperfReader(), monkeypatch) == clocks | values


def test_a_block_of_a_known_layout_has_values_of_its_own() -> None:
    reader = WinperfReader()
    again = PerfObject(
        5,
        NUMBERS.counters,
        tuple(
            Instance(one.name, one.unique_id, one.parent, (one.values[0], (1 << 63) + at, 0))
            for at, one in enumerate(NUMBERS.instances)
        ),
        clock=(8, 9),
    )
    first, second = reader.read(winperf([NUMBERS, ALONE])), reader.read(winperf([again, ALONE], clocks=(1, 2, 3)))
    assert isinstance(first, WinperfParts)
    assert isinstance(second, WinperfParts)
    assert second.layout is first.layout
    assert second.values.tolist() == [21, 1 << 63, 23, (1 << 63) + 1, 7]
    assert second.values.dtype == np.uint64
    assert second.object_clocks == ((8, 9), (5000, 1000))
    assert (second.perf_time, second.perf_freq, second.perf_time_100ns) == (1, 2, 3)


def test_what_is_remembered_of_blocks() -> None:
    """Of 8 MB: a server's whole registry of counters ("Global") has a few hundred kilobytes."""
    assert winperf_layout.MAX_BYTES == 8 << 20
    # Objects of a server are some dozens; queries polled in turn with answers of one size a few.
    assert (SameLayout.MAX_LAYOUTS, SameLayout.MAX_OF_A_SIZE) == (64, 4)


@pytest.mark.parametrize(
    ("at", "by", "is_read"),
    [
        # ByteLength of a counter block of the instance before the last: at least its own 4 bytes, and all its values.
        (288 + 32, -4, False),
        # The last may say less than it holds, which calls for a remark.
        (288 + 32 + 24 + 32, -4, True),
        (288 + 32 + 24 + 32, -19, True),
        (288 + 32 + 24 + 32, -20, True),
        (288 + 32 + 24 + 32, -21, False),
        (288 + 32 + 24 + 32, 4, False),
        # NameOffset 4 and NameLength up to the end of the definition.
        (288 + 16, -20, True),
        (288 + 16, -21, False),
        (288 + 16, 4, False),
        (288 + 20, 1, False),
        (288 + 20, -8, True),
        # CounterOffset of a value: not the length, and within the block.
        (168 + 36, -4, True),
        (168 + 36, -5, False),
        (168 + 36, -2, True),
        (208 + 36, 4, True),
        (208 + 36, 8, False),
    ],
)
def test_how_far_a_block_may_be_off_to_be_read_by_columns(at: int, by: int, is_read: bool) -> None:
    data = bytearray(winperf([NUMBERS]))
    data[at : at + 4] = (int.from_bytes(data[at : at + 4], "little") + by).to_bytes(4, "little")
    assert (read_winperf(bytes(data)) is not None) == is_read


def test_a_counter_block_may_be_its_length_alone() -> None:
    """Of an object whose counters have no values; also where the block ends there."""
    data = bytearray(winperf([PerfObject(5, (COUNTERS[2],), (Instance("a", -1, (0, 0), (0,)),))])[:-4])
    for at in (20, 104, len(data) - 4):
        data[at : at + 4] = (int.from_bytes(data[at : at + 4], "little") - 4).to_bytes(4, "little")
    assert data[-4:] == b"\4\0\0\0"
    assert read_winperf(bytes(data)) is not None
    assert plain_decode("winperf", bytes(data)).problem is None


@settings(max_examples=100)
@given(st.lists(objects(), min_size=1, max_size=3), st.data())
def test_each_instance_has_the_fields_that_it_has_in_the_whole(made: list[PerfObject], draw: st.DataObject) -> None:
    """Also of names that lie in other fields or that end early, and of words that make a block call for a remark."""
    several = [
        replace(item, instances=tuple(draw.draw(st.lists(st.sampled_from(item.instances), max_size=9))))
        if item.has_instances and item.instances
        else item
        for item in made
    ]
    data = bytearray(winperf(several) + bytes(draw.draw(st.sampled_from([0, 0, 8]))))
    for _ in range(draw.draw(st.integers(0, 3))):
        at = 4 * draw.draw(st.integers(3, len(data) // 4 - 1))
        data[at : at + 4] = draw.draw(st.sampled_from([0, 4, 8, 24, 40, 88, len(data) - 8])).to_bytes(4, "little")
    found = map_fields("winperf", bytes(data))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(field_map, "one_of_each_shape", lambda data, _block: (data, ()))
        whole = map_fields("winperf", bytes(data))
    assert found.root == whole.root
    assert (str(found.problem), found.notes) == (str(whole.problem), whole.notes)
    assert [leaf.raw for leaf in found.root.leaves()] == [leaf.raw for leaf in whole.root.leaves()]
    assert [leaf.reads for leaf in found.root.leaves()] == [leaf.reads for leaf in whole.root.leaves()]


def test_instances_of_one_shape_meet_the_parser_once(parsed_lengths: list[int]) -> None:
    one = (Instance("p1", 1, (0, 0), (1, 9, 0)),)
    many = tuple(Instance(f"p{number % 10}", number, (0, 0), (number, 9, 0)) for number in range(1000))
    mapped = map_fields("winperf", winperf([replace(NUMBERS, instances=many), ALONE]))
    assert [len(child.children[-1].children) for child in mapped.root.children[-2:]] == [13 + 3 + 1000, 13 + 1 + 1]
    assert parsed_lengths == [len(winperf([replace(NUMBERS, instances=one), ALONE]))]


# Objects of a PERF_DATA_BLOCK: metadata alone is read, and one that is damaged costs no other, whoever reads the block.

RAW = 0x10000
PROCESSOR = PerfObject(
    238, (Counter(6, RAW, 4), Counter(8, 0x10410500, 8)), (Instance("0", -1, (0, 0), (1, 2)),), has_instances=True
)
MEMORY = PerfObject(4, (Counter(24, RAW, 4),), (Instance(None, -1, (0, 0), (7,)),), has_instances=False)
HEADER = 104  # of a block, with the name of the system


def metadata(item: PerfObject) -> PerfObject:
    return PerfObject(item.index, item.counters, (), item.has_instances, metadata=True)


@pytest.mark.parametrize("order", ["little", "big"])
def test_one_block_holds_objects_with_and_without_values(order: Order) -> None:
    made = [PROCESSOR, metadata(PROCESSOR), MEMORY, metadata(MEMORY)]
    data = winperf(made, order)
    read = winperf_rows(data)
    assert read.problem is None
    assert [item.num_instances for item in read.objects] == [1, -2, -1, -3]
    assert [item.is_metadata for item in read.objects] == [False, True, False, True]
    assert [len(item.instances) for item in read.objects] == [1, 0, 1, 0]
    assert read.objects[1].definitions == read.objects[0].definitions
    assert read.objects[3].definitions == read.objects[2].definitions
    bodies = [item["body"] for item in decode_buffer("winperf", data).tree["objects"]]
    assert [body["counter_block"] is None for body in bodies] == [True, True, False, True]
    assert [body["instances"] is None for body in bodies] == [False, True, True, True]


def test_a_number_of_instances_that_nothing_stands_for_is_damage() -> None:
    data = bytearray(winperf([metadata(PROCESSOR), MEMORY]))
    data[HEADER + 40 : HEADER + 44] = (-4).to_bytes(4, "little", signed=True)
    read = winperf_rows(bytes(data))
    assert (read.problem.field, read.problem.start) == ("objects[0].body.num_instances", HEADER + 40)
    assert [item.name_index for item in read.objects] == [4]
    assert read_winperf(bytes(data)) is None


def spans(made: list[PerfObject], order: Order) -> list[tuple[int, int]]:
    """Where each object begins and ends."""
    at = list(accumulate((len(item.encoded(order)) for item in made), initial=HEADER))
    return list(pairwise(at))


def others(read: WinPerf, victim: int, count: int) -> tuple[object, object]:
    return read.objects[:victim], read.objects[len(read.objects) - (count - 1 - victim) :]


@settings(max_examples=150)
@given(st.lists(objects(), min_size=1, max_size=4), st.sampled_from(["little", "big"]), st.data())
def test_a_damaged_object_costs_no_other(made: list[PerfObject], order: Order, draw: st.DataObject) -> None:
    whole = winperf(made, order)
    victim = draw.draw(st.integers(0, len(made) - 1))
    start, stop = spans(made, order)[victim]
    data = bytearray(whole)
    for _ in range(draw.draw(st.integers(1, 4))):
        # Anything but the length that leads to the next object, most often in the header.
        at = draw.draw(
            st.one_of(st.integers(1, 15).map(lambda word: start + 4 * word), st.integers(start + 4, stop - 4))
        )
        data[at : at + 4] = draw.draw(st.sampled_from([b"\xff\xff\xff\xff", bytes(4), b"\0\0\1\0", b"\x40\0\0\0"]))
    damaged = bytes(data)

    before, after = winperf_rows(whole), winperf_rows(damaged)
    assert others(after, victim, len(made)) == others(before, victim, len(made))
    tree, was = decode_buffer("winperf", damaged), decode_buffer("winperf", whole)
    for number in range(len(made)):
        if number != victim:
            assert tree.tree["objects"][number] == was.tree["objects"][number]
    fields, were = map_fields("winperf", damaged), map_fields("winperf", whole)
    for field, is_was in zip(fields.root.children, were.root.children, strict=True):
        if field.name != f"objects[{victim}]":
            assert [(leaf.start, leaf.value) for leaf in field.leaves()] == [
                (leaf.start, leaf.value) for leaf in is_was.leaves()
            ]
    for problem in (after.problem, tree.problem, fields.problem):
        assert (problem is None) == (tree.problem is None)
        if problem is not None and tree.problem is not None:
            assert (problem.field, problem.start) == (tree.problem.field, tree.problem.start)
            assert problem.field.startswith(f"objects[{victim}].body.")
            assert problem.start is not None
            assert start < problem.start <= stop


def test_every_damaged_object_is_reported() -> None:
    data = bytearray(winperf([PROCESSOR, MEMORY, PROCESSOR]))
    first, _, last = spans([PROCESSOR, MEMORY, PROCESSOR], "little")
    data[first[0] + 4 : first[0] + 8] = bytes(4)
    data[last[0] + 32 : last[0] + 36] = b"\xff\xff\xff\xff"
    for read in (winperf_rows(bytes(data)), decode_buffer("winperf", bytes(data)), map_fields("winperf", bytes(data))):
        assert read.problem.field == "objects[0].body.definition_length"
        (note,) = [note for note in read.notes if note.startswith("damaged as well: ")]
        assert "objects[2].body.counters[" in note


@pytest.mark.parametrize(
    ("count", "described", "last"), [(2, 1, None), (8, 7, None), (9, 8, None), (10, 8, 1), (11, 8, 2), (30, 8, 21)]
)
def test_eight_more_damaged_objects_are_described_and_the_rest_counted(
    count: int, described: int, last: int | None
) -> None:
    made = [MEMORY] * count
    data = bytearray(winperf(made))
    for start, _ in spans(made, "little"):
        data[start + 4 : start + 8] = bytes(4)
    read = decode_buffer("winperf", bytes(data))
    assert len(read.tree["objects"]) == count
    more = [note.removeprefix("damaged as well: ") for note in read.notes]
    fields = [f"objects[{number}].body.definition_length" for number in range(1, described + 1)]
    assert [note.partition(" at byte ")[0] for note in more[:described]] == fields
    assert more[described:] == ([f"{last} more structures"] if last is not None else [])


def test_an_object_that_does_not_tell_its_length_ends_the_block() -> None:
    data = bytearray(winperf([MEMORY, PROCESSOR]))
    data[HEADER : HEADER + 4] = (8).to_bytes(4, "little")
    read = winperf_rows(bytes(data))
    assert read.problem.field == "objects[0].total_byte_length"
    assert not read.objects
