"""Counts the frames of a capture that were not read, or read with a reservation, and states the problems that follow.

Counts of parts of a capture add up to those of the whole (`add`), so that parts may be read apart from each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec import Struct, field

from analyzer.capture.frame_blocks import LinkType
from analyzer.core.events import Problem, ProblemKind
from analyzer.core.printable_text import counted

FRAMES_NAMED = 16
_LINK_FRAMES_NAMED = 8

# By the kind of `LostSegment`: what is said of one, and of several.
_LOST_TEXTS: dict[str, tuple[ProblemKind, str, str]] = {
    "truncated": (
        "truncated",
        "frame was captured too short to hold its TCP header",
        "frames were captured too short to hold their TCP header",
    ),
    "malformed": (
        "malformed",
        "frame has an IP or TCP header that says something impossible",
        "frames have an IP or TCP header that says something impossible",
    ),
    "gap": (
        "gap",
        "IP datagram with TCP data is incomplete: not all of its fragments were captured",
        "IP datagrams with TCP data are incomplete: not all of their fragments were captured",
    ),
    "limit": (
        "limit",
        "frame has more tunnels inside each other than are followed",
        "frames have more tunnels inside each other than are followed",
    ),
    "extensions": (
        "limit",
        "frame has more extension headers than are followed; what it carries is not read",
        "frames have more extension headers than are followed; what they carry is not read",
    ),
}
_HAVE = ("frame has", "frames have")

_USED = ("it is used where no other segment has its bytes", "they are used where no other segment has their bytes")

# A frame, and its time in nanoseconds.
Moment = tuple[int, int]


class Tally(Struct):
    """A tally of frames: how often something happened, and the time and number of the first frames that show it."""

    count: int = 0
    firsts: list[Moment] = field(default_factory=list)

    def note(self, frame: int, time_ns: int, more: int = 0) -> None:
        """Notes in the tally that something happened in a frame, and in `more` frames that are not named."""
        self.count += 1 + more
        if len(self.firsts) < FRAMES_NAMED:
            self.firsts.append((time_ns, frame))

    def add(self, other: Tally) -> None:
        """Adds the tally of another part of the capture, and keeps the first frames of both."""
        self.count += other.count
        self.firsts = sorted((*self.firsts, *other.firsts))[:FRAMES_NAMED]

    @property
    def frames(self) -> tuple[int, ...]:
        return tuple(frame for _, frame in self.firsts)


class Tallies(Struct):
    """The tallies of frames that were not read, or read with a reservation. `lost` goes by the kind of `LostSegment`,
    `unknown_links` by LINKTYPE_ number."""

    lost: dict[str, Tally] = field(default_factory=dict)
    unknown_links: dict[int, Tally] = field(default_factory=dict)
    forgotten: int = 0
    bad_checksums: Tally = field(default_factory=Tally)
    bad_tcp_checksums: Tally = field(default_factory=Tally)

    def lose(self, kind: str, frame: int, time_ns: int, more: int = 0) -> None:
        """Notes that what a frame carries could not be read, for a reason of `LostSegment`, nor that of `more` frames like it."""
        self.lost.setdefault(kind, Tally()).note(frame, time_ns, more)

    def add(self, other: Tallies) -> None:
        """Adds the tallies of another part of the capture."""
        for kind, tally in other.lost.items():
            self.lost.setdefault(kind, Tally()).add(tally)
        for link_type, tally in other.unknown_links.items():
            self.unknown_links.setdefault(link_type, Tally()).add(tally)
        self.forgotten += other.forgotten
        self.bad_checksums.add(other.bad_checksums)
        self.bad_tcp_checksums.add(other.bad_tcp_checksums)

    def renumber(self, frame: Callable[[int], int]) -> None:
        """Replaces the id of every frame that is named in the tallies."""
        for tally in (*self.lost.values(), *self.unknown_links.values(), self.bad_checksums, self.bad_tcp_checksums):
            tally.firsts = sorted((time_ns, frame(one)) for time_ns, one in tally.firsts)

    def problems(self) -> Iterator[Problem]:
        """Yields the problems that the tallies of frames state."""
        for kind, tally in self.lost.items():
            problem_kind, *texts = _LOST_TEXTS[kind]
            yield Problem(problem_kind, "packet", tally.frames, counted(tally.count, *texts))
        for link_type, tally in self.unknown_links.items():
            link = f"link type {link_type} ({LinkType.label(link_type)}), which is not read"
            text = f"{counted(tally.count, *_HAVE)} {link}"
            yield Problem("unsupported", "packet", tally.frames[:_LINK_FRAMES_NAMED], text)
        if self.forgotten:
            text = f"{counted(self.forgotten, 'flow was', 'flows were')} forgotten: more look like ours than are kept"
            yield Problem("limit", "packet", (), text)
        if count := self.bad_checksums.count:
            text = (
                f"{counted(count, *_HAVE)} a wrong IPv4 header checksum (usual where a network card "
                f"computes it after the capture); {_USED[count > 1]}"
            )
            yield Problem("note", "packet", self.bad_checksums.frames, text)
        if count := self.bad_tcp_checksums.count:
            segments = counted(count, "TCP segment has", "TCP segments have")
            text = f"{segments} a wrong checksum; {_USED[count > 1]}"
            yield Problem("note", "packet", self.bad_tcp_checksums.frames, text)
