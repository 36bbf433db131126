"""What was observed in a capture: who did what to what on which machine, and what became of it."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET

from analyzer.results.calls.call import CallOutcome
from analyzer.results.records.record_types import INSTANT, Altered, Frames, Record, doc
from analyzer.results.records.statistics import Who

Severity = Literal["high", "medium", "info"]
SEVERITIES: tuple[Severity, ...] = ("high", "medium", "info")
Confidence = Literal["certain", "likely", "possible"]
ObservationKind = Literal[
    "process-list",
    "odd-process",
    "anonymous",
    "guest",
    "foreign-handle",
    "service",
    "service-change",
    "service-start",
    "service-stop",
    "service-delete",
    "service-list",
    "task",
    "task-start",
    "task-delete",
    "task-list",
    "account-change",
    "account-list",
    "account-query",
    "session-list",
    "share-change",
    "share-list",
    "replication",
    "machine-account",
    "coerced-access",
    "driver",
    "shutdown",
    "log-cleared",
    "program-written",
    "file-change",
    "file-read",
    "file-open",
    "files-unread",
    "registry-write",
    "registry-delete",
    "registry-save",
    "registry-read",
    "logged-on-sessions",
    "network",
    "attempt",
    "enumeration",
    "logon",
    "refused-logon",
    "refused-call",
    "irregular-polling",
    "encrypted",
    "counters",
    "polling",
    "client-program",
    "altered",
    "losses",
    "other-calls",
]


class AttackRecord(Record, frozen=True, kw_only=True, tag="attack"):
    """What is known of an attack, as `docs` prints it."""

    attack: Annotated[str, doc("code")]
    name: Annotated[str, doc("name")]
    title: Annotated[str, doc("one sentence")]
    techniques: Annotated[tuple[str, ...], doc("ids of techniques", source="MITRE ATT&CK")]
    sources: Annotated[tuple[str, ...], doc("where it is described")]
    page: Annotated[str, doc("what it looks for, what else does the same, how sure it is, when it is silent")]


class Observation(Record, frozen=True, kw_only=True, tag="triage-finding"):
    """What somebody did to something on a machine, and what became of it; the gravest first. No two are of one kind, caller,
    outcome, object and detail."""

    file: Annotated[str, doc("the file, as given")]
    rank: Annotated[int, doc("position among the findings of the file, from 1")]
    severity: Annotated[Severity, doc("how much it matters")]
    kind: Annotated[ObservationKind, doc("what it is")]
    text: Annotated[str, doc("the same in one sentence")]
    who: Annotated[Who | None, doc("who did it")]
    server_name: Annotated[str | None, doc("a name that the traffic gives the server")]
    objects: Annotated[
        tuple[str, ...],
        doc("the first 16 things it was done to: names of counters, services, registry keys and values, methods"),
    ]
    object_count: Annotated[int, doc("how many there are")]
    detail: Annotated[str | None, doc("what a service runs, the data of a value, how many processes were listed")]
    outcome: Annotated[
        CallOutcome | None,
        doc(
            "`answered`; `refused`; `asked`: no answer was captured; `unreadable`: sealed, cut or malformed; null where it is of "
            "no call or logon, or of several outcomes"
        ),
    ]
    reason: Annotated[str | None, doc("why it was refused or could not be read")]
    count: Annotated[int, doc("how many calls, logons or messages it is about")]
    call_numbers: Annotated[tuple[int, ...], doc("numbers of the first 16 of these calls")]
    frames: Frames
    stub_bytes: Annotated[
        int | None,
        doc(
            "length of the stubs of all these calls as they were sent, as far as they were captured; null where it is not about "
            "calls",
            unit="bytes",
        ),
    ]
    logons: Annotated[tuple[str, ...], doc("the logons under which it was done, `logon` of `logons`; the first 16")]
    first_time_ns: Annotated[int | None, doc("the first time", unit=INSTANT)]
    last_time_ns: Annotated[int | None, doc("the last time", unit=INSTANT)]
    confidence: Annotated[
        Confidence,
        doc(
            "how sure it is: `certain`: the calls state it; `likely` and `possible`: other things look the same, or others may "
            "have changed what states it"
        ),
    ]
    why: Annotated[str | None, doc("why it matters, and what else does the same")]
    techniques: Annotated[
        tuple[str, ...], doc("what this is done for in attacks, and not in them alone", source="MITRE ATT&CK")
    ]
    attacks: Annotated[
        tuple[str, ...], doc("codes of attacks that look like it: `docs CODE` shows what is known of them")
    ]
    command: Annotated[str, doc("the command that shows more")]
    altered: Altered = UNSET
