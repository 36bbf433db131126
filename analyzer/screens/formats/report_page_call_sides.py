"""Lays out sides of calls for the page of `report`: once what alike sides share, and what each has of its own.

Most sides of a capture repeat another call's with other values: the same layers, lengths, places and fields. Such sides share a
`Template`. For a further one, no layer and no tree is made: it is stated by its frame, the bytes that are in no frame, and the
meanings that follow from bytes.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any

from msgspec import Struct, field

from analyzer.core.absence import Missing
from analyzer.core.byte_origins import FrameExtent
from analyzer.core.frame_ids import frame_id
from analyzer.interfaces.call_contents.damaged_buffers import buffer_order
from analyzer.results.calls.call import Call, Side, SideName
from analyzer.results.calls.pdus import Pdus
from analyzer.results.captured_packets import Packets
from analyzer.results.records.display_records import Form, LayerBytes, Run, SideView
from analyzer.screens.viewmodel.call_layers import side_view, sides_of
from analyzer.screens.viewmodel.layer_fields import Forms, deciding_bytes

# Longer sides are taken apart one by one: their bytes cost more than their layers.
_MOST_BYTES = 1 << 14
# Templates are forgotten, all at once, when they hold about as much.
_MOST_HELD = 16 << 20
_OF_A_LAYER = 400
# The first bytes of a message (its protocol) decide on its layer, besides its fields.
_MAGIC = {"tcp": 8, "smb": 4}
# Where the bytes of a layer without a parent are: in the frames, or among the side's own bytes.
IN_FRAMES, OWN = -1, -2


class WordsOf(Struct, frozen=True):
    """A layer on the report page with fields whose meanings follow from their bytes: its form and its place."""

    form: Form
    start: int
    stop: int


class LaidLayer(Struct, frozen=True):
    """A layer on the report page: its outline, its form and its place.

    `place` has its length, where its bytes are (`IN_FRAMES`, `OWN`, else their offset in the layer it lies in), its runs, and its
    position in the template's `words`, -1 for none. A run is five numbers; its frame is a position among those of the side.
    """

    outline: tuple[Any, ...]
    form: Form | None
    place: tuple[int, int, tuple[int, ...], int]


class Template(Struct, frozen=True, eq=False, weakref=True):
    """A template of the report page: the outline and layers that alike sides of calls share.

    Places in `words` are those in `LaidSide.data`.
    """

    outline: tuple[Any, ...]
    layers: tuple[LaidLayer, ...]
    words: tuple[WordsOf, ...]


class LaidSide(Struct, frozen=True):
    """A call's side on the report page: its template, its frames by id with their bytes (if they are in the page), and its own
    bytes.

    `data` has all of these bytes one after the other, and then the layers that lie in several frames.
    """

    template: Template
    frames: tuple[tuple[int, bytes | None], ...]
    own: tuple[bytes, ...]
    data: bytes


class _AlikeSides(Struct):
    """Templates of call sides that the same bytes tell apart: those of `mask` within the first `stop` bytes."""

    mask: int
    stop: int
    templates: dict[int, Template] = field(default_factory=dict)


class _KnownSide(Struct, frozen=True):
    """A call's side on the report page before it is taken apart: what its template depends on besides bytes, its frame, and its own
    bytes."""

    key: Hashable
    frames: tuple[tuple[int, bytes | None], ...]
    own: tuple[bytes, ...]


class PageSides:
    """Lays out sides of calls for the report page, from these packets."""

    def __init__(self, packets: Packets | None) -> None:
        self._packets, self._forms = packets, Forms()
        self._known: dict[Hashable, list[_AlikeSides]] = {}
        self._held = 0

    def sides_of(self, call: Call) -> Iterator[LaidSide]:
        """Yields the captured sides of a call, laid out for the report page."""
        for name, side in sides_of(call):
            found = self._found(call, name, side)
            if found is None:
                yield _taken_apart(side_view(call, name, side, self._packets, self._forms))[0]
                continue
            data = b"".join([*[data for _, data in found.frames if data is not None], *found.own])
            for alike in self._known.get(found.key, ()):
                number = int.from_bytes(data[: alike.stop], "little") & alike.mask
                if (template := alike.templates.get(number)) is not None:
                    break
            else:
                view = side_view(call, name, side, self._packets, self._forms)
                laid, starts = _taken_apart(view)
                if laid.data == data and laid.own == found.own and laid.frames == found.frames:
                    self._remember(found.key, laid, _mask(view, starts, len(data)))
                yield laid
                continue
            yield LaidSide(template, found.frames, found.own, data)

    def _remember(self, key: Hashable, laid: LaidSide, deciding: bytes) -> None:
        cost = 3 * len(deciding) + _OF_A_LAYER * len(laid.template.layers)
        self._held += cost
        if self._held > _MOST_HELD:
            self._known.clear()
            self._held = cost
        mask, stop = int.from_bytes(deciding, "little"), len(deciding)
        known = self._known.setdefault(key, [])
        alike = next((one for one in known if one.mask == mask), None)
        if alike is None:
            known.append(alike := _AlikeSides(mask, stop))
        alike.templates[int.from_bytes(laid.data[:stop], "little") & mask] = laid.template

    def _found(self, call: Call, name: SideName, side: Side) -> _KnownSide | None:
        """Returns what is known of a call's side before it is taken apart. Returns None if it is not one PDU in one frame, or is
        long: then it needs no template."""
        pdus = side.pdus
        if not isinstance(pdus, Pdus) or len(pdus) != 1:
            return None
        whole, stub = pdus.whole, side.stub
        at = whole.source.only_extent(whole.start, whole.start + len(whole))
        if at is None:
            return None
        own: list[bytes] = []
        carried: tuple[Any, ...] = ()
        frames: tuple[tuple[int, bytes | None], ...] = ((at.frame, None),)
        if self._packets is None:
            own.append(whole.data)
        else:
            frame = self._packets.frame(at.frame)
            if frame is None or (carriers := self._carriers(at, own) if call.smb is not None else ()) is None:
                return None
            carried, frames = (frame.link_type, frame.original_length, *carriers), ((at.frame, frame.data),)
        length: int | None = None
        steps: tuple[str, ...] = ()
        if not isinstance(stub, Missing):
            length, steps = len(stub), stub.steps
            if steps or self._packets is None:
                own.append(stub.data)
        if sum(map(len, own)) + sum([len(data) for _, data in frames if data is not None]) > _MOST_BYTES:
            return None
        interface = call.interface.uuid
        key = (
            (name, interface, call.opnum, call.syntax, call.fault is not None, call.smb is not None, carried),
            (side.missing, side.buffer_kind, side.buffer_span, side.big_endian, buffer_order(side), side.problem),
            (at.start, at.length, pdus.bounds[0], pdus.bounds[1], pdus.step, pdus.plains, whole.steps, length, steps),
            tuple(map(len, own)),
            len(frames[0][1] or b""),
        )
        return _KnownSide(key, frames, tuple(own))

    def _carriers(self, pdu: FrameExtent, own: list[bytes]) -> tuple[Any, ...] | None:
        """Returns what the report page knows of the SMB messages that carried a PDU in one frame; adds decrypted messages to `own`.
        Returns None if they lie in other frames too."""
        assert self._packets is not None
        found: list[tuple[Any, ...]] = []
        for one in self._packets.messages((pdu,)):
            sent, message = one.sent, one.message
            at = sent.source.only_extent(sent.start, sent.start + len(sent))
            of = message.source.only_extent(message.start, message.start + len(message))
            if at is None or of is None or at.frame != pdu.frame or of.frame != pdu.frame or sent.steps:
                return None
            if message.steps:
                own.append(message.data)
            found.append((at.start, at.length, of.start, of.length, message.steps, one.reason))
        return tuple(found) or None


def _taken_apart(view: SideView) -> tuple[LaidSide, list[int]]:
    """Lays out the view of a call's side for the report page; returns also the place of each layer in `data`."""
    frames = {_id_of(layer.runs[0]): layer.data for layer in view.layers if layer.kind == "frame"}
    ids = tuple(dict.fromkeys([*frames, *(_id_of(run) for layer in view.layers for run in layer.runs)]))
    kinds = [
        layer.offset if layer.parent is not None else IN_FRAMES if _is_in(layer, frames) else OWN
        for layer in view.layers
    ]
    own = tuple([layer.data for layer, at in zip(view.layers, kinds, strict=True) if at == OWN])
    begins = dict(zip(frames, accumulate(map(len, frames.values()), initial=0), strict=False))
    # After these: the joined bytes of layers that lie in several frames.
    parts = [*frames.values(), *own]
    reached_own, reached = sum(map(len, frames.values())), sum(map(len, parts))
    starts: dict[str, int] = {}
    for layer, at in zip(view.layers, kinds, strict=True):
        if at == OWN:
            starts[layer.id] = reached_own
            reached_own += len(layer.data)
        elif at != IN_FRAMES:
            assert layer.parent is not None
            starts[layer.id] = starts[layer.parent] + at
        elif len(layer.runs) == 1:
            starts[layer.id] = begins[_id_of(layer.runs[0])] + layer.runs[0].start
        else:
            starts[layer.id] = reached
            reached += len(layer.data)
            parts.append(layer.data)
    places = {frame: place for place, frame in enumerate(ids)}
    layers: list[LaidLayer] = []
    words: list[WordsOf] = []
    for layer, at in zip(view.layers, kinds, strict=True):
        form, start, length = layer.form, starts[layer.id], len(layer.data)
        runs = tuple(_numbers(layer.runs, places))
        has_words = form is not None and bool(form.spots)
        layers.append(LaidLayer(_outline(layer), form, (length, at, runs, len(words) if has_words else -1)))
        if form is not None and has_words:
            words.append(WordsOf(form, start, start + length))
    outline = view.name, view.missing, view.buffer_kind, view.problem, view.lacking
    template = Template(outline, tuple(layers), tuple(words))
    laid = LaidSide(template, tuple([(frame, frames.get(frame)) for frame in ids]), own, b"".join(parts))
    return laid, list(starts.values())


def _is_in(layer: LayerBytes, frames: Mapping[int, bytes]) -> bool:
    """Tells whether the bytes of a layer that is laid out are in frames that the report page holds."""
    return layer.kind == "frame" or (
        not layer.steps and all(_id_of(run) in frames and run.stop - run.at == run.length for run in layer.runs)
    )


def _id_of(run: Run) -> int:
    return frame_id(run.file, run.frame)


def _outline(layer: LayerBytes) -> tuple[Any, ...]:
    """Returns the outline of a layer on the report page: id, kind, title and so on. A frame's number is that of its run."""
    title = "Frame" if layer.kind == "frame" else layer.title
    return layer.id, layer.kind, title, layer.steps, layer.undone_by, layer.parent, layer.notes, layer.problem


def _numbers(runs: Sequence[Run], places: Mapping[int, int]) -> Iterator[int]:
    for run in runs:
        yield from (run.at, run.stop, places[_id_of(run)], run.start, run.length)


def _mask(view: SideView, starts: Sequence[int], length: int) -> bytes:
    """Returns a mask of the bytes of a call's side that decide on its template."""
    mask = 0
    for layer, start in zip(view.layers, starts, strict=True):
        if layer.kind == "sealed":
            continue
        # If a layer is damaged or has no fields, all of its bytes decide.
        deciding = b"\xff" * len(layer.data)
        if layer.form is not None and layer.form.problem is None:
            deciding = deciding_bytes(layer.form, len(layer.data))
        first = b"\xff" * min(_MAGIC.get(layer.kind, 0), len(layer.data))
        mask |= (int.from_bytes(deciding, "little") | int.from_bytes(first, "little")) << 8 * start
    return mask.to_bytes(length, "little").rstrip(b"\0")
