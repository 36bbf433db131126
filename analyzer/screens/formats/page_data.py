"""The data of the page that `report` writes: the view model as blocks of JSON, most of them compressed (docs/report.md).

The page has no other source: what it shows is decoded here. A block is JSON, deflated (RFC 1951) and in base64, so that it is
text without a meaning in HTML. Integers beyond 2**53, which JavaScript's numbers do not hold, are `{"$int": "..."}`.
"""

from __future__ import annotations

import zlib
from base64 import b64encode
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from analyzer.core.output.json import document, dumps
from analyzer.interfaces.contents.lines import call_record, delta_before
from analyzer.results.analysis import Analysis
from analyzer.results.call import Call
from analyzer.results.view import CallView, Layer, Node, Row, SeriesView
from analyzer.screens.viewmodel.layers import call_view
from analyzer.screens.viewmodel.rows import rows

_SAFE_INTEGER = 2**53 - 1
# Most values are of these types.
_AS_IT_IS = frozenset({str, bool, float})
# Calls in a block: of records, which a filter reads one block after the other, and of details, which are read for one call.
HEADS_IN_BLOCK, DETAILS_IN_BLOCK = 500, 25
# The tree of a longer layer is left out; at 80 bytes a node, a browser would hold 100 MB for one call.
MAX_TREE_BYTES = 1 << 20

# How the columns of rows are named in the page, and the fields of `Row` that are texts.
_TEXTS = (
    "user",
    "claimed_user",
    "interface",
    "method",
    "handle",
    "asked",
    "answered",
    "status",
    "outcome",
    "state",
    "reason",
)

Block = tuple[str, bytes]


def packed(value: Any) -> bytes:
    """A block's text."""
    squeeze = zlib.compressobj(6, zlib.DEFLATED, -15)
    return b64encode(squeeze.compress(dumps(value)) + squeeze.flush())


def exact(value: Any) -> Any:
    """A value as JSON that JavaScript reads without a loss."""
    if value is None or type(value) in _AS_IT_IS:
        return value
    if isinstance(value, int):
        return value if -_SAFE_INTEGER <= value <= _SAFE_INTEGER else {"$int": str(value)}
    if isinstance(value, dict):
        return {key: exact(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [exact(item) for item in value]
    return exact(document(value)) if isinstance(value, Struct) else value


class _Texts:
    """Texts by number, each once."""

    def __init__(self) -> None:
        self.all: dict[str, int] = {}

    def number(self, text: str | None) -> int:
        return -1 if text is None else self.all.setdefault(text, len(self.all))


def rows_block(analysis: Analysis) -> dict[str, Any]:
    """The call list by columns: texts are positions in `texts`, -1 for none; times count from the first frame."""
    texts = _Texts()
    base = analysis.capture.first_time_ns or 0
    columns: dict[str, list[Any]] = {
        name: []
        for name in (
            "time",
            "client",
            "server",
            *_TEXTS,
            "latency",
            "frames",
            "opnum",
            "code",
            "fault",
            "full",
            "uuid",
            "name",
            "key",
        )
    }
    for row, call in zip(rows(analysis), analysis.calls, strict=True):
        _add(columns, row, call, base, texts)
    return {"base": str(base), "texts": list(texts.all), **columns}


def _add(columns: dict[str, list[Any]], row: Row, call: Call, base: int, texts: _Texts) -> None:
    columns["time"].append(row.time_ns - base)
    columns["client"].append(texts.number(str(row.client)))
    columns["server"].append(texts.number(str(row.server)))
    for name in _TEXTS:
        columns[name].append(texts.number(getattr(row, name)))
    columns["latency"].append(row.latency_ns)
    columns["frames"].append(", ".join(row.frames))
    # What filters ask about most often, as the record has it.
    columns["opnum"].append(call.opnum)
    columns["code"].append(call.status)
    columns["fault"].append(call.fault)
    columns["full"].append(texts.number(call.method))
    columns["uuid"].append(texts.number(call.interface.uuid))
    columns["name"].append(texts.number(call.interface.name))
    columns["key"].append(texts.number(call.handle_uuid))


def record_blocks(analysis: Analysis, numbers: Sequence[int]) -> Iterator[tuple[list[Any], list[Any]]]:
    """The records of calls, as `timeline` prints them, a block of them at a time: without their buffers, and the buffers alone."""
    for at in range(0, len(numbers), HEADS_IN_BLOCK):
        heads, buffers = [], []
        for number in numbers[at : at + HEADS_IN_BLOCK]:
            call = analysis.calls[number - 1]
            record = exact(call_record(call, analysis, time_delta_ns=delta_before(number, call, analysis)))
            sides = [record[side] for side in ("request", "response")]
            buffers.append([side.pop("buffer") if side is not None else None for side in sides])
            # The page asks whether a buffer is there without reading it.
            for side, buffer in zip(sides, buffers[-1], strict=True):
                if side is not None:
                    side["has_buffer"] = bool(buffer)
            heads.append(record)
        yield heads, buffers


def detail_blocks(analysis: Analysis, numbers: Sequence[int]) -> Iterator[dict[str, Any]]:
    """The layers of calls, a block of them at a time. Trees of one layout share their `shapes`, calls their `frames`."""
    for at in range(0, len(numbers), DETAILS_IN_BLOCK):
        shared = Shared()
        calls = [detail(call_view(analysis, number), shared) for number in numbers[at : at + DETAILS_IN_BLOCK]]
        yield {"shapes": shared.shapes, "frames": shared.frames, "calls": calls}


class Shared:
    """What calls of a block share: trees without their values, and frames in hexadecimal (by file and number), each once."""

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}
        self.shapes: list[Any] = []
        self.frames: dict[str, str] = {}

    def shape(self, tree: Node) -> int:
        """The number of the shape of a tree."""
        shape = _shape(tree)
        if (known := self._numbers.get(shape)) is None:
            known = self._numbers[shape] = len(self.shapes)
            self.shapes.append(shape)
        return known

    def has(self, layer: Layer) -> bool:
        """Whether the bytes of a layer are those of frames that are here."""
        return not layer.steps and all(
            f"{run.file}:{run.frame}" in self.frames and run.stop - run.at == run.length for run in layer.runs
        )


def _shape(node: Node) -> tuple[Any, ...]:
    children = tuple(map(_shape, node.children))
    return node.name, node.spelling, node.type, node.start, node.length, node.reference, children


def detail(view: CallView, shared: Shared) -> dict[str, Any]:
    """A call taken apart. Bytes are hexadecimal, and left out where they are those of the parent layer or of frames."""
    for side in view.sides:
        for layer in side.layers:
            if layer.kind == "frame":
                shared.frames[f"{layer.runs[0].file}:{layer.runs[0].frame}"] = layer.data.hex()
    return {
        "facts": [[fact.layer, fact.label, fact.text] for fact in view.facts],
        "sides": [
            {
                "name": side.name,
                "missing": side.missing,
                "kind": side.buffer_kind,
                "problem": side.problem,
                "lacking": side.lacking,
                "layers": [_layer(layer, shared) for layer in side.layers],
            }
            for side in view.sides
        ],
    }


def _layer(layer: Layer, shared: Shared) -> dict[str, Any]:
    out: dict[str, Any] = {
        "id": layer.id,
        "kind": layer.kind,
        "title": layer.title,
        "length": len(layer.data),
        "runs": [[run.at, run.stop, run.frame, run.file, run.start, run.length] for run in layer.runs],
        "steps": layer.steps,
        "undone": layer.undone_by,
        "parent": layer.parent,
        "offset": layer.offset,
        "notes": layer.notes,
        "problem": layer.problem,
    }
    if layer.parent is None and not shared.has(layer):
        out["hex"] = layer.data.hex()
    if layer.tree is not None and len(layer.data) <= MAX_TREE_BYTES:
        values: list[Any] = []
        meanings: list[Any] = []
        _collect(layer.tree, values, meanings)
        out |= {"shape": shared.shape(layer.tree), "values": values, "meanings": meanings}
    elif layer.tree is not None:
        out["notes"] = [*layer.notes, f"its fields are not in this page: it is longer than {MAX_TREE_BYTES} bytes"]
    return out


def _collect(node: Node, values: list[Any], meanings: list[Any]) -> None:
    """Values in the order of the tree; that of bytes is what their layer has there. Meanings with the position of their field."""
    if node.meaning is not None:
        meanings.append([len(values), node.meaning])
    values.append(None if node.type == "bytes" else exact(node.value))
    for child in node.children:
        _collect(child, values, meanings)


def series_block(series: Sequence[SeriesView], base: int) -> list[dict[str, Any]]:
    """Series; times count from the first frame."""
    return [exact(one) | {"times_ns": [time - base for time in one.times_ns]} for one in series]
