"""Matches the machines of two sides of `diff`: machines that are the same get one label.

Machines are the same if they share a name, or else an address. If one server is left on each side, the two are matched, and so are
two clients: this compares a capture of one's own server with that of another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct

from analyzer.questions.statistics.hosts import host_records
from analyzer.results.analysis import Analysis

_AND = " and "
_SERVER = ("SMB server", "DCERPC server")


class Peer(Struct, frozen=True):
    """A machine at an address, as one side of `diff` shows it."""

    ip: str
    names: tuple[str, ...]
    is_server: bool
    properties: Mapping[str, str]

    @property
    def words(self) -> str:
        return f"{self.names[0]} ({self.ip})" if self.names else self.ip

    def is_called(self, name: str) -> bool:
        """Tells whether a name that a client used means the machine at this address."""
        plain = name.lstrip("\\").casefold()
        return not plain or plain == self.ip or plain in map(str.casefold, self.names)


class Peers(Struct, frozen=True):
    """The machines of both sides of `diff` by address, and their labels; matched machines have one label."""

    a: Mapping[str, Peer]
    b: Mapping[str, Peer]
    labels_a: Mapping[str, str]
    labels_b: Mapping[str, str]

    def are_names(self, ip_a: str, ip_b: str, a: str, b: str) -> bool:
        """Tells whether the names by which clients call the servers at these two addresses mean one machine. If both sides share
        the address and a name, each server must have the other's name, else its own."""
        one, other = self.a.get(ip_a), self.b.get(ip_b)
        if one is None or other is None:
            return a == b
        if one.ip == other.ip and _share_name(one, other):
            return one.is_called(b) and other.is_called(a)
        return one.is_called(a) and other.is_called(b)


def peers_of(analysis: Analysis) -> dict[str, Peer]:
    """Returns the machines that take part in shown calls and sessions, by address."""
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
    """Matches the machines of both sides of `diff`, and labels them."""
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
    """Makes a label for each machine of `diff`, different from those taken."""
    used, found = set(taken), {}
    for one in peers:
        label = one.names[0] if one.names and one.names[0] not in used else one.words if one.names else one.ip
        found[one.ip] = label if label not in used else f"{label} (another)"
        used.add(found[one.ip])
    return found


def _share_name(one: Peer, other: Peer) -> bool:
    return not {*map(str.casefold, one.names)}.isdisjoint(map(str.casefold, other.names))
