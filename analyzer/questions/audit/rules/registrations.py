"""Rules about the records of a counterset and of its counters, as QueryCounterSetRegistrationInfo returns them ([MS-PCQ] sections
2.2.4.1, 2.2.4.2 and 3.1.4.1.2)."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from analyzer.questions.audit.call_evidence import CallEvidence
from analyzer.questions.audit.rule_registry import Level, Reads, of_calls, rule
from analyzer.questions.audit.rule_verdicts import (
    At,
    Deviation,
    Judgement,
    Severity,
    failed,
    inconclusive,
    judge,
    passed,
    warned,
)
from analyzer.questions.audit.server_statements import NO_REGISTRATION, ids_of_set
from analyzer.questions.audit.values_with_counters import (
    BASE_OF,
    DELTAS,
    LARGE_RAWCOUNT,
    LISTED,
    MULTI,
    OWN_CLOCK,
    PRECISION_OBJECT_TIMER,
    RAWCOUNT,
)
from analyzer.results.methods.perflib import Opnum, RequestCode

_RECORD, _COUNTER = 32, 48

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


def answers_to(*codes: int) -> Reads:
    """Returns what rules read that check the buffers of successful registration answers to these request codes, whether they decode
    or not."""
    return Reads(_METHOD, ("response.lpData",), success=True, codes=codes, damaged=True)


def records_of(call: CallEvidence) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields the records of counters in the buffer of a registration answer, each with its path."""
    tree = call.reply.tree
    if "counter" in tree:
        yield "lpData.counter", tree["counter"]
    for number, record in enumerate(tree.get("counters", ())):
        yield f"lpData.counters[{number}]", record


def types_of_set(call: CallEvidence) -> dict[int, int] | None:
    """Returns, for checks of buffers, the counter types, by id, of the counterset that a registration answer is about. They come
    from this answer if it describes the whole set, else from other answers. None if no registration of the set was captured."""
    if "counters" in call.reply.tree:
        return {record["counter_id"]: record["counter_type"] & 0xFFFFFFFF for _, record in records_of(call)}
    ids = ids_of_set(call)
    if ids is None:
        return None
    counters = call.catalog.countersets[call.asked["CounterSetGuid"]].counters
    types = {number: counters[number].info for number in ids}
    return {number: info["counter_type"] & 0xFFFFFFFF for number, info in types.items() if info is not None}


COUNT, COUNTER = "PCQ-2.2.4.1-R06", "PCQ-2.2.4.2-R01"
RECORD, FORM, LAYOUT = "PCQ-2.2.4.1-R01", "PCQ-3.1.4.1.2-R16", "PCQ-3.1.4.1.2-R31"


@rule("PCQ301", Level.BUFFERS, Severity.ERROR)
@of_calls((RECORD, COUNT, FORM, LAYOUT, COUNTER), COUNTERSET_DAMAGED)
def counterset_record_miscounted(call: CallEvidence) -> Iterator[Judgement]:
    """A counterset's registration is not the record of the counterset and as many records of counters as it says.

    Looks for: answers to RequestCode 1 that are not 32 bytes and 48 bytes for each of NumCounters.

    Why it matters: a client that goes by NumCounters reads counters that are not there, or misses some.

    Specification: [MS-PCQ] section 2.2.4.1 describes the 32 bytes of the counterset's record, and section 2.2.4.2 the 48 bytes
    of a counter's. Section 3.1.4.1.2 demands that as many of these follow as NumCounters says.

    Flagged: NumCounters 3 in an answer of 128 bytes, which has room for two.

    Accepted: NumCounters 0 in an answer of 32 bytes.

    Silent: where the answer is sealed, was not captured, or failed.
    """
    data, size = call.reply.data, len(call.reply.data)
    if size < _RECORD:
        message = "the answer has no room for the record of a counterset"
        yield failed(call, "lpData", message, "32 bytes or more", size, of=(RECORD, FORM, LAYOUT))
        yield inconclusive("the record of the counterset is cut off", call, COUNT)
        return
    number, is_cut = int.from_bytes(data[24:28], "little"), (size - _RECORD) % _COUNTER
    if size == _RECORD + _COUNTER * number:
        yield passed(RECORD, COUNT, FORM, LAYOUT)
        if number:
            yield passed(COUNTER, count=number)
        return
    message = "NumCounters is not the number of counter records that follow"
    expected = f"{(size - _RECORD) / _COUNTER:g}"
    of = (COUNT, RECORD, FORM, LAYOUT, COUNTER) if is_cut else (COUNT, RECORD, FORM, LAYOUT)
    yield failed(call, "lpData.num_counters", message, expected, number, of=of)


@rule("PCQ303", Level.BUFFERS, Severity.ERROR)
@of_calls("PCQ-2.2.4.1-R02", COUNTERSET_ASKED)
def answer_about_another_counterset(call: CallEvidence) -> Iterator[Judgement]:
    """A server described another counterset than the one it was asked about.

    Looks for: answers to RequestCode 1 whose CounterSetGuid is not that of the request.

    Why it matters: whatever the client learns from it is filed under the wrong counterset.

    Specification: [MS-PCQ] section 2.2.4.1: CounterSetGuid is the identity of the counterset that the information is about.

    Flagged: a request for Process that is answered with the GUID of Thread.

    Accepted: the GUID that was asked for.

    Silent: where request or answer is sealed, was not captured, or the call failed.
    """
    asked, reported = call.asked["CounterSetGuid"], call.reply.tree["counterset_guid"]
    message = "the answer is about another counterset than the request"
    yield judge(asked == reported, call, "lpData.counterset_guid", message, asked, reported)


TYPE, RESERVED = "PCQ-2.2.4.1-R03", "PCQ-2.2.4.2-R76"


@rule("PCQ305", Level.BUFFERS, Severity.ERROR)
@of_calls((TYPE, RESERVED), COUNTERS)
def metadata_reserved_field_set(call: CallEvidence) -> Iterator[Judgement]:
    """A field of registration information that has to be zero is not.

    Looks for: a CounterSetType of a counterset, or a Reserved of a counter, other than zero.

    Why it matters: such bytes may be stale memory of the server, or mean something in a later version; a client cannot know.

    Specification: [MS-PCQ] section 2.2.4.1 has CounterSetType set to zero, section 2.2.4.2 Reserved.

    Flagged: Reserved 0x20202020.

    Accepted: zero.

    Silent: where the answer is sealed, was not captured, or failed.
    """
    for of, path, value in _of_set_and_counters(call, (TYPE, "counterset_type"), (RESERVED, "reserved")):
        yield judge(value == 0, call, path, "a field that has to be zero is not", "0", f"{value:#x}", of=of)


def _of_set_and_counters(
    call: CallEvidence, of_set: tuple[str, str], of_counter: tuple[str, str]
) -> Iterator[tuple[str, str, int]]:
    """A field of the counterset's record and one of its counters, each with its requirement and its path."""
    (requirement, name), tree = of_set, call.reply.tree
    if name in tree:
        yield requirement, f"lpData.{name}", tree[name]
    requirement, name = of_counter
    for path, record in records_of(call):
        yield requirement, f"{path}.{name}", record[name]


SET, LEVEL = "PCQ-2.2.4.1-R05", "PCQ-2.2.4.2-R51"
_NOVICE, _ADVANCED = 100, 200


@rule("PCQ307", Level.BUFFERS, Severity.ERROR)
@of_calls((SET, LEVEL), COUNTERS)
def detail_level_unknown(call: CallEvidence) -> Iterator[Judgement]:
    """A counterset or counter has a detail level that does not exist.

    Looks for: a DetailLevel other than 100 (novice) or 200 (advanced).

    Why it matters: clients hide what is above the level of their user; they cannot place an unknown one.

    Specification: [MS-PCQ] sections 2.2.4.1 and 2.2.4.2 admit 0x64 and 0xC8. winperf.h knows 300 and 400 as well, for the older
    interface only.

    Flagged: DetailLevel 300.

    Accepted: DetailLevel 200.

    Silent: where the answer is sealed, was not captured, or failed.
    """
    for of, path, value in _of_set_and_counters(call, (SET, "detail_level"), (LEVEL, "detail_level")):
        exists = value in (_NOVICE, _ADVANCED)
        yield judge(exists, call, path, "the detail level does not exist", "100 or 200", value, of=of)


KNOWN, UNIMPLEMENTED = "PCQ-2.2.4.1-R07", "PCQ-2.2.4.1-R13"
_TYPES = (0x0, 0x2, 0x4, 0x6, 0xC, 0x16)
_INSTANCE_AGGREGATE = 0x16


@rule("PCQ309", Level.BUFFERS, Severity.ERROR)
@of_calls((KNOWN, UNIMPLEMENTED), COUNTERSET)
def instance_type_unknown(call: CallEvidence) -> Iterator[Judgement]:
    """A counterset has an instance type that does not exist, or that is not implemented anywhere.

    Looks for: an InstanceType other than 0, 2, 4, 6, 0xC and 0x16; a warning for 0x16.

    Why it matters: the instance type says whether a counterset has instances, and how clients are to aggregate them.

    Specification: [MS-PCQ] section 2.2.4.1 lists the types; it says of 0x16 that it is not implemented.

    Flagged: InstanceType 1.

    Accepted: InstanceType 0xC.

    Silent: where the answer is sealed, was not captured, or failed.
    """
    value, expected = call.reply.tree["instance_type"], ", ".join(f"{one:#x}" for one in _TYPES)
    path, seen, message = "lpData.instance_type", f"{value:#x}", "the instance type does not exist"
    yield judge(value in _TYPES, call, path, message, expected, seen, of=KNOWN)
    if value == _INSTANCE_AGGREGATE:
        message = "the instance type is declared in the text and not implemented"
        yield warned(call, path, message, "another type", seen, of=UNIMPLEMENTED)


@rule("PCQ313", Level.BUFFERS, Severity.ERROR)
@of_calls("PCQ-2.2.4.2-R02", COUNTERSET)
def counter_id_twice(call: CallEvidence) -> Iterator[Judgement]:
    """Two counters of a counterset have the same id.

    Looks for: answers to RequestCode 1 in which a CounterId occurs twice.

    Why it matters: values are distinguished by this id only.

    Specification: [MS-PCQ] section 2.2.4.2: CounterId is unique within the counterset.

    Flagged: two counters with CounterId 3.

    Accepted: ids in any order and with gaps.

    Silent: where the answer is sealed, was not captured, or failed.
    """
    seen: set[int] = set()
    records = list(records_of(call))
    for path, record in records:
        number, message = record["counter_id"], "two counters of the set have the same id"
        if len(records) > 1:
            yield judge(number not in seen, call, f"{path}.counter_id", message, "an id of its own", number)
        seen.add(number)


@rule("PCQ315", Level.VALUES, Severity.ERROR)
@of_calls("PCQ-2.2.4.2-R03", COUNTERS)
def counter_type_unlisted(call: CallEvidence) -> Iterator[Judgement]:
    """A counter is of a type that the protocol does not list.

    Looks for: a Type that is none of the 34 of the text; a warning for the two types of differences, which perflib.h lets
    providers declare.

    Why it matters: a client that does not know a type does not know how to compute what it shows.

    Specification: [MS-PCQ] section 2.2.4.2 lists 34 types and demands one of them. perflib.h has PERF_COUNTER_DELTA and
    PERF_COUNTER_LARGE_DELTA besides.

    Flagged: Type 0x00012000 (PERF_DOUBLE_RAW).

    Accepted: Type 0x20510500 (PERF_100NSEC_TIMER).

    Silent: where the answer is sealed, was not captured, or failed.
    """
    for path, record in records_of(call):
        kind, message, say = record["counter_type"] & 0xFFFFFFFF, "the type is none that the text lists", failed
        if kind in DELTAS:
            message, say = "the type is one of perflib.h that the text does not list", warned
        path, seen = f"{path}.counter_type", f"{kind:#010x}"
        yield judge(kind in LISTED, call, path, message, "a listed type", seen, say=say)


BITS, HIDDEN, HEX, REFERENCE = "PCQ-2.2.4.2-R42", "PCQ-2.2.4.2-R48", "PCQ-2.2.4.2-R49", "PCQ-2.2.4.2-R50"
_BY_REFERENCE, _NO_DISPLAY, _NO_GROUPS, _REAL, _HEX = 0x1, 0x2, 0x4, 0x8, 0x10
_COMBINED = Deviation(
    "perflib.h reference, PERF_COUNTER_REG_INFO", "the bits about display may be combined; one of them takes precedence"
)


@rule("PCQ317", Level.BUFFERS, Severity.ERROR)
@of_calls((BITS, HIDDEN, HEX, REFERENCE), COUNTERS)
def attributes_exclude_each_other(call: CallEvidence) -> Iterator[Judgement]:
    """The attributes of a counter contradict each other, or have bits that do not exist.

    Looks for: an Attrib with bits other than the five of the text; one that is not for display and also says how to display; one
    that is hexadecimal and also without groups of digits, or a real number.

    Why it matters: clients follow one attribute and break the other.

    Specification: [MS-PCQ] section 2.2.4.2, Attrib: by reference may go with any other; not for display with none of the three
    about display; hexadecimal with neither of the other two. perflib.h says of these three that they may be combined and ranks
    them.

    Flagged: Attrib 0x12 (not for display, hexadecimal).

    Accepted: Attrib 0, and 0x11 (by reference, hexadecimal).

    Silent: where the answer is sealed, was not captured, or failed.
    """
    for path, record in records_of(call):
        bits, at = record["attributes"], f"{path}.attributes"
        seen, message = f"{bits:#x}", "an attribute has bits that do not exist"
        yield judge(not bits & ~0x1F, call, at, message, "bits of 0x1f", seen, of=BITS)
        if bits & _NO_DISPLAY:
            is_kept = not bits & (_NO_GROUPS | _REAL | _HEX)
            message = "a counter that is not for display says how it is displayed"
            yield judge(is_kept, call, at, message, "0x2 without 0x4, 0x8 and 0x10", seen, of=HIDDEN)
        if bits & _HEX:
            is_kept = not bits & (_NO_GROUPS | _REAL)
            message = "a counter is displayed in hexadecimal and in another way as well"
            yield judge(is_kept, call, at, message, "0x10 without 0x4 and 0x8", seen, of=HEX, deviation=_COMBINED)
        if bits & _BY_REFERENCE:
            yield passed(REFERENCE)


@rule("PCQ319", Level.BUFFERS, Severity.ERROR)
@of_calls("PCQ-2.2.4.2-R52", COUNTERS)
def default_scale_out_of_range(call: CallEvidence) -> Iterator[Judgement]:
    """A counter's default scale is out of range.

    Looks for: a DefaultScale below -10 or above 10.

    Why it matters: the value is shown multiplied by ten to the power of it.

    Specification: [MS-PCQ] section 2.2.4.2 gives the range as 0xFFFFFFF6 to 0x0000000A, which is only a range if read as a
    signed number.

    Flagged: DefaultScale 11.

    Accepted: DefaultScale -10.

    Silent: where the answer is sealed, was not captured, or failed.
    """
    for path, record in records_of(call):
        scale, message = record["default_scale"], "the default scale is out of range"
        yield judge(-10 <= scale <= 10, call, f"{path}.default_scale", message, "-10 to 10", scale)


def _of_kinds(call: CallEvidence, kinds: Collection[int]) -> Iterator[tuple[str, dict[str, Any], int]]:
    """The registration records of counters of these types, each with its path and type."""
    for path, record in records_of(call):
        if (kind := record["counter_type"] & 0xFFFFFFFF) in kinds:
            yield path, record, kind


def _words(kind: int, role: str) -> tuple[str, str, str]:
    """The words for the partner that a counter's registration names: what a counter is that names none in this role, what is
    expected then, and what it is if it names one of another type."""
    return (
        f"a counter of type {kind:#010x} names no other counter of the set as its {role}",
        f"the id of its {role}",
        f"the {role} of a counter of type {kind:#010x} is of the wrong type",
    )


def _partner(
    call: CallEvidence,
    types: dict[int, int] | None,
    located: tuple[str, dict[str, Any], str],
    wanted: int,
    words: tuple[str, str, str],
    of: tuple[str, str],
    known: Deviation | None = None,
) -> Iterator[Judgement]:
    """Whether a field of a counter's registration names another counter of the set, and whether that is of the wanted type."""
    if types is None:
        yield inconclusive(NO_REGISTRATION, call, *of)
        return
    (path, record, field), (missing, expected, typed) = located, words
    number, at = record[field], f"{path}.{field}"
    exists = number in types and number != record["counter_id"]
    yield judge(exists, call, at, missing, expected, f"{number:#x}", of=of[0], deviation=known)
    if exists:
        is_kept, seen = types[number] == wanted, f"{types[number]:#010x}"
        yield judge(is_kept, call, at, typed, f"{wanted:#010x}", seen, of=of[1])


HAS_BASE = "PCQ-2.2.4.2-R54"
# By type, in the order of BASE_OF: which requirement pairs it with its base.
_PAIRED = dict(zip(BASE_OF, (f"PCQ-2.2.4.2-R{number}" for number in range(55, 62)), strict=True))


@rule("PCQ321", Level.VALUES, Severity.ERROR)
@of_calls((HAS_BASE, *_PAIRED.values()), COUNTERS)
def base_counter_wrong(call: CallEvidence) -> Iterator[Judgement]:
    """A counter whose type needs a base names none, itself, or one of the wrong type.

    Looks for: counters of the seven types that are divided by a base, in answers to RequestCodes 1 and 2. The rule reports a
    BaseCounterId that:

    - is no counter of the set,
    - is the counter itself, or
    - has another type than the text pairs the counter with.

    Why it matters: without its base such a value means nothing, and with a wrong one something wrong.

    Specification: [MS-PCQ] section 2.2.4.2, BaseCounterId, and the entries of the types: PERF_RAW_FRACTION goes with
    PERF_RAW_BASE, and so on.

    Flagged: a PERF_AVERAGE_TIMER whose BaseCounterId is 0xFFFFFFFF.

    Accepted: any BaseCounterId of a counter whose type needs none; a PERF_PRECISION_OBJECT_TIMER with a base, as older
    references have it, in place of a clock of its own.

    Silent: where the answer is sealed, was not captured, or failed; about an answer to RequestCode 2 where the registration of the
    counterset is not in the capture.
    """
    types = types_of_set(call)
    for path, record, kind in _of_kinds(call, BASE_OF):
        located, of = (path, record, "base_counter_id"), (HAS_BASE, _PAIRED[kind])
        yield from _partner(call, types, located, BASE_OF[kind], _words(kind, "base"), of)


_CLOCKS = {
    "perf_time_id": ("PCQ-2.2.4.2-R62", "PCQ-2.2.4.2-R63"),
    "perf_freq_id": ("PCQ-2.2.4.2-R64", "PCQ-2.2.4.2-R65"),
}
_OLDER = Deviation("the counter type reference of Windows Server 2003", "this type is divided by a base counter")


@rule("PCQ323", Level.VALUES, Severity.ERROR)
@of_calls(tuple(one for pair in _CLOCKS.values() for one in pair), COUNTERS)
def clock_counter_wrong(call: CallEvidence) -> Iterator[Judgement]:
    """A counter whose type has a clock of its own names none, itself, or one of the wrong type.

    Looks for: counters of the four types with a clock of their own, in answers to RequestCodes 1 and 2. The rule reports a
    PerfTimeId or PerfFreqId that is no other counter of the set. It also reports one that is not a PERF_COUNTER_LARGE_RAWCOUNT.

    Why it matters: such a counter is divided by the change of this clock.

    Specification: [MS-PCQ] section 2.2.4.2, PerfTimeId and PerfFreqId.

    Flagged: a PERF_ELAPSED_TIME whose PerfTimeId is 0xFFFFFFFF.

    Accepted: a PERF_PRECISION_OBJECT_TIMER that names a base in place of a clock, as older references have it.

    Silent: where the answer is sealed, was not captured, or failed; about an answer to RequestCode 2 where the registration of the
    counterset is not in the capture.
    """
    types = types_of_set(call)
    for path, record, kind in _of_kinds(call, OWN_CLOCK):
        has_base = kind == PRECISION_OBJECT_TIMER and record["base_counter_id"] in (types or ())
        known, words = _OLDER if has_base else None, _words(kind, "clock")
        for field, of in _CLOCKS.items():
            yield from _partner(call, types, (path, record, field), LARGE_RAWCOUNT, words, of, known)


MULTI_WORDS = (
    "a multi-timer names no other counter of the set for the number of its components",
    "the id of that counter",
    "the counter that MultiId names is of the wrong type",
)
HAS_MULTI = "PCQ-2.2.4.2-R66", "PCQ-2.2.4.2-R67"


@rule("PCQ325", Level.VALUES, Severity.ERROR)
@of_calls(HAS_MULTI, COUNTERS)
def multi_counter_wrong(call: CallEvidence) -> Iterator[Judgement]:
    """A multi-timer names no counter for the number of its components, itself, or one of the wrong type.

    Looks for: in answers to RequestCodes 1 and 2, counters of the four multi-timer types whose MultiId is no other counter of the
    set, or one that is not a PERF_COUNTER_RAWCOUNT.

    Why it matters: the timer is compared with this number: four processors can be busy four seconds in one.

    Specification: [MS-PCQ] section 2.2.4.2, MultiId.

    Flagged: a PERF_COUNTER_MULTI_TIMER whose MultiId is its own id.

    Accepted: any MultiId of other types.

    Silent: where the answer is sealed, was not captured, or failed; about an answer to RequestCode 2 where the registration of the
    counterset is not in the capture.
    """
    types = types_of_set(call)
    for path, record, _ in _of_kinds(call, MULTI):
        yield from _partner(call, types, (path, record, "multi_id"), RAWCOUNT, MULTI_WORDS, HAS_MULTI)


@rule("PCQ327", Level.BUFFERS, Severity.ERROR)
@of_calls("PCQ-2.2.4.2-R68", COUNTERS)
def aggregate_function_unknown(call: CallEvidence) -> Iterator[Judgement]:
    """A counter is to be aggregated by a function that does not exist.

    Looks for: an AggregateFunc above 4.

    Why it matters: the client computes the aggregate itself, by this function.

    Specification: [MS-PCQ] section 2.2.4.2 has 0 (undefined), 1 (total), 2 (average), 3 (minimum) and 4 (maximum).

    Flagged: AggregateFunc 5.

    Accepted: AggregateFunc 0 in any counterset.

    Silent: where the answer is sealed, was not captured, or failed.
    """
    for path, record in records_of(call):
        function, message = record["aggregate_func"], "the aggregate function does not exist"
        yield judge(function <= 4, call, f"{path}.aggregate_func", message, "0 to 4", function)


ONE, SIZE, ASKED = "PCQ-3.1.4.1.2-R17", "PCQ-3.1.4.1.2-R32", "PCQ-3.1.4.1.2-R27"


@rule("PCQ329", Level.BUFFERS, Severity.ERROR, "counter-record-misfit")
@of_calls((ONE, SIZE, ASKED), answers_to(RequestCode.COUNTER_STRUCT))
def counter_record_mismatched(call: CallEvidence) -> Iterator[Judgement]:
    """The description of one counter is no record of one counter, or of another one than asked about.

    Looks for: answers to RequestCode 2 of another size than 48 bytes, or with another CounterId than RequestLCID named.

    Why it matters: the client takes what it reads for the counter it asked about.

    Specification: [MS-PCQ] section 3.1.4.1.2: for this code RequestLCID is the CounterId, and the answer one structure as in
    section 2.2.4.2.

    Flagged: an answer of 96 bytes; CounterId 3 where 2 was asked about.

    Accepted: 48 bytes about the counter asked for.

    Silent: where the answer is sealed, was not captured, or failed. The id is not compared where the request is not to be had.
    """
    data, of = call.reply.data, (SIZE, ONE)
    message, seen = "the answer is not the record of one counter", f"{len(data)} bytes"
    yield judge(len(data) == _COUNTER, call, "lpData", message, f"{_COUNTER} bytes", seen, of=of)
    if len(data) != _COUNTER:
        yield inconclusive("the record of the counter is of the wrong size", call, ASKED)
        return
    asked, reported = call.asked["RequestLCID"], int.from_bytes(data[:4], "little")
    path, message = "lpData.counter.counter_id", "the answer is about another counter"
    yield judge(asked == reported, call, path, message, asked, reported, of=ASKED)


MOST_COUNTERS = 64_000


@rule("PCQ391", Level.BUFFERS, Severity.WARNING)
@of_calls("PL-QCD-R17", COUNTERSET_DAMAGED)
def too_many_counters(call: CallEvidence) -> Iterator[Judgement]:
    """A counterset has more counters than one may have.

    Looks for: registrations of countersets whose NumCounters is above 64 000.

    Why it matters: programs written for perflib.h may refuse it.

    Specification: perflib.h: a counterset can contain at most 64 000 counters. [MS-PCQ] section 2.2.4.1 has no limit.

    Flagged: NumCounters 64 001.

    Accepted: NumCounters 64 000.

    Silent: where the answer is sealed, was not captured, or is too short for the number.
    """
    if len(call.reply.data) < _RECORD:
        yield inconclusive("the answer is too short for a counterset", call)
        return
    number, at = int.from_bytes(call.reply.data[24:28], "little"), At("response", "lpData.num_counters", (24, 28))
    message, expected = "a counterset has more counters than one may have", f"at most {MOST_COUNTERS}"
    yield judge(number <= MOST_COUNTERS, call, at, message, expected, number)


@rule("PCQ620", Level.VALUES, Severity.INFO)
@of_calls("PCQ-2.2.4.2-R75", COUNTERSET)
def aggregate_function_without_aggregate(call: CallEvidence) -> Iterator[Judgement]:
    """A counter names an aggregate function in a counterset that is not aggregated.

    Looks for: registrations of countersets (request code 1) and the AggregateFunc of their counters.

    Why it matters: it does not. The function has no effect there, so this rule only counts where it was met and never complains.

    Specification: [MS-PCQ] section 2.2.4.2: AggregateFunc is what the client does with a counter if its counterset is a global
    aggregate, a multiple-instance aggregate or a global aggregate history. Whether the value itself exists is judged by another
    rule.

    Flagged: nothing.

    Accepted: any function in any counterset.

    Silent: where the answer is sealed, was not captured, or does not decode.
    """
    asking = sum(counter["aggregate_func"] != 0 for counter in call.reply.tree.get("counters", ()))
    if asking:
        yield passed(count=asking)
