"""What there is to do: files that are new, conversations they touch, and which pairs of hosts are one conversation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, field

from analyzer.collect.facts import ConversationFacts, FileFacts, FilePart, Window
from analyzer.collect.pieces import Place
from analyzer.collect.sources import SourceFile, shown
from analyzer.packet.sorting import Pair


class Reading(Struct):
    """The sources of a run: those to be read, with the number of each, and those that are known already."""

    new: list[tuple[int, SourceFile]] = field(default_factory=list)
    known: list[FileFacts] = field(default_factory=list)


def reading(sources: Sequence[SourceFile], known: Sequence[FileFacts], window: Window) -> Reading:
    """What of the sources is to be read. A file is known by its URL, size and version; one that could not be read whole, or was
    read for other times, is read again. Numbers stay; what is new gets the next."""
    by_url = {facts.source.url: facts for facts in known}
    next_number = max((facts.number for facts in known), default=-1) + 1
    plan = Reading()
    again = set()
    for source in sources:
        facts = by_url.get(source.url)
        if facts is None:
            plan.new.append((next_number, source))
            next_number += 1
        elif facts.status != "read" or facts.source != source or not _covers(facts.window, window):
            plan.new.append((facts.number, source))
            again.add(facts.number)
    plan.known = [facts for facts in known if facts.number not in again]
    return plan


def _covers(read: Window, asked: Window) -> bool:
    since = read[0] is None or (asked[0] is not None and asked[0] >= read[0])
    until = read[1] is None or (asked[1] is not None and asked[1] <= read[1])
    return since and until


def hull(one: Window, other: Window) -> Window:
    """The times of both."""
    since = None if one[0] is None or other[0] is None else min(one[0], other[0])
    until = None if one[1] is None or other[1] is None else max(one[1], other[1])
    return since, until


class Groups:
    """Which pairs are one conversation: those that a fact links, and those that are linked to the same."""

    def __init__(self) -> None:
        self._above: dict[Pair, Pair] = {}

    def of(self, pair: Pair) -> Pair:
        """The pair that stands for the group of this one."""
        found = pair
        while (above := self._above.get(found, found)) != found:
            found = above
        if found != pair:
            self._above[pair] = found
        return found

    def join(self, one: Pair, other: Pair) -> bool:
        """Puts two groups together; whether they were not yet."""
        low, high = sorted((self.of(one), self.of(other)))
        if low == high:
            return False
        self._above[high] = low
        return True

    def members(self, pairs: Iterable[Pair]) -> dict[Pair, tuple[Pair, ...]]:
        """The groups of some pairs, by the pair that stands for each."""
        found: dict[Pair, list[Pair]] = defaultdict(list)
        for pair in sorted(pairs):
            found[self.of(pair)].append(pair)
        return {first: tuple(group) for first, group in found.items()}


class Index:
    """Where the pieces of every pair lie, over all files."""

    def __init__(self, files: Sequence[FileFacts]) -> None:
        # As one reading of all files orders them: by the time of the first frame, then by name.
        self.files = sorted(
            (facts for facts in files if facts.pieces is not None and facts.opens_ns is not None),
            key=lambda facts: (facts.opens_ns, facts.source.url),
        )
        self.order = {facts.number: at for at, facts in enumerate(self.files)}
        self._own: dict[Pair, list[tuple[int, list[Place]]]] = defaultdict(list)
        self._kdc: dict[str, list[tuple[int, Pair, list[Place]]]] = defaultdict(list)
        self._with_data: set[Pair] = set()
        for at, facts in enumerate(self.files):
            for one in facts.kinds:
                self._own[one.kind.pair].append((at, one.places))
                if one.has_data:
                    self._with_data.add(one.kind.pair)
                if one.kind.client is not None:
                    self._kdc[one.kind.client].append((at, one.kind.pair, one.places))

    @property
    def pairs(self) -> set[Pair]:
        """The pairs of hosts that sent each other data."""
        return self._with_data

    def parts(self, pairs: Sequence[Pair]) -> list[FilePart]:
        """What a conversation is read from: its own pieces, and those of other pairs in which its hosts asked a KDC."""
        own: dict[int, list[list[Place]]] = defaultdict(list)
        kdc: dict[int, list[list[Place]]] = defaultdict(list)
        for pair in pairs:
            for at, places in self._own[pair]:
                own[at].append(places)
        for client in sorted({host for pair in pairs for host in pair}):
            for at, pair, places in self._kdc.get(client, ()):
                if pair not in pairs:
                    kdc[at].append(places)
        return [self._part(at, own.get(at, []), kdc.get(at, [])) for at in sorted(own.keys() | kdc.keys())]

    def _part(self, at: int, own: list[list[Place]], kdc: list[list[Place]]) -> FilePart:
        facts = self.files[at]
        assert facts.pieces is not None
        assert facts.opens_ns is not None
        return FilePart(facts.number, shown(facts.source.url), facts.opens_ns, facts.pieces, own, kdc)


def linked(conversations: Mapping[Pair, ConversationFacts], groups: Groups) -> bool:
    """Joins the groups of conversations that share what is known by identity, or of which one has a channel of a session that the
    other has; whether there were any. Sessions that are alike and were each set up are not joined."""
    bound = {number for facts in conversations.values() for number in facts.bound}
    holders: dict[int, Pair] = {}
    joined = False
    for pair, facts in sorted(conversations.items()):
        for link in (*facts.links, *facts.bound, *(number for number in facts.sessions if number in bound)):
            holder = holders.setdefault(link, pair)
            if holder != pair:
                joined |= groups.join(holder, pair)
    return joined
