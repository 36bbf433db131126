"""Capture files for tests, written byte by byte: pcap in all its variants, and pcapng blocks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from ipaddress import ip_address
from struct import pack

from analyzer.capture.capture_reader import CaptureReader, Source
from analyzer.capture.frame_blocks import Frame, FrameBlock
from analyzer.core.events import Problem

ETHERNET = 1
MICRO, NANO, KUZNETZOV, IXIA_HW, IXIA_SW = 0xA1B2C3D4, 0xA1B23C4D, 0xA1B2CD34, 0x1C0001AC, 0x1C0001AB
T0 = 1_700_000_000_000_000_000

# A frame as tests give it: time in nanoseconds, captured bytes, and the length on the wire where it is another.
Given = tuple[int, bytes] | tuple[int, bytes, int]


def frames_of(count: int, *, start: int = T0, step: int = 1_000_000, size: int = 60) -> list[Given]:
    """Frames that differ from each other, `step` nanoseconds apart."""
    return [(start + n * step, n.to_bytes(4, "big") * ((size + n % 7) // 4)) for n in range(count)]


def pcap(
    frames: Iterable[Given],
    *,
    order: str = "<",
    magic: int = MICRO,
    network: int = ETHERNET,
    snaplen: int = 262144,
    version: tuple[int, int] = (2, 4),
    extra: bytes = b"",
) -> bytes:
    """A pcap file. `extra` goes into each record header after its four words."""
    out = [pack(order + "IHHiIII", magic, *version, 0, 0, snaplen, network)]
    if magic in (IXIA_HW, IXIA_SW):
        out.append(pack(order + "I", 0))
    unit = 1 if magic == NANO else 1000
    for time_ns, data, *wire in frames:
        seconds, fraction = divmod(time_ns, 10**9)
        out.append(pack(order + "IIII", seconds, fraction // unit, len(data), wire[0] if wire else len(data)))
        out.append(extra + data)
    return b"".join(out)


class Pcapng:
    """Blocks of a pcapng file in one byte order, appended to `data`."""

    def __init__(self, order: str = "<") -> None:
        self.order = order
        self.data = b""

    def block(self, kind: int, body: bytes) -> Pcapng:
        body += bytes(-len(body) % 4)
        length = pack(self.order + "I", len(body) + 12)
        self.data += pack(self.order + "I", kind) + length + body + length
        return self

    def option(self, code: int, value: bytes) -> bytes:
        return pack(self.order + "HH", code, len(value)) + value + bytes(-len(value) % 4)

    def section(self, order: str | None = None) -> Pcapng:
        self.order = order or self.order
        return self.block(0x0A0D0D0A, pack(self.order + "IHHq", 0x1A2B3C4D, 1, 0, -1))

    def interface(
        self, link_type: int = ETHERNET, *, snaplen: int = 0, resolution: int | None = None, offset_s: int | None = None
    ) -> Pcapng:
        options = b""
        if resolution is not None:
            options += self.option(9, bytes([resolution]))
        if offset_s is not None:
            options += self.option(14, pack(self.order + "q", offset_s))
        if options:
            options += self.option(0, b"")
        return self.block(1, pack(self.order + "HHI", link_type, 0, snaplen) + options)

    def enhanced(self, units: int, data: bytes, *, interface: int = 0, wire: int | None = None) -> Pcapng:
        head = pack(self.order + "IIIII", interface, units >> 32, units & 0xFFFFFFFF, len(data), wire or len(data))
        return self.block(6, head + data)

    def obsolete(self, units: int, data: bytes, *, interface: int = 0, drops: int = 0) -> Pcapng:
        head = pack(self.order + "HHIIII", interface, drops, units >> 32, units & 0xFFFFFFFF, len(data), len(data))
        return self.block(2, head + data)

    def simple(self, data: bytes, *, wire: int | None = None) -> Pcapng:
        return self.block(3, pack(self.order + "I", wire or len(data)) + data)

    def names(self, names: Sequence[tuple[str, str]]) -> Pcapng:
        records = b""
        for address, name in names:
            packed = ip_address(address).packed
            records += self.option(1 if len(packed) == 4 else 2, packed + name.encode() + b"\0")
        return self.block(4, records + self.option(0, b""))


def pcapng(frames: Iterable[Given], *, order: str = "<", link_type: int = ETHERNET) -> bytes:
    """A pcapng file of one section and one interface, with nanoseconds."""
    file = Pcapng(order).section().interface(link_type, resolution=9)
    parts = [file.data]
    for time_ns, data, *wire in frames:
        file.data = b""
        parts.append(file.enhanced(time_ns, data, wire=wire[0] if wire else None).data)
    return b"".join(parts)


def read(source: Source | Sequence[Source], **options: object) -> tuple[list[Frame], list[Problem], CaptureReader]:
    """Everything a reader gives."""
    reader = CaptureReader(source if isinstance(source, list | tuple) else [source], **options)
    frames: list[Frame] = []
    problems: list[Problem] = []
    for item in reader:
        if isinstance(item, FrameBlock):
            frames += [item.frame(index) for index in range(len(item))]
        else:
            problems.append(item)
    return frames, problems, reader


def as_given(frames: Iterable[Frame]) -> list[Given]:
    """Frames as tests give them."""
    return [(frame.time_ns, frame.data) for frame in frames]
