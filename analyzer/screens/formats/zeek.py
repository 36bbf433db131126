"""Writes exported entries as logs in Zeek's ASCII form: calls as in dce_rpc.log, sessions, findings as in notice.log.

The first columns of each log are Zeek's own, with its names and types; ours follow. `uid` is made of the ends of the connection.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct

from analyzer.core.times import NS_PER_S
from analyzer.results.records.record_types import Endpoint
from analyzer.screens.views.exported_entries import Entry, EntryKind

_UNSET, _EMPTY = "-", "(empty)"
_LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
# Uid lengths of Zeek: `C` and 96 bits to base 62.
_UID_LETTERS = 17


class _ZeekColumn(Struct, frozen=True):
    name: str
    type: str
    value: Callable[[Entry], Any]


def _key(*path: str) -> Callable[[Entry], Any]:
    """Returns a function that reads a value of the record for Zeek's log, None if a key on the path is absent."""

    def value(entry: Entry) -> Any:
        found: Any = entry.record
        for name in path:
            found = found.get(name) if isinstance(found, dict) else None
        return found

    return value


_CONNECTION = (
    _ZeekColumn("ts", "time", lambda entry: entry.time_ns),
    _ZeekColumn("uid", "string", lambda entry: _uid(entry.client, entry.server)),
    _ZeekColumn("id.orig_h", "addr", lambda entry: entry.client and entry.client.ip),
    _ZeekColumn("id.orig_p", "port", lambda entry: entry.client and entry.client.port),
    _ZeekColumn("id.resp_h", "addr", lambda entry: entry.server and entry.server.ip),
    _ZeekColumn("id.resp_p", "port", lambda entry: entry.server and entry.server.port),
)
# Name of the log, and its columns.
_LOGS: dict[EntryKind, tuple[str, tuple[_ZeekColumn, ...]]] = {
    "call": (
        "dce_rpc",
        (
            *_CONNECTION,
            _ZeekColumn("rtt", "interval", _key("latency_ns")),
            _ZeekColumn("named_pipe", "string", lambda entry: _named_pipe(entry)),
            _ZeekColumn("endpoint", "string", lambda entry: _endpoint(entry)),
            _ZeekColumn("operation", "string", _key("method")),
            _ZeekColumn("call", "count", _key("number")),
            _ZeekColumn("call_id", "count", _key("call_id")),
            _ZeekColumn("opnum", "count", _key("opnum")),
            _ZeekColumn("user", "string", lambda entry: entry.user),
            _ZeekColumn("claimed_user", "string", _key("auth", "claimed_user")),
            _ZeekColumn("auth_type", "string", _key("auth", "type")),
            _ZeekColumn("auth_level", "string", _key("auth", "level")),
            _ZeekColumn("encrypted", "bool", _key("smb", "encrypted")),
            _ZeekColumn("state", "string", _key("state")),
            _ZeekColumn("reason", "string", _key("reason")),
            _ZeekColumn("status", "count", _key("status")),
            _ZeekColumn("status_name", "string", _key("status_name")),
            _ZeekColumn("fault", "string", _key("fault_name")),
            _ZeekColumn("handle", "string", _key("handle")),
            _ZeekColumn("asked", "string", _key("asked")),
            _ZeekColumn("answered", "string", _key("answered")),
        ),
    ),
    "session": (
        "smb_session",
        (
            *_CONNECTION,
            _ZeekColumn("duration", "interval", lambda entry: (entry.end_ns or entry.time_ns) - entry.time_ns),
            _ZeekColumn("user", "string", lambda entry: entry.user),
            _ZeekColumn("claimed_user", "string", _key("claimed_user")),
            _ZeekColumn("granted", "string", _key("granted")),
            _ZeekColumn("success", "bool", lambda entry: {"success": True, "failure": False}.get(entry.ending)),
            _ZeekColumn("session_id", "string", _key("session_id")),
            _ZeekColumn("dialect", "string", _key("dialect")),
            _ZeekColumn("mechanism", "string", _key("mechanism")),
            _ZeekColumn("workstation", "string", _key("workstation")),
            _ZeekColumn("server_nb_computer_name", "string", _key("server_name")),
            _ZeekColumn("server_dns_computer_name", "string", _key("server_dns_name")),
            _ZeekColumn("service", "string", _key("service")),
            _ZeekColumn("cipher", "string", _key("cipher")),
            _ZeekColumn("signing", "string", _key("signing")),
            _ZeekColumn("decryption", "string", _key("decryption")),
            _ZeekColumn("trees", "vector[string]", _key("trees")),
            _ZeekColumn("pipes", "vector[string]", _key("pipes")),
        ),
    ),
    "finding": (
        "notice",
        (
            *_CONNECTION,
            _ZeekColumn("proto", "enum", lambda entry: "tcp" if entry.client is not None else None),
            _ZeekColumn("note", "enum", lambda entry: f"PCQ::{entry.record['rule']}"),
            _ZeekColumn("msg", "string", lambda entry: entry.message),
            _ZeekColumn("sub", "string", _key("name")),
            _ZeekColumn("src", "addr", lambda entry: entry.client and entry.client.ip),
            _ZeekColumn("dst", "addr", lambda entry: entry.server and entry.server.ip),
            _ZeekColumn("p", "port", lambda entry: entry.server and entry.server.port),
            _ZeekColumn("severity", "string", _key("severity")),
            _ZeekColumn("verdict", "string", _key("verdict")),
            _ZeekColumn("confidence", "string", _key("confidence")),
            _ZeekColumn("requirement", "vector[string]", _key("requirement")),
            _ZeekColumn("actor", "string", _key("actor")),
            _ZeekColumn("call", "count", _key("call")),
            _ZeekColumn("field", "string", _key("field")),
            _ZeekColumn("frames", "vector[count]", _key("frames")),
        ),
    ),
}


def zeek_lines(
    kind: EntryKind, entries: Iterable[Entry], begun_ns: int | None, ended_ns: int | None
) -> Iterator[bytes]:
    """Yields the lines of a Zeek log; `#open` and `#close` have the times of the capture."""
    path, columns = _LOGS[kind]
    head = (
        ("#separator \\x09",),
        ("#set_separator", ","),
        ("#empty_field", _EMPTY),
        ("#unset_field", _UNSET),
        ("#path", path),
        ("#open", _day(begun_ns)),
        ("#fields", *(column.name for column in columns)),
        ("#types", *(column.type for column in columns)),
    )
    for cells in head:
        yield _line(cells)
    for entry in entries:
        yield _line(_written(column.type, column.value(entry)) for column in columns)
    yield _line(("#close", _day(ended_ns)))


def _line(cells: Iterable[str]) -> bytes:
    return "\t".join(cells).encode("utf-8", "backslashreplace") + b"\n"


def _day(time_ns: int | None) -> str:
    return datetime.fromtimestamp((time_ns or 0) // NS_PER_S, UTC).strftime("%Y-%m-%d-%H-%M-%S")


def _written(kind: str, value: Any) -> str:
    """Writes a value of a log as Zeek's ASCII writer does."""
    if value is None:
        return _UNSET
    if kind.startswith("vector["):
        return ",".join(_text(str(one), "\\,") for one in value) if value else _EMPTY
    if kind in ("time", "interval"):
        return f"{value // NS_PER_S}.{value % NS_PER_S // 1000:06d}" if value >= 0 else f"{value / NS_PER_S:.6f}"
    if kind == "bool":
        return "T" if value else "F"
    if kind == "string":
        return _text(value, "\\") or _EMPTY
    return str(value)


def _text(text: str, special: str) -> str:
    """Escapes text for Zeek's log: separators and unprintable characters become `\\xHH`, and so does the first character of a text
    that would read as no value."""
    out = "".join(
        "\\\\" if letter == "\\" else _escaped(letter) if letter in special or not letter.isprintable() else letter
        for letter in text
    )
    return _escaped(out[0]) + out[1:] if out in (_UNSET, _EMPTY) or out.startswith("#") else out


def _escaped(letter: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in letter.encode("utf-8", "surrogatepass"))


def _uid(client: Endpoint | None, server: Endpoint | None) -> str | None:
    if client is None or server is None:
        return None
    number = int.from_bytes(hashlib.sha256(f"{client} {server}".encode()).digest()[:13], "big")
    letters = []
    for _ in range(_UID_LETTERS):
        number, rest = divmod(number, len(_LETTERS))
        letters.append(_LETTERS[rest])
    return "C" + "".join(letters)


def _named_pipe(entry: Entry) -> str | None:
    """Returns the pipe of an entry for dce_rpc.log; over TCP the port, as the secondary address of a bind_ack names it."""
    if entry.record["transport"] == "ncacn_np":
        pipe = entry.record["pipe"]
        return f"\\PIPE\\{pipe}" if pipe is not None else None
    return str(entry.server.port) if entry.server is not None else None


def _endpoint(entry: Entry) -> str | None:
    interface = entry.record["interface"]
    return interface["name"] or (f"unknown-{interface['uuid']}" if interface["uuid"] is not None else None)
