"""Makes the records of `stats`, in the order in which they are printed."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.interfaces.call_contents.client_programs import client_programs
from analyzer.interfaces.call_contents.damaged_buffers import Damages
from analyzer.interfaces.call_contents.session_records import session_record
from analyzer.questions.statistics.summary import error_stats, identity_stats, method_stats, poll_stats
from analyzer.questions.statistics.who_looked_at_what import activity_record, findings, omissions
from analyzer.results.analysis import Analysis
from analyzer.results.records.record_types import Record


def stats_records(analysis: Analysis) -> Iterator[Record]:
    """Yields all records of `stats`: one for each line of its text."""
    # What was polled shows which answers are damaged, so that no buffer is decoded twice.
    damages = Damages()
    found = findings(analysis, damages)
    yield from method_stats(analysis, damages)
    yield from poll_stats(analysis)
    programs = client_programs(analysis)
    for session in analysis.sessions:
        yield session_record(session, analysis.capture, programs)
    yield from identity_stats(analysis, damages)
    yield from error_stats(analysis)
    for activity in found.activities:
        yield activity_record(activity, analysis)
    yield from found.images
    yield from omissions(found)
