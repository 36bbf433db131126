"""Lays out sides of calls, layer by layer, for the page of `report`: once what alike sides share, and what each has of its own.

Most sides of a capture repeat another call's with other values: the same layers, lengths, places and fields. Such sides share a
`Template`. For a further one, no layer and no tree is made: it is stated by its frame, the bytes that are in no frame, and the
meanings that follow from bytes. The page has the sides in blocks of some calls, and what they share in others.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from msgspec import Struct, field

from analyzer.core.absence import Missing
from analyzer.core.byte_origins import FrameExtent
from analyzer.core.frame_ids import file_of, frame_id, number_of
from analyzer.core.output.json import dumps
from analyzer.core.output.standard_json import document
from analyzer.interfaces.call_contents.damaged_buffers import buffer_order
from analyzer.results.analysis import Analysis
from analyzer.results.calls.call import Call, Side, SideName
from analyzer.results.calls.pdus import Pdus
from analyzer.results.captured_packets import Packets
from analyzer.results.records.display_records import Form, LayerBytes, Node, Run, SideView
from analyzer.screens.viewmodel.call_layers import frame_facts, id_fact, shared_facts, side_view, sides_of
from analyzer.screens.viewmodel.layer_fields import Forms, deciding_bytes

# ------------------------------------------------------------------------------------------------------------- alike sides


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


# -------------------------------------------------------------------------------------------------------- blocks of layers


SAFE_INTEGER = 2**53 - 1
# Most values are of these types.
_AS_IT_IS = frozenset({str, bool, float})
# Calls in a block of layers, which is read for one call.
DETAILS_IN_BLOCK = 50
# Blocks of details share at most this much, since a browser reads all of it for one call; then a new share begins.
MAX_SHARED_BYTES = 1 << 20
# Such a block has the layers of calls that carry this many bytes at most: sealed ones are in it four times.
MAX_CARRIED_BYTES = 4 << 20
_OF_AN_OUTLINE, _OF_A_TEMPLATE = 200, 40


def exact(value: Any) -> Any:
    """Converts values of the report page's data, also those in sides of calls, to JSON values that JavaScript reads without
    loss."""
    if value is None or type(value) in _AS_IT_IS:
        return value
    if isinstance(value, int):
        return value if -SAFE_INTEGER <= value <= SAFE_INTEGER else {"$int": str(value)}
    if isinstance(value, dict):
        return {key: exact(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [exact(item) for item in value]
    return exact(document(value)) if isinstance(value, Struct) else value


class DetailBlock(Struct, frozen=True):
    """A block of the report page with the layers of some calls, and what they share with other blocks.

    `frames` has four numbers for each frame: file, number, place in the data (-1: not there), length. `data` has the bytes of the
    frames, and those that are in no frame, one after the other.
    """

    shared: Shared
    frames: list[int]
    calls: list[Any]
    data: bytes

    @property
    def content(self) -> tuple[bytes, ...]:
        """Returns the content of a block with sides of calls, before it is packed for the report page: its JSON with the length
        before it, its bytes."""
        head = dumps({"shared": self.shared.number, "frames": self.frames, "calls": self.calls})
        return len(head).to_bytes(4, "little"), head, self.data


def calls_with_layers(analysis: Analysis, most: int) -> list[int | None]:
    """Returns the numbers of the first `most` calls whose sides the report page has layer by layer, with None in place of a call
    without layers. What such a call carries does not fit in its block, which a browser reads whole for each of its calls."""
    # As read and as sent: one of them may be missing.
    requests, responses = (
        np.maximum(
            *(analysis.calls.column(f"{side}_{name}_length")[:most].astype(np.int64) for name in ("stub", "wire"))
        )
        for side in ("request", "response")
    )
    found: list[int | None] = []
    left = 0
    for at, length in enumerate((requests + responses).tolist()):
        if at % DETAILS_IN_BLOCK == 0:
            left = MAX_CARRIED_BYTES
        fits = length <= left
        found.append(at + 1 if fits else None)
        left -= length if fits else 0
    return found


def detail_blocks(analysis: Analysis, numbers: Sequence[int | None]) -> Iterator[DetailBlock]:
    """Yields the sides of calls for the report page, layer by layer, in blocks (None: a call without). Their `shared` is complete
    once a block has another one."""
    sides, shapes = PageSides(analysis.packets), Shapes()
    shared = Shared(0, shapes)
    for at in range(0, len(numbers), DETAILS_IN_BLOCK):
        if shared.size > MAX_SHARED_BYTES:
            shared = Shared(shared.number + 1, shapes)
        made = _Block(shared, sides)
        some = numbers[at : at + DETAILS_IN_BLOCK]
        calls = [made.call(analysis.calls[one - 1], analysis) if one is not None else None for one in some]
        yield DetailBlock(shared, made.frames, calls, b"".join(made.data))


# The JSON of the tree of each form. It keeps no form alive that is forgotten elsewhere.
Shapes = WeakKeyDictionary[Form, bytes]


class Shared:
    """Numbers what calls on the report page share: texts, forms of trees, and outlines of facts, sides, layers, meanings."""

    def __init__(self, number: int, shapes: Shapes) -> None:
        self.number, self._shapes = number, shapes
        self.size = 0
        self._numbers: dict[Any, int] = {}
        self._texts: dict[str, int] = {}
        # The outline and the numbers of texts of facts that calls share, by a key of what they have in common.
        self._facts: dict[Hashable, tuple[int, list[int], list[int]]] = {}
        # Long sides have a template of their own each, which is not kept for them.
        self._templates: WeakKeyDictionary[Template, int] = WeakKeyDictionary()
        self._words: dict[tuple[Form, Hashable], int] = {}
        self._numbers_of_texts: dict[tuple[Form, int, bytes], int] = {}
        self._form_numbers: WeakKeyDictionary[Form, int] = WeakKeyDictionary()
        self._forms: list[bytes] = []
        self._outlines: list[Any] = []

    @property
    def content(self) -> tuple[bytes, ...]:
        """Returns the content of the block that sides of calls on the report page share, before it is packed."""
        head = dumps({"texts": list(self._texts), "outlines": self._outlines})
        return head[:-1], b',"forms":[', b",".join(self._forms), b"]}"

    def facts(self, call: Call, analysis: Analysis) -> list[Any]:
        """Returns the facts that stand beside the sides of a call on the report page: the number of their outline, then each text
        or its number."""
        own = tuple(frame_facts(call, analysis))
        key = (*analysis.calls.shared_values(call.number), *[fact.label for fact in own])
        id = id_fact(call)
        if (known := self._facts.get(key)) is None:
            before, after = shared_facts(call)
            outline = tuple([(fact.layer, fact.label) for fact in (*own, *before, id, *after)])
            texts = [self._text(fact.text) for fact in before], [self._text(fact.text) for fact in after]
            known = self._facts[key] = self.outline(outline), *texts
        number, texts_before, texts_after = known
        return [number, *[fact.text for fact in own], *texts_before, id.text, *texts_after]

    def side(self, template: Template) -> int:
        """Returns the number of a template of call sides on the report page."""
        if (known := self._templates.get(template)) is None:
            layers = [
                (self.outline(layer.outline), -1 if layer.form is None else self._form(layer.form), *layer.place)
                for layer in template.layers
            ]
            known = self._templates[template] = self.outline((self.outline(template.outline), tuple(layers)))
            self.size += _OF_A_TEMPLATE * len(layers)
        return known

    def words(self, of: WordsOf, data: bytes) -> int:
        """Returns the number of the meanings in a side of a call on the report page that follow from a layer's bytes: position and
        text of each."""
        layer = data[of.start : of.stop]
        key = of.form, of.form.bytes_that_tell(layer)
        if (known := self._words.get(key)) is None:
            known = self._words[key] = self.outline(tuple(self._meanings(of.form, layer)))
        return known

    def _meanings(self, form: Form, data: bytes) -> Iterator[int]:
        for spot in form.telling:
            # Most are addresses and names of values, the same again and again.
            spotted = form, spot.position, data[spot.start : spot.stop]
            if (number := self._numbers_of_texts.get(spotted)) is None:
                meaning = spot.meaning(data)
                number = self._numbers_of_texts[spotted] = -1 if meaning is None else self._text(meaning)
            if number >= 0:
                yield from (spot.position, number)

    def _text(self, text: str) -> int:
        """Returns the number of a text that sides of calls on the report page share."""
        before = len(self._texts)
        number = self._texts.setdefault(text, before)
        if number == before:
            self.size += len(text)
        return number

    def outline(self, outline: tuple[Any, ...]) -> int:
        """Returns the number of an outline that facts, sides of calls, layers or meanings on the report page share."""
        if (known := self._numbers.get(outline)) is None:
            known = self._numbers[outline] = len(self._outlines)
            self._outlines.append(outline)
            self.size += _OF_AN_OUTLINE
        return known

    def _form(self, form: Form) -> int:
        """Returns the number of a layer's form that sides of calls on the report page share."""
        if (known := self._form_numbers.get(form)) is None:
            known = self._form_numbers[form] = len(self._forms)
            if (shape := self._shapes.get(form)) is None:
                shape = self._shapes[form] = dumps(_shape(form.tree))
            self._forms.append(shape)
            self.size += len(shape)
        return known


def _shape(node: Node) -> list[Any]:
    """Returns a field in the form of a layer for sides of calls on the report page, without a value or meaning that the page reads
    from the bytes."""
    follows = node.words is not None and bool(node.reads or node.children)
    return [
        node.name,
        node.spelling,
        node.type,
        node.start,
        node.length,
        node.reference,
        node.reads,
        None if node.reads or node.type == "bytes" else exact(node.value),
        None if follows else node.meaning,
        [_shape(child) for child in node.children],
    ]


class _Block:
    """Gathers the calls, frames and bytes of one block of details for the report page."""

    def __init__(self, shared: Shared, sides: PageSides) -> None:
        self._shared, self._sides = shared, sides
        self.frames: list[int] = []
        self.data: list[bytes] = []
        self._known: dict[int, int] = {}
        self._at = 0

    def call(self, call: Call, analysis: Analysis) -> list[Any]:
        """Returns one call for a block of the report page: its facts, then its sides."""
        return [self._shared.facts(call, analysis), *[self._side(side) for side in self._sides.sides_of(call)]]

    def _side(self, side: LaidSide) -> list[Any]:
        """Returns a call's side for a block of the report page: template, frames, places of its own bytes in the data, and meanings
        by layer."""
        shared, data = self._shared, side.data
        return [
            shared.side(side.template),
            [self._frame(frame, captured) for frame, captured in side.frames],
            [self._put(one) for one in side.own],
            [shared.words(one, data) for one in side.template.words],
        ]

    def _frame(self, frame: int, data: bytes | None) -> int:
        """Returns the position of a frame that carried sides of calls in their block of the report page. A frame without bytes has
        no place in the data."""
        if (known := self._known.get(frame)) is None or (data is not None and self.frames[4 * known + 2] < 0):
            known = self._known[frame] = len(self.frames) // 4
            place, length = (-1, 0) if data is None else (self._put(data), len(data))
            self.frames += (file_of(frame), number_of(frame), place, length)
        return known

    def _put(self, data: bytes) -> int:
        place = self._at
        self.data.append(data)
        self._at += len(data)
        return place
