"""Fragments in any order become the datagram they were, within bounds, and what is missing is stated."""

import random
import re
from itertools import count, groupby
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.capture.frame_blocks import Frame
from analyzer.core.limits import Limits
from analyzer.core.traced_bytes import TracedBytes
from analyzer.transport.packet import ip_fragments as fragments_module
from analyzer.transport.packet.block_dissector import Dissector
from analyzer.transport.packet.frame_dissector import MAX_DEPTH, FrameDissector, LostSegment
from analyzer.transport.packet.ip_fragments import FragmentKey, Fragments
from tests.build.packet import block, both, ethernet, gre, ipv4, ipv6, ipv6_fragment, tcp, udp
from tests.written import Told

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


PIECE = re.compile(r"(?:(?P<id>\d+)/)?(?P<start>\d+):(?P<data>(?:[a-z]\d*)*)(?P<more>>?)")
BOUNDS = {"marks": "MAX_MARKS", "remembered": "REMEMBERED"}


def runs(data: bytes) -> str:
    counted = ((chr(byte), len([*each])) for byte, each in groupby(data))
    return "".join(f"{letter}{count}" for letter, count in counted) or "nothing"


def said(words: str) -> str:
    """What becomes of pieces of datagrams, `[datagram/]start:data`, each a frame: data is `a8b2`, `>` behind it says that more
    follow. `after=` is how long after the first they come in ns; `datagrams=`, `bytes=`, `marks=`, `remembered=` are bounds."""
    options = {name: int(value) for name, is_one, value in (word.partition("=") for word in words.split()) if is_one}
    most = Limits(datagrams=options.get("datagrams", 99), datagram_bytes=options.get("bytes", 1 << 20))
    fragments, lines, time_ns = Fragments(most), list[str](), 0
    with pytest.MonkeyPatch.context() as patch:
        for name in BOUNDS.keys() & options.keys():
            patch.setattr(fragments_module, BOUNDS[name], options[name])
        frames = count(1)
        for word in words.split():
            if "=" in word:
                time_ns = int(word.removeprefix("after=")) if word.startswith("after=") else time_ns
                continue
            match = PIECE.fullmatch(word)
            assert match is not None, word
            pairs = re.findall(r"([a-z])(\d*)", match["data"])
            data = b"".join(letter.encode() * int(times or 1) for letter, times in pairs)
            frame, key = next(frames), FragmentKey(b"a", b"b", 6, int(match["id"] or 1))
            piece, more = TracedBytes.of_frame(data, frame, 0, time_ns), bool(match["more"])
            for item in fragments.add(
                key, int(match["start"]), piece, more=more, cut=False, frame=frame, time_ns=time_ns
            ):
                lines.append(f"{word}: {runs(item.data) if isinstance(item, TracedBytes) else item}")
        lines += [f"{one.key.identification} given up" for one in fragments.given_up]
        fragments.finish()
        for one in fragments.given_up:
            lines.append(f"{one.key.identification} is left with frames {one.frames[0]}..{one.frames[-1]}")
    return "".join(f"  = {line}\n" for line in lines)


TOLD = Told(Path(__file__).with_name("ip_fragments.txt"), said)


@pytest.mark.parametrize("name", TOLD.words)
def test_pieces_are_the_datagram_that_they_were_within_bounds(name: str) -> None:
    TOLD.holds(name)


def test_tiny_fragments_count_for_what_they_cost():
    fragments = Fragments(Limits(datagram_bytes=100_000))
    for number in range(2000):
        key, piece = FragmentKey(b"a", b"b", 6, number // 1000), TracedBytes.of_frame(bytes(8), 1)
        list(fragments.add(key, number % 1000 * 16, piece, more=True, cut=False, frame=1, time_ns=0))
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
