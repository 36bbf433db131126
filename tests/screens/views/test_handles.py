"""Handle lifetimes as records and as text."""

from __future__ import annotations

import json
from struct import pack

import pytest

from analyzer.core.events import Event
from analyzer.core.output.json import dumps
from analyzer.questions.statistics import handle_records
from analyzer.questions.statistics.summary import poll_stats
from analyzer.screens.formats.tables import table_of
from analyzer.screens.views.handles import Handles
from tests import truth
from tests.analyses import analysis_of_file
from tests.build.buffers import Block, identifier, perf_data, string_table, wide
from tests.build.calls import COUNTERSET, Calls, analysis_of
from tests.records import Record

ANY = 0xFFFFFFFF
ONE, MANY = Block(1, values=((pack("<I", 7),),)), Block(4, instances=(("a", 1),), values=((pack("<I", 7),),))


def made(*events: Event) -> tuple[list[Record], list[str]]:
    view = Handles(analysis_of(*events))
    return [json.loads(dumps(record)) for record in view.records()], list(view.lines(None))


def whole_lifetime() -> list[Event]:
    make = Calls()
    known = identifier(COUNTERSET, counter=1, name="_Total", instance=3)
    every = identifier(COUNTERSET, counter=ANY, name="*", instance=ANY)
    gone = identifier(COUNTERSET, status=0x106A, counter=99)
    data = perf_data([ONE, Block(6, ids=(1,), instances=(("a", 1),), values=((pack("<I", 7),),))])
    return [
        make.registration(9, wide("Processor")),
        make.registration(10, string_table([(1, "% Idle")], from_start=True)),
        make.open_query(),
        make.validate(known + every + gone),
        make.counter_data(data),
        make.counter_data(data),
        make.validate(gone, add=0),
        make.counter_info(known + identifier(COUNTERSET, counter=ANY, name="*", instance=ANY, index=1)),
        make.counter_data(b"", status=8),
        make.close_query(),
        make.counter_data(b"", status=6),
    ]


def test_a_record_says_what_was_held_at_each_poll() -> None:
    (record,), _ = made(*whole_lifetime())
    assert (record["opened"], record["end"], record["closed"], record["polls"]) == (3, "closed", 10, 2)
    assert [event["kind"] for event in record["events"]] == [
        "open", "add", "poll", "poll", "remove", "info", "poll", "close", "poll",
    ]  # fmt: skip
    added, polled = record["events"][1], record["events"][2]
    assert added["counters"][2]["status_name"] == "ERROR_WMI_ITEMID_NOT_FOUND"
    assert added["frames"] == [7, 8]
    holding = record["holdings"][polled["holding"]]
    assert (holding["id_source"], holding["blocks"], holding["reason"]) == ("replay", [0, 1], None)
    assert holding["held"] == [0, 1]
    assert [(one["counter_name"], one["counter_id"], one["instance_id"]) for one in record["counters"]] == [
        ("% Idle", 1, 3),
        (None, None, None),
    ]
    reported = record["holdings"][record["events"][6]["holding"]]
    assert (reported["id_source"], reported["blocks"]) == ("index", [0, 1])
    after = record["events"][-1]
    assert (after["violations"], record["holdings"][after["holding"]]["held"]) == (["after-close"], None)


def test_an_index_without_bounds_makes_no_list() -> None:
    make = Calls()
    (record,), _ = made(
        make.counter_info(identifier(COUNTERSET, counter=1, index=0xFFFFFFFE)), make.counter_data(perf_data([ONE]))
    )
    assert [holding["blocks"] for holding in record["holdings"]] == [None]


def test_lists_that_change_for_ever_are_listed_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handle_records, "MAX_POSITIONS", 2)
    make = Calls()
    events: list[Event] = [make.open_query()]
    for counter in range(3):
        events.append(make.validate(identifier(COUNTERSET, counter=counter, name="a")))
        events.append(make.counter_data(perf_data([ONE] * (counter + 1))))
    (record,), _ = made(*events)
    assert [holding["held"] for holding in record["holdings"]] == [[0], [0, 1], None]
    assert "not listed" in record["holdings"][2]["reason"]


@pytest.mark.parametrize("capture", truth.captures(), ids=lambda capture: capture.file)
def test_every_capture_has_its_handles_reported(capture: truth.Capture) -> None:
    view = Handles(analysis_of_file(capture.file))
    records = [json.loads(dumps(record)) for record in view.records()]
    handles = [record for record in records if record["record"] == "handle"]
    # Whoever polls does it through a query handle or a registry key.
    reads = [record for record in records if record["record"] == "poll-stats"]
    assert {record["handle"][0] for record in reads} <= {"k", "?"}
    assert len(reads) == sum(one.what is not None for one in poll_stats(view.analysis))
    assert list(view.lines(100))
    assert table_of(view).height == len(handles)
