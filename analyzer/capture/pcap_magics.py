"""Recognises the first bytes of pcap and pcapng files, and the byte order that they show."""

from __future__ import annotations

from struct import unpack_from
from typing import Literal

Order = Literal["<", ">"]

# pcap files: microseconds, nanoseconds, Kuznetzov's longer records, and IXIA's lcap.
MICRO, NANO, KUZNETZOV, IXIA_HW, IXIA_SW = 0xA1B2C3D4, 0xA1B23C4D, 0xA1B2CD34, 0x1C0001AC, 0x1C0001AB
PCAP = (MICRO, NANO, KUZNETZOV, IXIA_HW, IXIA_SW)
# pcapng sections: the type of their first block, and the magic behind its type and length.
SECTION_HEADER, SECTION_MAGIC = 0x0A0D0D0A, 0x1A2B3C4D


def pcap_order(head: bytes | bytearray, magics: tuple[int, ...] = PCAP) -> Order | None:
    """Returns the byte order of a pcap file from its first bytes, None if it does not begin with one of these magic numbers."""
    if len(head) < 4:
        return None
    return "<" if unpack_from("<I", head)[0] in magics else ">" if unpack_from(">I", head)[0] in magics else None


def section_order(head: bytes | bytearray, at: int = 0) -> Order | None:
    """Returns the byte order of the pcapng section at a place, None if no section begins there."""
    if len(head) < at + 12 or unpack_from("<I", head, at)[0] != SECTION_HEADER:
        return None
    magics = unpack_from("<I", head, at + 8)[0], unpack_from(">I", head, at + 8)[0]
    return "<" if magics[0] == SECTION_MAGIC else ">" if magics[1] == SECTION_MAGIC else None
