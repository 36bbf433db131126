"""Records as dictionaries, for tests that compare what is printed, and records of a few facts."""

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from msgspec import Struct, inspect, to_builtins

T = TypeVar("T", bound=Struct)
Record = dict[str, Any]


def plain(record: Struct) -> Record:
    """A record as JSON has it."""
    found = _lists(to_builtins(record))
    assert isinstance(found, dict)
    return found


def plains(records: Iterable[Struct]) -> Iterator[Record]:
    return map(plain, records)


def _lists(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _lists(item) for key, item in value.items()}
    return [_lists(item) for item in value] if isinstance(value, list | tuple) else value


def record_of(kind: type[T], /, **facts: Any) -> T:
    """A record of which these facts are known; everything else is none, or as little as its type has."""
    fields = inspect.type_info(kind)
    assert isinstance(fields, inspect.StructType)
    return kind(**{one.encode_name: _least(one.type) for one in fields.fields if one.required} | facts)


def _least(kind: inspect.Type) -> Any:
    match kind:
        case inspect.Metadata():
            return _least(kind.type)
        case inspect.UnionType() if any(isinstance(one, inspect.NoneType) for one in kind.types):
            return None
        case inspect.UnionType():
            return _least(kind.types[0])
        case inspect.LiteralType():
            return kind.values[0]
        case inspect.StructType():
            return record_of(kind.cls)
        case inspect.IntType() | inspect.BoolType() | inspect.FloatType():
            return 0
        case inspect.StrType():
            return ""
        case inspect.DictType():
            return {}
        case _:
            return ()
