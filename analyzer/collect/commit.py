"""The end of a run: its files take their place, the manifest states them, and files that the manifest does not list are removed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version

import msgspec

from analyzer.collect.capture_sources import shown
from analyzer.collect.dataset_lock import Lock
from analyzer.collect.dataset_manifest import (
    FACTS,
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
from analyzer.collect.dataset_schemas import STORED
from analyzer.collect.shared_tables import write_shared
from analyzer.collect.sites import site_names
from analyzer.collect.stage_results import Job, TableFile
from analyzer.core.events import Problem
from analyzer.core.output.file_store import Store, StoreError
from analyzer.results.capture_facts import SCHEMA

_DIRECTORIES = frozenset({*STORED, PIECES, STATE, FACTS, STAGING})
# What a manifest states of a file as its facts do.
_OF_FILES = ("number", "sha256", "status", "frames", "bytes", "first_time_ns", "last_time_ns")
_LIBRARIES = ("dask", "distributed", "fsspec", "msgspec", "numpy", "polars", "zstandard")


def commit(
    store: Store,
    lock: Lock,
    job: Job,
    facts: Facts,
    sites: Mapping[int, int],
    stages: Sequence[StageEntry],
    skipped: Sequence[SkippedEntry],
    problems: Sequence[Problem],
    stated: tuple[dict[str, str], dict[str, str]],
) -> Manifest:
    """Writes what is left to write, and makes the dataset what the facts say. Raises `StoreError` where that is impossible, or
    where something that the facts state is absent. The dataset is then unchanged.
    """
    names = site_names(facts.files, sites)
    facts.shared = write_shared(store, job, facts, sites, names, problems)
    with store.keeping(f"{FACTS}/{{}}.msgpack.zst") as out:
        out.file.write(packed_facts(facts))
    of_files = {number: names[site] for number, site in sites.items()}
    manifest = _manifest(job, facts, of_files, stages, skipped, stated)
    manifest.facts = out.name
    there = store.sizes("")
    for name, size in files_of(facts).items():
        if (found := there.get(f"{job.staging}/{name}", there.get(name))) != size:
            raise StoreError(f"{store.root} was changed by somebody else: {name} has {found or 'no'} bytes")
    lock.renew()
    staged = f"{job.staging}/"
    store.move({name: name.removeprefix(staged) for name in there if name.startswith(staged)})
    lock.publish(manifest)
    with suppress(OSError):  # the next run removes it
        tidy(store, {*files_of(facts), manifest.facts})
    return manifest


def tidy(store: Store, listed: Collection[str]) -> dict[str, int]:
    """Removes from the directories of a dataset what it does not list: what was replaced, and what a run left that was ended before
    its manifest stood. Whatever else lies beside them stays. Returns the files that are left, with their sizes."""
    there = store.sizes("")
    for name in list(there):
        if name.split("/", 1)[0] in _DIRECTORIES and name not in listed:
            store.remove(name)
            del there[name]
    store.prune()
    return there


def files_of(facts: Facts) -> dict[str, int]:
    """The files of a dataset besides the manifest and the facts, with their sizes."""
    return {
        **{file.pieces: file.pieces_bytes for file in facts.files if file.pieces is not None},
        **{one.state: one.state_bytes for one in facts.conversations if one.state is not None},
        **{file.name: file.bytes for file in facts.tables},
    }


def _manifest(
    job: Job,
    facts: Facts,
    sites: Mapping[int, str],
    stages: Sequence[StageEntry],
    skipped: Sequence[SkippedEntry],
    stated: tuple[dict[str, str], dict[str, str]],
) -> Manifest:
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
                **{name: getattr(one, name) for name in _OF_FILES},
                url=shown(one.source.url),
                size=one.source.size,
                version=one.source.version,
                since_ns=one.window[0],
                until_ns=one.window[1],
                problems=len(one.problems),
                site=sites[one.number],
            )
            for one in facts.files
        ],
        skipped=list(skipped),
        tables={name: _table(schema, name, facts.tables) for name, schema in STORED.items()},
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
