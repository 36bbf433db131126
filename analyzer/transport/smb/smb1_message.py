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
    """The words and bytes of one SMB1 command. `data` continues from the words over the bytes; offsets count in the message.
    `is_whole`: all bytes of the message were captured."""

    command: int
    words: Cursor
    word_count: int
    data: Cursor
    is_whole: bool

    def text(self, unicode: bool, length: int | None = None, *, aligned: bool = True) -> str:
        """Reads the next string of the SMB1 command up to its NUL, or of `length` bytes: UTF-16 from an even offset, or the OEM
        code page. Raises `TruncatedError` where the capture cuts it."""
        cur = self.data
        if unicode and aligned and cur.pos % 2 and cur.left:
            cur.skip("padding", 1)
        rest = cur.data[cur.pos : cur.stop]
        if length is not None:
            rest = rest[:length]
        end = _end_of_text(rest, unicode)
        if end is None and not self.is_whole and (length is None or len(rest) < length):
            raise TruncatedError("a string is cut", field="bytes", start=cur.pos, stop=cur.stop)
        text = rest[:end]
        cur.pos += len(text) if end is None else end + (2 if unicode else 1)
        return text[: len(text) & ~1].decode("utf-16-le", "replace") if unicode else text.decode("cp437")

    def text_or_none(self, unicode: bool, *, aligned: bool = True) -> str | None:
        """Reads the next string of the SMB1 command. None if it is empty, if there is none, or if the capture cuts it."""
        try:
            return self.text(unicode, aligned=aligned) or None if self.data.left else None
        except TruncatedError:
            self.data.pos = self.data.stop
            return None


def _end_of_text(data: bytes, unicode: bool) -> int | None:
    """Returns where the NUL stands that ends a string of an SMB1 message, None if there is none."""
    end = data.find(b"\0\0" if unicode else b"\0")
    while unicode and end % 2 and end >= 0:
        end = data.find(b"\0\0", end + 1)
    return end if end >= 0 else None


def read_header(data: bytes) -> Smb1Header:
    cur = Cursor(data)
    cur.skip("header.protocol", 4)
    command, status = cur.u8("header.command"), cur.u32("header.status")
    flags, flags2 = cur.u8("header.flags"), cur.u16("header.flags2")
    cur.skip("header.extra", 12)
    tid, pid = cur.u16("header.tid"), cur.u16("header.pid")
    return Smb1Header(command, status, flags, flags2, tid, pid, cur.u16("header.uid"), cur.u16("header.mid"))


def read_block(data: bytes, at: int, command: int, *, is_whole: bool) -> Smb1Block:
    cur = Cursor(data, min(at, len(data)))
    word_count = cur.u8("word_count")
    words = Cursor(data, cur.pos, cur.pos + 2 * word_count)
    if words.stop > len(data):
        raise TruncatedError("the words are cut", field="words", start=cur.pos, stop=len(data))
    cur.skip("words", 2 * word_count)
    # Large reads and writes outgrow the byte count; their own fields give where the data lie.
    if cur.left >= 2:
        cur.skip("byte_count", 2)
    return Smb1Block(command, words, word_count, cur, is_whole)
