"""Decodes RPC stubs of PerflibV2, winreg and svcctl to parameters by their IDL names (MS-PCQ 3.1.4.1; MS-RRP 3.1.5; MS-SCMR
3.1.4)."""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import Any, Literal

from msgspec import Struct

from analyzer.core.errors import MalformedError
from analyzer.core.printable_text import guid_text
from analyzer.core.traced_bytes import TracedBytes
from analyzer.interfaces import buffers
from analyzer.interfaces.buffers.windows_text import utf16_text

Interface = Literal["perflib-v2", "winreg", "svcctl"]
Side = Literal["request", "response"]


class ArrayLayout(Struct, frozen=True):
    """The NDR counts of the array in a decoded stub that carries lpData. `offset` and `actual_count` are None for an array without
    them."""

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
    return buffers.compiled_stub(interface, opnum, side, data, ndr64=ndr64, big_endian=big_endian)


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
        if numbers is not None and (end := _answer_end(numbers, length, _SIZED[opnum])) is not None:
            status = int.from_bytes(data[end - 4 : end] if data is not None else stub.part(end - 4, end), "little")
            params = {"pdwOutSize": numbers[0], "pdwRtnSize": numbers[1]}
            return StubPlaces(params, (_ANSWER.size, _ANSWER.size + _SIZED[opnum] * numbers[4]), status, end)
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


# Methods whose answers begin with two lengths, and the bytes of an element of their array.
_SIZED = {0: 16, 1: 1, 2: 1, 5: 1, 6: 1}
# The beginnings of the stubs that collectors send and get all day.
_HANDLE = struct.Struct("<I16s")
_HANDLE_QUERY = struct.Struct("<I16sI")
_ANSWER = struct.Struct("<5I")
_SHORTEST_ANSWER = _ANSWER.size + 4
_NAME = struct.Struct("<3I")
# What follows the name of the server in a question: its format, and the numbers in it behind the GUID of a counterset, if any.
_QUESTIONS: dict[int, tuple[struct.Struct, tuple[str, ...]]] = {
    0: (struct.Struct("<I"), ("dwInSize",)),
    1: (struct.Struct("<16s3I"), ("CounterSetGuid", "RequestCode", "RequestLCID", "dwInSize")),
    2: (struct.Struct("<16sI"), ("CounterSetGuid", "dwInSize")),
    3: (struct.Struct("<"), ()),
}


def _common_stub(opnum: int, side: Side, data: bytes) -> StubDecode | None:
    """Decodes the stubs that collectors send and get all day, little-endian NDR20. None: it is left to `compiled_stubs`.

    Raises what the parser raises if an array contradicts itself.
    """
    if opnum == 7:
        return _common_validation(side, data)
    if opnum == 4 or (opnum == 3 and side == "response"):
        return _common_handle(side, data)
    if side == "response":
        return _common_answer(data, _SIZED[opnum]) if opnum in _SIZED else None
    if opnum in (5, 6):
        if len(data) < _HANDLE_QUERY.size:
            return None
        attributes, handle, in_size = _HANDLE_QUERY.unpack_from(data)
        params = {"hQuery": {"attributes": attributes, "uuid": guid_text(handle)}, "dwInSize": in_size}
        return StubDecode(params, None, 0, None, _HANDLE_QUERY.size, None, ())
    return _decode_usual_request(opnum, data) if opnum in _QUESTIONS else None


def _common_answer(data: bytes, element: int) -> StubDecode | None:
    """Decodes stubs of answers of opnums 0, 1, 2, 5 and 6: two lengths, the array, the status."""
    if len(data) < _SHORTEST_ANSWER:
        return None
    numbers = _ANSWER.unpack_from(data)
    end = _answer_end(numbers, len(data), element)
    if end is None:
        return None
    out_size, rtn_size, room, offset, count = numbers
    return StubDecode(
        {"pdwOutSize": out_size, "pdwRtnSize": rtn_size},
        data[_ANSWER.size : _ANSWER.size + element * count],
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


def _answer_end(numbers: tuple[int, ...], length: int, element: int) -> int | None:
    """Decodes where an answer stub of `length` bytes ends that begins with these numbers. None: it is left to `compiled_stubs`."""
    _, _, room, offset, count = numbers
    if offset or count > room:
        # No such array is allowed (C706 14.3.3.4), and a server that sends one does so in each of its answers.
        reason, field = (
            (f"{offset} where only 0 is allowed", "offset") if offset else (f"{count} is above {room}", "actual_count")
        )
        error = MalformedError(reason, field=f"response.lp_data.{field}", start=12 if offset else 16, stop=length)
        error.params = {"pdwOutSize": numbers[0], "pdwRtnSize": numbers[1]}
        raise error
    stop = _ANSWER.size + element * count
    end = stop + -stop % 4 + 4
    return end if end <= length else None


def _decode_usual_request(opnum: int, data: bytes) -> StubDecode | None:
    """Decodes a request stub of opnums 0 to 3 to its parameters, if it is a usual one: the name of the server, and what is asked of
    it. None: it is left to `compiled_stubs`."""
    if len(data) < _NAME.size:
        return None
    room, offset, count = _NAME.unpack_from(data)
    stop = _NAME.size + 2 * count
    rest, names = _QUESTIONS[opnum]
    at = stop + -stop % 4 if names else stop
    if offset or count > room or at + rest.size > len(data):
        return None
    asked: dict[str, Any] = dict(zip(names, rest.unpack_from(data, at), strict=True))
    if "CounterSetGuid" in asked:
        asked["CounterSetGuid"] = guid_text(asked["CounterSetGuid"])
    params = {"szMachine": utf16_text(data[_NAME.size : stop]), **asked}
    return StubDecode(params, None, 0, None, at + rest.size, None, ())
