"""Opens the descriptions in ksy/ that the Kaitai parsers are compiled from: one JSON file beside the parsers has all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import Raw, json

GENERATED = Path(__file__).parent / "_generated"


class _Specs(Mapping[str, Any]):
    """The Kaitai descriptions that the parsers are compiled from, by name; each is decoded when it is asked for, since a capture
    needs few of them."""

    def __init__(self, text: bytes) -> None:
        self._texts: dict[str, Raw] = json.decode(text, type=dict[str, Raw])
        self._decoded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._decoded:
            self._decoded[name] = json.decode(self._texts[name])
        return self._decoded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)


@cache
def spec_texts() -> Mapping[str, Any]:
    """Returns for every compiled parser, by name, the description in ksy/ that it is compiled from."""
    return _Specs((GENERATED / "specs.json").read_bytes())


def enum_names(where: str) -> dict[int, tuple[str, str]]:
    """Returns a value table of the compiled parsers, such as `ms_pcq::counter_type`: number to spelling and explanation."""
    *path, last = where.split("::")
    node = spec_texts()[path[0]]
    for step in path[1:]:
        node = node["types"][step]
    made = {}
    for number, entry in node["enums"][last].items():
        if isinstance(entry, dict):
            made[int(number)] = (str(entry.get("-orig-id", entry["id"])), str(entry.get("doc", "")))
        else:
            made[int(number)] = (str(entry), "")
    return made
