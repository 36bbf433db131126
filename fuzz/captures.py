"""Whole captures with changes at one of their layers: a random generator in, a capture file out.

What is changed is what a writer would have written there: a file's bytes, a record, a frame, a TCP segment, an SMB message, a PDU,
a stub or the buffer inside it. What lies around it is made to fit: lengths, and the seals of what is sealed.
"""

from __future__ import annotations

import gzip
import io
import json
import struct
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from fuzz.mutation import Mutator
from tests.build import rpc, smb
from tests.build.auth import ntlm_handshake
from tests.build.buffers import Ndr

ROOT = Path(__file__).resolve().parent.parent
PASSWORD = "correct horse"
LEVELS = ("file", "record", "frame", "segment", "message", "pdu", "stub", "buffer")
_ETHERNET = b"\2\0\0\0\0\1\2\0\0\0\0\2\x08\0"
_MOST_BYTES = 40_000


@cache
def files() -> tuple[bytes, ...]:
    """The smaller captures of the project, cut where they are long."""
    found = sorted((ROOT / "captures").glob("*.pcap*"), key=lambda path: path.stat().st_size)
    return tuple(path.read_bytes()[:_MOST_BYTES] for path in found[:12])


@cache
def stubs() -> tuple[tuple[int, str, bytes], ...]:
    """Stubs of [MS-PCQ] from the test vectors: opnum, direction, bytes."""
    found = []
    for path in sorted((ROOT / "tests/interfaces/buffers/vectors").glob("*.json")):
        vector = json.loads(path.read_text("utf-8"))
        if vector["kind"] == "stub":
            found.append((vector["opnum"], vector["direction"], path.with_suffix(".bin").read_bytes()))
    return tuple(found)


@cache
def buffers() -> tuple[bytes, ...]:
    """Buffers from the test vectors, good and bad."""
    return tuple(
        path.with_suffix(".bin").read_bytes()
        for path in sorted((ROOT / "tests/interfaces/buffers/vectors").glob("*.json"))
        if json.loads(path.read_text("utf-8"))["kind"] != "stub"
    )


def records_of(data: bytes) -> list[tuple[bytes, bytes]]:
    """Record headers and frames of a pcap file in little-endian order, as far as it goes."""
    found, at = [], 24
    while at + 16 <= len(data):
        size = int.from_bytes(data[at + 8 : at + 12], "little")
        if at + 16 + size > len(data):
            break
        found.append((data[at : at + 16], data[at + 16 : at + 16 + size]))
        at += 16 + size
    return found


def _pcap(records: Sequence[tuple[bytes, bytes]]) -> bytes:
    head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1)
    return head + b"".join(header + frame for header, frame in records)


def _record(number: int, frame: bytes) -> tuple[bytes, bytes]:
    return struct.pack("<IIII", 1_700_000_000 + number // 1000, number % 1000 * 1000, len(frame), len(frame)), frame


def capture(rng: Mutator) -> tuple[str, bytes]:
    """A level and a capture that was changed there."""
    level = rng.choice(LEVELS)
    if level in ("file", "record", "frame"):
        return level, _changed_file(rng, level)
    return level, _conversation(rng, level)


def together(rng: Mutator, count: int) -> bytes:
    """So many changed captures in one, each between addresses of its own (the second number of an IPv4 address says which)."""
    records: list[tuple[bytes, bytes]] = []
    for number in range(count):
        data = capture(rng)[1]
        for header, frame in records_of(data) if data[:4] == b"\xd4\xc3\xb2\xa1" else ():
            if frame[12:14] == b"\x08\0" and len(frame) >= 34:
                frame = b"".join((frame[:27], bytes([number]), frame[28:31], bytes([number]), frame[32:]))
            records.append((header, frame))
    return _pcap(records)


def _changed_file(rng: Mutator, level: str) -> bytes:
    data = rng.choice(files())
    if level == "file" or data[:4] != b"\xd4\xc3\xb2\xa1":
        made = rng.changed(data, files())
        return gzip.compress(made, 1) if rng.random() < 0.05 else made
    records = records_of(data)
    start = rng.randrange(max(len(records) - 10, 1)) if rng.random() < 0.3 else 0
    records = records[start : start + 120]
    for _ in range(1 << rng.randrange(4)):
        if not records:
            break
        at = rng.randrange(len(records))
        if level == "frame":
            header, frame = records[at]
            frame = rng.changed(frame, [other for _, other in records[at : at + 2]])
            records[at] = (header[:8] + struct.pack("<II", len(frame), len(frame)), frame)
            continue
        action = rng.randrange(5)
        if action == 0:
            del records[at : at + rng.randrange(1, 4)]
        elif action == 1:
            records.insert(rng.randrange(len(records) + 1), records[at])
        elif action == 2:
            other = rng.randrange(len(records))
            records[at], records[other] = records[other], records[at]
        elif action == 3:
            header, frame = records[at]
            cut = rng.randrange(len(frame) + 1)
            records[at] = (header[:8] + struct.pack("<I", cut) + header[12:], frame[:cut])
        else:
            header, frame = records[at]
            records[at] = (rng.changed(header)[:16].ljust(16, b"\0"), frame)
    return _pcap(records)


def _conversation(rng: Mutator, level: str) -> bytes:
    """Calls of [MS-PCQ] over SMB or TCP, in clear or sealed; what the level says is changed on the way down."""
    often = 1 / rng.choice((2, 5, 20))

    def changed(at: str, data: bytes, others: Sequence[bytes] = ()) -> bytes:
        return rng.changed(data, others) if at == level and rng.random() < often else data

    sealed = rng.random() < 0.4
    mine: rpc.RealSealer | None = None
    theirs: rpc.RealSealer | None = None
    sent: list[tuple[int, bytes]] = [(0, rpc.bind()), (1, rpc.bind_ack())]
    if sealed:
        security = ntlm_handshake(seed=rng.randrange(8))
        level_of = rng.choice((4, 5, 6, 6))
        first, second, third = (rpc.Auth(token, level_of) for _, token in security.legs)
        mine = rpc.RealSealer(security, "initiator", level=level_of)
        theirs = rpc.RealSealer(security, "acceptor", level=level_of)
        sent = [
            (0, rpc.bind(auth=first, flags=rpc.WHOLE | rpc.HEADER_SIGN)),
            (1, rpc.bind_ack(auth=second)),
            (0, rpc.pdu(rpc.AUTH3, bytes(4), auth=third)),
        ]
    for call_id in range(2, 2 + rng.randrange(1, 8)):
        opnum, asked, answered = _call(rng, changed)
        asked, answered = changed("stub", asked), changed("stub", answered)
        for is_answer, stub, sealer in ((0, asked, mine), (1, answered, theirs)):
            for flags, piece in rpc.fragments(stub, rng.choice((24, 200, 4000, 4000))):
                flags = rng.randrange(256) if level == "pdu" and rng.random() < 0.02 else flags
                if is_answer:
                    sent.append((1, rpc.response(piece, call_id=call_id, flags=flags, sealer=sealer)))
                else:
                    sent.append((0, rpc.request(opnum, piece, call_id=call_id, flags=flags, sealer=sealer)))
    if level == "pdu" and rng.random() < 0.5:
        at = rng.randrange(len(sent))
        sent.insert(rng.randrange(len(sent)), sent.pop(at))
    sent = [(way, changed("pdu", made, [made for _, made in sent])) for way, made in sent]
    if rng.random() < 0.4:
        return _segments(rng, level, sent, 135)
    talk = smb.Talk(dialect=rng.choice((0x0202, 0x0300, 0x0311)))
    talk.begin().tree().open(rng.choice(("winreg", "PIPE\\winreg", "other")))
    waiting: bytes | None = None
    for way, made in sent:
        if way == 0 and waiting is None and rng.random() < 0.5:
            waiting = made
        elif way == 1 and waiting is not None:
            talk.transceive(waiting, made)
            waiting = None
        else:
            (talk.write if way == 0 else talk.read)(made)
    messages = [(int(way), changed("message", made, [each for _, each in talk.sent[:4]])) for way, made in talk.sent]
    return _segments(rng, level, messages, rng.choice((445, 445, 139, 5000)))


def _call(rng: Mutator, changed: Callable[..., bytes]) -> tuple[int, bytes, bytes]:
    """An opnum, and the stubs of a call."""
    if rng.random() < 0.5:
        opnum, direction, stub = rng.choice(stubs())
        others = [other for number, way, other in stubs() if number == opnum and way != direction]
        other = rng.choice(others) if others else b""
        return (opnum, stub, other) if direction == "request" else (opnum, other, stub)
    buffer = changed("buffer", rng.choice(buffers()), buffers())
    answer: Any = Ndr().uint(len(buffer)).uint(len(buffer)).uint(len(buffer))
    answer.data += buffer
    answer.uint(0)
    opnum = rng.choice((1, 2, 5, 6))
    handle = Ndr().handle("5e0c6a4e-9b1d-4f3c-8a55-0d2b7c9e1f10")
    if opnum in (5, 6):
        return opnum, handle.uint(1 << 16).data, answer.data
    asked = Ndr().string("\\\\FILES").uuid("383487a6-3676-4870-a4e7-d45b30c35629")
    if opnum == 1:
        asked.uint(rng.randrange(1, 14)).uint(0)
    return opnum, asked.uint(1 << 16).data, answer.data


def _segments(rng: Mutator, level: str, sent: Sequence[tuple[int, bytes]], port: int) -> bytes:
    """What both ends say, as TCP segments in a capture."""
    seq = [rng.getrandbits(32), rng.getrandbits(32)]
    segments: list[tuple[int, int, int, int, bytes]] = []
    if rng.random() < 0.8:
        segments += [(0, seq[0] - 1, 0, 2, b""), (1, seq[1] - 1, seq[0], 0x12, b"")]
    for way, data in sent:
        size = rng.choice((7, 100, 1460, 1460, 9000))
        for at in range(0, len(data), size):
            piece = data[at : at + size]
            segments.append((way, seq[way], seq[1 - way], 0x18, piece))
            seq[way] = (seq[way] + len(piece)) & 0xFFFFFFFF
    if level == "segment":
        for _ in range(1 << rng.randrange(5)):
            at = rng.randrange(len(segments))
            way, number, ack, flags, data = segments[at]
            action = rng.randrange(7)
            if action == 0:
                del segments[at]
                if not segments:
                    return _pcap([])
            elif action == 1:
                segments.insert(rng.randrange(len(segments) + 1), segments.pop(at))
            elif action == 2:
                segments.insert(rng.randrange(len(segments) + 1), (way, number, ack, flags, rng.changed(data)))
            elif action == 3:
                segments[at] = (way, number + rng.choice((-1, 1, 100, 1 << 20, 1 << 31)), ack, flags, data)
            elif action == 4:
                segments[at] = (way, number, ack + rng.choice((-1, 1, 5000, 1 << 30)), flags, data)
            elif action == 5:
                segments[at] = (way, number, ack, rng.randrange(256), data)
            else:
                segments[at] = (way, number, ack, flags, data[: rng.randrange(len(data) + 1)])
    records = []
    for turn, (way, number, ack, flags, data) in enumerate(segments):
        ends = ((0x0A000001, 50000), (0x0A000002, port))
        (src, sport), (dst, dport) = ends[way], ends[1 - way]
        tcp = (
            struct.pack(">HHIIBBHHH", sport, dport, number & 0xFFFFFFFF, ack & 0xFFFFFFFF, 0x50, flags, 65535, 0, 0)
            + data
        )
        ip = struct.pack(">BBHHHBBHII", 0x45, 0, 20 + len(tcp) & 0xFFFF, 0, 0x4000, 64, 6, 0, src, dst)
        records.append(_record(turn, _ETHERNET + ip + tcp))
    return _pcap(records)


def as_file(data: bytes) -> io.BytesIO:
    return io.BytesIO(data)
