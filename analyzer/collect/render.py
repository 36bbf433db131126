"""The third stage: the cases of conversations in, the rows of the dataset's tables out, as Parquet by day and server.

Numbers of calls, sessions, handles, series and channels are those of the
conversation, with its own number in front, so that they are unique in the dataset, and stay what they are when it grows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from urllib.parse import quote

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from analyzer.collect.facts import BatchFacts, Job, Judged, Member, RenderTask, TableFile
from analyzer.collect.schemas import stored
from analyzer.core.output.store import Store
from analyzer.pipeline.case import open_case
from analyzer.questions.audit.engine import Audit, Profile
from analyzer.questions.audit.records import finding_record
from analyzer.questions.statistics.handle_records import handle_records
from analyzer.questions.statistics.hosts import host_records
from analyzer.results.analysis import Analysis
from analyzer.results.audit import FindingRecord
from analyzer.results.handle import HandleRecord
from analyzer.results.metadata import MetadataRecord, metadata_record
from analyzer.screens.formats.schema import table_of_records
from analyzer.screens.formats.tables import problems_table, tables_of
from analyzer.screens.views.counters import Counters
from analyzer.screens.views.samples import Samples
from analyzer.screens.views.sessions import Sessions
from analyzer.screens.views.timeline import Timeline
from analyzer.screens.views.view import View

# A conversation's number stands in front of its own numbers, which have so many bits.
NUMBER_SHIFT = 32
# Rows of a table that wait to be written, and a Parquet file is of.
ROWS_OF_FILE = 100_000
# Rows of one table that are worked on at a time.
_ROWS_AT_ONCE = 10_000
# What rows of no day or server are in: pandas refuses the name that other readers take for null.
NO_DAY, NO_SERVER = "1970-01-01", "none"
_NUMBERS = {"number", "call", "session", "series", "previous_call", "read_number"}
_TIMES = {"sessions": "first_time", "handles": "first_time"}
# Where calls are named in words, and how.
_NUMBER = re.compile(r"(\d+)")
_IN_WORDS: Mapping[str, tuple[tuple[str, ...], re.Pattern[str]]] = {
    "problems": (("text",), re.compile(r"\bcall #(\d+)")),
    "findings": (("message", "expected", "seen"), re.compile(r"\bcall (\d+)")),
}


def render(task: RenderTask) -> BatchFacts:
    """Writes the rows of conversations. Raises `StoreError` where the dataset cannot be written."""
    began = process_time()
    store = Store(task.job.dataset)
    out = _Tables(store, task)
    facts = BatchFacts(task.batch, task.key, [], {}, {})
    for member in task.members:
        with _opened(store, member.state) as analysis:
            capture = replace(analysis.capture, first_time_ns=task.first_time_ns)
            analysis = replace(analysis, capture=capture)
            stated = metadata_record(analysis.catalogs, analysis.name_tables)
            for server in stated.servers:
                row = replace(stated, servers=(server,))
                out.add("metadata", "", server.ip, table_of_records(MetadataRecord, [row]))
            if task.metadata:
                analysis = _filled(analysis, task)
            _Conversation(analysis, member, out, facts).write(task.job.profile)
    out.finish()
    facts.files = out.files
    facts.seconds = process_time() - began
    return facts


def _filled(analysis: Analysis, task: RenderTask) -> Analysis:
    from analyzer.results.metadata import fill

    servers = {call.server.ip for call in analysis.calls if call.is_perflib or call.is_winreg}
    notes = fill(analysis.catalogs, analysis.name_tables, servers, task.metadata, instead=task.metadata_from)
    return replace(analysis, problems=(*analysis.problems, *notes))


@contextmanager
def _opened(store: Store, state: str) -> Iterator[Analysis]:
    """The case of a conversation, fetched where it lies in object storage."""
    if store.local is not None:
        yield open_case(store.local / state)
        return
    with TemporaryDirectory(prefix="pcq-") as directory:
        path = store.fetch(state, Path(directory) / "case.pcq")
        yield open_case(path)


class _Conversation:
    """One conversation on its way into the tables."""

    def __init__(self, analysis: Analysis, member: Member, out: _Tables, facts: BatchFacts) -> None:
        self._analysis, self._member, self._out, self._facts = analysis, member, out, facts
        self._numbers = Numbering(member.number, member.files)

    def write(self, profile: str) -> None:
        analysis = self._analysis
        self._put_all("calls", Timeline(analysis))
        self._put_all("samples", Samples(analysis))
        self._put_all("counters", Counters(analysis))
        self._put_all("sessions", Sessions(analysis))
        self._put("handles", handles_of(analysis, self._numbers))
        self._put("problems", problems_table(analysis))
        self._findings(profile)
        self._facts.hosts[self._member.number] = list(host_records(analysis))

    def _findings(self, profile: str) -> None:
        audit = Audit(self._analysis, profile=Profile(profile))
        records = [finding_record(one, self._analysis.capture) for one in audit.findings()]
        self._put("findings", table_of_records(FindingRecord, records))
        add_judged(self._facts.coverage, audit)

    def _put_all(self, name: str, view: View) -> None:
        for table in tables_of(view):
            self._put(name, table)

    def _put(self, name: str, table: pl.DataFrame) -> None:
        """Rows with the numbers of the dataset, by day and server; some at a time, since text takes several times what names do."""
        for rows in table.iter_slices(_ROWS_AT_ONCE):
            self._put_rows(name, rows)

    def _put_rows(self, name: str, table: pl.DataFrame) -> None:
        member = self._member
        if "time" in table.columns:
            moment = pl.col("time")
        elif name in _TIMES:
            moment = pl.col(_TIMES[name])
        elif name == "findings":
            calls = self._analysis.calls
            times = [
                calls[call - 1].time_ns if call is not None else member.first_time_ns
                for call in table["call"].to_list()
            ]
            moment = pl.Series(times, dtype=pl.Int64).cast(pl.Datetime("ns", "UTC"))  # type: ignore[assignment]
        else:
            moment = pl.lit(member.first_time_ns).cast(pl.Datetime("ns", "UTC"))
        server = pl.col("server_ip") if "server_ip" in table.columns else pl.lit(member.server)
        table = self._numbers.of(name, table).with_columns(
            moment.dt.strftime("%Y-%m-%d").alias("__day"), server.alias("__server")
        )
        for (day, ip), rows in table.partition_by("__day", "__server", as_dict=True, include_key=False).items():
            self._out.add(name, str(day or NO_DAY), str(ip or NO_SERVER), rows)


def handles_of(analysis: Analysis, numbers: Numbering) -> pl.DataFrame:
    """The table of handles, with numbers of the dataset."""
    return table_of_records(HandleRecord, map(numbers.of_handle, handle_records(analysis)))


def add_judged(judged: dict[str, Judged], audit: Audit) -> None:
    """Adds what an audit counted of each requirement, once its findings were read."""
    for requirement, found in audit.coverage.items():
        if found.counts or found.excused or found.accepted or found.reasons:
            counts = {outcome.name: count for outcome, count in found.counts.items()}
            one = Judged(counts, found.excused, found.accepted, dict(found.reasons))
            judged.setdefault(requirement, Judged()).add(one)


class Numbering(Struct, frozen=True):
    """The numbers of a conversation as those of the dataset: its own number, and the numbers of the files its frames are of."""

    number: int
    files: list[int]

    @property
    def base(self) -> int:
        return self.number << NUMBER_SHIFT

    def of(self, kind: str, table: pl.DataFrame) -> pl.DataFrame:
        """A table of records of this kind, with numbers of the dataset; names are text."""
        table = table.cast({pl.Categorical: pl.String})
        return table.with_columns(self._columns(kind, table))

    def _columns(self, kind: str, table: pl.DataFrame) -> Iterator[pl.Expr | pl.Series]:
        for name in table.columns:
            if name in _NUMBERS:
                yield pl.col(name) + self.base
            elif name == "handle" and "uuid" not in table.columns:
                yield pl.col("handle").str.replace(r"^([a-z]+)(\d+)$", f"${{1}}{self.number}-${{2}}")
            elif name.endswith("frame_files"):
                yield self._files_of(name)
        columns, pattern = _IN_WORDS.get(kind, ((), _NUMBER))
        for name in columns:
            texts = [one and pattern.sub(self._in_words, one) for one in table[name].to_list()]
            yield pl.Series(name, texts, dtype=pl.String)

    def _files_of(self, name: str) -> pl.Expr:
        if len(self.files) == 1:  # left out where there is but one
            frames = name.removesuffix("frame_files") + "frames"
            return pl.col(frames).list.eval(pl.element() * 0 + self.files[0]).alias(name)
        old = list(range(len(self.files)))
        number = pl.element().replace_strict(old, self.files, default=None, return_dtype=pl.Int64)
        return pl.col(name).list.eval(number)

    def _in_words(self, match: re.Match[str]) -> str:
        return match[0].replace(match[1], str(int(match[1]) + self.base))

    def of_handle(self, record: HandleRecord) -> HandleRecord:
        """The record of a handle with numbers of the dataset."""
        events = tuple(
            replace(
                event,
                call=event.call + self.base,
                channel=event.channel + self.base,
                frame_files=tuple(self.files[at] for at in (event.frame_files or (0,) * len(event.frames))),
            )
            for event in record.events
        )
        return replace(
            record,
            handle=f"{record.handle[:1]}{self.number}-{record.handle[1:]}",
            channels=tuple(channel + self.base for channel in record.channels),
            opened=self._shifted(record.opened),
            closed=self._shifted(record.closed),
            events=events,
        )

    def _shifted(self, number: int | None) -> int | None:
        return None if number is None else number + self.base


class _Tables:
    """Gathers rows by table, day and server, and writes them."""

    def __init__(self, store: Store, task: RenderTask) -> None:
        self._store, self._task = store, task
        self._waiting: dict[tuple[str, str, str], list[pl.DataFrame]] = {}
        self._rows: dict[tuple[str, str, str], int] = {}
        self.files: list[TableFile] = []

    def add(self, table: str, day: str, server: str, rows: pl.DataFrame) -> None:
        key = table, day, server
        self._waiting.setdefault(key, []).append(rows)
        self._rows[key] = self._rows.get(key, 0) + rows.height
        if self._rows[key] >= ROWS_OF_FILE:
            self._write(key)
        while sum(self._rows.values()) > 2 * ROWS_OF_FILE:
            self._write(max(self._rows, key=self._rows.__getitem__))

    def finish(self) -> None:
        for key in list(self._waiting):
            self._write(key)

    def _write(self, key: tuple[str, str, str]) -> None:
        rows = pl.concat(self._waiting.pop(key))
        del self._rows[key]
        table, day, server = key
        place = partition(day, server)
        pattern = f"{table}/{place}/{self._task.batch}-{{}}.parquet"
        self.files.append(write_table(self._store, self._task.job, table, pattern, rows))


def partition(day: str, server: str) -> str:
    """The directories of a day (none for what is of no day) and server, as readers of partitioned tables know them."""
    return f"{f'day={day}/' if day else ''}server={quote(server, safe='._-')}"


def write_table(store: Store, job: Job, table: str, pattern: str, rows: pl.DataFrame) -> TableFile:
    """Writes a Parquet file of the dataset, to where the run keeps what is not committed; its digest takes the place of `{}`."""
    with store.keeping(f"{job.staging}/{pattern}") as out:
        stored(rows).write_parquet(out.file)
    return TableFile(table, out.name.removeprefix(f"{job.staging}/"), rows.height, out.size)
