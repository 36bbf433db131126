"""Reads the parts that every SMB1 message has: its header, and the words and bytes of each command ([MS-CIFS] section 2.2.3)."""

from __future__ import annotations

from msgspec import Struct

from analyzer.core.byte_cursor import Cursor
from analyzer.core.errors import TruncatedError

HEADER_LEN = 32
FLAG_REPLY = 0x80
FLAG2_SIGNED, FLAG2_NT_STATUS, FLAG2_UNICODE = 0x0004, 0x4000, 0x8000
STATUS_BUFFER_OVERFLOW = 0x80000005
# ERRDOS class with ERRmoredata, as the DOS form of an error lies in the status field.
DOS_MORE_DATA = 0x01 | 234 << 16


class Smb1Header(Struct, frozen=True):
    command: int
    status: int
    flags: int
    flags2: int
    tid: int
    pid: int
    uid: int
    mid: int

    @property
    def is_response(self) -> bool:
        return bool(self.flags & FLAG_REPLY)

    @property
    def unicode(self) -> bool:
        return bool(self.flags2 & FLAG2_UNICODE)

    @property
    def failed(self) -> bool:
        if self.flags2 & FLAG2_NT_STATUS:
            return self.status >> 30 == 3
        return self.status not in (0, DOS_MORE_DATA, STATUS_BUFFER_OVERFLOW)


class Smb1Block(Struct):
    """The words and bytes of one SMB1 command. `data` continues from the words over the bytes; offsets count in the message."""

    command: int
    words: Cursor
    word_count: int
    data: Cursor


def read_header(data: bytes) -> Smb1Header:
    cur = Cursor(data)
    cur.skip("header.protocol", 4)
    command, status = cur.u8("header.command"), cur.u32("header.status")
    flags, flags2 = cur.u8("header.flags"), cur.u16("header.flags2")
    cur.skip("header.extra", 12)
    tid, pid = cur.u16("header.tid"), cur.u16("header.pid")
    return Smb1Header(command, status, flags, flags2, tid, pid, cur.u16("header.uid"), cur.u16("header.mid"))


def read_block(data: bytes, at: int, command: int) -> Smb1Block:
    cur = Cursor(data, min(at, len(data)))
    word_count = cur.u8("word_count")
    words = Cursor(data, cur.pos, cur.pos + 2 * word_count)
    if words.stop > len(data):
        raise TruncatedError("the words are cut", field="words", start=cur.pos, stop=len(data))
    cur.skip("words", 2 * word_count)
    # Large reads and writes outgrow the byte count; their own fields give where the data lie.
    if cur.left >= 2:
        cur.skip("byte_count", 2)
    return Smb1Block(command, words, word_count, cur)


def text_of(cur: Cursor, unicode: bool, length: int | None = None, *, aligned: bool = True) -> str:
    """Reads a string of an SMB1 message up to its NUL, or of `length` bytes: UTF-16 from an even offset, or the OEM code page."""
    if unicode and aligned and cur.pos % 2 and cur.left:
        cur.skip("padding", 1)
    rest = cur.data[cur.pos : cur.stop]
    if length is not None:
        rest = rest[:length]
    if not unicode:
        text, nul, _ = rest.partition(b"\0")
        cur.pos += len(text) + len(nul)
        return text.decode("cp437")
    end = 0
    while end + 1 < len(rest) and rest[end : end + 2] != b"\0\0":
        end += 2
    cur.pos = min(cur.pos + end + 2, cur.stop)
    return rest[:end].decode("utf-16-le", "replace")
