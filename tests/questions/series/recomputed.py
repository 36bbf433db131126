"""The formula of every counter type once more, written out by hand and by name, for comparing the analyzer's with.

Nothing here looks at the bits of a type. A reading is a dictionary: `x` and `base` with their sizes in bytes (`x_size`,
`base_size`), the clocks `ticks`, `time` and `clock`, the frequencies `freq` and `clock_freq`, and `multi`; None for what is
missing.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

Value = Fraction | None
Read = dict[str, Any]
Formula = Callable[[Read, Read | None], Value]


def _grown(now: Read, before: Read | None, name: str = "x") -> int | None:
    """The growth since the reading before; None where there was none, or where the value fell."""
    if before is None or now[name] is None or before[name] is None:
        return None
    grown: int = now[name] - before[name]
    if grown < 0 and now.get(f"{name}_size") == before.get(f"{name}_size") == 4:
        grown += 1 << 32
        return grown if grown <= 1 << 31 else None
    return grown if grown >= 0 else None


def _over(numerator: Any, denominator: int | None) -> Value:
    return Fraction(numerator) / denominator if numerator is not None and denominator else None


def _times(factor: Any, value: Value) -> Value:
    return value * factor if value is not None and factor is not None else None


def _ratio(clock: str) -> Formula:
    """How much of the time that passed: 1 is all of it."""
    return lambda now, before: _over(_grown(now, before), _grown(now, before, clock))


def _percent(ratio: Formula) -> Formula:
    return lambda now, before: _times(100, ratio(now, before))


def _inverse(ratio: Formula) -> Formula:
    """What is left of the time."""

    def left(now: Read, before: Read | None) -> Value:
        busy = ratio(now, before)
        return 1 - busy if busy is not None else None

    return left


def _shared(ratio: Formula) -> Formula:
    """Shared among as many as `multi` says."""
    return lambda now, before: _over(ratio(now, before), now["multi"])


def _multi_inverse(ratio: Formula) -> Formula:
    def left(now: Read, before: Read | None) -> Value:
        busy = ratio(now, before)
        return now["multi"] - busy if busy is not None and now["multi"] is not None else None

    return left


def _whole(now: Read, _before: Read | None) -> Value:
    return Fraction(now["x"])


def _difference(now: Read, before: Read | None) -> Value:
    grown = _grown(now, before)
    return Fraction(grown) if grown is not None else None


def _nothing(_now: Read, _before: Read | None) -> Value:
    return None


def _rate(now: Read, before: Read | None) -> Value:
    return _times(now["freq"] or None, _ratio("ticks")(now, before))


def _fraction(now: Read, _before: Read | None) -> Value:
    return _times(100, _over(now["x"], now["base"]))


def _mean(now: Read, before: Read | None) -> Value:
    return _over(_grown(now, before), _grown(now, before, "base"))


def _mean_seconds(now: Read, before: Read | None) -> Value:
    return _over(_mean(now, before), now["freq"])


def _age(now: Read, _before: Read | None) -> Value:
    if now["clock"] is None or now["clock"] < now["x"]:
        return None
    return _over(now["clock"] - now["x"], now["clock_freq"])


def _precision_object(now: Read, before: Read | None) -> Value:
    return _times(100, _ratio("clock")(now, before) if now["clock"] is not None else _mean(now, before))


FORMULAS: dict[int, Formula] = {
    0x00000000: _whole,  # PERF_COUNTER_RAWCOUNT_HEX
    0x00000100: _whole,  # PERF_COUNTER_LARGE_RAWCOUNT_HEX
    0x00000B00: _nothing,  # PERF_COUNTER_TEXT
    0x00010000: _whole,  # PERF_COUNTER_RAWCOUNT
    0x00010100: _whole,  # PERF_COUNTER_LARGE_RAWCOUNT
    0x00400400: _difference,  # PERF_COUNTER_DELTA
    0x00400500: _difference,  # PERF_COUNTER_LARGE_DELTA
    0x00410400: _rate,  # PERF_SAMPLE_COUNTER
    0x00450400: _ratio("ticks"),  # PERF_COUNTER_QUEUELEN_TYPE
    0x00450500: _ratio("ticks"),  # PERF_COUNTER_LARGE_QUEUELEN_TYPE
    0x00550500: _ratio("time"),  # PERF_COUNTER_100NS_QUEUELEN_TYPE
    0x00650500: _ratio("clock"),  # PERF_COUNTER_OBJ_TIME_QUEUELEN_TYPE
    0x10410400: _rate,  # PERF_COUNTER_COUNTER
    0x10410500: _rate,  # PERF_COUNTER_BULK_COUNT
    0x20020400: _fraction,  # PERF_RAW_FRACTION
    0x20020500: _fraction,  # PERF_LARGE_RAW_FRACTION
    0x20410500: _percent(_ratio("ticks")),  # PERF_COUNTER_TIMER
    0x20470500: _percent(_mean),  # PERF_PRECISION_SYSTEM_TIMER
    0x20510500: _percent(_ratio("time")),  # PERF_100NSEC_TIMER
    0x20570500: _percent(_mean),  # PERF_PRECISION_100NS_TIMER
    0x20610500: _percent(_ratio("clock")),  # PERF_OBJ_TIME_TIMER
    0x20670500: _precision_object,  # PERF_PRECISION_OBJECT_TIMER
    0x20C20400: _percent(_mean),  # PERF_SAMPLE_FRACTION
    0x21410500: _percent(_inverse(_ratio("ticks"))),  # PERF_COUNTER_TIMER_INV
    0x21510500: _percent(_inverse(_ratio("time"))),  # PERF_100NSEC_TIMER_INV
    0x22410500: _percent(_shared(_ratio("ticks"))),  # PERF_COUNTER_MULTI_TIMER
    0x22510500: _percent(_shared(_ratio("time"))),  # PERF_100NSEC_MULTI_TIMER
    0x23410500: _percent(_multi_inverse(_ratio("ticks"))),  # PERF_COUNTER_MULTI_TIMER_INV
    0x23510500: _percent(_multi_inverse(_ratio("time"))),  # PERF_100NSEC_MULTI_TIMER_INV
    0x30020400: _mean_seconds,  # PERF_AVERAGE_TIMER
    0x30240500: _age,  # PERF_ELAPSED_TIME
    0x40020500: _mean,  # PERF_AVERAGE_BULK
    0x40030401: _nothing,  # PERF_SAMPLE_BASE
    0x40030402: _nothing,  # PERF_AVERAGE_BASE
    0x40030403: _nothing,  # PERF_RAW_BASE
    0x40030500: _nothing,  # PERF_LARGE_RAW_BASE
    0x42030500: _nothing,  # PERF_COUNTER_MULTI_BASE
}
