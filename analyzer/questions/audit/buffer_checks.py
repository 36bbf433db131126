"""Helpers of rules about buffers: which calls carry them, and how many violations alike become one finding."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import wraps
from typing import Any, Literal

from analyzer.core.win32_errors import win32_name
from analyzer.questions.audit.call_evidence import CallEvidence, SideEvidence
from analyzer.questions.audit.data_answers import DataAnswer, Flaw
from analyzer.questions.audit.identifier_lists import IdentifierBlock
from analyzer.questions.audit.rule_registry import Look, OfMethods, Reads, of_calls
from analyzer.questions.audit.rule_verdicts import Judgement, OfCall, Requirements, failed, inconclusive, passed, warned
from analyzer.questions.audit.violation_places import At, Violation
from analyzer.results.methods.perflib import Opnum

# Data answers, damaged or not: each block says by itself whether it can be read.
DATA = Reads((Opnum.QUERY_COUNTER_DATA,), ("response.lpData",), success=True, damaged=True)
# Identifiers: of the answer of QueryCounterInfo, of the request of ValidateCounters, and of both sides of it.
INFO = Reads((Opnum.QUERY_COUNTER_INFO,), ("response.lpData",), success=True)
ASKED = Reads((Opnum.VALIDATE_COUNTERS,), ("request.lpData",))
ASKED_DAMAGED = Reads((Opnum.VALIDATE_COUNTERS,), ("request.lpData",), damaged=True)
ANSWERED_DAMAGED = Reads(
    (Opnum.QUERY_COUNTER_INFO, Opnum.VALIDATE_COUNTERS), ("response.lpData",), success=True, damaged=True
)
VALIDATED = Reads((Opnum.VALIDATE_COUNTERS,), ("request.lpData", "response.lpData"), success=True)


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
    """Yields the verdict on `looked_at` things of which some are `violations`: it shows the first violation and counts the others.

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
    """Decorates a check of data answers, damaged or not. If the stub itself does not decode, the verdict is inconclusive."""

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


def status_violation(code: int) -> Literal["warn", "fail"] | None:
    """Tells whether a status is no Win32 error code: HRESULT and NTSTATUS values ([MS-PCQ] section 1.8) fail, unassigned codes from
    16000 on ([MS-ERREF] section 2.2) warn. Lower codes always pass: a provider's own pass through."""
    if code & 0x80000000:
        return "fail"
    return "warn" if code >= 16000 and win32_name(code) is None else None


def instance_type_of(call: OfCall, counterset: str) -> int | None:
    """Returns the instance type that a counterset was registered with ([MS-PCQ] section 2.2.4.1); None if that was not captured."""
    entry = call.catalog.countersets.get(counterset)
    return entry.instance_type if entry is not None else None


def has_instances(call: OfCall, counterset: str) -> bool | None:
    """Tells whether a counterset has named instances, by its registration. None if that was not captured, or the type (an
    aggregate) leaves it open."""
    return {0: False, 2: True, 6: True, 0x16: True, None: None}.get(instance_type_of(call, counterset))


def counters_of_set(call: OfCall, counterset: str) -> frozenset[int] | None:
    """Returns the ids of a counterset's counters; None if its registration was not captured."""
    if instance_type_of(call, counterset) is None:
        return None
    counters = call.catalog.countersets[counterset].counters
    return frozenset(number for number, counter in counters.items() if counter.info is not None)


NO_REGISTRATION = "the registration of the counterset is not in the capture"
UNREADABLE = "the response stub does not decode"


def identifiers_of(side: SideEvidence | None) -> Sequence[IdentifierBlock]:
    """Returns the readable counter identifiers of one side of a call, as far as their sizes lead."""
    if side is None or not side.is_readable or side.side.buffer_kind != "identifiers":
        return ()
    return side.identifiers.blocks
