"""Recognises files before they are read: by their first bytes (pcap and pcapng with their byte order, and what else a file looks
like, for the user), and special files by their paths.
"""

from __future__ import annotations

import stat
from codecs import getincrementaldecoder
from pathlib import Path
from struct import unpack_from
from typing import Literal

from analyzer.core.errors import InputError

# ------------------------------------------------------------------------------------------------- pcap magics


Order = Literal["<", ">"]

# pcap files: microseconds, nanoseconds, Kuznetzov's longer records, and IXIA's lcap.
MICRO, NANO, KUZNETZOV, IXIA_HW, IXIA_SW = 0xA1B2C3D4, 0xA1B23C4D, 0xA1B2CD34, 0x1C0001AC, 0x1C0001AB
PCAP = (MICRO, NANO, KUZNETZOV, IXIA_HW, IXIA_SW)
# pcapng sections: the type of their first block, and the magic behind its type and length.
SECTION_HEADER, SECTION_MAGIC = 0x0A0D0D0A, 0x1A2B3C4D


def pcap_order(head: bytes | bytearray, magics: tuple[int, ...] = PCAP) -> Order | None:
    """Returns the byte order of a pcap file from its first bytes, None if it does not begin with one of these magic numbers."""
    if len(head) < 4:
        return None
    return "<" if unpack_from("<I", head)[0] in magics else ">" if unpack_from(">I", head)[0] in magics else None


def section_order(head: bytes | bytearray, at: int = 0) -> Order | None:
    """Recognises a pcapng section by its first bytes, at a place: returns its byte order, None if no section begins there."""
    if len(head) < at + 12 or unpack_from("<I", head, at)[0] != SECTION_HEADER:
        return None
    magics = unpack_from("<I", head, at + 8)[0], unpack_from(">I", head, at + 8)[0]
    return "<" if magics[0] == SECTION_MAGIC else ">" if magics[1] == SECTION_MAGIC else None


# ------------------------------------------------------------------------------------------------------- cases


# The name of the first entry of a case, and how an entry of its ZIP archive begins (PKWARE APPNOTE 4.3.7): with so many bytes
# before the name.
MANIFEST = "manifest.json"
ZIP_ENTRY, _ZIP_NAME_AT = b"PK\3\4", 30


def is_case(source: object) -> bool:
    """Whether a source of captures is a case by its first bytes, or the directory that one was unpacked to. Pipes are not read."""
    if not isinstance(source, str | Path):
        return False
    path = Path(source)
    try:
        if not path.is_file():
            return path.is_dir() and (path / MANIFEST).is_file()
        with path.open("rb") as file:
            head = file.read(_ZIP_NAME_AT + len(MANIFEST))
    except (OSError, ValueError):
        return False
    return head.startswith(ZIP_ENTRY) and head[_ZIP_NAME_AT:] == MANIFEST.encode()


# ----------------------------------------------------------------------------------------------- foreign files


# Capture formats of other programs, which Wireshark opens.
_CAPTURES = (
    (b"GMBU", "a Microsoft Network Monitor 2 capture"),
    (b"RTSS", "a Microsoft Network Monitor 1 capture"),
    (b"snoop\0\0\0", "a Solaris snoop capture"),
    (b"iptrace 1.0", "an AIX iptrace capture"),
    (b"iptrace 2.0", "an AIX iptrace capture"),
    (b"TRSNIFF data", "a DOS Sniffer capture"),
    (b"XCP\0", "a NetXray or Windows Sniffer capture"),
    (b"\x7fver", "an OmniPeek capture"),
    (b"\0\0\x02\0\x12\x05\0\x10", "a Tektronix K12 capture"),
    (b"btsnoop\0", "a Bluetooth btsnoop capture"),
    (b"NetScanner", "a NetScaler trace"),
)
_OTHERS = (
    (b"\n\r\r\n", "a pcapng file with a damaged section header"),
    (b"%PDF", "a PDF document"),
    (ZIP_ENTRY, "a ZIP archive (or an Office document)"),
    (b"PK\x05\x06", "an empty ZIP archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"\x89PNG\r\n\x1a\n", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"GIF8", "a GIF picture"),
    (b"\x7fELF", "an ELF program"),
    (b"MZ", "a Windows program"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"ElfFile\0", "a Windows event log (.evtx)"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Office document"),
    (b"PAR1", "a Parquet table"),
    (b"regf", "a Windows registry hive"),
    (b"\x05\x02\0\0", "a Kerberos keytab"),
    (b"\x02\x21\x4c\x18", "lz4 data in the legacy format"),
    (b"MSCF", "a Windows cabinet archive"),
    (b"<?xml", "an XML document"),
    (b"<html", "an HTML page"),
    (b"<!DOCTYPE", "an HTML page"),
)
# So many first bytes of a file decide.
HEAD_LEN = 512
_TEXT = bytes(range(0x20, 0x7F)) + b"\t\r\n\f\x1b"


def is_etl(head: bytes) -> bool:
    """Whether the first bytes of a file are those of an event trace log. There is no magic number, but the first event is known."""
    from analyzer.capture.etl_buffers import (  # few captures are such logs
        BUFFER_HEADER,
        BUFFER_HEADER_LEN,
        EVENT_START,
        FEWEST_BUFFER_BYTES,
        HEADER_MARK,
        MOST_BUFFER_BYTES,
        SYSTEM_KINDS,
    )

    if len(head) < BUFFER_HEADER_LEN + EVENT_START.size + 2:
        return False
    size, _, _, offset, _, _ = BUFFER_HEADER.unpack_from(head)
    _, kind, mark, length = EVENT_START.unpack_from(head, BUFFER_HEADER_LEN)
    return (
        FEWEST_BUFFER_BYTES <= size <= MOST_BUFFER_BYTES
        and BUFFER_HEADER_LEN + length <= offset <= size
        and kind in SYSTEM_KINDS
        and mark == HEADER_MARK
        # Group and type 0: EventTraceGuid, the header of the file.
        and head[BUFFER_HEADER_LEN + EVENT_START.size : BUFFER_HEADER_LEN + EVENT_START.size + 2] == b"\0\0"
    )


def capture_format(head: bytes) -> str | None:
    """Names the capture format, ours or another program's, of a file by its first bytes (`HEAD_LEN`). None if it is none."""
    if pcap_order(head) is not None:
        return "a pcap capture"
    if section_order(head) is not None:
        return "a pcapng capture"
    if (found := foreign_capture(head)) is not None:
        return found
    return "an event trace log of Windows" if is_etl(head) else None


def is_event_trace(path: Path) -> bool:
    """Recognises an event trace log of Windows by the first bytes of the file."""
    try:
        with path.open("rb") as file:
            return is_etl(file.read(HEAD_LEN))
    except OSError:
        return False


def foreign_capture(head: bytes) -> str | None:
    """Names the capture format of another program by the first bytes of a file, None if it is none."""
    return next((name for magic, name in _CAPTURES if head.startswith(magic)), None)


def looks_like(head: bytes) -> str:
    """Names what a file that is no pcap looks like by its first bytes, as the end of a sentence: `a PDF document`."""
    for magic, name in (*_CAPTURES, *_OTHERS):
        if head[: len(magic)].lower() == magic.lower():
            return name
    if len(head) > 262 and head[257:262] == b"ustar":
        return "a tar archive"
    if not head.strip(b"\0"):
        return "nothing but zero bytes"
    stripped = head.lstrip()
    if stripped[:1] in (b"{", b"[") and not head.translate(None, _TEXT):
        return "JSON text"
    if not head.translate(None, _TEXT):
        return "text"
    try:
        # The head may end within a character.
        getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return "no format we know"
    return "text" if b"\0" not in head else "no format we know"


# ----------------------------------------------------------------------------------------------------------- special files


# Files that a shell or a parent opened before the program began (process substitution). Their bytes will come.
_DESCRIPTORS = ("/dev/fd/", "/dev/stdin", "/proc/self/fd/")
_KINDS = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def special_file(path: str | Path) -> str | None:
    """Names, before its first bytes are read, the special file that a path leads to: `a named pipe`, `a socket` or `a device`. None
    for a file, a directory, or nothing. The path is not opened."""
    try:
        mode = Path(path).stat().st_mode
    except (OSError, ValueError):
        return None
    return _KINDS.get(stat.S_IFMT(mode))


def refuse_special(path: str | Path) -> None:
    """Raises `InputError`, before first bytes are read, if a capture path leads to a pipe, socket or device, where names may have
    come out of a directory."""
    if (kind := special_file(path)) is not None and not str(path).startswith(_DESCRIPTORS):
        raise InputError(f"{path}: this is {kind}, which is not read.")
