"""The values of a PERF_DATA_BLOCK, each with its names, its base and its instance's parent (winperf.h)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from analyzer.interfaces.buffers.value_rows import WinPerf, winperf_rows
from analyzer.interfaces.buffers.winperf_layout import CounterDefinition, WinPerfInstance, WinPerfObject
from analyzer.results.calls.call import Call
from analyzer.results.methods.perflib import is_base
from analyzer.results.reported_names.counter_name_tables import NameTable
from analyzer.results.reported_names.server_names import NameSource, SampleNames


class WinperfSample(Struct, frozen=True):
    """One raw value of a PERF_DATA_BLOCK with its names. Names are None where neither the capture nor the built-in table knows the
    index.

    `instance_id` is the UniqueID, None for none; `parent_index` the title index of the parent object and `parent_instance` the
    parent's name, both None for none. `base_raw` is the value of the base counter that follows this one. Clocks of the block:
    `perf_time` in ticks of `perf_freq` per second, `perf_time_100ns` in 100 ns since 1601; of the object: `object_perf_*`.
    `repeated`: an earlier object of the block is the same.
    """

    object_index: int
    object_name: str | None
    counter_index: int
    counter_name: str | None
    name_source: NameSource | None
    counter_type: int
    instance: str | None
    instance_id: int | None
    parent_index: int | None
    parent_instance: str | None
    raw: int | str | None
    base_raw: int | None
    data_size: int
    perf_time: int | None
    perf_freq: int | None
    perf_time_100ns: int | None
    object_perf_time: int
    object_perf_freq: int
    names: SampleNames | None = None
    repeated: bool = False


def winperf_samples(call: Call, table: NameTable) -> Iterator[WinperfSample]:
    """Yields the values in the answer to a winperf read, in the order of the block; nothing for calls without values."""
    side = call.response
    if side is None or side.buffer is None or side.buffer_kind != "winperf":
        return
    yield from samples_of(winperf_rows(side.buffer.data), table)


def samples_of(
    block: WinPerf, table: NameTable, objects: Mapping[int, WinPerfObject] | None = None
) -> Iterator[WinperfSample]:
    """Yields the values of a decoded PERF_DATA_BLOCK. `objects` replaces its objects by others, given by their positions in it."""
    places: dict[int, int] = {}
    for place, one in enumerate(block.objects):
        places.setdefault(one.name_index, place)
    for place, item in objects.items() if objects is not None else enumerate(block.objects):
        object_name = table.name(item.name_index)
        bases = tuple(_base_of(item.definitions, at) for at in range(len(item.definitions)))
        for instance in item.instances:
            parent = parent_name(block, instance)
            for at, (definition, raw) in enumerate(zip(item.definitions, instance.values, strict=False)):
                if definition.size == 0:
                    continue  # PERF_SIZE_ZERO: such a counter never has a value (winperf.h)
                counter_name = table.name(definition.name_index)
                base = bases[at]
                base_raw = instance.values[base] if base is not None and base < len(instance.values) else None
                yield WinperfSample(
                    item.name_index,
                    object_name.text if object_name is not None else None,
                    definition.name_index,
                    counter_name.text if counter_name is not None else None,
                    counter_name.source if counter_name is not None else None,
                    definition.counter_type,
                    instance.name,
                    instance.unique_id,
                    instance.parent_index or None,
                    parent,
                    raw,
                    base_raw if isinstance(base_raw, int) else None,
                    definition.size,
                    block.perf_time,
                    block.perf_freq,
                    block.perf_time_100ns,
                    item.perf_time,
                    item.perf_freq,
                    table.names(item.name_index, definition.name_index),
                    places[item.name_index] != place,
                )


def _base_of(definitions: Sequence[CounterDefinition], at: int) -> int | None:
    """Returns the position of a winperf counter's base: the base is the counter right behind it (winperf.h)."""
    follower = at + 1
    if follower < len(definitions) and is_base(definitions[follower].counter_type):
        return None if is_base(definitions[at].counter_type) else follower
    return None


def parent_name(block: WinPerf, instance: WinPerfInstance) -> str | None:
    """Returns the name of a winperf instance's parent. ParentObjectInstance counts the instances of the parent object from 0."""
    if not instance.parent_index or instance.parent_instance is None:
        return None
    for item in block.objects:
        if item.name_index == instance.parent_index and 0 <= instance.parent_instance < len(item.instances):
            return item.instances[instance.parent_instance].name
    return None
