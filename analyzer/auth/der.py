"""Reads DER as pieces of tag, length and value (X.690): the few constructions in SPNEGO and Kerberos tokens.

scapy's ASN.1 layers read these tokens too. But they build a tree of packet objects that guesses at what it does not understand,
raise a dozen kinds of exception on damaged bytes, and take a quarter of a second to import. This program needs a dozen fields,
exact bounds and one exception.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from analyzer.core.errors import MalformedError, TruncatedError

BOOLEAN, INTEGER, BIT_STRING, OCTET_STRING, OID, ENUMERATED = 0x01, 0x02, 0x03, 0x04, 0x06, 0x0A
GENERAL_STRING, SEQUENCE = 0x1B, 0x30


class Piece(Struct, frozen=True):
    """One DER value: its tag octet, its contents, and all of its bytes (`raw`)."""

    tag: int
    data: bytes
    raw: bytes

    def expect(self, tag: int, name: str) -> Piece:
        """Returns this DER value if it has the tag, else raises `MalformedError`."""
        if self.tag != tag:
            raise MalformedError(f"tag {self.tag:#04x} where {tag:#04x} belongs", field=name)
        return self

    def children(self, name: str) -> Iterator[Piece]:
        """Yields the DER values inside this one. They must fill it exactly."""
        at = 0
        while at < len(self.data):
            piece = read(self.data, at, name)
            at += len(piece.raw)
            yield piece

    def only(self, name: str) -> Piece:
        """Returns the single DER value inside an explicit tag."""
        piece = read(self.data, 0, name)
        if len(piece.raw) != len(self.data):
            raise MalformedError("more than one value under an explicit tag", field=name)
        return piece

    def fields(self, name: str) -> dict[int, Piece]:
        """Returns the members of a DER SEQUENCE by context tag number, without these tags."""
        out: dict[int, Piece] = {}
        for piece in self.expect(SEQUENCE, name).children(name):
            if piece.tag & 0xE0 == 0xA0:
                out.setdefault(piece.tag & 0x1F, piece.only(name))
        return out

    def integer(self, name: str) -> int:
        """Returns the number in a DER INTEGER or ENUMERATED, of at most nine bytes. No field here needs more."""
        if self.tag not in (INTEGER, ENUMERATED) or not 1 <= len(self.data) <= 9:
            raise MalformedError("no INTEGER of a sensible size", field=name)
        return int.from_bytes(self.data, "big", signed=True)

    def text(self, name: str) -> str:
        """Returns the text of a KerberosString in DER. Bytes that are no UTF-8 are replaced."""
        if self.tag & 0xC0 or self.tag & 0x20:
            raise MalformedError(f"tag {self.tag:#04x} where a string belongs", field=name)
        return self.data.decode("utf-8", "replace")

    def octets(self, name: str) -> bytes:
        return self.expect(OCTET_STRING, name).data


def read(data: bytes, at: int = 0, name: str = "der") -> Piece:
    """Reads the DER value that begins at `at`. These protocols have only one-octet tags and definite lengths."""
    if len(data) < at + 2:
        raise TruncatedError("ends inside a tag and length", field=name, start=at)
    tag, first = data[at], data[at + 1]
    if tag & 0x1F == 0x1F:
        raise MalformedError("a tag number above 30", field=name, start=at, stop=at + 1)
    start = at + 2
    length = first
    if first & 0x80:
        count = first & 0x7F
        if not 1 <= count <= 4:
            raise MalformedError("an indefinite or oversized length", field=name, start=at + 1, stop=at + 2)
        start += count
        if start > len(data):
            raise TruncatedError("ends inside a tag and length", field=name, start=at)
        length = int.from_bytes(data[at + 2 : start], "big")
    stop = start + length
    if stop > len(data):
        raise TruncatedError(
            f"{length} bytes announced, {max(len(data) - start, 0)} there", field=name, start=at, stop=stop
        )
    return Piece(tag, data[start:stop], data[at:stop])


def oid_text(data: bytes) -> str:
    """Returns a DER object identifier as text, `1.2.840.113554.1.2.2`."""
    if not data or data[-1] & 0x80:
        raise MalformedError("an object identifier that does not end", field="oid")
    arcs: list[int] = []
    value = 0
    for octet in data:
        value = value << 7 | octet & 0x7F
        if not octet & 0x80:
            arcs.append(value)
            value = 0
    first = min(arcs[0] // 40, 2)
    return ".".join(map(str, (first, arcs[0] - 40 * first, *arcs[1:])))


def unwrap_gss(token: bytes) -> tuple[str, bytes] | None:
    """Reads the DER around a token in GSS-API framing 0x60 (RFC 2743 section 3.1): mechanism and inner token, None if unframed."""
    if token[:1] != b"\x60":
        return None
    outer = read(token, 0, "gss.token")
    mechanism = read(outer.data, 0, "gss.thisMech").expect(OID, "gss.thisMech")
    return oid_text(mechanism.data), outer.data[len(mechanism.raw) :]
