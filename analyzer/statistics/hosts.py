"""Who took part: every address with the names the traffic gives it, and where each name was stated."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.model.analysis import Analysis
from analyzer.model.capture import HostName, HostRecord
from analyzer.model.security import Identity


class _Host:
    def __init__(self) -> None:
        self.roles: dict[str, None] = {}
        self.names: dict[tuple[str, str], None] = {}
        self.users: dict[str, None] = {}
        self.os_versions: dict[str, None] = {}
        self.dialects: dict[str, None] = {}

    def name(self, name: str | None, source: str) -> None:
        if name:
            self.names[name, source] = None


def host_records(analysis: Analysis) -> Iterator[HostRecord]:
    """One record an address, in the order of the addresses."""
    hosts: dict[str, _Host] = {}

    def host(ip: str) -> _Host:
        return hosts.setdefault(ip, _Host())

    for session in analysis.sessions:
        client, server = host(session.client.ip), host(session.server.ip)
        client.roles["SMB client"] = None
        server.roles["SMB server"] = None
        if session.dialect is not None:
            server.dialects[session.dialect] = None
        _identify(client, server, session.identity)
        for ip, name, source in session.hosts:
            host(ip).name(name, source)
    for call in analysis.calls:
        client, server = host(call.client.ip), host(call.server.ip)
        client.roles["DCERPC client"] = None
        server.roles["DCERPC server"] = None
        if call.security.identity is not None:
            _identify(client, server, call.security.identity)
        if call.is_perflib and call.request is not None:
            machine = call.request.params.get("szMachine")
            if isinstance(machine, str) and (name := machine.lstrip("\\")) != call.server.ip:
                server.name(name, "szMachine of a PerflibV2 call")
    for ip, name in analysis.capture.names.items():
        host(ip).name(name, "name resolution in the capture file")
    for ip in sorted(hosts):
        found = hosts[ip]
        yield HostRecord(
            ip=ip,
            roles=tuple(found.roles),
            names=tuple(HostName(name, source) for name, source in found.names),
            users=tuple(found.users),
            os_versions=tuple(found.os_versions),
            dialects=tuple(found.dialects),
        )


def _identify(client: _Host, server: _Host, identity: Identity) -> None:
    client.name(identity.workstation, "NTLM workstation")
    if identity.account is not None and not identity.is_anonymous:
        client.users[identity.account] = None
    server.name(identity.server_name, "NTLM target information, NetBIOS name")
    server.name(identity.server_dns_name, "NTLM target information, DNS name")
    if identity.service is not None:
        server.name(identity.service.partition("/")[2], "Kerberos service principal")
    if identity.os_version is not None:
        server.os_versions[identity.os_version] = None
    if identity.client_os_version is not None:
        client.os_versions[identity.client_os_version] = None


def machine_names(analysis: Analysis) -> dict[str, tuple[str, ...]]:
    """All names of each address."""
    return {host.ip: tuple(name.name for name in host.names) for host in host_records(analysis)}
