"""Which calls are shown: by interface, handle, session and filter, and the last of them; numbers and problems stay."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from analyzer.core.errors import InputError
from analyzer.filters.filter import CallFilter
from analyzer.filters.selection import EVERYTHING, Selection, handle_name, session_name
from analyzer.formats.tables import table_of
from analyzer.model.analysis import Analysis
from analyzer.model.connection import Channel
from analyzer.model.record import Endpoint
from analyzer.views.timeline import Timeline
from tests.build.buffers import Block, perf_data
from tests.build.calls import HANDLE, OTHER_HANDLE, Calls, analysis_of, winreg
from tests.build.rpc import CHANNEL, SMB
from tests.records import plains

OTHER_SESSION = replace(CHANNEL, number=1, session=1)
TCP = Channel(2, "ncacn_ip_tcp", Endpoint("10.0.0.3", 50000), Endpoint("10.0.0.1", 49153), None, None, None)


def conversation() -> Analysis:
    """Two query handles in one session, another session, a call over TCP, and a registry key."""
    first, second = Calls(), Calls(channel=OTHER_SESSION, first_frame=20)
    over_tcp, keys = Calls(channel=TCP, first_frame=40), winreg(channel=OTHER_SESSION, first_frame=60)
    data = perf_data([Block(1, values=((b"\1\0\0\0",),))])
    events = [
        first.open_query(),
        first.open_query(OTHER_HANDLE),
        first.counter_data(data),
        first.counter_data(data[:-3], OTHER_HANDLE),
        first.close_query(),
        replace(second.open_query("bbbbbbbb-9b1d-4f3c-8a55-0d2b7c9e1f10"), smb=replace(SMB, session_id=0x1E)),
        replace(over_tcp.enumerate_sets(b""), smb=None),
        keys.open_key(handle=HANDLE),
        keys.query_value("Global", None, status=234, needed=900),
        keys.query_value("Global", b"PERF"),
    ]
    return analysis_of(*events)


def numbers(analysis: Analysis, **selection: Any) -> list[int]:
    return [number for number, _ in Selection(**selection).shown(analysis)]


@pytest.mark.parametrize(
    ("selection", "shown"),
    [
        ({}, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]),
        ({"handle": "q1"}, [1, 3, 5]),
        ({"handle": OTHER_HANDLE}, [2, 4]),
        # Two servers, or a server and a registry, may hand out the same UUID; its number states which was meant.
        ({"handle": HANDLE}, [1, 3, 5, 8, 9, 10]),
        ({"handle": "k1"}, [8, 9, 10]),
        ({"handle": "q9"}, []),
        ({"session": "0x1d"}, [1, 2, 3, 4, 5, 8, 9, 10]),
        ({"session": "0x1e"}, [6]),
        ({"session": "#6"}, [6, 8, 9, 10]),
        ({"session": "#7"}, [7]),
        ({"interfaces": ("winreg",)}, [8, 9, 10]),
        ({"filter": CallFilter("opnum == 3 or status == ERROR_MORE_DATA")}, [1, 2, 6, 8, 9]),
        ({"tail": 3}, [8, 9, 10]),
        ({"tail": 100, "handle": "q1"}, [1, 3, 5]),
        ({"tail": 1, "session": "#1", "filter": CallFilter("opnum == 6"), "handle": "q1"}, [3]),
    ],
)
def test_what_is_shown(selection: dict[str, Any], shown: list[int]) -> None:
    assert numbers(conversation(), **selection) == shown


def test_a_session_is_not_reported_by_a_call_that_is_not_there() -> None:
    with pytest.raises(InputError, match=r"there is no call #11; the capture has 10 calls"):
        numbers(conversation(), session="#11")


@pytest.mark.parametrize(
    ("text", "name"),
    [("2", "q2"), ("q02", "q2"), ("K1", "k1"), (HANDLE, HANDLE), ("{" + HANDLE.upper() + "}", HANDLE)],
)
def test_handles_are_named_as_reports_name_them(text: str, name: str) -> None:
    assert handle_name(text) == name


@pytest.mark.parametrize("text", ["", "x", "q", "-1", "5e0c6a4e", HANDLE + "0"])
def test_what_is_no_handle(text: str) -> None:
    with pytest.raises(ValueError, match="is no handle"):
        handle_name(text)


@pytest.mark.parametrize(
    ("text", "name"), [("0x1D", "0x1d"), ("0x00000000000001d", "0x1d"), ("12", "#12"), ("#12", "#12")]
)
def test_sessions_are_named_by_their_id_or_a_call(text: str, name: str) -> None:
    assert session_name(text) == name


@pytest.mark.parametrize("text", ["", "1d", "0x", "0x12345678901234567", "first"])
def test_what_is_no_session(text: str) -> None:
    with pytest.raises(ValueError, match="is no session"):
        session_name(text)


def test_numbers_and_problems_stay_whatever_is_shown() -> None:
    analysis = conversation()
    everything = list(plains(Timeline(analysis).records()))
    some = list(plains(Timeline(analysis, Selection(handle="q1", tail=2)).records()))
    assert [record["number"] for record in some if record["record"] == "call"] == [3, 5]
    of = [[one for one in records if one["record"] == "problem"] for records in (everything, some)]
    assert of[0] == of[1] != []
    assert everything[-1]["calls"] == some[-1]["calls"] == 10
    assert (everything[-1]["calls_shown"], everything[-1]["selected_by"]) == (10, None)
    assert (some[-1]["calls_shown"], some[-1]["selected_by"]) == (2, "handle q1, the last 2")


def test_times_are_counted_from_the_capture_and_from_the_call_before() -> None:
    calls = [
        one for one in plains(Timeline(conversation(), Selection(handle="q1")).records()) if one["record"] == "call"
    ]
    assert [one["time_relative_ns"] for one in calls] == [1_000_000, 5_000_000, 9_000_000]
    assert [one["time_delta_ns"] for one in calls] == [None, 4_000_000, 4_000_000]


def test_tables_hold_what_is_shown() -> None:
    assert table_of(Timeline(conversation(), Selection(handle="q1")))["number"].to_list() == [1, 3, 5]
    assert table_of(Timeline(conversation(), EVERYTHING)).height == 10
