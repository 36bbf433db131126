"""What notebooks import: `analyze` reads a capture, and the result shows itself as tables.

import analyzer as pcq
cap = pcq.analyze("x.pcapng", secrets="x.secrets.json")
cap.calls          # polars DataFrame, one row a call
cap.call(12)       # the decoded tree of one call
cap.counters("\\Processor Information(_Total)\\% Processor Time", interval="5s")
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analyzer.audit.engine import Audit, Profile
from analyzer.auth.keyring import Keyring
from analyzer.contents.lines import call_record
from analyzer.core.errors import InputError
from analyzer.formats.dataframes import calls_table, problems_table
from analyzer.formats.schema import table_of_records
from analyzer.formats.tables import table_of
from analyzer.model.analysis import Analysis
from analyzer.model.audit import CoverageRecord, FindingRecord
from analyzer.model.lines import COMMANDS
from analyzer.model.record import Record
from analyzer.output.json import document
from analyzer.pipeline.case import is_case, open_case, write_case
from analyzer.pipeline.metadata import load_metadata
from analyzer.pipeline.run import Engine, Source
from analyzer.pipeline.run import analyze as run
from analyzer.series.counters import interval_of
from analyzer.statistics.records import stats_records
from analyzer.viewmodel.layers import the_call
from analyzer.views.audit import AuditView
from analyzer.views.counters import Counters
from analyzer.views.handles import Handles
from analyzer.views.samples import Samples
from analyzer.views.sessions import Hosts, Sessions

if TYPE_CHECKING:
    import polars as pl


class Capture:
    """One analysed capture. Tables are made when first asked for."""

    def __init__(self, analysis: Analysis) -> None:
        self.analysis = analysis

    def __repr__(self) -> str:
        facts = self.analysis.capture
        return f"Capture({', '.join(facts.files)}: {facts.frames} frames, {len(self.analysis.calls)} calls)"

    def save(self, path: str | Path, *, force: bool = False) -> Path:
        """Saves the whole analysis, decrypted and without keys, as a case (docs/case-file.md); `open` reads it, and so does every
        command. Raises `InputError` where it cannot be written, or where a file is there and `force` is not."""
        from analyzer.output.gate import Destination

        with Destination(Path(path), force=force).sparing(self.analysis.capture.files).opened() as out:
            write_case(self.analysis, out)
        return Path(path)

    @cached_property
    def calls(self) -> pl.DataFrame:
        """One row a call; `*_params` and `*_buffer` are JSON text (`.str.json_decode`), or see `call`."""
        return calls_table(self.analysis)

    @cached_property
    def samples(self) -> pl.DataFrame:
        """One row a raw counter value, of PerflibV2 and winperf alike."""
        return table_of(Samples(self.analysis))

    @cached_property
    def problems(self) -> pl.DataFrame:
        """One row for each thing that could not be read."""
        return problems_table(self.analysis)

    @cached_property
    def handles(self) -> pl.DataFrame:
        """One row a query handle; its events and what it held as JSON text."""
        return table_of(Handles(self.analysis))

    @cached_property
    def stats(self) -> dict[str, pl.DataFrame]:
        """A table for each kind of record that `stats` prints: `method-stats`, `poll-stats`, `error-stats`, `activity`, ..."""
        by_kind: dict[type[Record], list[Record]] = {kind: [] for kind in COMMANDS["stats"]}
        for record in stats_records(self.analysis):
            by_kind[type(record)].append(record)
        return {str(kind.__struct_config__.tag): table_of_records(kind, found) for kind, found in by_kind.items()}

    @cached_property
    def sessions(self) -> pl.DataFrame:
        """One row an SMB session."""
        return table_of(Sessions(self.analysis))

    @cached_property
    def hosts(self) -> pl.DataFrame:
        """One row an address, with its names."""
        return table_of(Hosts(self.analysis))

    def counters(self, *paths: str, interval: str | None = None, exact: bool = False) -> pl.DataFrame:
        """One row a displayed value: rates, percentages, times, as a performance monitor would have shown them.

        `paths` are counter paths as for `--counter` (`\\Process(*)\\% Processor Time`; none: all), `interval` puts readings
        together (`5s`, `500ms`); `exact` adds a column with each value as a fraction in lowest terms. Raises
        `InputError` for a path that means nothing here.
        """
        interval_ns = interval_of(interval) if interval is not None else None
        view = Counters(self.analysis, paths, interval_ns, exact=exact)
        table = table_of(view)
        for path, near in view.selection.unmatched():
            raise InputError(
                f"{path} is no counter of this capture", hint=f"near it: {', '.join(near)}" if near else None
            )
        return table

    def audit(self, profile: str = "windows") -> dict[str, pl.DataFrame]:
        """`findings`, one row each, and `coverage`, one row a requirement, under a profile (`spec`, `windows`, `strict`)."""
        if profile not in tuple(Profile):
            raise InputError(f"{profile} is no profile", hint=f"there are {', '.join(Profile)}")
        records = list(AuditView(Audit(self.analysis, profile=Profile(profile))).records())
        return {
            "findings": table_of_records(FindingRecord, (one for one in records if isinstance(one, FindingRecord))),
            "coverage": table_of_records(CoverageRecord, (one for one in records if isinstance(one, CoverageRecord))),
        }

    def call(self, number: int) -> dict[str, Any]:
        """The record of call `number` (from 1), decoded as in `timeline --format jsonl`."""
        return document(call_record(the_call(self.analysis, number), self.analysis))


def analyze(
    path: Source | Sequence[Source],
    secrets: str | Path | Keyring | None = None,
    *,
    engine: Engine = "own",
    metadata: str | Path | Sequence[str | Path] = (),
    metadata_from: str | None = None,
) -> Capture:
    """Reads a capture (or several as one, in time order).

    `secrets` is a file as for `--secrets`, or a `Keyring`; `metadata` and `metadata_from` as for the options of
    that name. Raises `InputError` for what cannot be read at all.
    """
    keyring = secrets if isinstance(secrets, Keyring) else Keyring.load(secrets) if secrets is not None else None
    sources: Sequence[Source] = path if isinstance(path, Sequence) and not isinstance(path, str) else [path]
    files = [metadata] if isinstance(metadata, str | Path) else metadata
    given = [load_metadata(Path(file), keyring, engine=engine) for file in files]
    return Capture(run(sources, keyring, engine=engine, metadata=given, metadata_from=metadata_from))


def open(path: str | Path) -> Capture:
    """Opens a case that `Capture.save` or the command `save` wrote: as `analyze` gave it, without captures or keys.

    Raises `InputError` for what is no case, damaged, or of a later version of the format.
    """
    if not is_case(path):
        raise InputError(f"{path} is no case", hint="analyze() reads captures; save() makes cases of them.")
    return Capture(open_case(path))
