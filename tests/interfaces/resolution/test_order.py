"""What only the whole capture states: the order of calls, whose keys opened what, and the names of machines."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from analyzer.interfaces.resolution.whole_capture_resolution import call_order
from analyzer.pipeline.run import analyze
from analyzer.questions.statistics.decryption_counts import Decrypted, decrypted_by_account
from analyzer.questions.statistics.hosts import host_records
from analyzer.results.analysis import Analysis
from analyzer.results.calls.call_table import CallTable
from analyzer.results.connection import SmbSession
from analyzer.results.records.record_types import Endpoint
from analyzer.results.security import Decryption, Identity
from analyzer.transport.rpc.exchange import Exchange
from analyzer.transport.rpc.undecoded_call import plain_call
from tests import truth
from tests.analyses import analysis_of_file
from tests.build.calls import NO_SECURITY, Calls, analysis_of, smb_session
from tests.build.capture import pcap, read
from tests.build.rpc import CHANNEL
from tests.interfaces.pcq.test_handle_following import CONVERSATION, conversation, facts
from tests.records import plains

WHO = Identity(
    mechanism="ntlm",
    user="perfmon",
    domain="LAB",
    workstation="CLIENT7",
    server_name="SRV1",
    server_dns_name="srv1.lab.test",
    os_version="10.0.20348",
    client_os_version="10.0.19041",
    granted="account",
)


def session(number: int = 0, *, decryption: Decryption = Decryption.DECRYPTED, identity: Identity = WHO) -> SmbSession:
    named = (("10.0.0.1", "FILESRV", "tree path"),)
    return replace(
        smb_session(number),
        session_id=0x1D,
        client=Endpoint("10.0.0.2", 49152),
        decryption=decryption,
        first_time_ns=1,
        last_time_ns=2,
        frames=(1, 2),
        identity=identity,
        hosts=named,
    )


def as_user(
    exchange: Exchange,
    decryption: Decryption = Decryption.DECRYPTED,
    *,
    level: int = 6,
    identity: Identity | None = WHO,
) -> Exchange:
    return replace(
        exchange, auth=replace(NO_SECURITY, level=level, mechanism="ntlm", identity=identity, decryption=decryption)
    )


def with_secrets(analysis: Analysis) -> list[Decrypted]:
    return list(decrypted_by_account(replace(analysis, secrets_given=True)))


def test_calls_stand_in_the_order_of_their_requests() -> None:
    make = Calls()
    first, second, third = make.open_query(), make.open_query(), make.exchange(None, None, b"abc")
    analysis = analysis_of(third, second, first)
    assert [call.call_id for call in analysis.calls] == [first.call_id, second.call_id, third.call_id]
    assert [call.number for call in analysis.calls] == [1, 2, 3]


def test_of_requests_of_one_moment_the_frames_decide() -> None:
    make = Calls()
    made = [make.open_query() for _ in range(3)]
    asked = [exchange.request for exchange in made]
    same = [replace(one, request=replace(side, first_time_ns=7)) for one, side in zip(made, asked, strict=True) if side]
    writer = CallTable()
    for exchange in reversed(same):
        writer.append(plain_call(exchange))
    assert list(call_order(writer, [0, 1, 2])) == [2, 1, 0]
    assert list(call_order(writer, [2, 1, 0])) == [2, 1, 0]


def test_a_call_of_a_foreign_interface_has_names_and_what_it_returned() -> None:
    exchange = Calls("4b324fc8-1670-01d3-1278-5a47bf6ee188").exchange(15, b"abcd", b"\0\0\0\0")
    call = plain_call(replace(exchange, version=(3, 0)))
    assert (call.interface.name, call.method, call.status) == ("srvsvc", "NetrShareEnum", 0)
    unknown = plain_call(replace(exchange, interface=None, version=None, opnum=None))
    assert (unknown.interface.name, unknown.method, unknown.status) == (None, None, None)


def test_what_keys_opened_is_counted_by_account_and_kind() -> None:
    make = Calls()
    other = replace(CHANNEL, number=1)
    analysis = analysis_of(
        as_user(make.open_query()),
        as_user(make.open_query(), Decryption.WRONG_KEY),
        as_user(replace(make.open_query(), channel=other), Decryption.WRONG_KEY),
        as_user(make.open_query(), level=2),
        session(0),
        session(1, decryption=Decryption.NO_KEY),
        session(2, identity=Identity()),
    )
    assert with_secrets(analysis) == [
        Decrypted("LAB\\perfmon", "SMB sessions", 1, 2),
        Decrypted("LAB\\perfmon", "RPC security contexts", 1, 2),
    ]
    assert list(decrypted_by_account(analysis)) == []


def test_a_context_whose_calls_are_not_protected_or_of_nobody_has_no_key() -> None:
    make = Calls()
    nobody = Identity(mechanism="ntlm", is_anonymous=True)
    calls = as_user(make.open_query(), level=2), as_user(make.open_query(), identity=None)
    assert with_secrets(analysis_of(*calls, as_user(make.open_query(), identity=nobody))) == []


def test_every_name_of_a_host_says_where_it_was_stated() -> None:
    analysis = analysis_of(session(), as_user(Calls().open_query()))
    analysis = replace(analysis, capture=replace(analysis.capture, names={"10.0.0.9": "elsewhere"}))
    server, client, other = plains(host_records(analysis))
    assert client["ip"] == "10.0.0.2"
    assert client["roles"] == ["SMB client", "DCERPC client"]
    assert client["users"] == ["LAB\\perfmon"]
    assert client["names"] == [{"name": "CLIENT7", "source": "NTLM workstation"}]
    assert client["os_versions"] == ["10.0.19041"]
    assert server["roles"] == ["SMB server", "DCERPC server"]
    assert server["dialects"] == ["3.1.1"]
    assert server["names"] == [
        {"name": "SRV1", "source": "NTLM target information, NetBIOS name"},
        {"name": "srv1.lab.test", "source": "NTLM target information, DNS name"},
        {"name": "FILESRV", "source": "tree path"},
        {"name": "SRV1", "source": "szMachine of a PerflibV2 call"},
    ]
    assert other["names"] == [{"name": "elsewhere", "source": "name resolution in the capture file"}]
    assert other["roles"] == []


def test_a_capture_that_ends_before_an_answer_says_so(tmp_path: Path) -> None:
    capture = next(one for one in truth.captures() if one.file.startswith("v1_samba_impacket_smb311_noauth"))
    whole = analysis_of_file(capture.file, is_keyed=False)
    last = whole.calls[5].request
    assert last is not None
    frames = [frame for frame in read([capture.path])[0] if frame.frame <= max(last.frames)]
    (tmp_path / "cut.pcap").write_bytes(pcap([(frame.time_ns, frame.data) for frame in frames]))
    call = analyze([tmp_path / "cut.pcap"]).calls[-1]
    assert (call.state, call.reason) == ("request-only", "the capture ends before the answer")


@pytest.mark.parametrize("service", ["cifs/srv1.lab.test", "host/srv1.lab.test", "LDAP/srv1.lab.test:389/lab.test"])
def test_a_kerberos_service_names_its_host(service: str) -> None:
    (_, server) = sorted(
        plains(host_records(analysis_of(session(identity=Identity(mechanism="krb5", service=service))))),
        key=lambda host: "SMB server" in host["roles"],
    )
    assert {"name": "srv1.lab.test", "source": "Kerberos service principal"} in server["names"]


def test_calls_of_a_whole_capture_have_the_states_of_their_handles() -> None:
    assert [facts(call.query) for call in analysis_of(*conversation()).calls] == CONVERSATION
