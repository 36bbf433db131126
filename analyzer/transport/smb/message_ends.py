"""Finds where an SMB message ends by its own fields, whatever its framing announces.

A message states the length of all that it carries: file content, tokens, names. So a framed SMB header behind this end is no file
content, and proves where the next message begins ([MS-SMB2] section 2.2; [MS-CIFS] section 2.2.3).
"""

from __future__ import annotations

import struct

from analyzer.core.errors import DecodeError
from analyzer.transport.smb import smb1_message, smb1_reader, smb2_header, smb3_crypto
from analyzer.transport.tcp.protocol_recognition import SMB1_MAGIC, SMB2_MAGIC, TRANSFORM_MAGIC

# So many bytes may follow that nothing states: padding, and the last words of an SMB1 create's answer, which some servers do not
# count.
MAX_PADDING = 16
_MAX_CHAIN = 16
_FLUSH, _LOCK, _ECHO, _QUERY_DIRECTORY, _CHANGE_NOTIFY, _QUERY_INFO, _SET_INFO, _OPLOCK_BREAK = 7, 10, *range(13, 19)
_ERROR = 9
_ORIGINAL_SIZE = struct.Struct("<36xI").unpack_from

# For each command the StructureSize of its request, and where behind the header offset and length of each part stand that follows
# the fixed one ([MS-SMB2] sections 2.2.3 to 2.2.40).
_Buffers = tuple[tuple[str, str], ...]
_REQUESTS: dict[int, tuple[int, _Buffers]] = {
    smb2_header.NEGOTIATE: (36, ()),
    smb2_header.SESSION_SETUP: (25, (("<12xH", "<14xH"),)),
    smb2_header.LOGOFF: (4, ()),
    smb2_header.TREE_CONNECT: (9, (("<4xH", "<6xH"),)),
    smb2_header.TREE_DISCONNECT: (4, ()),
    smb2_header.CREATE: (57, (("<44xH", "<46xH"), ("<48xI", "<52xI"))),
    smb2_header.CLOSE: (24, ()),
    _FLUSH: (24, ()),
    smb2_header.READ: (49, (("<44xH", "<46xH"),)),
    smb2_header.WRITE: (49, (("<2xH", "<4xI"), ("<40xH", "<42xH"))),
    smb2_header.IOCTL: (57, (("<24xI", "<28xI"), ("<36xI", "<40xI"))),
    smb2_header.CANCEL: (4, ()),
    _ECHO: (4, ()),
    _QUERY_DIRECTORY: (33, (("<24xH", "<26xH"),)),
    _CHANGE_NOTIFY: (32, ()),
    _QUERY_INFO: (41, (("<8xH", "<12xI"),)),
    _SET_INFO: (33, (("<8xH", "<4xI"),)),
}
_RESPONSES: dict[int, tuple[int, _Buffers]] = {
    smb2_header.NEGOTIATE: (65, (("<56xH", "<58xH"),)),
    smb2_header.SESSION_SETUP: (9, (("<4xH", "<6xH"),)),
    smb2_header.LOGOFF: (4, ()),
    smb2_header.TREE_CONNECT: (16, ()),
    smb2_header.TREE_DISCONNECT: (4, ()),
    smb2_header.CREATE: (89, (("<80xI", "<84xI"),)),
    smb2_header.CLOSE: (60, ()),
    _FLUSH: (4, ()),
    smb2_header.READ: (17, (("<2xB", "<4xI"),)),
    smb2_header.WRITE: (17, (("<12xH", "<14xH"),)),
    _LOCK: (4, ()),
    smb2_header.IOCTL: (49, (("<24xI", "<28xI"), ("<32xI", "<36xI"))),
    _ECHO: (4, ()),
    _QUERY_DIRECTORY: (9, (("<2xH", "<4xI"),)),
    _CHANGE_NOTIFY: (9, (("<2xH", "<4xI"),)),
    _QUERY_INFO: (9, (("<2xH", "<4xI"),)),
    _SET_INFO: (2, ()),
}


def end_by_fields(head: bytes) -> int | None:
    """Returns the length that an SMB message has by its own fields, as its first bytes state them. None if these do not."""
    magic = head[:4]
    try:
        if magic == SMB2_MAGIC:
            return _end_of_smb2(head)
        if magic == SMB1_MAGIC:
            return _end_of_smb1(head)
        if magic == TRANSFORM_MAGIC:
            return smb3_crypto.TRANSFORM_LEN + int(_ORIGINAL_SIZE(head)[0])
    except (DecodeError, struct.error):
        pass
    return None


def _end_of_smb2(head: bytes) -> int | None:
    at = 0
    for _ in range(_MAX_CHAIN):
        header = smb2_header.read_header(head, at, len(head) - at)
        if not header.next_command:
            break
        at += header.next_command
    else:
        return None
    size, buffers = (_RESPONSES if header.is_response else _REQUESTS).get(header.command, (0, ()))
    body = at + smb2_header.HEADER_LEN
    (stated,) = struct.unpack_from("<H", head, body)
    is_error = header.is_response and stated == _ERROR and (size != _ERROR or header.failed)
    if is_error and header.command != smb2_header.SESSION_SETUP:
        (length,) = struct.unpack_from("<4xI", head, body)
        return body + 8 + int(length)
    if not size or stated != size:
        return None
    # An odd size counts one byte of the variable part.
    end = body + (size & ~1)
    for start_at, length_at in buffers:
        (start,), (length,) = struct.unpack_from(start_at, head, body), struct.unpack_from(length_at, head, body)
        if length:
            end = max(end, at + start + length)
    if header.command == smb2_header.NEGOTIATE:
        end = max(end, _end_of_negotiation(head, body, is_response=header.is_response))
    return end


def _end_of_negotiation(head: bytes, body: int, *, is_response: bool) -> int:
    """Returns where the dialects and the contexts of an SMB2 negotiation end (3.1.1: [MS-SMB2] sections 2.2.3.1 and 2.2.4.1)."""
    if is_response:
        dialect, count, at = struct.unpack_from("<4xHH52xI", head, body)
        end, count = body, count if dialect == smb3_crypto.DIALECT_311 else 0
    else:
        dialects, at, count = struct.unpack_from("<2xH24xIH", head, body)
        listed = struct.unpack_from(f"<{dialects}H", head, body + 36)
        end, count = body + 36 + 2 * dialects, count if smb3_crypto.DIALECT_311 in listed else 0
    for _ in range(count):
        (length,) = struct.unpack_from("<2xH4x", head, at)
        end = at + 8 + length
        at = end + -end % 8
    return end


def _end_of_smb1(head: bytes) -> int | None:
    header = smb1_message.read_header(head)
    command, at, end = header.command, smb1_message.HEADER_LEN, 0
    for _ in range(_MAX_CHAIN):
        block = smb1_message.read_block(head, at, command, is_whole=False)
        (count,) = struct.unpack_from("<H", head, block.words.stop)
        end = max(end, block.words.stop + 2 + int(count))
        if block.word_count >= 12:
            # Large reads and writes outgrow the byte count.
            if command == smb1_reader.READ_ANDX and header.is_response:
                low, start, high = struct.unpack_from("<10xHHH", head, block.words.pos)
                end = max(end, start + (high << 16 | low))
            elif command == smb1_reader.WRITE_ANDX and not header.is_response:
                high, low, start = struct.unpack_from("<18xHHH", head, block.words.pos)
                end = max(end, start + (high << 16 | low))
        if command not in smb1_reader.ANDX or block.word_count < 2:
            return end
        command, _, at = struct.unpack_from("<BBH", head, block.words.pos)
        if command == smb1_reader.NO_ANDX or at <= block.words.pos:
            return end
    return None
