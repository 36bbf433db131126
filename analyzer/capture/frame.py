"""Frames as a capture holds them, in blocks: one buffer of file bytes and arrays that say where each frame lies."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from analyzer.core.events import Event
from analyzer.core.traced import TracedBytes

Heads = npt.NDArray[np.void]

# What is read of each frame: the end of its record header, in both formats two words of time and two lengths, and its
# first bytes, up to those behind the headers that nearly all frames have. A wide gather costs little more than a narrow one.
HEAD_BEFORE, HEAD_LEN = 16, 72


class Frame(Struct, frozen=True):
    """One captured frame. `data` is what was captured; `original_length` what was on the wire, in bytes."""

    frame: int
    time_ns: int
    link_type: int
    data: bytes
    original_length: int

    def traced(self) -> TracedBytes:
        return TracedBytes.of_frame(self.data, self.frame, 0, self.time_ns)


class FrameBlock(Event, frozen=True, eq=False):
    """Neighbouring frames of one link type. Arrays have one entry per frame.

    `frames` int64 frame ids, `times_ns` int64, `starts` int64 offsets in `data`, `captured` int64 and `original` integer lengths
    in bytes; `heads` as `heads_of` gives them. `link_type` is a LINKTYPE_ number (the pcap registry's, not the DLT_ of an
    operating system).
    """

    data: bytes
    link_type: int
    frames: npt.NDArray[np.int64]
    times_ns: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    captured: npt.NDArray[np.int64]
    original: npt.NDArray[np.integer[Any]]
    heads: Heads

    def __len__(self) -> int:
        return len(self.frames)

    def frame(self, index: int) -> Frame:
        start = int(self.starts[index])
        return Frame(
            int(self.frames[index]),
            int(self.times_ns[index]),
            self.link_type,
            self.data[start : start + int(self.captured[index])],
            int(self.original[index]),
        )

    def first(self, count: int) -> FrameBlock:
        """The first so many frames, of the same bytes."""
        kept = slice(count)
        return replace(
            self,
            frames=self.frames[kept],
            times_ns=self.times_ns[kept],
            starts=self.starts[kept],
            captured=self.captured[kept],
            original=self.original[kept],
            heads=self.heads[kept],
        )

    def only(self, index: npt.NDArray[np.int64]) -> FrameBlock:
        """A copy of the frames at these positions, with their bytes and no others."""
        starts, captured, data = self.starts[index], self.captured[index], self.data
        ends = starts + captured
        return FrameBlock(
            b"".join([data[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]),
            self.link_type,
            self.frames[index],
            self.times_ns[index],
            np.cumsum(captured) - captured,
            captured,
            self.original[index],
            self.heads[index],
        )


class PlacedBlock(FrameBlock, frozen=True, eq=False):
    """Frames that were taken out of a file. `keys` int64: the latest time in the file up to each, by which files are merged."""

    keys: npt.NDArray[np.int64]


def heads_of(data: bytes, starts: npt.NDArray[np.int64]) -> Heads:
    """The `HEAD_LEN` bytes from `HEAD_BEFORE` before each start, which ascend; zero where the data does not reach."""
    return rows_at(data, starts - HEAD_BEFORE, HEAD_LEN)


def rows_at(data: bytes, at: npt.NDArray[np.int64], size: int) -> Heads:
    """So many bytes from each of some places on, which ascend; zero where the data does not reach."""
    last = len(data) - size
    low, high = np.searchsorted(at, (0, last + 1)).tolist()
    if low < high:
        places = np.ndarray((last + 1,), f"V{size}", data, strides=(1,))
        found = places[at if high - low == len(at) else np.clip(at, 0, last)]
    else:
        found = np.empty(len(at), f"V{size}")
        low = high = 0
    for index in (*range(low), *range(high, len(at))):
        first = int(at[index])
        there = bytes(max(-first, 0)) + data[max(first, 0) : max(first + size, 0)]
        found[index] = there.ljust(size, b"\0")
    return found
