"""What a notebook shows, whole: captures, calls and findings as HTML, charts as Vega-Lite, parts and bounds, a small dataset.

HTML and charts stand in `tests/screens/notebook/shown/`, which `tests/written.py` says how to write anew.
"""

import json
import re
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from analyzer.core.errors import InputError
from analyzer.questions.filters.times_machines_and_users import TimeBound
from analyzer.results.analysis import Analysis
from analyzer.screens.formats.table_writer import table_of
from analyzer.screens.notebook import charts
from analyzer.screens.notebook.notebook_capture import Capture, bound_of
from analyzer.screens.views.handles import Handles
from analyzer.screens.views.samples import Samples
from analyzer.screens.views.sessions_and_hosts import Hosts, Sessions
from analyzer.screens.views.stats import Stats
from analyzer.screens.views.timeline import Timeline
from tests.build.calls import analysis_of
from tests.screens.formats.test_whole_forms import watched
from tests.screens.views.test_whole_views import broken, captured, sound
from tests.written import as_json, differing, is_as_written

SHOWN = Path(__file__).with_name("shown")

HTML: dict[str, Callable[[], str | None]] = {
    "capture": lambda: Capture(broken())._repr_html_(),
    "capture-sound": lambda: Capture(sound())._repr_html_(),
    "part": lambda: Capture(broken()).handle("q1").filter("status != 0")._repr_html_(),
    "empty": lambda: Capture(analysis_of())._repr_html_(),
    "damaged": lambda: Capture(broken()).call(8)._repr_html_(),
    "sealed": lambda: Capture(broken()).call(18)._repr_html_(),
    "packets": lambda: Capture(captured()).call(96)._repr_html_(),
    "findings": lambda: Capture(broken()).audit()._repr_html_(),
    "findings-strict": lambda: Capture(broken()).audit("strict")._repr_html_(),
    "no-findings": lambda: Capture(analysis_of()).audit()._repr_html_(),
}


def test_what_is_shown_as_html() -> None:
    texts = {name: re.sub("<(?:tr>|li|details)", r"\n\g<0>", make() or "") for name, make in HTML.items()}
    is_as_written(SHOWN / "shown.html.txt", differing(texts))


CHARTS: dict[str, Callable[[], Any]] = {
    "timeline": lambda: Capture(broken()).plot.timeline(),
    "timeline-empty": lambda: Capture(analysis_of()).plot.timeline(),
    "latency": lambda: Capture(broken()).plot.latency(),
    "polls": lambda: Capture(broken()).plot.polls(),
}


@pytest.mark.needs("altair")
@pytest.mark.parametrize("name", CHARTS)
def test_what_a_chart_draws(name: str) -> None:
    drawn = CHARTS[name]().to_dict(validate=False)
    # What altair says of itself.
    drawn.pop("$schema", None)
    drawn.pop("config", None)
    text = as_json(json.loads(json.dumps(drawn, sort_keys=True)))
    # Parts have numbers that go on from chart to chart.
    is_as_written(SHOWN / f"{name}.chart.json", re.sub(r'"(param|view)_\d+"', r'"\1"', text))


@pytest.mark.parametrize(
    ("start", "stop", "marks"),
    [
        (0, 5, [0, 1, 2, 3, 4, 5]),
        (0, 6, [0, 1, 2, 3, 4, 5, 6]),
        (0, 7, [0, 2, 4, 6]),
        (1.5, 12.5, [2, 4, 6, 8, 10, 12]),
        (0, 13, [0, 5, 10]),
        (100, 59_000, [10_000, 20_000, 30_000, 40_000, 50_000]),
        (7, 7, [7]),
    ],
)
def test_marks_of_a_short_axis_are_round(start: float, stop: float, marks: list[int]) -> None:
    assert charts._marks(start, stop) == marks


# ---------------------------------------------------------------------------------------------------- parts and bounds


@pytest.mark.parametrize(
    ("moment", "bound"),
    [
        (None, None),
        (
            datetime(1970, 1, 2, 0, 0, 1, 5),
            TimeBound("1970-01-02T00:00:01.000005+00:00", "absolute", 86_401_000_005_000),
        ),
        (
            datetime(1970, 1, 1, 2, tzinfo=timezone(timedelta(hours=2))),
            TimeBound("1970-01-01T02:00:00+02:00", "absolute", 0),
        ),
        (90, TimeBound("90 s", "relative", 90 * 10**9)),
        (0.5, TimeBound("0.5 s", "relative", 500_000_000)),
        (timedelta(minutes=1), TimeBound("60.0 s", "relative", 60 * 10**9)),
        ("5m", TimeBound.from_text("5m")),
    ],
)
def test_a_bound_is_a_moment_in_any_form(moment: Any, bound: TimeBound | None) -> None:
    assert bound_of(moment) == bound


def numbers(capture: Capture) -> list[int]:
    return list(capture.analysis.shown.numbers)


def test_a_part_of_a_part_is_of_both_and_says_so() -> None:
    whole = Capture(broken())
    part = whole.handle("q1")
    assert numbers(part) == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 13]
    smaller = part.filter("status == 0")
    assert numbers(smaller) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert smaller.analysis.part.words == "handle q1, filter status == 0"
    assert [one.number for one in smaller.analysis.shown_sessions] == [0]
    assert whole.between() is whole
    assert numbers(whole.only([25, 3, 99], "some")) == [3, 25]
    assert repr(whole) == "Capture(a.pcap, b.pcap: 100 frames, 25 calls)"
    assert [call["number"] for call in smaller.iter_calls()] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert smaller.calls["call"].to_list() == [1, 2, 3, 4, 5, 6, 7, 8]
    for wrong, words in (("opnum ==", "column 9 of the filter"), ("statsu == 1", "no field is called statsu")):
        with pytest.raises(InputError, match=words):
            whole.filter(wrong)
    with pytest.raises(InputError, match="loose is no profile"):
        whole.audit("loose")


def test_series_choose_the_calls_that_answered_with_them() -> None:
    whole = Capture(watched())
    part = whole.series("\\*(a)\\counter 99")
    assert numbers(part) == [9]
    assert part.counters().height == 1
    # Other paths are asked for by name.
    assert part.counters("\\*(a)\\counter 1").height == 0
    assert whole.counters("\\*(b#1)\\counter 1", interval=2)["readings"].sum() == 3
    with pytest.raises(InputError, match="is no counter of this capture"):
        whole.counters("\\nothing")


def test_a_document_that_stands_alone_shows_no_layers() -> None:
    analysis: Analysis = broken()
    from analyzer.screens.notebook.notebook_capture import CallDocument

    call = analysis.calls[0]
    assert CallDocument.of_call(call, analysis).analysis is analysis
    alone = CallDocument.of_call(call, replace(analysis, calls=[]))
    assert alone.analysis is None
    assert alone._repr_html_() is None
    assert alone["number"] == 1


# ---------------------------------------------------------------------------------------------------------- a dataset


def test_tables_of_a_capture_are_those_of_its_views() -> None:
    analysis = broken()
    whole = Capture(analysis)
    for found, view in (
        (whole.handles, Handles(analysis)),
        (whole.sessions, Sessions(analysis)),
        (whole.hosts, Hosts(analysis)),
        (whole.samples, Samples(analysis)),
        (whole.calls.rename({"call": "number", "logon": "auth_logon"}), Timeline(analysis)),
    ):
        # Parameters of calls are structs in a notebook.
        params = ("request_params", "response_params")
        assert found.drop(params, strict=False).equals(table_of(view).drop(params, strict=False))
        assert found.height > 0 or isinstance(view, Samples)
    stated = {name: table.height for name, table in whole.stats.items()}
    records = [str(type(record).__struct_config__.tag) for record in Stats(analysis).records()]
    assert {name: height for name, height in stated.items() if height} == {
        name: records.count(name) for name in set(records)
    }
    assert set(stated) >= {"method-stats", "poll-stats", "identity-stats", "error-stats", "activity", "image"}
    assert whole.problems.height == 18
    assert whole.triage["severity"].to_list()[0] in ("high", "medium")
    assert whole.calls is whole.calls
