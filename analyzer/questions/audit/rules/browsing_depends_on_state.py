"""What a server reports about its countersets depends on more than the question.

Looks for: the same question for registration information of the same counterset, answered differently (a warning); and calls of
the browsing methods that end in a fault about a context handle, though they take none.

Why it matters: clients keep what they were sent. A server whose description depends on who asked before, or on open queries,
makes them take one counter for another.

Specification: [MS-PCQ] section 3.1.1.5: EnumerateCounterSet, EnumerateCounterSetInstances and QueryCounterSetRegistrationInfo
leave no state behind; section 3.2.1: no handle is needed for them.

Flagged: a counterset with three counters, and later with four: it may have been registered anew, so this is no more than a
warning; fault 0x1C00001A to EnumerateCounterSet.

Accepted: equal answers; answers that differ in padding; instances that come and go.

Silent: where a question was asked once, and where its answers are sealed or were not captured.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b

from analyzer.questions.audit.evidence import CallEvidence, Evidence
from analyzer.questions.audit.rule import Level, Reads, Rule, Watch
from analyzer.questions.audit.verdicts import At, Confidence, Judgement, Severity, failed, passed, warned
from analyzer.results.perflib import Opnum

STATELESS, NO_HANDLE = "PCQ-3.1.1.5-R01", "PCQ-3.2.1-R01"
_CONTEXT_FAULTS = (0x1C00001A, 6, 1775, 1777)
_METHODS = (
    Opnum.ENUMERATE_COUNTER_SET,
    Opnum.QUERY_COUNTER_SET_REGISTRATION_INFO,
    Opnum.ENUMERATE_COUNTER_SET_INSTANCES,
)
# So many questions are remembered.
_MOST_QUESTIONS = 65_536

RULE = Rule("PCQ718", "browsing-depends-on-state", Level.SEQUENCES, Severity.WARNING)


@RULE.calls(
    (STATELESS, NO_HANDLE),
    Reads(_METHODS, ("request",)),
    by_method={
        opnum: (STATELESS, NO_HANDLE) if opnum == Opnum.QUERY_COUNTER_SET_REGISTRATION_INFO else (NO_HANDLE,)
        for opnum in _METHODS
    },
)
class _Answers(Watch[CallEvidence]):
    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        # The first answer to each question: its call and a hash of its data.
        self._first: dict[tuple[str, str, int, int], tuple[int, bytes]] = {}

    def feed(self, call: CallEvidence) -> Iterator[Judgement]:
        fault = call.fault
        if fault in _CONTEXT_FAULTS:
            message = "a method that takes no handle ended in a fault about one"
            yield failed(
                NO_HANDLE, call, At("response", "pdu.24:28"), message, expected="no handle", seen=f"{fault:#x}"
            )
        elif call.status == 0:
            yield passed(NO_HANDLE)
            if call.opnum == Opnum.QUERY_COUNTER_SET_REGISTRATION_INFO:
                yield from self._compared(call)

    def _compared(self, call: CallEvidence) -> Iterator[Judgement]:
        assert call.response is not None
        asked = call.asked
        question = (call.server, asked["CounterSetGuid"], asked["RequestCode"], asked["RequestLCID"])
        digest = blake2b(call.response.data, digest_size=16).digest()
        first = self._first.get(question)
        if first is None:
            if len(self._first) < _MOST_QUESTIONS:
                self._first[question] = call.number, digest
            return
        number, before = first
        if digest == before or self._says_the_same(call, number):
            yield passed(STATELESS)
            return
        self._first[question] = call.number, digest
        yield warned(
            STATELESS,
            call,
            At("response", "lpData"),
            "the same question about a counterset got another answer",
            expected=f"the answer of call {number}",
            seen=f"{len(call.response.data)} other bytes",
            confidence=Confidence.LOW,
        )

    def _says_the_same(self, call: CallEvidence, number: int) -> bool:
        """Whether two answers differ in bytes that mean nothing: the padding of section 3.1.4.1.2 is left as it was."""
        other = self._evidence.call(number).response
        assert call.response is not None
        return other is not None and bool(other.tree) and other.tree == call.response.tree
