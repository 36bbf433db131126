"""`pcq audit`: which requirement was broken, where."""

from __future__ import annotations

from collections.abc import Callable, Collection
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer
from msgspec import Struct

from analyzer.commands.shared.capture_reading import CaptureReading
from analyzer.commands.shared.command_function import command
from analyzer.commands.shared.completion import complete_rule
from analyzer.commands.shared.exit_codes import EXIT_DONE, EXIT_FILES, EXIT_NOTHING, exit_of
from analyzer.commands.shared.options import CallSelection
from analyzer.commands.shared.result_writing import Writing
from analyzer.core.errors import InputError
from analyzer.core.output.gate import Destination, say, write_document

if TYPE_CHECKING:
    from analyzer.core.output.gate import Destination
    from analyzer.questions.audit.audit_engine import Audit
    from analyzer.questions.audit.findings_and_coverage import Accepted
    from analyzer.questions.audit.rule_registry import Rule, Triggered
    from analyzer.results.analysis import Analysis
    from analyzer.results.records.finding import CoverageVerdict
    from analyzer.screens.views.audit import AuditView

EXIT_WARNINGS, EXIT_FAILURES, EXIT_UNPROVEN = 10, 11, 12
_GRAVEST_FIRST = (EXIT_FAILURES, EXIT_WARNINGS, EXIT_FILES, EXIT_UNPROVEN, EXIT_NOTHING, EXIT_DONE)


class AuditFormat(StrEnum):
    text = "text"
    jsonl = "jsonl"
    json = "json"
    csv = "csv"
    parquet = "parquet"
    sarif = "sarif"
    junit = "junit"
    timesketch = "timesketch"
    ecs = "ecs"
    zeek = "zeek"


# What rules and matrices have, too.
_EVERYWHERE = (AuditFormat.text, AuditFormat.jsonl, AuditFormat.json, AuditFormat.csv, AuditFormat.parquet)


class ProfileName(StrEnum):
    spec = "spec"
    windows = "windows"
    strict = "strict"


class ActorName(StrEnum):
    client = "client"
    server = "server"
    either = "either"


class FailOn(StrEnum):
    """The mildest verdict that makes the `audit` command fail; each includes those before it."""

    fail = "fail"
    warn = "warn"
    inconclusive = "inconclusive"
    not_exercised = "not-exercised"

    @property
    def failing(self) -> tuple[CoverageVerdict, ...]:
        order: tuple[CoverageVerdict, ...] = ("fail", "warn", "inconclusive", "not-exercised")
        return order[: order.index(self.value) + 1]


def _percentage(text: str | float) -> float:
    """Reads the share that an option of `audit` gives as `80` or `80%`."""
    try:
        share = float(str(text).removesuffix("%")) / 100
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise typer.BadParameter("a percentage from 0 to 100 is needed, such as 80%")
    return share


_SELECTION = "A rule is named by its name, a layer (buffers), a section (2.2.4.2), a requirement or its level (MUST)."


AuditFiles = Annotated[
    list[str] | None,
    typer.Argument(metavar="FILE...", help="Captures, globs; - is stdin. With --matrix each is audited by itself."),
]
ProfileOption = Annotated[
    ProfileName,
    typer.Option(
        help="spec, windows or strict. spec: the letter; windows: known deviations pass with a note; strict: warnings fail too."
    ),
]
ActorOption = Annotated[
    ActorName,
    typer.Option(help="Judge only the client or the server. What the other side provoked is then no failure."),
]
FailOnOption = Annotated[
    FailOn,
    typer.Option(
        "--fail-on",
        help="Mildest verdict that fails: fail, warn, ... Also inconclusive and not-exercised; each includes those before it.",
    ),
]
MinCoverage = Annotated[
    float | None,
    typer.Option(
        "--min-coverage",
        metavar="N%",
        parser=_percentage,
        help="Exit 12 where fewer requirements were judged. Only requirements that traffic can show count.",
    ),
]
AllowUndecrypted = Annotated[bool, typer.Option("--allow-undecrypted", help="Do not fail where nothing was decrypted.")]
SelectedRules = Annotated[
    list[str] | None,
    typer.Option(
        "--select", autocompletion=complete_rule, help=f"Only these rules: PCQ101, or PCQ1 for all. {_SELECTION}"
    ),
]
IgnoredRules = Annotated[
    list[str] | None,
    typer.Option("--ignore", autocompletion=complete_rule, help="Not these rules. Named as for --select."),
]
BaselineFile = Annotated[Path | None, typer.Option("--baseline", help="Findings that are accepted: only counted.")]
NewBaseline = Annotated[
    Path | None,
    typer.Option("--write-baseline", help="Write what is found now as accepted. Nothing else is printed."),
]
TriggeredList = Annotated[
    Path | None,
    typer.Option(
        "--triggered",
        help="List of what a probe triggered. A requirement on it is inconclusive where the capture lacks it.",
    ),
]
MatrixFlag = Annotated[bool, typer.Option("--matrix", help="Compare captures: a row for each requirement.")]
ListFlag = Annotated[bool, typer.Option("--list", help="List the rules, and read no capture.")]
AuditFormatOption = Annotated[
    AuditFormat,
    typer.Option(
        "--format",
        metavar="FORMAT",
        is_eager=True,
        help="text, jsonl, json, csv, sarif, junit, or parquet. parquet needs -o. timesketch, ecs, zeek: for these programs.",
    ),
]


@command
def audit(
    reading: CaptureReading,
    writing: Writing,
    selection: CallSelection,
    files: AuditFiles = None,
    profile: ProfileOption = ProfileName.windows,
    actor: ActorOption = ActorName.either,
    fail_on: FailOnOption = FailOn.warn,
    min_coverage: MinCoverage = None,
    allow_undecrypted: AllowUndecrypted = False,
    select: SelectedRules = None,
    ignore: IgnoredRules = None,
    baseline: BaselineFile = None,
    new_baseline: NewBaseline = None,
    triggered: TriggeredList = None,
    matrix: MatrixFlag = False,
    list_rules: ListFlag = False,
    output_format: AuditFormatOption = AuditFormat.text,
) -> None:
    """Every requirement of MS-PCQ: kept or broken, in which call, at which byte, by which side.

    Exit 10 for warnings, 11 for failures, 12 where less was judged than was asked for.
    """
    from analyzer.questions.audit.findings_and_coverage import read_baseline
    from analyzer.questions.audit.rule_registry import every_rule, read_triggered, select_rules

    rules = select_rules(every_rule(), select or (), ignore or ())
    if list_rules:
        _list(rules, output_format, writing)
        return
    if not files:
        raise typer.BadParameter("a capture is needed (or --list)", param_hint="FILE...")
    accepted: tuple[Accepted, ...] = read_baseline(baseline) if baseline is not None else ()
    done = read_triggered(triggered) if triggered is not None else {}
    chosen = profile.value, actor.value

    def audited(analysis: Analysis) -> Audit:
        return _audited(selection.selected_analysis(analysis), rules, accepted, done, *chosen)

    writing = writing.sparing([path for path in (baseline, triggered) if path is not None])
    accepting = writing.beside(new_baseline)
    contract = _Contract(fail_on, min_coverage, allow_undecrypted)
    if matrix:
        raise typer.Exit(_matrix(reading, files, audited, contract, output_format, writing))
    from analyzer.capture.first_bytes import is_case
    from analyzer.screens.views.audit import AuditView

    judged = audited(reading.analysis(files))
    if new_baseline is not None:
        _write_baseline(judged, new_baseline, accepting)
    view = AuditView(judged)
    if view.undecrypted is not None:
        say(view.undecrypted)
    lost = _write(view, rules, fail_on, output_format, writing, [] if any(map(is_case, files)) else files)
    codes = {contract.exit_of(judged), EXIT_FILES if lost else EXIT_DONE}
    raise typer.Exit(next(code for code in _GRAVEST_FIRST if code in codes))


def _audited(
    analysis: Analysis,
    rules: tuple[Rule, ...],
    accepted: tuple[Accepted, ...],
    triggered: Triggered,
    profile: str,
    actor: str,
) -> Audit:
    from analyzer.questions.audit.audit_engine import Audit, Profile
    from analyzer.questions.audit.rule_verdicts import Actor

    return Audit(
        analysis,
        profile=Profile(profile),
        rules=rules,
        baseline=accepted,
        actor=Actor(actor),
        triggered=triggered,
    )


def _write_baseline(judged: Audit, path: Path, destination: Destination) -> NoReturn:
    """Writes a baseline that accepts the findings of an audit, and ends the `audit` command."""
    from analyzer.questions.audit.findings_and_coverage import baseline_json

    document, count = baseline_json(judged.findings())
    write_document(document, destination)
    say(f"{path}: {count} kinds of findings, to be looked through and given reasons")
    raise typer.Exit(exit_of(judged.analysis))


class _Contract(Struct, frozen=True):
    """The demands of a user on an audit, such as the mildest verdict that fails it; decides the exit code of `audit`."""

    fail_on: FailOn
    min_coverage: float | None
    allow_undecrypted: bool

    def exit_of(self, judged: Audit) -> int:
        """Returns the exit code of an exhausted audit: violations come before lacking judgements."""
        from analyzer.questions.audit.rule_verdicts import Outcome
        from analyzer.screens.viewmodel.unread import nothing_decrypted

        code = exit_of(judged.analysis)
        if judged.found[Outcome.FAILED]:
            return EXIT_FAILURES
        if judged.found[Outcome.WARNED] and "warn" in self.fail_on.failing:
            return EXIT_WARNINGS
        if code != EXIT_DONE:
            return code
        if not self.allow_undecrypted and nothing_decrypted(judged.analysis) is not None:
            return EXIT_UNPROVEN
        unproven = {"inconclusive", "not-exercised"} & set(self.fail_on.failing)
        if any(coverage.verdict in unproven for coverage in judged.coverage.values()):
            return EXIT_UNPROVEN
        if self.min_coverage is not None and judged.share_judged < self.min_coverage:
            say(f"{judged.share_judged:.1%} of the testable requirements were judged")
            return EXIT_UNPROVEN
        return EXIT_DONE


def _write(
    view: AuditView,
    rules: tuple[Rule, ...],
    fail_on: FailOn,
    form: AuditFormat,
    writing: Writing,
    captures: Collection[str],
) -> list[str]:
    """Writes the findings of an audit. Returns sentences about captures that could not be read a second time."""
    from analyzer.core.output.json import line

    lost: list[str] = []
    if form is AuditFormat.sarif:
        from analyzer.capture.frame_offsets import frame_offsets
        from analyzer.screens.formats.sarif import sarif_log

        # What a case was made from may lie anywhere, or nowhere.
        locate = frame_offsets if captures else lambda path, numbers: {}
        write_document(line(sarif_log(view, rules, locate, lost, writing.evidence())), writing.destination)
        for sentence in lost:
            say(sentence)
    elif form is AuditFormat.junit:
        from analyzer.screens.formats.junit import junit_xml

        write_document(junit_xml(view, fail_on.failing, writing.evidence()), writing.destination)
    else:
        writing.write(view, form.value)
    return lost


def _plain(form: AuditFormat) -> str:
    """Returns the output form of an `audit` that lists no findings; refuses forms that are for findings only."""
    if form not in _EVERYWHERE:
        raise typer.BadParameter(f"{form.value} is for findings", param_hint="--format")
    return form.value


def _list(rules: tuple[Rule, ...], form: AuditFormat, writing: Writing) -> None:
    from analyzer.screens.views.docs import RuleList

    writing.write(RuleList(rules), _plain(form))


def _matrix(
    reading: CaptureReading,
    files: list[str],
    audited: Callable[[Analysis], Audit],
    contract: _Contract,
    form: AuditFormat,
    writing: Writing,
) -> int:
    """Audits captures one by one and writes the matrix of their requirements. Returns the gravest exit code."""
    from analyzer.screens.views.audit import MatrixView

    shown = _plain(form)
    coverages, names, codes = [], [], {EXIT_DONE}
    failures: list[InputError] = []
    for file in files:
        try:
            judged = audited(reading.analysis([file]))
        except InputError as error:
            say(str(error))
            failures.append(error)
            codes.add(EXIT_FILES)
            continue
        names.append(file)
        for _ in judged.findings():
            pass  # the matrix shows verdicts only
        coverages.append(judged.coverage)
        codes.add(contract.exit_of(judged))
    if not names:
        raise failures[0]
    writing.write(MatrixView(tuple(names), coverages), shown)
    return next(code for code in _GRAVEST_FIRST if code in codes)
