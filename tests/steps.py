"""How much work something is, in calls of functions, Python's and C's: no clock, so that no machine and no load changes it.

A call counts one however long it takes. What has to be found is work that grows out of proportion: no loop does that without calls.
"""

import sys
from collections.abc import Callable
from types import FrameType
from typing import TypeVar

T = TypeVar("T")


def within(most: int, job: Callable[[], T]) -> T:
    """What the job returns; an AssertionError at the call that is one more than `most`."""
    count = 0

    def step(_frame: FrameType, event: str, _: object) -> None:
        nonlocal count
        count += event in {"call", "c_call"}
        if count > most:
            raise AssertionError(f"more than {most} calls")

    before = sys.getprofile()
    sys.setprofile(step)
    try:
        return job()
    finally:
        sys.setprofile(before)
