"""Writes exported entries as JSON Lines for Timesketch, which demands `message`, `datetime` and `timestamp_desc` in each line.

The other keys are flat, as Timesketch searches them; `timestamp` counts microseconds, `data_type` is named as plaso does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from analyzer.core.output.json import line as json_line
from analyzer.core.times import iso_time
from analyzer.screens.views.exported_entries import Entry

Document = dict[str, Any]
# The kind of a time, in plaso's words if it has some.
_START, _END, _RECORDED = "Start Time", "End Time", "Recorded Time"


def timesketch_lines(entries: Iterable[Entry]) -> Iterator[bytes]:
    """Yields one JSON line for Timesketch for each exported entry; for a session one for its beginning and one for its end."""
    for entry in entries:
        if entry.kind == "session" and entry.end_ns is not None and entry.end_ns > entry.time_ns:
            yield _line(entry, entry.time_ns, _START)
            yield _line(entry, entry.end_ns, _END)
        else:
            yield _line(entry, entry.time_ns, _START if entry.kind == "session" else _RECORDED)


def _line(entry: Entry, time_ns: int, what: str) -> bytes:
    line: Document = {
        "message": entry.message,
        "datetime": iso_time(time_ns // 1000 * 1000).removesuffix("000Z") + "+00:00",
        "timestamp": time_ns // 1000,
        "timestamp_desc": what,
        "data_type": f"pcq:{entry.kind}",
        "source_file": ", ".join(entry.files),
        "outcome": entry.ending,
    }
    for name, end in (("src", entry.client), ("dst", entry.server)):
        if end is not None:
            line |= {f"{name}_ip": end.ip, f"{name}_port": end.port}
    if entry.user is not None:
        line["user"] = entry.user
    for name, value in _flat(entry.record):
        line.setdefault(name, value)
    return json_line(line)


def _flat(record: Document, before: str = "") -> Iterator[tuple[str, Any]]:
    """Flattens a record for Timesketch: yields keys and values, with an object's name before its keys. Leaves out unknown
    values."""
    for name, value in record.items():
        if not before and name in _OTHERWISE:
            continue
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{name}_")
        elif value is not None:
            yield f"{before}{name}", value


# Keys of the record that other keys already have; `tag` is Timesketch's own.
_OTHERWISE = frozenset(("record", "message", "time", "time_ns", "client", "server", "tag"))
