"""The data of the page that `report` writes: the view model as blocks of JSON, most of them compressed (docs/report.md).

The page has no other source: what it shows is decoded here, but for the values of fields that a form says how to read. A block is
JSON, deflated (RFC 1951) and in base64, so that it is text without a meaning in HTML; those of details have bytes behind it.
Integers beyond 2**53, which JavaScript's numbers do not hold, are `{"$int": "..."}`.
"""

from __future__ import annotations

import re
import zlib
from base64 import b64encode
from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import chain, zip_longest
from typing import Any
from weakref import WeakKeyDictionary

from msgspec import Raw, Struct
from msgspec.structs import replace

from analyzer.core.output.json import Pieces, document, dumps
from analyzer.interfaces.contents.call_records import CallRecords
from analyzer.results.analysis import Analysis
from analyzer.results.call import Call
from analyzer.results.view import Fact, Form, Layer, Node, Row, SeriesView, SideView
from analyzer.screens.viewmodel.forms import Forms
from analyzer.screens.viewmodel.layers import frame_facts, id_fact, shared_facts, side_views
from analyzer.screens.viewmodel.rows import rows
from analyzer.screens.views.report import Report

_SAFE_INTEGER = 2**53 - 1
# Most values are of these types.
_AS_IT_IS = frozenset({str, bool, float})
# Calls in a block: of records, which a filter reads one block after the other, and of details, which are read for one call.
HEADS_IN_BLOCK, DETAILS_IN_BLOCK = 500, 50
# What blocks of details share begins anew where it is longer, which a browser reads for one call.
MAX_SHARED_BYTES = 1 << 20
_OF_AN_OUTLINE = 200

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

# Layer and label of some facts, and the numbers of their texts.
_Labelled = tuple[tuple[tuple[str, str], ...], list[int]]


def packed(parts: Iterable[bytes]) -> bytes:
    """A block's text; its content comes in parts."""
    # Level 6 takes twice the time for a twentieth less: most bytes are those of frames.
    squeeze = zlib.compressobj(4, zlib.DEFLATED, -15)
    return b64encode(b"".join([*map(squeeze.compress, parts), squeeze.flush()]))


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


def record_blocks(analysis: Analysis) -> Iterator[tuple[list[bytes], list[bytes]]]:
    """The records of calls as JSON, as `timeline` prints them, a block of them at a time: first without buffers, then these."""
    made = CallRecords(analysis, for_json=True)
    numbers = range(1, len(analysis.calls) + 1)
    for at in range(0, len(numbers), HEADS_IN_BLOCK):
        heads, buffers = [], []
        for record in made.of(numbers[at : at + HEADS_IN_BLOCK]):
            texts = [_NONE if side is None else _text_of(side.buffer) for side in (record.request, record.response)]
            request, response = (
                None if side is None else replace(side, buffer=_MARK) for side in (record.request, record.response)
            )
            pieces = dumps(replace(record, request=request, response=response)).split(_MARKED)
            # The page asks whether a buffer is there without reading it.
            there = [text for side, text in zip((request, response), texts, strict=True) if side is not None]
            says = [b'"has_buffer":false' if text in (_NONE, b"{}") else b'"has_buffer":true' for text in there]
            heads.append(exact_text(b"".join(chain.from_iterable(zip_longest(pieces, says, fillvalue=b"")))))
            buffers.append(b"[" + b",".join(map(exact_text, texts)) + b"]")
        yield heads, buffers


# Stands for a buffer in a record: no other field of that name is a text.
_MARK, _MARKED, _NONE = Raw(b'"\\u0001"'), b'"buffer":"\\u0001"', b"null"
# Whole numbers that JavaScript's numbers may not hold, outside of texts.
_LONG_NUMBER = re.compile(rb"(?<![\d.eE+-])-?\d{16,}(?![\d.eE])")


def _text_of(buffer: Any) -> bytes:
    """The JSON of a buffer, which may be JSON already."""
    return b"".join(buffer.made()) if isinstance(buffer, Pieces) else dumps(buffer)


def exact_text(text: bytes) -> bytes:
    """JSON that JavaScript reads without a loss, of JSON."""
    plain = text
    if b"\\" in text:
        # Then each quotation mark begins or ends a text. There are no such bytes in JSON, and every byte keeps its place.
        plain = text.replace(b"\\\\", b"\x02\x02").replace(b'\\"', b"\x02\x03")
    out: list[bytes] = []
    done, at, quotes = 0, 0, 0
    for match in _LONG_NUMBER.finditer(plain):
        start, stop = match.span()
        quotes += plain.count(b'"', at, start)
        at = start
        number = match[0]
        if quotes % 2 == 0 and not -_SAFE_INTEGER <= int(number) <= _SAFE_INTEGER:
            out += text[done:start], b'{"$int":"%b"}' % number
            done = stop
    return b"".join((*out, text[done:])) if out else text


class DetailBlock(Struct, frozen=True):
    """A block of calls taken apart, and what they share with those of other blocks.

    `frames` has four numbers for each frame: file, number, place in the data, length. `data` has the bytes that are there for
    themselves, one behind the other.
    """

    shared: Shared
    frames: list[int]
    calls: list[Any]
    data: bytes

    @property
    def content(self) -> tuple[bytes, ...]:
        """The block before it is packed: how long the JSON of it is, its JSON, its bytes."""
        head = dumps({"shared": self.shared.number, "frames": self.frames, "calls": self.calls})
        return len(head).to_bytes(4, "little"), head, self.data


def detail_blocks(analysis: Analysis, numbers: Sequence[int]) -> Iterator[DetailBlock]:
    """The layers of calls, a block of them at a time. What they share is whole once a block shares something else."""
    forms, shapes = Forms(), Shapes()
    shared = Shared(0, shapes)
    for at in range(0, len(numbers), DETAILS_IN_BLOCK):
        if shared.size > MAX_SHARED_BYTES:
            shared = Shared(shared.number + 1, shapes)
        made = _Block(shared)
        calls = [made.call(analysis.calls[one - 1], analysis, forms) for one in numbers[at : at + DETAILS_IN_BLOCK]]
        yield DetailBlock(shared, made.frames, calls, b"".join(made.data))


# The JSON of the tree of each form. A form that is forgotten elsewhere is not held here.
Shapes = WeakKeyDictionary[Form, bytes]


class Shared:
    """What calls share, each once and by its number: texts, the forms of trees, what is equal of facts, sides and layers."""

    def __init__(self, number: int, shapes: Shapes) -> None:
        self.number, self._shapes = number, shapes
        self.size = 0
        self._numbers: dict[Any, int] = {}
        self._texts = _Texts()
        # Of calls that have the same, by what they have in common.
        self._facts: dict[tuple[int, int], tuple[_Labelled, _Labelled]] = {}
        self._form_numbers: WeakKeyDictionary[Form, int] = WeakKeyDictionary()
        self._forms: list[bytes] = []
        self._outlines: list[Any] = []

    @property
    def content(self) -> tuple[bytes, ...]:
        """The block before it is packed."""
        head = dumps({"texts": list(self._texts.all), "outlines": self._outlines})
        return head[:-1], b',"forms":[', b",".join(self._forms), b"]}"

    def facts(self, call: Call, analysis: Analysis) -> list[int]:
        """The outline of the facts of a call, and the text of each."""
        row = analysis.calls.shared(call.number)
        if (known := self._facts.get(row)) is None:
            first, last = shared_facts(call)
            known = self._facts[row] = self._labelled(first), self._labelled(last)
        (before, before_texts), (after, after_texts) = known
        own, own_texts = self._labelled(frame_facts(call, analysis))
        id, id_text = self._labelled((id_fact(call),))
        return [self.outline((*own, *before, *id, *after)), *own_texts, *before_texts, *id_text, *after_texts]

    def _labelled(self, facts: Iterable[Fact]) -> _Labelled:
        """Layer and label of each fact, and the number of its text."""
        found = list(facts)
        return tuple([(fact.layer, fact.label) for fact in found]), [self.text(fact.text) for fact in found]

    def text(self, text: str) -> int:
        """The number of a text."""
        before = len(self._texts.all)
        number = self._texts.all.setdefault(text, before)
        if number == before:
            self.size += len(text)
        return number

    def outline(self, outline: tuple[Any, ...]) -> int:
        """The number of what is equal of several facts, sides or layers."""
        if (known := self._numbers.get(outline)) is None:
            known = self._numbers[outline] = len(self._outlines)
            self._outlines.append(outline)
            self.size += _OF_AN_OUTLINE
        return known

    def form(self, form: Form) -> int:
        """The number of a form."""
        if (known := self._form_numbers.get(form)) is None:
            known = self._form_numbers[form] = len(self._forms)
            if (shape := self._shapes.get(form)) is None:
                shape = self._shapes[form] = dumps(_shape(form.tree))
            self._forms.append(shape)
            self.size += len(shape)
        return known


def _shape(node: Node) -> list[Any]:
    """A field of a form: without a value where it reads one, without the meaning that follows from it."""
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
    """What is made of the calls of a block. Bytes are left out where they are those of another layer or of frames."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self.frames: list[int] = []
        self.data: list[bytes] = []
        self._known: set[tuple[int, int]] = set()
        # Most are addresses and names of values, the same again and again: the meanings in layers of a form, and of a field.
        self._words: dict[tuple[int, Hashable], list[int]] = {}
        self._texts: dict[tuple[int, int, bytes], int] = {}
        self._at = 0

    def call(self, call: Call, analysis: Analysis, forms: Forms) -> list[Any]:
        """A call taken apart: its facts, then its sides."""
        facts = self._shared.facts(call, analysis)
        return [facts, *[self._side(side) for side in side_views(call, analysis.packets, forms)]]

    def _side(self, side: SideView) -> list[Any]:
        outline = self._shared.outline((side.name, side.missing, side.buffer_kind, side.problem, side.lacking))
        return [outline, *[self._layer(layer) for layer in side.layers]]

    def _layer(self, layer: Layer) -> list[Any]:
        """Outline, form (-1: none), length, place, runs, words.

        The place of the bytes is that in the layer that these lie in, or in the data, or -1 where they are those of the frames.
        Runs have six numbers each; words are the meanings that follow from bytes, as position in the tree and text.
        """
        shared, form = self._shared, layer.form
        outline = shared.outline(
            (layer.id, layer.kind, layer.title, layer.steps, layer.undone_by, layer.parent, layer.notes, layer.problem)
        )
        runs = [
            number for run in layer.runs for number in (run.at, run.stop, run.frame, run.file, run.start, run.length)
        ]
        data = layer.data
        if layer.parent is not None:
            at = layer.offset
        elif layer.kind == "frame":
            at = -1
            self._frame(layer)
        else:
            at = -1 if self._has(layer) else self._put(data)
        words: Sequence[int] = ()
        form_number = -1
        if form is not None:
            form_number = shared.form(form)
            key = form_number, form.bytes_of_spots(data)
            if (known := self._words.get(key)) is None:
                known = self._words[key] = self._meanings(form_number, form, data)
            words = known
        return [outline, form_number, len(data), at, runs, words]

    def _meanings(self, number_of_form: int, form: Form, data: bytes) -> list[int]:
        """Position and text of each field whose meaning follows from its bytes."""
        words: list[int] = []
        for spot in form.spots:
            spotted = number_of_form, spot.position, data[spot.start : spot.stop]
            if (number := self._texts.get(spotted)) is None:
                meaning = spot.meaning(data)
                number = self._texts[spotted] = -1 if meaning is None else self._shared.text(meaning)
            if number >= 0:
                words += (spot.position, number)
        return words

    def _frame(self, layer: Layer) -> None:
        (run,) = layer.runs
        if (run.file, run.frame) not in self._known:
            self._known.add((run.file, run.frame))
            self.frames += (run.file, run.frame, self._put(layer.data), len(layer.data))

    def _put(self, data: bytes) -> int:
        place = self._at
        self.data.append(data)
        self._at += len(data)
        return place

    def _has(self, layer: Layer) -> bool:
        """Whether the bytes of a layer are those of frames that are here."""
        return not layer.steps and all(
            (run.file, run.frame) in self._known and run.stop - run.at == run.length for run in layer.runs
        )


def audit_block(report: Report) -> Iterator[bytes]:
    """What an audit found and how far it could judge, as the JSON of the block in parts: findings may be several a call."""
    count = 0
    yield b'{"findings":['
    for finding in report.findings():
        yield b"," + dumps(finding) if count else dumps(finding)
        count += 1
    rest = {"coverage": report.coverage(), "nothing": None if count else report.nothing_found()}
    yield b"]," + dumps(rest)[1:]


def series_block(series: Iterable[SeriesView], left_out: int, base: int) -> Iterator[bytes]:
    """Series as the JSON of their block in parts, behind the number of readings left out; times count from the first frame."""
    before = b'{"left_out":%d,"series":[' % left_out
    for one in series:
        yield before + dumps(replace(one, times_ns=tuple([time - base for time in one.times_ns])))
        before = b","
    yield b"]}" if before == b"," else before + b"]}"
