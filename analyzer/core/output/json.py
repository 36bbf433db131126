"""Encodes records as JSON text (RFC 8259). All values become JSON here."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from msgspec import Raw
from msgspec.json import Encoder

_ENCODER = Encoder()
# DEL, C1, the controls of bidirectional text, line and paragraph separators, the byte order mark, and tags: in UTF-8.
_JSON_CONTROLS = (
    rb"\x7f|\xc2[\x80-\x9f]|\xd8\x9c|\xe2\x80[\x8e\x8f\xa8-\xae]"
    rb"|\xe2\x81[\xa6-\xa9]|\xef\xbb\xbf|\xf3\xa0[\x80\x81][\x80-\xbf]"
)
_JSON_CONTROLS_BEGIN = (b"\x7f", b"\xc2", b"\xd8", b"\xe2", b"\xef", b"\xf3")


class Pieces:
    """JSON text that is made piece by piece while it is written. In a record it stands where `Raw` may."""

    __slots__ = ("made",)

    def __init__(self, made: Callable[[], Iterator[bytes]]) -> None:
        """`made` begins the JSON text anew with each call, as `safe_json` leaves it. Pieces are long, so nobody looks at them
        again."""
        self.made = made


# Stands for `Pieces` while the rest is encoded: JSON has no such character elsewhere.
_MARK = Raw(b"\x01")


def dumps(value: object) -> bytes:
    """Encodes a record, or a value of one, as JSON. A lone surrogate (of an ill-formed UTF-16 name) and control characters are
    escaped, never lost. `Raw` is JSON already, and stays unchanged."""
    try:
        return safe_json(_ENCODER.encode(value))
    except UnicodeEncodeError:
        return _escaped(value)
    except TypeError:
        return b"".join(lines((value,)))[:-1]


# So much text is given out at once.
_AT_ONCE = 1 << 16


def lines(records: Iterable[object]) -> Iterator[bytes]:
    """Yields the JSON lines of records, many at a time. Long pieces of a record with `Pieces` come alone. If making a record fails,
    the lines of earlier records come first."""
    # Into room that is there already: that takes two thirds of the time.
    text, found = bytearray(), list[Pieces]()
    encode_into = _encoder(found).encode_into
    try:
        for record in records:
            start = len(text)
            try:
                encode_into(record, text, -1)
            except UnicodeEncodeError:
                text[start:] = _escaped(record)
                found.clear()
            except TypeError:
                del text[start:]
                raise
            if found:
                yield from _filled(text, start, found)
            text += b"\n"
            if len(text) >= _AT_ONCE:
                yield _given_out(text)
    except Exception:
        if text:
            yield _given_out(text)
        raise
    if text:
        yield _given_out(text)


def _encoder(found: list[Pieces]) -> Encoder:
    """Returns an encoder that writes a mark for each of a record's `Pieces`, and appends them to `found`."""

    def marked(part: object) -> Raw:
        if isinstance(part, Pieces):
            found.append(part)
            return _MARK
        raise TypeError(f"{type(part).__name__} in a record")

    return Encoder(enc_hook=marked)


def _filled(text: bytearray, start: int, found: list[Pieces]) -> Iterator[bytes]:
    """Puts pieces in the places of the marks in JSON text, from `start` on. Yields what is long; the rest stays in `text`."""
    head, *tails = bytes(text[start:]).split(bytes(_MARK))
    text[start:] = head
    for pieces, tail in zip(found, tails, strict=True):
        for piece in pieces.made():
            if len(text) + len(piece) < _AT_ONCE:
                text += piece
                continue
            if text:
                yield _given_out(text)
            yield piece
        text += tail
    found.clear()


def _given_out(text: bytearray) -> bytes:
    """Returns JSON text that was written into a room, and clears that."""
    given = safe_json(bytes(text))
    text.clear()
    return given


def _escaped(value: object) -> bytes:
    """Encodes as JSON a value whose text has lone surrogates. msgspec writes none."""
    from analyzer.core.output.standard_json import escaped

    return escaped(value)


def line(record: object) -> bytes:
    """Returns a record's JSON with a newline behind it."""
    return dumps(record) + b"\n"


def safe_json(document: bytes) -> bytes:
    """Escapes the control characters beyond C0 in JSON text (RFC 8259 section 7). The JSON has the same meaning."""
    # Of ASCII, DEL alone is to be escaped. Most text of other languages has none of these bytes, and they are found a hundred times
    # as fast as the expression is.
    if document.isascii():
        if b"\x7f" not in document:
            return document
    elif not any(first in document for first in _JSON_CONTROLS_BEGIN):
        return document
    return re.sub(_JSON_CONTROLS, _json_escape, document)


def _json_escape(match: re.Match[bytes]) -> bytes:
    units = match[0].decode().encode("utf-16-be")
    return b"".join(b"\\u%04x" % int.from_bytes(units[at : at + 2], "big") for at in range(0, len(units), 2))
