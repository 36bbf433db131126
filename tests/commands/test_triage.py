"""`pcq triage` as responders meet it: one line for files that hold nothing, ranked findings for the others, exit codes."""

from __future__ import annotations

import json
import shlex
from hashlib import sha256
from pathlib import Path

import pytest
from msgspec.structs import replace

from analyzer import analyze
from analyzer.auth.ntlm import nt_hash
from analyzer.capture import digest
from analyzer.pipeline.verify import stated_by
from analyzer.results.evidence import FileDigest
from tests.build.buffers import identifier, perf_data, wide
from tests.build.calls import COUNTERSET, Calls, winreg, write_capture
from tests.build.rpc import CHANNEL
from tests.commands.test_commands import CAPTURES, CLEAR, PCQ, here, run
from tests.corpus import CORPUS
from tests.test_corpus import XP

TWO = CAPTURES / "pcq_smbd_scapy_impacket_smb311_ntlm_privacy_2clients.pcap"
TWO_KEYS = TWO.with_suffix(".secrets.json")


def triaged(*arguments: object) -> tuple[int, list[dict[str, object]]]:
    result = run("triage", *arguments, "--format", "jsonl")
    return result.exit_code, [json.loads(line) for line in result.stdout.splitlines()]


def of(records: list[dict[str, object]], kind: str) -> list[dict[str, object]]:
    return [record for record in records if record["record"] == kind]


NTLM = CAPTURES / "v1_samba_impacket_smb311_ntlm_privacy.pcap"
NTLM_KEYS = NTLM.with_suffix(".secrets.json")
(_USER,) = json.loads(NTLM_KEYS.read_text())["users"]
_ACCOUNT = f"{_USER['domain']}\\{_USER['username']}"


@pytest.mark.parametrize(
    ("files", "options", "typed"),
    [
        ((PCQ, CLEAR), (), ""),
        ((TWO,), ("--secrets", TWO_KEYS), ""),
        ((TWO,), ("--secrets", TWO_KEYS, "-Y", "opnum == 6 || opnum == 2", "--user", "LAB\\monitor2"), ""),
        ((NTLM,), ("--password", _USER["password"]), _USER["password"]),
        ((NTLM,), ("--password-of", _ACCOUNT, "--password", _USER["password"]), _USER["password"]),
        ((NTLM,), ("--nt-hash", nt_hash(_USER["password"]).hex()), nt_hash(_USER["password"]).hex()),
        ((CAPTURES / "v1_samba_impacket*ntlm*.pcap",), ("--secrets", NTLM_KEYS, "--interface", "winreg"), ""),
    ],
    # Names of tests are printed, and secrets are not.
    ids=["without keys", "file", "file and filter", "password", "password of", "hash", "glob"],
)
def test_each_command_that_is_printed_works_where_it_is_pasted(
    files: tuple[Path, ...], options: tuple[str | Path, ...], typed: str
) -> None:
    """It reads with the same keys, shows the same calls, and holds no secret."""
    _, records = triaged(*files, *options)
    found = of(records, "triage-finding")
    assert found
    for finding in found:
        command = str(finding["command"])
        if typed:
            assert typed not in command
        program, *words = shlex.split(command)
        assert program == "pcq-analyzer"
        result = run(*words, "--format", "jsonl", stdin=f"{typed}\n".encode() if typed else None)
        assert result.exit_code == 0, (command, result.output)
        shown = [json.loads(line) for line in result.stdout.splitlines()]
        if options:
            assert not [one for one in shown if one.get("state") == "sealed"], command
        if words[0] == "timeline" and "--tail" not in words:
            numbers = {one["number"] for one in shown if one["record"] == "call"}
            assert set(finding["call_numbers"]) <= numbers, command  # type: ignore[call-overload]


def test_a_command_printed_in_a_notebook_names_the_keys() -> None:
    from_file = analyze(NTLM, NTLM_KEYS).triage["command"].to_list()
    assert all(f"--secrets {NTLM_KEYS}" in command for command in from_file)
    from_memory = analyze(NTLM, json.loads(NTLM_KEYS.read_text())).triage["command"].to_list()
    assert all("--secrets SECRETS_FILE" in command for command in from_memory)


@pytest.mark.parametrize(
    ("status", "words", "code"),
    [
        (
            5,
            "asked for the process list of SRV1 (10.0.0.1): Process, and was refused: ERROR_ACCESS_DENIED, in 2 calls",
            10,
        ),
        (
            8,
            "asked for the process list of SRV1 (10.0.0.1): Process, and read nothing: too small a buffer, in 2 calls",
            10,
        ),
        (0, "asked for the process list of SRV1 (10.0.0.1): Process, and read nothing: empty answer, in 2 calls", 10),
    ],
)
def test_a_process_list_that_was_not_given_was_asked_for(status: int, words: str, code: int, tmp_path: Path) -> None:
    make = Calls()
    asked = make.stub().string("\\\\SRV1").uuid(COUNTERSET).uint(4096)
    events = [
        make.registration(9, wide("Process")),
        make.exchange(2, asked, make.sized(b"", status, needed=4096 if status else 0)),
        make.open_query(),
        make.validate(identifier(COUNTERSET, counter=1, name="a")),
        make.counter_data(perf_data([]) if status == 0 else b"", status=status, needed=4096),
    ]
    path = write_capture(tmp_path / "made.pcapng", *events)
    exit_code, records = triaged(path)
    texts = [str(one["text"]) for one in of(records, "triage-finding")]
    assert f"an unknown user from 10.0.0.2 {words}" in texts
    assert not [text for text in texts if " read the " in text]
    assert (exit_code, of(records, "triage-process"), records[-1]["process_lists"]) == (code, [], [])
    assert f"an unknown user from 10.0.0.2 {words}" in " ".join(run("triage", path, "-v").stdout.split())
    stats = run("stats", path).stdout
    assert "asked for the instances of Process" in stats
    assert "polled" not in stats
    analysis = analyze(path)
    assert f"an unknown user from 10.0.0.2 {words}" in analysis.triage["text"].to_list()


def test_a_capture_of_refusals_reads_nothing(tmp_path: Path) -> None:
    """All answers are ERROR_ACCESS_DENIED, of both interfaces."""
    make, registry = Calls(), winreg(channel=replace(CHANNEL, number=1), first_frame=40)
    calls = [
        make.exchange(0, make.stub().string("\\\\S").uint(256), make.sized(b"", 5, element=16, room=256)),
        make.registration(9, b"", status=5),
        make.exchange(2, make.stub().string("\\\\S").uuid(COUNTERSET).uint(4096), make.sized(b"", 5)),
        make.open_query(status=5),
        registry.open_key(),
        registry.query_value("230", None, status=5),
        registry.query_value("Counter 009", None, status=5),
    ]
    exit_code, records = triaged(write_capture(tmp_path / "denied.pcapng", *calls))
    found = {(str(one["kind"]), str(one["severity"])) for one in of(records, "triage-finding")}
    assert found == {("refused-call", "medium"), ("attempt", "medium"), ("attempt", "info")}
    assert exit_code == 10


@pytest.mark.corpus
def test_the_conversation_of_windows_xp_names_account_host_time_and_processes() -> None:
    path = CORPUS / XP
    code, records = triaged(path)
    assert code == 11
    first = of(records, "triage-finding")[0]
    assert (first["kind"], first["severity"]) == ("process-list", "high")
    assert "NONE-B91CFA7B93\\whitecell" in str(first["text"])
    assert "27 processes" in str(first["text"])
    assert first["who"] == {
        "user": "NONE-B91CFA7B93\\whitecell",
        "client_ip": "192.168.202.115",
        "server_ip": "192.168.24.100",
        "claimed_user": None,
        "later_user": None,
    }
    processes = of(records, "triage-process")
    assert len(processes) == 27
    assert {process["server_name"] for process in processes} == {"NONE-B91CFA7B93"}
    assert {process["pid"]: process["name"] for process in processes}[760] == "lsass"
    text = run("triage", path, "-v").stdout
    assert "2012-03-16T14:38:19Z" in text
    assert "qyFQReH" in text
    assert 'created the service "PSEXESVC"' in text


def test_what_triage_was_made_from_is_found_out_while_it_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "broken.pcap"
    broken.write_bytes(b"no capture")
    files = [CLEAR, PCQ, broken]
    again: list[Path] = []
    real = digest.digest_of

    def hashed(path: Path) -> FileDigest:
        again.append(path)
        return real(path)

    monkeypatch.setattr(digest, "digest_of", hashed)
    for form in ("text", "jsonl", "json", "csv"):
        again.clear()
        path = tmp_path / f"result.{form}"
        assert run("triage", *files, "--hash", "--format", form, "-o", path).exit_code in (6, 10, 11)
        # What could be read was hashed by reading it.
        assert again == [broken]
        found = [(one.name, one.sha256) for one in stated_by(path)[0]]
        assert found == [(str(one), sha256(one.read_bytes()).hexdigest()) for one in files]


def test_files_without_a_command_are_triaged(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    both, alone = here("triage", CLEAR, PCQ), here(CLEAR, PCQ)
    assert (alone.returncode, alone.stdout) == (both.returncode, both.stdout)
    by_r = here("-r", CLEAR, PCQ)
    assert (by_r.returncode, by_r.stdout) == (both.returncode, both.stdout)
    one = here("triage", CLEAR).stdout
    assert here(CAPTURES / "v1_samba_impacket_smb311_noa*.pcap").stdout == one
    # A file that is called like a command is named by its path.
    monkeypatch.chdir(tmp_path)
    Path("stats").write_bytes(CLEAR.read_bytes())
    assert b"name a capture" in here("stats").stderr
    assert here("./stats").stdout == one.replace(str(CLEAR).encode(), b"stats")
    assert b"No such command" in here("triagee").stderr


def test_triage_of_files_is_that_of_each_and_the_same_every_time() -> None:
    for form in ("jsonl", "text"):
        alone = [run("triage", one, "--format", form).stdout for one in (CLEAR, PCQ)]
        both = run("triage", CLEAR, PCQ, "--format", form).stdout
        assert both == run("triage", CLEAR, PCQ, "--format", form).stdout
        bodies = [text.rsplit("\n", 2)[0] if form == "jsonl" else text.rstrip() for text in alone]
        assert both.startswith(bodies[0])
        assert bodies[1] in both
