"""`stats` as records and as text, on every capture."""

from __future__ import annotations

import json
from typing import Any

import pytest

from analyzer.auth.keyring import Keyring
from analyzer.formats.tables import table_of
from analyzer.output.json import dumps
from analyzer.pipeline.run import analyze
from analyzer.views.stats import Stats, duration
from tests import truth
from tests.records import plains

SPREAD = {"count", "total", "min", "median", "p95", "max"}
KEYS = {
    "method-stats": {
        "record", "interface", "method", "opnum", "calls", "failed", "retried", "unanswered", "unread", "latency_ns",
        "request_bytes", "response_bytes", "slowest", "frames",
    },
    "poll-stats": {
        "record", "handle", "what", "server", "client", "polls", "failed", "first_call", "last_call", "first_time_ns",
        "last_time_ns", "intervals_ns", "jitter_ns", "frames",
    },
    "identity-stats": {
        "record", "user", "workstation", "client_ip", "server_ip", "security", "sessions", "calls", "failed", "polls",
        "first_call", "last_call", "first_time_ns", "last_time_ns", "frames",
    },
    "error-stats": {"record", "kind", "code", "name", "interface", "method", "count", "call_numbers", "frames"},
    "activity": {
        "record", "kind", "who", "category", "target", "name", "detail", "count", "call_numbers", "failed", "first_time_ns",
        "last_time_ns", "frames",
    },
    "image": {
        "record", "server_ip", "source", "target", "name", "pid", "instance_id", "seen_by", "calls", "first_call", "last_call",
        "first_time_ns", "last_time_ns", "frames",
    },
}  # fmt: skip


@pytest.mark.parametrize("capture", truth.captures(), ids=lambda capture: capture.file)
def test_every_capture_in_every_form(capture: truth.Capture) -> None:
    analysis = analyze([capture.path], Keyring.load(capture.secrets_path))
    view = Stats(analysis)
    records: list[dict[str, Any]] = [json.loads(dumps(record)) for record in view.records()]
    for record in records:
        if record["record"] != "session":
            assert set(record) == KEYS[record["record"]]
            assert record["frames"] or record["record"] == "method-stats"
        for key in ("latency_ns", "intervals_ns", "request_bytes", "response_bytes"):
            assert set(record.get(key, SPREAD)) == SPREAD
    methods = [record for record in records if record["record"] == "method-stats"]
    assert sum(record["calls"] for record in methods) == len(analysis.calls)
    identities = [record for record in records if record["record"] == "identity-stats"]
    assert sum(record["calls"] for record in identities) == len(analysis.calls)
    returned = [record for record in records if record["record"] == "error-stats" and record["kind"] != "counter"]
    assert sum(record["count"] for record in returned) == sum(record["failed"] for record in methods)
    lines = list(view.lines(110))
    assert ("[bold]Service response time[/]" if analysis.calls else "no call could be read") in lines
    assert table_of(view).height == len(records)


def test_two_clients_that_listed_processes_are_both_named() -> None:
    (capture,) = (capture for capture in truth.captures() if "2clients" in capture.file)
    view = Stats(analyze([capture.path], Keyring.load(capture.secrets_path)))
    images = [record for record in plains(view.records()) if record["record"] == "image"]
    assert {"System", "svchost", "日本語🙂"} <= {record["name"] for record in images}
    assert {who["user"] for record in images for who in record["seen_by"]} == {"LAB\\perfmon", "LAB\\monitor2"}
    polled = [
        record
        for record in plains(view.records())
        if record["record"] == "activity" and record["category"] == "process"
    ]
    assert {(record["who"]["user"], record["kind"]) for record in polled} == {
        (user, kind)
        for user in ("LAB\\perfmon", "LAB\\monitor2")
        for kind in ("describe-counterset", "list-instances", "poll")
    }
    text = "\n".join(view.lines(None))
    assert "this is a list of processes" in text
    assert "LAB\\monitor2 from 127.0.0.1" in text


@pytest.mark.parametrize(
    ("time_ns", "words"),
    [
        (None, ""),
        (0, "0 ns"),
        (999, "999 ns"),
        (1_500, "1.500 µs"),
        (12_345_678, "12.35 ms"),
        (999_960_000, "1000.0 ms"),
        (123_456_789_012, "123.5 s"),
        (-2_000_000, "-2.000 ms"),
        (98_765_432_100_000, "98765 s"),
    ],
)
def test_durations_have_four_digits(time_ns: int | None, words: str) -> None:
    assert duration(time_ns) == words
