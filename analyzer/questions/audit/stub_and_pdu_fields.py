"""Stubs and PDUs read field by field: the counts of arrays and strings, also of stubs that do not decode, and security trailers.

In: a side of a call. Out: numbers with the ranges they stand at, by C706 14.3 and [MS-RPCE] sections 2.2.2.11 and 2.2.5.3.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from analyzer.core.errors import DecodeError
from analyzer.core.win32_errors import win32_name
from analyzer.questions.audit.call_evidence import CallEvidence, SideEvidence
from analyzer.questions.audit.violation_places import At
from analyzer.results.calls.pdus import pdus_alone
from analyzer.results.methods.perflib import Opnum
from analyzer.transport.rpc.pdu import HEADER_LEN, SEC_TRAILER_LEN, PduHeader, SecTrailer, find_sec_trailer, read_header

# Methods that work on a query handle.
HANDLING = (
    Opnum.CLOSE_QUERY_HANDLE,
    Opnum.QUERY_COUNTER_INFO,
    Opnum.QUERY_COUNTER_DATA,
    Opnum.VALIDATE_COUNTERS,
)
# The counts of arrays and strings, 4 or 8 bytes each (C706 section 14.3.3).
_COUNTS = ("max_count", "offset", "actual_count")
ACCESS_DENIED = 5
NULL_HANDLE = "00000000-0000-0000-0000-000000000000"


class Number(Struct, frozen=True):
    """An integer of an RPC stub; `path` leads to its bytes."""

    value: int
    path: str


class ArrayCounts(Struct, frozen=True):
    """The NDR counts that precede the elements of a conformant varying array; `start` is where the elements begin."""

    max_count: Number
    offset: Number
    actual_count: Number
    start: int


class _Stub:
    """The integers of one RPC stub, in the representation of its call."""

    def __init__(self, side: SideEvidence) -> None:
        self.data = b"" if side.side.missing is not None else side.stub
        self.width = 8 if side.call.syntax == "ndr64" else 4
        self.big = side.side.big_endian

    def number(self, at: int, size: int) -> Number:
        value = int.from_bytes(self.data[at : at + size], "big" if self.big else "little")
        return Number(value, f"stub[{at}:{at + size}]")

    def counts(self, at: int) -> ArrayCounts | None:
        """The three NDR counts at `at` of a stub, which is aligned for them; None where the stub is too short."""
        width = self.width
        if len(self.data) < at + 3 * width:
            return None
        first, second, third = (self.number(at + n * width, width) for n in range(3))
        return ArrayCounts(first, second, third, at + 3 * width)


def answer_counts(side: SideEvidence) -> ArrayCounts | None:
    """The counts of lpData in an answer that has them behind pdwOutSize and pdwRtnSize."""
    return _Stub(side).counts(8)


def validated_count(side: SideEvidence) -> Number | None:
    """The one count of lpData in ValidateCounters, whose array is conformant and does not vary."""
    stub = _Stub(side)
    at = 24 if side.name == "request" else 0
    return stub.number(at, stub.width) if len(stub.data) >= at + stub.width else None


def has_referent(side: SideEvidence) -> bool:
    """Whether the stub's name of the machine is preceded by a referent, as if its pointer were a unique one."""
    return side.layout is not None and bool(side.layout.notes)


def machine_name(side: SideEvidence) -> tuple[ArrayCounts, bytes] | None:
    """The NDR counts of szMachine and its characters; None where the stub does not hold them."""
    stub = _Stub(side)
    counts = stub.counts(stub.width if has_referent(side) else 0)
    if counts is None:
        return None
    stop = counts.start + 2 * counts.actual_count.value
    return (counts, stub.data[counts.start : stop]) if stop <= len(stub.data) else None


def left_over(side: SideEvidence) -> int | None:
    """How many bytes of a stub follow its last parameter; None where the stub does not decode."""
    layout = side.layout
    return None if layout is None else len(side.stub) - layout.consumed


def problem_at(side: SideEvidence) -> At:
    """Where a stub that does not decode goes wrong; the whole stub where that is behind its end."""
    problem = side.side.problem
    length = len(_Stub(side).data)
    if problem is None or problem.start is None or problem.stop is None or not problem.start < problem.stop <= length:
        return At(side.name)
    stop = problem.stop
    if problem.field.rpartition(".")[2] in _COUNTS:
        # What is wrong is the count itself; the error speaks of all that it counts.
        stop = min(stop, problem.start + _Stub(side).width)
    return At(side.name, f"stub[{problem.start}:{stop}]")


class SealedPdu(Struct, frozen=True):
    """A PDU of a call: its number in the message from 1, its header, and its security trailer where it has one.

    `is_cut` where not all of it was captured: whether there is a trailer is known from the header, what it says is not.
    """

    number: int
    header: PduHeader
    trailer: SecTrailer | None
    is_cut: bool

    @property
    def path(self) -> str:
        """The path of the PDU's security trailer, or the header's auth_length where there is none."""
        if self.trailer is None:
            return f"pdu[{self.number}].10:12"
        return f"pdu[{self.number}].{self.trailer.start}:{self.trailer.start + SEC_TRAILER_LEN}"


def pdus_of(side: SideEvidence) -> Iterator[SealedPdu]:
    """The PDUs of a call's message whose headers can be read."""
    for number, pdu in enumerate(pdus_alone(side.whole.pdus), 1):
        data = pdu.data
        if len(data) < HEADER_LEN:
            continue
        try:
            header = read_header(data)
            is_cut = header.frag_length != len(data)
            trailer = None if is_cut else find_sec_trailer(header, data, HEADER_LEN)
        except DecodeError:
            continue
        yield SealedPdu(number, header, trailer, is_cut)


def returned(call: CallEvidence) -> str:
    """The return value of a call in words."""
    status = call.status or 0
    return f"{win32_name(status) or 'an error'} ({status:#x})"
