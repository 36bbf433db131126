"""Removes the outer headers of tunnels from many frames at once, and finds where the packets inside begin.

GRE (RFC 2784 and 2890) with ERSPAN types I to III, VXLAN (RFC 7348), Geneve (RFC 8926), GTP-U (3GPP TS 29.281), IP in IP (RFC 2003
and 4213). Only headers that are regular and wholly captured are removed here. Frames with any other are returned, to be dissected
one by one by `frame_dissector`, and what `frame_dissector` finds nothing in is dropped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from msgspec import Struct, field

from analyzer.core.array_functions import distinct
from analyzer.transport.packet import link_layers
from analyzer.transport.packet.flow_candidates import KERBEROS_PORT
from analyzer.transport.packet.frame_dissector import (
    ERSPAN_2,
    ERSPAN_3,
    GENEVE_PORT,
    GRE,
    GTP_U_PORT,
    IPV4_IN_IP,
    IPV6_IN_IP,
    TUNNEL_PORTS,
    UDP,
    UDP_LEN,
    VXLAN_PORTS,
)

if TYPE_CHECKING:
    import numpy.typing as npt

IntArray: TypeAlias = "npt.NDArray[np.int64]"
Bools: TypeAlias = "npt.NDArray[np.bool_]"


def swapped(number: int) -> int:
    """Returns a 16-bit number of a packet in a tunnel with its bytes swapped, as a little-endian read gives it."""
    return (number & 0xFF) << 8 | number >> 8


class Views:
    """Views of a buffer of frames in which tunnels are looked for: at each offset, the number that stands there, little-endian or
    big-endian as on the network."""

    __slots__ = ("be16", "be32", "u8", "u16", "u32", "u64")

    def __init__(self, data: bytes) -> None:
        size = len(data)
        self.u8 = np.frombuffer(data, np.uint8)
        self.u16 = np.ndarray((max(size - 1, 0),), "<u2", data, strides=(1,))
        self.u32 = np.ndarray((max(size - 3, 0),), "<u4", data, strides=(1,))
        self.u64: npt.NDArray[np.uint64] = np.ndarray((max(size - 7, 0),), "<u8", data, strides=(1,))
        self.be16 = np.ndarray((max(size - 1, 0),), ">u2", data, strides=(1,))
        self.be32 = np.ndarray((max(size - 3, 0),), ">u4", data, strides=(1,))


_IPV4, _IPV6, _ERSPAN_2, _ERSPAN_3 = map(swapped, (link_layers.IPV4, link_layers.IPV6, ERSPAN_2, ERSPAN_3))
# So many bytes are read of any header before its length is known: GRE with three optional words, GTP-U with its optional fields.
HEADER_LEN = 16
# 5G puts one extension header in each GTP-U packet (3GPP TS 38.415); more than this many are left to `frame_dissector`.
_MOST_GTP_EXTENSIONS = 2


class Inner(Struct):
    """Packets found inside tunnels: the frame's position in the block, the payload's EtherType by a little-endian read, and its
    offset.

    `irregular` are the frames that have to be dissected one by one.
    """

    frames: list[IntArray] = field(default_factory=list)
    types: list[IntArray] = field(default_factory=list)
    at: list[IntArray] = field(default_factory=list)
    irregular: list[IntArray] = field(default_factory=list)

    def add(self, frames: IntArray, types: IntArray | int, at: IntArray) -> None:
        if len(frames):
            self.frames.append(frames)
            self.types.append(np.full(len(frames), types) if isinstance(types, int) else types)
            self.at.append(at)

    def leave(self, frames: IntArray) -> None:
        if len(frames):
            self.irregular.append(frames)

    def take_packets(self) -> tuple[IntArray, IntArray, IntArray]:
        """Returns all packets found inside tunnels so far, in the order of frames, and forgets them."""
        frames, types, at = np.concatenate(self.frames), np.concatenate(self.types), np.concatenate(self.at)
        self.frames, self.types, self.at = [], [], []
        order = np.argsort(frames, kind="stable")
        return frames[order], types[order], at[order]


def remove_headers(
    views: Views, frames: IntArray, protocols: IntArray, at: IntArray, ends: IntArray, inner: Inner
) -> None:
    """Removes the tunnel headers of IP payloads and adds the packets inside to `inner`. The payloads begin at `at` and have the
    given protocol numbers; the bytes of each frame end at `ends`.

    Other UDP is dropped, except replies of a KDC, which `frame_dissector` reads. Headers that belong to no tunnel are dropped too.
    Fragments must not be among the payloads.
    """
    for protocol, remove in _BY_PROTOCOL.items():
        chosen = protocols == protocol
        if chosen.any():
            remove(views, frames[chosen], at[chosen], ends[chosen], inner)
    inner.leave(frames[~np.isin(protocols, _PROTOCOLS)])


def _udp(views: Views, frames: IntArray, at: IntArray, ends: IntArray, inner: Inner) -> None:
    with_port = at + 4 <= ends
    frames, at, ends = frames[with_port], at[with_port], ends[with_port]
    of_kdc = views.be16[at] == KERBEROS_PORT
    if of_kdc.any():
        inner.leave(frames[of_kdc])
        frames, at, ends = frames[~of_kdc], at[~of_kdc], ends[~of_kdc]
    ports = views.be16[at + 2]
    is_tunnel = np.isin(ports, _TUNNEL_PORTS)
    if not is_tunnel.any():
        return
    frames, at, ends, ports = frames[is_tunnel], at[is_tunnel], ends[is_tunnel], ports[is_tunnel]
    enough = at + UDP_LEN + HEADER_LEN <= ends
    inner.leave(frames[~enough])
    frames, at, ends, ports = frames[enough], at[enough] + UDP_LEN, ends[enough], ports[enough]
    for port in distinct(ports).tolist():
        chosen = ports == port
        _BY_PORT[port](views, frames[chosen], at[chosen], ends[chosen], inner)


def _vxlan(views: Views, frames: IntArray, at: IntArray, ends: IntArray, inner: Inner) -> None:
    # RFC 7348 section 5: of the flags only I is defined, a network identifier is given; the last byte is zero.
    is_vxlan = (views.u8[at] & 0x08 != 0) & (views.u8[at + 7] == 0)
    _ethernet(views, frames[is_vxlan], at[is_vxlan] + 8, ends[is_vxlan], inner)


def _geneve(views: Views, frames: IntArray, at: IntArray, ends: IntArray, inner: Inner) -> None:
    # RFC 8926 section 3.4: version 0 and the length of the options in words; the last byte is zero.
    first = views.u8[at]
    is_geneve = (first >> 6 == 0) & (views.u8[at + 7] == 0)
    types = views.u16[at + 2].astype(np.int64)
    inside = at + 8 + ((first & 0x3F).astype(np.int64) << 2)
    inner.add(frames[is_geneve], types[is_geneve], inside[is_geneve])


def _gtp_u(views: Views, frames: IntArray, at: IntArray, ends: IntArray, inner: Inner) -> None:
    # 3GPP TS 29.281 section 5.1: version 1, protocol type 1, message type 255 (G-PDU).
    first = views.u8[at]
    is_gpdu = (first & 0xF0 == 0x30) & (views.u8[at + 1] == 0xFF)
    frames, at, ends, first = frames[is_gpdu], at[is_gpdu], ends[is_gpdu], first[is_gpdu]
    # Any of the flags E, S, PN brings sequence number, N-PDU number and the type of the first extension header.
    at = at + np.where(first & 0x07 != 0, 12, 8)
    following = np.where(first & 0x04 != 0, views.u8[at - 1], 0)
    for _ in range(_MOST_GTP_EXTENSIONS):
        extended = following != 0
        if not extended.any():
            break
        # Section 5.2.1: the length in words of four bytes; the last byte is the type of the next one.
        begin = np.where(extended, at, 0)
        size = views.u8[begin].astype(np.int64) << 2
        regular = ~extended | ((size > 0) & (at + size + 1 <= ends))
        inner.leave(frames[~regular])
        frames, at, ends, following = frames[regular], at[regular], ends[regular], following[regular]
        extended, size = extended[regular], size[regular]
        at = np.where(extended, at + size, at)
        following = np.where(extended, views.u8[at - 1], 0)
    done = (following == 0) & (at < ends)
    inner.leave(frames[~done])
    frames, at = frames[done], at[done]
    version = views.u8[at] >> 4
    inner.add(frames[version == 4], _IPV4, at[version == 4])
    inner.add(frames[version == 6], _IPV6, at[version == 6])


def _gre(views: Views, frames: IntArray, at: IntArray, ends: IntArray, inner: Inner) -> None:
    enough = at + HEADER_LEN <= ends
    inner.leave(frames[~enough])
    frames, at, ends = frames[enough], at[enough], ends[enough]
    flags, types = views.be16[at].astype(np.int64), views.u16[at + 2].astype(np.int64)
    # Version 1 (PPTP) is left to `frame_dissector`; later versions and source routing (RFC 1701) are not read at all.
    inner.leave(frames[(flags & 0x4007) == 1])
    plain = (flags & 0x4007) == 0
    frames, at, ends, flags, types = frames[plain], at[plain], ends[plain], flags[plain], types[plain]
    # Checksum, key and sequence number, a word each.
    at = at + 4 + 4 * ((flags >> 15 & 1) + (flags >> 13 & 1) + (flags >> 12 & 1))
    second, third = types == _ERSPAN_2, types == _ERSPAN_3
    # Type I has neither a sequence number nor a header of its own; type II has both.
    _ethernet(views, frames[second], at[second] + 8 * (flags[second] >> 12 & 1), ends[second], inner)
    if third.any():
        # draft-foschiano-erspan: 12 bytes, and 8 more by the last bit.
        cut = third & (at + 12 > ends)
        inner.leave(frames[cut])
        third &= ~cut
        subheader = 8 * (views.be16[at[third] + 10].astype(np.int64) & 1)
        _ethernet(views, frames[third], at[third] + 12 + subheader, ends[third], inner)
        third |= cut
    other = ~(second | third)
    inner.add(frames[other], types[other], at[other])


def _ipv4(views: Views, frames: IntArray, at: IntArray, ends: IntArray, inner: Inner) -> None:
    inner.add(frames, _IPV4, at)


def _ipv6(views: Views, frames: IntArray, at: IntArray, ends: IntArray, inner: Inner) -> None:
    inner.add(frames, _IPV6, at)


def _ethernet(views: Views, frames: IntArray, at: IntArray, ends: IntArray, inner: Inner) -> None:
    """Adds the packets of Ethernet frames that begin at `at` inside a tunnel."""
    enough = at + link_layers.ETHERNET_LEN <= ends
    if not enough.all():
        inner.leave(frames[~enough])
        frames, at = frames[enough], at[enough]
    inner.add(frames, views.u16[at + 12].astype(np.int64), at + link_layers.ETHERNET_LEN)


_BY_PORT = {**dict.fromkeys(VXLAN_PORTS, _vxlan), GENEVE_PORT: _geneve, GTP_U_PORT: _gtp_u}
_BY_PROTOCOL = {UDP: _udp, GRE: _gre, IPV4_IN_IP: _ipv4, IPV6_IN_IP: _ipv6}
_TUNNEL_PORTS, _PROTOCOLS = np.array(sorted(TUNNEL_PORTS)), np.array(sorted(_BY_PROTOCOL))
assert set(_BY_PORT) == TUNNEL_PORTS
