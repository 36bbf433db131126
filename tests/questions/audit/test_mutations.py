"""Every field of well-formed messages, broken in each way the catalogue forbids: the responsible rule speaks, no unrelated one.

`TABLES` describe each field in which ways it can be broken, which rule has to say so, and which others may, because what they
judge is broken by it too: a counterset registered under another id makes a later answer name a counter that is not registered.
`UNSEEN` lists the fields that can hold anything, or whose breaking no traffic shows, with the reason. A field that is in neither
fails the test: whoever adds to the full_conversation has to say what may not be done to it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product

import pytest
from msgspec.structs import replace

from analyzer.core.events import Event
from analyzer.interfaces.buffers import Field
from analyzer.questions.audit.call_evidence import Evidence, SideEvidence
from analyzer.questions.audit.engine import Audit
from analyzer.questions.audit.findings import Finding
from analyzer.transport.rpc.exchange import Exchange
from tests.build.calls import analysis_of, with_stub
from tests.questions.audit import examples
from tests.questions.audit.conversation import full_conversation

Change = Callable[[bytes], bytes]


def to(value: int) -> Change:
    return lambda raw: (value % (1 << 8 * len(raw))).to_bytes(len(raw), "little")


def by(difference: int) -> Change:
    return lambda raw: to(int.from_bytes(raw, "little") + difference)(raw)


def text(value: str) -> Change:
    """The beginning, in UTF-16; what follows stays."""
    return lambda raw: value.encode("utf-16-le", "surrogatepass").ljust(len(raw), b"\0")[: len(raw)]


def endless(raw: bytes) -> bytes:
    """Without a NUL."""
    return b"x\0" * (len(raw) // 2)


def flipped(raw: bytes) -> bytes:
    return bytes(byte ^ 0x5A for byte in raw)


@dataclass(frozen=True)
class Broken:
    """Ways to break a field: `caught_by` has to speak (one of them, where it depends on what stands beside), `also` may.

    `where` narrows them to some paths.
    """

    ways: tuple[Change, ...]
    caught_by: str
    also: str = ""
    where: str = ""


def broken(*ways: Change, by_rule: str, also: str = "", where: str = "") -> Broken:
    return Broken(ways, by_rule, also, where)


NO_WIN32 = 0xC0000034
# What follows from counters or handles that are not what they were stated to be.
LISTS = "PCQ435 PCQ445 PCQ546 PCQ720"

STUBS: dict[str, tuple[Broken, ...]] = {
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
    r"1\.request\.request_lcid": (broken(to(0x407), by_rule="PCQ337", where="^request_lcid$"),),
    r"7\.request\.add": (broken(to(2), by_rule="PCQ217"), broken(to(0), by_rule="PCQ435", also=f"PCQ217 {LISTS}")),
}

IDENTIFIERS: dict[str, tuple[Broken, ...]] = {
    r"7\.request\.lpData\.identifiers\.counterset_guid": (broken(flipped, by_rule="PCQ430", also=LISTS),),
    r"7\.request\.lpData\.identifiers\.status": (broken(to(5), by_rule="PCQ420"),),
    r"7\.request\.lpData\.identifiers\.size": (
        broken(to(0), to(39), by_rule="PCQ401", also="PCQ705"),
        broken(to(1 << 31), by(8), by(-8), by_rule="PCQ401", also="PCQ410 PCQ705"),
        broken(by(1), by_rule="PCQ401", also="PCQ405 PCQ415"),
    ),
    r"7\.request\.lpData\.identifiers\.counter_id": (
        broken(to(99), by_rule="PCQ435", also="PCQ430"),
        broken(to(2), by_rule="PCQ430", also="PCQ435"),
    ),
    r"7\.request\.lpData\.identifiers\.instance_id": (broken(to(99), by_rule="PCQ430", also="PCQ440"),),
    r"7\.request\.lpData\.identifiers\.index": (broken(to(3), by_rule="PCQ420"),),
    r"7\.request\.lpData\.identifiers\.reserved": (broken(to(1), by_rule="PCQ420", also="PCQ430"),),
    r"7\.request\.lpData\.identifiers\.name": (
        broken(text("z"), by_rule="PCQ430", also="PCQ412 PCQ435"),
        broken(text("\ud800"), by_rule="PCQ405", also="PCQ412 PCQ430 PCQ435"),
    ),
    r"7\.response\.lpData\.identifiers\.counterset_guid": (broken(flipped, by_rule="PCQ430", also=LISTS),),
    r"7\.response\.lpData\.identifiers\.status": (
        broken(to(NO_WIN32), to(5), by_rule="PCQ425", also=LISTS),
        broken(to(0x106A), to(0x1068), by_rule="PCQ435", also=LISTS),
        # A wildcard may be the same counter as what it covers, and not every counterset has instances.
        broken(to(0xB7), to(3), by_rule="PCQ435|PCQ445", also=LISTS),
    ),
    r"7\.response\.lpData\.identifiers\.size": (
        broken(to(0), to(39), to(1 << 31), by(8), by(-8), by_rule="PCQ402"),
        broken(by(1), by_rule="PCQ402", also="PCQ405 PCQ415"),
    ),
    r"7\.response\.lpData\.identifiers\.counter_id": (broken(to(99), to(2), by_rule="PCQ430", also=LISTS),),
    r"7\.response\.lpData\.identifiers\.instance_id": (broken(to(99), by_rule="PCQ430", also=LISTS),),
    r"7\.response\.lpData\.identifiers\.reserved": (broken(to(1), by_rule="PCQ430"),),
    r"7\.response\.lpData\.identifiers\.name": (
        broken(text("z"), by_rule="PCQ430", also=f"PCQ412 {LISTS}"),
        broken(text("\ud800"), by_rule="PCQ405", also=f"PCQ412 PCQ430 {LISTS}"),
    ),
    r"5\.response\.lpData\.identifiers\.counterset_guid": (broken(flipped, by_rule="PCQ445", also=f"PCQ545 {LISTS}"),),
    r"5\.response\.lpData\.identifiers\.status": (broken(to(NO_WIN32), by_rule="PCQ425"),),
    r"5\.response\.lpData\.identifiers\.size": (
        broken(to(0), to(39), to(1 << 31), by(8), by(-8), by_rule="PCQ402", also="PCQ410 PCQ416"),
        broken(by(1), by_rule="PCQ402", also="PCQ405 PCQ415 PCQ416"),
    ),
    r"5\.response\.lpData\.identifiers\.counter_id": (
        broken(to(99), by_rule="PCQ445", also=f"PCQ545 {LISTS}"),
        broken(to(2), by_rule="PCQ445", also=f"PCQ545 PCQ601 {LISTS}"),
    ),
    r"5\.response\.lpData\.identifiers\.index": (
        broken(to(1), by_rule="PCQ450", where=r"identifiers\[0\]"),
        broken(to(99), by_rule="PCQ450"),
    ),
    r"5\.response\.lpData\.identifiers\.name": (
        broken(text("z"), by_rule="PCQ445", also=f"PCQ412 PCQ545 {LISTS}"),
        broken(text("\ud800"), by_rule="PCQ405", also=f"PCQ412 PCQ545 {LISTS}"),
        broken(endless, by_rule="PCQ410|PCQ445", also=f"PCQ412 PCQ416 PCQ545 {LISTS}"),
    ),
    r"5\.response\.lpData\.identifiers\.name_padding": (broken(flipped, by_rule="PCQ416"),),
}

TABLES = {**STUBS, **IDENTIFIERS}

UNSEEN = {
    r"\d+\.(request|response)\.(.*\.)?align_\w+": "bytes that align have no meaning",
    r"\d+\.(request|response)\.lp_data\.data": "broken field by field, as lpData",
    r"[0126]\.response\.lpData\..*": "each word of these buffers is changed in `sweeps`",
    r"7\.(request|response)\.lpData\.identifiers\.name_padding": "nothing is stated of the padding in ValidateCounters",
    r"7\.response\.lpData\.identifiers\.index": "nothing is stated of Index in what ValidateCounters returns",
    r"5\.response\.lpData\.identifiers\.reserved": "only clients have to set it to 0",
    r"5\.response\.lpData\.identifiers\.instance_id": "a server may state which instance 0xFFFFFFFF (any) came to be",
}


# ------------------------------------------------------------------------------------------------- the machinery


@dataclass(frozen=True)
class Leaf:
    """A field of one message: which event and side, its key without numbers, its path, and its bytes in the stub."""

    event: int
    side: str
    key: str
    path: str
    start: int
    stop: int


@cache
def conversation() -> tuple[Event, ...]:
    return tuple(full_conversation())


def _leaves(events: tuple[Event, ...]) -> Iterator[Leaf]:
    by_id = {event.call_id: number for number, event in enumerate(events) if isinstance(event, Exchange)}
    for call in Evidence(analysis_of(*events)).calls():
        number = by_id[call.decoded.call_id]
        for side in (call.request, call.response):
            assert side is not None
            for path, start, stop in _fields(side):
                key = f"{call.opnum}.{side.name}." + re.sub(r"\[\d+\]", "", path)
                yield Leaf(number, side.name, key, path, start, stop)


def _fields(side: SideEvidence) -> Iterator[tuple[str, int, int]]:
    root = side.stub_fields
    assert root is not None
    yield from _ends(root, "", 0)
    if side.side.buffer is not None and side.side.buffer_kind is not None:
        assert side.layout is not None
        yield from _ends(side.buffer_fields, "lpData.", side.layout.data_start)


def _ends(field: Field, path: str, base: int) -> Iterator[tuple[str, int, int]]:
    for child in field.children:
        if child.children:
            yield from _ends(child, f"{path}{child.name}.", base)
        else:
            yield f"{path}{child.name}", base + child.start, base + child.stop


def _found(events: tuple[Event, ...]) -> list[Finding]:
    return list(Audit(analysis_of(*events)).findings())


def _reported(events: tuple[Event, ...]) -> set[str]:
    return {finding.rule.code for finding in _found(events)}


def _mutated(leaf: Leaf, change: Change) -> tuple[Event, ...] | None:
    """The conversation with one field changed; None where the change changes nothing."""
    event = conversation()[leaf.event]
    assert isinstance(event, Exchange)
    message = event.request if leaf.side == "request" else event.response
    assert message is not None
    stub = bytes(message.stub.data)
    raw = stub[leaf.start : leaf.stop]
    changed = change(raw)
    assert len(changed) == len(raw)
    if changed == raw:
        return None
    stub = stub[: leaf.start] + changed + stub[leaf.stop :]
    moved = replace(event, **{leaf.side: with_stub(message, message.stub.replaced(stub, "mutated"))})
    return (*conversation()[: leaf.event], moved, *conversation()[leaf.event + 1 :])


def _chosen(leaves: list[Leaf], where: str) -> list[Leaf]:
    """Of the leaves of one kind: those of the call that has most of them, one for each place in its outermost list, no more than
    five of these. Of buffers only the first: `sweeps` changes each of their words."""
    fitting = [leaf for leaf in leaves if re.search(where or ".", leaf.path)]
    calls = Counter(leaf.event for leaf in fitting)
    # The second of several answers: clocks are judged between two.
    most = [event for event, number in calls.items() if number == max(calls.values())]
    event = most[min(1, len(most) - 1)] if fitting and fitting[0].key.startswith("6.") else most[0] if most else -1
    chosen: dict[str, Leaf] = {}
    for leaf in fitting:
        if leaf.event == event:
            place = re.search(r"\[\d+\]", leaf.path)
            chosen.setdefault(place[0] if place else "", leaf)
    return list(chosen.values())[: 1 if ".lpData." in fitting[0].key else 5] if fitting else []


@cache
def _grouped() -> dict[str, list[Leaf]]:
    by_key: dict[str, list[Leaf]] = {}
    for leaf in _leaves(conversation()):
        by_key.setdefault(leaf.key, []).append(leaf)
    return by_key


def _first(patterns: Iterable[str], key: str) -> str | None:
    return next((pattern for pattern in patterns if re.fullmatch(pattern, key)), None)


def test_every_field_is_broken_or_listed() -> None:
    unknown = [key for key in _grouped() if _first((*TABLES, *UNSEEN), key) is None]
    assert not unknown, f"say in TABLES or UNSEEN what may not be done to: {unknown}"


@pytest.mark.parametrize("pattern", TABLES)
def test_the_responsible_rule_speaks_and_no_other(pattern: str) -> None:
    wrong = []
    made = 0
    for key, leaves in _grouped().items():
        if not re.fullmatch(pattern, key):
            continue
        for position, way in enumerate(TABLES[pattern]):
            responsible, related = set(way.caught_by.split("|")), set(way.also.split())
            for leaf, (number, change) in product(_chosen(leaves, way.where), enumerate(way.ways)):
                events = _mutated(leaf, change)
                if events is None:
                    continue
                made += 1
                found = _found(events)
                reported = {finding.rule.code for finding in found}
                # What is said of words of buffers is in `sweeps`.
                if "lpData" not in key:
                    blamed = [finding for finding in found if finding.rule.code in responsible]
                    examples.check(blamed, name=f"{leaf.key} {leaf.path} {position}.{number}")
                if not reported & responsible or reported - responsible - related:
                    wrong.append(f"{leaf.path}, way {number} of {way.caught_by}: reported by {sorted(reported)}")
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
            assert message is not None
            stub = bytes(message.stub.data)
            stub = stub[:change] if change < 0 else stub + bytes(change)
            moved = replace(event, **{side: with_stub(message, message.stub.replaced(stub, "mutated"))})
            reported = _reported((*conversation()[:number], moved, *conversation()[number + 1 :]))
            if code not in reported or reported - {code, *CUT.split(), *LISTS.split()}:
                wrong.append(f"{side} of opnum {event.opnum}, call {event.call_id}: {sorted(reported)}")
    assert not wrong, "\n".join(wrong)
