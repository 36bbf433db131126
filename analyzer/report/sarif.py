"""Findings as SARIF 2.1.0 (OASIS), for the viewers and code-scanning services that read it.

SARIF knows files and byte offsets; what we have are frames and bytes of a stub that was joined and unsealed from them. So a
result's physical location is the capture file, its logical location the call, side and field, and the frames and ranges are
properties. What a profile excuses is a suppressed result.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import Any
from urllib.parse import quote

from analyzer.audit.catalogue import catalogue
from analyzer.audit.findings import Finding
from analyzer.audit.records import finding_record
from analyzer.audit.rule import RulePage
from analyzer.audit.verdicts import Outcome, Severity
from analyzer.core.frames import file_of
from analyzer.model.analysis import CaptureFacts
from analyzer.report.audit import AuditView

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def sarif_log(view: AuditView, pages: tuple[RulePage, ...]) -> dict[str, Any]:
    """The log of one audit: one run, with the rules that were asked and a result for each finding."""
    facts = view.analysis.capture
    index = {page.rule.code: number for number, page in enumerate(pages)}
    results = [_result(finding, index[finding.rule.code], facts) for finding in view.findings()]
    return {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "pcq-analyzer",
                        "version": version("pcq-analyzer"),
                        "semanticVersion": version("pcq-analyzer"),
                        "rules": [_descriptor(page) for page in pages],
                    }
                },
                "invocations": [{"executionSuccessful": True}],
                "artifacts": [{"location": {"uri": quote(name)}} for name in facts.files],
                "results": results,
                "columnKind": "unicodeCodePoints",
                "properties": {
                    "profile": view.audit.profile.value,
                    "coverage": {name: coverage.verdict for name, coverage in view.audit.coverage.items()},
                },
            }
        ],
    }


def _descriptor(page: RulePage) -> dict[str, Any]:
    rule = page.rule
    sections = sorted({catalogue()[name].section for name in rule.requirements})
    return {
        "id": rule.code,
        "name": "".join(word.capitalize() for word in rule.name.split("-")),
        "shortDescription": {"text": page.title},
        "fullDescription": {"text": " ".join(page.page.split())},
        "help": {"text": page.page},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": {"tags": [rule.level.value], "requirements": list(rule.requirements), "sections": sections},
    }


def _result(finding: Finding, index: int, facts: CaptureFacts) -> dict[str, Any]:
    record = finding_record(finding, facts)
    said = [f"{name} {record[name]}" for name in ("expected", "seen") if record[name] is not None]
    words = record["message"][:1].upper() + record["message"][1:] + ("" if not said else f" ({', '.join(said)})") + "."
    place = ".".join(part for part in (record["side"], record["field"]) if part)
    name = "/".join(part for part in (f"call {record['call']}" if record["call"] else "capture", place) if part)
    file = file_of(finding.frames[0]) if finding.frames else 0
    out: dict[str, Any] = {
        "ruleId": finding.rule.code,
        "ruleIndex": index,
        "kind": "fail",
        "level": _LEVELS[finding.severity],
        "message": {"text": words},
        "locations": [
            {
                "physicalLocation": {"artifactLocation": {"uri": quote(facts.files[file]), "index": file}},
                "logicalLocations": [
                    {"name": name, "fullyQualifiedName": f"{record['method'] or ''}/{name}", "kind": "member"}
                ],
            }
        ],
        "partialFingerprints": {"ruleRequirementField/v1": f"{finding.rule.code}:{record['requirement'][0]}:{name}"},
        "properties": {
            key: record[key]
            for key in ("requirement", "call", "frames", "part", "bytes", "extents", "expected", "seen", "confidence")
            if record[key] is not None
        },
    }
    if finding.is_excused and finding.judgement.deviation is not None:
        known = finding.judgement.deviation
        out["suppressions"] = [{"kind": "external", "justification": f"{known.text} ({known.authority})"}]
    if finding.judgement.outcome is Outcome.WARNED:
        out["properties"]["verdict"] = "warn"
    return out
