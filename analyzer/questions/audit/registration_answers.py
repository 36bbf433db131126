"""Reads answers of QueryCounterSetRegistrationInfo for audit rules ([MS-PCQ] sections 2.2.4.1 to 2.2.4.4 and 3.1.4.1.2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from analyzer.interfaces.buffers.ambiguous_readings import string_table_base
from analyzer.interfaces.buffers.windows_text import utf16_length
from analyzer.questions.audit.buffer_checks import counters_of_set
from analyzer.questions.audit.call_evidence import CallEvidence
from analyzer.questions.audit.rule_registry import Reads
from analyzer.results.methods.perflib import NONE_ID, Opnum, RequestCode

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


def answers_to(*codes: RequestCode) -> Reads:
    """Returns what rules read that judge successful registration answers to these request codes, whether they decode or not."""
    return Reads(_METHOD, ("response.lpData",), success=True, codes=codes, damaged=True)


def records_of(call: CallEvidence) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields the records of counters in a registration answer, each with its path."""
    tree = call.reply.tree
    if "counter" in tree:
        yield "lpData.counter", tree["counter"]
    for number, record in enumerate(tree.get("counters", ())):
        yield f"lpData.counters[{number}]", record


def ids_of_set(call: CallEvidence) -> frozenset[int] | None:
    """Returns the counter ids of the counterset that a registration call asks about; None if no registration was captured."""
    return counters_of_set(call, call.asked.get("CounterSetGuid", ""))


def types_of_set(call: CallEvidence) -> dict[int, int] | None:
    """Returns the counter types, by id, of the counterset that a registration answer is about. They come from this answer if it
    describes the whole set, else from other answers. None if no registration of the set was captured."""
    if "counters" in call.reply.tree:
        return {record["counter_id"]: record["counter_type"] & 0xFFFFFFFF for _, record in records_of(call)}
    ids = ids_of_set(call)
    if ids is None:
        return None
    counters = call.catalog.countersets[call.asked["CounterSetGuid"]].counters
    types = {number: counters[number].info for number in ids}
    return {number: info["counter_type"] & 0xFFFFFFFF for number, info in types.items() if info is not None}


def text_flaw(data: bytes) -> tuple[str, int, int] | None:
    """Returns why bytes of a registration answer are no single UTF-16 string, and where; None if they are one. Behind its NUL, an
    even number of less than 8 bytes may be padding."""
    end = utf16_length(data) + 2
    if end > len(data):
        return "has no NUL", max(0, len(data) - 2), len(data)
    if len(data) - end >= 8:
        return "goes on behind its NUL", end, len(data)
    if len(data) % 2:
        return "has half a character behind its NUL", len(data) - 1, len(data)
    return None


class StringOffsets(NamedTuple):
    """The base of a string table's offsets (0: its start, else the end of its headers), and the offsets that lead to no string."""

    base: int
    lost: list[int]

    @property
    def counts_from_start(self) -> bool:
        return not self.base


def string_offsets(data: bytes, offsets: Sequence[int], head: int) -> StringOffsets:
    """Returns the base with which fewer of a string table's offsets are lost; if both are equal, the one that decoding takes.
    `head` bytes are headers."""
    taken, _ = string_table_base(data)
    bases = (taken, 0 if taken else head)
    return min(
        (StringOffsets(base, _lost_strings(data, offsets, head, base)) for base in bases), key=lambda one: len(one.lost)
    )


def _lost_strings(data: bytes, offsets: Sequence[int], head: int, base: int) -> list[int]:
    """Returns the offsets of a string table that lead to no UTF-16 string with a NUL after the headers. 0xFFFFFFFF leads to none on
    purpose."""
    # Characters take two bytes, and all that precedes the first string a multiple of that: no string begins at an odd place.
    last = data.rfind(b"\0\0")
    while last > 0 and last % 2:
        last = data.rfind(b"\0\0", 0, last + 1)
    return [
        number
        for number, offset in enumerate(offsets)
        if offset != NONE_ID and ((base + offset) % 2 or not head <= base + offset <= last)
    ]
