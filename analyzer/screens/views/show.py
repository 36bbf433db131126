"""The views of `show`: one call, layer by layer, each value beside its bytes and frames, and with `--field` one field of it. A line
of a layer is one field, with offset, length, raw bytes, value, meaning and frames.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import UNSET, Struct

from analyzer.core.errors import InputError
from analyzer.core.frame_ids import frame_id
from analyzer.core.times import shown_time
from analyzer.interfaces.call_contents.call_records import call_record, place_extents
from analyzer.questions.audit.call_evidence import CallEvidence, Place
from analyzer.questions.audit.rule_verdicts import At
from analyzer.results.analysis import Analysis, CaptureFacts
from analyzer.results.calls.call import Call, PduRecord
from analyzer.results.captured_packets import Packets
from analyzer.results.field_tree_records import CarrierLayer, FieldNode, PlaceRecord, ShowRecord, SideLayers
from analyzer.results.records.display_records import CARRIERS, LayerBytes, Node, SideView
from analyzer.results.records.record_types import PlaceExtent
from analyzer.screens.viewmodel.call_layers import side_views, the_call
from analyzer.screens.views.text_report import call_lines, folded, frames_words, safe, styled
from analyzer.screens.views.view_type import OfCapture

_RAW_SHOWN, _RAW_SHOWN_NARROW = 16, 8
_WIDE = 132
_TEXT_SHOWN = 200


def tree_lines(layer: LayerBytes, facts: CaptureFacts | None, width: int | None, *, indent: int = 2) -> Iterator[str]:
    """Yields the lines of `show` for a layer: one for each field beside its bytes, then the readings that were chosen, then the
    damage, if any."""
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
    """Lists the frames of a field in a line of `show`, given by file and number: `frame 12`."""
    return frames_words(tuple(frame_id(file, number) for file, number in frames), facts)


class _Page(Struct, frozen=True):
    """The layout of the lines that `show` prints of a layer's fields. Frames stand beside each field if there are `facts` of their
    files."""

    layer: LayerBytes
    facts: CaptureFacts | None
    width: int | None
    indent: int
    raw_shown: int

    def lines(self, node: Node, depth: int) -> Iterator[str]:
        """Yields the line of `show` for a layer's field, folded if it is long."""
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
    """Describes a field in a line of `show`: `dwStatus = 4201 (ERROR_WMI_INSTANCE_NOT_FOUND)`. For a structure it is name and
    reference."""
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
    """Makes the records that `show` prints of a layer's field and the fields in it; `raw` is hexadecimal."""
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


# ----------------------------------------------------------------------------------------------------------- views of show


_ROW = 16
_HEX_LINES = 8


class Show(Struct, OfCapture, frozen=True):
    """The view of `show`: call `number` of an analysis, layer by layer. Raises `InputError` if there is no such call."""

    analysis: Analysis
    number: int

    def records(self) -> Iterator[ShowRecord]:
        call, facts = the_call(self.analysis, self.number), self.analysis.capture
        record = call_record(call, self.analysis)
        packets = self.analysis.packets
        layers = {side.name: _side_layers(side, facts, packets) for side in side_views(call, packets)}
        yield ShowRecord(**{name: getattr(record, name) for name in record.__struct_fields__}, layers=layers)

    def lines(self, width: int | None) -> Iterator[str]:
        call = the_call(self.analysis, self.number)
        yield from call_lines(self.number, call, self.analysis, width)
        yield from self._folded(
            f"  {shown_time(call.time_ns)}, interface {call.interface.uuid}, opnum {call.opnum}, "
            f"call id {call.call_id}, context {call.context_id}, {call.syntax}, state {call.state}",
            width,
        )
        if call.smb is not None:
            smb = call.smb
            protected = [word for word, is_so in (("encrypted", smb.encrypted), ("signed", smb.signed)) if is_so]
            pipe = call.pipe or "of unknown name"
            carrier = ", ".join([f"SMB {smb.dialect}", f"session {int(smb.session_id, 16):#x}", *protected])
            yield from self._folded(f"  {carrier}, pipe {pipe}", width)
        for side in side_views(call, self.analysis.packets):
            yield ""
            yield f"[bold]{side.name}[/]"
            if self.analysis.packets is not None:
                yield from _carrier_lines(side, self.analysis.capture, width)
            yield from _side_lines(call, side, self.analysis.capture, width)

    @staticmethod
    def _folded(line: str, width: int | None) -> Iterator[str]:
        yield from (safe(text) for text in folded(line, 4, width))


def _carrier_lines(side: SideView, facts: CaptureFacts, width: int | None) -> Iterator[str]:
    """Yields the lines of `show` for frames, TCP payload and SMB messages, or why there are none."""
    if side.lacking is not None:
        yield styled("yellow", f"  frames, TCP payload and SMB messages are not shown: {side.lacking}")
    for layer in side.layers:
        if layer.kind in CARRIERS and layer.tree is not None:
            steps = "".join(f", {step}" for step in layer.steps)
            yield f"  [bold]{safe(layer.title)}[/], {len(layer.data)} bytes{safe(steps)}"
            yield from tree_lines(layer, facts, width, indent=4)


def _side_lines(call: Call, side: SideView, facts: CaptureFacts, width: int | None) -> Iterator[str]:
    count = sum(layer.kind == "pdu" for layer in side.layers)
    pdus = iter(range(1, count + 1))
    for layer in side.layers:
        if layer.kind == "pdu":
            yield from _pdu_lines(layer, next(pdus), count, facts, width)
        elif layer.kind == "sealed":
            yield from _sealed_lines(layer)
    if side.problem is not None:
        yield styled("red", f"  the stub does not decode: {side.problem}")
    if side.missing is not None:
        yield styled("yellow", f"  stub: {side.missing}{'' if call.reason is None else f' ({call.reason})'}")
    for layer in side.layers:
        if layer.kind == "stub":
            yield f"  [bold]stub[/], {len(layer.data)} bytes"
            if layer.tree is not None:
                yield from tree_lines(layer, facts, width, indent=4)
            if layer.tree is None or side.problem is not None:
                yield from _hex_lines(layer.data)
        elif layer.kind == "buffer":
            kind = side.buffer_kind if side.buffer_kind is not None else "not of a kind this program knows"
            yield f"  [bold]lpData[/], {len(layer.data)} bytes of the stub, {kind}"
            if layer.tree is not None:
                yield from tree_lines(layer, facts, width, indent=4)


def _pdu_lines(layer: LayerBytes, number: int, count: int, facts: CaptureFacts, width: int | None) -> Iterator[str]:
    """Yields the line of `show` for a PDU: the frames that carried it, and the steps that opened it."""
    where = ", ".join(
        f"{placed_words(((run.file, run.frame),), facts)} bytes {run.start} to {run.start + run.length}"
        for run in layer.runs
    )
    steps = "".join(f", {step}" for step in layer.steps)
    line = f"  PDU {number} of {count}, {len(layer.data)} bytes: {where}{steps}"
    yield from (safe(text) for text in folded(line, 4, width))


def _sealed_lines(layer: LayerBytes) -> Iterator[str]:
    """Yields the lines of `show` for the encrypted part of a PDU, and what unsealed it."""
    span = f"bytes {layer.offset} to {layer.offset + len(layer.data)} of the PDU"
    if layer.undone_by:
        yield f"    sealed stub, {span}:"
        yield from _hex_lines(layer.data)
        yield f"    decrypted by {safe(', '.join(layer.undone_by))}"
    else:
        yield f"    stub {span}, {layer.problem}:"
        yield from _hex_lines(layer.data)


def _hex_lines(data: bytes) -> Iterator[str]:
    for at in range(0, min(len(data), _ROW * _HEX_LINES), _ROW):
        row = data[at : at + _ROW]
        text = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
        yield f"      {at:04x}  {row.hex(' '):<{3 * _ROW}} {safe(text)}"
    if len(data) > _ROW * _HEX_LINES:
        yield f"      … {len(data) - _ROW * _HEX_LINES} bytes more"


def _side_layers(side: SideView, facts: CaptureFacts, packets: Packets | None) -> SideLayers:
    """Makes the record of `show` for one side of a call."""
    stub, buffer = side.layer("stub"), side.layer("buffer")
    sealed = {layer.parent: layer for layer in side.layers if layer.kind == "sealed"}
    return SideLayers(
        pdus=tuple(_pdu_record(layer, sealed.get(layer.id), facts) for layer in side.layers if layer.kind == "pdu"),
        stub=field_record(stub.tree, stub, facts) if stub is not None and stub.tree is not None else None,
        buffer=field_record(buffer.tree, buffer, facts) if buffer is not None and buffer.tree is not None else None,
        carriers=UNSET
        if packets is None
        else tuple(
            CarrierLayer(layer.id, len(layer.data), layer.steps, field_record(layer.tree, layer, facts))
            for layer in side.layers
            if layer.kind in CARRIERS and layer.tree is not None
        ),
        carriers_missing=side.lacking if packets is not None and side.lacking is not None else UNSET,
    )


def _pdu_record(pdu: LayerBytes, sealed: LayerBytes | None, facts: CaptureFacts) -> PduRecord:
    return PduRecord(
        length=len(pdu.data),
        steps=pdu.steps,
        stub_start=pdu.stub_start,
        stub_stop=pdu.stub_stop,
        decrypted_by=sealed.undone_by if sealed is not None else (),
        extents=tuple(
            PlaceExtent(
                frames=(run.frame,),
                frame_files=(run.file,) if len(facts.files) > 1 else UNSET,
                start=run.start,
                length=run.length,
            )
            for run in pdu.runs
        ),
    )


# ----------------------------------------------------------------------------------------------------------- show place


_AROUND = 2 * _ROW


class ShowPlace(Struct, OfCapture, frozen=True):
    """The view of `show --field`: the place `path` (`response.lpData.perf_freq`, as findings name it) in call `number`. Raises
    `InputError` if there is no such call or place.

    A finding may name a field that the bytes do not reach. Then the place is what is around it, and `is_found` is false.
    """

    analysis: Analysis
    number: int
    path: str

    def _place(self) -> Place:
        call = CallEvidence(self.number, the_call(self.analysis, self.number))
        side, _, rest = self.path.partition(".")
        if side not in ("request", "response"):
            raise InputError(
                f"{self.path} is no field: the name of a field begins with request or response",
                hint="Such a name is response.lpData.perf_freq; `show --call N` lists the fields of a call.",
            )
        try:
            place = call.place(At("request" if side == "request" else "response", rest))
        except ValueError:
            place = None
        if place is None:
            raise InputError(f"call {self.number} has no {self.path}, or it was not captured or not opened")
        return place

    @property
    def is_found(self) -> bool:
        """Tells whether `show --field` found the named place itself: a field, a range of bytes, a PDU, a buffer or a whole stub."""
        return _is_named(self.path, self._place())

    def records(self) -> Iterator[PlaceRecord]:
        place = self._place()
        yield PlaceRecord(
            call=self.number,
            path=self.path,
            found=_is_named(self.path, place),
            part=place.part,
            bytes=(place.start, place.stop),
            raw=place.source.data[place.start : place.stop].hex(),
            value=place.field.value if place.field is not None else None,
            meaning=place.field.meaning if place.field is not None else None,
            steps=tuple(place.source.steps),
            extents=place_extents(place.extents, self.analysis.capture),
        )

    def lines(self, width: int | None) -> Iterator[str]:
        place = self._place()
        facts = self.analysis.capture
        yield from call_lines(self.number, the_call(self.analysis, self.number), self.analysis, width)
        yield ""
        title = self.path
        if not _is_named(self.path, place):
            title = _around(self.path, place)
            text = f"No field {self.path} was read. Around it is {title}:"
            yield from (styled("yellow", line) for line in folded(text, 4, width))
        span = f"bytes {place.start} to {place.stop} of the {place.part} ({len(place.source)} bytes)"
        yield from (safe(line) for line in folded(f"{title}: {span}", 4, width))
        if place.field is not None and place.field.value is not None:
            meaning = f" ({place.field.meaning})" if place.field.meaning is not None else ""
            yield from (
                safe(line) for line in folded(f"  {place.field.spelling} = {place.field.value}{meaning}", 4, width)
            )
        undone = f", {', '.join(place.source.steps)}" if place.source.steps else ""
        for extent in place.extents:
            where = f"  {frames_words((extent.frame,), facts)}, bytes {extent.start} to {extent.start + extent.length}{undone}"
            yield from (safe(line) for line in folded(where, 4, width))
        yield ""
        yield from _dump(place)


def _is_named(path: str, place: Place) -> bool:
    last = path.partition(".")[2].rpartition(".")[2]
    if place.field is not None:
        return last in (place.field.name, place.field.spelling)
    return place.pdu is not None or last in ("", "lpData") or last.startswith(("stub[", "lpData["))


def _around(path: str, place: Place) -> str:
    if place.field is not None:
        return place.field.spelling
    return "lpData" if path.partition(".")[2].startswith("lpData.") else f"the {place.part}"


def _dump(place: Place) -> Iterator[str]:
    """Yields hexadecimal rows around the place of `show --field`, its bytes in bold and between angle brackets."""
    first = max(0, place.start // _ROW * _ROW - _AROUND)
    last = min(len(place.source), place.start + 8 * _ROW, place.stop + _AROUND)
    data = place.source.data
    for at in range(first, last, _ROW):
        row = data[at : at + _ROW]
        cells = []
        for position, byte in enumerate(row, at):
            inside = place.start <= position < place.stop
            opens = position == max(place.start, at) and inside
            closes = inside and position == min(place.stop, at + len(row)) - 1
            text = f"[bold]{byte:02x}[/]" if inside else f"{byte:02x}"
            cells.append(("<" if opens else " ") + text + (">" if closes else ""))
        line = "".join(cells).replace("> ", ">")
        yield f"  {at:06x} {line}"
    if last < place.stop:
        yield f"  … {place.stop - last} bytes more of it"
