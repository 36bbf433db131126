"""A counterset, or a client's use of it, contradicts its declared instance type.

Looks for: more than one instance listed for a single-instance counterset; instances without names in one with many;
aggregate countersets none of whose counters has an aggregate function; identifiers without an instance name for a counterset
with many instances.

Why it matters: the instance type decides how identifiers are made, how answers are laid out, and what the client aggregates.

Specification: [MS-PCQ] section 2.2.4.1, InstanceType: 0 is a single instance, 2 many, 4 a global aggregate over all, 6 an
aggregate over those the client picks, 0xC a global one with the values of instances that are gone. A client handles single
and many differently.

Flagged: InstanceType 0, and two instances in the answer of EnumerateCounterSetInstances.

Accepted: an identifier with a name for a single-instance counterset: the text and perflib.h disagree about it.

Silent: where the registration of the counterset is not in the capture.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.checks import ASKED, NO_REGISTRATION
from analyzer.questions.audit.evidence import AskedEvidence, CallEvidence
from analyzer.questions.audit.rule import Level, Reads, Rule
from analyzer.questions.audit.verdicts import At, Confidence, Judgement, OfCall, Severity, failed, inconclusive, passed
from analyzer.results.perflib import Opnum, RequestCode

SINGLE, MULTIPLE, CLIENT = "PCQ-2.2.4.1-R08", "PCQ-2.2.4.1-R09", "PCQ-2.2.4.1-R14"
# By InstanceType: the requirement about aggregation.
_AGGREGATES = {0x4: "PCQ-2.2.4.1-R10", 0x6: "PCQ-2.2.4.1-R11", 0xC: "PCQ-2.2.4.1-R12"}
_SINGLE = 0x0

RULE = Rule("PCQ311", "instance-type-contradicted", Level.SEQUENCES, Severity.ERROR)


@RULE.calls(
    (SINGLE, MULTIPLE, *_AGGREGATES.values()),
    Reads((Opnum.QUERY_COUNTER_SET_REGISTRATION_INFO, Opnum.ENUMERATE_COUNTER_SET_INSTANCES), ("request", "response")),
    by_method={
        Opnum.QUERY_COUNTER_SET_REGISTRATION_INFO: tuple(_AGGREGATES.values()),
        Opnum.ENUMERATE_COUNTER_SET_INSTANCES: (SINGLE, MULTIPLE),
    },
)
def check(call: CallEvidence) -> Iterator[Judgement]:
    if call.opnum == Opnum.QUERY_COUNTER_SET_REGISTRATION_INFO:
        yield from _aggregation(call)
    else:
        yield from _instances(call)


def _type_of(call: OfCall, counterset: str) -> int | None:
    entry = call.catalog.countersets.get(counterset)
    return entry.instance_type if entry is not None else None


def _aggregation(call: CallEvidence) -> Iterator[Judgement]:
    if call.asked.get("RequestCode") != RequestCode.COUNTERSET_STRUCT or call.status != 0 or call.response is None:
        return
    tree = call.response.tree
    requirement = _AGGREGATES.get(tree.get("instance_type", _SINGLE))
    counters = tree.get("counters", ())
    if requirement is None or not counters:
        return
    if any(1 <= counter.get("aggregate_func", 0) <= 4 for counter in counters):
        yield passed(requirement)
        return
    yield failed(
        requirement,
        call,
        At("response", "lpData.instance_type"),
        "an aggregate counterset has no counter with an aggregate function",
        expected="AggregateFunc 1 to 4 in some counter",
        seen="0 in all",
        confidence=Confidence.MEDIUM,
    )


def _instances(call: CallEvidence) -> Iterator[Judgement]:
    if call.status != 0 or call.response is None:
        return
    if call.response.buffer is not None and call.response.buffer.problem is not None:
        yield inconclusive(SINGLE, "the buffer of the response is damaged", call)
        yield inconclusive(MULTIPLE, "the buffer of the response is damaged", call)
        return
    kind = _type_of(call, call.asked.get("CounterSetGuid", ""))
    instances = call.response.tree.get("instances", ())
    if kind is None:
        yield inconclusive(SINGLE, NO_REGISTRATION, call)
        yield inconclusive(MULTIPLE, NO_REGISTRATION, call)
    elif kind == _SINGLE:
        if len(instances) <= 1:
            yield passed(SINGLE)
        else:
            message = "a single-instance counterset has several instances"
            at = At("response", "lpData.instances[1]")
            yield failed(SINGLE, call, at, message, expected="at most 1", seen=str(len(instances)))
    else:
        for number, instance in enumerate(instances):
            if instance.get("name"):
                yield passed(MULTIPLE)
            else:
                message = "an instance of a counterset with many has no name"
                at = At("response", f"lpData.instances[{number}]")
                yield failed(MULTIPLE, call, at, message, expected="a name", seen="none")


@RULE.requests((CLIENT,), ASKED)
def asked(call: AskedEvidence) -> Iterator[Judgement]:
    assert call.request is not None
    for number, identifier in enumerate(call.request.tree.get("identifiers", ())):
        kind = _type_of(call, identifier.get("counterset_guid", ""))
        if kind is None:
            yield inconclusive(CLIENT, NO_REGISTRATION, call)
        elif kind == _SINGLE or identifier.get("name"):
            yield passed(CLIENT)
        else:
            message = "an identifier for a counterset with many instances has no instance name"
            at = At("request", f"lpData.identifiers[{number}]")
            yield failed(CLIENT, call, at, message, expected="a name, or *", seen="none")
