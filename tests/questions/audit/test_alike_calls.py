"""Calls that are alike are judged together, and nobody can tell."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import json
from msgspec.structs import replace

from analyzer.core.events import Event
from analyzer.questions.audit.audit_engine import Audit
from analyzer.questions.audit.call_evidence import CallEvidence, Evidence
from analyzer.questions.audit.rule_plans import likeness_of
from analyzer.questions.audit.rule_registry import Level, Look, Reads, Rule
from analyzer.questions.audit.rule_verdicts import Outcome, Severity, passed
from analyzer.results.analysis import Analysis, Part
from analyzer.screens.views.audit import AuditView
from tests import truth
from tests.analyses import analysis_of_file
from tests.build.buffers import Block, Counter, Instance, PerfObject, identifier, perf_data, winperf
from tests.build.calls import COUNTERSET, HANDLE, OTHER_HANDLE, Calls, analysis_of, sealed, winreg
from tests.questions.audit.conversation import full_conversation, registry
from tests.questions.audit.registered import countersets

ALL = 0xFFFFFFFF
# One counter of each kind that a rule about values reads: a sample base, a large number, a counter by reference.
TYPES = {1: 0x40030401, 2: 0x00010100, 3: 0x00010100}
TIME_100NS = 133_541_156_967_890_000


def records(analysis: Analysis) -> list[bytes]:
    """Everything an audit prints."""
    return [json.encode(record) for record in AuditView(Audit(analysis)).records()]


def records_one_by_one(analysis: Analysis) -> list[bytes]:
    """The same where no call is like another."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("analyzer.questions.audit.rule_plans.likeness_of", lambda call: None)
        return records(analysis)


def data(values: Sequence[int], clocks: tuple[int, int, int] = (5, TIME_100NS, 10_000_000), **changes: object) -> bytes:
    """A data answer of one instance."""
    sizes = (4, 8, 8)
    held = tuple(value.to_bytes(size, "little") for value, size in zip(values, sizes, strict=True))
    block = Block(**{"kind": 6, "ids": tuple(TYPES), "instances": (("a", 0),), "values": (held,), **changes})
    return perf_data([block], clocks)


def polled(*answers: bytes) -> list[Event]:
    """A conversation that ends in these answers to polls of one handle."""
    calls = Calls(first_frame=100)
    held = identifier(COUNTERSET, counter=ALL, name="*")
    return [
        *countersets({COUNTERSET: (2, TYPES)}),
        calls.open_query(),
        calls.validate(held),
        calls.counter_info(held),
        *(calls.counter_data(answer) for answer in answers),
    ]


@pytest.mark.parametrize("keyed", [True, False])
@pytest.mark.parametrize(
    "name", ["pcq_smbd_scapy_impacket_smb311_ntlm_privacy_2clients.pcap", "v1_samba_impacket_smb311_ntlm_privacy.pcap"]
)
def test_captures_are_judged_as_if_no_call_were_like_another(name: str, keyed: bool) -> None:
    (capture,) = (one for one in truth.captures() if one.file == name)
    analysis = analysis_of_file(capture.file, is_keyed=keyed)
    assert records(analysis) == records_one_by_one(analysis)


def test_a_conversation_twice_is_judged_as_if_no_call_were_like_another() -> None:
    analysis = analysis_of(*full_conversation(), *registry(), *full_conversation(), *registry())
    assert records(analysis) == records_one_by_one(analysis)


moments = st.tuples(
    st.integers(0, 100), st.sampled_from([0, TIME_100NS, TIME_100NS + 10**7]), st.sampled_from([0, 10_000_000])
)
answers = st.builds(
    data,
    st.tuples(st.sampled_from([0, 1]), st.integers(0, 3), st.sampled_from([1, 0x7FF0_0000_1000])),
    moments,
    status=st.sampled_from([0, 5]),
    instances=st.sampled_from([(("a", 0),), (("b", 0),), (("a", 1),)]),
)


@settings(max_examples=25)
@given(st.lists(answers | st.binary(max_size=60), max_size=6))
def test_polls_are_judged_as_if_none_were_like_another(made: list[bytes]) -> None:
    analysis = analysis_of(*polled(*made))
    assert records(analysis) == records_one_by_one(analysis)


WINPERF = winperf([PerfObject(230, (Counter(6, 0x00010100, 8),), (Instance("a", -1, (0, 0), (7,)),))])
# Its clocks with PerfFreq (56 to 72), values, and numbers that decide on what follows.
CHANGES = st.sampled_from([(56, 8), (64, 8), (68, 1), (72, 8), (len(WINPERF) - 8, 8), (104, 4), (28, 1), (60, 4)])


@settings(max_examples=25)
@given(st.lists(st.tuples(CHANGES, st.sampled_from([0, 1, 255])), max_size=6))
def test_blocks_of_winperf_are_judged_as_if_none_were_like_another(changes: list[tuple[tuple[int, int], int]]) -> None:
    calls = winreg()
    reads = [calls.open_key(), calls.query_value("230", WINPERF)]
    for (at, size), byte in changes:
        reads.append(calls.query_value("230", WINPERF[:at] + bytes([byte] * size) + WINPERF[at + size :]))
    analysis = analysis_of(*reads)
    assert records(analysis) == records_one_by_one(analysis)


def test_blocks_of_winperf_of_one_layout_are_alike_unless_their_frequency_may_be_misplaced() -> None:
    def block(value: int, frequency: int, name: str = "a") -> bytes:
        instances = (Instance(name, -1, (0, 0), (value,) * 99),)
        clocks = (value, frequency, TIME_100NS)
        return winperf([PerfObject(230, (Counter(6, 0x00010100, 8),) * 99, instances)], clocks=clocks)

    calls = winreg()
    reads = [(1, 10), (2, 10), (2, 11), (2, 0), (2, 1 << 40), (2, 10, "b")]
    events = [calls.open_key(), *(calls.query_value("230", block(*read)) for read in reads)]
    first, second, *others = [likeness_of(call) for call in Evidence(analysis_of(*events)).calls()][1:]
    assert first == second
    assert first is not None
    assert others[1] is others[2] is None
    assert first not in others


def test_a_call_that_somebody_may_have_changed_is_like_no_other() -> None:
    make = Calls()
    polls = [make.counter_data(b"") for _ in range(3)]
    assert polls[1].smb is not None
    polls[1] = replace(polls[1], smb=replace(polls[1].smb, signature_ok=False))
    first, second, third = [likeness_of(call) for call in Evidence(analysis_of(*polls)).calls()]
    assert first == third != second


def asked(*events: Event, of_each: bool = False) -> list[int]:
    """The calls that a rule is asked about."""
    numbers: list[int] = []

    def check(call):
        numbers.append(call.number)
        return [passed("PCQ-6-R03")]

    look: Look[CallEvidence] = Look("call", check, ("PCQ-6-R03",), Reads((6,)), check, of_each=of_each)
    rule = Rule("TEST1", "a-test", Level.STUBS, Severity.ERROR, call=look)
    audit = Audit(analysis_of(*events), rules=[rule])
    list(audit.findings())
    assert audit.coverage["PCQ-6-R03"].counts[Outcome.PASSED] == sum(event.opnum == 6 for event in events)
    return numbers


def test_a_rule_about_layouts_is_asked_about_one_of_the_calls_that_are_alike() -> None:
    calls = Calls()
    polls = [calls.counter_data(data((1, number, 2), (number, TIME_100NS, 1))) for number in range(5)]
    assert asked(*polls) == [1]
    assert asked(*polls, of_each=True) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    "other",
    [
        lambda calls: calls.counter_data(data((1, 1, 1), status=5)),
        lambda calls: calls.counter_data(data((1, 1, 1), instances=(("b", 0),))),
        lambda calls: calls.counter_data(data((1, 1, 1)), status=8),
        lambda calls: calls.counter_data(data((1, 1, 1)), needed=1),
        lambda calls: calls.counter_data(data((1, 1, 1))[:-8]),
        lambda calls: sealed(calls.counter_data(data((1, 1, 1)))),
        lambda calls: Calls(level=6, first_frame=50).counter_data(data((1, 1, 1))),
        lambda calls: Calls(ndr64=True, first_frame=50).counter_data(data((1, 1, 1))),
    ],
    ids=["status-of-block", "instance", "status", "size", "damaged", "sealed", "secured", "ndr64"],
)
def test_calls_that_a_rule_may_tell_apart_are_not_alike(other) -> None:
    calls = Calls()
    first, second = Evidence(analysis_of(calls.counter_data(data((1, 1, 1))), other(calls))).calls()
    assert likeness_of(first) != likeness_of(second)


def test_calls_on_two_handles_are_alike_as_long_as_no_answer_names_the_handle() -> None:
    calls = Calls()
    handles = (HANDLE, OTHER_HANDLE)
    opened = [calls.open_query(handle) for handle in handles]
    polls = [calls.counter_data(data((1, 1, 1)), handle) for handle in handles]
    first, second = list(Evidence(analysis_of(*opened, *polls)).calls())[2:]
    assert likeness_of(first) == likeness_of(second)
    # A handle that is not set to zeros when it is closed is named in what is said of it.
    closed = [calls.exchange(4, calls.stub().handle(handle), calls.stub().handle(handle).uint(0)) for handle in handles]
    found = records(analysis_of(*opened, *polls, *closed))
    assert found == records_one_by_one(analysis_of(*opened, *polls, *closed))
    assert all(any(handle.encode() in one for one in found) for handle in handles)


def test_what_the_handle_holds_makes_a_difference() -> None:
    calls, held = Calls(), identifier(COUNTERSET, counter=ALL, name="*")
    opened = calls.open_query()
    poll = [calls.counter_data(data((1, 1, 1))), calls.validate(held), calls.counter_data(data((1, 1, 1)))]
    assert asked(opened, *poll) == [2, 4]


@pytest.mark.parametrize("limit", ["_MOST_PLANS", "_MOST_BYTES"])
def test_what_was_forgotten_is_judged_again(monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    analysis = analysis_of(*polled(*[data((1, 1, number)) for number in range(3)]))
    whole = records(analysis)
    monkeypatch.setattr(f"analyzer.questions.audit.rule_plans.{limit}", 0)
    assert records(analysis) == whole


def test_what_passed_is_counted_of_the_calls_that_were_asked_for() -> None:
    calls = Calls()
    analysis = analysis_of(*[calls.counter_data(data((1, number, 2))) for number in range(5)])
    part = replace(analysis, part=Part((2, 4), (), "two of them"))
    audit = Audit(part)
    list(audit.findings())
    assert audit.coverage["PCQ-2.2.4.8-R09"].counts[Outcome.PASSED] == 2
