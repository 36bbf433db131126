"""Calls of every interface in the order of their request's first frame."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np

from analyzer.results.call_table import CallTable


def call_order(calls: CallTable, taken: Sequence[int]) -> Sequence[int]:
    """Positions by the first frame of the request (of the response where that is all there is), then as they are in `taken`."""
    positions = np.array(taken, dtype=np.int64)
    times, frames = (calls.column(name)[positions] for name in ("first_time", "first_frame"))
    earlier = (times[1:] < times[:-1]) | ((times[1:] == times[:-1]) & (frames[1:] < frames[:-1]))
    if not earlier.any():
        return taken
    return array("I", positions[np.lexsort((frames, times))].astype(np.uint32).tobytes())
