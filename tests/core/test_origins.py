"""Packed origins say of any part of bytes what the source says that was packed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from analyzer.core.origins import PackedOrigins, pack_origins, settled
from analyzer.core.traced import FrameTable, TracedBytes

_FRAMES = st.tuples(st.binary(min_size=1, max_size=9), st.integers(1, 1 << 45), st.integers(0, 1 << 31))


def _of_frames(pieces: list[tuple[bytes, int, int]]) -> TracedBytes:
    return TracedBytes.join([TracedBytes.of_frame(*piece) for piece in pieces])


def _of_table(pieces: list[tuple[bytes, int, int]]) -> TracedBytes:
    starts = [0]
    for data, _, _ in pieces:
        starts.append(starts[-1] + len(data))
    table = FrameTable(starts, [frame for _, frame, _ in pieces], [at for _, _, at in pieces], [0] * len(pieces))
    return TracedBytes(b"".join(data for data, _, _ in pieces), table)


def _remade(pieces: list[tuple[bytes, int, int]]) -> TracedBytes:
    """Bytes of another length, as decompression makes them."""
    origin = _of_frames(pieces)
    return origin.replaced(b"x" * (2 * len(origin) + 1), "lz77")


_DATA = st.lists(
    st.builds(
        lambda make, pieces: make(pieces),
        st.sampled_from([_of_frames, _of_table, _remade]),
        st.lists(_FRAMES, min_size=1, max_size=4),
    ),
    min_size=1,
    max_size=4,
).map(TracedBytes.join)


@given(_DATA, st.data())
def test_any_part_has_the_origin_it_had(data: TracedBytes, draw: st.DataObject) -> None:
    first = draw.draw(st.integers(0, len(data)))
    some = data[first : draw.draw(st.integers(first, len(data)))]
    packed = TracedBytes(some.data, PackedOrigins(pack_origins(some), len(some)))
    start = draw.draw(st.integers(0, len(some)))
    stop = draw.draw(st.integers(start, len(some)))
    assert packed.origin(start, stop) == some.origin(start, stop)
    assert packed[start:stop].frames == some[start:stop].frames
    again, _ = settled(packed, start, stop)
    assert settled(some, 0, len(some))[1] == some.times
    assert again.origin(0, len(again)) == some.origin(start, stop)
