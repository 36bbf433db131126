"""Synthetic captures for the benchmarks: a size and a file name in, a pcap out, the same bytes every time.

Everything is in order and complete: what is measured is the cost of ordinary traffic. Windows are scaled and data is acknowledged
as stacks do it, without which programs that keep to the window drop what they see. TCP checksums are right, as in a capture taken
from a mirror port; those of IP headers are zero.
"""

from __future__ import annotations

import gzip
import random
import shutil
import struct
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import IO, Literal, get_args
from uuid import UUID

import lz4.frame
import numpy as np
import zstandard

from tests.build import buffers, rpc, smb
from tests.build.auth import ntlm_handshake
from tests.build.buffers import Ndr
from tests.build.calls import value_stub
from tests.build.machine import NAMES, Machine

MIB = 1 << 20
HANDLE = "5e0c6a4e-9b1d-4f3c-8a55-0d2b7c9e1f10"
GUID = "383487a6-3676-4870-a4e7-d45b30c35629"
MSS = 1460
# Windows offers fragments of 4,280 bytes in a bind; that leaves so much for the stub, beside headers and a signature.
MAX_STUB = 4224
PRIVACY = 6

_RECORD = struct.Struct("<IIII")
_IP = struct.Struct(">BBHHHBBHII")
_TCP = struct.Struct(">HHIIBBHHH")
_ETHERNET = bytes.fromhex("020000000001020000000002") + b"\x08\x00"
FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16
# MSS, window scale 8 (RFC 7323): what is under way stays within the window that the other end offers.
_SYN_OPTIONS = struct.pack(">BBHBBBB", 2, 4, MSS, 1, 3, 3, 8)


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

    def wait(self, seconds: float) -> None:
        """Nothing is sent for a while."""
        self._microseconds += int(seconds * 1_000_000)

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
        options = _SYN_OPTIONS if flags & SYN else b""
        offset = 0x50 + (len(options) << 2)
        header = _TCP.pack(sport, dport, seq, ack, offset, flags, 65535, 0, 0) + options
        # RFC 1071: the ones' complement sum of 16-bit words is the remainder of them all as one number.
        whole = int.from_bytes(header + payload + bytes(len(payload) & 1), "big")
        checksum = 0xFFFF - (src + dst + 6 + len(header) + len(payload) + whole) % 0xFFFF
        header = _TCP.pack(sport, dport, seq, ack, offset, flags, 65535, checksum, 0) + options
        self._out.ip(6, src, dst, header + payload)
        self._seq[direction] = (seq + len(payload) + bool(flags & (SYN | FIN))) & 0xFFFFFFFF

    def begin(self) -> Tcp:
        self.segment(0, b"", SYN)
        self.segment(1, b"", SYN | ACK)
        self.segment(0, b"", ACK)
        return self

    def send(self, direction: int, data: bytes) -> None:
        """A message; every second segment but the last is acknowledged on its own (RFC 9293 section 3.8.6.3)."""
        for at in range(0, len(data), MSS):
            self.segment(direction, data[at : at + MSS])
            if at // MSS & 1 and at + MSS < len(data):
                self.segment(1 - direction, b"", ACK)


class Client:
    """A client of the winreg pipe that asks for performance data, in clear."""

    INTERFACE = rpc.PCQ

    def __init__(self, out: Writer, number: int, rng: random.Random) -> None:
        self._tcp = Tcp(out, (0x0A000001 + number, 50000 + number), (0x0A000101, 445), rng).begin()
        self._call_id = 1
        self._sealers: Sequence[rpc.RealSealer | None] = (None, None)
        self._talk = self._begun(number)
        self._send()
        self._call(3, self._machine().data, Ndr().handle(HANDLE).uint(0).data)

    def _begun(self, number: int) -> smb.Talk:
        talk = smb.Talk(session=0x1000_0000 + number)
        offered = rpc.bind([rpc.context(0, self.INTERFACE)])
        return talk.begin().tree().open().write(offered).read(rpc.bind_ack())

    def _machine(self) -> Ndr:
        """What the handle is opened for."""
        return Ndr().string("\\\\FILES")

    def _call(self, opnum: int, request: bytes, response: bytes) -> None:
        self._call_id += 1
        mine, theirs = self._sealers
        question = rpc.request(opnum, request, call_id=self._call_id, sealer=mine)
        fragments = (
            rpc.response(piece, call_id=self._call_id, flags=flags, sealer=theirs)
            for flags, piece in rpc.fragments(response, MAX_STUB)
        )
        self._talk.transceive(question, next(fragments))
        for fragment in fragments:
            self._talk.read(fragment)
            self._send()
        self._send()

    def _send(self) -> None:
        for direction, message in self._talk.sent:
            self._tcp.send(direction, message)
        self._talk.sent.clear()

    def query(self, answer: bytes, handle: str = HANDLE) -> None:
        """PerflibV2QueryCounterData; `answer` is the stub of its response."""
        self._call(6, Ndr().handle(handle).uint(1 << 26).data, answer)

    def open_query(self, handle: str) -> None:
        """PerflibV2OpenQueryHandle, beside the one that every client opens."""
        self._call(3, self._machine().data, Ndr().handle(handle).uint(0).data)

    def close_query(self, handle: str) -> None:
        """PerflibV2CloseQueryHandle."""
        self._call(4, Ndr().handle(handle).data, Ndr().handle(str(UUID(int=0))).uint(0).data)

    def describe(self, code: int, answer: bytes) -> None:
        """PerflibV2QueryCounterSetRegistrationInfo."""
        self._call(1, Ndr().string("\\\\FILES").uuid(GUID).uint(code).uint(0).uint(1 << 16).data, answer)

    def follow(self, identifiers: bytes, handle: str = HANDLE) -> None:
        """PerflibV2QueryCounterInfo: what the handle holds."""
        self._call(5, Ndr().handle(handle).uint(1 << 16).data, answer_of(identifiers))

    def transfer(self, data: bytes) -> None:
        """A piece of a file, read from another open: SMB traffic that carries no call."""
        self._talk.read(data, file_id=b"\x77" * 16)
        self._send()


class RegistryClient(Client):
    """The same by the older interface: values of HKEY_PERFORMANCE_DATA, in clear."""

    INTERFACE = rpc.WINREG

    def _machine(self) -> Ndr:
        return Ndr().null().uint(0x02000000)

    def value(self, name: str, data: bytes) -> None:
        """BaseRegQueryValue with room enough."""
        room = 1 << 20
        asked = value_stub(Ndr().handle(HANDLE).unicode_string(name), 0, b"", 0, room, 0)
        self._call(17, asked.data, value_stub(Ndr(), 3, data, 0, len(data), len(data)).uint(0).data)


class SealedClient(Client):
    """The same, logged on with NTLM, its SMB 3.1.1 session encrypted with AES-128-GCM and its calls sealed with RC4."""

    USER, PASSWORD = "LAB\\perfmon", "correct horse"

    def _begun(self, number: int) -> smb.Talk:
        logon, security = (ntlm_handshake(seed=2 * number + turn) for turn in (1, 2))
        talk = smb.Talk(cipher=smb.GCM_128, session=0x2000_0000 + number, session_key=logon.session_key)
        talk.begin([token for _, token in logon.legs])
        talk.sealing = True
        talk.tree().open()
        first, second, third = (rpc.Auth(token, PRIVACY) for _, token in security.legs)
        talk.write(rpc.bind(auth=first, flags=rpc.WHOLE | rpc.HEADER_SIGN)).read(rpc.bind_ack(auth=second))
        talk.write(rpc.pdu(rpc.AUTH3, bytes(4), auth=third))
        self._sealers = rpc.RealSealer(security, "initiator"), rpc.RealSealer(security, "acceptor")
        return talk


def sealed_session() -> tuple[str, str]:
    """Session id and key of the first sealed client, as Wireshark's smb2_seskey_list takes them."""
    return struct.pack("<Q", 0x2000_0000).hex(), ntlm_handshake(seed=1).session_key.hex()


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


class Polls:
    """The answers to one query, over and over: the same instances and counters, other values and clocks."""

    def __init__(self, instances: int, counters: int, rng: random.Random) -> None:
        self._buffer = np.frombuffer(counterset(instances, counters, rng), "<u8").copy()
        rows = np.flatnonzero(self._buffer == np.uint64(16 << 32 | 8))
        self._values = rows + 1
        self._rng = np.random.default_rng(rng.getrandbits(32))
        self.values = len(rows)

    def answer(self) -> bytes:
        """The next one, as a stub: every value grows, by up to a million."""
        self._buffer[self._values] += self._rng.integers(0, 1_000_000, self.values, np.uint64)
        self._buffer[1:3] += np.uint64(10_000_000)
        return answer_of(self._buffer.tobytes())


class ObjectPolls:
    """The answers to one value of HKEY_PERFORMANCE_DATA, over and over: a Process-like object of eight-byte counters."""

    # PERF_COUNTER_BULK_COUNT, in winperf.h; where PerfTime and PerfTime100nSec stand in the head, in words of eight bytes, and
    # SystemTime, in words of two.
    _KIND, _CLOCKS, _SYSTEM_TIME = 0x10410500, (7, 9), slice(18, 26)

    def __init__(self, instances: int, counters: int, rng: random.Random) -> None:
        made = tuple(
            buffers.Instance(f"process_{at}", -1, (0, 0), tuple(rng.getrandbits(32) for _ in range(counters)))
            for at in range(instances)
        )
        kinds = tuple(buffers.Counter(232 + 2 * at, self._KIND, 8) for at in range(counters))
        self._buffer = np.frombuffer(buffers.winperf([buffers.PerfObject(230, kinds, made)]), "<u8").copy()
        # An instance's block of counters begins with its length, which nothing else here is.
        blocks = np.flatnonzero(self._buffer == 8 + 8 * counters)
        self._values = (blocks[:, None] + np.arange(1, counters + 1)).ravel()
        self._time = datetime(2024, 3, 5, 12, 34, 56, 789_000)
        self._rng = np.random.default_rng(rng.getrandbits(32))

    def answer(self) -> bytes:
        """The next one, a second later: every value grows, by up to a million."""
        self._buffer[self._values] += self._rng.integers(0, 1_000_000, len(self._values), np.uint64)
        self._buffer[list(self._CLOCKS)] += np.uint64(10_000_000)
        self._time = now = self._time + timedelta(seconds=1)
        date = now.year, now.month, now.isoweekday() % 7, now.day
        self._buffer.view("<u2")[self._SYSTEM_TIME] = (*date, now.hour, now.minute, now.second, now.microsecond // 1000)
        return self._buffer.tobytes()


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


def tiny(path: Path, size: int) -> int:
    """As many calls as fit: the smallest polls there are, one counter of one instance, by eight clients in clear."""
    rng = random.Random(23)
    with Writer(path) as out:
        clients = [Client(out, number, rng) for number in range(8)]
        for client in clients:
            client.follow(buffers.identifier(GUID, counter=6, name="_Total"))
        stubs = [answer_of(counterset(1, 1, rng)) for _ in range(64)]
        while out.size < size:
            rng.choice(clients).query(rng.choice(stubs))
        return out.packets


def handles(path: Path, size: int) -> int:
    """As many query handles as fit: each is opened, polled three times and closed, by eight clients in clear."""
    rng = random.Random(37)
    with Writer(path) as out:
        clients = [Client(out, number, rng) for number in range(8)]
        stubs = [answer_of(counterset(1, 1, rng)) for _ in range(64)]
        while out.size < size:
            client, handle = rng.choice(clients), str(UUID(int=rng.getrandbits(128)))
            client.open_query(handle)
            client.follow(buffers.identifier(GUID, counter=6, name="_Total"), handle)
            for _ in range(3):
                client.query(rng.choice(stubs), handle)
            client.close_query(handle)
        return out.packets


def blocks(path: Path, size: int) -> int:
    """One answer of as many blocks as fit, each the 16 bytes of an error."""
    rng = random.Random(29)
    answer = buffers.perf_data([buffers.Block(0, status=0x1069)] * (size // 16))
    with Writer(path) as out:
        Client(out, 0, rng).query(answer_of(answer))
        return out.packets


def winperf(path: Path, size: int) -> int:
    """A conversation in clear that polls 300 instances of 27 counters as a PERF_DATA_BLOCK, after the names of the counters."""
    rng = random.Random(41)
    with Writer(path) as out:
        client = RegistryClient(out, 0, rng)
        names = [("230", "Process"), *((str(232 + 2 * at), f"Counter {at}/sec") for at in range(27))]
        client.value("Counter 009", buffers.name_table(names))
        polls = ObjectPolls(300, 27, rng)
        while out.size < size:
            client.value("230", polls.answer())
        return out.packets


def watched(path: Path, size: int, processes: int = 300) -> int:
    """A conversation in clear that polls a machine once a second, after the names of the counters: its processes work, one begins
    and one ends every 20 seconds; 28,800 polls, which are eight hours, have 1,020 MB."""
    machine = Machine(processes)
    with Writer(path) as out:
        client = RegistryClient(out, 0, random.Random(43))
        client.value("Counter 009", buffers.name_table(NAMES))
        while out.size < size:
            client.value("230 238 4 2", machine.step().answer())
            out.wait(1)
        return out.packets


def scan(path: Path, size: int) -> int:
    """A scan of port 445: a SYN to one host after the other, every other one refused; first a performance query in clear."""
    rng = random.Random(19)
    with Writer(path) as out:
        Client(out, 0, rng).query(answers(rng)[0])
        scanner, target = 0x0A090001, 0xC0A80000
        while out.size < size:
            target += 1
            port, seq = 40_000 + target % 20_000, rng.getrandbits(32)
            out.ip(6, scanner, target, _TCP.pack(port, 445, seq, 0, 0x50, SYN, 8192, 0, 0))
            if target & 1:
                out.ip(6, target, scanner, _TCP.pack(445, port, 0, (seq + 1) & 0xFFFFFFFF, 0x50, RST | ACK, 0, 0, 0))
        return out.packets


def foreign(path: Path, size: int) -> int:
    """Web requests to port 445, a connection each, refused in words: what scanners leave; first a performance query in clear."""
    rng = random.Random(29)
    with Writer(path) as out:
        Client(out, 0, rng).query(answers(rng)[0])
        number = 0
        while out.size < size:
            number += 1
            client = 0x0A0B0000 + number // 60_000, 1024 + number % 60_000
            tcp = Tcp(out, client, (0x0A000200 + number % 97, 445), rng).begin()
            tcp.segment(0, _HTTP)
            tcp.segment(1, b"HTTP/1.1 400 Bad Request\r\n\r\n" + rng.randbytes(200))
            tcp.segment(0, b"", FIN | ACK)
            tcp.segment(1, b"", FIN | ACK)
        return out.packets


def hours(path: Path, size: int) -> int:
    """Eight hours in which 300 processes of 12 counters are polled, sealed and encrypted; now and then one begins or ends."""
    rng = random.Random(31)
    with Writer(path) as out:
        client = SealedClient(out, 0, rng)
        _described(client, 12)
        polls = [Polls(300 + number, 12, rng) for number in range(3)]
        count = size // (len(polls[0].answer()) + 2048)
        for number in range(count):
            out.wait(8 * 3600 / count)
            client.query(polls[number // 30 % 3].answer())
        return out.packets


def sealed_files(path: Path, size: int) -> int:
    """A file server whose sessions are encrypted, and no key is given: nothing of it can be read but headers."""
    rng = random.Random(37)
    contents = rng.randbytes(65536)
    with Writer(path) as out:
        Client(out, 9, rng).query(answers(rng)[0])
        clients = [SealedClient(out, number, rng) for number in range(4)]
        while out.size < size:
            rng.choice(clients).transfer(contents)
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


def polling(path: Path, size: int, instances: int = 2000, counters: int = 40) -> int:
    """One sealed and encrypted conversation: what a set holds is asked once, then a large answer is polled again and again."""
    rng = random.Random(17)
    with Writer(path) as out:
        client = SealedClient(out, 0, rng)
        _described(client, counters)
        polls = Polls(instances, counters, rng)
        while out.size < size:
            client.query(polls.answer())
        return out.packets


def reply(path: Path, size: int) -> int:
    """One sealed and encrypted conversation with one answer of `size` bytes."""
    rng = random.Random(19)
    instances = size // (40 + 16 * 40)
    with Writer(path) as out:
        client = SealedClient(out, 0, rng)
        _described(client, 40)
        client.query(Polls(instances, 40, rng).answer())
        return out.packets


def _described(client: Client, counters: int) -> None:
    """Names of the set and its counters, and that the handle holds all of them."""
    names = [(number, f"Counter {number}/sec") for number in range(counters)]
    client.describe(9, answer_of(buffers.wide("Process")))
    client.describe(10, answer_of(buffers.string_table(names, from_start=True)))
    client.follow(buffers.identifier(GUID, counter=0xFFFFFFFF, index=0, name="*"))


Compression = Literal["gzip", "zstd", "lz4"]
COMPRESSIONS: tuple[Compression, ...] = get_args(Compression)
Tunnel = Literal["vlan", "ipv6", "vxlan", "erspan", "gre", "geneve", "gtp-u"]
Form = Literal["pcapng", "nanosecond"] | Tunnel | Compression
FORMS: tuple[Form, ...] = ("pcapng", "nanosecond", *get_args(Tunnel), *COMPRESSIONS)
# What becomes of a capture on the way: a mirror port that sees every frame twice, and queues that overtake each other.
Disturbance = Literal["twice", "disordered"]
DISTURBANCES: tuple[Disturbance, ...] = get_args(Disturbance)


def variant(source: Path, path: Path, form: Form) -> int:
    """The frames of a capture of ours in another form; how many they are."""
    if form in COMPRESSIONS:
        with source.open("rb") as plain, _packed(path, form) as packed:
            shutil.copyfileobj(plain, packed, MIB)
        return sum(1 for _ in _records(source))
    packets = 0
    with path.open("wb", buffering=MIB) as out:
        if form == "pcapng":
            out.write(struct.pack("<3I2HqI", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, -1, 28))
            out.write(struct.pack("<2I2H2I", 1, 20, 1, 0, 262144, 20))
        else:
            magic = 0xA1B23C4D if form == "nanosecond" else 0xA1B2C3D4
            out.write(struct.pack("<IHHiIII", magic, 2, 4, 0, 0, 262144, 1))
        for seconds, fraction, data in _records(source):
            packets += 1
            if form in _WRAPPED:
                data = _WRAPPED[form](data)
            if form == "pcapng":
                micros = seconds * 1_000_000 + fraction
                length = 32 + len(data) + -len(data) % 4
                out.write(struct.pack("<7I", 6, length, 0, micros >> 32, micros & 0xFFFFFFFF, len(data), len(data)))
                out.write(data + bytes(-len(data) % 4) + struct.pack("<I", length))
            else:
                units = fraction * 1000 + packets % 1000 if form == "nanosecond" else fraction
                out.write(_RECORD.pack(seconds, units, len(data), len(data)) + data)
    return packets


def disturbed(source: Path, path: Path, disturbance: Disturbance) -> int:
    """The frames of a capture of ours, each twice, or one of twenty behind the two after it; how many they are."""
    packets = 0
    held: list[tuple[int, bytes]] = []
    with path.open("wb", buffering=MIB) as out:
        out.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1))
        for number, (seconds, fraction, data) in enumerate(_records(source)):
            record = _RECORD.pack(seconds, fraction, len(data), len(data)) + data
            if disturbance == "twice":
                record *= 2
                packets += 1
            elif number % 20 == 7:
                held.append((number + 2, record))
                continue
            out.write(record)
            packets += 1
            while held and held[0][0] <= number:
                out.write(held.pop()[1])
                packets += 1
        for _, record in held:
            out.write(record)
            packets += 1
    return packets


def _packed(path: Path, compression: Compression) -> IO[bytes]:
    """A compressed file to write to, at the level its program takes by itself; gzip, which takes long, at its fastest."""
    if compression == "gzip":
        return gzip.GzipFile(path, "wb", compresslevel=1, mtime=0)  # type: ignore[return-value]
    if compression == "zstd":
        return zstandard.open(path, "wb")
    packed: IO[bytes] = lz4.frame.open(path, "wb")
    return packed


def _outer(protocol: int, payload: bytes) -> bytes:
    """An Ethernet frame from one end of a tunnel to the other."""
    return _ETHERNET + _IP.pack(0x45, 0, 20 + len(payload), 0, 0, 64, protocol, 0, 0x0A630001, 0x0A630002) + payload


def _outer_udp(port: int, payload: bytes) -> bytes:
    return _outer(17, struct.pack(">4H", 50_000, port, 8 + len(payload), 0) + payload)


def _tagged(data: bytes) -> bytes:
    return data[:12] + b"\x81\0\0\x64" + data[12:]


# The words of this prefix add up to 0xFFFF, which changes no checksum.
_PREFIX = bytes.fromhex("20010db8d246000000000000")


def _as_ipv6(data: bytes) -> bytes:
    ip = data[14:]
    header = struct.pack(">IHBB", 6 << 28, len(ip) - 20, ip[9], ip[8]) + _PREFIX + ip[12:16] + _PREFIX + ip[16:20]
    return data[:12] + b"\x86\xdd" + header + ip[20:]


_WRAPPED: dict[str, Callable[[bytes], bytes]] = {
    "vlan": _tagged,
    "ipv6": _as_ipv6,
    # What a mirror port sends that taps a trunk: a tag outside, VXLAN, and what was mirrored inside.
    "vxlan": lambda data: _tagged(_outer_udp(4789, b"\x08\0\0\0\0\0\x2a\0" + data)),
    "erspan": lambda data: _outer(47, b"\x10\0\x88\xbe\0\0\0\1\x10\x01\0\0\0\0\0\0" + data),
    "gre": lambda data: _outer(47, b"\0\0\x08\0" + data[14:]),
    "geneve": lambda data: _outer_udp(6081, b"\0\0\x65\x58\0\0\x2a\0" + data),
    "gtp-u": lambda data: _outer_udp(2152, b"\x30\xff" + struct.pack(">HI", len(data) - 14, 7) + data[14:]),
}


def _records(path: Path) -> Iterator[tuple[int, int, bytes]]:
    """Seconds, microseconds and bytes of each packet of a little-endian Ethernet pcap."""
    with path.open("rb", buffering=MIB) as file:
        if (head := file.read(24))[:4] + head[20:] != struct.pack("<II", 0xA1B2C3D4, 1):
            raise ValueError(f"{path} is no little-endian Ethernet pcap")
        while record := file.read(16):
            seconds, fraction, length, _ = _RECORD.unpack(record)
            yield seconds, fraction, file.read(length)


def shortened(source: Path, path: Path, packets: int) -> Path:
    """The first packets of a capture of ours, as a capture."""
    with path.open("wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1))
        for seconds, fraction, data in islice(_records(source), packets):
            out.write(_RECORD.pack(seconds, fraction, len(data), len(data)) + data)
    return path


def repeated(path: Path, size: int, capture: Path) -> int:
    """A recorded conversation over and over, each time by another client; IPv4 in Ethernet, little-endian pcap."""
    packets = [data for _, _, data in _records(capture)]
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
