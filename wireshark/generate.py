"""Writes wireshark/pcq.lua, the dissector, from the descriptions in ksy/ and from runtime.lua beside this file.

`python wireshark/generate.py` writes, `--check` compares with what is committed. What is in the descriptions comes from them alone:
fields with the specification's spelling, types, value tables, conditions and expressions; runtime.lua reads and shows them.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from analyzer.core.win32 import win32_numbers
from analyzer.interfaces.buffers._compiled import enum_names, spec_texts

HERE = Path(__file__).resolve().parent
TARGET = HERE / "pcq.lua"
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


def text(value: str) -> str:
    """A Lua string."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    return f'"{escaped}"'


class Expression:
    """A Kaitai expression as one of Lua, of the structure `o`."""

    TOKEN = re.compile(r"\s*(?:(0x[0-9a-fA-F]+|\d+)|([A-Za-z_][\w]*(?:::\w+)*)|(==|!=|<=|>=|[-+*/%<>?:().,\[\]]))")

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

    def lua(self) -> str:
        made = self._choice()
        if self._at < len(self._tokens):
            raise ValueError(f"{self._path}: {' '.join(self._tokens)}")
        return made

    def arguments(self) -> list[str]:
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

    def _choice(self) -> str:
        condition = self._binary(0)
        if not self._next("?"):
            return condition
        yes = self._choice()
        assert self._next(":")
        no = self._choice()
        return f"choose({condition}, function() return {yes} end, function() return {no} end)"

    LEVELS = (("or",), ("and",), ("==", "!=", "<", ">", "<=", ">="), ("+", "-"), ("*", "/", "%"))

    def _binary(self, level: int) -> str:
        if level == len(self.LEVELS):
            return self._unary()
        made = self._binary(level + 1)
        while operator := self._next(*self.LEVELS[level]):
            other = self._binary(level + 1)
            if operator == "/":
                made = f"math.floor({made} / {other})"
            else:
                made = f"({made} {'~=' if operator == '!=' else operator} {other})"
        return made

    def _unary(self) -> str:
        if self._next("not"):
            return f"not {self._binary(2)}"
        if self._next("-"):
            return f"(-{self._unary()})"
        return self._postfix()

    def _postfix(self) -> str:
        token = self._tokens[self._at]
        self._at += 1
        if token == "(":
            made = f"({self._choice()})"
            assert self._next(")")
        elif token[0].isdigit() or token in ("true", "false"):
            made = token
        elif "::" in token:
            made = str(_enum_value(token, self._path))
        else:
            made = f"o.{token}"
        while sign := self._next(".", "["):
            if sign == "[":
                made = f"{made}[{self._choice()} + 1]"
                assert self._next("]")
                continue
            name = self._tokens[self._at]
            self._at += 1
            if made.endswith("_io"):
                made = f"{made}:{name}()"
            elif name in ("size", "length"):
                made = f"#{made}"
            else:
                made = f"{made}.{name}"
        return made


def _enum_value(name: str, path: str) -> int:
    table, _, wanted = name.rpartition("::")
    node: Any = spec_texts()
    spec, _, enum = table.partition("::")
    for number, entry in node[spec]["enums"][enum].items():
        if entry["id"] == wanted:
            return int(number)
    raise ValueError(f"{path}: {name}")


def expression(source: object, path: str) -> str:
    """A Lua function of `o` for an expression."""
    if isinstance(source, bool):
        return f"function(o) return {str(source).lower()} end"
    return f"function(o) return {Expression(str(source), path).lua()} end"


class Generator:
    """Collects ProtoFields and descriptions."""

    def __init__(self) -> None:
        self.fields: dict[str, str] = {}
        self.tables: dict[str, str] = {}
        self.types: list[str] = []

    def run(self) -> str:
        for name, node in spec_texts().items():
            if name not in LEFT_OUT:
                self._type(node, (name,))
        self._register("pcq.opnum", "opnum", "uint16", "base.DEC, methods")
        stubs = "\n".join(_stubs(spec, table) for spec, table in (("ms_pcq_stubs", "stubs"), (SILENT, "winreg_stubs")))
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
                *(f"local {name} = {table}" for name, table in self.tables.items()),
                "",
                "local fields = {",
                *(f"  [{text(name)}] = {made}," for name, made in sorted(self.fields.items())),
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
                "local choose",
                "local types = {}",
                *self.types,
                stubs,
                "",
                (HERE / "runtime.lua").read_text("utf-8").replace("local function choose(", "function choose("),
            )
        )

    def _register(self, name: str, spelling: str, kind: str, *more: str) -> str:
        made = f"ProtoField.{kind}({', '.join((text(name), text(spelling), *more))})"
        known = self.fields.setdefault(name, made)
        if known != made and kind != "none":
            raise ValueError(f"two fields are called {name}: {known} and {made}")
        return f"fields[{text(name)}]"

    def _table(self, where: tuple[str, ...], field: dict[str, Any]) -> str | None:
        """The name of a Lua table with what the values of a field stand for."""
        names: dict[int, str] = {}
        if enum := field.get("enum"):
            names = {number: spelled for number, (spelled, _) in _find_enum(enum, where).items()}
        if field.get("-meaning") == "win32":
            names = {number: name for name, number in win32_numbers().items()}
        if not names:
            return None
        made = "{ " + ", ".join(f"[{number}] = {text(stated)}" for number, stated in sorted(names.items())) + " }"
        for name, known in self.tables.items():
            if known == made:
                return name
        name = f"names_{len(self.tables)}"
        self.tables[name] = made
        return name

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
            flags = _find_enum(field["-flags"], path)
            parts.append(
                "flags = { " + ", ".join(f"{{ {bit}, {text(stated)} }}" for bit, (stated, _) in flags.items()) + " }"
            )
        if spelling in ("lpData", "lpvalueBuf") or (dotted, name) == (f"{SILENT}.optional_data", "array"):
            parts.append("payload = true")
        if "valid" in field:
            parts.append(f"valid = {_valid(field, path)}")
        if spelling.startswith("(") and not {"-encoding", "-meaning"} & field.keys() and kind is None:
            parts.append("filler = true")
        elif path[0] != SILENT:
            parts += self._shown(name, field, path)
        return "{ " + ", ".join(parts) + " }"

    def _shown(self, name: str, field: dict[str, Any], path: tuple[str, ...]) -> Iterator[str]:
        """What a field is shown as: its ProtoField, and those of other forms it may have."""
        dotted, kind = ".".join(path), field.get("type")
        stated, spelling = filter_name(dotted, name), str(field["-orig-id"])
        if isinstance(kind, dict):
            cases = set(kind["cases"].values())
            if cases <= INTEGERS.keys():
                yield f"field = {self._register(stated, spelling, 'uint64', 'base.DEC')}"
                yield "wide = true"
            else:
                yield f"field = {self._register(stated, spelling, 'none')}"
        elif field.get("-meaning") in ("counter-value", "v1-value"):
            yield f"field = {self._register(stated, spelling, 'uint64', 'base.DEC')}"
            yield f"text = {self._register(stated + '.text', spelling, 'string')}"
            yield f"raw = {self._register(stated + '.bytes', spelling, 'bytes')}"
        elif kind in INTEGERS:
            yield f"field = {self._register(stated, spelling, *self._integer(kind, field, path))}"
        elif kind == "strz" or (kind is None and "-encoding" in field):
            yield f"field = {self._register(stated, spelling, 'string')}"
        elif kind is None:
            yield f"field = {self._register(stated, spelling, 'bytes')}"
        else:
            target = _resolved(str(kind).partition("(")[0], path)
            yield f"field = {self._register(stated, spelling, 'guid' if target in LEAVES else 'none')}"
            if target in WRAPPERS:
                form = "string" if "-encoding" in field else "bytes"
                yield f"data = {self._register(stated + '.data', spelling, form)}"

    def _integer(self, kind: str, field: dict[str, Any], path: tuple[str, ...]) -> tuple[str, ...]:
        if field.get("-meaning") == "filetime":
            return "absolute_time", "base.UTC"
        base = "base.HEX" if "-flags" in field or field.get("enum") == "counter_type" else "base.DEC"
        table = self._table(path, field) if kind not in ("u8", "s8") else None
        return (INTEGERS[kind], base, *((table,) if table is not None else ()))

    def _kind(self, kind: str, path: tuple[str, ...]) -> str:
        name, _, rest = str(kind).partition("(")
        if name in INTEGERS or name == "strz":
            return f"kind = {text(name)}"
        made = f"kind = {text(_resolved(name, path))}"
        if rest:
            arguments = ", ".join(Expression(rest[:-1], ".".join(path)).arguments())
            made += f", args = function(o) return {{ {arguments} }} end"
        return made


def _resolved(name: str, path: tuple[str, ...]) -> str:
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


def _find_enum(name: str, path: tuple[str, ...]) -> dict[int, tuple[str, str]]:
    if "::" in name:
        return enum_names(name)
    for depth in range(len(path), 0, -1):
        try:
            return enum_names("::".join((*path[:depth], name)))
        except KeyError:
            continue
    raise ValueError(f"{'.'.join(path)}: no enum {name}")


def _case(case: str, path: str) -> str:
    return Expression(case, path).lua()


def _valid(field: dict[str, Any], path: tuple[str, ...]) -> str:
    """A Lua function that states what is wrong with a value, nil for nothing."""
    dotted, rule = ".".join(path), field["valid"]
    if not isinstance(rule, dict):
        return f'function(o) if o._ ~= {rule} then return o._ .. " where only {rule} is allowed" end end'
    if "min" in rule:
        least = Expression(str(rule["min"]), dotted).lua()
        return f'function(o) if o._ < {least} then return o._ .. " is below " .. {least} end end'
    if "max" in rule:
        most = Expression(rule["max"], dotted).lua()
        return f'function(o) if o._ > {most} then return o._ .. " is above " .. {most} end end'
    if "expr" in rule:
        holds = Expression(rule["expr"], dotted).lua()
        return f'function(o) if not ({holds}) then return o._ .. " is not allowed here" end end'
    if "in-enum" in rule:
        known = " or ".join(f"o._ == {number}" for number in _find_enum(field["enum"], path))
        return f'function(o) if not ({known}) then return o._ .. " is none of the values defined" end end'
    allowed = [bytes(int(part, 0) for part in one.strip("[]").split(",")) for one in rule["any-of"]]
    holds = " or ".join(f'o._ == "{"".join(f"{chr(92)}{byte}" for byte in one)}"' for one in allowed)
    return f'function(o) if not ({holds}) then return "not allowed here" end end'


def _methods() -> str:
    """The names of the methods by opnum."""
    cases = spec_texts()["ms_pcq_stubs"]["seq"][0]["type"]["cases"]
    types = spec_texts()["ms_pcq_stubs"]["types"]
    named = [f"[{opnum}] = {text(types[name]['-orig-id'])}" for opnum, name in cases.items()]
    return f"local methods = {{ {', '.join(named)} }}"


def _stubs(spec: str, table: str) -> str:
    """The types of stubs by direction and opnum."""
    made = []
    for field in spec_texts()[spec]["seq"]:
        cases = [f"[{opnum}] = {text(f'{spec}.{name}')}" for opnum, name in field["type"]["cases"].items()]
        made.append(f"{field['id']} = {{ {', '.join(cases)} }}")
    return f"local {table} = {{ {', '.join(made)} }}"


def main() -> int:
    parser = argparse.ArgumentParser(description="Write the Wireshark dissector from the descriptions in ksy/.")
    parser.add_argument("--check", action="store_true", help="write nothing; compare with what is committed")
    options = parser.parse_args()
    made = Generator().run()
    if not options.check:
        TARGET.write_text(made, "utf-8")
    elif not TARGET.is_file() or TARGET.read_text("utf-8") != made:
        print("wireshark/pcq.lua differs; run python wireshark/generate.py", file=sys.stderr)  # noqa: T201
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
