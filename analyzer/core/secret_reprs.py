"""Structs that hide some fields when they are shown, because these are secret or long."""

from __future__ import annotations

from typing import Any, ClassVar

from msgspec import Struct


class Discreet(Struct, frozen=True):
    """Hides the fields named in `hidden` when a value is shown, by `repr` and by rich."""

    hidden: ClassVar[tuple[str, ...]] = ()

    def __repr__(self) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{name}={value!r}' for name, value in self.__rich_repr__())})"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return [(name, getattr(self, name)) for name in self.__struct_fields__ if name not in self.hidden]
