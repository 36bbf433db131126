"""Reads tables of numbers that were saved as Arrow files (`core/arrow_files.py`), with numbers as narrow as possible."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from analyzer.core import growing_columns
from analyzer.core.arrow_files import ArrowTable, ColumnNode

if TYPE_CHECKING:
    import numpy.typing as npt


class SavedColumns(growing_columns.Columns):
    """The columns of a saved Arrow table that somebody else wrote. It may hold anything: a column that is none raises `ValueError`
    when it is read. A number below 0 is absent if its column is nullable."""

    __slots__ = ("_nodes", "_table")

    def __init__(self, formats: Mapping[str, str], table: ArrowTable) -> None:
        super().__init__(formats)
        self._table = table
        self._nodes = {node.column.name: node for node in table.nodes}

    def __len__(self) -> int:
        return self._table.rows

    def column(self, name: str) -> npt.NDArray[Any]:
        import numpy as np

        node, step = self._nodes[name], self._table.rows_of_batch
        starts = range(0, len(self), step)
        parts = [self._part(node, start // step, 0, min(step, len(self) - start)) for start in starts]
        return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, f"<{node.column.width}"), *parts])

    def _part(self, node: ColumnNode, number: int, start: int, stop: int) -> npt.NDArray[Any]:
        """Returns the numbers of a saved column in some rows of a batch."""
        numbers = self._table.numbers(node, number, start, stop)
        if node.column.nullable:
            present = self._table.present(node, number, start, stop)
            if (present != (numbers >= 0)).any():
                raise ValueError(f"{node.column.name} has numbers that are not there")
        return numbers

    def _read(self, number: int) -> bytes:
        import numpy as np

        begin, step = number * growing_columns.GROUP, self._table.rows_of_batch
        count = min(growing_columns.GROUP, len(self) - begin)
        if count <= 0:
            raise IndexError("there is no such row")
        rows = np.empty(count, self._dtype)
        for name in self.formats:
            rows[name] = self._part(self._nodes[name], begin // step, begin % step, begin % step + count)
        return rows.tobytes()
