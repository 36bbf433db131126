"""The fast path and the plain one give the same on traffic of every kind, damaged or not."""

import random
from io import BytesIO
from struct import pack

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.capture.capture_reader import CaptureReader
from analyzer.capture.frame_blocks import FrameBlock
from analyzer.core.events import Conflict, Problem
from analyzer.results.connection import FlowLink
from analyzer.results.records.record_types import Endpoint
from analyzer.transport.packet import block_dissector as dissector_module
from analyzer.transport.packet.block_dissector import Dissector
from analyzer.transport.packet.segment import Segment
from tests.build.capture import pcap
from tests.build.packet import (
    T0,
    block,
    both,
    erspan,
    ethernet,
    extension,
    geneve,
    gre,
    gtp_u,
    ipv4,
    ipv6,
    ipv6_fragment,
    one_by_one,
    rpc,
    sll,
    sll2,
    smb2,
    tcp,
    udp,
    vxlan,
)

PORTS = [445, 139, 135, 80, 443, 4451, 49152, 53]
PAYLOADS = [
    b"",
    b"x",
    b"GET / HTTP",
    smb2(),
    smb2(b"y" * 300),
    rpc(b"z" * 9),
    rpc(kind=12, big=True),
    smb2()[4:],
    b"\5\0",
]


def packet(chance, depth=0):
    """A random IP packet, sometimes odd."""
    payload = chance.choice(PAYLOADS)
    sport, dport = chance.choice(PORTS), 50000 + chance.randrange(4)
    if chance.random() < 0.5:
        sport, dport = dport, sport
    inner = tcp(
        payload,
        sport=sport,
        dport=dport,
        seq=chance.getrandbits(32),
        options=b"\1" * (4 * chance.choice([0, 0, 0, 3, 10])),
    )
    protocol, kind = 6, chance.random()
    if kind < 0.15:
        inner, protocol = udp(payload, dport=chance.choice([53, 53, 4789, 6081])), 17
    elif kind < 0.2:
        inner, protocol = payload, chance.randrange(256)
    elif kind < 0.3 and depth < 3:
        inner, protocol = gre(packet(chance, depth + 1), 0x0800), 47
    elif kind < 0.35 and depth < 3:
        port, flags, last = (
            chance.choice([4789, 4789, 8472]),
            chance.choice([8, 8, 8, 0x88, 0]),
            chance.choice([0, 0, 0, 1]),
        )
        tags = chance.choice([[], [], [0x8100], [0x88A8, 0x8100], [0x9100] * 6])
        mirrored = ethernet(packet(chance, depth + 1), chance.choice([0x0800] * 9 + [0x8847]), tags=tags)
        inner, protocol = vxlan(mirrored, port=port, flags=flags, last=last), 17
    elif kind < 0.4 and depth < 3:
        inner, protocol = packet(chance, depth + 1), 4
    elif kind < 0.45 and depth < 3:
        inner, protocol = (
            erspan(ethernet(packet(chance, depth + 1)), chance.randrange(1, 4), subheader=chance.random() < 0.3),
            47,
        )
    elif kind < 0.5 and depth < 3:
        content = [bytes(chance.choice([2, 6])) for _ in range(chance.choice([0, 0, 1, 2, 3]))]
        flags, reported = chance.choice([0x30] * 6 + [0x32, 0x20, 0x50]), chance.choice([0xFF] * 9 + [1])
        inner, protocol = gtp_u(packet(chance, depth + 1), flags=flags, kind=reported, extensions=content), 17
    elif kind < 0.55 and depth < 3:
        options = bytes(4 * chance.choice([0, 0, 1, 5]))
        if chance.random() < 0.5:
            inner = geneve(ethernet(packet(chance, depth + 1)), options=options)
        else:
            inner = geneve(packet(chance, depth + 1), 0x0800, options=options)
        protocol = 17
    elif kind < 0.6 and depth < 3:
        carried = ipv6(packet(chance, depth + 1), protocol=4, length=chance.choice([None, None, 0]))
        inner, protocol = chance.choice(
            [(carried, 41), (gre(carried, 0x86DD, key=True), 47), (gre(ethernet(carried, 0x86DD), 0x6558), 47)]
        )
    if depth == 0 and chance.random() < 0.3:
        if protocol == 6 and chance.random() < 0.3:
            return ipv6(extension(6, inner), protocol=chance.choice([0, 43, 60])), 0x86DD
        if protocol == 6 and chance.random() < 0.3:
            half = len(inner) // 16 * 8
            offset, data = chance.choice([(0, inner[:half]), (half, inner[half:])])
            return ipv6(ipv6_fragment(6, data, offset=offset, more=not offset), protocol=44), 0x86DD
        return ipv6(inner, protocol=protocol, length=chance.choice([None, None, None, 0, 7])), 0x86DD
    if chance.random() < 0.1:
        half = len(inner) // 16 * 8
        offset, data = chance.choice([(0, inner[:half]), (half, inner[half:])])
        made = ipv4(data, offset=offset, more=not offset, ident=chance.randrange(4), protocol=protocol)
    else:
        made = ipv4(
            inner,
            protocol=protocol,
            total=chance.choice([None] * 8 + [0, 19, 41]),
            options=b"\1" * (4 * chance.choice([0, 0, 0, 1, 10])),
            checksum=chance.choice([None, None, None, 0, 7]),
        )
    return (made, 0x0800) if depth == 0 else made


def frame(chance, link_type):
    """A random frame: its captured bytes and its length on the wire."""
    data, kind = packet(chance)
    if link_type == 1:
        tags = chance.choice([[], [], [], [0x8100], [0x88A8, 0x8100], [0x9100] * 6])
        data = ethernet(data, chance.choice([kind] * 9 + [0x0806, 0x8864, 0x8847, 60]), tags=tags)
    elif link_type == 113:
        data = sll(data, chance.choice([kind] * 9 + [4, 1, 0x8100]))
    elif link_type == 276:
        data = sll2(data, kind)
    elif link_type in (0, 108):
        family = 2 if kind == 0x0800 else chance.choice([10, 23, 24, 28, 30])
        data = pack(chance.choice("<>") + "I", chance.choice([family] * 9 + [7])) + data
    if chance.random() < 0.1:
        data += bytes(chance.randrange(30))
    if chance.random() < 0.05:
        spoiled = bytearray(data)
        spoiled[chance.randrange(len(spoiled))] = chance.randrange(256)
        data = bytes(spoiled)
    if chance.random() < 0.15:
        return data[: chance.randrange(len(data))], len(data)
    return data, chance.choice([len(data)] * 9 + [0, len(data) + 40])


@settings(max_examples=50)
@given(
    st.sampled_from([1, 1, 1, 113, 276, 101, 228, 229, 0, 108]),
    st.integers(0, 2**48),
    st.integers(0, 120),
    st.sampled_from([600, 20_000, 1 << 21]),
)
def test_mixed_traffic_reads_the_same_on_both_paths(link_type, seed, count, look_behind):
    chance = random.Random(seed)
    blocks, first = [], 1
    for _ in range(chance.randrange(1, 4)):
        frames = [frame(chance, link_type) for _ in range(count)]
        blocks.append(block(frames, link_type=link_type, first=first, time_ns=T0 + first * 1000))
        first += count
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dissector_module, "LOOK_BEHIND_BYTES", look_behind)
        segments, problems = both(blocks)
    # Segments wait for the first data of their flow that may be ours; those of a flow leave in the order of frames.
    flows: dict[frozenset[Endpoint], list[int]] = {}
    for segment in segments:
        flows.setdefault(frozenset((segment.src, segment.dst)), []).append(segment.frame)
    assert all(numbers == sorted(numbers) for numbers in flows.values())
    assert all(isinstance(problem, Problem) for problem in problems)
    datas = {int(n): made.frame(i).data for made in blocks for i, n in enumerate(made.frames)}
    for segment in segments:
        assert segment.missing >= 0
        origin = segment.payload.origin(0, len(segment.payload))
        fetched = b"".join(datas[e.frame][e.start : e.start + e.length] for e in origin)
        assert fetched == segment.payload.data


@settings(max_examples=80)
@given(
    st.sampled_from([0, 1, 9, 50, 51, 101, 104, 108, 109, 113, 192, 204, 228, 229, 239, 240, 258, 276, 5]),
    st.lists(st.binary(max_size=120), min_size=16, max_size=40),
)
def test_random_bytes_give_segments_and_problems_and_nothing_else(link_type, frames):
    segments, problems = both(block(frames, link_type=link_type))
    assert all(isinstance(segment, Segment) for segment in segments)
    assert len(problems) < 40


@settings(max_examples=60)
@given(st.binary(min_size=1, max_size=60), st.integers(0, 2**16), st.integers(0, 2**16), st.booleans())
def test_bytes_spliced_into_a_capture_give_events_and_nothing_else(noise, place, seed, replace):
    chance = random.Random(seed)
    data = pcap([(T0 + n, frame(chance, 1)[0]) for n in range(40)])
    place %= len(data)
    spoiled = data[:place] + noise + data[place + (len(noise) if replace else 0) :]
    if place < 24:
        spoiled = data[:24] + noise
    dissectors = Dissector(), Dissector(fast=False)
    events = [[], []]
    for dissector, seen in zip(dissectors, events, strict=True):
        for item in CaptureReader([BytesIO(spoiled)]):
            seen += one_by_one(dissector.feed(item) if isinstance(item, FrameBlock) else [item])
        seen += one_by_one(dissector.finish())
    assert events[0] == events[1]
    assert all(isinstance(item, Segment | Problem | Conflict | FlowLink) for item in events[0])
