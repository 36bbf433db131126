"""Writes docs/schema/*.json, the tables of keys in docs/output.md and the table of columns in docs/case-file.md from the types of
records and rows: `python -m tests.records_document`.

A table of keys stands between `<!-- keys: NAME -->` and `<!-- end -->`, NAME being that of the schema's file.
"""

import json
import re
from collections.abc import Iterator
from inspect import cleandoc
from pathlib import Path
from textwrap import fill

import msgspec.inspect as inspect
from msgspec.json import schema

from analyzer.results.analysis import EvidenceRecord
from analyzer.results.calls.call import CallRecord
from analyzer.results.calls.call_row_columns import OF_CALL, OF_PDUS, OF_SIDE
from analyzer.results.field_tree_records import ShowRecord
from analyzer.results.records.command_records import COMMANDS
from analyzer.results.records.record_types import Endpoint, Record
from analyzer.results.records.sample import CounterRecord, SampleRecord

DOCS = Path(__file__).parent.parent / "docs"
_BLOCK = re.compile(r"(<!-- keys: ([a-z-]+) -->\n).*?(<!-- end -->)", re.S)
_COLUMNS = re.compile(r"(<!-- columns: calls -->\n).*?(<!-- end -->)", re.S)
# The record of `show` is that of a call and more, and has its name.
_NAMES: dict[type[Record], str] = {ShowRecord: "show"}
# What has all keys of another type lists its own alone.
_EXTENDS: dict[type[Record], type[Record]] = {ShowRecord: CallRecord, CounterRecord: SampleRecord}


def record_types() -> dict[str, type[Record]]:
    """Every record type by the name of its schema's file."""
    kinds = dict.fromkeys(kind for kinds in COMMANDS.values() for kind in kinds) | {EvidenceRecord: None}
    return {_NAMES.get(kind, str(kind.__struct_config__.tag)): kind for kind in kinds}


def schema_text(name: str, kind: type[Record]) -> str:
    """The JSON Schema of a record type."""
    found = schema(kind)
    # Up to Python 3.12 a docstring has the indentation of its class.
    for part in found["$defs"].values():
        if "description" in part:
            part["description"] = cleandoc(part["description"])
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": name}
    return json.dumps(head | found, indent=1, ensure_ascii=False) + "\n"


def keys_text(kind: type[Record]) -> str:
    """What a record type is, and a table of its keys; parts of a value stand behind it, with a dot or `[]`."""
    found = inspect.type_info(kind)
    assert isinstance(found, inspect.StructType)
    base = _EXTENDS.get(kind)
    known = base.__struct_fields__ if base is not None else ()
    rows = [f"| `{key}` | {words} |\n" for key, words in _rows(found, "", (kind,)) if key.split(".")[0] not in known]
    about = " ".join((kind.__doc__ or "").split())
    more = f" It has all keys of `{base.__struct_config__.tag}`, and these:" if base is not None else ""
    lines = fill(f"`{kind.__struct_config__.tag}`: {about}{more}", 100, break_long_words=False, break_on_hyphens=False)
    return f"{lines}\n\n| key | value |\n|---|---|\n{''.join(rows)}\n"


def _rows(found: inspect.StructType, before: str, within: tuple[type, ...]) -> Iterator[tuple[str, str]]:
    for field in found.fields:
        kind, words = field.type, []
        while isinstance(kind, inspect.Metadata):
            extra = kind.extra_json_schema or {}
            words += [extra["description"]] if "description" in extra else []
            words += [f"in {extra['unit']}"] if "unit" in extra else []
            words += [extra["source"]] if "source" in extra else []
            kind = kind.type
        choices = [str(value) for each in _choices(kind) for value in each.values]
        if any(f"`{word}`" not in words[0] for word in choices):
            words.insert(1, "one of " + ", ".join(f"`{word}`" for word in choices))
        yield f"{before}{field.name}", "; ".join(words).replace("|", "\\|")
        for part, mark in _parts(kind):
            if part.cls is not Endpoint and part.cls not in within:
                yield from _rows(part, f"{before}{field.name}{mark}.", (*within, part.cls))


def _choices(kind: inspect.Type) -> list[inspect.LiteralType]:
    """Words of a fixed set."""
    kinds = kind.types if isinstance(kind, inspect.UnionType) else (kind,)
    return [each for each in kinds if isinstance(each, inspect.LiteralType)]


def _parts(kind: inspect.Type) -> Iterator[tuple[inspect.StructType, str]]:
    """The structures in a value, and what stands between it and their keys."""
    for each in kind.types if isinstance(kind, inspect.UnionType) else (kind,):
        while isinstance(each, inspect.Metadata):
            each = each.type
        if isinstance(each, inspect.StructType):
            yield each, ""
        elif isinstance(each, inspect.VarTupleType):
            yield from ((part, f"[]{mark}") for part, mark in _parts(each.item_type))
        elif isinstance(each, inspect.DictType):
            yield from ((part, f".*{mark}") for part, mark in _parts(each.value_type))


def document(text: str) -> str:
    """docs/output.md with its tables of keys made anew."""
    kinds = record_types()
    return _BLOCK.sub(lambda found: f"{found[1]}{keys_text(kinds[found[2]])}{found[3]}", text)


def documented(text: str) -> list[str]:
    """The names of the records whose keys docs/output.md lists."""
    return [found[2] for found in _BLOCK.finditer(text)]


def columns_text() -> str:
    """The columns of the table of calls. Those of the two sides stand once, as `*_NAME`."""
    rows = [
        f"| `{before}{name}` | {'time' if column.is_time else 'number'}{' or null' if column.may_lack else ''} | "
        f"{column.meaning} |\n"
        for columns, before in ((OF_CALL, ""), (OF_SIDE, "*_"), (OF_PDUS, "*_"))
        for name, column in columns.items()
    ]
    view = "| `view` | number or null | the state of its query handle: row of `views` |\n"
    return "| column | type | value |\n|---|---|---|\n" + "".join(rows) + view


def case_document(text: str) -> str:
    """docs/case-file.md with its table of columns made anew."""
    return _COLUMNS.sub(lambda found: f"{found[1]}{columns_text()}{found[2]}", text)


if __name__ == "__main__":
    (DOCS / "schema").mkdir(exist_ok=True)
    for name, kind in record_types().items():
        (DOCS / "schema" / f"{name}.json").write_text(schema_text(name, kind), encoding="utf-8")
    page = DOCS / "output.md"
    page.write_text(document(page.read_text(encoding="utf-8")), encoding="utf-8")
    page = DOCS / "case-file.md"
    page.write_text(case_document(page.read_text(encoding="utf-8")), encoding="utf-8")
