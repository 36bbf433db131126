"""Series and findings as displays lay them out: the same as the records of `counters` and `audit`."""

import pytest

from analyzer.questions.audit.audit_engine import Audit, Profile
from analyzer.questions.audit.findings_and_coverage import finding_record
from analyzer.questions.series.counter_paths import selection_of
from analyzer.questions.series.counter_records import counter_records
from analyzer.screens.viewmodel.call_layers import call_view
from analyzer.screens.viewmodel.placed_findings import coverage_views, finding_views
from analyzer.screens.viewmodel.plotted_series import series_views
from tests.page import THREE, analysis_named
from tests.records import plain, plains


@pytest.mark.parametrize("file", THREE)
def test_the_readings_are_those_of_counters(file: str) -> None:
    analysis = analysis_named(file)
    found, left_out = series_views(analysis)
    views = list(found)
    records = list(plains(counter_records(analysis, selection_of((), dict))))
    shown = {
        (view.number, call, time): value
        for view in views
        for call, time, value in zip(view.calls, view.times_ns, view.values, strict=True)
    }
    assert len(shown) == len(records)
    assert left_out == 0
    assert shown == {(one["series"], one["call"], one["time_ns"]): one["value"] for one in records}
    paths = {view.number: view.path for view in views}
    assert {(one["series"], one["path"]) for one in records} == set(paths.items())
    for view in views:
        explained = {at for at, _ in view.reasons}
        assert all(
            value is not None or at in explained or view.type == "PERF_COUNTER_TEXT"
            for at, value in enumerate(view.values)
        )


def test_readings_beyond_the_most_are_counted() -> None:
    analysis = analysis_named(THREE[0])
    whole, _ = series_views(analysis)
    total = sum(len(view.values) for view in whole)
    part, left_out = series_views(analysis, most_readings=10)
    assert sum(len(view.values) for view in part) == 10
    assert left_out == total - 10


@pytest.mark.parametrize("file", THREE)
def test_each_finding_leads_to_bytes_of_its_call(file: str) -> None:
    analysis = analysis_named(file)
    audit = Audit(analysis, profile=Profile.SPEC)
    views = list(finding_views(analysis, audit))
    records = [
        plain(finding_record(finding, analysis.capture)) for finding in Audit(analysis, profile=Profile.SPEC).findings()
    ]
    assert [(one.rule, one.call, one.message, list(one.requirements)) for one in views] == [
        (one["rule"], one["call"], one["message"], one["requirement"]) for one in records
    ]
    assert views
    for view, record in zip(views, records, strict=True):
        if record["bytes"] is None:
            assert view.layer is None
            continue
        assert view.call is not None
        layers = {layer.id: layer for side in call_view(analysis, view.call).sides for layer in side.layers}
        assert view.layer is not None
        found = layers[view.layer]
        assert [view.start, view.stop] == record["bytes"]
        assert 0 <= view.start <= view.stop <= len(found.data)
        places = [(run.frame, run.start, run.length) for run in found.runs_at(view.start, view.stop)]
        assert places == [(one["frame"], one["start"], one["length"]) for one in record["extents"]]
    assert sum(sum(section.verdicts.values()) for section in coverage_views(audit)) == len(audit.coverage)
