"""Finds marks of the client's program in SMB negotiations and session setups ([MS-SMB2] sections 2.2.3 and 2.2.5, [MS-CIFS]
sections 2.2.4.52 and 2.2.4.53).

A mark is `name=value`. Names of machines, shares and users are no marks.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.core.byte_cursor import Cursor
from analyzer.core.errors import DecodeError
from analyzer.core.printable_text import guid_text, printable
from analyzer.transport.smb.smb2_header import HEADER_LEN

_DIALECT_311 = 0x0311
_PREAUTH, _ENCRYPTION, _COMPRESSION, _SIGNING = 1, 2, 3, 8
_MOST_DIALECTS, _MOST_CONTEXTS, _MOST_TEXT = 16, 16, 64


def smb2_negotiate_marks(message: bytes) -> Iterator[str]:
    """Yields the marks of the client's program in an SMB2 NEGOTIATE request, which begins with its header."""
    try:
        yield from _negotiate_marks(Cursor(message))
    except DecodeError:
        return


def _negotiate_marks(cur: Cursor) -> Iterator[str]:
    cur.skip("header.fixed", 6)
    charge = cur.u16("header.credit_charge")
    cur.skip("header.fixed", 6)
    asked = cur.u16("header.credits")
    cur.skip("header.fixed", 16)
    process = cur.u32("header.process_id")
    yield f"smb2.header=credit charge {charge}, credits {asked}, process {process:#x}"
    cur.skip("header.rest", HEADER_LEN - cur.pos)
    cur.skip("negotiate.structure_size", 2)
    count, mode = cur.u16("negotiate.num_dialects"), cur.u16("negotiate.security_mode")
    cur.skip("negotiate.reserved", 2)
    capabilities, guid = cur.u32("negotiate.capabilities"), cur.take_bytes("negotiate.client_guid", 16)
    start, number = cur.u32("negotiate.ofs_contexts"), cur.u16("negotiate.num_contexts")
    cur.skip("negotiate.reserved2", 2)
    dialects = [cur.u16("negotiate.dialect") for _ in range(min(count, _MOST_DIALECTS))]
    yield f"smb2.dialects={' '.join(f'{one:04x}' for one in dialects)}"
    yield f"smb2.security_mode={mode:#x}"
    yield f"smb2.capabilities={capabilities:#x}"
    yield f"smb2.client_guid={_guid_kind(guid)}"
    if _DIALECT_311 in dialects:
        cur.skip("negotiate.padding", start - cur.pos)
        yield f"smb2.contexts={', '.join(_context(cur) for _ in range(min(number, _MOST_CONTEXTS)))}"


def _guid_kind(guid: bytes) -> str:
    """Returns in a word how an SMB2 client makes its ClientGuid."""
    if not any(guid):
        return "zeros"
    if guid.isalnum():
        return "letters"
    version = guid_text(guid)[14]
    return f"version {version}" if version in "14" else "bytes"


def _context(cur: Cursor) -> str:
    """Returns an SMB2 negotiate context with the algorithms that it lists: `2 (0002 0001)`."""
    cur.align(8)
    kind, length = cur.u16("context.type"), cur.u16("context.len_data")
    cur.skip("context.reserved", 4)
    data = Cursor(cur.take_bytes("context.data", length))
    if kind == _PREAUTH:
        data.skip("context.num_hashes", 2)
        return f"{kind} (salt {data.u16('context.len_salt')})"
    if kind not in (_ENCRYPTION, _COMPRESSION, _SIGNING):
        return f"{kind:#x}"
    count = data.u16("context.count")
    data.skip("context.fixed", 6 if kind == _COMPRESSION else 0)
    listed = [data.u16("context.algorithm") for _ in range(min(count, _MOST_CONTEXTS))]
    return f"{kind} ({' '.join(f'{one:04x}' for one in listed)})"


def smb2_setup_mark(fixed: bytes) -> str:
    """Returns the mark of the client's program in an SMB2 SESSION_SETUP request. `fixed` begins with its SecurityMode."""
    return f"smb2.setup_capabilities={int.from_bytes(fixed[1:5], 'little'):#x}"


def smb1_negotiate_marks(dialects: list[bytes]) -> Iterator[str]:
    """Yields the mark for the dialects that an SMB1 client offers."""
    names = [one.decode("cp437") for one in dialects if one]
    yield f"smb1.dialects={printable(' | '.join(names[:_MOST_DIALECTS]))[: 8 * _MOST_TEXT]}"


def smb1_setup_marks(system: str | None, manager: str | None) -> Iterator[str]:
    """Yields the marks of an SMB1 client: the operating system and LAN manager that its session setup names."""
    yield f"smb1.native_os={printable(system or '')[:_MOST_TEXT] or 'none'}"
    yield f"smb1.lan_manager={printable(manager or '')[:_MOST_TEXT] or 'none'}"
