"""Records about a capture as a whole: its files, what could not be read, and counts. The bounds of the program are here too."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, UnsetType

from analyzer.core.events import ProblemKind
from analyzer.results.records.record_types import FrameFiles, Frames, Record, Value, doc

SCHEMA = 2


class TraceInterface(Value, frozen=True, kw_only=True):
    """What saw packets of an event trace log."""

    provider: Annotated[Literal["ndis", "pktmon", "ras"], doc("which provider says so")]
    number: Annotated[int, doc("interface index of Windows; of pktmon the id of a component; 0 for a VPN")]
    link_type: Annotated[int, doc("how its packets begin", source="LINKTYPE_ numbers of the pcap registry")]
    name: Annotated[str, doc("its name as microsoft/etl2pcapng makes it, or that of the component")]
    description: Annotated[str, doc("what else is said of it")]


class ProcessHint(Value, frozen=True, kw_only=True):
    """A process that ran when packets were written to the trace. Often it is not the one that sent them."""

    process: Annotated[int, doc("id of the process")]
    frames: Annotated[int, doc("how many frames were written while it ran")]


class EventTrace(Value, frozen=True, kw_only=True):
    """What an event trace log (`.etl`) says beside packets."""

    file: Annotated[str, doc("the file, as in `files`")]
    computer: Annotated[str | None, doc("name of the computer; null where the trace does not have it")]
    os_build: Annotated[int, doc("build of Windows", source="TRACE_LOGFILE_HEADER ProviderVersion")]
    processors: Annotated[int, doc("processors of the computer")]
    clock: Annotated[Literal["performance counter", "system time", "cpu cycles"], doc("what its time stamps count")]
    started_ns: Annotated[int, doc("when the trace was started", unit="ns since 1970 UTC")]
    ended_ns: Annotated[int | None, doc("when it was stopped; null where it was not", unit="ns since 1970 UTC")]
    events_lost: Annotated[int, doc("events that were lost while it was written")]
    buffers_lost: Annotated[int, doc("buffers that were lost while it was written")]
    appearances: Annotated[int, doc("frames left out: packets that pktmon saw before at another component")]
    dropped: Annotated[int, doc("frames that are packets that Windows dropped, as pktmon noted")]
    interfaces: Annotated[tuple[TraceInterface, ...], doc("what saw packets")]
    process_hints: Annotated[
        tuple[ProcessHint, ...],
        doc("processes that ran when packets were written, those with most frames first, 64 at most: a hint, no proof"),
    ]


class CaptureRecord(Record, frozen=True, kw_only=True, tag="capture"):
    """What was read: files as given, frames, captured bytes, first and last time."""

    schema: Annotated[int, doc("version of this form of output")]
    files: Annotated[tuple[str, ...], doc("the files, as given")]
    frames: Annotated[int, doc("how many frames were read")]
    bytes: Annotated[int, doc("how many bytes of them were captured", unit="bytes")]
    first_time_ns: Annotated[int | None, doc("time of the first frame", unit="ns since 1970 UTC")]
    last_time_ns: Annotated[int | None, doc("time of the last frame", unit="ns since 1970 UTC")]
    traces: Annotated[
        tuple[EventTrace, ...] | UnsetType,
        doc("what event trace logs among the files say; left out where there are none"),
    ] = UNSET
    redacted: Annotated[
        bool | UnsetType, doc("true where names and addresses are pseudonyms (`--redact`); else left out")
    ] = UNSET


class StreamRecord(Record, frozen=True, kw_only=True, tag="stream"):
    """What follows is printed while the capture is read; `capture` comes near the end then."""

    schema: Annotated[int, doc("version of this form of output")]
    files: Annotated[tuple[str, ...], doc("the files, as given")]
    first_time_ns: Annotated[int | None, doc("time of the first frame", unit="ns since 1970 UTC")]
    names_from: Annotated[Literal["now"], doc("what names are taken from: what was printed before")]


class ProblemRecord(Record, frozen=True, kw_only=True, tag="problem"):
    """Something that could not be read, or was read with a reservation."""

    kind: Annotated[
        ProblemKind,
        doc(
            "`gap` not captured, `sealed` no key, `truncated` cut short, `malformed` against its specification, `unsupported` not "
            "read by this program, `conflict` two versions of the same bytes, `limit` a bound of this program, `failed` it "
            "failed and read no further, `note` nothing lost"
        ),
    ]
    layer: Annotated[
        str, doc("the layer that noticed: `capture`, `packet`, `tcp`, `smb`, `rpc`, `pcq`, `winperf`, ...")
    ]
    frames: Frames
    frame_files: FrameFiles = UNSET
    text: Annotated[str, doc("one sentence")]


class SummaryRecord(Record, frozen=True, kw_only=True, tag="summary"):
    """Counts of the whole capture, whatever is shown of it."""

    calls: Annotated[int, doc("calls of all interfaces")]
    calls_by_state: Annotated[dict[str, int], doc("calls by their `state`")]
    calls_by_method: Annotated[dict[str, int], doc("calls by interface and method")]
    problems: Annotated[int, doc("problems of all kinds")]
    problems_by_kind: Annotated[dict[str, int], doc("problems by their `kind`")]
    sessions: Annotated[int, doc("SMB sessions")]
    calls_shown: Annotated[int, doc("calls that were printed")]
    selected_by: Annotated[str | None, doc("what these were selected by, in words; null where all are shown")]


class OmissionRecord(Record, frozen=True, kw_only=True, tag="omission"):
    """What was left out of the records because there was too much of it."""

    text: Annotated[str, doc("one sentence")]


class LimitRecord(Record, frozen=True, kw_only=True, tag="limit"):
    """A bound of this program."""

    name: Annotated[str, doc("its name")]
    default: Annotated[int, doc("how much, unless an option says otherwise")]
    unit: Annotated[str | None, doc("what is counted; null for a plain number")]
    what: Annotated[str, doc("what is bounded, in words")]
    reason: Annotated[str, doc("why")]
    option: Annotated[str | None, doc("the option that changes it; null where it is fixed")]
