"""Calls of PerflibV2: exchanges in, decoded calls out ([MS-PCQ] section 3.1.4); everything else passes unchanged."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import ClassVar

from msgspec import Struct
from msgspec.structs import replace

from analyzer.core.absence import Missing
from analyzer.core.errors import DecodeError
from analyzer.core.events import Event, Moment
from analyzer.interfaces import buffers
from analyzer.interfaces.buffers.stub_decoding import decode_stub, stub_places
from analyzer.interfaces.calls_from_exchanges import decoded_call, plain_call, trimmed_length
from analyzer.interfaces.pcq.catalog_learner import CatalogLearner
from analyzer.results.calls.call import Call, Side, SideName, StubProblem
from analyzer.results.calls.query_state import Identifier
from analyzer.results.methods.perflib import (
    BUFFER_KIND_OF_CODE,
    BUFFER_KIND_OF_METHOD,
    INTERFACE,
    PARAMS,
    Opnum,
)
from analyzer.transport.channel.channels import ChannelGap
from analyzer.transport.rpc.exchange import Exchange

_OPNUMS = frozenset(Opnum)
# Methods whose request names a counterset.
_ABOUT_COUNTERSETS = frozenset(opnum for (opnum, _), params in PARAMS.items() if "CounterSetGuid" in params)


_BEFORE_ALL: Moment = (-1, -1)


class Loss(Struct, frozen=True):
    """A loss: requests may have been lost on a channel after the moment `after`."""

    after: Moment
    channel: int


class PerflibLayer:
    """Decodes PerflibV2 exchanges, passes what they say of countersets to a learner, and notes lost requests.

    What the calls say of query handles can only be known when all calls are there, in their order: see `pcq.handle_following`.
    """

    takes: ClassVar[frozenset[type[Event]]] = frozenset({Exchange, ChannelGap})

    def __init__(self, learner: CatalogLearner | None = None, *, learning: bool = True) -> None:
        """Without `learning`, the caller passes the calls to the learner itself."""
        self.losses: list[Loss] = []
        self._learning = learning
        self.learner = learner or CatalogLearner()
        # When the answer of each channel began to come that did so last.
        self._last: dict[int, Moment] = {}

    def feed(self, event: Event) -> Sequence[Event]:
        if isinstance(event, Exchange):
            if (answer := event.response) is not None:
                begin = answer.first_time_ns, answer.frame_range[0]
                if begin > self._last.get(event.channel.number, _BEFORE_ALL):
                    self._last[event.channel.number] = begin
            if event.interface == INTERFACE:
                call = perflib_call(plain_call(event))
                if self._learning and event.opnum in _ABOUT_COUNTERSETS:
                    self.learner.learn(call)
                return (call,)
        elif isinstance(event, ChannelGap) and event.from_client:
            self.losses.append(Loss(self._last.get(event.channel.number, _BEFORE_ALL), event.channel.number))
        return (event,)

    def finish(self) -> Sequence[Event]:
        return ()


def perflib_call(call: Call) -> Call:
    """Decodes a call that is taken for one of PerflibV2 ([MS-PCQ] section 3.1.4)."""
    request, response = call.request, call.response
    if call.opnum in _OPNUMS:
        if request is not None and request.missing is None:
            request = _side(request, call, "request")
        if response is not None and response.missing is None and call.fault is None:
            response = _side(response, call, "response", request.params.get("RequestCode") if request else None)
    return decoded_call(call, request, response)


def _side(side: Side, call: Call, name: SideName, request_code: int | None = None) -> Side:
    opnum = call.opnum
    assert opnum is not None
    stub = side.stub
    assert not isinstance(stub, Missing)
    try:
        decoded = stub_places("perflib-v2", opnum, name, stub, ndr64=call.syntax == "ndr64", big_endian=side.big_endian)
    except DecodeError as error:
        return replace(side, params=error.params, problem=StubProblem.from_error(error))
    params = decoded.params
    if decoded.status is not None:
        params["ReturnValue"] = decoded.status
    length = side.stub_length
    if side.verification_trailer is not None:
        length = trimmed_length(side, length, decoded.consumed)
    if decoded.data is None or decoded.data[0] == decoded.data[1]:
        return replace(side, params=params, stub_length=length)
    if decoded.status:
        # Data that come with an error have no layout ([MS-PCQ] section 3.1.4.1).
        return replace(side, params=params, stub_length=length, buffer_span=decoded.data)
    kind = BUFFER_KIND_OF_METHOD.get((opnum, name))
    if opnum == Opnum.QUERY_COUNTER_SET_REGISTRATION_INFO and request_code in BUFFER_KIND_OF_CODE:
        kind = BUFFER_KIND_OF_CODE[request_code]
    return replace(side, params=params, stub_length=length, buffer_span=decoded.data, buffer_kind=kind)


def may_answer_validate_counters(call: Call) -> bool:
    """Whether an answer whose request was lost may belong to a ValidateCounters that changed a query handle."""
    if call.fault is not None:
        return False
    side = call.response
    if side is None or isinstance(side.stub, Missing):
        return True
    stub = side.stub.data
    try:
        decoded = decode_stub(
            "perflib-v2",
            Opnum.VALIDATE_COUNTERS,
            "response",
            stub,
            ndr64=call.syntax == "ndr64",
            big_endian=side.big_endian,
        )
    except DecodeError:
        return False
    # Some stacks pad a sealed stub to 8 bytes without counting it (RFC 1964), so up to 7 may follow.
    if len(stub) - decoded.consumed >= 8:
        return False
    return buffers.decode_buffer("identifiers", decoded.data or b"").problem is None


def identifiers_of(side: Side | None) -> tuple[Identifier, ...] | None:
    """Returns the counter identifiers (PERF_COUNTER_IDENTIFIER) of a call's side; None if its buffer is damaged, because some may
    be wrong or absent."""
    return identifiers_in(side.buffer_data) if side is not None and side.buffer_span is not None else ()


def identifiers_in(data: bytes) -> tuple[Identifier, ...] | None:
    """Returns the counter identifiers (PERF_COUNTER_IDENTIFIER) in a buffer; None if it is damaged."""
    return _known_identifiers(data) if len(data) <= _SHORT_LIST else _identifiers(data)


def _identifiers(data: bytes) -> tuple[Identifier, ...] | None:
    decoded = buffers.decode_buffer("identifiers", data)
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
