"""A request is judged by the client's bytes: whatever it was answered, what is said of it is the same."""

import ast
import inspect
import sys
from collections.abc import Callable
from struct import pack

import pytest
from msgspec.structs import replace

from analyzer.core.events import Event
from analyzer.questions.audit.audit_engine import Audit, Profile
from analyzer.questions.audit.rule_registry import Level, Reads, Rule, catalogue, every_rule, of_calls, of_requests
from analyzer.questions.audit.rule_verdicts import Actor, At, Outcome, Severity, failed, passed
from analyzer.results.security import AuthLevel
from analyzer.transport.rpc.exchange_maker import Exchange
from tests.build.buffers import Ndr, identifier
from tests.build.calls import COUNTERSET, HANDLE, MACHINE, OTHER_COUNTERSET, Calls, analysis_of
from tests.questions.audit.handles import bound, closed
from tests.questions.audit.methods import TRAILER, patched
from tests.questions.audit.registered import countersets, instances
from tests.questions.audit.test_altered_calls import with_status

REFUSED, FAULT = 87, 0x6F7


def refused(call: Exchange) -> Exchange:
    return with_status(call, REFUSED)


def faulted(call: Exchange) -> Exchange:
    made = Calls(level=AuthLevel.NONE).exchange(0, b"", b"", fault=FAULT)
    assert made.response is not None
    return replace(call, response=made.response, fault=FAULT)


def unanswered(call: Exchange) -> Exchange:
    return replace(call, response=None, state="request-only")


# What comes before a request of which something is wrong, and this request, answered with success.
Made = tuple[list[Exchange], Exchange]


def validated(*identifiers: bytes, add: int = 1, calls: Calls | None = None) -> Made:
    calls = calls or Calls()
    known = [*countersets({COUNTERSET: (2, {1: 0x10000}), OTHER_COUNTERSET: (0, {1: 0x10000})}, calls)]
    return [*known, calls.open_query()], calls.validate(b"".join(identifiers), add=add)


def validated_with(asked: Callable[[Ndr], Ndr]) -> Made:
    calls = Calls()
    return [calls.open_query()], calls.exchange(
        7, asked(calls.stub().handle(HANDLE)), calls.stub().conformant(b"").uint(0)
    )


def alone(make: Callable[[Calls], Exchange], calls: Calls | None = None) -> Made:
    return [], make(calls or Calls())


def sized(calls: Calls, stub: Ndr) -> Exchange:
    return calls.exchange(0, stub, calls.sized(b"", room=0))


def padded(calls: Calls) -> Exchange:
    """More padding than the PDU of its request has bytes."""
    call = calls.open_query()
    return replace(call, request=patched(call.request, TRAILER + 2, b"\x28"))


def off_its_layout(calls: Calls) -> Exchange:
    return sized(calls, calls.stub().string(MACHINE).uint(0).uint(1).uint(2))


def aggregated(calls: Calls) -> Made:
    known = [*countersets({COUNTERSET: (4, {1: 0x10000})}, calls), instances({0: "a", 1: "b"}, calls)]
    return [*known, calls.open_query()], calls.validate(identifier(COUNTERSET, name="a"))


def never_listed(calls: Calls) -> Made:
    known = [*countersets({COUNTERSET: (2, {1: 0x10000})}, calls), instances({0: "a"}, calls), calls.open_query()]
    return known, calls.validate(identifier(COUNTERSET, instance=9, name="a"))


def size_of_a_failure(calls: Calls) -> Made:
    asked = calls.stub().handle(HANDLE).uint(12345)
    before = [calls.open_query(), calls.counter_data(b"", status=5, needed=12345)]
    return before, calls.exchange(6, asked, calls.sized(b"", room=12345))


PRESET = bytearray(identifier(COUNTERSET, name="a"))
PRESET[36] = 1
ODD = bytearray(identifier(COUNTERSET, name="ab") + b"\0")
ODD[20] = len(ODD)
BIG = pack(">16s6I", bytes(16), 0, 40, 1, 0, 0, 0)
VIOLATIONS: dict[str, Callable[[], Made]] = {
    "PCQ101": lambda: alone(lambda calls: calls.open_query()),
    "PCQ103": lambda: alone(lambda calls: calls.open_query(), Calls(level=6, auth_type=99)),
    "PCQ105": lambda: alone(padded, Calls(level=6)),
    "PCQ201": lambda: alone(off_its_layout),
    "PCQ203": lambda: alone(
        lambda calls: calls.exchange(4, calls.stub().handle(HANDLE, 1), calls.stub().handle(HANDLE).uint(0))
    ),
    "PCQ204": lambda: validated_with(lambda stub: stub.uint(8).conformant(bytes(4)).uint(1)),
    "PCQ208": lambda: alone(lambda calls: sized(calls, calls.stub().array("a".encode("utf-16-le"), 1, 2).uint(0))),
    "PCQ210": lambda: alone(lambda calls: calls.registration(11, b"")),
    "PCQ215": lambda: alone(lambda calls: sized(calls, calls.stub().string(MACHINE).uint(257))),
    "PCQ217": lambda: validated(identifier(COUNTERSET, name="a"), add=2),
    "PCQ311": lambda: validated(identifier(COUNTERSET)),
    "PCQ337": lambda: alone(lambda calls: calls.registration(9, b"", lcid=0x409)),
    "PCQ401": lambda: validated(identifier(COUNTERSET, name="a")[:-3]),
    "PCQ405": lambda: validated(bytes(ODD)),
    "PCQ410": lambda: validated(identifier(COUNTERSET)),
    "PCQ412": lambda: validated(identifier(OTHER_COUNTERSET, name="a")),
    "PCQ415": lambda: validated(bytes(ODD)),
    "PCQ420": lambda: validated(bytes(PRESET)),
    "PCQ440": lambda: never_listed(Calls()),
    "PCQ455": lambda: aggregated(Calls()),
    "PCQ530": lambda: validated(bytes(ODD), identifier(COUNTERSET, name="a")),
    "PCQ531": lambda: validated(BIG),
    "PCQ561": lambda: size_of_a_failure(Calls()),
    "PCQ712": lambda: alone(lambda calls: calls.counter_data(b"")),
    "PCQ717": lambda: alone(lambda calls: calls.counter_data(b"")),
}


def said(code: str, events: list[Event]) -> list[tuple[object, ...]]:
    """What a rule says of clients."""
    (rule,) = (rule for rule in every_rule() if rule.code == code)
    found = Audit(analysis_of(*events), profile=Profile.SPEC, rules=[rule]).findings()
    return [
        (one.judgement.requirements, one.judgement.outcome, one.call, one.judgement.at, one.judgement.seen, one.frames)
        for one in found
        if one.actor is Actor.CLIENT
    ]


def test_every_rule_about_requests_has_a_violation() -> None:
    about_requests = {rule.code for rule in every_rule() if rule.request is not None}
    assert about_requests <= set(VIOLATIONS)


@pytest.mark.parametrize("code", VIOLATIONS)
def test_a_violation_is_one_whatever_it_was_answered(code: str) -> None:
    before, call = VIOLATIONS[code]()
    around: list[Event] = [bound(), *before]
    expected = said(code, [*around, call, closed()])
    assert expected
    for answer in (refused, faulted, unanswered):
        assert said(code, [*around, answer(call), closed()]) == expected, answer.__name__


@pytest.mark.parametrize("answer", [refused, faulted, unanswered])
def test_a_client_closed_its_handle_whatever_it_was_answered(answer: Callable[[Exchange], Exchange]) -> None:
    calls = Calls()
    assert said("PCQ716", [bound(), calls.open_query(), closed()])
    assert not said("PCQ716", [bound(), calls.open_query(), answer(calls.close_query()), closed()])


def test_what_binds_the_client_alone_is_judged_of_requests() -> None:
    """Unless the rule says why the answer is needed."""
    for rule in every_rule():
        look = rule.call
        if look is not None and look.needs_answer is None:
            assert not [name for name in look.requirements if catalogue()[name].actor == "client"], rule.code


def test_a_rule_about_requests_does_not_reach_for_the_answer() -> None:
    for rule in every_rule():
        look = rule.request
        if look is not None:
            tree = ast.parse(inspect.getsource(sys.modules[look.made.__module__]))
            assert "whole" not in {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


def test_a_rule_that_reads_answers_is_none_about_requests() -> None:
    for reads in (Reads(success=True), Reads(failure=True), Reads(parts=("response.lpData",))):
        with pytest.raises(ValueError, match="a look at requests reads answers"):
            of_requests("PCQ-2.1-R04", reads)


@pytest.mark.parametrize("reason", [None, "a reason"])
def test_a_rule_that_accuses_a_client_by_the_answer_ends_the_audit(reason: str | None) -> None:
    client = "PCQ-2.1-R04"
    rule = Rule("PCQ999", "a-rule", Level.STUBS, Severity.ERROR)
    rule.also(of_calls(client, Reads(), needs_answer=reason)(lambda call: [failed(call, At("request"), "m")]))
    audit = Audit(analysis_of(Calls().open_query()), rules=[rule])
    if reason is None:
        with pytest.raises(AssertionError, match="PCQ999 judges a client together with the answer"):
            list(audit.findings())
    else:
        assert [one.judgement.outcome for one in audit.findings()] == [Outcome.FAILED]
    assert passed(client).call is None
