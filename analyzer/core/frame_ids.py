"""Frame ids: one integer that names a file of a capture and a frame in it.

Wireshark numbers frames from 1 in each file. A capture may be several files; the id of a frame is its number plus the
position of its file in the upper bits, so ids of one file are the numbers themselves and ids sort file by file.
"""

from __future__ import annotations

from collections.abc import Iterable

FILE_SHIFT = 40
_NUMBER_MASK = (1 << FILE_SHIFT) - 1


def frame_id(file: int, number: int) -> int:
    """Returns the frame id of frame `number` (from 1) of file `file` (from 0)."""
    return file << FILE_SHIFT | number


def file_of(frame: int) -> int:
    """Returns the position in the capture of the file that a frame id names, from 0."""
    return frame >> FILE_SHIFT


def number_of(frame: int) -> int:
    """Returns the frame number in a frame id, as Wireshark shows it."""
    return frame & _NUMBER_MASK


class FrameSet:
    """A set of frame ids, stored as one bit for each frame up to the last one of its file."""

    def __init__(self) -> None:
        self._bits: dict[int, bytearray] = {}

    def update(self, frames: Iterable[int]) -> None:
        """Adds frame ids to this set of frame ids."""
        for frame in frames:
            bits, (at, bit) = self._bits.setdefault(file_of(frame), bytearray()), divmod(number_of(frame), 8)
            if at >= len(bits):
                bits.extend(bytes(at + 1 - len(bits)))
            bits[at] |= 1 << bit

    def issuperset(self, frames: Iterable[int]) -> bool:
        """Whether all given frame ids are in this set of frame ids."""
        return all(frame in self for frame in frames)

    def __contains__(self, frame: int) -> bool:
        bits, (at, bit) = self._bits.get(file_of(frame), b""), divmod(number_of(frame), 8)
        return at < len(bits) and bits[at] >> bit & 1 == 1
