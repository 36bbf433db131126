"""Makes text lines of a layer beside its bytes: one line a field, with offset, length, raw bytes, value, meaning and frames."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import UNSET, Struct

from analyzer.core.frame_ids import frame_id
from analyzer.results.analysis import CaptureFacts
from analyzer.results.field_tree_records import FieldNode
from analyzer.results.records.display_records import LayerBytes, Node
from analyzer.screens.views.text_report import folded, frames_words, safe, styled

_RAW_SHOWN, _RAW_SHOWN_NARROW = 16, 8
_WIDE = 132
_TEXT_SHOWN = 200


def tree_lines(layer: LayerBytes, facts: CaptureFacts | None, width: int | None, *, indent: int = 2) -> Iterator[str]:
    """Yields one line for each field of a layer beside its bytes, then the readings that were chosen, then the damage, if any."""
    assert layer.tree is not None
    frames = layer.frames
    raw_shown = _RAW_SHOWN if width is None or width >= _WIDE else _RAW_SHOWN_NARROW
    page = _Page(layer, facts if len(frames) != 1 else None, width, indent, raw_shown)
    where = f"  {safe(f'(all in {placed_words(frames, facts)})')}" if facts is not None and len(frames) == 1 else ""
    yield f"{' ' * indent}[bold]{'offset':>8} {'length':>7}  {'bytes':<{3 * page.raw_shown}} field[/]{where}"
    left = [(layer.tree, 0)]
    while left:
        node, depth = left.pop()
        yield from page.lines(node, depth)
        left.extend((child, depth + 1) for child in reversed(node.children))
    for note in layer.notes:
        yield styled("cyan", f"{' ' * indent}note: {note}")
    if layer.problem is not None:
        yield styled("red", f"{' ' * indent}damaged: {layer.problem}")


def placed_words(frames: tuple[tuple[int, int], ...], facts: CaptureFacts) -> str:
    """Lists the frames of a field, given by file and number: `frame 12`."""
    return frames_words(tuple(frame_id(file, number) for file, number in frames), facts)


class _Page(Struct, frozen=True):
    """The layout of a layer's field lines. Frames stand beside each field if there are `facts` of their files."""

    layer: LayerBytes
    facts: CaptureFacts | None
    width: int | None
    indent: int
    raw_shown: int

    def lines(self, node: Node, depth: int) -> Iterator[str]:
        """Yields the line of a layer's field, folded if it is long."""
        raw = "" if node.children else _hex(self.layer.data[node.start : node.stop], self.raw_shown)
        place = f"{' ' * self.indent}{node.start:8} {node.length:7}  {raw:<{3 * self.raw_shown}} "
        line = f"{place}{'  ' * depth}{node_words(node)}"
        if not node.children and node.length and self.facts is not None:
            line += f"   [{placed_words(self.layer.frames_at(node.start, node.stop), self.facts)}]"
        hanging = len(place) + 2 * depth + 2
        if self.width is not None and hanging > self.width - 20:
            hanging = 4
        return map(safe, folded(line, hanging, self.width))


def node_words(node: Node) -> str:
    """Describes a field: `dwStatus = 4201 (ERROR_WMI_INSTANCE_NOT_FOUND)`. For a structure it is name and reference."""
    name = node.spelling or node.name
    if node.children:
        return f"{name}: {node.reference}" if node.reference else f"{name}:"
    value = node.value
    if node.type == "bytes" and isinstance(value, str) and node.length > _RAW_SHOWN:
        return f"{name}: {node.length} bytes"
    if isinstance(value, str) and len(value) > _TEXT_SHOWN:
        value = f"{value[:_TEXT_SHOWN]}… ({node.length} bytes)"
    words = name if value is None else f"{name} = {value}"
    return f"{words} ({node.meaning})" if node.meaning is not None else words


def _hex(raw: bytes, most: int) -> str:
    shown = raw[:most].hex(" ")
    return shown if len(raw) <= most else shown[:-3] + " …"


def field_record(node: Node, layer: LayerBytes, facts: CaptureFacts) -> FieldNode:
    """Makes nested records of a layer's field and the fields in it; `raw` is hexadecimal."""
    frames = layer.frames_at(node.start, node.stop)
    return FieldNode(
        name=node.name,
        spelling=node.spelling,
        type=node.type,
        offset=node.start,
        length=node.length,
        value=node.value,
        meaning=node.meaning,
        frames=tuple(number for _, number in frames),
        frame_files=tuple(file for file, _ in frames) if len(facts.files) > 1 else UNSET,
        children=tuple(field_record(child, layer, facts) for child in node.children) or UNSET,
        raw=UNSET if node.children else layer.data[node.start : node.stop].hex(),
    )
