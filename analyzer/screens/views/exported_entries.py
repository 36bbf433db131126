"""Makes entries of calls, sessions and findings for other programs (timelines, SIEMs, Zeek).

An entry is the record that JSON Lines print, without trees of buffers. It adds what these programs ask of everything: a time, the
client, the server, the outcome, and one sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from msgspec import Struct

from analyzer.core.error_code_names import nt_status_name
from analyzer.core.output.standard_json import document
from analyzer.interfaces.call_contents.call_records import CallRecords
from analyzer.interfaces.call_contents.client_programs import ClientPrograms, client_programs
from analyzer.interfaces.call_contents.session_records import session_record
from analyzer.questions.audit.findings_and_coverage import Finding, finding_record
from analyzer.results.analysis import Analysis
from analyzer.results.calls.call import Call, CallOutcome, CallRecord
from analyzer.results.connection import SmbSession
from analyzer.results.records.record_types import Endpoint
from analyzer.results.security import who_words
from analyzer.screens.viewmodel.call_list import row_of
from analyzer.screens.views.audit import AuditView
from analyzer.screens.views.sessions_and_hosts import Sessions
from analyzer.screens.views.timeline import Timeline

EntryKind = Literal["call", "session", "finding"]
Ending = Literal["success", "failure", "unknown"]
_ENDINGS: Mapping[CallOutcome, Ending] = {"answered": "success", "refused": "failure"}


class Entry(Struct, frozen=True, kw_only=True):
    """An entry for other programs' timelines: one call, session or finding. `record` is as docs/output.md describes it, without
    `request`, `response` and `extents`.

    `time_ns` of a finding is that of its call, or of the first frame of the capture. `files` are the captures.
    """

    kind: EntryKind
    time_ns: int
    end_ns: int | None
    client: Endpoint | None
    server: Endpoint | None
    user: str | None
    ending: Ending
    message: str
    files: tuple[str, ...]
    record: dict[str, Any]


Entries = Timeline | Sessions | AuditView


def kind_of(view: Entries) -> EntryKind:
    """Returns the kind of entries that a view gives other programs: calls, sessions or findings."""
    return "call" if isinstance(view, Timeline) else "session" if isinstance(view, Sessions) else "finding"


def entries(view: Entries) -> Iterator[Entry]:
    """Yields calls, sessions or findings as exported entries for other programs, in the view's order."""
    analysis = view.analysis
    if isinstance(view, Timeline):
        shown = view.selection.shown(analysis)
        for (_, call), head in zip(shown, CallRecords(analysis).heads(shown.numbers), strict=True):
            yield _of_call(call, head, analysis)
    elif isinstance(view, Sessions):
        programs = client_programs(analysis)
        for session in analysis.shown_sessions:
            yield _of_session(session, analysis, programs)
    else:
        for finding in view.findings():
            yield _of_finding(finding, analysis)


def _of_call(call: Call, head: CallRecord, analysis: Analysis) -> Entry:
    row = row_of(call, analysis)
    record = document(head)
    del record["request"], record["response"]
    record |= {"record": "call", "asked": row.asked, "answered": row.answered}
    caller = (
        f"{who_words(row.user, row.claimed_user, call.auth.later_user)} at {call.client}"
        if row.user is not None
        else str(call.client)
    )
    # The answer's words imply success, so the status is added unless the call was answered.
    said = (row.answered,) if call.outcome == "answered" else (row.status, row.answered)
    answer = ", ".join(filter(None, said)) or row.status
    asked = f" {row.asked}" if row.asked else ""
    client, server = call.carriers
    return Entry(
        kind="call",
        time_ns=call.time_ns,
        end_ns=call.response.first_time_ns if call.response is not None else None,
        client=client,
        server=server,
        user=row.user,
        ending=_ENDINGS.get(call.outcome, "unknown"),
        message=_one_line(f"{caller} → {call.server}: {row.method}{asked} ⇒ {answer}"),
        files=analysis.capture.files,
        record=record,
    )


def _of_session(session: SmbSession, analysis: Analysis, programs: ClientPrograms) -> Entry:
    record = document(session_record(session, analysis.capture, programs))
    who = session.identity.who if session.identity.account is not None else "an unknown user"
    how = ", ".join(
        word for word in (record["mechanism"], f"SMB {session.dialect}" if session.dialect else None) if word
    )
    what, ending = _outcome(session)
    return Entry(
        kind="session",
        time_ns=session.first_time_ns,
        end_ns=session.last_time_ns,
        client=session.client,
        server=session.server,
        user=record["user"],
        ending=ending,
        message=_one_line(f"{who} at {session.client} {what} at {session.server}" + (f": {how}" if how else "")),
        files=analysis.capture.files,
        record=record,
    )


def _outcome(session: SmbSession) -> tuple[str, Ending]:
    """Returns the outcome of a logon for its exported entry: in words, and as success, failure or unknown."""
    if session.refused is not None:
        return f"was refused ({nt_status_name(session.refused)})", "failure"
    granted = session.identity.granted
    if granted is None:
        asked = session.identity.account is not None
        return "asked to be logged on" if asked else "had a session whose logon was not captured", "unknown"
    return "was let in as a guest" if granted == "guest" else "was logged on", "success"


def _of_finding(finding: Finding, analysis: Analysis) -> Entry:
    record = document(finding_record(finding, analysis.capture))
    del record["extents"]
    call = finding.judgement.call.decoded if finding.judgement.call is not None else None
    values = [f"{name} {record[name]}" for name in ("expected", "seen") if record[name] is not None]
    of_call = f" in call {record['call']}" if record["call"] is not None else ""
    return Entry(
        kind="finding",
        time_ns=call.time_ns if call is not None else analysis.capture.first_time_ns or 0,
        end_ns=None,
        client=call.client if call is not None else None,
        server=call.server if call is not None else None,
        user=call.auth.user if call is not None else None,
        ending="failure" if record["verdict"] == "fail" else "unknown",
        message=_one_line(
            ": ".join((f"{record['rule']} {record['message']}{of_call}", *([", ".join(values)] if values else [])))
        ),
        files=analysis.capture.files,
        record=record,
    )


def _one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text)
