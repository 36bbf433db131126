"""The third stage of `collect`: reads the case of a conversation and writes its table rows, as Parquet by day and server.

Numbers of calls, sessions, handles, series and channels are those of the conversation with its own number in front. So they are
unique in the dataset, and never change when it grows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import TypeVar
from urllib.parse import quote

import polars as pl
from msgspec import Struct, UnsetType
from msgspec.structs import replace

from analyzer.collect.capture_pieces import WaitingBatches
from analyzer.collect.dataset_schemas import Get, rebuilt, stored
from analyzer.collect.stage_tasks_and_facts import ConversationFacts, Job, Judged, RenderTask, RowsFacts, TableFile
from analyzer.core.output.file_store import Store
from analyzer.interfaces.call_contents.call_records import CallRecords, problem_record, shown_problems
from analyzer.interfaces.call_contents.session_records import logon_record
from analyzer.pipeline.case import open_case
from analyzer.questions.audit.audit_engine import Audit, Profile
from analyzer.questions.audit.findings_and_coverage import finding_record
from analyzer.questions.statistics.handle_lifetimes import handle_records
from analyzer.questions.statistics.hosts import host_records
from analyzer.results.analysis import NUMBER_SHIFT, Analysis
from analyzer.results.calls.call import CallRecord
from analyzer.results.records.capture_records import ProblemRecord
from analyzer.results.records.finding import FindingRecord
from analyzer.results.records.handle import HandleRecord
from analyzer.results.records.record_types import Record
from analyzer.results.records.session_and_host import HostMark, HostProgram, HostRecord, LogonRecord
from analyzer.results.reported_names.saved_metadata import MetadataRecord, filled, metadata_record
from analyzer.screens.formats.record_tables import table_of_records
from analyzer.screens.formats.table_writer import tables_of
from analyzer.screens.views.counters import Counters
from analyzer.screens.views.samples import Samples
from analyzer.screens.views.sessions_and_hosts import Sessions

# Rows of a Parquet file: as many wait until they are written.
ROWS_OF_FILE = 100_000
# Rows and records that are worked on at a time: text takes several times the memory of categories.
_ROWS_AT_ONCE, _RECORDS_AT_ONCE = 10_000, 2_000
# Records with frames and the numbers of their files.
_Shown = TypeVar("_Shown", HostMark, HostProgram)
# Table, day and server of rows.
_Place = tuple[str, str, str]
# Directories for rows without a day or server: pandas refuses the name that other readers take for null.
NO_DAY, NO_SERVER = "1970-01-01", "none"
_NUMBERS = {
    "number",
    "call",
    "session",
    "series",
    "previous_call",
    "read_number",
    "opened",
    "closed",
    "channel",
    "channels",
}
# Names of a letter or word with a number behind it.
_NAMES = {"handle", "logon", "auth_logon", "auth_later_logon"}
# Patterns of call numbers in texts, with the columns of these texts, by table.
_IN_WORDS: Mapping[str, Mapping[re.Pattern[str], tuple[str, ...]]] = {
    "problems": {re.compile(r"(?<=\bcall #)\d+"): ("text",)},
    "findings": {re.compile(r"(?<=\bcall )\d+"): ("message", "expected", "seen")},
}
_TIME = pl.Datetime("ns", "UTC")


def render(task: RenderTask) -> RowsFacts:
    """Writes one conversation's rows of the dataset's tables. Raises `StoreError` if the dataset cannot be written."""
    began = process_time()
    store, one = Store(task.job.dataset), task.conversation
    assert one.state is not None, "what has no case has no rows"
    facts = RowsFacts(task.key)
    with opened_conversation(store, one.state) as analysis:
        analysis = replace(analysis, capture=replace(analysis.capture, first_time_ns=task.first_time_ns))
        out = _ConversationTables(store, task.job, one, facts)
        stated = metadata_record(analysis.catalogs, analysis.name_tables)
        for server in stated.servers:
            out.add("metadata", "", server.ip, table_of_records(MetadataRecord, [replace(stated, servers=(server,))]))
        if task.metadata:
            analysis = filled(analysis, task.metadata, task.metadata_from)
        for name, tables in _tables(analysis, task.job.profile, facts):
            out.add_rows(name, tables, analysis)
        out.finish()
        facts.hosts = [host_in_dataset(host, one.files) for host in host_records(analysis)]
    facts.seconds = process_time() - began
    return facts


def host_in_dataset(host: HostRecord, files: Sequence[int]) -> HostRecord:
    """Returns a host record as the render stage states it, with frames numbered by the files of the dataset; `files` has their
    numbers."""

    def placed(one: _Shown) -> _Shown:
        given = one.frame_files
        numbers = (files[0],) * len(one.frames) if isinstance(given, UnsetType) else tuple([files[at] for at in given])
        return replace(one, frame_files=numbers)

    return replace(host, marks=tuple(map(placed, host.marks)), programs=tuple(map(placed, host.programs)))


@contextmanager
def opened_conversation(store: Store, state: str) -> Iterator[Analysis]:
    """Opens the saved case of a conversation for the render stage and others; fetches it first from object storage."""
    if store.local is not None:
        yield open_case(store.local / state)
        return
    with TemporaryDirectory(prefix="pcq-") as directory:
        yield open_case(store.fetch(state, Path(directory) / "case.pcq"))


def _tables(analysis: Analysis, profile: str, facts: RowsFacts) -> Iterator[tuple[str, Iterator[pl.DataFrame]]]:
    """Yields the tables to render of a conversation, each in pieces. Notes the audit's counts after its findings were read."""
    calls = CallRecords(analysis, for_json=True)
    yield "calls", _in_pieces(CallRecord, calls.records_of(range(1, len(analysis.calls) + 1)))
    yield "samples", tables_of(Samples(analysis))
    yield "counters", tables_of(Counters(analysis))
    yield "sessions", tables_of(Sessions(analysis))
    yield "logons", _in_pieces(LogonRecord, (logon_record(one, analysis.capture) for one in analysis.logons))
    yield "handles", _in_pieces(HandleRecord, handle_records(analysis))
    problems = (problem_record(one, analysis.capture) for one in shown_problems(analysis))
    yield "problems", _in_pieces(ProblemRecord, problems)
    audit = Audit(analysis, profile=Profile(profile))
    yield "findings", _in_pieces(FindingRecord, findings_of(audit, analysis))
    add_judged(facts.coverage, audit)


def _in_pieces(kind: type[Record], records: Iterator[Record]) -> Iterator[pl.DataFrame]:
    """Yields a table to render in pieces of some rows: records take ten times the memory of columns."""
    while (table := table_of_records(kind, islice(records, _RECORDS_AT_ONCE))).height:
        yield table


def findings_of(audit: Audit, analysis: Analysis) -> Iterator[FindingRecord]:
    """Yields the finding records of a conversation's audit, to render them."""
    return (finding_record(one, analysis.capture) for one in audit.findings())


def add_judged(judged: dict[str, Judged], audit: Audit) -> None:
    """Adds to `judged` what the audit counted for each requirement in the conversation that the render stage writes, once its
    findings were read."""
    for requirement, found in audit.coverage.items():
        if found.counts or found.excused or found.accepted or found.reasons:
            counts = {outcome.name: count for outcome, count in found.counts.items()}
            one = Judged(counts, found.excused, found.accepted, dict(found.reasons))
            judged.setdefault(requirement, Judged()).add(one)


class Numbering(Struct, frozen=True):
    """Converts the numbers in a conversation's rendered tables to those of the dataset, by its number and those of its files."""

    number: int
    files: list[int]

    def numbered_table(self, name: str, table: pl.DataFrame) -> pl.DataFrame:
        """Returns the table that the render stage writes, with the numbers of the dataset instead of the conversation's; categories
        become text."""
        table = table.cast({pl.Categorical: pl.String})
        for pattern, columns in _IN_WORDS.get(name, {}).items():
            named = pl.col(*columns).map_elements(partial(pattern.sub, self._shifted), pl.String)
            table = table.with_columns(named)
        return table.select(rebuilt(table.schema, self._changed))

    def _shifted(self, found: re.Match[str]) -> str:
        return str(int(found[0]) + self._base)

    @property
    def _base(self) -> int:
        return self.number << NUMBER_SHIFT

    def _changed(self, get: Get, name: str, kind: pl.DataType) -> list[pl.Expr]:
        if name in _NUMBERS:
            is_list = isinstance(kind, pl.List)
            return [get(name).list.eval(pl.element() + self._base) if is_list else get(name) + self._base]
        if name in _NAMES:
            return [get(name).str.replace(r"^([a-z]+)(\d+)$", f"${{1}}{self.number}-${{2}}")]
        if name.endswith("frame_files"):
            # With a single file, the record leaves out its number.
            alone = get(f"{name.removesuffix('frame_files')}frames").list.eval(pl.element() * 0 + self.files[0])
            numbered = pl.element().replace_strict(
                range(len(self.files)), self.files, default=None, return_dtype=pl.Int64
            )
            return [pl.coalesce(get(name).list.eval(numbered), alone).alias(name)]
        return []


class _ConversationTables:
    """Gathers the table rows of a conversation by table, day and server, and writes them as Parquet."""

    def __init__(self, store: Store, job: Job, conversation: ConversationFacts, facts: RowsFacts) -> None:
        self._store, self._job, self._of, self._facts = store, job, conversation, facts
        self._numbers = Numbering(conversation.number, conversation.files)
        self._waiting = WaitingBatches[_Place, pl.DataFrame](self._write, ROWS_OF_FILE, 2 * ROWS_OF_FILE)
        self.finish = self._waiting.finish

    def add_rows(self, name: str, tables: Iterator[pl.DataFrame], analysis: Analysis) -> None:
        """Adds rows to a table, some at a time, with the numbers of the dataset, by their day and server."""
        for table in chain.from_iterable(table.iter_slices(_ROWS_AT_ONCE) for table in tables):
            moment = pl.lit(self._of.first_time_ns or 0).cast(_TIME)
            if name == "findings":
                times = pl.Series(analysis.calls.column("first_time")).cast(_TIME)
                moment = pl.lit(times.gather(table["call"] - 1)).fill_null(moment)
            elif column := next((one for one in ("time", "first_time") if one in table.columns), None):
                moment = pl.col(column)
            server = pl.col("server_ip") if "server_ip" in table.columns else pl.lit(self._of.server)
            keys = moment.dt.strftime("%Y-%m-%d").alias("__day"), server.alias("__server")
            numbered = self._numbers.numbered_table(name, table).with_columns(keys)
            parts = numbered.partition_by("__day", "__server", as_dict=True, include_key=False)
            for (day, ip), rows in parts.items():
                self.add(name, str(day or NO_DAY), str(ip or NO_SERVER), rows)

    def add(self, table: str, day: str, server: str, rows: pl.DataFrame) -> None:
        self._waiting.add((table, day, server), rows, rows.height)

    def _write(self, place: _Place, waiting: list[pl.DataFrame]) -> None:
        table, day, server = place
        pattern = f"{table}/{partition(day, server)}/{self._of.number:06}-{{}}.parquet"
        self._facts.files.append(write_table(self._store, self._job, table, pattern, pl.concat(waiting)))


def partition(day: str, server: str) -> str:
    """Returns the path for rendered rows of a server, and of a day if given, in a dataset: `day=.../server=...`, as partitioned
    tables have it."""
    return f"{f'day={day}/' if day else ''}server={quote(server, safe='._-')}"


def write_table(store: Store, job: Job, table: str, pattern: str, rows: pl.DataFrame) -> TableFile:
    """Writes rendered rows as one Parquet file to the staging directory of the run. Its digest replaces `{}` in `pattern`."""
    with store.keeping(f"{job.staging}/{pattern}") as out:
        stored(rows).write_parquet(out.file)
    return TableFile(table, out.name.removeprefix(f"{job.staging}/"), rows.height, out.size)
