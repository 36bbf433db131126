"""Reads the secrets that a pcapng slice carries for its readers (draft-ietf-opsawg-pcapng, Decryption Secrets Block).

`pcq export --slice --dsb NAME` puts them in front of the packets, as a JSON document of the form that --secrets reads. No type of
secrets is registered for NTLM, Kerberos or SMB. Wireshark skips a type that it does not know.
"""

from __future__ import annotations

import struct
from pathlib import Path
from struct import unpack_from
from typing import BinaryIO

from analyzer.capture.decompression import ByteStream, open_stream
from analyzer.capture.first_bytes import section_order
from analyzer.core.errors import InputError
from analyzer.core.limits import DEFAULTS

# Secrets stand in front of the packets they decrypt; a file whose blocks before them are longer has none of ours.
_LOOKED_AT = 256 * 1024
_HEADER = 12


def embedded_secrets(source: Path | BinaryIO) -> tuple[bytes, ...]:
    """Returns the decryption secrets in front of the packets of a pcapng capture. Empty if it cannot be read: its reader reports
    that."""
    try:
        stream, _ = open_stream(source, str(source), DEFAULTS)
    except (InputError, OSError):
        return ()
    try:
        return _in_front(stream)
    finally:
        stream.close()


def _in_front(stream: ByteStream) -> tuple[bytes, ...]:
    head = stream.read(_HEADER)
    if (order := section_order(head)) is None:
        return ()
    from analyzer.capture.pcapng import (  # few captures are pcapng
        DECRYPTION_SECRETS,
        ENHANCED_PACKET,
        OBSOLETE_PACKET,
        SECRETS_OF_OURS,
        SIMPLE_PACKET,
    )

    data = head + stream.read(_LOOKED_AT)
    found, at = [], 0
    try:
        while True:
            kind, length = unpack_from(f"{order}II", data, at)
            if kind in (ENHANCED_PACKET, SIMPLE_PACKET, OBSOLETE_PACKET) or length < _HEADER:
                break
            if kind == DECRYPTION_SECRETS and at + length <= len(data):
                what, size = unpack_from(f"{order}II", data, at + 8)
                if what == SECRETS_OF_OURS and size <= length - 20:
                    found.append(data[at + 16 : at + 16 + size])
            at += length
    except struct.error:
        pass
    return tuple(found)
