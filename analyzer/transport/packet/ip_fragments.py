"""Reassembles IP datagrams from their fragments, in any order (RFC 791 section 3.2, RFC 8200 section 4.5).

Overlap: the bytes that were captured first win, and a `conflict` problem states where later ones differ. (RFC 8200 and RFC 5722
have a host discard such a datagram of IPv6. We cannot know what the receiver did, so we show what came first.) State is bounded by
number of datagrams, by bytes and by age. What is given up is counted in `limit` problems.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator

from msgspec import Struct, field

from analyzer.core.events import Conflict, Problem
from analyzer.core.limits import DEFAULTS, Limits
from analyzer.core.times import NS_PER_S
from analyzer.core.traced_bytes import TracedBytes

# RFC 8200 section 4.5 gives up after 60 seconds, RFC 1122 section 3.3.2 asks for 60 to 120.
MAX_AGE_NS = 120 * NS_PER_S
MAX_DATAGRAM_BYTES = 65535
# Mirror ports repeat fragments even of datagrams that are whole already.
REMEMBERED = 1024
# Fragments may be as small as 8 bytes: each piece is counted with what it costs us besides, and only so many of one
# datagram are remembered to recognise repetitions.
PIECE_COST = 256
MAX_MARKS = 256


class FragmentKey(Struct, frozen=True):
    """The key that all IP fragments of one datagram share: addresses, protocol, identification. For IPv6 the RFC leaves out the
    protocol, but only a broken sender mixes protocols."""

    src: bytes
    dst: bytes
    protocol: int
    identification: int


class Datagram(Struct, eq=False):
    """A fragmented IP datagram with the fragments captured so far. `pieces` do not overlap and are sorted by `starts`."""

    key: FragmentKey
    first_time_ns: int
    starts: list[int] = field(default_factory=list)
    pieces: list[TracedBytes] = field(default_factory=list)
    frames: list[int] = field(default_factory=list)
    total: int | None = None
    held: int = 0
    cut: bool = False
    conflict: bool = False
    marks: set[tuple[int, int]] = field(default_factory=set)

    def head(self) -> bytes:
        """Returns the captured bytes at the beginning of the fragmented datagram, as far as its first piece goes."""
        return self.pieces[0].data if self.starts and self.starts[0] == 0 else b""

    def cost(self) -> int:
        """Returns roughly how much memory the fragmented datagram takes, in bytes."""
        return self.held + PIECE_COST * len(self.starts)

    def is_whole(self) -> bool:
        # Pieces never overlap and never reach beyond the total, so they cover it when their lengths add up to it.
        return self.total is not None and self.held == self.total

    def insert(self, start: int, piece: TracedBytes) -> bool:
        """Adds the bytes of an IP fragment that its datagram does not cover yet. Returns whether bytes already covered differ."""
        differs = False
        stop = start + len(piece)
        at = max(bisect_right(self.starts, start) - 1, 0)
        fresh: list[tuple[int, int]] = []
        pos = start
        while at < len(self.starts) and self.starts[at] < stop:
            low, high = self.starts[at], self.starts[at] + len(self.pieces[at])
            if high > pos:
                if low > pos:
                    fresh.append((pos, low))
                left, right = max(low, pos), min(high, stop)
                if self.pieces[at].data[left - low : right - low] != piece.data[left - start : right - start]:
                    differs = True
                pos = right
            at += 1
        if pos < stop:
            fresh.append((pos, stop))
        for low, high in fresh:
            place = bisect_right(self.starts, low)
            self.starts.insert(place, low)
            self.pieces.insert(place, piece[low - start : high - start])
            self.held += high - low
        return differs


class Fragments:
    """Holds IP fragments until their datagram is whole."""

    def __init__(
        self,
        limits: Limits = DEFAULTS,
        *,
        max_age_ns: int = MAX_AGE_NS,
    ) -> None:
        self._max_datagrams = limits.datagrams
        self._max_bytes = limits.datagram_bytes
        self._max_age_ns = max_age_ns
        self._open: OrderedDict[FragmentKey, Datagram] = OrderedDict()
        self._whole: OrderedDict[FragmentKey, set[tuple[int, int]]] = OrderedDict()
        self._held = 0
        self.given_up: list[Datagram] = []

    def add(
        self,
        key: FragmentKey,
        start: int,
        piece: TracedBytes,
        *,
        more: bool,
        cut: bool,
        frame: int,
        time_ns: int,
    ) -> Iterator[TracedBytes | Problem | Conflict]:
        """Takes one IP fragment; yields problems, and the payload of the datagram if the fragment makes it whole."""
        mark = (start, hash(piece.data))
        repeated = self._whole.get(key)
        if repeated is not None and mark in repeated:
            return
        if start + len(piece) > MAX_DATAGRAM_BYTES or (more and not len(piece)):
            yield Problem("malformed", "packet", (frame,), "a fragment reaches beyond 65535 bytes or is empty")
            return
        datagram = self._open.get(key)
        if datagram is not None and time_ns - datagram.first_time_ns > self._max_age_ns:
            # The identification came round again: a new datagram, the old one will not be completed any more.
            self._give_up(key)
            datagram = None
        if datagram is None:
            datagram = self._open[key] = Datagram(key, time_ns)
        if len(datagram.frames) < 64:
            datagram.frames.append(frame)
        datagram.cut |= cut
        cost = datagram.cost()
        stop = start + len(piece)
        differs = datagram.insert(start, piece if datagram.total is None else piece[: max(datagram.total - start, 0)])
        if not more and not cut:
            if datagram.total is None:
                datagram.total = stop
                differs |= self._cut_at(datagram, stop)
            elif datagram.total != stop:
                differs = True
        elif datagram.total is not None and stop > datagram.total:
            differs = True
        if len(datagram.marks) < MAX_MARKS:
            datagram.marks.add(mark)
        self._held += datagram.cost() - cost
        if differs and not datagram.conflict:
            datagram.conflict = True
            yield Problem(
                "conflict",
                "packet",
                tuple(dict.fromkeys((*datagram.frames[:7], frame))),
                "fragments of one datagram overlap and differ; the bytes captured first are used",
            )
        if datagram.is_whole():
            self._complete(key, datagram)
            whole = TracedBytes.join(datagram.pieces)
            if datagram.conflict:
                yield Conflict(tuple(whole.extents()))
            yield whole
            return
        yield from self._keep_bounds(time_ns)

    def _complete(self, key: FragmentKey, datagram: Datagram) -> None:
        """Completes a fragmented datagram: keeps only the marks that recognise its fragments when they come again."""
        del self._open[key]
        self._held -= datagram.cost()
        self._whole[key] = datagram.marks
        self._whole.move_to_end(key)
        if len(self._whole) > REMEMBERED:
            self._whole.popitem(last=False)

    def _cut_at(self, datagram: Datagram, total: int) -> bool:
        """Drops the bytes of a fragmented datagram behind its end, which is now known. Returns whether there were any."""
        beyond = False
        while datagram.starts and datagram.starts[-1] + len(datagram.pieces[-1]) > total:
            beyond = True
            start, piece = datagram.starts.pop(), datagram.pieces.pop()
            datagram.held -= len(piece)
            if start < total:
                datagram.starts.append(start)
                datagram.pieces.append(piece[: total - start])
                datagram.held += total - start
        return beyond

    def _keep_bounds(self, time_ns: int) -> Iterator[Problem]:
        while self._open:
            key, oldest = next(iter(self._open.items()))
            if time_ns - oldest.first_time_ns > self._max_age_ns:
                self._give_up(key)
            elif len(self._open) > self._max_datagrams or self._held > self._max_bytes:
                self._give_up(key)
                yield Problem(
                    "limit",
                    "packet",
                    tuple(oldest.frames[:8]),
                    f"more than {self._max_datagrams} datagrams or {self._max_bytes} bytes wait for fragments; "
                    "the oldest is given up",
                )
            else:
                return

    def _give_up(self, key: FragmentKey) -> None:
        datagram = self._open.pop(key)
        self._held -= datagram.cost()
        self.given_up.append(datagram)

    def finish(self) -> None:
        """Gives up all fragmented datagrams that are still open. `given_up` then has every datagram that never became whole."""
        for key in list(self._open):
            self._give_up(key)
