"""Who took part, by address, and which machine an address is, and when: by what both ends state of themselves."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from analyzer.questions.statistics import hosts
from analyzer.questions.statistics.hosts import Marks, contradiction, host_records
from analyzer.results.analysis import Analysis, Part
from analyzer.results.connection import FlowLink, SmbSession
from analyzer.results.records.record_types import Endpoint
from analyzer.results.records.session_and_host import HostRecord
from analyzer.results.security import AuthLevel, Decryption, Identity
from analyzer.screens.viewmodel.unread import Decrypted, decrypted_by_account
from tests.build.calls import Calls, analysis_of, logon_of, smb_session
from tests.questions.statistics.test_call_statistics import as_user
from tests.written import is_as_written, told

TEXT = Path(__file__).parent / "tables" / "machines.txt"
FILES, PRINT = Identity(server_name="FILES", server_dns_name="files.lab"), Identity(server_name="PRINT")
WHO = Identity("ntlm", "me", "LAB", os_version="10.0.1", client_os_version="10.0.2")
ONE, OTHER = "11111111-0000-0000-0000-000000000001", "22222222-0000-0000-0000-000000000002"
MAC, OTHER_MAC = "02:00:00:00:00:0a", "02:00:00:00:00:0b"


def session(number: int, server: str = "10.0.0.1", client: str = "10.0.0.2", **changes: Any) -> SmbSession:
    ends = {"client": Endpoint(client, 50000 + number), "server": Endpoint(server, 445)}
    return replace(smb_session(number), **(ends | changes))


def at(ip: str, *sessions: SmbSession) -> list[HostRecord]:
    return [one for one in host_records(analysis_of(*sessions)) if one.ip == ip]


def link(number: int, mac: str | None, hops: int, *, is_client: bool = True, at: int | None = None) -> FlowLink:
    client, server = Endpoint("10.0.0.2", 50000 + number), Endpoint("10.0.0.1", 445)
    time_ns = at if at is not None else number
    return FlowLink(*((client, server) if is_client else (server, client)), mac, hops, time_ns, time_ns, (number,))


def of_pairs() -> Iterator[tuple[str, Analysis]]:
    """Marks of two sessions with one server, which may be one machine or two."""
    old, newer = "10.0.17763", "10.0.20348"
    pairs: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
        "nothing is stated": ({}, {}),
        "one states a name": ({"identity": FILES}, {}),
        "one GUID": ({"server_guid": ONE}, {"server_guid": ONE}),
        "two GUIDs": ({"server_guid": ONE}, {"server_guid": OTHER}),
        "it was started again": ({"server_guid": ONE, "identity": FILES}, {"server_guid": OTHER, "identity": FILES}),
        "servers of one image": ({"server_guid": ONE, "identity": FILES}, {"server_guid": ONE, "identity": PRINT}),
        "two systems": ({"identity": Identity(os_version=old)}, {"identity": Identity(os_version=newer)}),
        "a system that was updated": (
            {"identity": Identity(server_name="FILES", os_version=old)},
            {"identity": Identity(server_name="FILES", os_version=newer)},
        ),
        "a GUID of zeros": ({"server_guid": "00000000-0000-0000-0000-000000000000"}, {"server_guid": ONE}),
    }
    for name, (one, other) in pairs.items():
        yield name, analysis_of(session(1, **one), session(2, **other))
    # The build of a system tells clients apart, and not what programs make up.
    for versions in (("10.0.19041", "10.0.22621"), ("0.12.4", "10.0.22621"), ("6.1", "0.12")):
        stated = [session(at, identity=Identity(client_os_version=one)) for at, one in enumerate(versions, 1)]
        yield f"clients of {' and '.join(versions)}", analysis_of(*stated)


def of_machines() -> Iterator[tuple[str, Analysis]]:
    later = [session(number, identity=who) for number, who in ((1, FILES), (2, FILES), (7, PRINT))]
    yield "an address that is another machine later has its times and the reason", analysis_of(*later)
    clients = [session(at, identity=Identity(workstation=name)) for at, name in enumerate(("PC1", "PC2") * 2, 1)]
    yield "clients behind one address, as behind a router, are machines of their own", analysis_of(*clients)
    moved = [session(number, f"10.0.0.{number}", server_guid=ONE) for number in (5, 6)]
    yield "addresses with a mark that no other machine has are one machine", analysis_of(*moved)
    apart = [replace(one, identity=who) for one, who in zip(moved, (FILES, PRINT), strict=True)]
    yield "addresses whose marks contradict are never one machine", analysis_of(*apart)
    one = session(1, server_guid=ONE)
    ends = {"client": Endpoint("10.0.9.2", 50001), "server": Endpoint("10.0.9.1", 445)}
    bound = replace(logon_of(one), number=2, is_binding=True, **ends)
    further = replace(analysis_of(one), logons=(logon_of(one), bound))
    yield "a further connection of a session shows other addresses of its machines", further
    first, second = session(1, identity=replace(FILES, user="a", granted="account")), session(2, "10.0.0.7", "10.0.0.1")
    second = replace(second, identity=Identity(user="b", workstation="WS", granted="account"))
    third = session(3, identity=replace(PRINT, granted="account"))
    yield "users and roles are those of the machine", analysis_of(first, second, third)
    for macs, hops, who in (
        ((MAC, MAC), 64, Identity()),
        ((MAC, OTHER_MAC), 64, Identity()),
        ((MAC, OTHER_MAC), 63, Identity()),  # a router forwarded the packets, and the addresses are its own
        ((MAC, None), 64, Identity()),
        ((MAC, OTHER_MAC), 64, FILES),  # a name of its own says that it is the same
    ):
        links = [link(number, mac, hops, is_client=False) for number, mac in enumerate(macs, 1)]
        both = analysis_of(*(session(number, identity=who) for number in (1, 2)))
        named = f"packets of {macs[0]} and {macs[1]}, {hops} hops, {who.server_name}"
        yield named, replace(both, flow_links=links)
    one, other = session(1), session(2, client="10.0.0.3")
    links = [link(1, MAC, 64), replace(link(2, MAC, 127), src=other.client), link(1, OTHER_MAC, 64, at=9)]
    linked = replace(analysis_of(one, other), flow_links=links)
    yield "a MAC joins no addresses, and frames of another time show nothing", linked


def of_hosts() -> Iterator[tuple[str, Analysis]]:
    users = WHO, Identity("ntlm"), Identity("ntlm", "odd", is_anonymous=True), replace(WHO, user="other")
    sessions = [replace(smb_session(1), identity=replace(identity, granted="account")) for identity in users]
    yield "users are those with a name: of no null session, and nobody of whom nothing is known", analysis_of(*sessions)
    ends = {"client": Endpoint("10.0.0.1", 50000), "server": Endpoint("10.0.0.10", 445)}
    both = smb_session(1), replace(smb_session(2), dialect=None, **ends)
    call = as_user(Calls().open_query(), "LAB\\one")
    yield "an address may be client and server, and they come in order", analysis_of(*both, call)
    analysis = analysis_of(Calls().open_query(), smb_session(1))
    named = replace(analysis, capture=replace(analysis.capture, names={"10.9.9.9": "elsewhere"}))
    yield "an address of which only the name is known", named
    for calls in ((), (1,)):
        yield f"of a part only those who took part in it: {calls}", replace(named, part=Part(calls, (), "some"))


def text(promise: str, analysis: Analysis) -> str:
    return f"{promise}\n" + "".join(f"{line}\n" for one in host_records(analysis) for line in told(one, 2))


def test_all_hosts_are_in_one_text() -> None:
    """`PCQ_WRITE_PAGES=1 pytest -n 0 THIS_FILE` writes it."""
    is_as_written(TEXT, "".join(text(*case) for case in (*of_pairs(), *of_machines(), *of_hosts())))


def test_a_machine_is_known_again_however_many_were_at_its_address_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind a NAT, or in years of DHCP; the work for each is bounded."""
    asked = 0

    def counted(one: Marks, other: Marks) -> str | None:
        nonlocal asked
        asked += 1
        return contradiction(one, other)

    monkeypatch.setattr(hosts, "contradiction", counted)
    count = 400
    seen = [session(at, identity=Identity(workstation=f"PC{at % count}")) for at in range(2 * count)]
    found = at("10.0.0.2", *seen)
    assert [[mark.value for mark in host.marks] for host in found] == [[f"PC{n}"] for n in range(count)]
    assert all(len(host.marks[0].frames) == 2 for host in found)
    assert asked < 100 * len(seen)


def test_keys_are_counted_for_what_they_were_tried_on() -> None:
    def with_level(level: int, number: int, decryption: Decryption, identity: Identity | None = None) -> object:
        call = as_user(Calls(first_frame=10 * number).open_query(), "LAB\\one")
        auth = replace(call.auth, level=level, decryption=decryption, identity=identity or call.auth.identity)
        return replace(call, auth=auth, channel=replace(call.channel, number=number))

    levels = [
        with_level(AuthLevel.INTEGRITY, 1, Decryption.NOT_SEALED),
        with_level(AuthLevel.PRIVACY, 2, Decryption.DECRYPTED),
        with_level(AuthLevel.PRIVACY, 3, Decryption.NO_KEY),
        with_level(AuthLevel.CONNECT, 4, Decryption.NOT_SEALED),
        with_level(AuthLevel.PRIVACY, 5, Decryption.DECRYPTED, Identity(is_anonymous=True)),
    ]
    sessions = [
        replace(smb_session(1), decryption=Decryption.DECRYPTED, encrypted_messages=3, decrypted_messages=3),
        smb_session(2, 5),
        smb_session(3, anonymous=True),
        replace(smb_session(4), identity=Identity("ntlm")),
        replace(
            smb_session(5), identity=Identity("ntlm", "user1"), decryption=Decryption.WRONG_KEY, encrypted_messages=3
        ),
        # Of a session that is not encrypted, a key can decrypt nothing.
        replace(smb_session(6), decryption=Decryption.NOT_SEALED),
    ]
    analysis = analysis_of(*levels, *sessions)
    assert list(decrypted_by_account(replace(analysis, secrets_given=True))) == [
        Decrypted("user1", "SMB sessions", 1, 2),
        Decrypted("LAB\\one", "RPC security contexts", 1, 2),
    ]
    assert list(decrypted_by_account(analysis)) == []
