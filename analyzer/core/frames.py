"""Frame ids: one integer that says which file of a capture and which frame of it.

Wireshark numbers frames from 1 in each file. A capture may be several files; the id of a frame is its number plus the
position of its file in the upper bits, so ids of one file are the numbers themselves and ids sort file by file.
"""

FILE_SHIFT = 40
_NUMBER_MASK = (1 << FILE_SHIFT) - 1


def frame_id(file: int, number: int) -> int:
    """The id of frame `number` (from 1) of file `file` (from 0)."""
    return file << FILE_SHIFT | number


def file_of(frame: int) -> int:
    """Position of the frame's file in the capture, from 0."""
    return frame >> FILE_SHIFT


def number_of(frame: int) -> int:
    """The frame's number in its file, as Wireshark shows it."""
    return frame & _NUMBER_MASK
