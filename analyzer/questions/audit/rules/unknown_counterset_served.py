"""A server answered about a counterset that it does not list, or denied one that it does.

Looks for: registration information and instances of countersets that none of the server's lists in the capture contains, and
other errors than ERROR_WMI_GUID_NOT_FOUND (0x1068) for these; and 0x1068 for one that some list does (a warning).

Why it matters: the list is how clients learn what there is. What is not in it can only be found by those who know it already.

Specification: [MS-PCQ] sections 3.1.4.1.2 and 3.1.4.1.3: the server returns ERROR_WMI_GUID_NOT_FOUND if it has no counterset of
that GUID, or does not find the provider that it belongs to. Section 3.1.4.1.1: EnumerateCounterSet returns all that there are.

Flagged: a list of two countersets, and data, a size or error 2 for a third.

Accepted: 0x1068 for a GUID that is in no list.

Silent: where no list of the server was captured. A counterset may be registered after the list was made, so this is not certain.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.evidence import CallEvidence, Evidence
from analyzer.questions.audit.rule import Level, Reads, Rule, Watch
from analyzer.questions.audit.verdicts import At, Confidence, Judgement, Severity, failed, inconclusive, passed, warned
from analyzer.questions.audit.wire import returned
from analyzer.results.perflib import Opnum

REQUIREMENTS = {
    Opnum.QUERY_COUNTER_SET_REGISTRATION_INFO: "PCQ-3.1.4.1.2-R10",
    Opnum.ENUMERATE_COUNTER_SET_INSTANCES: "PCQ-3.1.4.1.3-R09",
}
GUID_NOT_FOUND = 0x1068
# Success, and a buffer that is too small for the answer: the counterset was found.
_SERVED = (0, 8)
# Refusals that come before the counterset is looked for, and what may go wrong at any time.
_ELSEWHERE = (5, 0xE, 0x5AA)

RULE = Rule("PCQ702", "unknown-counterset-served", Level.SEQUENCES, Severity.ERROR)


@RULE.calls(
    tuple(REQUIREMENTS.values()),
    Reads(tuple(REQUIREMENTS), ("request", "response")),
    by_method={opnum: (requirement,) for opnum, requirement in REQUIREMENTS.items()},
)
class _Countersets(Watch[CallEvidence]):
    def __init__(self, evidence: Evidence) -> None:
        self._knowledge = evidence.knowledge

    def feed(self, call: CallEvidence) -> Iterator[Judgement]:
        if call.status in _ELSEWHERE or call.asked.get("RequestCode", 1) not in range(1, 11):
            return
        requirement = REQUIREMENTS[Opnum(call.opnum or 0)]
        guid = call.asked["CounterSetGuid"]
        is_listed = self._knowledge.lists_counterset(call.server, guid)
        if is_listed is None:
            yield inconclusive(requirement, "no list of the server's countersets is in the capture", call)
        elif call.status in _SERVED and not is_listed:
            yield failed(
                requirement,
                call,
                At("request", "CounterSetGuid"),
                "the server answered about a counterset that it does not list",
                expected="ERROR_WMI_GUID_NOT_FOUND (0x1068)",
                seen=guid,
                confidence=Confidence.MEDIUM,
            )
        elif not is_listed and call.status != GUID_NOT_FOUND:
            yield failed(
                requirement,
                call,
                At("response", "status"),
                "the server denied a counterset that it does not list by another error",
                expected="ERROR_WMI_GUID_NOT_FOUND (0x1068)",
                seen=returned(call),
                confidence=Confidence.MEDIUM,
            )
        elif call.status == GUID_NOT_FOUND and is_listed:
            yield warned(
                requirement,
                call,
                At("response", "status"),
                "the server does not find a counterset that it lists, or not its provider",
                expected="an answer",
                seen="ERROR_WMI_GUID_NOT_FOUND (0x1068)",
                confidence=Confidence.LOW,
            )
        elif not is_listed:
            yield passed(requirement)
