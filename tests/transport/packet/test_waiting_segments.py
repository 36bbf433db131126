"""Segments wait for what may be ours of their flow; flows that never send such give nothing."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.capture.frame_blocks import FrameBlock
from analyzer.core.tcpip_encoding import ACK, SYN
from analyzer.transport.packet import block_dissector, flow_candidates
from analyzer.transport.packet.flow_candidates import flow_hash, flow_hashes
from analyzer.transport.packet.segment import Segment
from analyzer.transport.packet.tunnels import Views
from tests.build.packet import CLIENT, CLIENT6, SERVER, SERVER6, block, both, dissect, ethernet, ipv4, ipv6, smb2, tcp

COUNT = 40


def syn(port: int, *, to_server: bool = True) -> bytes:
    if to_server:
        return ethernet(ipv4(tcp(sport=port, seq=999, ack=0, flags=SYN)))
    return ethernet(ipv4(tcp(sport=445, dport=port, flags=SYN | ACK), src=SERVER, dst=CLIENT))


def data(port: int) -> bytes:
    return ethernet(ipv4(tcp(smb2(), sport=port)))


def foreign(port: int, payload: bytes = b"GET / HTTP/1.1") -> bytes:
    return ethernet(ipv4(tcp(payload, sport=port)))


def filled(*frames: bytes | tuple[bytes, int], first: int) -> FrameBlock:
    """A block with these frames, and so many others that it is taken by arrays."""
    return block([*frames, *[ethernet(ipv4(tcp(b"x" * 20, dport=80)))] * (COUNT - len(frames))], first=first)


@pytest.fixture(autouse=True)
def _every_block_on_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block_dissector, "LOOK_BEHIND_BYTES", 1)


@pytest.mark.parametrize("ipv6_too", [False, True])
@settings(max_examples=30)
@given(seed=st.integers(0, 2**32))
def test_both_directions_have_the_number_that_the_arrays_have(ipv6_too, seed):
    chance = random.Random(seed)
    ends = [(chance.randbytes(chance.choice([4, 16] if ipv6_too else [4])), chance.randrange(1 << 16))]
    ends.append((chance.randbytes(len(ends[0][0])), chance.randrange(1 << 16)))
    frames = [
        (b"\x45" + bytes(11) if len(src) == 4 else b"\x60" + bytes(7))
        + src
        + dst
        + bytes(0)
        + sport.to_bytes(2, "big")
        + dport.to_bytes(2, "big")
        for (src, sport), (dst, dport) in (ends, ends[::-1])
    ]
    if ipv6_too:
        frames.append(b"\x60" + bytes(7 + 32 + 4))
    at = np.cumsum([0, *map(len, frames[:-1])])
    lengths = np.array([len(frame) for frame in frames])
    found = flow_hashes(Views(b"".join(frames) + bytes(8)), at, at + lengths - 4)
    assert found[0] == found[1] == flow_hash(*ends) == flow_hash(*ends[::-1])


def test_the_handshake_comes_with_the_first_data_however_late():
    blocks = [
        filled(syn(1), syn(2), first=1),
        filled(syn(1, to_server=False), syn(3), first=1 + COUNT),
        filled(first=1 + 2 * COUNT),
        filled(syn(2, to_server=False), data(1), data(3), first=1 + 3 * COUNT),
    ]
    segments, problems = both(blocks)
    assert [segment.frame for segment in segments] == [1, 1 + COUNT, 2 + COUNT, 2 + 3 * COUNT, 3 + 3 * COUNT]
    assert [segment.flags & SYN > 0 for segment in segments] == [True, True, True, False, False]
    assert not problems


def test_what_is_not_ours_waits_for_what_may_be():
    blocks = [
        filled(syn(1), foreign(1), foreign(2), first=1),
        filled(foreign(1), foreign(2), first=1 + COUNT),
        filled(data(1), foreign(1), first=1 + 2 * COUNT),
    ]
    segments, problems = both(blocks)
    assert [segment.frame for segment in segments] == [1, 2, 1 + COUNT, 1 + 2 * COUNT, 2 + 2 * COUNT]
    assert not problems


def test_a_protocol_id_cut_in_two_is_seen():
    blocks = [filled(foreign(1, b"before" + smb2()[:6]), first=1), filled(foreign(1, smb2()[6:]), first=1 + COUNT)]
    segments, _ = both(blocks)
    assert [segment.frame for segment in segments] == [1, 1 + COUNT]


def test_frames_that_are_read_one_by_one_wait_alike():
    odd = ethernet(ipv6(tcp(sport=5, flags=SYN), src=CLIENT6, dst=SERVER6), 0x86DD)
    late = ethernet(ipv6(tcp(smb2(), sport=5), src=CLIENT6, dst=SERVER6), 0x86DD)
    # Blocks of few frames are read frame by frame.
    segments, _ = both([block([odd], first=1), filled(first=2), block([odd], first=50), block([late], first=60)])
    assert [segment.frame for segment in segments] == [1, 50, 60]
    assert both([block([odd], first=1), filled(first=2)]) == ([], [])


@pytest.mark.parametrize(("limit", "most"), [("MOST_WAITING", 30), ("MOST_BYTES", 30 * 14)])
def test_the_oldest_are_dropped_and_their_data_is_not(monkeypatch, limit, most):
    monkeypatch.setattr(flow_candidates, limit, most)
    blocks = [
        filled(*(foreign(port) for port in range(number * 20, number * 20 + 20)), first=1 + number * COUNT)
        for number in range(5)
    ]
    blocks.append(filled(data(0), data(99), first=1 + 5 * COUNT))
    segments, _ = both(blocks)
    assert [segment.src.port for segment in segments] == [99, 0, 99]


def test_no_more_are_dropped_than_have_to_be(monkeypatch):
    """Of blocks with twenty waiting segments each, the last stay, as many as there is room for."""
    monkeypatch.setattr(flow_candidates, "MOST_WAITING", 50)
    blocks = [
        filled(*(foreign(port) for port in range(number * 20, number * 20 + 20)), first=1 + number * COUNT)
        for number in range(5)
    ]
    blocks.append(filled(*map(data, range(0, 100, 5)), first=1 + 5 * COUNT))
    segments, _ = dissect(blocks)
    assert [segment.src.port for segment in segments if segment.frame <= 5 * COUNT] == [*range(40, 100, 5)]


def test_so_many_flows_are_known_to_have_sent_data(monkeypatch):
    monkeypatch.setattr(flow_candidates, "MOST_STARTED", 2)
    blocks = [
        filled(data(1), data(2), data(3), first=1),
        filled(*(syn(port) for port in (1, 2, 3)), first=1 + COUNT),
        filled(first=1 + 2 * COUNT),
        filled(data(1), first=1 + 3 * COUNT),
    ]
    segments, _ = both(blocks)
    # The flow that was forgotten waits for its next message.
    assert [segment.src.port for segment in segments[:4]] == [2, 3, 2, 3]
    assert [(segment.src.port, segment.frame) for segment in segments[4:]] == [
        (1, 1),
        (1, 1 + COUNT),
        (1, 1 + 3 * COUNT),
    ]


@settings(max_examples=20)
@given(st.integers(0, 2**48))
def test_flows_with_data_have_the_same_segments_however_late_it_comes(seed):
    chance = random.Random(seed)
    ports = range(1, chance.randrange(2, 8))
    blocks = []
    for number in range(chance.randrange(1, 8)):
        frames = [chance.choice([syn, syn, foreign, data])(chance.choice(ports)) for _ in range(chance.randrange(20))]
        blocks.append(filled(*frames, first=1 + number * COUNT))

    def flows() -> dict[int, list[Segment]]:
        found: dict[int, list[Segment]] = {}
        for segment in both(blocks)[0]:
            found.setdefault(segment.src.port, []).append(segment)
        return found

    late = flows()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(block_dissector, "LOOK_BEHIND_BYTES", 1 << 30)
        assert late == flows()


def test_of_a_block_some_segments_may_be_released_and_others_wait_on() -> None:
    frames = [ethernet(ipv4(tcp(b"x" * size))) for size in (10, 20, 30, 40)]
    made = block(frames)
    held = flow_candidates.WaitingSegments()
    flows, sizes = np.array([1, 2, 1, 3], np.uint64), np.array([10, 20, 30, 40])
    held.hold(flows, sizes, made, np.arange(4))
    assert (held._count, held._bytes) == (4, 100)
    assert held.released() == []
    held.start([1])
    assert [(item.frame, item.data) for item in held.released()] == [(1, frames[0]), (3, frames[2])]
    assert (held._count, held._bytes) == (2, 60)
    # Those of a flow that was started do not come again, nor does another until it is started.
    held.start([1])
    assert held.released() == []
    held.start([3, 2])
    assert [(item.frame, item.data) for item in held.released()] == [(2, frames[1]), (4, frames[3])]
    assert (held._count, held._bytes, len(held._waiting)) == (0, 0, 0)
    assert held.are_started(np.array([3, 4, 1, 2, 3], np.uint64)).tolist() == [True, False, True, True, True]
    assert [held.is_started(flow) for flow in (1, 2, 3, 4)] == [True, True, True, False]
