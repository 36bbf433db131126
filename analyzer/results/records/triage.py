"""Records of `triage`: what a responder needs first of each file and of all of them."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, UnsetType

from analyzer.results.records.process import ProcessMark
from analyzer.results.records.record_types import Altered, Frames, Record, Value, doc
from analyzer.results.records.statistics import Who

Outcome = Literal["performance traffic", "nothing", "unclear", "unreadable"]


class TriageHost(Value, frozen=True):
    """A server of performance calls."""

    ip: Annotated[str, doc("its address")]
    name: Annotated[str | None, doc("a name that the traffic gives it")]


class TriageFile(Record, frozen=True, kw_only=True, tag="triage-file"):
    """One file: whether there is performance traffic in it, when, of whom, and what stayed encrypted."""

    file: Annotated[str, doc("the file, as given")]
    outcome: Annotated[
        Outcome,
        doc(
            "`performance traffic`; `nothing`: none is in it; `unclear`: what could not be read may be some; `unreadable`: no "
            "capture that is read"
        ),
    ]
    text: Annotated[str, doc("the same in one sentence")]
    frames: Annotated[int | None, doc("how many frames were read")]
    first_time_ns: Annotated[int | None, doc("time of the first frame", unit="ns since 1970 UTC")]
    last_time_ns: Annotated[int | None, doc("time of the last frame", unit="ns since 1970 UTC")]
    calls: Annotated[int, doc("DCERPC calls of all interfaces")]
    performance_calls: Annotated[int, doc("of these, calls about performance counters")]
    possible_calls: Annotated[
        int,
        doc("calls of the registry that could not be read, and may be about performance counters or something else"),
    ]
    encrypted_calls: Annotated[int, doc("of both, those that no key decrypted")]
    first_performance_ns: Annotated[int | None, doc("time of the first of both", unit="ns since 1970 UTC")]
    last_performance_ns: Annotated[int | None, doc("time of the last of both", unit="ns since 1970 UTC")]
    who: Annotated[tuple[Who, ...], doc("who made these calls, at which server")]
    servers: Annotated[tuple[TriageHost, ...], doc("the servers of these")]
    processes: Annotated[int, doc("processes that were to be seen")]
    decrypted_with: Annotated[tuple[str, ...], doc("what would decrypt the rest, in words")]
    findings: Annotated[dict[str, int], doc("findings by severity")]
    redacted: Annotated[
        bool | UnsetType, doc("true where names and addresses are pseudonyms (`--redact`); else left out")
    ] = UNSET


class TriageProcess(Record, frozen=True, kw_only=True, tag="triage-process"):
    """A process that was to be seen on a server."""

    file: Annotated[str, doc("the file, as given")]
    server_ip: Annotated[str, doc("address of the server")]
    server_name: Annotated[str | None, doc("a name that the traffic gives it")]
    name: Annotated[str, doc("image name")]
    pid: Annotated[int | None, doc("process id, where a counter shows it")]
    parent_pid: Annotated[int | None, doc("process id of the process that created it (Creating Process ID)")]
    parent_name: Annotated[str | None, doc("name of that process, where it was seen and is not younger")]
    answers: Annotated[int, doc("in how many answers it was")]
    first_time_ns: Annotated[int, doc("first sighting", unit="ns since 1970 UTC")]
    last_time_ns: Annotated[int, doc("last sighting", unit="ns since 1970 UTC")]
    oddities: Annotated[tuple[ProcessMark, ...], doc("what is odd about it")]
    seen_by: Annotated[tuple[Who, ...], doc("who received the answers")]
    frames: Frames
    altered: Altered = UNSET


class TriageSummary(Record, frozen=True, kw_only=True, tag="triage-summary"):
    """All files together."""

    files: Annotated[int, doc("files that were named")]
    with_performance_traffic: Annotated[int, doc("files with performance traffic")]
    unclear: Annotated[int, doc("files in which something that could not be read may be performance traffic")]
    unreadable: Annotated[int, doc("files that could not be read")]
    findings: Annotated[dict[str, int], doc("findings by severity")]
    process_lists: Annotated[tuple[Who, ...], doc("who read process lists of which server, over all files")]
