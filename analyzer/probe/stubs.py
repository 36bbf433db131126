"""Requests as the probe sends them: parameters in, stubs out, in NDR and NDR64 ([MS-PCQ] section 6, [MS-RRP] section 6, C706
chapter 14, [MS-RPCE] section 2.2.5), also such as no client should send."""

from __future__ import annotations

from uuid import UUID

NO_HANDLE = bytes(20)
ANY = 0xFFFFFFFF
MACHINE = "\\\\probed"


def context_handle(uuid: bytes | str, attributes: int = 0) -> bytes:
    """A context handle of 20 bytes."""
    raw = UUID(uuid).bytes_le if isinstance(uuid, str) else uuid
    return attributes.to_bytes(4, "little") + raw


class Stub:
    """A stub that grows, aligned as its transfer syntax asks for."""

    def __init__(self, *, ndr64: bool = False) -> None:
        self.width = 8 if ndr64 else 4
        self.data = b""

    def _align(self, size: int) -> None:
        self.data += bytes(-len(self.data) % size)

    def uint(self, value: int, size: int = 4) -> Stub:
        self._align(size)
        self.data += value.to_bytes(size, "little")
        return self

    def count(self, value: int) -> Stub:
        return self.uint(value, self.width)

    def raw(self, data: bytes, align: int = 4) -> Stub:
        self._align(align)
        self.data += data
        return self

    def handle(self, handle: bytes) -> Stub:
        return self.raw(handle)

    def guid(self, guid: str) -> Stub:
        return self.raw(UUID(guid).bytes_le)

    def string(self, text: str = MACHINE) -> Stub:
        """A conformant varying string of 16-bit characters with its NUL."""
        data = (text + "\0").encode("utf-16-le")
        held = len(data) // 2
        self.count(held).count(0).count(held)
        self.data += data
        return self

    def conformant(self, data: bytes, count: int | None = None) -> Stub:
        self.count(len(data) if count is None else count)
        self.data += data
        return self


def identifier(
    counterset: str, *, counter: int = ANY, instance: int = ANY, name: str | None = None, size: int | None = None
) -> bytes:
    """A _PERF_COUNTER_IDENTIFIER (section 2.2.4.6) with its name, padded to 8 bytes; `size` in place of the right one."""
    text = b"" if name is None else (name + "\0").encode("utf-16-le")
    text += bytes(-len(text) % 8)
    length = 40 + len(text) if size is None else size
    numbers = (0, length, counter, instance, 0, 0)
    return UUID(counterset).bytes_le + b"".join(number.to_bytes(4, "little") for number in numbers) + text


def query_value(handle: bytes, name: str, room: int, *, ndr64: bool = False) -> bytes:
    """BaseRegQueryValue with room for so many bytes, and none of them sent ([MS-RRP] section 3.1.5.17)."""
    stub = Stub(ndr64=ndr64).handle(handle)
    size = 2 * len(name) + 2
    stub.raw(b"", stub.width).uint(size, 2).uint(size, 2).count(0x20000).string(name)
    stub.count(0x20004).uint(0)
    stub.count(0x20008).count(room).count(0).count(0)
    return stub.count(0x2000C).uint(room).count(0x20010).uint(0).data
