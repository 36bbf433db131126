"""What a display begins with."""

import pytest
from msgspec import UNSET

from analyzer.questions.processes.process_records import ProcessTable, process_records
from analyzer.results.records.process import ProcessRecord
from analyzer.screens.viewmodel import overview
from analyzer.screens.viewmodel.call_summary_words import parent_words
from analyzer.screens.viewmodel.overview import overview_of
from tests.build.calls import analysis_of, winreg
from tests.questions.processes.test_processes import PROCESS, answer


def test_of_many_processes_the_odd_ones_are_shown_before_others(monkeypatch: pytest.MonkeyPatch) -> None:
    make = winreg()
    named = "a", "services", "b", "svchost", "c"
    answers = answer(*((name, 500 + at, 4, 60, 0, 0) for at, name in enumerate(named)))
    analysis = analysis_of(make.open_key(), make.query_value(str(PROCESS), answers))
    assert [one.name for one in overview_of(analysis).processes] == [*named]
    assert overview_of(analysis).processes_left_out is UNSET
    monkeypatch.setattr(overview, "MAX_PROCESSES", 2)
    shown = overview_of(analysis)
    assert ([one.name for one in shown.processes], shown.processes_left_out) == (["a", "svchost"], 3)


def test_processes_are_shown_without_what_only_their_records_have(monkeypatch: pytest.MonkeyPatch) -> None:
    """For a record, values are looked for in all answers."""
    make = winreg()
    services = "services", 724, 680, 500, 0, 0
    answers = answer(services), answer(services, ("svchost", 8, 460, 60, 0, 0), ("cmd", 460, 724, 70, 0, 0))
    analysis = analysis_of(make.open_key(), *(make.query_value(str(PROCESS), data) for data in answers))
    records = process_records(analysis)
    assert [len(one.oddities) for one in records] == [0, 1, 0]

    def refused(_: ProcessTable, row: int) -> ProcessRecord:
        raise AssertionError(f"made a record of row {row}")

    monkeypatch.setattr(ProcessTable, "record", refused)
    shown = overview_of(analysis).processes
    assert [(one.server, one.name, one.pid, one.parent, one.answers, one.call) for one in shown] == [
        (one.server_ip, one.name, one.pid, parent_words(one.parent_pid, one.parent_name), one.answers, one.first_call)
        for one in records
    ]
    assert [(one.first_time_ns, one.last_time_ns, len(one.oddities)) for one in shown] == [
        (one.first_time_ns, one.last_time_ns, len(one.oddities)) for one in records
    ]
