"""The views of `sessions` and `hosts`: SMB sessions with who logged on, and machines.

A session says how it is protected, and which key decrypted it; a machine has addresses, names, users and client programs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence

from msgspec import Struct

from analyzer.core.error_code_names import nt_status_name
from analyzer.core.frame_ids import number_of
from analyzer.core.printable_text import counted
from analyzer.core.times import shown_time
from analyzer.interfaces.call_contents.client_programs import ProgramLikeness, client_programs, marks_words
from analyzer.interfaces.call_contents.session_records import logon_record, session_record
from analyzer.questions.statistics.hosts import host_records
from analyzer.results.analysis import Analysis
from analyzer.results.connection import Logon, SmbSession
from analyzer.results.records.session_and_host import HostRecord, LogonRecord, MarkKind, SessionRecord
from analyzer.results.security import Identity, LogonOutcome
from analyzer.screens.viewmodel.session_words import session_words
from analyzer.screens.views.view_type import OfCapture

# ------------------------------------------------------------------------------------------------------------- sessions


class Sessions(Struct, OfCapture, frozen=True):
    """The view of `pcq sessions`."""

    analysis: Analysis

    def records(self) -> Iterator[SessionRecord | LogonRecord]:
        """Yields for the view of `sessions` the record of each SMB session, and after it those of its logons."""
        facts = self.analysis.capture
        logons, programs = self.analysis.logons_by_session, client_programs(self.analysis)
        for session in self.analysis.shown_sessions:
            yield session_record(session, facts, programs)
            for logon in logons.get(session.number, ()):
                yield logon_record(logon, facts)

    def lines(self, width: int | None) -> Iterator[str]:
        """Yields the lines of each SMB session with everything known of it."""
        from analyzer.screens.views.text_report import folded, opening_lines, part_lines, safe

        logons, programs = self.analysis.logons_by_session, client_programs(self.analysis)
        for session in self.analysis.shown_sessions:
            yield from (safe(line) for line in folded(session_words(session), 4, width))
            details = (*_session_details(session), *_program_details(programs.of_session(session)))
            for name, value in (*details, *_logon_details(logons.get(session.number, ()))):
                yield from (safe(line) for line in folded(f"    {name}: {value}", 8, width))
        yield from opening_lines(self.analysis, width)
        yield from part_lines(self.analysis, width)


def _session_details(session: SmbSession) -> Iterable[tuple[str, str]]:
    identity = session.identity
    if session.refused is not None:
        yield "refused", f"{nt_status_name(session.refused)} ({session.refused:#010x})"
    yield "time", f"{shown_time(session.first_time_ns)} to {shown_time(session.last_time_ns)}"
    yield from _identity_details(identity)
    for name, value in (
        ("client GUID", session.client_guid),
        ("server GUID", session.server_guid),
        ("cipher", session.cipher),
        ("signing", session.signing),
        ("trees", ", ".join(session.trees)),
        ("pipes", ", ".join(session.pipes)),
    ):
        if value:
            yield name, value
    yield "signatures", f"{session.verified_messages} verified of {session.signed_messages} signed messages"
    if session.refused is None:
        yield "keys", session.decryption.value + (f": {session.reason}" if session.reason else "")


def _program_details(likeness: ProgramLikeness | None) -> Iterable[tuple[str, str]]:
    if likeness is not None:
        yield "client program", f"{likeness.words}: {likeness.listed}"


_OUTCOMES: dict[LogonOutcome, str] = {
    "account": "granted",
    "guest": "let in as a guest",
    "anonymous": "let in without a name",
    "bound": "bound a further connection",
    "refused": "refused",
    "unanswered": "the answer was not captured",
    "undecided": "what the server decided was not captured",
}


def _logon_details(logons: Sequence[Logon]) -> Iterable[tuple[str, str]]:
    """Yields each logon of an SMB session that has several."""
    for logon in logons if len(logons) > 1 else ():
        claimed = logon.identity.claimed or "unknown user"
        seen = nt_status_name(logon.refused) if logon.by == "smb" and logon.refused is not None else logon.seen
        status = f" ({seen})" if seen is not None and not logon.is_granted else ""
        frames = ", ".join(str(number_of(frame)) for frame in logon.frames)
        until = "" if logon.outcome in ("refused", "bound") else f", in force until {shown_time(logon.until_ns)}"
        yield (
            f"logon {logon.key}",
            f"{claimed} at {shown_time(logon.first_time_ns)}: {_OUTCOMES[logon.outcome]}{status}{until}; frames {frames}",
        )


def _identity_details(identity: Identity) -> Iterable[tuple[str, str]]:
    server = [identity.server_name, identity.server_dns_name, identity.server_domain, identity.server_dns_domain]
    if named := [name for name in server if name]:
        yield "server names", ", ".join(dict.fromkeys(named))
    if identity.os_version:
        yield "server OS version", identity.os_version
    if identity.client_os_version:
        yield "client OS version", identity.client_os_version
    if identity.service:
        yield "Kerberos ticket", f"{identity.service}@{identity.realm}, etype {identity.etype}, kvno {identity.kvno}"
    if identity.kdc_frames:
        yield (
            "user named by",
            f"the KDC's reply that issued the ticket (frame {number_of(identity.kdc_frames[-1])}), not verified",
        )


# ---------------------------------------------------------------------------------------------------------------- hosts


class Hosts(Struct, OfCapture, frozen=True):
    """The view of `pcq hosts`."""

    analysis: Analysis

    def records(self) -> Iterator[HostRecord]:
        return host_records(self.analysis)

    def lines(self, width: int | None) -> Iterator[str]:
        """Yields the lines of `hosts`: for each host its address and roles, then its names, users and programs."""
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
    """Yields the lines of `hosts` that identify a machine, if several machines share the address or one machine has several."""
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
