"""Which calls are shown: by interface, handle, session and filter, and the last of them; numbers and problems stay."""

from typing import Any

import pytest
from msgspec.structs import replace

from analyzer.core.errors import InputError
from analyzer.questions.filters.call_selection import Selection, handle_name, session_name
from analyzer.questions.filters.filter import CallFilter
from analyzer.questions.filters.times_machines_and_users import Account, Party, TimeBound
from analyzer.results.analysis import Analysis, CaptureFacts
from analyzer.results.connection import Channel
from analyzer.results.records.record_types import Endpoint
from analyzer.results.security import Identity
from tests.build.buffers import Block, perf_data
from tests.build.calls import HANDLE, OTHER_HANDLE, Calls, analysis_of, winreg
from tests.build.rpc import CHANNEL, SMB
from tests.interfaces.resolution.test_order_of_calls import session
from tests.written import Tables, held

TABLES = Tables()
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


def selected(*, filter=None, users=(), clients=(), servers=(), **options):
    """A selection, of what people write."""
    options["filter"] = CallFilter(filter) if filter is not None else None
    parties = {"clients": tuple(map(Party.from_text, clients)), "servers": tuple(map(Party.from_text, servers))}
    return Selection(users=tuple(map(Account, users)), **parties, **options)


def numbers(analysis: Analysis, **selection: Any) -> list[int]:
    return [number for number, _ in selected(**selection).shown(analysis)]


@TABLES.of(
    {},
    # Two servers, or a server and a registry, may hand out the same UUID; its number states which was meant.
    *({"handle": handle} for handle in ("q1", OTHER_HANDLE, HANDLE, "k1", "q9")),
    *({"session": session} for session in ("0x1d", "0x1e", "#6", "#7")),
    *({"interfaces": ("winreg",)}, {"filter": "opnum == 3 or status == ERROR_MORE_DATA"}),
    *({"tail": 3}, {"head": 3}, {"head": 3, "tail": 1}, {"head": 2, "handle": "q1"}, {"tail": 100, "handle": "q1"}),
    {"tail": 1, "session": "#1", "filter": "opnum == 6", "handle": "q1"},
)
def what_is_shown(**selection):
    return numbers(conversation(), **selection)


def test_what_selects_is_put_into_words() -> None:
    whole = Selection(interfaces=("winreg", "svcctl"), handle="q1", session="#1", head=9, tail=2)
    assert whole.words == "interface winreg or svcctl, handle q1, session of call #1, the first 9, the last 2"
    assert Selection().words is None


def test_a_session_is_not_reported_by_a_call_that_is_not_there() -> None:
    with pytest.raises(InputError, match=r"there is no call #11; the capture has 10 calls"):
        numbers(conversation(), session="#11")


# ------------------------------------------------------------------------------------------ what people write


@TABLES.of("2", "q02", "K1", HANDLE, "{" + HANDLE.upper() + "}")
def handles_are_named_as_reports_name_them(text):
    return handle_name(text)


@TABLES.of("0x1D", "0x00000000000001d", "12", "#12")
def sessions_are_named_as_reports_name_them(text):
    return session_name(text)


READ = {"handle": handle_name, "session": session_name, "time": TimeBound.from_text, "machine": Party.from_text}


@TABLES.of(
    *(("handle", text) for text in ("", "x", "q", "-1", "5e0c6a4e", HANDLE + "0")),
    *(("session", text) for text in ("", "1d", "0x", "0x12345678901234567", "first")),
    *(("time", text) for text in ("", "noon", "25:00", "2025-13-01", "-5s", "5 fortnights")),
    *(("machine", text) for text in ("", "10.0.0.300", "10.0.0.0/40", "a/b", "::x::")),
)
def what_names_nothing_is_a_mistake(kind, text):
    with pytest.raises(ValueError, match=f"is no {kind}") as raised:
        READ[kind](text)
    return str(raised.value).removeprefix(f"{text} ")


# ------------------------------------------------------------------------------------------ time, machines and users

NS = 1_000_000_000
DAY = 1_763_596_800 * NS  # 2025-11-20T00:00:00Z


def facts(first_ns: int, last_ns: int) -> CaptureFacts:
    return CaptureFacts(("x.pcap",), 1, 1, first_ns, last_ns)


@TABLES.of(
    *((text, 0, 9) for text in ("2025-11-20T00:00:05Z", "2025-11-20T01:00:05+01:00")),
    ("2025-11-20", 5, 9),
    *((text, 3600, 80000) for text in ("12:30", "12:30:01.5")),
    # The capture begins before midnight and goes on until after the time, or begins after it and does not reach it again.
    *(("00:30", 86000, last) for last in (90000, 87000)),
    *((text, 100, 900) for text in ("90s", "+5m", "2.5")),
)
def times_are_written_as_people_read_them(text, first, last):
    """In a capture of these seconds of a day."""
    return (TimeBound.from_text(text).at(facts(DAY + first * NS, DAY + last * NS)) - DAY) / NS


def people() -> Analysis:
    """Calls of two users from two clients to one server, a second apart, and one of nobody known over TCP."""
    alice = Identity("ntlm", user="Alice", domain="LAB", workstation="WS1", server_dns_name="dc1.lab.example")
    calls = [
        Calls(channel=replace(CHANNEL, identity=alice)).open_query(),
        Calls(channel=replace(CHANNEL, identity=alice, number=3), first_frame=20).close_query(),
        Calls(channel=TCP, first_frame=40).enumerate_sets(b""),
    ]
    return replace(analysis_of(*calls), sessions=(session(0, identity=alice),))


@TABLES.of(
    *({"users": (name,)} for name in ("alice", "lab\\ALICE", "other\\alice", "anonymous")),
    *({"clients": (name,)} for name in ("10.0.0.3", "10.0.0.0/8", "ws1")),
    *({"servers": names} for names in (("DC1",), ("dc1.lab.example", "nobody"), ("dc2",))),
    {"servers": ("dc1",), "users": ("alice",), "interfaces": ("winreg",)},
)
def users_and_machines_select(**selection):
    return numbers(people(), **selection)


@TABLES.of(
    *((name, "LAB\\Alice") for name in ("alice", "lab\\alice")),
    *((name, "alice@LAB.TEST") for name in ("ALICE", "lab\\alice", "alice@lab.test")),
    *(("alice@lab.test", "LAB\\alice"), ("alice", "alicia"), ("alice", None)),
    *(("anonymous", name) for name in ("LAB\\anonymous", "LAB\\alice")),
    *(("Anonymous", None, True), ("guest", "LAB\\guest", True), ("alice", "LAB\\guest", True)),
)
def an_account_is_the_one_that_was_written(wanted, account, anonymous=False):
    return Account(wanted).is_of(account, anonymous=anonymous)


@TABLES.of(
    *(("10.0.0.5", "10.0.0.5"), ("10.0.0.5", "10.0.0.6", "10.0.0.5"), ("10.0.0.5/24", "10.0.0.6")),
    *(("[fe80::1]", "fe80::1"), ("10.0.0.5", "somewhere"), ("srv1", "10.0.0.5"), ("lab", "10.0.0.5", "srv1.lab")),
    ("\\\\SRV1", "10.0.0.5", "srv1.lab.test"),
    *(("srv1.lab.test", "10.0.0.5", name) for name in ("SRV1.LAB.TEST", "srv1")),
)
def a_machine_is_the_one_that_was_written(wanted, ip, *names):
    return Party.from_text(wanted).is_at(ip, names)


@TABLES.of(
    *({}, {"tail": 1}, {"users": ("alice",)}, {"interfaces": ("winreg",)}),
    *({"handle": "q1"}, {"session": "0x1d"}, {"filter": "opnum == 6"}),
)
def calls_of_some_kind_are_asked_for(**selection):
    """Those that are meant to be of a time, a machine or a user only, may be all."""
    made = selected(**selection)
    assert made.finds(conversation()) is made.is_asking
    assert not made.finds(analysis_of())
    return made.is_asking


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
    assert Selection().selected_analysis(analysis) is analysis
    assert [one.number for one in Selection(handle="q1").selected_analysis(analysis).shown_sessions] == [ours.number]
    assert len(Selection(servers=(Party.from_text(ours.server.ip),)).selected_analysis(analysis).shown_sessions) == 2
    assert Selection(servers=(Party.from_text("192.0.2.1"),)).selected_analysis(analysis).shown_sessions == ()


def test_one_call_is_to_be_shown() -> None:
    assert Selection(filter=CallFilter("number == 4")).one(conversation()) == 4
    with pytest.raises(InputError, match="3 calls pass: handle q1") as caught:
        Selection(handle="q1").one(conversation())
    assert caught.value.hint == "choose one by --call: #1, #3, #5"
    with pytest.raises(InputError, match="no call passes: handle q7"):
        Selection(handle="q7").one(conversation())


# A time of day that is over when the capture begins is that of the next day: nobody knows when it ends.
@TABLES.of("2025-11-20T00:00:05Z", "90s", "12:30", "01:00", "00:30")
def while_a_capture_is_read_times_are_after_its_first_frame(text):
    """Of a capture that begins at one o'clock, in seconds of the day."""
    found = TimeBound.from_text(text).after(DAY + 3600 * NS)
    facts_so_far = CaptureFacts(("x.pcap",), 1, 1, DAY + 3600 * NS, None)
    assert TimeBound.from_text(text).at(facts_so_far) == found
    return (found - DAY) / NS


@TABLES.of(
    *({"tail": 3}, {"session": "#7"}, {"session": "0x1d"}, {"servers": ("srv1",)}, {"clients": ("10.0.0.1", "ws1")}),
    *({"filter": text} for text in ("opnum == 1 and time_delta > 1", "program contains impacket", "opnum == 1")),
    {"clients": ("10.0.0.0/8",), "handle": "q1", "users": ("alice",)},
)
def what_cannot_be_selected_before_the_whole_capture_was_read(**selection):
    """docs/filters.md and `--names-from now`."""
    return selected(**selection).needs_all


test_what_selects_is_as_was_read_through = held(__file__, TABLES)
