"""What there is to do: files that are new, conversations they touch, and which pairs of hosts are one conversation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from hashlib import sha256

from msgspec import Struct, field

from analyzer.collect.capture_sources import SourceFile, shown
from analyzer.collect.stage_results import ConversationFacts, FileFacts, FilePart, KindFacts, Window

# A pair of hosts of a site.
Node = tuple[int, str, str]


class RunSources(Struct):
    """The sources of a run: those to be read, with the number of each, and those that are known already."""

    new: list[tuple[int, SourceFile]] = field(default_factory=list)
    known: list[FileFacts] = field(default_factory=list)


def reading(
    sources: Sequence[SourceFile], known: Sequence[FileFacts], window: Window, damaged: Collection[str] = ()
) -> RunSources:
    """Which capture files a run of `collect` is to read. A file is known by its URL, size and version; one that could not be read
    whole, was read for other times, or of which the pieces are damaged, is read again. Numbers stay; what is new gets the next."""
    by_url = {facts.source.url: facts for facts in known}
    next_number = max((facts.number for facts in known), default=-1) + 1
    plan = RunSources()
    again = {facts.number: facts.source for facts in known if facts.pieces in damaged}
    for source in sources:
        facts = by_url.get(source.url)
        if facts is None:
            plan.new.append((next_number, source))
            next_number += 1
        elif facts.status != "read" or facts.source != source or not _covers(facts.window, window):
            again[facts.number] = source
    plan.new += again.items()
    plan.known = [facts for facts in known if facts.number not in again]
    return plan


def _covers(read: Window, asked: Window) -> bool:
    since = read[0] is None or (asked[0] is not None and asked[0] >= read[0])
    until = read[1] is None or (asked[1] is not None and asked[1] <= read[1])
    return since and until


def hull(one: Window, other: Window) -> Window:
    """The window of time that holds both windows."""
    since = None if one[0] is None or other[0] is None else min(one[0], other[0])
    until = None if one[1] is None or other[1] is None else max(one[1], other[1])
    return since, until


class Groups:
    """Which pairs of a site are one conversation: those that a fact links, and those that are linked to the same."""

    def __init__(self) -> None:
        self._above: dict[Node, Node] = {}

    def of(self, pair: Node) -> Node:
        """The pair that stands for the group of this one."""
        found = pair
        while (above := self._above.get(found, found)) != found:
            found = above
        if found != pair:
            self._above[pair] = found
        return found

    def join(self, one: Node, other: Node) -> bool:
        """Puts the groups of two pairs of hosts together; returns whether they were apart."""
        low, high = sorted((self.of(one), self.of(other)))
        if low == high:
            return False
        self._above[high] = low
        return True

    def members(self, pairs: Iterable[Node]) -> dict[Node, tuple[Node, ...]]:
        """The groups of some pairs, by the pair that stands for each."""
        found: dict[Node, list[Node]] = defaultdict(list)
        for pair in sorted(pairs):
            found[self.of(pair)].append(pair)
        return {first: tuple(group) for first, group in found.items()}


class PieceIndex:
    """Where the pieces of every pair lie, over all files. `sites` has the site of each file."""

    def __init__(self, files: Sequence[FileFacts], sites: Mapping[int, int]) -> None:
        # As one reading of all files orders them: by the time of the first frame, then by name.
        self.files = sorted(
            (facts for facts in files if facts.pieces is not None and facts.opens_ns is not None),
            key=lambda facts: (facts.opens_ns, facts.source.url),
        )
        self._own: dict[Node, list[tuple[int, KindFacts]]] = defaultdict(list)
        self._kdc: dict[tuple[int, str], list[tuple[int, KindFacts]]] = defaultdict(list)
        # The pairs of hosts that sent each other data.
        self.nodes: set[Node] = set()
        for at, facts in enumerate(self.files):
            site = sites[facts.number]
            for one in facts.kinds:
                node = site, *one.kind.pair
                self._own[node].append((at, one))
                if one.has_data:
                    self.nodes.add(node)
                if one.kind.client is not None:
                    self._kdc[site, one.kind.client].append((at, one))

    def parts(self, nodes: Sequence[Node]) -> list[FilePart]:
        """What a conversation is read from: its own pieces, and those of other pairs in which its hosts asked a KDC."""
        own: dict[int, list[KindFacts]] = defaultdict(list)
        kdc: dict[int, list[KindFacts]] = defaultdict(list)
        for node in nodes:
            for at, one in self._own[node]:
                own[at].append(one)
        for client in sorted({(site, host) for site, *pair in nodes for host in pair}):
            for at, one in self._kdc.get(client, ()):
                if (client[0], *one.kind.pair) not in nodes:
                    kdc[at].append(one)
        return [self._part(at, own.get(at, []), kdc.get(at, [])) for at in sorted(own.keys() | kdc.keys())]

    def _part(self, at: int, own: list[KindFacts], kdc: list[KindFacts]) -> FilePart:
        facts = self.files[at]
        assert facts.pieces is not None
        assert facts.opens_ns is not None
        content = sha256(b"".join([*(one.digest for one in own), b"kdc", *(one.digest for one in kdc)])).digest()
        places = [one.places for one in own], [one.places for one in kdc]
        return FilePart(
            facts.number, shown(facts.source.url), facts.opens_ns, facts.pieces, *places, content, facts.set_back
        )


def linked(conversations: Mapping[Node, ConversationFacts], groups: Groups) -> bool:
    """Joins the groups of conversations of a site that share what is known by identity, or of which one has a channel of a session
    that the other has; whether there were any. Sessions that are alike and were each set up are not joined."""
    bound = {(node[0], number) for node, facts in conversations.items() for number in facts.bound}
    holders: dict[tuple[int, int], Node] = {}
    joined = False
    for node, facts in sorted(conversations.items()):
        sessions = (number for number in facts.sessions if (node[0], number) in bound)
        for link in (*facts.links, *facts.bound, *sessions):
            holder = holders.setdefault((node[0], link), node)
            if holder != node:
                joined |= groups.join(holder, node)
    return joined
