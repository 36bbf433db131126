"""The view of `docs` for known attacks: their pages, as records and as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from analyzer.questions.observations.attack_patterns import Attack, every_attack
from analyzer.results.records.observation import AttackRecord
from analyzer.screens.views.text_report import folded, page_lines, safe


class AttackList(Struct, frozen=True):
    """The view of known attacks with their pages."""

    attacks: Sequence[Attack]

    def inputs(self) -> tuple[str, ...]:
        return ()

    def records(self) -> Iterator[AttackRecord]:
        for one in self.attacks:
            yield AttackRecord(
                attack=one.code,
                name=one.name,
                title=one.title,
                techniques=one.techniques,
                sources=one.sources,
                page=one.page,
            )

    def lines(self, width: int | None) -> Iterator[str]:
        for number, one in enumerate(self.attacks):
            if number:
                yield ""
            yield f"[bold]{one.code} {one.name}[/] ({', '.join(one.techniques)})"
            yield ""
            yield from map(safe, page_lines(one.page, width))
            yield "Sources:"
            for source in one.sources:
                yield from (safe(text) for text in folded(f"  {source}", 4, width))


def attacks_named(words: Sequence[str]) -> list[Attack]:
    """Returns the attacks with these codes or names; an empty list if a word names no attack."""
    known = {word: one for one in every_attack() for word in (one.code, one.name)}
    return [known[word] for word in words] if all(word in known for word in words) else []
