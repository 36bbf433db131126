"""Plans which audit rules look at a call, and keeps what they answer, once for calls that are alike.

Each call is shown to the rules that read calls like it. If the capture lacks what a rule needs, its requirements are inconclusive
there, with the reason; a rule is only asked about what can be read.

Calls that are alike differ only in number, times, frames, call ids, values and clocks.

Most calls of a capture are polls, and one poll differs from the one before in nothing that a rule about security, stubs or layouts
looks at. So the engine asks such rules about the first of calls that are alike, and repeats their answers for the others.

A likeness has everything that such a rule may depend on: the server, the interface, the security of the call, the outcome, the
headers of the PDUs and of their security trailers, and the stubs. If the layout of a data answer was met before, this layout stands
for everything in the stub except clocks and values. Only the place of the query handle in a call counts, for the layout does not
depend on the handle itself. `Plans` compares what a handle holds, and whether something was added to it twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, Literal
from uuid import UUID

from msgspec import Struct, field
from msgspec.structs import replace

from analyzer.core.absence import Missing
from analyzer.questions.audit.call_evidence import AskedEvidence, CallEvidence, Places, SideEvidence
from analyzer.questions.audit.findings_and_coverage import FindingPattern, actor_of
from analyzer.questions.audit.rule_registry import Look, Part, Reads, Rule, Watch
from analyzer.questions.audit.rule_verdicts import Actor, Judgement, Outcome
from analyzer.questions.audit.winperf_walk import MAX_FREQUENCY
from analyzer.results.calls.call import Side
from analyzer.results.calls.query_state import QueryView
from analyzer.results.methods import perflib as pcq
from analyzer.results.methods import winreg
from analyzer.results.security import of_any_logon

# ---------------------------------------------------------------------------------------------------------- alike calls


Likeness = tuple[Hashable, ...]

# Replaces the handle that a call works on.
_ANY_HANDLE = b"any query handle"

# Longer stubs are not compared: as a rule, each occurs once.
_LONGEST_STUB = 4096
# Offsets of auth_length and the call id in the header of a PDU, and lengths of header and sec_trailer
# ([MS-RPCE] sections 2.2.2.1 and 2.2.2.11; C706 section 12.6.3.1).
_AUTH_LENGTH, _CALL_ID, _BODY, _FIXED, _SEC_TRAILER = 10, 12, 16, 24, 8


def likeness_of(call: CallEvidence) -> Likeness | None:
    """Returns the key under which the answers of audit rules are kept for a call: it is equal for calls that are alike. None for a
    call that is too long to compare."""
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
        call.is_altered,
        of_any_logon(context.security),
        context.impersonation,
        *sides,
    )


@lru_cache(1024)
def _bytes_of(handle: str) -> tuple[bytes, ...]:
    """Returns a handle's bytes in stubs of either byte order, which comparing calls for a plan leaves out; none for a handle of
    zeros."""
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
    if len(stub) > _LONGEST_STUB:
        return None
    for handle in handles:
        stub = stub.replace(handle, _ANY_HANDLE)
    return (*shared, stub)


def _layout(side: SideEvidence) -> Hashable | None:
    """Returns the layout of performance data that was met before, to compare calls for a plan by it; else None."""
    if side.side.buffer_kind == "perf-data":
        return side.answer.layout
    # A frequency that none has means that the clocks may stand elsewhere: such a block is judged by itself.
    block = side.block
    return (block.layout, block.perf_freq) if block is not None and 0 < block.perf_freq < MAX_FREQUENCY else None


def _pdus(side: SideEvidence) -> list[tuple[bytes, bytes, bytes, int]]:
    """Returns what comparing calls for a plan takes of each PDU: header without call id, beginning of the body, sec_trailer,
    length."""
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


# ----------------------------------------------------------------------------------------------------------- rule plans


# Methods of PerflibV2 whose buffer is never empty on success; the rules about layouts say so where it is.
_NEVER_EMPTY = (pcq.Opnum.QUERY_COUNTER_SET_REGISTRATION_INFO, pcq.Opnum.QUERY_COUNTER_DATA)

INTERFACES = {pcq.NAME: pcq.INTERFACE, winreg.NAME: winreg.INTERFACE}
# At most so many plans are kept, of so many bytes of buffers: a plan holds what the buffers were read into.
_MOST_PLANS, _MOST_BYTES = 1024, 4 << 20


# The judgements of a rule for calls that are alike, or the function that asks it about each call.
Step = tuple[Judgement, ...] | Callable[[CallEvidence], Iterable[Judgement]]
# Findings that all calls of a plan have, and what to ask about each call after them; nothing after the last.
Turn = tuple[tuple[FindingPattern, ...], tuple[Rule, Look[Any], Callable[[CallEvidence], Iterable[Judgement]]] | None]
# Lists of a handle's counters are compared up to this length; longer ones are equal only if they are the same object.
_MOST_HELD = 64


class Plan(Struct, frozen=True, eq=False):
    """The plan of audit rules for a call: `steps` are the rules in order, each with what it answered, or with what to ask about
    this very call.

    `passed` counts other passed verdicts by requirement, and `unknown` inconclusive ones by requirement and reason. With
    `names_handle`, an answer names the query handle, so that the plan serves only for calls on this handle. `shared`, `places` and
    `size` are those of the first call that was judged so. With `is_displaced`, others follow from one of the answers, which are not
    counted yet.
    """

    steps: tuple[tuple[Rule, Look[Any], Step], ...]
    passed: tuple[tuple[str, int], ...]
    unknown: tuple[tuple[tuple[str, str], int], ...]
    names_handle: bool
    shared: dict[Any, Any]
    places: Places
    size: int
    is_displaced: bool
    _turns: list[Turn] = field(default_factory=list)

    def turns(self, make: Callable[[Rule, Judgement], FindingPattern | None]) -> Sequence[Turn]:
        """Returns the plan's steps for each call: patterns of its findings, made once, and in between questions about the call."""
        if not self._turns:
            patterns: list[FindingPattern] = []
            for rule, look, found in self.steps:
                if isinstance(found, tuple):
                    patterns += [made for one in found if (made := make(rule, one)) is not None]
                else:
                    self._turns.append((tuple(patterns), (rule, look, found)))
                    patterns.clear()
            self._turns.append((tuple(patterns), None))
        return self._turns

    def noting(self) -> Iterator[FindingPattern]:
        """Yields the plan's patterns whose findings are not all counted yet."""
        return (one for patterns, _ in self._turns for one in patterns if one.unnoted)


class Plans:
    """Makes and keeps the plans of audit rules for calls."""

    def __init__(self, rules: Sequence[Rule], watches: Mapping[int, Watch[Any]]) -> None:
        """`watches` are the watches of the audit rules' looks, by the identity of the look."""
        self._watches = watches
        self._looks: dict[tuple[str, int | None], list[tuple[Rule, Look[Any]]]] = {}
        for rule in rules:
            for look in rule.looks:
                if (reads := look.reads) is not None:
                    for opnum in reads.opnums or (None,):
                        self._looks.setdefault((INTERFACES[reads.interface], opnum), []).append((rule, look))
        self._known: dict[Hashable, Plan] = {}
        self._size = 0
        # Numbers for what query handles held, the same for handles that held the same.
        self._held: dict[Hashable, int] = {}
        # Keeps each state alive, so that no other object gets its id().
        self._held_by_view: dict[int, tuple[QueryView, int]] = {}

    def plan_of(self, call: CallEvidence) -> Plan:
        likeness, query = likeness_of(call), call.view
        if likeness is None:
            return self._made(call)
        is_doubled = query is not None and call.knowledge.is_doubled(query.number, call.number)
        key = likeness, self._held_number(query), is_doubled
        of_handle = (*key, query.handle if query is not None else None)
        plan = self._known.get(key)
        if plan is not None and plan.names_handle:
            plan = self._known.get(of_handle)
        if plan is not None:
            call.shared, call.places = plan.shared, plan.places
            return plan
        plan = self._made(call)
        self._keep(key, plan)
        if plan.names_handle:
            self._keep(of_handle, plan)
        while len(self._known) > _MOST_PLANS or self._size > _MOST_BYTES:
            self._forget(next(iter(self._known)))
        return plan

    def _held_number(self, query: QueryView | None) -> int:
        """Returns a number for what the query handle of a planned call held; it is equal for handles that held the same."""
        if query is None:
            return -1
        known = self._held_by_view.get(id(query))
        if known is None:
            key: Hashable = id(query)
            if query.held is None or len(query.held) <= _MOST_HELD:
                held = tuple(query.held) if query.held is not None else None
                key = held, tuple(query.blocks.items()), query.counterset, query.id_source, query.unknown
            known = self._held_by_view[id(query)] = query, self._held.setdefault(key, len(self._held))
        return known[1]

    def _keep(self, key: Hashable, plan: Plan) -> None:
        self._forget(key)
        self._known[key] = plan
        self._size += plan.size

    def _forget(self, key: Hashable) -> None:
        if (plan := self._known.pop(key, None)) is not None:
            self._size -= plan.size

    def _made(self, call: CallEvidence) -> Plan:
        passed: Counter[str] = Counter()
        unknown: Counter[tuple[str, str]] = Counter()
        steps: list[tuple[Rule, Look[Any], Step]] = []
        interface, opnum = call.context.interface.uuid or "", call.opnum
        for rule, look in (*self._looks.get((interface, opnum), ()), *self._looks.get((interface, None), ())):
            assert look.reads is not None
            if not _is_read(look.reads, call):
                continue
            if (reason := _why_unreadable(look.reads, call)) is not None:
                unknown.update((requirement, reason) for requirement in look.concerning(opnum))
                continue
            if look.at_end is not None or (look.side == "request" and call.request is None):
                continue
            ask = look.check or self._watches[id(look)].feed
            if rule.request is look:
                ask = partial(_of_request, ask)
            is_of_each = look.check is None or look.of_each
            steps.append((rule, look, ask if is_of_each else tuple(answered_by(rule, look, ask(call), opnum))))
        names_handle = _names_handle(call.view, steps, unknown)
        is_displaced = any(one.displaces for *_, found in steps if not callable(found) for one in found)
        if not is_displaced:
            steps = [
                (rule, look, found if callable(found) else _split_judgements(found, passed, unknown))
                for rule, look, found in steps
            ]
        size = sum(len(side.data) for side in (call.request, call.response) if side is not None)
        return Plan(
            tuple((rule, look, found) for rule, look, found in steps if found),
            tuple(passed.items()),
            tuple(unknown.items()),
            names_handle,
            call.shared,
            call.places,
            size,
            is_displaced,
        )


def _of_request(ask: Callable[[Any], Iterable[Judgement]], call: CallEvidence) -> Iterable[Judgement]:
    """Asks an audit rule in a plan that looks at requests about the request of a call, alone."""
    return ask(AskedEvidence(call))


def _names_handle(
    query: QueryView | None, steps: Iterable[tuple[Rule, Look[Any], Step]], unknown: Iterable[tuple[str, str]]
) -> bool:
    """Tells whether what audit rules answered in a plan names the query handle, by its UUID or its number: such a plan is for one
    handle."""
    if query is None:
        return False
    names = query.handle, f"q{query.number}"
    found = [one for *_, found in steps if not callable(found) for one in found]
    texts = [text for one in found for text in (one.message, one.expected, one.seen) if text]
    return any(name in text for text in (*texts, *(reason for _, reason in unknown)) for name in names)


def answered_by(
    rule: Rule, look: Look[Any], judged: Iterable[Judgement], opnum: int | None = None
) -> Iterator[Judgement]:
    """Yields the judgements for a plan that an audit rule gave of a call, each checked."""
    return (checked(rule, look, one, opnum) for one in judged)


def checked(rule: Rule, look: Look[Any], one: Judgement, opnum: int | None) -> Judgement:
    """Checks one judgement before a plan of rules keeps it, and returns it. A mistake of the rule ends the audit: for example, a
    rule must not accuse a client for what its server answered.

    A judgement that names no requirement gets all by which calls of this `opnum` are judged.
    """
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
    return one


def about(judgement: Judgement, call: CallEvidence) -> Judgement:
    """Returns a judgement kept in a plan, for another call that is like the one it was given for."""
    return judgement if judgement.call is None or judgement.call is call else replace(judgement, call=call)


def _split_judgements(
    found: Iterable[Judgement], passed: Counter[str], unknown: Counter[tuple[str, str]]
) -> tuple[Judgement, ...]:
    """Splits what a rule judged for a plan: counts the judgements that passed or are inconclusive, and returns the others."""
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
    """Tells whether a call is of the kind that an audit rule reads, so that it comes into the call's plan, as far as that is
    known."""
    if reads.codes and call.request is not None and call.asked.get("RequestCode") not in (None, *reads.codes):
        return False
    if reads.success and (call.fault is not None or call.status not in (0, None)):
        return False
    if reads.failure and call.fault is None and call.status == 0:
        return False
    return call.fault is None or not any(part.startswith("response") for part in reads.parts)


def _why_unreadable(reads: Reads, call: CallEvidence) -> str | None:
    """Says why audit rules in a plan cannot judge a call; None if they can."""
    if call.is_altered:
        return "a signature of the call does not fit, so others may have changed it"
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
    if side is None or side.side.missing is not None:
        return _missing(call, name)
    if damaged:
        return None
    if side.side.problem is not None:
        return f"the {name} stub does not decode"
    if part == "response.lpData" and side.side.buffer_span is None and call.opnum in _NEVER_EMPTY and call.status == 0:
        return "the buffer of the response is empty"
    if part.endswith("lpData") and side.buffer is not None and side.buffer.problem is not None:
        return f"the buffer of the {name} is damaged"
    return None


def _missing(call: CallEvidence, name: str) -> str:
    side: SideEvidence | None = call.request if name == "request" else call.response
    if side is None:
        return f"the {name} was not captured"
    if side.side.missing is Missing.SEALED:
        return f"the {name} is sealed and no key was given that opens it"
    if side.side.missing is not None:
        return f"bytes of the {name} are missing"
    return f"the {name} stub does not decode"
