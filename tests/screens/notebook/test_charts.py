"""Charts of tables written down by hand: which rows are drawn, on which scales, under which titles."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from analyzer.core.errors import InputError
from analyzer.screens.notebook.charts import _MINUTE, _MOST_LABELS, _WIDTH, MOST_MARKS, Plots, _data, _marks, _time
from tests.written import as_json, is_as_written

pytestmark = pytest.mark.needs("altair")
SHOWN = Path(__file__).with_name("shown")
BEGAN = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


def plots(**tables: Any) -> Any:
    return Plots(SimpleNamespace(**tables))


def values_of(drawn: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = drawn["data"]["values"]
    return found


# ----------------------------------------------------------------------------------------------------------- counters


def readings(*rows: tuple[int, str, str, float | None, str | None, bool | int | None], **more: Any) -> pl.DataFrame:
    """Readings by the second: series, path, unit, value, why there is none, and how many are repeated."""
    columns = {
        "time": [BEGAN + timedelta(seconds=at) for at in range(len(rows))],
        "series": [row[0] for row in rows],
        "path": [row[1] for row in rows],
        "unit": [row[2] for row in rows],
        "value": pl.Series([row[3] for row in rows], dtype=pl.Float64),
        "repeated": [row[5] for row in rows],
    }
    if not more:
        columns["why_null"] = pl.Series([row[4] for row in rows], dtype=pl.String)
        columns["reason"] = pl.Series([row[4] and f"of {row[4]}" for row in rows], dtype=pl.String)
    return pl.DataFrame({**columns, **more})


def drawn_counters(table: pl.DataFrame, *paths: str, interval: Any = None) -> tuple[dict[str, Any], list[Any]]:
    asked: list[Any] = []

    def counters(*paths: str, interval: Any) -> pl.DataFrame:
        asked.append((paths, interval))
        return table

    return plots(counters=counters).counters(*paths, interval=interval).to_dict(validate=False), asked


def of_counters() -> Iterator[tuple[str, dict[str, Any], str]]:
    ended = readings(
        (1, "\\A", "%", None, "first-sample", False),
        (1, "\\A", "%", 2.0, None, False),
        (2, "\\B", "s", 0.0, None, False),
        (1, "\\A", "%", None, "reset", False),
        (1, "\\A", "%", 3.0, None, None),  # not known to be repeated
        (1, "\\A", "%", 3.0, None, True),
        (2, "\\B", "s", None, "not-displayed", False),
        (2, "\\B", "s", None, "text", False),
        (2, "\\B", "s", 5.0, None, False),
    )
    drawn, asked = drawn_counters(ended, "\\A", "\\B")
    assert asked == [(("\\A", "\\B"), None)]
    yield "a line of a series ends at each reading without a value", drawn, "utc path value why_null reason part"
    means = ((1, "\\A", "", value, None, repeated) for value, repeated in ((1.0, 0), (2.0, 1), (3.0, 2), (None, 0)))
    drawn, asked = drawn_counters(readings(*means, readings=[2, 2, 2, 1]), interval="5s")
    assert asked == [((), "5s")]
    yield "means over intervals are drawn where any reading was new", drawn, "value why_null reason part"
    for values in ((0.0, 0.0), (0.0, None), (0.0, 0.5), (-1.0, None), (1.0, 1.0)):
        found = ((1, "\\A", "", value, None if value is not None else "reset", False) for value in values)
        yield f"the axis of {values}", drawn_counters(readings(*found))[0], ""
    units = ((at, f"\\{at}", unit, 1.0, None, False) for at, unit in enumerate(("s", "%", "/s", "", "s", "ms", "B")))
    yield "units stand in the title each once in order", drawn_counters(readings(*units))[0], ""


def test_a_counters_chart_is_lines_with_points_and_crosses() -> None:
    drawn, _ = drawn_counters(readings((1, "\\A", "", 1.5, None, False)))
    layers = [
        {part: layer[part] for part in ("mark", "encoding", "transform", "title") if part in layer}
        for layer in drawn["layer"]
    ]
    is_as_written(SHOWN / "counters.chart.json", as_json(json.loads(json.dumps(layers, sort_keys=True))))
    assert drawn["width"] == _WIDTH == 640  # a cell of a notebook on a screen of 1024


def test_means_over_intervals_are_drawn_where_any_reading_was_new() -> None:
    table = readings(
        (1, "\\A", "", 1.0, None, 0),
        (1, "\\A", "", 2.0, None, 1),
        (1, "\\A", "", 3.0, None, 2),
        (1, "\\A", "", None, None, 0),
        readings=[2, 2, 2, 1],
    )
    drawn, asked = drawn_counters(table, interval="5s")
    assert asked == [((), "5s")]
    assert [(row["value"], row["why_null"], row["reason"], row["part"]) for row in values_of(drawn)] == [
        (1.0, None, None, 0),
        (2.0, None, None, 0),
        (None, None, None, 1),
    ]


def test_nothing_to_draw_is_an_error() -> None:
    with pytest.raises(InputError, match="there is no reading to draw") as caught:
        drawn_counters(readings((1, "\\A", "", 1.0, None, False)).clear())
    assert caught.value.hint == "name other counters: cap.counters() has all"


# -------------------------------------------------------------------------------------------------------------- calls


def calls(*rows: tuple[Any, ...]) -> pl.DataFrame:
    """Calls by the second: method, number of the method, response time in microseconds, handle, state, status, fault."""
    return pl.DataFrame(
        [(at, BEGAN + timedelta(seconds=at), "interface", "NAME", *row) for at, row in enumerate(rows, 1)],
        schema={
            "call": pl.Int64,
            "time": pl.Datetime("ns", "UTC"),
            "interface_name": pl.String,
            "status_name": pl.String,
            "method": pl.String,
            "opnum": pl.Int64,
            "latency": pl.Duration("us"),
            "handle": pl.String,
            "state": pl.String,
            "status": pl.Int64,
            "fault": pl.Int64,
        },
        orient="row",
    )


def of_calls() -> Iterator[tuple[str, dict[str, Any], str]]:
    for latencies in ((), (None,), (0,), (0, 5), (1,), (1, None, 2000)):
        table = calls(*(("M", 6, one, "q1", "complete", 0, None) for one in latencies))
        yield f"response times of {latencies}", plots(calls=table).latency().to_dict(validate=False), "milliseconds"
    table = calls(("M", 6, 5, "", "", 0, None), (None, 7, 5, "", "", 0, None))
    yield "a call of no known method is shown by its number", plots(calls=table).latency().to_dict(), "method"
    table = calls(
        ("M", 6, 5, "q1", "complete", 0, None),
        ("M", 6, None, None, "complete", 8, None),
        (None, 6, 1500, None, "complete", 0, 5),
        ("M", 6, 5, "q1", "unanswered", 8, None),
        ("M", 6, 5, "q1", "complete", None, None),
    )
    drawn = plots(calls=table).timeline().to_dict(validate=False)
    yield "a call is in the row of its handle and the colour of its outcome", drawn, "row outcome milliseconds"
    table = calls(*(("M", 6, 5, handle, "complete", 0, None) for handle in ("q1", "q2", "q1", "q1", "q2", "q1")))
    samples = pl.DataFrame({"call": [1, 1, 2, 3, 5, 6]})
    drawn = plots(calls=table, samples=samples).polls().to_dict(validate=False)
    yield "polls are the calls with samples by handle", drawn, "call handle seconds"


def told(name: str, drawn: dict[str, Any], columns: str) -> Iterator[str]:
    """What is drawn: title and vertical axis, then these columns of each row."""
    yield name
    first = drawn.get("layer", [drawn])[0]
    axis = first["encoding"]["y"]
    yield f"  {first.get('title', drawn.get('title'))} {axis['title']} {axis.get('scale')}"
    yield from (
        f"  {', '.join(f'{name} {row[name]}' for name in columns.split())}" for row in values_of(drawn) if columns
    )


def test_all_that_is_drawn_is_in_one_text() -> None:
    lines = chain.from_iterable(told(*case) for case in chain(of_counters(), of_calls()))
    is_as_written(SHOWN / "charts.txt", "".join(f"{line}\n" for line in lines))


# --------------------------------------------------------------------------------------------------------------- axes


@pytest.mark.parametrize(
    ("rows", "drawn", "title"),
    [(MOST_MARKS, 20_000, "T"), (MOST_MARKS + 1, 10_001, "T (every 2th of 20,001)"), (0, 0, "T")],
)
def test_no_more_marks_are_drawn_than_are_drawn_smoothly(
    rows: int, drawn: int, title: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Vega draws 20,000 marks in the time of a frame or two."""
    monkeypatch.setattr("altair.Data", lambda values: {"values": values})  # altair looks at each of them
    table = pl.DataFrame({"time": pl.Series([BEGAN] * rows, dtype=pl.Datetime("us", "UTC"))})
    data, shown = _data(table, "T")
    assert (len(data["values"]), shown) == (drawn, title)


def test_a_row_has_its_time_as_text_as_a_number_and_for_reading() -> None:
    table = pl.DataFrame({"time": [datetime(2026, 11, 20, 1, 2, 3, 4567, UTC)], "x": [1]})
    data, _ = _data(table, "T")
    assert data.to_dict()["values"] == [
        {"time": "2026-11-20T01:02:03.004Z", "x": 1, "utc": "01:02:03.004", "ms": 1_795_136_523_004.567}
    ]


def test_marks_are_as_many_as_stand_beside_each_other() -> None:
    assert _MOST_LABELS == 6  # labels of 13 letters, in the width of a chart
    for span, steps in ((6, 1), (6.5, 2), (12, 2), (12.5, 5), (_MINUTE - 1, 10_000)):
        found = _marks(0, span)
        assert found[1] - found[0] == steps
        assert len(found) <= _MOST_LABELS + 1


@pytest.mark.parametrize(("span_ms", "field"), [(_MINUTE - 1, "ms"), (60_000, "time")])
def test_an_axis_of_less_than_a_minute_is_one_of_numbers(span_ms: int, field: str) -> None:
    import altair as alt

    axis = _time(alt.Data(values=[{"ms": 5}, {"ms": 5 + span_ms}, {"ms": 7}])).to_dict()
    assert axis["field"] == field
    assert ("axis" in axis) == (field == "ms")


def test_an_axis_of_nothing_is_one_of_time() -> None:
    import altair as alt

    assert _time(alt.Data(values=[])).to_dict()["field"] == "time"
