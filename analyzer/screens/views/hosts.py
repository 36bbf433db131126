"""The view of `hosts`: the machines of a capture, each with its addresses, names, users and client programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator

from msgspec import Struct

from analyzer.core.printable_text import counted
from analyzer.core.times import shown_time
from analyzer.interfaces.call_contents.client_programs import marks_words
from analyzer.questions.statistics.hosts import host_records
from analyzer.results.analysis import Analysis
from analyzer.results.records.capture_records import HostRecord, MarkKind
from analyzer.screens.views.view_type import OfCapture


class Hosts(Struct, OfCapture, frozen=True):
    """The view of `pcq hosts`."""

    analysis: Analysis

    def records(self) -> Iterator[HostRecord]:
        return host_records(self.analysis)

    def lines(self, width: int | None) -> Iterator[str]:
        """Yields for each host its address and roles, then its names, users and programs."""
        from analyzer.screens.views.text_report import folded, safe, styled

        hosts = list(host_records(self.analysis))
        split = {ip for ip, count in Counter(host.ip for host in hosts).items() if count > 1}
        for host in hosts:
            yield f"{styled('bold', host.ip)}  {safe(', '.join(host.roles))}"
            for line in _machine_lines(host, split):
                yield from (safe(part) for part in folded(f"    {line}", 8, width))
            for name in host.names:
                yield from (safe(line) for line in folded(f"    {name.name}  ({name.source})", 8, width))
            for user in host.users:
                yield from (safe(line) for line in folded(f"    user {user}", 8, width))
            for claim in host.claims:
                words = _CLAIMS[claim.outcome]
                yield from (safe(line) for line in folded(f"    claimed to be {claim.user}: {words}", 8, width))
            for what, values in (("OS version", host.os_versions), ("SMB dialect", host.dialects)):
                for value in values:
                    yield safe(f"    {what} {value}")
            for program in host.programs:
                many = counted(program.connections, "connection")
                words = f"client program like {program.name} ({marks_words(program.alike, program.marks)}), {many}"
                yield from (safe(line) for line in folded(f"    {words}", 8, width))


# At most so many other addresses of a machine are shown.
_SHOWN_IPS = 6


# Marks that no other line of a host has.
_SHOWN_MARKS: frozenset[MarkKind] = frozenset({"server GUID", "client GUID", "MAC address", "hop limit"})


_WORDS: dict[MarkKind, str] = {"MAC address": "seen from MAC address", "hop limit": "seen with hop limit"}


_CLAIMS = {
    "guest": "let in as a guest",
    "anonymous": "let in without a name",
    "refused": "refused",
    "not captured": "the answer was not captured",
}


def _machine_lines(host: HostRecord, split: Container[str]) -> Iterator[str]:
    """Yields what identifies the machine of a host, if several machines share the address or one machine has several."""
    if host.ip in split and host.first_time_ns is not None and host.last_time_ns is not None:
        span = f"{shown_time(host.first_time_ns)} to {shown_time(host.last_time_ns)}"
        yield f"machine {host.machine}, seen from {span}" + (f": {host.apart}" if host.apart else "")
    for mark in host.marks:
        if host.ip in split or mark.kind in _SHOWN_MARKS:
            words = _WORDS.get(mark.kind, f"known by {mark.kind}")
            frames = f"{'frames' if len(mark.frames) > 1 else 'frame'} {', '.join(map(str, mark.frames))}"
            yield f"{words} {mark.value}, {frames}"
    if host.other_ips:
        ips, more = ", ".join(host.other_ips[:_SHOWN_IPS]), len(host.other_ips) - _SHOWN_IPS
        yield f"machine {host.machine}, also at {ips}{f' and {more} more' if more > 0 else ''}: {host.joined_by}"
