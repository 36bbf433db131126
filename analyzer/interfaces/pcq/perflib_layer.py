"""Calls of PerflibV2: exchanges in, decoded calls out ([MS-PCQ] section 3.1.4); everything else passes unchanged.

`CatalogLearner` learns names and types of countersets from these calls (section 3.1.4.1.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha256
from typing import ClassVar

from msgspec import Struct
from msgspec.structs import replace

from analyzer.core.absence import Missing
from analyzer.core.errors import DecodeError
from analyzer.core.events import Event, Moment
from analyzer.interfaces import buffers
from analyzer.interfaces.buffers.stub_decoding import decode_stub, stub_places
from analyzer.interfaces.calls_from_exchanges import decoded_call, plain_call, trimmed_length
from analyzer.results.calls.call import Call, Side, SideName, StubProblem
from analyzer.results.calls.query_state import Identifier
from analyzer.results.methods.perflib import (
    BUFFER_KIND_OF_CODE,
    BUFFER_KIND_OF_METHOD,
    INTERFACE,
    PARAMS,
    Opnum,
)
from analyzer.results.reported_names.counterset_catalog import Catalogs
from analyzer.transport.channel.channels import ChannelGap
from analyzer.transport.rpc.exchange_maker import Exchange

# --------------------------------------------------------------------------------------------------- what answers teach


class Lesson(Struct, frozen=True):
    """A lesson: what a PerflibV2 call can teach about a counterset of a server. `asked` is request code and language (None: its
    instances were asked for), `digest` that of the answer."""

    server: str
    counterset: str
    asked: tuple[int, int] | None
    digest: bytes


class CatalogLearner:
    """Learns names and types of countersets from PerflibV2 calls. They are in `catalogs`."""

    def __init__(self) -> None:
        self.catalogs = Catalogs()
        # Lessons that teach nothing, by server and counterset: request code, language, and a hash of the answer.
        self._known: dict[tuple[str, str], set[tuple[tuple[int, int], bytes]]] = {}
        # The list of instances that was answered last: once more it says nothing new.
        self._listed: dict[tuple[str, str], bytes] = {}

    def learn(self, call: Call) -> None:
        if (lesson := lesson_of(call)) is None or self.knows(lesson):
            return
        assert call.response is not None
        kind, data = call.response.buffer_kind, call.response.buffer_data
        assert kind is not None
        decoded = buffers.decode_buffer(kind, data)
        if decoded.problem is not None:
            return
        catalog, place = self.catalogs.catalog_of(call.server), (lesson.server, lesson.counterset)
        if lesson.asked is None:
            catalog.learn_instances(lesson.counterset, decoded.tree)
            self._listed[place] = lesson.digest
            return
        known = self._known.setdefault(place, set())
        if catalog.learn(lesson.counterset, *lesson.asked, decoded.tree):
            known.clear()
        known.add((lesson.asked, lesson.digest))

    def knows(self, lesson: Lesson) -> bool:
        """Whether a lesson of a PerflibV2 call on a counterset would teach nothing new. A server sends the same answers to all
        clients; those in `_known` changed nothing."""
        place = lesson.server, lesson.counterset
        if lesson.asked is None:
            return self._listed.get(place) == lesson.digest
        return (lesson.asked, lesson.digest) in self._known.get(place, ())


def lesson_of(call: Call) -> Lesson | None:
    """Returns what a PerflibV2 call can teach about a counterset; None for nothing, and if others may have changed it."""
    guid = call.counterset
    if guid is None or call.state != "complete" or call.status != 0 or call.is_altered:
        return None
    assert call.response is not None
    kind, data = call.response.buffer_kind, call.response.buffer_data
    if kind is None:
        return None
    asked = None
    if kind != "instances":
        code = call.request_code
        assert code is not None
        assert call.request is not None
        # Code 2 has the counter's number there, the others the language ([MS-PCQ] section 3.1.4.1.2).
        asked = code, call.request.params["RequestLCID"]
    return Lesson(call.server.ip, guid, asked, sha256(data).digest())


# ------------------------------------------------------------------------------------------------------------ the layer


_OPNUMS = frozenset(Opnum)
# Methods whose request names a counterset.
_ABOUT_COUNTERSETS = frozenset(opnum for (opnum, _), params in PARAMS.items() if "CounterSetGuid" in params)


_BEFORE_ALL: Moment = (-1, -1)


class Loss(Struct, frozen=True):
    """A loss that the PerflibV2 layer noted: requests may have been lost on a channel after the moment `after`."""

    after: Moment
    channel: int


class PerflibLayer:
    """Decodes PerflibV2 exchanges, passes what they say of countersets to a learner, and notes lost requests.

    What the calls say of query handles can only be known when all calls are there, in their order: see `pcq.query_handles`.
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
    """Whether a call whose request was lost may be ValidateCounters of PerflibV2: its answer decodes as one, or is missing."""
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
    """Decodes the counter identifiers (PERF_COUNTER_IDENTIFIER) of a PerflibV2 call's side; None if its buffer is damaged, because
    some may be wrong or absent."""
    return identifiers_in(side.buffer_data) if side is not None and side.buffer_span is not None else ()


def identifiers_in(data: bytes) -> tuple[Identifier, ...] | None:
    """Decodes the counter identifiers (PERF_COUNTER_IDENTIFIER) in the buffer of a PerflibV2 call; None if it is damaged."""
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
