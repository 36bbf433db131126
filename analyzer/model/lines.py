"""Which records each command prints: what schemas, tables and the tables of docs/output.md are made from."""

from __future__ import annotations

from collections.abc import Mapping

from analyzer.model.audit import AuditSummaryRecord, CoverageRecord, FindingRecord, MatrixRecord, RuleRecord
from analyzer.model.calibration import (
    CalibrationSummaryRecord,
    DecisionRecord,
    DisplayedRecord,
    StoredBufferRecord,
)
from analyzer.model.call import CallRecord
from analyzer.model.capture import (
    CaptureRecord,
    HostRecord,
    LimitRecord,
    OmissionRecord,
    ProblemRecord,
    SessionRecord,
    StreamRecord,
    SummaryRecord,
)
from analyzer.model.handle import HandleRecord
from analyzer.model.metadata import MetadataRecord
from analyzer.model.record import Record
from analyzer.model.sample import BucketRecord, CounterRecord, SampleRecord
from analyzer.model.statistics import (
    ActivityRecord,
    ErrorStatsRecord,
    IdentityStatsRecord,
    ImageRecord,
    MethodStatsRecord,
    PollStatsRecord,
)
from analyzer.model.tree import BufferRecord, PlaceRecord, ShowRecord
from analyzer.model.triage import TriageFile, TriageFinding, TriageProcess, TriageSummary

COMMANDS: Mapping[str, tuple[type[Record], ...]] = {
    "triage": (TriageFile, TriageFinding, TriageProcess, TriageSummary),
    "timeline": (CaptureRecord, CallRecord, ProblemRecord, SummaryRecord, StreamRecord),
    "samples": (SampleRecord,),
    "counters": (CounterRecord, BucketRecord),
    "sessions": (SessionRecord,),
    "hosts": (HostRecord,),
    "handles": (HandleRecord,),
    "stats": (
        MethodStatsRecord,
        PollStatsRecord,
        SessionRecord,
        IdentityStatsRecord,
        ErrorStatsRecord,
        ActivityRecord,
        ImageRecord,
        OmissionRecord,
    ),
    "show": (ShowRecord, PlaceRecord),
    "decode": (BufferRecord, SampleRecord),
    "export-metadata": (MetadataRecord,),
    "calibrate": (StoredBufferRecord, DisplayedRecord, DecisionRecord, CalibrationSummaryRecord),
    "limits": (LimitRecord,),
    "audit": (FindingRecord, CoverageRecord, AuditSummaryRecord),
    "audit --matrix": (MatrixRecord,),
    "audit --list": (RuleRecord,),
}
