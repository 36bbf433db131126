"""Makes fields of SMB, IP and PDU headers beside their bytes, from tables of names and lengths."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Literal

from analyzer.results.records.display_records import Node, Reads, Words

# A header field: its id, its name in the specification, its length in bytes, and a function that makes a word of its value.
# A field with a negative length is bytes, not a number.
FieldSpec = tuple[str, str, int, Callable[[int], str | None] | None]


def numbers(
    data: bytes,
    at: int,
    fields: Sequence[FieldSpec],
    order: Literal["little", "big"],
    deciding: Collection[str] = (),
) -> Iterator[Node]:
    """Yields the header fields of a table, from `at` on, as far as the data reaches. The `deciding` ones decide which other fields
    there are."""
    for name, spelling, size, meaning in fields:
        length = abs(size)
        part = data[at : at + length]
        if len(part) < length:
            return
        decides = name in deciding
        if size < 0:
            yield Node(name, spelling, "bytes", at, length, part.hex(), None, "", reads="" if decides else "bytes")
        else:
            value = int.from_bytes(part, order)
            word = meaning(value) if meaning is not None else None
            reads: Reads = "" if decides else "le" if order == "little" else "be"
            yield Node(name, spelling, f"u{length}", at, length, value, word, "", reads=reads, words=meaning)
        at += length


def raw(
    data: bytes, name: str, start: int, stop: int, words: Words | None = None, *, decides: bool = False
) -> Iterator[Node]:
    """Yields a range of a header's bytes as one field, if it is not empty. With `decides`, other fields depend on these bytes."""
    if start < stop:
        part = data[start:stop]
        meaning = words(part) if words is not None else None
        yield Node(
            name,
            name,
            "bytes",
            start,
            stop - start,
            part.hex(),
            meaning,
            "",
            reads="" if decides else "bytes",
            words=words,
        )


def structure(name: str, spelling: str, start: int, stop: int, reference: str, children: Sequence[Node]) -> Node:
    """Makes a structure of these header fields."""
    return Node(name, spelling, spelling, start, stop - start, None, None, reference, tuple(children))


def size_of(fields: Sequence[FieldSpec]) -> int:
    """Returns the length of all these header fields in bytes."""
    return sum(abs(size) for _, _, size, _ in fields)


def bits(names: dict[int, str]) -> Callable[[int], str | None]:
    """Returns a function that names the set bits of a header field's value: `ACK | PSH`."""
    return lambda value: " | ".join(word for bit, word in names.items() if value & bit) or None


def one_of(names: dict[int, str]) -> Callable[[int], str | None]:
    """Returns a function that names a header field's value."""
    return names.get
