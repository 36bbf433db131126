"""A conversation in which nothing is wrong, with one of its calls altered: sealed, lost in part, repeated, elsewhere, refused.

`altered/` holds what all rules say then, a file a call: the findings with their calls and bytes; and of requirements that are
judged otherwise than in the sound conversation, how often, how and why.
"""

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from struct import pack
from textwrap import wrap
from typing import Any

import pytest
from msgspec.structs import replace

from analyzer.core.events import Event
from analyzer.questions.audit.audit_engine import Audit, Profile
from analyzer.results.connection import Channel
from analyzer.transport.rpc.exchange_maker import Exchange
from tests.build.calls import analysis_of, sealed, with_stub
from tests.build.rpc import CHANNEL
from tests.questions.audit.conversation import perflib
from tests.questions.audit.examples import sections
from tests.questions.audit.handles import bound, closed
from tests.written import is_as_written

ALTERED = Path(__file__).with_name("altered")
ELSEWHERE: Channel = replace(CHANNEL, number=CHANNEL.number + 1)
# Of calls of a kind, one: list, registration, string, table, instances, open, validate, info, data, remove, close.
ALONE = (0, 1, 3, 4, 5, 9, 10, 11, 12, 13, 15, 20)


def with_status(call: Exchange, status: int) -> Exchange:
    """The same answer, had its return value been another."""
    response: Any = call.response
    stub = response.pdus[0].plain
    return replace(call, response=with_stub(response, stub.replaced(stub.data[:-4] + pack("<I", status), "changed")))


def with_handle(call: Exchange, uuid: bytes) -> Exchange:
    """The same request, had it named another handle."""
    request: Any = call.request
    stub = request.pdus[0].plain
    if len(stub.data) < 24:
        return call
    return replace(call, request=with_stub(request, stub.replaced(stub.data[:4] + uuid + stub.data[20:], "changed")))


# What becomes of the calls, given all and the number of one.
Alteration = Callable[[list[Exchange], int], list[Exchange]]


def one(change: Callable[[Exchange], Exchange]) -> Alteration:
    return lambda calls, at: [*calls[:at], change(calls[at]), *calls[at + 1 :]]


ALTERATIONS: dict[str, Alteration] = {
    "sealed": one(sealed),
    "without-answer": one(lambda call: replace(call, response=None, state="request-only")),
    "without-question": one(lambda call: replace(call, request=None, state="response-only")),
    "left-out": lambda calls, at: [*calls[:at], *calls[at + 1 :]],
    "first": lambda calls, at: [calls[at], *calls[:at], *calls[at + 1 :]],
    "last": lambda calls, at: [*calls[:at], *calls[at + 1 :], calls[at]],
    "again": lambda calls, at: [*calls, calls[at]],
    "denied": one(lambda call: with_status(call, 5)),
    "too-small": one(lambda call: with_status(call, 8)),
    "not-found": one(lambda call: with_status(call, 0x1068)),
    "unknown-status": one(lambda call: with_status(call, 0x12345)),
    "handle": one(lambda call: with_handle(call, bytes(range(16)))),
    "null-handle": one(lambda call: with_handle(call, bytes(16))),
    "other-channel": one(lambda call: replace(call, channel=ELSEWHERE)),
    "unknown-opnum": one(lambda call: replace(call, opnum=8)),
    "ndr64": one(lambda call: replace(call, syntax="ndr64")),
    "without-interface": one(lambda call: replace(call, interface=None)),
}


def said(events: list[Event]) -> tuple[list[str], dict[str, str]]:
    """The findings, and of each requirement how often it was judged how."""
    audit = Audit(analysis_of(*events), profile=Profile.SPEC)
    findings = []
    for finding in audit.findings():
        judgement, place = finding.judgement, finding.place
        where = f"{place.start}:{place.stop}" if place is not None else "-"
        findings.append(
            f"#{finding.call} {finding.rule.code} {judgement.outcome.value} {judgement.requirement} {where}: "
            f"expected {judgement.expected}, seen {judgement.seen}"
        )
    counts = {}
    for name, coverage in audit.coverage.items():
        judged = ", ".join(f"{count} {one.value}" for one, count in sorted(coverage.counts.items()) if count)
        counts[name] = f"{judged} ({'; '.join(sorted(coverage.reasons))})" if coverage.reasons else judged
    return findings, counts


def around(calls: list[Exchange]) -> list[Event]:
    return [replace(bound(), offered=("ndr",)), *calls, closed()]


@cache
def sound() -> tuple[list[str], dict[str, str]]:
    return said(around(perflib()))


def differences(at: int, name: str) -> Iterator[str]:
    """What is said otherwise than of the sound conversation where one call is altered."""
    findings, counts = said(around(ALTERATIONS[name](perflib(), at)))
    yield from (line for line in findings if line not in sound()[0])
    alike: dict[str, list[str]] = {}
    for key, count in counts.items():
        if count != sound()[1][key]:
            alike.setdefault(count, []).append(key)
    yield from (f"{count or 'not judged'}: {sections(keys)}" for count, keys in alike.items())


def altered(at: int) -> Iterator[str]:
    """Each thing that is said, below all alterations that lead to it."""
    by_line: dict[str, list[str]] = {}
    for name in ALTERATIONS:
        for line in differences(at, name):
            by_line.setdefault(line, []).append(name)
    alike: dict[str, list[str]] = {}
    for line, names in by_line.items():
        alike.setdefault(", ".join(names), []).append(line)
    for names, lines in alike.items():
        yield from wrap(names, 128, break_on_hyphens=False)
        for line in lines:
            yield from wrap(line, 128, break_on_hyphens=False, initial_indent="  ", subsequent_indent="      ")


def test_nothing_is_wrong_with_the_conversation() -> None:
    assert sound()[0] == []


@pytest.mark.parametrize("at", ALONE)
def test_what_rules_say_of_a_conversation_with_one_call_altered(at: int) -> None:
    is_as_written(ALTERED / f"call-{at + 1}.txt", "".join(f"{line}\n" for line in altered(at)))
