"""Hostile captures: a size in, a file of about that size out whose shape is meant to cost more than its bytes.

Each shape is one way to make a reader of captures hold, search or repeat more than it was given. `fuzz/hostile.py` measures what
the commands make of them at growing sizes. Files are the same bytes every time.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import random
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import lz4.frame
import zstandard

from benchmarks.traffic import ACK, GUID, HANDLE, SYN, Client, Tcp, Writer, answer_of
from tests.build import buffers, etl, rpc, smb
from tests.build.auth import INTEGRITY, ntlm_handshake, protected_pdu, tlv
from tests.build.buffers import Ndr
from tests.build.capture import Pcapng

PASSWORD = "correct horse"
TIMELINE = ("timeline", "FILE", "--format", "jsonl")
SAMPLES = ("samples", "FILE", "--format", "jsonl")
# OUT is a file that is not there yet.
SAVE, REPORT = ("save", "FILE", "-o", "OUT"), ("report", "FILE", "-o", "OUT")
# Every other command that reads captures.
OTHERS: tuple[tuple[str, ...], ...] = (
    *(
        (name, "FILE", "--format", "jsonl")
        for name in ("sessions", "hosts", "handles", "processes", "files", "stats", "triage")
    ),
    ("show", "FILE", "--call", "2"),
    ("diff", "FILE", "FILE", "--format", "jsonl"),
    ("keys", "wireshark", "FILE"),
    ("export-metadata", "FILE", "-o", "OUT"),
    ("export", "FILE", "--pcapng", "OUT"),
    SAVE,
    REPORT,
    ("collect", "FILE", "-o", "OUT"),
    ("browse", "FILE"),
)
# The largest answer that is sent as one call: a stub may have 64 MiB, and SMB takes it in fragments.
_SERVER = (0x0A000101, 445)


@dataclass(frozen=True)
class Shape:
    """`write` makes a file of about a size; `command` is what reads it, with FILE in the place of the file, and OUT in that of one
    to write."""

    name: str
    command: tuple[str, ...]
    write: Callable[[Path, int], None]
    what: str


SHAPES: dict[str, Shape] = {}
_Write = Callable[[Path, int], None]


def shape(*commands: tuple[str, ...]) -> Callable[[_Write], _Write]:
    """Registers a generator under its name, once for each command."""

    def register(write: _Write) -> _Write:
        for number, command in enumerate(commands or (TIMELINE,)):
            name = write.__name__.replace("_", "-") + (f"-{command[0]}" if number else "")
            SHAPES[name] = Shape(name, command, write, (write.__doc__ or "").strip())
        return write

    return register


def _raw_pcap(records: bytes) -> bytes:
    return struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1) + records


def _tcp(out: Writer, number: int = 0) -> Tcp:
    """A connection of a client of its own to port 445; it does not begin by itself."""
    return Tcp(out, (0x0A010000 + (number >> 14), 40000 + (number & 0x3FFF)), _SERVER, random.Random(number))


def _talk(out: Writer, number: int = 0) -> tuple[Tcp, smb.Talk, Callable[[], None]]:
    """An SMB session with an open pipe, and what puts its messages into the capture."""
    tcp, talk = _tcp(out, number).begin(), smb.Talk(session=0x1000 + number)
    talk.begin().tree().open()

    def send() -> None:
        for direction, message in talk.sent:
            tcp.send(direction, message)
        talk.sent.clear()

    return tcp, talk, send


# ------------------------------------------------------------------------------------------------------------------ files


@shape()
def records_of_nothing(path: Path, size: int) -> None:
    """pcap records without data."""
    path.write_bytes(_raw_pcap(struct.pack("<IIII", 1, 2, 0, 0) * (size // 16)))


@shape()
def records_of_nothing_in_gzip(path: Path, size: int) -> None:
    """The same, a thousand times as many as the gzip file has bytes for."""
    with gzip.open(path, "wb", 9) as out:
        out.write(_raw_pcap(b""))
        piece = struct.pack("<IIII", 1, 2, 0, 0) * 4096
        for _ in range(size // 256):
            out.write(piece)


def _zeros(path: Path, size: int, compress: Callable[[bytes], bytes], ratio: int) -> None:
    """Members of a mebibyte of frames of zeros each, as many as it takes."""
    frame = struct.pack("<IIII", 1, 2, 65536 - 16, 65536 - 16) + bytes(65536 - 16)
    first, member = compress(_raw_pcap(b"")), compress(frame * 64)
    with path.open("wb") as out:
        out.write(first)
        while out.tell() < size:
            out.write(member)


@shape()
def bomb_gzip(path: Path, size: int) -> None:
    """A gzip file of zeros."""
    _zeros(path, size // 16, gzip.compress, 1000)


@shape()
def bomb_bzip2(path: Path, size: int) -> None:
    """A bzip2 file of zeros, twenty thousand times its size."""
    _zeros(path, size // 512, bz2.compress, 20000)


@shape()
def bomb_xz(path: Path, size: int) -> None:
    """An xz file of zeros."""
    _zeros(path, size // 64, lzma.compress, 6000)


@shape()
def bomb_zstd(path: Path, size: int) -> None:
    """A zstd file of zeros."""
    _zeros(path, size // 128, zstandard.ZstdCompressor().compress, 10000)


@shape()
def bomb_lz4(path: Path, size: int) -> None:
    """An lz4 file of zeros."""
    _zeros(path, size // 4, lz4.frame.compress, 250)


@shape()
def members_of_nothing(path: Path, size: int) -> None:
    """A gzip file of empty members."""
    empty = gzip.compress(b"", mtime=0)
    path.write_bytes(gzip.compress(_raw_pcap(b"")) + empty * (size // len(empty)))


@shape()
def bomb_in_bomb(path: Path, size: int) -> None:
    """A gzip file of a gzip file of zeros."""
    inner = gzip.compress(_raw_pcap(bytes(size * 64)))
    path.write_bytes(gzip.compress(inner))


@shape()
def sections(path: Path, size: int) -> None:
    """pcapng sections with nothing in them, each in the other byte order."""
    pair = Pcapng("<").section().data + Pcapng(">").section().data
    path.write_bytes(pair * (size // len(pair)))


@shape()
def interfaces(path: Path, size: int) -> None:
    """pcapng interfaces, a frame after each hundred."""
    writer = Pcapng().section()
    one = Pcapng().interface(resolution=9).data * 100 + Pcapng().enhanced(1, bytes(60)).data
    path.write_bytes(writer.data + one * (size // len(one)))


@shape()
def interface_options(path: Path, size: int) -> None:
    """pcapng interfaces of nothing but empty options."""
    body = struct.pack("<HHI", 1, 0, 0) + Pcapng().option(2, b"") * 4000
    one = Pcapng().block(1, body).data
    path.write_bytes(Pcapng().section().data + one * max(size // len(one), 1))


@shape()
def names(path: Path, size: int) -> None:
    """pcapng name records."""
    body = b"".join(
        struct.pack("<HH", 1, 8) + struct.pack(">I", number) + f"a{number % 100:02}".encode() + b"\0"
        for number in range(size // 12)
    )
    writer = Pcapng().section().interface()
    for at in range(0, len(body), 12 * 4096):
        writer.block(4, body[at : at + 12 * 4096] + bytes(4))
    path.write_bytes(writer.data)


@shape()
def decryption_secrets(path: Path, size: int) -> None:
    """pcapng blocks of keys that are not used."""
    one = Pcapng().block(10, struct.pack("<II", 0x544C534B, 0)).data
    many = b"".join(Pcapng().block(10, struct.pack("<II", number, 0)).data for number in range(size // 2 // len(one)))
    path.write_bytes(Pcapng().section().interface().data + one * (size // 2 // len(one)) + many)


@shape()
def packets_of_nothing(path: Path, size: int) -> None:
    """pcapng packets without data, of ten interfaces in turn, whose clocks differ."""
    writer = Pcapng().section()
    for number in range(10):
        writer.interface(resolution=number)
    turn = b"".join(Pcapng().enhanced(5, b"", interface=number).data for number in range(10))
    path.write_bytes(writer.data + turn * (size // len(turn)))


@shape()
def like_headers(path: Path, size: int) -> None:
    """pcap frames full of what looks like the header of a record, and misleads."""
    header = struct.pack("<IIII", 1_700_000_000, 5, 16, 16)
    frame = header * 256
    record = struct.pack("<IIII", 1_700_000_000, 5, len(frame), len(frame)) + frame
    path.write_bytes(_raw_pcap(record * (size // len(record))))


def _etl(path: Path, size: int, add: Callable[[etl.Etl, int], object], buffer_size: int = 8192) -> None:
    """A trace of about a size; `add` adds events, given how many times it did."""
    trace = etl.Etl(buffer_size=buffer_size)
    for number in count():
        if len(trace.out) >= size:
            break
        add(trace, number)
    path.write_bytes(trace.data())


@shape()
def etl_buffers(path: Path, size: int) -> None:
    """Buffers of an event trace log as small as they may be, with a packet of nothing in each, those of the end first."""
    last = size // 1024
    _etl(path, size, lambda trace, number: trace.ndis(etl.T0 + (last - number) * 1000, b"").flush(0), 1024)


@shape()
def etl_events_of_nothing(path: Path, size: int) -> None:
    """Messages without data, as short as events may be."""
    event = struct.pack("<HBBHH", 8, 0, 0x90, 0, 0)
    _etl(path, size, lambda trace, _: trace.raw(event * 1000), 16384)


@shape()
def etl_packets_of_nothing(path: Path, size: int) -> None:
    """Packets of an event trace log without data, of Ethernet and of a modem in turn, whose order is another each time."""
    keywords = etl.WHOLE, etl.WHOLE | etl.WIRELESS_WAN
    _etl(
        path, size, lambda trace, number: trace.ndis(etl.T0 + (number ^ 0x55) * 1000, b"", keyword=keywords[number % 2])
    )


@shape()
def etl_out_of_order(path: Path, size: int) -> None:
    """Buffers that begin in order and go on with packets of the end of the trace: all of them wait."""

    def add(trace: etl.Etl, number: int) -> None:
        trace.ndis(etl.T0 + number * 1000, b"")
        for _ in range(80):
            trace.ndis(etl.T0 + 10**12 - number * 1000, b"")
        trace.flush(0)

    _etl(path, size, add)


@shape()
def etl_fragments_alone(path: Path, size: int) -> None:
    """Packets of event trace logs that begin and do not end, each of another thread."""
    _etl(path, size, lambda trace, number: trace.ndis(etl.T0 + number, b"", keyword=etl.START, thread=number))


@shape()
def etl_fragments_of_nothing(path: Path, size: int) -> None:
    """A packet of an event trace log that begins, and goes on with events without data."""
    _etl(path, size, lambda trace, number: trace.ndis(etl.T0 + number, b"", keyword=0 if number else etl.START))


@shape()
def etl_fragments_kept(path: Path, size: int) -> None:
    """Packets of event trace logs that begin with all that an event may have and do not end, each of another thread."""
    data = bytes(60_000)
    _etl(path, size, lambda trace, number: trace.ndis(etl.T0 + number, data, keyword=etl.START, thread=number), 1 << 20)


@shape()
def etl_appearances(path: Path, size: int) -> None:
    """Packets of pktmon, each in a group of its own and at another component."""

    def add(trace: etl.Etl, number: int) -> None:
        packet = etl.pktmon_packet(b"", number + 1, component=number & 0xFFFF)
        trace.event(etl.T0 + number, etl.PKTMON, 160, packet, keyword=0)

    _etl(path, size, add)


@shape()
def etl_interfaces(path: Path, size: int) -> None:
    """Packets of an event trace log, each of another virtual switch with long names."""

    def add(trace: etl.Etl, number: int) -> None:
        trace.event(etl.T0 + number, etl.NDIS, 1003, etl.switch_packet(b"", port=number, destinations=("n" * 50,) * 5))

    _etl(path, size, add)


# ------------------------------------------------------------------------------------------------------------ IP and TCP


@shape()
def fragments_alone(path: Path, size: int) -> None:
    """First fragments of as many datagrams."""
    with Writer(path) as out:
        for number in count():
            payload = bytes(range(64))
            head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(payload), number & 0xFFFF, 0x2000, 64, 6, 0)
            out.packet(b"\2" * 12 + b"\x08\0" + head + struct.pack(">II", 0x0A000000 + (number >> 16), 1) + payload)
            if out.size > size:
                return


@shape()
def fragments_of_eight_bytes(path: Path, size: int) -> None:
    """Datagrams of fragments of eight bytes from the last to the second; the first never comes."""
    with Writer(path) as out:
        for number in count():
            for piece in range(8000, 0, -1):
                head = struct.pack(">BBHHHBBH", 0x45, 0, 28, number, 0x2000 * (piece < 8000) | piece, 64, 6, 0)
                out.packet(b"\2" * 12 + b"\x08\0" + head + struct.pack(">II", 0x0A000001, 2) + bytes(8))
                if out.size > size:
                    return


@shape()
def fragments_that_overlap(path: Path, size: int) -> None:
    """Fragments of one datagram over and over, each with other bytes at other places."""
    rng = random.Random(1)
    with Writer(path) as out:
        while out.size < size:
            at = rng.randrange(1, 8000)
            head = struct.pack(">BBHHHBBH", 0x45, 0, 36, 7, 0x2000 | at, 64, 6, 0)
            out.packet(b"\2" * 12 + b"\x08\0" + head + struct.pack(">II", 0x0A000001, 2) + rng.randbytes(16))


@shape()
def tunnels(path: Path, size: int) -> None:
    """IP in IP in IP, as deep as a frame is long."""
    inner = bytes(20)
    for _ in range(70):
        inner = struct.pack(">BBHHHBBHII", 0x45, 0, 20 + len(inner), 0, 0, 64, 4, 0, 1, 2) + inner
    with Writer(path) as out:
        while out.size < size:
            out.packet(b"\2" * 12 + b"\x08\0" + inner)


@shape()
def connections_of_one_packet(path: Path, size: int) -> None:
    """Each packet begins another connection with a byte of data."""
    with Writer(path) as out:
        for number in count():
            _tcp(out, number).segment(0, b"\0")
            if out.size > size:
                return


@shape()
def connections_of_a_syn(path: Path, size: int) -> None:
    """Each packet is the SYN of another connection."""
    with Writer(path) as out:
        for number in count():
            _tcp(out, number).segment(0, b"", SYN)
            if out.size > size:
                return


@shape()
def connections_that_begin(path: Path, size: int) -> None:
    """Connections that begin an SMB message and stop."""
    with Writer(path) as out:
        for number in count():
            tcp = _tcp(out, number)
            tcp.segment(0, b"", SYN)
            tcp.segment(0, smb.framed(smb.smb2(0, bytes(36), 0))[:60])
            if out.size > size:
                return


@shape()
def flows_elsewhere(path: Path, size: int) -> None:
    """Connections on other ports that begin like SMB."""
    with Writer(path) as out:
        for number in count():
            tcp = Tcp(
                out, (0x0A010000 + (number >> 14), 40000 + (number & 0x3FFF)), (0x0A000101, 4450), random.Random(1)
            )
            tcp.segment(0, b"", SYN)
            tcp.segment(0, smb.framed(smb.smb2(0, bytes(36), 0)))
            if out.size > size:
                return


@shape()
def to_itself(path: Path, size: int) -> None:
    """Ends that send to themselves."""
    with Writer(path) as out:
        for number in count():
            end = (0x0A000000 + (number >> 14), 445 if number % 2 else 40000 + (number & 0x3FFF))
            Tcp(out, end, end if number % 2 else (end[0], 445), random.Random(number)).segment(0, b"\0\0\0\x40\xfeSMB")
            if out.size > size:
                return


@shape()
def backwards(path: Path, size: int) -> None:
    """One connection whose segments come from the last to the first."""
    with Writer(path) as out:
        tcp = _tcp(out).begin()
        first = tcp._seq[0]
        total = size // 60
        for number in range(total, 0, -1):
            tcp._seq[0] = first + 4 * number
            tcp.segment(0, bytes(4))


@shape()
def every_other(path: Path, size: int) -> None:
    """One connection of which every other segment is missing, and nothing acknowledged."""
    with Writer(path) as out:
        tcp = _tcp(out).begin()
        while out.size < size:
            tcp._seq[0] += 2
            tcp.segment(0, b"ab")


@shape()
def every_other_acknowledged(path: Path, size: int) -> None:
    """The same, and the other end acknowledges each."""
    with Writer(path) as out:
        tcp = _tcp(out).begin()
        while out.size < size:
            tcp._seq[0] += 2
            tcp.segment(0, b"ab")
            tcp.segment(1, b"", ACK)


@shape()
def holes_everywhere(path: Path, size: int) -> None:
    """Many connections, each holding segments behind a hole."""
    with Writer(path) as out:
        number = 0
        while out.size < size:
            tcp = _tcp(out, number).begin()
            for _ in range(8):
                tcp._seq[0] += 1
                tcp.segment(0, b"x")
            number += 1


@shape()
def again_otherwise(path: Path, size: int) -> None:
    """The same place of a connection over and over, with other bytes each time."""
    rng = random.Random(2)
    with Writer(path) as out:
        tcp = _tcp(out).begin()
        first = tcp._seq[0]
        while out.size < size:
            tcp._seq[0] = first + 1000 + rng.randrange(4000)
            tcp.segment(0, rng.randbytes(100))
            if rng.random() < 0.1:
                tcp._seq[0] = first
                tcp.segment(0, rng.randbytes(100))


@shape()
def conflicts_of_many(path: Path, size: int) -> None:
    """Connections in each of which bytes come twice, otherwise the second time."""
    with Writer(path) as out:
        number = 0
        while out.size < size:
            tcp = _tcp(out, number).begin()
            first = tcp._seq[0]
            for turn in range(4):
                tcp._seq[0] = first
                tcp.segment(0, bytes([turn]) * 8)
            number += 1


@shape()
def resets(path: Path, size: int) -> None:
    """Connections that are reset, and go on on the same ports."""
    with Writer(path) as out:
        number = 0
        while out.size < size:
            tcp = _tcp(out, number % 100).begin()
            tcp.segment(0, b"\0\0\0\x40\xfeSMB\x40\0")
            tcp.segment(1, b"", 4 | ACK)
            number += 1


@shape()
def one_byte_each(path: Path, size: int) -> None:
    """An SMB conversation of segments of one byte."""
    with Writer(path) as out:
        tcp, talk, _ = _talk(out)
        talk.write(rpc.bind()).read(rpc.bind_ack())
        for number in count(2):
            talk.transceive(rpc.request(0, bytes(8), call_id=number), rpc.response(bytes(8), call_id=number))
            for direction, message in talk.sent:
                for at in range(len(message)):
                    tcp.segment(direction, message[at : at + 1])
            talk.sent.clear()
            if out.size > size:
                return


@shape()
def holes_in_messages(path: Path, size: int) -> None:
    """SMB messages of which every other segment of four bytes is missing, and the end acknowledged."""
    with Writer(path) as out:
        tcp = _tcp(out).begin()
        tcp.send(0, smb.framed(smb.smb2(0, bytes(36), 0)))
        while out.size < size:
            tcp.segment(0, struct.pack(">I", 1 << 20) + smb.smb2(smb.WRITE, b"", 1)[:60])
            for _ in range(5000):
                tcp._seq[0] += 4
                tcp.segment(0, bytes(4))
                tcp.segment(1, b"", ACK)
            tcp._seq[0] += (1 << 20) - 60 - 8 * 5000


# -------------------------------------------------------------------------------------------------------------------- SMB


@shape()
def smb_sessions(path: Path, size: int) -> None:
    """Sessions that are set up, one after the other, on one connection."""
    with Writer(path) as out:
        tcp = _tcp(out).begin()
        for number in count(1):
            talk = smb.Talk(session=number, next_id=4 * number)
            talk.begin()
            for direction, message in talk.sent[2:]:
                tcp.send(direction, message)
            if out.size > size:
                return


@shape()
def smb_session_ids(path: Path, size: int) -> None:
    """Messages that each name another session."""
    with Writer(path) as out:
        _, talk, send = _talk(out)
        send()
        for number in count(1):
            talk.ask(smb.READ, smb.read_request(), session=number)
            send()
            if out.size > size:
                return


@shape()
def smb_opens(path: Path, size: int) -> None:
    """Pipes that are opened and never closed, each with a bind."""
    with Writer(path) as out:
        _, talk, send = _talk(out)
        for number in count(1):
            file_id = number.to_bytes(16, "little")
            talk.open("winreg", file_id)
            talk.write(rpc.bind(), file_id)
            send()
            if out.size > size:
                return


@shape()
def smb_opens_everywhere(path: Path, size: int) -> None:
    """Connections of as many sessions, trees and opens each."""
    with Writer(path) as out:
        number = 0
        while out.size < size:
            _, talk, send = _talk(out, number)
            for each in range(1, 20):
                talk.tree(f"\\\\S{each}\\T{number}", tree=each + 1)
                talk.open(f"pipe{each}", each.to_bytes(16, "little"))
            send()
            number += 1


@shape()
def smb_trees(path: Path, size: int) -> None:
    """Trees that are connected, each of another name."""
    with Writer(path) as out:
        _, talk, send = _talk(out)
        for number in count(1):
            talk.tree(f"\\\\H{number}\\S", tree=number)
            send()
            if out.size > size:
                return


@shape()
def smb_requests_unanswered(path: Path, size: int) -> None:
    """Requests without answers."""
    with Writer(path) as out:
        _, talk, send = _talk(out)
        while out.size < size:
            for number in range(100):
                talk.ask(smb.CREATE, smb.create_request(f"p{number}"))
            send()


@shape()
def smb_answers_unasked(path: Path, size: int) -> None:
    """Answers that nobody asked for."""
    with Writer(path) as out:
        _, talk, send = _talk(out)
        for number in count(1 << 20):
            talk.answer(number, smb.READ, smb.read_response(b"\5\0\2\3" + bytes(60)))
            send()
            if out.size > size:
                return


@shape()
def smb_compounds(path: Path, size: int) -> None:
    """Compounds of as many operations as they can have."""
    one = smb.smb2(smb.READ, smb.read_request(), 5, flags=4)
    one += bytes(-len(one) % 8)
    chain = (one[:20] + struct.pack("<I", len(one)) + one[24:]) * 4000
    with Writer(path) as out:
        tcp, _, send = _talk(out)
        send()
        while out.size < size:
            tcp.send(0, smb.framed(chain + one))


@shape()
def smb_malformed(path: Path, size: int) -> None:
    """Messages each of which is wrong, in another way."""
    rng = random.Random(3)
    with Writer(path) as out:
        tcp, _, send = _talk(out)
        send()
        while out.size < size:
            body = smb.smb2(rng.randrange(19), rng.randbytes(8), rng.randrange(9), response=rng.random() < 0.5)
            tcp.send(
                rng.randrange(2), smb.framed(body[:4] + rng.randbytes(2) + body[6:] if rng.random() < 0.5 else body)
            )


@shape()
def smb1_andx(path: Path, size: int) -> None:
    """SMB1 messages of AndX commands as long as they can be, and some that lead back to themselves."""
    pieces = b""
    at = 32
    while at < 60000:
        step = 1 + 4 + 2
        pieces += bytes([2, 0x2D, 0]) + struct.pack("<H", at + step) + b"\0\0"
        at += step
    loop = bytes([2, 0x2D, 0]) + struct.pack("<H", 32) + b"\0\0"
    with Writer(path) as out:
        tcp = _tcp(out).begin()
        while out.size < size:
            tcp.send(0, smb.framed(smb.smb1_raw(0x2D, pieces)))
            for _ in range(200):
                tcp.send(0, smb.framed(smb.smb1_raw(0x2D, loop)))


@shape()
def smb1_transactions(path: Path, size: int) -> None:
    """SMB1 transactions that begin and never end."""
    with Writer(path) as out:
        tcp = _tcp(out).begin()
        for number in count():
            block = smb.trans_request(bytes(16), total=60000)
            tcp.send(0, smb.framed(smb.smb1_raw(0x25, block, mid=number & 0xFFFF)))
            if out.size > size:
                return


def _compressed(path: Path, size: int, message: bytes) -> None:
    with Writer(path) as out:
        tcp, _, send = _talk(out)
        send()
        while out.size < size:
            for _ in range(50):
                tcp.send(0, smb.framed(message))


@shape()
def smb_bomb_pattern(path: Path, size: int) -> None:
    """Compressed messages: one byte sixteen million times."""
    body = smb.smb2(smb.WRITE, smb.write_request(b"")[:48], 9)
    total = 16_000_000
    pattern = struct.pack("<BBHI", 0, 0, 0, total)
    _compressed(path, size, smb.chained(total + len(body), (0, body, None), (4, pattern, None)))


@shape()
def smb_bomb_lz77(path: Path, size: int) -> None:
    """Compressed messages: a match of all that a message can hold."""
    flags = struct.pack("<I", 0x7FFFFFFF)
    packed = flags + b"\0" + struct.pack("<H", 7) + b"\xff" * 1 + b"\xff" + struct.pack("<H", 0)
    packed += struct.pack("<I", 16_000_000)
    _compressed(path, size, _packed(2, 16_000_000, packed))


@shape()
def smb_bomb_lznt1(path: Path, size: int) -> None:
    """Compressed messages: chunks of one match each."""
    chunk = bytes([2]) + b"A" + struct.pack("<H", 0xFFF)
    packed = (struct.pack("<H", 0xB000 | (len(chunk) - 1)) + chunk) * 1000
    _compressed(path, size, _packed(1, 4096 * 1000, packed))


@shape()
def smb_bomb_huffman(path: Path, size: int) -> None:
    """Compressed messages: tables of codes, and nothing in them."""
    _compressed(path, size, _packed(3, 65536, bytes([0x11]) + bytes(255) + bytes(64)))


def _packed(algorithm: int, size: int, packed: bytes) -> bytes:
    return struct.pack("<4sIHHI", b"\xfcSMB", size, algorithm, 0, 0) + packed


@shape()
def smb_many_hosts(path: Path, size: int) -> None:
    """NetBIOS session requests, each of another name."""

    def encoded(number: int) -> bytes:
        raw = f"N{number:014}".encode()[:15] + b"\0"
        return b"\x20" + b"".join(bytes([0x41 + (byte >> 4), 0x41 + (byte & 15)]) for byte in raw) + b"\0"

    with Writer(path) as out:
        number = 0
        while out.size < size:
            tcp = _tcp(out, number).begin()
            body = encoded(number) + encoded(number + 1)
            tcp.send(0, b"\x81\0" + struct.pack(">H", len(body)) + body)
            tcp.send(0, smb.framed(smb.smb2(0, smb.negotiate_request(), 0)))
            number += 1


# ----------------------------------------------------------------------------------------------------------- DCERPC, keys


def _rpc(path: Path, size: int, messages: Callable[[int], tuple[Sequence[bytes], Sequence[bytes]]]) -> None:
    """A DCERPC connection: what client and server say in turn."""
    with Writer(path) as out:
        tcp = Tcp(out, (0x0A000001, 50000), (0x0A000101, 135), random.Random(4)).begin()
        tcp.send(0, rpc.bind())
        tcp.send(1, rpc.bind_ack())
        for number in count(2):
            asked, answered = messages(number)
            tcp.send(0, b"".join(asked))
            tcp.send(1, b"".join(answered))
            if out.size > size:
                return


@shape(TIMELINE, SAVE, REPORT)
def rpc_calls_unanswered(path: Path, size: int) -> None:
    """Requests that are never answered, each of another call id."""
    _rpc(path, size, lambda number: ([rpc.request(0, b"", call_id=number * 50 + at) for at in range(50)], []))


@shape()
def rpc_calls_begun(path: Path, size: int) -> None:
    """First fragments of requests."""
    first = rpc.FIRST
    _rpc(path, size, lambda number: ([rpc.request(0, b"a" * 8, call_id=number, flags=first)] * 20, []))


@shape(TIMELINE, SAVE, REPORT)
def rpc_call_ids_again(path: Path, size: int) -> None:
    """The same call id over and over, answered now and then."""
    asked = [rpc.request(0, b"a" * 8, call_id=7)] * 20
    _rpc(path, size, lambda number: (asked, [rpc.response(b"b" * 8, call_id=7)] * 3))


@shape()
def rpc_fragments(path: Path, size: int) -> None:
    """One answer of fragments without data."""
    middle = [rpc.response(b"", call_id=2, flags=0)] * 200
    _rpc(
        path,
        size,
        lambda number: (
            ([rpc.request(0, b"", call_id=2)], [rpc.response(b"", call_id=2, flags=rpc.FIRST)])
            if number == 2
            else ([], middle)
        ),
    )


@shape()
def rpc_alter_contexts(path: Path, size: int) -> None:
    """alter_contexts, each of contexts with ids of their own."""

    def messages(number: int) -> tuple[list[bytes], list[bytes]]:
        offers = [rpc.context((number * 20 + at) & 0xFFFF, rpc.PCQ) for at in range(20)]
        results = [(0, 0, rpc.NDR)] * 20
        return [rpc.bind(offers, ptype=rpc.ALTER, call_id=number)], [
            rpc.bind_ack(results, ptype=rpc.ALTER_RESP, call_id=number)
        ]

    _rpc(path, size, messages)


@shape()
def rpc_binds_unanswered(path: Path, size: int) -> None:
    """Binds without answers, of as many contexts as one can have."""
    offers = [rpc.context(at, rpc.PCQ) for at in range(80)]
    _rpc(path, size, lambda number: ([rpc.bind(offers, call_id=number)], []))


@shape(TIMELINE, SAVE, REPORT)
def rpc_interfaces(path: Path, size: int) -> None:
    """Calls each of an interface of its own."""

    def messages(number: int) -> tuple[list[bytes], list[bytes]]:
        uuid = f"{number:08x}-1234-1234-1234-123456789abc"
        return (
            [
                rpc.bind([rpc.context(1, uuid)], ptype=rpc.ALTER, call_id=number),
                rpc.request(3, b"abcd", call_id=number, context_id=1),
            ],
            [rpc.bind_ack(ptype=rpc.ALTER_RESP, call_id=number), rpc.response(b"", call_id=number, context_id=1)],
        )

    _rpc(path, size, messages)


@shape()
def rpc_security_contexts(path: Path, size: int) -> None:
    """Requests that name a security context of their own, none of which was set up."""

    def messages(number: int) -> tuple[list[bytes], list[bytes]]:
        auth = rpc.Auth(b"\1\0\0\0" + bytes(12), 6, 10, number)
        body = struct.pack("<IHH", 8, 0, 0) + bytes(8)
        return [rpc.pdu(0, body, call_id=number, auth=auth)], []

    _rpc(path, size, messages)


@shape()
def rpc_malformed(path: Path, size: int) -> None:
    """PDUs each of which is wrong in another way."""
    rng = random.Random(5)

    def messages(number: int) -> tuple[list[bytes], list[bytes]]:
        made = [rpc.pdu(rng.randrange(20), rng.randbytes(rng.randrange(24)), call_id=number) for _ in range(10)]
        return made[:5], made[5:]

    _rpc(path, size, messages)


@shape()
def handshakes_of_depth(path: Path, size: int) -> None:
    """Binds whose token is ASN.1 as deep as it is long."""
    token = b""
    while len(token) < 3000:
        token = tlv(0x60, bytes.fromhex("06062b0601050502"), tlv(0xA0, tlv(0x30, token)))
    _rpc(path, size, lambda number: ([rpc.bind(call_id=number, auth=rpc.Auth(token, 6, 9, number))], []))


@shape()
def handshakes_of_many_elements(path: Path, size: int) -> None:
    """Binds whose token lists as many mechanisms as fit."""
    oids = bytes.fromhex("0603550406") * 600
    inner = tlv(0xA0, tlv(0x30, tlv(0xA0, tlv(0x30, oids))))
    token = tlv(0x60, bytes.fromhex("06062b0601050502"), inner)
    _rpc(path, size, lambda number: ([rpc.bind(call_id=number, auth=rpc.Auth(token, 6, 9, number))], []))


SEALED = (*TIMELINE, "--password", PASSWORD)


def _protected(path: Path, size: int, level: int, spoil: Callable[[int, bytearray], None]) -> None:
    """NTLM associations of a hundred messages each, spoilt one by one."""
    with Writer(path) as out:
        number = 0
        while out.size < size:
            talk = ntlm_handshake(seed=number)
            tcp = Tcp(out, (0x0A000001, 40000 + number), (0x0A000101, 135), random.Random(number)).begin()
            first, second, third = (rpc.Auth(token, level, 10, 79231) for _, token in talk.legs)
            tcp.send(0, rpc.bind(auth=first, flags=rpc.WHOLE | rpc.HEADER_SIGN))
            tcp.send(1, rpc.bind_ack(auth=second))
            tcp.send(0, rpc.pdu(rpc.AUTH3, bytes(4), auth=third))
            for turn in range(100):
                made, _, _ = protected_pdu(talk, "initiator", bytes(32), level=level, call_id=turn + 2)
                spoilt = bytearray(made)
                spoil(turn, spoilt)
                tcp.send(0, bytes(spoilt))
            number += 1


@shape(SEALED)
def keystream_numbers(path: Path, size: int) -> None:
    """Signed messages whose sequence numbers lead far into the keystream."""

    def spoil(turn: int, made: bytearray) -> None:
        if turn % 2:
            made[-4:] = (1 << 20 + turn % 11).to_bytes(4, "little")

    _protected(path, size, INTEGRITY, spoil)


@shape(SEALED)
def keystream_damage(path: Path, size: int) -> None:
    """Sealed messages, each of which has damage in its checksum and a number from further on."""

    def spoil(turn: int, made: bytearray) -> None:
        made[-10] ^= 1
        made[-4] ^= 0x20

    _protected(path, size, 6, spoil)


@shape(SEALED)
def keystream_back_and_forth(path: Path, size: int) -> None:
    """One association that goes far on, then back again and again."""
    with Writer(path) as out:
        talk = ntlm_handshake()
        tcp = Tcp(out, (0x0A000001, 40000), (0x0A000101, 135), random.Random(1)).begin()
        first, second, third = (rpc.Auth(token, 6, 10, 79231) for _, token in talk.legs)
        tcp.send(0, rpc.bind(auth=first, flags=rpc.WHOLE | rpc.HEADER_SIGN))
        tcp.send(1, rpc.bind_ack(auth=second))
        tcp.send(0, rpc.pdu(rpc.AUTH3, bytes(4), auth=third))
        early, _, _ = protected_pdu(talk, "initiator", bytes(32), level=6)
        tcp.send(0, early)
        while out.size < size // 2:
            tcp.send(0, protected_pdu(talk, "initiator", bytes(4000), level=6)[0])
        while out.size < size:
            tcp.send(0, early)
            tcp.send(0, protected_pdu(talk, "initiator", bytes(8), level=6)[0])


@shape(SEALED)
def handshakes(path: Path, size: int) -> None:
    """Associations that do nothing but log on."""
    _protected(path, size, 6, lambda turn, made: made.__setitem__(slice(0, 16), made[:2] + b"\x12" + made[3:16]))


# ---------------------------------------------------------------------------------------------------------------- buffers


def _answers(path: Path, size: int, buffer: bytes, opnum: int = 6, code: int | None = None) -> None:
    """The same answer again and again."""
    with Writer(path) as out:
        client = Client(out, 0, random.Random(6))
        while True:
            if code is not None:
                client.describe(code, answer_of(buffer))
            elif opnum == 5:
                client.follow(buffer)
            else:
                client.query(answer_of(buffer))
            if out.size > size:
                return


def _blocks(total: int) -> bytes:
    """A PERF_DATA_HEADER and as many blocks of an error as fit."""
    block = struct.pack("<4I", 0x800007D2, 0, 16, 0)
    number = total // 16
    return (
        struct.pack("<II3Q8H", 48 + 16 * number, number, 5, 133_541_156_967_890_000, 10_000_000, *[1] * 8)
        + block * number
    )


@shape(TIMELINE, SAMPLES, ("counters", "FILE", "--format", "jsonl"), ("audit", "FILE", "--format", "jsonl"), *OTHERS)
def tiny_blocks(path: Path, size: int) -> None:
    """One answer of blocks without data."""
    _answers(path, size // 2, _blocks(size))


@shape(TIMELINE, SAMPLES, ("counters", "FILE", "--format", "jsonl"), SAVE, REPORT)
def tiny_instances(path: Path, size: int) -> None:
    """One answer of instances without values."""
    names = [("", number) for number in range(size // 16)]
    inner = b"".join(struct.pack("<IIHxxI", 16, number, 0, 0) for _, number in names)
    body = buffers.counter_ids([]) + struct.pack("<II", 8 + len(inner), len(names)) + inner
    block = struct.pack("<4I", 0, 6, 16 + len(body), 0) + body
    head = struct.pack("<II3Q8H", 48 + len(block), 1, 5, 133_541_156_967_890_000, 10_000_000, *[1] * 8)
    _answers(path, size // 2, head + block)


@shape(TIMELINE, ("handles", "FILE", "--format", "jsonl"), ("audit", "FILE", "--format", "jsonl"), SAVE, REPORT)
def many_identifiers(path: Path, size: int) -> None:
    """One answer of identifiers."""
    one = buffers.identifier(GUID, counter=3, name="")
    _answers(path, size // 2, one * (size // len(one)), opnum=5)


@shape(TIMELINE, SAMPLES, SAVE, REPORT)
def strings_that_share(path: Path, size: int) -> None:
    """A table of strings that all begin in the same long text."""
    number = size // 16
    head = 8 + 8 * number
    text = buffers.wide("a" * (size // 4))
    headers = b"".join(struct.pack("<II", at, 8 * number + 2 * (at % 1000)) for at in range(number))
    whole = buffers.pad8(bytes(8) + headers + text)
    table = struct.pack("<II", len(whole), number) + whole[8:]
    assert head < len(table)
    _answers(path, size // 2, table, code=10)


@shape(TIMELINE, SAMPLES, *OTHERS)
def handles_opened(path: Path, size: int) -> None:
    """Query handles that are opened and never closed."""
    with Writer(path) as out:
        client = Client(out, 0, random.Random(7))
        for number in count(1):
            handle = f"{number:08x}-9b1d-4f3c-8a55-0d2b7c9e1f10"
            client._call(3, Ndr().string("\\\\FILES").data, Ndr().handle(handle).uint(0).data)
            if out.size > size:
                return


@shape(TIMELINE, ("samples", "FILE", "--format", "jsonl"), ("counters", "FILE", "--format", "jsonl"), SAVE, REPORT)
def polls_of_little(path: Path, size: int) -> None:
    """Answers with one value each."""
    block = buffers.Block(1, values=((bytes(8),),))
    _answers(path, size, buffers.perf_data([block]))


@shape(TIMELINE, SAMPLES, SAVE, REPORT)
def countersets(path: Path, size: int) -> None:
    """Countersets that are described, each under another GUID and name."""
    with Writer(path) as out:
        client = Client(out, 0, random.Random(8))
        for number in count(1):
            asked = Ndr().string("\\\\FILES").uuid(f"{number:08x}-3676-4870-a4e7-d45b30c35629")
            client._call(1, asked.uint(9).uint(0).uint(1 << 16).data, answer_of(buffers.wide(f"Set {number}")))
            if out.size > size:
                return


@shape(TIMELINE, ("audit", "FILE", "--format", "jsonl"), SAVE, REPORT)
def refused(path: Path, size: int) -> None:
    """Calls with a handle that was never given out."""
    with Writer(path) as out:
        client = Client(out, 0, random.Random(9))
        for number in count(1):
            asked = Ndr().handle(HANDLE[:-4] + f"{number & 0xFFFF:04x}").uint(1 << 16).data
            client._call(6, asked, Ndr().uint(0).uint(0).uint(0).uint(0).uint(5).data)
            if out.size > size:
                return


# ------------------------------------------------------------------------------------------------------------ command line


def _argument(length: int, text: str) -> str:
    return text * max(length // len(text), 1)


SMALL = 40_000


def expressions() -> Iterator[tuple[str, tuple[str, ...]]]:
    """Arguments of hostile size, for a small capture."""
    yield "filter-parentheses", ("timeline", "FILE", "-Y", "(" * SMALL + "opnum" + ")" * SMALL)
    yield "filter-conjunctions", ("timeline", "FILE", "-Y", _argument(SMALL, "opnum == 1 && ") + "opnum == 1")
    yield "filter-negations", ("timeline", "FILE", "-Y", "!" * SMALL + "opnum == 1")
    yield "filter-pattern", ("timeline", "FILE", "-Y", 'interface matches "' + "(a*)*" * 2000 + 'b"')
    yield "filter-set", ("timeline", "FILE", "-Y", "opnum in {" + "1, " * SMALL + "1}")
    yield "path-stars", ("counters", "FILE", "--counter", "\\" + "*a" * 5000 + "(*)\\*")
    yield "path-parentheses", ("counters", "FILE", "--counter", "\\" + "(" * SMALL)
