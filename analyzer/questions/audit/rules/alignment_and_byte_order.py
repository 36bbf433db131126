"""Rules about every buffer of PerflibV2: where its structures begin, what pads them, and in which order its bytes are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from types import MappingProxyType

from analyzer.interfaces.buffers.windows_text import utf16_length
from analyzer.questions.audit.buffer_checks import ASKED_DAMAGED, INFO_DAMAGED, UNREADABLE, judgements, of_data
from analyzer.questions.audit.call_evidence import AskedEvidence, CallEvidence, SideEvidence
from analyzer.questions.audit.data_answers import Block, DataAnswer
from analyzer.questions.audit.identifier_lists import ByteOrder, chained, readable_identifiers, tiles
from analyzer.questions.audit.rule_registry import Level, Reads, of_calls, of_requests, of_sides, rule
from analyzer.questions.audit.rule_verdicts import (
    At,
    Deviation,
    Judgement,
    OfCall,
    Severity,
    Violation,
    failed,
    inconclusive,
    passed,
)
from analyzer.results.methods.perflib import INSTANCES, Opnum

START, RETURNED = "PCQ-2.2.4-R02", "PCQ-3.1.4.1-R03"
CONTENT, BLOCKS = "PCQ-2.2.4-R03", "PL-QCD-R07"
ALL_METHODS = (START, RETURNED, CONTENT)
_UNPADDED_IDS = Deviation(
    "Windows SDK, perflib.h, comment on PERF_MULTI_COUNTERS", "the ids of counters have no padding", "PCQ-2.2.4.11-R01"
)
_OFF_EIGHT = "a structure begins off a multiple of 8 bytes"


@rule("PCQ530", Level.BUFFERS, Severity.ERROR, "structure-off-eight-bytes")
@of_requests((START, CONTENT), ASKED_DAMAGED)
def structure_misaligned(call: AskedEvidence) -> Iterator[Judgement]:
    """A structure in a buffer does not begin at a multiple of 8 bytes.

    Looks for:

    - Structures that begin at an offset of `lpData` that is not a multiple of 8: headers, blocks, values, counter ids and
      instances of data answers, identifiers, and instances of enumerations.
    - Data answers whose total size is no multiple of 8.

    Why it matters: readers that go by the rule look for the next structure at the next multiple of 8 and find something else.

    Specification: [MS-PCQ] sections 2.2.4 and 3.1.4.1 demand it of all structures, counted from the start of the buffer, and leaves
    it open for what is in them: ids, names and values may stand anywhere. Windows SDK, perflib.h: counter header blocks begin at
    multiples of 8; the dwSize of PERF_MULTI_COUNTERS is 8 + 4 for each id, without padding.

    Flagged: a second value after one with dwSize 12. A warning, which the profile windows excuses: what follows an odd number
    of counter ids without padding. Section 2.2.4.11 gives those ids a size that leaves none.

    Accepted: a name of 6 bytes followed by 2 bytes of padding.

    Silent: where the buffer is sealed or was not captured, and behind a size that leads nowhere.
    """
    yield from _starting_at(call, [(block.path, block.at) for block in readable_identifiers(call.request)], START)


_STARTS_OF_METHOD = {
    Opnum.ENUMERATE_COUNTER_SET_INSTANCES: ALL_METHODS,
    Opnum.QUERY_COUNTER_INFO: ALL_METHODS,
    Opnum.QUERY_COUNTER_DATA: (*ALL_METHODS, BLOCKS),
    Opnum.VALIDATE_COUNTERS: ALL_METHODS,
}


@structure_misaligned.also
@of_calls(_STARTS_OF_METHOD, Reads(tuple(_STARTS_OF_METHOD), ("response.lpData",), success=True, damaged=True))
def _answered_starts(call: CallEvidence) -> Iterator[Judgement]:
    response = call.reply
    if not response.is_readable:
        yield inconclusive(UNREADABLE, call, *ALL_METHODS)
    elif response.side.buffer_kind == "perf-data":
        yield from _starts_of_data(call, response)
    elif response.side.buffer_kind == "instances":
        yield from _starting_at(
            call,
            [(f"lpData.instances[{number}]", at) for number, (at, _) in enumerate(chained(response.data, 0, 8))],
            START,
            RETURNED,
        )
    else:
        blocks = readable_identifiers(response)
        yield from _starting_at(call, [(block.path, block.at) for block in blocks], START, RETURNED)


def _starting_at(call: OfCall, starts: list[tuple[str, int]], *of: str) -> Iterator[Judgement]:
    if starts:
        yield passed(CONTENT)
    yield from judgements(call, len(starts), _misplaced(starts), _OFF_EIGHT, of=of)


def _misplaced(starts: list[tuple[str, int]], causes: Mapping[str, Block] = MappingProxyType({})) -> list[Violation]:
    """The misaligned structures of a buffer, each at its place, or at the size of the block that moved it there."""
    violations = []
    for path, at in starts:
        if at % 8 and (cause := causes.get(path)) is not None:
            violations.append(cause.wrong("size", "a multiple of 8", f"{cause.size}, so that the next begins at {at}"))
        elif at % 8:
            violations.append(Violation(path, (at, at + 8), "a multiple of 8", f"offset {at}"))
    return violations


def _starts_of_data(call: CallEvidence, side: SideEvidence) -> Iterator[Judgement]:
    answer = side.answer
    if answer.header is None:
        return
    yield passed(CONTENT)
    structures = 1 + sum(1 + block.num_values + len(block.rows) for block in answer.blocks)
    # A block begins where the size of the one before it leads: that size is the cause.
    causes = {
        after.path: before
        for before, after in pairwise(answer.blocks)
        if after.at % 8 and before.at % 8 == 0 and before.size % 8
    }
    moved = [start for block in answer.blocks if block.moved_by_ids for start in block.misplaced]
    others = [start for block in answer.blocks if not block.moved_by_ids for start in block.misplaced]
    of = START, RETURNED
    yield from judgements(call, structures - len(moved), _misplaced(others, causes), _OFF_EIGHT, of=of)
    message = "counter ids that are not padded move what follows off a multiple of 8 bytes"
    yield from judgements(call, 0, _misplaced(moved), message, of=of, warn=True, deviation=_UNPADDED_IDS)
    violations = _misplaced([(block.path, block.at) for block in answer.blocks if block.at % 8], causes)
    if answer.header[0] % 8:
        violations.insert(0, Violation("lpData.total_size", (0, 4), "a multiple of 8", f"{answer.header[0]}"))
    message = "the blocks do not begin and end at multiples of 8 bytes"
    yield from judgements(call, len(answer.blocks) + 1, violations, message, of=BLOCKS)


@rule("PCQ516", Level.BUFFERS, Severity.WARNING)
@of_data("PCQ-3.1.4.1.6-R22")
def instance_padding_not_zero(call: CallEvidence, answer: DataAnswer) -> Iterator[Judgement]:
    """The padding after an instance name in a data answer is not zero.

    Looks for: blocks of dwType 4 in which other bytes than zeros stand between the NUL of an instance name and the value that
    follows.

    Why it matters: padding that is not cleared carries old memory of the server to whoever asks.

    Specification: [MS-PCQ] section 3.1.4.1.6, figure 8, demands 0. (Figure 3 demands the contrary of EnumerateCounterSetInstances,
    and figure 9 says nothing of dwType 6.)

    Flagged: a name of 2 characters and its NUL, then the bytes 41 00.

    Accepted: the same with 00 00; anything in the padding of dwType 6.

    Silent: where the answer is sealed or was not captured; in blocks that cannot be read.
    """
    violations: list[Violation] = []
    looked_at = 0
    for block in answer.of_type(INSTANCES):
        for number, row in enumerate(block.rows if block.is_whole else ()):
            room = answer.data[row.name_at : row.begin]
            padding = room[utf16_length(room) + 2 :]
            looked_at += bool(padding)
            if any(padding):
                path = f"{block.path}.body.instances.instances[{number}].header"
                span = (row.begin - len(padding), row.begin)
                violations.append(Violation(path, span, bytes(len(padding)).hex(" "), padding.hex(" ")))
    yield from judgements(call, looked_at, violations, "the padding after an instance name is not zero")


@rule("PCQ416", Level.BUFFERS, Severity.WARNING)
@of_calls("PCQ-3.1.4.1.5-R17", INFO_DAMAGED)
def identifier_padding_not_zero(call: CallEvidence) -> Iterator[Judgement]:
    """The padding after the name of an answered identifier is not zero.

    Looks for: identifiers of QueryCounterInfo in which other bytes than zeros follow the NUL of the name.

    Why it matters: padding that is not cleared carries old memory of the server to whoever asks.

    Specification: [MS-PCQ] section 3.1.4.1.5, at figure 4, demands that the server sets these bytes to 0. That clients ignore them
    does not show in traffic.

    Flagged: a name of 2 characters and its NUL, then the bytes 41 00.

    Accepted: the same with 00 00; anything in what clients send.

    Silent: where the answer is sealed or was not captured; behind a Size that leads nowhere.
    """
    violations: list[Violation] = []
    looked_at = 0
    for block in call.reply.identifiers.blocks:
        start, stop = block.padding
        padding = call.reply.data[start:stop]
        looked_at += bool(padding)
        if any(padding):
            zeros = bytes(len(padding)).hex(" ")
            violations.append(Violation(f"{block.path}.name_padding", (start, stop), zeros, padding.hex(" ")))
    yield from judgements(call, looked_at, violations, "the padding after the name of an identifier is not zero")


LITTLE, OF_ANSWERS = "PCQ-2.2.4-R01", "PCQ-3.1.4.1-R04"


def _number(data: bytes, at: int, order: ByteOrder) -> int:
    return int.from_bytes(data[at : at + 4], order)


def _is_data(data: bytes, order: ByteOrder) -> bool:
    if len(data) < 48:
        return False
    if _number(data, 0, order) == len(data):
        return True
    return _number(data, 4, order) <= len(data) // 16 and tiles(data[48:], 8, 16, order)


# Whether the numbers of a buffer make sense in a byte order, and where its first size or count stands.
_FITS: dict[str | None, tuple[Callable[[bytes, ByteOrder], bool], str, int]] = {
    "perf-data": (_is_data, "total_size", 0),
    "identifiers": (lambda data, order: tiles(data, 20, 40, order), "identifiers[0].size", 20),
    "instances": (lambda data, order: tiles(data, 0, 8, order), "instances[0].size", 0),
    "counterset-info": (lambda data, order: 32 + 48 * _number(data, 24, order) == len(data), "num_counters", 24),
    # The detail level of a counter is 100 or 200.
    "counter-info": (lambda data, order: _number(data, 16, order) in (100, 200), "counter.detail_level", 16),
    "string-table": (lambda data, order: 8 + 8 * _number(data, 4, order) <= len(data), "num_counters", 4),
}


@rule("PCQ531", Level.BUFFERS, Severity.ERROR)
@of_sides(
    LITTLE,
    ASKED_DAMAGED,
    (LITTLE, OF_ANSWERS),
    Reads(
        (Opnum.QUERY_COUNTER_SET_REGISTRATION_INFO, *_STARTS_OF_METHOD),
        ("response.lpData",),
        success=True,
        damaged=True,
    ),
)
def buffer_in_big_endian(call: OfCall, side: SideEvidence) -> Iterator[Judgement]:
    """The integers in a buffer are big-endian.

    Looks for: `lpData` whose sizes and counts lead nowhere as little-endian numbers, and to the end of the buffer as big-endian
    ones.

    Why it matters: `lpData` is an array of bytes to the RPC runtime, which swaps nothing in it. A peer that takes the data
    representation label of the call for that of the buffer writes numbers that nobody else reads.

    Specification: [MS-PCQ] sections 2.2.4 and 3.1.4.1: all multi-byte fields of its structures are little-endian, whatever the
    label says.

    Flagged: a data answer of 72 bytes that begins with `00 00 00 48`.

    Accepted: a little-endian buffer in a call that is labelled big-endian.

    Silent: where the buffer is sealed or was not captured; on buffers that hold only text or a GUID; on those that fit neither
    order.
    """
    if not side.is_readable or not side.data or side.side.buffer_kind not in _FITS:
        return
    (fits, path, at), data = _FITS[side.side.buffer_kind], side.data
    if fits(data, "little"):
        yield passed()
    elif fits(data, "big"):
        little, big = _number(data, at, "little"), _number(data, at, "big")
        where = At(call.judged_side, f"lpData.{path}", (at, at + 4))
        message = "the numbers in the buffer are big-endian"
        yield failed(call, where, message, f"{big} in little-endian bytes", f"{little}, which is {big} big-endian")
    else:
        yield inconclusive("the numbers of the buffer make sense in neither byte order", call)
