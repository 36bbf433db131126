"""The probe's own capture: a relay on the loopback interface that the probe talks through, whose bytes become a pcapng as
TCP would have carried them; or dumpcap or tcpdump, where they are installed and may capture.

The relay connects to the server that the user named and to nothing else. The segments it records are its own cutting: what was
sent and when, between the true addresses, but none of the retransmissions and acknowledgements of the wire.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from ipaddress import ip_address
from pathlib import Path
from struct import pack

from msgspec import Struct

_LINKTYPE_RAW = 101
_SYN, _FIN, _PSH, _ACK = 2, 1, 8, 16
_MOST_PAYLOAD = 32768
_BUFFER = 65536
_SETTLING_S = 1.0
_STOPPING_S = 10.0
_Address = tuple[str, int]
# Acknowledges at once, where the system can (RFC 9293 section 3.8.6.3 lets it wait): a sender of two small pieces waits for that.
_QUICK: int | None = getattr(socket, "TCP_QUICKACK", None)


class Recorded(Struct, frozen=True):
    """One packet of IP, and when it was."""

    time_ns: int
    data: bytes


class _Flow:
    """One connection as TCP: what either side sends becomes segments."""

    def __init__(self, packets: list[Recorded], lock: threading.Lock, client: _Address, server: _Address) -> None:
        self._packets, self._lock, self._ends = packets, lock, (client, server)
        self._numbers = [1000, 5000]
        self._segment(0, b"", _SYN)
        self._segment(1, b"", _SYN | _ACK)
        self._segment(0, b"", _ACK)

    def send(self, direction: int, data: bytes) -> None:
        """0 is the client's direction."""
        for at in range(0, len(data), _MOST_PAYLOAD):
            self._segment(direction, data[at : at + _MOST_PAYLOAD], _PSH | _ACK)

    def close(self) -> None:
        for direction in (0, 1):
            self._segment(direction, b"", _FIN | _ACK)

    def _segment(self, direction: int, payload: bytes, flags: int) -> None:
        with self._lock:
            source, target = self._ends[direction], self._ends[1 - direction]
            acknowledged = self._numbers[1 - direction] if flags & _ACK else 0
            head = pack(
                ">HHIIBBHHH", source[1], target[1], self._numbers[direction], acknowledged, 0x50, flags, 65535, 0, 0
            )
            self._packets.append(Recorded(time.time_ns(), _packet(source[0], target[0], head, payload)))
            self._numbers[direction] += len(payload) + bool(flags & (_SYN | _FIN))


def _packet(source: str, target: str, tcp: bytes, payload: bytes) -> bytes:
    """An IP packet with a TCP segment whose checksum is right."""
    ends = ip_address(source).packed + ip_address(target).packed
    length = len(tcp) + len(payload)
    pseudo = ends + pack(">IBBBB", length, 0, 0, 0, 6) if len(ends) == 32 else ends + pack(">BBH", 0, 6, length)
    checked = tcp[:16] + pack(">H", _checksum(pseudo + tcp + payload)) + tcp[18:]
    if len(ends) == 32:
        return pack(">IHBB", 6 << 28, length, 6, 64) + ends + checked + payload
    head = pack(">BBHHHBBH", 0x45, 0, 20 + length, 0, 0x4000, 64, 6, 0) + ends
    return head[:10] + pack(">H", _checksum(head)) + head[12:] + checked + payload


def _checksum(data: bytes) -> int:
    """The checksum of RFC 1071."""
    data += bytes(len(data) % 2)
    total = sum(int.from_bytes(data[at : at + 2], "big") for at in range(0, len(data), 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


class Relay:
    """Listens on 127.0.0.1, and joins whoever connects with the server."""

    def __init__(self, server: _Address, timeout_s: float) -> None:
        self.packets: list[Recorded] = []
        self._server, self._timeout_s, self._lock = server, timeout_s, threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._threads: list[threading.Thread] = []
        self._start(self._accept)

    @property
    def address(self) -> _Address:
        """Where the probe connects to."""
        host, port = self._listener.getsockname()[:2]
        return str(host), int(port)

    def close(self) -> None:
        """Ends the listening, and waits for the connections to end."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(timeout=5)

    def _start(self, target: object, *arguments: object) -> None:
        thread = threading.Thread(target=target, args=arguments, daemon=True)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            try:
                far = socket.create_connection(self._server, timeout=self._timeout_s)
            except OSError:
                near.close()
                continue
            for one in (near, far):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            far.settimeout(None)
            flow = _Flow(self.packets, self._lock, far.getsockname()[:2], far.getpeername()[:2])
            self._start(self._join, near, far, flow)

    def _join(self, near: socket.socket, far: socket.socket, flow: _Flow) -> None:
        back = threading.Thread(target=_copy, args=(far, near, flow, 1), daemon=True)
        back.start()
        _copy(near, far, flow, 0)
        back.join()
        flow.close()
        near.close()
        far.close()


def _copy(source: socket.socket, target: socket.socket, flow: _Flow, direction: int) -> None:
    """What one side sends, to the other, until either ends."""
    with suppress(OSError):
        while data := source.recv(_BUFFER):
            if _QUICK is not None:
                source.setsockopt(socket.IPPROTO_TCP, _QUICK, 1)
            # Recorded before it is passed on, or an answer could stand before its question.
            flow.send(direction, data)
            target.sendall(data)
    for one in (source, target):
        with suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)


def pcapng(packets: list[Recorded], application: str) -> bytes:
    """The packets as a pcapng file with times in nanoseconds."""
    name = application.encode()
    blocks = [_block(0x0A0D0D0A, pack("<IHHq", 0x1A2B3C4D, 1, 0, -1) + _option(4, name) + pack("<HH", 0, 0))]
    blocks.append(_block(1, pack("<HHI", _LINKTYPE_RAW, 0, 0) + _option(9, b"\x09") + pack("<HH", 0, 0)))
    for one in packets:
        high, low = divmod(one.time_ns, 1 << 32)
        blocks.append(_block(6, pack("<IIIII", 0, high, low, len(one.data), len(one.data)) + _padded(one.data)))
    return b"".join(blocks)


def _block(kind: int, body: bytes) -> bytes:
    return pack("<II", kind, len(body) + 12) + body + pack("<I", len(body) + 12)


def _option(code: int, value: bytes) -> bytes:
    return pack("<HH", code, len(value)) + _padded(value)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


class Captured(Struct):
    """What dumpcap or tcpdump captured, once they have stopped."""

    data: bytes = b""


@contextmanager
def captured_by(program: str, server: _Address) -> Iterator[Captured | None]:
    """What dumpcap or tcpdump captures while this lasts; None where the program is not there, or may not capture."""
    path = shutil.which(program)
    if path is None:
        yield None
        return
    captured = Captured()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "capture.pcapng"
        process = subprocess.Popen(
            [path, *_arguments(program, file, server)],
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,  # Ctrl-C is for the script, whose last packets are captured still
        )
        try:
            assert process.stderr is not None
            # Both say so once they capture: `File: ...` and `tcpdump: listening on ...`.
            ready = next((line for line in process.stderr if "File:" in line or "listening on" in line), None)
            yield captured if ready is not None else None
        finally:
            # What was sent last is on its way through the kernel still.
            time.sleep(_SETTLING_S)
            # Both stop in good order at SIGTERM; a job in the background of a script hands on that SIGINT is ignored.
            process.terminate()
            try:
                process.communicate(timeout=_STOPPING_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
            if file.exists():
                captured.data = file.read_bytes()


def _arguments(program: str, file: Path, server: _Address) -> list[str]:
    wanted = f"tcp and host {server[0]} and port {server[1]}"
    if program == "dumpcap":
        return ["-i", "any", "-q", "-f", wanted, "-w", str(file)]
    return ["-i", "any", "-U", "--immediate-mode", "-s", "0", "-w", str(file), wanted]
