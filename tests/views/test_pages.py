"""What people and programs get to read of two conversations, whole: every view, as text at two widths and as JSON.

`tests/views/pages/` holds it. A page guards words, columns, folding and styles of a view, and what it counts and leaves out; of
records every value. To write the pages anew on purpose, and look through what changed:

    PCQ_WRITE_PAGES=1 python -m pytest tests/views/test_pages.py -n 0 && git diff tests/views/pages
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from analyzer.audit.engine import Audit, Profile, select
from analyzer.audit.rule import rule_pages
from analyzer.auth.keyring import Keyring
from analyzer.core.absence import Missing
from analyzer.core.errors import InputError
from analyzer.core.events import BlockEnds, Problem
from analyzer.core.frames import frame_id
from analyzer.filters.selection import Selection
from analyzer.model.analysis import Analysis
from analyzer.model.call import Call
from analyzer.model.connection import SmbSession
from analyzer.model.record import Endpoint
from analyzer.model.security import Decryption, Identity
from analyzer.output.json import dumps
from analyzer.pipeline.packets import packets_of
from analyzer.pipeline.run import analyze
from analyzer.rpc.events import Exchange
from analyzer.views.audit import AuditView, MatrixView
from analyzer.views.counters import Counters
from analyzer.views.decode import Decode
from analyzer.views.entries import entries
from analyzer.views.handles import Handles
from analyzer.views.place import ShowPlace
from analyzer.views.rule_pages import RuleList
from analyzer.views.samples import Samples
from analyzer.views.sessions import Hosts, Sessions
from analyzer.views.show import Show
from analyzer.views.stats import Stats
from analyzer.views.streamed import StreamedTimeline
from analyzer.views.timeline import Timeline
from analyzer.views.triage import Triage
from tests import truth
from tests.audit.conversation import FREQUENCY, MULTIPLE, NOW, perflib, registry
from tests.build.buffers import Block, identifier, perf_data, wide
from tests.build.calls import HANDLE, OTHER_HANDLE, Calls, analysis_of, sealed, winreg
from tests.build.rpc import CHANNEL
from tests.resolution.test_order import as_user, session

PAGES = Path(__file__).with_name("pages")
IS_WRITING = bool(os.environ.get("PCQ_WRITE_PAGES"))

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
    return replace(
        analysis, capture=facts, sessions=sessions(), problems=(*analysis.problems, *PROBLEMS), secrets_given=True
    )


@cache
def captured() -> Analysis:
    """The calls of a capture, with their packets."""
    capture = next(
        one for one in truth.captures() if one.file == "pcq_smbd_scapy_impacket_smb311_norpcauth_allowed.pcap"
    )
    keyring = Keyring.load(capture.secrets_path)
    analysis = analyze([capture.path], keyring, pdus=True)
    return replace(analysis, packets=packets_of([capture.path], analysis, keyring))


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


def audit_of(analysis: Analysis, profile: Profile = Profile.WINDOWS) -> AuditView:
    return AuditView(Audit(analysis, profile=profile))


def analysed(file: str) -> Analysis:
    if file == "lost.pcap":
        raise InputError("lost.pcap: there is no such file")
    return {"sound.pcap": sound, "broken.pcap": broken, "empty.pcap": lambda: analysis_of()}[file]()


def matrix() -> MatrixView:
    pages = select(rule_pages(), ("PCQ1", "PCQ2"), ())
    audits = [Audit(analysis, pages=pages) for analysis in (sound(), broken(), analysis_of())]
    for audit in audits:
        list(audit.findings())
    return MatrixView(("sound.pcap", "[b]broken.pcap", "empty.pcap"), [audit.coverage for audit in audits])


VIEWS: dict[str, Callable[[], Any]] = {
    "timeline-sound": lambda: Timeline(sound()),
    "timeline-broken": lambda: Timeline(broken()),
    "timeline-broken-unfolded": lambda: Timeline(broken(), unfold=True, clock="absolute"),
    "timeline-some": lambda: Timeline(broken(), Selection(handle="q1", tail=5), clock="delta"),
    "timeline-none": lambda: Timeline(Selection(handle="q9").of(broken()), Selection(handle="q9")),
    "streamed": lambda: streamed(Selection()),
    "streamed-some": lambda: streamed(Selection(handle="q1")),
    "sessions": lambda: Sessions(broken()),
    "hosts": lambda: Hosts(broken()),
    "handles-sound": lambda: Handles(sound()),
    "handles-broken": lambda: Handles(broken()),
    "handles-none": lambda: Handles(analysis_of()),
    "counters": lambda: Counters(sound()),
    "counters-some": lambda: Counters(sound(), ("\\*(a)\\*", "\\none"), interval_ns=1_000_000_000),
    "counters-exact": lambda: Counters(sound(), ("\\*(b)\\*",), exact=True),
    "counters-none": lambda: Counters(broken(), ("\\nothing",)),
    "samples": lambda: Samples(sound()),
    "stats-sound": lambda: Stats(sound()),
    "stats-broken": lambda: Stats(broken()),
    "stats-some": lambda: Stats(Selection(handle="q1").of(broken())),
    "stats-none": lambda: Stats(Selection(handle="q9").of(broken())),
    "audit-sound": lambda: audit_of(sound()),
    "audit-broken": lambda: audit_of(broken()),
    "audit-strict": lambda: audit_of(broken(), Profile.STRICT),
    "matrix": matrix,
    "rules": lambda: RuleList(select(rule_pages(), ("PCQ21", "PCQ101"), ())),
    "triage": lambda: Triage(("sound.pcap", "broken.pcap", "empty.pcap", "lost.pcap"), analysed, ("x*: no file",)),
    "show-poll": lambda: Show(sound(), 14),
    "show-enumeration": lambda: Show(sound(), 1),
    "show-damaged": lambda: Show(broken(), 8),
    "show-sealed": lambda: Show(broken(), 18),
    "show-fault": lambda: Show(broken(), 12),
    "show-unreadable": lambda: Show(broken(), 16),
    "show-packets": lambda: Show(captured(), 5),
    "place": lambda: ShowPlace(sound(), 14, "response.lpData.perf_freq"),
    "place-of-bytes": lambda: ShowPlace(sound(), 14, "response.lpData"),
    "place-of-a-pdu": lambda: ShowPlace(sound(), 14, "request.pdu.8:16"),
}


def text_of(view: Any, width: int | None) -> str:
    return "".join(f"{line}\n" for line in view.lines(width))


def records_of(view: Any) -> str:
    made = view.records()
    return "".join(dumps(record).decode() + "\n" for record in made)


def is_as_written(name: str, text: str) -> None:
    """Holds a text to its page."""
    text = text.replace(str(truth.CAPTURES), "captures")
    path = PAGES / name
    if IS_WRITING:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return
    assert text == path.read_text(encoding="utf-8"), (
        f"{name} is not what it was, which guards words and numbers of a view; if that is meant, write it anew as this module says"
    )


@pytest.mark.parametrize("width", [None, 72])
@pytest.mark.parametrize("name", VIEWS)
def test_the_text_of_a_view(name: str, width: int | None) -> None:
    is_as_written(f"{name}.{'wide' if width is None else width}.txt", text_of(VIEWS[name](), width))


@pytest.mark.parametrize("name", VIEWS)
def test_the_records_of_a_view(name: str) -> None:
    is_as_written(f"{name}.jsonl", records_of(VIEWS[name]()))


@pytest.mark.parametrize(
    ("name", "view"),
    [
        ("calls", lambda: Timeline(broken())),
        ("sessions", lambda: Sessions(broken())),
        ("findings", lambda: audit_of(broken())),
    ],
)
def test_the_entries_of_a_view(name: str, view: Callable[[], Any]) -> None:
    is_as_written(f"entries-{name}.jsonl", "".join(dumps(entry).decode() + "\n" for entry in entries(view())))


def test_a_decoded_buffer() -> None:
    data = perf_data([Block(2, ids=(1, 2), values=((b"\1\0\0\0", bytes(8)),))], (5, NOW, FREQUENCY))
    for name, given in (("sound", data), ("cut", data[:-5])):
        view = Decode.of(given, "perf-data", samples=True, source="a test")
        for width in (None, 72):
            is_as_written(f"decode-{name}.{'wide' if width is None else width}.txt", text_of(view, width))
        is_as_written(f"decode-{name}.jsonl", records_of(view))


def test_no_page_is_left_over() -> None:
    stems = {*VIEWS, *(f"entries-{name}" for name in ("calls", "sessions", "findings")), "decode-sound", "decode-cut"}
    assert {path.name.partition(".")[0] for path in PAGES.iterdir()} == stems
