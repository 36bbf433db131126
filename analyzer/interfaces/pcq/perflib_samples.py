"""The samples of a PerflibV2QueryCounterData answer: raw values, each with the metadata that the capture states."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from analyzer.interfaces.buffers.value_rows import PerfData, PerfRow, perf_data_rows
from analyzer.interfaces.buffers.windows_text import utf16_text
from analyzer.results.calls.call import Call
from analyzer.results.calls.query_state import Identifier, QueryView
from analyzer.results.methods.perflib import NONE_ID, is_text
from analyzer.results.records.sample import IdSource
from analyzer.results.reported_names.counterset_catalog import Catalog
from analyzer.results.reported_names.server_names import SampleNames

# Counterset, counter, instance by name and number.
Shown = tuple[str, int, str, int | None]


class PerflibSample(Struct, frozen=True):
    """One raw counter value of a PerflibV2 data answer. Its counterset, counter, names and type are None if the capture does not
    state them.

    `id_source` says how the counter of the block is known: `index` (QueryCounterInfo), `replay` (the order of adding), or None. The
    value of `raw` is an unsigned integer, a string for text counters, or None for an error block (`block_status` says why). Clocks
    are those of the answer's header: `perf_time_stamp` in ticks of `perf_freq` per second, `perf_time_100ns` in 100 ns since the
    year 1601 began. The sample is `repeated` if an earlier block of the answer has the same counter of the same instance: both were
    added to the query.
    """

    query: str | None
    block: int
    block_type: int
    block_status: int
    counterset: str | None
    counterset_name: str | None
    counter_id: int | None
    counter_name: str | None
    counter_type: int | None
    instance: str | None
    instance_id: int | None
    raw: int | str | None
    data_size: int | None
    perf_time_stamp: int | None
    perf_time_100ns: int | None
    perf_freq: int | None
    id_source: IdSource | None = None
    names: SampleNames | None = None
    repeated: bool = False


def perflib_samples(call: Call, catalog: Catalog) -> Iterator[PerflibSample]:
    """Yields the raw values in the answer to a PerflibV2 call, in the order of the buffer; nothing for calls without values."""
    side = call.response
    if side is None or side.buffer is None or side.buffer_kind != "perf-data":
        return
    yield from samples_of(perf_data_rows(side.buffer.data), call.query, catalog)


def samples_of(answer: PerfData, query: QueryView | None, catalog: Catalog) -> Iterator[PerflibSample]:
    """Yields the raw values of a decoded PerflibV2 data answer; `query` states the counters of its blocks, if known."""
    blocks: dict[Shown, int] = {}
    for row in answer.rows:
        known = query.blocks.get(row.block) if query is not None else None
        counterset, counter_id = counter_of(query, row.block, row.counter_id)
        entry = catalog.counter(counterset, counter_id)
        counter_type = entry.type if entry is not None else None
        instance, instance_id = _instance_of(row, known, catalog)
        yield PerflibSample(
            query.handle if query is not None else None,
            row.block,
            row.block_type,
            row.status,
            counterset,
            catalog.label(counterset),
            counter_id,
            entry.label if entry is not None else None,
            counter_type,
            instance,
            instance_id,
            _raw(row, counter_type),
            len(row.data) if row.data is not None else None,
            answer.perf_time_stamp,
            answer.perf_time_100ns,
            answer.perf_freq,
            query.id_source if known is not None and query is not None else None,
            catalog.names(counterset, counter_id),
            row.data is not None
            and (what := shown(counterset, counter_id, instance, instance_id, catalog)) is not None
            and blocks.setdefault(what, row.block) != row.block,
        )


def shown(
    counterset: str | None, counter_id: int | None, instance: str | None, instance_id: int | None, catalog: Catalog
) -> Shown | None:
    """Returns the counter and instance of a PerflibV2 sample, whatever block its value is in; None if the capture does not state
    it. The instance is left out if the counterset can have only one."""
    if counterset is None or counter_id is None:
        return None
    if catalog.is_single(counterset):
        return counterset, counter_id, "", None
    return counterset, counter_id, (instance or "").casefold(), instance_id


def counterset_of(query: QueryView | None, block: int) -> str | None:
    """The counterset of the samples in a block of a data answer: that of its identifier, or the only one the query holds counters
    of."""
    if query is None:
        return None
    known = query.blocks.get(block)
    return known.counterset if known is not None else query.counterset


def counter_of(query: QueryView | None, block: int, counter_id: int | None) -> tuple[str | None, int | None]:
    """Returns counterset and counter of a sample in a data answer: the counter is that of its block, else of its identifier."""
    known = query.blocks.get(block) if query is not None else None
    if counter_id is None and known is not None and known.names_one_counter:
        counter_id = known.counter_id
    return counterset_of(query, block), counter_id


def _instance_of(row: PerfRow, known: Identifier | None, catalog: Catalog) -> tuple[str | None, int | None]:
    """Returns the instance of a PerflibV2 value: the one that its block names, else that of the block's identifier. If the
    identifier has only a number, the name comes from an answer of EnumerateCounterSetInstances."""
    if row.instance is not None or row.instance_id is not None or known is None:
        return row.instance, row.instance_id
    instance = known.instance if known.names_one_instance else None
    number = None if known.instance_id == NONE_ID else known.instance_id
    if not instance and number is not None:
        instance = catalog.instance(known.counterset, number) or instance
    return instance, number


def _raw(row: PerfRow, counter_type: int | None) -> int | str | None:
    """The raw value of a sample; text of 4 or 8 bytes differs from a number only by the counter's declared type."""
    return utf16_text(row.data) if row.data is not None and is_text(counter_type) else row.value
