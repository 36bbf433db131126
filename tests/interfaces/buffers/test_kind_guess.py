"""Which kind a buffer may be: each mark at both of its limits, and how sure it makes."""

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


def counter(kind: int, level: int) -> bytes:
    return pack("<IIQIiIIIIII", 1, kind, 0, level, 0, 0, 0, 0, 0, 0, 0)


def strings(total: int, count: int, *offsets: int, more: int = 0) -> bytes:
    head = b"".join(pack("<II", number, offset) for number, offset in enumerate(offsets))
    return pack("<II", total, count) + head + wide("text") + bytes(more)


ONE, NAMED = identifier(GUID, counter=3, name="a"), instance_header("idle", 3)
# Of each kind, what may be one and how sure that is, and what is none.
GUESSED: list[tuple[BufferKind, dict[str, list[bytes]]]] = [
    # A counterset is as long as its counters.
    (
        "counterset-info",
        {
            "likely": [counterset(0), counterset(3), counterset(3, 200), counterset(3, instances=0x1F)],
            "none": [
                *(counterset(3, 101), counterset(3, instances=0x20), counterset(3, length=2), counterset(3, length=4)),
                *(counterset(1)[:-1], counterset(0)[:-1], counterset(1) + b"\0"),
            ],
        },
    ),
    # A counter has a known type and level.
    (
        "counter-info",
        {
            "likely": [counter(0x10000, 100), counter(0x10410400, 400)],
            "none": [
                *(counter(0x12345678, 100), counter(0x10000, 99), counter(0x10000, 100) + b"\0"),
                counter(0x10000, 100)[:-1],
            ],
        },
    ),
    # A table of strings has them within its size.
    (
        "string-table",
        {
            "likely": [
                string_table([(1, "a"), (2, None)], from_start=True),
                *(strings(26, 1, offset) for offset in (16, 0xFFFFFFFF, 24)),
                strings(18, 1, 16),
            ],
            "none": [
                *(strings(27, 1, 16), strings(17, 1, 16), strings(26, 0), strings(18, 0)),
                *(strings(26, 1, 26), strings(26, 1, 17)),
                *(pack("<II", 8, 0), pack("<II", 8, 1), pack("<II", 16, 1)[:7]),
            ],
        },
    ),
    # Identifiers use up what there is.
    (
        "identifiers",
        {
            "likely": [ONE, ONE * 3],
            "none": [
                *(ONE[:-1], ONE + bytes(8), ONE[:36] + pack("<I", 1) + ONE[40:], b""),
                *(ONE[:20] + pack("<I", size) + ONE[24:] for size in (39, 41)),
            ],
        },
    ),
    # Instances have readable names.
    (
        "instances",
        {
            "likely": [NAMED, NAMED * 2, instance_header("", 3)],
            "none": [
                *(NAMED[:-1], NAMED + bytes(4), pack("<II", 8, 3), pack("<II", 12, 3) + bytes(4)),
                *(pack("<II", 20, 3) + bytes(12), pack("<II", 16, 3) + b"\1\0" + bytes(6)),
            ],
        },
    ),
    # Text and numbers are known by little.
    (
        "name-table",
        {
            "certain": [name_table([("2", "System")])],
            "none": [wide("System") + b"\0\0", wide("2") + b"x", wide("\u0662") + b"\0\0"],
        },
    ),
    (
        "string",
        {
            "possible": [wide("System") + b"\0\0", wide("a\tb\r\n"), wide("a") + bytes(8)],
            "none": [
                *(name_table([("2", "System")]), wide("a\x01b"), wide("a") + bytes(9), b"a\0b\0", wide("")),
                *(b"\x00\xd8\0\0", b""),
            ],
        },
    ),
    ("guid", {"possible": [bytes(16)], "none": [bytes(length) for length in (0, 15, 17, 32)]}),
    ("guids", {"possible": [bytes(16), bytes(32)], "none": [bytes(length) for length in (0, 15, 17)]}),
    (
        "winperf",
        {
            "certain": [winperf([]), winperf([], "big")],
            "likely": [b"P\0E\0R\0F\0"],
            "none": [b"P\0E\0R\0F"],
        },
    ),
]


@pytest.mark.parametrize(("kind", "guessed"), GUESSED, ids=[kind for kind, _ in GUESSED])
def test_a_buffer_may_be_what_its_bytes_allow(kind: BufferKind, guessed: dict[str, list[bytes]]) -> None:
    for confidence, buffers in guessed.items():
        assert [kinds(data).get(kind, "none") for data in buffers] == [confidence] * len(buffers)


def test_why_a_buffer_is_a_list_is_how_many_use_it_up() -> None:
    whys = ("1 identifiers", "3 identifiers", "1 instances", "2 instances", "1 instances")
    for data, why in zip((ONE, ONE * 3, NAMED, NAMED * 2, instance_header("", 3)), whys, strict=True):
        assert f"{why}, whose sizes use it up" in [one.why for one in guess_kind(data)]


def test_the_surest_come_first() -> None:
    assert [one.kind for one in guess_kind(bytes(16))] == ["guid", "guids"]
    assert guess_kind(ONE * 2)[0].kind == "identifiers"
    assert guess_kind(bytes(5)) == []
