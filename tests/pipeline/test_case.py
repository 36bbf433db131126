"""A case is the analysis it was saved of: every view prints the same, every program reads its tables, nothing secret is in it."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from struct import pack

import polars as pl
import pytest

import analyzer as pcq
from analyzer.audit.engine import Audit
from analyzer.auth.keyring import Keyring
from analyzer.core.errors import InputError
from analyzer.core.limits import DEFAULTS
from analyzer.formats.write import json_lines
from analyzer.model.analysis import Analysis
from analyzer.pipeline.case import VERSION, is_case, manifest_of, open_case, write_case
from analyzer.pipeline.run import analyze
from analyzer.views.audit import AuditView
from analyzer.views.counters import Counters
from analyzer.views.handles import Handles
from analyzer.views.samples import Samples
from analyzer.views.sessions import Hosts, Sessions
from analyzer.views.show import Show
from analyzer.views.stats import Stats
from analyzer.views.timeline import Timeline
from analyzer.views.view import View
from tests.cli.test_commands import PCQ, SECRETS, run

CAPTURES = Path(__file__).parents[2] / "captures"
NAMES = [
    "pcq_smbd_scapy_impacket_smb311_ntlm_privacy.pcap",
    "v1_samba_impacket_smb311_ntlm_privacy.pcap",
    "n_pcq_dropseg.pcap",
    "n_v1_reordered.pcap",
    "n_v1_snap160.pcap",
]
# Saved by version 0.1.0, as a case of format 1.
KEPT = Path(__file__).parent / "case-1.pcq"
TABLES = ("calls", "samples", "counters", "problems", "sessions", "hosts", "handles", "findings", "coverage")


def read(name: str, *, sealed: bool = False) -> Analysis:
    path = CAPTURES / name
    secrets = path.with_name(name.partition(".pcap")[0] + ".secrets.json")
    return analyze([path], Keyring.load(secrets) if secrets.exists() and not sealed else None)


def views(analysis: Analysis) -> Iterator[View]:
    yield Timeline(analysis)
    yield Samples(analysis)
    yield Counters(analysis, exact=True)
    yield Counters(analysis, interval_ns=1_000_000_000)
    yield Sessions(analysis)
    yield Hosts(analysis)
    yield Handles(analysis)
    yield Stats(analysis)
    yield AuditView(Audit(analysis))
    for number in range(1, len(analysis.calls) + 1, 40):
        yield Show(analysis, number)


def saved(analysis: Analysis, path: Path) -> Path:
    with path.open("wb") as out:
        write_case(analysis, out)
    return path


@pytest.mark.parametrize("name", [*NAMES, "sealed"])
def test_every_view_prints_the_same(name: str, tmp_path: Path) -> None:
    before = read(NAMES[0], sealed=True) if name == "sealed" else read(name)
    after = open_case(saved(before, tmp_path / "x.pcq"))
    for one, other in zip(views(before), views(after), strict=True):
        assert b"".join(json_lines(one)) == b"".join(json_lines(other)), type(one).__name__
        assert list(one.lines(100)) == list(other.lines(100)), type(one).__name__


def test_a_case_of_a_case_is_the_same_case(tmp_path: Path) -> None:
    first = saved(read(NAMES[0]), tmp_path / "first.pcq")
    second = saved(open_case(first), tmp_path / "second.pcq")
    assert first.read_bytes() == second.read_bytes()


def test_the_command_saves_and_all_commands_open(tmp_path: Path) -> None:
    case = tmp_path / "x.pcq"
    result = run("save", PCQ, "--secrets", SECRETS, "-o", case)
    assert (result.exit_code, result.stdout) == (0, "")
    assert "no key" in result.stderr
    for command in (
        ["timeline"],
        ["stats", "--format", "jsonl"],
        ["counters", "--format", "csv"],
        ["audit"],
        ["triage"],
    ):
        expected = run(*command, PCQ, "--secrets", SECRETS)
        assert run(*command, case).stdout == expected.stdout
    assert run("save", PCQ, "-o", case).exit_code == 1  # it exists
    assert run("timeline", case, PCQ).exit_code == 1
    for refused in (
        ["export", case, "--slice", tmp_path / "y.pcap"],
        ["crosscheck", case],
        ["keys", "wireshark", case],
    ):
        result = run(*refused)
        assert result.exit_code == 1
        assert "is a case" in str(result.exception)
        assert any("privacy.pcap" in note for note in getattr(result.exception, "__notes__", ()))


def test_a_case_states_which_captures_it_is_of(tmp_path: Path) -> None:
    case, result, other = tmp_path / "x.pcq", tmp_path / "x.jsonl", CAPTURES / NAMES[1]
    run("save", PCQ, "--secrets", SECRETS, "-o", case)
    assert run("verify", case, PCQ).exit_code == 0
    assert run("verify", case, other).exit_code == 7
    run("sessions", case, "--hash", "--format", "jsonl", "-o", result)
    assert run("verify", result, PCQ).exit_code == 0
    assert run("verify", result, case).exit_code == 0
    by_notebook = pcq.analyze(PCQ, secrets=SECRETS).save(tmp_path / "y.pcq")
    assert run("verify", by_notebook, PCQ).exit_code == 0
    assert run("verify", KEPT, PCQ).exit_code == 1


def test_a_case_is_read_without_the_layers() -> None:
    """They are what takes a command longest to start."""
    code = (
        "import sys; sys.argv[1:] = ['sessions', {case!r}, '--format', 'jsonl']\n"
        "from analyzer.__main__ import main\n"
        "try: main()\n"
        "finally: print(*[name for name in sys.modules if name.startswith('analyzer.')], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code.format(case=str(KEPT))], capture_output=True, text=True, check=False, timeout=600
    )
    loaded = set(done.stderr.split())
    assert "analyzer.pipeline.case" in loaded
    assert not loaded & {"analyzer.smb.layer", "analyzer.capture.reader", "analyzer.rpc.layer", "analyzer.views.audit"}


def test_the_notebook_saves_and_opens(tmp_path: Path) -> None:
    cap = pcq.analyze(PCQ, secrets=SECRETS)
    again = pcq.open(cap.save(tmp_path / "x.pcq"))
    assert again.calls.equals(cap.calls)
    assert again.samples.equals(cap.samples)
    assert again.counters().equals(cap.counters())
    with pytest.raises(InputError):
        pcq.open(PCQ)


def test_the_manifest_says_what_it_was_made_of(tmp_path: Path) -> None:
    case = tmp_path / "x.pcq"
    run("save", PCQ, "--secrets", SECRETS, "-o", case)
    manifest = manifest_of(case)
    assert (manifest.format, manifest.version, manifest.files) == ("pcq-case", VERSION, (str(PCQ),))
    assert manifest.digests[0].size == PCQ.stat().st_size
    assert manifest.limits["stub"] == DEFAULTS.stub
    assert tuple(manifest.tables) == TABLES
    assert is_case(case)
    assert not is_case(PCQ)


def test_polars_reads_the_tables_as_they_are(tmp_path: Path) -> None:
    case = saved(read(NAMES[0]), tmp_path / "x.pcq")
    manifest = manifest_of(case)
    with zipfile.ZipFile(case) as archive:
        for name, table in manifest.tables.items():
            frame = pl.read_parquet(archive.read(table.file))
            assert frame.height == table.rows, name
            assert {column: str(kind) for column, kind in frame.schema.items()} == table.columns
        calls = pl.read_parquet(archive.read("tables/calls.parquet"))
        samples = pl.read_parquet(archive.read("tables/samples.parquet"))
    assert samples.join(calls, left_on="call", right_on="number").height == samples.height > 0


@pytest.mark.needs("duckdb", "pandas", "pyarrow")
def test_duckdb_and_pandas_read_the_tables_as_they_are(tmp_path: Path) -> None:
    import duckdb
    import pandas as pd

    case = saved(read(NAMES[0]), tmp_path / "x.pcq")
    with zipfile.ZipFile(case) as archive:
        archive.extractall(tmp_path)
    for name, table in manifest_of(case).tables.items():
        path = tmp_path / table.file
        assert duckdb.sql(f"SELECT count(*) FROM '{path}'").fetchall() == [(table.rows,)], name
        assert len(pd.read_parquet(path)) == table.rows
    assert open_case(tmp_path).capture.frames > 0
    expected = pl.read_parquet(tmp_path / "tables/samples.parquet")["raw"].drop_nulls().max()
    # A column of unsigned 64-bit numbers with nulls: Arrow's types keep them, numpy's would round.
    frame = pd.read_parquet(tmp_path / "tables/samples.parquet", dtype_backend="pyarrow")
    assert int(frame["raw"].max()) == expected


def test_tables_have_the_same_columns_whatever_was_captured(tmp_path: Path) -> None:
    columns = []
    for name in NAMES:
        manifest = manifest_of(saved(read(name), tmp_path / f"{name}.pcq"))
        columns.append({table: facts.columns for table, facts in manifest.tables.items()})
    empty = tmp_path / "empty.pcap"
    empty.write_bytes(pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
    for analysis in (analyze([empty]), read(NAMES[0], sealed=True)):
        manifest = manifest_of(saved(analysis, tmp_path / "y.pcq"))
        columns.append({table: facts.columns for table, facts in manifest.tables.items()})
    assert all(found == columns[0] for found in columns)


def test_no_secret_is_in_it(tmp_path: Path) -> None:
    case = saved(read(NAMES[0]), tmp_path / "x.pcq")
    secrets = json.loads(Path(SECRETS).read_text())
    words = {
        str(value)
        for users in secrets.values()
        if isinstance(users, list)
        for user in users
        if isinstance(user, dict)
        for key, value in user.items()
        if key in ("password", "nt_hash", "session_key")
    }
    assert words
    with zipfile.ZipFile(case) as archive:
        for entry in archive.namelist():
            data = archive.read(entry)
            for word in words:
                assert word.encode() not in data
                if len(word) == 32:
                    assert bytes.fromhex(word) not in data


def test_a_case_that_was_kept_still_opens() -> None:
    """When this fails, cases that people saved no longer open: raise the version and keep reading the old one."""
    assert manifest_of(KEPT).version == 1
    analysis = open_case(KEPT)
    assert len(analysis.calls) == 103
    assert sum(1 for _ in Counters(analysis).records()) > 0
    assert list(Timeline(analysis).lines(100))


@pytest.mark.parametrize("damage", ["cut", "log", "version", "other"])
def test_what_is_no_case_is_refused_in_a_sentence(damage: str, tmp_path: Path) -> None:
    case = saved(read(NAMES[0]), tmp_path / "x.pcq")
    data = case.read_bytes()
    if damage == "cut":
        case.write_bytes(data[: len(data) // 2])
    elif damage == "log":
        at = data.index(b"state/calls.log") + 200
        case.write_bytes(data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :])
    else:
        with zipfile.ZipFile(case) as archive:
            archive.extractall(tmp_path)
        case, manifest = tmp_path, tmp_path / "manifest.json"
        before, after = ('"version": 1', '"version": 9') if damage == "version" else ("pcq-case", "pcq-cose")
        manifest.write_text(manifest.read_text().replace(before, after))
    with pytest.raises(InputError):
        open_case(case)
    result = run("timeline", case)
    assert result.exit_code == 1
    assert isinstance(result.exception, InputError)
