"""`diff` as it is called: two sides, their exit code, their forms."""

import re
from pathlib import Path

import pytest

from tests.collect.sets import frames_of, put
from tests.commands.test_all_commands import CAPTURES, PCQ, SECRETS, records, run
from tests.commands.test_redact import names_of
from tests.truth import Capture, handful

OTHER = CAPTURES / "pcq_smbd_scapy_sambalib_smb311_spnego_seal.pcap"
KEYS = ["--secrets", SECRETS, "--secrets", OTHER.with_name(f"{OTHER.stem}.secrets.json")]
# Not all of it can be read, so what was lost is not known to be equal; or nothing at all.
ENDS = {"n_v1_midstream.pcap": 12, "n_v1_snap160.pcap": 3}


@pytest.mark.parametrize("capture", handful(), ids=lambda capture: capture.file)
def test_a_capture_is_equal_to_itself(capture: Capture) -> None:
    result = run("diff", capture.path, capture.path, "--secrets", capture.secrets_path, "--format", "jsonl")
    found = records(result.stdout)
    assert {one["record"] for one in found} <= {"not-compared", "diff-summary"}
    assert result.exit_code == ENDS.get(capture.file, 0)
    assert found[-1]["differences"] == {}


@pytest.mark.parametrize("form", ["text", "jsonl"])
def test_redacted_it_names_nobody(form: str) -> None:
    result = run("diff", PCQ, OTHER, *KEYS, "--redact", "--format", form)
    assert result.exit_code == 10
    words = {word.casefold() for word in re.findall(r"[\w-]+", result.stdout)}
    names = {name for name in names_of(PCQ.name) if not name.isascii() or not re.fullmatch(r"[\d.:]+", name)}
    assert words.isdisjoint(names - {"text", "flags"}), words & names


def test_a_pipe_of_which_no_name_was_captured_is_told_as_that(tmp_path: Path) -> None:
    """A capture that begins within a conversation does not show that the pipe has no name."""
    whole = CAPTURES / "v1_samba_impacket_smb311_noauth.pcap"
    link_type, frames = frames_of(whole)
    late = put(tmp_path / "late.pcap", frames[len(frames) * 2 // 5 :], link_type)
    found = records(run("diff", late, whole, "--format", "jsonl").stdout)
    (changed,) = (one for one in found if one.get("about") == "conversation" and one["kind"] == "changed")
    properties = changed["properties"]
    assert isinstance(properties, list)
    assert [one for one in properties if one["name"] == "pipe"] == [
        {"name": "pipe", "a": "not captured", "b": "winreg"}
    ]
