"""Finds the offsets of frames in their capture file by frame number (pcap and pcapng, not compressed).

It serves viewers that show bytes of a file. The readers keep no offsets, because almost nothing asks for one. This module goes from
record to record and reads only their headers.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from analyzer.capture.first_bytes import MICRO, NANO, Order, pcap_order, section_order, special_file
from analyzer.capture.pcapng import NUMBERED

_FIRST, _FILE_HEADER, _RECORD_HEADER = 12, 24, 16
# pcapng blocks that carry a frame, and how many bytes of each stand before it: Enhanced, Simple and the old Packet Block.
_CARRYING = {6: 28, 3: 12, 2: 28}


def frame_offsets(path: Path, numbers: Collection[int]) -> dict[int, int]:
    """Returns the offsets in the capture file of the frames with these numbers (from 1). A file of another format gives none.

    At a cut or damaged place it ends, and keeps what it found before. Raises `OSError` if the file cannot be read.
    """
    wanted = set(numbers)
    if not wanted or special_file(path) is not None:
        return {}
    with path.open("rb") as file:
        head = file.read(_FIRST)
        walk: Iterator[int | None] = iter(())
        if (order := pcap_order(head, (MICRO, NANO))) is not None:
            walk = _pcap_offsets(file, order)
        elif section_order(head) is not None:
            walk = _pcapng_offsets(file)
        numbered = enumerate(islice(walk, max(wanted)), 1)
        return {number: offset for number, offset in numbered if number in wanted and offset is not None}


def _pcap_offsets(file: BinaryIO, order: Order) -> Iterator[int | None]:
    at = _FILE_HEADER
    file.seek(4)
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
    """Yields the offset of each frame in a pcapng file. A numbered block that is no frame gives None."""
    at = 0
    order: Order = "<"
    while True:
        file.seek(at)
        head = file.read(12)
        if len(head) < 12:
            return
        order = section_order(head) or order
        kind, length = struct.unpack(order + "II", head[:8])
        if length < 12:
            return
        if kind in NUMBERED:
            yield at + _CARRYING[kind] if kind in _CARRYING else None
        at += length
