"""The process list of a real Windows XP, as an intruder's client read it, from the public capture of that."""

import pytest

from analyzer.core.times import iso_time
from analyzer.pipeline.run import analyze
from analyzer.questions.processes.process_records import process_records
from analyzer.questions.statistics.who_looked_at_what import findings
from tests.corpus import CORPUS
from tests.test_corpus import XP

pytestmark = pytest.mark.corpus


def test_the_processes_of_windows_xp_are_listed_with_their_ids() -> None:
    found = findings(analyze([CORPUS / XP]))
    processes = {image.pid: image.key[3] for image in found.images}
    assert (len(processes), processes[0], processes[4], processes[760]) == (27, "Idle", "System", "lsass")
    # Nine of one name, distinguished by their ids; and the service that the intruder had installed.
    assert list(processes.values()).count("svchost") == 9
    assert "qyFQReH" in processes.values()
    (polled,) = (activity for activity in found.activities if activity.category == "process")
    assert (polled.kind, polled.target, polled.name, polled.who.user) == (
        "poll",
        230,
        "Process",
        "NONE-B91CFA7B93\\whitecell",
    )


def test_what_is_odd_about_the_processes_of_that_windows_is_marked() -> None:
    """The intruder moved into processes called svchost that no service control manager started, and ran a program of its own."""
    records = process_records(analyze([CORPUS / XP]))
    assert [
        (one.pid, one.name, one.parent_name, [mark.kind for mark in one.oddities]) for one in records if one.oddities
    ] == [
        (1588, "svchost", None, ["parent"]),
        (1700, "svchost", None, ["parent"]),
        (1812, "svchost", None, ["parent"]),
        (232, "svchost", None, ["parent"]),
        (1880, "qyFQReH", "svchost", ["random"]),
    ]
    started = {one.pid: iso_time(one.started_ns)[:19] for one in records if one.started_ns is not None}
    assert (started[592], started[1880], started[460]) == (
        "2012-03-16T14:21:47",
        "2012-03-16T14:23:47",
        "2012-03-16T14:25:00",
    )
    assert {one.name for one in records if one.started_ns is None} == {"Idle", "System"}
