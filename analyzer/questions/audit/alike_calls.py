"""Recognises calls that are alike: they differ only in number, times, frames, call ids, values and clocks.

Most calls of a capture are polls, and one poll differs from the one before in nothing that a rule about security, stubs or layouts
looks at. So the engine asks such rules about the first of calls that are alike, and repeats their answers for the others.

This module has everything that such a rule may depend on: the server, the interface, the security of the call, the outcome, the
headers of the PDUs and of their security trailers, and the stubs. If the layout of a data answer was met before, this layout stands
for everything in the stub except clocks and values. Only the place of the query handle in a call counts, for the layout does not
depend on the handle itself. `rule_plans.py` compares what a handle holds, and whether something was added to it twice.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import lru_cache
from uuid import UUID

from analyzer.questions.audit.call_evidence import CallEvidence, SideEvidence
from analyzer.questions.audit.winperf_walk import MAX_FREQUENCY
from analyzer.results.calls.call import Side
from analyzer.results.security import of_any_logon

Likeness = tuple[Hashable, ...]

# Replaces the handle that a call works on.
_ANY_HANDLE = b"any query handle"

# Longer stubs are not compared: as a rule, each occurs once.
_MOST_BYTES = 4096
# Offsets of auth_length and the call id in the header of a PDU, and lengths of header and sec_trailer
# ([MS-RPCE] sections 2.2.2.1 and 2.2.2.11; C706 section 12.6.3.1).
_AUTH_LENGTH, _CALL_ID, _BODY, _FIXED, _SEC_TRAILER = 10, 12, 16, 24, 8


def likeness_of(call: CallEvidence) -> Likeness | None:
    """Returns a key that is equal for calls that are alike; None for a call that is too long to compare."""
    sides: list[Likeness] = []
    handles = _bytes_of(call.view.handle) if call.view is not None else ()
    for side in (call.request, call.response):
        found = _side(side, handles) if side is not None else ()
        if found is None:
            return None
        sides.append(found)
    context = call.context
    return (
        context.server,
        context.interface,
        context.syntax,
        call.opnum,
        call.status,
        call.fault,
        _security_of(context.security),
        context.impersonation,
        *sides,
    )


# Calls of one association share this object, so that its hash is computed once.
_security_of = lru_cache(1024)(of_any_logon)


@lru_cache(1024)
def _bytes_of(handle: str) -> tuple[bytes, ...]:
    """Returns a handle's bytes in stubs of either byte order, which comparing calls leaves out; none for a handle of zeros."""
    uuid = UUID(handle)
    return tuple({uuid.bytes_le, uuid.bytes}) if uuid.int else ()


def _side(side: SideEvidence, handles: tuple[bytes, ...]) -> Likeness | None:
    inner = side.side
    pdus = _pdus(side)
    shared = (inner.missing, inner.big_endian, inner.verification_trailer, inner.problem, inner.buffer_kind, *pdus)
    if inner.missing is not None:
        return shared
    if inner.buffer_span is not None and (layout := _layout(side)) is not None:
        start, stop = inner.buffer_span
        return (*shared, layout, side.stub[:start], side.stub[stop:])
    stub = side.stub
    if len(stub) > _MOST_BYTES:
        return None
    for handle in handles:
        stub = stub.replace(handle, _ANY_HANDLE)
    return (*shared, stub)


def _layout(side: SideEvidence) -> Hashable | None:
    """Returns the layout of performance data that was met before, to compare calls by it; else None."""
    if side.side.buffer_kind == "perf-data":
        return side.answer.layout
    # A frequency that none has means that the clocks may stand elsewhere: such a block is judged by itself.
    block = side.block
    return (block.layout, block.perf_freq) if block is not None and 0 < block.perf_freq < MAX_FREQUENCY else None


def _pdus(side: SideEvidence) -> list[tuple[bytes, bytes, bytes, int]]:
    """Returns what comparing calls takes of each PDU: header without call id, beginning of the body, sec_trailer, length."""
    held = None if isinstance(side.side, Side) else side.side.pdus
    if held is not None:
        data, stops = held.data, held.stops
    else:
        pdus = side.whole.pdus
        if isinstance(pdus, tuple):
            return [_pdu(fragment.pdu.data, 0, len(fragment.pdu)) for fragment in pdus]
        data, stops = pdus.whole.data, pdus.stops
    if stops is None:
        return [_pdu(data, 0, len(data))]
    return [_pdu(data, start, stop) for start, stop in zip((0, *stops), stops, strict=False)]


def _pdu(data: bytes, start: int, stop: int) -> tuple[bytes, bytes, bytes, int]:
    header, body = data[start : start + _CALL_ID], data[start + _BODY : start + _FIXED]
    auth_length, trailer = header[_AUTH_LENGTH:], b""
    if any(auth_length):
        order = "little" if header[4:5] >= b"\x10" else "big"
        auth = int.from_bytes(auth_length, order)  # type: ignore[arg-type]  # one of the two
        trailer = data[max(start, stop - auth - _SEC_TRAILER) : stop - auth] if auth < stop - start else b""
    return header, body, trailer, stop - start
