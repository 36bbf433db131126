"""Rules about the header and the blocks of a data answer: sizes, counts, types and statuses, and whether they fit what was
registered and what the query holds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from analyzer.questions.audit.buffer_checks import DATA, judgements, of_data
from analyzer.questions.audit.call_evidence import CallEvidence
from analyzer.questions.audit.data_answers import UNCOUNTABLE, Block, DataAnswer, FlawKind
from analyzer.questions.audit.rule_registry import Level, of_calls, rule
from analyzer.questions.audit.rule_verdicts import (
    At,
    Confidence,
    Judgement,
    Severity,
    Violation,
    inconclusive,
    judge,
    passed,
)
from analyzer.questions.audit.rules.error_codes import status_violation
from analyzer.questions.audit.server_statements import NO_REGISTRATION, counters_of_set, has_instances
from analyzer.questions.audit.values_with_counters import (
    NO_COUNTER,
    Unknown,
    counter_of,
    counterset_of,
    held_of,
    why_unknown,
)
from analyzer.results.calls.query_state import Identifier
from analyzer.results.methods.perflib import COUNTERS, COUNTERSET, ERROR, INSTANCES, SINGLE

HEADER = ("PCQ-2.2.4.7-R01", "PCQ-3.1.4.1.6-R11", "PL-QCD-R01")
TOTAL = ("PCQ-2.2.4.7-R02", "PL-QCD-R03")
COUNT = "PCQ-2.2.4.7-R03"


@rule("PCQ501", Level.BUFFERS, Severity.ERROR, "data-answer-against-its-header")
@of_data((*HEADER, *TOTAL, COUNT))
def data_header_wrong(call: CallEvidence, answer: DataAnswer) -> Iterator[Judgement]:
    """A data answer does not begin with a header that states its size and the number of its blocks.

    Looks for: successful answers of QueryCounterData:

    - that have less than 48 bytes,
    - whose dwTotalSize is not the number of bytes returned, or
    - whose dwNumCounter is not the number of counter header blocks that follow.

    Why it matters: a client walks the blocks by these numbers. Too many, and it reads beyond the buffer; too few, and it shows no
    value for counters that were answered.

    Specification: [MS-PCQ] section 2.2.4.7 has a header of 48 bytes with the size of everything returned, and the number of
    counters. perflib.h reads this number as the number of blocks. Figure 5 in section 3.1.4.1.6 has 64 bytes, because it draws
    a SYSTEMTIME at twice its width. Section 3.1.4.1.6 demands that the header comes first. perflib.h: when a call succeeds, the
    size given back is the bytes stored.

    Flagged: 72 bytes returned and a dwTotalSize of 80; a dwNumCounter of 3 with two blocks.

    Accepted: a header alone, of 48 bytes and no blocks, for a query that holds no counters.

    Silent: where the answer is sealed or was not captured; about the number of blocks where a broken block hides those after it.
    """
    short = answer.flaws_of(FlawKind.HEADER)
    yield from judgements(call, 1, short, "the answer is shorter than the header it has to begin with", of=HEADER)
    if short:
        return
    message = "the total size is not the number of bytes returned"
    yield from judgements(call, 1, answer.flaws_of(FlawKind.TOTAL), message, of=TOTAL)
    if not answer.is_walked:
        yield inconclusive("a broken block hides those after it", call, COUNT)
        return
    message = "the header states another number of blocks than follow"
    yield from judgements(call, 1, answer.flaws_of(FlawKind.BLOCK_COUNT), message, of=COUNT)


@rule("PCQ505", Level.BUFFERS, Severity.ERROR)
@of_data(("PCQ-2.2.4.8-R02", "PCQ-3.1.4.1.6-R12"))
def data_block_of_unknown_type(call: CallEvidence, answer: DataAnswer) -> Iterator[Judgement]:
    """A block of a data answer is of a type that does not exist.

    Looks for: counter header blocks whose dwType is not 0, 1, 2, 4 or 6.

    Why it matters: the type alone says how the block is laid out. Nobody can read one of type 3, 5 or 7.

    Specification: [MS-PCQ] section 2.2.4.8 lists the five values and demands one of them. They look like flags (6 is 2 and 4) and
    are not: 3, 5 and 7 have no meaning. Section 3.1.4.1.6 lets the type decide the format of the block.

    Flagged: dwType 3.

    Accepted: dwType 0, with the error in dwStatus.

    Silent: where the answer is sealed, was not captured, or is too short for a header.
    """
    violations = answer.flaws_of(FlawKind.BLOCK_TYPE)
    yield from judgements(call, len(answer.blocks), violations, "a block has a type that does not exist")


@rule("PCQ506", Level.BUFFERS, Severity.ERROR)
@of_data("PCQ-2.2.4.8-R08")
def data_block_of_wrong_size(call: CallEvidence, answer: DataAnswer) -> Iterator[Judgement]:
    """The size of a block does not lead to the next one.

    Looks for: counter header blocks whose dwSize is below 16, goes beyond the answer, or ends elsewhere than the content of the
    block, where the next block begins.

    Why it matters: a client advances by dwSize. A zero makes a careless one loop, a wrong one makes it take values for headers.

    Specification: [MS-PCQ] section 2.2.4.8: dwSize is the size of the structure and of the data that follow it.

    Flagged: dwSize 0; dwSize 40 of a block with one value of 4 bytes, after whose 32 bytes the next block stands.

    Accepted: dwSize 16 of an error block.

    Silent: where the answer is sealed or was not captured; about blocks of unknown type, whose content nobody can measure.
    """
    violations = answer.flaws_of(FlawKind.BLOCK_SIZE)
    looked_at = len(answer.blocks) - len(answer.flaws_of(FlawKind.BLOCK_TYPE))
    yield from judgements(call, looked_at, violations, "the size of a block does not lead to the next one")


ALONE, STATUS = "PCQ-3.1.4.1.6-R13", "PCQ-2.2.4.8-R03"


@rule("PCQ507", Level.BUFFERS, Severity.ERROR)
@of_data((ALONE, STATUS))
def error_block_without_error(call: CallEvidence, answer: DataAnswer) -> Iterator[Judgement]:
    """A block that stands for an error names none, or carries data.

    Looks for: counter header blocks of dwType 0 whose dwStatus is 0, or that are longer than their header.

    Why it matters: such a block is all a client learns of a counter that could not be read. Without a code it can neither inform
    the user nor decide whether to ask again.

    Specification: [MS-PCQ] section 2.2.4.8 gives dwType 0 to counters whose query failed; section 3.1.4.1.6 demands that the block
    holds the header alone, whose dwStatus states the error.

    Flagged: dwType 0 with a dwSize of 32 and 16 bytes after the header. A warning: dwType 0 with dwStatus 0.

    Accepted: dwType 0, dwStatus 0x1069 (no such instance), dwSize 16.

    Silent: where the answer is sealed or was not captured.
    """
    blocks = answer.of_type(ERROR)
    violations = [
        Violation(one.path, (one.at + 16, one.stop), "nothing after the header", f"{one.stop - one.at - 16} bytes")
        for one in blocks
        if one.stop - one.at > 16
    ]
    yield from judgements(call, len(blocks), violations, "an error block carries data", of=ALONE)
    violations = [one.wrong("status", "an error code", 0) for one in blocks if not one.status]
    message = "a block stands for an error and names none"
    yield from judgements(call, len(blocks), violations, message, of=STATUS, warn=True)


# What demands the layout of a block, by its type.
LAYOUTS = {
    SINGLE: ("PCQ-3.1.4.1.6-R14",),
    COUNTERS: ("PCQ-3.1.4.1.6-R15",),
    INSTANCES: ("PCQ-3.1.4.1.6-R19", "PCQ-3.1.4.1.6-R20"),
    COUNTERSET: ("PCQ-3.1.4.1.6-R23", "PCQ-3.1.4.1.6-R24"),
}
FORMAT = "PCQ-3.1.4.1.6-R12"


@rule("PCQ510", Level.BUFFERS, Severity.ERROR, "data-block-against-its-type")
@of_data((*(one for group in LAYOUTS.values() for one in group), FORMAT))
def block_content_not_of_its_type(call: CallEvidence, answer: DataAnswer) -> Iterator[Judgement]:
    """A block of a data answer is not laid out as its type asks for.

    Looks for: counter header blocks of dwType 1, 2, 4 and 6 whose content does not fill the block in the layout of that type.
    The rule first tries to put single sizes and counts right: other rules report these.

    Why it matters: the values are there and nobody knows where.

    Specification: [MS-PCQ] section 3.1.4.1.6 describes the layouts:

    - Type 1 is one value.
    - Type 2 has counter ids, and a value for each.
    - Type 4 has instances. Each is its header with the name, and one value.
    - Type 6 has counter ids, then instances with a value for each id. Figure 9 leaves out the name here; it belongs to the
      header (section 2.2.4.5).

    Flagged: a block of type 1 with two values; a block of type 4 whose instances have two values each.

    Accepted: a block of type 4 without instances; counter ids followed by 4 bytes of padding that no size counts, or by none.

    Silent: where the answer is sealed or was not captured; about blocks whose size is wrong or whose type is unknown.
    """
    for kind, layout in LAYOUTS.items():
        violations = answer.flaws_of(FlawKind.CONTENT, block_types=(kind,))
        looked_at = len(answer.of_type(kind)) - len(answer.flaws_of(FlawKind.BLOCK_SIZE, block_types=(kind,)))
        message = f"a block of type {kind} is laid out otherwise"
        yield from judgements(call, looked_at, violations, message, of=(*layout, FORMAT))


IDS_SIZE, IDS_NUMBER = "PCQ-2.2.4.11-R01", "PCQ-2.2.4.11-R02"
OF_IDS = {COUNTERS: "PCQ-3.1.4.1.6-R18", COUNTERSET: "PCQ-3.1.4.1.6-R26"}


@rule("PCQ513", Level.BUFFERS, Severity.ERROR)
@of_data((IDS_SIZE, IDS_NUMBER, *OF_IDS.values()))
def counter_ids_miscounted(call: CallEvidence, answer: DataAnswer) -> Iterator[Judgement]:
    """The counter ids of a block are not as many, or not as large, as their header says.

    Looks for: blocks of dwType 2 and 6 whose dwCounters is not the number of ids, or of values (of each instance, in type 6), or
    whose dwSize is neither 8 + 4 x dwCounters nor that rounded up to 8.

    Why it matters: values carry no ids. They belong to the id in the same place, so a count that is off by one gives every value
    another name.

    Specification: [MS-PCQ] section 2.2.4.11: dwSize covers this header and the array of ids, dwCounters is the number of ids.
    Section 3.1.4.1.6 demands as many values, for types 2 and 6. The text does not say whether padding to a multiple of 8 is
    counted.

    Flagged: dwCounters 4 with three values; dwSize 32 with three ids.

    Accepted: dwSize 20 or 24 with three ids.

    Silent: where the answer is sealed or was not captured; in blocks that cannot be read at all.
    """
    for kind, number in OF_IDS.items():
        blocks, types = [block for block in answer.of_type(kind) if block.ids is not None], (kind,)
        violations = answer.flaws_of(FlawKind.IDS_SIZE, block_types=types)
        message = "the size of the counter ids is not that of so many"
        yield from judgements(call, len(blocks), violations, message, of=IDS_SIZE)
        violations = answer.flaws_of(FlawKind.IDS_COUNT, FlawKind.VALUE_COUNT, block_types=types)
        message = "another number of counters follows than was reported"
        yield from judgements(call, len(blocks), violations, message, of=(IDS_NUMBER, number))
        violations = answer.flaws_of(FlawKind.ROW_COUNT, block_types=types)
        message = "an instance has another number of values than there are counter ids"
        yield from judgements(call, 0, violations, message, of=number)


@rule("PCQ602", Level.VALUES, Severity.ERROR)
@of_data("PCQ-2.2.4.11-R02")
def unregistered_counter_answered(call: CallEvidence, answer: DataAnswer) -> Iterator[Judgement]:
    """A data answer names a counter that its counterset does not have.

    Looks for: counter ids in blocks of dwType 2 and 6 that are not among the counters the server registered for the counterset, or
    that are there twice.

    Why it matters: the value has neither name nor type, and nobody can show it.

    Specification: [MS-PCQ] section 2.2.4.11: the array holds the ids of the counters whose values follow. Section 2.2.4.2 makes ids
    unique within a counterset.

    Flagged: id 9 of a counterset with the counters 1 to 3.

    Accepted: some of the counterset's counters, in any order.

    Silent: where the counterset's registration (request code 1) or the meaning of the block is not in the capture.
    """
    for block in answer.blocks:
        if block.ids is None or not block.is_whole:
            continue
        counterset = counterset_of(call, block)
        if isinstance(counterset, Unknown):
            yield inconclusive(counterset.reason, call)
            continue
        registered = counters_of_set(call, counterset)
        if registered is None:
            yield inconclusive(NO_REGISTRATION, call)
            continue
        violations = list(_foreign_ids(block, block.ids, registered))
        message = "a block names a counter that its counterset does not have"
        yield from judgements(call, len(block.ids), violations, message)


def _foreign_ids(block: Block, ids: tuple[int, ...], registered: frozenset[int]) -> Iterator[Violation]:
    before: set[int] = set()
    for place, number in enumerate(ids):
        at, path = block.ids_at + 8 + 4 * place, f"{block.path}.body.counters.counter_ids[{place}]"
        if number not in registered:
            yield Violation(path, (at, at + 4), "a registered counter", f"{number}")
        elif number in before:
            yield Violation(path, (at, at + 4), "each counter once", f"{number} again")
        before.add(number)


@rule("PCQ515", Level.BUFFERS, Severity.WARNING)
@of_data("PCQ-2.2.4.8-R09")
def reserved_of_block_used(call: CallEvidence, answer: DataAnswer) -> Iterator[Judgement]:
    """The reserved field of a block of data is not zero.

    Looks for: counter header blocks of data answers whose Reserved is not 0.

    Why it matters: a field kept free for a later version that already holds something cannot be used by it. What it holds is mostly
    old memory of the server.

    Specification: [MS-PCQ] section 2.2.4.8 demands 0. That clients ignore it does not show in traffic.

    Flagged: Reserved 1.

    Accepted: Reserved 0.

    Silent: where the answer is sealed or was not captured.
    """
    violations = [one.wrong("reserved", 0, f"{one.reserved:#x}") for one in answer.blocks if one.reserved]
    yield from judgements(call, len(answer.blocks), violations, "the reserved field of a block is not zero")


@rule("PCQ540", Level.BUFFERS, Severity.WARNING)
@of_data("PCQ-2.2.4.8-R01")
def block_status_unknown(call: CallEvidence, answer: DataAnswer) -> Iterator[Judgement]:
    """The status of a block of data is no Win32 error code.

    Looks for: counter header blocks whose dwStatus is an HRESULT or NTSTATUS value, or lies where no Win32 codes are assigned.

    Why it matters: a client looks the number up to inform its user what went wrong. Codes of another space look like success to who
    compares signed numbers, and like nonsense to everybody else.

    Specification: [MS-PCQ] section 2.2.4.8: dwStatus is a Win32 error code that states how the query of this counter went; section
    1.8 takes these codes from [MS-ERREF] section 2.2 with their meaning.

    Flagged: dwStatus 0xC0000034. A warning: dwStatus 0x12345.

    Accepted: dwStatus 0; 0x1069; an unlisted number below 16000.

    Silent: where the answer is sealed or was not captured.
    """
    violations: dict[str | None, list[Violation]] = {"fail": [], "warn": []}
    statuses = {block.status for block in answer.blocks}
    wrong = {status: found for status in statuses if (found := status_violation(status)) is not None}
    for block in answer.blocks if wrong else ():
        if (violation := wrong.get(block.status)) is not None:
            violations[violation].append(block.wrong("status", "a Win32 code", f"{block.status:#x}"))
    message, sound = "the status of a block is no Win32 error code", len(answer.blocks) - len(violations["warn"])
    yield from judgements(call, sound, violations["fail"], message)
    yield from judgements(call, 0, violations["warn"], message, warn=True)


_NUM_BLOCKS = At("response", "lpData.num_blocks", (4, 8))


@rule("PCQ546", Level.SEQUENCES, Severity.ERROR, "blocks-unlike-the-query")
@of_calls("PCQ-3.1.1.5-R03", DATA)
def block_count_not_of_query(call: CallEvidence) -> Iterator[Judgement]:
    """A data answer has more or fewer blocks than the query holds counters.

    Looks for: answers of QueryCounterData on handles whose counters the capture states, and the number of their blocks.

    Why it matters: with a block missing, every one behind it stands at the place of another counter.

    Specification: [MS-PCQ] section 3.1.1.5: a data query covers every counter identifier of the handle's list. One that could not
    be read has an error block, which counts.

    Flagged: two blocks on a handle to which three counters were added.

    Accepted: three blocks, one of type 0.

    Silent: where the capture does not state what the handle holds, or the same counter was added to it twice with success: then it
    may count once or twice.
    """
    found = held_of(call)
    if isinstance(found, str):
        yield inconclusive(found, call)
        return
    (query, held), answer = found, call.reply.answer
    if query.id_source == "index" and len(query.blocks) != len(held):
        yield inconclusive("QueryCounterInfo reported the same counter, or the same position, twice", call)
    elif not answer.can_be_counted:
        yield inconclusive(UNCOUNTABLE, call)
    else:
        is_kept, message = (
            len(answer.blocks) == len(held),
            "the answer has another number of blocks than the query holds counters",
        )
        expected, seen = f"{len(held)}, one for each counter held", f"{len(answer.blocks)} blocks"
        yield judge(is_kept, call, _NUM_BLOCKS, message, expected, seen, confidence=Confidence.MEDIUM)


OF_TYPE = {
    ERROR: "PCQ-2.2.4.8-R03",
    SINGLE: "PCQ-2.2.4.8-R04",
    COUNTERS: "PCQ-2.2.4.8-R05",
    INSTANCES: "PCQ-2.2.4.8-R06",
    COUNTERSET: "PCQ-2.2.4.8-R07",
}
POSITION, ORDER = "PCQ-2.2.4.6-R05", "PL-QCD-R10"
# Wildcards, and the types of block that can answer each.
ALL_COUNTERS, ALL_INSTANCES = "PCQ-3.1.4.1.7-R15", "PCQ-3.1.4.1.7-R16"
_OF_WILDCARD = {ALL_COUNTERS: (COUNTERS, COUNTERSET), ALL_INSTANCES: (INSTANCES, COUNTERSET)}


@rule("PCQ545", Level.SEQUENCES, Severity.ERROR, "block-unlike-its-counter")
@of_data((*OF_TYPE.values(), POSITION, ORDER, ALL_COUNTERS, ALL_INSTANCES))
def block_type_not_of_counter(call: CallEvidence, answer: DataAnswer) -> Iterator[Judgement]:
    """A block of data is of another form than the counter asks for that stands at its place.

    Looks for: counter header blocks whose position the capture connects with an identifier of the query, either by the Index of
    QueryCounterInfo or by the order in which counters were added. The rule reports a dwType that cannot answer the identifier:
    several values for one counter, a single one for a wildcard, instances for a single instance.

    Why it matters: blocks carry no names. A client takes the values in a block for those of the counter at its place.

    Specification: [MS-PCQ] section 2.2.4.8: type 1 is a single value, 2 several counters, 4 several instances of a counter, 6 all
    counters of all instances. Section 2.2.4.6: Index is the position of a counter's data; perflib.h: blocks stand in that order.
    Section 3.1.4.1.7: CounterId 0xFFFFFFFF asks for all counters, the instance name "*" for all instances.

    Flagged: a block of type 6 where QueryCounterInfo reported one counter of one instance; of type 1 where it reported of a
    CounterId 0xFFFFFFFF.

    Accepted: an error block (type 0) anywhere; type 1 or 4 for the name "*" where the capture does not state whether the counterset
    has instances.

    Silent: where the capture does not connect blocks and counters. By the order of adding alone nothing can contradict: then the
    order is not known.
    """
    query = call.query
    if query is None or query.id_source is None:
        yield inconclusive(why_unknown(query, NO_COUNTER), call)
        return
    position = (POSITION, ORDER) if query.id_source == "index" else ()
    violations: dict[tuple[str, ...], list[Violation]] = defaultdict(list)
    for block in answer.blocks:
        known = counter_of(call, block)
        # A block whose content is not that of its type is not of that type; another rule reports it.
        if known is None or block.kind not in OF_TYPE or not block.is_whole:
            continue
        wildcards = tuple(_wildcards(call, known)) if block.kind != ERROR else ()
        requirements, kinds = (OF_TYPE[block.kind], *position), _fitting(call, known)
        if block.kind in kinds:
            yield passed(*requirements, *wildcards)
            continue
        broken = tuple(one for one in wildcards if block.kind not in _OF_WILDCARD[one])
        if kept := [one for one in wildcards if one not in broken]:
            yield passed(*kept)
        violations[(*requirements, *broken)].append(_other_type(block, known, kinds))
    for of, blocks in violations.items():
        yield from judgements(
            call, 0, blocks, "a block is of another form than the counter at its place asks for", of=of
        )


def _wildcards(call: CallEvidence, known: Identifier) -> Iterator[str]:
    """The requirements about wildcards that a counter identifier in a query invokes."""
    if not known.names_one_counter and _has_several(call, known):
        yield ALL_COUNTERS
    if known.instance == "*" and has_instances(call, known.counterset):
        yield ALL_INSTANCES


def _has_several(call: CallEvidence, known: Identifier) -> bool:
    """Whether a wildcard for counters in a query stands for more than one counter, as far as is known."""
    registered = counters_of_set(call, known.counterset)
    return registered is None or len(registered) != 1


def _fitting(call: CallEvidence, known: Identifier) -> tuple[int, ...]:
    """The types of block that can answer a counter identifier in a query."""
    one, many = (SINGLE, INSTANCES) if known.names_one_counter else (COUNTERS, COUNTERSET)
    if not known.names_one_counter and not _has_several(call, known):
        return tuple(OF_TYPE)
    named = has_instances(call, known.counterset)
    if (known.instance and known.names_one_instance) or named is False:
        return ERROR, one
    return (ERROR, many) if known.instance == "*" and named else (ERROR, one, many)


def _other_type(block: Block, known: Identifier, kinds: tuple[int, ...]) -> Violation:
    counter = f"counter {known.counter_id}" if known.names_one_counter else "all counters"
    instance = f"instance {known.instance!r}" if known.instance else "no instance name"
    expected = f"type {' or '.join(str(kind) for kind in kinds)} for {counter} and {instance}"
    return block.wrong("block_type", expected, f"type {block.kind}")
