"""An object of a block of performance data does not fit its own lengths and counts.

Looks for: a TotalByteLength that leads out of the block; a HeaderLength other than 64; a DefinitionLength too small for the
header and its definitions; fewer definitions than NumCounters, or fewer instances than NumInstances; a NumInstances below
-3; bytes behind the definitions of an object that carries metadata alone (a warning); a code page in which the names do not
decode; a DetailLevel that is none (a warning).

Why it matters: the next object, the instances and the values are found by these numbers.

Specification: winperf.h reference, PERF_OBJECT_TYPE. On the wire the title fields have 32 bits, whatever the word size of
the server, so that the header has 64 bytes; NumInstances is -1 for an object that never has instances. winperf.h (Windows SDK
10.0): -2 (PERF_METADATA_MULTIPLE_INSTANCES) and -3 (PERF_METADATA_NO_INSTANCES) stand for counter definitions alone, which
MetadataGlobal, MetadataCostly and Metadata with indices ask for.

Flagged: HeaderLength 80, which is what a 64-bit program with pointers for titles would have.

Accepted: NumInstances 0; an object of metadata alone that ends with its definitions; a DefinitionLength with padding behind
the definitions.

Silent: where the answer is sealed, was not captured, or is no block; inconclusive for what of an object lies behind damage.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from analyzer.interfaces.buffers import PERF_METADATA_MULTIPLE_INSTANCES, PERF_METADATA_NO_INSTANCES, PERF_NO_INSTANCES
from analyzer.questions.audit.evidence import CallEvidence
from analyzer.questions.audit.rule import Level, Rule
from analyzer.questions.audit.verdicts import At, Judgement, Severity, failed, passed, warned
from analyzer.questions.audit.winperf_blocks import (
    READS,
    Block,
    Structure,
    block_of,
    cut_off,
    instances_of,
    without_objects,
)

TOTAL, DEFINITION, HEADER, INSTANCES = "WP-OT-R01", "WP-OT-R02", "WP-OT-R03", "WP-OT-R04"
CODE_PAGE, COUNTERS, DETAIL = "WP-OT-R05", "WP-OT-R06", "WP-OT-R07"
REQUIREMENTS = (TOTAL, DEFINITION, HEADER, INSTANCES, CODE_PAGE, COUNTERS, DETAIL)
_HEADER_LENGTH, _INSTANCE_LENGTH = 64, 24
# PERF_DETAIL_NOVICE, ADVANCED, EXPERT and WIZARD (winperf.h).
_DETAIL_LEVELS = (100, 200, 300, 400)

RULE = Rule("PCQ820", "winperf-object-does-not-fit", Level.WINPERF, Severity.ERROR)


@RULE.calls(REQUIREMENTS, READS)
def check(call: CallEvidence) -> Iterator[Judgement]:
    block = block_of(call)
    if block is None:
        return
    if block.header_length is not None:
        yield from without_objects(REQUIREMENTS, call)
        return
    if "objects" not in block.fields:
        yield from cut_off(REQUIREMENTS, call)
        return
    for item in block.objects:
        if "perf_freq" not in item.fields:
            yield from _unreadable(call, item)
            continue
        yield from _lengths(call, item, block.size)
        yield from _counts(call, item, block)
        yield from _names(call, item)


def _unreadable(call: CallEvidence, item: Structure) -> Iterator[Judgement]:
    """Why an object cannot be read: lengths below that of the header, or a NumInstances that nothing stands for."""
    reported = []
    number = item.fields.get("num_instances", 0)
    if number < PERF_METADATA_NO_INSTANCES:
        reported.append(INSTANCES)
        at = At("response", f"{item.path}.num_instances")
        message = "NumInstances is below all values defined"
        yield failed(INSTANCES, call, at, message, expected="-3 to -1, or a count", seen=str(number))
    for requirement, name in ((DEFINITION, "definition_length"), (HEADER, "header_length")):
        length = item.fields.get(name, _HEADER_LENGTH)
        if length < _HEADER_LENGTH:
            reported.append(requirement)
            at = At("response", f"{item.path}.{name}")
            message = "a length of an object is below that of its header"
            yield failed(requirement, call, at, message, expected=f"at least {_HEADER_LENGTH}", seen=str(length))
    yield from cut_off([requirement for requirement in REQUIREMENTS if requirement not in reported], call)


def _lengths(call: CallEvidence, item: Structure, size: int) -> Iterator[Judgement]:
    fields = item.fields
    total, definition, header = fields["total_byte_length"], fields["definition_length"], fields["header_length"]
    if total >= definition and item.start + total <= size:
        yield passed(TOTAL)
    else:
        at = At("response", f"{item.path}.total_byte_length")
        message = "the object does not end in the block, or ends before its definitions do"
        yield failed(TOTAL, call, at, message, expected=f"{definition} to {size - item.start}", seen=str(total))
    if header == _HEADER_LENGTH:
        yield passed(HEADER)
    else:
        at = At("response", f"{item.path}.header_length")
        message = "the header of an object has another size than on the wire"
        yield failed(HEADER, call, at, message, expected=str(_HEADER_LENGTH), seen=str(header))
    needed = header + sum(counter.get("byte_length", 0) for counter in fields.get("counters", ()))
    if definition >= needed:
        yield passed(DEFINITION)
    else:
        at = At("response", f"{item.path}.definition_length")
        message = "DefinitionLength ends before the definitions do"
        yield failed(DEFINITION, call, at, message, expected=f"at least {needed}", seen=str(definition))


def _counts(call: CallEvidence, item: Structure, block: Block) -> Iterator[Judgement]:
    fields = item.fields
    found = len(fields.get("counters", ()))
    if found == fields["num_counters"]:
        yield passed(COUNTERS)
    else:
        at = At("response", f"{item.path}.num_counters")
        message = "there are not as many definitions as NumCounters says"
        yield failed(COUNTERS, call, at, message, expected=str(fields["num_counters"]), seen=str(found))
    number = fields["num_instances"]
    instances = sum("counter_block" in instance for instance in fields.get("instances") or ())
    if instances == number:
        instances += _follow(call, item, block)
    at = At("response", f"{item.path}.num_instances")
    if number in (PERF_METADATA_MULTIPLE_INSTANCES, PERF_METADATA_NO_INSTANCES):
        if (behind := fields["total_byte_length"] - fields["definition_length"]) <= 0:
            yield passed(INSTANCES)
        else:
            message = "an object of metadata alone has bytes behind its definitions"
            yield warned(INSTANCES, call, at, message, expected="none", seen=f"{behind} bytes")
    elif number != PERF_NO_INSTANCES and number != instances:
        message = "there are not as many instances as NumInstances says"
        yield failed(INSTANCES, call, at, message, expected=str(number), seen=str(instances))
    else:
        yield passed(INSTANCES)


def _follow(call: CallEvidence, item: Structure, block: Block) -> int:
    """How many more instances follow the last one that was counted, each with its counter block, up to the object's end."""
    assert call.response is not None
    data = call.response.data
    order: Literal["little", "big"] = "little" if block.fields["little_endian"] else "big"
    at, stop = item.start + item.fields["definition_length"], item.start + item.fields["total_byte_length"]
    for instance in instances_of(item):
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
    fields = item.fields
    names = [(instance.get("definition") or {}).get("name") for instance in fields.get("instances") or ()]
    if any("\ufffd" in name for name in names if name):
        at = At("response", f"{item.path}.code_page")
        message = "names of instances do not decode in the object's code page"
        yield failed(CODE_PAGE, call, at, message, expected="names in this code page", seen=str(fields["code_page"]))
    else:
        yield passed(CODE_PAGE)
    if fields["detail_level"] in _DETAIL_LEVELS:
        yield passed(DETAIL)
    else:
        at = At("response", f"{item.path}.detail_level")
        message = "the object has a detail level that does not exist"
        yield warned(DETAIL, call, at, message, expected="100, 200, 300 or 400", seen=str(fields["detail_level"]))
