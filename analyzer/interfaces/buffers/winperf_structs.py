"""Layouts of the structures of winperf.h, taken from their description in ksy/ as those of [MS-PCQ] are (`struct_layouts`)."""

from __future__ import annotations

from analyzer.interfaces.buffers.struct_layouts import names, record, spans

# PERF_DATA_BLOCK, PERF_OBJECT_TYPE, PERF_COUNTER_DEFINITION, PERF_INSTANCE_DEFINITION, PERF_COUNTER_BLOCK.
WINPERF_HEADER = record(
    "winperf",
    *("total_byte_length", "header_length", "num_object_types", "default_object", "perf_time", "perf_freq"),
    *("perf_time_100ns", "system_name_length", "system_name_offset"),
)
WINPERF_WHOLE_HEADER = record("winperf")
WINPERF_HEADER_LENGTH = WINPERF_WHOLE_HEADER.size
WINPERF_TOTAL = spans("winperf", "total_byte_length")
WINPERF_CLOCKS = spans("winperf", "system_time", "perf_time", "perf_freq", "perf_time_100ns")
_WINPERF_OBJECT = ("winperf.perf_object", "winperf.object_body")
WINPERF_OBJECT = record(_WINPERF_OBJECT, *(name for name in names(_WINPERF_OBJECT) if not name.startswith("perf_")))
WINPERF_OBJECT_CLOCKS = record(_WINPERF_OBJECT, "perf_time", "perf_freq")
WINPERF_OBJECT_CLOCK_PLACES = spans(_WINPERF_OBJECT, "perf_time", "perf_freq")
WINPERF_WHOLE_OBJECT, WINPERF_OBJECT_FIELDS = record(_WINPERF_OBJECT), names(_WINPERF_OBJECT)
WINPERF_OBJECT_COUNTS = spans(_WINPERF_OBJECT, "total_byte_length", "num_instances")
WINPERF_OBJECT_LENGTH = WINPERF_WHOLE_OBJECT.size
WINPERF_DEFINITION, WINPERF_DEFINITION_FIELDS = (
    record("winperf.counter_definition"),
    names("winperf.counter_definition"),
)
_WINPERF_INSTANCE = ("winperf.instance", "winperf.instance_body")
WINPERF_INSTANCE, WINPERF_INSTANCE_FIELDS = record(_WINPERF_INSTANCE), names(_WINPERF_INSTANCE)
WINPERF_LENGTH = record("winperf.counter_block", "byte_length")
