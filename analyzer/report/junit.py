"""The coverage of requirements as JUnit XML, the form in which continuous-integration systems read results.

A suite a section, a test case a requirement. What fails is a failure with its first findings; what could not be judged or did not
occur is skipped, with the reason: nothing that was not seen counts as passed.
"""

from __future__ import annotations

import re
from dataclasses import field
from xml.etree import ElementTree

from analyzer.audit.findings import Coverage, Finding
from analyzer.core.values import dataclass
from analyzer.report.audit import AuditView, section_words

_SHOWN = 10
# XML 1.0 section 2.2 has no place for most control characters, nor for lone surrogates.
_NOT_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_xml(view: AuditView) -> bytes:
    """The document, UTF-8."""
    found: dict[str, _Found] = {}
    for finding in view.findings():
        if not finding.is_excused:
            for requirement in finding.judgement.requirements:
                found.setdefault(requirement, _Found()).take(finding)
    root = ElementTree.Element("testsuites", name="pcq-analyzer audit")
    suites: dict[str, list[Coverage]] = {}
    for coverage in view.audit.coverage.values():
        suites.setdefault(section_words(coverage), []).append(coverage)
    for section, covered in suites.items():
        suite = ElementTree.SubElement(
            root,
            "testsuite",
            name=section,
            tests=str(len(covered)),
            failures=str(sum(coverage.verdict == "fail" and coverage.requirement.id in found for coverage in covered)),
            errors="0",
            skipped=str(sum(coverage.verdict in ("inconclusive", "not-applicable") for coverage in covered)),
        )
        for coverage in covered:
            _case(suite, section, coverage, found.get(coverage.requirement.id, _Found()))
    ElementTree.indent(root)
    document: str = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{document}\n'.encode()


@dataclass(slots=True)
class _Found:
    """What is told of one requirement: the first findings in words, and how many there are."""

    first: list[str] = field(default_factory=list)
    count: int = 0

    def take(self, finding: Finding) -> None:
        self.count += 1
        if self.count <= _SHOWN:
            self.first.append(_words(finding))

    @property
    def text(self) -> str:
        more = [f"and {self.count - _SHOWN} more"] if self.count > _SHOWN else []
        return "\n".join(self.first + more)


def _case(suite: ElementTree.Element, section: str, coverage: Coverage, found: _Found) -> None:
    requirement = coverage.requirement
    case = ElementTree.SubElement(
        suite, "testcase", classname=section, name=f"{requirement.id} {requirement.statement}"
    )
    if coverage.verdict == "fail" and found.count:
        message = f"{found.count} of {coverage.occurrences} occurrences"
        ElementTree.SubElement(case, "failure", message=message).text = _clean(found.text)
    elif coverage.verdict == "fail":
        ElementTree.SubElement(case, "system-out").text = "fails, and the baseline accepts it"
    elif coverage.verdict == "inconclusive":
        ElementTree.SubElement(case, "skipped", message=_clean("; ".join(coverage.reasons)))
    elif coverage.verdict == "not-applicable":
        ElementTree.SubElement(case, "skipped", message="does not occur in the capture")
    elif found.count:
        ElementTree.SubElement(case, "system-out").text = _clean(found.text)


def _words(finding: Finding) -> str:
    judgement = finding.judgement
    where = f"call {finding.call}, " if finding.call is not None else ""
    field = f"{judgement.at.side} {judgement.at.path}: " if judgement.at is not None else ""
    values = [
        f"{name} {value}"
        for name, value in (("expected", judgement.expected), ("seen", judgement.seen))
        if value is not None
    ]
    return f"{finding.rule.code} {where}{field}{judgement.message}" + (f" ({', '.join(values)})" if values else "")


def _clean(text: str) -> str:
    return _NOT_XML.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
