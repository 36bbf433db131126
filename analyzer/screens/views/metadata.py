"""The view of `export-metadata`: what servers reported about their counters, as a file that `--metadata` reads."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from analyzer.core.output.json import dumps
from analyzer.core.printable_text import counted
from analyzer.results.analysis import Analysis
from analyzer.results.reported_names.saved_metadata import MetadataRecord, metadata_record
from analyzer.screens.views.text_report import safe
from analyzer.screens.views.view_type import OfCapture


class SavedMetadata(Struct, OfCapture, frozen=True):
    analysis: Analysis

    def records(self) -> Iterator[MetadataRecord]:
        yield metadata_record(self.analysis.catalogs, self.analysis.name_tables)

    def lines(self, width: int | None) -> Iterator[str]:
        return (safe(dumps(record).decode()) for record in self.records())

    def summary(self) -> str:
        """Counts in a sentence what the metadata file holds: servers, countersets, names."""
        servers = next(self.records()).servers
        countersets = sum(len(server.countersets) for server in servers)
        names = sum(len(table) for server in servers for table in server.name_tables.values())
        return f"{counted(len(servers), 'server')}, {counted(countersets, 'counterset')}, {counted(names, 'name')} by title index"
