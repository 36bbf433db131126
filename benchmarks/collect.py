"""Sets of captures: what `collect` costs with one and two workers, and from that what it would cost with more of both.

    python benchmarks/collect.py --files 40 --megabytes 50 --keep /tmp/set

makes captures, collects them, and prints the tables of docs/scale.md. Captures are of two kinds in turn: ordinary traffic of which
a hundredth is ours (`mixed`), and file transfers over SMB of which all is (`files`), each between hosts of its own and at a time of
its own. The simulation replays the tasks as they were measured: each takes the processor time that it took, and as long as storage
takes for its bytes; the scheduler takes its time for each, one after the other.
"""

from __future__ import annotations

import argparse
import heapq
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from msgspec import Struct

from analyzer.collect.manifest import Manifest, read_facts, read_manifest
from analyzer.output.store import Store
from benchmarks import traffic

_FILE_HEADER, _RECORD_HEADER = 24, 16
# What Dask's scheduler takes for a task, by its own documentation about a millisecond less than this.
SCHEDULER_S = 0.001
MB, GB, TB = 10**6, 10**9, 10**12


def make(directory: Path, files: int, size: int) -> None:
    """So many captures of about so many bytes each, of both kinds in turn."""
    directory.mkdir(parents=True, exist_ok=True)
    made = {}
    for number in range(files):
        kind = (traffic.mixed, traffic.files)[number % 2]
        if kind not in made:
            base = directory / "base"
            kind(base, size)
            made[kind] = np.fromfile(base, np.uint8)
            base.unlink()
        other(made[kind], number).tofile(directory / f"{number:04}-{kind.__name__}.pcap")


def other(capture: np.ndarray, number: int) -> np.ndarray:
    """The capture between other hosts, some seconds later. Of the two addresses of a packet one grows by what the other shrinks by,
    so that checksums stay right (RFC 1071)."""
    changed = capture.copy()
    data, at = capture.tobytes(), _FILE_HEADER
    starts = []
    while at + _RECORD_HEADER <= len(data):
        starts.append(at)
        at += _RECORD_HEADER + int.from_bytes(data[at + 8 : at + 12], "little")
    places = np.array(starts)
    seconds = np.ndarray((len(data) - 3,), "<u4", data, strides=(1,))[places] + 20 * number
    for byte in range(4):
        changed[places + byte] = seconds >> 8 * byte & 0xFF
    words = np.ndarray((len(data) - 3,), ">u4", data, strides=(1,))
    src, dst = words[places + 42].astype(np.int64), words[places + 46].astype(np.int64)
    sign = np.where(src < dst, 1, -1) * (number << 16)
    for offset, address in ((42, src + sign), (46, dst - sign)):
        for byte in range(4):
            changed[places + offset + byte] = address >> 8 * (3 - byte) & 0xFF
    return changed


class Run(Struct, frozen=True):
    """A collection as it was measured. Times in seconds; `peak` is the largest resident set of a process, in bytes."""

    workers: int
    elapsed: float
    cpu: float
    peak: int
    manifest: Manifest


def collect(directory: Path, dataset: Path, workers: int) -> Run:
    """Collects the captures of a directory with the command, in a process of its own."""
    argv = [sys.executable, "-m", "analyzer", "collect", str(directory), "-o", str(dataset), "--workers", str(workers)]
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 3):
        sys.exit(done.stderr)
    manifest = read_manifest(Store(str(dataset)))
    assert manifest is not None
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Run(workers, time.monotonic() - began, cpu, after.ru_maxrss * 1024, manifest)


# --------------------------------------------------------------------------------------------------------- simulation


class Work(Struct, frozen=True):
    """A task: processor seconds, and bytes that it reads and writes."""

    cpu: float
    read: float
    written: float


class Storage(Struct, frozen=True):
    """How fast bytes come and go: for one worker, and for all together, in bytes a second."""

    name: str
    worker: float
    all: float


class Simulated(Struct, frozen=True):
    """How long a stage takes, and the bound that decides: the longest task, storage, the scheduler, or the processors."""

    seconds: float
    bound: str


def replay(tasks: Sequence[Work], workers: int, storage: Storage) -> Simulated:
    """One stage. Tasks begin longest first, as they do; storage that is shared gives each worker its part of it."""
    speed = min(storage.worker, storage.all / workers)
    lengths = sorted((task.cpu + (task.read + task.written) / speed for task in tasks), reverse=True)
    free = [0.0] * min(workers, len(lengths))
    at = 0.0
    for length in lengths:
        at += SCHEDULER_S
        heapq.heapreplace(free, max(free[0], at) + length)
    seconds = max(free, default=0.0)
    bytes_s = sum(task.read + task.written for task in tasks) / storage.all
    bounds = {
        "scheduler": len(lengths) * SCHEDULER_S,
        "storage": bytes_s,
        "longest task": max((task.cpu + (task.read + task.written) / storage.worker for task in tasks), default=0.0),
        "processors": sum(task.cpu for task in tasks) / workers,
    }
    return Simulated(seconds, max(bounds, key=lambda name: bounds[name]))


def stretched(measured: Sequence[Work], total: float, size: float) -> Iterator[Work]:
    """Tasks like those measured, for so many bytes in all, each of about so many: by what the measured took a byte, in turn."""
    left = total
    number = 0
    while left > 0:
        one = measured[number % len(measured)]
        factor = min(size, left) / one.read
        yield Work(one.cpu * factor, one.read * factor, one.written * factor)
        left -= size
        number += 1


def conversations(total: float, rate: Work, count: int, share: float) -> list[Work]:
    """Conversations over so many bytes, of which the largest has this share and the others follow as 1/n (Zipf)."""
    parts = np.array([1 / n for n in range(2, count + 1)])
    sizes = [total * share, *(parts / parts.sum() * total * (1 - share)).tolist()]
    return [Work(rate.cpu * size, rate.read * size, rate.written * size) for size in sizes]


def measured(dataset: Path) -> tuple[list[Work], Work]:
    """The tasks of the first stage as they were measured, and what the others took a byte of pieces: processor seconds, bytes read
    and written."""
    store = Store(str(dataset))
    manifest = read_manifest(store)
    assert manifest is not None
    facts = read_facts(store, manifest)
    cuts = [Work(one.seconds, float(one.source.size or 0), float(one.piece_bytes)) for one in facts.files]
    pieces = sum(one.piece_bytes for one in facts.files)
    cpu = sum(one.seconds for one in (*facts.conversations, *facts.batches))
    rows = sum(table.bytes for batch in facts.batches for table in batch.files)
    states = sum(one.state_bytes for one in facts.conversations)
    return cuts, Work(cpu / pieces, (pieces + states) / pieces, (rows + states) / pieces)


STORAGES = (Storage("local NVMe", 2 * GB, float("inf")), Storage("object storage", 100 * MB, 50 * GB))


def simulation(dataset: Path) -> Iterator[str]:
    """The table: total, storage and workers by row; hours of each stage, and what decides."""
    cuts, rate = measured(dataset)
    share = sum(cut.written for cut in cuts) / sum(cut.read for cut in cuts)
    yield "| captures | storage | workers | cut | analyse and render | hours | what decides |"
    yield "|---|---|---:|---:|---:|---:|---|"
    for total, words in ((TB, "1 TB"), (100 * TB, "100 TB")):
        first = list(stretched(cuts, total, GB))
        second = conversations(total * share, rate, 20_000, 0.01)
        for storage in STORAGES:
            for workers in (2, 10, 100, 1000):
                one, two = replay(first, workers, storage), replay(second, workers, storage)
                longer = one if one.seconds > two.seconds else two
                hours = [f"{seconds / 3600:,.2f}" for seconds in (one.seconds, two.seconds, one.seconds + two.seconds)]
                yield f"| {words} | {storage.name} | {workers:,} | {' | '.join(hours)} | {longer.bound} |"


def lines(directory: Path, files: int, size: int) -> Iterator[str]:
    """The tables of the page, as they are known."""
    captures = directory / "captures"
    if not captures.exists():
        make(captures, files, size)
    size = sum(path.stat().st_size for path in captures.iterdir())
    yield f"{files} captures, {size / GB:.2f} GB"
    yield ""
    yield "| workers | elapsed, s | processor, s | MB a second of it | peak of a process, MB | bytes shuffled a byte read |"
    yield "|---:|---:|---:|---:|---:|---:|"
    for workers in (1, 2):
        run = collect(captures, directory / f"dataset-{workers}", workers)
        shuffled = next(stage.bytes_out for stage in run.manifest.stages if stage.stage == "cut") / size
        figures = (run.cpu, size / MB / run.cpu, run.peak / MB)
        yield f"| {workers} | {run.elapsed:.1f} | {' | '.join(f'{one:,.1f}' for one in figures)} | {shuffled:.3f} |"
    yield ""
    for stage in run.manifest.stages:
        moved = f"{stage.bytes_in / MB:,.0f} MB in, {stage.bytes_out / MB:,.0f} MB out"
        yield f"{stage.stage}: {stage.tasks} tasks, {stage.cpu_s:.1f} s of processors, {moved}"
    yield ""
    yield from simulation(directory / "dataset-2")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=200)
    parser.add_argument("--megabytes", type=int, default=50)
    parser.add_argument("--keep", type=Path)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        for line in lines(chosen.keep or Path(temporary), chosen.files, chosen.megabytes * MB):
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
