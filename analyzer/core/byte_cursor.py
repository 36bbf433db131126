"""A bounded cursor over bytes: it reads field by field, and each read names its field and respects the end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from analyzer.core.errors import MalformedError, TruncatedError
from analyzer.core.printable_text import guid_text

ByteOrder = Literal["little", "big"]


class Cursor:
    """Reads binary fields from `data[start:stop]`, little-endian unless stated. `pos` is an offset in `data`."""

    __slots__ = ("data", "order", "pos", "stop")

    def __init__(self, data: bytes, start: int = 0, stop: int | None = None, *, order: ByteOrder = "little") -> None:
        self.data = data
        self.pos = start
        self.stop = len(data) if stop is None else stop
        self.order: ByteOrder = order

    @property
    def left(self) -> int:
        """The number of bytes that the cursor has not read yet."""
        return self.stop - self.pos

    def take_bytes(self, field: str, length: int) -> bytes:
        if length < 0 or length > self.stop - self.pos:
            raise TruncatedError(
                f"{length} bytes wanted, {self.stop - self.pos} left", field=field, start=self.pos, stop=self.stop
            )
        self.pos += length
        return self.data[self.pos - length : self.pos]

    def _uint(self, field: str, length: int) -> int:
        return int.from_bytes(self.take_bytes(field, length), self.order)

    def u8(self, field: str) -> int:
        return self._uint(field, 1)

    def u16(self, field: str) -> int:
        return self._uint(field, 2)

    def u32(self, field: str) -> int:
        return self._uint(field, 4)

    def u64(self, field: str) -> int:
        return self._uint(field, 8)

    def guid(self, field: str) -> str:
        return guid_text(self.take_bytes(field, 16), self.order)

    def skip(self, field: str, length: int) -> None:
        self.take_bytes(field, length)

    def align(self, size: int, *, base: int = 0) -> None:
        """Moves the cursor to the next multiple of `size`, counted from offset `base` of the data."""
        self.take_bytes("padding", -(self.pos - base) % size)

    def rest(self) -> bytes:
        return self.take_bytes("rest", self.left)

    @contextmanager
    def window(self, field: str, length: int) -> Iterator[None]:
        """Limits the cursor's reads to the next `length` bytes. All of them must be read before the window closes."""
        if length < 0 or length > self.stop - self.pos:
            raise TruncatedError(
                f"{length} bytes wanted, {self.stop - self.pos} left", field=field, start=self.pos, stop=self.stop
            )
        outer, self.stop = self.stop, self.pos + length
        try:
            yield
            if self.pos != self.stop:
                raise MalformedError(
                    f"{self.stop - self.pos} bytes left over", field=field, start=self.pos, stop=self.stop
                )
        finally:
            self.stop = outer
