"""Calls of PerflibV2: exchanges in, `PerflibCall` out ([MS-PCQ] section 3.1.4); everything else passes unchanged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Literal

from msgspec import Struct

from analyzer.buffers import decode_buffer, decode_stub, stub_places
from analyzer.core.absence import Missing
from analyzer.core.errors import DecodeError
from analyzer.core.events import Event
from analyzer.pcq.catalog import Catalogs
from analyzer.pcq.identity import (
    BUFFER_KIND_OF_CODE,
    BUFFER_KIND_OF_METHOD,
    INTERFACE,
    NAME,
    Opnum,
    RequestCode,
)
from analyzer.pcq.queries import Identifier, QueryView
from analyzer.rpc.call import Call, CallSide, decoded_call, plain_side, trimmed
from analyzer.rpc.events import Exchange, Message
from analyzer.rpc.interfaces import method_name
from analyzer.smb.events import ChannelGap


class PerflibCall(Call, frozen=True):
    """A PerflibV2 call. `query` is the handle it works on as it stood before the call, None for calls without one."""

    query: QueryView | None = None

    def on(self, query: QueryView) -> PerflibCall:
        """The same call on a handle as it stood."""
        return PerflibCall(
            self.exchange,
            self.interface_name,
            self.method,
            self.state,
            self.reason,
            self.status,
            self.request,
            self.response,
            query,
        )

    @property
    def counterset(self) -> str | None:
        """The GUID the request asks about, for the methods that name one."""
        guid = self.request.params.get("CounterSetGuid") if self.request is not None else None
        return guid if isinstance(guid, str) else None

    @property
    def request_code(self) -> int | None:
        code = self.request.params.get("RequestCode") if self.request is not None else None
        return code if isinstance(code, int) else None


_OPNUMS = frozenset(Opnum)


# A time, then a frame: what has the same time is in the order of its frames.
Moment = tuple[int, int]
_BEFORE_ALL: Moment = (-1, -1)


class Loss(Struct, frozen=True):
    """Requests may have been lost on a channel, after the end of the call that `after` tells of."""

    after: Moment
    channel: int


def end_of(exchange: Exchange) -> Moment | None:
    """When the answer of a call began to come; None where it is not there."""
    return _begin(exchange.response) if exchange.response is not None else None


def _begin(message: Message) -> Moment:
    return message.first_time_ns, message.first_frame


class PerflibLayer:
    """Decodes PerflibV2 exchanges and notes what they say of countersets, and where requests were lost.

    What the calls say of query handles can only be told when all are there, in their order: that is `pcq.follow`.
    """

    def __init__(self) -> None:
        self.catalogs = Catalogs()
        self.losses: list[Loss] = []
        # The answer of each channel that began to come last.
        self._last: dict[int, Message] = {}
        # What would teach nothing, by server and counterset: code and language that were asked with, and a hash of the answer.
        self._told: dict[tuple[str, str], set[tuple[int, int, bytes]]] = {}

    def feed(self, event: Event) -> Iterator[Event]:
        if isinstance(event, Exchange):
            if (answer := event.response) is not None:
                last = self._last.get(event.channel.number)
                # Which frame it came in is looked up where that matters.
                if last is None or answer.first_time_ns > last.first_time_ns or _begin(answer) > _begin(last):
                    self._last[event.channel.number] = answer
            if event.interface == INTERFACE:
                yield self._call(event)
                return
        elif isinstance(event, ChannelGap) and event.from_client:
            last = self._last.get(event.channel.number)
            self.losses.append(Loss(_begin(last) if last is not None else _BEFORE_ALL, event.channel.number))
        yield event

    def finish(self) -> Iterator[Event]:
        return iter(())

    def _call(self, exchange: Exchange) -> PerflibCall:
        ndr64 = exchange.syntax == "ndr64"
        opnum = exchange.opnum
        request = _side(exchange.request, opnum, "request", ndr64=ndr64)
        code = request.params.get("RequestCode") if request is not None else None
        if exchange.fault is None:
            response = _side(exchange.response, opnum, "response", ndr64=ndr64, request_code=code)
        else:
            response = plain_side(exchange.response)
        method = method_name(INTERFACE, opnum) if opnum is not None else None
        call = decoded_call(PerflibCall, exchange, (NAME, method), request, response)
        if call.state == "complete" and call.status == 0:
            if opnum == Opnum.QUERY_COUNTER_SET_REGISTRATION_INFO:
                self._learn(call)
            elif opnum == Opnum.ENUMERATE_COUNTER_SET_INSTANCES:
                self._learn_instances(call)
        return call

    def _learn_instances(self, call: PerflibCall) -> None:
        guid, response = call.counterset, call.response
        if guid is None or response is None or response.buffer is None or response.buffer_kind is None:
            return
        decoded = decode_buffer("instances", response.buffer.data)
        if decoded.problem is None:
            self.catalogs.of(call.exchange.channel.server).learn_instances(guid, decoded.tree)

    def _learn(self, call: PerflibCall) -> None:
        guid, code, response = call.counterset, call.request_code, call.response
        if guid is None or code is None or response is None or response.buffer is None or response.buffer_kind is None:
            return
        # Code 2 has the counter's number there, the others the language ([MS-PCQ] section 3.1.4.1.2).
        lcid = call.request.params.get("RequestLCID") if call.request is not None else None
        lcid = lcid if isinstance(lcid, int) else 0
        server, data = call.exchange.channel.server, response.buffer.data
        # A server tells every client the same. Each of the answers in `told` left all as it was.
        told = self._told.setdefault((server.ip, guid), set())
        answer = code, lcid, sha256(data).digest()
        if answer in told:
            return
        decoded = decode_buffer(BUFFER_KIND_OF_CODE[RequestCode(code)], data)
        if decoded.problem is None:
            if self.catalogs.of(server).learn(guid, code, lcid, decoded.tree):
                told.clear()
            told.add(answer)


def _side(
    message: Message | None,
    opnum: int | None,
    side: Literal["request", "response"],
    *,
    ndr64: bool,
    request_code: int | None = None,
) -> CallSide | None:
    if message is None:
        return None
    stub = message.stub
    if isinstance(stub, Missing) or opnum is None or opnum not in _OPNUMS:
        return CallSide(message, stub, {})
    try:
        decoded = stub_places("perflib-v2", opnum, side, stub, ndr64=ndr64, big_endian=message.big_endian)
    except DecodeError as error:
        return CallSide(message, stub, {}, trouble=error.alone())
    params = decoded.params
    if decoded.status is not None:
        params["ReturnValue"] = decoded.status
    stub = trimmed(stub, decoded.consumed, has_trailer=message.trailer is not None)
    if decoded.data is None or decoded.data[0] == decoded.data[1]:
        return CallSide(message, stub, params)
    buffer = stub.view(*decoded.data)
    kind = BUFFER_KIND_OF_METHOD.get((opnum, side))
    if opnum == Opnum.QUERY_COUNTER_SET_REGISTRATION_INFO and request_code in BUFFER_KIND_OF_CODE:
        kind = BUFFER_KIND_OF_CODE[RequestCode(request_code)]
    return CallSide(message, stub, params, buffer, kind)


def may_answer_validate_counters(exchange: Exchange) -> bool:
    """Whether an answer whose request was lost can be one of ValidateCounters that changed something."""
    if exchange.fault is not None:
        return False
    message = exchange.response
    if message is None or isinstance(message.stub, Missing):
        return True
    stub = message.stub.data
    try:
        decoded = decode_stub(
            "perflib-v2",
            Opnum.VALIDATE_COUNTERS,
            "response",
            stub,
            ndr64=exchange.syntax == "ndr64",
            big_endian=message.big_endian,
        )
    except DecodeError:
        return False
    # Some stacks pad a sealed stub to 8 bytes without counting it (RFC 1964), so up to 7 may follow.
    if len(stub) - decoded.consumed >= 8:
        return False
    return decode_buffer("identifiers", decoded.data or b"").problem is None


def identifiers_of(side: CallSide | None) -> Sequence[Identifier] | None:
    """The identifiers of a side; None where its buffer is damaged, so that they may be others or more."""
    if side is None or side.buffer is None:
        return ()
    data = side.buffer.data
    return _known_identifiers(data) if len(data) <= _SHORT_LIST else _identifiers(data)


def _identifiers(data: bytes) -> Sequence[Identifier] | None:
    decoded = decode_buffer("identifiers", data)
    if decoded.problem is not None:
        return None
    return tuple(
        [
            Identifier(
                item["counterset_guid"],
                item["status"],
                item["counter_id"],
                item["instance_id"],
                item["index"],
                item["name"],
            )
            for item in decoded.tree["identifiers"]
        ]
    )


# Clients of one kind ask for the same counters.
_SHORT_LIST = 4096
_known_identifiers = lru_cache(maxsize=256)(_identifiers)
