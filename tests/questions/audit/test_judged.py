"""What decides whether a call is judged, and what a rule is told of it: plans, checks, numbers of stubs, texts and paths."""

from __future__ import annotations

from struct import pack
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from analyzer.core.absence import Missing
from analyzer.core.traced_bytes import TracedBytes
from analyzer.questions.audit import rule_plans as module
from analyzer.questions.audit.accepted_findings import Accepted
from analyzer.questions.audit.alike_calls import _AUTH_LENGTH, _BODY, _CALL_ID, _FIXED, _MOST_BYTES, _SEC_TRAILER, _pdu
from analyzer.questions.audit.buffer_checks import has_instances, identifiers_of, judgements, status_violation
from analyzer.questions.audit.call_evidence import _MOST_SHARED, CallEvidence, CallIndex, Evidence, SideEvidence, _find
from analyzer.questions.audit.engine import Audit, select
from analyzer.questions.audit.identifier_lists import read_identifiers
from analyzer.questions.audit.registration_answers import string_offsets, text_flaw
from analyzer.questions.audit.rule import Reads, every_rule
from analyzer.questions.audit.rule_plans import _MOST_PLANS, Plan, Plans, _apart, _is_read, _why_unreadable, about
from analyzer.questions.audit.rules.identifiers import _chain
from analyzer.questions.audit.stub_and_pdu_fields import (
    ArrayCounts,
    Number,
    _Stub,
    answer_counts,
    machine_name,
    problem_at,
    returned,
    validated_count,
)
from analyzer.questions.audit.verdicts import At, Confidence, Outcome, Violation, failed, inconclusive, passed, warned
from analyzer.results.perflib import Opnum
from analyzer.results.query_state import QueryView
from tests.build.buffers import identifier, perf_data, wide
from tests.build.calls import COUNTERSET, HANDLE, OTHER_HANDLE, Calls, analysis_of, winreg
from tests.build.rpc import PCQ, WINREG

SIZE = "PCQ-2.2.4.7-R02"


def call_of(*events: Any) -> CallEvidence:
    return Evidence(analysis_of(*events)).call(len(events))


# ------------------------------------------------------------------------------------------------ which calls a rule reads


def reading(
    *, code: Any = 1, status: int | None = 0, fault: int | None = None, request: bool = True, **sides: Any
) -> Any:
    asked = {} if code is None else {"RequestCode": code}
    return SimpleNamespace(
        asked=asked, status=status, fault=fault, opnum=6, unreadable={}, request=object() if request else None, **sides
    )


@pytest.mark.parametrize(
    ("reads", "call", "is_read"),
    [
        (Reads(), reading(), True),
        (Reads(codes=(1, 2)), reading(), True),
        (Reads(codes=(2,)), reading(), False),
        # What cannot be known may be.
        (Reads(codes=(2,)), reading(code=None), True),
        (Reads(codes=(2,)), reading(request=False), True),
        (Reads(success=True), reading(), True),
        (Reads(success=True), reading(status=None), True),
        (Reads(success=True), reading(status=5), False),
        (Reads(success=True), reading(fault=5), False),
        (Reads(success=True), reading(status=None, fault=5), False),
        (Reads(failure=True), reading(), False),
        (Reads(failure=True), reading(status=5), True),
        (Reads(failure=True), reading(status=None), True),
        (Reads(failure=True), reading(fault=5), True),
        # A fault answers no response.
        (Reads(parts=("request",)), reading(status=None, fault=5), True),
        (Reads(parts=("request.lpData", "response")), reading(status=None, fault=5), False),
        (Reads(parts=("response.lpData",)), reading(status=None, fault=5), False),
        (Reads(parts=("response",)), reading(), True),
    ],
)
def test_which_calls_a_rule_reads(reads: Reads, call: Any, is_read: bool) -> None:
    assert _is_read(reads, call) is is_read


def side(
    missing: Missing | None = None,
    *,
    problem: Any = None,
    lp_data: Any = None,
    damage: Any = None,
    has_decoded: bool = True,
) -> Any:
    decoded = SimpleNamespace(problem=damage) if has_decoded else None
    stated = SimpleNamespace(missing=missing, problem=problem, buffer_span=lp_data)
    return SimpleNamespace(side=stated, buffer=decoded)


NOT_THERE = "the response was not captured"
SEALED = "the response is sealed and no key was given that opens it"
LOST = "bytes of the response are missing"
NO_STUB = "the response stub does not decode"


@pytest.mark.parametrize(
    ("part", "answered", "damaged", "reason"),
    [
        ("response", None, False, NOT_THERE),
        ("response", None, True, NOT_THERE),
        ("response", side(Missing.SEALED), False, SEALED),
        ("response", side(Missing.SEALED), True, SEALED),
        ("response", side(Missing.NOT_CAPTURED), False, LOST),
        ("response", side(problem=1), False, NO_STUB),
        ("response", side(problem=1), True, None),
        ("response", side(damage=1), False, None),
        ("response.lpData", side(lp_data=b"x"), False, None),
        ("response.lpData", side(has_decoded=False, lp_data=b"x"), False, None),
        ("response.lpData", side(lp_data=b"x", damage=1), False, "the buffer of the response is damaged"),
        ("response.lpData", side(lp_data=b"x", damage=1), True, None),
        ("response.lpData", side(), False, "the buffer of the response is empty"),
        ("response.lpData", side(), True, None),
    ],
)
def test_why_a_part_cannot_be_read(part: Any, answered: Any, damaged: bool, reason: str | None) -> None:
    def asked(side_of: Any, **facts: Any) -> Any:
        call = reading(**facts)
        call.request, call.response = side_of, side_of
        call.side = lambda name: side_of
        return call

    reads = Reads(parts=(part,), damaged=damaged)
    call = asked(answered)
    assert _why_unreadable(reads, call) == reason
    # It is looked at once for all rules.
    call.side = None
    assert _why_unreadable(reads, call) == reason
    assert call.unreadable == {(part, damaged): reason}
    words = reason.replace("response", "request") if reason is not None else None
    turned = "request" + part.removeprefix("response")
    if reason != "the buffer of the response is empty":
        assert _why_unreadable(Reads(parts=(turned,), damaged=damaged), asked(answered)) == words
    else:
        # Other methods' buffers may be empty, and so may what failed return.
        assert _why_unreadable(Reads(parts=(turned,)), asked(answered)) is None
        assert _why_unreadable(reads, asked(answered, status=5)) is None
        other = asked(answered)
        other.opnum = 8
        assert _why_unreadable(reads, other) is None
        other = asked(answered)
        other.opnum = Opnum.QUERY_COUNTER_SET_REGISTRATION_INFO
        assert _why_unreadable(reads, other) == reason


@pytest.mark.parametrize(
    ("reads", "facts", "reason"),
    [
        (Reads(success=True), {"status": None}, NOT_THERE),
        (Reads(failure=True), {"status": None}, NOT_THERE),
        (Reads(success=True), {"status": 0}, None),
        (Reads(failure=True), {"status": None, "fault": 5}, None),
        (Reads(), {"status": None}, None),
        (Reads(codes=(1,)), {"code": None}, "the request was not captured"),
        (Reads(codes=(1,)), {"code": 5}, None),
    ],
)
def test_why_it_is_not_known_whether_a_rule_reads_a_call(reads: Reads, facts: Any, reason: str | None) -> None:
    call = reading(**facts)
    call.request = call.response = None
    assert _why_unreadable(reads, call) == reason


def test_what_passed_and_what_cannot_be_stated_is_counted() -> None:
    from collections import Counter

    done, doubts = Counter({"A": 1}), Counter[tuple[str, str]]()
    wrong = failed(call_of(Calls().open_query()), At("request"), "m", of="A")
    unknown = inconclusive("why", None, "A", "B")
    found = [passed("A"), wrong, passed("A", count=4), unknown, unknown, passed("B", count=2)]
    assert _apart(found, done, doubts) == (wrong,)
    assert done == {"A": 6, "B": 2}
    assert doubts == {("A", "why"): 2, ("B", "why"): 2}


def test_a_verdict_on_a_call_is_one_on_calls_that_are_alike() -> None:
    first, second = (call_of(Calls().open_query()) for _ in range(2))
    verdict = failed(first, At("request"), "m", of="A")
    assert about(verdict, first) is verdict
    assert about(verdict, second).call is second
    assert about(passed("A"), second).call is None


def test_so_many_plans_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that was made first goes first; a plan is no other's whose handle held something else, or whose answer names it."""
    assert (_MOST_PLANS, module._MOST_BYTES) == (1024, 4_194_304)
    monkeypatch.setattr(module, "_MOST_PLANS", 2)
    monkeypatch.setattr(module, "_MOST_BYTES", 30)
    monkeypatch.setattr(module, "likeness_of", lambda call: call.likeness)
    made: list[str] = []

    class Some(Plans):
        def _made(self, call: Any) -> Plan:
            made.append(call.likeness)
            return Plan((), (), (), call.likeness == "names", {}, {}, call.size, is_displaced=False)

    def ask(plans: Plans, likeness: str | None, size: int = 10, query: Any = None) -> bool:
        before = len(made)
        call: Any = SimpleNamespace(likeness=likeness, size=size, view=query, shared={})
        plans.of(call)
        return len(made) > before

    plans = Some((), {})
    assert [ask(plans, name) for name in "abab"] == [True, True, False, False]
    assert [ask(plans, name) for name in "cba"] == [True, False, True]
    assert [ask(plans, None), ask(plans, None)] == [True, True]
    first, other = (QueryView(name, number, {}, None, held=()) for number, name in enumerate((HANDLE, OTHER_HANDLE), 1))
    assert [ask(plans, "a", query=one) for one in (first, other, None)] == [True, False, False]
    assert ask(plans, "a", query=replace(first, held=None))
    plans = Some((), {})
    assert [ask(plans, "names", query=one) for one in (first, other, other)] == [True, True, False]
    # Thirty bytes are kept, thirty-one are not.
    plans = Some((), {})
    assert [ask(plans, "a", 20), ask(plans, "b", 10), ask(plans, "a"), ask(plans, "b")] == [True, True, False, False]
    plans = Some((), {})
    assert [ask(plans, "a", 20), ask(plans, "b", 11), ask(plans, "b"), ask(plans, "a")] == [True, True, False, True]


# ------------------------------------------------------------------------------------------------ checks


def violation(number: int) -> Violation:
    return Violation(f"lpData.{number}", (number, number + 4), "5", f"{number}")


def test_of_several_violations_the_first_is_shown_and_all_are_counted() -> None:
    call = call_of(Calls().open_query())
    assert list(judgements(call, 3, [], "m", of=("A", "B"))) == [passed("A", "B", count=3)]
    assert list(judgements(call, 0, [], "m", of="A")) == []
    at = At("response", "lpData.1", (1, 5))
    one = failed(call, at, "m", "5", "1", of=("A", "B"))
    assert list(judgements(call, 1, [violation(1)], "m", of=("A", "B"))) == [one]
    both = list(judgements(call, 3, [violation(1), violation(2)], "m", of=("A", "B")))
    several = failed(call, at, "m, the first of several", "5", "1", of=("A", "B"))
    assert both == [passed("A", "B"), several]
    (soft,) = judgements(call, 1, [violation(1)], "m", of="A", warn=True, confidence=Confidence.LOW)
    assert soft == warned(call, at, "m", "5", "1", of="A", confidence=Confidence.LOW)
    (note,) = judgements(call, 1, [violation(1)], "m", of="A", note=True)
    assert (note.outcome, note.note, soft.note, one.note) == (Outcome.WARNED, True, False, False)


@pytest.mark.parametrize(
    ("code", "verdict"),
    [
        (0, None),
        (5, None),
        (15_999, None),
        # [MS-ERREF] 2.2 ends below 16000; the last that has a name is one of it.
        (16_000, "warn"),
        (0x7FFFFFFF, "warn"),
        (0x80000000, "fail"),
        (0xC0000022, "fail"),
    ],
)
def test_a_status_is_of_the_win32_space(code: int, verdict: str | None) -> None:
    assert status_violation(code) == verdict


@pytest.mark.parametrize(
    ("kind", "has"), [(None, None), (0, False), (2, True), (4, None), (6, True), (0x16, True), (1, None), (0x0C, None)]
)
def test_whether_a_counterset_has_instances(kind: int | None, has: bool | None) -> None:
    """[MS-PCQ] 2.2.4.1: 4 and 12 aggregate over all instances."""
    call: Any = SimpleNamespace(catalog=SimpleNamespace(countersets={"a": SimpleNamespace(instance_type=kind)}))
    assert has_instances(call, "a") is has
    assert has_instances(call, "b") is None


def test_identifiers_are_those_of_a_side_that_can_be_read() -> None:
    def counts(call: Any) -> list[int]:
        return [len(identifiers_of(side)) for side in (call.request, call.response)]

    named = identifier(COUNTERSET, name="ab")
    assert counts(call_of(Calls().open_query(), Calls(first_frame=9).validate(named))) == [1, 1]
    assert counts(call_of(Calls().counter_info(named + named))) == [0, 2]
    assert counts(call_of(Calls().open_query())) == [0, 0]
    assert counts(call_of(Calls().exchange(7, b"\1", None))) == [0, 0]


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"", []),
        (identifier(COUNTERSET), [1]),
        (identifier(COUNTERSET) * 2 + b"x" * 9, [1, "the buffer ends before an identifier does"]),
        (identifier(COUNTERSET)[:39], ["the buffer ends before an identifier does"]),
    ],
)
def test_sizes_lead_from_identifier_to_identifier(data: bytes, found: list[Any]) -> None:
    call = call_of(Calls().counter_info(data))
    made = list(_chain(call, call.reply))
    assert [one.message or one.count for one in made] == found
    broken = call_of(Calls().exchange(7, b"\1", None))
    assert list(_chain(broken, broken.sent)) == [inconclusive("the request stub does not decode", broken)]


# ------------------------------------------------------------------------------------------------ numbers of stubs


def stub_of(data: bytes, *, ndr64: bool = False, big: bool = False, name: str = "response", **more: Any) -> Any:
    captured = TracedBytes.of_frame(data, 1)
    call = SimpleNamespace(syntax="ndr64" if ndr64 else "ndr")
    return SimpleNamespace(
        captured=captured,
        call=call,
        side=SimpleNamespace(missing=None, big_endian=big, **more),
        name=name,
        layout=None,
        stub=data,
    )


def test_counts_of_arrays_are_of_four_or_eight_bytes() -> None:
    """C706 14.3.3: maximum count, offset, actual count; in NDR64 each of eight bytes ([MS-RPCE] 2.2.5.3.2)."""
    three = ArrayCounts(Number(1, "stub[8:12]"), Number(2, "stub[12:16]"), Number(3, "stub[16:20]"), 20)
    assert answer_counts(stub_of(bytes(8) + pack("<3I", 1, 2, 3))) == three
    assert answer_counts(stub_of(bytes(8) + pack(">3I", 1, 2, 3), big=True)) == three
    assert answer_counts(stub_of(bytes(8) + pack("<3I", 1, 2, 3)[:-1])) is None
    long = ArrayCounts(Number(1, "stub[8:16]"), Number(2, "stub[16:24]"), Number(3, "stub[24:32]"), 32)
    assert answer_counts(stub_of(bytes(8) + pack("<3Q", 1, 2, 3), ndr64=True)) == long
    assert answer_counts(stub_of(bytes(8) + pack("<3Q", 1, 2, 3)[:-1], ndr64=True)) is None
    sealed = stub_of(b"")
    sealed.side.missing = Missing.SEALED
    assert _Stub(sealed).data == b""
    assert answer_counts(sealed) is None


@pytest.mark.parametrize(
    ("name", "size", "number"),
    [
        ("request", 28, Number(9, "stub[24:28]")),
        ("request", 27, None),
        ("response", 4, Number(7, "stub[0:4]")),
        ("response", 3, None),
    ],
)
def test_the_count_of_validated_identifiers_stands_behind_the_handle(
    name: str, size: int, number: Number | None
) -> None:
    data = pack("<I20sI", 7, b"", 9)
    assert validated_count(stub_of(data[:size], name=name)) == number


def test_the_count_of_validated_identifiers_is_wide_in_ndr64() -> None:
    assert validated_count(stub_of(pack("<Q", 7), ndr64=True)) == Number(7, "stub[0:8]")
    assert validated_count(stub_of(pack("<Q", 7)[:7], ndr64=True)) is None


@pytest.mark.parametrize(("size", "is_there"), [(16, True), (17, True), (15, False), (11, False)])
def test_the_name_of_a_machine_is_as_long_as_its_count_says(size: int, is_there: bool) -> None:
    data = (pack("<3I", 2, 0, 2) + wide("a") + b"xx")[:size]
    found = machine_name(stub_of(data))
    assert (found is not None) is is_there
    if found is not None:
        assert found[1] == wide("a")
        assert found[0].start == 12
    referent = stub_of(bytes(4) + data)
    referent.layout = SimpleNamespace(notes=("a referent",))
    found = machine_name(referent)
    assert (found is not None) is is_there
    assert found is None or found[0].start == 16


@pytest.mark.parametrize(
    ("field", "start", "stop", "where"),
    [
        ("request.x", 4, 8, "stub[4:8]"),
        ("request.x", 0, 20, "stub[0:20]"),
        ("request.x", 0, 21, ""),
        ("request.x", 8, 8, ""),
        ("request.x", None, 8, ""),
        ("request.x", 8, None, ""),
        # Of a count that is wrong, the count alone.
        ("request.x.max_count", 4, 20, "stub[4:8]"),
        ("request.x.actual_count", 4, 6, "stub[4:6]"),
        ("offset", 4, 20, "stub[4:8]"),
    ],
)
def test_where_a_stub_goes_wrong(field: str, start: int | None, stop: int | None, where: str) -> None:
    problem = SimpleNamespace(field=field, start=start, stop=stop)
    assert problem_at(stub_of(bytes(20), problem=problem)) == At("response", where)
    assert problem_at(stub_of(bytes(20), problem=None)) == At("response")


@pytest.mark.parametrize(
    ("status", "words"),
    [(None, "ERROR_SUCCESS (0x0)"), (5, "ERROR_ACCESS_DENIED (0x5)"), (0x7FFFFFF0, "an error (0x7ffffff0)")],
)
def test_a_return_value_in_words(status: int | None, words: str) -> None:
    assert returned(SimpleNamespace(status=status)) == words  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------------ texts


@pytest.mark.parametrize(
    ("data", "flaw"),
    [
        (wide("ab"), None),
        (wide("ab") + bytes(6), None),
        (wide("ab") + bytes(7), ("has half a character behind its NUL", 12, 13)),
        (wide("ab") + b"x", ("has half a character behind its NUL", 6, 7)),
        (wide("ab") + bytes(8), ("goes on behind its NUL", 6, 14)),
        (wide("ab")[:-2], ("has no NUL", 2, 4)),
        (wide("ab")[:-1], ("has no NUL", 3, 5)),
        (b"a", ("has no NUL", 0, 1)),
        (b"", ("has no NUL", 0, 0)),
        (bytes(2), None),
    ],
)
def test_a_text_has_a_nul_and_little_behind_it(data: bytes, flaw: tuple[str, int, int] | None) -> None:
    assert text_flaw(data) == flaw


@pytest.mark.parametrize(
    ("offsets", "base", "lost"),
    [
        # Behind 16 bytes of headers stand "ab" at 16 and "c" at 22, whose NUL is at 24.
        ((16, 22), 0, []),
        ((0, 6), 16, []),
        ((16, 24), 0, []),
        ((16, 26), 0, [1]),
        ((14, 22), 0, [0]),
        ((17, 22), 0, [0]),
        ((16, 0xFFFFFFFF), 0, []),
        ((16, 22, 100, 15), 0, [2, 3]),
    ],
)
def test_offsets_lead_to_strings(offsets: tuple[int, ...], base: int, lost: list[int]) -> None:
    data = bytes(16) + wide("ab") + wide("c")
    found = string_offsets(data, offsets, 16)
    assert (found.base, found.lost) == (base, lost)
    assert found.counts_from_start is (base == 0)


# ------------------------------------------------------------------------------------------------ evidence


def fields(name: str, *children: Any, spelling: str = "") -> Any:
    return SimpleNamespace(name=name, spelling=spelling or name.upper(), children=children)


def test_a_path_leads_to_a_field_by_id_or_spelling_and_over_what_only_wraps() -> None:
    leaf, deep = fields("leaf"), fields("deep", spelling="dwDeep")
    wrap = fields("wrap", fields("inner", deep))
    root = fields("root", leaf, wrap)
    assert _find(root, "leaf") is _find(root, "LEAF") is leaf
    assert _find(root, "wrap.inner.deep") is _find(root, "dwDeep") is _find(root, "wrap.dwDeep") is deep
    assert _find(root, "lost") is None
    assert _find(root, "root") is None
    assert _find(root, "wrap.lost") is wrap
    assert _find(root, "wrap.lost.deep") is wrap


@pytest.mark.parametrize(
    ("path", "part", "start", "stop"),
    [
        ("stub[4:8]", "request stub", 4, 8),
        ("stub[4:800]", "request stub", 4, 60),
        ("pdu", "request PDU 1", 0, 84),
        ("pdu.8:16", "request PDU 1", 8, 16),
        ("pdu[1].80:99", "request PDU 1", 80, 84),
        ("pdu[0].8:16", None, 0, 0),
        ("pdu[2].8:16", None, 0, 0),
    ],
)
def test_bytes_without_a_name_are_places(path: str, part: str | None, start: int, stop: int) -> None:
    call = call_of(Calls().exchange(6, bytes(60), None))
    place = call.place(At("request", path))
    if part is None:
        assert place is None
    else:
        assert place is not None
        assert (place.part, place.start, place.stop) == (part, start, stop)
    assert call.place(At("response", path)) is None


def test_places_of_calls_that_are_alike_are_shared() -> None:
    """The bytes are each call's own, the place is looked for once; beyond a limit each time."""
    assert _MOST_SHARED == 256
    first, second = (call_of(Calls(first_frame=frame).exchange(6, bytes(60), None)) for frame in (1, 7))
    second.places = first.places
    at = At("request", "stub[4:8]")
    found = first.find(at)
    again = second.find(at)
    assert found is not None
    assert again is not None
    assert (again.start, again.stop, again.source.origin(0, 1)[0].frame) == (4, 8, 7)
    lost = At("request", "pdu[9]")
    assert first.find(lost) is second.find(lost) is None
    assert set(first.places) == {at, lost}
    first.places.update((At("request", str(number)), None) for number in range(_MOST_SHARED - 3))
    assert first.find(At("request", "stub[0:1]")) is not None
    assert first.find(At("request", "stub[0:2]")) is not None
    assert len(first.places) == _MOST_SHARED


def test_calls_that_are_looked_at_again_share_places_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls on each of many handles that asked for data too early: where the handle stands is looked for once."""
    make, handles = Calls(), [f"5e0c6a4e-9b1d-4f3c-8a55-{number:012x}" for number in range(1, 9)]
    events = [event for one in handles for event in (make.open_query(one), make.counter_data(perf_data([]), one))]
    looked: list[str] = []
    place = SideEvidence.place

    def look(side: SideEvidence, path: str, span: tuple[int, int] | None = None) -> Any:
        looked.append(path)
        return place(side, path, span)

    monkeypatch.setattr(SideEvidence, "place", look)
    found = list(Audit(analysis_of(*events), rules=select(every_rule(), ["PCQ717"], ())).findings())
    assert [finding.call for finding in found] == [2, 4, 6, 8, 10, 12, 14, 16]
    assert [finding.place is not None and finding.place.start for finding in found] == [0] * 8
    assert looked == ["hQuery"]


def test_findings_of_calls_that_are_alike_are_each_counted() -> None:
    """They have one pattern, and a call, frames and an occurrence each; what a baseline accepts is counted as well."""
    make = Calls()
    analysis = analysis_of(*(make.open_query(status=0) for _ in range(5)))
    audit = Audit(analysis, rules=select(every_rule(), ["PCQ101"], ()))
    found = list(audit.findings())
    assert [finding.call for finding in found] == [1, 2, 3, 4, 5]
    assert len({id(finding.pattern) for finding in found}) == 1
    assert len({finding.frames for finding in found}) == 5
    assert [finding.of is not None and finding.judgement.call is finding.of for finding in found] == [True] * 5
    of = found[0].judgement.requirements
    assert [audit.coverage[one].counts[Outcome.FAILED] for one in of] == [5] * len(of)
    accepting = Audit(analysis, rules=audit._rules, baseline=[Accepted.of(found[0])])
    assert list(accepting.findings()) == []
    assert (accepting.accepted, [accepting.coverage[one].accepted for one in of]) == (5, [5] * len(of))


def test_calls_are_found_by_method() -> None:
    make, keys, other = Calls(), winreg(first_frame=50), Calls("99999999-1111-2222-3333-444444444444", first_frame=90)
    events = [make.open_query(), make.close_query(), make.open_query(), keys.open_key(), other.exchange(1, b"", b"")]
    evidence = Evidence(analysis_of(*events))
    index = evidence.index
    assert isinstance(index, CallIndex)
    assert list(index.numbers(PCQ)) == [1, 2, 3]
    assert [list(index.numbers(PCQ, opnum)) for opnum in (3, 4, 9)] == [[1, 3], [2], []]
    assert list(index.numbers(PCQ, 4, 3)) == [1, 2, 3]
    assert list(index.numbers(WINREG)) == [4]
    assert index.first == {evidence.call(1).decoded.channel: 1}
    assert [list(numbers) for numbers in index.nameless.values()] == [[5]]
    assert [call.number for call in evidence.calls()] == [1, 2, 3, 4]
    assert [call.number for call in evidence.calls_of(PCQ, 3)] == [1, 3]
    assert repr(evidence.call(2)) == "CallEvidence(#2, PerflibV2CloseQueryHandle)"


# ------------------------------------------------------------------------------------------------ likeness


def test_of_a_pdu_all_but_call_id_and_body_makes_it_alike() -> None:
    """[MS-RPCE] 2.2.2.1, C706 12.6.3.1: auth_length at 10, call id at 12, 16 bytes of header; sec_trailer of 8 before the token."""
    assert (_AUTH_LENGTH, _CALL_ID, _BODY, _FIXED, _SEC_TRAILER, _MOST_BYTES) == (10, 12, 16, 24, 8, 4096)
    for order, mark in (("<", 0x10), (">", 0)):
        head = bytes([5, 0, 0, 3, mark, 0, 0, 0]) + pack(f"{order}HH", 60, 4) + b"call"
        data = b"before" + head + b"hintopnm" + b"body" * 5 + b"trailer!" + b"sign"
        header, body, trailer, length = _pdu(data, 6, len(data))
        assert (header, body, trailer, length) == (head[:12], b"hintopnm", b"trailer!", 56)
        assert _pdu(data + b"next", 6, len(data)) == (head[:12], b"hintopnm", b"trailer!", 56)
        bare = data[:16] + bytes(2) + data[18:]
        assert _pdu(bare, 6, len(bare))[2] == b""
        # A forged length: no more than there is.
        much = data[:16] + pack(f"{order}H", 55) + data[18:]
        assert _pdu(much, 6, len(much))[2] == b"\5"
        all_of_it = data[:16] + pack(f"{order}H", 56) + data[18:]
        assert _pdu(all_of_it, 6, len(all_of_it))[2] == b""


# ------------------------------------------------------------------------------------------------ identifiers


LISTED = identifier(COUNTERSET, name="ab") + identifier(COUNTERSET, counter=2) + identifier(COUNTERSET, name="abc")


def told(data: bytes) -> str:
    found = read_identifiers(data)
    blocks = [
        f"{one.at}+{one.size}~{one.natural_size} {one.name} {one.name_span[1]} {one.padding[1]} {int(one.has_nul)}"
        for one in found.blocks
    ]
    flaw = (
        "" if found.flaw is None else f"; {found.flaw.path} {found.flaw.span} {found.flaw.expected}, {found.flaw.seen}"
    )
    return ", ".join(blocks) + flaw


def test_identifiers_of_which_one_size_is_another() -> None:
    first, second, third = "0+48~48 ab 46 48 1", "48+40~40 None 88 88 0", "88+48~48 abc 136 136 1"
    assert told(LISTED) == f"{first}, {second}, {third}"
    path = "lpData.identifiers"

    def moved(at: int, by: int) -> str:
        size = int.from_bytes(LISTED[at + 20 : at + 24], "little") + by
        return told(LISTED[: at + 20] + pack("<I", size & 0xFFFFFFFF) + LISTED[at + 24 :])

    # Wherever the list derails, the size that is not that of its name is the cause.
    for by, words in {-4: "room for the name and its NUL", 1: "48", 4: "48", 8: "48"}.items():
        assert moved(0, by).endswith(f"; {path}[0].size (20, 24) {words}, {48 + by}"), by
    assert moved(0, -48) == f"; {path}[0].size (20, 24) 40 to 136, 0"
    for by in (1, 4, 8):
        assert moved(88, by) == f"{first}, {second}; {path}[2].size (108, 112) 40 to 48, {48 + by}"
    assert moved(88, -8).startswith(f"{first}, {second}, 88+40~40 None")
    assert moved(48, 8).startswith(f"{first}, 48+48~")


@pytest.mark.parametrize(
    ("size", "flaw"),
    [
        (0, None),
        (1, ("lpData.identifiers[1]", (40, 41), "40 bytes", "1 bytes")),
        (39, ("lpData.identifiers[1]", (40, 79), "40 bytes", "39 bytes")),
    ],
)
def test_what_is_left_behind_identifiers(size: int, flaw: tuple[Any, ...] | None) -> None:
    found = read_identifiers(identifier(COUNTERSET) + b"\x41" * size)
    assert (tuple(found.flaw) if found.flaw is not None else None) == flaw
    assert len(found.blocks) == 1


def test_a_name_whose_size_was_left_out_is_found_behind_its_identifier() -> None:
    """An identifier that says 40 bytes, and is followed by a name and another that fits."""
    named = identifier(COUNTERSET, name="ab")
    bare = named[:20] + pack("<I", 40) + named[24:]
    found = read_identifiers(bare + identifier(COUNTERSET))
    assert found.flaw is not None
    assert tuple(found.flaw) == ("lpData.identifiers[0].size", (20, 24), "48", "40")
    assert [block.size for block in found.blocks] == [40]
    alone = read_identifiers(bare)
    assert alone.flaw is not None
    assert (alone.flaw.expected, alone.flaw.seen) == ("48", "40")


def test_a_name_without_a_nul_is_the_first_cause() -> None:
    named = identifier(COUNTERSET)[:20] + pack("<5I", 44, 1, 0, 0, 0)[:20] + b"a\0b\0"
    found = read_identifiers(named + b"rest")
    assert found.flaw is not None
    assert tuple(found.flaw) == ("lpData.identifiers[0].size", (20, 24), "room for the name and its NUL", "44")
    (block,) = found.blocks
    assert (block.name, block.has_nul, block.room) == ("ab", False, b"a\0b\0")
