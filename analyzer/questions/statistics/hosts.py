"""Who took part: every address with its roles, its names, its users and what it runs."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.interfaces.contents.machines import names_stated
from analyzer.results.analysis import Analysis, Selected
from analyzer.results.capture import ClaimOutcome, HostClaim, HostName, HostRecord
from analyzer.results.security import Identity


class _Host:
    def __init__(self) -> None:
        self.roles: dict[str, None] = {}
        self.users: dict[str, None] = {}
        self.claims: dict[HostClaim, None] = {}
        self.os_versions: dict[str, None] = {}
        self.dialects: dict[str, None] = {}


def host_records(analysis: Analysis) -> Iterator[HostRecord]:
    """One record an address, in the order of the addresses."""
    hosts: dict[str, _Host] = {}
    names = names_stated(analysis)

    def host(ip: str) -> _Host:
        return hosts.setdefault(ip, _Host())

    logons = analysis.logons_by_session
    for session in analysis.shown_sessions:
        client, server = host(session.client.ip), host(session.server.ip)
        client.roles["SMB client"] = None
        server.roles["SMB server"] = None
        if session.dialect is not None:
            server.dialects[session.dialect] = None
        for logon in logons.get(session.number, ()):
            claimed = logon.identity.claimed
            if logon.is_granted:
                _name_user(client, logon.identity)
            elif claimed is not None:
                outcome: ClaimOutcome = "refused" if logon.refused is not None else "not captured"
                client.claims[HostClaim(claimed, outcome)] = None
            _note_systems(client, server, logon.identity)
    # What of a call names hosts and users is what calls of one context have in common.
    for _, call in Selected(analysis.calls, analysis.calls.first_of_contexts(analysis.shown.numbers)):
        client, server = host(call.client.ip), host(call.server.ip)
        client.roles["DCERPC client"] = None
        server.roles["DCERPC server"] = None
        if call.identity is not None:
            _name_user(client, call.identity)
        if call.security.identity is not None:
            _note_systems(client, server, call.security.identity)
    if analysis.part is None:
        for ip in names:
            host(ip)
    for ip in sorted(hosts):
        found = hosts[ip]
        yield HostRecord(
            ip=ip,
            roles=tuple(found.roles),
            names=tuple(HostName(name, source) for name, source in names.get(ip, ())),
            users=tuple(found.users),
            claims=tuple(found.claims),
            os_versions=tuple(found.os_versions),
            dialects=tuple(found.dialects),
        )


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
