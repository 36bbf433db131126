"""Rules about where PerflibV2 is found and how it is bound."""

from collections.abc import Iterable, Iterator
from typing import Any
from uuid import UUID

import pytest
from msgspec.structs import replace

from analyzer.core.absence import Missing
from analyzer.core.events import Event
from analyzer.questions.audit.audit_engine import Profile
from analyzer.transport.rpc.exchange_maker import Exchange
from tests.build.buffers import perf_data
from tests.build.calls import Calls, sealed
from tests.build.rpc import (
    ALTER,
    ALTER_RESP,
    CHANNEL,
    FEATURES,
    NDR,
    NDR64,
    PCQ,
    WINREG,
    Conversation,
    bind,
    bind_ack,
    bind_nak,
    context,
    request,
    response,
)
from tests.questions.audit.judging import Case, by_name, holds, judged
from tests.transport.rpc.run import reported

MAPPER = "e1af8308-5d1f-11c9-91a4-08002b14a0fa"
STRANGER = PCQ[:-1] + "4"
REFUSED = ((2, 1, NDR),)
NO_SYNTAX = ("00000000-0000-0000-0000-000000000000", 0)
OFFERS = (context(0, PCQ), context(1, PCQ, (FEATURES,)))


def on_pipe(name: str | None, interface: str = PCQ) -> Iterable[Event]:
    return reported(Conversation(replace(CHANNEL, pipe=name)).bound(interface))


def opened(**channel: Any) -> Exchange:
    return Calls(channel=replace(CHANNEL, **channel)).open_query()


def question(uuid: str = PCQ) -> Exchange:
    """An ept_map call."""
    tower = b"\x05\0" + b"\x13\0\x0d" + UUID(uuid).bytes_le + b"\x01\0\x02\0\0\0"
    return Calls(MAPPER, channel=replace(CHANNEL, number=9, pipe="epmapper")).exchange(3, bytes(8) + tower, b"")


def bound_later(**channel: Any) -> Iterable[Event]:
    talk = Conversation(replace(CHANNEL, **channel))
    talk.frame = 10
    return reported(talk.bound())


def syntaxes(offered: tuple[Any, ...], accepted: Any, uuid: str = PCQ) -> Iterable[Event]:
    talk = Conversation().client(bind((context(0, uuid, offered),)))
    return reported(talk if accepted is None else talk.server(bind_ack(((0, 0, accepted),))))


def version_2() -> Iterable[Event]:
    return reported(Conversation().client(bind((context(0, PCQ, version=2),))).server(bind_ack()))


def called(talk: Conversation, number: int = 7, context_id: int = 0) -> Conversation:
    asked = request(6, bytes(24), call_id=number, context_id=context_id)
    return talk.client(asked).server(response(bytes(24), call_id=number, context_id=context_id))


def refused() -> Conversation:
    return Conversation().client(bind()).server(bind_ack(REFUSED))


def accepted_later() -> Conversation:
    return refused().client(bind(ptype=ALTER, call_id=2)).server(bind_ack(ptype=ALTER_RESP, call_id=2))


def refused_later() -> Conversation:
    """The context was accepted and used; offered again, it was refused."""
    talk = called(Conversation().bound()).client(bind(ptype=ALTER, call_id=8))
    return talk.server(bind_ack(REFUSED, ptype=ALTER_RESP, call_id=8))


def features(result: int, syntax: Any = NO_SYNTAX) -> Conversation:
    return Conversation().client(bind(OFFERS)).server(bind_ack(((0, 0, NDR), (result, 3, syntax))))


def of_binds() -> Iterator[Case]:
    yield "PCQ110", "winreg", "pass", [*on_pipe("winreg"), opened(pipe="winreg")]
    yield "PCQ110", "WinReg", "pass", [*on_pipe("WinReg"), opened(pipe="WinReg")]
    yield "PCQ110", "another pipe", "fail", on_pipe("perflib")
    yield "PCQ110", "TCP breaks two, once", "fail", [opened(transport="ncacn_ip_tcp", pipe=None)]
    yield "PCQ110", "a pipe whose opening was not captured has no name", "pass", [opened(pipe=None)]
    yield "PCQ110", "other interfaces may go where they like", "not-exercised", on_pipe("svcctl", WINREG)
    yield "PCQ111", "the pipe opened by its name", "pass", bound_later()
    yield "PCQ111", "the question alone", "warn", [question(), *bound_later()]
    made = [question(), *bound_later(transport="ncacn_ip_tcp", pipe=None)]
    yield "PCQ111", "following the answer elsewhere", "fail", made
    yield "PCQ111", "questions for other interfaces", "pass", [question(MAPPER), *bound_later()]
    yield "PCQ111", "a sealed question proves nothing", "pass", [sealed(question()), *bound_later()]
    yield "PCQ111", "no use of the interface", "not-exercised", []
    yield "PCQ112", "version 1.0", "pass", reported(Conversation().bound())
    yield "PCQ112", "version 2.0", "fail", version_2()
    yield "PCQ112", "data under another UUID", "fail", [Calls(STRANGER).counter_data(perf_data([]))]
    yield "PCQ112", "a bind that was not captured proves nothing", "inconclusive", [Calls().open_query()]
    made = [Calls(STRANGER).exchange(6, bytes(24), b"whatever else")]
    yield "PCQ112", "calls of other interfaces", "not-exercised", made
    made = [sealed(Calls(STRANGER).counter_data(perf_data([])))]
    yield "PCQ112", "sealed calls of other interfaces prove nothing", "not-exercised", made
    yield "PCQ113", "NDR", "pass", syntaxes((NDR,), NDR)
    yield "PCQ113", "NDR64 accepted by the server", "fail", syntaxes((NDR, NDR64), NDR64)
    yield "PCQ113", "an offer of NDR64, which Windows makes", "pass", syntaxes((NDR, NDR64), NDR)
    yield "PCQ113", "a bind without answer proves nothing", "inconclusive", syntaxes((NDR,), None)
    yield "PCQ113", "calls in NDR64 without their bind", "fail", [Calls(ndr64=True).open_query()]
    yield "PCQ113", "calls in NDR without their bind", "inconclusive", [Calls().open_query()]
    yield "PCQ113", "other interfaces may have NDR64", "not-exercised", syntaxes((NDR64,), NDR64, WINREG)
    yield "PCQ114", "an accepted context is called", "pass", reported(called(Conversation().bound()))
    yield "PCQ114", "a refused context is called", "fail", reported(called(refused()))
    yield "PCQ114", "a call after bind_nak", "fail", reported(called(Conversation().client(bind()).server(bind_nak(8))))
    yield "PCQ114", "a context that was accepted later", "pass", reported(called(accepted_later()))
    made = reported(called(Conversation().client(bind())))
    yield "PCQ114", "a bind without answer proves nothing", "inconclusive", made
    yield "PCQ114", "a call before the refusal is not blamed for it", "pass", reported(refused_later())
    yield "PCQ114", "a call after a later refusal", "fail", reported(called(refused_later(), 9))
    yield "PCQ115", "features that are refused", "pass", reported(features(2))
    yield "PCQ115", "features that are acknowledged", "pass", reported(features(3))
    yield "PCQ115", "features accepted as a context", "fail", reported(features(0, FEATURES))
    yield "PCQ115", "a call under their id", "fail", reported(called(features(3), 2, 1))
    made = reported(Conversation().client(bind(OFFERS)))
    yield "PCQ115", "a bind without answer proves nothing", "inconclusive", made
    yield "PCQ115", "a bind without features", "not-exercised", reported(Conversation().bound())


@pytest.mark.parametrize("case", [*of_binds()], ids=by_name)
def test_where_and_how_the_interface_is_bound(case: Case) -> None:
    holds(case)


def test_an_offer_of_ndr64_is_against_the_letter() -> None:
    assert judged("PCQ113", *syntaxes((NDR, NDR64), NDR), profile=Profile.SPEC).verdict("PCQ-2.2-R01") == "warn"


def test_what_is_sealed_is_so_in_these_cases() -> None:
    made: Any = sealed(Calls(STRANGER).counter_data(perf_data([])))
    assert made.response.stub is Missing.SEALED
