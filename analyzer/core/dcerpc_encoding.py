"""Encodes DCERPC: PDUs of associations (C706 section 12.6, [MS-RPCE] section 2.2.2), and stubs in NDR and NDR64 (C706 chapter 14,
[MS-RPCE] section 2.2.5).

The probe sends these bytes, exports hold them, tests and fuzzing feed them to the layers. Nothing here knows how a PDU is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import pack
from typing import Literal, Self
from uuid import UUID

from msgspec import Struct

REQUEST, RESPONSE, FAULT = 0, 2, 3
BIND, BIND_ACK, BIND_NAK, ALTER, ALTER_RESP, AUTH3 = 11, 12, 13, 14, 15, 16
FIRST, LAST = 0x01, 0x02
WHOLE = FIRST | LAST
HEADER_LEN, SEC_TRAILER_LEN = 16, 8
# Transfer syntaxes: UUID and version. A client that knows features of [MS-RPCE] section 3.3.1.5.3 offers these as one more.
TransferSyntax = tuple[str, int]
NDR: TransferSyntax = ("8a885d04-1ceb-11c9-9fe8-08002b104860", 2)
NDR64: TransferSyntax = ("71710533-beba-4937-8319-b5dbef9ccc36", 1)
FEATURES: TransferSyntax = ("6cb71c2c-9812-4540-0300-000000000000", 1)
# RPC_C_AUTHN_WINNT, and the level that seals ([MS-RPCE] sections 2.2.1.1.7 and 2.2.1.1.8).
_WINNT, _PRIVACY = 10, 6


class Verifier(Struct, frozen=True):
    """The auth_value to encode in a DCERPC PDU, with the fields of its sec_trailer ([MS-RPCE] section 2.2.2.11)."""

    value: bytes
    level: int = _PRIVACY
    auth_type: int = _WINNT
    context_id: int = 0


def pdu(
    kind: int,
    body: bytes = b"",
    *,
    flags: int = WHOLE,
    call_id: int = 1,
    verifier: Verifier | None = None,
    pad: int = 0,
    big: bool = False,
) -> bytes:
    """Encodes a DCERPC PDU (C706 section 12.6.3.1). `pad` is the number of bytes in the body that pad it for the verifier. `big`
    asks for big-endian."""
    mark, tail = ">" if big else "<", b""
    if verifier is not None:
        tail = pack(f"{mark}BBBBI", verifier.auth_type, verifier.level, pad, 0, verifier.context_id) + verifier.value
    length = HEADER_LEN + len(body) + len(tail)
    signed = len(verifier.value) if verifier is not None else 0
    drep = b"\x00\0\0\0" if big else b"\x10\0\0\0"
    return pack(f"{mark}BBBB4sHHI", 5, 0, kind, flags, drep, length, signed, call_id) + body + tail


def syntax(uuid: str, major: int, minor: int = 0, *, big: bool = False) -> bytes:
    """Encodes a syntax of a DCERPC bind, p_syntax_id_t: UUID and version (C706 section 12.6.3.1)."""
    return uuid_bytes(uuid, big=big) + pack(">I" if big else "<I", minor << 16 | major)


def uuid_bytes(uuid: str, *, big: bool = False) -> bytes:
    """Returns the 16 bytes of a UUID in a DCERPC PDU."""
    return UUID(uuid).bytes if big else UUID(uuid).bytes_le


def context(number: int, interface: bytes, transfers: Sequence[TransferSyntax] = (NDR,), *, big: bool = False) -> bytes:
    """Encodes a DCERPC presentation context element: an interface (`syntax`), and the transfer syntaxes offered for it."""
    offered = b"".join(syntax(*one, big=big) for one in transfers)
    return pack(">HBB" if big else "<HBB", number, len(transfers), 0) + interface + offered


def bind_body(contexts: Sequence[bytes], *, most: int = 4280, group: int = 0, big: bool = False) -> bytes:
    """Encodes the body of a DCERPC bind or alter_context (C706 section 12.6.4.3). It offers fragments of `most` bytes both ways."""
    return pack(">HHIBBH" if big else "<HHIBBH", most, most, group, len(contexts), 0, 0) + b"".join(contexts)


def bind_ack_body(
    results: Sequence[tuple[int, int, TransferSyntax]],
    address: bytes,
    *,
    most: int = 4280,
    group: int = 0,
    big: bool = False,
) -> bytes:
    """Encodes the body of a DCERPC bind_ack or alter_context_resp (C706 section 12.6.4.4): result, reason and transfer syntax of
    each offer."""
    mark = ">" if big else "<"
    body = pack(f"{mark}HHIH", most, most, group, len(address)) + address
    body += bytes(-len(body) % 4) + pack("BBH", len(results), 0, 0)
    for result, reason, transfer in results:
        body += pack(f"{mark}HH", result, reason) + syntax(*transfer, big=big)
    return body


def call_head(hint: int, number: int, opnum: int, *, big: bool = False) -> bytes:
    """Encodes the fields before the stub of a DCERPC request: alloc_hint, context and opnum (C706 section 12.6.4.9). In answers,
    the opnum has no meaning."""
    return pack(">IHH" if big else "<IHH", hint, number, opnum)


def fragments(stub: bytes, size: int) -> list[tuple[int, bytes]]:
    """Cuts an encoded DCERPC stub into fragments of `size` bytes, each with its flags for first and last."""
    pieces = [stub[at : at + size] for at in range(0, len(stub), size)] or [b""]
    last = len(pieces) - 1
    return [((FIRST if n == 0 else 0) | (LAST if n == last else 0), piece) for n, piece in enumerate(pieces)]


class NdrWriter:
    """Encodes an NDR stub field by field, aligned as its transfer syntax requires. `fill` is the byte between fields."""

    def __init__(self, *, ndr64: bool = False, order: Literal["little", "big"] = "little", fill: bytes = b"\0") -> None:
        self.data = b""
        self.width = 8 if ndr64 else 4
        self.order: Literal["little", "big"] = order
        self._fill = fill

    def align(self, size: int) -> Self:
        self.data += self._fill * (-len(self.data) % size)
        return self

    def raw(self, data: bytes, align: int = 1) -> Self:
        self.align(align)
        self.data += data
        return self

    def uint(self, value: int, size: int = 4) -> Self:
        return self.raw(value.to_bytes(size, self.order), size)

    def count(self, value: int) -> Self:
        """Writes a number as wide as counts and pointers are in NDR or NDR64."""
        return self.uint(value, self.width)

    def uuid(self, text: str) -> Self:
        return self.raw(uuid_bytes(text, big=self.order == "big"), 4)

    def handle(self, handle: bytes | str, attributes: int = 0) -> Self:
        """Writes an NDR context handle, as its 20 bytes or by its UUID (C706 appendix N)."""
        return self.uint(attributes).uuid(handle) if isinstance(handle, str) else self.raw(handle, 4)

    def array(self, data: bytes, room: int | None = None, element: int = 1) -> Self:
        """Writes an NDR conformant varying array. `room` is its maximum count in elements; default: as many as there are."""
        held = len(data) // element
        return self.count(held if room is None else room).count(0).count(held).raw(data)

    def string(self, text: str) -> Self:
        """Writes an NDR conformant varying string of 16-bit characters with its NUL."""
        return self.array((text + "\0").encode(f"utf-16-{self.order[0]}e"), element=2)

    def conformant(self, data: bytes, count: int | None = None) -> Self:
        """Writes an NDR conformant array of bytes. `count` replaces the right count."""
        return self.count(len(data) if count is None else count).raw(data)

    def pointer(self, number: int) -> Self:
        """Writes the NDR referent id of a pointer that is not null. Each number has its own id."""
        return self.count(0x20000 + 4 * number)

    def null(self) -> Self:
        return self.count(0)

    def unicode_string(self, text: str, number: int = 1) -> Self:
        """Writes an NDR RRP_UNICODE_STRING and the string that its pointer refers to ([MS-RRP] section 2.2.4)."""
        size = len(text.encode("utf-16-le")) + 2
        return self.align(self.width).uint(size, 2).uint(size, 2).pointer(number).string(text)
