"""Performance data (MS-PCQ 2.2.4.7) in arrays: an undamaged buffer of numbers in, its values out, none of them an object.

Every step is checked before it is believed, and a buffer in which anything is not as it should be is None here; then `fast`
and the compiled parser read it, and their rows are what these arrays are tested against (tests/buffers/test_vector.py).

* Blocks are found one after the other, by their sizes. Those without instances (types 0, 1 and 2) are then read all at once:
  the first value of each, the second of each, and so on, as each size says where the next value is.
* Instances of a block nearly always have values of the same sizes as its first one, so the words in which those sizes stand
  show where rows may begin. An instance begins where the row before it ends, and its header's size must lead to the next of
  these places: if that holds for all, from the first to the end of the block, then these are the instances, whatever else
  looks like them. If it does not, the sizes are followed one by one.
* Names are decoded as one text. Each has to begin with a character and to end with a NUL; if there are then as many pieces
  between NULs as names, each name is one piece.
* The answers to a query have the same layout again and again. One that differs from an answer already read in its clocks
  and values only, every other bit being equal, reads as that one did (`PartReader`).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from analyzer.buffers.layout import (
    BLOCK,
    BLOCK_SIZE,
    COUNTER_IDS,
    COUNTERS,
    COUNTERSET,
    DATA_HEADER,
    DATA_NUMBERS,
    ERROR,
    INSTANCE_HEADER,
    INSTANCE_SIZE,
    INSTANCES,
    INSTANCES_HEADER,
    SINGLE,
    IrregularError,
    Shape,
    shape_at,
    u4s,
)
from analyzer.buffers.text import utf16_text
from analyzer.core.errors import DecodeError

Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]

_LOW = np.uint64(0xFFFFFFFF)
_HIGH = np.uint64(32)
# Below this many blocks or instances, arrays take longer to set up than the work takes.
_FEW = 24
_FEW_VALUES = 400
# Searching for rows compares each word with each size; beyond this many sizes it is faster to follow the instances.
_SEARCHED_SIZES = 8
# Values at odd places are read through a description with a name for each, which must not become as long as a forged row.
_MOST_PACKED = 1024
# Which types of block there are; all above the last are not.
_KNOWN = np.array([kind in (ERROR, SINGLE, COUNTERS, INSTANCES, COUNTERSET) for kind in range(COUNTERSET + 2)])


class Grid(Struct, frozen=True, eq=False):
    """A block with instances: a row of values for each, one a counter (`counter_ids` None: type 4 has none)."""

    block: int
    block_type: int
    status: int
    counter_ids: Sequence[int] | None
    data_sizes: Sequence[int]
    names: Sequence[str]
    instance_ids: Ints

    def __len__(self) -> int:
        return len(self.names) * len(self.data_sizes)


class Singles(Struct, frozen=True, eq=False):
    """Successive blocks without instances, value by value.

    `counter_id` is -1 where the block has none, `data_size` -1 for an error block.
    """

    block: Ints
    block_type: Ints
    status: Ints
    counter_id: Ints
    data_size: Ints

    def __len__(self) -> int:
        return len(self.block)


Part = Grid | Singles


class Layout(Struct, frozen=True, eq=False, dict=True, weakref=True):
    """All of a buffer but its clocks and values, in the order of the buffer.

    `statuses` is that of each block. `places` states in which word of the buffer each value stands, None where values are not
    aligned to words.
    """

    statuses: Ints
    parts: tuple[Part, ...]
    places: Ints | None

    @cached_property
    def data_sizes(self) -> Ints:
        """The size of each value, -1 for an error block."""
        sizes = [
            np.tile(np.array(part.data_sizes, np.int64), len(part.names)) if isinstance(part, Grid) else part.data_size
            for part in self.parts
        ]
        return np.concatenate([np.empty(0, np.int64), *sizes])


class PerfParts(Struct, frozen=True, eq=False):
    """A buffer's clocks, its layout, and its values in the order of the layout's parts (0 for an error block)."""

    perf_time_stamp: int
    perf_time_100ns: int
    perf_freq: int
    layout: Layout
    values: Words


def regular_parts(data: bytes) -> PerfParts | None:
    """The values of a buffer in which everything is as it should be, all values are numbers, and blocks begin at multiples of 8."""
    if len(data) < DATA_HEADER.size:
        return None
    total_size, count, stamp, time_100ns, freq = DATA_NUMBERS.unpack_from(data)
    if total_size != len(data) or count * BLOCK.size > len(data):
        return None
    starts = _block_starts(data, count)
    if starts is None:
        return None
    words: Words = np.frombuffer(data, "<u8", len(data) // 8)
    at = np.array(starts, np.int64) // 8
    kinds = (words[at[:-1]] >> _HIGH).astype(np.int64)
    statuses = (words[at[:-1]] & _LOW).astype(np.int64)
    with_instances = np.flatnonzero((kinds == INSTANCES) | (kinds == COUNTERSET)).tolist()
    read: list[tuple[Part, Words, Ints | None]] = []
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
    values = [part[1] for part in read]
    places = [part[2] for part in read if part[2] is not None]
    in_words = _joined(places, np.int64) if len(places) == len(read) else None
    layout = Layout(statuses, tuple(part[0] for part in read), in_words)
    return PerfParts(stamp, time_100ns, freq, layout, _joined(values, np.uint64))


def _joined(arrays: Sequence[npt.NDArray[Any]], dtype: type[np.generic]) -> npt.NDArray[Any]:
    return arrays[0] if len(arrays) == 1 else np.concatenate([np.empty(0, dtype), *arrays])


def _block_starts(data: bytes, count: int) -> list[int] | None:
    """Where each block begins, and where the last one ends."""
    starts = [DATA_HEADER.size]
    at, end = DATA_HEADER.size, len(data)
    size_at = BLOCK_SIZE.unpack_from
    for _ in range(count):
        if at + BLOCK.size > end or at % 8:
            return None
        size = size_at(data, at)[0]
        if size < BLOCK.size:
            return None
        at += size
        starts.append(at)
    return starts if at == end else None


class _Singles:
    """All blocks without instances of a buffer, in arrays of one entry a value; others have none."""

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
        """Reads `number` values from each of the blocks, which have to end there."""
        rows = self._offsets[blocks]
        if len(blocks) < _FEW:
            for row, start, stop in zip(rows.tolist(), (8 * at).tolist(), (8 * stops).tolist(), strict=True):
                shape = _number_shape(data, start, stop, number)
                if start + shape.length != stop or not shape.in_words:
                    raise IrregularError
                self._held[row : row + number] = shape.data_sizes
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
            self._places[rows + column] = at + 1
            at = at + (sizes // np.uint64(8)).astype(np.int64)
        if (at != stops).any():
            raise IrregularError

    def between(self, block: int, stop: int) -> tuple[Singles, Words, Ints]:
        """Some successive blocks, their values, and the words these stand in."""
        cut = slice(int(self._offsets[block]), int(self._offsets[stop]))
        part = Singles(self._block[cut], self._kind[cut], self._status[cut], self._counter[cut], self._held[cut])
        return part, self._values[cut], self._places[cut]


def _number_shape(data: bytes, at: int, stop: int, count: int) -> Shape:
    shape = shape_at(data, at, stop, count)
    if shape.texts:
        raise IrregularError
    return shape


def _grid(
    data: bytes, words: Words, head: tuple[int, int, int], start: int, stop: int
) -> tuple[Grid, Words, Ints | None]:
    """A block of type 4 or 6 (`head`: its number, type and status), its values, and the words these stand in."""
    at, count = start + BLOCK.size, 1
    ids: Sequence[int] | None = None
    if head[1] == COUNTERSET:
        if at + 8 > stop:
            raise IrregularError
        ids_size, count = COUNTER_IDS.unpack_from(data, at)
        if ids_size < 8 or ids_size % 8 or count > (ids_size - 8) // 4 or at + ids_size > stop:
            raise IrregularError
        ids = u4s(data, at + COUNTER_IDS.size, count)
        at += ids_size
    if at + 8 > stop:
        raise IrregularError
    total_size, rows = INSTANCES_HEADER.unpack_from(data, at)
    if total_size != stop - at or rows * 8 > total_size:
        raise IrregularError
    at += 8
    nothing = np.empty(0, np.int64)
    if rows == 0 or count == 0:
        if rows or at != stop:
            raise IrregularError
        return Grid(*head, ids, (8,) * count, (), nothing), np.empty(0, np.uint64), nothing
    header_size, _ = INSTANCE_HEADER.unpack_from(data, at)
    if not 8 <= header_size < stop - at:
        raise IrregularError
    shape = _number_shape(data, at + header_size, stop, count)
    if rows < _FEW and rows * count < _FEW_VALUES:
        return _few_instances(data, (*head, ids), at, stop, rows, shape)
    found = _instances_by_search(words, at, stop, rows, shape) if rows >= _FEW and count <= _SEARCHED_SIZES else None
    starts, begins = found if found is not None else _instances_by_size(data, at, stop, rows, shape)
    aligned = shape.in_words and not (begins % 8).any()
    if not aligned and count > _MOST_PACKED:
        raise IrregularError
    values = _aligned_values(data, begins, shape) if aligned else _packed_values(data, begins, shape)
    numbers = _windows(data, "u1", 4)[starts + 4].view("<u4")[:, 0].astype(np.int64)
    part = Grid(*head, ids, shape.data_sizes, _names(data, starts + 8, begins), numbers)
    places = (begins[:, None] // 8 + np.array(shape.words)).reshape(-1) if aligned else None
    return part, values.reshape(-1), places


def _few_instances(
    data: bytes, head: tuple[int, int, int, Sequence[int] | None], at: int, stop: int, count: int, shape: Shape
) -> tuple[Grid, Words, Ints | None]:
    """A block whose instances are from `at` to `stop`, one by one."""
    names: list[str] = []
    numbers: list[int] = []
    values: list[int] = []
    places: list[int] = []
    unpack, read, length = INSTANCE_HEADER.unpack_from, shape.ints.unpack_from, shape.length
    aligned = shape.in_words
    for _ in range(count):
        size, instance_id = unpack(data, at)
        begin = at + size
        if size < 8 or begin + length > stop:
            raise IrregularError
        row = read(data, begin)
        if not shape.fits(row):
            raise IrregularError
        names.append(utf16_text(data[at + 8 : begin]))
        numbers.append(instance_id)
        values.extend(row[2::3])
        aligned = aligned and begin % 8 == 0
        word = begin // 8
        places += [word + place for place in shape.words]
        at = begin + length
    if at != stop:
        raise IrregularError
    part = Grid(*head, shape.data_sizes, names, np.array(numbers, np.int64))
    return part, np.array(values, np.uint64), np.array(places, np.int64) if aligned else None


def _windows(data: bytes, form: str, length: int) -> npt.NDArray[Any]:
    """The elements of the data from each position on, `length` of them; no copy."""
    size = np.dtype(form).itemsize
    return np.ndarray((len(data) // size - length + 1, length), form, data, strides=(size, size))


def _aligned_values(data: bytes, begins: Ints, shape: Shape) -> Words:
    """The rows of this shape that begin at multiples of 8, as all of their values do."""
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
    """The same for rows and values that begin anywhere."""
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
    """Where the headers and the values of the instances from `at` to `stop` begin: each header has its length."""
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
    """The same where all sizes are multiples of 8 and nothing else looks like a row; else None."""
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
    """The names that stand from `starts` to `stops`."""
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


class _Known(Struct, frozen=True, eq=False):
    """An answer that was read, without its clocks and values: its words, which of their bits have to be the same, its layout."""

    words: Words
    fixed: Words
    short: Words | None
    layout: Layout


class PartReader:
    """Reads one answer after the other, as `regular_parts` does, faster where an answer has the layout of an earlier one.

    `layout` of both is then the same object, so that whoever makes something of a layout can make it once.
    """

    # Of more distinct sizes than these, or larger in all, the one that was not used for longest is forgotten.
    MAX_LAYOUTS = 64
    MAX_BYTES = 16 * 1024 * 1024

    def __init__(self) -> None:
        self._known: dict[int, _Known] = {}
        self._bytes = 0

    def read(self, data: bytes) -> PerfParts | None:
        known = self._known.get(len(data))
        if known is not None:
            words: Words = np.frombuffer(data, "<u8")
            if not ((words ^ known.words) & known.fixed).any():
                values = words[known.layout.places]
                if known.short is not None:
                    values &= known.short
                _, _, stamp, time_100ns, freq = DATA_NUMBERS.unpack_from(data)
                return PerfParts(stamp, time_100ns, freq, known.layout, values)
        read = regular_parts(data)
        if read is not None and read.layout.places is not None and len(data) % 8 == 0 and len(data) <= self.MAX_BYTES:
            self._remember(data, read.layout, read.layout.places)
        return read

    def remembers(self, layout: Layout) -> bool:
        """Whether an answer of this layout would be read by comparison."""
        return any(known.layout is layout for known in self._known.values())

    def _remember(self, data: bytes, layout: Layout, places: Ints) -> None:
        words: Words = np.frombuffer(data, "<u8")
        fixed = np.full(len(words), np.uint64(0xFFFFFFFF_FFFFFFFF))
        fixed[places[layout.data_sizes > 0]] = 0
        fixed[1 : DATA_HEADER.size // 8] = 0
        # What stands in an error block's place is not a value, and the upper half of a word that holds 4 bytes is padding.
        masks = np.array([0, 0xFFFFFFFF, 0xFFFFFFFF_FFFFFFFF], np.uint64)[np.maximum(layout.data_sizes, 0) // 4]
        short = masks if (layout.data_sizes < 8).any() else None
        if self._known.pop(len(data), None) is not None:
            self._bytes -= len(data)
        self._bytes += len(data)
        self._known[len(data)] = _Known(words, fixed, short, layout)
        while len(self._known) > self.MAX_LAYOUTS or self._bytes > self.MAX_BYTES:
            oldest = next(iter(self._known))
            del self._known[oldest]
            self._bytes -= oldest


class PerfColumns(Struct, frozen=True, eq=False, dict=True):
    """The values of performance data as columns of equal length, one entry a value, in the order of the rows (`PerfRow`).

    Ids are -1 where there is none. `name` is a position in `names`, the distinct names of instances in order of appearance, or
    -1. `data_size` is -1 for an error block. Where `is_int` does not hold, `value` is 0, and `texts` has the text at that
    position (nothing: an error block). `problem` is the damage that ends them, None for a whole buffer.
    """

    block: npt.NDArray[np.uint32]
    block_type: npt.NDArray[np.uint32]
    status: npt.NDArray[np.uint32]
    counter_id: Ints
    instance_id: Ints
    data_size: Ints
    value: Words
    is_int: npt.NDArray[np.bool_]
    texts: dict[int, str]
    # The name of each instance, and which instance a value is of: -1 for none.
    instance_names: Sequence[str]
    instance: Ints
    problem: DecodeError | None = None

    def __len__(self) -> int:
        return len(self.value)

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.instance_names))

    @cached_property
    def name(self) -> Ints:
        if len(self.names) == len(self.instance_names):
            return self.instance
        numbers = {name: number for number, name in enumerate(self.names)}
        # The last entry is what -1 finds.
        return np.array([*(numbers[name] for name in self.instance_names), -1], np.int64)[self.instance]


def regular_columns(data: bytes) -> PerfColumns | None:
    """The columns of a regular buffer."""
    read = regular_parts(data)
    if read is None:
        return None
    columns = []
    names: list[str] = []
    for part in read.layout.parts:
        columns.append(_part_columns(part, len(names)))
        if isinstance(part, Grid):
            names.extend(part.names)
    joined = [_joined(arrays, np.int64) for arrays in zip(*columns, strict=True)] or [np.empty(0, np.int64)] * 6
    block, kind, status, counter, number, instance = joined
    held = read.layout.data_sizes
    return PerfColumns(
        block.astype(np.uint32),
        kind.astype(np.uint32),
        status.astype(np.uint32),
        counter,
        number,
        held,
        read.values,
        held >= 0,
        {},
        names,
        instance,
    )


def _part_columns(part: Part, named: int) -> tuple[npt.NDArray[Any], ...]:
    """Block, type, status, counter, instance id and instance of each value; `named` instances come before this part."""
    if isinstance(part, Singles):
        none = np.full(len(part), -1)
        return part.block, part.block_type, part.status, part.counter_id, none, none
    rows, count = len(part.names), len(part.data_sizes)
    ids = np.full(count, -1) if part.counter_ids is None else np.array(part.counter_ids, np.int64)
    return (
        *(np.full(len(part), value, np.uint32) for value in (part.block, part.block_type, part.status)),
        *(np.tile(ids, rows), np.repeat(part.instance_ids, count), np.repeat(np.arange(named, named + rows), count)),
    )
