"""How much more room clients offer after a server said that a buffer is too small."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from analyzer.interfaces.call_contents.client_programs import client_programs, growth_marks, learnt, recognized
from analyzer.results.analysis import Analysis
from analyzer.results.methods.winreg import ERROR_MORE_DATA
from analyzer.results.records.record_types import Endpoint
from tests.build.calls import analysis_of, winreg
from tests.build.rpc import CHANNEL


def polled(*rooms: Sequence[int], needed: int | None = None) -> Analysis:
    """Reads of a value: each with this room, refused but for the last one."""
    make, events = winreg(), []
    for read in rooms:
        for room in read[:-1]:
            events.append(make.query_value("Global", b"", status=ERROR_MORE_DATA, room=room, needed=needed))
        events.append(make.query_value("Global", bytes(16), room=read[-1]))
    return analysis_of(*events)


@pytest.mark.parametrize(
    ("rooms", "needed", "mark"),
    [
        ([(4096, 8192, 12288, 16384)], None, "winreg +4096"),
        ([(0, 4096), (0, 4096, 8192, 12288)], None, "winreg +4096"),
        ([(1000, 2000, 4000)], None, "winreg doubled"),
        ([(4096, 8192), (4096, 8192)], None, "winreg doubled"),
        ([(64, 5000), (128, 5000)], 5000, "winreg exact"),
        ([(4096, 8192)], None, None),
        ([(4096, 8192, 9000)], None, None),
        ([(4096, 4096, 4096)], None, None),
        ([(0, 4096), (0, 4096), (0, 4096)], None, None),
        ([(4096,), (8192,)], None, None),
    ],
    ids=[
        "step",
        "from-nothing",
        "doubled",
        "twice-each-time",
        "exact",
        "once",
        "no-rule",
        "no-more",
        "asked",
        "enough",
    ],
)
def test_a_rule_is_one_that_all_steps_keep(
    rooms: Sequence[Sequence[int]], needed: int | None, mark: str | None
) -> None:
    analysis = polled(*rooms, needed=needed)
    found = [one.marks for one in growth_marks(analysis.calls)]
    assert found == ([(f"calls.growth={mark}",)] if mark is not None else [])
    # It is a mark of the connection.
    assert [dict(one.marks) for one in client_programs(analysis)] == (
        [{"calls.growth": mark}] if mark is not None else []
    )


def test_reads_of_different_values_in_turn_are_no_steps_of_one() -> None:
    make, rooms = winreg(), (4096, 8192, 12288)
    events = [
        make.query_value(name, b"", status=ERROR_MORE_DATA, room=room)
        for name, room in zip(("230", "238", "4"), rooms, strict=True)
    ]
    assert list(growth_marks(analysis_of(*events).calls)) == []


def test_steps_of_a_connection_are_found_between_calls_of_others() -> None:
    make, events = winreg(), []
    channels = CHANNEL, replace(CHANNEL, number=1, client=Endpoint("10.0.0.3", 50000))
    for room in (4096, 8192, 12288):
        for make.channel in channels:
            events.append(make.query_value("Global", b"", status=ERROR_MORE_DATA, room=room))
    found = growth_marks(analysis_of(*events).calls)
    assert [(one.client, one.marks) for one in found] == [
        (channel.client, ("calls.growth=winreg +4096",)) for channel in channels
    ]


def test_it_shows_in_the_frames_of_the_first_call_that_was_refused() -> None:
    analysis = polled((4096,), (4096, 8192, 12288))
    (mark,) = growth_marks(analysis.calls)
    assert mark.frames == analysis.calls[1].frames
    assert (mark.client, mark.server, mark.time_ns) == (
        analysis.calls[1].client,
        analysis.calls[1].server,
        analysis.calls[1].time_ns,
    )


def test_without_calls_there_is_none() -> None:
    assert list(growth_marks(analysis_of().calls)) == []


def test_it_contradicts_nothing_and_counts_where_it_is_alike() -> None:
    marks = {"smb2.dialects": "0311", "smb2.header": "x", "smb2.contexts": "1, 2", "smb.ntlm_flags": "0x1"}
    known = [learnt("only", [{**marks, "calls.growth": "winreg +4096"}], ())]
    counts = {}
    for growth in ("winreg +4096", "winreg doubled"):
        found = recognized({**marks, "calls.growth": growth}, known)
        counts[growth] = len(found.alike), found.marks
    assert counts == {"winreg +4096": (5, 5), "winreg doubled": (4, 4)}
