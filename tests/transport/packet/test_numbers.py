"""Each link layer, first byte and bound as its document has it: readers and tables whole, one value beside each bound."""

from __future__ import annotations

from ipaddress import ip_address
from struct import pack, unpack

import pytest

from analyzer.capture.linktypes import LinkType, link_type_of
from analyzer.core.errors import TruncatedError
from analyzer.core.events import Problem
from analyzer.core.traced import TracedBytes
from analyzer.transport.packet import dissector as dissector_module
from analyzer.transport.packet import links
from analyzer.transport.packet.candidates import begins_like_ours, flow_key, is_by_port
from analyzer.transport.packet.dissector import Dissector
from analyzer.transport.packet.fragments import FragmentKey, Fragments
from analyzer.transport.packet.segment import SegmentBatch, UdpPayload
from analyzer.transport.packet.tallies import Tallies, Tally
from tests.build.packet import (
    CLIENT,
    SERVER,
    block,
    both,
    ethernet,
    extension,
    geneve,
    gtp_u,
    ipv4,
    ipv6,
    ipv6_fragment,
    rpc,
    smb2,
    tcp,
    udp,
    vxlan,
    with_checksum,
)

V4, V6 = b"\x45" + bytes(19), b"\x60" + bytes(39)

# tcpdump.org/linktypes.html.
LINK_TYPES = """
    0 NULL, 1 ETHERNET, 6 IEEE802_5, 9 PPP, 10 FDDI, 50 PPP_HDLC, 51 PPP_ETHER, 101 RAW, 104 C_HDLC, 105 IEEE802_11,
    107 FRELAY, 108 LOOP, 109 ENC, 113 LINUX_SLL, 117 PFLOG, 119 IEEE802_11_PRISM, 127 IEEE802_11_RADIOTAP,
    129 ARCNET_LINUX, 147 USER0, 163 IEEE802_11_AVS, 166 PPP_PPPD, 189 USB_LINUX, 192 PPI,
    201 BLUETOOTH_HCI_H4_WITH_PHDR, 204 PPP_WITH_DIR, 220 USB_LINUX_MMAPPED, 228 IPV4, 229 IPV6,
    230 IEEE802_15_4_NOFCS, 239 NFLOG, 240 NETANALYZER, 249 USBPCAP, 252 UPPER_PDU, 253 NETLINK, 258 PKTAP,
    276 LINUX_SLL2
"""


def test_link_types_are_those_of_the_registry() -> None:
    rows = (row.split() for row in LINK_TYPES.split(","))
    assert {each.value: each.name for each in LinkType} == {int(number): name for number, name in rows}
    # Of the network field the lower 16 bits are the type; 12 and 14 are what systems write for raw IP.
    given = {1: 1, 0xF4000001: 1, 0x00010000: 0, 12: 101, 14: 101, 13: 13, 15: 15, 0xFFFF: 0xFFFF}
    assert {network: link_type_of(network) for network in given} == given


IP4, IP6, NONE = 0x0800, 0x86DD, -1


@pytest.mark.parametrize(
    ("name", "data", "found"),
    [
        # Linux cooked captures: the protocol in the last two of 16 bytes, in the first two of 20.
        ("sll", bytes(14) + b"\x08\0", (IP4, 16)),
        ("sll", bytes(14) + b"\0\x04", (4, 16)),
        ("sll", bytes(14) + b"\0\x01", (NONE, 16)),
        ("sll", bytes(14) + b"\x05\xff", (NONE, 16)),
        ("sll", bytes(14) + b"\x06\0", (0x0600, 16)),
        ("sll2", b"\x86\xdd" + bytes(18), (IP6, 20)),
        ("sll2", b"\0\x03" + bytes(18), (NONE, 20)),
        # IEEE 802.2 with SNAP, RFC 1042.
        ("llc", b"\xaa\xaa\x03\0\0\0\x08\0", (IP4, 8)),
        ("llc", b"\xaa\xaa\x04\0\0\0\x08\0", (NONE, 0)),
        ("llc", b"\x42\x42\x03", (NONE, 0)),
        ("ethernet", bytes(12) + b"\x08\0", (IP4, 14)),
        ("raw_ip", V4, (IP4, 0)),
        ("raw_ip", V6, (IP6, 0)),
        ("raw_ip", b"\0\0\0\x02", (IP4, 4)),
        ("raw_ip", b"\0\0\0\x18", (IP6, 4)),
        ("raw_ip", b"\0\0\x01\x02", (NONE, 0)),
        ("raw_ip", b"\x50", (NONE, 0)),
        # RFC 1661: the protocol in one byte where it is odd; RFC 1662: address and control may be left out.
        ("ppp", b"\xff\x03\0\x21", (IP4, 4)),
        ("ppp", b"\0\x57", (IP6, 2)),
        ("ppp", b"\x21", (IP4, 1)),
        ("ppp", b"\x57", (IP6, 1)),
        ("ppp", b"\x02\x81", (0x8847, 2)),
        ("ppp", b"\x02\x83", (0x8848, 2)),
        ("ppp", b"\xc0\x21", (NONE, 2)),
        ("ppp", b"\xff\x02\0\x21", (NONE, 1)),
        ("ppp_with_direction", b"\x01\x21", (IP4, 2)),
        ("ppp_hdlc", b"\x0f\0\x08\0", (IP4, 4)),
        ("ppp_hdlc", b"\x8f\0\x86\xdd", (IP6, 4)),
        ("ppp_hdlc", b"\xff\x03\0\x21", (IP4, 4)),
        ("cisco_hdlc", b"\x0f\0\x08\0", (IP4, 4)),
        # RFC 2516 section 4.
        ("pppoe", b"\x11\0\0\x01\0\x04\0\x21", (IP4, 8)),
        ("pppoe", b"\x11\x09\0\x01\0\x04\0\x21", (NONE, 0)),
        ("pppoe", b"\x12\0\0\x01\0\x04\0\x21", (NONE, 0)),
        # Options of NFLOG: length and type in the order of the machine, rounded up to four; the payload is 9.
        ("nflog", b"\x02\0\0\0" + pack("<HH", 8, 9), (IP4, 8)),
        ("nflog", b"\x0a\0\0\0" + pack(">HH", 8, 9), (IP6, 8)),
        ("nflog", b"\x02\0\0\0" + pack("<HH", 5, 1) + bytes(4) + pack("<HH", 8, 9), (IP4, 16)),
        ("nflog", b"\x02\0\0\0" + pack("<HH", 4, 1) + pack("<HH", 8, 9), (IP4, 12)),
        ("nflog", b"\x02\0\0\0" + pack("<HH", 3, 1), (NONE, 4)),
        ("nflog", b"\x03\0\0\0", (NONE, 0)),
        # The length of the header, and the link type of what follows it.
        ("pktap", pack("<III", 108, 1, 1), ((1 << 16) + 1, 108)),
        ("pktap", pack("<III", 5, 1, 12), ((1 << 16) + 101, 12)),
        ("ppi", pack("<BBHI", 0, 0, 20, 1), ((1 << 16) + 1, 20)),
        ("ppi", pack("<BBHI", 0, 0, 7, 1), ((1 << 16) + 1, 8)),
        ("enc", pack("<III", 2, 0, 0), (IP4, 12)),
        ("enc", pack(">III", 24, 0, 0), (IP6, 12)),
        ("netanalyzer", bytes(16) + b"\x08\0", (IP4, 18)),
        ("ipv4_only", b"", (IP4, 0)),
        ("ipv6_only", b"", (IP6, 0)),
        *((("loopback"), pack("<I", family), (IP6, 4)) for family in (10, 23, 24, 28, 30)),
        *((("loopback"), pack(">I", family), (IP6, 4)) for family in (10, 23, 24, 28, 30)),
        ("loopback", pack("<I", 2), (IP4, 4)),
        ("loopback", pack(">I", 2), (IP4, 4)),
        *((("loopback"), pack("<I", family), (NONE, 4)) for family in (0, 1, 3, 9, 11, 22, 25, 27, 29, 31)),
    ],
)
def test_a_link_layer_says_what_follows_and_where(name: str, data: bytes, found: tuple[int, int]) -> None:
    reader = getattr(links, name)
    kind, at = found
    # What carries nothing is not gone through, so where it ends means nothing.
    for before in (0, 5):
        kind, after = reader(bytes(before) + data + b"\x45" * 4, before)
        assert kind == found[0]
        assert kind == NONE or after == at + before
    # The header alone is enough; any byte less, and it is cut, or carries nothing.
    if found[0] != NONE:
        assert reader(data, 0)[0] == found[0]
    if found[0] != NONE and name not in ("ipv4_only", "ipv6_only", "enc"):
        needed = {"raw_ip": 1}.get(name, len(data)) if data[:1] != b"\0" or name != "raw_ip" else len(data)
        with pytest.raises(TruncatedError):
            reader(data[: needed - 1], 0)


def test_numbers_of_ethernet_are_those_of_the_registry() -> None:
    """IEEE 802.1Q and 802.1ad with what came before them; RFC 3032; RFC 2516; RFC 1701 section of protocol types."""
    assert (links.IPV4, links.IPV6, links.PPPOE_SESSION, links.ETHERNET_BRIDGED) == (0x0800, 0x86DD, 0x8864, 0x6558)
    assert (links.PPP, links.LOWEST_ETHERTYPE, links.LINK_BASE, links.NOTHING) == (0x880B, 0x0600, 0x10000, -1)
    assert {0x8100, 0x88A8, 0x9100, 0x9200} == links.VLAN_TAGS
    assert {0x8847, 0x8848} == links.MPLS
    assert (2, {10, 23, 24, 28, 30}) == (links.AF_INET, links.AF_INET6)
    for tag in sorted(links.VLAN_TAGS):
        segments, _ = both(block([ethernet(ipv4(tcp(smb2())), tags=[tag])] * 3))
        assert len(segments) == 3, hex(tag)
    label = b"\0\0\x11\x40"
    session = b"\x11\0\0\x01" + pack(">HH", len(V4), 0x21)
    for kind, payload, is_read in (
        (0x8847, label + ipv4(tcp(smb2())), True),
        (0x8848, label + ipv4(tcp(smb2())), True),
        (0x8846, label + ipv4(tcp(smb2())), False),
        (0x8849, label + ipv4(tcp(smb2())), False),
        (0x8864, session + ipv4(tcp(smb2())), True),
        (0x8863, session + ipv4(tcp(smb2())), False),
        (0x880B, b"\x21" + ipv4(tcp(smb2())), True),
        (0x6558, ethernet(ipv4(tcp(smb2()))), True),
        (0x0800, ipv4(tcp(smb2())), True),
        (0x86DD, ipv6(tcp(smb2())), True),
        (0x0801, ipv4(tcp(smb2())), False),
    ):
        for count in (3, 40):
            segments, _ = both(block([ethernet(payload, kind)] * count))
            assert len(segments) == (count if is_read else 0), hex(kind)


# ------------------------------------------------------------------------------------------------------------- ports


@pytest.mark.parametrize("port", [445, 139, 135, 88])
def test_flows_of_our_ports_are_ours(port: int) -> None:
    one, other = (b"\1\2\3\4", port), (b"\5\6\7\x08", 50000)
    assert is_by_port(one, other)
    assert is_by_port(other, one)
    for near in (port - 1, port + 1):
        assert not is_by_port((one[0], near), other)
    assert flow_key(one, other) == flow_key(other, one) == (one, other)
    first = b"\0\0\0\x10\x6a" if port == 88 else smb2()
    segments, _ = both(block([ethernet(ipv4(tcp(first, dport=port)))] * 3))
    assert len(segments) == 3
    segments, _ = both(block([ethernet(ipv4(tcp(first, sport=port, dport=1)))] * 3))
    assert len(segments) == 3
    assert both(block([ethernet(ipv4(tcp(b"\0\0\0\x10\x6a", dport=port + 1)))] * 3))[0] == []


@pytest.mark.parametrize("more", [0, 40])
def test_replies_of_a_kdc_in_datagrams_are_read(more: int) -> None:
    """Few frames are read one by one, many by the block."""
    data = b"\x6b\x82reply"
    frames = [
        ethernet(ipv4(udp(data, sport=88, dport=40000), protocol=17)),
        ethernet(ipv4(udp(data, sport=40000, dport=88), protocol=17)),
        ethernet(ipv4(udp(b"", sport=88, dport=40000), protocol=17)),
        ethernet(ipv4(udp(data, sport=87, dport=40000), protocol=17)),
        ethernet(ipv6(udp(data, sport=88, dport=40000), protocol=17), 0x86DD),
        *[ethernet(ipv4(udp(data, sport=53, dport=40000), protocol=17))] * more,
    ]
    for fast in (True, False):
        dissector = Dissector(fast=fast)
        found = [*dissector.feed(block(frames)), *dissector.finish()]
        assert [(one.payload.data, one.payload.frames) for one in found if isinstance(one, UdpPayload)] == [
            (data, (1,)),
            (data, (5,)),
        ]
        assert len(found) == 2


@pytest.mark.parametrize("options", range(0, 44, 4))
def test_a_flow_shows_itself_behind_options_of_any_length(options: int) -> None:
    """RFC 9293 section 3.1: the header has five to fifteen words."""
    frames = [ethernet(ipv4(tcp(smb2(), dport=4451, options=b"\1" * options)))] * 3
    others = [ethernet(ipv4(tcp(b"GET / HTTP/1.1", dport=80, options=b"\1" * options)))] * 40
    segments, _ = both(block([*frames, *others]))
    assert [segment.payload.data for segment in segments] == [smb2()] * 3


INNER = ethernet(ipv4(tcp(smb2())))
OUTER = {"src": "203.0.113.1", "dst": "203.0.113.2"}
PACKET = ipv4(tcp(smb2()))


def changed(data: bytes, at: int, value: int) -> bytes:
    return data[:at] + bytes([value]) + data[at + 1 :]


# Each header of a tunnel with one byte that makes it another, behind the 8 bytes of UDP; those that mean nothing do not.
@pytest.mark.parametrize(
    ("packet", "is_read"),
    [
        (vxlan(INNER), True),
        *((changed(vxlan(INNER), 8, flags), bool(flags & 8)) for flags in (0x00, 0x07, 0x08, 0x0C, 0xF7, 0xFF)),
        (changed(vxlan(INNER), 15, 1), False),
        (changed(vxlan(INNER), 14, 1), True),
        (changed(vxlan(INNER), 9, 1), True),
        (geneve(INNER), True),
        *((changed(geneve(INNER), 8, version << 6), version == 0) for version in range(4)),
        (changed(geneve(INNER), 15, 1), False),
        (changed(geneve(INNER), 14, 1), True),
        (changed(geneve(INNER), 9, 0xC0), True),
        (geneve(INNER, options=bytes(4 * 63)), True),
        (geneve(PACKET, 0x0800), True),
        (geneve(PACKET, 0x0801), False),
        (gtp_u(PACKET), True),
        *(
            (changed(gtp_u(PACKET), 8, first), first == 0x30)
            for first in (0x00, 0x10, 0x20, 0x30, 0x40, 0x50, 0x70, 0xB0)
        ),
        (changed(gtp_u(PACKET), 8, 0x38), True),
        (changed(gtp_u(PACKET), 9, 0xFE), False),
        (changed(gtp_u(PACKET), 9, 0x01), False),
        *((gtp_u(PACKET, flags=0x30 | flag), True) for flag in (1, 2, 3)),
        (gtp_u(PACKET, extensions=[bytes(2)]), True),
        (gtp_u(PACKET, extensions=[bytes(254)]), True),
        (gtp_u(PACKET, extensions=[bytes(4 * 255 - 2)]), True),
        # An extension whose length is nought, and one that ends with the packet.
        (changed(gtp_u(PACKET, extensions=[bytes(2)]), 8 + 12, 0), False),
        (gtp_u(b"", extensions=[bytes(2)]), False),
        (gtp_u(b"\x50" + PACKET[1:]), False),
    ],
)
@pytest.mark.parametrize("is_ipv6", [False, True])
def test_tunnels_are_told_by_each_byte_of_their_headers(packet: bytes, is_read: bool, is_ipv6: bool) -> None:
    """RFC 7348 section 5, RFC 8926 section 3.4, 3GPP TS 29.281 section 5.1."""
    frame = ethernet(ipv6(packet, protocol=17), 0x86DD) if is_ipv6 else ethernet(ipv4(packet, protocol=17, **OUTER))
    for count in (2, 30):
        segments, problems = both(block([frame] * count))
        assert ([segment.payload.data for segment in segments], problems) == ([smb2()] * count if is_read else [], [])


def gre_of(flags: int, kind: int, *words: bytes) -> bytes:
    return pack(">HH", flags, kind) + b"".join(words)


W = b"\xab\xcd\xef\x01"


@pytest.mark.parametrize(
    ("packet", "is_read"),
    [
        # RFC 2784 and 2890: C, K and S bring a word each.
        (gre_of(0x0000, 0x0800, PACKET), True),
        (gre_of(0x8000, 0x0800, W, PACKET), True),
        (gre_of(0x2000, 0x0800, W, PACKET), True),
        (gre_of(0x1000, 0x0800, W, PACKET), True),
        (gre_of(0xB000, 0x0800, W * 3, PACKET), True),
        (gre_of(0x0800, 0x0800, PACKET), True),
        (gre_of(0x4000, 0x0800, PACKET), False),
        (gre_of(0x0002, 0x0800, PACKET), False),
        (gre_of(0x0007, 0x0800, PACKET), False),
        (gre_of(0x0000, 0x0801, PACKET), False),
        # RFC 2637 section 4.1: version 1, PPP inside; A brings a word.
        (gre_of(0x2001, 0x880B, W, b"\x21", PACKET), True),
        (gre_of(0x2081, 0x880B, W * 2, b"\x21", PACKET), True),
        (gre_of(0x3081, 0x880B, W * 3, b"\xff\x03\x00\x21", PACKET), True),
        (gre_of(0x2080, 0x0800, W, PACKET), True),
        # ERSPAN: type I without a sequence number and a header; II with both; III, whose last bit brings eight bytes.
        (gre_of(0x0000, 0x88BE, INNER), True),
        (gre_of(0x1000, 0x88BE, W, bytes(8), INNER), True),
        (gre_of(0x1000, 0x22EB, W, bytes(12), INNER), True),
        (gre_of(0x1000, 0x22EB, W, bytes(11) + b"\x01", bytes(8), INNER), True),
        (gre_of(0x1000, 0x22EB, W, bytes(11) + b"\xfe", INNER), True),
        (gre_of(0x1000, 0x22EB, W, bytes(10) + b"\x01\x00", INNER), True),
        (gre_of(0x0000, 0x6558, INNER), True),
        (gre_of(0x0000, 0x8847, b"\0\0\x10\x40", b"\0\0\x21\x40", PACKET), True),
        (gre_of(0x0000, 0x8847, b"\0\0\x21\x40", b"\0\0\0\x01", INNER), True),
        (gre_of(0x0000, 0x8847, b"\0\0\x21\x40", b"\x10\0\0\x01", INNER), False),
        (gre_of(0x0000, 0x0800), False),
    ],
)
@pytest.mark.parametrize("is_ipv6", [False, True])
def test_generic_encapsulation_is_read_by_its_flags(packet: bytes, is_read: bool, is_ipv6: bool) -> None:
    frame = ethernet(ipv6(packet, protocol=47), 0x86DD) if is_ipv6 else ethernet(ipv4(packet, protocol=47, **OUTER))
    for count in (2, 30):
        segments, problems = both(block([frame] * count))
        assert ([segment.payload.data for segment in segments], problems) == ([smb2()] * count if is_read else [], [])


PDU = rpc()


@pytest.mark.parametrize(
    ("at", "right"),
    [
        (0, [5]),
        (1, [0, 1]),
        # C706 section 12.6.4.1 with [MS-RPCE]: no ping (1) or other types of the datagram protocol.
        (2, [0, 2, 3, 11, 12, 13, 14, 15, 16, 17, 18, 19]),
        (4, [0x00, 0x10]),
    ],
)
def test_a_pdu_of_dcerpc_begins_with_these_values_alone(at: int, right: list[int]) -> None:
    data = PDU[:8] + b"\x10\x10" + PDU[10:]
    assert [value for value in range(256) if begins_like_ours(data[:at] + bytes([value]) + data[at + 1 :])] == right


@pytest.mark.parametrize(
    ("payload", "is_ours"),
    [
        (PDU[:15], False),
        (PDU[:8] + b"\x0f\0" + PDU[10:], False),
        (PDU[:8] + b"\x10\0" + PDU[10:], True),
        (rpc(big=True)[:8] + b"\0\x0f" + PDU[10:], False),
        (rpc(big=True)[:8] + b"\0\x10" + PDU[10:], True),
        *((b"\0\0\0\x40" + bytes([first]) + b"SMB", first >= 0xFC) for first in range(0xFA, 0x100)),
        *((bytes([first]) + b"SMB" + bytes(4), first >= 0xFC) for first in range(0xFA, 0x100)),
        (b"\1\0\0\x40\xfeSMB", False),
        (b"\0\0\0\x40\xfeSM", False),
        (b"\xfeSMB\0\0\0", False),
        (b"\0\0\0\x40\xfeSNB", False),
        (b"", False),
    ],
)
def test_messages_of_smb_and_dcerpc_are_told_by_their_first_bytes(payload: bytes, is_ours: bool) -> None:
    assert begins_like_ours(payload) is is_ours


# --------------------------------------------------------------------------------------------------------- fragments


# What is said to the layers above of a datagram with two versions of its bytes.
CONFLICT = "conflict"


def added(
    fragments: Fragments, start: int, data: bytes, *, more: bool, frame: int = 1, cut: bool = False
) -> list[object]:
    key = FragmentKey(b"a", b"b", 6, 1)
    piece = TracedBytes.of_frame(data, frame)
    found = fragments.add(key, start, piece, more=more, cut=cut, frame=frame, time_ns=frame)
    return [
        item.data if isinstance(item, TracedBytes) else item.text if isinstance(item, Problem) else CONFLICT
        for item in found
    ]


def test_a_datagram_may_have_65535_bytes_and_no_more() -> None:
    beyond = "a fragment reaches beyond 65535 bytes or is empty"
    fragments = Fragments()
    assert added(fragments, 65528, b"1234567", more=False) == []
    assert added(fragments, 0, bytes(65528), more=True) == [bytes(65528) + b"1234567"]
    assert added(Fragments(), 65528, b"12345678", more=False) == [beyond]
    assert added(Fragments(), 8, b"", more=True) == [beyond]
    assert added(Fragments(), 0, b"", more=False) == [b""]


def test_pieces_beyond_the_end_are_cut_and_conflict() -> None:
    conflict = "fragments of one datagram overlap and differ; the bytes captured first are used"
    fragments = Fragments()
    assert added(fragments, 8, b"abcdefghijklmnop", more=True, frame=1) == []
    assert added(fragments, 32, b"beyond!!", more=True, frame=2) == []
    # The end is at 20: half of the first piece lies before it, the second one behind.
    assert added(fragments, 16, b"ijkl", more=False, frame=3) == [conflict]
    assert added(fragments, 0, b"01234567", more=True, frame=4) == [CONFLICT, b"01234567abcdefghijkl"]
    again = Fragments()
    assert added(again, 8, b"abcdefgh", more=False, frame=1) == []
    # What is repeated, as far as it says the same, is none, and neither is what ends where it ended.
    assert added(again, 8, b"abcdefgh", more=False, frame=2) == []
    assert added(again, 8, b"abcdefgh", more=True, frame=3) == []
    assert added(again, 0, b"01234567", more=True, frame=4) == [b"01234567abcdefgh"]
    assert added(again, 0, b"01234567", more=True, frame=5) == []
    assert added(again, 0, b"76543210", more=True, frame=6) == []


def test_only_what_no_piece_covers_is_taken_of_a_later_one() -> None:
    conflict = "fragments of one datagram overlap and differ; the bytes captured first are used"
    fragments = Fragments()
    assert added(fragments, 8, b"BBBBBBBB", more=True, frame=1) == []
    assert added(fragments, 24, b"DDDDDDDD", more=True, frame=2) == []
    assert added(fragments, 0, b"a" * 40, more=True, frame=3) == [conflict]
    assert added(fragments, 40, b"end", more=False, frame=4) == [
        CONFLICT,
        b"a" * 8 + b"B" * 8 + b"a" * 8 + b"D" * 8 + b"a" * 8 + b"end",
    ]


def test_a_fragment_header_that_was_cut_is_a_truncated_frame() -> None:
    whole = ethernet(ipv6(ipv6_fragment(6, tcp(smb2()), offset=0, more=True), protocol=44), 0x86DD)
    frames = [(whole[: 54 + size], len(whole)) for size in range(8)]
    segments, problems = both(block(frames))
    assert segments == []
    assert [problem.text for problem in problems] == ["8 frames were captured too short to hold their TCP header"]
    extended = ethernet(ipv6(extension(6, tcp(smb2())), protocol=0), 0x86DD)
    _, problems = both(block([(extended[: 54 + size], len(extended)) for size in range(2)]))
    assert [problem.text for problem in problems] == ["2 frames were captured too short to hold their TCP header"]


# ----------------------------------------------------------------------------------------------------------- tallies


def test_counts_of_parts_add_up_to_those_of_the_whole() -> None:
    whole, one, other = Tally(), Tally(), Tally()
    for number in range(40):
        for tally in (whole, one if number % 3 else other):
            tally.note(number, 1000 + number, more=number % 2)
    one.add(other)
    assert (one.count, one.frames) == (whole.count, whole.frames) == (60, tuple(range(16)))
    assert (Tally().count, Tally().frames) == (0, ())
    late = Tally()
    late.note(7, 5)
    late.add(whole)
    assert late.frames[:2] == (7, 0)


def test_what_could_not_be_read_is_stated_with_its_count() -> None:
    def counted(first: int) -> Tallies:
        made = Tallies(forgotten=2)
        for kind in ("truncated", "malformed", "gap", "limit"):
            made.lost.setdefault(kind, Tally()).note(first, first)
        made.unknown_links.setdefault(147, Tally())
        for number in range(9):
            made.unknown_links[147].note(first + number, first + number)
        made.unknown_links.setdefault(999, Tally()).note(first, first)
        made.bad_checksums.note(first, first)
        made.bad_tcp_checksums.note(first, first, 3)
        return made

    tallies = counted(1)
    tallies.add(counted(101))
    tallies.renumber(lambda frame: frame + 1000)
    found = [(problem.kind, problem.layer, problem.frames, problem.text) for problem in tallies.problems()]
    two = (1001, 1101)
    assert found == [
        ("truncated", "packet", two, "2 frames were captured too short to hold their TCP header"),
        ("malformed", "packet", two, "2 frames have an IP or TCP header that says something impossible"),
        ("gap", "packet", two, "2 IP datagrams with TCP data are incomplete: not all of their fragments were captured"),
        ("limit", "packet", two, "2 frames have more tunnels inside each other than are followed"),
        ("unsupported", "packet", tuple(range(1001, 1009)), "18 frames have link type 147 (USER0), which is not read"),
        ("unsupported", "packet", two, "2 frames have link type 999 (0x3e7?), which is not read"),
        ("limit", "packet", (), "4 flows were forgotten: more look like ours than are kept"),
        (
            "note",
            "packet",
            two,
            (
                "2 frames have a wrong IPv4 header checksum (usual where a network card computes it after the capture); "
                "they are used all the same"
            ),
        ),
        ("note", "packet", two, "8 TCP segments have a wrong checksum; they are used all the same"),
    ]
    assert list(Tallies().problems()) == []


def test_few_frames_wait_no_longer_than_for_so_many_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each frame counts 16 bytes beside its own, and a block is looked at when the next one came."""
    monkeypatch.setattr(dissector_module, "LOOK_BEHIND_BYTES", 1)
    ours = ethernet(ipv4(tcp(smb2())))
    others = ethernet(ipv4(tcp(b"GET / HTTP/1.1", dport=80)))
    size = 40 * (len(ours) + 16) + 40 * (len(others) + 16)
    for most, is_given in ((size, True), (size + 1, False), (None, False)):
        dissector = Dissector(most_passed=most)
        assert list(dissector.feed(block([ours] * 40))) == []
        assert list(dissector.feed(block([others] * 40, first=41))) == []
        found = list(dissector.feed(block([others] * 40, first=81)))
        assert bool(found) is is_given
        found += dissector.finish()
        ends = {(batch.src.ip, batch.dst.ip) for batch in found if isinstance(batch, SegmentBatch)}
        assert ends == {(CLIENT, SERVER)}
        assert sum(batch.stop - batch.first for batch in found if isinstance(batch, SegmentBatch)) == 40


@pytest.mark.parametrize("count", [1, 16, 17, 18, 40])
def test_frames_without_bytes_are_counted_however_many(count: int) -> None:
    frames: list[tuple[bytes, int]] = [(b"", 60)] * count
    segments, problems = both(block(frames))
    assert segments == []
    (problem,) = problems
    assert isinstance(problem, Problem)
    assert problem.text == f"{count} frames were captured too short to hold their TCP header"
    assert problem.frames == tuple(range(1, min(count, 16) + 1))


@pytest.mark.parametrize("length", [65_535, 65_536, 70_001, 131_072, 200_003])
@pytest.mark.parametrize("version", [4, 6])
def test_checksums_of_segments_before_a_card_cuts_them_up(length: int, version: int) -> None:
    """RFC 9293 section 3.1, with the length as 32 bits (RFC 8200 section 8.1); in the IP header it is left zero."""
    data = smb2(bytes(at * 7 % 251 for at in range(length - 20 - len(smb2()))))
    src, dst = (CLIENT, SERVER) if version == 4 else ("2001:db8::10", "2001:db8::20")
    segment = with_checksum(tcp(data), src, dst)
    assert len(segment) == length
    pseudo = ip_address(src).packed + ip_address(dst).packed + pack(">HH", 0, 6)
    unfinished = [sum(unpack(f">{len(each) // 2}H", each)) for each in (pseudo, pseudo + pack(">I", length))]
    wrong = bytearray(segment)
    wrong[-1] ^= 1
    sent = [segment, bytes(wrong), *(segment[:16] + pack(">H", total % 0xFFFF) + segment[18:] for total in unfinished)]
    frames = [
        ethernet(ipv4(each, total=0)) if version == 4 else ethernet(ipv6(each, length=0), 0x86DD) for each in sent
    ]
    small = ethernet(ipv4(tcp(b"", flags=16)))
    segments, problems = both(block([*frames, *[small] * 20]))
    assert [each.payload.data for each in segments[:4]] == [data, data[:-1] + bytes([data[-1] ^ 1]), data, data]
    assert [(problem.frames, problem.text.split(" have ")[0]) for problem in problems] == [((2,), "1 TCP segments")]


@pytest.mark.parametrize("size", range(22))
@pytest.mark.parametrize("is_cut", [False, True])
@pytest.mark.parametrize("is_ipv6", [False, True])
def test_a_header_of_tcp_may_be_cut_anywhere(size: int, is_cut: bool, is_ipv6: bool) -> None:
    """What shows the ports shows whose it is; a frame that was shorter on the wire promised what it did not have."""
    kind = "captured too short" if is_cut else "says something impossible"
    for port, is_ours in ((445, True), (80, False)):
        header = tcp(b"\0" + b"x" * 40, dport=port)
        sent = header if is_cut else header[:size]
        whole = ethernet(ipv6(sent), 0x86DD) if is_ipv6 else ethernet(ipv4(sent))
        cut = whole[: (54 if is_ipv6 else 34) + size]
        for count in (1, 30):
            segments, problems = both(block([(cut, len(whole))] * count))
            if size >= 20:
                # The first byte may be ours, where it is there or was cut off.
                missing = len(sent) - size
                expected = [(size - 20, missing)] * count if is_ours and (size > 20 or missing) else []
                assert [(len(one.payload), one.missing) for one in segments] == expected
                assert problems == []
            else:
                assert segments == []
                assert [kind in problem.text for problem in problems] == ([True] if is_ours or size < 4 else [])


@pytest.mark.parametrize("address", [bytes(4), b"\0\0@\x11", b"\0\0@\x06", b"\x08\0E\0", b"\x01\xbd\0\x58"])
def test_addresses_of_the_link_layer_mean_nothing(address: bytes) -> None:
    """Also where they are what an IPv4 header has elsewhere: its type, time to live and protocol, ports."""
    frame = address * 3 + ethernet(ipv4(tcp(smb2())))[12:]
    for count in (1, 15, 16, 17, 40):
        assert len(both(block([frame] * count))[0]) == count
