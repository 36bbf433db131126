"""Columns of numbers, as Arrow and NumPy lay them out: the numbers of a column lie one behind the other.

`GrowingColumns` grow row by row. The last rows are in memory; a full group of rows lies in a log, which spills to a file, and is
read from there: one column of it, or the group for its rows. `SavedColumns` lie in files of their own, each in the form of NumPy
(`.npy`, version 1.0), with numbers as narrow as they may be; a column that has the same number in every row has it once.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from struct import Struct, calcsize
from typing import TYPE_CHECKING, Any

from analyzer.core.spill import Log, Readable

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

# So many rows are a group.
GROUP = 1 << 12
# What stands before the numbers of a saved column.
_HEAD = 128


class Columns:
    """A table of numbers; `formats` are its columns, each with the type code of its numbers in `struct`."""

    __slots__ = ("_fields", "_held", "_indexes", "_row", "formats")

    def __init__(self, formats: Mapping[str, str]) -> None:
        self.formats = dict(formats)
        self._indexes = {name: at for at, name in enumerate(formats)}
        self._row = Struct("<" + "".join(formats.values()))
        # Where each number begins in a row, and what reads it.
        begins = accumulate((calcsize(f"<{form}") for form in formats.values()), initial=0)
        self._fields = {
            name: (begin, Struct(f"<{form}").unpack_from)
            for begin, (name, form) in zip(begins, formats.items(), strict=False)
        }
        # The group that was looked at last, row by row.
        self._held: tuple[int, bytes | bytearray] = (-1, b"")

    def __len__(self) -> int:
        raise NotImplementedError

    def column(self, name: str) -> npt.NDArray[Any]:
        """All numbers of a column."""
        raise NotImplementedError

    def row(self, at: int) -> tuple[int, ...]:
        """The numbers of a row, in the order of the columns."""
        return self._row.unpack_from(self._rows(at // GROUP), at % GROUP * self._row.size)

    def number(self, name: str, at: int) -> int:
        """One of them."""
        begin, read = self._fields[name]
        number: int = read(self._rows(at // GROUP), at % GROUP * self._row.size + begin)[0]
        return number

    def _rows(self, number: int) -> bytes | bytearray:
        """A group, row by row."""
        # Several threads may read what nobody appends to any more: each looks at the group it took.
        held, rows = self._held
        if held != number:
            rows = self._read(number)
            self._held = number, rows
        return rows

    def _read(self, number: int) -> bytes:
        """A group that was not looked at last, row by row."""
        raise NotImplementedError

    @property
    def _dtype(self) -> np.dtype[Any]:
        """A row, as NumPy has it."""
        import numpy as np  # not needed to append rows, and slow to load

        return np.dtype([(name, f"<{form}") for name, form in self.formats.items()])


class GrowingColumns(Columns):
    """Columns that grow. A number that does not fit its column raises `struct.error`, and nothing is appended."""

    __slots__ = ("_bounds", "_last", "_log", "_places")

    def __init__(self, formats: Mapping[str, str], log: Log) -> None:
        super().__init__(formats)
        self._log = log
        # The rows behind the last full group, row by row: so they are quickest appended.
        self._last = bytearray()
        # Where each full group lies in the log, and where its columns begin and end in it.
        self._places = array("q")
        self._bounds = [0, *accumulate(GROUP * calcsize(f"<{form}") for form in formats.values())]

    def __len__(self) -> int:
        return len(self._places) * GROUP + len(self._last) // self._row.size

    def append(self, row: Sequence[int]) -> None:
        packed = self._row.pack(*row)
        if len(self._last) == self._bounds[-1]:
            self._put()
        self._last += packed

    def _put(self) -> None:
        """Puts a full group into the log, column by column."""
        import numpy as np

        rows = np.frombuffer(bytes(self._last), self._dtype)
        self._places.append(self._log.append(b"".join([rows[name].tobytes() for name in self.formats])))
        self._last = bytearray()

    def column(self, name: str) -> npt.NDArray[Any]:
        import numpy as np

        index = self._indexes[name]
        dtype = np.dtype(f"<{self.formats[name]}")
        begin, end = self._bounds[index : index + 2]
        parts = [np.frombuffer(self._log.read(place + begin, end - begin), dtype) for place in self._places]
        return np.concatenate([*parts, np.frombuffer(bytes(self._last), self._dtype)[name]])

    def _rows(self, number: int) -> bytes | bytearray:
        return self._last if number == len(self._places) else super()._rows(number)

    def _read(self, number: int) -> bytes:
        import numpy as np

        whole = self._log.read(self._places[number], self._bounds[-1])
        rows = np.empty(GROUP, self._dtype)
        for (begin, end), (name, form) in zip(pairwise(self._bounds), self.formats.items(), strict=True):
            rows[name] = np.frombuffer(whole[begin:end], f"<{form}")
        return rows.tobytes()


def saved_column(numbers: npt.NDArray[Any]) -> Iterator[bytes]:
    """A column as a file, in pieces."""
    import numpy as np

    if len(numbers):
        low, high = int(numbers.min()), int(numbers.max())
        if low == high:
            numbers = numbers[:1]
        kinds = ((dtype, np.iinfo(dtype)) for dtype in _CODES)
        numbers = numbers.astype(next(dtype for dtype, held in kinds if held.min <= low and high <= held.max))
    yield _head(numbers.dtype.str, len(numbers))
    yield numbers.tobytes()


def _head(dtype: str, count: int) -> bytes:
    """What NumPy writes in front of an array."""
    text = f"{{'descr': {dtype!r}, 'fortran_order': False, 'shape': ({count},), }}"
    return b"\x93NUMPY\1\0" + (_HEAD - 10).to_bytes(2, "little") + text.ljust(_HEAD - 11).encode() + b"\n"


# The code in `array` of each type that saved columns have, the narrow ones first.
_CODES = {"|u1": "B", "|i1": "b", "<u2": "H", "<i2": "h", "<u4": "I", "<i4": "i", "<u8": "Q", "<i8": "q"}
_HEADS = {dtype: _head(dtype, 0).partition(b"(0")[0] for dtype in _CODES}


class SavedColumns(Columns):
    """Columns that were saved, of so many rows. Whoever wrote them may have written anything: what is no such column raises
    `ValueError` when it is read."""

    __slots__ = ("_known", "_length", "_sources")

    def __init__(self, formats: Mapping[str, str], sources: Mapping[str, Readable], length: int) -> None:
        super().__init__(formats)
        self._sources, self._length = [sources[name] for name in formats], length
        # Of each column: the code of its numbers, and how many there are; looked up when they are asked for.
        self._known: dict[int, tuple[str, int]] = {}

    def __len__(self) -> int:
        return self._length

    def column(self, name: str) -> npt.NDArray[Any]:
        import numpy as np

        index = self._indexes[name]
        code, count = self._kind(index)
        dtype = np.dtype(code)
        numbers = np.frombuffer(self._sources[index].read(_HEAD, count * dtype.itemsize), dtype)
        return numbers if count == self._length else np.broadcast_to(numbers, self._length)

    def _kind(self, index: int) -> tuple[str, int]:
        if (known := self._known.get(index)) is None:
            head = self._sources[index].read(0, _HEAD)
            dtype = next((dtype for dtype, begin in _HEADS.items() if head.startswith(begin)), None)
            count = next((count for count in (self._length, 1) if dtype and head == _head(dtype, count)), None)
            if dtype is None or count is None:
                raise ValueError(f"{list(self.formats)[index]} is no column of {self._length} numbers")
            known = self._known[index] = _CODES[dtype], count
        return known

    def _read(self, number: int) -> bytes:
        import numpy as np

        begin = number * GROUP
        count = min(GROUP, self._length - begin)
        if count <= 0:
            raise IndexError("there is no such row")
        rows = np.empty(count, self._dtype)
        for index, name in enumerate(self.formats):
            code, length = self._kind(index)
            size = calcsize(f"<{code}")
            first, wanted = (begin, count) if length == self._length else (0, 1)
            numbers = np.frombuffer(self._sources[index].read(_HEAD + first * size, wanted * size), f"<{code}")
            rows[name] = numbers.astype(f"<{self.formats[name]}")
        return rows.tobytes()
