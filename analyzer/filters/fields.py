"""The fields a filter may name: those of the call and sample records (docs/output.md), with what they mean.

This is a table of plain values, quick to load: completion reads it at every press of a key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import cache
from typing import get_args

from msgspec import Struct

from analyzer.buffers import KINDS
from analyzer.model.call import CallState
from analyzer.rpc.call import LEVEL_NAMES


class Kind(StrEnum):
    """What the values of a field are, in a word for people."""

    NUMBER = "number"
    STATUS = "status"  # a Win32 code, by number or name
    FAULT = "fault status"
    REQUEST_CODE = "request code"
    COUNTER_TYPE = "counter type"
    SECONDS = "seconds"
    TIME = "time"
    TEXT = "text"
    CHOICE = "word"
    METHOD = "method"
    INTERFACE = "interface"
    NAME = "name or GUID"
    HANDLE = "handle"
    GUID = "GUID"
    ADDRESS = "address"
    FLAG = "true or false"
    ANY = "anything"
    GROUP = "group"  # is there or not, and has no value of its own


NUMBERS = frozenset({Kind.NUMBER, Kind.STATUS, Kind.FAULT, Kind.REQUEST_CODE, Kind.COUNTER_TYPE})
TEXTS = frozenset({Kind.TEXT, Kind.CHOICE, Kind.METHOD, Kind.INTERFACE, Kind.NAME, Kind.HANDLE, Kind.GUID})


class Field(Struct, frozen=True):
    """One field. `paths` state where its values are in a record; more than one where a field has several values at once."""

    name: str
    kind: Kind
    meaning: str
    paths: tuple[str, ...]
    choices: tuple[str, ...] = ()


def _field(name: str, kind: Kind, meaning: str, *paths: str, choices: tuple[str, ...] = ()) -> Field:
    return Field(name, kind, meaning, paths or (name,), choices)


_CALL = (
    _field("number", Kind.NUMBER, "number of the call, from 1"),
    _field("time", Kind.TIME, "time of the request's first frame (2026-11-20T13:50:16.25Z)", "time_ns"),
    _field("time_ns", Kind.NUMBER, "the same in nanoseconds since 1970"),
    _field("time_relative", Kind.SECONDS, "time since the first frame of the capture", "time_relative_ns"),
    _field("time_relative_ns", Kind.NUMBER, "the same in nanoseconds"),
    _field("frame", Kind.NUMBER, "any frame of request or response", "request.frames", "response.frames"),
    _field("ip", Kind.ADDRESS, "address of client or server", "client.ip", "server.ip"),
    _field("port", Kind.NUMBER, "port of client or server", "client.port", "server.port"),
    _field("client", Kind.GROUP, "the client's end"),
    _field("client.ip", Kind.ADDRESS, "address of the client"),
    _field("client.port", Kind.NUMBER, "port of the client"),
    _field("server", Kind.GROUP, "the server's end"),
    _field("server.ip", Kind.ADDRESS, "address of the server"),
    _field("server.port", Kind.NUMBER, "port of the server"),
    _field("transport", Kind.CHOICE, "what carries the calls", choices=("ncacn_np", "ncacn_ip_tcp")),
    _field("pipe", Kind.TEXT, "name of the pipe"),
    _field("session", Kind.NUMBER, "id of the SMB session (0x...)", "smb.session_id"),
    _field("smb", Kind.GROUP, "SMB below the call"),
    _field("smb.dialect", Kind.TEXT, "dialect (3.1.1)"),
    _field("smb.session_id", Kind.NUMBER, "id of the SMB session (0x...)"),
    _field("smb.encrypted", Kind.FLAG, "SMB encrypted the call"),
    _field("smb.signed", Kind.FLAG, "SMB signed the call"),
    _field("smb.signature_ok", Kind.FLAG, "the SMB signatures fit"),
    _field("smb.compressed", Kind.FLAG, "SMB compressed the call"),
    _field("user", Kind.TEXT, r"who made the call (DOMAIN\name)", "auth.user"),
    _field("workstation", Kind.TEXT, "the name the client gives itself", "auth.workstation"),
    _field("auth", Kind.GROUP, "security of the call"),
    _field("auth.type", Kind.TEXT, "security provider (none, ntlm, spnego-ntlm, krb5, spnego-krb5)"),
    _field("auth.level", Kind.CHOICE, "level of RPC security", choices=tuple(LEVEL_NAMES.values())),
    _field("auth.user", Kind.TEXT, "who made the call"),
    _field("auth.user_from", Kind.CHOICE, "whether RPC or SMB stated who", choices=("rpc", "smb")),
    _field(
        "auth.user_source",
        Kind.CHOICE,
        "what names the user: the logon, its opened ticket, or the KDC's reply (not verified)",
        choices=("handshake", "ticket", "kdc-reply"),
    ),
    _field("auth.anonymous", Kind.FLAG, "the logon was anonymous (a null session)"),
    _field("auth.workstation", Kind.TEXT, "the name the client gives itself"),
    _field("auth.verified", Kind.FLAG, "the RPC checksums fit"),
    _field("auth.decryption", Kind.TEXT, "why a sealed call could not be unsealed"),
    _field("auth.decrypted_by", Kind.TEXT, "which of the given keys unsealed it"),
    _field("interface", Kind.INTERFACE, "name or UUID of the interface", "interface.name", "interface.uuid"),
    _field("interface.uuid", Kind.GUID, "UUID of the interface"),
    _field("interface.version", Kind.TEXT, "its version (1.0)"),
    _field("interface.name", Kind.INTERFACE, "its name (PerflibV2, winreg)"),
    _field("interface.recognised", Kind.FLAG, "the bind was not captured, and the stubs show the interface"),
    _field("syntax", Kind.CHOICE, "transfer syntax", choices=("ndr", "ndr64")),
    _field("opnum", Kind.NUMBER, "number of the method"),
    _field("method", Kind.METHOD, "name of the method (QueryCounterData, BaseRegQueryValue)"),
    _field("call_id", Kind.NUMBER, "id of the call on the wire"),
    _field("context_id", Kind.NUMBER, "presentation context"),
    _field("state", Kind.CHOICE, "how much of the call there is", choices=get_args(CallState)),
    _field("reason", Kind.TEXT, "why it is not complete"),
    _field("status", Kind.STATUS, "return value (5 or ERROR_ACCESS_DENIED)"),
    _field("status_name", Kind.TEXT, "name of the return value"),
    _field("fault", Kind.FAULT, "status of a DCERPC fault (number or name)"),
    _field("fault_name", Kind.TEXT, "name of the fault"),
    _field("latency", Kind.SECONDS, "from the request's last frame to the response's first (0.5, 500ms)", "latency_ns"),
    _field("latency_ns", Kind.NUMBER, "the same in nanoseconds"),
    _field("handle", Kind.HANDLE, "handle the call works on (q2, k1, UUID)", "handle", "handle_uuid"),
    _field(
        "counterset", Kind.NAME, "counterset the call asks about, by name or GUID", "counterset.name", "counterset.guid"
    ),
    _field("registry", Kind.GROUP, "a winreg call about a key or value other than performance data"),
    _field("registry.path", Kind.TEXT, r"the key (HKLM\SOFTWARE)"),
    _field("registry.value", Kind.TEXT, "name of the value"),
    _field("registry.type", Kind.TEXT, "type of the value (REG_SZ)"),
    _field("registry.data", Kind.ANY, "data of the value: a text, a number; hexadecimal where it is binary"),
    _field("request", Kind.GROUP, "the request was captured"),
    _field("response", Kind.GROUP, "the response was captured"),
    _field("service", Kind.GROUP, "a svcctl call about a service"),
    _field("service.name", Kind.TEXT, "the service"),
    _field("service.display_name", Kind.TEXT, "its name for people"),
    _field("service.image_path", Kind.TEXT, "what it runs"),
    _field("service.account", Kind.TEXT, "the account it runs as"),
    _field("service.start", Kind.TEXT, "when it starts (automatic, on demand, disabled)"),
    _field("service.arguments", Kind.TEXT, "what it is started with"),
    _field("read", Kind.GROUP, "a read of registry performance data"),
    _field("read.number", Kind.NUMBER, "number of the read"),
    _field("read.attempt", Kind.NUMBER, "which try of the read"),
    _field("read.key", Kind.TEXT, "predefined key (HKEY_PERFORMANCE_DATA)"),
    _field("read.value", Kind.TEXT, "the value that was read, in words"),
)

# Fields of one side of a call: with `request.` or `response.` before them of that side, without of either.
_SIDE = (
    ("frames", Kind.NUMBER, "frames that carried it", ()),
    ("stub_length", Kind.NUMBER, "bytes of the stub", ()),
    ("stub_sha256", Kind.TEXT, "SHA-256 of the stub", ()),
    ("wire_length", Kind.NUMBER, "bytes as sent", ()),
    (
        "why_missing",
        Kind.CHOICE,
        "why there is no stub",
        ("sealed", "not captured", "undecodable"),
    ),
    ("verification_trailer", Kind.CHOICE, "verification trailer", ("ok", "bad")),
    ("params", Kind.GROUP, "decoded parameters", ()),
    ("buffer_kind", Kind.CHOICE, "layout of lpData", KINDS),
    ("buffer", Kind.GROUP, "decoded lpData", ()),
    ("buffer_notes", Kind.TEXT, "readings that were chosen for lpData", ()),
    ("buffer_problem", Kind.TEXT, "what is wrong with lpData", ()),
)

# The parameters of both interfaces, by the spelling of the IDL.
_PARAMS: Mapping[str, tuple[Kind, str]] = {
    "szMachine": (Kind.TEXT, "server, as the client names it"),
    "CounterSetGuid": (Kind.GUID, "counterset asked about"),
    "RequestCode": (Kind.REQUEST_CODE, "what is asked of a counterset (5 or COUNTER_NAME_STRINGS)"),
    "RequestLCID": (Kind.NUMBER, "language, or the id of a counter"),
    "dwInSize": (Kind.NUMBER, "room for the answer"),
    "pdwOutSize": (Kind.NUMBER, "size of the answer"),
    "pdwRtnSize": (Kind.NUMBER, "size the answer has or would have"),
    "hQuery": (Kind.HANDLE, "query handle"),
    "phQuery": (Kind.HANDLE, "query handle opened or closed"),
    "dwAdd": (Kind.NUMBER, "1 to add counters, 0 to remove them"),
    "hKey": (Kind.HANDLE, "registry key"),
    "phKey": (Kind.HANDLE, "registry key opened"),
    "ServerName": (Kind.NUMBER, "server, as the client names it (one character)"),
    "samDesired": (Kind.NUMBER, "access asked for"),
    "dwIndex": (Kind.NUMBER, "position of the value"),
    "lpValueName": (Kind.TEXT, "name of the value"),
    "lpValueNameIn": (Kind.TEXT, "room for the name of the value"),
    "lpValueNameOut": (Kind.TEXT, "name of the value found"),
    "lpType": (Kind.NUMBER, "type of the value"),
    "lpcbData": (Kind.NUMBER, "room for, or size of, the data"),
    "lpcbLen": (Kind.NUMBER, "bytes of data sent"),
    "lpClassIn": (Kind.TEXT, "room for the class of the key"),
    "lpClassOut": (Kind.TEXT, "class of the key"),
    "lpcSubKeys": (Kind.NUMBER, "number of subkeys"),
    "lpcbMaxSubKeyLen": (Kind.NUMBER, "longest name of a subkey"),
    "lpcbMaxClassLen": (Kind.NUMBER, "longest class"),
    "lpcValues": (Kind.NUMBER, "number of values"),
    "lpcbMaxValueNameLen": (Kind.NUMBER, "longest name of a value"),
    "lpcbMaxValueLen": (Kind.NUMBER, "largest value"),
    "lpcbSecurityDescriptor": (Kind.NUMBER, "size of the security descriptor"),
    "lpftLastWriteTime": (Kind.NUMBER, "last change of the key (FILETIME)"),
    "val_listIn": (Kind.GROUP, "values asked for"),
    "val_listOut": (Kind.GROUP, "values answered"),
    "num_vals": (Kind.NUMBER, "number of values asked for"),
    "ldwTotsize": (Kind.NUMBER, "room for all values"),
    "ldwRequiredSize": (Kind.NUMBER, "room all values need"),
    "phkResult": (Kind.HANDLE, "registry key opened or created"),
    "lpSubKey": (Kind.TEXT, "key below the one of the handle"),
    "lpClass": (Kind.TEXT, "class of a new key"),
    "dwOptions": (Kind.NUMBER, "options of opening or creating a key"),
    "lpSecurityAttributes": (Kind.GROUP, "security of a new key"),
    "lpdwDisposition": (Kind.NUMBER, "1 for a key that was created, 2 for one that was there"),
    "lpNameIn": (Kind.TEXT, "room for the name of a key"),
    "lpNameOut": (Kind.TEXT, "name of the key found"),
    "lplpClassOut": (Kind.TEXT, "class of the key found"),
    "lpFile": (Kind.TEXT, "file that keys are saved to or loaded from"),
    "pSecurityAttributes": (Kind.GROUP, "security of that file"),
    "dwType": (Kind.NUMBER, "type of the value that is set"),
    "cbData": (Kind.NUMBER, "size of the data that is set"),
    "lpdwVersion": (Kind.NUMBER, "version of the remote registry"),
    "Flags": (Kind.NUMBER, "format of the file that keys are saved to"),
    "AccessMask": (Kind.NUMBER, "which view of the registry the key is deleted from"),
    "Reserved": (Kind.NUMBER, "reserved"),
}
_OF_HANDLES = {"uuid": (Kind.GUID, "its UUID"), "attributes": (Kind.NUMBER, "its attributes")}
_OF_VALUES = {
    "ve_valuename": (Kind.TEXT, "name of a value"),
    "ve_valuelen": (Kind.NUMBER, "size of a value"),
    "ve_valueptr": (Kind.NUMBER, "place of a value"),
    "ve_type": (Kind.NUMBER, "type of a value"),
}
_OF_SECURITY = {
    "nLength": (Kind.NUMBER, "its length"),
    "cbOutSecurityDescriptor": (Kind.NUMBER, "size of its security descriptor"),
    "bInheritHandle": (Kind.NUMBER, "whether handles are inherited"),
}
_PARTS: Mapping[str, Mapping[str, tuple[Kind, str]]] = {
    **dict.fromkeys(("hQuery", "phQuery", "hKey", "phKey", "phkResult"), _OF_HANDLES),
    **dict.fromkeys(("val_listIn", "val_listOut"), _OF_VALUES),
    **dict.fromkeys(("lpSecurityAttributes", "pSecurityAttributes"), _OF_SECURITY),
}

_SAMPLE = (
    _field("call", Kind.NUMBER, "number of the call that brought the value"),
    _field("time", Kind.TIME, "time of the answer's first frame", "time_ns"),
    _field("time_ns", Kind.NUMBER, "the same in nanoseconds since 1970"),
    _field("source", Kind.CHOICE, "generation of the interface", choices=("perflib-v2", "winperf")),
    _field("query", Kind.GUID, "query handle"),
    _field("block", Kind.NUMBER, "position in the answer"),
    _field("block_type", Kind.NUMBER, "kind of the block (0, 1, 2, 4, 6)"),
    _field("block_status", Kind.STATUS, "status of the block, by number or name"),
    _field("block_status_name", Kind.TEXT, "name of the status"),
    _field("counterset", Kind.GUID, "GUID of the counterset"),
    _field("counterset_name", Kind.TEXT, "name of the counterset"),
    _field("counter_id", Kind.NUMBER, "id of the counter"),
    _field("counter_name", Kind.TEXT, "name of the counter"),
    _field("counter_type", Kind.COUNTER_TYPE, "type of the counter, by number or name"),
    _field("instance", Kind.TEXT, "name of the instance"),
    _field("instance_id", Kind.NUMBER, "number of the instance"),
    _field("raw", Kind.ANY, "the raw value: a number, or a text"),
    _field("base_raw", Kind.NUMBER, "the raw value of the base counter"),
    _field("data_size", Kind.NUMBER, "bytes on the wire"),
    _field("repeated", Kind.FLAG, "the same answer has the same counter of the same instance before"),
    _field("id_source", Kind.CHOICE, "what states the counter of a block", choices=("index", "replay")),
    _field("object_index", Kind.NUMBER, "title index of the object"),
    _field("object_name", Kind.TEXT, "name of the object"),
    _field("counter_index", Kind.NUMBER, "title index of the counter"),
    _field("name_source", Kind.CHOICE, "where the names are from", choices=("capture", "metadata", "well-known")),
    _field("names", Kind.GROUP, "all names of the counter and its group"),
    _field("names.group_english", Kind.TEXT, "English name of the counterset or object"),
    _field("names.group_local", Kind.TEXT, "its name in another language"),
    _field("names.counter_english", Kind.TEXT, "English name of the counter"),
    _field("names.counter_local", Kind.TEXT, "its name in another language"),
    _field("names.language", Kind.ANY, "language of the local names"),
    _field("parent_index", Kind.NUMBER, "title index of the parent object"),
    _field("parent_instance", Kind.TEXT, "name of the parent instance"),
    _field("perf_time_stamp", Kind.NUMBER, "clock of the answer in ticks"),
    _field("perf_time_100ns", Kind.NUMBER, "clock of the answer in 100 ns since 1601"),
    _field("perf_freq", Kind.NUMBER, "ticks in a second"),
    _field("perf_time", Kind.NUMBER, "clock of the block in ticks"),
    _field("object_perf_time", Kind.NUMBER, "clock of the object in ticks"),
    _field("object_perf_freq", Kind.NUMBER, "ticks of the object's clock in a second"),
)

# What a formatted value has besides the keys of the sample that it is of.
_COUNTER = (
    _field("value", Kind.ANY, "the displayed value"),
    _field("unit", Kind.TEXT, "its unit (/s, %, s)"),
    _field("path", Kind.TEXT, r"path of the counter (\\machine\Process(a)\ID Process)"),
    _field("series", Kind.NUMBER, "number of the series"),
    _field("why_null", Kind.TEXT, "why there is no value (first-sample, negative-delta)"),
    _field("flags", Kind.TEXT, "what is unusual about the value"),
)

BOTH_SIDES = ("request", "response")


def _side_fields() -> Iterator[Field]:
    for prefix, sides in (("", BOTH_SIDES), ("request.", ("request",)), ("response.", ("response",))):
        of = {"": " (either side)", "request.": " of the request", "response.": " of the response"}[prefix]

        def made(name: str, kind: Kind, meaning: str, *, to: str = "", choices: tuple[str, ...] = ()) -> Field:
            paths = (f"{side}.{to or name}" for side in sides)  # noqa: B023
            return _field(prefix + name, kind, meaning + of, *paths, choices=choices)  # noqa: B023

        for name, kind, meaning, choices in _SIDE:
            yield made(name, kind, meaning, choices=choices)
        for param, (kind, meaning) in _PARAMS.items():
            to = f"params.{param}.uuid" if kind is Kind.HANDLE else ""
            yield made(f"params.{param}", Kind.GUID if kind is Kind.HANDLE else kind, meaning, to=to)
            for part, (part_kind, part_meaning) in _PARTS.get(param, {}).items():
                yield made(f"params.{param}.{part}", part_kind, f"{meaning}, {part_meaning}")


@cache
def call_fields() -> Mapping[str, Field]:
    """The fields of calls by name, without those of decoded buffers (`buffer_field`)."""
    return {field.name: field for field in (*_CALL, *_side_fields())}


@cache
def sample_fields() -> Mapping[str, Field]:
    """The fields of samples by name: their own, and those of the call that brought them."""
    return {**{field.name: field for field in _SAMPLE}, **{k: v for k, v in call_fields().items() if k not in _own()}}


@cache
def counter_fields() -> Mapping[str, Field]:
    """The fields of formatted values by name: their own, and those of samples."""
    return {**{field.name: field for field in _COUNTER}, **sample_fields()}


@cache
def _own() -> frozenset[str]:
    return frozenset(field.name for field in (*_SAMPLE, *_COUNTER))


def is_own(field: Field) -> bool:
    """Whether a field of samples or formatted values is their own, and not their call's."""
    return field.name in _own()


def buffer_field(name: str) -> Field | None:
    """A field of decoded lpData: `buffer.` or `response.buffer.` with names of `ksy/` after it, at any depth in that order."""
    for prefix, sides in (
        ("buffer.", BOTH_SIDES),
        ("request.buffer.", ("request",)),
        ("response.buffer.", ("response",)),
    ):
        if name.startswith(prefix):
            steps = name.removeprefix(prefix)
            if all(steps.split(".")):
                return Field(name, Kind.ANY, "decoded lpData", tuple(f"{side}.buffer.{steps}" for side in sides))
    return None
