"""Texts that are held to files: each file is what was printed once and read through, and is written anew on purpose.

`make golden` writes them, with those of `tests/golden/`; `git diff tests` shows what is different.
"""

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from textwrap import wrap
from typing import Any, Generic, TypeVar

import pytest
from msgspec import Struct

from analyzer.core.errors import DecodeError, InputError
from tests import truth

T = TypeVar("T")
_WIDTH = 120
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


def by_finding(said: Iterable[tuple[int, str, str, str]]) -> Iterator[str]:
    """Of places, changes there, and findings with what was seen: lines for each finding, with all that was seen and led to it."""
    found: dict[str, dict[tuple[str, str], list[int]]] = {}
    for at, change, finding, seen in said:
        found.setdefault(finding, {}).setdefault((seen, change), []).append(at)
    for finding, changes in found.items():
        alike: dict[tuple[str, str], list[str]] = {}
        for (seen, change), places in changes.items():
            alike.setdefault((seen, _ranges(places)), []).append(change)
        after = [f"{seen} after {', '.join(names)} at {places}" for (seen, places), names in alike.items()]
        words = f"{finding}, seen {'; '.join(after)}"
        yield from (f"{line}\n" for line in wrap(words, 128, subsequent_indent="  ", break_on_hyphens=False))


def _ranges(places: Iterable[int]) -> str:
    """Places a word apart as one: `48..60 72`."""
    found: list[list[int]] = []
    for at in places:
        if found and at - found[-1][-1] == 4:
            found[-1][1:] = [at]
        else:
            found.append([at])
    return " ".join("..".join(map(str, one)) for one in found)


def as_json(value: object) -> str:
    """JSON to be read: what has room stands on one line; numbers, words and lists of them fill lines, all else has its own."""
    return f"{_json(value, 0)}\n"


def _json(value: Any, depth: int) -> str:
    line = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list | tuple) or depth + len(line) <= _WIDTH:
        return line
    named = [(f"{json.dumps(name)}: ", one) for name, one in value.items()] if isinstance(value, dict) else []
    lines: list[str] = []
    has_room = False
    for name, one in named or [("", one) for one in value]:
        entry = f"{name}{_json(one, depth + 1)}"
        inner = one if name and isinstance(one, list | tuple) else [one]
        fills = "\n" not in entry and not any(isinstance(each, dict | list | tuple) for each in inner)
        if has_room and fills and len(lines[-1]) + len(entry) + 2 <= _WIDTH:
            lines[-1] += f" {entry},"
        else:
            lines.append(f"{' ' * (depth + 1)}{entry},")
        has_room = fills
    begin, end = "{}" if named else "[]"
    return "\n".join([begin, *lines])[:-1] + f"\n{' ' * depth}{end}"


def differing(texts: Mapping[str, str]) -> str:
    """Texts by name; of the lines that the text before one has as well, only how many they are."""
    found: list[str] = []
    before: list[str] = []
    for name, text in texts.items():
        lines = text.splitlines()
        found.append(name)
        for is_known, run in groupby(lines, before.__contains__):
            here = list(run)
            found += [f"  … {len(here)} as before"] if is_known else (f"  {line}" for line in here)
        before = lines
    return "".join(f"{line}\n" for line in found)


def by_outcome(said: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Of words and what comes of each, lines for each outcome: all words that it comes of."""
    alike: dict[str, list[str]] = {}
    for words, outcome in said:
        alike.setdefault(outcome, []).append(words)
    for outcome, each in alike.items():
        line = f"{outcome or 'nothing'}:"
        for words in each:
            if len(line) + len(words) > _WIDTH:
                yield line
                line = "   "
            line += f" {words};"
        yield line.rstrip(";")


def counted(lines: Iterable[str]) -> str:
    """Lines of an outcome; of those alike that follow each other one, with how many they are."""
    runs = ((line, len([*each])) for line, each in groupby(lines))
    return "".join(f"  = {f'{count} times ' if count > 1 else ''}{line}\n" for line, count in runs)


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


def _in_words(value: object) -> str:
    match value:
        case bytes():
            runs = ((f"{byte:02x}", len(list(same))) for byte, same in groupby(value))
            return "".join(f"[{count} {byte}]" if count > 4 else byte * count for byte, count in runs) or "no bytes"
        case str() if not value.isprintable() or value != value.strip():
            return repr(value)
        case dict() | tuple() | list():
            return f"({_without_parentheses(value)})"
        # Numbers of a specification are read in hexadecimal.
        case int() if abs(value) > 0xFF and (abs(value) > 200_000_000 or (value % 0x100 == 0 and value % 1000)):
            return f"{value:#x}"
        case _:
            return str(value)


def _without_parentheses(value: object) -> str:
    match value:
        case dict():
            return ", ".join(f"{name} {_in_words(one)}" for name, one in value.items())
        case tuple() | list():
            return " ".join(map(_in_words, value))
        case _:
            return _in_words(value)


class Tables(dict[str, tuple[Callable[..., object], tuple[Any, ...]]]):
    """Functions by their names in words, with rows of arguments: a tuple, keywords, or one value."""

    def of(self, *rows: object) -> Callable[[Callable[..., object]], Callable[..., object]]:
        def add(job: Callable[..., object]) -> Callable[..., object]:
            self[job.__name__.replace("_", " ")] = job, rows
            return job

        return add


def of_rows(table: tuple[Callable[..., object], tuple[Any, ...]]) -> Iterator[str]:
    """What comes of a function, and behind it the rows that it comes of."""
    job, rows = table
    return by_outcome(
        (_without_parentheses(row) or ("as usual" if row == {} else "none"), _result(job, row)) for row in rows
    )


def _result(job: Callable[..., object], row: object) -> str:
    match row:
        case dict():
            found = job(**row)
        case tuple():
            found = job(*row)
        case _:
            found = job(row)
    return ", ".join(map(_in_words, found)) if isinstance(found, list) else _in_words(found)


def held(file: str, tables: Tables) -> Callable[[str], None]:
    """A test for a file of tests: what comes of its rows stands in the text beside it, and nothing else does."""
    path = Path(file)
    outcomes = Outcomes(path.with_name(f"{path.stem.removeprefix('test_')}.txt"), tables, of_rows)

    @pytest.mark.parametrize("name", tables)
    def holds(name: str) -> None:
        outcomes.holds(name)
        outcomes.is_as_written()

    return holds


class _Paragraphs:
    """A text whose paragraphs begin with a name, have `heading` lines in all that say what is tried, and end in what came of it.

    Names one below the other have the outcome below the last of them.
    """

    def __init__(self, path: Path, heading: int) -> None:
        self._path = path
        self._headings: dict[str, str] = {}
        self._outcomes: dict[str, str] = {}
        parts = re.split(r"^(?=\S)", path.read_text("utf-8") if path.exists() else "", flags=re.MULTILINE)[1:]
        for part in reversed(parts):
            lines = part.splitlines(keepends=True)
            outcome = "".join(lines[heading:]) or next(reversed(self._outcomes.values()), "")
            self._headings[lines[0].rstrip("\n")], self._outcomes[lines[0].rstrip("\n")] = (
                "".join(lines[:heading]),
                outcome,
            )
        self._headings = dict(reversed(self._headings.items()))

    def _hold(self, name: str, found: str) -> None:
        """Holds what came of a paragraph to the text, or writes it there."""
        found = found or "  = nothing\n"
        if IS_WRITING:
            self._outcomes[name] = found
            alike = groupby(self._headings, lambda one: self._outcomes.get(one, ""))
            text = "".join("".join(map(self._headings.__getitem__, names)) + outcome for outcome, names in alike)
            self._path.write_text(text, "utf-8")
        assert found == self._outcomes.get(name), found


class Told(_Paragraphs):
    """Paragraphs of a text: a name, a line of words, and lines behind `=` that say what comes of the words."""

    def __init__(self, path: Path, said: Callable[[str], str]) -> None:
        super().__init__(path, heading=2)
        self._said = said
        self.words = {name: heading.partition("\n")[2] for name, heading in self._headings.items()}

    def holds(self, name: str) -> None:
        """Holds what comes of a paragraph's words to the text, or writes it there."""
        self._hold(name, self._said(self.words[name]))


class Outcomes(_Paragraphs, Generic[T]):
    """Paragraphs of a text: the names of cases that stand in code, and lines behind `=` that say what comes of each."""

    def __init__(self, path: Path, cases: Mapping[str, T], said: Callable[[T], Iterable[str]]) -> None:
        super().__init__(path, heading=1)
        self.cases, self._said = cases, said
        self._written = list(self._headings)
        self._headings = {name: f"{name}\n" for name in cases}

    def holds(self, name: str) -> None:
        """Holds what comes of a case to the text, or writes it there."""
        self._hold(name, "".join(f"  = {line}\n" for line in self._said(self.cases[name])))

    def is_as_written(self) -> None:
        """Holds that the text has these cases, in their order, and no other."""
        assert IS_WRITING or self._written == list(self.cases)
