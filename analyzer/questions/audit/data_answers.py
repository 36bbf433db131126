"""Reads data answers for audit rules: the `lpData` of QueryCounterData as blocks, with each place where sizes and counts disagree
([MS-PCQ] sections 2.2.4.7 to 2.2.4.11 and 3.1.4.1.6).

One wrong number makes everything after it look wrong. So a block that does not come out is read again and again. Each time, one
number is taken from what surrounds it: the size of a value from its length, a count from what is there, the end of a block from its
content. The first reading that uses the block up shows which number was wrong. All other numbers are judged as stated.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from itertools import chain, product
from operator import attrgetter
from typing import NamedTuple, Protocol

import numpy as np
from msgspec import Struct, field

from analyzer.core.caches import cached_property
from analyzer.interfaces.buffers.perf_data_layout import PERF_DATA, Grid, PerfDataLayout
from analyzer.interfaces.buffers.perf_data_trees import block_parts, instances_of
from analyzer.interfaces.buffers.struct_layouts import (
    BLOCK,
    BLOCK_SIZE,
    COUNTER_DATA,
    COUNTER_IDS,
    DATA_HEADER,
    INSTANCE_HEADER,
    INSTANCES_HEADER,
    planned,
    u4s,
)
from analyzer.interfaces.buffers.windows_text import utf16_length
from analyzer.questions.audit.rule_verdicts import Violation
from analyzer.results.methods.perflib import COUNTERS, COUNTERSET, ERROR, INSTANCES, KINDS, SINGLE

BLOCK_HEADER = BLOCK.size
UNCOUNTABLE = "the blocks of the answer cannot be counted"
# Larger blocks are not searched for the one instance with too few or too many values.
_MOST_COUNTERS, _MOST_ROWS = 512, 4096
# So many bytes of an answer are read again at most; a forged one must not cost more than it states.
_MOST_REREAD = 4 << 20


class FlawKind(StrEnum):
    """The kinds of flaws in a data answer: which number disagrees with what."""

    HEADER = "the answer is shorter than its header"
    TOTAL = "dwTotalSize is not the size of the answer"
    BLOCK_COUNT = "dwNumCounter is not the number of blocks"
    BLOCK_TYPE = "dwType is none of the five"
    BLOCK_SIZE = "dwSize is not the size of the block"
    CONTENT = "the content of the block does not fill it as its dwType asks for"
    VALUE_SIZE = "dwSize of a value does not hold its data"
    VALUE_UNPADDED = "dwSize of a value is not rounded up to 8"
    VALUE_COUNT = "the number of values is not that of the counter ids"
    IDS_SIZE = "dwSize of the counter ids is not their size"
    IDS_COUNT = "dwCounters is not the number of counter ids"
    INSTANCES_SIZE = "dwTotalSize of the instances is not their size"
    INSTANCE_COUNT = "dwInstances is not the number of instances"
    ROW_COUNT = "an instance has another number of values than there are counter ids"
    BLOCK_UNPADDED = "dwSize of a block leaves out the padding that follows it"
    INSTANCE_SIZE = "Size of an instance does not lead to its values"
    INSTANCE_UNPADDED = "Size of an instance is not a multiple of 8"


class Flaw(NamedTuple):
    """One flaw of a data answer: `span` are its bytes in `lpData`, `path` leads to them by the names of `ksy/`; `block_type` is the
    type of its block."""

    kind: FlawKind
    path: str
    span: tuple[int, int]
    expected: str
    seen: str
    block_type: int | None = None


class Sizes(Protocol):
    """The dwDataSize and dwSize of all values in a row of a data answer."""

    @property
    def data_sizes(self) -> Sequence[int]: ...

    @property
    def sizes(self) -> Sequence[int]: ...


class _Sizes(NamedTuple):
    data_sizes: tuple[int, ...]
    sizes: tuple[int, ...]


class InstanceRow(NamedTuple):
    """The values of one instance in a data answer: size of its header (0: no instance), its id, and where its name and values
    begin."""

    header_size: int
    instance_id: int
    name_at: int
    begin: int
    shape: Sizes

    def value_at(self, column: int) -> int:
        """Returns where the data of a value in this row of a data answer begins."""
        return self.begin + sum(self.shape.sizes[:column]) + 8

    def value(self, data: bytes, column: int) -> bytes:
        at = self.value_at(column)
        return data[at : at + self.shape.data_sizes[column]]


class Block(Struct, dict=True):
    """One block of a data answer, with its counter header. `ids` is None if its type has none; `is_whole`: everything in it is
    where it should be. Its flaws go to the `flaws` of its answer."""

    number: int
    at: int
    status: int
    kind: int
    size: int
    reserved: int
    stop: int
    flaws: list[Flaw] = field(default_factory=list)
    ids: tuple[int, ...] | None = None
    ids_at: int = 0
    ids_size: int = 0
    instances_at: int | None = None
    num_instances: int = 0
    rows: Sequence[InstanceRow] = ()
    is_whole: bool = True
    # Offsets of structures inside that are not multiples of 8; of those, whether counter ids that are not padded moved them.
    misplaced: tuple[tuple[str, int], ...] = ()
    moved_by_ids: bool = False

    @cached_property
    def shapes(self) -> list[tuple[Sizes, int]]:
        """Returns the different shapes of the rows in a data answer's block, and how many rows have each; nearly always one."""
        found: dict[int, tuple[Sizes, int]] = {}
        for row in self.rows:
            shape, number = found.get(id(row.shape), (row.shape, 0))
            found[id(row.shape)] = shape, number + 1
        return list(found.values())

    @property
    def path(self) -> str:
        return f"lpData.blocks[{self.number}]"

    @property
    def content_at(self) -> int:
        """Returns where the content of a data answer's block begins, after its header."""
        return self.at + BLOCK_HEADER

    def note(self, kind: FlawKind, name: str, at: int, expected: object, seen: object, stop: int | None = None) -> None:
        """Adds a flaw to the data block at the path `name`, by default about the number of 4 bytes at `at`."""
        path, span = f"{self.path}.{name}" if name else self.path, (at, at + 4 if stop is None else stop)
        self.flaws.append(Flaw(kind, path, span, f"{expected}", f"{seen}", self.kind))
        self.is_whole &= kind in _PADDING

    def wrong(self, name: str, expected: object, seen: object) -> Violation:
        """Makes the violation that a number in the header of this block of a data answer is not the one that a rule expects."""
        at = self.at + 4 * ("status", "block_type", "size", "reserved").index(name)
        return Violation(f"{self.path}.{name}", (at, at + 4), str(expected), str(seen))

    @property
    def num_values(self) -> int:
        if len(self.rows) <= 1:
            return len(self.rows[0].shape.sizes) if self.rows else 0
        return sum(number * len(shape.sizes) for shape, number in self.shapes)

    def names(self, data: bytes) -> Iterator[str]:
        """Yields the names of the instances in this block of an audited data answer."""
        for row in self.rows:
            if row.header_size:
                raw = data[row.name_at : row.begin]
                yield raw[: utf16_length(raw)].decode("utf-16-le", "backslashreplace")


class DataAnswer(Struct, dict=True):
    """A data answer (the `lpData` of QueryCounterData) as audit rules see it. `header` is None if it is too short for one; `blocks`
    are those that were found."""

    data: bytes
    header: tuple[int, ...] | None = None
    blocks: list[Block] = field(default_factory=list)
    flaws: list[Flaw] = field(default_factory=list)
    # Whether every block was found, so that they can be counted.
    is_walked: bool = True
    # How many bytes may still be read again.
    rereads: int = _MOST_REREAD
    # The layout of a regular answer, by which others of the same layout are recognised.
    layout: PerfDataLayout | None = None

    def note(self, kind: FlawKind, path: str, at: int, expected: object, seen: object) -> None:
        """Adds a flaw of the 4-byte number at `at` in the data answer."""
        self.flaws.append(Flaw(kind, path, (at, at + 4), f"{expected}", f"{seen}"))

    def flaws_of(self, *kinds: FlawKind, block_types: tuple[int, ...] | None = None) -> list[Flaw]:
        """Returns the flaws of these kinds in the data answer, in blocks of these types. If values of many instances share a flaw,
        the first is among them."""
        return [
            flaw
            for flaw in self.flaws
            if flaw.kind in kinds and (block_types is None or flaw.block_type in block_types)
        ]

    @property
    def can_be_counted(self) -> bool:
        """Tells whether the data answer has as many blocks as its header says, and every one was found."""
        return self.is_walked and not self.flaws_of(FlawKind.BLOCK_COUNT)

    @cached_property
    def _by_type(self) -> dict[int, list[Block]]:
        found: dict[int, list[Block]] = {}
        for block in self.blocks:
            found.setdefault(block.kind, []).append(block)
        return found

    def of_type(self, *types: int) -> list[Block]:
        """Returns the data answer's blocks of these types, in their order."""
        first, *others = (self._by_type.get(kind, []) for kind in types)
        return sorted(chain(first, *others), key=attrgetter("number")) if others else first


def read_answer(data: bytes) -> DataAnswer:
    """Reads a data answer as far as possible. Undamaged answers of one layout share their blocks and flaws, which are found
    once."""
    regular = PERF_DATA.read(data)
    if regular is None:
        return _irregular(data)
    layout = regular.layout
    known = layout.once("answer", lambda: _of_layout(data, layout))
    shared = layout if layout.places is not None else None
    return DataAnswer(data, DATA_HEADER.unpack_from(data), known.blocks, known.flaws, layout=shared)


def _of_layout(data: bytes, layout: PerfDataLayout) -> DataAnswer:
    """Makes the data answer of a layout, in which every byte belongs to something; only its padding is checked."""
    answer = DataAnswer(b"")
    are_padded = _are_padded(layout)
    for number, parts in enumerate(block_parts(data, layout)):
        at, size = parts.start, parts.size
        block = Block(number, at, parts.status, parts.kind, size, parts.reserved, at + size, answer.flaws)
        answer.blocks.append(block)
        ids_size = 0
        # Nothing follows the header of an error block, and an answer may have very many of them.
        if parts.kind != ERROR:
            ids_size, ids = parts.ids if parts.ids is not None else (0, None)
            content = _Content(block.stop, tuple(ids) if ids is not None else None, ids_size)
            start = block.content_at + ids_size
            if parts.kind in (SINGLE, COUNTERS):
                content.rows = [InstanceRow(0, -1, start, start, planned(parts.pairs))]
            else:
                content.rows = [row for grid in parts.grids for row in _grid_rows(data, grid)]
                content.instances_at, content.total_size = start, block.stop - start
                content.stated_instances = len(content.rows)
            _take(data, block, content, is_regular=True)
        if not are_padded or ids_size % 8 or parts.grids:
            _look_at_padding(block)
    return answer


def _are_padded(layout: PerfDataLayout) -> bool:
    """Tells whether in the layout of a data answer all blocks, and all values outside instances, begin and end at multiples of 8
    and have room for their data."""
    if (np.array(layout.starts, np.int64) % 8).any():
        return False
    singles = [part for part in layout.parts if not isinstance(part, Grid)]
    return all(
        bool(((one.data_size < 0) | (one.size % 8 == 0) & (one.size >= 8 + one.data_size)).all()) for one in singles
    )


def _irregular(data: bytes) -> DataAnswer:
    answer = DataAnswer(data)
    if len(data) < DATA_HEADER.size:
        answer.flaws.append(
            Flaw(FlawKind.HEADER, "lpData", (0, len(data)), f"{DATA_HEADER.size} bytes", f"{len(data)} bytes")
        )
        answer.is_walked = False
        return answer
    answer.header = DATA_HEADER.unpack_from(data)
    _walk(answer, answer.header[1])
    if answer.header[0] != len(data):
        answer.note(FlawKind.TOTAL, "lpData.total_size", 0, len(data), answer.header[0])
    return answer


def rounded(size: int) -> int:
    """Rounds a size up to a multiple of 8, as the audit reads data answers."""
    return size + -size % 8


def _grid_rows(data: bytes, grid: Grid) -> Iterator[InstanceRow]:
    instances = instances_of(data, grid)
    for (size, number, _), start, begin in zip(instances, grid.starts.tolist(), grid.begins.tolist(), strict=True):
        yield InstanceRow(size, number, start + INSTANCE_HEADER.size, begin, grid.shape)


def _row_name(block: Block, number: int) -> str:
    return "body" if block.instances_at is None else f"body.instances.instances[{number}]"


def _value_name(block: Block, row: int, column: int) -> str:
    return "body.data" if block.kind == SINGLE else f"{_row_name(block, row)}.data[{column}]"


def value_path(block: Block, row: int, column: int) -> str:
    """Returns the path of a value's PERF_COUNTER_DATA in a data answer."""
    return f"{block.path}.{_value_name(block, row, column)}"


def _look_at_padding(block: Block) -> None:
    """Notes padding that a data answer leaves out, and structures off a multiple of 8 bytes."""
    _look_at_values(block)
    _look_at_alignment(block)


def _look_at_values(block: Block) -> None:
    """Notes flaws in the block of an audited data answer: values whose dwSize, and instances whose Size, leaves out padding. It
    looks at each shape once."""
    seen: set[int] = set()
    for number, row in enumerate(block.rows):
        if row.header_size % 8:
            name, wanted = f"{_row_name(block, number)}.header.size", rounded(row.header_size)
            block.note(FlawKind.INSTANCE_UNPADDED, name, row.name_at - 8, wanted, row.header_size)
        shape = row.shape
        if id(shape) in seen:
            continue
        seen.add(id(shape))
        for column, (held, size) in enumerate(zip(shape.data_sizes, shape.sizes, strict=True)):
            if size % 8 or size < 8 + held:
                kind = FlawKind.VALUE_UNPADDED if size == 8 + held else FlawKind.VALUE_SIZE
                name = f"{_value_name(block, number, column)}.size"
                block.note(kind, name, row.value_at(column) - 4, rounded(8 + held), size)


def _look_at_alignment(block: Block) -> None:
    """Notes flaws in the block of an audited data answer: structures that begin off a multiple of 8. After some of them it
    stops."""
    misplaced: list[tuple[str, int]] = []
    if block.at % 8:
        misplaced.append((block.path, block.at))
    elif block.ids is not None and block.ids_size % 8:
        block.moved_by_ids = True
    if block.instances_at is not None and block.instances_at % 8:
        misplaced.append((f"{block.path}.body.instances", block.instances_at))
    padded = all(size % 8 == 0 for shape, _ in block.shapes for size in shape.sizes)
    for number, row in enumerate(block.rows):
        if len(misplaced) > 8:
            break
        if row.header_size and (row.name_at - 8) % 8:
            misplaced.append((f"{block.path}.{_row_name(block, number)}.header", row.name_at - 8))
        if row.begin % 8 == 0 and padded:
            continue
        at = row.begin
        for column, size in enumerate(row.shape.sizes):
            if at % 8:
                misplaced.append((value_path(block, number, column), at))
                break
            at += size
    block.misplaced = tuple(misplaced)


# ------------------------------------------------------------------------------------------------- what does not come out


def _walk(answer: DataAnswer, promised: int) -> None:
    """Reads block after block of a data answer in which something is wrong."""
    data = answer.data
    at = DATA_HEADER.size
    found = 0
    while found < promised and at < len(data):
        if at + BLOCK_HEADER > len(data):
            seen = f"{len(data) - at} bytes"
            path = f"lpData.blocks[{found}]"
            answer.flaws.append(
                Flaw(FlawKind.BLOCK_SIZE, path, (at, len(data)), f"{BLOCK_HEADER} bytes of a block's header", seen)
            )
            answer.is_walked = False
            return
        block = _block(answer, found, at)
        answer.blocks.append(block)
        found += 1
        if block.stop <= at:
            answer.is_walked = False
            return
        at = block.stop
    if found < promised:
        _block_count(answer, promised, f"{found}")
    elif at < len(data) and answer.header is not None and answer.header[0] != at:
        more = _blocks_from(data, at)
        _block_count(answer, promised, f"{found + more}" if more is not None else f"{len(data) - at} more bytes")


def _block_count(answer: DataAnswer, promised: int, there: str) -> None:
    answer.note(FlawKind.BLOCK_COUNT, "lpData.num_blocks", 4, there, promised)


def _blocks_from(data: bytes, at: int) -> int | None:
    """Counts the blocks of a data answer from `at` to its end; None if these bytes are no blocks."""
    count = 0
    while at < len(data):
        if not _is_block(data, at):
            return None
        at += BLOCK_SIZE.unpack_from(data, at)[0]
        count += 1
    return count


def _is_block(data: bytes, at: int) -> bool:
    """Tells, while a data answer is read block by block, whether a block, or its end, may be at `at`."""
    if at == len(data):
        return True
    if at + BLOCK_HEADER > len(data):
        return False
    _, kind, size, _ = BLOCK.unpack_from(data, at)
    # Eight bytes off, a block's size and Reserved read as the status and type of an error block.
    return kind in KINDS and BLOCK_HEADER <= size <= len(data) - at and (kind != ERROR or size == BLOCK_HEADER)


class _Content(Struct):
    """One reading of the content of a data answer's block, and where it ends."""

    end: int
    ids: tuple[int, ...] | None = None
    ids_size: int = 0
    instances_at: int | None = None
    total_size: int = 0
    stated_instances: int = 0
    rows: list[InstanceRow] = field(default_factory=list)

    @property
    def contradictions(self) -> int:
        """Counts the numbers in the block of an audited data answer that contradict this reading."""
        if self.instances_at is not None:
            return (self.total_size != self.end - self.instances_at) + (self.stated_instances != len(self.rows))
        return self.ids is not None and len(self.ids) != len(self.rows[0].shape.sizes)


class _Way(NamedTuple):
    """A way to read a block of a data answer: which numbers are not taken at their word."""

    natural_values: bool = False
    natural_names: bool = False
    ids_end: int = 0
    counted: int = 0
    # The instance that has another number of values, and that number.
    other_row: tuple[int, int] | None = None

    @property
    def corrections(self) -> int:
        extra_row = self.other_row is not None
        return self.natural_values + self.natural_names + (self.ids_end > 1) + (self.counted > 0) + extra_row


_AS_SAID = _Way()
# First all numbers as stated, then one number derived. If more than one is wrong, nobody can say what was meant.
_WAYS = sorted(
    (
        way
        for names, values, ends, counted in product((False, True), (False, True), range(4), range(3))
        if (way := _Way(values, names, ends, counted)).corrections <= 1
    ),
    key=lambda way: way.corrections,
)


def _block_at(data: bytes, number: int, at: int, flaws: list[Flaw]) -> Block:
    """Reads the header of a block in a data answer."""
    status, kind, size, reserved = BLOCK.unpack_from(data, at)
    return Block(number, at, status, kind, size, reserved, at + size, flaws)


def _block(answer: DataAnswer, number: int, at: int) -> Block:
    data = answer.data
    block = _block_at(data, number, at, answer.flaws)
    size, stop, left = block.size, block.stop, len(data) - at
    fits = BLOCK_HEADER <= size <= left
    if block.kind not in KINDS:
        block.note(FlawKind.BLOCK_TYPE, "block_type", at + 4, "0, 1, 2, 4 or 6", block.kind)
        block.stop = stop if fits else at
        return block
    leads_on = fits and _is_block(data, stop)
    padded = at + rounded(size)
    if fits and not leads_on and size % 8 and padded <= len(data) and _is_block(data, padded):
        found = (_reading_that_fills(answer, block, end, only_as_stated=False) for end in (stop, padded))
        content = next((one for one in found if one is not None), None)
        if content is not None:
            block.note(FlawKind.BLOCK_UNPADDED, "size", at + 8, rounded(size), size)
            _take(data, block, content)
            block.stop = padded
            return block
    # If nothing that looks like a block follows, only content without a correction proves where the block ends.
    content = _reading_that_fills(answer, block, stop, only_as_stated=not leads_on) if fits else None
    if content is not None:
        _take(data, block, content)
        return block
    # Its content may say where it ends.
    content = _read_content(data, block, len(data), _AS_SAID, by_count=True)
    if content is not None and content.end != stop and _is_block(data, content.end) and not leads_on:
        block.stop = content.end
        block.note(FlawKind.BLOCK_SIZE, "size", at + 8, content.end - at, size)
        _take(data, block, content)
    elif not fits:
        block.note(FlawKind.BLOCK_SIZE, "size", at + 8, f"{BLOCK_HEADER} to {left}", size)
        block.stop = at
    else:
        # The whole content, or where the part of it that can be read ends.
        takes = f"of which its content takes {content.end - at}" if content is not None else ""
        seen = f"{size} bytes, {takes}" if takes else f"{size} bytes that end elsewhere"
        start = min(block.content_at, stop)
        block.note(FlawKind.CONTENT, "", start, _WANTED[block.kind], seen, stop)
    return block


_PADDING = (FlawKind.VALUE_UNPADDED, FlawKind.INSTANCE_UNPADDED, FlawKind.BLOCK_UNPADDED)
_WANTED = {
    ERROR: "no content",
    SINGLE: "one value",
    COUNTERS: "counter ids and a value for each",
    INSTANCES: "instances with one value each",
    COUNTERSET: "counter ids, and instances with a value for each",
}


def _reading_that_fills(answer: DataAnswer, block: Block, stop: int, *, only_as_stated: bool) -> _Content | None:
    """Returns the first reading of a block of an audited data answer that uses it up, else None."""
    for way in _WAYS:
        content = _read_content(answer.data, block, stop, way, by_count=False)
        if content is not None and content.end == stop and way.corrections + content.contradictions <= 1:
            return content
        if way == _AS_SAID and (content := _padded(answer.data, block, stop)) is not None:
            return content
        answer.rereads -= stop - block.at
        if block.kind == ERROR or only_as_stated or answer.rereads < 0:
            return None
    return _with_another_row(answer, block, stop) if block.kind == COUNTERSET else None


def _with_another_row(answer: DataAnswer, block: Block, stop: int) -> _Content | None:
    """Returns the reading of a block of an audited data answer in which one instance has more or fewer values than there are
    counter ids, and all else is as stated; else None."""
    at = block.content_at
    if at + 8 > stop:
        return None
    ids_size, count = COUNTER_IDS.unpack_from(answer.data, at)
    instances_at = at + ids_size
    if count > _MOST_COUNTERS or ids_size < 8 + 4 * count or instances_at + 8 > stop:
        return None
    _, rows = INSTANCES_HEADER.unpack_from(answer.data, instances_at)
    # Values behind the one instance are misread, so that it is the last one that reads well, or the one after it.
    well = 0
    for number in range(min(rows, _MOST_ROWS)):
        if answer.rereads < 0:
            return None
        answer.rereads -= stop - block.at
        content = _read_content(answer.data, block, stop, _Way(), by_count=True, most_rows=number + 1)
        if content is None:
            break
        well = number
    for number in range(min(well + 1, rows - 1), max(well - 2, -1), -1):
        for values in (*range(count - 1, -1, -1), count + 1, count + 2):
            if answer.rereads < 0:
                return None
            answer.rereads -= stop - block.at
            content = _read_content(answer.data, block, stop, _Way(other_row=(number, values)), by_count=True)
            if content is not None and content.end == stop and not content.contradictions:
                return content
    return None


def _padded(data: bytes, block: Block, stop: int) -> _Content | None:
    """Reads the content of a block of an audited data answer that ends with 4 bytes of padding, after an odd number of counter ids;
    else None. The size of a block is a multiple of 8 (Windows SDK, perflib.h, PERF_MULTI_COUNTERS and PERF_COUNTER_HEADER)."""
    if block.kind not in (COUNTERS, COUNTERSET) or (stop - block.at) % 8:
        return None
    content = _read_content(data, block, stop - 4, _AS_SAID, by_count=False)
    if content is None or content.contradictions:
        return None
    return content if content.end == stop - 4 and content.ids_size % 8 == 4 else None


def _read_content(
    data: bytes, block: Block, stop: int, way: _Way, *, by_count: bool, most_rows: int | None = None
) -> _Content | None:
    """Reads the content of a block of an audited data answer in one way, or its first `most_rows` instances; None if it cannot.
    With `by_count`, counts say where it ends, else `stop` does."""
    at = block.content_at
    content = _Content(at)
    kind = block.kind
    if kind == ERROR:
        return content
    count = 1
    if kind in (COUNTERS, COUNTERSET):
        if at + 8 > stop:
            return None
        content.ids_size, stated = COUNTER_IDS.unpack_from(data, at)
        inside = max(content.ids_size - 8, 0) // 4
        count = (stated, inside, inside - 1)[way.counted]
        natural = 8 + 4 * count
        if count < 0 or at + natural > stop:
            return None
        ends = (content.ids_size, content.ids_size + 4, natural, rounded(natural))
        end = ends[way.ids_end]
        if end < natural or (way.ids_end == 1 and (content.ids_size % 8 == 0 or by_count)):
            return None
        content.ids = u4s(data, at + COUNTER_IDS.size, count)
        at += end
    if kind in (SINGLE, COUNTERS):
        wanted = count if by_count or kind == SINGLE else None
        row = _row(data, at, stop, wanted, way)
        if row is None:
            return None
        content.end = at + sum(row.sizes) if not way.natural_values else at + sum(_natural(row))
        content.rows.append(InstanceRow(0, -1, at, at, row))
        return content
    if at + 8 > stop:
        return None
    content.instances_at = at
    content.total_size, content.stated_instances = INSTANCES_HEADER.unpack_from(data, at)
    at += 8
    wanted_rows = content.stated_instances if most_rows is None else min(most_rows, content.stated_instances)
    while (len(content.rows) < wanted_rows) if by_count else at < stop:
        if at + 8 > stop:
            return None
        size, number = INSTANCE_HEADER.unpack_from(data, at)
        if way.natural_names:
            length = utf16_length(data[at + 8 : min(stop, at + 8 + 2 * 1024)])
            size = rounded(8 + length + 2)
        begin = at + size
        if size < 8 or begin > stop:
            return None
        is_other = way.other_row is not None and way.other_row[0] == len(content.rows)
        row = _row(data, begin, stop, way.other_row[1] if is_other and way.other_row else count, way)
        if row is None:
            return None
        content.rows.append(InstanceRow(size, number, at + 8, begin, row))
        at = begin + (sum(_natural(row)) if way.natural_values else sum(row.sizes))
    content.end = at
    return content


def _natural(row: _Sizes) -> Iterator[int]:
    return (rounded(8 + held) for held in row.data_sizes)


def _row(data: bytes, at: int, stop: int, count: int | None, way: _Way) -> _Sizes | None:
    """Reads for the audit the sizes of `count` values in a row of a data answer, or of all values up to `stop`."""
    held_sizes: list[int] = []
    sizes: list[int] = []
    while (at < stop) if count is None else len(sizes) < count:
        if at + 8 > stop:
            return None
        held, size = COUNTER_DATA.unpack_from(data, at)
        taken = rounded(8 + held) if way.natural_values else size
        if taken < 8 or at + taken > stop:
            return None
        held_sizes.append(held)
        sizes.append(size)
        at += taken
    return _Sizes(tuple(held_sizes), tuple(sizes))


def _take(data: bytes, block: Block, content: _Content, *, is_regular: bool = False) -> None:
    """Fills a data block from a reading, and notes where the block's numbers depart from it. In a regular block all sizes lead
    on."""
    block.rows = content.rows
    if content.ids is not None:
        at, found = block.content_at, len(content.ids)
        block.ids, block.ids_at, block.ids_size = content.ids, at, content.ids_size
        stated, natural = COUNTER_IDS.unpack_from(data, at)[1], 8 + 4 * found
        if content.ids_size not in (natural, rounded(natural)) and stated == found:
            wanted = f"{natural} or {rounded(natural)}" if natural % 8 else natural
            block.note(FlawKind.IDS_SIZE, "body.counters.size", at, wanted, content.ids_size)
        if stated != found:
            block.note(FlawKind.IDS_COUNT, "body.counters.num_counters", at + 4, found, stated)
        values = len(content.rows[0].shape.sizes) if block.kind == COUNTERS else found
        if values != found:
            block.note(FlawKind.VALUE_COUNT, "body.counters.num_counters", at + 4, values, found)
    if content.instances_at is not None:
        start, found, stated = content.instances_at, len(content.rows), content.stated_instances
        block.instances_at, block.num_instances = start, stated
        if stated != found:
            block.note(FlawKind.INSTANCE_COUNT, "body.instances.num_instances", start + 4, found, stated)
        if content.total_size != content.end - start:
            wanted = content.end - start
            block.note(FlawKind.INSTANCES_SIZE, "body.instances.total_size", start, wanted, content.total_size)
    if is_regular:
        block.is_whole = True  # whatever lies between its counter ids and what follows them
    else:
        _look_at_sizes(data, block)
        _look_at_padding(block)


def _look_at_sizes(data: bytes, block: Block) -> None:
    """Notes rows of a data block with too few or too many values, and sizes that do not lead to what follows in the reading."""
    rows = list(block.rows)
    if block.kind == COUNTERSET and block.ids is not None:
        for number, row in enumerate(rows):
            if (values := len(row.shape.sizes)) != len(block.ids):
                wanted, stop = f"{len(block.ids)} values", row.begin + sum(row.shape.sizes)
                block.note(FlawKind.ROW_COUNT, _row_name(block, number), row.name_at - 8, wanted, values, stop)
    for number, row in enumerate(block.rows):
        following = rows[number + 1].name_at - 8 if number + 1 < len(rows) else block.stop
        if row.header_size:
            at = row.name_at - 8
            stated = INSTANCE_HEADER.unpack_from(data, at)[0]
            if stated != row.header_size:
                name = f"{_row_name(block, number)}.header.size"
                block.note(FlawKind.INSTANCE_SIZE, name, at, row.header_size, stated)
        if sum(row.shape.sizes) == following - row.begin:
            continue
        natural = tuple(rounded(8 + held) for held in row.shape.data_sizes)
        for column, (held, size) in enumerate(zip(row.shape.data_sizes, row.shape.sizes, strict=True)):
            if size != natural[column]:
                kind = FlawKind.VALUE_UNPADDED if size == 8 + held else FlawKind.VALUE_SIZE
                at = row.begin + sum(natural[:column]) + 4
                block.note(kind, f"{_value_name(block, number, column)}.size", at, natural[column], size)
                if kind is FlawKind.VALUE_SIZE:
                    break
        # From here on, its values are taken to be where their lengths put them.
        rows[number] = row._replace(shape=_Sizes(tuple(row.shape.data_sizes), natural))
    block.rows = rows
