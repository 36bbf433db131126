"""What decides whether a call is judged, and what a rule is told of it: plans, checks, numbers of stubs, texts and paths."""

from collections import Counter
from struct import pack
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from analyzer.core.absence import Missing
from analyzer.core.traced_bytes import TracedBytes
from analyzer.interfaces.buffers.ambiguous_readings import string_offsets
from analyzer.questions.audit import rule_plans as module
from analyzer.questions.audit.audit_engine import Audit
from analyzer.questions.audit.buffer_checks import judgements
from analyzer.questions.audit.call_evidence import (
    _MOST_SHARED,
    CallEvidence,
    CallIndex,
    Evidence,
    SideEvidence,
    _field_on_path,
)
from analyzer.questions.audit.findings_and_coverage import Accepted
from analyzer.questions.audit.identifier_lists import read_identifiers, readable_identifiers
from analyzer.questions.audit.rule_plans import (
    _AUTH_LENGTH,
    _BODY,
    _CALL_ID,
    _FIXED,
    _LONGEST_STUB,
    _MOST_PLANS,
    _SEC_TRAILER,
    Plan,
    Plans,
    _is_read,
    _pdu,
    _split_judgements,
    _why_unreadable,
    about,
)
from analyzer.questions.audit.rule_registry import Reads, every_rule, select_rules
from analyzer.questions.audit.rule_verdicts import (
    At,
    Confidence,
    Outcome,
    Violation,
    failed,
    inconclusive,
    passed,
    warned,
)
from analyzer.questions.audit.rules.error_codes import status_violation
from analyzer.questions.audit.rules.identifiers import _chain
from analyzer.questions.audit.rules.names import text_flaw
from analyzer.questions.audit.server_statements import has_instances
from analyzer.questions.audit.stub_and_pdu_fields import (
    answer_counts,
    machine_name,
    problem_at,
    returned,
    validated_count,
)
from analyzer.results.calls.query_state import QueryView
from analyzer.results.methods.perflib import Opnum
from tests.build.buffers import identifier, perf_data, wide
from tests.build.calls import COUNTERSET, HANDLE, OTHER_HANDLE, Calls, analysis_of, winreg
from tests.build.rpc import PCQ, WINREG
from tests.written import Tables, held

TABLES = Tables()


def call_of(*events: Any) -> CallEvidence:
    return Evidence(analysis_of(*events)).call(len(events))


# ------------------------------------------------------------------------------------------------ which calls a rule reads

FAULTED = {"status": None, "fault": 5}
ANSWERED = ({}, {"status": None}, {"status": 5}, {"fault": 5}, FAULTED)
PARTS = ("response", "response.lpData", "request", "request.lpData")


def reading(*, code=1, status=0, fault=None, request=True, **sides):
    asked = {} if code is None else {"RequestCode": code}
    sides["request"] = sides.get("side", object() if request else None)
    return SimpleNamespace(asked=asked, status=status, fault=fault, opnum=6, unreadable={}, is_altered=False, **sides)


@TABLES.of(
    *({"codes": codes, **call} for codes, call in (((), {}), ((1, 2), {}), ((2,), {}))),
    # What cannot be known may be.
    *({"codes": (2,), **call} for call in ({"code": None}, {"request": False})),
    *({"success": True, **call} for call in ANSWERED),
    *({"failure": True, **call} for call in ANSWERED),
    # A fault answers no response.
    *({"parts": (part,), **FAULTED} for part in ("request", "response", "response.lpData")),
    {"parts": ("request.lpData", "response"), **FAULTED},
    {"parts": ("response",)},
)
def which_calls_a_rule_reads(codes=(), success=False, failure=False, parts=(), **call):
    reads = Reads(codes=codes, success=success, failure=failure, parts=parts)
    return "read" if _is_read(reads, reading(**call)) else "passed over"


def side(missing=None, *, problem=None, lp_data=None, damage=None, has_decoded=True):
    decoded = SimpleNamespace(problem=damage) if has_decoded else None
    return SimpleNamespace(side=SimpleNamespace(missing=missing, problem=problem, buffer_span=lp_data), buffer=decoded)


SIDES = {
    "none": None,
    "sealed": side(Missing.SEALED),
    "lost": side(Missing.NOT_CAPTURED),
    "off its layout": side(problem=1),
    "a buffer": side(lp_data=b"x"),
    "a buffer of unknown content": side(has_decoded=False, lp_data=b"x"),
    "a damaged buffer": side(lp_data=b"x", damage=1),
    "an empty buffer": side(),
}
# Other methods' buffers may be empty, and so may what failed return.
NOT_EMPTY = [{"status": 5}, {"opnum": 8}, {"opnum": int(Opnum.QUERY_COUNTER_SET_REGISTRATION_INFO)}]


@TABLES.of(
    *((part, made) for part in PARTS for made in SIDES),
    *(("response.lpData", "an empty buffer", facts) for facts in NOT_EMPTY),
)
def why_a_part_cannot_be_read(part, made, facts=None):
    """By a rule, and by one that is shown what is damaged. It is looked at once for all rules."""
    call = reading(side=SIDES[made], response=SIDES[made], status=(facts or {}).get("status", 0))
    call.opnum = (facts or {}).get("opnum", 6)
    found = []
    for damaged in (False, True):
        call.side, call.unreadable, reads = lambda name: SIDES[made], {}, Reads(parts=(part,), damaged=damaged)
        reason = _why_unreadable(reads, call)
        call.side = None
        assert _why_unreadable(reads, call) == reason
        assert call.unreadable == {(part, damaged): reason}
        found.append(reason or "it can")
    return " / ".join(dict.fromkeys(found))


@TABLES.of(
    *({name: True, "status": status} for name in ("success", "failure") for status in (None, 0)),
    *({name: True, **FAULTED} for name in ("success", "failure")),
    {"status": None},
    *({"codes": (1,), "code": code} for code in (None, 5)),
)
def why_it_is_not_known_whether_a_rule_reads_a_call(codes=(), success=False, failure=False, **call):
    made = reading(side=None, response=None, **call)
    return _why_unreadable(Reads(codes=codes, success=success, failure=failure), made) or "it is known"


def test_what_passed_and_what_cannot_be_stated_is_counted() -> None:
    done, doubts = Counter({"A": 1}), Counter[tuple[str, str]]()
    wrong = failed(call_of(Calls().open_query()), At("request"), "m", of="A")
    unknown = inconclusive("why", None, "A", "B")
    found = [passed("A"), wrong, passed("A", count=4), unknown, unknown, passed("B", count=2)]
    assert _split_judgements(found, done, doubts) == (wrong,)
    assert done == {"A": 6, "B": 2}
    assert doubts == {("A", "why"): 2, ("B", "why"): 2}


def test_a_verdict_on_a_call_is_one_on_calls_that_are_alike() -> None:
    first, second = (call_of(Calls().open_query()) for _ in range(2))
    verdict = failed(first, At("request"), "m", of="A")
    assert about(verdict, first) is verdict
    assert about(verdict, second).call is second
    assert about(passed("A"), second).call is None


def test_so_many_plans_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that was made first goes first; a plan is no other's whose handle held something else, or something twice, or whose
    answer names it."""
    assert (_MOST_PLANS, module._MOST_BYTES) == (1024, 4_194_304)
    monkeypatch.setattr(module, "_MOST_PLANS", 2)
    monkeypatch.setattr(module, "_MOST_BYTES", 30)
    monkeypatch.setattr(module, "likeness_of", lambda call: call.likeness)
    made: list[str] = []

    class Some(Plans):
        def _made(self, call: Any) -> Plan:
            made.append(call.likeness)
            return Plan((), (), (), call.likeness == "names", {}, {}, call.size, is_displaced=False)

    doubled: set[int] = set()
    knowledge = SimpleNamespace(is_doubled=lambda handle, call: handle in doubled)

    def ask(plans: Plans, likeness: str | None, size: int = 10, query: Any = None) -> bool:
        before = len(made)
        call: Any = SimpleNamespace(likeness=likeness, size=size, view=query, shared={}, number=1, knowledge=knowledge)
        plans.plan_of(call)
        return len(made) > before

    plans = Some((), {})
    assert [ask(plans, name) for name in "abab"] == [True, True, False, False]
    assert [ask(plans, name) for name in "cba"] == [True, False, True]
    assert [ask(plans, None), ask(plans, None)] == [True, True]
    first, other = (QueryView(name, number, {}, None, held=()) for number, name in enumerate((HANDLE, OTHER_HANDLE), 1))
    assert [ask(plans, "a", query=one) for one in (first, other, None)] == [True, False, False]
    assert ask(plans, "a", query=replace(first, held=None))
    doubled.add(other.number)
    assert [ask(plans, "a", query=one) for one in (other, other)] == [True, False]
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


# [MS-ERREF] 2.2 ends below 16000; the last that has a name is one of it.
@TABLES.of(0, 5, 15_999, 16_000, 0x7FFFFFFF, 0x80000000, 0xC0000022)
def a_status_is_of_the_win32_space(code):
    return status_violation(code)


# [MS-PCQ] 2.2.4.1: 4 and 12 aggregate over all instances.
@TABLES.of(None, 0, 2, 4, 6, 0x16, 1, 0x0C)
def whether_a_counterset_has_instances(kind):
    """One that is known, and another."""
    call = SimpleNamespace(catalog=SimpleNamespace(countersets={"a": SimpleNamespace(instance_type=kind)}))
    return [has_instances(call, "a"), has_instances(call, "b")]


def test_identifiers_are_those_of_a_side_that_can_be_read() -> None:
    def counts(call: Any) -> list[int]:
        return [len(readable_identifiers(side)) for side in (call.request, call.response)]

    named = identifier(COUNTERSET, name="ab")
    assert counts(call_of(Calls().open_query(), Calls(first_frame=9).validate(named))) == [1, 1]
    assert counts(call_of(Calls().counter_info(named + named))) == [0, 2]
    assert counts(call_of(Calls().open_query())) == [0, 0]
    assert counts(call_of(Calls().exchange(7, b"\1", None))) == [0, 0]


@TABLES.of((0, 0), (1, 0), (2, 9), (1, -1))
def sizes_lead_from_identifier_to_identifier(number, more):
    data = identifier(COUNTERSET) * number + b"x" * more
    data = data[: len(data) + min(more, 0)]
    call = call_of(Calls().counter_info(data))
    return [one.message or one.count for one in _chain(call, call.reply)]


def test_of_a_stub_that_does_not_decode_sizes_lead_nowhere():
    broken = call_of(Calls().exchange(7, b"\1", None))
    assert list(_chain(broken, broken.sent)) == [inconclusive("the request stub does not decode", broken)]


# ------------------------------------------------------------------------------------------------ numbers of stubs


def number_words(number):
    return f"{number.value} at {number.path}"


def stub_of(data, *, ndr64=False, big=False, name="response", layout=None, **more):
    side = SimpleNamespace(missing=None, big_endian=big, **more)
    call = SimpleNamespace(syntax="ndr64" if ndr64 else "ndr")
    return SimpleNamespace(
        captured=TracedBytes.of_frame(data, 1), call=call, side=side, name=name, layout=layout, stub=data
    )


@TABLES.of(
    *({"counts": "3I", "big": big, "cut": cut} for big in (False, True) for cut in (0, 1)),
    *({"counts": "3Q", "ndr64": True, "cut": cut} for cut in (0, 1)),
    {"counts": "3I", "missing": Missing.SEALED},
)
def counts_of_arrays_are_of_four_or_eight_bytes(counts, cut=0, big=False, ndr64=False, missing=None):
    """C706 14.3.3: maximum count, offset, actual count; in NDR64 each of eight bytes ([MS-RPCE] 2.2.5.3.2)."""
    data = bytes(8) + pack(f"{'>' if big else '<'}{counts}", 1, 2, 3)
    stub = stub_of(data[: len(data) - cut], ndr64=ndr64, big=big)
    stub.side.missing = missing
    found = answer_counts(stub)
    if found is None:
        return "none"
    return [*map(number_words, (found.max_count, found.offset, found.actual_count)), f"elements from {found.start}"]


@TABLES.of(
    *(("request", size) for size in (28, 27)),
    *(("response", size) for size in (4, 3)),
    *(("response", size, True) for size in (8, 7)),
)
def the_count_of_validated_identifiers_stands_behind_the_handle(name, size, ndr64=False):
    data = pack("<Q", 7) if ndr64 else pack("<I20sI", 7, b"", 9)
    found = validated_count(stub_of(data[:size], name=name, ndr64=ndr64))
    return "none" if found is None else number_words(found)


@TABLES.of(*((size, referent) for referent in (False, True) for size in (16, 17, 15, 11)))
def the_name_of_a_machine_is_as_long_as_its_count_says(size, referent):
    """Where it begins, and its bytes; behind a referent four bytes later."""
    data = (pack("<3I", 2, 0, 2) + wide("a") + b"xx")[:size]
    layout = SimpleNamespace(notes=("a referent",)) if referent else None
    found = machine_name(stub_of(bytes(4 * referent) + data, layout=layout))
    return "none" if found is None else [found[0].start, found[1]]


@TABLES.of(
    *(("x", *span) for span in ((4, 8), (0, 20), (0, 21), (8, 8), (None, 8), (8, None))),
    # Of a count that is wrong, the count alone.
    *(("x.max_count", 4, 20), ("x.actual_count", 4, 6), ("offset", 4, 20)),
)
def where_a_stub_goes_wrong(field, start, stop):
    found = problem_at(stub_of(bytes(20), problem=SimpleNamespace(field=f"request.{field}", start=start, stop=stop)))
    assert found == At("response", found.path)
    return found.path or "nowhere"


def test_a_stub_that_is_sound_goes_wrong_nowhere():
    assert problem_at(stub_of(bytes(20), problem=None)) == At("response")


@TABLES.of(None, 5, 0x7FFFFFF0)
def a_return_value_in_words(status):
    return returned(SimpleNamespace(status=status))


# ------------------------------------------------------------------------------------------------ texts


@TABLES.of(
    *(wide("ab") + behind for behind in (b"", bytes(6), bytes(7), b"x", bytes(8))),
    *(wide("ab")[:size] for size in (4, 5, 0)),
    *(b"a", bytes(2)),
)
def a_text_has_a_nul_and_little_behind_it(data):
    return text_flaw(data)


# Behind 16 bytes of headers stand "ab" at 16 and "c" at 22, whose NUL is at 24.
@TABLES.of(
    *((16, second) for second in (22, 24, 26, 0xFFFFFFFF)),
    *((first, 22) for first in (14, 17)),
    *((0, 6), (16, 22, 100, 15)),
)
def offsets_lead_to_strings(*offsets):
    """Where they count from, and which lead nowhere."""
    found = string_offsets(bytes(16) + wide("ab") + wide("c"), offsets, 16)
    assert found.counts_from_start is (found.base == 0)
    return [f"from {found.base}", found.lost]


# ------------------------------------------------------------------------------------------------ evidence


def fields(name, *children, spelling=""):
    return SimpleNamespace(name=name, spelling=spelling or name.upper(), children=children)


ROOT = fields("root", fields("leaf"), fields("wrap", fields("inner", fields("deep", spelling="dwDeep"))))


@TABLES.of("leaf", "LEAF", "wrap.inner.deep", "dwDeep", "wrap.dwDeep", "lost", "root", "wrap.lost", "wrap.lost.deep")
def a_path_leads_to_a_field_by_id_or_spelling_and_over_what_only_wraps(path):
    return getattr(_field_on_path(ROOT, path), "name", None)


@TABLES.of("stub[4:8]", "stub[4:800]", "pdu", "pdu.8:16", "pdu[1].80:99", "pdu[0].8:16", "pdu[2].8:16")
def bytes_without_a_name_are_places(path):
    call = call_of(Calls().exchange(6, bytes(60), None))
    assert call.place(At("response", path)) is None
    place = call.place(At("request", path))
    return "nowhere" if place is None else f"{place.part} {place.start}:{place.stop}"


def test_places_of_calls_that_are_alike_are_shared() -> None:
    """The bytes are each call's own, the place is looked for once; beyond a limit each time."""
    assert _MOST_SHARED == 256
    first, second = (call_of(Calls(first_frame=frame).exchange(6, bytes(60), None)) for frame in (1, 7))
    second.places = first.places
    at = At("request", "stub[4:8]")
    found = first.find(at)
    again = second.find(at)
    assert found is not None
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
    found = list(Audit(analysis_of(*events), rules=select_rules(every_rule(), ["PCQ717"], ())).findings())
    assert [finding.call for finding in found] == [2, 4, 6, 8, 10, 12, 14, 16]
    assert [finding.place is not None and finding.place.start for finding in found] == [0] * 8
    assert looked == ["hQuery"]


def test_findings_of_calls_that_are_alike_are_each_counted() -> None:
    """They have one pattern, and a call, frames and an occurrence each; what a baseline accepts is counted as well."""
    make = Calls()
    analysis = analysis_of(*(make.open_query(status=0) for _ in range(5)))
    audit = Audit(analysis, rules=select_rules(every_rule(), ["PCQ101"], ()))
    found = list(audit.findings())
    assert [finding.call for finding in found] == [1, 2, 3, 4, 5]
    assert len({id(finding.pattern) for finding in found}) == 1
    assert len({finding.frames for finding in found}) == 5
    assert [finding.of is not None and finding.judgement.call is finding.of for finding in found] == [True] * 5
    of = found[0].judgement.requirements
    assert [audit.coverage[one].counts[Outcome.FAILED] for one in of] == [5] * len(of)
    accepting = Audit(analysis, rules=audit._rules, baseline=[Accepted.of_finding(found[0])])
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


def test_of_a_pdu_all_but_call_id_and_body_makes_it_alike():
    """[MS-RPCE] 2.2.2.1, C706 12.6.3.1: auth_length at 10, call id at 12, 16 bytes of header; sec_trailer of 8 before the token."""
    assert (_AUTH_LENGTH, _CALL_ID, _BODY, _FIXED, _SEC_TRAILER, _LONGEST_STUB) == (10, 12, 16, 24, 8, 4096)
    for order, mark in (("<", 0x10), (">", 0)):
        head = bytes([5, 0, 0, 3, mark, 0, 0, 0]) + pack(f"{order}HH", 60, 4) + b"call"
        data = b"before" + head + b"hintopnm" + b"body" * 5 + b"trailer!" + b"sign"
        assert _pdu(data, 6, len(data)) == (head[:12], b"hintopnm", b"trailer!", 56)
        assert _pdu(data + b"next", 6, len(data)) == (head[:12], b"hintopnm", b"trailer!", 56)
        # A forged length: no more than there is.
        for stated, trailer in ((0, b""), (55, b"\5"), (56, b"")):
            forged = data[:16] + pack(f"{order}H", stated) + data[18:]
            assert _pdu(forged, 6, len(forged))[2] == trailer


# ------------------------------------------------------------------------------------------------ identifiers


def told(data):
    """The identifiers of a list (where each is and what its size would be by its name; its name, padding and NUL), and its flaw."""
    found = read_identifiers(data)
    blocks = [
        f"{one.at}+{one.size}~{one.natural_size} {one.name!a} {one.name_span[1]} {one.padding[1]} {int(one.has_nul)}"
        for one in found.blocks
    ]
    flaw = found.flaw
    return [*blocks, *([] if flaw is None else [f"{flaw.path} {flaw.span} {flaw.expected}; seen {flaw.seen}"])]


LISTED = identifier(COUNTERSET, name="ab") + identifier(COUNTERSET, counter=2) + identifier(COUNTERSET, name="abc")


# Wherever the list derails, the size that is not that of its name is the cause.
@TABLES.of((0, 0), *((0, by) for by in (-48, -4, 1, 4, 8)), *((88, by) for by in (1, 4, 8, -8)), (48, 8))
def identifiers_of_which_one_size_is_another(at, by):
    size = int.from_bytes(LISTED[at + 20 : at + 24], "little") + by
    return told(LISTED[: at + 20] + pack("<I", size & 0xFFFFFFFF) + LISTED[at + 24 :])


# An identifier whose name has no NUL.
NO_NUL = identifier(COUNTERSET)[:20] + pack("<5I", 44, 1, 0, 0, 0) + b"a\0b\0"


def bare(name):
    """An identifier that says 40 bytes, and is followed by its name."""
    whole = identifier(COUNTERSET, name=name)
    return whole[:20] + pack("<I", 40) + whole[24:]


BEHIND = {
    **{f"an identifier and {size} bytes": identifier(COUNTERSET) + b"\x41" * size for size in (0, 1, 39)},
    "a name whose size was left out": bare("ab"),
    # The list leads on behind the name, so the size of the identifier before it is what is wrong; else nobody knows.
    **{
        f"the name {name} whose size was left out, and {words}": bare(name) + behind
        for name in ("ab", "abc", "abcd", "abcdefg")
        for words, behind in (
            ("another identifier", identifier(COUNTERSET)),
            ("one of a wrong size", identifier(COUNTERSET)[:20] + pack("<I", 39) + bytes(16)),
        )
    },
    "a name without a NUL": NO_NUL + b"rest",
}


@TABLES.of(*BEHIND)
def what_is_left_behind_identifiers(name):
    return told(BEHIND[name])


def test_a_name_without_a_nul_has_room_up_to_its_end():
    (block,) = read_identifiers(NO_NUL + b"rest").blocks
    assert (block.name, block.has_nul, block.room) == ("ab", False, b"a\0b\0")


test_what_decides_on_a_call_is_as_was_read_through = held(__file__, TABLES)
