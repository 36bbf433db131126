"""A dataset in a notebook has what a capture of all its files has: tables, parts, pictures, single calls."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import analyzer as pcq
from analyzer.core.output.json import dumps
from analyzer.pipeline.run import analyze
from analyzer.screens.formats.table_writer import KEYS_OF_CALLS, structs_of_json
from analyzer.screens.notebook.notebook_capture import Capture
from analyzer.screens.notebook.notebook_dataset import Dataset
from tests.collect.sets import (
    CAPTURES,
    collected,
    difference,
    keyring_of,
    rotated,
    same_rows,
)

pytestmark = pytest.mark.needs("distributed")
NAMES = (
    "pcq_smbd_scapy_impacket_smb311_ntlm_privacy_2clients.pcap",
    "v1_samba_impacket_smb311_ntlm_privacy.pcap",
)
FILTERS = (
    "opnum == 7 && status == 0",
    "status != 0",
    "not status",
    'method contains "Query" or method contains "Enumerate"',
    "handle",
    "params.RequestCode == COUNTER_NAME_STRINGS",
    "buffer.name == _Total",
    "latency > 1ms and smb",
    "frame < 30",
    "count(frame) > 3",
    "time_relative < 0.5",
    "read.attempt > 1",
    "smb.session_id != 0 and smb.signed == true",
    'auth.user matches "perf"',
    "response.stub_length > request.stub_length",
    "server.ip == 127.0.0.1 and port == 445",
    "client.ip in {10.0.0.0/8}",
)
Part = Callable[[Any], Any]
PARTS: dict[str, Part] = {
    "filter": lambda whole: whole.filter("opnum in {5..7, 17} and number"),
    "between": lambda whole: whole.between(until=0.4),
    "both": lambda whole: whole.filter("status == 0").between(0.1, 0.9).filter("latency"),
    "nothing": lambda whole: whole.filter("opnum == 999"),
}


@pytest.fixture(scope="module", params=NAMES)
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Capture, Dataset]:
    """One run over rotated files, and their dataset."""
    name = request.param
    directory = tmp_path_factory.mktemp("pair")
    rotated(name, directory / "in", 4, 5)
    keyring = keyring_of(name)
    collected(directory / "in", directory / "out", keyring)
    return Capture(analyze(sorted((directory / "in").iterdir()), keyring, pdus=False)), pcq.open(directory / "out")


def as_stored(calls: Any) -> Any:
    """A table of calls with the names that its columns have in files."""
    # Parameters are text in files, and structs in a capture; they are compared as objects.
    made = calls.lazy().collect().rename({name: stored for stored, name in KEYS_OF_CALLS.items()})
    columns = [
        structs_of_json(made[name]).alias(name) if made.schema[name] == pl.String else made[name]
        for name in ("request_params", "response_params")
    ]
    return made.with_columns(
        pl.Series(column.name, [_without_nothing(one) for one in column.to_list()], dtype=pl.String)
        for column in columns
    )


def _without_nothing(value: Any) -> str | None:
    """A struct as text, but for fields that its method has not."""
    if value is None:
        return None
    return dumps({key: one for key, one in value.items() if one is not None}).decode()


def tables_of(one: Any) -> dict[str, pl.DataFrame]:
    """Everything that a capture and a dataset have as tables."""
    audit = one.audit()
    found = {
        "calls": as_stored(one.calls),
        "samples": one.samples,
        "counters": one.counters(),
        "sessions": one.sessions,
        "hosts": one.hosts,
        "handles": one.handles,
        "problems": one.problems,
        "findings": audit["findings"],
        "coverage": audit["coverage"],
    }
    return {name: table.lazy().collect().drop("day", "server", strict=False) for name, table in found.items()}


@cache
def wholes_of(pair: tuple[Capture, Dataset]) -> list[dict[str, pl.DataFrame]]:
    """The calls and sessions of one run and of its dataset."""
    return [{"calls": as_stored(one.calls).lazy().collect(), "sessions": one.sessions.lazy().collect()} for one in pair]


def unlike(capture: Capture, dataset: Dataset, whole: tuple[Capture, Dataset]) -> str:
    """How the tables of a capture and of a dataset differ, both parts of the whole. `time_delta` is since the call before: of
    those shown here, of the conversation there."""
    files = list(whole[0].analysis.capture.files), [source.url for source in whole[1].manifest.sources]
    rows = [
        same_rows(tables_of(one), names, alone=False, whole=all_rows)
        for one, names, all_rows in zip((capture, dataset), files, wholes_of(whole), strict=True)
    ]
    return difference(*rows)


def test_the_whole_is_that_of_one_run(pair: tuple[Capture, Dataset]) -> None:
    assert not unlike(*pair, pair)


@pytest.mark.parametrize("part", PARTS)
def test_a_part_is_that_of_one_run(part: str, pair: tuple[Capture, Dataset]) -> None:
    capture, dataset = (PARTS[part](one) for one in pair)
    assert isinstance(dataset.calls, pl.LazyFrame)
    assert not unlike(capture, dataset, pair)
    assert (part == "nothing") == (capture.calls.height == 0)


def test_a_part_has_the_findings_of_its_handles_in_other_calls(tmp_path: Path) -> None:
    name = "pcq_smbd_scapy_impacket_smb311_ntlm_privacy.pcap"
    keyring = keyring_of(name)
    collected([str(CAPTURES / name)], tmp_path / "out", keyring)
    both = Capture(analyze([CAPTURES / name], keyring, pdus=False)), pcq.open(tmp_path / "out")
    capture, dataset = (
        PARTS["both"](one).audit()["findings"].lazy().select("rule", "requirement", "call").collect() for one in both
    )
    assert not set(capture["call"]) <= set(PARTS["both"](both[0]).calls["call"])
    # In a dataset the number of a call has that of its conversation in front.
    assert dataset.with_columns(pl.col("call") % (1 << 32)).rows() == capture.rows()


def test_every_filter_chooses_the_calls_of_one_run(pair: tuple[Capture, Dataset]) -> None:
    chosen = []
    for text in FILTERS:
        rows = [
            one.filter(text).calls.lazy().select("time", "method", "call_id").collect().sort("time") for one in pair
        ]
        assert rows[0].equals(rows[1]), text
        chosen.append(rows[0].height)
    assert sum(map(bool, chosen)) > len(FILTERS) // 2


def test_what_conversations_make_is_that_of_one_run(pair: tuple[Capture, Dataset]) -> None:
    capture, dataset = pair
    paths = sorted(set(capture.counters()["path"].cast(pl.String)))[:1]
    path = "\\" + paths[0].lstrip("\\").partition("\\")[2]
    for options in ({"interval": "100ms"}, {"exact": True}):
        one, other = capture.counters(path, **options), dataset.counters(path, **options).collect()
        assert one.height == other.height > 0
        assert one["value"].to_list() == other["value"].to_list()
    assert dataset.series(path).calls.collect().height == capture.series(path).calls.height > 0
    assert dataset.series(path).counters().collect().height == capture.series(path).counters().height
    assert dataset.triage.drop("conversation").collect().equals(capture.triage)
    for name, table in capture.stats.items():
        assert dataset.stats[name].drop("conversation").collect().height == table.height, name
    strict = capture.audit("strict")
    assert dataset.audit("strict")["findings"].collect().height == strict["findings"].height
    verdicts = [
        one["coverage"].lazy().select("requirement", "verdict").collect() for one in (strict, dataset.audit("strict"))
    ]
    assert verdicts[0].equals(verdicts[1])


def test_single_calls_are_those_of_one_run(pair: tuple[Capture, Dataset]) -> None:
    capture, dataset = (one.filter("opnum in {5..7, 17}") for one in pair)
    expected, found = list(capture.iter_calls()), list(dataset.iter_calls())
    assert [call["response"] and call["response"]["stub_sha256"] for call in expected] == [
        call["response"] and call["response"]["stub_sha256"] for call in found
    ]
    number = dataset.calls.collect()["call"].max()
    assert dataset.call(number)["time"] == expected[-1]["time"]
    assert "call" in str(dataset.call(number)._repr_html_())


def test_a_handle_is_known_by_the_name_its_rows_have(pair: tuple[Capture, Dataset]) -> None:
    capture, dataset = pair
    names = dataset.calls.select("handle", "handle_uuid").drop_nulls().unique().collect()
    for name, uuid in names.rows():
        for theirs, ours in ((name, name.replace("1-", "", 1)), (uuid, uuid)):
            assert dataset.handle(theirs).calls.collect().height == capture.handle(ours).calls.height > 0


@pytest.mark.needs("altair")
def test_pictures_are_drawn_of_a_part(pair: tuple[Capture, Dataset]) -> None:
    capture, dataset = (one.filter("status == 0") for one in pair)
    for name in ("timeline", "latency", "polls"):
        drawn = [getattr(one.plot, name)().to_dict()["data"]["values"] for one in (capture, dataset)]
        assert len(drawn[0]) == len(drawn[1])
    assert dataset.plot.counters().to_dict()
