"""Loads the Kaitai parsers compiled in `_generated/`, and turns the objects that they make into plain values, positions and errors.

A spec's name gives its compiled class and its description. The compiler writes modules that import each other by bare name (`import
ms_dtyp`). The modules of both sets (`positions` of every spec, `plain` of those of buffers) have the same names, so nothing is put
on `sys.path`. The modules that a module imports, which its description states, are loaded first. They stand in `sys.modules` under
their bare names only while that module is executed.

A compiled object reads from its parent's stream or from one of its own (a substream). Recorded positions count from the start of
that stream; here they count from the start of the buffer. A failed read leaves the objects read so far in place, and the place of
the failure is the last field that was begun.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from threading import Lock
from types import ModuleType
from typing import Any, Literal

from kaitaistruct import (
    EndOfStreamError,
    KaitaiStruct,
    KaitaiStructError,
    ValidationFailedError,
    ValidationGreaterThanError,
    ValidationLessThanError,
    ValidationNotEqualError,
    ValidationNotInEnumError,
)
from msgspec import Struct

from analyzer.core.errors import DecodeError, MalformedError, TruncatedError
from analyzer.interfaces.buffers.ksy_descriptions import GENERATED, enum_names, spec_texts
from analyzer.interfaces.buffers.windows_text import code_page_text, counter_value, utf16_text

# ----------------------------------------------------------------------------------------------------------------- parsers


Flavour = Literal["plain", "positions"]
_NAME = r"[a-z_][a-z0-9_]*"


# Held while modules stand in `sys.modules` under names that are not theirs.
_LENDING = Lock()


@contextmanager
def _lent(modules: Mapping[str, ModuleType]) -> Iterator[None]:
    """Makes `import name` find these compiled modules while a module that imports them is executed."""
    with _LENDING:
        before = {name: sys.modules[name] for name in modules if name in sys.modules}
        sys.modules.update(modules)
        try:
            yield
        finally:
            for name in modules:
                del sys.modules[name]
            sys.modules.update(before)


@cache
def _module(flavour: Flavour, name: str) -> ModuleType:
    imported = {wanted: _module(flavour, wanted) for wanted in spec_texts()[name]["meta"].get("imports", ())}
    spec = spec_from_file_location(f"{__package__}._generated.{flavour}.{name}", GENERATED / flavour / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    with _lent(imported):
        spec.loader.exec_module(module)
    return module


def _camel(name: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


@cache
def parser(name: str, flavour: Flavour) -> Any:
    """Returns the compiled Kaitai parser class of a spec."""
    return getattr(_module(flavour, name), _camel(name))


class FieldSpec(Struct, frozen=True):
    """One field of a compiled structure as its Kaitai description has it.

    `names` (of a value) and `flags` (of its bits) map numbers to (spelling, explanation), `special` numbers to what they stand for.
    `lazy` fields have a position of their own; `around` ones hold the bytes in which such fields lie. Fillers are padding,
    alignment and their like, which carry nothing. `is_checked`: its description says which values it may have.
    """

    name: str
    spelling: str
    type: str
    doc: str
    encoding: str | None
    meaning: str | None
    names: Mapping[int, tuple[str, str]] | None
    flags: Mapping[int, tuple[str, str]] | None
    special: Mapping[int, str]
    lazy: bool
    around: bool
    is_contained: bool
    is_filler: bool
    is_checked: bool

    @property
    def decides(self) -> bool:
        """Whether with another value of this compiled field other fields may follow: it is checked, an expression of some
        description uses it, or remarks look at it."""
        return self.is_checked or self.name in _names_in_expressions()


class TypeSpec(Struct, frozen=True):
    """One compiled type as its Kaitai description has it: its path (`ms_pcq_perf_data.block`), the specification's spelling, and
    its fields in order."""

    path: str
    spelling: str
    doc_ref: str
    fields: tuple[FieldSpec, ...]


def _enum_of(entry: Any, path: tuple[str, ...], key: str) -> dict[int, tuple[str, str]] | None:
    """Returns the value table that a field of a compiled parser names, None if it names none. Like the compiler, it looks from the
    field's type outwards."""
    if key not in entry:
        return None
    name = str(entry[key])
    if "::" in name:
        return enum_names(name)
    for depth in range(len(path), 0, -1):
        try:
            return enum_names("::".join((*path[:depth], name)))
        except KeyError:
            continue
    return None


def _field(name: str, entry: Any, path: tuple[str, ...], *, lazy: bool) -> FieldSpec:
    spelling = str(entry.get("-orig-id", name))
    encoding = entry.get("-encoding") or ("UTF-16LE" if entry.get("type") == "strz" else None)
    meaning = entry.get("-meaning")
    return FieldSpec(
        name=name,
        spelling=spelling,
        type=entry["type"] if isinstance(entry.get("type"), str) else "",
        doc=str(entry.get("doc", "")).strip(),
        encoding=encoding,
        meaning=meaning,
        names=_enum_of(entry, path, "enum") or _enum_of(entry, path, "-enum"),
        flags=_enum_of(entry, path, "-flags"),
        special={int(number): str(text) for number, text in entry.get("-special", {}).items()},
        lazy=lazy,
        around=bool(entry.get("-around", False)),
        is_contained=lazy and entry.get("type", "strz") != "strz",
        is_filler=spelling.startswith("(") and encoding is None and meaning is None,
        is_checked="valid" in entry or "contents" in entry,
    )


# Keys of a description whose texts are expressions; and what the remarks on a buffer look at (`buffer_trees.py`).
_EXPRESSIONS = frozenset({"size", "if", "repeat-expr", "repeat-until", "pos", "value", "io", "switch-on", "type"})
_REMARKED = frozenset({"rest", "total_size", "total_byte_length", "header_length", "byte_length"}) | {
    "counter_offset",
    "counter_size",
}


@cache
def _names_in_expressions() -> frozenset[str]:
    """Returns the names in expressions of all that parsers are compiled from: fields that decide on others. Texts of fields are
    left out."""
    found = set(_REMARKED)

    def visit(node: Any) -> None:
        if isinstance(node, list):
            for item in node:
                visit(item)
        elif isinstance(node, dict) and "-text-of" not in node:
            for key, value in node.items():
                if isinstance(value, str) and key in _EXPRESSIONS:
                    # A type's own name is the name of no field; what it is given may be.
                    found.update(re.findall(_NAME, value.partition("(")[2] if key == "type" else value))
                elif key == "valid":
                    found.update(re.findall(_NAME, str(value)))
                else:
                    visit(value)

    visit(list(spec_texts().values()))
    return frozenset(found)


@cache
def _nodes(name: str) -> dict[str, tuple[Any, tuple[str, ...]]]:
    """Returns for each compiled class of a spec, by its qualified name (`MsPcqPerfData.Block`), the description and the path of its
    type."""
    found: dict[str, tuple[Any, tuple[str, ...]]] = {}

    def visit(node: Any, path: tuple[str, ...]) -> None:
        found[".".join(map(_camel, path))] = node, path
        for inner, described in node.get("types", {}).items():
            visit(described, (*path, inner))

    visit(spec_texts()[name], (name,))
    return found


@cache
def _specs_of_classes() -> dict[str, str]:
    """Returns for the compiled class of each spec the spec's name."""
    return {_camel(name): name for name in spec_texts()}


@cache
def _type(name: str) -> TypeSpec:
    """Returns the type of a compiled class by its qualified name. A capture uses few of them, and all would take long."""
    node, path = _nodes(_specs_of_classes()[name.partition(".")[0]])[name]
    fields = [_field(entry["id"], entry, path, lazy=False) for entry in node.get("seq", ())]
    # Calculated instances are no bytes of their own, and texts of fields none but these; other positioned ones are.
    fields += [
        _field(name, entry, path, lazy=True)
        for name, entry in node.get("instances", {}).items()
        if "value" not in entry and "-text-of" not in entry
    ]
    return TypeSpec(".".join(path), str(node.get("-orig-id", "")), str(node.get("doc-ref", "")), tuple(fields))


def types() -> dict[str, TypeSpec]:
    """Returns the types of all compiled classes, by the qualified name of the class."""
    return {name: _type(name) for spec in spec_texts() for name in _nodes(spec)}


@cache
def buffer_field_names() -> frozenset[str]:
    """Returns the names of all fields that compiled parsers may find in a buffer (ids in `ksy/`, the keys of its tree)."""
    return frozenset(
        field.name
        for spec in types().values()
        if not spec.path.startswith(("ms_pcq_stubs", "ms_rrp_stubs", "ms_scmr_stubs"))
        for field in spec.fields
        if not field.is_filler
    )


def type_of(compiled: Any) -> TypeSpec:
    """Returns the type of a compiled object, as its description has it."""
    return _type(type(compiled).__qualname__)


# ------------------------------------------------------------------------------------------------------------------ values


JsonValue = dict[str, "JsonValue"] | list["JsonValue"] | str | int | None

# What compiled parsers raise on bytes that disagree with their description. ValueError covers texts that cannot be
# decoded and lengths below zero.
PARSER_ERRORS = (KaitaiStructError, EOFError, ValueError, OverflowError)


# winperf.h: the class of a counter type, and which text class means single bytes.
TYPE_CLASS_MASK, TYPE_CLASS_TEXT, TEXT_IS_ASCII = 0x00000C00, 0x00000800, 0x00010000


class Encoding(Struct, frozen=True):
    """The encoding inside a compiled object that its description does not state: byte order, and code page of single-byte names."""

    big_endian: bool = False
    code_page: int = 0


def is_guid(value: Any) -> bool:
    """Whether a compiled object is a GUID or UUID."""
    return type(value).__qualname__ in ("MsDtyp.Guid", "Ndr.Uuid")


def guid_of(value: Any) -> str:
    """Returns the text of a compiled GUID or UUID."""
    tail = value.data4.hex()
    return f"{value.data1:08x}-{value.data2:04x}-{value.data3:04x}-{tail[:4]}-{tail[4:]}"


def scalar_of(field: FieldSpec, value: bytes, reading: Encoding) -> str | int:
    """Returns the plain value of a compiled field's bytes."""
    if field.meaning == "counter-value":
        return counter_value(value, big_endian=reading.big_endian)
    if field.encoding == "code-page":
        if reading.code_page:
            return code_page_text(value, reading.code_page)
        return utf16_text(value, big_endian=reading.big_endian)
    if field.encoding is not None:
        return utf16_text(value, big_endian=reading.big_endian and field.encoding != "UTF-16LE")
    return value.hex()


def winperf_value(definition: Any, value: bytes | None, reading: Encoding) -> int | str | None:
    """Turns a winperf.h counter in an object of a compiled parser into its plain value: text if its type has the text class, else
    an unsigned integer; None if empty."""
    kind = int(definition.counter_type)
    if kind & TYPE_CLASS_MASK == TYPE_CLASS_TEXT:
        if kind & TEXT_IS_ASCII:
            return code_page_text(value or b"", 28591)
        return utf16_text(value or b"", big_endian=reading.big_endian)
    return None if value is None else int.from_bytes(value, "big" if reading.big_endian else "little")


def check_overlap(values: Any, length: int) -> None:
    """Raises `MalformedError` for the compiled object of a counter block whose values share its bytes more than eight times over.

    Counters that share bytes exist. But nothing limits how many definitions a forged object points at the same bytes, and each
    value is a copy.
    """
    wanted = sum(definition.counter_size for definition in values.definitions)
    if wanted > 8 * (length + 4):
        raise MalformedError(f"{wanted} bytes of values in a counter block of {length + 4}")


def reading_of(compiled: Any, reading: Encoding) -> Encoding:
    """Returns the encoding inside an object that a compiled parser made. An object of winperf.h announces the code page of its
    names itself."""
    if type_of(compiled).path == "winperf.object_body":
        return Encoding(reading.big_endian, getattr(compiled, "code_page", 0))
    return reading


def plain_value(compiled: Any, reading: Encoding) -> dict[str, JsonValue]:
    """Turns a whole object of a compiled parser into plain values, as a tree. Fillers are left out, absent optional fields are
    None. Raises a LazyError for damage."""
    tree: dict[str, JsonValue] = {}
    filler = TreeFiller()
    filler.fill(compiled, tree, reading)
    if filler.damage:
        raise filler.damage[0]
    return tree


class LazyError(Exception):
    """The error that a compiled field that is read on demand cannot be read. Its cause is the parser's exception."""

    def __init__(self, compiled: Any, field: str) -> None:
        super().__init__(field)
        self.compiled = compiled
        self.field = field


def on_demand(compiled: Any, name: str) -> Any:
    """Reads a compiled field with a position of its own, of an object that was cut off. None if its position was not reached."""
    try:
        return getattr(compiled, name)
    except (AttributeError, *PARSER_ERRORS):
        return None


def contained(compiled: Any, name: str) -> tuple[Any, LazyError | None]:
    """Reads a compiled structure on demand, as far as possible. Returns it, and the error that ended it.

    Its place is known without reading it, so its damage is contained: what follows it is read all the same. If the bytes in which
    it lies were not reached, both are None. The plain parsers keep nothing of a damaged structure.
    """
    if not all(hasattr(compiled, field.name) for field in type_of(compiled).fields if field.around):
        return None, None
    try:
        return getattr(compiled, name), None
    except PARSER_ERRORS as cause:
        error = LazyError(compiled, name)
        error.__cause__ = cause
        return getattr(compiled, f"_m_{name}", None), error


class TreeFiller:
    """Writes the values of compiled objects into trees, in order, so that values before damage stay.

    `unfinished` are the objects in which reading ended, by identity. Their fields that were never reached are left out. `damage`
    has the errors that ended structures whose damage is contained.
    """

    def __init__(self, unfinished: Iterable[int] = ()) -> None:
        self._unfinished = set(unfinished)
        self.damage: list[LazyError] = []

    def fill(self, compiled: Any, tree: dict[str, JsonValue], reading: Encoding) -> None:
        cut = id(compiled) in self._unfinished
        reading = reading_of(compiled, reading)
        if type_of(compiled).path == "winperf.counter_values":
            try:
                check_overlap(compiled, len(compiled.raw))
            except DecodeError as error:
                raise LazyError(compiled, "values") from error
        for field in type_of(compiled).fields:
            if cut and not field.lazy and field.name not in compiled._debug:
                continue
            if field.is_contained:
                self._put_contained(compiled, field, tree, reading)
                continue
            try:
                value = on_demand(compiled, field.name) if cut and field.lazy else getattr(compiled, field.name, None)
            except PARSER_ERRORS as error:
                raise LazyError(compiled, field.name) from error
            if field.is_filler and isinstance(value, bytes | None):
                continue
            if value is None and cut:
                continue
            self._put(tree, field, value, reading)

    def _put_contained(self, compiled: Any, field: FieldSpec, tree: dict[str, JsonValue], reading: Encoding) -> None:
        value, error = contained(compiled, field.name)
        if error is not None:
            self.damage.append(error)
            if value is not None:
                self._unfinished.update(unfinished_in(value))
        if value is None:
            return
        try:
            self._put(tree, field, value, reading)
        except LazyError as inner:
            self.damage.append(inner)

    def _put(self, tree: dict[str, JsonValue], field: FieldSpec, value: Any, reading: Encoding) -> None:
        if isinstance(value, list):
            items: list[JsonValue] = []
            tree[field.name] = items
            for item in value:
                if isinstance(item, KaitaiStruct):
                    self._put_object(items, item, reading)
                else:
                    items.append(scalar_of(field, item, reading) if isinstance(item, bytes) else _number(item))
        elif isinstance(value, KaitaiStruct):
            slot: list[JsonValue] = []
            try:
                self._put_object(slot, value, reading)
            finally:
                if slot:
                    tree[field.name] = slot[0]
        elif isinstance(value, bytes):
            tree[field.name] = scalar_of(field, value, reading)
        else:
            tree[field.name] = _number(value)

    def _put_object(self, items: list[JsonValue], value: Any, reading: Encoding) -> None:
        if is_guid(value):
            if id(value) not in self._unfinished:
                items.append(guid_of(value))
            return
        if type_of(value).path == "winperf.counter_value":
            try:
                items.append(winperf_value(value.definition, value.value, reading))
            except PARSER_ERRORS as error:
                raise LazyError(value, "value") from error
            return
        inner: dict[str, JsonValue] = {}
        items.append(inner)
        self.fill(value, inner, reading)


def _number(value: Any) -> JsonValue:
    if value is None or isinstance(value, str):
        return value
    return int(value)


def located(compiled: Any, error: BaseException, size: int) -> DecodeError:
    """Returns the DecodeError for a parser's exception that ended reading the root object `compiled`, which has `size` bytes."""
    path = broken_path(compiled)
    return translated(error, ".".join(name for name, _, _ in path), path[-1][1], size)


# The most damaged structures of a buffer that are described beside the first.
_MOST_DESCRIBED = 8


def damage_of(
    compiled: Any, problem: DecodeError | None, damage: Sequence[LazyError], size: int
) -> tuple[DecodeError | None, tuple[str, ...]]:
    """Returns the first damage of the compiled root object (see `damages_of`), and a sentence for each other damage."""
    return described(damages_of(compiled, problem, damage, size))


def described(found: Sequence[DecodeError]) -> tuple[DecodeError | None, tuple[str, ...]]:
    """Returns the first damage of a compiled object, and a sentence for each other damage."""
    others = [f"damaged as well: {error}" for error in found[1 : 1 + _MOST_DESCRIBED]]
    if (rest := len(found) - 1 - _MOST_DESCRIBED) > 0:
        others.append(f"damaged as well: {rest} more structures")
    return found[0] if found else None, tuple(others)


def damages_of(compiled: Any, problem: DecodeError | None, damage: Sequence[LazyError], size: int) -> list[DecodeError]:
    """Returns every damage of the compiled root object, which has `size` bytes, in the order of the bytes.

    `problem` ended reading the root. `damage` ended reading fields below it on demand.
    """
    if not damage:
        return [problem] if problem is not None else []
    wanted: dict[int, LazyError] = {}
    for error in damage:
        wanted.setdefault(id(error.compiled), error)
    found = [
        _located_below(node, path, base, wanted[id(node)], size)
        for path, node, base in walk_objects(compiled, "", 0)
        if id(node) in wanted
    ]
    if problem is not None:
        found.append(problem)
    found.sort(key=lambda error: error.start or 0)
    return found


def _located_below(node: Any, path: str, base: int, error: LazyError, size: int) -> DecodeError:
    """Returns the DecodeError for a compiled field of `node` that failed on demand; `node` is at `path`, its stream at `base`."""
    assert error.__cause__ is not None
    # A position beyond the end is reported where the stream ends that it is a position in.
    at = base + min(node._debug.get(f"_m_{error.field}", {}).get("start", 0), node._io.size())
    field = f"{path}.{error.field}".lstrip(".")
    part = getattr(node, f"_m_{error.field}", None)
    if isinstance(part, KaitaiStruct) and (inner := broken_path(part)):
        field = ".".join((field, *(name for name, _, _ in inner)))
        at += inner[-1][1]
    return translated(error.__cause__, field, min(at, size), size)


def walk_objects(compiled: Any, path: str, base: int) -> Iterator[tuple[str, Any, int]]:
    """Yields every compiled object below `compiled`, with its path and where its stream begins, the root first."""
    yield path, compiled, base
    for held, place in compiled._debug.items():
        # Fields read on demand are held under another name; by their own name they would be read again.
        name, child = held.removeprefix("_m_"), getattr(compiled, held, None)
        places = place["arr"] if isinstance(child, list) else [place]
        for number, item in enumerate(child if isinstance(child, list) else [child]):
            if not isinstance(item, KaitaiStruct):
                break
            step = f"{path}.{name}" if child is item else f"{path}.{name}[{number}]"
            inner = base if item._io is compiled._io else base + places[number]["start"]
            yield from walk_objects(item, step.lstrip("."), inner)


def broken_path(root: Any) -> list[tuple[str, int, Any]]:
    """Returns the path from the compiled root down to the field at which reading ended. Each step has the field's name, its offset
    in the buffer, and its object."""
    path: list[tuple[str, int, Any]] = []
    node, base = root, 0
    while begun := [(name, place) for name, place in node._debug.items() if not name.startswith("_m_")]:
        name, place = begun[-1]
        child = getattr(node, name, None)
        at = place["start"]
        if isinstance(child, list) and "end" not in place and place["arr"]:
            number = len(place["arr"]) - 1
            at = place["arr"][number]["start"]
            name = f"{name}[{number}]"
            child = child[number] if number < len(child) else None
        path.append((name, base + at, node))
        if not isinstance(child, KaitaiStruct) or "end" in place:
            break
        if child._io is not node._io:
            base += at
        node = child
    return path


def unfinished_in(root: Any) -> Iterator[int]:
    """Yields the identities of the compiled objects in which reading a root object ended early."""
    return (id(node) for _, _, node in broken_path(root))


def translated(error: BaseException, field: str, start: int, stop: int) -> DecodeError:
    """Converts an exception of the compiled parser to our decode error."""
    if isinstance(error, DecodeError):
        return type(error)(error.reason, field=field, start=start, stop=stop)
    if isinstance(error, EndOfStreamError):
        if error.bytes_available == 0 and "terminator" in str(error):
            return TruncatedError("no terminator before the end", field=field, start=start, stop=stop)
        return TruncatedError(
            f"{error.bytes_needed} bytes wanted, {error.bytes_available} left", field=field, start=start, stop=stop
        )
    if isinstance(error, EOFError):
        return TruncatedError("the bytes end here", field=field, start=start, stop=stop)
    if isinstance(error, UnicodeDecodeError):
        return MalformedError(f"not {error.encoding} text: {error.reason}", field=field, start=start, stop=stop)
    if isinstance(error, ValidationFailedError):
        return MalformedError(_disagreement(error), field=field, start=start, stop=stop)
    below_zero = re.search(r"invalid (?:position )?(-\d+)", str(error))
    return MalformedError(
        f"a length or offset of {below_zero[1]}" if below_zero else "not a possible value",
        field=field,
        start=start,
        stop=stop,
    )


def _disagreement(error: Any) -> str:
    actual = error.actual
    value = actual.hex() if isinstance(actual, bytes) else f"{actual:d}" if isinstance(actual, int) else "the value"
    if isinstance(error, ValidationLessThanError):
        return f"{value} is below {error.min}"
    if isinstance(error, ValidationGreaterThanError):
        return f"{value} is above {error.max}"
    if isinstance(error, ValidationNotEqualError):
        expected = error.expected.hex() if isinstance(error.expected, bytes) else error.expected
        return f"{value} where only {expected} is allowed"
    if isinstance(error, ValidationNotInEnumError):
        return f"{value} is none of the values defined"
    return f"{value} is not allowed here"
