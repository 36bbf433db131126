"""Processes of machines: when they were there, what their counters say, and what is odd about them."""

import random
import string
from collections.abc import Sequence
from pathlib import Path
from struct import pack
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.questions.processes.process_records import name_marks, parent_marks, process_records, process_table
from analyzer.questions.series.reading_batches import readings
from analyzer.questions.series.series_and_points import Key, Series
from analyzer.questions.series.value_plans import Registry, State
from analyzer.questions.statistics.who_looked_at_what import findings
from analyzer.results.analysis import Analysis
from analyzer.results.records.process import Course, ProcessRecord
from tests.build.buffers import (
    Block,
    Counter,
    Instance,
    PerfObject,
    identifier,
    instance_header,
    perf_data,
    string_table,
    wide,
    winperf,
)
from tests.build.calls import COUNTERSET, Calls, altered, analysis_of, winreg
from tests.questions.statistics.test_who_looked_at_what import ANY, PROCESS_ID, process_set, processes
from tests.written import is_as_written, told

PROCESS, PID, PARENT, ELAPSED, CPU, MEMORY = 230, 784, 1410, 684, 6, 180
COUNTERS = (
    Counter(PID, 0x10000, 4),
    Counter(PARENT, 0x10000, 4),
    Counter(ELAPSED, 0x30240500, 8),
    Counter(CPU, 0x20510500, 8),
    Counter(MEMORY, 0x10100, 8),
)
# A clock of one tick a 100 ns, so that Elapsed Time counts seconds.
TICKS_PER_S = 10_000_000
NOW = 1_000 * TICKS_PER_S


def answer(*found: tuple[str, int, int, int, int, int], at: int = NOW) -> bytes:
    """A block of the object Process: name, process id, parent, age in seconds, processor time in 100 ns, memory of each."""
    instances = tuple(
        Instance(name, -1, (0, 0), (pid, parent, at - age * TICKS_PER_S, cpu, memory))
        for name, pid, parent, age, cpu, memory in found
    )
    return winperf([PerfObject(PROCESS, COUNTERS, instances, clock=(at, TICKS_PER_S))], clocks=(at, TICKS_PER_S, at))


def polled(*answers: bytes) -> list[ProcessRecord]:
    make = winreg()
    return process_records(analysis_of(make.open_key(), *(make.query_value(str(PROCESS), data) for data in answers)))


@pytest.mark.parametrize("others", [1, 40])
def test_no_series_is_made_of_what_says_nothing_of_processes(others: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that what a long list of processes takes does not grow with the counters that come with it."""
    made: list[str] = []
    state = Registry.state

    def counted(self: Registry, key: Key, series: Series, *rest: Any) -> State:
        made.append(series.counters[0])
        return state(self, key, series, *rest)

    monkeypatch.setattr(Registry, "state", counted)
    counters = (*COUNTERS, *(Counter(2000 + 2 * number, 0x10100, 8) for number in range(others)))
    found = tuple(Instance(f"p{pid}", -1, (0, 0), (pid, 0, NOW, 0, 4096, *range(others))) for pid in range(4, 12))
    (first, *_) = polled(winperf([PerfObject(PROCESS, counters, found, clock=(NOW, TICKS_PER_S))], clocks=(NOW,) * 3))
    assert first.memory == Course(1, 4096.0, 4096.0, 4096.0, 4096.0, 4096.0)
    assert len(made) == len(COUNTERS) * len(found)


def test_values_go_by_time_though_answers_list_other_processes_meanwhile() -> None:
    polls = [(10, ()), (40, (STAYS,)), (30, ())]
    answers = [
        answer(*others, ("cmd", 460, 4, 60 + number, 0, memory), at=NOW + number * TICKS_PER_S)
        for number, (memory, others) in enumerate(polls)
    ]
    (one,) = (one for one in polled(*answers) if one.name == "cmd")
    assert one.memory == Course(3, 10.0, 30.0, 10.0, 80 / 3, 40.0)


def asked_for(name: str, data: Sequence[bytes]) -> list[ProcessRecord]:
    make = Calls()
    query = identifier(COUNTERSET, counter=ANY, instance=ANY, name=name)
    return process_records(
        analysis_of(*process_set(make), make.open_query(), make.validate(query), *map(make.counter_data, data))
    )


def listed(*lists: bytes, is_altered: bool = False) -> list[ProcessRecord]:
    """The processes of lists of instances; somebody may have changed the last."""
    make = Calls()
    asked = make.stub().string("\\\\server").uuid(COUNTERSET).uint(4096)
    found = [make.exchange(2, asked, make.sized(data, room=4096)) for data in lists]
    return process_records(
        analysis_of(*process_set(make), *found[:-1], altered(found[-1]) if is_altered else found[-1])
    )


def changed_last(*answers: bytes) -> list[ProcessRecord]:
    make = winreg()
    *found, last = (make.query_value(str(PROCESS), data) for data in answers)
    return process_records(analysis_of(make.open_key(), *found, altered(last)))


TWO = instance_header("cmd", 3) + instance_header("calc", 4)
BOTH, ONE = processes(("cmd", 3, 30), ("calc", 4, 40)), processes(("cmd", 3, 30))
CMD, STAYS = ("cmd", 460, 4, 60, 0, 10), ("services", 724, 4, 900, 0, 0)
LATER = answer(("cmd", 460, 4, 62, TICKS_PER_S, 30), at=NOW + 2 * TICKS_PER_S)


def cases() -> dict[str, list[ProcessRecord]]:
    return {
        # The answer came a millisecond after the request.
        "a process has its parent, start and memory": polled(
            answer(("services", 724, 680, 500, 0, 4096), ("cmd", 460, 724, 60, 0, 1024))
        ),
        "a parent that is younger is none": polled(answer(("old", 8, 460, 500, 0, 0), ("young", 460, 8, 60, 0, 0))),
        "processor time is the displayed value of pairs of answers": polled(answer(CMD), LATER),
        "what starts and ends is told by the answers that list it not": polled(
            answer(STAYS, CMD), answer(STAYS, ("calc", 480, 4, 1, 0, 0))
        ),
        "a process id that another program has now": polled(
            answer(("cmd", 460, 4, 60, 0, 1)), answer(("cmd", 480, 4, 5, 0, 2))
        ),
        **{f"a query for {name}": asked_for(name, (BOTH, ONE)) for name in ("*", "c*")},
        **{f"an instance {name}": asked_for("*", [processes((name, 3, 30))]) for name in ("chrome:30", "chrome:31")},
        "a damaged answer lists nothing whole": asked_for("*", [BOTH, ONE[:-3]]),
        "a block that states an error lists nothing": asked_for("*", [BOTH, perf_data([Block(0, status=0xC0000001)])]),
        "what others may have changed lists nothing whole": changed_last(answer(STAYS, CMD), answer(STAYS)),
        "a list of instances lists all": listed(TWO, TWO[: len(TWO) // 2]),
        "not if it is damaged": listed(TWO, TWO[:-6]),
        "nor if it names no process": listed(TWO, b""),
        "nor if others may have changed it": listed(TWO, TWO[: len(TWO) // 2], is_altered=True),
        "answers about something else": process_records(
            analysis_of(Calls().open_query(), Calls(first_frame=9).counter_data(perf_data([])))
        ),
    }


def text(promise: str, found: list[ProcessRecord]) -> str:
    return f"{promise}\n" + "".join(f"{line}\n" for one in found for line in told(one, 2))


def test_all_processes_are_in_one_text() -> None:
    """`PCQ_WRITE_PAGES=1 pytest -n 0 THIS_FILE` writes it."""
    is_as_written(Path(__file__).parent / "processes.txt", "".join(text(*case) for case in cases().items()))


@pytest.mark.parametrize("is_described", [False, True])
def test_values_are_read_first_where_a_parent_may_be_stated(
    is_described: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else when a record is made, once for all."""
    asked: list[Analysis] = []

    def noted(analysis: Analysis, *rest: Any) -> Any:
        asked.append(analysis)
        return readings(analysis, *rest)

    monkeypatch.setattr("analyzer.questions.series.reading_batches.readings", noted)
    make = Calls()
    counters = [(PROCESS_ID, "ID Process"), (5, "Creating Process ID" if is_described else "Other")]
    rows = tuple((pack("<I", pid), pack("<I", 4)) for pid in (30, 40))
    block = Block(6, ids=(PROCESS_ID, 5), instances=(("cmd", 3), ("calc", 4)), values=rows)
    analysis = analysis_of(
        make.registration(9, wide("Process V2")),
        make.registration(10, string_table(counters, from_start=True)),
        make.open_query(),
        make.validate(identifier(COUNTERSET, counter=ANY, instance=ANY, name="*")),
        make.counter_data(perf_data([block])),
    )
    table = process_table(analysis, findings(analysis))
    parent = 4 if is_described else None
    assert (len(asked), list(table.parent_pids)) == (int(is_described), [parent, parent])
    assert [table.record(row).parent_pid for row in range(2)] == [parent, parent]
    assert len(asked) == 1


# Names

# Programs of Windows and of others as they are called where performance counters show them, without extension.
USUAL = (Path(__file__).parent / "usual_processes.txt").read_text("utf-8").split()


def test_usual_programs_have_usual_names() -> None:
    assert len(USUAL) > 330
    assert {name: marks for name in USUAL if (marks := name_marks(name))} == {}


@pytest.mark.parametrize(
    ("name", "kind", "reason"),
    [
        ("svch0st", "resembles", "digits in the place of letters of svchost"),
        ("scvhost", "resembles", "one letter is other than in svchost"),
        ("svchosts", "resembles", "one letter is other than in svchost"),
        ("svhost", "resembles", "one letter is other than in svchost"),
        ("lsasss.exe", "resembles", "one letter is other than in lsass"),
        ("1sass", "resembles", "digits in the place of letters of lsass"),
        ("cssrs", "resembles", "one letter is other than in csrss"),
        ("exp1orer", "resembles", "digits in the place of letters of explorer"),
        ("qyFQReH", "random", "capitals and small letters change 3 times in 7 letters; no word has qy, fq, qr"),
    ],
)
def test_an_odd_name_is_marked_with_the_reason(name: str, kind: str, reason: str) -> None:
    assert [(mark.kind, mark.reason) for mark in name_marks(name)] == [(kind, reason)]


@pytest.mark.parametrize(
    "name", ["svchost", "SVCHOST.EXE", "Lsass", "taskhost", "", "a", "日本語", "x" * 5000, "7zG", "service"]
)
def test_other_names_are_not(name: str) -> None:
    assert name_marks(name) == ()


def test_two_of_five_names_that_tools_make_up_are_marked() -> None:
    """Eight letters, capitals and small ones, as impacket calls the program that it copies."""
    rng = random.Random(1)
    made = ["".join(rng.choice(string.ascii_letters) for _ in range(8)) for _ in range(2000)]
    assert sum(bool(name_marks(name)) for name in made) > 0.4 * len(made)


@given(st.text(max_size=40))
def test_any_name_is_judged(name: str) -> None:
    assert all(mark.reason for mark in name_marks(name))


@pytest.mark.parametrize(
    ("name", "parent", "services", "is_odd"),
    [
        ("svchost", 1672, {724}, True),
        ("svchost", 724, {724}, False),
        ("svchost", None, {724}, False),
        ("svchost", 1672, set(), False),
        ("cmd", 1672, {724}, False),
    ],
)
def test_svchost_is_a_child_of_services(name: str, parent: int | None, services: set[int], is_odd: bool) -> None:
    assert bool(parent_marks(name, parent, frozenset(services))) is is_odd
