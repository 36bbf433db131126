"""GUIDs as text ([MS-DTYP] section 2.3.4): the first three groups follow the byte order, the last two do not."""

from typing import Literal
from uuid import UUID

NIL = "00000000-0000-0000-0000-000000000000"


def guid_text(data: bytes, order: Literal["little", "big"] = "little") -> str:
    """The 16 bytes of a GUID as lower-case text, without braces."""
    return str(UUID(bytes_le=data) if order == "little" else UUID(bytes=data))


def guid_bytes(text: str) -> bytes:
    """The 16 little-endian bytes of a GUID in text form."""
    return UUID(text).bytes_le
