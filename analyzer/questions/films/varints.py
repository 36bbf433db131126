"""Variable-length bytes for the whole numbers of films: zigzag, then seven bits a byte (LEB128). Blocks of films deflate them."""

from __future__ import annotations

import zlib
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
# Nine bytes hold 63 bits; numbers of a film have 51, and their folded differences 53.
_MOST_BYTES = 9


def deflated(parts: Iterable[bytes], level: int = 6) -> bytes:
    """Returns the parts of a film's block deflated to one (RFC 1951)."""
    squeeze = zlib.compressobj(level, zlib.DEFLATED, -15)
    return b"".join([*map(squeeze.compress, parts), squeeze.flush()])


def inflated(data: bytes) -> bytes:
    """Returns the bytes of a film's block that were deflated."""
    return zlib.decompress(data, -15)


def varints(numbers: Ints) -> bytes:
    """Encodes whole numbers of up to 62 bits as variable-length bytes."""
    folded = ((numbers << 1) ^ (numbers >> 63)).view(np.uint64)
    sizes = np.ones(len(folded), np.int64)
    for byte in range(1, _MOST_BYTES):
        larger = folded >> np.uint64(7 * byte) != 0
        if not larger.any():
            break
        sizes += larger
    starts = np.cumsum(sizes) - sizes
    out = np.zeros(int(sizes.sum()), np.uint8)
    for byte in range(int(sizes.max(initial=0))):
        rows = np.flatnonzero(sizes > byte)
        bits = (folded[rows] >> np.uint64(7 * byte)).astype(np.uint8) & np.uint8(0x7F)
        out[starts[rows] + byte] = bits | np.where(sizes[rows] > byte + 1, np.uint8(0x80), np.uint8(0))
    return out.tobytes()


def numbers_of(data: bytes) -> Ints:
    """Decodes variable-length bytes to whole numbers."""
    held = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(held < 0x80)
    starts = np.concatenate([np.zeros(1, np.int64), ends[:-1] + 1]) if len(ends) else ends
    folded = np.zeros(len(ends), np.uint64)
    for byte in range(int((ends - starts).max(initial=-1)) + 1):
        rows = np.flatnonzero(ends - starts >= byte)
        folded[rows] |= (held[starts[rows] + byte] & np.uint8(0x7F)).astype(np.uint64) << np.uint64(7 * byte)
    made: Ints = (folded >> np.uint64(1)).view(np.int64) ^ -(folded & np.uint64(1)).view(np.int64)
    return made
