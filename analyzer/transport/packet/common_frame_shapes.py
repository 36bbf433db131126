"""Finds the TCP headers of frames in common shapes with arrays, a block at a time. Other frames are named or dismissed.

Ethernet with VLAN tags, Linux cooked, raw IP and loopback; IPv4 without fragments and IPv6 without extension headers.
Frames that carry no TCP are dismissed here by the thousand; frames of any other shape are left to `frame_dissector`. What is
dismissed is what `frame_dissector` finds nothing in, and nothing else.

Nearly all frames of most captures have one shape: Ethernet without tags, IPv4 without options, TCP or UDP. The fields of these
are columns of what was coalesced of all frames; the others take one indexing operation for each field.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from msgspec.structs import astuple

from analyzer.capture.frame_blocks import HEAD_BEFORE, HEAD_LEN, FrameBlock, LinkType
from analyzer.transport.packet import link_layers
from analyzer.transport.packet.flow_candidates import KERBEROS_PORT, PORTS
from analyzer.transport.packet.frame_dissector import (
    GRE,
    INTERESTING,
    IPV4_IN_IP,
    IPV4_LEN,
    IPV6_IN_IP,
    IPV6_LEN,
    TCP,
    TCP_LEN,
    TUNNEL_PORTS,
    UDP,
)
from analyzer.transport.packet.tunnels import HEADER_LEN, Bools, Inner, IntArray, Views, remove_headers, swapped

if TYPE_CHECKING:
    import numpy.typing as npt

# ---------------------------------------------------------------------------------------------- frames in common shapes


def _table(size: int, members: Iterable[int]) -> Bools:
    table = np.zeros(size, np.bool_)
    table[[*members]] = True
    return table


# Per link type: where the EtherType stands, and how long the header is.
_TYPED_LINKS = {
    LinkType.ETHERNET: (12, link_layers.ETHERNET_LEN),
    LinkType.LINUX_SLL: (14, link_layers.SLL_LEN),
    LinkType.LINUX_SLL2: (0, link_layers.SLL2_LEN),
}
_IPV4, _IPV6, _BRIDGED = map(swapped, (link_layers.IPV4, link_layers.IPV6, link_layers.ETHERNET_BRIDGED))
# EtherTypes that `frame_dissector` reads, besides lengths (LLC).
_PLAIN_TYPES = _table(
    1 << 16, map(swapped, (link_layers.PPPOE_SESSION, link_layers.ETHERNET_BRIDGED, link_layers.PPP, *link_layers.MPLS))
)
_PLAIN_TYPES[np.arange(link_layers.LOWEST_ETHERTYPE).astype(">u2").view("<u2")] = True
_TAGS = _table(1 << 16, map(swapped, link_layers.VLAN_TAGS))
_MOST_TAGS = 4
# Tunnels inside each other that are removed by the block; `frame_dissector` follows more.
_MOST_TUNNELS = 3
_OUR_NUMBERS = tuple(sorted(map(swapped, PORTS)))
_OUR_PORTS = _table(1 << 16, _OUR_NUMBERS)
_INTERESTING = _table(256, INTERESTING)
_MAY_BE_TUNNELS = _table(256, (UDP, GRE, IPV4_IN_IP, IPV6_IN_IP))
_TUNNEL_NUMBERS = tuple(sorted(map(swapped, TUNNEL_PORTS)))
_KERBEROS_NUMBER = swapped(KERBEROS_PORT)
_FAMILIES_IPV4 = np.array((link_layers.AF_INET, link_layers.AF_INET << 24), np.uint32)
_FAMILIES_IPV6 = np.array((*link_layers.AF_INET6, *(family << 24 for family in link_layers.AF_INET6)), np.uint32)
# First bytes of payloads that may be ours: framing, the version of DCERPC, or protocol ids from this byte on.
_FIRST_BYTES, _SMB_IDS = (0, 5), 0xFC
# The usual shape: where its TCP header lies in a frame, and in what was coalesced of a frame the EtherType with the first byte of
# the IPv4 header, flags with fragment offset and protocol, and the ports.
_USUAL_TCP = link_layers.ETHERNET_LEN + IPV4_LEN
_USUAL_LEN = _USUAL_TCP + TCP_LEN
_USUAL_BEGIN_AT = HEAD_BEFORE + link_layers.ETHERNET_LEN - 2
_USUAL_PROTOCOL_AT = HEAD_BEFORE + link_layers.ETHERNET_LEN + 6
_USUAL_PORTS_AT = HEAD_BEFORE + _USUAL_TCP
_USUAL_OFFSET_AT, _USUAL_PAYLOAD_AT = _USUAL_PORTS_AT + 12, _USUAL_PORTS_AT + TCP_LEN
_USUAL_BEGIN = int.from_bytes(b"\x08\x00\x45", "little")
# Below this many frames arrays cost more than they save.
FEWEST_FRAMES = 16


class TcpFrames(Struct, frozen=True, eq=False):
    """Frames in common shapes with a whole TCP header: position in the block, offsets of the IP and TCP headers.

    `by_port`: a port is ours. `unclear`: no port is ours, so the payload has to be looked at.
    """

    index: IntArray
    ip: IntArray
    tcp: IntArray
    by_port: Bools
    unclear: Bools

    def __len__(self) -> int:
        return len(self.index)

    def chosen(self, positions: IntArray) -> TcpFrames:
        """Returns the common TCP frames at these positions."""
        return TcpFrames(*(column[positions] for column in astuple(self)))

    def only(self, wanted: Bools) -> TcpFrames:
        """Returns the common TCP frames for which the mask `wanted` is true."""
        return self if wanted.all() else self.chosen(np.flatnonzero(wanted))

    @staticmethod
    def joined(parts: Sequence[TcpFrames]) -> TcpFrames:
        """Returns the common TCP frames of several parts, one part behind the other."""
        return TcpFrames(*map(np.concatenate, zip(*map(astuple, parts), strict=True)))

    def port_pairs(self, views: Views) -> IntArray:
        """Returns both ports of each common TCP frame as one number, equal for both directions."""
        ports = views.be32[self.tcp].astype(np.int64)
        pairs: IntArray = np.minimum(ports, (ports >> 16) | (ports & 0xFFFF) << 16)
        return pairs


_EMPTY, _NONE = np.empty(0, np.int64), np.empty(0, np.bool_)
NO_FRAMES = TcpFrames(_EMPTY, _EMPTY, _EMPTY, _NONE, _NONE)


def is_common(block: FrameBlock) -> bool:
    """Whether the frames of a block can have a common shape."""
    return len(block) >= FEWEST_FRAMES and (
        block.link_type in _TYPED_LINKS
        or block.link_type in (LinkType.RAW, LinkType.IPV4, LinkType.IPV6, LinkType.NULL, LinkType.LOOP)
    )


def sort_out(block: FrameBlock, views: Views) -> tuple[TcpFrames, IntArray]:
    """Sorts the frames of a block: returns those with TCP in a common shape, and the positions of those to dissect one by one."""
    frames = np.arange(len(block))
    parts: list[TcpFrames] = []
    if block.link_type == LinkType.ETHERNET:
        usual, frames = _usual_shape(block)
        parts.append(usual)
    left: list[IntArray] = []
    if len(frames):
        ends = block.starts + block.captured
        inner = Inner(irregular=left)
        parts += _by_network(views, *_networks(block, views, frames, ends, left), ends, inner, is_inner=False)
        for _ in range(_MOST_TUNNELS):
            if not inner.frames:
                break
            unbridged = _without_bridging(views, *inner.take_packets(), ends, left)
            networks = _by_ethertype(views, *unbridged, ends, left)
            parts += _by_network(views, *networks, ends, inner, is_inner=True)
        left += inner.frames
    parts = [part for part in parts if len(part)]
    if len(parts) == 1:
        found = parts[0]
    elif parts:
        found = TcpFrames.joined(parts)
        found = found.chosen(np.argsort(found.index, kind="stable"))
    else:
        found = NO_FRAMES
    return found, np.sort(np.concatenate(left)) if left else _EMPTY


def _by_network(
    views: Views,
    ipv4: IntArray,
    at_ipv4: IntArray,
    ipv6: IntArray,
    at_ipv6: IntArray,
    ends: IntArray,
    inner: Inner,
    *,
    is_inner: bool,
) -> Iterator[TcpFrames]:
    """Yields the TCP frames in common shapes among a block's IP packets, and adds packets in tunnels to `inner`. `is_inner`: they
    came in one."""
    if len(ipv4):
        yield _ipv4(views, ipv4, at_ipv4, ends[ipv4], inner, is_inner=is_inner)
    if len(ipv6):
        yield _ipv6(views, ipv6, at_ipv6, ends[ipv6], inner, is_inner=is_inner)


def _without_bridging(
    views: Views, frames: IntArray, types: IntArray, at: IntArray, ends: IntArray, left: list[IntArray]
) -> tuple[IntArray, IntArray, IntArray]:
    """Removes, in frames of common shapes, Ethernet headers that a tunnel carries (RFC 1701: bridging). Returns positions,
    EtherTypes and offsets."""
    bridged = types == _BRIDGED
    if not bridged.any():
        return frames, types, at
    cut = bridged & (at + link_layers.ETHERNET_LEN > ends[frames])
    if cut.any():
        left.append(frames[cut])
        frames, types, at, bridged = frames[~cut], types[~cut], at[~cut], bridged[~cut]
    types = types.copy()
    types[bridged] = views.u16[at[bridged] + 12]
    return frames, types, np.where(bridged, at + link_layers.ETHERNET_LEN, at)


def _usual_shape(block: FrameBlock) -> tuple[TcpFrames, IntArray]:
    """Returns the frames of the most common shape (Ethernet, IPv4, TCP), and the positions of all others except UDP that is not
    read."""
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
    is_udp &= ports[0] != _KERBEROS_NUMBER
    index = np.flatnonzero(is_tcp)
    by_port = ports[0] == _OUR_NUMBERS[0]
    for number in _OUR_NUMBERS:
        by_port |= ports[0] == number
        by_port |= ports[1] == number
    # The first byte of a payload behind a header without options shows that nearly all are not ours.
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
    """Returns the frames with IPv4 and those with IPv6 among the common frames at `every`, and where these headers begin."""
    starts, captured = block.starts[every], block.captured[every]
    if block.link_type in _TYPED_LINKS:
        type_at, header_len = _TYPED_LINKS[block.link_type]
        frames, starts = _long_enough(every, starts, captured >= header_len, left)
        return _by_ethertype(views, frames, views.u16[starts + type_at], starts + header_len, ends, left)
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
    """Returns the common frames and offsets that have enough bytes for a header, and leaves the others to `frame_dissector`."""
    if enough.all():
        return frames, at
    left.append(frames[~enough])
    return frames[enough], at[enough]


def _by_ethertype(
    views: Views, frames: IntArray, types: npt.NDArray[np.integer], at: IntArray, ends: IntArray, left: list[IntArray]
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Returns the common frames with IPv4 and those with IPv6 by their EtherTypes, and where these headers begin."""
    is_ipv4 = types == _IPV4
    if is_ipv4.all():
        return frames, at, _EMPTY, _EMPTY
    tagged = _TAGS[types]
    for _ in range(_MOST_TAGS):
        if not tagged.any():
            break
        cut = tagged & (at + 4 > ends[frames])
        if cut.any():
            left.append(frames[cut])
            keep = ~cut
            frames, types, at, tagged = frames[keep], types[keep], at[keep], tagged[keep]
        types = types.copy()
        types[tagged] = views.u16[at[tagged] + 2]
        at = np.where(tagged, at + 4, at)
        tagged = _TAGS[types]
    plain = _PLAIN_TYPES[types] | tagged
    if plain.any():
        left.append(frames[plain])
    is_ipv4, is_ipv6 = types == _IPV4, types == _IPV6
    return frames[is_ipv4], at[is_ipv4], frames[is_ipv6], at[is_ipv6]


def _ipv4(views: Views, frames: IntArray, at: IntArray, ends: IntArray, inside: Inner, *, is_inner: bool) -> TcpFrames:
    enough = at + IPV4_LEN <= ends
    if not enough.all():
        inside.leave(frames[~enough])
        frames, at, ends = frames[enough], at[enough], ends[enough]
    first = views.u8[at]
    # Flags and fragment offset, time to live, protocol.
    word = views.u32[at + 6]
    protocols = word >> 24
    payload = at + ((first & 15).astype(np.int64) << 2)
    regular = (first >= 0x45) & (first <= 0x4F) & ((word & 0xFF3F) == 0) & (payload <= ends)
    if is_inner:
        # Segmentation offload leaves the length zero; then the tunnel's headers decide where the packet ends.
        regular &= views.u16[at + 2] != 0
    is_tcp = regular & (protocols == TCP) & (payload + TCP_LEN <= ends)
    # Other packets in which `frame_dissector` may find something.
    rest = ~is_tcp
    rest &= _INTERESTING[protocols] | (first < 0x45) | (first > 0x4F)
    if rest.any():
        stops = at + views.be16[at + 2]
        _no_tcp(views, frames[rest], regular[rest], protocols[rest], payload[rest], stops[rest], ends[rest], inside)
    frames, at, payload = frames[is_tcp], at[is_tcp], payload[is_tcp]
    return _tcp_frames(views, frames, at, payload)


def _ipv6(views: Views, frames: IntArray, at: IntArray, ends: IntArray, inside: Inner, *, is_inner: bool) -> TcpFrames:
    enough = at + IPV6_LEN <= ends
    if not enough.all():
        inside.leave(frames[~enough])
        frames, at, ends = frames[enough], at[enough], ends[enough]
    regular = views.u8[at] >> 4 == 6
    if is_inner:
        regular &= views.u16[at + 4] != 0
    protocols = views.u8[at + 6]
    payload = at + IPV6_LEN
    is_tcp = regular & (protocols == TCP) & (payload + TCP_LEN <= ends)
    rest = ~is_tcp & (_INTERESTING[protocols] | ~regular)
    if rest.any():
        stops = payload + views.be16[at + 4]
        _no_tcp(views, frames[rest], regular[rest], protocols[rest], payload[rest], stops[rest], ends[rest], inside)
    frames, at, payload = frames[is_tcp], at[is_tcp], payload[is_tcp]
    return _tcp_frames(views, frames, at, payload)


def _no_tcp(
    views: Views,
    frames: IntArray,
    regular: Bools,
    protocols: npt.NDArray[np.integer],
    payload: IntArray,
    stops: IntArray,
    ends: IntArray,
    inside: Inner,
) -> None:
    """Sorts IP packets in common frames without a whole TCP header: removes tunnel headers. Packets with an irregular header, a cut
    TCP header, or a length (`stops`) too small for a tunnel's header are left to `frame_dissector`."""
    tunnel = regular & _MAY_BE_TUNNELS[protocols]
    tunnel &= (protocols == UDP) | (stops > payload + HEADER_LEN)
    if not tunnel.all():
        inside.leave(frames[~tunnel])
    if tunnel.any():
        remove_headers(views, frames[tunnel], protocols[tunnel], payload[tunnel], ends[tunnel], inside)


def _tcp_frames(views: Views, frames: IntArray, ip: IntArray, tcp: IntArray) -> TcpFrames:
    ports = views.u32[tcp]
    by_port: Bools = _OUR_PORTS[ports & 0xFFFF]
    by_port |= _OUR_PORTS[ports >> 16]
    return TcpFrames(frames, ip, tcp, by_port, ~by_port)
