"""The speculative scan against the plain walk: whatever the guesses and the bytes are, the records are the same."""

import random
from io import BytesIO
from struct import pack
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.capture import pcap as pcap_module
from analyzer.capture import pcapng as pcapng_module
from analyzer.capture import record_walk
from analyzer.capture.record_walk import Chain, IntArray, SpeculativeScan, Walk, walk_plain
from tests.build.capture import T0, as_given, pcap, pcapng, read

PCAP = Chain("<", 8, 16, 16, smallest=0, largest=3000)
PCAPNG = Chain("<", 4, 0, 12, smallest=12, largest=3000, align=4)


def record(chain: Chain, body: bytes) -> bytes:
    if chain is PCAP:
        return pack("<IIII", 7, 7, len(body), len(body)) + body
    return pack("<II", 6, len(body) + 12) + body + bytes(-len(body) % 4) + pack("<I", len(body) + 12)


def records(chain: Chain, chance: random.Random) -> bytes:
    """Records whose bodies are noise, or chains of records that lead nowhere in particular; damaged or cut now and then."""
    out = []
    for _ in range(chance.randrange(200, 900)):
        size = chance.choice([0, 1, 40, 300, chance.randrange(2000)])
        fake = b"".join(record(chain, bytes(chance.choice([0, 8, 20]))) for _ in range(size // 20))
        body = (fake if chance.random() < 0.5 else chance.randbytes(size))[:size]
        out.append(record(chain, chance.randbytes(chance.randrange(4)) + body))
    data = b"".join(out)
    if chance.random() < 0.3:
        at = chance.randrange(len(data) - 4)
        data = data[:at] + chance.choice([bytes(4), b"\xff\xff\xff\xff", chance.randbytes(4)]) + data[at + 4 :]
    return data[: len(data) - chance.choice([0, 0, 1, 30, 500])]


class Guesses:
    """Right and wrong places in any mixture."""

    def __init__(self, chance: random.Random, right: IntArray, share: float) -> None:
        self._chance, self._right, self._share = chance, right, share

    def __call__(self, data: bytes, starts: range) -> IntArray:
        found = []
        for start in starts:
            at = start + self._chance.randrange(starts.step)
            if self._chance.random() < self._share and len(self._right):
                at = int(self._right[min(np.searchsorted(self._right, start), len(self._right) - 1)])
            if start <= at < min(start + starts.step, len(data) - 12):
                found.append(at)
        return np.array(found, np.int64)


def same(one: Walk, other: Walk) -> bool:
    return one.at.tolist() == other.at.tolist() and (one.stop, one.impossible) == (other.stop, other.impossible)


@pytest.mark.parametrize("chain", [PCAP, PCAPNG])
@settings(max_examples=60)
@given(
    st.integers(0, 2**48), st.sampled_from([0.0, 0.5, 0.95, 1.0]), st.sampled_from([700, 4000]), st.sampled_from([1, 8])
)
def test_no_guess_changes_what_is_found(chain: Chain, seed: int, share: float, width: int, behind: int) -> None:
    chance = random.Random(seed)
    data = records(chain, chance)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(record_walk, "FIRST_PARTITION_BYTES", width)
        patch.setattr(record_walk, "FEWEST_PARTITION_BYTES", width)
        patch.setattr(record_walk, "FEWEST_PARTITIONS", 3)
        patch.setattr(record_walk, "FEWEST_BEHIND", behind)
        walker = SpeculativeScan()
        start = 0
        for _ in range(2):
            plain = walk_plain(chain, data, start)
            assert same(walker.walk_records(chain, data, start, Guesses(chance, plain.at, share)), plain)
            # The second time with partitions as long as the first walk found them fit, from another record.
            start = int(plain.at[len(plain.at) // 2]) if len(plain.at) else 0


@pytest.mark.parametrize("write", [pcap, pcapng])
@settings(max_examples=20)
@given(st.integers(0, 2**48))
def test_payloads_that_hold_captures_are_payloads(write, seed: int) -> None:
    """The hostile file of our own guesses: headers with the right times and lengths, in every payload."""
    chance = random.Random(seed)
    inner = write([(T0 + n, bytes(chance.choice([0, 60, 200]))) for n in range(200)])[24 if write is pcap else 48 :]
    frames = []
    for n in range(400):
        at, size = chance.randrange(3000), chance.choice([0, 16, 400, 4000])
        frames.append((T0 + n * 1000, inner[at : at + size]))
    data = write(frames)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(record_walk, "FIRST_PARTITION_BYTES", 2000)
        patch.setattr(record_walk, "FEWEST_PARTITION_BYTES", 2000)
        assert as_given(read(BytesIO(data))[0]) == frames


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(("write", "module"), [(pcap, pcap_module), (pcapng, pcapng_module)])
def test_few_records_of_a_file_are_walked_one_by_one(
    write: Any, module: ModuleType, order: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted, for the result is the same either way: those that no partition leads to, and the first of a pcapng file."""
    walked = [0]

    def counting(*args: Any) -> Walk:
        found = walk_plain(*args)
        walked[0] += len(found.at)
        return found

    monkeypatch.setattr(record_walk, "walk_plain", counting)
    monkeypatch.setattr(module, "walk_plain", counting)
    # Frames of 0 to 99 bytes, 0.3 s apart, so that partitions begin in different seconds.
    frames = [(T0 + n * 300_000_000, bytes(n % 100)) for n in range(20_000)]
    data = write(frames, order=order)
    assert as_given(read(BytesIO(data))[0]) == frames
    assert walked[0] < 10_000
    walked[0] = 0
    assert len(read(BytesIO(data), fast=False)[0]) == 20_000
    assert walked[0] >= 20_000


def test_large_records_do_not_spoil_the_walk_over_small_ones() -> None:
    large = b"".join(record(PCAP, bytes(3000)) for _ in range(300))
    small = b"".join(record(PCAP, bytes(n % 100)) for n in range(20_000))
    walker = SpeculativeScan()
    for data in (large, small):
        right = walk_plain(PCAP, data).at
        assert walker.walk_records(PCAP, data, 0, Guesses(random.Random(1), right, 1.0)).at.tolist() == right.tolist()
    guessed: list[range] = []

    def guess(data: bytes, starts: range) -> IntArray:
        guessed.append(starts)
        return np.empty(0, np.int64)

    walker.walk_records(PCAP, small, 0, guess)
    assert len(guessed[0]) > 100
