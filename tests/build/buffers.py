"""Builders of performance buffers and stubs, written from the specifications and independent of `ksy/` and of the decoders."""

from struct import pack
from typing import Literal
from uuid import UUID

from msgspec import Struct

from analyzer.core.dcerpc_encoding import NdrWriter

Order = Literal["little", "big"]
Padding = Literal["counted", "uncounted", "none"]


def pad8(data: bytes, fill: bytes = b"\0") -> bytes:
    return data + fill * (-len(data) % 8)


def wide(text: str, order: Order = "little") -> bytes:
    """UTF-16 with its NUL."""
    return (text + "\0").encode("utf-16-le" if order == "little" else "utf-16-be")


# -------------------------------------------------------------------------------------------------- MS-PCQ


def counter_data(value: bytes) -> bytes:
    """PERF_COUNTER_DATA (2.2.4.9)."""
    body = pad8(value)
    return pack("<II", len(value), 8 + len(body)) + body


def instance_header(name: str, number: int) -> bytes:
    """PERF_INSTANCE_HEADER (2.2.4.5)."""
    body = pad8(wide(name))
    return pack("<II", 8 + len(body), number) + body


def counter_ids(ids: list[int], padding: Padding = "counted") -> bytes:
    """PERF_MULTI_COUNTERS (2.2.4.11), padded in one of the ways it can be read."""
    natural = 8 + 4 * len(ids)
    size = natural + -natural % 8 if padding == "counted" else natural
    body = pack("<II", size, len(ids)) + pack(f"<{len(ids)}I", *ids)
    return body if padding == "none" else pad8(body)


class Block(Struct, frozen=True):
    """A counter header block: counter ids and instances as its type has them, values row by row."""

    kind: int
    status: int = 0
    ids: tuple[int, ...] = ()
    instances: tuple[tuple[str, int], ...] = ()
    values: tuple[tuple[bytes, ...], ...] = ()
    padding: Padding = "counted"

    def encoded(self) -> bytes:
        body = b""
        if self.kind in (2, 6):
            body += counter_ids(list(self.ids), self.padding)
        if self.kind in (1, 2):
            body += b"".join(counter_data(value) for value in self.values[0])
        if self.kind in (4, 6):
            inner = b"".join(
                instance_header(name, number) + b"".join(map(counter_data, row))
                for (name, number), row in zip(self.instances, self.values, strict=True)
            )
            body += pack("<II", 8 + len(inner), len(self.instances)) + inner
        return pack("<4I", self.status, self.kind, 16 + len(body), 0) + body

    def rows(self, number: int) -> list[tuple[int, int, int, int | None, str | None, int | None, bytes | None]]:
        """What is in it: block, type, status, counter, instance, instance id, value."""
        if self.kind == 0:
            return [(number, 0, self.status, None, None, None, None)]
        ids: tuple[int | None, ...] = self.ids if self.kind in (2, 6) else (None,)
        named: tuple[tuple[str | None, int | None], ...] = self.instances if self.kind in (4, 6) else ((None, None),)
        return [
            (number, self.kind, self.status, counter, name, instance, value)
            for (name, instance), row in zip(named, self.values, strict=True)
            for counter, value in zip(ids, row, strict=True)
        ]


def perf_data(blocks: list[Block], clocks: tuple[int, int, int] = (5, 133_541_156_967_890_000, 10_000_000)) -> bytes:
    """PERF_DATA_HEADER (2.2.4.7) and its blocks."""
    body = b"".join(block.encoded() for block in blocks)
    return pack("<II3Q8H", 48 + len(body), len(blocks), *clocks, 2024, 3, 2, 5, 12, 34, 56, 789) + body


def identifier(
    guid: str, *, status: int = 0, counter: int = 1, instance: int = 0, index: int = 0, name: str | None = None
) -> bytes:
    """PERF_COUNTER_IDENTIFIER (2.2.4.6)."""
    tail = b"" if name is None else pad8(wide(name))
    return UUID(guid).bytes_le + pack("<6I", status, 40 + len(tail), counter, instance, index, 0) + tail


def string_table(strings: list[tuple[int, str | None]], *, from_start: bool) -> bytes:
    """STRING_BUFFER_HEADER (2.2.4.3) with its strings, offsets counted in either way."""
    head = 8 + 8 * len(strings)
    headers, texts = b"", b""
    for number, text in strings:
        if text is None:
            headers += pack("<II", number, 0xFFFFFFFF)
        else:
            headers += pack("<II", number, len(texts) + (head if from_start else 0))
            texts += wide(text)
    whole = pad8(bytes(8) + headers + texts)
    return pack("<II", len(whole), len(strings)) + whole[8:]


# -------------------------------------------------------------------------------------------------- winperf.h


class Counter(Struct, frozen=True):
    """A counter of an object: title index, type, and the size of its values."""

    index: int
    kind: int
    size: int


class Instance(Struct, frozen=True):
    """An instance: name (None for none), UniqueID, parent's object and number, and one value a counter."""

    name: str | None
    unique_id: int
    parent: tuple[int, int]
    values: tuple[int | str, ...]


class PerfObject(Struct, frozen=True):
    """An object; `instances` is a single one without name where `has_instances` is not set.

    `metadata`: there are no `instances`, and NumInstances states that only what is registered was asked for.
    """

    index: int
    counters: tuple[Counter, ...]
    instances: tuple[Instance, ...]
    has_instances: bool = True
    code_page: int = 0
    metadata: bool = False
    # PerfTime and PerfFreq.
    clock: tuple[int, int] = (5000, 1000)
    default_scale: int = 0

    @property
    def num_instances(self) -> int:
        if self.metadata:
            return -2 if self.has_instances else -3
        return len(self.instances) if self.has_instances else -1

    def encoded(self, order: Order) -> bytes:
        mark = "<" if order == "little" else ">"
        offsets, at = [], 8
        for counter in self.counters:
            at += -at % 4
            offsets.append(at)
            at += counter.size
        definitions = b"".join(
            pack(
                f"{mark}5Ii4I",
                40,
                item.index,
                0,
                item.index + 1,
                0,
                self.default_scale,
                100,
                item.kind,
                item.size,
                offset,
            )
            for item, offset in zip(self.counters, offsets, strict=True)
        )
        length = at + -at % 8
        rest = b""
        for instance in self.instances:
            if self.has_instances:
                rest += self._definition(instance, mark, order)
            block = bytearray(length)
            block[:4] = pack(f"{mark}I", length)
            for item, offset, value in zip(self.counters, offsets, instance.values, strict=True):
                block[offset : offset + item.size] = encoded_value(item, value, order)
            rest += bytes(block)
        total = 64 + len(definitions) + len(rest)
        header = pack(
            f"{mark}9IiiIqq",
            *(total, 64 + len(definitions), 64, self.index, 0, self.index + 1, 0, 100, len(self.counters)),
            *(0, self.num_instances, self.code_page, *self.clock),
        )
        return header + definitions + rest

    def _definition(self, instance: Instance, mark: str, order: Order) -> bytes:
        if instance.name is None:
            name = b""
        elif self.code_page:
            name = instance.name.encode(f"cp{self.code_page}") + b"\0"
        else:
            name = wide(instance.name, order)
        room = pad8(name)
        parent, number = instance.parent
        return pack(f"{mark}3Ii2I", 24 + len(room), parent, number, instance.unique_id, 24, len(name)) + room


def encoded_value(counter: Counter, value: int | str, order: Order) -> bytes:
    if isinstance(value, int):
        return value.to_bytes(counter.size, order)
    raw = value.encode("latin-1") if counter.kind & 0x10000 else wide(value, order)[:-2]
    return raw.ljust(counter.size, b"\0")


def winperf(
    objects: list[PerfObject],
    order: Order = "little",
    system: str = "SRV1",
    clocks: tuple[int, int, int] = (987_654_321, 10_000_000, 133_541_156_967_890_000),
) -> bytes:
    """PERF_DATA_BLOCK. `clocks` are PerfTime, PerfFreq and PerfTime100nSec."""
    mark = "<" if order == "little" else ">"
    name = wide(system, order)
    room = pad8(name)
    body = b"".join(item.encoded(order) for item in objects)
    head = pack(
        f"{mark}6Ii8H4x3q2I",
        *(order == "little", 1, 1, 88 + len(room) + len(body), 88 + len(room), len(objects), -1),
        *(2024, 3, 2, 5, 12, 34, 56, 789),
        *(*clocks, len(name), 88),
    )
    return wide("PERF", order)[:8] + head + room + body


def name_table(pairs: list[tuple[str, str]]) -> bytes:
    """The value "Counter nnn": REG_MULTI_SZ of indices and names."""
    return b"".join(wide(index) + wide(text) for index, text in pairs) + b"\0\0"


# -------------------------------------------------------------------------------------------------- NDR


class Ndr(NdrWriter):
    """Writes a stub, NDR20 or NDR64, in either byte order, with something between that nobody should read."""

    def __init__(self, *, ndr64: bool = False, order: Order = "little") -> None:
        super().__init__(ndr64=ndr64, order=order, fill=b"\xaa")
