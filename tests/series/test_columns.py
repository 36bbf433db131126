"""Formatted values by column are those of the formulas: every vector, any two readings, every type, batches of any size."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.formats.tables import table_of
from analyzer.model.sample import Why
from analyzer.series import readings as module
from analyzer.series.columns import (
    BASE,
    CODES,
    FLAGS,
    FREQ,
    MULTI,
    NUMBER,
    OBJECT_FREQ,
    OBJECT_TICKS,
    SIGNED,
    TICKS,
    TIME,
    WHYS,
    Readings,
    format_columns,
)
from analyzer.series.formulas import TYPES, Reading, format_raw
from analyzer.series.readings import points, readings
from analyzer.views.counters import Counters
from tests.build.buffers import Block
from tests.build.counters import SECOND, Info, Watch, large, one, small, whole
from tests.records import plains
from tests.series.test_formulas import VECTORS, _as_reading, _reading, pairs, u64
from tests.series.test_formulas import readings as any_readings

_BITS = {
    "raw": NUMBER, "base": BASE, "ticks": TICKS, "freq": FREQ, "time_100ns": TIME,
    "object_ticks": OBJECT_TICKS, "object_freq": OBJECT_FREQ, "multi": MULTI,
}  # fmt: skip
BULK, AVERAGE, AVERAGE_BASE, RAW = 0x10410500, 0x40020500, 0x40030402, 0x00010000


def columns_of(*given: Reading, signed: bool = False) -> Readings:
    made = Readings.empty(len(given))
    for row, reading in enumerate(given):
        for name, bit in _BITS.items():
            value = getattr(reading, name)
            if isinstance(value, int):
                getattr(made, name)[row] = value & 0xFFFFFFFF_FFFFFFFF
                made.has[row] |= bit
        made.has[row] |= SIGNED if signed else 0
        made.size[row] = -1 if reading.size is None else reading.size
        made.base_size[row] = -1 if reading.base_size is None else reading.base_size
    return made


def check(kind: int, older: Reading | None, newer: Reading, *, signed: bool = False) -> bool:
    """Compares what the columns make of a pair with what the formulas do; whether the columns computed it."""
    before = columns_of(older if older is not None else Reading(0), signed=signed)
    made = format_columns(kind, before, columns_of(newer, signed=signed), np.array([older is not None]))
    if made.rest[0]:
        return False
    expected = format_raw(kind, older, newer)
    assert WHYS[made.why[0]] == expected.why
    assert FLAGS[made.flags[0]] == expected.flags
    if expected.value is not None:
        assert Fraction(int(made.numerator[0]), int(made.denominator[0])) == expected.value
        assert made.numerator[0] / made.denominator[0] == float(expected.value)
    return True


@pytest.mark.parametrize("vector", VECTORS["vectors"], ids=lambda vector: vector["id"])
def test_every_vector(vector: dict[str, object]) -> None:
    newer = _reading(vector["sample1"])  # type: ignore[arg-type]
    assert newer is not None
    check(int(str(vector["type_hex"]), 16), _reading(vector["sample0"]), newer)  # type: ignore[arg-type]


@settings(deadline=None, max_examples=300)
@given(st.sampled_from(sorted(TYPES)), st.none() | any_readings, any_readings)
def test_any_two_readings(kind: int, older: Reading | None, newer: Reading) -> None:
    check(kind, older, newer)


@settings(deadline=None, max_examples=300)
@given(pairs())
def test_readings_of_one_boot(pair: tuple[dict[str, object], dict[str, object] | None]) -> None:
    now, before = pair
    for kind in TYPES:
        check(kind, _as_reading(before) if before is not None else None, _as_reading(now))


@settings(deadline=None, max_examples=200)
@given(u64, st.integers(0, 1 << 34), u64, st.integers(1, 1 << 34), st.integers(1, 1 << 34))
def test_large_products_are_left_to_exact_numbers(x: int, dx: int, t: int, dt: int, freq: int) -> None:
    older, newer = (
        Reading(x, 8, ticks=t % (1 << 62), freq=freq),
        Reading(x + dx, 8, ticks=t % (1 << 62) + dt, freq=freq),
    )
    if x + dx < 1 << 64:
        assert check(BULK, older, newer) == (x < x + dx + 1 and dx * freq < 1 << 52 and dt < 1 << 52)


def test_the_usual_cases_of_every_type_are_computed_in_columns() -> None:
    """What would be left to the formulas one by one would be right, and slow."""
    older = Reading(1000, None, 10, None, 5, 10, 50, 5000, 10, 4)
    newer = Reading(1004, None, 20, None, 15, 10, 60, 5020, 10, 4)
    computed = {kind for kind in TYPES if check(kind, older, newer)}
    left = {TYPES[kind] for kind in TYPES.keys() - computed}
    assert left == {name for name in left if name.endswith("_BASE") or name == "PERF_COUNTER_TEXT"}


def test_a_first_sample_and_a_clock_that_stands_still_are_known_in_columns() -> None:
    reading = Reading(7, 8, ticks=1, freq=1)
    assert check(BULK, None, reading)
    assert check(BULK, reading, reading)
    made = format_columns(BULK, columns_of(reading), columns_of(reading), np.array([True]))
    assert made.why[0] == CODES[Why.ZERO_DENOMINATOR]


@pytest.mark.parametrize(
    ("raw", "ticks", "freq", "in_columns"),
    [
        (5, 9, 1, True),
        (5, 5, 1, True),
        (5, 9, 0, False),
        (9, 5, 1, False),
        # However large the clock: only the time since then must be exact in a double.
        (1 << 60, (1 << 60) + 5, 10, True),
        (1, 1 << 60, 10, False),
        (5, 9, 1 << 60, False),
    ],
)
def test_which_elapsed_times_are_computed_in_columns(raw: int, ticks: int, freq: int, in_columns: bool) -> None:
    """PERF_ELAPSED_TIME, of the object's clock (docs/counter-types.md)."""
    assert check(0x30240500, None, Reading(raw, object_ticks=ticks, object_freq=freq)) is in_columns


def test_signed_clocks_count_as_signed() -> None:
    assert columns_of(Reading(1, object_ticks=-5, object_freq=-1), signed=True).at(0).object_ticks == -5
    assert check(0x30240500, None, Reading(3, 8, object_ticks=10, object_freq=2), signed=True)


# ------------------------------------------------------------------------------------------------ batches


def _polls() -> Watch:
    infos = (Info(5, BULK), Info(6, AVERAGE, base=7), Info(7, AVERAGE_BASE), Info(8, RAW, aggregate=1))
    watch = Watch(infos, 6).open(whole())
    for turn in range(7):
        names = (("a", 1), ("b", 2)) if turn != 3 else (("b", 2),)
        values = tuple(
            (*large(turn * 10 + row), *large(turn * 8), *small(turn * 3), *small(row)) for row in range(len(names))
        )
        watch.poll(Block(6, ids=(5, 6, 7, 8), instances=names, values=values))
    return watch


def test_the_size_of_a_batch_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    analysis = _polls().analysis
    expected = list(points(analysis))
    assert len({point.formatted.why for point in expected}) > 3
    for size in (1, 9, 20):
        monkeypatch.setattr(module, "ROWS_AT_ONCE", size)
        assert list(points(analysis)) == expected
        assert len(list(readings(analysis))) > 1


def test_a_selection_gives_the_same_values() -> None:
    analysis = _polls().analysis
    chosen = [point for point in points(analysis) if point.series.instance == "b"]
    assert list(points(analysis, lambda series: series.instance == "b")) == chosen


def test_the_table_says_what_the_records_say() -> None:
    view = Counters(_polls().analysis, exact=True)
    rows = table_of(view).to_dicts()
    records = list(plains(view.records()))
    assert len(rows) == len(records)
    for row, record in zip(rows, records, strict=True):
        for name in ("series", "path", "call", "handle", "counter_name", "instance", "raw", "exact", "unit", "why_null", "reason",
                     "previous_call", "missed", "aggregate", "aggregated", "left_out", "counter_type", "counterset",
                     "counter_id", "block", "perf_time_stamp", "perf_freq", "perf_time_100ns"):  # fmt: skip
            assert row[name] == record.get(name), name
        assert row["value"] == (None if record["value"] is None else float(record["value"]))
        assert row["flags"] == " ".join(record["flags"])
        assert row["client_ip"] == record["client"]["ip"]


def test_the_least_capture_has_the_same_columns() -> None:
    empty = Watch((Info(5, BULK),)).open(one(5)).analysis
    full = _polls().analysis
    assert table_of(Counters(empty)).schema == table_of(Counters(full)).schema
    assert table_of(Counters(empty)).height == 0
    assert table_of(Counters(empty, interval_ns=SECOND)).schema == table_of(Counters(full, interval_ns=SECOND)).schema
