"""Presentation contexts: what was offered, what became of it, and what is no context at all."""

from __future__ import annotations

import pytest

from analyzer.transport.rpc.pdu import parse_bind, parse_bind_ack, read_header
from tests.build.rpc import (
    ALTER,
    ALTER_RESP,
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
from tests.transport.rpc.run import bounds, calls, only_call, problems

NONE = ("00000000-0000-0000-0000-000000000000", 0)


def test_an_accepted_context_is_bound():
    talk = Conversation().bound()
    (bound,) = bounds(talk)
    assert (bound.context_id, bound.interface, bound.version, bound.syntax) == (0, PCQ, (1, 0), "ndr")
    assert (bound.accepted, bound.frames, bound.reason, bound.assoc_group_id) == (True, (1, 2), None, 0x53)


def test_windows_offers_ndr_ndr64_and_features_in_one_bind():
    offers = (context(0, PCQ, (NDR,)), context(1, PCQ, (NDR64,)), context(2, PCQ, (FEATURES,)))
    talk = Conversation().client(bind(offers))
    talk.server(bind_ack(((2, 2, NONE), (0, 0, NDR64), (3, 3, NONE))))
    refused, accepted = bounds(talk)
    assert (refused.context_id, refused.accepted, refused.syntax) == (0, False, "ndr")
    assert refused.reason == "provider rejection: proposed transfer syntaxes not supported"
    assert (accepted.context_id, accepted.accepted, accepted.syntax) == (1, True, "ndr64")
    talk.client(request(6, b"ask!", context_id=1)).server(response(b"tell", context_id=1))
    assert only_call(talk).syntax == "ndr64"


def test_a_context_with_several_transfer_syntaxes_gets_the_one_chosen():
    talk = Conversation().client(bind((context(0, PCQ, (NDR, NDR64)),))).server(bind_ack(((0, 0, NDR64),)))
    assert [bound.syntax for bound in bounds(talk)] == ["ndr64"]


def test_alter_context_adds_an_interface():
    talk = Conversation().bound(WINREG)
    talk.client(bind((context(1, PCQ),), ptype=ALTER, call_id=2)).server(
        bind_ack(ptype=ALTER_RESP, call_id=2, address=b"")
    )
    talk.client(request(6, b"a", context_id=1, call_id=3)).server(response(b"b", context_id=1, call_id=3))
    assert [(bound.context_id, bound.interface) for bound in bounds(talk)] == [(0, WINREG), (1, PCQ)]
    assert only_call(talk).interface == PCQ


def test_a_refused_context_keeps_its_name_for_the_calls_that_try_it():
    talk = Conversation().client(bind()).server(bind_ack(((2, 1, NONE),)))
    talk.client(request(6, b"ask!"))
    (bound,) = bounds(talk)
    assert (bound.accepted, bound.reason) == (False, "provider rejection: abstract syntax not supported")
    assert only_call(talk).interface == PCQ


@pytest.mark.parametrize(("reason", "text"), [(4, "protocol version"), (8, "authentication type"), (200, "reason 200")])
def test_a_refused_bind_says_why(reason, text):
    talk = Conversation().client(bind()).server(bind_nak(reason))
    (bound,) = bounds(talk)
    assert bound.accepted is False
    assert text in bound.reason
    (problem,) = problems(talk)
    assert problem.kind == "note"
    assert text in problem.text


def test_a_bind_without_an_answer_is_reported_as_such():
    (bound,) = bounds(Conversation().client(bind()).closed())
    assert (bound.interface, bound.accepted, bound.frames) == (PCQ, None, (1,))


@pytest.mark.parametrize("group", [0, 0x53])
def test_a_bind_says_whether_it_joins_an_association_group(group):
    talk = Conversation().client(bind(group=group)).server(bind_ack())
    # What an alter_context has in its place means nothing.
    talk.client(bind(ptype=ALTER, call_id=2, group=0x53)).server(bind_ack(ptype=ALTER_RESP, call_id=2))
    assert [one.joins_group for one in bounds(talk)] == [bool(group), False]


def test_a_lost_answer_to_the_bind_does_not_lose_the_interface():
    talk = (
        Conversation()
        .client(bind())
        .gap(False, 60)
        .client(request(6, b"a", call_id=2))
        .server(response(b"b", call_id=2))
    )
    call = only_call(talk)
    assert (call.interface, call.syntax, call.state) == (PCQ, "ndr", "complete")


def test_an_answer_seen_before_its_bind_still_counts():
    talk = (
        Conversation().server(bind_ack()).client(bind(), request(6, b"a", call_id=2)).server(response(b"b", call_id=2))
    )
    assert [bound.accepted for bound in bounds(talk)] == [True]


def test_an_answer_with_the_wrong_number_of_results_is_reported():
    talk = Conversation().client(bind()).server(bind_ack(((0, 0, NDR), (0, 0, NDR))))
    assert [bound.accepted for bound in bounds(talk)] == [True]
    (problem,) = problems(talk)
    assert (problem.kind, problem.frames) == ("malformed", (2,))


def test_a_bind_that_breaks_off_costs_itself():
    whole = bind()
    short = bytearray(whole[:50])
    short[8:10] = len(short).to_bytes(2, "little")
    talk = Conversation().client(bytes(short), request(6, b"a"))
    assert [problem.kind for problem in problems(talk)] == ["truncated"]
    assert [call.interface for call in calls(talk)] == [None]


@pytest.mark.parametrize("big", [False, True])
def test_what_the_builders_encode_the_parsers_return(big):
    data = bind((context(3, PCQ, (NDR, NDR64), big=big),), big=big)
    parsed = parse_bind(read_header(data), data, len(data))
    (offer,) = parsed.offers
    assert (offer.context_id, offer.abstract.uuid, offer.abstract.version) == (3, PCQ, (1, 0))
    assert [(one.uuid, one.version[0]) for one in offer.transfer] == [NDR, NDR64]
    assert (parsed.max_xmit_frag, parsed.max_recv_frag, parsed.assoc_group_id) == (4280, 4280, 0)
    data = bind_ack(((0, 0, NDR), (2, 1, NONE)), big=big, address=b"135\0")
    ack = parse_bind_ack(read_header(data), data, len(data))
    assert (ack.secondary_address, ack.assoc_group_id) == ("135", 0x53)
    assert [(one.result, one.reason, one.transfer.uuid) for one in ack.results] == [(0, 0, NDR[0]), (2, 1, NONE[0])]
