"""`audit` as text: groups of findings, where each is, what lacks, and the totals; the matrix of several captures."""

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from analyzer.questions.audit.call_evidence import CallEvidence
from analyzer.questions.audit.findings_and_coverage import Coverage, Finding, FindingPattern
from analyzer.questions.audit.rule_registry import Rule, catalogue, every_rule
from analyzer.questions.audit.rule_verdicts import At, Confidence, Deviation, Judgement, Outcome, Severity
from analyzer.screens.views.audit import _SHOWN, AuditView, MatrixView
from tests.build.calls import Calls, analysis_of
from tests.written import is_as_written

TEXT = Path(__file__).parent / "texts" / "audit.txt"
ANALYSIS = analysis_of(Calls().open_query())
RULES = {rule.code: rule for rule in every_rule()}
SIZE, SIZES = "PCQ-2.2.4.7-R02", RULES["PCQ501"]


def finding(
    severity: Severity = Severity.ERROR, rule: Rule = SIZES, *, follow: int = 0, is_excused: bool = False, **said: Any
) -> Finding:
    facts: dict[str, Any] = {
        "outcome": Outcome.FAILED,
        "requirements": (SIZE,),
        "message": "the size was wrong",
        **said,
    }
    judgement = Judgement(**facts)
    return Finding(FindingPattern(rule, judgement, severity, is_excused), judgement.call, follow)


def view(*findings: Finding, coverage: dict[str, Coverage] | None = None, **facts: Any) -> AuditView:
    """An audit that found this."""
    audit = SimpleNamespace(
        analysis=ANALYSIS,
        coverage=coverage if coverage is not None else {id: Coverage(catalogue()[id]) for id in ("PCQ-2.1-R04", SIZE)},
        unmatched=(),
        accepted=0,
        findings=lambda: iter(findings),
    )
    for name, value in facts.items():
        setattr(audit, name, value)
    return AuditView(audit)


def found(*findings: Finding, width: int | None = None) -> list[str]:
    """The lines about findings: those between the header and the coverage."""
    lines = list(view(*findings).lines(width))
    return lines[lines.index("") : next(at for at, line in enumerate(lines) if line.startswith("[bold]coverage")) - 1]


def of_findings() -> Iterator[tuple[str, list[str]]]:
    assert _SHOWN == 3
    call, known = CallEvidence(1, ANALYSIS.calls[0]), Deviation("WBP 7", "Windows pads it.")
    yield "what was expected and seen, and where", found(finding(expected="80", seen="79", frames=(7,)))
    yield "what was seen alone", found(finding(seen="79"))
    yield "frames alone", found(finding(frames=(7, 8)))
    yield "a field", found(finding(call=call, at=At("response", "dwInSize"), seen="79"))
    for path in (None, "pdu.8:16"):
        yield f"a place of a request: {path}", found(finding(call=call, at=At("request", *filter(None, [path]))))
    for count in (1, 2, 3, 4, 9):
        yield f"{count} findings", found(*(finding(frames=(number,)) for number in range(count)))
    for confidence in (Confidence.LOW, Confidence.MEDIUM, Confidence.HIGH):
        yield f"confidence is {confidence}", found(finding(confidence=confidence, frames=(1,)))
    both = finding(frames=(1,), deviation=known, follow=2), finding(frames=(2,), follow=3)
    yield "what follows and what is known", found(*both)
    yield (
        "groups go by severity, then rule, then requirement",
        found(
            finding(Severity.INFO, frames=(1,)),
            finding(Severity.WARNING, frames=(2,)),
            finding(Severity.WARNING, frames=(3,), outcome=Outcome.WARNED),
            finding(Severity.WARNING, RULES["PCQ101"], frames=(4,), requirements=("PCQ-2.1-R04", "PCQ-5.1-R01", SIZE)),
            finding(Severity.WARNING, frames=(5,)),
            finding(Severity.WARNING, frames=(6,), requirements=("PCQ-2.1-R04",)),
        ),
    )
    pads = Deviation("WBP 7", "Windows pads it with zeros up to eight bytes.")
    said = {"message": "PCQ501 said that the size of the whole buffer was wrong", "confidence": Confidence.LOW}
    long = finding(frames=tuple(range(1000, 1009)), deviation=pads, follow=2, **said)
    yield "a group folds below its words", found(long, width=44)


def coverage(requirement: str, *doubts: tuple[str, int], **counts: int) -> Coverage:
    made = Coverage(catalogue()[requirement])
    for name, count in counts.items():
        made.counts[Outcome[name]] = count
    for reason, count in doubts:
        made.doubt(reason, count)
    return made


def of_coverage() -> Iterator[tuple[str, Iterable[str]]]:
    by_section = {
        "PCQ-2.1-R04": coverage("PCQ-2.1-R04", ("no key", 3), FAILED=1),
        "PCQ-2.1-R05": coverage("PCQ-2.1-R05", WARNED=2),
        "PCQ-5.1-R01": coverage("PCQ-5.1-R01"),
        SIZE: coverage(SIZE, ("no key", 1), ("another reason of more words than a line has", 1), PASSED=3),
    }
    accepted = {"unmatched": ("one", "two of more words than a line has"), "accepted": 2}
    yield "coverage by section", view(coverage=by_section, **accepted).lines(64)
    yield "no coverage", view(coverage={}).lines(None)
    error, warning, info = Severity.ERROR, Severity.WARNING, Severity.INFO
    for severities in ((), (error,), (error, error), (info, warning), (info, info, error)):
        *_, last = view(*(finding(severity, frames=(1,)) for severity in severities)).lines(None)
        yield f"totals of {[one.name for one in severities]}", [last]
    names = tuple(f"{number}.pcap" for number in range(1, 12))
    passed = [coverage("PCQ-2.1-R04", PASSED=number % 2) for number in range(11)]
    matrix = MatrixView(names, [{"PCQ-2.1-R04": one, SIZE: coverage(SIZE)} for one in passed])
    for width in (None, 60):
        yield f"a matrix numbers captures by their last digit, {width}", matrix.lines(width)


def test_all_lines_are_in_one_text() -> None:
    """`PCQ_WRITE_PAGES=1 pytest -n 0 THIS_FILE` writes it."""
    is_as_written(
        TEXT, "".join("\n  ".join([name, *lines]) + "\n" for name, lines in chain(of_findings(), of_coverage()))
    )
