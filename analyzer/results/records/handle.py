"""Records of query handles: their lifetime, call by call, and what they held."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET

from analyzer.results.calls.call import CallState
from analyzer.results.records.record_types import Endpoint, FrameFiles, Frames, IsAltered, Record, Value, doc
from analyzer.results.records.sample import IdSource

EventKind = Literal["open", "add", "remove", "info", "poll", "close"]
# An anomaly of one use of a handle: it was closed before; it was used over another channel (another open of the pipe,
# another connection) than the one it was opened on, of the same association group or of one that is not known; over one of
# another association group.
Violation = Literal["after-close", "other-channel", "other-association"]
# `never opened`: the whole lifetime of the channel is in the capture, and no OpenQueryHandle on it gave this handle out.
Origin = Literal["opened", "not captured", "never opened"]
End = Literal["closed", "never closed", "unknown"]


class CounterFacts(Value, frozen=True, kw_only=True):
    """A counter that a handle holds, as a _PERF_COUNTER_IDENTIFIER asks for it ([MS-PCQ] section 2.2.4.6)."""

    counterset: Annotated[str, doc("GUID of the counterset")]
    counterset_name: Annotated[str | None, doc("its name")]
    counter_id: Annotated[int | None, doc("id of the counter; null for all counters")]
    counter_name: Annotated[str | None, doc("its name")]
    instance: Annotated[str | None, doc("name of the instance, perhaps with wildcards")]
    instance_id: Annotated[int | None, doc("number of the instance; null for any")]


class EventCounter(CounterFacts, frozen=True, kw_only=True):
    """A counter as one call names it."""

    status: Annotated[int | None, doc("Status of the identifier in the answer; null where there is no answer")]
    status_name: Annotated[str | None, doc("its name", source="[MS-ERREF] section 2.2")]
    index: Annotated[int | None, doc("Index of the identifier in an answer of QueryCounterInfo")]


class HandleEvent(Value, frozen=True, kw_only=True):
    """One call on a handle."""

    kind: Annotated[EventKind, doc("what the call does to the handle")]
    call: Annotated[int, doc("number of the call")]
    time_ns: Annotated[int, doc("first frame of the request", unit="ns since 1970 UTC")]
    frames: Frames
    frame_files: FrameFiles = UNSET
    client: Annotated[Endpoint, doc("who called")]
    channel: Annotated[int, doc("number of the open of the pipe, or of the connection")]
    state: Annotated[CallState, doc("state of the call")]
    status: Annotated[int | None, doc("return value")]
    status_name: Annotated[str | None, doc("its name", source="[MS-ERREF] section 2.2")]
    fault: Annotated[int | None, doc("status of a DCERPC fault")]
    fault_name: Annotated[str | None, doc("its name")]
    violations: Annotated[
        tuple[Violation, ...],
        doc(
            "`after-close`; `other-association`: outside the association group that it was given out in; `other-channel`: on "
            "another channel, and the capture does not say of which groups the two are"
        ),
    ]
    holding: Annotated[int | None, doc("of a poll, the position in `holdings` of what the handle held then")]
    counters: Annotated[tuple[EventCounter, ...] | None, doc("counters that an add, a remove or an info names")]
    blocks: Annotated[int | None, doc("blocks in the answer of a poll", source="[MS-PCQ] section 2.2.4.7")]
    altered: IsAltered = UNSET


class Holding(Value, frozen=True):
    """What a handle held at a poll."""

    held: Annotated[
        tuple[int, ...] | None,
        doc("positions in `counters`, in the order of their blocks, else of their adding; null where not known"),
    ]
    blocks: Annotated[
        tuple[int | None, ...] | None,
        doc("for each block of a data answer the position in `counters`; null where not known"),
    ]
    id_source: Annotated[IdSource | None, doc("what shows which block is of which counter")]
    reason: Annotated[str | None, doc("why that is not known")]


class HandleRecord(Record, frozen=True, kw_only=True, tag="handle"):
    """One query handle from its opening to its end. A UUID that is given out again is another handle."""

    handle: Annotated[str, doc("`q1`, `q2`, ... in the order of first uses; `handle` of a call")]
    uuid: Annotated[str, doc("UUID of the context handle")]
    server: Annotated[Endpoint, doc("who gave it out")]
    clients: Annotated[tuple[Endpoint, ...], doc("who used it, in the order of first uses")]
    channels: Annotated[tuple[int, ...], doc("over which opens of the pipe or connections, in the order of first uses")]
    origin: Annotated[
        Origin,
        doc("`opened`; `not captured`; `never opened`: nothing of its channel is missing, and no call gave it out"),
    ]
    opened: Annotated[int | None, doc("number of the call that opened it")]
    end: Annotated[End, doc("`closed`; `never closed` in the capture; `unknown`")]
    closed: Annotated[int | None, doc("number of the call that closed it")]
    reason: Annotated[str | None, doc("a sentence for an origin or end that is not plain")]
    first_time_ns: Annotated[int, doc("first call", unit="ns since 1970 UTC")]
    last_time_ns: Annotated[int, doc("last call", unit="ns since 1970 UTC")]
    polls: Annotated[int, doc("polls that were answered with success")]
    counters: Annotated[tuple[CounterFacts, ...], doc("every counter that it held at a poll, once")]
    holdings: Annotated[tuple[Holding, ...], doc("what it held at a poll, each different list once")]
    events: Annotated[tuple[HandleEvent, ...], doc("every call on it, in order")]
    altered: IsAltered = UNSET
