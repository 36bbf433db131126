"""Maps a buffer or stub beside its bytes: each field with offset, length, value and meaning, from recorded positions.

It walks the positions that the compiled parsers of `_generated/positions` recorded, and adds the start of each substream. It works
on damaged bytes up to the damage.

A regular PERF_DATA_BLOCK (`winperf_layout`) is shortened to one instance of each shape before. Instances of an object have one
shape if their fields stand in the same places: definition, name and counter block have equal lengths. So the fields of one are
those of the other, with other values.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, Literal

from kaitaistruct import KaitaiStruct
from msgspec import Struct
from msgspec.structs import replace

from analyzer.core.errors import DecodeError
from analyzer.core.printable_text import Discreet, guid_text
from analyzer.core.times import filetime_ns, iso_time
from analyzer.interfaces.buffers.buffer_trees import ParsePlan, notes_on, parse_positions, plan_for
from analyzer.interfaces.buffers.compiled_parsers import (
    PARSER_ERRORS,
    Encoding,
    FieldSpec,
    JsonValue,
    LazyError,
    check_overlap,
    contained,
    damages_of,
    described,
    guid_of,
    is_guid,
    on_demand,
    reading_of,
    scalar_of,
    type_of,
    unfinished_in,
    winperf_value,
)
from analyzer.interfaces.buffers.compiled_stubs import parse_stub
from analyzer.interfaces.buffers.perf_data_layout import PERF_DATA
from analyzer.interfaces.buffers.struct_layouts import CLOCK, spans
from analyzer.interfaces.buffers.stub_decoding import Interface, Side
from analyzer.interfaces.buffers.windows_text import utf16_length
from analyzer.interfaces.buffers.winperf_layout import WINPERF, WinPerfInstance, WinperfParts, is_plain
from analyzer.interfaces.buffers.winperf_structs import (
    WINPERF_HEADER,
    WINPERF_INSTANCE,
    WINPERF_LENGTH,
    WINPERF_OBJECT,
    WINPERF_OBJECT_COUNTS,
    WINPERF_TOTAL,
)
from analyzer.results.buffer_kinds import BufferKind
from analyzer.results.records.display_records import Reads, Words, number_read

# ------------------------------------------------------------------------------------------------------ instance shapes


class InstancePlace(Struct, frozen=True):
    """The place of an instance in a PERF_DATA_BLOCK that is mapped. `shape` is the number of the instance in the shorter block that
    has its shape."""

    start: int
    stop: int
    shape: int


def one_of_each_shape(data: bytes, block: WinperfParts) -> tuple[bytes, tuple[tuple[InstancePlace, ...], ...]]:
    """Returns the PERF_DATA_BLOCK for the field map, with one instance of each shape; and the places of all instances of each
    object.

    The lengths and numbers in the shorter block fit it. A block whose name lies among its objects is not shortened.
    """
    _, header_length, *_, name_length, name_offset = WINPERF_HEADER.unpack_from(data)
    is_shorter = not name_length or name_offset + name_length <= header_length
    places = tuple(tuple(_places(data, block, number)) for number in range(len(block.layout.objects)))
    shorter, done = bytearray(), 0
    for start, found in zip(block.layout.starts, places, strict=True):
        kept = {place.shape: place for place in reversed(found)}
        if not is_shorter or len(kept) == len(found):
            continue
        shorter += data[done:start]
        at = len(shorter)
        shorter += data[start : found[0].start]
        for shape in sorted(kept):
            shorter += data[kept[shape].start : kept[shape].stop]
        done = found[-1].stop
        for (place, size), number in zip(WINPERF_OBJECT_COUNTS, (len(shorter) - at, len(kept)), strict=True):
            shorter[at + place : at + place + size] = number.to_bytes(size, "little")
    shorter += data[done:]
    place, size = WINPERF_TOTAL[0]
    total = int.from_bytes(data[place : place + size], "little") + len(shorter) - len(data)
    shorter[place : place + size] = total.to_bytes(size, "little")
    return bytes(shorter), places


def _places(data: bytes, block: WinperfParts, number: int) -> Iterator[InstancePlace]:
    """Yields the places of the instances of an object in a PERF_DATA_BLOCK that is mapped. The first of each shape gets the next
    number."""
    item, start = block.layout.objects[number], block.layout.starts[number]
    if item.num_instances <= 0:
        return
    length, definition_length, *_ = WINPERF_OBJECT.unpack_from(data, start)
    end, at = start + length, start + definition_length
    blocks = block.layout.blocks[number]
    shapes: dict[tuple[int, ...], int] = {}
    for count, values in enumerate(blocks):
        described, _, _, _, offset, size = WINPERF_INSTANCE.unpack_from(data, at)
        (room,) = WINPERF_LENGTH.unpack_from(data, values)
        # The last counter block has the rest of the object to itself (ksy/winperf.ksy), whatever its length says.
        stop = values + room if count < len(blocks) - 1 else end
        name = data[at + offset : at + offset + size]
        used = name.find(b"\0") if item.code_page else utf16_length(name)
        # Text among the values is read of the instance itself.
        of_its_own = count if block.layout.mixed[number] else -1
        shape = described, offset, size, used, room, stop - values, of_its_own
        yield InstancePlace(at, stop, shapes.setdefault(shape, len(shapes)))
        at = stop


# ------------------------------------------------------------------------------------------------------------ field map


StatusName = Callable[[int], str]


class StubKind(Struct, frozen=True):
    """The kind of an RPC stub to map: method, side and syntax, which its bytes do not state."""

    interface: Interface
    opnum: int
    side: Side
    ndr64: bool = False
    big_endian: bool = False


class Field(Discreet, frozen=True):
    """A field or structure in the map of a buffer or stub: `start` and `length` in the bytes it was read from, `children` for a
    structure.

    `name` is the id in `ksy/` (with its place in an array), `spelling` the specification's, `meaning` what the value
    stands for where it has a name of its own; `doc_ref` (of structures) names document and section.
    `reads` and `words` say how value and meaning follow from the bytes, as those of a `Node` do.
    """

    hidden = ("data",)
    name: str
    spelling: str
    type: str
    start: int
    length: int
    value: JsonValue
    meaning: str | None
    children: tuple[Field, ...]
    doc_ref: str
    data: bytes
    base: int = 0
    reads: Reads = ""
    words: Words | None = None

    @property
    def stop(self) -> int:
        return self.start + self.length

    @property
    def raw(self) -> bytes:
        """The bytes of this field in the map of a buffer or stub."""
        return self.data[self.start - self.base : self.start - self.base + self.length]

    def leaves(self) -> Iterator[Field]:
        """Yields the fields of the map that have a value, in order."""
        if self.value is not None:
            yield self
        for child in self.children:
            yield from child.leaves()

    def shifted(self, by: int) -> Field:
        """Returns this field of the map, moved by `by` bytes, such as a field of a buffer to its place in the stub."""
        return replace(
            self,
            start=self.start + by,
            base=self.base + by,
            children=tuple(child.shifted(by) for child in self.children),
        )


class FieldMap(Struct, frozen=True):
    """The fields of a buffer or stub, its first damage, and notes on the chosen readings. `damaged` are the paths at which reading
    ended."""

    root: Field
    problem: DecodeError | None
    notes: tuple[str, ...]
    damaged: tuple[str, ...] = ()


def map_fields(
    kind: BufferKind | StubKind,
    data: bytes,
    *,
    big_endian: bool | None = None,
    status_name: StatusName | None = None,
) -> FieldMap:
    """Maps the fields of a buffer or stub beside their bytes, as a tree. `status_name` turns Win32 codes into words."""
    if isinstance(kind, StubKind):
        return _map_stub(kind, data, status_name)
    try:
        plan = plan_for(kind, data, big_endian)
    except DecodeError as error:
        return FieldMap(Field(kind, "", "", 0, 0, None, None, (), "", data), error, ())
    root = _root_of_instances(plan, status_name) if kind == "winperf" else _root_of_blocks(plan, status_name)
    if root is not None:
        return FieldMap(root, None, ())
    compiled, problem = parse_positions(plan)
    mapper = _Mapper(
        data, compiled if problem else None, status_name, free=_WINPERF_FREE if kind == "winperf" else None
    )
    root = mapper.root(kind, compiled, plan.reading)
    found = mapper.damages(compiled, problem)
    problem, others = described(found)
    notes = (*notes_on(plan, compiled), *others)
    # See `buffer_trees._damaged`.
    vars(compiled).clear()
    return FieldMap(root, problem, notes, tuple([error.field for error in found]))


def map_head(data: bytes) -> FieldMap:
    """Maps the fields at the head of a PERF_DATA_BLOCK. The objects behind it are nearly all of the block."""
    at, size = spans("winperf", "header_length")[0]
    big_endian = plan_for("winperf", data, None).reading.big_endian
    return map_fields("winperf", data[: int.from_bytes(data[at : at + size], "big" if big_endian else "little")])


def _map_stub(kind: StubKind, data: bytes, status_name: StatusName | None) -> FieldMap:
    stub, problem, notes = parse_stub(
        kind.interface, kind.opnum, kind.side, data, ndr64=kind.ndr64, big_endian=kind.big_endian
    )
    mapper = _Mapper(data, stub if problem else None, status_name)
    root = mapper.root("stub", stub, Encoding(kind.big_endian))
    # The stub's only child is the request or response itself.
    damaged = (problem.field,) if problem is not None else ()
    return FieldMap(replace(root.children[0], name=kind.side) if root.children else root, problem, notes, damaged)


class _Words(Struct, frozen=True):
    """Words for the meanings of a field's values."""

    spec: FieldSpec
    status_name: StatusName | None

    @property
    def has_any(self) -> bool:
        """Whether the field map has words for some value of the field."""
        spec = self.spec
        return bool(spec.special) or any(one is not None for one in (spec.names, spec.flags, spec.meaning))

    @property
    def is_silent(self) -> bool:
        """Whether no value of the mapped field has words after all: raw values of counters have a meaning of their own, without."""
        spec = self.spec
        has_words = spec.meaning == "filetime" or (spec.meaning == "win32" and self.status_name is not None)
        return not (spec.special or has_words or spec.names is not None or spec.flags is not None)

    def __call__(self, value: Any) -> str | None:
        spec = self.spec
        if value in spec.special:
            return spec.special[value]
        if spec.names is not None:
            return spec.names[value][0] if value in spec.names else "unknown"
        if spec.flags is not None:
            known = [name for bit, (name, _) in spec.flags.items() if value & bit]
            rest = value & ~sum(spec.flags)
            return " | ".join(known + ([f"{rest:#x}"] if rest else [])) or "none"
        if spec.meaning == "filetime":
            return iso_time(filetime_ns(value))
        if spec.meaning == "win32" and self.status_name is not None:
            return self.status_name(value)
        return None


def _reads(kind: str, value: JsonValue, reading: Encoding) -> Reads:
    """Returns how the value of a mapped field is read from its bytes again, "" if unknown."""
    if kind == "bytes":
        return "bytes"
    if kind in _GUIDS:
        return "guid-be" if reading.big_endian else "guid-le"
    if isinstance(value, int) and kind[0] in "us":
        return _number_order(reading, is_signed=kind[0] == "s")
    return ""


def _number_order(reading: Encoding, *, is_signed: bool = False) -> Reads:
    if is_signed:
        return "signed-be" if reading.big_endian else "signed-le"
    return "be" if reading.big_endian else "le"


class _Mapper:
    """Makes the fields of a map from compiled objects. Reading on demand may meet damage, which ends the tree there."""

    def __init__(
        self,
        data: bytes,
        compiled: Any,
        status_name: StatusName | None,
        *,
        free: Collection[str] | None = None,
    ) -> None:
        self._data = data
        self._unfinished = set(unfinished_in(compiled) if compiled else ())
        self._status_name = status_name
        # The readers of performance data of the first version look at many fields by themselves: only these decide on no other.
        self._free = free
        # The error that ended the tree, and errors that ended parts whose damage is contained.
        self._lazy: LazyError | None = None
        self._damage: list[LazyError] = []

    def damages(self, compiled: Any, problem: DecodeError | None) -> list[DecodeError]:
        """Returns every damage of the mapped buffer. `problem` ended reading the root."""
        found = self._damage if self._lazy is None else [*self._damage, self._lazy]
        return damages_of(compiled, problem, found, len(self._data))

    def root(self, name: str, compiled: Any, reading: Encoding) -> Field:
        children = tuple(self._children(compiled, 0, reading))
        return self._node(name, type_of(compiled).spelling or name, compiled, 0, _end(children, 0), children, reading)

    def _node(
        self,
        name: str,
        spelling: str,
        compiled: Any,
        start: int,
        stop: int,
        children: tuple[Field, ...],
        reading: Encoding,
    ) -> Field:
        kind = type_of(compiled)
        of = {child.name: child.value for child in children} if kind.path.endswith(".systemtime") else {}
        is_date = "milliseconds" in of
        return Field(
            name,
            spelling,
            kind.path,
            start,
            stop - start,
            None,
            _date(of) if is_date else None,
            children,
            kind.doc_ref,
            self._data,
            words=_DATES[reading.big_endian] if is_date else None,
        )

    def _children(self, compiled: Any, base: int, reading: Encoding, outer: FieldSpec | None = None) -> Iterator[Field]:
        """Yields the mapped fields of a compiled object whose stream starts at `base`, in the order of the specification.

        `outer` is the field that holds the object. Its encoding and value table apply to what the object wraps.
        """
        reading = reading_of(compiled, reading)
        kind = type_of(compiled)
        if kind.path == "winperf.counter_values" and hasattr(compiled, "raw"):
            try:
                check_overlap(compiled, len(compiled.raw))
            except DecodeError as error:
                self._stop(compiled, "values", error)
                return
        made: list[Field] = []
        around: list[tuple[FieldSpec, Any]] = []
        for spec in kind.fields:
            if self._lazy is not None:
                break
            if outer is not None and spec.name in ("value", "data"):
                spec = replace(spec, encoding=outer.encoding, names=outer.names or spec.names)
            place = compiled._debug.get(spec.name)
            if spec.is_contained:
                made.extend(self._contained(spec, compiled, base, reading))
                continue
            if spec.lazy:
                cut = id(compiled) in self._unfinished
                value = on_demand(compiled, spec.name) if cut else self._demand(compiled, spec.name)
                place = compiled._debug.get(f"_m_{spec.name}")
            else:
                value = getattr(compiled, spec.name, None)
            if place is None or "start" not in place or value is None:
                continue
            if spec.around:
                around.append((spec, place))
                continue
            made.extend(self._field(spec, value, place, compiled, base, reading))
        for spec, place in around:
            made.extend(self._gaps(spec, base + place["start"], base + place["end"], made))
        if around:
            made.sort(key=lambda item: item.start)
        yield from made

    def _contained(self, spec: FieldSpec, compiled: Any, base: int, reading: Encoding) -> Iterator[Field]:
        """Yields the mapped fields of a compiled structure whose damage is contained."""
        value, error = contained(compiled, spec.name)
        if error is not None:
            self._damage.append(error)
        if value is None:
            return
        if error is not None:
            self._unfinished.update(unfinished_in(value))
        yield from self._one(spec, spec.name, value, compiled._debug[f"_m_{spec.name}"], compiled, base, reading)
        if self._lazy is not None:
            self._damage.append(self._lazy)
            self._lazy = None

    def _demand(self, compiled: Any, name: str) -> Any:
        try:
            return getattr(compiled, name)
        except PARSER_ERRORS as error:
            self._stop(compiled, name, error)
            return None

    def _stop(self, compiled: Any, name: str, cause: Exception) -> None:
        self._lazy = LazyError(compiled, name)
        self._lazy.__cause__ = cause

    def _field(
        self, spec: FieldSpec, value: Any, place: Any, owner: Any, base: int, reading: Encoding
    ) -> Iterator[Field]:
        if isinstance(value, list):
            for number, (item, item_place) in enumerate(zip(value, place["arr"], strict=False)):
                if self._lazy is not None:
                    return
                yield from self._one(spec, f"{spec.name}[{number}]", item, item_place, owner, base, reading)
        else:
            yield from self._one(spec, spec.name, value, place, owner, base, reading)

    def _one(
        self, spec: FieldSpec, name: str, value: Any, place: Any, owner: Any, base: int, reading: Encoding
    ) -> Iterator[Field]:
        start = base + place["start"]
        if isinstance(value, KaitaiStruct):
            yield from self._object(spec, name, value, start, place, base if value._io is owner._io else start, reading)
            return
        if "end" not in place:
            return  # cut off inside the field
        stop = base + place["end"]
        if isinstance(value, bytes):
            yield from self._bytes(spec, name, value, start, stop, reading)
            return
        yield self._leaf(spec, name, start, stop, value if isinstance(value, str) else int(value), reading)

    def _object(
        self, spec: FieldSpec, name: str, value: Any, start: int, place: Any, base: int, reading: Encoding
    ) -> Iterator[Field]:
        if is_guid(value):
            if "end" in place:
                yield self._leaf(spec, name, start, start + 16, guid_of(value), reading, kind=type_of(value).path)
            return
        if type_of(value).path == "winperf.counter_value":
            raw = self._demand(value, "value")
            at = value._debug.get("_m_value")
            if raw is not None and at is not None:
                shown = winperf_value(value.definition, raw, reading)
                index = f"counter {value.definition.counter_name_title_index}"
                start, stop = base + at["start"], base + at["end"]
                leaf = self._leaf(spec, name, start, stop, shown, reading, kind="winperf.counter_value")
                reads = _number_order(reading) if isinstance(shown, int) else ""
                yield replace(leaf, meaning=index, reads=reads, words=None)
            return
        wraps = type_of(value).path in _WRAPPERS
        children = tuple(self._children(value, base, reading, spec if wraps else None))
        stop = start + place["end"] - place["start"] if "end" in place else _end(children, start)
        if stop > start or children:
            yield self._node(name, spec.spelling, value, start, stop, children, reading)

    def _bytes(
        self, spec: FieldSpec, name: str, value: bytes, start: int, stop: int, reading: Encoding
    ) -> Iterator[Field]:
        if stop == start:
            return
        shown = scalar_of(spec, value, reading)
        end = stop
        if spec.encoding is not None:
            # Text ends with its NUL; what follows is padding.
            wide = spec.encoding != "code-page" or not reading.code_page
            used = (
                min(utf16_length(value) + 2, len(value))
                if wide
                else min(value.find(b"\0") + 1 or len(value), len(value))
            )
            end = start + used
        yield self._leaf(spec, name, start, end, shown, reading)
        if end < stop:
            yield self._filler(f"{name}_padding", "(padding)", end, stop, value[end - start :])

    def _leaf(
        self, spec: FieldSpec, name: str, start: int, stop: int, value: JsonValue, reading: Encoding, *, kind: str = ""
    ) -> Field:
        shown = kind or (spec.type if isinstance(value, str | int) and spec.type in _NUMBERS else f"u{stop - start}")
        if not kind and isinstance(value, str):
            shown = "text" if spec.encoding or spec.meaning == "counter-value" else "bytes"
        words = _Words(spec, self._status_name)
        return Field(
            name,
            spec.spelling,
            shown,
            start,
            stop - start,
            value,
            words(value) if isinstance(value, int) else None,
            (),
            "",
            self._data,
            reads=_reads(shown, value, reading) if self._is_free(spec) else "",
            words=words if words.has_any else None,
        )

    def _is_free(self, spec: FieldSpec) -> bool:
        """Whether no other field of the structure depends on this mapped field."""
        return not spec.decides and (self._free is None or spec.name in self._free)

    def _gaps(self, spec: FieldSpec, start: int, stop: int, made: list[Field]) -> list[Field]:
        """Returns the gaps in the map: bytes around fields with positions of their own that no such field covers."""
        gaps = []
        at = start
        leaves = [leaf for item in made for leaf in item.leaves()]
        for item in sorted(leaves, key=lambda leaf: leaf.start):
            if item.stop <= at or item.start >= stop:
                continue
            if item.start > at:
                gaps.append((at, item.start))
            at = max(at, item.stop)
        if at < stop:
            gaps.append((at, stop))
        names = [f"{spec.name}[{number}]" for number in range(len(gaps))] if len(gaps) > 1 else [spec.name]
        return [
            self._filler(name, "(between)", begin, end, self._data[begin:end])
            for name, (begin, end) in zip(names, gaps, strict=False)
        ]

    def _filler(self, name: str, spelling: str, start: int, stop: int, raw: bytes) -> Field:
        return Field(name, spelling, "bytes", start, stop - start, raw.hex(), None, (), "", self._data)


# Performance data of fewer blocks is read as a whole; a block that is longer is compared with no other.
_MANY_BLOCKS, _LONG_BLOCK = 64, 1024


def _root_of_blocks(plan: ParsePlan, status_name: StatusName | None) -> Field | None:
    """Maps undamaged performance data of many blocks (MS-PCQ); None for anything else.

    A compiled object takes three kilobytes for the smallest block. So each block is read alone behind the header. A block that
    differs from an earlier one only in fields that decide on no other is not read: it is that block with other values.
    """
    data = plan.data
    if plan.kind != "perf-data" or plan.notes or int.from_bytes(data[4:8], "little") < _MANY_BLOCKS:
        return None
    read = PERF_DATA.read(data)
    if read is None:
        return None
    starts = read.layout.starts
    known: dict[tuple[int, int, int], Field] = {}
    masks: dict[int, list[int]] = {}
    head: Field | None = None
    blocks = []
    for number, (start, stop) in enumerate(pairwise(starts)):
        length = stop - start
        bits = int.from_bytes(data[start:stop], "little") if length <= _LONG_BLOCK else 0
        keys = [(length, mask, bits & mask) for mask in masks.get(length, ())]
        block = next((known[key] for key in keys if key in known), None)
        if block is None:
            compiled, problem = parse_positions(replace(plan, data=data[: starts[0]] + data[start:stop]))
            head = _Mapper(data, compiled if problem else None, status_name).root(plan.kind, compiled, plan.reading)
            block = head.children[-1]
            if length <= _LONG_BLOCK:
                spans = [(leaf.start - starts[0], leaf.stop - starts[0], bool(leaf.reads)) for leaf in block.leaves()]
                mask = int.from_bytes(deciding(spans, length), "little")
                known[length, mask, bits & mask] = block
                if mask not in masks.setdefault(length, []):
                    masks[length].append(mask)
        blocks.append(replace(_read_again(block, data, start - starts[0]), name=f"blocks[{number}]"))
    assert head is not None
    return replace(head, length=starts[-1], children=(*head.children[:-1], *blocks))


def _root_of_instances(plan: ParsePlan, status_name: StatusName | None) -> Field | None:
    """Maps a sound PERF_DATA_BLOCK with instances that are alike; None for anything else.

    The compiled parser reads a block that has one instance of each shape. Each other instance is one of those with other values.
    """
    data = plan.data
    block = None if plan.reading.big_endian else WINPERF.read(data)
    if block is None or not is_plain(data, block):
        return None
    shorter, places = one_of_each_shape(data, block)
    if len(shorter) == len(data):
        return None
    compiled, problem = parse_positions(replace(plan, data=shorter))
    mapper = _Mapper(shorter, compiled if problem else None, status_name, free=_WINPERF_FREE)
    root = mapper.root(plan.kind, compiled, plan.reading)
    objects = zip(block.layout.objects, block.layout.starts, places, strict=True)
    children = []
    for child in root.children:
        if child.type == "winperf.perf_object":
            item, start, found = next(objects)
            children.append(_with_instances(child, data, start, found, item.instances))
        else:
            children.append(_read_again(child, data, len(data) - len(shorter) if child.name == "rest" else 0))
    return replace(root, length=_end(tuple(children), 0), children=tuple(children), data=data)


def _with_instances(
    field: Field, data: bytes, start: int, places: Sequence[InstancePlace], instances: Sequence[WinPerfInstance]
) -> Field:
    """Returns the mapped object that begins at `start` with all its instances. `field` is it with one instance of each shape."""
    by, length = start - field.start, int.from_bytes(data[start : start + WINPERF_LENGTH.size], "little")
    *before, body = field.children
    fields = [_read_again(child, data, by) for child in body.children if child.type != "winperf.instance"]
    alike = [child for child in body.children if child.type == "winperf.instance"]
    for number, (place, instance) in enumerate(zip(places, instances, strict=False)):
        found = alike[place.shape]
        found = _read_again(found, data, place.start - found.start, instance.name)
        fields.append(replace(found, name=f"instances[{number}]"))
    begin = by + body.start
    body = replace(body, start=begin, length=start + length - begin, children=tuple(fields), data=data)
    before = [_read_again(child, data, by) for child in before]
    return replace(field, start=start, length=length, children=(*before, body), data=data)


def _read_again(field: Field, data: bytes, by: int, text: str | None = None) -> Field:
    """Returns a mapped field as it is in other bytes, `by` bytes further on. `text` is the text that is read of them."""
    start, length, words = field.start + by, field.length, field.words
    value, meaning = field.value, field.meaning
    children = field.children
    if children:
        children = tuple([_read_again(child, data, by, text) for child in children])
        if words is not None:
            meaning = words(data[start : start + length])
    elif text is not None and field.type == "text":
        value = text
    elif reads := field.reads or _reads(field.type, value, _LITTLE):
        value = _value_of(data[start : start + length], reads)
        if words is not None and isinstance(value, int):
            meaning = words(value)
    kept = field.name, field.spelling, field.type
    return Field(*kept, start, length, value, meaning, children, field.doc_ref, data, 0, field.reads, words)


def _value_of(raw: bytes, reads: Reads) -> str | int:
    """Returns the value of a mapped field that its bytes have."""
    match reads:
        case "guid-le" | "guid-be":
            return guid_text(raw, "little" if reads == "guid-le" else "big")
        case "bytes":
            return raw.hex()
        case _:
            return number_read(raw, reads)


def deciding(spans: Sequence[tuple[int, int, bool]], length: int) -> bytes:
    """Returns by the field map a mask of the bytes of a buffer that decide on other fields. `spans` are the mapped fields: first
    byte, end, and whether they decide on no other."""
    mask = bytearray(b"\xff") * length
    # Fields may lie in bytes of others.
    for is_free in (True, False):
        for start, stop, frees in spans:
            if frees is is_free:
                size = max(min(stop, length) - start, 0)
                mask[start:stop] = bytes(size) if is_free else b"\xff" * size
    return bytes(mask)


_LITTLE = Encoding()
# Fields of PERF_DATA_BLOCK that decide on no other field, beside the values of counters.
_WINPERF_FREE = frozenset({*CLOCK, "perf_time", "perf_freq", "perf_time_100ns"})
# Types whose `value` or `data` is what the field that has them is about.
_WRAPPERS = {"ndr.conformant_varying", "ms_rrp_stubs.optional_u4", "ms_scmr_stubs.optional_u4"}
_GUIDS = {"ms_dtyp.guid", "ndr.uuid"}
_NUMBERS = {"u1", "u2", "u4", "u8", "s4", "s8"}


def _end(children: tuple[Field, ...], start: int) -> int:
    return max((child.stop for child in children), default=start)


def _date(of: dict[str, Any]) -> str:
    """Joins the mapped fields of a SYSTEMTIME to one value of the field map, date and time, which reads better."""
    date = f"{of['year']:04}-{of['month']:02}-{of['day']:02}"
    return f"{date}T{of['hour']:02}:{of['minute']:02}:{of['second']:02}.{of['milliseconds']:03}Z"


def _read_date(raw: bytes, *, big_endian: bool) -> str:
    """Returns the bytes of a mapped SYSTEMTIME as date and time."""
    width = len(raw) // len(CLOCK)
    order: Literal["little", "big"] = "big" if big_endian else "little"
    numbers = [int.from_bytes(raw[at : at + width], order) for at in range(0, len(raw), width)]
    return _date(dict(zip(CLOCK, numbers, strict=True)))


_DATES: dict[bool, Words] = {order: partial(_read_date, big_endian=order) for order in (False, True)}
