"""Each bound of reassembly from both sides: how long it waits, how far numbers may lie, how much is compared and held."""

from collections.abc import Iterable

import pytest
from msgspec.structs import replace

from analyzer.core.events import Event, Problem
from analyzer.core.limits import Limits
from analyzer.core.tcpip_encoding import ACK, PSH
from analyzer.core.traced_bytes import TracedBytes
from analyzer.results.records.record_types import Endpoint
from analyzer.transport.packet.segment import Segment, SegmentBatch
from analyzer.transport.tcp.protocol_recognition import Recognition
from analyzer.transport.tcp.reassembler import highest, is_before, lowest
from analyzer.transport.tcp.stream_events import Connection, Direction, Gap, StreamBatch
from analyzer.transport.tcp.stream_ordering_and_gaps import Recent
from tests.build.tcp import CLIENT, SERVER, Streams, Talk
from tests.transport.tcp.test_reassembler import reported


def test_of_a_direction_that_was_never_captured_a_batch_stays_one() -> None:
    """Nothing is waited for, so the parts need not be looked at one by one; what was acknowledged is one gap at the end."""
    talk = Talk().skip_handshake()
    first = [talk.c(b"first"), *[talk.c(b"x") for _ in range(8)]]
    room = Streams()
    events = [event for segment in first for event in room.feed(segment)]
    assert len(events) == 9
    one, two = talk.c(b"one"), talk.c(b"two")
    batch = SegmentBatch.of_segment(one)
    assert reported(room.layer.feed(batch)) == [(0, b"one")]
    talk.s(b"unseen")
    ahead = replace(talk.c(b"ahead"), seq=two.seq)
    assert reported(room.layer.feed(SegmentBatch.of_segment(ahead))) == [(0, b"ahead")]
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
    recent.add(StreamBatch.of_part(other, 1, 100, TracedBytes.of_frame(b"other", 75, 54, 75)))

    def found(connection: Connection, direction: Direction, start: int, stop: int) -> list[tuple[int, bytes, int]]:
        segments = recent.deliveries_of(connection, direction, start, stop)
        return [(offset, part.data, part.frames[0]) for offset, part in segments]

    sent, replied = [(103, b"more", 72), (100, b"ask", 70)], [(56, b"end", 73), (50, b"answer", 71)]
    assert found(which, 1, 106, 107) == found(which, 1, 99, 101) == sent
    assert found(which, 0, 58, 60) == found(which, 0, 0, 51) == replied
    assert (
        found(which, 1, 107, 200) == found(which, 1, 0, 100) == found(which, 0, 59, 99) == found(which, 0, 0, 50) == []
    )
    assert found(other, 1, 0, 200) == [(100, b"other", 75)]


def test_data_in_order_of_both_directions_stays_one_batch() -> None:
    talk = Talk()
    room = Streams()
    for segment in [*talk.open(), talk.c(b"ask"), talk.s(b"answer")]:
        room.feed(segment)
    one, two, ack = talk.c(b"one"), talk.c(b"two"), talk.ack(SERVER)
    together = replace(
        SegmentBatch.of_segment(one),
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


@pytest.mark.parametrize(("one", "two"), [(5, 6), (0xFFFFFFFF, 0), (0, 0x7FFFFFFF), (0x80000001, 0)])
def test_sequence_numbers_are_compared_round_the_circle(one: int, two: int) -> None:
    """RFC 1982 section 3.2."""
    assert (is_before(one, two), is_before(two, one), is_before(one, one)) == (True, False, False)
    assert lowest([one, two]) == lowest([two, one]) == lowest([one]) == one
    assert highest([one, two]) == highest([two, one]) == highest([two]) == two


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
