"""What a command refuses: one sentence on standard error, nothing on standard output, and the exit code of docs/output.md."""

from __future__ import annotations

import io
import json
import sys
import zipfile
from pathlib import Path

import pytest

from analyzer.commands.guard import guarded
from tests.commands.test_commands import CLEAR, PCQ, SECRETS, USER, VECTORS

UNUSABLE, USAGE, NOTHING = 1, 2, 3


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("case") / "saved.pcq"
    assert guarded(["save", str(CLEAR), "-o", str(path)]) == 0
    return path


def refused(
    words: list[object], capfd: pytest.CaptureFixture[str], code: int, *sentences: str, printed: bool = False
) -> None:
    capfd.readouterr()
    assert guarded([str(word) for word in words]) == code
    out, err = capfd.readouterr()
    for sentence in sentences:
        assert sentence in err
    assert "Traceback" not in err
    said = [line for line in err.splitlines() if line.startswith("pcq-analyzer: ")]
    assert len(said) == (code != NOTHING)
    assert all(len(line) < 300 for line in said)
    assert printed or out == ""


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("nonsense", "'nonsense'"),
        ("audit", "a capture is needed (or --list)"),
        ("audit {clear} --min-coverage 101%", "a percentage from 0 to 100 is needed, such as 80%"),
        ("audit {clear} --min-coverage -1%", "a percentage from 0 to 100 is needed, such as 80%"),
        ("audit {clear} --matrix --format sarif", "sarif"),
        ("audit {clear} --min-coverage most", "a percentage from 0 to 100 is needed, such as 80%"),
        ("collect {clear} -o {tmp}/out --engine tshark", "collect reads with its own engine"),
        ("collect {clear} -o {tmp}/out --scheduler tcp://host:1 --workers 2", "the cluster has workers of its own"),
        ("collect {clear} -o {tmp}/out --since yesterday", "yesterday is no time: 2026-11-20, or 2026-11-20T13:50:16"),
        ("collect {clear} -o {tmp}/out --redact", "a dataset keeps frames as they were captured"),
        ("collect {clear} -o {tmp}/out --read-frames 3", "collect reads each capture as a whole"),
        ("collect {clear} -o {tmp}/out --jobs 2", "collect has --workers"),
        ("decode {clear} --at nowhere", "nowhere is no offset"),
        ("decode {clear} --as mystery", "'mystery' is not one of"),
        ("decode {clear} --format parquet", "--format parquet needs a file to write"),
        ("export {clear}", "say what to write: --pcapng OUT, --slice OUT or --frames OUT"),
        ("export {clear} --pcapng {tmp}/a --slice {tmp}/a", "--pcapng writes to this file already"),
        ("export - --slice {tmp}/a", "standard input cannot be read twice; write --pcapng instead"),
        ("export {clear} --slice {tmp}/a --engine tshark", "--engine tshark gives no packets"),
        ("export {clear} --pcapng {tmp}/a --dsb somebody", "only a slice needs keys: --slice OUT"),
        ("export {clear} --slice {tmp}/a --dsb somebody", "no key of somebody is given; there are keys of: none"),
        ("keys keytab user@REALM --password x", "a keytab needs a file to write, or - for a pipe"),
        ("keys keytab user@REALM --password x -o {tmp}/k --etype 1", "1 is none of 20, 19, 18, 17, 23"),
        ("docs output --format csv", "pages are text"),
        ("timeline", "name a capture"),
        ("timeline {clear} --no-such-option", "--no-such-option"),
        ("timeline {clear} --format yaml", "'yaml' is not one of"),
        ("timeline {clear} --tail 0", "0 is not in the range"),
        ("timeline {clear} --tail -1", "-1 is not in the range"),
        ("timeline {clear} --time never", "'never' is not one of"),
        ("timeline {clear} --tz Nowhere/Nothing", "this machine knows no zone Nowhere/Nothing"),
        ("timeline {clear} --columns number", "add --format csv, parquet, jsonl or json"),
        ("timeline {clear} --follow-handle first", "first is no handle: write q2 or 2 for a query handle"),
        ("timeline {clear} --follow-session one", "one is no session: write its id as 0x1d"),
        ("timeline {clear} --interface PerflibV3", "write its UUID, or PerflibV2, if that is meant"),
        ("timeline {clear} --nt-hash abcdef", "NT hash number 1 has 6 hexadecimal digits, expected 32"),
        (f"timeline {{clear}} --nt-hash {'x' * 32}", "NT hash number 1 is not hexadecimal (32 characters)"),
        ("timeline {clear} --smb-session-key 1", "SMB session key line 1: 1 fields, expected session id"),
        ("timeline {clear} --redact-key=", "an empty key is none"),
        ("timeline {clear} --metadata-from 10.0.0.1", "it needs --metadata FILE"),
        ("timeline {clear} --read-frames 3 --engine tshark", "tshark reads captures as a whole"),
        ("timeline {clear} --names-from now --engine tshark", "tshark reads captures as a whole"),
        ("timeline {clear} --names-from now --format csv", "it prints text and jsonl"),
        ("timeline {clear} --names-from now --tail 3", "needs the whole capture"),
        ("timeline {clear} --format timesketch --hash", "this form has no place for it"),
        ("samples {clear} --format parquet", "--format parquet needs a file to write: -o FILE, or -o - into a pipe"),
        ("probe", "a server, -w and --triggered are needed (or --dry-run)"),
        ("report {clear}", "name the file to write: -o report.html, or -o - into a pipe"),
        ("show {clear}", "which call? --call N, or what selects one"),
        ("show {clear} --call first", "'first'"),
    ],
)
def test_wrong_usage_is_2(words: str, sentence: str, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    given = words.format(clear=CLEAR, tmp=tmp_path).split()
    refused(list(given), capfd, USAGE, f"{sentence}", "--help shows how it is used.")
    assert list(tmp_path.iterdir()) == []


# What is in the folder of a test.
GIVEN = {
    "empty": b"",
    "paper.pdf": b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n",
    "noise": bytes(range(7, 256)) * 5,
    "bad.json": b'{"users": [',
    "bad.toml": b"[users\nx = 1",
    "braces.json": b"{}",
    "odd.json": b'{"users": [{"username": "x", "nt_hash": "123"}]}',
    "lost.json": b'{"keytabs": ["nowhere.keytab"]}',
}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("timeline {tmp}/none", "none: there is no such file"),
        ("timeline {tmp}", "is a directory"),
        ("timeline {tmp}/empty", "empty is empty"),
        ("timeline {tmp}/paper.pdf", "is not a capture: it looks like a PDF document"),
        ("samples {tmp}/noise", "is not a capture: it looks like no format we know"),
        ("timeline {tmp}/*.nothing", "no file matches"),
        ("timeline {tmp}/empty {tmp}/paper.pdf", "None of 2 files can be read."),
        ("timeline {clear} --secrets {tmp}/none", "cannot read the secrets file"),
        ("timeline {clear} --secrets {tmp}", "is a directory, not a secrets file"),
        ("timeline {clear} --secrets {tmp}/bad.json", "is neither TOML nor JSON (as JSON: line 1 column 12;"),
        ("timeline {clear} --secrets {tmp}/bad.toml", "is neither TOML nor JSON (as JSON: line 1 column 2;"),
        ("timeline {clear} --secrets {tmp}/odd.json", "users[1].nt_hash is not hexadecimal (3 characters)"),
        ("timeline {clear} --secrets {tmp}/lost.json", "nowhere.keytab: No such file or directory"),
        ("timeline {clear} --keytab {tmp}/none", "cannot read the keytab"),
        ("timeline {clear} --keytab {tmp}/paper.pdf", "is not a readable keytab"),
        ("timeline {clear} -o {tmp}", "cannot be written: it is a directory"),
        ("timeline {clear} -o {tmp}/no/such", "cannot be written: there is no directory"),
        ("show {clear} --call 9999", "there is no call 9999: the capture has 15 calls"),
        ("audit --list --select PCQ999", "there is no rule PCQ999"),
        ("audit --list --ignore PCQ999", "there is no rule PCQ999"),
        ("browse {clear}", "browse needs a terminal"),
        ("decode {tmp}", "cannot be read: Is a directory"),
        ("decode {tmp}/bad.json", "these 11 bytes look like no buffer of ours"),
        ("decode {tmp}/noise --at -1", "offset -1 is outside the 1245 bytes of"),
        ("decode {vectors}/ident_add_reply.bin --samples", "a buffer of kind identifiers holds no samples"),
        ("decode {clear} --at 0x7fffffff", "offset 2147483647 is outside the"),
        ("decode {tmp}/none", "cannot be read: No such file or directory"),
        ("decode {tmp}/empty", "is empty"),
        ("decode {clear}", "is larger than any buffer of ours (10 bytes)"),
        ("timeline {clear} --metadata {tmp}/none", "cannot be read: No such file or directory"),
        ("timeline {clear} --metadata {tmp}/braces.json", "no metadata file"),
        ("timeline {clear} --metadata {clear} --metadata-from 10.9.9.9", "no metadata file knows the server 10.9.9.9"),
        ("docs PCQ999", "there is no page, rule or attack of this name"),
        ("probe host -w {tmp}/w --triggered {tmp}/t --password-of me", "a password is needed"),
        (
            "probe host -w {tmp}/w --triggered {tmp}/t --password-of me --nt-hash 12",
            "an NT hash has 32 hexadecimal digits",
        ),
        ("verify {clear} {clear}", "does not say which captures it was made from"),
        ("verify {tmp}/none {clear}", "cannot be read"),
    ],
)
def test_unusable_input_is_1(
    words: str, sentence: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, data in GIVEN.items():
        (tmp_path / name).write_bytes(data)
    if sentence.endswith("(10 bytes)"):
        monkeypatch.setattr("analyzer.commands.decode.MAX_BUFFER_BYTES", 10)
    refused(list(words.format(clear=CLEAR, tmp=tmp_path, vectors=VECTORS).split()), capfd, UNUSABLE, sentence)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("timeline {case} {clear}", "a case is opened alone"),
        ("timeline {case} --redact", "a case is not redacted"),
        ("timeline {case} --read-frames 5", "is a case, and is read as a whole"),
        ("timeline {case} --names-from now", "is a case, and has all names; leave --names-from out"),
        ("export {case} --slice {tmp}/s", "is a case, and a slice is of captured packets"),
    ],
)
def test_what_a_case_cannot_give(
    words: str, sentence: str, case: Path, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    refused(list(words.format(clear=CLEAR, tmp=tmp_path, case=case).split()), capfd, UNUSABLE, sentence)


@pytest.mark.parametrize(
    ("manifest", "sentence"),
    [
        ({"version": 999, "program": "9.0"}, "is a case of version 999, saved by pcq-analyzer 9.0"),
        ({"version": "1"}, "is no case"),
        ({"format": "other"}, "is no case"),
        ({"format": "pcq-dataset"}, "is a dataset of collect"),
    ],
)
def test_a_case_of_a_later_version_names_its_program(
    manifest: dict[str, object], sentence: str, case: Path, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    changed = tmp_path / "changed.pcq"
    with zipfile.ZipFile(case) as archive, zipfile.ZipFile(changed, "w") as out:
        for info in archive.infolist():
            data = archive.read(info)
            if info.filename == "manifest.json":
                data = json.dumps(json.loads(data) | manifest).encode()
            out.writestr(info, data)
    refused(["timeline", changed], capfd, UNUSABLE, sentence)


def test_a_selection_of_no_call_writes_nothing(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = ["export", CLEAR, "--pcapng", tmp_path / "out", "--filter", "opnum == 999"]
    refused(words, capfd, NOTHING, "no call is selected: nothing is written")
    assert list(tmp_path.iterdir()) == []


def test_a_selection_of_no_call_says_which_keys_may_find_some(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    words = ["export", PCQ, "--pcapng", tmp_path / "out", "--follow-handle", "q2"]
    refused(words, capfd, NOTHING, "to decrypt what is sealed, give the password or NT hash")


def test_what_a_slice_says_of_keys_it_was_given(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    account = f"{USER['domain']}\\{USER['username']}"
    words = ["export", PCQ, "--secrets", SECRETS, "--slice", tmp_path / "out"]
    refused([*words, "--dsb", "nobody"], capfd, USAGE, f"no key of nobody is given; there are keys of: {account}")
    capfd.readouterr()
    assert guarded([str(word) for word in (*words, "--dsb", account)]) == 0
    warning, *_ = capfd.readouterr().err.splitlines()
    assert warning.startswith(f"warning: the slice will hold the keys of {account};")
    assert (tmp_path / "out").stat().st_mode & 0o77 == 0


def test_a_password_is_read_from_standard_input_where_there_is_one(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["sessions", PCQ, "--password", "-", "--format", "jsonl"]
    monkeypatch.setattr(sys, "stdin", None)
    refused(words, capfd, UNUSABLE, "there is no standard input to read the password from")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(USER["password"].encode() + b"\r\n")))
    assert guarded([str(word) for word in words]) == 0
    assert '"decryption":"decrypted"' in capfd.readouterr().out


def test_a_guess_of_what_a_buffer_is_says_why(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    from tests.build.buffers import Block, perf_data

    path = tmp_path / "buffer"
    path.write_bytes(perf_data([Block(0, status=5)]))
    assert guarded(["decode", str(path), "--format", "jsonl"]) == 0
    assert capfd.readouterr().err.startswith("taken for perf-data (")
    path.write_text(path.read_bytes().hex())
    assert guarded(["decode", str(path)]) == 0
    assert "read as a hex dump of 64 bytes" in capfd.readouterr().err
    assert guarded(["decode", str(path), "--redact"]) == 0


@pytest.mark.parametrize(
    ("module", "words", "sentence"),
    [
        ("analyzer.screens.browse.app", "browse {clear}", "browse needs Textual\n  pip install 'pcq-analyzer[browse]'"),
        (
            "analyzer.collect.cluster",
            "collect {clear} -o {tmp}/out --scheduler tls://127.0.0.1:1",
            "--scheduler needs Dask\n  pip install 'pcq-analyzer[cluster]'",
        ),
    ],
)
def test_a_package_that_is_missing_is_named(
    module: str,
    words: str,
    sentence: str,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setattr("analyzer.commands.browse.is_terminal", lambda: True)
    monkeypatch.setitem(sys.modules, module, None)
    refused(list(words.format(clear=CLEAR, tmp=tmp_path).split()), capfd, UNUSABLE, sentence)


def test_what_needs_a_terminal_reads_no_capture_from_standard_input(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("analyzer.commands.browse.is_terminal", lambda: True)
    refused(["browse", "-"], capfd, UNUSABLE, "browse reads its keys from standard input, so no capture can come from")


def test_a_metadata_file_has_a_limit(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "metadata.json"
    assert guarded(["export-metadata", str(CLEAR), "-o", str(path)]) == 0
    assert guarded(["timeline", str(CLEAR), "--metadata", str(path)]) == 0
    monkeypatch.setattr("analyzer.pipeline.loaded_metadata.MAX_FILE_BYTES", 10)
    refused(["timeline", CLEAR, "--metadata", path], capfd, UNUSABLE, "is larger than any metadata file (10 bytes)")
