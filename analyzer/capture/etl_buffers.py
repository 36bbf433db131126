"""Reads the container of an event trace log (.etl): its buffers in time order, and their events.

Each processor fills buffers of its own, and a buffer is written when it is full. So a file is in no order of time. The headers of
all buffers are read first. Then buffers are read in the order of their first events, and events later than the first event of the
next buffer wait. So little waits: at most a buffer a processor, if the file is as Windows writes it.

The layouts of logs and of their packet events are taken from the Kaitai descriptions in ksy/captures.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import orjson
from msgspec import Struct

from analyzer.capture.record_walk import words_of
from analyzer.core.byte_log import Readable
from analyzer.core.ksy_layouts import Layouts
from analyzer.core.limits import Limits
from analyzer.core.times import FILETIME_EPOCH_NS, NS_PER_S

if TYPE_CHECKING:
    import numpy.typing as npt

# ----------------------------------------------------------------------------------------------------------- etl layout


_SPECS: dict[str, Any] = orjson.loads((Path(__file__).parent / "_generated" / "specs.json").read_bytes())
_LAYOUTS: Final = Layouts(_SPECS)
_EVENT = "etl.event"


def _enum(spec: str, name: str) -> dict[str, int]:
    """Returns the numbers of a value table for trace buffers and their events, by name."""
    return {entry["id"]: int(number, 0) for number, entry in _SPECS[spec]["enums"][name].items()}


BUFFER_HEADER = _LAYOUTS.record(
    "etl.buffer_header",
    *("buffer_size", "current_offset", "processor_index", "offset", "buffer_flag", "buffer_type"),
)
BUFFER_HEADER_LEN = _LAYOUTS.record("etl.buffer_header").size
# The first three numbers of an event: a length or a version; the kind of header with its mark; another number.
EVENT_START = _LAYOUTS.record(_EVENT)
HEADER_TYPES = _enum("etl", "header_types")
BUFFER_FLAGS = _enum("etl", "buffer_flags")
CLOCK_TYPES = _enum("etl", "clock_types")
# An event of the kernel, and where the time of each kind of event stands.
SYSTEM_EVENT = _LAYOUTS.record((_EVENT, "etl.system_event"), "second", "hook_type", "hook_group", "time_stamp")
SYSTEM_EVENT_LEN = _LAYOUTS.record((_EVENT, "etl.system_event")).size
_BODIES = {
    "system_event": ("system32", "system64"),
    "compact_event": ("compact32", "compact64"),
    "perfinfo_event": ("perfinfo32", "perfinfo64"),
    "classic_event": ("full32", "full64"),
    "instance_event": ("instance32", "instance64"),
    "manifest_event": ("event32", "event64"),
}
TIME_AT = {
    HEADER_TYPES[kind]: _LAYOUTS.spans((_EVENT, f"etl.{body}"), "time_stamp")[0][0]
    for body, kinds in _BODIES.items()
    for kind in kinds
}
# Kinds whose length is their second number.
LATE_LENGTH = frozenset(
    HEADER_TYPES[kind] for body in ("system_event", "compact_event", "perfinfo_event") for kind in _BODIES[body]
)
MANIFEST_KINDS = tuple(HEADER_TYPES[kind] for kind in _BODIES["manifest_event"])
SYSTEM_KINDS = tuple(HEADER_TYPES[kind] for kind in _BODIES["system_event"])
MANIFEST_EVENT = _LAYOUTS.columns((_EVENT, "etl.manifest_event"))
MANIFEST_EVENT_LEN = MANIFEST_EVENT.itemsize
EXTENDED_ITEM = _LAYOUTS.record("etl.extended_item")
LOG_FILE_HEADER = _LAYOUTS.record(
    "etl.log_file_header",
    *("buffer_size", "provider_version", "num_processors", "end_time", "log_file_mode"),
    *("pointer_size", "events_lost", "cpu_speed_mhz"),
)
LOG_FILE_HEADER_LEN = _LAYOUTS.record("etl.log_file_header").size
_CLOCK_FIELDS = ("boot_time", "perf_freq", "start_time", "clock_type", "buffers_lost")
LOG_FILE_CLOCKS = {
    4: _LAYOUTS.record("etl.log_file_clock32", *_CLOCK_FIELDS),
    8: _LAYOUTS.record("etl.log_file_clock64", *_CLOCK_FIELDS),
}
COMPUTER_NAME_AT, COMPUTER_NAME_LEN = _LAYOUTS.spans("etl.system_config_cpu", "computer_name")[0]

NDIS_FRAGMENT = _LAYOUTS.columns("etl_packets.ndis_fragment")
PKTMON_PACKET = _LAYOUTS.columns("etl_packets.pktmon_packet")
SWITCH_SOURCE = _LAYOUTS.record("etl_packets.switch_source")
SWITCH_DESTINATION = _LAYOUTS.record("etl_packets.switch_destination")
SIZED = _LAYOUTS.record("etl_packets.ras_packet")
PKTMON_COMPONENT = _LAYOUTS.record("etl_packets.pktmon_component")
PACKET_TYPES = _enum("etl_packets", "packet_types")
DIRECTION_TAGS = _enum("etl_packets", "direction_tags")
KEYWORDS = _enum("etl_packets", "keywords")


# ---------------------------------------------------------------------------------------------------------- etl buffers


Int64s: TypeAlias = "npt.NDArray[np.int64]"
# A buffer: its place in the file, how many bytes of it are filled, the time stamp of its first event.
Placed = tuple[int, int, int]

# Sessions may have buffers of 1 KB to 16 MB (EVENT_TRACE_PROPERTIES).
FEWEST_BUFFER_BYTES, MOST_BUFFER_BYTES = 1024, 16 * 1024 * 1024
HEADER_MARK, _MESSAGE_MARK = 0xC0, 0x90
# Four bytes of ones end a buffer early.
_ENDS_EARLY = 0xFFFFFFFF
_SHORTEST, _ALIGNED = 8, 7
# Below this many buffers stepping together costs more than it saves.
_FEWEST_TOGETHER = 16
# So much that is not filled is read along with the next buffer.
_MOST_BETWEEN = 4096
_LOOKED_AT = BUFFER_HEADER_LEN + SYSTEM_EVENT_LEN
_MANIFEST_TAGS = tuple(HEADER_MARK << 8 | kind for kind in MANIFEST_KINDS)
_SYSTEM_TAGS = tuple(HEADER_MARK << 8 | kind for kind in SYSTEM_KINDS)
# The event of the configuration of a processor (SystemConfig_CPU): type 10 of group 11.
_CONFIGURATION = 11 << 8 | 10
_PROCESSOR_NUMBER = 0xFF
# Fields of a message (WPP) before its time, by bits of its options: a sequence number, a GUID or a component.
_MESSAGE_PARTS = ((1, 4), (2 | 4, 16))
_MESSAGE_TIMED, _MESSAGE_OPTIONS_AT, _MESSAGE_PARTS_AT = 8, 6, 8
FILETIMES_PER_S = 10_000_000
# A counter that is faster would not fit into the arithmetic, and no processor is.
_MOST_FREQUENCY = 9 * NS_PER_S
_FAR_S = 4 * NS_PER_S


class TraceClock(Struct, frozen=True):
    """The clock that stamps the buffers of an event trace: at time stamp `first` it was `first_ns`, and a second has `per_s`
    units."""

    kind: int
    first: int
    first_ns: int
    per_s: int

    def times_ns(self, stamps: Int64s) -> Int64s:
        """Converts time stamps in trace buffers to nanoseconds since 1970. Times centuries away become the farthest possible
        time."""
        far = self.per_s * _FAR_S
        low, high = max(self.first - far, -(1 << 63)), min(self.first + far, (1 << 63) - 1)
        passed = np.clip(stamps, low, high) - np.int64(self.first)
        seconds, rest = np.divmod(passed, np.int64(self.per_s))
        times: Int64s = seconds * np.int64(NS_PER_S) + rest * np.int64(NS_PER_S) // np.int64(self.per_s)
        times += np.int64(self.first_ns)
        return times


class LogFile(Struct, frozen=True):
    """The header of an event trace file, from the first event of its first buffer (TRACE_LOGFILE_HEADER). Times are ns since 1970.
    `ended_ns` is None if the trace was not stopped."""

    buffer_size: int
    clock: TraceClock
    pointer_size: int
    os_build: int
    processors: int
    started_ns: int
    ended_ns: int | None
    events_lost: int
    buffers_lost: int


def log_file_of(first: bytes) -> LogFile | None:
    """Reads the header of an event trace file from its first buffer. Returns None if it is damaged."""
    at = BUFFER_HEADER_LEN + SYSTEM_EVENT_LEN
    if len(first) < at + LOG_FILE_HEADER_LEN:
        return None
    stamp = SYSTEM_EVENT.unpack_from(first, BUFFER_HEADER_LEN)[3]
    size, build, processors, ended, _, pointer, events_lost, mhz = LOG_FILE_HEADER.unpack_from(first, at)
    layout = LOG_FILE_CLOCKS.get(pointer)
    if layout is None or len(first) < at + LOG_FILE_HEADER_LEN + layout.size:
        return None
    _, frequency, started, kind, buffers_lost = layout.unpack_from(first, at + LOG_FILE_HEADER_LEN)
    per_s = {
        CLOCK_TYPES["performance_counter"]: frequency,
        CLOCK_TYPES["system_time"]: FILETIMES_PER_S,
        CLOCK_TYPES["cpu_cycle"]: mhz * 1_000_000,
    }.get(kind, 0)
    started_ns, ended_ns = (time * 100 + FILETIME_EPOCH_NS for time in (started, ended))
    if not 0 < per_s <= _MOST_FREQUENCY or abs(started_ns) >= _FAR_S * NS_PER_S:
        return None
    clock = (
        TraceClock(kind, -FILETIME_EPOCH_NS // 100, 0, per_s)
        if kind == CLOCK_TYPES["system_time"]
        else TraceClock(kind, stamp, started_ns, per_s)
    )
    stopped = ended_ns if ended and abs(ended_ns) < _FAR_S * NS_PER_S else None
    return LogFile(size, clock, pointer, build, processors, started_ns, stopped, events_lost, buffers_lost)


class BufferIndex:
    """The index of an event trace log's buffers: their places, and the order in which they are read."""

    def __init__(self, limits: Limits) -> None:
        self._most = limits.trace_buffers
        self.places = array("q")
        self.lengths = array("i")
        self.firsts = array("q")
        self.largest = 0
        self.processors: set[int] = set()
        self.compressed = 0
        self.damaged = 0
        self.incomplete = False
        self.beyond = False
        # Whether buffers of the file say that events or buffers before them were lost.
        self.marked_lost = 0

    def fill(self, whole: Readable, usual: int) -> None:
        """Reads the headers of all buffers of the event trace log. `usual` is the size of a buffer that the first event states."""
        at = 0
        before = -(1 << 63)
        while at < whole.size:
            head = whole.read(at, _LOOKED_AT)
            if len(head) < BUFFER_HEADER_LEN:
                self.incomplete = True
                return
            size, _, processor, offset, flags, _ = BUFFER_HEADER.unpack_from(head)
            if not FEWEST_BUFFER_BYTES <= size <= MOST_BUFFER_BYTES:
                # A file that was made as long as it may become ends in zeros (EVENT_TRACE_FILE_MODE_PREALLOCATE).
                self.damaged += any(head)
                # All buffers of a session are of one size, so the next one is found.
                at += max(usual, FEWEST_BUFFER_BYTES)
                continue
            if at + size > whole.size:
                self.incomplete = True
            if len(self.places) >= self._most:
                self.beyond = True
                return
            filled = min(offset, size, whole.size - at)
            self.marked_lost += bool(flags & (BUFFER_FLAGS["events_lost"] | BUFFER_FLAGS["buffer_lost"]))
            if flags & BUFFER_FLAGS["compressed"]:
                self.compressed += 1
            elif offset < BUFFER_HEADER_LEN:
                self.damaged += 1
            elif filled > BUFFER_HEADER_LEN + EVENT_START.size:
                before = _first_stamp(head, before)
                self.places.append(at)
                self.lengths.append(filled)
                self.firsts.append(before)
                self.largest = max(self.largest, filled)
                is_index = flags & BUFFER_FLAGS["processor_index"]
                self.processors.add(processor if is_index else processor & _PROCESSOR_NUMBER)
            at += size

    def runs(self, size: Callable[[], int]) -> Iterator[tuple[Sequence[Placed], int | None]]:
        """Yields trace buffers in the order of their first events, about `size()` bytes at once. Each comes with the time stamp of
        the first event behind it, None at the end."""
        firsts = np.frombuffer(self.firsts, np.int64)
        order = np.argsort(firsts, kind="stable").tolist()
        run: list[Placed] = []
        held = 0
        for index in order:
            if held >= size():
                yield run, int(firsts[index])
                run, held = [], 0
            run.append((self.places[index], self.lengths[index], int(firsts[index])))
            held += self.lengths[index] + _MOST_BETWEEN
        if run:
            yield run, None


def _first_stamp(head: bytes, before: int) -> int:
    """Returns the time stamp of the first event of a trace buffer, or that of the buffer before if it has none."""
    _, kind, mark, _ = EVENT_START.unpack_from(head, BUFFER_HEADER_LEN)
    place = BUFFER_HEADER_LEN + (_message_time(head) if mark == _MESSAGE_MARK else TIME_AT.get(kind, len(head)))
    stamp = head[place : place + 8]
    return int.from_bytes(stamp, "little", signed=True) if len(stamp) == 8 else before


def _message_time(head: bytes) -> int:
    """Returns where the time stamp of a message event lies in a trace buffer, a place beyond the buffer if it has none."""
    start = BUFFER_HEADER_LEN + _MESSAGE_OPTIONS_AT
    options = int.from_bytes(head[start : start + 2], "little")
    if not options & _MESSAGE_TIMED:
        return len(head)
    return _MESSAGE_PARTS_AT + sum(size for bits, size in _MESSAGE_PARTS if options & bits)


class Events:
    """The events of some trace buffers that were read together: their bytes, and where each event begins and ends."""

    def __init__(self, whole: Readable, run: Sequence[Placed]) -> None:
        """Reads the events of these trace buffers. Buffers that are neighbours in the file are read at once."""
        run = sorted(run)
        pieces, begins, end = [], [], 0
        for placed in _neighbours(run):
            first = placed[0][0]
            piece = whole.read(first, placed[-1][0] + placed[-1][1] - first)
            pieces.append(piece)
            begins += [place - first + end for place, _, _ in placed]
            end += len(piece)
        self.data = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        self._begins = np.array(begins, np.int64)
        self._places = np.array([place for place, _, _ in run], np.int64)
        self._firsts = [first for _, _, first in run]
        stops = np.minimum(self._begins + np.array([length for _, length, _ in run], np.int64), len(self.data))
        # The number of buffers that end in bytes that are no event.
        self.starts, self.ends, self.damaged = _walked(self.data, self._begins + BUFFER_HEADER_LEN, stops)

    def __len__(self) -> int:
        return len(self.starts)

    def kinds(self) -> npt.NDArray[np.uint16]:
        """Returns the kind of header and the mark of each event in the trace buffers. The mark is the upper byte."""
        if not len(self.starts):
            return np.empty(0, np.uint16)
        shorts = np.ndarray((len(self.data) - 1,), "<u2", self.data, strides=(1,))
        return shorts[self.starts + 2]

    def turns(self, at: Int64s, stamps: Int64s) -> Int64s:
        """Returns the times by which trace events at some ascending places are ordered: the latest time stamp of their buffer so
        far. So the events of a buffer keep their order, and none comes before the buffer's first."""
        turns = stamps.copy()
        borders = [*np.searchsorted(at, self._begins).tolist(), len(at)]
        for (start, stop), first in zip(pairwise(borders), self._firsts, strict=True):
            part = turns[start:stop]
            np.maximum.accumulate(part, out=part)
            np.maximum(part, first, out=part)
        return turns

    def in_file(self, at: Int64s) -> Int64s:
        """Returns the places in the etl file of some places in the data."""
        which = np.searchsorted(self._begins, at, "right") - 1
        found: Int64s = at + (self._places - self._begins)[which]
        return found

    def of_manifests(self) -> npt.NDArray[np.bool_]:
        """Tells which events in the trace buffers come from providers with a manifest, or describe themselves."""
        kinds = self.kinds()
        found: npt.NDArray[np.bool_] = (kinds == _MANIFEST_TAGS[0]) | (kinds == _MANIFEST_TAGS[1])
        return found


def _neighbours(run: Sequence[Placed]) -> Iterator[Sequence[Placed]]:
    """Yields groups of trace buffers that are neighbours in the file, with few unfilled bytes between them."""
    start = 0
    for index in range(1, len(run) + 1):
        if index == len(run) or run[index][0] - run[index - 1][0] - run[index - 1][1] > _MOST_BETWEEN:
            yield run[start:index]
            start = index


def _walked(data: bytes, here: Int64s, stops: Int64s) -> tuple[Int64s, Int64s, int]:
    """Returns where the events of trace buffers begin and end, in order, and how many buffers hold anything else.

    All buffers step together, a gather of numpy for each step, as long as there are enough of them. The rest follows one by one.
    """
    starts, ends = array("q"), array("q")
    parts: list[tuple[Int64s, Int64s]] = []
    damaged = 0
    words = words_of(data, "<") if len(data) > _SHORTEST else np.empty(0, np.uint32)
    active = here + _SHORTEST <= stops
    here, stops = here[active], stops[active]
    while len(here) >= _FEWEST_TOGETHER:
        first = words[here]
        tags = first >> 16
        lengths = (first & 0xFFFF).astype(np.int64)
        late = _LATE[tags]
        if late.any():
            lengths = np.where(late, words[here + 4] & 0xFFFF, lengths)
        following = here + lengths
        good = _KNOWN[tags] & (lengths >= _SHORTEST) & (following <= stops)
        if not good.all():
            damaged += int((~good & (first != _ENDS_EARLY)).sum())
            here, following, stops, lengths = here[good], following[good], stops[good], lengths[good]
        parts.append((here, following))
        here = following + (-lengths & _ALIGNED)
        active = here + _SHORTEST <= stops
        if not active.all():
            here, stops = here[active], stops[active]
    for start, stop in zip(here.tolist(), stops.tolist(), strict=True):
        damaged += not _walk(data, start, stop, starts, ends)
    parts.append((np.array(starts, np.int64), np.array(ends, np.int64)))
    begun = np.concatenate([part[0] for part in parts])
    order = np.argsort(begun)
    return begun[order], np.concatenate([part[1] for part in parts])[order], damaged


def _walk(data: bytes, start: int, stop: int, starts: array[int], ends: array[int]) -> bool:
    """Appends where the events between two places of a trace buffer begin and end. Returns whether there is nothing but events."""
    read = EVENT_START.unpack_from
    add, add_end = starts.append, ends.append
    while start + _SHORTEST <= stop:
        length, kind, mark, second = read(data, start)
        tag = mark << 8 | kind
        if _LATE[tag]:
            length = second
        elif not _KNOWN[tag]:
            return bool(tag << 16 | length == _ENDS_EARLY)
        end = start + length
        if length < _SHORTEST or end > stop:
            return False
        add(start)
        add_end(end)
        start = end + (-length & _ALIGNED)
    return True


def _marked(tags: Iterable[int]) -> npt.NDArray[np.bool_]:
    """Returns a table that tells for each mark and kind of an event in trace buffers whether it is one of `tags`."""
    table = np.zeros(1 << 16, np.bool_)
    table[list(tags)] = True
    return table


_LATE = _marked(HEADER_MARK << 8 | kind for kind in LATE_LENGTH)
_KNOWN = _marked(
    [*(HEADER_MARK << 8 | kind for kind in HEADER_TYPES.values()), *(_MESSAGE_MARK << 8 | kind for kind in range(256))]
)


def computer_name(events: Events) -> str | None:
    """Reads the computer name in trace buffers, None if there is none. Kernel events of a processor's configuration state it."""
    kinds = events.kinds()
    ours = np.flatnonzero((kinds == _SYSTEM_TAGS[0]) | (kinds == _SYSTEM_TAGS[1]))
    shorts = np.ndarray((max(len(events.data) - 1, 0),), "<u2", events.data, strides=(1,))
    hooks = shorts[events.starts[ours] + EVENT_START.size]
    for index in ours[hooks == _CONFIGURATION].tolist():
        at = int(events.starts[index]) + SYSTEM_EVENT_LEN + COMPUTER_NAME_AT
        name = events.data[at : min(at + COMPUTER_NAME_LEN, int(events.ends[index]))].decode("utf-16-le", "replace")
        if found := name.partition("\0")[0]:
            return found
    return None
