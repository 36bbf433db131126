"""Segments for tests of the layers above IP: two ends that count their own sequence numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count

from msgspec.structs import replace

from analyzer.core.events import Event
from analyzer.core.limits import DEFAULTS, Limits
from analyzer.core.tcpip_encoding import ACK, FIN, PSH, RST, SYN
from analyzer.core.traced_bytes import TracedBytes
from analyzer.results.records.record_types import Endpoint
from analyzer.transport.packet.segment import Segment, SegmentBatch
from analyzer.transport.tcp.protocol_recognition import Recognition
from analyzer.transport.tcp.reassembler import Reassembler
from analyzer.transport.tcp.stream_events import Connection
from analyzer.transport.tcp.tcp_states import TcpTimeouts

CLIENT = Endpoint("192.0.2.1", 50000)
SERVER = Endpoint("192.0.2.2", 445)
MS = 1_000_000
# Where the payload of these segments begins in its frame: Ethernet, IPv4 and TCP without options.
PAYLOAD_AT = 54


@dataclass
class Talk:
    """A conversation: every method returns the segment it makes; frames count up and are 1 ms apart."""

    client: Endpoint = CLIENT
    server: Endpoint = SERVER
    client_isn: int = 1000
    server_isn: int = 9000
    first_frame: int = 1
    seq: dict[Endpoint, int] = field(default_factory=dict)
    received: dict[Endpoint, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._frames = count(self.first_frame)
        self.seq = {self.client: self.client_isn, self.server: self.server_isn}
        self.received = {self.client: self.server_isn, self.server: self.client_isn}

    def raw(
        self,
        src: Endpoint,
        seq: int,
        ack: int,
        flags: int,
        data: bytes = b"",
        *,
        missing: int = 0,
        frame: int | None = None,
    ) -> Segment:
        """A segment exactly as given."""
        number = next(self._frames) if frame is None else frame
        dst = self.server if src == self.client else self.client
        time_ns = number * MS
        payload = TracedBytes.of_frame(data, number, PAYLOAD_AT, time_ns)
        return Segment(src, dst, seq & 0xFFFFFFFF, ack & 0xFFFFFFFF, flags, 65535, payload, missing, number, time_ns)

    def _next(self, src: Endpoint, flags: int, data: bytes, *, length: int, missing: int = 0) -> Segment:
        dst = self.server if src == self.client else self.client
        made = self.raw(src, self.seq[src], self.received[src], flags, data, missing=missing)
        self.seq[src] += length
        self.received[dst] = self.seq[src]
        return made

    def open(self) -> list[Segment]:
        """The three-way handshake."""
        syn = replace(self._next(self.client, SYN, b"", length=1), ack=0)
        answer = self._next(self.server, SYN | ACK, b"", length=1)
        return [syn, answer, self._next(self.client, ACK, b"", length=0)]

    def skip_handshake(self) -> Talk:
        """As if the SYNs had come before the capture."""
        for end in (self.client, self.server):
            self.seq[end] += 1
            self.received[end] += 1
        return self

    def send(self, src: Endpoint, data: bytes, *, missing: int = 0) -> Segment:
        """The next data of `src`; its acknowledgement covers all that the other end sent so far."""
        return self._next(src, ACK | PSH, data, length=len(data) + missing, missing=missing)

    def c(self, data: bytes, *, missing: int = 0) -> Segment:
        return self.send(self.client, data, missing=missing)

    def s(self, data: bytes, *, missing: int = 0) -> Segment:
        return self.send(self.server, data, missing=missing)

    def ack(self, src: Endpoint) -> Segment:
        return self._next(src, ACK, b"", length=0)

    def fin(self, src: Endpoint) -> Segment:
        return self._next(src, ACK | FIN, b"", length=1)

    def rst(self, src: Endpoint) -> Segment:
        return self._next(src, ACK | RST, b"", length=0)

    def again(self, segment: Segment, data: bytes | None = None) -> Segment:
        """The same segment in a later frame (with other data, where given), acknowledging what is known by then."""
        number = next(self._frames)
        payload = TracedBytes.of_frame(segment.payload.data if data is None else data, number, PAYLOAD_AT, number * MS)
        return replace(segment, payload=payload, ack=self.received[segment.src], frame=number, time_ns=number * MS)

    def wait(self, ms: int) -> None:
        """Time passes: the next frame is that much later."""
        self._frames = count(next(self._frames) + ms)


class Everything(Recognition):
    """Takes every connection for one of ours, so that tests of reassembly may send what they like."""

    def feed(self, events: list[Event]) -> tuple[list[Event], list[Connection]]:
        return events, []

    def is_ours(self, connection: Connection) -> bool:
        return True


class Streams:
    """Reassembly of segments that come one by one, whatever they carry."""

    def __init__(
        self, limits: Limits = DEFAULTS, recognition: Recognition | None = None, timeouts: TcpTimeouts | None = None
    ) -> None:
        self.layer = Reassembler(limits, recognition or Everything(), timeouts=timeouts or TcpTimeouts())

    def feed(self, segment: Segment) -> list[Event]:
        return list(self.layer.feed(SegmentBatch.of_segment(segment)))

    def finish(self) -> list[Event]:
        return list(self.layer.finish())
