"""The captures that ship break what their manifest lists and explains, and nothing else."""

import pytest

from analyzer.questions.audit.audit_engine import Audit
from analyzer.questions.audit.rule_registry import catalogue
from analyzer.questions.audit.rule_verdicts import Outcome
from tests import truth
from tests.analyses import analysis_of_file


@pytest.mark.parametrize("capture", truth.captures(), ids=lambda capture: capture.file)
def test_a_capture_breaks_what_its_manifest_says(capture: truth.Capture) -> None:
    audit = Audit(analysis_of_file(capture.file))
    broken = {
        requirement
        for finding in audit.findings()
        if not finding.is_excused
        for requirement in finding.judgement.requirements
    }
    assert broken == set(capture.breaks)
    assert capture.damaged or any(coverage.counts[Outcome.PASSED] for coverage in audit.coverage.values())


def test_what_is_broken_is_explained() -> None:
    broken = {requirement for capture in truth.captures() for requirement in capture.breaks}
    assert set(truth.manifest()["because"]) == broken
    assert broken <= set(catalogue())
