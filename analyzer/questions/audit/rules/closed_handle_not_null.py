"""CloseQueryHandle gave the handle back.

Looks for: successful answers of CloseQueryHandle whose handle is not 20 zero bytes.

Why it matters: the null handle informs the client's runtime that the context is gone. One that gets the handle back keeps it, and
uses or closes it again.

Specification: [MS-PCQ] section 3.1.4.1.8: on return, phQuery is NULL.

Flagged: return value 0 and the handle that was sent.

Accepted: return value 0 and 20 zero bytes; the handle along with an error, since it stays open then.

Silent: where the answer is sealed or was not captured, and where a fault was the answer.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.evidence import CallEvidence
from analyzer.questions.audit.rule import Level, Reads, Rule
from analyzer.questions.audit.verdicts import At, Judgement, Severity, failed, passed
from analyzer.questions.audit.wire import NULL_HANDLE
from analyzer.results.perflib import Opnum

REQUIREMENT = "PCQ-3.1.4.1.8-R06"

RULE = Rule("PCQ711", "closed-handle-not-null", Level.SEQUENCES, Severity.ERROR)


@RULE.calls((REQUIREMENT,), Reads((Opnum.CLOSE_QUERY_HANDLE,), ("response",), success=True))
def check(call: CallEvidence) -> Iterator[Judgement]:
    handle = call.answered["phQuery"]
    if handle["uuid"] == NULL_HANDLE and not handle["attributes"]:
        yield passed(REQUIREMENT)
        return
    yield failed(
        REQUIREMENT,
        call,
        At("response", "phQuery"),
        "the server closed a query handle and gave it back",
        expected="20 zero bytes",
        seen=handle["uuid"],
    )
