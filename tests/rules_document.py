"""Writes docs/rules.md anew from the rules: `python -m tests.rules_document`."""

from pathlib import Path

from analyzer.screens.views.rule_pages import rules_document

DOCUMENT = Path(__file__).parent.parent / "docs" / "rules.md"

if __name__ == "__main__":
    DOCUMENT.write_text(rules_document(), encoding="utf-8")
