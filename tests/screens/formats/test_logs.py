"""Whole lines of `--format zeek`, `ecs` and `timesketch`, of entries written by hand."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from msgspec.structs import replace

from analyzer.results.record import Endpoint
from analyzer.screens.formats.ecs import ecs_lines
from analyzer.screens.formats.timesketch import timesketch_lines
from analyzer.screens.formats.zeek import _written, zeek_lines
from analyzer.screens.views.entries import Entry, EntryKind

# 2025-11-20 12:34:56.789012345 UTC.
THEN = 1_763_642_096_789_012_345
CLIENT, SERVER = Endpoint("10.0.0.2", 49152), Endpoint("10.0.0.1", 445)
CALL = Entry(
    kind="call",
    time_ns=THEN,
    end_ns=THEN + 1_500_000,
    client=CLIENT,
    server=SERVER,
    user="LAB\\perfmon",
    ending="failure",
    message="what happened",
    files=("a.pcap", "b.pcap"),
    record={
        "record": "call",
        "number": 7,
        "time": "left out",
        "time_ns": THEN,
        "client": "left out",
        "server": "left out",
        "transport": "ncacn_np",
        "pipe": "winreg",
        "smb": {"encrypted": True, "dialect": None},
        "auth": {"type": "ntlm", "level": "privacy"},
        "interface": {"uuid": "da5a86c5", "name": "PerflibV2"},
        "method": "PerflibV2QueryCounterData",
        "opnum": 6,
        "call_id": 3,
        "state": "complete",
        "reason": "r" * 1030,
        "status": 5,
        "status_name": "ERROR_ACCESS_DENIED",
        "fault_name": None,
        "latency_ns": 1_500_000,
        "handle": "q1",
        "asked": "64 bytes",
        "answered": None,
    },
)
SESSION = replace(
    CALL,
    kind="session",
    end_ns=THEN + 2_000_000_000,
    user="perfmon@LAB.TEST",
    ending="success",
    record={
        "record": "session",
        "session_id": "0x1d",
        "dialect": "3.1.1",
        "granted": "account",
        "mechanism": "kerberos",
        "workstation": None,
        "server_name": "SRV1",
        "server_dns_name": "",
        "service": "cifs/srv1",
        "cipher": "AES-128-GCM",
        "signing": None,
        "decryption": "decrypted",
        "trees": ["\\\\SRV1\\IPC$", "a,b"],
        "pipes": [],
    },
)
FINDING = replace(
    CALL,
    kind="finding",
    end_ns=None,
    user=None,
    ending="unknown",
    record={
        "record": "finding",
        "rule": "PCQ101",
        "name": "request-below-privacy",
        "level": "security",
        "severity": "warning",
        "verdict": "fail",
        "confidence": "high",
        "requirement": ["PCQ-1", "PCQ-2"],
        "actor": "client",
        "call": 7,
        "field": None,
        "frames": [3, 4],
        "message": "left out",
    },
)


def uid(client: Endpoint, server: Endpoint) -> str:
    """`C` and 96 bits and more to base 62, the lowest digit first, as Zeek's are."""
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    number = int(hashlib.sha256(f"{client} {server}".encode()).hexdigest()[:26], 16)
    return "C" + "".join(digits[number // 62**place % 62] for place in range(17))


def logged(entry: Entry) -> list[str]:
    """The cells of the one line of an entry."""
    lines = list(zeek_lines(entry.kind, [entry], THEN, THEN + 61_000_000_000))
    assert len(lines) == 10
    assert [line.split(b"\t")[0] for line in lines[:8]] == (
        [
            b"#separator \\x09\n",
            b"#set_separator",
            b"#empty_field",
            b"#unset_field",
            b"#path",
            b"#open",
            b"#fields",
            b"#types",
        ]
    )
    assert lines[5] == b"#open\t2025-11-20-12-34-56\n"
    assert lines[9] == b"#close\t2025-11-20-12-35-57\n"
    fields, types, cells = (line.decode().removesuffix("\n").split("\t") for line in lines[6:9])
    assert len(fields) - 1 == len(types) - 1 == len(cells)
    return cells


FIRST = ["1763642096.789012", uid(CLIENT, SERVER), "10.0.0.2", "49152", "10.0.0.1", "445"]


@pytest.mark.parametrize(
    ("entry", "cells"),
    [
        (
            CALL,
            [
                "0.001500",
                "\\\\PIPE\\\\winreg",
                "PerflibV2",
                "PerflibV2QueryCounterData",
                "7",
                "3",
                "6",
                "LAB\\\\perfmon",
                "-",
                "ntlm",
                "privacy",
                "T",
                "complete",
                "r" * 1030,
                "5",
                "ERROR_ACCESS_DENIED",
                "-",
                "q1",
                "64 bytes",
                "-",
            ],
        ),
        (
            SESSION,
            [
                "2.000000",
                "perfmon@LAB.TEST",
                "-",
                "account",
                "T",
                "0x1d",
                "3.1.1",
                "kerberos",
                "-",
                "SRV1",
                "(empty)",
                "cifs/srv1",
                "AES-128-GCM",
                "-",
                "decrypted",
                r"\\\\SRV1\\IPC$,a\x2cb",
                "(empty)",
            ],
        ),
        (
            FINDING,
            [
                "tcp",
                "PCQ::PCQ101",
                "what happened",
                "request-below-privacy",
                "10.0.0.2",
                "10.0.0.1",
                "445",
                "warning",
                "fail",
                "high",
                "PCQ-1,PCQ-2",
                "client",
                "7",
                "-",
                "3,4",
            ],
        ),
    ],
    ids=lambda value: value.kind if isinstance(value, Entry) else "",
)
def test_a_line_of_a_log_of_zeek(entry: Entry, cells: list[str]) -> None:
    assert logged(entry) == [*FIRST, *cells]


@pytest.mark.parametrize(
    ("kind", "path", "types"),
    [
        (
            "call",
            "dce_rpc",
            (
                "interval string string string count count count string string string string bool string string count string string"
                " string string string"
            ),
        ),
        (
            "session",
            "smb_session",
            (
                "interval string string string bool string string string string string string string string string string"
                " vector[string] vector[string]"
            ),
        ),
        (
            "finding",
            "notice",
            (
                "enum enum string string addr addr port string string string vector[string] string count string"
                " vector[count]"
            ),
        ),
    ],
)
def test_a_log_of_nothing_names_its_columns(kind: EntryKind, path: str, types: str) -> None:
    lines = [line.decode() for line in zeek_lines(kind, [], None, None)]
    assert lines[4:6] == [f"#path\t{path}\n", "#open\t1970-01-01-00-00-00\n"]
    assert lines[6].startswith("#fields\tts\tuid\tid.orig_h\tid.orig_p\tid.resp_h\tid.resp_p\t")
    assert lines[7].split() == ["#types", "time", "string", "addr", "port", "addr", "port", *types.split()]
    assert lines[8:] == ["#close\t1970-01-01-00-00-00\n"]


def with_record(entry: Entry, **changes: Any) -> Entry:
    return replace(entry, record=entry.record | changes)


@pytest.mark.parametrize(
    ("changes", "pipe", "endpoint"),
    [
        ({"pipe": None}, "-", "PerflibV2"),
        ({"transport": "ncacn_ip_tcp", "pipe": None}, "445", "PerflibV2"),
        ({"interface": {"uuid": "da5a86c5", "name": None}}, r"\\PIPE\\winreg", "unknown-da5a86c5"),
        ({"interface": {"uuid": None, "name": None}}, r"\\PIPE\\winreg", "-"),
    ],
)
def test_a_pipe_and_an_interface_may_have_no_name(changes: dict[str, Any], pipe: str, endpoint: str) -> None:
    assert logged(with_record(CALL, **changes))[7:9] == [pipe, endpoint]


def test_who_is_not_known_has_no_column() -> None:
    """What is about no call has no ends, and a session that did not end has lasted no time."""
    bare = replace(FINDING, client=None, server=None)
    assert logged(bare)[:6] == ["1763642096.789012", "-", "-", "-", "-", "-"]
    assert [logged(bare)[number] for number in (6, 10, 11, 12)] == ["-", "-", "-", "-"]
    for known in ({"client": None}, {"server": None}):
        assert logged(replace(FINDING, **known))[1] == "-"
    over_tcp = with_record(replace(CALL, server=None), transport="ncacn_ip_tcp")
    assert logged(over_tcp)[7] == "-"
    assert logged(replace(SESSION, end_ns=None))[6] == "0.000000"
    assert [logged(replace(SESSION, ending=how))[10] for how in ("success", "failure", "unknown")] == ["T", "F", "-"]


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0.000000"),
        (999, "0.000000"),
        (1000, "0.000001"),
        (999_999_999, "0.999999"),
        (1_000_000_000, "1.000000"),
        (THEN, "1763642096.789012"),
        (-1_000, "-0.000001"),
    ],
)
def test_times_have_microseconds(ns: int, text: str) -> None:
    assert _written("time", ns) == _written("interval", ns) == text


# --------------------------------------------------------------------------------------------------------- ecs


def document_of(entry: Entry) -> dict[str, Any]:
    (line,) = ecs_lines([entry])
    found: dict[str, Any] = json.loads(line)
    return found


CLIENT_FIELDS = {"address": "10.0.0.2", "ip": "10.0.0.2", "port": 49152}
SERVER_FIELDS = {"address": "10.0.0.1", "ip": "10.0.0.1", "port": 445}


def test_a_call_as_a_document_of_the_elastic_common_schema() -> None:
    user = {"name": "perfmon", "domain": "LAB"}
    found = document_of(CALL)
    community_id = found["network"].pop("community_id")
    assert community_id.startswith("1:")
    kept = {"record", "time", "time_ns", "client", "server"}
    rest = {name: value for name, value in CALL.record.items() if name not in kept and value is not None}
    assert found == {
        "@timestamp": "2025-11-20T12:34:56.789012345Z",
        "ecs": {"version": "9.4.0"},
        "message": "what happened",
        "event": {
            "kind": "event",
            "category": ["network"],
            "type": ["denied"],
            "outcome": "failure",
            "module": "pcq",
            "dataset": "pcq.call",
            "start": "2025-11-20T12:34:56.789012345Z",
            "action": "PerflibV2QueryCounterData",
            "end": "2025-11-20T12:34:56.790512345Z",
            "duration": 1_500_000,
            "sequence": 7,
            "reason": "r" * 1024,
        },
        "observer": {"product": "pcq-analyzer", "type": "capture-analyzer"},
        "client": {**CLIENT_FIELDS, "user": user},
        "source": CLIENT_FIELDS,
        "server": SERVER_FIELDS,
        "destination": SERVER_FIELDS,
        "network": {"transport": "tcp", "type": "ipv4", "protocol": "dce_rpc", "application": "perflibv2"},
        "user": user,
        "related": {"ip": ["10.0.0.1", "10.0.0.2"], "user": ["LAB\\perfmon"]},
        "error": {"code": "ERROR_ACCESS_DENIED"},
        "pcq": {"call": rest | {"smb": {"encrypted": True}}, "files": ["a.pcap", "b.pcap"]},
    }


def test_a_session_as_a_document() -> None:
    found = document_of(SESSION)
    assert found["event"] == {
        "kind": "event",
        "category": ["authentication", "session"],
        "type": ["start"],
        "outcome": "success",
        "module": "pcq",
        "dataset": "pcq.session",
        "start": "2025-11-20T12:34:56.789012345Z",
        "action": "logon",
        "end": "2025-11-20T12:34:58.789012345Z",
        "duration": 2_000_000_000,
    }
    assert found["network"]["protocol"] == "smb"
    assert "application" not in found["network"]
    assert found["user"] == {"name": "perfmon", "domain": "LAB.TEST"}
    assert "error" not in found


def test_a_finding_as_a_document() -> None:
    found = document_of(FINDING)
    assert found["event"] == {
        "kind": "alert",
        "category": ["network"],
        "type": ["info", "protocol"],
        "outcome": "unknown",
        "module": "pcq",
        "dataset": "pcq.finding",
        "start": "2025-11-20T12:34:56.789012345Z",
        "action": "request-below-privacy",
        "code": "PCQ101",
        "severity": 47,
    }
    assert found["rule"] == (
        {"id": "PCQ101", "name": "request-below-privacy", "category": "security", "ruleset": "pcq-analyzer"}
    )
    assert found["network"]["protocol"] == "dce_rpc"
    assert "user" not in found["related"]
    assert "message" not in found["pcq"]["finding"]
    for severity, number in (("error", 73), ("warning", 47), ("info", 21)):
        assert document_of(with_record(FINDING, severity=severity))["event"]["severity"] == number


def test_what_is_not_known_is_in_no_document() -> None:
    bare = document_of(replace(FINDING, client=None, server=None))
    assert not {"client", "source", "server", "destination", "network", "user", "related"} & set(bare)
    half = document_of(replace(FINDING, client=None))
    assert half["related"] == {"ip": ["10.0.0.1"]}
    assert "network" not in half
    assert "network" not in document_of(replace(FINDING, server=None))
    alone = document_of(replace(CALL, client=None, user="perfmon"))
    assert alone["user"] == {"name": "perfmon"}
    assert "client" not in alone
    named = with_record(CALL, interface={"uuid": "da5a86c5", "name": None}, reason=None)
    assert "application" not in document_of(named)["network"]
    assert "reason" not in document_of(named)["event"]
    ipv6 = replace(CALL, client=Endpoint("fe80::2", 1), server=Endpoint("fe80::1", 2))
    assert document_of(ipv6)["network"]["type"] == "ipv6"


def test_a_duration_is_never_negative() -> None:
    """Clocks of several captures may disagree."""
    for end, duration in ((THEN - 1, None), (THEN, 0), (None, None)):
        event = document_of(replace(CALL, end_ns=end))["event"]
        assert event.get("duration") == duration
        assert ("end" in event) is (duration is not None)


@pytest.mark.parametrize(
    ("ending", "changes", "code", "kind"),
    [
        ("failure", {"status_name": "ERROR_MORE_DATA"}, "ERROR_MORE_DATA", ["access", "protocol"]),
        ("success", {"status_name": "ERROR_SUCCESS"}, None, ["access", "protocol"]),
        ("failure", {"status_name": None, "fault_name": "nca_s_unk_if"}, "nca_s_unk_if", ["access", "protocol"]),
        ("failure", {"status_name": None}, None, ["access", "protocol"]),
    ],
)
def test_a_failure_has_the_code_of_its_error(
    ending: Any, changes: dict[str, Any], code: str | None, kind: list[str]
) -> None:
    found = document_of(with_record(replace(CALL, ending=ending), **changes))
    assert found.get("error") == ({"code": code} if code is not None else None)
    assert found["event"]["type"] == kind


def test_long_names_are_cut_where_they_would_not_be_searched() -> None:
    """ignore_above of a keyword is 1,024 in the schema."""
    for length, kept in ((1024, 1024), (1025, 1024)):
        found = document_of(replace(CALL, user="d" * length + "\\" + "n" * length))
        assert (len(found["user"]["name"]), len(found["user"]["domain"])) == (kept, kept)
        assert len(found["related"]["user"][0]) == 1024


# --------------------------------------------------------------------------------------------------- timesketch


def lines_of(entry: Entry) -> list[dict[str, Any]]:
    return [json.loads(line) for line in timesketch_lines([entry])]


def test_a_call_as_a_line_for_timesketch() -> None:
    (found,) = lines_of(CALL)
    assert found == {
        "message": "what happened",
        "datetime": "2025-11-20T12:34:56.789012+00:00",
        "timestamp": 1_763_642_096_789_012,
        "timestamp_desc": "Recorded Time",
        "data_type": "pcq:call",
        "source_file": "a.pcap, b.pcap",
        "outcome": "failure",
        "src_ip": "10.0.0.2",
        "src_port": 49152,
        "dst_ip": "10.0.0.1",
        "dst_port": 445,
        "user": "LAB\\perfmon",
        "number": 7,
        "transport": "ncacn_np",
        "pipe": "winreg",
        "smb_encrypted": True,
        "auth_type": "ntlm",
        "auth_level": "privacy",
        "interface_uuid": "da5a86c5",
        "interface_name": "PerflibV2",
        "method": "PerflibV2QueryCounterData",
        "opnum": 6,
        "call_id": 3,
        "state": "complete",
        "reason": "r" * 1030,
        "status": 5,
        "status_name": "ERROR_ACCESS_DENIED",
        "latency_ns": 1_500_000,
        "handle": "q1",
        "asked": "64 bytes",
    }


def test_a_session_has_a_line_for_its_beginning_and_one_for_its_end() -> None:
    found = [(line["timestamp"], line["timestamp_desc"]) for line in lines_of(SESSION)]
    assert found == [(THEN // 1000, "Start Time"), (THEN // 1000 + 2_000_000, "End Time")]
    for end in (None, THEN, THEN - 1):
        assert [line["timestamp_desc"] for line in lines_of(replace(SESSION, end_ns=end))] == ["Start Time"]


def test_a_finding_is_of_the_time_it_was_recorded() -> None:
    """What is our own goes before what the record says, and `time` inside an object is no time of the entry."""
    nested = with_record(FINDING, user="another", tag=["a"], at={"time": 5, "tag": 6})
    (found,) = lines_of(replace(nested, client=None, user="LAB\\perfmon"))
    assert (found["timestamp_desc"], found["user"]) == ("Recorded Time", "LAB\\perfmon")
    assert (found["at_time"], found["at_tag"]) == (5, 6)
    assert not {"tag", "src_ip", "src_port", "record"} & set(found)
    assert lines_of(nested)[0]["user"] == "another"
