"""The examples cover every rule, and what is said otherwise is noticed."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from analyzer.core.events import Event
from analyzer.questions.audit.audit_engine import Audit, Profile
from analyzer.questions.audit.rule_registry import every_rule
from analyzer.questions.audit.rule_verdicts import Outcome
from analyzer.transport.rpc.exchange_maker import Exchange
from tests.build.calls import Calls, analysis_of, sealed
from tests.questions.audit import examples
from tests.questions.audit.conversation import full_conversation, perflib, registry

# These never find anything: they only count what they judge.
COUNTING = {"PCQ615", "PCQ620"}
# What it finds is in binds, which have frames and no fields.
WITHOUT_BYTES = {"PCQ111"}


def test_every_rule_has_an_example_whose_bytes_are_shown() -> None:
    if examples.IS_WRITING:
        pytest.skip("the file is being written")
    text = examples.PATH.read_text(encoding="utf-8")
    lines = re.findall(r"(?:^  | => )(PCQ\d+ .*)", text, re.MULTILINE)
    found = {code: [line for line in lines if line.startswith(code)] for code in {line.split()[0] for line in lines}}
    assert set(found) == {rule.code for rule in every_rule()} - COUNTING
    assert {code for code, of in found.items() if all(" at no bytes in " in line for line in of)} == WITHOUT_BYTES


@pytest.mark.parametrize("profile", list(Profile))
@pytest.mark.parametrize("conversation", [full_conversation, registry])
def test_each_requirement_is_judged_so_often_in_a_sound_conversation(
    conversation: Callable[[], list[Event]], profile: Profile
) -> None:
    """All rules together: what is counted, and why the rest cannot be judged."""
    audit = Audit(analysis_of(*conversation()), profile=profile)
    assert list(audit.findings()) == []
    examples.check([], audit.coverage)


@pytest.mark.parametrize("conversation", [perflib, registry])
def test_of_sealed_calls_nothing_is_judged_but_what_their_pdus_show(conversation: Callable[[], list[Exchange]]) -> None:
    """No rule says of itself that it cannot read a call: that is asked before the rule is."""
    audit = Audit(analysis_of(*map(sealed, conversation())))
    assert list(audit.findings()) == []
    examples.check([], audit.coverage)


def test_what_is_judged_otherwise_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    if examples.IS_WRITING:
        pytest.skip("the file is being written")
    audit = Audit(analysis_of(Calls().registration(11, b"")))
    findings = list(audit.findings())
    held = [f"  {line}" for line in (examples.counted(audit.coverage), *map(examples.words, findings))]
    monkeypatch.setattr(examples, "contract", lambda: {"here 1": held})
    monkeypatch.setenv("PYTEST_CURRENT_TEST", "tests/here (call)")
    examples.check(findings, audit.coverage, "1")
    others = [[], findings[1:], findings * 2]
    next(iter(audit.coverage.values())).counts[Outcome.PASSED] += 1
    for wrong in (*others, findings):
        with pytest.raises(AssertionError, match="here 1 is judged otherwise"):
            examples.check(wrong, audit.coverage, "1")


def test_the_file_knows_only_tests_that_there_are() -> None:
    texts: dict[str, str] = {}
    for key in examples.contract() if not examples.IS_WRITING else ():
        file, _, rest = key.partition("::")
        name, path = rest.partition("[")[0].partition(" ")[0], Path(__file__).with_name(file)
        text = texts.setdefault(file, path.read_text(encoding="utf-8") if path.is_file() else "")
        assert f"def {name}(" in text, key
