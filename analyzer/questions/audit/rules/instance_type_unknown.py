"""A counterset is of an instance type that does not exist, or that nothing implements.

Looks for: an InstanceType other than 0, 2, 4, 6, 0xC and 0x16; a warning for 0x16.

Why it matters: the instance type says whether a counterset has instances, and how clients are to aggregate them.

Specification: [MS-PCQ] section 2.2.4.1 lists the types; it says of 0x16 that it is not implemented.

Flagged: InstanceType 1.

Accepted: InstanceType 0xC.

Silent: where the answer is sealed, was not captured, or failed.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.evidence import CallEvidence
from analyzer.questions.audit.registration import COUNTERSET
from analyzer.questions.audit.rule import Level, Rule
from analyzer.questions.audit.verdicts import At, Judgement, Severity, failed, passed, warned

KNOWN, UNIMPLEMENTED = "PCQ-2.2.4.1-R07", "PCQ-2.2.4.1-R13"
_TYPES = (0x0, 0x2, 0x4, 0x6, 0xC, 0x16)
_INSTANCE_AGGREGATE = 0x16

RULE = Rule("PCQ309", "instance-type-unknown", Level.BUFFERS, Severity.ERROR)


@RULE.calls((KNOWN, UNIMPLEMENTED), COUNTERSET)
def check(call: CallEvidence) -> Iterator[Judgement]:
    assert call.response is not None
    value = call.response.tree["instance_type"]
    at = At("response", "lpData.instance_type")
    if value not in _TYPES:
        message = "the instance type does not exist"
        yield failed(KNOWN, call, at, message, expected=", ".join(f"{one:#x}" for one in _TYPES), seen=f"{value:#x}")
        return
    yield passed(KNOWN)
    if value == _INSTANCE_AGGREGATE:
        message = "the instance type is declared in the text and not implemented"
        yield warned(UNIMPLEMENTED, call, at, message, expected="another type", seen=f"{value:#x}")
