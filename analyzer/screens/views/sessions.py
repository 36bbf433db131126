"""The SMB sessions of a capture, and the hosts that took part."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from analyzer.interfaces.contents.lines import logon_record, session_record
from analyzer.interfaces.contents.programs import client_programs
from analyzer.results.analysis import Analysis
from analyzer.results.capture import HostRecord, LogonRecord, SessionRecord
from analyzer.screens.views.view import OfCapture


class Sessions(Struct, OfCapture, frozen=True):
    """The view of `pcq sessions`."""

    analysis: Analysis

    def records(self) -> Iterator[SessionRecord | LogonRecord]:
        """Each session, and behind it its logons."""
        facts = self.analysis.capture
        logons, programs = self.analysis.logons_by_session, client_programs(self.analysis)
        for session in self.analysis.shown_sessions:
            yield session_record(session, facts, programs)
            for logon in logons.get(session.number, ()):
                yield logon_record(logon, facts)

    def lines(self, width: int | None) -> Iterator[str]:
        from analyzer.screens.views.session_text import session_lines

        return session_lines(self.analysis, width)


class Hosts(Struct, OfCapture, frozen=True):
    """The view of `pcq hosts`."""

    analysis: Analysis

    def records(self) -> Iterator[HostRecord]:
        from analyzer.questions.statistics.hosts import host_records

        return host_records(self.analysis)

    def lines(self, width: int | None) -> Iterator[str]:
        from analyzer.screens.views.session_text import host_lines

        return host_lines(self.analysis, width)
