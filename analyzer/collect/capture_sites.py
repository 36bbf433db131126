"""Groups capture files by site: in files of one site, an address is the same machine.

`--site` is believed: a name is the site of all files that have it, `directory` makes one site of each directory, `capture` one of
each file. Without it, files of one directory are of one site if a connection goes on from one to the other. They are also of one
site if their times touch and no machine states another card, server GUID or name at the same address.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from analyzer.collect.stage_tasks_and_facts import ConversationFacts, FileFacts, KnownAs
from analyzer.core.times import NS_PER_S

DIRECTORY, CAPTURE = "directory", "capture"
# Two files' times touch if they overlap or lie at most this far apart: a program that rotates its files loses nothing between.
PAUSE_NS = NS_PER_S // 4


class _Site:
    """Holds the capture files of one site: their numbers, when the last one ends, and what their machines state."""

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
        """Tells whether the machines of two sites contradict each other: both state a kind of thing, without a common value."""
        few, many = sorted((self.known_as, other.known_as), key=len)
        return any(values and key in many and values.isdisjoint(many[key] or values) for key, values in few.items())


def sites_of(files: Iterable[FileFacts], conversations: Iterable[ConversationFacts]) -> dict[int, int]:
    """Returns the site of each capture file, as the lowest number of its files."""
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
    """Names each site of captures: the name given by `--site`, the directory if it holds only this site, else its first file's
    URL."""
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
    """Returns the group of a capture file. Files of one group are of one site; in a group of kind "" they need not be."""
    if file.site == CAPTURE:
        return CAPTURE, str(file.number)
    if file.site in ("", DIRECTORY):
        return file.site, _directory(file)
    return "name", file.site


def _directory(file: FileFacts) -> str:
    return file.source.url.rpartition("/")[0]


def _parted(files: Iterable[FileFacts], stated: Mapping[int, Sequence[KnownAs]]) -> Iterable[list[int]]:
    """Splits the capture files of one directory into sites, in the order of time."""
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
