"""Presentation contexts: what was offered, what became of it, and what is no context at all."""

from __future__ import annotations

import pytest

from tests.build.rpc import (
    ALTER,
    ALTER_RESP,
    PCQ,
    Conversation,
    bind,
    bind_ack,
    bind_nak,
    request,
)
from tests.transport.rpc.run import bounds, calls, problems


def test_an_accepted_context_is_bound():
    talk = Conversation().bound()
    (bound,) = bounds(talk)
    assert (bound.context_id, bound.interface, bound.version, bound.syntax) == (0, PCQ, (1, 0), "ndr")
    assert (bound.accepted, bound.frames, bound.reason, bound.assoc_group_id) == (True, (1, 2), None, 0x53)


@pytest.mark.parametrize(("reason", "text"), [(4, "protocol version"), (8, "authentication type"), (200, "reason 200")])
def test_a_refused_bind_says_why(reason, text):
    talk = Conversation().client(bind()).server(bind_nak(reason))
    (bound,) = bounds(talk)
    assert bound.accepted is False
    assert text in bound.reason
    (problem,) = problems(talk)
    assert problem.kind == "note"
    assert text in problem.text


@pytest.mark.parametrize("group", [0, 0x53])
def test_a_bind_says_whether_it_joins_an_association_group(group):
    talk = Conversation().client(bind(group=group)).server(bind_ack())
    # What an alter_context has in its place means nothing.
    talk.client(bind(ptype=ALTER, call_id=2, group=0x53)).server(bind_ack(ptype=ALTER_RESP, call_id=2))
    assert [one.joins_group for one in bounds(talk)] == [bool(group), False]


def test_a_bind_that_breaks_off_costs_itself():
    whole = bind()
    short = bytearray(whole[:50])
    short[8:10] = len(short).to_bytes(2, "little")
    talk = Conversation().client(bytes(short), request(6, b"a"))
    assert [problem.kind for problem in problems(talk)] == ["truncated"]
    assert [call.interface for call in calls(talk)] == [None]
