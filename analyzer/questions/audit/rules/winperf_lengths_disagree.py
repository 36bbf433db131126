"""The lengths of a block of performance data do not lead from its header over its objects to its end.

Looks for: a TotalByteLength that is not where the last object ends, or beyond the bytes received; a HeaderLength below the
88 bytes of the header, or outside the block; another number of objects than NumObjectTypes says; a system name outside the
header; clocks where they would be without the padding behind SystemTime.

Why it matters: readers go from structure to structure by these lengths. One that trusts a wrong one reads values of nothing.

Specification: winperf.h reference, PERF_DATA_BLOCK: TotalByteLength is the size of the whole structure, objects included,
HeaderLength the offset of the first object, NumObjectTypes the number of objects, SystemNameOffset and SystemNameLength the
place of the name.

Flagged: TotalByteLength 2672 where the objects end at byte 2784 (smbd leaves out the header).

Accepted: bytes behind TotalByteLength; the buffer of a registry value may be larger.

Silent: where the answer is sealed, was not captured, or is no block; inconclusive for what lies behind damage, and, where
TotalByteLength goes beyond the answer, for a HeaderLength and objects that may lie there.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.checks import cannot_say
from analyzer.questions.audit.evidence import CallEvidence
from analyzer.questions.audit.rule import Level, Rule
from analyzer.questions.audit.verdicts import At, Judgement, Severity, failed, passed
from analyzer.questions.audit.winperf_blocks import HEADER_LENGTH, READS, Block, block_of, cut_off, without_objects

TOTAL, HEADER, COUNT = "WP-DB-R04", "WP-DB-R05", "WP-DB-R06"
NAME, LAYOUT, DEFAULT = "WP-DB-R11", "WP-DB-R12", "WP-DB-R07"
REQUIREMENTS = (TOTAL, HEADER, COUNT, NAME, LAYOUT, DEFAULT)

_CUT = "the answer has fewer bytes than TotalByteLength says"

RULE = Rule("PCQ805", "winperf-lengths-disagree", Level.WINPERF, Severity.ERROR)


@RULE.calls(REQUIREMENTS, READS)
def check(call: CallEvidence) -> Iterator[Judgement]:
    block = block_of(call)
    if block is None:
        return
    if "header_length" not in block.fields:
        yield from cut_off(REQUIREMENTS, call)
        return
    header = block.fields["header_length"]
    fits = HEADER_LENGTH <= header <= block.size
    is_cut = block.fields["total_byte_length"] > block.size
    if fits and block.header_length is None:
        yield passed(HEADER)
    elif is_cut and header > block.size:
        # Only TotalByteLength is wrong for certain: what it counts beyond the answer may have been meant.
        yield from cannot_say((HEADER,), _CUT, call)
    else:
        meant = f"at least {HEADER_LENGTH}, and inside the block"
        yield failed(
            HEADER,
            call,
            At("response", "lpData.header_length"),
            "HeaderLength does not lead to the first object",
            expected=meant if block.header_length is None else f"{block.header_length}, where the objects begin",
            seen=f"{header} in a block of {block.size} bytes",
        )
    if not fits or "system_name_offset" not in block.fields:
        if is_cut:
            yield _beyond(call, block)
        yield from cut_off((*(() if is_cut else (TOTAL,)), COUNT, NAME, LAYOUT, DEFAULT), call)
        return
    yield passed(DEFAULT)
    yield from _name(call, block)
    yield from _layout(call, block)
    if block.header_length is None:
        yield from _objects(call, block)
    else:
        yield from without_objects((TOTAL, COUNT), call)


def _beyond(call: CallEvidence, block: Block) -> Judgement:
    message = "TotalByteLength says more than was received"
    seen = str(block.fields["total_byte_length"])
    return failed(
        TOTAL, call, At("response", "lpData.total_byte_length"), message, expected=f"at most {block.size}", seen=seen
    )


def _name(call: CallEvidence, block: Block) -> Iterator[Judgement]:
    start, length = block.fields["system_name_offset"], block.fields["system_name_length"]
    stop = block.header_length or block.fields["header_length"]
    if length == 0 or (start >= HEADER_LENGTH and start + length <= stop and length % 2 == 0):
        yield passed(NAME)
        return
    yield failed(
        NAME,
        call,
        At("response", "lpData.system_name_offset"),
        "the system name does not lie in the header, or has an odd length",
        expected=f"bytes {HEADER_LENGTH} to {stop}",
        seen=f"bytes {start} to {start + length}",
    )


def _layout(call: CallEvidence, block: Block) -> Iterator[Judgement]:
    """A header without the 4 bytes of padding behind SystemTime has its clocks, and all that follows, 4 bytes earlier."""
    assert call.response is not None
    frequency = block.fields["perf_freq"]
    order = "little" if block.fields["little_endian"] else "big"
    unpadded = int.from_bytes(call.response.data[60:68], "little" if order == "little" else "big")
    if 0 < frequency < 1 << 40 or not 0 < unpadded < 1 << 40:
        yield passed(LAYOUT)
    else:
        yield failed(
            LAYOUT,
            call,
            At("response", "lpData.perf_time"),
            "the clocks stand where they would be without padding behind SystemTime",
            expected="PerfTime at byte 56",
            seen="PerfTime at byte 52",
        )


def _objects(call: CallEvidence, block: Block) -> Iterator[Judgement]:
    total, number = block.fields["total_byte_length"], block.fields["num_object_types"]
    # Of one that would begin where the bytes end, nothing was read.
    objects = [item for item in block.objects if "total_byte_length" in item.fields]
    end = block.fields["header_length"] + sum(item.fields.get("total_byte_length", 0) for item in objects)
    at = At("response", "lpData.total_byte_length")
    if total > block.size:
        yield _beyond(call, block)
    elif total != end:
        message = "TotalByteLength is not where the last object ends"
        yield failed(TOTAL, call, at, message, expected=str(end), seen=str(total))
    else:
        yield passed(TOTAL)
    if len(objects) == number and end <= block.size:
        yield passed(COUNT)
    elif total > block.size:
        yield from cannot_say((COUNT,), _CUT, call)
    else:
        yield failed(
            COUNT,
            call,
            At("response", "lpData.num_object_types"),
            "there are not as many objects as NumObjectTypes says",
            expected=str(number),
            seen=f"{len(objects)} in {block.size} bytes",
        )
