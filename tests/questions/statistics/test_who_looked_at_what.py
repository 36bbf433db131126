"""Who looked at what, and which processes were to be seen."""

from collections.abc import Iterator
from pathlib import Path
from struct import pack

import pytest
from msgspec.structs import replace

from analyzer.core.events import Event
from analyzer.questions.statistics import who_looked_at_what as module
from analyzer.questions.statistics.process_sightings import image_records
from analyzer.questions.statistics.who_looked_at_what import (
    ActivityFindings,
    activity_record,
    category_of,
    findings,
    omissions,
)
from analyzer.results.records.record_types import Endpoint
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
from tests.build.calls import (
    COUNTERSET,
    MS,
    OTHER_COUNTERSET,
    OTHER_HANDLE,
    Calls,
    analysis_of,
    sealed,
    unanswered,
    winreg,
)
from tests.build.rpc import CHANNEL
from tests.written import is_as_written

TEXT = Path(__file__).parent / "tables" / "activity.txt"
ANY = 0xFFFFFFFF
RAW = 0x10000
PROCESS_ID = 4
EVERY = identifier(COUNTERSET, counter=ANY, instance=ANY, name="*")
LISTED = instance_header("cmd", 3) + instance_header("_Total", 0)


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


def polling_all(make: Calls) -> list[Event]:
    return [*process_set(make), make.open_query(), make.validate(EVERY)]


def single(value: int) -> Block:
    return Block(1, values=((pack("<I", value),),))


def of_index(index: int, *rows: tuple[str, int], id_index: int = 784, first: int = 0x10410400) -> PerfObject:
    """An object with a number and a process id of each instance."""
    counters = (Counter(6, first, 4), Counter(id_index, RAW, 4))
    return PerfObject(index, counters, tuple(Instance(name, -1, (0, 0), (7, pid)) for name, pid in rows))


def plain(*indices: int) -> bytes:
    """Objects of one counter and one instance."""
    one = (Instance("a", -1, (0, 0), (7,)),)
    return winperf([PerfObject(index, (Counter(6, RAW, 4),), one) for index in indices])


def read(*values: tuple[str, bytes]) -> list[Event]:
    """Values of the registry are read, names of counters among them."""
    make = winreg()
    kinds = {True: 7, False: 3}
    return [make.open_key(), *(make.query_value(name, data, kind=kinds["Counter" in name]) for name, data in values)]


def of_queries() -> Iterator[tuple[str, list[Event]]]:
    make = Calls()
    data = (
        (("svchost", 1, 10), ("svchost", 2, 20), ("_Total", 0, 0)),
        (("svchost", 1, 10), ("cmd", 3, 30)),
        (("svchost", 1, 11),),
    )
    events = [*polling_all(make), *(make.counter_data(processes(*found)) for found in data)]
    yield "polling Process shows processes with their first and last sighting", events
    make = Calls()
    events = process_set(make)
    events.append(make.exchange(2, make.stub().string("\\\\S").uuid(COUNTERSET).uint(4096), make.sized(LISTED)))
    held = identifier(COUNTERSET, counter=PROCESS_ID, instance=3, name="cmd")
    events += [make.open_query(), make.validate(held), make.counter_data(perf_data([single(30)]))]
    yield "what a list and a later answer say by number and name is of one process", events
    make = Calls()
    named, other = make.registration(9, wide("Network Adapter")), Calls(first_frame=60)
    polled = make.open_query(), make.validate(EVERY), make.counter_data(processes(("cmd", 3, 30)))
    unknown = other.counter_data(processes(("cmd", 3, 30)), "aaaaaaaa-9b1d-4f3c-8a55-0d2b7c9e1f10")
    yield "other sets and unknown ones show no processes", [named, *polled, unknown]
    make = Calls()
    closed = [sealed(make.counter_data(b"")), sealed(make.registration(1, b""))]
    yield "what is sealed is said to be", [*closed, make.enumerate_sets(bytes(32))]
    make = Calls()
    rows = ((pack("<Q", 7), pack("<Q", 1 << 32)),)
    large = perf_data([Block(6, ids=(1, PROCESS_ID), instances=(("cmd", 3),), values=rows)])
    yield "what is larger than a process id is none", [*polling_all(make), make.counter_data(large)]
    make = Calls()
    odd = processes(("a", 1, 0xFFFFFFFF), ("b", 0xFFFFFFFF, 5), ("", 3, 6), ("_Total", 4, 7))
    yield "process ids beside instances", [*polling_all(make), make.counter_data(odd)]
    make = Calls()
    codes = [make.registration(code, b"") for code in (1, 2, 3, 12, 77, 1)]
    yield "requests for registration are named by their codes", [*codes]
    yield "a request that was not captured has no code", [make.exchange(1, None, b"")]
    make = Calls()
    refused = make.exchange(0, make.stub().string("\\\\S").uint(256), make.sized(b"", 5, element=16, room=256))
    lost = unanswered(make.enumerate_sets(bytes(16)))
    yield "countersets that were not given are not counted", [refused, lost]
    yield "countersets are counted where they were given", [make.enumerate_sets(bytes(48)), refused]
    make = Calls()
    some = (COUNTERSET, PROCESS_ID, 3, "cmd"), (COUNTERSET, 1, 3, "cmd"), (COUNTERSET, 1, 0, "_Total")
    others = (OTHER_COUNTERSET, PROCESS_ID, 9, "other"), (COUNTERSET, PROCESS_ID, ANY, "svc")
    held = b"".join(identifier(guid, counter=id, instance=at, name=name) for guid, id, at, name in (*some, *others))
    events = [*process_set(make), make.open_query(), make.validate(held)]
    events.append(make.counter_data(perf_data([single(30 + at) for at in range(5)])))
    yield "blocks of single counters say what the handle holds", events
    make = Calls()
    alone = perf_data([Block(6, ids=(1,), instances=(("cmd", 3),), values=((pack("<Q", 7),),))])
    answers = alone, processes(("cmd", 3, 30)), alone, processes(("cmd", 3, 31)), alone
    events = [*polling_all(make), *map(make.counter_data, answers)]
    yield "a process that gets its id later is one, and another id is another", events
    make = Calls()
    other = Calls(channel=replace(CHANNEL, number=1, client=Endpoint("10.0.0.9", 7)), first_frame=60)
    ours = [*polling_all(make), make.counter_data(processes(("cmd", 3, 30)))]
    theirs = other.open_query(OTHER_HANDLE), other.validate(EVERY, handle=OTHER_HANDLE)
    yield "two clients saw a process", [*ours, *theirs, other.counter_data(processes(("cmd", 3, 30)), OTHER_HANDLE)]
    make = Calls()
    unasked = make.open_query(), make.validate(identifier(COUNTERSET, counter=1)), make.counter_info(b"")
    yield "calls about no counterset are no activity", [*unasked, make.close_query()]


def of_registry() -> Iterator[tuple[str, list[Event]]]:
    rows = ("cmd", 30), ("_Total", 0)
    known = winperf([of_index(24, *rows, id_index=26)])
    names = name_table([("24", "Process"), ("26", "ID Process")])
    yield "Process is what the server calls so", read(("Counter 009", names), ("24", known), ("Global", known))
    base = winperf([of_index(230, *rows)])
    yield (
        "without names the base system's indices serve",
        read(("Counter 007", name_table([("230", "Prozess")])), ("230", base)),
    )
    alone = winperf([PerfObject(230, (Counter(784, RAW, 4),), (), metadata=True)])
    yield "counter definitions alone are no list of processes", read(("Metadata 230", alone))
    other = name_table([("230", "Something")])
    yield "a server that calls something else by that index is believed", read(("Counter 009", other), ("230", base))
    asked = [(f"4 {number}", plain(4)) for number in range(40)]
    yield "a value name of the client is noted so often", read(*asked)
    make = winreg()
    tries = make.open_key(), make.query_value("4", None, status=234, needed=100), make.query_value("4", plain(4))
    lost = unanswered(tries[2])
    refused = make.query_value("4", plain(4), status=2)
    yield "reads without performance data are no polls", [*tries[:2], lost, refused]
    yield (
        "activities of one call come in the order of their targets",
        read(("Global", plain(4, 2, 30)), ("1", plain(1, 4))),
    )
    counters = Counter(6, RAW, 4), Counter(784, 0x10100, 8)
    named = ("a", 0xFFFFFFFF), ("b", 1 << 32), ("_Total", 5), ("", 6), ("c", 0)
    instances = tuple(Instance(name, -1, (0, 0), (7, pid)) for name, pid in named)
    wide_ids = winperf([PerfObject(230, counters, instances)])
    yield "processes need a name and a process id that fits", read(("230", wide_ids))
    yield "processes without process ids are known by their names", read(("230", plain(230)), ("230", plain(230)))


def told(promise: str, events: list[Event]) -> Iterator[str]:
    """Each activity, then each process."""
    analysis = analysis_of(*events)
    found = findings(analysis)
    yield f"{promise}{f' ({len(found.lists)} lists)' if found.lists else ''}"
    assert (found.forgotten_images, found.forgotten_polls) == (0, 0)
    for one in found.activities:
        calls = f"calls {list(one.calls)}, read {list(one.read)}, {one.failed} failed, {one.refused} refused"
        unread = f", unread {dict(one.unread)}" if one.unread else ""
        times = f"{one.first_time_ns} to {one.last_time_ns}"
        what = f"{one.category} {one.target} {one.name!r} {one.detail!r}"
        yield f"  {one.kind} by {one.who.client_ip}: {what}; {calls}{unread}; {times}"
    for image in image_records(found.images, analysis):
        who = ", ".join(f"{one.client_ip}" for one in image.seen_by)
        where = f"{image.calls} calls from #{image.first_call} to #{image.last_call}"
        times = f"{image.first_time_ns} to {image.last_time_ns}"
        process = f"{image.name!r}, pid {image.pid}, instance {image.instance_id} of {image.source} {image.target}"
        yield f"  process {process}: {where}, seen by {who}; {times}"


def test_all_that_was_looked_at_is_in_one_text() -> None:
    """`PCQ_WRITE_PAGES=1 pytest -n 0 THIS_FILE` writes it."""
    is_as_written(TEXT, "".join(f"{line}\n" for case in (*of_queries(), *of_registry()) for line in told(*case)))


def test_a_client_that_polls_something_else_each_time_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_POLLED", 6)
    make = Calls()
    events: list[Event] = [make.open_query()]
    for counter in range(4):
        events.append(make.validate(identifier(COUNTERSET, counter=counter, name="a")))
        events.append(make.counter_data(perf_data([Block(1, values=((pack("<I", 7),),))] * (counter + 1))))
    found = look(*events)
    assert (len(found.activities[0].calls), found.forgotten_polls) == (2, 2)


def test_what_was_left_out_is_said() -> None:
    assert list(omissions(ActivityFindings((), (), 0))) == []
    assert [one.text for one in omissions(ActivityFindings((), (), 3, 4))] == [
        "3 sightings of processes beyond the first 100000 are not listed",
        "4 polls of too many different counters are not listed among the findings",
    ]
    assert (
        len(list(omissions(ActivityFindings((), (), 1)))) == len(list(omissions(ActivityFindings((), (), 0, 1)))) == 1
    )


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
