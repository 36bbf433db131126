"""What becomes of a capture on its way to a reader: other link types, clocks and tunnels; disorder, repetition, loss.

Each wear takes the frames of a capture (Ethernet) and gives a file. What `loses` nothing has to be read as the capture was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from ipaddress import ip_address
from random import Random
from struct import pack, pack_into, unpack, unpack_from

from msgspec import Struct

from tests.build import packet
from tests.build.capture import NANO, pcap, pcapng

Frames = Sequence[tuple[int, bytes]]
RAW, SLL, SLL2 = 101, 113, 276
IPV4, VLAN = 0x0800, 0x8100


class Worn(Struct, frozen=True):
    """A file, and the time of the first frame that it lacks or has in part (nanoseconds)."""

    data: bytes
    lost_ns: int | None = None


def _plain(write: Callable[[Frames], bytes]) -> Callable[[Frames, Random], Worn]:
    return lambda frames, rng: Worn(write(frames))


def _each(change: Callable[[bytes], bytes], link_type: int = 1) -> Callable[[Frames, Random], Worn]:
    return lambda frames, rng: Worn(
        pcap([(time, change(data)) for time, data in frames], network=link_type, magic=NANO)
    )


def _kind(data: bytes) -> int:
    return int(unpack_from(">H", data, 12)[0])


def _tunnelled(data: bytes) -> bytes:
    return packet.ethernet(packet.ipv4(packet.vxlan(data), protocol=17))


def _repeated(frames: Frames, rng: Random) -> Worn:
    made = []
    for time, data in frames:
        made.append((time, data))
        if rng.random() < 0.2:
            made.append((time + 1000, data))
    return Worn(pcap(made, magic=NANO))


def _disordered(frames: Frames, rng: Random) -> Worn:
    made = list(frames)
    # The handshake of TCP stays where it is: a reader may begin with what comes first.
    for at in range(6, len(made) - 1, 2):
        # Frames that are further apart would be a clock that was set back.
        if rng.random() < 0.3 and made[at + 1][0] - made[at][0] < 1_000_000_000:
            made[at], made[at + 1] = made[at + 1], made[at]
    return Worn(pcap(made, magic=NANO))


def _segmented(frames: Frames, rng: Random) -> Worn:
    size = rng.randint(100, 400)
    return Worn(pcap([(time, piece) for time, data in frames for piece in _segments(data, size)], magic=NANO))


def _segments(data: bytes, size: int) -> Iterator[bytes]:
    """A frame of TCP over IPv4 as several, the payload cut after `size` bytes."""
    if _kind(data) != IPV4 or data[23] != 6:
        yield data
        return
    total = unpack_from(">H", data, 16)[0]
    at = 34 + (data[46] >> 4) * 4
    head, payload = data[:at], data[at : 14 + total]
    if len(payload) <= size:
        yield data
        return
    sequence = unpack_from(">I", data, 38)[0]
    for start in range(0, len(payload), size):
        piece = payload[start : start + size]
        made = bytearray(head + piece)
        pack_into(">H", made, 16, len(made) - 14)
        pack_into(">I", made, 38, (sequence + start) & 0xFFFFFFFF)
        source, target = (str(ip_address(data[place : place + 4])) for place in (26, 30))
        yield data[:14] + _summed(made[14:34]) + packet.with_checksum(bytes(made[34:]), source, target)


def _summed(header: bytes) -> bytes:
    """An IPv4 header with its checksum (RFC 791 section 3.1)."""
    total = sum(unpack(">10H", header[:10] + b"\0\0" + header[12:]))
    total = (total & 0xFFFF) + (total >> 16)
    total = (total & 0xFFFF) + (total >> 16)
    return bytes(header[:10]) + pack(">H", 0xFFFF - total) + bytes(header[12:])


def _fragmented(frames: Frames, rng: Random) -> Worn:
    made: list[tuple[int, bytes]] = []
    for number, (time, data) in enumerate(frames):
        if _kind(data) != IPV4 or len(data) < 400:
            made.append((time, data))
            continue
        head, payload = data[14:34], data[34 : 14 + unpack_from(">H", data, 16)[0]]
        half = rng.randrange(64, 256, 8)
        for offset, piece in ((0, payload[:half]), (half, payload[half:])):
            cut = bytearray(head + piece)
            pack_into(">HHH", cut, 2, len(cut), number & 0xFFFF, (0x2000 if offset == 0 else 0) | offset // 8)
            made.append((time, data[:14] + _summed(cut[:20]) + bytes(cut[20:])))
    return Worn(pcap(made, magic=NANO))


def _is_data(data: bytes) -> bool:
    return len(data) > 160


def _lost(frames: Frames, rng: Random) -> Worn:
    later = range(len(frames) // 3 + 1, len(frames))
    # A conversation may have short frames only.
    at = rng.choice([n for n in later if _is_data(frames[n][1])] or [max(later, key=lambda n: len(frames[n][1]))])
    return Worn(pcap([*frames[:at], *frames[at + 1 :]], magic=NANO), frames[at][0])


def _ended(frames: Frames, rng: Random) -> Worn:
    at = rng.randrange(len(frames) // 3, len(frames) - 1)
    data = pcap(frames[: at + 1], magic=NANO)
    return Worn(data[: -rng.randint(1, 20)], frames[at][0])


def _short(frames: Frames, rng: Random) -> Worn:
    room = rng.randint(150, 300)
    cut = [time for time, data in frames if len(data) > room]
    return Worn(pcap([(time, data[:room], len(data)) for time, data in frames], magic=NANO), cut[0] if cut else None)


WEARS: dict[str, Callable[[Frames, Random], Worn]] = {
    "pcapng, nanoseconds": _plain(pcapng),
    "pcapng, big-endian": _plain(lambda frames: pcapng(frames, order=">")),
    "pcap, big-endian": _plain(lambda frames: pcap(frames, order=">")),
    "VLAN": _each(lambda data: data[:12] + pack(">HH", VLAN, 42) + data[12:]),
    "raw IP": _each(lambda data: data[14:], RAW),
    "Linux cooked": _each(lambda data: packet.sll(data[14:], _kind(data)), SLL),
    "Linux cooked 2": _each(lambda data: packet.sll2(data[14:], _kind(data)), SLL2),
    "VXLAN": _each(_tunnelled),
    "frames twice": _repeated,
    "frames out of order": _disordered,
    "TCP cut anew": _segmented,
    "IP fragments": _fragmented,
    "a frame lost": _lost,
    "the end lost": _ended,
    "frames cut short": _short,
}
