"""The timeline at scale: names in the line, repetition in one line, header and footer bounded."""

from msgspec.structs import replace
from rich.text import Text

from analyzer.core.events import Event
from analyzer.results.records.record_types import Endpoint
from analyzer.screens.views.timeline import Timeline
from tests.build.buffers import Block, perf_data
from tests.build.calls import OTHER_HANDLE, Calls, analysis_of, with_sessions
from tests.build.rpc import CHANNEL
from tests.interfaces.resolution.test_order_of_calls import session

DATA = perf_data([Block(1, values=((b"\1\0\0\0",),))])


def lines(*events: Event, width: int | None = None, unfold: bool = False) -> list[str]:
    found = Timeline(analysis_of(*events), unfold=unfold).lines(width)
    return [Text.from_markup(line).plain for line in found]


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
    shown = [Text.from_markup(line).plain for line in Timeline(analysis).lines(None)]
    assert sum(line.startswith("3 sessions: ") for line in shown) == 1
    (alike,) = (line for line in shown if line.startswith("3 sessions: "))
    assert " at 10.0.0.2 → 10.0.0.1:445" in alike
    assert alike.endswith("pipes: samr, winreg")
    (other,) = (line for line in shown if line.startswith("session 0x1d: "))
    assert "refused: STATUS_LOGON_FAILURE" in other
