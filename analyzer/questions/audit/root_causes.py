"""Finds root causes in an audit: violations that displace the parameters of a call, so that further violations only follow from
them.

Judgements that follow from a root cause become inconclusive, all others pass unchanged. At the end, each root cause is given with
the number of violations that follow from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from analyzer.core.guid import guid_text
from analyzer.questions.audit.call_evidence import CallEvidence
from analyzer.questions.audit.rule_registry import Level, Rule
from analyzer.questions.audit.rule_verdicts import Judgement, Outcome

_REASON = "the parameters of the call are not where the IDL puts them"
_VIOLATIONS = (Outcome.FAILED, Outcome.WARNED)


class RootCauses:
    """Collects the root causes of violations in a capture, by the number of their call."""

    def __init__(self) -> None:
        self._roots: dict[int, tuple[Rule, Judgement]] = {}
        self._follow: dict[int, int] = {}
        # By the handle that was meant: the first call with displaced parameters; what it did to the handle could not be read.
        self._handles: dict[str, int] = {}

    @property
    def are_there(self) -> bool:
        """Tells whether a call with a root cause was found."""
        return bool(self._roots)

    def of_call(self, call: CallEvidence, judged: list[tuple[Rule, Judgement]]) -> Iterator[tuple[Rule, Judgement]]:
        """Yields the judgements of one call, without its root cause; violations that follow from it become inconclusive."""
        root = next((one for one in judged if one[1].displaces), None)
        if root is None:
            yield from self.afterwards(judged)
            return
        self._roots[call.number] = root
        self._follow[call.number] = 0
        for handle in _meant(call, root[1]):
            self._handles.setdefault(handle, call.number)
        for rule, judgement in judged:
            if judgement is not root[1]:
                yield rule, self._following(call.number, judgement)

    def afterwards(self, judged: Iterable[tuple[Rule, Judgement]]) -> Iterator[tuple[Rule, Judgement]]:
        """Yields judgements of audit rules that remember; violations that follow from a root cause become inconclusive."""
        if not self._roots:
            yield from judged
            return
        for rule, judgement in judged:
            call = judgement.call
            if call is None or judgement.outcome not in _VIOLATIONS:
                yield rule, judgement
                continue
            number = call.number if call.number in self._roots else None
            if number is None and rule.level is Level.SEQUENCES:
                number = next((self._handles[one] for one in _handles(call) if one in self._handles), None)
            yield rule, judgement if number is None else self._following(number, judgement)

    def causes(self) -> Iterator[tuple[Rule, Judgement, int]]:
        """Yields the root causes in the order of their calls, and how many violations follow from each."""
        for number, (rule, judgement) in self._roots.items():
            yield rule, judgement, self._follow[number]

    def _following(self, root: int, judgement: Judgement) -> Judgement:
        if judgement.outcome in _VIOLATIONS:
            self._follow[root] += 1
        return replace(judgement, outcome=Outcome.INCONCLUSIVE, message=_REASON)


def _handles(call: CallEvidence) -> Iterator[str]:
    """Yields the query handles in a call's request and response."""
    for params in (call.asked, call.answered):
        for name in ("hQuery", "phQuery"):
            handle = params.get(name)
            if isinstance(handle, dict):
                yield handle["uuid"]


def _meant(call: CallEvidence, root: Judgement) -> Iterator[str]:
    """Yields the query handle that stands after the bytes which displace it."""
    if call.request is not None and call.request.is_readable and root.at is not None:
        place = call.place(root.at)
        start = place.stop + 4 if place is not None else 0
        uuid = call.request.stub[start : start + 16]
        if len(uuid) == 16:
            yield guid_text(uuid)
