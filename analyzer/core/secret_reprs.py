"""Values that show only some of their fields, because the others are secret or long."""

from __future__ import annotations

from typing import Any, ClassVar

from msgspec import Struct


class Discreet(Struct, frozen=True):
    """Hides fields from a value's representation: its `hidden` fields are shown neither by `repr` nor by rich; a class says so
    once, for both."""

    hidden: ClassVar[tuple[str, ...]] = ()

    def __repr__(self) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{name}={value!r}' for name, value in self.__rich_repr__())})"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return [(name, getattr(self, name)) for name in self.__struct_fields__ if name not in self.hidden]
