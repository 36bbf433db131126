"""Rules about counter identifiers: their sizes and names, the fields that each side sets, and the places that Index states."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.interfaces.buffers.windows_text import utf16_length
from analyzer.questions.audit.buffer_checks import (
    ANSWERED_DAMAGED,
    ASKED_DAMAGED,
    INFO_DAMAGED,
    UNREADABLE,
    VALIDATED,
    judgements,
)
from analyzer.questions.audit.call_evidence import AskedEvidence, CallEvidence, SideEvidence
from analyzer.questions.audit.data_answers import UNCOUNTABLE
from analyzer.questions.audit.identifier_lists import (
    HEADER,
    SIZE,
    STATUS,
    IdentifierBlock,
    chained,
    readable_identifiers,
)
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
    judge,
    passed,
    warned,
)
from analyzer.questions.audit.rules.error_codes import INVALID_PARAMETER, REFUSED_ELSEWHERE, status_violation
from analyzer.questions.audit.server_statements import NO_REGISTRATION, has_instances
from analyzer.questions.audit.stub_and_pdu_fields import returned
from analyzer.results.methods.perflib import Opnum


def _chain(call: OfCall, side: SideEvidence) -> Iterator[Judgement]:
    """The verdict on the sizes that lead from counter identifier to counter identifier, damaged or not, on one side of a call."""
    if not side.is_readable:
        yield inconclusive(f"the {side.name} stub does not decode", call)
        return
    flaw = side.identifiers.flaw
    message = "the size of an identifier does not lead to the next one"
    if flaw is not None and not flaw.path.endswith(".size"):
        message = "the buffer ends before an identifier does"
    yield from judgements(call, len(side.identifiers.blocks), [flaw] if flaw is not None else [], message)


@rule("PCQ401", Level.BUFFERS, Severity.ERROR)
@of_requests(("PCQ-3.1.4.1.7-R12", "PCQ-2.2.4.6-R01", "PCQ-2.2.4.6-R03", "PCQ-3.1.4.1.7-R11"), ASKED_DAMAGED)
def asked_identifier_of_wrong_size(call: AskedEvidence) -> Iterator[Judgement]:
    """A client sent counter identifiers whose sizes do not lead from one to the next.

    Looks for: requests of ValidateCounters whose buffer holds an identifier that:

    - is shorter than its 40 bytes,
    - states a Size below 40, or
    - states a Size that leads beyond the buffer or into the middle of something else.

    Why it matters: the server reads one identifier after the other by Size. A wrong one makes it add counters nobody asked for,
    or refuse the whole list.

    Specification: [MS-PCQ] section 2.2.4.6: an identifier has 40 bytes, and Size covers them and the name that follows. Section
    3.1.4.1.7: the buffer is an array of such blocks.

    Flagged: Size 32; Size 48 of the last identifier, with 40 bytes left.

    Accepted: Size 40 and no name; Size 48 with a name of 3 characters.

    Silent: where the request is sealed, was not captured, or its stub does not decode.
    """
    yield from _chain(call, call.sent)


@rule("PCQ402", Level.BUFFERS, Severity.ERROR)
@of_calls(("PCQ-2.2.4.6-R03", "PCQ-2.2.4.6-R01"), ANSWERED_DAMAGED)
def answered_identifier_of_wrong_size(call: CallEvidence) -> Iterator[Judgement]:
    """A server answered with counter identifiers whose sizes do not lead from one to the next.

    Looks for: answers of QueryCounterInfo and ValidateCounters whose buffer holds an identifier that:

    - is shorter than its 40 bytes,
    - states a Size below 40, or
    - states a Size that leads beyond the buffer or into the middle of something else.

    Why it matters: the client learns from these which counters its query holds, where their data will be, and which could not be
    added.

    Specification: [MS-PCQ] section 2.2.4.6: an identifier has 40 bytes, and Size covers them and the name that follows.

    Flagged: Size 0; Size 64 of an identifier after whose 56 bytes the next one stands.

    Accepted: Size 40 and no name; Size 48 with a name of 3 characters.

    Silent: where the answer is sealed, was not captured, or its stub does not decode.
    """
    yield from _chain(call, call.reply)


@rule("PCQ405", Level.BUFFERS, Severity.WARNING)
@of_sides("PCQ-2.2.4.6-R04", ASKED_DAMAGED, "PCQ-2.2.4.6-R04", ANSWERED_DAMAGED)
def identifier_name_not_utf16(call: OfCall, side: SideEvidence) -> Iterator[Judgement]:
    """The name after a counter identifier is not UTF-16 text.

    Looks for: identifiers whose name has an odd number of bytes, or a surrogate without its pair, in QueryCounterInfo and
    ValidateCounters.

    Why it matters: the name selects the instance. One that cannot be compared selects nothing, or another one.

    Specification: [MS-PCQ] section 2.2.4.6: the structure is followed by the instance name, as a Unicode string; section 2.2.4
    makes its units little-endian.

    Flagged: Size 43, so that the name has 3 bytes. A warning: the unit D800 before an "a".

    Accepted: names of any characters; no name.

    Silent: where the message is sealed or was not captured; behind a Size that leads nowhere.
    """
    blocks = readable_identifiers(side)
    uneven: list[Violation] = []
    unpaired: list[Violation] = []
    for block in blocks:
        text, path = block.room[: utf16_length(block.room)], f"{block.path}.name"
        if len(block.room) % 2:
            uneven.append(Violation(path, block.room_span, "an even number of bytes", f"{len(block.room)} bytes"))
        elif text.decode("utf-16-le", "replace") != text.decode("utf-16-le", "surrogatepass"):
            unpaired.append(Violation(path, block.name_span, "pairs of surrogates", text.hex(" ", 2)))
    named = sum(bool(block.room) for block in blocks) - len(unpaired)
    yield from judgements(call, named, uneven, "the name after an identifier has half a character at its end")
    message = "the name after an identifier has a surrogate without its pair"
    yield from judgements(call, 0, unpaired, message, warn=True)


NAME_ANSWERED, NAME_ASKED, NAME_ASKED_SINGLE = "PCQ-3.1.4.1.5-R12", "PCQ-3.1.4.1.7-R13", "PCQ-3.1.4.1.7-R14"
_NAMELESS = Deviation(
    "Windows SDK, perflib.h, comment on PERF_COUNTER_IDENTIFIER",
    "identifiers of single-instance countersets have exactly 40 bytes and no name",
    "PL-QCD-R11",
)
_NO_NAME = "an identifier is not followed by a name that ends in a NUL"


@rule("PCQ410", Level.BUFFERS, Severity.ERROR)
@of_calls(NAME_ANSWERED, INFO_DAMAGED)
def identifier_without_name(call: CallEvidence) -> Iterator[Judgement]:
    """A counter identifier is not followed by the name of its instance.

    Looks for: identifiers in answers of QueryCounterInfo, and in requests of ValidateCounters for countersets with instances, that
    no name ending in a NUL follows.

    Why it matters: without a name, the counter of which instance is meant? A reader that expects the NUL reads on into the next
    identifier.

    Specification: [MS-PCQ] section 3.1.4.1.5: a name that ends in a NUL follows every identifier of QueryCounterInfo. Section
    3.1.4.1.7 demands such a name after the identifiers that a client sends for multiple-instance countersets. It also demands a
    name for single-instance countersets, and does not speak of the NUL there. perflib.h has no name after the identifiers of
    single-instance countersets.

    Flagged: Size 40 for a counterset of type 2; a name that fills the block to its end without a NUL.

    Accepted: Size 48 with a NUL and 6 bytes of padding; for single-instance countersets also Size 40: the profile windows goes by
    perflib.h, and of what a client sends nothing more is demanded.

    Silent: about Size 40 where the registration of the counterset is not in the capture; where the message is sealed or was not
    captured.
    """
    blocks = readable_identifiers(call.response)
    violations: list[Violation] = []
    nameless: list[Violation] = []
    unknown = 0
    for block in blocks:
        if block.has_nul:
            continue
        named = has_instances(call, block.counterset)
        if block.room or named:
            violations.append(_without_name(block))
        elif named is None:
            unknown += 1
            yield inconclusive(NO_REGISTRATION, call)
        else:
            nameless.append(_without_name(block))
    yield from judgements(call, len(blocks) - unknown - len(nameless), violations, _NO_NAME)
    yield from judgements(call, 0, nameless, _NO_NAME, deviation=_NAMELESS)


@identifier_without_name.also
@of_requests((NAME_ASKED, NAME_ASKED_SINGLE), ASKED_DAMAGED)
def _asked_without_name(call: AskedEvidence) -> Iterator[Judgement]:
    violations: list[Violation] = []
    multiple = single = 0
    for block in readable_identifiers(call.request):
        named = has_instances(call, block.counterset)
        if named is None:
            yield inconclusive(NO_REGISTRATION, call)
        elif not named:
            single += bool(block.room)
        else:
            multiple += 1
            violations += [] if block.has_nul else [_without_name(block)]
    if single:
        yield passed(NAME_ASKED_SINGLE, count=single)
    yield from judgements(call, multiple, violations, _NO_NAME, of=NAME_ASKED)


def _without_name(block: IdentifierBlock) -> Violation:
    seen = f"Size {block.size}, and no NUL" if block.room else f"Size {block.size}"
    return block.wrong("size", "room for a name and its NUL", seen)


@rule("PCQ412", Level.BUFFERS, Severity.INFO)
@of_sides("PL-QCD-R11", ASKED_DAMAGED, "PL-QCD-R11", ANSWERED_DAMAGED)
def single_instance_named(call: OfCall, side: SideEvidence) -> Iterator[Judgement]:
    """The identifier of a counter without instances is followed by a name.

    Looks for: identifiers of QueryCounterInfo and ValidateCounters for single-instance countersets whose name is not empty.

    Why it matters: to programs written for perflib.h such an identifier has a fixed size of 40 bytes, and the name is a surprise.
    By the protocol's own text the name belongs there, so this is no more than worth knowing.

    Specification: perflib.h: Size is 40 for a counterset that can only have a single instance, and no name follows the
    identifier. By [MS-PCQ] section 3.1.4.1.7, a name follows the identifiers of such countersets.

    Flagged: as a warning, the name "_Total" after the identifier of a counterset of type 0.

    Accepted: Size 40. An empty name, which [MS-PCQ] lets follow and perflib.h does not, does not exercise this requirement.

    Silent: where the registration of the counterset is not in the capture; where the message is sealed or was not captured.
    """
    blocks = readable_identifiers(side)
    single = [block for block in blocks if has_instances(call, block.counterset) is False]
    if any(has_instances(call, block.counterset) is None for block in blocks):
        yield inconclusive(NO_REGISTRATION, call)
    named = [block for block in single if block.name]
    violations = [Violation(f"{one.path}.name", one.room_span, "no name", repr(one.name)) for one in named]
    bare = sum(not block.room for block in single)
    message = "a name follows the identifier of a counter that has no instances"
    yield from judgements(call, bare + len(violations), violations, message, warn=True)


SIZE_ANSWERED, SIZE_ANY = "PCQ-3.1.4.1.5-R16", "PL-QCD-R12"


@rule("PCQ415", Level.BUFFERS, Severity.ERROR, "identifier-size-off-eight")
@of_sides(
    SIZE_ANY,
    ASKED_DAMAGED,
    {Opnum.QUERY_COUNTER_INFO: (SIZE_ANSWERED, SIZE_ANY), Opnum.VALIDATE_COUNTERS: (SIZE_ANY,)},
    ANSWERED_DAMAGED,
)
def identifier_size_not_multiple_of_8(call: OfCall, side: SideEvidence) -> Iterator[Judgement]:
    """The Size of a counter identifier is not a multiple of 8.

    Looks for: identifiers of QueryCounterInfo and ValidateCounters whose Size is not a multiple of 8.

    Why it matters: the next identifier then begins where readers that align do not look for it.

    Specification: [MS-PCQ] section 3.1.4.1.5 demands a multiple of 8 of what QueryCounterInfo returns; perflib.h of every
    identifier. The padding is counted in Size.

    Flagged: Size 46: 40 bytes, two characters and a NUL.

    Accepted: Size 48 for the same.

    Silent: where the message is sealed or was not captured; behind a Size that leads nowhere.
    """
    blocks = readable_identifiers(side)
    violations = [one.wrong("size", one.size + -one.size % 8, one.size) for one in blocks if one.size % 8]
    yield from judgements(call, len(blocks), violations, "the size of an identifier is not a multiple of 8")


FREE, CLEARED = "PCQ-2.2.4.6-R06", "PL-QCD-R13"


@rule("PCQ420", Level.BUFFERS, Severity.WARNING, "asked-identifier-preset")
@of_requests((FREE, CLEARED), Reads((Opnum.VALIDATE_COUNTERS,), ("request", "request.lpData")))
def identifier_field_not_cleared(call: AskedEvidence) -> Iterator[Judgement]:
    """A client sent identifiers with fields set that are the server's, or reserved.

    Looks for: requests of ValidateCounters whose identifiers have a Reserved other than 0; of those that add, also a Status or
    Index.

    Why it matters: a field kept free for a later version that already holds something cannot be used by it. A Status that was there
    before cannot be distinguished from one that the server set.

    Specification: [MS-PCQ] section 2.2.4.6 demands a Reserved of 0 from clients. perflib.h has Status, Index and Reserved
    initialised to 0 where counters are added.

    Flagged: Reserved 1. A warning: Status 5, or Index 3, in a request that adds.

    Accepted: zeros; in a request that removes, Status and Index as they were received.

    Silent: where the request is sealed, was not captured, or does not decode.
    """
    blocks = call.sent.identifiers.blocks
    violations = [block.wrong("reserved", 0, f"{block.reserved:#x}") for block in blocks if block.reserved]
    yield from judgements(call, len(blocks), violations, "the reserved field of an identifier is not zero", of=FREE)
    if not call.asked["dwAdd"]:
        return
    violations = [
        block.wrong("status", 0, f"{block.status:#x}") if block.status else block.wrong("index", 0, block.position)
        for block in blocks
        if block.status or block.position
    ]
    message = "a field of an identifier is set that is the server's to set"
    yield from judgements(call, len(blocks), violations, message, of=CLEARED, warn=True)


CODE, INFO, STATED, LISTED = "PCQ-2.2.4.6-R02", "PCQ-3.1.4.1.5-R14", "PCQ-3.1.4.1.7-R18", "PCQ-3.1.4.1.7-R19"
_TABLE = (0, 3, 0xE, 0x57, 0xB7, 0x1068, 0x106A)


@rule("PCQ425", Level.BUFFERS, Severity.WARNING)
@of_calls(
    {Opnum.QUERY_COUNTER_INFO: (CODE, INFO), Opnum.VALIDATE_COUNTERS: (CODE, STATED, LISTED)},
    Reads((Opnum.QUERY_COUNTER_INFO, Opnum.VALIDATE_COUNTERS), ("response.lpData",), success=True),
)
def identifier_status_unknown(call: CallEvidence) -> Iterator[Judgement]:
    """The status of an identifier is none that a server may give it.

    Looks for: answers of QueryCounterInfo and ValidateCounters with a Status that is no Win32 code; of ValidateCounters, with one
    that is not in its table, or that the client had put there before.

    Why it matters: the status is the only thing that states which of the counters a client asked for it will get.

    Specification: [MS-PCQ] section 2.2.4.6 makes Status a Win32 code. Section 3.1.4.1.5 says that the server sets it to one.
    Section 3.1.4.1.7 demands that it states the result for each identifier. It limits the infrastructure's own errors to 0, 3,
    0xE, 0x57, 0xB7, 0x1068 and 0x106A. Errors of a provider are passed on unchanged.

    Flagged: Status 0xC0000034; a Status of 0x7777 in request and answer alike. A warning: any code that is not in the table, since
    it may be a provider's; garbage in QueryCounterInfo, where clients ignore it.

    Accepted: Status 0x106A.

    Silent: where the message is sealed or was not captured. A code of the table that the client had set before is inconclusive.
    """
    blocks, is_info = call.reply.identifiers.blocks, call.opnum == Opnum.QUERY_COUNTER_INFO
    no_code = [_status(block, "a Win32 code") for block in blocks if status_violation(block.status) == "fail"]
    perhaps = [_status(block, "a Win32 code") for block in blocks if status_violation(block.status) == "warn"]
    message, of = "the status of an identifier is no Win32 code", (INFO, CODE) if is_info else CODE
    # Clients ignore it in QueryCounterInfo: SHOULD.
    if is_info:
        no_code, perhaps = [], perhaps + no_code
    yield from judgements(call, len(blocks) - len(perhaps), no_code, message, of=of)
    yield from judgements(call, 0, perhaps, message, of=of, warn=True)
    if not is_info:
        yield from _validated(call, blocks)


def _validated(call: CallEvidence, blocks: list[IdentifierBlock]) -> Iterator[Judgement]:
    codes = [block for block in blocks if status_violation(block.status) is None]
    violations = [_status(one, "0, 3, 0xe, 0x57, 0xb7, 0x1068 or 0x106a") for one in codes if one.status not in _TABLE]
    message = "the status of an identifier is not in the table"
    yield from judgements(call, len(codes), violations, message, of=LISTED, warn=True)
    asked = call.request.identifiers.blocks if call.request is not None and call.request.is_readable else None
    if asked is None or len(asked) != len(blocks):
        yield inconclusive("what the client had put there is not known", call, STATED)
        return
    kept = [one for before, one in zip(asked, blocks, strict=True) if before.status and before.status == one.status]
    left = [_status(one, "the result for the counter") for one in kept if one.status not in _TABLE]
    for _ in range(len(kept) - len(left)):
        yield inconclusive("the client had put the same status there before", call, STATED)
    message = "the status of an identifier is still what the client had put there"
    yield from judgements(call, len(blocks) - len(kept) + len(left), left, message, of=STATED)


def _status(block: IdentifierBlock, expected: str) -> Violation:
    return block.wrong("status", expected, f"{block.status:#x}")


@rule("PCQ430", Level.BUFFERS, Severity.ERROR)
@of_calls("PCQ-3.1.4.1.7-R17", VALIDATED)
def identifiers_changed_on_return(call: CallEvidence) -> Iterator[Judgement]:
    """A server returned other identifiers than it was sent.

    Looks for: answers of ValidateCounters in which an identifier differs from the one in its place in the request in anything but
    Status and Index, or stands elsewhere.

    Why it matters: clients find their counters in the answer by position. What was moved or changed gets the status of another
    counter.

    Specification: [MS-PCQ] section 3.1.4.1.7: the server returns the buffer it was sent, with the Status of each identifier filled
    in. Nothing is stated of Index.

    Flagged: two identifiers sent, one returned. A warning: another CounterId.

    Accepted: Status and Index filled in.

    Silent: where one of the messages is sealed, was not captured, or does not decode.
    """
    asked, answered = call.sent.identifiers.blocks, call.reply.identifiers.blocks
    layout, returned = [block.size for block in asked], [block.size for block in answered]
    if layout != returned:
        expected = f"{len(layout)} identifiers in {sum(layout)} bytes"
        seen = f"{len(returned)} in {sum(returned)} bytes, or of other sizes"
        whole = Violation("lpData", (0, len(call.reply.data)), expected, seen)
        yield from judgements(call, 1, [whole], "other identifiers came back than were sent")
        return
    changed = [one for before, after in zip(asked, answered, strict=True) for one in _changes(before, after)][:1]
    yield from judgements(call, len(asked), changed, "an identifier came back changed", warn=True)


def _changes(before: IdentifierBlock, after: IdentifierBlock) -> Iterator[Violation]:
    if before.counterset != after.counterset:
        path, span = f"{after.path}.counterset_guid", (after.at, after.at + 16)
        yield Violation(path, span, before.counterset, after.counterset)
    for name in ("counter_id", "instance_id", "reserved"):
        expected, seen = getattr(before, name), getattr(after, name)
        if expected != seen:
            yield after.wrong(name, expected, seen)
    if before.name != after.name:
        yield Violation(f"{after.path}.name", after.name_span, repr(before.name), repr(after.name))


@rule("PCQ705", Level.SEQUENCES, Severity.ERROR)
@of_calls("PCQ-3.1.4.1.7-R07", Reads((Opnum.VALIDATE_COUNTERS,), ("request", "response")))
def short_validation_not_refused(call: CallEvidence) -> Iterator[Judgement]:
    """A server took a buffer for ValidateCounters that holds no whole identifier.

    Looks for: requests with a dwInSize below 40, or with an identifier whose Size is below 40, and the return value.

    Why it matters: an identifier that is shorter than its fixed fields is read beyond its end, or hides the ones after it.

    Specification: [MS-PCQ] section 3.1.4.1.7: the server returns ERROR_INVALID_PARAMETER (0x57) for a buffer that is smaller
    than one _PERF_COUNTER_IDENTIFIER. It also does so where an identifier in the buffer states a smaller size. A server may
    instead put this code into the Status of the identifier, which calls that identifier corrupt. The rule accepts both.

    Flagged: dwInSize 24 and return value 0; Size 16 in the second identifier, and success. An empty buffer that is called success
    is a warning, and so is another error.

    Accepted: return value 0x57; return value 0 with Status 0x57 in the identifier.

    Silent: where the request or the answer is sealed or was not captured.
    """
    place = _too_short(call.sent.data)
    if place is None or call.status in REFUSED_ELSEWHERE:
        return
    at, size = place
    where, path, status = "dwInSize", "dwInSize", call.status
    if at is not None:
        where, path = "the Size of an identifier", f"lpData[{at + SIZE}:{at + SIZE + 4}]"
        if int.from_bytes(call.reply.data[at + STATUS : at + STATUS + 4], "little") == INVALID_PARAMETER:
            status = INVALID_PARAMETER
    message = f"the server did not refuse what is too short for an identifier: {where} is {size}"
    say, expected = failed if call.status == 0 and call.sent.data else warned, "ERROR_INVALID_PARAMETER (0x57)"
    is_kept = status == INVALID_PARAMETER
    yield judge(is_kept, call, At("request", path), message, expected, returned(call), say=say)


def _too_short(data: bytes) -> tuple[int | None, int] | None:
    """Where a counter identifier begins whose Size asks for an error code, being too small (None: the whole buffer is), and the
    size; None where none is."""
    if len(data) < HEADER:
        return None, len(data)
    return next((one for one in chained(data, SIZE, HEADER) if one[1] < HEADER), None)


@rule("PCQ450", Level.SEQUENCES, Severity.ERROR, "index-leads-nowhere")
@of_calls(
    "PCQ-3.1.4.1.5-R13",
    Reads((Opnum.QUERY_COUNTER_INFO, Opnum.QUERY_COUNTER_DATA), ("response.lpData",), success=True, damaged=True),
)
def counter_index_wrong(call: CallEvidence) -> Iterator[Judgement]:
    """The Index of a counter is that of another one, or of no block.

    Looks for:

    - Answers of QueryCounterInfo in which two identifiers have the same Index.
    - Data answers on the same handle that have no block at a position that such an answer reported. No counter may have been
      added or removed between the two.

    Why it matters: Index is all that connects a value with a counter. Two counters at one place, or one at no place, have no value.

    Specification: [MS-PCQ] section 3.1.4.1.5: Index must be the position of the corresponding block in the answers of later data
    queries on the handle.

    Flagged: two identifiers with Index 0; Index 5 where the data have five blocks.

    Accepted: positions in any order; positions counted anew after ValidateCounters.

    Silent: where one of the answers is sealed, was not captured, or is damaged.
    """
    if not call.reply.is_readable:
        yield inconclusive(UNREADABLE, call)
    elif call.opnum == Opnum.QUERY_COUNTER_INFO:
        yield from _indices_reported(call)
    else:
        yield from _indices_answered(call)


def _indices_reported(call: CallEvidence) -> Iterator[Judgement]:
    found = call.reply.identifiers
    if found.flaw is not None:
        yield inconclusive("the list of identifiers is damaged", call)
        return
    taken: dict[int, int] = {}
    violations: list[Violation] = []
    for block in found.blocks:
        first = taken.setdefault(block.position, block.number)
        if first != block.number:
            seen = f"{block.position}, as of identifier {first}"
            violations.append(block.wrong("index", "a position of its own", seen))
    yield from judgements(call, len(found.blocks), violations, "two counters have the same position in data answers")


def _indices_answered(call: CallEvidence) -> Iterator[Judgement]:
    query, answer = call.query, call.reply.answer
    if query is None or query.id_source != "index":
        return
    if not answer.can_be_counted:
        yield inconclusive(UNCOUNTABLE, call)
        return
    beyond = sorted(index for index in query.blocks if index >= len(answer.blocks))
    seen = f"{len(answer.blocks)} blocks"
    violations = [Violation("lpData.num_blocks", (4, 8), f"a block at position {index}", seen) for index in beyond]
    message = "the answer has no block at a position that QueryCounterInfo reported"
    yield from judgements(call, len(query.blocks), violations, message)
