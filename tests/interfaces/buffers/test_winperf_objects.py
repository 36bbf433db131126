"""Objects of a PERF_DATA_BLOCK: metadata alone is read, and one that is damaged costs no other, whoever reads the block."""

from __future__ import annotations

from itertools import accumulate, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.interfaces.buffers import WinPerf, decode_buffer, map_fields, winperf_rows
from analyzer.interfaces.buffers.regular_v1 import read_v1
from tests.build.buffers import Counter, Instance, Order, PerfObject, winperf
from tests.interfaces.buffers.strategies import objects

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
    assert read.problem is not None
    assert (read.problem.field, read.problem.start) == ("objects[0].body.num_instances", HEADER + 40)
    assert [item.name_index for item in read.objects] == [4]
    assert read_v1(bytes(data)) is None


def spans(made: list[PerfObject], order: Order) -> list[tuple[int, int]]:
    """Where each object begins and ends."""
    at = list(accumulate((len(item.encoded(order)) for item in made), initial=HEADER))
    return list(pairwise(at))


def others(read: WinPerf, victim: int, count: int) -> tuple[object, object]:
    return read.objects[:victim], read.objects[len(read.objects) - (count - 1 - victim) :]


@settings(deadline=None, max_examples=300)
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
        assert read.problem is not None
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
    assert read.problem is not None
    assert read.problem.field == "objects[0].total_byte_length"
    assert not read.objects
