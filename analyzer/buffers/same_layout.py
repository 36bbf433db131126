"""Buffers of a layout met before: found by comparing all but what may differ, for both generations of performance data."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt
from msgspec import Struct

_Layout = TypeVar("_Layout")
_Word = TypeVar("_Word", np.uint32, np.uint64)


class _Known(Struct, frozen=True, eq=False):
    """A buffer that was read: its words, which of their bits have to be the same, and its layout."""

    words: npt.NDArray[Any]
    fixed: npt.NDArray[Any]
    layout: Any


class SameLayout(Generic[_Layout, _Word]):
    """Remembers a buffer of each size with its layout.

    Of more sizes than `MAX_LAYOUTS`, or of more than `max_bytes` in all, the one that was read first is forgotten.
    """

    MAX_LAYOUTS = 64

    def __init__(self, form: str, max_bytes: int) -> None:
        self._form = np.dtype(form)
        self._max_bytes = max_bytes
        self._known: dict[int, _Known] = {}
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._known)

    @property
    def bytes_held(self) -> int:
        """How many bytes of buffers are remembered."""
        return self._bytes

    def find(self, data: bytes) -> _Layout | None:
        """The layout of a buffer that differs from one remembered in nothing but what may differ."""
        known = self._known.get(len(data))
        if known is None or ((np.frombuffer(data, self._form) ^ known.words) & known.fixed).any():
            return None
        layout: _Layout = known.layout
        return layout

    def holds(self, layout: _Layout) -> bool:
        """Whether a buffer of this layout is remembered."""
        return any(known.layout is layout for known in self._known.values())

    def remember(self, data: bytes, layout: _Layout, free: Iterable[npt.NDArray[np.int64]]) -> None:
        """Remembers a buffer of whole words; `free` are the words that may differ."""
        if len(data) % self._form.itemsize or len(data) > self._max_bytes:
            return
        words: npt.NDArray[_Word] = np.frombuffer(data, self._form)
        fixed = np.full(len(words), np.iinfo(self._form).max, self._form)
        for these in free:
            fixed[these] = 0
        if self._known.pop(len(data), None) is not None:
            self._bytes -= len(data)
        self._bytes += len(data)
        self._known[len(data)] = _Known(words, fixed, layout)
        while len(self._known) > self.MAX_LAYOUTS or self._bytes > self._max_bytes:
            oldest = next(iter(self._known))
            del self._known[oldest]
            self._bytes -= oldest
