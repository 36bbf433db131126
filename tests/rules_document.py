"""Writes docs/rules.md, docs/attacks.md and docs/programs.md anew from what they show: `python -m tests.rules_document`."""

from pathlib import Path

from analyzer.screens.views.attack_pages import attacks_document
from analyzer.screens.views.program_pages import programs_document
from analyzer.screens.views.rule_pages import rules_document

DOCS = Path(__file__).parent.parent / "docs"
DOCUMENT, ATTACKS, PROGRAMS = DOCS / "rules.md", DOCS / "attacks.md", DOCS / "programs.md"

if __name__ == "__main__":
    DOCUMENT.write_text(rules_document(), encoding="utf-8")
    ATTACKS.write_text(attacks_document(), encoding="utf-8")
    PROGRAMS.write_text(programs_document(), encoding="utf-8")
