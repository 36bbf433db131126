"""Flows are ours by port, or from the moment they show it; nothing that came shortly before is lost."""

import pytest

from analyzer.core.events import Problem
from analyzer.core.tcpip_encoding import ACK, SYN
from analyzer.transport.packet import block_dissector as dissector_module
from analyzer.transport.packet.block_dissector import Dissector
from analyzer.transport.packet.flow_candidates import Flows
from analyzer.transport.packet.frame_dissector import FrameDissector
from analyzer.transport.packet.segment import SegmentBatch
from tests.build.packet import CLIENT, SERVER, block, both, ethernet, ipv4, ipv6, rpc, smb2, tcp

NOISE = [ethernet(ipv4(tcp(b"GET / HTTP/1.1\r\n\r\n" * 4, sport=30000 + n, dport=80))) for n in range(40)]


def talk(port, first, *, ip=ipv4, kind=0x0800):
    """A handshake, a message and its answer on a port."""
    back = {"src": SERVER, "dst": CLIENT} if ip is ipv4 else {"src": "2001:db8::20", "dst": "2001:db8::10"}
    return [
        ethernet(ip(tcp(flags=SYN, dport=port, seq=9)), kind),
        ethernet(ip(tcp(flags=SYN | ACK, sport=port, dport=50000, seq=90), **back), kind),
        ethernet(ip(tcp(flags=ACK, dport=port, seq=10)), kind),
        ethernet(ip(tcp(first, dport=port, seq=10)), kind),
        ethernet(ip(tcp(b"an answer", sport=port, dport=50000, seq=91), **back), kind),
    ]


@pytest.mark.parametrize("port", [445, 139, 135])
@pytest.mark.parametrize(
    "first", [b"\0", b"\x05", b"\x81", b"\x82", b"\x85", b"in its middle\xffSMB", b"begun \xfeS", b"\xfc"]
)
def test_our_ports_are_ours_where_what_is_said_there_may_be(port, first):
    segments, _ = both(block(NOISE + talk(port, first) + NOISE))
    assert [segment.frame for segment in segments] == [41, 42, 43, 44, 45]


@pytest.mark.parametrize("port", [445, 139, 135])
def test_nothing_comes_of_foreign_flows_on_our_ports(port):
    segments, _ = both(block(NOISE + talk(port, b"GET / \xfeSMG \xfbSMB") + NOISE))
    assert not segments


@pytest.mark.parametrize(("ip", "kind"), [(ipv4, 0x0800), (ipv6, 0x86DD)])
@pytest.mark.parametrize(
    "first",
    [
        smb2(),
        smb2().replace(b"\xfe", b"\xff"),
        smb2().replace(b"\xfe", b"\xfd"),
        smb2().replace(b"\xfe", b"\xfc"),
        smb2()[4:],
        rpc(),
        rpc(b"x" * 50, kind=11),
        rpc(kind=14, big=True),
        rpc(kind=16),
    ],
)
def test_any_port_is_ours_once_it_speaks_smb_or_dcerpc(first, ip, kind):
    segments, _ = both(block(NOISE + talk(4451, first, ip=ip, kind=kind) + NOISE))
    assert [segment.frame for segment in segments] == [41, 42, 43, 44, 45]
    assert segments[3].payload.data == first


def test_padding_is_not_taken_for_a_message():
    frame = ethernet(ipv4(tcp(b"", dport=4451))) + smb2()
    assert both(block([frame] * 20)) == ([], [])


def test_a_flow_that_shows_late_keeps_what_came_in_the_block_before(monkeypatch):
    frames = talk(4451, smb2())
    monkeypatch.setattr(dissector_module, "LOOK_BEHIND_BYTES", 5000)
    other = talk(445, b"\0ours by port")
    blocks = [
        block(NOISE[:30] + frames[:2] + other[:1], first=1),
        block([*other[1:], *NOISE[:30], frames[2]], first=34),
        block([*frames[3:], *NOISE[:20]], first=69),
        block(NOISE, first=100),
    ]
    segments, _ = both(blocks)
    assert [segment.frame for segment in segments] == [31, 32, 33, 34, 35, 36, 37, 68, 69, 70]
    assert [segment.dst.port == 445 or segment.src.port == 445 for segment in segments] == [False] * 2 + [True] * 5 + [
        False
    ] * 3


def test_the_number_of_remembered_flows_is_bounded_and_stated():
    flows = Flows(most=3)
    keys = [((b"a", n), (b"b", 5000)) for n in range(5)]
    for key in keys:
        flows.add(key)
    assert [key in flows for key in keys] == [False, False, True, True, True]
    assert flows.forgotten == 2
    assert len(flows) == 3


def test_the_same_ports_between_other_addresses_are_another_flow():
    stranger = [ethernet(ipv4(tcp(b"x" * 40, dport=4451), src="10.9.8.7"))]
    segments, _ = both(block(stranger * 10 + talk(4451, smb2()) + stranger * 10))
    assert [segment.frame for segment in segments] == [11, 12, 13, 14, 15]


@pytest.mark.parametrize("fast", [True, False])
def test_frames_without_bytes_do_not_wait_for_ever(monkeypatch, fast):
    monkeypatch.setattr(dissector_module, "LOOK_BEHIND_BYTES", 16_000)
    reader = Dissector(fast=fast)
    for number in range(0, 10_000, 500):
        list(reader.feed(block([b""] * 500, first=number + 1)))
        assert sum(len(held.block) for held in reader._held) <= 1500


def test_of_many_frames_without_bytes_the_first_ones_are_looked_at(monkeypatch):
    looked_at = []
    original = FrameDissector.dissect
    monkeypatch.setattr(
        FrameDissector, "dissect", lambda self, frame: (looked_at.append(frame), original(self, frame))[1]
    )
    for fast in (True, False):
        looked_at.clear()
        reader = Dissector(fast=fast)
        frames = [b"", *talk(445, b"\0message"), *[b""] * 999]
        segments = list(reader.feed(block(frames)))
        rest = list(reader.finish())
        assert sum(len(list(item)) for item in segments + rest if isinstance(item, SegmentBatch)) == 5
        (lost,) = (item for item in rest if isinstance(item, Problem))
        assert lost.text.startswith("1,000 frames")
        assert lost.frames == (1, *range(7, 22))
        assert len(looked_at) < 30
