"""Handle lifetimes: every call on a handle, what it held then, and what should not have been."""

from __future__ import annotations

from struct import pack

from msgspec.structs import replace

from analyzer.core.events import Event, Problem
from analyzer.model.connection import Bound
from analyzer.statistics.handle_records import handle_record
from analyzer.statistics.handles import HandleEvent, HandleEvents, HandleLifetime, handle_lifetimes
from tests.build.buffers import Block, identifier, perf_data
from tests.build.calls import COUNTERSET, HANDLE, OTHER_HANDLE, Calls, analysis_of, sealed
from tests.build.rpc import CHANNEL, PCQ

ELSEWHERE = replace(CHANNEL, number=CHANNEL.number + 1)
ONE = Block(1, values=((pack("<I", 7),),))
A = identifier(COUNTERSET, counter=5, name="a")
B = identifier(COUNTERSET, counter=7, name="b")
BAD = identifier(COUNTERSET, status=0x106A, counter=99, name="c")


def wrong_uses(lifetime: HandleLifetime) -> list[HandleEvent]:
    """The calls on a handle that should not have been made."""
    return [event for event in lifetime.events if event.violations or lifetime.origin == "never opened"]


def lifetimes(*events: Event) -> tuple[HandleLifetime, ...]:
    return handle_lifetimes(analysis_of(*events))


def bound(channel: int = CHANNEL.number, group: int | None = None) -> Bound:
    return Bound(replace(CHANNEL, number=channel), 0, PCQ, (1, 0), "ndr", True, (1,), None, group)


def test_a_lifetime_from_opening_to_closing() -> None:
    make = Calls()
    (lifetime,) = lifetimes(
        make.open_query(),
        make.validate(A + B + BAD),
        make.counter_data(perf_data([ONE, ONE])),
        make.validate(BAD),
        make.counter_info(identifier(COUNTERSET, counter=7, index=0) + identifier(COUNTERSET, counter=5, index=1)),
        make.counter_data(b"", status=8),
        make.validate(A, add=0),
        make.close_query(),
    )
    assert [event.kind for event in lifetime.events] == [
        "open",
        "add",
        "poll",
        "add",
        "info",
        "poll",
        "remove",
        "close",
    ]
    assert [event.call for event in lifetime.events] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert (lifetime.origin, lifetime.opened, lifetime.end, lifetime.closed, lifetime.reason) == (
        "opened",
        1,
        "closed",
        8,
        None,
    )
    added = lifetime.events[1]
    assert [(known.counter_id, known.status) for known in added.identifiers or ()] == [(5, 0), (7, 0), (99, 0x106A)]
    first, second = lifetime.polls
    assert (first.view.id_source, first.blocks, first.succeeded) == ("replay", 2, True)
    assert {block: known.counter_id for block, known in first.view.blocks.items()} == {0: 5, 1: 7}
    assert (second.view.id_source, second.blocks, second.succeeded) == ("index", None, False)
    assert {block: known.counter_id for block, known in second.view.blocks.items()} == {0: 7, 1: 5}
    assert not wrong_uses(lifetime)


def test_two_clients_have_two_lives() -> None:
    make, other = Calls(), Calls(channel=ELSEWHERE, first_frame=100)
    first, second = lifetimes(
        make.open_query(),
        other.open_query(OTHER_HANDLE),
        make.validate(A),
        other.validate(B, handle=OTHER_HANDLE),
        make.counter_data(perf_data([ONE])),
        other.counter_data(perf_data([ONE]), OTHER_HANDLE),
    )
    assert [lifetime.polls[0].view.blocks[0].counter_id for lifetime in (first, second)] == [5, 7]
    assert (first.channels, second.channels) == ((CHANNEL.number,), (ELSEWHERE.number,))
    assert (first.end, second.end) == ("never closed", "never closed")


def test_use_after_close() -> None:
    make = Calls()
    (lifetime,) = lifetimes(make.open_query(), make.close_query(), make.counter_data(b"", status=6))
    (event,) = wrong_uses(lifetime)
    assert (event.call, event.kind, event.violations) == (3, "poll", ("after-close",))
    assert event.view.held is None


def test_use_on_another_association() -> None:
    make, other = Calls(), Calls(channel=ELSEWHERE, first_frame=100)
    calls = make.open_query(), other.counter_data(perf_data([]))
    for group, violation in ((7, "other-channel"), (8, "other-association"), (None, "other-channel")):
        (lifetime,) = lifetimes(bound(group=7), bound(ELSEWHERE.number, group), *calls)
        assert [event.violations for event in lifetime.events] == [(), (violation,)]


def test_a_handle_that_nobody_gave_out() -> None:
    call = Calls().counter_data(perf_data([]))
    (lifetime,) = lifetimes(bound(), call)
    assert (lifetime.origin, lifetime.opened) == ("never opened", None)
    assert [event.call for event in wrong_uses(lifetime)] == [1]
    (lifetime,) = lifetimes(call)
    assert (lifetime.origin, wrong_uses(lifetime)) == ("not captured", [])
    assert lifetime.reason is not None
    (lifetime,) = lifetimes(bound(), Problem("gap", "tcp", (1,), "lost"), call)
    assert lifetime.origin == "not captured"


def test_handles_of_an_association_that_began_before_the_capture_may_have_been_given_out_before() -> None:
    """A client that joins an association group may use its handles (C706 section 12.6.4.3)."""
    call = Calls().counter_data(perf_data([]))
    joined = replace(bound(group=7), joins_group=True)
    for others, origin in (((), "not captured"), ((8,), "not captured"), ((7,), "never opened")):
        (lifetime,) = lifetimes(*(bound(ELSEWHERE.number, group) for group in others), joined, call)
        assert lifetime.origin == origin


def test_whether_it_was_closed_may_be_unknown() -> None:
    make = Calls()
    opened = make.open_query()
    for event in (
        make.exchange(4, make.stub().handle(HANDLE), None),
        sealed(make.close_query()),
        Problem("gap", "tcp", (50,), "lost"),
    ):
        (lifetime,) = lifetimes(opened, event)
        assert (lifetime.end, lifetime.closed) == ("unknown", None)
        assert lifetime.reason is not None
    (lifetime,) = lifetimes(Problem("gap", "tcp", (1,), "lost"), opened)
    assert lifetime.end == "never closed"
    (lifetime,) = lifetimes(opened, make.close_query(status=6))
    assert (lifetime.end, lifetime.closed) == ("never closed", None)


def test_events_are_kept_in_columns() -> None:
    make = Calls()
    poll = perf_data([ONE])
    made = [
        make.open_query(),
        make.validate(A),
        *(make.counter_data(poll) for _ in range(50)),
        make.counter_data(b"", status=8),
    ]
    (lifetime,) = lifetimes(*made)
    events = tuple(lifetime.events)
    assert [event.call for event in events] == list(range(1, 54))
    assert len({event.time_ns for event in events}) == 53
    assert HandleEvents(events) == events == lifetime.events
    assert lifetime.events[3:5] == list(events[3:5])
    # Polls that are alike share all but number and time.
    assert isinstance(lifetime.events, HandleEvents)
    assert len(lifetime.events._alike) == 4


def test_counters_of_an_event_have_a_status_when_it_was_answered_and_a_place_when_it_was_listed() -> None:
    """QueryCounterInfo lists them by index ([MS-PCQ] section 3.1.4.1.5); ValidateCounters gives each a status."""
    make = Calls()
    analysis = analysis_of(
        make.open_query(),
        make.validate(A + BAD),
        make.counter_info(identifier(COUNTERSET, counter=5, index=3, name="a")),
        replace(make.validate(B), response=None, state="request-only", reason="lost"),
    )
    (lifetime,) = handle_lifetimes(analysis)
    _, added, listed, lost = handle_record(lifetime, analysis).events
    assert [(one.status, one.index) for one in added.counters or ()] == [(0, None), (0x106A, None)]
    assert [(one.status, one.index) for one in listed.counters or ()] == [(0, 3)]
    assert [(one.status, one.status_name, one.index) for one in lost.counters or ()] == [(None, None, None)]
