"""Names as one server states them, in English or in a language that was asked for, from the capture or from a metadata file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Generic, Literal, TypeVar

from msgspec import Struct

# Where a name was taken from: the capture itself, a metadata file the user gave, or a table of ours.
NameSource = Literal["capture", "metadata", "well-known"]

# Names that were put together are kept for the next value of the same counter; forged ones without end are not.
MAX_REMEMBERED = 65_536

_Language = TypeVar("_Language", int, str)


class Name(Struct, frozen=True):
    """A name that a server stated, and its source."""

    text: str
    source: NameSource


class Named(Struct, frozen=True):
    """The server's names for one thing: in English, and in the first other language that was reported. `language` is that language
    (an LCID or the language id of a name table)."""

    english: Name | None = None
    local: Name | None = None
    language: int | str | None = None

    @property
    def best(self) -> Name | None:
        """The server's name to show to people: English if known, else the reported language."""
        return self.english or self.local


class Texts(Generic[_Language]):
    """One text of a server in each language in which it was stated."""

    __slots__ = ("_by_language",)

    def __init__(self) -> None:
        self._by_language: dict[_Language, Name] = {}

    @classmethod
    def collect_texts(cls, texts: Iterable[tuple[_Language, Name]]) -> Texts[_Language]:
        """Collects texts that a server stated with their languages."""
        made = cls()
        made._by_language.update(texts)
        return made

    def learn(self, language: _Language, text: str) -> bool:
        """Notes a name (or another text) that a server states in the capture. Returns whether it is new or differs."""
        known, name = self._by_language.get(language), Name(text, "capture")
        self._by_language[language] = name
        return known != name

    def fill(self, language: _Language, text: str) -> Name | None:
        """Notes a name (or another text) of a server that a metadata file states. The capture and earlier files have precedence.
        Returns the captured name if it differs, else None."""
        known = self._by_language.get(language)
        if known is None:
            self._by_language[language] = Name(text, "metadata")
            return None
        return known if known.source == "capture" and known.text != text else None

    def get(self, language: _Language) -> Name | None:
        return self._by_language.get(language)

    def first(self, prefer: Callable[[_Language], bool] = lambda _: True) -> tuple[_Language | None, Name | None]:
        """Returns the server's name (or another text) for people, with its language: a preferred and captured one if there is one,
        else the first."""

        def rank(text: tuple[_Language, Name]) -> tuple[bool, bool]:
            language, name = text
            return prefer(language), name.source == "capture"

        return max(self._by_language.items(), key=rank, default=(None, None))

    def __iter__(self) -> Iterator[tuple[_Language, Name]]:
        return iter(self._by_language.items())


class SampleNames(Struct, frozen=True):
    """The server's names for one counter and for its group (a counterset, or an object of winperf)."""

    group: Named
    counter: Named

    @property
    def source(self) -> NameSource | None:
        """The source of the server's name for the counter that people are shown."""
        best = self.counter.best
        return best.source if best is not None else None
