"""Collects the content of a file that passes over SMB in pieces: which ranges passed, and the digest of one run.

The digest is made as pieces come in order. Early pieces wait, up to a bound. Beyond it there is no digest. A digest is only given
of one range without a hole, without a byte that was written twice.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from hashlib import sha256

from analyzer.results.records.file import PassedContent

# Bytes that wait for those before them: of one file, and of all.
MAX_WAITING, MAX_WAITING_IN_ALL = 8 << 20, 64 << 20
_MAX_RANGES, _FIRST_BYTES = 256, 16


class EarlyBytes:
    """The number of bytes of early file content that wait, in all files."""

    def __init__(self) -> None:
        self.bytes = 0


class Content:
    """The content of one file that passed over SMB in one direction."""

    def __init__(self, waiting: EarlyBytes) -> None:
        self.bytes = 0
        self._waiting = waiting
        # Ranges that passed, sorted, none touching another: where they begin and where they end.
        self._starts: list[int] = []
        self._stops: list[int] = []
        self._is_crowded = False
        self._is_twice = False
        # The run that is hashed, None once it cannot be; pieces that came early, by their places.
        self._hash = sha256()
        self._begin: int | None = None
        self._at = 0
        self._early: dict[int, bytes] = {}
        self._early_bytes = 0
        self._is_lost = False
        self._first = b""

    def add(self, start: int, data: bytes, *, is_new: bool) -> None:
        """Adds a piece of a file's content that passed over SMB. Bytes that passed before are not taken again. `is_new`: they may
        differ (a write)."""
        if not data:
            return
        self.bytes += len(data)
        if start < _FIRST_BYTES and start <= len(self._first):
            self._first = (self._first[:start] + data[: _FIRST_BYTES - start] + self._first[start + len(data) :])[
                :_FIRST_BYTES
            ]
        for first, last in self._fresh(start, start + len(data)):
            self._take(first, data[first - start : last - start])
        if is_new and self._overlaps(start, start + len(data)):
            self._is_twice = True
        self._note(start, start + len(data))

    def passed(self, size: int | None) -> PassedContent | None:
        """Returns the ranges and the digest of the file content that passed, None if nothing passed. `size` is that of the file."""
        if not self._starts:
            return None
        self._settle()
        ranges = tuple(zip(self._starts, self._stops, strict=True))[:_MAX_RANGES]
        is_one = len(self._starts) == 1 and not self._is_crowded
        is_hashed = is_one and not self._is_lost and (self._begin, self._at) == ranges[0] and not self._is_twice
        return PassedContent(
            bytes=self.bytes,
            ranges=ranges,
            is_whole=is_one and not self._is_twice and size is not None and ranges[0] == (0, size),
            sha256=self._hash.hexdigest() if is_hashed else None,
            begins=self._first.hex() if self._first else None,
        )

    def release(self) -> None:
        """Ends the file's content, and drops the pieces that still wait."""
        self._settle()
        self._waiting.bytes -= self._early_bytes
        self._early.clear()
        self._early_bytes = 0

    @property
    def first(self) -> bytes:
        """The first bytes of the file, as far as they passed over SMB."""
        return self._first

    @property
    def end(self) -> int:
        """The end of the last range of the file's content that passed."""
        return self._stops[-1] if self._stops else 0

    def _overlaps(self, start: int, stop: int) -> bool:
        at = bisect_right(self._stops, start)
        return at < len(self._starts) and self._starts[at] < stop

    def _fresh(self, start: int, stop: int) -> list[tuple[int, int]]:
        """Returns the parts of a range of file content that did not pass before."""
        found = []
        for number in range(bisect_right(self._stops, start), len(self._starts)):
            if self._starts[number] >= stop:
                break
            if self._starts[number] > start:
                found.append((start, self._starts[number]))
            start = self._stops[number]
        if start < stop:
            found.append((start, stop))
        return found

    def _note(self, start: int, stop: int) -> None:
        """Joins a range of file content with the ranges that it touches."""
        first, last = bisect_left(self._stops, start), bisect_right(self._starts, stop)
        if first < last:
            start, stop = min(start, self._starts[first]), max(stop, self._stops[last - 1])
        elif len(self._starts) >= _MAX_RANGES:
            self._is_crowded = True
            return
        self._starts[first:last], self._stops[first:last] = [start], [stop]

    def _take(self, start: int, data: bytes) -> None:
        if self._is_lost:
            return
        if self._begin is None and start == 0:
            self._begin = 0
        if self._begin is not None and start == self._at:
            self._hash.update(data)
            self._at += len(data)
            self._follow()
            return
        if self._early_bytes + len(data) > MAX_WAITING or self._waiting.bytes + len(data) > MAX_WAITING_IN_ALL:
            self._overflow(start, data)
            return
        self._early[start] = data
        self._early_bytes += len(data)
        self._waiting.bytes += len(data)

    def _follow(self) -> None:
        """Takes the file content that waited for the bytes before it."""
        while (data := self._early.pop(self._at, None)) is not None:
            self._early_bytes -= len(data)
            self._waiting.bytes -= len(data)
            self._hash.update(data)
            self._at += len(data)

    def _overflow(self, start: int, data: bytes) -> None:
        """Takes a piece of file content that is too much to wait. If nothing was hashed yet, the run begins with the first byte
        that waits; else the hash is given up."""
        if self._begin is None:
            self._settle()
            if start == self._at:
                self._take(start, data)
                return
        self._is_lost = True
        self.release()

    def _settle(self) -> None:
        """Settles where the hashed run of file content begins: at the first byte that passed, if the file's first byte did not."""
        if self._begin is None and self._early:
            self._begin = self._at = min(self._early)
            self._follow()
