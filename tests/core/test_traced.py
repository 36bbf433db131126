"""Bytes keep their address through slicing, joining and replacing."""

from array import array
from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st

from analyzer.core.traced import Extent, FrameTable, TracedBuffer, TracedBytes, untraced


def frames(*texts: bytes) -> list[TracedBytes]:
    """One piece of bytes a frame; frame n holds its piece from offset 10n on."""
    return [TracedBytes.of_frame(text, number, 10 * number, number * 1000) for number, text in enumerate(texts, 1)]


def test_a_slice_leads_to_its_frame_and_offset() -> None:
    (piece,) = frames(b"abcdef")
    assert piece[2:4].data == b"cd"
    assert piece.origin(2, 4) == (Extent(1, 12, 2),)


def test_joined_bytes_lead_back_to_each_part() -> None:
    whole = TracedBytes.join(frames(b"abc", b"def", b"ghi"))
    assert whole.data == b"abcdefghi"
    assert whole.origin(2, 7) == (Extent(1, 12, 1), Extent(2, 20, 3), Extent(3, 30, 1))
    assert whole[4:5].frames == (2,)
    assert (whole.first_time_ns, whole.last_time_ns) == (1000, 3000)


def test_equal_length_replacement_keeps_every_address() -> None:
    opened = TracedBytes.join(frames(b"abc", b"def")).replaced(b"ABCDEF", "unseal")
    assert opened.origin(3, 6) == (Extent(2, 20, 3),)
    assert opened.steps == ("unseal",)


def test_replacement_of_another_length_leads_back_to_all_of_it() -> None:
    grown = TracedBytes.join(frames(b"abc", b"def")).replaced(b"x" * 100, "decompress")
    assert grown[50:51].frames == (1, 2)
    assert grown[5:5].frames == ()


def test_neighbouring_runs_of_one_frame_are_one_extent() -> None:
    (piece,) = frames(b"abcdef")
    assert TracedBytes.join([piece[:2], piece[2:5]]).origin(0, 5) == (Extent(1, 10, 5),)


def test_untraced_bytes_have_no_frames() -> None:
    assert untraced(b"abc").frames == ()
    assert untraced(b"abc").first_time_ns is None


def test_bytes_are_shown_by_their_first_frames_and_not_by_what_they_are() -> None:
    whole = TracedBytes.join(frames(b"secret ", b"words"))
    assert repr(whole) == "TracedBytes(12 bytes, frames=1,2, steps=[])"
    more = TracedBytes.join(frames(b"a", b"b", b"c", b"d")).replaced(b"ABCD", "unseal")
    assert repr(more[:3]) == "TracedBytes(3 bytes, frames=1,2,3, steps=['unseal'])"
    assert repr(more) == "TracedBytes(4 bytes, frames=1,2,3,..., steps=['unseal'])"
    assert repr(untraced(b"")) == "TracedBytes(0 bytes, frames=-, steps=[])"


@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.data())
def test_the_frames_of_ranges_of_a_table_come_once_and_in_order(sizes: list[int], data: st.DataObject) -> None:
    whole = table([bytes(size) for size in sizes], ordered=True)
    cuts = sorted(data.draw(st.sets(st.integers(0, len(whole)), min_size=2, max_size=8)))
    ranges = list(zip(cuts[::2], cuts[1::2], strict=False))
    found = whole.source.frames_of(*zip(*ranges, strict=True))  # type: ignore[attr-defined]
    assert found == tuple(dict.fromkeys(frame for begin, end in ranges for frame in whole[begin:end].frames))


def test_a_buffer_knows_since_when_it_holds_something() -> None:
    buffer, (first, second) = TracedBuffer(), frames(b"abc", b"def")
    assert buffer.since_ns is None
    buffer.append(first)
    buffer.append(second)
    assert buffer.since_ns == 1000
    buffer.take(2)
    assert buffer.since_ns == 1000
    buffer.take(2)
    assert buffer.since_ns == 2000
    buffer.take(2)
    assert buffer.since_ns is None


def test_steps_of_all_parts_are_kept_once() -> None:
    first, second = frames(b"abc", b"def")
    joined = TracedBytes.join([first.replaced(b"ABC", "one"), second.replaced(b"DEF", "one").replaced(b"ghi", "two")])
    assert joined.steps == ("one", "two")


@given(st.lists(st.binary(max_size=9), max_size=8), st.data())
def test_what_a_buffer_gives_is_what_it_was_given(pieces: list[bytes], data: st.DataObject) -> None:
    buffer = TracedBuffer()
    for piece in frames(*pieces):
        buffer.append(piece)
    whole = TracedBytes.join(frames(*pieces))
    cut = data.draw(st.integers(0, len(whole)))
    assert buffer.peek(cut) == whole.data[:cut]
    assert buffer.take(cut) == whole[:cut]
    assert len(buffer) == len(whole) - cut
    assert buffer.take_all() == whole[cut:]


@given(st.lists(st.binary(max_size=9), min_size=1, max_size=6), st.data())
def test_any_slice_of_any_slice_leads_to_the_same_bytes(pieces: list[bytes], data: st.DataObject) -> None:
    whole = TracedBytes.join(frames(*pieces))
    start = data.draw(st.integers(0, len(whole)))
    stop = data.draw(st.integers(start, len(whole)))
    part = whole[start:stop]
    inner = data.draw(st.integers(0, len(part)))
    back = b"".join(
        pieces[extent.frame - 1][extent.start - 10 * extent.frame :][: extent.length]
        for extent in part.origin(inner, len(part))
    )
    assert back == whole.data[start:stop][inner:]


def table(pieces: list[bytes], *, ordered: bool = False) -> TracedBytes:
    """What `join(frames(*pieces))` gives, made by the table."""
    kept = [(number, piece) for number, piece in enumerate(pieces, 1) if piece]
    source = FrameTable(
        array("q", [0, *accumulate(len(piece) for _, piece in kept)]),
        array("q", [number for number, _ in kept]),
        [10 * number for number, _ in kept],
        [number * 1000 for number, _ in kept],
        ordered=ordered,
    )
    return TracedBytes(b"".join(pieces), source)


def reported(item: TracedBytes) -> tuple[object, ...]:
    """Everything bytes say of themselves."""
    times = (
        item.times,
        item.frame_range,
        item.first_time_ns,
        item.last_time_ns,
        [item.time_ns_at(at) for at in range(len(item) + 1)],
    )
    extents = list(item.extents())
    for most in range(1, len(extents) + 2):
        assert list(item.last_extents(most)) == extents[::-1][:most]
    noted, packed, stop = {99}, bytearray(), item.start + len(item)
    item.note_frames(noted)
    assert noted == {99, *item.frames}
    item.source.pack(item.start, stop, packed)
    located = item.source.located(item.start, stop)
    assert located == (bytes(packed), item.times)
    return item.data, len(item), item.steps, extents, item.frames, located, *times


@given(st.lists(st.binary(max_size=9), max_size=6), st.data())
def test_tables_and_concatenations_say_what_joined_bytes_say(pieces: list[bytes], data: st.DataObject) -> None:
    whole = TracedBytes.join(frames(*pieces))
    start = data.draw(st.integers(0, len(whole)))
    stop = data.draw(st.integers(start, len(whole)))
    assert reported(table(pieces)) == reported(table(pieces, ordered=True)) == reported(whole)
    assert reported(table(pieces)[start:stop]) == reported(whole[start:stop])
    concatenation = TracedBytes.concatenated(frames(*pieces))
    assert concatenation.lead(start)[:start] == whole.data[:start]
    assert reported(concatenation[start:stop]) == reported(whole[start:stop])
    assert reported(concatenation) == reported(whole)
    assert reported(concatenation[start:stop]) == reported(whole[start:stop])


@given(
    st.lists(st.binary(max_size=9), max_size=6), st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60))), st.data()
)
def test_what_is_joined_of_an_ordered_table(
    pieces: list[bytes], spans: list[tuple[int, int]], data: st.DataObject
) -> None:
    """Also out of order, and over again."""
    spans = data.draw(st.permutations(spans)) if data.draw(st.booleans()) else sorted(spans)
    one, other = (
        TracedBytes.join([whole[a:b] for whole in [table(pieces, ordered=o)] for a, b in spans]) for o in (True, False)
    )
    start = data.draw(st.integers(0, len(one)))
    stop = data.draw(st.integers(start, len(one)))
    assert reported(one) == reported(other)
    assert reported(one[start:stop]) == reported(other[start:stop])


@given(st.lists(st.binary(max_size=9), max_size=6), st.data())
def test_neighbours_of_a_table_join_to_what_they_were(pieces: list[bytes], data: st.DataObject) -> None:
    whole = table(pieces)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=4)))
    parts = [whole[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    assert reported(TracedBytes.join(parts)) == reported(whole)
    assert reported(TracedBytes.rejoined(parts)) == reported(whole)


@given(st.lists(st.integers(1, 9), max_size=12), st.lists(st.integers(0, 12), max_size=12))
def test_a_buffer_is_a_queue(sizes: list[int], takes: list[int]) -> None:
    buffer = TracedBuffer()
    pieces = frames(*(bytes([65 + at % 26]) * size for at, size in enumerate(sizes)))
    whole, taken, waiting = TracedBytes.join(pieces), 0, iter(takes)
    for piece in pieces:
        buffer.append(piece)
        wanted = next(waiting, 0)
        if wanted <= len(buffer):
            assert reported(buffer.take(wanted))[:4] == reported(whole[taken : taken + wanted])[:4]
            taken += wanted
        assert buffer.peek(3) == whole.data[taken : taken + min(3, len(buffer))]
    assert buffer.take_all() == whole[taken:]
