"""The names of the machines in a capture: every address with the names that the traffic states, and the source of each name.

`NamingCalls` selects the calls in SMB sessions that a list of hosts needs, and leaves out those that state nothing new.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator

from analyzer.results.analysis import Analysis, Selected
from analyzer.results.calls.call import is_altered
from analyzer.results.connection import Channel
from analyzer.results.methods.perflib import INTERFACE, Opnum
from analyzer.results.security import AuthInfo, Identity, of_any_logon
from analyzer.transport.channel.channels import SmbInfo
from analyzer.transport.rpc.call_pairing import PendingCall, SideState

# --------------------------------------------------------------------------------------------------------- naming calls


# The methods whose request names the machine that is asked ([MS-PCQ] sections 3.1.4.1.1 to 3.1.4.1.4).
NAMING = (
    Opnum.ENUMERATE_COUNTER_SET,
    Opnum.QUERY_COUNTER_SET_REGISTRATION_INFO,
    Opnum.ENUMERATE_COUNTER_SET_INSTANCES,
    Opnum.OPEN_QUERY_HANDLE,
)
_NAMING = frozenset(map(int, NAMING))


class NamingCalls:
    """Selects the first of the calls whose requests name a server's machine in the same bytes, and the first call of each session
    between two machines with equal security."""

    # So many requests are remembered; those with longer stubs are all selected.
    MOST_REQUESTS, MOST_BYTES = 4096, 1024

    def __init__(self) -> None:
        # When the first one began, of those that were selected.
        self._known: dict[Hashable, int] = {}
        self._requests: dict[Hashable, int] = {}

    def __call__(self, channel: Channel, smb: SmbInfo | None, auth: AuthInfo, call: PendingCall) -> bool:
        began = (call.times or (0, 0))[0]
        # Another channel of the session may have carried the message.
        carried = (smb.session, smb.client, smb.server) if smb is not None else None
        machines = channel.client.ip, channel.server.ip
        security = of_any_logon(auth), channel.identity
        is_first = _is_first(self._known, (channel.session, *machines, carried, *security), began)
        presentation, request = call.presentation, call.request
        if presentation is None or presentation.abstract.uuid != INTERFACE or call.opnum not in _NAMING:
            return is_first
        if request.state is SideState.EMPTY:
            return is_first
        stub = request.pdus.only_stub
        if stub is None or len(stub) > self.MOST_BYTES or not request.whole or request.malformed is not None:
            return True
        if len(self._requests) >= self.MOST_REQUESTS:
            self._requests.clear()
        server = channel.server.ip, smb.server if smb is not None else None
        asked = *server, presentation, call.opnum, request.order_big, stub, is_altered(smb, auth)
        return _is_first(self._requests, asked, began) or is_first


def _is_first(known: dict[Hashable, int], key: Hashable, began: int) -> bool:
    """Whether no call that names machines and is `known` began before this one. Calls do not come in the order of their begin."""
    if known.get(key, began) < began:
        return False
    known[key] = began
    return True


# -------------------------------------------------------------------------------------------------------- machine names


_GUID = r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
# A name and what stated it.
Named = tuple[str, str]


def names_stated(analysis: Analysis) -> dict[str, list[Named]]:
    """Returns the names of each machine by address, in the order in which the whole capture states them, even if only a part is
    shown. What others may have changed names nothing."""
    found: dict[str, dict[Named, None]] = {}

    def note(ip: str, names: Iterator[Named]) -> None:
        for one in names:
            found.setdefault(ip, {})[one] = None

    known: set[tuple[str, str, Identity]] = set()

    def note_ends(client: str, server: str, identity: Identity) -> None:
        # Call after call has the same.
        if (client, server, identity) not in known:
            known.add((client, server, identity))
            note(client, _of_client(identity))
            note(server, _of_server(identity))

    for session in analysis.sessions:
        for identity in session.identities:
            note_ends(session.client.ip, session.server.ip, identity)
        for ip, name, source in session.hosts:
            note(ip, iter(((name, source),)))
    calls = analysis.calls
    shared = set(calls.first_of_contexts(range(1, len(calls) + 1)))
    for number, call in Selected(
        calls, sorted(shared.union(calls.first_by_text(calls.of_perflib(NAMING), "szMachine")))
    ):
        if number in shared and call.security.identity is not None:
            note_ends(call.client.ip, call.server.ip, call.security.identity)
        if call.is_perflib and call.request is not None and not call.is_altered:
            machine = call.request.params.get("szMachine")
            if isinstance(machine, str) and (name := machine.lstrip("\\")) not in ("", call.server.ip):
                note(call.server.ip, iter(((name, "szMachine of a PerflibV2 call"),)))
    for ip, name in analysis.capture.names.items():
        note(ip, iter(((name, "name resolution in the capture file"),)))
    return {ip: list(names) for ip, names in found.items()}


def machine_names(analysis: Analysis) -> dict[str, tuple[str, ...]]:
    """Returns all names of each machine by address; machines without a name are left out."""
    return {ip: tuple(name for name, _ in names) for ip, names in names_stated(analysis).items()}


def _of_client(identity: Identity) -> Iterator[Named]:
    if identity.workstation:
        yield identity.workstation, "NTLM workstation"


def _of_server(identity: Identity) -> Iterator[Named]:
    if identity.server_name:
        yield identity.server_name, "NTLM target information, NetBIOS name"
    if identity.server_dns_name:
        yield identity.server_dns_name, "NTLM target information, DNS name"
    # A service principal is class/host, or class/host/name; that of directory replication names no host, but a GUID
    # ([MS-DRSR] section 2.2.3.2).
    _, _, rest = (identity.service or "").partition("/")
    host = rest.partition("/")[0].partition(":")[0]
    if host and not re.fullmatch(_GUID, host):
        yield host, "Kerberos service principal"
