"""Makes fields of layers beside their bytes: those of SMB, IP and PDU headers from tables of names and lengths.

It finds where each part of a layer's bytes was captured, as the fewest runs, and in which other layer the same bytes lie. Layers
with the same layout share the form of their field trees. Most layers of a capture have the layout of another one. A field that
decides on no other (`Node.reads`) may differ between two trees of one form; a display reads its value from the bytes. So a tree is
made only of the first layer of a form.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from typing import Literal, TypedDict

from msgspec import Struct

from analyzer.core.byte_origins import FrameExtent
from analyzer.core.frame_ids import file_of, number_of
from analyzer.core.traced_bytes import TracedBytes
from analyzer.interfaces.buffers.field_map import Field, deciding
from analyzer.results.records.display_records import Form, LayerBytes, Node, Reads, Run, Words

# -------------------------------------------------------------------------------------------------------- header fields


# A header field: its id, its name in the specification, its length in bytes, and a function that makes a word of its value.
# A field with a negative length is bytes, not a number.
FieldSpec = tuple[str, str, int, Callable[[int], str | None] | None]


def numbers(
    data: bytes,
    at: int,
    fields: Sequence[FieldSpec],
    order: Literal["little", "big"],
    deciding: Collection[str] = (),
) -> Iterator[Node]:
    """Yields fields of a layer: those that a table of names and lengths has, from `at` on, as far as the data reaches. The
    `deciding` ones decide which other fields there are."""
    for name, spelling, size, meaning in fields:
        length = abs(size)
        part = data[at : at + length]
        if len(part) < length:
            return
        decides = name in deciding
        if size < 0:
            yield Node(name, spelling, "bytes", at, length, part.hex(), None, "", reads="" if decides else "bytes")
        else:
            value = int.from_bytes(part, order)
            word = meaning(value) if meaning is not None else None
            reads: Reads = "" if decides else "le" if order == "little" else "be"
            yield Node(name, spelling, f"u{length}", at, length, value, word, "", reads=reads, words=meaning)
        at += length


def raw(
    data: bytes, name: str, start: int, stop: int, words: Words | None = None, *, decides: bool = False
) -> Iterator[Node]:
    """Yields a range of a layer's bytes as one field, if it is not empty. With `decides`, other fields depend on these bytes."""
    if start < stop:
        part = data[start:stop]
        meaning = words(part) if words is not None else None
        yield Node(
            name,
            name,
            "bytes",
            start,
            stop - start,
            part.hex(),
            meaning,
            "",
            reads="" if decides else "bytes",
            words=words,
        )


def structure(name: str, spelling: str, start: int, stop: int, reference: str, children: Sequence[Node]) -> Node:
    """Makes a field of a layer that is a structure of these fields."""
    return Node(name, spelling, spelling, start, stop - start, None, None, reference, tuple(children))


def size_of(fields: Sequence[FieldSpec]) -> int:
    """Returns the length in bytes of all these fields of a layer."""
    return sum(abs(size) for _, _, size, _ in fields)


def bits(names: dict[int, str]) -> Callable[[int], str | None]:
    """Returns a function that names the set bits in a field of a layer: `ACK | PSH`."""
    return lambda value: " | ".join(word for bit, word in names.items() if value & bit) or None


def one_of(names: dict[int, str]) -> Callable[[int], str | None]:
    """Returns a function that names the value in a field of a layer."""
    return names.get


# ------------------------------------------------------------------------------------------------------------ byte runs


def runs_of(source: TracedBytes) -> tuple[Run, ...]:
    """Returns the runs of a layer's bytes: where each part of them was captured."""
    extents = source.origin(0, len(source))
    if _are_byte_by_byte(source, extents, 0, len(source)):
        return tuple(_in_a_row(extents, 0))
    runs: list[Run] = []
    for run in _runs(source, 0, len(source), extents):
        last = runs[-1] if runs else None
        if last is not None and (last.frame, last.file, last.stop) == (run.frame, run.file, run.at):
            if _is_byte_by_byte(last) and _is_byte_by_byte(run) and last.start + last.length == run.start:
                runs[-1] = Run(last.at, run.stop, run.frame, run.file, last.start, last.length + run.length)
                continue
            if (last.start, last.length) == (run.start, run.length):
                runs[-1] = Run(last.at, run.stop, run.frame, run.file, run.start, run.length)
                continue
        runs.append(run)
    return tuple(runs)


def _is_byte_by_byte(run: Run) -> bool:
    return run.stop - run.at == run.length


def _runs(source: TracedBytes, start: int, stop: int, extents: tuple[FrameExtent, ...]) -> Iterator[Run]:
    """Yields the runs of a layer's bytes, which may have been compressed: halves them until all of a half came from the same
    places. `extents` are the places of all."""
    if _are_byte_by_byte(source, extents, start, stop):
        yield from _in_a_row(extents, start)
        return
    middle = (start + stop) // 2
    first, second = source.origin(start, middle), source.origin(middle, stop)
    if middle == start or first == second == extents:
        yield from (_run(extent, start, stop) for extent in extents)
    else:
        yield from _runs(source, start, middle, first)
        yield from _runs(source, middle, stop, second)


def _are_byte_by_byte(source: TracedBytes, extents: tuple[FrameExtent, ...], start: int, stop: int) -> bool:
    return _length(extents) == stop - start and _length(source.origin(start, start + 1)) <= 1


def _in_a_row(extents: Iterable[FrameExtent], at: int) -> Iterator[Run]:
    for extent in extents:
        yield _run(extent, at, at + extent.length)
        at += extent.length


def _length(extents: tuple[FrameExtent, ...]) -> int:
    return sum(extent.length for extent in extents)


def _run(extent: FrameExtent, at: int, stop: int) -> Run:
    return Run(at, stop, number_of(extent.frame), file_of(extent.frame), extent.start, extent.length)


class PlacedLayers:
    """Finds in which of some layers the same bytes lie. Layers are looked up by frame: a call of many megabytes has thousands below
    its PDUs."""

    def __init__(self, layers: Iterable[LayerBytes] = ()) -> None:
        self._by_frame: dict[tuple[int, int], list[tuple[LayerBytes, list[Run]]]] = {}
        for layer in layers:
            self.add(layer)

    def add(self, layer: LayerBytes) -> None:
        """Adds a layer in which bytes of other layers may lie, within those before it or beside them."""
        for run in layer.runs:
            found = self._by_frame.setdefault((run.file, run.frame), [])
            if found and found[-1][0] is layer:
                found[-1][1].append(run)
            else:
                found.append((layer, [run]))

    def place_of(self, source: TracedBytes, runs: Sequence[Run]) -> tuple[str, int] | None:
        """Returns the innermost layer in which bytes with these runs lie unchanged, and their offset in it; else None."""
        if not runs:
            return None
        first = runs[0]
        for layer, some in reversed(self._by_frame.get((first.file, first.frame), ())):
            if layer.steps != source.steps:
                continue
            for run in some:
                at = run.at + first.start - run.start
                if run.at <= at < run.stop and layer.data[at : at + len(source)] == source.data:
                    return layer.id, at
        return None


# ----------------------------------------------------------------------------------------------------------- tree forms


# When forms hold more bytes than these, all are forgotten at once, except the newest, whatever its size: a long answer is polled
# again and again.
MAX_BYTES = 16 << 20
# About so many bytes for each field.
_OF_A_FIELD = 300
# Damaged layers that are remembered, and how long they may be.
_DAMAGED, _MOST_DAMAGED = 64, 4096


class _Alike(Struct):
    """Forms of layers that the same bytes tell apart: those of `mask` within the first `stop` bytes."""

    mask: int
    stop: int
    forms: dict[int, Form]


class Fields(TypedDict, total=False):
    """The fields of a layer and their form, as arguments of `LayerBytes`."""

    tree: Node | None
    form: Form
    notes: tuple[str, ...]
    problem: str | None


class Forms:
    """Keeps the forms of layers' trees that were met so far."""

    def __init__(self) -> None:
        self._known: dict[Hashable, list[_Alike]] = {}
        # The last damaged layer of each key, recognised by all of its bytes: what is sent again is often the same.
        self._damaged: dict[Hashable, tuple[bytes, Form]] = {}
        # About so many bytes are remembered.
        self.held = 0

    def form(self, key: Hashable, data: bytes, make: Callable[[], Form | None]) -> Form | None:
        """Returns the form of a layer's tree, made by `make` if it is new. `key` is what the layout depends on besides bytes."""
        key = key, len(data)
        known = self._known.get(key, ())
        for alike in known:
            form = alike.forms.get(int.from_bytes(data[: alike.stop], "little") & alike.mask)
            if form is not None:
                return form
        damaged = self._damaged.get(key)
        if damaged is not None and damaged[0] == data:
            return damaged[1]
        form = make()
        if form is not None and form.problem is None:
            self._remember(key, data, form)
        elif form is not None and len(data) <= _MOST_DAMAGED:
            if len(self._damaged) >= _DAMAGED:
                self._damaged.clear()
            self._damaged[key] = data, form
        return form

    def _remember(self, key: Hashable, data: bytes, form: Form) -> None:
        mask_of_all = deciding_bytes(form, len(data)).rstrip(b"\0")
        stop = len(mask_of_all)
        cost = 3 * stop + _OF_A_FIELD * len(form.nodes)
        self.held += cost
        if self.held > MAX_BYTES:
            self._known.clear()
            self.held = cost
        mask = int.from_bytes(mask_of_all, "little")
        known = self._known.setdefault(key, [])
        alike = next((one for one in known if one.mask == mask), None)
        if alike is None:
            known.append(alike := _Alike(mask, stop, {}))
        alike.forms[int.from_bytes(data[:stop], "little") & mask] = form


def fields_of(forms: Forms | None, key: Hashable, data: bytes, make: Callable[[], Form | None]) -> Fields:
    """Returns the fields of a layer: as a form if there are `forms`, else as a tree."""
    form = make() if forms is None else forms.form(key, data, make)
    if form is None:
        return {}
    if forms is None:
        return {"tree": form.tree, "notes": form.notes, "problem": form.problem}
    return {"form": form, "notes": form.notes, "problem": form.problem}


def node_of(field: Field) -> Node:
    """Converts a field that was mapped, and the fields in it, to a field of a layer (`Node`), without bytes."""
    value = field.value
    assert not isinstance(value, dict | list)
    return Node(
        field.name,
        field.spelling,
        field.type,
        field.start,
        field.length,
        value,
        field.meaning,
        field.doc_ref,
        tuple(map(node_of, field.children)),
        field.reads,
        field.words,
    )


def deciding_bytes(form: Form, length: int) -> bytes:
    """Returns a mask of the layer's bytes that decide on its form."""
    spans = [(node.start, node.stop, bool(node.reads)) for node in form.nodes if not node.children]
    return deciding(spans, length)
