"""Which rules look at a call, and what those that judge it alone answer: worked out once for calls that are alike.

Each call is shown to the rules that read calls like it. What a rule needs and the capture does not hold makes its requirements
inconclusive there, with the reason; a rule is only asked about what can be read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from analyzer.core.absence import Missing
from analyzer.questions.audit.evidence import AskedEvidence, CallEvidence, SideEvidence
from analyzer.questions.audit.findings import actor_of
from analyzer.questions.audit.likeness import Likeness, likeness_of
from analyzer.questions.audit.rule import Look, Part, Reads, Rule, Watch
from analyzer.questions.audit.verdicts import Actor, Judgement, Outcome
from analyzer.results import perflib as pcq
from analyzer.results import winreg
from analyzer.results.query import QueryView

# Methods of PerflibV2 whose buffer is never empty on success; the rules about layouts say so where it is.
_NEVER_EMPTY = (pcq.Opnum.QUERY_COUNTER_SET_REGISTRATION_INFO, pcq.Opnum.QUERY_COUNTER_DATA)

INTERFACES = {pcq.NAME: pcq.INTERFACE, winreg.NAME: winreg.INTERFACE}
# Plans of so many answers are kept, and of so many bytes of them: a plan holds what the answer was read into.
_MOST_PLANS, _MOST_BYTES = 1024, 4 << 20


# What a rule answered of calls that are alike, or what to ask it of each.
Step = tuple[Judgement, ...] | Callable[[CallEvidence], Iterable[Judgement]]


class Plan(Struct, frozen=True, eq=False):
    """How a call is judged: `steps` are rules in their order, each with what it answered, or with what to ask about this very call.

    `passed` counts by requirement what else was as required, and `unknown` by requirement and reason what cannot be stated. `query`
    is what the handle held; `shared` and `size` are those of the first call that was judged so.
    """

    steps: tuple[tuple[Rule, Step], ...]
    passed: tuple[tuple[str, int], ...]
    unknown: tuple[tuple[tuple[str, str], int], ...]
    query: QueryView | None
    shared: dict[Any, Any]
    size: int


class Plans:
    """The plan of one call after the other."""

    def __init__(self, rules: Sequence[Rule], watches: Mapping[int, Watch[Any]]) -> None:
        """`watches` are those of looks, by their identity."""
        self._watches = watches
        self._looks: dict[tuple[str, int | None], list[tuple[Rule, Look[Any]]]] = {}
        for rule in rules:
            for look in rule.looks:
                if (reads := look.reads) is not None:
                    for opnum in reads.opnums or (None,):
                        self._looks.setdefault((INTERFACES[reads.interface], opnum), []).append((rule, look))
        self._known: dict[Likeness, Plan] = {}
        self._size = 0

    def of(self, call: CallEvidence) -> Plan:
        likeness = likeness_of(call)
        if likeness is None:
            return self._made(call)
        plan = self._known.get(likeness)
        if plan is not None and plan.query is call.decoded.query:
            call.shared = plan.shared
            return plan
        plan = self._made(call)
        self._forget(likeness)
        self._known[likeness] = plan
        self._size += plan.size
        while len(self._known) > _MOST_PLANS or self._size > _MOST_BYTES:
            self._forget(next(iter(self._known)))
        return plan

    def _forget(self, likeness: Likeness) -> None:
        if (plan := self._known.pop(likeness, None)) is not None:
            self._size -= plan.size

    def _made(self, call: CallEvidence) -> Plan:
        passed: Counter[str] = Counter()
        unknown: Counter[tuple[str, str]] = Counter()
        steps: list[tuple[Rule, Step]] = []
        interface, opnum = call.decoded.interface.uuid or "", call.decoded.opnum
        for rule, look in (*self._looks.get((interface, opnum), ()), *self._looks.get((interface, None), ())):
            assert look.reads is not None
            if not _is_read(look.reads, call):
                continue
            if (reason := _why_unreadable(look.reads, call)) is not None:
                unknown.update((requirement, reason) for requirement in look.concerning(opnum))
                continue
            ask = asking(rule, look, look.check or self._watches[id(look)].feed)
            steps.append((rule, ask if look.check is None or look.of_values else tuple(ask(call))))
        if not any(one.displaces for _, found in steps if not callable(found) for one in found):
            steps = [(rule, found if callable(found) else _apart(found, passed, unknown)) for rule, found in steps]
        size = sum(len(side.data) for side in (call.request, call.response) if side is not None)
        return Plan(
            tuple((rule, found) for rule, found in steps if found),
            tuple(passed.items()),
            tuple(unknown.items()),
            call.decoded.query,
            call.shared,
            size,
        )


def asking(
    rule: Rule, look: Look[Any], ask: Callable[[Any], Iterable[Judgement]]
) -> Callable[[CallEvidence], Iterable[Judgement]]:
    """Asks about a call, of which a look at requests is shown the request alone."""
    if rule.request is look:
        return lambda call: answered_by(rule, look, ask(call.as_asked), call.opnum)
    return lambda call: answered_by(rule, look, ask(call), call.opnum)


def answered_by(
    rule: Rule, look: Look[Any], judged: Iterable[Judgement], opnum: int | None = None
) -> Iterator[Judgement]:
    """What a look answered; a mistake of the rule, such as to accuse a client for what its server answered, ends the audit.

    A verdict that names no requirement is one on all that calls of this `opnum` are judged by.
    """
    for one in judged:
        if not one.requirements:
            one = replace(one, requirements=look.concerning(opnum))
        assert one.requirement in look.requirements, (rule.code, one.requirement)
        if isinstance(one.call, AskedEvidence):
            one = replace(one, call=one.call.whole)
        if one.outcome in (Outcome.FAILED, Outcome.WARNED):
            if rule.request is look:
                assert actor_of(one) is Actor.CLIENT, f"{rule.code} judges a server by a request"
            elif look.needs_answer is None:
                assert actor_of(one) is not Actor.CLIENT, f"{rule.code} judges a client together with the answer"
        yield one


def about(judgement: Judgement, call: CallEvidence) -> Judgement:
    """The same verdict on a call that is like the one it was given on."""
    return judgement if judgement.call is None or judgement.call is call else replace(judgement, call=call)


def _apart(
    found: Iterable[Judgement], passed: Counter[str], unknown: Counter[tuple[str, str]]
) -> tuple[Judgement, ...]:
    """Counts what passed and what cannot be stated, and leaves what is wrong."""
    wrong = []
    for judgement in found:
        if judgement.outcome is Outcome.PASSED:
            for requirement in judgement.requirements:
                passed[requirement] += judgement.count
        elif judgement.outcome is Outcome.INCONCLUSIVE:
            unknown.update((requirement, judgement.message) for requirement in judgement.requirements)
        else:
            wrong.append(judgement)
    return tuple(wrong)


def _is_read(reads: Reads, call: CallEvidence) -> bool:
    """Whether a call is of the kind a rule reads, as far as that is known."""
    if reads.codes and call.request is not None and call.asked.get("RequestCode") not in (None, *reads.codes):
        return False
    if reads.success and (call.fault is not None or call.status not in (0, None)):
        return False
    if reads.failure and call.fault is None and call.status == 0:
        return False
    return call.fault is None or not any(part.startswith("response") for part in reads.parts)


def _why_unreadable(reads: Reads, call: CallEvidence) -> str | None:
    """Why a call cannot be judged, in words; None where it can."""
    if (reads.success or reads.failure) and call.status is None and call.fault is None:
        return _missing(call, "response")
    if reads.codes and "RequestCode" not in call.asked:
        return _missing(call, "request")
    for part in reads.parts:
        key = part, reads.damaged
        if key not in call.unreadable:
            call.unreadable[key] = _why_part(part, call, damaged=reads.damaged)
        if (reason := call.unreadable[key]) is not None:
            return reason
    return None


def _why_part(part: Part, call: CallEvidence, *, damaged: bool) -> str | None:
    name: Literal["request", "response"] = "request" if part.startswith("request") else "response"
    side = call.side(name)
    if side is None or isinstance(side.captured, Missing):
        return _missing(call, name)
    if damaged:
        return None
    if side.side.problem is not None:
        return f"the {name} stub does not decode"
    if part == "response.lpData" and side.side.buffer is None and call.opnum in _NEVER_EMPTY and call.status == 0:
        return "the buffer of the response is empty"
    if part.endswith("lpData") and side.buffer is not None and side.buffer.problem is not None:
        return f"the buffer of the {name} is damaged"
    return None


def _missing(call: CallEvidence, name: str) -> str:
    side: SideEvidence | None = call.request if name == "request" else call.response
    if side is None:
        return f"the {name} was not captured"
    if side.captured is Missing.SEALED:
        return f"the {name} is sealed and no key was given that opens it"
    if isinstance(side.captured, Missing):
        return f"bytes of the {name} are missing"
    return f"the {name} stub does not decode"
