"""What numpy does not do."""

from __future__ import annotations

import numpy as np
import pytest

from analyzer.core.array_functions import narrowed


@pytest.mark.parametrize("most", [0, (1 << 31) - 1, 1 << 31, -(1 << 31), -(1 << 31) - 1, 1 << 62])
def test_numbers_take_32_bits_where_all_fit(most: int) -> None:
    found = narrowed([5, most])
    assert found.tolist() == [5, most]
    assert found.dtype == (np.int32 if -(1 << 31) <= most < 1 << 31 else np.int64)
