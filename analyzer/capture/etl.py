"""Reads event trace logs of Windows (.etl, from `netsh trace` and `pktmon`) as blocks of frames.

Frames are numbered from 1 in the order of their times, one for each packet that the trace holds, as microsoft/etl2pcapng writes
them. A packet that pktmon saw at several components has as many numbers; the first one is given out. A packet in several events
(before Windows 8.1) ends with the last of them, and has its time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Literal

import numpy as np

from analyzer.capture.decompression import ByteStream
from analyzer.capture.etl_buffers import (
    CLOCK_TYPES,
    MOST_BUFFER_BYTES,
    BufferIndex,
    Events,
    LogFile,
    computer_name,
    log_file_of,
)
from analyzer.capture.etl_packets import (
    LACKING,
    NO_LINK,
    ROW,
    Appearances,
    PacketEvents,
    PacketPieces,
    Rows,
    chosen,
    gathered,
    together,
    unprotected,
)
from analyzer.capture.frame_blocks import FrameBlock, LinkType, heads_of
from analyzer.core.byte_log import Log, Readable
from analyzer.core.events import Problem
from analyzer.core.frame_ids import frame_id
from analyzer.core.limits import DEFAULTS, Limits
from analyzer.core.printable_text import counted
from analyzer.results.records.capture_records import EventTrace, ProcessHint, TraceInterface

# A stream that cannot be read at any place goes to a temporary file above this size.
_IN_MEMORY = 8 * 1024 * 1024
_PIECE = 1024 * 1024
_MOST_PROCESSES, _MOST_HINTS = 1 << 16, 64
_CLOCKS: dict[int, Literal["performance counter", "system time", "cpu cycles"]] = {
    CLOCK_TYPES["performance_counter"]: "performance counter",
    CLOCK_TYPES["system_time"]: "system time",
    CLOCK_TYPES["cpu_cycle"]: "cpu cycles",
}


class TracedBlock(FrameBlock, frozen=True, eq=False):
    """Frames of an event trace log (.etl). `rows` (of `ROW`) has the notes on each frame. Their `interface` is a place in
    `interfaces`."""

    rows: Rows


class EtlFile:
    """Reads one event trace log (.etl) as blocks of frames. `block_bytes` may change between blocks."""

    def __init__(
        self,
        stream: ByteStream,
        file: int,
        names: dict[str, str],
        *,
        block_bytes: int,
        limits: Limits = DEFAULTS,
        appearances: bool = False,
    ) -> None:
        """With `appearances`, every report of pktmon about a packet becomes a frame of the trace."""
        self.block_bytes = block_bytes
        self.names = names
        self.file = file
        self._log_file: LogFile | None = None
        self._stream = stream
        self._limits = limits
        self._events = PacketEvents(limits)
        self._index = BufferIndex(limits)
        self._appearances = None if appearances else Appearances(limits)
        self._pieces = PacketPieces(limits)
        self._number = 0
        # Packets that wait for earlier ones, and their bytes.
        self._waiting = np.empty(0, ROW)
        self._held = b""
        self._computer: str | None = None
        self._processes: Counter[int] = Counter()
        self._damaged_buffers = 0
        self._out_of_order = False
        self._unread = 0
        self._dropped = 0

    def __iter__(self) -> Iterator[TracedBlock | Problem]:
        place = self._stream.any_place()
        whole = place if place is not None else self._spooled()
        log_file = log_file_of(whole.read(0, MOST_BUFFER_BYTES))
        if log_file is None:
            yield self._problem("malformed", "the header of the trace is damaged; nothing is read")
            return
        self._index.fill(whole, log_file.buffer_size)
        for run, horizon in self._index.runs(lambda: self.block_bytes):
            events = Events(whole, run)
            self._damaged_buffers += events.damaged
            if self._computer is None:
                self._computer = computer_name(events)
            rows = self._events.packets_of(events)
            rows["part"] = 1
            rows, parts = together((self._waiting, rows)), (self._held, events.data)
            del events
            rows = self._ready(rows, parts, horizon)
            yield from self._blocks(log_file, rows, parts)
        self._log_file = log_file
        yield from self._notes(log_file, place.damage if place is not None else self._stream.damage)

    @property
    def interfaces(self) -> tuple[TraceInterface, ...]:
        """The network interfaces of the event trace log that saw packets, with the names met so far."""
        return self._events.interfaces

    def trace_of(self, name: str) -> EventTrace | None:
        """Returns the facts of the event trace log besides its packets, under this file name. They are known at its end."""
        log_file = self._log_file
        if log_file is None:
            return None
        return EventTrace(
            file=name,
            computer=self._computer,
            os_build=log_file.os_build,
            processors=log_file.processors,
            clock=_CLOCKS[log_file.clock.kind],
            started_ns=log_file.started_ns,
            ended_ns=log_file.ended_ns,
            events_lost=log_file.events_lost,
            buffers_lost=log_file.buffers_lost,
            appearances=self._appearances.count if self._appearances is not None else 0,
            dropped=self._dropped,
            interfaces=self.interfaces,
            process_hints=tuple(
                ProcessHint(process=process, frames=count)
                for process, count in self._processes.most_common(_MOST_HINTS)
            ),
        )

    def _spooled(self) -> Readable:
        """Copies the etl stream into memory or a temporary file, so that it can be read at any place."""
        log = Log(_IN_MEMORY)
        while piece := self._stream.read(_PIECE):
            log.append(piece)
        return _Spooled(log)

    def _ready(self, rows: Rows, parts: tuple[bytes, bytes], horizon: int | None) -> Rows:
        """Returns the packets that become the next frames of the event trace log: those whose turn is before a time stamp, in
        order; at the end all. The others wait."""
        rows = chosen(rows, np.lexsort((rows["at"], rows["turn"])))
        count = len(rows) if horizon is None else int(np.searchsorted(rows["turn"], horizon))
        if int(rows["size"][count:].sum()) + ROW.itemsize * (len(rows) - count) > self._limits.trace_waiting:
            # The files of no session are like this.
            self._out_of_order = True
            count = len(rows)
        self._waiting = chosen(rows, np.arange(count, len(rows)))
        self._held, self._waiting["start"] = gathered(self._waiting, parts)
        self._waiting["part"] = 0
        return rows[:count]

    def _blocks(self, log_file: LogFile, rows: Rows, parts: tuple[bytes, ...]) -> Iterator[TracedBlock]:
        """Yields ordered packets of the event trace log as frames: joined from fragments, numbered, each packet once."""
        if not len(rows):
            return
        if not (rows["begins"] & rows["ends"]).all():
            rows, joined = self._pieces.joined(rows, parts)
            parts = (*parts, joined)
        data, starts = gathered(rows, parts)
        numbers = np.arange(self._number + 1, self._number + 1 + len(rows), dtype=np.int64)
        self._number += len(rows)
        good = (rows["link"] != NO_LINK) & (rows["link"] != LACKING)
        self._unread += int((rows["link"] == NO_LINK).sum())
        self._dropped += int(rows["dropped"].sum())
        if self._appearances is not None and rows["group"].any():
            good &= self._appearances.first(rows, data, starts)
        if not good.all():
            rows, numbers, starts = chosen(rows, good), numbers[good], starts[good]
        if not len(rows):
            return
        self._count_processes(rows)
        times = log_file.clock.times_ns(rows["stamp"].astype(np.int64))
        links = rows["link"].astype(np.int64)
        if (wireless := links == LinkType.IEEE802_11).any():
            data = unprotected(data, starts[wireless & (rows["size"] > 1)])
        heads = heads_of(data, starts)
        borders = [0, *(np.flatnonzero(np.diff(links)) + 1).tolist(), len(rows)]
        for start, stop in pairwise(borders):
            run = slice(start, stop)
            yield TracedBlock(
                data,
                int(links[start]),
                numbers[run] + frame_id(self.file, 0),
                times[run],
                starts[run],
                rows["size"][run].copy(),
                rows["original"][run].copy(),
                heads[run],
                rows[run],
            )

    def _count_processes(self, rows: Rows) -> None:
        found, counts = np.unique(rows["process"], return_counts=True)
        for process, count in zip(found.tolist(), counts.tolist(), strict=True):
            if process in self._processes or len(self._processes) < _MOST_PROCESSES:
                self._processes[process] += count

    def _notes(self, log_file: LogFile, damage: str | None) -> Iterator[Problem]:
        index = self._index
        if damage or index.incomplete:
            kind: Literal["limit", "truncated"] = "limit" if self._stream.is_limited else "truncated"
            yield self._problem(kind, damage or "the file ends in the middle of a buffer")
        if damaged := index.damaged + self._damaged_buffers:
            yield self._problem(
                "malformed", f"{_buffers_are(damaged)} damaged; what follows the damage in them is not read"
            )
        if index.compressed:
            yield self._problem(
                "unsupported",
                f"{_buffers_are(index.compressed)} compressed, which no document describes: they are not read; "
                "`netsh trace convert` and `pktmon etl2pcap` on Windows read them",
            )
        if index.beyond:
            yield self._problem(
                "limit", f"the trace has more than {self._limits.trace_buffers} buffers; the rest are not read"
            )
        if self._out_of_order:
            yield self._problem(
                "limit", "packets of several processors are so far apart in the file that some are out of order"
            )
        if lost := log_file.events_lost:
            yield self._problem(
                "gap",
                f"{counted(lost, 'event was', 'events were')} lost while the trace was written, packets perhaps among them",
            )
        if lost := log_file.buffers_lost:
            yield self._problem(
                "gap", f"{counted(lost, 'buffer was', 'buffers were')} lost while the trace was written"
            )
        elif index.marked_lost and not log_file.events_lost:
            yield self._problem("gap", f"{_buffers_are(index.marked_lost)} marked: events before them were lost")
        yield from self._notes_of_packets()
        if log_file.ended_ns is None:
            yield self._problem("note", "the trace was not stopped: its last buffers may be missing")
        if not self._number:
            yield self._problem("note", "no event of the trace carries a packet of NDIS packet capture or pktmon")

    def _notes_of_packets(self) -> Iterator[Problem]:
        if damaged := self._events.damaged:
            text = counted(
                damaged,
                "packet event is shorter than it says; it is left out",
                "packet events are shorter than they say; they are left out",
            )
            yield self._problem("malformed", text)
        if lacking := self._pieces.lacking + len(self._pieces.open):
            packets, are = counted(lacking, "packet"), "it is" if lacking == 1 else "they are"
            yield self._problem("gap", f"of {packets} in several events some events are missing; {are} left out")
        if self._unread:
            text = counted(
                self._unread,
                "packet of pktmon begins with no header that is read here; it is left out",
                "packets of pktmon begin with no header that is read here; they are left out",
            )
            yield self._problem("unsupported", text)
        if self._dropped:
            text = counted(
                self._dropped,
                "frame is a packet that Windows dropped, as pktmon noted: it went no further",
                "frames are packets that Windows dropped, as pktmon noted: they went no further",
            )
            yield self._problem("note", text)
        if self._appearances is not None and (count := self._appearances.count):
            frames = counted(count, "frame is a packet", "frames are packets")
            text = f"{frames} that pktmon saw before at another component; each packet is read once"
            yield self._problem("note", text)

    def _problem(
        self, kind: Literal["truncated", "malformed", "limit", "note", "gap", "unsupported"], text: str
    ) -> Problem:
        return Problem(kind, "capture", (), text)


class _Spooled:
    """The bytes of an event trace log that came as a stream, readable at any place."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self.size = log.end

    def read(self, position: int, length: int) -> bytes:
        return self._log.read(position, min(length, self.size - position))


def _buffers_are(count: int) -> str:
    return counted(count, "buffer of the trace is", "buffers of the trace are")
