"""The evidence of findings as a contract: where each example of the rules' tests has to point, down to the byte.

`tests/questions/audit/evidence.json` holds, for every example that a test shows to a rule and that breaks something: the rule, the
requirement, the call, the field, the range of bytes with what it counts in, the frames, and the side to blame. A range that moves
by a single byte is noticed by the test of the example. To write it anew on purpose, and look through what changed:

    PCQ_WRITE_EVIDENCE=1 python -m pytest tests/questions/audit -n 0 && git diff tests/questions/audit/evidence.json
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from analyzer.questions.audit.findings import Finding

PATH = Path(__file__).with_name("evidence.json")
IS_WRITING = bool(os.environ.get("PCQ_WRITE_EVIDENCE"))

# rule, requirement, call, place as `show` takes it, part, start, stop, frames, actor
Row = list[object]
WRITTEN: dict[str, list[Row]] = {}
_ORDINALS: Counter[str] = Counter()


@cache
def contract() -> dict[str, list[Row]]:
    """What the examples have to point at, by test and the number of the example in it."""
    found: dict[str, list[Row]] = json.loads(PATH.read_text(encoding="utf-8"))
    return found


def rows(findings: Iterable[Finding]) -> list[Row]:
    """Where findings point."""
    return [_row(finding) for finding in findings]


def _row(finding: Finding) -> Row:
    judgement, place = finding.judgement, finding.place
    return [
        finding.rule.code,
        judgement.requirement,
        finding.call,
        judgement.at.spelled if judgement.at is not None else None,
        *((place.part, place.start, place.stop) if place is not None else (None, None, None)),
        list(finding.frames),
        finding.actor.value,
    ]


def running_test() -> str:
    """The test that runs, as the contracts name it."""
    return os.environ["PYTEST_CURRENT_TEST"].rpartition(" ")[0].removeprefix("tests/questions/audit/")


def check(findings: Iterable[Finding], name: str | None = None) -> None:
    """Holds the findings of an example to the contract. It is the next one of the running test, or of this `name` in it."""
    test = running_test()
    if name is None:
        _ORDINALS[test] += 1
        name = str(_ORDINALS[test])
    key, found = f"{test} {name}", rows(findings)
    if IS_WRITING:
        if found:
            WRITTEN[key] = found
        return
    assert found == contract().get(key, []), (
        f"{key}: the findings point elsewhere than {PATH.name} says, which guards call, field, bytes and frames of every finding; "
        "if that is meant, write it anew as its module says"
    )


def write(path: Path, written: dict[str, list[Row]], known: Mapping[str, list[Row]]) -> None:
    """Writes a contract from the examples that were shown; tests of files that were not run keep theirs."""
    run = {key.partition("::")[0] for key in written}
    all_rows = written | {key: row for key, row in known.items() if key.partition("::")[0] not in run}
    lines = ",\n".join(
        f"{json.dumps(key)}: [\n  " + ",\n  ".join(map(json.dumps, all_rows[key])) + "\n]" for key in sorted(all_rows)
    )
    path.write_text("{\n" + lines + "\n}\n", encoding="utf-8")
