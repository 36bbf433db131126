"""Writes audit findings as SARIF 2.1.0 (OASIS), for viewers and code-scanning services.

SARIF knows files and byte offsets; we have frames, and bytes of a stub that was joined and decrypted from them. The region of a
finding is its bytes as they were captured, sealed or not. If their offset is unknown, as in a compressed file, it is the whole
file. Frames and ranges are properties. A finding that a profile excuses is a suppressed result. The fingerprint of a result is its
rule, requirement, method and field, and its place among those alike, whatever the number of its call.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from importlib.metadata import metadata, version
from pathlib import Path
from typing import Any
from urllib.parse import quote

from msgspec import to_builtins

from analyzer.core.frame_ids import file_of, frame_id, number_of
from analyzer.core.output.standard_json import document
from analyzer.core.printable_text import path_of_text
from analyzer.questions.audit.findings_and_coverage import Finding, finding_record
from analyzer.questions.audit.rule_registry import Rule, catalogue
from analyzer.questions.audit.rule_verdicts import Severity
from analyzer.results.analysis import CaptureFacts, EvidenceRecord, FileDigest
from analyzer.screens.views.audit import AuditView

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
# The documents that rules judge by, by the prefix of their requirements.
_SPECIFICATIONS = {
    "PCQ": "https://learn.microsoft.com/en-us/openspecs/windows_protocols/ms-pcq/",
    "WP": "https://learn.microsoft.com/en-us/windows/win32/api/winperf/ns-winperf-perf_data_block",
    "PL": "https://learn.microsoft.com/en-us/windows/win32/api/perflib/nf-perflib-perfquerycounterdata",
}
_ROOT = "SRCROOT"
_MIME = {".pcap": "application/vnd.tcpdump.pcap", ".cap": "application/vnd.tcpdump.pcap"}
_POSITION = re.compile(r"\[[^\]]*\]")
# Names of captures that can be read only once: standard input and open files.
_STREAMS = ("-", "<stream>")
# So many further places of one finding are listed.
_MOST_RELATED = 10

# Finds where frames (by number) stand in a file: their offsets, as far as they are known.
Locate = Callable[[Path, Collection[int]], Mapping[int, int]]


def sarif_log(
    view: AuditView,
    rules: tuple[Rule, ...],
    locate: Locate,
    lost: list[str],
    evidence: EvidenceRecord | None = None,
) -> dict[str, Any]:
    """Returns the SARIF log of one audit: one run, with the rules that were asked and a result for each finding.

    `locate` raises `OSError` for a file that cannot be read any more. Its findings then have no regions. The log says so, and a
    sentence about it is added to `lost`.
    """
    stated = {} if evidence is None else {"evidence": document(evidence)}
    facts = view.analysis.capture
    digests = {digest.name: digest for digest in facts.digests}
    index = {rule.code: number for number, rule in enumerate(rules)}
    sizes = [_size(path_of_text(name)) for name in facts.files]
    results = _results(view, index, sizes, locate, lost)
    sentence = view.undecrypted
    said = (*([sentence] if sentence is not None else ()), *lost)
    notes = [{"level": "warning", "message": {"text": one}} for one in said]
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
                        **_home(),
                        "rules": [_descriptor(rule) for rule in rules],
                    }
                },
                "invocations": [{"executionSuccessful": True, "toolExecutionNotifications": notes}],
                "automationDetails": {"id": f"pcq-analyzer/{view.audit.profile.value}/"},
                "originalUriBaseIds": {
                    _ROOT: {"description": {"text": "The directory in which the audit was started."}}
                },
                "artifacts": [
                    _artifact(name, size, digests.get(name)) for name, size in zip(facts.files, sizes, strict=True)
                ],
                "results": results,
                "columnKind": "unicodeCodePoints",
                "properties": {
                    **stated,
                    "profile": view.audit.profile.value,
                    "actor": view.audit.actor.value,
                    "coverage": {name: coverage.verdict for name, coverage in view.audit.coverage.items()},
                },
            }
        ],
    }


def _results(
    view: AuditView, index: Mapping[str, int], sizes: Sequence[int], locate: Locate, lost: list[str]
) -> list[dict[str, Any]]:
    """Returns a SARIF result for each finding, with its region, or the whole file if that is unknown."""
    facts, alike = view.analysis.capture, Counter[str]()
    results = []
    placed: list[tuple[dict[str, Any], Finding]] = []
    for finding in view.findings():
        result = _result(finding, index[finding.rule.code], facts, alike)
        results.append(result)
        if finding.place is not None and finding.place.extents:
            placed.append((result, finding))
    lost += _add_regions(placed, facts, locate)
    for result in results:
        place = result["locations"][0]["physicalLocation"]
        size = sizes[place["artifactLocation"]["index"]]
        if size >= 0:
            place.setdefault("region", {"byteOffset": 0, "byteLength": size})
    return results


def _home() -> dict[str, str]:
    """Returns the home page of this program for SARIF, if its package names one."""
    for entry in metadata("pcq-analyzer").get_all("Project-URL") or ():
        _, _, address = str(entry).partition(", ")
        if address:
            return {"informationUri": address}
    return {}


def _size(path: Path) -> int:
    """Returns the size of a capture file for SARIF; -1, SARIF's unknown length, if there is no file, as for standard input."""
    try:
        return path.stat().st_size
    except OSError:
        return -1


def _uri(name: str) -> str:
    """Returns the URI of a file for SARIF, relative to the working directory; for a file elsewhere only its name."""
    path = path_of_text(name)
    relative = os.path.relpath(path)
    return quote(os.fsencode(path.name if relative.startswith("..") else Path(relative).as_posix()))


def _artifact(name: str, size: int, digest: FileDigest | None) -> dict[str, Any]:
    hashed = digest is not None and digest.sha256 is not None
    return {
        "location": {"uri": _uri(name), "uriBaseId": _ROOT},
        "length": digest.size if digest is not None and hashed else size,
        **({"hashes": {"sha-256": digest.sha256}} if digest is not None and hashed else {}),
        "roles": ["analysisTarget"],
        "mimeType": _MIME.get(Path(name).suffix, "application/octet-stream"),
    }


def _descriptor(rule: Rule) -> dict[str, Any]:
    required = [catalogue()[name] for name in rule.requirements]
    sections = sorted({requirement.section for requirement in required})
    return {
        "id": rule.code,
        # Pascal case, in which a word of one letter is no word.
        "name": "".join(word.capitalize() for word in rule.name.split("-") if len(word) > 1),
        "shortDescription": {"text": rule.title},
        # On one line, in which items of lists are sentences like the others.
        "fullDescription": {"text": " ".join(rule.page.replace("\n- ", "\n").split())},
        "helpUri": _SPECIFICATIONS[rule.requirements[0].partition("-")[0]],
        "help": {"text": rule.page, "markdown": _markdown(rule)},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": {"tags": [rule.level.value], "requirements": list(rule.requirements), "sections": sections},
    }


def _markdown(rule: Rule) -> str:
    """Returns the page of a rule as Markdown for SARIF, with bold headings and the requirements that it judges."""
    paragraphs = [f"# {rule.code} {rule.name}"]
    for paragraph in rule.page.split("\n\n"):
        heading, colon, rest = paragraph.partition(":")
        is_heading = colon and "\n" not in heading and len(heading) < 20
        paragraphs.append(f"**{heading}:**{rest}" if is_heading else paragraph)
    required = (catalogue()[name] for name in rule.requirements)
    paragraphs.append("\n".join(f"- `{one.id}` ({one.level}, {one.actor}): {one.statement}" for one in required))
    return "\n\n".join(paragraphs)


def _result(finding: Finding, index: int, facts: CaptureFacts, alike: Counter[str]) -> dict[str, Any]:
    record = finding_record(finding, facts)
    stated = (("expected", record.expected), ("seen", record.seen))
    details = [f"{name} {value}" for name, value in stated if value is not None]
    words = record.message[:1].upper() + record.message[1:] + ("" if not details else f" ({', '.join(details)})") + "."
    place = ".".join(part for part in (record.side, record.field) if part) or "capture"
    method = record.method or "capture"
    key = f"{finding.rule.code}:{record.requirement[0]}:{method}:{_POSITION.sub('[]', place)}"
    alike[key] += 1
    file = file_of(finding.frames[0]) if finding.frames else 0
    out: dict[str, Any] = {
        "ruleId": finding.rule.code,
        "ruleIndex": index,
        "kind": "fail",
        "level": _LEVELS[finding.severity],
        "message": {"text": words},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": _uri(facts.files[file]), "uriBaseId": _ROOT, "index": file}
                },
                "logicalLocations": [{"name": place, "fullyQualifiedName": f"{method}/{place}", "kind": "member"}],
            }
        ],
        "partialFingerprints": {"ruleRequirementField/v2": f"{key}:{alike[key]}"},
        "properties": {
            key: to_builtins(value)
            for key in (
                "requirement",
                "actor",
                "verdict",
                "call",
                "frames",
                "part",
                "bytes",
                "extents",
                "expected",
                "seen",
                "confidence",
                "follow",
            )
            if (value := getattr(record, key)) is not None
        },
    }
    if finding.is_excused and finding.judgement.deviation is not None:
        known = finding.judgement.deviation
        out["suppressions"] = [{"kind": "external", "justification": f"{known.text} ({known.authority})"}]
    return out


def _add_regions(placed: list[tuple[dict[str, Any], Finding]], facts: CaptureFacts, locate: Locate) -> list[str]:
    """Adds to SARIF results the regions of the bytes that show them. Returns a sentence for each file that is unreadable now."""
    wanted: dict[int, set[int]] = {}
    for _, finding in placed:
        assert finding.place is not None
        for extent in finding.place.extents:
            wanted.setdefault(file_of(extent.frame), set()).add(number_of(extent.frame))
    offsets: dict[int, int] = {}
    lost = []
    for file, numbers in wanted.items():
        name = facts.files[file]
        try:
            found = locate(path_of_text(name), numbers) if name not in _STREAMS else {}
        except OSError as error:
            lost.append(
                f"{name} could not be read a second time ({error.strerror}): findings are without their places in it"
            )
            continue
        offsets.update((frame_id(file, number), offset) for number, offset in found.items())
    for result, finding in placed:
        assert finding.place is not None
        places = [
            {
                "artifactLocation": {
                    "uri": _uri(facts.files[file_of(extent.frame)]),
                    "uriBaseId": _ROOT,
                    "index": file_of(extent.frame),
                },
                "region": {"byteOffset": offsets[extent.frame] + extent.start, "byteLength": extent.length},
            }
            for extent in finding.place.extents
            if extent.frame in offsets
        ]
        if places and len(places) == len(finding.place.extents):
            result["locations"][0]["physicalLocation"] = places[0]
            if len(places) > 1:
                related = places[1 : _MOST_RELATED + 1]
                result["relatedLocations"] = [{"physicalLocation": place} for place in related]
    return lost
