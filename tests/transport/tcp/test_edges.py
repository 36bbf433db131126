"""Connections at the edges of the rules: two holes, stale numbers, answers to another SYN, and which of many gives way."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from msgspec.structs import replace

from analyzer.core.events import Event, Problem
from analyzer.core.limits import Limits
from analyzer.results.record import Endpoint
from analyzer.transport.packet.segment import ACK, PSH, SYN, Segment
from analyzer.transport.tcp.events import Connection, Gap, StreamBatch
from analyzer.transport.tcp.flow import highest, is_before, lowest
from analyzer.transport.tcp.recognition import Recognition
from tests.build.tcp import CLIENT, SERVER, Streams, Talk
from tests.transport.tcp.test_reassembler import reported, run


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


def test_a_syn_that_comes_late_shows_what_was_lost_behind_it() -> None:
    talk = Talk()
    syn = talk.open()[0]
    talk.c(b"0123456789")
    ask = talk.c(b"ask")
    events = run([ask, syn, talk.c(b"more")])
    assert reported(events) == [("gap", 0, 0, 10), (0, b"ask"), (0, b"more"), "end"]
    gap = events[0]
    assert isinstance(gap, Gap)
    assert gap.connection.initiator_known


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
