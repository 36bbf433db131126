"""Calls of the remote registry: exchanges in, `WinregCall` out ([MS-RRP] section 3.1.5); everything else passes unchanged.

Reads of HKEY_PERFORMANCE_DATA are tied to the handle they use. A client cannot know how large the answer will be, so it tries
with growing buffers while the server says ERROR_MORE_DATA; the attempts of one read share a read number.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from analyzer.buffers import decode_buffer, decode_stub
from analyzer.core.absence import Missing
from analyzer.core.errors import DecodeError
from analyzer.core.events import Event
from analyzer.packet.segment import Endpoint
from analyzer.rpc.call import Call, CallSide, decoded_call, handle_of, plain_side, trimmed
from analyzer.rpc.events import Exchange, Message
from analyzer.rpc.interfaces import method_name
from analyzer.winperf.identity import (
    ERROR_MORE_DATA,
    ERROR_SUCCESS,
    INTERFACE,
    NAME,
    PERFORMANCE_KEYS,
    REG_MULTI_SZ,
    Opnum,
)
from analyzer.winperf.names import NameTables, is_index, table_language

_SIGNATURES = ("PERF".encode("utf-16-le"), "PERF".encode("utf-16-be"))
_OPNUMS = frozenset(Opnum)


class PerformanceRead(Struct, frozen=True):
    """A read of a performance value: `number` counts reads from 1, `attempt` the tries of this one from 1.

    `key` is the predefined key the handle was opened as, None where its opening was not captured.
    """

    number: int
    attempt: int
    key: str | None
    handle: str
    value_name: str


class WinregCall(Call, frozen=True):
    """A remote-registry call. `read` is set for reads of performance values, `key` for calls on a performance handle.

    `key_number` counts the key handles of the capture from 1, for calls that use or give out one.
    """

    read: PerformanceRead | None = None
    key: str | None = None
    key_number: int | None = None


class WinregLayer:
    """Decodes winreg exchanges and follows performance keys, reads and name tables."""

    def __init__(self) -> None:
        self.names = NameTables()
        self._keys: dict[tuple[str, str], str] = {}
        self._numbers: dict[tuple[str, str], int] = {}
        self._count = 0
        self._open_reads: dict[tuple[str, str], PerformanceRead] = {}
        self._reads = 0

    def feed(self, event: Event) -> Iterator[Event]:
        if isinstance(event, Exchange) and event.interface == INTERFACE:
            yield self._call(event)
        else:
            yield event

    def finish(self) -> Iterator[Event]:
        return iter(())

    def _call(self, exchange: Exchange) -> WinregCall:
        opnum = exchange.opnum
        request = _side(exchange.request, opnum, "request", exchange)
        if exchange.fault is None:
            response = _side(exchange.response, opnum, "response", exchange)
        else:
            response = plain_side(exchange.response)
        method = method_name(INTERFACE, opnum) if opnum is not None else None
        return self._followed(decoded_call(WinregCall, exchange, (NAME, method), request, response))

    def _followed(self, call: WinregCall) -> WinregCall:
        server, opnum = call.exchange.channel.server, call.exchange.opnum
        handle = handle_of(call.request, "hKey")
        place = (server.ip, handle) if handle is not None else None
        key = self._keys.get(place) if place is not None else None
        number = self._number(place) if place is not None else None
        read = None
        if opnum in PERFORMANCE_KEYS:
            key = PERFORMANCE_KEYS[Opnum(opnum)]
            given = handle_of(call.response, "phKey")
            if given is not None and call.status == ERROR_SUCCESS:
                self._forget((server.ip, given))
                self._numbers.pop((server.ip, given), None)
                self._keys[server.ip, given] = key
                number = self._number((server.ip, given))
        elif opnum == Opnum.BASE_REG_CLOSE_KEY and place is not None:
            if call.status == ERROR_SUCCESS:
                self._forget(place)
        elif opnum == Opnum.BASE_REG_QUERY_VALUE and place is not None and handle is not None:
            value = call.request.params.get("lpValueName") if call.request is not None else None
            kind = _kind_of(value, key, call)
            if isinstance(value, str) and (key is not None or kind is not None):
                read = self._read(place, key, handle, value, call.status)
                call = _with_kind(call, kind)
                if call.status == ERROR_SUCCESS and kind == "name-table":
                    self._learn(server, table_language(value, key), call.response)
        elif opnum == Opnum.BASE_REG_ENUM_VALUE and call.response is not None:
            call = _with_kind(call, _kind_of(call.response.params.get("lpValueNameOut"), key, call))
        return replace(call, read=read, key=key, key_number=number)

    def _number(self, place: tuple[str, str]) -> int:
        """The number of a handle, a new one where it was not seen before."""
        if place not in self._numbers:
            self._count += 1
            self._numbers[place] = self._count
        return self._numbers[place]

    def _forget(self, place: tuple[str, str]) -> None:
        """A handle is no more. It keeps its number until it is given out anew."""
        self._keys.pop(place, None)
        self._open_reads.pop(place, None)

    def _read(
        self, place: tuple[str, str], key: str | None, handle: str, value: str, status: int | None
    ) -> PerformanceRead:
        """The attempt that a call is: the next of a read the server found the buffer too small for, else of a new read."""
        earlier = self._open_reads.pop(place, None)
        if earlier is not None and earlier.value_name.casefold() == value.casefold():
            read = PerformanceRead(earlier.number, earlier.attempt + 1, key, handle, value)
        else:
            self._reads += 1
            read = PerformanceRead(self._reads, 1, key, handle, value)
        if status == ERROR_MORE_DATA:
            self._open_reads[place] = read
        return read

    def _learn(self, server: Endpoint, table: tuple[str, str] | None, response: CallSide | None) -> None:
        if table is None or table[0] != "counter" or response is None or response.buffer is None:
            return
        decoded = decode_buffer("name-table", response.buffer.data)
        entries = {}
        for row in decoded.tree.get("entries", ()):
            index, text = row.get("index"), row.get("text")
            if index is not None and is_index(index) and text is not None:
                entries[int(index)] = text
        # The first pair of a Windows table holds the highest index in use, not a name (winperf.h reference).
        entries.pop(1, None)
        self.names.of(server).learn(table[1], entries)


def _kind_of(value: Any, key: str | None, call: WinregCall) -> str | None:
    """What the data of a value is laid out as: told by its first bytes, or by the value's name."""
    response = call.response
    if response is None or response.buffer is None or not isinstance(value, str):
        return None
    if response.buffer.data[:8] in _SIGNATURES:
        return "winperf"
    # What comes with an error is not the value ([MS-RRP] section 3.1.5.17).
    if call.status != ERROR_SUCCESS:
        return None
    if table_language(value, key) is not None:
        # Where the opening of the key was not captured, the type must agree with the name.
        return "name-table" if key is not None or response.params.get("lpType") == REG_MULTI_SZ else None
    # A block cut below its signature is still a block where the key says so; it is then shown as truncated.
    return "winperf" if key is not None else None


def _with_kind(call: WinregCall, kind: str | None) -> WinregCall:
    side = call.response
    if side is None or kind is None:
        return call
    return replace(call, response=replace(side, buffer_kind=kind))


def _side(
    message: Message | None, opnum: int | None, side: Literal["request", "response"], exchange: Exchange
) -> CallSide | None:
    if message is None:
        return None
    stub = message.stub
    if isinstance(stub, Missing) or opnum is None:
        return CallSide(message, stub, {})
    if opnum not in _OPNUMS:
        # Every method of [MS-RRP] returns an error_status_t, the last thing in its response.
        params: dict[str, Any] = {}
        if side == "response" and len(stub) >= 4 and not message.big_endian:
            params["ReturnValue"] = int.from_bytes(stub.data[-4:], "little")
        return CallSide(message, stub, params)
    try:
        decoded = decode_stub(
            "winreg", opnum, side, stub.data, ndr64=exchange.syntax == "ndr64", big_endian=message.big_endian
        )
    except DecodeError as error:
        return CallSide(message, stub, {}, trouble=error.alone())
    params = dict(decoded.params)
    if decoded.status is not None:
        params["ReturnValue"] = decoded.status
    stub = trimmed(stub, decoded.consumed, has_trailer=message.trailer is not None)
    buffer = None
    if decoded.data and side == "response":
        buffer = stub.view(decoded.data_start, decoded.data_start + len(decoded.data))
    return CallSide(message, stub, params, buffer)
