"""The pages of what is known of attacks: for `docs`, and all of them as docs/attacks.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from analyzer.questions.observations.attack import Attack, every_attack
from analyzer.results.observation import AttackRecord
from analyzer.screens.views.text import document_lines, folded, page_lines, safe

_ABOUT = (
    "An observation that looks like one of these names it, with the id of MITRE ATT&CK. It says what was seen, and how sure that "
    "is. It never says that somebody attacks: each page states what else does the same."
)


class AttackList(Struct, frozen=True):
    """Attacks, with their pages."""

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
    """The attacks that codes or names stand for; none where a word stands for no attack."""
    known = {word: one for one in every_attack() for word in (one.code, one.name)}
    return [known[word] for word in words] if all(word in known for word in words) else []


def attacks_document() -> str:
    """docs/attacks.md: the page of every attack."""
    out = [
        "# What looks like an attack",
        "",
        *document_lines(
            "Written by `python -m tests.rules_document` from the program itself. `pcq docs CODE` prints the same pages."
        ),
        *document_lines(_ABOUT),
    ]
    for one in every_attack():
        techniques = ", ".join(one.techniques)
        out += [f"## {one.code} {one.name}", "", f"*{techniques}*", ""]
        out += document_lines(one.page.replace("\\", "\\\\"))
        out += ["Sources:", "", *(f"- <{source}>" if "://" in source else f"- {source}" for source in one.sources), ""]
    return "\n".join(out)
