"""Records of `audit`: findings, coverage of requirements, and rules."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET

from analyzer.results.calls.call import SideName
from analyzer.results.records.record_types import Endpoint, Extent, FrameFiles, Frames, Record, Value, doc

CoverageVerdict = Literal["pass", "fail", "warn", "not-exercised", "inconclusive", "untestable"]
Actor = Literal["client", "server", "either", "both"]
Severity = Literal["error", "warning", "info"]
Confidence = Literal["high", "medium", "low"]
Level = Literal["transport", "rpc", "stubs", "buffers", "values", "sequences", "winperf"]


class DeviationFacts(Value, frozen=True):
    """A known deviation from the specification."""

    authority: Annotated[str, doc("who is known for it")]
    text: Annotated[str, doc("what is known, in a sentence")]


class FindingRecord(Record, frozen=True, kw_only=True, tag="finding"):
    """Something a rule saw that should not be."""

    rule: Annotated[str, doc("code of the rule, `PCQ210`")]
    name: Annotated[str, doc("its name, `request-code-out-of-range`")]
    level: Annotated[Level, doc("what it reads")]
    requirement: Annotated[tuple[str, ...], doc("id of the requirement, and of others that demand the same")]
    severity: Annotated[Severity, doc("how bad it is")]
    verdict: Annotated[Literal["fail", "warn"], doc("whether the requirement is broken, or bent")]
    confidence: Annotated[Confidence, doc("how sure it is")]
    call: Annotated[int | None, doc("number of the call; null for what is of no single call")]
    method: Annotated[str | None, doc("its method")]
    actor: Annotated[Actor, doc("the side that committed it")]
    client: Annotated[Endpoint | None, doc("who called")]
    server: Annotated[Endpoint | None, doc("who was called")]
    frames: Frames
    frame_files: FrameFiles = UNSET
    side: Annotated[SideName | None, doc("where in the call")]
    field: Annotated[str | None, doc("path of the field, by the names `show` prints")]
    show: Annotated[str | None, doc("the place as `show --field` takes it; null where no bytes show it")]
    part: Annotated[str | None, doc("what `bytes` counts in: `response stub`, `request PDU 1`")]
    bytes: Annotated[tuple[int, int] | None, doc("start and stop of the range", unit="bytes")]
    extents: Annotated[tuple[Extent, ...], doc("where these bytes were captured, before unsealing")]
    message: Annotated[str, doc("what was seen, in a sentence")]
    expected: Annotated[str | None, doc("what the specification wants, in words")]
    seen: Annotated[str | None, doc("what there is instead, in words")]
    deviation: Annotated[DeviationFacts | None, doc("who is known for it; null for nobody")]
    excused: Annotated[bool, doc("whether the profile lets it pass")]
    follow: Annotated[int, doc("how many findings follow from this one and are not reported")]


class RequirementKeys(Record, frozen=True, kw_only=True):
    """What is stated of a requirement."""

    requirement: Annotated[str, doc("id of the requirement")]
    section: Annotated[str, doc("section that demands it")]
    level: Annotated[
        Literal["MUST", "SHOULD", "MAY", "IMPLIED"], doc("the word of the specification; `IMPLIED` where it has none")
    ]
    actor: Annotated[Actor, doc("whom it binds")]
    statement: Annotated[str, doc("what it demands")]
    observable: Annotated[Literal["wire", "partially", "no"], doc("whether a capture can show it")]
    trigger: Annotated[
        str | None, doc("what has to happen before it can be kept or broken; null where no traffic can show it")
    ]
    caused_by: Annotated[Literal["client", "server"] | None, doc("the side that can bring the trigger about")]
    provoked: Annotated[bool, doc("whether no conforming conversation that provokes nothing has the trigger")]


class CoverageRecord(RequirementKeys, frozen=True, kw_only=True, tag="coverage"):
    """What the capture says of one requirement."""

    verdict: Annotated[CoverageVerdict, doc("the worst that was seen; `untestable`: no capture can show it")]
    occurrences: Annotated[int, doc("how often it was judged; what was inconclusive is not among them")]
    passed: Annotated[int, doc("how often it was kept")]
    warned: Annotated[int, doc("how often it was bent")]
    failed: Annotated[int, doc("how often it was broken")]
    inconclusive: Annotated[int, doc("how often it could not be judged")]
    excused: Annotated[int, doc("how often the profile let a breach pass")]
    accepted: Annotated[int, doc("how often the baseline accepted one")]
    reasons: Annotated[dict[str, int], doc("why it could not be judged, with counts")]
    rules: Annotated[tuple[str, ...], doc("codes of the rules that judge it")]


class AuditSummaryRecord(Record, frozen=True, kw_only=True, tag="audit-summary"):
    """Counts of an audit."""

    profile: Annotated[str, doc("whose known deviations are let pass")]
    actor: Annotated[Actor, doc("whose findings were asked for")]
    findings: Annotated[int, doc("all findings")]
    findings_by_severity: Annotated[dict[str, int], doc("findings by their `severity`")]
    accepted: Annotated[int, doc("findings that the baseline accepts")]
    unmatched: Annotated[tuple[str, ...], doc("entries of the baseline that no finding matched, in words")]
    requirements: Annotated[dict[str, int], doc("requirements by their verdict")]
    judged: Annotated[float, doc("share of the requirements with a trigger in the capture that were judged")]
    undecrypted: Annotated[str | None, doc("that nothing of the capture could be decrypted, in a sentence")]


class MatrixRecord(RequirementKeys, frozen=True, kw_only=True, tag="matrix"):
    """One requirement over several captures."""

    verdicts: Annotated[dict[str, str], doc("verdict by file")]
    exercised: Annotated[bool, doc("whether any capture passed or failed it")]


class RuleRecord(Record, frozen=True, kw_only=True, tag="rule"):
    """One rule of the audit."""

    rule: Annotated[str, doc("code, `PCQ210`")]
    name: Annotated[str, doc("name, `request-code-out-of-range`")]
    level: Annotated[Level, doc("what it reads")]
    severity: Annotated[Severity, doc("how bad what it finds is")]
    since: Annotated[str, doc("the release that brought it")]
    title: Annotated[str, doc("first line of its page")]
    requirements: Annotated[tuple[str, ...], doc("ids of the requirements it judges")]
    page: Annotated[str, doc("its page, in Markdown")]
