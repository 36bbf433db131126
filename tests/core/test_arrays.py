"""What numpy does not do."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from analyzer.core.arrays import distinct


@given(st.lists(st.integers(-5, 5)))
def test_distinct_values_are_those_of_a_set_in_order(values: list[int]) -> None:
    assert distinct(np.array(values, np.int64)).tolist() == sorted(set(values))
