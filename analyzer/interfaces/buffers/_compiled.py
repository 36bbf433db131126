"""Loads the compiled Kaitai parsers in `_generated/`: a spec's name gives its compiled class and its description.

The compiler writes modules that import each other by bare name (`import ms_dtyp`). The modules of both sets (`positions` of every
spec, `plain` of those of buffers) have the same names, so nothing is put on `sys.path`. The modules that a module imports, which
its description states, are loaded first. They stand in `sys.modules` under their bare names only while that module is executed.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from threading import Lock
from types import ModuleType
from typing import Any, Literal

from msgspec import Raw, Struct, json

GENERATED = Path(__file__).parent / "_generated"
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
    """One field of a structure as its Kaitai description has it.

    `names` (of a value) and `flags` (of its bits) map numbers to (spelling, explanation), `special` numbers to what they stand for.
    `lazy` fields have a position of their own; `around` ones hold the bytes in which such fields lie. Fillers are padding,
    alignment and their like, which carry nothing. A field `decides` if some description's expression uses it, it is checked, or
    remarks look at it: with another value of it, other fields may follow.
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
    decides: bool


class TypeSpec(Struct, frozen=True):
    """One type of a Kaitai description: its path (`ms_pcq_perf_data.block`), the specification's spelling, and its fields in
    order."""

    path: str
    spelling: str
    doc_ref: str
    fields: tuple[FieldSpec, ...]


class _Specs(Mapping[str, Any]):
    """The Kaitai descriptions in `ksy/` by name; each is decoded when it is asked for, since a capture needs few of them."""

    def __init__(self, text: bytes) -> None:
        self._texts: dict[str, Raw] = json.decode(text, type=dict[str, Raw])
        self._decoded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._decoded:
            self._decoded[name] = json.decode(self._texts[name])
        return self._decoded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)


@cache
def spec_texts() -> Mapping[str, Any]:
    """Returns the text of every Kaitai description in `ksy/`, by name."""
    return _Specs((GENERATED / "specs.json").read_bytes())


def enum_names(where: str) -> dict[int, tuple[str, str]]:
    """Returns a value table of the descriptions in ksy/, such as `ms_pcq::counter_type`: number to spelling and explanation."""
    *path, last = where.split("::")
    node = spec_texts()[path[0]]
    for step in path[1:]:
        node = node["types"][step]
    made = {}
    for number, entry in node["enums"][last].items():
        if isinstance(entry, dict):
            made[int(number)] = (str(entry.get("-orig-id", entry["id"])), str(entry.get("doc", "")))
        else:
            made[int(number)] = (str(entry), "")
    return made


def _enum_of(entry: Any, path: tuple[str, ...], key: str) -> dict[int, tuple[str, str]] | None:
    """Returns the value table that a field of a Kaitai description names, None if it names none. Like the compiler, it looks from
    the field's type outwards."""
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
        decides=name in _asked_for() or "valid" in entry or "contents" in entry,
    )


# Keys of a description whose texts are expressions; and what the remarks on a buffer look at (`buffer_trees.py`).
_EXPRESSIONS = frozenset({"size", "if", "repeat-expr", "repeat-until", "pos", "value", "io", "switch-on", "type"})
_REMARKED = frozenset({"rest", "total_size", "total_byte_length", "header_length", "byte_length"}) | {
    "counter_offset",
    "counter_size",
}


@cache
def _asked_for() -> frozenset[str]:
    """Returns the names in expressions of all Kaitai descriptions, by which fields decide on others (texts of fields left out)."""
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
def _nodes() -> dict[str, tuple[Any, tuple[str, ...]]]:
    """Returns the Kaitai description and path of each type, by the qualified name of its compiled class (`MsPcqPerfData.Block`)."""
    found: dict[str, tuple[Any, tuple[str, ...]]] = {}

    def visit(node: Any, path: tuple[str, ...]) -> None:
        found[".".join(map(_camel, path))] = node, path
        for name, inner in node.get("types", {}).items():
            visit(inner, (*path, name))

    for name, node in spec_texts().items():
        visit(node, (name,))
    return found


@cache
def _type(name: str) -> TypeSpec:
    """Returns a Kaitai type by the qualified name of its compiled class. A capture uses few of them, and all would take long."""
    node, path = _nodes()[name]
    fields = [_field(entry["id"], entry, path, lazy=False) for entry in node.get("seq", ())]
    # Calculated instances are no bytes of their own, and texts of fields none but these; other positioned ones are.
    fields += [
        _field(name, entry, path, lazy=True)
        for name, entry in node.get("instances", {}).items()
        if "value" not in entry and "-text-of" not in entry
    ]
    return TypeSpec(".".join(path), str(node.get("-orig-id", "")), str(node.get("doc-ref", "")), tuple(fields))


def types() -> dict[str, TypeSpec]:
    """Returns every Kaitai type by the qualified name of its compiled class."""
    return {name: _type(name) for name in _nodes()}


def type_of(compiled: Any) -> TypeSpec:
    """Returns the Kaitai description of a compiled object's type."""
    return _type(type(compiled).__qualname__)
