"""Decodes stubs and lpData buffers with parsers compiled from ksy/."""

from analyzer.interfaces.buffers.buffer_trees import KINDS, BufferDecode, decode_buffer, find_damage
from analyzer.interfaces.buffers.compiled_values import JsonValue, counter_value
from analyzer.interfaces.buffers.field_map import Field, FieldMap, StubKind, map_fields, map_head
from analyzer.interfaces.buffers.kind_guess import Guess, guess_kind
from analyzer.interfaces.buffers.perf_data_trees_and_rows import PerfColumns
from analyzer.interfaces.buffers.stub_decoding import (
    ArrayLayout,
    Interface,
    StubDecode,
    StubPlaces,
    decode_stub,
    stub_places,
)
from analyzer.interfaces.buffers.tree_texts import TreeTexts
from analyzer.interfaces.buffers.value_rows import (
    PerfData,
    PerfRow,
    SystemTime,
    WinPerf,
    perf_data_columns,
    perf_data_rows,
    winperf_rows,
)
from analyzer.interfaces.buffers.winperf_layout import (
    PERF_METADATA_MULTIPLE_INSTANCES,
    PERF_METADATA_NO_INSTANCES,
    PERF_NO_INSTANCES,
    CounterDefinition,
    WinPerfInstance,
    WinPerfObject,
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
    "StubDecode",
    "StubKind",
    "StubPlaces",
    "SystemTime",
    "TreeTexts",
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
