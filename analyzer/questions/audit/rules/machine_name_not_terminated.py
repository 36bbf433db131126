"""The name of the machine is no string that ends in a NUL.

Looks for: szMachine without a NUL at its end, with one in its middle, or with counts that are not equal (a warning).

Why it matters: servers hand the name to providers as a C string. Without its NUL it goes on into whatever follows.

Specification: [MS-PCQ] sections 3.1.4.1.1 to 3.1.4.1.4: szMachine is a [string] of wchar_t, a Unicode string that names a server,
in no fixed form; servers may ignore it. C706 section 14.3.4: a string is sent with its terminator, and that is its last element.

Flagged: actual_count 6 for `\\\\SRV1` without NUL.

Accepted: `\\\\SRV1`, `SRV1.example.com`, and the empty string, each with its NUL.

Silent: where the request is sealed, was not captured, or does not decode.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.evidence import AskedEvidence
from analyzer.questions.audit.rule import Level, Reads, Rule
from analyzer.questions.audit.verdicts import At, Judgement, Severity, failed, passed, warned
from analyzer.questions.audit.wire import machine_name
from analyzer.results.perflib import Opnum

NAMES = {
    Opnum.ENUMERATE_COUNTER_SET: "PCQ-3.1.4.1.1-R11",
    Opnum.QUERY_COUNTER_SET_REGISTRATION_INFO: "PCQ-3.1.4.1.2-R13",
    Opnum.ENUMERATE_COUNTER_SET_INSTANCES: "PCQ-3.1.4.1.3-R14",
    Opnum.OPEN_QUERY_HANDLE: "PCQ-3.1.4.1.4-R07",
}

RULE = Rule("PCQ208", "machine-name-not-terminated", Level.STUBS, Severity.ERROR)


@RULE.requests(
    tuple(NAMES.values()),
    Reads(tuple(NAMES), ("request",)),
    by_method={opnum: (requirement,) for opnum, requirement in NAMES.items()},
)
def check(call: AskedEvidence) -> Iterator[Judgement]:
    assert call.request is not None
    found = machine_name(call.request)
    if found is None:
        return
    counts, text = found
    requirement = NAMES[Opnum(call.opnum or 0)]
    units = [text[at : at + 2] for at in range(0, len(text), 2)]
    nul = units.index(b"\0\0") if b"\0\0" in units else None
    if nul is None:
        at = At("request", f"stub[{counts.start}:{counts.start + max(len(text), 2)}]")
        yield failed(
            requirement, call, at, "the name of the machine does not end in a NUL", expected="a NUL", seen="none"
        )
    elif nul != len(units) - 1:
        at = At("request", f"stub[{counts.start + 2 * nul}:{counts.start + 2 * nul + 2}]")
        message = "the name of the machine has a NUL in its middle"
        yield failed(requirement, call, at, message, expected=f"one at {len(units) - 1}", seen=f"one at {nul}")
    elif counts.max_count.value != counts.actual_count.value:
        yield warned(
            requirement,
            call,
            At("request", counts.max_count.path),
            "the name of the machine has more room than characters",
            expected=str(counts.actual_count.value),
            seen=str(counts.max_count.value),
        )
    else:
        yield passed(requirement)
