"""What machines are called: each name once, in the order it was stated, with what stated it."""

from typing import Any

import pytest
from msgspec.structs import replace

from analyzer.core.traced_bytes import TracedBytes
from analyzer.interfaces.call_contents.machine_names import NamingCalls, machine_names, names_stated
from analyzer.results.connection import Channel
from analyzer.results.methods.perflib import INTERFACE, Opnum
from analyzer.results.security import Identity
from analyzer.transport.rpc.call_pairing import CallSide, FragmentPart, PduList, PendingCall, Presentation, SideState
from analyzer.transport.rpc.exchange_maker import _NO_SECURITY
from analyzer.transport.rpc.pdu import Syntax
from tests.build.calls import NO_HANDLE, Calls, altered, analysis_of
from tests.build.rpc import CHANNEL, SMB
from tests.interfaces.resolution.test_order_of_calls import WHO, as_user, session


def test_names_of_sessions_come_before_those_of_calls_and_of_the_file() -> None:
    make = Calls()
    analysis = analysis_of(session(), as_user(make.open_query()), as_user(make.open_query()))
    analysis = replace(analysis, capture=replace(analysis.capture, names={"10.0.0.1": "resolved"}))
    assert names_stated(analysis) == {
        "10.0.0.2": [("CLIENT7", "NTLM workstation")],
        "10.0.0.1": [
            ("SRV1", "NTLM target information, NetBIOS name"),
            ("srv1.lab.test", "NTLM target information, DNS name"),
            ("FILESRV", "tree path"),
            ("SRV1", "szMachine of a PerflibV2 call"),
            ("resolved", "name resolution in the capture file"),
        ],
    }
    assert machine_names(analysis)["10.0.0.1"] == ("SRV1", "srv1.lab.test", "FILESRV", "SRV1", "resolved")


def test_calls_alone_name_machines_too() -> None:
    stated = names_stated(analysis_of(as_user(Calls().close_query())))
    assert {ip: [name for name, _ in names] for ip, names in stated.items()} == {
        "10.0.0.2": ["CLIENT7"],
        "10.0.0.1": ["SRV1", "srv1.lab.test"],
    }


def test_a_call_that_others_may_have_changed_names_no_machine() -> None:
    make = Calls()
    true, false = make.open_query(), make.exchange(3, make.stub().string("SRV2"), make.stub().handle(NO_HANDLE).uint(0))
    # Its request may have been sent like this, and its answer not.
    found = machine_names(analysis_of(altered(false), altered(true), true))
    assert found == machine_names(analysis_of(true)) != {}


@pytest.mark.parametrize("machine", ["\\\\10.0.0.1", "\\\\", "10.0.0.1"])
def test_the_address_asked_for_is_no_name(machine: str) -> None:
    make = Calls()
    asked = make.exchange(3, make.stub().string(machine), make.stub().handle(NO_HANDLE).uint(0))
    assert names_stated(analysis_of(asked, replace(make.open_query(), request=None))) == {}


@pytest.mark.parametrize(
    ("service", "names"),
    [
        ("cifs/srv9", ["srv9"]),
        ("LDAP/srv9.lab.test:389/lab.test", ["srv9.lab.test"]),
        # Directory replication, [MS-DRSR] section 2.2.3.2.
        ("E3514235-4B06-11D1-AB04-00C04FC2DCD2/5e0c6a4e-9b1d-4f3c-8a55-0d2b7c9e1f10/lab.test", []),
        ("krbtgt", []),
        (None, []),
    ],
)
def test_a_service_principal_names_its_host(service: str | None, names: list[str]) -> None:
    identity = Identity(mechanism="krb5", service=service)
    stated = machine_names(analysis_of(replace(session(identity=identity), hosts=())))
    assert stated == ({"10.0.0.1": tuple(names)} if names else {})


def test_a_client_without_a_workstation_has_no_name() -> None:
    assert "10.0.0.2" not in names_stated(analysis_of(session(identity=replace(WHO, workstation=None))))


def asking(stub: bytes, ms: int, opnum: int = Opnum.OPEN_QUERY_HANDLE, **changes: Any) -> PendingCall:
    """A request under way that came at this time."""
    pdus = PduList()
    piece = TracedBytes.of_frame(b"head" + stub, ms, 7, ms * 1_000_000)
    pdus.add(FragmentPart(piece, 0, len(piece), None, 4, len(piece), None))
    facts = {"state": SideState.COMPLETE, "whole": True} | changes
    perflib = Presentation(Syntax(INTERFACE, (1, 0)), None)
    return PendingCall(1, 0, CallSide(pdus, **facts), CallSide(PduList()), opnum, presentation=perflib)


def test_of_requests_with_the_same_bytes_the_first_names_the_machine() -> None:
    """Calls come in the order of their ends: one that began earlier may come later."""
    selected = NamingCalls()

    def kept(*calls: PendingCall, channel: Channel = CHANNEL) -> list[bool]:
        return [selected(channel, SMB, _NO_SECURITY, call) for call in calls]

    # The first call of a session is always kept.
    assert kept(asking(b"", 5, Opnum.CLOSE_QUERY_HANDLE), asking(b"", 6, Opnum.CLOSE_QUERY_HANDLE)) == [True, False]
    assert kept(asking(b"SRV1", 20), asking(b"SRV1", 21), asking(b"SRV2", 22)) == [True, False, True]
    assert kept(asking(b"SRV1", 10), asking(b"SRV1", 20)) == [True, False]
    assert kept(asking(b"SRV1", 30, Opnum.ENUMERATE_COUNTER_SET), asking(b"SRV1", 31, order_big=True)) == [True, True]
    # Nothing is named by what others may have changed.
    assert selected(CHANNEL, replace(SMB, signature_ok=False), _NO_SECURITY, asking(b"SRV3", 35))
    assert kept(asking(b"SRV3", 36), asking(b"SRV3", 37)) == [True, False]
    elsewhere = replace(CHANNEL, server=replace(CHANNEL.server, ip="10.0.0.9"))
    assert kept(asking(b"SRV1", 40), asking(b"SRV1", 41), channel=elsewhere) == [True, False]
    assert kept(asking(b"", 50, Opnum.CLOSE_QUERY_HANDLE), channel=replace(CHANNEL, session=7)) == [True]


@pytest.mark.parametrize(
    ("stub", "facts"),
    [(b"SRV1", {"whole": False}), (b"SRV1", {"malformed": "it is"}), (bytes(NamingCalls.MOST_BYTES + 1), {})],
)
def test_requests_that_may_state_anything_are_all_kept(stub: bytes, facts: dict[str, Any]) -> None:
    selected = NamingCalls()
    calls = [asking(stub, ms, **facts) for ms in (20, 30)]
    assert [selected(CHANNEL, SMB, _NO_SECURITY, call) for call in calls] == [True, True]


def test_so_many_requests_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(NamingCalls, "MOST_REQUESTS", 3)
    selected = NamingCalls()
    calls = [asking(name, ms) for ms, name in enumerate((b"A", b"B", b"A", b"C", b"A", b"B"), 1)]
    assert [selected(CHANNEL, SMB, _NO_SECURITY, call) for call in calls] == [True, True, False, True, True, True]
