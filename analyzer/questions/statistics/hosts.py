"""The hosts in a capture: every machine at every address, with its roles, names, users and programs.

Machines are found from what sessions and logons state about both ends: which had which addresses, and when. An address may belong
to several machines one after the other (DHCP, reused ranges) or at the same time (NAT), and a machine may have many addresses.
Marks tell them apart: names and GUIDs that a machine gives itself, and the version of its system. Two sightings at one address that
contradict each other show two machines. Two addresses belong to one machine only if they share a mark that no other machine has,
and if nothing contradicts.

A different GUID proves little: [MS-SMB2] sections 3.2.3 and 3.3.3 make a new one whenever a machine starts. So does a different
link-layer address: a machine may have several network cards. The address is a mark only of packets whose hop limit shows that no
router forwarded them. A device between may still leave it unchanged, so the address never joins addresses.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec import UNSET, Struct
from msgspec.structs import replace

from analyzer.core.printable_text import counted
from analyzer.interfaces.call_contents.client_programs import ClientConnection, client_programs
from analyzer.interfaces.call_contents.machine_names import Named, names_stated
from analyzer.results.analysis import Analysis, Selected
from analyzer.results.calls.call import Call
from analyzer.results.connection import FlowLink, Logon, SmbSession
from analyzer.results.records.record_types import Endpoint
from analyzer.results.records.session_and_host import (
    ClaimOutcome,
    HostClaim,
    HostMark,
    HostName,
    HostProgram,
    HostRecord,
    MarkKind,
)
from analyzer.results.security import Identity

# ---------------------------------------------------------------------------------------------------- machine addresses


# Names of which a machine has only one at a time: a different one shows another machine.
_NAMES: tuple[MarkKind, ...] = ("DNS name", "NetBIOS name")
# Marks that no two machines share.
_OWN: tuple[MarkKind, ...] = ("server GUID", "client GUID", *_NAMES)
# Marks whose difference shows another machine, unless an own mark is equal.
_LOOSE: tuple[MarkKind, ...] = ("server OS version", "server GUID", "workstation", "client OS version", "MAC address")
# What else a different loose mark may mean.
_OR_ELSE: Mapping[MarkKind, str] = {"MAC address": "; or another network card of the same machine"}
# Initial hop limits of systems, and where each is usual.
_INITIAL_HOPS = {64: "usual of Linux, Unix and macOS", 128: "usual of Windows", 255: "usual of network devices"}
# Lowest build of a system that states one (Windows XP); programs of other systems make up what they send.
_LOWEST_BUILD = 2600
# The most frames of a mark, the most values of a kind, and the most other addresses of a machine.
MOST_FRAMES, _MOST_MARKS, _MOST_ADDRESSES = 8, 64, 64
# Of the machines of an address, so many that came last, and so many of those that share a mark, may be the one that is seen again:
# behind a NAT there are thousands.
_MOST_COMPARED = 32

# A session by its number or a logon by its key, and whether the client's end is meant.
Seen = tuple[int | str, bool]
Marks = Mapping[MarkKind, Mapping[str, tuple[int, ...]]]
FoundMarks = dict[MarkKind, dict[str, tuple[int, ...]]]


class Sighting(Struct):
    """A sighting of a machine: one end of a session or logon, with its times and marks. `of` names session and end, `ip` is the
    address."""

    of: Seen
    ip: str
    first_time_ns: int
    last_time_ns: int
    marks: FoundMarks


class Machine(Struct):
    """A machine at one address. `apart` says why it is not the machine before it at the address. All of its addresses share
    `number`. `others` are the first of the other addresses, and `by` is the mark that they share."""

    ip: str
    first_time_ns: int
    last_time_ns: int
    marks: FoundMarks
    apart: str | None = None
    number: int = 0
    others: tuple[str, ...] = ()
    by: str | None = None

    def has(self, sighting: Sighting) -> bool:
        """Whether the sighting of a host's address may be of this machine."""
        return self.ip == sighting.ip and contradiction(self.marks, sighting.marks) is None

    def add_sighting(self, sighting: Sighting) -> None:
        """Adds one more sighting of the machine: its times and its marks."""
        self.first_time_ns = min(self.first_time_ns, sighting.first_time_ns)
        self.last_time_ns = max(self.last_time_ns, sighting.last_time_ns)
        for kind, values in sighting.marks.items():
            mine = self.marks.setdefault(kind, {})
            for value, frames in values.items():
                if value in mine or len(mine) < _MOST_MARKS:
                    mine[value] = tuple(sorted({*mine.get(value, ()), *frames}))[:MOST_FRAMES]


def contradiction(one: Marks, other: Marks) -> str | None:
    """Returns why marks cannot be of one machine, None if they may be."""
    differing = [kind for kind in one if kind in other and not one[kind].keys() & other[kind].keys()]
    agreeing = {kind for kind in one if kind in other and kind not in differing}
    for kind in _NAMES:
        if kind in differing:
            return _differs(kind, one, other)
    if agreeing.intersection(_OWN):
        return None
    for kind in _LOOSE:
        if kind in differing and (kind != "client OS version" or _are_builds(one[kind], other[kind])):
            return _differs(kind, one, other)
    return None


def _pairs(marks: Marks) -> Iterator[tuple[MarkKind, str]]:
    return ((kind, value) for kind, values in marks.items() for value in values)


def _differs(kind: MarkKind, one: Marks, other: Marks) -> str:
    return f"another {kind}: {', '.join(other[kind])}, not {', '.join(one[kind])}{_OR_ELSE.get(kind, '')}"


def _are_builds(*stated: Iterable[str]) -> bool:
    """Whether versions that a machine's client states are builds of its system."""
    builds = (version.rpartition(".")[2] for versions in stated for version in versions)
    return all(build.isdigit() and int(build) >= _LOWEST_BUILD for build in builds)


class Machines:
    """The machines of an analysis, by address, in the order in which they were seen there."""

    def __init__(self, analysis: Analysis) -> None:
        self._at: dict[str, list[Machine]] = {}
        self._of: dict[Seen, Machine] = {}
        self._with: dict[tuple[str, MarkKind, str], list[Machine]] = {}
        for sighting in sorted(_sightings(analysis), key=lambda one: one.first_time_ns):
            known = self._at.setdefault(sighting.ip, [])
            machine = next((one for one in self._candidates(known, sighting) if one.has(sighting)), None)
            if machine is None:
                apart = contradiction(known[-1].marks, sighting.marks) if known else None
                machine = Machine(sighting.ip, sighting.first_time_ns, sighting.last_time_ns, {}, apart)
                known.append(machine)
            machine.add_sighting(sighting)
            for kind, value in _pairs(sighting.marks):
                found = self._with.setdefault((sighting.ip, kind, value), [])
                if not any(one is machine for one in found[-_MOST_COMPARED:]):
                    found.append(machine)
            self._of[sighting.of] = machine
        _join_addresses([one for ip in sorted(self._at) for one in self._at[ip]])

    def _candidates(self, known: Sequence[Machine], sighting: Sighting) -> Iterator[Machine]:
        """Yields the machines at an address that a sighting may show, the latest first."""
        yield from reversed(known[-_MOST_COMPARED:])
        if len(known) > _MOST_COMPARED:
            for kind, value in _pairs(sighting.marks):
                yield from reversed(self._with.get((sighting.ip, kind, value), [])[-_MOST_COMPARED:])

    def at(self, ip: str) -> Sequence[Machine]:
        """All machines that had this address."""
        return self._at.get(ip, ())

    def machine_at(self, seen: Seen, ip: str, time_ns: int) -> Machine | None:
        """Returns the machine that a session or logon shows at an address, else the machine last seen there before this time."""
        machine = self._of.get(seen)
        if machine is not None and machine.ip == ip:
            return machine
        known = self.at(ip)
        return known[max(bisect_right(known, time_ns, key=lambda one: one.first_time_ns) - 1, 0)] if known else None


class _AddressesOfMachine(Struct):
    """The addresses of one machine, and the marks stated at any of them."""

    machines: list[Machine]
    marks: FoundMarks
    by: str | None = None

    def add_machine(self, machine: Machine) -> None:
        self.machines.append(machine)
        for kind, values in machine.marks.items():
            self.marks.setdefault(kind, {}).update(values)


def _join_addresses(machines: Sequence[Machine]) -> None:
    """Numbers machines. Addresses that share a unique mark belong to one machine and get one number."""
    by_mark: dict[tuple[MarkKind, str], _AddressesOfMachine] = {}
    groups: list[_AddressesOfMachine] = []
    for machine in machines:
        own = [(kind, value) for kind in _OWN for value in machine.marks.get(kind, ())]
        group = None
        for mark in own:
            group = by_mark.get(mark)
            # Two at one address are two, whatever they have in common.
            is_elsewhere = group is not None and group.machines[-1].ip != machine.ip
            if group is not None and is_elsewhere and contradiction(group.marks, machine.marks) is None:
                group.by = group.by or f"the same {mark[0]} {mark[1]}"
                break
            group = None
        if group is None:
            group = _AddressesOfMachine([], {})
            groups.append(group)
        group.add_machine(machine)
        for mark in own:
            by_mark.setdefault(mark, group)
    for number, group in enumerate(groups, 1):
        addresses = [one.ip for one in group.machines[: _MOST_ADDRESSES + 1]]
        for machine in group.machines:
            machine.number, machine.by = number, group.by
            machine.others = tuple([ip for ip in addresses if ip != machine.ip][:_MOST_ADDRESSES])


def _sightings(analysis: Analysis) -> Iterator[Sighting]:
    """Yields the sightings of machines in sessions and logons. There is one for each end of a session with all of its logons, of a
    further connection of a session, and of an RPC logon over TCP."""
    of_session: dict[int | None, list[Logon]] = {}
    for logon in analysis.logons:
        of_session.setdefault(logon.session, []).append(logon)
    links = _Links(analysis.flow_links)
    for session in analysis.sessions:
        span = session.first_time_ns, session.last_time_ns
        stated = [(one, session.frames) for one in session.identities]
        stated += [(one.identity, one.frames) for one in of_session.get(session.number, ())]
        client = _marks("client GUID", session.client_guid, session.frames, stated, _of_client)
        server = _marks("server GUID", session.server_guid, session.frames, stated, _of_server)
        yield from links.sightings(session.number, session.client, session.server, span, client, server)
        for logon in of_session.get(session.number, ()):
            if logon.is_binding:
                yield from links.sightings(logon.key, logon.client, logon.server, span, client, server)
    for logon in of_session.get(None, ()):
        span, stated = (logon.first_time_ns, logon.until_ns), [(logon.identity, logon.frames)]
        client = _marks("client GUID", None, (), stated, _of_client)
        server = _marks("server GUID", None, (), stated, _of_server)
        yield from links.sightings(logon.key, logon.client, logon.server, span, client, server)


class _Links:
    """Marks of machines in the frames of both ends of a connection, while a session or logon lasts."""

    def __init__(self, links: Iterable[FlowLink]) -> None:
        self._by_ends: dict[tuple[Endpoint, Endpoint], list[FlowLink]] = {}
        for link in links:
            self._by_ends.setdefault((link.src, link.dst), []).append(link)

    def sightings(
        self, what: int | str, client: Endpoint, server: Endpoint, span: tuple[int, int], *stated: FoundMarks
    ) -> Iterator[Sighting]:
        """Sightings of the machines at both ends of a session or logon, with the marks that it states of both."""
        for is_client, (src, dst), marks in zip(
            (True, False), ((client, server), (server, client)), stated, strict=True
        ):
            yield Sighting((what, is_client), src.ip, *span, {**marks, **self._marks(src, dst, span)})

    def _marks(self, src: Endpoint, dst: Endpoint, span: tuple[int, int]) -> FoundMarks:
        found: FoundMarks = {}
        for link in self._by_ends.get((src, dst), ()):
            if link.first_time_ns > span[1] or link.last_time_ns < span[0]:
                continue
            if link.mac is not None and link.hops in _INITIAL_HOPS:
                found.setdefault("MAC address", {}).setdefault(link.mac, link.frames)
            found.setdefault("hop limit", {}).setdefault(hops_words(link.hops), link.frames)
        return found


def hops_words(hops: int) -> str:
    """Returns the time to live or hop limit of a host's frames in words, with its probable initial value."""
    initial = next((one for one in _INITIAL_HOPS if hops <= one), 255)
    if hops == initial:
        return f"{hops} ({_INITIAL_HOPS[initial]})"
    return f"{hops} (begun with {initial} perhaps, {_INITIAL_HOPS[initial]}; then {counted(initial - hops, 'router')} between)"


def _marks(
    guid_kind: MarkKind,
    guid: str | None,
    frames: tuple[int, ...],
    identities: Iterable[tuple[Identity, tuple[int, ...]]],
    marks_of: Callable[[Identity], Iterable[tuple[MarkKind, str | None]]],
) -> FoundMarks:
    found: FoundMarks = {}
    stated = [(kind, value, shown) for one, shown in identities for kind, value in marks_of(one)]
    for kind, value, shown in ((guid_kind, guid, frames), *stated):
        # A GUID of zeros is none.
        if value and value.strip("0-"):
            found.setdefault(kind, {}).setdefault(value, shown[:MOST_FRAMES])
    return found


def _of_client(identity: Identity) -> Iterator[tuple[MarkKind, str | None]]:
    yield "workstation", identity.workstation
    yield "client OS version", identity.client_os_version


def _of_server(identity: Identity) -> Iterator[tuple[MarkKind, str | None]]:
    yield "NetBIOS name", identity.server_name
    yield "DNS name", identity.server_dns_name
    yield "server OS version", identity.os_version


def mark_records(machine: Machine, analysis: Analysis) -> Iterator[HostMark]:
    """The records of a machine's marks, each with the frames that show it."""
    for kind, values in machine.marks.items():
        for value, ids in values.items():
            frames, files = analysis.capture.numbered(ids)
            yield HostMark(kind=kind, value=value, frames=frames, frame_files=files)


def marks_in(host: HostRecord) -> Marks:
    """The marks of a machine in a host record."""
    found: dict[MarkKind, dict[str, tuple[int, ...]]] = {}
    for mark in host.marks:
        found.setdefault(mark.kind, {})[mark.value] = ()
    return found


def numbered_hosts(hosts: Iterable[HostRecord]) -> Iterator[HostRecord]:
    """Hosts in the order of their addresses, with the numbers of their machines and their other addresses."""
    hosts = list(hosts)
    machines = [Machine(one.ip, 0, 0, {kind: dict(values) for kind, values in marks_in(one).items()}) for one in hosts]
    _join_addresses([made for one, made in zip(hosts, machines, strict=True) if one.machine is not None])
    for one, made in zip(hosts, machines, strict=True):
        is_joined = one.machine is not None and bool(made.others)
        yield replace(
            one,
            machine=made.number if one.machine is not None else None,
            other_ips=made.others if is_joined else (),
            joined_by=made.by if is_joined else None,
        )


# ---------------------------------------------------------------------------------------------------------------- hosts


class _Host:
    def __init__(self) -> None:
        self.roles: dict[str, None] = {}
        self.users: dict[str, None] = {}
        self.claims: dict[HostClaim, None] = {}
        self.os_versions: dict[str, None] = {}
        self.dialects: dict[str, None] = {}
        self.programs: dict[str, list[ClientConnection]] = {}
        # Whether others may have changed something of what shows it.
        self.is_altered = False


class _Hosts:
    """Collects the facts about each machine (host) at each address."""

    def __init__(self, analysis: Analysis) -> None:
        self.machines = Machines(analysis)
        self._hosts: dict[tuple[str, int], _Host] = {}

    def host_at(self, ip: str, seen: Seen, time_ns: int) -> _Host:
        """The host that a session or a logon shows at an address."""
        machine = self.machines.machine_at(seen, ip, time_ns)
        return self._hosts.setdefault((ip, machine.number if machine is not None else 0), _Host())

    def ends_of(
        self, one: SmbSession | Logon | Call, seen: int | str, time_ns: int, protocol: str
    ) -> tuple[_Host, _Host]:
        """Returns the hosts at both ends of a session, logon or call: the client and the server. Notes their roles."""
        client = self.host_at(one.client.ip, (seen, True), time_ns)
        server = self.host_at(one.server.ip, (seen, False), time_ns)
        client.roles[f"{protocol} client"] = server.roles[f"{protocol} server"] = None
        return client, server

    def name(self, ip: str) -> None:
        """Notes that an address has a name: a host there took part."""
        for machine in self.machines.at(ip) or (None,):
            self._hosts.setdefault((ip, machine.number if machine is not None else 0), _Host())

    @property
    def addresses(self) -> set[str]:
        """The addresses of all hosts that were collected."""
        return {ip for ip, _ in self._hosts}

    def found(self) -> Iterator[tuple[str, Machine | None, _Host]]:
        """Yields the hosts in the order of their addresses, and by time at each address."""
        for ip in sorted(self.addresses):
            for machine in (*self.machines.at(ip), None):
                host = self._hosts.get((ip, machine.number if machine is not None else 0))
                if host is not None:
                    yield ip, machine, host


def host_records(analysis: Analysis) -> Iterator[HostRecord]:
    """One host record a machine and address, in the order of the addresses."""
    hosts = _Hosts(analysis)
    names = names_stated(analysis)
    logons = analysis.logons_by_session
    for session in analysis.shown_sessions:
        at = session.first_time_ns
        client, server = hosts.ends_of(session, session.number, at, "SMB")
        if session.wrong_signatures:
            client.is_altered = server.is_altered = True
        if session.dialect is not None:
            server.dialects[session.dialect] = None
        for logon in logons.get(session.number, ()):
            # A further connection of the session may be between other addresses.
            client, server = hosts.ends_of(logon, logon.key if logon.is_binding else session.number, at, "SMB")
            claimed = logon.identity.claimed
            if logon.is_granted:
                _name_user(client, logon.identity)
            elif claimed is not None:
                outcome: ClaimOutcome = "refused" if logon.refused is not None else "not captured"
                client.claims[HostClaim(claimed, outcome)] = None
            _note_systems(client, server, logon.identity)
    # Calls of one context share everything that names hosts and users.
    for _, call in Selected(analysis.calls, analysis.calls.first_of_contexts(analysis.shown.numbers)):
        seen = call.session if call.session is not None else call.auth.logon or ""
        client, server = hosts.ends_of(call, seen, call.time_ns, "DCERPC")
        if call.is_altered:
            client.is_altered = server.is_altered = True
        if call.identity is not None:
            _name_user(client, call.identity)
        if call.security.identity is not None:
            _note_systems(client, server, call.security.identity)
    _add_programs(hosts, analysis)
    if analysis.part is None:
        for ip in names:
            hosts.name(ip)
    names_at = {ip: _NamesAtAddress(hosts.machines.at(ip), names.get(ip, ())) for ip in hosts.addresses}
    for ip, machine, found in hosts.found():
        yield HostRecord(
            ip=ip,
            roles=tuple(found.roles),
            names=tuple(HostName(*name) for name in names_at[ip].names_of(machine)),
            users=tuple(found.users),
            claims=tuple(found.claims),
            os_versions=tuple(found.os_versions),
            dialects=tuple(found.dialects),
            machine=machine.number if machine is not None else None,
            first_time_ns=machine.first_time_ns if machine is not None else None,
            last_time_ns=machine.last_time_ns if machine is not None else None,
            marks=tuple(mark_records(machine, analysis)) if machine is not None else (),
            apart=machine.apart if machine is not None else None,
            other_ips=machine.others if machine is not None else (),
            joined_by=machine.by if machine is not None and machine.others else None,
            programs=tuple(_program_records(found.programs, analysis)),
            altered=found.is_altered or UNSET,
        )


def _add_programs(hosts: _Hosts, analysis: Analysis) -> None:
    """Adds to each host the programs that its client connections are like."""
    sessions = {(one.client, one.server): one.number for one in analysis.shown_sessions}
    for connection, likeness in client_programs(analysis).shown(analysis):
        seen = sessions.get((connection.client, connection.server), "")
        host = hosts.host_at(connection.client.ip, (seen, True), connection.seen[0].time_ns)
        host.programs.setdefault(likeness.name, []).append(connection)


def _program_records(programs: Mapping[str, Sequence[ClientConnection]], analysis: Analysis) -> Iterator[HostProgram]:
    for name, connections in sorted(programs.items()):
        first = min(connections, key=lambda one: one.rank)
        assert first.likeness is not None
        frames, files = analysis.capture.numbered(first.frames())
        alike, marks = first.likeness.alike, first.likeness.marks
        yield HostProgram(
            name=name, alike=alike, marks=marks, connections=len(connections), frames=frames, frame_files=files
        )


class _NamesAtAddress:
    """The names that are stated at an address, divided among its hosts."""

    def __init__(self, machines: Sequence[Machine], names: Sequence[Named]) -> None:
        known_by = {value for one in machines for value in _values(one)}
        self._names = names
        self._of_any = [place for place, named in enumerate(names) if named[0] not in known_by]
        self._places: dict[str, list[int]] = {}
        for place, named in enumerate(names):
            self._places.setdefault(named[0], []).append(place)

    def names_of(self, machine: Machine | None) -> Iterator[Named]:
        """Yields the names of a host in the order in which they were stated; leaves out those of other machines at its address."""
        mine = set(_values(machine)) if machine is not None else ()
        places = [place for value in mine for place in self._places.get(value, ())]
        return (self._names[place] for place in sorted((*self._of_any, *places)))


def _values(machine: Machine) -> Iterator[str]:
    return (value for values in machine.marks.values() for value in values)


def _name_user(client: _Host, identity: Identity) -> None:
    if identity.account is not None and not identity.is_anonymous:
        client.users[identity.account] = None
    if identity.granted in ("guest", "anonymous") and identity.claimed_otherwise is not None:
        client.claims[HostClaim(identity.claimed_otherwise, identity.granted)] = None


def _note_systems(client: _Host, server: _Host, identity: Identity) -> None:
    if identity.os_version is not None:
        server.os_versions[identity.os_version] = None
    if identity.client_os_version is not None:
        client.os_versions[identity.client_os_version] = None
