"""Reads pcap files (draft-ietf-opsawg-pcap) as blocks of frames, after decompression.

Variants: microseconds (0xa1b2c3d4) and nanoseconds (0xa1b23c4d); Kuznetzov's longer record header (0xa1b2cd34); IXIA's lcap
(0x1c0001ac and 0x1c0001ab), with one more word in the file header. Each occurs in either byte order.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import unpack, unpack_from
from typing import TYPE_CHECKING, Literal

import numpy as np
from msgspec import Struct

from analyzer.capture.decompression import ByteStream, read_on
from analyzer.capture.first_bytes import IXIA_HW, IXIA_SW, KUZNETZOV, NANO, Order, pcap_order
from analyzer.capture.frame_blocks import HEAD_BEFORE, HEAD_LEN, FrameBlock, heads_of, link_type_of, rows_at
from analyzer.capture.record_walk import Chain, IntArray, SpeculativeScan, Walk, first_right, walk_plain, words_of
from analyzer.core.events import Problem
from analyzer.core.frame_ids import frame_id
from analyzer.core.times import NS_PER_S

if TYPE_CHECKING:
    import numpy.typing as npt

FILE_HEADER_LEN = 24
_RECORD_HEADER_LEN = 16
# 0xa1b2cd34 files have 24-byte record headers, those of one release (in SuSE Linux 6.3) 28.
_KUZNETZOV_HEADER_LENS = (24, 28)
# Wireshark refuses a longer frame of a network (WTAP_MAX_PACKET_SIZE_STANDARD); frame numbers are to agree with it.
MAX_FRAME_BYTES = 262_144
_GUESS_TRIES = 8
# Enough to see several records of a variant that only its records distinguish.
_LOOK_AHEAD = 2 * MAX_FRAME_BYTES


class PcapHeader(Struct, frozen=True):
    """The pcap file header. `fraction_ns` is the unit of the second time word. Old files have their lengths swapped."""

    order: Order
    fraction_ns: int
    record_header_len: int
    link_type: int
    lengths_swapped: bool


class PcapFile:
    """Reads one pcap file, once from front to end. `block_bytes` may change between blocks."""

    def __init__(self, stream: ByteStream, file: int, *, block_bytes: int, fast: bool = True) -> None:
        self.block_bytes = block_bytes
        self.names: dict[str, str] = {}
        self._stream = stream
        self.file = file
        self._fast = fast
        self._number = 0

    def __iter__(self) -> Iterator[FrameBlock | Problem]:
        head = self._stream.read(FILE_HEADER_LEN)
        if len(head) < FILE_HEADER_LEN:
            yield self._problem("truncated", f"the file ends inside its {FILE_HEADER_LEN}-byte header")
            return
        order = pcap_order(head) or ">"
        magic, major, minor, _, _, _, network = unpack(order + "IHHiIII", head)
        if magic in (IXIA_HW, IXIA_SW):
            self._stream.read(4)
        rest = b""
        record_header_len = _RECORD_HEADER_LEN
        fraction_ns = 1 if magic == NANO else 1000
        if magic == KUZNETZOV:
            rest = self._stream.read(_LOOK_AHEAD)
            record_header_len = _kuznetzov_header_len(rest, order)
        elif magic in (IXIA_HW, IXIA_SW):
            # Wireshark takes both for microseconds, IXIA's description says nanoseconds for hardware stamps.
            rest = self._stream.read(_LOOK_AHEAD)
            fraction_ns = _fraction_unit(rest, order)
        header = PcapHeader(
            order,
            fraction_ns,
            record_header_len,
            link_type_of(network),
            # Before version 2.3 the two lengths stood the other way round.
            lengths_swapped=major == 2 and minor < 3,
        )
        yield from self._records(header, rest)

    def _records(self, header: PcapHeader, rest: bytes) -> Iterator[FrameBlock | Problem]:
        length_at = 12 if header.lengths_swapped else 8
        chain = Chain(
            header.order,
            length_at,
            header.record_header_len,
            header.record_header_len,
            smallest=0,
            largest=MAX_FRAME_BYTES,
        )
        guess, partitions = _RecordFinder(chain, header), SpeculativeScan()
        while True:
            data, last = read_on(self._stream, rest, self.block_bytes)
            found: Walk
            if self._fast and len(data) > 0:
                guess.learn(data)
                found = partitions.walk_records(chain, data, 0, guess)
            else:
                found = walk_plain(chain, data)
            if len(found.at):
                yield self._block(header, data, found)
            if found.impossible:
                length = unpack_from(header.order + "I", data, found.stop + length_at)[0]
                yield self._problem(
                    "malformed",
                    f"the record after frame {self._number} says it is {length} bytes long, "
                    f"more than the {MAX_FRAME_BYTES} a frame may have; the rest of the file is not read",
                )
                return
            rest = data[found.stop :]
            if last:
                break
        if rest or self._stream.damage:
            why = self._stream.damage or "the file ends in the middle of a record"
            yield self._problem(
                "limit" if self._stream.is_limited else "truncated", f"{why} after frame {self._number}"
            )

    def _block(self, header: PcapHeader, data: bytes, found: Walk) -> FrameBlock:
        starts = found.at + header.record_header_len
        heads = heads_of(data, starts)
        if header.record_header_len == HEAD_BEFORE:
            words = heads.view(header.order + "u4").reshape(len(starts), HEAD_LEN // 4)
        else:
            words = rows_at(data, found.at, _RECORD_HEADER_LEN).view(header.order + "u4").reshape(len(starts), 4)
        times_ns = words[:, 0].astype(np.int64)
        times_ns *= NS_PER_S
        fractions = words[:, 1].astype(np.int64)
        fractions *= header.fraction_ns
        times_ns += fractions
        first = frame_id(self.file, self._number + 1)
        self._number += len(found.at)
        return FrameBlock(
            data,
            header.link_type,
            np.arange(first, first + len(found.at), dtype=np.int64),
            times_ns,
            starts,
            # A record ends where the next begins.
            np.diff(found.at, append=found.stop) - header.record_header_len,
            words[:, 2 if header.lengths_swapped else 3],
            heads,
        )

    def _problem(self, kind: Literal["truncated", "malformed", "limit"], text: str) -> Problem:
        frames = (frame_id(self.file, self._number),) if self._number else ()
        return Problem(kind, "capture", frames, text)


def _kuznetzov_header_len(data: bytes, order: str) -> int:
    """Returns the length of Kuznetzov's pcap record header that more of the first records fit; the shorter one if equal."""
    return max(_KUZNETZOV_HEADER_LENS, key=lambda header_len: _fitting_records(data, order, header_len))


def _fitting_records(data: bytes, order: str, header_len: int) -> int:
    """Returns how many of the first sixteen pcap records are possible with record headers of this length."""
    pos = score = 0
    while score < 16 and pos + header_len <= len(data):
        _, fraction, captured, original = unpack_from(order + "IIII", data, pos)
        if fraction >= 1_000_000 or captured > MAX_FRAME_BYTES or captured > original:
            break
        pos += header_len + captured
        score += 1
    return score


def _fraction_unit(data: bytes, order: str) -> int:
    """Returns the nanoseconds in a unit of the second time word of pcap records. A million or more cannot be microseconds."""
    pos = 0
    while pos + _RECORD_HEADER_LEN <= len(data):
        _, fraction, captured, _ = unpack_from(order + "IIII", data, pos)
        if fraction >= 1_000_000:
            return 1
        pos += _RECORD_HEADER_LEN + captured
    return 1000


class _RecordFinder:
    """Finds places that look like a pcap record header: their seconds begin like those of the first record of the block."""

    def __init__(self, chain: Chain, header: PcapHeader) -> None:
        self._chain = chain
        self._order = header.order
        # The sought bytes of the seconds, and their place in these. `learn` sets both.
        self._high: bytes
        self._high_at: int
        self._first = 0
        self._most_fraction = NS_PER_S if header.fraction_ns == 1 else 1_000_000

    def learn(self, data: bytes) -> None:
        """Takes the time of the block's first pcap record as the one to look for: the part of it that the block before shares."""
        first = int.from_bytes(data[:4], "little" if self._order == "<" else "big")
        size = 3 if first >> 8 == self._first >> 8 else 2
        self._first = first
        self._high_at = 4 - size if self._order == "<" else 0
        self._high = data[self._high_at : self._high_at + size]

    def __call__(self, data: bytes, starts: range) -> IntArray:
        return first_right(data, self._high, self._high_at, starts, _GUESS_TRIES, lambda at: self._look_right(data, at))

    def _look_right(self, data: bytes, at: IntArray) -> npt.NDArray[np.bool_]:
        """Tells at which places of a pcap file two records in a row are possible and have the same upper half of seconds."""
        words = words_of(data, self._order)
        last = len(data) - self._chain.header
        right = (at >= 0) & (at <= last)
        at = at * right
        following = at + words[at + self._chain.length_at] + self._chain.extra
        right &= following <= last
        following *= right
        right &= (words[at] ^ words[following]) >> 16 == 0
        for record in (at, following):
            right &= words[record + self._chain.length_at] <= MAX_FRAME_BYTES
            right &= words[record + 4] < self._most_fraction
        return right
