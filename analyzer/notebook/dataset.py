"""A dataset of `collect` in a notebook: its tables as polars LazyFrames, and each of its conversations as a `Capture`.

ds = pcq.open("dataset")
ds.calls.filter(pl.col("server") == "10.0.0.5").collect()
ds.conversation(12).plot.timeline()
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from analyzer.collect.manifest import MANIFEST, Manifest, read_facts, read_manifest
from analyzer.collect.schemas import PARTITIONED, TABLES, restored
from analyzer.core.errors import InputError
from analyzer.notebook.html import table_of, text_of
from analyzer.output.store import Store
from analyzer.pipeline.case import open_case

if TYPE_CHECKING:
    import polars as pl

    from analyzer.notebook.capture import Capture


def is_dataset(path: str | Path) -> bool:
    """Whether a path or URL is taken for a dataset: a directory with a manifest, which is no case."""
    if "://" in str(path):
        return True
    place = Path(path)
    return place.is_dir() and (place / MANIFEST).is_file() and not (place / "state").is_dir()


class Dataset:
    """A dataset as its manifest states it. Tables are `polars.LazyFrame`s: nothing is read before `collect()`, and then only the
    columns, days and servers that are asked for. Each has the columns `day` and `server` besides its own, where it is so divided.

    What a `Capture` has of one capture, this has of a set: `calls`, `samples`, `problems`, `sessions`, `hosts`, `handles`,
    `counters()`, `audit()`. A part with everything else (plots, filters, single calls) is `conversation(number)`: `filter`
    and `between` choose calls of an analysis, which is there for one conversation at a time; tables have polars' own conditions.
    """

    def __init__(self, store: Store, manifest: Manifest) -> None:
        self._store, self.manifest = store, manifest

    @classmethod
    def open(cls, path: str | Path) -> Dataset:
        """Raises `InputError` for what is no dataset, or of a later version."""
        store = Store(str(path))
        manifest = read_manifest(store)
        if manifest is None:
            raise InputError(f"{path} is no dataset: it has no {MANIFEST}", hint="collect writes one.")
        return cls(store, manifest)

    def __repr__(self) -> str:
        tables = ", ".join(f"{table.rows:,} {name}" for name, table in self.manifest.tables.items() if table.rows)
        return f"Dataset({self._store.root}: {len(self.manifest.sources)} files, {tables})"

    def _repr_html_(self) -> str:
        rows = [(name, f"{table.rows:,}", len(table.columns)) for name, table in self.manifest.tables.items()]
        whole = self.manifest
        facts = f"{len(whole.sources):,} files, {whole.frames:,} frames, {whole.conversations:,} conversations"
        return f"<p><b>{text_of(self._store.root)}</b>: {facts}</p>" + table_of(("table", "rows", "columns"), rows)

    def table(self, name: str) -> pl.LazyFrame:
        """A table by its name. Raises `InputError` where there is none of it."""
        import polars as pl

        entry = self.manifest.tables.get(name)
        if entry is None:
            raise InputError(f"there is no table {name}", hint=f"there are {', '.join(self.manifest.tables)}")
        divided = {"day": pl.Date(), "server": pl.String()} if name in PARTITIONED else {}
        if name == "metadata":
            divided = {"server": pl.String()}
        schema = {**TABLES[name], **divided}
        if not entry.files:
            return pl.LazyFrame(schema=schema)
        files = [self._store.url(file) for file in entry.files]
        if not divided:
            return restored(pl.scan_parquet(files), name)
        return restored(pl.scan_parquet(files, hive_partitioning=True, hive_schema=divided), name)

    @property
    def calls(self) -> pl.LazyFrame:
        """One row a call."""
        return self.table("calls")

    @property
    def samples(self) -> pl.LazyFrame:
        """One row a raw counter value."""
        return self.table("samples")

    @property
    def sessions(self) -> pl.LazyFrame:
        """One row an SMB session."""
        return self.table("sessions")

    @property
    def hosts(self) -> pl.LazyFrame:
        """One row an address."""
        return self.table("hosts")

    @property
    def handles(self) -> pl.LazyFrame:
        """One row a query handle."""
        return self.table("handles")

    @property
    def problems(self) -> pl.LazyFrame:
        """One row for each thing that could not be read."""
        return self.table("problems")

    @property
    def metadata(self) -> pl.LazyFrame:
        """One row a server: what it reported of its counters."""
        return self.table("metadata")

    def counters(self) -> pl.LazyFrame:
        """One row a displayed value, as a performance monitor would have shown it."""
        return self.table("counters")

    def audit(self) -> dict[str, pl.LazyFrame]:
        """`findings`, one row each, and `coverage`, one row a requirement, under the profile it was collected with."""
        return {"findings": self.table("findings"), "coverage": self.table("coverage")}

    def conversations(self) -> pl.DataFrame:
        """One row a conversation: its number, server, hosts, frames, calls and times."""
        import polars as pl

        facts = read_facts(self._store, self.manifest)
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

    def conversation(self, number: int) -> Capture:
        """A conversation as a capture of its own, with numbers of its own: that of a call here is the lower 32 bits of its number
        in the tables. Raises `InputError` where there is none of this number."""
        from analyzer.notebook.capture import Capture

        for one in read_facts(self._store, self.manifest).conversations:
            if one.number == number and one.state is not None:
                if self._store.local is not None:
                    return Capture(open_case(self._store.local / one.state))
                with TemporaryDirectory(prefix="pcq-") as directory:
                    return Capture(open_case(self._store.fetch(one.state, Path(directory) / "case.pcq")))
        raise InputError(f"there is no conversation {number}", hint="conversations() lists them")
