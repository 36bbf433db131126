"""Calls of the remote registry: exchanges in, decoded calls out ([MS-RRP] section 3.1.5); everything else passes unchanged.

Reads of HKEY_PERFORMANCE_DATA are tied to the handle they use. A client cannot know how large the answer will be, so it tries
with growing buffers while the server says ERROR_MORE_DATA; the attempts of one read share a read number.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, ClassVar

from msgspec.structs import replace

from analyzer.core.events import Event
from analyzer.core.session_and_handle_numbers import Numbers
from analyzer.interfaces import buffers
from analyzer.interfaces.buffers.stub_decoding import decode_stub
from analyzer.interfaces.calls_from_exchanges import decoded_call, decoded_side, plain_call
from analyzer.results.buffer_kinds import BufferKind
from analyzer.results.calls.call import Call, PerformanceRead, Side, SideName, handle_of
from analyzer.results.methods.winreg import (
    ERROR_MORE_DATA,
    ERROR_SUCCESS,
    INTERFACE,
    PERFORMANCE_KEYS,
    PREDEFINED_KEYS,
    REG_MULTI_SZ,
    SIGNATURES,
    WinregOpnum,
)
from analyzer.results.records.record_types import Endpoint
from analyzer.results.reported_names.counter_name_tables import NameTables, is_index, table_language
from analyzer.transport.rpc.exchange_maker import Exchange

# A collector that opens keys without end must not make us hold all their paths; the oldest is forgotten.
MAX_PATHS = 65_536
# Stands for the part of a path whose opening was not captured.
UNKNOWN = "?"


class KeyPaths:
    """The paths of the open registry key handles, by server and handle: `HKLM\\SOFTWARE`."""

    def __init__(self) -> None:
        self._paths: dict[tuple[str, str], str] = {}

    def find(self, place: tuple[str, str] | None) -> str | None:
        return self._paths.get(place) if place is not None else None

    def learn(self, place: tuple[str, str], path: str) -> None:
        self._paths.pop(place, None)
        if len(self._paths) >= MAX_PATHS:
            del self._paths[next(iter(self._paths))]
        self._paths[place] = path

    def forget(self, place: tuple[str, str]) -> None:
        self._paths.pop(place, None)


def below(parent: str | None, sub_key: object) -> str | None:
    """Returns the path of a registry key below another; `UNKNOWN` stands for a parent whose opening was not captured."""
    if not isinstance(sub_key, str):
        return None
    name = sub_key.rstrip("\0").strip("\\")
    base = parent if parent is not None else UNKNOWN
    return f"{base}\\{name}" if name else base


_OPNUMS = frozenset(WinregOpnum)
_OPENING = (WinregOpnum.BASE_REG_OPEN_KEY, WinregOpnum.BASE_REG_CREATE_KEY)
# Methods that name a key below the one whose handle they use.
_BELOW = (*_OPENING, WinregOpnum.BASE_REG_DELETE_KEY, WinregOpnum.BASE_REG_DELETE_KEY_EX, WinregOpnum.BASE_REG_LOAD_KEY)


class WinregLayer:
    """Decodes winreg exchanges, and passes them to a `KeyFollower` for performance keys, reads and name tables."""

    takes: ClassVar[frozenset[type[Event]]] = frozenset({Exchange})

    def __init__(self, follower: KeyFollower | None = None) -> None:
        self.follower = follower or KeyFollower()

    def feed(self, event: Event) -> Iterator[Event]:
        if isinstance(event, Exchange) and event.interface == INTERFACE:
            yield self.follower.followed(winreg_call(plain_call(event)))
        else:
            yield event

    def finish(self) -> Iterator[Event]:
        return iter(())


class KeyFollower:
    """Follows performance keys and reads from one winreg call to the next. Learns name tables in `names`. A call that others may
    have changed teaches no key, no path and no name."""

    def __init__(self, *, learning: bool = True, numbers: Numbers | None = None) -> None:
        """`numbers` numbers registry handles and reads. Without `learning`, the caller passes the calls to `learn`."""
        self.names = NameTables()
        self._learning = learning
        self._keys: dict[tuple[str, str], str] = {}
        self._numbers: dict[tuple[str, str], int] = {}
        self._counting = numbers or Numbers()
        self._paths = KeyPaths()
        self._open_reads: dict[tuple[str, str], PerformanceRead] = {}

    def followed(self, call: Call) -> Call:
        """A decoded winreg call with the key and the read it belongs to."""
        server, opnum = call.server, call.opnum
        handle = handle_of(call.request, "hKey")
        place = (server.ip, handle) if handle is not None else None
        key = self._keys.get(place) if place is not None else None
        number = self._number(place) if place is not None else None
        read = None
        if opnum in PERFORMANCE_KEYS:
            key = PERFORMANCE_KEYS[opnum]
            given = handle_of(call.response, "phKey")
            if given is not None and call.status == ERROR_SUCCESS:
                self._forget((server.ip, given))
                self._numbers.pop((server.ip, given), None)
                if not call.is_altered:
                    self._keys[server.ip, given] = key
                number = self._number((server.ip, given))
        elif opnum == WinregOpnum.BASE_REG_CLOSE_KEY and place is not None:
            if call.status == ERROR_SUCCESS:
                self._forget(place)
        elif opnum == WinregOpnum.BASE_REG_QUERY_VALUE and place is not None and handle is not None:
            value = call.request.params.get("lpValueName") if call.request is not None else None
            kind = _kind_of(value, key, call)
            if isinstance(value, str) and (key is not None or kind is not None):
                read = self._read(place, key, handle, value, call.status)
                call = _with_kind(call, kind)
        elif opnum == WinregOpnum.BASE_REG_ENUM_VALUE and call.response is not None:
            call = _with_kind(call, _kind_of(call.response.params.get("lpValueNameOut"), key, call))
        elif opnum in PREDEFINED_KEYS or opnum in _OPENING:
            given = handle_of(call.response, "phKey") or handle_of(call.response, "phkResult")
            if given is not None and call.status == ERROR_SUCCESS:
                self._forget((server.ip, given))
                self._numbers.pop((server.ip, given), None)
                # No subkey: the key itself is opened again.
                is_same = below("", call.request and call.request.params.get("lpSubKey")) == ""
                if key is not None and is_same and not call.is_altered:
                    self._keys[server.ip, given] = key
                number = self._number((server.ip, given))
        path = self._path(call, place) if key is None else None
        if opnum == WinregOpnum.BASE_REG_CLOSE_KEY and place is not None and call.status == ERROR_SUCCESS:
            self._paths.forget(place)
        call = replace(call, read=read, key=key, key_number=number, path=path)
        if self._learning:
            self.learn(call)
        return call

    def learn(self, call: Call) -> None:
        """Learns counter names if the winreg call's answer is a name table."""
        if holds_names(call):
            assert call.read is not None
            self._learn(call.server, table_language(call.read.value_name, call.read.key), call.response)

    def _path(self, call: Call, place: tuple[str, str] | None) -> str | None:
        """Returns the path of the registry key that a call is about. If the call returns a handle, notes the path for it."""
        server, opnum = call.server, call.opnum
        params = call.request.params if call.request is not None else {}
        if opnum in PREDEFINED_KEYS:
            path: str | None = PREDEFINED_KEYS[opnum]
        elif opnum in _BELOW:
            path = below(self._paths.find(place), params.get("lpSubKey"))
        else:
            return self._paths.find(place)
        given = handle_of(call.response, "phKey") or handle_of(call.response, "phkResult")
        if path is not None and given is not None and call.status == ERROR_SUCCESS:
            if call.is_altered:
                self._paths.forget((server.ip, given))
            else:
                self._paths.learn((server.ip, given), path)
        return path

    def _number(self, place: tuple[str, str]) -> int:
        """Returns the number of a registry handle; gives a new handle a number."""
        if place not in self._numbers:
            self._numbers[place] = next(self._counting.keys)
        return self._numbers[place]

    def _forget(self, place: tuple[str, str]) -> None:
        """Forgets a closed registry handle. It keeps its number until the server gives it out again."""
        self._keys.pop(place, None)
        self._open_reads.pop(place, None)

    def _read(
        self, place: tuple[str, str], key: str | None, handle: str, value: str, status: int | None
    ) -> PerformanceRead:
        """Returns the read of a performance value that a call is an attempt at. After an answer that the buffer is too small, it is
        the next attempt of the same read; else a new read."""
        earlier = self._open_reads.pop(place, None)
        if earlier is not None and earlier.value_name.casefold() == value.casefold():
            read = PerformanceRead(earlier.number, earlier.attempt + 1, key, handle, value)
        else:
            read = PerformanceRead(next(self._counting.reads), 1, key, handle, value)
        if status == ERROR_MORE_DATA:
            self._open_reads[place] = read
        return read

    def _learn(self, server: Endpoint, table: tuple[str, str] | None, response: Side | None) -> None:
        if table is None or table[0] != "counter" or response is None or response.buffer is None:
            return
        decoded = buffers.decode_buffer("name-table", response.buffer.data)
        entries = {}
        for row in decoded.tree.get("entries", ()):
            index, text = row.get("index"), row.get("text")
            if index is not None and is_index(index) and text is not None:
                entries[int(index)] = text
        # The first pair of a Windows table holds the highest index in use, not a name (winperf.h reference).
        entries.pop(1, None)
        self.names.table_of(server).learn(table[1], entries)


def holds_names(call: Call) -> bool:
    """Whether the answer of a winreg call is a table of counter names that nobody else may have changed."""
    is_read = call.read is not None and call.status == ERROR_SUCCESS and not call.is_altered
    return is_read and call.response is not None and call.response.buffer_kind == "name-table"


def _kind_of(value: Any, key: str | None, call: Call) -> BufferKind | None:
    """Returns the buffer kind of a registry value's data, by its first bytes or by the value's name."""
    response = call.response
    buffer = response.buffer if response is not None else None
    if response is None or buffer is None or not isinstance(value, str):
        return None
    if buffer.part(0, 8) in SIGNATURES:
        return "winperf"
    if call.status != ERROR_SUCCESS:
        return None
    if table_language(value, key) is not None:
        # Where the opening of the key was not captured, the type must agree with the name.
        return "name-table" if key is not None or response.params.get("lpType") == REG_MULTI_SZ else None
    # A block cut below its signature is still a block where the key says so; it is then shown as truncated.
    return "winperf" if key is not None else None


def _with_kind(call: Call, kind: BufferKind | None) -> Call:
    side = call.response
    # Data that come with an error are undefined ([MS-RRP] section 3.1.5.17).
    if side is None or kind is None or call.status != ERROR_SUCCESS:
        return call
    return replace(call, response=replace(side, buffer_kind=kind))


def winreg_call(call: Call) -> Call:
    """Decodes a call that is taken for one of the remote registry."""
    request = _side(call.request, call, "request")
    response = _side(call.response, call, "response") if call.fault is None else call.response
    return decoded_call(call, request, response)


def _side(side: Side | None, call: Call, name: SideName) -> Side | None:
    found, decoded = decoded_side(side, call, name, _OPNUMS, partial(decode_stub, "winreg"))
    if found is None or decoded is None or not decoded.data:
        return found
    if name == "request" and call.opnum != WinregOpnum.BASE_REG_SET_VALUE:
        return found
    return replace(found, buffer_span=(decoded.data_start, decoded.data_start + len(decoded.data)))
