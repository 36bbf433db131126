"""Formats columns of readings: readings of one counter type in arrays in, a quotient for each out.

`formulas` states what a type means, for two readings at a time. This module computes the usual case of the same formulas for many
readings. In the usual case, both readings are numbers, no value fell, the clocks are of one boot of the machine, and a double holds
every product exactly. So the double of the quotient is nearest to the exact fraction. `format_raw` formats every other reading
(`rest`). It also writes each sentence about an absent value, except for two common ones: a first sample, and a denominator of zero.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from msgspec import Struct

from analyzer.questions.series.formulas import (
    DATA_SIZE,
    TICKS_PER_S_100NS,
    WRAPPED,
    Formula,
    Reading,
    formula_of,
    width_of_type,
)
from analyzer.results.records.sample import Flag, Why

if TYPE_CHECKING:
    import numpy.typing as npt

Words: TypeAlias = "npt.NDArray[np.uint64]"
Ints: TypeAlias = "npt.NDArray[np.int64]"
Bools: TypeAlias = "npt.NDArray[np.bool_]"
Codes: TypeAlias = "npt.NDArray[np.uint8]"

# A reason by its code; 0 is none.
WHYS: tuple[Why | None, ...] = (None, *Why)
CODES = {why: np.uint8(code) for code, why in enumerate(WHYS)}
# The marks of values by their code.
FLAGS: tuple[tuple[Flag, ...], ...] = ((), (DATA_SIZE,), (WRAPPED,), (DATA_SIZE, WRAPPED))
FLAG_CODES = {flags: np.uint8(code) for code, flags in enumerate(FLAGS)}

# What a reading has (`Readings.has`), and whether its clocks are signed numbers (winperf) or unsigned ones (PerflibV2).
NUMBER, BASE, TICKS, FREQ, TIME, OBJECT_TICKS, OBJECT_FREQ, MULTI, SIGNED = (np.uint16(1 << bit) for bit in range(9))
_NO_SIZE = -1
# Below this, a double holds every whole number, and half of what it holds is room for a product that was rounded up.
_EXACT = float(1 << 52)
_TOP = np.uint64(1 << 63)


class Readings:
    """Columns of readings of a counter type (`formulas.Reading`). A value that `has` does not name is 0; an unknown size is -1.

    All numbers are 64 bits as they were read. Clocks of a `SIGNED` reading count as signed.
    """

    COLUMNS = (
        *("raw", "size", "base", "base_size", "ticks", "freq", "time_100ns"),
        *("object_ticks", "object_freq", "multi", "has"),
    )
    raw: Words
    size: Ints
    base: Words
    base_size: Ints
    ticks: Words
    freq: Words
    time_100ns: Words
    object_ticks: Words
    object_freq: Words
    multi: Words
    has: npt.NDArray[np.uint16]

    @classmethod
    def empty(cls, count: int) -> Readings:
        made = cls()
        for name in cls.COLUMNS:
            setattr(made, name, np.zeros(count, np.uint16 if name == "has" else np.uint64))
        made.size, made.base_size = np.full(count, _NO_SIZE), np.full(count, _NO_SIZE)
        return made

    def __len__(self) -> int:
        return len(self.has)

    def put(self, rows: Any, others: Readings) -> None:
        """Replaces some rows of the columns of readings."""
        for name in self.COLUMNS:
            getattr(self, name)[rows] = getattr(others, name)

    def at(self, row: int) -> Reading:
        """Takes one reading out of the columns of readings, for what must be formatted alone."""
        has = int(self.has[row])
        size, base_size = int(self.size[row]), int(self.base_size[row])
        return Reading(
            self._number("raw", row, NUMBER, has),
            None if size == _NO_SIZE else size,
            self._number("base", row, BASE, has),
            None if base_size == _NO_SIZE else base_size,
            self._number("ticks", row, TICKS, has),
            self._number("freq", row, FREQ, has),
            self._number("time_100ns", row, TIME, has),
            self._number("object_ticks", row, OBJECT_TICKS, has),
            self._number("object_freq", row, OBJECT_FREQ, has),
            self._number("multi", row, MULTI, has),
        )

    def _number(self, name: str, row: int, bit: np.uint16, has: int) -> int | None:
        if not has & int(bit):
            return None
        value = int(getattr(self, name)[row])
        is_clock = bit in (TICKS, FREQ, TIME, OBJECT_TICKS, OBJECT_FREQ)
        return value - (1 << 64) if is_clock and has & int(SIGNED) and value >= 1 << 63 else value

    def have(self, bits: np.uint16) -> Bools:
        found: Bools = (self.has & bits) == bits
        return found

    def clock(self, name: str, bit: np.uint16) -> tuple[Ints, Bools]:
        """Returns one of these columns of readings, a clock, as signed numbers, and which readings have one that fits."""
        column: Words = getattr(self, name)
        return column.view(np.int64), self.have(bit) & ((column < _TOP) | self.have(SIGNED))


class Taken(Readings):
    """Some rows of readings. Each column is read on demand. The rows that `begin` marks are taken from `others` instead."""

    def __init__(self, source: Readings, rows: Ints, begin: Ints | None = None, others: Readings | None = None) -> None:
        self._source, self._rows, self._begin, self._others = source, rows, begin, others

    def __getattr__(self, name: str) -> Any:
        if name not in self.COLUMNS:
            raise AttributeError(name)
        column = getattr(self._source, name)[self._rows]
        if self._begin is not None:
            column[self._begin] = getattr(self._others, name)
        setattr(self, name, column)
        return column


class Quotients(Struct, frozen=True, eq=False):
    """The quotients that `format_columns` computed for readings: numerator over denominator where `why` is 0; `rest` marks readings
    left to `format_raw`."""

    numerator: Ints
    denominator: Ints
    why: Codes
    flags: Codes
    rest: Bools


def format_columns(counter_type: int, older: Readings, newer: Readings, paired: Bools) -> Quotients:
    """Formats columns of readings, all of one counter type, to columns of quotients. `paired` says for which of `newer` the reading
    in `older` is the one before."""
    count = len(newer)
    formula = formula_of(counter_type)
    width = width_of_type(counter_type)
    flags = np.zeros(count, np.uint8)
    if width is not None:
        flags[(newer.size != width) & (newer.size != _NO_SIZE)] = FLAG_CODES[DATA_SIZE,]
    made = _Made(count, flags)
    if formula is None or formula.kind in ("text", "base"):
        return made.left(np.ones(count, np.bool_))
    if formula.kind == "number":
        usual = newer.have(NUMBER) & (newer.raw < _TOP)
        return made.quotients_of(newer.raw.view(np.int64), np.ones(count, np.int64), usual)
    if formula.kind == "elapsed":
        ticks, has_ticks = newer.clock("object_ticks", OBJECT_TICKS)
        freq, has_freq = newer.clock("object_freq", OBJECT_FREQ)
        raw = newer.raw.view(np.int64)
        usual = newer.have(NUMBER) & (newer.raw < _TOP) & has_ticks & has_freq & (freq > 0) & (ticks >= raw)
        return made.quotients_of(ticks - raw, freq, usual & (ticks - raw < _EXACT) & (freq < _EXACT))
    if not formula.delta:
        usual = newer.have(NUMBER | BASE) & (newer.raw < _TOP) & (newer.base < _TOP)
        return _ratio(formula, newer.raw.view(np.int64), newer.base.view(np.int64), newer, usual, made)
    made.first(newer.have(NUMBER) & ~paired)
    return _change(formula, older, newer, paired, made)


class _Made:
    """Collects quotients while columns of readings are formatted."""

    def __init__(self, count: int, flags: Codes) -> None:
        self._flags = flags
        self._why = np.zeros(count, np.uint8)

    def first(self, rows: Bools) -> None:
        self._why[rows] = CODES[Why.FIRST_SAMPLE]

    def left(self, rest: Bools) -> Quotients:
        ones = np.ones(len(rest), np.int64)
        return Quotients(ones, ones, self._why, self._flags, rest)

    def quotients_of(self, numerator: Ints, denominator: Ints, usual: Bools) -> Quotients:
        """Returns the quotients of the usual readings in the columns. The others are first samples, or left to `format_raw`."""
        self._why[usual & (denominator == 0)] = CODES[Why.ZERO_DENOMINATOR]
        safe = usual & (denominator != 0)
        return Quotients(
            np.where(safe, numerator, 1),
            np.where(safe, denominator, 1),
            self._why,
            self._flags,
            ~usual & (self._why == 0),
        )


def _change(formula: Formula, older: Readings, newer: Readings, paired: Bools, made: _Made) -> Quotients:
    """Formats columns of readings of a counter type that compares two readings."""
    usual = paired & newer.have(NUMBER) & older.have(NUMBER) & (newer.raw >= older.raw)
    grown = newer.raw - older.raw
    usual &= (grown < _TOP) & _same_boot(formula, older, newer)
    by_base: Bools | None = None
    if formula.clock is not None:
        name, bit = {"T": ("ticks", TICKS), "N": ("time_100ns", TIME), "O": ("object_ticks", OBJECT_TICKS)}[
            formula.clock
        ]
        (before, has_before), (after, has_after) = older.clock(name, bit), newer.clock(name, bit)
        denominator = after - before
        # Signed clocks may lie further apart than a signed number holds.
        has_clock = has_before & has_after & (after >= before) & (denominator >= 0)
        by_base = ~newer.have(OBJECT_TICKS) if formula.base else None
    elif formula.base:
        by_base = np.ones(len(newer), np.bool_)
        denominator, has_clock = np.ones(len(newer), np.int64), by_base
    else:
        return made.quotients_of(grown.view(np.int64), np.ones(len(newer), np.int64), usual)
    if by_base is not None:
        has_base = newer.have(BASE) & older.have(BASE) & (newer.base >= older.base)
        change = newer.base - older.base
        denominator = np.where(by_base, change.view(np.int64), denominator)
        has_clock = np.where(by_base, has_base & (change < _TOP), has_clock)
    return _ratio(formula, grown.view(np.int64), denominator, newer, usual & has_clock, made)


def _same_boot(formula: Formula, older: Readings, newer: Readings) -> Bools:
    """Returns for each pair of readings in the columns whether no clock shows a restart of the machine between them."""
    known = newer.has & older.has
    (before, fits_before), (after, fits_after) = older.clock("ticks", TICKS), newer.clock("ticks", TICKS)
    same: Bools = ((known & FREQ) == 0) | (older.freq == newer.freq)
    same &= ((known & TICKS) == 0) | (fits_before & fits_after & (after >= before))
    if formula.clock == "O":
        same &= ((known & OBJECT_FREQ) == 0) | (older.object_freq == newer.object_freq)
    return same


def _ratio(
    formula: Formula, numerator: Ints, denominator: Ints, newer: Readings, usual: Bools, made: _Made
) -> Quotients:
    """Returns, for columns of readings, numerators over denominators with the factors that the bits of the counter type add.
    Doubles first show which products stay exact."""
    top, bottom = numerator.astype(np.float64), denominator.astype(np.float64)
    if formula.in_seconds or formula.per_second:
        freq: Ints | int = TICKS_PER_S_100NS
        if formula.clock != "N":
            clock = ("object_freq", OBJECT_FREQ) if formula.clock == "O" else ("freq", FREQ)
            freq, has_freq = newer.clock(*clock)
            usual = usual & has_freq & (freq >= int(formula.per_second))
        if formula.in_seconds:
            denominator, bottom = denominator * freq, bottom * freq
        else:
            numerator, top = numerator * freq, top * freq
    multi: Ints | int = 1
    if formula.multi:
        usual = usual & newer.have(MULTI) & (newer.multi < _TOP)
        multi = newer.multi.view(np.int64)
    if formula.inverse:
        numerator, top = multi * denominator - numerator, multi * bottom + top
    elif formula.multi:
        denominator, bottom = denominator * multi, bottom * multi
    if formula.percent:
        numerator, top = 100 * numerator, 100 * top
    return made.quotients_of(numerator, denominator, usual & (top < _EXACT) & (bottom < _EXACT))
