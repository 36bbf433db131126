"""A case is the analysis it was saved of: every view prints the same, every program reads its tables, nothing secret is in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from struct import pack

import msgspec
import polars as pl
import pytest

import analyzer as pcq
from analyzer.audit.engine import Audit
from analyzer.auth.keyring import Keyring
from analyzer.core.errors import InputError
from analyzer.core.limits import DEFAULTS
from analyzer.formats.write import json_lines
from analyzer.model.analysis import Analysis
from analyzer.model.pdus import Pdus
from analyzer.pipeline import case as case_module
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


def test_the_manifest_counts_the_rows_of_its_tables(tmp_path: Path) -> None:
    case = tmp_path / "x.pcq"
    run("save", PCQ, "--secrets", SECRETS, "-o", case)
    manifest = manifest_of(case)
    assert (manifest.calls, manifest.problems) == (manifest.tables["calls"].rows, manifest.tables["problems"].rows)
    assert manifest.problems > 0
    assert manifest.options == {"engine": "own"}


def test_the_manifest_states_the_options_that_decide_what_was_read(tmp_path: Path) -> None:
    case = tmp_path / "x.pcq"
    bounds = ["--read-frames", "400", "--read-until", "2h"]
    run("save", PCQ, "--secrets", SECRETS, *bounds, "--metadata", KEPT, "--redact", "-o", case)
    options = manifest_of(case).options
    assert list(options) == ["engine", "read-frames", "read-until", "metadata", "redact"]
    assert (options["read-frames"], options["read-until"], options["redact"]) == ("400", "2h", "")


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


# ------------------------------------------------------------------------------------------------ hostile cases

STATE, LOG = "state/state.msgpack", "state/calls.log"


def contents(case: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(case) as archive:
        return {name: archive.read(name) for name in ("manifest.json", STATE, LOG)}


def written(path: Path, entries: dict[str, bytes], *, how: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in entries.items():
            archive.writestr(name, data, zipfile.ZIP_STORED if name == LOG else how)
    return path


def refusal(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        [side.stub for call in open_case(path).calls for side in (call.request, call.response) if side]
    return str(caught.value)


def test_what_an_entry_promises_to_become_is_bounded(tmp_path: Path) -> None:
    entries = contents(KEPT)
    for name, size in (("manifest.json", 20 << 20), (STATE, 4 << 20)):
        bomb = written(tmp_path / "x.pcq", {**entries, name: b" " * size}, how=zipfile.ZIP_DEFLATED)
        assert f"{name} would be {size} bytes" in refusal(bomb)
    # It becomes more than it promises: no more is made of it than that.
    data = written(tmp_path / "x.pcq", {**entries, STATE: b" " * (4 << 20)}, how=zipfile.ZIP_DEFLATED).read_bytes()
    (tmp_path / "x.pcq").write_bytes(data.replace(pack("<I", 4 << 20), pack("<I", 1000)))
    assert "damaged case" in refusal(tmp_path / "x.pcq")


def test_a_directory_of_many_entries_is_not_read(tmp_path: Path) -> None:
    many = {f"{number:x}": b"" for number in range(30_000)}
    assert "more entries than a case has" in refusal(written(tmp_path / "x.pcq", {**contents(KEPT), **many}))


def test_encrypted_entries_and_unknown_compressions_are_a_sentence(tmp_path: Path) -> None:
    entries = contents(KEPT)
    for how in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        case = written(tmp_path / "x.pcq", entries)
        with zipfile.ZipFile(case, "w") as archive:
            for name, data in entries.items():
                archive.writestr(name, data, how if name == STATE else zipfile.ZIP_STORED)
        assert "compressed with what no case is" in refusal(case)
    case = written(tmp_path / "x.pcq", entries)
    changed = bytearray(case.read_bytes())
    changed[changed.rfind(STATE.encode()) - 46 + 8] |= 1
    case.write_bytes(changed)
    assert "encrypted" in refusal(case)


def test_nested_records_are_a_sentence(tmp_path: Path) -> None:
    entries = contents(KEPT)
    assert "damaged case" in refusal(written(tmp_path / "x.pcq", {**entries, "manifest.json": b"[" * 100_000}))
    assert "damaged case" in refusal(written(tmp_path / "x.pcq", {**entries, STATE: b"\x91" * 100_000}))


@pytest.mark.parametrize("field", ["places", "lengths", "views", "lists", "commons", "smbs", "texts", "steps"])
def test_a_state_that_contradicts_itself_is_a_sentence(field: str, tmp_path: Path) -> None:
    entries = contents(saved(read(NAMES[0]), tmp_path / "good.pcq"))
    for shorter in (True, False):
        state = msgspec.msgpack.decode(entries[STATE])
        where = state if field in state else state["shared"]
        value = where[field]
        if shorter:
            where[field] = b"\x90" if field == "commons" else value[:0]
        elif isinstance(value, bytes) and field != "commons":
            where[field] = b"\x7f" * len(value)
        else:
            continue
        changed = {**entries, STATE: msgspec.msgpack.encode(state)}
        assert "damaged" in refusal(written(tmp_path / "x.pcq", changed)), (field, shorter)


def test_calls_that_are_none_are_a_sentence(tmp_path: Path) -> None:
    entries = contents(saved(read(NAMES[0]), tmp_path / "good.pcq"))
    for log in (b"", bytes(len(entries[LOG])), entries[LOG][:-1], b"\xc1" * len(entries[LOG])):
        assert "damaged" in refusal(written(tmp_path / "x.pcq", {**entries, LOG: log}))


def test_stubs_lie_in_their_pdus(tmp_path: Path) -> None:
    """Bounds beyond the bytes of a PDU, and bytes without an origin, are noticed when the call is looked at."""
    analysis = read("v1_samba_impacket_smb311_ntlm_privacy.pcap")
    entries = contents(saved(analysis, tmp_path / "good.pcq"))
    found = 0
    for number in range(1, len(analysis.calls), 7):
        side = analysis.calls[number].request
        bounds = side.pdus.bounds.tobytes() if side is not None and isinstance(side.pdus, Pdus) else b""
        if bounds and (at := entries[LOG].find(bounds)) >= 0:
            log = bytearray(entries[LOG])
            log[at + 6 : at + 8] = b"\xff\xff"
            found += 1
            assert "damaged" in refusal(written(tmp_path / "x.pcq", {**entries, LOG: bytes(log)}))
    assert found


def test_what_fits_no_view_is_a_sentence_of_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values that pass all checks and that no reader of captures would make. From a capture it is a mistake of ours."""

    def lines(view: Timeline, width: int | None) -> Iterator[str]:
        raise KeyError("nothing of the kind")

    monkeypatch.setattr(Timeline, "lines", lines)
    done = run("timeline", KEPT)
    assert isinstance(done.exception, InputError)
    assert "is a damaged case: what it holds does not fit together (KeyError)" in str(done.exception)
    assert isinstance(run("timeline", PCQ).exception, KeyError)


def test_a_case_goes_to_a_device_and_through_a_pipe(tmp_path: Path) -> None:
    analysis = open_case(KEPT)
    with Path(os.devnull).open("wb") as out:
        write_case(analysis, out)
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb") as source, ThreadPoolExecutor(1) as pool:
        whole = pool.submit(source.read)
        with os.fdopen(writer, "wb") as out:
            write_case(analysis, out)
        (tmp_path / "x.pcq").write_bytes(whole.result())
    assert is_case(tmp_path / "x.pcq")
    assert len(open_case(tmp_path / "x.pcq").calls) == len(analysis.calls)


def test_an_unpacked_case_is_made_of_files(tmp_path: Path) -> None:
    for name in ("manifest.json", STATE, LOG):
        folder = tmp_path / name.replace("/", "-")
        with zipfile.ZipFile(KEPT) as archive:
            archive.extractall(folder)
        (folder / name).unlink()
        os.mkfifo(folder / name)
        # One that is never written to would be waited for, for ever.
        assert not is_case(folder) if name == "manifest.json" else "no file" in refusal(folder)
        (folder / name).unlink()
        (folder / name).symlink_to("/dev/zero")
        assert not is_case(folder) if name == "manifest.json" else "no file" in refusal(folder)


def test_what_comes_out_of_a_pipe_is_read_but_once() -> None:
    reader, writer = os.pipe()
    data = (CAPTURES / "n_v1_snap160.pcap").read_bytes()[:60_000]
    os.write(writer, data)
    os.close(writer)
    assert not is_case(f"/dev/fd/{reader}")
    with os.fdopen(reader, "rb") as file:
        assert file.read() == data


def test_a_directory_and_a_manifest_may_be_so_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "x.pcq", contents(KEPT))
    data = path.read_bytes()
    length = int.from_bytes(data[data.rfind(b"PK\5\6") + 12 :][:4], "little")
    for most, is_read in ((length, True), (length - 1, False), (length + 1, True)):
        monkeypatch.setattr(case_module, "_MOST_DIRECTORY", most)
        if is_read:
            assert case_module.manifest_of(path).calls > 0
        else:
            assert "more entries than a case has" in refusal(path)
    monkeypatch.undo()
    size = len(contents(KEPT)["manifest.json"])
    for most, is_read in ((size, True), (size - 1, False)):
        monkeypatch.setattr(case_module, "_MOST_MANIFEST", most)
        if is_read:
            assert case_module.manifest_of(path).calls > 0
        else:
            assert f"manifest.json would be {size} bytes, more than {most}" in refusal(path)
    monkeypatch.undo()
    # A little more than 1 MiB: each entry takes 46 bytes and its name (APPNOTE 4.3.12).
    many = {f"{number:05x}": b"" for number in range((1 << 20) // 51 + 1)}
    assert "more entries than a case has" in refusal(written(tmp_path / "y.pcq", {**contents(KEPT), **many}))


def test_calls_that_would_reach_beyond_the_file_are_a_sentence(tmp_path: Path) -> None:
    path = written(tmp_path / "x.pcq", contents(KEPT))
    data = bytearray(path.read_bytes())
    # compressed and uncompressed size in the directory (APPNOTE 4.3.12)
    at = data.rfind(LOG.encode()) - 46
    data[at + 20 : at + 28] = pack("<II", len(data), len(data))
    path.write_bytes(data)
    assert "its calls are not stored as they should be" in refusal(path)
