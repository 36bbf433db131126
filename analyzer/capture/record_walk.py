"""Finds where the records of a capture file begin, by the rule that chains them.

A capture file is a linked list: the length in one record's header states where the next begins. `walk_plain` follows it record by
record; `partitioned_walk` gives the same answer faster.
"""

from __future__ import annotations

import struct
from typing import Literal

import numpy as np
import numpy.typing as npt
from msgspec import Struct

IntArray = npt.NDArray[np.int64]


class Chain(Struct, frozen=True):
    """The rule that chains the records of a capture file: a record is its length field, rounded up to `align`, plus `extra` bytes.

    The length field is the u32 at `length_at` of the record; `smallest` and `largest` are its bounds. `header` is how many bytes
    are needed before the length can be trusted to be there.
    """

    order: Literal["<", ">"]
    length_at: int
    extra: int
    header: int
    smallest: int
    largest: int
    align: int = 1


class Walk(Struct, frozen=True):
    """Offsets of the whole records of a capture file. The first incomplete record begins at `stop`, and may have an impossible
    length."""

    at: IntArray
    stop: int
    impossible: bool


def words_of(data: bytes, order: Literal["<", ">"]) -> npt.NDArray[np.uint32]:
    """Returns the 32-bit number at each offset of the capture's data."""
    return np.ndarray((len(data) - 3,), order + "u4", data, strides=(1,))


def walk_plain(chain: Chain, data: bytes, start: int = 0, until: int | None = None) -> Walk:
    """Follows the chain of a capture file's records from `start`. With `until`, it stops at the first record at or behind that."""
    read = struct.Struct(chain.order + "I").unpack_from
    at: list[int] = []
    end = len(data)
    limit = end if until is None else min(until, end)
    length_at, extra, smallest, largest, align = (
        chain.length_at,
        chain.extra,
        chain.smallest,
        chain.largest,
        chain.align,
    )
    pos, impossible = start, False
    while pos < limit and pos + chain.header <= end:
        length = read(data, pos + length_at)[0]
        if not smallest <= length <= largest:
            impossible = True
            break
        after = pos + extra + length + -length % align
        if after > end:
            break
        at.append(pos)
        pos = after
    return Walk(np.array(at, np.int64), pos, impossible)
