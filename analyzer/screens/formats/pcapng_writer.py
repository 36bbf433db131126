"""Writes packets to a pcapng file (draft-ietf-opsawg-pcapng): one section, little-endian, times in nanoseconds."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from ipaddress import ip_address
from typing import BinaryIO

_SECTION, _INTERFACE, _NAMES, _PACKET, _SECRETS = 0x0A0D0D0A, 1, 4, 6, 10
_MAGIC, _UNKNOWN_LENGTH = 0x1A2B3C4D, 0xFFFFFFFFFFFFFFFF
_END, _COMMENT, _APPLICATION, _IF_NAME, _IF_DESCRIPTION, _IF_TSRESOL, _EPB_FLAGS = 0, 1, 4, 2, 3, 9, 2
_INBOUND, _OUTBOUND = 1, 2
_NANOSECONDS = b"\x09"
_NAME_END, _NAME_IPV4, _NAME_IPV6 = 0, 1, 2
# Options and records have lengths of 16 bits; a comment that is longer is of no use to a reader.
_MOST_TEXT = 4096


class PcapngWriter:
    """Writes a pcapng file block by block; write each interface before its packets."""

    def __init__(self, out: BinaryIO, *, application: str, comment: str | None = None) -> None:
        self._out = out
        self._interfaces = 0
        self.packets = 0
        said = ((_COMMENT, _text(comment)),) if comment is not None else ()
        options = _options(*said, (_APPLICATION, _text(application)))
        self._block(_SECTION, struct.pack("<IHHQ", _MAGIC, 1, 0, _UNKNOWN_LENGTH) + options)

    def interface(self, link_type: int, name: str | None = None, description: str = "") -> int:
        """Writes an interface description block of pcapng and returns the number of the interface. `link_type` is a LINKTYPE_
        number."""
        described = ((_IF_DESCRIPTION, _text(description)),) if description else ()
        named = ((_IF_NAME, _text(name)),) if name is not None else ()
        options = _options(*named, *described, (_IF_TSRESOL, _NANOSECONDS))
        self._block(_INTERFACE, struct.pack("<HHI", link_type, 0, 0) + options)
        self._interfaces += 1
        return self._interfaces - 1

    def names(self, names: Mapping[str, Iterable[str]]) -> None:
        """Writes a name resolution block of pcapng: the names of each address."""
        records = b""
        for address, known in names.items():
            try:
                packed = ip_address(address).packed
            except ValueError:
                continue
            stated = b"".join(_text(name) + b"\0" for name in known if name and "\0" not in name)
            if stated:
                kind = _NAME_IPV4 if len(packed) == 4 else _NAME_IPV6
                records += _record(kind, packed + stated)
        if records:
            self._block(_NAMES, records + _record(_NAME_END, b""))

    def secrets(self, kind: int, data: bytes) -> None:
        """Writes a decryption secrets block of pcapng."""
        self._block(_SECRETS, struct.pack("<II", kind, len(data)) + _padded(data))

    def packet(
        self,
        interface: int,
        time_ns: int,
        data: bytes,
        original_length: int,
        comment: str = "",
        sent: bool | None = None,
    ) -> None:
        """Writes a packet as an enhanced packet block of pcapng. `sent` says whether the machine sent or received it, None if
        unknown."""
        head = struct.pack(
            "<IIIII", interface, time_ns >> 32 & 0xFFFFFFFF, time_ns & 0xFFFFFFFF, len(data), original_length
        )
        said = ((_COMMENT, _text(comment)),) if comment else ()
        flags = ((_EPB_FLAGS, struct.pack("<I", _OUTBOUND if sent else _INBOUND)),) if sent is not None else ()
        options = _options(*said, *flags) if comment or flags else b""
        self._block(_PACKET, head + _padded(data) + options)
        self.packets += 1

    def _block(self, kind: int, body: bytes) -> None:
        length = struct.pack("<I", len(body) + 12)
        self._out.write(struct.pack("<I", kind) + length + body + length)


def _text(text: str) -> bytes:
    data = text.encode("utf-8", "backslashreplace")
    return data if len(data) <= _MOST_TEXT else data[: _MOST_TEXT - 3].decode("utf-8", "ignore").encode() + b"..."


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


def _record(kind: int, value: bytes) -> bytes:
    return struct.pack("<HH", kind, len(value)) + _padded(value)


def _options(*options: tuple[int, bytes]) -> bytes:
    return b"".join(_record(code, value) for code, value in options) + _record(_END, b"")
