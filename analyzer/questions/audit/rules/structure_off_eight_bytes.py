"""A structure in a buffer does not begin at a multiple of 8 bytes.

Looks for: headers, blocks, values, counter ids and instances of data answers, identifiers, and instances of enumerations, that
begin at an offset of `lpData` that is not a multiple of 8; data answers whose total size is no multiple of 8.

Why it matters: readers that go by the rule look for the next structure at the next multiple of 8 and find something else.

Specification: [MS-PCQ] sections 2.2.4 and 3.1.4.1 demand it of all structures, counted from the start of the buffer, and leaves
it open for what is in them: ids, names and values may stand anywhere. Windows SDK, perflib.h: counter header blocks begin at
multiples of 8; the dwSize of PERF_MULTI_COUNTERS is 8 + 4 for each id, without padding.

Flagged: a second value after one with dwSize 12. A warning, which the profile windows excuses: what follows an odd number of
counter ids without padding, because section 2.2.4.11 gives those ids a size that leaves none.

Accepted: a name of 6 bytes followed by 2 bytes of padding.

Silent: where the buffer is sealed or was not captured, and behind a size that leads nowhere.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from analyzer.questions.audit.answers import Block
from analyzer.questions.audit.checks import ASKED_DAMAGED, Violation, cannot_say, identifiers_of, judgements
from analyzer.questions.audit.evidence import AskedEvidence, CallEvidence, SideEvidence
from analyzer.questions.audit.rule import Level, Reads, Rule
from analyzer.questions.audit.verdicts import Deviation, Judgement, OfCall, Severity, SideName, passed
from analyzer.results.perflib import Opnum

START, RETURNED = "PCQ-2.2.4-R02", "PCQ-3.1.4.1-R03"
CONTENT, BLOCKS = "PCQ-2.2.4-R03", "PL-QCD-R07"
ALL_METHODS = (START, RETURNED, CONTENT)
REQUIREMENTS = (*ALL_METHODS, BLOCKS)

RULE = Rule("PCQ530", "structure-off-eight-bytes", Level.BUFFERS, Severity.ERROR)


@RULE.requests((START, CONTENT), ASKED_DAMAGED)
def asked(call: AskedEvidence) -> Iterator[Judgement]:
    yield from _judged(call, "request", [(block.path, block.at) for block in identifiers_of(call.request)])


@RULE.calls(
    REQUIREMENTS,
    Reads(
        (
            Opnum.ENUMERATE_COUNTER_SET_INSTANCES,
            Opnum.QUERY_COUNTER_INFO,
            Opnum.QUERY_COUNTER_DATA,
            Opnum.VALIDATE_COUNTERS,
        ),
        ("response.lpData",),
        success=True,
        damaged=True,
    ),
    by_method={
        Opnum.ENUMERATE_COUNTER_SET_INSTANCES: ALL_METHODS,
        Opnum.QUERY_COUNTER_INFO: ALL_METHODS,
        Opnum.QUERY_COUNTER_DATA: REQUIREMENTS,
        Opnum.VALIDATE_COUNTERS: ALL_METHODS,
    },
)
def check(call: CallEvidence) -> Iterator[Judgement]:
    response = call.response
    assert response is not None
    if not response.is_readable:
        yield from cannot_say(ALL_METHODS, "the response stub does not decode", call)
    elif response.side.buffer_kind == "perf-data":
        yield from _data(call, response)
    elif response.side.buffer_kind == "instances":
        yield from _judged(call, "response", list(_instances(response.data)))
    else:
        yield from _judged(call, "response", [(block.path, block.at) for block in identifiers_of(response)])


def _judged(call: OfCall, side: SideName, starts: list[tuple[str, int]]) -> Iterator[Judgement]:
    if starts:
        yield passed(CONTENT)
    starting = (START, RETURNED) if side == "response" else (START,)
    yield from judgements(call, side, starting, len(starts), _violations(starts), _MESSAGE)


_UNPADDED_IDS = Deviation(
    "Windows SDK, perflib.h, comment on PERF_MULTI_COUNTERS", "the ids of counters have no padding", "PCQ-2.2.4.11-R01"
)
_MESSAGE = "a structure begins off a multiple of 8 bytes"


def _violations(starts: list[tuple[str, int]], causes: Mapping[str, Block] = MappingProxyType({})) -> list[Violation]:
    """The structures that begin elsewhere, each at its place, or at the size of the block that moved it there."""
    violations = []
    for path, at in starts:
        if at % 8 and (cause := causes.get(path)) is not None:
            span = (cause.at + 8, cause.at + 12)
            violations.append(
                Violation(
                    f"{cause.path}.size", span, "a multiple of 8", f"{cause.size}, so that the next begins at {at}"
                )
            )
        elif at % 8:
            violations.append(Violation(path, (at, at + 8), "a multiple of 8", f"offset {at}"))
    return violations


def _instances(data: bytes) -> Iterator[tuple[str, int]]:
    at = number = 0
    while at + 8 <= len(data):
        yield f"lpData.instances[{number}]", at
        size = int.from_bytes(data[at : at + 4], "little")
        if size < 8:
            return
        at += size
        number += 1


def _data(call: CallEvidence, side: SideEvidence) -> Iterator[Judgement]:
    answer = side.answer
    if answer.header is None:
        return
    yield passed(CONTENT)
    structures = 1 + sum(1 + block.num_values + len(block.rows) for block in answer.blocks)
    # A block begins where the size of the one before it leads: that size is the cause.
    causes = {
        after.path: before
        for before, after in itertools.pairwise(answer.blocks)
        if after.at % 8 and before.at % 8 == 0 and before.size % 8
    }
    moved = [start for block in answer.blocks if block.moved_by_ids for start in block.misplaced]
    others = [start for block in answer.blocks if not block.moved_by_ids for start in block.misplaced]
    starting = START, RETURNED
    yield from judgements(call, "response", starting, structures - len(moved), _violations(others, causes), _MESSAGE)
    message = "counter ids that are not padded move what follows off a multiple of 8 bytes"
    yield from judgements(
        call, "response", starting, 0, _violations(moved), message, warn=True, deviation=_UNPADDED_IDS
    )
    violations = _violations([(block.path, block.at) for block in answer.blocks], causes)
    if answer.header[0] % 8:
        violations.insert(0, Violation("lpData.total_size", (0, 4), "a multiple of 8", f"{answer.header[0]}"))
    message = "the blocks do not begin and end at multiples of 8 bytes"
    yield from judgements(call, "response", (BLOCKS,), len(answer.blocks) + 1, violations, message)
