"""Which machine of one side is which of the other: hosts in, one label for both out.

Machines are the same where they share a name, else where they have the same address. One server that is left on each side, and one
client, are taken for each other: so a capture of one's own server is compared with that of another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct

from analyzer.questions.statistics.hosts import host_records
from analyzer.results.analysis import Analysis

_AND = " and "
_SERVER = ("SMB server", "DCERPC server")


class Peer(Struct, frozen=True):
    """What one side of `diff` shows of a machine at an address."""

    ip: str
    names: tuple[str, ...]
    is_server: bool
    properties: Mapping[str, str]

    @property
    def words(self) -> str:
        return f"{self.names[0]} ({self.ip})" if self.names else self.ip

    def is_called(self, name: str) -> bool:
        """Whether a name, or what the client put in its place, is of the machine at this address."""
        plain = name.lstrip("\\").casefold()
        return not plain or plain == self.ip or plain in map(str.casefold, self.names)


class Peers(Struct, frozen=True):
    """The machines of both sides of `diff` by address, and the label of each; machines that are the same have one label."""

    a: Mapping[str, Peer]
    b: Mapping[str, Peer]
    labels_a: Mapping[str, str]
    labels_b: Mapping[str, str]

    def are_names(self, ip_a: str, ip_b: str, a: str, b: str) -> bool:
        """Whether two names that clients call a server by at these addresses are of one machine: each is known to both sides, or
        the sides share none, and each has its own."""
        one, other = self.a.get(ip_a), self.b.get(ip_b)
        if one is None or other is None:
            return a == b
        if one.ip == other.ip and _share_name(one, other):
            return one.is_called(b) and other.is_called(a)
        return one.is_called(a) and other.is_called(b)


def peers_of(analysis: Analysis) -> dict[str, Peer]:
    """The machines of the calls and sessions that are shown, by address."""
    found: dict[str, Peer] = {}
    for host in host_records(analysis):
        before = found.get(host.ip)
        names = tuple(dict.fromkeys((*(before.names if before else ()), *(one.name for one in host.names))))
        properties = dict(before.properties) if before else {}
        for key, values in (("system", host.os_versions), ("SMB", host.dialects)):
            known = [word for word in properties.get(key, "").split(_AND) if word]
            if words := sorted({*known, *values}):
                properties[key] = _AND.join(words)
        is_server = any(role in _SERVER for role in host.roles) or bool(before and before.is_server)
        found[host.ip] = Peer(host.ip, names, is_server, properties)
    return found


def paired_peers(a: Mapping[str, Peer], b: Mapping[str, Peer]) -> Peers:
    """Matches the machines of both sides of `diff`, with their labels."""
    tests: Sequence[Callable[[Peer, Peer], bool]] = (
        lambda one, other: one.ip == other.ip and _share_name(one, other),
        _share_name,
        lambda one, other: one.ip == other.ip,
    )
    same: dict[str, str] = {}
    left_a, left_b = dict(a), dict(b)

    def note(one: Peer, other: Peer) -> None:
        same[other.ip] = one.ip
        del left_a[one.ip], left_b[other.ip]

    for test in tests:
        for one in list(left_a.values()):
            if (other := next((each for each in left_b.values() if test(one, each)), None)) is not None:
                note(one, other)
    for is_server in (True, False):
        ones = [one for one in left_a.values() if one.is_server == is_server]
        others = [one for one in left_b.values() if one.is_server == is_server]
        if len(ones) == 1 and len(others) == 1:
            note(ones[0], others[0])
    labels_a = _labels(a.values(), ())
    labels_b = {ip: labels_a[other] for ip, other in same.items()}
    labels_b |= _labels((one for ip, one in b.items() if ip not in same), labels_a.values())
    return Peers(a, b, labels_a, labels_b)


def _labels(peers: Iterable[Peer], taken: Iterable[str]) -> dict[str, str]:
    """A label for each machine's address, none of them taken."""
    used, found = set(taken), {}
    for one in peers:
        label = one.names[0] if one.names and one.names[0] not in used else one.words if one.names else one.ip
        found[one.ip] = label if label not in used else f"{label} (another)"
        used.add(found[one.ip])
    return found


def _share_name(one: Peer, other: Peer) -> bool:
    return not {*map(str.casefold, one.names)}.isdisjoint(map(str.casefold, other.names))
