"""Rules about parameters: those that a client chooses, the sizes in answers, and what a server makes of those out of range."""

from __future__ import annotations

from collections.abc import Iterator
from locale import windows_locale

from analyzer.questions.audit.call_evidence import AskedEvidence, CallEvidence
from analyzer.questions.audit.rule_registry import Level, Reads, of_calls, of_requests, rule
from analyzer.questions.audit.rule_verdicts import At, Judgement, Severity, failed, inconclusive, judge, passed, warned
from analyzer.questions.audit.rules.error_codes import INVALID_PARAMETER, REFUSED_ELSEWHERE
from analyzer.questions.audit.stub_and_pdu_fields import answer_counts, machine_name, returned
from analyzer.results.methods.perflib import ERROR_NOT_ENOUGH_MEMORY, Opnum, RequestCode

# Codes whose RequestLCID is zero, and codes that ask for text in a language.
WITHOUT_LANGUAGE = frozenset(
    {
        RequestCode.COUNTERSET_STRUCT,
        RequestCode.PROVIDER_NAME,
        RequestCode.PROVIDER_GUID,
        RequestCode.COUNTERSET_ENGLISH_NAME,
        RequestCode.COUNTER_ENGLISH_NAMES,
    }
)
WITH_LANGUAGE = frozenset(
    {
        RequestCode.COUNTERSET_NAME_STRING,
        RequestCode.COUNTERSET_HELP_STRING,
        RequestCode.COUNTER_NAME_STRINGS,
        RequestCode.COUNTER_HELP_STRINGS,
    }
)
REGISTRATION_ASKED = Reads((Opnum.QUERY_COUNTER_SET_REGISTRATION_INFO,), ("request",))


@rule("PCQ210", Level.STUBS, Severity.ERROR)
@of_requests("PCQ-3.1.4.1.2-R15", REGISTRATION_ASKED)
def request_code_out_of_range(call: AskedEvidence) -> Iterator[Judgement]:
    """A client asked for registration information by a RequestCode that does not exist.

    Looks for: QueryCounterSetRegistrationInfo with a RequestCode other than 1 to 10.

    Why it matters: a server has no answer to it but ERROR_INVALID_PARAMETER. A client that counts on more has been written for
    another protocol version, or computes the code wrongly.

    Specification: [MS-PCQ] section 3.1.4.1.2 lists the codes 1 to 10 and demands that the parameter is one of them. What the server
    makes of another one is judged by another rule.

    Flagged: `RequestCode` 11.

    Accepted: `RequestCode` 10 (the English counter names).

    Silent: where the request is sealed, was not captured, or does not decode.
    """
    code = call.asked["RequestCode"]
    message = "the client asked for a kind of registration information that does not exist"
    yield judge(code in tuple(RequestCode), call, "RequestCode", message, "1 to 10", code)


@rule("PCQ701", Level.SEQUENCES, Severity.ERROR)
@of_calls("PCQ-3.1.4.1.2-R09", Reads((Opnum.QUERY_COUNTER_SET_REGISTRATION_INFO,), ("request", "response")))
def unknown_request_code_not_refused(call: CallEvidence) -> Iterator[Judgement]:
    """A server took a RequestCode that does not exist for another error, or answered it.

    Looks for: QueryCounterSetRegistrationInfo with a RequestCode other than 1 to 10, and the return value.

    Why it matters: clients see by ERROR_INVALID_PARAMETER that the server does not know a kind of information. Any other error says
    that it does.

    Specification: [MS-PCQ] section 3.1.4.1.2: the server has to return ERROR_INVALID_PARAMETER (0x57) where RequestCode is not
    between 1 and 10. Another rule reports that the client asked.

    Flagged: RequestCode 11 and return value 0; RequestCode 0 and ERROR_NOT_ENOUGH_MEMORY.

    Accepted: RequestCode 11 and 0x57; a fault, and ERROR_ACCESS_DENIED to a request that was not sealed.

    Silent: where the request or the answer is sealed or was not captured.
    """
    code = call.asked["RequestCode"]
    if code not in tuple(RequestCode) and call.status not in REFUSED_ELSEWHERE:
        message = f"the server did not refuse RequestCode {code} for what it is"
        expected = "ERROR_INVALID_PARAMETER (0x57)"
        yield judge(call.status == INVALID_PARAMETER, call, "status", message, expected, returned(call))


# What dwInSize may be at most, and the requirements that say so.
LIMITS: dict[int, tuple[int, tuple[str, ...]]] = {
    Opnum.ENUMERATE_COUNTER_SET: (256, ("PCQ-6-R02", "PCQ-3.1.4.1.1-R13")),
    Opnum.QUERY_COUNTER_SET_REGISTRATION_INFO: (134217728, ("PCQ-6-R03",)),
    Opnum.ENUMERATE_COUNTER_SET_INSTANCES: (67108864, ("PCQ-6-R04",)),
    Opnum.QUERY_COUNTER_INFO: (67108864, ("PCQ-6-R05",)),
    Opnum.QUERY_COUNTER_DATA: (1073741824, ("PCQ-6-R06",)),
    Opnum.VALIDATE_COUNTERS: (67108864, ("PCQ-6-R07",)),
}


@rule("PCQ215", Level.STUBS, Severity.ERROR)
@of_requests({opnum: one for opnum, (_, one) in LIMITS.items()}, Reads(tuple(LIMITS), ("request",)))
def size_out_of_range(call: AskedEvidence) -> Iterator[Judgement]:
    """A client offered a larger buffer than the IDL allows.

    Looks for: dwInSize above the upper end of the range that the IDL gives it.

    Why it matters: runtimes refuse such a request before any method sees it, so the client never gets an answer.

    Specification: [MS-PCQ] section 6, the IDL, a range for each method; sections 3.1.4.1.1 and 3.1.4.1.7 describe the parameter:
    number of GUIDs in the one, bytes in all others.

    Flagged: dwInSize 257 for EnumerateCounterSet; 134217729 for registration information.

    Accepted: the upper end itself; 0, which asks for the size.

    Silent: where the request is sealed, was not captured, or does not decode.
    """
    limit, _ = LIMITS[call.opnum or 0]
    size, message = call.asked["dwInSize"], "the client offered a buffer that is out of range"
    yield judge(size <= limit, call, "dwInSize", message, f"at most {limit}", size)


@rule("PCQ123", Level.RPC, Severity.ERROR)
@of_calls("PCQ-3.1.4-R04", Reads(tuple(LIMITS), ("request",)))
def size_out_of_range_served(call: CallEvidence) -> Iterator[Judgement]:
    """A server answered a request for a buffer that is larger than the IDL allows.

    Looks for: requests whose dwInSize is beyond the range of its method, and what the server answered.

    Why it matters: the range is what bounds the memory that a server sets aside before it knows what it will answer. One that does
    not check it can be asked for 4 GiB by anybody who may call.

    Specification: [MS-PCQ] section 3.1.4: the runtime checks the ranges, and the answer is a fault (0x1C000007, 0x6C6, 0x6F7).
    Section 6 gives the ranges:

    - 256 GUIDs for EnumerateCounterSet.
    - 134217728 bytes for registration information.
    - 67108864 bytes for instances, counter information and validation.
    - 1073741824 bytes for counter data.

    Flagged: dwInSize 0x10000000 for registration information, answered with data.

    Accepted: any fault to such a request. A server that lists more than 256 countersets can only be asked by a larger dwInSize:
    that is a warning, for its IDL has another range. Requests within the range do not exercise the requirement.

    Silent: where the request is sealed or was not captured, or its answer was not captured.
    """
    opnum, size = call.opnum or 0, call.asked["dwInSize"]
    limit, _ = LIMITS[opnum]
    if size <= limit:
        return
    if call.fault is not None:
        yield passed()
    elif call.decoded.response is None:
        yield inconclusive("what came of a request for a buffer out of range was not captured", call)
    else:
        say = warned if opnum == Opnum.ENUMERATE_COUNTER_SET else failed
        message = "the server answered a request for a buffer out of range"
        yield say(call, At("request", "dwInSize"), message, f"a fault for more than {limit}", size)


NO_GUIDS = "PCQ-3.1.4.1.1-R14"
# The requirements of a method: on pdwOutSize, on pdwRtnSize, and on the code for a buffer that is too small.
SIZES = {
    Opnum.ENUMERATE_COUNTER_SET: ("PCQ-3.1.4.1.1-R05", "PCQ-3.1.4.1.1-R06", "PCQ-3.1.4.1.1-R09"),
    Opnum.QUERY_COUNTER_SET_REGISTRATION_INFO: ("PCQ-3.1.4.1.2-R05", "PCQ-3.1.4.1.2-R06", "PCQ-3.1.4.1.2-R11"),
    Opnum.ENUMERATE_COUNTER_SET_INSTANCES: ("PCQ-3.1.4.1.3-R05", "PCQ-3.1.4.1.3-R06", "PCQ-3.1.4.1.3-R10"),
    Opnum.QUERY_COUNTER_INFO: ("PCQ-3.1.4.1.5-R05", "PCQ-3.1.4.1.5-R06", "PCQ-3.1.4.1.5-R10"),
    Opnum.QUERY_COUNTER_DATA: ("PCQ-3.1.4.1.6-R05", "PCQ-3.1.4.1.6-R06", "PCQ-3.1.4.1.6-R10"),
}


@rule("PCQ206", Level.STUBS, Severity.ERROR)
@of_calls(
    {**SIZES, Opnum.ENUMERATE_COUNTER_SET: (NO_GUIDS, *SIZES[Opnum.ENUMERATE_COUNTER_SET])},
    Reads(tuple(SIZES), ("request", "response")),
)
def answer_sizes_disagree(call: CallEvidence) -> Iterator[Judgement]:
    """pdwOutSize, pdwRtnSize and the return value contradict each other about whether the buffer was large enough.

    Looks for:

    - Success with a pdwOutSize that is not pdwRtnSize. The size of what was returned shows which of the two is wrong.
    - ERROR_NOT_ENOUGH_MEMORY (8) with data, or with a pdwRtnSize that fits into the client's buffer.
    - An answer of EnumerateCounterSet that has GUIDs, although there are more than the buffer holds.

    Why it matters: clients ask with a small buffer first, and again with pdwRtnSize. One that gets 8 and a size it has offered
    already asks for ever; one that gets 0 takes a part of the data for the whole.

    Specification: [MS-PCQ] sections 3.1.4.1.1, .2, .3, .5 and .6: pdwOutSize is the size of what was returned, pdwRtnSize the
    size of everything. EnumerateCounterSet counts both in GUIDs, the others in bytes. ERROR_NOT_ENOUGH_MEMORY is for a buffer
    that is too small, and EnumerateCounterSet then returns pdwOutSize 0. The text does not say what the two are on other
    errors.

    Flagged: return value 0, pdwOutSize 96, pdwRtnSize 200; return value 8, dwInSize 4096, pdwRtnSize 96.

    Accepted: return value 8, dwInSize 0, pdwOutSize 0, pdwRtnSize 96. Data along with return value 8 is a warning.

    Silent: where the request or the answer is sealed or was not captured.
    """
    out_size, rtn_size, too_small = SIZES[call.opnum or 0]
    room, out, needed = call.asked["dwInSize"], call.answered["pdwOutSize"], call.answered["pdwRtnSize"]
    if call.opnum == Opnum.ENUMERATE_COUNTER_SET and room < needed:
        message = "GUIDs were returned although the buffer does not hold all of them"
        yield judge(not out, call, "pdwOutSize", message, 0, out, of=NO_GUIDS)
    if call.status == 0 and out == needed:
        yield passed(out_size, rtn_size)
    elif call.status == 0:
        yield _unequal_sizes(call, room, out, needed)
    elif call.status == ERROR_NOT_ENOUGH_MEMORY and needed <= room:
        message = "the buffer was called too small, but is as large as what is needed"
        expected = f"above dwInSize, {room}"
        yield failed(call, "pdwRtnSize", message, expected, needed, of=(rtn_size, too_small))
    elif call.status == ERROR_NOT_ENOUGH_MEMORY:
        yield passed(rtn_size)
        message = "data came along with the error that the buffer is too small for it"
        yield judge(not out, call, "pdwOutSize", message, 0, out, of=too_small, say=warned)


def _unequal_sizes(call: CallEvidence, room: int, out: int, needed: int) -> Judgement:
    """The verdict on the two size parameters of an answer that differ with success: what was returned states which of them is
    wrong."""
    out_size, rtn_size, too_small = SIZES[call.opnum or 0]
    counts = answer_counts(call.reply)
    returned = counts.actual_count.value if counts is not None else out
    damaged = call.reply.buffer is not None and call.reply.buffer.problem is not None
    if returned == needed:
        message = "the call succeeded with a pdwOutSize that is not what was returned"
        return failed(call, "pdwOutSize", message, f"pdwRtnSize, {needed}", out, of=out_size)
    if needed > room and (out >= room or damaged):
        message = "the call succeeded, and what it returned is not everything"
        expected = f"ERROR_NOT_ENOUGH_MEMORY (8) for a buffer of {room}, or {needed}"
        return failed(call, "pdwOutSize", message, expected, out, of=(out_size, too_small))
    message = "the call succeeded, and pdwRtnSize is not the size of what was returned"
    return failed(call, "pdwRtnSize", message, f"pdwOutSize, {out}", needed, of=(rtn_size, out_size))


MACHINE_NAMES = {
    Opnum.ENUMERATE_COUNTER_SET: ("PCQ-3.1.4.1.1-R11",),
    Opnum.QUERY_COUNTER_SET_REGISTRATION_INFO: ("PCQ-3.1.4.1.2-R13",),
    Opnum.ENUMERATE_COUNTER_SET_INSTANCES: ("PCQ-3.1.4.1.3-R14",),
    Opnum.OPEN_QUERY_HANDLE: ("PCQ-3.1.4.1.4-R07",),
}


@rule("PCQ208", Level.STUBS, Severity.ERROR)
@of_requests(MACHINE_NAMES, Reads(tuple(MACHINE_NAMES), ("request",)))
def machine_name_not_terminated(call: AskedEvidence) -> Iterator[Judgement]:
    r"""The name of the machine is no string that ends in a NUL.

    Looks for: szMachine without a NUL at its end, with one in its middle, or with counts that are not equal (a warning).

    Why it matters: servers hand the name to providers as a C string. Without its NUL it goes on into whatever follows.

    Specification: [MS-PCQ] sections 3.1.4.1.1 to 3.1.4.1.4: szMachine is a [string] of wchar_t, a Unicode string that names a
    server, in no fixed form; servers may ignore it. C706 section 14.3.4: a string is sent with its terminator, and that is its last
    element.

    Flagged: actual_count 6 for `\\SRV1` without NUL.

    Accepted: `\\SRV1`, `SRV1.example.com`, and the empty string, each with its NUL.

    Silent: where the request is sealed, was not captured, or does not decode.
    """
    found = machine_name(call.sent)
    if found is None:
        return
    counts, text = found
    units = [text[at : at + 2] for at in range(0, len(text), 2)]
    nul = units.index(b"\0\0") if b"\0\0" in units else None
    if nul is None:
        path = f"stub[{counts.start}:{counts.start + max(len(text), 2)}]"
        yield failed(call, path, "the name of the machine does not end in a NUL", "a NUL", "none")
    elif nul != len(units) - 1:
        path = f"stub[{counts.start + 2 * nul}:{counts.start + 2 * nul + 2}]"
        message = "the name of the machine has a NUL in its middle"
        yield failed(call, path, message, f"one at {len(units) - 1}", f"one at {nul}")
    else:
        room, used = counts.max_count, counts.actual_count.value
        message = "the name of the machine has more room than characters"
        yield judge(room.value == used, call, room.path, message, used, room.value, say=warned)


@rule("PCQ217", Level.STUBS, Severity.WARNING)
@of_requests("PCQ-3.1.4.1.7-R10", Reads((Opnum.VALIDATE_COUNTERS,), ("request",)))
def add_flag_not_boolean(call: AskedEvidence) -> Iterator[Judgement]:
    """dwAdd is neither TRUE nor FALSE.

    Looks for: requests of ValidateCounters whose dwAdd is not 0 or 1 (a warning).

    Why it matters: what else it may mean is the server's guess. One that takes anything but 0 for TRUE adds, one that compares with
    1 removes.

    Specification: [MS-PCQ] section 3.1.4.1.7: dwAdd is a Boolean, TRUE to add counters and FALSE to remove them.

    Flagged: `dwAdd` 2, and 0xFFFFFFFF.

    Accepted: 0 and 1.

    Silent: where the request is sealed, was not captured, or does not decode.
    """
    add, message = call.asked["dwAdd"], "dwAdd is neither TRUE nor FALSE"
    yield judge(add in (0, 1), call, "dwAdd", message, "1 or 0", f"{add:#x}", say=warned)


ZERO, KNOWN = "PCQ-3.1.4.1.2-R28", "PCQ-3.1.4.1.2-R26"
# [MS-LCID] section 2.2: the lower 10 bits are the language; without a country the others are 0, 1 or 2 (default).
_LANGUAGES = frozenset(one & 0x3FF for one in windows_locale) | {0x00, 0x7F}


@rule("PCQ337", Level.STUBS, Severity.ERROR)
@of_requests((ZERO, KNOWN), REGISTRATION_ASKED)
def lcid_out_of_place(call: AskedEvidence) -> Iterator[Judgement]:
    """A client asked for a language where there is none to ask for, or for one that does not exist.

    Looks for: requests with RequestCodes 1, 7, 8, 9 or 10 whose RequestLCID is not zero; a warning for codes 3 to 6 with a
    number that is no language id.

    Why it matters: servers are known to try and load resources for it and to fail.

    Specification: [MS-PCQ] section 3.1.4.1.2: RequestLCID is zero for these codes; for codes 3 to 6 it is a language id
    ([MS-LCID]) or zero, for code 2 a CounterId.

    Flagged: RequestCode 9 with RequestLCID 0x409.

    Accepted: RequestCode 3 with RequestLCID 0x407, or 0x9 (English without a country).

    Silent: where the request is sealed or was not captured.
    """
    code, language = call.asked["RequestCode"], call.asked["RequestLCID"]
    seen = f"{language:#x}"
    if code in WITHOUT_LANGUAGE:
        message = f"a language was asked for with RequestCode {code}, which has none"
        yield judge(language == 0, call, "RequestLCID", message, "0", seen, of=ZERO)
    elif code in WITH_LANGUAGE:
        exists = language in windows_locale or (language & 0x3FF in _LANGUAGES and language >> 10 in (0, 1, 2))
        message, expected = "the language asked for does not exist", "a language id or 0"
        yield judge(exists, call, "RequestLCID", message, expected, seen, of=KNOWN, say=warned)
