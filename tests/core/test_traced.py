"""Bytes keep their address through slicing, joining and replacing."""

from array import array
from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st

from analyzer.core.traced import FrameTable, TracedBytes, untraced


def frames(*texts: bytes) -> list[TracedBytes]:
    """One piece of bytes a frame; frame n holds its piece from offset 10n on."""
    return [TracedBytes.of_frame(text, number, 10 * number, number * 1000) for number, text in enumerate(texts, 1)]


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
