"""What may differ between buffers of a known layout is read anew in each of them, also where a buffer is damaged."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.interfaces.buffers.perf_data_layout import read_perf_data
from analyzer.interfaces.buffers.tree_texts import TreeTexts
from analyzer.interfaces.buffers.winperf_layout import read_winperf
from tests.build.buffers import winperf
from tests.interfaces.buffers.strategies import damaged, objects, perf_datas
from tests.interfaces.buffers.test_perf_data_layout import assert_ready

# How each kind is read, its buffers, and the bytes of a word.
KINDS = {
    "perf-data": (read_perf_data, perf_datas().map(lambda made: made[1]), 8),
    "winperf": (read_winperf, st.lists(objects(), max_size=2).map(winperf), 4),
}


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=200)
@given(data=st.data(), random=st.randoms(use_true_random=False))
def test_what_differs_between_buffers_of_a_layout_is_read_anew(kind: str, data: st.DataObject, random: Random) -> None:
    read, buffers, size = KINDS[kind]
    first = damaged(data.draw(buffers), data)
    found = read(first)
    if found is None or found.layout.free is None or len(first) % size:
        return
    trees, second = TreeTexts(), bytearray(first)
    for words in found.layout.free:
        for word in words.tolist():
            second[word * size : (word + 1) * size] = random.choice((random.randbytes(size), bytes(size)))
    for buffer in (first, bytes(second)):
        assert_ready(trees, kind, buffer)
