"""The fields that a filter may name, taken from the record types (`results/calls/call.py`, `results/records/sample.py`), and its
other words: fields of decoded buffers, methods, and named numbers.

A field's name is its path in the record, its meaning is the record's own `doc`, and its kind follows from its type and unit. This
module adds three things: short names for frequent questions (`_SHORT`), names without a side for fields of both sides, and the
parameters of stubs, which a record keeps by the spelling of the IDL.

Names and evaluation share only `FilterField`. `binder.py` settles names and types with `name`, `kind` and `choices`. Code that
evaluates a filter (`field_values.py`, by columns; the page of `report`, by its script) needs only `paths` and `kind`. The
values of a field are those of all its paths, in that order, with lists opened and nulls left out. A `GROUP` gives true if it
contains anything. Times and durations are in nanoseconds, and `smb.session_id` is a number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import EnumMeta
from functools import cache
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from msgspec import Meta, Raw, Struct, UnsetType
from msgspec.structs import replace

from analyzer.core.error_code_names import hresult_numbers, nt_status_numbers, win32_numbers
from analyzer.core.times import UNITS_NS
from analyzer.questions.filters.grammar import tables
from analyzer.results.calls.call import CallRecord
from analyzer.results.methods.perflib import RequestCode
from analyzer.results.records.record_types import INSTANT, Kind
from analyzer.results.records.sample import CounterRecord, SampleRecord
from analyzer.transport.rpc.rpc_names import PERFLIB_V2_METHODS, fault_numbers

# -------------------------------------------------------------------------------------------------------------- vocabulary


NAMED = (Kind.STATUS, Kind.FAULT, Kind.REQUEST_CODE, Kind.COUNTER_TYPE)


def numbers_of(kind: Kind) -> Mapping[str, int]:
    """Returns the named numbers of a kind that filters can name, by name in capitals; empty for a kind without names."""
    match kind:
        case Kind.STATUS:
            return hresult_numbers() | nt_status_numbers() | win32_numbers()
        case Kind.FAULT:
            return fault_numbers()
        case Kind.REQUEST_CODE:
            return {name: code for code, name in RequestCode.names.items()}
        case Kind.COUNTER_TYPE:
            from analyzer.interfaces.buffers.counter_type_names import counter_type_numbers

            return counter_type_numbers()
    return {}


def buffer_names() -> frozenset[str]:
    """The keys of decoded buffers that filters can name, at any depth."""
    from analyzer.interfaces.buffers.compiled_parsers import buffer_field_names

    return buffer_field_names()


def named_methods() -> Mapping[str, str]:
    """Returns the methods of PerflibV2 that can be named as values of a filterable field, by their names in small letters without
    the interface's."""
    return {name.removeprefix("PerflibV2").lower(): name for name in PERFLIB_V2_METHODS}


def with_article(kind: Kind) -> str:
    """Returns the kind of a filterable field in the words of messages: `a number`, `text`, `in seconds`."""
    if kind in (Kind.TEXT, Kind.SECONDS, Kind.FLAG, Kind.ANY):
        return {Kind.SECONDS: "in seconds"}.get(kind, str(kind))
    return f"an {kind}" if str(kind)[0] in "aeiou" else f"a {kind}"


def vocabulary() -> dict[str, Any]:
    """Returns the whole vocabulary of filters for the script of the page, which reads filters itself. It has the fields of calls
    with kind, paths, choices and meaning, and the grammar."""
    return {
        "fields": [
            [field.name, field.kind.name, list(field.paths), list(field.choices), field.meaning]
            for field in call_fields().values()
        ],
        "buffers": sorted(buffer_names()),
        "methods": list(PERFLIB_V2_METHODS),
        "numbers": {kind.name: numbers_of(kind) for kind in NAMED},
        "kinds": {kind.name: with_article(kind) for kind in Kind},
        "units": UNITS_NS,
        "grammar": tables(),
    }


# ------------------------------------------------------------------------------------------------------------------ fields


NUMBERS = frozenset({Kind.NUMBER, Kind.STATUS, Kind.FAULT, Kind.REQUEST_CODE, Kind.COUNTER_TYPE})
TEXTS = frozenset({Kind.TEXT, Kind.CHOICE, Kind.METHOD, Kind.INTERFACE, Kind.NAME, Kind.HANDLE, Kind.GUID})


class FilterField(Struct, frozen=True):
    """One field that a filter may name. `paths` are the places of its values in a record; a field with several values at once has
    several. A field `of_value` is in the record of a sample or a formatted value, any other in that of its call."""

    name: str
    kind: Kind
    meaning: str
    paths: tuple[str, ...]
    choices: tuple[str, ...] = ()
    of_value: bool = False


# Short names for frequent questions, and names that stand for several fields.
_SHORT = (
    FilterField("frame", Kind.NUMBER, "any frame of request or response", ("request.frames", "response.frames")),
    FilterField("ip", Kind.ADDRESS, "address of client or server", ("client.ip", "server.ip")),
    FilterField("port", Kind.NUMBER, "port of client or server", ("client.port", "server.port")),
    FilterField("session", Kind.NUMBER, "id of the SMB session (0x1d)", ("smb.session_id",)),
    FilterField(
        "user",
        Kind.TEXT,
        r"account that made the call (DOMAIN\name), or was claimed, or logged on to the session later",
        ("auth.user", "auth.claimed_user", "auth.later_user"),
    ),
    FilterField(
        "auth.account", Kind.TEXT, r"account that made the call (DOMAIN\name), as the server granted it", ("auth.user",)
    ),
    FilterField(
        "auth.claimed",
        Kind.TEXT,
        "account that the client claimed, where the server granted another",
        ("auth.claimed_user",),
    ),
    FilterField("workstation", Kind.TEXT, "the client's name for itself", ("auth.workstation",)),
    FilterField("interface", Kind.INTERFACE, "name or UUID of the interface", ("interface.name", "interface.uuid")),
    FilterField("handle", Kind.HANDLE, "handle that the call works on (q2, k1, UUID)", ("handle", "handle_uuid")),
    FilterField(
        "counterset",
        Kind.NAME,
        "counterset that the call asks about, by name or GUID",
        ("counterset.name", "counterset.guid"),
    ),
)
# Parts of the record of a value that are those of its call.
_OF_ITS_CALL = ("client", "server", "handle")
BOTH_SIDES = ("request", "response")

# The parameters of stubs, by the spelling of the IDL.
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


_KINDS = {bool: Kind.FLAG, int: Kind.NUMBER, float: Kind.NUMBER, str: Kind.TEXT, dict: Kind.GROUP, Raw: Kind.GROUP}


def _plain_types(hint: Any) -> Iterator[Any]:
    """Yields the types that a value of a filter's field may have, without None; for a tuple, the type of its items."""
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        for part in get_args(hint):
            yield from _plain_types(part)
    elif origin in (Annotated, tuple):
        yield from _plain_types(get_args(hint)[0])
    elif origin is dict:
        yield dict
    elif hint not in (type(None), UnsetType):
        yield hint


def _meta(hint: Any) -> Meta:
    """Returns what a record type states about a field that a filter may name."""
    while get_origin(hint) is not Annotated:
        hint = next(part for part in get_args(hint) if get_origin(part) is Annotated)
    return next(meta for meta in hint.__metadata__ if isinstance(meta, Meta) and meta.description)


def _of_record(kind: type[Struct], path: str = "") -> Iterator[FilterField]:
    """Yields the filter fields of a record type, and those of the records in its fields."""
    hints = get_type_hints(kind, include_extras=True)
    for key in kind.__struct_fields__:
        meta, types = _meta(hints[key]), list(_plain_types(hints[key]))
        extra, unit = meta.extra or {}, (meta.extra_json_schema or {}).get("unit")
        name, meaning = f"{path}{key}", str(meta.description).replace("`", "")
        part = next((one for one in types if isinstance(one, type) and issubclass(one, Struct)), None)
        if part is not None:
            yield FilterField(name, Kind.GROUP, meaning, (name,))
            yield from _of_record(part, f"{name}.")
            continue
        choices = tuple(extra.get("words", ())) or tuple(str(word) for one in types for word in _words(one))
        kinds = {Kind.CHOICE if choices else _KINDS[one] for one in types}
        of_all = Kind(extra.get("kind") or (kinds.pop() if len(kinds) == 1 else Kind.ANY))
        if unit == INSTANT:
            yield FilterField(name.removesuffix("_ns"), Kind.TIME, f"{meaning} (2026-11-20T13:50:16.25Z)", (name,))
        elif unit == "ns":
            yield FilterField(name.removesuffix("_ns"), Kind.SECONDS, f"{meaning} (0.5, 500ms)", (name,))
        yield FilterField(name, of_all, f"{meaning} ({unit})" if unit is not None else meaning, (name,), choices)


def _words(kind: Any) -> Iterator[Any]:
    """Yields the words that a filter's field may have if they are a fixed set."""
    if get_origin(kind) is Literal:
        yield from get_args(kind)
    elif isinstance(kind, EnumMeta):
        yield from kind


def _by_name(fields: Iterator[FilterField]) -> dict[str, FilterField]:
    """Returns filter fields by name. The first of a name stays: a time that filters compare stands before its text."""
    found: dict[str, FilterField] = {}
    for field in fields:
        found.setdefault(field.name, field)
    return found


def _params() -> Iterator[tuple[str, Kind, str, str]]:
    """Yields the parameters of stubs as filter fields: name, kind, meaning, and the path of the value in `params`."""
    for param, (kind, meaning) in _PARAMS.items():
        of_value = kind if kind is not Kind.HANDLE else Kind.GUID
        yield param, of_value, meaning, f"{param}.uuid" if kind is Kind.HANDLE else param
        for part, (part_kind, part_meaning) in _PARTS.get(param, {}).items():
            yield f"{param}.{part}", part_kind, f"{meaning}, {part_meaning}", f"{param}.{part}"


def _without_side(own: Mapping[str, FilterField]) -> Iterator[FilterField]:
    """Yields the filter fields of each side under their name without the side; they have the values of both sides."""
    for name, field in own.items():
        side, _, rest = name.partition(".")
        if side == "request" and rest:
            paths = tuple(f"{one}{field.paths[0].removeprefix(side)}" for one in BOTH_SIDES)
            yield FilterField(rest, field.kind, f"{field.meaning} (either side)", paths, field.choices)


@cache
def call_fields() -> Mapping[str, FilterField]:
    """The fields of calls by name, without those of decoded buffers (`buffer_field`)."""
    own = _by_name(_of_record(CallRecord))
    for side in BOTH_SIDES:
        for name, kind, meaning, at in _params():
            full = f"{side}.params.{name}"
            own[full] = FilterField(full, kind, meaning, (f"{side}.params.{at}",))
    of_either = {field.name: field for field in _without_side(own)}
    short = {field.name: field for field in _SHORT}
    of_a_side = {name: own.pop(name) for name in list(own) if name.startswith(("request.", "response."))}
    return {**own, **of_either, **short, **of_a_side}


def _of_values(kind: type[Struct]) -> dict[str, FilterField]:
    """The filter fields of samples or formatted values that are not those of their calls."""
    own = _by_name(_of_record(kind))
    return {
        name: replace(field, of_value=True) for name, field in own.items() if name.partition(".")[0] not in _OF_ITS_CALL
    }


@cache
def sample_fields() -> Mapping[str, FilterField]:
    """Returns the filter fields of samples by name: their own, and those of their call."""
    own = _of_values(SampleRecord)
    return {**own, **{name: field for name, field in call_fields().items() if name not in own}}


@cache
def counter_fields() -> Mapping[str, FilterField]:
    """Returns the filter fields of formatted values by name: their own, and those of the reading's call."""
    own = _of_values(CounterRecord)
    return {**own, **{name: field for name, field in call_fields().items() if name not in own}}


def buffer_field(name: str) -> FilterField | None:
    """Returns the filter field for decoded lpData with this name: `buffer.` or `response.buffer.`, then names of `ksy/` in order,
    at any depth. None for any other name."""
    for prefix, sides in (
        ("buffer.", BOTH_SIDES),
        ("request.buffer.", ("request",)),
        ("response.buffer.", ("response",)),
    ):
        if name.startswith(prefix):
            steps = name.removeprefix(prefix)
            if all(steps.split(".")):
                return FilterField(name, Kind.ANY, "decoded lpData", tuple(f"{side}.buffer.{steps}" for side in sides))
    return None
