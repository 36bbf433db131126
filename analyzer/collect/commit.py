"""The end of a run: its files take their place, the manifest states them, and what it no longer lists is removed."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version

import msgspec

from analyzer.collect.facts import Job, TableFile
from analyzer.collect.manifest import (
    FACTS,
    MANIFEST,
    PIECES,
    STAGING,
    STATE,
    Facts,
    Manifest,
    SkippedEntry,
    SourceEntry,
    StageEntry,
    TableEntry,
    packed_facts,
)
from analyzer.collect.schemas import STORED
from analyzer.collect.shared import write_shared
from analyzer.collect.sources import shown
from analyzer.core.events import Problem
from analyzer.model.capture import SCHEMA
from analyzer.output.store import Store

_DIRECTORIES = frozenset({*STORED, PIECES, STATE, FACTS, STAGING})
_LIBRARIES = ("dask", "distributed", "fsspec", "msgspec", "numpy", "polars", "zstandard")


def commit(
    store: Store,
    job: Job,
    facts: Facts,
    stages: Sequence[StageEntry],
    skipped: Sequence[SkippedEntry],
    problems: Sequence[Problem],
    stated: tuple[dict[str, str], dict[str, str]],
) -> Manifest:
    """Writes what is left to write, and makes the dataset what the facts say. Raises `StoreError`."""
    facts.shared = write_shared(store, job, facts.files, facts.conversations, facts.batches, problems)
    manifest = _manifest(job, facts, stages, skipped, stated)
    manifest.facts = f"{FACTS}/facts-{job.run}.msgpack.zst"
    store.write(job.place(manifest.facts), packed_facts(facts))
    for name in store.names(job.staging):
        store.move(name, name[len(job.staging) + 1 :])
    store.write(MANIFEST, msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n")
    tidy(store, manifest, facts)
    return manifest


def tidy(store: Store, manifest: Manifest | None, facts: Facts) -> None:
    """Removes from the directories of a dataset what its manifest does not list (None: it has none yet).

    That is what was replaced, and what a run left that was ended before its manifest stood. Whatever else lies beside them stays.
    """
    listed = _files_of(manifest, facts) if manifest is not None else set()
    for name in store.names(""):
        if name.split("/", 1)[0] in _DIRECTORIES and name not in listed:
            store.remove(name)
    store.prune()


def _files_of(manifest: Manifest, facts: Facts) -> set[str]:
    """Every file of a dataset."""
    return {
        MANIFEST,
        manifest.facts,
        *(file.pieces for file in facts.files if file.pieces is not None),
        *(one.state for one in facts.conversations if one.state is not None),
        *(name for table in manifest.tables.values() for name in table.files),
    }


def _manifest(
    job: Job,
    facts: Facts,
    stages: Sequence[StageEntry],
    skipped: Sequence[SkippedEntry],
    stated: tuple[dict[str, str], dict[str, str]],
) -> Manifest:
    written = [*(file for batch in facts.batches for file in batch.files), *facts.shared]
    return Manifest(
        program=version("pcq-analyzer"),
        schema=SCHEMA,
        run=job.run,
        first_time_ns=min((one.first_time_ns for one in facts.files if one.first_time_ns is not None), default=None),
        last_time_ns=max((one.last_time_ns for one in facts.files if one.last_time_ns is not None), default=None),
        frames=sum(one.frames for one in facts.files),
        bytes=sum(one.bytes for one in facts.files),
        conversations=len(facts.conversations),
        options=stated[0],
        asked=stated[1],
        limits=msgspec.structs.asdict(job.limits),
        versions={name: found for name in _LIBRARIES if (found := _version(name)) is not None},
        stages=list(stages),
        sources=[
            SourceEntry(
                number=one.number,
                url=shown(one.source.url),
                size=one.source.size,
                version=one.source.version,
                sha256=one.sha256,
                status=one.status,
                frames=one.frames,
                bytes=one.bytes,
                first_time_ns=one.first_time_ns,
                last_time_ns=one.last_time_ns,
                since_ns=one.window[0],
                until_ns=one.window[1],
                problems=len(one.problems),
            )
            for one in facts.files
        ],
        skipped=list(skipped),
        tables={name: _table(schema, name, written) for name, schema in STORED.items()},
    )


def _table(schema: object, name: str, written: Sequence[TableFile]) -> TableEntry:
    files = [file for file in written if file.table == name]
    columns = {column: str(kind) for column, kind in schema.items()}  # type: ignore[attr-defined]
    return TableEntry(sum(file.rows for file in files), columns, sorted(file.name for file in files))


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
