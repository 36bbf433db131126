"""Random bytes spliced into good calls: every report still comes out, and says only what it can."""

from collections.abc import Iterable

from hypothesis import given, settings
from hypothesis import strategies as st
from rich.text import Text

from analyzer.core.events import Event
from analyzer.core.output.json import dumps
from analyzer.interfaces.call_contents.raw_samples import sample_records
from analyzer.results.analysis import Analysis
from analyzer.screens.formats.table_writer import calls_table, problems_table, table_of
from analyzer.screens.views.handles import Handles
from analyzer.screens.views.metadata import SavedMetadata
from analyzer.screens.views.samples import Samples
from analyzer.screens.views.show import Show
from analyzer.screens.views.stats import Stats
from analyzer.screens.views.timeline import Timeline, timeline_records
from analyzer.transport.rpc.exchange_maker import Exchange
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
from tests.interfaces.pcq.test_perflib_layer import counterset_info
from tests.records import plain

BLOCK = winperf(
    [
        PerfObject(230, (Counter(6, 0x20510500, 8), Counter(8, 0xB00, 16)), (Instance("a", -1, (0, 0), (5, "text")),)),
        PerfObject(238, (Counter(6, 0x30020400, 8), Counter(8, 0x40030402, 4)), (Instance("b", 1, (230, 0), (5, 6)),)),
    ]
)


# Calls whose answers other calls describe.
ANSWERS = (8, 14)


def conversation(*, ndr64: bool, big_endian: bool) -> list[Exchange]:
    make, keys = Calls(ndr64=ndr64, big_endian=big_endian), winreg(ndr64=ndr64, big_endian=big_endian, first_frame=100)
    ids = identifier(COUNTERSET, counter=5, index=0, name="a") + identifier(COUNTERSET, counter=6, index=1)
    data = perf_data(
        [
            Block(1, values=((b"\1\0\0\0",),)),
            Block(0, status=5),
            Block(6, ids=(5, 6, 7), instances=(("x", 1),), values=((b"\1\0\0\0", b"\2" * 8, wide("text")),)),
        ]
    )
    return [
        make.enumerate_sets(make.stub().uuid(COUNTERSET).data),
        make.registration(1, counterset_info((5, 0x10410400), (6, 0xB00))),
        make.registration(9, wide("Process V2")),
        make.registration(10, string_table([(5, "one"), (6, "two")], from_start=True)),
        make.open_query(),
        make.validate(ids),
        make.counter_info(ids),
        make.counter_data(data),
        make.close_query(),
        keys.open_key(),
        keys.query_value("Counter 009", name_table([("6", "six"), ("8", "eight")])),
        keys.query_value("Global", b"", status=234),
        keys.query_value("Global", BLOCK),
        keys.enumerate_value(0, "Global", BLOCK),
        keys.close_key(),
    ]


def everything(analysis: Analysis, numbers: Iterable[int]) -> None:
    """Every report of an analysis, as it would be written, and these calls one by one."""
    for record in (*timeline_records(analysis), *sample_records(analysis)):
        dumps(record)
    lines = [*Timeline(analysis, all_attempts=True).lines(80), *Samples(analysis).lines(80)]
    for number in numbers:
        lines += Show(analysis, number).lines(80)
        for record in Show(analysis, number).records():
            dumps(record)
    for view in (Handles(analysis), Stats(analysis), SavedMetadata(analysis)):
        lines += view.lines(80)
        for record in view.records():
            dumps(record)
        table_of(view)
    for line in lines:
        assert Text.from_markup(line, emoji=False).plain.isprintable()
    calls_table(analysis)
    table_of(Samples(analysis))
    problems_table(analysis)


def damaged(make: Calls, exchange: Exchange, side: str, at: int, splice: bytes, cut: bool) -> Exchange:
    stubs = {}
    for name in ("request", "response"):
        message = getattr(exchange, name)
        stub = message.stub.data
        if name == side:
            at %= len(stub) + 1
            stub = stub[:at] + splice + (b"" if cut else stub[at + len(splice) :])
        stubs[name] = stub
    return make.exchange(exchange.opnum, stubs["request"], stubs["response"])


@settings(max_examples=60)
@given(
    which=st.integers(0, 14),
    side=st.sampled_from(["request", "response"]),
    at=st.integers(0, 400),
    splice=st.binary(max_size=8) | st.sampled_from([b"\xff\xff\xff\xff", bytes(4), b"\1\0\0\0", b"\0\xd8"]),
    cut=st.booleans(),
    ndr64=st.booleans(),
    big_endian=st.booleans(),
)
def test_damage_never_ends_a_report(
    which: int, side: str, at: int, splice: bytes, cut: bool, ndr64: bool, big_endian: bool
) -> None:
    events: list[Event] = list(conversation(ndr64=ndr64, big_endian=big_endian))
    victim = events[which]
    assert isinstance(victim, Exchange)
    assert victim.interface is not None
    make = Calls(victim.interface, ndr64=ndr64, big_endian=big_endian, first_frame=50)
    events[which] = damaged(make, victim, side, at, splice, cut)
    everything(analysis_of(*events), {which + 1, *ANSWERS})


def test_without_damage_everything_is_read() -> None:
    for ndr64 in (False, True):
        for big_endian in (False, True):
            analysis = analysis_of(*conversation(ndr64=ndr64, big_endian=big_endian))
            everything(analysis, range(1, len(analysis.calls) + 1))
            assert {call.state for call in analysis.calls} == {"complete"}
            assert [record for record in map(plain, timeline_records(analysis)) if record["record"] == "problem"] == []
            assert len(list(sample_records(analysis))) == 13
