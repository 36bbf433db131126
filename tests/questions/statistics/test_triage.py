"""What counts as unusual, and how much it matters."""

from __future__ import annotations

from struct import pack
from typing import Any

import pytest
from msgspec.structs import replace

from analyzer.core.events import Event, Problem
from analyzer.questions.statistics.triage import triage, unreadable
from analyzer.results.analysis import Part
from analyzer.results.connection import Bound, SmbSession
from analyzer.results.next_command import Given
from analyzer.results.record import Endpoint
from analyzer.results.security import ANONYMOUS_LOGON, Decryption, Identity
from analyzer.results.statistics import Who
from analyzer.results.triage import TriageFile, TriageFinding
from analyzer.transport.rpc.events import Exchange
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
from tests.build.calls import CHANNEL, COUNTERSET, HANDLE, OTHER_HANDLE, Calls, analysis_of, sealed, winreg
from tests.build.rpc import PCQ
from tests.interfaces.svcctl.test_layer import CREATE

SVCCTL = "367abb81-9844-35f1-ad32-98f038001003"


def found(*events: Event) -> list[TriageFinding]:
    return list(triage(analysis_of(*events), "made.pcap", None).findings)


def kinds(*events: Event) -> dict[str, str]:
    return {finding.kind: finding.severity for finding in found(*events)}


def refused(number: int, status: int | None = 0xC000006D, *, anonymous: bool = False) -> SmbSession:
    return SmbSession(
        number=number,
        session_id=number,
        client=Endpoint("10.0.0.2", 50000),
        server=Endpoint("10.0.0.1", 445),
        dialect="3.1.1",
        client_guid=None,
        server_guid=None,
        cipher=None,
        signing=None,
        identity=Identity(
            "ntlm",
            None if anonymous else f"user{number}",
            is_anonymous=anonymous,
            granted=None if status is not None else "anonymous" if anonymous else "account",
        ),
        decryption=Decryption.NOT_SEALED,
        reason=None,
        first_time_ns=number,
        last_time_ns=number,
        frames=(number,),
        encrypted_messages=0,
        decrypted_messages=0,
        signed_messages=0,
        verified_messages=0,
        trees=(),
        pipes=(),
        hosts=(),
        refused=status,
    )


def anonymous(exchange: Exchange) -> Exchange:
    channel = replace(exchange.channel, identity=Identity("ntlm", is_anonymous=True))
    return replace(exchange, channel=channel)


def test_a_capture_without_anything_is_its_sentence() -> None:
    one = triage(analysis_of(), "made.pcap", "made.pcap holds 100 frames.")
    assert (one.file.outcome, one.file.text, one.findings) == ("nothing", "made.pcap holds 100 frames.", ())


def test_anonymous_callers_are_grave_and_anonymous_sessions_a_note() -> None:
    assert kinds(anonymous(Calls().open_query()))["anonymous"] == "high"
    assert kinds(Calls().open_query(), refused(1, None, anonymous=True))["anonymous"] == "info"
    assert "anonymous" not in kinds(Calls().open_query())


def test_refused_logons_are_counted_by_status_with_the_accounts() -> None:
    (finding,) = (one for one in found(Calls().open_query(), refused(1), refused(2)) if one.kind == "refused-logon")
    assert (finding.severity, finding.count, finding.frames) == ("medium", 2, (1, 2))
    assert "STATUS_LOGON_FAILURE: user1, user2" in finding.text
    many = found(Calls().open_query(), *(refused(number) for number in range(1, 13)))
    (finding,) = (one for one in many if one.kind == "refused-logon")
    assert finding.severity == "high"
    assert finding.text.endswith("user1, user2, user3, user4, user5 and 7 more")


def test_what_stayed_encrypted_is_counted_with_its_reasons_and_what_would_decrypt_it() -> None:
    def encrypted(number: int, decryption: Decryption, who: Identity, reason: str | None = None) -> SmbSession:
        session = replace(refused(number, None), decryption=decryption, identity=who, reason=reason)
        return replace(session, encrypted_messages=9, decrypted_messages=2)

    events = (
        encrypted(1, Decryption.NO_KEY, Identity("ntlm", "user1"), "no key for user1"),
        encrypted(4, Decryption.NO_HANDSHAKE, Identity("ntlm")),
        encrypted(5, Decryption.WRONG_KEY, Identity("krb5", service="cifs/srv")),
        encrypted(6, Decryption.NO_KEY, Identity("ntlm")),
        replace(refused(7, None), encrypted_messages=3, decrypted_messages=3),
    )
    made = triage(analysis_of(*events), "made.pcap", None)
    (finding,) = made.findings
    assert (finding.kind, finding.severity, finding.count, finding.frames) == ("encrypted", "medium", 28, (1, 4, 5, 6))
    assert finding.text == (
        "28 SMB3 messages in 4 sessions stayed encrypted, whatever is in them: no key for user1, "
        "handshake not in the capture, key given, wrong, no key given for this principal"
    )
    assert (finding.first_time_ns, finding.last_time_ns) == (1, 6)
    assert made.file.outcome == "unclear"
    assert made.file.decrypted_with == (
        "the password or NT hash of user1 (--password, --nt-hash)",
        "the keys of SMB session 0x4, whose setup was not captured (--smb-session-key)",
        "the keytab or password of the service cifs/srv (--keytab, --password)",
        "the password or NT hash of the user (--password, --nt-hash)",
    )


def test_findings_alike_come_in_the_order_of_their_times_with_names_of_hosts() -> None:
    named = Identity("ntlm", "user9", workstation="WS1")
    events = Calls().open_query(), replace(refused(9), identity=named), refused(1, 0xC0000071)
    first, second = (one for one in found(*events) if one.kind == "refused-logon")
    assert (first.first_time_ns, second.first_time_ns) == (1, 9)
    assert first.text == "1 logon from WS1 (10.0.0.2) at SRV1 (10.0.0.1) refused with STATUS_PASSWORD_EXPIRED: user1"
    assert "WS1" not in found(Calls().open_query(), refused(1))[0].text


def test_a_handle_of_another_connection_is_foreign() -> None:
    make = Calls()
    other = Calls(channel=replace(CHANNEL, number=7), first_frame=20)
    other.frame = 20
    assert kinds(make.open_query(), other.close_query())["foreign-handle"] in ("medium", "high")
    assert "foreign-handle" not in kinds(make.open_query(HANDLE), make.close_query(HANDLE))


def test_refused_calls_and_new_services_are_found() -> None:
    make = Calls()
    denied = kinds(make.open_query(status=5))
    assert denied["refused-call"] == "medium"
    service = found(winreg().open_key(), Calls(SVCCTL, first_frame=50).exchange(12, b"", b""))
    assert [(one.kind, one.severity) for one in service if one.kind in ("service", "other-calls")] == [
        ("service", "high"),
        ("other-calls", "info"),
    ]
    assert "svcctl.RCreateServiceW" in service[0].text
    assert service[0].command == "pcq-analyzer timeline made.pcap --interface svcctl"


def test_calls_without_a_bind_name_no_interface_in_the_command() -> None:
    make = Calls()
    unexpected = replace(make.exchange(3, b"x" * 7, b"y" * 5), interface=None, version=None)
    (others,) = (one for one in found(make.open_query(), unexpected) if one.kind == "other-calls")
    assert others.command == "pcq-analyzer timeline made.pcap"


def test_names_of_files_are_quoted_in_commands() -> None:
    analysis = analysis_of(Calls().open_query(status=5), files=("a file; rm -rf.pcap", "b.pcap"))
    one = triage(analysis, "both", None)
    assert one.findings[0].command.startswith("pcq-analyzer timeline 'a file; rm -rf.pcap' b.pcap --filter ")


def test_commands_read_and_select_what_was_read_and_selected() -> None:
    options = ("--secrets", "my keys.toml", "--since", "5s")
    given = Given(("*.pcap",), options, ("winreg", "PerflibV2"), "opnum == 3 || fault")
    analysis = replace(analysis_of(Calls().open_query(status=5), Calls(SVCCTL).exchange(0, b"", b"")), given=given)
    commands = [one.command for one in triage(analysis, "made.pcap", None).findings]
    head = "'*.pcap' --secrets 'my keys.toml' --since 5s"
    selected = "--interface winreg --interface PerflibV2"
    assert commands == [
        f"pcq-analyzer timeline {head} {selected} --filter '(opnum == 3 || fault) && (status == 5 || fault == 5)'",
        f"pcq-analyzer timeline {head} {selected} --filter 'opnum == 3 || fault' --tail 1",
        f"pcq-analyzer timeline {head} --interface svcctl --filter 'opnum == 3 || fault'",
    ]


Line = tuple[str, str, str, int, tuple[int, ...]]


def lines(*events: Event) -> list[Line]:
    """What is found, but for what always comes: severity, kind, text, count, calls."""
    return [(one.severity, one.kind, one.text, one.count, one.call_numbers) for one in found(*events)]


ONE_VALUE = perf_data([Block(1, values=((pack("<I", 7),),))])


def polled_set(make: Calls, name: str, data: bytes = ONE_VALUE) -> list[Event]:
    """A counterset is named, asked for and polled once: five calls."""
    return [
        make.registration(9, wide(name)),
        make.open_query(),
        make.validate(identifier(COUNTERSET, counter=1, name="a")),
        make.counter_data(data),
        make.close_query(),
    ]


@pytest.mark.parametrize(
    ("name", "line"),
    [
        (
            "Process",
            (
                "high",
                "process-list",
                "an unknown user read the process list of SRV1 (10.0.0.1): 1 process, in 1 answer",
            ),
        ),
        (
            "Terminal Services",
            (
                "medium",
                "logged-on-sessions",
                "an unknown user read the sessions of users of SRV1 (10.0.0.1): Terminal Services, in 1 answer",
            ),
        ),
        (
            "Network Adapter",
            (
                "medium",
                "network",
                "an unknown user read network counters of SRV1 (10.0.0.1): Network Adapter, in 1 answer",
            ),
        ),
        (
            "Memory",
            ("info", "counters", "an unknown user read other counters of SRV1 (10.0.0.1): Memory, in 1 answer"),
        ),
    ],
)
def test_what_was_read_is_found_by_its_category(name: str, line: tuple[str, str, str]) -> None:
    assert lines(*polled_set(Calls(), name)) == [(*line, 1, (4,))]


def test_what_is_read_has_names_or_what_it_was_asked_by() -> None:
    make = winreg()
    block = winperf([PerfObject(9000, (Counter(6, 0x10000, 4),), (Instance("a", -1, (0, 0), (7,)),))])
    unknown = Calls(channel=replace(CHANNEL, number=1), first_frame=50)
    assert lines(make.open_key(), make.query_value("9000", block), unknown.counter_data(ONE_VALUE))[-1] == (
        "info",
        "counters",
        (
            'an unknown user read other counters of 10.0.0.1: asked for as "9000", what is not known: the opening of the '
            "handle is not in the capture, and no answer of QueryCounterInfo lists what it holds, in 2 answers"
        ),
        2,
        (2, 3),
    )


def test_instances_that_were_listed_are_read_too() -> None:
    make = Calls()
    asked = make.stub().string("\\\\SRV1").uuid(COUNTERSET).uint(4096)
    listed = instance_header("cmd", 3) + instance_header("System", 4)
    assert lines(make.registration(9, wide("Process")), make.exchange(2, asked, make.sized(listed))) == [
        (
            "high",
            "process-list",
            "an unknown user read the process list of SRV1 (10.0.0.1): 2 processes, in 1 answer",
            1,
            (2,),
        )
    ]


PROCESS = wide("Process")


def instances(make: Calls, names: bytes, status: int = 0) -> Exchange:
    """The instances of the counterset are asked for."""
    asked = make.stub().string("\\\\SRV1").uuid(COUNTERSET).uint(4096)
    return make.exchange(2, asked, make.sized(names, status))


def polled(make: Calls, data: bytes, status: int = 0, *, needed: int | None = None) -> list[Event]:
    """A counter of the counterset is polled once."""
    asked = [make.open_query(), make.validate(identifier(COUNTERSET, counter=1, name="a"))]
    return [*asked, make.counter_data(data, status=status, needed=needed)]


def unanswered(exchange: Exchange) -> Exchange:
    return replace(exchange, response=None, state="request-only", reason="no answer was captured")


def no_reads() -> dict[str, tuple[list[Event], str]]:
    """Calls that ask for the list of processes and are not given it, and what is said of them."""
    cases: dict[str, tuple[list[Event], str]] = {}

    def case(name: str, words: str, count: int, *events: Event) -> None:
        calls = f"{count} call{'s' if count != 1 else ''}"
        whole = f"asked for the process list of SRV1 (10.0.0.1): Process, and {words}, in {calls}"
        cases[name] = ([*events], whole)

    make = Calls()
    named = make.registration(9, PROCESS)
    case("instances refused", "was refused: ERROR_ACCESS_DENIED", 1, named, instances(make, b"", 5))
    case(
        "instances faulted",
        "was refused: fault nca_s_op_rng_error",
        1,
        named,
        make.faulted(2, make.stub().string("\\\\SRV1").uuid(COUNTERSET).uint(4), 0x1C010002),
    )
    case("no instances", "read nothing: empty answer", 1, named, instances(make, b""))
    case("instances without an answer", "read nothing: no answer", 1, named, unanswered(instances(make, b"")))
    case("poll refused", "was refused: ERROR_ACCESS_DENIED", 1, named, *polled(make, b"", 5))
    case("poll without blocks", "read nothing: empty answer", 1, named, *polled(make, perf_data([])))
    error = perf_data([Block(0, status=5)])
    case("poll with an error block", "read nothing: empty answer", 1, named, *polled(make, error))
    case("poll for a size", "read nothing: too small a buffer", 1, named, *polled(make, b"", 8, needed=4096))
    damaged = polled(make, b"\x40\0\0")
    case("damaged poll", "read nothing: damaged answer", 1, named, *damaged)
    asked = polled(make, b"", 8, needed=4)[:2]
    garbage = make.exchange(6, make.stub().handle(HANDLE).uint(4096), b"\1\2\3")
    case("poll that does not decode", "read nothing: malformed", 1, named, *asked, garbage)
    two = [instances(make, b"", 5), instances(make, b"")]
    case("refused and empty", "read nothing: ERROR_ACCESS_DENIED 1, empty answer 1", 2, named, *two)
    return cases


@pytest.mark.parametrize("name", no_reads())
def test_only_an_answer_that_holds_something_is_a_read(name: str) -> None:
    events, words = no_reads()[name]
    (attempt,) = (one for one in found(*events) if one.kind == "attempt")
    assert (attempt.severity, attempt.text) == ("medium", f"an unknown user {words}")
    assert not {"process-list", "counters"} & {one.kind for one in found(*events)}
    assert not triage(analysis_of(*events), "made.pcap", None).processes


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"data": None, "status": 5}, "was refused: ERROR_ACCESS_DENIED"),
        ({"data": None, "status": 234, "needed": 9000}, "read nothing: too small a buffer"),
        ({"data": winperf([])}, "read nothing: empty answer"),
        ({"data": winperf([PerfObject(230, (Counter(784, 0x10000, 4),), ())])}, "read nothing: empty answer"),
    ],
)
def test_a_value_that_was_not_given_is_not_read(answer: dict[str, Any], words: str) -> None:
    make = winreg()
    events = [make.open_key(), make.query_value("230", **answer), make.query_value("230", **answer)]
    listed = [(one.severity, one.kind, one.text) for one in found(*events) if one.kind != "refused-call"]
    text = f"an unknown user asked for the process list of 10.0.0.1: {{}}, and {words}, in 2 calls"
    assert [(severity, kind) for severity, kind, _ in listed] == [("medium", "attempt")]
    assert listed[0][2] == text.format(listed[0][2].split(": ")[1].split(",")[0])
    make = winreg()
    everything = [make.open_key(), make.query_value("Global", **answer)]
    assert all("asked" in one.text for one in found(*everything) if one.kind in ("attempt", "enumeration"))
    assert not {"process-list", "counters"} & {one.kind for one in found(*everything)}


def test_sizes_that_were_asked_for_first_are_part_of_the_read() -> None:
    make = Calls()
    (one,) = found(make.registration(9, PROCESS), *polled(make, b"", 8, needed=99), make.counter_data(ONE_VALUE))
    assert (one.kind, one.call_numbers) == ("process-list", (5,))
    reg = winreg()
    block = winperf([PerfObject(230, (Counter(784, 0x10000, 4),), (Instance("a", -1, (0, 0), (7,)),))])
    (one,) = found(reg.open_key(), reg.query_value("230", None, status=234, needed=9), reg.query_value("230", block))
    assert (one.kind, one.call_numbers) == ("process-list", (3,))


def test_countersets_that_nobody_described_were_asked_about() -> None:
    make = Calls()
    guids = [f"{number:08x}-0000-0000-0000-000000000000" for number in range(10)]
    (asked, denied) = found(*(make.registration(9, b"", guid=guid, status=5) for guid in guids))
    assert (denied.kind, asked.kind, asked.severity) == ("refused-call", "enumeration", "medium")
    assert asked.text.endswith("about 10 countersets, and was refused: ERROR_ACCESS_DENIED")


def described(make: Calls, count: int) -> list[Event]:
    return [
        make.registration(9, wide("a"), guid=f"{number:08x}-0000-0000-0000-000000000000") for number in range(count)
    ]


def test_describing_ten_countersets_is_enumeration() -> None:
    make = Calls()
    assert lines(make.enumerate_sets(bytes(16)), *described(make, 9)) == []
    assert lines(make.enumerate_sets(bytes(16)), *described(Calls(first_frame=9), 10)) == [
        (
            "medium",
            "enumeration",
            "an unknown user asked SRV1 (10.0.0.1) about 10 countersets",
            11,
            tuple(range(1, 12)),
        )
    ]


@pytest.mark.parametrize("word", ["Global", "Costly", "MetadataGlobal", "metadatacostly"])
def test_asking_for_everything_is_enumeration(word: str) -> None:
    make = winreg()
    is_metadata = word.lower().startswith("metadata")
    instances = () if is_metadata else (Instance("a", -1, (0, 0), (7,)),)
    block = winperf([PerfObject(4, (Counter(6, 0x10000, 4),), instances, metadata=is_metadata)])
    several = lines(make.open_key(), make.query_value(word, block), make.query_value(word, block))
    assert several[0] == (
        "medium",
        "enumeration",
        "an unknown user asked 10.0.0.1 for everything: 1 object",
        2,
        (2, 3),
    )
    assert len(several) == 1 + (not is_metadata)
    make = winreg()
    assert all(one[1] == "counters" for one in lines(make.open_key(), make.query_value("Globally", block)))


def polled_at(*gaps_ms: int) -> list[Event]:
    """A handle of an unknown counterset, polled with these intervals."""
    make = Calls()
    events: list[Event] = [make.open_query(), make.counter_data(perf_data([]))]
    for gap in gaps_ms:
        make.frame += gap - 2
        events.append(make.counter_data(perf_data([])))
    return events


def polling(*gaps_ms: int) -> list[Line]:
    return [one for one in lines(*polled_at(*gaps_ms)) if "polling" in one[1]]


def test_five_polls_have_a_rhythm() -> None:
    assert polling(10, 10, 10) == []
    regular = [("info", "polling", "q1 of SRV1 (10.0.0.1) was polled 5 times, every 0.010 s", 5, (2, 6))]
    assert polling(10, 10, 10, 10) == regular
    # The mean distance from the median of 8 ms is 2 ms: a quarter of it, and just above.
    quarter = "q1 of SRV1 (10.0.0.1) was polled 5 times, every 0.008 s"
    assert polling(4, 8, 8, 12) == [("info", "polling", quarter, 5, (2, 6))]
    assert polling(3, 8, 8, 12) == [
        (
            "medium",
            "irregular-polling",
            f"{quarter} but 0.002 s off that on average: not a monitor's clockwork",
            5,
            (2, 6),
        )
    ]
    (finding,) = (one for one in found(*polled_at(10, 10, 10, 10)) if one.kind == "polling")
    assert (finding.command, finding.first_time_ns, finding.last_time_ns) == (
        "pcq-analyzer stats made.pcap",
        3_000_000,
        43_000_000,
    )
    assert finding.frames == (3, 4, 43, 44)


def test_reads_of_one_value_have_a_rhythm_too() -> None:
    make = winreg()
    block = winperf([PerfObject(238, (Counter(6, 0x10000, 4),), (Instance("0", -1, (0, 0), (7,)),))])
    assert lines(make.open_key(), *(make.query_value("238", block) for _ in range(5)))[-1] == (
        "info",
        "polling",
        'k1 "object 238 Processor" of 10.0.0.1 was polled 5 times, every 0.002 s',
        5,
        (2, 6),
    )


def test_handles_of_others_are_found_by_what_was_wrong() -> None:
    def bound(channel: int, group: int) -> Bound:
        return Bound(replace(CHANNEL, number=channel), 0, PCQ, (1, 0), "ndr", True, (1,), None, group)

    other = replace(CHANNEL, number=1)
    make = Calls()

    def violations(*events: Event) -> list[tuple[str, str, int, tuple[int, ...]]]:
        return [
            (one.severity, one.text, one.count, one.call_numbers)
            for one in found(*events)
            if one.kind == "foreign-handle"
        ]

    opened = make.open_query()
    used = [Calls(channel=other, first_frame=frame).counter_data(perf_data([])) for frame in (20, 30)]
    assert violations(opened, *used) == [
        (
            "medium",
            "query handle q1 of SRV1 (10.0.0.1) was used over another open of the pipe than it was given out on",
            2,
            (2, 3),
        )
    ]
    assert violations(bound(0, 7), bound(1, 8), opened, *used) == [
        (
            "high",
            "query handle q1 of SRV1 (10.0.0.1) was used over an association that it was not given out on",
            2,
            (2, 3),
        )
    ]
    assert violations(opened, make.close_query(), make.counter_data(b"", status=6)) == [
        ("medium", "query handle q1 of SRV1 (10.0.0.1) was used after it was closed", 1, (3,))
    ]
    assert violations(bound(1, 8), *used) == [
        ("high", "query handle q1 of 10.0.0.1 was never given out in the connection that used it", 2, (1, 2))
    ]


def test_ten_refused_logons_are_grave() -> None:
    def severity(count: int) -> str:
        (finding,) = (
            one for one in found(*(refused(number) for number in range(1, count + 1))) if one.kind == "refused-logon"
        )
        assert (finding.count, finding.frames, finding.call_numbers) == (count, tuple(range(1, count + 1)), ())
        assert finding.who == Who("user1", "10.0.0.2", "10.0.0.1")
        assert finding.command == "pcq-analyzer sessions made.pcap"
        return finding.severity

    assert [severity(count) for count in (1, 9, 10)] == ["medium", "medium", "high"]


def test_refused_logons_are_apart_by_client_server_and_status() -> None:
    sessions = [
        refused(1),
        replace(refused(2), client=Endpoint("10.0.0.9", 1)),
        replace(refused(3), server=Endpoint("10.0.0.8", 445)),
        refused(4, 0xC0000234),
        refused(5),
    ]
    assert lines(*sessions) == [
        (
            "medium",
            "refused-logon",
            "2 logons from 10.0.0.2 at 10.0.0.1 refused with STATUS_LOGON_FAILURE: user1, user5",
            2,
            (),
        ),
        (
            "medium",
            "refused-logon",
            "1 logon from 10.0.0.9 at 10.0.0.1 refused with STATUS_LOGON_FAILURE: user2",
            1,
            (),
        ),
        (
            "medium",
            "refused-logon",
            "1 logon from 10.0.0.2 at 10.0.0.8 refused with STATUS_LOGON_FAILURE: user3",
            1,
            (),
        ),
        (
            "medium",
            "refused-logon",
            "1 logon from 10.0.0.2 at 10.0.0.1 refused with STATUS_ACCOUNT_LOCKED_OUT: user4",
            1,
            (),
        ),
    ]


def test_calls_that_were_refused_or_faulted_with_access_denied() -> None:
    make = Calls()
    events = make.open_query(status=5), make.open_query(), make.faulted(3, b"", 5), make.close_query(status=6)
    assert lines(*events) == [
        ("medium", "refused-call", "2 performance calls of an unknown user refused: access denied", 2, (1, 3)),
        ("info", "losses", "something could not be read: malformed 1", 1, ()),
    ]


def test_anonymous_calls_hide_anonymous_sessions() -> None:
    make = Calls()
    calls = anonymous(make.open_query()), anonymous(make.close_query())
    assert lines(*calls, refused(1, None, anonymous=True)) == [
        ("high", "anonymous", "2 performance calls of an anonymous caller at SRV1 (10.0.0.1)", 2, (1, 2))
    ]
    sessions = refused(1, None, anonymous=True), refused(2, None, anonymous=True), refused(3, None)
    (finding,) = found(*sessions)
    assert finding == TriageFinding(
        file="made.pcap",
        rank=1,
        severity="info",
        kind="anonymous",
        text="2 anonymous SMB sessions, without a performance call",
        who=Who(ANONYMOUS_LOGON, "10.0.0.2", "10.0.0.1"),
        count=2,
        call_numbers=(),
        frames=(1, 2),
        first_time_ns=1,
        last_time_ns=2,
        command="pcq-analyzer sessions made.pcap",
    )


def test_sealed_calls_are_one_finding() -> None:
    make = Calls()
    data = make.counter_data(perf_data([]))
    events = sealed(data), replace(sealed(make.registration(9, b"")), reason="wrong key"), make.close_query()
    assert lines(*events) == [
        ("medium", "encrypted", "2 performance calls stayed encrypted: no key, wrong key", 2, (1, 2))
    ]
    made = triage(analysis_of(*events), "made.pcap", None)
    assert (made.file.performance_calls, made.file.encrypted_calls) == (3, 2)
    assert made.findings[0].command == "pcq-analyzer timeline made.pcap --filter 'state == sealed'"


def test_services_are_named_with_what_they_run() -> None:
    make = Calls(SVCCTL)

    def created(status: int) -> Exchange:
        return make.exchange(12, bytes.fromhex(CREATE), bytes.fromhex("00000000" + "22" * 20) + pack("<I", status))

    def text(*events: Event) -> str:
        return next(one.text for one in found(*events) if one.kind == "service")

    service = 'service "PSEXESVC" runs "%SystemRoot%\\PSEXESVC.EXE"'
    head = "a service or task was set up on 10.0.0.1: "
    assert text(created(0)) == head + service
    assert text(created(1073)) == f"{head}{service} (refused: ERROR_SERVICE_EXISTS)"
    assert text(created(0xEEEE0000)) == f"{head}{service} (refused: {0xEEEE0000})"
    assert text(created(0), created(0), make.exchange(12, b"", b"")) == f"{head}{service}, svcctl.RCreateServiceW"
    assert not [one for one in found(make.exchange(15, b"", b"")) if one.kind == "service"]


def test_calls_of_other_interfaces_are_counted_the_most_frequent_first() -> None:
    make = Calls("00000000-0000-0000-0000-00000000abcd")
    events = Calls(SVCCTL).exchange(0, b"", b""), make.exchange(0, b"", b""), make.exchange(1, b"", b"")
    losses, one = found(*events)
    assert losses.text == "something could not be read: malformed 2"  # the stubs of svcctl, which are empty
    assert one.text == "3 other DCERPC calls: 00000000-0000-0000-0000-00000000abcd 2, svcctl 1"
    assert one.command == (
        "pcq-analyzer timeline made.pcap --interface svcctl --interface 00000000-0000-0000-0000-00000000abcd"
    )
    many = [Calls(f"00000000-0000-0000-0000-0000000000{number:02}").exchange(0, b"", b"") for number in range(7)]
    (one,) = found(*many)
    assert one.command.count("--interface") == 5
    assert one.text.endswith("04 1 and 2 more")


def test_what_was_not_read_is_counted_by_kind() -> None:
    problems = [
        Problem(kind, "tcp", frames, "text")
        for kind, frames in (
            ("gap", (4, 5)),
            ("malformed", (2,)),
            ("gap", (9,)),
            ("limit", ()),
            ("truncated", (3,)),
            ("ambiguous", (1,)),
        )
    ]
    made = triage(analysis_of(*problems), "made.pcap", None)
    assert made.findings == (
        TriageFinding(
            file="made.pcap",
            rank=1,
            severity="info",
            kind="losses",
            text="something could not be read: gap 2, malformed 1, limit 1, truncated 1",
            who=None,
            count=5,
            call_numbers=(),
            frames=(2, 3, 4, 9),
            first_time_ns=None,
            last_time_ns=None,
            command="pcq-analyzer timeline made.pcap --tail 1",
        ),
    )
    assert made.file.text == (
        "no performance call was read, but something that may hide some was not: gap, malformed, limit, truncated, ambiguous"
    )
    assert (made.file.outcome, made.file.findings, made.file.first_performance_ns) == ("unclear", {"info": 1}, None)


def test_a_damaged_buffer_is_among_what_was_not_read() -> None:
    """Each buffer once, with its frames, though no layer below noticed anything."""
    make = Calls()
    (one,) = found(make.open_query(), make.counter_data(b"\x40\0\0"), make.counter_data(b"\x40\0\0\0\x01"))
    assert (one.kind, one.text, one.count, one.frames) == (
        "losses",
        "something could not be read: truncated 2",
        2,
        (4, 6),
    )


def test_the_sentence_of_a_file_says_what_was_called() -> None:
    def sentence(*events: Event) -> str:
        return triage(analysis_of(*events), "made.pcap", None).file.text

    make, keys, other = Calls(), winreg(), Calls(SVCCTL)
    assert sentence(make.open_query()) == "1 performance call (1 of PerflibV2) of 1 DCERPC calls"
    assert sentence(keys.open_key(), keys.close_key()) == "2 performance calls (2 of the registry) of 2 DCERPC calls"
    assert sentence(make.open_query(), keys.open_key(), other.exchange(0, b"", b"")) == (
        "2 performance calls (1 of PerflibV2 and 1 of the registry) of 3 DCERPC calls"
    )


def test_sixteen_calls_and_frames_stand_for_a_finding() -> None:
    make = Calls()
    (finding,) = (one for one in found(*(make.open_query(status=5) for _ in range(18))) if one.kind == "refused-call")
    assert (finding.count, finding.call_numbers, finding.frames) == (18, tuple(range(1, 17)), tuple(range(1, 17)))
    assert (finding.first_time_ns, finding.last_time_ns) == (1_000_000, 35_000_000)


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
        encrypted_calls=0,
        first_performance_ns=None,
        last_performance_ns=None,
        who=(),
        servers=(),
        processes=0,
        decrypted_with=(),
        findings={},
    )


def test_what_nothing_passes_says_so() -> None:
    analysis = analysis_of(Calls().open_query())
    empty = replace(analysis, part=Part((), (), "handle == q9"))
    made = triage(empty, "made.pcap", None)
    assert (made.file.outcome, made.file.text) == ("nothing", "No call passes: handle == q9.")
    assert (
        triage(replace(analysis, part=Part((1,), (), "all")), "made.pcap", None).file.outcome == "performance traffic"
    )
    assert triage(replace(analysis, part=Part((), (refused(1),), "all")), "made.pcap", None).file.outcome == "unclear"


def test_keys_that_calls_want() -> None:
    def wanting(exchange: Exchange, mechanism: str, decryption: Decryption, identity: Identity | None) -> Exchange:
        auth = replace(exchange.auth, mechanism=mechanism, level=6, identity=identity, decryption=decryption)
        return replace(sealed(exchange), auth=auth)

    make = Calls()
    user, nobody = Identity("ntlm", "user1"), Identity("krb5")
    events = (
        wanting(make.open_query(), "ntlm", Decryption.NO_KEY, user),
        wanting(make.open_query(), "ntlm", Decryption.NO_KEY, user),
        wanting(make.open_query(), "spnego/krb5", Decryption.WRONG_KEY, nobody),
        wanting(make.open_query(), "ntlm", Decryption.DECRYPTED, Identity("ntlm", "user2")),
        wanting(make.open_query(), "ntlm", Decryption.NO_KEY, None),
        wanting(Calls(SVCCTL).exchange(0, b"", b""), "ntlm", Decryption.NO_KEY, Identity("ntlm", "user3")),
    )
    assert triage(analysis_of(*events), "made.pcap", None).file.decrypted_with == (
        "the password or NT hash of user1 (--password, --nt-hash)",
        "the keytab or password of the service that was called (--keytab, --password)",
    )


def test_a_handle_of_few_polls_hides_no_other() -> None:
    make = Calls()
    few = [make.open_query(), make.counter_data(perf_data([]))]
    other = Calls(channel=replace(CHANNEL, number=1), first_frame=50)
    many = [other.open_query(OTHER_HANDLE), *(other.counter_data(perf_data([]), OTHER_HANDLE) for _ in range(5))]
    assert [one[2] for one in lines(*few, *many) if one[1] == "polling"] == [
        "q2 of SRV1 (10.0.0.1) was polled 5 times, every 0.002 s"
    ]


def test_findings_about_several_sessions_are_of_the_first() -> None:
    def at(number: int, status: int | None = None, *, anonymous: bool = False) -> SmbSession:
        """Each of other ends, later ones before earlier ones."""
        session = refused(number, status, anonymous=anonymous)
        ends = Endpoint(f"10.0.1.{number}", 50000), Endpoint(f"10.0.2.{number}", 445)
        return replace(session, client=ends[0], server=ends[1], first_time_ns=100 - number, last_time_ns=200 - number)

    (one,) = found(at(1, anonymous=True), at(2, anonymous=True))
    assert (one.who, one.frames, one.first_time_ns, one.last_time_ns) == (
        Who(ANONYMOUS_LOGON, "10.0.1.1", "10.0.2.1"),
        (1, 2),
        98,
        199,
    )
    closed = [replace(at(number), encrypted_messages=number, reason="r") for number in (3, 4)]
    (one,) = found(*closed)
    assert (one.who, one.count, one.frames, one.first_time_ns, one.last_time_ns) == (
        Who("user3", "10.0.1.3", "10.0.2.3"),
        7,
        (3, 4),
        96,
        197,
    )
    alike = [replace(refused(number), first_time_ns=100 - number, last_time_ns=200 - number) for number in (5, 6)]
    (one,) = found(*alike)
    assert (one.who, one.first_time_ns, one.last_time_ns) == (Who("user5", "10.0.0.2", "10.0.0.1"), 94, 195)


def test_five_names_are_listed_and_the_others_counted() -> None:
    names = [f"user{number}" for number in range(1, 8)]
    for count, ending in ((4, ""), (5, ""), (6, " and 1 more"), (7, " and 2 more")):
        (one,) = found(*(refused(number) for number in range(1, count + 1)))
        assert one.text.partition("STATUS_LOGON_FAILURE: ")[2] == ", ".join(names[: min(count, 5)]) + ending


def test_what_is_sealed_hides_nothing_that_is_read() -> None:
    make = Calls()
    assert [one[1] for one in lines(sealed(make.counter_data(b"")), *polled_set(make, "Network Adapter"))] == [
        "encrypted",
        "network",
    ]
