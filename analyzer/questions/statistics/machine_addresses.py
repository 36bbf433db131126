"""Finds which machines had which addresses, and when: takes what sessions and logons state about both ends, returns machines.

An address may belong to several machines one after the other (DHCP, reused ranges) or at the same time (NAT), and a machine may
have many addresses. Marks tell them apart: names and GUIDs that a machine gives itself, and the version of its system. Two
sightings at one address that contradict each other show two machines. Two addresses belong to one machine only if they share a mark
that no other machine has, and if nothing contradicts.

A different GUID proves little: [MS-SMB2] sections 3.2.3 and 3.3.3 make a new one whenever a machine starts. So does a different
link-layer address: a machine may have several network cards. The address is a mark only of packets whose hop limit shows that no
router forwarded them. A device between may still leave it unchanged, so the address never joins addresses.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from analyzer.core.printable_text import counted
from analyzer.results.analysis import Analysis
from analyzer.results.connection import FlowLink, Logon
from analyzer.results.records.capture_records import HostMark, HostRecord, MarkKind
from analyzer.results.records.record_types import Endpoint
from analyzer.results.security import Identity

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
        """Whether a sighting may be of this machine."""
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
    """Returns a captured time to live or hop limit in words, with its probable initial value."""
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
