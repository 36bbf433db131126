"""Records of `calibrate`: buffers that a Windows stored, displayed values beside PDH's, and what the buffers decide."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from analyzer.results.records.record_types import Record, doc

CalibrationVerdict = Literal["agrees", "differs", "not compared"]


class StoredBufferRecord(Record, frozen=True, kw_only=True, tag="stored-buffer"):
    """One call of a performance function, and the buffer it filled."""

    call: Annotated[str, doc("name of the function")]
    arguments: Annotated[dict[str, Any], doc("what it was called with, by name")]
    status: Annotated[int, doc("return value")]
    file: Annotated[str | None, doc("file of the buffer; null where the call filled none")]
    kind: Annotated[str, doc("how the buffer is laid out")]
    size: Annotated[int, doc("length of the buffer", unit="bytes")]
    problem: Annotated[str | None, doc("its damage, in a sentence")]


class DisplayedRecord(Record, frozen=True, kw_only=True, tag="displayed"):
    """A displayed value beside that of PDH."""

    path: Annotated[str, doc("counter path")]
    instance: Annotated[str, doc("name of the instance; empty for none")]
    value: Annotated[float | None, doc("value computed by this program; null where there is none")]
    pdh: Annotated[float | None, doc("value of PDH; null where it has none")]
    why_null: Annotated[str | None, doc("why `value` is null")]
    verdict: Annotated[CalibrationVerdict, doc("whether the two agree within 5 %")]


class DecisionRecord(Record, frozen=True, kw_only=True, tag="decision"):
    """What a buffer decides where documents contradict each other."""

    id: Annotated[str, doc("the point, as the notes of the requirements name it")]
    reading: Annotated[str, doc("the reading that the buffer follows")]
    file: Annotated[str, doc("file of the buffer")]


class CalibrationSummaryRecord(Record, frozen=True, kw_only=True, tag="calibration-summary"):
    """Counts of a calibration."""

    buffers: Annotated[int, doc("stored buffers")]
    damaged: Annotated[int, doc("of these, damaged ones")]
    compared: Annotated[int, doc("displayed values that were compared")]
    differ: Annotated[int, doc("of these, values that differ")]
    failures: Annotated[tuple[dict[str, Any], ...], doc("calls that failed on the Windows: `call` and `why`")]
    decided: Annotated[dict[str, tuple[str, ...]], doc("the readings that buffers follow, by point")]
