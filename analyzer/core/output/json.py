"""Encodes records as JSON text (RFC 8259). All values become JSON here."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from uuid import uuid4

from msgspec import UNSET, Raw, Struct
from msgspec.json import Encoder

from analyzer.core.output.escapes import safe_json

_ENCODER = Encoder()
_LONE = re.compile("[\ud800-\udfff]")


class Pieces:
    """JSON text too long to be held. It is made piece by piece while it is written. In a record it stands where `Raw` may."""

    __slots__ = ("made",)

    def __init__(self, made: Callable[[], Iterator[bytes]]) -> None:
        """`made` begins the JSON text anew with each call. No piece ends within a character."""
        self.made = made


# Stands for `Pieces` while the rest is encoded: JSON has no such character elsewhere.
_MARK = b"\x01"


def dumps(value: object) -> bytes:
    """Encodes a record, or a value of one, as JSON. A lone surrogate (of an ill-formed UTF-16 name) and control characters are
    escaped, never lost. `Raw` is JSON already, and stays unchanged."""
    try:
        return safe_json(_ENCODER.encode(value))
    except UnicodeEncodeError:
        return _escaped(value)  # msgspec writes no lone surrogates
    except TypeError:
        return b"".join(_in_pieces(value))


# So much text is given out at once.
_AT_ONCE = 1 << 16


def lines(records: Iterable[object]) -> Iterator[bytes]:
    """Yields the JSON lines of records, many at a time. A record with `Pieces` comes piece by piece. If making a record fails, the
    lines of earlier records come first."""
    # Into room that is there already: that takes two thirds of the time.
    text = bytearray()
    try:
        for record in records:
            start = len(text)
            try:
                _ENCODER.encode_into(record, text, -1)
            except UnicodeEncodeError:
                text[start:] = _escaped(record)
            except TypeError:
                if start:
                    yield safe_json(bytes(text[:start]))
                text.clear()
                yield from _in_pieces(record)
            text += b"\n"
            if len(text) >= _AT_ONCE:
                yield safe_json(bytes(text))
                text.clear()
    except Exception:
        if text:
            yield safe_json(bytes(text))
        raise
    if text:
        yield safe_json(bytes(text))


def _in_pieces(value: object) -> Iterator[bytes]:
    """Yields the JSON of a record like `dumps`, piece by piece if it has `Pieces`."""
    found: list[Pieces] = []

    def marked(part: object) -> Raw:
        if isinstance(part, Pieces):
            found.append(part)
            return Raw(_MARK)
        raise TypeError(f"{type(part).__name__} in a record")

    try:
        texts = safe_json(Encoder(enc_hook=marked).encode(value)).split(_MARK)
    except UnicodeEncodeError:
        yield _escaped(value)
        return
    yield texts[0]
    for pieces, text in zip(found, texts[1:], strict=True):
        yield from map(safe_json, pieces.made())
        yield text


def line(record: object) -> bytes:
    """Returns a record's JSON with a newline behind it."""
    return dumps(record) + b"\n"


def _escaped(value: object) -> bytes:
    """Returns the JSON of a value whose text has lone surrogates. `Raw` replaces a unique text afterwards."""
    raws: list[bytes] = []
    mark = uuid4().hex

    def plain(part: object) -> Any:
        if isinstance(part, Struct):
            config = part.__struct_config__
            out: dict[str, Any] = {config.tag_field: config.tag} if config.tag_field is not None else {}
            for name in part.__struct_fields__:
                if (item := getattr(part, name)) is not UNSET:
                    out[name] = item
            return out
        if isinstance(part, Raw | Pieces):
            raws.append(bytes(part) if isinstance(part, Raw) else b"".join(part.made()))
            return f"{mark}{len(raws) - 1}"
        raise TypeError(f"{type(part).__name__} in a record")

    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=plain)
    encoded = safe_json(_LONE.sub(lambda found: f"\\u{ord(found[0]):04x}", text).encode())
    return re.sub(f'"{mark}(\\d+)"'.encode(), lambda found: safe_json(raws[int(found[1])]), encoded)


def document(record: object) -> dict[str, Any]:
    """Returns a record as dictionaries and lists, like a reader of its JSON has it, for the output forms of other programs."""
    found: dict[str, Any] = json.loads(dumps(record))
    return found


def json_ready(value: object) -> str | None:
    """Returns a nested value as JSON text, for a column of a table. None stays None."""
    return None if value is None else dumps(value).decode()
