"""One scenario a test: what the network or the capture did, and what must come out of it."""

from msgspec.structs import replace

from analyzer.core.events import Event, Problem
from analyzer.core.limits import DEFAULTS, Limits
from analyzer.core.traced_bytes import TracedBytes
from analyzer.results.records.record_types import Endpoint
from analyzer.transport.packet.segment import Segment
from analyzer.transport.tcp.protocol_recognition import Recognition
from analyzer.transport.tcp.stream_events import Gap, Recognised, StreamBatch, StreamClosed
from tests.build.packet import smb2
from tests.build.tcp import CLIENT, Streams, Talk


def run(segments: list[Segment], limits: Limits = DEFAULTS) -> list[Event]:
    streams = Streams(limits)
    events = [event for segment in segments for event in streams.feed(segment)]
    return [*events, *streams.finish()]


def reported(events: list[Event]) -> list[object]:
    """Events in short: (direction, bytes), ("gap", direction, offset, length), "fin", a problem's kind."""
    short: list[object] = []
    for event in events:
        match event:
            case StreamBatch():
                short.append((event.direction, event.data.data))
            case Gap():
                short.append(("gap", event.direction, event.offset, event.length))
            case StreamClosed():
                short.append(event.reason)
            case Problem():
                short.append(event.kind)
    return short


def test_of_bytes_of_several_frames_the_one_that_conflicts_is_named() -> None:
    talk = Talk()
    hello = talk.open()
    first = talk.c(b"abcdef")
    parts = (TracedBytes.of_frame(b"abc", 70, 54, 70), TracedBytes.of_frame(b"def", 71, 54, 71))
    first = replace(first, payload=TracedBytes.join(parts))
    other = replace(talk.again(first, b"deX"), seq=first.seq + 3)
    problem = next(event for event in run([*hello, first, other]) if isinstance(event, Problem))
    assert problem.frames == (other.frame, 71)


def test_a_connection_of_others_is_silent_until_its_ports_are_used_again() -> None:
    first, second = Talk(), Talk(client_isn=500_000, server_isn=900_000, first_frame=50)
    streams = Streams(recognition=Recognition())
    assert not [event for segment in [*first.open(), first.c(b"GET / HTTP/1.1")] for event in streams.feed(segment)]
    assert not [
        event for segment in (first.c(b"x"), first.s(b"y"), first.fin(CLIENT)) for event in streams.feed(segment)
    ]
    events = [event for segment in [*second.open(), second.c(smb2())] for event in streams.feed(segment)]
    assert isinstance(events[0], Recognised)
    assert reported([*events[1:], *streams.finish()]) == [(0, smb2()), "end"]


def test_an_end_that_sends_to_itself_is_forgotten_like_any_other() -> None:
    alone = Talk(client=CLIENT, server=CLIENT).c(b"to myself")
    others = [Talk(client=Endpoint("192.0.2.1", 50001 + n), first_frame=n + 2).c(b"ask") for n in range(3)]
    events = run([alone, *others], Limits(connections=1))
    assert [event.data.data for event in events if isinstance(event, StreamBatch)] == [b"to myself", *[b"ask"] * 3]
    assert [event.reason for event in events if isinstance(event, StreamClosed)] == [*["limit"] * 3, "end"]
