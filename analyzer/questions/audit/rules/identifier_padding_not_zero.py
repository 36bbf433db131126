"""The padding after the name of an answered identifier is not zero.

Looks for: identifiers of QueryCounterInfo in which other bytes than zeros follow the NUL of the name.

Why it matters: padding that is not cleared carries old memory of the server to whoever asks.

Specification: [MS-PCQ] section 3.1.4.1.5, at figure 4, demands that the server sets these bytes to 0. That clients ignore them
does not show in traffic.

Flagged: a name of 2 characters and its NUL, then the bytes 41 00.

Accepted: the same with 00 00; anything in what clients send.

Silent: where the answer is sealed or was not captured; behind a Size that leads nowhere.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.checks import Violation, judgements
from analyzer.questions.audit.evidence import CallEvidence
from analyzer.questions.audit.rule import Level, Reads, Rule
from analyzer.questions.audit.verdicts import Judgement, Severity
from analyzer.results.perflib import Opnum

REQUIREMENTS = ("PCQ-3.1.4.1.5-R17",)

RULE = Rule("PCQ416", "identifier-padding-not-zero", Level.BUFFERS, Severity.WARNING)


@RULE.calls(REQUIREMENTS, Reads((Opnum.QUERY_COUNTER_INFO,), ("response.lpData",), success=True, damaged=True))
def check(call: CallEvidence) -> Iterator[Judgement]:
    assert call.response is not None
    violations: list[Violation] = []
    looked_at = 0
    for block in call.response.identifiers.blocks:
        start, stop = block.padding
        padding = call.response.data[start:stop]
        looked_at += bool(padding)
        if any(padding):
            violations.append(
                Violation(f"{block.path}.name_padding", (start, stop), bytes(len(padding)).hex(" "), padding.hex(" "))
            )
    message = "the padding after the name of an identifier is not zero"
    yield from judgements(call, "response", REQUIREMENTS, looked_at, violations, message)
