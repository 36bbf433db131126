"""One PERF_DATA_BLOCK with something of everything (winperf.h): its tree, its rows and its fields, as they were put in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analyzer.interfaces.buffers import decode_buffer, find_damage, map_fields, regular_v1, winperf_rows
from analyzer.interfaces.buffers.decode import plain_decode, plan_for
from analyzer.interfaces.buffers.objects_v1 import (
    PERF_METADATA_MULTIPLE_INSTANCES,
    PERF_METADATA_NO_INSTANCES,
    PERF_NO_INSTANCES,
    CounterDefinition,
    WinPerfInstance,
    WinPerfObject,
)
from analyzer.interfaces.buffers.regular_v1 import V1Block, V1Reader, read_v1
from analyzer.interfaces.buffers.same_layout import SameLayout
from tests.build.buffers import Counter, Instance, Order, PerfObject, wide, winperf
from tests.interfaces.buffers.test_fields import encodes, lines

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
SYSTEM_TIME = {
    "year": 2024,
    "month": 3,
    "day_of_week": 2,
    "day": 5,
    "hour": 12,
    "minute": 34,
    "second": 56,
    "milliseconds": 789,
}


def definitions(item: PerfObject) -> list[dict[str, int]]:
    """PERF_COUNTER_DEFINITION, 40 bytes each; values stand one behind the other from byte 8 on, at multiples of 4."""
    made, at = [], 8
    for counter in item.counters:
        at += -at % 4
        made.append(
            {
                "byte_length": 40,
                "counter_name_title_index": counter.index,
                "counter_name_title": 0,
                "counter_help_title_index": counter.index + 1,
                "counter_help_title": 0,
                "default_scale": item.default_scale,
                "detail_level": 100,
                "counter_type": counter.kind,
                "counter_size": counter.size,
                "counter_offset": at,
            }
        )
        at += counter.size
    return made


def row(item: PerfObject, values: tuple[int | str, ...]) -> list[int | str | None]:
    return [value if counter.size else None for counter, value in zip(item.counters, values, strict=True)]


def body(item: PerfObject, length: int, names: list[int]) -> dict[str, Any]:
    """The tree of an object whose counter blocks have `length` bytes, and whose names `names`."""

    def block(values: tuple[int | str, ...]) -> dict[str, Any]:
        return {"byte_length": length, "body": {"values": row(item, values)}}

    instances = [
        {
            "byte_length": 24 + size + -size % 8,
            "definition": {
                "parent_object_title_index": one.parent[0],
                "parent_object_instance": one.parent[1],
                "unique_id": one.unique_id,
                "name_offset": 24,
                "name_length": size,
                "name": one.name,
            },
            "counter_block": block(one.values),
        }
        for one, size in zip(item.instances, names, strict=True)
    ]
    return {
        "definition_length": 64 + 40 * len(item.counters),
        "header_length": 64,
        "object_name_title_index": item.index,
        "object_name_title": 0,
        "object_help_title_index": item.index + 1,
        "object_help_title": 0,
        "detail_level": 100,
        "num_counters": len(item.counters),
        "default_counter": 0,
        "num_instances": item.num_instances,
        "code_page": item.code_page,
        "perf_time": item.clock[0],
        "perf_freq": item.clock[1],
        "counters": definitions(item),
        "counter_block": None if item.has_instances else block(item.instances[0].values),
        "instances": instances if item.has_instances else None,
    }


def tree(order: Order) -> dict[str, Any]:
    bodies = [body(MIXED, 40, [5, 0]), body(NUMBERS, 24, [8, 4]), body(ALONE, 16, [0])]
    lengths = [400, 64 + 120 + 2 * 24 + 2 * (24 + 8), 120]
    return {
        "signature": "PERF",
        "little_endian": int(order == "little"),
        "version": 1,
        "revision": 1,
        "total_byte_length": 104 + sum(lengths),
        "header_length": 104,
        "num_object_types": 3,
        "default_object": -1,
        "system_time": SYSTEM_TIME,
        "perf_time": 987_654_321,
        "perf_freq": 10_000_000,
        "perf_time_100ns": 133_541_156_967_890_000,
        "system_name_length": 10,
        "system_name_offset": 88,
        "objects": [{"total_byte_length": length, "body": one} for length, one in zip(lengths, bodies, strict=True)],
        "system_name": "SRV1",
    }


@pytest.mark.parametrize("order", ["little", "big"])
def test_the_tree_of_a_block_has_all_that_was_put_in(order: Order) -> None:
    data = winperf(OBJECTS, order)
    for made in (decode_buffer("winperf", data), plain_decode("winperf", data)):
        assert made.tree == tree(order)
        assert list(made.tree) == list(tree(order))
        assert (made.consumed, made.problem, made.notes) == (len(data), None, ())
    assert find_damage("winperf", data) is None


def objects() -> tuple[WinPerfObject, ...]:
    return tuple(
        WinPerfObject(
            *(item.index, item.index + 1, 100, 0, item.num_instances, item.code_page, *item.clock),
            tuple(
                CounterDefinition(
                    *(one["counter_name_title_index"], one["counter_help_title_index"], one["default_scale"]),
                    *(100, one["counter_type"], one["counter_size"], one["counter_offset"]),
                )
                for one in definitions(item)
            ),
            tuple(
                WinPerfInstance(
                    one.name,
                    None if one.unique_id == -1 else one.unique_id,
                    *(one.parent if item.has_instances else (None, None)),
                    tuple(row(item, one.values)),
                )
                for one in item.instances
            ),
        )
        for item in OBJECTS
    )


@pytest.mark.parametrize("order", ["little", "big"])
def test_the_rows_of_a_block_have_all_that_was_put_in(order: Order) -> None:
    read = winperf_rows(winperf(OBJECTS, order))
    assert read.objects == objects()
    assert read.big_endian == (order == "big")
    assert (read.total_byte_length, read.num_object_types, read.default_object) == (
        tree(order)["total_byte_length"],
        3,
        -1,
    )
    assert (read.perf_time, read.perf_freq, read.perf_time_100ns) == (987_654_321, 10_000_000, 133_541_156_967_890_000)
    assert (read.system_name, read.problem, read.notes) == ("SRV1", None, ())
    assert read.system_time is not None
    assert {name: getattr(read.system_time, name) for name in SYSTEM_TIME} == SYSTEM_TIME


def test_the_fields_of_a_block_are_where_the_header_file_has_them() -> None:
    """`winperf.txt` has names, types, places, values and meanings; the bytes of each leaf encode its value."""
    data = winperf([MIXED, ALONE])
    mapped = map_fields("winperf", data)
    assert (mapped.problem, mapped.notes) == (None, ())
    found = "".join(f"{line}\n" for line in lines(mapped.root))
    assert found == (Path(__file__).parent / "tables" / "winperf.txt").read_text(encoding="utf-8")
    leaves = list(mapped.root.leaves())
    assert all(encodes(leaf, ("little",)) for leaf in leaves)
    assert [leaf.start for leaf in leaves] == [0, *(leaf.stop for leaf in leaves[:-1])]


def test_instances_that_are_none_have_numbers_of_their_own() -> None:
    """winperf.h: PERF_NO_INSTANCES, PERF_METADATA_MULTIPLE_INSTANCES, PERF_METADATA_NO_INSTANCES."""
    assert (PERF_NO_INSTANCES, PERF_METADATA_MULTIPLE_INSTANCES, PERF_METADATA_NO_INSTANCES) == (-1, -2, -3)


def refused(*_: object, **__: object) -> Any:
    raise AssertionError("not on the quick path")


def test_a_sound_block_never_meets_the_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("analyzer.interfaces.buffers.decode.plan_for", refused)
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


def free_words(data: bytes, reader: V1Reader, monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """The 4-byte words of a block that another of its layout may have otherwise."""
    assert reader.read(data) is not None
    monkeypatch.setattr(regular_v1, "read_v1", lambda _data: None)
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
    assert free_words(data, V1Reader(), monkeypatch) == clocks | first | {552, 556, 560, 564, 616}


def test_numbers_of_8_bytes_are_free_in_both_halves(monkeypatch: pytest.MonkeyPatch) -> None:
    # The instances of NUMBERS stand at 288, with names of 8 bytes and blocks of 24.
    clocks = {*range(36, 52, 4), *range(56, 80, 4), 152, 156, 160, 164}
    values = {at + place for at in (288 + 32, 288 + 32 + 24 + 32) for place in (8, 12, 16)}
    assert free_words(winperf([NUMBERS]), V1Reader(), monkeypatch) == clocks | values


def test_a_block_of_a_known_layout_has_values_of_its_own() -> None:
    reader = V1Reader()
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
    assert isinstance(first, V1Block)
    assert isinstance(second, V1Block)
    assert second.layout is first.layout
    assert second.values.tolist() == [21, 1 << 63, 23, (1 << 63) + 1, 7]
    assert second.values.dtype == np.uint64
    assert second.object_clocks == ((8, 9), (5000, 1000))
    assert (second.perf_time, second.perf_freq, second.perf_time_100ns) == (1, 2, 3)


def test_what_is_remembered_of_blocks() -> None:
    """Of 8 MB: a server's whole registry of counters ("Global") has a few hundred kilobytes."""
    assert regular_v1.MAX_BYTES == 8 << 20
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
    assert (read_v1(bytes(data)) is not None) == is_read


def test_a_counter_block_may_be_its_length_alone() -> None:
    """Of an object whose counters have no values; also where the block ends there."""
    data = bytearray(winperf([PerfObject(5, (COUNTERS[2],), (Instance("a", -1, (0, 0), (0,)),))])[:-4])
    for at in (20, 104, len(data) - 4):
        data[at : at + 4] = (int.from_bytes(data[at : at + 4], "little") - 4).to_bytes(4, "little")
    assert data[-4:] == b"\4\0\0\0"
    assert read_v1(bytes(data)) is not None
    assert plain_decode("winperf", bytes(data)).problem is None
