"""Rules about names and descriptions: single strings, tables of strings, and the GUID of a provider."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.interfaces.buffers.ambiguous_readings import offsets_of_strings, string_offsets
from analyzer.interfaces.buffers.windows_text import utf16_length
from analyzer.questions.audit.call_evidence import CallEvidence
from analyzer.questions.audit.rule_registry import Level, of_calls, rule
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
from analyzer.questions.audit.rules.registrations import answers_to
from analyzer.questions.audit.server_statements import NO_REGISTRATION, ids_of_set
from analyzer.results.methods.perflib import NONE_ID, RequestCode

# By RequestCode: the requirements that say what its answer is, the text first.
STRINGS = {
    RequestCode.COUNTERSET_NAME_STRING: ("PCQ-3.1.4.1.2-R33", "PCQ-3.1.4.1.2-R18"),
    RequestCode.COUNTERSET_HELP_STRING: ("PCQ-3.1.4.1.2-R33", "PCQ-3.1.4.1.2-R19"),
    RequestCode.PROVIDER_NAME: ("PCQ-3.1.4.1.2-R38", "PCQ-3.1.4.1.2-R22"),
    RequestCode.COUNTERSET_ENGLISH_NAME: ("PCQ-3.1.4.1.2-R33", "PCQ-3.1.4.1.2-R24"),
}


def text_flaw(data: bytes) -> tuple[str, int, int] | None:
    """Checks whether the buffer of a registration answer is a single UTF-16 string; returns why it is none, and where; None if it
    is one. Behind its NUL, an even number of less than 8 bytes may be padding."""
    end = utf16_length(data) + 2
    if end > len(data):
        return "has no NUL", max(0, len(data) - 2), len(data)
    if len(data) - end >= 8:
        return "goes on behind its NUL", end, len(data)
    if len(data) % 2:
        return "has half a character behind its NUL", len(data) - 1, len(data)
    return None


@rule("PCQ331", Level.BUFFERS, Severity.ERROR)
@of_calls(tuple(sorted({one for pair in STRINGS.values() for one in pair})), answers_to(*STRINGS))
def string_answer_unterminated(call: CallEvidence) -> Iterator[Judgement]:
    """An answer that has to be one string is none, or more than one.

    Looks for: answers to RequestCodes 3, 4, 7 and 9 without a UTF-16 NUL, with one before their end, or with an odd byte or text
    behind it.

    Why it matters: the client copies up to the NUL, and runs into other memory where there is none.

    Specification: [MS-PCQ] section 3.1.4.1.2 demands one NUL-terminated UTF-16LE string for the name and the description of a
    counterset, its English name and the name of its provider.

    Flagged: `System` without a NUL; `System` with its NUL and a byte.

    Accepted: 2, 4 or 6 bytes of padding behind the NUL.

    Silent: where the answer is sealed, was not captured, or failed.
    """
    of, data = STRINGS[call.asked["RequestCode"]], call.reply.data
    flaw = text_flaw(data)
    if flaw is None:
        yield passed(*of)
        return
    message, start, stop = flaw
    at, seen = At("response", "lpData", (start, stop)), data[start:stop][:16].hex(" ") or "nothing"
    yield failed(call, at, f"the answer {message}", "one string with its NUL", seen, of=of)


_GUID_SIZE = 16


@rule("PCQ335", Level.BUFFERS, Severity.ERROR)
@of_calls(("PCQ-3.1.4.1.2-R23", "PCQ-3.1.4.1.2-R39"), answers_to(RequestCode.PROVIDER_GUID))
def provider_guid_of_wrong_size(call: CallEvidence) -> Iterator[Judgement]:
    """The GUID of a provider is not 16 bytes.

    Looks for: answers to RequestCode 8 of another size than a GUID.

    Why it matters: the client reads what is not there, or leaves what is.

    Specification: [MS-PCQ] section 3.1.4.1.2: the answer is the GUID of the provider.

    Flagged: an answer of 8 bytes.

    Accepted: 16 bytes.

    Silent: where the answer is sealed, was not captured, or failed.
    """
    size, of = len(call.reply.data), ("PCQ-3.1.4.1.2-R39", "PCQ-3.1.4.1.2-R23")
    message, expected = "the answer is not one GUID", f"{_GUID_SIZE} bytes"
    yield judge(size == _GUID_SIZE, call, "lpData", message, expected, f"{size} bytes", of=of)


SIZE, NUMBER, IDS, OFFSETS = "PCQ-2.2.4.3-R01", "PCQ-2.2.4.3-R02", "PCQ-2.2.4.4-R01", "PCQ-2.2.4.4-R02"
LAYOUT, ALIGNED, HEADERS, PADDING = (f"PCQ-3.1.4.1.2-R{number}" for number in (34, 35, 36, 37))
# By RequestCode: the requirement that says what its answer is.
TABLES = {
    RequestCode.COUNTER_NAME_STRINGS: "PCQ-3.1.4.1.2-R20",
    RequestCode.COUNTER_HELP_STRINGS: "PCQ-3.1.4.1.2-R21",
    RequestCode.COUNTER_ENGLISH_NAMES: "PCQ-3.1.4.1.2-R25",
}
_HEADER, _ENTRY = 8, 8
_FROM_START = Deviation(
    "Windows SDK, perflib.h, comment on PERF_STRING_COUNTER_HEADER", "dwOffset counts from the start of the block"
)
_UNPADDED = Deviation(
    "Windows SDK, perflib.h, comment on PERF_STRING_BUFFER_HEADER",
    "dwSize covers the headers and the strings, no more",
    "PCQ-2.2.4.3-R01",
)


def _place(start: int, stop: int) -> At:
    return At("response", "lpData", (start, stop))


@rule("PCQ333", Level.BUFFERS, Severity.ERROR)
@of_calls((SIZE, NUMBER, IDS, OFFSETS, LAYOUT, ALIGNED, HEADERS, PADDING, *TABLES.values()), answers_to(*TABLES))
def string_table_malformed(call: CallEvidence) -> Iterator[Judgement]:
    """A table of counter names or descriptions does not hold what its header says.

    Looks for: answers to RequestCodes 5, 6 and 10 in which:

    - dwSize is not the size of the answer,
    - the dwCounters headers do not fit, or are not as many as the counterset has counters,
    - an offset leads to no string under either base that is in use,
    - an id is there twice, or the counterset does not have it,
    - the size is no multiple of 8 (a warning), or
    - the offsets only fit from the start of the block.

    The profile windows excuses the last two.

    Why it matters: names are found by these offsets; a wrong one names a counter after another, or leads out of the buffer.

    Specification: [MS-PCQ] sections 2.2.4.3, 2.2.4.4 and 3.1.4.1.2. The text counts offsets from the end of the headers. The
    padding is free and may have any content. Windows SDK, perflib.h, comments on PERF_STRING_COUNTER_HEADER and
    PERF_STRING_BUFFER_HEADER: offsets count from the start of the block, and 0xFFFFFFFF means no string. dwSize covers headers
    and strings.

    Flagged: dwCounters 9 in a block with room for two headers.

    Accepted: a string without a counter's name (0xFFFFFFFF); dwSize with or without the padding at the end; under the profile
    `windows`, offsets from the start of the block.

    Silent: where the answer is sealed, was not captured, or failed. Ids are compared only with a registration of the counterset
    that is in the capture.
    """
    form, data = TABLES[call.asked["RequestCode"]], call.reply.data
    if len(data) < _HEADER:
        message = "the answer has no room for the header of a string table"
        yield failed(call, "lpData", message, "8 bytes or more", len(data), of=(LAYOUT, form, HEADERS))
        return
    size, number = int.from_bytes(data[:4], "little"), int.from_bytes(data[4:8], "little")
    yield from _sizes(call, size, len(data))
    end, most = _HEADER + _ENTRY * number, (len(data) - _HEADER) // _ENTRY
    if end > len(data):
        message = "there is no room for as many headers as dwCounters says"
        yield failed(call, _place(4, 8), message, f"at most {most}", number, of=(HEADERS, form, LAYOUT))
        return
    yield passed(HEADERS)
    yield from _offsets(call, data, offsets_of_strings(data), form)
    yield from _ids(call, [int.from_bytes(data[at : at + 4], "little") for at in range(_HEADER, end, _ENTRY)])


def _sizes(call: CallEvidence, size: int, length: int) -> Iterator[Judgement]:
    is_kept = size in (length, length - length % 8) or size + -size % 8 == length
    yield judge(is_kept, call, _place(0, 4), "dwSize is not the size of the answer", length, size, of=SIZE)
    is_kept, message, wanted = length % 8 == 0, "the size of the table is no multiple of 8", "a multiple of 8"
    yield judge(is_kept, call, "lpData", message, wanted, length, of=ALIGNED, say=warned, deviation=_UNPADDED)


def _offsets(call: CallEvidence, data: bytes, offsets: list[int], form: str) -> Iterator[Judgement]:
    end = _HEADER + _ENTRY * len(offsets)
    found = string_offsets(data, offsets, end)
    if found.lost:
        number = found.lost[0]
        start = _HEADER + _ENTRY * number + 4
        message = "an offset leads to no string with a NUL in the block, counted from either base"
        expected = f"an even number below {len(data) - found.base}"
        yield failed(call, _place(start, start + 4), message, expected, offsets[number], of=(OFFSETS, LAYOUT, form))
        return
    yield passed(LAYOUT, form)
    used = [offset for offset in offsets if offset != NONE_ID]
    if not used:
        return
    last = found.base + max(used)
    if last + utf16_length(data[last:]) + 2 < len(data):
        yield passed(PADDING)
    message = "the offsets of the strings count from the start of the block"
    is_kept, at = not found.counts_from_start, _place(_HEADER, end)
    expected, seen = "from the end of the headers", "from the start of the block"
    yield judge(is_kept, call, at, message, expected, seen, of=OFFSETS, deviation=_FROM_START)


def _ids(call: CallEvidence, ids: list[int]) -> Iterator[Judgement]:
    known = ids_of_set(call)
    seen: set[int] = set()
    for number, one in enumerate(ids):
        start = _HEADER + _ENTRY * number
        message, expected = "the counterset has no such counter", "an id of the set"
        if one in seen:
            message, expected = "a counter has two strings", "each id once"
        is_kept = one not in seen and (known is None or one in known)
        yield judge(is_kept, call, _place(start, start + 4), message, expected, one, of=IDS)
        seen.add(one)
    if known is None:
        yield inconclusive(NO_REGISTRATION, call, NUMBER)
    else:
        message = "dwCounters is not the number of counters of the set"
        yield judge(len(ids) == len(known), call, _place(4, 8), message, len(known), len(ids), of=NUMBER)


@rule("PCQ390", Level.BUFFERS, Severity.ERROR, "string-offsets-lead-nowhere")
@of_calls("PL-QCD-R14", answers_to(*TABLES))
def string_offset_out_of_range(call: CallEvidence) -> Iterator[Judgement]:
    """The offsets of a block of counter strings lead to its strings from nowhere.

    Looks for: answers to the request codes 5, 6 and 10 with an offset that leads beyond the buffer, or to where no string ends.
    This has to be so both when counted from the start of the buffer and from the end of its headers.

    Why it matters: the names of counters cannot be read.

    Specification: perflib.h counts dwOffset from the start of the buffer, and 0xFFFFFFFF says that there is no string. [MS-PCQ]
    section 2.2.4.4 counts from the end of the headers. What is counted so does not exercise this requirement.

    Flagged: an offset of 4096 in a buffer of 100 bytes.

    Accepted: offsets counted from either place; 0xFFFFFFFF.

    Silent: where the answer is sealed or was not captured; where the headers themselves are damaged.
    """
    data = call.reply.data
    head = _HEADER + _ENTRY * (int.from_bytes(data[4:8], "little") if len(data) >= _HEADER else 0)
    if not call.reply.is_readable or head > len(data):
        yield inconclusive("the headers of the strings are damaged", call)
        return
    offsets = offsets_of_strings(data)
    found = string_offsets(data, offsets, head)
    number = found.lost[0] if found.lost else 0
    is_counted_otherwise = not found.counts_from_start or all(offset == NONE_ID for offset in offsets)
    if found.lost or not is_counted_otherwise:
        start, expected = _HEADER + _ENTRY * number + 4, f"the place of a string in {len(data)} bytes"
        at = At("response", f"lpData.strings[{number}].ofs_string", (start, start + 4))
        message = "an offset leads to no string, from wherever it is counted"
        yield judge(not found.lost, call, at, message, expected, offsets[number])
