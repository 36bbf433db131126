"""Reads fields of stubs and PDUs for audit rules: counts of arrays and strings, also in stubs that do not decode, and security
trailers.

It gives numbers with their byte ranges, by C706 14.3 and [MS-RPCE] sections 2.2.2.11 and 2.2.5.3.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from analyzer.core.error_code_names import win32_name
from analyzer.core.errors import DecodeError
from analyzer.questions.audit.call_evidence import CallEvidence, SideEvidence
from analyzer.questions.audit.rule_verdicts import At
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
    """An integer in an RPC stub; `path` leads to its bytes."""

    value: int
    path: str


class ArrayCounts(Struct, frozen=True):
    """The NDR counts before the elements of a conformant varying array; `start` is where the elements begin."""

    max_count: Number
    offset: Number
    actual_count: Number
    start: int


class _Stub:
    """Reads integers of one RPC stub, in the byte order and width of its call."""

    def __init__(self, side: SideEvidence) -> None:
        self.data = b"" if side.side.missing is not None else side.stub
        self.width = 8 if side.call.syntax == "ndr64" else 4
        self.big = side.side.big_endian

    def number(self, at: int, size: int) -> Number:
        value = int.from_bytes(self.data[at : at + size], "big" if self.big else "little")
        return Number(value, f"stub[{at}:{at + size}]")

    def counts(self, at: int) -> ArrayCounts | None:
        """Reads the three NDR counts at `at` of a stub, which is aligned for them; None if the stub is too short."""
        width = self.width
        if len(self.data) < at + 3 * width:
            return None
        first, second, third = (self.number(at + n * width, width) for n in range(3))
        return ArrayCounts(first, second, third, at + 3 * width)


def answer_counts(side: SideEvidence) -> ArrayCounts | None:
    """Reads, as fields of an answer's stub, the counts of lpData that follow pdwOutSize and pdwRtnSize."""
    return _Stub(side).counts(8)


def validated_count(side: SideEvidence) -> Number | None:
    """Reads the count of lpData in a stub of ValidateCounters: its array is conformant and does not vary, so it has only one."""
    stub = _Stub(side)
    at = 24 if side.name == "request" else 0
    return stub.number(at, stub.width) if len(stub.data) >= at + stub.width else None


def has_referent(side: SideEvidence) -> bool:
    """Tells whether an audited stub has the field of a referent before the machine name, as if its pointer were a unique one."""
    return side.layout is not None and bool(side.layout.notes)


def machine_name(side: SideEvidence) -> tuple[ArrayCounts, bytes] | None:
    """Reads the NDR counts of szMachine and its characters from the stub; None if the stub does not hold them."""
    stub = _Stub(side)
    counts = stub.counts(stub.width if has_referent(side) else 0)
    if counts is None:
        return None
    stop = counts.start + 2 * counts.actual_count.value
    return (counts, stub.data[counts.start : stop]) if stop <= len(stub.data) else None


def left_over(side: SideEvidence) -> int | None:
    """Returns how many bytes of an audited stub follow its last field; None if the stub does not decode."""
    layout = side.layout
    return None if layout is None else len(side.stub) - layout.consumed


def problem_at(side: SideEvidence) -> At:
    """Returns where a stub fails to decode; the whole stub if that is after its end."""
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
    """A PDU of an audited call: its number in the message from 1, its header, and its security trailer, if it has one.

    `is_cut` if not all of it was captured: the header shows whether there is a trailer, but its content is unknown.
    """

    number: int
    header: PduHeader
    trailer: SecTrailer | None
    is_cut: bool

    @property
    def path(self) -> str:
        """Returns the path of the PDU's security trailer, or of the header's auth_length if it has none."""
        if self.trailer is None:
            return f"pdu[{self.number}].10:12"
        return f"pdu[{self.number}].{self.trailer.start}:{self.trailer.start + SEC_TRAILER_LEN}"


def pdus_of(side: SideEvidence) -> Iterator[SealedPdu]:
    """Yields the PDUs of an audited call's message whose headers can be read."""
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


def whole_pdus_of(side: SideEvidence) -> list[SealedPdu]:
    """Returns the PDUs of an audited call's side whose security trailer was captured, if they have one."""
    return [pdu for pdu in pdus_of(side) if not (pdu.is_cut and pdu.header.auth_length)]


def returned(call: CallEvidence) -> str:
    """Describes the return value at the end of an audited call's stub."""
    status = call.status or 0
    return f"{win32_name(status) or 'an error'} ({status:#x})"
