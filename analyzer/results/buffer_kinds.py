"""The kinds of buffers: the layouts of `lpData` and of values read from performance keys, each described by a file in `ksy/`."""

from typing import Literal

BufferKind = Literal[
    "guids",
    "counterset-info",
    "counter-info",
    "string",
    "string-table",
    "guid",
    "instances",
    "identifiers",
    "perf-data",
    "winperf",
    "name-table",
]
