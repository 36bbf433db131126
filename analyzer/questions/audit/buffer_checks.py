"""Helpers of rules about buffers: which calls carry them, and how many violations alike become one finding."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import wraps
from typing import Any

from analyzer.questions.audit.call_evidence import CallEvidence
from analyzer.questions.audit.data_answers import DataAnswer, Flaw
from analyzer.questions.audit.rule_registry import Look, OfMethods, Reads, of_calls
from analyzer.questions.audit.rule_verdicts import (
    At,
    Judgement,
    OfCall,
    Requirements,
    Violation,
    failed,
    inconclusive,
    passed,
    warned,
)
from analyzer.results.methods.perflib import Opnum

# Data answers, damaged or not: each block says by itself whether it can be read.
DATA = Reads((Opnum.QUERY_COUNTER_DATA,), ("response.lpData",), success=True, damaged=True)
# Identifiers: of the answer of QueryCounterInfo, of the request of ValidateCounters, and of both sides of it.
INFO = Reads((Opnum.QUERY_COUNTER_INFO,), ("response.lpData",), success=True)
INFO_DAMAGED = Reads((Opnum.QUERY_COUNTER_INFO,), ("response.lpData",), success=True, damaged=True)
ASKED = Reads((Opnum.VALIDATE_COUNTERS,), ("request.lpData",))
ASKED_DAMAGED = Reads((Opnum.VALIDATE_COUNTERS,), ("request.lpData",), damaged=True)
ANSWERED_DAMAGED = Reads(
    (Opnum.QUERY_COUNTER_INFO, Opnum.VALIDATE_COUNTERS), ("response.lpData",), success=True, damaged=True
)
VALIDATED = Reads((Opnum.VALIDATE_COUNTERS,), ("request.lpData", "response.lpData"), success=True)
UNREADABLE = "the response stub does not decode"


def judgements(
    call: OfCall,
    looked_at: int,
    violations: Sequence[Violation | Flaw],
    message: str,
    *,
    of: Requirements = (),
    warn: bool = False,
    note: bool = False,
    **facts: Any,
) -> Iterator[Judgement]:
    """Yields the verdict of a check on `looked_at` things in a buffer of which some are `violations`: it shows the first violation
    and counts the others.

    A `note` is a warning that only informs; `facts` are further fields of `Judgement`.
    """
    of = of if isinstance(of, tuple) else (of,)
    if looked_at > len(violations):
        yield passed(*of, count=looked_at - len(violations))
    if violations:
        first = violations[0]
        message = f"{message}, the first of several" if len(violations) > 1 else message
        at = At(call.judged_side, first.path, first.span)
        say = warned if warn or note else failed
        yield say(call, at, message, first.expected, first.seen, of=of, note=note, **facts)


OfAnswers = Callable[[CallEvidence, DataAnswer], Iterable[Judgement]]


def of_data(requirements: OfMethods, *, of_each: bool = False) -> Callable[[OfAnswers], Look[CallEvidence]]:
    """Decorates a check of buffers that are data answers, damaged or not. If the stub itself does not decode, the verdict is
    inconclusive."""

    def look_of(check: OfAnswers) -> Look[CallEvidence]:
        @of_calls(requirements, DATA, of_each=of_each)
        @wraps(check)
        def look(call: CallEvidence) -> Iterator[Judgement]:
            if call.reply.is_readable:
                yield from check(call, call.reply.answer)
            else:
                yield inconclusive(UNREADABLE, call)

        return look

    return look_of
