"""What numpy does not do."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from analyzer.core.arrays import distinct, first_places


@given(st.lists(st.integers(-5, 5)))
def test_distinct_values_are_those_of_a_set_in_order(values: list[int]) -> None:
    assert distinct(np.array(values, np.int64)).tolist() == sorted(set(values))


@given(st.lists(st.integers(0, 5)))
def test_first_places_are_where_each_value_stands_first(values: list[int]) -> None:
    places = first_places(np.array(values, np.int64))
    assert places.tolist() == [at for at, value in enumerate(values) if value not in values[:at]]
