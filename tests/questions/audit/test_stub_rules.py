"""Rules about stubs and parameters, and about faults and return values of those that are not as they should be."""

from collections.abc import Iterator
from itertools import product
from struct import pack
from typing import Any

import pytest

from analyzer.questions.audit.rule_verdicts import Actor
from analyzer.questions.audit.rules.error_codes import RESOURCES, RETURN_VALUES
from analyzer.questions.audit.rules.parameters import LIMITS, SIZES
from analyzer.questions.audit.rules.stubs import ANSWERED_COUNTS, REQUEST_LAYOUTS
from analyzer.transport.rpc.exchange_maker import Exchange
from tests.build.buffers import Ndr, identifier
from tests.build.calls import COUNTERSET, HANDLE, MACHINE, NO_HANDLE, Calls
from tests.questions.audit.judging import Case, by_name, holds, judged
from tests.questions.audit.methods import NAMING, call, request, response

ONE = identifier(COUNTERSET, name="a")


def asked(opnum: int, stub: Ndr | bytes) -> Exchange:
    """A request with this stub, and the usual answer."""
    return Calls().exchange(opnum, stub, response(Calls(), opnum))


def answered(opnum: int, stub: Ndr | bytes, **options: Any) -> Exchange:
    """The usual request, and an answer with this stub."""
    calls = Calls(**options)
    return calls.exchange(opnum, request(calls, opnum), stub)


def short() -> Ndr:
    return Calls().stub().handle(HANDLE)


def uneven() -> Ndr:
    return Calls().stub().handle(HANDLE).uint(16).conformant(bytes(24)).uint(1)


def null_name(fault: int | None = None) -> Exchange:
    calls = Calls()
    null = calls.stub().null().uint(256)
    return calls.faulted(0, null, fault) if fault else calls.exchange(0, null, calls.sized(b"", 0x57, element=16))


def referent(opnum: int) -> Ndr:
    """A request whose name of the machine is preceded by a referent."""
    return request(Calls(), opnum, name=Calls().stub().pointer(0).string(MACHINE))


def wrong_offset() -> bytes:
    stub = bytearray(response(Calls(), 6).data)
    stub[12:16] = b"\x08\0\0\0"
    return bytes(stub)


def elements(opnum: int, out: int, room: int, offset: int, actual: int) -> Exchange:
    data = bytes(actual * (16 if opnum == 0 else 1))
    return answered(opnum, pack("<5I", out, out, room, offset, actual) + data + pack("<I", 0))


def other_room(opnum: int, *, ndr64: bool) -> Exchange:
    return answered(opnum, response(Calls(ndr64=ndr64), opnum, size=128), ndr64=ndr64)


def sizes(opnum: int, status: int, out: int, needed: int, room: int = 64, returned: int | None = None) -> Exchange:
    """An answer with `returned` (or `out`) elements of zeros; what else it states is as given."""
    calls, element = Calls(), 16 if opnum == 0 else 1
    data = bytes((out if returned is None else returned) * element)
    stub = calls.sized(data, status, needed=needed, element=element, room=room, out_size=out)
    return calls.exchange(opnum, request(calls, opnum, room), stub)


def named(opnum: int, units: str, *, room: int | None = None, ndr64: bool = False) -> Exchange:
    calls = Calls(ndr64=ndr64)
    name = calls.stub()
    name.count(len(units) if room is None else room).count(0).count(len(units))
    name.data += b"".join(pack("<H", ord(unit)) for unit in units)
    return calls.exchange(opnum, request(calls, opnum, name=name), response(calls, opnum))


def offered(opnum: int, size: int, *, fault: int | None = None, lost: bool = False) -> Exchange:
    calls = Calls()
    stub = request(calls, opnum, size)
    if fault is not None:
        return calls.faulted(opnum, stub, fault)
    return calls.exchange(opnum, stub, None if lost else calls.sized(b""))


def below_40(status: int = 0) -> bytes:
    """An identifier whose Size is 16."""
    whole = bytearray(identifier(COUNTERSET, status=status))
    whole[20:24] = b"\x10\0\0\0"
    return bytes(whole)


def handle_of(attributes: int) -> Ndr:
    return Calls().stub().handle(HANDLE, attributes)


def faulted(opnum: int, status: int) -> Exchange:
    return Calls().faulted(opnum, b"", status)


def with_code(code: int, status: int = 0) -> Exchange:
    return Calls().registration(code, b"", status=status)


def of_faults() -> Iterator[Case]:
    yield "PCQ120", "an answer to opnum 8", "fail", [Calls().exchange(8, b"", bytes(4))]
    for one in (0x1C010002, 1745, 5):
        yield "PCQ120", f"fault {one:#x} says so", "pass", [faulted(9, one)]
    yield "PCQ120", "a fault for another reason", "warn", [faulted(9, 0x1C000012)]
    yield "PCQ120", "the methods of the IDL", "not-exercised", [Calls().open_query()]
    yield "PCQ120", "a lost answer proves nothing", "inconclusive", [Calls().exchange(8, b"", None)]
    for one in (0x1C00001A, 0x1C010002, 0x6F7, 0x6C6, 5, 6):
        yield "PCQ121", f"{one:#x} is of RPC", "pass", [faulted(6, one)]
    for one in (0xC0000005, 0x1068, 0xE06D7363):
        yield "PCQ121", f"{one:#x} is an exception of the method", "fail", [faulted(6, one)]
    yield "PCQ121", "a code of RPC from the kernel", "warn", [faulted(6, 0xC0020017)]
    yield "PCQ121", "no fault", "not-exercised", [Calls().open_query(), Calls().exchange(6, b"", None)]
    yield "PCQ122", "a stub that ends early is answered", "fail", [Calls().exchange(6, short(), bytes(12))]
    served = Calls().exchange(7, uneven(), Calls().stub().conformant(bytes(24)).uint(0))
    yield "PCQ122", "a count that is not the size is answered", "fail", [served]
    yield "PCQ122", "a fault to a stub that ends early", "pass", [Calls().faulted(6, short(), 0x6F7)]
    yield "PCQ122", "a fault to a count that is not the size", "pass", [Calls().faulted(7, uneven(), 0x6F7)]
    yield "PCQ122", "a null pointer is rejected", "pass", [null_name(0x6F7)]
    yield "PCQ122", "a null pointer is answered", "fail", [null_name()]
    unanswered = Calls().exchange(0, Calls().stub().string(MACHINE).uint(9), None)
    yield "PCQ122", "sound stubs", "not-exercised", [Calls().open_query(), unanswered]
    yield "PCQ122", "a lost answer proves nothing", "inconclusive", [Calls().exchange(6, short(), None)]


def of_stubs() -> Iterator[Case]:
    for opnum in REQUEST_LAYOUTS:
        for code, made, sound in (("PCQ201", asked, request), ("PCQ202", answered, response)):
            stub = sound(Calls(), opnum).data
            yield code, f"opnum {opnum} by the IDL", "pass", [call(opnum)]
            yield code, f"opnum {opnum} ends early", "fail", [made(opnum, stub[:-4])]
            yield code, f"opnum {opnum} goes on", "fail", [made(opnum, stub + bytes(12))]
            yield code, f"padding of opnum {opnum} that was not counted", "pass", [made(opnum, stub + bytes(7))]
    for opnum in NAMING:
        yield "PCQ201", f"a referent before the name of opnum {opnum}", "warn", [asked(opnum, referent(opnum))]
    yield "PCQ202", "a missing return value breaks two", "fail", [answered(3, response(Calls(), 3).data[:20])]
    yield "PCQ202", "a wrong offset is for the rule about counts", "not-exercised", [answered(6, wrong_offset())]
    for opnum in (3, 4, 5, 6, 7):
        yield "PCQ203", f"a UUID after four zero bytes, opnum {opnum}", "pass", [call(opnum)]
    yield "PCQ203", "attributes in a request", "fail", [asked(6, handle_of(1).uint(4096))]
    yield "PCQ203", "attributes in an answer", "fail", [answered(3, handle_of(7).uint(0))]
    for opnum in (5, 6):
        behind = Calls().stub().pointer(0).handle(HANDLE).uint(4096)
        yield "PCQ203", f"a referent before the handle of opnum {opnum}", "fail", [asked(opnum, behind)]
    yield "PCQ203", "no handle", "pass", [Calls().open_query(NO_HANDLE, 5)]


def of_counts() -> Iterator[Case]:
    for opnum in ANSWERED_COUNTS:
        for ndr64 in (False, True):
            of = f"opnum {opnum}, NDR64 {ndr64}"
            agree = f"counts of opnum {opnum} agree, NDR64 {ndr64}"
            yield "PCQ204", agree, "pass", [call(opnum, Calls(ndr64=ndr64))]
            yield "PCQ204", f"another room than was offered to {of}", "fail", [other_room(opnum, ndr64=ndr64)]
        yield "PCQ204", f"an offset in opnum {opnum}", "fail", [elements(opnum, 0, 64, 8, 0)]
        yield "PCQ204", f"another length in opnum {opnum}", "fail", [elements(opnum, 3, 64, 0, 0)]
        yield "PCQ204", f"an overrun in opnum {opnum}", "fail", [elements(opnum, 80, 64, 0, 80)]
        cut = asked(opnum, request(Calls(), opnum).data[:-4])
        yield "PCQ204", f"opnum {opnum} does not decode and offers no size", "inconclusive", [cut]
    yield "PCQ204", "a wrong offset", "fail", [answered(6, wrong_offset())]
    yield "PCQ204", "a request for validation that does not decode", "inconclusive", [asked(7, bytes(10))]
    yield "PCQ204", "validation repeats its size both ways", "pass", [call(7)]
    other = Calls().stub().handle(HANDLE).uint(64).conformant(bytes(40)).uint(1)
    yield "PCQ204", "a request for validation with another count", "fail", [asked(7, other)]
    other = response(Calls(), 7, size=40)
    yield "PCQ204", "an answer to validation with another count", "fail", [answered(7, other)]


def of_sizes() -> Iterator[Case]:
    for opnum in SIZES:
        both = [sizes(opnum, 0, 48, 48), sizes(opnum, 8, 0, 48, 10)]
        yield "PCQ206", f"all there is, and 8 for too little room, opnum {opnum}", "pass", both
        yield "PCQ206", f"less than everything, opnum {opnum}", "fail", [sizes(opnum, 0, 32, 48, 32)]
        yield "PCQ206", f"pdwRtnSize is not what was returned, opnum {opnum}", "fail", [sizes(opnum, 0, 32, 48)]
        returned = sizes(opnum, 0, 32, 48, returned=48)
        yield "PCQ206", f"pdwOutSize is not what was returned, opnum {opnum}", "fail", [returned]
        yield "PCQ206", f"8 although there was room, opnum {opnum}", "fail", [sizes(opnum, 8, 0, 64)]
        verdict = "fail" if opnum == 0 else "warn"
        yield "PCQ206", f"data along with 8, opnum {opnum}", verdict, [sizes(opnum, 8, 8, 80)]
        undefined = f"sizes of other errors are not defined, opnum {opnum}"
        yield "PCQ206", undefined, "not-exercised", [sizes(opnum, 0x57, 3, 0)]
    yield "PCQ206", "GUIDs of a list that does not fit", "fail", [sizes(0, 0x57, 10, 300, 10)]
    for opnum, (limit, _) in LIMITS.items():
        yield "PCQ215", f"above the range of opnum {opnum}", "fail", [offered(opnum, limit + 1)]
        yield "PCQ215", f"the end of the range of opnum {opnum}", "pass", [offered(opnum, limit), offered(opnum, 0)]
        # A server with more countersets than 256 has to have another range.
        verdict = "fail" if opnum else "warn"
        yield "PCQ123", f"serving opnum {opnum} beyond its range", verdict, [offered(opnum, limit + 1)]
        refused = [offered(opnum, limit + 1, fault=0x6C6), offered(opnum, 1)]
        yield "PCQ123", f"refusing opnum {opnum} beyond its range", "pass", refused
        yield "PCQ123", f"opnum {opnum} within its range", "not-exercised", [offered(opnum, 1)]
    yield "PCQ123", "a lost answer proves nothing", "inconclusive", [offered(6, 0xFFFFFFFF, lost=True)]


def of_parameters() -> Iterator[Case]:
    for opnum in NAMING:
        for text, ndr64 in product(("\\\\SRV1\0", "srv1.example.com\0", "\0"), (False, True)):
            words = f"{len(text)} characters with their NUL, opnum {opnum}, NDR64 {ndr64}"
            yield "PCQ208", words, "pass", [named(opnum, text, ndr64=ndr64)]
        yield "PCQ208", f"no NUL, opnum {opnum}", "fail", [named(opnum, "\\\\SRV1")]
        yield "PCQ208", f"a NUL in the middle, opnum {opnum}", "fail", [named(opnum, "\\\\S\0V1\0")]
        yield "PCQ208", f"room for more characters, opnum {opnum}", "warn", [named(opnum, "\\\\SRV1\0", room=20)]
    yield "PCQ210", "11 does not exist", "fail", [with_code(11, 0x57)]
    yield "PCQ210", "10 is the last code", "pass", [with_code(10)]
    for add in ("2", "0xFFFFFFFF"):
        yield "PCQ217", f"{add} is neither TRUE nor FALSE", "warn", [Calls().validate(ONE, add=int(add, 0))]
    yield "PCQ217", "0 is FALSE", "pass", [Calls().validate(ONE, add=0)]
    yield "PCQ217", "1 is TRUE", "pass", [Calls().validate(ONE, add=1)]


def of_statuses() -> Iterator[Case]:
    verdicts = {0: "pass", 5: "pass", 0x1073: "pass", 15105: "pass"}
    verdicts |= {0x80070005: "fail", 0xC0000022: "fail", 0x20000001: "warn"}
    for opnum, (status, verdict) in product(RETURN_VALUES, verdicts.items()):
        yield "PCQ220", f"{status:#x} of opnum {opnum}", verdict, [call(opnum, status=status)]
    for opnum, status in RESOURCES:
        words = f"opnum {opnum} may lack resources at any time, {status:#x}"
        yield "PCQ220", words, "pass", [call(opnum, status=status), call(opnum)]
    for code, status in product((0, 11, 0xFFFFFFFF), (0, 8, 0x1068)):
        yield "PCQ701", f"code {code}, status {status:#x}", "fail", [with_code(code, status)]
    yield "PCQ701", "0x57 to code 11", "pass", [with_code(11, 0x57)]
    for code, status in ((1, 0), (10, 8), (11, 5)):
        yield "PCQ701", f"status {status} to code {code}", "not-exercised", [with_code(code, status)]
    yield "PCQ705", "a buffer below 40 bytes that succeeds", "fail", [Calls().validate(bytes(24))]
    yield "PCQ705", "a Size below 40 that succeeds", "fail", [Calls().validate(ONE + below_40())]
    yield "PCQ705", "0x57 to a buffer below 40 bytes", "pass", [Calls().validate(bytes(24), status=0x57)]
    yield "PCQ705", "0x57 to a Size below 40", "pass", [Calls().validate(ONE + below_40(), status=0x57)]
    stated = Calls().validate(ONE + below_40(), ONE + below_40(0x57))
    yield "PCQ705", "0x57 in the identifier is taken for as good", "pass", [stated]
    yield "PCQ705", "an empty buffer that is called success", "warn", [Calls().validate(b"")]
    yield "PCQ705", "another error", "warn", [Calls().validate(bytes(24), status=8)]
    yield "PCQ705", "whole identifiers", "not-exercised", [Calls().validate(ONE)]
    yield "PCQ705", "a refusal for another reason", "not-exercised", [Calls().validate(bytes(24), status=5)]


CASES = [*of_faults(), *of_stubs(), *of_counts(), *of_sizes(), *of_parameters(), *of_statuses()]


@pytest.mark.parametrize("case", CASES, ids=by_name)
def test_stubs_and_what_becomes_of_them(case: Case) -> None:
    holds(case)


def test_that_the_server_answers_is_not_held_against_the_client() -> None:
    (finding,) = judged("PCQ120", Calls().exchange(8, b"", b"")).findings
    assert finding.actor is Actor.SERVER
