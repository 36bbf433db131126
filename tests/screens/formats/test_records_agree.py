"""Records agree with each other: order, numbers, sums, what goes with which state. Their keys are held by test_schemas.py."""

from __future__ import annotations

import json

import pytest

from analyzer.core.absence import Missing
from analyzer.core.output.json import dumps
from analyzer.interfaces.call_contents.call_records import timeline_records
from analyzer.interfaces.call_contents.client_programs import client_programs
from analyzer.interfaces.call_contents.sample_records import sample_records
from analyzer.interfaces.call_contents.session_records import session_record
from analyzer.questions.filters.call_selection import Selection
from analyzer.questions.statistics.hosts import host_records
from analyzer.results.analysis import Analysis
from analyzer.screens.views.timeline import Timeline
from tests import truth
from tests.analyses import analysis_of_file
from tests.build.calls import COUNTERSET, Calls, analysis_of, sealed, winreg
from tests.records import Record, plain, plains


def strictly(record: Record) -> Record:
    """The record as a strict parser reads its line: one line, UTF-8, no NaN."""
    line = dumps(record)
    assert b"\n" not in line
    return json.loads(line.decode("utf-8"), parse_constant=lambda word: pytest.fail(word))  # type: ignore[no-any-return]


def check_call(record: Record) -> None:
    assert (record["reason"] is None) == (record["state"] == "complete")
    assert (record["status"] is None) <= (record["status_name"] is None)
    for side in (record["request"], record["response"]):
        if side is None:
            continue
        assert (side["stub_length"] is None) == (side["stub_sha256"] is None) == (side["why_missing"] is not None)
        assert side["frames"] == sorted(set(side["frames"]))
    if record["request"] is not None and record["response"] is not None:
        assert record["latency_ns"] is not None


def check_timeline(analysis: Analysis) -> list[Record]:
    records = [strictly(record) for record in plains(timeline_records(analysis))]
    kinds = [record["record"] for record in records]
    calls, problems = kinds.count("call"), kinds.count("problem")
    assert kinds == ["capture"] + ["call"] * calls + ["problem"] * problems + ["summary"]
    for number, record in enumerate(records[1 : calls + 1], 1):
        check_call(record)
        assert record["number"] == number
    times = [record["time_ns"] for record in records[1 : calls + 1]]
    assert times == sorted(times)
    assert (records[-1]["calls"], records[-1]["problems"]) == (calls, problems)
    assert sum(records[-1]["calls_by_state"].values()) == sum(records[-1]["calls_by_method"].values()) == calls
    return records


@pytest.mark.parametrize("with_secrets", [True, False])
@pytest.mark.parametrize("capture", truth.handful(), ids=lambda capture: capture.file)
def test_records_are_lines_in_order_that_agree_with_each_other(capture: truth.Capture, with_secrets: bool) -> None:
    analysis = analysis_of_file(capture.file, is_keyed=with_secrets)
    check_timeline(analysis)
    for record in plains(sample_records(analysis)):
        strictly(record)
    for session in analysis.sessions:
        assert (
            strictly(plain(session_record(session, analysis.capture, client_programs(analysis))))["record"] == "session"
        )
    for record in plains(host_records(analysis)):
        assert strictly(record)["record"] == "host"


def test_records_of_every_kind_of_call_agree() -> None:
    make, keys = Calls(), winreg(first_frame=50)
    check_timeline(
        analysis_of(
            make.counter_data(b"\1\2\3"),
            make.exchange(6, b"", None),
            make.exchange(None, None, b"abc"),
            make.exchange(6, Missing.NOT_CAPTURED, b"abc", state="partial"),
            sealed(make.counter_data(b"")),
            make.exchange(9, b"", b""),
            make.exchange(6, b"", b"", fault=5),
            keys.open_key(),
            keys.query_value("Global", b"\1\2"),
            keys.exchange(17, b"", b""),
        )
    )


def test_an_answer_without_request_does_not_claim_a_stub() -> None:
    (record,) = [
        one
        for one in map(plain, timeline_records(analysis_of(Calls().exchange(None, None, b"abc"))))
        if one["record"] == "call"
    ]
    assert record["request"] is None
    assert record["response"]["stub_sha256"] is None
    assert record["response"]["stub_length"] is None
    assert record["response"]["why_missing"] == "undecodable"


def test_an_interface_is_picked_by_name_or_number() -> None:
    make, keys = Calls(), winreg(first_frame=50)
    analysis = analysis_of(make.open_query(), keys.open_key())
    for wanted, number in (
        ("winreg", 2),
        ("WINREG", 2),
        ("perflibv2", 1),
        ("{DA5A86C5-12C2-4943-AB30-7F74A813D853}", 1),
    ):
        calls = [
            one
            for one in plains(Timeline(analysis, Selection(interfaces=(wanted,))).records())
            if one["record"] == "call"
        ]
        assert [one["number"] for one in calls] == [number]


def test_big_endian_guids_are_read_in_the_order_of_their_call() -> None:
    for big_endian in (False, True):
        make = Calls(big_endian=big_endian)
        guids = make.stub().uuid(COUNTERSET).data
        records = list(map(plain, timeline_records(analysis_of(make.enumerate_sets(guids)))))
        assert records[1]["response"]["buffer"] == {"guids": [COUNTERSET]}
