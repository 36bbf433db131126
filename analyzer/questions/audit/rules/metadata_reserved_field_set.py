"""A field of registration information that has to be zero is not.

Looks for: a CounterSetType of a counterset, or a Reserved of a counter, other than zero.

Why it matters: such bytes may be stale memory of the server, or mean something in a later version; a client cannot know.

Specification: [MS-PCQ] section 2.2.4.1 has CounterSetType set to zero, section 2.2.4.2 Reserved.

Flagged: Reserved 0x20202020.

Accepted: zero.

Silent: where the answer is sealed, was not captured, or failed.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.evidence import CallEvidence
from analyzer.questions.audit.registration import COUNTERS, records_of
from analyzer.questions.audit.rule import Level, Rule
from analyzer.questions.audit.verdicts import At, Judgement, Severity, failed, passed

TYPE, RESERVED = "PCQ-2.2.4.1-R03", "PCQ-2.2.4.2-R76"

RULE = Rule("PCQ305", "metadata-reserved-field-set", Level.BUFFERS, Severity.ERROR)


@RULE.calls((TYPE, RESERVED), COUNTERS)
def check(call: CallEvidence) -> Iterator[Judgement]:
    assert call.response is not None
    tree = call.response.tree
    if "counterset_type" in tree:
        yield from _judged(TYPE, call, "lpData.counterset_type", tree["counterset_type"])
    for path, record in records_of(call):
        yield from _judged(RESERVED, call, f"{path}.reserved", record["reserved"])


def _judged(requirement: str, call: CallEvidence, path: str, value: int) -> Iterator[Judgement]:
    if value == 0:
        yield passed(requirement)
    else:
        message = "a field that has to be zero is not"
        yield failed(requirement, call, At("response", path), message, expected="0", seen=f"{value:#x}")
