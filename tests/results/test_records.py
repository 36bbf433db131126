"""Record types: what derivations from them rely on."""

import re
from collections.abc import Iterator
from typing import get_type_hints

import msgspec
import pytest
from msgspec import Meta, Struct
from msgspec.structs import fields

from analyzer.results.calls.call import CallRecord
from analyzer.results.records.command_records import COMMANDS
from analyzer.results.records.record_types import Endpoint, Record, Value

RECORDS = list(dict.fromkeys(kind for kinds in COMMANDS.values() for kind in kinds))


def parts(kind: type[Struct], seen: set[type[Struct]]) -> Iterator[type[Struct]]:
    """A record type and all types it is made of."""
    if kind in seen:
        return
    seen.add(kind)
    yield kind
    names = {each.__name__: each for each in all_values()}
    for hint in kind.__annotations__.values():
        for word in re.findall(r"\w+", hint):
            if word in names:
                yield from parts(names[word], seen)


def all_values(base: type[Struct] = Value) -> Iterator[type[Struct]]:
    for each in base.__subclasses__():
        yield each
        yield from all_values(each)


@pytest.mark.parametrize("kind", RECORDS, ids=lambda kind: kind.__name__)
def test_each_field_of_a_record_says_what_it_holds(kind: type[Record]) -> None:
    for part in parts(kind, set()):
        assert part.__doc__, part
        hints = get_type_hints(part, include_extras=True)
        for field in fields(part):
            metas = [item for item in getattr(hints[field.name], "__metadata__", ()) if isinstance(item, Meta)]
            assert metas, f"{part.__name__}.{field.name} has no doc"
            assert metas[-1].description, f"{part.__name__}.{field.name} has an empty doc"


@pytest.mark.parametrize("kind", RECORDS, ids=lambda kind: kind.__name__)
def test_a_schema_comes_of_each_record(kind: type[Record]) -> None:
    schema = msgspec.json.schema(kind)
    described = schema["$defs"][kind.__name__]
    assert described["properties"]["record"] == {"enum": [kind.__struct_config__.tag]}
    assert described["description"]


def test_a_record_is_frozen_and_goes_both_ways() -> None:
    end = Endpoint("fe80::1", 445)
    with pytest.raises(AttributeError):
        end.port = 139
    assert str(end) == "[fe80::1]:445"
    assert msgspec.json.decode(msgspec.json.encode(end), type=Endpoint) == end
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(end), type=Endpoint) == end


def test_the_unit_of_a_field_is_in_its_schema() -> None:
    schema = msgspec.json.schema(CallRecord)["$defs"]["CallRecord"]
    assert schema["properties"]["latency_ns"]["unit"] == "ns"
