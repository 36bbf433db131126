"""A buffer or stub beside its bytes: one line a field, with offset, length, raw bytes, value, meaning and frames."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.buffers import Field, FieldMap
from analyzer.core.traced import TracedBytes
from analyzer.model.analysis import CaptureFacts
from analyzer.model.records import Record, frames_json
from analyzer.report.text import folded, frames_words, safe, styled

_RAW_SHOWN = 16
_TEXT_SHOWN = 200


def tree_lines(
    fields: FieldMap, source: TracedBytes, facts: CaptureFacts | None, width: int | None, *, indent: int = 2
) -> Iterator[str]:
    """The fields of `source` (the bytes the map was made from), then the readings chosen and the damage, if any."""
    yield f"{' ' * indent}[bold]{'offset':>8} {'length':>7}  {'bytes':<{3 * _RAW_SHOWN}} field[/]"
    yield from _field_lines(fields.root, source, facts, width, indent, 0)
    for note in fields.notes:
        yield styled("cyan", f"{' ' * indent}note: {note}")
    if fields.problem is not None:
        yield styled("red", f"{' ' * indent}damaged: {fields.problem}")


def _field_lines(
    field: Field, source: TracedBytes, facts: CaptureFacts | None, width: int | None, indent: int, depth: int
) -> Iterator[str]:
    raw = "" if field.children else _hex(field.raw)
    line = f"{' ' * indent}{field.start:8} {field.length:7}  {raw:<{3 * _RAW_SHOWN}} {'  ' * depth}{_words(field)}"
    if not field.children and field.length and facts is not None:
        line += f"   [{frames_words(source[field.start : field.stop].frames, facts)}]"
    hanging = indent + 18 + 3 * _RAW_SHOWN + 1 + 2 * depth + 2
    yield from (safe(text) for text in folded(line, hanging if width is None or hanging < width - 20 else 4, width))
    for child in field.children:
        yield from _field_lines(child, source, facts, width, indent, depth + 1)


def _words(field: Field) -> str:
    """`dwStatus = 4201 (ERROR_WMI_INSTANCE_NOT_FOUND)`; a structure is its name and what it is."""
    name = field.spelling or field.name
    if field.children:
        return f"{name}: {field.doc_ref}" if field.doc_ref else f"{name}:"
    value = field.value
    if field.type == "bytes" and isinstance(value, str) and field.length > _RAW_SHOWN:
        return f"{name}: {field.length} bytes"
    if isinstance(value, str) and len(value) > _TEXT_SHOWN:
        value = f"{value[:_TEXT_SHOWN]}… ({field.length} bytes)"
    words = name if value is None else f"{name} = {value}"
    return f"{words} ({field.meaning})" if field.meaning is not None else words


def _hex(raw: bytes) -> str:
    shown = raw[:_RAW_SHOWN].hex(" ")
    return shown if len(raw) <= _RAW_SHOWN else shown[:-3] + " …"


def field_json(field: Field, source: TracedBytes, facts: CaptureFacts | None) -> Record:
    """The same as nested records; `raw` is hexadecimal."""
    out: Record = {
        "name": field.name,
        "spelling": field.spelling,
        "type": field.type,
        "offset": field.start,
        "length": field.length,
        "value": field.value,
        "meaning": field.meaning,
    }
    if facts is not None:
        out |= frames_json(source[field.start : field.stop].frames, facts)
    if field.children:
        out["children"] = [field_json(child, source, facts) for child in field.children]
    else:
        out["raw"] = field.raw.hex()
    return out
