"""Where records are guessed to begin, and how partitions are walked: the guesses of sound files, and what each step finds."""

import random
from struct import pack
from typing import Literal

import numpy as np
import numpy.typing as npt
import pytest

from analyzer.capture import record_walk
from analyzer.capture.pcap import MAX_FRAME_BYTES, PcapHeader, _RecordFinder
from analyzer.capture.pcapng import MAX_BLOCK_BYTES, _PacketBlockFinder
from analyzer.capture.record_walk import (
    FEWEST_BEHIND,
    FEWEST_PARTITION_BYTES,
    FEWEST_PARTITIONS,
    FEWEST_STEPS,
    FIRST_PARTITION_BYTES,
    FIRST_STEPS,
    Chain,
    IntArray,
    SpeculativeScan,
    Walk,
    _step,
    _verified_walk,
    first_right,
    walk_plain,
    words_of,
)

Order = Literal["<", ">"]
S0 = 1_700_000_000


def pcap_chain(order: Order = "<", header: int = 16, length_at: int = 8) -> Chain:
    return Chain(order, length_at, header, header, smallest=0, largest=MAX_FRAME_BYTES)


def pcap_guess(order: Order = "<", fraction_ns: int = 1000, chain: Chain | None = None) -> _RecordFinder:
    return _RecordFinder(chain or pcap_chain(order), PcapHeader(order, fraction_ns, 16, 1, lengths_swapped=False))


def record(order: Order, seconds: int, fraction: int, length: int, body: bytes = b"") -> bytes:
    return pack(order + "IIII", seconds, fraction, length, length) + body


@pytest.mark.parametrize("order", ["<", ">"])
def test_what_is_sought_in_pcap_is_the_beginning_of_seconds(order: Order) -> None:
    """Three bytes of them where they are those of the block before, else two: the file goes on for longer than that."""
    guess = pcap_guess(order)
    whole = (0x65_53_F1_22).to_bytes(4, "little" if order == "<" else "big")
    upper = {"<": (2, whole[2:]), ">": (0, whole[:2])}[order]
    nearly = {"<": (1, whole[1:]), ">": (0, whole[:3])}[order]
    guess.learn(whole + bytes(12))
    assert (guess._high_at, guess._high) == upper
    for seconds, expected in ((0x65_53_F1_99, nearly), (0x65_53_F1_22, nearly)):
        guess.learn(seconds.to_bytes(4, "little" if order == "<" else "big") + bytes(12))
        assert (guess._high_at, guess._high) == expected
    guess.learn((0x65_53_F2_22).to_bytes(4, "little" if order == "<" else "big"))
    assert guess._high_at == upper[0]
    assert len(guess._high) == 2


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("fraction_ns", [1, 1000])
@pytest.mark.parametrize("header", [16, 24])
def test_in_a_sound_pcap_the_first_record_of_each_partition_is_found(
    order: Order, fraction_ns: int, header: int
) -> None:
    most = 999_999_999 if fraction_ns == 1 else 999_999
    body, places = b"", []
    for number in range(400):
        size = number % 90
        places.append(len(body))
        body += record(order, S0 + number, most, size, bytes(header - 16) + b"\xee" * size)
    guess = pcap_guess(order, fraction_ns, pcap_chain(order, header))
    guess.learn(body)
    starts = range(500, len(body) - 500, 700)
    expected = [next(place for place in places if place >= start) for start in starts]
    assert guess(body, starts).tolist() == expected


@pytest.mark.parametrize(
    ("first", "second", "behind", "expected"),
    [
        ((S0, 999_999, 4), (S0 + 1, 999_999, 0), 0, True),
        ((S0, 1_000_000, 4), (S0 + 1, 0, 0), 0, False),
        ((S0, 0, 4), (S0 + 1, 1_000_000, 0), 0, False),
        ((S0, 0, MAX_FRAME_BYTES), (S0 + 1, 0, 0), 0, True),
        ((S0, 0, MAX_FRAME_BYTES + 1), (S0 + 1, 0, 0), 0, False),
        ((S0, 0, 4), (S0, 0, MAX_FRAME_BYTES), 0, True),
        ((S0, 0, 4), (S0, 0, MAX_FRAME_BYTES + 1), 0, False),
        ((0x6553_0000, 0, 4), (0x6553_FFFF, 0, 0), 0, True),
        ((0x6553_FFFF, 0, 4), (0x6554_0000, 0, 0), 0, False),
        ((S0, 0, 0), (S0, 0, 0), 0, True),
        # The second header has to be there.
        ((S0, 0, 4), (S0, 0, 0), -1, False),
        ((S0, 0, 4), (S0, 0, 0), 1, True),
    ],
)
@pytest.mark.parametrize("order", ["<", ">"])
def test_two_records_of_pcap_in_a_row_look_right(
    order: Order, first: tuple[int, int, int], second: tuple[int, int, int], behind: int, expected: bool
) -> None:
    data = record(order, *first, bytes(first[2])) + record(order, *second) + bytes(max(behind, 0))
    data = data[: len(data) + min(behind, 0)]
    guess = pcap_guess(order)
    found = guess._look_right(data, np.array([0, -1, len(data) - 15, len(data) - 3, len(data) + 9], np.int64))
    assert found.tolist() == [expected, False, False, False, False]


def test_nanoseconds_are_below_a_thousand_millions() -> None:
    for fraction, expected in ((999_999_999, True), (1_000_000_000, False)):
        data = record("<", S0, fraction, 0) * 2
        assert pcap_guess("<", 1)._look_right(data, np.array([0], np.int64)).tolist() == [expected]


def block(order: Order, kind: int, length: int, last: int | None = None) -> bytes:
    return (
        pack(order + "II", kind, length) + b"\xee" * (length - 12) + pack(order + "I", length if last is None else last)
    )


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("base", [0, 2, 28])
def test_in_a_sound_pcapng_the_first_packet_of_each_partition_is_found(order: Order, base: int) -> None:
    data, places = b"\xee" * base, []
    for number in range(400):
        kind = 6 if number % 5 else 5
        if kind == 6:
            places.append(len(data))
        data += block(order, kind, 12 + 4 * (number % 25))
    starts = range(base + 500, len(data) - 500, 700)
    guess = _PacketBlockFinder(order, base)
    expected = [next(place for place in places if place >= start) for start in starts]
    assert guess(data, starts).tolist() == expected


@pytest.mark.parametrize(
    ("lengths", "lasts", "expected"),
    [
        ((12, 12), (12, 12), True),
        ((16, 40), (16, 40), True),
        ((16, 40), (12, 40), False),
        ((16, 40), (16, 36), False),
        ((16,), (16,), False),
        ((14, 12), (14, 12), False),
        ((16, 13), (16, 13), False),
    ],
)
@pytest.mark.parametrize("order", ["<", ">"])
def test_two_blocks_in_a_row_have_their_lengths_at_both_ends(
    order: Order, lengths: tuple[int, ...], lasts: tuple[int, ...], expected: bool
) -> None:
    data = b"".join(block(order, 6, length, last) for length, last in zip(lengths, lasts, strict=True))
    guess = _PacketBlockFinder(order, 0)
    at = np.array([0, -4, 4, 2, len(data) - 8, len(data)], np.int64)
    assert guess._look_right(data, at).tolist() == [expected, *[False] * 5]
    # Blocks begin at multiples of 4 from where the walk began.
    moved = np.array([2], np.int64)
    assert _PacketBlockFinder(order, 2)._look_right(b"\0\0" + data, moved).tolist() == [expected]
    assert not _PacketBlockFinder(order, 0)._look_right(b"\0\0" + data, moved).any()
    assert not _PacketBlockFinder(order, 3)._look_right(b"\0\0" + data, moved).any()


@pytest.mark.parametrize(("length", "expected"), [(8, False), (11, False), (12, True), (0, False)])
def test_a_block_has_12_bytes_at_least(length: int, expected: bool) -> None:
    data = block("<", 6, 12) + pack("<III", 6, length, length) + bytes(20)
    assert _PacketBlockFinder("<", 0)._look_right(data, np.array([0], np.int64)).tolist() == [expected]


@pytest.mark.parametrize(("length", "expected"), [(MAX_BLOCK_BYTES, True), (MAX_BLOCK_BYTES + 4, False)])
def test_a_block_has_16_mib_at_most(length: int, expected: bool) -> None:
    data = bytearray(length + 12)
    data[:8] = pack("<II", 6, length)
    data[length - 4 : length + 12] = pack("<IIII", length, 6, 12, 12)
    assert _PacketBlockFinder("<", 0)._look_right(bytes(data), np.array([0], np.int64)).tolist() == [expected]


@pytest.mark.parametrize(
    ("tries", "expected", "asked"),
    [
        # Two of the four partitions have it at once; one more at each further try, and one never.
        (1, [10, 110], [4]),
        (2, [10, 110, 250], [4, 2]),
        (3, [10, 110, 250, 333], [4, 2, 1]),
        (9, [10, 110, 250, 333], [4, 2, 1]),
    ],
)
def test_a_guess_is_tried_again_where_it_is_wrong(tries: int, expected: list[int], asked: list[int]) -> None:
    """Sought at 10, 110, (210) 250, (301) (320) 333: what is in brackets does not look right."""
    data = bytearray(500)
    for at in (10, 110, 210, 250, 301, 320, 333, 400):
        data[at + 3] = 7
    calls: list[int] = []

    def look_right(at: IntArray) -> npt.NDArray[np.bool_]:
        calls.append(len(at))
        return np.isin(at, [10, 110, 250, 333])

    found = first_right(bytes(data), b"\7", 3, range(0, 400, 100), tries, look_right)
    assert found.tolist() == expected
    assert calls == asked


def test_a_guess_stays_in_its_partition() -> None:
    data = bytearray(400)
    data[205] = data[302] = 7
    found = first_right(bytes(data), b"\7", 2, range(0, 300, 100), 4, lambda at: at >= 0)
    assert found.tolist() == [203]
    # What stands `offset` bytes behind the end of a partition belongs to a place within it.
    data[205] = 0
    found = first_right(bytes(data), b"\7", 3, range(0, 300, 100), 4, lambda at: at >= 0)
    assert found.tolist() == [299]


def test_the_last_partition_is_looked_at_however_short_it_is() -> None:
    data = bytearray(420)
    for at in (3, 103, 203, 303):
        data[at] = 7
    for stop in (301, 350, 400):
        assert first_right(bytes(data), b"\7", 3, range(0, stop, 100), 1, lambda at: at >= 0).tolist() == [
            0,
            100,
            200,
            300,
        ]


CHAIN = Chain("<", 8, 16, 16, smallest=0, largest=3000)


def chained(sizes: list[int]) -> bytes:
    return b"".join(record("<", 7, 7, size, bytes(size)) for size in sizes)


class Exactly:
    """A guess that knows where records begin, and notes what it was asked."""

    def __init__(self, right: IntArray) -> None:
        self.right = right
        self.asked: list[range] = []

    def __call__(self, data: bytes, starts: range) -> IntArray:
        self.asked.append(starts)
        places = np.searchsorted(self.right, np.array(starts))
        return np.unique(self.right[places[places < len(self.right)]])


@pytest.mark.parametrize(
    ("count", "size", "start", "partition", "steps"),
    [
        # As many steps as partitions: the root of the number of records, 16 at least, 4 KB at least.
        (10_000, 84, 0, 10_000, 100),
        (10_000, 84, 500, 9_900, 99),
        (100, 84, 0, 4096, 40),
        (400, 484, 0, 10_000, 20),
        (9, 2000, 2016, 32_256, 16),
        (1, 0, 0, 4096, 256),
    ],
)
def test_partitions_are_cut_by_the_records_of_the_block_before(
    count: int, size: int, start: int, partition: int, steps: int
) -> None:
    assert (FIRST_PARTITION_BYTES, FIRST_STEPS, FEWEST_PARTITION_BYTES, FEWEST_STEPS) == (32 << 10, 64, 4 << 10, 16)
    data = chained([size] * count)
    scan = SpeculativeScan()
    assert (scan._partition_bytes, scan._steps) == (32 << 10, 64)
    scan.walk_records(CHAIN, data, start, Exactly(walk_plain(CHAIN, data).at))
    assert (scan._partition_bytes, scan._steps) == (partition, steps)
    scan.walk_records(CHAIN, b"", 0, Exactly(np.empty(0, np.int64)))
    assert (scan._partition_bytes, scan._steps) == (partition, steps)


@pytest.mark.parametrize(("partitions", "is_guessed"), [(15, False), (16, True), (17, True)])
@pytest.mark.parametrize("start", [0, 160])
def test_fewer_than_sixteen_partitions_are_walked_one_by_one(
    partitions: int, is_guessed: bool, start: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They step together, which costs more than it saves for few."""
    assert FEWEST_PARTITIONS == 16
    scan = SpeculativeScan()
    scan._partition_bytes = 160
    data = chained([0] * (10 * (partitions + 2) + start // 16))
    guess = Exactly(walk_plain(CHAIN, data).at)
    walked: list[int] = []

    def counting(*given: object) -> Walk:
        found = walk_plain(*given)
        walked.append(len(found.at))
        return found

    monkeypatch.setattr(record_walk, "walk_plain", counting)
    found = scan.walk_records(CHAIN, data, start, guess)
    assert found.at.tolist() == list(range(start, len(data), 16))
    assert guess.asked == ([range(start + 160, len(data) - 160, 160)] if is_guessed else [])
    assert sum(walked) == (0 if is_guessed else len(found.at))


def stepped(sizes: list[list[int]], expected: int) -> tuple[list[list[int]], list[int], list[int]]:
    """Partitions of records of these sizes: what was come by in each, where each begins, and where it was next."""
    starts, data = [], b""
    for partition in sizes:
        starts.append(len(data))
        data += chained(partition)
    stops = [*starts[1:], len(data)]
    lengths = words_of(data, "<")[8:]
    at, counts, arrivals = _step(CHAIN, lengths, np.array(starts), np.array(stops), expected)
    assert counts.sum() == len(at)
    lasts = np.cumsum(counts)
    parts = [part.tolist() for part in np.split(at, lasts[:-1])]
    assert [part[0] for part in parts] == starts
    return parts, stops, arrivals.tolist()


@pytest.mark.parametrize("expected", [40, 100])
def test_partitions_step_together_until_all_have_arrived(expected: int) -> None:
    chance = random.Random(1)
    sizes = [[chance.randrange(60) for _ in range(chance.randrange(30, 40))] for _ in range(20)]
    parts, stops, arrivals = stepped(sizes, expected)
    assert arrivals == stops
    assert [len(part) for part in parts] == [len(partition) for partition in sizes]


@pytest.mark.parametrize("behind", [1, 7, 8, 9])
def test_few_partitions_that_are_behind_are_given_up(behind: int) -> None:
    """16 records were expected, an eighth more are stepped over; seven that have 60 are not worth more steps for all."""
    assert FEWEST_BEHIND == 8
    sizes = [[4] * (60 if number < behind else 16) for number in range(20)]
    parts, stops, arrivals = stepped(sizes, 16)
    if behind < 8:
        assert [len(part) for part in parts] == [18] * behind + [16] * (20 - behind)
        assert arrivals[behind:] == stops[behind:]
        assert [stop - at for at, stop in zip(arrivals[:behind], stops[:behind], strict=True)] == [20 * 42] * behind
    else:
        assert arrivals == stops
        assert [len(part) for part in parts] == [60] * behind + [16] * (20 - behind)


@pytest.mark.parametrize("chain", [CHAIN, Chain("<", 4, 0, 12, smallest=12, largest=3000, align=4)])
def test_what_partitions_came_by_is_verified(chain: Chain) -> None:
    """The whole records up to the first that is impossible; the same as the plain walk, wherever the data ends."""
    is_pcap = chain is CHAIN
    sizes = [20, 2984 if is_pcap else 3000 - 12, 0, 40]
    made = [
        record("<", 7, 7, size, bytes(size))
        if is_pcap
        else pack("<II", 6, size + 12) + bytes(size) + pack("<I", size + 12)
        for size in sizes
    ]
    data = b"".join(made)
    right = np.cumsum([0, *(len(one) for one in made[:-1])])
    for length in (*range(len(data) - 60, len(data) + 1), 3020, 3030, 12, 16):
        cut = data[:length]
        lengths = words_of(cut, "<")[chain.length_at :]
        found, plain = _verified_walk(chain, cut, 0, lengths, right), walk_plain(chain, cut)
        assert (found.at.tolist(), found.stop, found.impossible) == (plain.at.tolist(), plain.stop, plain.impossible)
    for at in right.tolist():
        for length in (0, 8, 11, 12, 13, 16, 2999, 3000, 3001, 3004, 0xFFFFFFFF):
            place = at + chain.length_at
            changed = data[:place] + pack("<I", length) + data[place + 4 :]
            lengths = words_of(changed, "<")[chain.length_at :]
            plain = walk_plain(chain, changed)
            followed = [one for one in right.tolist() if one <= at]
            found = _verified_walk(chain, changed, 0, lengths, np.array(followed))
            assert (found.at.tolist(), found.stop, found.impossible) == (
                plain.at.tolist(),
                plain.stop,
                plain.impossible,
            )
