"""Stubs and lpData buffers decoded by parsers compiled from ksy/."""

from analyzer.interfaces.buffers.adapt import JsonValue, counter_value
from analyzer.interfaces.buffers.buffer_trees import KINDS, BufferDecode, decode_buffer, find_damage
from analyzer.interfaces.buffers.derived import PerfColumns
from analyzer.interfaces.buffers.field_map import Field, FieldMap, StubKind, map_fields, map_head
from analyzer.interfaces.buffers.guess import Guess, guess_kind
from analyzer.interfaces.buffers.objects_v1 import (
    PERF_METADATA_MULTIPLE_INSTANCES,
    PERF_METADATA_NO_INSTANCES,
    PERF_NO_INSTANCES,
    CounterDefinition,
    WinPerfInstance,
    WinPerfObject,
)
from analyzer.interfaces.buffers.ready import ReadyTrees
from analyzer.interfaces.buffers.stubs import ArrayLayout, Interface, StubDecode, StubPlaces, decode_stub, stub_places
from analyzer.interfaces.buffers.value_rows import (
    PerfData,
    PerfRow,
    SystemTime,
    WinPerf,
    perf_data_columns,
    perf_data_rows,
    winperf_rows,
)

__all__ = [
    "KINDS",
    "PERF_METADATA_MULTIPLE_INSTANCES",
    "PERF_METADATA_NO_INSTANCES",
    "PERF_NO_INSTANCES",
    "ArrayLayout",
    "BufferDecode",
    "CounterDefinition",
    "Field",
    "FieldMap",
    "Guess",
    "Interface",
    "JsonValue",
    "PerfColumns",
    "PerfData",
    "PerfRow",
    "ReadyTrees",
    "StubDecode",
    "StubKind",
    "StubPlaces",
    "SystemTime",
    "WinPerf",
    "WinPerfInstance",
    "WinPerfObject",
    "counter_value",
    "decode_buffer",
    "decode_stub",
    "find_damage",
    "guess_kind",
    "map_fields",
    "map_head",
    "perf_data_columns",
    "perf_data_rows",
    "stub_places",
    "winperf_rows",
]
