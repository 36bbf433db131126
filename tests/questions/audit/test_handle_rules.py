"""Rules about query handles: who gives them out, how long they live, whose query each is."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from analyzer.core.events import Event
from analyzer.questions.audit.rules.handles import FOREIGN_HANDLES
from analyzer.results.security import AuthLevel
from analyzer.transport.rpc.exchange_maker import Exchange
from tests.build.buffers import Block, identifier, perf_data
from tests.build.calls import COUNTERSET, HANDLE, NO_HANDLE, OTHER_HANDLE, Calls, sealed, winreg
from tests.build.rpc import CHANNEL
from tests.questions.audit.handles import bound, closed
from tests.questions.audit.judging import Case, by_name, holds
from tests.questions.audit.methods import call, request

EMPTY, DATA = perf_data([]), perf_data([Block(1, values=((bytes(8),),))])
ONE = identifier(COUNTERSET, name="a")
FIRST, SECOND = identifier(COUNTERSET, counter=1, name="a"), identifier(COUNTERSET, counter=7, name="A")
OTHER_CHANNEL = replace(CHANNEL, number=7)


def talk(*calls: Callable[[Calls], Event], **options: Any) -> list[Event]:
    """Calls of one client, one after the other."""
    made = Calls(**options)
    return [one(made) for one in calls]


def opened(calls: Calls) -> Exchange:
    return calls.open_query()


def shut(calls: Calls) -> Exchange:
    return calls.close_query()


def polled(calls: Calls) -> Exchange:
    return calls.counter_data(EMPTY)


def added(calls: Calls) -> Exchange:
    return calls.validate(ONE)


def answered(calls: Calls) -> Exchange:
    return calls.counter_data(DATA)


def unread(one: Callable[[Calls], Exchange]) -> Callable[[Calls], Exchange]:
    return lambda calls: sealed(one(calls))


def on(opnum: int) -> Callable[[Calls], Exchange]:
    return lambda calls: call(opnum, calls)


def closing(answer: str, status: int = 0) -> Exchange:
    calls = Calls()
    return calls.exchange(4, calls.stub().handle(HANDLE), calls.stub().handle(answer).uint(status))


def foreign(opnum: int, fault: int) -> Exchange:
    return Calls().faulted(opnum, request(Calls(), opnum), fault)


def refused(level: int = AuthLevel.INTEGRITY) -> list[Event]:
    """An open, and a close that was refused, at this level; the calls that follow are sealed."""
    return [Calls().open_query(), Calls(level=level, first_frame=10).close_query(status=5)]


def later() -> Calls:
    return Calls(level=AuthLevel.PRIVACY, first_frame=20)


def in_other_group(group: int) -> list[Event]:
    events = [bound(), bound(OTHER_CHANNEL, group), Calls().open_query()]
    return [*events, Calls(channel=OTHER_CHANNEL, first_frame=10).counter_data(EMPTY)]


def of_registry(status: int) -> list[Event]:
    return [winreg(channel=CHANNEL).open_key(), call(6, Calls(first_frame=10), status=status)]


def foreign_poll(calls: Calls) -> Exchange:
    return calls.exchange(6, calls.stub().handle(OTHER_HANDLE).uint(64), calls.sized(b"", 6, room=64))


def two_queries(listed: bytes, second: bytes = SECOND, *, seal: bool = False) -> list[Event]:
    """FIRST in one query, `second` in another; then the first lists this."""
    return talk(
        lambda calls: calls.open_query(HANDLE),
        lambda calls: calls.open_query(OTHER_HANDLE),
        lambda calls: sealed(calls.validate(FIRST)) if seal else calls.validate(FIRST),
        lambda calls: calls.validate(second, handle=OTHER_HANDLE),
        lambda calls: calls.counter_info(listed),
    )


def of_opening() -> Iterator[Case]:
    made = talk(opened, added, lambda calls: calls.validate(ONE, identifier(COUNTERSET, name="a", status=0xB7), add=0))
    yield "PCQ435", "0xB7 to a removal", "fail", made
    yield "PCQ710", "success without a handle", "fail", [Calls().open_query(NO_HANDLE)]
    made = [bound(), *talk(lambda calls: calls.open_query(HANDLE, 5), polled)]
    yield "PCQ710", "a handle along with an error that works", "fail", made
    yield "PCQ710", "a handle along with an error that nobody uses", "warn", [Calls().open_query(HANDLE, 5)]
    made = talk(opened, lambda calls: calls.open_query(NO_HANDLE, 5))
    yield "PCQ710", "a handle on success and none on failure", "pass", made
    yield "PCQ711", "a handle that comes back", "fail", [closing(HANDLE)]
    yield "PCQ711", "the null handle", "pass", [Calls().close_query()]
    yield "PCQ711", "a refused close may return the handle", "not-exercised", [closing(HANDLE, 5)]


def of_whose_they_are() -> Iterator[Case]:
    for opnum in (4, 5, 6, 7):
        yield "PCQ712", f"opnum {opnum} on a handle that nobody gave out", "fail", [bound(), call(opnum, status=6)]
    yield "PCQ712", "a handle that was given out", "pass", [bound(), *talk(opened, polled, shut)]
    made = [bound(), *talk(opened, lambda calls: calls.counter_data(EMPTY, OTHER_HANDLE))]
    yield "PCQ712", "another handle than the one given out", "fail", made
    yield "PCQ712", "another connection of the association group", "pass", in_other_group(0x53)
    yield "PCQ712", "another association group", "warn", in_other_group(0x99)
    yield "PCQ712", "without the beginning of the channel", "inconclusive", [call(6)]
    yield "PCQ712", "a group from before the capture", "inconclusive", [bound(joins_group=True), call(6)]
    made = [bound(OTHER_CHANNEL), bound(joins_group=True), call(6)]
    yield "PCQ712", "a group whose founder was captured", "fail", made
    made = [bound(), *talk(unread(opened), polled)]
    yield "PCQ712", "a sealed opening may have been of this handle", "inconclusive", made
    for opnum in FOREIGN_HANDLES:
        yield "PCQ713", f"opnum {opnum} served on a foreign handle", "fail", [bound(), call(opnum)]
        yield "PCQ713", f"a context fault to opnum {opnum}", "pass", [bound(), foreign(opnum, 0x1C00001A)]
        yield "PCQ713", f"fault 6 to opnum {opnum}", "pass", [bound(), foreign(opnum, 6)]
        yield "PCQ713", f"an error to opnum {opnum}", "pass", [bound(), call(opnum, status=6)]
        made = [bound(), *talk(opened, on(opnum))]
        yield "PCQ713", f"opnum {opnum} on a handle that was given out", "not-exercised", made
        yield "PCQ713", f"opnum {opnum} where the opening may have been missed", "not-exercised", [call(opnum)]
    made = [bound(), replace(call(6), response=None, state="request-only")]
    yield "PCQ713", "a lost answer proves nothing", "inconclusive", made
    yield "PCQ713", "a handle of the registry is served", "fail", of_registry(0)
    yield "PCQ713", "a handle of the registry is rejected", "pass", of_registry(6)


def of_closing() -> Iterator[Case]:
    for opnum in (4, 5, 6, 7):
        yield "PCQ714", f"opnum {opnum} succeeds on a closed handle", "fail", talk(opened, shut, on(opnum))
    made = talk(opened, shut, lambda calls: calls.faulted(6, request(calls, 6), 0x1C00001A))
    yield "PCQ714", "a fault to a closed handle", "pass", made
    yield "PCQ714", "an error to a closed handle", "pass", talk(opened, shut, lambda calls: call(6, calls, status=6))
    yield "PCQ714", "a handle given out anew is another one", "not-exercised", talk(opened, shut, opened, polled)
    yield "PCQ714", "a close that cannot be read", "inconclusive", talk(opened, unread(shut), polled)
    yield "PCQ715", "a handle that is gone", "fail", [*refused(), later().faulted(4, request(later(), 4), 0x1C00001A)]
    yield "PCQ715", "a close that succeeds then", "pass", [*refused(), later().close_query()]
    yield "PCQ715", "a handle that is not used again proves nothing", "inconclusive", refused()
    made = [*refused(AuthLevel.PRIVACY), later().close_query()]
    yield "PCQ715", "5 to a sealed close means something else", "not-exercised", made
    made = [refused()[0], sealed(refused()[1]), later().close_query()]
    yield "PCQ715", "a sealed close proves nothing", "inconclusive", made
    yield "PCQ716", "a pipe that ends with an open handle", "warn", [*talk(opened, polled), closed()]
    yield "PCQ716", "a close", "pass", [*talk(opened, polled, shut), closed()]
    yield "PCQ716", "a capture that ends first proves nothing", "inconclusive", talk(opened, polled)
    made = [*talk(opened, polled, unread(shut)), closed()]
    yield "PCQ716", "a call that cannot be read may have closed it", "inconclusive", made


def of_their_order() -> Iterator[Case]:
    yield "PCQ717", "data of a query without counters", "warn", talk(opened, polled)
    yield "PCQ717", "a call after the close", "warn", talk(opened, shut, lambda calls: call(6, calls, status=6))
    yield "PCQ717", "adding before opening", "warn", [bound(), *talk(added, opened, answered), closed()]
    made = [bound(), *talk(opened, foreign_poll), closed()]
    yield "PCQ717", "a foreign handle is no matter of order", "not-exercised", made
    yield "PCQ717", "the model of the text", "pass", talk(opened, added, answered, answered, shut)
    yield "PCQ717", "a handle from before the capture may hold counters", "inconclusive", talk(answered)
    yield "PCQ717", "a sealed addition may have added counters", "inconclusive", talk(opened, unread(added), answered)
    yield "PCQ720", "a counter of the other query", "fail", two_queries(FIRST + SECOND)
    yield "PCQ720", "its own counters", "pass", two_queries(FIRST)
    yield "PCQ720", "a counter that both hold", "pass", two_queries(FIRST, FIRST)
    made = two_queries(FIRST + identifier(COUNTERSET, counter=9))
    yield "PCQ720", "a counter that nobody added is for another rule", "pass", made
    made = two_queries(FIRST + SECOND, seal=True)
    yield "PCQ720", "a sealed addition may have added it here too", "inconclusive", made


@pytest.mark.parametrize("case", [*of_opening(), *of_whose_they_are(), *of_closing(), *of_their_order()], ids=by_name)
def test_handles(case: Case) -> None:
    holds(case)
