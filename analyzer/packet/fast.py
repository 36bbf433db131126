"""The common shapes by the block: arrays of frames in, positions of TCP headers out, everything else named or dismissed.

Ethernet with VLAN tags, Linux cooked, raw IP and loopback; IPv4 without fragments and IPv6 without extension headers.
Frames that carry no TCP are dismissed here by the thousand; frames of any other shape are left to the plain road. What is
dismissed is what the plain road finds nothing in, and nothing else.

Nearly all frames of most captures have one shape: Ethernet without tags, IPv4 without options, TCP or UDP. For these the first
bytes of all frames are gathered once, and their fields are columns of that table; the others take a gather for each field.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from analyzer.capture.frame import FrameBlock
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


def _table(size: int, members: frozenset[int]) -> Bools:
    table = np.zeros(size, np.bool_)
    table[sorted(members)] = True
    return table


# Per link type: where the EtherType stands, and how long the header is.
_TYPED_LINKS = {
    LinkType.ETHERNET: (12, links.ETHERNET_LEN),
    LinkType.LINUX_SLL: (14, links.SLL_LEN),
    LinkType.LINUX_SLL2: (0, links.SLL2_LEN),
}
_IPV4, _IPV6 = _swapped(links.IPV4), _swapped(links.IPV6)
# EtherTypes of the plain road, besides lengths (LLC).
_PLAIN_TYPES = _table(
    1 << 16,
    frozenset(
        _swapped(number)
        for number in (
            links.PPPOE_SESSION,
            links.ETHERNET_BRIDGED,
            links.PPP,
            *links.MPLS,
            *range(links.LOWEST_ETHERTYPE),
        )
    ),
)
_TAGS = _table(1 << 16, frozenset(map(_swapped, links.VLAN_TAGS)))
_MOST_TAGS = 4
_OUR_PORTS = _table(1 << 16, PORTS)
_INTERESTING = _table(256, INTERESTING)
_TUNNELS = _table(1 << 16, frozenset(map(_swapped, TUNNEL_PORTS)))
_FAMILIES_IPV4 = np.array((links.AF_INET, links.AF_INET << 24), np.uint32)
_FAMILIES_IPV6 = np.array((*links.AF_INET6, *(family << 24 for family in links.AF_INET6)), np.uint32)
_SMB_AFTER_FRAMING = int.from_bytes(b"SMB", "little")
# The usual shape: where its headers lie in a frame, and what the first bytes of the IPv4 header are behind the EtherType.
_USUAL_IP, _USUAL_TCP = links.ETHERNET_LEN, links.ETHERNET_LEN + IPV4_LEN
_USUAL_LEN = _USUAL_TCP + TCP_LEN
_USUAL_BYTES = 64
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
    """Frames with a whole TCP header: position in the block, offsets of the IP and TCP headers, both ports in one word."""

    index: IntArray
    ip: IntArray
    tcp: IntArray
    ports: IntArray

    def __len__(self) -> int:
        return len(self.index)

    def chosen(self, mask: Bools | IntArray) -> TcpFrames:
        return TcpFrames(self.index[mask], self.ip[mask], self.tcp[mask], self.ports[mask])

    def ours_by_port(self) -> Bools:
        mask: Bools = _OUR_PORTS[self.ports >> 16]
        mask |= _OUR_PORTS[self.ports & 0xFFFF]
        return mask

    def port_pairs(self) -> IntArray:
        """Both ports, the same for both directions."""
        pairs: IntArray = np.minimum(self.ports, (self.ports >> 16) | (self.ports & 0xFFFF) << 16)
        return pairs


_EMPTY = np.empty(0, np.int64)
NO_FRAMES = TcpFrames(_EMPTY, _EMPTY, _EMPTY, _EMPTY)


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
        usual, frames = _usual(block, views)
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
            np.concatenate([part.ports for part in parts]),
        ).chosen(np.argsort(np.concatenate([part.index for part in parts]), kind="stable"))
    else:
        found = NO_FRAMES
    return found, np.sort(np.concatenate(left)) if left else _EMPTY


def _usual(block: FrameBlock, views: Views) -> tuple[TcpFrames, IntArray]:
    """The frames of the usual shape with TCP, and the positions of all others but those with UDP and no tunnel."""
    room = len(block.data) - _USUAL_BYTES
    if room < 0:
        return NO_FRAMES, np.arange(len(block))
    # A frame near the end of the data is not of the usual shape, whatever is read in its place.
    at = np.minimum(block.starts, room)
    heads = np.ndarray((room + 1,), f"V{_USUAL_BYTES}", block.data, strides=(1,))[at]
    words = heads.view("<u4").reshape(-1, _USUAL_BYTES // 4)
    usual = (words[:, 3] & 0xFFFFFF) == _USUAL_BEGIN
    usual &= block.captured >= _USUAL_LEN
    usual &= at == block.starts
    # Flags and fragment offset have to be zero; between them and the protocol is the time to live.
    protocol = words[:, 5] & 0xFF00FF3F
    is_tcp = usual & (protocol == TCP << 24)
    shorts = heads.view("<u2").reshape(-1, _USUAL_BYTES // 2)
    is_udp = usual & (protocol == UDP << 24)
    is_udp &= ~_TUNNELS[shorts[:, _USUAL_TCP // 2 + 1]]
    index = np.flatnonzero(is_tcp)
    ports = np.ndarray((len(heads),), ">u4", heads, offset=_USUAL_TCP, strides=(_USUAL_BYTES,))[index]
    starts = block.starts[index]
    found = TcpFrames(index, starts + _USUAL_IP, starts + _USUAL_TCP, ports.astype(np.int64))
    return found, np.flatnonzero(~(is_tcp | is_udp))


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
    return TcpFrames(frames, at, inner, views.be32[inner].astype(np.int64))


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
    return TcpFrames(frames, at, inner, views.be32[inner].astype(np.int64))


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


def may_begin_like_ours(views: Views, found: TcpFrames, ends: IntArray) -> Bools:
    """Which payloads may begin like SMB or DCERPC: all that do, and few others. `ends`: of the frames' captured bytes."""
    begins = found.tcp + ((views.u8[found.tcp + 12] >> 4).astype(np.int64) << 2)
    long_enough = np.flatnonzero(begins + SMB_SIGNATURE_LEN <= ends)
    words = views.u64[begins[long_enough]]
    low = words.astype(np.uint32)
    hits = (words >> np.uint64(40)) == _SMB_AFTER_FRAMING
    hits |= low >> 8 == _SMB_AFTER_FRAMING
    # C706 12.6.4: version 5, minor version 0 or 1.
    hits |= (low & 0xFEFF) == 5
    may = np.zeros(len(found), np.bool_)
    may[long_enough[hits]] = True
    return may
