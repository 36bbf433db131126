"""Decodes RPC stubs of PerflibV2, winreg and svcctl to parameters by their IDL names (MS-PCQ 3.1.4.1; MS-RRP 3.1.5; MS-SCMR
3.1.4)."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Literal

from kaitaistruct import BytesIO, KaitaiStream, KaitaiStruct
from msgspec import Struct

from analyzer.core.errors import DecodeError, MalformedError
from analyzer.core.printable_text import guid_text
from analyzer.core.traced_bytes import TracedBytes
from analyzer.interfaces.buffers._compiled import FieldSpec, parser, type_of
from analyzer.interfaces.buffers.compiled_values import (
    PARSER_ERRORS,
    Encoding,
    JsonValue,
    guid_of,
    is_guid,
    located,
    unfinished_in,
)
from analyzer.interfaces.buffers.windows_text import code_page_text, utf16_text

Interface = Literal["perflib-v2", "winreg", "svcctl"]
Side = Literal["request", "response"]
_SPECS = {"perflib-v2": "ms_pcq_stubs", "winreg": "ms_rrp_stubs", "svcctl": "ms_scmr_stubs"}


class ArrayLayout(Struct, frozen=True):
    """The NDR counts of the array that carries lpData. `offset` and `actual_count` are None for an array without them."""

    max_count: int
    offset: int | None
    actual_count: int | None


class StubDecode(Struct, frozen=True):
    """A decoded RPC stub. `data` is the content of lpData (None if there is no lpData, or it is a null pointer), `data_start` its
    offset."""

    params: dict[str, Any]
    data: bytes | None
    data_start: int
    status: int | None
    consumed: int
    layout: ArrayLayout | None
    notes: tuple[str, ...]


def decode_stub(
    interface: Interface, opnum: int, side: Side, data: bytes, *, ndr64: bool = False, big_endian: bool = False
) -> StubDecode:
    """Decodes an RPC stub without authentication padding and verification trailer. Raises a located DecodeError if it cannot; its
    `params` are those read before."""
    if interface == "perflib-v2" and not ndr64 and not big_endian:
        common = _common_stub(opnum, side, data)
        if common is not None:
            return common
    return compiled_stub(interface, opnum, side, data, ndr64=ndr64, big_endian=big_endian)


class StubPlaces(Struct, frozen=True):
    """A decoded RPC stub without its array. `data` is where lpData starts and stops, None if there is none."""

    params: dict[str, Any]
    data: tuple[int, int] | None
    status: int | None
    consumed: int


def stub_places(
    interface: Interface, opnum: int, side: Side, stub: TracedBytes, *, ndr64: bool = False, big_endian: bool = False
) -> StubPlaces:
    """Decodes an RPC stub to its places; of a long stub only both ends if possible. Requests that are alike share one `params`
    object."""
    length = len(stub)
    if interface == "perflib-v2" and side == "response" and opnum in _SIZED and not ndr64 and not big_endian:
        data = stub.data if length <= _SHORT_ANSWER else None
        numbers = None
        if length >= _SHORTEST_ANSWER:
            numbers = _ANSWER.unpack_from(data if data is not None else stub.part(0, _ANSWER.size))
        if numbers is not None and (end := _answer_end(numbers, length)) is not None:
            status = int.from_bytes(data[end - 4 : end] if data is not None else stub.part(end - 4, end), "little")
            params = {"pdwOutSize": numbers[0], "pdwRtnSize": numbers[1]}
            return StubPlaces(params, (_ANSWER.size, _ANSWER.size + numbers[4]), status, end)
    if side == "request" and length <= _SHORT_REQUEST:
        return _known_places(interface, opnum, side, stub.data, ndr64, big_endian)
    return _places(interface, opnum, side, stub.data, ndr64, big_endian)


def _places(interface: Interface, opnum: int, side: Side, data: bytes, ndr64: bool, big_endian: bool) -> StubPlaces:
    decoded = decode_stub(interface, opnum, side, data, ndr64=ndr64, big_endian=big_endian)
    start = decoded.data_start
    where = None if decoded.data is None else (start, start + len(decoded.data))
    return StubPlaces(decoded.params, where, decoded.status, decoded.consumed)


# Pollers send the same request again and again. Answers up to the second length are read at once.
_SHORT_REQUEST, _SHORT_ANSWER = 64, 4096
_known_places = lru_cache(maxsize=1024)(_places)


def compiled_stub(
    interface: Interface, opnum: int, side: Side, data: bytes, *, ndr64: bool = False, big_endian: bool = False
) -> StubDecode:
    """Decodes an RPC stub like `decode_stub`, but only with the compiled parser."""
    stub, error, notes = parse_stub(interface, opnum, side, data, ndr64=ndr64, big_endian=big_endian)
    body = getattr(stub, side, None)
    found = _ReadParameters(Encoding(big_endian), unfinished_in(stub) if error is not None else ())
    if isinstance(body, KaitaiStruct):
        found.visit(body)
    if error is not None:
        error.params = found.params
        raise error
    return StubDecode(found.params, found.data, found.data_start, found.status, stub._io.pos(), found.layout, notes)


# Methods whose answers begin with two lengths; and the beginnings of the stubs that collectors send and get all day.
_SIZED = (1, 2, 5, 6)
_HANDLE = struct.Struct("<I16s")
_HANDLE_QUERY = struct.Struct("<I16sI")
_ANSWER = struct.Struct("<5I")
_SHORTEST_ANSWER = _ANSWER.size + 4
_NAME = struct.Struct("<3I")
_COUNTERSET = struct.Struct("<16sI")
_REGISTRATION = struct.Struct("<16s3I")


def _common_stub(opnum: int, side: Side, data: bytes) -> StubDecode | None:
    """Decodes the stubs that collectors send and get all day (opnums 1 to 7), little-endian NDR20. None: the parser must read it.

    Raises what the parser raises if an array contradicts itself.
    """
    if opnum == 7:
        return _common_validation(side, data)
    if opnum == 4 or (opnum == 3 and side == "response"):
        return _common_handle(side, data)
    if opnum not in _SIZED:
        return None
    if side == "response":
        return _common_answer(data)
    if opnum in (5, 6):
        if len(data) < _HANDLE_QUERY.size:
            return None
        attributes, handle, in_size = _HANDLE_QUERY.unpack_from(data)
        params = {"hQuery": {"attributes": attributes, "uuid": guid_text(handle)}, "dwInSize": in_size}
        return StubDecode(params, None, 0, None, _HANDLE_QUERY.size, None, ())
    return _common_question(opnum, data)


def _common_answer(data: bytes) -> StubDecode | None:
    """Decodes stubs of answers of opnums 1, 2, 5 and 6: two lengths, the array, the status."""
    if len(data) < _SHORTEST_ANSWER:
        return None
    numbers = _ANSWER.unpack_from(data)
    end = _answer_end(numbers, len(data))
    if end is None:
        return None
    out_size, rtn_size, room, offset, count = numbers
    return StubDecode(
        {"pdwOutSize": out_size, "pdwRtnSize": rtn_size},
        data[_ANSWER.size : _ANSWER.size + count],
        _ANSWER.size,
        int.from_bytes(data[end - 4 : end], "little"),
        end,
        ArrayLayout(room, offset, count),
        (),
    )


def _common_handle(side: Side, data: bytes) -> StubDecode | None:
    """Decodes stubs with a handle: answers of opnum 3, requests and answers of opnum 4. An answer also has the status."""
    size = _HANDLE.size + 4 if side == "response" else _HANDLE.size
    if len(data) < size:
        return None
    attributes, handle = _HANDLE.unpack_from(data)
    status = int.from_bytes(data[_HANDLE.size : size], "little") if side == "response" else None
    params = {"phQuery": {"attributes": attributes, "uuid": guid_text(handle)}}
    return StubDecode(params, None, 0, status, size, None, ())


def _common_validation(side: Side, data: bytes) -> StubDecode | None:
    """Decodes the usual stubs of opnum 7: in a request a handle and a length, then the array and a number."""
    start = (_HANDLE_QUERY.size if side == "request" else 0) + 4
    count = int.from_bytes(data[start - 4 : start], "little")
    stop = start + count
    end = stop + -stop % 4 + 4
    if end > len(data):
        return None
    last = int.from_bytes(data[end - 4 : end], "little")
    params: dict[str, Any] = {}
    if side == "request":
        attributes, handle, in_size = _HANDLE_QUERY.unpack_from(data)
        params = {"hQuery": {"attributes": attributes, "uuid": guid_text(handle)}, "dwInSize": in_size, "dwAdd": last}
    layout = ArrayLayout(count, None, None)
    return StubDecode(params, data[start:stop], start, last if side == "response" else None, end, layout, ())


def _answer_end(numbers: tuple[int, ...], length: int) -> int | None:
    """Returns where the answer stub of `length` bytes that begins with these numbers ends. None: the parser must read it."""
    _, _, room, offset, count = numbers
    if offset or count > room:
        # No such array is allowed (C706 14.3.3.4), and a server that sends one does so in each of its answers.
        reason, field = (
            (f"{offset} where only 0 is allowed", "offset") if offset else (f"{count} is above {room}", "actual_count")
        )
        error = MalformedError(reason, field=f"response.lp_data.{field}", start=12 if offset else 16, stop=length)
        error.params = {"pdwOutSize": numbers[0], "pdwRtnSize": numbers[1]}
        raise error
    stop = _ANSWER.size + count
    end = stop + -stop % 4 + 4
    return end if end <= length else None


def _common_question(opnum: int, data: bytes) -> StubDecode | None:
    """Decodes the usual request stubs of opnums 1 and 2: the name of the server, and the question about a counterset."""
    if len(data) < _NAME.size:
        return None
    room, offset, count = _NAME.unpack_from(data)
    stop = _NAME.size + 2 * count
    at = stop + -stop % 4
    rest = _REGISTRATION if opnum == 1 else _COUNTERSET
    if offset or count > room or at + rest.size > len(data):
        return None
    guid, *numbers = rest.unpack_from(data, at)
    names = ("RequestCode", "RequestLCID", "dwInSize") if opnum == 1 else ("dwInSize",)
    params = {
        "szMachine": utf16_text(data[_NAME.size : stop]),
        "CounterSetGuid": guid_text(guid),
        **dict(zip(names, numbers, strict=True)),
    }
    return StubDecode(params, None, 0, None, at + rest.size, None, ())


def parse_stub(
    interface: Interface, opnum: int, side: Side, data: bytes, *, ndr64: bool, big_endian: bool
) -> tuple[Any, DecodeError | None, tuple[str, ...]]:
    """Parses an RPC stub with recorded positions, as far as possible. Returns the compiled object, the error that ended it, and
    notes."""
    stub, error = _try_stub(interface, opnum, side, data, ndr64=ndr64, big_endian=big_endian, has_referent=False)
    if error is not None and interface == "perflib-v2" and side == "request":
        # The IDL makes szMachine a reference pointer, which leaves nothing on the wire; a peer that took it for a unique
        # one sends a referent first (MS-PCQ section 6; C706 14.3.10).
        other, failed = _try_stub(interface, opnum, side, data, ndr64=ndr64, big_endian=big_endian, has_referent=True)
        if failed is None:
            return other, None, ("szMachine is preceded by a referent, as if it were a unique pointer",)
    return stub, error, ()


def _try_stub(
    interface: Interface, opnum: int, side: Side, data: bytes, *, ndr64: bool, big_endian: bool, has_referent: bool
) -> tuple[Any, DecodeError | None]:
    """Parses an RPC stub as far as possible. Returns the compiled object, and the error that ended it."""
    stream = KaitaiStream(BytesIO(data))
    arguments = [opnum, side == "response", ndr64, big_endian]
    if interface == "perflib-v2":
        arguments.append(has_referent)
    stub = parser(_SPECS[interface], "positions")(*arguments, stream)
    try:
        stub._read()
    except PARSER_ERRORS as error:
        return stub, located(stub, error, len(data))
    if not hasattr(stub, side) or isinstance(getattr(stub, side), bytes):
        return stub, DecodeError(f"opnum {opnum} is not described", field="opnum")
    return stub, None


# Parameters that no result holds: the password of the account that a service runs as.
_SECRET = frozenset({"lpPassword"})
# Parameters with parameters of their own.
_STRUCTURES = frozenset({"MsScmrStubs.ServiceStatus", "MsScmrStubs.ServiceConfig"})


class _ReadParameters:
    """Collects the parameters of a compiled stub that were read to their end.

    `unfinished` are the objects in which reading ended, by identity.
    """

    def __init__(self, reading: Encoding, unfinished: Iterable[int]) -> None:
        self.reading = reading
        self.unfinished = frozenset(unfinished)
        self.params: dict[str, JsonValue] = {}
        self.data: bytes | None = None
        self.data_start = 0
        self.status: int | None = None
        self.layout: ArrayLayout | None = None

    def visit(self, body: Any) -> None:
        for field in type_of(body).fields:
            value = getattr(body, field.name, None)
            if not self._was_read(body, field) and type(value).__qualname__ not in _STRUCTURES:
                continue
            if field.name == "status":
                self.status = value
            elif field.spelling in ("lpData", "lpvalueBuf"):
                self._array(
                    value if type(value).__qualname__ != "MsRrpStubs.OptionalData" else getattr(value, "array", None)
                )
            elif field.spelling in _SECRET:
                continue
            elif not field.is_filler:
                self.params[field.spelling] = self._value(value)

    def _was_read(self, body: Any, field: FieldSpec) -> bool:
        return id(body) not in self.unfinished or "end" in body._debug.get(field.name, ())

    def _array(self, array: Any) -> None:
        if array is None:
            return
        self.data = array.data
        self.data_start = array._debug["data"]["start"]
        self.layout = ArrayLayout(array.max_count, getattr(array, "offset", None), getattr(array, "actual_count", None))

    def _value(self, value: Any) -> JsonValue:
        if value is None or isinstance(value, int):
            return None if value is None else int(value)
        if is_guid(value):
            return guid_of(value)
        match type(value).__qualname__:
            case "Ndr.ContextHandle":
                return {"attributes": value.attributes, "uuid": guid_of(value.uuid)}
            case "MsScmrStubs.NarrowText":
                return code_page_text(value.string.data, 1252)
            case "MsScmrStubs.OptionalData":
                array = getattr(value, "array", None)
                return None if array is None else array.data.hex()
            case "MsScmrStubs.Arguments":
                array = getattr(value, "array", None)
                return None if array is None else [self._value(one) for one in array.strings]
            case "MsScmrStubs.Argument":
                return self._value(getattr(value, "wide", None) or getattr(value, "narrow", None))
            case name if name in _STRUCTURES:
                fields = [
                    field
                    for field in type_of(value).fields
                    if not field.is_filler and field.spelling[0] != "(" and self._was_read(value, field)
                ]
                return {field.spelling: self._value(getattr(value, field.name, None)) for field in fields}
            case "MsPcqStubs.MachineName" | "MsRrpStubs.UnicodeString" | "MsScmrStubs.Text":
                string = getattr(value, "string", None)
                return None if string is None else utf16_text(string.data, big_endian=self.reading.big_endian)
            case "MsRrpStubs.Filetime":
                return int(value.high << 32 | value.low)
            case "MsRrpStubs.SecurityAttributes":
                inside = getattr(value, "value", None)
                if inside is None:
                    return None
                return {
                    "nLength": inside.length,
                    "cbOutSecurityDescriptor": inside.descriptor_len,
                    "bInheritHandle": inside.inherit,
                }
            case "MsRrpStubs.RvalentArray":
                return [
                    {
                        "ve_valuename": self._value(getattr(referents, "value_name", None)),
                        "ve_valuelen": entry.value_len,
                        "ve_valueptr": self._value(getattr(referents, "value_ptr", None)),
                        "ve_type": int(entry.value_type),
                    }
                    for entry, referents in zip(value.entries, value.referents, strict=True)
                ]
        # The rest are unique pointers to the types above and to integers, and integers with alignment.
        return self._value(getattr(value, "value", None))
