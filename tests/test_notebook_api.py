"""`import analyzer as pcq`: tables with the columns notebooks count on, one call at a time, and keys in any form."""

import subprocess
import sys
from io import BytesIO
from pathlib import Path

import polars as pl
import pytest

import analyzer as pcq
from analyzer.results.records.capture_records import ProblemRecord
from analyzer.screens.formats.table_schema import table_schema
from analyzer.screens.formats.table_writer import structs_of_json
from tests import truth
from tests.commands.test_all_commands import HEAVY

CAPTURE = truth.captures()[0]
V1 = next(capture for capture in truth.captures() if capture.file.startswith("v1_samba_impacket_smb311_ntlm"))

CALLS = {
    "call": pl.Int64,
    "time": pl.Datetime("ns", "UTC"),
    "time_relative": pl.Duration("ns"),
    "client_ip": pl.String,
    "client_port": pl.Int64,
    "server_ip": pl.String,
    "server_port": pl.Int64,
    "session": pl.Int64,
    "smb_encrypted": pl.Boolean,
    "smb_signature_ok": pl.Boolean,
    "auth_user": pl.String,
    "auth_verified": pl.Boolean,
    "interface_name": pl.String,
    "method": pl.String,
    "status": pl.Int64,
    "latency": pl.Duration("ns"),
    "handle": pl.String,
    "handle_uuid": pl.String,
    "counterset_guid": pl.String,
    "request_frames": pl.List(pl.Int64),
    "request_stub_sha256": pl.String,
    "response_buffer": pl.String,
}
SAMPLES = {
    "call": pl.Int64,
    "time": pl.Datetime("ns", "UTC"),
    "server_ip": pl.String,
    "handle": pl.String,
    "counterset": pl.String,
    "instance": pl.String,
    "raw": pl.UInt64,
    "text": pl.String,
    "perf_time_stamp": pl.UInt64,
}


@pytest.fixture(scope="module")
def cap() -> pcq.Capture:
    return pcq.analyze(str(CAPTURE.path), secrets=str(CAPTURE.secrets_path))


def test_calls_are_a_table(cap: pcq.Capture) -> None:
    assert CALLS.items() <= dict(cap.calls.schema).items()
    assert [cap.calls.schema[f"{side}_params"].base_type() for side in ("request", "response")] == [pl.Struct] * 2
    assert cap.calls.height == 103
    assert cap.calls["call"].to_list() == list(range(1, 104))
    assert cap.calls["time"].is_sorted()
    sizes = cap.calls["request_params"].struct.field("dwInSize")
    assert sizes.dtype == pl.Int64
    known = {call["number"]: call["request"]["params"] for call in cap.iter_calls() if call["request"] is not None}
    assert sizes.to_list() == [(known.get(number) or {}).get("dwInSize") for number in cap.calls["call"]]


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        ([None, None], [None, None]),
        (["{}", None], [None, None]),
        (['{"a": 1}', None, '{"b": {"c": "x"}}'], [{"a": 1, "b": None}, None, {"a": None, "b": {"c": "x"}}]),
        (['{"a": 1}', '{"a": "x"}'], [{"a": "1"}, {"a": "x"}]),
        (['{"a": {"b": 1}}', '{"a": [2]}'], [{"a": '{"b":1}'}, {"a": "[2]"}]),
        (['{"a": 18446744073709551615}', '{"a": 1}'], [{"a": 2**64 - 1}, {"a": 1}]),
        (['{"a": null}', '{"a": null}'], [{"a": None}, {"a": None}]),
    ],
    ids=["none", "empty", "other fields", "other types", "other shapes", "large", "null"],
)
def test_parameters_of_all_methods_are_one_struct(texts: list[str | None], values: list[object]) -> None:
    found = structs_of_json(pl.Series("params", texts, dtype=pl.String))
    assert found.dtype.base_type() == (pl.Struct if any(values) else pl.Null)
    found.to_frame().write_parquet(BytesIO())
    assert found.to_list() == values


def test_samples_are_a_table(cap: pcq.Capture) -> None:
    assert SAMPLES.items() <= dict(cap.samples.schema).items()
    assert set(cap.samples["source"]) == {"perflib-v2"}
    assert cap.samples.height > 100
    old = pcq.analyze(V1.path, secrets=V1.secrets_path)
    assert old.samples.schema == cap.samples.schema
    assert set(old.samples["source"]) == {"winperf"}
    calls = pl.concat([cap.calls, old.calls], how="vertical_relaxed")
    assert {"dwInSize", "lpValueName"} <= {field.name for field in calls.schema["request_params"].fields}
    assert calls["request_params"].null_count() == sum(
        one["request_params"].null_count() for one in (cap.calls, old.calls)
    )
    # Both generations in one table.
    assert pl.concat([cap.samples, old.samples]).height == cap.samples.height + old.samples.height


def test_problems_sessions_and_hosts_are_tables(cap: pcq.Capture) -> None:
    assert dict(cap.problems.schema) == dict(table_schema(ProblemRecord))
    assert cap.problems.height == 1
    assert cap.sessions["user"].to_list() == ["LAB\\perfmon"]
    assert cap.hosts["ip"].to_list() == ["127.0.0.1"]


def test_a_call_is_its_record(cap: pcq.Capture) -> None:
    call = cap.call(3)
    assert (call["number"], call["method"]) == (3, "PerflibV2QueryCounterSetRegistrationInfo")
    assert call["response"]["buffer"]["counters"]


@pytest.mark.parametrize("number", [0, -1, 104])
def test_a_number_that_is_no_call_is_an_input_error(cap: pcq.Capture, number: int) -> None:
    with pytest.raises(pcq.InputError, match=f"there is no call {number}"):
        cap.call(number)


def test_several_captures_and_open_files_are_taken() -> None:
    assert pcq.analyze([CAPTURE.path, str(V1.path)]).calls.height == 120
    with CAPTURE.path.open("rb") as file:
        assert pcq.analyze(file).calls.height == 103


def test_what_cannot_be_read_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(pcq.InputError):
        pcq.analyze(tmp_path / "nowhere.pcap")
    with pytest.raises(pcq.InputError):
        pcq.analyze(CAPTURE.path, secrets=tmp_path / "nowhere.json")


def test_only_what_is_asked_for_is_imported() -> None:
    code = "import sys, analyzer; print(*sys.modules); print(*sorted(analyzer.__all__)); analyzer.nothing"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    loaded, names = (line.split() for line in done.stdout.splitlines())
    assert not HEAVY & set(loaded)
    assert names == [
        *("Capture", "InputError", "Keyring", "__version__", "analyze", "diff", "iter_calls", "open", "write_baseline")
    ]
    assert done.stderr.endswith("AttributeError: module 'analyzer' has no attribute 'nothing'\n")
