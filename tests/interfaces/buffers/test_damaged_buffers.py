"""Damaged and hostile buffers: a located error or a value from inside; never a crash, a hang, or memory out of proportion."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from struct import pack

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.interfaces.buffers.buffer_trees import KINDS, decode_buffer
from analyzer.interfaces.buffers.field_map import map_fields
from analyzer.interfaces.buffers.kind_guess import guess_kind
from analyzer.interfaces.buffers.value_rows import perf_data_rows, winperf_rows
from analyzer.results.buffer_kinds import BufferKind
from tests.build.buffers import Block, Counter, Instance, PerfObject, identifier, name_table, perf_data, winperf
from tests.interfaces.buffers.strategies import any_buffer
from tests.interfaces.buffers.test_vectors import data_of, kind_of
from tests.steps import within
from tests.written import is_as_written

GUID = "383487a6-3676-4870-a4e7-d45b30c35629"


def endure(kind: BufferKind, data: bytes) -> None:
    """Everything that reads a buffer of this kind, with what has to hold for any bytes."""
    decoded = decode_buffer(kind, data)
    mapped = map_fields(kind, data)
    assert (decoded.problem is None) == (mapped.problem is None)
    for problem in (decoded.problem, mapped.problem):
        if problem is not None:
            assert problem.field
            assert problem.start is not None
            assert 0 <= problem.start <= len(data)
    assert 0 <= decoded.consumed <= len(data)
    for leaf in mapped.root.leaves():
        assert 0 <= leaf.start <= leaf.stop <= len(data)
        assert leaf.raw == data[leaf.start : leaf.stop]
    if kind == "perf-data":
        assert all(row.data is None or row.data in data for row in perf_data_rows(data).rows)
    if kind == "winperf":
        assert (winperf_rows(data).problem is None) == (decoded.problem is None)


@settings(max_examples=100)
@given(any_buffer(), st.data())
def test_damage_is_located_or_harmless(made: tuple[BufferKind, bytes], draw: st.DataObject) -> None:
    kind, data = made
    damaged = bytearray(data)
    for _ in range(draw.draw(st.integers(1, 3))):
        at = draw.draw(st.integers(0, len(damaged)))
        cut = draw.draw(st.sampled_from([0, 1, 2, 4]))
        damaged[at : at + cut] = draw.draw(
            st.sampled_from([b"", b"\xff", b"\xff\xff\xff\xff", b"\0\0\0\0", b"\0\xd8", b"\x80"])
        )
    endure(kind, bytes(damaged[: draw.draw(st.integers(0, len(damaged)))] if draw.draw(st.booleans()) else damaged))


@settings(max_examples=100)
@given(st.sampled_from(KINDS), st.binary(max_size=200))
def test_any_bytes_can_be_given_as_anything(kind: BufferKind, data: bytes) -> None:
    endure(kind, data)
    guess_kind(data)


BLOCK = Block(6, 0, (1, 2), (("a", 1), ("b", 2)), ((b"\1\0\0\0", b"\2\0\0\0"), (b"\3\0\0\0", b"\4\0\0\0")))
OBJECT = PerfObject(2, (Counter(4, 0x10000, 4),), (Instance("a", -1, (0, 0), (1,)), Instance("b", -1, (0, 0), (2,))))


@pytest.mark.parametrize("stop", range(48, len(perf_data([BLOCK])) + 1, 4))
def test_what_stands_before_a_cut_is_kept(stop: int) -> None:
    whole = perf_data_rows(perf_data([BLOCK])).rows
    read = perf_data_rows(perf_data([BLOCK])[:stop])
    assert read.rows == whole[: len(read.rows)]
    assert (read.problem is None) == (stop == len(perf_data([BLOCK])))
    assert read.perf_freq == 10_000_000


def test_the_name_of_the_system_survives_a_cut_behind_the_header() -> None:
    data = winperf([OBJECT])[:120]
    assert decode_buffer("winperf", data).tree["system_name"] == "SRV1"
    assert winperf_rows(data).system_name == "SRV1"


HUGE = b"\xff\xff\xff\xff"


def forged(data: bytes, at: int, value: bytes = HUGE) -> bytes:
    return data[:at] + value + data[at + len(value) :]


def overlapping_winperf() -> bytes:
    """1000 definitions of text, all at the same 4000 bytes."""
    counters = tuple(Counter(2, 0xB00, 4) for _ in range(1000))
    data = bytearray(winperf([PerfObject(2, counters, (Instance("a", -1, (0, 0), ("",) * 1000),))]))
    at = data.index(b"\x28\0\0\0\2\0\0\0")
    for number in range(1000):
        data[at + 40 * number + 32 : at + 40 * number + 40] = pack("<II", 4000, 8)
    return bytes(data)


def overlapping_strings() -> bytes:
    """2000 offsets into one string of 10,000 characters."""
    head = b"".join(pack("<II", number, 2 * number) for number in range(2000))
    return pack("<II", 8 + len(head) + 20_002, 2000) + head + b"a\0" * 10_000 + b"\0\0"


HOSTILE: dict[str, tuple[BufferKind, bytes]] = {
    "blocks": ("perf-data", forged(perf_data([BLOCK]), 4)),
    "block size": ("perf-data", forged(perf_data([BLOCK]), 56)),
    "ids": ("perf-data", forged(perf_data([BLOCK]), 68)),
    "instances": ("perf-data", forged(perf_data([BLOCK]), 84)),
    "data size": ("perf-data", forged(perf_data([Block(1, values=((b"\1\0\0\0",),))]), 64)),
    "counters": ("counterset-info", bytes(24) + HUGE + bytes(4) + bytes(96)),
    "strings": ("string-table", bytes(4) + HUGE + bytes(64)),
    "overlapping strings": ("string-table", overlapping_strings()),
    "objects": ("winperf", forged(winperf([OBJECT]), 28)),
    "v1 counters": ("winperf", forged(winperf([OBJECT]), 104 + 32)),
    "v1 instances": ("winperf", forged(winperf([OBJECT]), 104 + 40, b"\xff\xff\xff\x7f")),
    "overlapping values": ("winperf", overlapping_winperf()),
    "name beyond the end": ("winperf", forged(winperf([OBJECT]), 84)),
    "identifier": ("identifiers", forged(identifier(GUID, name="a"), 20)),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_forged_counts_cost_no_more_than_the_bytes_they_come_in(name: str) -> None:
    kind, data = HOSTILE[name]
    # Compiling the parsers of a kind, the first time, is no work of these bytes.
    decode_buffer(kind, b"")
    map_fields(kind, b"")
    decoded, mapped = within(2000 + 60 * len(data), lambda: (decode_buffer(kind, data), map_fields(kind, data)))
    assert decoded.problem is not None
    assert mapped.problem is not None


def test_a_name_table_that_ends_in_the_middle_of_a_unit_is_read() -> None:
    decoded = decode_buffer("name-table", name_table([("2", "System")]) + b"\0")
    assert decoded.problem is None
    assert decoded.notes == ("an odd byte at the end is left out",)


# Buffers of each kind, and how many bytes apart they are cut.
CUT = {
    "data_mixed_five_blocks": 19,
    "data_type6_counterset": 11,
    "ident_add_reply": 7,
    "inst_two_instances": 3,
    "reg_code01_counterset_struct": 35,
    "reg_code05_counter_names_start_of_buffer": 3,
    "reg_code09_counterset_english_name": 5,
    "v1_perf_data_block": 29,
}


def cuts(name: str) -> Iterator[str]:
    """For each cut of a buffer: where its damage is, what is remarked, and how many bytes and leaves were read."""
    kind, data = kind_of(name), data_of(name)
    yield f"{name}\n"
    for length in range(0, len(data), CUT[name]):
        decoded, mapped = decode_buffer(kind, data[:length]), map_fields(kind, data[:length])
        leaves = sum(1 for _ in mapped.root.leaves())
        notes = "".join(f"; {note}" for note in decoded.notes)
        yield f" {length}: {decoded.problem} ({decoded.consumed} read, {leaves} leaves){notes}\n"


def test_the_place_of_each_cut_is_named() -> None:
    is_as_written(Path(__file__).parent / "damaged_buffers.txt", "".join(chain.from_iterable(map(cuts, CUT))))
