"""Every word of sound buffers moved a little and as far as it goes: what all rules say of each, on both sides of every bound.

`tests/audit/sweeps/` holds it, a file a buffer: the word, the change, each finding with its bytes, what was expected and seen,
and a checksum of how often each requirement was judged, where any of it is another than of the sound buffer. `tests/written.py`
says how to write them anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from zlib import crc32

import pytest
from msgspec.structs import replace

from analyzer.audit.engine import Audit, Profile
from analyzer.audit.rule import RulePage, rule_pages
from analyzer.core.traced import TracedBytes
from analyzer.model.analysis import Analysis
from analyzer.model.call import Call, Side, SideName
from tests.audit.conversation import perflib, registry
from tests.build.calls import analysis_of, with_stub
from tests.written import is_as_written

SWEEPS = Path(__file__).with_name("sweeps")
# How a word of 4 bytes, little-endian, is changed.
CHANGES: dict[str, Callable[[int], int]] = {
    "-4": lambda value: value - 4,
    "-1": lambda value: value - 1,
    "+1": lambda value: value + 1,
    "+4": lambda value: value + 4,
    "+8": lambda value: value + 8,
    "0": lambda value: 0,
    "max": lambda value: 0xFFFFFFFF,
}
# Number of the call in its conversation, and the side whose lpData is changed.
BUFFERS: dict[str, tuple[Callable[[], Analysis], int, SideName]] = {
    "guids": (lambda: sound(), 1, "response"),
    "counterset": (lambda: sound(), 2, "response"),
    "counter": (lambda: sound(), 4, "response"),
    "name": (lambda: sound(), 5, "response"),
    "strings": (lambda: sound(), 6, "response"),
    "provider-name": (lambda: sound(), 7, "response"),
    "provider": (lambda: sound(), 8, "response"),
    "instances": (lambda: sound(), 10, "response"),
    "asked": (lambda: sound(), 12, "request"),
    "validated": (lambda: sound(), 12, "response"),
    "held": (lambda: sound(), 13, "response"),
    "data": (lambda: sound(), 14, "response"),
    "registry": (lambda: keys(), 2, "response"),
}


@cache
def sound() -> Analysis:
    return analysis_of(*perflib())


@cache
def keys() -> Analysis:
    return analysis_of(*registry())


@cache
def pages() -> tuple[RulePage, ...]:
    return rule_pages()


def changed(side: Side, data: bytes) -> Side:
    """The same message with another buffer of the same length."""
    assert side.buffer_span is not None
    assert isinstance(side.stub, TracedBytes)
    start, stop = side.buffer_span
    stub = side.stub.data
    return with_stub(side, side.stub.replaced(stub[:start] + data + stub[stop:], "changed"))


def said(analysis: Analysis, call: Call) -> tuple[list[str], str]:
    """What the rules say of a call alone, of which the rest of the capture is known; and a checksum of what was counted."""
    audit = Audit(replace(analysis, calls=[call]), profile=Profile.SPEC, pages=pages())
    findings = []
    for finding in audit.findings():
        judgement, place = finding.judgement, finding.place
        where = f"{place.start}:{place.stop}" if place is not None else "-"
        words = f"expected {judgement.expected}, seen {judgement.seen}"
        findings.append(f"{finding.rule.code} {judgement.outcome.value} {judgement.requirement} {where} {words}")
    counts = [(name, sorted(one.counts.items()), sorted(one.reasons.items())) for name, one in audit.coverage.items()]
    return findings, f"{crc32(repr(counts).encode()):08x}"


def sweep(analysis: Analysis, number: int, name: SideName) -> Iterator[str]:
    call = replace(analysis.calls[number - 1], number=1)
    side = call.request if name == "request" else call.response
    assert side is not None
    data = side.buffer_data
    base = said(analysis, call)
    yield f"sound: {base}"
    for at in range(0, len(data) - 3, 4):
        value = int.from_bytes(data[at : at + 4], "little")
        for change, apply in CHANGES.items():
            word = (apply(value) & 0xFFFFFFFF).to_bytes(4, "little")
            moved = changed(side, data[:at] + word + data[at + 4 :])
            other = replace(call, request=moved) if name == "request" else replace(call, response=moved)
            found = said(analysis, other)
            if found != base:
                findings, counts = found
                yield f"{at} {change}: counts {counts}" + "".join(f"\n  {line}" for line in findings)


@pytest.mark.parametrize("buffer", BUFFERS)
def test_what_rules_say_of_a_word_that_is_changed(buffer: str) -> None:
    make, number, name = BUFFERS[buffer]
    is_as_written(SWEEPS / f"{buffer}.txt", "".join(f"{line}\n" for line in sweep(make(), number, name)))
