"""Rows of numbers that are appended one by one, some dozen bytes each: very many of them, and an object for none.

Columns that grow each by itself are moved again and again, and leave holes of their own sizes in memory. Of these rows a part is
never moved once it is full.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy.typing as npt

# So many rows are a part.
PART = 1 << 14


class Rows:
    """A table of numbers; `fields` are its columns, each with the format of its numbers in `struct`.

    A number that does not fit its column raises `struct.error`.
    """

    __slots__ = ("_fields", "_last", "_parts", "_row", "_size")

    def __init__(self, **fields: str) -> None:
        self._fields = fields
        self._row = struct.Struct("<" + "".join(fields.values()))
        self._size = self._row.size
        self._last = bytearray()
        self._parts = [self._last]

    def __len__(self) -> int:
        return (len(self._parts) - 1) * PART + len(self._last) // self._size

    def append(self, *numbers: int) -> None:
        last = self._last
        if len(last) == PART * self._size:
            last = self._last = bytearray()
            self._parts.append(last)
        last += self._row.pack(*numbers)

    def __getitem__(self, at: int) -> tuple[int, ...]:
        return self._row.unpack_from(self._parts[at // PART], at % PART * self._size)

    def __setitem__(self, at: int, numbers: tuple[int, ...]) -> None:
        self._row.pack_into(self._parts[at // PART], at % PART * self._size, *numbers)

    def column(self, name: str) -> npt.NDArray[Any]:
        """A copy of one column."""
        import numpy as np  # not needed to append rows, and slow to load

        dtype = np.dtype([(field, f"<{form}") for field, form in self._fields.items()])
        return np.concatenate([np.frombuffer(part, dtype)[name] for part in self._parts])
