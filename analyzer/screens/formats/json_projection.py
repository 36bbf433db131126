"""Implements `--columns` for JSON: prints the records that a table has as rows, with the chosen keys only.

A column is named as in CSV (`client_ip`) or by the way to a key (`client.ip`, `response.params.dwInSize`). A record keeps its shape
and its key `record`: programs that read whole records read these too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec.inspect as inspect
from msgspec import Raw, Struct
from msgspec.json import Decoder

from analyzer.core.errors import InputError
from analyzer.core.output.json import dumps
from analyzer.results.records.record_types import Record
from analyzer.screens.formats.record_tables import choices_of, columns_of

# The keys to keep, each with the keys to keep in its value, or None for the whole value.
Keys = dict[str, "Keys | None"]
_PARTS = Decoder(dict[str, Raw])
# Types of values that have no keys.
_LEAVES = (
    inspect.IntType,
    inspect.FloatType,
    inspect.BoolType,
    inspect.StrType,
    inspect.LiteralType,
    inspect.EnumType,
    inspect.VarTupleType,
    inspect.TupleType,
)


class Projection(Struct, frozen=True):
    """The choice of `--columns` for JSON: which records of a view are printed, by their `record`, and which keys."""

    tags: frozenset[bytes]
    keys: Keys

    @classmethod
    def of_columns(cls, kinds: Sequence[type[Record]], names: Sequence[str]) -> Projection:
        """Makes the projection of JSON records to the keys that these names of columns mean. Raises `InputError` for a name that no
        record has."""
        keys: Keys = {"record": None}
        for name in names:
            _keep(keys, _way(kinds, name))
        return cls(frozenset(dumps(kind.__struct_config__.tag) for kind in kinds), keys)

    def lines(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """Yields each printed record as a JSON line with the chosen columns. `chunks` are JSON Lines in pieces of any length."""
        for line in _lines(chunks):
            parts = _PARTS.decode(line)
            if bytes(parts["record"]) in self.tags:
                yield _projected(parts, self.keys) + b"\n"


def _keep(keys: Keys, way: Sequence[str]) -> None:
    for name in way[:-1]:
        below = keys.setdefault(name, {})
        if below is None:
            return
        keys = below
    keys[way[-1]] = None


def _way(kinds: Sequence[type[Record]], name: str) -> tuple[str, ...]:
    way = tuple(name.split("."))
    if any(_may_have(inspect.type_info(kind), way) for kind in kinds):
        return way
    columns = {column.name: column.path for kind in kinds for column in columns_of(kind)}
    if name not in columns:
        raise InputError(f"no record has {name}", hint=f"Records have {', '.join(columns)}.")
    return columns[name]


def _may_have(kind: inspect.Type, way: Sequence[str]) -> bool:
    """Tells for a projection whether a value of this type may have a key. A type without a fixed shape may have any key."""
    if not way:
        return True
    for choice in choices_of(kind):
        if isinstance(choice, inspect.StructType):
            if way[0] == choice.tag_field or any(
                field.encode_name == way[0] and _may_have(field.type, way[1:]) for field in choice.fields
            ):
                return True
        elif not isinstance(choice, _LEAVES):
            return True
    return False


def _projected(parts: Mapping[str, Raw], keys: Keys) -> bytes:
    """Projects a JSON object to the chosen keys that it has; their values are copied unread."""
    found = (dumps(name) + b":" + _value(bytes(parts[name]), below) for name, below in keys.items() if name in parts)
    return b"{" + b",".join(found) + b"}"


def _value(text: bytes, keys: Keys | None) -> bytes:
    return text if keys is None or text[:1] != b"{" else _projected(_PARTS.decode(text), keys)


def _lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    held: list[bytes] = []
    for chunk in chunks:
        first, *others = chunk.split(b"\n")
        held.append(first)
        for begun in others:
            yield b"".join(held)
            held = [begun]
