"""The rules about registration information and lists of instances: each field broken in an answer that is well-formed otherwise."""

from __future__ import annotations

from functools import partial
from struct import pack
from uuid import UUID

import pytest
from msgspec.structs import replace

from analyzer.core.events import Event
from analyzer.core.traced import untraced
from analyzer.questions.audit.engine import Profile
from analyzer.questions.audit.verdicts import Outcome
from analyzer.results.perflib import NONE_ID
from analyzer.transport.rpc.exchange import Exchange
from tests.build.buffers import identifier, instance_header, string_table, wide
from tests.build.calls import COUNTERSET, MACHINE, OTHER_COUNTERSET, Calls, sealed, with_stub
from tests.questions.audit.judging import Verdict, judged
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


def reported(code: int, data: bytes, *, lcid: int = 0, status: int = 0) -> list[Event]:
    return [Calls().registration(code, data, lcid=lcid, status=status)]


def listed(*instances: bytes) -> list[Event]:
    return [instance_call(b"".join(instances))]


def instance_call(data: bytes, calls: Calls | None = None) -> Event:
    calls = calls or Calls()
    asked = calls.stub().string("\\\\SRV1").uuid(COUNTERSET).uint(4096)
    return calls.exchange(2, asked, calls.sized(data))


def words(text: str) -> bytes:
    return wide(text)


GOOD = registered(
    record(0, AVERAGE_TIMER, base=1),
    record(1, AVERAGE_BASE),
    record(2, ELAPSED_TIME, time=3, freq=3),
    record(3, LARGE_RAWCOUNT),
    record(4, MULTI_TIMER, multi=5),
    record(5, RAWCOUNT),
)
TABLE = string_table([(0, "a"), (1, "b")], from_start=False)

# rule, requirement, RequestCode, answer, what it comes to under the default profile
BROKEN = [
    ("PCQ301", "PCQ-2.2.4.1-R06", 1, registered(record(0), count=2), Outcome.FAILED),
    ("PCQ301", "PCQ-2.2.4.1-R01", 1, bytes(31), Outcome.FAILED),
    ("PCQ303", "PCQ-2.2.4.1-R02", 1, registered(guid=OTHER_COUNTERSET), Outcome.FAILED),
    ("PCQ305", "PCQ-2.2.4.1-R03", 1, registered(kind=1), Outcome.FAILED),
    ("PCQ305", "PCQ-2.2.4.2-R76", 1, registered(record(0, reserved=1)), Outcome.FAILED),
    ("PCQ307", "PCQ-2.2.4.1-R05", 1, registered(detail=300), Outcome.FAILED),
    ("PCQ307", "PCQ-2.2.4.2-R51", 2, record(0, detail=0), Outcome.FAILED),
    ("PCQ309", "PCQ-2.2.4.1-R07", 1, registered(instances=1), Outcome.FAILED),
    ("PCQ309", "PCQ-2.2.4.1-R13", 1, registered(instances=0x16), Outcome.WARNED),
    ("PCQ311", "PCQ-2.2.4.1-R10", 1, registered(record(0, function=0), instances=4), Outcome.FAILED),
    ("PCQ313", "PCQ-2.2.4.2-R02", 1, registered(record(3), record(3)), Outcome.FAILED),
    ("PCQ315", "PCQ-2.2.4.2-R03", 1, registered(record(0, 0x00012000)), Outcome.FAILED),
    ("PCQ315", "PCQ-2.2.4.2-R03", 2, record(0, 0x00400400), Outcome.WARNED),
    ("PCQ317", "PCQ-2.2.4.2-R42", 1, registered(record(0, attributes=0x20)), Outcome.FAILED),
    ("PCQ317", "PCQ-2.2.4.2-R48", 1, registered(record(0, attributes=0x12)), Outcome.FAILED),
    ("PCQ319", "PCQ-2.2.4.2-R52", 1, registered(record(0, scale=-11)), Outcome.FAILED),
    ("PCQ321", "PCQ-2.2.4.2-R54", 1, registered(record(0, AVERAGE_TIMER, base=0)), Outcome.FAILED),
    ("PCQ321", "PCQ-2.2.4.2-R60", 1, registered(record(0, AVERAGE_TIMER, base=1), record(1)), Outcome.FAILED),
    (
        "PCQ323",
        "PCQ-2.2.4.2-R62",
        1,
        registered(record(2, ELAPSED_TIME, freq=3), record(3, LARGE_RAWCOUNT)),
        Outcome.FAILED,
    ),
    (
        "PCQ323",
        "PCQ-2.2.4.2-R64",
        1,
        registered(record(2, ELAPSED_TIME, time=3), record(3, LARGE_RAWCOUNT)),
        Outcome.FAILED,
    ),
    ("PCQ323", "PCQ-2.2.4.2-R63", 1, registered(record(2, ELAPSED_TIME, time=3, freq=3), record(3)), Outcome.FAILED),
    ("PCQ323", "PCQ-2.2.4.2-R65", 1, registered(record(2, ELAPSED_TIME, time=3, freq=3), record(3)), Outcome.FAILED),
    ("PCQ325", "PCQ-2.2.4.2-R66", 1, registered(record(4, MULTI_TIMER, multi=4)), Outcome.FAILED),
    (
        "PCQ325",
        "PCQ-2.2.4.2-R67",
        1,
        registered(record(4, MULTI_TIMER, multi=5), record(5, LARGE_RAWCOUNT)),
        Outcome.FAILED,
    ),
    ("PCQ327", "PCQ-2.2.4.2-R68", 1, registered(record(0, function=5)), Outcome.FAILED),
    ("PCQ329", "PCQ-3.1.4.1.2-R32", 2, record(0) * 2, Outcome.FAILED),
    ("PCQ329", "PCQ-3.1.4.1.2-R27", 2, record(7), Outcome.FAILED),
    ("PCQ331", "PCQ-3.1.4.1.2-R33", 3, words("System")[:-2], Outcome.FAILED),
    ("PCQ331", "PCQ-3.1.4.1.2-R19", 4, words("System") + bytes(8), Outcome.FAILED),
    ("PCQ331", "PCQ-3.1.4.1.2-R38", 7, b"", Outcome.FAILED),
    ("PCQ331", "PCQ-3.1.4.1.2-R33", 9, words("System") + b"\0", Outcome.FAILED),
    ("PCQ331", "PCQ-3.1.4.1.2-R33", 9, words("System") + b"\0" * 7, Outcome.FAILED),
    ("PCQ331", "PCQ-3.1.4.1.2-R24", 9, words("a") + words("Proc"), Outcome.FAILED),
    ("PCQ333", "PCQ-2.2.4.3-R01", 5, pack("<I", 200) + TABLE[4:], Outcome.FAILED),
    ("PCQ333", "PCQ-3.1.4.1.2-R36", 6, TABLE[:4] + pack("<I", 99) + TABLE[8:], Outcome.FAILED),
    ("PCQ333", "PCQ-2.2.4.4-R01", 10, string_table([(1, "a"), (1, "b")], from_start=False), Outcome.FAILED),
    ("PCQ333", "PCQ-2.2.4.4-R02", 5, TABLE[:12] + pack("<I", 5000) + TABLE[16:], Outcome.FAILED),
    ("PCQ333", "PCQ-2.2.4.4-R02", 5, string_table([(0, "a"), (1, "b")], from_start=True), Outcome.FAILED),
    ("PCQ333", "PCQ-3.1.4.1.2-R34", 5, bytes(4), Outcome.FAILED),
    ("PCQ333", "PCQ-3.1.4.1.2-R35", 5, pack("<4I", 18, 1, 0, 0) + b"\0\0", Outcome.WARNED),
    ("PCQ335", "PCQ-3.1.4.1.2-R39", 8, bytes(8), Outcome.FAILED),
]


def outcomes(verdict: Verdict, requirement: str) -> set[Outcome]:
    return {finding.judgement.outcome for finding in verdict.findings if requirement in finding.judgement.requirements}


@pytest.mark.parametrize(("code", "requirement", "asked", "data", "outcome"), BROKEN)
def test_a_broken_field_is_flagged(code: str, requirement: str, asked: int, data: bytes, outcome: Outcome) -> None:
    verdict = judged(code, *reported(asked, data))
    assert outcomes(verdict, requirement) == {outcome}, [finding.judgement for finding in verdict.findings]


ACCEPTED = [
    *((code, 1, GOOD) for code in ("PCQ301", "PCQ303", "PCQ305", "PCQ307", "PCQ309", "PCQ313", "PCQ315", "PCQ317")),
    *((code, 1, GOOD) for code in ("PCQ319", "PCQ321", "PCQ323", "PCQ325", "PCQ327")),
    ("PCQ311", 1, registered(record(0, function=1), instances=0xC)),
    ("PCQ317", 1, registered(record(0, attributes=0x11), record(1, attributes=0x2), record(2, attributes=0xC))),
    ("PCQ319", 1, registered(record(0, scale=-10), record(1, scale=10))),
    ("PCQ329", 2, record(0)),
    ("PCQ331", 3, words("System")),
    ("PCQ331", 9, words("System") + bytes(6)),
    ("PCQ333", 5, string_table([(0, "a"), (1, "b")], from_start=False)),
    ("PCQ333", 6, string_table([(0, None)], from_start=False)),
    ("PCQ335", 8, bytes(16)),
]


@pytest.mark.parametrize(("code", "asked", "data"), ACCEPTED)
def test_a_well_formed_answer_is_accepted(code: str, asked: int, data: bytes) -> None:
    verdict = judged(code, *reported(asked, data))
    assert not verdict.findings, [finding.judgement for finding in verdict.findings]
    assert "pass" in {coverage.verdict for coverage in verdict.coverage.values()}


@pytest.mark.parametrize(("code", "asked", "data"), ACCEPTED)
def test_sealed_answers_and_failures_prove_nothing(code: str, asked: int, data: bytes) -> None:
    (call,) = reported(asked, data)
    verdict = judged(code, sealed(call))  # type: ignore[arg-type]
    assert not verdict.findings
    assert "pass" not in {coverage.verdict for coverage in verdict.coverage.values()}
    assert not judged(code, *reported(asked, b"", status=0x1068)).findings


def test_known_deviations_fail_by_the_letter_only() -> None:
    answer = reported(1, registered(record(0, attributes=0x14)))
    (finding,) = judged("PCQ317", *answer).findings
    assert finding.is_excused
    assert judged("PCQ317", *answer, profile=Profile.SPEC).verdict("PCQ-2.2.4.2-R49") == "fail"
    older = reported(1, registered(record(0, PRECISION_OBJECT_TIMER, base=1), record(1)))
    assert {finding.is_excused for finding in judged("PCQ323", *older).findings} == {True}


def test_a_finding_names_the_bytes_of_its_field() -> None:
    (finding,) = judged("PCQ319", *reported(1, registered(record(0), record(1, scale=99)))).findings
    assert finding.place is not None
    assert finding.place.source.data[finding.place.start : finding.place.stop] == pack("<i", 99)
    (finding,) = judged("PCQ335", *reported(8, bytes(8))).findings
    assert finding.place is not None
    assert finding.place.stop - finding.place.start == 8


def test_a_table_is_compared_with_the_registration_where_there_is_one() -> None:
    calls = Calls()
    known = calls.registration(1, registered(record(0), record(1), record(2)))
    table = calls.registration(5, TABLE)
    assert judged("PCQ333", known, table).requirements == {"PCQ-2.2.4.3-R02"}
    assert judged("PCQ333", table).verdict("PCQ-2.2.4.3-R02") == "inconclusive"
    stranger = calls.registration(5, string_table([(0, "a"), (1, "b"), (9, "c")], from_start=False))
    assert judged("PCQ333", known, stranger).requirements == {"PCQ-2.2.4.4-R01"}


@pytest.mark.parametrize("code", ["PCQ321", "PCQ323", "PCQ325"])
def test_an_answer_about_one_counter_is_held_against_the_registration_of_its_set(code: str) -> None:
    """Types that refer to another counter, which the set has not."""
    kind, requirement = {
        "PCQ321": (AVERAGE_TIMER, "PCQ-2.2.4.2-R54"),
        "PCQ323": (0x30240500, "PCQ-2.2.4.2-R62"),
        "PCQ325": (0x22410500, "PCQ-2.2.4.2-R66"),
    }[code]
    calls = Calls()
    one = record(0, kind, base=9, time=9, freq=9, multi=9)
    known = calls.registration(1, registered(record(0), record(1)))
    alone = calls.registration(2, one)
    assert requirement in judged(code, known, alone).requirements
    assert judged(code, alone).verdict(requirement) == "inconclusive"
    fitting = calls.registration(2, record(0, kind, base=1, time=1, freq=1, multi=1))
    assert requirement not in judged(code, known, fitting).requirements


# ------------------------------------------------------------------------------------------------ languages


@pytest.mark.parametrize(("code", "lcid", "outcome"), [(9, 0x409, Outcome.FAILED), (3, 0x3FF, Outcome.WARNED)])
def test_a_language_out_of_place_is_flagged(code: int, lcid: int, outcome: Outcome) -> None:
    (finding,) = judged("PCQ337", *reported(code, b"", lcid=lcid)).findings
    assert finding.judgement.outcome is outcome


@pytest.mark.parametrize(("code", "lcid"), [(9, 0), (3, 0), (3, 0x409), (5, 0x9), (2, 0x12345)])
def test_a_language_in_its_place_is_accepted(code: int, lcid: int) -> None:
    assert not judged("PCQ337", *reported(code, b"", lcid=lcid)).findings


def test_an_answer_that_a_language_changed_is_flagged_and_known_of_windows() -> None:
    calls = Calls()
    plain = calls.registration(9, words("System"))
    other = calls.registration(9, words("System")[2:], lcid=0x407)
    failing = calls.registration(9, b"", lcid=0x407, status=1815)
    assert judged("PCQ339", other, plain).verdict("PCQ-3.1.4.1.2-R29") == "fail"
    (finding,) = judged("PCQ339", plain, failing).findings
    assert finding.is_excused
    assert (
        judged("PCQ339", plain, calls.registration(9, words("System"), lcid=0x407)).verdict("PCQ-3.1.4.1.2-R29")
        == "pass"
    )
    assert judged("PCQ339", other).verdict("PCQ-3.1.4.1.2-R29") == "inconclusive"
    # What comes with an error is undefined: alike are answers with the same error.
    refused = [calls.registration(9, data, lcid=lcid, status=5) for data, lcid in ((b"", 0), (words("a"), 0x407))]
    assert judged("PCQ339", *refused).verdict("PCQ-3.1.4.1.2-R29") == "pass"


def test_a_language_that_is_absent_stays_absent() -> None:
    calls = Calls()
    absent, present = calls.registration(3, b"", lcid=0x407, status=1815), calls.registration(3, words("a"), lcid=0x407)
    assert judged("PCQ339", absent).verdict("PCQ-3.1.4.1.2-R30") == "pass"
    assert judged("PCQ339", absent, present).verdict("PCQ-3.1.4.1.2-R30") == "fail"
    assert judged("PCQ339", present).verdict("PCQ-3.1.4.1.2-R30") == "inconclusive"


# ------------------------------------------------------------------------------------------------ instances


@pytest.mark.parametrize(
    ("requirement", "data"),
    [
        ("PCQ-3.1.4.1.3-R16", pack("<II", 4, 0) + bytes(8)),
        ("PCQ-3.1.4.1.3-R16", pack("<II", 400, 0) + bytes(8)),
        ("PCQ-2.2.4.5-R01", pack("<II", 16, 0) + "abcd".encode("utf-16-le")),
        ("PCQ-3.1.4.1.3-R17", pack("<II", 12, 0) + words("a")),
        ("PCQ-3.1.4.1.3-R17", pack("<II", 24, 0) + words("a") + bytes(12)),
    ],
)
def test_a_broken_chain_of_instances_is_flagged(requirement: str, data: bytes) -> None:
    verdict = judged("PCQ341", *listed(data))
    assert outcomes(verdict, requirement) == {Outcome.FAILED}


def test_a_chain_of_instances_is_accepted_whatever_its_padding() -> None:
    verdict = judged("PCQ341", *listed(instance_header("a", 0), pack("<II", 16, 1) + words("b") + b"\xee" * 4))
    assert not verdict.findings
    assert verdict.count("PCQ-3.1.4.1.3-R17") == 2
    assert judged("PCQ341", sealed(listed(instance_header("a", 0))[0])).verdict("PCQ-3.1.4.1.3-R16") == "inconclusive"  # type: ignore[arg-type]


def test_instances_that_cannot_be_reported_apart_are_known_of_windows() -> None:
    twins = listed(instance_header("a", 7), instance_header("A", 7))
    (finding,) = judged("PCQ343", *twins).findings
    assert finding.is_excused
    assert judged("PCQ343", *twins, profile=Profile.STRICT).verdict("PCQ-2.2.4.5-R02") == "fail"
    assert not judged("PCQ343", *listed(instance_header("a", 7), instance_header("a", 8))).findings
    assert judged("PCQ343", sealed(twins[0])).verdict("PCQ-2.2.4.5-R02") == "inconclusive"  # type: ignore[arg-type]


def test_instances_agree_with_the_instance_type() -> None:
    calls = Calls()
    single = calls.registration(1, registered(record(0), instances=0))
    many = calls.registration(1, registered(record(0), instances=2))
    two = instance_call(instance_header("a", 0) + instance_header("b", 1), calls)
    nameless = instance_call(instance_header("", 0), calls)
    assert judged("PCQ311", single, two).requirements == {"PCQ-2.2.4.1-R08"}
    assert judged("PCQ311", many, nameless).requirements == {"PCQ-2.2.4.1-R09"}
    assert not judged("PCQ311", many, two).findings
    assert judged("PCQ311", two).verdict("PCQ-2.2.4.1-R09") == "inconclusive"


def test_an_identifier_for_many_instances_has_a_name() -> None:
    calls = Calls()
    many = calls.registration(1, registered(record(0), instances=2))
    named = calls.validate(identifier(COUNTERSET, name="a"))
    bare = calls.validate(identifier(COUNTERSET, name=""))
    assert not judged("PCQ311", many, named).findings
    assert judged("PCQ311", many, bare).requirements == {"PCQ-2.2.4.1-R14"}
    assert judged("PCQ311", bare).verdict("PCQ-2.2.4.1-R14") == "inconclusive"


# ------------------------------------------------------------------------------------------------ countersets


def test_countersets_are_listed_once_and_counted_alike() -> None:
    calls = Calls()
    a, b = UUID(COUNTERSET).bytes_le, UUID(OTHER_COUNTERSET).bytes_le
    assert judged("PCQ345", calls.enumerate_sets(a + a)).requirements == {"PCQ-3.1.4.1.1-R16"}
    assert not judged("PCQ345", calls.enumerate_sets(a + b), calls.enumerate_sets(b + a)).findings
    changed = judged("PCQ345", calls.enumerate_sets(a + b), calls.enumerate_sets(a))
    assert changed.requirements == {"PCQ-3.1.4.1.1-R15"}
    assert judged("PCQ345", sealed(calls.enumerate_sets(a + a))).verdict("PCQ-3.1.4.1.1-R16") == "inconclusive"
    # With an error the list is undefined, and its number with any but ERROR_NOT_ENOUGH_MEMORY.
    for status, counted in ((8, 1), (5, 0)):
        asked = calls.stub().string(MACHINE).uint(256)
        failing = calls.exchange(0, asked, calls.sized(a + a, status, element=16, room=256))
        found = judged("PCQ345", calls.enumerate_sets(a), failing)
        assert (found.count("PCQ-3.1.4.1.1-R16"), len(found.findings)) == (0, counted)


def test_very_many_strings_and_countersets_are_judged_in_one_pass() -> None:
    count = 2000
    headers = b"".join(pack("<II", number, 0) for number in range(count))
    table = pack("<II", 8 + len(headers) + 8, count) + headers + words("a") + bytes(4)
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
