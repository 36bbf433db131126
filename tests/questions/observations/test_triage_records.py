"""What counts as unusual, and how much it matters: what is found in made conversations, each finding whole.

`triage_records.txt` has a paragraph for each promise: of the file what is said in one line, then a line for each finding. The
n-th exchange of `Calls` has the frames 2n - 1 and 2n, a millisecond apart, and what is refused or encrypted the number of its
session as its frame and time.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from struct import pack

import pytest
from msgspec.structs import replace

from analyzer.core.events import Event, Problem
from analyzer.questions.observations.triage_records import triage, unreadable
from analyzer.results.analysis import Analysis, Given, Part
from analyzer.results.calls.call import Call
from analyzer.results.connection import Bound, SmbSession
from analyzer.results.records.record_types import Endpoint
from analyzer.results.records.triage import TriageFile
from analyzer.results.security import Decryption, Identity
from analyzer.transport.rpc.exchange_maker import Exchange
from tests.build.buffers import (
    Block,
    Counter,
    Instance,
    PerfObject,
    identifier,
    instance_header,
    perf_data,
    wide,
    winperf,
)
from tests.build.calls import (
    COUNTERSET,
    HANDLE,
    OTHER_HANDLE,
    Calls,
    altered,
    analysis_of,
    sealed,
    smb_session,
    winreg,
)
from tests.build.rpc import CHANNEL, PCQ
from tests.interfaces.svcctl.test_service_layer import CREATE
from tests.questions.statistics.test_who_looked_at_what import polling_all
from tests.questions.statistics.test_who_looked_at_what import processes as listed
from tests.written import Outcomes

SVCCTL = "367abb81-9844-35f1-ad32-98f038001003"
TASKS = "86d35949-83c9-4044-b424-db363231fd0c"
SERVER = "4b324fc8-1670-01d3-1278-5a47bf6ee188"
ONE_VALUE, NO_VALUE = perf_data([Block(1, values=((pack("<I", 7),),))]), perf_data([])
Case = tuple[str, Analysis | Iterable[Event]]


def refused(*numbers: int, status: int = 0xC000006D) -> list[SmbSession]:
    return [smb_session(number, status) for number in numbers]


def of_others(number: int, *, anonymous: bool = False) -> SmbSession:
    """Each of other ends, later ones before earlier ones."""
    ends = Endpoint(f"10.0.1.{number}", 50000), Endpoint(f"10.0.2.{number}", 445)
    times = {"first_time_ns": 100 - number, "last_time_ns": 200 - number}
    return replace(smb_session(number, anonymous=anonymous), client=ends[0], server=ends[1], **times)


def encrypted(number: int, decryption: Decryption, who: Identity, reason: str | None = None) -> SmbSession:
    one = replace(smb_session(number), decryption=decryption, identity=who, reason=reason)
    return replace(one, encrypted_messages=9, decrypted_messages=2)


def wanting(exchange: Exchange, mechanism: str, decryption: Decryption, identity: Identity | None) -> Exchange:
    auth = replace(exchange.auth, mechanism=mechanism, level=6, identity=identity, decryption=decryption)
    return replace(sealed(exchange), auth=auth)


def anonymous(exchange: Exchange) -> Exchange:
    return replace(exchange, channel=replace(exchange.channel, identity=Identity("ntlm", is_anonymous=True)))


def guid(number: int) -> str:
    return f"{number:08x}-0000-0000-0000-000000000000"


def calls_of(interface: str, *opnums: int) -> list[Exchange]:
    make = Calls(interface)
    return [make.exchange(opnum, b"", b"") for opnum in opnums]


def instances(make: Calls, names: bytes, status: int = 0) -> Exchange:
    """The instances of the counterset are asked for."""
    asked = make.stub().string("\\\\SRV1").uuid(COUNTERSET).uint(4096)
    return make.exchange(2, asked, make.sized(names, status))


def polled(make: Calls, data: bytes, status: int = 0, *, needed: int | None = None) -> list[Event]:
    """A counter of the counterset is polled once."""
    asked = [make.open_query(), make.validate(identifier(COUNTERSET, counter=1, name="a"))]
    return [*asked, make.counter_data(data, status=status, needed=needed)]


def polled_at(*gaps_ms: int) -> list[Event]:
    """A handle of an unknown counterset, polled with these intervals."""
    make = Calls()
    events: list[Event] = [make.open_query(), make.counter_data(NO_VALUE)]
    for gap in gaps_ms:
        make.frame += gap - 2
        events.append(make.counter_data(NO_VALUE))
    return events


def block(title: int = 230, counter: int = 784, *, values: int = 1, metadata: bool = False) -> bytes:
    one = Instance("a", -1, (0, 0), (7,))
    return winperf([PerfObject(title, (Counter(counter, 0x10000, 4),), (one,) * values, metadata=metadata)])


def asked_for(*answers: tuple[str, bytes | None, int]) -> list[Event]:
    """Values of the registry are asked for: the name, the answer and its status."""
    make = winreg()
    return [make.open_key(), *(make.query_value(name, data, status=status) for name, data, status in answers)]


def services(*statuses: int) -> list[Event]:
    make = Calls(SVCCTL)
    created = bytes.fromhex("00000000" + "22" * 20)
    return [make.exchange(12, bytes.fromhex(CREATE), created + pack("<I", status)) for status in statuses]


def of_callers() -> Iterator[Case]:
    make = Calls()
    yield "a caller with a name is none that is anonymous", [make.open_query()]
    yield "an anonymous caller is grave", [anonymous(make.open_query())]
    yield (
        "an anonymous session is a note",
        [smb_session(1, anonymous=True), smb_session(2, anonymous=True), smb_session(3)],
    )
    yield "anonymous calls hide anonymous sessions", [anonymous(make.open_query()), smb_session(1, anonymous=True)]
    yield "a finding about anonymous sessions is of the first", [of_others(n, anonymous=True) for n in (1, 2)]
    for count in (1, 4, 5, 6, 7, 9, 10, 12):
        yield f"refused logons: {count}, of which five are named and ten are grave", refused(*range(1, count + 1))
    yield "refusals that say nothing of passwords are not grave", refused(*range(1, 13), status=0xC0000022)
    one, two, three, five = refused(1, 2, 3, 5)
    ends = replace(two, client=Endpoint("10.0.0.9", 1)), replace(three, server=Endpoint("10.0.0.8", 445))
    apart = [one, *ends, *refused(4, status=0xC0000234), five]
    yield "refused logons are apart by client, server and status", apart
    alike = [replace(one, first_time_ns=100 - one.number, last_time_ns=200 - one.number) for one in refused(5, 6)]
    yield "refused logons are of the first, in the span of all", alike
    named = replace(smb_session(9, 0xC000006D), identity=Identity("ntlm", "user9", workstation="WS1"))
    late = [Calls().open_query(), named, *refused(1, status=0xC0000071)]
    yield "findings alike come in the order of their times, with names of hosts", late


def of_what_is_encrypted() -> Iterator[Case]:
    yield (
        "messages that stayed encrypted are counted, with the reasons and what would decrypt them",
        [
            encrypted(1, Decryption.NO_KEY, Identity("ntlm", "user1"), "no key for user1"),
            encrypted(4, Decryption.NO_HANDSHAKE, Identity("ntlm")),
            encrypted(5, Decryption.WRONG_KEY, Identity("krb5", service="cifs/srv")),
            encrypted(6, Decryption.NO_KEY, Identity("ntlm")),
            replace(smb_session(7), encrypted_messages=3, decrypted_messages=3),
        ],
    )
    closed = [replace(of_others(number), encrypted_messages=number, reason="r") for number in (3, 4)]
    yield "a finding about encrypted sessions is of the first", closed
    make = Calls()
    data = make.counter_data(NO_VALUE)
    calls = sealed(data), replace(sealed(make.registration(9, b"")), reason="wrong key"), make.close_query()
    yield "sealed calls are one finding", calls
    make = winreg()
    named = make.exchange(15, make.stub().handle(HANDLE), make.stub().uint(0))
    opened, refused = sealed(make.open_key()), replace(sealed(named), fault=5)
    yield "sealed calls of the registry may be about other values", [refused, sealed(named)]
    yield "but for those that open a performance key", [opened, refused]
    yield "what was read of the registry is certain", [make.open_key(), sealed(named)]
    hidden = Calls()
    read = [
        sealed(hidden.counter_data(b"")),
        hidden.registration(9, wide("Network Adapter")),
        *polled(hidden, ONE_VALUE),
    ]
    yield "what is sealed hides nothing that is read", read
    make, user = Calls(), Identity("ntlm", "user1")
    yield (
        "keys are wanted by calls of counters that they would decrypt, each once",
        [
            wanting(make.open_query(), "ntlm", Decryption.NO_KEY, user),
            wanting(make.open_query(), "ntlm", Decryption.NO_KEY, user),
            wanting(make.open_query(), "spnego/krb5", Decryption.WRONG_KEY, Identity("krb5")),
            wanting(make.open_query(), "ntlm", Decryption.DECRYPTED, Identity("ntlm", "user2")),
            wanting(make.open_query(), "ntlm", Decryption.NO_KEY, None),
            wanting(Calls(SVCCTL).exchange(0, b"", b""), "ntlm", Decryption.NO_KEY, Identity("ntlm", "user3")),
        ],
    )


def of_handles() -> Iterator[Case]:
    def bound(channel: int, group: int) -> Bound:
        return Bound(replace(CHANNEL, number=channel), 0, PCQ, (1, 0), "ndr", True, (1,), None, group)

    make, other = Calls(), replace(CHANNEL, number=1)
    opened = make.open_query(HANDLE)
    used = [Calls(channel=other, first_frame=frame).counter_data(NO_VALUE) for frame in (20, 30)]
    yield "a handle is used over another open of the pipe", [opened, *used]
    yield "a handle is used over another association", [bound(0, 7), bound(1, 8), opened, *used]
    yield "a handle was never given out", [bound(1, 8), *used]
    yield "a handle is closed", [opened, make.close_query(HANDLE)]
    yield "a handle is used after it was closed", [opened, make.close_query(), make.counter_data(b"", status=6)]


def of_what_was_refused() -> Iterator[Case]:
    make = Calls()
    four = make.open_query(status=5), make.open_query(), make.faulted(3, b"", 5), make.close_query(status=6)
    yield "calls are refused by a status or a fault of access denied", four
    many = Calls()
    yield "sixteen calls and frames stand for a finding", [many.open_query(status=5) for _ in range(18)]
    name = Calls().open_query(status=5)
    yield "names of files are quoted in commands", analysis_of(name, files=("a file; rm -rf.pcap", "b.pcap"))
    options = ("--secrets", "my keys.toml", "--since", "5s")
    given = Given(("*.pcap",), options, ("winreg", "PerflibV2"), "opnum == 3 || fault")
    given_all = replace(analysis_of(name, Calls(SVCCTL).exchange(0, b"", b"")), given=given)
    yield "commands read and select what was read and selected", given_all


def of_what_was_read() -> Iterator[Case]:
    for name in ("Process", "Terminal Services", "Network Adapter", "Memory"):
        make = Calls()
        yield f"{name} is read", [make.registration(9, wide(name)), *polled(make, ONE_VALUE)]
    make, unknown = winreg(), Calls(channel=replace(CHANNEL, number=1), first_frame=50)
    nameless = [make.open_key(), make.query_value("9000", block(9000, 6)), unknown.counter_data(ONE_VALUE)]
    yield "what is read without a name has what it was asked by", nameless
    make = Calls()
    named = make.registration(9, wide("Process"))
    listed = instances(make, instance_header("cmd", 3) + instance_header("System", 4))
    yield "instances that are listed are read", [named, listed]
    asked = make.stub().string("\\\\SRV1").uuid(COUNTERSET).uint(4)
    unanswered = replace(instances(make, b""), response=None, state="request-only", reason="no answer was captured")
    asked_poll = make.stub().handle(HANDLE).uint(4096)
    tries: dict[str, list[Event]] = {
        "instances are refused": [instances(make, b"", 5)],
        "instances fault": [make.faulted(2, asked, 0x1C010002)],
        "there are no instances": [instances(make, b"")],
        "instances have no answer": [unanswered],
        "a poll is refused": polled(make, b"", 5),
        "a poll has no blocks": polled(make, NO_VALUE),
        "a poll has an error for a block": polled(make, perf_data([Block(0, status=5)])),
        "a poll asks for a size": polled(make, b"", 8, needed=4096),
        "a poll is damaged": polled(make, b"\x40\0\0"),
        "a poll does not decode": [*polled(make, b"", 8, needed=4)[:2], make.exchange(6, asked_poll, b"\1\2\3")],
        "one is refused and one is empty": [instances(make, b"", 5), instances(make, b"")],
    }
    for words, events in tries.items():
        yield f"only an answer that holds something is a read: {words}", [named, *events]
    for words, data, status in (
        ("refused", None, 5),
        ("too small a buffer", None, 234),
        ("no object", winperf([]), 0),
        ("no instance", block(values=0), 0),
    ):
        for name in ("230", "Global"):
            yield f"{name} is not read: {words}", asked_for((name, data, status), (name, data, status))
    size = Calls()
    sized = [size.registration(9, wide("Process")), *polled(size, b"", 8, needed=99), size.counter_data(ONE_VALUE)]
    yield "a size that is asked for first is part of the read", sized
    yield "a size of a value that is asked for first is part of it", asked_for(("230", None, 234), ("230", block(), 0))


def of_enumeration() -> Iterator[Case]:
    for count in (9, 10):
        make = Calls()
        described = [make.registration(9, wide("a"), guid=guid(number)) for number in range(count)]
        yield f"{count} countersets are described", [make.enumerate_sets(bytes(16)), *described]
    make = Calls()
    yield "ten countersets are refused", [make.registration(9, b"", guid=guid(n), status=5) for n in range(10)]
    for word in ("Global", "Costly", "MetadataGlobal", "metadatacostly", "Globally"):
        is_metadata = word.lower().startswith("metadata")
        answer = (word, block(4, 6, values=not is_metadata, metadata=is_metadata), 0)
        yield f"{word} is asked for", asked_for(answer, answer)


def of_polling() -> Iterator[Case]:
    yield "four polls have no rhythm", polled_at(10, 10, 10)
    yield "five polls have a rhythm", polled_at(10, 10, 10, 10)
    yield "a mean distance from the median of a quarter is a rhythm", polled_at(4, 8, 8, 12)
    yield "a mean distance just above a quarter is none", polled_at(3, 8, 8, 12)
    lost = Problem("gap", "smb", (20,), "lost")
    yield "what may have been lost is no other rhythm", [*polled_at(4, 4, 40, 4, 4), lost]
    yield "reads of one value have a rhythm", asked_for(*[("238", block(238, 6), 0)] * 5)
    few, other = Calls(), Calls(channel=replace(CHANNEL, number=1), first_frame=50)
    many = [other.open_query(OTHER_HANDLE), *(other.counter_data(NO_VALUE, OTHER_HANDLE) for _ in range(5))]
    yield "a handle of few polls hides no other", [few.open_query(), few.counter_data(NO_VALUE), *many]


def of_what_others_may_have_changed() -> Iterator[Case]:
    create, *others = controlled(1)
    yield "a call that others may have changed is in doubt, and what it tells", [altered(create), *others]
    yield "one of two such calls is", [altered(services(0)[0]), *services(0)]
    make, other = winreg(), winreg(channel=replace(CHANNEL, client=Endpoint("10.0.0.9", 50000)), first_frame=99)
    odd = PerfObject(230, (Counter(784, 0x10000, 4),), (Instance("svch0st", -1, (0, 0), (8,)),))
    opened, *reads = make.open_key(), *(make.query_value("230", winperf([odd])) for _ in range(2))
    yield "so is a process", [opened, reads[0], altered(reads[1])]
    again = other.query_value("230", winperf([odd]))
    yield "answers that several received are told of all", [opened, *reads, other.open_key(), again]
    ours = replace(smb_session(7), wrong_signatures=12, wrong_signature_frames=(7,))
    # Two servers may give out the same number.
    theirs = replace(smb_session(8), session_id=ours.session_id)
    yield "messages that may be missing for it are counted by their session", [ours, theirs]
    yield "also very many", [replace(ours, wrong_signatures=1500), theirs]
    polls = polled_at(10, 10, 10, 10, 10)
    yield "and polls", [*polls[:3], altered(polls[3]), *polls[4:]]
    once = polled_at(*[10] * 8)
    yield "of which one interval is known", [one if at in (0, 2, 3) else altered(one) for at, one in enumerate(once)]


def of_other_calls() -> Iterator[Case]:
    for status in (0, 1073, 0xEEEE0000):
        yield f"a service is set up, answered with {status}", services(status)
    created = [*services(0, 0), Calls(SVCCTL, first_frame=9).exchange(12, b"", b"")]
    yield "services alike are named once, and one that does not decode by its call", created
    yield "other calls of the services set nothing up", calls_of(SVCCTL, 15)
    counters = [winreg().open_key(), Calls(SVCCTL, first_frame=50).exchange(12, b"", b"")]
    yield "a service that is set up leads calls of counters", counters
    unknown = "00000000-0000-0000-0000-00000000abcd"
    yield "other calls are counted, the most frequent first", [*calls_of(SVCCTL, 0), *calls_of(unknown, 0, 1)]
    many = [one for number in range(7) for one in calls_of(f"{unknown[:-2]}{number:02}", 0)]
    yield "five interfaces of other calls are named", many
    make = Calls()
    unbound = replace(make.exchange(3, b"x" * 7, b"y" * 5), interface=None, version=None)
    yield "calls without a bind name no interface in the command", [make.open_query(), unbound]


KEY = "00000000-0000-0000-0000-000000000005"


def registry(make: Calls, *opnums: int, status: int = 0, disposition: int = 1) -> list[Event]:
    """A key of HKLM is opened, and something done to it or to its value Osa32."""
    subkey = make.stub().handle(HANDLE).unicode_string("SOFTWARE\\Run").uint(0).uint(1)
    events: list[Event] = [make.open_key(2), make.exchange(15, subkey, make.stub().handle(KEY).uint(0))]
    named = make.stub().handle(KEY).unicode_string("Osa32")
    plain = make.stub().uint(status)
    created = make.stub().handle(KEY).unicode_string("New").unicode_string("").uint(0).uint(0).null().pointer(1).uint(0)
    made = make.stub().handle(KEY).pointer(1).uint(disposition).uint(status)
    put = make.stub().handle(KEY).unicode_string("Osa32").uint(1).conformant(wide("NTOSA32.EXE")).uint(24)
    saved = make.stub().handle(KEY).unicode_string("C:\\x").null()
    stubs = {22: (put, plain), 8: (named, plain), 7: (named, plain), 6: (created, made), 20: (saved, plain)}
    for opnum in opnums:
        if opnum == 17:
            events.append(make.query_value("Osa32", b"" if status == 0 else None, KEY, kind=1, status=status))
        else:
            events.append(make.exchange(opnum, *stubs[opnum]))
    return events


def controlled(*controls: int) -> list[Event]:
    """A service is created, started, told something, and deleted."""
    make, handle = Calls(SVCCTL), bytes.fromhex("00000000" + "22" * 16)
    events: list[Event] = [make.exchange(12, bytes.fromhex(CREATE), bytes(4) + handle + bytes(4))]
    events.append(make.exchange(19, handle + bytes(8), bytes(4)))
    events += [make.exchange(1, handle + pack("<I", control), bytes(32)) for control in controls]
    return [*events, make.exchange(2, handle, bytes(4)), make.exchange(0, handle, bytes(24))]


def of_what_else_was_done() -> Iterator[Case]:
    yield "a service is created, started, asked, stopped and deleted", controlled(4, 1)
    yield "a value is written twice, and deleted", registry(winreg(), 22, 22, 8)
    yield "a value is not written", registry(winreg(), 22, status=5)
    yield "a key is created, another one deleted, and a hive saved", registry(winreg(), 6, 7, 20)
    yield "a key that was there is opened", registry(winreg(), 6, disposition=2)
    yield (
        "keys are read, which a client asks for with too small a buffer first",
        [*registry(winreg(), 17, status=234), *registry(winreg(first_frame=40), 17)],
    )
    yield "what is asked for with too small a buffer alone is not read", registry(winreg(), 17, status=234)
    make = winreg()
    users = make.stub().unicode_string("S-1-5-21").null().null()
    loaded = make.stub().handle(HANDLE).uint(0).unicode_string("").null().null()
    yield (
        "users whose registry is loaded are listed",
        [
            make.open_key(4),
            make.exchange(9, loaded, users.uint(0)),
            make.exchange(9, loaded, make.stub().unicode_string("").null().null().uint(259)),
        ],
    )
    task, sessions = Calls(TASKS), Calls(SERVER, first_frame=9)
    yield (
        "what an answer means is not said where it is not decoded",
        [
            task.exchange(1, b"", b"abc"),
            sessions.faulted(12, b"", 5),
            sessions.exchange(12, b"", None),
            sealed(sessions.exchange(12, b"", b"")),
            sessions.exchange(15, b"", b"shares"),
        ],
    )


def of_files() -> Iterator[Case]:
    make, keys = Calls(), winreg()
    registry = [keys.open_key(), keys.close_key()]
    yield "a file has calls of the registry", registry
    yield "a file has calls of several interfaces", [make.open_query(), registry[0], *calls_of(SVCCTL, 0)]
    problems = [
        Problem("gap", "tcp", (4, 5), "text"),
        Problem("malformed", "tcp", (2,), "text"),
        Problem("gap", "tcp", (9,), "text"),
        Problem("limit", "tcp", (), "text"),
        Problem("truncated", "tcp", (3,), "text"),
        Problem("conflict", "tcp", (1,), "text"),
    ]
    yield "what was not read is counted by kind", problems
    damaged = make.open_query(), make.counter_data(b"\x40\0\0"), make.counter_data(b"\x40\0\0\0\x01")
    yield "a damaged buffer is not read, though no layer below noticed anything", damaged
    analysis, other = analysis_of(Calls().open_query()), analysis_of(Calls().open_query(), *services(0))
    yield "no call passes", replace(analysis, part=Part((), (), "handle == q9"))
    yield "a call passes", replace(analysis, part=Part((1,), (), "all"))
    refused = smb_session(1, 5)
    with_session = analysis_of(Calls().open_query(), refused)
    yield "a session passes", replace(with_session, part=Part((), (refused,), "all"))
    lost = analysis_of(Problem("gap", "tcp", (4, 5), "text"), refused)
    yield "a session passes, and something was not read", replace(lost, part=Part((), (refused,), "all"))
    case = replace(with_session, files=None)
    yield "a case says that it has nothing of files", case
    redacted = replace(case, capture=replace(case.capture, redacted=True))
    yield "what is redacted says that nothing is told of files", redacted
    yield "of files nothing is missing where there is no session", replace(analysis, files=None)
    yield "only calls of others pass", replace(other, part=Part((2,), (), "opnum == 12"))


CASES = {
    promise: one if isinstance(one, Analysis) else analysis_of(*one)
    for of in (
        of_callers,
        of_what_is_encrypted,
        of_handles,
        of_what_was_refused,
        of_what_was_read,
        of_enumeration,
        of_polling,
        of_what_others_may_have_changed,
        of_other_calls,
        of_what_else_was_done,
        of_files,
    )
    for promise, one in of()
}


def numbers(name: str, found: tuple[int, ...]) -> str:
    return f"{name} {' '.join(map(str, found))}" if found else f"no {name}"


def said(analysis: Analysis) -> Iterator[str]:
    """The file, then each finding, as records say them."""
    made = triage(analysis, "made.pcap", None)
    file = made.file
    assert [one.rank for one in made.findings] == list(range(1, len(made.findings) + 1))
    possible = f" and perhaps {file.possible_calls} more" if file.possible_calls else ""
    yield " | ".join(
        [
            f"{file.outcome}: {file.text}",
            f"{file.performance_calls}{possible} of {file.calls} calls, {file.encrypted_calls} sealed, {file.processes} processes",
            f"{file.first_performance_ns} to {file.last_performance_ns}",
            *file.decrypted_with,
            ", ".join(f"{severity} {count}" for severity, count in file.findings.items()) or "no findings",
        ]
    )
    for one in made.findings:
        who = f"{one.who.user} from {one.who.client_ip} at {one.who.server_ip}" if one.who else "of nobody"
        where = f"{one.count}: {numbers('calls', one.call_numbers)}, {numbers('frames', one.frames)}"
        times = f"{one.first_time_ns} to {one.last_time_ns}"
        yield f"{one.severity} {one.kind}: {one.text} | {who} | {where} | {times} | {one.command}"


FOUND = Outcomes(Path(__file__).with_name("triage_records.txt"), CASES, said)


@pytest.mark.parametrize("promise", CASES)
def test_what_is_found_is_what_was_read_through(promise: str) -> None:
    """`PCQ_WRITE_PAGES=1 pytest -n 0 THIS_FILE` writes it."""
    FOUND.holds(promise)


def test_the_text_has_what_is_found() -> None:
    FOUND.is_as_written()


def test_a_capture_without_anything_is_its_sentence() -> None:
    one = triage(analysis_of(), "made.pcap", "made.pcap holds 100 frames.")
    assert (one.file.outcome, one.file.text, one.findings) == ("nothing", "made.pcap holds 100 frames.", ())


def test_a_file_that_cannot_be_read_is_its_reason() -> None:
    assert unreadable("x.pcap", "no capture").file == TriageFile(
        file="x.pcap",
        outcome="unreadable",
        text="no capture",
        frames=None,
        first_time_ns=None,
        last_time_ns=None,
        calls=0,
        performance_calls=0,
        possible_calls=0,
        encrypted_calls=0,
        first_performance_ns=None,
        last_performance_ns=None,
        who=(),
        servers=(),
        processes=0,
        decrypted_with=(),
        findings={},
    )


def test_calls_are_not_looked_at_again_for_each_process_they_show(monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer of a thousand fragments whose frames were asked for once a process took minutes."""
    asked: list[int] = []
    frames = Call.frames.fget
    assert frames is not None
    monkeypatch.setattr(Call, "frames", property(lambda call: asked.append(1) or frames(call)))

    def made(processes: int) -> int:
        make = Calls()
        events = [*polling_all(make), make.counter_data(listed(*((f"p{at}", at, at) for at in range(processes))))]
        asked.clear()
        assert len(triage(analysis_of(*events), "made.pcap", None).processes) == processes
        return len(asked)

    assert made(2) == made(200)


def test_odd_processes_are_observed_with_the_reason() -> None:
    make = Calls()
    events = [*polling_all(make), make.counter_data(listed(("svch0st", 1, 8), ("notepad", 2, 9)))]
    found = triage(analysis_of(*events), "made.pcap", None).findings
    (one,) = (finding for finding in found if finding.kind == "odd-process")
    assert (one.objects, one.detail, one.count, one.confidence) == (("svch0st",), "(pid 8)", 1, "possible")
    assert one.why == (
        "the name resembles that of a program of Windows: digits in the place of letters of svchost; "
        "most processes with such a name or parent are harmless"
    )
    assert (one.call_numbers, bool(one.frames)) == ((5,), True)
