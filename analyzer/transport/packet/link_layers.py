"""Reads link-layer headers: returns the EtherType of a frame's payload, and where it begins (tcpdump.org/linktypes.html).

`LINKS` has one reader per link type. A reader gives the payload's EtherType, or one of the numbers below for payloads that are
themselves a link layer, or `NOTHING` for what cannot carry TCP. It raises `TruncatedError` where bytes are missing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from analyzer.capture.frame_blocks import LinkType, link_type_of
from analyzer.core.errors import TruncatedError

IPV4, IPV6 = 0x0800, 0x86DD
VLAN_TAGS = frozenset({0x8100, 0x88A8, 0x9100, 0x9200})
PPPOE_SESSION = 0x8864
MPLS = frozenset({0x8847, 0x8848})
ETHERNET_BRIDGED = 0x6558
PPP = 0x880B
# IEEE 802.3 section 3.2.6: below this the field is a length, and LLC follows.
LOWEST_ETHERTYPE = 0x0600
# Ours: the payload is the link layer of that LINKTYPE_ number, or nothing that interests us.
LINK_BASE = 1 << 16
NOTHING = -1

ETHERNET_LEN = 14
SLL_LEN, SLL2_LEN = 16, 20
# The place of the sender's address in a link-layer header, and the length of the header.
SENDERS: Mapping[int, tuple[int, int]] = {
    LinkType.ETHERNET: (6, ETHERNET_LEN),
    LinkType.LINUX_SLL: (6, SLL_LEN),
    LinkType.LINUX_SLL2: (12, SLL2_LEN),
}
NO_ADDRESS, _MAC_LEN = b"", 6
# Values of AF_INET6 in loopback headers: 24 NetBSD and OpenBSD, 28 FreeBSD, 30 macOS, 10 Linux, 23 Windows.
AF_INET = 2
AF_INET6 = frozenset({10, 23, 24, 28, 30})
_PPP_PROTOCOLS = {0x0021: IPV4, 0x0057: IPV6, 0x0281: 0x8847, 0x0283: 0x8848}
_NFULA_PAYLOAD = 9
_SNAP = b"\xaa\xaa\x03"

# An EtherType (or a number of ours) and the offset where it begins.
Network = tuple[int, int]


def u8(data: bytes, at: int) -> int:
    if at >= len(data):
        raise TruncatedError("the captured bytes end here", start=at)
    return data[at]


def u16(data: bytes, at: int) -> int:
    if at + 2 > len(data):
        raise TruncatedError("the captured bytes end here", start=at)
    return data[at] << 8 | data[at + 1]


def u32(data: bytes, at: int) -> int:
    if at + 4 > len(data):
        raise TruncatedError("the captured bytes end here", start=at)
    return int.from_bytes(data[at : at + 4], "big")


def link_address(link_type: int, header: bytes) -> bytes:
    """Returns the sender's address in a link-layer header, `NO_ADDRESS` if there is none. Linux cooked captures also have the
    sender's. Interfaces without addresses have zeros."""
    place = SENDERS.get(link_type)
    if place is None or len(header) < place[1]:
        return NO_ADDRESS
    is_whole = True
    if link_type == LinkType.LINUX_SLL:
        is_whole = header[4:6] == b"\0\6"
    elif link_type == LinkType.LINUX_SLL2:
        is_whole = header[11] == _MAC_LEN
    found = header[place[0] : place[0] + _MAC_LEN]
    # A group's address sends nothing (IEEE 802.3 section 3.2.3).
    return found if is_whole and any(found) and not found[0] & 1 else NO_ADDRESS


def ethernet(data: bytes, at: int) -> Network:
    return u16(data, at + 12), at + ETHERNET_LEN


def llc(data: bytes, at: int) -> Network:
    """Reads an IEEE 802.2 LLC header with SNAP (RFC 1042). Other services carry no IP: the result is `NOTHING`."""
    head = data[at : at + 3]
    if len(head) < 3:
        raise TruncatedError("the captured bytes end here", start=at)
    if head != _SNAP:
        return NOTHING, at
    return u16(data, at + 6), at + 8


def sll(data: bytes, at: int) -> Network:
    return _sll_protocol(u16(data, at + 14)), at + SLL_LEN


def sll2(data: bytes, at: int) -> Network:
    u8(data, at + SLL2_LEN - 1)
    return _sll_protocol(u16(data, at)), at + SLL2_LEN


def _sll_protocol(protocol: int) -> int:
    # 1 and 4 stand for 802.3 frames without and with LLC; only the latter may carry IP, by SNAP.
    return protocol if protocol >= LOWEST_ETHERTYPE or protocol == 4 else NOTHING


def raw_ip(data: bytes, at: int) -> Network:
    version = u8(data, at) >> 4
    if version in (4, 6):
        return (IPV4 if version == 4 else IPV6), at
    # OpenBSD's loopback number is what others use for raw IP: then the address family comes first.
    if data[at : at + 3] == b"\0\0\0":
        return loopback(data, at)
    return NOTHING, at


def loopback(data: bytes, at: int) -> Network:
    """Reads a loopback header: the address family, in the capturing machine's byte order or in network order (LINKTYPE_LOOP)."""
    big = u32(data, at)
    little = int.from_bytes(data[at : at + 4], "little")
    for family in (little, big):
        if family == AF_INET:
            return IPV4, at + 4
        if family in AF_INET6:
            return IPV6, at + 4
    return NOTHING, at


def ppp(data: bytes, at: int) -> Network:
    """Reads a PPP header (RFC 1661 and 1662). Address and control are optional; the protocol takes one byte or two."""
    if data[at : at + 2] == b"\xff\x03":
        at += 2
    protocol, length = u8(data, at), 1
    if not protocol & 1:
        protocol, length = u16(data, at), 2
    return _PPP_PROTOCOLS.get(protocol, NOTHING), at + length


def ppp_hdlc(data: bytes, at: int) -> Network:
    # RFC 1547 4.3.1: Cisco's framing has address 0x0f or 0x8f and an EtherType where PPP has 0xff and a protocol.
    if u8(data, at) in (0x0F, 0x8F):
        return cisco_hdlc(data, at)
    return ppp(data, at)


def cisco_hdlc(data: bytes, at: int) -> Network:
    return u16(data, at + 2), at + 4


def pppoe(data: bytes, at: int) -> Network:
    """Reads a PPPoE header (RFC 2516 section 4): version and type 0x11, code 0 for session data."""
    if u16(data, at) != 0x1100:
        return NOTHING, at
    return ppp(data, at + 6)


def ppp_with_direction(data: bytes, at: int) -> Network:
    return ppp(data, at + 1)


def nflog(data: bytes, at: int) -> Network:
    family = {2: IPV4, 10: IPV6}.get(u8(data, at), NOTHING)
    if family == NOTHING:
        return NOTHING, at
    u32(data, at)
    # The options are in the byte order of the machine that captured; the first one's length shows which.
    little = int.from_bytes(data[at + 4 : at + 6], "little")
    big = int.from_bytes(data[at + 4 : at + 6], "big")
    order = "little" if little <= big else "big"
    at += 4
    while True:
        u32(data, at)
        length = int.from_bytes(data[at : at + 2], order)  # type: ignore[arg-type]
        kind = int.from_bytes(data[at + 2 : at + 4], order)  # type: ignore[arg-type]
        if kind == _NFULA_PAYLOAD:
            return family, at + 4
        if length < 4:
            return NOTHING, at
        at += length + -length % 4


def pktap(data: bytes, at: int) -> Network:
    u32(data, at + 8)
    length = int.from_bytes(data[at : at + 4], "little")
    link_type = int.from_bytes(data[at + 8 : at + 12], "little")
    return LINK_BASE + link_type_of(link_type), at + max(length, 12)


def ppi(data: bytes, at: int) -> Network:
    u32(data, at + 4)
    length = int.from_bytes(data[at + 2 : at + 4], "little")
    link_type = int.from_bytes(data[at + 4 : at + 8], "little")
    return LINK_BASE + link_type_of(link_type), at + max(length, 8)


def enc(data: bytes, at: int) -> Network:
    family, _ = loopback(data, at)
    return family, at + 12


def netanalyzer(data: bytes, at: int) -> Network:
    return ethernet(data, at + 4)


def ipv4_only(data: bytes, at: int) -> Network:
    return IPV4, at


def ipv6_only(data: bytes, at: int) -> Network:
    return IPV6, at


LINKS: dict[int, Callable[[bytes, int], Network]] = {
    LinkType.NULL: loopback,
    LinkType.ETHERNET: ethernet,
    LinkType.PPP: ppp,
    LinkType.PPP_HDLC: ppp_hdlc,
    LinkType.PPP_ETHER: pppoe,
    LinkType.RAW: raw_ip,
    LinkType.C_HDLC: cisco_hdlc,
    LinkType.LOOP: loopback,
    LinkType.ENC: enc,
    LinkType.LINUX_SLL: sll,
    LinkType.PPP_PPPD: ppp_with_direction,
    LinkType.PPI: ppi,
    LinkType.PPP_WITH_DIR: ppp_with_direction,
    LinkType.IPV4: ipv4_only,
    LinkType.IPV6: ipv6_only,
    LinkType.NFLOG: nflog,
    LinkType.NETANALYZER: netanalyzer,
    LinkType.PKTAP: pktap,
    LinkType.LINUX_SLL2: sll2,
}
