"""Records as dictionaries, for tests that compare what is printed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct, to_builtins

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
