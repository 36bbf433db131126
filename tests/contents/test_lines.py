"""The records of `timeline`: what is decoded once, what a summary counts, and which problems belong to the calls that are shown."""

from __future__ import annotations

from collections import Counter
from hashlib import sha256
from typing import Any

import pytest
from msgspec import Raw
from msgspec.structs import replace

from analyzer.buffers import find_damage
from analyzer.contents import lines
from analyzer.contents.fields import buffer_fields, status_name, stub_fields
from analyzer.contents.lines import (
    CallRecords,
    Damages,
    all_problems,
    call_record,
    shown_problems,
    side_record,
    summary_record,
    timeline_records,
)
from analyzer.core.absence import Missing
from analyzer.core.events import Problem
from analyzer.model.analysis import Analysis, Part
from analyzer.model.call import Call, CallRecord, Side, SideName
from analyzer.model.capture import ProblemRecord, SummaryRecord
from analyzer.output.json import Pieces
from tests.build.buffers import Block, perf_data
from tests.build.calls import MS, Calls, analysis_of

SOUND = perf_data([Block(1, values=((b"\1\0\0\0",),))])
# The block states more bytes than there are.
DAMAGED = SOUND[:56] + b"\xff" + SOUND[57:]


def polls(*answers: bytes) -> Analysis:
    make = Calls()
    return analysis_of(*(make.counter_data(data) for data in answers))


def response(call: Call) -> Side:
    assert call.response is not None
    return call.response


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The buffers that were looked through for damage."""
    found: list[bytes] = []

    def counted(kind: Any, data: bytes, **options: Any) -> Any:
        found.append(data)
        return find_damage(kind, data, **options)

    monkeypatch.setattr(lines, "find_damage", counted)
    return found


def test_what_is_wrong_with_a_buffer_is_found_once(looked_at: list[bytes]) -> None:
    """Records note it, and the problems behind them need no second look."""
    analysis, damages = polls(SOUND, DAMAGED, SOUND), Damages()
    made = CallRecords()
    for call in analysis.calls:
        made.record(call, analysis, damages)
    assert [damages.is_sound(number) for number in range(1, 5)] == [True, False, True, False]
    problems = list(all_problems(analysis, damages))
    assert looked_at == []
    assert problems == list(all_problems(analysis))
    assert looked_at == [SOUND, DAMAGED, SOUND]
    (problem,) = problems
    assert problem.layer == "pcq"
    assert "call #2: perf-data buffer of the response is damaged" in problem.text


def test_calls_of_a_part_are_noted_from_their_first_number_on(looked_at: list[bytes]) -> None:
    analysis = polls(*[SOUND] * 5)
    damages = Damages(first=4)
    for number in (4, 5):
        call_record(analysis.calls[number - 1], analysis, damages)
    assert [damages.is_sound(number) for number in (4, 5, 6)] == [True, True, False]
    assert looked_at == []


def test_a_side_alone_makes_no_call_sound() -> None:
    (call,) = polls(SOUND).calls
    damages = Damages()
    side_record(call, "response", polls(SOUND).capture, damages)
    assert not damages.is_sound(1)
    assert damages.of(1, "response", response(call)) is None
    side_record(call, "request", polls(SOUND).capture, damages)
    assert damages.is_sound(1)


@pytest.mark.parametrize("name", ["request", "response"])
def test_a_side_that_was_not_looked_at_is_looked_at_when_asked_for(name: SideName) -> None:
    (call,) = polls(DAMAGED).calls
    for noted in (False, True):
        damages = Damages()
        if noted:
            damages.note(2, name, response(call), None)
        assert damages.of(3000, name, response(call)) is not None


def test_a_long_stub_has_the_hash_and_length_of_its_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is beyond 1 MB is read in parts."""
    analysis = polls(SOUND)
    (call,) = analysis.calls
    whole = call_record(call, analysis).response
    monkeypatch.setattr(lines, "_LONG", 7)
    assert call_record(call, analysis).response == whole
    stub = response(call).stub
    assert whole is not None
    assert not isinstance(stub, Missing)
    assert (whole.stub_length, whole.stub_sha256) == (len(stub), sha256(stub.data).hexdigest())


def test_of_a_missing_stub_the_reason_is_stated_in_place_of_length_and_hash() -> None:
    analysis = analysis_of(Calls().exchange(6, Missing.SEALED, Missing.SEALED, reason="no key"))
    made = call_record(analysis.calls[0], analysis).response
    assert made is not None
    assert (made.stub_length, made.stub_sha256, made.why_missing) == (None, None, "sealed")


def test_times_between_calls_are_those_of_the_calls_shown() -> None:
    analysis = polls(*[SOUND] * 4)
    made = CallRecords()
    shown = [analysis.calls[at] for at in (0, 1, 3)]
    assert [made.record(call, analysis).time_delta_ns for call in shown] == [None, 2 * MS, 4 * MS]
    assert [call_record(call, analysis).time_relative_ns for call in shown] == [MS, 3 * MS, 7 * MS]


def test_buffers_are_json_text_where_that_was_asked_for() -> None:
    analysis = polls(SOUND)
    for for_json, kinds in ((True, (Raw, Pieces)), (False, (dict,))):
        (record,) = [one for one in timeline_records(analysis, for_json=for_json) if isinstance(one, CallRecord)]
        assert record.response is not None
        assert isinstance(record.response.buffer, kinds)
    (plain,) = [one for one in timeline_records(analysis) if isinstance(one, CallRecord)]
    assert plain.response is not None
    assert isinstance(plain.response.buffer, dict)


def test_the_last_record_counts_problems_and_the_calls_shown() -> None:
    analysis = polls(SOUND, DAMAGED, DAMAGED)
    shown = [(2, analysis.calls[1]), (3, analysis.calls[2])]
    *records, last = timeline_records(analysis, shown=shown, selected_by="a test")
    assert isinstance(last, SummaryRecord)
    assert (last.calls, last.calls_shown, last.selected_by) == (3, 2, "a test")
    found = Counter(record.kind for record in records if isinstance(record, ProblemRecord))
    assert (last.problems, last.problems_by_kind) == (2, dict(found))
    assert [record.number for record in records if isinstance(record, CallRecord)] == [2, 3]


def test_a_summary_leaves_out_what_was_not_there() -> None:
    tally = {("complete", "PerflibV2", "a"): 2, ("sealed", "PerflibV2", "a"): 1, ("complete", "winreg", "b"): 0}
    made = summary_record(tally, 4, Counter(gap=2, sealed=0), 1, None)  # type: ignore[arg-type]
    assert (made.calls, made.calls_by_state) == (3, {"complete": 2, "sealed": 1})
    assert made.calls_by_method == {"PerflibV2.a": 3}
    assert (made.problems, made.problems_by_kind, made.sessions) == (2, {"gap": 2}, 4)


@pytest.mark.parametrize(
    ("numbers", "frames"),
    [((2, 3), {3, 4, 5, 6}), ((2, 4), {3, 4, 7, 8}), ((1,), {1, 2}), ((), set())],
    ids=["calls that follow each other", "calls apart", "one call", "none"],
)
def test_problems_shown_are_those_of_the_frames_of_the_calls(numbers: tuple[int, ...], frames: set[int]) -> None:
    """Calls 1 to 4 are in frames 1 to 8; between calls that follow each other, what no call has belongs to them too."""
    analysis = polls(*[SOUND] * 4)
    problems = tuple(Problem("note", "test", (frame,), f"at {frame}") for frame in range(12))
    part = Part(numbers, (), "a test")
    made = list(shown_problems(replace(analysis, problems=problems, part=part)))
    assert {frame for problem in made for frame in problem.frames} == frames
    assert list(shown_problems(replace(analysis, problems=problems))) == list(problems)


def test_fields_are_there_for_methods_and_buffers_that_are_known() -> None:
    analysis = polls(SOUND)
    (call,) = analysis.calls
    for name in ("request", "response"):
        assert stub_fields(call, name) is not None
        assert stub_fields(replace(call, opnum=None), name) is None
        assert stub_fields(replace(call, opnum=99), name) is None
        other = replace(call.interface, uuid="12345678-1234-1234-1234-1234567890ab")
        assert stub_fields(replace(call, interface=other), name) is None
        assert stub_fields(replace(call, interface=replace(call.interface, uuid=None)), name) is None
    # A fault carries no stub of the method (C706 section 12.6.4.7).
    assert stub_fields(replace(call, fault=5), "response") is None
    assert stub_fields(replace(call, fault=5), "request") is not None
    assert stub_fields(replace(call, request=None), "request") is None
    answer = response(call)
    assert buffer_fields(answer) is not None
    assert buffer_fields(replace(answer, buffer_kind=None)) is None
    assert buffer_fields(replace(answer, buffer_span=None)) is None


def test_a_status_has_its_name_or_its_number() -> None:
    assert (status_name(5), status_name(4711)) == ("ERROR_ACCESS_DENIED", "error 4711")
