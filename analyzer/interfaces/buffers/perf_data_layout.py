"""Reads an undamaged buffer of performance data (MS-PCQ 2.2.4.7) into columns: to what each value belongs, and where it stands.

There is one description (`PerfDataLayout`) of a buffer. All but the compiled parser's own results is derived from it: columns,
rows (`value_rows`), trees (`perf_data_trees`), JSON text (`tree_texts`), and the comparison with the answer before
(`PerfDataReader`). Every size has to be what the layout makes it, every byte has to belong to something, and nothing may call for a
remark. A buffer in which anything is not as it should be has no description, and the compiled parser reads it; its results are what
all this is tested against.

* Blocks are found one after the other, by their sizes. Those without instances (types 0, 1 and 2) are then read all at once:
  the first value of each, the second of each, and so on, as each size says where the next value is.
* Instances of a block nearly always have values of the same sizes as its first one, so the words in which those sizes stand show
  where rows may begin. An instance begins where the row before it ends, and its header's size must lead to the next of these
  places. If that holds for all, from the first to the end of the block, then these are the instances, whatever else looks like
  them. If it does not, the sizes are followed one by one.
* Names are decoded as one text. Each has to begin with a character and to end with a NUL; if there are then as many pieces
  between NULs as names, each name is one piece.
* A buffer with text among its values, with instances of several shapes, or with blocks between words, and a short one, is
  followed value by value. The description is the same.
* The answers to a query have the same layout again and again. One that differs from an answer already read in its clocks
  and values only, every other bit being equal, reads as that one did.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from msgspec import Struct

from analyzer.core.caches import cached_property
from analyzer.interfaces.buffers.known_layouts import KnownLayout, SameLayout
from analyzer.interfaces.buffers.struct_layouts import (
    BLOCK,
    BLOCK_SIZE,
    COUNTER_DATA,
    COUNTER_IDS,
    DATA_HEADER,
    DATA_NUMBERS,
    INSTANCE_HEADER,
    INSTANCE_SIZE,
    INSTANCES_HEADER,
    IrregularError,
    Shape,
    planned,
    shape_at,
    u4s,
)
from analyzer.interfaces.buffers.windows_text import utf16_text
from analyzer.results.methods.perflib import COUNTERS, COUNTERSET, ERROR, INSTANCES, KINDS, SINGLE

if TYPE_CHECKING:
    import numpy.typing as npt

Ints: TypeAlias = "npt.NDArray[np.int64]"
Words: TypeAlias = "npt.NDArray[np.uint64]"

_LOW = np.uint64(0xFFFFFFFF)
_HIGH = np.uint64(32)
# Below this many blocks or instances, arrays take longer to set up than the work takes.
_FEW = 24
_FEW_VALUES = 400
_SHORT = 1024
# Answers of so many bytes are compared with later ones.
MAX_BYTES = 16 * 1024 * 1024
# Rows are copied before their values are taken out of them, so many at a time.
_VALUES_AT_ONCE = 1 << 18
_NAMES_AT_ONCE = 1 << 13
# Searching for rows compares each word with each size; beyond this many sizes it is faster to follow the instances.
_SEARCHED_SIZES = 8
# Values at odd places are read through a description with a name for each, which must not become as long as a forged row.
_MOST_PACKED = 1024
# Which types of block there are; all above the last are not.
_KNOWN = np.array([kind in (ERROR, SINGLE, COUNTERS, INSTANCES, COUNTERSET) for kind in range(COUNTERSET + 2)])


class Grid(Struct, frozen=True, eq=False):
    """A part of a performance data layout: successive instances of a block whose values have the same sizes (`shape`): a row of
    values for each instance, one value a counter.

    `counter_ids` is None for type 4, which has none. The header of each instance begins at `starts`, its values at `begins`.
    """

    block: int
    block_type: int
    status: int
    counter_ids: Sequence[int] | None
    shape: Shape
    names: Sequence[str]
    instance_ids: Ints
    starts: Ints
    begins: Ints

    @property
    def data_sizes(self) -> Sequence[int]:
        return self.shape.data_sizes

    @property
    def value_starts(self) -> Ints:
        # dwDataSize and dwSize stand before each value.
        inside = np.cumsum((0, *self.shape.sizes[:-1]))[: len(self.shape.sizes)] + 8
        starts: Ints = (self.begins[:, None] + inside).reshape(-1)
        return starts

    def __len__(self) -> int:
        return len(self.names) * len(self.shape.data_sizes)


class Singles(Struct, frozen=True, eq=False):
    """A part of a performance data layout: successive blocks without instances, value by value.

    `counter_id` is -1 if the block has none. `data_size` and `size` (dwDataSize and dwSize) are -1 for an error block. The data of
    the value begin at `at`; for an error block, the block does.
    """

    block: Ints
    block_type: Ints
    status: Ints
    counter_id: Ints
    data_size: Ints
    size: Ints
    at: Ints

    @property
    def value_starts(self) -> Ints:
        return np.where(self.data_size < 0, -1, self.at)

    def __len__(self) -> int:
        return len(self.block)


Part = Grid | Singles


class PerfDataLayout(KnownLayout, frozen=True, eq=False):
    """The layout of a performance data buffer: all of it except its clocks and numbers, in the order of the buffer.

    Block n is from `starts[n]` to `starts[n + 1]` and has `statuses[n]`. `places` states in which word of the buffer each number
    stands, None where a value does not begin at a word, or the buffer is too long to be compared with later ones. `texts` has the
    bytes of the values that are texts, by the position of the value.
    """

    starts: Sequence[int]
    statuses: Ints
    parts: tuple[Part, ...]
    places: Ints | None
    texts: Mapping[int, bytes] = MappingProxyType({})

    @cached_property
    def data_sizes(self) -> Ints:
        """The size of each value in the layout of performance data, -1 for an error block."""
        sizes = [
            np.tile(np.array(part.data_sizes, np.int64), len(part.names)) if isinstance(part, Grid) else part.data_size
            for part in self.parts
        ]
        return np.concatenate([np.empty(0, np.int64), *sizes])

    @cached_property
    def value_starts(self) -> Ints:
        """The positions where the bytes of each value begin in performance data of this layout, -1 for an error block."""
        return np.concatenate([np.empty(0, np.int64), *(part.value_starts for part in self.parts)])

    @cached_property
    def masks(self) -> Words | None:
        """The used bits of the word of each value in the layout of performance data, None if all use all bits. A value of 4 bytes
        uses the lower half; the rest is padding. A text uses none."""
        if (self.data_sizes == 8).all():
            return None
        masks: Words = np.array([0, 0xFFFFFFFF, 0xFFFFFFFF_FFFFFFFF], np.uint64)
        found: Words = masks[np.where(self.are_numbers, self.data_sizes, 0) // 4]
        return found

    @cached_property
    def are_numbers(self) -> npt.NDArray[np.bool_]:
        """Whether each value in the layout of performance data is a number. Others are texts, or stand for an error block."""
        found: npt.NDArray[np.bool_] = (self.data_sizes == 4) | (self.data_sizes == 8)
        return found

    @property
    def free(self) -> tuple[Ints, Ints] | None:
        """The words of performance data that differ between buffers of a layout: clocks and numbers. None if buffers cannot be
        compared."""
        if self.places is None:
            return None
        # Error blocks have no value: what stands there has to be the same. So have texts, which take any number of words.
        return np.arange(1, DATA_HEADER.size // 8), self.places[self.are_numbers]

    def values_in(self, data: bytes) -> Words:
        """Returns the values of a performance data buffer of this layout. Buffers of one layout differ only in `free` words."""
        words: Words = np.frombuffer(data, "<u8")
        values: Words = words[self.places]
        if self.masks is not None:
            values &= self.masks
        return values


class PerfDataParts(Struct, frozen=True, eq=False):
    """A performance data buffer: its clocks, its layout, and its values in the order of the layout's parts. The value of an error
    block or a text is 0."""

    perf_time_stamp: int
    perf_time_100ns: int
    perf_freq: int
    layout: PerfDataLayout
    values: Words


class _Read(Struct, frozen=True, eq=False):
    """A part of a performance data layout with its values, the words in which they stand (None: not in words), and the texts among
    them."""

    part: Part
    values: Words
    places: Ints | None
    texts: Mapping[int, bytes] = MappingProxyType({})


def read_perf_data(data: bytes) -> PerfDataParts | None:
    """Reads layout and values of a regular performance data buffer. Returns None if anything in it is irregular."""
    if len(data) < DATA_HEADER.size:
        return None
    total_size, count, stamp, time_100ns, freq = DATA_NUMBERS.unpack_from(data)
    if total_size != len(data) or count * BLOCK.size > len(data):
        return None
    starts = _block_starts(data, count)
    if starts is None:
        return None
    read = _in_arrays(data, starts) if len(data) > _SHORT else None
    if read is None:
        try:
            read = list(_one_by_one(data, starts))
        except (IrregularError, struct.error):
            return None
    places = [found.places for found in read if found.places is not None]
    in_words = arrays_joined(places, np.int64) if len(places) == len(read) else None
    statuses = _windows(data, "u1", 4)[np.array(starts[:-1], np.int64)].view("<u4")[:, 0].astype(np.int64)
    layout = PerfDataLayout(starts, statuses, tuple(found.part for found in read), in_words, _texts(read))
    return PerfDataParts(stamp, time_100ns, freq, layout, arrays_joined([found.values for found in read], np.uint64))


def _texts(read: Sequence[_Read]) -> Mapping[int, bytes]:
    if not any(found.texts for found in read):
        return MappingProxyType({})
    texts: dict[int, bytes] = {}
    before = 0
    for found in read:
        texts.update((before + at, text) for at, text in found.texts.items())
        before += len(found.values)
    return texts


def _in_arrays(data: bytes, starts: Sequence[int]) -> list[_Read] | None:
    """Reads the layout of a performance data buffer of numbers with arrays. Returns None unless all blocks begin at words and the
    instances of each block are alike."""
    count = len(starts) - 1
    at = np.array(starts, np.int64)
    if (at[:-1] % 8).any():
        return None
    at //= 8
    words: Words = np.frombuffer(data, "<u8", len(data) // 8)
    kinds = (words[at[:-1]] >> _HIGH).astype(np.int64)
    statuses = (words[at[:-1]] & _LOW).astype(np.int64)
    with_instances = np.flatnonzero((kinds == INSTANCES) | (kinds == COUNTERSET)).tolist()
    read: list[_Read] = []
    try:
        singles = _Singles(data, words, at, kinds, statuses) if len(with_instances) < count else None
        for before, number in pairwise([-1, *with_instances, count]):
            if singles is not None and number - before > 1:
                read.append(singles.between(before + 1, number))
            if number < count:
                kind, status = int(kinds[number]), int(statuses[number])
                read.append(_grid(data, words, (number, kind, status), starts[number], starts[number + 1]))
    except (IrregularError, struct.error):
        return None
    return read


def arrays_joined(arrays: Sequence[npt.NDArray[Any]], dtype: type[np.generic]) -> npt.NDArray[Any]:
    """Joins arrays of a performance data layout to one. Without arrays, the result is an empty one."""
    return arrays[0] if len(arrays) == 1 else np.concatenate([np.empty(0, dtype), *arrays])


def _block_starts(data: bytes, count: int) -> list[int] | None:
    """Returns where the blocks in the layout of performance data begin, and where the last one ends. None if they do not fill the
    buffer."""
    starts = [DATA_HEADER.size]
    at, end = DATA_HEADER.size, len(data)
    size_at = BLOCK_SIZE.unpack_from
    for _ in range(count):
        if at + BLOCK.size > end:
            return None
        size = size_at(data, at)[0]
        if size < BLOCK.size:
            return None
        at += size
        starts.append(at)
    return starts if at == end else None


class _Singles:
    """All blocks without instances in the layout of performance data, in arrays with one entry a value."""

    def __init__(self, data: bytes, words: Words, at: Ints, kinds: Ints, statuses: Ints) -> None:
        # Only the last block may end between words, and then it is none of these.
        if len(data) % 8 and kinds[-1] not in (INSTANCES, COUNTERSET):
            raise IrregularError
        counts = ((kinds == ERROR) | (kinds == SINGLE)).astype(np.int64)
        many = np.flatnonzero(kinds == COUNTERS)
        if not _KNOWN[np.minimum(kinds, len(_KNOWN) - 1)].all():
            raise IrregularError
        first = at[:-1] + 2
        stops = at[1:]
        if len(many):
            if (first[many] >= stops[many]).any():
                raise IrregularError
            ids = words[first[many]]
            ids_sizes, numbers = (ids & _LOW).astype(np.int64), (ids >> _HIGH).astype(np.int64)
            # Ids that leave what follows unaligned can be read in two ways.
            if (ids_sizes < 8).any() or (ids_sizes % 8).any() or (numbers > (ids_sizes - 8) // 4).any():
                raise IrregularError
            counts[many] = numbers
            first[many] += ids_sizes // 8
        if (first > stops).any() or ((kinds == ERROR) & (first != stops)).any():
            raise IrregularError
        self._offsets = np.concatenate(([0], np.cumsum(counts)))
        total = int(self._offsets[-1])
        self._block = np.repeat(np.arange(len(kinds)), counts)
        self._kind, self._status = np.repeat(kinds, counts), np.repeat(statuses, counts)
        self._counter = np.full(total, -1, np.int64)
        self._held = np.full(total, -1, np.int64)
        self._sizes = np.full(total, -1, np.int64)
        self._values = np.zeros(total, np.uint64)
        # An error block has no value; its own first word stands in for one, and is masked.
        self._places = np.repeat(at[:-1], counts)
        halves: npt.NDArray[np.uint32] = np.frombuffer(data, "<u4", len(data) // 4)
        for number in sorted(set(counts[many].tolist())):
            same = many[counts[many] == number]
            rows = self._offsets[same][:, None] + np.arange(number)
            self._counter[rows] = halves[2 * (at[same] + 3)[:, None] + np.arange(number)]
            self._read(data, words, same, first[same], stops[same], number)
        singles = np.flatnonzero(kinds == SINGLE)
        if len(singles):
            self._read(data, words, singles, first[singles], stops[singles], 1)

    def _read(self, data: bytes, words: Words, blocks: Ints, at: Ints, stops: Ints, number: int) -> None:
        """Reads the layout of `number` values in each of these performance data blocks, which must end behind them."""
        rows = self._offsets[blocks]
        if len(blocks) < _FEW:
            for row, start, stop in zip(rows.tolist(), (8 * at).tolist(), (8 * stops).tolist(), strict=True):
                shape = _number_shape(data, start, stop, number)
                if start + shape.length != stop or not shape.in_words:
                    raise IrregularError
                self._held[row : row + number] = shape.data_sizes
                self._sizes[row : row + number] = shape.sizes
                self._values[row : row + number] = shape.ints.unpack_from(data, start)[2::3]
                self._places[row : row + number] = [start // 8 + word for word in shape.words]
            return
        for column in range(number):
            if (at + 2 > stops).any():
                raise IrregularError
            pairs = words[at]
            held, sizes = pairs & _LOW, pairs >> _HIGH
            if ((held != 8) & (held != 4)).any() or (sizes < held + np.uint64(8)).any() or (sizes % np.uint64(8)).any():
                raise IrregularError
            values = words[at + 1]
            self._values[rows + column] = np.where(held == 4, values & _LOW, values)
            self._held[rows + column] = held
            self._sizes[rows + column] = sizes
            self._places[rows + column] = at + 1
            at = at + (sizes // np.uint64(8)).astype(np.int64)
        if (at != stops).any():
            raise IrregularError

    def between(self, block: int, stop: int) -> _Read:
        """Returns the part of the performance data layout that has successive blocks without instances, from number `block` to
        `stop`."""
        cut = slice(int(self._offsets[block]), int(self._offsets[stop]))
        places = self._places[cut]
        head = self._block[cut], self._kind[cut], self._status[cut], self._counter[cut]
        return _Read(Singles(*head, self._held[cut], self._sizes[cut], 8 * places), self._values[cut], places)


def _number_shape(data: bytes, at: int, stop: int, count: int) -> Shape:
    shape = shape_at(data, at, stop, count)
    if shape.texts:
        raise IrregularError
    return shape


def _grid(data: bytes, words: Words, head: tuple[int, int, int], start: int, stop: int) -> _Read:
    """Reads the layout of a performance data block of type 4 or 6 whose instances are alike. `head` is its number, type and
    status."""
    ids, at = _counter_ids(data, start + BLOCK.size, stop) if head[1] == COUNTERSET else (None, start + BLOCK.size)
    rows, at = _instance_count(data, at, stop)
    count = 1 if ids is None else len(ids)
    if rows == 0 or count == 0:
        if rows or at != stop:
            raise IrregularError
        return _no_instances((*head, ids))
    header_size, _ = INSTANCE_HEADER.unpack_from(data, at)
    if not 8 <= header_size < stop - at:
        raise IrregularError
    shape = _number_shape(data, at + header_size, stop, count)
    if rows < _FEW and rows * count < _FEW_VALUES:
        found = list(_instances(data, (*head, ids), at, stop, rows))
        if len(found) > 1:
            raise IrregularError
        return found[0]
    searched = _instances_by_search(words, at, stop, rows, shape) if rows >= _FEW and count <= _SEARCHED_SIZES else None
    starts, begins = searched if searched is not None else _instances_by_size(data, at, stop, rows, shape)
    aligned = shape.in_words and not (begins % 8).any()
    if not aligned and count > _MOST_PACKED:
        raise IrregularError
    values = _part_columns(data, begins, shape, aligned=aligned)
    numbers = _windows(data, "u1", 4)[starts + 4].view("<u4")[:, 0].astype(np.int64)
    part = Grid(*head, ids, shape, _names(data, starts + 8, begins), numbers, starts, begins)
    places = None
    if aligned and len(data) <= MAX_BYTES:
        places = (begins[:, None] // 8 + np.array(shape.words)).reshape(-1)
    return _Read(part, values.reshape(-1), places)


def _counter_ids(data: bytes, at: int, stop: int) -> tuple[Sequence[int], int]:
    """Reads the counter ids of a performance data block at `at`, for its layout. Returns them, and where they end."""
    if at + COUNTER_IDS.size > stop:
        raise IrregularError
    size, count = COUNTER_IDS.unpack_from(data, at)
    # Ids that leave what follows unaligned can be read in two ways.
    if size < COUNTER_IDS.size or size % 8 or at % 8 or count > (size - COUNTER_IDS.size) // 4 or at + size > stop:
        raise IrregularError
    return u4s(data, at + COUNTER_IDS.size, count), at + size


def _instance_count(data: bytes, at: int, stop: int) -> tuple[int, int]:
    """Returns the number of instances in the layout of a performance data block, and where the first one begins."""
    if at + INSTANCES_HEADER.size > stop:
        raise IrregularError
    total_size, rows = INSTANCES_HEADER.unpack_from(data, at)
    if total_size != stop - at or rows * INSTANCE_HEADER.size > total_size - INSTANCES_HEADER.size:
        raise IrregularError
    return rows, at + INSTANCES_HEADER.size


_GridHead = tuple[int, int, int, Sequence[int] | None]


def _no_instances(head: _GridHead) -> _Read:
    nothing = np.empty(0, np.int64)
    # No value shows what sizes they would have.
    shape = planned(((8, 16),) * (1 if head[3] is None else len(head[3])))
    return _Read(Grid(*head, shape, (), nothing, nothing, nothing), np.empty(0, np.uint64), nothing)


def _instances(data: bytes, head: _GridHead, at: int, stop: int, count: int) -> Iterator[_Read]:
    """Reads a performance data block's instances from `at` to `stop` one by one. Yields a part of the layout for each sequence of
    instances of one shape."""
    if count == 0:
        yield _no_instances(head)
    columns = 1 if head[3] is None else len(head[3])
    if count and not columns:
        raise IrregularError
    unpack = INSTANCE_HEADER.unpack_from
    shape: Shape | None = None
    rows = _Rows()
    for _ in range(count):
        if at + INSTANCE_HEADER.size > stop:
            raise IrregularError
        size, instance_id = unpack(data, at)
        begin = at + size
        if size < INSTANCE_HEADER.size or begin > stop:
            raise IrregularError
        row = shape.ints.unpack_from(data, begin) if shape is not None and begin + shape.length <= stop else None
        if shape is None or row is None or not shape.fits(row):
            if shape is not None:
                yield rows.part(data, head, shape)
                rows = _Rows()
            shape = shape_at(data, begin, stop, columns)
            row = shape.ints.unpack_from(data, begin)
        rows.starts.append(at)
        rows.begins.append(begin)
        rows.instance_ids.append(instance_id)
        rows.values.extend(row[2::3])
        at = begin + shape.length
    if at != stop:
        raise IrregularError
    if shape is not None:
        yield rows.part(data, head, shape)


class _Rows:
    """Collects successive instances that have one shape, to a part of a performance data layout."""

    def __init__(self) -> None:
        self.starts: list[int] = []
        self.begins: list[int] = []
        self.instance_ids: list[int] = []
        self.values: list[int | bytes] = []

    def part(self, data: bytes, head: _GridHead, shape: Shape) -> _Read:
        starts, begins = self.starts, self.begins
        names = [
            utf16_text(data[start + INSTANCE_HEADER.size : stop]) for start, stop in zip(starts, begins, strict=True)
        ]
        places = None
        if shape.in_words and not any(begin % 8 for begin in begins):
            # A text may be empty, and end the buffer: the word before it stands in for it, and is masked.
            words = [word - (held not in (4, 8)) for word, held in zip(shape.words, shape.data_sizes, strict=True)]
            places = [begin // 8 + word for begin in begins for word in words]
        values, texts = _numbers(self.values)
        arrays = (np.array(column, np.int64) for column in (self.instance_ids, starts, begins))
        return _Read(Grid(*head, shape, names, *arrays), values, _as_places(places), texts)


def _numbers(values: Sequence[int | bytes]) -> tuple[Words, Mapping[int, bytes]]:
    """Divides the values read for a performance data layout: numbers, 0 for text, and the texts by their positions."""
    texts = {at: value for at, value in enumerate(values) if isinstance(value, bytes)}
    return np.array([0 if isinstance(value, bytes) else value for value in values], np.uint64), texts


def _as_places(places: list[int] | None) -> Ints | None:
    return np.array(places, np.int64) if places is not None else None


def _one_by_one(data: bytes, starts: Sequence[int]) -> Iterator[_Read]:
    """Reads the layout of any regular performance data buffer, value by value."""
    singles = _SinglesOneByOne()
    for number, (start, stop) in enumerate(pairwise(starts)):
        status, kind, _, _ = BLOCK.unpack_from(data, start)
        at = start + BLOCK.size
        if kind not in KINDS:
            raise IrregularError
        ids: Sequence[int] | None = None
        if kind in (COUNTERS, COUNTERSET):
            ids, at = _counter_ids(data, at, stop)
        if kind in (INSTANCES, COUNTERSET):
            if singles.blocks:
                yield singles.part()
                singles = _SinglesOneByOne()
            count, at = _instance_count(data, at, stop)
            yield from _instances(data, (number, kind, status, ids), at, stop, count)
            continue
        singles.blocks += 1
        if kind == ERROR:
            singles.entries.append((number, kind, status, -1, -1, -1, start, 0))
        else:
            at = singles.take_values(data, (number, kind, status), ids, at, stop)
        if at != stop:
            raise IrregularError
    if singles.blocks:
        yield singles.part()


class _SinglesOneByOne:
    """Reads the layout of successive performance data blocks without instances, one by one."""

    def __init__(self) -> None:
        self.blocks = 0
        # The columns of `Singles` for each value, then the value.
        self.entries: list[tuple[int, int, int, int, int, int, int, int | bytes]] = []

    def take_values(
        self, data: bytes, head: tuple[int, int, int], ids: Sequence[int] | None, at: int, stop: int
    ) -> int:
        """Takes the values of a performance data block that begin at `at` into the layout. Returns where they end."""
        shape = shape_at(data, at, stop, 1 if ids is None else len(ids))
        values = shape.ints.unpack_from(data, at)[2::3]
        pairs = zip(shape.data_sizes, shape.sizes, values, strict=True)
        for counter, (held, size, value) in zip((-1,) if ids is None else ids, pairs, strict=True):
            self.entries.append((*head, counter, held, size, at + COUNTER_DATA.size, value))
            at += size
        return at

    def part(self) -> _Read:
        columns = list(zip(*self.entries, strict=True)) or [()] * 8
        block, kind, status, counter, held, size, at = (np.array(column, np.int64) for column in columns[:7])
        values, texts = _numbers(columns[7])
        places = None
        if not (at % 8).any():
            places = at // 8
            # As in `_Rows`.
            places[list(texts)] -= 1
        return _Read(Singles(block, kind, status, counter, held, size, at), values, places, texts)


def _windows(data: bytes, form: str, length: int) -> npt.NDArray[Any]:
    """Returns overlapping windows over performance data, to read its layout: `length` elements from each position on, without a
    copy."""
    size = np.dtype(form).itemsize
    return np.ndarray((len(data) // size - length + 1, length), form, data, strides=(size, size))


def _part_columns(data: bytes, begins: Ints, shape: Shape, *, aligned: bool) -> Words:
    """Reads a part of a performance data layout into columns: one for each value of its rows."""
    read = _aligned_values if aligned else _packed_values
    step = max(_VALUES_AT_ONCE // len(shape.sizes), 1)
    if len(begins) <= step:
        return read(data, begins, shape)
    values = np.empty((len(begins), len(shape.sizes)), np.uint64)
    for first in range(0, len(begins), step):
        values[first : first + step] = read(data, begins[first : first + step], shape)
    return values


def _aligned_values(data: bytes, begins: Ints, shape: Shape) -> Words:
    """Reads the values of rows of this shape in a performance data layout. Rows and values begin at multiples of 8."""
    # Rows as they lie in memory, one copy each; then sizes and values apart.
    rows = _windows(data, "<u8", shape.length // 8)[begins // 8]
    if shape.length == 16 * len(shape.sizes):
        pairs, values = rows[:, 0::2], rows[:, 1::2]
    else:
        places = np.array(shape.words)
        pairs, values = rows[:, places - 1], rows[:, places]
    held = np.array(shape.data_sizes, np.uint64)
    if (pairs != (np.array(shape.sizes, np.uint64) << _HIGH | held)).any():
        raise IrregularError
    return np.where(held == 4, values & _LOW, values) if (held == 4).any() else values


def _packed_values(data: bytes, begins: Ints, shape: Shape) -> Words:
    """Reads the values of a performance data layout whose rows and values may begin anywhere."""
    places = np.cumsum((0, *shape.sizes[:-1])).tolist()
    names = [f"{kind}{number}" for number in range(len(places)) for kind in ("pair", "value")]
    formats = [form for held in shape.data_sizes for form in ("<u8", f"<u{held}")]
    offsets = [offset for place in places for offset in (place, place + 8)]
    packed = np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": shape.length})
    rows = _windows(data, "u1", shape.length)[begins].view(packed)[:, 0]
    values = np.empty((len(begins), len(places)), np.uint64)
    for number, (held, size) in enumerate(zip(shape.data_sizes, shape.sizes, strict=True)):
        if (rows[f"pair{number}"] != np.uint64(size << 32 | held)).any():
            raise IrregularError
        values[:, number] = rows[f"value{number}"]
    return values


def _instances_by_size(data: bytes, at: int, stop: int, count: int, shape: Shape) -> tuple[Ints, Ints]:
    """Returns where the headers and the values of instances begin in the layout of a performance data block, by the length in each
    header."""
    size_at, length = INSTANCE_SIZE.unpack_from, shape.length
    places = []
    for _ in range(count):
        places.append(at)
        at += size_at(data, at)[0] + length
    if at != stop:
        raise IrregularError
    starts = np.array(places, np.int64)
    begins = np.append(starts[1:], at) - length
    if (begins - starts < 8).any():
        raise IrregularError
    return starts, begins


def _instances_by_search(words: Words, at: int, stop: int, count: int, shape: Shape) -> tuple[Ints, Ints] | None:
    """Returns where headers and values of instances begin in a performance data layout, found by search. None unless all sizes are
    multiples of 8 and nothing else looks like a row."""
    if at % 8 or stop % 8 or not shape.in_words:
        return None
    length = shape.length // 8
    words = words[at // 8 : stop // 8]
    found = np.arange(len(words) - length + 1)
    for word, held, size in zip(shape.words, shape.data_sizes, shape.sizes, strict=True):
        pairs = words[: len(found)] if word == 1 else words[found + (word - 1)]
        found = found[pairs == np.uint64(size << 32 | held)]
    if len(found) != count or found[-1] + length != len(words):
        return None
    starts = np.concatenate(([0], found[:-1] + length))
    sizes = (words[starts] & _LOW).astype(np.int64)
    return (8 * starts + at, 8 * found + at) if ((found - starts) * 8 == sizes).all() and sizes.all() else None


def _names(data: bytes, starts: Ints, stops: Ints) -> Sequence[str]:
    """Returns the instance names in a performance data layout that stand from `starts` to `stops`."""
    if len(starts) > _NAMES_AT_ONCE:
        parts = range(0, len(starts), _NAMES_AT_ONCE)
        some = [slice(first, first + _NAMES_AT_ONCE) for first in parts]
        return [name for part in some for name in _names(data, starts[part], stops[part])]
    if len(starts) >= _FEW and (starts < stops).all() and not (starts % 4).any() and not (stops % 4).any():
        halves: npt.NDArray[np.uint32] = np.frombuffer(data, "<u4", len(data) // 4)
        first, last = halves[starts // 4] & np.uint32(0xFFFF), halves[stops // 4 - 1] >> np.uint32(16)
        if first.all() and not last.any():
            base, end = int(starts[0]) // 4, int(stops[-1]) // 4
            steps = np.zeros(end - base + 1, np.int8)
            steps[starts // 4 - base] = 1
            steps[stops // 4 - base] = -1
            inside = np.cumsum(steps[:-1], dtype=np.int8).view(np.bool_)
            try:
                text = halves[base:end][inside].tobytes().decode("utf-16-le")
            except UnicodeDecodeError:
                text = ""
            pieces = list(filter(None, text.split("\0")))
            if len(pieces) == len(starts):
                return pieces
    return [utf16_text(data[start:stop]) for start, stop in zip(starts.tolist(), stops.tolist(), strict=True)]


class PerfDataReader:
    """Reads data answers like `read_perf_data`, but faster if an answer has the layout of an earlier one.

    `layout` of both is then the same object (`KnownLayout.once`).
    """

    def __init__(self) -> None:
        self._known: SameLayout[PerfDataLayout, np.uint64] = SameLayout("<u8", MAX_BYTES)

    def read(self, data: bytes) -> PerfDataParts | None:
        layout = self._known.find(data)
        if layout is not None:
            _, _, stamp, time_100ns, freq = DATA_NUMBERS.unpack_from(data)
            return PerfDataParts(stamp, time_100ns, freq, layout, layout.values_in(data))
        read = read_perf_data(data)
        if read is not None and (free := read.layout.free) is not None:
            self._known.remember(data, read.layout, free)
        return read


# All answers of a process are read by this one: each layout is taken apart once, whoever asks.
PERF_DATA: Final = PerfDataReader()
