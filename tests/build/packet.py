"""Frames for tests, layer by layer: each function wraps the bytes of the layer above."""

from collections.abc import Iterable, Iterator, Sequence
from ipaddress import ip_address
from struct import pack, unpack

import numpy as np

from analyzer.capture.frame_blocks import FrameBlock, heads_of
from analyzer.core.events import Event, Problem
from analyzer.core.tcpip_encoding import ACK, PSH
from analyzer.results.connection import FlowLink
from analyzer.transport.packet.block_dissector import Dissector
from analyzer.transport.packet.segment import Segment, SegmentBatch

CLIENT, SERVER = "192.0.2.10", "198.51.100.20"
CLIENT6, SERVER6 = "2001:db8::10", "2001:db8::20"
T0 = 1_700_000_000_000_000_000


def tcp(
    payload: bytes = b"",
    *,
    sport: int = 50000,
    dport: int = 445,
    seq: int = 1000,
    ack: int = 2000,
    flags: int = ACK | PSH,
    window: int = 8192,
    options: bytes = b"",
) -> bytes:
    offset = (20 + len(options)) // 4
    return pack(">HHIIBBHHH", sport, dport, seq, ack, offset << 4, flags, window, 0, 0) + options + payload


def with_checksum(segment: bytes, src: str, dst: str) -> bytes:
    """A TCP segment with the checksum it has between these addresses (RFC 9293 section 3.1)."""
    pseudo = ip_address(src).packed + ip_address(dst).packed + pack(">II", len(segment), 6)
    whole = pseudo + segment[:16] + b"\0\0" + segment[18:] + bytes(len(segment) & 1)
    total = int.from_bytes(whole, "big") % 0xFFFF
    return segment[:16] + pack(">H", 0xFFFF - total) + segment[18:]


def udp(payload: bytes, *, sport: int = 40000, dport: int = 53) -> bytes:
    return pack(">HHHH", sport, dport, 8 + len(payload), 0) + payload


def ipv4(
    payload: bytes,
    *,
    src: str = CLIENT,
    dst: str = SERVER,
    protocol: int = 6,
    options: bytes = b"",
    ident: int = 1,
    offset: int = 0,
    more: bool = False,
    total: int | None = None,
    checksum: int | None = None,
) -> bytes:
    header_len = 20 + len(options)
    length = header_len + len(payload) if total is None else total
    head = pack(
        ">BBHHHBBH4s4s",
        0x40 | header_len // 4,
        0,
        length,
        ident,
        (0x2000 if more else 0) | offset // 8,
        64,
        protocol,
        0,
        ip_address(src).packed,
        ip_address(dst).packed,
    )
    head += options
    total_sum = sum(unpack(f">{len(head) // 2}H", head))
    while total_sum >> 16:
        total_sum = (total_sum & 0xFFFF) + (total_sum >> 16)
    value = 0xFFFF - total_sum if checksum is None else checksum
    return head[:10] + pack(">H", value) + head[12:] + payload


def ipv6(
    payload: bytes, *, src: str = CLIENT6, dst: str = SERVER6, protocol: int = 6, length: int | None = None
) -> bytes:
    size = len(payload) if length is None else length
    return pack(">IHBB", 0x60000000, size, protocol, 64) + ip_address(src).packed + ip_address(dst).packed + payload


def extension(next_header: int, payload: bytes, *, size: int = 8) -> bytes:
    """Any IPv6 extension header that begins with its type and length."""
    return bytes([next_header, size // 8 - 1]) + bytes(size - 2) + payload


def ipv6_fragment(next_header: int, payload: bytes, *, offset: int, more: bool, ident: int = 7) -> bytes:
    return pack(">BxHI", next_header, offset | more, ident) + payload


def ethernet(payload: bytes, kind: int = 0x0800, *, tags: Sequence[int] = ()) -> bytes:
    out = bytes(range(2, 14))
    for number, tag in enumerate(tags):
        out += pack(">HH", tag, number + 42)
    return out + pack(">H", kind) + payload


def sll(payload: bytes, kind: int = 0x0800) -> bytes:
    return pack(">HHH8sH", 0, 1, 6, b"\2\0\0\0\0\1\0\0", kind) + payload


def sll2(payload: bytes, kind: int = 0x0800) -> bytes:
    return pack(">HHIHBB8s", kind, 0, 2, 1, 0, 6, b"\2\0\0\0\0\1\0\0") + payload


def gre(payload: bytes, kind: int, *, checksum: bool = False, key: bool = False, sequence: bool = False) -> bytes:
    flags = checksum << 15 | key << 13 | sequence << 12
    return pack(">HH", flags, kind) + bytes(4 * (checksum + key + sequence)) + payload


def vxlan(payload: bytes, *, port: int = 4789, flags: int = 8, last: int = 0) -> bytes:
    return udp(pack(">II", flags << 24, 77 << 8 | last) + payload, dport=port)


def erspan(payload: bytes, version: int, *, subheader: bool = False) -> bytes:
    """An Ethernet frame mirrored by ERSPAN type I, II (RFC draft-foschiano-erspan) or III, inside GRE."""
    if version == 1:
        return gre(payload, 0x88BE)
    if version == 2:
        return gre(bytes([0x10]) + bytes(7) + payload, 0x88BE, sequence=True)
    return gre(bytes([0x20]) + bytes(10) + bytes([subheader]) + bytes(8 * subheader) + payload, 0x22EB, sequence=True)


def gtp_u(payload: bytes, *, flags: int = 0x30, kind: int = 0xFF, extensions: Sequence[bytes] = ()) -> bytes:
    """A GTP-U packet (3GPP TS 29.281): each extension is its content, a multiple of 4 bytes less 2 long."""
    flags |= 0x04 if extensions else 0
    optional = b""
    if flags & 7:
        optional = b"\0\1\0" + (b"\x85" if extensions else b"\0")
        for number, content in enumerate(extensions, 1):
            following = b"\x85" if number < len(extensions) else b"\0"
            optional += bytes([(len(content) + 2) // 4]) + content + following
    return udp(pack(">BBHI", flags, kind, len(optional) + len(payload), 7) + optional + payload, dport=2152)


def geneve(payload: bytes, kind: int = 0x6558, *, options: bytes = b"") -> bytes:
    return udp(pack(">BBHI", len(options) // 4, 0, kind, 77 << 8) + options + payload, dport=6081)


def smb2(body: bytes = b"") -> bytes:
    """A message that begins like SMB2 with its direct-TCP length."""
    message = b"\xfeSMB" + bytes(60) + body
    return pack(">I", len(message)) + message


def rpc(body: bytes = b"", *, kind: int = 0, big: bool = False) -> bytes:
    """A PDU that begins like connection-oriented DCERPC."""
    length = 16 + len(body)
    head = pack(
        ">BBBB4sHHI" if big else "<BBBB4sHHI", 5, 0, kind, 3, b"\0\0\0\0" if big else b"\x10\0\0\0", length, 0, 1
    )
    return head + body


def block(
    frames: Iterable[bytes | tuple[bytes, int]], *, link_type: int = 1, first: int = 1, time_ns: int = T0, gap: int = 3
) -> FrameBlock:
    """Frames (with their length on the wire where it is another) as a block, some bytes between them as in a file."""
    datas, wires = [], []
    for frame in frames:
        data, wire = frame if isinstance(frame, tuple) else (frame, len(frame))
        datas.append(data)
        wires.append(wire)
    starts, at = [], gap
    for data in datas:
        starts.append(at)
        at += len(data) + gap
    count = len(datas)
    data = bytes(gap) + b"".join(data + b"\x45" * gap for data in datas)
    return FrameBlock(
        data,
        link_type,
        np.arange(first, first + count, dtype=np.int64),
        time_ns + np.arange(count, dtype=np.int64) * 1000,
        np.array(starts, np.int64),
        np.array([len(data) for data in datas], np.int64),
        np.array(wires, np.int64),
        heads_of(data, np.array(starts, np.int64)),
    )


def dissect(blocks: FrameBlock | Sequence[FrameBlock], *, fast: bool = True) -> tuple[list[Segment], list[Problem]]:
    """What the dissector gives for blocks, segments and problems apart."""
    items = list(one_by_one(_items([blocks] if isinstance(blocks, FrameBlock) else blocks, fast)))
    return (
        [item for item in items if isinstance(item, Segment)],
        [item for item in items if isinstance(item, Problem)],
    )


def one_by_one(events: Iterable[Event]) -> Iterator[Event | Segment]:
    """The segments of batches, and the other events as they are."""
    for event in events:
        if isinstance(event, SegmentBatch):
            yield from event
        else:
            yield event


def _items(blocks: Sequence[FrameBlock], fast: bool) -> Iterable[Event]:
    dissector = Dissector(fast=fast)
    for each in blocks:
        yield from dissector.feed(each)
    yield from dissector.finish()


def both(blocks: FrameBlock | Sequence[FrameBlock]) -> tuple[list[Segment], list[Problem]]:
    """What both paths give, which has to be the same."""
    fast, plain = dissect(blocks, fast=True), dissect(blocks, fast=False)
    assert fast == plain
    return fast


def flow_links(blocks: FrameBlock | Sequence[FrameBlock]) -> list[FlowLink]:
    """What both paths say of the senders of frames, which has to be the same."""
    each = [blocks] if isinstance(blocks, FrameBlock) else blocks
    fast, plain = ([one for one in _items(each, path) if isinstance(one, FlowLink)] for path in (True, False))
    assert fast == plain
    return fast
