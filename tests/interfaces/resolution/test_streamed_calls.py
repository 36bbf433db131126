"""Calls come in order as soon as nothing before them is open; what is open for too long keeps its number."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from analyzer.core.events import Moment, Problem
from analyzer.interfaces.calls_from_exchanges import plain_call
from analyzer.interfaces.pcq.perflib_layer import CatalogLearner, Loss, PerflibLayer, perflib_call
from analyzer.interfaces.resolution import streamed_calls as stream_module
from analyzer.interfaces.resolution.streamed_calls import CallStream
from analyzer.interfaces.winperf.winreg_layer import KeyFollower
from analyzer.results.calls.call import Call
from analyzer.results.methods.perflib import INTERFACE
from analyzer.transport.rpc.exchange_maker import Exchange, OpenCall
from tests.build.calls import MS, Calls
from tests.interfaces.pcq.test_handle_following import CONVERSATION, LOST, conversation, facts
from tests.interfaces.resolution.test_unbound_calls import DATA, nameless
from tests.written import Told

HANDLE, OTHER = "11111111-0000-0000-0000-000000000000", "22222222-0000-0000-0000-000000000000"


class Fed:
    """A stream of calls, and what came of them."""

    def __init__(self, losses: Iterable[Loss] = (), *, most: int = 100) -> None:
        self.stream = CallStream(list(losses), CatalogLearner(), KeyFollower(learning=False), most)
        self.problems: list[Problem] = []

    def take(self, *calls: Exchange | Call) -> Fed:
        for call in calls:
            made = call if isinstance(call, Call) else perflib_call(plain_call(call))
            self.problems += self.stream.take_call(made)
        return self

    def until(self, before: Moment | None, *still_open: OpenCall) -> list[tuple[int, int]]:
        """Number and call id of the calls that came."""
        return [(call.number, call.call_id) for call in self.stream.until(before, still_open)]


def at(frame: int) -> Moment:
    return frame * MS, frame


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


def moment(word: str) -> Moment:
    """`frame`, or `frame.number` of one of another number at its time."""
    frame, _, number = word.partition(".")
    return int(frame) * MS, int(number or frame)


def said(words: str) -> str:
    """Calls `first-last#id` by their frames, and `until:moment` as number and id of those that are due then, `until:end` of all;
    behind `+` which are open then, `channel/id@moment`. At most `most=` wait."""
    first, *rest = words.split()
    most = int(first.removeprefix("most=")) if first.startswith("most=") else 100
    fed, out = Fed(most=most), list[str]()
    for word in [first, *rest][first.startswith("most=") :]:
        if word.startswith("until:"):
            until, *still_open = word.removeprefix("until:").split("+")
            opened = [re.split("[/@]", one) for one in still_open]
            found = fed.until(
                None if until == "end" else moment(until),
                *(OpenCall(int(channel), int(number), moment(begun)) for channel, number, begun in opened),
            )
            out.append(f"{word}: {' '.join(f'{number}#{call_id}' for number, call_id in found) or 'none'}")
        else:
            begun, ended, number = map(int, re.split("[-#]", word))
            fed.take(slow(begun, ended, number))
    out += [f"{fed.stream.late} late"] if fed.stream.late else []
    out += [f"{note.kind}: {note.text}" for note in fed.stream.notes()]
    return "".join(f"  = {line}\n" for line in out)


TOLD = Told(Path(__file__).with_name("streamed_calls.txt"), said)


@pytest.mark.parametrize("name", TOLD.words)
def test_calls_come_in_the_order_of_their_beginnings(name: str) -> None:
    TOLD.holds(name)


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
                assert list(stream.take_call(made)) == []
                found += stream.until(at(made.frames[0]))
    found += stream.until(None)
    assert [call.number for call in found] == list(range(1, len(CONVERSATION) + 1))
    # A request was lost before the twelfth, and what tells of what it was came after that was given out.
    expected = [*CONVERSATION[:11], (1, {}, None, None, LOST), *CONVERSATION[12:]]
    assert [facts(call.query) for call in found] == expected
    assert (stream.given, stream.late, list(stream.notes())) == (len(CONVERSATION), 0, [])
    assert sum(stream.tally.values()) == len(CONVERSATION)
