"""Writes sample records as JSON Lines, a chunk of `sample_chunks` at a time, byte for byte as `dumps` would write each record.

The record of each column is written once for all answers of its layout, with marks for the call, the instance and the value. The
text between marks is the same in every row, and equal texts of all columns are joined with their neighbours. So a line consists of
some half a dozen ready pieces, and thousands of lines are laid out piece by piece.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

from msgspec import Raw, Struct
from msgspec.structs import replace

from analyzer.core.output.json import dumps, line
from analyzer.interfaces.call_contents.raw_samples import ChunkPart, SampleChunk, Values
from analyzer.results.records.sample import SampleRecord

# JSON escapes every control character, so that this stands for nothing else.
_MARK = re.compile(rb"\x01(\w+)\x01")
# A line has some 500 bytes; pieces of a megabyte stay in the processor's cache.
_LINES_AT_ONCE = 2_048


def sample_json_lines(items: Iterable[SampleChunk | SampleRecord]) -> Iterator[bytes]:
    """Yields the JSON lines of samples, many at a time."""
    for item in items:
        if isinstance(item, SampleChunk):
            yield from _chunk_lines(item)
        else:
            yield line(item)


class _LinePiece(Struct, frozen=True):
    """A piece of every sample's JSON line: texts by column or by row, the value, the value of its base, or texts and keys of the
    call (`call`)."""

    of: Literal["call", "column", "row", "value", "base"]
    texts: list[bytes]


def _chunk_lines(chunk: SampleChunk) -> Iterator[bytes]:
    part = chunk.part
    pieces: list[_LinePiece] | None = part.made.get("json")
    if pieces is None:
        pieces = part.made["json"] = _pieces(part, chunk.of_call)
    constants = {key: dumps(value) for key, value in chunk.of_call.items()}
    of_call = [b"".join(_filled(piece.texts, constants)) if piece.of == "call" else b"" for piece in pieces]
    width = len(part.columns)
    no_value = [number for number, record in enumerate(part.columns) if record.raw is None]
    step = max(1, _LINES_AT_ONCE // width)
    height = len(part) // width
    for first in range(0, height, step):
        rows = min(step, height - first)
        values = dumps(chunk.values[first * width : (first + rows) * width].tolist())[1:-1].split(b",")
        for column in no_value:
            values[column::width] = [b"null"] * rows
        out = [b""] * (rows * width * len(pieces))
        for at, piece in enumerate(pieces):
            if piece.of == "call":
                texts = of_call[at : at + 1] * (rows * width)
            elif piece.of == "column":
                texts = piece.texts * rows
            elif piece.of == "row":
                texts = [text for text in piece.texts[first : first + rows] for _ in range(width)]
            elif piece.of == "value":
                texts = values
            else:
                texts = _base_texts(values, part.bases or (), width)
            out[at :: len(pieces)] = texts
        yield b"".join(out)


def _base_texts(values: Sequence[bytes], bases: Sequence[int | None], width: int) -> list[bytes]:
    texts = [b"null"] * len(values)
    for column, base in enumerate(bases):
        if base is not None:
            texts[column::width] = values[base::width]
    return texts


def _filled(texts: Sequence[bytes], stated: dict[str, bytes]) -> Iterator[bytes]:
    """Yields the JSON of a sample from texts and keys in turn; replaces each key by its value."""
    for number, text in enumerate(texts):
        yield stated[text.decode()] if number % 2 else text


def _pieces(part: ChunkPart, of_call: Values) -> list[_LinePiece]:
    """Makes the pieces of the JSON lines for one part of the samples."""
    rows = part.rows
    of_value = ("raw",) if part.bases is None else ("raw", "base_raw")
    marked = [*of_call, *of_value, *(rows[0] if rows else ())]
    marks: dict[str, Any] = {key: Raw(f"\x01{key}\x01".encode()) for key in marked}
    split = [_MARK.split(line(replace(record, **marks))) for record in part.columns]
    pieces: list[_LinePiece] = []
    for number, tokens in enumerate(zip(*split, strict=True)):
        token = tokens[0]
        if number % 2 == 0:
            last = pieces[-1] if pieces else None
            if any(other != token for other in tokens):
                pieces.append(_LinePiece("column", list(tokens)))
            elif last is None or last.of in ("value", "base"):
                pieces.append(_LinePiece("call", [token]))
            elif last.of == "call":
                last.texts.append(token)
            else:
                last.texts[:] = [text + token for text in last.texts]
        elif token in (b"raw", b"base_raw"):
            pieces.append(_LinePiece("value" if token == b"raw" else "base", []))
        elif rows and token.decode() in rows[0]:
            texts = [dumps(row[token.decode()]) for row in rows]
            if (before := pieces[-1]).of == "row":
                before.texts[:] = [text + more for text, more in zip(before.texts, texts, strict=True)]
            else:
                pieces.append(_LinePiece("row", texts))
        elif (before := pieces[-1]).of == "call":
            before.texts.append(token)
        else:
            pieces.append(_LinePiece("call", [b"", token]))
    return pieces
