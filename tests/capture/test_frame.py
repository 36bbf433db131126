"""What is read of each frame is what stands there, and zero where the data does not reach."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from analyzer.capture.frame import HEAD_BEFORE, HEAD_LEN, heads_of


@given(st.binary(max_size=300), st.lists(st.integers(0, 300), max_size=12))
def test_heads_are_the_bytes_around_each_start(data: bytes, places: list[int]) -> None:
    starts = np.array(sorted(min(place, len(data)) for place in places), np.int64)
    around = bytes(HEAD_BEFORE) + data + bytes(HEAD_LEN)
    heads = heads_of(data, starts)
    assert [head.tobytes() for head in heads] == [around[start : start + HEAD_LEN] for start in starts.tolist()]
