"""Records of `processes`: each process of a machine that was to be seen in any answer."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET

from analyzer.results.records.record_types import Altered, FrameFiles, Frames, Record, Value, doc
from analyzer.results.records.sample import Source
from analyzer.results.records.statistics import Who

ProcessMarkKind = Literal["resembles", "random", "parent"]


class ProcessMark(Value, frozen=True):
    """What is odd about a process. It says nothing of what the process does."""

    kind: Annotated[
        ProcessMarkKind,
        doc(
            "the name `resembles` one of a program of Windows and is none, or is of `random` letters, as tools make them up; the "
            "`parent` is not the one that Windows starts this program from"
        ),
    ]
    reason: Annotated[str, doc("why, in words")]


class Course(Value, frozen=True):
    """How a displayed value went over the answers."""

    count: Annotated[int, doc("how many values")]
    first: Annotated[float, doc("the first")]
    last: Annotated[float, doc("the last")]
    min: Annotated[float, doc("the smallest")]
    mean: Annotated[float, doc("their mean")]
    max: Annotated[float, doc("the largest")]


class ProcessRecord(Record, frozen=True, kw_only=True, tag="process"):
    """A process of a machine. Those of one name whose process ids no counter states are one."""

    server_ip: Annotated[str, doc("address of the machine")]
    server_name: Annotated[str | None, doc("a name that the traffic gives it")]
    name: Annotated[str, doc("image name, as the instance has it")]
    pid: Annotated[int | None, doc("process id, where a counter says it (ID Process)")]
    parent_pid: Annotated[int | None, doc("process id of the process that created it (Creating Process ID)")]
    parent_name: Annotated[
        str | None,
        doc("name of that process, where it was seen and is not younger; its id may have been another's before"),
    ]
    started_ns: Annotated[
        int | None,
        doc(
            "when it started, by the clock of the capture: the first answer with its Elapsed Time, less that",
            unit="ns since 1970 UTC",
        ),
    ]
    started_after_ns: Annotated[
        int | None,
        doc(
            "the last answer before `first_time_ns` that listed the processes without it; null where none did",
            unit="ns since 1970 UTC",
        ),
    ]
    ended_before_ns: Annotated[
        int | None,
        doc(
            "the first answer after `last_time_ns` that listed the processes without it; null where none did",
            unit="ns since 1970 UTC",
        ),
    ]
    first_time_ns: Annotated[int, doc("first sighting", unit="ns since 1970 UTC")]
    last_time_ns: Annotated[int, doc("last sighting", unit="ns since 1970 UTC")]
    answers: Annotated[int, doc("in how many answers it was")]
    cpu: Annotated[
        Course | None, doc("% Processor Time as displayed; 100 is one processor. Null where no two answers show it")
    ]
    memory: Annotated[Course | None, doc("Working Set", unit="bytes")]
    oddities: Annotated[tuple[ProcessMark, ...], doc("what is odd about it")]
    sources: Annotated[tuple[Source, ...], doc("the interfaces that it was seen through")]
    seen_by: Annotated[tuple[Who, ...], doc("who received the answers")]
    first_call: Annotated[int, doc("number of the first call")]
    last_call: Annotated[int, doc("number of the last call")]
    frames: Frames
    frame_files: FrameFiles = UNSET
    altered: Altered = UNSET
