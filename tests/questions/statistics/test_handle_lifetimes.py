"""Handle lifetimes: every call on a handle, what it held then, and what should not have been."""

from collections.abc import Iterator
from pathlib import Path
from struct import pack

import pytest
from msgspec.structs import replace

from analyzer.core.events import Event, Problem
from analyzer.questions.statistics import handle_lifetimes as handle_records_module
from analyzer.questions.statistics.handle_lifetimes import (
    MAX_POSITIONS,
    HandleEvents,
    HandleLifetime,
    handle_lifetimes,
    handle_record,
    handle_records,
    shown_lifetimes,
)
from analyzer.results.analysis import Part
from analyzer.results.connection import Bound
from analyzer.results.records.handle import CounterFacts, Holding
from tests.build.buffers import Block, identifier, perf_data
from tests.build.calls import COUNTERSET, HANDLE, OTHER_HANDLE, Calls, altered, analysis_of, sealed, unanswered
from tests.build.rpc import CHANNEL, PCQ
from tests.written import Outcomes

ELSEWHERE = replace(CHANNEL, number=CHANNEL.number + 1)
ONE = Block(1, values=((pack("<I", 7),),))
A = identifier(COUNTERSET, counter=5, name="a")
B = identifier(COUNTERSET, counter=7, name="b")
BAD = identifier(COUNTERSET, status=0x106A, counter=99, name="c")
ANY_BAD = identifier(COUNTERSET, status=0x106A, counter=0xFFFFFFFF, instance=0xFFFFFFFF, name="c")
LISTED = identifier(COUNTERSET, counter=7, index=0) + identifier(COUNTERSET, counter=5, index=1)
NOTHING, VALUE, TWO = perf_data([]), perf_data([ONE]), perf_data([ONE, ONE])


def lifetimes(*events: Event) -> tuple[HandleLifetime, ...]:
    return handle_lifetimes(analysis_of(*events))


def bound(channel: int = CHANNEL.number, group: int | None = None, *, joins: bool = False) -> Bound:
    return Bound(replace(CHANNEL, number=channel), 0, PCQ, (1, 0), "ndr", True, (1,), None, group, joins_group=joins)


def lost(*frames: int, kind: str = "gap") -> Problem:
    return Problem(kind, "tcp", frames, "lost")


def of_calls() -> Iterator[tuple[str, list[Event]]]:
    """What is done with a handle, call by call."""
    make, other = Calls(), Calls(channel=ELSEWHERE, first_frame=100)
    added = make.open_query(), make.validate(A + B + BAD), make.counter_data(TWO), make.validate(BAD)
    again = make.counter_info(LISTED), make.counter_data(b"", status=8), make.validate(A, add=0), make.close_query()
    yield "a lifetime from opening to closing", [*added, *again]
    make = Calls()
    both = make.open_query(), other.open_query(OTHER_HANDLE), make.validate(A), other.validate(B, handle=OTHER_HANDLE)
    polls = make.counter_data(VALUE), other.counter_data(VALUE, OTHER_HANDLE)
    yield "two clients have two lives", [*both, *polls]
    make = Calls()
    named = make.open_query(), make.validate(A + BAD), make.counter_info(identifier(COUNTERSET, counter=5, index=3))
    yield "counters have a status when answered and a place when listed", [*named, unanswered(make.validate(B))]
    make = Calls()
    yield "adding is any number but zero", [make.open_query(), *(make.validate(A, add=add) for add in (0, 1, 7))]
    make, other = Calls(), Calls(channel=ELSEWHERE, first_frame=100)
    made = make.open_query(), make.counter_data(VALUE), make.counter_data(TWO)
    faulted, failed = replace(make.counter_data(b""), fault=0x1C00001A), make.counter_data(b"", status=8)
    rest = faulted, failed, unanswered(make.counter_data(VALUE)), other.counter_data(VALUE)
    yield "polls that are not alike are kept apart", [*made, *rest]
    make = Calls()
    refused = make.open_query(), make.validate(ANY_BAD), make.counter_data(b"", status=6)
    yield "statuses have names", [*refused]
    make = Calls()
    steps = [make.open_query()]
    for number in range(3):
        steps.append(make.validate(identifier(COUNTERSET, counter=number, name="a")))
        steps += [make.counter_data(perf_data([ONE] * (number + 1))) for _ in range(2)]
    yield "a holding is listed once", steps
    # One counter held: blocks up to twice that and sixteen more; an index that a server made up is no long list.
    for index in (0, 3, 17, 18, 0x7FFFFFFF):
        make = Calls()
        opened, info = make.open_query(), make.counter_info(identifier(COUNTERSET, counter=5, index=index))
        yield f"a counter has the index {index}", [opened, info, make.counter_data(VALUE)]


def of_origins() -> Iterator[tuple[str, list[Event]]]:
    """Who gave a handle out, and to whom. A client that joins an association group may use its handles (C706 12.6.4.3)."""
    make, other = Calls(), Calls(channel=ELSEWHERE, first_frame=100)
    calls = make.open_query(), other.counter_data(NOTHING)
    for group in (7, 8, None):
        yield f"opened in group 7, used in group {group}", [bound(group=7), bound(ELSEWHERE.number, group), *calls]
    used = Calls().counter_data(NOTHING)
    yield "nobody gave it out", [bound(), used]
    yield "the beginning is not captured", [used]
    yield "bytes were lost before it was used", [bound(), lost(1), used]
    for groups in ((), (8,), (7,)):
        others = [bound(ELSEWHERE.number, group) for group in groups]
        yield f"its channel joins group 7, groups {groups} began", [*others, bound(group=7, joins=True), used]
    make, other = Calls(), Calls(channel=ELSEWHERE, first_frame=100)
    failed = make.counter_data(b"", status=6)
    elsewhere = other.counter_data(NOTHING)
    yield "its home is where it was first used with success", [failed, elsewhere, other.close_query()]
    yield "and not where else", [failed, elsewhere, Calls(first_frame=200).counter_data(NOTHING)]


def of_ends() -> Iterator[tuple[str, list[Event]]]:
    """Whether a handle was closed, which may be unknown: requests stand in odd frames, answers in even ones."""
    make = Calls()
    yield "used after it was closed", [make.open_query(), make.close_query(), make.counter_data(b"", status=6)]
    make = Calls()
    opened, unread = make.open_query(), make.exchange(4, make.stub().handle(HANDLE), None)
    yield "the answer to its closing is missing", [opened, unread]
    yield "its closing is sealed", [opened, sealed(make.close_query())]
    yield "bytes were lost after its last use", [opened, lost(50)]
    yield "bytes were lost before its last use", [lost(1), opened]
    yield "its closing failed", [opened, make.close_query(status=6)]
    closed = make.close_query()
    yield "it was closed after an answer was missing", [opened, unread, closed]
    yield "its second closing failed", [opened, closed, make.close_query(status=6)]
    make = Calls()
    two = make.open_query(), make.open_query(OTHER_HANDLE)
    for frame in (2, 3, 4, 5):
        yield f"bytes of frame {frame} were lost", [lost(1, frame), *two]
    yield "gaps of no frame and other problems say nothing", [lost(), lost(9, kind="malformed"), two[0]]
    make = Calls()
    before = sealed(make.exchange(3, make.stub().string("\\\\S"), b""))
    used, after = make.counter_data(NOTHING), sealed(make.close_query())
    began = bound(), bound(ELSEWHERE.number)
    unrelated = sealed(Calls(channel=ELSEWHERE, first_frame=100).close_query())
    yield "a call elsewhere was not read", [*began, used, unrelated]
    yield "a call before was not read", [*began, before, used]
    yield "a call after was not read", [*began, used, after]
    yield "calls before and after were not read", [*began, before, used, after]
    yield "bytes of a frame before were lost", [*began, lost(0), used]
    other = Calls(first_frame=200)
    opened = other.open_query(OTHER_HANDLE)
    yield "another handle was opened", [*began, opened, other.counter_data(NOTHING)]
    yield "and somebody may have changed which", [*began, altered(opened), other.counter_data(NOTHING)]
    yield "a handle that somebody may have changed was used", [*began, altered(used)]
    make, other = Calls(), Calls(channel=ELSEWHERE, first_frame=100)
    opened, moved = make.open_query(), replace(altered(unanswered(other.close_query())), interface=None)
    yield "it may have been closed by a call that somebody moved to another pipe", [*began, opened, moved]
    later = Calls(first_frame=300)
    yield "after that its use was refused", [*began, opened, moved, later.counter_data(b"", status=6)]
    yield "after that it was used", [*began, opened, moved, later.counter_data(NOTHING)]
    yield "it may have been opened by a call without an interface", [*began, replace(opened, interface=None), used]


CASES = {promise: events for of in (of_calls, of_origins, of_ends) for promise, events in of()}


def named(counter: CounterFacts) -> str:
    return f"{counter.counter_id} of {counter.instance}"


def told(events: list[Event]) -> Iterator[str]:
    """Each handle, then what it held at polls and every call on it."""
    analysis = analysis_of(*events)
    for one, lifetime in zip(handle_records(analysis), handle_lifetimes(analysis), strict=True):
        assert sum(event.succeeded for event in lifetime.polls) == one.polls
        yield (
            f"{one.handle}: {one.origin} by {one.opened}, {one.end} by {one.closed} ({one.reason}); channels {one.channels} of "
            f"{len(one.clients)} client, {one.polls} polls of {', '.join(map(named, one.counters)) or 'nothing'}"
        )
        for held in one.holdings:
            yield f"  held {held.held}, in blocks {held.blocks} by {held.id_source} ({held.reason})"
        for event in one.events:
            answer = event.fault_name or event.status_name if event.state == "complete" else event.state
            counters = [f"{named(x)}: {x.status_name}, index {x.index}" for x in event.counters or ()]
            at_poll = f", holding {event.holding}, {event.blocks} blocks" if event.kind == "poll" else ""
            violations = "".join(f", {violation}!" for violation in event.violations)
            yield f"  #{event.call} {event.kind}: {answer}{at_poll}{violations}{''.join(f'; {x}' for x in counters)}"


LIVES = Outcomes(Path(__file__).parent / "tables" / "lifetimes.txt", CASES, told)


@pytest.mark.parametrize("promise", CASES)
def test_a_lifetime_is_as_it_was_read_through(promise: str) -> None:
    """`PCQ_WRITE_PAGES=1 pytest -n 0 THIS_FILE` writes it."""
    LIVES.holds(promise)


def test_the_text_has_all_lifetimes() -> None:
    LIVES.is_as_written()


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


def test_rows_of_events_compare_as_sequences() -> None:
    make = Calls()
    (one,) = lifetimes(make.open_query(), make.counter_data(perf_data([])))
    (same,) = lifetimes(*(make.open_query(),))
    assert one.events == list(one.events)
    assert one.events != same.events
    assert one.events != 2
    assert hash(one.events) == hash(HandleEvents(tuple(one.events)))
    assert one.events[-1] == one.events[1]
    assert one.events[::-1] == [one.events[1], one.events[0]]
    assert len(HandleEvents()) == 0


def test_handles_of_a_part_show_its_calls_alone() -> None:
    make = Calls()
    analysis = analysis_of(
        make.open_query(), make.open_query(OTHER_HANDLE), make.counter_data(perf_data([])), make.close_query()
    )
    assert [one.number for one in shown_lifetimes(analysis)] == [1, 2]
    (one,) = shown_lifetimes(replace(analysis, part=Part((3,), (), "some")))
    assert ([event.call for event in one.events], one.opened, one.closed, one.end) == ([3], 1, 4, "closed")


def test_holdings_are_not_listed_beyond_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    analysis = analysis_of(*CASES["a holding is listed once"])
    (lifetime,) = handle_lifetimes(analysis)
    why = f"not listed: the polls of this handle held more than {MAX_POSITIONS} counters in different lists"
    for bound_to, listed in ((1, 1), (2, 2), (3, 2), (4, 3)):
        monkeypatch.setattr(handle_records_module, "MAX_POSITIONS", bound_to)
        holdings = handle_record(lifetime, analysis).holdings
        assert [one.held is not None for one in holdings] == [True] * listed + [False] * (3 - listed)
        assert all(one == Holding(None, None, "replay", why) for one in holdings[listed:])
