"""Synthetic captures for the benchmarks: a size and a file name in, a pcap out, the same bytes every time.

Everything is in order and complete: what is measured is the cost of ordinary traffic. TCP checksums are right, as in a capture
taken from a mirror port; those of IP headers are zero.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType

from tests.build import buffers, rpc, smb
from tests.build.buffers import Ndr

MIB = 1 << 20
HANDLE = "5e0c6a4e-9b1d-4f3c-8a55-0d2b7c9e1f10"
GUID = "383487a6-3676-4870-a4e7-d45b30c35629"
MSS = 1460
# What Windows offers in a bind, and so the longest fragment it is sent.
MAX_FRAGMENT = 4280

_RECORD = struct.Struct("<IIII")
_IP = struct.Struct(">BBHHHBBHII")
_TCP = struct.Struct(">HHIIBBHHH")
_ETHERNET = bytes.fromhex("020000000001020000000002") + b"\x08\x00"
FIN, SYN, PSH, ACK = 1, 2, 8, 16


class Writer:
    """A pcap that grows, seven microseconds a packet."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("wb", buffering=MIB)
        self._file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1))
        self._microseconds = 0
        self.packets = 0
        self.size = 24

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._file.close()

    def packet(self, data: bytes) -> None:
        self._microseconds += 7
        seconds, rest = divmod(self._microseconds, 1_000_000)
        self._file.write(_RECORD.pack(1_700_000_000 + seconds, rest, len(data), len(data)))
        self._file.write(data)
        self.packets += 1
        self.size += 16 + len(data)

    def ip(self, protocol: int, src: int, dst: int, payload: bytes) -> None:
        self.packet(_ETHERNET + _IP.pack(0x45, 0, 20 + len(payload), 0, 0x4000, 64, protocol, 0, src, dst) + payload)


class Tcp:
    """One connection; direction 0 is the client's."""

    def __init__(self, out: Writer, client: tuple[int, int], server: tuple[int, int], rng: random.Random) -> None:
        self._out = out
        self._ends = client, server
        self._seq = [rng.getrandbits(32), rng.getrandbits(32)]

    def segment(self, direction: int, payload: bytes, flags: int = PSH | ACK) -> None:
        (src, sport), (dst, dport) = self._ends[direction], self._ends[1 - direction]
        seq, ack = self._seq[direction], self._seq[1 - direction]
        if not flags & ACK:
            ack = 0
        header = _TCP.pack(sport, dport, seq, ack, 0x50, flags, 65535, 0, 0)
        # RFC 1071: the ones' complement sum of 16-bit words is the remainder of them all as one number.
        whole = int.from_bytes(header + payload + bytes(len(payload) & 1), "big")
        checksum = 0xFFFF - (src + dst + 6 + 20 + len(payload) + whole) % 0xFFFF
        header = _TCP.pack(sport, dport, seq, ack, 0x50, flags, 65535, checksum, 0)
        self._out.ip(6, src, dst, header + payload)
        self._seq[direction] = (seq + len(payload) + bool(flags & (SYN | FIN))) & 0xFFFFFFFF

    def begin(self) -> Tcp:
        self.segment(0, b"", SYN)
        self.segment(1, b"", SYN | ACK)
        self.segment(0, b"", ACK)
        return self

    def send(self, direction: int, data: bytes) -> None:
        for at in range(0, len(data), MSS):
            self.segment(direction, data[at : at + MSS])


class Client:
    """A client of the winreg pipe that asks for performance data, in clear."""

    def __init__(self, out: Writer, number: int, rng: random.Random) -> None:
        self._tcp = Tcp(out, (0x0A000001 + number, 50000 + number), (0x0A000101, 445), rng).begin()
        self._talk = smb.Talk(session=0x1000_0000 + number)
        self._call_id = 1
        self._talk.begin().tree().open()
        self._talk.write(rpc.bind()).read(rpc.bind_ack())
        self._call(3, Ndr().string("\\\\FILES").data, Ndr().handle(HANDLE).uint(0).data)

    def _call(self, opnum: int, request: bytes, response: bytes) -> None:
        self._call_id += 1
        pieces = rpc.fragments(response, MAX_FRAGMENT - 24)
        fragments = [rpc.response(piece, call_id=self._call_id, flags=flags) for flags, piece in pieces]
        self._talk.transceive(rpc.request(opnum, request, call_id=self._call_id), fragments[0])
        for fragment in fragments[1:]:
            self._talk.read(fragment)
        self._send()

    def _send(self) -> None:
        for direction, message in self._talk.sent:
            self._tcp.send(direction, message)
        self._talk.sent.clear()

    def query(self, answer: bytes) -> None:
        """PerflibV2QueryCounterData; `answer` is the stub of its response."""
        self._call(6, Ndr().handle(HANDLE).uint(1 << 20).data, answer)

    def describe(self, answer: bytes) -> None:
        """PerflibV2QueryCounterSetRegistrationInfo for the structure of a counterset."""
        self._call(1, Ndr().string("\\\\FILES").uuid(GUID).uint(1).uint(0).uint(48).data, answer)

    def transfer(self, data: bytes) -> None:
        """A piece of a file, read from another open: SMB traffic that carries no call."""
        self._talk.read(data, file_id=b"\x77" * 16)
        self._send()


def counterset(instances: int, counters: int, rng: random.Random) -> bytes:
    """Performance data with one counterset, as a query for every counter of a Process-like set gets it."""
    block = buffers.Block(
        6,
        ids=tuple(range(counters)),
        instances=tuple((f"process_{number}", number) for number in range(instances)),
        values=tuple(tuple(rng.randbytes(8) for _ in range(counters)) for _ in range(instances)),
    )
    return buffers.perf_data([block])


def answer_of(data: bytes) -> bytes:
    """The response stub that carries a buffer."""
    return Ndr().uint(len(data)).uint(len(data)).array(data).uint(0).data


def answers(rng: random.Random) -> list[bytes]:
    """Three answers of about 3, 20 and 65 KB."""
    return [answer_of(counterset(instances, 20, rng)) for instances in (8, 55, 180)]


def mixed(path: Path, size: int) -> int:
    """An office: TLS, HTTP, DNS and QUIC of 5,000 flows, and SMB with performance queries in one packet of a hundred."""
    rng = random.Random(7)
    noise = rng.randbytes(MIB)

    def some(length: int) -> bytes:
        start = rng.randrange(MIB - length)
        return noise[start : start + length]

    with Writer(path) as out:
        clients = [Client(out, number, rng) for number in range(8)]
        stubs = answers(rng)
        flows = [_flow(out, rng, some) for _ in range(5000)]
        carried = 0
        while out.size < size:
            flows[int(rng.random() ** 2 * len(flows))]()
            if carried * 100 < out.packets:
                before = out.packets
                rng.choice(clients).query(stubs[rng.choice((0, 0, 0, 1, 1, 2))])
                carried += out.packets - before
        return out.packets


_HTTP = b"GET /index.html HTTP/1.1\r\nHost: www.example.com\r\nUser-Agent: Mozilla/5.0\r\nAccept: */*\r\n\r\n"
_DNS = struct.pack(">6H", 1, 0x100, 1, 0, 0, 0) + b"\x03www\x07example\x03com\0\0\1\0\1"


def _flow(out: Writer, rng: random.Random, some: Callable[[int], bytes]) -> Callable[[], None]:
    """A flow of other people's traffic; each call is one packet of it."""
    kind = rng.random()
    client = (0x0A010000 + rng.randrange(60000), rng.randrange(32768, 61000))
    server = 0xC0000000 + rng.randrange(1 << 24)
    if kind < 0.75:
        tls = kind < 0.6
        tcp = Tcp(out, client, (server, 443 if tls else 80), rng)

        def packet() -> None:
            chance = rng.random()
            if chance < 0.42:
                tcp.segment(rng.getrandbits(1), b"", ACK)
            elif tls:
                length = 1400 if chance < 0.68 else rng.randrange(40, 900)
                tcp.segment(int(chance < 0.85), b"\x17\x03\x03" + struct.pack(">H", length) + some(length))
            elif chance < 0.6:
                tcp.segment(0, _HTTP)
            else:
                tcp.segment(1, some(MSS if chance < 0.85 else rng.randrange(100, 1200)))

        return packet
    dns = kind < 0.85

    def datagram() -> None:
        data = _DNS if dns else b"\x40" + some(rng.randrange(30, 1250))
        header = struct.pack(">HHHH", client[1], 53 if dns else 443, 8 + len(data), 0)
        out.ip(17, client[0], server, header + data)

    return datagram


def calls(path: Path, size: int) -> int:
    """Nothing but performance queries in clear on the winreg pipe of eight clients: all of it is ours, and all decoded."""
    rng = random.Random(11)
    with Writer(path) as out:
        clients = [Client(out, number, rng) for number in range(8)]
        stubs = answers(rng)
        while out.size < size:
            rng.choice(clients).query(stubs[rng.choice((0, 1, 2, 2))])
        return out.packets


def files(path: Path, size: int) -> int:
    """A file server: nine tenths of the SMB2 bytes are file contents, the others performance queries in clear."""
    rng = random.Random(13)
    contents = [rng.randbytes(65536) for _ in range(8)]
    with Writer(path) as out:
        clients = [Client(out, number, rng) for number in range(8)]
        stubs = answers(rng)
        queried = 0
        while out.size < size:
            client = rng.choice(clients)
            client.transfer(rng.choice(contents))
            if queried * 10 < out.size:
                before = out.size
                client.query(stubs[rng.choice((0, 1, 2))])
                queried += out.size - before
        return out.packets


def repeated(path: Path, size: int, capture: Path) -> int:
    """A recorded conversation over and over, each time by another client; IPv4 in Ethernet, little-endian pcap."""
    packets = list(_packets(capture))
    server = next(data[30:34] for data in packets)
    with Writer(path) as out:
        turn = 0
        while out.size < size:
            turn += 1
            client = struct.pack(">I", 0x0A020000 + turn)
            for data in packets:
                own = bytearray(data)
                # The server is where the first packet, a SYN, goes; addresses on the loopback interface are equal.
                to_server = data[36:38] == packets[0][36:38] and data[30:34] == server
                own[26:30], own[30:34] = (client, b"\x0a\0\1\1") if to_server else (b"\x0a\0\1\1", client)
                own[24:26] = b"\0\0"
                length = int.from_bytes(own[16:18], "big")
                own[50:52] = b"\0\0"
                out.packet(bytes(own[: 14 + length]))
        return out.packets


def _packets(capture: Path) -> Iterator[bytes]:
    data = capture.read_bytes()
    if struct.unpack_from("<I", data) != (0xA1B2C3D4,) or struct.unpack_from("<I", data, 20) != (1,):
        raise ValueError(f"{capture} is no little-endian Ethernet pcap")
    at = 24
    while at < len(data):
        length = _RECORD.unpack_from(data, at)[2]
        yield data[at + 16 : at + 16 + length]
        at += 16 + length
