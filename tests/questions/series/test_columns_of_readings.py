"""Formatted values by column are those of the formulas: every vector, any two readings, every type, batches of any size."""

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from analyzer.questions.series.columns_of_readings import (
    BASE,
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
    Taken,
    format_columns,
)
from analyzer.questions.series.formulas import TYPES, Reading, format_raw, formula_of
from analyzer.results.records.sample import Why
from analyzer.screens.formats.table_writer import table_of
from analyzer.screens.views.counters import Counters
from tests.build.buffers import Block
from tests.build.counters import SECOND, Info, Watch, large, one, small, whole
from tests.questions.series.test_formulas import VECTORS, _as_reading, _reading, pairs, u64
from tests.questions.series.test_formulas import readings as any_readings
from tests.records import plains

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
    newer = _reading(vector["sample1"])
    assert newer is not None
    check(int(str(vector["type_hex"]), 16), _reading(vector["sample0"]), newer)


@settings(max_examples=300)
@given(st.sampled_from(sorted(TYPES)), st.none() | any_readings, any_readings)
def test_any_two_readings(kind: int, older: Reading | None, newer: Reading) -> None:
    check(kind, older, newer)


@settings(max_examples=300)
@given(pairs())
def test_readings_of_one_boot(pair: tuple[dict[str, object], dict[str, object] | None]) -> None:
    now, before = pair
    for kind in TYPES:
        check(kind, _as_reading(before) if before is not None else None, _as_reading(now))


@settings(max_examples=200)
@given(u64, st.integers(0, 1 << 34), u64, st.integers(1, 1 << 34), st.integers(1, 1 << 34))
def test_large_products_are_left_to_exact_numbers(x: int, dx: int, t: int, dt: int, freq: int) -> None:
    older, newer = (
        Reading(x, 8, ticks=t % (1 << 62), freq=freq),
        Reading(x + dx, 8, ticks=t % (1 << 62) + dt, freq=freq),
    )
    if x + dx < 1 << 64:
        assert check(BULK, older, newer) == (x < x + dx + 1 and dx * freq < 1 << 52 and dt < 1 << 52)


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


# ------------------------------------------------------------------------------------------------ tables


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


# A usual pair of readings, and what each field may be besides: nothing, zero, no change, less, and both sides of each limit.
OLDER = Reading(1000, None, 10, None, 5, 10, 50, 5000, 10, 4)
NEWER = Reading(1004, None, 20, None, 15, 10, 60, 5020, 10, 4)
LIMITS = [1 << 31, (1 << 31) + 1, (1 << 32) - 1, 1 << 32, (1 << 52) - 1, 1 << 52, (1 << 63) - 1, 1 << 63, (1 << 64) - 1]


def variations() -> Iterator[tuple[Reading, Reading]]:
    """The usual pair with one field of either reading changed, or of both."""
    yield OLDER, NEWER
    for name in Reading.__struct_fields__:
        sizes = name in ("size", "base_size")
        before = getattr(OLDER, name)
        values: list[int | None] = [4, 8, 2] if sizes else [None, 0, 1, 2, 3, before - 1, before, before + 1, *LIMITS]
        for value in values:
            older, newer = replace(OLDER, **{name: value}), replace(NEWER, **{name: value})
            yield from ((older, NEWER), (OLDER, newer), (older, newer))
            if isinstance(value, int) and value < 1 << 63:
                yield older, replace(NEWER, **{name: value + 7})
    for missing in (
        ("base", "ticks"),
        ("object_ticks", "base"),
        ("ticks", "freq"),
        ("time_100ns", "ticks"),
        ("multi", "object_ticks"),
    ):
        yield replace(OLDER, **dict.fromkeys(missing)), NEWER
        yield OLDER, replace(NEWER, **dict.fromkeys(missing))
        yield replace(OLDER, **dict.fromkeys(missing)), replace(NEWER, **dict.fromkeys(missing))


def is_small(reading: Reading) -> bool:
    numbers = [getattr(reading, name) for name in Reading.__struct_fields__]
    return all(one is None or abs(one) < 1 << 20 for one in numbers)


@pytest.mark.parametrize("kind", sorted(TYPES), ids=[TYPES[kind] for kind in sorted(TYPES)])
@pytest.mark.parametrize("signed", [False, True])
def test_pairs_that_differ_from_the_usual_in_one_thing(kind: int, signed: bool) -> None:
    """Each is what the formulas say; what is usual (numbers that have a value, and are not large) is computed in columns."""
    made = list(variations())
    older, newer = (columns_of(*(pair[number] for pair in made), signed=signed) for number in (0, 1))
    found = format_columns(kind, older, newer, np.ones(len(made), np.bool_))
    wanted = formula_of(kind)
    assert wanted is not None
    for row in range(len(made)):
        before, now = older.at(row), newer.at(row)
        expected = format_raw(kind, before, now)
        if not found.rest[row]:
            assert (WHYS[found.why[row]], FLAGS[found.flags[row]]) == (expected.why, expected.flags), (before, now)
            if expected.value is not None:
                assert Fraction(int(found.numerator[row]), int(found.denominator[row])) == expected.value, (before, now)
                assert found.numerator[row] / found.denominator[row] == float(expected.value)
        elif wanted.kind not in ("text", "base") and is_small(before) and is_small(now):
            assert expected.value is None or "wrapped" in expected.flags, (before, now)
            assert expected.why is not Why.ZERO_DENOMINATOR or wanted.kind == "elapsed", (before, now)


def test_a_first_reading_is_known_as_such_in_columns() -> None:
    for kind in TYPES:
        formula = formula_of(kind)
        found = format_columns(kind, columns_of(OLDER), columns_of(NEWER), np.zeros(1, np.bool_))
        assert (WHYS[found.why[0]] is Why.FIRST_SAMPLE) == formula.delta
        nothing = format_columns(kind, columns_of(OLDER), columns_of(replace(NEWER, raw=None)), np.zeros(1, np.bool_))
        assert WHYS[nothing.why[0]] is None
        assert nothing.rest[0]


def test_readings_are_taken_out_of_columns_as_they_were_put_in() -> None:
    whole = Reading(1, 4, 2, 8, 3, 4, 5, 6, 7, 8)
    nothing = Reading(None)
    made = columns_of(whole, nothing, replace(whole, raw=(1 << 64) - 1, ticks=(1 << 64) - 1))
    assert [made.at(row) for row in range(3)] == [
        whole,
        nothing,
        replace(whole, raw=(1 << 64) - 1, ticks=(1 << 64) - 1),
    ]
    signed = columns_of(
        replace(
            whole,
            raw=1 << 63,
            base=1 << 63,
            multi=1 << 63,
            ticks=-1,
            freq=-2,
            time_100ns=-(1 << 63),
            object_ticks=-4,
            object_freq=-5,
        ),
        signed=True,
    )
    assert signed.at(0) == Reading(1 << 63, 4, 1 << 63, 8, -1, -2, -(1 << 63), -4, -5, 1 << 63)
    assert len(made) == 3
    empty = Readings.empty(2)
    assert [empty.at(row) for row in range(2)] == [nothing] * 2
    empty.put(np.array([1]), columns_of(whole))
    assert [empty.at(row) for row in range(2)] == [nothing, whole]
    begin = np.array([1])
    taken = Taken(made, np.array([0, 0, 1]), begin, columns_of(replace(whole, raw=9)))
    assert [taken.at(row) for row in range(3)] == [whole, replace(whole, raw=9), nothing]
    assert [Taken(made, np.array([1, 0])).at(row) for row in range(2)] == [nothing, whole]
    with pytest.raises(AttributeError):
        _ = taken.other
