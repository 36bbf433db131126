"""What `tools/compare_outputs.py` finds between the results of two checkouts, and what it lets both run."""

import json
from pathlib import Path

import polars as pl
import pytest

from analyzer.commands.shared.help import ABOUT
from tests import truth
from tools import compare_outputs
from tools.compare_outputs import Differences, compare


def result(root: Path, name: str, **files: bytes) -> None:
    """The result of one command, as a worker leaves it."""
    folder = root / "capture" / name
    folder.mkdir(parents=True)
    for file, data in {"exit": b"0\n", "stderr": b"", "stdout": b"", **files}.items():
        (folder / file.replace("_", ".")).write_bytes(data)


def lines(*records: object) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def found(old: Path, new: Path) -> list[str]:
    return [line for line in compare(old, new)[1].lines() if not line.startswith(" ")]


@pytest.fixture
def old(tmp_path: Path) -> Path:
    return tmp_path / "old"


@pytest.fixture
def new(tmp_path: Path) -> Path:
    return tmp_path / "new"


def test_equal_results_have_no_difference(old: Path, new: Path) -> None:
    for root in (old, new):
        result(root, "timeline.text", stdout=b"1 call\n")
    count, differences = compare(old, new)
    assert (count, bool(differences)) == (1, False)


def test_keys_of_records_are_listed_by_record_and_path(old: Path, new: Path) -> None:
    call, changed = (
        {"record": "call", "auth": {"door": "open"}, "n": [1, 2]},
        {"record": "call", "auth": {}, "n": [1, 3]},
    )
    result(old, "timeline.jsonl", stdout=lines(call, call))
    result(new, "timeline.jsonl", stdout=lines(changed, changed, {"record": "summary"}))
    place = "(2 in 1 result, first capture/timeline.jsonl)"
    assert found(old, new) == [
        f"timeline: call: auth is new  {place}",
        f"timeline: call: auth.door is gone  {place}",
        f"timeline: call: n[] differs  {place}",
        "timeline: number of records `summary`  (1 in 1 result, first capture/timeline.jsonl)",
    ]


def test_json_that_differs_in_its_spelling_alone_is_no_difference_of_keys(old: Path, new: Path) -> None:
    result(old, "timeline.jsonl", stdout=b'{"a":1,"b":2}\n')
    result(new, "timeline.jsonl", stdout=b'{"b":2,"a":1}\n')
    assert found(old, new) == ["timeline: order or spelling of JSON  (1 in 1 result, first capture/timeline.jsonl)"]


def test_tables_are_compared_by_column(old: Path, new: Path) -> None:
    for root, value, name in ((old, 1, "former"), (new, 2, "later")):
        path = root / "capture" / "samples.parquet"
        path.mkdir(parents=True)
        pl.DataFrame({"raw": [value], name: ["x"]}).write_parquet(path / "table.parquet")
        (path / "exit").write_bytes(b"0\n")
        result(root, "samples.csv", stdout=b"raw\r\n%d\r\n" % value)
    at, csv = "(1 in 1 result, first capture/samples.parquet)", "(1 in 1 result, first capture/samples.csv)"
    assert found(old, new) == [
        f"samples: column former String is gone  {at}",
        f"samples: column later String is new  {at}",
        f"samples: column raw Int64 differs  {at}",
        f"samples (csv): column raw differs  {csv}",
    ]


def test_lines_of_text_that_differ_in_numbers_are_one_class(old: Path, new: Path) -> None:
    for root, word in ((old, "calls"), (new, "requests")):
        result(
            root,
            "stats.text",
            stdout=f"10 {word}\nsame\n20 {word}\n".encode(),
            exit=b"0\n" if word == "calls" else b"4\n",
        )
    assert found(old, new) == [
        "stats (exit): reads otherwise: N  (1 in 1 result, first capture/stats.text)",
        "stats (stdout): reads otherwise: N calls  (2 in 1 result, first capture/stats.text)",
    ]


def test_a_file_that_only_one_has_is_a_difference(old: Path, new: Path) -> None:
    result(old, "export.slice")
    result(new, "export.slice", slice_pcap=b"packets")
    assert found(old, new) == ["export: file slice.pcap is new  (1 in 1 result, first capture/export.slice)"]


def test_examples_show_both_sides() -> None:
    differences = Differences()
    differences.add("timeline", "x differs", "here", 1, 2)
    assert list(differences.lines()) == ["timeline: x differs  (1 in 1 result, first here)", "    1 -> 2"]


def test_every_command_that_reads_captures_is_compared(tmp_path: Path) -> None:
    capture = truth.captures()[0]
    secrets = compare_outputs.secrets_of(capture.path, tmp_path)
    assert secrets == capture.secrets_path
    commands = {job.arguments[0] for job in compare_outputs.jobs_of(capture.path, secrets)}
    commands |= {job.arguments[0] for job in compare_outputs.decode_jobs(compare_outputs.VECTORS)}
    others = {"show", "browse", "crosscheck", "verify", "calibrate", "probe", "collect", "docs"}
    assert commands | others == set(ABOUT)


def test_a_capture_without_keys_of_its_own_gets_all_of_its_folder(tmp_path: Path) -> None:
    (tmp_path / "one.secrets.json").write_text('{"users": [{"username": "u"}], "keytabs": ["k.keytab"]}')
    (tmp_path / "two.secrets.json").write_text('{"users": [{"username": "u"}, {"username": "v"}]}')
    merged = compare_outputs.secrets_of(tmp_path / "damaged.pcap", tmp_path)
    assert json.loads(merged.read_bytes()) == {
        "users": [{"username": "u"}, {"username": "v"}],
        "keytabs": [str(tmp_path / "k.keytab")],
    }
