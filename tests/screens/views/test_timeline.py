"""The records of `timeline` around those of calls: what a summary counts."""

from collections import Counter

from analyzer.results.calls.call import CallRecord
from analyzer.results.records.capture_records import ProblemRecord, SummaryRecord
from analyzer.screens.views.timeline import summary_record, timeline_records
from tests.interfaces.call_contents.test_call_records import DAMAGED, SOUND, polls


def test_the_last_record_counts_problems_and_the_calls_shown() -> None:
    analysis = polls(SOUND, DAMAGED, DAMAGED)
    *records, last = timeline_records(analysis, shown=(2, 3), selected_by="a test")
    assert isinstance(last, SummaryRecord)
    assert (last.calls, last.calls_shown, last.selected_by) == (3, 2, "a test")
    found = Counter(record.kind for record in records if isinstance(record, ProblemRecord))
    assert (last.problems, last.problems_by_kind) == (2, dict(found))
    assert [record.number for record in records if isinstance(record, CallRecord)] == [2, 3]


def test_a_summary_leaves_out_what_was_not_there() -> None:
    tally = {("complete", "PerflibV2", "a"): 2, ("sealed", "PerflibV2", "a"): 1, ("complete", "winreg", "b"): 0}
    made = summary_record(tally, 4, Counter(gap=2, sealed=0), 1, None)
    assert (made.calls, made.calls_by_state) == (3, {"complete": 2, "sealed": 1})
    assert made.calls_by_method == {"PerflibV2.a": 3}
    assert (made.problems, made.problems_by_kind, made.sessions) == (2, {"gap": 2}, 4)
