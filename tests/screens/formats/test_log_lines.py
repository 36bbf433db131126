"""Whole lines of `--format zeek`, `ecs` and `timesketch`, of entries written by hand."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from analyzer.results.records.record_types import Endpoint
from analyzer.screens.formats.ecs import ecs_lines
from analyzer.screens.formats.timesketch import timesketch_lines
from analyzer.screens.formats.zeek import _written, zeek_lines
from analyzer.screens.views.exported_entries import Entry
from tests.written import Tables, as_json, held, is_as_written

TABLES = Tables()

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
    *_, line, _ = zeek_lines(entry.kind, [entry], THEN, THEN + 61_000_000_000)
    return line.decode().removesuffix("\n").split("\t")


@pytest.mark.parametrize("entry", [CALL, SESSION, FINDING], ids=lambda entry: entry.kind)
def test_an_entry_in_each_form_and_the_head_of_a_log_of_nothing(entry: Entry) -> None:
    """`forms/entry-*.txt`: logs of Zeek, a document of the Elastic Common Schema and lines for Timesketch."""
    logs = [*zeek_lines(entry.kind, [entry], THEN, THEN + 61_000_000_000), *zeek_lines(entry.kind, [], None, None)]
    documents = [json.loads(line) for lines in (ecs_lines, timesketch_lines) for line in lines([entry])]
    text = "".join(map(as_json, documents))
    is_as_written(Path(__file__).parent / "forms" / f"entry-{entry.kind}.txt", b"".join(logs).decode() + text)
    assert logged(entry)[1] == uid(CLIENT, SERVER)


def with_record(entry: Entry, **changes: Any) -> Entry:
    return replace(entry, record=entry.record | changes)


@TABLES.of(
    *({"pipe": None}, {"transport": "ncacn_ip_tcp", "pipe": None}),
    *({"interface": {"uuid": uuid, "name": None}} for uuid in ("da5a86c5", None)),
)
def a_pipe_and_an_interface_may_have_no_name(**changes):
    return logged(with_record(CALL, **changes))[7:9]


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


@TABLES.of("0", "999", "1_000", "999_999_999", "1_000_000_000", str(THEN), "-1_000")
def times_have_microseconds(ns):
    return list(dict.fromkeys(_written(kind, int(ns)) for kind in ("time", "interval")))


# --------------------------------------------------------------------------------------------------------- ecs


def document_of(entry: Entry) -> dict[str, Any]:
    (line,) = ecs_lines([entry])
    found: dict[str, Any] = json.loads(line)
    return found


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


@TABLES.of("error", "warning", "info")
def a_severity_is_a_number(severity):
    return document_of(with_record(FINDING, severity=severity))["event"]["severity"]


@TABLES.of(-1, 0, None)
def a_duration_is_never_negative(after):
    """Clocks of several captures may disagree."""
    event = document_of(replace(CALL, end_ns=None if after is None else THEN + after))["event"]
    return {name: event[name] for name in ("end", "duration") if name in event}


def test_a_call_without_a_latency_has_no_duration() -> None:
    """Its request was not captured, or the clock went back before its answer."""
    event = document_of(with_record(CALL, latency_ns=None))["event"]
    assert ("end" in event, "duration" in event) == (True, False)
    assert document_of(CALL)["event"]["duration"] == 1_500_000


@TABLES.of(
    *({"status_name": "ERROR_MORE_DATA"}, {"status_name": None}, {"status_name": None, "fault_name": "nca_s_unk_if"}),
    {"ending": "success", "status_name": "ERROR_SUCCESS"},
)
def a_failure_has_the_code_of_its_error(*, ending="failure", **changes):
    found = document_of(with_record(replace(CALL, ending=ending), **changes))
    return {"error": found.get("error"), "type": found["event"]["type"]}


def test_long_names_are_cut_where_they_would_not_be_searched() -> None:
    """ignore_above of a keyword is 1,024 in the schema."""
    for length, kept in ((1024, 1024), (1025, 1024)):
        found = document_of(replace(CALL, user="d" * length + "\\" + "n" * length))
        assert (len(found["user"]["name"]), len(found["user"]["domain"])) == (kept, kept)
        assert len(found["related"]["user"][0]) == 1024


# --------------------------------------------------------------------------------------------------- timesketch


def lines_of(entry: Entry) -> list[dict[str, Any]]:
    return [json.loads(line) for line in timesketch_lines([entry])]


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


test_cells_and_fields_are_as_they_were_read_through = held(__file__, TABLES)
