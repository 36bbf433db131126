"""Takes the fixed layouts of structures from their Kaitai Struct descriptions: which field stands where."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

_FORMATS = {"u1": "B", "u2": "H", "u4": "I", "u8": "Q", "s4": "i", "s8": "q"}
_COLUMNS = {"B": "u1", "H": "<u2", "I": "<u4", "Q": "<u8", "i": "<i4", "q": "<i8"}


class Layouts:
    """Fixed layouts of the structures in some Kaitai descriptions. A path names a type: `ms_pcq_perf_data.block`.

    Where several paths are given, the structures follow each other. For each, its first fields count: up to one whose length or
    presence depends on others.
    """

    def __init__(self, specs: Mapping[str, Any]) -> None:
        self._specs = specs
        self._places = cache(self._places_of)

    def _node(self, path: str) -> Any:
        spec, *inner = path.replace("::", ".").split(".")
        node = self._specs[spec]
        for name in inner:
            node = node["types"][name]
        return node

    def fixed(self, path: str) -> Iterator[tuple[str, str]]:
        """Yields the fixed fields of a structure with their formats, from its description in ksy/."""
        for field in self._node(path)["seq"]:
            kind = field.get("type")
            if "if" in field or "repeat" in field or isinstance(kind, dict):
                return
            if kind in _FORMATS:
                yield field["id"], _FORMATS[kind]
            elif isinstance(kind, str) and kind.partition("(")[0].endswith(("guid", "systemtime")):
                inner = kind if "::" in kind else f"{path.partition('.')[0]}.{kind}"
                yield field["id"], "16s" if kind.endswith("guid") else "".join(form for _, form in self.fixed(inner))
            elif kind is None and isinstance(field.get("size"), int):
                yield field["id"], f"{field['size']}s"
            else:
                return

    def _places_of(self, paths: tuple[str, ...]) -> dict[str, tuple[int, str]]:
        """Returns offset and format of each fixed field of consecutive structures, from their descriptions in ksy/."""
        found: dict[str, tuple[int, str]] = {}
        at = 0
        for path in paths:
            for name, form in self.fixed(path):
                found[name] = at, form
                at += struct.calcsize(f"<{form}")
        return found

    def places(self, paths: str | tuple[str, ...]) -> dict[str, tuple[int, str]]:
        """Returns offset and format of each fixed field of a structure, by name, from its description in ksy/."""
        return self._places((paths,) if isinstance(paths, str) else paths)

    def record(self, paths: str | tuple[str, ...], *names: str) -> struct.Struct:
        """Returns a `struct.Struct` of these fields of a little-endian structure that ksy/ describes, in its order; of all fixed
        fields by default."""
        places = self.places(paths)
        form, at = "<", 0
        for name, (start, kind) in places.items():
            if not names or name in names:
                form += f"{start - at}x{kind}" if start > at else kind
                at = start + struct.calcsize(f"<{kind}")
        assert places.keys() >= set(names), names
        return struct.Struct(form)

    def spans(self, paths: str | tuple[str, ...], *names: str) -> tuple[tuple[int, int], ...]:
        """Returns offset and size of these fields of a structure, from its description in ksy/."""
        places = self.places(paths)
        return tuple((places[name][0], struct.calcsize(f"<{places[name][1]}")) for name in names)

    def columns(self, paths: str | tuple[str, ...]) -> np.dtype[np.void]:
        """Returns the NumPy type of the fixed fields of a structure that ksy/ describes, without padding. Bytes that are no number
        are one field."""
        import numpy as np

        return np.dtype(
            [(name, _COLUMNS.get(form, f"V{form[:-1]}")) for name, (_, form) in self.places(paths).items()], align=False
        )
