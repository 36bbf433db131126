"""Tables of numbers as columns, laid out like Arrow and NumPy: the numbers of a column lie one behind the other.

`GrowingColumns` grow row by row. The last rows are in memory. A full group of rows lies in a log, which spills to a file. It is
read from there: one column of it, or the group for its rows. `arrow_files.py` has the columns of a saved table.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from struct import Struct, calcsize
from typing import TYPE_CHECKING, Any

from analyzer.core.byte_log import Log

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

# So many rows are a group.
GROUP = 1 << 12
# Groups that were read last, 1 MB each: calls of several connections that were laid down at their ends are read by their times.
_HELD = 4


class Columns:
    """A table of numbers as columns, growing or saved. `formats` has the type code of each column's numbers in `struct`."""

    __slots__ = ("_fields", "_held", "_indexes", "_kind", "_row", "formats")

    def __init__(self, formats: Mapping[str, str]) -> None:
        self.formats = dict(formats)
        self._indexes = {name: at for at, name in enumerate(formats)}
        self._row = Struct("<" + "".join(formats.values()))
        # The place of each number in a row, and its reader.
        begins = accumulate((calcsize(f"<{form}") for form in formats.values()), initial=0)
        self._fields = {
            name: (begin, Struct(f"<{form}").unpack_from)
            for begin, (name, form) in zip(begins, formats.items(), strict=False)
        }
        self._kind: np.dtype[Any] | None = None
        # The groups that were looked at last, row by row.
        self._held: tuple[tuple[int, bytes | bytearray], ...] = ()

    def __len__(self) -> int:
        raise NotImplementedError

    def column(self, name: str) -> npt.NDArray[Any]:
        """Returns all numbers of one of the columns, growing or saved."""
        raise NotImplementedError

    def row(self, at: int) -> tuple[int, ...]:
        """Returns one row of growing or saved columns, in their order."""
        return self._row.unpack_from(self._rows(at // GROUP), at % GROUP * self._row.size)

    def number(self, name: str, at: int) -> int:
        """Returns the number in row `at` of one of the columns, growing or saved."""
        begin, read = self._fields[name]
        number: int = read(self._rows(at // GROUP), at % GROUP * self._row.size + begin)[0]
        return number

    def rows(self, places: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """Returns some rows of growing or saved columns as an array whose fields are the columns. Ascending places are read
        fastest."""
        import numpy as np

        from analyzer.core.array_functions import distinct, whole_rows

        whole, groups = whole_rows(self._row.size), places // GROUP
        found = np.empty(len(places), whole)
        for group in distinct(groups).tolist():
            is_here = groups == group
            found[is_here] = np.frombuffer(self._rows(group), whole)[places[is_here] % GROUP]
        return found.view(self._dtype)

    def _rows(self, number: int) -> bytes | bytearray:
        """Returns a group of rows of growing or saved columns as bytes, row by row. The groups used last are held."""
        # Several threads may read what nobody appends to any more: each looks at the groups it took.
        held = self._held
        for at, rows in held:
            if at == number:
                return rows
        found = self._read(number)
        self._held = ((number, found), *held[: _HELD - 1])
        return found

    def _read(self, number: int) -> bytes:
        """Reads a group of rows of growing or saved columns that is not held."""
        raise NotImplementedError

    @property
    def _dtype(self) -> np.dtype[Any]:
        """The NumPy type of a row of growing or saved columns."""
        if self._kind is None:
            import numpy as np  # not needed to append rows, and slow to load

            self._kind = np.dtype([(name, f"<{form}") for name, form in self.formats.items()])
        return self._kind


class GrowingColumns(Columns):
    """A table of numbers that grows row by row. A number that does not fit its column raises `struct.error`; then nothing is
    appended."""

    __slots__ = ("_bounds", "_last", "_log", "_places")

    def __init__(self, formats: Mapping[str, str], log: Log) -> None:
        super().__init__(formats)
        self._log = log
        # The rows behind the last full group, row by row: so they are quickest appended.
        self._last = bytearray()
        # The place of each full group in the log, and the bounds of the columns in a group.
        self._places = array("q")
        self._bounds = [0, *accumulate(GROUP * calcsize(f"<{form}") for form in formats.values())]

    def __len__(self) -> int:
        return len(self._places) * GROUP + len(self._last) // self._row.size

    def append(self, row: Sequence[int]) -> int:
        """Appends a row to the growing table. Returns its position."""
        packed, last, size = self._row.pack(*row), self._last, self._row.size
        if len(last) == GROUP * size:
            self._put()
            last = self._last
        at = len(self._places) * GROUP + len(last) // size
        last += packed
        return at

    def extend(self, rows: npt.NDArray[Any]) -> None:
        """Appends rows to the growing table, in the form that `rows` returns."""
        packed, size, at = memoryview(rows.tobytes()), self._row.size, 0
        while at < len(packed):
            if len(self._last) == GROUP * size:
                self._put()
            room = GROUP * size - len(self._last)
            self._last += packed[at : at + room]
            at += room

    def _put(self) -> None:
        """Writes a full group of rows to the log, column by column."""
        import numpy as np

        rows = np.frombuffer(bytes(self._last), self._dtype)
        self._places.append(self._log.append(b"".join([rows[name].tobytes() for name in self.formats])))
        self._last = bytearray()

    def column(self, name: str) -> npt.NDArray[Any]:
        import numpy as np

        index = self._indexes[name]
        dtype = np.dtype(f"<{self.formats[name]}")
        begin, end = self._bounds[index : index + 2]
        found = np.empty(len(self), dtype)
        # One group after the other: a long column is not held twice.
        for number, place in enumerate(self._places):
            found[number * GROUP : (number + 1) * GROUP] = np.frombuffer(
                self._log.read(place + begin, end - begin), dtype
            )
        found[len(self._places) * GROUP :] = np.frombuffer(bytes(self._last), self._dtype)[name]
        return found

    def _rows(self, number: int) -> bytes | bytearray:
        return self._last if number == len(self._places) else super()._rows(number)

    def _read(self, number: int) -> bytes:
        import numpy as np

        whole = self._log.read(self._places[number], self._bounds[-1])
        rows = np.empty(GROUP, self._dtype)
        for (begin, end), (name, form) in zip(pairwise(self._bounds), self.formats.items(), strict=True):
            rows[name] = np.frombuffer(whole[begin:end], f"<{form}")
        return rows.tobytes()
