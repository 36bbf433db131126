"""Samples written in chunks are those of the records, byte by byte and row by row."""

import io
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from polars.testing import assert_frame_equal

from analyzer.core.output.gate import Destination
from analyzer.core.output.json import dumps
from analyzer.core.output.safe_cells import safe_cells
from analyzer.interfaces.call_contents.raw_samples import SampleChunk, sample_chunks, sample_records
from analyzer.results.analysis import Analysis
from analyzer.results.records.record_types import Endpoint
from analyzer.results.records.sample import SampleRecord
from analyzer.screens.formats import sample_and_reading_tables, sample_json_lines, table_writer
from analyzer.screens.formats.record_tables import table_of_records
from analyzer.screens.formats.table_writer import table_of
from analyzer.screens.formats.view_writer import json_lines, write
from analyzer.screens.views.samples import Samples
from analyzer.screens.views.timeline import Timeline
from analyzer.transport.rpc.exchange_maker import Exchange
from tests.build.buffers import Block, Counter, Instance, PerfObject, identifier, perf_data, string_table, wide, winperf
from tests.build.calls import CHANNEL, COUNTERSET, OTHER_COUNTERSET, Calls, analysis_of, winreg
from tests.interfaces.buffers.strategies import objects, perf_datas
from tests.interfaces.pcq.test_perflib_layer import counterset_info

NUMBER, TEXT = 0x00010000, 0x00000B00


def assert_same(analysis: Analysis) -> None:
    """What is written in chunks is what the records say."""
    lines = b"".join(dumps(record) + b"\n" for record in sample_records(analysis))
    assert b"".join(sample_json_lines.sample_json_lines(sample_chunks(analysis))) == lines
    table = table_of_records(SampleRecord, sample_records(analysis))
    assert_frame_equal(table_of(Samples(analysis)), table)
    written = io.BytesIO()
    table_writer.write_pieces(sample_and_reading_tables.sample_tables(sample_chunks(analysis)), written)
    assert_frame_equal(pl.read_parquet(written.getvalue()), table)


def polls(make: Calls, blocks: list[Block], count: int) -> list[Exchange]:
    """The same question again and again; values and clocks change."""
    return [
        make.counter_data(
            perf_data(
                [
                    Block(
                        block.kind,
                        block.status,
                        block.ids,
                        block.instances,
                        tuple(
                            tuple(bytes((octet + turn) % 256 for octet in raw) for raw in row) for row in block.values
                        ),
                        block.padding,
                    )
                    for block in blocks
                ],
                (turn, 2**63 - 1 + turn, 10_000_000),
            )
        )
        for turn in range(count)
    ]


def described(make: Calls) -> list[Exchange]:
    """A handle with named blocks, and what the server describes their counters; one of them is text."""
    ids = identifier(COUNTERSET, counter=5, index=0, name="y", instance=8)
    ids += identifier(COUNTERSET, counter=0xFFFFFFFF, index=1, name="*") + identifier(
        OTHER_COUNTERSET, counter=6, index=2
    )
    return [
        make.registration(1, counterset_info((5, NUMBER), (6, NUMBER), (7, TEXT))),
        make.registration(9, wide("Processor")),
        make.registration(10, string_table([(5, '% "Time"\\'), (6, "é\x01")], from_start=True)),
        make.open_query(),
        make.counter_info(ids),
    ]


REGULAR = [
    Block(1, values=((b"\1\0\0\0",),)),
    Block(6, ids=(5, 6), instances=tuple((f"p%d {n}", n) for n in range(12)), values=((b"\1\0\0\0", b"\2" * 8),) * 12),
    Block(0, status=0x1069),
    Block(2, ids=(5, 9), values=((b"\3" * 8, b"\4" * 4),)),
    Block(4, instances=(("a\x02call\x01", 0xFFFFFFFF), ("", 0)), values=((b"\5" * 8,), (b"\6" * 8,))),
]


def test_regular_answers_come_in_chunks() -> None:
    make = Calls()
    analysis = analysis_of(*described(make), *polls(make, REGULAR, 3))
    chunks = list(sample_chunks(analysis))
    assert all(isinstance(chunk, SampleChunk) for chunk in chunks)
    assert len({id(chunk.part) for chunk in chunks if isinstance(chunk, SampleChunk)}) * 3 == len(chunks)
    assert_same(analysis)


@pytest.mark.parametrize("pieces", [1, 7, 25])
def test_pieces_of_any_size_make_the_same_whole(pieces: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sample_json_lines, "_LINES_AT_ONCE", pieces)
    for one in (sample_and_reading_tables, table_writer):
        monkeypatch.setattr(one, "ROWS_AT_ONCE", pieces)
    make = Calls()
    text = [Block(2, ids=(5, 7), values=((b"\3" * 8, wide("text")),))]
    analysis = analysis_of(*described(make), *polls(make, REGULAR, 3), *polls(make, text, 2), *polls(make, REGULAR, 1))
    assert_same(analysis)
    for form in ("csv", "jsonl", "parquet"):
        write(Samples(analysis), form, Destination(tmp_path / form))
    table = table_of_records(SampleRecord, sample_records(analysis))
    assert (tmp_path / "csv").read_text() == safe_cells(table).write_csv()
    write(Samples(analysis), "csv", Destination(tmp_path / "raw"), raw_cells=True)
    assert (tmp_path / "raw").read_text() == table.write_csv()
    assert_frame_equal(pl.read_parquet(tmp_path / "parquet"), table)
    lines = [dumps(record) for record in sample_records(analysis)]
    assert (tmp_path / "jsonl").read_bytes().splitlines() == lines


def test_text_of_a_number_s_size_is_read_one_by_one() -> None:
    """Only the declared type states that it is text."""
    make = Calls()
    text = [Block(2, ids=(7,), values=((wide("abc"),),))]
    ids = identifier(COUNTERSET, counter=0xFFFFFFFF, index=0)
    first = [make.registration(1, counterset_info((7, TEXT))), make.open_query(), make.counter_info(ids)]
    analysis = analysis_of(*first, make.counter_data(perf_data(text)))
    (record,) = sample_chunks(analysis)
    assert not isinstance(record, SampleChunk)
    assert record.raw == "abc"
    assert_same(analysis)


def test_one_layout_of_two_queries_and_two_servers_has_the_names_of_each() -> None:
    elsewhere = replace(CHANNEL, number=9, server=Endpoint("10.0.0.9", 445))
    first, second = Calls(), Calls(channel=elsewhere, first_frame=500)
    handle = "00000000-0000-0000-0000-000000000002"
    data = perf_data([Block(2, ids=(5,), values=((b"\1\0\0\0",),))])
    analysis = analysis_of(
        *described(first),
        first.counter_data(data),
        first.counter_data(data, handle=handle),
        second.counter_data(data),
        first.counter_data(data),
    )
    assert_same(analysis)
    assert len({record.counterset_name for record in sample_records(analysis)}) == 2


def test_v1_blocks_come_in_chunks_but_for_objects_with_text() -> None:
    disk = PerfObject(
        236,
        (Counter(200, 0x20570500, 8), Counter(201, 0x40030500, 4), Counter(202, 0x40000200, 0), Counter(4, 0x10000, 4)),
        (Instance("C:", -1, (234, 1), (5, 6, 0, 1)), Instance(None, 9, (234, 7), (7, 8, 0, 2))),
    )
    parents = PerfObject(234, (Counter(6, 0xB00, 16),), tuple(Instance(n, -1, (0, 0), (n,)) for n in ("0 C:", "1 D:")))
    keys = winreg()
    values = [keys.query_value("Global", winperf(made)) for made in ([parents, disk], [disk], [parents, disk])]
    analysis = analysis_of(keys.open_key(), *values)
    kinds = [isinstance(item, SampleChunk) for item in sample_chunks(analysis)]
    assert kinds == [False, False, True, True, False, False, True]
    assert_same(analysis)
    records = list(sample_records(analysis))
    assert {record.parent_instance for record in records} == {None, "1 D:"}
    assert [record.base_raw for record in records if record.counter_index == 200] == [6, 8] * 3


@settings(max_examples=60)
@given(st.lists(st.tuples(perf_datas(), st.integers(1, 3)), max_size=3), st.lists(objects(), max_size=2), st.data())
def test_any_answers(
    answers: list[tuple[tuple[list[Block], bytes], int]], v1: list[object], draw: st.DataObject
) -> None:
    make, keys = Calls(), winreg(first_frame=900)
    exchanges = described(make) if draw.draw(st.booleans()) else []
    for (blocks, _), count in answers:
        exchanges += polls(make, blocks, count)
    exchanges += [keys.open_key(), keys.query_value("Global", winperf(v1)), keys.query_value("Global", winperf(v1))]
    assert_same(analysis_of(*exchanges))


@settings(max_examples=30)
@given(st.lists(perf_datas(), max_size=3), st.sampled_from(["", "\ud800"]))
def test_timeline_lines_are_those_of_its_records(answers: list[tuple[list[Block], bytes]], odd: str) -> None:
    """Also where a record beside a ready buffer has what JSON cannot hold."""
    make = Calls()
    exchanges = described(make) + [make.counter_data(data) for _, data in answers]
    exchanges = [replace(exchange, channel=replace(exchange.channel, pipe=f"winreg{odd}")) for exchange in exchanges]
    view = Timeline(analysis_of(*exchanges))
    assert b"".join(json_lines(view)) == b"".join(dumps(record) + b"\n" for record in view.records())
