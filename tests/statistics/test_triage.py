"""What counts as unusual, and how much it matters."""

from __future__ import annotations

from msgspec.structs import replace

from analyzer.core.events import Event
from analyzer.model.connection import SmbSession
from analyzer.model.record import Endpoint
from analyzer.model.security import Decryption, Identity
from analyzer.model.triage import TriageFinding
from analyzer.rpc.events import Exchange
from analyzer.statistics.triage import triage
from tests.build.calls import CHANNEL, HANDLE, Calls, analysis_of, winreg

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
        identity=Identity("ntlm", None if anonymous else f"user{number}", is_anonymous=anonymous),
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
    one = triage(analysis_of(Calls().open_query(status=5)), "a file; rm -rf.pcap", None)
    assert one.findings[0].command.startswith("pcq-analyzer timeline 'a file; rm -rf.pcap' --filter ")
