"""Plans a run of `collect`: which files to read, which conversations they touch, and which pairs of hosts are one conversation.

Files are grouped by site: in files of one site, an address is the same machine.

`--site` is believed: a name is the site of all files that have it, `directory` makes one site of each directory, `capture` one of
each file. Without it, files of one directory are of one site if a connection goes on from one to the other. They are also of one
site if their times touch and no machine states another card, server GUID or name at the same address.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence, Set

from analyzer.collect.capture_sources import SourceFile, shown
from analyzer.collect.stage_tasks_and_facts import ConversationFacts, FileFacts, FilePart, KindFacts, KnownAs, Window
from analyzer.core.times import NS_PER_S

# ------------------------------------------------------------------------------------------------------------ work plan


# A pair of hosts of a site.
Node = tuple[int, str, str]


def reading(
    sources: Sequence[SourceFile], known: Sequence[FileFacts], window: Window, damaged: Collection[str] = ()
) -> dict[int, SourceFile]:
    """Plans what this run of `collect` must read: returns the capture files by number. A file is known by its URL, size and
    version. It is read again if it could not be read whole, was read for other times, or its pieces are damaged. Known files keep
    their numbers; new ones get the next."""
    by_url = {facts.source.url: facts for facts in known}
    next_number = max((facts.number for facts in known), default=-1) + 1
    new: dict[int, SourceFile] = {}
    again = {facts.number: facts.source for facts in known if facts.pieces in damaged}
    for source in sources:
        facts = by_url.get(source.url)
        if facts is None:
            new[next_number + len(new)] = source
        elif facts.status != "read" or facts.source != source or window_of_both(facts.window, window) != facts.window:
            again[facts.number] = source
    return new | again


def window_of_both(one: Window, other: Window) -> Window:
    """Plans the times to read a capture file for, when it was read for others before: returns the smallest window that holds both
    windows."""
    since = None if one[0] is None or other[0] is None else min(one[0], other[0])
    until = None if one[1] is None or other[1] is None else max(one[1], other[1])
    return since, until


class PieceIndex:
    """Finds the pieces of every pair of hosts in all capture files, to plan the work on them. `sites` has the site of each file."""

    def __init__(self, files: Sequence[FileFacts], sites: Mapping[int, int]) -> None:
        # As one reading of all files orders them: by the time of the first frame, then by name.
        self.files = sorted(
            (facts for facts in files if facts.pieces is not None and facts.opens_ns is not None),
            key=lambda facts: (facts.opens_ns, facts.source.url),
        )
        # By pair of hosts, and by host that asked a KDC: the index of each file and the facts of the frames there.
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
        """Plans which pieces a conversation is read from: its own, and those in which its hosts asked a KDC."""
        found: dict[int, tuple[list[KindFacts], list[KindFacts]]] = defaultdict(lambda: ([], []))
        for node in nodes:
            for at, one in self._own[node]:
                found[at][0].append(one)
        for client in sorted({(site, host) for site, *pair in nodes for host in pair}):
            for at, one in self._kdc.get(client, ()):
                if (client[0], *one.kind.pair) not in nodes:
                    found[at][1].append(one)
        return [self._part(self.files[at], *found[at]) for at in sorted(found)]

    def _part(self, facts: FileFacts, own: list[KindFacts], kdc: list[KindFacts]) -> FilePart:
        assert facts.pieces is not None
        assert facts.opens_ns is not None
        name = shown(facts.source.url)
        return FilePart(facts.number, name, facts.opens_ns, facts.pieces, own, kdc, facts.set_back)


class Groups:
    """Groups the pairs of hosts of a site into the conversations of the plan: linked pairs are one, also over others."""

    def __init__(self) -> None:
        self._above: dict[Node, Node] = {}

    def conversation_of(self, pair: Node) -> Node:
        """Returns the first pair of hosts of the planned conversation that this pair belongs to; it stands for the conversation."""
        found = pair
        while (above := self._above.get(found, found)) != found:
            found = above
        if found != pair:
            self._above[pair] = found
        return found

    def join(self, one: Node, other: Node) -> None:
        low, high = sorted((self.conversation_of(one), self.conversation_of(other)))
        if low != high:
            self._above[high] = low


def grouped(
    pairs: Set[Node], files: Sequence[FileFacts], conversations: Sequence[ConversationFacts], sites: Mapping[int, int]
) -> list[tuple[Node, ...]]:
    """Plans the conversations: groups pairs of hosts by what files and earlier analyses link.

    Conversations of a site are one if they share a link, or if a channel of one binds to an SMB session of the other. Sessions that
    are alike and were each set up are not joined."""
    groups = Groups()
    for file in files:
        for linked in file.links:
            one, other = ((sites[file.number], *pair) for pair in linked)
            if one in pairs and other in pairs:
                groups.join(one, other)
    by_node = {}
    for facts in conversations:
        for site in {sites[number] for number in facts.files if number in sites}:
            first, *rest = ((site, *pair) for pair in facts.pairs)
            by_node[first] = facts
            for node in rest:
                groups.join(first, node)
    bound = {(node[0], number) for node, facts in by_node.items() for number in facts.bound}
    holders: dict[tuple[int, int], Node] = {}
    for node, facts in sorted(by_node.items()):
        sessions = (number for number in facts.sessions if (node[0], number) in bound)
        for link in (*facts.links, *facts.bound, *sessions):
            groups.join(holders.setdefault((node[0], link), node), node)
    found: dict[Node, list[Node]] = defaultdict(list)
    for pair in sorted(pairs):
        found[groups.conversation_of(pair)].append(pair)
    return [tuple(group) for group in found.values()]


# -------------------------------------------------------------------------------------------------------- capture sites


DIRECTORY, CAPTURE = "directory", "capture"
# Two files' times touch if they overlap or lie at most this far apart: a program that rotates its files loses nothing between.
PAUSE_NS = NS_PER_S // 4


class _Site:
    """Holds the capture files that the plan puts in one site: their numbers, when the last one ends, and what their machines
    state."""

    def __init__(self, files: list[int], until_ns: int) -> None:
        self.files, self.until_ns = files, until_ns
        self.known_as: dict[str, set[str]] = {}

    def state(self, known_as: Mapping[str, Iterable[str]]) -> None:
        for key, values in known_as.items():
            self.known_as.setdefault(key, set()).update(values)

    def merge(self, other: _Site) -> None:
        self.files += other.files
        self.until_ns = max(self.until_ns, other.until_ns)
        self.state(other.known_as)

    def contradicts(self, other: _Site) -> bool:
        """Tells whether the machines of two sites in the plan contradict each other: both state a kind of thing, without a common
        value."""
        few, many = sorted((self.known_as, other.known_as), key=len)
        return any(values and key in many and values.isdisjoint(many[key] or values) for key, values in few.items())


def sites_of(files: Iterable[FileFacts], conversations: Iterable[ConversationFacts]) -> dict[int, int]:
    """Returns the site that the plan puts each capture file in, as the lowest number of its files."""
    stated: dict[int, list[KnownAs]] = {}
    for one in conversations:
        for number, known_as in one.known_as.items():
            stated.setdefault(number, []).append(known_as)
    groups: dict[tuple[str, str], list[FileFacts]] = {}
    for file in files:
        groups.setdefault(_group_of(file), []).append(file)
    found: dict[int, int] = {}
    for (kind, _), members in groups.items():
        parts = _parted(members, stated) if kind == "" else [[one.number for one in members]]
        found |= {number: min(part) for part in parts for number in part}
    return found


def site_names(files: Sequence[FileFacts], sites: Mapping[int, int]) -> dict[int, str]:
    """Names each site of captures in the plan: the name given by `--site`, the directory if it holds only this site, else its first
    file's URL."""
    of_directory: dict[str, set[int]] = {}
    for file in files:
        if file.frames:
            of_directory.setdefault(_directory(file), set()).add(sites[file.number])
    names = {}
    for file in files:
        if file.number == sites[file.number]:
            alone = of_directory.get(_directory(file)) == {file.number} and file.site != CAPTURE
            given = file.site if file.site not in ("", DIRECTORY, CAPTURE) else ""
            names[file.number] = given or (_directory(file) if alone else file.source.url)
    return names


def _group_of(file: FileFacts) -> tuple[str, str]:
    """Returns the group of a capture file, to plan sites. Files of one group are of one site; in a group of kind "" they need not
    be."""
    if file.site == CAPTURE:
        return CAPTURE, str(file.number)
    if file.site in ("", DIRECTORY):
        return file.site, _directory(file)
    return "name", file.site


def _directory(file: FileFacts) -> str:
    return file.source.url.rpartition("/")[0]


def _parted(files: Iterable[FileFacts], stated: Mapping[int, Sequence[KnownAs]]) -> Iterable[list[int]]:
    """Splits the capture files of one directory into the sites of the plan, in the order of time."""
    site_of: dict[int, _Site] = {}
    last: dict[int, FileFacts] = {}
    # Sites whose times may touch those of later files.
    open_sites: list[_Site] = []
    for file in sorted(files, key=lambda one: (one.opens_ns or 0, one.source.url)):
        site, since, begun = _Site([file.number], file.last_time_ns or 0), file.first_time_ns or 0, set(file.begun)
        for known_as in (file.known_as, *stated.get(file.number, ())):
            site.state(known_as)
        # Sites of earlier files with a connection that goes on in this file, or is in both at the same time.
        befores = ((flow, last[flow]) for flow in file.flows if flow in last)
        continued = dict.fromkeys(
            site_of[before.number]
            for flow, before in befores
            if flow not in begun or (before.last_time_ns or 0) >= since
        )
        open_sites = [one for one in open_sites if one.until_ns >= since - PAUSE_NS]
        for other in dict.fromkeys((*continued, *open_sites)):
            if other in continued or not site.contradicts(other):
                other.merge(site)
                open_sites = [one for one in open_sites if one is not site]
                site = other
        if site not in open_sites:
            open_sites.append(site)
        site_of |= dict.fromkeys(site.files, site)
        last |= dict.fromkeys(file.flows, file)
    return [site.files for site in dict.fromkeys(site_of.values())]
