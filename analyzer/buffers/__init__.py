"""Stubs and lpData buffers decoded by parsers compiled from ksy/."""

from analyzer.buffers.adapt import JsonValue, counter_value
from analyzer.buffers.columns import (
    CounterDefinition,
    PerfData,
    PerfRow,
    SystemTime,
    WinPerf,
    WinPerfInstance,
    WinPerfObject,
    perf_data_rows,
    winperf_rows,
)
from analyzer.buffers.decode import KINDS, BufferDecode, BufferKind, decode_buffer
from analyzer.buffers.stubs import ArrayLayout, StubDecode, decode_stub

__all__ = [
    "KINDS",
    "ArrayLayout",
    "BufferDecode",
    "BufferKind",
    "CounterDefinition",
    "JsonValue",
    "PerfData",
    "PerfRow",
    "StubDecode",
    "SystemTime",
    "WinPerf",
    "WinPerfInstance",
    "WinPerfObject",
    "counter_value",
    "decode_buffer",
    "decode_stub",
    "perf_data_rows",
    "winperf_rows",
]
