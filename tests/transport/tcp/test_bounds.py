"""Each bound of reassembly from both sides: how long it waits, how far numbers may lie, how much is compared and held."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from analyzer.core.events import Event, Problem
from analyzer.core.limits import Limits
from analyzer.core.traced import TracedBytes
from analyzer.results.record import Endpoint
from analyzer.transport.packet.segment import ACK, FIN, PSH, RST, SYN, Segment, SegmentBatch
from analyzer.transport.tcp.events import Connection, Direction, Gap, StreamBatch, StreamClosed
from analyzer.transport.tcp.flow import TcpTimeouts
from analyzer.transport.tcp.ordering import Recent
from tests.build.tcp import CLIENT, MS, SERVER, Streams, Talk
from tests.transport.tcp.test_reassembler import reported, run

SECOND = 1000 * MS


def at(segment: Segment, time_ns: int) -> Segment:
    """The same segment, captured at another time."""
    payload = TracedBytes.of_frame(segment.payload.data, segment.frame, 54, time_ns)
    return replace(segment, payload=payload, time_ns=time_ns)


def acknowledged_hole(room: Streams) -> tuple[Talk, list[Event]]:
    """A request of which the middle was lost by the capture alone: its receiver acknowledged everything at time 0."""
    talk = Talk()
    hello = talk.open()
    before, _, after = talk.c(b"before"), talk.c(b"lost"), talk.c(b"after")
    events = [event for segment in [*hello, before, after] for event in room.feed(at(segment, 0))]
    return talk, [*events, *room.feed(at(talk.ack(SERVER), 0))]


@pytest.mark.parametrize(
    ("segments", "time_ns", "is_given_up"),
    [
        (64, 50 * MS, True),
        (63, 50 * MS, False),
        (64, 50 * MS - 1, False),
        (1, 2 * SECOND, True),
        (1, 2 * SECOND - 1, False),
    ],
)
def test_an_acknowledged_hole_waits_for_segments_and_time_or_for_long(
    segments: int, time_ns: int, is_given_up: bool
) -> None:
    room = Streams()
    talk, events = acknowledged_hole(room)
    for _ in range(segments - 1):
        events += room.feed(at(talk.ack(SERVER), 0))
    events += room.feed(at(talk.ack(SERVER), time_ns))
    gaps = [event for event in events if isinstance(event, Gap)]
    assert [(gap.offset, gap.length, gap.reason) for gap in gaps] == (
        [(6, 4, "the receiver acknowledged these bytes, the capture does not have them")] if is_given_up else []
    )
    assert (reported(events)[-1] == (0, b"after")) is is_given_up


@pytest.mark.parametrize(("time_ns", "is_given_up"), [(5 * SECOND, True), (5 * SECOND - 1, False)])
def test_where_the_receiver_was_never_captured_a_hole_waits_for_a_retransmission(
    time_ns: int, is_given_up: bool
) -> None:
    talk = Talk()
    syn = talk.open()[0]
    first, lost, later = talk.c(b"one"), talk.c(b"lost"), talk.c(b"later")
    room = Streams()
    events = [event for segment in (syn, first, later) for event in room.feed(at(segment, 0))]
    events += room.feed(at(talk.c(b"end"), time_ns))
    expected = [("gap", 0, 3, 4), (0, b"later"), (0, b"end")] if is_given_up else []
    assert reported(events) == [(0, b"one"), *expected]
    if not is_given_up:
        assert reported(room.feed(at(lost, time_ns))) == [(0, b"lost"), (0, b"later"), (0, b"end")]
    else:
        gap = next(event for event in events if isinstance(event, Gap))
        assert gap.reason == "not captured, and not sent again in time (the receiver's side was not captured)"
        assert gap.frames == (first.frame, later.frame)


@pytest.mark.parametrize(("time_ns", "is_over"), [(10 * SECOND, True), (10 * SECOND - 1, False)])
def test_a_reset_connection_is_over_when_nothing_more_can_be_under_way(time_ns: int, is_over: bool) -> None:
    talk = Talk()
    room = Streams()
    for segment in [*talk.open(), talk.c(b"ask"), talk.rst(CLIENT)]:
        room.feed(at(segment, 0))
    another = Talk(client=Endpoint("192.0.2.9", 1), first_frame=90)
    events = room.feed(at(another.open()[0], time_ns))
    assert reported(events) == (["rst"] if is_over else [])


def test_a_reset_counts_only_where_its_direction_stands() -> None:
    """RFC 5961 section 3.2: exactly the next number; here also just behind bytes that may still come, and the number of a FIN."""
    for ahead, is_believed in ((0, True), (-1, False), (1 << 30, True), ((1 << 30) + 1, False)):
        talk = Talk()
        segments = [*talk.open(), talk.c(b"ask"), talk.s(b"answer")]
        reset = talk.raw(CLIENT, talk.seq[CLIENT] + ahead, talk.received[CLIENT], ACK | RST)
        assert reported(run([*segments, reset]))[-1] == ("rst" if is_believed else "end"), ahead
    talk = Talk()
    segments = [*talk.open(), talk.c(b"ask"), talk.fin(CLIENT)]
    late = talk.raw(CLIENT, talk.seq[CLIENT] - 1, talk.received[CLIENT], ACK | RST)
    assert reported(run([*segments, late]))[-1] == "rst"
    older = talk.raw(CLIENT, talk.seq[CLIENT] - 2, talk.received[CLIENT], ACK | RST)
    assert reported(run([*segments, older]))[-1] == "end"


@pytest.mark.parametrize("ends", [(CLIENT, SERVER), (SERVER, CLIENT)])
def test_a_connection_ends_when_both_directions_have(ends: tuple[Endpoint, Endpoint]) -> None:
    first, second = ends
    talk = Talk()
    room = Streams()
    for segment in [*talk.open(), talk.c(b"ask"), talk.s(b"answer")]:
        room.feed(segment)
    assert room.feed(talk.fin(first)) == []
    more = talk.send(second, b"more")
    assert reported(room.feed(more)) == [(int(second == SERVER), b"more")]
    assert reported(room.feed(talk.fin(second))) == ["fin"]
    # After the end, data is mentioned once and acknowledgements never.
    behind = [talk.raw(first, talk.seq[first] + 9, talk.received[first], ACK | PSH, b"late") for _ in range(2)]
    assert room.feed(talk.ack(second)) == []
    assert [reported(room.feed(one)) for one in behind] == [["note"], []]


def test_the_frames_of_a_lost_byte_that_might_have_been_a_fin_are_those_around_it() -> None:
    talk = Talk()
    hello, ask = talk.open(), talk.c(b"ask")
    talk.c(b"!")
    acknowledged = talk.ack(SERVER)
    talk.wait(3000)
    more = [talk.ack(SERVER), talk.ack(SERVER), talk.c(b"more")]
    gap = next(event for event in run([*hello, ask, acknowledged, *more]) if isinstance(event, Gap))
    assert gap.frames == (ask.frame, more[-1].frame)


@pytest.mark.parametrize(("segments", "waits"), [(7, True), (8, False)])
def test_a_start_in_mid_stream_is_kept_for_a_few_segments(segments: int, waits: bool) -> None:
    talk = Talk().skip_handshake()
    room = Streams()
    sent = [talk.c(bytes((65 + number,))) for number in range(segments)]
    sent = [replace(one, flags=ACK | PSH) for one in sent]
    events = [event for segment in [*sent[1:], sent[0]] for event in room.feed(segment)]
    assert reported(events) == ([] if waits else [(0, one.payload.data) for one in sent])


@pytest.mark.parametrize(("time_ns", "waits"), [(SECOND, True), (SECOND + 1, False)])
def test_a_start_in_mid_stream_is_kept_for_a_second(time_ns: int, waits: bool) -> None:
    talk = Talk().skip_handshake()
    room = Streams()
    first, second = talk.c(b"first"), talk.c(b"second")
    assert room.feed(at(second, 0)) == []
    assert reported(room.feed(at(first, time_ns))) == ([] if waits else [(0, b"first"), (0, b"second")])


def test_a_start_in_mid_stream_ends_with_its_first_fin_or_reset() -> None:
    for flag, last in ((FIN, []), (RST, [])):
        talk = Talk().skip_handshake()
        room = Streams()
        assert room.feed(talk.c(b"ask")) == []
        ending = talk.raw(CLIENT, talk.seq[CLIENT], talk.received[CLIENT], ACK | flag)
        assert reported(room.feed(ending)) == [(0, b"ask"), *last]


def test_of_a_start_in_mid_stream_the_lowest_number_is_the_first_byte_even_across_the_wrap() -> None:
    talk = Talk(client_isn=0xFFFFFFF8).skip_handshake()
    sent = [talk.c(b"0123"), talk.c(b"4567"), talk.c(b"89ab")]
    cut = replace(talk.c(b"", missing=5), flags=ACK)
    answer = talk.s(b"answer")
    events = run([sent[2], sent[1], cut, sent[0], answer])
    assert reported(events) == [(0, b"0123"), (0, b"4567"), (0, b"89ab"), ("gap", 0, 12, 5), (1, b"answer"), "end"]


def test_acknowledgements_beyond_the_largest_window_mean_nothing() -> None:
    """RFC 7323 section 2.3: windows end at 2**30."""
    for lead, gap in ((1 << 30, 1 << 30), ((1 << 30) + 1, None)):
        talk = Talk()
        far = replace(talk.open()[2], ack=(talk.server_isn + 1 + lead) & 0xFFFFFFFF)
        again = Talk()
        events = run([*again.open(), far])
        assert [event.length for event in events if isinstance(event, Gap)] == ([] if gap is None else [gap])


def differing(count: int) -> tuple[list[Segment], list[Segment]]:
    """Segments, and copies of them of which each differs in its second byte."""
    talk = Talk()
    hello = talk.open()
    first = [talk.c(b"abc") for _ in range(count)]
    return [*hello, *first], [talk.again(one, b"aXc") for one in first]


def test_a_stream_of_too_many_conflicts_is_no_longer_compared() -> None:
    first, copies = differing(40)
    problems = [event for event in run([*first, *copies]) if isinstance(event, Problem)]
    assert [problem.kind for problem in problems] == [*["conflict"] * 32, "limit"]
    assert problems[-1].frames == (first[3 + 32].frame, copies[32].frame)
    assert "bytes 94 to 94" in problems[31].text
    assert problems[0].text.startswith(f"stream {CLIENT} to {SERVER}: two versions of bytes 1 to 1;")


@pytest.mark.parametrize(("later", "is_compared"), [(126, True), (127, True), (128, False)])
def test_copies_are_compared_with_the_last_segments_of_the_capture(later: int, is_compared: bool) -> None:
    talk = Talk()
    hello, first = talk.open(), talk.c(b"first")
    others = [talk.c(b"x") if number % 2 else talk.s(b"y") for number in range(later)]
    events = run([*hello, first, *others, talk.again(first, b"fiRst")])
    assert ("conflict" in reported(events)) is is_compared


def test_a_conflict_within_the_reply_of_a_batch_is_found_in_its_direction_alone() -> None:
    talk = Talk()
    hello, ask, answer = talk.open(), talk.c(b"ask me"), talk.s(b"answer")
    wrong = talk.again(answer, b"anSwer")
    same = talk.again(ask)
    problem = [event for event in run([*hello, ask, answer, same, wrong]) if isinstance(event, Problem)]
    assert [(one.kind, one.frames) for one in problem] == [("conflict", (answer.frame, wrong.frame))]
    assert problem[0].text.startswith(f"stream {SERVER} to {CLIENT}: ")


def test_known_conflicts_are_reported_again_only_where_they_reach_further() -> None:
    talk = Talk()
    hello, first = talk.open(), talk.c(b"0123456789")
    copies = [talk.again(first, data) for data in (b"01XXX56789", b"012X456789", b"01X3456789", b"0123XX6789")]
    texts = [event.text for event in run([*hello, first, *copies]) if isinstance(event, Problem)]
    assert [text.partition("bytes ")[2].partition(";")[0] for text in texts] == ["2 to 4", "4 to 5"]


def test_the_bound_on_a_stream_names_the_first_frame_that_waits_and_frees_half() -> None:
    talk = Talk()
    hello = talk.open()
    talk.c(b"lost")
    later = [replace(talk.c(b"x" * 1000), ack=talk.server_isn + 1) for _ in range(30)]
    room = Streams(Limits(held_stream=20_000))
    events = [event for segment in [*hello, *later] for event in room.feed(segment)]
    limit = next(event for event in events if isinstance(event, Problem))
    assert limit.frames == (later[0].frame,)
    assert "20000 bytes" in limit.text
    gap = next(event for event in events if isinstance(event, Gap))
    assert gap.reason == "not captured before too much waited for it"
    assert gap.frames == (later[0].frame,)
    assert [event.kind for event in events if isinstance(event, Problem)] == ["limit"]


def test_connections_of_ours_that_are_dropped_are_counted_and_others_are_not() -> None:
    def opened(port: int, *, speaks: bool) -> list[Segment]:
        talk = Talk(client=Endpoint("192.0.2.8", port), first_frame=10 * port)
        return [*talk.open(), talk.c(b"busy")] if speaks else talk.open()[:1]

    for speaks, count in ((True, 2), (False, 0)):
        room = Streams(Limits(connections=16))
        events = [
            event for port in range(1, 18) for segment in opened(port, speaks=speaks) for event in room.feed(segment)
        ]
        problems = [event for event in events if isinstance(event, Problem)]
        closed = [event for event in events if isinstance(event, StreamClosed)]
        assert [event.connection.a.port for event in closed] == [1, 2][:count]
        assert [problem.text for problem in problems] == (
            ["more than 16 connections at once; 2 that were silent longest were dropped"] if count else []
        )


@pytest.mark.parametrize(("time_ns", "reason"), [(SECOND, "idle"), (SECOND - 1, "limit")])
def test_a_connection_that_was_silent_for_long_is_idle(time_ns: int, reason: str) -> None:
    room = Streams(Limits(connections=1), timeouts=TcpTimeouts(idle_ns=SECOND))
    old, new = Talk(), Talk(client=Endpoint("192.0.2.7", 1), first_frame=9)
    events = [event for segment in [*old.open(), old.c(b"old")] for event in room.feed(at(segment, 0))]
    events += room.feed(at(new.open()[0], time_ns))
    assert reported(events) == [(0, b"old"), reason, *(["limit"] if reason == "limit" else [])]


def test_of_a_direction_that_was_never_captured_a_batch_stays_one() -> None:
    """Nothing is waited for, so the parts need not be looked at one by one; what was acknowledged is one gap at the end."""
    talk = Talk().skip_handshake()
    first = [talk.c(b"first"), *[talk.c(b"x") for _ in range(8)]]
    room = Streams()
    events = [event for segment in first for event in room.feed(segment)]
    assert len(events) == 9
    one, two = talk.c(b"one"), talk.c(b"two")
    batch = SegmentBatch.of(one)
    assert reported(room.layer.feed(batch)) == [(0, b"one")]
    talk.s(b"unseen")
    ahead = replace(talk.c(b"ahead"), seq=two.seq)
    assert reported(room.layer.feed(SegmentBatch.of(ahead))) == [(0, b"ahead")]
    assert reported(room.finish()) == [("gap", 1, 0, 6), "end"]


def test_a_batch_gives_its_parts_with_their_places() -> None:
    which = Connection(0, CLIENT, SERVER, True)
    data = TracedBytes.of_frame(b"askanswermoreend", 1, 54, 0)
    batch = StreamBatch(which, 1, 100, data, [0, 3, 9, 13, 16], [False, True, False, True], 50)
    assert (batch.replied, batch.offsets()) == (9, [100, 50, 103, 56])
    parts = [(one.direction, one.offset, one.data.data) for one in batch]
    assert parts == [(1, 100, b"ask"), (0, 50, b"answer"), (1, 103, b"more"), (0, 56, b"end")]
    for part in range(4):
        assert [(one.direction, one.offset, one.data.data) for one in batch.since(part)] == parts[part:]


def test_recent_segments_of_a_direction_come_the_last_one_first() -> None:
    which, other = Connection(0, CLIENT, SERVER, True), Connection(1, CLIENT, SERVER, True)
    frames = enumerate((b"ask", b"answer", b"more", b"end"), 70)
    data = TracedBytes.join([TracedBytes.of_frame(part, frame, 54, frame) for frame, part in frames])
    recent = Recent()
    recent.add(StreamBatch(which, 1, 100, data, [0, 3, 9, 13, 16], [False, True, False, True], 50), 4)
    recent.add(StreamBatch.of(other, 1, 100, TracedBytes.of_frame(b"other", 75, 54, 75)))

    def found(connection: Connection, direction: Direction, start: int, stop: int) -> list[tuple[int, bytes, int]]:
        segments = recent.of(connection, direction, start, stop)
        return [(offset, part.data, part.frames[0]) for offset, part in segments]

    sent, replied = [(103, b"more", 72), (100, b"ask", 70)], [(56, b"end", 73), (50, b"answer", 71)]
    assert found(which, 1, 106, 107) == found(which, 1, 99, 101) == sent
    assert found(which, 0, 58, 60) == found(which, 0, 0, 51) == replied
    assert (
        found(which, 1, 107, 200) == found(which, 1, 0, 100) == found(which, 0, 59, 99) == found(which, 0, 0, 50) == []
    )
    assert found(other, 1, 0, 200) == [(100, b"other", 75)]


def test_a_reset_alone_opens_no_connection_that_later_data_would_belong_to() -> None:
    talk = Talk().skip_handshake()
    for flags in (RST, RST | ACK):
        assert reported(run([talk.raw(SERVER, 5, 6, flags), talk.c(b"ask")])) == [(0, b"ask"), "end"]


def test_where_a_direction_begins_is_known_from_the_first_acknowledgement_of_an_end_whose_syn_is_there() -> None:
    talk = Talk()
    hello, lost, second = talk.open(), talk.s(b"lost"), talk.s(b"second")
    events = run([hello[0], second, hello[2], talk.ack(CLIENT)])
    assert reported(events) == [("gap", 1, 0, len(lost.payload)), (1, b"second"), "end"]


@pytest.mark.parametrize("end", [CLIENT, SERVER])
def test_segments_out_of_window_are_reported_for_their_direction(end: Endpoint) -> None:
    talk = Talk()
    hello, one = talk.open(), talk.c(b"one")
    unexpected = talk.raw(end, 0x70000000, 0x90000000, ACK | PSH, b"other")
    (problem,) = (event for event in run([*hello, one, unexpected, talk.c(b"two")]) if isinstance(event, Problem))
    text = "numbers far outside of what this connection could send; ignored"
    assert problem.text == f"stream {end} to {SERVER if end == CLIENT else CLIENT}: {text}"
    assert problem.frames == (unexpected.frame,)


@pytest.mark.parametrize(
    ("ahead", "events"),
    [
        (0, [(0, b"data"), "end"]),
        (0xFFFF, [("gap", 0, 0, 0xFFFF), (0, b"data"), "end"]),
        (0x10000, [(0, b"data"), "reused"]),
    ],
)
def test_a_syn_behind_data_in_mid_stream_begins_it_where_it_lies_close_before(ahead: int, events: list[object]) -> None:
    talk = Talk()
    data = talk.raw(CLIENT, talk.client_isn + 1 + ahead, talk.server_isn + 1, ACK | PSH, b"data")
    found = run([data, talk.raw(CLIENT, talk.client_isn, 0, SYN)])
    assert reported(found) == events


@pytest.mark.parametrize(
    ("before", "answered", "is_another"),
    [
        (0, b"", False),
        (1, b"", False),
        (0xFFFF, b"", False),
        (0x10000, b"", True),
        (0, b"answer", False),
        (1, b"answer", True),
    ],
)
def test_a_late_answer_to_a_syn_may_move_the_beginning_back_while_nothing_was_delivered(
    before: int, answered: bytes, is_another: bool
) -> None:
    """The other end's acknowledgement has shown where the direction begins; its SYN comes later in the file."""
    talk = Talk()
    hello, ask = talk.open(), talk.c(b"ask")
    answer = [talk.s(answered)] if answered else []
    late = replace(talk.again(hello[1]), seq=hello[1].seq - before)
    found = reported(run([hello[0], hello[2], ask, *answer, late]))
    assert ("reused" in found) is is_another


def test_data_in_order_of_both_directions_stays_one_batch() -> None:
    talk = Talk()
    room = Streams()
    for segment in [*talk.open(), talk.c(b"ask"), talk.s(b"answer")]:
        room.feed(segment)
    one, two, ack = talk.c(b"one"), talk.c(b"two"), talk.ack(SERVER)
    together = replace(
        SegmentBatch.of(one),
        payload=TracedBytes.join([one.payload, two.payload]),
        borders=[0, 6],
        count=2,
        frame=two.frame,
        segments=lambda first, stop: (one, two, ack)[first:stop],
        stop=3,
    )
    assert not together.is_one_sided
    (batch,) = room.layer.feed(together)
    assert isinstance(batch, StreamBatch)
    assert (batch.direction, batch.offset, batch.data.data) == (0, 3, b"onetwo")


def test_numbers_far_from_both_directions_are_of_another_connection_after_three() -> None:
    """One or two are noise; a third takes the ports for used again, without its SYN having been captured."""
    for count, ends in ((1, "malformed"), (2, "malformed"), (3, "reused")):
        talk = Talk()
        far = Talk(client_isn=1_500_000_000, server_isn=2_000_000_000, first_frame=50).skip_handshake()
        segments = [*talk.open(), talk.c(b"ask"), talk.s(b"answer"), *[far.c(b"other") for _ in range(count)]]
        assert ends in reported(run([*segments, *([talk.c(b"more")] if count < 3 else [])]))


@pytest.mark.parametrize(("far", "is_of_another"), [(64 << 20, False), ((64 << 20) + 1, True)])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_number_is_far_off_from_64_mib_on(far: int, is_of_another: bool, sign: int) -> None:
    """In both directions at once; acknowledgements of so much that was never sent are what else is far."""
    talk = Talk()
    segments = [*talk.open(), talk.c(b"ask"), talk.s(b"answer")]
    seq, ack = talk.seq[CLIENT] + sign * far, talk.seq[SERVER] + sign * far
    noise = [talk.raw(CLIENT, seq + at, ack, ACK | PSH, b"other") for at in (0, sign, 2 * sign)]
    assert ("reused" in reported(run([*segments, *noise]))) is is_of_another


def test_syn_flags_alone_open_nothing_that_is_reported() -> None:
    assert run([Talk().raw(CLIENT, 5, 0, SYN), Talk().raw(CLIENT, 5, 0, RST), Talk().raw(SERVER, 5, 6, ACK)]) == []


@pytest.mark.parametrize("behind", [b"", b"?", b"more"])
def test_a_lost_byte_that_might_have_been_a_fin_is_lost_once_whatever_is_lost_behind_it(behind: bytes) -> None:
    talk = Talk()
    hello, ask = talk.open(), talk.c(b"ask")
    talk.c(b"!")
    acknowledged = talk.ack(SERVER)
    talk.wait(3000)
    presumed = [talk.ack(SERVER), talk.ack(SERVER)]
    talk.c(b"lost")
    if behind:
        talk.c(behind)
        last = [talk.ack(SERVER)]
    else:
        last = [talk.c(b"more")]
    gaps = [event for event in run([*hello, ask, acknowledged, *presumed, *last]) if isinstance(event, Gap)]
    lost = (3, 1), (4, 4 + len(behind))
    assert [(gap.offset, gap.length) for gap in gaps] == list(lost)


def test_bytes_sent_again_are_compared_with_those_of_their_connection() -> None:
    """Two connections of which each has bytes of its own at the same offsets."""
    one, other = Talk(), Talk(client=Endpoint("192.0.2.5", 7), first_frame=100)
    hello, ask = [*one.open(), *other.open()], one.c(b"ask")
    events = run([*hello, ask, other.c(b"xyz"), one.again(ask)])
    assert reported(events) == [(0, b"ask"), (0, b"xyz"), "end", "end"]


@pytest.mark.parametrize(("before", "is_taken"), [(0xFFFF, True), (0x10000, False)])
def test_a_start_in_mid_stream_moves_back_while_nothing_was_delivered(before: int, is_taken: bool) -> None:
    """A segment that acknowledges lost bytes waits for them. What was sent shortly before it is the beginning then."""
    talk = Talk(client_isn=0x20000).skip_handshake()
    room = Streams(timeouts=TcpTimeouts(unsynchronized_segments=2))
    acked = talk.server_isn + 50
    later = [talk.raw(CLIENT, 0x20001 + at, acked, ACK | PSH, b"more!") for at in (0, 5)]
    answer = talk.raw(SERVER, talk.server_isn + 1, 0x20001, ACK | PSH, b"tell")
    events = [event for segment in [later[0], answer] for event in room.feed(segment)]
    first = talk.raw(CLIENT, 0x20001 - before, talk.server_isn + 1, ACK | PSH, b"first")
    events += [event for segment in (first, later[1]) for event in room.feed(segment)]
    assert ((0, b"first") in reported([*events, *room.finish()])) is is_taken


def test_of_a_few_connections_one_gives_way() -> None:
    room = Streams(Limits(connections=4))
    events = []
    for port in range(1, 6):
        talk = Talk(client=Endpoint("192.0.2.8", port), first_frame=10 * port)
        events += [event for segment in [*talk.open(), talk.c(b"busy")] for event in room.feed(segment)]
    assert [event.connection.a.port for event in events if isinstance(event, StreamClosed)] == [1]


def test_connections_whose_beginning_is_not_known_share_a_bound_of_memory() -> None:
    """512 bytes are counted for a segment beside its payload; a quarter of the bound is made free at once."""
    for count, given_up in ((8, 0), (9, 3)):
        room = Streams(Limits(held_total=8 * (512 + 100)))
        events = []
        for port in range(1, count + 1):
            talk = Talk(client=Endpoint("192.0.2.8", port), first_frame=10 * port).skip_handshake()
            events += room.feed(talk.c(b"x" * 100))
        assert [event.data.data for event in events if isinstance(event, StreamBatch)] == [b"x" * 100] * given_up
        limit = "more than 4896 bytes of memory held of connections of which the beginning is not known"
        assert [event.text for event in events if isinstance(event, Problem)] == (
            [f"{limit}; 3 silent longest are read as they are"] if given_up else []
        )
