"""Calls whose bind was not captured, recognised by what they carry.

Somebody polls a server for days over one open pipe, and the capture begins in the middle. What is not sealed can still be
read, if it is certain which interface it belongs to. All calls of one presentation context of one channel are looked at
together, and are taken for PerflibV2 or winreg only if

* every stub that is there decodes to its last byte as that interface's method,
* at least one of them carries what no other interface has: performance data, identifiers, registration information of the
  counterset asked about ([MS-PCQ] section 2.2.4), a PERF_DATA_BLOCK (winperf.h), and
* the same is not true of the other interface.

Such calls say that they were recognised, and a note tells why.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from analyzer.buffers import Interface, decode_buffer, decode_stub
from analyzer.core.absence import Missing
from analyzer.core.errors import DecodeError
from analyzer.core.events import Event, Problem
from analyzer.pcq import identity as pcq
from analyzer.pcq.layer import PerflibLayer
from analyzer.rpc.call import Call
from analyzer.rpc.events import Exchange, Message
from analyzer.winperf import identity as winreg
from analyzer.winperf.layer import WinregLayer

_UUIDS: dict[Interface, str] = {"perflib-v2": pcq.INTERFACE, "winreg": winreg.INTERFACE}
_NAMES: dict[Interface, str] = {"perflib-v2": pcq.NAME, "winreg": winreg.NAME}
# [MS-RRP] section 3.1.5 numbers its methods from 0 to 35.
_WINREG_METHODS = 36
_WINREG_DECODED = frozenset(winreg.Opnum)
_PERFLIB_DECODED = frozenset(pcq.Opnum)
_MOST_FRAMES = 16


class _Guess(Struct, frozen=True):
    interface: Interface
    syntax: Literal["ndr", "ndr64"]
    proofs: int


def recognised(calls: Iterable[Call], perflib: PerflibLayer, winperf: WinregLayer) -> Iterator[Event]:
    """The calls, with those that could be recognised decoded by their layer, and a note for each context that was."""
    contexts: dict[tuple[int, int], list[Call]] = {}
    for call in calls:
        exchange = call.exchange
        if exchange.interface is None:
            contexts.setdefault((exchange.channel.number, exchange.context_id), []).append(call)
        else:
            yield call
    for group in contexts.values():
        guess = _guess([call.exchange for call in group])
        if guess is None:
            yield from group
            continue
        layer = perflib if guess.interface == "perflib-v2" else winperf
        group.sort(key=lambda call: call.exchange.first_time_ns)
        for call in group:
            yield from layer.feed(_as_interface(call.exchange, guess))
        yield Problem(
            "note",
            "timeline",
            tuple(sorted({frame for call in group for frame in call.frames}))[:_MOST_FRAMES],
            f"the bind of {len(group)} calls was not captured; they are taken for {_NAMES[guess.interface]}, because every stub "
            f"decodes as such and {guess.proofs} of them carry what no other interface does",
        )


def interface_carried(exchanges: list[Exchange]) -> Interface | None:
    """Which of the two interfaces the calls of one presentation context carry, by the same certainty; None where neither."""
    guess = _guess(exchanges)
    return guess.interface if guess is not None else None


def _guess(exchanges: list[Exchange]) -> _Guess | None:
    """The only reading that fits all calls and is proven by one; None where there is none, or more than one interface."""
    readings: tuple[tuple[Interface, Literal["ndr", "ndr64"]], ...] = (
        ("perflib-v2", "ndr"),
        ("winreg", "ndr"),
        ("perflib-v2", "ndr64"),
        ("winreg", "ndr64"),
    )
    found: list[_Guess] = []
    for interface, syntax in readings:
        proofs = _proofs(exchanges, interface, syntax)
        if proofs:
            found.append(_Guess(interface, syntax, proofs))
    return found[0] if len({guess.interface for guess in found}) == 1 else None


def _proofs(exchanges: list[Exchange], interface: Interface, syntax: str) -> int:
    """How many calls prove the reading; 0 where one contradicts it."""
    proofs = 0
    for exchange in exchanges:
        if exchange.opnum is None or exchange.fault is not None:
            continue
        request = _read(exchange.request, interface, exchange.opnum, "request", syntax)
        response = _read(exchange.response, interface, exchange.opnum, "response", syntax)
        if request is False or response is False:
            return 0
        proofs += _proves(interface, exchange.opnum, request, response)
    return proofs


def _read(
    message: Message | None, interface: Interface, opnum: int, side: Literal["request", "response"], syntax: str
) -> tuple[dict[str, object], bytes] | Literal[False] | None:
    """Parameters and lpData; False where the stub is not of that method, None where nothing can be said."""
    if message is None or isinstance(message.stub, Missing):
        return None
    if interface == "winreg" and opnum not in _WINREG_DECODED:
        return None if opnum < _WINREG_METHODS else False
    if interface == "perflib-v2" and opnum not in _PERFLIB_DECODED:
        return False
    stub = message.stub.data
    ndr64 = syntax == "ndr64"
    try:
        decoded = decode_stub(interface, opnum, side, stub, ndr64=ndr64, big_endian=message.big_endian)
    except DecodeError:
        return False
    if len(stub) - decoded.consumed >= (8 if ndr64 else 4):
        return False
    return decoded.params, decoded.data or b""


def _proves(
    interface: Interface,
    opnum: int,
    request: tuple[dict[str, object], bytes] | None,
    response: tuple[dict[str, object], bytes] | None,
) -> bool:
    """Whether the answer carries what only this interface does."""
    if response is None or not response[1]:
        return False
    data = response[1]
    if interface == "winreg":
        return opnum == winreg.Opnum.BASE_REG_QUERY_VALUE and data[:8] in winreg.SIGNATURES
    if opnum == pcq.Opnum.QUERY_COUNTER_DATA:
        decoded = decode_buffer("perf-data", data)
        return decoded.problem is None and decoded.tree["total_size"] == len(data)
    if opnum in (pcq.Opnum.QUERY_COUNTER_INFO, pcq.Opnum.VALIDATE_COUNTERS):
        return decode_buffer("identifiers", data).problem is None
    if opnum == pcq.Opnum.QUERY_COUNTER_SET_REGISTRATION_INFO and request is not None:
        asked = request[0]
        if asked.get("RequestCode") != pcq.RequestCode.COUNTERSET_STRUCT:
            return False
        decoded = decode_buffer("counterset-info", data)
        return decoded.problem is None and decoded.tree["counterset_guid"] == asked.get("CounterSetGuid")
    return False


def _as_interface(exchange: Exchange, guess: _Guess) -> Exchange:
    """The exchange as one of the recognised interface; what only lacked its bind is complete now."""
    sides = [side for side in (exchange.request, exchange.response) if side is not None]
    is_whole = exchange.request is not None and not any(isinstance(side.stub, Missing) for side in sides)
    complete = exchange.state == "partial" and is_whole
    return replace(
        exchange,
        interface=_UUIDS[guess.interface],
        version=(1, 0),
        syntax=guess.syntax,
        recognised=True,
        state="complete" if complete else exchange.state,
        reason=None if complete else exchange.reason,
    )
