"""`show`: one call taken apart, layer by layer, each value beside its bytes and the frames they came from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from msgspec import Struct

from analyzer.buffers import FieldMap, StubKind, map_fields
from analyzer.contents.lines import Record, buffer_order, call_record, frames_json, plain
from analyzer.core.absence import Missing
from analyzer.core.errors import InputError
from analyzer.core.times import iso_time
from analyzer.model.analysis import Analysis
from analyzer.model.call import Call, Side
from analyzer.model.pdus import Fragment
from analyzer.views.text import call_lines, folded, frames_words, safe, styled
from analyzer.views.tree import field_json, tree_lines
from analyzer.views.view import OfCapture
from analyzer.views.words import status_name

_HEX_WIDTH = 16
_HEX_LINES = 8


class Show(Struct, OfCapture, frozen=True):
    """Call `number` of an analysis. Raises `InputError` where there is no such call."""

    analysis: Analysis
    number: int

    def records(self) -> Iterator[Record]:
        call = the_call(self.analysis, self.number)
        yield plain(call_record(call, self.analysis)) | {
            "layers": {name: _side_json(call, name, side, self.analysis) for name, side in _sides(call)}
        }

    def lines(self, width: int | None) -> Iterator[str]:
        call = the_call(self.analysis, self.number)
        yield from call_lines(self.number, call, self.analysis, width)
        yield from self._folded(
            f"  {iso_time(call.time_ns)}, interface {call.interface.uuid}, opnum {call.opnum}, "
            f"call id {call.call_id}, context {call.context_id}, {call.syntax}, state {call.state}",
            width,
        )
        if call.smb is not None:
            smb = call.smb
            protected = [word for word, is_so in (("encrypted", smb.encrypted), ("signed", smb.signed)) if is_so]
            pipe = call.pipe or "of unknown name"
            carrier = ", ".join([f"SMB {smb.dialect}", f"session {int(smb.session_id, 16):#x}", *protected])
            yield from self._folded(f"  {carrier}, pipe {pipe}", width)
        for name, side in _sides(call):
            yield ""
            yield f"[bold]{name}[/]"
            yield from self._side_lines(call, name, side, width)

    @staticmethod
    def _folded(line: str, width: int | None) -> Iterator[str]:
        yield from (safe(text) for text in folded(line, 4, width))

    def _side_lines(
        self, call: Call, name: Literal["request", "response"], side: Side, width: int | None
    ) -> Iterator[str]:
        facts = self.analysis.capture
        fragments = side.pdus
        for number, fragment in enumerate(fragments, 1):
            yield from _fragment_lines(number, len(fragments), fragment, self.analysis, width)
        if side.problem is not None:
            yield styled("red", f"  the stub does not decode: {side.problem}")
        if isinstance(side.stub, Missing):
            yield styled("yellow", f"  stub: {side.stub.value}{'' if call.reason is None else f' ({call.reason})'}")
            return
        yield f"  [bold]stub[/], {len(side.stub)} bytes"
        fields = _stub_fields(call, name, side)
        if fields is None:
            yield from _hex_lines(side.stub.data)
        else:
            yield from tree_lines(fields, side.stub, facts, width, indent=4)
        if side.buffer is not None:
            yield f"  [bold]lpData[/], {len(side.buffer)} bytes of the stub" + (
                f", {side.buffer_kind}" if side.buffer_kind is not None else ", not of a kind this program knows"
            )
            if side.buffer_kind is not None:
                yield from tree_lines(_buffer_fields(side), side.buffer, facts, width, indent=4)


def the_call(analysis: Analysis, number: int) -> Call:
    """Call `number` of the timeline; raises `InputError` where there is none."""
    if not 1 <= number <= len(analysis.calls):
        raise InputError(
            f"there is no call {number}: the capture has {len(analysis.calls)} calls",
            hint="`timeline` prints the number of each call behind a #",
        )
    return analysis.calls[number - 1]


def _sides(call: Call) -> Iterator[tuple[Literal["request", "response"], Side]]:
    if call.request is not None:
        yield "request", call.request
    if call.response is not None:
        yield "response", call.response


def _fragment_lines(
    number: int, count: int, fragment: Fragment, analysis: Analysis, width: int | None
) -> Iterator[str]:
    """How a PDU was carried and what was undone to read it."""
    pdu = fragment.pdu
    where = ", ".join(
        f"{frames_words((extent.frame,), analysis.capture)} bytes {extent.start} to {extent.start + extent.length}"
        for extent in pdu.origin(0, len(pdu))
    )
    steps = "".join(f", {step}" for step in pdu.steps)
    line = f"  PDU {number} of {count}, {len(pdu)} bytes: {where}{steps}"
    yield from (safe(text) for text in folded(line, 4, width))
    sealed = pdu.data[fragment.stub_start : fragment.stub_stop]
    if isinstance(fragment.plain, Missing):
        yield f"    stub bytes {fragment.stub_start} to {fragment.stub_stop} of the PDU, {fragment.plain.value}:"
        yield from _hex_lines(sealed)
        return
    undone = [step for step in fragment.plain.steps if step not in pdu.steps]
    if undone:
        yield f"    sealed stub, bytes {fragment.stub_start} to {fragment.stub_stop} of the PDU:"
        yield from _hex_lines(sealed)
        yield f"    opened by {safe(', '.join(undone))}"


def _hex_lines(data: bytes) -> Iterator[str]:
    for at in range(0, min(len(data), _HEX_WIDTH * _HEX_LINES), _HEX_WIDTH):
        row = data[at : at + _HEX_WIDTH]
        text = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
        yield f"      {at:04x}  {row.hex(' '):<{3 * _HEX_WIDTH}} {safe(text)}"
    if len(data) > _HEX_WIDTH * _HEX_LINES:
        yield f"      … {len(data) - _HEX_WIDTH * _HEX_LINES} bytes more"


def _stub_fields(call: Call, name: Literal["request", "response"], side: Side) -> FieldMap | None:
    """The fields of a stub; None where its layout is not known."""
    if isinstance(side.stub, Missing) or not side.params or call.opnum is None or call.fault is not None:
        return None
    if call.is_perflib or call.is_winreg:
        kind = StubKind(
            "perflib-v2" if call.is_perflib else "winreg",
            call.opnum,
            name,
            call.syntax == "ndr64",
            side.big_endian,
        )
        try:
            return map_fields(kind, side.stub.data, status_name=status_name)
        except KeyError:
            return None
    return None


def _buffer_fields(side: Side) -> FieldMap:
    assert side.buffer is not None
    assert side.buffer_kind is not None
    return map_fields(side.buffer_kind, side.buffer.data, big_endian=buffer_order(side), status_name=status_name)


def _side_json(call: Call, name: Literal["request", "response"], side: Side, analysis: Analysis) -> Record:
    facts = analysis.capture
    out: Record = {
        "pdus": [
            {
                "length": len(fragment.pdu),
                "steps": list(fragment.pdu.steps),
                "stub_start": fragment.stub_start,
                "stub_stop": fragment.stub_stop,
                "opened_by": []
                if isinstance(fragment.plain, Missing)
                else [step for step in fragment.plain.steps if step not in fragment.pdu.steps],
                "extents": [
                    {**frames_json((extent.frame,), facts), "start": extent.start, "length": extent.length}
                    for extent in fragment.pdu.origin(0, len(fragment.pdu))
                ],
            }
            for fragment in side.pdus
        ]
    }
    stub: Any = None
    if not isinstance(side.stub, Missing) and (fields := _stub_fields(call, name, side)) is not None:
        stub = field_json(fields.root, side.stub, facts)
    out["stub"] = stub
    out["buffer"] = (
        field_json(_buffer_fields(side).root, side.buffer, facts)
        if side.buffer is not None and side.buffer_kind is not None
        else None
    )
    return out
