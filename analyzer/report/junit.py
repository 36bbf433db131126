"""The coverage of requirements as JUnit XML, the form in which continuous-integration systems read results.

A suite a section, a test case a requirement. What fails is a failure with its first findings; what could not be judged or did not
occur is skipped, with the reason: nothing that was not seen counts as passed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree

from analyzer.audit.findings import Coverage, Finding
from analyzer.report.audit import AuditView, section_words

_SHOWN = 10
# XML 1.0 section 2.2 has no place for most control characters, nor for lone surrogates.
_NOT_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_xml(view: AuditView) -> bytes:
    """The document, UTF-8."""
    findings: dict[str, list[Finding]] = {}
    for finding in view.findings():
        if not finding.is_excused:
            findings.setdefault(finding.judgement.requirement, []).append(finding)
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
            failures=str(sum(coverage.verdict == "fail" for coverage in covered)),
            errors="0",
            skipped=str(sum(coverage.verdict in ("inconclusive", "not-applicable") for coverage in covered)),
        )
        for coverage in covered:
            _case(suite, section, coverage, findings.get(coverage.requirement.id, ()))
    ElementTree.indent(root)
    document: str = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{document}\n'.encode()


def _case(suite: ElementTree.Element, section: str, coverage: Coverage, findings: Sequence[Finding]) -> None:
    requirement = coverage.requirement
    case = ElementTree.SubElement(
        suite, "testcase", classname=section, name=f"{requirement.id} {requirement.statement}"
    )
    text = "\n".join(_words(finding) for finding in findings[:_SHOWN])
    if len(findings) > _SHOWN:
        text += f"\nand {len(findings) - _SHOWN} more"
    if coverage.verdict == "fail":
        message = f"{len(findings)} of {coverage.occurrences} occurrences"
        ElementTree.SubElement(case, "failure", message=message).text = _clean(text)
    elif coverage.verdict == "inconclusive":
        ElementTree.SubElement(case, "skipped", message=_clean("; ".join(coverage.reasons)))
    elif coverage.verdict == "not-applicable":
        ElementTree.SubElement(case, "skipped", message="does not occur in the capture")
    elif text:
        ElementTree.SubElement(case, "system-out").text = _clean(text)


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
