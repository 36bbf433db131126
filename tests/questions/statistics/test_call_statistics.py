"""Numbers about a capture: response times, polls, identities, errors."""

from array import array
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import UNSET
from msgspec.structs import replace

from analyzer.core.events import Event, Problem
from analyzer.questions.statistics.call_statistics import (
    MOST_CALLS,
    Spread,
    error_stats,
    frames_of_calls,
    identity_stats,
    is_poll,
    method_stats,
    poll_stats,
    spread_of,
)
from analyzer.results.analysis import Analysis
from analyzer.results.calls.call import Call, CallState
from analyzer.results.records.record_types import Endpoint
from analyzer.results.security import Identity
from analyzer.transport.rpc.exchange_maker import Exchange
from tests.build.buffers import identifier, name_table, perf_data, winperf
from tests.build.calls import (
    COUNTERSET,
    HANDLE,
    MS,
    OTHER_HANDLE,
    Calls,
    altered,
    analysis_of,
    sealed,
    unanswered,
    winreg,
)
from tests.build.rpc import CHANNEL
from tests.written import is_as_written, told

SVCCTL = "367abb81-9844-35f1-ad32-98f038001003"
TEXT = Path(__file__).parent / "tables" / "summary.txt"
NOTHING, BLOCK = perf_data([]), "PERF".encode("utf-16-le")


@settings(max_examples=100)
@given(st.lists(st.integers(0, 10**12), min_size=1))
def test_a_spread_is_what_its_words_say(values: list[int]) -> None:
    spread = spread_of(array("q", values))
    ordered = sorted(values)
    assert (spread.count, spread.total, spread.min, spread.max) == (len(values), sum(values), ordered[0], ordered[-1])
    half = len(ordered) // 2
    middle = Fraction(ordered[half] + ordered[-half - 1], 2)
    assert spread.median == int(middle)
    assert spread.p95 == next(one for one in ordered if sum(other <= one for other in values) * 100 >= 95 * len(values))


def test_a_spread_of_nothing_has_no_numbers() -> None:
    assert spread_of(array("q")) == Spread(0, 0, None, None, None, None)


@pytest.mark.parametrize(
    ("count", "p95"), [(1, 1), (2, 2), (19, 19), (20, 19), (21, 20), (40, 38), (41, 39), (99, 95), (100, 95), (101, 96)]
)
def test_the_95th_percentile_is_the_nearest_rank(count: int, p95: int) -> None:
    """The smallest value that at least 95 % of them do not exceed: ceil(0.95 n), counted from 1."""
    spread = spread_of(array("q", range(count, 0, -1)))
    assert (spread.p95, spread.median) == (p95, (count + 1) // 2)
    assert (spread.count, spread.total, spread.min, spread.max) == (count, count * (count + 1) // 2, 1, count)


def test_a_median_between_two_values_is_rounded_down() -> None:
    assert spread_of(array("q", [9, 2])).median == 5
    assert spread_of(array("q", [9, 3, 4, 1])).median == 3


def test_frames_of_some_calls_are_those_of_these_calls() -> None:
    make = Calls()
    analysis = analysis_of(*(make.open_query() for _ in range(3)))
    assert frames_of_calls(analysis, [3, 1]) == ((1, 2, 5, 6), UNSET)
    assert frames_of_calls(analysis, []) == ((), UNSET)


def slow(exchange: Exchange, by_ms: int) -> Exchange:
    at = exchange.response.first_time_ns + by_ms * MS
    return replace(exchange, response=replace(exchange.response, first_time_ns=at, last_time_ns=at))


def as_user(exchange: Exchange, account: str) -> Exchange:
    domain, _, user = account.partition("\\")
    identity = Identity(mechanism="ntlm", user=user, domain=domain, workstation="WS1")
    return replace(exchange, auth=replace(exchange.auth, mechanism="ntlm", level=6, identity=identity))


def of_methods() -> Iterator[tuple[str, list[Event]]]:
    make = Calls()
    polls = make.counter_data(b"", status=8, needed=48), slow(make.counter_data(NOTHING), 4)
    others = make.counter_data(b"", status=5), unanswered(make.counter_data(b"")), sealed(make.counter_data(b""))
    yield "methods have times, failures and bytes", [make.open_query(), *polls, *others]
    make = Calls()
    asked = [
        make.counter_data(b"", status=status, needed=needed) for status, needed in ((8, 0), (8, 1), (5, 1), (8, 1))
    ]
    closed = make.close_query(status=8)
    yield "answers that only ask for a larger buffer are retried", [closed, *asked[:3], unanswered(asked[3])]
    keys = winreg()
    reads = [keys.query_value("238", None, status=status, needed=9) for status in (234, 8)]
    yield "and so are values of the registry", [*reads]
    make, other = Calls(), Calls(SVCCTL)
    unordered = [other.exchange(opnum, b"", b"") for opnum in (None, 65535, 2, 0)]
    yield "methods come by interface, number and name", [*unordered, make.close_query(), make.open_query()]
    make = Calls()
    alike = [slow(make.close_query(), 3 * (number in (1, 2))) for number in range(4)]
    yield "the first of the slowest calls is named", [*alike]


def of_polls() -> Iterator[tuple[str, list[Event]]]:
    make = Calls()
    events: list[Event] = [make.open_query(), *(make.counter_data(NOTHING) for _ in range(4))]
    events.append(make.counter_data(b"", status=8))
    make.frame += 6
    yield "polls of a handle have a rhythm", [*events, make.counter_data(NOTHING)]
    make = Calls()
    polls = [make.counter_data(NOTHING) for _ in range(6)]
    yield (
        "the time around a poll without an answer is no interval",
        [*polls[:2], *map(unanswered, polls[2:4]), *polls[4:]],
    )
    make = Calls()
    before = [make.counter_data(NOTHING) for _ in range(2)]
    lost = Problem("gap", "smb", (make.frame,), "lost")
    make.frame += 40
    after = [make.counter_data(NOTHING) for _ in range(2)]
    yield "the time in which bytes were lost is no interval", [*before, lost, *after]
    elsewhere = Calls(channel=replace(CHANNEL, client=Endpoint("10.0.0.3", 50000)), first_frame=make.frame + 1)
    polls = [elsewhere.counter_data(NOTHING, OTHER_HANDLE) for _ in range(2)]
    yield (
        "unless they were lost between other machines",
        [*before, replace(lost, frames=(elsewhere.frame,)), *polls, *after],
    )
    for what, change in (("somebody may have changed it", altered), ("it is sealed", sealed)):
        make, keys = Calls(), winreg()
        first = [make.open_query(), *(make.counter_data(NOTHING) for _ in range(2))]
        other = make.counter_data(NOTHING, OTHER_HANDLE)
        yield (
            f"nor is the time around a call that may have been a poll, for {what}",
            [
                *first,
                change(other),
                *(make.counter_data(NOTHING) for _ in range(2)),
            ],
        )
        opened, reads = keys.open_key(), [keys.query_value("238", BLOCK) for _ in range(4)]
        yield f"nor around a read, for {what}", [opened, *reads[:2], change(reads[2]), reads[3]]
    yield "one poll has none", [Calls().counter_data(NOTHING)]
    make = winreg()
    opened = make.open_key()
    answers = (None, 234), (b"P\0E\0R\0F\0", 0), (None, 234), (None, 2)
    tries = [make.query_value("238", data, status=status, needed=100) for data, status in answers]
    names = make.query_value("Counter 009", b"", kind=7)
    yield "the tries of a registry read are one poll", [opened, *tries, names]


def of_identities() -> Iterator[tuple[str, list[Event]]]:
    make = Calls()
    ours = as_user(make.open_query(), "LAB\\one"), as_user(make.counter_data(NOTHING), "LAB\\one")
    theirs = as_user(make.counter_data(b"", status=5), "LAB\\two")
    yield "identities are distinguished", [*ours, theirs, make.open_query()]


def of_errors() -> Iterator[tuple[str, list[Event]]]:
    make = Calls()
    refused = identifier(COUNTERSET, status=0x106A, counter=9) * 2 + identifier(COUNTERSET, counter=1)
    errors = make.open_query(HANDLE), make.validate(refused), *(make.counter_data(b"", status=8) for _ in range(3))
    fault = replace(make.counter_data(b"", status=0), fault=0x1C00001A)
    yield "errors are counted by kind and method", [*errors, fault]
    make = Calls()
    polls = [make.counter_data(b"", status=8) for _ in range(3)]
    alike = [call(status=5) for call in (make.close_query, make.close_query, make.open_query, make.open_query)]
    yield "two of four in all come before one of three", [*polls, *alike]
    make = Calls()
    counter = identifier(COUNTERSET, status=0x106A, counter=9)
    named = make.open_query(), make.validate(counter, status=5)
    listed = make.counter_info(identifier(COUNTERSET, status=7, counter=5))
    added = make.validate(identifier(COUNTERSET, status=0, counter=9))
    yield "counters of a refused request are not counted as refused", [*named, listed, added]


STATS: dict[Callable[[], Iterator[tuple[str, list[Event]]]], Callable[[Analysis], Iterable[object]]] = {
    of_methods: method_stats,
    of_polls: poll_stats,
    of_identities: identity_stats,
    of_errors: error_stats,
}


def text() -> Iterator[str]:
    for of, stats in STATS.items():
        for promise, events in of():
            yield f"{promise}\n"
            yield from (f"{line}\n" for one in stats(analysis_of(*events)) for line in told(one, 2))


def test_all_numbers_are_in_one_text() -> None:
    """`PCQ_WRITE_PAGES=1 pytest -n 0 THIS_FILE` writes it."""
    is_as_written(TEXT, "".join(text()))


def one_call(*events: Event) -> Call:
    return analysis_of(*events).calls[-1]


def test_which_calls_may_be_about_performance() -> None:
    make = winreg()
    unasked = replace(make.close_key(), request=None, state="response-only")
    read = make.query_value("238", b"P\0E\0R\0F\0")
    other = make.exchange(6, make.stub().handle(HANDLE), make.stub().uint(0))
    table = [
        (one_call(Calls().close_query()).is_performance, True),
        (one_call(make.open_key()).is_performance, True),
        (one_call(read).is_performance, True),
        (one_call(make.open_key(), make.close_key()).is_performance, True),
        # A key that is not known to be of performance data.
        (one_call(other).is_performance, False),
        (one_call(sealed(other)).is_performance, True),
        (one_call(unasked).is_performance, True),
        (one_call(Calls(SVCCTL).exchange(0, b"", b"")).is_performance, False),
    ]
    assert [found for found, _ in table] == [expected for _, expected in table]


def test_what_was_answered_with_performance_data_is_a_poll() -> None:
    make, keys = Calls(), winreg()
    data = perf_data([])
    block = winperf([])
    names = name_table([("2", "System")])
    polls = [make.counter_data(data), keys.query_value("238", block)]
    others = [
        make.counter_data(b"", status=8),
        unanswered(make.counter_data(data)),
        make.close_query(),
        make.counter_info(b""),
        keys.query_value("238", block, status=234),
        keys.query_value("Counter 009", names, kind=7),
        Calls(SVCCTL).exchange(6, b"", b""),
    ]
    assert [is_poll(one_call(winreg().open_key(), one)) for one in polls] == [True] * 2
    assert [is_poll(one_call(winreg().open_key(), one)) for one in others] == [False] * len(others)


def test_calls_that_were_not_read_are_counted_by_their_states() -> None:
    make = Calls()
    states: list[CallState] = ["complete", "request-only", "partial", "sealed", "malformed", "response-only"]
    calls = [make.exchange(3, make.stub().string("\\\\S"), b"", state=state) for state in states]
    (stats,) = method_stats(analysis_of(*calls))
    found = [one.state for one in analysis_of(*calls).calls]
    assert (stats.calls, stats.unread) == (6, sum(state not in ("complete", "request-only") for state in found))


def test_so_many_calls_stand_for_an_error() -> None:
    make = Calls()
    (stats,) = error_stats(analysis_of(*(make.counter_data(b"", status=5) for _ in range(MOST_CALLS + 2))))
    assert (MOST_CALLS, stats.count, stats.call_numbers) == (256, 258, tuple(range(1, 257)))
    assert stats.frames == tuple(range(1, 513))
