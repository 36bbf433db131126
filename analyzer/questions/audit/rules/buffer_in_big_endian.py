"""The integers in a buffer are big-endian.

Looks for: `lpData` whose sizes and counts lead nowhere as little-endian numbers, and to the end of the buffer as big-endian
ones.

Why it matters: `lpData` is an array of bytes to the RPC runtime, which swaps nothing in it. A peer that takes the data
representation label of the call for that of the buffer writes numbers that nobody else reads.

Specification: [MS-PCQ] sections 2.2.4 and 3.1.4.1: all multi-byte fields of its structures are little-endian, whatever the
label says.

Flagged: a data answer of 72 bytes that begins with 00 00 00 48.

Accepted: a little-endian buffer in a call that is labelled big-endian.

Silent: where the buffer is sealed or was not captured; on buffers that hold only text or a GUID; on those that fit neither
order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

from analyzer.questions.audit.checks import ASKED_DAMAGED, Violation, cannot_say, judgements
from analyzer.questions.audit.evidence import AskedEvidence, CallEvidence, SideEvidence
from analyzer.questions.audit.rule import Level, Reads, Rule
from analyzer.questions.audit.verdicts import Judgement, OfCall, Severity
from analyzer.results.perflib import Opnum

REQUIREMENTS = ("PCQ-2.2.4-R01", "PCQ-3.1.4.1-R04")
Order = Literal["little", "big"]


def _number(data: bytes, at: int, order: Order) -> int:
    return int.from_bytes(data[at : at + 4], order)


def _tiles(data: bytes, at: int, head: int, order: Order) -> bool:
    """Whether structures with their size at `at` of a header of `head` bytes fill the buffer."""
    position = 0
    while position + head <= len(data):
        size = _number(data, position + at, order)
        if size < head:
            return False
        position += size
    return position == len(data)


def _is_data(data: bytes, order: Order) -> bool:
    return len(data) >= 48 and (_number(data, 0, order) == len(data) or _blocks_tile(data, order))


def _blocks_tile(data: bytes, order: Order) -> bool:
    return _number(data, 4, order) <= len(data) // 16 and _tiles(data[48:], 8, 16, order)


# Whether the numbers of a buffer make sense in a byte order, and where its first size or count stands.
_FITS: dict[str, tuple[Callable[[bytes, Order], bool], str, int]] = {
    "perf-data": (_is_data, "total_size", 0),
    "identifiers": (lambda data, order: _tiles(data, 20, 40, order), "identifiers[0].size", 20),
    "instances": (lambda data, order: _tiles(data, 0, 8, order), "instances[0].size", 0),
    "counterset-info": (lambda data, order: 32 + 48 * _number(data, 24, order) == len(data), "num_counters", 24),
    # The detail level of a counter is 100 or 200.
    "counter-info": (lambda data, order: _number(data, 16, order) in (100, 200), "counter.detail_level", 16),
    "string-table": (lambda data, order: 8 + 8 * _number(data, 4, order) <= len(data), "num_counters", 4),
}

RULE = Rule("PCQ531", "buffer-in-big-endian", Level.BUFFERS, Severity.ERROR)


@RULE.requests(REQUIREMENTS[:1], ASKED_DAMAGED)
def asked(call: AskedEvidence) -> Iterator[Judgement]:
    yield from _judged(call, call.request, REQUIREMENTS[:1])


@RULE.calls(
    REQUIREMENTS,
    Reads(
        (
            Opnum.QUERY_COUNTER_SET_REGISTRATION_INFO,
            Opnum.ENUMERATE_COUNTER_SET_INSTANCES,
            Opnum.QUERY_COUNTER_INFO,
            Opnum.QUERY_COUNTER_DATA,
            Opnum.VALIDATE_COUNTERS,
        ),
        ("response.lpData",),
        success=True,
        damaged=True,
    ),
)
def check(call: CallEvidence) -> Iterator[Judgement]:
    yield from _judged(call, call.response, REQUIREMENTS)


def _judged(call: OfCall, side: SideEvidence | None, requirements: tuple[str, ...]) -> Iterator[Judgement]:
    if side is None or not side.is_readable or not side.data or side.side.buffer_kind not in _FITS:
        return
    fits, path, at = _FITS[side.side.buffer_kind or ""]
    data = side.data
    if fits(data, "little"):
        yield from judgements(call, side.name, requirements, 1, [], "")
    elif fits(data, "big"):
        little, big = _number(data, at, "little"), _number(data, at, "big")
        violations = [
            Violation(
                f"lpData.{path}", (at, at + 4), f"{big} in little-endian bytes", f"{little}, which is {big} big-endian"
            )
        ]
        yield from judgements(call, side.name, requirements, 1, violations, "the numbers in the buffer are big-endian")
    else:
        yield from cannot_say(requirements, "the numbers of the buffer make sense in neither byte order", call)
