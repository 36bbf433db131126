"""Tables of records: columns and types are those of the record type, on any capture, so that tables go together."""

from fnmatch import fnmatch
from functools import cache
from io import BytesIO
from itertools import chain
from typing import Any

import polars as pl
import pytest

from analyzer.questions.audit.audit_engine import Audit
from analyzer.results.analysis import Analysis
from analyzer.results.calls.call import CallRecord
from analyzer.results.records.command_records import COMMANDS
from analyzer.results.records.finding import CoverageRecord, FindingRecord
from analyzer.results.records.record_types import Record
from analyzer.results.records.sample import BucketRecord, CounterRecord, SampleRecord
from analyzer.results.records.session_and_host import SessionRecord
from analyzer.screens.formats.record_tables import (
    LEFT_OUT,
    columns_of,
    frame_of,
    json_ready,
    merged_schema,
    number_cell,
    reading_schema,
    storable,
    table_of_records,
    table_schema,
)
from analyzer.screens.formats.table_writer import kinds_of, structs_of_json, table_of
from analyzer.screens.views.audit import AuditView
from analyzer.screens.views.counters import Counters
from analyzer.screens.views.handles import Handles
from analyzer.screens.views.samples import Samples
from analyzer.screens.views.sessions_and_hosts import Hosts, Sessions
from analyzer.screens.views.show import Show
from analyzer.screens.views.stats import Stats
from analyzer.screens.views.timeline import Timeline
from analyzer.screens.views.view_type import View
from tests import truth
from tests.analyses import analysis_of_file
from tests.build.calls import Calls, analysis_of

RECORDS = list(dict.fromkeys(chain.from_iterable(COMMANDS.values())))


# Columns that are the same in every sample capture, and what would differ there.
SAME_HERE = {
    "frame_files, request_frame_files, response_frame_files": "set of several files",
    "*claimed_user, auth_guest, granted, claims": "no guest is in a sample capture; tests/transport/smb has some",
    "transport": "no sample capture has PerflibV2 over TCP",
    "smb_compressed": "no sample capture is compressed",
    "interface_recognised": "set where the bind is not in the capture",
    "registry_*, service_*": "of reads below other keys than performance data, and of the service control manager",
    "response_verification_trailer": "servers send none",
    "request_buffer_notes": "of buffers of `decode`",
    "time_relative": "null in an empty capture",
    "auth_later_user, auth_later_logon, later_user*": "of sessions that another user logged on to; tests/transport/smb has one",
    "who_later_user": "of these likewise",
    "machine, apart, other_ips, joined_by": "all of one address, and one machine",
    "smb_client_*, smb_server_*": "of sessions of several connections; tests/transport/smb has some",
    "name_source": "`metadata` and `well-known` where the capture states no name",
    "perf_freq": "10 MHz on the servers of the sample captures",
    "parent_index, parent_instance": "of objects with parents, such as Thread",
    "anonymous, refused, refused_name": "of null sessions and refused logons",
    "deviation_*": "of known deviations",
    "follow, accepted": "of repeated findings, and with a baseline",
    "interval": "as asked for",
    "altered": "of calls that somebody changed",
    "text": "of `omission`: more than is listed",
    "client_ip, server_ip, ip, who_client_ip, who_server_ip": "recorded on one machine",
}


@cache
def analyses() -> tuple[Analysis, ...]:
    """An empty capture, one without its keys, all sample captures, damaged ones too."""
    found = truth.captures()
    return (
        analysis_of(),
        analysis_of_file(found[0].file, is_keyed=False),
        *(analysis_of_file(one.file) for one in found),
    )


def views(analysis: Analysis) -> list[View]:
    return [Timeline(analysis), Samples(analysis), Sessions(analysis), Hosts(analysis), Handles(analysis), Stats(analysis),
            Counters(analysis), Counters(analysis, interval_ns=10**9), AuditView(Audit(analysis))]  # fmt: skip


@cache
def tables() -> tuple[tuple[pl.DataFrame, ...], ...]:
    """The tables of each analysis."""
    return tuple(tuple(map(table_of, views(analysis))) for analysis in analyses())


@pytest.mark.parametrize("kind", RECORDS, ids=lambda kind: kind.__name__)
def test_each_record_type_has_a_table(kind: type[Record]) -> None:
    schema = table_schema(kind)
    assert len(schema) == len(columns_of(kind))
    assert dict(table_of_records(kind, ()).schema) == dict(schema)


def test_tables_of_all_captures_go_together() -> None:
    for made in zip(*tables(), strict=True):
        assert len({tuple(table.schema.items()) for table in made}) == 1
        assert pl.concat(made).height == sum(table.height for table in made) > 0


def test_no_column_is_constant() -> None:
    """A column that says the same of every row of every sample capture can go, or `SAME_HERE` says what would differ."""
    explained = [name for names in SAME_HERE for name in names.split(", ")]
    for made in zip(*tables(), strict=True):
        table = pl.concat(made)
        for column in table:
            if len(column.unique()) > 1:
                continue
            assert any(fnmatch(column.name, name) for name in explained), (column.name, column.unique().to_list())


def test_a_table_has_the_declared_columns() -> None:
    for view in views(analyses()[0]):
        if isinstance(view, Timeline | Samples):
            expected = table_schema(CallRecord if isinstance(view, Timeline) else SampleRecord)
        elif isinstance(view, Counters):
            expected = reading_schema(exact=False) if view.interval_ns is None else table_schema(BucketRecord)
        else:
            kinds = kinds_of(view)
            expected = table_schema(kinds[0]) if len(kinds) == 1 else merged_schema(kinds)
        assert dict(table_of(view).schema) == dict(expected)


def test_times_words_and_keys_are_typed() -> None:
    calls, samples = table_schema(CallRecord), table_schema(SampleRecord)
    assert calls["time"] == samples["time"] == pl.Datetime("ns", "UTC")
    assert calls["latency"] == pl.Duration("ns")
    assert calls["syntax"] == pl.Enum(["ndr", "ndr64"])
    assert samples["raw"] == pl.UInt64
    assert samples["text"] == pl.String
    assert calls["request_frames"] == pl.List(pl.Int64)
    shared = {"server_ip", "server_port", "client_ip", "client_port", "handle", "time"}
    assert {name: calls[name] for name in shared} == {name: table_schema(CounterRecord)[name] for name in shared}
    assert {"session", "auth_verified", "smb_signature_ok", "request_stub_sha256"} <= set(calls)
    for kind, words in ((CallRecord, "auth_decryption"), (CounterRecord, "why_null"), (CounterRecord, "unit"),
                        (FindingRecord, "level"), (CoverageRecord, "level"), (SessionRecord, "decryption")):  # fmt: skip
        assert isinstance(table_schema(kind)[words], pl.Enum), words
    record = table_schema(CounterRecord)
    table = reading_schema(exact=False)
    assert set(table) == set(record) - set(LEFT_OUT)
    assert {name for name in table if table[name] not in (record[name], pl.Categorical())} == {"flags"}


def test_a_cell_has_what_the_record_has() -> None:
    analysis = analyses()[2]
    table, records = table_of(Timeline(analysis)), list(Timeline(analysis).records())
    calls = [record for record in records if isinstance(record, CallRecord)]
    assert table["time"].dt.epoch("ns").to_list() == [call.time_ns for call in calls]
    assert table["auth_user"].to_list() == [call.auth.user for call in calls]
    assert table["response_stub_sha256"].to_list() == [
        call.response.stub_sha256 if call.response is not None else None for call in calls
    ]
    assert table["request_frames"].to_list() == [
        list(call.request.frames) if call.request is not None else None for call in calls
    ]
    assert table.height == len(calls)


def test_lists_of_parts_are_structs() -> None:
    hosts = table_of(Hosts(analyses()[2]))
    assert hosts.schema["names"] == pl.List(pl.Struct({"name": pl.String, "source": pl.String}))
    assert hosts["names"].list.len().sum() > 0
    counted = merged_schema(COMMANDS["stats"])
    assert counted["seen_by"] == pl.List(
        pl.Struct(dict.fromkeys(("user", "client_ip", "server_ip", "claimed_user", "later_user"), pl.String))
    )


_WORD = pl.Enum(["a", "b"])
_NESTED = pl.List(pl.Struct({"number": pl.Int64(), "words": pl.List(_WORD)}))


@pytest.mark.parametrize(
    ("kind", "cells"),
    [
        (pl.List(pl.Int64()), [[1, 2], [], None, [3]]),
        (pl.List(pl.Int64()), [[1], [2, 3]]),
        (pl.List(pl.Int64()), [None, [], None]),
        (pl.List(pl.Int64()), []),
        (pl.List(pl.Int64()), [[1, None], [2]]),
        (pl.List(_WORD), [None, ["a"], ["b", "a"]]),
        (pl.List(pl.List(pl.Int64())), [[[1], []], None, [], [[2, 3]]]),
        (_NESTED, [[{"number": 1, "words": ["a"]}, {"number": None, "words": []}], [], [{"number": 2, "words": None}]]),
        (_NESTED, [None, [{"number": 1, "words": ["b"]}], []]),
        (pl.Struct({"number": pl.Int64()}), [{"number": 1}, None]),
    ],
)
def test_lists_are_what_polars_makes_of_them(kind: pl.DataType, cells: list[Any]) -> None:
    made = frame_of([cells], {"column": kind})["column"]
    assert made.dtype == kind
    assert made.to_list() == cells


def test_an_interval_and_a_reading_have_the_columns_of_their_types() -> None:
    analysis = analysis_of(Calls().open_query())
    for view, kind in ((Counters(analysis), COMMANDS["counters"][0]), (Show(analysis, 1), COMMANDS["show"][0])):
        assert set(table_of(view).columns) >= {"server_ip"}, kind


@pytest.mark.parametrize(
    ("value", "unsigned", "signed"),
    [
        (0, 0, 0),
        (-1, None, -1),
        (2**63 - 1, 2**63 - 1, 2**63 - 1),
        (2**63, 2**63, None),
        (2**64 - 1, 2**64 - 1, None),
        (2**64, None, None),
        (-(2**63), None, -(2**63)),
        (-(2**63) - 1, None, None),
        (1.5, None, None),
        ("5", None, None),
        (None, None, None),
    ],
)
def test_numbers_that_a_column_cannot_hold_are_null_there(
    value: object, unsigned: int | None, signed: int | None
) -> None:
    assert (number_cell(pl.UInt64())(value), number_cell(pl.Int64())(value)) == (unsigned, signed)


def test_nested_values_are_json_text() -> None:
    assert (json_ready(None), json_ready({"a": [1, None]})) == (None, '{"a":[1,null]}')


def test_texts_that_have_no_utf_8_are_kept_as_escapes() -> None:
    assert [storable(text) for text in ("Grüße", "a\ud800b", "", None)] == ["Grüße", "a\\ud800b", "", None]


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        ([None, None], [None, None]),
        (["{}", None], [None, None]),
        (['{"a": 1}', None, '{"b": {"c": "x"}}'], [{"a": 1, "b": None}, None, {"a": None, "b": {"c": "x"}}]),
        (['{"a": 1}', '{"a": "x"}'], [{"a": "1"}, {"a": "x"}]),
        (['{"a": {"b": 1}}', '{"a": [2]}'], [{"a": '{"b":1}'}, {"a": "[2]"}]),
        (['{"a": 18446744073709551615}', '{"a": 1}'], [{"a": 2**64 - 1}, {"a": 1}]),
        (['{"a": null}', '{"a": null}'], [{"a": None}, {"a": None}]),
    ],
    ids=["none", "empty", "other fields", "other types", "other shapes", "large", "null"],
)
def test_parameters_of_all_methods_are_one_struct(texts: list[str | None], values: list[object]) -> None:
    found = structs_of_json(pl.Series("params", texts, dtype=pl.String))
    assert found.dtype.base_type() == (pl.Struct if any(values) else pl.Null)
    found.to_frame().write_parquet(BytesIO())
    assert found.to_list() == values
