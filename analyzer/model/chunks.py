"""Raw counter values by the thousand: calls in, chunks of values out that share all the rest of what a record says.

What a record says of a value does not depend on the value: it is of the call (number, time, clocks), of the counter or of the
instance. So the records of a chunk are those of its first instance, made in the way of `samples`, with the instance and
value left to be filled in, and this holds for every answer of the same layout to the same query. Answers that have text among
their values, or anything irregular, come as the records of `samples`, which is also the test of what is said here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Any

import numpy as np
import numpy.typing as npt

from analyzer.buffers import PerfData, PerfRow
from analyzer.buffers.vector import Grid, Layout, Part, PartReader
from analyzer.core.values import dataclass
from analyzer.model.analysis import Analysis
from analyzer.model.records import Record
from analyzer.model.samples import call_samples, common_json, perflib_json
from analyzer.packet.segment import Endpoint
from analyzer.pcq.catalog import Catalog
from analyzer.pcq.layer import PerflibCall
from analyzer.pcq.queries import QueryView
from analyzer.pcq.samples import is_text, samples_of
from analyzer.rpc.call import Call


@dataclass(frozen=True, slots=True, eq=False)
class ChunkPart:
    """Values in rows (instances) of columns (counters).

    `columns` holds a record for each column, those of the first row; `rows` what a row's records say otherwise (None: the only
    row is the first). `made` is room for what renderers make of a part, which serves for all answers of its layout.
    """

    columns: Sequence[Record]
    rows: Sequence[Record] | None
    made: dict[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.columns) * (len(self.rows) if self.rows is not None else 1)


@dataclass(frozen=True, slots=True, eq=False)
class SampleChunk:
    """The values of a part in one answer, row by row, and what its records say of the call. Where a column's record has no
    `raw` (an error block), neither has the value."""

    part: ChunkPart
    of_call: Record
    values: npt.NDArray[np.uint64]


def sample_chunks(analysis: Analysis) -> Iterator[SampleChunk | Record]:
    """All values of a capture, in the order of `sample_records`: chunks, and between them the records of what is irregular."""
    chunks = _Chunks(analysis)
    for number, call in enumerate(analysis.calls, 1):
        found = chunks.of(number, call)
        yield from found if found is not None else call_samples(number, call, analysis)


class _Chunks:
    """Makes chunks, and keeps the parts of the layouts seen last."""

    MAX_VALUES = 1_000_000

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._reader = PartReader()
        # By layout, query and server; an entry holds on to both objects, so that no others can have their identity.
        self._bound: dict[tuple[int, int, Endpoint], _Bound] = {}
        self._values = 0

    def of(self, number: int, call: Call) -> Iterator[SampleChunk] | None:
        """The chunks of a call, None where its values are to be read one by one."""
        side = call.response
        if not isinstance(call, PerflibCall) or side is None or side.buffer is None or side.buffer_kind != "perf-data":
            return None
        read = self._reader.read(side.buffer.data)
        if read is None:
            return None
        parts = self._parts(number, call, read.layout)
        if parts is None:
            return None
        of_call = {
            "call": number,
            "time_ns": side.message.first_time_ns,
            "perf_time_stamp": read.perf_time_stamp,
            "perf_time_100ns": read.perf_time_100ns,
            "perf_freq": read.perf_freq,
        }
        return _cut(parts, of_call, read.values)

    def _parts(self, number: int, call: PerflibCall, layout: Layout) -> Sequence[ChunkPart] | None:
        server = call.exchange.channel.server
        key = id(layout), id(call.query), server
        known = self._bound.pop(key, None)
        if known is None:
            made = _perflib_parts(layout, call.query, self._analysis.catalogs.of(server), common_json(number, call))
            known = _Bound(layout, call.query, made)
            self._values += len(layout.data_sizes)
        self._bound[key] = known
        while self._values > self.MAX_VALUES and len(self._bound) > 1:
            self._values -= len(self._bound.pop(next(iter(self._bound))).layout.data_sizes)
        return known.parts


@dataclass(frozen=True, slots=True)
class _Bound:
    """The parts of a layout as the answers to a query have them; None: they have text."""

    layout: Layout
    query: QueryView | None
    parts: Sequence[ChunkPart] | None


def _perflib_parts(
    layout: Layout, query: QueryView | None, catalog: Catalog, common: Record
) -> Sequence[ChunkPart] | None:
    parts = []
    for part in layout.parts:
        if len(part) == 0:
            continue
        first = PerfData(None, None, 0, 0, 0, None, tuple(_first_rows(part)), None, ())
        columns = [common | perflib_json(sample) for sample in samples_of(first, query, catalog)]
        if any(is_text(record["counter_type"]) for record in columns):
            return None
        rows = None
        if isinstance(part, Grid):
            rows = [
                {"instance": name, "instance_id": number}
                for name, number in zip(part.names, part.instance_ids.tolist(), strict=True)
            ]
        parts.append(ChunkPart(columns, rows))
    return parts


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


def _cut(parts: Sequence[ChunkPart], of_call: Record, values: npt.NDArray[np.uint64]) -> Iterator[SampleChunk]:
    at = 0
    for part in parts:
        yield SampleChunk(part, of_call, values[at : at + len(part)])
        at += len(part)
