"""A list of instances is empty without saying so, or longer than its counterset may be.

Looks for: EnumerateCounterSetInstances that succeeds with no instance (a warning), ERROR_WMI_INSTANCE_NOT_FOUND (0x1069) along
with data (a warning), and success with several instances of a counterset that is registered as single-instance.

Why it matters: that there is nothing to read has its own error code. Several instances of a set that has one mean that provider
and registration are of different versions, and the server should not pass that on.

Specification: [MS-PCQ] section 3.1.4.1.3: ERROR_WMI_INSTANCE_NOT_FOUND where there are no active instances;
ERROR_WMI_INVALID_REGINFO (0x1073) where the provider reports other than was registered, such as several instances of a
single-instance counterset.

Flagged: return value 0 and no data; return value 0 and two instances of a counterset whose InstanceType is 0.

Accepted: 0x1069 without data; 0x1073 at any time; one instance, with or without a name, of a single-instance counterset.

Silent: where the registration of the counterset is not in the capture (on the number of instances), or the answer is sealed.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.checks import NO_REGISTRATION
from analyzer.questions.audit.evidence import CallEvidence
from analyzer.questions.audit.rule import Level, Reads, Rule
from analyzer.questions.audit.verdicts import At, Judgement, Severity, failed, inconclusive, passed, warned
from analyzer.results.perflib import Opnum

NONE_ACTIVE, REGINFO = "PCQ-3.1.4.1.3-R11", "PCQ-3.1.4.1.3-R12"
INSTANCE_NOT_FOUND, INVALID_REGINFO = 0x1069, 0x1073
_SINGLE = 0

RULE = Rule("PCQ704", "instances-against-registration", Level.SEQUENCES, Severity.ERROR)


@RULE.calls((NONE_ACTIVE, REGINFO), Reads((Opnum.ENUMERATE_COUNTER_SET_INSTANCES,), ("request", "response")))
def check(call: CallEvidence) -> Iterator[Judgement]:
    assert call.response is not None
    size = len(call.response.data)
    if call.status == INSTANCE_NOT_FOUND:
        if size:
            message = "data came along with the error that there are no instances"
            yield warned(NONE_ACTIVE, call, At("response", "pdwOutSize"), message, expected="0", seen=str(size))
        else:
            yield passed(NONE_ACTIVE)
    elif call.status == INVALID_REGINFO:
        yield passed(REGINFO)
    elif call.status == 0:
        if size:
            yield from _registered(call)
        else:
            yield warned(
                NONE_ACTIVE,
                call,
                At("response", "pdwOutSize"),
                "the server listed no instances and called that success",
                expected="ERROR_WMI_INSTANCE_NOT_FOUND (0x1069)",
                seen="0 bytes",
            )


def _registered(call: CallEvidence) -> Iterator[Judgement]:
    assert call.response is not None
    if call.response.buffer is not None and call.response.buffer.problem is not None:
        yield inconclusive(REGINFO, "the buffer of the response is damaged", call)
        return
    entry = call.catalog.countersets.get(call.asked["CounterSetGuid"])
    if entry is None or entry.instance_type is None:
        yield inconclusive(REGINFO, NO_REGISTRATION, call)
        return
    instances = len(call.response.tree.get("instances", ()))
    if entry.instance_type == _SINGLE and instances > 1:
        yield failed(
            REGINFO,
            call,
            At("response", "lpData.instances[1]"),
            "the server listed several instances of a single-instance counterset",
            expected="one, or ERROR_WMI_INVALID_REGINFO (0x1073)",
            seen=str(instances),
        )
