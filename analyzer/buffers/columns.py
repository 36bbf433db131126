"""Performance data as rows, for whoever wants values rather than trees: buffers in, one row a value out.

Reads with the plain parsers. What stands before damage is kept, the damage is `problem`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from analyzer.buffers.adapt import TROUBLE, counter_value
from analyzer.buffers.decode import parse_positions, plan_for
from analyzer.buffers.text import utf16_text
from analyzer.core.errors import DecodeError


@dataclass(frozen=True, slots=True)
class SystemTime:
    """SYSTEMTIME ([MS-DTYP] 2.3.13), as it is written."""

    year: int
    month: int
    day_of_week: int
    day: int
    hour: int
    minute: int
    second: int
    milliseconds: int


@dataclass(frozen=True, slots=True)
class PerfRow:
    """A value of performance data, or the error block in its place.

    `block` is the position of its block in the answer. `counter_id` is None where the block does not tell (types 1 and 4;
    then the query's identifier at that index does), `instance` and `instance_id` where there is none. `data` is the value as it
    stands, None for an error block.
    """

    block: int
    block_type: int
    status: int
    counter_id: int | None
    instance: str | None
    instance_id: int | None
    data: bytes | None

    @property
    def value(self) -> int | str | None:
        """4 or 8 bytes as an unsigned integer, anything else as text (MS-PCQ 2.2.4.9)."""
        return None if self.data is None else counter_value(self.data)


@dataclass(frozen=True, slots=True)
class PerfData:
    """What PerflibV2QueryCounterData answered (MS-PCQ 2.2.4.7). The header's numbers are None where it was cut off."""

    total_size: int | None
    num_blocks: int | None
    perf_time_stamp: int | None
    perf_time_100ns: int | None
    perf_freq: int | None
    system_time: SystemTime | None
    rows: tuple[PerfRow, ...]
    problem: DecodeError | None
    notes: tuple[str, ...]


def perf_data_rows(data: bytes) -> PerfData:
    """The rows of a performance data buffer, in the order of the buffer."""
    plan = plan_for("perf-data", data, None)
    problem: DecodeError | None = None
    try:
        compiled = plan.fresh("plain")
    except TROUBLE:
        compiled, problem = parse_positions(plan)
    rows: list[PerfRow] = []
    for number, block in enumerate(getattr(compiled, "blocks", ())):
        rows.extend(_block_rows(number, block))
    clock = getattr(compiled, "system_time", None)
    return PerfData(
        getattr(compiled, "total_size", None),
        getattr(compiled, "num_blocks", None),
        getattr(compiled, "perf_time_stamp", None),
        getattr(compiled, "perf_time_100ns", None),
        getattr(compiled, "perf_freq", None),
        _system_time(clock),
        tuple(rows),
        problem,
        plan.notes,
    )


def _system_time(clock: Any) -> SystemTime | None:
    if clock is None or not hasattr(clock, "milliseconds"):
        return None
    return SystemTime(
        clock.year,
        clock.month,
        int(clock.day_of_week),
        clock.day,
        clock.hour,
        clock.minute,
        clock.second,
        clock.milliseconds,
    )


def _block_rows(number: int, block: Any) -> Iterator[PerfRow]:
    """The rows of one block, which may have been cut off at any field."""
    body = getattr(block, "body", None)
    if body is None:
        return
    kind, status = int(block.block_type), block.status
    if kind == 0:
        yield PerfRow(number, kind, status, None, None, None, None)
        return
    if kind == 1:
        if hasattr(body, "data") and hasattr(body.data, "value"):
            yield PerfRow(number, kind, status, None, None, None, body.data.value)
        return
    ids: list[int | None] = [None]
    if kind != 4:
        ids = list(getattr(getattr(body, "counters", None), "counter_ids", ()))
    if kind == 2:
        yield from _value_rows(number, kind, status, ids, None, None, body)
        return
    for instance in getattr(getattr(body, "instances", None), "instances", ()):
        header = getattr(instance, "header", None)
        if header is not None and hasattr(header, "name"):
            yield from _value_rows(number, kind, status, ids, utf16_text(header.name), header.instance_id, instance)


def _value_rows(
    number: int, kind: int, status: int, ids: list[int | None], name: str | None, instance_id: int | None, holder: Any
) -> Iterator[PerfRow]:
    for counter_id, data in zip(ids, getattr(holder, "data", ()), strict=False):
        if hasattr(data, "value"):
            yield PerfRow(number, kind, status, counter_id, name, instance_id, data.value)
