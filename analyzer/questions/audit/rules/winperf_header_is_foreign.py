"""A block of performance data does not begin like one.

Looks for: a signature other than the characters `PERF`, a byte order other than 1 (little) or 0 (big), and another Version
or Revision than 1 (a Revision of 0 is old, and allowed).

Why it matters: this is how a reader knows the block, and in which order to read every number in it.

Specification: winperf.h reference, PERF_DATA_BLOCK: Signature holds the UTF-16 characters PERF, LittleEndian is TRUE or
FALSE, Version and Revision are those of the structure.

Flagged: LittleEndian 2; a warning for Version 2.

Accepted: LittleEndian 0, which other systems than Windows may send.

Silent: where the answer is sealed, was not captured, or is no block; inconclusive for what lies behind damage.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.evidence import CallEvidence
from analyzer.questions.audit.rule import Level, Rule
from analyzer.questions.audit.verdicts import At, Judgement, Severity, failed, passed, warned
from analyzer.questions.audit.winperf_blocks import READS, block_of, cut_off
from analyzer.results.winreg import SIGNATURES

SIGNATURE, ORDER, VERSION = "WP-DB-R01", "WP-DB-R02", "WP-DB-R03"

RULE = Rule("PCQ801", "winperf-header-is-foreign", Level.WINPERF, Severity.ERROR)


@RULE.calls((SIGNATURE, ORDER, VERSION), READS)
def check(call: CallEvidence) -> Iterator[Judgement]:
    block = block_of(call)
    if block is None or call.response is None:
        return
    signature = call.response.data[:8]
    if signature not in SIGNATURES:
        yield failed(
            SIGNATURE,
            call,
            At("response", "lpData.signature"),
            "the block does not begin with its signature",
            expected=SIGNATURES[0].hex(" "),
            seen=signature.hex(" "),
        )
        yield from cut_off((ORDER, VERSION), call)
        return
    yield passed(SIGNATURE)
    if "revision" not in block.fields:
        yield from cut_off((ORDER, VERSION), call)
        return
    order = block.fields["little_endian"]
    if order in (0, 1):
        yield passed(ORDER)
    else:
        at = At("response", "lpData.little_endian")
        yield failed(ORDER, call, at, "the byte order is neither little nor big", expected="1 or 0", seen=str(order))
    version, revision = block.fields["version"], block.fields["revision"]
    if version == 1 and revision in (0, 1):
        yield passed(VERSION)
    else:
        yield warned(
            VERSION,
            call,
            At("response", "lpData.version" if version != 1 else "lpData.revision"),
            "the version of the block is not known",
            expected="1.1 or 1.0",
            seen=f"{version}.{revision}",
        )
