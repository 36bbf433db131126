"""Films of machines: what a poll of known processes shows at random moments, and where its bytes are."""

import random
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.questions.films import film as film_module
from analyzer.questions.films.film import NOT_ASKED, Film, Films, moments, numbers_in_varints, read_block, varints
from analyzer.questions.films.film_maker import films_of
from analyzer.questions.series.reading_batches import readings
from analyzer.results.analysis import Analysis
from tests.build.buffers import Block, Instance, PerfObject, name_table, wide
from tests.build.buffers import Counter as Definition
from tests.build.calls import analysis_of, winreg
from tests.build.counters import Info, Reader, Watch, large, one, whole
from tests.build.machine import NAMES, Machine, Shown

POLLS, PROCESSES = 300, 40


@cache
def polled() -> tuple[Analysis, list[dict[int, Shown]]]:
    """A machine that was polled, and what was true at each poll."""
    machine, make = Machine(PROCESSES, changes=0.3), winreg()
    events = [make.open_key(), make.query_value("Counter 009", name_table(NAMES))]
    truths = []
    for _ in range(POLLS):
        truths.append(machine.step().truth)
        events.append(make.query_value("230 238 4 2", machine.answer(), room=1 << 20))
    return analysis_of(*events), truths


@cache
def films() -> Films:
    return films_of(readings(polled()[0]))


def film_named(found: Films, name: str) -> Film:
    return next(film for film in found.films if name in film.names)


def cells(found: Films, film: Film, poll: int) -> dict[str, dict[str, float | str | None]]:
    """What a poll shows, by instance and counter; None for what has no value."""
    frame, at = film.frame(poll)
    made: dict[str, dict[str, float | str | None]] = {}
    for column, about in enumerate(film.columns[: len(frame.states)]):
        for place, row in enumerate(frame.rows):
            state = int(frame.states[column, place, at])
            if state == NOT_ASKED:
                continue
            cell = (column * len(frame.rows) + place) * frame.states.shape[2] + at
            value = frame.exact.get(cell, int(frame.values[column, place, at]) / 10**about.decimals)
            label = f"{film.rows[row].name} {film.rows[row].identity}".strip()
            made.setdefault(label, {})[about.names[0]] = value if found.says[state][0] else None
    return made


@given(st.lists(st.integers(-(2**53), 2**53)))
def test_numbers_are_read_as_they_were_written(numbers: list[int]) -> None:
    assert numbers_in_varints(varints(np.array(numbers, np.int64))).tolist() == numbers


def test_each_moment_shows_the_processes_that_ran() -> None:
    found, truths = films(), polled()[1]
    film = film_named(found, "Process")
    assert len(film.calls) == POLLS
    for poll in [0, 1, POLLS - 1, *random.Random(3).sample(range(POLLS), 60)]:
        shown = {int(str(one["ID Process"]).split(".")[0]): one for one in cells(found, film, poll).values()}
        assert shown.keys() == truths[poll].keys()
        for pid, true in truths[poll].items():
            one = shown[pid]
            has = (one["Creating Process ID"], one["Working Set"], one["Handle Count"], one["Thread Count"])
            assert has == (true.parent, true.memory, true.handles, true.threads)
            # The first poll that has a process says that it needs two.
            cpu = None if poll == 0 else true.cpu
            assert one["% Processor Time"] == (None if cpu is None else pytest.approx(cpu, abs=0.000501))


def test_starts_and_ends_are_those_of_the_machine() -> None:
    film, truths = film_named(films(), "Process"), polled()[1]
    spans = {int(row.identity.removeprefix("ID Process ")): row.spans for row in film.rows}
    for poll, true in enumerate(truths):
        there = {pid for pid, some in spans.items() if any(first <= poll <= last for first, last in some)}
        assert there == true.keys()
    assert all(film.whole)


def test_the_bytes_of_a_cell_are_those_of_its_value() -> None:
    analysis = polled()[0]
    film = film_named(films(), "Process")
    column = next(at for at, one in enumerate(film.columns) if one.names[0] == "Working Set")
    for poll in random.Random(5).sample(range(POLLS), 20):
        side = analysis.calls[film.calls[poll] - 1].response
        assert side.buffer is not None
        frame, at = film.frame(poll)
        layout = sum(first <= at for first in frame.layouts) - 1
        for place in range(len(frame.rows)):
            if frame.states[column, place, at] != NOT_ASKED:
                start = int(frame.places[layout, column, place])
                held = side.buffer.data[start : start + film.columns[column].size]
                assert int.from_bytes(held, "little") == frame.values[column, place, at]


def test_texts_and_the_values_beside_them_lead_to_their_bytes() -> None:
    """Of both interfaces. Texts move what stands behind them."""
    watch = Watch((Info(1, 0x00010100), Info(2, 0x00000B00))).open(whole())
    for text in ("a", "longer", ""):
        raws = (*large(7), wide(text))
        watch.poll(Block(6, ids=(1, 2), instances=(("x", 0), ("y", 1)), values=(raws, raws)))
    reader = Reader()
    counters = Definition(784, 0x00010000, 4), Definition(6, 0x00000B00, 8)
    rows = tuple(Instance(name, -1, (0, 0), (7, name * 3)) for name in "pq")
    reader.read(PerfObject(230, counters, rows))
    for analysis, polls in ((watch.analysis, 3), (reader.analysis, 1)):
        (film,) = films_of(readings(analysis)).films
        assert len(film.calls) == polls
        for poll, call in enumerate(film.calls):
            side = analysis.calls[call - 1].response
            assert side is not None
            frame, at = film.frame(poll)
            for column, about in enumerate(film.columns):
                for place in range(len(frame.rows)):
                    start = frame.start_of(column, place, at)
                    assert start is not None
                    cell = (column * len(frame.rows) + place) * frame.states.shape[2] + at
                    if about.type == "PERF_COUNTER_TEXT":
                        assert about.size == 0
                        assert side.buffer_data[start:].startswith(frame.exact[cell].encode("utf-16-le"))
                    else:
                        held = side.buffer_data[start : start + about.size]
                        assert int.from_bytes(held, "little") == frame.values[column, place, at] == 7


def test_polls_of_one_round_are_one_moment() -> None:
    found = films()
    assert len(moments(found.films)) == POLLS
    assert {film.names[0] for film in found.films} == {"Process", "Processor", "Memory", "System"}


def test_what_was_not_asked_is_not_zero() -> None:
    watch = Watch((Info(1, 0x00010100), Info(2, 0x00010100))).open(one(1, "a", 0, 1), one(2, "b", 1, 2))
    watch.poll(Block(1, values=(large(0),)), Block(1, values=(large(7),)))
    found = films_of(readings(watch.analysis))
    (film,) = found.films
    shown = cells(found, film, 0)
    assert sorted(len(one) for one in shown.values()) == [1, 1]
    assert not any(film.whole)


def test_numbers_that_a_browser_does_not_hold_are_text() -> None:
    watch = Watch((Info(1, 0x00010100),)).open(whole())
    values = (2**64 - 1, 2**51, 2**51 - 1)
    for value in values:
        watch.poll(Block(6, ids=(1,), instances=(("x", 7),), values=(large(value),)))
    found = films_of(readings(watch.analysis))
    (film,) = found.films
    shown = [next(iter(next(iter(cells(found, film, poll).values())).values())) for poll in range(3)]
    assert shown == [str(2**64 - 1), str(2**51), 2**51 - 1]


def test_a_handle_that_follows_another_goes_on_with_its_film() -> None:
    """A client that opens a key or a query anew for each look still has one film."""
    first = Reader()
    item = PerfObject(4, (Definition(24, 0x00010000, 4),), (Instance(None, -1, (0, 0), (5,)),), has_instances=False)
    first.read(item).read(item)
    found = films_of(readings(first.analysis))
    assert [len(film.calls) for film in found.films] == [2]


def test_beyond_the_limit_polls_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(film_module, "_MOST_POLLS", 16)
    found = films_of(readings(polled()[0]), most_bytes=1)
    kept = sum(len(film.calls) for film in found.films)
    assert found.left_out == 4 * POLLS - kept > 0
    assert all(read_block(block).states.size for film in found.films for block in film.blocks)
