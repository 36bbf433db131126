"""Charts of a capture for notebooks (altair): calls over time, formatted values, response times, polls. Users can change them."""

from __future__ import annotations

from itertools import count
from math import ceil, floor
from typing import TYPE_CHECKING, Any

import polars as pl

from analyzer.core.errors import InputError

if TYPE_CHECKING:
    import altair as alt

    from analyzer.screens.notebook.notebook_capture import Capture
    from analyzer.screens.notebook.notebook_dataset import Dataset

# More marks than these are neither distinguished nor drawn smoothly; of more, every n-th is drawn and the title says so.
MOST_MARKS = 20_000
_WIDTH = 640
# Labels of times with milliseconds that fit beside each other in this width.
_MOST_LABELS = 6
_MINUTE = 60_000


class Plots:
    """`cap.plot`: charts of what the capture shows. altair is in the extra `notebook`; without it they raise ImportError.

    cap.handle("q1").plot.counters(interval="1s")
    """

    def __init__(self, capture: Capture | Dataset) -> None:
        self._capture = capture

    def timeline(self) -> alt.Chart:
        """Returns a chart of calls, one mark a call: its time (UTC), its handle or else its method, its outcome as colour. Raises
        nothing of its own; without calls the chart is empty.

            cap.plot.timeline()
        """
        import altair as alt

        calls = self._capture.calls.lazy().select(
            "call",
            "time",
            "method",
            "status_name",
            "state",
            row=pl.coalesce(pl.col("handle", "method", "interface_name").cast(pl.String)),
            outcome=pl.when(pl.col("state") != "complete")
            .then(pl.col("state").cast(pl.String))
            .when((pl.col("status") != 0) | pl.col("fault").is_not_null())
            .then(pl.lit("failed"))
            .otherwise(pl.lit("answered")),
            milliseconds=pl.col("latency").dt.total_nanoseconds() / 1e6,
        )
        data, title = _data(calls.collect(), "Calls")
        return (
            alt.Chart(data, title=title, width=_WIDTH)
            .mark_tick(thickness=2)
            .encode(
                x=_time(data),
                y=alt.Y("row:N", title="handle, or method", sort=None),
                color=alt.Color("outcome:N", title="outcome"),
                tooltip=[
                    alt.Tooltip("call:Q", title="call"),
                    alt.Tooltip("utc:N", title="time (UTC)"),
                    "method:N",
                    alt.Tooltip("status_name:N", title="status"),
                    alt.Tooltip("milliseconds:Q", title="response time (ms)", format=".3f"),
                ],
            )
        )

    def counters(self, *paths: str, interval: Any = None) -> alt.LayerChart:
        """Returns a chart of formatted values over time, one line a series. A line ends where values end. Crosses mark readings
        without a value after a reset, a lost answer or damage, and say why. Values are in the units of their counters. Paths and
        interval as for `Capture.counters`. Raises `InputError` for a path that means nothing here, and if there is nothing to draw.

            cap.plot.counters(r"\\Processor Information(*)\\% User Time")
        """
        import altair as alt

        table = self._capture.counters(*paths, interval=interval).lazy().collect()
        if not table.height:
            raise InputError("there is no reading to draw", hint="name other counters: cap.counters() has all")
        if interval is None:
            table = table.filter(~pl.col("repeated").fill_null(value=False))  # the same line once more
        else:
            table = table.filter(pl.col("repeated") < pl.col("readings")).with_columns(
                why_null=pl.lit(None, pl.String), reason=pl.lit(None, pl.String)
            )
        table = table.select(
            "time",
            "value",
            pl.col("path").cast(pl.String),
            pl.col("unit").cast(pl.String),
            pl.col("why_null").cast(pl.String),
            pl.col("reason").cast(pl.String),
            part=pl.col("value").is_null().cum_sum().over("series"),
        ).filter(~pl.col("why_null").is_in(["not-displayed", "text", "first-sample"]).fill_null(value=False))
        units = sorted(filter(None, table["unit"].unique().to_list()))
        # Without any other value than 0, the axis would have no length.
        scale = alt.Scale() if (table["value"] != 0).any() else alt.Scale(domain=[0, 1])
        data, title = _data(table, "Counters")
        crosses = "crosses mark readings without a value" if table["why_null"].is_not_null().any() else ""
        base = alt.Chart(data, title=alt.Title(title, subtitle=crosses), width=_WIDTH).encode(x=_time(data))
        tooltip = [
            alt.Tooltip("path:N"),
            alt.Tooltip("utc:N", title="time (UTC)"),
            alt.Tooltip("value:Q"),
            alt.Tooltip("unit:N"),
        ]
        lines = base.mark_line(point=True).encode(
            y=alt.Y("value:Q", title=f"value ({', '.join(units)})" if units else "value", scale=scale),
            color=alt.Color("path:N", title="counter", legend=alt.Legend(labelLimit=400, orient="bottom", columns=1)),
            detail="part:N",
            tooltip=tooltip,
        )
        gaps = (
            base.transform_filter("datum.why_null !== null")
            .mark_point(shape="cross", size=60, filled=True, color="crimson")
            .encode(
                y=alt.value("height"),
                tooltip=[
                    *tooltip[:2],
                    alt.Tooltip("why_null:N", title="no value"),
                    alt.Tooltip("reason:N"),
                ],
            )
        )
        return alt.layer(lines.transform_filter("isValid(datum.value)"), gaps)

    def latency(self) -> alt.Chart:
        """Returns a chart of response times by method in milliseconds, from the last frame of the request to the first of the
        answer. Raises nothing of its own.

            cap.filter("opnum == 6").plot.latency()
        """
        import altair as alt

        timed = self._capture.calls.lazy().filter(pl.col("latency").is_not_null())
        calls = timed.select(
            "call",
            "time",
            "status_name",
            method=pl.coalesce(pl.col("method").cast(pl.String), pl.format("opnum {}", pl.col("opnum"))),
            milliseconds=pl.col("latency").dt.total_nanoseconds() / 1e6,
        ).collect()
        # A logarithm shows nothing at 0, where a capture's clock has no finer steps.
        is_positive = calls.height > 0 and bool((calls["milliseconds"] > 0).all())
        scale = alt.Scale(type="log", nice=True) if is_positive else alt.Scale(type="symlog", constant=0.01)
        data, title = _data(calls, "Response times")
        return (
            alt.Chart(data, title=title, width=_WIDTH)
            .mark_circle(opacity=0.6)
            .encode(
                x=_time(data),
                y=alt.Y("milliseconds:Q", title="response time (ms)", scale=scale),
                color=alt.Color("method:N", title="method"),
                tooltip=[
                    alt.Tooltip("call:Q", title="call"),
                    "method:N",
                    alt.Tooltip("status_name:N", title="status"),
                    alt.Tooltip("milliseconds:Q", title="response time (ms)", format=".3f"),
                ],
            )
        )

    def polls(self) -> alt.Chart:
        """Returns a chart of the polls of each query handle: the seconds between successive polls. Raises nothing of its own.

        cap.plot.polls()
        """
        import altair as alt

        times = self._capture.samples.lazy().select("call").unique()
        calls = (
            self._capture.calls.lazy()
            .join(times, left_on="call", right_on="call", how="semi")
            .sort("time")
            .with_columns(seconds=pl.col("time").diff().over("handle").dt.total_nanoseconds() / 1e9)
            .drop_nulls("seconds")
            .select("call", "time", "handle", "seconds")
        )
        data, title = _data(calls.collect(), "Polls")
        return (
            alt.Chart(data, title=title, width=_WIDTH)
            .mark_line(point=True)
            .encode(
                x=_time(data),
                y=alt.Y("seconds:Q", title="time since the poll before (s)"),
                color=alt.Color("handle:N", title="handle"),
                tooltip=[
                    alt.Tooltip("call:Q", title="call"),
                    "handle:N",
                    alt.Tooltip("seconds:Q", title="since the poll before (s)", format=".3f"),
                ],
            )
        )


def _time(data: alt.Data) -> alt.X:
    """Returns the time axis of a chart, in UTC whatever the browser's zone is.

    If all marks are within a minute, the axis counts milliseconds since 1970 and has labels of our own: Vega distinguishes labels
    by the second, and draws only one of those that share it.
    """
    import altair as alt

    moments = [row["ms"] for row in data.to_dict()["values"]]
    if not moments or (stop := max(moments)) - (start := min(moments)) >= _MINUTE:
        return alt.X("time:T", title="time (UTC)", scale=alt.Scale(type="utc"))
    axis = alt.Axis(labelExpr="utcFormat(datum.value, '%H:%M:%S.%L')", values=_marks(start, stop))
    return alt.X("ms:Q", title="time (UTC)", axis=axis, scale=alt.Scale(zero=False, nice=False))


def _marks(start: float, stop: float) -> list[int]:
    """Returns round numbers between `start` and `stop` for the labels of a chart's axis."""
    steps = (digit * 10**power for power in count() for digit in (1, 2, 5))
    step = next(step for step in steps if (stop - start) / step <= _MOST_LABELS)
    return list(range(ceil(start / step) * step, floor(stop) + 1, step))


def _data(table: pl.DataFrame, title: str) -> tuple[alt.Data, str]:
    """Returns the rows of a table for a chart, thinned if there are too many to be seen, and the chart's title."""
    import altair as alt

    step = -(-table.height // MOST_MARKS) or 1
    if step > 1:
        title += f" (every {step}th of {table.height:,})"
        table = table.gather_every(step)
    shown = table.with_columns(
        pl.col("time").dt.strftime("%Y-%m-%dT%H:%M:%S%.3fZ"),
        utc=pl.col("time").dt.strftime("%H:%M:%S%.3f"),
        ms=pl.col("time").dt.epoch("us") / 1000,
    )
    return alt.Data(values=shown.to_dicts()), title
