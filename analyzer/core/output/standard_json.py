"""Does what only Python's own JSON library does: it writes text with lone surrogates, and reads it. Few results need it."""

from __future__ import annotations

import json
import re
from typing import Any
from uuid import uuid4

from msgspec import UNSET, Raw, Struct

from analyzer.core.output.json import Pieces, dumps, safe_json


def escaped(value: object) -> bytes:
    """Returns the JSON that Python's own library makes of a value whose text has lone surrogates. `Raw` replaces a unique text
    afterwards."""
    raws: list[bytes] = []
    mark = uuid4().hex

    def plain(part: object) -> Any:
        if isinstance(part, Struct):
            config = part.__struct_config__
            out: dict[str, Any] = {config.tag_field: config.tag} if config.tag_field is not None else {}
            for name in part.__struct_fields__:
                if (item := getattr(part, name)) is not UNSET:
                    out[name] = item
            return out
        if isinstance(part, Raw | Pieces):
            raws.append(bytes(part) if isinstance(part, Raw) else b"".join(part.made()))
            return f"{mark}{len(raws) - 1}"
        raise TypeError(f"{type(part).__name__} in a record")

    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=plain)
    encoded = safe_json(re.sub("[\ud800-\udfff]", lambda found: f"\\u{ord(found[0]):04x}", text).encode())
    return re.sub(f'"{mark}(\\d+)"'.encode(), lambda found: safe_json(raws[int(found[1])]), encoded)


def document(record: object) -> dict[str, Any]:
    """Returns a record as dictionaries and lists, like Python's own JSON library reads it, for the output forms of other
    programs."""
    found: dict[str, Any] = json.loads(dumps(record))
    return found
