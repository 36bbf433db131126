"""Texts that are held to files: each file is what was printed once and read through, and is written anew on purpose.

`make golden` writes them, with those of `tests/golden/`; `git diff tests` shows what is different.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Generic, TypeVar

from msgspec import Struct

from analyzer.core.errors import DecodeError, InputError
from tests import truth

T = TypeVar("T")
IS_WRITING = bool(os.environ.get("PCQ_WRITE_PAGES"))


def is_as_written(path: Path, text: str) -> None:
    """Holds a text to its file; where captures lie is no part of it."""
    text = text.replace(str(truth.CAPTURES), "captures")
    if IS_WRITING:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return
    assert text == path.read_text(encoding="utf-8"), (
        f"{path.name} is not what it was, which guards words and numbers that are shown; if that is meant, write it anew as "
        f"{__name__} says"
    )


def by_finding(said: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Lines that end in `, seen ...`, each with the change that led to it, as one line for all that are alike before that."""
    alike: dict[str, list[str]] = {}
    for change, line in said:
        finding, _, seen = line.rpartition(", seen ")
        alike.setdefault(finding, []).append(f"{change}: {seen}")
    return (f"{finding}, seen {' | '.join(each)}\n" for finding, each in alike.items())


def told(value: object, depth: int = 0) -> Iterator[str]:
    """A record with all its fields on a line, and records that are among them indented below it."""
    assert isinstance(value, Struct)
    fields = [(name, getattr(value, name)) for name in value.__struct_fields__]
    inner = {name for name, one in fields if isinstance(one, tuple) and any(isinstance(each, Struct) for each in one)}
    yield f"{' ' * depth}{type(value).__name__}: " + ", ".join(
        f"{name}={len(one)} below" if name in inner else f"{name}={one!r}" for name, one in fields
    )
    for name, one in fields:
        for each in one if name in inner else ():
            yield from told(each, depth + 1)


def came_of(job: Callable[[], object]) -> Iterator[str]:
    """What a job returns (each of an iterator, a record with all its fields), or the error that it ends in with its place."""
    try:
        found = job()
    except DecodeError as error:
        yield f"{type(error).__name__} {error.start}..{error.stop}: {error}"
    except InputError as error:
        yield f"InputError: {error}"
    else:
        for one in found if isinstance(found, Iterator) else [found]:
            yield from told(one) if isinstance(one, Struct) else [repr(one)]


class Told:
    """Paragraphs of a text: a name, a line of words, and lines behind `=` that say what comes of the words."""

    def __init__(self, path: Path, said: Callable[[str], str]) -> None:
        self._path, self._said = path, said
        self.words: dict[str, str] = {}
        self._expected: dict[str, str] = {}
        for part in re.split(r"^(?=\S)", path.read_text("utf-8"), flags=re.MULTILINE)[1:]:
            name, words, *rest = part.splitlines(keepends=True)
            self.words[name.strip()], self._expected[name.strip()] = words, "".join(rest)

    def holds(self, name: str) -> None:
        """Holds what comes of a paragraph's words to the text, or writes it there."""
        found = self._said(self.words[name])
        if IS_WRITING:
            self._expected[name] = found
            self._path.write_text(
                "".join(f"{one}\n{words}{self._expected[one]}" for one, words in self.words.items()), "utf-8"
            )
        assert found == self._expected[name]


class Outcomes(Generic[T]):
    """Paragraphs of a text: the names of cases that stand in code, and lines behind `=` that say what comes of each."""

    def __init__(self, path: Path, cases: Mapping[str, T], said: Callable[[T], Iterable[str]]) -> None:
        self._path, self.cases, self._said = path, cases, said
        text = path.read_text("utf-8") if path.exists() else ""
        self._expected = set(re.split(r"^(?=\S)", text, flags=re.MULTILINE))

    def _paragraph(self, name: str) -> str:
        return f"{name}\n" + "".join(f"  = {line}\n" for line in self._said(self.cases[name]))

    def holds(self, name: str) -> None:
        """Holds what comes of a case to the text; writes nothing."""
        found = self._paragraph(name)
        assert IS_WRITING or found in self._expected, found

    def is_as_written(self) -> None:
        is_as_written(self._path, "".join(map(self._paragraph, self.cases)))
