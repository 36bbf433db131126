"""The timeline at scale: names in the line, repetition in one line, header and footer bounded."""

from __future__ import annotations

import re

from msgspec.structs import replace
from rich.text import Text

from analyzer.core.events import Event, Problem
from analyzer.results.record import Endpoint
from analyzer.screens.views.timeline_text import timeline_lines
from tests.build.buffers import Block, perf_data
from tests.build.calls import HANDLE, OTHER_HANDLE, Calls, analysis_of, with_sessions
from tests.build.rpc import CHANNEL
from tests.interfaces.resolution.test_order import session

SVCCTL = "367abb81-9844-35f1-ad32-98f038001003"
DATA = perf_data([Block(1, values=((b"\1\0\0\0",),))])
MORE = perf_data([Block(1, values=((b"\1\0\0\0", b"\2\0\0\0"),))])


def lines(*events: Event, width: int | None = None, unfold: bool = False) -> list[str]:
    found = timeline_lines(analysis_of(*events), width, unfold=unfold)
    return [Text.from_markup(line).plain for line in found]


def numbers(shown: list[str]) -> list[str]:
    return [match[1] for line in shown if (match := re.match(r" *[\d.]+  (#\S+)", line))]


def test_polls_of_a_handle_share_a_line_with_count_interval_and_change() -> None:
    make = Calls()
    events = [make.open_query(), *(make.counter_data(DATA) for _ in range(4)), make.counter_data(MORE)]
    shown = lines(*events, make.close_query())
    assert numbers(shown) == ["#1", "#2…6", "#7"]
    (line,) = (line for line in shown if "#2…6" in line)
    assert "q1 QueryCounterData" in line
    assert re.search(r"5 polls every \d+\.\d{3} m?s", line)
    assert "; last: " in line
    assert numbers(lines(*events, unfold=True)) == ["#1", "#2", "#3", "#4", "#5", "#6"]


def test_what_is_done_on_the_handle_in_between_ends_a_run() -> None:
    make = Calls()
    polls = [make.open_query(), make.counter_data(DATA), make.counter_data(DATA), make.counter_info(b"")]
    assert numbers(lines(*polls, make.counter_data(DATA), make.counter_data(DATA))) == [
        "#1",
        "#2",
        "#3",
        "#4",
        "#5",
        "#6",
    ]


def test_a_failed_poll_is_shown_by_itself() -> None:
    make = Calls()
    opened = make.open_query()
    polls = [make.counter_data(DATA) for _ in range(3)]
    failed = make.faulted(6, make.stub().handle(HANDLE).uint(4096), 0x1C00001A)
    shown = lines(opened, *polls, failed, *(make.counter_data(DATA) for _ in range(3)))
    assert numbers(shown) == ["#1", "#2…4", "#5", "#6…8"]
    assert "nca_s_fault_context_mismatch" in "".join(shown)


def test_interleaved_handles_are_folded_each_for_itself() -> None:
    make = Calls()
    events = [make.open_query(HANDLE), make.open_query(OTHER_HANDLE)]
    for _ in range(3):
        events += [make.counter_data(DATA, handle=HANDLE), make.counter_data(DATA, handle=OTHER_HANDLE)]
    assert numbers(lines(*events)) == ["#1", "#2", "#3…7", "#4…8"]


def test_calls_of_other_interfaces_that_say_the_same_share_a_line() -> None:
    make = Calls(SVCCTL)
    shown = lines(*(make.exchange(6, b"\0" * 20, b"\0" * 32) for _ in range(50)), make.exchange(0, b"", b""))
    assert numbers(shown) == ["#1…50", "#51"]
    assert "50 times every" in "".join(shown)


def test_the_same_short_name_of_two_pairs_is_distinguished() -> None:
    first, second = Calls(), Calls(channel=replace(CHANNEL, number=9, client=Endpoint("10.0.0.77", 50000)))
    second.frame = 50
    shown = lines(first.open_query(), second.open_query())
    labels = {match[1] for line in shown if (match := re.match(r" *[\d.]+  #\d+ +(\S+ → \S+)  ", line))}
    assert len(labels) == 2
    assert any("10.0.0.77:50000" in line for line in shown[:8])


def test_problems_are_grouped_by_sentence_and_bounded() -> None:
    alike = [Problem("gap", "smb", (number,), f"{number} bytes were lost") for number in range(1, 200)]
    other = [Problem("gap", "smb", (1,), "x" * length + " lost") for length in range(1, 60)]
    shown = lines(Calls().open_query(), *alike, *other)
    assert sum("bytes were lost" in line for line in shown) == 1
    assert any("(and 198 more like it)" in line for line in shown)
    assert any("more kinds of problems" in line for line in shown)
    assert len(shown) < 60


def test_lines_keep_to_the_width_they_are_given() -> None:
    make = Calls()
    events = [make.open_query(), *(make.counter_data(DATA) for _ in range(5)), make.close_query()]
    for width in (80, 120, 200):
        assert max(map(len, lines(*events, width=width))) <= width


def test_a_narrow_page_says_once_between_whom_all_calls_are() -> None:
    make = Calls()
    events = [make.open_query(), *(make.counter_data(DATA) for _ in range(4)), make.close_query()]
    label = "10.0.0.2 → "
    for width, times in ((80, 1), (120, 4)):
        shown = lines(*events, width=width)
        assert sum(label in line for line in shown) == times, shown
        assert max(map(len, shown)) <= width
    other = Calls(channel=replace(CHANNEL, number=5, client=Endpoint("10.0.0.9", 50000)), first_frame=60)
    both = lines(*events, other.open_query(OTHER_HANDLE), width=80)
    assert sum("10.0.0.9 → " in line for line in both) == 2


def test_sessions_that_are_alike_share_a_line_of_the_header() -> None:
    sessions = [
        replace(session(number), session_id=number + 1, client=Endpoint("10.0.0.2", 50000 + number), pipes=(pipe,))
        for number, pipe in enumerate(("samr", "samr", "winreg"))
    ]
    refused = replace(session(7), refused=0xC000006D)
    analysis = with_sessions(analysis_of(Calls().open_query()), (*sessions, refused))
    shown = [Text.from_markup(line).plain for line in timeline_lines(analysis, None)]
    assert sum(line.startswith("3 sessions: ") for line in shown) == 1
    (alike,) = (line for line in shown if line.startswith("3 sessions: "))
    assert " at 10.0.0.2 → 10.0.0.1:445" in alike
    assert alike.endswith("pipes: samr, winreg")
    (other,) = (line for line in shown if line.startswith("session 0x1d: "))
    assert "refused: STATUS_LOGON_FAILURE" in other
