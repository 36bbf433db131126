"""The verdicts on examples as a contract: what a rule says of each example of its tests, and how often it judged what.

`tests/questions/audit/verdicts.json` holds, for every example that a test shows to one rule, broken or not: each finding with its
outcome, severity, confidence, message, what was expected and what seen; for each requirement how often it passed, was warned of,
failed and could not be judged, how often a known deviation excused it; and why it could not be judged. A rule that looks at one
thing less than before is noticed, whether anything was wrong with that or not. It is written anew with `evidence.json`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from analyzer.questions.audit.findings import Coverage, Finding
from analyzer.questions.audit.verdicts import Outcome
from tests.questions.audit import evidence

PATH = Path(__file__).with_name("verdicts.json")

Row = list[object]
WRITTEN: dict[str, list[Row]] = {}
_ORDINALS: Counter[str] = Counter()


@cache
def contract() -> dict[str, list[Row]]:
    """The verdicts by test and the number of the example in it."""
    found: dict[str, list[Row]] = json.loads(PATH.read_text(encoding="utf-8"))
    return found


def rows(findings: Iterable[Finding], coverage: Mapping[str, Coverage]) -> list[Row]:
    """Findings in words, then the counts of the requirements that were looked at."""
    return [*map(_finding, findings), *(_counts(name, one) for name, one in coverage.items() if one.counts.total())]


def _finding(finding: Finding) -> Row:
    judgement = finding.judgement
    return [
        [finding.rule.code, *judgement.requirements],
        f"{judgement.outcome.value}, {finding.severity.value}, {judgement.confidence.name.lower()} confidence",
        judgement.message,
        judgement.expected,
        judgement.seen,
        judgement.deviation.text if judgement.deviation is not None else None,
    ]


def _counts(name: str, coverage: Coverage) -> Row:
    counts = [coverage.counts[outcome] for outcome in Outcome]
    return [name, *counts, coverage.excused, *map(list, sorted(coverage.reasons.items()))]


def check(findings: Iterable[Finding], coverage: Mapping[str, Coverage]) -> None:
    """Holds the verdicts on the next example of the running test to the contract."""
    test = evidence.running_test()
    _ORDINALS[test] += 1
    key = f"{test} {_ORDINALS[test]}"
    found = rows(findings, coverage)
    if evidence.IS_WRITING:
        if found:
            WRITTEN[key] = found
        return
    assert found == contract().get(key, []), (
        f"{key}: the verdicts are others than {PATH.name} says, which guards the words of findings and the counts of requirements; "
        "if that is meant, write it anew as the module of evidence says"
    )
