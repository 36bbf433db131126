"""The hosts in a capture: every machine at every address, with its roles, names, users and programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from analyzer.interfaces.call_contents.client_programs import ClientConnection, client_programs
from analyzer.interfaces.call_contents.machine_names import Named, names_stated
from analyzer.questions.statistics.machine_addresses import Machine, Machines, Seen, mark_records
from analyzer.results.analysis import Analysis, Selected
from analyzer.results.calls.call import Call
from analyzer.results.connection import Logon, SmbSession
from analyzer.results.records.capture_records import ClaimOutcome, HostClaim, HostName, HostProgram, HostRecord
from analyzer.results.security import Identity


class _Host:
    def __init__(self) -> None:
        self.roles: dict[str, None] = {}
        self.users: dict[str, None] = {}
        self.claims: dict[HostClaim, None] = {}
        self.os_versions: dict[str, None] = {}
        self.dialects: dict[str, None] = {}
        self.programs: dict[str, list[ClientConnection]] = {}


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
        """The addresses of hosts that took part."""
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
        _, server = hosts.ends_of(session, session.number, at, "SMB")
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
