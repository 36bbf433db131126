"""Clients that watch counters: registration information, handles that are polled, and performance blocks read again and again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from struct import pack
from uuid import UUID

from msgspec.structs import replace

from analyzer.questions.series.reading_batches import points
from analyzer.questions.series.series_and_points import Point, Series
from analyzer.results.analysis import Analysis
from analyzer.transport.rpc.exchange_maker import Exchange
from tests.build.buffers import Block, PerfObject, identifier, perf_data, winperf
from tests.build.calls import COUNTERSET, HANDLE, Calls, analysis_of, winreg

NONE = 0xFFFFFFFF
SECOND = 10_000_000  # in ticks of either clock
MANY = 2


@dataclass(frozen=True)
class Info:
    """_PERF_COUNTER_REG_INFO ([MS-PCQ] section 2.2.4.2)."""

    id: int
    type: int
    base: int = NONE
    time: int = NONE
    freq: int = NONE
    multi: int = NONE
    aggregate: int = 0
    scale: int = 0
    attributes: int = 0

    def encoded(self) -> bytes:
        ids = (self.base, self.time, self.freq, self.multi, self.aggregate, 0)
        return pack("<IIQIi6I", self.id, self.type, self.attributes, 100, self.scale, *ids)


def registration_info(*infos: Info, instance_type: int = MANY, guid: str = COUNTERSET) -> bytes:
    head = UUID(guid).bytes_le + pack("<IIII", 0, 100, len(infos), instance_type)
    return head + b"".join(info.encoded() for info in infos)


def small(*values: int) -> tuple[bytes, ...]:
    return tuple(pack("<I", value) for value in values)


def large(*values: int) -> tuple[bytes, ...]:
    return tuple(pack("<Q", value) for value in values)


@dataclass
class Watch:
    """A client with one query handle. Polls are a second apart by the server's clocks, unless they say otherwise."""

    infos: tuple[Info, ...]
    instance_type: int = MANY
    handle: str = HANDLE
    make: Calls = field(default_factory=Calls)
    events: list[Exchange] = field(default_factory=list)
    polls: int = 0

    def open(self, *identifiers: bytes) -> Watch:
        """Describes the counters and opens a handle that holds what `identifiers` say."""
        self.events.append(self.make.registration(1, registration_info(*self.infos, instance_type=self.instance_type)))
        self.events += [self.make.open_query(self.handle), self.make.counter_info(b"".join(identifiers), self.handle)]
        return self

    def poll(self, *blocks: Block, ticks: int | None = None, freq: int = SECOND) -> Watch:
        self.polls += 1
        now = 1000 + self.polls * SECOND if ticks is None else ticks
        clocks = (now, 133_541_156_967_890_000 + self.polls * SECOND, freq)
        self.events.append(self.make.counter_data(perf_data(list(blocks), clocks), self.handle))
        return self

    def lose(self) -> Watch:
        """A poll whose answer was not captured."""
        self.polls += 1
        self.events.append(self.make.exchange(6, self.make.stub().handle(self.handle).uint(4096), None))
        return self

    @property
    def analysis(self) -> Analysis:
        return analysis_of(*self.events)

    def points(self) -> list[Point]:
        return list(points(self.analysis))


def whole(name: str = "*", index: int = 0) -> bytes:
    """All counters of an instance, of all instances unless it is named."""
    return identifier(COUNTERSET, counter=NONE, instance=NONE, index=index, name=name)


def one(counter: int, name: str = "*", index: int = 0, instance: int = NONE) -> bytes:
    return identifier(COUNTERSET, counter=counter, instance=instance, index=index, name=name)


@dataclass
class Reader:
    """A client that reads HKEY_PERFORMANCE_DATA, each second by the server's clocks."""

    make: Calls = field(default_factory=winreg)
    events: list[Exchange] = field(default_factory=list)
    reads: int = 0

    def read(self, *objects: PerfObject, handle: str = HANDLE, name: str = "Global") -> Reader:
        if self.reads == 0:
            self.events.append(self.make.open_key(handle=handle))
        self.reads += 1
        clocks = (self.reads * SECOND, SECOND, 133_541_156_967_890_000 + self.reads * SECOND)
        self.events.append(self.make.query_value(name, winperf(list(objects), clocks=clocks), handle))
        return self

    @property
    def analysis(self) -> Analysis:
        return analysis_of(*self.events)

    def points(self) -> list[Point]:
        return list(points(self.analysis))


class Chosen:
    """A selection of series, and of counters by all names of object and counter."""

    def __init__(
        self,
        series: Callable[[Series], bool],
        counters: Callable[[Sequence[str], Sequence[str]], bool] = lambda *_: True,
    ) -> None:
        self._series, self._counters = series, counters

    def takes_counter(self, objects: Sequence[str], counters: Sequence[str]) -> bool:
        return self._counters(objects, counters)

    def __call__(self, series: Series) -> bool:
        return self._series(series)


def without_number(point: Point) -> Point:
    """A reading, whatever the number of its series."""
    return replace(point, series=replace(point.series, number=0))
