"""Gathers frames or rows in batches by key, until a batch is large enough to be written."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Item = TypeVar("Item")


class WaitingBatches(Generic[Key, Item]):
    """Gathers items to be written (frames, rows) by key. Writes the batch of a key, in order, when it reaches the size `enough`;
    writes the largest batches while all together exceed `most`."""

    def __init__(self, write: Callable[[Key, list[Item]], None], enough: int, most: int) -> None:
        self._write_items, self._enough, self._most = write, enough, most
        self._items: dict[Key, list[Item]] = {}
        self._sizes: dict[Key, int] = {}
        self._size = 0

    def add(self, key: Key, item: Item, size: int) -> None:
        self._items.setdefault(key, []).append(item)
        self._sizes[key] = self._sizes.get(key, 0) + size
        self._size += size
        if self._sizes[key] >= self._enough:
            self.write(key)
        while self._size > self._most:
            self.write(max(self._sizes, key=self._sizes.__getitem__))

    def last(self, key: Key) -> Item | None:
        """Returns the newest item of a key whose batch still waits to be written, else None."""
        return self._items[key][-1] if key in self._items else None

    def write(self, key: Key) -> None:
        self._size -= self._sizes.pop(key)
        self._write_items(key, self._items.pop(key))

    def finish(self) -> None:
        for key in list(self._items):
            self.write(key)
