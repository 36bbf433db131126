"""One change in a conversation, and what `diff` tells of it: that, and nothing else.

`changes.txt` has a paragraph for each change: a bit of a field, or something that happened otherwise. It was read through. What is
told of a field is checked besides: one pair of calls differs, in that field, or the field is one that differs by its nature.
"""

import re
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from analyzer.questions.differences import conversation_comparison, difference_records
from analyzer.questions.differences.conversation_comparison import UNUSED, findings_by_call
from analyzer.questions.differences.difference_records import Differences
from analyzer.questions.processes.process_records import process_records
from analyzer.results.analysis import Analysis
from analyzer.results.records.difference import DifferenceRecord
from analyzer.results.records.record_types import Endpoint
from analyzer.results.security import Identity
from analyzer.transport.rpc.exchange_maker import Exchange
from tests.build.calls import Calls, analysis_of, sealed, winreg
from tests.questions.differences.script import (
    REGISTRY,
    Leaf,
    difference,
    everything,
    leaves,
    perflib,
    registry,
    services,
    told,
    with_bytes,
)
from tests.written import is_as_written

CLOCKS = {"perf_time_stamp", "perf_time_100ns", "perf_time"}
_DIGITS = re.compile(r"\[\d+\]")


def with_identity(exchanges: Sequence[Exchange], identity: Identity) -> list[Exchange]:
    return [replace(one, channel=replace(one.channel, identity=identity)) for one in exchanges]


def of_server(exchanges: Sequence[Exchange], ip: str) -> list[Exchange]:
    return [replace(one, channel=replace(one.channel, server=Endpoint(ip, 445))) for one in exchanges]


def without(exchanges: Sequence[Exchange], *positions: int) -> list[Exchange]:
    return [one for at, one in enumerate(exchanges) if at not in positions]


def twice(exchanges: Sequence[Exchange], at: int) -> list[Exchange]:
    return [*exchanges[: at + 1], *exchanges[at:]]


def faulted(at: int) -> list[Exchange]:
    found = everything()
    call = Calls().faulted(found[at].opnum or 0, b"", 0x1C010003)
    found[at] = replace(found[at], response=call.response, fault=call.fault)
    return found


def whole(**given: list[Exchange]) -> list[Exchange]:
    """The conversation with other parts in the place of its own."""
    parts = {"polls": perflib(), "keys": registry(), "controls": services(), **given}
    return [exchange for part in parts.values() for exchange in part]


def at_eight(*given: Exchange) -> list[Exchange]:
    return [*everything()[:8], *given, *everything()[9:]]


def besides(**ends: Endpoint) -> list[Exchange]:
    return [*everything(), *(replace(one, channel=replace(REGISTRY, number=7, **ends)) for one in registry())]


HANDLE, MORE = "12345678-9b1d-4f3c-8a55-0d2b7c9e1f10", ("System", "lsass", "calc")
ALICE, EIGHTH = Identity("ntlm", "alice", "LAB", granted="account"), everything()[8]
LOST = replace(EIGHTH, response=None, state="request-only", reason="the test says so")
UNKNOWN = winreg(channel=REGISTRY, first_frame=300).exchange(99, b"question", b"12345678")
# What is done to the conversation as a whole.
HAPPENED: dict[str, list[Exchange]] = {
    "a poll more": twice(everything(), 14),
    "a poll less": without(everything(), 14),
    "the first call was not made": without(everything(), 0),
    "the handle was not closed": without(everything(), 16),
    "a name was not asked for": without(everything(), 7),
    "no registry": whole(keys=[]),
    "no services": whole(controls=[]),
    "only services": services(),
    "a fault in place of an answer": faulted(9),
    "a process more": whole(polls=perflib(MORE)),
    "a process less": whole(polls=perflib(("System",))),
    "a process of another name": whole(polls=perflib(("System", "lsasss"))),
    "processes in another order": whole(polls=perflib(("lsass", "System"))),
    "a process more in the registry": whole(keys=registry(MORE)),
    "a service runs something else": whole(controls=services("C:\\y.exe")),
    "the change of a service is refused": whole(controls=services(status=5)),
    "another handle of the query": whole(polls=perflib(handle=HANDLE)),
    "another handle of the key": whole(keys=registry(handle=HANDLE)),
    "other values": whole(polls=perflib(first=1000)),
    "another account": with_identity(everything(), ALICE),
    "another account of the registry": whole(keys=with_identity(registry(), ALICE)),
    "another address of the server": of_server(everything(), "10.9.9.9"),
    "another server besides": besides(server=Endpoint("10.9.9.9", 445)),
    "another client besides": besides(client=Endpoint("10.9.9.8", 445)),
    "a call that is sealed": at_eight(sealed(EIGHTH)),
    "a call that is sealed, of other bytes": [*everything()[:7], sealed(EIGHTH), *everything()[8:]],
    "an answer that was not captured": at_eight(LOST),
    "a method of no known layout": [*everything(), UNKNOWN],
    "the connections in another order": [*registry(), *services(), *perflib()],
}


@cache
def base() -> Analysis:
    return analysis_of(*everything())


@cache
def fields() -> dict[str, Leaf]:
    """A field of each kind, of requests and of responses, by the first call that has it."""
    found: dict[tuple[str, str], Leaf] = {}
    for one in leaves(base()):
        found.setdefault((one.side, _kind(one)), one)
    return {f"{one.at} {side} {kind}": one for (side, kind), one in found.items()}


def _kind(one: Leaf) -> str:
    return f"{one.parent}.{_DIGITS.sub('[]', one.field.name)}"


def changed(one: Leaf) -> list[Exchange]:
    """The conversation with the lowest bit of a field turned."""
    found = everything()
    raw = one.field.raw
    found[one.at] = with_bytes(found[one.at], one.side, one.start, bytes([raw[0] ^ 1]) + raw[1:])
    return found


@pytest.fixture
def _base_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the audit says of a call of it, and its processes, are the same beside every other conversation."""
    said, processes = cache(findings_by_call), cache(process_records)

    def findings(analysis: Analysis, numbers: Iterable[int]) -> Any:
        return said(analysis, tuple(numbers)) if analysis is base() else findings_by_call(analysis, numbers)

    monkeypatch.setattr(conversation_comparison, "findings_by_call", findings)
    monkeypatch.setattr(
        difference_records, "process_records", lambda one: (processes if one is base() else process_records)(one)
    )


@cache
def of(name: str) -> Differences:
    """What differs where a field is changed, or where something happened."""
    changes = changed(fields()[name]) if name in fields() else HAPPENED[name]
    return Differences(base(), analysis_of(*changes, files=("other.pcap",)))


def text(name: str) -> str:
    found = of(name)
    lines = [*told(found), *(f"not compared {one.text}" for one in found.uncompared)]
    volatile = ", ".join(f"{what} {count}" for what, count in found.summary.volatile.items())
    values = (
        f", {found.summary.values_different} of {found.summary.values} values" if found.summary.values_different else ""
    )
    ends = f"{found.summary.outcome}{f' ({volatile})' if volatile else ''}{values}"
    return "\n  ".join([f"{name}: {ends}", *(line if len(line) <= 220 else f"{line[:219]}…" for line in lines)]) + "\n"


@pytest.mark.usefixtures("_base_is_read_once")
def test_what_is_told_of_each_change_is_what_was_read_through() -> None:
    """`PCQ_WRITE_PAGES=1 pytest -n 0 THIS_FILE` writes it."""
    assert len(fields()) > 150
    assert len(HAPPENED) > 25
    for name, one in fields().items():
        _is_told_of_this_call_and_no_other(name, one)
    is_as_written(Path(__file__).parent / "changes.txt", "".join(map(text, [*fields(), *HAPPENED])))


def _is_volatile(one: Leaf) -> bool:
    return (
        one.field.spelling in UNUSED
        or one.parent.endswith("systemtime")
        or one.field.name in CLOCKS
        or (_DIGITS.sub("", one.field.name) in ("value", "values") and one.parent != "ms_rrp_stubs.optional_u4")
        or (one.field.name == "referent" and one.field.value not in (0, 1))
        or (one.parent, one.field.name) == ("ndr.context_handle", "attributes")
    )


def _is_told_of_this_call_and_no_other(name: str, one: Leaf) -> None:
    """A bit of the field was turned."""
    found = of(name)
    calls = [record for record in found.found if record.about in ("call", "conversation")]
    if _is_volatile(one):
        assert found.summary.outcome == "equal", name
        is_counted = sum(found.summary.volatile.values()) or found.summary.values_different
        assert is_counted or one.field.name == "attributes", name
    elif one.parent == "ndr.context_handle":
        # From then on the other handle stands for this one.
        assert calls, name
    else:
        assert [(record.a.calls, record.b.calls) for record in calls if record.a and record.b] == [
            ((one.at + 1,), (one.at + 1,))
        ], (name, told(found))
        assert len(calls) == 1, name


def test_a_conversation_is_equal_to_itself() -> None:
    found = difference(everything(), everything())
    assert (told(found), found.uncompared, found.summary.outcome) == ([], [], "equal")
    assert found.summary.compared_calls == len(everything())


def test_calls_that_differ_alike_are_told_once() -> None:
    other = [*perflib(), *perflib(("System", "lsasss"))[13:16]]
    base = [*perflib(), *perflib()[13:16]]
    found: list[DifferenceRecord] = [one for one in difference(base, other).found if one.about == "call"]
    assert [(one.a.count, one.b.count) for one in found if one.a and one.b] == [(3, 3)]


def test_values_that_are_asked_for_are_told_and_decide() -> None:
    other = [*perflib(first=1000), *registry(), *services()]
    assert difference(everything(), other).summary.outcome == "equal"
    found = difference(everything(), other, values=True)
    assert found.summary.outcome == "different"
    assert "response.lpData.blocks[0].body.instances.instances[0].data[0].value=7|1000" in " ".join(told(found))


def test_a_field_has_its_bytes_its_place_and_its_document() -> None:
    exchanges = everything()
    exchanges[0] = with_bytes(exchanges[0], "request", 28, b"\x01\x02")
    (record,) = difference(everything(), exchanges).found
    (field,) = record.fields
    assert (field.path, field.a, field.b) == ("request.dwInSize", "256", "513")
    assert (field.a_bytes, field.b_bytes, field.a_start, field.b_start) == ("00010000", "01020000", 28, 28)
    assert "section 3.1.4.1.1" in field.reference


def test_the_specification_says_which_side_breaks_it() -> None:
    exchanges = everything()
    # The count of counters of a counterset, one too many.
    at = next(one for name, one in fields().items() if name.endswith("counter_reg_info.reserved"))
    exchanges[at.at] = with_bytes(exchanges[at.at], at.side, at.start, b"\x07\0\0\0")
    record = difference(everything(), exchanges).found[-1]
    assert {one.side for one in record.breaches} == {"b"}
    assert all(one.statement for one in record.breaches)


def test_two_handles_are_told_apart() -> None:
    """A second query is polled by the handle of the first."""
    other = "aaaaaaaa-1111-4f3c-8a55-0d2b7c9e1f10"
    both = [*perflib()[:13], *perflib(handle=other)[10:13]]
    own = difference(
        [*both, perflib()[13], perflib(handle=other)[13]], [*both, perflib()[13], perflib(handle=other)[13]]
    )
    assert own.summary.outcome == "equal"
    found = difference([*both, perflib()[13], perflib(handle=other)[13]], [*both, perflib()[13], perflib()[13]])
    assert "request.hQuery.uuid" in " ".join(told(found))


@pytest.mark.parametrize("side", ["A", "B"])
def test_what_a_sealed_side_may_show_is_no_difference(side: str) -> None:
    plain, closed = everything(), [*map(sealed, everything())]
    found = difference(closed, plain) if side == "A" else difference(plain, closed)
    other = "B" if side == "A" else "A"
    assert {one.about for one in found.found} <= {"account", "conversation", "call"}
    assert found.summary.outcome != "equal"
    texts = [one.text for one in found.uncompared if one.method in ("counterset", "counter", "process", "service")]
    assert sorted(text.split()[1].rstrip("s") for text in texts) == ["counter", "counterset", "processe", "service"]
    assert all(f"in {other}: calls of {side} that no key opens may show the same" in text for text in texts)
    assert all(one.text.endswith(f" in {side}") for one in found.uncompared if "no key opens them" in one.text)


def test_who_lists_processes_shows_that_another_is_not_among_them() -> None:
    """Sealed calls beside the list take nothing away from it."""
    other = [*perflib(("System",)), sealed(Calls().registration(1, b"x"))]
    found = difference(perflib(), other)
    assert [one.name for one in found.found if one.about == "process"] == ["lsass (pid 101)"]


def test_the_same_calls_are_aligned_from_both_sides() -> None:
    """Where calls may be aligned in several ways."""

    def asking(*codes: int) -> Analysis:
        make = Calls()
        analysis = analysis_of(*(make.registration(code, b"") for code in codes))
        return replace(analysis, capture=replace(analysis.capture, first_time_ns=codes[0]))

    def told_of(first: Analysis, second: Analysis) -> set[tuple[str, tuple[int, ...], tuple[int, ...]]]:
        found = Differences(first, second).found
        return {(one.kind, *(side.calls if side is not None else () for side in (one.a, one.b))) for one in found}

    turned = {"only-a": "only-b", "only-b": "only-a"}
    for one, other in combinations((asking(9, 10, 11), asking(11, 10, 9), asking(10, 9)), 2):
        assert told_of(one, other) == {(turned.get(kind, kind), b, a) for kind, a, b in told_of(other, one)}
        assert told_of(one, other)
