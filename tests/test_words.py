"""Words: the glossary holds each term once, and the private words that its terms replaced do not come back."""

from __future__ import annotations

import re
from fnmatch import fnmatch
from functools import cache

import pytest

from tests.tree import ROOT, files

PLACES = ("analyzer", "docs", "ksy", "*.md", "benchmarks/*.py", "fuzz/*.py", "tools", "wireshark/*.py", "tests/*.py")
# CHANGELOG.md names keys as they were.
GENERATED = ("analyzer/buffers/_generated/", "analyzer/formats/page_assets/", "docs/performance.svg")
GENERATED += ("CHANGELOG.md", "tests/test_words.py", "tests/test_compare_outputs.py")
# In the tests these stand in their common meanings too often to be told apart.
EXCEPT_IN_TESTS = (r"_?told|tells?|telling", r"_?odd|oddit(y|ies)")

# A word that means something to its author alone, what stands in its place, and where it may stand in its common meaning.
PRIVATE = {
    r"doors?": ("decryption status", ""),
    r"_?told|tells?|telling": ("reported, stated, known", r"\.tell\(\)|def tell\(self\) -> int"),
    r"cook(s|ed|ing)?": ("formatted", r"Linux cooked|cook_then_averag"),
    r"lanes?": ("partition, speculative scan", ""),
    r"_?odd|oddit(y|ies)": (
        "violation, anomaly, irregular",
        r"\b(an )?odd (number|byte|length|place|last byte|id count|n\b|or even|sizes)|odd places|turns, odd or even",
    ),
    r"calm|strays?|astray": ("in sequence, out of window", ""),
    r"dialogues?": ("batch, exchange", ""),
    r"ropes?": ("concatenation", ""),
    r"gathered": ("coalesced, collected", ""),
    r"troubles?": ("problem, decode error", ""),
    r"house|rooms|(room|rooms) (above|below)|(this|each|every|rpc|packet|smb|tcp) room": ("layer, package", ""),
    r"story|stories": ("state machine", r"client\.story\(\)"),
    r"the (auth|transport|rpc|smb|tcp|packet) room": ("layer, package", ""),
    r"roads?|short way|quick way|plain way": ("fast path, usual case", ""),
    r"shelf|shelves": ("spill file", ""),
    r"ghosts?": ("presumed FIN", ""),
    r"openers?|_?shut": ("decryption status, keys", r"\.shutdown\(socket\.SHUT_RDWR\)"),
    r"life|lives of": ("lifetime", ""),
}


@cache
def _files() -> list[tuple[str, str]]:
    listed = [path.relative_to(ROOT).as_posix() for path in files()]
    names = [
        name
        for name in listed
        if any(fnmatch(name, place) or name.startswith(f"{place}/") for place in PLACES)
        and not name.startswith(GENERATED)
    ]
    return [(name, (ROOT / name).read_text(encoding="utf-8")) for name in names if not name.endswith((".png", ".gz"))]


@pytest.mark.parametrize("word", PRIVATE)
def test_private_words_do_not_come_back(word: str) -> None:
    better, common = PRIVATE[word]
    private = re.compile(rf"(?<![A-Za-z]){'(?:' + word + ')'}(?![A-Za-z])", re.IGNORECASE)
    found = [
        f"{name}: {line.strip()[:120]}"
        for name, text in _files()
        if private.search(text) and not (word in EXCEPT_IN_TESTS and name.startswith("tests/"))
        for line in text.splitlines()
        if private.search(re.sub(common, "", line) if common else line)
    ]
    assert not found, "\n".join((f"say {better} instead:", *found))


def test_each_term_stands_once_in_the_glossary_with_its_source() -> None:
    lines = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines if line.startswith("| ")][1:]
    terms = [row[0] for row in rows]
    assert terms == sorted(set(terms), key=str.casefold)
    assert [row[0] for row in rows if len(row) != 3 or not all(row)] == []
    named = {
        path for row in rows for path in re.findall(r"`((?:analyzer/)?[a-z_/0-9]+\.(?:py|toml))`", row[1] + row[2])
    }
    assert not {path for path in named if not (ROOT / "analyzer" / path).exists() and not (ROOT / path).exists()}
