"""Two active instances of a counterset have the same name and the same id.

Looks for: answers of EnumerateCounterSetInstances in which a name occurs twice with one InstanceId.

Why it matters: a client cannot ask for one of them, nor distinguish their values.

Specification: [MS-PCQ] section 2.2.4.5: two active instances should not share both; behaviour note <3>: Windows does not see
to it.

Flagged: `svchost` with id 7, twice.

Accepted: `svchost` twice with different ids.

Silent: where the answer is sealed, was not captured, or failed.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.evidence import CallEvidence
from analyzer.questions.audit.rule import Level, Reads, Rule
from analyzer.questions.audit.verdicts import At, Deviation, Judgement, Severity, passed, warned
from analyzer.results.perflib import Opnum

REQUIREMENT = "PCQ-2.2.4.5-R02"
_WINDOWS = Deviation("[MS-PCQ] behaviour note <3>", "Windows does not see to it that instances are distinct")

RULE = Rule("PCQ343", "instances-not-distinct", Level.VALUES, Severity.WARNING)


@RULE.calls((REQUIREMENT,), Reads((Opnum.ENUMERATE_COUNTER_SET_INSTANCES,), ("response.lpData",), success=True))
def check(call: CallEvidence) -> Iterator[Judgement]:
    assert call.response is not None
    seen: set[tuple[str, int]] = set()
    instances = call.response.tree.get("instances", ())
    for number, instance in enumerate(instances):
        key = instance["name"].casefold(), instance["instance_id"]
        if key in seen:
            at = At("response", f"lpData.instances[{number}]")
            message = "two instances have the same name and the same id"
            shown = f"{instance['name']} ({instance['instance_id']})"
            yield warned(REQUIREMENT, call, at, message, expected="another name or id", seen=shown, deviation=_WINDOWS)
        elif len(instances) > 1:
            yield passed(REQUIREMENT)
        seen.add(key)
