"""Encodes the requests of the probe: parameters in, stubs out, in NDR and NDR64 ([MS-PCQ] section 6, [MS-RRP] section 6, C706
chapter 14, [MS-RPCE] section 2.2.5). Some stubs are wrong on purpose."""

from __future__ import annotations

from uuid import UUID

from analyzer.core.dcerpc import NdrWriter

NO_HANDLE = bytes(20)
ANY = 0xFFFFFFFF
MACHINE = "\\\\probed"


def context_handle(uuid: bytes | str) -> bytes:
    """Encodes an RPC context handle of 20 bytes for a request of the probe."""
    raw = UUID(uuid).bytes_le if isinstance(uuid, str) else uuid
    return bytes(4) + raw


def identifier(
    counterset: str, *, counter: int = ANY, instance: int = ANY, name: str | None = None, size: int | None = None
) -> bytes:
    """Encodes a _PERF_COUNTER_IDENTIFIER (section 2.2.4.6) for the probe, its name padded to 8 bytes; `size` overrides Size."""
    text = b"" if name is None else (name + "\0").encode("utf-16-le")
    text += bytes(-len(text) % 8)
    length = 40 + len(text) if size is None else size
    numbers = (0, length, counter, instance, 0, 0)
    return UUID(counterset).bytes_le + b"".join(number.to_bytes(4, "little") for number in numbers) + text


def query_value(handle: bytes, name: str, room: int, *, ndr64: bool = False) -> bytes:
    """Encodes the stub of BaseRegQueryValue for the probe, with `room` bytes and none of them sent ([MS-RRP] section 3.1.5.17)."""
    stub = NdrWriter(ndr64=ndr64).handle(handle).unicode_string(name, 0).pointer(1).uint(0)
    stub.pointer(2).count(room).count(0).count(0)
    return stub.pointer(3).uint(room).pointer(4).uint(0).data
