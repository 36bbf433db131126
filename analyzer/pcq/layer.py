"""Calls of PerflibV2: exchanges in, `PerflibCall` out ([MS-PCQ] section 3.1.4); everything else passes unchanged."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from typing import Any, Literal

from analyzer.buffers import decode_buffer, decode_stub
from analyzer.core.absence import Missing
from analyzer.core.errors import DecodeError
from analyzer.core.events import Event
from analyzer.core.values import dataclass
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


@dataclass(frozen=True, slots=True)
class PerflibCall(Call):
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
_IN_A_LANGUAGE = (
    RequestCode.COUNTERSET_NAME_STRING,
    RequestCode.COUNTERSET_HELP_STRING,
    RequestCode.COUNTER_NAME_STRINGS,
    RequestCode.COUNTER_HELP_STRINGS,
)
_OF_STRUCTURE = (RequestCode.COUNTERSET_STRUCT, RequestCode.COUNTER_STRUCT)


# A time, then a frame: what has the same time is in the order of its frames.
Moment = tuple[int, int]
_BEFORE_ALL: Moment = (-1, -1)


@dataclass(frozen=True, slots=True)
class Loss:
    """Requests may have been lost on a channel, after the end of the call that `after` tells of."""

    after: Moment
    channel: int


def end_of(exchange: Exchange) -> Moment | None:
    """When the answer of a call began to come; None where it is not there."""
    message = exchange.response
    return (message.first_time_ns, message.first_frame) if message is not None else None


class PerflibLayer:
    """Decodes PerflibV2 exchanges and notes what they say of countersets, and where requests were lost.

    What the calls say of query handles can only be told when all are there, in their order: that is `pcq.follow`.
    """

    def __init__(self) -> None:
        self.catalogs = Catalogs()
        self.losses: list[Loss] = []
        self._ends: dict[int, Moment] = {}
        # What a server said last of each subject: the code and language that it was asked with, and a hash of its answer.
        self._told: dict[tuple[str, str, int, int], tuple[int, int, bytes]] = {}

    def feed(self, event: Event) -> Iterator[Event]:
        if isinstance(event, Exchange):
            end, channel = end_of(event), event.channel.number
            if end is not None:
                self._ends[channel] = max(end, self._ends.get(channel, end))
            if event.interface == INTERFACE:
                yield self._call(event)
                return
        elif isinstance(event, ChannelGap) and event.from_client:
            channel = event.channel.number
            self.losses.append(Loss(self._ends.get(channel, _BEFORE_ALL), channel))
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
        # What was told last is known, and told to every client anew.
        told, subject = (code, lcid, sha256(data).digest()), (server.ip, guid, *_subject(code, lcid))
        if self._told.get(subject) == told:
            return
        decoded = decode_buffer(BUFFER_KIND_OF_CODE[RequestCode(code)], data)
        if decoded.problem is None:
            self.catalogs.of(server).learn(guid, code, lcid, decoded.tree)
            self._told[subject] = told


def _subject(code: int, lcid: int) -> tuple[int, int]:
    """What an answer to a request code tells of: whoever tells of the same takes the place of what was told before."""
    return 0 if code in _OF_STRUCTURE else code, lcid if code in _IN_A_LANGUAGE else 0


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
        decoded = decode_stub("perflib-v2", opnum, side, stub.data, ndr64=ndr64, big_endian=message.big_endian)
    except DecodeError as error:
        return CallSide(message, stub, {}, trouble=error.alone())
    params: dict[str, Any] = dict(decoded.params)
    if decoded.status is not None:
        params["ReturnValue"] = decoded.status
    stub = trimmed(stub, decoded.consumed, has_trailer=message.trailer is not None)
    if not decoded.data:
        return CallSide(message, stub, params)
    buffer = stub.view(decoded.data_start, decoded.data_start + len(decoded.data))
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


def identifiers_of(side: CallSide | None) -> list[Identifier] | None:
    """The identifiers of a side; None where its buffer is damaged, so that they may be others or more."""
    if side is None or side.buffer is None:
        return []
    decoded = decode_buffer("identifiers", side.buffer.data)
    if decoded.problem is not None:
        return None
    return [
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
