"""Completes values of options in shells: rules, pages of the documentation, interfaces, and what the captures on the command line
hold.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from analyzer.questions.filters.filterable_fields import FilterField
    from analyzer.results.analysis import Analysis


# ------------------------------------------------------------------------------------------------------------------- pages


_PACKAGE = Path(__file__).resolve().parents[2]
MANUAL, LIMITS = "man", "limits"
# Names that are no page, with their titles.
MADE = {MANUAL: "pcq-analyzer(1), for man -l -", LIMITS: "What bounds an analysis, and the option for it"}


def pages() -> dict[str, Path]:
    """Returns by name the pages of the documentation, which complete what is typed in a shell: those in the installed package, or
    those of the checkout."""
    installed = _PACKAGE / "_docs"
    if installed.is_dir():
        found = list(installed.glob("*.md"))
    else:
        found = [
            *(_PACKAGE.parent / "docs").glob("*.md"),
            _PACKAGE.parent / "README.md",
            _PACKAGE.parent / "CHANGELOG.md",
        ]
    return {path.stem.lower(): path for path in sorted(found)}


# -------------------------------------------------------------------------------------------------------------- completion


# Larger captures are not read for a completion: that would take too long.
MOST_BYTES = 16 << 20


def complete_rule(incomplete: str) -> Iterator[tuple[str, str]]:
    """Completes codes of audit rules with their titles, by the beginning of either the code or the name."""
    from analyzer.questions.audit.rule_registry import every_rule

    for rule in every_rule():
        if rule.code.startswith(incomplete):
            yield rule.code, rule.title
        elif incomplete and rule.name.startswith(incomplete):
            yield rule.name, rule.title


def complete_page(incomplete: str) -> Iterator[tuple[str, str]]:
    """Completes pages of the documentation, and rules."""

    yield from ((name, "") for name in (*pages(), *MADE) if name.startswith(incomplete))
    yield from complete_rule(incomplete) if incomplete else ()


def complete_interface(_: typer.Context, incomplete: str) -> list[str]:
    """Returns the names of interfaces that complete what was typed."""
    from analyzer.transport.rpc.rpc_names import interface_names

    return sorted(name for name in interface_names() if name.casefold().startswith(incomplete.casefold()))


def complete_filter(
    fields: Callable[[], Mapping[str, FilterField]], _: typer.Context, incomplete: str
) -> Iterator[tuple[str, str]]:
    """Completes the last word of a filter with those of `fields` that begin like it."""
    last = re.search(r"[\w.]*$", incomplete)
    assert last is not None
    before = incomplete[: last.start()]
    for field in fields().values():
        if field.name.startswith(last[0]):
            yield before + field.name, field.meaning


def complete_machine(context: typer.Context, incomplete: str) -> Iterator[tuple[str, str]]:
    """Completes addresses and names of machines in the captures on the command line."""
    from analyzer.questions.statistics.hosts import host_records

    if (analysis := _analysis(context)) is None:
        return
    found: dict[str, str] = {}
    for host in host_records(analysis):
        found.setdefault(host.ip, ", ".join(name.name for name in host.names))
        for name in host.names:
            found.setdefault(name.name, host.ip)
    yield from _beginning(found, incomplete)


def complete_account(context: typer.Context, incomplete: str) -> Iterator[tuple[str, str]]:
    """Completes accounts in the captures on the command line."""
    if (analysis := _analysis(context)) is None:
        return
    accounts = {one.auth.user for one in analysis.calls.contexts_by_last_call()} | {
        identity.account for one in analysis.sessions for identity in one.identities
    }
    found = {account: "" for account in accounts if account is not None}
    found |= {name: account for account in found if (name := account.rpartition("\\")[2]) != account}
    yield from _beginning(found, incomplete)


def complete_counter(context: typer.Context, incomplete: str) -> Iterator[tuple[str, str]]:
    r"""Completes counter paths: those of the captures on the line, as `\Object(*)\Counter`; without a capture the objects that
    Windows has by itself."""
    from analyzer.questions.series.reading_batches import points
    from analyzer.results.reported_names.counter_name_tables import WELL_KNOWN

    analysis = _analysis(context)
    if analysis is None:
        yield from _beginning({f"\\{name}(*)\\*": "" for name in WELL_KNOWN.values()}, incomplete)
        return
    found: dict[str, str] = {}
    for point in points(analysis):
        path = re.sub(r"\([^\\]*\)\\", r"(*)\\", point.series.local_path)
        found.setdefault(path, point.series.unit or "")
    yield from _beginning(found, incomplete)


def _beginning(found: dict[str, str], incomplete: str) -> Iterator[tuple[str, str]]:
    wanted = incomplete.casefold()
    yield from ((text, meaning) for text, meaning in sorted(found.items()) if text.casefold().startswith(wanted))


def _analysis(context: typer.Context) -> Analysis | None:
    """Reads for completion the captures that stand on the command line, without keys; None if there are none, or they are large."""
    from analyzer.core.errors import InputError
    from analyzer.pipeline.run import analyze

    files = [Path(name) for name in context.params.get("files") or () if name != "-"]
    with suppress(OSError, InputError):
        if files and sum(path.stat().st_size for path in files) <= MOST_BYTES:
            return analyze(files, pdus=False)
    return None
