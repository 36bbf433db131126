"""Makes the JSON text of buffer trees, if possible without the tree; it equals what orjson makes of the tree.

The text of performance data is written around places for its values, which are then filled in all at once. Answers of the same
layout (`known_layouts`) have the same text around their clocks and values, so that only these are looked at.

Instances of a block nearly always have values of the same sizes. Some neighbouring columns of one size are one array then, which
orjson writes as `[1,2],[3,4]`, and what stands between two values of a row takes the place of each comma.

Servers send the metadata of their countersets to every client: a buffer that is not read on the fast path is decoded once, and the
result is cached.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, chain, groupby
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import orjson
from msgspec import Raw, Struct
from msgspec.structs import replace

from analyzer.core.caches import Kept
from analyzer.core.errors import DecodeError
from analyzer.core.output.json import Pieces, dumps, safe_json
from analyzer.interfaces import buffers
from analyzer.interfaces.buffers.perf_data_layout import PERF_DATA, Grid, PerfDataLayout, PerfDataParts, Words
from analyzer.interfaces.buffers.perf_data_trees import BlockParts, block_parts, instances_of, values_of
from analyzer.interfaces.buffers.struct_layouts import BLOCK, CLOCK, DATA_HEADER, Shape, planned
from analyzer.results.buffer_kinds import BufferKind
from analyzer.results.methods.perflib import COUNTERS, ERROR, SINGLE

if TYPE_CHECKING:
    import numpy.typing as npt

_HEADER_TEXT = (
    b'{"total_size":%d,"num_blocks":%d,"perf_time_stamp":%d,"perf_time_100ns":%d,"perf_freq":%d,'
    b'"system_time":{' + b",".join(b'"%b":%%d' % name.encode() for name in CLOCK) + b'},"blocks":['
)


# Texts of some thousand values are filled in at once; one for a buffer of millions would be copied again and again while it grows.
_VALUES_AT_ONCE = 2_000
# The text of a buffer beyond this is made while it is written: it is some three times as long, and is copied into no line.
_LONG = 16 << 10
# Below this many values an array takes longer to set up than the work takes.
_FEW_VALUES = 64


# The values of a buffer: numbers, and the JSON of texts.
_Values: TypeAlias = "Words | Sequence[int | bytes]"


class _TextTemplate(Struct, frozen=True):
    """A JSON text of buffers with places for `count` values, the values of a buffer from number `first` on."""

    text: bytes
    count: int
    first: int = 0

    def filled(self, values: _Values) -> Sequence[bytes]:
        """Returns the text with the values of a buffer, in parts."""
        its = values[self.first : self.first + self.count]
        return (self.text % tuple(its.tolist() if isinstance(its, np.ndarray) else its),)


class _Grid(Struct, frozen=True):
    """The JSON text of rows of numbers with the same sizes, as texts around their columns; every other text is a place to fill. It
    has `count` values, those of a buffer from number `first` on.

    `columns` are neighbours of one size: first and last one, and the text between two values.
    """

    texts: list[bytes]
    columns: Sequence[tuple[int, int, bytes]]
    count: int
    first: int = 0

    def filled(self, values: _Values) -> Sequence[bytes]:
        """Returns the text with the values of a buffer, in parts."""
        texts, step = self.texts.copy(), 2 * len(self.columns)
        table = np.asarray(values[self.first : self.first + self.count], np.uint64).reshape(-1, self.columns[-1][1])
        for number, (first, stop, between) in enumerate(self.columns):
            numbers: npt.NDArray[Any] = np.ascontiguousarray(table[:, first:stop])
            written = orjson.dumps(numbers, option=orjson.OPT_SERIALIZE_NUMPY).split(b"]")
            texts[2 * number + 1 :: step] = [row[2:].replace(b",", between) for row in written[:-2]]
        return texts


_Piece = _TextTemplate | _Grid


class _LayoutText(Struct, frozen=True, eq=False):
    """The JSON text of buffers of one layout behind their headers. `pieces` is None if no other buffer is recognised by the layout.
    `placed` tells which values have a place in it, None for all."""

    pieces: Sequence[_Piece] | None
    placed: npt.NDArray[np.bool_] | None

    def pieces_of(self, data: bytes, layout: PerfDataLayout) -> Iterable[_Piece]:
        """Returns the pieces of the text of a buffer's tree, by its layout."""
        return self.pieces if self.pieces is not None else _grouped(_pieces(data, layout))


class TreeText(Struct, frozen=True):
    """The tree of a decoded buffer as JSON text, in pieces if it is long. `problem` and `notes` are those of `BufferDecode`."""

    text: Raw | Pieces
    problem: DecodeError | None = None
    notes: tuple[str, ...] = ()


class TreeTexts:
    """Makes the JSON texts of the trees of many buffers, and caches those of short ones."""

    # Longer buffers are not kept. Above the total, with texts, buffers unused for longest are dropped.
    MAX_LENGTH = 16 * 1024
    MAX_BYTES = 4 * 1024 * 1024

    def __init__(self) -> None:
        self._cached: Kept[TreeText | None] = Kept(self.MAX_BYTES)

    def tree(self, kind: BufferKind, data: bytes, *, big_endian: bool | None = None) -> TreeText | None:
        """Returns the tree of a buffer as JSON text, None if only `decode_buffer` can make it."""
        if kind == "perf-data":
            if (read := PERF_DATA.read(data)) is not None:
                return _tree_text(data, lambda: _perf_data_texts(data, read))
        elif kind == "winperf" and not big_endian and (tree := _winperf_tree(data)) is not None:
            return tree
        if len(data) > self.MAX_LENGTH:
            return None
        return self._cached.get(
            (kind, big_endian, data),
            lambda: _decoded(kind, data, big_endian=big_endian),
            lambda tree: len(data) + _length(tree),
        )


def _length(tree: TreeText | None) -> int:
    return len(bytes(tree.text)) if tree is not None and isinstance(tree.text, Raw) else 0


def _decoded(kind: BufferKind, data: bytes, *, big_endian: bool | None) -> TreeText | None:
    """Returns the result of `decode_buffer` as JSON text, None if there is no such text."""
    decoded = buffers.decode_buffer(kind, data, big_endian=big_endian)
    try:
        text = orjson.dumps(decoded.tree)
    except TypeError:
        return None
    return TreeText(Raw(text), decoded.problem.alone() if decoded.problem is not None else None, decoded.notes)


def _tree_text(data: bytes, made: Callable[[], Iterable[Sequence[bytes]]]) -> TreeText:
    """Returns the text of the tree of an undamaged buffer, JSON. `made` yields it in pieces, each in parts. Of a long text nothing
    is made before it is asked for."""
    if len(data) > _LONG:
        return TreeText(Pieces(lambda: map(b"".join, made())))
    return TreeText(Raw(b"".join(chain.from_iterable(made()))))


def _perf_data_texts(data: bytes, read: PerfDataParts) -> Iterator[Sequence[bytes]]:
    """Yields the JSON text of undamaged performance data in pieces, each in parts."""
    layout = read.layout
    known = layout.once("json", lambda: _layout_text(data, layout))
    placed = known.placed
    values: _Values = read.values if placed is None else read.values[placed]
    if read.layout.texts:
        found = (value for at, value in enumerate(values_of(read)) if placed is None or placed[at])
        values = [value if isinstance(value, int) else dumps(value) for value in found]
    yield (_HEADER_TEXT % DATA_HEADER.unpack_from(data),)
    for piece in known.pieces or known.pieces_of(data, layout):
        yield piece.filled(values)


def _layout_text(data: bytes, layout: PerfDataLayout) -> _LayoutText:
    placed = None
    if not all(isinstance(part, Grid) for part in layout.parts):
        placed = layout.data_sizes >= 0  # error blocks have no value
    return _LayoutText(list(_grouped(_pieces(data, layout))) if layout.free is not None else None, placed)


def _winperf_tree(data: bytes) -> TreeText | None:
    """Returns the tree of a regular PERF_DATA_BLOCK without text among its values as JSON text, None for others."""
    # Few captures have such blocks.
    from analyzer.interfaces.buffers.winperf_layout import MAX_BYTES, WINPERF, winperf_form, winperf_numbers

    # A longer block is not known again. Form and text take 1.9 s for 7.8 MB, and the tree takes 1.3 s.
    block = WINPERF.read(data) if len(data) <= MAX_BYTES else None
    if block is None:
        return None

    def make() -> list[_Piece] | None:
        form = winperf_form(data, block)
        return list(_grouped(_templates(safe_json(form)))) if form is not None else None

    pieces = block.layout.once("json", make)
    if pieces is None:
        return None
    numbers = winperf_numbers(data, block)
    return _tree_text(data, lambda: [piece.filled(numbers) for piece in pieces])


def _grouped(pieces: Iterable[_Piece]) -> Iterator[_Piece]:
    """Joins templates of a buffer's JSON, some thousand values in each, and gives each its place among the values."""
    texts: list[bytes] = []
    count = first = 0
    for piece in pieces:
        if isinstance(piece, _TextTemplate):
            texts.append(piece.text)
            count += piece.count
            if count < _VALUES_AT_ONCE:
                continue
        yield _TextTemplate(b"".join(texts), count, first)
        texts.clear()
        first, count = first + count, 0
        if isinstance(piece, _Grid):
            yield replace(piece, first=first)
            first += piece.count
    yield _TextTemplate(b"".join(texts), count, first)


def _templates(text: bytes) -> Iterator[_Piece]:
    """Yields templates of a buffer's JSON text. `text` has a NUL in the place of each number."""
    *before, rest = text.replace(b"%", b"%%").split(b"\0")
    yield from (_TextTemplate(part + b"%d", 1) for part in before)
    yield _TextTemplate(rest, 0)


def _pieces(data: bytes, layout: PerfDataLayout) -> Iterator[_Piece]:
    """Yields the JSON text of a buffer behind its header, in pieces."""
    for number, block in enumerate(block_parts(data, layout)):
        if number:
            yield _TextTemplate(b",", 0)
        yield from _block_pieces(data, block)
    yield _TextTemplate(b"]}", 0)


def _block_pieces(data: bytes, block: BlockParts) -> Iterator[_Piece]:
    head = b'{"status":%d,"block_type":%d,"size":%d,"reserved":%d,"body":{' % (
        *(block.status, block.kind),
        *(block.size, block.reserved),
    )
    total_size = block.size - BLOCK.size
    if block.ids is not None:
        size, ids = block.ids
        head += b'"counters":{"size":%d,"num_counters":%d,"counter_ids":%b},' % (size, len(ids), orjson.dumps(ids))
        total_size -= size
    if block.kind in (SINGLE, COUNTERS):
        shape = planned(block.pairs)
        data_text = shape.json if block.kind == SINGLE else b"[" + shape.json + b"]"
        yield _TextTemplate(head + b'"data":' + data_text + b"}}", len(block.pairs))
        return
    if block.kind == ERROR:
        yield _TextTemplate(head + b"}}", 0)
        return
    counts = b'"instances":{"total_size":%d,"num_instances":%d,' % (
        total_size,
        sum(len(grid.names) for grid in block.grids),
    )
    yield _TextTemplate(head + counts + b'"instances":[', 0)
    comma = b""
    for grid in block.grids:
        at_once = max(_VALUES_AT_ONCE // max(len(grid.shape.sizes), 1), 1)
        heads = [_instance_text(*instance) for instance in instances_of(data, grid)]
        for first in range(0, len(heads), at_once):
            yield _row_texts(heads[first : first + at_once], grid.shape, comma)
            comma = b","
    yield _TextTemplate(b"]}}}", 0)


def _row_texts(heads: Sequence[bytes], shape: Shape, before: bytes) -> _Piece:
    """Returns the JSON text of instances whose values have the same sizes."""
    sizes = list(zip(shape.data_sizes, shape.sizes, strict=True))
    columns = [(size, len(list(alike))) for size, alike in groupby(sizes)]
    # JSON has no NUL: the names of all are looked through at once.
    heads = safe_json(b"\0".join(heads)).split(b"\0")
    count = len(heads) * len(sizes)
    if shape.texts or count < _FEW_VALUES * max(len(columns), 1):
        body = shape.json + b"]}"
        return _TextTemplate(before + b",".join([head.replace(b"%", b"%%") + body for head in heads]), count)
    openings = [b'{"data_size":%d,"size":%d,"value":' % size for size, _ in columns]
    # Each row's text up to its first value, the others' places and what is between them, and what ends a row.
    within = [text for opening in openings[1:] for text in (b"", b"}," + opening)]
    texts = []
    for head in heads:
        texts += [before + head + openings[0], *within, b""]
        before = b"}]},"
    texts.append(b"}]}")
    stops = list(accumulate(number for _, number in columns))
    starts = [0, *stops[:-1]]
    between = [b"}," + opening for opening in openings]
    return _Grid(texts, list(zip(starts, stops, between, strict=True)), count)


def _instance_text(size: int, number: int, name: str) -> bytes:
    """Returns the text of an instance in a tree up to its values, JSON."""
    return b'{"header":{"size":%d,"instance_id":%d,"name":' % (size, number) + orjson.dumps(name) + b'},"data":['
