"""Calls come in order as soon as nothing before them is open; what is open for too long keeps its number."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from analyzer.core.events import Moment, Problem
from analyzer.interfaces.pcq.perflib_layer import CatalogLearner, Loss, PerflibLayer, perflib_call
from analyzer.interfaces.resolution import call_stream as stream_module
from analyzer.interfaces.resolution.call_stream import CallStream
from analyzer.interfaces.winperf.winreg_layer import KeyFollower
from analyzer.results.call import Call
from analyzer.results.perflib import INTERFACE
from analyzer.transport.rpc.exchange import Exchange, OpenCall
from analyzer.transport.rpc.plain_call import plain_call
from tests.build.calls import MS, Calls
from tests.build.rpc import CHANNEL
from tests.interfaces.pcq.test_follow import CONVERSATION, LOST, conversation, facts
from tests.interfaces.resolution.test_unbound_calls import DATA, nameless

HANDLE, OTHER = "11111111-0000-0000-0000-000000000000", "22222222-0000-0000-0000-000000000000"


class Fed:
    """A stream of calls, and what came of them."""

    def __init__(self, losses: Iterable[Loss] = (), *, most: int = 100) -> None:
        self.stream = CallStream(list(losses), CatalogLearner(), KeyFollower(learning=False), most)
        self.problems: list[Problem] = []

    def take(self, *calls: Exchange | Call) -> Fed:
        for call in calls:
            made = call if isinstance(call, Call) else perflib_call(plain_call(call))
            self.problems += self.stream.take(made)
        return self

    def until(self, before: Moment | None, *still_open: OpenCall) -> list[tuple[int, int]]:
        """Number and call id of the calls that came."""
        return [(call.number, call.call_id) for call in self.stream.until(before, still_open)]


def at(frame: int) -> Moment:
    return frame * MS, frame


def polls(count: int, *, handle: str = HANDLE) -> list[Exchange]:
    """Polls whose requests are in frames 1, 3, 5, ..., and whose answers are in 2, 4, 6, ..."""
    make = Calls()
    return [make.counter_data(DATA, handle=handle) for _ in range(count)]


def slow(first: int, last: int, call_id: int) -> Exchange:
    """A poll with its request and its answer in these frames."""
    make = Calls(first_frame=first)
    make.call_id = call_id - 1
    asked = make.counter_data(DATA, handle=OTHER)
    make.frame, make.call_id = last - 2, call_id - 1
    answered = make.counter_data(DATA, handle=OTHER)
    return type(asked)(
        **{**{name: getattr(asked, name) for name in asked.__struct_fields__}, "response": answered.response}
    )


def test_a_call_comes_when_all_before_its_end_was_read() -> None:
    fed = Fed().take(*polls(2))
    assert fed.until(at(2)) == []
    assert fed.until((2 * MS, 3)) == [(1, 1)]
    assert fed.until(at(4)) == []
    assert fed.until(at(5)) == [(2, 2)]
    assert fed.until(None) == []


def test_order_is_that_of_requests_whichever_ended_first() -> None:
    first, second = polls(2)
    late = slow(2, 9, 77)
    fed = Fed().take(first, second)
    # The slow one is open, so that nothing is known from its beginning on.
    assert fed.until(at(2)) == []
    fed.take(late)
    assert fed.until(at(10)) == [(1, 1), (2, 77), (3, 2)]


def test_what_is_passed_over_keeps_its_number() -> None:
    first, second = polls(2)
    fed = Fed().take(first, second)
    is_open = OpenCall(CHANNEL.number, 77, at(2))
    assert fed.until(at(6), is_open) == [(1, 1), (3, 2)]
    # It is stated as long as it is open, and has one number.
    assert fed.until(at(7), is_open) == []
    fed.take(slow(2, 9, 77))
    assert fed.until(at(10)) == [(2, 77)]
    assert fed.stream.late == 0
    assert list(fed.stream.notes()) == []


def test_of_calls_of_one_frame_the_one_that_is_complete_comes_first() -> None:
    first, second = polls(2)
    fed = Fed().take(first, second)
    assert fed.until(at(6), OpenCall(CHANNEL.number, 77, at(1))) == [(1, 1), (3, 2)]
    fed.take(slow(1, 9, 77))
    assert fed.until(at(10)) == [(2, 77)]


def test_a_call_that_began_with_the_last_is_not_late() -> None:
    (first,) = polls(1)
    fed = Fed().take(first)
    assert fed.until(at(6)) == [(1, 1)]
    fed.take(slow(1, 9, 77))
    assert fed.until(None) == [(2, 77)]
    assert fed.stream.late == 0


def test_what_nobody_knew_to_be_open_is_late_and_that_is_stated() -> None:
    fed = Fed().take(*polls(2))
    assert fed.until(at(6)) == [(1, 1), (2, 2)]
    fed.take(slow(2, 9, 77))
    assert fed.until(None) == [(3, 77)]
    (note,) = fed.stream.notes()
    assert note.kind == "note"
    assert note.text.startswith("1 calls began before")


def test_no_more_wait_than_may() -> None:
    fed = Fed(most=10).take(*polls(10))
    assert fed.until(at(1)) == []
    fed.take(*polls(12)[10:])
    assert [number for number, _ in fed.until(at(1))] == list(range(1, 13))


@pytest.mark.parametrize("moved", [1, 4, 4096])
def test_moving_what_waits_changes_nothing(moved: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_module, "_MOVED", moved)
    make = Calls()
    opened, other = make.open_query(handle=HANDLE), make.open_query(handle=OTHER)
    calls = [opened, other, *(make.counter_data(DATA, handle=handle) for handle in (HANDLE, OTHER) * 10)]
    fed, found = Fed(), list[Call]()
    for frame, call in zip(range(2, 100, 2), calls, strict=False):
        fed.take(call)
        found += fed.stream.until(at(frame))
    found += fed.stream.until(None)
    assert [call.number for call in found] == list(range(1, 23))
    assert [call.handle for call in found] == ["q1", "q2"] * 11
    assert [call.call_id for call in found] == list(range(1, 23))
    assert sum(fed.stream.tally.values()) == 22


def test_calls_without_a_bind_are_known_from_the_first_proof_on() -> None:
    make = Calls()
    fed = Fed().take(*nameless(make.open_query(), make.counter_data(DATA), make.close_query()))
    assert [call.interface.uuid for call in fed.stream.until(None)] == [None, INTERFACE, INTERFACE]
    (note,) = fed.stream.notes()
    assert note.frames == (3, 4, 5, 6)
    assert "3 calls" in note.text
    assert note.text.endswith("the first 1 of them were printed before that was known")


def test_a_call_that_contradicts_ends_that() -> None:
    make = Calls()
    calls = nameless(
        make.counter_data(DATA), make.exchange(6, b"something else", b"altogether"), make.counter_data(DATA)
    )
    fed = Fed().take(*calls)
    assert [call.interface.uuid for call in fed.stream.until(None)] == [INTERFACE, None, None]
    (problem,) = fed.problems
    assert problem.frames == (3, 4)
    assert "taken for PerflibV2 so far" in problem.text
    assert list(fed.stream.notes()) == []


@pytest.mark.parametrize("moved", [1, 3, 4096])
def test_a_whole_conversation_comes_as_it_is_followed(moved: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each call with its number and the state of its handle as far as it is known by then."""
    monkeypatch.setattr(stream_module, "_MOVED", moved)
    layer = PerflibLayer(learning=False)
    stream = CallStream(layer.losses, CatalogLearner(), KeyFollower(learning=False), 100)
    found: list[Call] = []
    for event in conversation():
        for made in layer.feed(event):
            if isinstance(made, Call):
                assert list(stream.take(made)) == []
                found += stream.until(at(made.frames[0]))
    found += stream.until(None)
    assert [call.number for call in found] == list(range(1, len(CONVERSATION) + 1))
    # A request was lost before the twelfth, and what tells of what it was came after that was given out.
    expected = [*CONVERSATION[:11], (1, {}, None, None, LOST), *CONVERSATION[12:]]
    assert [facts(call.query) for call in found] == expected
    assert (stream.given, stream.late, list(stream.notes())) == (len(CONVERSATION), 0, [])
    assert sum(stream.tally.values()) == len(CONVERSATION)


def test_calls_that_begin_before_the_moment_are_due_and_no_others() -> None:
    """Frame and time decide, the time first."""
    fed = Fed().take(*polls(3))
    assert fed.until((5 * MS, 5)) == [(1, 1), (2, 2)]
    assert fed.until((5 * MS, 6)) == []
    assert fed.until((6 * MS, 6)) == []
    assert fed.until((6 * MS, 7)) == [(3, 3)]


def test_what_waits_for_too_long_is_waited_for_no_longer() -> None:
    """As many wait as may; one more, and all are given out."""
    for most, numbers in ((3, []), (2, [1, 2, 3])):
        fed = Fed(most=most).take(*polls(3))
        assert [number for number, _ in fed.until(at(1))] == numbers


def test_two_that_are_open_keep_numbers_in_the_order_of_their_beginnings() -> None:
    first, second = polls(2)
    fed = Fed().take(first, second)
    still_open = OpenCall(CHANNEL.number, 78, (2 * MS, 5)), OpenCall(CHANNEL.number, 77, at(2)), OpenCall(9, 77, at(4))
    assert fed.until(at(6), *still_open) == [(1, 1), (4, 2)]
    fed.take(slow(2, 9, 77), slow(2, 11, 78))
    assert fed.until(at(20)) == [(2, 77), (3, 78)]
    assert fed.stream.late == 0
