"""Every record of one conversation, whole: of `stats`, `handles`, `hosts` and `triage`.

Two clients of one server, and calls of other interfaces. Each exchange has two frames, a millisecond apart: the n-th call of the
first client is asked in frame 2n - 1, its eighth and later ones four frames later; the second client begins at frame 101, the
others at 201. So every count, time and frame below can be counted off `conversation`.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from struct import pack

import pytest
from msgspec.structs import replace

from analyzer.core.events import Event
from analyzer.questions.observations.triage_records import triage
from analyzer.questions.statistics.handle_lifetimes import handle_records
from analyzer.questions.statistics.hosts import host_records
from analyzer.results.analysis import Analysis
from analyzer.results.records.record_types import Endpoint
from analyzer.results.records.statistics import Who
from analyzer.screens.views.stats import stats_records
from tests.build.buffers import (
    Block,
    Counter,
    Instance,
    PerfObject,
    identifier,
    name_table,
    perf_data,
    string_table,
    wide,
    winperf,
)
from tests.build.calls import COUNTERSET, Calls, analysis_of, winreg
from tests.build.rpc import CHANNEL
from tests.questions.statistics.test_call_statistics import as_user
from tests.written import is_as_written, told

SVCCTL = "367abb81-9844-35f1-ad32-98f038001003"
ANY = 0xFFFFFFFF
FIRST, SECOND, SERVER = Endpoint("10.0.0.2", 49152), Endpoint("10.0.0.3", 50000), Endpoint("10.0.0.1", 445)
ONE, UNKNOWN = Who("LAB\\one", "10.0.0.2", "10.0.0.1"), Who(None, "10.0.0.3", "10.0.0.1")


def conversation() -> list[Event]:
    make = Calls()
    one = [
        make.registration(9, wide("Process V2")),
        make.registration(10, string_table([(1, "% Idle"), (4, "ID Process")], from_start=True)),
        make.open_query(),
        make.validate(identifier(COUNTERSET, counter=ANY, instance=ANY, name="*")),
        make.counter_data(b"", status=8, needed=48),
    ]
    rows = ((pack("<Q", 7), pack("<I", 10)), (pack("<Q", 8), pack("<I", 0)))
    data = perf_data([Block(6, ids=(1, 4), instances=(("svchost", 1), ("_Total", 0)), values=rows)])
    one += [make.counter_data(data), make.counter_data(data)]
    make.frame += 4
    one += [make.counter_data(data), make.counter_data(b"", status=5), make.close_query()]
    one = [as_user(x, "LAB\\one") for x in one]
    reg = winreg(channel=replace(CHANNEL, number=1, client=Endpoint("10.0.0.3", 50000)), first_frame=101)
    block = winperf(
        [
            PerfObject(
                230,
                (Counter(784, 0x10000, 4),),
                (Instance("cmd", -1, (0, 0), (30,)), Instance("_Total", -1, (0, 0), (0,))),
            )
        ]
    )
    two: list[Event] = [
        reg.open_key(),
        reg.query_value("Counter 009", name_table([("230", "Process"), ("784", "ID Process")]), kind=7),
        reg.query_value("230", None, status=234, needed=9000),
        reg.query_value("230", block, room=9000),
        reg.query_value("230", block, room=9000),
        reg.query_value("238", None, status=2),
    ]
    svc = Calls(SVCCTL, channel=replace(CHANNEL, number=2), first_frame=201)
    three = [svc.exchange(99, b"", None), replace(svc.exchange(None, b"abcd", b""), interface=None)]
    return [*one, *two, *three]


def findings(analysis: Analysis) -> list[object]:
    found = triage(analysis, "made.pcap", None)
    return [found.file, *found.findings, *found.processes]


@pytest.mark.parametrize(
    ("command", "records"),
    [("stats", stats_records), ("handles", handle_records), ("hosts", host_records), ("triage", findings)],
)
def test_every_record_of_a_conversation_is_what_was_read_through(
    command: str, records: Callable[[Analysis], Iterable[object]]
) -> None:
    """`PCQ_WRITE_PAGES=1 pytest -n 0 THIS_FILE` writes the texts."""
    lines = (line for record in records(analysis_of(*conversation())) for line in told(record))
    is_as_written(Path(__file__).parent / "tables" / f"{command}.txt", "".join(f"{line}\n" for line in lines))
