"""A counter definition in a block of performance data contradicts its own type, or points outside its counter block.

Looks for: a ByteLength other than 40 (a warning); a CounterSize other than the size bits of CounterType ask for; values that
would lie outside the counter block; a fraction or average without its base right behind it; a DefaultScale outside -10 to 10
(a warning).

Why it matters: the value is read at CounterOffset with CounterSize, and shown by CounterType. In a block of this generation
the base of a counter is the next definition, and nothing else states which it is.

Specification: winperf.h reference, PERF_COUNTER_DEFINITION: CounterSize is the counter's size in bytes, 4 or 8 by its type,
or that of the whole text; a base follows the counter that it belongs to.

Flagged: a PERF_COUNTER_LARGE_RAWCOUNT of 4 bytes; a PERF_RAW_FRACTION at the end of the definitions.

Accepted: any CounterSize for a type of variable length, or for one without data.

Silent: where the answer is sealed, was not captured, or is no block; inconclusive for what of an object lies behind damage.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.interfaces.winperf.samples import is_base
from analyzer.questions.audit.counter_types import BASE_OF, PRECISION_OBJECT_TIMER
from analyzer.questions.audit.evidence import CallEvidence
from analyzer.questions.audit.rule import Level, Rule
from analyzer.questions.audit.verdicts import At, Judgement, Severity, failed, passed, warned
from analyzer.questions.audit.winperf_blocks import (
    READS,
    Definition,
    block_of,
    counter_blocks_of,
    cut_off,
    definitions_of,
    without_objects,
)

LENGTH, SIZE, PLACE, BASE, SCALE = "WP-CD-R01", "WP-CD-R02", "WP-CD-R03", "WP-CD-R04", "WP-CD-R05"
REQUIREMENTS = (LENGTH, SIZE, PLACE, BASE, SCALE)
_LENGTH = 40
# Bits 8 and 9 of a type (winperf.h): PERF_SIZE_DWORD, PERF_SIZE_LARGE, PERF_SIZE_ZERO; the fourth is PERF_SIZE_VARIABLE_LEN.
_SIZE_BITS = 0x300
_SIZES = {0x000: 4, 0x100: 8, 0x200: 0}
# PERF_DOUBLE_RAW is an IEEE double, although its bits say 32.
_DOUBLE_RAW = 0x00012000
# Of a PERF_PRECISION_OBJECT_TIMER, the base is the clock.
_NEED_BASE = {*BASE_OF, PRECISION_OBJECT_TIMER}

RULE = Rule("PCQ830", "winperf-definition-contradicts-itself", Level.WINPERF, Severity.ERROR)


@RULE.calls(REQUIREMENTS, READS)
def check(call: CallEvidence) -> Iterator[Judgement]:
    block = block_of(call)
    if block is None:
        return
    if block.header_length is not None:
        yield from without_objects(REQUIREMENTS, call)
        return
    for item in block.objects:
        definitions = list(definitions_of(item))
        if len(definitions) < item.fields.get("num_counters", 0):
            yield from cut_off(REQUIREMENTS, call)
        sizes = [counters.fields.get("byte_length", 0) for counters in counter_blocks_of(item)]
        for at, definition in enumerate(definitions):
            if "byte_length" in definition.fields:
                yield from _length(call, definition)
            if "counter_offset" not in definition.fields:
                yield from cut_off((SIZE, PLACE, BASE, SCALE), call)
                break
            follower = definitions[at + 1] if at + 1 < len(definitions) else None
            yield from _definition(call, definition, follower)
            yield from _place(call, definition, sizes)


def _length(call: CallEvidence, item: Definition) -> Iterator[Judgement]:
    length = item.fields["byte_length"]
    if length == _LENGTH:
        yield passed(LENGTH)
    else:
        at = At("response", f"{item.path}.byte_length")
        message = "the definition has another size than on the wire"
        yield warned(LENGTH, call, at, message, expected=str(_LENGTH), seen=str(length))


def _definition(call: CallEvidence, item: Definition, follower: Definition | None) -> Iterator[Judgement]:
    fields = item.fields
    kind = fields["counter_type"] & 0xFFFFFFFF
    wanted = 8 if kind == _DOUBLE_RAW else _SIZES.get(kind & _SIZE_BITS)
    if wanted is None or fields["counter_size"] == wanted:
        yield passed(SIZE)
    else:
        at = At("response", f"{item.path}.counter_size")
        message = f"CounterSize is not what the type {kind:#010x} asks for"
        yield failed(SIZE, call, at, message, expected=str(wanted), seen=str(fields["counter_size"]))
    if kind in _NEED_BASE:
        behind = follower.fields.get("counter_type", 0) & 0xFFFFFFFF if follower is not None else None
        if behind is not None and is_base(behind):
            yield passed(BASE)
        else:
            seen = f"type {behind:#010x}" if behind is not None else "the end of the definitions"
            at = At("response", f"{item.path}.counter_type")
            message = "a counter that needs a base is not followed by one"
            yield failed(BASE, call, at, message, expected="a base right behind it", seen=seen)
    if -10 <= fields["default_scale"] <= 10:
        yield passed(SCALE)
    else:
        at = At("response", f"{item.path}.default_scale")
        message = "DefaultScale is no power of ten that can be meant"
        yield warned(SCALE, call, at, message, expected="-10 to 10", seen=str(fields["default_scale"]))


def _place(call: CallEvidence, item: Definition, sizes: list[int]) -> Iterator[Judgement]:
    """Whether the value lies in every counter block of the object; the length of the block itself is judged by another rule."""
    start, size = item.fields["counter_offset"], item.fields["counter_size"]
    if not sizes:
        return
    if size == 0 or (start >= 4 and start + size <= max(sizes)):
        yield passed(PLACE)
        return
    yield failed(
        PLACE,
        call,
        At("response", f"{item.path}.counter_offset"),
        "the value does not lie in the counter block",
        expected=f"bytes 4 to {max(sizes)}",
        seen=f"bytes {start} to {start + size}",
    )
