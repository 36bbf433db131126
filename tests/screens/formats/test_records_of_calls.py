"""Calls as records: what is stated of an answer alone, which are picked by their interface, GUIDs of either order of bytes."""

from analyzer.questions.filters.call_selection import Selection
from analyzer.screens.views.timeline import Timeline, timeline_records
from tests.build.calls import COUNTERSET, Calls, analysis_of, winreg
from tests.records import plain, plains


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
