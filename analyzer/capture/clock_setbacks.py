"""Detects that the clock of a capture went back, from the frame times of one file, and states it as a problem."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from analyzer.capture.frame_blocks import FrameBlock
from analyzer.core.events import Problem
from analyzer.core.frame_ids import number_of
from analyzer.core.times import NS_PER_S

# Frames of several interfaces or queues are written out of order by less than this. More is a clock that was set back.
_SET_BACK_NS = NS_PER_S
_FRAMES_NAMED = 16


class Clock:
    """Follows the frame times of one capture file, in the order in which they stand there."""

    def __init__(self, set_back: list[int]) -> None:
        """Frames before which the capture's clock went back are appended to `set_back`."""
        self._set_back = set_back
        self._last_ns: int | None = None
        self._count = 0
        self._frames: list[int] = []
        self._first_ns = self._most_ns = 0

    def see(self, block: FrameBlock) -> None:
        """Takes the times of the next frames of the capture file."""
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
        """Takes the time of one more frame of the capture file."""
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
        """Yields the problem that the capture's clock went back, at the end of the file."""
        if not self._count:
            return
        text = f"the clock of the capture went back by {self._first_ns / NS_PER_S:,.3f} s at frame {number_of(self._frames[0])}"
        if self._count > 1:
            text += f", and {self._count - 1} more times, by {self._most_ns / NS_PER_S:,.3f} s at most"
        text += (
            "; times are shown as captured, and a call has no latency where that was between its request and its answer"
        )
        yield Problem("note", "capture", tuple(self._frames), text)
