"""A server returned other identifiers than it was sent.

Looks for: answers of ValidateCounters in which an identifier differs from the one in its place in the request in anything but
Status and Index, or stands elsewhere.

Why it matters: clients find their counters in the answer by position. What was moved or changed gets the status of another
counter.

Specification: [MS-PCQ] section 3.1.4.1.7: the server returns the buffer it was sent, with the Status of each identifier filled
in. Nothing is stated of Index.

Flagged: two identifiers sent, one returned. A warning: another CounterId.

Accepted: Status and Index filled in.

Silent: where one of the messages is sealed, was not captured, or does not decode.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.checks import VALIDATED, Violation, judgements
from analyzer.questions.audit.evidence import CallEvidence
from analyzer.questions.audit.identifiers import COUNTER_ID, INSTANCE_ID, RESERVED, IdentifierBlock
from analyzer.questions.audit.rule import Level, Rule
from analyzer.questions.audit.verdicts import Judgement, Severity

REQUIREMENTS = ("PCQ-3.1.4.1.7-R17",)

RULE = Rule("PCQ430", "identifiers-changed-on-return", Level.BUFFERS, Severity.ERROR)


@RULE.calls(REQUIREMENTS, VALIDATED)
def check(call: CallEvidence) -> Iterator[Judgement]:
    assert call.request is not None
    assert call.response is not None
    asked, answered = call.request.identifiers.blocks, call.response.identifiers.blocks
    layout, returned = [block.size for block in asked], [block.size for block in answered]
    if layout != returned:
        expected = f"{len(layout)} identifiers in {sum(layout)} bytes"
        seen = f"{len(returned)} in {sum(returned)} bytes, or of other sizes"
        violations = [Violation("lpData", (0, len(call.response.data)), expected, seen)]
        message = "other identifiers came back than were sent"
        yield from judgements(call, "response", REQUIREMENTS, len(violations), violations, message)
        return
    changed = [
        violations for before, after in zip(asked, answered, strict=True) for violations in _changes(before, after)
    ][:1]
    message = "an identifier came back changed"
    yield from judgements(call, "response", REQUIREMENTS, len(asked) - len(changed), [], message)
    yield from judgements(call, "response", REQUIREMENTS, 0, changed, message, warn=True)


def _changes(before: IdentifierBlock, after: IdentifierBlock) -> Iterator[Violation]:
    at, path = after.at, after.path
    if before.counterset != after.counterset:
        yield Violation(f"{path}.counterset_guid", (at, at + 16), before.counterset, after.counterset)
    if before.counter_id != after.counter_id:
        yield Violation(f"{path}.counter_id", after.span(COUNTER_ID), f"{before.counter_id}", f"{after.counter_id}")
    if before.instance_id != after.instance_id:
        yield Violation(f"{path}.instance_id", after.span(INSTANCE_ID), f"{before.instance_id}", f"{after.instance_id}")
    if before.reserved != after.reserved:
        yield Violation(f"{path}.reserved", after.span(RESERVED), f"{before.reserved}", f"{after.reserved}")
    if before.name != after.name:
        yield Violation(f"{path}.name", after.name_span, repr(before.name), repr(after.name))
