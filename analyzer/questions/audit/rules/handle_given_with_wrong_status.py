"""OpenQueryHandle succeeded without a handle, or failed and gave one.

Looks for: return value 0 with a handle of zeros; another return value with a handle that is none, and whether that handle works.

Why it matters: a client that gets success calls on with the handle it got. One that gets an error throws away what
came with it, and never closes it.

Specification: [MS-PCQ] section 2.2.1: the server returns the handle when the client begins; section 3.1.4.1.4: the method returns
a handle, or an error. A null context handle is 20 zero bytes (C706 appendix N).

Flagged: return value 0 and 20 zero bytes; return value 5 and a handle that a later QueryCounterData succeeds with.

Accepted: return value 5 and 20 zero bytes. A handle along with an error that nobody uses is a warning.

Silent: where the answer is sealed or was not captured, and where a fault was the answer.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.evidence import CallEvidence, Evidence
from analyzer.questions.audit.rule import Level, Reads, Rule, Watch
from analyzer.questions.audit.verdicts import At, Judgement, Severity, failed, passed, warned
from analyzer.questions.audit.wire import NULL_HANDLE, returned
from analyzer.results.perflib import Opnum

ON_SUCCESS, ON_FAILURE = "PCQ-2.2.1-R02", "PCQ-3.1.4.1.4-R09"

RULE = Rule("PCQ710", "handle-given-with-wrong-status", Level.SEQUENCES, Severity.ERROR)


@RULE.calls((ON_SUCCESS, ON_FAILURE), Reads((Opnum.OPEN_QUERY_HANDLE,), ("response",)))
class _Openings(Watch[CallEvidence]):
    def __init__(self, evidence: Evidence) -> None:
        # The first call with success on each handle that no successful call had given out before.
        self._working: dict[tuple[str, str], int] = {}
        for lifetime in evidence.lifetimes:
            if lifetime.origin != "opened":
                for event in lifetime.events:
                    if event.succeeded:
                        self._working.setdefault((lifetime.server.ip, lifetime.handle), event.call)

    def feed(self, call: CallEvidence) -> Iterator[Judgement]:
        handle = call.answered["phQuery"]["uuid"]
        at = At("response", "phQuery")
        if call.status == 0:
            if handle == NULL_HANDLE:
                message = "the server opened a query and gave no handle for it"
                yield failed(ON_SUCCESS, call, at, message, expected="a handle", seen="20 zero bytes")
            else:
                yield passed(ON_SUCCESS)
        elif handle == NULL_HANDLE:
            yield passed(ON_FAILURE)
        else:
            message, seen = "the server gave a handle along with an error", f"{handle}, {returned(call)}"
            worked = self._working.get((call.server, handle))
            if worked is not None and worked > call.number:
                message = f"{message}, and call {worked} succeeded with it"
                yield failed(ON_FAILURE, call, at, message, expected="20 zero bytes", seen=seen)
            else:
                yield warned(ON_FAILURE, call, at, message, expected="20 zero bytes", seen=seen)
