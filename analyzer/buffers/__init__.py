"""Stubs and lpData buffers decoded by parsers compiled from ksy/."""

from analyzer.buffers.adapt import JsonValue, counter_value
from analyzer.buffers.columns import (
    PerfData,
    PerfRow,
    SystemTime,
    WinPerf,
    perf_data_columns,
    perf_data_rows,
    winperf_rows,
)
from analyzer.buffers.decode import KINDS, BufferDecode, decode_buffer, find_damage
from analyzer.buffers.derived import PerfColumns
from analyzer.buffers.fields import Field, FieldMap, StubKind, map_fields
from analyzer.buffers.guess import Guess, guess_kind
from analyzer.buffers.objects_v1 import (
    PERF_METADATA_MULTIPLE_INSTANCES,
    PERF_METADATA_NO_INSTANCES,
    PERF_NO_INSTANCES,
    CounterDefinition,
    WinPerfInstance,
    WinPerfObject,
)
from analyzer.buffers.ready import ReadyTrees
from analyzer.buffers.stubs import ArrayLayout, Interface, StubDecode, StubPlaces, decode_stub, stub_places

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
    "perf_data_columns",
    "perf_data_rows",
    "stub_places",
    "winperf_rows",
]
