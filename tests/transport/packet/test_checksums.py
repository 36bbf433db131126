"""A wrong TCP checksum is noted and costs nothing; what a network card will fill in later is not wrong."""

import random
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scapy.layers.inet import IP, TCP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Raw

from analyzer.core.events import Problem
from analyzer.transport.packet.segment import Segment
from analyzer.transport.packet.segment_columns import word_sums
from tests.build.packet import block, dissect

SMB = b"\0\0\0\x08\xfeSMBdata"


def read(*frames: bytes, fast: bool) -> tuple[list[Segment], list[Problem]]:
    return dissect(block(frames), fast=fast)


def frame(version: int, payload: bytes, checksum: int | None = None) -> bytes:
    ip = IP(src="10.0.0.1", dst="10.0.0.2") if version == 4 else IPv6(src="fd00::1", dst="fd00::2")
    tcp = TCP(sport=40000, dport=445, flags="PA", seq=7, chksum=checksum)
    link = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
    return bytes(link / ip / tcp / Raw(payload))


def pseudo_sum(raw: bytes, version: int, *, with_length: bool) -> int:
    """The sum over the pseudo header, as a system leaves it to the card (RFC 9293 section 3.1)."""
    addresses = raw[26:34] if version == 4 else raw[22:54]
    length = len(raw) - (34 if version == 4 else 54)
    total = sum(struct.unpack(f">{len(addresses) // 2}H", addresses)) + 6 + (length if with_length else 0)
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("version", [4, 6])
@pytest.mark.parametrize("payload", [SMB, SMB + b"odd"])
def test_right_and_unfinished_checksums_are_not_mentioned(payload: bytes, version: int, fast: bool) -> None:
    right = frame(version, payload)
    frames = [
        right,
        frame(version, payload, 0),
        frame(version, payload, pseudo_sum(right, version, with_length=True)),
        frame(version, payload, pseudo_sum(right, version, with_length=False)),
    ]
    segments, problems = read(*frames, fast=fast)
    assert [segment.payload.data for segment in segments] == [payload] * 4
    assert problems == []


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("version", [4, 6])
def test_a_wrong_checksum_is_noted_once_and_the_segment_is_used(version: int, fast: bool) -> None:
    damaged = bytearray(frame(version, SMB))
    damaged[-1] ^= 0x20
    segments, (problem,) = read(frame(version, SMB), bytes(damaged), bytes(damaged), fast=fast)
    assert len(segments) == 3
    assert (problem.kind, problem.frames) == ("note", (2, 3))
    assert "2 TCP segments have a wrong checksum" in problem.text


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([4, 6]),
            st.binary(max_size=90),
            st.one_of(st.none(), st.integers(0, 0xFFFF)),
            st.integers(0, 1500),
        ),
        max_size=12,
    ),
    st.booleans(),
)
def test_both_paths_judge_every_checksum_alike(
    given_frames: list[tuple[int, bytes, int | None, int]], is_sparse: bool
) -> None:
    frames: list[bytes] = []
    for version, payload, checksum, length in given_frames:
        frames.append(frame(version, SMB + payload, checksum))
        # Frames of others in between, so that sums are taken one by one or over the whole block.
        frames.append(bytes(14 + (20 * length if is_sparse else 1)))
    assert read(*frames, fast=True) == read(*frames, fast=False)


@pytest.mark.parametrize("fast", [True, False])
def test_a_segment_that_was_cut_short_cannot_be_checked(fast: bool) -> None:
    segments, problems = read(frame(4, SMB * 40)[:200], fast=fast)
    assert segments[0].missing > 0
    assert problems == []


@settings(max_examples=100)
@given(st.integers(0, 2**48), st.sampled_from([1, 60]))
def test_sums_of_words_are_those_of_the_bytes_as_one_number(seed: int, thin: int) -> None:
    chance = random.Random(seed)
    data, starts, lengths = b"", [], []
    for _ in range(chance.randrange(1, 20)):
        data += chance.randbytes(chance.randrange(40) * thin)
        starts.append(len(data))
        lengths.append(chance.choice([16, 20, 21, 33, chance.randrange(20, 3000)]))
        data += chance.choice([chance.randbytes(lengths[-1]), b"\xff" * lengths[-1], bytes(lengths[-1])])
    data += chance.randbytes(chance.randrange(20))
    plain = [
        int.from_bytes(data[start : start + length], "little") % 0xFFFF
        for start, length in zip(starts, lengths, strict=True)
    ]
    # In the order of a merge, too.
    order = chance.sample(range(len(starts)), len(starts))
    assert word_sums(data, np.array(starts), np.array(lengths)).tolist() == plain
    assert word_sums(data, np.array(starts)[order], np.array(lengths)[order]).tolist() == [plain[at] for at in order]
