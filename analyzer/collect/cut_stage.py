"""The first stage of `collect`: cuts a capture file into pieces, our frames by pair of hosts, and states what is known of the file.

It decodes nothing. A file that cannot be read is a problem. If a file cannot be read to its end, the part that was read stands.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing
from math import inf
from time import process_time
from typing import BinaryIO, cast

import numpy as np
from msgspec.structs import asdict, replace

from analyzer.capture.capture_reader import CaptureInfo, CaptureReader, unreadable
from analyzer.capture.embedded_secrets import embedded_secrets
from analyzer.capture.frame_blocks import FrameBlock, PlacedBlock
from analyzer.collect.capture_pieces import PieceWriter
from analyzer.collect.capture_sources import RetriedFile, SourceFile, shown
from analyzer.collect.dataset_manifest import PIECES
from analyzer.collect.stage_tasks_and_facts import CutTask, FileFacts, KindFacts, MetTask, Window
from analyzer.core.errors import InputError
from analyzer.core.events import Problem
from analyzer.core.frame_ids import frame_id, number_of
from analyzer.core.limits import Limits
from analyzer.core.output.file_store import Store
from analyzer.transport.packet.host_pair_sorter import ChosenFrames, FrameKind, FrameSorter


def cut_file(task: CutTask) -> FileFacts:
    """Cuts a capture file into pieces and returns its facts. Raises `StoreError` if the dataset cannot be written."""
    began, facts = process_time(), replace(task.facts, problems=[])
    url = shown(facts.source.url)
    with ExitStack() as opened:
        try:
            file = opened.enter_context(_opened(facts.source, task.job.retries, f"{url} cannot be read: "))
            reader = CaptureReader([cast(BinaryIO, file)], hashing=True, limits=task.job.limits)
        except InputError as error:
            facts.problems.append(unreadable(error))
            return facts
        with Store(task.job.dataset).keeping(f"{PIECES}/{{}}") as out:
            _Cutter(facts, task.job.limits, PieceWriter(out.file)).run(reader)
        facts.pieces, facts.pieces_bytes, facts.status = out.name, out.size, "read"
        facts.names = dict(reader.info.names)
        facts.sha256 = reader.digests[0].sha256 if reader.digests else None
        for text in _losses(file, facts):
            facts.status, facts.sha256 = "partial", None
            facts.problems.append(Problem("unreadable", "capture", (), f"{url} {text}"))
    facts.seconds = process_time() - began
    return facts


def _opened(source: SourceFile, retries: int, words: str = "") -> closing[RetriedFile]:
    """Opens a capture file for cutting; the caller's `with` closes it. Raises `InputError`, which begins with `words`, if it cannot
    be opened."""
    try:
        return closing(RetriedFile(source, retries))
    except OSError as error:
        raise InputError(f"{words}{error.strerror or error}") from None


def _losses(file: RetriedFile, facts: FileFacts) -> Iterator[str]:
    """Yields what could not be read of a capture file, once it was cut. Notes whether the file carries secrets."""
    if file.failure is not None:
        yield f"could be read up to byte {file.tell()} only: {file.failure}"
        return
    if (change := file.change()) is not None:
        yield change
    file.seek(0)
    facts.has_secrets = bool(embedded_secrets(cast(BinaryIO, file)))
    if file.failure is not None:
        yield f"could not be searched for secrets: {file.failure}"


def secrets_in(source: SourceFile, retries: int) -> tuple[bytes, ...]:
    """Opens a capture file once more that the cut stage has cut, and returns the decryption secrets that it carries before its
    packets. Raises `InputError` if the file cannot be read any more."""
    with _opened(source, retries) as file:
        found = embedded_secrets(cast(BinaryIO, file))
    if file.failure is not None:
        raise InputError(file.failure)
    return found


class _Cutter:
    """Reads one capture file, cuts it into pieces and fills in its facts."""

    def __init__(self, facts: FileFacts, limits: Limits, writer: PieceWriter) -> None:
        self._facts, self._writer = facts, writer
        # Counts the frames within the times asked for.
        self._info = CaptureInfo()
        self._base = frame_id(facts.number, 0)
        self._sorter = FrameSorter(limits=limits, wanted=facts.wanted)
        self._latest = np.iinfo(np.int64).min
        # Keys of the blocks that the sorter still holds, by the number of the first frame.
        self._keys: dict[int, np.ndarray[tuple[int], np.dtype[np.int64]]] = {}
        self._with_data: set[FrameKind] = set()

    def run(self, reader: CaptureReader) -> None:
        facts, sorter, writer = self._facts, self._sorter, self._writer
        for item in reader:
            if isinstance(item, Problem):
                facts.problems.append(replace(item, frames=tuple(frame + self._base for frame in item.frames)))
            else:
                self._block(item)
        self._write(sorter.rest())
        writer.finish()
        info = self._info
        facts.frames, facts.bytes = info.frames, info.bytes
        facts.first_time_ns, facts.last_time_ns = info.first_time_ns, info.last_time_ns
        facts.met = writer.put(sorter.met.astype("<u8").tobytes())
        facts.recognised, facts.links = sorted(sorter.recognised), sorted(sorter.links)
        facts.flows, facts.begun = sorter.ours, sorter.begun
        facts.known_as = {f"mac {ip}": sorted(found) for ip, found in sorted(sorter.cards.items())}
        facts.set_back = [number_of(frame) for frame in reader.set_back]
        facts.tallies = sorter.tallies
        facts.tallies.renumber(lambda frame: frame + self._base)
        facts.kinds = [
            KindFacts(kind, kind in self._with_data, places, writer.digest(kind))
            for kind, places in sorted(writer.places.items(), key=_order)
        ]

    def _block(self, block: FrameBlock) -> None:
        keys = np.maximum(np.maximum.accumulate(block.times_ns), self._latest)
        self._latest = keys[-1]
        index = np.flatnonzero(_inside(block, self._facts.window))
        if not len(index):
            return
        if len(index) < len(block):
            block, keys = block.only(index), keys[index]
        if self._facts.opens_ns is None:
            self._facts.opens_ns = int(block.times_ns[0])
        self._info = self._info.with_block(block)
        self._keys[int(block.frames[0])] = keys
        self._write(self._sorter.sort(block))

    def _write(self, sorted_blocks: Iterable[tuple[FrameBlock, list[ChosenFrames]]]) -> None:
        for block, chosen in sorted_blocks:
            keys = self._keys.pop(int(block.frames[0]))
            for one in chosen:
                self._writer.add(one.kind, PlacedBlock(**asdict(block.only(one.index)), keys=keys[one.index]))
                if one.has_data:
                    self._with_data.add(one.kind)


def _inside(block: FrameBlock, window: Window) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    since, until = (-inf if window[0] is None else window[0]), (inf if window[1] is None else window[1])
    return (block.times_ns >= since) & (block.times_ns < until)


def _order(entry: tuple[FrameKind, object]) -> tuple[object, ...]:
    return entry[0].pair, entry[0].client or ""


def flows_met(task: MetTask) -> frozenset[int]:
    """Returns those of the task's flows that the cut stage met in a capture file: they have segments there."""
    start, length = task.met
    numbers = np.frombuffer(Store(task.job.dataset).read(task.pieces, start, start + length), "<u8")
    return frozenset(np.intersect1d(numbers, np.array(sorted(task.flows), np.uint64)).tolist())
