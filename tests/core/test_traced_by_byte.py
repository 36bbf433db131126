"""Bytes say of any part of themselves what a list of single bytes says: where each was captured, and when.

Frames and times go up and down, and one frame has several pieces, so that a neighbour's answer is a wrong one.
"""

import pickle
from array import array
from collections.abc import Callable, Iterable
from itertools import accumulate, combinations_with_replacement, groupby
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.core.byte_log import Log
from analyzer.core.byte_origins import (
    PACKED_EXTENT,
    PACKED_SHARED,
    FrameExtent,
    FrameTable,
    PackedOrigins,
    Source,
    packed_length,
    spanned,
)
from analyzer.core.traced_bytes import EMPTY, StoredBytes, TracedBuffer, TracedBytes, data_of, untraced


class Byte(NamedTuple):
    """A byte as it was captured."""

    value: int
    frame: int
    offset: int
    time_ns: int


# Of each piece: its bytes, frame, offset in the frame, time.
PIECES = [(b"abc", 7, 40, 5000), (b"d", 3, 90, 9000), (b"ef", 7, 60, 5000), (b"ghij", 9, 54, 1000), (b"k", 4, 0, 7000)]
ORDERED = [(b"abc", 3, 40, 1000), (b"d", 3, 43, 1000), (b"ef", 5, 60, 5000), (b"ghij", 8, 54, 5000), (b"k", 9, 0, 7000)]


def plain(pieces: Iterable[tuple[bytes, int, int, int]]) -> list[Byte]:
    return [
        Byte(value, frame, offset + at, time_ns)
        for data, frame, offset, time_ns in pieces
        for at, value in enumerate(data)
    ]


def table(pieces: list[tuple[bytes, int, int, int]], *, ordered: bool = False) -> TracedBytes:
    datas, frames, offsets, times = zip(*pieces, strict=True)
    starts = array("q", [0, *accumulate(map(len, datas))])
    return TracedBytes(b"".join(datas), FrameTable(starts, list(frames), list(offsets), list(times), ordered=ordered))


def parts(length: int) -> Iterable[tuple[int, int]]:
    """Where each part of so many bytes begins and ends."""
    return combinations_with_replacement(range(length + 1), 2)


def single(pieces: list[tuple[bytes, int, int, int]]) -> list[TracedBytes]:
    return [TracedBytes.of_frame(*piece) for piece in pieces]


def buffered(pieces: list[tuple[bytes, int, int, int]]) -> TracedBytes:
    buffer = TracedBuffer()
    for piece in single(pieces):
        buffer.append(piece)
    return buffer.take_all()


def picked(pieces: list[tuple[bytes, int, int, int]]) -> TracedBytes:
    """Slices of longer pieces."""
    longer = [
        TracedBytes.of_frame(b"<" + data + b">>", frame, offset - 1, time) for data, frame, offset, time in pieces
    ]
    return TracedBytes.pick([(piece, 1, len(piece) - 2) for piece in longer])


def of_tables(pieces: list[tuple[bytes, int, int, int]]) -> TracedBytes:
    """Many parts of few sources."""
    first, second = table(pieces[:3]), table(pieces[3:])
    parts = [first[at : at + 1] for at in range(len(first))] + [second[at : at + 1] for at in range(len(second))]
    assert len(parts) == 11
    # Neighbours of a source are one again, so every other byte is taken from a source of its own.
    doubled = table(pieces[:3]), table(pieces[3:])
    parts[1], parts[8] = doubled[0][1:2], doubled[1][2:3]
    return TracedBytes.join(parts)


MAKERS: list[Callable[[list[tuple[bytes, int, int, int]]], TracedBytes]] = [
    table,
    buffered,
    picked,
    of_tables,
    lambda pieces: TracedBytes.join(single(pieces)),
    lambda pieces: TracedBytes.rejoined(single(pieces)),
    lambda pieces: TracedBytes.join([TracedBytes.join(single(pieces[:2])), TracedBytes.join(single(pieces[2:]))]),
    lambda pieces: TracedBytes.join([untraced(b""), table(pieces)[:4], EMPTY, table(pieces)[4:]]),
    lambda pieces: TracedBytes(b"-" * 11, TracedBytes.join(single(pieces)).source).replaced(
        b"".join(piece[0] for piece in pieces), "unseal"
    ),
]
NAMES = [
    "table", "buffer", "pick", "parts of tables", "join", "rejoined", "join of joins", "halves", "replaced"
]  # fmt: skip


def extents_of(bytes_: list[Byte]) -> list[tuple[int, int, int]]:
    """Runs of neighbouring bytes of one frame."""
    runs = groupby(enumerate(bytes_), lambda each: (each[1].frame, each[1].offset - each[0]))
    found = []
    for (frame, _), members in runs:
        run = [byte for _, byte in members]
        found.append((frame, run[0].offset, len(run)))
    return found


def origin_of(item: TracedBytes) -> list[tuple[int, int, int]]:
    return [(extent.frame, extent.start, extent.length) for extent in item.origin(0, len(item))]


def singly(extents: Iterable[FrameExtent]) -> list[tuple[int, int]]:
    return [(extent.frame, extent.start + at) for extent in extents for at in range(extent.length)]


def check(item: TracedBytes, expected: list[Byte]) -> None:
    """All that the bytes say but their times."""
    frames = sorted({byte.frame for byte in expected})
    assert bytes(item) == item.data == bytes(byte.value for byte in expected)
    assert len(item) == len(expected)
    assert origin_of(item) == extents_of(expected)
    assert item.frames == tuple(frames)
    assert item.frame_range == ((frames[0], frames[-1]) if frames else None)
    noted = {1234}
    item.note_frames(noted)
    assert noted == {1234, *frames}
    places = [(byte.frame, byte.offset) for byte in expected]
    assert singly(item.extents()) == places
    extents = list(item.extents())
    for most in (1, 2, 3, 99):
        assert list(item.last_extents(most)) == extents[::-1][:most]
    packed = bytearray(b"?")
    item.source.pack(item.start, item.start + len(item), packed)
    assert packed[1:] == item.packed_origins
    assert packed_length(item.packed_origins) == len(item)
    assert singly(FrameExtent(*row) for row in PACKED_EXTENT.iter_unpack(item.packed_origins)) == places


def check_times(item: TracedBytes, expected: list[Byte]) -> None:
    times = [byte.time_ns for byte in expected]
    assert item.times == ((min(times), max(times)) if times else None)
    assert item.first_time_ns == min(times, default=None)
    assert item.last_time_ns == max(times, default=None)
    assert [item.time_ns_at(at) for at in range(len(item))] == times
    assert item.time_ns_at(len(item)) == item.time_ns_at(len(item) + 1) == 0
    assert [extent.time_ns for extent in item.extents() for _ in range(extent.length)] == times
    assert item.source.located(item.start, item.start + len(item)) == (item.packed_origins, item.times)


@pytest.mark.parametrize("pieces", [PIECES, ORDERED], ids=["disordered", "ordered"])
@pytest.mark.parametrize("make", MAKERS, ids=NAMES)
def test_any_part_is_where_and_when_each_of_its_bytes_was_captured(
    make: Callable[[list[tuple[bytes, int, int, int]]], TracedBytes], pieces: list[tuple[bytes, int, int, int]]
) -> None:
    expected = plain(pieces)
    for start, stop in parts(len(expected)):
        whole = make(pieces)
        assert whole.lead(stop)[:stop] == b"abcdefghijk"[:stop]
        for item in (whole[start:stop], whole.view(start, stop)):
            check(item, expected[start:stop])
            check_times(item, expected[start:stop])
            assert item.steps == whole.steps
        assert whole.part(start, stop) == bytes(byte.value for byte in expected[start:stop])
        packed, times = whole.settled(start, stop)
        check(packed, expected[start:stop])
        assert times == whole[start:stop].times
        assert isinstance(packed.source, PackedOrigins)
        assert packed.source.length == stop - start
    check_times(make(pieces), expected)


def test_a_table_that_is_ordered_says_what_one_says_that_is_not() -> None:
    one, other = table(ORDERED, ordered=True), table(ORDERED)
    expected = plain(ORDERED)
    # Slices that leave out some, so that nothing joins to neighbours; some begin or end within a piece.
    for cuts in ([0, 2, 3, 5, 6, 9, 10, 11], [1, 3, 4, 6, 7, 8], [0, 1, 1, 2, 10, 11], [3, 4, 4, 5]):
        ranges = list(zip(cuts[::2], cuts[1::2], strict=True))
        chosen = [byte for start, stop in ranges for byte in expected[start:stop]]
        for joined in (TracedBytes.join([whole[start:stop] for start, stop in ranges]) for whole in (one, other)):
            for start, stop in parts(len(chosen)):
                check(joined[start:stop], chosen[start:stop])
                check_times(joined[start:stop], chosen[start:stop])


def test_parts_of_two_ordered_tables_are_those_of_both() -> None:
    first, second = table(ORDERED, ordered=True), table(PIECES[:1], ordered=True)
    joined = TracedBytes.join([first[0:4], second[1:3], first[6:9]])
    expected = plain(ORDERED)[0:4] + plain(PIECES)[1:3] + plain(ORDERED)[6:9]
    check(joined, expected)
    check_times(joined, expected)


def test_bytes_of_another_length_share_the_origin_of_all() -> None:
    origin = TracedBytes.join(single(PIECES))[1:8]
    made = origin.replaced(b"0123456789ABCDEF", "lz77")
    places = singly(origin.extents())
    rows = [tuple(row) for row in PACKED_EXTENT.iter_unpack(origin.packed_origins)]
    for start, stop in ((0, 16), (3, 4), (1, 2), (15, 16)):
        for part in (made[start:stop], made.settled(start, stop)[0], made[start:].settled(0, stop - start)[0]):
            assert part.data == b"0123456789ABCDEF"[start:stop]
            assert singly(part.extents()) == places
            assert part.frames == (3, 7, 9)
            assert part.frame_range == (3, 9)
            assert [tuple(row) for row in PACKED_EXTENT.iter_unpack(part.packed_origins)] == [
                (PACKED_SHARED | (stop - start), len(rows), 0),
                *rows,
            ]
            assert packed_length(part.packed_origins) == stop - start
    assert made.times == (1000, 9000)
    assert made[3:4].time_ns_at(0) == 1000
    empty = made[4:4]
    assert (empty.frames, list(empty.extents()), empty.packed_origins, empty.times) == ((), [], b"", None)
    assert (made.steps, origin.steps) == (("lz77",), ())


def test_a_mixture_of_shared_and_own_origins_is_packed_and_read() -> None:
    """The rows are those that the head of the module describes."""
    first, second = TracedBytes.of_frame(b"abcd", 5, 100, 10), TracedBytes.of_frame(b"xy", 6, 200, 20)
    made = TracedBytes.join([first, second]).replaced(b"0123456789", "lz77")
    whole = TracedBytes.join([first, made[2:5], second])
    packed = whole.packed_origins
    assert list(PACKED_EXTENT.iter_unpack(packed)) == [
        (5, 100, 4),
        (PACKED_SHARED | 3, 2, 0),
        (5, 100, 4),
        (6, 200, 2),
        (6, 200, 2),
    ]
    assert packed[:16] == bytes.fromhex("0500000000000000 64000000 04000000")
    assert packed_length(packed) == 9
    source = PackedOrigins(packed, 9)
    kept = TracedBytes(whole.data, source)
    for start, stop in parts(9):
        assert list(kept[start:stop].extents()) == list(whole[start:stop].extents())
        assert kept[start:stop].frames == whole[start:stop].frames
        assert kept[start:stop].frame_range == whole[start:stop].frame_range
        assert kept[start:stop].packed_origins == whole[start:stop].packed_origins
    assert source.located(0, 9)[0] is packed


@pytest.mark.parametrize(
    "rows",
    [
        [(PACKED_SHARED | 3, 1, 0)],
        [(PACKED_SHARED | 3, 2, 0), (5, 0, 1)],
        [(5, 0, 1), (PACKED_SHARED | 3, 3, 0), (5, 0, 1), (6, 0, 1)],
    ],
)
def test_rows_that_others_should_follow_are_cut(rows: list[tuple[int, int, int]]) -> None:
    with pytest.raises(ValueError, match="cut"):
        packed_length(b"".join(PACKED_EXTENT.pack(*row) for row in rows))


def test_rows_are_whole() -> None:
    assert packed_length(b"") == 0
    assert packed_length(PACKED_EXTENT.pack(1, 2, 3)) == 3
    with pytest.raises(ValueError, match="cut"):
        packed_length(PACKED_EXTENT.pack(1, 2, 3)[:-1])


def test_packed_origins_of_one_row_begin_within_it() -> None:
    source = PackedOrigins(PACKED_EXTENT.pack(5, 100, 4), 4)
    assert list(source.extents(1, 3)) == [FrameExtent(5, 101, 2)]
    assert source.frames(1, 3) == (5,)
    assert source.frame_range(1, 3) == (5, 5)
    assert source.located(0, 4) == (PACKED_EXTENT.pack(5, 100, 4), None)
    assert source.located(1, 3)[0] == PACKED_EXTENT.pack(5, 101, 2)
    for start in range(5):
        assert list(source.extents(start, start)) == []
        assert source.frames(start, start) == ()
        assert source.frame_range(start, start) is None


def test_ranges_span_from_the_lowest_to_the_highest() -> None:
    assert spanned([]) is None
    assert spanned([None, None]) is None
    assert spanned([(3, 9), None, (2, 4)]) == (2, 9)
    assert spanned([(2, 4), (3, 9), (5, 6)]) == (2, 9)


def test_bytes_are_equal_that_came_from_the_same_places_in_however_many_pieces() -> None:
    one = TracedBytes.of_frame(b"abc", 1, 10, 5)
    assert one == TracedBytes.join([one[:1], one[1:]])
    assert one == TracedBytes.of_frame(b"abc", 1, 10, 6)
    assert hash(one) == hash(TracedBytes.of_frame(b"abc", 2, 10, 5))
    assert one != TracedBytes.of_frame(b"abd", 1, 10, 5)
    assert one != TracedBytes.of_frame(b"abc", 1, 11, 5)
    assert one != b"abc"


def test_steps_are_kept_in_their_order_and_once() -> None:
    one = TracedBytes.of_frame(b"abc", 1)
    assert one.replaced(b"xyz", "first").replaced(b"xy", "second").steps == ("first", "second")
    parts = [one, one.replaced(b"xyz", "first"), one.replaced(b"xyz", "second").replaced(b"xyz", "first")]
    for make in (TracedBytes.join, TracedBytes.rejoined):
        assert make(parts).steps == ("first", "second")
        assert make([]).steps == ()
    assert TracedBytes.pick([(part, 0, 2) for part in parts]).steps == ("first", "second")


def test_what_is_joined_of_one_is_of_that_one() -> None:
    one = TracedBytes.of_frame(b"abc", 1, 10)
    assert TracedBytes.join([EMPTY, one, EMPTY]) is one
    assert TracedBytes.rejoined([EMPTY, one]) is one
    assert TracedBytes.pick([(one, 0, 3)]) is one
    assert TracedBytes.pick([(one, 1, 3)]) == one[1:3]
    assert TracedBytes.pick([(one, 0, 2)]) == one[:2]
    for make in (TracedBytes.join, TracedBytes.rejoined):
        # Neighbours lead back to what they were cut from, and to no list of parts.
        assert make([one[:1], one[1:2], one[2:]]).source is one.source
    for make in (TracedBytes.join, TracedBytes.rejoined):
        nothing = make([EMPTY])
        assert (nothing.data, len(nothing), nothing.times, nothing.frames) == (b"", 0, None, ())


def test_slices_and_views_end_where_the_bytes_end() -> None:
    for whole in (make(PIECES) for make in MAKERS):
        for start, stop in ((9, 99), (-2, 11), (-99, 2), (5, 3), (99, 99)):
            expected = plain(PIECES)[start:stop]
            check(whole[start:stop], expected)
            check(whole.view(start, stop), expected)
        view = whole.view(2, 9)
        for start, stop in ((5, 99), (-2, 7), (-99, 2), (5, 3), (0, 7), (1, 6)):
            assert view.part(start, stop) == b"cdefghi"[start:stop]
            check(view[start:stop], plain(PIECES)[2:9][start:stop])
        with pytest.raises(ValueError, match="steps of 1"):
            whole[::2]


def test_only_as_much_as_leads_is_joined() -> None:
    pieces = single(PIECES)
    whole = buffered(PIECES)
    assert whole.lead(3) is pieces[0].data
    assert whole.lead(4) == b"abcdefghijk"
    assert whole.lead(1) == b"abcdefghijk"


def test_a_buffer_is_looked_into_and_emptied_byte_by_byte() -> None:
    expected = plain(PIECES)
    for step in range(1, 12):
        buffer = TracedBuffer()
        buffer.append(EMPTY)
        for piece in single(PIECES):
            buffer.append(piece)
        at = 0
        while at < 11:
            assert len(buffer) == 11 - at
            assert buffer.since_ns == expected[at].time_ns
            for length in range(13):
                assert buffer.peek(length) == b"abcdefghijk"[at : at + length]
            with pytest.raises(ValueError, match=f"{12 - at} bytes asked for, {11 - at} held"):
                buffer.take_bytes(12 - at)
            taken = buffer.take_bytes(min(step, 11 - at))
            check(taken, expected[at : at + step])
            check_times(taken, expected[at : at + step])
            at += step
        assert (len(buffer), buffer.since_ns, buffer.peek(3)) == (0, None, b"")
        assert buffer.take_bytes(0) is buffer.take_all() is buffer.take_bytes(-1) is EMPTY


def test_logged_bytes_are_those_of_their_source() -> None:
    log = Log(5)
    log.append(b"????")
    held = StoredBytes.from_store(log, log.append(b"abcdefghijk"), 11, table(PIECES).source, 0, ("unseal",))
    for start, stop in parts(11):
        for part in (held[start:stop], held.view(start, stop), pickle.loads(pickle.dumps(held))[start:stop]):
            check(part, plain(PIECES)[start:stop])
            check_times(part, plain(PIECES)[start:stop])
            assert part.steps == ("unseal",)
        moved = held.moved(start, stop, FrameTable.of_one(stop - start, 50, 7, 3))
        assert (moved.data, moved.start, moved.steps) == (b"abcdefghijk"[start:stop], 0, ("unseal",))
        assert moved.frames == ((50,) if start < stop else ())
    assert (held.part(-3, 99), held.part(5, 2), held.part(-99, -9)) == (b"ijk", b"", b"ab")


def test_bytes_in_several_places_of_a_log_are_read_by_place() -> None:
    log, source = Log(100), table(PIECES).source
    log.append(b"xghijkxabcdefx")
    held = TracedBytes.rejoined(
        [
            StoredBytes.from_store(log, 7, 6, source, 0, ("unseal",)),
            StoredBytes.from_store(log, 1, 5, source, 6, ("unseal",)),
        ]
    )
    for start, stop in parts(11):
        assert held.part(start, stop) == b"abcdefghijk"[start:stop]
        check(held[start:stop], plain(PIECES)[start:stop])
        moved = held.moved(start, stop, FrameTable.of_one(stop - start, 50, 7, 3))
        assert (moved.data, moved.start, moved.steps) == (b"abcdefghijk"[start:stop], 0, ("unseal",))
        assert moved.frames == ((50,) if start < stop else ())
        # They stay where they are.
        assert type(moved) is StoredBytes
    assert (len(held), held.part(-3, 99), held.part(5, 2)) == (11, b"ijk", b"")


class _Counting(Source):
    """A source that only knows its extents: what all others answer quicker."""

    def extents(self, start: int, stop: int) -> Iterable[FrameExtent]:
        for at in range(start, stop):
            byte = plain(PIECES)[at]
            yield FrameExtent(byte.frame, byte.offset, 1, byte.time_ns)


def test_a_source_that_states_extents_alone_answers_everything() -> None:
    whole = TracedBytes(b"abcdefghijk", _Counting())
    for start, stop in parts(11):
        check(whole[start:stop], plain(PIECES)[start:stop])
        check_times(whole[start:stop], plain(PIECES)[start:stop])


# Packed origins say of any part of bytes what the source says that was packed.

_FRAMES = st.tuples(st.binary(min_size=1, max_size=9), st.integers(1, 1 << 45), st.integers(0, 1 << 31), st.just(0))


def remade(pieces: list[tuple[bytes, int, int, int]]) -> TracedBytes:
    """Bytes of another length, as decompression makes them."""
    origin = TracedBytes.join(single(pieces))
    return origin.replaced(b"x" * (2 * len(origin) + 1), "lz77")


_DATA = st.lists(
    st.builds(
        lambda make, pieces: make(pieces),
        st.sampled_from([table, remade, lambda pieces: TracedBytes.join(single(pieces))]),
        st.lists(_FRAMES, min_size=1, max_size=4),
    ),
    min_size=1,
    max_size=4,
).map(TracedBytes.join)


@given(_DATA, st.data())
def test_any_part_has_the_origin_it_had(data: TracedBytes, draw: st.DataObject) -> None:
    first = draw.draw(st.integers(0, len(data)))
    some = data[first : draw.draw(st.integers(first, len(data)))]
    packed = TracedBytes(some.data, PackedOrigins(some.packed_origins, len(some)))
    start = draw.draw(st.integers(0, len(some)))
    stop = draw.draw(st.integers(start, len(some)))
    assert packed.origin(start, stop) == some.origin(start, stop)
    assert packed[start:stop].frames == some[start:stop].frames
    again, _ = packed.settled(start, stop)
    assert some.settled(0, len(some))[1] == some.times
    assert again.origin(0, len(again)) == some.origin(start, stop)


# Bytes keep their address through slicing, joining and replacing.


def of_frames(*texts: bytes) -> list[tuple[bytes, int, int, int]]:
    """One piece of bytes a frame; frame n holds its piece from offset 10n on."""
    return [(text, number, 10 * number, number * 1000) for number, text in enumerate(texts, 1)]


def test_bytes_are_shown_by_their_first_frames_and_not_by_what_they_are() -> None:
    whole = TracedBytes.join(single(of_frames(b"secret ", b"words")))
    assert repr(whole) == "TracedBytes(12 bytes, frames=1,2, steps=[])"
    more = TracedBytes.join(single(of_frames(b"a", b"b", b"c", b"d"))).replaced(b"ABCD", "unseal")
    assert repr(more[:3]) == "TracedBytes(3 bytes, frames=1,2,3, steps=['unseal'])"
    assert repr(more) == "TracedBytes(4 bytes, frames=1,2,3,..., steps=['unseal'])"
    assert repr(untraced(b"")) == "TracedBytes(0 bytes, frames=-, steps=[])"


@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.data())
def test_frames_and_origins_of_ranges_of_a_table_come_in_order_and_frames_once(
    sizes: list[int], data: st.DataObject
) -> None:
    whole = table(of_frames(*map(bytes, sizes)), ordered=True)
    cuts = sorted(data.draw(st.sets(st.integers(0, len(whole)), min_size=2, max_size=8)))
    ranges = list(zip(cuts[::2], cuts[1::2], strict=False))
    source, begins, ends = whole.source, *zip(*ranges, strict=True)
    assert isinstance(source, FrameTable)
    assert source.frames_of(begins, ends) == tuple(
        dict.fromkeys(frame for begin, end in ranges for frame in whole[begin:end].frames)
    )
    source.pack_ranges(begins, ends, packed := bytearray())
    assert packed == b"".join(whole[begin:end].packed_origins for begin, end in ranges)


@given(
    st.lists(st.binary(min_size=1, max_size=9), min_size=1, max_size=6),
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60))),
    st.data(),
)
def test_what_is_joined_of_a_table_is_of_its_bytes(
    texts: list[bytes], spans: list[tuple[int, int]], data: st.DataObject
) -> None:
    """Also out of order, and over again."""
    spans = data.draw(st.permutations(spans)) if data.draw(st.booleans()) else sorted(spans)
    expected = [byte for begin, end in spans for byte in plain(of_frames(*texts))[begin:end]]
    start = data.draw(st.integers(0, len(expected)))
    stop = data.draw(st.integers(start, len(expected)))
    for whole in (table(of_frames(*texts), ordered=ordered) for ordered in (True, False)):
        joined = TracedBytes.join([whole[begin:end] for begin, end in spans])
        for begin, end in ((0, len(expected)), (start, stop)):
            check(joined[begin:end], expected[begin:end])
            check_times(joined[begin:end], expected[begin:end])
            assert joined[begin:end].steps == ()


@given(
    st.lists(st.binary(min_size=1, max_size=9), min_size=1, max_size=6),
    st.lists(st.tuples(st.booleans(), st.integers(0, 60), st.integers(0, 60)), min_size=1),
)
def test_slices_are_packed_as_what_is_joined_of_them(texts: list[bytes], slices: list[tuple[bool, int, int]]) -> None:
    """Of one table or of two, in order or not."""
    pieces = of_frames(*texts)
    length, expected = len(plain(pieces)), plain(pieces)
    spans = [(which, min(begin, length - 1), min(max(end, begin + 1), length)) for which, begin, end in slices]
    for ordered in (True, False):
        tables = {which: table(pieces, ordered=ordered) for which in (True, False)}
        cuts = [(tables[which], begin, end) for which, begin, end in spans]
        origins, times = TracedBytes.settled_place(cuts)
        packed = TracedBytes(data_of(cuts), origins)
        check(packed, [byte for _, begin, end in spans for byte in expected[begin:end]])
        assert (origins.length, times) == (len(packed), TracedBytes.pick(cuts).times)
