"""Writes the dissector in C: a function for each structure that a call can carry, and the tables that Wireshark registers.

`runtime.c` beside this file is the part that is written by hand; what is made here takes the place of its lines `@NAME@`.
Each description is written twice: the first time says which values others ask for, and so what has to be kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from analyzer.interfaces.buffers.ksy_descriptions import spec_texts
from wireshark.descriptions import (
    BARE,
    INTEGERS,
    LEAVES,
    OPNUM,
    SILENT,
    WRAPPERS,
    Node,
    Parser,
    Shown,
    find_enum,
    is_filler,
    is_payload,
    methods,
    parsed,
    resolved,
    shown_forms,
    stubs,
)

# What is read of a call that Wireshark shows by itself, by opnum and direction.
WINREG = {"enum_value": 10, "query_value": 17}
BUFFERS = (
    "ms_pcq_guid_list",
    "ms_pcq_counterset_info",
    "ms_pcq_counter_info",
    "ms_pcq_string",
    "ms_pcq_string_table",
    "ms_pcq_provider_guid",
    "ms_pcq_instance_list",
    "ms_pcq_identifier_list",
    "ms_pcq_perf_data",
    "winperf",
    "name_table",
)
# Values that the part written by hand asks for: of the context, by specification and field, and of structures.
NOTED = {
    ("ms_pcq_stubs", "status"): "status",
    ("ms_rrp_stubs", "status"): "status",
    ("ms_pcq_stubs", "request_code"): "request_code",
    ("winperf", "code_page"): "code_page",
}
KEPT = {("winperf.counter_definition", name) for name in ("counter_size", "counter_type", "counter_name_title_index")}
# What is looked at before a structure is read.
CHECKS = {"winperf.counter_values": "check_counter_values(c, s, tree, definitions)"}
FORMS = {
    "uint16": "FT_UINT16",
    "uint32": "FT_UINT32",
    "uint64": "FT_UINT64",
    "int32": "FT_INT32",
    "int64": "FT_INT64",
    "none": "FT_NONE",
    "bytes": "FT_BYTES",
    "string": "FT_STRING",
    "guid": "FT_GUID",
    "absolute_time": "FT_ABSOLUTE_TIME",
}
BASES = {"": "BASE_NONE", "DEC": "BASE_DEC", "HEX": "BASE_HEX", "UTC": "ABSOLUTE_TIME_UTC"}
OPERATORS = {"or": "||", "and": "&&"}

_WIDTH = 120

Kind = tuple[str, ...]
NUMBER: Kind = ("number",)
TRUTH: Kind = ("truth",)
TEXT: Kind = ("text",)


def quoted(value: str) -> str:
    """A string of C."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    return f'"{escaped}"'


def c_name(dotted: str) -> str:
    return dotted.replace(".", "_")


def node_of(dotted: str) -> dict[str, Any]:
    """The description of a type."""
    first, *inner = dotted.split(".")
    node: Any = spec_texts()[first]
    for name in inner:
        node = node["types"][name]
    return dict(node)


class Knowledge:
    """What the first writing of all structures found out for the second."""

    def __init__(self) -> None:
        self.needed: set[tuple[str, str]] = set(KEPT)
        """Fields, by type and name, whose values something asks for."""
        self.exported: set[str] = {dotted for dotted, _ in KEPT}
        """Types whose values others ask for."""
        self.fields: dict[str, Shown] = {}
        self.elements: dict[str, str] = {}
        self.specials: dict[str, str] = {}

    def field(self, form: Shown) -> str:
        """The variable of a field that Wireshark registers."""
        known = self.fields.setdefault(form.filter, form)
        if known != form and form.kind != "none":
            raise ValueError(f"two fields are called {form.filter}")
        return f"hf_{c_name(form.filter)}"

    def table(self, tables: dict[str, str], made: str, stem: str) -> str:
        """The name of a table with these lines; those that are alike are one."""
        return tables.setdefault(made, f"{stem}_{len(tables)}")


class Described:
    """One type, with its values as variables of C and its expressions as expressions of C."""

    def __init__(self, dotted: str, known: Knowledge) -> None:
        self.dotted, self._known = dotted, known
        self._path = tuple(dotted.split("."))
        self.node = node_of(dotted)
        self.fields: dict[str, dict[str, Any]] = {field["id"]: field for field in self.node.get("seq", ())}
        instances = {name: one for name, one in self.node.get("instances", {}).items() if "-text-of" not in one}
        self.later = {name: one for name, one in instances.items() if "value" not in one}
        self.values = {name: one["value"] for name, one in instances.items() if "value" in one}
        self.params: dict[str, str] = {one["id"]: one["type"] for one in self.node.get("params", ())}
        self._computed: set[str] = set()
        self._touched: list[str] = []
        self._current = ""

    @property
    def is_exported(self) -> bool:
        return self.dotted in self._known.exported

    @property
    def has_own_endian(self) -> bool:
        return node_of(self.dotted).get("meta", {}).get("endian") is not None

    def _variable(self, name: str) -> str:
        return f"o->{name}" if self.is_exported else name

    def _kind_of_type(self, kind: str) -> Kind:
        if kind.endswith("[]"):
            return ("list", *self._kind_of_type(kind[:-2]))
        if kind == "bool":
            return TRUTH
        if kind in INTEGERS:
            return NUMBER
        return ("struct", resolved(kind.partition("(")[0], self._path))

    def _kind_of_field(self, name: str) -> Kind:
        field = self.fields[name]
        kind = field.get("type")
        if isinstance(kind, dict):
            return NUMBER
        if kind is None:
            return ("bytes",)
        found = TEXT if kind == "strz" else self._kind_of_type(kind)
        return ("list", *found) if "repeat" in field and name != self._current else found

    def _value(self, node: Node) -> tuple[str, Kind]:
        """An expression of C, and of what kind it is."""
        match node:
            case "number", token:
                return f"INT64_C({token})" if int(token, 0) > 0x7FFFFFFF else token, NUMBER
            case "truth", token:
                return token, TRUTH
            case "name", name:
                return self._named(name)
            case "group", inner:
                made, kind = self._value(inner)
                return (made if made.startswith("(") or re.fullmatch(r"[\w>-]+", made) else f"({made})"), kind
            case "not", inner:
                return f"!{self._value(inner)[0]}", TRUTH
            case "minus", inner:
                return f"-{self._value(inner)[0]}", NUMBER
            case "choice", condition, yes, no:
                made, kind = self._value(yes)
                return f"({self._value(condition)[0]} ? {made} : {self._value(no)[0]})", kind
            case "binary", "*", one, other:
                return f"product({self._value(one)[0]}, {self._value(other)[0]})", NUMBER
            case "binary", operator, one, other:
                made = f"({self._value(one)[0]} {OPERATORS.get(operator, operator)} {self._value(other)[0]})"
                return made, NUMBER if operator in "+-/%" else TRUTH
            case "item", outer, index:
                made, kind = self._value(outer)
                at = f"(unsigned){self._value(index)[0]}"
                if kind == ("list", *NUMBER):
                    return f"*(const uint8_t *)wmem_array_index({made}, {at})", NUMBER
                return f"(const struct {c_name(kind[2])} *)wmem_array_index({made}, {at})", ("pointer", kind[2])
            case "part", outer, name:
                return self._part(outer, name)
        raise ValueError(f"{self.dotted}: {node}")

    def _named(self, name: str) -> tuple[str, Kind]:
        if name == "_index":
            return "i", NUMBER
        if name in ("_root", "_io"):
            return name, (name,)
        if name == "_":
            name = self._current
            if self._kind_of_field(name)[0] == "struct":
                return "one", self._kind_of_field(name)
        if name in self.params:
            kind = self._kind_of_type(self.params[name])
            if kind[0] == "list" and kind[1] == "struct":
                self._known.exported.add(kind[2])
            return name, ("pointer", kind[1]) if kind[0] == "struct" else kind
        if name in self.values:
            self._touched.append(name)
            kind = NUMBER
        else:
            kind = self._kind_of_field(name)
        self._known.needed.add((self.dotted, name))
        return self._variable(name), kind

    def _part(self, outer: Node, name: str) -> tuple[str, Kind]:
        made, kind = self._value(outer)
        match kind, name:
            case ("_root",), _:
                return f"c->{name}", TRUTH
            case ("_io",), "pos":
                return "position(s)", NUMBER
            case ("_io",), "size":
                return "size_of(s)", NUMBER
            case ("_io",), "eof":
                return "is_at_end(s)", TRUTH
            case ("list", *_), "size":
                return f"(int64_t)wmem_array_get_count({made})", NUMBER
            case ("text",), "length":
                return made, NUMBER
        self._known.needed.add((kind[1], name))
        self._known.exported.add(kind[1])
        other = Described(kind[1], self._known)
        return f"{made}{'->' if kind[0] == 'pointer' else '.'}{name}", other._kind_of_field(name)

    def _code(self, source: object) -> str:
        return self._value(parsed(source, self.dotted))[0]

    def _condition(self, source: object) -> str:
        made = self._code(source)
        return made if made.startswith("(") and _is_one_group(made) else f"({made})"


class Structure(Described):
    """One type as a function of C that reads and shows it."""

    def __init__(self, dotted: str, known: Knowledge) -> None:
        super().__init__(dotted, known)
        self.uses: list[str] = []
        holders = [name for name, field in self.fields.items() if field.get("-around")]
        self._holder = holders[0] if holders and self.later else ""
        self._out = "goto later;" if self._holder else "return false;"

    def function(self) -> str:
        """The function that reads and shows the structure."""
        body: list[str] = []
        endian = self.node.get("meta", {}).get("endian")
        if isinstance(endian, dict):
            body.append(
                f"const unsigned encoding = {self._code(endian['switch-on'])} ? ENC_BIG_ENDIAN : ENC_LITTLE_ENDIAN;"
            )
        elif endian is not None:
            body.append("const unsigned encoding = ENC_LITTLE_ENDIAN;")
        read: list[str] = []
        if check := CHECKS.get(self.dotted):
            read += [f"if (!{check})", f"    {self._out}"]
        for name, field in self.fields.items():
            read += self._field(name, field)
            if name == self._holder:
                read.append("has_holder = true;")
        read += self._after()
        if not re.search(r"\bencoding\b", "\n".join(read)):
            body = [line for line in body if "encoding" not in line]
        body += self._locals()
        lines = [*body, *([""] if body else []), *read]
        return self._signature("\n".join(lines)) + "\n{\n" + "\n".join(_folded(_indented(lines))) + "\n}\n"

    def _after(self) -> Iterator[str]:
        """What comes behind the fields in order: those with positions of their own, though others are damaged."""
        if not self.later:
            yield "return true;"
            return
        ((name, field),) = self.later.items()
        if self._holder:
            yield from ("is_whole = true;", "later:", "if (!is_whole && !has_holder)", "    return false;")
        self._out = "return false;"
        before = len(self._touched)
        inner = list(self._at_position(name, field))
        assert set(self._touched[before:]) <= self._computed, self.dotted
        yield f"if {self._condition(field['if'])} {{" if "if" in field else "{"
        yield from _indented(inner)
        yield "}"
        yield "return is_whole;" if self._holder else "return true;"

    def _at_position(self, name: str, field: dict[str, Any]) -> Iterator[str]:
        yield from ("const int before = s->at;", "")
        yield f"if (!move_to(c, s, tree, {quoted(field['-orig-id'])}, {_bare(self._code(field['pos']))}))"
        yield "    return false;"
        is_contained = field.get("type") not in (None, "strz")
        yield from self._one(name, field, is_contained)
        yield "s->at = before;"

    def _locals(self) -> Iterator[str]:
        if self._holder:
            yield "bool is_whole = false, has_holder = false;"
        for name, kind in self._members():
            variable = self._variable(name)
            if kind[0] == "list":
                size = f"wmem_array_new(c->pinfo->pool, sizeof (struct {c_name(kind[2])}))"
                yield f"{variable} = {size};" if self.is_exported else f"wmem_array_t *{name} = {size};"
            elif not self.is_exported:
                yield f"{_declared(name, kind)} = {'{ 0 }' if kind[0] == 'struct' else 'false' if kind == TRUTH else '0'};"

    def _members(self) -> Iterator[tuple[str, Kind]]:
        """The values that are kept."""
        for name in (*self.fields, *self.values):
            if (self.dotted, name) in self._known.needed:
                kind = NUMBER if name in self.values else self._kind_of_field(name)
                if kind[0] != "bytes":
                    yield name, kind

    def declaration(self) -> str:
        """The struct of what others ask for."""
        members = [f"    {_declared(name, kind)};" for name, kind in self._members()]
        return "\n".join((f"struct {c_name(self.dotted)} {{", *members, "};")) if members else ""

    def _signature(self, body: str) -> str:
        params = ["pcq_context *c", "pcq_span *s", "proto_tree *tree"]
        if not self.has_own_endian:
            params.append("unsigned encoding")
        for name, stated in self.params.items():
            kind = self._kind_of_type(stated)
            typed = {"list": "wmem_array_t *", "truth": "bool ", "number": "int64_t "}.get(kind[0])
            params.append(f"{typed}{name}" if typed else f"const struct {c_name(kind[1])} *{name}")
        if self.dotted in WRAPPERS:
            params.append("const pcq_elements *shown")
        if self.is_exported:
            params.append(f"struct {c_name(self.dotted)} *o")
        names = [re.findall(r"\w+", one)[-1] for one in params]
        marked = [
            one if re.search(rf"\b{name}\b", body) else f"{one} _U_" for name, one in zip(names, params, strict=True)
        ]
        return "\n".join(("static bool", *_folded([f"read_{c_name(self.dotted)}({', '.join(marked)})"])))

    def call(self, span: str, tree: str, arguments: list[str], shown: str, out: str) -> str:
        """A call of the function."""
        given = ["c", span, tree, *([] if self.has_own_endian else ["encoding"]), *arguments]
        given += [shown] * (self.dotted in WRAPPERS) + [out] * self.is_exported
        return f"read_{c_name(self.dotted)}({', '.join(given)})"

    def _field(self, name: str, field: dict[str, Any]) -> list[str]:
        self._touched = []
        self._current = name if "repeat" in field else ""
        made = self._repeated(name, field) if "repeat" in field else list(self._one(name, field))
        self._current = name
        if "valid" in field:
            made += self._valid(name, field)
        if "if" in field:
            self._current = ""
            is_block = made[0] == "{" and made[-1] == "}"
            made = [f"if {self._condition(field['if'])} {{", *(made[1:-1] if is_block else _indented(made)), "}"]
        self._current = ""
        return [*self._computing(), *made]

    def _computing(self) -> list[str]:
        """Values that are computed are computed where they are first asked for."""
        made: list[str] = []
        for name in list(self._touched):
            if name in self._computed:
                continue
            self._computed.add(name)
            self._touched = []
            code = self._code(self.values[name])
            made += [*self._computing(), f"{self._variable(name)} = {code};"]
        return made

    def _repeated(self, name: str, field: dict[str, Any]) -> list[str]:
        until = field.get("repeat-until")
        conditions = {"eos": "!is_at_end(s)", "until": "true"}
        condition = conditions.get(field["repeat"]) or f"i < {self._code(field['repeat-expr'])}"
        inner = list(self._one(name, field))
        if until:
            inner += [f"if {self._condition(until)}", "    break;"]
        if not any(re.search(r"\bi\b", line) for line in (*inner, condition)):
            return [f"while ({condition}) {{", *_indented(inner), "}"]
        return [f"for (int64_t i = 0; {condition}; i++) {{", *_indented(inner), "}"]

    def _one(self, name: str, field: dict[str, Any], is_contained: bool = False) -> Iterator[str]:
        """Reads one value of a field."""
        kind = field.get("type")
        size = _bare(self._code(field["size"])) if "size" in field else None
        if field.get("size-eos"):
            size = "s->stop - s->at"
        if set(kind["cases"].values() if isinstance(kind, dict) else [kind]) <= INTEGERS.keys():
            yield from self._number(name, field)
        elif kind == "strz" and size is None:
            length = f"&{self._variable(name)}" if (self.dotted, name) in self._known.needed else "NULL"
            ends = "true" if field.get("eos-error") is False else "false"
            yield from self._checked(f"read_terminated(c, s, tree, {self._hf(name, field)}, {ends}, {length})")
        elif kind is None:
            yield from self._bytes(name, field, str(size))
        elif isinstance(kind, str) and resolved(kind.partition("(")[0], self._path) in LEAVES:
            yield from self._guid(name, field, kind)
        else:
            yield from self._typed(name, field, size, is_contained)

    def _checked(self, call: str) -> Iterator[str]:
        yield f"if (!{call})"
        yield f"    {self._out}"

    def _forms(self, name: str, field: dict[str, Any]) -> dict[str, str]:
        if self._path[0] == SILENT:
            return {}
        return {role: self._known.field(form) for role, form in shown_forms(name, field, self._path)}

    def _hf(self, name: str, field: dict[str, Any]) -> str:
        return self._forms(name, field).get("field", "-1")

    def _number(self, name: str, field: dict[str, Any]) -> Iterator[str]:
        kind = field["type"]
        if isinstance(kind, dict):
            assert kind["cases"] == {"true": "u8", "false": "u4"} or kind["cases"] == {True: "u8", False: "u4"}, name
            length, is_signed = f"{self._code(kind['switch-on'])} ? 8 : 4", "false"
        else:
            length, is_signed = kind[1], "true" if kind[0] == "s" else "false"
        noted = NOTED.get((self._path[0], name))
        if noted:
            self._known.needed.add((self.dotted, name))
        is_needed = (self.dotted, name) in self._known.needed and "repeat" not in field
        out = f"&{self._variable(name)}" if is_needed else "NULL"
        hf = self._hf(name, field)
        yield from self._checked(f"read_number(c, s, tree, encoding, {hf}, {length}, {is_signed}, {out})")
        if "-special" in field:
            rows = [f"    {{ {number}, {quoted(str(said))} }}," for number, said in field["-special"].items()]
            table = self._known.table(self._known.specials, "\n".join(rows), "specials")
            yield f"append_special(c, {table});"
        if "-flags" in field:
            rows = [
                f"    {{ {bit}, {quoted(said)} }}," for bit, (said, _) in find_enum(field["-flags"], self._path).items()
            ]
            table = self._known.table(self._known.specials, "\n".join(rows), "specials")
            yield f"append_flags(c, {table});"
        if noted:
            yield f"c->{noted} = {self._variable(name)};"

    def _bytes(self, name: str, field: dict[str, Any], size: str) -> Iterator[str]:
        spelling = quoted(field["-orig-id"])
        forms = {} if is_filler(field) else self._forms(name, field)
        if self.dotted in WRAPPERS and name == "data":
            yield from self._checked(f"read_elements(c, s, tree, encoding, {spelling}, {size}, shown)")
        elif is_filler(field):
            if field.get("size-eos"):
                yield "s->at = s->stop;"
            else:
                yield from self._checked(f"skip(c, s, tree, {spelling}, {size})")
        elif field.get("-meaning") == "v1-value":
            hfs = f"{forms['field']}, {forms['text']}, {forms['raw']}"
            yield from self._checked(f"read_v1_value(c, s, tree, encoding, {hfs}, definition)")
        elif field.get("-meaning") == "counter-value":
            yield from self._checked(f"read_value(c, s, tree, {forms['field']}, {forms['text']}, {size})")
        elif encoding := field.get("-encoding"):
            form = {"UTF-16": "PCQ_UTF16", "UTF-16LE": "PCQ_UTF16LE", "code-page": "PCQ_CODE_PAGE"}[encoding]
            yield from self._checked(f"read_text(c, s, tree, encoding, {forms['field']}, {form}, {size})")
        else:
            raise ValueError(f"{self.dotted}.{name}: bytes of no known meaning")

    def _guid(self, name: str, field: dict[str, Any], kind: str) -> Iterator[str]:
        rest = kind.partition("(")[2]
        order = "ENC_LITTLE_ENDIAN"
        if rest:
            order = (
                f"{self._value(Parser(rest[:-1], self.dotted).several()[0])[0]} ? ENC_BIG_ENDIAN : ENC_LITTLE_ENDIAN"
            )
        yield from self._checked(f"read_guid(c, s, tree, {self._hf(name, field)}, {order})")

    def _typed(self, name: str, field: dict[str, Any], size: str | None, is_contained: bool) -> Iterator[str]:
        """A structure, or one of several, below a node of its own."""
        kinds: dict[str, str] = field["type"]["cases"] if isinstance(field["type"], dict) else {"": field["type"]}
        target = resolved(kinds[""].partition("(")[0], self._path) if "" in kinds else ""
        has_node = target not in BARE and self._path[0] != SILENT
        is_kept = (self.dotted, name) in self._known.needed
        has_one = target in self._known.exported and (not is_kept or "repeat" in field)
        out = "&one" if has_one else f"&{self._variable(name)}"
        span = "s" if size is None else "&inner"
        declared = ["pcq_span inner;"] * (size is not None) + ["pcq_node node;", "bool is_read;"] * has_node
        declared += [f"struct {c_name(target)} one = {{ 0 }};"] * has_one
        lines: list[str] = []
        if size is not None:
            lines += self._checked(f"take_span(c, s, tree, {quoted(field['-orig-id'])}, {size}, &inner)")
        if has_node:
            lines += self._in_node(name, field, kinds, span, out, is_contained)
        else:
            lines += self._checked(self._called(name, field, kinds[""], span, "tree", out))
        if is_kept and "repeat" in field:
            lines.append(f"wmem_array_append_one({self._variable(name)}, one);")
        if declared:
            lines = [*declared, "", *lines]
        yield from lines if "repeat" in field or not declared else ["{", *_indented(lines), "}"]

    def _in_node(
        self, name: str, field: dict[str, Any], kinds: dict[str, str], span: str, out: str, is_contained: bool
    ) -> Iterator[str]:
        hf = self._hf(name, field)
        index = "i" if "repeat" in field else "-1"
        yield f"node = open_node(tree, {hf}, {hf.replace('hf_', 'ett_', 1)}, {span}, {index});"
        if "" in kinds:
            yield f"is_read = {self._called(name, field, kinds[''], span, 'node.tree', out)};"
        else:
            yield f"switch ({self._code(field['type']['switch-on'])}) {{"
            for case, kind in kinds.items():
                yield f"case {self._code(case)}:"
                yield f"    is_read = {self._called(name, field, kind, span, 'node.tree', out)};"
                yield "    break;"
            yield from ("default:", "    is_read = true;", "}")
        yield f"close_node(&node, {span});"
        if is_contained:
            yield "(void)is_read;"
            return
        yield from ("if (!is_read)", f"    {self._out}")
        if "" in kinds and node_of(resolved(kinds[""].partition("(")[0], self._path)).get("-orig-id") == "SYSTEMTIME":
            yield from self._time(kinds[""])

    def _time(self, kind: str) -> Iterator[str]:
        """A SYSTEMTIME as text."""
        target = resolved(kind, self._path)
        parts = ("year", "month", "day", "hour", "minute", "second", "milliseconds")
        for part in parts:
            self._known.needed.add((target, part))
        self._known.exported.add(target)
        given = ", ".join(f"(int)one.{part}" for part in parts)
        yield f'proto_item_append_text(node.item, ": %04d-%02d-%02d %02d:%02d:%02d.%03d UTC", {given});'

    def _called(self, name: str, field: dict[str, Any], kind: str, span: str, tree: str, out: str) -> str:
        stem, _, rest = kind.partition("(")
        target = resolved(stem, self._path)
        if target not in self.uses:
            self.uses.append(target)
        given = [_bare(self._value(one)[0]) for one in Parser(rest[:-1], self.dotted).several()] if rest else []
        shown = ""
        if target in WRAPPERS:
            data = self._forms(name, field).get("data")
            is_text = "true" if "-encoding" in field else "false"
            holds = "true" if is_payload(name, field, self._path) else "false"
            ett = data.replace("hf_", "&ett_", 1) if data and holds == "true" else "NULL"
            row = f"{f'&{data}' if data else 'NULL'}, {ett}, {is_text}, {holds}"
            shown = "&" + self._known.table(self._known.elements, row, "elements")
        return Structure(target, self._known).call(span, tree, given, shown, out)

    def _valid(self, name: str, field: dict[str, Any]) -> list[str]:
        rule, spelling = field["valid"], str(field["-orig-id"])
        if isinstance(rule, dict) and "any-of" in rule:
            allowed = [bytes(int(part, 0) for part in one.strip("[]").split(",")) for one in rule["any-of"]]
            tests = [
                f'tvb_memeql(s->tvb, s->at - {len(one)}, (const uint8_t *)"{_bytes(one)}", {len(one)}) != 0'
                for one in allowed
            ]
            return self._refused(" && ".join(tests), quoted(f"{spelling}: not allowed here"))
        self._known.needed.add((self.dotted, name))
        value = self._variable(name)
        # Numbers of 64 bits are kept up to the largest signed one; what is said is what was read.
        is_signed = str(field["type"]).startswith("s")
        said, shown = f'"{spelling}: %" {"PRId64" if is_signed else "PRIu64"} " ', value if is_signed else "c->raw"
        if not isinstance(rule, dict):
            return self._refused(f"{value} != {rule}", f'{said}where only {rule} is allowed", {shown}')
        for key, sign, words in (("min", "<", "below"), ("max", ">", "above")):
            if key in rule:
                bound = _bare(self._code(rule[key]))
                is_known = re.fullmatch(r"-?\d+", bound)
                end = f'{bound}", {shown}' if is_known else f'%" PRId64, {shown}, {bound}'
                return self._refused(f"{value} {sign} {bound}", f"{said}is {words} {end}")
        if "expr" in rule:
            return self._refused(f"!{self._condition(rule['expr'])}", f'{said}is not allowed here", {shown}')
        known = " && ".join(f"{value} != {number}" for number in find_enum(field["enum"], self._path))
        return self._refused(known, f'{said}is none of the values defined", {shown}')

    def _refused(self, condition: str, said: str) -> list[str]:
        return [f"if ({condition}) {{", f"    damaged(c, s, tree, c->item, {said});", f"    {self._out}", "}"]


def _bytes(value: bytes) -> str:
    return "".join(f"\\{byte:03o}" for byte in value)


def _declared(name: str, kind: Kind) -> str:
    typed = {"number": "int64_t ", "truth": "bool ", "text": "int64_t ", "list": "wmem_array_t *"}.get(kind[0])
    return f"{typed}{name}" if typed else f"struct {c_name(kind[1])} {name}"


def _is_one_group(code: str) -> bool:
    """Whether the first parenthesis is closed by the last character."""
    depth = 0
    for at, sign in enumerate(code):
        depth += {"(": 1, ")": -1}.get(sign, 0)
        if depth == 0:
            return at == len(code) - 1
    return False


def _bare(code: str) -> str:
    """An expression without a parenthesis around all of it."""
    return code[1:-1] if code.startswith("(") and _is_one_group(code) else code


def _folded(lines: list[str]) -> Iterator[str]:
    """Lines of at most 120 characters, broken behind commas and before operators."""
    for line in lines:
        margin = line[: len(line) - len(line.lstrip())] + "    "
        while len(line) > _WIDTH:
            # The inside of strings is no place to break.
            plain = re.sub(r'"(?:[^"\\]|\\.)*"', lambda found: "_" * len(found[0]), line)
            places = [found.end() for found in re.finditer(r", | (?=&& |\|\| |\? |: )", plain) if found.end() <= _WIDTH]
            if not places or places[-1] <= len(margin):
                break
            yield line[: places[-1]].rstrip()
            line = margin + line[places[-1] :]
        yield line


def _indented(lines: Iterator[str] | list[str]) -> list[str]:
    return [f"    {line}" if line and not line.endswith("later:") else line for line in lines]


def _roots() -> Iterator[str]:
    for direction in ("request", "response"):
        yield from stubs("ms_pcq_stubs", direction).values()
        yield from (stubs(SILENT, direction)[opnum] for opnum in WINREG.values())
    yield from BUFFERS


def _written(known: Knowledge) -> list[Structure]:
    """All structures that calls can carry, each behind those that it holds."""
    made: dict[str, Structure] = {}

    def visit(dotted: str) -> None:
        if dotted in made:
            return
        structure = Structure(dotted, known)
        structure.function()
        for inner in structure.uses:
            visit(inner)
        made[dotted] = Structure(dotted, known)

    for root in _roots():
        visit(root)
    return list(made.values())


def _stub_functions() -> Iterator[str]:
    for direction in ("request", "response"):
        for dotted in stubs("ms_pcq_stubs", direction).values():
            name = dotted.partition(".")[2]
            yield (
                f"static int\ndissect_pcq_{name}(tvbuff_t *tvb, int offset, packet_info *pinfo, proto_tree *tree,\n"
                "    dcerpc_info *di, uint8_t *drep)\n{\n    pcq_context context;\n    pcq_span span;\n    bool is_whole;\n\n"
                "    begin_stub(&context, &span, tvb, offset, pinfo, di, drep);\n"
                f"    is_whole = read_{c_name(dotted)}(&context, &span, tree, context.encoding);\n"
                f"    return end_stub(&context, &span, tree, di, is_whole);\n}}\n"
            )
    yield "static dcerpc_sub_dissector pcq_dissectors[] = {"
    for opnum, name in methods().items():
        asked, answered = (stubs("ms_pcq_stubs", one)[opnum].partition(".")[2] for one in ("request", "response"))
        yield f"    {{ {opnum}, {quoted(name)},\n      dissect_pcq_{asked},\n      dissect_pcq_{answered} }},"
    yield "    { 0, NULL, NULL, NULL }\n};"


def _registered(form: Shown, table: str) -> str:
    rows = f"{FORMS[form.kind]}, {BASES[form.base]}, {table}, 0, NULL, HFILL"
    variable = f"hf_{c_name(form.filter)}"
    return f"        {{ &{variable},\n          {{ {quoted(form.spelling)}, {quoted(form.filter)},\n            {rows} }} }},"


def source(runtime: Path) -> str:
    """The text of the dissector in C."""
    known = Knowledge()
    while True:
        before = len(known.needed), len(known.exported)
        structures = _written(known)
        if before == (len(known.needed), len(known.exported)):
            break
    functions = [one.function() for one in structures]
    tables: dict[str, str] = {}
    known.fields.setdefault(OPNUM.filter, OPNUM)
    fields = sorted(known.fields.values())
    registered: dict[str, list[str]] = {"pcq": [], "winperf": []}
    for form in fields:
        table = "NULL"
        if form.names:
            rows = "\n".join(f"    {{ {_unsigned(number)}, {quoted(said)} }}," for number, said in form.names)
            table = f"VALS({known.table(tables, rows, 'names')})"
        registered[form.filter.partition(".")[0]].append(_registered(form, table))
    nodes = [c_name(form.filter) for form in fields if form.kind == "none"]
    nodes += sorted(set(re.findall(r"&ett_(\w+)", "\n".join(known.elements))))
    parts = {
        "VARIABLES": [
            *(f"static int hf_{c_name(form.filter)} = -1;" for form in fields),
            *(f"static int ett_{one} = -1;" for one in nodes),
        ],
        "TABLES": [
            f"static const value_string {name}[] = {{\n{rows}\n    {{ 0, NULL }}\n}};\n"
            for rows, name in tables.items()
        ],
        "SPECIALS": [
            f"static const pcq_special {name}[] = {{\n{rows}\n    {{ 0, NULL }}\n}};\n"
            for rows, name in known.specials.items()
        ],
        "ELEMENTS": [f"static const pcq_elements {name} = {{\n    {row}\n}};" for row, name in known.elements.items()],
        "STRUCTURES": [f"{one.declaration()}\n" for one in structures if one.is_exported and one.declaration()],
        "FUNCTIONS": functions,
        "STUBS": list(_stub_functions()),
        "FIELDS OF PCQ": registered["pcq"],
        "FIELDS OF WINPERF": registered["winperf"],
        "NODES": [f"        &ett_{one}," for one in nodes],
    }
    text = runtime.read_text("utf-8")
    for name, lines in parts.items():
        assert text.count(f"@{name}@\n") == 1, name
        text = text.replace(f"@{name}@\n", "\n".join(lines) + "\n")
    return text


def _unsigned(number: int) -> str:
    return f"0x{number:x}" if number > 0x7FFFFFFF else str(number)
