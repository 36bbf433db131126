"""Holds the PDUs of a DCERPC message that is still incoming. Long messages are spilled to a file."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from itertools import accumulate, chain

from analyzer.core.byte_log import Log
from analyzer.core.byte_origins import Source, spanned
from analyzer.core.traced_bytes import EMPTY, StoredBytes, TracedBytes
from analyzer.results.calls.pdus import Fragments, Pdus, Plain, fragment_of, stub_place

# Piece, where a PDU begins in it, its length, where its stub begins and stops in the PDU, what came of it (spilled: where that lies
# in the log), and what opened it.
_Row = tuple[TracedBytes, int, int, int, int, Plain | tuple[int, int], str]
# So many bytes of a message stay in memory.
_ROOM = 1 << 22


class PduList:
    """The PDUs of a DCERPC message that is still incoming. One piece may hold several, and nothing is copied until all are
    there."""

    __slots__ = ("_held", "_log", "_rows", "_spilled")

    def __init__(self, log: Log | None = None) -> None:
        """Long messages are spilled to the log; without one, all PDUs stay in memory."""
        self._rows: list[_Row] = []
        self._log, self._held = log, 0
        # How many rows are spilled.
        self._spilled = 0

    def add(self, piece: TracedBytes, at: int, length: int, start: int, stop: int, plain: Plain, step: str) -> None:
        """Adds the PDU at `at` of a piece to its message. Its stub is `start` to `stop` of the PDU. If it was sealed, `step` names
        what opened `plain`."""
        self._rows.append((piece, at, length, start, stop, plain, step))
        self._held += length
        if self._held > _ROOM and self._log is not None:
            self._spill(self._log)

    def _spill(self, log: Log) -> None:
        """Writes the held bytes of the message's PDUs to the log."""
        rows, first = self._rows, self._spilled
        for number in range(first, len(rows)):
            piece, at, length, start, stop, plain, step = rows[number]
            position = log.append(piece.data[at : at + length])
            spilled = StoredBytes.from_store(log, position, length, piece.source, piece.start + at, piece.steps)
            rows[number] = (spilled, 0, length, start, stop, plain, step)
        for number in range(first, len(rows)):
            *row, plain, step = rows[number]
            if isinstance(plain, bytes):
                rows[number] = (*row, (log.append(plain), len(plain)), step)  # type: ignore[assignment]  # the same five
        self._spilled, self._held = len(rows), 0

    def ends_in(self, piece: TracedBytes) -> bool:
        """Whether the last PDU of the message came in this piece."""
        return bool(self._rows) and self._rows[-1][0] is piece

    def _runs(self) -> list[tuple[TracedBytes, int, int]]:
        """Returns the piece, first and last byte of the message's PDUs. Neighbours in one piece are joined."""
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
        """The times of the earliest and the latest frame of the message's PDUs."""
        spans = [piece.source.times(piece.start + first, piece.start + last) for piece, first, last in self._runs()]
        return spans[0] if len(spans) == 1 else spanned(spans)

    def kept(self) -> tuple[Fragments, tuple[int, int] | None]:
        """Returns all PDUs of the message, independent of the buffers of the layers, and the times of their earliest and latest
        frame."""
        if not self._rows:
            return (), None
        if len(self._rows) == 1:
            piece, at, length, start, stop, plain, step = self._rows[0]
            whole, times = piece.settled(at, at + length)
            found = plain if not isinstance(plain, tuple) else self._plain(plain)
            return Pdus.from_lengths(whole, (length,), array("I", (start, stop)), (found,), step), times
        if self._spilled and self._log is not None:
            self._spill(self._log)
        pieces, _, lengths, starts, stops, plains, steps = zip(*self._rows, strict=True)
        joined = self._whole()
        whole, times = joined.settled(0, len(joined))
        decrypted_by = set(steps) - {""}
        step = next(iter(decrypted_by), "")
        if len(decrypted_by) <= 1 and {piece.steps for piece in pieces} == {whole.steps}:
            bounds = array("I", chain.from_iterable(zip(starts, stops, strict=True)))
            if (unsealed := self._unsealed(whole, lengths, bounds, step)) is not None:
                return unsealed, times
            return Pdus.from_lengths(whole, lengths, bounds, tuple(map(self._plain, plains)), step), times
        # Differently carried or opened: not ordinary traffic, so it may cost more.
        fragments = [
            fragment_of(piece.settled(at, at + length)[0], start, stop, self._plain(plain), opened_by or step)
            for piece, at, length, start, stop, plain, opened_by in self._rows
        ]
        return tuple(fragments), times

    def _whole(self) -> TracedBytes:
        """Returns the bytes of all PDUs of the message, joined."""
        runs = self._runs()
        if not self._spilled or self._log is None:
            return TracedBytes.pick(runs)
        places = [(piece.position, len(piece)) for piece, *_ in self._rows if isinstance(piece, StoredBytes)]
        return _logged(self._log, places, *TracedBytes.place(runs))

    def _unsealed(self, whole: TracedBytes, lengths: Sequence[int], bounds: array[int], step: str) -> Pdus | None:
        """Returns all PDUs of the message if all unsealed stubs are spilled, else None."""
        places = [plain for *_, plain, _ in self._rows if isinstance(plain, tuple)]
        if len(places) < len(self._rows) or self._log is None:
            return None
        stops = array("I", accumulate(lengths))
        unsealed = _logged(self._log, places, *stub_place(whole, stops, bounds), (*whole.steps, step))
        return Pdus(whole, stops, bounds, step, None, unsealed)

    def _plain(self, plain: Plain | tuple[int, int]) -> Plain:
        return self._log.read(*plain) if isinstance(plain, tuple) and self._log is not None else plain  # type: ignore[return-value]


def _logged(
    log: Log, places: Iterable[tuple[int, int]], source: Source, start: int, steps: tuple[str, ...]
) -> TracedBytes:
    """Returns bytes of PDUs or unsealed stubs at some places of a log, joined. Neighbours are read together."""
    parts = list[StoredBytes]()
    for position, length in places:
        last = parts[-1] if parts else None
        if last is not None and last.position + len(last) == position:
            parts[-1] = StoredBytes.from_store(log, last.position, len(last) + length, source, last.start, steps)
        else:
            parts.append(StoredBytes.from_store(log, position, length, source, start, steps))
        start += length
    return TracedBytes.rejoined(parts)
