"""A baseline: the findings somebody has looked at and accepts, so that an audit speaks of new ones only.

A finding is known again by its rule, requirement, method and field, whatever call and whatever element of an array it was in.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path

from analyzer.audit.findings import Finding
from analyzer.core.errors import InputError
from analyzer.core.values import dataclass

_SCHEMA = 1
_POSITION = re.compile(r"\[[^\]]*\]")


@dataclass(frozen=True, slots=True, order=True)
class Accepted:
    """What is accepted: as a finding says it, array positions left out. `reason` is for people."""

    rule: str
    requirement: str
    method: str | None
    field: str | None

    @classmethod
    def of(cls, finding: Finding) -> Accepted:
        judgement = finding.judgement
        method = judgement.call.call.method if judgement.call is not None else None
        field = _POSITION.sub("[]", judgement.at.path) if judgement.at is not None else None
        return cls(finding.rule.code, judgement.requirement, method, field or None)


def read_baseline(path: Path) -> frozenset[Accepted]:
    """The accepted findings of a file; raises `InputError` for what is not such a file."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["schema"] != _SCHEMA:
            raise InputError(f"{path} is a baseline of schema {document['schema']}; this program knows {_SCHEMA}")
        return frozenset(
            Accepted(entry["rule"], entry["requirement"], entry.get("method"), entry.get("field"))
            for entry in document["accepted"]
        )
    except OSError as error:
        raise InputError(f"the baseline {path} cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError(f"{path} is not a baseline", hint="`audit --write-baseline` writes one") from None


def write_baseline(path: Path, findings: Iterable[Finding]) -> int:
    """Writes all findings as accepted, to be looked through and given reasons. Returns how many entries that are."""
    counts: dict[Accepted, int] = {}
    for finding in findings:
        if not finding.is_excused:
            entry = Accepted.of(finding)
            counts[entry] = counts.get(entry, 0) + 1
    entries = [
        {
            "rule": entry.rule,
            "requirement": entry.requirement,
            "method": entry.method,
            "field": entry.field,
            "seen": counts[entry],
            "reason": "",
        }
        for entry in sorted(
            counts, key=lambda entry: (entry.rule, entry.requirement, entry.method or "", entry.field or "")
        )
    ]
    try:
        path.write_text(json.dumps({"schema": _SCHEMA, "accepted": entries}, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from None
    return len(entries)
