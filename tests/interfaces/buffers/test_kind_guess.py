"""Which kind a buffer may be: each mark at both of its limits, and how sure it makes."""

from __future__ import annotations

from struct import pack
from uuid import UUID

import pytest

from analyzer.interfaces.buffers.kind_guess import guess_kind
from analyzer.results.buffer_kinds import BufferKind
from tests.build.buffers import identifier, instance_header, name_table, string_table, wide, winperf

GUID = "383487a6-3676-4870-a4e7-d45b30c35629"


def kinds(data: bytes) -> dict[BufferKind, str]:
    return {one.kind: one.confidence for one in guess_kind(data)}


def dated(*clock: int, total: int = 48) -> bytes:
    return pack("<IIQQQ8H", total, 0, 1, 2, 3, *clock, 0)


@pytest.mark.parametrize(
    ("clock", "is_one"),
    [
        ((2024, 3, 2, 5, 12, 34, 56), True),
        ((1601, 1, 0, 1, 0, 0, 0), True),
        ((1600, 1, 0, 1, 0, 0, 0), False),
        ((2024, 12, 6, 31, 23, 59, 61), True),
        ((2024, 13, 6, 31, 23, 59, 61), False),
        ((2024, 0, 6, 31, 23, 59, 61), False),
        ((2024, 12, 7, 31, 23, 59, 61), False),
        ((2024, 12, 6, 32, 23, 59, 61), False),
        ((2024, 12, 6, 0, 23, 59, 61), False),
        ((2024, 12, 6, 31, 24, 59, 61), False),
        ((2024, 12, 6, 31, 23, 60, 61), False),
        ((2024, 12, 6, 31, 23, 59, 62), False),
    ],
)
def test_performance_data_have_a_date(clock: tuple[int, ...], is_one: bool) -> None:
    found = [one for one in guess_kind(dated(*clock)) if one.kind == "perf-data"]
    assert bool(found) == is_one
    if found:
        year, month, _, day = clock[:4]
        assert found[0].why == f"a header with a date in it ({year}-{month:02}-{day:02}) and 0 blocks"
        assert found[0].confidence == "certain"


def test_performance_data_are_as_long_as_their_header() -> None:
    clock = (2024, 3, 2, 5, 12, 34, 56)
    assert "perf-data" not in kinds(dated(*clock)[:47])
    assert "perf-data" not in kinds(dated(*clock, total=47))
    damaged = guess_kind(pack("<II", 48, 1) + dated(*clock)[8:])[0]
    assert (damaged.kind, damaged.confidence) == ("perf-data", "likely")
    assert ", damaged further on: " in damaged.why


def counterset(count: int, level: int = 100, instances: int = 2, length: int | None = None) -> bytes:
    counter = pack("<IIQIiIIIIII", 1, 0x10000, 0, 100, 0, 0, 0, 0, 0, 0, 0)
    number = count if length is None else length
    return UUID(GUID).bytes_le + pack("<4I", 0, level, number, instances) + counter * count


@pytest.mark.parametrize(
    ("data", "is_one"),
    [
        (counterset(0), True),
        (counterset(3), True),
        (counterset(3, 200), True),
        (counterset(3, 101), False),
        (counterset(3, instances=0x1F), True),
        (counterset(3, instances=0x20), False),
        (counterset(3, length=2), False),
        (counterset(3, length=4), False),
        (counterset(1)[:-1], False),
        (counterset(0)[:-1], False),
        (counterset(1) + b"\0", False),
    ],
)
def test_a_counterset_is_as_long_as_its_counters(data: bytes, is_one: bool) -> None:
    found = kinds(data)
    assert ("counterset-info" in found) == is_one
    assert found.get("counterset-info", "likely") == "likely"


@pytest.mark.parametrize(
    ("kind", "level", "length", "is_one"),
    [
        (0x10000, 100, 48, True),
        (0x10410400, 400, 48, True),
        (0x12345678, 100, 48, False),
        (0x10000, 99, 48, False),
        (0x10000, 100, 49, False),
        (0x10000, 100, 47, False),
    ],
)
def test_a_counter_has_a_known_type_and_level(kind: int, level: int, length: int, is_one: bool) -> None:
    data = pack("<IIQIiIIIIII", 1, kind, 0, level, 0, 0, 0, 0, 0, 0, 0).ljust(length, b"\0")[:length]
    assert ("counter-info" in kinds(data)) == is_one


def strings(total: int, count: int, *offsets: int, more: int = 0) -> bytes:
    head = b"".join(pack("<II", number, offset) for number, offset in enumerate(offsets))
    return pack("<II", total, count) + head + wide("text") + bytes(more)


@pytest.mark.parametrize(
    ("data", "is_one"),
    [
        (string_table([(1, "a"), (2, None)], from_start=True), True),
        (strings(26, 1, 16), True),
        (strings(27, 1, 16), False),
        (strings(18, 1, 16), True),
        (strings(17, 1, 16), False),
        (strings(26, 0), False),
        (strings(18, 0), False),
        (strings(26, 1, 0xFFFFFFFF), True),
        (strings(26, 1, 24), True),
        (strings(26, 1, 26), False),
        (strings(26, 1, 17), False),
        (pack("<II", 8, 0), False),
        (pack("<II", 8, 1), False),
        (pack("<II", 16, 1)[:7], False),
    ],
)
def test_a_table_of_strings_has_them_within_its_size(data: bytes, is_one: bool) -> None:
    assert ("string-table" in kinds(data)) == is_one


ONE = identifier(GUID, counter=3, name="a")


@pytest.mark.parametrize(
    ("data", "is_one"),
    [
        (ONE, True),
        (ONE * 3, True),
        (ONE[:-1], False),
        (ONE + bytes(8), False),
        (ONE[:20] + pack("<I", 39) + ONE[24:], False),
        (ONE[:20] + pack("<I", 41) + ONE[24:], False),
        (ONE[:36] + pack("<I", 1) + ONE[40:], False),
        (b"", False),
    ],
)
def test_identifiers_use_up_what_there_is(data: bytes, is_one: bool) -> None:
    found = [one.why for one in guess_kind(data) if one.kind == "identifiers"]
    assert found == ([f"{len(data) // len(ONE)} identifiers, whose sizes use it up"] if is_one else [])


NAMED = instance_header("idle", 3)


@pytest.mark.parametrize(
    ("data", "is_one"),
    [
        (NAMED, True),
        (NAMED * 2, True),
        (instance_header("", 3), True),
        (NAMED[:-1], False),
        (NAMED + bytes(4), False),
        (pack("<II", 8, 3), False),
        (pack("<II", 12, 3) + bytes(4), False),
        (pack("<II", 20, 3) + bytes(12), False),
        (pack("<II", 16, 3) + b"\1\0" + bytes(6), False),
    ],
)
def test_instances_have_readable_names(data: bytes, is_one: bool) -> None:
    found = [one.why for one in guess_kind(data) if one.kind == "instances"]
    assert found == ([f"{len(data) // len(NAMED) or 1} instances, whose sizes use it up"] if is_one else [])


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (name_table([("2", "System")]), {"name-table": "certain", "string": None}),
        (wide("System") + b"\0\0", {"name-table": None, "string": "possible"}),
        (wide("a\tb\r\n"), {"string": "possible"}),
        (wide("a\x01b"), {"string": None}),
        (wide("a") + bytes(8), {"string": "possible"}),
        (wide("a") + bytes(9), {"string": None}),
        (b"a\0b\0", {"string": None}),
        (wide(""), {"string": None}),
        (b"\x00\xd8\0\0", {"string": None}),
        (wide("2") + b"x", {"name-table": None}),
        (wide("\u0662") + b"\0\0", {"name-table": None}),
        (bytes(16), {"guid": "possible", "guids": "possible"}),
        (bytes(32), {"guid": None, "guids": "possible"}),
        (bytes(15), {"guid": None, "guids": None}),
        (bytes(17), {"guid": None, "guids": None}),
        (b"", {"guid": None, "guids": None, "string": None}),
        (winperf([]), {"winperf": "certain"}),
        (winperf([], "big"), {"winperf": "certain"}),
        (b"P\0E\0R\0F\0", {"winperf": "likely"}),
        (b"P\0E\0R\0F", {"winperf": None}),
    ],
)
def test_text_and_numbers_are_known_by_little(data: bytes, expected: dict[BufferKind, str | None]) -> None:
    found = kinds(data)
    assert {kind: found.get(kind) for kind in expected} == expected


def test_the_surest_come_first() -> None:
    assert [one.kind for one in guess_kind(bytes(16))] == ["guid", "guids"]
    assert guess_kind(ONE * 2)[0].kind == "identifiers"
    assert guess_kind(bytes(5)) == []
