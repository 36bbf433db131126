"""A server answered a request for a buffer that is larger than the IDL allows.

Looks for: requests whose dwInSize is beyond the range of its method, and what the server answered.

Why it matters: the range is what bounds the memory that a server sets aside before it knows what it will answer. One that does
not check it can be asked for 4 GiB by anybody who may call.

Specification: [MS-PCQ] section 6 gives the ranges: 256 GUIDs for EnumerateCounterSet; 134217728 bytes for registration
information, 67108864 for instances, counter information and validation, 1073741824 for counter data. Section 3.1.4: the runtime
checks them; the answer is a fault (0x1C000007, 0x6C6, 0x6F7).

Flagged: dwInSize 0x10000000 for registration information, answered with data.

Accepted: any fault to such a request. A server that lists more than 256 countersets can only be asked by a larger dwInSize: that
is a warning, for its IDL has another range. Requests within the range do not exercise the requirement.

Silent: where the request is sealed or was not captured, or its answer was not captured.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.evidence import CallEvidence
from analyzer.questions.audit.rule import Level, Reads, Rule
from analyzer.questions.audit.rules.size_out_of_range import LIMITS
from analyzer.questions.audit.verdicts import At, Judgement, Severity, failed, inconclusive, passed, warned
from analyzer.results.perflib import Opnum

REQUIREMENT = "PCQ-3.1.4-R04"

RULE = Rule("PCQ123", "size-out-of-range-served", Level.RPC, Severity.ERROR)


@RULE.calls((REQUIREMENT,), Reads(tuple(LIMITS), ("request",)))
def check(call: CallEvidence) -> Iterator[Judgement]:
    opnum, size = Opnum(call.opnum or 0), call.asked["dwInSize"]
    limit, _ = LIMITS[opnum]
    if size <= limit:
        return
    if call.fault is not None:
        yield passed(REQUIREMENT)
        return
    if call.decoded.response is None:
        yield inconclusive(REQUIREMENT, "what came of a request for a buffer out of range was not captured", call)
        return
    message = "the server answered a request for a buffer out of range"
    expected = f"a fault for more than {limit}"
    outcome = warned if opnum == Opnum.ENUMERATE_COUNTER_SET else failed
    yield outcome(REQUIREMENT, call, At("request", "dwInSize"), message, expected=expected, seen=str(size))
