"""Rules about the header and the blocks of a data answer: sizes, counts, types, padding and statuses."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.interfaces.buffers.windows_text import utf16_length
from analyzer.questions.audit.buffer_checks import judgements, of_data, status_violation
from analyzer.questions.audit.call_evidence import CallEvidence
from analyzer.questions.audit.data_answers import DataAnswer, FlawKind
from analyzer.questions.audit.rule_registry import Level, rule
from analyzer.questions.audit.rule_verdicts import Judgement, Severity, Violation, inconclusive, passed
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


PADDED = "PL-QCD-R08"
VALUE_SIZES = {
    SINGLE: (),
    COUNTERS: ("PCQ-3.1.4.1.6-R16",),
    INSTANCES: (),
    COUNTERSET: ("PCQ-3.1.4.1.6-R25",),
}


@rule("PCQ511", Level.BUFFERS, Severity.ERROR)
@of_data(("PCQ-2.2.4.9-R02", PADDED, "PCQ-3.1.4.1.6-R16", "PCQ-3.1.4.1.6-R25"))
def value_of_wrong_size(call: CallEvidence, answer: DataAnswer) -> Iterator[Judgement]:
    """The size of a value does not hold it, or leaves out its padding.

    Looks for: PERF_COUNTER_DATA structures whose dwSize is below 8 + dwDataSize, or does not lead to the next structure; and, as a
    note, those whose dwSize leaves out the padding.

    Why it matters: a client advances by dwSize from value to value. One wrong size gives every counter behind it another's value.

    Specification: [MS-PCQ] section 2.2.4.9: dwSize is the size of the structure and of the data; it does not speak of padding.
    Section 2.2.4 lets every structure begin at a multiple of 8; perflib.h says that the padding is counted in dwSize. Section
    3.1.4.1.6 makes values of types 2 and 6 such a structure followed by its data.

    Flagged: dwDataSize 8 with dwSize 8. A note: dwDataSize 4 with dwSize 12, which fits the words of 2.2.4.9, not those of
    perflib.h.

    Accepted: dwDataSize 4 with dwSize 16, or with dwSize 12 and the next structure at the next multiple of 8.

    Silent: where the answer is sealed or was not captured; in blocks that cannot be read at all.
    """
    for kind, of_type in VALUE_SIZES.items():
        wrong = answer.flaws_of(FlawKind.VALUE_SIZE, block_types=(kind,))
        unpadded = answer.flaws_of(FlawKind.VALUE_UNPADDED, block_types=(kind,))
        right = sum(block.num_values for block in answer.of_type(kind)) - len(wrong)
        if right > 0:
            yield passed("PCQ-2.2.4.9-R02", *of_type, count=right)
        if right > len(unpadded):
            yield passed(PADDED, count=right - len(unpadded))
        message, of = "the size of a value does not lead to what follows it", ("PCQ-2.2.4.9-R02", PADDED, *of_type)
        yield from judgements(call, 0, wrong, message, of=of)
        yield from judgements(call, 0, unpadded, "the size of a value leaves out its padding", of=PADDED, note=True)


INSTANCES_SIZE, INSTANCES_NUMBER, INSTANCE_HEADER = "PCQ-2.2.4.10-R01", "PCQ-2.2.4.10-R02", "PL-QCD-R09"
# The number of instances, and the form of each, by the type of the block.
OF_INSTANCES = {
    INSTANCES: ("PCQ-3.1.4.1.6-R21", "PCQ-3.1.4.1.6-R20"),
    COUNTERSET: ("PCQ-3.1.4.1.6-R28", "PCQ-3.1.4.1.6-R24"),
}


@rule("PCQ512", Level.BUFFERS, Severity.ERROR)
@of_data((INSTANCES_SIZE, INSTANCES_NUMBER, INSTANCE_HEADER, *OF_INSTANCES[INSTANCES], *OF_INSTANCES[COUNTERSET]))
def instances_miscounted(call: CallEvidence, answer: DataAnswer) -> Iterator[Judgement]:
    """The instances in a block are not as many, or not as large, as their headers say.

    Looks for: blocks of dwType 4 and 6 with one of these flaws:

    - dwInstances is not the number of instances that follow.
    - dwTotalSize does not end with the last instance.
    - The Size of an instance header does not lead to the instance's values, or is no multiple of 8.

    Why it matters: an instance that is there and not counted is not shown, one that is counted and not there is made of other
    bytes.

    Specification: [MS-PCQ] section 2.2.4.10: dwTotalSize covers this header and all instance data, dwInstances is the number of
    instances. Section 3.1.4.1.6 demands that the number of instance blocks is the same, for types 4 and 6. Section 2.2.4.5:
    Size covers the instance header and its name. perflib.h pads it to a multiple of 8 and counts the padding.

    Flagged: dwInstances 3 with two instances; a dwTotalSize that leaves out the 8 bytes of its own header.

    Accepted: dwInstances 0 and dwTotalSize 8.

    Silent: where the answer is sealed or was not captured; in blocks that cannot be read at all.
    """
    for kind, (number, form) in OF_INSTANCES.items():
        blocks = [block for block in answer.of_type(kind) if block.instances_at is not None]
        types, instances = (kind,), sum(len(block.rows) for block in blocks)
        violations = answer.flaws_of(FlawKind.INSTANCES_SIZE, block_types=types)
        message = "the total size of the instances does not end with the last of them"
        yield from judgements(call, len(blocks), violations, message, of=INSTANCES_SIZE)
        violations = answer.flaws_of(FlawKind.INSTANCE_COUNT, block_types=types)
        message = "another number of instances follows than was reported"
        yield from judgements(call, len(blocks), violations, message, of=(INSTANCES_NUMBER, number))
        violations = answer.flaws_of(FlawKind.INSTANCE_SIZE, block_types=types)
        unpadded = answer.flaws_of(FlawKind.INSTANCE_UNPADDED, block_types=types)
        message, of = "the size of an instance does not lead to its values", (INSTANCE_HEADER, form)
        yield from judgements(call, instances - len(unpadded), violations, message, of=of)
        yield from judgements(call, 0, unpadded, "the size of an instance leaves out its padding", of=INSTANCE_HEADER)


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
