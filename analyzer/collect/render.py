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
from msgspec.structs import replace

from analyzer.audit.engine import Audit, Profile
from analyzer.audit.records import finding_record
from analyzer.collect.facts import BatchFacts, Job, Judged, Member, RenderTask, TableFile
from analyzer.collect.schemas import stored
from analyzer.formats.dataframes import problems_table
from analyzer.formats.schema import table_of_records
from analyzer.formats.tables import tables_of
from analyzer.model.analysis import Analysis
from analyzer.model.audit import FindingRecord
from analyzer.model.handle import HandleRecord
from analyzer.model.metadata import MetadataRecord, metadata_record
from analyzer.output.store import Store
from analyzer.pipeline.case import open_case
from analyzer.statistics.handle_records import handle_records
from analyzer.statistics.hosts import host_records
from analyzer.views.counters import Counters
from analyzer.views.samples import Samples
from analyzer.views.sessions import Sessions
from analyzer.views.timeline import Timeline

# A conversation's number stands in front of its own numbers, which have so many bits.
NUMBER_SHIFT = 32
# Rows of a table that wait to be written, and a Parquet file is of.
ROWS_OF_FILE = 100_000
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
    facts = BatchFacts(task.batch, task.key, [], [], {})
    for member in task.members:
        with _opened(store, task.job.place(member.state)) as analysis:
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
    from analyzer.model.metadata import fill

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
        self._base = member.number << NUMBER_SHIFT

    def write(self, profile: str) -> None:
        analysis = self._analysis
        for name, view in (
            ("calls", Timeline(analysis)),
            ("samples", Samples(analysis)),
            ("counters", Counters(analysis)),
            ("sessions", Sessions(analysis)),
        ):
            for table in tables_of(view):
                self._put(name, table)
        handles = [self._renumbered(record) for record in handle_records(analysis)]
        self._put("handles", table_of_records(HandleRecord, handles))
        self._put("problems", problems_table(analysis))
        self._findings(profile)
        self._facts.hosts += host_records(analysis)

    def _findings(self, profile: str) -> None:
        audit = Audit(self._analysis, profile=Profile(profile))
        records = [finding_record(one, self._analysis.capture) for one in audit.findings()]
        self._put("findings", table_of_records(FindingRecord, records))
        for requirement, found in audit.coverage.items():
            if found.counts or found.excused or found.accepted or found.reasons:
                judged = Judged(
                    {outcome.name: count for outcome, count in found.counts.items()},
                    found.excused,
                    found.accepted,
                    dict(found.reasons),
                )
                self._facts.coverage.setdefault(requirement, Judged()).add(judged)

    def _put(self, name: str, table: pl.DataFrame) -> None:
        """Rows with the numbers of the dataset, by day and server."""
        if not table.height:
            return
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
        table = table.cast({pl.Categorical: pl.String})
        table = table.with_columns(self._numbers(name, table)).with_columns(
            moment.dt.strftime("%Y-%m-%d").alias("__day"), server.alias("__server")
        )
        for (day, ip), rows in table.partition_by("__day", "__server", as_dict=True, include_key=False).items():
            self._out.add(name, str(day or NO_DAY), str(ip or NO_SERVER), rows)

    def _numbers(self, kind: str, table: pl.DataFrame) -> list[pl.Expr]:
        """The columns with numbers of this conversation, as those of the dataset."""
        number, files = self._member.number, self._member.files
        found: list[pl.Expr] = [pl.col(name) + self._base for name in table.columns if name in _NUMBERS]
        if table.schema.get("handle") is not None and "uuid" not in table.columns:
            found.append(pl.col("handle").str.replace(r"^([a-z]+)(\d+)$", f"${{1}}{number}-${{2}}"))
        for name in table.columns:
            if name.endswith("frame_files"):
                frames = name.removesuffix("frame_files") + "frames"
                if len(files) == 1:
                    mapped = pl.col(frames).list.eval(pl.element() * 0 + files[0])
                else:
                    old = list(range(len(files)))
                    mapped = pl.col(name).list.eval(
                        pl.element().replace_strict(old, files, default=None, return_dtype=pl.Int64)
                    )
                found.append(mapped.alias(name))
        columns, pattern = _IN_WORDS.get(kind, ((), _NUMBER))
        for name in columns:
            texts = [one and pattern.sub(self._in_words, one) for one in table[name].to_list()]
            found.append(pl.Series(name, texts, dtype=pl.String))  # type: ignore[arg-type]
        return found

    def _in_words(self, match: re.Match[str]) -> str:
        return match[0].replace(match[1], str(int(match[1]) + self._base))

    def _renumbered(self, record: HandleRecord) -> HandleRecord:
        base, files = self._base, self._member.files

        def shifted(number: int | None) -> int | None:
            return None if number is None else number + base

        events = tuple(
            replace(
                event,
                call=event.call + base,
                channel=event.channel + base,
                frame_files=tuple(
                    files[at]
                    for at in (event.frame_files or (0,) * len(event.frames))  # left out where there is but one
                ),
            )
            for event in record.events
        )
        return replace(
            record,
            handle=f"{record.handle[:1]}{self._member.number}-{record.handle[1:]}",
            channels=tuple(channel + base for channel in record.channels),
            opened=shifted(record.opened),
            closed=shifted(record.closed),
            events=events,
        )


class _Tables:
    """Gathers rows by table, day and server, and writes them."""

    def __init__(self, store: Store, task: RenderTask) -> None:
        self._store, self._task = store, task
        self._waiting: dict[tuple[str, str, str], list[pl.DataFrame]] = {}
        self._rows: dict[tuple[str, str, str], int] = {}
        self._count = 0
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
        self._count += 1
        name = f"{table}/{place}/{self._task.batch}-{self._task.key[:8]}-{self._count:03}.parquet"
        self.files.append(write_table(self._store, self._task.job, table, name, rows))


def partition(day: str, server: str) -> str:
    """The directories of a day (none for what is of no day) and server, as readers of partitioned tables know them."""
    return f"{f'day={day}/' if day else ''}server={quote(server, safe='._-')}"


def write_table(store: Store, job: Job, table: str, name: str, rows: pl.DataFrame) -> TableFile:
    """Writes a Parquet file of the dataset, to where the run keeps what is not committed."""
    from io import BytesIO

    out = BytesIO()
    stored(rows).write_parquet(out)
    with store.writing(f"{job.staging}/{name}") as file:
        file.write(out.getbuffer())
    return TableFile(table, name, rows.height, out.tell())
