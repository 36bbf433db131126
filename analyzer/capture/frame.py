"""Frames as a capture holds them, in blocks: one buffer of file bytes and arrays that say where each frame lies."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from analyzer.core.events import Event
from analyzer.core.traced import TracedBytes
from analyzer.core.values import dataclass


@dataclass(frozen=True, slots=True)
class Frame:
    """One captured frame. `data` is what was captured; `original_length` what was on the wire, in bytes."""

    frame: int
    time_ns: int
    link_type: int
    data: bytes
    original_length: int

    def traced(self) -> TracedBytes:
        return TracedBytes.of_frame(self.data, self.frame, 0, self.time_ns)


@dataclass(frozen=True, slots=True, eq=False)
class FrameBlock(Event):
    """Neighbouring frames of one link type. Arrays have one entry per frame.

    `frames` int64 frame ids, `times_ns` int64, `starts` int64 offsets in `data`, `captured` and `original` int64 lengths
    in bytes. `link_type` is a LINKTYPE_ number (the pcap registry's, not the DLT_ of an operating system).
    """

    data: bytes
    link_type: int
    frames: npt.NDArray[np.int64]
    times_ns: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    captured: npt.NDArray[np.int64]
    original: npt.NDArray[np.int64]

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
