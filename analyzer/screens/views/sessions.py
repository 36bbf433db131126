"""The view of `sessions`: SMB sessions with who logged on, how each is protected, and which key decrypted it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from analyzer.core.frame_ids import number_of
from analyzer.core.ntstatus import nt_status_name
from analyzer.core.times import shown_time
from analyzer.interfaces.call_contents.client_programs import ProgramLikeness, client_programs
from analyzer.interfaces.call_contents.session_records import logon_record, session_record
from analyzer.results.analysis import Analysis
from analyzer.results.connection import Logon, SmbSession
from analyzer.results.records.capture_records import LogonRecord, SessionRecord
from analyzer.results.security import Identity, LogonOutcome
from analyzer.screens.viewmodel.session_words import session_words
from analyzer.screens.views.view_type import OfCapture


class Sessions(Struct, OfCapture, frozen=True):
    """The view of `pcq sessions`."""

    analysis: Analysis

    def records(self) -> Iterator[SessionRecord | LogonRecord]:
        """Yields the record of each SMB session, and after it those of its logons."""
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
