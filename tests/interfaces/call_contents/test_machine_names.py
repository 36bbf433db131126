"""What machines are called: each name once, in the order it was stated, with what stated it."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from analyzer.interfaces.call_contents.machine_names import machine_names, names_stated
from analyzer.results.security import Identity
from tests.build.calls import NO_HANDLE, Calls, analysis_of
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
