"""The two ends of a TCP connection in, its Community ID (version 1, seed 0) out, by which Zeek, Suricata and others name flows."""

from __future__ import annotations

import base64
import hashlib
import struct
from ipaddress import ip_address

from analyzer.results.record import Endpoint

_SEED, _TCP = 0, 6


def community_id(one: Endpoint, other: Endpoint) -> str:
    """`1:` and the SHA-1 of both ends, the lower one first, in Base64."""
    ends = sorted((ip_address(end.ip).packed, end.port) for end in (one, other))
    (low, low_port), (high, high_port) = ends
    data = struct.pack(">H", _SEED) + low + high + struct.pack(">BBHH", _TCP, 0, low_port, high_port)
    return f"1:{base64.b64encode(hashlib.sha1(data, usedforsecurity=False).digest()).decode()}"
