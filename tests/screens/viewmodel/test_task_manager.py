"""A machine at a moment: each cell is what `counters` states of that call, and names are those of counter paths."""

import random
import re
from collections import defaultdict
from decimal import Decimal
from functools import cache

import pytest

from analyzer.questions.films.film import Films
from analyzer.questions.films.film_maker import films_of
from analyzer.questions.series.formulas import formula_of
from analyzer.questions.series.reading_batches import readings
from analyzer.results.analysis import Analysis
from analyzer.results.records.sample import CounterRecord
from analyzer.screens.viewmodel.task_manager import MachineTable, WatchedMachine
from analyzer.screens.views.counters import Counters
from tests.build.buffers import Counter, Instance, PerfObject, name_table
from tests.build.calls import analysis_of, winreg
from tests.build.counters import Reader
from tests.build.machine import NAMES, Machine
from tests.page import analysis_named

CAPTURES = (
    "pcq_smbd_scapy_impacket_smb311_ntlm_privacy.pcap",
    "pcq_smbd_scapy_scapycli_smb311_ndr64.pcap",
    "v1_samba_impacket_smb311_ntlm_privacy.pcap",
)
_POLLS = 30
_INDEX = re.compile(r"#\d+(?=\)\\)")


@cache
def polled(seed: int = 3) -> Analysis:
    machine, make = Machine(9, seed, changes=0.6), winreg()
    events = [make.open_key(), make.query_value("Counter 009", name_table(NAMES))]
    events += [make.query_value("230 238 4 2", machine.step().answer(), room=1 << 20) for _ in range(_POLLS)]
    return analysis_of(*events)


def stated(analysis: Analysis) -> dict[tuple[int, str], list[CounterRecord]]:
    """What `counters` prints of a call and a path; several instances may have one name."""
    found: dict[tuple[int, str], list[CounterRecord]] = defaultdict(list)
    for one in Counters(analysis).records():
        if isinstance(one, CounterRecord) and not one.repeated and one.aggregate is None:
            is_base = one.counter_type is not None and (known := formula_of(one.counter_type)) and known.kind == "base"
            if not is_base:
                found[one.call, _INDEX.sub("", one.path)].append(one)
    return found


def shown(table: MachineTable) -> dict[tuple[int, str], list[tuple[Decimal | int | str | None, str, str]]]:
    """Value or text, words and what is said of the cells of a table, by call and path."""
    found = defaultdict(list)
    for row in table.rows:
        for (_, column), cell in zip(table.columns, row.cells, strict=bool(row.cells)):
            if cell.call is not None and column is not None:
                instance = f"({row.name})" if row.name is not None else ""
                counter = table.film.columns[column].names[0]
                path = rf"\\{table.film.server.ip}\{table.film.names[0]}{instance}\{counter}"
                value = cell.words if cell.is_text else cell.value
                found[cell.call, _INDEX.sub("", path)].append((value, cell.words, cell.says))
    return found


def agree(analysis: Analysis, moments: int) -> int:
    """Compares the cells of some moments with what `counters` prints. Returns how many cells that were."""
    films, records, compared = films_of(readings(analysis)), stated(analysis), 0
    for ip in films.machines():
        watched = WatchedMachine(films, ip)
        some = random.Random(1).sample(watched.moments, min(moments, len(watched.moments)))
        for table in (one for moment in some for one in watched.tables(moment)):
            for key, cells in shown(table).items():
                # In the order of the answer, as the rows of one name are not: their values are compared without it.
                known = [one for one in records[key] if one.handle in table.film.handles]
                assert len(cells) == len(known), key
                left = list(known)
                for value, words, says in cells:
                    fitting = next((one for one in left if says_the_same(one, value, words, says)), None)
                    assert fitting is not None, (key, value, words, says, left)
                    left.remove(fitting)
                    compared += 1
    return compared


def says_the_same(one: CounterRecord, value: Decimal | int | str | None, words: str, says: str) -> bool:
    if one.why_null == "text":
        return value == one.display
    if one.value is None:
        return value is None and says.startswith(str(one.why_null)) and (one.reason or "") in says
    if value is None or isinstance(value, str):
        return False
    is_near = abs(Decimal(one.value) - value) <= Decimal("0.0005") + abs(value) * Decimal("1e-15")
    known = formula_of(one.counter_type) if one.counter_type is not None else None
    return is_near and (not (known and known.is_hex) or words == one.display) and all(one in says for one in one.flags)


@pytest.mark.parametrize("name", CAPTURES)
def test_each_cell_of_a_capture_is_what_counters_state(name: str) -> None:
    assert agree(analysis_named(name), 8) > 20


@pytest.mark.parametrize("seed", range(4))
def test_each_cell_of_a_machine_is_what_counters_state(seed: int) -> None:
    assert agree(polled(seed), 3) > 100


def films() -> tuple[Films, WatchedMachine]:
    found = films_of(readings(polled()))
    return found, WatchedMachine(found, next(iter(found.machines())))


def test_every_name_of_a_moment_is_there_once_and_counts_from_nothing() -> None:
    """`chrome`, `chrome#1`, `chrome#2`: the instance indexes of counter paths."""
    _, watched = films()
    seen = 0
    for moment in watched.moments:
        table = next(one for one in watched.tables(moment) if one.film.names[0] == "Process")
        names = [row.name or "" for row in table.rows if row.change != "ended"]
        assert len(names) == len(set(names))
        for name in names:
            base, _, index = name.partition("#")
            wanted = {base, *(f"{base}#{at}" for at in range(1, int(index or 0)))}
            assert wanted <= set(names)
            seen += bool(index)
    assert seen > 0


def test_an_instance_has_the_index_of_its_place_in_the_answer() -> None:
    def process(*rows: tuple[str, int]) -> PerfObject:
        counters = (Counter(784, 0x00010000, 4),)
        return PerfObject(230, counters, tuple(Instance(name, -1, (0, 0), (pid,)) for name, pid in rows))

    make = winreg()
    reader = Reader(make, [make.query_value("Counter 009", name_table(NAMES))])
    reader.read(process(("a", 4), ("a", 8))).read(process(("a", 8), ("a", 4))).read(process(("a", 8), ("a", 12)))
    found = films_of(readings(reader.analysis))
    watched = WatchedMachine(found, next(iter(found.machines())))
    names = []
    for moment in watched.moments:
        (table,) = watched.tables(moment)
        names.append({int(row.row.identity.split()[-1]): (row.name, row.change) for row in table.rows})
    assert names == [
        {4: ("a", None), 8: ("a#1", None)},
        {4: ("a#1", None), 8: ("a", None)},
        {4: ("a#1", "ended"), 8: ("a", None), 12: ("a#1", "started")},
    ]


def test_what_uses_the_processor_most_comes_first_and_what_is_not_known_last() -> None:
    _, watched = films()
    for moment in watched.moments[1:4]:
        table = next(one for one in watched.tables(moment) if one.film.names[0] == "Process")
        column = table.use_column
        assert column is not None
        values = [row.cells[column].value if row.cells else None for row in table.sorted_by(column)]
        known = [value for value in values if value is not None]
        assert values == [*sorted(known, reverse=True), *[None] * (len(values) - len(known))]


def test_before_the_first_poll_there_is_nothing() -> None:
    _, watched = films()
    assert {one.poll for one in watched.tables(watched.moments[0] - 1)} == {None}
    assert [one.panel.id for one in watched.tables(watched.moments[0])] == ["processes", "cores", "memory", "system"]


def test_the_course_of_a_cell_is_its_values() -> None:
    _, watched = films()
    tables = [next(iter(watched.tables(moment))) for moment in watched.moments[:6]]
    row = tables[-1].rows[0]
    at, column = next((at, column) for at, (title, column) in enumerate(tables[-1].columns) if title == "Memory")
    assert column is not None
    course = watched.course(tables[-1].film, row.number, column, 5, 6)
    same = [next(one for one in table.rows if one.number == row.number) for table in tables]
    assert course == [float(one.cells[at].value or 0) for one in same]
