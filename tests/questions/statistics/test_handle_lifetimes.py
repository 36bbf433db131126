"""Handle lifetimes: every call on a handle, what it held then, and what should not have been."""

from __future__ import annotations

from struct import pack

import pytest
from msgspec.structs import replace

from analyzer.core.events import Event, Problem
from analyzer.questions.statistics import handle_records as handle_records_module
from analyzer.questions.statistics.handle_lifetimes import (
    HandleCall,
    HandleEvents,
    HandleLifetime,
    handle_lifetimes,
    shown_lifetimes,
)
from analyzer.questions.statistics.handle_records import MAX_POSITIONS, handle_record
from analyzer.results.analysis import Part
from analyzer.results.connection import Bound
from analyzer.results.handle import EventCounter, Holding
from tests.build.buffers import Block, identifier, perf_data
from tests.build.calls import COUNTERSET, HANDLE, OTHER_HANDLE, Calls, analysis_of, sealed
from tests.build.rpc import CHANNEL, PCQ

ELSEWHERE = replace(CHANNEL, number=CHANNEL.number + 1)
ONE = Block(1, values=((pack("<I", 7),),))
A = identifier(COUNTERSET, counter=5, name="a")
B = identifier(COUNTERSET, counter=7, name="b")
BAD = identifier(COUNTERSET, status=0x106A, counter=99, name="c")


def wrong_uses(lifetime: HandleLifetime) -> list[HandleCall]:
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


def test_a_handle_belongs_to_its_association_group() -> None:
    """Over which channel of the group it is used does not matter."""
    make, other = Calls(), Calls(channel=ELSEWHERE, first_frame=100)
    calls = make.open_query(), other.counter_data(perf_data([]))
    for group, violations in ((7, ()), (8, ("other-association",)), (None, ("other-channel",))):
        (lifetime,) = lifetimes(bound(group=7), bound(ELSEWHERE.number, group), *calls)
        assert [event.violations for event in lifetime.events] == [(), violations]


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


def test_bytes_lost_after_the_last_use_may_have_closed_a_handle() -> None:
    """A request in frame 1 and an answer in frame 2; the second handle's in 3 and 4."""
    make = Calls()
    opened, other = make.open_query(), make.open_query(OTHER_HANDLE)
    ends = {
        lost: [(one.end, one.reason) for one in lifetimes(Problem("gap", "tcp", (1, lost), "lost"), opened, other)]
        for lost in (2, 3, 4, 5)
    }
    unknown, open_still = ("unknown", "bytes were lost after its last use"), ("never closed", None)
    assert ends == {
        2: [open_still, open_still],
        3: [unknown, open_still],
        4: [unknown, open_still],
        5: [unknown, unknown],
    }
    # Gaps of which no frame is known, and other problems, say nothing.
    others = Problem("gap", "tcp", (), "lost"), Problem("malformed", "tcp", (9,), "bad")
    assert [one.end for one in lifetimes(*others, opened)] == ["never closed"]


def test_a_call_that_was_not_read_may_have_opened_or_closed_a_handle() -> None:
    make = Calls()
    before = sealed(make.exchange(3, make.stub().string("\\\\S"), b""))
    used = make.counter_data(perf_data([]))
    after = sealed(make.close_query())
    elsewhere = Calls(channel=ELSEWHERE, first_frame=100)
    unrelated = [sealed(elsewhere.close_query())]

    def judged(*events: Event) -> tuple[str, str, str | None]:
        (one,) = lifetimes(bound(), bound(ELSEWHERE.number), *events)
        return one.origin, one.end, one.reason

    given_out = "no call gave this handle out, and nothing of its channel is missing"
    opened = "a call that was not read may have opened it"
    closed = "a call that was not read may have closed it"
    assert judged(used, *unrelated) == ("never opened", "never closed", given_out)
    assert judged(before, used) == ("not captured", "never closed", opened)
    assert judged(used, after) == ("never opened", "unknown", f"{given_out}; {closed}")
    # Only the last call that was not read is noted, so that it stands for those before it as well.
    assert judged(before, used, after)[1:] == ("unknown", f"{given_out}; {closed}")
    assert judged(Problem("gap", "tcp", (0,), "lost"), used) == ("not captured", "never closed", opened)
    (one,) = lifetimes(used)
    assert (one.origin, one.end, one.reason) == (
        "not captured",
        "never closed",
        "the beginning of the channel, or of its association group, is not in the capture",
    )


def test_a_close_whose_answer_is_missing_leaves_the_end_unknown() -> None:
    make = Calls()
    opened, unanswered = make.open_query(), make.exchange(4, make.stub().handle(HANDLE), None)
    (one,) = lifetimes(opened, unanswered)
    assert (one.end, one.reason) == ("unknown", "whether CloseQueryHandle succeeded is not in the capture")
    closed = make.close_query()
    (one,) = lifetimes(opened, unanswered, closed)
    assert (one.end, one.closed, one.reason) == ("closed", 3, None)
    (one,) = lifetimes(opened, closed, make.close_query(status=6))
    assert (one.end, one.closed, [event.violations for event in one.events]) == (
        "closed",
        2,
        [(), (), ("after-close",)],
    )


def test_the_home_of_a_handle_is_where_it_was_first_used_with_success() -> None:
    make, other = Calls(), Calls(channel=ELSEWHERE, first_frame=100)
    failed = make.counter_data(b"", status=6)
    (one,) = lifetimes(failed, other.counter_data(perf_data([])), other.close_query())
    assert [event.violations for event in one.events] == [(), (), ()]
    third = Calls(first_frame=200)
    (one,) = lifetimes(failed, other.counter_data(perf_data([])), third.counter_data(perf_data([])))
    assert [event.violations for event in one.events] == [(), (), ("other-channel",)]
    assert (one.channels, one.clients) == ((CHANNEL.number, ELSEWHERE.number), (CHANNEL.client,))


def test_what_validate_counters_does_is_in_its_request() -> None:
    make = Calls()
    events = (
        make.open_query(),
        make.validate(A, add=0),
        make.validate(A, add=1),
        make.validate(A, add=7),
    )
    (one,) = lifetimes(*events)
    assert [event.kind for event in one.events] == ["open", "remove", "add", "add"]


def test_polls_that_are_not_alike_are_kept_apart() -> None:
    make, other = Calls(), Calls(channel=ELSEWHERE, first_frame=100)
    data = perf_data([ONE])
    (one,) = lifetimes(
        make.open_query(),
        make.counter_data(data),
        make.counter_data(perf_data([ONE, ONE])),
        replace(make.counter_data(b""), fault=5),
        make.counter_data(b"", status=8),
        replace(make.counter_data(data), response=None, state="request-only", reason="lost"),
        other.counter_data(data),
    )
    assert [(event.call, event.status, event.fault, event.blocks, event.state) for event in one.polls] == [
        (2, 0, None, 1, "complete"),
        (3, 0, None, 2, "complete"),
        (4, None, 5, None, "complete"),
        (5, 8, None, None, "complete"),
        (6, None, None, None, "request-only"),
        (7, 0, None, 1, "complete"),
    ]
    assert [event.violations for event in one.polls] == [(), (), (), (), (), ("other-channel",)]
    assert [event.succeeded for event in one.polls] == [True, True, False, False, False, True]


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


def test_a_holding_is_listed_once_and_not_beyond_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    make = Calls()
    events = [make.open_query()]
    for number in range(3):
        events.append(make.validate(identifier(COUNTERSET, counter=number, name="a")))
        events += [make.counter_data(perf_data([ONE] * (number + 1))) for _ in range(2)]
    analysis = analysis_of(*events)
    (lifetime,) = handle_lifetimes(analysis)
    record = handle_record(lifetime, analysis)
    assert [one.counter_id for one in record.counters] == [0, 1, 2]
    assert record.holdings == (
        Holding((0,), (0,), "replay", None),
        Holding((0, 1), (0, 1), "replay", None),
        Holding((0, 1, 2), (0, 1, 2), "replay", None),
    )
    assert [event.holding for event in record.events] == [None, None, 0, 0, None, 1, 1, None, 2, 2]
    why = f"not listed: the polls of this handle held more than {MAX_POSITIONS} counters in different lists"
    for bound_to, listed in ((1, 1), (2, 2), (3, 2), (4, 3)):
        monkeypatch.setattr(handle_records_module, "MAX_POSITIONS", bound_to)
        holdings = handle_record(lifetime, analysis).holdings
        assert [one.held is not None for one in holdings] == [True] * listed + [False] * (3 - listed)
        assert all(one == Holding(None, None, "replay", why) for one in holdings[listed:])


@pytest.mark.parametrize(("index", "is_listed"), [(0, True), (3, True), (17, True), (18, False), (0x7FFFFFFF, False)])
def test_an_index_that_a_server_made_up_is_no_long_list(index: int, is_listed: bool) -> None:
    """One counter held: blocks up to twice that and sixteen more."""
    make = Calls()
    analysis = analysis_of(
        make.open_query(),
        make.counter_info(identifier(COUNTERSET, counter=5, index=index)),
        make.counter_data(perf_data([ONE])),
    )
    (lifetime,) = handle_lifetimes(analysis)
    (holding,) = handle_record(lifetime, analysis).holdings
    assert holding.held == (0,)
    assert holding.blocks == ((*[None] * index, 0) if is_listed else None)


def test_statuses_and_faults_have_names_and_blocks_a_count() -> None:
    make = Calls()
    analysis = analysis_of(
        make.open_query(),
        make.validate(identifier(COUNTERSET, status=0x106A, counter=0xFFFFFFFF, instance=0xFFFFFFFF, name="c")),
        replace(make.counter_data(b""), fault=0x1C00001A),
        make.counter_data(b"", status=6),
    )
    (lifetime,) = handle_lifetimes(analysis)
    _, added, faulted, refused = handle_record(lifetime, analysis).events
    assert added.counters == (
        EventCounter(
            counterset=COUNTERSET,
            counterset_name=None,
            counter_id=None,
            counter_name=None,
            instance="c",
            instance_id=None,
            status=0x106A,
            status_name="ERROR_WMI_ITEMID_NOT_FOUND",
            index=None,
        ),
    )
    assert (faulted.fault, faulted.fault_name, refused.status, refused.status_name, refused.fault_name) == (
        0x1C00001A,
        "nca_s_fault_context_mismatch",
        6,
        "ERROR_INVALID_HANDLE",
        None,
    )
