"""A counterset or counter has a detail level that does not exist.

Looks for: a DetailLevel other than 100 (novice) or 200 (advanced).

Why it matters: clients hide what is above the level of their user; they cannot place an unknown one.

Specification: [MS-PCQ] sections 2.2.4.1 and 2.2.4.2 admit 0x64 and 0xC8. winperf.h knows 300 and 400 as well, for the older
interface only.

Flagged: DetailLevel 300.

Accepted: DetailLevel 200.

Silent: where the answer is sealed, was not captured, or failed.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.evidence import CallEvidence
from analyzer.questions.audit.registration import COUNTERS, records_of
from analyzer.questions.audit.rule import Level, Rule
from analyzer.questions.audit.verdicts import At, Judgement, Severity, failed, passed

SET, COUNTER = "PCQ-2.2.4.1-R05", "PCQ-2.2.4.2-R51"
_NOVICE, _ADVANCED = 100, 200

RULE = Rule("PCQ307", "detail-level-unknown", Level.BUFFERS, Severity.ERROR)


@RULE.calls((SET, COUNTER), COUNTERS)
def check(call: CallEvidence) -> Iterator[Judgement]:
    assert call.response is not None
    tree = call.response.tree
    if "detail_level" in tree:
        yield from _judged(SET, call, "lpData.detail_level", tree["detail_level"])
    for path, record in records_of(call):
        yield from _judged(COUNTER, call, f"{path}.detail_level", record["detail_level"])


def _judged(requirement: str, call: CallEvidence, path: str, value: int) -> Iterator[Judgement]:
    if value in (_NOVICE, _ADVANCED):
        yield passed(requirement)
    else:
        message = "the detail level does not exist"
        yield failed(requirement, call, At("response", path), message, expected="100 or 200", seen=str(value))
