"""`audit` as text: groups of findings, where each is, what lacks, and the totals; the matrix of several captures."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from analyzer.questions.audit.call_evidence import CallEvidence
from analyzer.questions.audit.findings import Coverage, Finding, FindingPattern
from analyzer.questions.audit.requirements import catalogue
from analyzer.questions.audit.rule import Rule, every_rule
from analyzer.questions.audit.verdicts import At, Confidence, Deviation, Judgement, Outcome, Severity
from analyzer.screens.views.audit import AuditView, MatrixView
from analyzer.screens.views.audit_text import _SHOWN
from tests.build.calls import Calls, analysis_of

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
    return AuditView(audit)  # type: ignore[arg-type]


def found(*findings: Finding, width: int | None = None) -> list[str]:
    """The lines about findings: those between the header and the coverage."""
    lines = list(view(*findings).lines(width))
    return lines[lines.index("") : next(at for at, line in enumerate(lines) if line.startswith("[bold]coverage")) - 1]


def about(*ends: str, head: str = "fail") -> list[str]:
    return [
        f"  [bold]PCQ501[/] {SIZES.name}, {head} of {SIZE}, by the server{ends[0]}",
        f"    The size was wrong.{ends[1]}",
        f"    IMPLIED by section 2.2.4.7: {catalogue()[SIZE].statement}",
    ]


def test_a_group_names_rule_requirement_side_and_place() -> None:
    assert _SHOWN == 3
    one = finding(expected="80", seen="79", frames=(7,))
    lines = found(one)
    assert lines == ["", "[bold red]errors[/]", *about("", ""), "    frame 7: expected 80, seen 79"]
    assert found(finding(seen="79"))[-1] == "    seen 79"
    assert found(finding(frames=(7, 8)))[-1] == "    frames 7, 8"
    call = CallEvidence(1, ANALYSIS.calls[0])
    assert found(finding(call=call, at=At("response", "dwInSize"), seen="79"))[-3] == (
        "    #1 PerflibV2OpenQueryHandle, frame 2, response dwInSize (bytes 0 to 24 of the response stub): seen 79"
    )
    assert found(finding(call=call, at=At("request")))[-1] == (
        "    #1 PerflibV2OpenQueryHandle, frame 1, request (bytes 0 to 26 of the request stub)"
    )
    assert found(finding(call=call, at=At("request", "pdu.8:16")))[-3].endswith(
        "frame 1, request (bytes 8 to 16 of the request PDU 1)"
    )


@pytest.mark.parametrize(
    ("count", "more"), [(1, []), (2, []), (3, []), (4, ["    … and 1 more"]), (9, ["    … and 6 more"])]
)
def test_of_many_findings_three_are_shown(count: int, more: list[str]) -> None:
    lines = found(*(finding(frames=(number,)) for number in range(count)))
    times = f", {count} times" if count > 1 else ""
    frames = [f"    frame {number}" for number in range(min(count, 3))]
    assert lines[2:] == [*about(times, ""), *frames, *more]


@pytest.mark.parametrize(
    ("confidence", "words"),
    [
        (Confidence.LOW, " Confidence is low."),
        (Confidence.MEDIUM, " Confidence is medium."),
        (Confidence.HIGH, ""),
    ],
)
def test_less_than_high_confidence_is_said(confidence: Confidence, words: str) -> None:
    assert found(finding(confidence=confidence, frames=(1,)))[2:] == [*about("", words), "    frame 1"]


def test_what_follows_and_what_is_known_is_said() -> None:
    known = Deviation("WBP 7", "Windows pads it.")
    lines = found(finding(frames=(1,), deviation=known, follow=2), finding(frames=(2,), follow=3))
    assert lines[5:7] == [
        "    5 findings that follow from it are not shown.",
        "    Known: Windows pads it. (WBP 7)",
    ]
    assert not any("follow" in line for line in found(finding(frames=(1,))))


def test_groups_go_by_severity_then_rule_then_requirement() -> None:
    other = RULES["PCQ101"]
    lines = found(
        finding(Severity.INFO, frames=(1,)),
        finding(Severity.WARNING, frames=(2,)),
        finding(Severity.WARNING, frames=(3,), outcome=Outcome.WARNED),
        finding(Severity.WARNING, other, frames=(4,), requirements=("PCQ-2.1-R04", "PCQ-5.1-R01", SIZE)),
        finding(Severity.WARNING, frames=(5,)),
        finding(Severity.WARNING, frames=(6,), requirements=("PCQ-2.1-R04",)),
    )
    heads = [line for line in lines if line.startswith(("  [bold]", "[bold")) or not line]
    assert heads == [
        "",
        "[bold yellow]warnings[/]",
        f"  [bold]PCQ101[/] {other.name}, fail of PCQ-2.1-R04 (and of PCQ-5.1-R01, {SIZE}), by the client",
        f"  [bold]PCQ501[/] {SIZES.name}, fail of PCQ-2.1-R04, by the client",
        f"  [bold]PCQ501[/] {SIZES.name}, fail of {SIZE}, by the server, 2 times",
        f"  [bold]PCQ501[/] {SIZES.name}, warn of {SIZE}, by the server",
        "",
        "[bold cyan]worth knowing[/]",
        f"  [bold]PCQ501[/] {SIZES.name}, fail of {SIZE}, by the server",
    ]


def test_a_group_folds_below_its_words() -> None:
    known = Deviation("WBP 7", "Windows pads it with zeros up to eight bytes.")
    long = finding(
        frames=tuple(range(1000, 1009)),
        deviation=known,
        follow=2,
        message="PCQ501 said that the size of the whole buffer was wrong",
        confidence=Confidence.LOW,
    )
    lines = found(long, width=44)
    indents = [len(line) - len(line.lstrip()) for line in lines]
    assert lines[2].startswith("  [bold]PCQ501[/] ")
    assert lines[2].count("[bold]") == 1
    words = [line.strip() for line in lines]
    heads = ("PCQ501 said", "IMPLIED", "2 findings", "Known", "frames")
    starts = [words.index(next(word for word in words if word.startswith(text))) for text in heads]
    ends = [*starts[1:], len(lines)]
    for start, end, deeper in zip(starts, ends, (4, 6, 4, 6, 8), strict=True):
        assert indents[start:end] == [4, *[deeper] * (end - start - 1)], lines[start:end]
        assert end - start > 1
    assert indents[3 : starts[0]] == [4] * (starts[0] - 3)
    assert max(map(len, lines[3:])) <= 44


def coverage(requirement: str, **counts: int) -> Coverage:
    made = Coverage(catalogue()[requirement])
    for name, count in counts.items():
        made.counts[Outcome[name]] = count
    return made


def test_coverage_is_counted_by_section() -> None:
    by_section = {
        "PCQ-2.1-R04": coverage("PCQ-2.1-R04", FAILED=1),
        "PCQ-2.1-R05": coverage("PCQ-2.1-R05", WARNED=2),
        "PCQ-5.1-R01": coverage("PCQ-5.1-R01"),
        SIZE: coverage(SIZE, PASSED=3),
    }
    by_section["PCQ-2.1-R04"].doubt("no key", 3)
    by_section[SIZE].doubt("no key", 1)
    by_section[SIZE].doubt("another reason of more words than a line has", 1)
    lines = list(
        view(coverage=by_section, unmatched=("one", "two of more words than a line has"), accepted=2).lines(64)
    )
    at = next(number for number, line in enumerate(lines) if line.startswith("[bold]coverage"))
    assert lines[at:] == [
        "[bold]coverage          pass  fail  warn  not exercised  inconclusive  untestable[/]",
        "MS-PCQ 2.1           0[red]     1[/][yellow]     1[/]              0             0           0",
        "MS-PCQ 2.2.4.7       1     0     0              0             0           0",
        "not exercised by the capture: MS-PCQ 5.1",
        "[yellow]inconclusive for 2 requirements, in whole or in part: no key[/]",
        "[yellow]inconclusive for 1 requirement, in whole or in part: another[/]",
        "[yellow]    reason of more words than a line has[/]",
        "[yellow]the baseline accepts what is not found: one[/]",
        "[yellow]the baseline accepts what is not found: two of more words than a[/]",
        "[yellow]    line has[/]",
        "",
        "[bold]nothing found; 2 accepted by the baseline; 2 of its entries[/]",
        "[bold]    matched nothing; 4 requirements: 1 pass, 1 fail, 1 warn, 1[/]",
        "[bold]    not exercised, 0 inconclusive, 0 untestable[/]",
    ]
    assert list(view(coverage={}).lines(None))[-3].startswith("[bold]coverage    pass")


@pytest.mark.parametrize(
    ("severities", "words"),
    [
        ((), "nothing could be judged"),
        ((Severity.ERROR,), "1 error"),
        ((Severity.ERROR, Severity.ERROR), "2 errors"),
        ((Severity.INFO, Severity.WARNING), "1 warning, 1 info"),
        ((Severity.INFO, Severity.INFO, Severity.ERROR), "1 error, 2 info"),
    ],
)
def test_totals_are_by_severity(severities: tuple[Severity, ...], words: str) -> None:
    lines = list(view(*(finding(severity, frames=(1,)) for severity in severities)).lines(None))
    assert lines[-1].startswith(f"[bold]{words}; 2 requirements: ")


def test_the_matrix_numbers_captures_by_their_last_digit() -> None:
    names = tuple(f"{number}.pcap" for number in range(1, 12))
    verdicts = [
        {"PCQ-2.1-R04": coverage("PCQ-2.1-R04", PASSED=number % 2), SIZE: coverage(SIZE)} for number in range(11)
    ]
    wide = list(MatrixView(names, verdicts).lines(None))
    assert wide[:2] == ["  1  1.pcap", "  2  2.pcap"]
    assert wide[10:15] == [" 11  11.pcap", "", wide[12], "", "[bold]requirement      12345678901[/]"]
    assert wide[12] == "[bold]+ pass   x fail   ! warn   . not-exercised   ? inconclusive   - untestable[/]"
    statements = {id: catalogue()[id].statement for id in verdicts[0]}
    assert wide[15:] == [
        f"[green]PCQ-2.1-R04      .+.+.+.+.+.  {statements['PCQ-2.1-R04']}[/]",
        f"[dim]{SIZE}  ...........  {statements[SIZE]}[/]",
        "",
        "[bold]1 of 2 requirements were exercised, 1 never[/]",
    ]
    narrow = list(MatrixView(names, verdicts).lines(60))
    assert narrow[15:17] == [
        "[green]PCQ-2.1-R04      .+.+.+.+.+.  The authentication service[/]",
        f"[green]{' ' * (15 + 11 + 4)}chosen encrypts everything and[/]",
    ]
