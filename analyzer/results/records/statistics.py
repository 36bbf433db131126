"""Records of `stats`: response times, polls and their rhythm, who called, errors, and who looked at what."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET

from analyzer.results.records.record_types import Altered, Endpoint, FrameFiles, Frames, Record, Value, doc
from analyzer.results.records.sample import Source
from analyzer.results.security import who_words

ActivityKind = Literal["list-countersets", "describe-counterset", "list-instances", "read-names", "poll"]
ErrorKind = Literal["return", "fault", "counter"]
Category = Literal["process", "network", "terminal-services"]


class Spread(Value, frozen=True):
    """How numbers are spread; all but the first two are null where there are none."""

    count: Annotated[int, doc("how many")]
    total: Annotated[int, doc("their sum")]
    min: Annotated[int | None, doc("the smallest")]
    median: Annotated[
        int | None, doc("the median; of an even number of values the mean of the middle two, rounded down")
    ]
    p95: Annotated[int | None, doc("the smallest value that at least 95 % do not exceed")]
    max: Annotated[int | None, doc("the largest")]


class Who(Value, frozen=True):
    """An account at a client, and the server it asked."""

    user: Annotated[str | None, doc("account; null where nothing shows it")]
    client_ip: Annotated[str, doc("address of the client")]
    server_ip: Annotated[str, doc("address of the server")]
    claimed_user: Annotated[str | None, doc("the account that it claimed to be, where the server granted another")] = (
        None
    )
    later_user: Annotated[
        str | None,
        doc(
            "account that logged on to the SMB session later than the pipe was opened, as which the server may have served it",
            source="[MS-SMB2] section 3.3.5.5.2",
        ),
    ] = None

    @property
    def name(self) -> str:
        """The account of a caller in the records of `stats`, in words."""
        return who_words(self.user, self.claimed_user, self.later_user)


class MethodStatsRecord(Record, frozen=True, kw_only=True, tag="method-stats"):
    """One method: its calls and what became of them."""

    interface: Annotated[str, doc("name of the interface, else its UUID")]
    method: Annotated[str, doc("name of the method, else its number")]
    opnum: Annotated[int | None, doc("number of the method")]
    calls: Annotated[int, doc("all calls")]
    failed: Annotated[int, doc("answered with a fault, or a return value that is an error")]
    retried: Annotated[int, doc("of these, those whose only error was a buffer that was too small")]
    unanswered: Annotated[int, doc("without an answer in the capture")]
    unread: Annotated[int, doc("sealed, cut, malformed, or with a damaged buffer")]
    latency_ns: Annotated[Spread, doc("first frame of the response minus last frame of the request", unit="ns")]
    request_bytes: Annotated[Spread, doc("stubs of requests on the wire that are there in whole", unit="bytes")]
    response_bytes: Annotated[Spread, doc("stubs of responses on the wire that are there in whole", unit="bytes")]
    slowest: Annotated[int | None, doc("number of the call that took longest")]
    frames: Frames
    frame_files: FrameFiles = UNSET
    altered: Altered = UNSET


class PollStatsRecord(Record, frozen=True, kw_only=True, tag="poll-stats"):
    """Who polled what, and how regularly. The tries of one registry read are one poll."""

    handle: Annotated[str, doc("the handle: `q1` of PerflibV2, `k1` of the registry")]
    what: Annotated[str | None, doc("the value that is read; null for a query handle")]
    server: Annotated[Endpoint, doc("who answered")]
    client: Annotated[Endpoint, doc("who polled")]
    polls: Annotated[int, doc("polls that were answered with data")]
    failed: Annotated[int, doc("polls that were not")]
    first_call: Annotated[int, doc("number of the first call")]
    last_call: Annotated[int, doc("number of the last call")]
    first_time_ns: Annotated[int, doc("time of the first call", unit="ns since 1970 UTC")]
    last_time_ns: Annotated[int, doc("time of the last call", unit="ns since 1970 UTC")]
    intervals_ns: Annotated[
        Spread,
        doc(
            "between the requests of answered polls, where no other poll was between them that was not answered, and nothing of "
            "the same machines that may have been one: lost bytes, a call that could not be read or that others may have changed",
            unit="ns",
        ),
    ]
    jitter_ns: Annotated[int | None, doc("mean distance of the intervals from their median", unit="ns")]
    frames: Frames
    frame_files: FrameFiles = UNSET
    altered: Altered = UNSET


class IdentityStatsRecord(Record, frozen=True, kw_only=True, tag="identity-stats"):
    """One account at one client of one server."""

    user: Annotated[str | None, doc("account; null where nothing shows it, `guest` for a guest")]
    claimed_user: Annotated[str | None, doc("the account that it claimed to be, where the server granted another")]
    later_user: Annotated[
        str | None,
        doc(
            "account that logged on to the SMB session later than the pipe was opened, as which the server may have served it",
            source="[MS-SMB2] section 3.3.5.5.2",
        ),
    ]
    workstation: Annotated[str | None, doc("the client's name for itself")]
    client_ip: Annotated[str, doc("address of the client")]
    server_ip: Annotated[str, doc("address of the server")]
    security: Annotated[tuple[str, ...], doc("mechanism and level of the calls, `spnego-ntlm/privacy`")]
    sessions: Annotated[tuple[str, ...], doc("ids of the SMB sessions, in hexadecimal")]
    logons: Annotated[tuple[str, ...], doc("logons that state the account, as `logon` of `logons` names them")]
    calls: Annotated[int, doc("all calls")]
    failed: Annotated[int, doc("answered with a fault, or a return value that is an error")]
    unread: Annotated[int, doc("sealed, cut, malformed, or with a damaged buffer")]
    polls: Annotated[int, doc("answered with performance data")]
    first_call: Annotated[int, doc("number of the first call")]
    last_call: Annotated[int, doc("number of the last call")]
    first_time_ns: Annotated[int, doc("time of the first call", unit="ns since 1970 UTC")]
    last_time_ns: Annotated[int, doc("time of the last call", unit="ns since 1970 UTC")]
    frames: Frames
    frame_files: FrameFiles = UNSET
    altered: Altered = UNSET


class ErrorStatsRecord(Record, frozen=True, kw_only=True, tag="error-stats"):
    """One error of one method."""

    kind: Annotated[
        ErrorKind,
        doc("a return value, a DCERPC fault, or the status of a counter that ValidateCounters refused"),
    ]
    code: Annotated[int, doc("the number")]
    name: Annotated[str | None, doc("its name")]
    interface: Annotated[str, doc("name of the interface, else its UUID")]
    method: Annotated[str, doc("name of the method, else its number")]
    count: Annotated[int, doc("how often in calls of this method")]
    total: Annotated[int, doc("how often in calls of all methods: the sum of `count` over the records of this error")]
    call_numbers: Annotated[tuple[int, ...], doc("numbers of the first 256 of these calls; `frames` are theirs")]
    frames: Frames
    frame_files: FrameFiles = UNSET
    altered: Altered = UNSET


class ActivityRecord(Record, frozen=True, kw_only=True, tag="activity"):
    """What one account did to one target, over the whole capture."""

    kind: Annotated[ActivityKind, doc("what was done")]
    who: Annotated[Who, doc("who did it")]
    category: Annotated[
        Category | None, doc("what the target describes: processes of the server, its network, its logged-on sessions")
    ]
    target: Annotated[str | int | None, doc("GUID of a counterset or title index of an object")]
    name: Annotated[str | None, doc("its name")]
    detail: Annotated[str | None, doc("more, in words")]
    count: Annotated[int, doc("how many calls")]
    call_numbers: Annotated[tuple[int, ...], doc("numbers of the first 256 of these calls; `frames` are theirs")]
    failed: Annotated[int, doc("how many of all the server refused, or have no answer in the capture")]
    with_data: Annotated[int, doc("how many answers held something of what was asked for")]
    without_data: Annotated[
        dict[str, int],
        doc(
            "the other calls by what became of them: the error, `too small a buffer`, `no answer` in the capture, `empty answer`, "
            "`damaged answer`, or the state of a call that could not be read"
        ),
    ]
    first_time_ns: Annotated[int, doc("time of the first call", unit="ns since 1970 UTC")]
    last_time_ns: Annotated[int, doc("time of the last call", unit="ns since 1970 UTC")]
    frames: Frames
    frame_files: FrameFiles = UNSET
    altered: Altered = UNSET


class ImageRecord(Record, frozen=True, kw_only=True, tag="image"):
    """A process that was to be seen in answers about Process."""

    server_ip: Annotated[str, doc("address of the server")]
    source: Annotated[Source, doc("the interface that it was read through")]
    target: Annotated[str | int, doc("GUID of the counterset or title index of the object")]
    name: Annotated[str, doc("image name, as the instance has it")]
    pid: Annotated[int | None, doc("process id, where a counter says it")]
    instance_id: Annotated[int | None, doc("number of the instance in PerflibV2")]
    seen_by: Annotated[tuple[Who, ...], doc("who received the answers")]
    calls: Annotated[int, doc("in how many answers it was")]
    first_call: Annotated[int, doc("number of the first call")]
    last_call: Annotated[int, doc("number of the last call")]
    first_time_ns: Annotated[int, doc("time of the first call", unit="ns since 1970 UTC")]
    last_time_ns: Annotated[int, doc("time of the last call", unit="ns since 1970 UTC")]
    frames: Frames
    frame_files: FrameFiles = UNSET
    altered: Altered = UNSET
