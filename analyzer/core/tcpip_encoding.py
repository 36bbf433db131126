"""Encodes TCP segments in IP packets (RFC 791, RFC 8200, RFC 9293), for captures that the program writes itself."""

from __future__ import annotations

import sys
from array import array
from ipaddress import ip_address
from struct import pack

FIN, SYN, RST, PSH, ACK, URG = 0x01, 0x02, 0x04, 0x08, 0x10, 0x20


def tcp_packet(
    source: tuple[str, int], target: tuple[str, int], sequence: int, acknowledged: int, flags: int, data: bytes
) -> bytes:
    """Returns an IP packet with one TCP segment between two addresses and ports. Both checksums are right."""
    ack = acknowledged & 0xFFFFFFFF if flags & ACK else 0
    head = pack(">HHIIBBHHH", source[1], target[1], sequence & 0xFFFFFFFF, ack, 0x50, flags, 0xFFFF, 0, 0)
    ends = ip_address(source[0]).packed + ip_address(target[0]).packed
    length = len(head) + len(data)
    segment = head[:16] + _checksum(ends + pack(">II", length, 6) + head + data) + head[18:] + data
    if len(ends) == 32:
        return pack(">IHBB", 6 << 28, length, 6, 64) + ends + segment
    ip = pack(">BBHHHBBH", 0x45, 0, 20 + length, 0, 0x4000, 64, 6, 0) + ends
    return ip[:10] + _checksum(ip) + ip[12:] + segment


def _checksum(data: bytes) -> bytes:
    """Returns the checksum that goes into an encoded IP or TCP header (RFC 1071)."""
    words = array("H", data + bytes(len(data) % 2))
    if sys.byteorder == "little":
        words.byteswap()
    total = sum(words)
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return (~total & 0xFFFF).to_bytes(2, "big")
