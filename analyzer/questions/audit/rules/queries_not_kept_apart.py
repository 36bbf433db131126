"""A query holds a counter that was added to another one.

Looks for: answers of QueryCounterInfo with counters that the capture shows being added to another handle of the server, and never
to this one.

Why it matters: each client means its own counters by its handle. Where queries run into each other, clients get values that they
did not ask for, and blocks in other places than they expect.

Specification: [MS-PCQ] section 2.2.1: the server decides by the handle which counters to query; sections 3.1.1.1 and 3.2.1: the
handle is there so that the server can distinguish the queries of clients.

Flagged: a counter added to the handle of one client, and listed for that of another, to which it was not added.

Accepted: the same counter added to both.

Silent: where no two handles were open at once; where the handle was not opened in the capture, or a ValidateCounters on it is
sealed or was lost.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.questions.audit.evidence import Evidence
from analyzer.questions.audit.identifiers import IdentifierBlock
from analyzer.questions.audit.rule import Level, Reads, Rule
from analyzer.questions.audit.verdicts import At, Judgement, Severity, failed, inconclusive, passed
from analyzer.questions.statistics.handles import HandleLifetime
from analyzer.results.perflib import Opnum
from analyzer.results.query import Identifier

REQUIREMENT = "PCQ-2.2.1-R04"
# Counterset, counter and folded name: an InstanceId of "any" may come back as the one that was found.
_Key = tuple[str, int, str]

RULE = Rule("PCQ720", "queries-not-kept-apart", Level.SEQUENCES, Severity.ERROR)


@RULE.afterwards(
    (REQUIREMENT,), Reads((Opnum.QUERY_COUNTER_INFO,), ("request", "response"), success=True), about="handle"
)
def look(evidence: Evidence) -> Iterator[Judgement]:
    lifetimes = evidence.lifetimes
    holders: dict[tuple[str, _Key], set[int]] = {}
    for lifetime in lifetimes:
        for event in lifetime.events:
            if event.kind == "add" and event.succeeded:
                for identifier in event.identifiers or ():
                    holders.setdefault((lifetime.server.ip, _key(identifier)), set()).add(lifetime.number)
    for lifetime in lifetimes:
        for event in lifetime.events:
            if event.kind != "info" or not event.succeeded:
                continue
            call = evidence.call(event.call)
            if event.view.held is None or call.response is None or not call.response.is_readable:
                reason = event.view.unknown or "the list is damaged"
                yield inconclusive(REQUIREMENT, f"what the handle holds is not known: {reason}", call)
                continue
            held = {_key(identifier) for identifier in event.view.held}
            for block in call.response.identifiers.blocks:
                key = (block.counterset, block.counter_id, (block.name or "").casefold())
                others = holders.get((lifetime.server.ip, key), set())
                if key not in held and others and lifetime.number not in others:
                    yield failed(
                        REQUIREMENT,
                        call,
                        At("response", block.path, (block.at, block.at + block.size)),
                        "a query holds a counter that was added to another one",
                        expected=f"the {len(held)} counters that were added to q{lifetime.number}",
                        seen=f"{_described(block)}, which was added to q{min(others)}",
                    )
                    break
            else:
                here = [
                    other
                    for other in lifetimes
                    if other.server.ip == lifetime.server.ip and other.number != lifetime.number
                ]
                if any(_was_open(other, event.call) for other in here):
                    yield passed(REQUIREMENT)


def _was_open(lifetime: HandleLifetime, call: int) -> bool:
    """Whether another query was open and held something when a call was made."""
    held = any(event.kind == "add" and event.succeeded and event.call < call for event in lifetime.events)
    return held and (lifetime.closed is None or lifetime.closed > call)


def _key(identifier: Identifier) -> _Key:
    return identifier.counterset, identifier.counter_id, (identifier.instance or "").casefold()


def _described(block: IdentifierBlock) -> str:
    return f"counter {block.counter_id} of {block.counterset}, instance {block.name!r}"
