"""The offsets of a block of counter strings lead to its strings from nowhere.

Looks for: answers to the request codes 5, 6 and 10 in which an offset leads beyond the buffer, or to where no string ends, both
when counted from the start of the buffer and from the end of its headers.

Why it matters: the names of counters cannot be read.

Specification: perflib.h counts dwOffset from the start of the buffer, and 0xFFFFFFFF says that there is no string. [MS-PCQ]
section 2.2.4.4 counts from the end of the headers. What is counted so does not exercise this requirement.

Flagged: an offset of 4096 in a buffer of 100 bytes.

Accepted: offsets counted from either place; 0xFFFFFFFF.

Silent: where the answer is sealed or was not captured; where the headers themselves are damaged.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.interfaces.buffers.layout import STRING_HEADER, STRING_TABLE
from analyzer.interfaces.buffers.readings import offsets_of_strings
from analyzer.questions.audit.checks import Violation, cannot_say, judgements
from analyzer.questions.audit.evidence import CallEvidence
from analyzer.questions.audit.registration import answers_to, string_offsets
from analyzer.questions.audit.rule import Level, Rule
from analyzer.questions.audit.verdicts import Judgement, Severity
from analyzer.results.perflib import NONE_ID, RequestCode

REQUIREMENTS = ("PL-QCD-R14",)

RULE = Rule("PCQ390", "string-offsets-lead-nowhere", Level.BUFFERS, Severity.ERROR)


@RULE.calls(
    REQUIREMENTS,
    answers_to(RequestCode.COUNTER_NAME_STRINGS, RequestCode.COUNTER_HELP_STRINGS, RequestCode.COUNTER_ENGLISH_NAMES),
)
def check(call: CallEvidence) -> Iterator[Judgement]:
    assert call.response is not None
    data = call.response.data
    count = STRING_TABLE.unpack_from(data)[1] if len(data) >= STRING_TABLE.size else 0
    head = STRING_TABLE.size + STRING_HEADER.size * count
    if not call.response.is_readable or len(data) < 8 or head > len(data):
        yield from cannot_say(REQUIREMENTS, "the headers of the strings are damaged", call)
        return
    offsets = offsets_of_strings(data)
    found = string_offsets(data, offsets, head)
    violations = []
    if found.lost:
        number = found.lost[0]
        path = f"lpData.strings[{number}].ofs_string"
        at = 12 + 8 * number
        violations.append(
            Violation(path, (at, at + 4), f"the place of a string in {len(data)} bytes", f"{offsets[number]}")
        )
    elif not found.counts_from_start or all(offset == NONE_ID for offset in offsets):
        return
    yield from judgements(
        call, "response", REQUIREMENTS, 1, violations, "an offset leads to no string, from wherever it is counted"
    )
