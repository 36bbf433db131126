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

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.evidence import CallEvidence
from analyzer.questions.audit.rule import Level, Rule
from analyzer.questions.audit.verdicts import At, Deviation, Judgement, Severity, failed, passed, warned
from analyzer.questions.audit.winperf_blocks import READS, block_of, counter_blocks_of, cut_off, without_objects

REQUIREMENT = "WP-CB-R01"
_XP = Deviation(
    "a PERF_DATA_BLOCK of Windows XP in a public capture of registry reads",
    "the last counter block of an object says less than it holds",
)

RULE = Rule("PCQ850", "winperf-counter-block-too-short", Level.WINPERF, Severity.ERROR)


@RULE.calls((REQUIREMENT,), READS)
def check(call: CallEvidence) -> Iterator[Judgement]:
    block = block_of(call)
    if block is None:
        return
    if block.header_length is not None:
        yield from without_objects((REQUIREMENT,), call)
        return
    for item in block.objects:
        ends = [
            counter["counter_offset"] + counter["counter_size"]
            for counter in item.fields.get("counters", ())
            if counter.get("counter_size") and "counter_offset" in counter
        ]
        needed = max(ends, default=4)
        last = max(item.fields.get("num_instances", 0), 1)
        for number, counters in enumerate(counter_blocks_of(item), 1):
            if "byte_length" not in counters.fields:
                yield from cut_off((REQUIREMENT,), call)
                break
            length = counters.fields["byte_length"]
            at = At("response", f"{counters.path}.byte_length")
            if counters.start + length > block.size:
                message = "the counter block leads out of the block"
                yield failed(
                    REQUIREMENT, call, at, message, expected=f"at most {block.size - counters.start}", seen=str(length)
                )
            elif length < needed:
                message = "the counter block says less than the values in it need"
                known = _XP if number == last else None
                yield warned(
                    REQUIREMENT, call, at, message, expected=f"at least {needed}", seen=str(length), deviation=known
                )
            elif length % 8:
                message = "the length of the counter block is no multiple of 8"
                yield warned(REQUIREMENT, call, at, message, expected="a multiple of 8", seen=str(length))
            else:
                yield passed(REQUIREMENT)
