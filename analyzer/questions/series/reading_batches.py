"""Batches of readings with their values, in columns: an analysis in, batches of some 65,000 readings out.

Answers (`answer_columns`) are collected into a batch, and its readings are sorted by series. Neighbours of one series make a pair.
The first reading of a series makes a pair with the last one in earlier batches; one reading is held for that. The value of a pair
is computed type by type (`columns_of_readings`), unusual ones reading by reading (`formulas`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import takewhile
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct, field
from msgspec.structs import asdict, replace

from analyzer.interfaces.pcq.perflib_samples import PerflibSample
from analyzer.questions.series.answer_columns import Answer, Answers, grown
from analyzer.questions.series.columns_of_readings import (
    CODES,
    FLAG_CODES,
    FLAGS,
    FREQ,
    NUMBER,
    OBJECT_TICKS,
    TICKS,
    TIME,
    WHYS,
    Bools,
    Codes,
    Ints,
    Quotients,
    Readings,
    Taken,
    format_columns,
)
from analyzer.questions.series.formulas import Formatted, Reading, aggregate, format_raw, formula_of, standing_still
from analyzer.questions.series.series_and_points import Key, Point, Sample, Select, Series
from analyzer.questions.series.series_limit import SeriesLimit
from analyzer.questions.series.value_plans import BITS as _BITS
from analyzer.questions.series.value_plans import NONE, Pool, ValuePlan
from analyzer.results.analysis import Analysis
from analyzer.results.records.sample import Why

if TYPE_CHECKING:
    import numpy.typing as npt

_TOP = 1 << 63
_COMPANIONS = ("base", "object_ticks", "object_freq", "multi")


class Batch(Struct, eq=False, kw_only=True):
    """A batch of readings of successive answers, a row each, in the order of the calls; aggregates follow the readings of their
    answer. `plans` are the plans of the answers, each with its rows.

    `answer` is the position in `answers` and `place` the row of the answer's plan. If `why` (`columns_of_readings.WHYS`) is 0, the
    value is `numerator / denominator`, or the row's entry in `exact` if these are too large for 64 bits. `value` is the nearest
    double. `reason` is a position in `reasons`. For a reading without a pair, `previous_call` is 0 and `interval_ns` means nothing.
    `server_interval_ns` is only valid if `has_server_interval` says so.
    """

    answers: Sequence[Answer]
    plans: list[tuple[ValuePlan, Ints]]
    answer: Ints
    place: Ints
    ids: Ints
    raw: npt.NDArray[np.uint64]
    value: npt.NDArray[np.float64]
    numerator: Ints
    denominator: Ints
    exact: dict[int, tuple[int, int]]
    why: Codes
    flags: Codes
    reason: npt.NDArray[np.int32]
    reasons: list[str | None]
    previous_call: Ints
    interval_ns: Ints
    server_interval_ns: Ints
    has_server_interval: Bools
    missed: Ints
    aggregated: dict[int, tuple[int, int]]

    def __len__(self) -> int:
        return len(self.answer)

    def fraction(self, row: int) -> Fraction | None:
        """The exact value of a reading in a row of the batch."""
        if self.why[row]:
            return None
        if (exact := self.exact.get(row)) is not None:
            return Fraction(*exact)
        return Fraction(int(self.numerator[row]), int(self.denominator[row]))

    def series(self, row: int) -> Series:
        plan = self.answers[int(self.answer[row])].plan
        return plan.series[int(self.place[row])]

    def sample(self, row: int) -> Sample | None:
        """The raw sample of a row of the batch, with the clocks of its answer; None for an aggregate."""
        answer = self.answers[self.answer[row]]
        return sample_of(answer, int(self.place[row]), int(self.raw[row]))

    def numbers(self) -> list[int | float | None]:
        """Returns the displayed values of the batch's readings: an integer if it is whole, else the nearest double."""
        whole, left = np.divmod(self.numerator, self.denominator)
        values: list[int | float | None] = self.value.tolist()
        for row in np.flatnonzero((left == 0) & (self.why == 0)).tolist():
            values[row] = int(whole[row])
        for row, (numerator, denominator) in self.exact.items():
            values[row] = numerator if denominator == 1 else numerator / denominator
        for row in np.flatnonzero(self.why).tolist():
            values[row] = None
        return values

    def points(self) -> Iterator[Point]:
        """The readings of the batch as points, one by one."""
        return map(self.point, range(len(self)))

    def point(self, row: int) -> Point:
        """Returns the reading in a row of the batch as a point: its series, sample and displayed value."""
        answer = self.answers[self.answer[row]]
        why = WHYS[self.why[row]]
        formatted = Formatted(self.fraction(row), why, self.reasons[self.reason[row]], FLAGS[self.flags[row]])
        before = int(self.previous_call[row])
        aggregated, left_out = self.aggregated.get(row, (None, None))
        return Point(
            self.series(row),
            answer.call,
            answer.time_ns,
            answer.handle,
            self.sample(row),
            formatted,
            before or None,
            int(self.interval_ns[row]) if before else None,
            int(self.server_interval_ns[row]) if before and self.has_server_interval[row] else None,
            int(self.missed[row]) if before else 0,
            aggregated,
            left_out,
        )

    def only(self, keep: Bools) -> Batch:
        """Returns a batch with only some rows of readings."""
        row_of = np.cumsum(keep) - 1
        columns = {name: column[keep] for name, column in asdict(self).items() if isinstance(column, np.ndarray)}
        return replace(
            self,
            plans=[(plan, row_of[rows[keep[rows]]]) for plan, rows in self.plans],
            exact={int(row_of[row]): value for row, value in self.exact.items() if keep[row]},
            aggregated={int(row_of[row]): value for row, value in self.aggregated.items() if keep[row]},
            **columns,
        )

    def by_series(self) -> Iterator[Ints]:
        """The rows of the batch by counter series, in the order of the calls."""
        order = np.argsort(self.ids, kind="stable")
        return iter(np.split(order, np.flatnonzero(np.diff(self.ids[order])) + 1))


def sample_of(answer: Answer, place: int, raw: int) -> Sample | None:
    """The sample of a reading in a batch, from an answer's plan, a raw value and the clocks of this answer."""
    plan = answer.plan
    sample, at = plan.samples[place], int(plan.at[place])
    if sample is None or plan.layout is None:
        return sample
    held = answer.texts[at] if at in answer.texts else None if plan.is_error[place] else raw
    ticks, freq, time_100ns = answer.clocks
    if isinstance(sample, PerflibSample):
        return replace(sample, raw=held, perf_time_stamp=ticks, perf_freq=freq, perf_time_100ns=time_100ns)
    assert plan.objects is not None
    assert answer.object_clocks is not None
    of_object = [_signed(int(clock[plan.objects[place]])) for clock in answer.object_clocks]
    base = None
    if sample.base_raw is not None:
        base_at = max(int(plan.companions[name][place]) for name in ("base", "multi"))
        base = answer.texts[base_at] if base_at in answer.texts else int(answer.values[base_at])
        base = None if base_at == NONE else base
    return replace(
        sample,
        raw=held,
        base_raw=base,
        perf_time=ticks,
        perf_freq=freq,
        perf_time_100ns=time_100ns,
        object_perf_time=of_object[0],
        object_perf_freq=of_object[1],
    )


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= _TOP else value


def readings(analysis: Analysis, select: Select | None = None, limit: SeriesLimit | None = None) -> Iterator[Batch]:
    """Yields the readings of the shown calls in batches, for the counter series that `select` takes (all if None), in the order of
    the calls. With a `limit`, only series within it.

    A reading of a call that is not shown still counts as the one before the next.
    """
    shown = analysis.shown
    last = len(analysis.calls) if analysis.part is None else shown.numbers[-1] if shown else 0
    for batch in _all_readings(Answers(analysis, select, limit), last):
        if analysis.part is None:
            yield batch
        else:
            is_shown = np.array([shown.holds(answer.call) for answer in batch.answers], np.bool_)
            yield batch.only(is_shown[batch.answer])


def _all_readings(answers: Answers, last: int) -> Iterator[Batch]:
    """Yields the readings of all calls up to the `last`, in batches."""
    pairing = _Pairing(answers)
    waiting: list[Answer] = []
    rows = 0
    before: ValuePlan | None = None
    for answer in takewhile(lambda answer: answer.call <= last, answers):
        waiting.append(answer)
        rows += len(answer.plan) if answer.plan is before else _ROWS_OF_A_PLAN * len(answer.plan)
        # The values that a limit left out are held as well.
        rows += sum(cut.readings for cut in answer.plan.cuts) // _LEFT_OUT_OF_A_ROW
        before = answer.plan
        if rows >= ROWS_AT_ONCE:
            yield pairing.batch(waiting)
            waiting, rows = [], 0
    if waiting:
        yield pairing.batch(waiting)


# Readings of a batch: some 30 MB while they are made. A plan that a batch holds takes as much as so many times its rows.
ROWS_AT_ONCE, _ROWS_OF_A_PLAN = 1 << 16, 4
# So many values that are only held take as much as one that is read.
_LEFT_OUT_OF_A_ROW = 32


def points(analysis: Analysis, select: Select | None = None) -> Iterator[Point]:
    """The readings in all batches of an analysis as points, one by one."""
    for batch in readings(analysis, select):
        yield from batch.points()


class _Last(Struct):
    """The last reading of each counter series before a batch, by the number of the series. Each has its call and time, and the
    counts of answers of its group and of losses."""

    held: Bools
    call: Ints
    time_ns: Ints
    answers: Ints
    lost: Ints
    reading: Readings

    @classmethod
    def empty(cls) -> _Last:
        none = np.zeros(0, np.int64)
        return cls(np.zeros(0, np.bool_), none, none, none, none, Readings.empty(0))

    def grow(self, count: int) -> None:
        if count <= len(self.held):
            return
        self.held = grown(self.held, count, fill=False)
        room = len(self.held)
        self.call, self.time_ns = grown(self.call, room, fill=0), grown(self.time_ns, room, fill=0)
        self.answers, self.lost = grown(self.answers, room, fill=0), grown(self.lost, room, fill=0)
        fresh = Readings.empty(room)
        fresh.put(slice(0, len(self.reading)), self.reading)
        self.reading = fresh


class _Work(Struct, kw_only=True):
    """A batch of readings in the making: its rows, and the reading before each."""

    batch: Batch
    newer: Readings
    types: Ints
    live: Bools
    group_answers: Ints
    is_fixed: Bools
    is_delta: Bools
    # The first row of each answer that has a plan.
    firsts: list[tuple[ValuePlan, Ints]]
    older: Readings = field(default_factory=lambda: Readings.empty(0))
    paired: Bools = field(default_factory=lambda: np.zeros(0, np.bool_))
    absent: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    reason_numbers: dict[str | None, int] = field(default_factory=lambda: {None: 0})

    def number_of_reason(self, text: str | None) -> int:
        """Returns the number that a batch of readings has for the reason why one of them has no value; gives a new reason a
        number."""
        number = self.reason_numbers.get(text)
        if number is None:
            number = self.reason_numbers[text] = len(self.batch.reasons)
            self.batch.reasons.append(text)
        return number

    def set_value(self, row: int, formatted: Formatted) -> None:
        """Sets, in a batch of readings, the value of a row that was formatted alone."""
        batch = self.batch
        batch.why[row] = CODES[formatted.why]
        batch.flags[row] = FLAG_CODES[formatted.flags]
        batch.reason[row] = self.number_of_reason(formatted.reason)
        if formatted.value is not None:
            batch.exact[row] = formatted.value.numerator, formatted.value.denominator
            batch.value[row] = float(formatted.value)


class _Pairing:
    """Puts readings of counters into pairs, batch after batch."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self._last = _Last.empty()
        # The last values of instances of sets that remember those that are gone.
        self._remembered: dict[Key, dict[Key, Fraction]] = {}

    def batch(self, answers: list[Answer]) -> Batch:
        work = _laid_out(answers)
        self._pair(work)
        _fixed(work)
        types = np.where(work.live & ~work.is_fixed, work.types, NONE)
        for counter_type in sorted({kind for plan, _ in work.batch.plans for kind in plan.formatted_types}):
            _format_type(work, np.flatnonzero(types == counter_type), counter_type)
        self._aggregates(work)
        batch = work.batch
        if all(plan.wanted.all() for plan, _ in batch.plans):
            return batch
        return batch.only(np.concatenate([answer.plan.wanted for answer in batch.answers]))

    def _pair(self, work: _Work) -> None:
        """Finds the reading before each reading of a batch, in it or before it. Keeps the last reading of each series."""
        batch, last = work.batch, self._last
        last.grow(len(self._answers.registry.states))
        calls = np.array([answer.call for answer in batch.answers], np.int64)[batch.answer]
        times = np.array([answer.time_ns for answer in batch.answers], np.int64)[batch.answer]
        lost = np.array([answer.lost for answer in batch.answers], np.int64)[batch.answer]
        lost_before = np.array([answer.lost_before for answer in batch.answers], np.int64)[batch.answer]
        live = np.flatnonzero(work.live)
        order = live[np.argsort(batch.ids[live], kind="stable")]
        ids = batch.ids[order]
        same = np.concatenate(([False], ids[1:] == ids[:-1])) if len(ids) else np.zeros(0, np.bool_)
        prev = np.full(len(batch), -1, np.int64)
        prev[order[1:]] = np.where(same[1:], order[:-1], -1)
        inside = prev >= 0
        begin = order[~same]
        begin = begin[last.held[batch.ids[begin]]]
        held = Readings.empty(len(begin))
        held.put(slice(None), Taken(last.reading, batch.ids[begin]))
        work.older = Taken(work.newer, np.maximum(prev, 0), begin, held)
        has_older = inside.copy()
        has_older[begin] = True

        def before(of_row: Ints, held: Ints) -> Ints:
            found = of_row[np.maximum(prev, 0)]
            found[begin] = held[batch.ids[begin]]
            return found

        work.absent = np.where(has_older, work.group_answers - before(work.group_answers, last.answers) - 1, 0)
        work.paired = has_older & (work.absent <= 0)
        _between(
            work, before(calls, last.call), times - before(times, last.time_ns), lost_before - before(lost, last.lost)
        )
        ends = order[np.concatenate((~same[1:], [True]))] if len(order) else order
        numbers = batch.ids[ends]
        last.held[numbers] = True
        last.call[numbers], last.time_ns[numbers] = calls[ends], times[ends]
        last.answers[numbers], last.lost[numbers] = work.group_answers[ends], lost[ends]
        last.reading.put(numbers, Taken(work.newer, ends))

    def _aggregates(self, work: _Work) -> None:
        """Adds aggregated readings: one value for all instances of a counter, if type and AggregateFunc of its counterset ask the
        client for it."""
        for plan, firsts in work.firsts:
            for first in firsts.tolist() if plan.pools else ():
                for pool in plan.pools:
                    self._aggregate(work, plan, first, pool)

    def _aggregate(self, work: _Work, plan: ValuePlan, first: int, pool: Pool) -> None:
        values: dict[Key, Fraction] = {}
        left_out = 0
        for member in pool.members:
            place = plan.places[member]
            instance = (place.name, place.identity)
            value = work.batch.fraction(first + member)
            if value is None:
                left_out += instance not in values
            else:
                values[instance] = value
        if pool.keeps_history:
            remembered = self._remembered.setdefault(pool.key, {})
            remembered.update(values)
            values = remembered
        value = aggregate(pool.function, list(values.values())) if values else None
        formatted = (
            Formatted(value) if value is not None else Formatted(None, Why.NO_INSTANCES, "no instance has a value")
        )
        row = first + pool.row
        work.set_value(row, formatted)
        work.batch.aggregated[row] = len(values), left_out


def _between(work: _Work, calls: Ints, interval_ns: Ints, missed: Ints) -> None:
    """Sets in a batch the earlier call of each pair of readings, the time and the answers between them, for types that need two."""
    batch = work.batch
    pairs = work.paired & work.is_delta & work.live
    batch.previous_call = np.where(pairs, calls, 0)
    batch.interval_ns = np.where(pairs, interval_ns, 0)
    batch.missed = np.where(pairs, missed, 0)
    (before, has_before), (after, has_after) = work.older.clock("ticks", TICKS), work.newer.clock("ticks", TICKS)
    freq, has_freq = work.newer.clock("freq", FREQ)
    whole = pairs & has_before & has_after & has_freq & (freq > 0) & (freq < 1 << 33)
    whole &= (work.older.freq == work.newer.freq) & work.older.have(FREQ)
    passed = after - before
    # Signed clocks may lie further apart than a signed number holds.
    whole &= (passed >= 0) == (after >= before)
    freq = np.where(whole, freq, 1)
    times, left = np.divmod(np.where(whole, passed, 0), freq)
    small = np.abs(times) < (1 << 33)
    batch.server_interval_ns = np.where(small, times, 0) * 1_000_000_000 + left * 1_000_000_000 // freq
    batch.has_server_interval = whole & small
    unusual = pairs & ~batch.has_server_interval
    for row in np.flatnonzero(unusual).tolist():
        interval = _clock_interval(work.older.at(row), work.newer.at(row))
        if interval is not None and -_TOP <= interval < _TOP:
            batch.server_interval_ns[row], batch.has_server_interval[row] = interval, True


def _clock_interval(older: Reading, newer: Reading) -> int | None:
    """Returns the time between two readings of a batch by the server's performance clock; None if the clock does not state it."""
    if older.ticks is None or newer.ticks is None or not newer.freq or newer.freq != older.freq:
        return None
    return (newer.ticks - older.ticks) * 1_000_000_000 // newer.freq


def _laid_out(answers: list[Answer]) -> _Work:
    """The readings of answers as rows of a batch; those of one plan are laid out together."""
    sizes = np.array([len(answer.plan) for answer in answers], np.int64)
    starts = np.cumsum(sizes) - sizes
    count = int(sizes.sum())
    newer = Readings.empty(count)
    ints = {name: np.zeros(count, np.int64) for name in ("place", "ids", "types", "group_answers")}
    live, is_fixed, is_delta = (np.zeros(count, np.bool_) for _ in range(3))
    of_plan: dict[int, list[int]] = {}
    for number, answer in enumerate(answers):
        of_plan.setdefault(id(answer.plan), []).append(number)
    plans: list[tuple[ValuePlan, Ints]] = []
    firsts: list[tuple[ValuePlan, Ints]] = []
    for numbers in of_plan.values():
        plan, taken = answers[numbers[0]].plan, [answers[number] for number in numbers]
        first = starts[numbers]
        rows = first[:, None] + np.arange(len(plan))
        plans.append((plan, rows.reshape(-1)))
        firsts.append((plan, first))
        ints["place"][rows], ints["ids"][rows], ints["types"][rows] = np.arange(len(plan)), plan.ids, plan.types
        ints["group_answers"][rows[:, : len(plan.groups)]] = np.stack([answer.answers for answer in taken])
        live[rows], is_delta[rows] = ~plan.is_error & (plan.at != NONE), plan.is_delta
        is_fixed[rows[:, list(plan.fixed)]] = True
        _fill(newer, plan, taken, rows)
    batch = Batch(
        answers=answers,
        plans=plans,
        answer=np.repeat(np.arange(len(answers)), sizes),
        place=ints["place"],
        ids=ints["ids"],
        raw=newer.raw,
        value=np.full(count, np.nan),
        numerator=np.ones(count, np.int64),
        denominator=np.ones(count, np.int64),
        exact={},
        why=np.zeros(count, np.uint8),
        flags=np.zeros(count, np.uint8),
        reason=np.zeros(count, np.int32),
        reasons=[None],
        previous_call=np.zeros(0, np.int64),
        interval_ns=np.zeros(0, np.int64),
        server_interval_ns=np.zeros(0, np.int64),
        has_server_interval=np.zeros(0, np.bool_),
        missed=np.zeros(0, np.int64),
        aggregated={},
    )
    return _Work(
        batch=batch,
        newer=newer,
        types=ints["types"],
        live=live,
        group_answers=ints["group_answers"],
        is_fixed=is_fixed,
        is_delta=is_delta,
        firsts=firsts,
    )


def _fill(newer: Readings, plan: ValuePlan, answers: Sequence[Answer], rows: Ints) -> None:
    """Fills a batch with the readings of answers that have one plan."""
    values = np.stack([answer.values for answer in answers])
    numbers = None
    if any(answer.numbers is not None for answer in answers):
        every = np.ones(values.shape[1], np.bool_)
        numbers = np.stack([every if answer.numbers is None else answer.numbers for answer in answers])
    has = np.repeat(plan.has[None, :], len(answers), axis=0)
    newer.raw[rows] = values[:, plan.at]
    newer.size[rows], newer.base_size[rows] = plan.sizes, plan.base_sizes
    if numbers is not None:
        has[~numbers[:, plan.at]] &= ~NUMBER
    for number, name in enumerate(("ticks", "freq", "time_100ns")):
        stated = [answer.clocks[number] for answer in answers]
        bit = (TICKS, FREQ, TIME)[number]
        getattr(newer, name)[rows] = np.array([(value or 0) & (2 * _TOP - 1) for value in stated], np.uint64)[:, None]
        has[np.array([value is None for value in stated], np.bool_)] &= ~bit
    for name in _COMPANIONS:
        places = plan.companions[name]
        if plan.objects is not None and name.startswith("object"):
            which = 0 if name == "object_ticks" else 1
            clocks = np.stack([answer.object_clocks[which] for answer in answers if answer.object_clocks is not None])
            getattr(newer, name)[rows] = clocks[:, plan.objects]
        elif (places != NONE).any():
            getattr(newer, name)[rows] = values[:, places]
            if numbers is not None:
                bit = _BITS[name]
                has[~numbers[:, places]] &= ~bit
    _settle(newer, plan, values, rows, has)
    newer.has[rows] = has


def _settle(
    newer: Readings, plan: ValuePlan, values: npt.NDArray[np.uint64], rows: Ints, has: npt.NDArray[np.uint16]
) -> None:
    """Removes the companion of a reading in a batch if several counters of the answer qualify and their values differ."""
    for name, row, found, same_size in plan.several:
        held = values[:, list(found)]
        unclear = (held != held[:, :1]).any(axis=1) | (not same_size)
        has[unclear, row] &= ~_BITS[name]
        if name == "base":
            newer.base_size[rows[unclear, row]] = NONE


def _fixed(work: _Work) -> None:
    """Sets the rows of a batch whose outcome does not depend on the reading."""
    batch = work.batch
    for plan, first in work.firsts:
        if not plan.fixed:
            continue
        rows = first[:, None] + np.array(list(plan.fixed), np.int64)
        batch.why[rows] = np.array([CODES[each.why] for each in plan.fixed.values()], np.uint8)
        batch.flags[rows] = np.array([FLAG_CODES[each.flags] for each in plan.fixed.values()], np.uint8)
        batch.reason[rows] = np.array([work.number_of_reason(each.reason) for each in plan.fixed.values()], np.int32)


def _format_type(work: _Work, rows: Ints, counter_type: int) -> None:
    """Formats those readings of a batch that have this counter type."""
    batch, formula = work.batch, formula_of(counter_type)
    assert formula is not None
    older, newer = Taken(work.older, rows), Taken(work.newer, rows)
    made: Quotients = format_columns(counter_type, older, newer, work.paired[rows])
    batch.numerator[rows], batch.denominator[rows] = made.numerator, made.denominator
    batch.why[rows], batch.flags[rows] = made.why, made.flags
    fine = rows[(made.why == 0) & ~made.rest]
    batch.value[fine] = batch.numerator[fine] / batch.denominator[fine]
    still = np.flatnonzero(made.why == CODES[Why.ZERO_DENOMINATOR])
    if len(still):
        has_clock, has_multi = newer.have(OBJECT_TICKS)[still], newer.multi[still] != 0
        for clock, multi in ((0, 0), (0, 1), (1, 0), (1, 1)):
            text = standing_still(formula, Reading(None, object_ticks=1 if clock else None, multi=multi))
            batch.reason[rows[still[(has_clock == clock) & (has_multi == multi)]]] = work.number_of_reason(text)
    for place in np.flatnonzero(made.rest).tolist():
        row = int(rows[place])
        formatted = format_raw(counter_type, older.at(place) if work.paired[row] else None, newer.at(place))
        answer = batch.answers[batch.answer[row]]
        at = int(batch.place[row])
        has = int(newer.has[place])
        work.set_value(row, answer.plan.explained(formatted, at, lambda name, has=has: not has & int(_BITS[name])))
    for row in rows[made.why == CODES[Why.FIRST_SAMPLE]].tolist():
        answer = batch.answers[batch.answer[row]]
        if (absent := int(work.absent[row])) > 0:
            words = "the answer" if absent == 1 else f"{absent} answers"
            batch.why[row] = CODES[Why.INTERRUPTED]
            batch.reason[row] = work.number_of_reason(f"{words} in between had no value of it")
        elif (known := answer.firsts.get(int(batch.place[row]))) is not None:
            batch.why[row], batch.reason[row] = CODES[known[0]], work.number_of_reason(known[1])
