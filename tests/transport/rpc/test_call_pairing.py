"""Requests and responses become calls: pairing, fragments, faults, and what is stated of calls that are not whole."""

import struct
from itertools import pairwise

import pytest
from msgspec.structs import replace

from analyzer.auth.keyring import Keyring
from analyzer.core.absence import Missing
from analyzer.core.events import Problem
from analyzer.interfaces.calls_from_exchanges import decoded_side, plain_call, trimmed_length
from analyzer.results.connection import Channel, Pdu
from analyzer.results.security import AuthLevel
from analyzer.transport.rpc.exchange_maker import Exchange
from analyzer.transport.rpc.rpc_layer import RpcLayer
from tests.build.rpc import (
    ALTER,
    ALTER_RESP,
    AUTH3,
    CHANNEL,
    FAULT,
    FIRST,
    LAST,
    OBJECT,
    PCQ,
    SHUTDOWN,
    TOY_ANSWER,
    TOY_FIRST,
    TOY_LAST,
    WINREG,
    Auth,
    Conversation,
    ToyKeys,
    ToySealer,
    bind,
    bind_ack,
    context,
    fault,
    pdu,
    request,
    response,
)
from tests.transport.rpc.run import bounds, calls, only_call, pdus, problems, reported, stub


def test_the_object_uuid_is_no_part_of_the_stub():
    uuid = "11112222-3333-4444-5555-666677778888"
    talk = Conversation().bound().client(request(2, b"stub", object_uuid=uuid)).server(response(b""))
    call = only_call(talk)
    assert (call.object_uuid, stub(call.request)) == (uuid, b"stub")


@pytest.mark.parametrize("context_id", [0, 5])
def test_frames_swapped_by_the_capture_still_pair(context_id):
    """Also where one number is wrong: no bind offers the context of the request, and its answer names the right one."""
    talk = Conversation().bound().client(request(1, b"ask!", context_id=context_id)).server(response(b"tell"))
    talk.events[-2:] = reversed(talk.events[-2:])
    call = only_call(talk)
    assert (call.state, stub(call.request), stub(call.response)) == ("complete", b"ask!", b"tell")
    assert (call.interface, call.reason is None) == (PCQ, context_id == 0)


def test_sixteen_answers_wait_for_requests_that_come_late():
    talk = Conversation().bound()
    for number in range(16):
        talk.server(response(b"tell", call_id=number + 2))
    layer = RpcLayer(Keyring(), begin=ToyKeys().begin)
    assert not [event for given in talk.events for event in layer.feed(given) if isinstance(event, Exchange)]
    more = Conversation().server(response(b"tell", call_id=99))
    (oldest,) = [event for given in more.events for event in layer.feed(given) if isinstance(event, Exchange)]
    assert (oldest.call_id, oldest.state) == (2, "response-only")


def test_padding_that_does_not_fit_makes_the_call_malformed_and_nothing_else():
    odd = pdu(0, bytes(8) + b"ab", auth=Auth(b"x" * 16, level=5), pad=9)
    talk = Conversation().bound().client(odd).server(response(b"tell"))
    talk.client(request(1, b"ask!", call_id=2)).server(response(b"fine", call_id=2))
    bad, good = calls(talk)
    assert (bad.state, bad.request.stub) == ("malformed", Missing.UNDECODABLE)
    assert "auth_pad_length" in bad.reason
    assert good.state == "complete"


def test_every_pdu_is_reported_with_its_header():
    talk = (
        Conversation().bound().client(request(1, b"a", call_id=2)).server(fault(5, call_id=2), pdu(SHUTDOWN, call_id=0))
    )
    assert [(one.ptype, one.from_client, one.call_id, one.frames) for one in pdus(talk)] == [
        (11, True, 1, (1,)),
        (12, False, 1, (2,)),
        (0, True, 2, (3,)),
        (3, False, 2, (4,)),
        (17, False, 0, (5,)),
    ]
    assert all(one.auth_type is None and one.auth_level is None for one in pdus(talk))


def test_channels_do_not_mix():
    one, two = Conversation(), Conversation(replace(CHANNEL, number=1))
    one.bound().client(request(1, b"1"))
    two.bound(WINREG).client(request(17, b"2"))
    one.server(response(b"one"))
    two.server(response(b"two"))
    mixed = [event for pair in zip(one.events, two.events, strict=True) for event in pair]
    assert [(call.interface, call.opnum, stub(call.response)) for call in calls(mixed)] == [
        (PCQ, 1, b"one"),
        (WINREG, 17, b"two"),
    ]


def test_pdus_come_in_the_order_they_were_sent():
    talk = Conversation().bound().send(True, request(1, b"a", call_id=2) + request(2, b"b", call_id=3))
    talk.send(False, response(b"c", call_id=2) + response(b"d", call_id=3))
    assert [event.call_id for event in reported(talk) if isinstance(event, Pdu)] == [1, 1, 2, 3, 2, 3]
    assert [stub(call.response) for call in calls(talk)] == [b"c", b"d"]


# Presentation contexts: what was offered, what became of it, and what is no context at all.


@pytest.mark.parametrize("group", [0, 0x53])
def test_a_bind_says_whether_it_joins_an_association_group(group):
    talk = Conversation().client(bind(group=group)).server(bind_ack())
    # What an alter_context has in its place means nothing.
    talk.client(bind(ptype=ALTER, call_id=2, group=0x53)).server(bind_ack(ptype=ALTER_RESP, call_id=2))
    assert [one.joins_group for one in bounds(talk)] == [bool(group), False]


# PDUs are found by frag_length, across pieces and after gaps, and what was lost between them is stated.


def test_after_a_gap_a_header_is_found_in_the_middle_of_a_message():
    """On a TCP connection nothing marks the border but the header itself."""
    talk = Conversation().bound().gap(True, None)
    talk.send(True, b"\x05tail of something\x05\x00" + request(2, b"ask!", call_id=2), fresh=False)
    talk.server(response(b"tell", call_id=2))
    assert only_call(talk).state == "complete"
    (problem,) = problems(talk)
    assert problem.kind == "gap"
    assert "unknown number of bytes" in problem.text


def test_bytes_that_are_no_pdu_cost_themselves():
    talk = Conversation().bound().client(b"GET / HTTP/1.1\r\n\r\n", request(2, b"ask!")).server(response(b"tell"))
    assert only_call(talk).state == "complete"
    (problem,) = problems(talk)
    assert (problem.kind, problem.frames) == ("malformed", (3,))
    assert "18 bytes" in problem.text


def test_a_forged_length_holds_no_more_than_one_pdu():
    long = pdu(0, bytes(8), frag_length=0xFFFF)
    talk = Conversation().bound().client(long)
    for _ in range(3):
        talk.client(bytes(40000))
    stated = reported(talk)
    assert any(isinstance(event, Problem) for event in stated)
    assert [one.length for one in pdus(talk)][-1] == 0xFFFF


def test_a_gap_tells_the_security_context_how_much_it_lost():
    keys = ToyKeys()
    talk = Conversation()
    ours, _ = talk.sealed()
    talk.client(request(1, b"ask!", call_id=2, sealer=ours))
    lost = request(1, b"lost", call_id=3, sealer=ours)
    talk.client(lost[:20]).gap(True, len(lost) - 20)
    talk.client(request(1, b"more", call_id=4, sealer=ours))
    calls(talk, keys)
    assert keys.begun[0].contexts[0].lost_calls == [("initiator", len(lost))]


# Each bound and rule of an association from both sides: what is kept of binds, of calls whose bytes are missing, of ids.


def test_of_unanswered_binds_the_last_sixteen_are_remembered() -> None:
    talk = Conversation().client(*[bind((context(n, PCQ),), call_id=n) for n in range(1, 18)])
    late = Conversation()
    late.events, late.frame = list(talk.events), talk.frame
    assert [(one.context_id, one.accepted) for one in bounds(talk)] == [(n, None) for n in range(2, 18)]
    late.server(bind_ack(call_id=1), bind_ack(call_id=2))
    found = bounds(late)
    assert [(one.context_id, one.accepted) for one in found if one.accepted is not None] == [(2, True)]
    assert len(found) == 16


def test_sixteen_answers_wait_for_binds_that_come_late() -> None:
    answers = [bind_ack(call_id=n) for n in range(1, 18)]
    talk = Conversation().server(*answers).client(*[bind((context(n, PCQ),), call_id=n) for n in range(1, 18)])
    assert [(one.context_id, one.accepted) for one in bounds(talk)] == [
        *[(n, True) for n in range(1, 17)],
        (17, None),
    ]


def test_a_fault_may_leave_out_its_reserved_bytes_but_a_request_not_its_object() -> None:
    """The trailer of a fault that has none after the status begins at byte 28, where otherwise four reserved bytes stand."""
    short = pdu(FAULT, struct.pack("<IHHI", 0, 0, 0, 5), auth=Auth(bytes(16), AuthLevel.INTEGRITY))
    talk = Conversation()
    talk.sealed(level=AuthLevel.INTEGRITY)
    talk.client(request(9, b"ask")).server(short)
    call = only_call(talk)
    assert (call.fault, call.state, stub(call.response)) == (5, "complete", b"")
    # A request that claims an object has it before its stub, whatever its trailer says.
    hidden = pdu(0, bytes(8) + bytes(16), flags=3 | OBJECT, auth=Auth(bytes(16), AuthLevel.INTEGRITY))
    long = bytearray(hidden)
    long[10:12] = (20).to_bytes(2, "little")
    talk = Conversation()
    talk.sealed(level=AuthLevel.INTEGRITY)
    talk.client(bytes(long))
    assert any("the trailer begins before the stub" in one.text for one in problems(talk))


@pytest.mark.parametrize(("level", "is_one"), [(0, False), (1, True), (6, True), (7, False)])
def test_a_trailer_names_one_of_the_levels(level: int, is_one: bool) -> None:
    talk = Conversation().bound().client(pdu(0, bytes(8) + b"stub", auth=Auth(bytes(16), level)))
    found = any("is no authentication level" in one.text for one in problems(talk))
    assert found is not is_one


@pytest.mark.parametrize(("big", "value"), [(False, 0x106A), (True, None)])
def test_a_method_that_is_not_decoded_ends_in_its_return_value(big: bool, value: int | None) -> None:
    talk = Conversation().bound().client(request(77, b"ask")).server(response(b"\1\0\0\0\x6a\x10\0\0", big=big))
    call = plain_call(only_call(talk))

    def decode(*given: object, **named: object) -> None:
        raise AssertionError

    side, decoded = decoded_side(call.response, call, "response", (), decode)
    assert decoded is None
    assert side.params.get("ReturnValue") == value
    asked, _ = decoded_side(call.request, call, "request", (), decode)
    assert asked is call.request


def test_only_what_aligns_a_verification_trailer_is_no_part_of_the_stub() -> None:
    talk = Conversation().bound().client(request(6, b"ask")).server(response(b"tell"))
    plain = plain_call(only_call(talk)).request
    assert plain is not None
    assert [trimmed_length(plain, 20, consumed) for consumed in (20, 19, 17, 16)] == [20, 20, 20, 20]


def test_memory_of_a_call_is_that_of_its_fragments_and_of_the_pieces_they_came_in() -> None:
    """A call counts 2,000 bytes, a fragment 400, and a piece of the stream its own, however many fragments are in it."""
    layer = RpcLayer(Keyring(), begin=ToyKeys().begin)
    first, middle, last = (request(1, bytes(500), flags=flags) for flags in (FIRST, 0, LAST))
    answer, rest = (response(bytes(90), flags=flags) for flags in (FIRST, LAST))
    talk = Conversation().bound().client(first).send(True, middle + middle).send(True, middle + last)
    talk.server(answer).server(rest)
    sizes = []
    for event in talk.events:
        list(layer.feed(event))
        sizes.append(sum(one.memory for one in layer._associations.values()))
    grown = [after - before for before, after in pairwise(sizes[1:])]
    assert grown[:4] == [
        2000 + 400 + len(first),
        800 + 2 * len(middle),
        800 + len(middle) + len(last),
        400 + len(answer),
    ]
    assert grown[4] == -sum(grown[:4])


@pytest.mark.parametrize(("has_bind", "session", "is_asked"), [(True, 0, True), (True, None, False), (False, 0, False)])
def test_calls_outside_sessions_and_calls_without_a_bind_need_no_selection(
    *, has_bind: bool, session: int | None, is_asked: bool
) -> None:
    """What a call without a bind is about is known at the end of the capture."""
    asked: list[int] = []
    talk = Conversation(replace(CHANNEL, session=session))
    if has_bind:
        talk.bound()
    talk.client(request(3, b"ask!")).server(response(b"tell"))
    found = calls(talk, selected=lambda *given: asked.append(given[-1].call_id))
    assert (asked, len(found)) == (([1], 0) if is_asked else ([], 1))


UNOPENED = replace(CHANNEL, number=1, pipe=None)


@pytest.mark.parametrize(
    ("pipe", "unopened", "call_id", "gap", "interface"),
    [
        (CHANNEL, UNOPENED, 1, False, PCQ),
        (CHANNEL, replace(UNOPENED, pipe="srvsvc"), 1, False, None),
        (CHANNEL, replace(UNOPENED, server=CHANNEL.client), 1, False, None),
        (CHANNEL, UNOPENED, 9, False, None),
        (CHANNEL, UNOPENED, 1, True, None),
        (replace(CHANNEL, pipe=None), UNOPENED, 1, False, None),
    ],
)
def test_a_bind_that_names_no_open_is_that_of_the_pipe_where_the_server_answers_it(
    pipe: Channel, unopened: Channel, call_id: int, gap: bool, interface: str | None
) -> None:
    """One wrong number in its SMB message: no pipe was opened under the id that it names."""
    asked, talk = (
        Conversation(unopened).client(bind(call_id=call_id, auth=Auth(TOY_FIRST + b"key"))),
        Conversation(pipe),
    )
    if gap:
        talk.gap(True, 10)
    talk.server(bind_ack(auth=Auth(TOY_ANSWER))).client(pdu(AUTH3, bytes(4), auth=Auth(TOY_LAST)))
    talk.client(request(6, b"ask", call_id=2, sealer=ToySealer(b"key", "initiator")))
    talk.server(response(b"tell", call_id=2, sealer=ToySealer(b"key", "acceptor")))
    events = reported([*asked.events, *talk.events])
    (call,) = [event for event in events if isinstance(event, Exchange)]
    assert (call.interface, call.state) == (interface, "complete" if interface else "sealed")
    said = [event.text for event in events if isinstance(event, Problem) and "names another open" in event.text]
    assert len(said) == (interface is not None)
