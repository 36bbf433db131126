"""Event trace logs for tests, written byte by byte: buffers of several processors, events of all kinds, and packets in them."""

from __future__ import annotations

from collections.abc import Sequence
from struct import pack
from uuid import UUID

NDIS = "2ed6006e-4729-4609-b423-3ee7bcd678ef"
RAS = "d84521f7-2235-4237-a7c0-14e3a9676286"
PKTMON = "4d4f80d9-c8bd-4d73-bb5b-19c90402c5ac"
QPC, SYSTEM_TIME, CYCLES = 1, 2, 3
START, END, SEND, RECEIVE = 0x40000000, 0x80000000, 0x100000000, 0x200000000
WHOLE = START | END
WIRELESS_WAN, NATIVE_80211 = 0x200, 0x10000
T0 = 1_700_000_000_000_000_000
_FILETIME_EPOCH = 116_444_736_000_000_000
_HEADER = 72


def filetime(time_ns: int) -> int:
    return time_ns // 100 + _FILETIME_EPOCH


def text(value: str) -> bytes:
    return value.encode("utf-16-le") + b"\0\0"


def sized(value: bytes) -> bytes:
    return pack("<I", len(value)) + value


def ndis_packet(frame: bytes, *, lower: int = 12, miniport: int = 12, size: int | None = None) -> bytes:
    """The data of event 1001."""
    return pack("<III", miniport, lower, len(frame) if size is None else size) + frame


def switch_packet(frame: bytes, *, port: int = 3, vlan: int = 0, destinations: Sequence[str] = ()) -> bytes:
    """The data of event 1003."""
    names = text("port name") + text("nic name") + text("Internal")
    ends = b"".join(pack("<I", 9) + text(name) * 3 for name in destinations)
    beside = pack("<25Q", *(vlan << 4 if place == 4 else 0 for place in range(25)))
    return pack("<III", 20, 21, port) + names + pack("<I", len(destinations)) + ends + sized(frame) + sized(beside)


def pktmon_packet(
    frame: bytes,
    group: int,
    *,
    number: int = 1,
    appearance: int = 1,
    direction: int = 1,
    component: int = 5,
    kind: int = 1,
    wire: int = 0,
) -> bytes:
    """The data of events 160 and 170. `kind` is 1 for Ethernet, 2 for Wi-Fi, 3 for IP."""
    numbers = pack("<HHHHHHH", number, appearance, direction, kind, component, 1, 0)
    return pack("<Q", group) + numbers + pack("<IIHH", 0, 0, wire or len(frame), len(frame)) + frame


def pktmon_component(number: int, name: str, description: str = "") -> bytes:
    """The data of event 20."""
    return pack("<HH", number, 1) + text(name) + text(description)


def extended(*items: bytes) -> bytes:
    """Extended data items of type 12, each followed by the next."""
    out = b""
    for index, item in enumerate(items):
        padded = item + bytes(-len(item) % 8)
        out += pack("<HHHH", 8 + len(padded), 12, index < len(items) - 1, len(item)) + padded
    return out


class Etl:
    """A trace that is being written: each processor fills its buffer, and a full one goes to the file."""

    def __init__(
        self,
        *,
        buffer_size: int = 8192,
        clock: int = QPC,
        frequency: int = 10_000_000,
        started_ns: int = T0,
        first_stamp: int = 5_000_000_000,
        pointer_size: int = 8,
        events_lost: int = 0,
        buffers_lost: int = 0,
        ended_ns: int | None = T0 + 3600 * 10**9,
    ) -> None:
        self.size, self.clock, self.frequency = buffer_size, clock, frequency
        self.started_ns, self.first_stamp = started_ns, first_stamp
        self.pointer_size = pointer_size
        self._filling: dict[int, bytes] = {}
        self._sequence = 0
        ended = filetime(ended_ns) if ended_ns is not None else 0
        data = pack("<IBBBBIIqIIII", buffer_size, 10, 0, 5, 0, 19045, 4, ended, 156250, 0, 1, 2)
        mhz = frequency // 1_000_000 if clock == CYCLES else 2_400
        data += pack("<IIII", 1, pointer_size, events_lost, mhz)
        data += bytes(2 * pointer_size + 172 + 4)
        data += pack("<qqqII", filetime(T0) - 10**10, frequency, filetime(started_ns), clock, buffers_lost)
        data += text("NetTrace") + text("C:\\trace.etl")
        self.out = bytearray(self._buffer(0, self._system(0, 0, self.stamp(started_ns), data), kind=4))

    def stamp(self, time_ns: int) -> int:
        """A time as the clock of the trace counts it."""
        if self.clock == SYSTEM_TIME:
            return filetime(time_ns)
        return self.first_stamp + (time_ns - self.started_ns) * self.frequency // 10**9

    def _system(self, group: int, kind: int, stamp: int, data: bytes) -> bytes:
        bits = 2 if self.pointer_size == 8 else 1
        return pack("<HBBHBBIIqII", 1, bits, 0xC0, 32 + len(data), kind, group, 4, 8, stamp, 0, 0) + data

    def _buffer(self, processor: int, events: bytes, *, kind: int = 0, flags: int = 0x20) -> bytes:
        filled = _HEADER + len(events)
        self._sequence += 1
        head = pack("<IIIiqqQ", self.size, filled, filled, 0, 0, self._sequence, 0)
        head += pack("<HHIIHH", processor, 7, 3, filled, flags, kind) + bytes(16)
        return (head + events).ljust(self.size, b"\xee")

    def raw(self, event: bytes, *, processor: int = 0) -> Etl:
        """Appends an event as it is."""
        event += bytes(-len(event) % 8)
        if _HEADER + len(self._filling.get(processor, b"")) + len(event) > self.size:
            self.flush(processor)
        self._filling[processor] = self._filling.get(processor, b"") + event
        return self

    def flush(self, processor: int, *, flags: int = 0x20) -> Etl:
        """Writes the buffer of a processor."""
        if processor in self._filling:
            self.out += self._buffer(processor, self._filling.pop(processor), flags=flags)
        return self

    def kernel(self, time_ns: int, group: int, kind: int, data: bytes, *, processor: int = 0) -> Etl:
        return self.raw(self._system(group, kind, self.stamp(time_ns), data), processor=processor)

    def computer(self, time_ns: int, name: str) -> Etl:
        """The event of the kernel that has the computer's name."""
        return self.kernel(time_ns, 11, 10, pack("<5I", 2400, 4, 8192, 4096, 65536) + text(name).ljust(780, b"\0"))

    def event(
        self,
        time_ns: int,
        provider: str,
        number: int,
        data: bytes,
        *,
        keyword: int = WHOLE | SEND,
        processor: int = 0,
        process: int = 4,
        thread: int = 100,
        items: bytes = b"",
    ) -> Etl:
        """An event of a provider with a manifest."""
        bits = 0x13 if self.pointer_size == 8 else 0x12
        head = pack("<HBBHHII", 80 + len(items) + len(data), bits, 0xC0, bool(items), 0, thread, process)
        head += pack("<q", self.stamp(time_ns)) + UUID(provider).bytes_le
        head += pack("<HBBBBHQ", number, 0, 0, 4, 0, 0, keyword) + bytes(24)
        return self.raw(head + items + data, processor=processor)

    def ndis(
        self, time_ns: int, frame: bytes, *, keyword: int = WHOLE | SEND, processor: int = 0, thread: int = 100
    ) -> Etl:
        return self.event(time_ns, NDIS, 1001, ndis_packet(frame), keyword=keyword, processor=processor, thread=thread)

    def data(self) -> bytes:
        """The file, with what was not full yet."""
        for processor in sorted(self._filling):
            self.flush(processor)
        return bytes(self.out)


def other_kinds(stamp: int) -> list[bytes]:
    """An event of each other kind: compact, of performance, classic, of an instance, a message and an error."""
    guid = UUID(RAS).bytes_le
    return [
        pack("<HBBHBBIIq", 1, 4, 0xC0, 28, 1, 3, 4, 8, stamp) + b"data",
        pack("<HBBHBBq", 1, 17, 0xC0, 20, 1, 5, stamp) + b"data",
        pack("<HBBBBHIIq", 52, 20, 0xC0, 1, 4, 2, 4, 8, stamp) + guid + bytes(8) + b"data",
        pack("<HBBBBHIIq", 76, 21, 0xC0, 1, 4, 2, 4, 8, stamp) + guid + bytes(8) + pack("<II", 1, 2) + guid + b"data",
        pack("<HBBHH", 48, 0, 0x90, 10, 0x2B) + pack("<I", 1) + guid + pack("<qII", stamp, 8, 4) + b"data",
        pack("<HBB", 24, 13, 0xC0) + bytes(20),
    ]


def trace_of(frames: Sequence[tuple[int, bytes]], *, processors: int = 2, **options: int) -> bytes:
    """A trace of NDIS packet capture with these frames, time in ns and bytes, spread over processors."""
    etl = Etl(started_ns=frames[0][0] if frames else T0, **options)
    for index, (time_ns, frame) in enumerate(frames):
        etl.ndis(time_ns, frame, processor=index % processors)
    return etl.data()
