"""Raw counter values by the thousand: calls in, chunks of values out that share all the rest of what a record says.

What a record says of a value does not depend on the value: it is of the call (number, time, clocks), of the counter or of the
instance. So the records of a chunk are those of its first instance, made in the way of `samples`, with the instance and
value left to be filled in, and this holds for every answer of the same layout to the same query. Answers that have text among
their values, or anything irregular, come as the records of `samples`, which is also the test of what is stated here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, groupby
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import UNSET, Struct, field
from msgspec.structs import astuple, replace

from analyzer.buffers import PerfData, PerfRow, WinPerf
from analyzer.buffers.regular import Grid, Layout, Part, RegularReader, Singles
from analyzer.buffers.regular_v1 import V1Block, V1Layout, V1Reader, mixed_object
from analyzer.contents.samples import call_samples, sample_record
from analyzer.model.analysis import Analysis
from analyzer.model.call import Call
from analyzer.model.catalog import Catalog
from analyzer.model.name_tables import NameTable
from analyzer.model.query import QueryView
from analyzer.model.record import Endpoint
from analyzer.model.sample import SampleRecord
from analyzer.pcq.samples import Shown, is_text, samples_of, shown
from analyzer.winperf.samples import parent_name
from analyzer.winperf.samples import samples_of as winperf_samples_of

# Some fields of a sample's record, by name.
Values = dict[str, int | str | None]


class ChunkPart(Struct, frozen=True, eq=False):
    """Values in rows (instances) of columns (counters).

    `columns` holds a record for each column, those of the first row; `rows` what a row's records say otherwise (None: the only
    row is the first); `bases` which column has the `base_raw` of each (None: no record has one). `made` is room for what
    renderers make of a part, which serves for all answers of its layout.
    """

    columns: Sequence[SampleRecord]
    rows: Sequence[Values] | None
    bases: Sequence[int | None] | None = None
    made: dict[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.columns) * (len(self.rows) if self.rows is not None else 1)


class SampleChunk(Struct, frozen=True, eq=False):
    """The values of a part in one answer, row by row, and what its records say of the call. Where a column's record has no
    `raw` (an error block), neither has the value."""

    part: ChunkPart
    of_call: Values
    values: npt.NDArray[np.uint64]


def sample_chunks(analysis: Analysis) -> Iterator[SampleChunk | SampleRecord]:
    """All values of a capture, in the order of `sample_records`: chunks, and between them the records of what is irregular."""
    chunks = _Chunks(analysis)
    for number, call in analysis.shown:
        found = chunks.of(number, call)
        yield from found if found is not None else call_samples(number, call, analysis)


class _Chunks:
    """Makes chunks, and keeps the parts of the layouts seen last."""

    MAX_VALUES = 1_000_000
    # Each block without instances has a record of its own. Of more than these, they are made anew for each answer, some at a time.
    MAX_COLUMNS = 8_192

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._reader, self._v1_reader = RegularReader(), V1Reader()
        # By layout, query and server; an entry holds on to both objects, so that no others can have their identity.
        self._bound: dict[tuple[int, int, Endpoint], _Bound] = {}
        self._values = 0

    def of(self, number: int, call: Call) -> Iterator[SampleChunk | SampleRecord] | None:
        """The chunks of a call, None where its values are to be read one by one."""
        side = call.response
        if side is None or side.buffer is None:
            return None
        of_call: Values = {"call": number, "time_ns": side.first_time_ns, "handle": call.handle}
        if call.is_perflib and side.buffer_kind == "perf-data":
            return self._of_perflib(call, side.buffer.data, of_call)
        if call.is_winreg and side.buffer_kind == "winperf":
            return self._of_winreg(call, side.buffer.data, of_call)
        return None

    def _of_perflib(self, call: Call, data: bytes, of_call: Values) -> Iterator[SampleChunk] | None:
        read = self._reader.read(data)
        if read is None or read.texts:
            return None
        catalog = self._analysis.catalogs.of(call.server)

        def parts() -> Iterator[ChunkPart]:
            return _perflib_parts(read.layout, call.query, catalog, call.server)

        def parts_of_numbers() -> Sequence[ChunkPart] | None:
            made = list(parts())
            blocks = _blocks_of(made)
            return list(_marked(made, blocks, catalog)) if blocks is not None else None

        bound: Iterable[ChunkPart] | None
        if sum(len(part) for part in read.layout.parts if isinstance(part, Singles)) > self.MAX_COLUMNS:
            blocks = _blocks_of(parts())
            bound = _marked(parts(), blocks, catalog) if blocks is not None else None
        else:
            bound = self._known(read.layout, call.query, call, parts_of_numbers)
        if bound is None:
            return None
        of_call["perf_time_stamp"] = read.perf_time_stamp
        of_call["perf_time_100ns"] = read.perf_time_100ns
        of_call["perf_freq"] = read.perf_freq
        return _cut(bound, of_call, read.values)

    def _of_winreg(self, call: Call, data: bytes, of_call: Values) -> Iterator[SampleChunk | SampleRecord] | None:
        read = self._v1_reader.read(data)
        if read is None:
            return None
        table = self._analysis.name_tables.of(call.server)

        def parts() -> Sequence[ChunkPart]:
            return _winperf_parts(read.layout, table, call.server)

        bound = self._known(read.layout, None, call, parts)
        if bound is None:
            return None
        of_call["perf_time"], of_call["perf_freq"] = read.perf_time, read.perf_freq
        of_call["perf_time_100ns"] = read.perf_time_100ns
        return self._objects(call, data, read, table, bound, of_call)

    @staticmethod
    def _objects(
        call: Call,
        data: bytes,
        read: V1Block,
        table: NameTable,
        parts: Sequence[ChunkPart],
        of_call: Values,
    ) -> Iterator[SampleChunk | SampleRecord]:
        """Object by object: a chunk, or the records of one whose values are not all numbers."""
        block, at = _v1_block(read.layout, read), 0
        for number, (part, is_mixed) in enumerate(zip(parts, read.layout.mixed, strict=True)):
            if is_mixed:
                item = mixed_object(data, read, number)
                time_ns = call.response.first_time_ns if call.response is not None else None
                for sample in winperf_samples_of(block, table, {number: item}):
                    yield sample_record(sample, call.number, time_ns, call.server, call.handle)
            elif len(part):
                time, freq = read.object_clocks[number]
                of_object = of_call | {"object_perf_time": time, "object_perf_freq": freq}
                yield SampleChunk(part, of_object, read.values[at : at + len(part)])
                at += len(part)

    def _known(
        self,
        layout: Layout | V1Layout,
        query: QueryView | None,
        call: Call,
        make: Callable[[], Sequence[ChunkPart] | None],
    ) -> Sequence[ChunkPart] | None:
        key = id(layout), id(query), call.server
        known = self._bound.pop(key, None)
        if known is None:
            known = _Bound(layout, query, make())
            self._values += known.values
        self._bound[key] = known
        while self._values > self.MAX_VALUES and len(self._bound) > 1:
            self._values -= self._bound.pop(next(iter(self._bound))).values
        return known.parts


class _Bound(Struct, frozen=True):
    """The parts of a layout as the answers to a query have them; None: they have text."""

    layout: Layout | V1Layout
    query: QueryView | None
    parts: Sequence[ChunkPart] | None

    @property
    def values(self) -> int:
        return len(self.layout.places) if isinstance(self.layout, V1Layout) else len(self.layout.data_sizes)


def _perflib_parts(layout: Layout, query: QueryView | None, catalog: Catalog, server: Endpoint) -> Iterator[ChunkPart]:
    """The parts of a layout, without what is repeated in them marked."""
    for part in chain.from_iterable(map(_cut_columns, layout.parts)):
        if len(part) == 0:
            continue
        first = PerfData(None, None, 0, 0, 0, None, tuple(_first_rows(part)), None, ())
        columns = [sample_record(sample, server=server) for sample in samples_of(first, query, catalog)]
        rows: list[Values] | None = None
        if isinstance(part, Grid):
            rows = [
                {"instance": name, "instance_id": number}
                for name, number in zip(part.names, part.instance_ids.tolist(), strict=True)
            ]
        yield ChunkPart(columns, rows)


def _cut_columns(part: Part) -> Iterator[Part]:
    """A part, or the pieces of one of very many blocks."""
    if isinstance(part, Grid):
        yield part
        return
    for first in range(0, len(part), _Chunks.MAX_COLUMNS):
        yield Singles(*[column[first : first + _Chunks.MAX_COLUMNS] for column in astuple(part)])


# The numbers of the blocks that hold each counter, by counterset and counter.
_Blocks = dict[tuple[Any, ...], set[Any]]


def _blocks_of(parts: Iterable[ChunkPart]) -> _Blocks | None:
    """Which counters are in which blocks; None where one has text."""
    blocks: _Blocks = {}
    for part in parts:
        if any(is_text(record.counter_type) for record in part.columns):
            return None
        for record in part.columns:
            blocks.setdefault((record.counterset, record.counter_id), set()).add(record.block)
    return blocks


def _marked(parts: Iterable[ChunkPart], blocks: _Blocks, catalog: Catalog) -> Iterator[ChunkPart]:
    """The parts with what is `repeated` in them marked; one of which some rows repeat what others do not is cut between these."""
    seen: dict[Shown, Any] = {}

    def is_repeated(record: SampleRecord) -> bool:
        if record.data_size is None or len(blocks[record.counterset, record.counter_id]) == 1:
            return False
        assert record.counterset is not UNSET
        assert record.counter_id is not UNSET
        what = shown(record.counterset, record.counter_id, record.instance, record.instance_id, catalog)
        return what is not None and seen.setdefault(what, record.block) != record.block

    for part in parts:
        if all(len(blocks[record.counterset, record.counter_id]) == 1 for record in part.columns):
            yield part
            continue
        rows: Sequence[Values] = part.rows if part.rows is not None else [{}]
        marked = [
            [replace(one, repeated=is_repeated(one)) for one in (replace(record, **row) for record in part.columns)]
            for row in rows
        ]
        at = 0
        for _, same in groupby(marked, lambda columns: [record.repeated for record in columns]):
            columns, *others = same
            count = len(others) + 1
            yield ChunkPart(columns, part.rows[at : at + count] if part.rows is not None else None)
            at += count


def _first_rows(part: Part) -> Iterator[PerfRow]:
    """The rows of a part's first instance, or of all its blocks without instances, with values of 0."""
    if isinstance(part, Grid):
        ids = part.counter_ids if part.counter_ids is not None else [None] * len(part.data_sizes)
        name, number = part.names[0], int(part.instance_ids[0])
        for counter, held in zip(ids, part.data_sizes, strict=True):
            yield PerfRow(part.block, part.block_type, part.status, counter, name, number, bytes(held))
        return
    arrays = part.block, part.block_type, part.status, part.counter_id, part.data_size
    for block, kind, status, counter, held in zip(*(array.tolist() for array in arrays), strict=True):
        data = None if held < 0 else bytes(held)
        yield PerfRow(block, kind, status, None if counter < 0 else counter, None, None, data)


def _v1_block(layout: V1Layout, read: V1Block | None = None) -> WinPerf:
    """A block without values, for the names of parents, which are instances of its objects."""
    clocks = (read.perf_time, read.perf_freq, read.perf_time_100ns) if read is not None else (0, 0, 0)
    return WinPerf(False, None, None, None, None, *clocks, None, layout.objects, None, ())


def _winperf_parts(layout: V1Layout, table: NameTable, server: Endpoint) -> Sequence[ChunkPart]:
    """A part for each object, an empty one where it has no values or is mixed."""
    block = _v1_block(layout)
    parts: list[ChunkPart] = []
    for place, (item, is_mixed) in enumerate(zip(layout.objects, layout.mixed, strict=True)):
        if is_mixed or not item.instances:
            parts.append(ChunkPart((), None))
            continue
        # In place of its value, each counter of the first instance has its number, so that `base_raw` states which is the base.
        numbered = replace(item.instances[0], values=tuple(range(len(item.definitions))))
        first = replace(item, instances=(numbered,))
        columns = [sample_record(sample, server=server) for sample in winperf_samples_of(block, table, {place: first})]
        held = {record.raw: number for number, record in enumerate(columns)}
        bases = [held.get(record.base_raw) if record.base_raw is not UNSET else None for record in columns]
        rows: list[Values] = [
            {
                "instance": instance.name,
                "instance_id": instance.unique_id,
                "parent_index": instance.parent_index or None,
                "parent_instance": parent_name(block, instance),
            }
            for instance in item.instances
        ]
        parts.append(ChunkPart(columns, rows, bases))
    return parts


def _cut(parts: Iterable[ChunkPart], of_call: Values, values: npt.NDArray[np.uint64]) -> Iterator[SampleChunk]:
    at = 0
    for part in parts:
        yield SampleChunk(part, of_call, values[at : at + len(part)])
        at += len(part)
