"""Writes the coverage of requirements as JUnit XML, which continuous-integration systems read.

A section is a suite, a requirement is a test case with its verdict as a property. `--fail-on` says which verdicts are failures:
failures and warnings have their first findings, inconclusive verdicts their reason. A requirement that was not judged and is no
failure is skipped: nothing unseen counts as passed. If nothing of the capture was decrypted, that is an error of its own.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from xml.etree import ElementTree

from msgspec import Struct, field

from analyzer.core.output.json import dumps
from analyzer.questions.audit.findings_and_coverage import Coverage, Finding
from analyzer.results.analysis import EVIDENCE_KEY, EvidenceRecord
from analyzer.results.records.finding import CoverageVerdict
from analyzer.screens.viewmodel.call_summary_words import section_words
from analyzer.screens.views.audit import AuditView

_SHOWN = 10
# XML 1.0 section 2.2 has no place for most control characters, nor for lone surrogates.
_NOT_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_xml(
    view: AuditView, failing: Collection[CoverageVerdict] = ("fail", "warn"), evidence: EvidenceRecord | None = None
) -> bytes:
    """Returns the coverage of an audit as a JUnit XML document, UTF-8; requirements with the `failing` verdicts are failures."""
    found: dict[str, _Reported] = {}
    for finding in view.findings():
        if not finding.is_excused:
            for requirement in finding.judgement.requirements:
                found.setdefault(requirement, _Reported()).add_finding(finding)
    root = ElementTree.Element("testsuites", name="pcq-analyzer audit")
    if evidence is not None:
        properties = ElementTree.SubElement(root, "properties")
        ElementTree.SubElement(properties, "property", name=EVIDENCE_KEY, value=dumps(evidence).decode())
    if (sentence := view.undecrypted) is not None:
        suite = ElementTree.SubElement(
            root, "testsuite", name="capture", tests="1", failures="0", errors="1", skipped="0"
        )
        case = ElementTree.SubElement(suite, "testcase", classname="capture", name="something was decrypted")
        ElementTree.SubElement(case, "error", message=sentence)
    suites: dict[str, list[Coverage]] = {}
    for coverage in view.audit.coverage.values():
        suites.setdefault(section_words(coverage.requirement), []).append(coverage)
    for section, covered in suites.items():
        suite = ElementTree.SubElement(root, "testsuite", name=section, tests=str(len(covered)), errors="0")
        for coverage in covered:
            _test_case(suite, section, coverage, found.get(coverage.requirement.id, _Reported()), failing)
        for kind, tag in (("failures", "failure"), ("skipped", "skipped")):
            suite.set(kind, str(len(suite.findall(f"testcase/{tag}"))))
    ElementTree.indent(root)
    document: str = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{document}\n'.encode()


class _Reported(Struct):
    """The findings that JUnit XML reports for one requirement: the first ones in words, and how many there are."""

    first: list[str] = field(default_factory=list)
    count: int = 0

    def add_finding(self, finding: Finding) -> None:
        self.count += 1
        if self.count <= _SHOWN:
            self.first.append(_words(finding))

    @property
    def text(self) -> str:
        more = [f"and {self.count - _SHOWN} more"] if self.count > _SHOWN else []
        return "\n".join(self.first + more)


def _test_case(
    suite: ElementTree.Element,
    section: str,
    coverage: Coverage,
    found: _Reported,
    failing: Collection[CoverageVerdict],
) -> None:
    requirement, verdict = coverage.requirement, coverage.verdict
    case = ElementTree.SubElement(
        suite, "testcase", classname=section, name=f"{requirement.id} {requirement.statement}"
    )
    properties = ElementTree.SubElement(case, "properties")
    for name, value in (("verdict", verdict), ("triggers", str(coverage.occurrences)), ("actor", requirement.actor)):
        ElementTree.SubElement(properties, "property", name=name, value=value)
    if verdict in ("fail", "warn") and not found.count:
        ElementTree.SubElement(case, "system-out").text = "broken, and the baseline accepts it"
    elif verdict in ("fail", "warn"):
        message = f"{found.count} of {coverage.occurrences} occurrences"
        if verdict in failing:
            ElementTree.SubElement(case, "failure", type=verdict, message=message).text = _xml_text(found.text)
        else:
            ElementTree.SubElement(case, "system-out").text = _xml_text(f"{message}\n{found.text}")
    elif verdict != "pass":
        message = {
            "inconclusive": "; ".join(coverage.reasons),
            "not-exercised": f"not exercised; its trigger: {requirement.trigger}",
            "untestable": f"no traffic shows it: {requirement.why}",
        }[verdict]
        if verdict in failing:
            ElementTree.SubElement(case, "failure", type=verdict, message=_xml_text(message))
        else:
            ElementTree.SubElement(case, "skipped", message=_xml_text(message))


def _words(finding: Finding) -> str:
    judgement = finding.judgement
    where = f"call {finding.call}, " if finding.call is not None else ""
    field = f"{judgement.at.side} {judgement.at.path}: " if judgement.at is not None else ""
    values = [
        f"{name} {value}"
        for name, value in (("expected", judgement.expected), ("seen", judgement.seen))
        if value is not None
    ]
    words = f"{finding.rule.code} by {finding.actor.value}, {where}{field}{judgement.message}"
    return words + (f" ({', '.join(values)})" if values else "")


def _xml_text(text: str) -> str:
    return _NOT_XML.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
