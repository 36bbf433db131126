"""Every word of sound buffers moved a little and as far as it goes: what all rules say of each, on both sides of every bound.

`sweeps/` holds it, a file a buffer and a line a finding: where its sixteen bytes are that are changed, the finding with its bytes
and what was expected, and what was seen after each change of a word that leads to it. `tests/written.py` says how to write them
anew.
"""

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Literal

import pytest
from msgspec.structs import replace

from analyzer.core.traced_bytes import TracedBytes
from analyzer.questions.audit.audit_engine import Audit, Profile
from analyzer.questions.audit.rule_plans import INTERFACES
from analyzer.questions.audit.rule_registry import Rule, every_rule
from analyzer.results.analysis import Analysis
from analyzer.results.calls.call import Call, Side, SideName
from analyzer.results.calls.call_table import CallTable
from analyzer.results.calls.ordered_calls import OrderedCalls
from analyzer.results.security import AuthLevel
from tests.build.buffers import Counter, Instance, PerfObject, winperf
from tests.build.calls import analysis_of, winreg, with_stub
from tests.questions.audit.conversation import in_time, perflib, registry
from tests.written import IS_WRITING, by_finding

SWEEPS = Path(__file__).with_name("sweeps")
# How a word of 4 bytes is changed.
CHANGES: dict[str, Callable[[int], int]] = {
    "-1": lambda value: value - 1,
    "+1": lambda value: value + 1,
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
    "registry-big": (lambda: read(BIG, "big"), 2, "response"),
    "registry-more": (lambda: read(MORE, "little"), 2, "response"),
}
# Of a machine with the other order of bytes an object without instances; else one that is registered and has none now, and one
# whose instances have parents, texts and wide values.
BIG = PerfObject(
    4, (Counter(24, 0x10100, 8), Counter(26, 0x10000, 4)), (Instance(None, -1, (0, 0), (9, 5)),), has_instances=False
)
MORE = PerfObject(232, (Counter(784, 0xB00, 8), Counter(6, 0x20410500, 8)), (Instance("0", -1, (230, 1), ("abc", 7)),))


@cache
def sound() -> Analysis:
    return analysis_of(*perflib())


@cache
def keys() -> Analysis:
    return analysis_of(*registry())


@cache
def read(one: PerfObject, order: Literal["little", "big"]) -> Analysis:
    """A performance key that was read once, in the order of bytes of the server."""
    calls = winreg(first_frame=1000, level=AuthLevel.PRIVACY)
    made = [calls.open_key(), calls.query_value(f"{one.index}", winperf([one], order)), calls.close_key()]
    return analysis_of(*map(in_time, made))


@cache
def rules_for(interface: str | None, opnum: int | None) -> tuple[Rule, ...]:
    """The rules that read calls of a method, and those that read none: no other is asked of a call that is alone."""
    return tuple(
        rule
        for rule in every_rule()
        if any(
            look.reads is None
            or (INTERFACES[look.reads.interface] == interface and opnum in (look.reads.opnums or (opnum,)))
            for look in rule.looks
        )
    )


def changed(side: Side, data: bytes) -> Side:
    """The same message with another buffer of the same length."""
    assert side.buffer_span is not None
    assert isinstance(side.stub, TracedBytes)
    start, stop = side.buffer_span
    stub = side.stub.data
    return with_stub(side, side.stub.replaced(stub[:start] + data + stub[stop:], "changed"))


def said(analysis: Analysis, call: Call) -> list[tuple[str, str]]:
    """What the rules say of a call alone, of which the rest of the capture is known; and what they saw."""
    table = CallTable()
    table.append(call)
    alone = (
        OrderedCalls(table, range(1), [0], [call.query]) if call.query is not None else OrderedCalls(table, range(1))
    )
    rules = rules_for(call.interface.uuid, call.opnum)
    audit = Audit(replace(analysis, calls=alone), profile=Profile.SPEC, rules=rules)
    findings = []
    for finding in audit.findings():
        judgement, place = finding.judgement, finding.place
        where = f"{place.start}:{place.stop}" if place is not None else "-"
        words = f"{finding.rule.code} {judgement.outcome.value} {judgement.requirement} {where}"
        findings.append((f"{words} expected {judgement.expected}", str(judgement.seen)))
    return findings


@cache
def case(buffer: str) -> tuple[Analysis, Call, bytes]:
    """The call of a buffer alone, and the buffer."""
    make, number, name = BUFFERS[buffer]
    call = replace(make().calls[number - 1], number=1)
    side = call.request if name == "request" else call.response
    return make(), call, side.buffer_data


@cache
def said_of(buffer: str) -> list[tuple[str, str]]:
    """What is said of the sound buffer."""
    analysis, call, _ = case(buffer)
    return said(analysis, call)


def sweep(buffer: str, start: int, stop: int) -> Iterator[str]:
    """What is said of the words from `start` to `stop`; before the first of the sound buffer."""
    (analysis, call, data), base = case(buffer), said_of(buffer)
    name = BUFFERS[buffer][2]
    order: Literal["little", "big"] = "big" if buffer.endswith("-big") else "little"
    side = call.request if name == "request" else call.response
    assert side is not None
    if start == 0:
        yield from (f"sound: {finding}, seen {seen}\n" for finding, seen in base)
    found: list[tuple[int, str, str, str]] = []
    for at in range(start, min(stop, len(data) - 3), 4):
        value = int.from_bytes(data[at : at + 4], order)
        for change, apply in CHANGES.items():
            word = (apply(value) & 0xFFFFFFFF).to_bytes(4, order)
            moved = changed(side, data[:at] + word + data[at + 4 :])
            other = replace(call, request=moved) if name == "request" else replace(call, response=moved)
            found += [
                (at, change, f"{start} {words}", seen)
                for words, seen in said(analysis, other)
                if (words, seen) not in base
            ]
    yield from by_finding(found)


@cache
def written(buffer: str) -> dict[int, str]:
    """The lines of a file by where their words are."""
    parts: dict[int, str] = {}
    at = 0
    for line in (SWEEPS / f"{buffer}.txt").read_text(encoding="utf-8").splitlines(keepends=True):
        if line[0].isdigit():
            at = int(line.partition(" ")[0])
        parts[at] = parts.get(at, "") + line
    return parts


# So many bytes are tried in one test: a quick one says more quickly what is wrong.
_TRIED = 16


@pytest.mark.parametrize(
    ("buffer", "start"), [(buffer, at) for buffer in BUFFERS for at in range(0, len(case(buffer)[2]), _TRIED)]
)
def test_what_rules_say_of_a_word_that_is_changed(buffer: str, start: int) -> None:
    found = "".join(sweep(buffer, start, start + _TRIED))
    if IS_WRITING:
        path = SWEEPS / f"{buffer}.txt"
        path.write_text((path.read_text(encoding="utf-8") if start else "") + found, encoding="utf-8")
        return
    of_words = range(start, start + _TRIED)
    assert found == "".join(text for at, text in written(buffer).items() if at in of_words), (
        f"{buffer}.txt is not what it was"
    )


@pytest.mark.parametrize("buffer", BUFFERS)
def test_a_file_has_the_words_of_its_buffer_alone(buffer: str) -> None:
    assert max(written(buffer), default=0) < len(case(buffer)[2])
