"""Answers of QueryCounterSetRegistrationInfo as rules see them ([MS-PCQ] sections 2.2.4.1 to 2.2.4.4 and 3.1.4.1.2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from analyzer.audit.evidence import CallEvidence
from analyzer.audit.rule import Reads
from analyzer.buffers.text import utf16_length
from analyzer.pcq.identity import NONE_ID, Opnum, RequestCode

_METHOD = (Opnum.QUERY_COUNTER_SET_REGISTRATION_INFO,)
_SET = (RequestCode.COUNTERSET_STRUCT,)
_BOTH = (RequestCode.COUNTERSET_STRUCT, RequestCode.COUNTER_STRUCT)

# Answers with the record of a counterset and of its counters: as they decode, whatever they are, and together with their request.
COUNTERSET = Reads(_METHOD, ("response.lpData",), success=True, codes=_SET)
COUNTERSET_DAMAGED = Reads(_METHOD, ("response.lpData",), success=True, codes=_SET, damaged=True)
COUNTERSET_ASKED = Reads(_METHOD, ("request", "response.lpData"), success=True, codes=_SET)
# Answers with records of counters: all of a set, or one.
COUNTERS = Reads(_METHOD, ("response.lpData",), success=True, codes=_BOTH)


def answers_to(*codes: RequestCode) -> Reads:
    """Successful answers to these request codes, whether they decode or not."""
    return Reads(_METHOD, ("response.lpData",), success=True, codes=codes, damaged=True)


def records_of(call: CallEvidence) -> Iterator[tuple[str, dict[str, Any]]]:
    """The records of counters in an answer, each with its path."""
    assert call.response is not None
    tree = call.response.tree
    if "counter" in tree:
        yield "lpData.counter", tree["counter"]
    for number, record in enumerate(tree.get("counters", ())):
        yield f"lpData.counters[{number}]", record


def ids_of_set(call: CallEvidence) -> frozenset[int] | None:
    """The ids of the counters of the set a call asks about; None where the capture has no registration of it."""
    entry = call.catalog.countersets.get(call.asked.get("CounterSetGuid", ""))
    if entry is None or entry.instance_type is None:
        return None
    return frozenset(number for number, counter in entry.counters.items() if counter.info is not None)


def text_flaw(data: bytes) -> tuple[str, int, int] | None:
    """What keeps bytes from being one UTF-16 string with its NUL and less than 8 bytes of padding, and where; None for nothing."""
    end = utf16_length(data) + 2
    if end > len(data):
        return "has no NUL", max(0, len(data) - 2), len(data)
    if len(data) - end >= 8:
        return "goes on behind its NUL", end, len(data)
    return None


def lost_string(data: bytes, offsets: Sequence[int], head: int, base: int) -> int | None:
    """The first of the offsets, counted from `base`, that leads to no UTF-16 string with a NUL behind the `head` bytes of headers;
    None where all do. 0xFFFFFFFF leads to none on purpose."""
    # The last NUL a string at an even and at an odd place may end with.
    last = [_last_nul(data, 0), _last_nul(data, 1)]
    for number, offset in enumerate(offsets):
        at = base + offset
        if offset != NONE_ID and (at < head or at > last[at % 2]):
            return number
    return None


def _last_nul(data: bytes, parity: int) -> int:
    at = data.rfind(b"\0\0")
    while at > 0 and at % 2 != parity:
        at = data.rfind(b"\0\0", 0, at + 1)
    return at
