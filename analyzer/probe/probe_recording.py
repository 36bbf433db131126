"""Records the probe's own capture. A relay on the loopback interface writes the bytes of the probe as a pcapng, in segments like
those of TCP. Or dumpcap or tcpdump captures them, if installed and permitted.

The relay connects only to the server that the user named. It cuts the segments itself: it records what was sent and when, between
the true addresses, but no retransmissions and acknowledgements of the wire.
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
from io import BytesIO
from pathlib import Path

from msgspec import Struct

from analyzer.core.tcpip_encoding import ACK, FIN, PSH, SYN, tcp_packet
from analyzer.screens.formats.pcapng_writer import PcapngWriter

_LINKTYPE_RAW = 101
_MOST_PAYLOAD = 32768
_BUFFER = 65536
_SETTLING_S = 1.0
_STOPPING_S = 10.0
_Address = tuple[str, int]
# Acknowledges at once, where the system can (RFC 9293 section 3.8.6.3 lets it wait): a sender of two small pieces waits for that.
_QUICK: int | None = getattr(socket, "TCP_QUICKACK", None)


class Recorded(Struct, frozen=True):
    """One IP packet of the probe's own capture, and its time."""

    time_ns: int
    data: bytes


class _Flow:
    """One connection of the probe as TCP: the bytes of both sides become segments."""

    def __init__(self, packets: list[Recorded], lock: threading.Lock, client: _Address, server: _Address) -> None:
        self._packets, self._lock, self._ends = packets, lock, (client, server)
        self._numbers = [1000, 5000]
        self._segment(0, b"", SYN)
        self._segment(1, b"", SYN | ACK)
        self._segment(0, b"", ACK)

    def send(self, direction: int, data: bytes) -> None:
        """Records bytes that one side of the probe's connection sends; direction 0 is the client's."""
        for at in range(0, len(data), _MOST_PAYLOAD):
            self._segment(direction, data[at : at + _MOST_PAYLOAD], PSH | ACK)

    def close(self) -> None:
        for direction in (0, 1):
            self._segment(direction, b"", FIN | ACK)

    def _segment(self, direction: int, payload: bytes, flags: int) -> None:
        with self._lock:
            source, target = self._ends[direction], self._ends[1 - direction]
            data = tcp_packet(source, target, self._numbers[direction], self._numbers[1 - direction], flags, payload)
            self._packets.append(Recorded(time.time_ns(), data))
            self._numbers[direction] += len(payload) + bool(flags & (SYN | FIN))


class Relay:
    """Relays the probe's connections, to record them: listens on 127.0.0.1, and connects each client to the server."""

    def __init__(self, server: _Address, timeout_s: float) -> None:
        self.packets: list[Recorded] = []
        self._server, self._timeout_s, self._lock = server, timeout_s, threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._threads: list[threading.Thread] = []
        self._start(self._accept)

    @property
    def address(self) -> _Address:
        """The address of the recording relay that the probe connects to."""
        host, port = self._listener.getsockname()[:2]
        return str(host), int(port)

    def close(self) -> None:
        """Closes the recording relay: stops listening, and waits until the connections end."""
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
    """Copies what one side of the recording relay sends to the other, until either ends."""
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
    """The packets of the probe's capture as a pcapng file with times in nanoseconds."""
    out = BytesIO()
    writer = PcapngWriter(out, application=application)
    interface = writer.interface(_LINKTYPE_RAW)
    for one in packets:
        writer.packet(interface, one.time_ns, one.data, len(one.data))
    return out.getvalue()


class Captured(Struct):
    """The capture that dumpcap or tcpdump made of the probe, once they have stopped."""

    data: bytes = b""


@contextmanager
def captured_by(program: str, server: _Address) -> Iterator[Captured | None]:
    """Captures the probe with dumpcap or tcpdump in this context; yields None if the program is absent or may not capture."""
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
            _settled(file)
            # Both stop in good order at SIGTERM; a job in the background of a script hands on that SIGINT is ignored.
            process.terminate()
            try:
                process.communicate(timeout=_STOPPING_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
            if file.exists():
                captured.data = file.read_bytes()


def _settled(file: Path) -> None:
    """Waits until the probe's capture file stops growing. The last packets are still on their way through the kernel, and a busy
    machine lets the capture program wait."""
    size, until = -1, time.monotonic() + _STOPPING_S
    while time.monotonic() < until:
        before, size = size, file.stat().st_size if file.exists() else 0
        if size == before:
            break
        time.sleep(_SETTLING_S)


def _arguments(program: str, file: Path, server: _Address) -> list[str]:
    wanted = f"tcp and host {server[0]} and port {server[1]}"
    if program == "dumpcap":
        return ["-i", "any", "-q", "-f", wanted, "-w", str(file)]
    return ["-i", "any", "-U", "--immediate-mode", "-s", "0", "-w", str(file), wanted]
