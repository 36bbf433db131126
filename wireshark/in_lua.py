"""Writes the dissector in Lua: tables of what the descriptions say, which `runtime.lua` beside this file reads and shows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from analyzer.interfaces.buffers.ksy_descriptions import spec_texts
from wireshark.descriptions import (
    BARE,
    INTEGERS,
    LEAVES,
    LEFT_OUT,
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

HEADER = """\
-- Wireshark dissector of the Performance Counter Query Protocol ([MS-PCQ], PerflibV2) and of the performance data that
-- BaseRegQueryValue and BaseRegEnumValue read from HKEY_PERFORMANCE_DATA (winperf.h).
--
-- Written by wireshark/generate.py of pcq-analyzer from the descriptions in ksy/; change those, not this file.
-- Copyright (C) 2026 the authors of pcq-analyzer. SPDX-License-Identifier: GPL-2.0-or-later
--
-- To use it, copy this file into the folder of personal Lua plugins (Help > About Wireshark > Folders), or start
--     wireshark -X lua_script:pcq.lua capture.pcapng        tshark -X lua_script:pcq.lua -V -r capture.pcapng
-- Sealed calls are shown where Wireshark decrypts them (preferences of NTLMSSP, KRB5 and SMB2). Some filters:
--     pcq.query_counter_data.block.type == 4        blocks with one counter of several instances
--     pcq.status != 0                               calls that failed
--     winperf.instance.name contains "lsass"        reads that show a process
--     _ws.expert && (pcq || winperf)                damaged buffers
-- Wireshark 4.0 or later.
"""


def text(value: str) -> str:
    """A Lua string."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    return f'"{escaped}"'


def in_lua(node: Node) -> str:
    """An expression of the structure `o`."""
    match node:
        case "number" | "truth", token:
            return str(token)
        case "name", name:
            return f"o.{name}"
        case "group", inner:
            return f"({in_lua(inner)})"
        case "not", inner:
            return f"not {in_lua(inner)}"
        case "minus", inner:
            return f"(-{in_lua(inner)})"
        case "choice", condition, yes, no:
            return (
                f"choose({in_lua(condition)}, function() return {in_lua(yes)} end, function() return {in_lua(no)} end)"
            )
        case "binary", "/", one, other:
            return f"math.floor({in_lua(one)} / {in_lua(other)})"
        case "binary", operator, one, other:
            return f"({in_lua(one)} {'~=' if operator == '!=' else operator} {in_lua(other)})"
        case "item", outer, index:
            return f"{in_lua(outer)}[{in_lua(index)} + 1]"
        case "part", ("name" | "part", *_, "_io") as outer, name:
            return f"{in_lua(outer)}:{name}()"
        case "part", outer, "size" | "length":
            return f"#{in_lua(outer)}"
        case "part", outer, name:
            return f"{in_lua(outer)}.{name}"
    raise ValueError(f"no expression: {node}")


def expression(source: object, path: str) -> str:
    """A Lua function of `o` for an expression."""
    return f"function(o) return {in_lua(parsed(source, path))} end"


class Generator:
    """Collects ProtoFields and descriptions."""

    def __init__(self) -> None:
        self.fields: dict[str, Shown] = {}
        self.tables: dict[str, str] = {}
        self.types: list[str] = []

    def run(self, runtime: Path) -> str:
        """The text of the dissector, with `runtime`, the part that is written by hand."""
        for name, node in spec_texts().items():
            if name not in LEFT_OUT:
                self._type(node, (name,))
        self._register(OPNUM)
        fields = [f"  [{text(name)}] = {self._proto_field(form)}," for name, form in sorted(self.fields.items())]
        tables = "\n".join(_stubs(spec, table) for spec, table in (("ms_pcq_stubs", "stubs"), (SILENT, "winreg_stubs")))
        return "\n".join(
            (
                HEADER,
                'local pcq = Proto("pcq", "Performance Counter Query Protocol")',
                'local winperf = Proto("winperf", "Performance data of HKEY_PERFORMANCE_DATA")',
                "local experts = {",
                '  damaged = ProtoExpert.new("pcq.damaged", "Damaged performance data",',
                "    expert.group.MALFORMED, expert.severity.ERROR),",
                "}",
                "pcq.experts = { experts.damaged }",
                "",
                _methods(),
                "",
                *(f"local {name} = {table}" for table, name in self.tables.items()),
                "",
                "local fields = {",
                *fields,
                "}",
                "do",
                "  local of_pcq, of_winperf = {}, {}",
                "  for name, field in pairs(fields) do",
                '    local list = name:match("^pcq%.") and of_pcq or of_winperf',
                "    list[#list + 1] = field",
                "  end",
                "  pcq.fields, winperf.fields = of_pcq, of_winperf",
                "end",
                "",
                "local choose, whole",
                "local types = {}",
                *self.types,
                tables,
                "",
                runtime.read_text("utf-8")
                .replace("local function choose(", "function choose(")
                .replace("local function whole(", "function whole("),
            )
        )

    def _register(self, form: Shown) -> str:
        known = self.fields.setdefault(form.filter, form)
        if known != form and form.kind != "none":
            raise ValueError(f"two fields are called {form.filter}: {known} and {form}")
        return f"fields[{text(form.filter)}]"

    def _proto_field(self, form: Shown) -> str:
        more = [f"base.{form.base}"] if form.base else []
        if form.filter == "pcq.opnum":
            more.append("methods")
        elif form.names:
            more.append(self._table(form.names))
        return f"ProtoField.{form.kind}({', '.join((text(form.filter), text(form.spelling), *more))})"

    def _table(self, names: tuple[tuple[int, str], ...]) -> str:
        """The name of a Lua table with what values stand for."""
        made = "{ " + ", ".join(f"[{number}] = {text(stated)}" for number, stated in names) + " }"
        return self.tables.setdefault(made, f"names_{len(self.tables)}")

    def _type(self, node: Any, path: tuple[str, ...]) -> None:
        dotted = ".".join(path)
        made = [f"types[{text(dotted)}] = {{", f"  spelling = {text(str(node.get('-orig-id', '')))},"]
        if dotted in LEAVES:
            made.append(f"  leaf = {text(LEAVES[dotted])},")
        if dotted in BARE:
            made.append("  bare = true,")
        if dotted in WRAPPERS:
            made.append("  wraps = true,")
        endian = node.get("meta", {}).get("endian")
        if isinstance(endian, dict):
            made.append(f"  endian = {expression(endian['switch-on'], dotted)},")
        elif endian is not None:
            made.append("  endian = function() return false end,")
        if dotted == "winperf.object_body":
            made.append('  page = "code_page",')
        params = ", ".join(text(param["id"]) for param in node.get("params", ()))
        made.append(f"  params = {{ {params} }},")
        made.append("  seq = {")
        made += [f"    {self._field(field['id'], field, path)}," for field in node.get("seq", ())]
        made.append("  },")
        instances = {name: one for name, one in node.get("instances", {}).items() if "-text-of" not in one}
        made.append("  later = {")
        made += [f"    {self._field(name, one, path)}," for name, one in instances.items() if "value" not in one]
        made.append("  },")
        holders = [field["id"] for field in node.get("seq", ()) if field.get("-around")]
        if holders:
            made.append(f"  holder = {text(holders[0])},")
        made.append("  values = {")
        made += [
            f"    {name} = {expression(one['value'], dotted)}," for name, one in instances.items() if "value" in one
        ]
        made += ["  },", "}"]
        self.types.append("\n".join(made))
        for name, inner in node.get("types", {}).items():
            self._type(inner, (*path, name))

    def _field(self, name: str, field: dict[str, Any], path: tuple[str, ...]) -> str:
        dotted = ".".join(path)
        spelling = str(field["-orig-id"])
        parts = [f"id = {text(name)}", f"name = {text(spelling)}"]
        kind = field.get("type")
        if isinstance(kind, dict):
            parts.append(f"switch = {expression(kind['switch-on'], dotted)}")
            cases = [f"[{_case(case, dotted)}] = {{ {self._kind(one, path)} }}" for case, one in kind["cases"].items()]
            parts.append(f"cases = {{ {', '.join(cases)} }}")
        elif kind is not None:
            parts.append(self._kind(kind, path))
        for key, name_of in (("size", "size"), ("if", "condition"), ("repeat-expr", "count"), ("pos", "pos")):
            if key in field:
                parts.append(f"{name_of} = {expression(field[key], dotted)}")
        if "repeat-until" in field:
            parts.append(f'["until"] = {expression(field["repeat-until"], dotted)}')
        if "repeat" in field:
            parts.append(f'["repeat"] = {text(field["repeat"])}')
        if field.get("size-eos"):
            parts.append("eos_size = true")
        if field.get("eos-error") is False:
            parts.append("eos = true")
        if "-meaning" in field:
            parts.append(f"meaning = {text(field['-meaning'])}")
        if "-special" in field:
            stated = {int(number): str(name) for number, name in field["-special"].items()}
            parts.append(
                "special = { " + ", ".join(f"[{number}] = {text(name)}" for number, name in stated.items()) + " }"
            )
        if "-encoding" in field:
            parts.append(f"encoding = {text(field['-encoding'])}")
        if "-flags" in field:
            flags = find_enum(field["-flags"], path)
            parts.append(
                "flags = { " + ", ".join(f"{{ {bit}, {text(stated)} }}" for bit, (stated, _) in flags.items()) + " }"
            )
        if is_payload(name, field, path):
            parts.append("payload = true")
        if "valid" in field:
            parts.append(f"valid = {_valid(field, path)}")
        if is_filler(field):
            parts.append("filler = true")
        elif path[0] != SILENT:
            parts += self._shown(name, field, path)
        return "{ " + ", ".join(parts) + " }"

    def _shown(self, name: str, field: dict[str, Any], path: tuple[str, ...]) -> Iterator[str]:
        """What a field is shown as: its ProtoField, and those of other forms it may have."""
        for role, form in shown_forms(name, field, path):
            yield f"{role} = {self._register(form)}"
        if isinstance(field.get("type"), dict) and form.kind == "uint64":
            yield "wide = true"

    def _kind(self, kind: str, path: tuple[str, ...]) -> str:
        name, _, rest = str(kind).partition("(")
        if name in INTEGERS or name == "strz":
            return f"kind = {text(name)}"
        made = f"kind = {text(resolved(name, path))}"
        if rest:
            arguments = ", ".join(in_lua(one) for one in Parser(rest[:-1], ".".join(path)).several())
            made += f", args = function(o) return {{ {arguments} }} end"
        return made


def _case(case: str, path: str) -> str:
    return in_lua(parsed(case, path))


def _valid(field: dict[str, Any], path: tuple[str, ...]) -> str:
    """A Lua function that states what is wrong with a value, nil for nothing."""
    dotted, rule = ".".join(path), field["valid"]
    if not isinstance(rule, dict):
        return f'function(o) if o._ ~= {rule} then return whole(o._) .. " where only {rule} is allowed" end end'
    if "min" in rule:
        least = in_lua(parsed(rule["min"], dotted))
        return f'function(o) if o._ < {least} then return whole(o._) .. " is below " .. whole({least}) end end'
    if "max" in rule:
        most = in_lua(parsed(rule["max"], dotted))
        return f'function(o) if o._ > {most} then return whole(o._) .. " is above " .. whole({most}) end end'
    if "expr" in rule:
        holds = in_lua(parsed(rule["expr"], dotted))
        return f'function(o) if not ({holds}) then return whole(o._) .. " is not allowed here" end end'
    if "in-enum" in rule:
        known = " or ".join(f"o._ == {number}" for number in find_enum(field["enum"], path))
        return f'function(o) if not ({known}) then return whole(o._) .. " is none of the values defined" end end'
    allowed = [bytes(int(part, 0) for part in one.strip("[]").split(",")) for one in rule["any-of"]]
    holds = " or ".join(f'o._ == "{"".join(f"{chr(92)}{byte}" for byte in one)}"' for one in allowed)
    return f'function(o) if not ({holds}) then return "not allowed here" end end'


def _methods() -> str:
    """The names of the methods by opnum."""
    return f"local methods = {{ {', '.join(f'[{opnum}] = {text(name)}' for opnum, name in methods().items())} }}"


def _stubs(spec: str, table: str) -> str:
    """The types of stubs by direction and opnum."""
    made = []
    for direction in ("request", "response"):
        cases = [f"[{opnum}] = {text(name)}" for opnum, name in stubs(spec, direction).items()]
        made.append(f"{direction} = {{ {', '.join(cases)} }}")
    return f"local {table} = {{ {', '.join(made)} }}"
