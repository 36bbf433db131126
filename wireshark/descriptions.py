"""What the dissectors in Lua and in C have in common: filters, the forms fields are shown in, expressions as trees."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from analyzer.core.error_code_names import win32_numbers
from analyzer.interfaces.buffers.ksy_descriptions import enum_names, spec_texts

Node = tuple[Any, ...]
# How filters begin, by type; a type that is not here takes the name of the one it is in, and its own.
PREFIXES = {
    "ms_pcq_stubs.machine_name": "pcq.machine",
    "ms_pcq_guid_list": "pcq.enumerate_counter_set",
    "ms_pcq_counterset_info": "pcq.counterset",
    "ms_pcq_counter_info": "pcq.counter_info",
    "ms_pcq_string": "pcq.registration",
    "ms_pcq_string_table": "pcq.string_table",
    "ms_pcq_provider_guid": "pcq.provider",
    "ms_pcq_instance_list": "pcq.enumerate_counter_set_instances",
    "ms_pcq_identifier_list": "pcq.identifiers",
    "ms_pcq_identifier_list.identifier": "pcq.identifier",
    "ms_pcq_perf_data": "pcq.query_counter_data",
    "ms_pcq.counter_reg_info": "pcq.counter",
    "ms_pcq.instance_header": "pcq.instance",
    "ms_dtyp": "pcq",
    "ndr": "pcq.ndr",
    "winperf.perf_object": "winperf.object",
    "winperf.object_body": "winperf.object",
    "winperf.counter_values": "winperf.counter_block",
    "winperf.counter_value": "winperf.counter_block",
    "winperf.instance_body": "winperf.instance",
    "name_table": "winperf.name_table",
}
# Types that are one value in Wireshark, and those that stand for what they hold.
LEAVES = {"ms_dtyp.guid": "guid", "ndr.uuid": "uuid"}
BARE = {"winperf.counter_value", "winperf.counter_values"}
WRAPPERS = {"ndr.conformant_varying", "ndr.conformant"}
SILENT = "ms_rrp_stubs"
# What Wireshark itself shows.
LEFT_OUT = ("ms_scmr_stubs",)
INTEGERS = {"u1": "uint8", "u2": "uint16", "u4": "uint32", "u8": "uint64", "s4": "int32", "s8": "int64"}
# Fields that all methods have are found under one name.
SHARED = {"status": "pcq.status", "machine": "pcq.machine"}


def prefix_of(path: str) -> str:
    """How filters of the fields of a type begin."""
    if path in PREFIXES:
        return PREFIXES[path]
    if path.startswith("ms_pcq_stubs."):
        return "pcq." + re.sub(r"_(request|response)$", "", path.rpartition(".")[2])
    outer, _, name = path.rpartition(".")
    return f"{prefix_of(outer)}.{name}" if outer else path


def filter_name(path: str, field: str) -> str:
    """The filter of a field: `pcq.query_counter_data.block.type`; the name of the structure is not stated twice."""
    if path.startswith("ms_pcq_stubs.") and field in SHARED:
        return SHARED[field]
    prefix = prefix_of(path)
    return f"{prefix}.{field.removeprefix(prefix.rpartition('.')[2] + '_')}"


class Shown(NamedTuple):
    """A field as Wireshark registers it."""

    filter: str
    spelling: str
    kind: str
    """As a constructor of ProtoField is called: `uint32`, `string`, `none`, ..."""
    base: str = ""
    names: tuple[tuple[int, str], ...] = ()
    """What values stand for."""


OPNUM = Shown("pcq.opnum", "opnum", "uint16", "DEC")


def shown_forms(name: str, field: dict[str, Any], path: tuple[str, ...]) -> Iterator[tuple[str, Shown]]:
    """The forms that a field may be shown in, each with what it is for: `field`, and for some values `text`, `raw` or `data`."""
    dotted, kind = ".".join(path), field.get("type")
    stated, spelling = filter_name(dotted, name), str(field["-orig-id"])
    if isinstance(kind, dict):
        is_integer = set(kind["cases"].values()) <= INTEGERS.keys()
        yield "field", Shown(stated, spelling, *(("uint64", "DEC") if is_integer else ("none",)))
    elif field.get("-meaning") in ("counter-value", "v1-value"):
        yield "field", Shown(stated, spelling, "uint64", "DEC")
        yield "text", Shown(f"{stated}.text", spelling, "string")
        if field["-meaning"] == "v1-value":
            yield "raw", Shown(f"{stated}.bytes", spelling, "bytes")
    elif kind in INTEGERS and field.get("-meaning") == "filetime":
        yield "field", Shown(stated, spelling, "absolute_time", "UTC")
    elif kind in INTEGERS:
        base = "HEX" if "-flags" in field or field.get("enum") == "counter_type" else "DEC"
        names = _names_of_values(field, path) if kind not in ("u8", "s8") else ()
        yield "field", Shown(stated, spelling, INTEGERS[kind], base, names)
    elif kind == "strz" or (kind is None and "-encoding" in field):
        yield "field", Shown(stated, spelling, "string")
    elif kind is None:
        yield "field", Shown(stated, spelling, "bytes")
    else:
        target = resolved(str(kind).partition("(")[0], path)
        yield "field", Shown(stated, spelling, "guid" if target in LEAVES else "none")
        if target in WRAPPERS:
            yield "data", Shown(f"{stated}.data", spelling, "string" if "-encoding" in field else "bytes")


def _names_of_values(field: dict[str, Any], path: tuple[str, ...]) -> tuple[tuple[int, str], ...]:
    if field.get("-meaning") == "win32":
        return tuple(sorted((number, name) for name, number in win32_numbers().items()))
    if enum := field.get("enum"):
        return tuple(sorted((number, spelled) for number, (spelled, _) in find_enum(enum, path).items()))
    return ()


def methods() -> dict[int, str]:
    """The names of the methods of PerflibV2 by opnum."""
    cases = spec_texts()["ms_pcq_stubs"]["seq"][0]["type"]["cases"]
    types = spec_texts()["ms_pcq_stubs"]["types"]
    return {int(opnum): str(types[name]["-orig-id"]) for opnum, name in cases.items()}


def stubs(spec: str, direction: str) -> dict[int, str]:
    """The types of the stubs of one direction by opnum."""
    (field,) = (one for one in spec_texts()[spec]["seq"] if one["id"] == direction)
    return {int(opnum): f"{spec}.{name}" for opnum, name in field["type"]["cases"].items()}


def is_payload(name: str, field: dict[str, Any], path: tuple[str, ...]) -> bool:
    """Whether a field of a stub holds the buffer that the call is about."""
    return field["-orig-id"] in ("lpData", "lpvalueBuf") or (".".join(path), name) == (
        f"{SILENT}.optional_data",
        "array",
    )


def is_filler(field: dict[str, Any]) -> bool:
    """Whether a field is padding, or bytes that others are parts of."""
    named = not {"-encoding", "-meaning"} & field.keys()
    return str(field["-orig-id"]).startswith("(") and named and field.get("type") is None


class Parser:
    """Reads a Kaitai expression into a tree of tuples, whose first item says what it is."""

    TOKEN = re.compile(r"\s*(?:(0x[0-9a-fA-F]+|\d+)|([A-Za-z_][\w]*(?:::\w+)*)|(==|!=|<=|>=|[-+*/%<>?:().,\[\]]))")
    LEVELS = (("or",), ("and",), ("==", "!=", "<", ">", "<=", ">="), ("+", "-"), ("*", "/", "%"))

    def __init__(self, source: str, path: str) -> None:
        self._path = path
        self._tokens: list[str] = []
        at = 0
        while at < len(source.rstrip()):
            found = self.TOKEN.match(source, at)
            if found is None:
                raise ValueError(f"{path}: {source}")
            self._tokens.append(found[1] or found[2] or found[3])
            at = found.end()
        self._at = 0

    def one(self) -> Node:
        """The whole text as one expression."""
        made = self._choice()
        if self._at < len(self._tokens):
            raise ValueError(f"{self._path}: {' '.join(self._tokens)}")
        return made

    def several(self) -> list[Node]:
        """A list of expressions, separated by commas."""
        made = [self._choice()]
        while self._next(","):
            made.append(self._choice())
        return made

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _next(self, *wanted: str) -> str:
        if self._peek() in wanted:
            self._at += 1
            return self._tokens[self._at - 1]
        return ""

    def _choice(self) -> Node:
        condition = self._binary(0)
        if not self._next("?"):
            return condition
        yes = self._choice()
        assert self._next(":")
        return ("choice", condition, yes, self._choice())

    def _binary(self, level: int) -> Node:
        if level == len(self.LEVELS):
            return self._unary()
        made = self._binary(level + 1)
        while operator := self._next(*self.LEVELS[level]):
            made = ("binary", operator, made, self._binary(level + 1))
        return made

    def _unary(self) -> Node:
        if self._next("not"):
            return ("not", self._binary(2))
        if self._next("-"):
            return ("minus", self._unary())
        return self._postfix()

    def _postfix(self) -> Node:
        token = self._tokens[self._at]
        self._at += 1
        made: Node
        if token == "(":
            made = ("group", self._choice())
            assert self._next(")")
        elif token[0].isdigit():
            made = ("number", token)
        elif token in ("true", "false"):
            made = ("truth", token)
        elif "::" in token:
            made = ("number", str(_enum_value(token, self._path)))
        else:
            made = ("name", token)
        while sign := self._next(".", "["):
            if sign == "[":
                made = ("item", made, self._choice())
                assert self._next("]")
                continue
            made = ("part", made, self._tokens[self._at])
            self._at += 1
        return made


def parsed(source: object, path: str) -> Node:
    """The tree of an expression."""
    return Parser(str(source).lower() if isinstance(source, bool) else str(source), path).one()


def _enum_value(name: str, path: str) -> int:
    table, _, wanted = name.rpartition("::")
    node: Any = spec_texts()
    spec, _, enum = table.partition("::")
    for number, entry in node[spec]["enums"][enum].items():
        if entry["id"] == wanted:
            return int(number)
    raise ValueError(f"{path}: {name}")


def resolved(name: str, path: tuple[str, ...]) -> str:
    """The path of a type that is named in a type."""
    if "::" in name:
        return name.replace("::", ".")
    for depth in range(len(path), 0, -1):
        node: Any = spec_texts()[path[0]]
        for step in path[1:depth]:
            node = node["types"][step]
        if name in node.get("types", {}):
            return ".".join((*path[:depth], name))
    raise ValueError(f"{'.'.join(path)}: no type {name}")


def find_enum(name: str, path: tuple[str, ...]) -> dict[int, tuple[str, str]]:
    if "::" in name:
        return enum_names(name)
    for depth in range(len(path), 0, -1):
        try:
            return enum_names("::".join((*path[:depth], name)))
        except KeyError:
            continue
    raise ValueError(f"{'.'.join(path)}: no enum {name}")
