"""Calls without their bind are distinguished by what they carry, and only where that is certain."""

import io
import struct
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from analyzer.core.absence import Missing
from analyzer.core.events import Problem
from analyzer.core.traced_bytes import TracedBytes
from analyzer.interfaces.call_contents.call_records import call_record
from analyzer.interfaces.call_contents.raw_samples import sample_records
from analyzer.interfaces.calls_from_exchanges import plain_call
from analyzer.interfaces.pcq.perflib_layer import CatalogLearner
from analyzer.interfaces.resolution.whole_capture_resolution import (
    ContextReadings,
    frames_noted,
    interface_carried,
    recognise,
)
from analyzer.interfaces.winperf.winreg_layer import KeyFollower
from analyzer.pipeline.run import analyze
from analyzer.results.analysis import Analysis
from analyzer.results.calls.call import Call
from analyzer.results.calls.call_table import CallTable
from analyzer.transport.rpc.exchange_maker import Exchange
from tests.build.buffers import Block, identifier, perf_data, winperf
from tests.build.calls import COUNTERSET, HANDLE, OTHER_COUNTERSET, Calls, winreg
from tests.build.counters import Info, registration_info
from tests.truth import CAPTURES
from tests.written import Told

DATA = perf_data([Block(1, values=((b"\1\0\0\0",),))])


def without_beginning(name: str, frames: int) -> bytes:
    """A capture that begins after its first `frames` frames."""
    raw = (CAPTURES / name).read_bytes()
    at = 24
    for _ in range(frames):
        at += 16 + struct.unpack_from("<I", raw, at + 8)[0]
    return raw[:24] + raw[at:]


def nameless(*exchanges: Exchange) -> list[Call]:
    """The calls as they come where the bind was not captured."""
    lost = "the bind was not captured, so the interface and the meaning of the stubs are unknown"
    return [
        plain_call(replace(exchange, interface=None, version=None, syntax="ndr", state="partial", reason=lost))
        for exchange in exchanges
    ]


def reported(*exchanges: Exchange, learner: CatalogLearner | None = None) -> tuple[list[Call], list[Problem]]:
    writer = CallTable()
    for call in nameless(*exchanges):
        writer.append(call)
    taken, notes = recognise(writer, learner or CatalogLearner(), KeyFollower())
    return [writer[at] for at in taken], notes


def comparable(analysis: Analysis) -> dict[int, tuple[object, ...]]:
    """What the calls say, by call id."""
    return {
        call.call_id: (
            call.method,
            call.state,
            call.status,
            call.request.params if call.request is not None else None,
            call.response.params if call.response is not None else None,
        )
        for call in analysis.calls
    }


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("pcq_smbd_scapy_impacket_smb311_norpcauth_allowed.pcap", "PerflibV2"),
        ("v1_samba_impacket_smb311_noauth.pcap", "winreg"),
    ],
)
def test_a_capture_that_begins_in_the_middle_of_a_clear_conversation_is_read(name: str, kind: str) -> None:
    whole = analyze([CAPTURES / name])
    bound = max(frame for bound in whole.bounds for frame in bound.frames)
    cut = analyze([io.BytesIO(without_beginning(name, bound + 12))])
    assert len(cut.calls) > len(whole.calls) - 8
    everything = comparable(whole)
    complete = [call for call in cut.calls if call.state == "complete"]
    assert len(complete) >= len(cut.calls) - 1
    for call_id, stated in comparable(replace(cut, calls=complete)).items():
        assert stated == everything[call_id]
    assert all(call.interface.name == kind for call in complete)
    assert all(call_record(call, cut).interface.recognised for call in complete)
    assert not any(call_record(call, whole).interface.recognised for call in whole.calls)
    values = [record.raw for record in sample_records(cut)]
    assert values == [record.raw for record in sample_records(whole)][-len(values) :]
    (note,) = [problem for problem in cut.problems if problem.layer == "timeline"]
    assert note.kind == "note"
    assert "no captured bind tells the interface of" in note.text


INFO, LISTED, BLOCK = registration_info(Info(1, 0x10000)), identifier(COUNTERSET), winperf([])
PERFLIB_WORDS: dict[str, Callable[[Calls], Exchange]] = {
    "open": lambda make: make.open_query(),
    "close": lambda make: make.close_query(),
    "data": lambda make: make.counter_data(DATA),
    "data-cut": lambda make: make.counter_data(DATA[:-1]),
    "data-and-more": lambda make: make.counter_data(DATA + bytes(8)),
    "data-error": lambda make: make.counter_data(b"", status=8),
    "junk": lambda make: make.exchange(6, b"something else", b"altogether"),
    "validate": lambda make: make.validate(LISTED),
    "listed": lambda make: make.counter_info(LISTED),
    "listed-cut": lambda make: make.counter_info(LISTED[:-1]),
    "info": lambda make: make.registration(1, INFO),
    "info-cut": lambda make: make.registration(1, INFO[:-1]),
    "info-of-another": lambda make: make.registration(1, INFO, guid=OTHER_COUNTERSET),
    "info-by-name": lambda make: make.registration(3, INFO),
    "sets": lambda make: make.enumerate_sets(bytes(32)),
    "fault": lambda make: make.exchange(6, b"\1", None, fault=5),
    "no-method": lambda make: make.exchange(None, b"\1", b"\2"),
}
WINREG_WORDS: dict[str, Callable[[Calls], Exchange]] = {
    "key": lambda make: make.open_key(),
    "value": lambda make: make.query_value("Global", BLOCK),
    "value-big": lambda make: make.query_value("Global", winperf([], "big")),
    "value-junk": lambda make: make.query_value("Global", b"PERF"),
    "value-listed": lambda make: make.enumerate_value(0, "x", BLOCK),
}


CHANGES: dict[str, dict[str, Any]] = {
    "alone": {"request": None},
    "unanswered": {"response": None},
    "1": {"context_id": 1},
}


def exchanges(words: str) -> Iterator[Exchange]:
    """`data`, `key`, ... as above, or a method by its number, `opnum8`; `ndr64` before them. Marks behind `/`: `alone` without
    its request, `unanswered`, `lost` with a request that was not captured, `1` in context 1, `+4` with bytes behind the stub."""
    each = words.split()
    make, keys = Calls(ndr64="ndr64" in each), winreg()
    for word in each["ndr64" in each :]:
        name, *marks = word.split("/")
        if name in PERFLIB_WORDS:
            made = PERFLIB_WORDS[name](make)
        elif name in WINREG_WORDS:
            made = WINREG_WORDS[name](keys)
        else:
            made = keys.exchange(int(name.removeprefix("opnum")), b"what it asks", b"and is told")
        for mark in marks:
            if mark.startswith("+"):
                stub = made.response.stub
                assert isinstance(stub, TracedBytes)
                made = make.exchange(6, make.stub().handle(HANDLE).uint(4096), stub.data + bytes(int(mark)))
            elif mark == "lost":
                assert made.request is not None
                made = replace(made, request=replace(made.request, missing=Missing.NOT_CAPTURED))
            else:
                made = replace(
                    made,
                    **{"alone": {"request": None}, "unanswered": {"response": None}}.get(mark) or {"context_id": 1},
                )
        yield made


def said(words: str) -> str:
    """What each call is taken for, what is noted, and what is proven by all."""
    made = [*exchanges(words)]
    calls, notes = reported(*made)
    readings = ContextReadings()
    for call in nameless(*made):
        readings.take_call(call)
    assert readings.count == len(made)
    lines = [
        f"{call.interface.name} {call.interface.version} {call.syntax} {call.method}: {call.state}, {call.reason}"
        for call in calls
    ]
    lines += [f"note at {note.frames}: {note.text}" for note in notes]
    if not any("/1" in word for word in words.split()):
        lines.append(f"proven: {readings.only}")
    counted = ((line, len([*each])) for line, each in groupby(lines))
    return "".join(f"  = {f'{count} times ' if count > 1 else ''}{line}\n" for line, count in counted)


TOLD = Told(Path(__file__).with_name("unbound_calls.txt"), said)


@pytest.mark.parametrize("name", TOLD.words)
def test_calls_without_a_bind_are_taken_for_what_is_certain(name: str) -> None:
    TOLD.holds(name)


def test_what_registration_information_says_of_its_counterset_is_known_from_then_on() -> None:
    learner = CatalogLearner()
    (call,), _ = reported(Calls().registration(1, INFO), learner=learner)
    assert COUNTERSET in learner.catalogs.catalog_of(call.server).countersets


def test_frames_of_calls_are_noted_while_they_are_few() -> None:
    """A context may have a million calls, and the note about them has sixteen frames."""
    make, noted = Calls(), set[int]()
    for exchange in [make.counter_data(DATA) for _ in range(100)]:
        frames_noted(noted, plain_call(exchange))
    assert noted == set(range(1, 65))


def test_what_calls_carry_is_found_among_others() -> None:
    make = Calls()
    unknown = make.exchange(None, b"\1", b"\2")
    assert interface_carried(nameless(make.counter_data(DATA), unknown)) == "perflib-v2"
    assert interface_carried(nameless(unknown)) is None


def test_calls_without_a_bind_are_understood_last_and_in_the_order_of_their_times() -> None:
    make = Calls()
    first, second = nameless(make.counter_data(DATA), make.counter_data(DATA))
    writer = CallTable()
    for call in (second, plain_call(make.open_query()), first):
        writer.append(call)
    taken, notes = recognise(writer, CatalogLearner(), KeyFollower())
    assert (list(taken), len(notes)) == ([1, 3, 4], 1)
    writer = CallTable()
    for call in nameless(make.open_query(), make.open_query()):
        writer.append(call)
    writer.append(plain_call(make.open_query()))
    assert list(recognise(writer, CatalogLearner(), KeyFollower())[0]) == [2, 0, 1]


def test_the_times_of_all_calls_are_read_once_for_all_contexts(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    column = CallTable.column
    monkeypatch.setattr(CallTable, "column", lambda table, name: read.append(name) or column(table, name))
    writer = CallTable()
    for context in range(5):
        for call in nameless(replace(Calls().counter_data(DATA), context_id=context)):
            writer.append(call)
    assert len(recognise(writer, CatalogLearner(), KeyFollower())[1]) == 5
    assert read == ["first_time"]
