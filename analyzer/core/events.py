"""Events that layers pass upward. A layer passes on events it does not know. A `Problem` is the event that ends in the report."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

from analyzer.core.byte_origins import FrameExtent
from analyzer.core.errors import DecodeError, TruncatedError, UnsupportedError
from analyzer.core.traced_bytes import TracedBytes

ProblemKind = Literal[
    "gap", "sealed", "truncated", "malformed", "unsupported", "conflict", "limit", "note", "unreadable", "failed"
]


class Event(Struct, frozen=True):
    """An event that a layer emits to the layer above."""


class StandsAlone(Event, frozen=True):
    """An event that changes what several layers share. Each layer sees all earlier events first, and later ones only after it."""


# A time in ns since 1970, then a frame: what has the same time is in the order of its frames.
Moment = tuple[int, int]


class BlockEnds(Event, frozen=True):
    """The event that a part of the capture was read. Later frames have the moment `before` or a later one, as long as frames are in
    the order of their times."""

    before: Moment


class ClockSetBack(Event, frozen=True):
    """The event that the clock of the capture went back before each of these frames. So the time between them and earlier frames is
    unknown."""

    frames: tuple[int, ...]


class CaptureEnds(Event, frozen=True):
    """The event that the capture ends. Whatever ends after it ends for that reason."""


class Conflict(Event, frozen=True):
    """The event that two versions of these bytes were captured. `extents` are those of the version that is used. A `Problem` states
    the conflict."""

    extents: tuple[FrameExtent, ...]


class Problem(Event, frozen=True):
    """A problem: something that could not be read, or was read with a reservation.

    `layer` is the one that noticed (`capture`, `packet`, `tcp`, `smb`, `rpc`, ...), `frames` the frame ids concerned, `text` one
    sentence for people, never with secrets in it. Kinds: `gap` bytes were not captured; `sealed` no key; `truncated` cut short;
    `malformed` against its specification; `unsupported` not read by this program. `conflict` means two versions of the same bytes;
    `limit` that a bound of ours was hit; `note` that no bytes were lost (a bad checksum, say). `unreadable` is a whole file of
    several. `failed` means that the program itself failed: it read no further.
    """

    kind: ProblemKind
    layer: str
    frames: tuple[int, ...]
    text: str

    @property
    def is_of_file(self) -> bool:
        """Whether the problem concerns a capture file itself: it could not be read, or not to its end."""
        return self.layer == "capture" and self.kind != "note"

    @classmethod
    def from_error(cls, layer: str, error: DecodeError, where: TracedBytes | Iterable[int]) -> Problem:
        """Makes the problem of a decode error, at the frames of `where`."""
        frames = where.frames if isinstance(where, TracedBytes) else tuple(where)
        return cls(kind_of(error), layer, frames, str(error))


def kind_of(error: DecodeError) -> Literal["malformed", "truncated", "unsupported"]:
    """Returns the kind of problem event that a decode error becomes."""
    if isinstance(error, TruncatedError):
        return "truncated"
    return "unsupported" if isinstance(error, UnsupportedError) else "malformed"
