"""Series of readings, and points: the readings of one series put together, each with what a monitor would have shown.

A series is one counter of one instance as one client saw it. Two readings make a pair when both belong to it:

* PerflibV2: the same query handle, the same counter added to it, the same instance by name and InstanceId.
* winperf: the same open of the pipe (some clients open a performance key anew for each read, so that the key proves nothing),
  object, counter and instance. Instances of one name are distinguished by the UniqueID, else by what the object's own counters "ID
  Process" and "ID Thread" say. Else the position among those of the name distinguishes them, as long as their number stays the
  same.

A pair is broken, and the reason given, in the following cases. An answer between the two lacked the instance or held an error in
its place (`interrupted`). The name now belongs to another instance (`instance-changed`), or to a different number of instances that
nothing else distinguishes (`ambiguous-instance`). Or `formulas` finds a reason in clocks and values. A lost answer breaks no pair:
the rate over the longer interval is right, `missed` counts them.

Bases, multipliers and object clocks are those of the same answer: by the ids of the registration information (PerflibV2), or
by adjacency and the object's header (winperf). One reading a series is held, whatever the length of the capture.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol

from msgspec import Struct

from analyzer.interfaces.pcq.perflib_samples import PerflibSample
from analyzer.interfaces.winperf.winperf_samples import WinperfSample
from analyzer.questions.series.formulas import ATTRIB_NO_DISPLAY, Formatted, formula_of
from analyzer.results.records.record_types import Endpoint
from analyzer.results.records.sample import Aggregate, Unit

Source = Literal["perflib-v2", "winperf"]
Key = tuple[Any, ...]
Sample = PerflibSample | WinperfSample


class Series(Struct, frozen=True):
    """A series: one counter of one instance as one client saw it. `number` counts from 1 in the order of first readings.

    `objects` and `counters` are all names of the object (the counterset) and the counter, the one to show first. `instance` is
    written as in a counter path, with parent and position; None for none. `added` is the path that the client added to its query to
    get it, None if unknown. `aggregate` says how we put several instances together.
    """

    number: int
    source: Source
    server: Endpoint
    client: Endpoint
    handle: str
    objects: tuple[str, ...]
    counters: tuple[str, ...]
    instance: str | None
    counter_type: int | None
    unit: Unit | None
    scale: int
    attributes: int
    added: str | None = None
    aggregate: Aggregate | None = None

    @property
    def path(self) -> str:
        """The counter path that names the series beside its points: `\\\\10.0.0.5\\Processor(_Total)\\% Processor Time`."""
        return f"\\\\{self.server.ip}{self.local_path}"

    @property
    def local_path(self) -> str:
        group = f"{self.objects[0]}({self.instance})" if self.instance else self.objects[0]
        return f"\\{group}\\{self.counters[0]}"

    @property
    def is_hidden(self) -> bool:
        """Whether a performance monitor shows no points of this series: it is a base, or its attributes say that it is not for
        display."""
        formula = formula_of(self.counter_type) if self.counter_type is not None else None
        return (formula is not None and formula.kind == "base") or bool(self.attributes & ATTRIB_NO_DISPLAY)


class Point(Struct, frozen=True):
    """A point: one reading of a counter series, formatted. `sample` is None for an aggregate.

    `previous_call` is the call whose answer holds the other reading of the pair. `interval_ns` lies between the two answers in the
    capture, and `server_interval_ns` between their performance clocks. `missed` answers of the handle were lost between.
    """

    series: Series
    call: int
    time_ns: int
    handle: str
    sample: Sample | None
    formatted: Formatted
    previous_call: int | None = None
    interval_ns: int | None = None
    server_interval_ns: int | None = None
    missed: int = 0
    aggregated: int | None = None
    left_out: int | None = None


class Select(Protocol):
    """Selects the counter series of which points are displayed."""

    def takes_counter(self, objects: Sequence[str], counters: Sequence[str]) -> bool:
        """Whether any series of a counter are wanted, and points of them, by all names of object and counter. This is asked before
        anything is made of instances. An unwanted counter is not read, and its series get no numbers."""
        ...

    def __call__(self, series: Series) -> bool:
        """Whether the selection wants a series of such a counter."""
        ...
