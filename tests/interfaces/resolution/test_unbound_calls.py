"""Calls without their bind are distinguished by what they carry, and only where that is certain."""

from __future__ import annotations

import io
import struct

import pytest
from msgspec.structs import replace

from analyzer.core.absence import Missing
from analyzer.core.events import Problem
from analyzer.core.traced import TracedBytes
from analyzer.interfaces.contents.call_records import call_record
from analyzer.interfaces.contents.sample_records import sample_records
from analyzer.interfaces.pcq.perflib_layer import CatalogLearner
from analyzer.interfaces.resolution.unbound_calls import (
    ContextGuess,
    ContextReadings,
    frames_noted,
    interface_carried,
    recognise,
)
from analyzer.interfaces.winperf.winreg_layer import KeyFollower
from analyzer.pipeline.run import analyze
from analyzer.results.analysis import Analysis
from analyzer.results.call import Call
from analyzer.results.call_table import CallTable
from analyzer.results.perflib import INTERFACE
from analyzer.results.winreg import INTERFACE as WINREG
from analyzer.transport.rpc.exchange import Exchange
from analyzer.transport.rpc.plain_call import plain_call
from tests.build.buffers import Block, identifier, perf_data, winperf
from tests.build.calls import COUNTERSET, HANDLE, OTHER_COUNTERSET, Calls, winreg
from tests.build.counters import Info, registration_info
from tests.truth import CAPTURES

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
    assert "the bind of" in note.text


def test_one_proof_is_enough_for_the_calls_around_it() -> None:
    make = Calls()
    calls, (note,) = reported(make.open_query(), make.counter_data(DATA), make.close_query())
    assert [(call.interface.uuid, call.state, call.reason) for call in calls] == [(INTERFACE, "complete", None)] * 3
    assert "3 calls" in note.text
    assert "1 of them" in note.text


def test_without_proof_nothing_is_stated() -> None:
    make = Calls()
    calls, problems = reported(make.open_query(), make.close_query())
    assert [(call.interface.uuid, call.state) for call in calls] == [(None, "partial")] * 2
    assert problems == []


def test_one_call_that_does_not_fit_spoils_the_reading() -> None:
    make = Calls()
    calls, problems = reported(make.counter_data(DATA), make.exchange(6, b"something else", b"altogether"))
    assert {call.interface.uuid for call in calls} == {None}
    assert problems == []


def test_contexts_are_distinguished() -> None:
    make, registry = Calls(), winreg()
    other = replace(registry.query_value("Global", b"not a block"), context_id=1)
    calls, (note,) = reported(make.counter_data(DATA), make.validate(identifier(COUNTERSET)), other)
    assert sorted(str(call.interface.uuid) for call in calls) == ["None", INTERFACE, INTERFACE]
    assert "2 calls" in note.text


def test_faults_and_unanswered_calls_neither_prove_nor_spoil() -> None:
    make = Calls()
    unanswered = replace(make.counter_data(DATA), response=None)
    calls, _ = reported(make.counter_data(DATA), make.exchange(6, b"\1", None, fault=5), unanswered)
    assert {call.interface.uuid for call in calls} == {INTERFACE}


@pytest.mark.parametrize(("rest", "is_read"), [(0, True), (3, True), (4, False), (9, False)])
def test_no_more_than_padding_may_follow_a_stub(rest: int, is_read: bool) -> None:
    make = Calls()
    whole = make.counter_data(DATA)
    stub = whole.response.stub  # type: ignore[union-attr]
    assert isinstance(stub, TracedBytes)
    asked = make.stub().handle(HANDLE).uint(4096)
    calls, _ = reported(make.exchange(6, asked, stub.data + bytes(rest)))
    assert (calls[0].interface.uuid == INTERFACE) is is_read


@pytest.mark.parametrize(("opnum", "is_read"), [(12, True), (30, True), (36, False)])
def test_methods_that_are_not_decoded_neither_prove_nor_spoil(opnum: int, is_read: bool) -> None:
    """[MS-RRP] section 3.1.5 has methods 0 to 35."""
    make = winreg()
    calls, _ = reported(make.query_value("Global", winperf([])), make.exchange(opnum, b"what it asks", b"and is told"))
    assert [call.interface.uuid == WINREG for call in calls] == [is_read] * 2


def test_registration_information_of_the_counterset_asked_about_is_a_proof() -> None:
    info = registration_info(Info(1, 0x10000))
    learner = CatalogLearner()
    (call,), _ = reported(Calls().registration(1, info), learner=learner)
    assert call.interface.uuid == INTERFACE
    # What it says of the counterset is known from then on.
    assert COUNTERSET in learner.catalogs.of(call.server).countersets
    other = Calls().registration(1, info, guid=OTHER_COUNTERSET)
    assert reported(other)[0][0].interface.uuid is None


def test_a_note_has_the_first_frames() -> None:
    make = Calls()
    _, (note,) = reported(*(make.counter_data(DATA) for _ in range(20)))
    assert note.frames == tuple(range(1, 17))


def test_frames_of_calls_are_noted_while_they_are_few() -> None:
    """A context may have a million calls, and the note about them has sixteen frames."""
    make, noted = Calls(), set[int]()
    for exchange in [make.counter_data(DATA) for _ in range(100)]:
        frames_noted(noted, plain_call(exchange))
    assert noted == set(range(1, 65))


def test_identifiers_are_a_proof_and_a_list_of_countersets_is_none() -> None:
    """Sixteen bytes each may be anything."""
    ((call,), _), ((other,), _) = (
        reported(Calls().validate(identifier(COUNTERSET))),
        reported(Calls().enumerate_sets(bytes(32))),
    )
    assert (call.interface.uuid, call.interface.version) == (INTERFACE, "1.0")
    assert other.interface.uuid is None


def test_an_answer_alone_is_read_and_stays_without_its_request() -> None:
    make = Calls()
    alone = replace(make.counter_data(DATA), request=None)
    (call, _), _ = reported(alone, make.counter_data(DATA))
    assert (call.interface.uuid, call.state) == (INTERFACE, "partial")
    assert call.reason is not None


def test_registration_information_is_no_proof_without_what_was_asked() -> None:
    alone = replace(Calls().registration(1, registration_info(Info(1, 0x10000))), request=None)
    assert reported(alone)[0][0].interface.uuid is None


@pytest.mark.parametrize(("rest", "is_read"), [(0, True), (7, True), (8, False)])
def test_no_more_than_padding_may_follow_a_stub_of_ndr64(rest: int, is_read: bool) -> None:
    make = Calls(ndr64=True)
    whole = make.counter_data(DATA)
    stub = whole.response.stub  # type: ignore[union-attr]
    assert isinstance(stub, TracedBytes)
    asked = make.stub().handle(HANDLE).uint(4096)
    calls, _ = reported(make.exchange(6, asked, stub.data + bytes(rest)))
    assert (calls[0].interface.uuid, calls[0].syntax) == ((INTERFACE, "ndr64") if is_read else (None, "ndr"))


def proofs(*exchanges: Exchange) -> ContextGuess | None:
    readings = ContextReadings()
    for call in nameless(*exchanges):
        readings.take(call)
    assert readings.count == len(exchanges)
    return readings.only


def test_what_proves_an_interface_and_how_often() -> None:
    make, keys = Calls(), winreg()
    info = registration_info(Info(1, 0x10000))
    listed = identifier(COUNTERSET)
    neither = [make.open_query(), make.close_query(), make.registration(3, info), make.counter_data(b"", status=8)]
    proving = [make.counter_data(DATA), make.counter_info(listed), make.validate(listed), make.registration(1, info)]
    for exchange in neither:
        assert proofs(exchange) is None
    for exchange in proving:
        assert proofs(exchange) == ContextGuess("perflib-v2", "ndr", 1)
    assert proofs(*neither, *proving) == ContextGuess("perflib-v2", "ndr", 4)
    damaged = [make.counter_data(DATA[:-1]), make.counter_info(listed[:-1]), make.registration(1, info[:-1])]
    for exchange in damaged:
        assert proofs(exchange) is None
    short = perf_data([Block(1, values=((b"\1\0\0\0",),))]) + bytes(8)
    assert proofs(make.counter_data(short)) is None
    block = winperf([])
    assert proofs(keys.query_value("Global", block)) == ContextGuess("winreg", "ndr", 1)
    assert proofs(keys.query_value("Global", winperf([], "big"))) == ContextGuess("winreg", "ndr", 1)
    assert proofs(keys.query_value("Global", b"PERF"), keys.open_key()) is None
    assert proofs(keys.enumerate_value(0, "x", block)) is None
    # A method that no interface has, and one that only the registry has.
    assert proofs(make.counter_data(DATA), make.exchange(8, b"", b"")) is None
    assert proofs(keys.query_value("Global", block), keys.exchange(30, b"", b"")) == ContextGuess("winreg", "ndr", 1)
    assert proofs(keys.query_value("Global", block), keys.exchange(36, b"", b"")) is None


def test_calls_of_no_known_method_and_faults_contradict_nothing() -> None:
    make = Calls()
    unknown, fault = make.exchange(None, b"\1", b"\2"), make.faulted(6, b"\1", 5)
    assert proofs(make.counter_data(DATA), unknown, fault) == ContextGuess("perflib-v2", "ndr", 1)
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


def test_what_only_lacked_its_bind_is_complete() -> None:
    make = Calls()
    whole = make.counter_data(DATA)
    assert whole.request is not None
    calls, _ = reported(
        whole,
        replace(whole, response=None),
        replace(whole, request=replace(whole.request, missing=Missing.NOT_CAPTURED)),
    )
    assert [(call.state, call.reason is None) for call in calls] == [
        ("complete", True),
        ("complete", True),
        ("partial", False),
    ]
    assert [(call.method, call.syntax, call.interface.version, call.interface.recognised) for call in calls] == [
        ("PerflibV2QueryCounterData", "ndr", "1.0", True)
    ] * 3
