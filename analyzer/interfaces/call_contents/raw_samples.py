"""Raw counter values of calls, from PerflibV2 data answers and from winperf blocks: records one by one, and chunks by the thousand.

All records of a chunk share their other facts. These belong to the call (number, time, clocks), to the counter or to the instance.
So `samples` makes the records of a chunk's first instance, and the others differ only in instance and value. This holds for every
answer of the same layout to the same query. Answers with text among their values, or with anything irregular, come as sample
records. Tests compare the chunks with these.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import UNSET, Struct, UnsetType, field
from msgspec.structs import astuple, replace

from analyzer.core.error_code_names import win32_name
from analyzer.interfaces.buffers.perf_data_layout import Grid, Part, PerfDataLayout, Singles
from analyzer.interfaces.buffers.winperf_layout import WinperfLayout, WinperfParts, mixed_object
from analyzer.interfaces.call_contents.bound_answers import (
    Binding,
    Bindings,
    answer_of,
    block_of,
    numbered,
    part_rows,
)
from analyzer.interfaces.pcq.perflib_samples import PerflibSample, Shown, perflib_samples, samples_of, shown
from analyzer.interfaces.winperf.winperf_samples import WinperfSample, parent_name, winperf_samples
from analyzer.interfaces.winperf.winperf_samples import samples_of as winperf_samples_of
from analyzer.results.analysis import Analysis, Selected
from analyzer.results.calls.call import Call
from analyzer.results.records.record_types import Endpoint
from analyzer.results.records.sample import NamesFacts, SampleRecord, Source
from analyzer.results.reported_names.counterset_catalog import Catalog

if TYPE_CHECKING:
    import numpy.typing as npt


# ----------------------------------------------------------------------------------------------------------------- records


def sample_records(analysis: Analysis, calls: Selected | None = None) -> Iterator[SampleRecord]:
    """Makes a record of each raw value in the shown calls, or in `calls`, in the order of the calls and of their buffers."""
    shown = analysis.shown if calls is None else calls
    for number, call in shown.only(analysis.calls.with_values(shown.numbers)):
        yield from call_samples(number, call, analysis)


def call_samples(number: int, call: Call, analysis: Analysis) -> Iterator[SampleRecord]:
    """The sample records of one call's values."""
    if call.response is None:
        return
    server, time_ns, altered = call.server, call.response.first_time_ns, call.is_altered or UNSET
    if call.is_perflib:
        for sample in perflib_samples(call, analysis.catalogs.catalog_of(server)):
            yield sample_record(sample, number, time_ns, server, call.handle, altered)
    elif call.is_winreg:
        for value in winperf_samples(call, analysis.name_tables.table_of(server)):
            yield sample_record(value, number, time_ns, server, call.handle, altered)


def sample_record(
    sample: PerflibSample | WinperfSample,
    call: int | None = None,
    time_ns: int | None = None,
    server: Endpoint | None = None,
    handle: str | None = None,
    altered: bool | UnsetType = UNSET,
) -> SampleRecord:
    """Returns the sample record of a value. A value without a capture has no call, time, server and handle."""
    source: Source = "perflib-v2" if isinstance(sample, PerflibSample) else "winperf"
    own = sample_keys(sample)
    return SampleRecord(call=call, time_ns=time_ns, source=source, server=server, handle=handle, altered=altered, **own)


def sample_keys(sample: PerflibSample | WinperfSample) -> dict[str, Any]:
    """Returns the keys of a value's sample record, without those of the call."""
    out = {name: getattr(sample, name) for name in sample.__struct_fields__}
    names = sample.names
    out["names"] = NamesFacts.from_names(names) if names is not None else None
    if isinstance(sample, PerflibSample):
        out["block_status_name"] = win32_name(sample.block_status)
        out["name_source"] = names.source if names is not None else None
    return out


# ------------------------------------------------------------------------------------------------------------------ chunks


# Some fields of a sample's record, by name.
Values = dict[str, int | str | None]


class ChunkPart(Struct, frozen=True, eq=False):
    """A part of a chunk: raw counter values in rows (instances) of columns (counters).

    `columns` holds the record of each column in the first row. `rows` states how the records of each row differ (None: there is one
    row). `bases` states which column has the `base_raw` of each (None: no record has one). `made` is room for what renderers make
    of a part; it serves for all answers of its layout.
    """

    columns: Sequence[SampleRecord]
    rows: Sequence[Values] | None
    bases: Sequence[int | None] | None = None
    made: dict[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.columns) * (len(self.rows) if self.rows is not None else 1)


class SampleChunk(Struct, frozen=True, eq=False):
    """A chunk: raw counter values of a part in one answer, row by row, and the facts about the call in its sample records. If a
    column's record has no `raw` (an error block), its value is absent too."""

    part: ChunkPart
    of_call: Values
    values: npt.NDArray[np.uint64]


def sample_chunks(analysis: Analysis) -> Iterator[SampleChunk | SampleRecord]:
    """Yields all raw counter values of a capture in the order of `sample_records`: chunks, and single records for irregular
    answers."""
    chunks = _Chunks(analysis)
    shown = analysis.shown
    for number, call in shown.only(analysis.calls.with_values(shown.numbers)):
        found = chunks.chunks_of(number, call)
        yield from found if found is not None else call_samples(number, call, analysis)


class _Chunks:
    """Makes chunks of raw counter values. The parts of an answer are kept in its binding."""

    # Each block without instances has a record of its own. Of more than these, they are made anew for each answer, some at a time.
    MAX_COLUMNS = 8_192

    def __init__(self, analysis: Analysis) -> None:
        self._bindings = Bindings(analysis)

    def chunks_of(self, number: int, call: Call) -> Iterator[SampleChunk | SampleRecord] | None:
        """Returns the chunks of samples in a call's answer, None if its values must be read one by one."""
        side = call.response
        if side is None or side.buffer is None or call.is_altered:
            return None
        of_call: Values = {"call": number, "time_ns": side.first_time_ns, "handle": call.handle}
        if call.is_perflib and side.buffer_kind == "perf-data":
            return self._of_perflib(call, side.buffer.data, of_call)
        if call.is_winreg and side.buffer_kind == "winperf":
            return self._of_winreg(call, side.buffer.data, of_call)
        return None

    def _of_perflib(self, call: Call, data: bytes, of_call: Values) -> Iterator[SampleChunk] | None:
        found = self._bindings.perflib(call.server, call.query, data)
        if found is None:
            return None
        read, binding = found
        parts: Iterable[ChunkPart]
        if sum(len(part) for part in read.layout.parts if isinstance(part, Singles)) > self.MAX_COLUMNS:
            parts = _perflib_parts(binding)
        else:
            parts = binding.once("parts", lambda: list(_perflib_parts(binding)))
        of_call["perf_time_stamp"] = read.perf_time_stamp
        of_call["perf_time_100ns"] = read.perf_time_100ns
        of_call["perf_freq"] = read.perf_freq
        return _cut(parts, of_call, read.values)

    def _of_winreg(self, call: Call, data: bytes, of_call: Values) -> Iterator[SampleChunk | SampleRecord] | None:
        found = self._bindings.winperf(call.server, data)
        if found is None:
            return None
        read, binding = found
        of_call["perf_time"], of_call["perf_freq"] = read.perf_time, read.perf_freq
        of_call["perf_time_100ns"] = read.perf_time_100ns
        return self._objects(call, data, read, binding, of_call)

    @staticmethod
    def _objects(
        call: Call, data: bytes, read: WinperfParts, binding: Binding, of_call: Values
    ) -> Iterator[SampleChunk | SampleRecord]:
        """Yields the raw samples in the winperf answer of a call, object by object: a sample chunk, or sample records if not all
        values are numbers."""
        parts = binding.once("parts", lambda: _winperf_parts(read.layout, binding))
        block = block_of(read.layout.objects, (read.perf_time, read.perf_freq, read.perf_time_100ns))
        at = 0
        for number, (part, is_mixed) in enumerate(zip(parts, read.layout.mixed, strict=True)):
            if is_mixed:
                item = mixed_object(data, read, number)
                time_ns = call.response.first_time_ns if call.response is not None else None
                for sample in winperf_samples_of(block, binding.names, {number: item}):
                    yield sample_record(sample, call.number, time_ns, call.server, call.handle)
            elif len(part):
                time, freq = read.object_clocks[number]
                of_object = of_call | {"object_perf_time": time, "object_perf_freq": freq}
                yield SampleChunk(part, of_object, read.values[at : at + len(part)])
                at += len(part)


def _perflib_parts(binding: Binding) -> Iterator[ChunkPart]:
    """Yields the chunk parts of a PerflibV2 data answer, with repeated samples marked."""
    return _marked(_unmarked_parts(binding), _blocks_of(_unmarked_parts(binding)), binding.catalog)


def _unmarked_parts(binding: Binding) -> Iterator[ChunkPart]:
    assert isinstance(binding.layout, PerfDataLayout)
    for part in chain.from_iterable(map(_cut_columns, binding.layout.parts)):
        if len(part) == 0:
            continue
        first = samples_of(answer_of(part_rows(part, 1)), binding.query, binding.catalog)
        columns = [sample_record(sample, server=binding.server) for sample in first]
        rows: list[Values] | None = None
        if isinstance(part, Grid):
            rows = [
                {"instance": name, "instance_id": number}
                for name, number in zip(part.names, part.instance_ids.tolist(), strict=True)
            ]
        yield ChunkPart(columns, rows)


def _cut_columns(part: Part) -> Iterator[Part]:
    """Yields a part of a data answer, in pieces if it has very many blocks, for chunks."""
    if isinstance(part, Grid):
        yield part
        return
    for first in range(0, len(part), _Chunks.MAX_COLUMNS):
        yield Singles(*[column[first : first + _Chunks.MAX_COLUMNS] for column in astuple(part)])


# The numbers of the blocks that hold each counter, by counterset and counter.
_Blocks = dict[tuple[Any, ...], set[Any]]


def _blocks_of(parts: Iterable[ChunkPart]) -> _Blocks:
    """Returns for each counter in the samples of a chunk the blocks of the data answer that hold it."""
    blocks: _Blocks = {}
    for part in parts:
        for record in part.columns:
            blocks.setdefault((record.counterset, record.counter_id), set()).add(record.block)
    return blocks


def _marked(parts: Iterable[ChunkPart], blocks: _Blocks, catalog: Catalog) -> Iterator[ChunkPart]:
    """Yields the parts of a chunk of raw samples, with those marked that are `repeated`. A part is cut between rows that repeat
    different columns."""
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


def _winperf_parts(layout: WinperfLayout, binding: Binding) -> Sequence[ChunkPart]:
    """Returns the part of a chunk of raw samples for each winperf object of a call; an empty one if the object has no values or is
    mixed."""
    block = block_of(layout.objects)
    parts: list[ChunkPart] = []
    for place, (item, is_mixed) in enumerate(zip(layout.objects, layout.mixed, strict=True)):
        if is_mixed or not item.instances:
            parts.append(ChunkPart((), None))
            continue
        # In place of its value, each counter of the first instance has its number, so that `base_raw` states which is the base.
        first = winperf_samples_of(block, binding.names, {place: numbered(item, 1)})
        columns = [sample_record(sample, server=binding.server) for sample in first]
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
