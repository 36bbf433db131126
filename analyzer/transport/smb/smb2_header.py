"""Reads the header of SMB2 messages, and the fixed parts of those that carry data ([MS-SMB2] sections 2.2.1, 2.2.19 to 2.2.22,
2.2.31, 2.2.32)."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, NoReturn

from msgspec import Struct

from analyzer.core.errors import MalformedError, TruncatedError
from analyzer.transport.smb.smb_framing import Message

HEADER_LEN = 64
NEGOTIATE, SESSION_SETUP, LOGOFF, TREE_CONNECT, TREE_DISCONNECT, CREATE, CLOSE = range(7)
READ, WRITE, IOCTL, CANCEL = 0x08, 0x09, 0x0B, 0x0C

FLAG_RESPONSE = 0x1
FLAG_ASYNC = 0x2
FLAG_RELATED = 0x4
FLAG_SIGNED = 0x8
FLAG_REPLAY = 0x20000000
# StructureSize of an error ([MS-SMB2] section 2.2.2).
_ERROR_SIZE = 9

# ProtocolId, StructureSize, CreditCharge, Status, Command, Credits, Flags, NextCommand, MessageId, then AsyncId or Reserved
# and TreeId, SessionId, Signature. Every message passes here, so it is read in one step. The AsyncId is not needed: the final
# response to an asynchronous request has its MessageId too ([MS-SMB2] 3.3.4.1).
_HEADER = struct.Struct("<4xH2xIH2xIIQ4xIQ16x")


class Smb2Header(Struct, frozen=True):
    """The fields of an SMB2 header that are used. `tree_id` is None in an asynchronous message."""

    status: int
    command: int
    flags: int
    next_command: int
    message_id: int
    tree_id: int | None
    session_id: int

    @property
    def is_response(self) -> bool:
        return bool(self.flags & FLAG_RESPONSE)

    @property
    def failed(self) -> bool:
        """Whether the status in the SMB2 header is an error, by its severity ([MS-ERREF] section 2.3)."""
        return self.status >> 30 == 3


def read_header(data: bytes, at: int, length: int) -> Smb2Header:
    """Reads the SMB2 header at `at` of the data. `length` bytes of the message were captured."""
    if length < HEADER_LEN:
        raise TruncatedError(f"{HEADER_LEN} bytes wanted, {length} there", field="header", start=0, stop=length)
    size, status, command, flags, next_command, message_id, tree_id, session_id = _HEADER.unpack_from(data, at)
    if size != HEADER_LEN:
        raise MalformedError(f"{size} is not {HEADER_LEN}", field="header.structure_size", start=4, stop=6)
    return Smb2Header(
        status, command, flags, next_command, message_id, None if flags & FLAG_ASYNC else tree_id, session_id
    )


class FixedFields:
    """Fixed-size fields of an SMB2 message or its header, one behind the other from `offset` on. Pad bytes (`4x`) give no value.

    `unpack` returns the values of the message at a position in data. At least `stop` bytes of the message were captured.
    """

    def __init__(self, offset: int, *fields: tuple[str, str]) -> None:
        self._fields = fields
        layout = struct.Struct(f"<{offset}x" + "".join(kind for _, kind in fields))
        self.unpack: Callable[[bytes, int], tuple[Any, ...]] = layout.unpack_from
        self.offset, self.stop = offset, layout.size

    def fail(self, length: int) -> NoReturn:
        """Raises `TruncatedError` for the first field of the SMB2 message that is not whole in `length` bytes."""
        pos = self.offset
        for name, kind in self._fields:
            size = struct.calcsize("<" + kind)
            if size > length - pos:
                raise TruncatedError(f"{size} bytes wanted, {length - pos} left", field=name, start=pos, stop=length)
            pos += size
        raise AssertionError("all fields are whole")


READ_REQUEST = FixedFields(HEADER_LEN, ("read.fixed", "16x"), ("file_id", "16s"))
WRITE_REQUEST = FixedFields(
    HEADER_LEN,
    ("write.structure_size", "2x"),
    ("write.ofs_data", "H"),
    ("write.len_data", "I"),
    ("write.offset", "8x"),
    ("file_id", "16s"),
)
IOCTL_REQUEST = FixedFields(HEADER_LEN, ("ioctl.header", "4x"), ("ioctl.ctl_code", "I"), ("file_id", "16s"))
IOCTL_INPUT = FixedFields(IOCTL_REQUEST.stop, ("ioctl.ofs_input", "I"), ("ioctl.len_input", "I"))
READ_RESPONSE = FixedFields(
    HEADER_LEN,
    ("read.structure_size", "H"),
    ("read.ofs_data", "B"),
    ("read.reserved", "x"),
    ("read.len_data", "I"),
)
IOCTL_RESPONSE = FixedFields(
    HEADER_LEN,
    ("ioctl.structure_size", "H"),
    ("ioctl.reserved", "2x"),
    ("ioctl.ctl_code", "I"),
    ("ioctl.file_id", "16s"),
    ("ioctl.input", "8x"),
    ("ioctl.ofs_output", "I"),
    ("ioctl.len_output", "I"),
)
# StructureSize of the responses with data.
READ_RESPONSE_SIZE, IOCTL_RESPONSE_SIZE = 17, 49
# The end of the longest of these. So much of a message is looked at before its data.
LONGEST = max(layout.stop for layout in tuple(vars().values()) if isinstance(layout, FixedFields))


def buffer_span(message: Message, start: int, length: int) -> tuple[int, int]:
    """Returns start and stop of a buffer that fixed fields of an SMB2 message place. Raises `MalformedError` if it does not lie in
    the message."""
    if length and (start < HEADER_LEN or start + length > message.length):
        raise lies_outside(message, start, length)
    return start, start + length


def check_error(header: Smb2Header, size: int, expected: int) -> None:
    """Raises `MalformedError` if an SMB2 message with this StructureSize is neither the `expected` answer nor an error."""
    if size != _ERROR_SIZE and not header.failed:
        raise MalformedError(f"{size} is not {expected}, nor the {_ERROR_SIZE} of an error", field="structure_size")


def check_cut(header: Smb2Header, lead: bytes, at: int, captured: int, fields: FixedFields, expected: int) -> None:
    """Checks an SMB2 response at `at` of `lead` whose captured part is shorter than the fixed fields of the `expected` answer.
    Raises `TruncatedError` unless it is an error, `MalformedError` if it is neither."""
    after = HEADER_LEN + 2
    size = int.from_bytes(lead[at + HEADER_LEN : at + after], "little") if captured >= after else expected
    if size == expected:
        fields.fail(captured)
    check_error(header, size, expected)


def lies_outside(message: Message, start: int, length: int) -> MalformedError:
    """Returns the error that a buffer does not lie in its SMB2 message."""
    return MalformedError(f"{length} bytes at {start} lie outside of the {message.length}-byte message", field="buffer")
