"""Limits of the layer: each number with its source, and what happens on both sides of it."""

import pytest

from analyzer.core.events import Problem
from analyzer.core.limits import DEFAULTS
from analyzer.transport.packet import block_dissector as dissector_module
from analyzer.transport.packet.block_dissector import (
    _MOST_ENDPOINTS,
    _MOST_OF_A_KIND,
    FRAME_COST,
    LOOK_BEHIND_BYTES,
    Dissector,
)
from analyzer.transport.packet.common_frame_shapes import _MOST_TAGS, _MOST_TUNNELS, sort_out
from analyzer.transport.packet.flow_candidates import FIRST_BYTES, may_be_ours
from analyzer.transport.packet.frame_dissector import MAX_DEPTH, MAX_EXTENSIONS, FrameDissector
from analyzer.transport.packet.frame_tallies import _LINK_FRAMES_NAMED, FRAMES_NAMED, Tally
from analyzer.transport.packet.host_pair_sorter import _MOST_DATAGRAMS, _MOST_LOOSE
from analyzer.transport.packet.ip_fragments import (
    MAX_AGE_NS,
    MAX_DATAGRAM_BYTES,
    MAX_MARKS,
    PIECE_COST,
    REMEMBERED,
)
from analyzer.transport.packet.segment import SegmentBatch
from analyzer.transport.packet.segment_runs import BATCH_BYTES_BITS
from analyzer.transport.packet.tunnels import _MOST_GTP_EXTENSIONS, HEADER_LEN, Views
from tests.build.packet import block, ethernet, extension, gtp_u, ipv4, ipv6, smb2, tcp


def test_numbers_are_those_of_their_sources() -> None:
    # RFC 1122 section 3.3.2 asks for 60 to 120 seconds; RFC 791 section 3.1 has 16 bits for the length.
    assert (MAX_AGE_NS, MAX_DATAGRAM_BYTES) == (120 * 10**9, 65_535)
    # What a piece costs beside its bytes, repetitions that are remembered of a datagram, and whole datagrams (docs/reliability.md).
    assert (PIECE_COST, MAX_MARKS, REMEMBERED) == (256, 256, 1024)
    # docs/reliability.md: what waits so that a flow is recognised, and how many endpoints are known.
    assert (LOOK_BEHIND_BYTES, FRAME_COST, _MOST_ENDPOINTS) == (2 << 20, 16, 100_000)
    assert (FRAMES_NAMED, _LINK_FRAMES_NAMED, _MOST_OF_A_KIND) == (16, 8, 16)
    # As many datagrams as may wait for fragments at once; of such as began in the file before, what a burst of them leaves open.
    assert (DEFAULTS.datagrams, 256) == (_MOST_DATAGRAMS, _MOST_LOOSE)
    assert DEFAULTS.datagrams == 4096
    # A batch is of some runs of 128 KB.
    assert BATCH_BYTES_BITS == 18
    # GRE with its three optional words has 16 bytes (RFC 2890), GTP-U 12 with its optional fields.
    assert HEADER_LEN == 16


def is_read_by_the_block(frame: bytes) -> bool:
    made = block([frame] * 16)
    found, left = sort_out(made, Views(made.data))
    assert len(found) + len(left) == 16
    return len(left) == 0


@pytest.mark.parametrize("count", range(7))
def test_so_many_tags_and_tunnels_are_removed_by_the_block(count: int) -> None:
    assert (_MOST_TAGS, _MOST_TUNNELS, _MOST_GTP_EXTENSIONS) == (4, 3, 2)
    packet = ipv4(tcp(smb2()))
    assert is_read_by_the_block(ethernet(packet, tags=[0x8100] * count)) == (count <= 4)
    nested = packet
    for _ in range(count):
        nested = ipv4(nested, protocol=4)
    assert is_read_by_the_block(ethernet(nested)) == (count <= 3)
    extended = ipv4(gtp_u(packet, extensions=[b"\0\1"] * count), protocol=17)
    assert is_read_by_the_block(ethernet(extended)) == (count <= 2)


def alone(packet: bytes) -> list[object]:
    made = block([packet], link_type=101)
    return [item for item in FrameDissector().dissect(made.frame(0))]  # noqa: C416


@pytest.mark.parametrize(("count", "is_found"), [(0, True), (15, True), (16, True), (17, False)])
def test_sixteen_extension_headers_are_followed(count: int, is_found: bool) -> None:
    assert MAX_EXTENSIONS == 16
    payload, protocol = tcp(smb2()), 6
    for _ in range(count):
        payload, protocol = extension(protocol, payload), 60
    found = alone(ipv6(payload, protocol=protocol))
    assert [getattr(item, "kind", "found") for item in found] == ["found" if is_found else "extensions"]
    inner = ipv4(tcp(smb2()))
    # In GTP-U as many.
    extended = ipv4(gtp_u(inner, extensions=[b"\0\1"] * count), protocol=17)
    assert [getattr(item, "kind", "found") for item in alone(extended)] == ["found" if is_found else "extensions"]


@pytest.mark.parametrize(("count", "kind"), [(8, "Found"), (9, "LostSegment")])
def test_eight_tunnels_inside_each_other_are_followed(count: int, kind: str) -> None:
    assert MAX_DEPTH == 8
    packet = ipv4(tcp(smb2()))
    for _ in range(count):
        packet = ipv4(packet, protocol=4)
    assert [type(item).__name__ for item in alone(packet)] == [kind]


def test_endpoints_are_forgotten_beyond_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dissector_module, "_MOST_ENDPOINTS", 3)
    dissector = Dissector()
    ends = [dissector._endpoint((b"\1\2\3\4", port)) for port in range(3)]
    assert dissector._endpoint((b"\1\2\3\4", 0)) is ends[0]
    assert len(dissector._endpoints) == 3
    assert dissector._endpoint((b"\1\2\3\4", 3)).port == 3
    assert len(dissector._endpoints) == 1
    frames = [ipv4(tcp(b"x", sport=port)) for port in range(1, 5)]
    pairs = [dissector._ends(frame, 0, 20) for frame in frames[:3]]
    assert dissector._ends(frames[0], 0, 20) is pairs[0]
    assert len(dissector._pairs) == 3
    src, dst, key, by_port = dissector._ends(frames[3], 0, 20)
    assert len(dissector._pairs) == 1
    assert (src.port, dst.port, by_port, key) == (4, 445, True, tuple(sorted(key)))


@pytest.mark.parametrize("count", [15, 16, 17, 40])
def test_sixteen_problems_of_a_kind_are_stated_and_the_rest_counted(count: int) -> None:
    frames = []
    for number in range(count):
        for data in (b"a" * 8, b"b" * 8):
            frames.append(ethernet(ipv4(data, ident=number, offset=0, more=True)))
    dissector = Dissector()
    made = [*dissector.feed(block(frames)), *dissector.finish()]
    conflicts = [item for item in made if isinstance(item, Problem) and item.kind == "conflict"]
    assert len(conflicts) == min(count, 16) + (count > 16)
    if count > 16:
        assert conflicts[-1].text.startswith(f"{count - 16} time{'s' if count > 17 else ''} more: ")
        assert conflicts[-1].frames == tuple(range(2, 34, 2))


def test_sixteen_frames_of_a_tally_are_named() -> None:
    tally = Tally()
    for number in range(20):
        tally.note(number, 100 - number, more=number % 2)
    assert (tally.count, tally.frames) == (30, tuple(range(16)))
    other = Tally(5, [(1, 77), (200, 78)])
    tally.add(other)
    assert (tally.count, len(tally.firsts), tally.frames[:2]) == (35, 16, (77, 15))


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        *(
            (bytes([first]) + b"xyz", first in (0x00, 0x05, 0x81, 0x82, 0x85))
            for first in (0, 1, 4, 5, 6, 0x80, 0x81, 0x82, 0x83, 0x84, 0x85, 0x86)
        ),
        # A protocol id of SMB anywhere, or its first bytes at the end.
        *((b"x" + bytes([first]) + b"SMBx", first >= 0xFC) for first in (0xFB, 0xFC, 0xFD, 0xFE, 0xFF)),
        *((b"xy" + b"\xfeSMB"[:length], length > 0) for length in range(5)),
        (b"x\xfeSx", False),
        (b"x\xfeSMx", False),
    ],
)
def test_what_a_stream_of_ours_may_have(payload: bytes, expected: bool) -> None:
    """The framing of SMB and types of NetBIOS packets (RFC 1002 section 4.3.1), DCERPC's version, a Kerberos length."""
    assert set(FIRST_BYTES) == {0x00, 0x05, 0x81, 0x82, 0x85}
    assert may_be_ours(b"??" + payload + b"SMB", 2, 2 + len(payload)) == expected


def test_blocks_wait_for_so_many_bytes_behind_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each frame counts 16 bytes for its record."""
    frame = ethernet(ipv4(tcp(smb2())))
    cost = len(frame) + 16
    for behind, is_out in ((cost - 1, True), (cost, True), (cost + 1, False)):
        monkeypatch.setattr(dissector_module, "LOOK_BEHIND_BYTES", behind)
        dissector = Dissector(fast=False)
        first = [*dissector.feed(block([frame]))]
        second = [*dissector.feed(block([frame], first=2))]
        assert not first
        assert [type(item) for item in second] == [SegmentBatch] * is_out
        assert dissector._held_size == (1 if is_out else 2) * cost


def test_few_frames_of_ours_wait_for_so_many_bytes_of_others_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted anew behind each time that they were given out."""
    monkeypatch.setattr(dissector_module, "LOOK_BEHIND_BYTES", 1)
    frames = [ethernet(ipv4(tcp(smb2())))] * 16
    size = sum(len(frame) + 16 for frame in frames)
    for most, each in ((2 * size, 2), (2 * size + 1, 3), (size, 1), (size + 1, 2)):
        dissector = Dissector(most_passed=most)
        given = [len([*dissector.feed(block(frames, first=1 + 16 * at))]) > 0 for at in range(8)]
        # A block is given out when the next one is there.
        assert [at for at, some in enumerate(given) if some] == list(range(each, 8, each))
