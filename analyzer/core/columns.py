"""Columns of numbers, as Arrow and NumPy lay them out: the numbers of a column lie one behind the other.

`GrowingColumns` grow row by row. The last rows are in memory; a full group of rows lies in a log, which spills to a file, and is
read from there: one column of it, or a row. `SavedColumns` lie in files of their own, each in the form of NumPy (`.npy`, version
1.0), with numbers as narrow as they may be; a column that has the same number in every row has it once.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

from analyzer.core.spill import Log, Readable

if TYPE_CHECKING:
    import numpy.typing as npt

# So many rows are a group.
GROUP = 1 << 12
_Group = Sequence[Sequence[int]]
# What stands before the numbers of a saved column.
_HEAD = 128


class Columns:
    """A table of numbers; `formats` are its columns, each with the type code of its numbers in `array`."""

    __slots__ = ("_held", "_indexes", "formats")

    def __init__(self, formats: Mapping[str, str]) -> None:
        self.formats = dict(formats)
        self._indexes = {name: at for at, name in enumerate(formats)}
        # The group that was looked at last.
        self._held: tuple[int, _Group] = (-1, ())

    def __len__(self) -> int:
        raise NotImplementedError

    def column(self, name: str) -> npt.NDArray[Any]:
        """All numbers of a column."""
        raise NotImplementedError

    def row(self, at: int) -> list[int]:
        """The numbers of a row, in the order of the columns."""
        columns, place = self._group_of(at // GROUP), at % GROUP
        return [column[place] for column in columns]

    def number(self, name: str, at: int) -> int:
        """One of them."""
        return self._group_of(at // GROUP)[self._indexes[name]][at % GROUP]

    def _group_of(self, number: int) -> _Group:
        # Several threads may read what nobody appends to any more: each looks at the group it took.
        held, group = self._held
        if held != number:
            group = self._read(number)
            self._held = number, group
        return group

    def _read(self, number: int) -> _Group:
        """The columns of a group."""
        raise NotImplementedError


class GrowingColumns(Columns):
    """Columns that grow. A number that does not fit its column raises `OverflowError`."""

    __slots__ = ("_bounds", "_last", "_log", "_places")

    def __init__(self, formats: Mapping[str, str], log: Log) -> None:
        super().__init__(formats)
        self._log = log
        # The rows behind the last full group.
        self._last = [array(form) for form in formats.values()]
        # Where each full group lies in the log, and where its columns begin and end in it.
        self._places = array("q")
        self._bounds = [0, *accumulate(GROUP * column.itemsize for column in self._last)]

    def __len__(self) -> int:
        return len(self._places) * GROUP + len(self._last[0])

    def append(self, row: Sequence[int]) -> None:
        last = self._last
        if len(last[0]) == GROUP:
            self._places.append(self._log.append(b"".join([column.tobytes() for column in last])))
            for column in last:
                del column[:]
        try:
            for column, number in zip(last, row, strict=True):
                column.append(number)
        except Exception:
            # After an error all columns are as long as each other, and what was read before is shown.
            for column in last:
                del column[len(last[-1]) :]
            raise

    def column(self, name: str) -> npt.NDArray[Any]:
        import numpy as np  # not needed to append rows, and slow to load

        index = self._indexes[name]
        dtype = np.dtype(self.formats[name])
        begin, end = self._bounds[index : index + 2]
        parts = [np.frombuffer(self._log.read(place + begin, end - begin), dtype) for place in self._places]
        # An array that grows must not be held on to: this is a copy.
        return np.concatenate([*parts, np.frombuffer(self._last[index], dtype)])

    def _group_of(self, number: int) -> _Group:
        return self._last if number == len(self._places) else super()._group_of(number)

    def _read(self, number: int) -> _Group:
        whole = memoryview(self._log.read(self._places[number], self._bounds[-1]))
        return [
            whole[begin:end].cast(form)  # type: ignore[call-overload]  # it is a code of `array`
            for (begin, end), form in zip(pairwise(self._bounds), self.formats.values(), strict=True)
        ]


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

    __slots__ = ("_constants", "_known", "_length", "_sources")

    def __init__(self, formats: Mapping[str, str], sources: Mapping[str, Readable], length: int) -> None:
        super().__init__(formats)
        self._sources, self._length = [sources[name] for name in formats], length
        # Of each column: the code of its numbers, and how many there are; looked up when they are asked for.
        self._known: dict[int, tuple[str, int]] = {}
        self._constants: dict[int, list[int]] = {}

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

    def _read(self, number: int) -> _Group:
        begin = number * GROUP
        rows = min(GROUP, self._length - begin)
        if rows <= 0:
            raise IndexError("there is no such row")
        return [self._part(index, begin, rows) for index in range(len(self._sources))]

    def _part(self, index: int, begin: int, rows: int) -> Sequence[int]:
        code, count = self._kind(index)
        size = array(code).itemsize
        if count == self._length:
            data = self._sources[index].read(_HEAD + begin * size, rows * size)
            numbers: memoryview = memoryview(data).cast(code)  # type: ignore[call-overload]  # it is one of `_CODES`
            return numbers
        if index not in self._constants:
            self._constants[index] = array(code, self._sources[index].read(_HEAD, size)).tolist() * GROUP
        return self._constants[index]
