"""Arrays and the plain parser say the same of every PERF_DATA_BLOCK, whether it is the first of its layout or the hundredth."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from analyzer.interfaces.buffers.buffer_trees import decode_buffer, find_damage, plain_decode
from analyzer.interfaces.buffers.known_layouts import SameLayout
from analyzer.interfaces.buffers.tree_texts import TreeTexts
from analyzer.interfaces.buffers.value_rows import WinPerf, winperf_rows
from analyzer.interfaces.buffers.winperf_layout import (
    MAX_BYTES,
    WinperfParts,
    WinperfReader,
    mixed_object,
    read_winperf,
    winperf_tree,
)
from tests.build.buffers import Counter, Instance, PerfObject, winperf
from tests.interfaces.buffers.strategies import damaged, objects
from tests.interfaces.buffers.test_perf_data_layout import assert_ready


def rebuilt(data: bytes, block: WinperfParts) -> WinPerf:
    """The block as the plain parser gives it, as far as samples are made of it."""
    values = block.values.tolist()
    made = []
    for number, item in enumerate(block.layout.objects):
        if block.layout.mixed[number]:
            made.append(mixed_object(data, block, number))
            continue
        instances = []
        for instance in item.instances:
            row = [values.pop(0) if definition.size else None for definition in item.definitions]
            instances.append(replace(instance, values=tuple(row)))
        time, freq = block.object_clocks[number]
        made.append(replace(item, perf_time=time, perf_freq=freq, instances=tuple(instances)))
    assert not values
    clocks = block.perf_time, block.perf_freq, block.perf_time_100ns
    return WinPerf(False, None, None, None, None, *clocks, None, tuple(made), None, ())


def assert_block(block: WinperfParts | None, data: bytes) -> None:
    made, stated = decode_buffer("winperf", data), plain_decode("winperf", data)
    # With the fields in their order.
    assert json.dumps(made.tree) == json.dumps(stated.tree)
    assert (made.consumed, str(made.problem), made.notes) == (stated.consumed, str(stated.problem), stated.notes)
    assert str(find_damage("winperf", data)) == str(stated.problem)
    if block is None:
        return
    plain = winperf_rows(data)
    assert plain.problem is None
    bare = replace(
        plain,
        total_byte_length=None,
        num_object_types=None,
        default_object=None,
        system_time=None,
        system_name=None,
        notes=(),
    )
    assert rebuilt(data, block) == bare


@settings(max_examples=150)
@given(st.lists(objects(), max_size=3), st.data())
def test_blocks_whole_and_damaged_one_after_the_other(made: list[PerfObject], draw: st.DataObject) -> None:
    reader, trees = WinperfReader(), TreeTexts()
    whole = winperf(made)
    read = reader.read(whole)
    assert read is not None
    assert_block(read, whole)
    assert_ready(trees, "winperf", whole)
    for _ in range(3):
        data = damaged(whole, draw)[: draw.draw(st.sampled_from([len(whole), len(whole), len(whole) - 1]))]
        read = reader.read(data)
        assert (read is None) == (read_winperf(data) is None)
        assert_block(read, data)
        assert_ready(trees, "winperf", data)


DISK = PerfObject(
    236,
    (Counter(200, 0x20570500, 8), Counter(201, 0x40030500, 4), Counter(202, 0x40000200, 0), Counter(203, 0xB00, 16)),
    (Instance("C:", -1, (234, 0), (5, 6, 0, "text")), Instance(None, 9, (234, 1), (7, 8, 0, "more"))),
)
PLAIN = replace(
    DISK,
    counters=DISK.counters[:3],
    instances=tuple(replace(item, values=item.values[:3]) for item in DISK.instances),
)


def test_only_objects_with_text_are_read_value_by_value() -> None:
    data = winperf([DISK, PLAIN])
    block = read_winperf(data)
    assert block.layout.mixed == (True, False)
    assert block.values.tolist() == [5, 6, 7, 8]
    assert_block(block, data)


# The header's length and offset of the system name, which is made to lie in a clock and in the first value of an instance.
@pytest.mark.parametrize("place", [56, winperf([PLAIN]).rindex((5).to_bytes(8, "little"))])
def test_a_system_name_among_clocks_and_values_is_read_anew(place: int) -> None:
    trees, at = TreeTexts(), winperf([PLAIN]).index((10).to_bytes(4, "little") + (88).to_bytes(4, "little"))
    for text in ("old", "new"):
        data = bytearray(winperf([PLAIN]))
        data[at : at + 8] = (6).to_bytes(4, "little") + place.to_bytes(4, "little")
        data[place : place + 6] = text.encode("utf-16-le")
        assert_block(read_winperf(bytes(data)), bytes(data))
        assert_ready(trees, "winperf", bytes(data))


@pytest.mark.parametrize(
    ("at", "number"),
    # TotalByteLength one short of the objects; a last counter block that says less than it holds.
    [(20, len(winperf([PLAIN])) - 1), (len(winperf([PLAIN])) - 24, 12)],
)
def test_a_block_that_calls_for_a_remark_is_left_to_the_parser(at: int, number: int) -> None:
    data = bytearray(winperf([PLAIN]))
    data[at : at + 4] = number.to_bytes(4, "little")
    assert read_winperf(bytes(data)) is not None
    assert winperf_tree(bytes(data)) is None
    (note,) = decode_buffer("winperf", bytes(data)).notes
    assert "TotalByteLength" in note or "the last counter block" in note


@pytest.mark.parametrize(("behind", "is_noted"), [(bytes(8), False), (b"12345678", True)])
def test_bytes_behind_the_objects_call_for_a_remark_unless_they_are_zero(behind: bytes, is_noted: bool) -> None:
    data = winperf([PLAIN]) + behind
    assert (winperf_tree(data) is None) == is_noted
    assert bool(decode_buffer("winperf", data).notes) == is_noted


def test_blocks_of_one_layout_share_it_also_where_text_changes() -> None:
    reader = WinperfReader()
    other = replace(DISK, instances=tuple(replace(item, values=(1, 2, 0, "else")) for item in DISK.instances))
    first, second = (reader.read(winperf([item, PLAIN])) for item in (DISK, other))
    assert first.layout is second.layout
    assert_block(second, winperf([other, PLAIN]))


def test_what_a_reader_remembers_is_bounded() -> None:
    reader = WinperfReader()
    for count in range(1, 3 * SameLayout.MAX_LAYOUTS):
        assert reader.read(winperf([PLAIN] * count)) is not None
    assert len(reader._known) == SameLayout.MAX_LAYOUTS
    assert reader._known._bytes <= MAX_BYTES
