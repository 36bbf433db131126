"""TCP segments as they leave the IP layer, and the names of the two ends."""

from __future__ import annotations

from dataclasses import dataclass

from analyzer.core.events import Event
from analyzer.core.traced import TracedBytes

FIN, SYN, RST, PSH, ACK, URG = 0x01, 0x02, 0x04, 0x08, 0x10, 0x20


@dataclass(frozen=True, slots=True, order=True)
class Endpoint:
    """One end of a connection: address as text (IPv6 in RFC 5952 form) and port."""

    ip: str
    port: int

    def __str__(self) -> str:
        return f"[{self.ip}]:{self.port}" if ":" in self.ip else f"{self.ip}:{self.port}"


@dataclass(frozen=True, slots=True)
class Segment(Event):
    """One TCP segment. `payload` is what was captured of its data; `missing` counts data bytes that the snapshot length cut off.

    `seq` and `ack` are the header's 32-bit numbers (`seq` of the first data byte, or of SYN/FIN itself), `frame` the frame
    that completed it (the last one of a fragmented datagram).
    """

    src: Endpoint
    dst: Endpoint
    seq: int
    ack: int
    flags: int
    window: int
    payload: TracedBytes
    missing: int
    frame: int
    time_ns: int
