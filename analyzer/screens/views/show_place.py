"""The view of `show --field`: one field of a call, its value, the bytes around it, and the frames that carried it."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from analyzer.core.errors import InputError
from analyzer.interfaces.call_contents.timeline_records import place_extents
from analyzer.questions.audit.call_evidence import CallEvidence, Place
from analyzer.questions.audit.violation_places import At
from analyzer.results.analysis import Analysis
from analyzer.results.field_tree_records import PlaceRecord
from analyzer.screens.viewmodel.call_layers import the_call
from analyzer.screens.views.text_report import call_lines, folded, frames_words, safe, styled
from analyzer.screens.views.view_type import OfCapture

_ROW = 16
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
