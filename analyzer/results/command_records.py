"""Which records each command prints: what schemas, tables and the tables of docs/output.md are made from."""

from __future__ import annotations

from collections.abc import Mapping

from analyzer.results.calibration import (
    CalibrationSummaryRecord,
    DecisionRecord,
    DisplayedRecord,
    StoredBufferRecord,
)
from analyzer.results.call import CallRecord
from analyzer.results.capture_facts import (
    CaptureRecord,
    HostRecord,
    LimitRecord,
    LogonRecord,
    OmissionRecord,
    ProblemRecord,
    SessionRecord,
    StreamRecord,
    SummaryRecord,
)
from analyzer.results.difference import DifferenceRecord, DiffSummaryRecord, NotComparedRecord
from analyzer.results.field_tree import BufferRecord, PlaceRecord, ShowRecord
from analyzer.results.file import FileRecord
from analyzer.results.finding import AuditSummaryRecord, CoverageRecord, FindingRecord, MatrixRecord, RuleRecord
from analyzer.results.handle import HandleRecord
from analyzer.results.metadata import MetadataRecord
from analyzer.results.observation import AttackRecord, Observation
from analyzer.results.process import ProcessRecord
from analyzer.results.record_types import Record
from analyzer.results.sample import BucketRecord, CounterRecord, SampleRecord
from analyzer.results.statistics import (
    ActivityRecord,
    ErrorStatsRecord,
    IdentityStatsRecord,
    ImageRecord,
    MethodStatsRecord,
    PollStatsRecord,
)
from analyzer.results.triage import TriageFile, TriageProcess, TriageSummary

COMMANDS: Mapping[str, tuple[type[Record], ...]] = {
    "triage": (TriageFile, Observation, TriageProcess, TriageSummary),
    "timeline": (CaptureRecord, CallRecord, ProblemRecord, SummaryRecord, StreamRecord),
    "samples": (SampleRecord,),
    "counters": (CounterRecord, BucketRecord),
    "sessions": (SessionRecord, LogonRecord),
    "hosts": (HostRecord,),
    "handles": (HandleRecord, PollStatsRecord),
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
    "processes": (ProcessRecord,),
    "diff": (DifferenceRecord, NotComparedRecord, DiffSummaryRecord),
    "files": (FileRecord, OmissionRecord),
    "show": (ShowRecord, PlaceRecord),
    "decode": (BufferRecord, SampleRecord),
    "export-metadata": (MetadataRecord,),
    "calibrate": (StoredBufferRecord, DisplayedRecord, DecisionRecord, CalibrationSummaryRecord),
    "docs limits": (LimitRecord,),
    "audit": (FindingRecord, CoverageRecord, AuditSummaryRecord),
    "audit --matrix": (MatrixRecord,),
    "audit --list": (RuleRecord,),
    "docs CODE": (AttackRecord,),
}
