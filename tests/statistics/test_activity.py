"""Who looked at what, and which processes were to be seen."""

from __future__ import annotations

from struct import pack

import pytest

from analyzer.core.events import Event
from analyzer.statistics import activity as module
from analyzer.statistics.activity import Findings, category_of, findings
from tests.build.buffers import (
    Block,
    Counter,
    Instance,
    PerfObject,
    identifier,
    instance_header,
    name_table,
    perf_data,
    string_table,
    wide,
    winperf,
)
from tests.build.calls import COUNTERSET, OTHER_COUNTERSET, Calls, analysis_of, sealed, winreg

ANY = 0xFFFFFFFF
RAW = 0x10000
PROCESS_ID = 4


def look(*events: Event) -> Findings:
    return findings(analysis_of(*events))


def process_set(make: Calls, name: str = "Process V2") -> list[Event]:
    return [
        make.registration(9, wide(name)),
        make.registration(10, string_table([(1, "% Idle"), (PROCESS_ID, "ID Process")], from_start=True)),
    ]


def processes(*found: tuple[str, int, int]) -> bytes:
    """A data answer with name, instance id and process id of each."""
    rows = tuple((pack("<Q", 7), pack("<I", pid)) for _, _, pid in found)
    return perf_data(
        [Block(6, ids=(1, PROCESS_ID), instances=tuple((name, number) for name, number, _ in found), values=rows)]
    )


@pytest.mark.parametrize(
    ("name", "category"),
    [
        ("Process", "process"),
        ("Process V2", "process"),
        ("Thread", "process"),
        ("Job Object Details", "process"),
        ("Processor", None),
        ("Processor Information", None),
        ("Process Pool", None),
        ("Network Interface", "network"),
        ("TCPv4", "network"),
        ("Server", "network"),
        ("Server Manager", None),
        ("SMB Server Shares", "network"),
        ("IPv6", "network"),
        ("IPC", None),
        ("Terminal Services Session", "terminal-services"),
        ("RemoteFX Network", "terminal-services"),
        ("terminal services", "terminal-services"),
        ("", None),
        (None, None),
    ],
)
def test_countersets_have_categories_by_name(name: str | None, category: str | None) -> None:
    assert category_of(name) == category


def test_polling_process_shows_processes_with_their_first_and_last_sighting() -> None:
    make = Calls()
    found = look(
        *process_set(make),
        make.open_query(),
        make.validate(identifier(COUNTERSET, counter=ANY, instance=ANY, name="*")),
        make.counter_data(processes(("svchost", 1, 10), ("svchost", 2, 20), ("_Total", 0, 0))),
        make.counter_data(processes(("svchost", 1, 10), ("cmd", 3, 30))),
        make.counter_data(processes(("svchost", 1, 11))),
    )
    assert [(one.name, one.pid, one.instance_id, one.calls, one.first_call, one.last_call) for one in found.images] == [
        ("svchost", 10, 1, 2, 5, 6),
        ("svchost", 20, 2, 1, 5, 5),
        ("cmd", 30, 3, 1, 6, 6),
        ("svchost", 11, 1, 1, 7, 7),
    ]
    asked, polled = found.activities
    assert (asked.kind, asked.category, list(asked.calls)) == ("describe-counterset", "process", [1, 2])
    assert asked.detail == "COUNTERSET_ENGLISH_NAME, COUNTER_ENGLISH_NAMES"
    assert (polled.kind, polled.category, polled.target, polled.name) == ("poll", "process", COUNTERSET, "Process V2")
    assert (list(polled.calls), polled.failed) == ([5, 6, 7], 0)


def test_listing_the_instances_of_process_shows_processes_too() -> None:
    make = Calls()
    asked = make.stub().string("\\\\S").uuid(COUNTERSET).uint(4096)
    listed = instance_header("cmd", 3) + instance_header("_Total", 0)
    found = look(
        *process_set(make),
        make.exchange(2, asked, make.sized(listed)),
        make.open_query(),
        make.validate(identifier(COUNTERSET, counter=PROCESS_ID, instance=3, name="cmd")),
        make.counter_data(perf_data([Block(1, values=((pack("<I", 30),),))])),
    )
    # One instance by number and name: what the list says and the later answer's process id are of one process.
    assert [(one.name, one.pid, one.instance_id, one.calls) for one in found.images] == [("cmd", 30, 3, 2)]
    assert [one.kind for one in found.activities] == ["describe-counterset", "list-instances", "poll"]


def test_other_sets_and_unknown_ones_show_no_processes() -> None:
    make = Calls()
    data = processes(("cmd", 3, 30))
    found = look(
        make.registration(9, wide("Network Adapter")),
        make.open_query(),
        make.validate(identifier(COUNTERSET, counter=ANY, instance=ANY, name="*")),
        make.counter_data(data),
        Calls(first_frame=60).counter_data(data, "aaaaaaaa-9b1d-4f3c-8a55-0d2b7c9e1f10"),
    )
    assert not found.images
    assert [(one.kind, one.category) for one in found.activities] == [
        ("describe-counterset", "network"),
        ("poll", "network"),
        ("poll", None),
    ]
    assert "not known" in (found.activities[-1].detail or "")


def test_reads_of_winperf_show_processes_by_what_the_server_calls_process() -> None:
    def block(process: int, id_index: int) -> bytes:
        counters = (Counter(6, 0x10410400, 4), Counter(id_index, RAW, 4))
        return winperf(
            [
                PerfObject(
                    process, counters, (Instance("cmd", -1, (0, 0), (7, 30)), Instance("_Total", -1, (0, 0), (7, 0)))
                )
            ]
        )

    make = winreg()
    opened = make.open_key()
    names = make.query_value("Counter 009", name_table([("24", "Process"), ("26", "ID Process")]), kind=7)
    found = look(opened, names, make.query_value("24", block(24, 26)), make.query_value("Global", block(24, 26)))
    assert [(one.name, one.pid, one.target, one.calls) for one in found.images] == [("cmd", 30, 24, 2)]
    assert [(one.kind, one.category, one.target) for one in found.activities] == [
        ("read-names", None, None),
        ("poll", "process", 24),
    ]
    assert found.activities[1].detail == 'asked for as "24", asked for as "Global"'
    # Without names the base system's indices serve, also where only local names are known.
    make = winreg()
    german = make.query_value("Counter 007", name_table([("230", "Prozess")]), kind=7)
    found = look(make.open_key(), german, make.query_value("230", block(230, 784)))
    assert [(one.name, one.pid) for one in found.images] == [("cmd", 30)]
    assert found.activities[1].name == "Prozess"
    # Counter definitions alone are no list of processes.
    make = winreg()
    alone = winperf([PerfObject(230, (Counter(784, RAW, 4),), (), metadata=True)])
    found = look(make.open_key(), make.query_value("Metadata 230", alone))
    assert not found.images
    assert [(one.kind, one.target) for one in found.activities] == [("describe-counterset", 230)]
    # A server that calls something else by that index is believed.
    make = winreg()
    other = make.query_value("Counter 009", name_table([("230", "Something")]), kind=7)
    assert not look(make.open_key(), other, make.query_value("230", block(230, 784))).images


def test_what_is_sealed_is_said_to_be() -> None:
    make = Calls()
    found = look(sealed(make.counter_data(b"")), sealed(make.registration(1, b"")), make.enumerate_sets(bytes(32)))
    assert [(one.kind, one.detail) for one in found.activities] == [
        ("poll", "something that is sealed"),
        ("describe-counterset", "something that is sealed"),
        ("list-countersets", "2 countersets"),
    ]


def test_a_server_with_processes_without_end_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_IMAGES", 2)
    make = Calls()
    found = look(
        *process_set(make),
        make.open_query(),
        make.validate(identifier(COUNTERSET, counter=ANY, instance=ANY, name="*")),
        make.counter_data(processes(*((f"p{number}", number, number) for number in range(5)))),
    )
    assert (len(found.images), found.forgotten_images) == (2, 3)
    assert OTHER_COUNTERSET not in {one.target for one in found.activities}


def test_a_client_that_polls_something_else_each_time_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_POLLED", 6)
    make = Calls()
    events: list[Event] = [make.open_query()]
    for counter in range(4):
        events.append(make.validate(identifier(COUNTERSET, counter=counter, name="a")))
        events.append(make.counter_data(perf_data([Block(1, values=((pack("<I", 7),),))] * (counter + 1))))
    found = look(*events)
    assert (len(found.activities[0].calls), found.forgotten_polls) == (2, 2)


def test_what_is_larger_than_a_process_id_is_none() -> None:
    make = Calls()
    rows = ((pack("<Q", 7), pack("<Q", 1 << 32)),)
    data = perf_data([Block(6, ids=(1, PROCESS_ID), instances=(("cmd", 3),), values=rows)])
    found = look(
        *process_set(make),
        make.open_query(),
        make.validate(identifier(COUNTERSET, counter=ANY, instance=ANY, name="*")),
        make.counter_data(data),
    )
    assert [(one.name, one.pid) for one in found.images] == [("cmd", None)]
