"""Rules about stubs and parameters, and about faults and return values of those that are not as they should be."""

from __future__ import annotations

from struct import pack
from typing import Any

import pytest

from analyzer.questions.audit.rules.error_codes import RESOURCES, RETURN_VALUES
from analyzer.questions.audit.rules.parameters import LIMITS
from analyzer.questions.audit.rules.stubs import ANSWERED_COUNTS, REQUEST_LAYOUTS, SIZES
from analyzer.questions.audit.verdicts import Actor
from analyzer.transport.rpc.exchange import Exchange
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


CASES: list[Case] = [
    ("PCQ120", "an answer to opnum 8", "fail", [Calls().exchange(8, b"", bytes(4))]),
    *(("PCQ120", f"fault {one:#x} says so", "pass", [faulted(9, one)]) for one in (0x1C010002, 1745, 5)),
    ("PCQ120", "a fault for another reason", "warn", [faulted(9, 0x1C000012)]),
    ("PCQ120", "the methods of the IDL", "not-exercised", [Calls().open_query()]),
    ("PCQ120", "a lost answer proves nothing", "inconclusive", [Calls().exchange(8, b"", None)]),
    *(
        ("PCQ121", f"{one:#x} is of RPC", "pass", [faulted(6, one)])
        for one in (0x1C00001A, 0x1C010002, 0x6F7, 0x6C6, 5, 6)
    ),
    *(
        ("PCQ121", f"{one:#x} is an exception of the method", "fail", [faulted(6, one)])
        for one in (0xC0000005, 0x1068, 0xE06D7363)
    ),
    ("PCQ121", "a code of RPC from the kernel", "warn", [faulted(6, 0xC0020017)]),
    ("PCQ121", "no fault", "not-exercised", [Calls().open_query(), Calls().exchange(6, b"", None)]),
    ("PCQ122", "a stub that ends early is answered", "fail", [Calls().exchange(6, short(), bytes(12))]),
    (
        "PCQ122",
        "a count that is not the size is answered",
        "fail",
        [Calls().exchange(7, uneven(), Calls().stub().conformant(bytes(24)).uint(0))],
    ),
    ("PCQ122", "a fault to a stub that ends early", "pass", [Calls().faulted(6, short(), 0x6F7)]),
    ("PCQ122", "a fault to a count that is not the size", "pass", [Calls().faulted(7, uneven(), 0x6F7)]),
    ("PCQ122", "a null pointer is rejected", "pass", [null_name(0x6F7)]),
    ("PCQ122", "a null pointer is answered", "fail", [null_name()]),
    (
        "PCQ122",
        "sound stubs",
        "not-exercised",
        [Calls().open_query(), Calls().exchange(0, Calls().stub().string(MACHINE).uint(9), None)],
    ),
    ("PCQ122", "a lost answer proves nothing", "inconclusive", [Calls().exchange(6, short(), None)]),
    *(
        case
        for opnum in REQUEST_LAYOUTS
        for code, made, stub_of in (
            ("PCQ201", asked, lambda opnum: request(Calls(), opnum).data),
            ("PCQ202", answered, lambda opnum: response(Calls(), opnum).data),
        )
        for case in (
            (code, f"opnum {opnum} by the IDL", "pass", [call(opnum)]),
            (code, f"opnum {opnum} ends early", "fail", [made(opnum, stub_of(opnum)[:-4])]),
            (code, f"opnum {opnum} goes on", "fail", [made(opnum, stub_of(opnum) + bytes(12))]),
            (code, f"padding of opnum {opnum} that was not counted", "pass", [made(opnum, stub_of(opnum) + bytes(7))]),
        )
    ),
    *(
        ("PCQ201", f"a referent before the name of opnum {opnum}", "warn", [asked(opnum, referent(opnum))])
        for opnum in NAMING
    ),
    ("PCQ202", "a missing return value breaks two", "fail", [answered(3, response(Calls(), 3).data[:20])]),
    ("PCQ202", "a wrong offset is for the rule about counts", "not-exercised", [answered(6, wrong_offset())]),
    ("PCQ204", "a wrong offset", "fail", [answered(6, wrong_offset())]),
    *(("PCQ203", f"a UUID after four zero bytes, opnum {opnum}", "pass", [call(opnum)]) for opnum in (3, 4, 5, 6, 7)),
    ("PCQ203", "attributes in a request", "fail", [asked(6, handle_of(1).uint(4096))]),
    ("PCQ203", "attributes in an answer", "fail", [answered(3, handle_of(7).uint(0))]),
    *(
        (
            "PCQ203",
            f"a referent before the handle of opnum {opnum}",
            "fail",
            [asked(opnum, Calls().stub().pointer(0).handle(HANDLE).uint(4096))],
        )
        for opnum in (5, 6)
    ),
    ("PCQ203", "no handle", "pass", [Calls().open_query(NO_HANDLE, 5)]),
    *(
        case
        for opnum in ANSWERED_COUNTS
        for ndr64 in (False, True)
        for case in (
            ("PCQ204", f"counts of opnum {opnum} agree, NDR64 {ndr64}", "pass", [call(opnum, Calls(ndr64=ndr64))]),
            (
                "PCQ204",
                f"another room than was offered to opnum {opnum}, NDR64 {ndr64}",
                "fail",
                [other_room(opnum, ndr64=ndr64)],
            ),
        )
    ),
    *(
        case
        for opnum in ANSWERED_COUNTS
        for case in (
            ("PCQ204", f"an offset in opnum {opnum}", "fail", [elements(opnum, 0, 64, 8, 0)]),
            ("PCQ204", f"another length in opnum {opnum}", "fail", [elements(opnum, 3, 64, 0, 0)]),
            ("PCQ204", f"an overrun in opnum {opnum}", "fail", [elements(opnum, 80, 64, 0, 80)]),
            (
                "PCQ204",
                f"opnum {opnum} does not decode and offers no size",
                "inconclusive",
                [asked(opnum, request(Calls(), opnum).data[:-4])],
            ),
        )
    ),
    ("PCQ204", "a request for validation that does not decode", "inconclusive", [asked(7, bytes(10))]),
    ("PCQ204", "validation repeats its size both ways", "pass", [call(7)]),
    (
        "PCQ204",
        "a request for validation with another count",
        "fail",
        [asked(7, Calls().stub().handle(HANDLE).uint(64).conformant(bytes(40)).uint(1))],
    ),
    ("PCQ204", "an answer to validation with another count", "fail", [answered(7, response(Calls(), 7, size=40))]),
    *(
        case
        for opnum in SIZES
        for case in (
            (
                "PCQ206",
                f"all there is, and 8 for too little room, opnum {opnum}",
                "pass",
                [sizes(opnum, 0, 48, 48), sizes(opnum, 8, 0, 48, 10)],
            ),
            ("PCQ206", f"less than everything, opnum {opnum}", "fail", [sizes(opnum, 0, 32, 48, 32)]),
            ("PCQ206", f"pdwRtnSize is not what was returned, opnum {opnum}", "fail", [sizes(opnum, 0, 32, 48)]),
            (
                "PCQ206",
                f"pdwOutSize is not what was returned, opnum {opnum}",
                "fail",
                [sizes(opnum, 0, 32, 48, returned=48)],
            ),
            ("PCQ206", f"8 although there was room, opnum {opnum}", "fail", [sizes(opnum, 8, 0, 64)]),
            ("PCQ206", f"data along with 8, opnum {opnum}", "fail" if opnum == 0 else "warn", [sizes(opnum, 8, 8, 80)]),
            (
                "PCQ206",
                f"sizes of other errors are not defined, opnum {opnum}",
                "not-exercised",
                [sizes(opnum, 0x57, 3, 0)],
            ),
        )
    ),
    ("PCQ206", "GUIDs of a list that does not fit", "fail", [sizes(0, 0x57, 10, 300, 10)]),
    *(
        case
        for opnum in NAMING
        for case in (
            *(
                (
                    "PCQ208",
                    f"{len(text)} characters with their NUL, opnum {opnum}, NDR64 {ndr64}",
                    "pass",
                    [named(opnum, text, ndr64=ndr64)],
                )
                for text in ("\\\\SRV1\0", "srv1.example.com\0", "\0")
                for ndr64 in (False, True)
            ),
            ("PCQ208", f"no NUL, opnum {opnum}", "fail", [named(opnum, "\\\\SRV1")]),
            ("PCQ208", f"a NUL in the middle, opnum {opnum}", "fail", [named(opnum, "\\\\S\0V1\0")]),
            ("PCQ208", f"room for more characters, opnum {opnum}", "warn", [named(opnum, "\\\\SRV1\0", room=20)]),
        )
    ),
    ("PCQ210", "11 does not exist", "fail", [with_code(11, 0x57)]),
    ("PCQ210", "10 is the last code", "pass", [with_code(10)]),
    *(
        case
        for opnum, (limit, _) in LIMITS.items()
        for case in (
            ("PCQ215", f"above the range of opnum {opnum}", "fail", [offered(opnum, limit + 1)]),
            ("PCQ215", f"the end of the range of opnum {opnum}", "pass", [offered(opnum, limit), offered(opnum, 0)]),
            # A server with more countersets than 256 has to have another range.
            (
                "PCQ123",
                f"serving opnum {opnum} beyond its range",
                "fail" if opnum else "warn",
                [offered(opnum, limit + 1)],
            ),
            (
                "PCQ123",
                f"refusing opnum {opnum} beyond its range",
                "pass",
                [offered(opnum, limit + 1, fault=0x6C6), offered(opnum, 1)],
            ),
            ("PCQ123", f"opnum {opnum} within its range", "not-exercised", [offered(opnum, 1)]),
        )
    ),
    ("PCQ123", "a lost answer proves nothing", "inconclusive", [offered(6, 0xFFFFFFFF, lost=True)]),
    ("PCQ217", "2 is neither TRUE nor FALSE", "warn", [Calls().validate(ONE, add=2)]),
    ("PCQ217", "0xFFFFFFFF is neither TRUE nor FALSE", "warn", [Calls().validate(ONE, add=0xFFFFFFFF)]),
    ("PCQ217", "0 is FALSE", "pass", [Calls().validate(ONE, add=0)]),
    ("PCQ217", "1 is TRUE", "pass", [Calls().validate(ONE, add=1)]),
    *(
        case
        for opnum in RETURN_VALUES
        for case in (
            *(
                ("PCQ220", f"{status:#x} of opnum {opnum}", expected, [call(opnum, status=status)])
                for status, expected in (
                    *((0, "pass"), (5, "pass"), (0x1073, "pass"), (15105, "pass")),
                    *((0x80070005, "fail"), (0xC0000022, "fail"), (0x20000001, "warn")),
                )
            ),
        )
    ),
    *(
        (
            "PCQ220",
            f"opnum {opnum} may lack resources at any time, {status:#x}",
            "pass",
            [call(opnum, status=status), call(opnum)],
        )
        for opnum, status in RESOURCES
    ),
    *(
        ("PCQ701", f"code {code}, status {status:#x}", "fail", [with_code(code, status)])
        for code in (0, 11, 0xFFFFFFFF)
        for status in (0, 8, 0x1068)
    ),
    ("PCQ701", "0x57 to code 11", "pass", [with_code(11, 0x57)]),
    *(
        ("PCQ701", f"status {status} to code {code}", "not-exercised", [with_code(code, status)])
        for code, status in ((1, 0), (10, 8), (11, 5))
    ),
    ("PCQ705", "a buffer below 40 bytes that succeeds", "fail", [Calls().validate(bytes(24))]),
    ("PCQ705", "a Size below 40 that succeeds", "fail", [Calls().validate(ONE + below_40())]),
    ("PCQ705", "0x57 to a buffer below 40 bytes", "pass", [Calls().validate(bytes(24), status=0x57)]),
    ("PCQ705", "0x57 to a Size below 40", "pass", [Calls().validate(ONE + below_40(), status=0x57)]),
    (
        "PCQ705",
        "0x57 in the identifier is taken for as good",
        "pass",
        [Calls().validate(ONE + below_40(), ONE + below_40(0x57))],
    ),
    ("PCQ705", "an empty buffer that is called success", "warn", [Calls().validate(b"")]),
    ("PCQ705", "another error", "warn", [Calls().validate(bytes(24), status=8)]),
    ("PCQ705", "whole identifiers", "not-exercised", [Calls().validate(ONE)]),
    ("PCQ705", "a refusal for another reason", "not-exercised", [Calls().validate(bytes(24), status=5)]),
]


@pytest.mark.parametrize("case", CASES, ids=by_name)
def test_stubs_and_what_becomes_of_them(case: Case) -> None:
    holds(case)


def test_that_the_server_answers_is_not_held_against_the_client() -> None:
    (finding,) = judged("PCQ120", Calls().exchange(8, b"", b"")).findings
    assert finding.actor is Actor.SERVER
