"""Layouts of Windows event trace logs and of their packet events, taken from the Kaitai descriptions in ksy/captures."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import orjson

from analyzer.core.ksy_layouts import Layouts

_SPECS: dict[str, Any] = orjson.loads((Path(__file__).parent / "_generated" / "specs.json").read_bytes())
_LAYOUTS: Final = Layouts(_SPECS)
_EVENT = "etl.event"


def _enum(spec: str, name: str) -> dict[str, int]:
    """Returns the numbers of a value table of the etl layouts, by name."""
    return {entry["id"]: int(number, 0) for number, entry in _SPECS[spec]["enums"][name].items()}


BUFFER_HEADER = _LAYOUTS.record(
    "etl.buffer_header",
    *("buffer_size", "current_offset", "processor_index", "offset", "buffer_flag", "buffer_type"),
)
BUFFER_HEADER_LEN = _LAYOUTS.record("etl.buffer_header").size
# The first three numbers of an event: a length or a version; the kind of header with its mark; another number.
EVENT_START = _LAYOUTS.record(_EVENT)
HEADER_TYPES = _enum("etl", "header_types")
BUFFER_FLAGS = _enum("etl", "buffer_flags")
CLOCK_TYPES = _enum("etl", "clock_types")
# An event of the kernel, and where the time of each kind of event stands.
SYSTEM_EVENT = _LAYOUTS.record((_EVENT, "etl.system_event"), "second", "hook_type", "hook_group", "time_stamp")
SYSTEM_EVENT_LEN = _LAYOUTS.record((_EVENT, "etl.system_event")).size
_BODIES = {
    "system_event": ("system32", "system64"),
    "compact_event": ("compact32", "compact64"),
    "perfinfo_event": ("perfinfo32", "perfinfo64"),
    "classic_event": ("full32", "full64"),
    "instance_event": ("instance32", "instance64"),
    "manifest_event": ("event32", "event64"),
}
TIME_AT = {
    HEADER_TYPES[kind]: _LAYOUTS.spans((_EVENT, f"etl.{body}"), "time_stamp")[0][0]
    for body, kinds in _BODIES.items()
    for kind in kinds
}
# Kinds whose length is their second number.
LATE_LENGTH = frozenset(
    HEADER_TYPES[kind] for body in ("system_event", "compact_event", "perfinfo_event") for kind in _BODIES[body]
)
MANIFEST_KINDS = tuple(HEADER_TYPES[kind] for kind in _BODIES["manifest_event"])
SYSTEM_KINDS = tuple(HEADER_TYPES[kind] for kind in _BODIES["system_event"])
MANIFEST_EVENT = _LAYOUTS.columns((_EVENT, "etl.manifest_event"))
MANIFEST_EVENT_LEN = MANIFEST_EVENT.itemsize
EXTENDED_ITEM = _LAYOUTS.record("etl.extended_item")
LOG_FILE_HEADER = _LAYOUTS.record(
    "etl.log_file_header",
    *("buffer_size", "provider_version", "num_processors", "end_time", "log_file_mode"),
    *("pointer_size", "events_lost", "cpu_speed_mhz"),
)
LOG_FILE_HEADER_LEN = _LAYOUTS.record("etl.log_file_header").size
_CLOCK_FIELDS = ("boot_time", "perf_freq", "start_time", "clock_type", "buffers_lost")
LOG_FILE_CLOCKS = {
    4: _LAYOUTS.record("etl.log_file_clock32", *_CLOCK_FIELDS),
    8: _LAYOUTS.record("etl.log_file_clock64", *_CLOCK_FIELDS),
}
COMPUTER_NAME_AT, COMPUTER_NAME_LEN = _LAYOUTS.spans("etl.system_config_cpu", "computer_name")[0]

NDIS_FRAGMENT = _LAYOUTS.columns("etl_packets.ndis_fragment")
PKTMON_PACKET = _LAYOUTS.columns("etl_packets.pktmon_packet")
SWITCH_SOURCE = _LAYOUTS.record("etl_packets.switch_source")
SWITCH_DESTINATION = _LAYOUTS.record("etl_packets.switch_destination")
SIZED = _LAYOUTS.record("etl_packets.ras_packet")
PKTMON_COMPONENT = _LAYOUTS.record("etl_packets.pktmon_component")
PACKET_TYPES = _enum("etl_packets", "packet_types")
DIRECTION_TAGS = _enum("etl_packets", "direction_tags")
KEYWORDS = _enum("etl_packets", "keywords")
