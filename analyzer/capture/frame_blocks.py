"""Blocks of captured frames: one buffer of file bytes, and arrays that state where each frame lies.

Link-type numbers of capture files become LINKTYPE_ numbers of the pcap registry (tcpdump.org/linktypes.html).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from analyzer.core.events import Event
from analyzer.core.traced_bytes import TracedBytes
from analyzer.core.wire_numbers import WireNumbers

if TYPE_CHECKING:
    import numpy.typing as npt


# -------------------------------------------------------------------------------------------------------------- link types


class LinkType(metaclass=WireNumbers):
    """Link types of frames (LINKTYPE_ numbers): those that the `packet` layer reads, and some that it can only name."""

    NULL = 0
    ETHERNET = 1
    IEEE802_5 = 6
    PPP = 9
    FDDI = 10
    PPP_HDLC = 50
    PPP_ETHER = 51
    RAW = 101
    C_HDLC = 104
    IEEE802_11 = 105
    FRELAY = 107
    LOOP = 108
    ENC = 109
    LINUX_SLL = 113
    PFLOG = 117
    IEEE802_11_PRISM = 119
    IEEE802_11_RADIOTAP = 127
    ARCNET_LINUX = 129
    USER0 = 147
    IEEE802_11_AVS = 163
    PPP_PPPD = 166
    USB_LINUX = 189
    PPI = 192
    BLUETOOTH_HCI_H4_WITH_PHDR = 201
    PPP_WITH_DIR = 204
    USB_LINUX_MMAPPED = 220
    IPV4 = 228
    IPV6 = 229
    IEEE802_15_4_NOFCS = 230
    NFLOG = 239
    NETANALYZER = 240
    USBPCAP = 249
    UPPER_PDU = 252
    NETLINK = 253
    PKTAP = 258
    LINUX_SLL2 = 276


# Numbers an operating system uses for itself (DLT_), which old files hold where LINKTYPE_ belongs: DLT_RAW is 12 on most
# systems and 14 on OpenBSD; DLT_PPP_SERIAL is 50 everywhere; DLT_LOOP is 12 on OpenBSD (ambiguous, so RAW wins, and the
# packet layer recognises the loopback header); BSD/OS used 15 and 16 for what others call SLIP_BSDOS and PPP_BSDOS.
_DLT_TO_LINKTYPE = {12: LinkType.RAW, 14: LinkType.RAW}

# Bits 0 to 15 are the link type, 26 says whether bits 28 to 31 hold the length of the frame check sequence
# (draft-ietf-opsawg-pcap section 4). What follows the network layer's own length is never read, so the length is no help.
_LINK_TYPE_MASK = 0x0000FFFF


def link_type_of(network: int) -> int:
    """Returns the LINKTYPE_ number of a block's frames, from the network field in the header of their capture file."""
    number = network & _LINK_TYPE_MASK
    return int(_DLT_TO_LINKTYPE.get(number, number))


# ------------------------------------------------------------------------------------------------ frame blocks


Heads: TypeAlias = "npt.NDArray[np.void]"

# What is read of each frame: the end of its record header, in both formats two words of time and two lengths, and its
# first bytes, up to those behind the headers that nearly all frames have. A wide gather costs little more than a narrow one.
HEAD_BEFORE, HEAD_LEN = 16, 72


class Frame(Struct, frozen=True):
    """One frame of a block. `data` is the captured bytes; `original_length` is its length on the wire, in bytes."""

    frame: int
    time_ns: int
    link_type: int
    data: bytes
    original_length: int

    def traced(self) -> TracedBytes:
        return TracedBytes.of_frame(self.data, self.frame, 0, self.time_ns)


class FrameBlock(Event, frozen=True, eq=False):
    """Neighbouring frames of a capture, all of one link type. Arrays have one entry per frame.

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

    @property
    def columns(self) -> tuple[npt.NDArray[Any], ...]:
        """The arrays of the frame block, in the order of the fields."""
        return self.frames, self.times_ns, self.starts, self.captured, self.original, self.heads

    def some(self, chosen: slice | npt.NDArray[np.int64]) -> FrameBlock:
        """Returns a frame block of some of these frames, over the same bytes."""
        return FrameBlock(self.data, self.link_type, *(column[chosen] for column in self.columns))

    def pieces(self, most: int) -> Iterator[FrameBlock]:
        """Splits a frame block into blocks of no more than `most` frames, of about the same size."""
        if len(self) <= most:
            yield self
            return
        parts = -(-len(self) // most)
        bounds = [len(self) * part // parts for part in range(parts + 1)]
        for start, stop in pairwise(bounds):
            yield self.some(slice(start, stop))

    @property
    def own_bytes(self) -> bytes:
        """The part of a frame block's buffer in which its frames lie."""
        return self.data[int(self.starts[0]) : int(self.starts[-1] + self.captured[-1])]

    def only(self, index: npt.NDArray[np.int64]) -> FrameBlock:
        """Returns a copy of the frames at these positions, with only their own bytes."""
        found, data = self.some(index), self.data
        ends = (found.starts + found.captured).tolist()
        copied = b"".join([data[start:end] for start, end in zip(found.starts.tolist(), ends, strict=True)])
        return replace(found, data=copied, starts=np.cumsum(found.captured) - found.captured)

    @staticmethod
    def joined(blocks: Sequence[FrameBlock]) -> FrameBlock:
        """Joins several frame blocks, one behind the other. `starts` count in the joined bytes; the first one has the link type."""
        columns = zip(*(block.columns for block in blocks), strict=True)
        data = b"".join([block.data for block in blocks])
        return FrameBlock(data, blocks[0].link_type, *map(np.concatenate, columns))


class PlacedBlock(FrameBlock, frozen=True, eq=False):
    """Frames that were cut out of a capture file, with their places in it. `keys` (int64) is the latest time in the file up to each
    frame. Files are merged by it."""

    keys: npt.NDArray[np.int64]


def heads_of(data: bytes, starts: npt.NDArray[np.int64]) -> Heads:
    """Returns the heads for a frame block: of each frame `HEAD_LEN` bytes from `HEAD_BEFORE` before its start; zero outside the
    data. Starts ascend."""
    return rows_at(data, starts - HEAD_BEFORE, HEAD_LEN)


def rows_at(data: bytes, at: npt.NDArray[np.int64], size: int) -> Heads:
    """Returns `size` bytes of a frame block's data at each of some ascending places. Bytes outside the data are zero."""
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
