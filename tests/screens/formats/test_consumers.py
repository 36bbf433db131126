"""`--format timesketch`, `ecs` and `zeek`: what the consumers' own code and schema say of it, and that nothing is lost."""

from datetime import datetime
from functools import cache
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest

from analyzer.results.records.record_types import Endpoint
from analyzer.screens.formats.ecs import community_id
from analyzer.screens.formats.zeek import _written
from tests import truth
from tests.commands.test_all_commands import CLEAR, here, records, run
from tests.consumers import ecs_fields, read_by_timesketch, read_by_zat

FILES = [
    "pcq_smbd_scapy_impacket_smb311_ntlm_privacy_ipv6.pcap",
    "v1_samba_sambapy_krb5sha384_krb5_seal.pcap",
    "n_v1_midstream.pcap",
]
COMMANDS = {"timeline": "call", "sessions": "session", "audit": "finding"}
CAPTURES = {capture.file: capture for capture in truth.captures()}
every = pytest.mark.parametrize("command", COMMANDS)


def written(command: str, file: str, form: str, folder: Path) -> Path:
    capture, path = CAPTURES[file], folder / form
    run(command, capture.path, "--secrets", capture.secrets_path, "--format", form, "-o", path)
    return path


def written_of_all(command: str, form: str, folder: Path) -> list[Path]:
    """What the command writes of each of the files."""
    return [written(command, file, form, folder).rename(folder / file) for file in FILES]


@cache
def ours(command: str, file: str) -> list[dict[str, Any]]:
    capture = CAPTURES[file]
    lines = records(run(command, capture.path, "--secrets", capture.secrets_path, "--format", "jsonl").stdout)
    return [record for record in lines if record["record"] == COMMANDS[command]]


@pytest.mark.needs("pip")
@every
def test_timesketch_takes_every_line(command: str, tmp_path: Path) -> None:
    for file, events in zip(FILES, read_by_timesketch(written_of_all(command, "timesketch", tmp_path)), strict=True):
        expected = ours(command, file)
        if command == "sessions":
            times = [time for one in expected for time in sorted({one["first_time_ns"], one["last_time_ns"]})]
            assert [event["timestamp"] for event in events] == [time // 1000 for time in times]
            assert {event["timestamp_desc"] for event in events} <= {"Start Time", "End Time"}
            continue
        assert len(events) == len(expected)
        for event, record in zip(events, expected, strict=True):
            moment = datetime.fromisoformat(event["datetime"])
            assert event["timestamp"] == int(moment.timestamp()) * 1_000_000 + moment.microsecond
            assert event["data_type"] == f"pcq:{COMMANDS[command]}"
            if command == "timeline":
                assert (event["timestamp"], event["number"]) == (record["time_ns"] // 1000, record["number"])
                assert event["dst_ip"] == record["server"]["ip"]
                assert event.get("status") == record["status"]
            else:
                assert record["message"] in event["message"]
                assert event["rule"] == record["rule"]


def leaves(value: Any, path: str = "") -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        return [leaf for name, one in value.items() for leaf in leaves(one, f"{path}.{name}" if path else name)]
    return [(path, value)]


KINDS = {"keyword": str, "match_only_text": str, "long": int, "constant_keyword": str}


@pytest.mark.needs("npm", "node")
@every
def test_documents_keep_to_the_elastic_common_schema(command: str, tmp_path: Path) -> None:
    fields = ecs_fields()
    for file in FILES:
        documents = records(written(command, file, "ecs", tmp_path).read_text())
        (tmp_path / "ecs").unlink()
        assert len(documents) == len(ours(command, file))
        for document in documents:
            for name, value in leaves(document):
                if not name.startswith("pcq."):
                    check(name, value, fields[name])
            event = document["event"]
            assert isinstance(event, dict)
            categories = {one["name"]: one for one in fields["event.category"]["allowed_values"]}
            for kind in event["type"]:
                assert any(kind in categories[one]["expected_event_types"] for one in event["category"]), kind


def check(name: str, value: Any, field: dict[str, Any]) -> None:
    assert isinstance(value, list) == ("array" in field["normalize"]), name
    allowed = {one["name"] for one in field.get("allowed_values", ())}
    for one in value if isinstance(value, list) else [value]:
        assert one is not None, name
        if field["type"] == "ip":
            ip_address(one)
        elif field["type"] == "date":
            datetime.fromisoformat(one)
        else:
            assert type(one) is KINDS[field["type"]], (name, one)
            assert field["type"] != "keyword" or len(one) <= field.get("ignore_above", 1024), name
        assert not allowed or one in allowed, (name, one)


@pytest.mark.needs("pip")
@every
def test_logs_are_read_by_tools_for_zeek(command: str, tmp_path: Path) -> None:
    for file, read in zip(FILES, read_by_zat(written_of_all(command, "zeek", tmp_path)), strict=True):
        expected = ours(command, file)
        begins = ["ts", "uid", "id.orig_h", "id.orig_p", "id.resp_h", "id.resp_p"]
        assert list(read["types"])[:6] == begins
        assert len(read["rows"]) == len(expected)
        for row, record in zip(read["rows"], expected, strict=True):
            if record["server"] is not None:
                assert (row["id.resp_h"], row["id.resp_p"]) == (record["server"]["ip"], record["server"]["port"])
            if command == "timeline":
                assert row["call"] == record["number"]
                assert row["operation"] == (record["method"] or "-")
            elif command == "audit":
                assert row["note"] == f"PCQ::{record['rule']}"


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("string", None, "-"),
        ("string", "", "(empty)"),
        ("string", "-", r"\x2d"),
        ("string", "(empty)", r"\x28empty)"),
        ("string", "#close", r"\x23close"),
        ("string", "a\tb\nc\\d", r"a\x09b\x0ac\\d"),
        ("string", "Prozessor Grüße", "Prozessor Grüße"),
        ("string", "\ud800", r"\xed\xa0\x80"),
        ("vector[string]", ("a,b", "c"), r"a\x2cb,c"),
        ("vector[string]", (), "(empty)"),
        ("interval", 1_500_000, "0.001500"),
        ("interval", -1_500_000_000, "-1.500000"),
        ("bool", False, "F"),
        ("count", 0, "0"),
    ],
)
def test_values_are_written_as_zeek_writes_them(kind: str, value: object, text: str) -> None:
    assert _written(kind, value) == text


def test_community_ids_are_those_of_the_specification() -> None:
    # The baseline of the specification's own tests: its one TCP flow in both directions.
    one, other = Endpoint("128.232.110.120", 34855), Endpoint("66.35.250.204", 80)
    assert community_id(one, other) == community_id(other, one) == "1:LQU9qZlK+B5F3KDmev6m5PMibrg="


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("timeline", CLEAR, "--format", "zeek", "--hash"), "no place for it"),
        (("audit", "--list", "--format", "ecs"), "is for findings"),
        (("samples", CLEAR, "--format", "zeek"), "zeek"),
    ],
)
def test_what_they_cannot_hold_is_refused(arguments: tuple[object, ...], sentence: str) -> None:
    ran = here(*arguments)
    assert ran.returncode == 2
    assert sentence in " ".join(ran.stderr.decode().split())
    assert ran.stdout == b""
