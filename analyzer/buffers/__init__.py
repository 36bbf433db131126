"""Stubs and lpData buffers decoded by parsers compiled from ksy/."""

from analyzer.buffers.adapt import JsonValue, counter_value
from analyzer.buffers.columns import PerfData, PerfRow, SystemTime, perf_data_rows
from analyzer.buffers.decode import KINDS, BufferDecode, BufferKind, decode_buffer
from analyzer.buffers.stubs import ArrayLayout, StubDecode, decode_stub

__all__ = [
    "KINDS",
    "ArrayLayout",
    "BufferDecode",
    "BufferKind",
    "JsonValue",
    "PerfData",
    "PerfRow",
    "StubDecode",
    "SystemTime",
    "counter_value",
    "decode_buffer",
    "decode_stub",
    "perf_data_rows",
]
