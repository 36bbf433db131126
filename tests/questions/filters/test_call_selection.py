"""Which calls are shown: by interface, handle, session and filter, and the last of them; numbers and problems stay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from analyzer.core.errors import InputError
from analyzer.questions.filters.call_selection import Selection, handle_name, session_name
from analyzer.questions.filters.filter import CallFilter
from analyzer.questions.filters.machines_and_accounts import Account, Party
from analyzer.questions.filters.time_bounds import TimeBound
from analyzer.results.analysis import Analysis, CaptureFacts
from analyzer.results.connection import Channel
from analyzer.results.record_types import Endpoint
from analyzer.results.security import Identity
from tests.build.buffers import Block, perf_data
from tests.build.calls import HANDLE, OTHER_HANDLE, Calls, analysis_of, winreg
from tests.build.rpc import CHANNEL, SMB
from tests.interfaces.resolution.test_order import session

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
        ({"head": 3}, [1, 2, 3]),
        ({"head": 3, "tail": 1}, [3]),
        ({"head": 2, "handle": "q1"}, [1, 3]),
        ({"tail": 100, "handle": "q1"}, [1, 3, 5]),
        ({"tail": 1, "session": "#1", "filter": CallFilter("opnum == 6"), "handle": "q1"}, [3]),
    ],
)
def test_what_is_shown(selection: dict[str, Any], shown: list[int]) -> None:
    assert numbers(conversation(), **selection) == shown


def test_what_selects_is_put_into_words() -> None:
    whole = Selection(interfaces=("winreg", "svcctl"), handle="q1", session="#1", head=9, tail=2)
    assert whole.words == "interface winreg or svcctl, handle q1, session of call #1, the first 9, the last 2"
    assert Selection().words is None


def test_a_session_is_not_reported_by_a_call_that_is_not_there() -> None:
    with pytest.raises(InputError, match=r"there is no call #11; the capture has 10 calls"):
        numbers(conversation(), session="#11")


# ------------------------------------------------------------------------------------------ what people write


@pytest.mark.parametrize(
    ("read", "text", "name"),
    [
        *((handle_name, text, name) for text, name in (("2", "q2"), ("q02", "q2"), ("K1", "k1"), (HANDLE, HANDLE))),
        (handle_name, "{" + HANDLE.upper() + "}", HANDLE),
        *((session_name, text, "0x1d") for text in ("0x1D", "0x00000000000001d")),
        *((session_name, text, "#12") for text in ("12", "#12")),
    ],
)
def test_handles_and_sessions_are_named_as_reports_name_them(read: Callable[[str], str], text: str, name: str) -> None:
    assert read(text) == name


@pytest.mark.parametrize(
    ("read", "texts", "sentence"),
    [
        (handle_name, ["", "x", "q", "-1", "5e0c6a4e", HANDLE + "0"], "is no handle"),
        (session_name, ["", "1d", "0x", "0x12345678901234567", "first"], "is no session"),
        (TimeBound.of, ["", "noon", "25:00", "2025-13-01", "-5s", "5 fortnights"], "is no time: write 2026-"),
        (Party.of, ["", "10.0.0.300", "10.0.0.0/40", "a/b", "::x::"], "is no machine: write an address"),
    ],
)
def test_what_names_nothing_is_a_mistake(read: Callable[[str], object], texts: list[str], sentence: str) -> None:
    for text in texts:
        with pytest.raises(ValueError, match=sentence):
            read(text)


# ------------------------------------------------------------------------------------------ time, machines and users

NS = 1_000_000_000
DAY = 1_763_596_800 * NS  # 2025-11-20T00:00:00Z


def facts(first_ns: int, last_ns: int) -> CaptureFacts:
    return CaptureFacts(("x.pcap",), 1, 1, first_ns, last_ns)


@pytest.mark.parametrize(
    ("text", "first", "last", "at"),
    [
        ("2025-11-20T00:00:05Z", 0, 9, 5),
        ("2025-11-20T01:00:05+01:00", 0, 9, 5),
        ("2025-11-20", 5, 9, 0),
        ("12:30", 3600, 80000, 45000),
        ("12:30:01.5", 3600, 80000, 45001.5),
        # The capture begins before midnight and goes on until after the time.
        ("00:30", 86000, 90000, 88200),
        # A time of the day the capture began after, which it does not reach again.
        ("00:30", 86000, 87000, 1800),
        ("90s", 100, 900, 190),
        ("+5m", 100, 900, 400),
        ("2.5", 100, 900, 102.5),
    ],
)
def test_times_are_written_as_people_read_them(text: str, first: int, last: int, at: float) -> None:
    assert TimeBound.of(text).at(facts(DAY + first * NS, DAY + last * NS)) == DAY + int(at * NS)


def people() -> Analysis:
    """Calls of two users from two clients to one server, a second apart, and one of nobody known over TCP."""
    alice = Identity("ntlm", user="Alice", domain="LAB", workstation="WS1", server_dns_name="dc1.lab.example")
    calls = [
        Calls(channel=replace(CHANNEL, identity=alice)).open_query(),
        Calls(channel=replace(CHANNEL, identity=alice, number=3), first_frame=20).close_query(),
        Calls(channel=TCP, first_frame=40).enumerate_sets(b""),
    ]
    return replace(analysis_of(*calls), sessions=(session(0, identity=alice),))


@pytest.mark.parametrize(
    ("selection", "shown"),
    [
        ({"users": (Account("alice"),)}, [1, 2]),
        ({"users": (Account("lab\\ALICE"),)}, [1, 2]),
        ({"users": (Account("other\\alice"),)}, []),
        ({"users": (Account("anonymous"),)}, []),
        ({"clients": (Party.of("10.0.0.3"),)}, [3]),
        ({"clients": (Party.of("10.0.0.0/8"),)}, [1, 2, 3]),
        ({"clients": (Party.of("ws1"),)}, [1, 2]),
        ({"servers": (Party.of("DC1"),)}, [1, 2, 3]),
        ({"servers": (Party.of("dc1.lab.example"), Party.of("nobody"))}, [1, 2, 3]),
        ({"servers": (Party.of("dc2"),)}, []),
        ({"servers": (Party.of("dc1"),), "users": (Account("alice"),), "interfaces": ("winreg",)}, []),
    ],
)
def test_users_and_machines_select(selection: dict[str, Any], shown: list[int]) -> None:
    assert numbers(people(), **selection) == shown


@pytest.mark.parametrize(
    ("wanted", "account", "anonymous", "is_same"),
    [
        ("alice", "LAB\\Alice", False, True),
        ("ALICE", "alice@LAB.TEST", False, True),
        ("lab\\alice", "LAB\\Alice", False, True),
        ("lab\\alice", "alice@LAB.TEST", False, False),
        ("alice@lab.test", "Alice@LAB.TEST", False, True),
        ("alice@lab.test", "LAB\\alice", False, False),
        ("alice", "alicia", False, False),
        ("alice", None, False, False),
        ("Anonymous", None, True, True),
        ("anonymous", "LAB\\anonymous", False, True),
        ("anonymous", "LAB\\alice", False, False),
        ("guest", "LAB\\guest", True, True),
        ("alice", "LAB\\guest", True, False),
    ],
)
def test_an_account_is_the_one_that_was_written(
    wanted: str, account: str | None, anonymous: bool, is_same: bool
) -> None:
    assert Account(wanted).is_of(account, anonymous=anonymous) is is_same


@pytest.mark.parametrize(
    ("wanted", "ip", "names", "is_it"),
    [
        ("10.0.0.5", "10.0.0.5", (), True),
        ("10.0.0.5", "10.0.0.6", ("10.0.0.5",), False),
        ("10.0.0.5/24", "10.0.0.6", (), True),
        ("[fe80::1]", "fe80::1", (), True),
        ("10.0.0.5", "somewhere", (), False),
        ("\\\\SRV1", "10.0.0.5", ("srv1.lab.test",), True),
        ("srv1.lab.test", "10.0.0.5", ("SRV1.LAB.TEST",), True),
        ("srv1.lab.test", "10.0.0.5", ("srv1",), False),
        ("lab", "10.0.0.5", ("srv1.lab",), False),
        ("srv1", "10.0.0.5", (), False),
    ],
)
def test_a_machine_is_the_one_that_was_written(wanted: str, ip: str, names: tuple[str, ...], is_it: bool) -> None:
    assert Party.of(wanted).is_at(ip, names) is is_it


@pytest.mark.parametrize(
    ("selection", "is_asking"),
    [
        ({}, False),
        ({"tail": 1}, False),
        ({"users": (Account("alice"),)}, False),
        ({"interfaces": ("winreg",)}, True),
        ({"handle": "q1"}, True),
        ({"session": "0x1d"}, True),
        ({"filter": CallFilter("opnum == 6")}, True),
    ],
)
def test_calls_of_some_kind_are_asked_for(selection: dict[str, Any], is_asking: bool) -> None:
    """Those that are meant to be of a time, a machine or a user only, may be all."""
    made = Selection(**selection)
    assert made.is_asking is is_asking
    assert made.finds(conversation()) is is_asking
    assert not made.finds(analysis_of())


def test_bounds_include_their_moments() -> None:
    analysis = conversation()
    third = analysis.calls[2].time_ns
    bound = TimeBound("then", "absolute", third)
    assert numbers(analysis, until=bound) == [1, 2, 3]
    assert numbers(analysis, since=bound) == [3, 4, 5, 6, 7, 8, 9, 10]
    assert numbers(analysis, since=bound, until=bound) == [3]


def test_sessions_follow_the_calls_that_are_asked_for() -> None:
    analysis = conversation()
    ours, other = session(analysis.calls[0].session or 0), session(99)
    analysis = replace(analysis, sessions=(ours, other))
    assert Selection().of(analysis) is analysis
    assert [one.number for one in Selection(handle="q1").of(analysis).shown_sessions] == [ours.number]
    assert len(Selection(servers=(Party.of(ours.server.ip),)).of(analysis).shown_sessions) == 2
    assert Selection(servers=(Party.of("192.0.2.1"),)).of(analysis).shown_sessions == ()


def test_one_call_is_to_be_shown() -> None:
    assert Selection(filter=CallFilter("number == 4")).one(conversation()) == 4
    with pytest.raises(InputError, match="3 calls pass: handle q1") as caught:
        Selection(handle="q1").one(conversation())
    assert caught.value.hint == "choose one by --call: #1, #3, #5"
    with pytest.raises(InputError, match="no call passes: handle q7"):
        Selection(handle="q7").one(conversation())


@pytest.mark.parametrize(
    ("text", "first", "at"),
    [
        ("2025-11-20T00:00:05Z", 3600, 5),
        ("90s", 3600, 3690),
        ("12:30", 3600, 45000),
        ("01:00", 3600, 3600),
        # A time of day that is over when the capture begins is that of the next day: nobody knows when it ends.
        ("00:30", 3600, 86400 + 1800),
    ],
)
def test_while_a_capture_is_read_times_are_after_its_first_frame(text: str, first: int, at: int) -> None:
    assert TimeBound.of(text).after(DAY + first * NS) == DAY + at * NS
    facts_so_far = CaptureFacts(("x.pcap",), 1, 1, DAY + first * NS, None)
    assert TimeBound.of(text).at(facts_so_far) == DAY + at * NS


@pytest.mark.parametrize(
    ("selection", "option"),
    [
        (Selection(tail=3), "--tail"),
        (Selection(session="#7"), "--follow-session with the number of a call"),
        (Selection(session="0x1d"), None),
        (Selection(filter=CallFilter("opnum == 1 and time_delta > 1")), "the field time_delta"),
        (Selection(filter=CallFilter("program contains impacket")), "the field program"),
        (Selection(filter=CallFilter("opnum == 1")), None),
        (Selection(servers=(Party.of("srv1"),)), "the name srv1"),
        (Selection(clients=(Party.of("10.0.0.1"), Party.of("ws1"))), "the name ws1"),
        (Selection(clients=(Party.of("10.0.0.0/8"),), handle="q1", users=(Account("alice"),)), None),
    ],
)
def test_what_cannot_be_selected_before_the_whole_capture_was_read(selection: Selection, option: str | None) -> None:
    """docs/filters.md and `--names-from now`."""
    assert selection.needs_all == option
