"""Which records each command prints: what schemas, tables and the tables of docs/output.md are made from."""

from __future__ import annotations

from collections.abc import Mapping

from analyzer.results.calls.call import CallRecord
from analyzer.results.field_tree_records import BufferRecord, PlaceRecord, ShowRecord
from analyzer.results.records.calibration import (
    CalibrationSummaryRecord,
    DecisionRecord,
    DisplayedRecord,
    StoredBufferRecord,
)
from analyzer.results.records.capture_records import (
    CaptureRecord,
    LimitRecord,
    OmissionRecord,
    ProblemRecord,
    StreamRecord,
    SummaryRecord,
)
from analyzer.results.records.difference import DifferenceRecord, DiffSummaryRecord, NotComparedRecord
from analyzer.results.records.finding import AuditSummaryRecord, CoverageRecord, FindingRecord, MatrixRecord, RuleRecord
from analyzer.results.records.handle import HandleRecord
from analyzer.results.records.observation import AttackRecord, Observation
from analyzer.results.records.opened_file import FileRecord
from analyzer.results.records.process import ProcessRecord
from analyzer.results.records.record_types import Record
from analyzer.results.records.sample import BucketRecord, CounterRecord, SampleRecord
from analyzer.results.records.session_and_host import HostRecord, LogonRecord, SessionRecord
from analyzer.results.records.statistics import (
    ActivityRecord,
    ErrorStatsRecord,
    IdentityStatsRecord,
    ImageRecord,
    MethodStatsRecord,
    PollStatsRecord,
)
from analyzer.results.records.triage import TriageFile, TriageProcess, TriageSummary
from analyzer.results.reported_names.saved_metadata import MetadataRecord

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
