"""Rows that rest on a call of which a signature does not fit say so in JSON; others have no such key, and tables no such column."""

import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from msgspec.structs import replace

from analyzer.core.events import Event
from analyzer.core.output.gate import Destination
from analyzer.questions.differences.difference_records import Differences
from analyzer.results.analysis import Analysis
from analyzer.results.connection import SmbSession
from analyzer.screens.formats.view_writer import write
from analyzer.screens.views.counters import Counters
from analyzer.screens.views.diff import DifferencesView
from analyzer.screens.views.handles import Handles
from analyzer.screens.views.samples import Samples
from analyzer.screens.views.sessions_and_hosts import Hosts, Sessions
from analyzer.screens.views.view_type import View
from tests.build.calls import altered, analysis_of, smb_session, with_sessions
from tests.questions.differences.script import perflib, registry

POLLS = 13, 14, 15
WORDS = "the call has a signature that does not fit, so others may have changed it"


def written(view: View, form: str = "jsonl") -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "out"
        write(view, form, Destination(path))
        return path.read_bytes()


def rows(view: View, record: str) -> list[dict[str, Any]]:
    return [row for line in written(view).splitlines() if (row := json.loads(line))["record"] == record]


def conversation(*changed: int) -> Analysis:
    """A query that is polled three times and values of the registry; calls with these numbers are altered."""
    events: Iterator[Event] = (
        altered(one) if number in changed else one for number, one in enumerate([*perflib(), *registry()], 1)
    )
    return analysis_of(*events)


def test_values_of_an_altered_answer_and_what_is_computed_with_them_are_marked() -> None:
    analysis = conversation(POLLS[1], 20)
    marked = {row["call"] for row in rows(Samples(analysis), "sample") if row.get("altered")}
    assert marked == {POLLS[1], 20}
    for row in rows(Counters(analysis), "counter"):
        assert row.get("altered", False) == (not {row["call"], row["previous_call"]}.isdisjoint((POLLS[1], 20)))
    assert any(row.get("altered") for row in rows(Counters(analysis, interval_ns=10**9), "bucket"))


def test_a_handle_is_marked_with_the_call_that_makes_it_so() -> None:
    handles = {row["handle"]: row for row in rows(Handles(conversation(POLLS[0])), "handle")}
    assert handles["q1"]["altered"] is True
    assert [event["call"] for event in handles["q1"]["events"] if event.get("altered")] == [POLLS[0]]


def test_sessions_and_hosts_of_altered_messages_are_marked() -> None:
    sound, doubtful = smb_session(0), replace(smb_session(1), wrong_signatures=2)

    def of(*sessions: SmbSession) -> Analysis:
        return with_sessions(analysis_of(), sessions)

    assert [row.get("altered") for row in rows(Sessions(of(sound, doubtful)), "session")] == [None, True]
    assert [row.get("altered") for row in rows(Hosts(of(doubtful)), "host")] == [True, True]
    assert [row.get("altered") for row in rows(Hosts(of(sound)), "host")] == [None, None]
    assert all(row["altered"] is True for row in rows(Hosts(conversation(1)), "host"))


@pytest.mark.parametrize("kind", [Samples, Counters, Handles, Hosts])
def test_without_an_altered_call_there_is_no_mark(kind: Any) -> None:
    assert b"altered" not in written(kind(conversation()))


@pytest.mark.parametrize("kind", [Samples, Counters, Handles, Hosts])
def test_tables_have_no_column_for_it(kind: Any) -> None:
    header = written(kind(conversation(*POLLS)), "csv").partition(b"\n")[0]
    assert header == written(kind(conversation()), "csv").partition(b"\n")[0]
    assert b"altered" not in header


def test_a_difference_that_an_altered_call_shows_says_so() -> None:
    sound, other = perflib(), perflib(("System", "explorer"))
    whole = [*other[:9], altered(other[9]), *other[10:]]
    view = DifferencesView(Differences(analysis_of(*sound), analysis_of(*whole, files=("other.pcap",))))
    marked = [row for row in rows(view, "difference") if row["b"] is not None and "altered" in row["b"]]
    assert marked
    assert all(row["b"]["altered"] == 1 and "altered" not in (row["a"] or {}) for row in marked)
    assert any(WORDS in line for line in view.lines(None))
    plain = DifferencesView(Differences(analysis_of(*sound), analysis_of(*other, files=("other.pcap",))))
    assert b"altered" not in written(plain)
    assert not any(WORDS in line for line in plain.lines(None))
