"""What people and programs get to read of two conversations, whole: every view, as text at two widths and as JSON.

`tests/screens/views/pages/` holds it. A page guards words, columns, folding and styles of a view, and what it counts and leaves
out; of records every value. `tests/written.py` says how to write the pages anew.

At full width every view has a page. At 72 columns those have one that show something else there, or fold in a way of their own,
one of each kind. Of all others the narrow lines, joined, are those of the page.
"""

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from rich.text import Text

from analyzer.auth.keyring import Keyring
from analyzer.core.absence import Missing
from analyzer.core.errors import InputError
from analyzer.core.events import BlockEnds, Problem
from analyzer.core.frame_ids import frame_id
from analyzer.core.output.json import dumps
from analyzer.pipeline.packet_rereading import packets_of
from analyzer.pipeline.run import analyze
from analyzer.questions.audit.audit_engine import Audit, Profile
from analyzer.questions.audit.findings_and_coverage import Accepted
from analyzer.questions.audit.rule_registry import every_rule, select_rules
from analyzer.questions.filters.call_selection import Selection
from analyzer.results.analysis import Analysis
from analyzer.results.calls.call import Call
from analyzer.results.connection import SmbSession
from analyzer.results.records.record_types import Endpoint
from analyzer.results.security import Decryption, Identity
from analyzer.screens.views.audit import AuditView, MatrixView
from analyzer.screens.views.counters import Counters
from analyzer.screens.views.decode import Decode
from analyzer.screens.views.docs import RuleList
from analyzer.screens.views.exported_entries import entries
from analyzer.screens.views.handles import Handles
from analyzer.screens.views.samples import Samples
from analyzer.screens.views.sessions_and_hosts import Hosts, Sessions
from analyzer.screens.views.show import Show, ShowPlace
from analyzer.screens.views.stats import Stats
from analyzer.screens.views.streamed_timeline import StreamedTimeline
from analyzer.screens.views.timeline import Timeline
from analyzer.screens.views.triage import Triage
from analyzer.transport.rpc.exchange_maker import Exchange
from tests import truth
from tests.analyses import analysis_of_file
from tests.build.buffers import Block, Counter, Instance, PerfObject, identifier, name_table, perf_data, wide, winperf
from tests.build.calls import HANDLE, NO_HANDLE, OTHER_HANDLE, Calls, analysis_of, sealed, winreg, with_sessions
from tests.build.rpc import CHANNEL
from tests.interfaces.resolution.test_order_of_calls import WHO, as_user, session
from tests.interfaces.svcctl.test_service_layer import (
    CHANGE,
    CONFIG,
    CREATE,
    INTERFACE,
    NARROW,
    OTHER,
    START,
    ScmrOpnum,
)
from tests.interfaces.svcctl.test_service_layer import HANDLE as SERVICE
from tests.questions.audit.conversation import FREQUENCY, MULTIPLE, NOW, perflib, registry
from tests.written import is_as_written

PAGES = Path(__file__).with_name("pages")

KDC = Identity(
    mechanism="krb5",
    user="bob",
    realm="LAB.TEST",
    service="cifs/filesrv.lab.test",
    etype=18,
    kvno=3,
    kdc_frames=(3, 4),
    client_os_version="10.0.22621",
)
GUEST = Identity(mechanism="ntlm", is_anonymous=True, workstation="GUESTBOX")
PROCESS = "5a8d6d2b-5b1c-4a3e-9f0e-1c2d3e4f5a6b"


def sessions() -> tuple[SmbSession, ...]:
    guid = "11111111-2222-3333-4444-555555555555"
    first = replace(
        session(0),
        client_guid=guid,
        server_guid=guid.replace("1", "a"),
        cipher="AES-128-GCM",
        signing="AES-CMAC",
        first_time_ns=1_000_000,
        last_time_ns=700_000_000,
        frames=tuple(range(1, 30)),
        encrypted_messages=12,
        decrypted_messages=12,
        signed_messages=9,
        verified_messages=8,
        trees=("\\\\FILESRV\\IPC$", "\\\\FILESRV\\C$"),
        pipes=("winreg", "svcctl"),
    )
    sealed_one = replace(
        session(1, decryption=Decryption.NO_KEY, identity=KDC),
        session_id=0x2E,
        client=Endpoint("10.0.0.9", 50001),
        reason="no key of the service was given",
        encrypted_messages=3,
        hosts=(),
    )
    refused = replace(session(2, identity=GUEST), refused=0xC000006D, client=Endpoint("10.0.0.9", 50002), hosts=())
    return first, sealed_one, refused


def failing() -> list[Exchange]:
    """Calls that end in every way, of two users on one server and one of nobody known over TCP."""
    make = Calls(first_frame=200)
    other = Calls(first_frame=300, channel=replace(CHANNEL, number=1, session=1, client=Endpoint("10.0.0.9", 50001)))
    keys = winreg(first_frame=400)
    sound = perf_data([Block(1, values=((b"\1\0\0\0",),))], (5, NOW, FREQUENCY))
    ours = [
        make.open_query(OTHER_HANDLE),
        make.validate(
            identifier(MULTIPLE, counter=1, name="a"),
            identifier(MULTIPLE, counter=1, name="a", status=0x1069),
            OTHER_HANDLE,
        ),
        *(make.counter_data(sound, OTHER_HANDLE) for _ in range(4)),
        make.counter_data(sound + bytes(64), OTHER_HANDLE),
        make.counter_data(sound[:-3], OTHER_HANDLE),
        make.counter_data(b"", OTHER_HANDLE, status=8, needed=9000),
        make.exchange(6, make.stub().handle(OTHER_HANDLE).uint(4096), None),
        make.exchange(6, None, make.sized(sound, room=4096)),
        make.faulted(9, b"abcd", 0x1C010002),
        make.faulted(6, make.stub().handle(OTHER_HANDLE).uint(4096), 5),
        make.registration(9, wide("Process V2"), guid=PROCESS, lcid=9),
        make.registration(3, b"", status=0x1068, lcid=0x409),
        make.exchange(3, make.stub().string("[red]\\\\evil\x1b[2J"), b"\0\0", reason="a test"),
        make.close_query(HANDLE, status=6),
    ]
    theirs = [
        sealed(other.open_query(HANDLE)),
        other.exchange(6, Missing.SEALED, Missing.SEALED, reason="no key"),
        other.counter_data(sound, HANDLE),
    ]
    of_keys = [
        keys.open_key(2),
        keys.query_value("Owner", b"\1\0\0\0", kind=4),
        keys.open_key(3, "cccccccc-9b1d-4f3c-8a55-0d2b7c9e1f10"),
        keys.query_value("230 232", None, "cccccccc-9b1d-4f3c-8a55-0d2b7c9e1f10", status=234, room=128, needed=900),
        keys.query_value("230 232", b"PERF", "cccccccc-9b1d-4f3c-8a55-0d2b7c9e1f10"),
    ]
    return [*(as_user(call) for call in ours), *(as_user(call, identity=KDC) for call in theirs), *of_keys]


PROBLEMS = (
    Problem("gap", "tcp", (4,), "12 bytes are missing"),
    *(Problem("gap", "tcp", (frame_id(1, 20 + at),), f"{at} bytes are missing") for at in range(12)),
    Problem("malformed", "smb", tuple(range(40, 52)), "[bold]no such\x1b command"),
    Problem("note", "capture", (), "the file ends in the middle of a packet"),
)


@cache
def sound() -> Analysis:
    return analysis_of(*perflib(), *registry())


@cache
def broken() -> Analysis:
    """Everything that goes wrong, of two files, with names and sessions."""
    analysis = analysis_of(*failing(), files=("a.pcap", "b.pcap"))
    facts = replace(analysis.capture, first_time_ns=190_000_000, names={"10.0.0.9": "client9.lab.test"})
    analysis = with_sessions(analysis, sessions())
    return replace(analysis, capture=facts, problems=(*analysis.problems, *PROBLEMS), secrets_given=True)


@cache
def of_registry() -> Analysis:
    """Calls of [MS-RRP] about other keys than performance data, and about names and help texts."""
    make = winreg()
    key, text = "00000000-0000-0000-0000-000000000005", "evil.exe\0".encode("utf-16-le")
    created = make.stub().handle(HANDLE).unicode_string("Perflib").unicode_string("").uint(0).uint(1).null().null()
    return analysis_of(
        make.open_key(2),
        make.exchange(
            15, make.stub().handle(HANDLE).unicode_string("SOFTWARE").uint(0).uint(1), make.stub().handle(key).uint(0)
        ),
        make.query_value("Start", b"\2\0\0\0", key, kind=4),
        make.query_value("Long", bytes(range(60)), key),
        make.query_value("Sized", None, key, needed=77),
        make.query_value("Small", None, key, status=234, needed=1),
        make.query_value("Several", "a\0b\0\0".encode("utf-16-le"), key, kind=7),
        make.enumerate_value(5, "Run", text, key),
        make.exchange(
            22,
            make.stub().handle(key).unicode_string("Run").uint(1).conformant(text).uint(len(text)),
            make.stub().uint(0),
        ),
        make.exchange(
            9,
            make.stub().handle(key).uint(3).unicode_string("").null().null(),
            make.stub().unicode_string("Perflib").null().null().uint(0),
        ),
        make.exchange(6, created, make.stub().handle(OTHER_HANDLE).pointer(9).uint(2).uint(0)),
        make.exchange(6, created, make.stub().handle(OTHER_HANDLE).pointer(9).uint(1).uint(0)),
        make.exchange(6, created, make.stub().handle(NO_HANDLE).null().uint(5)),
        make.open_key(3, OTHER_HANDLE),
        make.query_value(
            "Counter 009", name_table([("1", "1847"), ("2", "System"), ("4", "Memory")]), OTHER_HANDLE, kind=7
        ),
        make.query_value("Explain 009", name_table([("3", "A help text."), ("0", "none")]), OTHER_HANDLE, kind=7),
        make.query_value(
            "Global",
            winperf([PerfObject(2, (Counter(4, 0x10000, 4),), (Instance("a", -1, (0, 0), (7,)),))]),
            OTHER_HANDLE,
        ),
        make.close_key(OTHER_HANDLE),
        make.exchange(26, make.stub().handle(key), make.stub().uint(5).uint(0)),
    )


@cache
def of_services() -> Analysis:
    """Calls of the service control manager ([MS-SCMR]), as the tests of its layer write them."""
    make, ok = Calls(INTERFACE), "00000000"
    stubs: list[tuple[int, str, str]] = [
        (ScmrOpnum.OPEN_SC_MANAGER_W, "00000000000000003f000f00", SERVICE + ok),
        (ScmrOpnum.CREATE_SERVICE_W, CREATE, "00000000" + OTHER + ok),
        (ScmrOpnum.START_SERVICE_W, OTHER + START[40:], ok),
        (ScmrOpnum.CONTROL_SERVICE, OTHER + "01000000", "1000000003000000" + "00000000" * 5 + ok),
        (
            ScmrOpnum.CONTROL_SERVICE,
            OTHER + "63000000",
            "1000000063000000" + "00000000" + "05000000" + "00000000" * 3 + ok,
        ),
        (ScmrOpnum.QUERY_SERVICE_CONFIG_W, SERVICE + "00100000", CONFIG),
        (ScmrOpnum.CHANGE_SERVICE_CONFIG_W, CHANGE, "00000000" + ok),
        (ScmrOpnum.DELETE_SERVICE, OTHER, "05000000"),
        (39, OTHER + "0100000000100000", ok),
        (ScmrOpnum.CLOSE_SERVICE_HANDLE, OTHER, "00" * 20 + ok),
        (ScmrOpnum.QUERY_SERVICE_STATUS, OTHER, "00" * 28 + "06000000"),
        (ScmrOpnum.OPEN_SERVICE_A, OTHER + NARROW + "ff010f00", "00" * 20 + "24040000"),
    ]
    return analysis_of(*(make.exchange(opnum, bytes.fromhex(asks), bytes.fromhex(says)) for opnum, asks, says in stubs))


@cache
def captured() -> Analysis:
    """The calls of a capture, with their packets."""
    capture = next(
        one for one in truth.captures() if one.file == "pcq_smbd_scapy_impacket_smb311_norpcauth_allowed.pcap"
    )
    keyring = Keyring.load(capture.secrets_path)
    analysis = analyze([capture.path], keyring, pdus=True)
    return replace(analysis, packets=packets_of([capture.path], analysis, keyring))


@cache
def crowded() -> Analysis:
    """One more of everything than is listed: clients, sessions, ways of calling, files, kinds of problems."""
    calls, sessions_of = [], []
    for number in range(13):
        who = replace(WHO, user=f"user{number}", workstation=f"WS{number}")
        client = Endpoint(f"10.0.1.{number}", 50_000 + number)
        channel = replace(CHANNEL, number=number, session=number, client=client, identity=who)
        make = Calls(first_frame=10 * number + 1, channel=channel)
        calls.append(as_user(make.open_query(f"{number:08x}{HANDLE[8:]}"), level=6 - number % 2, identity=who))
        one = replace(
            session(number, identity=who), client=client, session_id=0x100 + number, trees=(f"\\\\S{number}\\C$",)
        )
        sessions_of.append(replace(one, dialect=f"3.{number}", frames=tuple(range(number, number + 10))))
    analysis = analysis_of(*calls, files=tuple(f"{number}.pcap" for number in range(13)))
    problems = tuple(
        Problem(f"kind{number}", "tcp", tuple(frame_id(at % 13, at) for at in range(number)), f"text {number}")
        for number in range(25)
    )
    names = {f"10.0.2.{number}": f"host{number}" for number in range(13)}
    facts = replace(analysis.capture, names=names)
    return replace(with_sessions(analysis, sessions_of), capture=facts, problems=problems)


class _Stream:
    """The calls of an analysis as if they were read now."""

    def __init__(self, analysis: Analysis) -> None:
        self.analysis, self.is_finished = analysis, False

    @property
    def tally(self) -> Any:
        return self.analysis.calls.tally

    def __iter__(self) -> Iterator[Call | Problem | BlockEnds]:
        yield PROBLEMS[0]
        yield from self.analysis.calls
        yield from PROBLEMS[-2:]
        self.is_finished = True


def streamed(selection: Selection) -> StreamedTimeline:
    return StreamedTimeline(_Stream(broken()), ("a.pcap", "b.pcap"), selection)


def audit_of(analysis: Analysis) -> AuditView:
    return AuditView(Audit(analysis, profile=Profile.WINDOWS))


def analysed(file: str) -> Analysis:
    if file == "lost.pcap":
        raise InputError("lost.pcap: there is no such file")
    if file == "empty.pcap":
        return analysis_of()
    return sound() if file == "sound.pcap" else broken()


# One entry accepts what is found, the other nothing.
ACCEPTED = (
    Accepted("PCQ501", "PCQ-2.2.4.7-R02", "PerflibV2QueryCounterData", "response.lpData.total_size", "80"),
    Accepted("PCQ501", "PCQ-2.2.4.7-R02", "another", None, None),
)


def matrix() -> MatrixView:
    pages = select_rules(every_rule(), ("PCQ10", "PCQ21", "PCQ203", "PCQ337"), ())
    audits = [Audit(analysis, rules=pages) for analysis in (sound(), broken(), analysis_of())]
    for audit in audits:
        list(audit.findings())
    return MatrixView(("sound.pcap", "[b]broken.pcap", "empty.pcap"), [audit.coverage for audit in audits])


def of_refused() -> Analysis:
    keys = winreg()
    return analysis_of(keys.open_key(), keys.query_value("230", None, status=2))


FOUR = ("sound.pcap", "broken.pcap", "empty.pcap", "lost.pcap")
VIEWS: dict[str, Callable[[], Any]] = {
    "timeline-registry": lambda: Timeline(of_registry()),
    "timeline-services": lambda: Timeline(of_services()),
    "stats-services": lambda: Stats(of_services()),
    "show-service": lambda: Show(of_services(), 3),
    "show-value": lambda: Show(of_registry(), 3),
    "timeline-sound": lambda: Timeline(sound()),
    "timeline-broken": lambda: Timeline(broken()),
    "timeline-broken-unfolded": lambda: Timeline(broken(), unfold=True, clock="absolute"),
    "timeline-some": lambda: Timeline(broken(), Selection(handle="q1", tail=5), clock="delta"),
    "timeline-none": lambda: Timeline(Selection(handle="q9").selected_analysis(broken()), Selection(handle="q9")),
    "streamed": lambda: streamed(Selection()),
    "streamed-some": lambda: streamed(Selection(handle="q1")),
    "sessions": lambda: Sessions(broken()),
    "hosts": lambda: Hosts(broken()),
    "handles-sound": lambda: Handles(sound()),
    "handles-broken": lambda: Handles(broken()),
    "handles-refused": lambda: Handles(of_refused()),
    "handles-none": lambda: Handles(analysis_of()),
    "counters": lambda: Counters(sound()),
    "counters-some": lambda: Counters(sound(), ("\\*(a)\\*", "\\none"), interval_ns=1_000_000_000),
    "counters-exact": lambda: Counters(sound(), ("\\*(b)\\*",), exact=True),
    "counters-none": lambda: Counters(broken(), ("\\nothing",)),
    "samples": lambda: Samples(sound()),
    "stats-sound": lambda: Stats(sound()),
    "stats-broken": lambda: Stats(broken()),
    "stats-some": lambda: Stats(Selection(handle="q1").selected_analysis(broken())),
    "stats-none": lambda: Stats(Selection(handle="q9").selected_analysis(broken())),
    "audit-sound": lambda: audit_of(sound()),
    "audit-broken": lambda: audit_of(broken()),
    "audit-strict": lambda: AuditView(
        Audit(broken(), profile=Profile.STRICT, rules=select_rules(every_rule(), ("PCQ130", "PCQ425", "PCQ717"), ()))
    ),
    "audit-baseline": lambda: AuditView(
        Audit(broken(), rules=select_rules(every_rule(), ("PCQ50",), ()), baseline=ACCEPTED)
    ),
    "timeline-crowded": lambda: Timeline(crowded()),
    "stats-crowded": lambda: Stats(crowded()),
    "sessions-crowded": lambda: Sessions(crowded()),
    "hosts-crowded": lambda: Hosts(crowded()),
    "handles-crowded": lambda: Handles(crowded()),
    "audit-crowded": lambda: AuditView(Audit(crowded(), rules=select_rules(every_rule(), ("PCQ1",), ()))),
    "triage-crowded": lambda: Triage(("crowd.pcap",), lambda file: crowded()),
    "matrix": matrix,
    "rules": lambda: RuleList(select_rules(every_rule(), ("PCQ21", "PCQ101"), ())),
    "triage": lambda: Triage(FOUR, analysed, ("x*: no file",)),
    "triage-whole": lambda: Triage(FOUR, analysed, ("x*: no file",), is_whole=True),
    "guessed": lambda: Decode.from_bytes(perf_data([Block(1, values=((b"\1\0\0\0",),))]), "auto"),
    "guessed-alone": lambda: Decode.from_bytes(wide("Process V2"), "auto"),
    "show-decrypted": lambda: Show(analysis_of_file(truth.captures()[0].file), 3),
    "show-poll": lambda: Show(sound(), 14),
    "show-enumeration": lambda: Show(sound(), 1),
    "show-damaged": lambda: Show(broken(), 8),
    "show-sealed": lambda: Show(broken(), 18),
    "show-fault": lambda: Show(broken(), 12),
    "show-unreadable": lambda: Show(broken(), 16),
    "show-packets": lambda: Show(captured(), 96),
    "place": lambda: ShowPlace(sound(), 14, "response.lpData.perf_freq"),
    "place-of-bytes": lambda: ShowPlace(sound(), 14, "response.lpData"),
    "place-of-a-pdu": lambda: ShowPlace(sound(), 14, "request.pdu.8:16"),
}


def text_of(view: Any, width: int | None) -> str:
    return "".join(f"{line}\n" for line in view.lines(width))


def records_of(view: Any) -> str:
    made = view.records()
    return "".join(dumps(record).decode() + "\n" for record in made)


@pytest.mark.parametrize("name", VIEWS)
def test_the_text_of_a_view(name: str) -> None:
    is_as_written(PAGES / f"{name}.wide.txt", text_of(VIEWS[name](), None))


IN_72_COLUMNS = """
    timeline-registry timeline-some streamed-some sessions hosts handles-broken counters samples stats-broken stats-none
    audit-baseline matrix rules triage guessed-alone show-damaged show-enumeration show-fault place-of-bytes
"""
# Views that show something else where a page is narrow, as those of their kind do in a page.
ELSEWHERE = """
    timeline-services timeline-sound counters-some counters-exact stats-sound stats-some stats-services stats-crowded
    show-poll show-decrypted show-packets show-service show-unreadable show-value
"""


@pytest.mark.parametrize("name", IN_72_COLUMNS.split())
def test_the_text_of_a_view_in_72_columns(name: str) -> None:
    is_as_written(PAGES / f"{name}.72.txt", text_of(VIEWS[name](), 72))


@pytest.mark.parametrize("name", [name for name in VIEWS if name not in (IN_72_COLUMNS + ELSEWHERE).split()])
def test_narrow_lines_are_the_wide_ones_folded(name: str) -> None:
    wide, narrow = (
        "".join(Text.from_markup(line).plain for line in VIEWS[name]().lines(width)) for width in (None, 72)
    )
    assert "".join(narrow.split()) == "".join(wide.split())


# Views of the same records as others.
SAME = """
    timeline-crowded audit-crowded audit-sound audit-strict timeline-broken-unfolded timeline-none stats-none triage-whole
"""


@pytest.mark.parametrize("name", [name for name in VIEWS if name not in SAME.split()])
def test_the_records_of_a_view(name: str) -> None:
    is_as_written(PAGES / f"{name}.jsonl", records_of(VIEWS[name]()))


@pytest.mark.parametrize(
    ("name", "view"),
    [
        ("calls", lambda: Timeline(broken())),
        ("sessions", lambda: Sessions(broken())),
        ("findings", lambda: audit_of(broken())),
    ],
)
def test_the_entries_of_a_view(name: str, view: Callable[[], Any]) -> None:
    is_as_written(PAGES / f"entries-{name}.jsonl", "".join(dumps(entry).decode() + "\n" for entry in entries(view())))


def test_a_decoded_buffer() -> None:
    data = perf_data([Block(2, ids=(1, 2), values=((b"\1\0\0\0", bytes(8)),))], (5, NOW, FREQUENCY))
    for name, given in (("sound", data), ("cut", data[:-5])):
        view = Decode.from_bytes(given, "perf-data", samples=True, source="a test")
        is_as_written(PAGES / f"decode-{name}.wide.txt", text_of(view, None))
        is_as_written(PAGES / f"decode-{name}.jsonl", records_of(view))


def test_no_page_is_left_over() -> None:
    stems = {*VIEWS, *(f"entries-{name}" for name in ("calls", "sessions", "findings")), "decode-sound", "decode-cut"}
    assert {path.name.partition(".")[0] for path in PAGES.iterdir()} == stems
