"""The PDUs of a message that is still coming in."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import chain

from analyzer.core.traced import EMPTY, TracedBytes, spanned
from analyzer.model.pdus import Fragment, Pdus, Plain, fragment_of

# Piece, where a PDU begins in it, its length, where its stub begins and stops in the PDU, what came of it, and what opened it.
_Row = tuple[TracedBytes, int, int, int, int, Plain, str]


class PduList:
    """The PDUs of a message that is still coming in. Several may come in one piece, and nothing is copied until all are there."""

    __slots__ = ("_rows",)

    def __init__(self) -> None:
        self._rows: list[_Row] = []

    def add(self, piece: TracedBytes, at: int, length: int, start: int, stop: int, plain: Plain, step: str) -> None:
        """The PDU at `at` of a piece, its stub from `start` to `stop` of the PDU. `step` names what opened `plain`, should it
        have been sealed."""
        self._rows.append((piece, at, length, start, stop, plain, step))

    def ends_in(self, piece: TracedBytes) -> bool:
        """Whether the last PDU came in this piece."""
        return bool(self._rows) and self._rows[-1][0] is piece

    def _runs(self) -> list[tuple[TracedBytes, int, int]]:
        """Piece, first and last byte of the PDUs, neighbours together."""
        runs: list[tuple[TracedBytes, int, int]] = []
        before, first, last = EMPTY, 0, 0
        for piece, at, length, _, _, _, _ in self._rows:
            if piece is not before or at != last:
                if last > first:
                    runs.append((before, first, last))
                before, first = piece, at
            last = at + length
        return [*runs, (before, first, last)]

    def note_frames(self, frames: set[int]) -> None:
        for piece, first, last in self._runs():
            piece.source.note_frames(piece.start + first, piece.start + last, frames)

    @property
    def times(self) -> tuple[int, int] | None:
        """Times of the earliest and the latest frame."""
        return spanned(
            [piece.source.times(piece.start + first, piece.start + last) for piece, first, last in self._runs()]
        )

    def kept(self) -> Sequence[Fragment]:
        """All of them, for good."""
        if not self._rows:
            return ()
        if len(self._rows) == 1:
            piece, at, length, start, stop, plain, step = self._rows[0]
            whole = piece if length == len(piece) else piece[at : at + length]
            return Pdus.of(whole, (length,), array("I", (start, stop)), (plain,), step)
        pieces, _, lengths, starts, stops, plains, steps = zip(*self._rows, strict=True)
        whole = TracedBytes.pick(self._runs())
        decrypted_by = set(steps) - {""}
        if len(decrypted_by) <= 1 and {piece.steps for piece in pieces} == {whole.steps}:
            bounds = array("I", chain.from_iterable(zip(starts, stops, strict=True)))
            return Pdus.of(whole, lengths, bounds, plains, next(iter(decrypted_by), ""))
        # Differently carried or opened: not ordinary traffic, so it may cost more.
        return tuple(
            [
                fragment_of(piece[at : at + length], start, stop, plain, step or next(iter(decrypted_by), ""))
                for piece, at, length, start, stop, plain, step in self._rows
            ]
        )
