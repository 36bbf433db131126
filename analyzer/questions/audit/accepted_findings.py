"""The baseline of an audit: findings that somebody has looked at and accepts, so that the audit reports only new ones.

An entry matches a finding by rule, requirement, method, side, field and what was seen there, whatever the call or the array
element. An entry whose `seen` is null accepts whatever was seen.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from analyzer.core.errors import InputError
from analyzer.questions.audit.findings import Finding

_SCHEMA = 2
_POSITION = re.compile(r"\[[^\]]*\]")


# The keys by which an entry matches, and those that may be absent or null; `count` and `reason` are for people.
_KEYS = ("rule", "requirement", "method", "field", "seen")
_OPTIONAL = frozenset(("method", "field", "seen"))


class Accepted(Struct, frozen=True):
    """An entry of the audit's baseline: an accepted finding, without array positions."""

    rule: str
    requirement: str
    method: str | None
    field: str | None
    seen: str | None

    @classmethod
    def of_finding(cls, finding: Finding) -> Accepted:
        judgement = finding.judgement
        method = judgement.call.method if judgement.call is not None else None
        field = None
        if judgement.at is not None:
            field = _POSITION.sub("[]", ".".join(word for word in (judgement.at.side, judgement.at.path) if word))
        return cls(finding.rule.code, judgement.requirement, method, field, judgement.seen)

    @property
    def whatever_seen(self) -> Accepted:
        """Returns the entry of the baseline that accepts this finding whatever was seen."""
        return Accepted(self.rule, self.requirement, self.method, self.field, None)

    @property
    def words(self) -> str:
        """Returns the entry of the audit's baseline in one line."""
        place = ", ".join(word for word in (self.method, self.field) if word)
        return (
            f"{self.rule} {self.requirement}"
            + (f", {place}" if place else "")
            + (f": {self.seen}" if self.seen else "")
        )


def read_baseline(path: Path) -> tuple[Accepted, ...]:
    """Reads the accepted findings of a baseline file; raises `InputError` if it is no such file."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["schema"] != _SCHEMA:
            raise InputError(
                f"{path} is a baseline of schema {document['schema']}; this program knows {_SCHEMA}",
                hint="`audit --write-baseline` writes one",
            )
        entries = (
            Accepted(*(entry.get(key) if key in _OPTIONAL else entry[key] for key in _KEYS))
            for entry in document["accepted"]
        )
        return tuple(dict.fromkeys(entries))
    except OSError as error:
        raise InputError(f"the baseline {path} cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise InputError(f"{path} is not a baseline", hint="`audit --write-baseline` writes one") from None


def baseline_json(findings: Iterable[Finding]) -> tuple[bytes, int]:
    """Returns a baseline file that accepts all findings of an audit, for a person to give reasons, and its number of entries."""
    counts: dict[Accepted, int] = {}
    for finding in findings:
        if not finding.is_excused:
            entry = Accepted.of_finding(finding)
            counts[entry] = counts.get(entry, 0) + 1
    entries = [
        {
            "rule": entry.rule,
            "requirement": entry.requirement,
            "method": entry.method,
            "field": entry.field,
            "seen": entry.seen,
            "count": counts[entry],
            "reason": "",
        }
        for entry in sorted(counts, key=lambda entry: tuple(getattr(entry, key) or "" for key in _KEYS))
    ]
    document = json.dumps({"schema": _SCHEMA, "accepted": entries}, indent=2) + "\n"
    return document.encode(), len(entries)
