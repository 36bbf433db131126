"""Sorts the frames of our TCP flows by the pair of hosts between which they passed, a block at a time.

This is for cutting a capture into parts that can be analysed apart from each other. All that `Dissector` makes segments of is among
the frames given out, and so is what it may make segments of together with frames of another file (fragments). Nothing is decoded.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from ipaddress import ip_address
from struct import unpack_from
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from analyzer.capture.frame_blocks import Frame, FrameBlock, rows_at
from analyzer.core.array_functions import distinct
from analyzer.core.limits import DEFAULTS, Limits
from analyzer.transport.packet.block_dissector import DissectedBlock, Dissector
from analyzer.transport.packet.common_frame_shapes import TcpFrames
from analyzer.transport.packet.flow_candidates import (
    KERBEROS_PORT,
    NO_FLOWS,
    End,
    FlowKey,
    Hashes,
    flow_hash,
    flow_hashes,
    flow_key,
    is_by_port,
)
from analyzer.transport.packet.frame_dissector import (
    INTERESTING,
    TUNNEL_PORTS,
    UDP,
    Found,
    FrameDissector,
    Item,
    LostSegment,
    Packet,
)
from analyzer.transport.packet.frame_tallies import Tallies
from analyzer.transport.packet.ip_fragments import FragmentKey
from analyzer.transport.packet.segment import UdpPayload
from analyzer.transport.packet.segment_columns import payloads_of
from analyzer.transport.packet.tunnels import IntArray

if TYPE_CHECKING:
    import numpy.typing as npt

# Two addresses as text, in order.
Pair = tuple[str, str]
# The flags of a TCP header and the one of a first segment (RFC 9293 section 3.1); Ethernet, and where IP begins behind its header.
_FLAGS, _SYN = 13, 2
_ETHERNET, _IP_OFFSETS = 1, (14, 18, 22)
# So many cards of an address are kept: more show nothing.
_MOST_CARDS = 8
# Fragments of UDP datagrams whose first fragment is not in the file are kept up to this many: it may be in the file before.
_MOST_LOOSE = 256
# Datagrams whose first fragment was seen, that are remembered for the others.
_MOST_DATAGRAMS = 4096


class FrameKind(Struct, frozen=True):
    """The kind by which frames are sorted: a pair of hosts. `client` is the host that asked a KDC (port 88), else None."""

    pair: Pair
    client: str | None = None


class ChosenFrames(Struct, frozen=True, eq=False):
    """Frames of a block that belong to one kind: their ascending positions, and whether any of them has data."""

    kind: FrameKind
    index: npt.NDArray[np.int64]
    has_data: bool


class KeptFrame(Struct, frozen=True):
    """A frame to keep for its pair of hosts, though it completes no segment."""

    kind: FrameKind


class _NotingDissector(FrameDissector):
    """A frame dissector that also names frames to keep for a pair of hosts though they complete no segment: fragments, and replies
    of KDCs."""

    def __init__(self, limits: Limits) -> None:
        super().__init__(limits)
        self.links: set[tuple[Pair, Pair]] = set()
        # The addresses of the innermost packet of the frame, and the datagram that the frame is a fragment of.
        self._addresses = (b"", b"")
        self._datagram: FragmentKey | None = None
        # The frame kind of UDP datagrams whose first fragment was seen. None: nobody reads them.
        self._datagrams: dict[FragmentKey, FrameKind | None] = {}
        self._loose = 0

    def dissect(self, frame: Frame) -> Iterator[Item | KeptFrame]:  # type: ignore[override]
        """Dissects a frame to sort it by pair of hosts. Fragments are only marked to be kept, and read when all are there."""
        self._datagram = None
        items: list[Item | KeptFrame] = []
        for item in super().dissect(frame):
            items.append(KeptFrame(_of_kdc(*self._addresses)) if isinstance(item, UdpPayload) else item)
        key = self._datagram
        if key is None:
            return iter(items)
        kind: FrameKind | None = FrameKind(pair_of(key.src, key.dst))
        for item in items:
            if isinstance(item, Found) and (inner := pair_of(item.src[0], item.dst[0])) != pair_of(key.src, key.dst):
                self.links.add((pair_of(key.src, key.dst), inner))
        if key.protocol == UDP:
            if key not in self._datagrams:
                self._loose += 1
            kind = self._datagrams.get(key, kind if self._loose <= _MOST_LOOSE else None)
        return iter(()) if kind is None else iter((KeptFrame(kind),))

    def finish(self) -> Iterator[LostSegment]:
        """Yields nothing: incomplete IP datagrams are counted later, when all fragments of a pair of hosts are together."""
        return iter(())

    def _given_up(self) -> Iterator[LostSegment]:
        self._fragments.given_up.clear()
        return iter(())

    def _transport(
        self, packet: Packet, protocol: int, src: bytes, dst: bytes, at: int, *, ip_header: slice | None
    ) -> Iterator[Item]:
        self._addresses = src, dst
        yield from super()._transport(packet, protocol, src, dst, at, ip_header=ip_header)

    def _fragment(self, packet: Packet, key: FragmentKey, start: int, at: int, *, more: bool) -> Iterator[Item]:
        if self._datagram is None and key.protocol in INTERESTING:
            self._datagram = key
            if key.protocol == UDP and start == 0 and at + 4 <= len(packet.data):
                self._begin_datagram(key, *unpack_from(">HH", packet.data, at))
        yield from super()._fragment(packet, key, start, at, more=more)

    def _begin_datagram(self, key: FragmentKey, source: int, target: int) -> None:
        if len(self._datagrams) >= _MOST_DATAGRAMS:
            del self._datagrams[next(iter(self._datagrams))]
        kind = FrameKind(pair_of(key.src, key.dst)) if target in TUNNEL_PORTS else None
        self._datagrams[key] = _of_kdc(key.src, key.dst) if source == KERBEROS_PORT else kind


class FrameSorter(Dissector):
    """Sorts the frames of one capture file by pair of hosts. `wanted` are hashes (`flow_hash`) of flows that other files show to be
    ours."""

    def __init__(self, *, limits: Limits = DEFAULTS, wanted: Collection[int] = ()) -> None:
        super().__init__(limits=limits, tallies=Tallies())
        self._noting = _NotingDissector(limits)
        self._frames = self._noting
        self._wanted = np.array(sorted(wanted), np.uint64)
        self._recognised: dict[FlowKey, int] = {}
        self._met: list[Hashes] = []
        self._our_flows: list[Hashes] = []
        self._begun: list[Hashes] = []
        # The addresses of the network cards that sent and received for an IP address (Ethernet).
        self.cards: dict[str, set[str]] = {}

    @property
    def ours(self) -> list[int]:
        """The numbers of the TCP flows in the sorted file that are ours, ascending."""
        return _numbers_in(self._our_flows)

    @property
    def begun(self) -> list[int]:
        """The numbers of the TCP flows that are ours and whose SYN is in the sorted file."""
        return _numbers_in(self._begun)

    @property
    def recognised(self) -> set[int]:
        """The numbers of the TCP flows that payloads in the sorted file show to be ours. Flows that are ours by port are left
        out."""
        return {flow_hash(*key) for key in self._flows}

    @property
    def met(self) -> Hashes:
        """The numbers of all TCP flows in the sorted file that are not ours by port, ascending."""
        return distinct(np.concatenate([NO_FLOWS, *self._met]))

    @property
    def links(self) -> set[tuple[Pair, Pair]]:
        """Pairs of hosts that belong together: fragments between the first pair carry packets between the second pair."""
        return self._noting.links

    def sort(self, block: FrameBlock) -> Iterator[tuple[FrameBlock, list[ChosenFrames]]]:
        """Sorts a block of frames by pair of hosts. Yields blocks that no later block can change, with their chosen frames."""
        return map(self._sorted, self._settled(block))

    def rest(self) -> Iterator[tuple[FrameBlock, list[ChosenFrames]]]:
        """Yields the blocks of frames that are left, each with its chosen frames, and completes `tallies`."""
        yield from map(self._sorted, self._last_held())
        self.tallies.unknown_links = self._frames.unknown_links
        self.tallies.forgotten = self._flows.forgotten

    def _sorted(self, held: DissectedBlock) -> tuple[FrameBlock, list[ChosenFrames]]:
        found: dict[FrameKind, tuple[list[IntArray], bool]] = {}

        def note(kind: FrameKind, index: IntArray, has_data: bool) -> None:
            known, had_data = found.get(kind, ([], False))
            known.append(index)
            found[kind] = known, had_data or has_data

        common = self._ours_of(held)
        if len(common):
            data = payloads_of(held.block, held.views, common)
            has_data = data.have_data | ~data.good
            flows = flow_hashes(held.views, common.ip, common.tcp)
            self._our_flows.append(distinct(flows))
            self._begun.append(distinct(flows[held.views.u8[common.tcp + _FLAGS] & _SYN != 0]))
            for kind, where in _kinds(held, common):
                note(kind, common.index[where], bool(has_data[where].any()))
                self._note_cards(held, common, int(where[0]))
        for index, item in held.plain:
            if isinstance(item, KeptFrame):
                note(item.kind, np.array([index]), True)
            elif isinstance(item, Found) and self._is_ours(item):
                kind = _kind_of(item.src, item.dst)
                note(kind, np.array([index]), bool(len(item.payload) or item.missing))
                flow = np.array([flow_hash(item.src, item.dst)], np.uint64)
                self._our_flows.append(flow)
                if item.flags & _SYN:
                    self._begun.append(flow)
            elif isinstance(item, LostSegment):
                self._count_lost(item)
        chosen = [
            ChosenFrames(kind, distinct(np.concatenate(parts)), has_data) for kind, (parts, has_data) in found.items()
        ]
        return held.block, chosen

    def _note_cards(self, held: DissectedBlock, common: TcpFrames, position: int) -> None:
        """Notes for the pair of hosts of a sorted frame the MAC addresses of their cards, if IP follows the Ethernet header (VLAN
        tags allowed)."""
        block, at = held.block, int(common.ip[position])
        start = int(block.starts[common.index[position]])
        if block.link_type != _ETHERNET or at - start not in _IP_OFFSETS:
            return
        offset, size = (12, 4) if block.data[at] >> 4 == 4 else (8, 16)
        for number, card in enumerate((block.data[start + 6 : start + 12], block.data[start : start + 6])):
            first = at + offset + number * size
            found = self.cards.setdefault(str(ip_address(bytes(block.data[first : first + size]))), set())
            if any(card) and len(found) < _MOST_CARDS:
                found.add(bytes(card).hex(":"))

    def _is_ours(self, item: Found) -> bool:
        if is_by_port(item.src, item.dst):
            return True
        number = flow_hash(item.src, item.dst)
        self._met.append(np.array([number], np.uint64))
        return flow_key(item.src, item.dst) in self._flows or bool(np.isin(number, self._wanted))

    def _ours_of(self, held: DissectedBlock) -> TcpFrames:
        """Returns the frames to sort in common shapes that certainly belong to our TCP flows."""
        common = held.common
        others = np.flatnonzero(~common.by_port)
        if not len(others):
            return common
        hashes = flow_hashes(held.views, common.ip[others], common.tcp[others])
        self._met.append(distinct(hashes))
        wanted = self._wanted
        if len(self._flows):
            for key in self._flows:
                if key not in self._recognised:
                    self._recognised[key] = flow_hash(*key)
            wanted = np.array([*wanted.tolist(), *self._recognised.values()], np.uint64)
        ours = common.by_port.copy()
        ours[others] = np.isin(hashes, wanted)
        return common.only(ours)


def _numbers_in(parts: list[Hashes]) -> list[int]:
    found: list[int] = distinct(np.concatenate([NO_FLOWS, *parts])).tolist()
    return found


def pair_of(one: bytes, other: bytes) -> Pair:
    """Returns the pair of two hosts: their addresses as text, in order."""
    low, high = sorted((one, other))
    return str(ip_address(low)), str(ip_address(high))


def _of_kdc(src: bytes, dst: bytes) -> FrameKind:
    """Returns the frame kind of a KDC's reply over UDP: the pair of hosts, and the client that asked."""
    return FrameKind(pair_of(src, dst), str(ip_address(dst)))


def _kind_of(src: End, dst: End) -> FrameKind:
    pair = pair_of(src[0], dst[0])
    if src[1] == KERBEROS_PORT:
        return FrameKind(pair, str(ip_address(dst[0])))
    if dst[1] == KERBEROS_PORT:
        return FrameKind(pair, str(ip_address(src[0])))
    return FrameKind(pair)


def _kinds(held: DissectedBlock, common: TcpFrames) -> Iterator[tuple[FrameKind, IntArray]]:
    """Yields each kind (pair of hosts) among frames in common shapes, with the positions of its frames in them."""
    is_ipv4 = held.views.u8[common.ip] >> 4 == 4
    source, target = (held.views.be16[common.tcp + at] == KERBEROS_PORT for at in (0, 2))
    asks = np.where(source, 1, np.where(target, 2, 0))
    for of_family, offset, size in ((is_ipv4, 12, 4), (~is_ipv4, 8, 16)):
        positions = np.flatnonzero(of_family)
        if not len(positions):
            continue
        rows = rows_at(held.block.data, common.ip[positions] + offset, 2 * size).view(f"S{2 * size}")
        ends, of_frame = np.unique(rows, return_inverse=True)
        for number, raw in enumerate(ends.tolist()):
            addresses = raw.ljust(2 * size, b"\0")
            src, dst = addresses[:size], addresses[size:]
            here = positions[of_frame == number]
            for way in distinct(asks[here]).tolist():
                ends_of = (src, KERBEROS_PORT if way == 1 else 0), (dst, KERBEROS_PORT if way == 2 else 0)
                yield _kind_of(*ends_of), here[asks[here] == way]
