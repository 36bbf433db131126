"""Writes docs/rules.md and docs/attacks.md anew from rules and attacks: `python -m tests.rules_document`."""

from pathlib import Path

from analyzer.screens.views.attack_pages import attacks_document
from analyzer.screens.views.rule_pages import rules_document

DOCS = Path(__file__).parent.parent / "docs"
DOCUMENT, ATTACKS = DOCS / "rules.md", DOCS / "attacks.md"

if __name__ == "__main__":
    DOCUMENT.write_text(rules_document(), encoding="utf-8")
    ATTACKS.write_text(attacks_document(), encoding="utf-8")
