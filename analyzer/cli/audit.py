"""`pcq audit`: which requirement was broken, where; and `pcq explain`: what a rule looks for."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from analyzer.cli.options import CaptureReading, Format, Output, OutputFormat, reads_captures
from analyzer.core.errors import InputError

if TYPE_CHECKING:
    from analyzer.audit.rule import RulePage
    from analyzer.report.audit import AuditView

EXIT_CLEAN, EXIT_NOTHING, EXIT_WARNINGS, EXIT_FAILURES = 0, 3, 10, 11


class AuditFormat(StrEnum):
    text = "text"
    jsonl = "jsonl"
    json = "json"
    csv = "csv"
    parquet = "parquet"
    sarif = "sarif"
    junit = "junit"


class ProfileName(StrEnum):
    spec = "spec"
    windows = "windows"
    strict = "strict"


_SELECTION = (
    "a code or its beginning, a rule's name, a layer (buffers), a section (2.2.4.2), a requirement or its level (MUST)"
)


@reads_captures
def audit(
    reading: CaptureReading,
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="FILE...", help="Captures, as for timeline; with --matrix each is audited by itself."),
    ] = None,
    profile: Annotated[
        ProfileName,
        typer.Option(help="spec: the letter; windows: known deviations pass with a note; strict: warnings fail too."),
    ] = ProfileName.windows,
    select: Annotated[list[str] | None, typer.Option("--select", help=f"Only these rules: {_SELECTION}.")] = None,
    ignore: Annotated[list[str] | None, typer.Option("--ignore", help="Not these rules, named likewise.")] = None,
    baseline: Annotated[
        Path | None, typer.Option("--baseline", help="Findings that are accepted: told only as a number.")
    ] = None,
    new_baseline: Annotated[
        Path | None,
        typer.Option("--write-baseline", help="Write what is found now as accepted, and print nothing else."),
    ] = None,
    matrix: Annotated[bool, typer.Option("--matrix", help="Requirement by requirement over several captures.")] = False,
    list_rules: Annotated[bool, typer.Option("--list", help="List the rules, and read no capture.")] = False,
    output_format: Annotated[
        AuditFormat, typer.Option("--format", help="How to print it; parquet needs -o.")
    ] = AuditFormat.text,
    output: Output = None,
) -> None:
    """Every requirement of MS-PCQ: kept or broken, in which call, at which byte. Exit 10 for warnings, 11 for failures."""
    from analyzer.audit.engine import Audit, Profile
    from analyzer.audit.engine import select as selected
    from analyzer.audit.rule import rule_pages

    pages = selected(rule_pages(), select or (), ignore or ())
    if not pages:
        raise InputError("no rule is left of this selection", hint="`pcq-analyzer audit --list` shows them all")
    if list_rules:
        _list(pages, output_format, output)
        return
    if not files:
        raise typer.BadParameter("a capture is needed (or --list)", param_hint="FILE...")
    if matrix:
        _matrix(reading, files, Profile(profile.value), pages, output_format, output)
        return
    from analyzer.audit.baseline import read_baseline, write_baseline
    from analyzer.report.audit import AuditView
    from analyzer.report.verdict import nothing_found

    analysis = reading.analysis(files)
    accepted = read_baseline(baseline) if baseline is not None else frozenset()
    judged = Audit(analysis, profile=Profile(profile.value), pages=pages, baseline=accepted)
    if new_baseline is not None:
        count = write_baseline(new_baseline, judged.findings())
        typer.echo(f"{new_baseline}: {count} kinds of findings, to be looked through and given reasons", err=True)
        return
    view = AuditView(judged)
    _write(view, pages, output_format, output)
    if (sentence := nothing_found(analysis)) is not None:
        typer.echo(sentence, err=True)
        raise typer.Exit(EXIT_NOTHING)
    raise typer.Exit(_exit_of(view))


def _exit_of(view: AuditView) -> int:
    from analyzer.audit.verdicts import Outcome

    if view.outcomes[Outcome.FAILED]:
        return EXIT_FAILURES
    return EXIT_WARNINGS if view.outcomes[Outcome.WARNED] else EXIT_CLEAN


def _write(view: AuditView, pages: tuple[RulePage, ...], form: AuditFormat, path: Path | None) -> None:
    from analyzer.report.output import dumps, write, write_document

    if form is AuditFormat.sarif:
        from analyzer.report.sarif import sarif_log

        write_document(dumps(sarif_log(view, pages)) + b"\n", path, view.inputs())
    elif form is AuditFormat.junit:
        from analyzer.report.junit import junit_xml

        write_document(junit_xml(view), path, view.inputs())
    else:
        write(view, form.value, path)


def _plain(form: AuditFormat) -> str:
    """The form, for what is no list of findings."""
    if form in (AuditFormat.sarif, AuditFormat.junit):
        raise typer.BadParameter(f"{form.value} is for findings", param_hint="--format")
    return form.value


def _list(pages: tuple[RulePage, ...], form: AuditFormat, path: Path | None) -> None:
    from analyzer.report.output import write
    from analyzer.report.rule_pages import RuleList

    write(RuleList(pages), _plain(form), path)


def _matrix(
    reading: CaptureReading,
    files: list[str],
    profile: object,
    pages: tuple[RulePage, ...],
    form: AuditFormat,
    path: Path | None,
) -> None:
    from analyzer.audit.engine import Audit, Profile
    from analyzer.report.audit import MatrixView
    from analyzer.report.output import write

    assert isinstance(profile, Profile)
    shown = _plain(form)
    coverages = []
    for file in files:
        judged = Audit(reading.analysis([file]), profile=profile, pages=pages)
        for _ in judged.findings():
            pass  # the matrix shows verdicts only
        coverages.append(judged.coverage)
    write(MatrixView(tuple(files), coverages), shown, path)


def explain(
    rules: Annotated[list[str], typer.Argument(metavar="CODE...", help="Codes or names of rules, or requirements.")],
    output_format: OutputFormat = Format.text,
    output: Output = None,
) -> None:
    """What a rule looks for, why it matters, what it flags and accepts, and when it stays silent."""
    from analyzer.audit.engine import select as selected
    from analyzer.audit.rule import rule_pages
    from analyzer.report.output import write
    from analyzer.report.rule_pages import RuleList

    for word in rules:
        if not selected(rule_pages(), [word], ()):
            raise InputError(f"there is no rule {word}", hint="`pcq-analyzer audit --list` shows them all")
    write(RuleList(selected(rule_pages(), rules, ()), whole=True), output_format.value, output)
