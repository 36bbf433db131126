"""Recognises performance data buffers whose layout was met before, of both generations, by comparing the bits that must be equal.

Results that follow from a layout are kept with it, for all who ask (`KnownLayout.once`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
from msgspec import Struct

if TYPE_CHECKING:
    import numpy.typing as npt

_Layout = TypeVar("_Layout")
_Made = TypeVar("_Made")
_Word = TypeVar("_Word", np.uint32, np.uint64)


class KnownLayout(Struct, frozen=True, eq=False, dict=True):
    """A layout that several buffers of performance data have. Buffers of a remembered layout share one object."""

    def once(self, key: str, make: Callable[[], _Made]) -> _Made:
        """Returns the cached result of the known layout under a key; makes it at the first call. It must not hold the layout."""
        made: _Made
        try:
            made = self.__dict__[key]
        except KeyError:
            made = self.__dict__[key] = make()
        return made


class _Known(Struct, frozen=True, eq=False):
    """A remembered buffer of performance data: which bits of its words must be equal (`fixed`), these bits, and its layout."""

    fixed: npt.NDArray[Any]
    equal: bytes
    layout: Any


class SameLayout(Generic[_Layout, _Word]):
    """Remembers buffers of performance data with their layouts, a few of each size.

    If there are more than `MAX_LAYOUTS`, more than `MAX_OF_A_SIZE` of one size, or more than `max_bytes` in all, the one that was
    read first is forgotten.
    """

    MAX_LAYOUTS = 64
    # Queries that are polled in turn and have answers of one size; each is compared with every buffer of the size until one fits.
    MAX_OF_A_SIZE = 4

    def __init__(self, form: str, max_bytes: int) -> None:
        self._form = np.dtype(form)
        self._max_bytes = max_bytes
        # By size, what was read first before what was read later; and the sizes of all, in the order of reading.
        self._known: dict[int, tuple[_Known, ...]] = {}
        self._sizes: deque[int] = deque()
        self._bytes = 0
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._sizes)

    def find(self, data: bytes) -> _Layout | None:
        """Returns the layout of a remembered buffer that equals this one in all bits that must be equal, None if there is none."""
        of_the_size = self._known.get(len(data))
        if not of_the_size:
            return None
        words = np.frombuffer(data, self._form)
        for known in of_the_size:
            # Bytes are compared several times as fast as words.
            if (words & known.fixed).tobytes() == known.equal:
                layout: _Layout = known.layout
                return layout
        return None

    def remember(self, data: bytes, layout: _Layout, free: Iterable[npt.NDArray[np.int64]]) -> None:
        """Remembers a performance data buffer of whole words with its layout. `free` are the words that may differ."""
        size: int = len(data)
        if size % self._form.itemsize or size > self._max_bytes:
            return
        words: npt.NDArray[_Word] = np.frombuffer(data, self._form)
        fixed = np.full(len(words), np.iinfo(self._form).max, self._form)
        for these in free:
            fixed[these] = 0
        with self._lock:
            if len(self._known.get(size, ())) == self.MAX_OF_A_SIZE:
                self._forget(size)
                self._sizes.remove(size)
            self._known[size] = (*self._known.get(size, ()), _Known(fixed, (words & fixed).tobytes(), layout))
            self._sizes.append(size)
            self._bytes += size
            while len(self._sizes) > self.MAX_LAYOUTS or self._bytes > self._max_bytes:
                self._forget(self._sizes.popleft())

    def _forget(self, size: int) -> None:
        """Forgets the remembered buffer of this size that was read first."""
        self._bytes -= size
        self._known[size] = self._known[size][1:]
        if not self._known[size]:
            del self._known[size]
