"""Dissects one captured frame at a time, through every layer that we read, to the TCP segments that it completes.

Link layer, IPv4 (RFC 791) and IPv6 (RFC 8200) with options, extension headers and fragments, TCP (RFC 9293). Tunnels: GRE RFC 2784
and 2890, ERSPAN, VXLAN RFC 7348, Geneve RFC 8926. GTP-U 3GPP TS 29.281, IP in IP RFC 2003 and 4213, and MPLS RFC 3032 are read.
Right before fast: it is the test of `common_frame_shapes`, which does the common shapes with arrays.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import unpack_from
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from analyzer.capture.frame_blocks import Frame
from analyzer.core.errors import TruncatedError
from analyzer.core.events import Conflict, Problem
from analyzer.core.limits import DEFAULTS, Limits
from analyzer.core.traced_bytes import TracedBytes
from analyzer.transport.packet import link_layers
from analyzer.transport.packet.flow_candidates import KERBEROS_PORT, End
from analyzer.transport.packet.frame_tallies import Tally
from analyzer.transport.packet.ip_fragments import Datagram, FragmentKey, Fragments
from analyzer.transport.packet.link_layers import IPV4, IPV6, LINKS, NO_ADDRESS, link_address, u8, u16, u32
from analyzer.transport.packet.segment import UdpPayload

TCP, UDP, IPV4_IN_IP, IPV6_IN_IP, GRE, AUTHENTICATION = 6, 17, 4, 41, 47, 51
_FRAGMENT_HEADER = 44
# RFC 8200 section 4: hop-by-hop, routing, destination options, mobility, HIP, Shim6; all begin with type and length.
_EXTENSIONS = frozenset({0, 43, 60, 135, 139, 140})
_HEADERS_BETWEEN = _EXTENSIONS | {_FRAGMENT_HEADER}
INTERESTING = frozenset({TCP, UDP, IPV4_IN_IP, IPV6_IN_IP, GRE, AUTHENTICATION, _FRAGMENT_HEADER}) | _EXTENSIONS
# 8472 is what Linux used before there was a registered number, and still does where none is given.
VXLAN_PORTS, GENEVE_PORT, GTP_U_PORT = frozenset({4789, 8472}), 6081, 2152
TUNNEL_PORTS = VXLAN_PORTS | {GENEVE_PORT, GTP_U_PORT}
IPV4_LEN, IPV6_LEN, TCP_LEN, UDP_LEN = 20, 40, 20, 8
# Deeper nesting is made to be deep: no network stacks this many tunnels.
MAX_DEPTH = 8
# Nor does any send so many extension headers; frames with more are counted.
MAX_EXTENSIONS = 16
ERSPAN_2, ERSPAN_3 = 0x88BE, 0x22EB


class Found(Struct, frozen=True):
    """A TCP segment of any flow, ours or not, that a dissected frame completes. `bad_checksum` is about its IPv4 header,
    `bad_tcp_checksum` about the segment. `address` is the sender's link-layer address and `hops` the TTL or hop limit, both of the
    frame that completed the segment."""

    src: End
    dst: End
    seq: int
    ack: int
    flags: int
    window: int
    payload: TracedBytes
    missing: int
    frame: int
    time_ns: int
    bad_checksum: bool
    bad_tcp_checksum: bool
    address: bytes = NO_ADDRESS
    hops: int = 0


class LostSegment(Struct, frozen=True):
    """A TCP segment of a dissected frame that could not be read. `ends` is None if not even the ports were captured."""

    kind: Literal["truncated", "malformed", "gap", "limit", "extensions"]
    ends: tuple[End, End] | None
    frame: int
    time_ns: int
    # Later frames of which the same is true.
    more: int = 0


Item = Found | LostSegment | Problem | Conflict | UdpPayload


class Packet(Struct, frozen=True):
    """Bytes of a frame during dissection. By their headers they end at `stop`, and the frame ended at `wire`. Both may be beyond
    the captured bytes. `address` and `hops` are those of `Found`."""

    traced: TracedBytes
    data: bytes
    stop: int
    wire: int
    frame: int
    time_ns: int
    depth: int
    address: bytes = NO_ADDRESS
    hops: int = 0


class _MalformedHeaderError(Exception):
    """The error that a header in a dissected frame has an impossible value; the frame counts as malformed."""


class FrameDissector:
    """Dissects frames one by one into TCP segments, and holds IP fragments."""

    def __init__(self, limits: Limits = DEFAULTS) -> None:
        self._fragments = Fragments(limits)
        self.unknown_links: dict[int, Tally] = {}

    def dissect(self, frame: Frame) -> Iterator[Item]:
        """Dissects a frame: yields the TCP segments and other items that it completes."""
        stop = max(frame.original_length, len(frame.data))
        address = link_address(frame.link_type, frame.data)
        packet = Packet(frame.traced(), frame.data, stop, stop, frame.frame, frame.time_ns, 0, address)
        yield from self._guarded(self._link(packet, frame.link_type, 0), packet)

    def finish(self) -> Iterator[LostSegment]:
        """Yields what is left of frames dissected one by one: the lost TCP segments of fragmented datagrams that never became
        whole."""
        self._fragments.finish()
        yield from self._given_up()

    def _guarded(self, items: Iterator[Item], packet: Packet) -> Iterator[Item]:
        try:
            yield from items
        except TruncatedError:
            # Bytes are missing. If the wire had no more either, the headers promise what is not there.
            kind: Literal["truncated", "malformed"] = "truncated" if packet.stop > len(packet.data) else "malformed"
            yield LostSegment(kind, None, packet.frame, packet.time_ns)
        except _MalformedHeaderError:
            yield LostSegment("malformed", None, packet.frame, packet.time_ns)

    def _given_up(self) -> Iterator[LostSegment]:
        given_up, self._fragments.given_up = self._fragments.given_up, []
        for datagram in given_up:
            if datagram.key.protocol == TCP:
                kind: Literal["truncated", "gap"] = "truncated" if datagram.cut else "gap"
                yield LostSegment(kind, _ends_of(datagram), datagram.frames[-1], datagram.first_time_ns)

    def _link(self, packet: Packet, link_type: int, at: int) -> Iterator[Item]:
        reader = LINKS.get(link_type)
        if reader is None:
            self.unknown_links.setdefault(link_type, Tally()).note(packet.frame, packet.time_ns)
            return
        yield from self._network(packet, *reader(packet.data, at))

    def _network(self, packet: Packet, ethertype: int, at: int) -> Iterator[Item]:
        data = packet.data
        while ethertype in link_layers.VLAN_TAGS:
            ethertype, at = u16(data, at + 2), at + 4
        if ethertype == IPV4:
            yield from self._ipv4(packet, at)
        elif ethertype == IPV6:
            yield from self._ipv6(packet, at)
        elif 0 <= ethertype < link_layers.LOWEST_ETHERTYPE:
            inner, at = link_layers.llc(data, at)
            if inner >= link_layers.LOWEST_ETHERTYPE:
                yield from self._network(packet, inner, at)
        elif ethertype == link_layers.PPPOE_SESSION:
            yield from self._network(replace(packet, address=NO_ADDRESS), *link_layers.pppoe(data, at))
        elif ethertype == link_layers.PPP:
            yield from self._network(packet, *link_layers.ppp(data, at))
        elif ethertype in link_layers.MPLS:
            yield from self._mpls(replace(packet, address=NO_ADDRESS), at)
        elif ethertype == link_layers.ETHERNET_BRIDGED:
            yield from self._nested(packet, "ethernet", at)
        elif ethertype >= link_layers.LINK_BASE:
            deeper = self._deeper(packet)
            if deeper is None:
                yield LostSegment("limit", None, packet.frame, packet.time_ns)
                return
            yield from self._link(deeper, ethertype - link_layers.LINK_BASE, at)

    def _mpls(self, packet: Packet, at: int) -> Iterator[Item]:
        while not u32(packet.data, at) & 0x100:
            at += 4
        at += 4
        version = u8(packet.data, at) >> 4
        if version == 4:
            yield from self._ipv4(packet, at)
        elif version == 6:
            yield from self._ipv6(packet, at)
        elif version == 0:
            # A pseudowire control word (RFC 4385) is four bytes beginning with a zero nibble; Ethernet follows.
            yield from self._nested(packet, "ethernet", at + 4)

    def _deeper(self, packet: Packet) -> Packet | None:
        if packet.depth >= MAX_DEPTH:
            return None
        return replace(packet, depth=packet.depth + 1, address=NO_ADDRESS, hops=0)

    def _nested(self, packet: Packet, kind: Literal["ethernet", "ipv4", "ipv6"], at: int) -> Iterator[Item]:
        deeper = self._deeper(packet)
        if deeper is None:
            yield LostSegment("limit", None, packet.frame, packet.time_ns)
        elif kind == "ethernet":
            yield from self._network(deeper, *link_layers.ethernet(deeper.data, at))
        elif kind == "ipv4":
            yield from self._ipv4(deeper, at)
        else:
            yield from self._ipv6(deeper, at)

    def _ipv4(self, packet: Packet, at: int) -> Iterator[Item]:
        data = packet.data
        first = u8(data, at)
        header_len = (first & 15) * 4
        if first >> 4 != 4 or header_len < IPV4_LEN:
            raise _MalformedHeaderError
        if at + 10 <= len(data) and data[at + 9] not in INTERESTING:
            return
        u8(data, at + header_len - 1)
        total, identification, flags_offset = unpack_from(">HHH", data, at + 2)
        protocol = data[at + 9]
        # Segmentation offload leaves the length zero: the frame's own is then the only one there is.
        stop = at + total if total else packet.stop
        if stop > packet.wire and checksum_fails(data[at : at + header_len]):
            # The header was altered, so its length proves no bytes beyond the frame.
            stop = packet.wire
        src, dst = data[at + 12 : at + 16], data[at + 16 : at + 20]
        inner = replace(packet, stop=stop, hops=data[at + 8])
        if flags_offset & 0x3FFF:
            yield from self._fragment(
                inner,
                FragmentKey(src, dst, protocol, identification),
                (flags_offset & 0x1FFF) * 8,
                at + header_len,
                more=bool(flags_offset & 0x2000),
            )
            return
        yield from self._transport(inner, protocol, src, dst, at + header_len, ip_header=slice(at, at + header_len))

    def _ipv6(self, packet: Packet, at: int) -> Iterator[Item]:
        data = packet.data
        if u8(data, at) >> 4 != 6:
            raise _MalformedHeaderError
        if at + 7 <= len(data) and data[at + 6] not in INTERESTING:
            return
        u8(data, at + IPV6_LEN - 1)
        length = u16(data, at + 4)
        # Zero stands for a jumbogram (RFC 2675) or for segmentation offload.
        stop = at + IPV6_LEN + length if length else packet.stop
        src, dst = data[at + 8 : at + 24], data[at + 24 : at + 40]
        inner = replace(packet, stop=stop, hops=data[at + 7])
        yield from self._transport(inner, data[at + 6], src, dst, at + IPV6_LEN, ip_header=None)

    def _transport(
        self, packet: Packet, protocol: int, src: bytes, dst: bytes, at: int, *, ip_header: slice | None
    ) -> Iterator[Item]:
        data = packet.data
        is_ipv6 = len(src) == 16
        for _ in range(MAX_EXTENSIONS):
            if is_ipv6 and protocol in _EXTENSIONS:
                protocol, at = u8(data, at), at + (u8(data, at + 1) + 1) * 8
            elif protocol == AUTHENTICATION:
                protocol, at = u8(data, at), at + (u8(data, at + 1) + 2) * 4
            elif is_ipv6 and protocol == _FRAGMENT_HEADER:
                u8(data, at + 7)
                protocol, offset, identification = unpack_from(">BxHI", data, at)
                at += 8
                if offset & 0xFFF9:
                    yield from self._fragment(
                        packet,
                        FragmentKey(src, dst, protocol, identification),
                        offset & 0xFFF8,
                        at,
                        more=bool(offset & 1),
                    )
                    return
            else:
                break
        else:
            if protocol == AUTHENTICATION or (is_ipv6 and protocol in _HEADERS_BETWEEN):
                yield LostSegment("extensions", None, packet.frame, packet.time_ns)
                return
        if protocol == TCP:
            yield self._tcp(packet, src, dst, at, ip_header)
        elif protocol == IPV4_IN_IP:
            yield from self._nested(packet, "ipv4", at)
        elif protocol == IPV6_IN_IP:
            yield from self._nested(packet, "ipv6", at)
        elif protocol == GRE:
            yield from self._gre(packet, at)
        elif protocol == UDP:
            yield from self._udp(packet, at)

    def _fragment(
        self,
        packet: Packet,
        key: FragmentKey,
        start: int,
        at: int,
        *,
        more: bool,
    ) -> Iterator[Item]:
        if key.protocol not in INTERESTING:
            return
        if packet.stop < at:
            raise _MalformedHeaderError
        stop = min(packet.stop, len(packet.data))
        for item in self._fragments.add(
            key,
            start,
            packet.traced[at : max(stop, at)],
            more=more,
            cut=packet.stop > len(packet.data),
            frame=packet.frame,
            time_ns=packet.time_ns,
        ):
            if isinstance(item, Problem | Conflict):
                # UDP is only put together for the tunnels in it; most of it is none of ours.
                if key.protocol != UDP:
                    yield item
                continue
            size = len(item)
            whole = replace(packet, traced=item, data=item.data, stop=size, wire=size, depth=packet.depth + 1)
            if whole.depth > MAX_DEPTH:
                yield LostSegment("limit", None, packet.frame, packet.time_ns)
                continue
            yield from self._guarded(self._transport(whole, key.protocol, key.src, key.dst, 0, ip_header=None), whole)
        yield from self._given_up()

    def _udp(self, packet: Packet, at: int) -> Iterator[Item]:
        if at + 4 > len(packet.data):
            return
        if u16(packet.data, at) == KERBEROS_PORT:
            stop = min(packet.stop, len(packet.data))
            if at + UDP_LEN < stop:
                yield UdpPayload(packet.traced[at + UDP_LEN : stop])
            return
        port = u16(packet.data, at + 2)
        if port not in TUNNEL_PORTS:
            return
        try:
            if port == GENEVE_PORT:
                yield from self._geneve(packet, at + UDP_LEN)
            elif port == GTP_U_PORT:
                yield from self._gtp_u(packet, at + UDP_LEN)
            else:
                yield from self._vxlan(packet, at + UDP_LEN)
        except _MalformedHeaderError:
            # Any program may have been given this port: what does not read as a tunnel is none.
            return
        except TruncatedError:
            if packet.stop > len(packet.data):
                raise

    def _vxlan(self, packet: Packet, at: int) -> Iterator[Item]:
        # RFC 7348 section 5: of the flags only I is defined, a network identifier is given; the last byte is zero.
        if u8(packet.data, at) & 0x08 and u8(packet.data, at + 7) == 0:
            yield from self._nested(packet, "ethernet", at + 8)

    def _geneve(self, packet: Packet, at: int) -> Iterator[Item]:
        # RFC 8926 section 3.4: version 0 and the length of the options, flags, what is inside, a network identifier.
        first, protocol = u8(packet.data, at), u16(packet.data, at + 2)
        if first >> 6 or u8(packet.data, at + 7):
            return
        deeper = self._deeper(packet)
        if deeper is None:
            yield LostSegment("limit", None, packet.frame, packet.time_ns)
            return
        yield from self._network(deeper, protocol, at + 8 + (first & 0x3F) * 4)

    def _gtp_u(self, packet: Packet, at: int) -> Iterator[Item]:
        # 3GPP TS 29.281 section 5.1: version 1, protocol type 1, message type 255 (G-PDU), length, tunnel endpoint identifier.
        data = packet.data
        first = u8(data, at)
        if first & 0xF0 != 0x30 or u8(data, at + 1) != 0xFF:
            return
        at += 12 if first & 0x07 else 8
        following = u8(data, at - 1) if first & 0x04 else 0
        for _ in range(MAX_EXTENSIONS):
            if not following:
                break
            # Section 5.2.1: the length in words of four bytes; the last byte is the type of the next one.
            if not (size := u8(data, at) * 4):
                raise _MalformedHeaderError
            at += size
            following = u8(data, at - 1)
        if following:
            yield LostSegment("extensions", None, packet.frame, packet.time_ns)
            return
        version = u8(data, at) >> 4
        if version in (4, 6):
            yield from self._nested(packet, "ipv4" if version == 4 else "ipv6", at)

    def _gre(self, packet: Packet, at: int) -> Iterator[Item]:
        data = packet.data
        flags, protocol = u16(data, at), u16(data, at + 2)
        version = flags & 7
        at += 4
        if version > 1 or flags & 0x4000:
            # Source routing (RFC 1701) has not been seen since RFC 2784 took it out.
            return
        at += 4 * (bool(flags & 0x8000) + bool(flags & 0x2000) + bool(flags & 0x1000))
        if version == 1:
            # PPTP's (RFC 2637 section 4.1): PPP inside, and an acknowledgement number by flag A.
            at += 4 * bool(flags & 0x0080)
        deeper = self._deeper(packet)
        if deeper is None:
            yield LostSegment("limit", None, packet.frame, packet.time_ns)
        elif protocol == ERSPAN_2:
            # Type I has neither a sequence number nor a header of its own; type II has both (8 bytes).
            at += 8 * bool(flags & 0x1000)
            yield from self._network(deeper, *link_layers.ethernet(data, at))
        elif protocol == ERSPAN_3:
            # draft-foschiano-erspan: 12 bytes, and 8 more by the last bit.
            at += 12 + 8 * (u16(data, at + 10) & 1)
            yield from self._network(deeper, *link_layers.ethernet(data, at))
        elif at < packet.stop:
            yield from self._network(deeper, protocol, at)

    def _tcp(self, packet: Packet, src: bytes, dst: bytes, at: int, ip_header: slice | None) -> Found | LostSegment:
        data, stop = packet.data, packet.stop
        captured = min(stop, len(data))
        # The ports are read even where by IP the segment ends before them: they show whose error this is.
        if at + 4 > len(data):
            return LostSegment("truncated" if stop > len(data) else "malformed", None, packet.frame, packet.time_ns)
        src_port, dst_port = unpack_from(">HH", data, at)
        ends = (src, src_port), (dst, dst_port)
        if at + TCP_LEN > captured:
            return LostSegment("truncated" if at + TCP_LEN <= stop else "malformed", ends, packet.frame, packet.time_ns)
        seq, ack, offset, flags, window = unpack_from(">IIBBH", data, at + 4)
        begin = at + (offset >> 4) * 4
        if begin < at + TCP_LEN or begin > stop:
            return LostSegment("malformed", ends, packet.frame, packet.time_ns)
        payload = packet.traced[begin : max(captured, begin)]
        return Found(
            ends[0],
            ends[1],
            seq,
            ack,
            flags,
            window,
            payload,
            stop - begin - len(payload),
            packet.frame,
            packet.time_ns,
            ip_header is not None and checksum_fails(data[ip_header]),
            stop == captured and tcp_checksum_fails(int.from_bytes(src + dst, "big"), data[at:stop]),
            packet.address,
            packet.hops,
        )


def checksum_fails(header: bytes) -> bool:
    """Whether the checksum of an IPv4 header in a dissected frame (RFC 1071) is wrong. Zero is accepted: a network card fills it in
    later."""
    if header[10:12] == b"\0\0":
        return False
    total: int = sum(unpack_from(f">{len(header) // 2}H", header))
    total = (total & 0xFFFF) + (total >> 16)
    return (total & 0xFFFF) + (total >> 16) != 0xFFFF


def tcp_checksum_fails(addresses: int, segment: bytes) -> bool:
    """Whether the TCP checksum of a whole segment in a dissected frame (RFC 9293 section 3.1) is wrong. `addresses` is source and
    destination, one number.

    A ones' complement sum of 16-bit words is the remainder by 0xFFFF of all of them as one number (RFC 1071). A system that leaves
    the checksum to its card puts zero there, or the sum of the pseudo header (without the length if the card cuts the segment up).
    These values are accepted.
    """
    left = int.from_bytes(segment[16:18], "big")
    if left == 0:
        return False
    ends = addresses + TCP
    whole = int.from_bytes(segment, "big") << 8 * (len(segment) & 1)
    if (ends + len(segment) + whole) % 0xFFFF == 0:
        return False
    return (left - ends) % 0xFFFF not in (0, len(segment) % 0xFFFF)


def _ends_of(datagram: Datagram) -> tuple[End, End] | None:
    """Returns the ends (addresses, ports) of the TCP segment in a datagram that no dissected frame completed, None if its first
    fragment is missing."""
    head = datagram.head()
    if len(head) < 4:
        return None
    src_port, dst_port = unpack_from(">HH", head)
    return (datagram.key.src, src_port), (datagram.key.dst, dst_port)
