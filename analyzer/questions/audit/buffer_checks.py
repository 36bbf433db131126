"""Helpers of rules about buffers: which calls carry them, and how many violations alike become one finding.

They also read answers of QueryCounterSetRegistrationInfo ([MS-PCQ] sections 2.2.4.1 to 2.2.4.4 and 3.1.4.1.2).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import wraps
from typing import Any, Literal, NamedTuple

from analyzer.core.error_code_names import win32_name
from analyzer.interfaces.buffers.ambiguous_readings import string_table_base
from analyzer.interfaces.buffers.windows_text import utf16_length
from analyzer.questions.audit.call_evidence import CallEvidence, SideEvidence
from analyzer.questions.audit.data_answers import DataAnswer, Flaw
from analyzer.questions.audit.identifier_lists import IdentifierBlock
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
from analyzer.results.methods.perflib import NONE_ID, Opnum, RequestCode

# -------------------------------------------------------------------------------------------------------- buffer checks


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


def status_violation(code: int) -> Literal["warn", "fail"] | None:
    """Checks a status in a buffer: HRESULT and NTSTATUS values ([MS-PCQ] section 1.8) fail, unassigned codes from 16000 on
    ([MS-ERREF] section 2.2) warn. Lower codes always pass: a provider's own pass through."""
    if code & 0x80000000:
        return "fail"
    return "warn" if code >= 16000 and win32_name(code) is None else None


def instance_type_of(call: OfCall, counterset: str) -> int | None:
    """Returns, for checks of buffers, the instance type that a counterset was registered with ([MS-PCQ] section 2.2.4.1); None if
    that was not captured."""
    entry = call.catalog.countersets.get(counterset)
    return entry.instance_type if entry is not None else None


def has_instances(call: OfCall, counterset: str) -> bool | None:
    """Tells checks of buffers whether a counterset has named instances, by its registration. None if that was not captured, or the
    type (an aggregate) leaves it open."""
    return {0: False, 2: True, 6: True, 0x16: True, None: None}.get(instance_type_of(call, counterset))


def counters_of_set(call: OfCall, counterset: str) -> frozenset[int] | None:
    """Returns, for checks of buffers, the ids of a counterset's counters; None if its registration was not captured."""
    if instance_type_of(call, counterset) is None:
        return None
    counters = call.catalog.countersets[counterset].counters
    return frozenset(number for number, counter in counters.items() if counter.info is not None)


NO_REGISTRATION = "the registration of the counterset is not in the capture"
UNREADABLE = "the response stub does not decode"


def identifiers_of(side: SideEvidence | None) -> Sequence[IdentifierBlock]:
    """Returns the readable counter identifiers in the buffer of one side of a call, as far as their sizes lead."""
    if side is None or not side.is_readable or side.side.buffer_kind != "identifiers":
        return ()
    return side.identifiers.blocks


# ------------------------------------------------------------------------------------------------- registration answers


_METHOD = (Opnum.QUERY_COUNTER_SET_REGISTRATION_INFO,)
_SET = (RequestCode.COUNTERSET_STRUCT,)
_BOTH = (RequestCode.COUNTERSET_STRUCT, RequestCode.COUNTER_STRUCT)

# Answers with the record of a counterset and of its counters: as they decode, whatever they are, and together with their request.
COUNTERSET = Reads(_METHOD, ("response.lpData",), success=True, codes=_SET)
COUNTERSET_DAMAGED = Reads(_METHOD, ("response.lpData",), success=True, codes=_SET, damaged=True)
COUNTERSET_ASKED = Reads(_METHOD, ("request", "response.lpData"), success=True, codes=_SET)
# Answers with records of counters: all of a set, or one.
COUNTERS = Reads(_METHOD, ("response.lpData",), success=True, codes=_BOTH)
COUNTERS_ASKED = Reads(_METHOD, ("request", "response.lpData"), success=True, codes=_BOTH)


def answers_to(*codes: int) -> Reads:
    """Returns what rules read that check the buffers of successful registration answers to these request codes, whether they decode
    or not."""
    return Reads(_METHOD, ("response.lpData",), success=True, codes=codes, damaged=True)


def records_of(call: CallEvidence) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields the records of counters in the buffer of a registration answer, each with its path."""
    tree = call.reply.tree
    if "counter" in tree:
        yield "lpData.counter", tree["counter"]
    for number, record in enumerate(tree.get("counters", ())):
        yield f"lpData.counters[{number}]", record


def ids_of_set(call: CallEvidence) -> frozenset[int] | None:
    """Returns, for checks of buffers, the counter ids of the counterset that a registration call asks about; None if no
    registration was captured."""
    return counters_of_set(call, call.asked.get("CounterSetGuid", ""))


def types_of_set(call: CallEvidence) -> dict[int, int] | None:
    """Returns, for checks of buffers, the counter types, by id, of the counterset that a registration answer is about. They come
    from this answer if it describes the whole set, else from other answers. None if no registration of the set was captured."""
    if "counters" in call.reply.tree:
        return {record["counter_id"]: record["counter_type"] & 0xFFFFFFFF for _, record in records_of(call)}
    ids = ids_of_set(call)
    if ids is None:
        return None
    counters = call.catalog.countersets[call.asked["CounterSetGuid"]].counters
    types = {number: counters[number].info for number in ids}
    return {number: info["counter_type"] & 0xFFFFFFFF for number, info in types.items() if info is not None}


def text_flaw(data: bytes) -> tuple[str, int, int] | None:
    """Checks whether the buffer of a registration answer is a single UTF-16 string; returns why it is none, and where; None if it
    is one. Behind its NUL, an even number of less than 8 bytes may be padding."""
    end = utf16_length(data) + 2
    if end > len(data):
        return "has no NUL", max(0, len(data) - 2), len(data)
    if len(data) - end >= 8:
        return "goes on behind its NUL", end, len(data)
    if len(data) % 2:
        return "has half a character behind its NUL", len(data) - 1, len(data)
    return None


class StringOffsets(NamedTuple):
    """What a check finds of a string table in a buffer: the base of its offsets (0: its start, else the end of its headers), and
    the offsets that lead to no string."""

    base: int
    lost: list[int]

    @property
    def counts_from_start(self) -> bool:
        return not self.base


def string_offsets(data: bytes, offsets: Sequence[int], head: int) -> StringOffsets:
    """Checks the offsets of a string table in a buffer: returns the base with which fewer are lost; if both are equal, the one that
    decoding takes. `head` bytes are headers."""
    taken, _ = string_table_base(data)
    bases = (taken, 0 if taken else head)
    return min(
        (StringOffsets(base, _lost_strings(data, offsets, head, base)) for base in bases), key=lambda one: len(one.lost)
    )


def _lost_strings(data: bytes, offsets: Sequence[int], head: int, base: int) -> list[int]:
    """Checks the offsets of a string table in a buffer: returns those that lead to no UTF-16 string with a NUL after the headers.
    0xFFFFFFFF leads to none on purpose."""
    # Characters take two bytes, and all that precedes the first string a multiple of that: no string begins at an odd place.
    last = data.rfind(b"\0\0")
    while last > 0 and last % 2:
        last = data.rfind(b"\0\0", 0, last + 1)
    return [
        number
        for number, offset in enumerate(offsets)
        if offset != NONE_ID and ((base + offset) % 2 or not head <= base + offset <= last)
    ]
