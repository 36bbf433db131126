"""The attributes of a counter contradict each other, or have bits that do not exist.

Looks for: an Attrib with bits other than the five of the text; one that is not for display and also says how to display; one
that is hexadecimal and also without groups of digits, or a real number.

Why it matters: clients follow one attribute and break the other.

Specification: [MS-PCQ] section 2.2.4.2, Attrib: by reference may go with any other; not for display with none of the three
about display; hexadecimal with neither of the other two. perflib.h says of these three that they may be combined and ranks
them.

Flagged: Attrib 0x12 (not for display, hexadecimal).

Accepted: Attrib 0, and 0x11 (by reference, hexadecimal).

Silent: where the answer is sealed, was not captured, or failed.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.evidence import CallEvidence
from analyzer.questions.audit.registration import COUNTERS, records_of
from analyzer.questions.audit.rule import Level, Rule
from analyzer.questions.audit.verdicts import At, Deviation, Judgement, Severity, failed, passed

KNOWN, HIDDEN, HEX, REFERENCE = "PCQ-2.2.4.2-R42", "PCQ-2.2.4.2-R48", "PCQ-2.2.4.2-R49", "PCQ-2.2.4.2-R50"
_BY_REFERENCE, _NO_DISPLAY, _NO_GROUPS, _REAL, _HEX = 0x1, 0x2, 0x4, 0x8, 0x10
_SDK = Deviation(
    "perflib.h reference, PERF_COUNTER_REG_INFO", "the bits about display may be combined; one of them takes precedence"
)

RULE = Rule("PCQ317", "attributes-exclude-each-other", Level.BUFFERS, Severity.ERROR)


@RULE.calls((KNOWN, HIDDEN, HEX, REFERENCE), COUNTERS)
def check(call: CallEvidence) -> Iterator[Judgement]:
    for path, record in records_of(call):
        bits = record["attributes"]
        at = At("response", f"{path}.attributes")
        if bits & ~0x1F:
            yield failed(
                KNOWN, call, at, "an attribute has bits that do not exist", expected="bits of 0x1f", seen=f"{bits:#x}"
            )
        else:
            yield passed(KNOWN)
        if bits & _NO_DISPLAY and bits & (_NO_GROUPS | _REAL | _HEX):
            message = "a counter that is not for display says how it is displayed"
            yield failed(HIDDEN, call, at, message, expected="0x2 without 0x4, 0x8 and 0x10", seen=f"{bits:#x}")
        elif bits & _NO_DISPLAY:
            yield passed(HIDDEN)
        if bits & _HEX and bits & (_NO_GROUPS | _REAL):
            message = "a counter is displayed in hexadecimal and in another way as well"
            yield failed(HEX, call, at, message, expected="0x10 without 0x4 and 0x8", seen=f"{bits:#x}", deviation=_SDK)
        elif bits & _HEX:
            yield passed(HEX)
        if bits & _BY_REFERENCE:
            yield passed(REFERENCE)
