"""What a handle held when a call was made, however the calls lie in time and whatever was lost: `handle_following.txt` says it
of each call, and each name is a promise.

`open`, `close`, `info=TWO`, `add=MORE`, `remove=FIVE` and `poll=2` are calls that are answered, with these identifiers or so many
blocks; `2` behind the name is another handle. `gap` are lost requests, `skip=2` two call ids that were not met. Behind a call
stand its status (`!87`), the milliseconds of its request and answer (`@20-30`) and what is odd of it: `?` no request, `-` no
answer, `~` sealed, `^` a signature that does not fit, `%` an unknown method, `&` an unknown interface, `<` it comes out before
the call in front of it.
`PCQ_WRITE_PAGES=1 pytest -n 0 THIS_FILE` writes what is said.
"""

import re
from itertools import groupby
from pathlib import Path
from struct import pack

import pytest
from msgspec.structs import replace

from analyzer.core.events import Event
from analyzer.interfaces.calls_from_exchanges import plain_call
from analyzer.interfaces.pcq import query_handles as follow_module
from analyzer.interfaces.pcq.perflib_layer import PerflibLayer
from analyzer.interfaces.pcq.query_handles import Following
from analyzer.results.calls.call import Call, Side
from analyzer.results.calls.call_table import CallTable
from analyzer.results.calls.query_state import QueryView
from analyzer.transport.channel.channels import ChannelGap
from analyzer.transport.rpc.exchange_maker import Exchange
from tests.build.buffers import Block, identifier, perf_data
from tests.build.calls import COUNTERSET, HANDLE, MS, OTHER_HANDLE, Calls, analysis_of, sealed, unanswered, winreg
from tests.build.rpc import CHANNEL
from tests.written import Told

ONE = Block(1, values=((pack("<I", 7),),))
DATA = {count: perf_data([ONE] * count) for count in range(4)}
TWO = identifier(COUNTERSET, counter=5, index=1, name="a") + identifier(COUNTERSET, counter=7, index=0, name="b")
MORE = identifier(COUNTERSET, counter=9, index=2, name="c")
GAP = ChannelGap(CHANNEL, True, 100, (3, 4), "lost")


def views(*events: Event) -> list[QueryView | None]:
    calls = analysis_of(*events).calls
    return [call.query if call.is_perflib else None for call in calls]


def ids(view: QueryView | None) -> dict[int, int]:
    return {block: known.counter_id for block, known in view.blocks.items()}


def moved(exchange: Exchange, request_ms: int | None = None, response_ms: int | None = None) -> Exchange:
    """The same call at another time."""

    def at(message: Side | None, ms: int | None) -> Side | None:
        if message is None or ms is None:
            return message
        return replace(message, first_time_ns=ms * MS, last_time_ns=ms * MS, frames_of_dropped=(ms,))

    return replace(exchange, request=at(exchange.request, request_ms), response=at(exchange.response, response_ms))


def without_request(exchange: Exchange) -> Exchange:
    return replace(exchange, opnum=None, request=None, state="response-only", reason="the request was not captured")


Facts = tuple[int, dict[int, int], list[int] | None, str | None, str | None] | None


def facts(view: QueryView | None) -> Facts:
    """All that a view says: number, blocks, what is held, how that is known, and why not."""
    if view is None:
        return None
    held = [one.counter_id for one in view.held] if view.held is not None else None
    return view.number, ids(view), held, view.id_source, view.unknown


WORD = re.compile(r"([a-z]+)(2)?(=([^!@?~^%&<-][^!@?~^%&<]*?))?(!(\d+))?(@(\d+)-(\d+))?([?~^%&<-]*)")
KNOWN = {
    "TWO": TWO,
    "MORE": MORE,
    "FIVE": TWO[: len(TWO) // 2],
    "THREE": identifier(COUNTERSET, counter=3, name="d"),
    "CUT": MORE[:-3],
    "HALF": TWO[:-9],
}


def listed(names: str) -> bytes:
    return b"".join(KNOWN[name] for name in names.split("+"))


def spoken(words: str) -> list[Event]:
    make, events = Calls(), list[Event]()
    for word in words.split():
        found = WORD.fullmatch(word)
        assert found is not None, word
        what, other, _, data, _, status, _, begin, end, odd = found.groups()
        handle, code = OTHER_HANDLE if other else HANDLE, int(status or 0)
        parts = (data or "TWO").split("|")
        match what:
            case "gap":
                events.append(GAP)
                continue
            case "skip":
                make.call_id += int(data)
                continue
            case "open":
                call = make.open_query(handle, code)
            case "close":
                call = make.close_query(handle)
            case "info":
                call = make.counter_info(listed(parts[0]), handle)
            case "poll":
                call = make.counter_data(perf_data([ONE] * int(data)), handle, status=code)
            case "odd":
                call = make.exchange(7, b"\1", b"\2")
            case _:
                call = make.validate(*map(listed, parts), add=int(what == "add"), status=code)
        at = len(events) - ("<" in odd)
        events.insert(at, changed(moved(call, int(begin), int(end)) if begin else call, odd))
    return events


def changed(call: Exchange, odd: str) -> Exchange:
    for mark in odd:
        match mark:
            case "?":
                call = without_request(call)
            case "-":
                call = unanswered(call, "the answer was not captured")
            case "~":
                call = sealed(call)
            case "^":
                call = replace(call, auth=replace(call.auth, verified=False))
            case "%":
                call = replace(call, opnum=None, state="partial", reason="no first fragment")
            case "&":
                call = replace(call, interface=None, version=None)
    return call


def known_at(view: QueryView | None) -> str:
    if view is None:
        return "nothing"
    number, blocks, held, source, unknown = facts(view)
    return f"handle {number}, blocks {blocks}, held {held}, by {source}{f' ({unknown})' if unknown else ''}"


def said(words: str) -> str:
    """Of each call its method, and what was known of its handle; of calls in a row with the same knowledge at once."""
    lines = groupby(analysis_of(*spoken(words)).calls, lambda call: known_at(call.query))
    return "".join(f"  = {', '.join(f'{call.opnum}' for call in calls)}: {known}\n" for known, calls in lines)


TOLD = Told(Path(__file__).parent / "handle_following.txt", said)


@pytest.mark.parametrize("name", TOLD.words)
def test_what_is_known_of_a_handle_at_each_call_is_what_was_read_through(name: str) -> None:
    TOLD.holds(name)


def test_the_answers_to_lost_requests_may_show_that_they_changed_nothing() -> None:
    def after(*kinds: str, gap: Event = GAP) -> dict[int, int]:
        """The blocks as the poll after a gap sees them, in which the requests of these calls were lost."""
        make = Calls()
        made = {
            "poll": lambda: without_request(make.counter_data(DATA[2])),
            "validate": lambda: without_request(make.validate(MORE)),
            "big-endian": lambda: without_request(
                replace(
                    Calls(big_endian=True, first_frame=make.frame + 1).validate(MORE),
                    call_id=make.exchange(6, b"", b"").call_id,
                )
            ),
            "padded": lambda: without_request(
                make.exchange(7, None, make.stub().conformant(MORE).uint(0).data + b"\x55" * 4)
            ),
            "fault": lambda: without_request(replace(make.validate(MORE), response=None, fault=5)),
            "gone": lambda: (make.counter_data(DATA[2]), None)[1],
            "partial": lambda: replace(make.open_query(), state="partial", reason="cut"),
            "registry": lambda: replace(
                winreg().query_value("Global", b""), call_id=make.exchange(6, b"", b"").call_id
            ),
        }
        events = [make.open_query(), make.counter_info(TWO), gap]
        events += [event for kind in kinds if (event := made[kind]()) is not None]
        return ids(views(*events, make.counter_data(DATA[2]))[-1])

    known = {0: 7, 1: 5}
    assert after() == after("poll") == after("poll", "poll") == after("partial") == known
    assert after("gone") == after("poll", "gone") == after("gone", "poll") == {}
    assert after("validate") == after("poll", "validate") == after("padded") == after("big-endian") == {}
    assert after("gone", gap=ChannelGap(CHANNEL, False, 100, (3, 4), "lost")) == known
    assert after("validate", gap=ChannelGap(replace(CHANNEL, number=9), True, 100, (3, 4), "lost")) == {}


def test_numbers_that_do_not_grow_tell_nothing_of_what_was_lost() -> None:
    make = Calls()
    events = make.open_query(), make.counter_info(TWO), make.counter_data(DATA[2]), GAP, make.counter_data(DATA[2])
    assert ids(views(*events)[-1]) == {0: 7, 1: 5}
    assert (
        ids(views(*(replace(event, call_id=1) if isinstance(event, Exchange) else event for event in events))[-1]) == {}
    )


def test_polls_that_were_answered_are_followed_without_being_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    make = Calls()
    made = [make.open_query(), make.counter_info(TWO), *(make.counter_data(DATA[2]) for _ in range(20))]
    read: list[int] = []
    unpack = CallTable.read

    def noted(self: CallTable, at: int, number: int, query: QueryView | None) -> Call:
        read.append(at)
        return unpack(self, at, number, query)

    monkeypatch.setattr(CallTable, "read", noted)
    analysis = analysis_of(*made)
    assert set(read) <= {0, 1}
    assert [ids(call.query) for call in list(analysis.calls)[2:]] == [{0: 7, 1: 5}] * 20


class Followed:
    """Calls that are followed some at a time, as while a capture is read."""

    def __init__(self) -> None:
        self.layer = PerflibLayer()
        self.calls = CallTable()
        self.following = Following(self.calls, self.layer.losses)
        self.placed = 0
        self.first = 0

    def take(self, *events: Event) -> None:
        """Calls, in order, and gaps."""
        for event in events:
            for made in self.layer.feed(event):
                if isinstance(made, Exchange):
                    made = plain_call(made)
                if isinstance(made, Call):
                    self.following.add([self.calls.append(made)])
                    self.placed += 1

    def until(self, frame: int | None) -> int:
        """The place of the first call that is still to begin or to end."""
        self.following.until((frame * MS, frame) if frame is not None else None)
        return self.following.settled

    def move(self, first: int) -> None:
        """Leaves the calls before a place behind."""
        moved = CallTable()
        order = [moved.append(self.calls[self.following.row_of(at)]) for at in range(first, self.placed)]
        self.following.moved(first, moved, order)
        self.calls, self.first = moved, first

    @property
    def facts(self) -> list[Facts]:
        return [facts(self.following.view(at)) for at in range(self.first, self.placed)]


def conversation() -> list[Event]:
    """Handles of two clients: counters added one by one, listed and removed; a call in between that was not read, and a request
    that was lost."""
    make, other = Calls(), Calls(channel=replace(CHANNEL, number=1), first_frame=2)
    out: list[Event] = []

    def both(*events: Event) -> None:
        # So that the frames of the two clients follow each other.
        make.frame = other.frame = max(make.frame, other.frame)
        out.extend(events)

    both(make.open_query())
    both(other.open_query(OTHER_HANDLE))
    both(make.validate(identifier(COUNTERSET, counter=5, name="a")))
    both(other.counter_info(TWO, OTHER_HANDLE))
    both(make.counter_data(DATA[1]))
    both(other.counter_data(DATA[2], OTHER_HANDLE))
    both(make.validate(MORE))
    both(make.counter_data(DATA[2]))
    both(other.exchange(7, other.stub().handle(OTHER_HANDLE).uint(0).conformant(b"").uint(1), None))
    both(other.counter_data(DATA[2], OTHER_HANDLE))
    both(make.counter_data(DATA[2]))
    both(ChannelGap(CHANNEL, True, 100, (3, 4), "lost"))
    make.call_id += 3
    both(make.counter_data(DATA[2]))
    both(make.counter_info(TWO))
    both(make.counter_data(DATA[2]))
    both(make.validate(identifier(COUNTERSET, counter=5, index=1, name="a"), add=0))
    both(make.counter_data(DATA[1]))
    both(make.close_query())
    return out


TOGETHER = "the handle was changed by another call that was under way at the same time"
LOST = "a request was lost that may have changed the handle"
UNREAD = "a ValidateCounters that may have changed the handle could not be read"
CONVERSATION: list[Facts] = [
    (1, {}, [], "replay", None),
    (2, {}, [], "replay", None),
    (1, {}, [], "replay", None),
    (2, {}, [], "replay", None),
    (1, {0: 5}, [5], "replay", None),
    (2, {0: 7, 1: 5}, [7, 5], "index", None),
    (1, {0: 5}, [5], "replay", None),
    (1, {0: 5, 1: 9}, [5, 9], "replay", None),
    # A ValidateCounters without an answer: from its request on, the handle of the other client may hold anything.
    (2, {0: 7, 1: 5}, [7, 5], "index", None),
    (2, {}, None, None, UNREAD),
    (1, {0: 5, 1: 9}, [5, 9], "replay", None),
    # A request was lost, and the list that comes after it says what this answer was of.
    (1, {0: 7, 1: 5}, [7, 5], "index", None),
    (1, {}, None, None, LOST),
    (1, {0: 7, 1: 5}, [7, 5], "index", None),
    (1, {0: 7, 1: 5}, [7, 5], "index", None),
    (1, {0: 7}, [7], "replay", None),
    (1, {0: 7}, [7], "replay", None),
]


@pytest.mark.parametrize("at_once", [1, 2, 3, 7, follow_module._AT_ONCE])
def test_windows_of_time_change_nothing(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What happens is put in order some calls at a time; frames that are not in the order of their times cross these windows."""
    monkeypatch.setattr(follow_module, "_AT_ONCE", at_once)
    assert [facts(view) for view in views(*conversation())] == CONVERSATION
    make = Calls()
    opened, reported = make.open_query(), make.counter_info(TWO)
    late = moved(make.counter_data(DATA[2]), 5, 60)
    change = moved(make.validate(MORE), 20, 30)
    polls = [moved(make.counter_data(DATA[3]), time, time + 1) for time in range(40, 50)]
    seen = [facts(view) for view in views(opened, reported, late, change, *polls)]
    assert seen[2] == (1, {}, None, None, TOGETHER)
    assert seen[4:] == [(1, {0: 7, 1: 5, 2: 9}, [7, 5, 9], "replay", None)] * 10


@pytest.mark.parametrize("step", [1, 2, 3, 5, 7, 40])
def test_reading_some_frames_at_a_time_changes_nothing(step: int) -> None:
    followed, settled = Followed(), []
    for event in conversation():
        followed.take(event)
        if isinstance(event, Exchange) and event.request is not None and event.request.first_frame % step == 0:
            settled.append(followed.until(event.request.first_frame))
    # Each call ended before the next one began.
    frames = [
        one.request.first_frame for one in conversation() if isinstance(one, Exchange) and one.request is not None
    ]
    assert settled == [place for place, frame in enumerate(frames) if frame % step == 0]
    assert followed.until(None) == len(CONVERSATION)
    assert followed.facts == CONVERSATION


@pytest.mark.parametrize("lag", [0, 1, 2, 3])
def test_what_was_given_out_is_left_behind(lag: int) -> None:
    """So many calls are kept that were followed: QueryCounterInfo names what was polled before it, as far back as these."""
    followed, given = Followed(), list[Facts]()
    for event in conversation():
        followed.take(event)
        if isinstance(event, Exchange) and event.request is not None:
            until = followed.until(event.request.first_frame) - lag
            if until > followed.first:
                given += followed.facts[: until - followed.first]
                followed.move(until)
    followed.until(None)
    expected = list(CONVERSATION)
    if not lag:
        expected[11] = (1, {}, None, None, LOST)
    assert [*given, *followed.facts] == expected


def test_a_loss_is_followed_when_the_capture_was_read_beyond_it() -> None:
    make = Calls()
    followed = Followed()
    followed.take(make.open_query(), make.counter_info(TWO), make.counter_data(DATA[2]), GAP)
    make.call_id += 1
    followed.take(make.counter_data(DATA[2]))
    # The loss is after the answer in frame 6.
    assert [len(followed.layer.losses), followed.until(6), len(followed.layer.losses)] == [1, 2, 1]
    assert [followed.until(7), len(followed.layer.losses)] == [3, 0]
    followed.take(make.counter_info(TWO), ChannelGap(CHANNEL, True, 100, (3, 4), "lost"))
    assert [followed.until(None), len(followed.layer.losses)] == [5, 0]
    assert followed.facts[2:] == [
        (1, {0: 7, 1: 5}, [7, 5], "index", None),
        (1, {0: 7, 1: 5}, [7, 5], "index", None),
        (1, {}, None, None, LOST),
    ]


@pytest.mark.parametrize(
    ("answered", "blocks"),
    [
        (DATA[2], {0: 7, 1: 5}),
        # What is read of a long answer: its first 256 bytes, or all of it where these hold fewer blocks than it promises.
        (perf_data([Block(6, ids=tuple(range(40)), instances=(("a", 1),), values=((pack("<I", 7),) * 40,)), ONE]), {}),
        (perf_data([ONE, Block(6, ids=tuple(range(40)), instances=(("a", 1),), values=((pack("<I", 7),) * 40,))]), {}),
        (perf_data([ONE] * 20), {}),
        (DATA[3], {}),
        (b"", {0: 7, 1: 5}),
        (DATA[2][:40], {0: 7, 1: 5}),
    ],
)
def test_an_answer_contradicts_what_was_added_by_the_shape_of_its_blocks(
    answered: bytes, blocks: dict[int, int]
) -> None:
    make = Calls()
    added = identifier(COUNTERSET, counter=7, instance=3, name="b") + identifier(
        COUNTERSET, counter=5, instance=3, name="a"
    )
    assert ids(views(make.open_query(), make.validate(added), make.counter_data(answered))[-1]) == blocks
    # A refused poll says nothing, whatever it carries.
    make = Calls()
    refused = make.counter_data(answered, status=8)
    assert ids(views(make.open_query(), make.validate(added), refused, make.counter_data(DATA[2]))[-1]) == {0: 7, 1: 5}
