"""The common shapes by the block: arrays of frames in, positions of TCP headers out, everything else named or dismissed.

Ethernet with VLAN tags, Linux cooked, raw IP and loopback; IPv4 without fragments and IPv6 without extension headers.
Frames that carry no TCP are dismissed here by the thousand; frames of any other shape are left to the plain road. What is
dismissed is what the plain road finds nothing in, and nothing else.

Nearly all frames of most captures have one shape: Ethernet without tags, IPv4 without options, TCP or UDP. The fields of these
are columns of what was gathered of all frames; the others take a gather for each field.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from analyzer.capture.frame import HEAD_BEFORE, HEAD_LEN, FrameBlock
from analyzer.capture.linktypes import LinkType
from analyzer.core.values import dataclass
from analyzer.packet import links
from analyzer.packet.candidates import PORTS, SMB_SIGNATURE_LEN
from analyzer.packet.plain import INTERESTING, IPV4_LEN, IPV6_LEN, TCP, TCP_LEN, TUNNEL_PORTS, UDP

IntArray = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


def _swapped(number: int) -> int:
    """A 16-bit number of the network as a little-endian read gives it."""
    return (number & 0xFF) << 8 | number >> 8


def _table(size: int, members: Iterable[int]) -> Bools:
    table = np.zeros(size, np.bool_)
    table[[*members]] = True
    return table


# Per link type: where the EtherType stands, and how long the header is.
_TYPED_LINKS = {
    LinkType.ETHERNET: (12, links.ETHERNET_LEN),
    LinkType.LINUX_SLL: (14, links.SLL_LEN),
    LinkType.LINUX_SLL2: (0, links.SLL2_LEN),
}
_IPV4, _IPV6 = _swapped(links.IPV4), _swapped(links.IPV6)
# EtherTypes of the plain road, besides lengths (LLC).
_PLAIN_TYPES = _table(1 << 16, map(_swapped, (links.PPPOE_SESSION, links.ETHERNET_BRIDGED, links.PPP, *links.MPLS)))
_PLAIN_TYPES[np.arange(links.LOWEST_ETHERTYPE).astype(">u2").view("<u2")] = True
_TAGS = _table(1 << 16, map(_swapped, links.VLAN_TAGS))
_MOST_TAGS = 4
_OUR_NUMBERS = tuple(sorted(map(_swapped, PORTS)))
_OUR_PORTS = _table(1 << 16, _OUR_NUMBERS)
_INTERESTING = _table(256, INTERESTING)
_TUNNEL_NUMBERS = tuple(sorted(map(_swapped, TUNNEL_PORTS)))
_TUNNELS = _table(1 << 16, _TUNNEL_NUMBERS)
_FAMILIES_IPV4 = np.array((links.AF_INET, links.AF_INET << 24), np.uint32)
_FAMILIES_IPV6 = np.array((*links.AF_INET6, *(family << 24 for family in links.AF_INET6)), np.uint32)
# What payloads that begin like ours begin with: framing or the version of DCERPC, or the first byte of a protocol id from this on.
_FIRST_BYTES, _SMB_IDS = (0, 5), 0xFC
_SMB_AFTER_FRAMING = int.from_bytes(b"SMB", "little")
# The usual shape: where its TCP header lies in a frame, and in what was gathered of a frame the EtherType with the first byte of
# the IPv4 header, flags with fragment offset and protocol, and the ports.
_USUAL_TCP = links.ETHERNET_LEN + IPV4_LEN
_USUAL_LEN = _USUAL_TCP + TCP_LEN
_USUAL_BEGIN_AT = HEAD_BEFORE + links.ETHERNET_LEN - 2
_USUAL_PROTOCOL_AT = HEAD_BEFORE + links.ETHERNET_LEN + 6
_USUAL_PORTS_AT = HEAD_BEFORE + _USUAL_TCP
_USUAL_OFFSET_AT, _USUAL_PAYLOAD_AT = _USUAL_PORTS_AT + 12, _USUAL_PORTS_AT + TCP_LEN
_USUAL_BEGIN = int.from_bytes(b"\x08\x00\x45", "little")
# Below this many frames arrays cost more than they save.
FEWEST_FRAMES = 16


class Views:
    """For each offset of a buffer, the number that stands there: little-endian, and as the network writes it."""

    __slots__ = ("be16", "be32", "u8", "u16", "u32", "u64")

    def __init__(self, data: bytes) -> None:
        size = len(data)
        self.u8 = np.frombuffer(data, np.uint8)
        self.u16 = np.ndarray((max(size - 1, 0),), "<u2", data, strides=(1,))
        self.u32 = np.ndarray((max(size - 3, 0),), "<u4", data, strides=(1,))
        self.u64: npt.NDArray[np.uint64] = np.ndarray((max(size - 7, 0),), "<u8", data, strides=(1,))
        self.be16 = np.ndarray((max(size - 1, 0),), ">u2", data, strides=(1,))
        self.be32 = np.ndarray((max(size - 3, 0),), ">u4", data, strides=(1,))


@dataclass(frozen=True, slots=True, eq=False)
class TcpFrames:
    """Frames with a whole TCP header: position in the block, offsets of the IP and TCP headers.

    `by_port`: whether a port is ours; `unclear`: whether, as none is, the payload has to be looked at.
    """

    index: IntArray
    ip: IntArray
    tcp: IntArray
    by_port: Bools
    unclear: Bools

    def __len__(self) -> int:
        return len(self.index)

    def chosen(self, positions: IntArray) -> TcpFrames:
        return TcpFrames(
            self.index[positions],
            self.ip[positions],
            self.tcp[positions],
            self.by_port[positions],
            self.unclear[positions],
        )

    def port_pairs(self, views: Views) -> IntArray:
        """Both ports, the same for both directions."""
        ports = views.be32[self.tcp].astype(np.int64)
        pairs: IntArray = np.minimum(ports, (ports >> 16) | (ports & 0xFFFF) << 16)
        return pairs


_EMPTY, _NONE = np.empty(0, np.int64), np.empty(0, np.bool_)
NO_FRAMES = TcpFrames(_EMPTY, _EMPTY, _EMPTY, _NONE, _NONE)


def is_common(block: FrameBlock) -> bool:
    """Whether frames of this block can be of a shape we know."""
    return len(block) >= FEWEST_FRAMES and (
        block.link_type in _TYPED_LINKS
        or block.link_type in (LinkType.RAW, LinkType.IPV4, LinkType.IPV6, LinkType.NULL, LinkType.LOOP)
    )


def sort_out(block: FrameBlock, views: Views) -> tuple[TcpFrames, IntArray]:
    """The frames with TCP in a common shape, and the positions of those that the plain road has to see."""
    frames = np.arange(len(block))
    parts = []
    if block.link_type == LinkType.ETHERNET:
        usual, frames = _usual(block)
        parts.append(usual)
    left: list[IntArray] = []
    if len(frames):
        ends = block.starts + block.captured
        ipv4, at_ipv4, ipv6, at_ipv6 = _networks(block, views, frames, ends, left)
        if len(ipv4):
            parts.append(_ipv4(views, ipv4, at_ipv4, ends[ipv4], left))
        if len(ipv6):
            parts.append(_ipv6(views, ipv6, at_ipv6, ends[ipv6], left))
    parts = [part for part in parts if len(part)]
    if len(parts) == 1:
        found = parts[0]
    elif parts:
        found = TcpFrames(
            np.concatenate([part.index for part in parts]),
            np.concatenate([part.ip for part in parts]),
            np.concatenate([part.tcp for part in parts]),
            np.concatenate([part.by_port for part in parts]),
            np.concatenate([part.unclear for part in parts]),
        ).chosen(np.argsort(np.concatenate([part.index for part in parts]), kind="stable"))
    else:
        found = NO_FRAMES
    return found, np.sort(np.concatenate(left)) if left else _EMPTY


def _usual(block: FrameBlock) -> tuple[TcpFrames, IntArray]:
    """The frames of the usual shape with TCP, and the positions of all others but those with UDP and no tunnel."""
    words = block.heads.view("<u4").reshape(-1, HEAD_LEN // 4)
    shorts = block.heads.view("<u2").reshape(-1, HEAD_LEN // 2)
    begin = words[:, _USUAL_BEGIN_AT // 4] & 0xFFFFFF
    # Flags and fragment offset have to be zero; between them and the protocol is the time to live.
    protocol = words[:, _USUAL_PROTOCOL_AT // 4] & 0xFF00FF3F
    usual = begin == _USUAL_BEGIN
    usual &= block.captured >= _USUAL_LEN
    is_tcp = protocol == TCP << 24
    is_tcp &= usual
    is_udp = protocol == UDP << 24
    is_udp &= usual
    ports = shorts[:, _USUAL_PORTS_AT // 2].copy(), shorts[:, _USUAL_PORTS_AT // 2 + 1].copy()
    for tunnel in _TUNNEL_NUMBERS:
        is_udp &= ports[1] != tunnel
    index = np.flatnonzero(is_tcp)
    by_port = ports[0] == _OUR_NUMBERS[0]
    for number in _OUR_NUMBERS:
        by_port |= ports[0] == number
        by_port |= ports[1] == number
    # The first byte of a payload behind a header without options tells that nearly all are not ours.
    single = block.heads.view(np.uint8).reshape(-1, HEAD_LEN)
    payload = single[:, _USUAL_PAYLOAD_AT].copy()
    unclear = payload >= _SMB_IDS
    for first in _FIRST_BYTES:
        unclear |= payload == first
    unclear |= single[:, _USUAL_OFFSET_AT] & 0xF0 != TCP_LEN << 2
    unclear &= ~by_port
    tcp = block.starts[index] + _USUAL_TCP
    is_udp |= is_tcp
    return TcpFrames(index, tcp - IPV4_LEN, tcp, by_port[index], unclear[index]), np.flatnonzero(~is_udp)


def _networks(
    block: FrameBlock, views: Views, every: IntArray, ends: IntArray, left: list[IntArray]
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Of the frames at `every` position those with IPv4 and IPv6, and where those headers begin."""
    starts, captured = block.starts[every], block.captured[every]
    if block.link_type in _TYPED_LINKS:
        type_at, header_len = _TYPED_LINKS[LinkType(block.link_type)]
        frames, starts = _long_enough(every, starts, captured >= header_len, left)
        return _by_ethertype(views, frames, views.u16[starts + type_at], starts + header_len, ends[frames], left)
    if block.link_type in (LinkType.NULL, LinkType.LOOP):
        frames, starts = _long_enough(every, starts, captured >= 4, left)
        families = views.u32[starts]
        is_ipv4, is_ipv6 = np.isin(families, _FAMILIES_IPV4), np.isin(families, _FAMILIES_IPV6)
        at = starts + 4
    else:
        frames, at = _long_enough(every, starts, captured >= 1, left)
        versions = views.u8[at] >> 4
        if block.link_type == LinkType.RAW:
            is_ipv4, is_ipv6 = versions == 4, versions == 6
            other = ~(is_ipv4 | is_ipv6)
            if other.any():
                left.append(frames[other])
        else:
            is_ipv4 = np.full(len(frames), block.link_type == LinkType.IPV4)
            is_ipv6 = ~is_ipv4
    return frames[is_ipv4], at[is_ipv4], frames[is_ipv6], at[is_ipv6]


def _long_enough(frames: IntArray, at: IntArray, enough: Bools, left: list[IntArray]) -> tuple[IntArray, IntArray]:
    """The frames and offsets where there is enough; the others are left to the plain road."""
    if enough.all():
        return frames, at
    left.append(frames[~enough])
    return frames[enough], at[enough]


def _by_ethertype(
    views: Views, frames: IntArray, types: npt.NDArray[np.uint16], at: IntArray, ends: IntArray, left: list[IntArray]
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    is_ipv4 = types == _IPV4
    if is_ipv4.all():
        return frames, at, _EMPTY, _EMPTY
    tagged = _TAGS[types]
    for _ in range(_MOST_TAGS):
        if not tagged.any():
            break
        cut = tagged & (at + 4 > ends)
        if cut.any():
            left.append(frames[cut])
            keep = ~cut
            frames, types, at, ends, tagged = frames[keep], types[keep], at[keep], ends[keep], tagged[keep]
        types = types.copy()
        types[tagged] = views.u16[at[tagged] + 2]
        at = np.where(tagged, at + 4, at)
        tagged = _TAGS[types]
    plain = _PLAIN_TYPES[types] | tagged
    if plain.any():
        left.append(frames[plain])
    is_ipv4, is_ipv6 = types == _IPV4, types == _IPV6
    return frames[is_ipv4], at[is_ipv4], frames[is_ipv6], at[is_ipv6]


def _ipv4(views: Views, frames: IntArray, at: IntArray, ends: IntArray, left: list[IntArray]) -> TcpFrames:
    enough = at + IPV4_LEN <= ends
    if not enough.all():
        left.append(frames[~enough])
        frames, at, ends = frames[enough], at[enough], ends[enough]
    first = views.u8[at]
    # Flags and fragment offset, time to live, protocol.
    word = views.u32[at + 6]
    protocols = word >> 24
    inner = at + ((first & 15).astype(np.int64) << 2)
    regular = (first >= 0x45) & (first <= 0x4F) & ((word & 0xFF3F) == 0) & (inner <= ends)
    is_tcp = regular & (protocols == TCP) & (inner + TCP_LEN <= ends)
    # Of the rest, what the plain road may find something in.
    rest = ~is_tcp
    rest &= _INTERESTING[protocols] | (first < 0x45) | (first > 0x4F)
    if rest.any():
        _leave(views, frames[rest], (regular & (protocols == UDP))[rest], inner[rest], ends[rest], left)
    frames, at, inner = frames[is_tcp], at[is_tcp], inner[is_tcp]
    return _tcp_frames(views, frames, at, inner)


def _ipv6(views: Views, frames: IntArray, at: IntArray, ends: IntArray, left: list[IntArray]) -> TcpFrames:
    enough = at + IPV6_LEN <= ends
    if not enough.all():
        left.append(frames[~enough])
        frames, at, ends = frames[enough], at[enough], ends[enough]
    right = views.u8[at] >> 4 == 6
    protocols = views.u8[at + 6]
    inner = at + IPV6_LEN
    is_tcp = right & (protocols == TCP) & (inner + TCP_LEN <= ends)
    rest = ~is_tcp & (_INTERESTING[protocols] | ~right)
    if rest.any():
        _leave(views, frames[rest], (right & (protocols == UDP))[rest], inner[rest], ends[rest], left)
    frames, at, inner = frames[is_tcp], at[is_tcp], inner[is_tcp]
    return _tcp_frames(views, frames, at, inner)


def _leave(
    views: Views, frames: IntArray, is_udp: Bools, inner: IntArray, ends: IntArray, left: list[IntArray]
) -> None:
    """Leaves frames to the plain road, but not the many whose UDP port is no tunnel's."""
    with_port = is_udp & (inner + 4 <= ends)
    tunnel = np.zeros(len(frames), np.bool_)
    tunnel[with_port] = _TUNNELS[views.u16[inner[with_port] + 2]]
    keep = ~is_udp | tunnel
    if keep.any():
        left.append(frames[keep])


def _tcp_frames(views: Views, frames: IntArray, ip: IntArray, tcp: IntArray) -> TcpFrames:
    ports = views.u32[tcp]
    by_port: Bools = _OUR_PORTS[ports & 0xFFFF]
    by_port |= _OUR_PORTS[ports >> 16]
    return TcpFrames(frames, ip, tcp, by_port, ~by_port)


def may_begin_like_ours(block: FrameBlock, views: Views, found: TcpFrames) -> IntArray:
    """Positions of those not ours by port whose payloads may begin like SMB or DCERPC: of all that do, and of few others."""
    positions = np.flatnonzero(found.unclear)
    tcp, index = found.tcp[positions], found.index[positions]
    begins = tcp + ((views.u8[tcp + 12] >> 4).astype(np.int64) << 2)
    long_enough = begins + SMB_SIGNATURE_LEN <= block.starts[index] + block.captured[index]
    positions, begins = positions[long_enough], begins[long_enough]
    words = views.u64[begins]
    low = words.astype(np.uint32)
    hits = (words >> np.uint64(40)) == _SMB_AFTER_FRAMING
    hits |= low >> 8 == _SMB_AFTER_FRAMING
    # C706 12.6.4: version 5, minor version 0 or 1.
    hits |= (low & 0xFEFF) == 5
    hit: IntArray = positions[hits]
    return hit
