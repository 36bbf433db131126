"""Rules about the objects of a PERF_DATA_BLOCK: their headers, definitions, instances and counter blocks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Literal

from analyzer.interfaces.buffers.winperf_layout import (
    PERF_METADATA_MULTIPLE_INSTANCES,
    PERF_METADATA_NO_INSTANCES,
    PERF_NO_INSTANCES,
)
from analyzer.questions.audit.call_evidence import CallEvidence
from analyzer.questions.audit.rule_registry import Level, rule
from analyzer.questions.audit.rule_verdicts import (
    Deviation,
    Judgement,
    Severity,
    failed,
    inconclusive,
    judge,
    passed,
    warned,
)
from analyzer.questions.audit.values_with_counters import BASE_OF, PRECISION_OBJECT_TIMER
from analyzer.questions.audit.winperf_walk import (
    CUT_OFF,
    OBJECT_LENGTH,
    Definition,
    Structure,
    WinperfBlock,
    counter_blocks_of,
    definitions_of,
    of_blocks,
)
from analyzer.results.methods.perflib import is_base

_INSTANCE_LENGTH, _DEFINITION_LENGTH = 24, 40

TOTAL, DEFINITION, HEADER, INSTANCES = "WP-OT-R01", "WP-OT-R02", "WP-OT-R03", "WP-OT-R04"
CODE_PAGE, COUNTERS, DETAIL = "WP-OT-R05", "WP-OT-R06", "WP-OT-R07"
OF_OBJECTS = (TOTAL, DEFINITION, HEADER, INSTANCES, CODE_PAGE, COUNTERS, DETAIL)
# PERF_DETAIL_NOVICE, ADVANCED, EXPERT and WIZARD (winperf.h).
_DETAIL_LEVELS = (100, 200, 300, 400)


@rule("PCQ820", Level.WINPERF, Severity.ERROR, "winperf-object-does-not-fit")
@of_blocks(OF_OBJECTS, of_objects=True)
def winperf_object_inconsistent(call: CallEvidence, block: WinperfBlock) -> Iterator[Judgement]:
    """An object of a block of performance data does not fit its own lengths and counts.

    Looks for:

    - A TotalByteLength that leads out of the block.
    - A HeaderLength other than 64.
    - A DefinitionLength too small for the header and its definitions.
    - Fewer definitions than NumCounters, or fewer instances than NumInstances.
    - A NumInstances below -3.
    - Bytes behind the definitions of an object that carries metadata alone (a warning).
    - A code page in which the names do not decode.
    - A DetailLevel that does not exist (a warning).

    Why it matters: the next object, the instances and the values are found by these numbers.

    Specification: winperf.h reference, PERF_OBJECT_TYPE. On the wire the title fields have 32 bits, whatever the word size of
    the server, so that the header has 64 bytes. NumInstances is -1 for an object that never has instances. winperf.h (Windows
    SDK 10.0): NumInstances is -2 (PERF_METADATA_MULTIPLE_INSTANCES) or -3 (PERF_METADATA_NO_INSTANCES) where only counter
    definitions follow. Queries for MetadataGlobal, MetadataCostly and Metadata with indices ask for these.

    Flagged: HeaderLength 80, which is what a 64-bit program with pointers for titles would have.

    Accepted: NumInstances 0; an object of metadata alone that ends with its definitions; a DefinitionLength with padding behind
    the definitions.

    Silent: where the answer is sealed, was not captured, or is no block; inconclusive for what of an object lies behind damage.
    """
    if "objects" not in block.fields:
        yield inconclusive(CUT_OFF, call)
        return
    for item in block.objects:
        if "perf_freq" in item.fields:
            yield from _lengths(call, item, block.size)
            yield from _counts(call, item, block)
            yield from _names(call, item)
        else:
            yield from _judge_unreadable_object(call, item)


def _judge_unreadable_object(call: CallEvidence, item: Structure) -> Iterator[Judgement]:
    """The verdict on a winperf object that cannot be read: lengths below that of the header, or a NumInstances that nothing stands
    for."""
    fields, left = item.fields, list(OF_OBJECTS)
    number = fields.get("num_instances", 0)
    if number < PERF_METADATA_NO_INSTANCES:
        left.remove(INSTANCES)
        path, message = (item.path, "num_instances"), "NumInstances is below all values defined"
        yield failed(call, path, message, "-3 to -1, or a count", number, of=INSTANCES)
    for requirement, name in ((DEFINITION, "definition_length"), (HEADER, "header_length")):
        length = fields.get(name, OBJECT_LENGTH)
        if length < OBJECT_LENGTH:
            left.remove(requirement)
            path, message = (item.path, name), "a length of an object is below that of its header"
            yield failed(call, path, message, f"at least {OBJECT_LENGTH}", length, of=requirement)
    yield inconclusive(CUT_OFF, call, *left)


def _lengths(call: CallEvidence, item: Structure, size: int) -> Iterator[Judgement]:
    fields = item.fields
    total, definition, header = fields["total_byte_length"], fields["definition_length"], fields["header_length"]
    is_kept, path = total >= definition and item.start + total <= size, (item.path, "total_byte_length")
    message = "the object does not end in the block, or ends before its definitions do"
    expected = f"{definition} to {size - item.start}"
    yield judge(is_kept, call, path, message, expected, total, of=TOTAL)
    path, message = (item.path, "header_length"), "the header of an object has another size than on the wire"
    yield judge(header == OBJECT_LENGTH, call, path, message, OBJECT_LENGTH, header, of=HEADER)
    needed = header + sum(counter.get("byte_length", 0) for counter in fields.get("counters", ()))
    path, message = (item.path, "definition_length"), "DefinitionLength ends before the definitions do"
    yield judge(definition >= needed, call, path, message, f"at least {needed}", definition, of=DEFINITION)


def _counts(call: CallEvidence, item: Structure, block: WinperfBlock) -> Iterator[Judgement]:
    fields = item.fields
    found, said = len(fields.get("counters", ())), fields["num_counters"]
    path, message = (item.path, "num_counters"), "there are not as many definitions as NumCounters says"
    yield judge(found == said, call, path, message, said, found, of=COUNTERS)
    number = fields["num_instances"]
    instances = sum("counter_block" in instance for instance in fields.get("instances") or ())
    if instances == number:
        instances += _uncounted_instances(call, item, block)
    path = (item.path, "num_instances")
    if number in (PERF_METADATA_MULTIPLE_INSTANCES, PERF_METADATA_NO_INSTANCES):
        behind = fields["total_byte_length"] - fields["definition_length"]
        message = "an object of metadata alone has bytes behind its definitions"
        yield judge(behind <= 0, call, path, message, "none", f"{behind} bytes", of=INSTANCES, say=warned)
    else:
        is_kept = number in (PERF_NO_INSTANCES, instances)
        message = "there are not as many instances as NumInstances says"
        yield judge(is_kept, call, path, message, number, instances, of=INSTANCES)


def _uncounted_instances(call: CallEvidence, item: Structure, block: WinperfBlock) -> int:
    """How many instances of a winperf object a rule finds behind the last one that was counted, each with its counter block, up to
    the object's end."""
    data = call.reply.data
    order: Literal["little", "big"] = "little" if block.fields["little_endian"] else "big"
    at, stop = item.start + item.fields["definition_length"], item.start + item.fields["total_byte_length"]
    for instance in item.instances[-1:]:
        at = instance.start + instance.fields.get("byte_length", 0)
        at += (instance.fields.get("counter_block") or {}).get("byte_length", 0)
    found = 0
    while at + _INSTANCE_LENGTH + 4 <= min(stop, len(data)):
        length = int.from_bytes(data[at : at + 4], order)
        values = int.from_bytes(data[at + length : at + length + 4], order)
        if length < _INSTANCE_LENGTH or values < 4 or at + length + values > stop:
            return 0
        at += length + values
        found += 1
    return found if at == stop else 0


def _names(call: CallEvidence, item: Structure) -> Iterator[Judgement]:
    page, level = item.fields["code_page"], item.fields["detail_level"]
    names = [(instance.get("definition") or {}).get("name") or "" for instance in item.fields.get("instances") or ()]
    is_kept = not any("\ufffd" in name for name in names)
    message = "names of instances do not decode in the object's code page"
    yield judge(is_kept, call, (item.path, "code_page"), message, "names in this code page", page, of=CODE_PAGE)
    path, message = (item.path, "detail_level"), "the object has a detail level that does not exist"
    yield judge(level in _DETAIL_LEVELS, call, path, message, "100, 200, 300 or 400", level, of=DETAIL, say=warned)


LENGTH, SIZE, PLACE, BASE, SCALE = "WP-CD-R01", "WP-CD-R02", "WP-CD-R03", "WP-CD-R04", "WP-CD-R05"
# Bits 8 and 9 of a type (winperf.h): PERF_SIZE_DWORD, PERF_SIZE_LARGE, PERF_SIZE_ZERO; the fourth is PERF_SIZE_VARIABLE_LEN.
_SIZE_BITS = 0x300
_SIZES = {0x000: 4, 0x100: 8, 0x200: 0}
# PERF_DOUBLE_RAW is an IEEE double, although its bits say 32.
_DOUBLE_RAW = 0x00012000
# Of a PERF_PRECISION_OBJECT_TIMER, the base is the clock.
_NEED_BASE = {*BASE_OF, PRECISION_OBJECT_TIMER}


@rule("PCQ830", Level.WINPERF, Severity.ERROR, "winperf-definition-contradicts-itself")
@of_blocks((LENGTH, SIZE, PLACE, BASE, SCALE), of_objects=True)
def winperf_definition_inconsistent(call: CallEvidence, block: WinperfBlock) -> Iterator[Judgement]:
    """A counter definition in a block of performance data contradicts its own type, or points outside its counter block.

    Looks for:

    - A ByteLength other than 40 (a warning).
    - A CounterSize other than the size bits of CounterType ask for.
    - Values that would lie outside the counter block.
    - A fraction or average without its base right behind it.
    - A DefaultScale outside -10 to 10 (a warning).

    Why it matters: the value is read at CounterOffset with CounterSize, and shown by CounterType. In a block of this generation
    the base of a counter is the next definition, and nothing else states which it is.

    Specification: winperf.h reference, PERF_COUNTER_DEFINITION: CounterSize is the counter's size in bytes, 4 or 8 by its type,
    or that of the whole text; a base follows the counter that it belongs to.

    Flagged: a PERF_COUNTER_LARGE_RAWCOUNT of 4 bytes; a PERF_RAW_FRACTION at the end of the definitions.

    Accepted: any CounterSize of a counter of variable length or without data.

    Silent: where the answer is sealed, was not captured, or is no block; inconclusive for what of an object lies behind damage.
    """
    for item in block.objects:
        definitions = list(definitions_of(item))
        if len(definitions) < item.fields.get("num_counters", 0):
            yield inconclusive(CUT_OFF, call)
        sizes = [counters.fields.get("byte_length", 0) for counters in counter_blocks_of(item)]
        for at, definition in enumerate(definitions):
            length, path = definition.fields.get("byte_length"), (definition.path, "byte_length")
            if length is not None:
                message, is_kept = "the definition has another size than on the wire", length == _DEFINITION_LENGTH
                yield judge(is_kept, call, path, message, _DEFINITION_LENGTH, length, of=LENGTH, say=warned)
            if "counter_offset" not in definition.fields:
                yield inconclusive(CUT_OFF, call, SIZE, PLACE, BASE, SCALE)
                break
            follower = definitions[at + 1] if at + 1 < len(definitions) else None
            yield from _definition(call, definition, follower)
            yield from _value_place(call, definition, sizes)


def _definition(call: CallEvidence, item: Definition, follower: Definition | None) -> Iterator[Judgement]:
    kind, size = item.fields["counter_type"] & 0xFFFFFFFF, item.fields["counter_size"]
    wanted = 8 if kind == _DOUBLE_RAW else _SIZES.get(kind & _SIZE_BITS)
    path, message = (item.path, "counter_size"), f"CounterSize is not what the type {kind:#010x} asks for"
    yield judge(wanted in (None, size), call, path, message, wanted, size, of=SIZE)
    if kind in _NEED_BASE:
        behind = follower.fields.get("counter_type", 0) & 0xFFFFFFFF if follower is not None else None
        seen = f"type {behind:#010x}" if behind is not None else "the end of the definitions"
        path, message = (item.path, "counter_type"), "a counter that needs a base is not followed by one"
        is_kept = behind is not None and is_base(behind)
        yield judge(is_kept, call, path, message, "a base right behind it", seen, of=BASE)
    scale, path = item.fields["default_scale"], (item.path, "default_scale")
    message = "DefaultScale is no power of ten that can be meant"
    yield judge(-10 <= scale <= 10, call, path, message, "-10 to 10", scale, of=SCALE, say=warned)


def _value_place(call: CallEvidence, item: Definition, sizes: list[int]) -> Iterator[Judgement]:
    """Whether the value lies in every counter block of the winperf object; the length of the block itself is judged by another
    rule."""
    if sizes:
        start, size, most = item.fields["counter_offset"], item.fields["counter_size"], max(sizes)
        is_kept = size == 0 or (start >= 4 and start + size <= most)
        path, message = (item.path, "counter_offset"), "the value does not lie in the counter block"
        expected, seen = f"bytes 4 to {most}", f"bytes {start} to {start + size}"
        yield judge(is_kept, call, path, message, expected, seen, of=PLACE)


INSTANCE, NAME, UNIQUE, PARENT = "WP-ID-R01", "WP-ID-R02", "WP-ID-R03", "WP-ID-R04"
_NO_UNIQUE_ID = -1


@rule("PCQ840", Level.WINPERF, Severity.ERROR, "winperf-instance-ill-formed")
@of_blocks((INSTANCE, NAME, UNIQUE, PARENT), of_objects=True)
def winperf_instance_malformed(call: CallEvidence, block: WinperfBlock) -> Iterator[Judgement]:
    """An instance of an object in a block of performance data is ill-formed, or cannot be distinguished from another.

    Looks for:

    - A ByteLength too small for the name.
    - A ByteLength that is no multiple of 8, or a name without its NUL (warnings).
    - A UniqueID twice in one object.
    - A parent that is not in the block. This is a warning: a client that asked for some objects only may not get the parent.

    Why it matters: the instance's counter block begins at ByteLength, and an instance that is not distinguished mixes its values
    with those of another.

    Specification: winperf.h reference, PERF_INSTANCE_DEFINITION:

    - ByteLength is the length with the name.
    - NameLength counts the NUL of the name, and is zero where there is no name.
    - UniqueID is PERF_NO_UNIQUE_ID (-1) where the name distinguishes instances.
    - ParentObjectTitleIndex is zero or the index of an object.

    Flagged: two instances with the UniqueID 4.

    Accepted: two instances of one name and no UniqueID; Windows has that for processes.

    Silent: where the answer is sealed, was not captured, or is no block; inconclusive for what of an object lies behind damage.
    """
    indices = {item.fields.get("object_name_title_index") for item in block.objects}
    # There are many instances, of which nearly all are as they should be.
    kept: Counter[str] = Counter()
    for item in block.objects:
        seen: set[int] = set()
        for instance in item.instances:
            if "byte_length" in instance.fields:
                yield from _judge_instance_length(call, instance, block, kept)
            if "name_length" not in instance.fields:
                yield inconclusive(CUT_OFF, call, NAME, UNIQUE, PARENT)
                break
            yield from _judge_instance_name(call, instance, item.fields.get("code_page", 0), kept)
            number, path = instance.fields["unique_id"], (instance.path, "unique_id")
            if number == _NO_UNIQUE_ID or number not in seen:
                kept[UNIQUE] += 1
            else:
                message = "two instances of an object have the same UniqueID"
                yield failed(call, path, message, "-1, or a number once", number, of=UNIQUE)
            seen.add(number)
            parent, path = instance.fields["parent_object_title_index"], (instance.path, "parent_object_title_index")
            if parent == 0 or parent in indices:
                kept[PARENT] += 1
            else:
                message = "the parent object is not in the block"
                yield warned(call, path, message, "0, or an object of the block", parent, of=PARENT)
    yield from (passed(requirement, count=count) for requirement, count in kept.items())


def _judge_instance_length(
    call: CallEvidence, instance: Structure, block: WinperfBlock, kept: Counter[str]
) -> Iterator[Judgement]:
    """The verdict on the length of a winperf instance, if it is wrong; else it is counted."""
    fields, path = instance.fields, (instance.path, "byte_length")
    needed = fields["name_offset"] + fields["name_length"] if fields.get("name_length") else _INSTANCE_LENGTH
    length, most = fields["byte_length"], block.size - instance.start
    if not needed <= length <= most:
        message = "ByteLength does not cover the instance, or leads out of the block"
        yield failed(call, path, message, f"{needed} to {most}", length, of=INSTANCE)
    elif length % 8:
        yield warned(call, path, "ByteLength is no multiple of 8", "a multiple of 8", length, of=INSTANCE)
    else:
        kept[INSTANCE] += 1


def _judge_instance_name(
    call: CallEvidence, instance: Structure, code_page: int, kept: Counter[str]
) -> Iterator[Judgement]:
    """The verdict on the name of a winperf instance, if it is wrong; else it is counted."""
    start, length = instance.start + instance.fields["name_offset"], instance.fields["name_length"]
    name = call.reply.data[start : start + length]
    ends = name.endswith(b"\0") if code_page else len(name) % 2 == 0 and name.endswith(b"\0\0")
    if ends or not length:
        kept[NAME] += 1
    else:
        path, message = (instance.path, "name_length"), "the name has no NUL within NameLength"
        yield warned(call, path, message, "a NUL at its end", name[-2:].hex(" "), of=NAME)


_XP = Deviation(
    "a PERF_DATA_BLOCK of Windows XP in a public capture of registry reads",
    "the last counter block of an object says less than it holds",
)


@rule("PCQ850", Level.WINPERF, Severity.ERROR)
@of_blocks("WP-CB-R01", of_objects=True)
def winperf_counter_block_too_short(call: CallEvidence, block: WinperfBlock) -> Iterator[Judgement]:
    """A counter block says that it is shorter than the values it holds, or has an odd length.

    Looks for: a ByteLength of a PERF_COUNTER_BLOCK that ends before the last value does, leads out of the block, or is no
    multiple of 8 (a warning, as is a length that only lacks values).

    Why it matters: the next instance begins where the counter block ends.

    Specification: winperf.h reference, PERF_COUNTER_BLOCK: ByteLength is the length of this structure and of the values behind
    it.

    Flagged: ByteLength 8 where a value of 8 bytes stands at offset 8.

    Accepted: a longer block than the values need. The last block of an object from Windows XP is known to say too little;
    nothing follows it, and so nothing is lost.

    Silent: where the answer is sealed, was not captured, or is no block; inconclusive for what of an object lies behind damage.
    """
    kept = 0
    for item in block.objects:
        ends = [
            counter["counter_offset"] + counter["counter_size"]
            for counter in item.fields.get("counters", ())
            if counter.get("counter_size") and "counter_offset" in counter
        ]
        needed, last = max(ends, default=4), max(item.fields.get("num_instances", 0), 1)
        for number, counters in enumerate(counter_blocks_of(item), 1):
            length, path = counters.fields.get("byte_length"), (counters.path, "byte_length")
            if length is None:
                yield inconclusive(CUT_OFF, call)
                break
            if counters.start + length > block.size:
                message, expected = "the counter block leads out of the block", f"at most {block.size - counters.start}"
                yield failed(call, path, message, expected, length)
            elif length < needed:
                message = "the counter block says less than the values in it need"
                known = _XP if number == last else None
                yield warned(call, path, message, f"at least {needed}", length, deviation=known)
            elif length % 8:
                message = "the length of the counter block is no multiple of 8"
                yield warned(call, path, message, "a multiple of 8", length)
            else:
                kept += 1
    if kept:
        yield passed(count=kept)
