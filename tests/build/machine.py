"""A machine whose processes are known, polled as HKEY_PERFORMANCE_DATA: what it answers at each poll, and what is true there."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from struct import pack

import numpy as np
from msgspec import Struct

from tests.build import buffers

# Title indices of the base set, and their names.
NAMES = [
    *(("2", "System"), ("4", "Memory"), ("6", "% Processor Time"), ("24", "Available Bytes"), ("180", "Working Set")),
    *(("230", "Process"), ("238", "Processor"), ("248", "Processes"), ("680", "Thread Count"), ("784", "ID Process")),
    *(("952", "Handle Count"), ("1410", "Creating Process ID")),
]
_NUMBER, _TIMER, _IDLE = 0x00010100, 0x20510500, 0x21510500
_COUNTERS = tuple(
    buffers.Counter(index, kind, 8)
    for index, kind in ((784, _NUMBER), (1410, _NUMBER), (6, _TIMER), (180, _NUMBER), (952, _NUMBER), (680, _NUMBER))
)
_PROGRAMS = ("svchost", "chrome", "conhost", "msedge", "RuntimeBroker", "taskhostw", "sqlservr", "python", "w3wp")
_TICK, _PAGE, _NO_PARENT = 156_250, 4096, (0, 0)


def _systemtime(filetime: int) -> bytes:
    """A FILETIME as SYSTEMTIME."""
    time = datetime(1601, 1, 1, tzinfo=UTC) + timedelta(microseconds=filetime // 10)
    date = time.year, time.month, time.isoweekday() % 7, time.day
    return pack("<8H", *date, time.hour, time.minute, time.second, time.microsecond // 1000)


class Shown(Struct, frozen=True):
    """What is true of a process at a poll: its processor time in percent since the poll before, None at its first."""

    name: str
    parent: int
    cpu: float | None
    memory: int
    handles: int
    threads: int


class Machine:
    """Processes that work, start and end; `seconds` apart, `answer` is what the machine says of itself."""

    def __init__(self, processes: int, seed: int = 7, *, changes: float = 0.05) -> None:
        self._rng = random.Random(seed)
        self._numbers = np.random.default_rng(seed)
        self._changes = changes
        self.time = 133_541_156_967_890_000
        self._pids: list[int] = []
        self._names: dict[int, str] = {}
        self._next_pid = 4
        self._values = np.zeros((0, len(_COUNTERS)), np.int64)
        self._before: dict[int, int] = {}
        self._passed = 0
        self._idle = np.zeros(5, np.int64)
        self.processes = 0
        for _ in range(processes):
            self._start()
        self._lay_out()

    def step(self, ns_100: int = 10_000_000) -> Machine:
        """Some time passes."""
        self._before = dict(zip(self._pids, self._values[:, 2].tolist(), strict=True))
        self.time += ns_100
        self._passed = ns_100
        count = len(self._pids)
        active = np.flatnonzero(self._numbers.random(count) < 0.15)
        self._values[active, 2] += _TICK * self._numbers.integers(0, 8, len(active))
        moved = active[self._numbers.random(len(active)) < 0.5]
        self._values[moved, 3] += _PAGE * self._numbers.integers(-40, 60, len(moved))
        self._values[:, 3] = np.maximum(self._values[:, 3], _PAGE)
        self._values[moved, 4] = np.maximum(1, self._values[moved, 4] + self._numbers.integers(-3, 4, len(moved)))
        self._idle += np.array([*self._numbers.integers(0, 64, 4) * _TICK, 0])
        self._idle[4] = self._idle[:4].sum() // 4
        if self._rng.random() < self._changes:
            self._start()
            if len(self._pids) > 2:
                self._end(self._rng.randrange(1, len(self._pids)))
            self._lay_out()
        return self

    @property
    def truth(self) -> dict[int, Shown]:
        """What is true of each process now, by its id."""
        found = {}
        for pid, row in zip(self._pids, self._values.tolist(), strict=True):
            before = self._before.get(pid)
            cpu = None if before is None else 100 * (row[2] - before) / self._passed
            found[pid] = Shown(self._names[pid], row[1], cpu, row[3], row[4], row[5])
        return found

    def answer(self) -> bytes:
        """A PERF_DATA_BLOCK with Process, Processor, Memory and System."""
        self._buffer[self._at] = self._values.astype("<u8").reshape(-1)
        cores = buffers.PerfObject(
            238,
            (buffers.Counter(6, _IDLE, 8),),
            tuple(
                buffers.Instance(name, -1, _NO_PARENT, (int(idle),))
                for name, idle in zip(("0", "1", "2", "3", "_Total"), self._idle, strict=True)
            ),
        )
        one = buffers.Instance(None, -1, _NO_PARENT, (256_000_000_000 - int(self._values[:, 3].sum()),))
        memory = buffers.PerfObject(4, (buffers.Counter(24, _NUMBER, 8),), (one,), has_instances=False)
        count = buffers.Instance(None, -1, _NO_PARENT, (len(self._pids),))
        system = buffers.PerfObject(2, (buffers.Counter(248, _NUMBER, 8),), (count,), has_instances=False)
        body = self._buffer.tobytes() + b"".join(one.encoded("little") for one in (cores, memory, system))
        head = bytearray(buffers.winperf([], clocks=(self.time, 10_000_000, self.time)))
        # TotalByteLength and NumObjectTypes.
        head[20:24], head[28:32] = pack("<I", len(body)), pack("<I", 4)
        head[36:52] = _systemtime(self.time)
        return bytes(head) + body[len(head) :]

    def _start(self) -> None:
        pid, self._next_pid = self._next_pid, self._next_pid + 4
        parent = self._rng.choice(self._pids) if self._pids else 0
        self._names[pid] = self._rng.choice(_PROGRAMS)
        self._pids.append(pid)
        row = [pid, parent, 0, _PAGE * self._rng.randrange(200, 50_000), self._rng.randrange(50, 900), 8]
        self._values = np.vstack([self._values, np.array([row], np.int64)])

    def _end(self, at: int) -> None:
        del self._pids[at]
        self._values = np.delete(self._values, at, axis=0)

    def _lay_out(self) -> None:
        """Makes the buffer anew, and finds where its values stand."""
        instances = tuple(
            buffers.Instance(self._names[pid], -1, _NO_PARENT, (0,) * len(_COUNTERS)) for pid in self._pids
        )
        data = buffers.winperf([buffers.PerfObject(230, _COUNTERS, instances)])
        self._buffer = np.frombuffer(data, "<u8").copy()
        head = len(buffers.winperf([]))
        at = head + 64 + 40 * len(_COUNTERS)
        places: list[int] = []
        for instance in instances:
            at += 24 + len(buffers.pad8(buffers.wide(instance.name or "")))
            places += [(at + 8 + 8 * column) // 8 for column in range(len(_COUNTERS))]
            at += 8 + 8 * len(_COUNTERS)
        self._at = np.array(places)
        assert at == len(data)
