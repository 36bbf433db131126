"""The name after a counter identifier is not UTF-16 text.

Looks for: identifiers whose name has an odd number of bytes, or a surrogate without its pair, in QueryCounterInfo and
ValidateCounters.

Why it matters: the name selects the instance. One that cannot be compared selects nothing, or another one.

Specification: [MS-PCQ] section 2.2.4.6: the structure is followed by the instance name, as a Unicode string; section 2.2.4
makes its units little-endian.

Flagged: Size 43, so that the name has 3 bytes. A warning: the unit D800 before an "a".

Accepted: names of any characters; no name.

Silent: where the message is sealed or was not captured; behind a Size that leads nowhere.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.interfaces.buffers.text import utf16_length
from analyzer.questions.audit.checks import ANSWERED_DAMAGED, ASKED_DAMAGED, Violation, identifiers_of, judgements
from analyzer.questions.audit.evidence import AskedEvidence, CallEvidence, SideEvidence
from analyzer.questions.audit.identifiers import HEADER
from analyzer.questions.audit.rule import Level, Rule
from analyzer.questions.audit.verdicts import Judgement, OfCall, Severity

REQUIREMENTS = ("PCQ-2.2.4.6-R04",)

RULE = Rule("PCQ405", "identifier-name-not-utf16", Level.BUFFERS, Severity.WARNING)


@RULE.requests(REQUIREMENTS, ASKED_DAMAGED)
def asked(call: AskedEvidence) -> Iterator[Judgement]:
    yield from _judged(call, call.request)


@RULE.calls(REQUIREMENTS, ANSWERED_DAMAGED)
def check(call: CallEvidence) -> Iterator[Judgement]:
    yield from _judged(call, call.response)


def _judged(call: OfCall, side: SideEvidence | None) -> Iterator[Judgement]:
    uneven: list[Violation] = []
    unpaired: list[Violation] = []
    blocks = identifiers_of(side)
    for block in blocks:
        text = block.room[: utf16_length(block.room)]
        span = (block.at + HEADER, block.at + HEADER + len(text))
        if len(block.room) % 2:
            span = (span[0], block.at + block.size)
            uneven.append(Violation(f"{block.path}.name", span, "an even number of bytes", f"{len(block.room)} bytes"))
        elif text.decode("utf-16-le", "replace") != text.decode("utf-16-le", "surrogatepass"):
            unpaired.append(Violation(f"{block.path}.name", block.name_span, "pairs of surrogates", text.hex(" ", 2)))
    if side is None:
        return
    named = sum(bool(block.room) for block in blocks) - len(unpaired)
    message = "the name after an identifier has half a character at its end"
    yield from judgements(call, side.name, REQUIREMENTS, named, uneven, message)
    message = "the name after an identifier has a surrogate without its pair"
    yield from judgements(call, side.name, REQUIREMENTS, 0, unpaired, message, warn=True)
