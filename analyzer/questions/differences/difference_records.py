"""Makes the records of `diff` from two analyses: machines, accounts, countersets, counters, processes, services, then calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from analyzer.core.caches import cached_property
from analyzer.core.printable_text import counted
from analyzer.questions.differences.conversation_comparison import (
    CallComparison,
    FieldComparison,
    HandlePairs,
    occurrence_of,
    property_words,
)
from analyzer.questions.differences.conversation_keys import paired_talks, talks_of
from analyzer.questions.differences.machine_facts import (
    SUBJECTS,
    CaptureView,
    Peer,
    ShownFact,
    by_identity,
    facts_of,
    guids_of_the_same,
    paired_peers,
    peers_of,
    process_facts,
    properties_that_differ,
    sealed_calls,
)
from analyzer.questions.processes.process_records import process_records
from analyzer.results.analysis import Analysis
from analyzer.results.records.difference import (
    DifferenceRecord,
    DiffOutcome,
    DiffSummaryRecord,
    NotComparedRecord,
    PropertyDifference,
    Subject,
)
from analyzer.results.records.process import ProcessRecord


class Differences:
    """Finds all differences between two analyses. With `counts_values`, counter values are reported and count, too."""

    def __init__(
        self,
        a: Analysis,
        b: Analysis,
        *,
        counts_values: bool = False,
        running: tuple[Sequence[ProcessRecord], Sequence[ProcessRecord]] | None = None,
    ) -> None:
        """`running` are the processes at each of two moments; calls are not compared in order then."""
        self.a, self.b = a, b
        self.sides = (("A", a), ("B", b))
        self._peers = paired_peers(peers_of(a), peers_of(b))
        of_a, of_b = (process_records(a), process_records(b)) if running is None else running
        view_a = CaptureView(a, self._peers.labels_a, of_a)
        view_b = CaptureView(b, self._peers.labels_b, of_b)
        self._views = view_a, replace(view_b, guids=guids_of_the_same(view_a, view_b))
        # Sealed calls of each side, by machine: they may show what only the other side seems to show.
        self._sealed = tuple(map(sealed_calls, self._views))
        self._hidden: dict[tuple[bool, Subject, str], list[ShownFact]] = {}
        self._fields = FieldComparison(HandlePairs(), counts_values, self._views[1].guids)
        self._calls = CallComparison(a, b, self._peers, self._fields, in_order=running is None)

    @cached_property
    def found(self) -> Sequence[DifferenceRecord]:
        """Returns all differences between two analyses, in the order of the report."""
        for one, other in paired_talks(*map(talks_of, self._views)):
            self._calls.compare_conversations(one, other)
        return [*self._of_machines(), *self._of_facts(), *self._calls.records()]

    @cached_property
    def uncompared(self) -> Sequence[NotComparedRecord]:
        """Returns the records of everything that `diff` could not compare."""
        _ = self.found
        return [*self._of_hidden(), *self._calls.uncompared()]

    @cached_property
    def summary(self) -> DiffSummaryRecord:
        """Returns the summary of the difference records: both sides and the outcome."""
        found, fields = self.found, self._fields
        outcome: DiffOutcome = "different" if found else "incomplete" if self.uncompared else "equal"
        return DiffSummaryRecord(
            a=self.a.sources,
            b=self.b.sources,
            a_calls=len(self.a.shown),
            b_calls=len(self.b.shown),
            outcome=outcome,
            text=_outcome_words(outcome, len(found)) if self.a.shown or self.b.shown else "neither side has a call",
            differences=dict(Counter(one.about for one in found)),
            compared_calls=self._calls.compared,
            values=fields.values,
            values_different=fields.values_different,
            volatile={what: count for what, count in sorted(fields.volatile.items()) if count},
        )

    def records(self) -> Iterator[DifferenceRecord | NotComparedRecord | DiffSummaryRecord]:
        """Yields the difference records of two analyses, the summary last."""
        yield from self.found
        yield from self.uncompared
        yield self.summary

    def _of_machines(self) -> Iterator[DifferenceRecord]:
        of_a = {self._peers.labels_a[ip]: one for ip, one in self._peers.a.items()}
        of_b = {self._peers.labels_b[ip]: one for ip, one in self._peers.b.items()}
        for label in dict.fromkeys([*of_a, *of_b]):
            one, other = of_a.get(label), of_b.get(label)
            if one is None or other is None:
                known = one or other
                assert known is not None
                yield self._fact(_machine_fact(label, known), is_of_a=other is None)
            elif found := [*_of_peers(one, other)]:
                yield self._changed(_machine_fact(label, one), _machine_fact(label, other), found)

    def _of_facts(self) -> Iterator[DifferenceRecord]:
        processes = process_facts(*self._views)
        of_a, of_b = (
            by_identity([*facts_of(view), *found]) for view, found in zip(self._views, processes, strict=True)
        )
        lists = tuple({one.machine for one in facts.values() if one.about == "process"} for facts in (of_a, of_b))
        identities = sorted(dict.fromkeys([*of_a, *of_b]), key=lambda one: SUBJECTS.index(one[0]))
        for identity in identities:
            one, other = of_a.get(identity), of_b.get(identity)
            if one is None or other is None:
                known = one or other
                assert known is not None
                is_of_a = other is None
                # A side that shows any process list of the machine also shows that this process is not in it.
                is_listed = known.about == "process" and known.machine in lists[is_of_a]
                if known.about in _IN_STUBS and known.machine in self._sealed[is_of_a] and not is_listed:
                    self._hidden.setdefault((is_of_a, known.about, known.machine), []).append(known)
                else:
                    yield self._fact(known, is_of_a=is_of_a)
            elif found := [
                PropertyDifference(*each) for each in properties_that_differ(one.properties, other.properties)
            ]:
                yield self._changed(one, other, found)

    def _of_hidden(self) -> Iterator[NotComparedRecord]:
        """Yields records of what only one analysis shows, while sealed calls of the other may show the same."""
        for (is_of_a, about, machine), facts in self._hidden.items():
            side, other = ("A", "B") if is_of_a else ("B", "A")
            shows, sealed = self.sides[not is_of_a][1], self.sides[is_of_a][1]
            what = counted(len(facts), about, "processes" if about == "process" else None)
            calls = dict.fromkeys(number for fact in facts for number in fact.calls)
            seen = occurrence_of(shows, calls) if calls else None
            hidden = occurrence_of(sealed, self._sealed[is_of_a][machine])
            yield NotComparedRecord(
                why="sealed",
                method=about,
                text=f"{what} of {machine} in {side}: calls of {other} that no key opens may show the same",
                a=seen if is_of_a else hidden,
                b=hidden if is_of_a else seen,
            )

    def _fact(self, fact: ShownFact, *, is_of_a: bool) -> DifferenceRecord:
        """Makes the difference record of a fact about a machine that only one analysis shows."""
        seen = occurrence_of(self.a if is_of_a else self.b, fact.calls) if fact.calls else None
        return DifferenceRecord(
            about=fact.about,
            kind="only-a" if is_of_a else "only-b",
            machine=fact.machine,
            name=fact.name,
            text=f"in {'A' if is_of_a else 'B'} alone",
            a=seen if is_of_a else None,
            b=None if is_of_a else seen,
        )

    def _changed(self, one: ShownFact, other: ShownFact, found: Sequence[PropertyDifference]) -> DifferenceRecord:
        return DifferenceRecord(
            about=one.about,
            kind="changed",
            machine=one.machine,
            name=one.name,
            text="; ".join(map(property_words, found)),
            properties=tuple(found),
            a=occurrence_of(self.a, one.calls) if one.calls else None,
            b=occurrence_of(self.b, other.calls) if other.calls else None,
        )


# Subjects that only stubs show.
_IN_STUBS = frozenset(("counterset", "counter", "process", "service"))


def _machine_fact(label: str, peer: Peer) -> ShownFact:
    return ShownFact("machine", label, label, peer.words, peer.properties)


def _of_peers(one: Peer, other: Peer) -> Iterator[PropertyDifference]:
    """Yields the records of properties in which two paired machines differ."""
    if one.ip != other.ip:
        yield PropertyDifference("address", one.ip, other.ip)
    if one.names and other.names and {*map(str.casefold, one.names)}.isdisjoint(map(str.casefold, other.names)):
        yield PropertyDifference("name", ", ".join(one.names), ", ".join(other.names))
    yield from (PropertyDifference(*each) for each in properties_that_differ(one.properties, other.properties))


def _outcome_words(outcome: DiffOutcome, count: int) -> str:
    if outcome == "different":
        return counted(count, "difference")
    if outcome == "equal":
        return "no difference: all calls were compared"
    return "no difference in what was compared; not all was"
