"""Changes to bytes: a random generator and what was there in, something near it out."""

from __future__ import annotations

import random
from collections.abc import Sequence

# Numbers that lie at the edge of what fields can hold.
_EDGES = (0, 1, 2, 3, 4, 7, 8, 15, 16, 24, 63, 64, 255, 256, 4280, 0x7FFF, 0x8000, 0xFFFE, 0xFFFF, 0x10000)
_WIDE_EDGES = (*_EDGES, 0x7FFFFFFF, 0x80000000, 0xFFFFFFF8, 0xFFFFFFFE, 0xFFFFFFFF)


class Mutator(random.Random):
    """Random numbers, and bytes changed by them."""

    def changed(self, data: bytes, others: Sequence[bytes] = ()) -> bytes:
        """The data with one to a few changes; parts of `others` may come into it."""
        made = bytearray(data)
        for _ in range(1 << self.randrange(3)):
            self._change(made, others)
        return bytes(made)

    def _change(self, made: bytearray, others: Sequence[bytes]) -> None:
        size = len(made)
        at = self.randrange(size + 1)
        kind = self.randrange(10)
        if kind < 3 and size:
            made[self.randrange(size)] ^= 1 << self.randrange(8)
        elif kind < 5 and size >= 4:
            width = self.choice((1, 2, 4, 4, 8))
            at = min(at, size - min(width, size)) // self.choice((1, 2, 4)) * self.choice((1, 2, 4))
            value = self.choice((self.choice(_WIDE_EDGES), size, size - at, self.getrandbits(8 * width)))
            made[at : at + width] = (value & ((1 << 8 * width) - 1)).to_bytes(width, self.choice(("little", "big")))
        elif kind == 5 and size:
            del made[at : at + (1 << self.randrange(8))]
        elif kind == 6:
            made[at:at] = self.randbytes(1 << self.randrange(5))
        elif kind == 7 and size:
            start = self.randrange(size)
            piece = made[start : start + (1 << self.randrange(8))]
            made[at:at] = piece * self.choice((1, 1, 2, 16))
        elif kind == 8 and others:
            other = self.choice(others)
            start = self.randrange(len(other) + 1)
            made[at : at + self.randrange(64)] = other[start : start + (1 << self.randrange(9))]
        elif kind == 9:
            del made[at:]


class Led(Mutator):
    """Random numbers that bytes say, so that whoever changes the bytes by coverage changes what is made of them; behind their end,
    any numbers, the same for the same bytes."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self._data, self._at = data, 0

    def random(self) -> float:
        return self.getrandbits(53) / (1 << 53)

    def getrandbits(self, bits: int, /) -> int:
        width = (bits + 7) // 8
        piece = self._data[self._at : self._at + width]
        self._at += width
        return int.from_bytes(piece, "little") >> 8 * width - bits if len(piece) == width else super().getrandbits(bits)
