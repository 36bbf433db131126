"""Fragments in any order become the datagram they were, within bounds, and what is missing is stated."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.capture.frame import Frame
from analyzer.core.limits import Limits
from analyzer.core.traced import TracedBytes
from analyzer.transport.packet.dissector import Dissector
from analyzer.transport.packet.fragments import FragmentKey, Fragments
from analyzer.transport.packet.frame_dissector import MAX_DEPTH, FrameDissector, LostSegment
from tests.build.packet import block, both, ethernet, gre, ipv4, ipv6, ipv6_fragment, tcp, udp

PAYLOAD = bytes(n * 7 % 251 for n in range(1600))
SEGMENT = tcp(PAYLOAD)


def pieces4(data, cuts, *, ident=1, protocol=6):
    """Ethernet frames with the fragments of an IPv4 payload, cut at multiples of 8."""
    stops = sorted({cut * 8 for cut in cuts if cut * 8 < len(data)} | {len(data)})
    return [
        ethernet(ipv4(data[start:stop], ident=ident, offset=start, more=stop < len(data), protocol=protocol))
        for start, stop in zip([0, *stops], stops, strict=False)
    ]


def pieces6(data, cuts, *, ident=7):
    stops = sorted({cut * 8 for cut in cuts if cut * 8 < len(data)} | {len(data)})
    return [
        ethernet(
            ipv6(ipv6_fragment(6, data[start:stop], offset=start, more=stop < len(data), ident=ident), protocol=44),
            0x86DD,
        )
        for start, stop in zip([0, *stops], stops, strict=False)
    ]


@settings(max_examples=60)
@given(
    st.sampled_from([pieces4, pieces6]),
    st.sets(st.integers(1, 200), max_size=20),
    st.integers(0, 2**32),
    st.integers(0, 10),
)
def test_fragments_in_any_order_and_repeated_are_one_segment(cut_up, cuts, seed, repeats):
    chance = random.Random(seed)
    frames = cut_up(SEGMENT, cuts)
    order = frames + chance.choices(frames, k=repeats)
    chance.shuffle(order)
    made = block(order)
    segments, problems = both(made)
    assert [segment.payload.data for segment in segments][:1] == [PAYLOAD]
    assert all(segment.payload.data == PAYLOAD for segment in segments)
    assert not problems
    (segment, *_) = segments
    whole_at = max(order.index(frame) for frame in frames) + 1
    assert segment.frame == whole_at
    fetched = b""
    for extent in segment.payload.origin(0, len(PAYLOAD)):
        fetched += order[extent.frame - 1][extent.start : extent.start + extent.length]
    assert fetched == PAYLOAD


def test_the_bytes_captured_first_win_and_the_conflict_is_stated():
    first, second, third = pieces4(SEGMENT, [40, 80])
    forged = ethernet(ipv4(b"\xee" * 320, offset=160, more=True))
    segments, problems = both(block([first, forged, second, third]))
    expected = SEGMENT[:320] + b"\xee" * 160 + SEGMENT[480:]
    assert segments[0].payload.data == expected[20:]
    assert [(problem.kind, problem.frames) for problem in problems] == [("conflict", (1, 2))]


def test_overlaps_with_the_same_bytes_are_no_conflict():
    first, second, third = pieces4(SEGMENT, [40, 80])
    again = ethernet(ipv4(SEGMENT[160:480], offset=160, more=True))
    segments, problems = both(block([third, again, first, second]))
    assert segments[0].payload.data == PAYLOAD
    assert not problems


def test_two_ends_of_one_datagram_are_a_conflict():
    first, second, third = pieces4(SEGMENT, [40, 80])
    early_end = ethernet(ipv4(SEGMENT[320:400], offset=320))
    _, problems = both(block([third, early_end, first, second]))
    assert "conflict" in [problem.kind for problem in problems]


def test_a_datagram_that_stays_incomplete_is_a_gap_when_it_is_ours_or_may_be():
    ours = pieces4(SEGMENT, [40], ident=5)[:1]
    unknown = pieces4(SEGMENT, [40], ident=6)[1:]
    http = pieces4(tcp(PAYLOAD, dport=80), [40], ident=7)[:1]
    dns = pieces4(udp(PAYLOAD), [40], ident=8, protocol=17)[:1]
    segments, problems = both(block([*ours, *unknown, *http, *dns]))
    assert not segments
    assert [(problem.kind, problem.frames) for problem in problems] == [("gap", (1, 2))]


def test_an_identification_that_comes_round_again_is_another_datagram():
    frames = [*pieces4(SEGMENT, [40]), *pieces4(tcp(PAYLOAD[::-1]), [40])]
    segments, problems = both(block(frames))
    assert [segment.payload.data for segment in segments] == [PAYLOAD, PAYLOAD[::-1]]
    assert not problems


def test_fragments_inside_and_around_tunnels_are_put_together():
    inner = [frame[14:] for frame in pieces4(SEGMENT, [40, 80])]
    outer = [
        frame
        for number, packet in enumerate(inner)
        for frame in pieces4(gre(packet, 0x0800, key=True), [10], ident=100 + number, protocol=47)
    ]
    segments, problems = both(block(outer[::-1]))
    assert segments[0].payload.data == PAYLOAD
    assert not problems


def add(fragments, key, start, data, *, more, frame=1, time_ns=0):
    piece = TracedBytes.of_frame(data, frame)
    return list(fragments.add(key, start, piece, more=more, cut=False, frame=frame, time_ns=time_ns))


def test_tiny_fragments_count_for_what_they_cost():
    fragments = Fragments(Limits(datagram_bytes=100_000))
    for number in range(2000):
        add(fragments, FragmentKey(b"a", b"b", 6, number // 1000), number % 1000 * 16, bytes(8), more=True)
    assert len(fragments.given_up) >= 2
    assert all(len(datagram.pieces) < 400 for datagram in fragments.given_up)


@pytest.mark.parametrize("fast", [True, False])
def test_many_fragments_of_other_peoples_datagrams_do_not_pile_up(fast):
    dissector = Dissector(fast=fast, limits=Limits(datagrams=50))
    frames = [pieces4(udp(PAYLOAD), [40], ident=n, protocol=17)[0] for n in range(500)]
    items = [*dissector.feed(block(frames)), *dissector.finish()]
    assert items == []


@pytest.mark.parametrize(("tunnels", "kinds"), [(0, ["Found"]), (7, ["Found"]), (8, ["LostSegment"])])
def test_a_datagram_is_one_level_deeper_than_its_fragments(tunnels, kinds):
    """`MAX_DEPTH` of 8 holds for tunnels and fragments together."""
    assert MAX_DEPTH == 8
    dissector = FrameDissector()
    made = []
    for frame in pieces4(SEGMENT, {100}):
        packet = frame[14:]
        for _ in range(tunnels):
            packet = ipv4(packet, protocol=4)
        made += dissector.dissect(Frame(1, 0, 101, packet, len(packet)))
    assert [type(item).__name__ for item in made] == kinds
    assert all(item.kind == "limit" for item in made if isinstance(item, LostSegment))
