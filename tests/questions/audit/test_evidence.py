"""The contract of evidence covers every rule, and notices a range that moves by any amount."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from analyzer.core.events import Event
from analyzer.questions.audit.engine import Audit, Profile
from analyzer.questions.audit.findings import Finding
from analyzer.questions.audit.rule import every_rule
from analyzer.questions.audit.verdicts import Outcome
from tests.build.calls import Calls, analysis_of
from tests.questions.audit import evidence, verdicts
from tests.questions.audit.conversation import full_conversation, registry

# These never find anything: they only count what they judge.
COUNTING = {"PCQ615", "PCQ620"}
# What it finds is in binds, which have frames and no fields.
WITHOUT_BYTES = {"PCQ111"}


def test_every_rule_has_an_example_whose_bytes_are_in_the_contract() -> None:
    if evidence.IS_WRITING:
        pytest.skip("the contract is being written")
    found: dict[str, bool] = {}
    for rows in evidence.contract().values():
        for code, _, _, _, part, start, stop, frames, _ in rows:
            found[str(code)] = found.get(str(code), False) or None not in (part, start, stop)
            assert frames or part is None
    codes = {rule.code for rule in every_rule()}
    assert set(found) == codes - COUNTING
    assert {code for code, has_bytes in found.items() if not has_bytes} == WITHOUT_BYTES


def moved(finding: Finding, by: int) -> Finding:
    assert finding.place is not None
    place = replace(finding.place, start=finding.place.start + by, stop=finding.place.stop + by)
    return replace(finding, place=place)


@pytest.mark.parametrize("by", [-8, -4, -1, 1, 2, 4, 8, 1000])
def test_a_range_that_moves_is_another_row(by: int) -> None:
    calls = Calls()
    findings = list(Audit(analysis_of(calls.registration(11, b""), calls.validate(b"", add=2))).findings())
    assert len([finding for finding in findings if finding.place is not None]) > 2
    for finding in findings:
        if finding.place is not None:
            assert evidence.rows([moved(finding, by)]) != evidence.rows([finding])


def test_an_example_that_points_elsewhere_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    if evidence.IS_WRITING:
        pytest.skip("the contract is being written")
    (finding, *_) = Audit(analysis_of(Calls().registration(11, b""))).findings()
    monkeypatch.setattr(evidence, "contract", lambda: {"here 1": evidence.rows([finding])})
    monkeypatch.setenv("PYTEST_CURRENT_TEST", "tests/questions/audit/here (call)")
    evidence.check([finding], "1")
    for wrong in ([], [finding, finding], [moved(finding, 4)]):
        with pytest.raises(AssertionError, match="point elsewhere"):
            evidence.check(wrong, "1")


@pytest.mark.parametrize("profile", list(Profile))
@pytest.mark.parametrize("conversation", [full_conversation, registry])
def test_each_requirement_is_judged_so_often_in_a_sound_conversation(
    conversation: Callable[[], list[Event]], profile: Profile
) -> None:
    """All rules together: what is counted, and why the rest cannot be judged."""
    audit = Audit(analysis_of(*conversation()), profile=profile)
    assert list(audit.findings()) == []
    verdicts.check([], audit.coverage)


def test_verdicts_that_differ_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    if evidence.IS_WRITING:
        pytest.skip("the contract is being written")
    audit = Audit(analysis_of(Calls().registration(11, b"")))
    findings = list(audit.findings())
    held = verdicts.rows(findings, audit.coverage)
    monkeypatch.setattr(verdicts, "contract", lambda: {f"here {number}": held for number in (1, 2, 3)})
    monkeypatch.setattr(verdicts, "_ORDINALS", Counter())
    monkeypatch.setenv("PYTEST_CURRENT_TEST", "tests/questions/audit/here (call)")
    verdicts.check(findings, audit.coverage)
    with pytest.raises(AssertionError, match="here 2: the verdicts are others"):
        verdicts.check(findings[1:], audit.coverage)
    next(iter(audit.coverage.values())).counts[Outcome.PASSED] += 1
    with pytest.raises(AssertionError, match="here 3: the verdicts are others"):
        verdicts.check(findings, audit.coverage)


@pytest.mark.parametrize("contract", [evidence, verdicts])
def test_a_contract_knows_only_tests_that_there_are(contract: Any) -> None:
    here = Path(__file__).parent
    texts: dict[str, str] = {}
    for key in contract.contract() if not evidence.IS_WRITING else ():
        file, _, rest = key.partition("::")
        name = rest.partition("[")[0].partition(" ")[0]
        text = texts.setdefault(file, (here / file).read_text(encoding="utf-8") if (here / file).is_file() else "")
        assert f"def {name}(" in text, key
