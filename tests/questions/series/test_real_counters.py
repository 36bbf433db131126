"""Displayed values of a real Windows XP, from the public capture that has its performance data."""

import pytest

from analyzer.interfaces.call_contents.machine_names import machine_names
from analyzer.pipeline.run import analyze
from analyzer.questions.series.counter_paths import selection_of
from analyzer.questions.series.counter_records import counter_records
from tests.corpus import CORPUS
from tests.records import Record, plains
from tests.test_corpus import XP

pytestmark = pytest.mark.corpus


def _records(*paths: str) -> list[Record]:
    analysis = analyze([CORPUS / XP])
    return list(plains(counter_records(analysis, selection_of(paths, lambda: machine_names(analysis)))))


def test_every_process_is_younger_than_the_machine() -> None:
    """Ages come from the object's clock; the machine's from its performance clock. Idle and System have no start."""
    ages = {record["instance"]: record for record in _records(r"\Process(*)\Elapsed Time")}
    assert len(ages) > 15
    uptime = ages["smss"]["perf_time"] / ages["smss"]["perf_freq"]
    started = {name: record["value"] for name, record in ages.items() if record["raw"] and name != "_Total"}
    assert all(0 <= age < uptime for age in started.values())
    assert started["smss"] > started["csrss"] > started["services"]
    assert {record["unit"] for record in ages.values()} == {"s"}


def test_processes_of_one_name_are_numbered_as_pdh_does() -> None:
    paths = [record["path"] for record in _records(r"\Process(svchost*)\ID Process")]
    assert [path.partition("Process(")[2].partition(")")[0] for path in paths][:2] == ["svchost", "svchost#1"]


def test_one_reading_gives_no_rates() -> None:
    records = _records(r"\*")
    assert {record["why_null"] for record in records} == {None, "first-sample"}
    assert all(record["counter_type_name"] is not None for record in records)
