"""Reads captures as frames: paths, globs, standard input and open files become blocks of frames in time order, and problems.

Each file is pcap, pcapng or etl, plain or compressed; what kind is found out from its first bytes. Several files are one
capture: those whose times do not overlap (a ring) are read one after the other, those that do are merged by time, the
frames of one file always in the file's own order. A file's place in `CaptureInfo.files` is the file part of its frame ids.
"""

from __future__ import annotations

import select
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain, pairwise
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, BinaryIO, Protocol, TypeVar

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from analyzer.capture.decompression import ByteStream, DecompressorLimitError, DecompressorMemory, Peeked, open_stream
from analyzer.capture.first_bytes import (
    foreign_capture,
    is_etl,
    looks_like,
    pcap_order,
    refuse_special,
    section_order,
    special_file,
)
from analyzer.capture.frame_blocks import FrameBlock, PlacedBlock
from analyzer.capture.pcap import PcapFile
from analyzer.core.errors import InputError
from analyzer.core.events import Problem
from analyzer.core.frame_ids import frame_id, number_of
from analyzer.core.limits import DEFAULTS, Limits
from analyzer.core.printable_text import text_of_path
from analyzer.core.times import NS_PER_S
from analyzer.results.analysis import FileDigest
from analyzer.results.records.capture_records import EventTrace

if TYPE_CHECKING:
    import numpy.typing as npt

    from analyzer.capture.etl import EtlFile
    from analyzer.capture.file_digest import HashedFile
    from analyzer.capture.pcapng import PcapngFile

Source = str | Path | BinaryIO

STANDARD_INPUT = "-"
# Large enough that array operations outweigh their overhead, small enough to stay in a processor's cache.
BLOCK_BYTES = 6 * 1024 * 1024
# The C library of Linux gives memory back to the system beyond twice the largest piece that was freed before, if that had no
# more than this; each page then costs a fault when it is wanted again, for each block.
_KEPT_BYTES = 32 * 1024 * 1024 - 64 * 1024
# Bytes that the files of a merge hold together, roughly. Each gets its share, but at least what is worth a read.
MERGE_BYTES = 16 * 1024 * 1024
FEWEST_BLOCK_BYTES = 64 * 1024
# What is known of a short frame takes many times its memory while its block is read; blocks of such are given out in parts.
MOST_FRAMES = 12 * 1024
_HEAD_BYTES = 512
# Streaming, blocks grow up to this: more would be read before the first calls of it are printed.
_MOST_STREAMED = 1024 * 1024
# A pipe from which nothing came for so long has nothing for the moment.
_IDLE_SECONDS = 0.2
_GLOB_CHARACTERS = "*?["
# Frames of several interfaces or queues are written out of order by less than this. More is a clock that was set back.
_SET_BACK_NS = NS_PER_S
_FRAMES_NAMED = 16


class CaptureInfo(Struct, frozen=True):
    """The facts of the capture files that were read: frames, bytes, times. `bytes` counts captured bytes of frames. `names` are the
    names that the files state for addresses."""

    files: tuple[str, ...] = ()
    frames: int = 0
    bytes: int = 0
    first_time_ns: int | None = None
    last_time_ns: int | None = None
    names: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def with_block(self, block: FrameBlock) -> CaptureInfo:
        """Returns the `CaptureInfo` with one more block of frames, which has at least one frame."""
        first, last = int(block.times_ns.min()), int(block.times_ns.max())
        return replace(
            self,
            frames=self.frames + len(block),
            bytes=self.bytes + int(block.captured.sum()),
            first_time_ns=first if self.first_time_ns is None else min(first, self.first_time_ns),
            last_time_ns=last if self.last_time_ns is None else max(last, self.last_time_ns),
        )


class ReadBound(Struct, frozen=True):
    """The bound where reading of captures ends: after so many frames, or before the first frame later than a time.

    `until` maps the time of the first frame to that time, both in ns since 1970.
    """

    frames: int | None = None
    until: Callable[[int], int] | None = None


def named_captures(sources: Sequence[Source], failures: list[InputError] | None = None) -> tuple[Path | BinaryIO, ...]:
    """Returns the files for the capture reader that paths, globs and `-` name, each once. A path that exists is never taken for a
    glob.

    Errors of single names go to `failures`; without `failures` they are raised. A pipe, a socket or a device that is one of several
    names is such an error, because it may come out of a directory.
    """
    named: dict[object, Path | BinaryIO] = {}
    failed: list[InputError] = []
    for source in sources:
        try:
            for one in _expanded(source):
                named.setdefault(one.resolve() if isinstance(one, Path) else id(one), one)
        except InputError as error:
            failed.append(error)
    is_alone = len(named) == 1 and not any(map(_is_pattern, sources))
    found: list[Path | BinaryIO] = []
    for one in named.values():
        try:
            if isinstance(one, Path) and not is_alone:
                refuse_special(one)
            found.append(one)
        except InputError as error:
            failed.append(error)
    if failures is None and failed:
        raise failed[0]
    failures = [] if failures is None else failures
    failures += failed
    if not found:
        if failures:
            raise none_readable(failures)
        raise InputError(
            "No capture was named.", hint="Name a file, a glob such as 'ring/*.pcapng', or - for standard input."
        )
    return tuple(found)


def none_readable(failures: Sequence[InputError]) -> InputError:
    """Returns the error that none of several capture files can be read."""
    first = failures[0]
    if len(failures) == 1:
        return first
    return InputError(f"None of {len(failures)} files can be read. {first}", hint=first.hint)


def unreadable(error: InputError) -> Problem:
    """Returns the problem made of the error of one capture file of several. The others are read."""
    return Problem("unreadable", "capture", (), str(error))


def _is_pattern(source: Source) -> bool:
    return any(character in str(source) for character in _GLOB_CHARACTERS)


def _expanded(source: Source) -> list[Path | BinaryIO]:
    if not isinstance(source, str | Path):
        return [source]
    if str(source) == STANDARD_INPUT:
        if sys.stdin is None or sys.stdin.isatty():
            raise InputError("Standard input is not a capture.", hint="Pipe one in: pcq-analyzer ... - < FILE.")
        return [sys.stdin.buffer]
    text = str(source)
    try:
        path = Path(source).expanduser()
        exists = path.exists()
        path.resolve()
    except (OSError, ValueError, RuntimeError) as error:
        raise InputError(f"{text!r} is no usable path ({error}).") from None
    if not exists and _is_pattern(text):
        import glob

        matches = sorted(Path(match) for match in glob.glob(str(path), recursive=True))  # noqa: PTH207
        files = [match for match in matches if not match.is_dir()]
        if not files:
            raise InputError(f"{text}: no file matches.", hint="Check the pattern and the directory it starts in.")
        return list(files)
    return [path]


class Clock:
    """Follows the times of the frames that are read of one capture file, in the order in which they stand there."""

    def __init__(self, set_back: list[int]) -> None:
        """Frames before which the capture's clock went back are appended to `set_back`."""
        self._set_back = set_back
        self._last_ns: int | None = None
        self._count = 0
        self._frames: list[int] = []
        self._first_ns = self._most_ns = 0

    def see(self, block: FrameBlock) -> None:
        """Takes the times of the next block of frames that is read of the capture."""
        times = block.times_ns
        if not len(times):
            return
        before = np.concatenate(([times[0] if self._last_ns is None else self._last_ns], times[:-1]))
        self._last_ns = int(times[-1])
        back = np.flatnonzero(times < before)
        # Their difference needs 64 bits without a sign.
        for at, step in zip(back.tolist(), (before[back] - times[back]).view(np.uint64).tolist(), strict=True):
            self._steps_back(int(block.frames[at]), step)

    def tick(self, frame: int, time_ns: int) -> None:
        """Takes the time of one more frame of the capture that the reader yields alone, without a block."""
        last_ns, self._last_ns = self._last_ns, time_ns
        if last_ns is not None and time_ns < last_ns:
            self._steps_back(frame, last_ns - time_ns)

    def _steps_back(self, frame: int, step: int) -> None:
        if step < _SET_BACK_NS:
            return
        self._count += 1
        self._set_back.append(frame)
        self._first_ns = self._first_ns or step
        self._most_ns = max(self._most_ns, step)
        if len(self._frames) < _FRAMES_NAMED:
            self._frames.append(frame)

    def problems(self) -> Iterator[Problem]:
        """Yields the problem that the clock of the capture went back, when its file was read to the end."""
        if not self._count:
            return
        text = f"the clock of the capture went back by {self._first_ns / NS_PER_S:,.3f} s at frame {number_of(self._frames[0])}"
        if self._count > 1:
            text += f", and {self._count - 1} more times, by {self._most_ns / NS_PER_S:,.3f} s at most"
        text += (
            "; times are shown as captured, and a call has no latency where that was between its request and its answer"
        )
        yield Problem("note", "capture", tuple(self._frames), text)


class _CaptureFile:
    """One file of a capture. It is opened when needed, and ordered among the others by the time of its first frame."""

    def __init__(self, source: Path | BinaryIO, limits: Limits, memory: DecompressorMemory) -> None:
        self.source = source
        self._limits = limits
        self._memory = memory
        if isinstance(source, Path):
            self.name = text_of_path(source)
        elif sys.stdin is not None and source is sys.stdin.buffer:
            self.name = STANDARD_INPUT
        else:
            name = getattr(source, "name", None)
            self.name = text_of_path(name) if isinstance(name, str) else "<stream>"
        # A pipe gives its bytes once.
        self._can_reopen = isinstance(source, Path) and special_file(source) is None
        self.number = 0
        # Whether it is read as its bytes come.
        self.is_live = False
        self.first_time_ns: int | None = None
        self.reader: PcapFile | PcapngFile | EtlFile | None = None
        self._stream: ByteStream | None = None
        self._items: Iterator[FrameBlock | Problem] = iter(())
        # Items that were read to find the first time, of a source that cannot be opened again.
        self._seen: list[FrameBlock | Problem] = []
        self._seen_names: dict[str, str] = {}
        self._hashed: HashedFile | None = None
        self._file: BinaryIO | None = None
        self._position = 0
        # The digest of the file and its facts as an event trace log, known after it was read to its end.
        self.digest: FileDigest | None = None
        self.trace: EventTrace | None = None

    def open(self, block_bytes: int, names: dict[str, str], *, fast: bool, hashing: bool = False) -> None:
        """Opens the capture file and makes `reader` ready. Raises `InputError` if the source is no capture."""
        through = partial(self._opened, hashing)
        stream, wrappings = open_stream(
            self.source, self.name, self._limits, memory=self._memory, through=through, live=self.is_live
        )
        self._stream = stream
        try:
            head = stream.read(_HEAD_BYTES)
            whole = Peeked(head, stream)
            if pcap_order(head) is not None:
                self.reader = PcapFile(whole, self.number, block_bytes=block_bytes, fast=fast)
            else:
                self.reader = self._other(whole, head, block_bytes, names, fast=fast)
                if self.reader is None:
                    raise _not_a_capture(self.name, head, wrappings, stream.damage)
        except BaseException:
            self.close()
            raise
        self._items = iter(self.reader)

    def _other(
        self, whole: Peeked, head: bytes, block_bytes: int, names: dict[str, str], *, fast: bool
    ) -> PcapngFile | EtlFile | None:
        """Returns the reader of a capture file that is no pcap (pcapng, etl), None if it has no reader."""
        if section_order(head) is not None:
            from analyzer.capture.pcapng import PcapngFile

            return PcapngFile(whole, self.number, names, block_bytes=block_bytes, fast=fast, limits=self._limits)
        if is_etl(head):
            from analyzer.capture.etl import EtlFile

            return EtlFile(whole, self.number, names, block_bytes=block_bytes, limits=self._limits)
        return None

    def _opened(self, hashing: bool, file: BinaryIO) -> BinaryIO | HashedFile:
        self._file = file
        if hashing:
            from analyzer.capture.file_digest import HashedFile  # few results state digests

            self._hashed = HashedFile(file)
        return self._hashed if self._hashed is not None else file

    @property
    def position(self) -> int:
        """The number of stored bytes of the capture file that were read, compressed or not; 0 if the source does not know."""
        if self._file is not None:
            with suppress(OSError, ValueError):  # a pipe, or closed by now
                self._position = self._file.tell()
        return self._position

    @property
    def is_drained(self) -> bool:
        """Whether the capture file is a pipe that gives no bytes now, but has not ended."""
        if not self.is_live or self._file is None:
            return False
        try:
            return not select.select([self._file], [], [], _IDLE_SECONDS)[0]
        except (OSError, ValueError):  # no pipe that could be waited for
            return False

    def find_first_time(self, *, fast: bool, hashing: bool = False) -> None:
        """Reads the capture file up to its first frame, then closes it if it can be opened again. Perhaps not all files may be open
        at once."""
        names: dict[str, str] = {}
        # A file is opened again, and hashed then.
        self.open(FEWEST_BLOCK_BYTES, names, fast=fast, hashing=hashing and not self._can_reopen)
        seen: list[FrameBlock | Problem] = []
        for item in self._items:
            seen.append(item)
            if isinstance(item, FrameBlock):
                self.first_time_ns = int(item.times_ns[0])
                break
        if self._can_reopen:
            self.close()
        else:
            self._seen, self._seen_names = seen, names

    def items(
        self, block_bytes: int, names: dict[str, str], set_back: list[int], *, fast: bool, hashing: bool = False
    ) -> Iterator[FrameBlock | Problem]:
        """Yields the frames and problems of the capture file; its source is closed at the end. Frames before which its clock went
        back are appended to `set_back` before they come."""
        if self.reader is None:
            try:
                self.open(block_bytes, names, fast=fast, hashing=hashing)
            except InputError as error:  # it was removed since its first frame was looked at
                if isinstance(error, DecompressorLimitError):
                    yield Problem("limit", "capture", (), str(error))
                yield unreadable(error)
                return
        assert self.reader is not None
        self.reader.file, self.reader.names = self.number, names
        for address, name in self._seen_names.items():
            names.setdefault(address, name)
        clock = Clock(set_back)
        try:
            for item in chain((_renumbered(item, self.number) for item in self._seen), self._items):
                if isinstance(item, FrameBlock):
                    clock.see(item)
                yield item
            yield from clock.problems()
            self.trace = self._trace()
            if self._hashed is not None:
                self.digest = self._hashed.digest(self.name)
        finally:
            self.close()

    def _trace(self) -> EventTrace | None:
        if self.reader is None or isinstance(self.reader, PcapFile):
            return None
        from analyzer.capture.etl import EtlFile

        return self.reader.trace_of(self.name) if isinstance(self.reader, EtlFile) else None

    def set_block_bytes(self, block_bytes: int) -> None:
        if self.reader is not None:
            self.reader.block_bytes = block_bytes

    def close(self) -> None:
        self.reader = None
        self._position, self._file = self.position, None
        if self._stream is not None:
            self._stream.close()
            self._stream = None


def _renumbered(item: FrameBlock | Problem, file: int) -> FrameBlock | Problem:
    """Returns frames or a problem, read as those of file 0, with the number of another capture file."""
    if isinstance(item, Problem):
        return replace(item, frames=tuple(frame_id(file, number) for number in item.frames))
    return replace(item, frames=item.frames + frame_id(file, 0))


def _not_a_capture(name: str, head: bytes, wrappings: tuple[str, ...], damage: str | None) -> InputError:
    """Returns the reader's error for a file that is no capture."""
    around = " of ".join(wrappings)
    if not head:
        if damage:
            return InputError(f"{name} cannot be read: {damage}.", hint="Copy or download the file again.")
        inside = f"{around} of nothing" if around else "empty"
        return InputError(f"{name} is {inside}.", hint="Was the capture stopped before anything was written?")
    what = f"{around} of {looks_like(head)}" if around else looks_like(head)
    if foreign_capture(head) is not None:
        return InputError(
            f"{name} is {what}, which only Wireshark's engine reads.",
            hint="Use --engine tshark, or convert it: editcap -F pcapng IN OUT.",
        )
    return InputError(
        f"{name} is not a capture: it looks like {what}.",
        hint="A pcap, pcapng or etl file is wanted, plain or compressed with gzip, zstd, lz4, xz or bzip2.",
    )


class CaptureReader:
    """Iterates over the frames of the captures in time order, as `FrameBlock`, and over the problems of their files.

    If no source is usable, construction raises `InputError`; of several, unusable ones are problems. `info` grows while iterating
    and is complete afterwards. With `hashing`, `digests` then has the digest of each file. Nothing beyond a `bound` is read.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        *,
        block_bytes: int = BLOCK_BYTES,
        fast: bool = True,
        hashing: bool = False,
        limits: Limits = DEFAULTS,
        bound: ReadBound | None = None,
        streaming: bool = False,
    ) -> None:
        """With `streaming`, early frames of the capture come soon: in small blocks, and from a pipe as its bytes come."""
        self._bound = bound
        self._streaming = streaming
        block_bytes = min(block_bytes, FEWEST_BLOCK_BYTES) if streaming else block_bytes
        # Never touched, so it costs no memory.
        np.empty(_KEPT_BYTES, np.uint8)
        self._fast = fast
        self._hashing = hashing
        self._block_bytes = block_bytes
        failures: list[InputError] = []
        memory = DecompressorMemory(limits)
        files = [_CaptureFile(source, limits, memory) for source in named_captures(sources, failures)]
        for file in files:
            is_pipe = not isinstance(file.source, Path) or file.source.is_fifo()
            file.is_live = streaming and len(files) == 1 and is_pipe
        if len(files) == 1 and not failures:
            files[0].open(block_bytes, {}, fast=fast, hashing=hashing)
        else:
            files = _with_first_times(files, failures, fast=fast, hashing=hashing)
            # Sorted is stable: files that begin together, or hold no frames, keep the order they were named in.
            files.sort(key=lambda file: (file.first_time_ns is None, file.first_time_ns or 0))
        for number, file in enumerate(files):
            file.number = number
        self._files = files
        self._unreadable = [unreadable(error) for error in failures]
        self.info = CaptureInfo(files=tuple(file.name for file in files))
        self.set_back: list[int] = []

    @property
    def position(self) -> int:
        """The number of bytes that were read of all capture files."""
        return sum(file.position for file in self._files)

    @property
    def digests(self) -> tuple[FileDigest, ...]:
        """The SHA-256 digests of the capture files that were read to their end, in the order of `info.files`."""
        return tuple(file.digest for file in self._files if file.digest is not None)

    @property
    def traces(self) -> tuple[EventTrace, ...]:
        """The facts of the event trace logs that were read to their end, in the order of `info.files`."""
        return tuple(file.trace for file in self._files if file.trace is not None)

    @property
    def is_drained(self) -> bool:
        """Whether the captures have no bytes to read now, but have not ended."""
        return any(file.is_drained for file in self._files)

    def __iter__(self) -> Iterator[FrameBlock | Problem]:
        names: dict[str, str] = {}

        def items(file: _CaptureFile, block_bytes: int) -> Iterator[Item]:
            return file.items(block_bytes, names, self.set_back, fast=self._fast, hashing=self._hashing)

        self.info = CaptureInfo(files=self.info.files, names=MappingProxyType(names))
        try:
            yield from self._unreadable
            for item in merged(self._files, items, self._block_bytes):
                if isinstance(item, FrameBlock):
                    whole, item = item, self._within(item)
                    if not len(item):
                        return
                    self.info = self.info.with_block(item)
                    yield from item.pieces(MOST_FRAMES)
                    if item is not whole:
                        return
                    if self._streaming and self._block_bytes < _MOST_STREAMED:
                        self._block_bytes *= 2
                        for file in self._files:
                            file.set_block_bytes(self._block_bytes)
                else:
                    yield item
        finally:
            for file in self._files:
                file.close()

    def _within(self, block: FrameBlock) -> FrameBlock:
        """Returns what of a block comes before the bound at which the reading of captures ends: the block itself, if all does."""
        if self._bound is None:
            return block
        count = len(block)
        if self._bound.frames is not None:
            count = min(count, self._bound.frames - self.info.frames)
        if self._bound.until is not None:
            first = self.info.first_time_ns
            later = np.flatnonzero(
                block.times_ns > self._bound.until(int(block.times_ns[0]) if first is None else first)
            )
            count = min(count, int(later[0])) if len(later) else count
        return block if count == len(block) else block.some(slice(count))


class Ordered(Protocol):
    """A capture file of a set: its place among the others, and the time of its first frame, if it has any."""

    number: int
    first_time_ns: int | None

    def set_block_bytes(self, block_bytes: int) -> None: ...


_Ordered = TypeVar("_Ordered", bound=Ordered)
Item = FrameBlock | Problem


def merged(
    files: Sequence[_Ordered], items: Callable[[_Ordered, int], Iterator[Item]], block_bytes: int = BLOCK_BYTES
) -> Iterator[Item]:
    """Merges capture files: yields their frames in time order. `files` are ordered by first time and number. `items` yields the
    frames of one file, in blocks of about so many bytes."""
    waiting = deque(files)
    active: list[_FileInReading] = []
    while True:
        for part in active:
            yield from part.fill()
        active = [part for part in active if len(part)]
        # A file joins when its first frame may be among the next to give out.
        if waiting and (not active or _begins_by(waiting[0], _horizon(active)[0])):
            file = waiting.popleft()
            share = min(block_bytes, max(MERGE_BYTES // (len(active) + 1), FEWEST_BLOCK_BYTES))
            active.append(_FileInReading(file, items(file, share)))
            for part in active:
                part.file.set_block_bytes(share)
        elif not active:
            return
        elif len(active) == 1 and not waiting:
            yield from active[0].rest()
            return
        elif len(active) == 1:
            yield active[0].take_before(active[0].keys[-1], inclusive=True)
        else:
            yield from _interleaved(active)


def _with_first_times(
    files: Sequence[_CaptureFile], failures: list[InputError], *, fast: bool, hashing: bool
) -> list[_CaptureFile]:
    """Returns the capture files that the reader could open to find their first times. The errors of the others go to `failures`."""
    found = []
    for file in files:
        try:
            file.find_first_time(fast=fast, hashing=hashing)
            found.append(file)
        except InputError as error:
            failures.append(error)
    if not found:
        raise none_readable(failures)
    return found


def _begins_by(file: Ordered, time_ns: int) -> bool:
    return file.first_time_ns is not None and file.first_time_ns <= time_ns


class _FileInReading:
    """A capture file that is being merged, and the rest of its current block.

    `keys` are the latest times so far in the file. So a frame out of order keeps its place behind its predecessors.
    """

    def __init__(self, file: Ordered, items: Iterator[Item]) -> None:
        self.file = file
        self.keys = np.empty(0, np.int64)
        self._block: FrameBlock | None = None
        self._latest = np.iinfo(np.int64).min
        self._items = items

    def __len__(self) -> int:
        return len(self.keys)

    def fill(self) -> Iterator[Problem]:
        """Reads the next block of this file of the capture reader if none is left. Yields the problems that come first."""
        while not len(self.keys):
            item = next(self._items, None)
            if item is None:
                return
            if isinstance(item, Problem):
                yield item
                continue
            self._block = item
            if isinstance(item, PlacedBlock):
                self.keys = item.keys
                return
            self.keys = np.maximum(np.maximum.accumulate(item.times_ns), self._latest)
            self._latest = self.keys[-1]

    def take_before(self, time_ns: int, *, inclusive: bool) -> FrameBlock:
        """Takes the frames of the capture file before `time_ns`; also those at that time if `inclusive`."""
        assert self._block is not None
        count = int(np.searchsorted(self.keys, time_ns, "right" if inclusive else "left"))
        taken, self._block = _split(self._block, count)
        self.keys = self.keys[count:]
        return taken

    def rest(self) -> Iterator[FrameBlock | Problem]:
        """Yields everything that is left of the capture file, when no other file has frames to come between."""
        if self._block is not None:
            yield self._block
        yield from self._items


def _split(block: FrameBlock, count: int) -> tuple[FrameBlock, FrameBlock]:
    if count == len(block):
        return block, block.some(slice(count, count))
    return block.some(slice(count)), block.some(slice(count, None))


def _horizon(active: list[_FileInReading]) -> tuple[int, int]:
    """Returns the time up to which the frames of all capture files are known, and the number of the file that limits it."""
    return min((int(part.keys[-1]), part.file.number) for part in active)


def _interleaved(active: list[_FileInReading]) -> Iterator[FrameBlock]:
    """Yields the frames of several capture files up to the horizon: by time, then by file, then in the file's own order."""
    time_ns, limiting = _horizon(active)
    keys: list[npt.NDArray[np.int64]] = []
    blocks: list[FrameBlock] = []
    for part in sorted(active, key=lambda part: part.file.number):
        # More frames of the limiting time may follow in the limiting file; a file after it has to wait for them.
        before = part.keys
        block = part.take_before(time_ns, inclusive=part.file.number <= limiting)
        if len(block):
            keys.append(before[: len(block)])
            blocks.append(block)
    if len(blocks) == 1:
        yield blocks[0]
        return
    links = [block.link_type for block in blocks]
    sizes = [len(block) for block in blocks]
    base = 0
    for at, block in enumerate(blocks):
        data = block.own_bytes
        blocks[at] = replace(block, data=data, starts=block.starts - int(block.starts[0]) + base)
        base += len(data)
    order = np.argsort(np.concatenate(keys), kind="stable")
    found = FrameBlock.joined(blocks).some(order)
    of_links = np.repeat(links, sizes)[order]
    borders = [0, *(np.flatnonzero(np.diff(of_links)) + 1).tolist(), len(of_links)]
    for start, stop in pairwise(borders):
        yield replace(found.some(slice(start, stop)), link_type=int(of_links[start]))
