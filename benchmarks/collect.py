"""Sets of captures: what `collect` costs with one and two workers, and from that what it would cost with more of both.

    python -m benchmarks.collect --files 200 --megabytes 50 --keep /tmp/set --write

makes captures, collects them, measures storage, and prints the tables of docs/scale.md; with `--write` it puts them there. That
takes some 11 minutes of two cores without other work, and 22 GB of disk.

Captures are of two kinds in turn: ordinary traffic of which a hundredth is ours (`mixed`), and file transfers over SMB of which all
is (`files`), each between hosts of its own and at a time of its own. The simulation replays the tasks as they were measured: each
takes the processor time that it took, and as long as storage takes for its bytes; the scheduler takes its time for each, one after
the other.
"""

from __future__ import annotations

import argparse
import heapq
import os
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from msgspec import Struct

from analyzer.collect.capture_sources import RetriedFile, SourceFile
from analyzer.collect.dataset_manifest import Manifest, read_facts, read_manifest
from analyzer.core.output.file_store import Store
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

    kind: str
    workers: int
    bytes: int
    elapsed: float
    cpu: float
    peak: int
    manifest: Manifest

    @property
    def shuffled(self) -> float:
        """Bytes of pieces a byte read."""
        return next(stage.bytes_out for stage in self.manifest.stages if stage.stage == "cut") / self.bytes


def collect(captures: Sequence[Path], dataset: Path, kind: str, workers: int) -> Run:
    """Collects captures with the command, in a process of its own, into a dataset that is new."""
    shutil.rmtree(dataset, ignore_errors=True)
    argv = [sys.executable, "-m", "benchmarks.collect", "--collect", *map(str, captures)]
    argv += ["-o", str(dataset), "--workers", str(workers)]
    began = time.monotonic()
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 3):
        sys.exit(done.stderr)
    elapsed = time.monotonic() - began
    manifest = read_manifest(Store(str(dataset)))
    assert manifest is not None
    cpu, peak = map(float, done.stdout.split())
    size = sum(path.stat().st_size for path in captures)
    return Run(kind, workers, size, elapsed, cpu, int(peak), manifest)


def run_command(arguments: Sequence[str]) -> int:
    """Runs `collect`, and prints the processor seconds and the largest resident set of all processes that it took."""
    argv = [sys.executable, "-m", "analyzer", "collect", *arguments]
    code = subprocess.run(argv, stdout=subprocess.DEVNULL, check=False).returncode
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    sys.stdout.write(f"{used.ru_utime + used.ru_stime} {used.ru_maxrss * 1024}\n")
    return code


# ------------------------------------------------------------------------------------------------------------ storage

# Read and written in pieces of this many bytes, as captures and pieces are.
_PIECE, _MEASURED = 4 * MB, 256 * MB


class Measured(Struct, frozen=True):
    """How fast a kind of storage gives and takes bytes, in MB a second, and the processor time of this program for a MB, in
    seconds."""

    name: str
    read: float
    written: float
    cpu: float


def measured_storage(directory: Path) -> Iterator[Measured]:
    """Local disk (past the page cache), memory (tmpfs), and S3 as moto serves it on this machine: the server takes of the same
    processors, so that it says what the client costs, and of the wire nothing."""
    yield _timed("local disk", str(directory / "storage"), _dropped)
    shared = Path("/dev/shm")
    if shared.is_dir():
        with tempfile.TemporaryDirectory(dir=shared) as memory:
            yield _timed("tmpfs", f"{memory}/storage", lambda _: None)
    with _moto() as bucket:
        if bucket is not None:
            yield _timed("S3 (moto, localhost)", f"{bucket}/storage", lambda _: None)


def _timed(name: str, root: str, forget: Callable[[Path], None]) -> Measured:
    """Writes a file through `output.file_store`, and reads it through `collect.capture_sources`, as the stages do."""
    store = Store(root)
    piece = np.random.default_rng(1).bytes(_PIECE)
    before, began = time.process_time(), time.monotonic()
    with store.writing("file") as out:
        for _ in range(_MEASURED // _PIECE):
            out.write(piece)
    written = time.monotonic() - began
    forget(Path(root) / "file")
    began = time.monotonic()
    file = RetriedFile(SourceFile(store.url("file"), _MEASURED // _PIECE * _PIECE, ""), 0)
    while file.read(_PIECE):
        pass
    file.close()
    read = time.monotonic() - began
    cpu = time.process_time() - before
    store.remove("file")
    return Measured(name, _MEASURED / MB / read, _MEASURED / MB / written, cpu / (2 * _MEASURED / MB))


def _dropped(path: Path) -> None:
    """Takes a file out of the page cache."""
    descriptor = os.open(path, os.O_RDONLY)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(descriptor)


@contextmanager
def _moto() -> Iterator[str | None]:
    """A bucket of moto's server in a process of its own; None where moto or s3fs is not installed."""
    if find_spec("moto") is None or find_spec("s3fs") is None:
        yield None
        return
    import fsspec

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    argv = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    server = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.environ |= {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    try:
        for _ in range(300):
            with socket.socket() as waiting:
                if waiting.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        fsspec.filesystem("s3").mkdir("measured")
        yield "s3://measured"
    finally:
        server.terminate()
        server.wait()


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
    moved = sum(task.read + task.written for task in tasks)
    bounds = {
        "scheduler": len(lengths) * SCHEDULER_S,
        "storage": max(moved / storage.all, moved / storage.worker / workers),
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
    cuts = [Work(one.seconds, float(one.source.size or 0), float(one.pieces_bytes)) for one in facts.files]
    pieces = sum(one.pieces_bytes for one in facts.files)
    cpu = sum(one.seconds for one in (*facts.conversations, *facts.rows))
    rows = sum(table.bytes for one in facts.rows for table in one.files)
    states = sum(one.state_bytes for one in facts.conversations)
    return cuts, Work(cpu / pieces, (pieces + states) / pieces, (rows + states) / pieces)


# Assumed, for they cannot be measured on one machine: an NVMe disk in each worker, and object storage as providers state it, a
# stream of which gives a worker 100 MB/s and a bucket all of them 50 GB/s.
ASSUMED = (
    Storage("local NVMe (assumed)", 2 * GB, float("inf")),
    Storage("object storage (assumed)", 100 * MB, 50 * GB),
)


def storages(found: Sequence[Measured]) -> Iterator[Storage]:
    """What was measured here, for each worker of its own, then what is assumed."""
    for one in found:
        speed = 2 / (1 / one.read + 1 / one.written) * MB  # as many bytes are read as written
        yield Storage(one.name, speed, float("inf"))
    yield from ASSUMED


def simulation(dataset: Path, found: Sequence[Measured]) -> Iterator[str]:
    """The table: total, storage and workers by row; hours of each stage, and what decides."""
    cuts, rate = measured(dataset)
    share = sum(cut.written for cut in cuts) / sum(cut.read for cut in cuts)
    yield "| captures | storage | workers | cut, h | analyse and render, h | all, h | what decides |"
    yield "|---|---|---:|---:|---:|---:|---|"
    for total, words in ((TB, "1 TB"), (100 * TB, "100 TB")):
        first = list(stretched(cuts, total, GB))
        second = conversations(total * share, rate, 20_000, 0.01)
        for storage in storages(found):
            for workers in (10, 100, 1000):
                one, two = replay(first, workers, storage), replay(second, workers, storage)
                longer = one if one.seconds > two.seconds else two
                hours = [f"{seconds / 3600:,.2f}" for seconds in (one.seconds, two.seconds, one.seconds + two.seconds)]
                yield f"| {words} | {storage.name} | {workers:,} | {' | '.join(hours)} | {longer.bound} |"


def measurements(directory: Path, files: int, size: int) -> Iterator[tuple[str, list[str]]]:
    """The tables of the page by the names of their places in it, each as it is known."""
    captures = directory / "captures"
    if not captures.exists():
        make(captures, files, size)
    sets = {
        "half and half": sorted(captures.iterdir()),
        # Of one kind a tenth of them: what they cost a byte is known from that.
        "mixed": sorted(captures.glob("*-mixed.pcap"))[: max(files // 10, 1)],
        "SMB-heavy": sorted(captures.glob("*-files.pcap"))[: max(files // 10, 1)],
    }
    runs = [
        collect(paths, directory / f"dataset-{number}-{workers}", kind, workers)
        for number, (kind, paths) in enumerate(sets.items())
        for workers in (1, 2)
    ]
    yield (
        "runs",
        [
            f"{len(sets['half and half'])} captures, {runs[0].bytes / GB:.2f} GB, on {os.cpu_count()} cores.",
            "",
            *_table_of(runs),
        ],
    )
    yield "stages", [*_stages_of(runs[1])]
    found = list(measured_storage(directory))
    yield "storage", [*_table_of_storage(found)]
    yield "simulation", [*simulation(directory / "dataset-0-2", found)]


def _table_of(runs: Sequence[Run]) -> Iterator[str]:
    yield (
        "| captures | MB | workers | elapsed, s | processor, s | MB a second of processor | MB a second | peak of a process, MB |"
        " bytes shuffled a byte read |"
    )
    yield "|---|---:|---:|---:|---:|---:|---:|---:|---:|"
    for run in runs:
        figures = (run.elapsed, run.cpu, run.bytes / MB / run.cpu, run.bytes / MB / run.elapsed)
        cells = [
            run.kind,
            f"{run.bytes / MB:,.0f}",
            str(run.workers),
            *(f"{one:,.1f}" for one in figures),
            f"{run.peak / MB:,.0f}",
            f"{run.shuffled:.3f}",
        ]
        yield f"| {' | '.join(cells)} |"


def _stages_of(run: Run) -> Iterator[str]:
    yield "| stage | tasks | processor, s | MB in | MB out |"
    yield "|---|---:|---:|---:|---:|"
    for stage in run.manifest.stages:
        yield f"| {stage.stage} | {stage.tasks:,} | {stage.cpu_s:.1f} | {stage.bytes_in / MB:,.0f} | {stage.bytes_out / MB:,.0f} |"


def _table_of_storage(found: Sequence[Measured]) -> Iterator[str]:
    yield "| storage | read, MB/s | written, MB/s | processor of the program, ms a MB |"
    yield "|---|---:|---:|---:|"
    for one in found:
        yield f"| {one.name} | {one.read:,.0f} | {one.written:,.0f} | {1000 * one.cpu:.2f} |"


PAGE = Path(__file__).parent.parent / "docs" / "scale.md"


def put(page: str, name: str, table: Sequence[str]) -> str:
    """The page with a table between the marks of its place."""
    begin, end = f"<!-- measured: {name} -->\n", f"<!-- end: {name} -->"
    head, found, rest = page.partition(begin)
    _, closed, tail = rest.partition(end)
    if not found or not closed:
        raise ValueError(f"the page has no place for {name}")
    return "".join((head, begin, *(f"{line}\n" for line in table), end, tail))


def main() -> None:
    if sys.argv[1:2] == ["--collect"]:
        sys.exit(run_command(sys.argv[2:]))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=200)
    parser.add_argument("--megabytes", type=int, default=50)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--write", action="store_true", help="put the tables into docs/scale.md")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        for name, table in measurements(chosen.keep or Path(temporary), chosen.files, chosen.megabytes * MB):
            sys.stdout.write("\n".join((f"{name}:", *table, "", "")))
            sys.stdout.flush()
            if chosen.write:
                PAGE.write_text(put(PAGE.read_text(), name, table))


if __name__ == "__main__":
    main()
