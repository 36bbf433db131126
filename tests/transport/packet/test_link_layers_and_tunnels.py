"""Every link layer and tunnel we read leads to the same segment, and its payload back to the captured bytes."""

from struct import pack

import pytest
from scapy.contrib.erspan import ERSPAN_II, ERSPAN_III, ERSPAN_PlatformSpecific
from scapy.layers.inet import GRE, IP, TCP, UDP
from scapy.layers.inet6 import IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrHopByHop, IPv6ExtHdrRouting
from scapy.layers.l2 import GRE_PPTP, LLC, SNAP, CookedLinux, Dot1AD, Dot1Q, Ether, Loopback
from scapy.layers.ppp import HDLC, PPP, PPPoE
from scapy.layers.vxlan import VXLAN

from analyzer.core.events import Problem
from analyzer.core.limits import Limits
from analyzer.core.tcpip_encoding import ACK, PSH
from analyzer.results.connection import FlowLink
from analyzer.results.records.record_types import Endpoint
from analyzer.transport.packet.block_dissector import Dissector
from tests.build.packet import (
    CLIENT,
    CLIENT6,
    SERVER,
    SERVER6,
    T0,
    block,
    both,
    ethernet,
    extension,
    flow_links,
    geneve,
    gre,
    gtp_u,
    ipv4,
    ipv6,
    sll,
    sll2,
    tcp,
    udp,
    vxlan,
    with_checksum,
)

PAYLOAD = b"\0\0\0\x40\xfeSMB" + b"payload of a message" * 3
FOUR = ipv4(tcp(PAYLOAD))
SIX = ipv6(tcp(PAYLOAD))

LINKS = {
    "ethernet": (1, ethernet(FOUR)),
    "ethernet-6": (1, ethernet(SIX, 0x86DD)),
    "vlan": (1, ethernet(FOUR, tags=[0x8100])),
    "qinq": (1, ethernet(FOUR, tags=[0x88A8, 0x8100])),
    "vlans-old": (1, ethernet(SIX, 0x86DD, tags=[0x9100, 0x8100, 0x8100])),
    "vlans-deep": (1, ethernet(FOUR, tags=[0x8100] * 9)),
    "snap": (1, ethernet(b"\xaa\xaa\x03\0\0\0\x08\0" + FOUR, 8 + len(FOUR))),
    "pppoe": (1, ethernet(pack(">BBHHH", 0x11, 0, 1, len(FOUR) + 2, 0x21) + FOUR, 0x8864)),
    "pppoe-6": (1, ethernet(pack(">BBHHH", 0x11, 0, 1, len(SIX) + 2, 0x57) + SIX, 0x8864)),
    "mpls": (1, ethernet(pack(">II", 0x00010040, 0x00020140) + FOUR, 0x8847)),
    "mpls-pseudowire": (1, ethernet(pack(">II", 0x00020140, 0) + ethernet(SIX, 0x86DD), 0x8847)),
    "sll": (113, sll(FOUR)),
    "sll-6": (113, sll(SIX, 0x86DD)),
    "sll-vlan": (113, sll(b"\0\x05\x08\0" + FOUR, 0x8100)),
    "sll2": (276, sll2(FOUR)),
    "sll2-6": (276, sll2(SIX, 0x86DD)),
    "raw": (101, FOUR),
    "raw-6": (101, SIX),
    "ipv4": (228, FOUR),
    "ipv6": (229, SIX),
    "openbsd-loop-as-raw": (101, pack(">I", 2) + FOUR),
    **{f"null-{family}": (0, pack("<I", family) + SIX) for family in (24, 28, 30, 10, 23)},
    **{f"null-big-{family}": (0, pack(">I", family) + SIX) for family in (24, 28, 30)},
    "null": (0, pack("<I", 2) + FOUR),
    "null-big": (0, pack(">I", 2) + FOUR),
    "loop": (108, pack(">I", 2) + FOUR),
    "loop-6": (108, pack(">I", 28) + SIX),
    "ppp": (9, b"\xff\x03\0\x21" + FOUR),
    "ppp-bare": (9, b"\0\x57" + SIX),
    "ppp-short": (9, b"\x21" + FOUR),
    "ppp-hdlc": (50, b"\xff\x03\0\x21" + FOUR),
    "cisco-hdlc-50": (50, b"\x0f\0\x08\0" + FOUR),
    "cisco-hdlc": (104, b"\x0f\0\x86\xdd" + SIX),
    "ppp-ether": (51, pack(">BBHHH", 0x11, 0, 1, len(FOUR) + 2, 0x21) + FOUR),
    "ppp-direction": (204, b"\0\xff\x03\0\x21" + FOUR),
    "nflog": (239, b"\x02\0\0\0" + pack("<HH", 8, 1) + bytes(4) + pack("<HH", 4 + len(FOUR), 9) + FOUR),
    "nflog-big": (239, b"\x0a\0\0\0" + pack(">HH", 5, 10) + bytes(4) + pack(">HH", 4 + len(SIX), 9) + SIX),
    "pktap": (258, pack("<III", 108, 1, 1) + bytes(96) + ethernet(FOUR)),
    "pktap-raw": (258, pack("<III", 108, 1, 12) + bytes(96) + SIX),
    "ppi": (192, pack("<BBHI", 0, 0, 8, 1) + ethernet(FOUR)),
    "enc": (109, pack("<III", 2, 0, 0) + FOUR),
    "netanalyzer": (240, bytes(4) + ethernet(FOUR)),
    "scapy-vlans": (1, bytes(Ether() / Dot1AD(vlan=5) / Dot1Q(vlan=6) / IP(FOUR))),
    "scapy-sll": (113, bytes(CookedLinux() / IP(FOUR))),
    "scapy-loopback": (0, bytes(Loopback(type=2) / IP(FOUR))),
    "scapy-snap": (1, bytes(Ether(type=len(FOUR) + 8) / LLC() / SNAP() / IP(FOUR))),
    "scapy-pppoe": (1, bytes(Ether() / PPPoE() / PPP() / IP(FOUR))),
    "scapy-hdlc": (50, bytes(HDLC() / PPP() / IP(FOUR))),
}

INNER4, INNER6 = ethernet(FOUR), ethernet(SIX, 0x86DD, tags=[0x8100])
OUTER = {"src": "203.0.113.1", "dst": "203.0.113.2"}
TUNNELS = {
    "ip-in-ip": ipv4(FOUR, protocol=4, **OUTER),
    "6in4": ipv4(SIX, protocol=41, **OUTER),
    "4in6": ipv6(FOUR, protocol=4),
    "6in6": ipv6(ipv6(SIX, protocol=41), protocol=41),
    "gre": ipv4(gre(FOUR, 0x0800), protocol=47, **OUTER),
    "gre-6": ipv6(gre(SIX, 0x86DD), protocol=47),
    "gre-all": ipv4(gre(FOUR, 0x0800, checksum=True, key=True, sequence=True), protocol=47, **OUTER),
    "gre-key": ipv4(gre(FOUR, 0x0800, key=True), protocol=47, **OUTER),
    "gre-bridged": ipv4(gre(INNER6, 0x6558, sequence=True), protocol=47, **OUTER),
    "gre-mpls": ipv4(gre(pack(">I", 0x00010140) + FOUR, 0x8847), protocol=47, **OUTER),
    "erspan-1": ipv4(gre(INNER4, 0x88BE), protocol=47, **OUTER),
    "erspan-2": ipv4(gre(bytes(8) + INNER4, 0x88BE, sequence=True), protocol=47, **OUTER),
    "erspan-3": ipv4(gre(bytes(12) + INNER6, 0x22EB, sequence=True), protocol=47, **OUTER),
    "erspan-3-more": ipv4(gre(bytes(11) + b"\1" + bytes(8) + INNER4, 0x22EB, sequence=True), protocol=47, **OUTER),
    "vxlan": ipv4(vxlan(INNER4), protocol=17, **OUTER),
    "vxlan-6": ipv6(vxlan(INNER6), protocol=17),
    "geneve": ipv4(geneve(INNER4, options=bytes(8)), protocol=17, **OUTER),
    "geneve-ip": ipv4(geneve(FOUR, 0x0800), protocol=17, **OUTER),
    "vxlan-linux": ipv4(vxlan(INNER4, port=8472), protocol=17, **OUTER),
    "gtp-u": ipv4(gtp_u(FOUR), protocol=17, **OUTER),
    "gtp-u-6": ipv6(gtp_u(SIX, flags=0x32), protocol=17),
    "gtp-u-extended": ipv4(gtp_u(FOUR, extensions=[b"\0\1", bytes(6)]), protocol=17, **OUTER),
    "gtp-u-much-extended": ipv4(gtp_u(FOUR, extensions=[b"\0\1"] * 5), protocol=17, **OUTER),
    "authentication": ipv4(pack(">BBHII12x", 6, 4, 0, 1, 1) + tcp(PAYLOAD), protocol=51),
    "options": ipv4(tcp(PAYLOAD, options=b"\1" * 12), options=b"\1" * 8),
    "pptp": bytes(IP(**OUTER, proto=47) / GRE_PPTP(seqnum_present=1, acknum_present=1) / PPP() / IP(FOUR)),
    "scapy-gre": bytes(IP(**OUTER) / GRE(key_present=1, seqnum_present=1) / IP(FOUR)),
    "scapy-vxlan": bytes(IP(**OUTER) / UDP() / VXLAN(vni=9) / Ether() / IP(FOUR)),
    "scapy-erspan-2": bytes(IP(**OUTER) / GRE(seqnum_present=1) / ERSPAN_II() / Ether() / IP(FOUR)),
    "scapy-erspan-3": bytes(IP(**OUTER) / GRE(seqnum_present=1) / ERSPAN_III() / Ether() / IP(FOUR)),
    "scapy-erspan-3-more": bytes(
        IP(**OUTER) / GRE(seqnum_present=1) / ERSPAN_III(o=1) / ERSPAN_PlatformSpecific() / Ether() / IP(FOUR)
    ),
}
EXTENDED = {
    "hop-by-hop": ipv6(extension(6, tcp(PAYLOAD)), protocol=0),
    "three": ipv6(extension(43, extension(60, extension(6, tcp(PAYLOAD), size=16)), size=24), protocol=0),
    "authentication": ipv6(pack(">BBHII12x", 6, 4, 0, 1, 1) + tcp(PAYLOAD), protocol=51),
    "atomic-fragment": ipv6(pack(">BxHI", 6, 0, 9) + tcp(PAYLOAD), protocol=44),
    "scapy": bytes(
        IPv6(src=CLIENT6, dst=SERVER6)
        / IPv6ExtHdrHopByHop()
        / IPv6ExtHdrRouting()
        / IPv6ExtHdrDestOpt()
        / TCP(tcp(PAYLOAD))
    ),
}


def check(link_type: int, frame: bytes) -> None:
    """One frame in each block size that takes another path, and its payload fetched back."""
    for count in (1, 40):
        segments, problems = both(block([frame] * count, link_type=link_type))
        assert len(segments) == count
        assert not problems
        segment = segments[-1]
        is_ipv4 = ":" not in segment.src.ip
        assert segment.src == Endpoint(CLIENT if is_ipv4 else CLIENT6, 50000)
        assert segment.dst == Endpoint(SERVER if is_ipv4 else SERVER6, 445)
        assert (segment.seq, segment.ack, segment.flags, segment.window) == (1000, 2000, ACK | PSH, 8192)
        assert (segment.payload.data, segment.missing) == (PAYLOAD, 0)
        assert (segment.frame, segment.time_ns) == (count, T0 + (count - 1) * 1000)
        (extent,) = segment.payload.origin(0, len(PAYLOAD))
        assert extent.frame == count
        assert frame[extent.start : extent.start + extent.length] == PAYLOAD
        (part,) = segment.payload[8:28].origin(0, 20)
        assert frame[part.start : part.start + 20] == PAYLOAD[8:28]


def on_ethernet(packet: bytes) -> tuple[int, bytes]:
    return 1, ethernet(packet, 0x0800 if packet[0] >> 4 == 4 else 0x86DD)


@pytest.mark.parametrize(
    ("link_type", "frame"),
    [
        *(pytest.param(*LINKS[name], id=name) for name in LINKS),
        *(pytest.param(101, TUNNELS[name], id=f"{name} alone") for name in TUNNELS),
        *(pytest.param(*on_ethernet(TUNNELS[name]), id=f"{name} on Ethernet") for name in TUNNELS),
        *(pytest.param(*on_ethernet(EXTENDED[name]), id=f"extended by {name}") for name in EXTENDED),
    ],
)
def test_every_link_layer_tunnel_and_extension_header_leads_to_the_segment(link_type: int, frame: bytes) -> None:
    check(link_type, frame)


# Whose address frames have that tests build, and those of scapy by default.
OUR_MAC, COOKED_MAC = "08:09:0a:0b:0c:0d", "02:00:00:00:00:01"
MACS = {
    **dict.fromkeys(
        ("ethernet", "ethernet-6", "vlan", "qinq", "vlans-old", "vlans-deep", "snap", "authentication", "options"),
        OUR_MAC,
    ),
    **dict.fromkeys(("sll", "sll-6", "sll-vlan", "sll2", "sll2-6"), COOKED_MAC),
}


# What scapy takes for its own address is the machine's.
@pytest.mark.parametrize("name", [name for name in (*LINKS, *TUNNELS) if not name.startswith("scapy")])
def test_the_address_of_a_sender_is_that_of_the_link_layer_and_never_of_what_carries_a_tunnel(name: str) -> None:
    link_type, frame = LINKS[name] if name in LINKS else on_ethernet(TUNNELS[name])
    for count in (1, 40):
        (link,) = flow_links(block([frame] * count, link_type=link_type))
        assert (link.mac, link.hops, link.frames) == (MACS.get(name), 64, tuple(sorted({1, count})))


@pytest.mark.parametrize("address", [bytes(6), b"\1\0\x5e\0\0\1"])
def test_an_interface_without_addresses_and_a_group_have_sent_nothing(address: bytes) -> None:
    frame = ethernet(FOUR)
    (link,) = flow_links(block([frame[:6] + address + frame[12:]] * 20))
    assert link.mac is None


def test_frames_of_one_end_with_another_address_are_told_apart() -> None:
    frames = [ethernet(ipv4(tcp(PAYLOAD, seq=1000 + at * len(PAYLOAD)))) for at in range(40)]
    frames[20:] = [frame[:6] + b"\2\2\2\2\2\2" + frame[12:] for frame in frames[20:]]
    links = flow_links(block(frames))
    assert [(link.mac, link.frames) for link in links] == [(OUR_MAC, (1, 20)), ("02:02:02:02:02:02", (21, 40))]


def test_each_end_of_a_run_has_its_first_and_last_frame_and_where_it_changes() -> None:
    frames = []
    for at in range(20):
        asked = TCP(sport=50000, dport=445, seq=1000 + at * 68, ack=5, flags="A") / (PAYLOAD if at == 0 else b"x" * 68)
        answer = TCP(sport=445, dport=50000, seq=5, ack=1068 + at * 68, flags="A")
        frames.append(ethernet(bytes(IP(src=CLIENT, dst=SERVER, ttl=60 if at in (7, 8) else 64) / asked)))
        frames.append(ethernet(bytes(IP(src=SERVER, dst=CLIENT, ttl=128) / answer)))
    shown = {(link.src.ip, link.hops): link.frames for link in flow_links(block(frames))}
    assert shown == {(CLIENT, 64): (1, 39), (CLIENT, 60): (15, 17), (SERVER, 128): (2, 40)}


def test_senders_beyond_the_limit_are_counted_once_each() -> None:
    frames = [ethernet(ipv4(tcp(PAYLOAD, seq=1000 + at * len(PAYLOAD)))) for at in range(60)]
    for at, frame in enumerate(frames):
        frames[at] = frame[:6] + bytes((2, 2, 2, 2, 2, at // 10)) + frame[12:]
    for most, text in ((2, "at least 2 more"), (4, "2 more"), (6, "")):
        dissector = Dissector(limits=Limits(flow_links=most))
        items = [item for one in (block(frames), block(frames[50:])) for item in dissector.feed(one)]
        items += dissector.finish()
        assert len([item for item in items if isinstance(item, FlowLink)]) == most
        limited = [item.text for item in items if isinstance(item, Problem) and item.kind == "limit"]
        words = "link-layer addresses and hop limits of senders were met than are noted"
        assert limited == ([f"{text} {words}"] if text else [])


def test_segments_of_length_zero_are_as_long_as_their_frame():
    frames = [ethernet(ipv4(tcp(PAYLOAD), total=0)), ethernet(ipv6(tcp(PAYLOAD), length=0), 0x86DD)] * 10
    segments, problems = both(block(frames))
    assert {segment.payload.data for segment in segments} == {PAYLOAD}
    assert not problems
    cut = [(frame[:-10], len(frame)) for frame in frames]
    assert {(segment.payload.data, segment.missing) for segment in both(block(cut))[0]} == {(PAYLOAD[:-10], 10)}


@pytest.mark.parametrize("keep", [0, 1, 17, len(PAYLOAD)])
def test_bytes_the_snapshot_length_cut_off_are_counted(keep):
    frame = ethernet(ipv4(tcp(PAYLOAD, options=b"\1" * 8)))
    length = len(frame) - len(PAYLOAD) + keep
    segments, problems = both(block([(frame[:length], len(frame))] * 20))
    assert {(segment.payload.data, segment.missing) for segment in segments} == {(PAYLOAD[:keep], len(PAYLOAD) - keep)}
    assert not problems


def test_impossible_headers_are_one_problem():
    frames = [
        ethernet(ipv4(tcp(PAYLOAD), total=30)),
        ethernet(ipv4(b"\xc3\x50\x01\xbd" + bytes(16) + PAYLOAD)),
        ethernet(b"\x41" + FOUR[1:]),
        ethernet(b"\x65" + FOUR[1:]),
        ethernet(FOUR, 0x86DD),
        ethernet(FOUR)[:30],
    ]
    segments, problems = both(block(frames * 8))
    assert not segments
    assert [(problem.kind, problem.text[:2]) for problem in problems] == [("malformed", "48")]


def test_a_wrong_header_checksum_is_one_note_and_nothing_is_lost():
    frames = [ethernet(ipv4(tcp(PAYLOAD), checksum=n * 7 % 5)) for n in range(25)]
    frames += [ethernet(ipv4(tcp(PAYLOAD), options=b"\1" * 4, checksum=9))]
    segments, problems = both(block(frames))
    assert len(segments) == 26
    assert [problem.kind for problem in problems] == ["note"]
    assert problems[0].text.startswith("21 ")


def test_an_unknown_link_type_is_one_problem_that_names_it():
    _, problems = both([block([bytes(60)] * 20, link_type=105), block([bytes(60)] * 3, link_type=999, first=21)])
    assert [(problem.kind, problem.text.split(",")[0]) for problem in problems] == [
        ("unsupported", "20 frames have link type 105 (IEEE802_11)"),
        ("unsupported", "3 frames have link type 999 (0x3e7?)"),
    ]


def test_tunnels_of_several_kinds_leave_in_the_order_of_frames():
    """Packets are found tunnel by tunnel; where all came in tunnels, nothing else put them in order."""
    kinds = [TUNNELS["geneve"], TUNNELS["vxlan"], TUNNELS["gtp-u"], TUNNELS["gre"], TUNNELS["geneve-ip"]]
    segments, _ = both(block([ethernet(packet) for packet in kinds * 6]))
    assert [segment.frame for segment in segments] == list(range(1, 31))


def test_options_that_were_cut_off_are_no_wrong_checksum():
    """Found by random frames: the checksum was computed over bytes behind the end of the capture's data."""
    first = ethernet(ipv6(with_checksum(tcp(b"\0data"), CLIENT6, "2001:db8::99"), dst="2001:db8::99"), 0x86DD)
    cut = ethernet(
        ipv6(with_checksum(tcp(options=b"\1" * 40), CLIENT6, "2001:db8::99"), dst="2001:db8::99", length=0), 0x86DD
    )
    segments, problems = both(block([first, *[(cut[: 14 + 40 + 22], len(cut))] * 20]))
    assert len(segments) == 21
    assert {segment.missing for segment in segments} == {0}
    assert not problems


def test_what_is_not_tcp_is_dropped_without_a_word():
    frames = [
        ethernet(ipv4(udp(b"dns"), protocol=17)),
        ethernet(ipv4(b"ping", protocol=1)),
        ethernet(ipv6(b"echo", protocol=58), 0x86DD),
        ethernet(bytes(28), 0x0806),
        ethernet(b"\x42\x42\x03" + bytes(40), 43),
        ethernet(bytes(50), 0x88CC),
    ]
    assert both(block(frames * 5)) == ([], [])


def test_other_programs_on_a_tunnels_port_are_no_problem():
    frames = [
        ethernet(ipv4(udp(bytes([first]) + b"an answer from a name server", dport=port), protocol=17))
        for first in range(256)
        for port in (4789, 6081)
    ]
    frames += [ethernet(ipv4(udp(b"\x08\0\0", dport=4789), protocol=17)), ethernet(ipv4(b"\x12\xb5", protocol=17))]
    assert both(block(frames)) == ([], [])
