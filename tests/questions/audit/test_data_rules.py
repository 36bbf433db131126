"""Rules about data answers: sizes and counts that disagree, and what stands in the headers of answers and of their blocks."""

from struct import pack_into

import pytest
from msgspec.structs import replace

from analyzer.questions.audit.audit_engine import Profile
from tests.build.buffers import Block, identifier, instance_header, pad8, perf_data
from tests.build.calls import COUNTERSET, MS, Calls
from tests.questions.audit.conversation import NOW, u4, u8
from tests.questions.audit.judging import Case, by_name, found_by, holds, judged

RULES = ("PCQ501", "PCQ505", "PCQ506", "PCQ507", "PCQ510", "PCQ511", "PCQ512", "PCQ513", "PCQ530")
ROW = (u4(1), u8(2), u4(3))
SINGLE = Block(1, values=((u4(7),),))
COUNTERS = Block(2, ids=(1, 2, 3), values=(ROW,))
INSTANCES = Block(4, instances=(("a", 0), ("bbbb", 1)), values=((u8(1),), (u8(2),)))
SEVERAL = Block(6, ids=(1, 2, 3), instances=(("a", 0), ("b", 1)), values=(ROW, ROW))
ERROR = Block(0, status=0x1069)
EVERYTHING = [SINGLE, COUNTERS, INSTANCES, SEVERAL, ERROR]
# Where the blocks of EVERYTHING begin.
AT = (48, 80, 168, 264, 440)
HEAD = perf_data([])


def answer(data):
    return Calls().counter_data(bytes(data))


def broken(at, value, blocks=EVERYTHING):
    data = bytearray(perf_data(blocks))
    pack_into("<I", data, at, value)
    return answer(data)


def of_blocks(*blocks):
    return answer(perf_data(list(blocks)))


def unpadded(*values):
    """A block of type 2 whose values are not padded."""
    ids = u4(8 + 4 * len(values)) + u4(len(values)) + b"".join(u4(number) for number in range(len(values)))
    body = ids + b"".join(u4(len(value)) + u4(8 + len(value)) + value for value in values)
    block = u4(0) + u4(2) + u4(16 + len(body)) + u4(0) + body
    return answer(u4(48 + len(block)) + u4(1) + HEAD[8:] + block)


def padded_outside(*values, blocks=1):
    """Blocks of type 2 whose values are padded, and no size counts the padding; neither does that of the block at its end."""
    ids = u4(8 + 4 * len(values)) + u4(len(values)) + b"".join(u4(number) for number in range(len(values)))
    body = pad8(ids) + b"".join(pad8(u4(len(value)) + u4(8 + len(value)) + value) for value in values)
    size = 16 + len(body) - (-len(values[-1]) % 8)
    block = u4(0) + u4(2) + u4(size) + u4(0) + body
    return answer(u4(48 + blocks * len(block)) + u4(blocks) + HEAD[8:] + blocks * block)


def error_with_data():
    data = bytearray(perf_data([ERROR]) + bytes(8))
    pack_into("<I", data, 0, len(data))
    pack_into("<I", data, 48 + 8, 24)
    return answer(data)


def ends_off_eight(behind=b""):
    """Figure 6 draws one value of four bytes and no padding: the next block begins where it should not, by this one's size."""
    first = u4(0) + u4(1) + u4(28) + u4(0) + u4(4) + u4(12) + u4(7) + behind
    second = u4(0) + u4(1) + u4(32) + u4(0) + u4(8) + u4(16) + u8(8)
    return answer(u4(48 + len(first + second)) + u4(2) + HEAD[8:] + first + second)


def one_row(short, values):
    """Three instances with three values each, but for one."""
    rows = tuple((u4(5),) * (values if number == short else 3) for number in range(3))
    return of_blocks(Block(6, ids=(1, 2, 3), instances=(("a", 0), ("b", 1), ("c", 2)), values=rows), ERROR)


# A number that is broken alone, and with what value; the rules that speak, each with the first requirement it names. What other
# numbers of an answer lead to, each broken alone, `sweeps` has.
BROKEN = {
    "dwType unknown": (AT[0] + 4, 3, "PCQ505", "PCQ-2.2.4.8-R02"),
    "dwType of another layout": (AT[2] + 4, 1, "PCQ510", "PCQ-3.1.4.1.6-R14"),
    "dwType 1 stated to be 2": (AT[0] + 4, 2, "PCQ510", "PCQ-3.1.4.1.6-R15"),
    "dwType 2 stated to be 4": (AT[1] + 4, 4, "PCQ510", "PCQ-3.1.4.1.6-R19"),
    "dwType 4 stated to be 6": (AT[2] + 4, 6, "PCQ510", "PCQ-3.1.4.1.6-R23"),
    "dwSize too high": (AT[1] + 8, 96, "PCQ506", "PCQ-2.2.4.8-R08"),
    "dwSize of a value, type 2": (AT[1] + 16 + 24 + 4, 24, "PCQ511", "PCQ-2.2.4.9-R02"),
    "dwSize of a value, type 6": (AT[3] + 16 + 24 + 8 + 16 + 4, 8, "PCQ511", "PCQ-2.2.4.9-R02"),
    "dwInstances too low, type 6": (AT[3] + 16 + 24 + 4, 1, "PCQ512", "PCQ-2.2.4.10-R02"),
    "dwCounters too low, type 6": (AT[3] + 20, 2, "PCQ513", "PCQ-2.2.4.11-R02"),
}
SAID = {
    **{name: (broken(at, value), {code: of}) for name, (at, value, code, of) in BROKEN.items()},
    "nothing wrong": (of_blocks(*EVERYTHING), {}),
    "no header": (answer(bytes(40)), {"PCQ501": "PCQ-2.2.4.7-R01"}),
    "an empty success": (answer(b""), {"PCQ501": "PCQ-2.2.4.7-R01"}),
    "a header alone": (answer(HEAD), {}),
    "an error block with data": (error_with_data(), {"PCQ507": "PCQ-3.1.4.1.6-R13"}),
    "two values in a block of one": (of_blocks(Block(1, values=(ROW[:2],)), ERROR), {"PCQ510": "PCQ-3.1.4.1.6-R14"}),
    "two values an instance of one counter": (
        of_blocks(Block(4, instances=(("a", 0),), values=(ROW[:2],)), ERROR),
        {"PCQ510": "PCQ-3.1.4.1.6-R19"},
    ),
    **{
        f"counter ids with padding that is {padding}": (of_blocks(replace(COUNTERS, padding=padding), ERROR), {})
        for padding in ("counted", "uncounted")
    },
    "a value without padding": (unpadded(u4(1), u4(2)), {"PCQ511": "PL-QCD-R08", "PCQ530": "PCQ-2.2.4-R02"}),
    **{
        f"padding that no size counts, {blocks} blocks": (
            padded_outside(u4(1), u4(2), blocks=blocks),
            {"PCQ511": "PL-QCD-R08"},
        )
        for blocks in (1, 2)
    },
    "figure 6 with four bytes behind": (ends_off_eight(u4(0)), {"PCQ511": "PL-QCD-R08"}),
    **{
        f"{values} values of instance {short} of three": (one_row(short, values), {"PCQ513": "PCQ-3.1.4.1.6-R26"})
        for short, values in ((0, 1), (1, 2), (2, 0), (1, 4))
    },
}


@pytest.mark.parametrize("what", SAID)
def test_the_rule_about_what_is_wrong_speaks_and_no_other(what):
    call, expected = SAID[what]
    found = found_by(RULES, call)
    assert {one.rule.code: one.judgement.requirement for one in reversed(found)} == expected


# ------------------------------------------------------------------------------------------------ headers

# 2024-03-05 12:34:56.789 UTC, a Tuesday, as the headers made here say; and the same for the capture.
CAPTURED = (NOW - 116_444_736_000_000_000) * 100
SECOND = 10_000_000


def dated(data, later=0):
    """A call answered with `data` at the time of its header, or so many seconds later."""
    call, at = answer(data), CAPTURED + later * 1000 * MS
    request = replace(call.request, first_time_ns=at - MS, last_time_ns=at - MS)
    return replace(call, request=request, response=replace(call.response, first_time_ns=at, last_time_ns=at))


def header(blocks=(ERROR,), ticks=5, now=NOW, frequency=SECOND):
    return bytearray(perf_data(list(blocks), (ticks, now, frequency)))


def changed(at, value, size=4):
    made = header()
    made[at : at + size] = value.to_bytes(size, "little")
    return dated(made)


def named(kind, fill):
    """Instances in whose names the last two bytes of padding are these: `c`, NUL, and four bytes."""
    ids = (1,) if kind == 6 else ()
    made = header([Block(kind, ids=ids, instances=(("ab", 0), ("c", 1)), values=((u4(1),), (u4(2),)))])
    at = made.index(instance_header("c", 1)) + 14
    made[at : at + 2] = fill
    return dated(made)


def swapped(made, *places):
    made = bytearray(made)
    for at in places:
        made[at : at + 4] = made[at : at + 4][::-1]
    return bytes(made)


def two_polls(ticks, later):
    return [dated(header(ticks=0)), dated(header(ticks=ticks, now=NOW + SECOND), later)]


def registered(count, *records):
    return Calls().registration(1, bytes(24) + count.to_bytes(4, "big") + bytes(4) + b"".join(records))


ODD = identifier(COUNTERSET) + u4(0)
ODD = ODD[:20] + u4(44) + ODD[24:]
SHORT_NAME = u4(12) + u4(0) + "a\0".encode("utf-16-le")


def listed(names):
    calls = Calls()
    return calls.exchange(2, calls.stub().string("\\\\SRV1").uuid(COUNTERSET).uint(4096), calls.sized(names))


CASES: list[Case] = [
    *((code, "a sound answer", "pass", [of_blocks(*EVERYTHING)]) for code in RULES),
    ("PCQ501", "blocks are not counted behind a broken one", "pass", [broken(48 + 8, 4, [ERROR, ERROR])]),
    ("PCQ507", "an error block without a status", "warn", [of_blocks(Block(0))]),
    # The answer ends where its block does, off a multiple of 8 as well.
    ("PCQ530", "ids without padding", "fail", [of_blocks(Block(2, ids=(1,), values=((u4(1),),), padding="none"))]),
    ("PCQ530", "a block that ends off 8", "fail", [ends_off_eight()]),
    ("PCQ530", "a total size off 8", "fail", [unpadded(u4(1), u8(2))]),
    ("PCQ530", "identifiers off 8", "fail", [Calls().counter_info(ODD + identifier(COUNTERSET))]),
    ("PCQ530", "identifiers of any multiple", "pass", [Calls().counter_info(identifier(COUNTERSET, name="ab") * 2)]),
    ("PCQ530", "instances off 8", "fail", [listed(SHORT_NAME + instance_header("b", 1))]),
    ("PCQ530", "instances of any multiple", "pass", [listed(instance_header("b", 1) * 2)]),
    *((code, "a sound header", "pass", [dated(header())]) for code in ("PCQ515", "PCQ521", "PCQ531", "PCQ540")),
    ("PCQ515", "a reserved field in use", "fail", [changed(48 + 12, 7)]),
    *(("PCQ540", f"{code:#x} is no Win32 code", "fail", [changed(48, code)]) for code in (0xC0000034, 0x80070005)),
    ("PCQ540", "a code that is not in use", "warn", [changed(48, 0x12345)]),
    *(("PCQ540", f"{code:#x} is a Win32 code", "pass", [changed(48, code)]) for code in (5, 0x1069, 15_841)),
    ("PCQ540", "no error", "pass", [changed(48, 0)]),
    ("PCQ516", "padding of a name that is not zero, type 4", "fail", [named(4, b"\x41\0")]),
    ("PCQ516", "zeros behind a name, type 4", "pass", [named(4, b"\0\0")]),
    ("PCQ516", "padding is free in type 6", "not-exercised", [named(6, b"\x41\0")]),
    *(
        ("PCQ521", f"{value:#x} at {at} is no time", "fail", [changed(at, value, size)])
        for at, value, size in (
            *((16, 0, 8), (16, 1 << 63, 8), (34, 13, 2), (36, 3, 2), (38, 0, 2), (40, 24, 2), (46, 1000, 2)),
        )
    ),
    ("PCQ521", "two moments a second apart", "warn", [changed(44, 59, 2)]),
    ("PCQ521", "a time far from the capture", "warn", [dated(header(now=NOW + 2 * 86400 * SECOND))]),
    ("PCQ521", "moments three seconds apart", "warn", [dated(header(now=NOW + 3 * SECOND))]),
    ("PCQ522", "clocks that run unlike", "warn", two_polls(10 * SECOND, 1)),
    ("PCQ522", "clocks that run alike", "pass", two_polls(10_200_000, 1)),
    ("PCQ522", "calls that overlap", "not-exercised", two_polls(10 * SECOND, 0)),
    ("PCQ522", "one answer", "not-exercised", [dated(header())]),
    ("PCQ531", "a big-endian answer", "fail", [dated(swapped(header(), 0, 4, 56))]),
    ("PCQ531", "big-endian positions", "fail", [Calls().counter_info(swapped(identifier(COUNTERSET), 20))]),
    ("PCQ531", "big-endian identifiers", "fail", [Calls().validate(swapped(identifier(COUNTERSET), 20))]),
    ("PCQ531", "no big-endian counters", "pass", [registered(0)]),
    ("PCQ531", "a big-endian counter", "fail", [registered(1, bytes(48))]),
    ("PCQ531", "the label of the call does not matter", "pass", [Calls(big_endian=True).counter_data(bytes(header()))]),
    ("PCQ531", "neither order fits", "inconclusive", [Calls().counter_info(identifier(COUNTERSET)[:-1])]),
]


@pytest.mark.parametrize("case", CASES, ids=by_name)
def test_data_answers(case):
    holds(case)


def test_a_value_without_padding_is_a_note_that_the_letter_passes_and_strictness_fails():
    call = unpadded(u4(1), u4(2))
    assert judged("PCQ511", call).findings[0].is_excused
    assert judged("PCQ511", call, profile=Profile.SPEC).verdict("PCQ-2.2.4.9-R02") == "pass"
    assert judged("PCQ511", call, profile=Profile.STRICT).verdict("PL-QCD-R08") == "fail"
