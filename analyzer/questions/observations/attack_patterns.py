"""Finds observations that look like a known attack, and notes that in them. It never claims that somebody attacks.

Each module of `attacks` has a function with `@attack`, whose docstring is the attack's page. No list names these modules.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator, Sequence
from functools import cache

from msgspec import Struct

from analyzer.questions.observations import attacks
from analyzer.questions.observations.observation_making import Draft, Scene
from analyzer.results.records.observation import SEVERITIES, Confidence, Severity


class Likeness(Struct, frozen=True):
    """Observations that look like an attack: how sure that is, why, and their severity if the attack raises it."""

    drafts: Sequence[Draft]
    confidence: Confidence
    why: str
    severity: Severity | None = None
    # Where not all techniques of the attack are meant.
    techniques: tuple[str, ...] = ()


Search = Callable[[Sequence[Draft], Scene], Iterator[Likeness]]


class Attack(Struct, frozen=True):
    """A known attack with its code and name; `techniques` are ids of MITRE ATT&CK, `sources` say where it is described."""

    code: str
    name: str
    techniques: tuple[str, ...]
    sources: tuple[str, ...]
    find: Search

    @property
    def page(self) -> str:
        """Returns the page of an attack: what it looks for, what else does the same, and when it is silent."""
        return inspect.cleandoc(self.find.__doc__ or "")

    @property
    def title(self) -> str:
        return self.page.partition("\n")[0]


_KNOWN: dict[str, Attack] = {}


def attack(code: str, *, techniques: Sequence[str], sources: Sequence[str]) -> Callable[[Search], Search]:
    """Registers a function that finds an attack; the attack has the function's name."""

    def register(find: Search) -> Search:
        name = getattr(find, "__name__", "").replace("_", "-")
        _KNOWN[code] = Attack(code, name, tuple(techniques), tuple(sources), find)
        return find

    return register


@cache
def every_attack() -> tuple[Attack, ...]:
    """Returns all known attacks, sorted by code."""
    for module in pkgutil.iter_modules(attacks.__path__):
        importlib.import_module(f"{attacks.__name__}.{module.name}")
    return tuple(_KNOWN[code] for code in sorted(_KNOWN))


def note_attacks(drafts: Sequence[Draft], scene: Scene) -> None:
    """Notes in observations which attacks they look like. An observation that looks like several attacks gets the highest severity
    and the lowest confidence of them."""
    for known in every_attack():
        for likeness in known.find(drafts, scene):
            for draft in likeness.drafts:
                _note(draft, known, likeness)


_CONFIDENCES: tuple[Confidence, ...] = ("certain", "likely", "possible")


def _note(draft: Draft, known: Attack, likeness: Likeness) -> None:
    techniques = likeness.techniques or known.techniques
    draft.techniques = tuple(dict.fromkeys((*draft.techniques, *techniques)))
    draft.attacks = (*draft.attacks, known.code)
    draft.whys = (*draft.whys, likeness.why)
    draft.confidence = max(draft.confidence, likeness.confidence, key=_CONFIDENCES.index)
    if likeness.severity is not None:
        draft.severity = min(draft.severity, likeness.severity, key=SEVERITIES.index)
