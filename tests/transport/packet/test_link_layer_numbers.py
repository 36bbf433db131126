"""Each link layer, first byte and bound as its document has it: readers and tables whole, one value beside each bound."""

from ipaddress import ip_address
from struct import pack, unpack

import pytest

from analyzer.capture.frame_blocks import LinkType, link_type_of
from analyzer.core.events import Problem
from analyzer.transport.packet import link_layers
from analyzer.transport.packet.block_dissector import Dissector
from analyzer.transport.packet.flow_candidates import begins_like_ours, flow_key, is_by_port
from analyzer.transport.packet.frame_tallies import Tallies, Tally
from analyzer.transport.packet.segment import UdpPayload
from tests.build.packet import (
    CLIENT,
    SERVER,
    block,
    both,
    ethernet,
    extension,
    ipv4,
    ipv6,
    ipv6_fragment,
    rpc,
    smb2,
    tcp,
    udp,
    with_checksum,
)

V4 = b"\x45" + bytes(19)

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
    assert LinkType.names == {int(number): name for number, name in rows}
    # Of the network field the lower 16 bits are the type; 12 and 14 are what systems write for raw IP.
    given = {1: 1, 0xF4000001: 1, 0x00010000: 0, 12: 101, 14: 101, 13: 13, 15: 15, 0xFFFF: 0xFFFF}
    assert {network: link_type_of(network) for network in given} == given


def test_numbers_of_ethernet_are_those_of_the_registry() -> None:
    """IEEE 802.1Q and 802.1ad with what came before them; RFC 3032; RFC 2516; RFC 1701 section of protocol types."""
    assert (link_layers.IPV4, link_layers.IPV6, link_layers.PPPOE_SESSION, link_layers.ETHERNET_BRIDGED) == (
        0x0800,
        0x86DD,
        0x8864,
        0x6558,
    )
    assert (link_layers.PPP, link_layers.LOWEST_ETHERTYPE, link_layers.LINK_BASE, link_layers.NOTHING) == (
        0x880B,
        0x0600,
        0x10000,
        -1,
    )
    assert {0x8100, 0x88A8, 0x9100, 0x9200} == link_layers.VLAN_TAGS
    assert {0x8847, 0x8848} == link_layers.MPLS
    assert (2, {10, 23, 24, 28, 30}) == (link_layers.AF_INET, link_layers.AF_INET6)
    for tag in sorted(link_layers.VLAN_TAGS):
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
                "they are used where no other segment has their bytes"
            ),
        ),
        (
            "note",
            "packet",
            two,
            "8 TCP segments have a wrong checksum; they are used where no other segment has their bytes",
        ),
    ]
    assert list(Tallies().problems()) == []


@pytest.mark.parametrize("count", [1, 16, 17, 18, 40])
def test_frames_without_bytes_are_counted_however_many(count: int) -> None:
    frames: list[tuple[bytes, int]] = [(b"", 60)] * count
    segments, problems = both(block(frames))
    assert segments == []
    (problem,) = problems
    assert isinstance(problem, Problem)
    few, many = "1 frame was captured too short to hold its", f"{count:,} frames were captured too short to hold their"
    assert problem.text == f"{few if count == 1 else many} TCP header"
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
    assert [(problem.frames, problem.text.split(" a wrong ")[0]) for problem in problems] == [
        ((2,), "1 TCP segment has")
    ]


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
