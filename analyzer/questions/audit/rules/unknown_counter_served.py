"""A server answered about a counter that is not in its counterset, or gave another error than the one for it.

Looks for: QueryCounterSetRegistrationInfo with RequestCode 2 for a counter id that is in none of the server's descriptions of the
counterset (RequestCode 1), and the return value.

Why it matters: a client that asks for single counters goes by ERROR_WMI_ITEMID_NOT_FOUND to know which there are.

Specification: [MS-PCQ] section 3.1.4.1.2: ERROR_WMI_ITEMID_NOT_FOUND (0x106A) is for RequestCode 2, a counterset that exists, and
a counter id that is not in it.

Flagged: counters 1 to 3 registered, and data about counter 9; ERROR_INVALID_PARAMETER for it.

Accepted: 0x106A for counter 9; any answer for counter 2.

Silent: where the description of the counterset is not in the capture, or the answer is sealed or was not captured.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.interfaces.buffers.layout import COUNTER_INFO, COUNTERSET_INFO, u4s
from analyzer.questions.audit.evidence import CallEvidence, Evidence
from analyzer.questions.audit.rule import Level, Reads, Rule, Watch
from analyzer.questions.audit.verdicts import At, Confidence, Judgement, Severity, failed, inconclusive, passed
from analyzer.questions.audit.wire import returned
from analyzer.results.perflib import INTERFACE, Opnum, RequestCode

REQUIREMENT = "PCQ-3.1.4.1.2-R12"
ITEM_NOT_FOUND = 0x106A
# Refusals that come before the counter is looked for, and what may go wrong at any time.
_ELSEWHERE = (5, 0xE, 0x5AA, 0x1068)
# What a _PERF_COUNTERSET_REG_INFO is followed by begins with the id of a counter (2.2.4.1, 2.2.4.2).
_HEADER, _RECORD = COUNTERSET_INFO.size, COUNTER_INFO.size

RULE = Rule("PCQ703", "unknown-counter-served", Level.SEQUENCES, Severity.ERROR)


@RULE.calls(
    (REQUIREMENT,),
    Reads((Opnum.QUERY_COUNTER_SET_REGISTRATION_INFO,), ("request", "response"), codes=(RequestCode.COUNTER_STRUCT,)),
)
class _Counters(Watch[CallEvidence]):
    def __init__(self, evidence: Evidence) -> None:
        self._ids: dict[tuple[str, str], set[int]] = {}
        for call in evidence.calls_of(INTERFACE, Opnum.QUERY_COUNTER_SET_REGISTRATION_INFO):
            if (
                call.status == 0
                and call.response is not None
                and call.asked.get("RequestCode") == RequestCode.COUNTERSET_STRUCT
            ):
                data = call.response.data
                ids = self._ids.setdefault((call.server, call.asked["CounterSetGuid"]), set())
                ids.update(u4s(data, at, 1)[0] for at in range(_HEADER, len(data) - 3, _RECORD))

    def feed(self, call: CallEvidence) -> Iterator[Judgement]:
        counter = call.asked["RequestLCID"]
        known = self._ids.get((call.server, call.asked["CounterSetGuid"]))
        if call.status in _ELSEWHERE:
            return
        if known is None:
            yield inconclusive(REQUIREMENT, "the description of the counterset is not in the capture", call)
        elif counter in known:
            return
        elif call.status == ITEM_NOT_FOUND:
            yield passed(REQUIREMENT)
        else:
            yield failed(
                REQUIREMENT,
                call,
                At("response", "status"),
                f"the server did not say of counter {counter} that it is not in the counterset",
                expected="ERROR_WMI_ITEMID_NOT_FOUND (0x106a)",
                seen=returned(call),
                confidence=Confidence.HIGH if call.status == 0 else Confidence.MEDIUM,
            )
