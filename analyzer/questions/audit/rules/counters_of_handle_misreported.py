"""QueryCounterInfo reports other counters than were added to the handle.

Looks for: answers of QueryCounterInfo whose identifiers are not those that ValidateCounters added to the handle, less those it
removed.

Why it matters: a client that asks what its query holds goes by the answer. A counter left out is one whose block it does not
find.

Specification: [MS-PCQ] section 3.1.1.5: the server keeps a list of counter identifiers with each handle. Section 3.1.4.1.5: it
must return the identifier of each counter that is tied to the handle.

Flagged: three counters were added with status 0, and two are reported.

Accepted: counters in any order; names in another case; a specific InstanceId in place of the 0xFFFFFFFF (any) that was sent.

Silent: where the handle's opening or a change of it is not in the capture, or the same counter was added twice with success.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from analyzer.questions.audit.checks import INFO, Violation, cannot_say, judgements
from analyzer.questions.audit.evidence import CallEvidence, Evidence
from analyzer.questions.audit.identifiers import IdentifierBlock
from analyzer.questions.audit.rule import Level, Rule, Watch
from analyzer.questions.audit.values import held_of
from analyzer.questions.audit.verdicts import Confidence, Judgement, Severity
from analyzer.results.perflib import NONE_ID
from analyzer.results.query import Identifier

REQUIREMENTS = ("PCQ-3.1.4.1.5-R11", "PCQ-3.1.1.5-R02")

RULE = Rule("PCQ445", "counters-of-handle-misreported", Level.SEQUENCES, Severity.ERROR)


@RULE.calls(REQUIREMENTS, INFO)
class _Lists(Watch[CallEvidence]):
    def __init__(self, evidence: Evidence) -> None:
        self._knowledge = evidence.knowledge

    def feed(self, call: CallEvidence) -> Iterator[Judgement]:
        assert call.response is not None
        found = held_of(call, self._knowledge)
        if isinstance(found, str):
            yield from cannot_say(REQUIREMENTS, found, call)
            return
        _, held = found
        blocks = call.response.identifiers.blocks
        missing, extra = _compared(held, blocks)
        violations = [
            Violation(block.path, (block.at, block.at + block.size), "a counter that was added", _described(block))
            for block in extra
        ]
        message = "a counter is reported that was not added to the handle, or was removed from it"
        yield from judgements(
            call,
            "response",
            REQUIREMENTS,
            len(blocks) if not missing else len(violations),
            violations,
            message,
            confidence=Confidence.MEDIUM,
        )
        violations = [
            Violation("lpData", (0, len(call.response.data)), _named(one), "not among those reported")
            for one in missing
        ]
        message = "a counter that was added to the handle is not reported"
        yield from judgements(
            call, "response", REQUIREMENTS, len(violations), violations, message, confidence=Confidence.MEDIUM
        )


def _compared(
    held: Iterable[Identifier], blocks: Iterable[IdentifierBlock]
) -> tuple[list[Identifier], list[IdentifierBlock]]:
    """What is held and not reported, and what is reported and not held; any instance id is that of the one that was named."""
    kept: dict[tuple[str, int, str], dict[int, Identifier]] = {}
    for one in held:
        alike = kept.setdefault((one.counterset, one.counter_id, (one.instance or "").casefold()), {})
        alike[one.instance_id] = one
    extra = []
    for block in blocks:
        alike = kept.get((block.counterset, block.counter_id, (block.name or "").casefold()), {})
        for instance_id in (block.instance_id, NONE_ID):
            if alike.pop(instance_id, None) is not None:
                break
        else:
            if alike and block.instance_id == NONE_ID:
                alike.popitem()
            else:
                extra.append(block)
    return [one for alike in kept.values() for one in alike.values()], extra


def _described(block: IdentifierBlock) -> str:
    return f"counter {block.counter_id} of {block.counterset}, instance {block.name!r}"


def _named(one: Identifier) -> str:
    return f"counter {one.counter_id} of {one.counterset}, instance {one.instance!r}"
