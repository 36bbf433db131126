"""Writes exported entries as JSON Lines in the Elastic Common Schema; what the schema has no field for is under `pcq`."""

from __future__ import annotations

import base64
import hashlib
import struct
from collections.abc import Iterable, Iterator
from ipaddress import ip_address
from typing import Any

from analyzer.core.output.json import line as json_line
from analyzer.core.times import iso_time
from analyzer.results.records.record_types import Endpoint
from analyzer.screens.views.exported_entries import Entry

Document = dict[str, Any]
ECS_VERSION = "9.4.0"
# The schema does not search longer keywords (ignore_above).
_KEYWORD = 1024
_CATEGORIES = {"call": ["network"], "session": ["authentication", "session"], "finding": ["network"]}
_TYPES = {"call": ["access", "protocol"], "session": ["start"], "finding": ["info", "protocol"]}
_SEVERITIES = {"error": 73, "warning": 47, "info": 21}


def ecs_lines(entries: Iterable[Entry]) -> Iterator[bytes]:
    """Yields one JSON line in the Elastic Common Schema for each exported entry."""
    for entry in entries:
        yield json_line(_document(entry))


def _document(entry: Entry) -> Document:
    document: Document = {
        "@timestamp": iso_time(entry.time_ns),
        "ecs": {"version": ECS_VERSION},
        "message": entry.message,
        "event": _event(entry),
        "observer": {"product": "pcq-analyzer", "type": "capture-analyzer"},
    }
    for one in ("client", "source"):
        _put_end(document, one, entry.client)
    for one in ("server", "destination"):
        _put_end(document, one, entry.server)
    if entry.client is not None and entry.server is not None:
        document["network"] = _network(entry, entry.client, entry.server)
    _put_user(document, entry)
    related = {end.ip for end in (entry.client, entry.server) if end is not None}
    document["related"] = {"ip": sorted(related)} if related else {}
    claimed = entry.record.get("claimed_user") or entry.record.get("auth", {}).get("claimed_user")
    if users := [_cut(name) for name in (entry.user, claimed) if name is not None]:
        document["related"]["user"] = users
    if entry.kind == "finding":
        document["rule"] = {
            "id": entry.record["rule"],
            "name": entry.record["name"],
            "category": entry.record["level"],
            "ruleset": "pcq-analyzer",
        }
    if code := entry.record.get("fault_name") or (entry.ending == "failure" and entry.record.get("status_name")):
        document["error"] = {"code": code}
    rest = {name: value for name, value in entry.record.items() if name not in _OTHERWISE}
    document["pcq"] = {entry.kind: _known(rest), "files": list(entry.files)}
    return {name: value for name, value in document.items() if value != {}}


# Keys of the record that other fields already have.
_OTHERWISE = frozenset(("record", "time", "time_ns", "client", "server", "message"))


def _event(entry: Entry) -> Document:
    event: Document = {
        "kind": "alert" if entry.kind == "finding" else "event",
        "category": _CATEGORIES[entry.kind],
        "type": ["denied"] if entry.record.get("status_name") == "ERROR_ACCESS_DENIED" else _TYPES[entry.kind],
        "outcome": entry.ending,
        "module": "pcq",
        "dataset": f"pcq.{entry.kind}",
        "start": iso_time(entry.time_ns),
        "action": {"call": entry.record.get("method"), "session": "logon", "finding": entry.record.get("name")}[
            entry.kind
        ],
    }
    if entry.end_ns is not None and entry.end_ns >= entry.time_ns:
        event["end"] = iso_time(entry.end_ns)
        # Without a latency, the request was not captured, or the clock went back before the answer.
        if entry.kind != "call" or entry.record["latency_ns"] is not None:
            event["duration"] = entry.end_ns - entry.time_ns
    if entry.kind == "call":
        event["sequence"] = entry.record["number"]
    if (reason := entry.record.get("reason")) is not None:
        event["reason"] = _cut(reason)
    if entry.kind == "finding":
        event |= {"code": entry.record["rule"], "severity": _SEVERITIES[entry.record["severity"]]}
    return {name: value for name, value in event.items() if value is not None}


def _put_end(document: Document, name: str, end: Endpoint | None) -> None:
    if end is not None:
        document[name] = {"address": end.ip, "ip": end.ip, "port": end.port}


def _network(entry: Entry, client: Endpoint, server: Endpoint) -> Document:
    network: Document = {
        "transport": "tcp",
        "type": f"ipv{ip_address(client.ip).version}",
        "protocol": "smb" if entry.kind == "session" else "dce_rpc",
        "community_id": community_id(client, server),
    }
    if (interface := entry.record.get("interface")) is not None and interface["name"] is not None:
        network["application"] = interface["name"].lower()
    return network


def _put_user(document: Document, entry: Entry) -> None:
    """Puts the user into an ECS document; splits `DOMAIN\\name` and `name@REALM`."""
    if entry.user is None:
        return
    domain, separator, name = entry.user.rpartition("\\")
    if not separator:
        name, _, domain = entry.user.partition("@")
    user: dict[str, Any] = {"name": _cut(name)} | ({"domain": _cut(domain)} if domain else {})
    document["user"] = user
    if "client" in document:
        document["client"]["user"] = user


def _known(record: Document) -> Document:
    """Returns an ECS object without unknown values: the schema leaves such fields out."""
    return {
        name: _known(value) if isinstance(value, dict) else value for name, value in record.items() if value is not None
    }


def _cut(text: str) -> str:
    return text[:_KEYWORD]


_SEED, _TCP = 0, 6


def community_id(one: Endpoint, other: Endpoint) -> str:
    """Returns the Community ID of a TCP connection (version 1, seed 0) for `network.community_id` of the Elastic Common Schema:
    Zeek, Suricata and others name flows by it.

    The ID is `1:` and the Base64 of a SHA-1 over both ends, the lower one first.
    """
    ends = sorted((ip_address(end.ip).packed, end.port) for end in (one, other))
    (low, low_port), (high, high_port) = ends
    data = struct.pack(">H", _SEED) + low + high + struct.pack(">BBHH", _TCP, 0, low_port, high_port)
    return f"1:{base64.b64encode(hashlib.sha1(data, usedforsecurity=False).digest()).decode()}"
