"""A dataset of `collect` in a notebook: what a `Capture` has of one capture, of a set, with tables that are read when asked for.

ds = pcq.open("dataset")
ds.between("2026-11-20", "2026-11-21").filter("opnum == 6 && status != 0").samples.collect()
ds.conversation(12).plot.timeline()

Tables of the whole are Parquet files. For a part, calls are chosen in the table of calls, and rows of other tables by the numbers
of these calls. Some results are computed from more than rows: handles, problems, hosts, statistics, readings over intervals. They
are made from the cases of the conversations that have such calls, one at a time, in the way of a `Capture`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from analyzer.collect.dataset_manifest import Facts, Manifest, read_dataset, read_facts
from analyzer.collect.dataset_schemas import PARTITIONED, STORED, TABLES, restored
from analyzer.collect.joined_dataset import joined
from analyzer.collect.render_stage import Numbering, add_judged, findings_of, host_in_dataset, opened_conversation
from analyzer.collect.stage_tasks_and_facts import ConversationFacts, Judged
from analyzer.collect.whole_dataset_tables import coverage_of, merged_hosts
from analyzer.core.caches import cached_property
from analyzer.core.errors import InputError
from analyzer.core.output.file_store import Store
from analyzer.core.printable_text import printable
from analyzer.questions.filters.filter import CallFilter
from analyzer.results.analysis import NUMBER_SHIFT, Analysis, CaptureFacts
from analyzer.results.records.command_records import COMMANDS
from analyzer.results.records.finding import CoverageRecord, FindingRecord
from analyzer.results.records.observation import Observation
from analyzer.results.records.process import ProcessRecord
from analyzer.results.records.sample import BucketRecord
from analyzer.results.records.session_and_host import HostRecord
from analyzer.screens.formats.record_tables import table_of_records, table_schema
from analyzer.screens.formats.table_writer import KEYS_OF_CALLS
from analyzer.screens.notebook.charts import Plots
from analyzer.screens.notebook.notebook_html import table_of, text_of

if TYPE_CHECKING:
    import polars as pl

    from analyzer.questions.audit.audit_engine import Profile
    from analyzer.screens.notebook.machine_at_moment import HostMoment
    from analyzer.screens.notebook.notebook_capture import CallDocument, Capture, Interval, Moment

# A call's number in its conversation is the lower half of its number in the dataset.
_IN_CONVERSATION = (1 << NUMBER_SHIFT) - 1
Numbers = Mapping[int, list[int]]
Found = TypeVar("Found")


class _Condition(Struct, frozen=True):
    """A condition on a dataset's calls: its words, its change to the table of calls, and the servers that it limits them to (None:
    no limit)."""

    words: str
    chosen: Callable[[pl.LazyFrame], pl.LazyFrame]
    servers: tuple[str, ...] | None = None


class _Loaded(Struct, frozen=True):
    """Conversations of a dataset, loaded one at a time, and again on each iteration."""

    load: Callable[[], Iterator[tuple[ConversationFacts, Capture]]]

    def __iter__(self) -> Iterator[tuple[ConversationFacts, Capture]]:
        return self.load()


class Dataset:
    """A dataset as its manifest states it, or a part of one (`filter`, `between`, `handle`, `series`).

    Tables are `polars.LazyFrame`s: nothing is read before `collect()`, and then only the columns, days and servers that are
    asked for. Each has the columns `day` and `server` besides its own, where it is so divided. What a `Capture` has of one
    capture, this has of a set, but for `analysis` and `save`: these are of one analysis, and so of a `conversation(number)`.
    """

    def __init__(
        self,
        store: Store,
        manifest: Manifest,
        conditions: tuple[_Condition, ...] = (),
        bounds: tuple[int | None, int | None] = (None, None),
        paths: tuple[str, ...] = (),
    ) -> None:
        self._store, self.manifest = store, manifest
        self._conditions, self._bounds, self._paths = conditions, bounds, paths

    @classmethod
    def open(cls, path: str | Path) -> Dataset:
        """Opens a dataset for a notebook. Raises `InputError` if it is none, of a later version, or cannot be reached."""
        return cls(*read_dataset(path))

    def __repr__(self) -> str:
        tables = ", ".join(f"{table.rows:,} {name}" for name, table in self.manifest.tables.items() if table.rows)
        part = f"; shown: {self._words}" if self._is_part else ""
        return printable(f"Dataset({self._store.root}: {len(self.manifest.sources)} files, {tables}{part})")

    def _repr_html_(self) -> str:
        rows = [(name, f"{table.rows:,}", len(table.columns)) for name, table in self.manifest.tables.items()]
        whole = self.manifest
        facts = f"{len(whole.sources):,} files, {whole.frames:,} frames, {whole.conversations:,} conversations"
        part = f"<p>shown: {text_of(self._words)}</p>" if self._is_part else ""
        return f"<p><b>{text_of(self._store.root)}</b>: {facts}</p>{part}" + table_of(
            ("table", "rows", "columns"), rows
        )

    @property
    def _is_part(self) -> bool:
        return bool(self._conditions)

    @property
    def _words(self) -> str:
        return ", ".join(one.words for one in self._conditions)

    # ------------------------------------------------------------------------------------------------ parts

    def filter(self, text: str) -> Dataset:
        """Returns the part of the dataset whose calls pass a filter (docs/filters.md) on the columns of the table of calls. If it
        asks for `server.ip`, other servers are not read. Raises `InputError` if the text is no filter.

            ds.filter("server.ip == 10.0.0.5 && opnum == 6").samples.collect()
        """
        from analyzer.screens.formats.table_filter import passing

        passes = CallFilter(text)
        servers = tuple(passes.servers_among(self._servers)) if passes.asks_for("server.ip") else None
        return self._part(_Condition(f"filter {passes}", lambda calls: passing(calls, passes), servers))

    def between(self, since: Moment | None = None, until: Moment | None = None) -> Dataset:
        """Returns the part of the dataset whose requests are between two times, bounds included; calls of other days are not read.
        Bounds as for `Capture.between`; relative ones count from the first frame of the dataset.

            ds.between("2026-11-20T13:50", "2026-11-20T13:55").calls.collect()
        """
        from analyzer.screens.notebook.notebook_capture import bound_of

        bounds = bound_of(since), bound_of(until)
        words = [f"{name} {bound.text}" for name, bound in zip(("since", "until"), bounds, strict=True) if bound]
        if not words:
            return self
        first, last = (bound.at(self._facts_of_time) if bound is not None else None for bound in bounds)
        narrowed = self._part(_Condition(", ".join(words), lambda calls: calls))
        narrowed._bounds = _later(self._bounds[0], first, max), _later(self._bounds[1], last, min)
        return narrowed

    def handle(self, name: str) -> Dataset:
        """Returns the part of the dataset with the calls on one handle, `q12-1` as the tables name it, or its UUID.

        ds.handle("q12-1").counters(interval="5s").collect()
        """
        import polars as pl

        on_it = (pl.col("handle") == name) | (pl.col("handle_uuid") == name)
        return self._part(_Condition(f"handle {name}", lambda calls: calls.filter(on_it)))

    def series(self, *paths: str) -> Dataset:
        """Returns the part of the dataset whose calls answered with these counters; its `counters` and `plot.counters` show only
        these. It searches the cases of the conversations at once. Raises `InputError` for a path that means nothing in any of them.

            ds.series(r"\\Memory\\Available Bytes").plot.counters()
        """
        import polars as pl

        numbers = [
            (one.number << NUMBER_SHIFT) + number
            for one, cap in _asked(self._parts(), lambda cap: cap.series(*paths))
            for number in cap.analysis.shown.numbers
        ]
        wanted = pl.Series("number", numbers, dtype=pl.Int64).implode()
        chosen = _Condition(f"counters {', '.join(paths)}", lambda calls: calls.filter(pl.col("number").is_in(wanted)))
        return self._part(chosen, paths)

    def _part(self, condition: _Condition, paths: tuple[str, ...] | None = None) -> Dataset:
        conditions = (*self._conditions, condition)
        return Dataset(self._store, self.manifest, conditions, self._bounds, self._paths if paths is None else paths)

    @property
    def _facts_of_time(self) -> CaptureFacts:
        whole = self.manifest
        return CaptureFacts((), whole.frames, whole.bytes, whole.first_time_ns, whole.last_time_ns)

    @property
    def _servers(self) -> list[str]:
        """Returns the servers whose directories the dataset's table of calls has."""
        from urllib.parse import unquote

        parts = (part for file in self.manifest.tables["calls"].files for part in file.split("/"))
        return sorted({unquote(part.removeprefix("server=")) for part in parts if part.startswith("server=")})

    # ------------------------------------------------------------------------------------------------ tables

    def table(self, name: str) -> pl.LazyFrame:
        """Returns a table of the whole dataset by its name. Raises `InputError` if there is no such table."""
        return restored(self._scanned(name), name)

    def _scanned(self, name: str) -> pl.LazyFrame:
        """Returns a table of the dataset in its stored form."""
        import polars as pl

        entry = self.manifest.tables.get(name)
        if entry is None:
            raise InputError(f"there is no table {name}", hint=f"there are {', '.join(self.manifest.tables)}")
        divided = {"day": pl.Date(), "server": pl.String()} if name in PARTITIONED else {}
        if name == "metadata":
            divided = {"server": pl.String()}
        if not entry.files:
            return pl.LazyFrame(schema={**STORED[name], **divided})
        files = [self._store.url(file) for file in entry.files]
        # The columns are known: no file is opened for them.
        if not divided:
            return pl.scan_parquet(files, schema=dict(STORED[name]))
        return pl.scan_parquet(files, schema=dict(STORED[name]), hive_partitioning=True, hive_schema=divided)

    def _of_servers(self, table: pl.LazyFrame) -> pl.LazyFrame:
        """Limits a dataset's table to the servers of shown calls, if they are known without reading."""
        import polars as pl

        for condition in self._conditions:
            if condition.servers is not None:
                table = table.filter(pl.col("server").is_in(list(condition.servers)))
        return table

    @property
    def calls(self) -> pl.LazyFrame:
        """Returns the dataset's table of calls, one row a call. `call` and `logon` are those of the other tables."""
        return self._calls.rename(KEYS_OF_CALLS)

    @property
    def _calls(self) -> pl.LazyFrame:
        import polars as pl

        calls = self._of_servers(self._scanned("calls"))
        since, until = self._bounds
        if since is not None:
            calls = calls.filter(pl.col("day") >= _day_of(since), pl.col("time_ns") >= since)
        if until is not None:
            calls = calls.filter(pl.col("day") <= _day_of(until), pl.col("time_ns") <= until)
        calls = restored(calls, "calls")
        for condition in self._conditions:
            calls = condition.chosen(calls)
        return calls

    def _of_calls(self, name: str, column: str = "call", of_call: str = "number") -> pl.LazyFrame:
        """Returns the rows of a dataset's table that belong to shown calls."""
        if not self._is_part:
            return self.table(name)
        table = restored(self._of_servers(self._scanned(name)), name)
        return table.join(self._calls.select(of_call).unique(), left_on=column, right_on=of_call, how="semi")

    @property
    def samples(self) -> pl.LazyFrame:
        """Returns the dataset's table of samples, one row a raw counter value."""
        return self._of_calls("samples")

    @property
    def sessions(self) -> pl.LazyFrame:
        """Returns the dataset's table of sessions, one row an SMB session."""
        return self._of_calls("sessions", "session", "session")

    @property
    def logons(self) -> pl.LazyFrame:
        """Returns the dataset's table of logons; for a part, those by SMB of its sessions, and those by RPC of its calls."""
        if not self._is_part:
            return self.table("logons")
        return self._made("logons", lambda cap: cap.logons)

    @property
    def hosts(self) -> pl.LazyFrame:
        """Returns the dataset's table of hosts, one row an address of a site."""
        if not self._is_part:
            return self.table("hosts")
        parts = self._parts()
        return _lazy(TABLES["hosts"], lambda: _hosts(parts, self.manifest))

    @property
    def handles(self) -> pl.LazyFrame:
        """Returns the dataset's table of query handles; for a part, with the shown calls only."""
        if not self._is_part:
            return self.table("handles")
        return self._made("handles", lambda cap: cap.handles)

    @property
    def problems(self) -> pl.LazyFrame:
        """Returns the dataset's table of problems, one row for each thing that could not be read; for a part, of its calls."""
        if not self._is_part:
            return self.table("problems")
        return self._made("problems", lambda cap: cap.problems)

    @property
    def metadata(self) -> pl.LazyFrame:
        """Returns the dataset's table of metadata: what each server reported of its counters, also if only a part is shown."""
        return self.table("metadata")

    def counters(self, *paths: str, interval: Interval | None = None, exact: bool = False) -> pl.LazyFrame:
        """Returns the dataset's table of displayed values, one row a value, as `Capture.counters` gives them. Without arguments it
        is a stored table. With any, `collect()` makes it from the cases of conversations, and then raises an error for a path that
        means nothing in any of them.

            ds.counters(r"\\Memory\\*", interval="1min").collect()
        """
        from analyzer.screens.formats.record_tables import reading_schema

        wanted = paths or self._paths
        if not wanted and interval is None and not exact:
            return self._of_calls("counters")
        schema = table_schema(BucketRecord) if interval is not None else reading_schema(exact=exact)
        parts = self._parts()

        def made() -> Iterator[pl.DataFrame]:
            for one, table in _asked(parts, lambda cap: cap.counters(*wanted, interval=interval, exact=exact)):
                yield Numbering(one.number, one.files).numbered_table("counters", table)

        return _lazy(_in_text(schema), made)

    def audit(self, profile: str | None = None) -> dict[str, pl.LazyFrame]:
        """Audits the dataset: returns `findings`, one row each, and `coverage`, one row a requirement, under the profile that it
        was collected with, or another (`spec`, `windows`, `strict`). Raises `InputError` for another profile."""
        from analyzer.questions.audit.audit_engine import Profile

        stored = self.manifest.options.get("profile", "windows")
        chosen = stored if profile is None else profile
        if chosen not in tuple(Profile):
            raise InputError(f"{chosen} is no profile", hint=f"there are {', '.join(Profile)}")
        if chosen == stored and not self._is_part:
            return {"findings": self.table("findings"), "coverage": self.table("coverage")}

        # Of a part it is made anew: what concerns a handle, an association or two hosts may be found in a call outside of it.
        parts, findings = self._parts(), self._made("findings", lambda cap: _findings(cap, Profile(chosen)))
        return {"findings": findings, "coverage": _lazy(TABLES["coverage"], lambda: _coverage(parts, Profile(chosen)))}

    @property
    def stats(self) -> dict[str, pl.LazyFrame]:
        """Returns a table for each kind of record that `stats` prints, conversation by conversation (`conversation`). Numbers of
        calls are those of the conversation."""
        return {
            str(kind.__struct_config__.tag): self._by_conversation(
                table_schema(kind),
                lambda cap, name=str(kind.__struct_config__.tag): cap.stats[name],  # type: ignore[misc]
            )
            for kind in COMMANDS["stats"]
        }

    @property
    def triage(self) -> pl.LazyFrame:
        """Returns the table of `triage`, conversation by conversation (`conversation`), the gravest observation of each first.
        Numbers of calls are those of the conversation."""
        return self._by_conversation(table_schema(Observation), lambda cap: cap.triage)

    @property
    def processes(self) -> pl.LazyFrame:
        """Returns the dataset's table of processes, one row a process of a machine, from all conversations together (`joined`)."""
        from analyzer.screens.notebook.notebook_capture import Capture

        whole = self._joined_when_asked()
        return _lazy(table_schema(ProcessRecord), lambda: (Capture(whole()).processes,))

    def host(self, machine: str | None = None, at: Moment | None = None) -> HostMoment:
        """Returns what a machine showed at a moment, as `Capture.host` does, from all conversations together (`joined`). A time
        without a date counts from the first frame of the dataset. Raises `InputError` as it does.

            ds.host("10.0.0.5", at="2026-11-20 13:55")["Process"]
        """
        from analyzer.screens.notebook.notebook_capture import Capture

        return Capture(self.joined()).host(machine, at)

    @property
    def plot(self) -> Plots:
        """Returns the charts of this dataset: `timeline`, `counters`, `latency`, `polls`. A chart reads its data when it is made.

        ds.between("13:50", "13:55").plot.latency()
        """
        return Plots(self)

    # ------------------------------------------------------------------------------------------------ conversations

    def conversations(self) -> pl.DataFrame:
        """Returns the table of all conversations of the dataset: number, server, hosts, frames, calls and times of each."""
        return _conversations(self._facts)

    def conversation(self, number: int) -> Capture:
        """Returns one conversation of the dataset as a capture with numbers of its own. A call's number there is the lower 32 bits
        of its number in the tables. Raises `InputError` if there is no such conversation."""
        for one in self._facts.conversations:
            if one.number == number and one.state is not None:
                return self._capture(one)
        raise InputError(f"there is no conversation {number}", hint="conversations() lists them")

    def call(self, number: int) -> CallDocument:
        """Returns the record of a call by its number in the dataset's tables, as `Capture.call` does; the numbers in it are those
        of its conversation. Raises `InputError` if there is no such call.

            ds.call(51539607553)["response"]["params"]
        """
        return self.conversation(number >> NUMBER_SHIFT).call(number & _IN_CONVERSATION)

    def iter_calls(self) -> Iterator[CallDocument]:
        """Yields the dataset's shown calls, conversation by conversation, each as `call` gives it; it keeps none in memory."""
        for _, cap in self._parts():
            yield from cap.iter_calls()

    @cached_property
    def _facts(self) -> Facts:
        return read_facts(self._store, self.manifest)

    def _capture(self, one: ConversationFacts) -> Capture:
        from analyzer.screens.notebook.notebook_capture import Capture

        assert one.state is not None
        with opened_conversation(self._store, one.state) as analysis:
            return Capture(analysis)

    def _parts(self) -> _Loaded:
        """Returns the conversations of the dataset with shown calls. It finds these calls at once: polars waits for ever for a
        table that is collected while another one is."""
        numbers = self._shown if self._is_part else None
        return _Loaded(lambda: self._captures(numbers))

    def _captures(self, numbers: Numbers | None) -> Iterator[tuple[ConversationFacts, Capture]]:
        """Yields conversations of the dataset as captures, limited to these calls (None: all)."""
        for one in self._facts.conversations:
            if one.state is None or (numbers is not None and one.number not in numbers):
                continue
            cap = self._capture(one)
            # Times are counted from the first frame of the dataset.
            facts = replace(cap.analysis.capture, first_time_ns=self.manifest.first_time_ns)
            cap.analysis = replace(cap.analysis, capture=facts)
            yield one, cap if numbers is None else cap.only(numbers[one.number], self._words)

    @cached_property
    def _shown(self) -> Numbers:
        """Returns the numbers of the dataset's shown calls, as their conversation numbers them, by conversation."""
        found: dict[int, list[int]] = {}
        for number in self._calls.select("number").collect()["number"].sort().to_list():
            found.setdefault(number >> NUMBER_SHIFT, []).append(number & _IN_CONVERSATION)
        return found

    def joined(self) -> Analysis:
        """Returns the dataset's shown calls as one analysis, for `pcq.diff`. Raises `InputError` for an unreadable conversation."""
        return self._joined_when_asked()()

    def _joined_when_asked(self) -> Callable[[], Analysis]:
        """Returns a function that joins the dataset's shown calls. Which calls these are is found out now, as in `_parts`."""
        shown = self._shown if self._is_part else None
        return lambda: joined(self._store, self.manifest, shown, self._words)

    def _made(self, name: str, make: Callable[[Capture], pl.DataFrame]) -> pl.LazyFrame:
        """Returns for a notebook the dataset's table of this name, made from conversations when it is collected, with the dataset's
        numbers."""
        parts = self._parts()
        return _lazy(
            TABLES[name],
            lambda: (Numbering(one.number, one.files).numbered_table(name, make(cap)) for one, cap in parts),
        )

    def _by_conversation(self, schema: Mapping[str, Any], make: Callable[[Capture], pl.DataFrame]) -> pl.LazyFrame:
        import polars as pl

        parts = self._parts()

        def made() -> Iterator[pl.DataFrame]:
            for one, cap in parts:
                yield make(cap).select(pl.lit(one.number, pl.Int64).alias("conversation"), *schema)

        return _lazy({"conversation": pl.Int64(), **schema}, made)


def _hosts(parts: _Loaded, manifest: Manifest) -> Iterator[pl.DataFrame]:
    """Yields a table of hosts for each site of the dataset, with the hosts of its shown conversations, merged."""
    import polars as pl

    from analyzer.questions.statistics.hosts import host_records

    sites = {source.number: source.site for source in manifest.sources}
    of_site: dict[str, list[HostRecord]] = {}
    for one, cap in parts:
        hosts = [host_in_dataset(host, one.files) for host in host_records(cap.analysis)]
        of_site.setdefault(sites[one.files[0]], []).extend(hosts)
    for site, hosts in of_site.items():
        yield table_of_records(HostRecord, merged_hosts(hosts)).with_columns(pl.lit(site).alias("site"))


def _findings(cap: Capture, profile: Profile) -> pl.DataFrame:
    from analyzer.questions.audit.audit_engine import Audit

    return table_of_records(FindingRecord, findings_of(Audit(cap.analysis, profile=profile), cap.analysis))


def _coverage(parts: _Loaded, profile: Profile) -> Iterator[pl.DataFrame]:
    from analyzer.questions.audit.audit_engine import Audit

    judged: dict[str, Judged] = {}
    for _, cap in parts:
        audit = Audit(cap.analysis, profile=profile)
        for _ in audit.findings():
            pass
        add_judged(judged, audit)
    yield table_of_records(CoverageRecord, coverage_of([judged]))


def _conversations(facts: Facts) -> pl.DataFrame:
    import polars as pl

    rows = [
        (
            one.number,
            one.server,
            sorted({host for pair in one.pairs for host in pair}),
            one.frames,
            one.calls,
            one.first_time_ns,
            one.last_time_ns,
        )
        for one in facts.conversations
    ]
    time = pl.Datetime("ns", "UTC")
    kinds: dict[str, Any] = {
        "conversation": pl.Int64,
        "server": pl.String,
        "hosts": pl.List(pl.String),
        "frames": pl.Int64,
        "calls": pl.Int64,
        "first_time": time,
        "last_time": time,
    }
    return pl.DataFrame(rows, schema=kinds, orient="row")


def _asked(parts: _Loaded, ask: Callable[[Capture], Found]) -> Iterator[tuple[ConversationFacts, Found]]:
    """Yields what `ask` returns for each conversation of the dataset, without those for which it raises `InputError`. Raises it if
    it does so for all."""
    refused: list[InputError] = []
    answered = False
    for one, cap in parts:
        try:
            found = ask(cap)
        except InputError as error:
            refused.append(error)
            continue
        answered = True
        yield one, found
    if refused and not answered:
        raise refused[0]


def _later(one: int | None, other: int | None, choose: Callable[[int, int], int]) -> int | None:
    return other if one is None else one if other is None else choose(one, other)


def _in_text(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the schema of a dataset's lazy table in a notebook, with text in place of categories, which differ from table to
    table."""
    import polars as pl

    return {name: pl.String() if kind == pl.Categorical else kind for name, kind in schema.items()}


def _day_of(time_ns: int) -> pl.Expr:
    import polars as pl

    return pl.lit(time_ns).cast(pl.Datetime("ns")).dt.date()


def _lazy(schema: Mapping[str, Any], make: Callable[[], Iterable[pl.DataFrame]]) -> pl.LazyFrame:
    """Returns a dataset's table that is made piece by piece when it is collected."""
    from polars.io.plugins import register_io_source

    def read(
        columns: list[str] | None, predicate: pl.Expr | None, rows: int | None, _: int | None
    ) -> Iterator[pl.DataFrame]:
        for piece in make():
            table = piece.select(list(schema)) if rows is None else piece.select(list(schema)).head(rows)
            rows = None if rows is None else rows - table.height
            chosen = table if predicate is None else table.filter(predicate)
            yield chosen if columns is None else chosen.select(columns)
            if rows == 0:
                return

    return register_io_source(read, schema=dict(schema))
