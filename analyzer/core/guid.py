"""GUIDs as text ([MS-DTYP] section 2.3.4): the first three groups follow the byte order, the last two do not."""

from functools import lru_cache
from typing import Literal
from uuid import UUID


@lru_cache(maxsize=1024)
def guid_text(data: bytes, order: Literal["little", "big"] = "little") -> str:
    """Returns a GUID of 16 bytes as lower-case text, without braces."""
    return str(UUID(bytes_le=data) if order == "little" else UUID(bytes=data))
