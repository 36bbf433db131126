"""Frames, PDUs and SMB messages as fields beside their bytes, by the documents that lay them out.

What is taken apart is put together here field by field; the trees stand in `tests/screens/viewmodel/trees/` (`tests/written.py`).
Lines that the tree before it has as well are counted there, not repeated.
"""

from collections.abc import Callable
from pathlib import Path
from struct import pack

import pytest

from analyzer.results.captured_packets import CapturedFrame
from analyzer.results.records.display_records import Node
from analyzer.screens.viewmodel.call_layers import pdu_tree
from analyzer.screens.viewmodel.carrier_layers import frame_tree, message_tree, sent_tree
from tests.written import differing, is_as_written

TREES = Path(__file__).with_name("trees")
ETHERNET, RAW, LINUX_SLL = 1, 101, 113

# ---------------------------------------------------------------------------------------------------------- frames

MACS = bytes.fromhex("0123456789ab cdef01234567")


def ipv4(
    payload: bytes, *, protocol: int = 6, fragment: int = 0x4000, options: bytes = b"", length: int | None = None
) -> bytes:
    """RFC 791 section 3.1."""
    size = 20 + len(options)
    total = size + len(payload) if length is None else length
    head = pack(">BBHHHBBH", 0x40 | size // 4, 0xB8, total, 0x1234, fragment, 64, protocol, 0xABCD)
    return head + bytes([10, 0, 0, 2, 10, 0, 0, 1]) + options + payload


def ipv6(payload: bytes, *, next_header: int = 6, length: int | None = None) -> bytes:
    """RFC 8200 section 3."""
    size = len(payload) if length is None else length
    ends = bytes.fromhex("fe80000000000000 0000000000000002 fe80000000000000 0000000000000001")
    return pack(">IHBB", 0x6B800001, size, next_header, 255) + ends + payload


def tcp(payload: bytes = b"data", *, flags: int = 0x18, options: bytes = b"") -> bytes:
    """RFC 9293 section 3.1."""
    offset = (20 + len(options)) // 4 << 4
    return pack(">HHIIBBHHH", 49152, 445, 1000, 2000, offset, flags, 512, 0xBEEF, 7) + options + payload


def ethernet(kind: int, payload: bytes, *, tags: bytes = b"") -> bytes:
    return MACS + tags + pack(">H", kind) + payload


FRAMES: dict[str, tuple[int, bytes]] = {
    "tcp over ipv4": (ETHERNET, ethernet(0x0800, ipv4(tcp()))),
    "options of both": (ETHERNET, ethernet(0x0800, ipv4(tcp(options=b"\1" * 8), options=b"\0" * 4))),
    "filled up": (ETHERNET, ethernet(0x0800, ipv4(tcp(b""))) + bytes(6)),
    "length left to the card": (ETHERNET, ethernet(0x0800, ipv4(tcp(), length=0)) + b"tail"),
    "two tags": (ETHERNET, ethernet(0x0800, ipv4(tcp()), tags=pack(">HHHH", 0x88A8, 5, 0x8100, 0x2006))),
    "cut in a tag": (ETHERNET, MACS + pack(">HH", 0x8100, 6)),
    "tcp over ipv6": (ETHERNET, ethernet(0x86DD, ipv6(tcp(b"")))),
    "ipv6 without a length": (ETHERNET, ethernet(0x86DD, ipv6(tcp(), length=0))),
    "ipv6 with trailer": (ETHERNET, ethernet(0x86DD, ipv6(tcp(b"")) + b"abc")),
    "ipv6 fragment": (ETHERNET, ethernet(0x86DD, ipv6(bytes(24), next_header=44))),
    "first fragment": (ETHERNET, ethernet(0x0800, ipv4(tcp(), fragment=0x2000))),
    "last fragment": (ETHERNET, ethernet(0x0800, ipv4(tcp(), fragment=0x0001))),
    "another protocol": (ETHERNET, ethernet(0x0800, ipv4(bytes(30), protocol=17))),
    "tunnel": (ETHERNET, ethernet(0x0800, ipv4(bytes(30), protocol=47))),
    "no room for tcp": (ETHERNET, ethernet(0x0800, ipv4(tcp(b"")[:19]))),
    "just room for tcp": (ETHERNET, ethernet(0x0800, ipv4(tcp(b"")))),
    "a header that is too short": (ETHERNET, ethernet(0x0800, bytes([0x41]) + ipv4(tcp())[1:])),
    "an offset that is too low": (ETHERNET, ethernet(0x0800, ipv4(tcp()[:12] + b"\x10" + tcp()[13:]))),
    "an offset beyond the end": (ETHERNET, ethernet(0x0800, ipv4(tcp(b"")[:12] + b"\xf0" + tcp(b"")[13:]))),
    "no room for ipv4": (ETHERNET, ethernet(0x0800, ipv4(b"")[:19])),
    "no room for ipv6": (ETHERNET, ethernet(0x86DD, ipv6(b"")[:39])),
    "bare ipv6": (ETHERNET, ethernet(0x86DD, ipv6(b""))),
    "another ethertype": (ETHERNET, ethernet(0x0806, bytes(28))),
    "cut in ethernet": (ETHERNET, MACS),
    "raw": (RAW, ipv4(tcp())),
    "linux sll": (LINUX_SLL, pack(">HHH8sH", 0, 1, 6, MACS[:8], 0x0800) + ipv4(tcp())),
    "unknown link": (250, b"abc"),
    **{f"flag {1 << bit}": (RAW, ipv4(tcp(flags=1 << bit))) for bit in range(8)},
    "no flags": (RAW, ipv4(tcp(flags=0))),
}

# ------------------------------------------------------------------------------------------------------------ PDUs


def pdu(
    ptype: int,
    body: bytes,
    *,
    flags: int = 3,
    auth: bytes = b"",
    pad: int = 0,
    big: bool = False,
    auth_length: int | None = None,
) -> bytes:
    """C706 section 12.6.3.1; the trailer is that of [MS-RPCE] section 2.2.2.11."""
    trailer = bytes(pad) + pack("<BBBBI" if not big else ">BBBBI", 10, 6, pad, 0, 3) + auth if auth else b""
    size = len(auth) if auth_length is None else auth_length
    drep = b"\0\0\0\0" if big else b"\x10\0\0\0"
    head = bytes([5, 0, ptype, flags]) + drep + pack(">HHI" if big else "<HHI", 16 + len(body) + len(trailer), size, 9)
    return head + body + trailer


REQUEST = pack("<IHH", 8, 1, 6)
ANSWER = pack("<IHBB", 8, 1, 2, 3)
FAULTED = pack("<IHBBII", 32, 1, 0, 1, 0x1C010003, 0)
PDUS: dict[str, tuple[bytes, int, int]] = {
    "request": (pdu(0, REQUEST + b"stubstub"), 24, 32),
    "request with an object": (pdu(0, REQUEST + bytes(range(16)) + b"stub", flags=0x83), 40, 44),
    "request cut in its object": (pdu(0, REQUEST + bytes(8), flags=0x83), 32, 32),
    "empty request": (pdu(0, REQUEST), 24, 24),
    "response": (pdu(2, ANSWER + b"stub"), 24, 28),
    "response whose flags name an object": (pdu(2, ANSWER + b"stub", flags=0x83), 24, 28),
    "big-endian response": (pdu(2, pack(">IHBB", 8, 1, 2, 3) + b"stub", big=True), 24, 28),
    "fault": (pdu(3, FAULTED), 32, 32),
    "fault with a stub": (pdu(3, FAULTED + b"more"), 32, 36),
    "fault of 24 bytes": (pdu(3, FAULTED[:8]), 24, 24),
    "sealed": (pdu(0, REQUEST + b"stub", auth=bytes(range(16)), pad=12), 24, 28),
    "sealed without padding": (pdu(0, REQUEST + b"stub", auth=bytes(range(16))), 24, 28),
    "a trailer that is too long": (pdu(0, REQUEST + b"stub", auth_length=16), 24, 28),
    "what follows": (pdu(0, REQUEST + b"stubrest"), 24, 28),
    "bind": (pdu(11, bytes(12)), 16, 28),
    "no such type": (pdu(77, b"abcd"), 16, 20),
    "another version": (b"\x09" + pdu(0, REQUEST)[1:], 24, 24),
    **{f"flag {1 << bit}": (pdu(2, ANSWER, flags=1 << bit), 24, 24) for bit in range(8)},
    "no flags": (pdu(2, ANSWER, flags=0), 24, 24),
}

# ------------------------------------------------------------------------------------------------------------- SMB


def smb2(command: int, body: bytes, *, flags: int = 0, following: int = 0, status: int = 0) -> bytes:
    """[MS-SMB2] section 2.2.1."""
    head = pack("<4sHHIHHIIQ", b"\xfeSMB", 64, 1, status, command, 31, flags, following, 77)
    ids = pack("<Q", 99) if flags & 2 else pack("<II", 0xFEFF, 5)
    return head + ids + pack("<Q", 0x1D) + bytes(range(16)) + body


FILE = bytes(range(16))
READ_ANSWER = pack("<HBBIII", 17, 80, 0, 4, 2, 0) + b"data"
WRITE_REQUEST = pack("<HHIQ16sIIHHI", 49, 112, 4, 3, FILE, 0, 0, 0, 0, 1) + b"data"
IOCTL_REQUEST = pack("<HHI16sIIIIIIII", 57, 0, 0x0011C017, FILE, 120, 4, 0, 120, 0, 1024, 1, 0) + b"data"
IOCTL_ANSWER = pack("<HHI16sIIIIII", 49, 0, 0x0011C017, FILE, 112, 0, 112, 4, 0, 0) + b"data"
ERROR_ANSWER = pack("<HBBI", 9, 0, 0, 0) + b"\0"
SMB1 = pack("<4sBIBHH8sHHHHH", b"\xffSMB", 0x25, 0xC000006D, 0x88, 0xC807, 1, bytes(8), 0, 2, 3, 4, 5)
MESSAGES: dict[str, bytes] = {
    "read answer": smb2(8, READ_ANSWER, flags=1),
    "read request": smb2(8, bytes(49)),
    "write request": smb2(9, WRITE_REQUEST, flags=8),
    "write answer": smb2(9, bytes(17), flags=1),
    "ioctl request": smb2(11, IOCTL_REQUEST),
    "ioctl of another kind": smb2(11, IOCTL_REQUEST[:4] + pack("<I", 0x140204) + IOCTL_REQUEST[8:]),
    "ioctl answer": smb2(11, IOCTL_ANSWER, flags=1),
    "ioctl answer that is just whole": smb2(11, IOCTL_ANSWER[:48], flags=1),
    "ioctl answer that is cut": smb2(11, IOCTL_ANSWER[:47], flags=1),
    "error answer": smb2(11, ERROR_ANSWER, flags=1, status=0xC0000022),
    "pending": smb2(11, ERROR_ANSWER, flags=3, status=0x103),
    "no such command": smb2(99, b"body", flags=0x30000004),
    "compound": smb2(9, WRITE_REQUEST + bytes(4), following=64 + 56) + smb2(8, bytes(49), flags=4),
    "compound that goes too far": smb2(8, READ_ANSWER, flags=1, following=5000),
    "compound that goes nowhere": smb2(8, READ_ANSWER, flags=1, following=63) + b"more",
    "compound with a rest": smb2(8, READ_ANSWER, flags=1, following=64 + 20) + b"rest",
    "header alone": smb2(8, b"", flags=1),
    "cut in the header": smb2(8, b"")[:63],
    "smb1": SMB1 + bytes([2]) + b"wordwo"[:4] + pack("<H", 4) + b"data",
    "smb1 cut in its words": SMB1 + bytes([9]) + b"word",
    "smb1 without words": SMB1 + b"\0" + pack("<H", 0),
    "smb1 header alone": SMB1,
    "something else": b"abcdefgh",
    **{f"command {number}": smb2(number, b"") for number in range(20)},
    **{
        f"command {number:#x} of smb1": SMB1[:4] + bytes([number]) + SMB1[5:] + b"\0\0\0"
        for number in (0x2E, 0x2F, 0x0B, 0x0A, 0x26)
    },
}


def framed(message: bytes) -> bytes:
    return b"\0" + len(message).to_bytes(3, "big") + message


TRANSFORM = pack("<4s16s16sIHHQ", b"\xfdSMB", bytes(range(16)), bytes(16), 100, 0, 1, 0x1D)
COMPRESSED = pack("<4sIHHI", b"\xfcSMB", 100, 2, 0, 4)
CHAINED = pack("<4sIHHI", b"\xfcSMB", 100, 5, 1, 4)
SENT: dict[str, tuple[bytes, bool]] = {
    "framed": (framed(MESSAGES["header alone"]), True),
    "bare": (MESSAGES["header alone"], False),
    "encrypted": (framed(TRANSFORM + b"secret"), True),
    "encrypted with nothing in it": (TRANSFORM, False),
    "cut in the transform": (TRANSFORM[:-1], False),
    "compressed": (framed(COMPRESSED + b"fourrest"), True),
    "compressed with less than is stated": (COMPRESSED + b"fo", False),
    "chained": (CHAINED + b"fourrest", False),
    "cut in the compression": (COMPRESSED[:-1], False),
    "flags of nothing": (TRANSFORM[:42] + b"\7\0" + TRANSFORM[44:] + b"x", False),
}


def lines(node: Node | None, depth: int = 0) -> str:
    """A line a field: its place, its names, its value, what it means and which document says so."""
    if node is None:
        return "none\n"
    words = [
        f"{node.start}+{node.length}",
        "  " * depth + node.name,
        node.spelling,
        node.type,
        node.value,
        node.meaning,
        node.reference,
    ]
    line = " | ".join("-" if word is None else str(word) for word in words)
    return f"{line}\n" + "".join(lines(child, depth + 1) for child in node.children)


TABLES: dict[str, Callable[[], dict[str, Node | None]]] = {
    "frames": lambda: {
        name: frame_tree(CapturedFrame(1, link, data, len(data))) for name, (link, data) in FRAMES.items()
    },
    "pdus": lambda: {name: pdu_tree(*given) for name, given in PDUS.items()},
    "messages": lambda: {name: message_tree(data) for name, data in MESSAGES.items()},
    "sent": lambda: {name: sent_tree(data, is_framed=is_framed) for name, (data, is_framed) in SENT.items()},
}


@pytest.mark.parametrize("table", TABLES)
def test_fields_are_where_the_documents_put_them(table: str) -> None:
    is_as_written(TREES / f"{table}.txt", differing({name: lines(tree) for name, tree in TABLES[table]().items()}))


@pytest.mark.parametrize("table", TABLES)
def test_every_byte_is_in_one_field(table: str) -> None:
    for name, tree in TABLES[table]().items():
        if tree is not None:
            ends = [(leaf.start, leaf.stop) for leaf in tree.leaves()]
            starts = [start for start, _ in ends]
            assert starts == [0, *[stop for _, stop in ends[:-1]]] if ends else tree.length == 0, name
            assert not ends or ends[-1][1] == tree.length, name
