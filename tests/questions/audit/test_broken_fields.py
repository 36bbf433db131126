"""Every field of well-formed messages, broken in each way the catalogue forbids: the responsible rule speaks, no unrelated one.

`TABLE` has for each field in which ways it can be broken, which rule has to say so, and which others may, because what they
judge is broken by it too: a counterset registered under another id makes a later answer name a counter that is not registered.
`UNSEEN` lists the fields that can hold anything, or are broken elsewhere, with the reason. A field that is in neither
fails the test: whoever adds to the full_conversation has to say what may not be done to it.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product

import pytest
from msgspec.structs import replace

from analyzer.core.events import Event
from analyzer.interfaces.buffers.field_map import Field
from analyzer.questions.audit.audit_engine import Audit
from analyzer.questions.audit.call_evidence import Evidence
from analyzer.questions.audit.findings_and_coverage import Finding
from analyzer.transport.rpc.exchange_maker import Exchange
from tests.build.calls import analysis_of, with_stub
from tests.questions.audit import examples
from tests.questions.audit.conversation import full_conversation

Change = Callable[[bytes], bytes]


def to(value: int) -> Change:
    return lambda raw: (value % (1 << 8 * len(raw))).to_bytes(len(raw), "little")


def by(difference: int) -> Change:
    return lambda raw: to(int.from_bytes(raw, "little") + difference)(raw)


def endless(raw: bytes) -> bytes:
    """Without a NUL."""
    return b"x\0" * (len(raw) // 2)


def flipped(raw: bytes) -> bytes:
    return bytes(byte ^ 0x5A for byte in raw)


@dataclass(frozen=True)
class Broken:
    """Ways to break a field: `caught_by` has to speak (one of them, where it depends on what stands beside), `also` may."""

    ways: tuple[Change, ...]
    caught_by: str
    also: str = ""


def broken(*ways: Change, by_rule: str, also: str = "") -> Broken:
    return Broken(ways, by_rule, also)


NO_WIN32 = 0xC0000034
# What follows from counters or handles that are not what they were stated to be.
LISTS = "PCQ435 PCQ445 PCQ546 PCQ720"

TABLE: dict[str, tuple[Broken, ...]] = {
    r"[0123]\.request\.machine\.string\.max_count": (
        broken(by(-1), by_rule="PCQ201", also="PCQ122"),
        broken(by(1), by_rule="PCQ208"),
    ),
    r"[0123]\.request\.machine\.string\.offset": (broken(to(1), by_rule="PCQ201", also="PCQ122"),),
    r"[0123]\.request\.machine\.string\.actual_count": (
        # Everything behind it is then read from two bytes before.
        broken(by(-1), by_rule="PCQ208", also="PCQ123 PCQ204 PCQ210 PCQ215 PCQ701 PCQ702"),
        broken(by(1), by_rule="PCQ201", also="PCQ122"),
    ),
    r"[0123]\.request\.machine\.string\.data": (broken(endless, by_rule="PCQ208"),),
    r"[01256]\.request\.in_size": (
        broken(to(NO_WIN32), by_rule="PCQ215", also="PCQ123 PCQ204"),
        broken(by(-8), by_rule="PCQ204"),
    ),
    r"7\.request\.in_size": (
        broken(to(NO_WIN32), by_rule="PCQ215", also="PCQ122 PCQ123 PCQ204"),
        broken(by(8), by(-8), by_rule="PCQ204", also="PCQ122"),
    ),
    r"[01256]\.response\.out_size": (broken(by(8), by(-1), by_rule="PCQ206", also="PCQ204"),),
    r"[01256]\.response\.rtn_size": (broken(by(8), by(-1), by_rule="PCQ206"),),
    r"[01256]\.response\.lp_data\.max_count": (broken(by(8), by(-1), by_rule="PCQ204"),),
    r"[01256]\.response\.lp_data\.offset": (broken(to(8), by_rule="PCQ204"),),
    r"[01256]\.response\.lp_data\.actual_count": (
        broken(by(8), by_rule="PCQ204", also="PCQ202"),
        broken(by(-1), by_rule="PCQ204", also="PCQ202 PCQ220 PCQ301 PCQ341 PCQ402 PCQ501 PCQ506"),
    ),
    r"7\.request\.lp_data\.max_count": (broken(by(8), by_rule="PCQ201", also="PCQ122 PCQ204"),),
    r"7\.response\.lp_data\.max_count": (broken(by(8), by_rule="PCQ204", also="PCQ202"),),
    r"\d\.response\.status": (
        broken(to(NO_WIN32), by_rule="PCQ220", also=f"PCQ562 PCQ710 PCQ712 PCQ713 PCQ716 PCQ717 {LISTS}"),
    ),
    r"\d\.(request|response)\.query_handle\.attributes": (broken(to(1), by_rule="PCQ203", also="PCQ711"),),
    r"[567]\.request\.query_handle\.uuid": (
        broken(flipped, by_rule="PCQ712|PCQ713", also=f"PCQ714 PCQ717 PCQ545 {LISTS}"),
    ),
    r"4\.request\.query_handle\.uuid": (broken(flipped, by_rule="PCQ712|PCQ713", also="PCQ716 PCQ717"),),
    r"3\.response\.query_handle\.uuid": (broken(flipped, by_rule="PCQ712|PCQ713", also="PCQ716 PCQ717"),),
    r"4\.response\.query_handle\.uuid": (broken(flipped, by_rule="PCQ711"),),
    r"1\.request\.counterset_guid": (broken(flipped, by_rule="PCQ702", also="PCQ303 PCQ339 PCQ718"),),
    r"2\.request\.counterset_guid": (broken(flipped, by_rule="PCQ702", also="PCQ303 PCQ704"),),
    r"1\.request\.request_code": (broken(to(0), to(11), by_rule="PCQ210", also="PCQ701"),),
    r"1\.request\.request_lcid": (broken(to(0x407), by_rule="PCQ337"),),
    r"7\.request\.add": (broken(to(2), by_rule="PCQ217"), broken(to(0), by_rule="PCQ435", also=f"PCQ217 {LISTS}")),
}

UNSEEN = {
    r"\d+\.(request|response)\.(.*\.)?align_\w+": "bytes that align have no meaning",
    r"\d+\.(request|response)\.lp_data\.data": "each word of buffers is changed in `sweeps`",
}


# ------------------------------------------------------------------------------------------------- the machinery


@dataclass(frozen=True)
class Leaf:
    """A field of one message: which event and side, its path behind opnum and side, and its bytes in the stub."""

    event: int
    side: str
    key: str
    start: int
    stop: int


@cache
def conversation() -> tuple[Event, ...]:
    return tuple(full_conversation())


@cache
def _leaves() -> dict[str, Leaf]:
    """Of each field the first there is; of data answers, whose clocks are judged between two, the second."""
    found: dict[str, list[Leaf]] = {}
    by_id = {event.call_id: number for number, event in enumerate(conversation()) if isinstance(event, Exchange)}
    for call in Evidence(analysis_of(*conversation())).calls():
        for side in (call.request, call.response):
            assert side.stub_fields is not None
            for path, field in _ends(side.stub_fields):
                key = f"{call.opnum}.{side.name}{path}"
                leaf = Leaf(by_id[call.decoded.call_id], side.name, key, field.start, field.stop)
                found.setdefault(key, []).append(leaf)
    return {key: leaves[min(key.startswith("6."), len(leaves) - 1)] for key, leaves in found.items()}


def _ends(field: Field, path: str = "") -> Iterator[tuple[str, Field]]:
    for child in field.children:
        yield from _ends(child, f"{path}.{child.name}") if child.children else [(f"{path}.{child.name}", child)]


def _found(events: tuple[Event, ...]) -> list[Finding]:
    return list(Audit(analysis_of(*events)).findings())


def _reported(events: tuple[Event, ...]) -> set[str]:
    return {finding.rule.code for finding in _found(events)}


def _mutated(leaf: Leaf, change: Change) -> tuple[Event, ...] | None:
    """The conversation with one field changed; None where the change changes nothing."""
    event = conversation()[leaf.event]
    assert isinstance(event, Exchange)
    message = event.request if leaf.side == "request" else event.response
    stub = bytes(message.stub.data)
    raw = stub[leaf.start : leaf.stop]
    changed = change(raw)
    assert len(changed) == len(raw)
    if changed == raw:
        return None
    stub = stub[: leaf.start] + changed + stub[leaf.stop :]
    moved = replace(event, **{leaf.side: with_stub(message, message.stub.replaced(stub, "mutated"))})
    return (*conversation()[: leaf.event], moved, *conversation()[leaf.event + 1 :])


def _first(patterns: Iterable[str], key: str) -> str | None:
    return next((pattern for pattern in patterns if re.fullmatch(pattern, key)), None)


def test_every_field_is_broken_or_listed() -> None:
    unknown = [key for key in _leaves() if _first((*TABLE, *UNSEEN), key) is None]
    assert not unknown, f"say in TABLE or UNSEEN what may not be done to: {unknown}"


@pytest.mark.parametrize("pattern", TABLE)
def test_the_responsible_rule_speaks_and_no_other(pattern: str) -> None:
    wrong = []
    made = 0
    for leaf, (position, way) in product(_leaves().values(), enumerate(TABLE[pattern])):
        for number, change in enumerate(way.ways if re.fullmatch(pattern, leaf.key) else ()):
            events = _mutated(leaf, change)
            if events is None:
                continue
            made += 1
            responsible, related = set(way.caught_by.split("|")), set(way.also.split())
            found = _found(events)
            reported = {finding.rule.code for finding in found}
            blamed = [finding for finding in found if finding.rule.code in responsible]
            examples.check(blamed, name=f"{leaf.key} {position}.{number}")
            if not reported & responsible or reported - responsible - related:
                wrong.append(f"{leaf.key}, way {number} of {way.caught_by}: reported by {sorted(reported)}")
    assert made, "no field of the conversation is broken by this"
    assert not wrong, "\n".join(wrong)


# What is behind a cut was read before it: these rules see what is left of it.
CUT = "PCQ122 PCQ204 PCQ206 PCQ217 PCQ220 PCQ401 PCQ402 PCQ430 PCQ705 PCQ710 PCQ712 PCQ713 PCQ716 PCQ717"


@pytest.mark.parametrize("change", [-4, 8], ids=["cut", "longer"])
def test_a_stub_of_another_length_is_reported(change: int) -> None:
    wrong = []
    for number, event in enumerate(conversation()):
        if not isinstance(event, Exchange):
            continue
        for side, code in (("request", "PCQ201"), ("response", "PCQ202")):
            message = event.request if side == "request" else event.response
            stub = bytes(message.stub.data)
            stub = stub[:change] if change < 0 else stub + bytes(change)
            moved = replace(event, **{side: with_stub(message, message.stub.replaced(stub, "mutated"))})
            reported = _reported((*conversation()[:number], moved, *conversation()[number + 1 :]))
            if code not in reported or reported - {code, *CUT.split(), *LISTS.split()}:
                wrong.append(f"{side} of opnum {event.opnum}, call {event.call_id}: {sorted(reported)}")
    assert not wrong, "\n".join(wrong)
