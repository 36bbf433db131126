"""Who looked at what, and which processes were to be seen."""

from __future__ import annotations

from array import array
from struct import pack

import pytest
from msgspec.structs import replace

from analyzer.core.events import Event
from analyzer.questions.statistics import activity as module
from analyzer.questions.statistics.activity import ActivityFindings, activity_record, category_of, findings, omissions
from analyzer.results.record import Endpoint
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
from tests.build.calls import COUNTERSET, MS, OTHER_COUNTERSET, OTHER_HANDLE, Calls, analysis_of, sealed, winreg
from tests.build.rpc import CHANNEL

ANY = 0xFFFFFFFF
RAW = 0x10000
PROCESS_ID = 4


def look(*events: Event) -> ActivityFindings:
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


NAMES: dict[str | None, str] = {
    "process": "Process, Process V2, Thread, Thread V2, Image, Full Image, Process Details, Job Object Details",
    "network": "Network Interface, TCPv4, Server, SMB Server Shares, IPv6, UDPv4, ICMP, ICMPv6, TCP, UDP, IP, NBT Connection, "
    "Server Sessions, Redirector, SMB Client, Physical Network Interface Card Activity, Per Processor Network Activity Cycles, "
    "WFPv4, IPsec Driver, RAS Port, DNS, DHCP Server",
    "terminal-services": "Terminal Services Session, RemoteFX Network, terminal services, Remote Desktop Gateway, "
    "User Input Delay per Session",
    None: "Processor, Processor Information, Process Pool, Server Manager, IPC, Images, Threads, TCP Pool, UDPs, IPs, Servers, "
    "Redirectors, My Process, Networking, RASP, SMBs, ",
}


@pytest.mark.parametrize("category", NAMES)
def test_countersets_have_categories_by_the_beginning_of_their_name(category: str | None) -> None:
    names = NAMES[category].split(", ")
    assert {name: category_of(name) for name in names} == dict.fromkeys(names, category)
    assert category_of(None) is None


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


def test_requests_for_registration_are_named_by_their_codes() -> None:
    make = Calls()
    found = look(*(make.registration(code, b"") for code in (1, 2, 3, 12, 77, 1)))
    assert [(one.detail, len(one.calls)) for one in found.activities] == [
        ("COUNTERSET_STRUCT, COUNTER_STRUCT, COUNTERSET_NAME_STRING, code 12, code 77", 6)
    ]
    assert look(make.exchange(1, None, b"")).activities == ()


def test_countersets_that_were_enumerated_are_counted_where_they_were_given() -> None:
    make = Calls()
    refused = make.exchange(0, make.stub().string("\\\\S").uint(256), make.sized(b"", 5, element=16, room=256))
    lost = replace(make.enumerate_sets(bytes(16)), response=None, state="request-only", reason="lost")
    (one,) = look(refused, lost).activities
    assert (one.kind, one.detail, one.failed, list(one.calls)) == ("list-countersets", None, 2, [1, 2])
    (one,) = look(make.enumerate_sets(bytes(48)), refused).activities
    assert (one.detail, one.failed, one.first_time_ns, one.last_time_ns) == ("3 countersets", 1, MS, 5 * MS)


def test_a_value_name_of_the_client_is_noted_so_often() -> None:
    make = winreg()
    block = winperf([PerfObject(4, (Counter(6, RAW, 4),), (Instance("a", -1, (0, 0), (7,)),))])
    (one,) = look(make.open_key(), *(make.query_value(f"4 {number}", block) for number in range(40))).activities
    assert one.detail == ", ".join(f'asked for as "4 {number}"' for number in range(32))
    assert len(one.calls) == 40


def test_reads_without_performance_data_are_no_polls() -> None:
    make = winreg()
    block = winperf([PerfObject(4, (Counter(6, RAW, 4),), (Instance("a", -1, (0, 0), (7,)),))])
    found = look(
        make.open_key(),
        make.query_value("4", None, status=234, needed=100),
        replace(make.query_value("4", block), response=None, state="request-only", reason="lost"),
        make.query_value("4", block, status=2),
    )
    (one,) = found.activities
    # The try with too small a buffer is one of a read that was tried again.
    assert (one.kind, one.target, list(one.calls), one.read, one.failed) == ("poll", 4, [2, 3, 4], array("q"), 3)
    assert one.unread == {"no answer": 1, "ERROR_FILE_NOT_FOUND": 1, "too small a buffer": 1}


def test_activities_of_one_call_come_in_the_order_of_their_targets() -> None:
    def objects(*indices: int) -> bytes:
        return winperf(
            [PerfObject(index, (Counter(6, RAW, 4),), (Instance("a", -1, (0, 0), (7,)),)) for index in indices]
        )

    make = winreg()
    found = look(make.open_key(), make.query_value("Global", objects(4, 2, 30)), make.query_value("1", objects(1, 4)))
    assert [(one.target, list(one.calls), one.name) for one in found.activities] == [
        (2, [2], "System"),
        (30, [2], "Commit Limit"),
        (4, [2, 3], "Memory"),
        (1, [3], None),
    ]


def test_processes_of_winperf_need_a_name_and_a_process_id_that_fits() -> None:
    def block(*rows: tuple[str, int | None]) -> bytes:
        """Instances of Process: a value of eight bytes each, or no counters at all."""
        counters = (Counter(6, RAW, 4), Counter(784, 0x10100, 8))
        return winperf(
            [PerfObject(230, counters, tuple(Instance(name, -1, (0, 0), (7, pid or 0)) for name, pid in rows))]
        )

    make = winreg()
    found = look(
        make.open_key(),
        make.query_value("230", block(("a", 0xFFFFFFFF), ("b", 1 << 32), ("_Total", 5), ("", 6), ("c", 0))),
    )
    assert [(one.name, one.pid) for one in found.images] == [("a", 0xFFFFFFFF), ("b", None), ("c", 0)]
    make = winreg()
    without = winperf([PerfObject(230, (Counter(6, RAW, 4),), (Instance("a", -1, (0, 0), (7,)),))])
    found = look(make.open_key(), make.query_value("230", without), make.query_value("230", without))
    assert [(one.name, one.pid, one.calls, one.first_call, one.last_call) for one in found.images] == [
        ("a", None, 2, 2, 3)
    ]


def polling_all(make: Calls) -> list[Event]:
    return [
        *process_set(make),
        make.open_query(),
        make.validate(identifier(COUNTERSET, counter=ANY, instance=ANY, name="*")),
    ]


def test_process_ids_beside_instances() -> None:
    """What is 0xFFFFFFFF is a process id still; an instance without a number of its own has none; without a name, it is none."""
    make = Calls()
    found = look(
        *polling_all(make),
        make.counter_data(processes(("a", 1, 0xFFFFFFFF), ("b", 0xFFFFFFFF, 5), ("", 3, 6), ("_Total", 4, 7))),
    )
    assert [(one.name, one.instance_id, one.pid) for one in found.images] == [("a", 1, 0xFFFFFFFF), ("b", None, 5)]


def test_blocks_of_single_counters_say_what_the_handle_holds() -> None:
    make = Calls()
    found = look(
        *process_set(make),
        make.open_query(),
        make.validate(
            identifier(COUNTERSET, counter=PROCESS_ID, instance=3, name="cmd")
            + identifier(COUNTERSET, counter=1, instance=3, name="cmd")
            + identifier(COUNTERSET, counter=1, instance=0, name="_Total")
            + identifier(OTHER_COUNTERSET, counter=PROCESS_ID, instance=9, name="other")
            + identifier(COUNTERSET, counter=PROCESS_ID, instance=ANY, name="svc")
        ),
        make.counter_data(
            perf_data(
                [
                    Block(1, values=((pack("<I", 30),),)),
                    Block(1, values=((pack("<I", 31),),)),
                    Block(1, values=((pack("<I", 32),),)),
                    Block(1, values=((pack("<I", 33),),)),
                    Block(1, values=((pack("<I", 34),),)),
                ]
            )
        ),
    )
    assert [(one.name, one.instance_id, one.pid, one.target, one.calls) for one in found.images] == [
        ("cmd", 3, 30, COUNTERSET, 1),
        ("svc", None, 34, COUNTERSET, 1),
    ]


def test_a_process_that_gets_its_id_later_is_one_and_another_id_is_another() -> None:
    make = Calls()
    alone = perf_data([Block(6, ids=(1,), instances=(("cmd", 3),), values=((pack("<Q", 7),),))])
    found = look(
        *polling_all(make),
        make.counter_data(alone),
        make.counter_data(processes(("cmd", 3, 30))),
        make.counter_data(alone),
        make.counter_data(processes(("cmd", 3, 31))),
        make.counter_data(alone),
    )
    assert [(one.pid, one.calls, one.first_call, one.last_call) for one in found.images] == [
        (30, 3, 5, 7),
        (31, 1, 8, 8),
        (None, 1, 9, 9),
    ]
    assert found.images[0].last_time_ns == 13 * MS


def test_two_clients_saw_a_process() -> None:
    make = Calls()
    other = Calls(channel=replace(CHANNEL, number=1, client=Endpoint("10.0.0.9", 7)), first_frame=60)
    events = [*polling_all(make), make.counter_data(processes(("cmd", 3, 30)))]
    events += [
        other.open_query(OTHER_HANDLE),
        other.validate(identifier(COUNTERSET, counter=ANY, instance=ANY, name="*"), handle=OTHER_HANDLE),
        other.counter_data(processes(("cmd", 3, 30)), OTHER_HANDLE),
    ]
    found = look(*events)
    assert [(one.name, one.calls, [who.client_ip for who in one.seen_by]) for one in found.images] == [
        ("cmd", 2, ["10.0.0.2", "10.0.0.9"])
    ]
    assert [(one.kind, one.who.client_ip, list(one.calls)) for one in found.activities] == [
        ("describe-counterset", "10.0.0.2", [1, 2]),
        ("poll", "10.0.0.2", [5]),
        ("poll", "10.0.0.9", [8]),
    ]


def test_what_was_left_out_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(omissions(ActivityFindings((), (), 0))) == []
    assert [one.text for one in omissions(ActivityFindings((), (), 3, 4))] == [
        "3 sightings of processes beyond the first 100000 are not listed",
        "4 polls of too many different counters are not listed among the findings",
    ]
    assert (
        len(list(omissions(ActivityFindings((), (), 1)))) == len(list(omissions(ActivityFindings((), (), 0, 1)))) == 1
    )
    monkeypatch.setattr(module, "MAX_IMAGES", 3)
    make = Calls()
    found = look(*polling_all(make), make.counter_data(processes(("a", 1, 1), ("b", 2, 2), ("c", 3, 3))))
    assert (len(found.images), found.forgotten_images) == (3, 0)


@pytest.mark.parametrize(("bound", "polls", "forgotten"), [(3, 0, 3), (4, 1, 2), (5, 2, 1), (6, 3, 0)])
def test_so_many_counters_of_polls_are_looked_at(
    bound: int, polls: int, forgotten: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two counters of one counterset, looked through once; then the counterset for each poll."""
    monkeypatch.setattr(module, "MAX_POLLED", bound)
    make = Calls()
    asked = identifier(COUNTERSET, counter=1, name="a") + identifier(COUNTERSET, counter=2, name="a")
    found = look(make.open_query(), make.validate(asked), *(make.counter_data(perf_data([])) for _ in range(3)))
    assert (sum(len(one.calls) for one in found.activities), found.forgotten_polls) == (polls, forgotten)


def test_so_many_calls_stand_for_an_activity() -> None:
    make = Calls()
    analysis = analysis_of(*(make.enumerate_sets(bytes(16)) for _ in range(260)))
    (one,) = findings(analysis).activities
    record = activity_record(one, analysis)
    assert (record.count, record.call_numbers, record.frames) == (260, tuple(range(1, 257)), tuple(range(1, 513)))
    assert (record.first_time_ns, record.last_time_ns) == (MS, 519 * MS)


def test_calls_about_no_counterset_are_no_activity() -> None:
    make = Calls()
    found = look(
        make.open_query(), make.validate(identifier(COUNTERSET, counter=1)), make.counter_info(b""), make.close_query()
    )
    assert found == ActivityFindings((), (), 0)


def test_an_instance_that_is_cut_before_its_process_id_has_none() -> None:
    counters = (Counter(6, RAW, 4), Counter(784, RAW, 4))
    whole = winperf([PerfObject(230, counters, tuple(Instance(name, -1, (0, 0), (7, 30)) for name in ("a", "b")))])
    for cut in range(1, 40):
        make = winreg()
        found = look(make.open_key(), make.query_value("230", whole[:-cut]))
        assert [(one.name, one.pid) for one in found.images][:1] == [("a", 30)]
        assert [one.pid for one in found.images if one.name == "b"] in ([], [None], [30])
