"""pdwOutSize, pdwRtnSize and the return value contradict each other about whether the buffer was large enough.

Looks for: success with a pdwOutSize that is not pdwRtnSize (what was returned shows which of them is wrong);
ERROR_NOT_ENOUGH_MEMORY (8) with a pdwRtnSize that would have fitted into the client's buffer, or with data; from
EnumerateCounterSet, any answer with GUIDs although there are more than the buffer holds.

Why it matters: clients ask with a small buffer first, and again with pdwRtnSize. One that gets 8 and a size it has offered
already asks for ever; one that gets 0 takes a part of the data for all of it.

Specification: [MS-PCQ] sections 3.1.4.1.1, .2, .3, .5 and .6: pdwOutSize is what was returned, pdwRtnSize what everything takes,
both in GUIDs for EnumerateCounterSet and in bytes else; ERROR_NOT_ENOUGH_MEMORY is for a buffer that is too small, and
EnumerateCounterSet then returns pdwOutSize 0. What the two are on other errors is not stated.

Flagged: return value 0, pdwOutSize 96, pdwRtnSize 200; return value 8, dwInSize 4096, pdwRtnSize 96.

Accepted: return value 8, dwInSize 0, pdwOutSize 0, pdwRtnSize 96. Data along with return value 8 is a warning.

Silent: where the request or the answer is sealed or was not captured.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from analyzer.questions.audit.evidence import CallEvidence
from analyzer.questions.audit.rule import Level, Reads, Rule
from analyzer.questions.audit.verdicts import At, Judgement, Severity, failed, passed, warned
from analyzer.questions.audit.wire import answer_counts
from analyzer.results.perflib import Opnum

NOT_ENOUGH_MEMORY = 8
NO_GUIDS = "PCQ-3.1.4.1.1-R14"


class Sizes(Struct, frozen=True):
    """The requirements of a method: on pdwOutSize, on pdwRtnSize, and on the code for a buffer that is too small."""

    out_size: str
    rtn_size: str
    too_small: str


METHODS = {
    Opnum.ENUMERATE_COUNTER_SET: Sizes("PCQ-3.1.4.1.1-R05", "PCQ-3.1.4.1.1-R06", "PCQ-3.1.4.1.1-R09"),
    Opnum.QUERY_COUNTER_SET_REGISTRATION_INFO: Sizes("PCQ-3.1.4.1.2-R05", "PCQ-3.1.4.1.2-R06", "PCQ-3.1.4.1.2-R11"),
    Opnum.ENUMERATE_COUNTER_SET_INSTANCES: Sizes("PCQ-3.1.4.1.3-R05", "PCQ-3.1.4.1.3-R06", "PCQ-3.1.4.1.3-R10"),
    Opnum.QUERY_COUNTER_INFO: Sizes("PCQ-3.1.4.1.5-R05", "PCQ-3.1.4.1.5-R06", "PCQ-3.1.4.1.5-R10"),
    Opnum.QUERY_COUNTER_DATA: Sizes("PCQ-3.1.4.1.6-R05", "PCQ-3.1.4.1.6-R06", "PCQ-3.1.4.1.6-R10"),
}

RULE = Rule("PCQ206", "answer-sizes-disagree", Level.STUBS, Severity.ERROR)


@RULE.calls(
    (
        NO_GUIDS,
        *(name for sizes in METHODS.values() for name in (sizes.out_size, sizes.rtn_size, sizes.too_small)),
    ),
    Reads(tuple(METHODS), ("request", "response")),
    by_method={
        opnum: (
            *((NO_GUIDS,) if opnum == Opnum.ENUMERATE_COUNTER_SET else ()),
            sizes.out_size,
            sizes.rtn_size,
            sizes.too_small,
        )
        for opnum, sizes in METHODS.items()
    },
)
def check(call: CallEvidence) -> Iterator[Judgement]:
    sizes = METHODS[Opnum(call.opnum or 0)]
    room, out, needed = call.asked["dwInSize"], call.answered["pdwOutSize"], call.answered["pdwRtnSize"]
    if call.opnum == Opnum.ENUMERATE_COUNTER_SET and room < needed:
        if out:
            message = "GUIDs were returned although the buffer does not hold all of them"
            yield failed(NO_GUIDS, call, At("response", "pdwOutSize"), message, expected="0", seen=str(out))
        else:
            yield passed(NO_GUIDS)
    if call.status == 0 and out == needed:
        yield passed(sizes.out_size)
        yield passed(sizes.rtn_size)
    elif call.status == 0:
        yield from _unequal(call, sizes, room, out, needed)
    elif call.status == NOT_ENOUGH_MEMORY:
        yield from _too_small(call, sizes, room, out, needed)


def _unequal(call: CallEvidence, sizes: Sizes, room: int, out: int, needed: int) -> Iterator[Judgement]:
    """Success, and the two sizes differ: what was returned states which of them is wrong."""
    assert call.response is not None
    counts = answer_counts(call.response)
    returned = counts.actual_count.value if counts is not None else out
    damaged = call.response.buffer is not None and call.response.buffer.problem is not None
    if returned == needed:
        message = "the call succeeded with a pdwOutSize that is not what was returned"
        at = At("response", "pdwOutSize")
        yield failed(sizes.out_size, call, at, message, expected=f"pdwRtnSize, {needed}", seen=str(out))
    elif needed > room and (out >= room or damaged):
        message = "the call succeeded, and what it returned is not everything"
        at = At("response", "pdwOutSize")
        expected = f"ERROR_NOT_ENOUGH_MEMORY (8) for a buffer of {room}, or {needed}"
        yield failed(sizes.out_size, call, at, message, expected=expected, seen=str(out), also=(sizes.too_small,))
    else:
        message = "the call succeeded, and pdwRtnSize is not the size of what was returned"
        at = At("response", "pdwRtnSize")
        expected = f"pdwOutSize, {out}"
        yield failed(sizes.rtn_size, call, at, message, expected=expected, seen=str(needed), also=(sizes.out_size,))


def _too_small(call: CallEvidence, sizes: Sizes, room: int, out: int, needed: int) -> Iterator[Judgement]:
    if needed <= room:
        yield failed(
            sizes.rtn_size,
            call,
            At("response", "pdwRtnSize"),
            "the buffer was called too small, but is as large as what is needed",
            expected=f"above dwInSize, {room}",
            seen=str(needed),
            also=(sizes.too_small,),
        )
        return
    yield passed(sizes.rtn_size)
    if out:
        message = "data came along with the error that the buffer is too small for it"
        yield warned(sizes.too_small, call, At("response", "pdwOutSize"), message, expected="0", seen=str(out))
    else:
        yield passed(sizes.too_small)
