"""Properties of the layer: pieces do not matter, bytes keep their address, damage gives events and nothing else."""

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from analyzer.core.events import Event, Problem
from analyzer.core.traced_bytes import TracedBytes
from analyzer.results.connection import Bound, ClientMarks, Logon, Pdu
from analyzer.transport.channel.channels import ChannelBatch, ChannelGap
from analyzer.transport.rpc.exchange_maker import Exchange
from tests.build.rpc import (
    CHANNEL,
    PCQ,
    WINREG,
    Conversation,
    bind,
    bind_ack,
    context,
    cut,
    fault,
    fragments,
    request,
    response,
    verification_trailer,
    vt_bitmask,
    vt_header2,
    vt_pcontext,
)
from tests.transport.rpc.run import reported, stub

MODEST = settings(max_examples=60)


def conversation(sealed: bool = True) -> tuple[Conversation, list[bytes]]:
    """Calls of two interfaces in fragments, a fault, a trailer, an alter_context, a lonely request; and their request stubs."""
    talk = Conversation()
    ours, theirs = talk.sealed() if sealed else (None, None)
    if not sealed:
        talk.bound()
    stubs = []
    for n in range(6):
        question = bytes((n + k) % 256 for k in range(20 + 16 * n))
        stubs.append(question)
        trailer = verification_trailer(vt_bitmask(0), vt_pcontext(), vt_header2(n, call_id=n + 2)) if n == 3 else b""
        for flags, piece in fragments(question + trailer, 40):
            talk.client(request(n, piece, call_id=n + 2, flags=flags, sealer=ours))
        if n == 2:
            talk.server(fault(0x1C010002, call_id=n + 2))
        for flags, piece in fragments(question[::-1], 30) if n != 2 else ():
            talk.server(response(piece, call_id=n + 2, flags=flags, sealer=theirs))
    talk.client(bind((context(1, WINREG),), ptype=14, call_id=20)).server(bind_ack(ptype=15, call_id=20))
    talk.client(request(17, b"last", call_id=21, context_id=1, sealer=ours))
    return talk, [*stubs, b"last"]


SEALED, STUBS = conversation()
CLEAR, _ = conversation(sealed=False)
WHOLE_SEALED, WHOLE_CLEAR = reported(SEALED), reported(CLEAR)


def test_the_conversation_is_read_whole():
    found = [event for event in WHOLE_SEALED if isinstance(event, Exchange)]
    assert [stub(call.request) for call in found] == STUBS
    assert [call.interface for call in found] == [PCQ] * 6 + [WINREG]
    assert found[3].request.verification_trailer == "ok"
    assert not [event for event in WHOLE_SEALED if isinstance(event, Problem)]


@given(st.lists(st.integers(1, 200), max_size=6))
@MODEST
def test_cutting_never_changes_the_events(places):
    assert reported(cut(SEALED.events, places)) == WHOLE_SEALED
    assert reported(cut(CLEAR.events, places)) == WHOLE_CLEAR


@given(st.lists(st.integers(1, 200), max_size=4), st.integers(0, len(CLEAR.events)), st.binary(max_size=80))
@MODEST
def test_cutting_never_changes_the_events_of_a_damaged_stream(places, at, junk):
    damaged = Conversation()
    for n, event in enumerate(CLEAR.events):
        if n == at:
            damaged.gap(True, None)
            damaged.send(True, junk, fresh=False)
        damaged.send(event.from_client, event.data.data)
    assert reported(cut(damaged.events, places)) == reported(damaged)


@given(st.integers(0, 40), st.integers(0, 500))
@MODEST
def test_the_origin_of_any_opened_byte_leads_back_to_its_frame(which, at):
    found = [event for event in WHOLE_SEALED if isinstance(event, Exchange)]
    message = found[which % len(found)].request
    opened = message.stub
    assert isinstance(opened, TracedBytes)
    at %= len(opened)
    (extent,) = opened.origin(at, at + 1)
    event = next(one for one in SEALED.events if isinstance(one, ChannelBatch) and extent.frame in one.data.frames)
    # Sealing keeps positions: the byte's place in its fragment is its place in the frame.
    part = next(one for one in message.pdus if extent.frame in one.pdu.frames)
    inside = extent.start - 100
    assert part.stub_start <= inside < part.stub_stop
    assert part.plain.data[inside - part.stub_start] == opened.data[at]
    assert len(event.data) > inside


@given(
    st.integers(0, len(SEALED.events) - 1),
    st.integers(0, 300),
    st.integers(0, 30),
    st.binary(max_size=40),
    st.booleans(),
)
@MODEST
def test_random_bytes_spliced_in_give_events_and_nothing_else(which, at, removed, junk, sealed):
    events: list[Event] = list((SEALED if sealed else CLEAR).events)
    which %= len(events)
    event = events[which]
    assert isinstance(event, ChannelBatch)
    data = event.data.data
    at %= len(data) + 1
    spliced = data[:at] + junk + data[at + removed :]
    junked = TracedBytes.of_frame(spliced, 999, 0, event.data.first_time_ns or 0)
    events[which] = replace(event, spans=[(junked, 0, len(junked))])
    for stated in reported(events):
        assert isinstance(stated, (Exchange, Pdu, Bound, ClientMarks, Logon, Problem))
        if isinstance(stated, Exchange):
            side = stated.request or stated.response
            assert side.first_time_ns > 0
            assert (stated.state == "complete") or stated.reason
    opened = {
        stub(call.request)
        for call in reported(events)
        if isinstance(call, Exchange)
        and call.request
        and sealed
        and (isinstance(call.request.stub, TracedBytes) and call.auth.level == 6)
    }
    assert opened <= set(STUBS)


@given(st.binary(max_size=300), st.booleans())
@MODEST
def test_random_bytes_alone_give_events_and_nothing_else(junk, from_client):
    talk = Conversation().send(from_client, b"\x05\x00" + junk)
    assert all(isinstance(stated, (Exchange, Pdu, Bound, Problem)) for stated in reported(talk))


@given(st.integers(3, len(SEALED.events) - 1), st.booleans())
@MODEST
def test_a_gap_leaves_everything_before_it_whole_and_invents_nothing(at, known):
    events: list[Event] = list(SEALED.events)
    lost = events[at]
    assert isinstance(lost, ChannelBatch)
    around = (min(lost.data.frames) - 1, max(lost.data.frames) + 1)
    length = len(lost.data) if known else None
    events[at] = ChannelGap(lost.channel, lost.from_client, length, around, "a segment was not captured")
    stated = reported(events)
    found = {call.call_id: call for call in stated if isinstance(call, Exchange)}
    whole = {call.call_id: call for call in WHOLE_SEALED if isinstance(call, Exchange)}
    for call_id, call in whole.items():
        frames = {*call.request.frames, *(call.response.frames if call.response else ())}
        if max(frames) < min(lost.data.frames):
            assert found[call_id] == call
        elif call_id in found:
            other = found[call_id]
            for mine, theirs in ((other.request, call.request), (other.response, call.response)):
                if mine is not None and isinstance(mine.stub, TracedBytes):
                    assert mine.stub.data == stub(theirs)
            if other.state != "complete":
                assert other.reason
    assert any(isinstance(event, Problem) and event.kind == "gap" for event in stated)


def test_marks_of_the_first_calls_name_the_frames_of_these_calls_in_one_piece():
    sent = [bind(), *(request(3, bytes(40), call_id=call_id) for call_id in (2, 3, 4))]
    piece = TracedBytes.join(TracedBytes.of_frame(data, frame) for frame, data in enumerate(sent, 1))
    found = reported([ChannelBatch(CHANNEL, True, [(piece, 0, len(piece))], None, True)])
    marks = [event for event in found if isinstance(event, ClientMarks)]
    assert [event.frames for event in marks] == [(1,), (3,), (4,)]
