"""The SMB sessions of a capture, and the hosts that took part."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from analyzer.interfaces.contents.lines import session_record
from analyzer.results.analysis import Analysis
from analyzer.results.capture import HostRecord, SessionRecord
from analyzer.screens.views.view import OfCapture


class Sessions(Struct, OfCapture, frozen=True):
    """The view of `pcq sessions`."""

    analysis: Analysis

    def records(self) -> Iterator[SessionRecord]:
        return (session_record(session, self.analysis.capture) for session in self.analysis.shown_sessions)

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
