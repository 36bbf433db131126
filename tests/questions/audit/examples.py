"""What rules say of the examples of their tests, for review: `examples.txt` has what was judged how often, and each finding.

A finding's line has rule, requirements, outcome, severity, confidence, the side to blame, the call, the field, where its bytes
are, the frames, the bytes, and the words. An example is named by its test and its number in it. A range that moves by a byte, a
word that changes, or a requirement that is judged once less is noticed by the test of the example. To write the file anew on
purpose:

    PCQ_WRITE_EVIDENCE=1 python -m pytest tests/questions/audit -n 0 && git diff tests/questions/audit/examples.txt
"""

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import groupby
from pathlib import Path

from analyzer.questions.audit.findings_and_coverage import Coverage, Finding
from analyzer.questions.audit.rule_verdicts import Outcome

PATH = Path(__file__).with_name("examples.txt")
IS_WRITING = bool(os.environ.get("PCQ_WRITE_EVIDENCE"))
# So many bytes of a finding are shown.
_SHOWN = 24

WRITTEN: dict[str, list[str]] = {}
_ORDINALS: Counter[str] = Counter()


@cache
def contract() -> dict[str, list[str]]:
    """What was said of each example, by the file of its test, the test, and the number of the example in it."""
    found: dict[str, list[str]] = {}
    file, lines = "", list[str]()
    for line in PATH.read_text(encoding="utf-8").splitlines():
        if line.startswith("  "):
            lines.append(line)
        elif line.startswith("test_") and line.endswith(".py"):
            file = line
        else:
            name, _, first = line.partition(" => ")
            lines = found.setdefault(f"{file}::{name}", [])
            lines += [f"  {first}"] if first else []
    return found


def words(finding: Finding) -> str:
    """A finding in a line."""
    judgement, place, severity = finding.judgement, finding.place, finding.severity.value
    where, data = "no bytes", b""
    if place is not None:
        where, data = f"{place.part} {place.start}:{place.stop}", place.source.data[place.start : place.stop]
    shown = data[:_SHOWN].hex(" ") + (" ..." if len(data) > _SHOWN else "")
    return (
        f"{finding.rule.code} {' '.join(judgement.requirements)} {judgement.outcome.value} {severity} "
        f"{judgement.confidence.name.lower()} {finding.actor.value} #{finding.call} "
        f"{judgement.at.spelled if judgement.at is not None else '-'} at {where} in {' '.join(map(str, finding.frames))} [{shown}] "
        f"{judgement.message}: expected {judgement.expected}, seen {judgement.seen}"
        + (f" ({judgement.deviation.text})" if judgement.deviation is not None else "")
    )


def counted(coverage: Mapping[str, Coverage]) -> str:
    """How often each requirement was judged how, and why some could not be."""
    alike: dict[str, list[str]] = {}
    for name, one in coverage.items():
        counts = [f"{one.counts[outcome]} {outcome.value}" for outcome in Outcome if one.counts[outcome]]
        counts += [f"{one.excused} excused"] if one.excused else []
        reasons = ", ".join(f"{count} {reason}" for reason, count in sorted(one.reasons.items()))
        if counts:
            alike.setdefault(f"{' '.join(counts)}{f' ({reasons})' if reasons else ''}", []).append(name)
    return "; ".join(f"{counts} of {sections(names)}" for counts, names in alike.items())


def sections(requirements: Iterable[str]) -> str:
    """Requirements by name, those of one section after the first by number alone."""
    by_section = groupby(requirements, lambda name: name.rpartition("-")[0])
    return ", ".join(f"{of}-{' '.join(name.rpartition('-')[2] for name in names)}" for of, names in by_section)


def check(findings: Iterable[Finding], coverage: Mapping[str, Coverage] | None = None, name: str | None = None) -> None:
    """Holds what was said of an example to the file. It is the next one of the running test, or of this `name` in it."""
    test = os.environ["PYTEST_CURRENT_TEST"].rpartition(" ")[0].rpartition("/")[2]
    if name is None:
        _ORDINALS[test] += 1
        name = str(_ORDINALS[test])
    key = f"{test} {name}"
    found = [f"  {line}" for line in (counted(coverage or {}), *map(words, findings)) if line]
    if IS_WRITING:
        if found:
            WRITTEN[key] = found
        return
    assert found == contract().get(key, []), (
        f"{key} is judged otherwise than {PATH.name} says; if that is meant, write it anew as its module says"
    )


def write() -> None:
    """Writes the file from the examples that were shown; tests of files that were not run keep theirs."""
    run = {key.partition("::")[0] for key in WRITTEN}
    known = contract() if PATH.is_file() else {}
    all_lines = WRITTEN | {key: lines for key, lines in known.items() if key.partition("::")[0] not in run}
    text, file = "", ""
    for key in sorted(all_lines):
        of, _, name = key.partition("::")
        if of != file:
            text, file = f"{text}{of}\n", of
        first, *more = all_lines[key]
        text += "\n".join([f"{name} => {first.strip()}", *more]) + "\n"
    PATH.write_text(text, encoding="utf-8")
