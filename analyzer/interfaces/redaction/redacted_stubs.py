"""Redacts stubs and buffers: returns them without names. Every byte whose meaning is unknown becomes zero.

Numbers, GUIDs and the vocabulary of counters (names and help texts of countersets and counters) stay as they are. Names of
machines, instances, keys and values, and texts, become pseudonyms of the same length. Bytes that belong to no field are not copied.
Nor are records in which reading met damage, and damaged lists of GUIDs: text may stand where numbers are read.
"""

from __future__ import annotations

import re
from typing import Literal

from msgspec.structs import replace

from analyzer.core.absence import Missing
from analyzer.interfaces.buffers.field_map import Field, FieldMap, StubKind, map_fields
from analyzer.interfaces.calls_from_exchanges import interface_facts
from analyzer.interfaces.pcq.perflib_layer import may_answer_validate_counters, perflib_call
from analyzer.interfaces.redaction.pseudonyms import Pseudonyms
from analyzer.interfaces.svcctl.service_layer import service_call
from analyzer.interfaces.winperf.winreg_layer import winreg_call
from analyzer.results.buffer_kinds import BufferKind
from analyzer.results.calls.call import Call, Side
from analyzer.results.methods import perflib, scmr, winreg
from analyzer.results.reported_names.counter_name_tables import is_index

SideName = Literal["request", "response"]
# Buffers whose texts are the vocabulary of counters.
_VOCABULARY = frozenset(("string", "string-table", "name-table", "counterset-info", "counter-info"))
# Values of HKEY_PERFORMANCE_DATA (winperf): what is asked for, not how anybody calls it; and the keys of the name tables.
_PERFORMANCE_VALUE = re.compile(r"(?i)(global|costly|(counter|explain|help)( ?[0-9a-f]{3})?|[\d ]+)\0*")
_PERFORMANCE_KEY = re.compile(
    r"(?i)\\?software\\microsoft\\windows nt\\currentversion\\perflib(\\[0-9a-f]{3}|\\currentlanguage)?\0*"
)
_TABLE_VALUE = re.compile(r"(?i)(counter|explain|help)( ?[0-9a-f]{3})?\0*")
_REG_TEXT, _REG_NUMBERS = (1, 2, 6, 7), (4, 5, 11)


def redacted_call(call: Call, names: Pseudonyms) -> dict[SideName, bytes | None]:
    """Returns the redacted stubs of a call that has not been decoded. In stubs of other interfaces only the status at the end of a
    response is known: the rest becomes zeros."""
    if call.opnum is None and (answer := _answer_in_doubt(call, names)) is not None:
        return {"request": _zeros(call.request), "response": answer}
    candidates = [call]
    if call.interface.uuid is None:
        # Later, the stubs show which interface it is. Here too, the one that has the method and reads both stubs decides.
        known = [interface for interface in (perflib.INTERFACE, winreg.INTERFACE) if call.opnum in _STUBS[interface][1]]
        candidates = [_as(call, interface, syntax) for syntax in _SYNTAXES for interface in known]
    for candidate in candidates:
        if (decode := _DECODERS.get(candidate.interface.uuid or "")) is not None:
            decoded = decode(candidate)
            sides = (decoded.request, decoded.response)
            if candidate is call or all(side is None or side.problem is None for side in sides):
                return {
                    "request": _stub(decoded, decoded.request, "request", names),
                    "response": _stub(decoded, decoded.response, "response", names),
                }
    return {"request": _zeros(call.request), "response": _with_status(_zeros(call.response), call)}


def _answer_in_doubt(call: Call, names: Pseudonyms) -> bytes | None:
    """Returns the redacted answer of a call whose request was lost, if it may be one of ValidateCounters; else None. As zeros it
    would show that the handles are as before."""
    if call.interface.uuid not in (None, perflib.INTERFACE) or not may_answer_validate_counters(call):
        return None
    validated = replace(_as(call, perflib.INTERFACE, call.syntax or "ndr"), opnum=perflib.Opnum.VALIDATE_COUNTERS)
    decoded = perflib_call(validated)
    if decoded.response is None:
        return None
    return _stub(decoded, replace(decoded.response, buffer_kind="identifiers"), "response", names)


# The decoder for the calls of each interface.
_DECODERS = {perflib.INTERFACE: perflib_call, winreg.INTERFACE: winreg_call, scmr.INTERFACE: service_call}


_SYNTAXES: tuple[Literal["ndr", "ndr64"], ...] = ("ndr", "ndr64")


def _as(call: Call, interface: str, syntax: Literal["ndr", "ndr64"]) -> Call:
    return replace(call, interface=interface_facts(interface, (1, 0), is_recognised=True), syntax=syntax)


def _zeros(side: Side | None) -> bytes | None:
    return bytes(len(side.stub)) if side is not None and not isinstance(side.stub, Missing) else None


def _with_status(stub: bytes | None, call: Call) -> bytes | None:
    """Returns a redacted response of zeros, with the status at its end if the method returns one."""
    if stub is None or call.status is None or call.response is None:
        return stub
    return stub[:-4] + call.status.to_bytes(4, "big" if call.response.big_endian else "little")


# By interface: the name of its stubs in the layouts, and the methods that these describe.
_STUBS: dict[str, tuple[Literal["perflib-v2", "winreg", "svcctl"], frozenset[int]]] = {
    perflib.INTERFACE: ("perflib-v2", frozenset(perflib.Opnum)),
    winreg.INTERFACE: ("winreg", frozenset(winreg.WinregOpnum)),
    scmr.INTERFACE: ("svcctl", frozenset(scmr.ScmrOpnum)),
}


def _stub(call: Call, side: Side | None, name: SideName, names: Pseudonyms) -> bytes | None:
    if side is None or isinstance(side.stub, Missing):
        return None
    stub = side.stub.data
    out = bytearray(len(stub))
    if call.opnum is None or (name == "response" and call.fault is not None):
        return bytes(out)
    interface, opnums = _STUBS[call.interface.uuid or ""]
    if call.opnum in opnums:
        kind = StubKind(interface, call.opnum, name, call.syntax == "ndr64", side.big_endian)
        fields = map_fields(kind, stub)
        if call.is_winreg and (value := _value_name(call)) is not None and _PERFORMANCE_VALUE.fullmatch(value):
            _copy(fields, out, stub, names, keep=_PERFORMANCE_VALUE, big_endian=side.big_endian)
        else:
            _copy(fields, out, stub, names, keep=_PERFORMANCE_KEY, big_endian=side.big_endian)
    if not call.is_perflib and name == "response":
        # Every method of [MS-RRP] and [MS-SCMR] returns a Win32 code, the last thing in its response.
        end = side.stub_length
        out[max(end - 4, 0) : end] = stub[max(end - 4, 0) : end]
    if side.buffer_span is not None:
        start, stop = side.buffer_span
        out[start:stop] = _content(call, side, stub[start:stop], names)
    return bytes(out)


def _content(call: Call, side: Side, data: bytes, names: Pseudonyms) -> bytes:
    """Returns the redacted content of a buffer parameter."""
    if call.is_perflib:
        return (
            redacted_buffer(side.buffer_kind, data, names, big_endian=side.big_endian)
            if side.buffer_kind
            else bytes(len(data))
        )
    value = _value_name(call)
    if data[:8] in winreg.SIGNATURES:
        return redacted_buffer("winperf", data, names)
    kind = side.params.get("lpType", call.request.params.get("dwType") if call.request is not None else None)
    if value is not None and _TABLE_VALUE.fullmatch(value) and _is_name_table(data):
        return data
    if kind in _REG_NUMBERS:
        return data
    if kind in _REG_TEXT and len(data) % 2 == 0:
        return _pseudonym(data.decode("utf-16-le", "surrogatepass"), len(data), names, "utf-16-le")
    return bytes(len(data))


def _is_name_table(data: bytes) -> bool:
    """Whether a buffer is a table of counter indices and names. It holds no names to redact."""
    indices = data.decode("utf-16-le", "replace").split("\0")[::2]
    return all(not index or is_index(index) for index in indices)


def _value_name(call: Call) -> str | None:
    value = call.request.params.get("lpValueName") if call.request is not None else None
    return value if isinstance(value, str) else None


def redacted_buffer(kind: BufferKind, data: bytes, names: Pseudonyms, *, big_endian: bool | None = None) -> bytes:
    """Returns a buffer of this kind without names, redacted."""
    out = bytearray(len(data))
    fields = map_fields(kind, data, big_endian=big_endian)
    if kind == "guids" and fields.damaged:
        return bytes(out)  # any 16 bytes of a text read as a GUID
    _copy(fields, out, data, names, keep=_EVERYTHING if kind in _VOCABULARY else _NOTHING, big_endian=bool(big_endian))
    return bytes(out)


_EVERYTHING, _NOTHING = re.compile(r"(?s).*"), re.compile(r"(?!)")


def _copy(
    fields: FieldMap, out: bytearray, data: bytes, names: Pseudonyms, *, keep: re.Pattern[str], big_endian: bool
) -> None:
    """Copies values of fields into a redacted buffer; text that does not match `keep` becomes a pseudonym.

    Records that did not read to their end are not copied: where a list is damaged, text may stand in place of numbers.
    """
    damaged = [record for path in fields.damaged if (record := _record_at(fields.root, path)) is not None]
    for leaf in fields.root.leaves():
        start, stop = leaf.start, leaf.start + leaf.length
        if leaf.type == "bytes" or leaf.children or any(one.start <= start < one.stop for one in damaged):
            continue
        value = leaf.value
        if (
            isinstance(value, str)
            and not leaf.type.endswith(("guid", "uuid"))
            and value != "PERF"
            and not keep.fullmatch(value)
        ):
            raw = data[start:stop]
            encoding = next(
                (one for one in _encodings(big_endian) if raw.startswith(value.encode(one, "surrogatepass"))), None
            )
            if encoding is not None:
                out[start:stop] = _pseudonym(value, leaf.length, names, encoding)
        else:
            out[start:stop] = data[start:stop]


def _record_at(root: Field, path: str) -> Field | None:
    """Returns the field of a stub to redact in which a path leads to damage: the innermost member of a list, else the field below
    the root. None if nothing of it was read."""
    found, at = None, root
    for name in path.removeprefix(f"{root.name}.").split("."):
        child = next((child for child in at.children if child.name == name), None)
        if child is None:
            break
        if found is None or name.endswith("]"):
            found = child
        at = child
    return found


def _encodings(big_endian: bool) -> tuple[str, ...]:
    return ("utf-16-be", "utf-16-le", "utf-8") if big_endian else ("utf-16-le", "utf-16-be", "utf-8")


def _pseudonym(text: str, length: int, names: Pseudonyms, encoding: str) -> bytes:
    """Returns the pseudonym of a text for a redacted field of `length` bytes, padded with zeros."""
    return names.name(text).encode(encoding, "surrogatepass")[:length].ljust(length, b"\0")
