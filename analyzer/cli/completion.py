"""What shells complete besides commands and options: rules and pages."""

from __future__ import annotations

from collections.abc import Iterator


def complete_rule(incomplete: str) -> Iterator[tuple[str, str]]:
    """Codes of rules with their titles, by the beginning of either the code or the name."""
    from analyzer.audit.rule import rule_pages

    for page in rule_pages():
        if page.rule.code.startswith(incomplete):
            yield page.rule.code, page.title
        elif incomplete and page.rule.name.startswith(incomplete):
            yield page.rule.name, page.title


def complete_page(incomplete: str) -> Iterator[str]:
    """Pages of the documentation."""
    from analyzer.cli.docs import MANUAL, pages

    yield from (name for name in (*pages(), MANUAL) if name.startswith(incomplete))
