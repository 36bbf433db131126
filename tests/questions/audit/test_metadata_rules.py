"""Rules about what servers describe and list: each field broken in an answer that is well-formed otherwise."""

from collections.abc import Iterator
from functools import partial
from struct import pack
from uuid import UUID

import pytest
from msgspec.structs import replace

from analyzer.core.traced_bytes import untraced
from analyzer.questions.audit.audit_engine import Profile
from analyzer.results.methods.perflib import NONE_ID
from analyzer.transport.rpc.exchange_maker import Exchange
from tests.build.buffers import identifier, instance_header, string_table, wide
from tests.build.calls import COUNTERSET, MACHINE, OTHER_COUNTERSET, Calls, with_stub
from tests.questions.audit.judging import Case, by_name, holds, judged
from tests.steps import within

RAWCOUNT, LARGE_RAWCOUNT = 0x00010000, 0x00010100
AVERAGE_TIMER, AVERAGE_BASE = 0x30020400, 0x40030402
ELAPSED_TIME, MULTI_TIMER, PRECISION_OBJECT_TIMER = 0x30240500, 0x22410500, 0x20670500


def record(
    number: int,
    kind: int = RAWCOUNT,
    *,
    attributes: int = 0,
    detail: int = 100,
    scale: int = 0,
    base: int = NONE_ID,
    time: int = NONE_ID,
    freq: int = NONE_ID,
    multi: int = NONE_ID,
    function: int = 1,
    reserved: int = 0,
) -> bytes:
    return pack("<IIQIi6I", number, kind, attributes, detail, scale, base, time, freq, multi, function, reserved)


def registered(
    *records: bytes,
    guid: str = COUNTERSET,
    kind: int = 0,
    detail: int = 100,
    count: int | None = None,
    instances: int = 2,
) -> bytes:
    number = len(records) if count is None else count
    return UUID(guid).bytes_le + pack("<4I", kind, detail, number, instances) + b"".join(records)


def reported(code: int, data: bytes, *, lcid: int = 0, status: int = 0) -> list[Exchange]:
    return [Calls().registration(code, data, lcid=lcid, status=status)]


def listed(*instances: bytes) -> list[Exchange]:
    calls = Calls()
    asked = calls.stub().string(MACHINE).uuid(COUNTERSET).uint(4096)
    return [calls.exchange(2, asked, calls.sized(b"".join(instances)))]


GOOD = registered(
    record(0, AVERAGE_TIMER, base=1),
    record(1, AVERAGE_BASE),
    record(2, ELAPSED_TIME, time=3, freq=3),
    record(3, LARGE_RAWCOUNT),
    record(4, MULTI_TIMER, multi=5),
    record(5, RAWCOUNT),
)
TABLE = string_table([(0, "a"), (1, "b")], from_start=False)
# Rule, requirement, RequestCode, answer, and what it comes to under the default profile; `sweeps` has each word changed alone.
BROKEN = [
    ("PCQ301", "PCQ-2.2.4.1-R01", 1, bytes(31), "fail"),
    ("PCQ303", "PCQ-2.2.4.1-R02", 1, registered(guid=OTHER_COUNTERSET), "fail"),
    ("PCQ305", "PCQ-2.2.4.1-R03", 1, registered(kind=1), "fail"),
    ("PCQ307", "PCQ-2.2.4.1-R05", 1, registered(detail=300), "fail"),
    ("PCQ309", "PCQ-2.2.4.1-R13", 1, registered(instances=0x16), "warn"),
    ("PCQ311", "PCQ-2.2.4.1-R10", 1, registered(record(0, function=0), instances=4), "fail"),
    ("PCQ313", "PCQ-2.2.4.2-R02", 1, registered(record(3), record(3)), "fail"),
    ("PCQ315", "PCQ-2.2.4.2-R03", 2, record(0, 0x00400400), "warn"),
    ("PCQ317", "PCQ-2.2.4.2-R48", 1, registered(record(0, attributes=0x12)), "fail"),
    ("PCQ319", "PCQ-2.2.4.2-R52", 1, registered(record(0, scale=-11)), "fail"),
    ("PCQ321", "PCQ-2.2.4.2-R60", 1, registered(record(0, AVERAGE_TIMER, base=1), record(1)), "fail"),
    ("PCQ323", "PCQ-2.2.4.2-R62", 1, registered(record(2, ELAPSED_TIME, freq=3), record(3, LARGE_RAWCOUNT)), "fail"),
    ("PCQ323", "PCQ-2.2.4.2-R64", 1, registered(record(2, ELAPSED_TIME, time=3), record(3, LARGE_RAWCOUNT)), "fail"),
    ("PCQ323", "PCQ-2.2.4.2-R63", 1, registered(record(2, ELAPSED_TIME, time=3, freq=3), record(3)), "fail"),
    ("PCQ323", "PCQ-2.2.4.2-R65", 1, registered(record(2, ELAPSED_TIME, time=3, freq=3), record(3)), "fail"),
    ("PCQ325", "PCQ-2.2.4.2-R66", 1, registered(record(4, MULTI_TIMER, multi=4)), "fail"),
    ("PCQ325", "PCQ-2.2.4.2-R67", 1, registered(record(4, MULTI_TIMER, multi=5), record(5, LARGE_RAWCOUNT)), "fail"),
    ("PCQ327", "PCQ-2.2.4.2-R68", 1, registered(record(0, function=5)), "fail"),
    ("PCQ329", "PCQ-3.1.4.1.2-R32", 2, record(0) * 2, "fail"),
    ("PCQ331", "PCQ-3.1.4.1.2-R19", 4, wide("System") + bytes(8), "fail"),
    ("PCQ331", "PCQ-3.1.4.1.2-R33", 9, wide("System") + b"\0", "fail"),
    ("PCQ331", "PCQ-3.1.4.1.2-R33", 9, wide("System") + b"\0" * 7, "fail"),
    ("PCQ331", "PCQ-3.1.4.1.2-R24", 9, wide("a") + wide("Proc"), "fail"),
    ("PCQ333", "PCQ-2.2.4.4-R02", 5, TABLE[:12] + pack("<I", 5000) + TABLE[16:], "fail"),
    ("PCQ333", "PCQ-2.2.4.4-R02", 5, string_table([(0, "a"), (1, "b")], from_start=True), "fail"),
    ("PCQ333", "PCQ-3.1.4.1.2-R34", 5, bytes(4), "fail"),
    ("PCQ333", "PCQ-3.1.4.1.2-R35", 5, pack("<4I", 18, 1, 0, 0) + b"\0\0", "warn"),
    ("PCQ335", "PCQ-3.1.4.1.2-R39", 8, bytes(8), "fail"),
]
ACCEPTED = [
    *((code, 1, GOOD) for code in ("PCQ301", "PCQ303", "PCQ305", "PCQ307", "PCQ309", "PCQ313", "PCQ315", "PCQ317")),
    *((code, 1, GOOD) for code in ("PCQ319", "PCQ321", "PCQ323", "PCQ325", "PCQ327")),
    ("PCQ311", 1, registered(record(0, function=1), instances=0xC)),
    ("PCQ317", 1, registered(record(0, attributes=0x11), record(1, attributes=0x2), record(2, attributes=0xC))),
    ("PCQ319", 1, registered(record(0, scale=-10), record(1, scale=10))),
    ("PCQ329", 2, record(0)),
    ("PCQ331", 3, wide("System")),
    ("PCQ331", 9, wide("System") + bytes(6)),
    ("PCQ333", 5, string_table([(0, "a"), (1, "b")], from_start=False)),
    ("PCQ333", 6, string_table([(0, None)], from_start=False)),
    ("PCQ335", 8, bytes(16)),
]


@pytest.mark.parametrize(("code", "requirement", "asked", "data", "outcome"), BROKEN)
def test_a_broken_field_is_flagged(code: str, requirement: str, asked: int, data: bytes, outcome: str) -> None:
    found = [finding.judgement for finding in judged(code, *reported(asked, data)).findings]
    assert {one.outcome for one in found if requirement in one.requirements} == {outcome}, found


# ------------------------------------------------------------------------------------------------ calls together


def described(code: int, data: bytes, lcid: int = 0, status: int = 0) -> Exchange:
    return Calls().registration(code, data, lcid=lcid, status=status)


def known(*counters: bytes, instances: int = 2) -> Exchange:
    """The registration of a counterset with these counters, three at least."""
    return described(1, registered(*(counters or map(record, range(3))), instances=instances))


def sets(*guids: str, status: int = 0) -> Exchange:
    calls = Calls()
    data = b"".join(UUID(guid).bytes_le for guid in guids)
    return calls.exchange(0, calls.stub().string(MACHINE).uint(256), calls.sized(data, status, element=16, room=256))


def table_with(at: int, number: int) -> bytes:
    table = string_table([(1, "one"), (2, "two")], from_start=False)
    return table[:at] + pack("<I", number) + table[at + 4 :]


REFERRING = {"PCQ321": AVERAGE_TIMER, "PCQ323": ELAPSED_TIME, "PCQ325": MULTI_TIMER}
SYSTEM = wide("System")
STRINGS = [(1, "one"), (2, None), (3, "three")]
TWINS = [instance_header("a", 7), instance_header("A", 7)]
PADDED = pack("<II", 16, 1) + wide("b") + b"\xee" * 4
MANY, ONE = known(instances=2), known(instances=0)
A, B = COUNTERSET, OTHER_COUNTERSET
HEAD = bytes(24)


def of_descriptions() -> Iterator[Case]:
    for number, (code, asked, data) in enumerate(ACCEPTED):
        yield code, f"code {asked} as it should be, {number}", "pass", reported(asked, data)
    yield "PCQ317", "attributes that Windows has", "pass", reported(1, registered(record(0, attributes=0x14)))
    made = reported(1, registered(record(0, PRECISION_OBJECT_TIMER, base=1), record(1)))
    yield "PCQ323", "a clock in the base", "pass", made
    yield "PCQ319", "the second of two scales", "fail", reported(1, registered(record(0), record(1, scale=99)))
    # An answer is compared with the registration of its counterset where there is one.
    yield "PCQ333", "a counter without a name", "fail", [known(), described(5, TABLE)]
    yield "PCQ333", "without the registration", "pass", [described(5, TABLE)]
    made = [known(), described(5, string_table([(0, "a"), (1, "b"), (9, "c")], from_start=False))]
    yield "PCQ333", "the name of a counter that is not there", "fail", made
    for code, kind in REFERRING.items():
        lost = described(2, record(0, kind, base=9, time=9, freq=9, multi=9))
        there = described(2, record(0, kind, base=1, time=1, freq=1, multi=1))
        yield code, "to a counter that the set has not", "fail", [known(record(0), record(1)), lost]
        yield code, "without the registration", "inconclusive", [lost]
        verdict = "pass" if code == "PCQ325" else "fail"
        yield code, "to one that it has", verdict, [known(record(0), record(1)), there]


def of_languages() -> Iterator[Case]:
    # Languages.
    yield "PCQ337", "a language of English names", "fail", reported(9, b"", lcid=0x409)
    yield "PCQ337", "no language", "warn", reported(3, b"", lcid=0x3FF)
    for code, lcid in ((9, 0), (3, 0), (3, 0x409), (5, 0x9), (2, 0x12345)):
        verdict = "not-exercised" if code == 2 else "pass"
        yield "PCQ337", f"{lcid:#x} in code {code}", verdict, reported(code, b"", lcid=lcid)
    yield "PCQ339", "a language changes the answer", "fail", [described(9, SYSTEM[2:], 0x407), described(9, SYSTEM)]
    yield "PCQ339", "a language without an answer", "pass", [described(9, SYSTEM), described(9, b"", 0x407, 1815)]
    yield "PCQ339", "a language changes nothing", "pass", [described(9, SYSTEM), described(9, SYSTEM, 0x407)]
    yield "PCQ339", "one language alone", "inconclusive", [described(9, SYSTEM[2:], 0x407)]
    # What comes with an error is undefined: alike are answers with the same error.
    yield "PCQ339", "two refusals alike", "pass", [described(9, b"", 0, 5), described(9, wide("a"), 0x407, 5)]
    yield "PCQ339", "a language that is absent", "pass", [described(3, b"", 0x407, 1815)]
    made = [described(3, b"", 0x407, 1815), described(3, wide("a"), 0x407)]
    yield "PCQ339", "a language that came later", "fail", made
    yield "PCQ339", "a language that is there", "inconclusive", [described(3, wide("a"), 0x407)]


def of_instances() -> Iterator[Case]:
    # Instances.
    rows = (
        ("a size below a header", pack("<II", 4, 0) + bytes(8)),
        ("a size beyond the end", pack("<II", 400, 0) + bytes(8)),
        ("a name without a NUL", pack("<II", 16, 0) + "abcd".encode("utf-16-le")),
        ("no padding", pack("<II", 12, 0) + wide("a")),
        ("too much padding", pack("<II", 24, 0) + wide("a") + bytes(12)),
    )
    for promise, data in rows:
        yield "PCQ341", promise, "fail", listed(data)
    yield "PCQ341", "any padding", "pass", listed(instance_header("a", 0), PADDED)
    yield "PCQ343", "two that cannot be reported apart", "pass", listed(*TWINS)
    yield "PCQ343", "two with a number each", "pass", listed(instance_header("a", 7), instance_header("a", 8))
    yield "PCQ311", "two in a set of one", "fail", [ONE, *listed(instance_header("a", 0), instance_header("b", 1))]
    yield "PCQ311", "one without a name in a set of many", "fail", [MANY, *listed(instance_header("", 0))]
    yield "PCQ311", "two in a set of many", "pass", [MANY, *listed(instance_header("a", 0), instance_header("b", 1))]
    yield "PCQ311", "without the registration", "inconclusive", listed(instance_header("a", 0), instance_header("b", 1))
    yield "PCQ311", "a name is asked for", "pass", [MANY, Calls().validate(identifier(COUNTERSET, name="a"))]
    yield "PCQ311", "no name is asked for", "fail", [MANY, Calls().validate(identifier(COUNTERSET, name=""))]
    made = [Calls().validate(identifier(COUNTERSET, name=""))]
    yield "PCQ311", "no name, without the registration", "inconclusive", made


def of_lists_and_strings() -> Iterator[Case]:
    # Countersets.
    yield "PCQ345", "one twice", "warn", [sets(A, A)]
    yield "PCQ345", "another order", "pass", [sets(A, B), sets(B, A)]
    yield "PCQ345", "one less", "warn", [sets(A, B), sets(A)]
    # With an error the list is undefined, and its number with any but ERROR_NOT_ENOUGH_MEMORY.
    yield "PCQ345", "another number along with 8", "warn", [sets(A), sets(A, A, status=8)]
    yield "PCQ345", "another number along with 5", "not-exercised", [sets(A), sets(A, A, status=5)]
    # Strings, of whose offsets the reading that was followed is kept alone.
    for from_start, verdicts in ((True, ("pass", "pass")), (False, ("not-exercised", "pass"))):
        for code, verdict in zip(("PCQ390", "PCQ333"), verdicts, strict=True):
            made = [described(5, string_table(STRINGS, from_start=from_start))]
            yield code, f"offsets, from the start {from_start}", verdict, made
    for code in ("PCQ390", "PCQ333"):
        yield code, "an odd place", "fail", [described(10, table_with(20, 7))]
    for offset in (4096, 0x7FFFFFFF, 0xFFFFFFFE):
        yield "PCQ390", f"{offset:#x} leads nowhere", "fail", [described(10, table_with(20, offset))]
    yield "PCQ390", "no NUL", "fail", [described(5, string_table([(1, "abcdefg")], from_start=False)[:-4])]
    for size in (4, 12):
        yield "PCQ390", f"cut at {size}", "inconclusive", [described(5, TABLE[:size])]
    for number, verdict in ((64_000, "pass"), (64_001, "fail"), (0, "pass")):
        yield "PCQ391", f"{number} counters", verdict, [described(1, HEAD + pack("<II", number, 0))]
    yield "PCQ391", "cut before their number", "inconclusive", [described(1, bytes(20))]


CASES = [*of_descriptions(), *of_languages(), *of_instances(), *of_lists_and_strings()]


@pytest.mark.parametrize("case", CASES, ids=by_name)
def test_descriptions_and_lists(case: Case) -> None:
    holds(case)


def test_known_deviations_fail_by_the_letter_and_strictly() -> None:
    answer = reported(1, registered(record(0, attributes=0x14)))
    assert judged("PCQ317", *answer, profile=Profile.SPEC).verdict("PCQ-2.2.4.2-R49") == "fail"
    assert judged("PCQ343", *listed(*TWINS), profile=Profile.STRICT).verdict("PCQ-2.2.4.5-R02") == "fail"


def test_very_many_strings_and_countersets_are_judged_in_one_pass() -> None:
    count = 2000
    headers = b"".join(pack("<II", number, 0) for number in range(count))
    table = pack("<II", 8 + len(headers) + 8, count) + headers + wide("a") + bytes(4)
    guids = b"".join(UUID(int=number).bytes_le for number in range(count))
    calls = Calls()
    strings = large(calls.registration(5, b""), calls.sized(table).data)
    listed_sets = large(calls.enumerate_sets(b""), calls.sized(guids, element=16).data)
    for code, requirement, event in (
        ("PCQ333", "PCQ-2.2.4.4-R01", strings),
        ("PCQ345", "PCQ-3.1.4.1.1-R16", listed_sets),
    ):
        assert within(200 * count, partial(judged, code, event)).count(requirement) == count


def large(exchange: Exchange, stub: bytes) -> Exchange:
    """The same call with an answer that would take many PDUs."""
    assert exchange.response is not None
    return replace(exchange, response=with_stub(exchange.response, untraced(stub)))
