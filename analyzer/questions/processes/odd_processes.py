"""Marks odd names and parents of processes, with reasons. Names alone prove nothing, and most odd ones are harmless. So a rule
marks a name only if usual programs do not have such names (tests/questions/processes has 360 of them).

* A name *resembles* a program of Windows if one letter is changed, added, left out or swapped with its neighbour, or if digits
  stand for letters. The programs are those whose names malware borrows (MITRE ATT&CK T1036.005), as listed in the poster "Hunt
  Evil" of the SANS Institute, and the hosts of Windows that run other code.
* A name looks *random* if it has only letters, changes between capitals and small letters at almost every one, and has pairs of
  letters that words do not have. Tools make up such names for programs that they copy to a machine (Metasploit's
  Rex::Text.rand_text_alpha, impacket's serviceinstall.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise, product

from analyzer.results.records.process import ProcessMark, ProcessMarkKind

# The words of each kind of mark, before its reason.
MARK_WORDS: Mapping[ProcessMarkKind, str] = {
    "resembles": "the name resembles that of a program of Windows",
    "random": "the name looks random",
    "parent": "an unusual parent",
}

_OF_WINDOWS = (
    *(
        "csrss",
        "explorer",
        "lsaiso",
        "lsass",
        "runtimebroker",
        "services",
        "svchost",
        "taskhostw",
        "wininit",
        "winlogon",
    ),
    *("conhost", "dllhost", "rundll32", "spoolsv", "taskhost"),
)
# The programs from which a name of this length may differ by one letter.
_NEARLY_OF_LENGTH = {
    length: tuple(known for known in _OF_WINDOWS if abs(len(known) - length) <= 1)
    for length in range(1, max(map(len, _OF_WINDOWS)) + 2)
}
# Programs whose names are as near: of Windows, or in use everywhere.
_USUAL = frozenset(_OF_WINDOWS) | {"taskhostex", "service", "sihost", "dashost", "iexplorer", "iexplore", "fontdrvhost"}
_DIGITS = str.maketrans("013457", "oleast")


def _spellings(letters: str) -> Iterator[str]:
    """Yields letters of the name of a program of Windows as they are, and with digits that stand for them."""
    forms = [letter + "".join(chr(digit) for digit, of in _DIGITS.items() if of == ord(letter)) for letter in letters]
    return map("".join, product(*forms))


# One change leaves the first two letters or the last two of a name as they are: these names have five letters or more.
_BEGINNINGS = frozenset(text for known in _OF_WINDOWS for text in _spellings(known[:2]))
_ENDINGS = frozenset(text for known in _OF_WINDOWS for text in _spellings(known[-2:]))
_EXTENSION = re.compile(r"\.(?:exe|com|scr)\Z", re.IGNORECASE)

_LETTERS = re.compile(r"[A-Za-z]{6,20}")
# A word of a name that is written as programs are: `Runtime`, `VG`, `Auth`.
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_FEWEST_WORDS, _LONGEST_WORDS, _VERY_SHORT = 3, 2.4, 2.0
# Letters that do not follow a letter in English words, or hardly ever.
_RARE = {
    "b": "qxz",
    "c": "bfgjpvwx",
    "d": "x",
    "f": "bjkpqvwxz",
    "g": "bjkqvxz",
    "h": "jkqvxz",
    "j": "bcdfghklmnpqrstvwxyz",
    "k": "qvxz",
    "l": "qx",
    "m": "jkqvxz",
    "p": "jqvwxz",
    "q": "abcdefghijklmnopqrstvwxyz",
    "s": "xz",
    "t": "qx",
    "u": "u",
    "v": "bdfghjkmnpqtwxz",
    "w": "fgjpqvwxz",
    "x": "bdgjkmnrsvwz",
    "y": "jqvy",
    "z": "bcdfgjkmnpqrsvwx",
}


def parent_marks(name: str, parent: int | None, services: frozenset[int]) -> tuple[ProcessMark, ...]:
    """Returns the marks for an odd parent of a process. `services` are the process ids of the service control manager that were
    seen: it starts every svchost ("Hunt Evil")."""
    if parent is None or not services or parent in services or _EXTENSION.sub("", name).casefold() != "svchost":
        return ()
    own = ", ".join(map(str, sorted(services)))
    return (ProcessMark("parent", f"process {parent} created it; Windows creates svchost by services (pid {own})"),)


def name_marks(name: str) -> tuple[ProcessMark, ...]:
    """Returns the marks for an odd name of a process; none for a usual name."""
    plain = _EXTENSION.sub("", name) if "." in name else name
    folded = plain.casefold()
    has_usual_end = folded[:2] in _BEGINNINGS or folded[-2:] in _ENDINGS
    # Most names have other characters or no capitals.
    is_mixed = plain.isalpha() and not plain.islower()
    if not has_usual_end and not is_mixed:
        return ()
    found = _resemblance(folded) if has_usual_end else None, _randomness(plain) if is_mixed else None
    return tuple([mark for mark in found if mark is not None])


def _resemblance(plain: str) -> ProcessMark | None:
    if plain in _USUAL:
        return None
    as_letters = plain.translate(_DIGITS)
    for known in _NEARLY_OF_LENGTH.get(len(plain), ()):
        if as_letters == known:
            return ProcessMark("resembles", f"digits in the place of letters of {known}")
        if _is_one_change_away(plain, known):
            return ProcessMark("resembles", f"one letter is other than in {known}")
    return None


def _is_one_change_away(text: str, known: str) -> bool:
    """Whether two different process names have a Damerau-Levenshtein distance of 1. Then one letter is changed, added, left out or
    swapped with the next. Their lengths differ by at most one."""
    start = 0
    while start < min(len(text), len(known)) and text[start] == known[start]:
        start += 1
    rest, of_known = text[start:], known[start:]
    if rest[1:] == of_known[1:] or rest[1:] == of_known or rest == of_known[1:]:
        return True
    return rest[:2] == of_known[1::-1] and rest[2:] == of_known[2:]


def _randomness(plain: str) -> ProcessMark | None:
    if _LETTERS.fullmatch(plain) is None:
        return None
    words = _WORD.findall(plain)
    mean = len(plain) / len(words)
    pairs = map("".join, pairwise(plain.casefold()))
    rare = list(dict.fromkeys(pair for pair in pairs if pair[1] in _RARE.get(pair[0], "")))
    if len(words) < _FEWEST_WORDS or mean > _LONGEST_WORDS or not (rare or mean < _VERY_SHORT):
        return None
    reason = f"capitals and small letters change {len(words) - 1} times in {len(plain)} letters"
    return ProcessMark("random", reason + (f"; no word has {', '.join(rare[:4])}" if rare else ""))
