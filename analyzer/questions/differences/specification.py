"""What the specification says of calls that differ: requirements that the call of one side does not keep, and the other does."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from msgspec.structs import replace

from analyzer.questions.audit.catalogue import catalogue
from analyzer.questions.audit.engine import Audit, Profile
from analyzer.questions.audit.findings import Finding
from analyzer.results.analysis import Analysis, Part
from analyzer.results.difference import Breach, FieldDifference

_POSITION = re.compile(r"\[[^\]]*\]")
ByCall = Mapping[int, Sequence[Finding]]


def findings_by_call(analysis: Analysis, numbers: Iterable[int]) -> ByCall:
    """What an audit by the letter finds in the calls of some numbers."""
    wanted = sorted(set(numbers))
    found: dict[int, list[Finding]] = {}
    if wanted:
        part = replace(analysis, part=Part(wanted, analysis.shown_sessions, "calls that differ"))
        for one in Audit(part, profile=Profile.SPEC).findings():
            if one.call is not None:
                found.setdefault(one.call, []).append(one)
    return found


def breaches(a: Sequence[Finding], b: Sequence[Finding], fields: Sequence[FieldDifference]) -> tuple[Breach, ...]:
    """The findings in two calls that only one call has, and that are of fields which differ."""
    return tuple(dict.fromkeys([*_of_side("a", a, b, fields), *_of_side("b", b, a, fields)]))


def _of_side(
    side: Literal["a", "b"], own: Sequence[Finding], others: Sequence[Finding], fields: Sequence[FieldDifference]
) -> Iterable[Breach]:
    known = {(one.rule.code, one.judgement.requirement) for one in others}
    for one in own:
        requirement = one.judgement.requirement
        if (one.rule.code, requirement) not in known and any(_is_of(one, each) for each in fields):
            yield Breach(side, one.rule.code, requirement, catalogue()[requirement].statement, one.judgement.seen)


def _is_of(finding: Finding, field: FieldDifference) -> bool:
    """Whether a finding is about a field: its place ends with a name on the way to the field."""
    at = finding.judgement.at
    if at is None or at.side != field.side:
        return False
    return _POSITION.sub("", at.path).rpartition(".")[2] in _POSITION.sub("", field.path).split(".")
