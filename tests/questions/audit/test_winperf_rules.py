"""The rules about PERF_DATA_BLOCK: what is sound, damaged, cut or of another system; `sweeps` has each word of a block changed."""

from collections.abc import Iterator
from struct import pack
from typing import Literal

import pytest

from analyzer.core.events import Event
from analyzer.interfaces.buffers.field_map import FieldMap, map_fields, map_head
from analyzer.interfaces.call_contents.call_field_maps import buffer_fields
from analyzer.questions.audit import call_evidence
from analyzer.results.calls.call import Side
from tests.build.buffers import Counter, Instance, Order, PerfObject, winperf
from tests.build.calls import winreg
from tests.questions.audit.judging import Case, Verdict, by_name, holds, judged

RULES = ("PCQ801", "PCQ805", "PCQ810", "PCQ820", "PCQ830", "PCQ840", "PCQ850")
# The system name takes 16 bytes, so the first object begins at 104; its header has 64 bytes, each definition 40.
OBJECT, DEFINITION, FRACTION = 104, 168, 208
# Behind the definitions (counters at 8, 12, 16 of a counter block of 24 bytes): the instance `a`, its name of 4 bytes padded.
FIRST = 288
INSTANCE_LENGTH, BLOCK_LENGTH = 32, 24
SECOND = FIRST + INSTANCE_LENGTH + BLOCK_LENGTH

RAWCOUNT, RAW_FRACTION, RAW_BASE = 0x00010000, 0x20020400, 0x40030403
COUNTERS = (Counter(784, RAWCOUNT, 4), Counter(6, RAW_FRACTION, 4), Counter(8, RAW_BASE, 4))


def block(order: Order = "little") -> bytearray:
    instances = (Instance("a", 1, (0, 0), (7, 8, 9)), Instance("b", 2, (0, 0), (4, 5, 6)))
    return bytearray(winperf([PerfObject(230, COUNTERS, instances)], order))


def patched(at: int, data: bytes) -> bytes:
    out = block()
    out[at : at + len(data)] = data
    return bytes(out)


def reads(*blocks: bytes) -> list[Event]:
    calls = winreg()
    return [calls.open_key(), *(calls.query_value("230", bytes(data)) for data in blocks)]


def verdict(code: str, *blocks: bytes) -> Verdict:
    return judged(code, *reads(*blocks))


def u4(value: int) -> bytes:
    return pack("<I", value & 0xFFFFFFFF)


def test_a_field_of_the_head_is_found_without_the_objects() -> None:
    orders: tuple[Order, ...] = ("little", "big")
    for order in orders:
        made = bytes(block(order))
        whole, head = map_fields("winperf", made).root, map_head(made).root
        said = [[(one.name, one.start, one.stop, one.value) for one in root.leaves()] for root in (whole, head)]
        assert [one for one in said[0] if one[2] <= OBJECT] == said[1]
    asked: list[Side] = []

    def asking(side: Side) -> FieldMap | None:
        asked.append(side)
        return buffer_fields(side)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(call_evidence, "buffer_fields", asking)
        (clock,) = verdict("PCQ810", patched(64, bytes(8))).findings
        assert not asked
        (header,) = verdict("PCQ820", patched(OBJECT, u4(1 << 20))).findings
        assert len(asked) == 1
    for finding, name in ((clock, "perf_freq"), (header, "total_byte_length")):
        assert finding.place.field.name == name


def damaged_first(at: int, data: bytes) -> bytes:
    """Two objects. A definition of 8 bytes is where reading the first ends, and something is wrong with the second."""
    one = bytes(block())[OBJECT:]
    made = bytearray(block() + one)
    made[20:24], made[28:32] = u4(len(made)), u4(2)
    made[DEFINITION : DEFINITION + 4] = u4(8)
    second = OBJECT + len(one)
    made[second + at : second + at + len(data)] = data
    return bytes(made)


def failing() -> list[Event]:
    """[MS-RRP] section 3.1.5.17 defines lpData on success alone; Windows XP returns a header without objects, and no length."""
    header = block()[:104]
    header[20:24] = header[28:32] = bytes(4)
    calls = winreg()
    return [calls.open_key(), *(calls.query_value("230", bytes(header), status=status) for status in (234, 5))]


WHOLE = bytes(block())
ALONE = [PerfObject(230, COUNTERS, (), has, metadata=True) for has in (True, False)]


def of_blocks() -> Iterator[Case]:
    for code in RULES:
        yield code, "a well-formed block", "pass", reads(WHOLE)
        verdict = "not-exercised" if code in ("PCQ840", "PCQ850") else "pass"
        yield code, "metadata alone", verdict, reads(winperf(ALONE))
        made = [*reads(), winreg().query_value("Counter 009", b"1\0\0\0")]
        yield code, "a value that is no block", "not-exercised", made
        yield code, "what comes with an error", "not-exercised", failing()
    rows = (
        ("PCQ820", 28, u4(150)),
        ("PCQ830", DEFINITION - OBJECT + 20, u4(11)),
        ("PCQ840", FIRST - OBJECT + 4, u4(999)),
        ("PCQ850", SECOND - OBJECT + INSTANCE_LENGTH, u4(23)),
    )
    for code, at, data in rows:
        verdict = "fail" if code == "PCQ820" else "warn"
        yield code, "behind a damaged object", verdict, reads(damaged_first(at, data))
    for code in ("PCQ810", "PCQ820"):
        yield code, "cut at 60 bytes", "inconclusive", reads(WHOLE[:60])
    # Samba answers a buffer that is too small with success and the beginning of the block.
    for size in (60, 100, OBJECT + 8):
        yield "PCQ805", f"cut at {size} bytes", "fail", reads(WHOLE[:size])
    yield "PCQ801", "another signature", "fail", reads(patched(0, b"Q"))
    made = reads(patched(56, pack("<q", 2000)), patched(56, pack("<q", 1000)))
    yield "PCQ810", "a counter that runs back", "fail", made
    made = reads(patched(56, pack("<q", 1000)), patched(56, pack("<q", 2000)))
    yield "PCQ810", "a counter that runs on", "pass", made
    yield "PCQ850", "the last counter block of Windows XP", "pass", reads(patched(SECOND + INSTANCE_LENGTH, u4(16)))
    yield "PCQ850", "such a block before the last", "warn", reads(patched(FIRST + INSTANCE_LENGTH, u4(16)))


@pytest.mark.parametrize("case", [*of_blocks()], ids=by_name)
def test_blocks_of_winperf(case: Case) -> None:
    holds(case)


@pytest.mark.parametrize("order", ["little", "big"])
@pytest.mark.parametrize("header", [88, OBJECT - 4, OBJECT + 4, OBJECT + 64])
def test_a_wrong_header_length_is_blamed_itself_and_nothing_behind_it(
    header: int, order: Literal["little", "big"]
) -> None:
    counters = (Counter(784, RAWCOUNT, 4),)
    objects = [PerfObject(number, counters, (Instance("a", 1, (0, 0), (7,)),)) for number in (230, 238)]
    made = bytearray(winperf(objects, order=order))
    made[24:28] = header.to_bytes(4, order)
    found = {code: verdict(code, bytes(made)) for code in RULES}
    (finding,) = (finding for one in found.values() for finding in one.findings)
    assert (finding.judgement.requirement, finding.judgement.expected) == (
        "WP-DB-R05",
        f"{OBJECT}, where the objects begin",
    )
    for code in ("PCQ820", "PCQ830", "PCQ840", "PCQ850"):
        assert {one.verdict for one in found[code].coverage.values()} == {"inconclusive"}


def test_a_header_length_is_not_doubted_where_nothing_else_leads_on() -> None:
    """What is wrong then is the length of an object, or the total."""
    for at, value in ((OBJECT, 100), (20, 5000), (28, 2)):
        codes = {one.judgement.requirement for one in verdict("PCQ805", patched(at, u4(value))).findings}
        assert codes
        assert "WP-DB-R05" not in codes
