"""Joins the values of a data answer with what is known of their counters, by the query handle that was polled: for audit rules.

It also has the counter types that [MS-PCQ] section 2.2.4.2 lists, and which other counters each needs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from types import MappingProxyType
from typing import Any

from msgspec import Struct

from analyzer.questions.audit.call_evidence import CallEvidence
from analyzer.questions.audit.data_answers import Block, DataAnswer
from analyzer.questions.audit.server_statements import NO_REGISTRATION
from analyzer.results.calls.query_state import Identifier, QueryView
from analyzer.results.methods.perflib import ERROR

# ------------------------------------------------------------------------------------------------- values with counters


class ValueColumn(Struct, frozen=True):
    """The values of one counter in one block of a data answer, one for each instance. `info` is the counter's registration (`ksy/`
    ids)."""

    block: Block
    place: int
    counterset: str
    counter_id: int
    info: dict[str, Any]

    @property
    def type(self) -> int:
        kind: int = self.info["counter_type"]
        return kind

    @property
    def sizes(self) -> Counter[int]:
        """Counts the values of this counter by their dwDataSize."""
        found: Counter[int] = Counter()
        for shape, number in self.block.shapes:
            found[shape.data_sizes[self.place]] += number
        return found


class Unknown(Struct, frozen=True):
    """A block of a data answer, or a column of it, whose counter is unknown: why the capture does not state it."""

    block: Block
    reason: str


NO_HANDLE = "the handle of the call is not in the capture"
NO_COUNTER = "which counter the block is of is not in the capture"
NO_LIST = "no list of the instances near in time is in the capture"
UNKNOWN_QUERY = "what the handle holds is not in the capture"


def why_unknown(query: QueryView | None, reason: str) -> str:
    """Says to audit rules why the capture does not state to which counters the values of a polled query handle belong; `reason` if
    nothing more is known."""
    return NO_HANDLE if query is None else query.unknown or reason


def held_of(call: CallEvidence) -> tuple[QueryView, Sequence[Identifier]] | str:
    """Returns the query that the values of an audited data answer belong to, with the identifiers of the counters it holds; if
    these are unknown, the reason."""
    query = call.query
    if query is None or query.held is None:
        return why_unknown(query, UNKNOWN_QUERY)
    if call.knowledge.is_doubled(query.number, call.number):
        return "the same counter was added twice, and may be held once or twice"
    return query, query.held


def counter_of(call: CallEvidence, block: Block) -> Identifier | None:
    """Returns the counter identifier that a block of a data answer belongs to; None if unknown."""
    return call.query.blocks.get(block.number) if call.query is not None else None


def counterset_of(call: CallEvidence, block: Block) -> str | Unknown:
    """Returns the counterset to whose counters the values in a block of an audited data answer belong, or why it is unknown."""
    query, known = call.query, counter_of(call, block)
    found = known.counterset if known is not None else query.counterset if query is not None else None
    return found if found is not None else Unknown(block, why_unknown(query, NO_COUNTER))


class AnswerColumns(Struct, frozen=True):
    """The value columns of a data answer's readable blocks, in order. Error blocks have none. `known` has the columns whose counter
    the capture states. `reasons` says why the others' is unknown, each reason once."""

    all: tuple[ValueColumn | Unknown, ...]
    known: tuple[ValueColumn, ...]
    reasons: tuple[str, ...]


def columns_of(call: CallEvidence, answer: DataAnswer) -> AnswerColumns:
    """Returns the values of an audited data answer with their counters, column by column; made once for calls that are alike."""
    found: AnswerColumns | None = call.shared.get("columns")
    if found is None:
        every = tuple(_columns(call, answer))
        known = tuple(one for one in every if isinstance(one, ValueColumn))
        reasons = {one.reason for one in every if isinstance(one, Unknown)}
        found = call.shared["columns"] = AnswerColumns(every, known, tuple(sorted(reasons)))
    return found


def _columns(call: CallEvidence, answer: DataAnswer) -> Iterator[ValueColumn | Unknown]:
    for block in answer.blocks:
        if block.kind == ERROR:
            continue
        if not block.is_whole:
            yield Unknown(block, "the block is damaged")
            continue
        counterset, known, ids = counterset_of(call, block), counter_of(call, block), block.ids
        if isinstance(counterset, Unknown):
            yield counterset
            continue
        if ids is None:
            if known is None or not known.names_one_counter:
                yield Unknown(block, why_unknown(call.query, NO_COUNTER))
                continue
            ids = (known.counter_id,)
        entry = call.catalog.countersets.get(counterset)
        for place, counter_id in enumerate(ids):
            counter = entry.counters.get(counter_id) if entry is not None else None
            if counter is None or counter.info is None:
                yield Unknown(block, NO_REGISTRATION)
            else:
                yield ValueColumn(block, place, counterset, counter_id, counter.info)


# -------------------------------------------------------------------------------------------------------- counter types


# In the order of the requirements PCQ-2.2.4.2-R04 to R37.
LISTED = (
    0x00000000,  # PERF_COUNTER_RAWCOUNT_HEX
    0x00000100,  # PERF_COUNTER_LARGE_RAWCOUNT_HEX
    0x00000B00,  # PERF_COUNTER_TEXT
    0x00010000,  # PERF_COUNTER_RAWCOUNT
    0x00010100,  # PERF_COUNTER_LARGE_RAWCOUNT
    0x00410400,  # PERF_SAMPLE_COUNTER
    0x00450400,  # PERF_COUNTER_QUEUELEN_TYPE
    0x00450500,  # PERF_COUNTER_LARGE_QUEUELEN_TYPE
    0x00550500,  # PERF_COUNTER_100NS_QUEUELEN_TYPE
    0x00650500,  # PERF_COUNTER_OBJ_TIME_QUEUELEN_TYPE
    0x10410400,  # PERF_COUNTER_COUNTER
    0x10410500,  # PERF_COUNTER_BULK_COUNT
    0x20020400,  # PERF_RAW_FRACTION
    0x20020500,  # PERF_LARGE_RAW_FRACTION
    0x20410500,  # PERF_COUNTER_TIMER
    0x20470500,  # PERF_PRECISION_SYSTEM_TIMER
    0x20510500,  # PERF_100NSEC_TIMER
    0x20570500,  # PERF_PRECISION_100NS_TIMER
    0x20610500,  # PERF_OBJ_TIME_TIMER
    0x20670500,  # PERF_PRECISION_OBJECT_TIMER
    0x20C20400,  # PERF_SAMPLE_FRACTION
    0x21410500,  # PERF_COUNTER_TIMER_INV
    0x21510500,  # PERF_100NSEC_TIMER_INV
    0x22410500,  # PERF_COUNTER_MULTI_TIMER
    0x22510500,  # PERF_100NSEC_MULTI_TIMER
    0x23410500,  # PERF_COUNTER_MULTI_TIMER_INV
    0x23510500,  # PERF_100NSEC_MULTI_TIMER_INV
    0x30020400,  # PERF_AVERAGE_TIMER
    0x30240500,  # PERF_ELAPSED_TIME
    0x40020500,  # PERF_AVERAGE_BULK
    0x40030401,  # PERF_SAMPLE_BASE
    0x40030402,  # PERF_AVERAGE_BASE
    0x40030403,  # PERF_RAW_BASE
    0x40030500,  # PERF_LARGE_RAW_BASE
)
# Types that perflib.h lets a provider declare, and the text leaves out: PERF_COUNTER_DELTA and PERF_COUNTER_LARGE_DELTA.
DELTAS = frozenset((0x00400400, 0x00400500))

RAWCOUNT, LARGE_RAWCOUNT = 0x00010000, 0x00010100
_SAMPLE_BASE, _AVERAGE_BASE, _RAW_BASE, _LARGE_RAW_BASE = 0x40030401, 0x40030402, 0x40030403, 0x40030500

# The type of the counter that BaseCounterId has to name.
BASE_OF = MappingProxyType(
    {
        0x20020400: _RAW_BASE,
        0x20020500: _LARGE_RAW_BASE,
        0x20470500: _LARGE_RAW_BASE,
        0x20570500: _LARGE_RAW_BASE,
        0x20C20400: _SAMPLE_BASE,
        0x30020400: _AVERAGE_BASE,
        0x40020500: _AVERAGE_BASE,
    }
)
PRECISION_OBJECT_TIMER = 0x20670500
# Types with a clock of their own, which PerfTimeId and PerfFreqId name.
OWN_CLOCK = frozenset((0x00650500, 0x30240500, 0x20610500, PRECISION_OBJECT_TIMER))
# Types whose number of components MultiId names.
MULTI = frozenset((0x22410500, 0x22510500, 0x23410500, 0x23510500))
