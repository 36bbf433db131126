"""Which machine an address is, and when: by what both ends state of themselves."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from analyzer.questions.statistics import machines
from analyzer.questions.statistics.hosts import host_records
from analyzer.questions.statistics.machines import Marks, contradiction
from analyzer.results.capture_facts import HostRecord
from analyzer.results.connection import FlowLink, SmbSession
from analyzer.results.record import Endpoint
from analyzer.results.security import Identity
from tests.build.calls import analysis_of, logon_of, smb_session

FILES, PRINT = Identity(server_name="FILES", server_dns_name="files.lab"), Identity(server_name="PRINT")
ONE, OTHER = "11111111-0000-0000-0000-000000000001", "22222222-0000-0000-0000-000000000002"


def session(number: int, server: str = "10.0.0.1", client: str = "10.0.0.2", **changes: Any) -> SmbSession:
    ends = {"client": Endpoint(client, 50000 + number), "server": Endpoint(server, 445)}
    return replace(smb_session(number), **(ends | changes))


def at(ip: str, *sessions: SmbSession) -> list[HostRecord]:
    return [one for one in host_records(analysis_of(*sessions)) if one.ip == ip]


def test_an_address_that_is_another_machine_later_has_two_records_with_their_times_and_the_reason() -> None:
    first, second = at("10.0.0.1", session(1, identity=FILES), session(2, identity=FILES), session(7, identity=PRINT))
    assert (first.first_time_ns, first.last_time_ns, first.apart) == (1, 2, None)
    assert (second.first_time_ns, second.last_time_ns) == (7, 7)
    assert second.apart == "another NetBIOS name: PRINT, not FILES"
    assert (first.machine, second.machine) == (1, 2)
    assert [(one.kind, one.value, one.frames) for one in (*first.marks, *second.marks)] == [
        ("NetBIOS name", "FILES", (1, 2)),
        ("DNS name", "files.lab", (1, 2)),
        ("NetBIOS name", "PRINT", (7,)),
    ]
    assert [[name.name for name in one.names] for one in (first, second)] == [["FILES", "files.lab"], ["PRINT"]]


# Marks of two sessions with one server, and why it is two machines.
PAIRS: list[tuple[dict[str, Any], dict[str, Any], str | None]] = [
    ({}, {}, None),
    ({"identity": FILES}, {}, None),
    ({"server_guid": ONE}, {"server_guid": ONE}, None),
    ({"server_guid": ONE}, {"server_guid": OTHER}, f"another server GUID: {OTHER}, not {ONE}"),
    # It was started again: the GUID is another one, the name is not.
    ({"server_guid": ONE, "identity": FILES}, {"server_guid": OTHER, "identity": FILES}, None),
    # Servers of one image have one GUID.
    (
        {"server_guid": ONE, "identity": FILES},
        {"server_guid": ONE, "identity": PRINT},
        "another NetBIOS name: PRINT, not FILES",
    ),
    (
        {"identity": Identity(os_version="10.0.17763")},
        {"identity": Identity(os_version="10.0.20348")},
        "another server OS version: 10.0.20348, not 10.0.17763",
    ),
    # A name that is the same and a system that was updated.
    (
        {"identity": Identity(server_name="FILES", os_version="10.0.17763")},
        {"identity": Identity(server_name="FILES", os_version="10.0.20348")},
        None,
    ),
    ({"server_guid": "00000000-0000-0000-0000-000000000000"}, {"server_guid": ONE}, None),
]


@pytest.mark.parametrize(("one", "other", "apart"), PAIRS)
def test_what_contradicts_is_two_machines_and_what_may_be_one_is_one(
    one: dict[str, Any], other: dict[str, Any], apart: str | None
) -> None:
    found = at("10.0.0.1", session(1, **one), session(2, **other))
    assert [host.apart for host in found] == ([None] if apart is None else [None, apart])


@pytest.mark.parametrize(
    ("versions", "count"), [(("10.0.19041", "10.0.22621"), 2), (("0.12.4", "10.0.22621"), 1), (("6.1", "0.12"), 1)]
)
def test_a_client_is_told_apart_by_the_build_of_its_system_not_by_what_programs_make_up(
    versions: tuple[str, str], count: int
) -> None:
    sessions = [session(at, identity=Identity(client_os_version=one)) for at, one in enumerate(versions, 1)]
    assert len(at("10.0.0.2", *sessions)) == count


def test_clients_behind_one_address_are_machines_of_their_own_at_the_same_time() -> None:
    """As behind a router that translates addresses."""
    names = ("PC1", "PC2", "PC1", "PC2")
    sessions = [session(number, identity=Identity(workstation=name)) for number, name in enumerate(names, 1)]
    first, second = at("10.0.0.2", *sessions)
    assert [(one.first_time_ns, one.last_time_ns) for one in (first, second)] == [(1, 3), (2, 4)]
    assert second.apart == "another workstation: PC2, not PC1"


def test_addresses_with_a_mark_that_no_other_machine_has_are_one_machine() -> None:
    sessions = [session(number, f"10.0.0.{number}", server_guid=ONE) for number in (5, 6)]
    five, six = (at(f"10.0.0.{number}", *sessions)[0] for number in (5, 6))
    assert five.machine == six.machine
    assert (five.other_ips, six.other_ips) == (("10.0.0.6",), ("10.0.0.5",))
    assert five.joined_by == six.joined_by == f"the same server GUID {ONE}"


def test_addresses_whose_marks_contradict_are_never_one_machine() -> None:
    sessions = [
        session(5, "10.0.0.5", server_guid=ONE, identity=FILES),
        session(6, "10.0.0.6", server_guid=ONE, identity=PRINT),
    ]
    five, six = (at(f"10.0.0.{number}", *sessions)[0] for number in (5, 6))
    assert five.machine != six.machine
    assert (five.other_ips, six.other_ips) == ((), ())


def test_a_further_connection_of_a_session_shows_other_addresses_of_its_machines() -> None:
    one = session(1, server_guid=ONE)
    ends = {"client": Endpoint("10.0.9.2", 50001), "server": Endpoint("10.0.9.1", 445)}
    bound = replace(logon_of(one), number=2, is_binding=True, **ends)
    analysis = replace(analysis_of(one), logons=(logon_of(one), bound))
    found = {host.ip: host for host in host_records(analysis)}
    assert found["10.0.9.1"].other_ips == ("10.0.0.1",)
    assert found["10.0.9.1"].machine == found["10.0.0.1"].machine
    assert found["10.0.9.1"].roles == ("SMB server",)


def test_users_and_roles_are_those_of_the_machine() -> None:
    first, second = session(1, identity=replace(FILES, user="a", granted="account")), session(2, "10.0.0.7", "10.0.0.1")
    second = replace(second, identity=Identity(user="b", workstation="WS", granted="account"))
    third = session(3, identity=replace(PRINT, granted="account"))
    found = at("10.0.0.1", first, second, third)
    assert [(host.roles, host.users) for host in found] == [
        (("SMB server", "SMB client"), ("b",)),
        (("SMB server",), ()),
    ]


def test_a_machine_is_known_again_however_many_were_at_its_address_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind a NAT, or in years of DHCP; the work for each is bounded."""
    asked = 0

    def counted(one: Marks, other: Marks) -> str | None:
        nonlocal asked
        asked += 1
        return contradiction(one, other)

    monkeypatch.setattr(machines, "contradiction", counted)
    count = 400
    seen = [session(at, identity=Identity(workstation=f"PC{at % count}")) for at in range(2 * count)]
    hosts = at("10.0.0.2", *seen)
    assert [[mark.value for mark in host.marks] for host in hosts] == [[f"PC{n}"] for n in range(count)]
    assert all(len(host.marks[0].frames) == 2 for host in hosts)
    assert asked < 100 * len(seen)


def link(number: int, mac: str | None, hops: int, *, is_client: bool = True, at: int | None = None) -> FlowLink:
    client, server = Endpoint("10.0.0.2", 50000 + number), Endpoint("10.0.0.1", 445)
    time_ns = at if at is not None else number
    return FlowLink(*((client, server) if is_client else (server, client)), mac, hops, time_ns, time_ns, (number,))


MAC, OTHER_MAC = "02:00:00:00:00:0a", "02:00:00:00:00:0b"
SPLIT = f"another MAC address: {OTHER_MAC}, not {MAC}; or another network card of the same machine"


@pytest.mark.parametrize(
    ("macs", "hops", "identity", "apart"),
    [
        ((MAC, MAC), 64, Identity(), None),
        ((MAC, OTHER_MAC), 64, Identity(), SPLIT),
        # A router forwarded the packets, and the addresses are its own.
        ((MAC, OTHER_MAC), 63, Identity(), None),
        ((MAC, None), 64, Identity(), None),
        # A name of its own says that it is the same.
        ((MAC, OTHER_MAC), 64, FILES, None),
    ],
)
def test_an_address_with_two_macs_is_possibly_two_machines(
    macs: tuple[str | None, str | None], hops: int, identity: Identity, apart: str | None
) -> None:
    links = [link(number, mac, hops, is_client=False) for number, mac in enumerate(macs, 1)]
    analysis = analysis_of(*(session(number, identity=identity) for number in (1, 2)))
    found = [one for one in host_records(replace(analysis, flow_links=links)) if one.ip == "10.0.0.1"]
    assert [one.apart for one in found] == ([None] if apart is None else [None, apart])
    shown = {(mark.kind, mark.value, mark.frames) for one in found for mark in one.marks}
    assert (("MAC address", MAC, (1, 2) if len(set(macs)) == 1 else (1,)) in shown) is (hops == 64)


def test_a_mac_joins_no_addresses_and_frames_of_another_time_show_nothing() -> None:
    one, other = session(1), session(2, client="10.0.0.3")
    links = [link(1, MAC, 64), replace(link(2, MAC, 127), src=other.client), link(1, OTHER_MAC, 64, at=9)]
    found = {host.ip: host for host in host_records(replace(analysis_of(one, other), flow_links=links))}
    assert found["10.0.0.2"].machine != found["10.0.0.3"].machine
    assert [(mark.kind, mark.value) for ip in ("10.0.0.2", "10.0.0.3") for mark in found[ip].marks] == [
        ("MAC address", MAC),
        ("hop limit", "64 (usual of Linux, Unix and macOS)"),
        ("hop limit", "127 (begun with 128 perhaps, usual of Windows; then 1 router between)"),
    ]
