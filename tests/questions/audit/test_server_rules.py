"""Rules about what servers say of their countersets: whether they list, describe and refuse them alike."""

from collections.abc import Callable, Iterator, Sequence
from struct import pack
from typing import Any
from uuid import UUID

import pytest

from analyzer.core.events import Event
from analyzer.questions.audit.rules.error_codes import COUNTERSET_FOUND
from analyzer.transport.rpc.exchange_maker import Exchange
from tests.build.buffers import instance_header, perf_data, string_table
from tests.build.calls import COUNTERSET, OTHER_COUNTERSET, Calls, altered, sealed
from tests.questions.audit.judging import Case, by_name, holds, judged
from tests.questions.audit.methods import call, request, response
from tests.questions.audit.registered import countersets, enumerated

NOW = 133_541_156_967_890_000
RAW, BULK = 0x10000, 0x10410500


def described(kind: int = 2) -> bytes:
    return UUID(COUNTERSET).bytes_le + pack("<4I", 0, 100, 0, kind)


def registered(kind: int) -> Exchange:
    return Calls().registration(1, described(kind))


def instances(*names: str, status: int = 0) -> Exchange:
    calls = Calls(first_frame=10)
    data = b"".join(instance_header(name, number) for number, name in enumerate(names))
    return calls.exchange(2, request(calls, 2, 4096), calls.sized(data, status, room=4096))


def about(opnum: int, status: int) -> Exchange:
    """Asks about COUNTERSET."""
    calls = Calls(first_frame=10)
    return calls.exchange(opnum, request(calls, opnum), response(calls, opnum, status))


def record(counter: int) -> bytes:
    return pack("<12I", counter, RAW, 0, 0, 100, 0, 0, 0, *[0xFFFFFFFF] * 3, 0)


def one_counter(counter: int, status: int, change: Callable[[Exchange], Exchange] = lambda same: same) -> list[Event]:
    """A description of a counterset with the counters 1 to 3, then a question about one counter."""
    calls = Calls()
    head = UUID(COUNTERSET).bytes_le + pack("<4I", 0, 100, 3, 0)
    description = calls.registration(1, head + b"".join(map(record, (1, 2, 3))))
    question = calls.registration(2, record(counter) if status == 0 else b"", lcid=counter, status=status)
    return [change(description), question]


def alone(calls: Calls, kind: int, *, scale: int = 0) -> Exchange:
    return calls.registration(2, pack("<IIQIiIIIIII", 1, kind, 0, 100, scale, 0, 0, 0, 0, 0, 0), lcid=1)


def set_and_counters(*kinds: int, scale: int = 0, set_last: bool = False, seal: bool = False) -> list[Event]:
    """The registration of a counterset whose counter is a raw count, and answers about this counter alone."""
    calls = Calls()
    first: list[Any] = [] if set_last else countersets({COUNTERSET: (0, {1: RAW})}, calls)
    single = [alone(calls, kind, scale=scale) for kind in kinds]
    last: list[Any] = countersets({COUNTERSET: (0, {1: RAW})}, calls) if set_last else []
    return [*first, *(map(sealed, single) if seal else single), *last]


def clocks(*clocks: tuple[int, int], seal: bool = False) -> list[Event]:
    calls = Calls()
    made = [calls.counter_data(perf_data([], (ticks, NOW, frequency))) for ticks, frequency in clocks]
    return list(map(sealed, made)) if seal else list(made)


def asked_twice(first: bytes, second: bytes, code: int = 1, *, seal: bool = False, **other: Any) -> Sequence[Event]:
    """The same question twice, or another one."""
    calls = Calls()
    made = [calls.registration(code, first), calls.registration(code, second, **other)]
    return list(map(sealed, made)) if seal else made


TABLE = string_table([(1, "a")], from_start=False)


def of_descriptions() -> Iterator[Case]:
    yield "PCQ330", "another type than the set has it", "fail", set_and_counters(BULK)
    yield "PCQ330", "another type than the counter alone", "fail", set_and_counters(BULK, set_last=True)
    yield "PCQ330", "the same description", "pass", set_and_counters(RAW, RAW)
    yield "PCQ330", "one of the two alone", "not-exercised", set_and_counters()
    yield "PCQ330", "a sealed answer proves nothing", "inconclusive", set_and_counters(BULK, seal=True)
    yield "PCQ330", "a type that is wrong in itself", "not-exercised", set_and_counters(0x12345)
    yield "PCQ330", "a scale that is wrong in itself", "not-exercised", set_and_counters(BULK, scale=11)
    yield "PCQ520", "a clock that goes back", "fail", clocks((1000, 10), (900, 10))
    yield "PCQ520", "a frequency of zero", "fail", clocks((1000, 0))
    yield "PCQ520", "a clock that stands still", "pass", clocks((1000, 10), (1000, 10))


def of_errors() -> Iterator[Case]:
    for opnum in COUNTERSET_FOUND:
        rows = (
            ("data about one that is not listed", "fail", OTHER_COUNTERSET, 0),
            ("2 about one that is not listed", "fail", OTHER_COUNTERSET, 2),
            ("8 about one that is not listed", "fail", OTHER_COUNTERSET, 8),
            ("0x1068 about one that is not listed", "pass", OTHER_COUNTERSET, 0x1068),
            ("5 about one that is not listed", "not-exercised", OTHER_COUNTERSET, 5),
            ("0x1068 about one that is listed", "warn", COUNTERSET, 0x1068),
            ("data about one that is listed", "not-exercised", COUNTERSET, 0),
        )
        for words, verdict, guid, status in rows:
            yield "PCQ702", f"{words}, opnum {opnum}", verdict, [enumerated([guid]), about(opnum, status)]
        made = [about(opnum, 0), enumerated([COUNTERSET])]
        yield "PCQ702", f"a list that comes later counts, opnum {opnum}", "not-exercised", made
        yield "PCQ702", f"without a list, opnum {opnum}", "inconclusive", [about(opnum, 0)]
        made = [sealed(enumerated([OTHER_COUNTERSET])), about(opnum, 0)]
        yield "PCQ702", f"a sealed list is no list, opnum {opnum}", "inconclusive", made
    rows = (
        *((9, 0, "fail"), (9, 0x57, "fail"), (9, 8, "fail"), (9, 0x106A, "pass")),
        *((2, 0, "not-exercised"), (2, 8, "not-exercised"), (9, 5, "not-exercised"), (9, 0xE, "not-exercised")),
    )
    for counter, status, verdict in rows:
        yield "PCQ703", f"{status:#x} about counter {counter} of 3", verdict, one_counter(counter, status)
    made = [Calls().registration(2, record(9), lcid=9)]
    yield "PCQ703", "a single answer does not describe the counterset", "inconclusive", made
    yield "PCQ703", "a sealed description is none", "inconclusive", one_counter(9, 0, sealed)
    yield "PCQ703", "a description that others may have changed is none", "inconclusive", one_counter(9, 0, altered)
    yield "PCQ704", "several instances where one is registered", "fail", [registered(0), instances("a", "b")]
    for kind, names in ((0, ("",)), (0, ("a",)), (2, ("a", "b")), (6, ("a", "b"))):
        yield "PCQ704", f"{names} of a set of type {kind}", "not-exercised", [registered(kind), instances(*names)]
    yield "PCQ704", "an empty list that is called success", "warn", [instances()]
    yield "PCQ704", "data along with 0x1069", "warn", [instances("a", status=0x1069)]
    yield "PCQ704", "0x1069 without data", "pass", [instances(status=0x1069)]
    yield "PCQ704", "0x1073", "pass", [instances(status=0x1073)]
    yield "PCQ704", "without registration", "inconclusive", [instances("a", "b")]
    yield "PCQ704", "a sealed list proves nothing", "inconclusive", [registered(0), sealed(instances("a", "b"))]
    yield "PCQ718", "another answer to the same question", "warn", asked_twice(described(), described(4))
    yield "PCQ718", "the same answer", "pass", asked_twice(described(), described())
    yield "PCQ718", "other padding is the same answer", "pass", asked_twice(TABLE, TABLE[:-2] + b"\x55\x55", 5)
    yield "PCQ718", "another language", "pass", asked_twice(described(), described(4), lcid=1033)
    yield "PCQ718", "another counterset", "pass", asked_twice(described(), described(4), guid=OTHER_COUNTERSET)
    yield "PCQ718", "sealed answers prove nothing", "inconclusive", asked_twice(described(), described(4), seal=True)
    for opnum in (0, 1, 2):
        made = [Calls().faulted(opnum, request(Calls(), opnum), 0x1C00001A)]
        yield "PCQ718", f"a fault about a handle, opnum {opnum}", "fail", made
        yield "PCQ718", f"success without any handle, opnum {opnum}", "pass", [call(opnum)]


@pytest.mark.parametrize("case", [*of_descriptions(), *of_errors()], ids=by_name)
def test_what_servers_say_of_their_countersets(case: Case) -> None:
    holds(case)


@pytest.mark.parametrize(("most", "warned"), [(0, 0), (1, 1), (2, 2)])
def test_so_many_questions_are_remembered(most: int, warned: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("analyzer.questions.audit.rules.repeated_questions._MOST_QUESTIONS", most)
    calls = Calls()
    asked = [calls.registration(1, described(kind), lcid=lcid) for kind in (2, 4) for lcid in (7, 8)]
    assert [finding.call for finding in judged("PCQ718", *asked).findings] == [3, 4][:warned]
