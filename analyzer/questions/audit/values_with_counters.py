"""Joins the values of a data answer with what is known of their counters, by the query handle that was polled: for audit rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from analyzer.interfaces.buffers.struct_layouts import ERROR
from analyzer.questions.audit.buffer_checks import NO_REGISTRATION
from analyzer.questions.audit.call_evidence import CallEvidence
from analyzer.questions.audit.data_answers import Block, DataAnswer
from analyzer.results.calls.query_state import Identifier, QueryView


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
    """Says why the capture does not state something of a query handle; `reason` if nothing more is known."""
    return NO_HANDLE if query is None else query.unknown or reason


def held_of(call: CallEvidence) -> tuple[QueryView, Sequence[Identifier]] | str:
    """Returns the query of a data answer's call with the identifiers that it holds; if these are unknown, the reason."""
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
    """Returns the counterset whose counters a block of a data answer has, or why it is unknown."""
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
    """Returns the value columns of a data answer, made once for calls that are alike."""
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
