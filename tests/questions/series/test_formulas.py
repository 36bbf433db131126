"""One counter type at a time: every vector exactly, every break of a pair by its name, never a wild number.

`formula_vectors.json` was computed apart from this program, from the published formulas.
"""

import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.interfaces.buffers.counter_type_names import counter_type_name
from analyzer.questions.series.formulas import (
    TYPES,
    Reading,
    Why,
    aggregate,
    format_raw,
    formula_of,
    has_own_clock,
    scaled,
    shown,
    type_name,
    unit_of,
    width_of_type,
)
from tests.questions.series.recomputed import FORMULAS
from tests.written import IS_WRITING, is_as_written

SHOWN = Path(__file__).parent / "tables" / "formulas.txt"
VECTORS = json.loads((Path(__file__).parent / "formula_vectors.json").read_text(encoding="utf-8"))
_WHY = {
    "NEED_TWO_SAMPLES": Why.FIRST_SAMPLE,
    "NEGATIVE_DELTA": Why.NEGATIVE_DELTA,
    "ZERO_DENOMINATOR": Why.ZERO_DENOMINATOR,
    "NOT_DISPLAYED": Why.NOT_DISPLAYED,
    "TEXT": Why.TEXT,
}
_UNITS = {"": "", "%": "%", "/sec": "/s", "secs": "s"}

COUNTER, BULK, TIMER_INV, AVERAGE_BULK, ELAPSED = 0x10410400, 0x10410500, 0x21410500, 0x40020500, 0x30240500
RAW_FRACTION, PRECISION_OBJECT, MULTI_TIMER = 0x20020400, 0x20670500, 0x22410500


def _reading(sample: dict[str, Any] | None) -> Reading | None:
    if sample is None:
        return None
    return Reading(
        sample["raw"] if "raw" in sample else sample["raw_text"],
        base=sample.get("base"),
        ticks=sample.get("PerfTimeStamp"),
        freq=sample.get("PerfFreq"),
        time_100ns=sample.get("PerfTime100NSec"),
        object_ticks=sample.get("PerfTimeId_value"),
        object_freq=sample.get("PerfFreqId_value"),
        multi=sample.get("MultiId_value"),
    )


def _fraction(value: dict[str, Any] | None) -> Fraction | None:
    return Fraction(value["num"], value["den"]) if value is not None else None


@pytest.mark.parametrize("vector", VECTORS["vectors"], ids=lambda vector: vector["id"])
def test_every_vector_exactly(vector: dict[str, Any]) -> None:
    counter_type = int(vector["type_hex"], 16)
    newer = _reading(vector["sample1"])
    assert newer is not None
    formatted = format_raw(counter_type, _reading(vector["sample0"]), newer)
    assert formatted.value == _fraction(vector["value"])
    assert formatted.why == _WHY.get(vector["status"])
    assert ("wrapped" in formatted.flags) == vector.get("wrapped", False)
    assert unit_of(counter_type) == _UNITS[vector["suffix"]]
    assert type_name(counter_type) == vector["type"]
    if "scaled" in vector:
        assert formatted.value is not None
        assert scaled(formatted.value, vector["DefaultScale"]) == _fraction(vector["scaled"])
    if vector.get("display") and formatted.value is not None:
        formula = formula_of(counter_type)
        assert shown(formatted.value, is_hex=formula.is_hex) == vector["display"]


@pytest.mark.parametrize("vector", [one for one in VECTORS["aggregates"] if "values" in one], ids=lambda one: one["id"])
def test_every_aggregate_exactly(vector: dict[str, Any]) -> None:
    values = [Fraction(value["num"], value["den"]) for value in vector["values"]]
    assert aggregate(vector["AggregateFunc"], values) == _fraction(vector["expected"])


def test_averages_are_taken_of_formatted_values() -> None:
    vector = next(one for one in VECTORS["aggregates"] if one["id"] == "AG-ratio-order")
    formatted = [
        format_raw(AVERAGE_BULK, Reading(0, base=0), Reading(one["dX"], base=one["dB"])).value
        for one in vector["instances"]
    ]
    assert aggregate(2, [value for value in formatted if value is not None]) == _fraction(vector["cook_then_average"])


def test_every_type_has_the_name_of_the_tables() -> None:
    assert {kind: counter_type_name(kind) for kind in TYPES} == TYPES


u32, u64 = st.integers(0, (1 << 32) - 1), st.integers(0, (1 << 64) - 1)
maybe = st.none() | u64
readings = st.builds(
    Reading, maybe | st.text(max_size=3), st.sampled_from([None, 4, 8, 2]), maybe, st.sampled_from([None, 4, 8]),
    maybe, st.none() | st.sampled_from([0, 1, 10_000_000]) | u64, maybe, maybe, maybe, maybe,
)  # fmt: skip


@settings(max_examples=300)
@given(st.sampled_from(sorted(TYPES)) | u32, st.none() | readings, readings)
def test_any_two_readings_give_a_value_or_a_reason(kind: int, older: Reading | None, newer: Reading) -> None:
    formatted = format_raw(kind, older, newer)
    assert (formatted.value is None) == (formatted.why is not None)


# Numbers close together as well as far apart, so that growth, falls, wraps and standing still all come up.
near = st.integers(0, 6) | st.integers((1 << 32) - 6, (1 << 32) - 1)
sizes = st.sampled_from([4, 8])


@st.composite
def pairs(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Two readings of one boot of the machine; now and then something is missing."""

    def seldom_missing(values: st.SearchStrategy[int]) -> int | None:
        return draw(values) if draw(st.integers(0, 8)) else None

    frequencies = {name: seldom_missing(st.integers(0, 3)) for name in ("freq", "clock_freq")}
    start = {name: draw(near) for name in ("ticks", "time", "clock", "x", "base")}
    widths = {name: draw(sizes) for name in ("x_size", "base_size")}

    def reading(later: int) -> dict[str, Any]:
        grown = {name: seldom_missing(st.integers(value, value + later)) for name, value in start.items()}
        fallen = {"x": draw(near)} if grown["x"] is None or not draw(st.integers(0, 3)) else {}
        return {**grown, **fallen, **widths, **frequencies, "multi": seldom_missing(st.integers(0, 3))}

    before = reading(0) if draw(st.integers(0, 8)) else None
    return reading(5), before


def _as_reading(read: dict[str, Any]) -> Reading:
    names = ("x", "x_size", "base", "base_size", "ticks", "freq", "time", "clock", "clock_freq", "multi")
    return Reading(*(read[name] for name in names))


def test_every_type_has_a_second_opinion() -> None:
    assert FORMULAS.keys() == TYPES.keys()


@settings(max_examples=300)
@given(pairs())
def test_the_formula_read_off_the_bits_is_the_one_written_by_hand(
    pair: tuple[dict[str, Any], dict[str, Any] | None],
) -> None:
    now, before = pair
    for kind in TYPES:
        formatted = format_raw(kind, _as_reading(before) if before is not None else None, _as_reading(now))
        assert formatted.value == FORMULAS[kind](now, before), type_name(kind)


@settings(max_examples=100)
@given(u64, st.integers(0, 1 << 40), u64, st.integers(1, 1 << 40), st.integers(1, 1 << 34))
def test_a_rate_does_not_depend_on_where_counter_and_clock_began(x: int, dx: int, t: int, dt: int, freq: int) -> None:
    moved = format_raw(BULK, Reading(x, 8, ticks=t, freq=freq), Reading(x + dx, 8, ticks=t + dt, freq=freq))
    assert moved.value == Fraction(dx * freq, dt)


@settings(max_examples=100)
@given(u64, st.integers(0, 1 << 40), u64, st.integers(1, 1 << 40))
def test_a_timer_and_its_inverse_make_a_hundred(x: int, dx: int, t: int, dt: int) -> None:
    older, newer = Reading(x, 8, ticks=t, freq=1), Reading(x + dx, 8, ticks=t + dt, freq=1)
    busy, idle = format_raw(0x20410500, older, newer).value, format_raw(TIMER_INV, older, newer).value
    assert busy is not None
    assert idle is not None
    assert busy + idle == 100


@settings(max_examples=100)
@given(u32, u32)
def test_32_bits_go_round_by_less_than_half(x0: int, x1: int) -> None:
    formatted = format_raw(0x00400400, Reading(x0, 4), Reading(x1, 4))
    if formatted.value is None:
        assert formatted.why is Why.RESET
        assert x0 - x1 < 1 << 31
    else:
        assert (x0 + formatted.value) % (1 << 32) == x1


def test_the_document_lists_every_type_as_it_is_computed() -> None:
    """docs/counter-types.md: name, number, width, readings, formula and unit of each type."""
    document = (Path(__file__).parents[3] / "docs" / "counter-types.md").read_text(encoding="utf-8")
    rows = [[cell.strip(" `") for cell in line.split("|")[1:-2]] for line in document.splitlines() if "| `0x" in line]
    widths = {0x000: "32", 0x100: "64", 0x300: "any"}
    expected = []
    for kind, name in TYPES.items():
        formula = formula_of(kind)
        readings = "–" if formula.kind == "base" else str(formula.samples)
        expected.append([name, f"{kind:#010x}", widths[kind & 0x300], readings, formula.words, formula.unit])
    assert rows == expected


def test_the_document_explains_every_reason() -> None:
    document = (Path(__file__).parents[3] / "docs" / "counter-types.md").read_text(encoding="utf-8")
    for why in Why:
        assert f"`{why}`" in document, why


OBJECT_QUEUE, QUEUE, AVERAGE_TIMER, PRECISION_SYSTEM, MULTI_INV = (
    0x00650500,
    0x00450500,
    0x30020400,
    0x20470500,
    0x23410500,
)


PAIRS: list[tuple[int | None, Reading | None, Reading]] = [
    # What is not formatted.
    (None, None, Reading(1)),
    (0x12345678, Reading(1), Reading(2)),
    (0x00012000, None, Reading(2)),
    (0x40000200, None, Reading(1)),
    (0x00000B00, None, Reading("a", 7)),
    (0x40030403, None, Reading(1, 4)),
    (0x40030403, None, Reading(1, 8)),
    (0x40030500, None, Reading(1, 4)),
    (COUNTER, None, Reading(None)),
    (COUNTER, None, Reading("ab", 6)),
    (BULK, None, Reading("ab", 6)),
    (BULK, None, Reading(1, 4)),
    # Two readings; Samba sends 32-bit types in 8 bytes, and such a value does not go round at 32 bits.
    (COUNTER, Reading(9, 8), Reading(1, 8)),
    (0x00400500, Reading("a"), Reading(1)),
    (0x00400500, Reading(5), Reading(3)),
    (0x00400500, Reading(5, 4), Reading(3, 8)),
    (0x00400500, Reading(1 << 31, 4), Reading(0, 4)),
    (0x00400400, Reading(1 << 31), Reading(0)),
    (0x00400400, Reading(1 << 31, None), Reading(0, 4)),
    (0x00400400, Reading((1 << 31) - 1), Reading(0)),
    (0x00400400, Reading(7), Reading(7)),
    # Clocks.
    (QUEUE, Reading(1), Reading(2, ticks=5)),
    (QUEUE, Reading(1, ticks=5), Reading(2)),
    (QUEUE, Reading(1), Reading(2)),
    (QUEUE, Reading(1, ticks=5), Reading(2, ticks=5)),
    (QUEUE, Reading(1, ticks=5), Reading(2, ticks=4)),
    (0x00550500, Reading(1, time_100ns=5), Reading(2, time_100ns=4)),
    (0x00550500, Reading(1, time_100ns=5), Reading(2, time_100ns=5)),
    (OBJECT_QUEUE, Reading(1, object_ticks=5), Reading(2, object_ticks=5)),
    (OBJECT_QUEUE, Reading(1, object_ticks=5, object_freq=7), Reading(2, object_ticks=6, object_freq=8)),
    (OBJECT_QUEUE, Reading(1, object_ticks=5), Reading(2, object_ticks=6, object_freq=8)),
    (OBJECT_QUEUE, Reading(1, object_ticks=5, object_freq=8), Reading(2, object_ticks=6)),
    (QUEUE, Reading(1, ticks=5, object_freq=7), Reading(2, ticks=6, object_freq=8)),
    (QUEUE, Reading(1, ticks=5, freq=7), Reading(2, ticks=6, freq=8)),
    (QUEUE, Reading(1, ticks=5, freq=7), Reading(2, ticks=6)),
    (BULK, Reading(1, ticks=5, freq=0), Reading(2, ticks=6, freq=0)),
    (BULK, Reading(1, ticks=5), Reading(2, ticks=6)),
    (BULK, Reading(1, ticks=5, freq=-5), Reading(2, ticks=6, freq=-5)),
    (BULK, Reading(1, ticks=5, freq=1), Reading(2, ticks=6, freq=1)),
    # Bases.
    (AVERAGE_TIMER, Reading(1, base=1), Reading(2, base=2, freq=0)),
    (AVERAGE_TIMER, Reading(1, base=1), Reading(2, base=2, freq=1)),
    (AVERAGE_BULK, Reading(1, base=1), Reading(2, base=1)),
    (AVERAGE_BULK, Reading(1), Reading(2)),
    (AVERAGE_BULK, Reading(1, base=1), Reading(2)),
    (RAW_FRACTION, None, Reading(2, base=0)),
    (RAW_FRACTION, None, Reading(2)),
    (PRECISION_SYSTEM, Reading(1, base=9), Reading(2, base=8)),
    (AVERAGE_BULK, Reading(1, base=(1 << 32) - 1), Reading(2, base=0)),
    (AVERAGE_BULK, Reading(1, base=9, base_size=8), Reading(2, base=8, base_size=8)),
    (0x20C20400, Reading((1 << 32) - 1, base=(1 << 32) - 1), Reading(0, base=1)),
    (AVERAGE_BULK, Reading(1, base=9), Reading(2, base=8)),
    # Multipliers.
    (MULTI_TIMER, Reading(0, ticks=0, multi=1), Reading(1, ticks=4, multi=5)),
    (MULTI_TIMER, Reading(0, ticks=0), Reading(1, ticks=4, multi=0)),
    (MULTI_TIMER, Reading(0, ticks=0), Reading(1, ticks=4)),
    (MULTI_INV, Reading(0, ticks=0), Reading(1, ticks=4, multi=2)),
    (MULTI_INV, Reading(0, ticks=0), Reading(1, ticks=4, multi=0)),
    (MULTI_INV, Reading(0, ticks=4), Reading(1, ticks=4, multi=2)),
    # Ages.
    (ELAPSED, None, Reading(5, object_ticks=4, object_freq=1)),
    (ELAPSED, None, Reading(5, object_ticks=5, object_freq=1)),
    (ELAPSED, None, Reading(5, object_ticks=9)),
    (ELAPSED, None, Reading(5, object_freq=9)),
    (ELAPSED, None, Reading(5, object_ticks=9, object_freq=0)),
    (ELAPSED, None, Reading(5, object_ticks=9, object_freq=-1)),
    # A precision object timer, by its clock or its base.
    (PRECISION_OBJECT, Reading(0, base=1, object_ticks=3), Reading(1, base=2, object_ticks=3)),
    (PRECISION_OBJECT, Reading(0, base=1), Reading(1, base=1)),
]


def shows(kind: int | None, older: Reading | None, newer: Reading) -> str:
    made = format_raw(kind, older, newer)
    value = made.value if made.value is not None else made.why
    first, second = (re.sub(r", \w+=None", "", f"{one}") for one in (older, newer))
    return f"{type_name(kind or 0)}: {first}, {second}: {value}, {made.reason}, {' '.join(made.flags) or 'no flags'}\n"


@pytest.mark.parametrize("pair", PAIRS)
def test_a_pair_and_what_it_shows(pair: tuple[int | None, Reading | None, Reading]) -> None:
    assert IS_WRITING or shows(*pair) in SHOWN.read_text("utf-8")


def test_all_pairs_are_in_one_text() -> None:
    is_as_written(SHOWN, "".join(shows(*pair) for pair in PAIRS))


@pytest.mark.parametrize(
    ("value", "is_hex", "attributes", "text"),
    [
        (Fraction(255), True, 0, "FF"),
        (Fraction(255), False, 0x10, "FF"),
        (Fraction(0), True, 0, "0"),
        (Fraction(-255), True, 0, "-255"),
        (Fraction(511, 2), True, 0, "255.500"),
        (Fraction(255), False, 0, "255"),
        (Fraction(255), False, 0x8, "255.000"),
        (Fraction(255), True, 0x8, "FF"),
        (Fraction(255), False, 0x6, "255"),
        (Fraction(1, 3), False, 0, "0.333"),
        (Fraction(2, 3), False, 0x8, "0.667"),
        (Fraction(-2, 3), False, 0, "-0.667"),
        (Fraction(-7, 2), False, 0, "-3.500"),
        (Fraction(-1, 10000), False, 0, "0.000"),
        (Fraction(12345678, 1000), False, 0, "12345.678"),
        (Fraction(10009, 10000), False, 0, "1.001"),
    ],
)
def test_numbers_are_shown_as_type_and_attributes_ask(
    value: Fraction, is_hex: bool, attributes: int, text: str
) -> None:
    assert shown(value, is_hex=is_hex, attributes=attributes) == text


def test_scales_are_powers_of_ten_from_minus_ten_to_ten() -> None:
    assert [scaled(Fraction(3), scale) for scale in (-11, -10, -1, 0, 1, 10, 11)] == [
        None,
        Fraction(3, 10**10),
        Fraction(3, 10),
        3,
        30,
        3 * 10**10,
        None,
    ]


def test_aggregates_of_nothing_and_of_unknown_functions() -> None:
    values = [Fraction(1), Fraction(2), Fraction(6)]
    assert [aggregate(function, values) for function in range(6)] == [None, 9, 3, 1, 6, None]
    assert [aggregate(function, []) for function in range(6)] == [None, 0, None, None, None, None]


def test_which_types_go_by_a_clock_of_their_own() -> None:
    names = {TYPES[kind] for kind in TYPES if has_own_clock(kind)}
    assert names == {
        "PERF_ELAPSED_TIME",
        "PERF_OBJ_TIME_TIMER",
        "PERF_PRECISION_OBJECT_TIMER",
        "PERF_COUNTER_OBJ_TIME_QUEUELEN_TYPE",
    }
    assert not has_own_clock(0x12345678)


def test_the_width_of_a_type() -> None:
    assert {
        TYPES[kind]: width_of_type(kind) for kind in TYPES if width_of_type(kind) != (8 if kind & 0x300 == 0x100 else 4)
    } == {"PERF_COUNTER_TEXT": None}
    assert width_of_type(0x40000200) is None
