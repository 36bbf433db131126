"""Records as JSON text."""

from __future__ import annotations

from typing import Any

import msgspec
import orjson

from analyzer.contents.lines import Record, plain
from analyzer.model.record import Record as TypedRecord
from analyzer.output.escapes import safe_json


def dumps(record: Record) -> bytes:
    """One record as JSON. A lone surrogate (of an ill-formed UTF-16 name) and control characters are escaped, never lost."""
    return _dumped(record, 0)


def dumps_line(record: Record) -> bytes:
    """The same with a newline behind it; a record may be too large to be copied for that."""
    return _dumped(record, orjson.OPT_APPEND_NEWLINE)


def encoded_line(record: TypedRecord) -> bytes:
    """The same of a record as it is made; a part that is JSON text already is written as it is."""
    try:
        return safe_json(_ENCODER.encode(record)) + b"\n"
    except (UnicodeEncodeError, OverflowError):
        return dumps_line(plain(record))


_ENCODER = msgspec.json.Encoder()


def _dumped(record: Record, option: int) -> bytes:
    try:
        return safe_json(orjson.dumps(record, default=_ready, option=orjson.OPT_PASSTHROUGH_DATACLASS | option))
    except TypeError:
        import json

        end = b"\n" if option else b""
        return json.dumps(record, ensure_ascii=True, separators=(",", ":"), default=_parsed).encode() + end


def _ready(value: Any) -> orjson.Fragment:
    if isinstance(value, msgspec.Raw):
        return orjson.Fragment(bytes(value))
    raise TypeError


def _parsed(value: Any) -> Any:
    if isinstance(value, msgspec.Raw):
        import json

        return json.loads(bytes(value))
    raise TypeError(f"{type(value).__name__} in a record")


def json_ready(value: Any) -> str | None:
    """A nested value as JSON text, for a table's column; None stays None."""
    return None if value is None else dumps(value).decode()
