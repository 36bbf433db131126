"""Values with what is known of them: a data answer and the handle it was asked on in, columns of values and their counters out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from analyzer.interfaces.buffers.layout import ERROR
from analyzer.questions.audit.answers import Block, DataAnswer
from analyzer.questions.audit.checks import NO_REGISTRATION
from analyzer.questions.audit.evidence import CallEvidence
from analyzer.questions.audit.knowledge import Knowledge
from analyzer.results.query import Identifier, QueryView


class ValueColumn(Struct, frozen=True):
    """The values of one counter in one block, one of each instance. `info` is the counter's registration (`ksy/` ids)."""

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
        """How many values there are of each dwDataSize."""
        found: Counter[int] = Counter()
        for shape, number in self.block.shapes:
            found[shape.data_sizes[self.place]] += number
        return found


class Unknown(Struct, frozen=True):
    """A block, or a column of one, of which the capture does not state what it holds, and why."""

    block: Block
    reason: str


def query_of(call: CallEvidence) -> QueryView | None:
    return call.decoded.query if call.decoded.is_perflib else None


NO_HANDLE = "the handle of the call is not in the capture"
NO_COUNTER = "which counter the block is of is not in the capture"
NO_LIST = "no list of the instances near in time is in the capture"
UNKNOWN_QUERY = "what the handle holds is not in the capture"


def held_of(call: CallEvidence, knowledge: Knowledge) -> tuple[QueryView, Sequence[Identifier]] | str:
    """The query of a call with what it holds; why that cannot be stated, where it cannot."""
    query = query_of(call)
    if query is None:
        return NO_HANDLE
    if query.held is None:
        return query.unknown or UNKNOWN_QUERY
    if knowledge.is_doubled(query.number, call.number):
        return "the same counter was added twice, and may be held once or twice"
    return query, query.held


def counter_of(query: QueryView, block: Block) -> Identifier | None:
    """The identifier a block answers, where it is known."""
    return query.blocks.get(block.number)


def columns(call: CallEvidence, answer: DataAnswer) -> Sequence[ValueColumn | Unknown]:
    """Every column of the blocks that can be read, in their order; error blocks have none."""
    found: Sequence[ValueColumn | Unknown] | None = call.shared.get("columns")
    if found is None:
        found = call.shared["columns"] = tuple(_columns(call, answer))
    return found


def known_columns(call: CallEvidence, answer: DataAnswer) -> Sequence[ValueColumn]:
    """Those of which the capture states what they hold."""
    found: Sequence[ValueColumn] | None = call.shared.get("known")
    if found is None:
        found = call.shared["known"] = tuple(one for one in columns(call, answer) if isinstance(one, ValueColumn))
    return found


def unknown_columns(call: CallEvidence, answer: DataAnswer) -> Sequence[str]:
    """Why the capture does not state of the others what they hold, each reason once."""
    found: Sequence[str] | None = call.shared.get("unknown")
    if found is None:
        reasons = {one.reason for one in columns(call, answer) if isinstance(one, Unknown)}
        found = call.shared["unknown"] = tuple(sorted(reasons))
    return found


def _columns(call: CallEvidence, answer: DataAnswer) -> Iterator[ValueColumn | Unknown]:
    query = query_of(call)
    for block in answer.blocks:
        if block.kind == ERROR:
            continue
        if not block.is_whole:
            yield Unknown(block, "the block is damaged")
            continue
        if query is None:
            yield Unknown(block, NO_HANDLE)
            continue
        known = counter_of(query, block)
        counterset = known.counterset if known is not None else query.counterset
        if counterset is None:
            yield Unknown(block, query.unknown or NO_COUNTER)
            continue
        ids = block.ids
        if ids is None:
            if known is None or not known.names_one_counter:
                yield Unknown(block, query.unknown or NO_COUNTER)
                continue
            ids = (known.counter_id,)
        entry = call.catalog.countersets.get(counterset)
        for place, counter_id in enumerate(ids):
            counter = entry.counters.get(counter_id) if entry is not None else None
            if counter is None or counter.info is None:
                yield Unknown(block, NO_REGISTRATION)
            else:
                yield ValueColumn(block, place, counterset, counter_id, counter.info)
