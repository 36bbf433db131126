"""An instance of an object in a block of performance data is ill-formed, or cannot be distinguished from another.

Looks for: a ByteLength too small for the name; one that is no multiple of 8, or a name without its NUL (warnings); a
UniqueID twice in one object; a parent that is not in the block (a warning, for a client that asked for some objects only may
not have got it).

Why it matters: the instance's counter block begins at ByteLength, and an instance that is not distinguished mixes its values
with those of another.

Specification: winperf.h reference, PERF_INSTANCE_DEFINITION: ByteLength is the length with the name, NameLength counts its
NUL and is zero where there is no name, UniqueID is PERF_NO_UNIQUE_ID (-1) where the name distinguishes instances,
ParentObjectTitleIndex is zero or the index of an object.

Flagged: two instances with the UniqueID 4.

Accepted: two instances of one name and no UniqueID; Windows has that for processes.

Silent: where the answer is sealed, was not captured, or is no block; inconclusive for what of an object lies behind damage.
"""

from __future__ import annotations

from collections.abc import Iterator

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

LENGTH, NAME, UNIQUE, PARENT = "WP-ID-R01", "WP-ID-R02", "WP-ID-R03", "WP-ID-R04"
REQUIREMENTS = (LENGTH, NAME, UNIQUE, PARENT)
_NO_UNIQUE_ID = -1
_HEADER_LENGTH = 24

RULE = Rule("PCQ840", "winperf-instance-ill-formed", Level.WINPERF, Severity.ERROR)


@RULE.calls(REQUIREMENTS, READS)
def check(call: CallEvidence) -> Iterator[Judgement]:
    block = block_of(call)
    if block is None or call.response is None:
        return
    if block.header_length is not None:
        yield from without_objects(REQUIREMENTS, call)
        return
    indices = {item.fields.get("object_name_title_index") for item in block.objects}
    for item in block.objects:
        seen: set[int] = set()
        for instance in instances_of(item):
            if "byte_length" in instance.fields:
                yield from _lengths(call, instance, block)
            if "name_length" not in instance.fields:
                yield from cut_off((NAME, UNIQUE, PARENT), call)
                break
            yield from _name(call, instance, item.fields.get("code_page", 0))
            yield from _identity(call, instance, seen)
            yield from _parent(call, instance, indices)


def _lengths(call: CallEvidence, instance: Structure, block: Block) -> Iterator[Judgement]:
    fields = instance.fields
    needed = _HEADER_LENGTH
    if fields.get("name_length"):
        needed = fields["name_offset"] + fields["name_length"]
    at = At("response", f"{instance.path}.byte_length")
    if fields["byte_length"] < needed or instance.start + fields["byte_length"] > block.size:
        yield failed(
            LENGTH,
            call,
            at,
            "ByteLength does not cover the instance, or leads out of the block",
            expected=f"{needed} to {block.size - instance.start}",
            seen=str(fields["byte_length"]),
        )
    elif fields["byte_length"] % 8:
        message = "ByteLength is no multiple of 8"
        yield warned(LENGTH, call, at, message, expected="a multiple of 8", seen=str(fields["byte_length"]))
    else:
        yield passed(LENGTH)


def _name(call: CallEvidence, instance: Structure, code_page: int) -> Iterator[Judgement]:
    assert call.response is not None
    fields = instance.fields
    if not fields["name_length"]:
        yield passed(NAME)
        return
    start = instance.start + fields["name_offset"]
    name = call.response.data[start : start + fields["name_length"]]
    ends = name.endswith(b"\0") if code_page else len(name) % 2 == 0 and name.endswith(b"\0\0")
    if ends:
        yield passed(NAME)
        return
    at = At("response", f"{instance.path}.name_length")
    message = "the name has no NUL within NameLength"
    yield warned(NAME, call, at, message, expected="a NUL at its end", seen=name[-2:].hex(" "))


def _identity(call: CallEvidence, instance: Structure, seen: set[int]) -> Iterator[Judgement]:
    number = instance.fields["unique_id"]
    if number == _NO_UNIQUE_ID or number not in seen:
        seen.add(number)
        yield passed(UNIQUE)
        return
    at = At("response", f"{instance.path}.unique_id")
    message = "two instances of an object have the same UniqueID"
    yield failed(UNIQUE, call, at, message, expected="-1, or a number once", seen=str(number))


def _parent(call: CallEvidence, instance: Structure, indices: set[int | None]) -> Iterator[Judgement]:
    parent = instance.fields["parent_object_title_index"]
    if parent == 0 or parent in indices:
        yield passed(PARENT)
        return
    at = At("response", f"{instance.path}.parent_object_title_index")
    message = "the parent object is not in the block"
    yield warned(PARENT, call, at, message, expected="0, or an object of the block", seen=str(parent))
