"""Reads pcapng files (draft-ietf-opsawg-pcapng) as blocks of frames, after decompression.

A file is sections, each with its own byte order and its own list of interfaces; an interface has its link type, snapshot
length and unit of time. Enhanced, Simple and the obsolete Packet Blocks carry frames and are numbered in order, as
Wireshark does; names are read from Name Resolution Blocks; every other block is skipped by its length.
"""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_address
from itertools import pairwise
from struct import unpack_from
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np
from msgspec import Struct

from analyzer.capture.decompression import ByteStream, read_on
from analyzer.capture.first_bytes import SECTION_HEADER, Order, section_order
from analyzer.capture.frame_blocks import FrameBlock, heads_of, link_type_of, rows_at
from analyzer.capture.record_walk import Chain, IntArray, SpeculativeScan, Walk, first_right, walk_plain, words_of
from analyzer.core.events import Problem
from analyzer.core.frame_ids import frame_id
from analyzer.core.limits import DEFAULTS, Limits
from analyzer.core.printable_text import counted
from analyzer.core.times import NS_PER_S

if TYPE_CHECKING:
    import numpy.typing as npt

INTERFACE_DESCRIPTION = 1
OBSOLETE_PACKET = 2
SIMPLE_PACKET = 3
NAME_RESOLUTION = 4
ENHANCED_PACKET = 6
SYSTEMD_JOURNAL = 9
DECRYPTION_SECRETS = 10
CUSTOM_COPIED, CUSTOM_KEPT = 0x00000BAD, 0x40000BAD

_PACKETS = (OBSOLETE_PACKET, SIMPLE_PACKET, ENHANCED_PACKET)
# Wireshark also numbers what it shows without being a frame: journal entries, custom blocks, and Sysdig's events.
NUMBERED = (*_PACKETS, SYSTEMD_JOURNAL, CUSTOM_COPIED, CUSTOM_KEPT, 0x204, 0x208, 0x216, 0x217, 0x221, 0x222)
_NUMBERED = np.array(NUMBERED, np.uint32)
# The first words of a block, by column; those of a packet block. Of others only the first two mean anything.
Fields: TypeAlias = "npt.NDArray[np.uint32]"
_TYPE, _LENGTH, _INTERFACE, _TIME_HIGH, _TIME_LOW, _CAPTURED, _ORIGINAL = range(7)
_FIELDS_LEN = 28
_NO_FIELDS = np.empty((0, _FIELDS_LEN // 4), np.uint32)
# Bytes of a packet block around its frame: header and trailing length. Enhanced and obsolete blocks agree.
_PACKET_OVERHEAD, _SIMPLE_OVERHEAD = 32, 16
_PACKET_DATA_AT, _SIMPLE_DATA_AT = 28, 12
# A longer block is not held in memory: skipped where it carries no frame, else the end of what can be read. Wireshark's
# own bound is of the same size (MAX_BLOCK_SIZE, 16 MiB).
MAX_BLOCK_BYTES = 16 * 1024 * 1024
_OPT_END, _IF_TSRESOL, _IF_TSOFFSET = 0, 9, 14
_NAME_END, _NAME_IPV4, _NAME_IPV6 = 0, 1, 2
_GUESS_TRIES = 16
_FIRST_STEP, _LAST_STEP = 1024, 64 * 1024
# "PCQS": what `pcq export --dsb` writes.
SECRETS_OF_OURS = 0x50435153
_SECRET_KINDS = {0x544C534B: "a TLS key log", 0x57474B4C: "a WireGuard key log", 0x5353484B: "an SSH key log"}
_INT64_MAX = (1 << 63) - 1
# Offsets beyond this overflow 64 bits of nanoseconds.
_FAR_S = _INT64_MAX // NS_PER_S // 2
MOST_CLOCKS_AT_ONCE = 16
MAX_NAME_LEN = 255
# So many packets that cannot be read are named.
_MOST_NAMED = 8


class Interface(Struct, frozen=True):
    """An interface as a pcapng section describes it. `units_per_s` is the resolution of its time stamps."""

    link_type: int
    snap_length: int
    units_per_s: int
    offset_s: int

    def time_ns(self, units: int) -> int:
        """Converts a pcapng time stamp of this interface to nanoseconds since 1970."""
        return time_ns(units, self.units_per_s, self.offset_s)


def time_ns(units: int, units_per_s: int, offset_s: int) -> int:
    """Converts a pcapng time stamp to nanoseconds since 1970. It rounds down if the unit is finer."""
    return units * NS_PER_S // units_per_s + offset_s * NS_PER_S


class _PacketBlocks(NamedTuple):
    """Packet blocks of a pcapng file as columns: number and interface of each frame, where its bytes start, captured and original
    length.

    `simple` marks Simple Packet Blocks, which have no time; `units` are the time stamps of the others.
    """

    numbers: IntArray
    interface: IntArray
    starts: IntArray
    captured: IntArray
    original: IntArray
    simple: npt.NDArray[np.bool_]
    units: npt.NDArray[np.uint64]

    def only(self, these: npt.NDArray[np.bool_]) -> _PacketBlocks:
        return _PacketBlocks._make(column[these] for column in self)


class PcapngFile:
    """Reads one pcapng file, once from front to end. `block_bytes` may change between blocks. `names` is filled while reading."""

    def __init__(
        self,
        stream: ByteStream,
        file: int,
        names: dict[str, str],
        *,
        block_bytes: int,
        fast: bool = True,
        limits: Limits = DEFAULTS,
    ) -> None:
        self._limits = limits
        self.block_bytes = block_bytes
        self.names = names
        self._stream = stream
        self.file = file
        self._fast = fast
        self._scan = SpeculativeScan()
        self._number = 0
        self._order: Order = "<"
        self._interfaces: list[Interface] = []
        self._last_time_ns = 0
        self._untimed = 0
        self._bad_packets: list[int] = []
        self._bad_packet_count = 0
        self._far_times = 0
        self._interfaces_beyond = 0
        self._names_beyond = 0
        self._skip_missing = 0

    def __iter__(self) -> Iterator[FrameBlock | Problem]:
        rest = b""
        while True:
            data, last = read_on(self._stream, rest, self.block_bytes)
            pos = 0
            while True:
                found, fields = self._walk(data, pos)
                if len(found.at):
                    yield from self._decode(data, found.at, fields)
                pos = found.stop
                if len(data) - pos >= 12 and unpack_from("<I", data, pos)[0] == SECTION_HEADER:
                    length = self._section(data, pos)
                    if length is None:
                        yield self._problem(
                            "malformed",
                            f"the section header after frame {self._number} is damaged; the rest of the file is not read",
                        )
                        yield from self._notes()
                        return
                    if pos + length <= len(data):
                        pos += length
                        continue
                    break
                if found.impossible:
                    length = unpack_from(self._order + "I", data, pos + 4)[0]
                    if length <= MAX_BLOCK_BYTES or not self._skip_block(data, pos, length):
                        why = (
                            "gives two different lengths"
                            if 12 <= length <= MAX_BLOCK_BYTES
                            else f"says it is {length} bytes long, which cannot be"
                        )
                        yield self._problem(
                            "malformed",
                            f"a block after frame {self._number} {why}; the rest of the file is not read",
                        )
                        yield from self._notes()
                        return
                    pos = len(data)
                break
            rest = data[pos:]
            if last:
                break
        if rest or self._skip_missing or self._stream.damage:
            why = self._stream.damage or "the file ends in the middle of a block"
            yield self._problem(
                "limit" if self._stream.is_limited else "truncated", f"{why} after frame {self._number}"
            )
        yield from self._notes()

    def _walk(self, data: bytes, start: int) -> tuple[Walk, Fields]:
        """Returns the offsets of the whole pcapng blocks from `start` up to the next section header, and their fields. The next
        section may have another byte order."""
        chain = Chain(self._order, 4, 0, 12, smallest=12, largest=MAX_BLOCK_BYTES, align=4)
        if len(data) - start >= 4 and unpack_from("<I", data, start)[0] == SECTION_HEADER:
            return Walk(np.empty(0, np.int64), start, False), _NO_FIELDS
        found = self._blocks(chain, data, start)
        at = found.at
        if not len(at):
            return found, _NO_FIELDS
        fields = rows_at(data, at, _FIELDS_LEN).view(self._order + "u4").reshape(len(at), _FIELDS_LEN // 4)
        # The length stands at both ends of a block, and blocks follow each other without a gap; where the two differ, the chain
        # of blocks can no longer be trusted.
        ends = words_of(data, self._order)[np.append(at[1:], found.stop) - 4] == fields[:, _LENGTH]
        sections = fields[:, _TYPE] == SECTION_HEADER
        if ends.all() and not sections.any():
            return found, fields
        first = int(np.argmax(sections | ~ends))
        return Walk(at[:first], int(at[first]), not bool(sections[first])), fields[:first]

    def _blocks(self, chain: Chain, data: bytes, start: int) -> Walk:
        """Returns the offsets of the whole pcapng blocks from `start`, at least up to the next section header.

        Blocks behind that header are walked again in their own byte order. So the first steps are short: otherwise a file of many
        short sections would be walked as many times to its end.
        """
        parts: list[IntArray] = []
        pos, width = start, _FIRST_STEP
        while width <= _LAST_STEP:
            found = walk_plain(chain, data, pos, pos + width)
            parts.append(found.at)
            if found.stop < pos + width or (words_of(data, self._order)[found.at] == SECTION_HEADER).any():
                return Walk(np.concatenate(parts), found.stop, found.impossible)
            pos, width = found.stop, width * 4
        if self._fast:
            found = self._scan.walk_records(chain, data, pos, _PacketBlockFinder(self._order, pos))
        else:
            found = walk_plain(chain, data, pos)
        return Walk(np.concatenate((*parts, found.at)), found.stop, found.impossible)

    def _section(self, data: bytes, pos: int) -> int | None:
        """Begins a new section of a pcapng file. Returns the length of its header block, None if that is damaged."""
        if (order := section_order(data, pos)) is None:
            return None
        self._order = order
        length: int = unpack_from(self._order + "I", data, pos + 4)[0]
        if not 28 <= length <= MAX_BLOCK_BYTES:
            return None
        self._interfaces = []
        return length + -length % 4

    def _skip_block(self, data: bytes, pos: int, length: int) -> bool:
        """Skips a pcapng block that is too long to hold. Returns False if it carries a frame."""
        if unpack_from(self._order + "I", data, pos)[0] in _PACKETS:
            return False
        left = length + -length % 4 - (len(data) - pos)
        while left > 0:
            passed = len(self._stream.read(min(left, 1 << 20)))
            if not passed:
                self._skip_missing = left
                break
            left -= passed
        return True

    def _decode(self, data: bytes, at: IntArray, fields: Fields) -> Iterator[FrameBlock | Problem]:
        types = fields[:, _TYPE]
        # How many interfaces are described before each block: a packet must not find one that comes after it.
        described = len(self._interfaces) + np.cumsum(types == INTERFACE_DESCRIPTION)
        other = (types != ENHANCED_PACKET) & (types != SIMPLE_PACKET) & (types != OBSOLETE_PACKET)
        for index in np.flatnonzero(other).tolist():
            kind, pos = int(types[index]), int(at[index])
            length: int = unpack_from(self._order + "I", data, pos + 4)[0]
            if kind == INTERFACE_DESCRIPTION:
                if len(self._interfaces) < self._limits.interfaces:
                    self._interfaces.append(self._interface(data, pos, length))
                else:
                    self._interfaces_beyond += 1
            elif kind == NAME_RESOLUTION:
                self._read_names(data, pos, length)
            elif kind == DECRYPTION_SECRETS and length >= 20:
                secret = unpack_from(self._order + "I", data, pos + 8)[0]
                if secret == SECRETS_OF_OURS:
                    continue
                what = _SECRET_KINDS.get(secret, f"secrets of type {secret:#x}")
                yield self._problem("note", f"the file carries {what} in a decryption secrets block; it is not used")
        yield from self._frames(data, at, fields, np.minimum(described, len(self._interfaces)))

    def _frames(self, data: bytes, at: IntArray, fields: Fields, described: IntArray) -> Iterator[FrameBlock]:
        types = fields[:, _TYPE]
        numbers = self._number + np.cumsum(np.isin(types, _NUMBERED))
        if not len(numbers):
            return
        self._number = int(numbers[-1])
        packets = (types == ENHANCED_PACKET) | (types == SIMPLE_PACKET) | (types == OBSOLETE_PACKET)
        if not packets.all():
            at, fields, numbers, described = at[packets], fields[packets], numbers[packets], described[packets]
        if not len(at):
            return
        found, room = self._packets(at, fields, numbers)
        good = (found.interface < described) & (found.captured <= room) & (found.captured >= 0)
        if not good.all():
            bad = numbers[~good]
            self._bad_packet_count += len(bad)
            self._bad_packets += bad[: _MOST_NAMED - len(self._bad_packets)].tolist()
            found = found.only(good)
            if not len(found.starts):
                return
        times = self._times_of(found)
        frames = found.numbers + frame_id(self.file, 0)
        used, which = np.unique(found.interface, return_inverse=True)
        link_types = np.array([self._interfaces[number].link_type for number in used.tolist()], np.int64)[which]
        heads = heads_of(data, found.starts)
        borders = [0, *(np.flatnonzero(np.diff(link_types)) + 1).tolist(), len(frames)]
        for start, stop in pairwise(borders):
            run = slice(start, stop)
            yield FrameBlock(
                data,
                int(link_types[start]),
                frames[run],
                times[run],
                found.starts[run],
                found.captured[run],
                found.original[run],
                heads[run],
            )

    def _packets(self, at: IntArray, fields: Fields, numbers: IntArray) -> tuple[_PacketBlocks, IntArray]:
        """Reads the headers of pcapng packet blocks. Returns them as columns, and how many bytes of a frame fit in each block."""
        types = fields[:, _TYPE]
        lengths, interface, captured, original = (
            fields[:, column].astype(np.int64) for column in (_LENGTH, _INTERFACE, _CAPTURED, _ORIGINAL)
        )
        starts = at + _PACKET_DATA_AT
        simple = types == SIMPLE_PACKET
        obsolete = types == OBSOLETE_PACKET
        if obsolete.any():
            # Two 16-bit fields where the Enhanced Packet Block has one: the interface, then a drop count.
            halves = interface & 0xFFFF if self._order == "<" else interface >> 16
            interface = np.where(obsolete, halves, interface)
        # A block that is too short for its fields has room for less than nothing.
        room = lengths - _PACKET_OVERHEAD
        units = fields[:, _TIME_HIGH].astype(np.uint64) << np.uint64(32)
        units |= fields[:, _TIME_LOW]
        if simple.any():
            snap = self._interfaces[0].snap_length if self._interfaces else 0
            wire = fields[:, _INTERFACE].astype(np.int64)
            held = np.minimum(wire, lengths - _SIMPLE_OVERHEAD)
            if snap:
                held = np.minimum(held, snap)
            interface = np.where(simple, 0, interface)
            starts = np.where(simple, at + _SIMPLE_DATA_AT, starts)
            captured = np.where(simple, held, captured)
            original = np.where(simple, wire, original)
            room = np.where(simple, lengths - _SIMPLE_OVERHEAD, room)
            # A Simple Packet Block has no time, and what stands in its place is the frame.
            units = np.where(simple, np.uint64(0), units)
        return _PacketBlocks(numbers, interface, starts, captured, original, simple, units), room

    def _times_of(self, packets: _PacketBlocks) -> IntArray:
        """Returns the times of pcapng packets in nanoseconds. A packet without a time has that of the packet before it."""
        times = self._times(packets.interface, packets.units)
        simple = packets.simple
        if simple.any():
            self._untimed += int(simple.sum())
            known = np.maximum.accumulate(np.where(simple, -1, np.arange(len(times))))
            times = np.where(known < 0, self._last_time_ns, times[known])
        self._last_time_ns = int(times[-1])
        return times

    def _times(self, interface: IntArray, units: npt.NDArray[np.uint64]) -> IntArray:
        """Converts the time stamps of pcapng packets to nanoseconds, by the resolutions of their interfaces."""
        used, which = np.unique(interface, return_inverse=True)
        clocks: dict[tuple[int, int], list[int]] = {}
        for place, number in enumerate(used.tolist()):
            described = self._interfaces[number]
            clocks.setdefault((described.units_per_s, described.offset_s), []).append(place)
        if len(clocks) == 1:
            return self._by_clock(*next(iter(clocks)), units)
        if len(clocks) > MOST_CLOCKS_AT_ONCE:
            exact = [
                self._interfaces[number].time_ns(unit)
                for number, unit in zip(interface.tolist(), units.tolist(), strict=True)
            ]
            return self._bounded(exact)
        times = np.zeros(len(units), np.int64)
        for clock, places in clocks.items():
            mine = np.isin(which, places)
            times[mine] = self._by_clock(*clock, units[mine])
        return times

    def _by_clock(self, units_per_s: int, offset_s: int, units: npt.NDArray[np.uint64]) -> IntArray:
        latest = time_ns(int(units.max()), units_per_s, offset_s)
        if NS_PER_S % units_per_s == 0 and latest <= _INT64_MAX and abs(offset_s) < _FAR_S:
            times: IntArray = units.astype(np.int64) * np.int64(NS_PER_S // units_per_s)
            times += np.int64(offset_s * NS_PER_S)
            return times
        return self._bounded([time_ns(unit, units_per_s, offset_s) for unit in units.tolist()])

    def _bounded(self, exact: list[int]) -> IntArray:
        self._far_times += sum(abs(time) > _INT64_MAX for time in exact)
        return np.array([max(-_INT64_MAX, min(time, _INT64_MAX)) for time in exact], np.int64)

    def _interface(self, data: bytes, pos: int, length: int) -> Interface:
        """Reads a pcapng interface description block. Fields that a damaged block lacks have their defaults."""
        if length < 20:
            return Interface(0xFFFF, 0, 1_000_000, 0)
        link_type, _, snap_length = unpack_from(self._order + "HHI", data, pos + 8)
        units_per_s, offset_s = 1_000_000, 0
        at, stop = pos + 16, pos + length - 4
        # Behind the last option stands the length of the block, which as an option would reach out of it.
        while True:
            code, size = unpack_from(self._order + "HH", data, at)
            at += 4
            if code == _OPT_END or at + size > stop:
                break
            if code == _IF_TSRESOL and size == 1:
                # The top bit chooses powers of two over powers of ten (section 4.2). 2**64 units fill any time stamp.
                exponent = data[at] & 0x7F
                units_per_s = 2 ** min(exponent, 64) if data[at] & 0x80 else 10 ** min(exponent, 20)
            elif code == _IF_TSOFFSET and size == 8:
                offset_s = unpack_from(self._order + "q", data, at)[0]
            at += size + -size % 4
        return Interface(link_type_of(link_type), snap_length, units_per_s, offset_s)

    def _read_names(self, data: bytes, pos: int, length: int) -> None:
        at, stop = pos + 8, pos + length - 4
        # The length of the block stands behind the last name, like behind options.
        while True:
            kind, size = unpack_from(self._order + "HH", data, at)
            at += 4
            if kind == _NAME_END or at + size > stop:
                break
            address_len = {_NAME_IPV4: 4, _NAME_IPV6: 16}.get(kind, size)
            name = data[at + address_len : at + size].partition(b"\0")[0].decode("utf-8", "replace")[:MAX_NAME_LEN]
            if name:
                address = str(ip_address(data[at : at + address_len]))
                if address in self.names or len(self.names) < self._limits.address_names:
                    self.names.setdefault(address, name)
                else:
                    self._names_beyond += 1
            at += size + -size % 4

    def _notes(self) -> Iterator[Problem]:
        if count := self._bad_packet_count:
            yield Problem(
                "malformed",
                "capture",
                # The number of the file may have been found out since.
                tuple(frame_id(self.file, number) for number in self._bad_packets),
                counted(
                    count,
                    "packet block names an interface that is not described or is shorter than its frame; it is left out",
                    "packet blocks name an interface that is not described or are shorter than their frame; they are left out",
                ),
            )
        if self._interfaces_beyond:
            yield self._problem(
                "limit", f"more than {self._limits.interfaces} interfaces are described; the rest are not read"
            )
        if self._names_beyond:
            text = f"more than {self._limits.address_names} names of addresses; {self._names_beyond} are not read"
            yield self._problem("limit", text)
        if self._untimed:
            yield self._problem(
                "note",
                counted(
                    self._untimed,
                    "frame has no time stamp of its own and takes that of the frame before",
                    "frames have no time stamp of their own and take that of the frame before",
                ),
            )
        if self._far_times:
            yield self._problem(
                "note",
                f"{counted(self._far_times, 'time stamp lies', 'time stamps lie')} outside of the years 1677 to 2262",
            )

    def _problem(self, kind: Literal["truncated", "malformed", "limit", "note"], text: str) -> Problem:
        frames = (frame_id(self.file, self._number),) if self._number and kind != "note" else ()
        return Problem(kind, "capture", frames, text)


class _PacketBlockFinder:
    """Finds places that look like an Enhanced Packet Block: its type, and equal lengths at both ends, twice in a row."""

    def __init__(self, order: Order, base: int) -> None:
        self._order = order
        self._base = base
        self._type = ENHANCED_PACKET.to_bytes(4, "little" if order == "<" else "big")

    def __call__(self, data: bytes, starts: range) -> IntArray:
        return first_right(data, self._type, 0, starts, _GUESS_TRIES, lambda at: self._look_right(data, at))

    def _look_right(self, data: bytes, at: IntArray) -> npt.NDArray[np.bool_]:
        words = words_of(data, self._order)
        right: npt.NDArray[np.bool_] = (at >= 0) & ((at - self._base) % 4 == 0)
        for _ in range(2):
            right &= at <= len(data) - 12
            at = np.where(right, at, 0)
            length = words[at + 4].astype(np.int64)
            right &= (length >= 12) & (length <= MAX_BLOCK_BYTES) & (length % 4 == 0) & (at + length <= len(data))
            length = np.where(right, length, 12)
            right &= words[at + length - 4] == length
            at = at + length
        return right
