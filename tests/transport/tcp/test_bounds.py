"""Each bound of reassembly from both sides: how long it waits, how far numbers may lie, how much is compared and held."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from msgspec.structs import replace

from analyzer.core.events import Event, Problem
from analyzer.core.limits import Limits
from analyzer.core.tcpip import ACK, FIN, PSH, RST, SYN
from analyzer.core.traced import TracedBytes
from analyzer.results.record import Endpoint
from analyzer.transport.packet.segment import Segment, SegmentBatch
from analyzer.transport.tcp.flow import TcpTimeouts, highest, is_before, lowest
from analyzer.transport.tcp.ordering import Recent
from analyzer.transport.tcp.recognition import Recognition
from analyzer.transport.tcp.stream_events import Connection, Direction, Gap, StreamBatch, StreamClosed
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


# Connections at the edges of the rules: two holes, stale numbers, answers to another SYN, and which of many gives way.


def fed(room: Streams, segments: Iterable[Segment]) -> list[Event]:
    return [event for segment in segments for event in room.feed(segment)]


def test_of_two_holes_the_second_waits_on_once_half_of_the_bound_is_free() -> None:
    """Each segment counts 512 bytes beside its payload: fifteen thousand wait behind the first hole, six behind the second."""
    talk = Talk()
    hello = talk.open()
    talk.c(b"lost")
    first = [replace(talk.c(b"x" * 1000), ack=talk.server_isn + 1) for _ in range(10)]
    talk.c(b"lost too")
    second = [replace(talk.c(b"y" * 1000), ack=talk.server_isn + 1) for _ in range(4)]
    room = Streams(Limits(held_stream=20_000))
    events = fed(room, [*hello, *first, *second])
    assert [event.length for event in events if isinstance(event, Gap)] == [4]
    assert [event.data.data[:1] for event in events if isinstance(event, StreamBatch)] == [b"x"] * 10
    assert room.layer.open_since(0) == second[0].time_ns
    assert room.layer.open_since(second[0].time_ns + 1) is None


class Foreign(Recognition):
    """Takes connections of some ports for others' as soon as they send something."""

    def __init__(self, *ports: int) -> None:
        super().__init__()
        self.ports = ports
        self.forgotten: list[int] = []

    def feed(self, events: list[Event]) -> tuple[list[Event], list[Connection]]:
        others = [
            event.connection
            for event in events
            if isinstance(event, StreamBatch | Gap) and event.connection.a.port in self.ports
        ]
        return [event for event in events if getattr(event, "connection", None) not in others], others[:1]

    def is_ours(self, connection: Connection) -> bool:
        return False

    def forget(self, connection: Connection) -> None:
        self.forgotten.append(connection.a.port)


def test_nothing_is_held_any_more_of_a_connection_that_is_not_ours() -> None:
    talk = Talk()
    hello, first = talk.open(), talk.c(b"GET / HTTP/1.1")
    talk.c(b"lost")
    behind = [replace(talk.c(b"x" * 1000), ack=talk.server_isn + 1) for _ in range(3)]
    room = Streams(Limits(held_total=5000), recognition=Foreign(CLIENT.port))
    # Held before it is known what the connection carries, for its first bytes come last.
    assert fed(room, [*hello, *behind]) == []
    assert room.layer.open_since(0) == behind[0].time_ns
    assert fed(room, [first]) == []
    assert room.layer.open_since(0) is None
    # What it held counts no more: others may hold as much.
    other = Talk(client=Endpoint("192.0.2.9", 7), first_frame=50)
    hello = other.open()
    other.c(b"lost")
    later = [replace(other.c(b"y" * 1000), ack=other.server_isn + 1) for _ in range(3)]
    assert [event for event in fed(room, [*hello, *later]) if isinstance(event, Problem)] == []
    assert fed(room, [talk.c(b"more"), talk.s(b"more")]) == []


@pytest.mark.parametrize("stale", [1, 10, 500])
def test_an_old_acknowledgement_of_what_came_before_the_capture_is_no_hole(stale: int) -> None:
    """Only where the other end's SYN was seen do its acknowledgements show where this direction begins."""
    talk = Talk(client_isn=50_000).skip_handshake()
    ask = talk.c(b"ask")
    answer = replace(talk.s(b"answer"), ack=ask.seq - stale)
    events = run([ask, answer, talk.c(b"more"), talk.s(b"done")])
    assert reported(events) == [(0, b"ask"), (1, b"answer"), (0, b"more"), (1, b"done"), "end"]


@pytest.mark.parametrize(("far", "numbers"), [(0, [0, 0]), (1, [1]), (70_000, [1])])
def test_an_answer_to_a_syn_that_was_not_sent_begins_another_connection(far: int, numbers: list[int]) -> None:
    talk = Talk()
    syn, answer, done = talk.open()
    room = Streams()
    events = fed(room, [syn, replace(answer, ack=answer.ack + far), replace(done, seq=done.seq + far)])
    first = talk.c(b"ask")
    events += fed(room, [replace(first, seq=first.seq + far), *([talk.s(b"answer")] if not far else [])])
    events += room.finish()
    assert [event.connection.number for event in events if isinstance(event, StreamBatch)] == numbers


def test_what_waits_for_its_beginning_or_behind_a_hole_is_missed_more_than_a_bare_syn() -> None:
    for kind in ("beginning", "hole", "silent"):
        room = Streams(Limits(connections=2))
        old = Talk(client=Endpoint("192.0.2.5", 5))
        if kind == "beginning":
            events = fed(room, [old.skip_handshake().c(b"data")])
        else:
            hello = old.open()
            old.c(b"lost")
            waiting = [replace(old.c(b"data"), ack=old.server_isn + 1)] if kind == "hole" else []
            events = fed(room, [*hello, *waiting])
        bare = Talk(client=Endpoint("192.0.2.6", 6), first_frame=20)
        new = Talk(client=Endpoint("192.0.2.7", 7), first_frame=30)
        events += fed(room, [bare.open()[0], new.open()[0]])
        # Nobody misses the one that has said nothing; where both have, the older one goes.
        assert events == []
        ports = {flow.connection.a.port for flow in room.layer._flows.values()}
        assert ports == ({5, 7} if kind != "silent" else {6, 7})


def test_of_connections_nobody_misses_the_closed_ones_go_first() -> None:
    foreign = Foreign(5)
    room = Streams(Limits(connections=2), recognition=foreign)
    other = Talk(client=Endpoint("192.0.2.5", 5))
    ended = Talk(client=Endpoint("192.0.2.6", 6), first_frame=20)
    fed(room, [*other.open(), other.c(b"GET /")])
    fed(room, [*ended.open(), ended.c(b"x"), ended.fin(ended.client), ended.fin(ended.server)])
    new = Talk(client=Endpoint("192.0.2.7", 7), first_frame=40)
    fed(room, [new.open()[0]])
    assert foreign.forgotten == []
    # Of others and those in use, the others go, however late they spoke.
    late = Talk(client=Endpoint("192.0.2.8", 8), first_frame=60)
    fed(room, [*new.open()[1:], new.c(b"x"), late.open()[0]])
    assert foreign.forgotten == [5]


@pytest.mark.parametrize("isn", [0xFFFFFFFF, 0xFFFFFFFE, 0x7FFFFFFF, 0])
def test_numbers_may_pass_zero_anywhere(isn: int) -> None:
    """RFC 9293 section 3.4: the space of sequence numbers has no beginning."""
    talk = Talk(client_isn=isn, server_isn=isn)
    segments = [
        *talk.open(),
        talk.c(b"a"),
        talk.s(b"b"),
        talk.c(b"cc"),
        talk.s(b"dd"),
        talk.fin(CLIENT),
        talk.fin(SERVER),
    ]
    assert reported(run(segments)) == [(0, b"a"), (1, b"b"), (0, b"cc"), (1, b"dd"), "fin"]
    swapped = [*segments[:3], segments[4], segments[3], *segments[5:]]
    assert reported(run(swapped)) == [(0, b"a"), (1, b"b"), (0, b"cc"), (1, b"dd"), "fin"]


@pytest.mark.parametrize(
    ("one", "two", "before"),
    [
        (5, 6, True),
        (6, 5, False),
        (5, 5, False),
        (0xFFFFFFFF, 0, True),
        (0, 0xFFFFFFFF, False),
        (0, 0x7FFFFFFF, True),
        (0x7FFFFFFF, 0, False),
        (0, 0x80000001, False),
        (0x80000001, 0, True),
    ],
)
def test_sequence_numbers_are_compared_round_the_circle(one: int, two: int, before: bool) -> None:
    """RFC 1982 section 3.2."""
    assert is_before(one, two) is before
    if one != two:
        assert lowest([one, two]) == lowest([two, one]) == (one if before else two)
        assert highest([one, two]) == highest([two, one]) == (two if before else one)
    assert lowest([one]) == highest([one]) == one


def rounds(talk: Talk, count: int) -> list[Segment]:
    """Each time something waits behind a hole: pieces that overlap, one that was cut short and comes whole; then the hole is
    filled."""
    made = []
    for _ in range(count):
        hole = talk.c(b"hole")
        at, ack = talk.seq[CLIENT], talk.server_isn + 1
        whole = bytes(range(65, 85))
        for start, stop, missing in (
            (4, 8, 0),
            (12, 14, 4),
            (2, 6, 0),
            (6, 16, 0),
            (3, 20, 0),
            (12, 13, 0),
            (0, 20, 0),
        ):
            made.append(talk.raw(CLIENT, at + start, ack, ACK | PSH, whole[start:stop], missing=missing))
        made.append(talk.again(hole))
        talk.seq[CLIENT] += 20
    return made


def test_what_waits_is_counted_out_as_it_was_counted_in() -> None:
    """However pieces overlap: after any number of holes the whole bound is there again, and not a segment more."""
    talk = Talk()
    room = Streams(Limits(held_total=5000))
    events = fed(room, [*talk.open(), *rounds(talk, 50)])
    assert [event for event in events if not isinstance(event, StreamBatch)] == []
    data = b"".join(event.data.data for event in events if isinstance(event, StreamBatch))
    assert data == (b"hole" + bytes(range(65, 85))) * 50
    talk.c(b"lost")
    # Each counts 512 bytes beside its own: nine of 40 are below the bound, and the tenth is beyond.
    waiting = [replace(talk.c(b"x" * 40), ack=talk.server_isn + 1) for _ in range(10)]
    assert fed(room, waiting[:9]) == []
    assert [event.kind for event in fed(room, waiting[9:]) if isinstance(event, Problem)] == ["limit"]


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ([(4, 8, 0), (2, 6, 0)], [("gap", 0, 2), (2, b"CD"), (4, b"EFGH")]),
        ([(2, 6, 0), (4, 8, 0)], [("gap", 0, 2), (2, b"CDEF"), (6, b"GH")]),
        ([(2, 4, 0), (6, 8, 0), (0, 10, 0)], [(0, b"AB"), (2, b"CD"), (4, b"EF"), (6, b"GH"), (8, b"IJ")]),
        ([(2, 4, 4)], [("gap", 0, 2), (2, b"CD"), ("gap", 4, 4)]),
        ([(2, 4, 4), (5, 7, 0)], [("gap", 0, 2), (2, b"CD"), ("gap", 4, 1), (5, b"FG"), ("gap", 7, 1)]),
        ([(2, 4, 4), (1, 9, 0)], [("gap", 0, 1), (1, b"B"), (2, b"CD"), (4, b"EFGH"), (8, b"I")]),
        ([(5, 7, 0), (2, 3, 6)], [("gap", 0, 2), (2, b"C"), ("gap", 3, 2), (5, b"FG"), ("gap", 7, 2)]),
        ([(2, 2, 4), (2, 2, 6)], [("gap", 0, 8)]),
    ],
)
def test_pieces_that_overlap_are_put_together_as_they_came_first(
    pieces: list[tuple[int, int, int]], expected: list[tuple[object, ...]]
) -> None:
    """Of a stream of letters: the first and last of a piece, and how many bytes behind it were cut off."""
    talk = Talk()
    hello = talk.open()
    at, letters = talk.seq[CLIENT], bytes(range(65, 91))
    segments = [
        talk.raw(CLIENT, at + start, talk.server_isn + 1, ACK | PSH, letters[start:stop], missing=missing)
        for start, stop, missing in pieces
    ]
    found: list[tuple[object, ...]] = []
    gap = 0
    for event in run([*hello, *segments]):
        if isinstance(event, Gap) and event.length is not None:
            # Neighbouring gaps are one to who reads them.
            if found and found[-1][0] == "gap" and gap == event.offset:
                found[-1] = ("gap", found[-1][1], int(str(found[-1][2])) + event.length)
            else:
                found.append(("gap", event.offset, event.length))
            gap = event.offset + event.length
        elif isinstance(event, StreamBatch):
            found.append((event.offset, event.data.data))
    assert found == expected


def test_half_of_the_bound_may_stay() -> None:
    """Four segments that count 1,512 bytes each are exactly half of it."""
    talk = Talk()
    hello = talk.open()
    talk.c(b"lost")
    first = [replace(talk.c(b"x" * 1000), ack=talk.server_isn + 1) for _ in range(5)]
    talk.c(b"lost too")
    second = [replace(talk.c(b"y" * 1000), ack=talk.server_isn + 1) for _ in range(4)]
    room = Streams(Limits(held_stream=8 * 1512))
    # The last segment is what is too much.
    assert fed(room, [*hello, *first, *second[:3]]) == []
    events = fed(room, second[3:])
    assert [event.length for event in events if isinstance(event, Gap)] == [4]
    assert len([event for event in events if isinstance(event, StreamBatch)]) == 5


@pytest.mark.parametrize(
    ("ahead", "is_same"), [(-1, False), (0, False), (1, True), (2, True), (0x10000, True), (0x10001, False)]
)
def test_a_late_syn_is_of_the_connection_whose_first_bytes_lie_just_behind_it(ahead: int, is_same: bool) -> None:
    talk = Talk(client_isn=200_000)
    ask = talk.raw(CLIENT, 200_000, talk.server_isn + 1, ACK | PSH, b"ask")
    syn = talk.raw(CLIENT, 200_000 - ahead, 0, SYN)
    later = talk.raw(CLIENT, 200_000 - ahead + 1, talk.server_isn + 1, ACK | PSH, b"first")
    numbers = {event.connection.number for event in run([ask, syn, later]) if isinstance(event, StreamBatch)}
    assert numbers == ({0} if is_same else {0, 1})
