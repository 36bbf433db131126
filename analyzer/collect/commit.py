"""Ends a run of `collect`: moves its files into place, writes the manifest, and removes files that the manifest does not list."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from typing import Any

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
    SourceEntry,
    TableEntry,
    packed_facts,
)
from analyzer.collect.dataset_schemas import STORED
from analyzer.collect.stage_tasks_and_facts import Job, TableFile
from analyzer.collect.whole_dataset_tables import write_shared
from analyzer.collect.work_plan import site_names
from analyzer.core.events import Problem
from analyzer.core.output.file_store import Store, StoreError
from analyzer.results.records.capture_records import SCHEMA

_DIRECTORIES = frozenset({*STORED, PIECES, STATE, FACTS, STAGING})
# Fields that a manifest copies from the facts of a file.
_OF_FILES = ("number", "sha256", "status", "frames", "bytes", "first_time_ns", "last_time_ns")
_LIBRARIES = ("dask", "distributed", "fsspec", "msgspec", "numpy", "polars", "zstandard")


def commit(
    lock: Lock, job: Job, facts: Facts, sites: Mapping[int, int], problems: Sequence[Problem], **stated: Any
) -> Manifest:
    """Commits a run of `collect`: writes the shared tables and the facts, moves all files into place and publishes the manifest.
    `stated` holds further fields of the manifest.

    Raises `StoreError` if that is impossible, or if a file that the facts state is absent. The dataset is then unchanged.
    """
    store, names = lock.store, site_names(facts.files, sites)
    facts.shared = write_shared(store, job, facts, sites, names, problems)
    with store.keeping(f"{FACTS}/{{}}.msgpack.zst") as out:
        out.file.write(packed_facts(facts))
    manifest = manifest_to_commit(job, facts, {number: names[site] for number, site in sites.items()}, **stated)
    manifest.facts = out.name
    there, sizes, staged = store.sizes(""), facts.sizes, f"{job.staging}/"
    for name, size in sizes.items():
        if (found := there.get(f"{staged}{name}", there.get(name))) != size:
            raise StoreError(f"{store.root} was changed by somebody else: {name} has {found or 'no'} bytes")
    lock.renew()
    store.move({name: name.removeprefix(staged) for name in there if name.startswith(staged)})
    lock.publish(manifest)
    with suppress(OSError):  # the next run removes it
        tidy(store, {*sizes, manifest.facts})
    return manifest


def tidy(store: Store, listed: Collection[str]) -> dict[str, int]:
    """Removes files that the dataset's last commit does not list: replaced ones, and those of a run that ended before it wrote its
    manifest. Files in other directories stay. Returns the remaining files with their sizes."""
    there = store.sizes("")
    for name in list(there):
        if name.split("/", 1)[0] in _DIRECTORIES and name not in listed:
            store.remove(name)
            del there[name]
    store.prune()
    return there


def manifest_to_commit(job: Job, facts: Facts, sites: Mapping[int, str], **stated: Any) -> Manifest:
    """Makes the manifest for the commit of a run, from the facts of the dataset. `sites` has the name of each file's site."""
    return Manifest(
        program=version("pcq-analyzer"),
        schema=SCHEMA,
        run=job.run,
        first_time_ns=min((one.first_time_ns for one in facts.files if one.first_time_ns is not None), default=None),
        last_time_ns=max((one.last_time_ns for one in facts.files if one.last_time_ns is not None), default=None),
        frames=sum(one.frames for one in facts.files),
        bytes=sum(one.bytes for one in facts.files),
        conversations=len(facts.conversations),
        limits=msgspec.structs.asdict(job.limits),
        versions={name: found for name in _LIBRARIES if (found := _version(name)) is not None},
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
        tables={name: _table(schema, name, facts.tables) for name, schema in STORED.items()},
        **stated,
    )


def _table(schema: Mapping[str, Any], name: str, written: Sequence[TableFile]) -> TableEntry:
    files = [file for file in written if file.table == name]
    columns = {column: str(kind) for column, kind in schema.items()}
    return TableEntry(sum(file.rows for file in files), columns, sorted(file.name for file in files))


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
