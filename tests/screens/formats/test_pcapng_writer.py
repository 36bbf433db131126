"""Blocks of pcapng files as draft-ietf-opsawg-pcapng lays them out, byte by byte."""

from io import BytesIO
from struct import pack

import pytest

from analyzer.screens.formats.pcapng_writer import PcapngWriter


def writer() -> tuple[PcapngWriter, BytesIO]:
    out = BytesIO()
    return PcapngWriter(out, application="app", comment="note"), out


def block(kind: int, body: bytes) -> bytes:
    """Type and length before the body, the length again behind it."""
    assert len(body) % 4 == 0
    return pack("<II", kind, len(body) + 12) + body + pack("<I", len(body) + 12)


# Byte-order magic, version 1.0, a section of unknown length; opt_comment (1), shb_userappl (4), opt_endofopt.
SECTION = block(
    0x0A0D0D0A,
    pack("<IHHQ", 0x1A2B3C4D, 1, 0, 0xFFFFFFFFFFFFFFFF)
    + pack("<HH", 1, 4)
    + b"note"
    + pack("<HH", 4, 3)
    + b"app\0"
    + pack("<HH", 0, 0),
)


def written(made: BytesIO) -> bytes:
    """What follows the header of the section."""
    data = made.getvalue()
    assert data.startswith(SECTION)
    return data[len(SECTION) :]


def test_interfaces_have_numbers_and_times_in_nanoseconds() -> None:
    """if_name (2) and if_tsresol (9)."""
    made, out = writer()
    assert [made.interface(1, "eth0"), made.interface(101, "")] == [0, 1]
    assert written(out) == (
        block(1, pack("<HHI", 1, 0, 0) + pack("<HH", 2, 4) + b"eth0" + pack("<HH", 9, 1) + b"\x09\0\0\0" + bytes(4))
        + block(1, pack("<HHI", 101, 0, 0) + pack("<HH", 2, 0) + pack("<HH", 9, 1) + b"\x09\0\0\0" + bytes(4))
    )


def test_packets_have_their_time_and_lengths() -> None:
    made, out = writer()
    made.packet(1, 0x1234567890ABCDEF, b"abcde", 9, "five")
    made.packet(0, 0xFFFFFFFF, b"", 0)
    assert made.packets == 2
    assert written(out) == (
        block(
            6, pack("<IIIII", 1, 0x12345678, 0x90ABCDEF, 5, 9) + b"abcde\0\0\0" + pack("<HH", 1, 4) + b"five" + bytes(4)
        )
        + block(6, pack("<IIIII", 0, 0, 0xFFFFFFFF, 0, 0))
    )


def test_names_of_addresses_are_records() -> None:
    """nrb_record_ipv4 (1) and nrb_record_ipv6 (2): an address, and names that each end with a zero byte."""
    made, out = writer()
    made.names({"somewhere": ["x"], "10.0.0.1": ["SRV1", "", "a\0b", "b"], "fe80::1": ["six"], "10.0.0.2": [""]})
    fe80 = bytes.fromhex("fe80000000000000 0000000000000001")
    assert written(out) == block(
        4, pack("<HH", 1, 11) + b"\x0a\0\0\1SRV1\0b\0\0" + pack("<HH", 2, 20) + fe80 + b"six\0" + pack("<HH", 0, 0)
    )
    nothing, empty = writer()
    nothing.names({"10.0.0.1": [""], "x": ["y"]})
    assert written(empty) == b""


def test_secrets_have_their_kind_and_length() -> None:
    made, out = writer()
    made.secrets(0x544C534B, b"abcdef")
    assert written(out) == block(10, pack("<II", 0x544C534B, 6) + b"abcdef\0\0")


@pytest.mark.parametrize(
    ("comment", "kept"),
    [
        ("a" * 4096, b"a" * 4096),
        ("a" * 4097, b"a" * 4093 + b"..."),
        # A character is not cut in its middle.
        ("é" * 2048, "é".encode() * 2048),
        ("é" * 2049, "é".encode() * 2046 + b"..."),
        ("a\ud800", b"a\\ud800"),
    ],
)
def test_long_comments_are_cut(comment: str, kept: bytes) -> None:
    made, out = writer()
    made.packet(0, 0, b"", 0, comment)
    body = pack("<IIIII", 0, 0, 0, 0, 0) + pack("<HH", 1, len(kept)) + kept + bytes(-len(kept) % 4) + bytes(4)
    assert written(out) == block(6, body)
