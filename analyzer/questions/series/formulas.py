"""The formulas of counter types ([MS-PCQ] section 2.2.4.2; docs/counter-types.md): a counter's readings in, the displayed value
out.

A counter type is a set of bit fields (winperf.h): class, subtype, timer, delta, inverse, multi, display. They determine the
formula, which `formula_of` returns. Only listed types are formatted, so that an undescribed type never gives a made-up number.
Values are exact fractions. An absent value has a reason (`Why`): a first reading, a counter that fell, a denominator of zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cache
from typing import Final, Literal

from msgspec import Struct

from analyzer.results.records.sample import Flag, Unit, Why

TICKS_PER_S_100NS = 10_000_000

# The fields of a counter type (winperf.h).
_SIZE, _CLASS, _SUBTYPE = 0x00000300, 0x00000C00, 0x00070000
_SIZE_DWORD, _SIZE_LARGE = 0x00000000, 0x00000100
_WIDTHS = {_SIZE_DWORD: 4, _SIZE_LARGE: 8}
_CLASS_NUMBER, _CLASS_TEXT = 0x00000000, 0x00000800
_NUMBER_HEX = 0x00000000
_COUNTER_RATE, _COUNTER_FRACTION, _COUNTER_BASE = 0x00010000, 0x00020000, 0x00030000
_COUNTER_ELAPSED, _COUNTER_QUEUELEN, _COUNTER_PRECISION = 0x00040000, 0x00050000, 0x00070000
_TIMER, _TIMER_TICK, _TIMER_100NS, _TIMER_OBJECT = 0x00300000, 0x00000000, 0x00100000, 0x00200000
_DELTA, _INVERSE, _MULTI = 0x00400000, 0x01000000, 0x02000000
_DISPLAY, _DISPLAY_PER_S, _DISPLAY_PERCENT, _DISPLAY_SECONDS = 0x70000000, 0x10000000, 0x20000000, 0x30000000

_UNITS: dict[int, Unit] = {_DISPLAY_PER_S: "/s", _DISPLAY_PERCENT: "%", _DISPLAY_SECONDS: "s"}

# Every type that is formatted: the 34 of [MS-PCQ] section 2.2.4.2, then those that only perflib.h and winperf.h have.
TYPES: Final[dict[int, str]] = {
    0x00000000: "PERF_COUNTER_RAWCOUNT_HEX",
    0x00000100: "PERF_COUNTER_LARGE_RAWCOUNT_HEX",
    0x00000B00: "PERF_COUNTER_TEXT",
    0x00010000: "PERF_COUNTER_RAWCOUNT",
    0x00010100: "PERF_COUNTER_LARGE_RAWCOUNT",
    0x00410400: "PERF_SAMPLE_COUNTER",
    0x00450400: "PERF_COUNTER_QUEUELEN_TYPE",
    0x00450500: "PERF_COUNTER_LARGE_QUEUELEN_TYPE",
    0x00550500: "PERF_COUNTER_100NS_QUEUELEN_TYPE",
    0x00650500: "PERF_COUNTER_OBJ_TIME_QUEUELEN_TYPE",
    0x10410400: "PERF_COUNTER_COUNTER",
    0x10410500: "PERF_COUNTER_BULK_COUNT",
    0x20020400: "PERF_RAW_FRACTION",
    0x20020500: "PERF_LARGE_RAW_FRACTION",
    0x20410500: "PERF_COUNTER_TIMER",
    0x20470500: "PERF_PRECISION_SYSTEM_TIMER",
    0x20510500: "PERF_100NSEC_TIMER",
    0x20570500: "PERF_PRECISION_100NS_TIMER",
    0x20610500: "PERF_OBJ_TIME_TIMER",
    0x20670500: "PERF_PRECISION_OBJECT_TIMER",
    0x20C20400: "PERF_SAMPLE_FRACTION",
    0x21410500: "PERF_COUNTER_TIMER_INV",
    0x21510500: "PERF_100NSEC_TIMER_INV",
    0x22410500: "PERF_COUNTER_MULTI_TIMER",
    0x22510500: "PERF_100NSEC_MULTI_TIMER",
    0x23410500: "PERF_COUNTER_MULTI_TIMER_INV",
    0x23510500: "PERF_100NSEC_MULTI_TIMER_INV",
    0x30020400: "PERF_AVERAGE_TIMER",
    0x30240500: "PERF_ELAPSED_TIME",
    0x40020500: "PERF_AVERAGE_BULK",
    0x40030401: "PERF_SAMPLE_BASE",
    0x40030402: "PERF_AVERAGE_BASE",
    0x40030403: "PERF_RAW_BASE",
    0x40030500: "PERF_LARGE_RAW_BASE",
    0x00400400: "PERF_COUNTER_DELTA",
    0x00400500: "PERF_COUNTER_LARGE_DELTA",
    0x42030500: "PERF_COUNTER_MULTI_BASE",
}
# Types with a name and no formula: what they hold is shown raw.
_NO_FORMULA: Final[dict[int, str]] = {
    0x00012000: "PERF_DOUBLE_RAW",
    0x40000200: "PERF_COUNTER_NODATA",
    0x80000000: "PERF_COUNTER_HISTOGRAM_TYPE",
}


# A value computed modulo 2^32; a data size that is not the type's.
WRAPPED: Final = "wrapped"
DATA_SIZE: Final = "data-size"
# Above this, a 32-bit value that fell is as likely to have started again as to have gone round.
_PLAUSIBLE_WRAP = 1 << 31


class Reading(Struct, frozen=True):
    """A reading as formulas take it: what one answer holds for one counter; None for what it does not.

    `raw` and its base come with their sizes in bytes (None: the size that the type says). `ticks` and `freq` are the performance
    clock of the answer, `time_100ns` its system time. `object_ticks` and `object_freq` are the clock that the counter or its object
    names; `multi` is what MultiId or the multi base names.
    """

    raw: int | str | None
    size: int | None = None
    base: int | None = None
    base_size: int | None = None
    ticks: int | None = None
    freq: int | None = None
    time_100ns: int | None = None
    object_ticks: int | None = None
    object_freq: int | None = None
    multi: int | None = None


class Formatted(Struct, frozen=True):
    """What a formula gives: the formatted value of a counter, or why there is none. `reason` adds details to `why` if there are
    any."""

    value: Fraction | None
    why: Why | None = None
    reason: str | None = None
    flags: tuple[Flag, ...] = ()


Clock = Literal["T", "N", "O"]


class Formula(Struct, frozen=True):
    """The formula of a counter type, read from its bits. Symbols are those of docs/counter-types.md."""

    kind: Literal["number", "text", "base", "elapsed", "counter"]
    unit: Unit = ""
    is_hex: bool = False
    # The numerator is the difference of two readings, and then so is a base.
    delta: bool = False
    clock: Clock | None = None
    base: bool = False
    # Multiplied by the clock's frequency (rates), divided by that of the performance clock (average times).
    per_second: bool = False
    in_seconds: bool = False
    inverse: bool = False
    multi: bool = False
    percent: bool = False

    @property
    def samples(self) -> int:
        """Returns how many readings of a counter the formula takes."""
        return 2 if self.delta else 1

    @property
    def words(self) -> str:
        """The formula of a counter type in symbols."""
        if self.kind == "text":
            return "text"
        if self.kind == "base":
            return "not shown"
        if self.kind == "elapsed":
            return "(O − X) / OF"
        ratio = "dX" if self.delta else "X"
        if self.per_second:
            ratio += " · OF" if self.clock == "O" else " · F" if self.clock == "T" else " · 10⁷"
        if self.in_seconds:
            ratio += " / F"
        if self.clock is not None:
            ratio += f" / d{self.clock}" + (", or dB where a base is given" if self.base else "")
        elif self.base:
            ratio += " / dB" if self.delta else " / B"
        if self.inverse:
            ratio = f"({'M' if self.multi else '1'} − {ratio})"
        elif self.multi:
            ratio += " / M"
        return f"100 · {ratio}" if self.percent else ratio


def type_name(counter_type: int) -> str | None:
    """Returns the name of a counter type, whether it has a formula or not: `PERF_COUNTER_COUNTER` for 0x10410400; None for an
    unlisted type."""
    return TYPES.get(counter_type) or _NO_FORMULA.get(counter_type)


@cache
def formula_of(counter_type: int) -> Formula | None:
    """The formula of a listed counter type; None for any other."""
    if counter_type not in TYPES:
        return None
    kind, subtype, display = counter_type & _CLASS, counter_type & _SUBTYPE, counter_type & _DISPLAY
    if kind == _CLASS_TEXT:
        return Formula("text")
    if kind == _CLASS_NUMBER:
        return Formula("number", is_hex=subtype == _NUMBER_HEX)
    unit = _UNITS.get(display, "")
    if subtype == _COUNTER_BASE:
        return Formula("base")
    if subtype == _COUNTER_ELAPSED:
        return Formula("elapsed", unit)
    percent = display == _DISPLAY_PERCENT
    timer: Clock = {_TIMER_TICK: "T", _TIMER_100NS: "N", _TIMER_OBJECT: "O"}[counter_type & _TIMER]  # type: ignore[assignment]
    is_precision, is_fraction = subtype == _COUNTER_PRECISION, subtype == _COUNTER_FRACTION
    clock = timer if subtype in (_COUNTER_RATE, _COUNTER_QUEUELEN) or (is_precision and timer == "O") else None
    return Formula(
        "counter",
        unit,
        # Averages lack the delta bit and are differences all the same: a mean since the last look.
        delta=bool(counter_type & _DELTA) or (is_fraction and not percent),
        clock=clock,
        base=is_fraction or is_precision,
        per_second=subtype == _COUNTER_RATE and not percent,
        in_seconds=is_fraction and display == _DISPLAY_SECONDS,
        inverse=bool(counter_type & _INVERSE),
        multi=bool(counter_type & _MULTI),
        percent=percent,
    )


def has_own_clock(counter_type: int) -> bool:
    """Whether the formula of a counter type uses the clock that PerfTimeId names, or that of its object, and not those of the
    answer."""
    formula = formula_of(counter_type)
    return formula is not None and (formula.kind == "elapsed" or formula.clock == "O")


def unit_of(counter_type: int | None) -> Unit | None:
    """Returns the unit of a counter type: `%`, `/s`, `s`, empty for a plain number; None for an unknown type."""
    formula = formula_of(counter_type) if counter_type is not None else None
    return formula.unit if formula is not None else None


def format_raw(counter_type: int | None, older: Reading | None, newer: Reading) -> Formatted:
    """Formats the raw counter value in `newer` by the formula of its type; `older` is the reading before it of the same counter."""
    if counter_type is None:
        return Formatted(None, Why.TYPE_UNKNOWN, "the capture does not state the counter's type")
    formula = formula_of(counter_type)
    if formula is None:
        name = _NO_FORMULA.get(counter_type)
        if name is not None:
            return Formatted(None, Why.NO_FORMULA, name)
        return Formatted(None, Why.TYPE_UNKNOWN, f"type {counter_type:#010x}")
    if formula.kind == "text":
        return Formatted(None, Why.TEXT)
    flags = _size_flags(counter_type, newer)
    if formula.kind == "base":
        return Formatted(None, Why.NOT_DISPLAYED, flags=flags)
    if not isinstance(newer.raw, int):
        return Formatted(None, Why.DATA_SIZE, _size_words(counter_type, newer.size), flags)
    if formula.kind == "number":
        return Formatted(Fraction(newer.raw), flags=flags)
    if formula.kind == "elapsed":
        return _elapsed(newer, flags)
    if not formula.delta:
        return _ratio(formula, newer.raw, newer.base, newer, flags)
    if older is None:
        return Formatted(None, Why.FIRST_SAMPLE, flags=flags)
    broken = _clock_break(formula, older, newer)
    if broken is not None:
        return Formatted(None, broken[0], broken[1], flags)
    return _change(counter_type, formula, older, newer, flags)


def _change(counter_type: int, formula: Formula, older: Reading, newer: Reading, flags: tuple[Flag, ...]) -> Formatted:
    """Formats two readings by the formula of a counter type that uses the difference between them."""
    bits = 32 if counter_type & _SIZE == _SIZE_DWORD else 64
    grown = _grown(older.raw, newer.raw, _width(older.size, newer.size, bits), flags)
    if isinstance(grown, Formatted):
        return grown
    if _fell(older.raw, newer.raw):
        flags = (*flags, WRAPPED)
    clock = formula.clock
    if clock is not None and not (formula.base and newer.object_ticks is None):
        before, after = _ticks(clock, older), _ticks(clock, newer)
        if before is None or after is None:
            return Formatted(None, Why.NO_CLOCK, _missing("clock", older_has=before is not None), flags)
        if after < before:
            return Formatted(None, Why.CLOCK_BACK, f"the counter's clock went from {before} to {after}", flags)
        return _ratio(formula, grown, after - before, newer, flags)
    if not formula.base:
        return Formatted(Fraction(grown), flags=flags)
    if older.base is None or newer.base is None:
        return Formatted(None, Why.NO_BASE, _missing("base", older_has=older.base is not None), flags)
    # Where the data does not show it: precision timers come with PERF_LARGE_RAW_BASE, all others with a base of 32 bits.
    base_bits = 64 if counter_type & _SUBTYPE == _COUNTER_PRECISION else 32
    base = _grown(older.base, newer.base, _width(older.base_size, newer.base_size, base_bits), flags)
    if isinstance(base, Formatted):
        return Formatted(None, base.why, f"of the base: {base.reason}", base.flags)
    if _fell(older.base, newer.base) and WRAPPED not in flags:
        flags = (*flags, WRAPPED)
    return _ratio(formula, grown, base, newer, flags)


def _ratio(
    formula: Formula, numerator: int, denominator: int | None, newer: Reading, flags: tuple[Flag, ...]
) -> Formatted:
    """Returns the result of a formula, numerator over denominator, with the factors that the bits of the counter type add."""
    if denominator is None:
        return Formatted(None, Why.NO_BASE, flags=flags)
    if formula.in_seconds or formula.per_second:
        freq = TICKS_PER_S_100NS if formula.clock == "N" else newer.object_freq if formula.clock == "O" else newer.freq
        if freq is None or freq < 0 or (freq == 0 and formula.per_second):
            return Formatted(None, Why.NO_CLOCK, "the clock's frequency is missing, zero or below zero", flags)
        if formula.in_seconds:
            denominator *= freq
        else:
            numerator *= freq
    if formula.multi and newer.multi is None:
        return Formatted(None, Why.NO_MULTIPLIER, "the counter that MultiId names is not in the answer", flags)
    multi = newer.multi if formula.multi and newer.multi is not None else 1
    if denominator and formula.inverse:
        numerator = multi * denominator - numerator
    elif formula.multi:
        denominator *= multi
    if denominator == 0:
        return Formatted(None, Why.ZERO_DENOMINATOR, standing_still(formula, newer), flags)
    return Formatted(Fraction(100 * numerator if formula.percent else numerator, denominator), flags=flags)


def standing_still(formula: Formula, newer: Reading) -> str:
    """Returns why a counter's formula has a denominator of zero."""
    if formula.multi and newer.multi == 0:
        return "its multiplier is 0"
    if formula.clock is not None and not (formula.base and newer.object_ticks is None):
        return {"T": "the performance clock", "N": "the system time", "O": "the object's clock"}[formula.clock] + (
            " did not move between the two answers"
        )
    return "its base did not change" if formula.delta else "its base is 0"


def _elapsed(reading: Reading, flags: tuple[Flag, ...]) -> Formatted:
    """Returns how long ago the start was that an elapsed-time counter states. [MS-PCQ] swaps the operands; the counter types of
    Windows 2000 and 2003 do not, and an age below zero makes no sense."""
    assert isinstance(reading.raw, int)
    if reading.object_ticks is None or reading.object_freq is None:
        return Formatted(
            None, Why.NO_CLOCK, "the counters that PerfTimeId and PerfFreqId name are not in the answer", flags
        )
    if reading.object_freq <= 0:
        why = Why.ZERO_DENOMINATOR if reading.object_freq == 0 else Why.NO_CLOCK
        return Formatted(None, why, f"the object's clock has a frequency of {reading.object_freq}", flags)
    if reading.object_ticks < reading.raw:
        return Formatted(
            None, Why.NEGATIVE_DELTA, f"it starts at {reading.raw}, its clock is at {reading.object_ticks}", flags
        )
    return Formatted(Fraction(reading.object_ticks - reading.raw, reading.object_freq), flags=flags)


def _grown(older: int | str | None, newer: int | str | None, bits: int, flags: tuple[Flag, ...]) -> int | Formatted:
    """Returns, for a formula, how much a raw counter value grew, or why it has no growth. 32 bits wrap; 64 do not in a machine's
    lifetime."""
    if not isinstance(older, int) or not isinstance(newer, int):
        return Formatted(None, Why.DATA_SIZE, "one of the two readings is no number", flags)
    if newer >= older:
        return newer - older
    if bits != 32:
        return Formatted(None, Why.NEGATIVE_DELTA, f"from {older} to {newer}", flags)
    grown = newer - older + (1 << 32)
    if grown > _PLAUSIBLE_WRAP:
        reason = f"from {older} to {newer}: started again, or grew by {grown}"
        return Formatted(None, Why.RESET, reason, (*flags, WRAPPED))
    return grown


def _fell(older: int | str | None, newer: int | str | None) -> bool:
    return isinstance(older, int) and isinstance(newer, int) and newer < older


def _width(older: int | None, newer: int | None, bits: int) -> int:
    """Returns the width in bits in which a formula subtracts counter values: that of the data if known, else that of the type."""
    if older is None and newer is None:
        return bits
    return 32 if older in (4, None) and newer in (4, None) else 64


def _clock_break(formula: Formula, older: Reading, newer: Reading) -> tuple[Why, str] | None:
    """Returns why a formula cannot compare two readings of a counter: they are not of one boot of the machine; None if nothing
    shows that."""
    if older.freq != newer.freq and older.freq is not None and newer.freq is not None:
        return Why.CLOCK_CHANGED, f"PerfFreq went from {older.freq} to {newer.freq}"
    if older.ticks is not None and newer.ticks is not None and newer.ticks < older.ticks:
        return Why.CLOCK_BACK, f"the performance clock went from {older.ticks} to {newer.ticks}"
    if (
        formula.clock == "O"
        and older.object_freq != newer.object_freq
        and None not in (older.object_freq, newer.object_freq)
    ):
        return (
            Why.CLOCK_CHANGED,
            f"the object's clock went from {older.object_freq} to {newer.object_freq} ticks a second",
        )
    return None


def _ticks(clock: Clock, reading: Reading) -> int | None:
    return reading.ticks if clock == "T" else reading.time_100ns if clock == "N" else reading.object_ticks


def _missing(what: str, *, older_has: bool) -> str | None:
    return f"the {what} is not in this answer" if older_has else f"the {what} was not in the answer before"


def width_of_type(counter_type: int) -> int | None:
    """Returns how many bytes of a value the formula of a counter type reads; None for text and types without a value."""
    return _WIDTHS.get(counter_type & _SIZE)


def _size_flags(counter_type: int, reading: Reading) -> tuple[Flag, ...]:
    expected = width_of_type(counter_type)
    return (DATA_SIZE,) if expected is not None and reading.size not in (None, expected) else ()


def _size_words(counter_type: int, size: int | None) -> str:
    return (
        f"{size} bytes are no number of {_WIDTHS.get(counter_type & _SIZE, 0)}"
        if size is not None
        else "there is no value"
    )


# AggregateFunc ([MS-PCQ] section 2.2.4.2).
AGGREGATES: Final[dict[int, str]] = {1: "total", 2: "average", 3: "minimum", 4: "maximum"}


def aggregate(function: int, values: Sequence[Fraction]) -> Fraction | None:
    """Computes one value by an AggregateFunc from the formatted values of several instances of a counter; None if it is undefined.
    The sum of none is 0."""
    if function == 1:
        return _sum(values)
    if not values:
        return None
    if function == 2:
        return _sum(values) / len(values)
    if function == 3:
        return min(values)
    if function == 4:
        return max(values)
    return None


def _sum(values: Iterable[Fraction]) -> Fraction:
    return sum(values, Fraction(0))


# _PERF_COUNTER_REG_INFO.DefaultScale is a power of ten from -10 to 10 ([MS-PCQ] section 2.2.4.2).
MAX_SCALE = 10


def scaled(value: Fraction, scale: int) -> Fraction | None:
    """Returns what a formula made of a counter, times ten to the power of DefaultScale; None for an invalid scale."""
    return value * Fraction(10) ** scale if -MAX_SCALE <= scale <= MAX_SCALE else None


# _PERF_COUNTER_REG_INFO.Attributes.
ATTRIB_NO_DISPLAY, ATTRIB_NO_GROUPING, ATTRIB_REAL, ATTRIB_HEX = 0x2, 0x4, 0x8, 0x10


def shown(value: Fraction, *, is_hex: bool, attributes: int = 0) -> str:
    """Returns a formatted counter value as text: hexadecimal if type or attributes ask for it, whole numbers whole, else with three
    decimals."""
    whole = value.denominator == 1
    if whole and (is_hex or attributes & ATTRIB_HEX) and value >= 0:
        return f"{value.numerator:X}"
    if whole and not attributes & ATTRIB_REAL:
        return str(value.numerator)
    thousandths = round(value * 1000)
    sign = "-" if thousandths < 0 else ""
    return f"{sign}{abs(thousandths) // 1000}.{abs(thousandths) % 1000:03d}"
