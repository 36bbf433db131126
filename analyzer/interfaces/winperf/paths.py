"""The paths of registry keys whose handles are open: `HKLM\\SOFTWARE` for the handle that was given out for it."""

from __future__ import annotations

# A collector that opens keys without end must not make us hold all their paths; the oldest is forgotten.
MAX_PATHS = 65_536
# What stands for the part of a path whose opening was not captured.
UNKNOWN = "?"


class Paths:
    """The paths of the key handles that are open, by server and handle."""

    def __init__(self) -> None:
        self._paths: dict[tuple[str, str], str] = {}

    def find(self, place: tuple[str, str] | None) -> str | None:
        return self._paths.get(place) if place is not None else None

    def learn(self, place: tuple[str, str], path: str) -> None:
        self._paths.pop(place, None)
        if len(self._paths) >= MAX_PATHS:
            del self._paths[next(iter(self._paths))]
        self._paths[place] = path

    def forget(self, place: tuple[str, str]) -> None:
        self._paths.pop(place, None)


def below(parent: str | None, sub_key: object) -> str | None:
    """The path of a key below another, `UNKNOWN` in the place of one whose opening was not captured."""
    if not isinstance(sub_key, str):
        return None
    name = sub_key.rstrip("\0").strip("\\")
    base = parent if parent is not None else UNKNOWN
    return f"{base}\\{name}" if name else base
