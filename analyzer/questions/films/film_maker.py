"""Makes films: takes batches of readings, and adds each poll of each counterset to its film.

The place of a value (film, row, column, place of its bytes) depends only on the plan of its answer. It is found once for all
answers of a plan. Its number is the displayed value (`series.formulas`).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct, field

from analyzer.core.array_functions import distinct
from analyzer.core.caches import Kept
from analyzer.interfaces.buffers.compiled_parsers import TYPE_CLASS_MASK, TYPE_CLASS_TEXT
from analyzer.interfaces.buffers.perf_data_layout import PERF_DATA
from analyzer.interfaces.pcq.perflib_samples import PerflibSample
from analyzer.questions.films.film import (
    DECIMALS,
    MOST,
    NO_PLACE,
    NOT_ASKED,
    Film,
    FilmColumn,
    FilmRow,
    Films,
    Ints,
    PollCells,
)
from analyzer.questions.series.answer_columns import Answer
from analyzer.questions.series.columns_of_readings import CODES, FLAGS, WHYS
from analyzer.questions.series.formulas import ATTRIB_HEX, ATTRIB_REAL, formula_of, type_name
from analyzer.questions.series.reading_batches import Batch
from analyzer.questions.series.series_and_points import Key, Sample, Series
from analyzer.questions.series.value_plans import ValuePlan
from analyzer.results.records.sample import Flag, Why

# Counters that say which instance it is: what they hold is shown whatever type they have.
_IDS = frozenset({"id process", "creating process id", "id thread"})
_ERROR = CODES[Why.ERROR_BLOCK]


class _FilmPart(Struct, frozen=True, eq=False):
    """The part of a plan's answers that goes into one film: places of the plan, with row, column and place of the bytes of each."""

    film: Film
    lane: Key
    places: Ints
    rows: Ints
    columns: Ints
    bytes_at: Ints
    present: Ints
    is_whole: bool


class _Lane(Struct, eq=False):
    """The polls of one client through successive handles, for one film. If a handle polls again later, it gets its own film."""

    film: Film
    handle: str
    rows: dict[Key, int] = field(default_factory=dict)
    columns: dict[tuple[tuple[str, ...], int], int] = field(default_factory=dict)


class FilmMaker:
    """Makes films of the readings of counters. Hidden counters (bases) have no column."""

    def __init__(self, most_bytes: int | None = None) -> None:
        self._most_bytes = most_bytes
        self._films: list[Film] = []
        self._lanes: dict[Key, _Lane] = {}
        self._parts: Kept[tuple[ValuePlan, list[_FilmPart]]] = Kept(64)
        # No words: a value, and nothing to say; and cells that a poll does not have.
        self._says: dict[tuple[bool, str], int] = {(True, ""): 0, (False, "not asked"): NOT_ASKED}
        self._packed = self._left_out = 0

    def take_readings(self, batch: Batch) -> None:
        """Takes the readings of a batch into films."""
        states, values, exact = self._cells(batch)
        bounds = np.searchsorted(batch.answer, np.arange(len(batch.answers) + 1)).tolist()
        for number, answer in enumerate(batch.answers):
            start, stop = bounds[number], bounds[number + 1]
            if start < stop:
                self._poll(answer, batch, slice(start, stop), states, values, exact)

    def films(self) -> Films:
        """The films, once all batches were taken."""
        for film in self._films:
            film.end()
        return Films([film for film in self._films if film.calls], list(self._says), self._left_out)

    def _poll(
        self, answer: Answer, batch: Batch, rows: slice, states: Ints, values: Ints, exact: dict[int, str]
    ) -> None:
        plan = answer.plan
        key = id(plan), answer.handle
        _, parts = self._parts.get(key, lambda: (plan, self._parts_of(answer)), lambda _: 1)
        if any(self._lanes[part.lane].handle != answer.handle for part in parts):
            parts = self._parts_of(answer)
        in_answer = np.full(len(plan), NO_PLACE, np.int64)
        in_answer[batch.place[rows]] = np.arange(rows.start, rows.stop)
        for part in parts:
            if self._is_full():
                self._left_out += 1
                continue
            at = in_answer[part.places]
            errors = batch.why[at] == _ERROR
            present = distinct(part.rows[~errors]) if errors.any() else part.present
            texts = {place: exact[row] for place, row in enumerate(at.tolist()) if row in exact} if exact else {}
            cells = PollCells(part.rows, part.columns, part.bytes_at, states[at], values[at], texts, present)
            before = len(part.film.blocks)
            part.film.add(answer.call, answer.time_ns, answer.handle, cells, is_whole=part.is_whole)
            self._packed += sum(len(block.data) for block in part.film.blocks[before:])

    def _is_full(self) -> bool:
        return self._most_bytes is not None and self._packed > self._most_bytes

    # What depends on the plan

    def _parts_of(self, answer: Answer) -> list[_FilmPart]:
        plan = answer.plan
        found: dict[Key, list[int]] = {}
        for place, (series, sample) in enumerate(zip(plan.series, plan.samples, strict=True)):
            if plan.wanted[place] and not series.is_hidden and not (sample is not None and sample.repeated):
                found.setdefault(series.objects, []).append(place)
        offsets = _offsets(answer)
        made = []
        for objects, places in found.items():
            key, lane = self._lane(answer, plan.series[places[0]], objects)
            cells: dict[tuple[int, int], int] = {}
            seen: dict[Key, int] = {}
            for place in places:
                row = _row_number(lane, plan, place)
                # Values with one name whose counters the capture does not state have a column each.
                name = row, plan.series[place].counters
                nth = seen.get(name, 0)
                seen[name] = nth + 1
                cells[row, _column_number(lane, plan, place, nth)] = place
            rows, columns = np.array(list(cells), np.int64).T
            taken = np.array(list(cells.values()), np.int64)
            is_whole = any(_asks_for_all(plan, plan.samples[place]) for place in places)
            made.append(_FilmPart(lane.film, key, taken, rows, columns, offsets[taken], distinct(rows), is_whole))
        return made

    def _lane(self, answer: Answer, series: Series, objects: tuple[str, ...]) -> tuple[Key, _Lane]:
        shared = (series.server.ip, series.client.ip, objects)
        own = (*shared, answer.handle)
        lane = self._lanes.get(own) or self._lanes.get(shared)
        if lane is not None and (lane.handle == answer.handle or answer.handle not in lane.film.handles):
            lane.handle = answer.handle
            return own if own in self._lanes else shared, lane
        film = Film(series.server, series.client.ip, objects, series.source)
        self._films.append(film)
        key = shared if lane is None else own
        self._lanes[key] = made = _Lane(film, answer.handle)
        return key, made

    # What depends on the reading

    def _cells(self, batch: Batch) -> tuple[Ints, Ints, dict[int, str]]:
        """The film cells of readings: state and number of each, and the text of those that are no number."""
        says = self._said(batch)
        decimals = np.zeros(len(batch), np.int64)
        numbers = batch.numerator.copy()
        is_id = np.zeros(len(batch), np.bool_)
        for plan, rows in batch.plans:
            places = batch.place[rows]
            decimals[rows] = np.array([_decimals(series) for series in plan.series], np.int64)[places]
            is_id[rows] = np.array([_is_id(series) for series in plan.series], np.bool_)[places]
        ratios = np.flatnonzero(decimals != 0)
        numbers[ratios] = _thousandths(batch.numerator[ratios], batch.denominator[ratios])
        raw_ids = is_id & (batch.why == CODES[Why.TYPE_UNKNOWN]) & (batch.raw < MOST)
        numbers[raw_ids], says[raw_ids] = batch.raw[raw_ids].astype(np.int64), 0
        has_value = (batch.why == 0) | raw_ids
        numbers[~has_value] = 0
        exact: dict[int, str] = {}
        for row, (numerator, denominator) in batch.exact.items():
            scale = 10 ** int(decimals[row])
            number = _rounded(numerator * scale, denominator)
            if has_value[row] and abs(number) < MOST:
                numbers[row] = number
            elif has_value[row]:
                exact[row] = f"{number // scale}" if scale == 1 else f"{number / scale:.{DECIMALS}f}"
                numbers[row] = 0
        for row in np.flatnonzero(np.abs(numbers) >= MOST).tolist():
            exact.setdefault(row, str(batch.fraction(row)))
            numbers[row] = 0
        for row in np.flatnonzero(batch.why == CODES[Why.TEXT]).tolist():
            answer = batch.answers[int(batch.answer[row])]
            exact[row] = answer.texts.get(int(answer.plan.at[batch.place[row]])) or ""
        return says, numbers, exact

    def _said(self, batch: Batch) -> Ints:
        """The words on each reading of a film, as a position in `says`."""
        missed = np.where(batch.previous_call != 0, batch.missed, 0)
        keys = missed * len(batch.reasons) + batch.reason
        keys = (keys * len(FLAGS) + batch.flags) * len(WHYS) + batch.why
        different = distinct(keys)
        numbers = np.zeros(len(different), np.int64)
        for place, key in enumerate(different.tolist()):
            key, why = divmod(key, len(WHYS))
            key, flags = divmod(key, len(FLAGS))
            lost, reason = divmod(key, len(batch.reasons))
            said = WHYS[why] in (None, Why.TEXT), said_of_reading(WHYS[why], batch.reasons[reason], FLAGS[flags], lost)
            numbers[place] = self._says.setdefault(said, len(self._says))
        made: Ints = numbers[np.searchsorted(different, keys)]
        return made


def said_of_reading(why: Why | None, reason: str | None, flags: tuple[Flag, ...], missed: int) -> str:
    """The words that the maker of a film puts on a reading: why it has no value, its marks, and what was lost before it."""
    if why == Why.TEXT:
        return ""
    words = [word for word in (why, reason, *flags) if word]
    if missed:
        words.append(f"{missed} answers lost before it")
    return ": ".join(words)


def _row_number(lane: _Lane, plan: ValuePlan, place: int) -> int:
    """Returns the film's row number for a value: that of its instance, by name and identity."""
    series = plan.series[place]
    key: Key = ("aggregate", series.instance)
    name, identity = series.instance, ""
    if plan.samples[place] is not None:
        where = plan.places[place]
        key = (where.name, where.identity)
        name = name.removesuffix(f"#{where.ordinal}") if name is not None and where.ordinal else name
        identity = " ".join(str(part) for part in where.identity if part is not None) if len(where.identity) > 1 else ""
    if key not in lane.rows:
        lane.rows[key] = len(lane.rows)
        lane.film.rows.append(FilmRow(name, identity))
    return lane.rows[key]


def _column_number(lane: _Lane, plan: ValuePlan, place: int, nth: int) -> int:
    series = plan.series[place]
    if (number := lane.columns.get((series.counters, nth))) is None:
        number = lane.columns[series.counters, nth] = len(lane.columns)
        kind = series.counter_type
        # A text has another length at each poll.
        is_text = kind is not None and kind & TYPE_CLASS_MASK == TYPE_CLASS_TEXT
        formula = formula_of(kind) if kind is not None else None
        lane.film.columns.append(
            FilmColumn(
                series.counters,
                series.unit or "",
                type_name(kind) if kind is not None else None,
                _decimals(series),
                series.scale,
                bool(series.attributes & ATTRIB_HEX) or (formula is not None and formula.is_hex),
                formula is not None and formula.delta,
                0 if is_text else int(max(plan.sizes[place], 0)) if place < len(plan.sizes) else 0,
            )
        )
    return number


def _decimals(series: Series) -> int:
    """Returns how many decimals the displayed values of a film's column have. A number that a server counted has none
    (`formulas.shown`)."""
    formula = formula_of(series.counter_type) if series.counter_type is not None else None
    if formula is None or series.attributes & ATTRIB_REAL:
        return 0 if formula is None else DECIMALS
    is_growth = formula.kind == "counter" and formula.delta and formula.clock is None and not formula.base
    return 0 if formula.kind != "elapsed" and (formula.kind != "counter" or is_growth) else DECIMALS


def _is_id(series: Series) -> bool:
    return any(name.casefold() in _IDS for name in series.counters)


def _asks_for_all(plan: ValuePlan, sample: Sample | None) -> bool:
    """Whether a film's poll asks for all instances: a block of winperf, or a query whose identifier names no instance."""
    if not isinstance(sample, PerflibSample):
        return sample is not None
    known = plan.query.blocks.get(sample.block) if plan.query is not None else None
    return known is not None and not known.names_one_instance


def _offsets(answer: Answer) -> Ints:
    """Returns where the bytes of each value of a film begin in the buffer; -1 if unknown."""
    plan = answer.plan
    layout = plan.layout
    if answer.data is not None and (read := PERF_DATA.read(answer.data)) is not None:
        layout = read.layout
    found = np.full(len(plan), NO_PLACE, np.int64)
    if layout is not None:
        known = plan.at >= 0
        found[known] = layout.value_starts[plan.at[known]]
    return found


def _thousandths(numerator: Ints, denominator: Ints) -> Ints:
    """Returns quotients times a thousand for a film's cells, rounded to the nearest whole number (ties to even). Numerators are
    below 2**52."""
    whole, left = np.divmod(numerator * 10**DECIMALS, denominator)
    twice = 2 * left.astype(np.float64)
    more = (twice > denominator) | ((twice == denominator) & (whole % 2 == 1))
    made: Ints = whole + more
    return made


def _rounded(numerator: int, denominator: int) -> int:
    whole, left = divmod(numerator, denominator)
    return whole + (2 * left > denominator or (2 * left == denominator and whole % 2 == 1))


def films_of(batches: Iterator[Batch], most_bytes: int | None = None) -> Films:
    """Returns the films of readings. Once blocks have `most_bytes`, further polls are only counted."""
    maker = FilmMaker(most_bytes)
    for batch in batches:
        maker.take_readings(batch)
    return maker.films()
