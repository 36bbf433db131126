"""Where frames stand in their file: numbers of frames in, offsets of their captured bytes out (pcap and pcapng, not compressed).

For viewers that show bytes of a file. The readers keep no offsets, for nearly nothing asks for one; this goes from record to record
and reads their headers alone.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from analyzer.capture.pcapng import NUMBERED
from analyzer.capture.special_files import special_file

# Magic numbers of pcap with records of 16 bytes, by byte order: microseconds and nanoseconds.
_PCAP = {b"\xd4\xc3\xb2\xa1": "<", b"\x4d\x3c\xb2\xa1": "<", b"\xa1\xb2\xc3\xd4": ">", b"\xa1\xb2\x3c\x4d": ">"}
_FILE_HEADER, _RECORD_HEADER = 24, 16
_SECTION = b"\x0a\x0d\x0d\x0a"
# pcapng blocks that carry a frame, and how many bytes of each stand before it: Enhanced, Simple and the old Packet Block.
_CARRYING = {6: 28, 3: 12, 2: 28}


def frame_offsets(path: Path, numbers: Collection[int]) -> dict[int, int]:
    """The offsets of the frames of these numbers (from 1); of a file of another form, none.

    Ends quietly where the file is cut or damaged: what was found before stands. Raises `OSError` where it cannot be read.
    """
    wanted = set(numbers)
    if not wanted or special_file(path) is not None:
        return {}
    with path.open("rb") as file:
        head = file.read(4)
        walk = (
            _pcap_offsets(file, _PCAP[head])
            if head in _PCAP
            else _pcapng_offsets(file)
            if head == _SECTION
            else iter(())
        )
        numbered = enumerate(islice(walk, max(wanted)), 1)
        return {number: offset for number, offset in numbered if number in wanted and offset is not None}


def _pcap_offsets(file: BinaryIO, order: str) -> Iterator[int | None]:
    at = _FILE_HEADER
    major, minor = struct.unpack(order + "HH", file.read(4).ljust(4, b"\0"))
    # Before version 2.3 the two lengths stood the other way round.
    read = struct.Struct(order + ("12xI" if major == 2 and minor < 3 else "8xI4x"))
    while True:
        file.seek(at)
        header = file.read(_RECORD_HEADER)
        if len(header) < _RECORD_HEADER:
            return
        yield at + _RECORD_HEADER
        at += _RECORD_HEADER + read.unpack(header)[0]


def _pcapng_offsets(file: BinaryIO) -> Iterator[int | None]:
    """One for each block that has a number; None for those that are no frames."""
    at, order = 0, "<"
    while True:
        file.seek(at)
        head = file.read(12)
        if len(head) < 12:
            return
        if head[:4] == _SECTION:
            order = "<" if head[8:] == b"\x4d\x3c\x2b\x1a" else ">"
        kind, length = struct.unpack(order + "II", head[:8])
        if length < 12:
            return
        if kind in NUMBERED:
            yield at + _CARRYING[kind] if kind in _CARRYING else None
        at += length
