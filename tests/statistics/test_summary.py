"""Numbers about a capture: response times, polls, identities, errors."""

from __future__ import annotations

from array import array
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import UNSET
from msgspec.structs import replace

from analyzer.model.security import Identity
from analyzer.rpc.events import Exchange
from analyzer.statistics.summary import (
    Spread,
    error_stats,
    frames_of_calls,
    identity_stats,
    method_stats,
    poll_stats,
    spread_of,
)
from tests.build.buffers import identifier, perf_data
from tests.build.calls import COUNTERSET, HANDLE, MS, Calls, analysis_of, sealed, winreg


@settings(deadline=None, max_examples=100)
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
