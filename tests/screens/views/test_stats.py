"""`stats` as records and as text, on every capture."""

from __future__ import annotations

from typing import Any

import pytest

from analyzer.core.frame_ids import frame_id
from analyzer.questions.statistics.activity import ActivityFindings
from analyzer.results.analysis import Analysis
from analyzer.results.statistics import ActivityRecord, ErrorStatsRecord, ImageRecord, Who
from analyzer.screens.views import stats
from analyzer.screens.views.stats import (
    _SHOWN_CALLS,
    _SHOWN_NAME,
    _activity_words,
    _calls,
    _columns,
    _error_lines,
    _image_lines,
    _short,
    _span,
    counted,
    duration,
)
from tests.build.calls import Calls, analysis_of


@pytest.mark.parametrize(
    ("time_ns", "words"),
    [
        (None, ""),
        (0, "0 ns"),
        (999, "999 ns"),
        (1_500, "1.500 µs"),
        (12_345_678, "12.35 ms"),
        (999_960_000, "1000.0 ms"),
        (123_456_789_012, "123.5 s"),
        (-2_000_000, "-2.000 ms"),
        (98_765_432_100_000, "98765 s"),
    ],
)
def test_durations_have_four_digits(time_ns: int | None, words: str) -> None:
    assert duration(time_ns) == words


def test_a_name_and_a_list_of_calls_are_short() -> None:
    """A table of processes keeps to a hundred columns; of calls and sessions, half a dozen leads to the others."""
    assert (_SHOWN_NAME, _SHOWN_CALLS) == (40, 6)


@pytest.mark.parametrize(
    ("calls", "count", "words"),
    [
        ([3], 1, "#3"),
        ([3, 3, 4], 3, "#3, #4"),
        ([1, 2, 3, 4, 5, 6], 6, "#1, #2, #3, #4, #5, #6"),
        ([1, 2, 3, 4, 5, 6, 7], 7, "#1, #2, #3, #4, #5, #6 and 1 more"),
        ([1, 2, 3, 4, 5, 6], 7, "#1, #2, #3, #4, #5, #6 and 1 more"),
        # The same call seven times is one call, of which there are no more.
        ([1] * 7, 7, "#1"),
        ([1] * 7, 2, "#1"),
    ],
)
def test_calls_are_named_and_counted(calls: list[int], count: int, words: str) -> None:
    assert _calls(calls, count) == words


@pytest.mark.parametrize(
    ("sessions", "shown"),
    [
        (["000000000000001d"], ["0x1d"]),
        ([f"{number:016x}" for number in range(6)], ["0x0", "0x1", "0x2", "0x3", "0x4", "0x5"]),
        ([f"{number:016x}" for number in range(8)], ["0x0", "0x1", "0x2", "0x3", "0x4", "0x5", "and 2 more"]),
    ],
)
def test_sessions_are_named_and_counted(sessions: list[str], shown: list[str]) -> None:
    assert _short(sessions) == shown


def test_numbers_agree_with_their_nouns() -> None:
    assert [counted(number, "call") for number in (0, 1, 2, 1200)] == ["0 calls", "1 call", "2 calls", "1,200 calls"]


def test_a_moment_is_one_time() -> None:
    assert _span(0, 0) == "1970-01-01T00:00:00.000000Z"
    assert _span(0, 1_000) == "1970-01-01T00:00:00.000000Z to 1970-01-01T00:00:00.000001Z"


def test_columns_are_as_wide_as_their_widest() -> None:
    rows = [("", "one", "two"), ("日本", "1", "12345"), ("abc", "", "")]
    assert list(_columns(rows, 1)) == ["        one    two", "  日本    1  12345", "  abc"]
    assert list(_columns(rows, 2)) == ["        one    two", "  日本  1    12345", "  abc"]


def error(**changes: Any) -> ErrorStatsRecord:
    facts = {"kind": "return", "code": 5, "name": None, "interface": "PerflibV2", "method": "PerflibV2OpenQueryHandle"}
    return ErrorStatsRecord(**{**facts, "count": 12, "total": 12, "call_numbers": (7,), "frames": (), **changes})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "error 5 (0x5), PerflibV2.OpenQueryHandle: #7 and 6 more"),
        (
            {"name": "ERROR_ACCESS_DENIED", "count": 1, "total": 1},
            "ERROR_ACCESS_DENIED (0x5), PerflibV2.OpenQueryHandle: #7",
        ),
        ({"kind": "fault", "code": 0x1C, "count": 1, "total": 1}, "fault 0x1c (0x1c), PerflibV2.OpenQueryHandle: #7"),
        ({"kind": "counter", "count": 1, "total": 1}, "counter refused: error 5 (0x5), PerflibV2.OpenQueryHandle: #7"),
        (
            {"interface": "winreg", "method": "PerflibV2x", "count": 1, "total": 1},
            "error 5 (0x5), winreg.PerflibV2x: #7",
        ),
    ],
)
def test_an_error_has_a_name_or_a_number(changes: dict[str, Any], words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    one = error(**changes)
    monkeypatch.setattr(stats, "error_stats", lambda analysis: [one])
    assert list(_error_lines(analysis_of())) == [(f"  {one.count:>4}  {words}", "yellow")]


def test_an_error_of_several_methods_has_its_total_first(monkeypatch: pytest.MonkeyPatch) -> None:
    opened, closed = error(count=300, total=301), error(count=1, total=301, method="PerflibV2CloseQueryHandle")
    fault = error(kind="fault", count=1, total=1)
    monkeypatch.setattr(stats, "error_stats", lambda analysis: [opened, closed, fault])
    assert list(_error_lines(analysis_of())) == [
        ("   301  error 5 (0x5), 2 methods", "yellow"),
        ("         300  PerflibV2.OpenQueryHandle: #7 and 294 more", None),
        ("           1  PerflibV2.CloseQueryHandle: #7", None),
        ("     1  fault 0x5 (0x5), PerflibV2.OpenQueryHandle: #7", "yellow"),
    ]


def activity(**changes: Any) -> ActivityRecord:
    facts = {"kind": "poll", "who": Who(None, "10.0.0.2", "10.0.0.1"), "category": None, "target": 230, "name": None}
    times = {"detail": None, "count": 1, "call_numbers": (1,), "failed": 0, "first_time_ns": 0, "last_time_ns": 0}
    answers = {"with_data": 1, "without_data": {}}
    return ActivityRecord(**{**facts, **times, **answers, "frames": (1,), **changes})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "polled object 230 in 1 call"),
        ({"name": "Process"}, "polled Process (230) in 1 call"),
        ({"target": "5a8d", "count": 2}, "polled 5a8d in 2 calls"),
        (
            {"count": 3, "without_data": {"no answer": 1}, "with_data": 2},
            "polled object 230 in 3 calls, 1 without data (no answer)",
        ),
        (
            {"name": "Process", "target": "5a8d", "with_data": 0, "without_data": {"ERROR_ACCESS_DENIED": 1}},
            "asked for values of Process (5a8d) in 1 call, without data (ERROR_ACCESS_DENIED)",
        ),
        (
            {"kind": "list-instances", "count": 3, "with_data": 0, "without_data": {"sealed": 2, "empty answer": 1}},
            "asked for the instances of object 230 in 3 calls, without data (sealed 2, empty answer 1)",
        ),
        ({"kind": "describe-counterset", "name": "Process"}, "asked what Process (230) is in 1 call"),
        ({"kind": "list-instances", "name": "Process"}, "listed the instances of Process (230) in 1 call"),
        ({"kind": "read-names", "target": None, "detail": "help texts"}, "read help texts in 1 call"),
        ({"target": None, "detail": "something"}, "polled something in 1 call"),
        ({"kind": "list-countersets", "target": None}, "listed the countersets in 1 call"),
        (
            {"kind": "list-countersets", "target": None, "detail": "12 of them"},
            "listed the countersets (12 of them) in 1 call",
        ),
    ],
)
def test_what_was_looked_at_is_a_sentence(changes: dict[str, Any], words: str) -> None:
    assert _activity_words(activity(**changes)) == f"{words}, 1970-01-01T00:00:00.000000Z"


def image(name: str, **changes: Any) -> ImageRecord:
    facts = {"server_ip": "10.0.0.1", "source": "perflib-v2", "target": "5a8d", "name": name, "pid": 7, "seen_by": ()}
    times = {
        "instance_id": None,
        "calls": 1,
        "first_call": 2,
        "last_call": 2,
        "first_time_ns": 0,
        "last_time_ns": 1_000,
    }
    return ImageRecord(**{**facts, **times, "frames": (11, 12), **changes})


def images(
    analysis: Analysis, *found: ImageRecord, forgotten: int = 0, width: int | None = None
) -> list[tuple[str, str | None]]:
    return list(_image_lines(ActivityFindings((), found, forgotten), analysis, width))


def test_images_are_listed_by_server_with_what_numbers_them() -> None:
    analysis = analysis_of()
    found = [
        image("b", server_ip="10.0.0.2"),
        image("a", instance_id=5),
        image("a" * 40, pid=None, instance_id=5, calls=2, first_call=2, last_call=4, frames=(11, 17)),
        image("a" * 41, pid=None),
    ]
    dates = "1970-01-01T00:00:00.000000Z  1970-01-01T00:00:00.000001Z"
    head = "pid  answers                   first seen                    last seen"
    assert images(analysis, *found, forgotten=3) == [
        ("  on 10.0.0.1", "bold"),
        (f"    {'':40}         {head}  calls  frames", None),
        (f"    {'a':40}           7        1  {dates}     #2   11…12", None),
        (f"    {'a' * 40}  instance 5        2  {dates}  #2…#4   11…17", None),
        (f"    {'a' * 39}…                    1  {dates}     #2   11…12", None),
        ("  on 10.0.0.2", "bold"),
        (f"       {head}  calls  frames", None),
        (f"    b    7        1  {dates}     #2   11…12", None),
        ("  3 sightings of processes beyond the first 100000 are not listed", "yellow"),
    ]


def test_on_a_narrow_terminal_images_have_fewer_columns() -> None:
    lines = images(analysis_of(), image("a" * 40), width=80)
    assert lines[1:] == [
        (f"    {'':24}  pid                   first seen", None),
        (f"    {'a' * 23}…    7  1970-01-01T00:00:00.000000Z", None),
    ]


def test_of_several_files_the_first_and_the_last_frame_are_named() -> None:
    calls = [make.close_query() for make in [Calls(first_frame=frame_id(0, 5))] * 2]
    calls += [make.close_query() for make in [Calls(first_frame=frame_id(1, 3))] * 2]
    analysis = analysis_of(*calls, files=("a.pcap", "b.pcap"))
    lines = images(analysis, image("a", first_call=2, last_call=3, calls=2))
    assert lines[-1][0].endswith("  #2…#3  frame a.pcap: 7…frame b.pcap: 4")
    only = analysis_of(*calls, files=("a.pcap",))
    assert images(only, image("a", first_call=2, last_call=3, calls=2))[-1][0].endswith("  #2…#3   11…12")
