"""A buffer or stub beside its bytes: one line a field, with offset, length, raw bytes, value, meaning and frames."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from analyzer.buffers import Field, FieldMap
from analyzer.contents.lines import Record, frames_json
from analyzer.core.traced import TracedBytes
from analyzer.model.analysis import CaptureFacts
from analyzer.views.text import folded, frames_words, safe, styled

_RAW_SHOWN, _RAW_SHOWN_NARROW = 16, 8
_WIDE = 132
_TEXT_SHOWN = 200


def tree_lines(
    fields: FieldMap, source: TracedBytes, facts: CaptureFacts | None, width: int | None, *, indent: int = 2
) -> Iterator[str]:
    """The fields of `source` (the bytes the map was made from), then the readings chosen and the damage, if any."""
    page = _Page(source, facts, width, indent, _RAW_SHOWN if width is None or width >= _WIDE else _RAW_SHOWN_NARROW)
    where = (
        f"  {safe(f'(all in {frames_words(source.frames, facts)})')}" if facts is not None and page.in_one_frame else ""
    )
    yield f"{' ' * indent}[bold]{'offset':>8} {'length':>7}  {'bytes':<{3 * page.raw_shown}} field[/]{where}"
    yield from page.lines(fields.root, 0)
    for note in fields.notes:
        yield styled("cyan", f"{' ' * indent}note: {note}")
    if fields.problem is not None:
        yield styled("red", f"{' ' * indent}damaged: {fields.problem}")


class _Page(Struct, frozen=True):
    """How the fields of one piece of bytes are laid out. Frames stand beside each field where there are several."""

    source: TracedBytes
    facts: CaptureFacts | None
    width: int | None
    indent: int
    raw_shown: int

    @property
    def in_one_frame(self) -> bool:
        return len(self.source.frames) == 1

    def lines(self, field: Field, depth: int) -> Iterator[str]:
        raw = "" if field.children else _hex(field.raw, self.raw_shown)
        place = f"{' ' * self.indent}{field.start:8} {field.length:7}  {raw:<{3 * self.raw_shown}} "
        line = f"{place}{'  ' * depth}{_words(field)}"
        if not field.children and field.length and self.facts is not None and not self.in_one_frame:
            line += f"   [{frames_words(self.source[field.start : field.stop].frames, self.facts)}]"
        hanging = len(place) + 2 * depth + 2
        if self.width is not None and hanging > self.width - 20:
            hanging = 4
        yield from (safe(text) for text in folded(line, hanging, self.width))
        for child in field.children:
            yield from self.lines(child, depth + 1)


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


def _hex(raw: bytes, most: int) -> str:
    shown = raw[:most].hex(" ")
    return shown if len(raw) <= most else shown[:-3] + " …"


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
