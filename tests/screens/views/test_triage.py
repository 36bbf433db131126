"""`triage` as text: a file with one more of everything than is listed, and the totals over all files."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from analyzer.core.errors import InputError
from analyzer.questions.observations.triage_records import Triaged, unreadable
from analyzer.results.analysis import Analysis
from analyzer.results.records.observation import Observation
from analyzer.results.records.process import ProcessMark
from analyzer.results.records.statistics import Who
from analyzer.results.records.triage import TriageFile, TriageHost, TriageProcess, TriageSummary
from analyzer.screens.views import triage
from analyzer.screens.views.triage import (
    _MOST_APART,
    _MOST_LISTS,
    _SHOWN_FRAMES,
    _SHOWN_NAME,
    _SHOWN_PROCESSES,
    _SHOWN_WHO,
    Triage,
    _file_lines,
    _finding_lines,
    _process_lines,
    _summary_lines,
)
from tests.records import record_of
from tests.written import is_as_written

TEXT = Path(__file__).parent / "texts" / "triage.txt"
# 2026-11-22T10:00:00Z
AT = 1_795_341_600_000_000_000
SECOND = 1_000_000_000


def who(number: int) -> Who:
    return Who(f"LAB\\user{number}" if number else None, f"10.0.0.{number}", "10.0.1.1")


def file_of(**changes: Any) -> TriageFile:
    known = {"file": "a.pcap", "outcome": "performance traffic", "text": "some calls", "frames": 9, "calls": 1}
    times = {"first_time_ns": AT, "last_time_ns": AT, "performance_calls": 1}
    return record_of(TriageFile, **known | times | changes)


def finding_of(**changes: Any) -> Observation:
    said = {"severity": "medium", "kind": "service", "text": "a service was made", "outcome": "answered"}
    known = {"file": "a.pcap", "count": 1, "call_numbers": (1,), "command": "pcq-analyzer stats a.pcap"}
    return record_of(Observation, **said | known | changes)


def process_of(name: str = "evil.exe", pid: int | None = 7, *seen_by: Who, **changes: Any) -> TriageProcess:
    known = {"name": name, "pid": pid, "seen_by": seen_by or (who(1),), "server_ip": "10.0.1.1", "answers": 1}
    return record_of(TriageProcess, **known | {"first_time_ns": AT, "last_time_ns": AT + 65 * SECOND} | changes)


def test_what_is_listed_of_each() -> None:
    """A file fits on two screens, whatever is in it; `stats`, which the lines name, has the rest."""
    assert (_SHOWN_PROCESSES, _SHOWN_NAME, _SHOWN_FRAMES, _SHOWN_WHO) == (60, 32, 6, 5)
    assert (_MOST_LISTS, _MOST_APART) == (1000, 20)


def summary_of(**changes: Any) -> TriageSummary:
    known = {"files": 2, "with_performance_traffic": 1, "process_lists": (who(0), who(1))}
    return record_of(TriageSummary, **known | changes)


def lines_of(*given: Observation, width: int | None = None, is_whole: bool = True, **changes: Any) -> Iterator[str]:
    return _file_lines(Triaged(file_of(**changes), given), width, is_whole=is_whole)


FIVE = tuple(who(number) for number in range(1, 6))
MANY = tuple(range(10_000, 10_006))
LONG = "words that fill more than a line of text"
PROCESSES = (
    process_of("evil.exe", 7, who(1), parent_pid=4, parent_name="System"),
    process_of("a" * 33, None, who(0), who(1)),
    process_of("b" * 32, 12345, parent_pid=8, oddities=(ProcessMark("random", "no word"),)),
)
CASES: dict[str, Iterable[str]] = {
    **{f"a file of which is known: {outcome}": lines_of(outcome=outcome) for outcome in ("nothing", "unreadable")},
    **{
        f"a file without performance calls, with a finding of {severity}, {is_whole}": lines_of(
            finding_of(severity=severity), is_whole=is_whole, outcome="nothing", findings={severity: 1}
        )
        for severity in ("info", "medium")
        for is_whole in (False, True)
    },
    "who asked whom and when": lines_of(
        outcome="unclear",
        first_performance_ns=AT,
        last_performance_ns=AT + 1_234_500 * SECOND // 1000,
        who=(who(0), *FIVE),
        servers=(TriageHost("10.0.1.1", "SRV1"),),
        decrypted_with=("a key", "another"),
    ),
    **{
        f"a server has no name: {servers}": lines_of(who=FIVE, servers=servers, first_performance_ns=AT)
        for servers in ((), (TriageHost("10.0.1.1", None),), (TriageHost("10.0.1.1", "10.0.1.1"),))
    },
    "a file folds below its words": lines_of(
        width=30,
        text="calls of many words that fill a line",
        first_performance_ns=AT,
        last_performance_ns=AT,
        who=(who(1),),
    ),
    "a file without calls folds": lines_of(width=24, outcome="nothing", text="nothing that anybody here looks for"),
    **{
        f"a finding in {len(frames)} frames": _finding_lines(finding_of(frames=frames), None)
        for frames in ((), (5,), (5, 6), tuple(range(1, 7)), tuple(range(1, 8)))
    },
    "a finding of which only the begin is known": _finding_lines(finding_of(first_time_ns=AT), None),
    **{
        f"a finding over {span} ns": _finding_lines(finding_of(first_time_ns=AT, last_time_ns=AT + span), None)
        for span in (0, SECOND // 10 - 1, SECOND // 10)
    },
    "a finding with time and frame": _finding_lines(
        finding_of(first_time_ns=AT, last_time_ns=AT + 2000 * SECOND, frames=(1,)), None
    ),
    **{
        f"a finding of {severity} folds": _finding_lines(finding_of(severity=severity, text=LONG, frames=MANY), 32)
        for severity in ("high", "info")
    },
    "processes are a table of who saw them": _process_lines(PROCESSES, "a.pcap"),
    "no processes": _process_lines((), "a.pcap"),
    **{
        f"all files together, {changes}, {width}": _summary_lines(summary_of(**changes), width)
        for changes in ({}, {"files": 1}, {"unclear": 1}, {"unreadable": 1}, {"findings": {"high": 1, "info": 2000}})
        for width in (None, 30)
    },
}


def test_all_lines_are_in_one_text() -> None:
    """`PCQ_WRITE_PAGES=1 pytest -n 0 THIS_FILE` writes it."""
    is_as_written(TEXT, "".join("\n  ".join([name, *lines]) + "\n" for name, lines in CASES.items()))


@pytest.mark.parametrize(
    ("count", "last"), [(60, "   59          p59"), (61, "  and 1 more: pcq-analyzer processes a.pcap")]
)
def test_so_many_processes_are_listed(count: int, last: str) -> None:
    found = tuple(process_of(f"p{number}", number) for number in range(count))
    lines = list(_process_lines(found, "pcq-analyzer processes a.pcap"))
    assert lines[-1].startswith(last)
    assert len(lines) == 1 + 1 + 1 + 60 + (count - 60)
    assert lines[62].startswith("   59          p59")


def pretended(monkeypatch: pytest.MonkeyPatch, found: dict[str, Triaged]) -> Triage:
    """Triage of files of which is known what they amount to."""

    class Read:
        def __init__(self, file: str) -> None:
            self.capture, self.files = self, (file,)

    def analysed(file: str) -> Analysis:
        if file == "lost":
            raise InputError("lost: no such file")
        return Read(file)

    monkeypatch.setattr(triage, "triage", lambda analysis, file, nothing: found[file])
    monkeypatch.setattr(triage, "no_performance_call_words", lambda analysis: None)
    return Triage((*found, "lost", "lost"), analysed, ("x*: no file",))


def test_the_summary_counts_what_was_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    lists = tuple(finding_of(kind="process-list", severity="high", who=who(number)) for number in (1, 2, 1))
    others = (finding_of(who=who(3)), finding_of(kind="process-list", severity="info"))
    found = {"a": Triaged(file_of(), (*lists, *others)), "b": Triaged(file_of(outcome="unclear"))}
    view = pretended(monkeypatch, found)
    assert view.summary == record_of(TriageSummary)
    records = list(view.records())
    lost = [unreadable("lost", "lost: no such file").file] * 2
    first = unreadable("x*", "x*: no file").file
    assert records[:-1] == [first, found["a"].file, *lists, *others, found["b"].file, *lost]
    counts = {"files": 5, "with_performance_traffic": 1, "unclear": 1, "unreadable": 3}
    severities = {"high": 3, "medium": 1, "info": 1}
    assert records[-1] == view.summary
    assert view.summary == TriageSummary(**counts, findings=severities, process_lists=(who(1), who(2)))


def test_files_are_read_at_once_where_that_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    view = pretended(monkeypatch, {"a": Triaged(file_of(outcome="nothing"))})
    view.read()
    assert (view.summary.files, view.summary.unreadable) == (4, 3)
    monkeypatch.setattr(view, "_analysed", None)
    assert list(view.lines(None)) == [
        "[yellow]x*: no file[/]",
        "[dim]some calls[/]",
        "[yellow]lost: no such file[/]",
        "[yellow]lost: no such file[/]",
        "",
        "[bold]4 files: 0 with performance traffic, 3 unreadable; findings: none[/]",
    ]
    assert view.summary.files == 4


def test_one_file_has_no_totals(monkeypatch: pytest.MonkeyPatch) -> None:
    only = Triage((), lambda file: None, ("x*: no file",))
    assert list(only.lines(None)) == ["[yellow]x*: no file[/]"]
    assert Triage(("a", "-"), lambda file: None).inputs() == ("a",)


@pytest.mark.parametrize(("count", "listed"), [(10, 10), (11, 10)])
def test_so_many_lists_of_processes_are_remembered(count: int, listed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(triage, "_MOST_LISTS", 10)
    findings = tuple(finding_of(kind="process-list", who=who(number)) for number in range(count))
    view = pretended(monkeypatch, {"a": Triaged(file_of(), findings)})
    view.read()
    assert len(view.summary.process_lists) == listed


def test_very_many_files_are_told_of_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand files have a line for each machine and kind, which says in how many files that is."""
    names = tuple(f"{number:02}.pcap" for number in range(_MOST_APART + 1))

    def lines(files: tuple[str, ...]) -> list[str]:
        def told(name: str) -> Triaged:
            found = finding_of(file=name, who=who(1), server_name="SRV", severity="high")
            return Triaged(file_of(file=name, findings={"high": 1}), (found,))

        return list(pretended(monkeypatch, {name: told(name) for name in files}).lines(None))

    together = lines(names)
    # What could not be read stands before the machines.
    at = together.index("  SRV (10.0.1.1)")
    assert together[at : at + 2] == [
        "  SRV (10.0.1.1)",
        "[bold red]    high   [/]service created; by LAB\\user1 from 10.0.0.1; 21 calls; in 21 files, the first 00.pcap",
    ]
    assert sum("service created" in line for line in together) == 1
    assert sum("service created" in line for line in lines(names[3:])) == _MOST_APART - 2  # two more cannot be read
