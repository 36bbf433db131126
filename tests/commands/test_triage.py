"""`pcq triage` as responders meet it: one line for files that hold nothing, ranked findings for the others, exit codes."""

import json
import shlex
from hashlib import sha256
from pathlib import Path

import pytest

from analyzer import analyze
from analyzer.auth.ntlm_keys import nt_hash
from analyzer.capture import file_digest
from analyzer.pipeline.digest_verification import stated_by
from analyzer.results.analysis import FileDigest
from tests.commands.test_all_commands import CAPTURES, CLEAR, PCQ, run
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
        ((NTLM,), ("--secrets", NTLM_KEYS), ""),
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
            assert set(finding["call_numbers"]) <= numbers, command


def test_a_command_printed_in_a_notebook_names_the_keys() -> None:
    from_file = analyze(NTLM, NTLM_KEYS).triage["command"].to_list()
    assert all(f"--secrets {NTLM_KEYS}" in command for command in from_file)
    from_memory = analyze(NTLM, json.loads(NTLM_KEYS.read_text())).triage["command"].to_list()
    assert all("--secrets SECRETS_FILE" in command for command in from_memory)


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
    real = file_digest.digest_of

    def hashed(path: Path) -> FileDigest:
        again.append(path)
        return real(path)

    monkeypatch.setattr(file_digest, "digest_of", hashed)
    for form in ("text", "jsonl", "json", "csv"):
        again.clear()
        path = tmp_path / f"result.{form}"
        assert run("triage", *files, "--hash", "--format", form, "-o", path).exit_code in (6, 10, 11)
        # What could be read was hashed by reading it.
        assert again == [broken]
        found = [(one.name, one.sha256) for one in stated_by(path)[0]]
        assert found == [(str(one), sha256(one.read_bytes()).hexdigest()) for one in files]
