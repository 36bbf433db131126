"""A counter registered by reference answers with what looks like an address.

Looks for: counters whose attributes say that the provider gave the address of a value, and whose value over at least three
answers was always the same number, one that can be an address in a 64-bit process (above 4 GiB, below 128 TiB, a multiple of
4), while another counter of the same instance moved.

Why it matters: the client shows a number that means nothing, and the server states where things lie in another process.

Specification: [MS-PCQ] section 2.2.4.2, attribute 1: the server must follow the reference to obtain the value; behaviour note
<2> states how such references come about. That a number is an address can only be guessed, so this is a warning of low
confidence.

Flagged: as a warning, 0x1F3A4C20D0 in three answers of a counter by reference, beside one that counts.

Accepted: values below 4 GiB; values that change.

Silent: with fewer than three values, or where the registration or the meaning of the blocks is not in the capture.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from analyzer.questions.audit.answers import value_path
from analyzer.questions.audit.checks import DATA, Violation, judgements
from analyzer.questions.audit.evidence import CallEvidence, Evidence
from analyzer.questions.audit.rule import Level, Rule
from analyzer.questions.audit.values import Column, known_columns
from analyzer.questions.audit.verdicts import Confidence, Judgement, Severity, inconclusive, passed

REQUIREMENT = "PCQ-2.2.4.2-R43"
_BY_REFERENCE = 1
_ENOUGH = 3
# A capture of very many instances must not make us remember each for ever.
_MOST = 100_000


class _Seen(Struct):
    value: bytes
    times: int
    is_constant: bool
    call: CallEvidence
    violations: Violation


RULE = Rule("PCQ610", "address-instead-of-value", Level.VALUES, Severity.WARNING)


@RULE.calls((REQUIREMENT,), DATA)
class _References:
    def __init__(self, evidence: Evidence) -> None:
        self._seen: dict[tuple[str, str, str, int], _Seen] = {}
        # The last value of other counters, and instances in which one of them moved.
        self._others: dict[tuple[str, str, str, int], bytes] = {}
        self._moved: set[tuple[str, str, str]] = set()

    def feed(self, call: CallEvidence) -> Iterator[Judgement]:
        assert call.response is not None
        if not call.response.is_readable:
            yield inconclusive(REQUIREMENT, "the response stub does not decode", call)
            return
        found = known_columns(call, call.response.answer)
        sets = {column.counterset for column in found if column.info["attributes"] & _BY_REFERENCE}
        for column in found:
            if column.counterset in sets:
                self._take(call, column)

    def _take(self, call: CallEvidence, column: Column) -> None:
        assert call.response is not None
        answer, block = call.response.answer, column.block
        names = list(block.names(answer.data)) or [""]
        for number, (row, name) in enumerate(zip(block.rows, names, strict=False)):
            instance = (call.server, column.counterset, name)
            key = (*instance, column.counter_id)
            value = row.value(answer.data, column.place)
            if not column.info["attributes"] & _BY_REFERENCE:
                if self._others.setdefault(key, value) != value:
                    self._moved.add(instance)
                continue
            before = self._seen.get(key)
            if before is not None:
                before.times += 1
                before.is_constant &= before.value == value
            elif len(self._seen) < _MOST:
                at = row.value_at(column.place)
                path = f"{value_path(block, number, column.place)}.value"
                seen = f"{int.from_bytes(value, 'little'):#x}"
                violations = Violation(path, (at, at + len(value)), "what the reference leads to", seen)
                self._seen[key] = _Seen(value, 1, True, call, violations)

    def finish(self) -> Iterator[Judgement]:
        for key, seen in self._seen.items():
            if not (seen.is_constant and _may_be_address(seen.value)):
                yield passed(REQUIREMENT, seen.times)
            elif seen.times < _ENOUGH or key[:3] not in self._moved:
                yield inconclusive(REQUIREMENT, "too few values to distinguish a constant from an address", seen.call)
            else:
                message = "a counter by reference always answered with what looks like an address"
                yield from judgements(
                    seen.call,
                    "response",
                    (REQUIREMENT,),
                    0,
                    [seen.violations],
                    message,
                    warn=True,
                    confidence=Confidence.LOW,
                )


def _may_be_address(value: bytes) -> bool:
    number = int.from_bytes(value, "little")
    return len(value) == 8 and 1 << 32 <= number < 1 << 47 and number % 4 == 0
