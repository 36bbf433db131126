"""What rules about buffers have in common: which calls carry them, and how many violations alike become one finding."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple, Protocol

from analyzer.core.win32 import win32_name
from analyzer.questions.audit.answers import DataAnswer
from analyzer.questions.audit.evidence import CallEvidence, SideEvidence
from analyzer.questions.audit.identifiers import IdentifierBlock
from analyzer.questions.audit.rule import Reads, Rule
from analyzer.questions.audit.verdicts import (
    At,
    Confidence,
    Deviation,
    Judgement,
    OfCall,
    SideName,
    failed,
    inconclusive,
    passed,
    warned,
)
from analyzer.results.perflib import Opnum

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


class Located(Protocol):
    """Something that is not as it should be, and where."""

    @property
    def path(self) -> str: ...
    @property
    def span(self) -> tuple[int, int]: ...
    @property
    def expected(self) -> str: ...
    @property
    def seen(self) -> str: ...


class Violation(NamedTuple):
    """A violation that is all that is known of it."""

    path: str
    span: tuple[int, int]
    expected: str
    seen: str


def judgements(
    call: OfCall,
    side: SideName,
    requirements: tuple[str, ...],
    looked_at: int,
    violations: Sequence[Located],
    message: str,
    *,
    warn: bool = False,
    note: bool = False,
    confidence: Confidence = Confidence.HIGH,
    deviation: Deviation | None = None,
) -> Iterator[Judgement]:
    """The verdict on `looked_at` things of which some are `violations`: the first is shown, the others are counted.

    A `note` is a warning that only informs.
    """
    if looked_at > len(violations):
        for requirement in requirements:
            yield passed(requirement, looked_at - len(violations))
    if not violations:
        return
    first = violations[0]
    if len(violations) > 1:
        message = f"{message}, the first of several"
    say = warned if warn or note else failed
    yield say(
        requirements[0],
        call,
        At(side, first.path, first.span),
        message,
        expected=first.expected,
        seen=first.seen,
        confidence=confidence,
        deviation=deviation,
        also=requirements[1:],
        note=note,
    )


OfAnswers = Callable[[CallEvidence, DataAnswer], Iterable[Judgement]]


def data_answers(
    rule: Rule, requirements: tuple[str, ...], *, of_values: bool = False
) -> Callable[[OfAnswers], OfAnswers]:
    """Decorates what judges data answers, whether damaged or not; where the stub itself is, nothing can be stated."""

    def take(check: OfAnswers) -> OfAnswers:
        @rule.calls(requirements, DATA, of_values=of_values)
        def look(call: CallEvidence) -> Iterator[Judgement]:
            assert call.response is not None
            if call.response.is_readable:
                yield from check(call, call.response.answer)
            else:
                yield from cannot_say(requirements, "the response stub does not decode", call)

        return check

    return take


def judged_chain(call: OfCall, side: SideEvidence, requirements: tuple[str, ...]) -> Iterator[Judgement]:
    """The verdict on the sizes that lead from identifier to identifier, damaged or not, on one side of a call."""
    if not side.is_readable:
        yield from cannot_say(requirements, f"the {side.name} stub does not decode", call)
        return
    flaw = side.identifiers.flaw
    violations = [flaw] if flaw is not None else []
    message = "the size of an identifier does not lead to the next one"
    if flaw is not None and not flaw.path.endswith(".size"):
        message = "the buffer ends before an identifier does"
    yield from judgements(call, side.name, requirements, len(side.identifiers.blocks), violations, message)


def cannot_say(requirements: Iterable[str], reason: str, call: OfCall) -> Iterator[Judgement]:
    for requirement in requirements:
        yield inconclusive(requirement, reason, call)


def status_violation(code: int) -> Literal["warn", "fail"] | None:
    """Whether a status is none: HRESULT and NTSTATUS values are not of the Win32 space ([MS-PCQ] section 1.8), and [MS-ERREF]
    section 2.2 assigns no codes from 16000 on. Which codes below are assigned does not matter: a provider's own pass through."""
    if code & 0x80000000:
        return "fail"
    return "warn" if code >= 16000 and win32_name(code) is None else None


def has_instances(call: OfCall, counterset: str) -> bool | None:
    """Whether a counterset has instances with names, by its registration ([MS-PCQ] section 2.2.4.1); None where that is not in the
    capture, or leaves it open: aggregates over all instances."""
    entry = call.catalog.countersets.get(counterset)
    if entry is None or entry.instance_type is None:
        return None
    return {0: False, 2: True, 6: True, 0x16: True}.get(entry.instance_type)


NO_REGISTRATION = "the registration of the counterset is not in the capture"


def identifiers_of(side: SideEvidence | None) -> Sequence[IdentifierBlock]:
    """The identifiers of a side that can be read, as far as their sizes lead."""
    if side is None or not side.is_readable or side.side.buffer_kind != "identifiers":
        return ()
    return side.identifiers.blocks
