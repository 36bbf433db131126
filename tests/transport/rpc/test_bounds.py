"""Each bound and rule of an association from both sides: what is kept of binds, of calls whose bytes are missing, of ids."""

from __future__ import annotations

import struct
from itertools import pairwise

import pytest

from analyzer.auth.keyring import Keyring
from analyzer.core.limits import Limits
from analyzer.results.security import AuthLevel
from analyzer.transport.rpc.call import decoded_side, trimmed_length
from analyzer.transport.rpc.layer import RpcLayer
from tests.build.rpc import (
    ALTER,
    ALTER_RESP,
    FAULT,
    FIRST,
    LAST,
    NDR,
    NDR64,
    OBJECT,
    PCQ,
    WINREG,
    Auth,
    Conversation,
    ToyKeys,
    bind,
    bind_ack,
    bind_nak,
    context,
    pdu,
    request,
    response,
)
from tests.transport.rpc.run import bounds, calls, only_call, problems, stub


@pytest.mark.parametrize(("length", "is_known"), [(24, True), (23, False), (30, True)])
def test_a_cut_request_names_its_call_where_its_fixed_fields_are_there(length: int, is_known: bool) -> None:
    talk = Conversation().bound().client(request(7, b"this is lost")[:length]).gap(True, 36 - length)
    talk.server(response(b"tell"))
    call = only_call(talk)
    assert (call.opnum, call.state) == ((7, "partial") if is_known else (None, "response-only"))


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


def test_a_refused_bind_names_every_interface_it_offered_and_the_frames_of_both() -> None:
    talk = Conversation().client(bind((context(0, PCQ), context(1, WINREG)))).server(bind_nak(8))
    found = bounds(talk)
    assert [(one.interface, one.accepted, one.frames) for one in found] == [
        (PCQ, False, (1, 2)),
        (WINREG, False, (1, 2)),
    ]
    assert {one.syntax for one in found} == {"ndr"}
    (problem,) = problems(talk)
    assert (problem.kind, problem.frames) == ("note", (2,))
    assert found[0].reason is not None
    assert found[0].reason in problem.text
    assert [one.kind for one in problems(Conversation().server(bind_nak(8)))] == ["note"]


def test_the_only_transfer_syntax_offered_is_that_of_calls_whose_answer_was_lost() -> None:
    for offered, syntax in (((NDR64,), "ndr64"), ((NDR,), "ndr")):
        talk = Conversation().client(bind((context(0, PCQ, offered),)), request(6, b"a", call_id=2))
        assert only_call(talk).syntax == syntax


def test_a_context_offered_again_keeps_its_meaning_until_it_is_accepted() -> None:
    talk = (
        Conversation().bound().client(bind((context(0, WINREG),), ptype=ALTER, call_id=2), request(6, b"a", call_id=3))
    )
    assert only_call(talk).interface == PCQ
    talk = Conversation().bound().client(bind((context(0, WINREG),), ptype=ALTER, call_id=2))
    talk.server(bind_ack(ptype=ALTER_RESP, call_id=2)).client(request(6, b"a", call_id=3))
    assert only_call(talk).interface == WINREG


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


@pytest.mark.parametrize(
    ("flags", "hints", "state"),
    [
        ((FIRST, 0, LAST), (6, 0, 0), "complete"),
        ((FIRST, LAST), (4, 0), "complete"),
        ((FIRST, LAST), (6, 0), "partial"),  # a fragment as long as the first one is missing
        ((FIRST, LAST), (5, 0), "complete"),  # one byte is no fragment: only a hint
        ((FIRST, LAST), (0, 0), "complete"),
        ((FIRST, 0), (4, 0), "partial"),
        ((0, LAST), (4, 0), "partial"),
    ],
)
def test_a_request_is_whole_by_its_flags_and_by_what_was_announced(
    flags: tuple[int, ...], hints: tuple[int, ...], state: str
) -> None:
    parts = [request(1, b"ab", flags=flag, hint=hint) for flag, hint in zip(flags, hints, strict=True)]
    talk = Conversation().bound().client(*parts).server(response(b"tell"))
    assert {call.state for call in calls(talk) if call.opnum == 1} == {state}


@pytest.mark.parametrize(("skipped", "text"), [(0, None), (1, "the requests of call 3 "), (2, "of calls 3 to 4 ")])
def test_ids_that_are_missing_after_a_gap_are_named(skipped: int, text: str | None) -> None:
    talk = Conversation().bound().client(request(1, b"", call_id=2)).server(response(b"", call_id=2))
    talk.gap(True, 24).client(request(1, b"", call_id=3 + skipped)).server(response(b"", call_id=3 + skipped))
    # Only the first request behind the gap says anything.
    talk.client(request(1, b"", call_id=9 + skipped)).server(response(b"", call_id=9 + skipped))
    found = [one.text for one in problems(talk) if "requests of" in one.text]
    assert len(found) == (text is not None)
    assert text is None or text in found[0]


def test_ids_that_skip_more_than_could_be_pending_were_chosen_otherwise() -> None:
    for limit, count in ((5, 0), (6, 1)):
        talk = Conversation().bound().client(request(1, b"", call_id=2)).server(response(b"", call_id=2))
        talk.gap(True, 24).client(request(1, b"", call_id=8)).server(response(b"", call_id=8))
        found = [one for one in problems(talk, limits=Limits(calls_pending=limit)) if "requests of" in one.text]
        assert len(found) == count


def test_of_too_many_calls_the_oldest_are_given_up_with_one_word_about_it() -> None:
    talk = Conversation().bound()
    for number in range(2, 8):
        talk.client(request(1, b"", call_id=number))
    limits = Limits(calls_pending=4)
    given_up = [
        one for one in calls(talk, limits=limits) if "no answer among the 4 calls after it" in (one.reason or "")
    ]
    assert [one.call_id for one in given_up] == [2, 3]
    (limit,) = problems(talk, limits=limits)
    assert (limit.kind, limit.frames) == ("limit", (7,))
    assert "more than 4 calls" in limit.text


@pytest.mark.parametrize(("big", "value"), [(False, 0x106A), (True, None)])
def test_a_method_that_is_not_decoded_ends_in_its_return_value(big: bool, value: int | None) -> None:
    from analyzer.transport.rpc.call import plain_call

    talk = Conversation().bound().client(request(77, b"ask")).server(response(b"\1\0\0\0\x6a\x10\0\0", big=big))
    call = plain_call(only_call(talk))

    def decode(data: bytes, is_ndr64: bool, is_big: bool) -> None:
        raise AssertionError

    side, decoded = decoded_side(call.response, call, (), decode)  # type: ignore[type-var]
    assert decoded is None
    assert side is not None
    assert side.params.get("ReturnValue") == value
    asked, _ = decoded_side(call.request, call, (), decode)  # type: ignore[type-var]
    assert asked is call.request


def test_only_what_aligns_a_verification_trailer_is_no_part_of_the_stub() -> None:
    from analyzer.transport.rpc.call import plain_call

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
