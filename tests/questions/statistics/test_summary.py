"""Numbers about a capture: response times, polls, identities, errors."""

from __future__ import annotations

from array import array
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import UNSET
from msgspec.structs import replace

from analyzer.core.events import Event
from analyzer.questions.statistics.summary import (
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
from analyzer.results.call import Call, CallState
from analyzer.results.security import Identity
from analyzer.transport.rpc.exchange import Exchange
from tests.build.buffers import identifier, name_table, perf_data, winperf
from tests.build.calls import COUNTERSET, HANDLE, MS, Calls, analysis_of, sealed, winreg

SVCCTL = "367abb81-9844-35f1-ad32-98f038001003"


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


def test_frames_of_some_calls_are_those_of_these_calls() -> None:
    make = Calls()
    analysis = analysis_of(*(make.open_query() for _ in range(3)))
    assert frames_of_calls(analysis, [3, 1]) == ((1, 2, 5, 6), UNSET)
    assert frames_of_calls(analysis, []) == ((), UNSET)


def slow(exchange: Exchange, by_ms: int) -> Exchange:
    assert exchange.response is not None
    at = exchange.response.first_time_ns + by_ms * MS
    return replace(exchange, response=replace(exchange.response, first_time_ns=at, last_time_ns=at))


def test_methods_have_times_failures_and_bytes() -> None:
    make = Calls()
    analysis = analysis_of(
        make.open_query(),
        make.counter_data(b"", status=8, needed=48),
        slow(make.counter_data(perf_data([])), 4),
        make.counter_data(b"", status=5),
        replace(make.counter_data(b""), response=None, state="request-only", reason="lost"),
        sealed(make.counter_data(b"")),
    )
    opened, polled = method_stats(analysis)
    assert (opened.method, opened.opnum, opened.calls, opened.failed) == ("PerflibV2OpenQueryHandle", 3, 1, 0)
    assert (polled.calls, polled.failed, polled.retried, polled.unanswered, polled.unread) == (5, 2, 1, 1, 1)
    assert (polled.latency_ns.count, polled.latency_ns.min, polled.latency_ns.median, polled.latency_ns.max) == (
        4,
        MS,
        MS,
        5 * MS,
    )
    assert polled.slowest == 3
    assert (polled.request_bytes.count, polled.request_bytes.total) == (5, 5 * 24)


def test_polls_of_a_handle_have_a_rhythm() -> None:
    make = Calls()
    events = [
        make.open_query(),
        *(make.counter_data(perf_data([])) for _ in range(4)),
        make.counter_data(b"", status=8),
    ]
    make.frame += 6
    events.append(make.counter_data(perf_data([])))
    (polls,) = poll_stats(analysis_of(*events))
    assert (polls.handle, polls.what, polls.polls, polls.failed) == ("q1", None, 5, 1)
    assert (polls.first_call, polls.last_call) == (2, 7)
    assert (polls.intervals_ns.count, polls.intervals_ns.median, polls.intervals_ns.max) == (4, 2 * MS, 10 * MS)
    assert polls.jitter_ns == 2 * MS
    (once,) = poll_stats(analysis_of(Calls().counter_data(perf_data([]))))
    assert (once.intervals_ns.count, once.jitter_ns) == (0, None)


def test_the_tries_of_one_registry_read_are_one_poll() -> None:
    make = winreg()
    analysis = analysis_of(
        make.open_key(),
        make.query_value("238", None, status=234, needed=100),
        make.query_value("238", b"P\0E\0R\0F\0"),
        make.query_value("238", None, status=234, needed=100),
        make.query_value("238", None, status=2),
        make.query_value("Counter 009", b"", kind=7),
    )
    (polls,) = poll_stats(analysis)
    assert (polls.handle, polls.what, polls.polls, polls.failed) == ("k1", "object 238 Processor", 1, 1)
    assert (polls.first_call, polls.last_call) == (2, 4)


def as_user(exchange: Exchange, account: str) -> Exchange:
    domain, _, user = account.partition("\\")
    identity = Identity(mechanism="ntlm", user=user, domain=domain, workstation="WS1")
    return replace(exchange, auth=replace(exchange.auth, mechanism="ntlm", level=6, identity=identity))


def test_identities_are_distinguished() -> None:
    make = Calls()
    found = identity_stats(
        analysis_of(
            as_user(make.open_query(), "LAB\\one"),
            as_user(make.counter_data(perf_data([])), "LAB\\one"),
            as_user(make.counter_data(b"", status=5), "LAB\\two"),
            make.open_query(),
        )
    )
    assert [(one.user, one.calls, one.failed, one.polls, one.first_call, one.last_call) for one in found] == [
        ("LAB\\one", 2, 0, 1, 1, 2),
        ("LAB\\two", 1, 1, 0, 3, 3),
        (None, 1, 0, 0, 4, 4),
    ]
    assert (found[0].workstation, found[0].security) == ("WS1", ("ntlm/privacy",))


def test_errors_are_counted_by_kind_and_method() -> None:
    make = Calls()
    refused = identifier(COUNTERSET, status=0x106A, counter=9) * 2 + identifier(COUNTERSET, counter=1)
    found = error_stats(
        analysis_of(
            make.open_query(HANDLE),
            make.validate(refused),
            make.counter_data(b"", status=8),
            make.counter_data(b"", status=8),
            make.counter_data(b"", status=8),
            replace(make.counter_data(b"", status=0), fault=0x1C00001A),
        )
    )
    assert [(one.kind, one.code, one.name, one.count, one.call_numbers) for one in found] == [
        ("return", 8, "ERROR_NOT_ENOUGH_MEMORY", 3, (3, 4, 5)),
        ("counter", 0x106A, "ERROR_WMI_ITEMID_NOT_FOUND", 2, (2,)),
        ("fault", 0x1C00001A, "nca_s_fault_context_mismatch", 1, (6,)),
    ]


def test_an_error_is_totalled_over_methods() -> None:
    """Two methods that are refused alike twice each come before one that meets another error three times."""
    make = Calls()
    found = error_stats(
        analysis_of(
            *(make.counter_data(b"", status=8) for _ in range(3)),
            *(make.close_query(status=5) for _ in range(2)),
            *(make.open_query(status=5) for _ in range(2)),
        )
    )
    assert [(one.code, one.method, one.count, one.total) for one in found] == [
        (5, "PerflibV2CloseQueryHandle", 2, 4),
        (5, "PerflibV2OpenQueryHandle", 2, 4),
        (8, "PerflibV2QueryCounterData", 3, 3),
    ]


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
        replace(make.counter_data(data), response=None, state="request-only", reason="lost"),
        make.close_query(),
        make.counter_info(b""),
        keys.query_value("238", block, status=234),
        keys.query_value("Counter 009", names, kind=7),
        Calls(SVCCTL).exchange(6, b"", b""),
    ]
    assert [is_poll(one_call(winreg().open_key(), one)) for one in polls] == [True] * 2
    assert [is_poll(one_call(winreg().open_key(), one)) for one in others] == [False] * len(others)


def test_answers_that_only_ask_for_a_larger_buffer_are_retried() -> None:
    make, keys = Calls(), winreg()
    (closed, polled) = method_stats(
        analysis_of(
            make.close_query(status=8),
            make.counter_data(b"", status=8, needed=0),
            make.counter_data(b"", status=8, needed=1),
            make.counter_data(b"", status=5, needed=1),
            replace(make.counter_data(b"", status=8, needed=1), response=None, state="request-only", reason="lost"),
        )
    )
    assert [(one.calls, one.retried, one.failed) for one in (closed, polled)] == [(1, 0, 1), (4, 1, 3)]
    (read,) = method_stats(
        analysis_of(
            keys.query_value("238", None, status=234, needed=9), keys.query_value("238", None, status=8, needed=9)
        )
    )
    assert (read.retried, read.failed) == (1, 2)


def test_calls_that_were_not_read_are_counted_by_their_states() -> None:
    make = Calls()
    states: list[CallState] = ["complete", "request-only", "partial", "sealed", "malformed", "response-only"]
    calls = [make.exchange(3, make.stub().string("\\\\S"), b"", state=state) for state in states]
    (stats,) = method_stats(analysis_of(*calls))
    found = [one.state for one in analysis_of(*calls).calls]
    assert (stats.calls, stats.unread) == (6, sum(state not in ("complete", "request-only") for state in found))


def test_methods_come_by_interface_then_number_then_name() -> None:
    make, other = Calls(), Calls(SVCCTL)
    found = method_stats(
        analysis_of(
            other.exchange(None, b"", b""),
            other.exchange(65535, b"", b""),
            other.exchange(2, b"", b""),
            other.exchange(0, b"", b""),
            make.close_query(),
            make.open_query(),
        )
    )
    assert [(one.interface, one.opnum) for one in found] == [
        ("PerflibV2", 3),
        ("PerflibV2", 4),
        ("svcctl", 0),
        ("svcctl", 2),
        ("svcctl", 65535),
        ("svcctl", None),
    ]


def test_the_first_of_the_slowest_calls_is_named() -> None:
    make = Calls()
    (stats,) = method_stats(
        analysis_of(make.close_query(), slow(make.close_query(), 3), slow(make.close_query(), 3), make.close_query())
    )
    assert (stats.slowest, stats.frames) == (2, (3, 4))


def test_so_many_calls_stand_for_an_error() -> None:
    make = Calls()
    (stats,) = error_stats(analysis_of(*(make.counter_data(b"", status=5) for _ in range(MOST_CALLS + 2))))
    assert (MOST_CALLS, stats.count, stats.call_numbers) == (256, 258, tuple(range(1, 257)))
    assert stats.frames == tuple(range(1, 513))


def test_counters_of_a_refused_request_are_not_counted_as_refused() -> None:
    make = Calls()
    refused = identifier(COUNTERSET, status=0x106A, counter=9)
    found = error_stats(
        analysis_of(
            make.open_query(),
            make.validate(refused, status=5),
            make.counter_info(identifier(COUNTERSET, status=7, counter=5)),
            make.validate(identifier(COUNTERSET, status=0, counter=9)),
        )
    )
    assert [(one.kind, one.code, one.method, one.count) for one in found] == [
        ("return", 5, "PerflibV2ValidateCounters", 1)
    ]
