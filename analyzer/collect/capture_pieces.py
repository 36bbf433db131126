"""Writes and reads pieces: the frames of a capture file that belong to one pair of hosts, as bytes.

All pieces of a file lie in one object, written front to back while the file is read. The facts of the file say where each lies. A
piece is a MessagePack record, compressed with zstd: the arrays of a block of frames as bytes, little-endian, and the bytes. It
keeps the number of each frame in its file, and the latest time in the file so far, by which files are merged.

`WaitingBatches` gathers frames or rows in batches by key, until a batch is large enough to be written.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from hashlib import sha256
from typing import Any, BinaryIO, Generic, TypeVar

import numpy as np
import zstandard
from msgspec import Struct, msgpack

from analyzer.capture.frame_blocks import HEAD_BEFORE, FrameBlock, PlacedBlock, heads_of
from analyzer.core.frame_ids import frame_id
from analyzer.core.output.file_store import Store
from analyzer.transport.packet.host_pair_sorter import FrameKind

# ------------------------------------------------------------------------------------------------------ waiting batches


Key = TypeVar("Key", bound=Hashable)
Item = TypeVar("Item")


class WaitingBatches(Generic[Key, Item]):
    """Gathers the frames of pieces (or table rows) by key until they are written. Writes the batch of a key, in order, when it
    reaches the size `enough`; writes the largest batches while all together exceed `most`."""

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
        """Returns the newest frames (or rows) of a key whose batch still waits to be written, else None."""
        return self._items[key][-1] if key in self._items else None

    def write(self, key: Key) -> None:
        self._size -= self._sizes.pop(key)
        self._write_items(key, self._items.pop(key))

    def finish(self) -> None:
        for key in list(self._items):
            self.write(key)


# ------------------------------------------------------------------------------------------------------- capture pieces


# A piece is written at this size; the largest pieces are written when all waiting ones together exceed the second size.
PIECE_BYTES, WAITING_BYTES = 2 * 1024 * 1024, 64 * 1024 * 1024
_LEVEL = 1


class PiecePlace(Struct, frozen=True, array_like=True):
    """The place of a piece in the object of its capture file, how many frames it has, and their captured bytes."""

    start: int
    length: int
    frames: int
    size: int


# The arrays that a piece has between its link type and its bytes, and the stored types of their numbers.
_COLUMNS = {"frames": "<i8", "times_ns": "<i8", "keys": "<i8", "captured": "<u4", "original": "<i8"}


def pack(blocks: Sequence[PlacedBlock]) -> bytes:
    """Packs frame blocks of one link type into the bytes of one piece."""
    columns = [
        np.concatenate([getattr(block, name) for block in blocks]).astype(kind).tobytes()
        for name, kind in _COLUMNS.items()
    ]
    packed = blocks[0].link_type, *columns, b"".join([block.data for block in blocks])
    return zstandard.ZstdCompressor(_LEVEL).compress(msgpack.encode(packed))


def unpack(piece: bytes, file: int) -> PlacedBlock:
    """Returns the frames of a piece as a block, numbered as frames of the capture file with this number."""
    kind = tuple[int, bytes, bytes, bytes, bytes, bytes, bytes]
    link_type, *columns, data = msgpack.decode(zstandard.ZstdDecompressor().decompress(piece), type=kind)
    stored = zip(_COLUMNS.items(), columns, strict=True)
    arrays = {name: np.frombuffer(column, kind).astype(np.int64) for (name, kind), column in stored}
    arrays["frames"] += frame_id(file, 0)
    starts = HEAD_BEFORE + np.cumsum(arrays["captured"]) - arrays["captured"]
    data = bytes(HEAD_BEFORE) + data
    return PlacedBlock(data=data, link_type=link_type, starts=starts, heads=heads_of(data, starts), **arrays)


class PieceWriter:
    """Gathers frames of one capture by pair of hosts, and writes them as pieces to one object."""

    def __init__(self, out: BinaryIO) -> None:
        self._out, self._end = out, 0
        self._waiting = WaitingBatches[FrameKind, PlacedBlock](self._write, PIECE_BYTES, WAITING_BYTES)
        self.finish = self._waiting.finish
        self._digests: dict[FrameKind, Any] = {}
        self.places: dict[FrameKind, list[PiecePlace]] = {}

    def add(self, kind: FrameKind, block: PlacedBlock) -> None:
        """Adds frames to the pieces of their kind (pair of hosts), after the frames that were added before."""
        before = self._waiting.last(kind)
        if before is not None and before.link_type != block.link_type:
            self._waiting.write(kind)
        self._waiting.add(kind, block, len(block.data) + 32 * len(block))

    def digest(self, kind: FrameKind) -> bytes:
        """Returns the SHA-256 digest of the pieces of one kind of frames that were written so far."""
        found: bytes = self._digests[kind].digest()
        return found

    def put(self, data: bytes) -> tuple[int, int]:
        """Writes a piece or other bytes to the object of its capture; returns their offset and length."""
        start, self._end = self._end, self._end + len(data)
        self._out.write(data)
        return start, len(data)

    def _write(self, kind: FrameKind, blocks: list[PlacedBlock]) -> None:
        piece = pack(blocks)
        start, length = self.put(piece)
        self._digests.setdefault(kind, sha256()).update(piece)
        frames, size = sum(map(len, blocks)), sum(int(block.captured.sum()) for block in blocks)
        self.places.setdefault(kind, []).append(PiecePlace(start, length, frames, size))


class PieceFile:
    """Gives `capture_reader.merged` the pieces of one capture file that a conversation is read from, as if they were a file."""

    def __init__(self, store: Store, name: str, places: Sequence[PiecePlace], number: int, first_time_ns: int) -> None:
        self._store, self._name = store, name
        self._places = places
        self.number = number
        self.first_time_ns: int | None = first_time_ns

    def items(self) -> Iterator[FrameBlock]:
        for place in self._places:
            yield unpack(self._store.read(self._name, place.start, place.start + place.length), self.number)

    def set_block_bytes(self, block_bytes: int) -> None:
        """Does nothing: pieces are as large as they are."""
