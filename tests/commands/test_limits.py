"""The limits of what is held can be set, and say so when they are hit."""

from __future__ import annotations

import json

from tests.commands.test_commands import here
from tests.truth import CAPTURES

NAME = "pcq_smbd_scapy_impacket_smb311_ntlm_privacy"


def records(*options: str) -> list[dict[str, object]]:
    path, secrets = CAPTURES / f"{NAME}.pcap", CAPTURES / f"{NAME}.secrets.json"
    ran = here("timeline", path, "--secrets", secrets, "--format", "jsonl", *options)
    assert ran.returncode == 0, ran.stderr
    return [json.loads(line) for line in ran.stdout.splitlines()]


def test_a_stub_beyond_the_limit_is_partial_and_named() -> None:
    found = records("--max-stub", "1000")
    partial = [record for record in found if record["record"] == "call" and record["state"] == "partial"]
    limits = [record for record in found if record["record"] == "problem" and record["kind"] == "limit"]
    assert partial
    assert len(partial) == len(limits)
    assert all("larger than the limit of 1000 bytes" in str(record["reason"]) for record in partial)
    assert not [record for record in records() if record["record"] == "problem" and record["kind"] == "limit"]


def test_nothing_held_and_one_connection_are_enough_for_an_orderly_capture() -> None:
    assert records("--max-held", "1", "--max-connections", "1") == records()
