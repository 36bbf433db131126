"""Writes the dataset's tables that belong to no single conversation: hosts, coverage, and problems of files and of the whole."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl
from msgspec import UnsetType
from msgspec.structs import replace

from analyzer.collect.dataset_manifest import Facts
from analyzer.collect.dataset_schemas import TABLES
from analyzer.collect.render_stage import NO_DAY, NO_SERVER, partition, write_table
from analyzer.collect.stage_tasks_and_facts import ConversationFacts, FileFacts, Job, Judged, TableFile
from analyzer.core.events import Problem
from analyzer.core.frame_ids import file_of, frame_id, number_of
from analyzer.core.output.file_store import Store
from analyzer.interfaces.call_contents.client_programs import shows_most
from analyzer.questions.audit.findings_and_coverage import Coverage, coverage_record
from analyzer.questions.audit.rule_registry import catalogue, every_rule
from analyzer.questions.audit.rule_verdicts import Outcome
from analyzer.questions.statistics.hosts import MOST_FRAMES, contradiction, marks_in, numbered_hosts
from analyzer.results.records.capture_records import ProblemRecord
from analyzer.results.records.finding import CoverageRecord
from analyzer.results.records.session_and_host import HostMark, HostName, HostProgram, HostRecord
from analyzer.screens.formats.record_tables import table_of_records
from analyzer.transport.packet.frame_tallies import Tallies

_IN_A_FILE = "name resolution in the capture file"
# The same limit as in an audit.
_MOST_REASONS = 5


def write_shared(
    store: Store,
    job: Job,
    facts: Facts,
    sites: Mapping[int, int],
    names: Mapping[int, str],
    problems: Sequence[Problem],
) -> list[TableFile]:
    """Writes the dataset's hosts, coverage and problems tables, each as one file of the run. `sites` has the site of each file,
    `names` the name of each site."""
    hosts = [
        table_of_records(HostRecord, of_site).with_columns(pl.lit(names[site]).alias("site"))
        for site, of_site in hosts_of(facts, sites).items()
    ]
    of_whole = map(_problem_record, [*problems_of(facts.files, facts.conversations), *problems])
    tables = (
        ("hosts", "hosts", pl.concat(hosts) if hosts else pl.DataFrame(schema=dict(TABLES["hosts"]))),
        ("coverage", "coverage", table_of_records(CoverageRecord, coverage_of(one.coverage for one in facts.rows))),
        ("problems", f"problems/{partition(NO_DAY, NO_SERVER)}", table_of_records(ProblemRecord, of_whole)),
    )
    return [write_table(store, job, name, f"{place}/all-{{}}.parquet", table) for name, place, table in tables]


def hosts_of(facts: Facts, sites: Mapping[int, int]) -> dict[int, list[HostRecord]]:
    """Returns the whole dataset's host records of each site, one a machine, from conversations and from the names that capture
    files carry."""
    found: dict[int, list[HostRecord]] = defaultdict(list)
    for one in facts.conversations:
        if one.rows is not None:
            found[sites[one.files[0]]] += one.rows.hosts
    nothing: dict[str, Any] = dict.fromkeys(("roles", "users", "claims", "os_versions", "dialects"), ())
    for file in facts.files:
        for ip, name in file.names.items():
            found[sites[file.number]].append(HostRecord(ip=ip, names=(HostName(name, _IN_A_FILE),), **nothing))
    return {site: list(merged_hosts(found[site])) for site in sorted(found)}


def merged_hosts(hosts: Iterable[HostRecord]) -> Iterator[HostRecord]:
    """Merges the host records of all conversations for the table of the whole dataset: one a machine, by address. Records with
    contradicting marks stay apart."""
    found: dict[str, list[HostRecord]] = {}
    for host in sorted(hosts, key=lambda host: (host.first_time_ns is None, host.first_time_ns or 0)):
        known = found.setdefault(host.ip, [])
        marks = marks_in(host)
        at = next((at for at in reversed(range(len(known))) if contradiction(marks_in(known[at]), marks) is None), None)
        if at is not None:
            known[at] = _both(known[at], host)
        else:
            apart = contradiction(marks_in(known[-1]), marks) if known else None
            known.append(replace(host, apart=apart))
    return numbered_hosts(host for ip in sorted(found) for host in found[ip])


def _both(one: HostRecord, other: HostRecord) -> HostRecord:
    """Merges two host records of one machine of the whole dataset; `other` begins no earlier."""
    times = one.last_time_ns, other.last_time_ns
    listed = (
        name
        for name in HostRecord.__struct_fields__
        if isinstance(getattr(one, name), tuple) and name not in ("marks", "programs")
    )
    marks: dict[tuple[str, str], HostMark] = {}
    for mark in (*one.marks, *other.marks):
        known = marks.get((mark.kind, mark.value))
        marks[mark.kind, mark.value] = mark if known is None else _shown_by_both(known, mark)
    return replace(
        one,
        **{name: tuple(dict.fromkeys((*getattr(one, name), *getattr(other, name)))) for name in listed},
        last_time_ns=max((time for time in times if time is not None), default=None),
        marks=tuple(marks.values()),
        programs=tuple(_joined((*one.programs, *other.programs))),
    )


def _joined(programs: Iterable[HostProgram]) -> Iterator[HostProgram]:
    """Merges the client programs of the whole dataset's host records, each once, with the connection that shows it best."""
    found: dict[str, list[HostProgram]] = {}
    for one in programs:
        found.setdefault(one.name, []).append(one)
    for name in sorted(found):
        most = min(found[name], key=lambda one: shows_most(one.alike, one.marks, _frame_ids(one)))
        yield replace(most, connections=sum(one.connections for one in found[name]))


def _frame_ids(program: HostProgram) -> tuple[int, ...]:
    assert not isinstance(program.frame_files, UnsetType)
    return tuple(map(frame_id, program.frame_files, program.frames))


def _shown_by_both(one: HostMark, other: HostMark) -> HostMark:
    """Merges a host's mark that two conversations of the whole dataset show, with the first frames of both."""
    places: set[tuple[int, int]] = set()
    for mark in (one, other):
        assert not isinstance(mark.frame_files, UnsetType)
        places.update(zip(mark.frame_files, mark.frames, strict=True))
    first = sorted(places)[:MOST_FRAMES]
    return replace(one, frames=tuple(frame for _, frame in first), frame_files=tuple(file for file, _ in first))


def coverage_of(counted: Iterable[Mapping[str, Judged]]) -> Iterator[CoverageRecord]:
    """Yields the whole dataset's coverage record for every requirement of the audit, from the counts of all conversations."""
    judged: dict[str, Judged] = {}
    for one in counted:
        for requirement, found in one.items():
            judged.setdefault(requirement, Judged()).add(found)
    rules: dict[str, list[str]] = {}
    for rule in every_rule():
        for requirement in rule.requirements:
            rules.setdefault(requirement, []).append(rule.code)
    for number, requirement_of in catalogue().items():
        found = judged.get(number, Judged())
        yield coverage_record(
            Coverage(
                requirement_of,
                Counter({Outcome[name]: count for name, count in found.counts.items()}),
                found.excused,
                found.accepted,
                Counter(dict(Counter(found.reasons).most_common(_MOST_REASONS))),
                tuple(rules.get(number, ())),
            )
        )


def problems_of(files: Sequence[FileFacts], conversations: Iterable[ConversationFacts]) -> Iterator[Problem]:
    """Yields the problems of a dataset: first those of capture files, then those counted over the whole."""
    whole = Tallies()
    for file in files:
        yield from file.problems
        whole.add(file.tallies)
    for one in conversations:
        whole.add(one.tallies)
    yield from whole.problems()


def _problem_record(problem: Problem) -> ProblemRecord:
    frames = tuple(number_of(frame) for frame in problem.frames)
    files = tuple(file_of(frame) for frame in problem.frames)
    return ProblemRecord(kind=problem.kind, layer=problem.layer, frames=frames, frame_files=files, text=problem.text)
