"""One scenario a test: what the network or the capture did, and what must come out of it."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from analyzer.core.events import Event, Problem
from analyzer.core.limits import DEFAULTS, Limits
from analyzer.core.tcpip import ACK, FIN, PSH, RST, SYN
from analyzer.core.traced import TracedBytes
from analyzer.results.record import Endpoint
from analyzer.transport.packet.segment import Segment
from analyzer.transport.tcp.flow import TcpTimeouts
from analyzer.transport.tcp.recognition import Recognition
from analyzer.transport.tcp.stream_events import Gap, Recognised, StreamBatch, StreamClosed
from tests.build.packet import smb2
from tests.build.tcp import CLIENT, SERVER, Streams, Talk


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


def test_duplicates_of_a_mirror_port_are_dropped() -> None:
    talk = Talk()
    segments = [*talk.open(), talk.c(b"ask"), talk.s(b"answer"), talk.fin(CLIENT), talk.fin(SERVER)]
    assert reported(run([segment for segment in segments for _ in range(2)])) == [(0, b"ask"), (1, b"answer"), "fin"]


def test_conflicting_bytes_among_those_that_wait_are_reported_too() -> None:
    talk = Talk()
    hello = talk.open()
    lost, first = talk.c(b"abc"), talk.c(b"defghi")
    other = replace(talk.again(first, b"efGHIJ"), seq=first.seq + 1)
    events = run([*hello, first, other, lost])
    assert reported(events) == ["conflict", (0, b"abc"), (0, b"defghi"), (0, b"J"), "end"]
    problem = next(event for event in events if isinstance(event, Problem))
    assert problem.frames == (first.frame, other.frame)
    assert "bytes 6 to 8" in problem.text


def test_of_bytes_of_several_frames_the_one_that_conflicts_is_named() -> None:
    talk = Talk()
    hello = talk.open()
    first = talk.c(b"abcdef")
    parts = (TracedBytes.of_frame(b"abc", 70, 54, 70), TracedBytes.of_frame(b"def", 71, 54, 71))
    first = replace(first, payload=TracedBytes.join(parts))
    other = replace(talk.again(first, b"deX"), seq=first.seq + 3)
    problem = next(event for event in run([*hello, first, other]) if isinstance(event, Problem))
    assert problem.frames == (other.frame, 71)


def test_a_lost_packet_is_waited_for_until_it_is_sent_again() -> None:
    talk = Talk()
    hello = talk.open()
    lost = talk.c(b"lost")
    # The receiver acknowledges only what came before the loss, a hundred times.
    later = [replace(talk.c(b"x"), ack=hello[2].ack) for _ in range(100)]
    unmoved = [talk.raw(SERVER, talk.server_isn + 1, talk.client_isn + 1, ACK) for _ in range(100)]
    talk.wait(3000)
    events = run([*hello, *later, *unmoved, talk.again(lost)])
    assert reported(events)[0] == (0, b"lost")
    assert not [event for event in events if isinstance(event, Gap)]


def test_a_hole_the_peer_acknowledged_becomes_a_gap_after_some_patience() -> None:
    talk = Talk()
    hello = talk.open()
    before, lost, after = talk.c(b"before"), talk.c(b"lost"), talk.c(b"after")
    streams = Streams()
    events = [event for segment in [*hello, before, after] for event in streams.feed(segment)]
    for _ in range(60):
        events += streams.feed(talk.ack(SERVER))
    assert reported(events) == [(0, b"before")]
    for _ in range(10):
        events += streams.feed(talk.ack(SERVER))
    assert reported(events) == [(0, b"before"), ("gap", 0, 6, 4), (0, b"after")]
    gap = events[1]
    assert isinstance(gap, Gap)
    assert gap.frames == (before.frame, after.frame)
    assert "acknowledged" in gap.reason
    # Too late: it was passed over.
    assert reported([*streams.feed(talk.again(lost)), *streams.finish()]) == ["end"]


def test_in_a_quiet_connection_time_alone_ends_the_wait() -> None:
    talk = Talk()
    hello = talk.open()
    talk.c(b"lost")
    answer = talk.s(b"answer")
    talk.wait(2500)
    streams = Streams()
    events = [event for segment in [*hello, answer, talk.ack(CLIENT)] for event in streams.feed(segment)]
    assert reported(events) == [("gap", 0, 0, 4), (1, b"answer")]


def test_an_acknowledgement_nobody_repeats_makes_no_gap() -> None:
    talk = Talk()
    hello = talk.open()
    damaged = replace(talk.s(b"hello"), ack=(talk.client_isn + 5_000_000) & 0xFFFFFFFF)
    rest = [segment for _ in range(50) for segment in (talk.c(b"ask"), talk.s(b"answer"))]
    events = run([*hello, damaged, *rest])
    assert not [event for event in events if isinstance(event, Gap)]
    assert b"".join(event.data.data for event in events if isinstance(event, StreamBatch) and event.direction == 0) == (
        b"ask" * 50
    )
    assert reported(events).count((1, b"answer")) == 50


def test_keep_alives_are_neither_data_nor_conflict() -> None:
    talk = Talk()
    hello = talk.open()
    ask = talk.c(b"ask")
    probes = [
        talk.raw(CLIENT, talk.seq[CLIENT] - 1, talk.received[CLIENT], ACK, data) for data in (b"\0", b"", b"\xff")
    ]
    assert reported(run([*hello, ask, *probes, talk.s(b"answer")])) == [(0, b"ask"), (1, b"answer"), "end"]


def test_a_keep_alive_behind_lost_bytes_does_not_become_one_of_them() -> None:
    talk = Talk()
    hello = talk.open()
    talk.c(b"lost")
    acknowledged = talk.ack(SERVER)
    probe = talk.raw(CLIENT, talk.seq[CLIENT] - 1, talk.received[CLIENT], ACK, b"\0")
    assert reported(run([*hello, acknowledged, probe, talk.c(b"next")])) == [("gap", 0, 0, 4), (0, b"next"), "end"]


def test_a_zero_window_probe_brings_its_byte() -> None:
    talk = Talk()
    hello = talk.open()
    probe = talk.raw(CLIENT, talk.seq[CLIENT], talk.received[CLIENT], ACK, b"d")
    assert reported(run([*hello, probe, talk.c(b"data")])) == [(0, b"d"), (0, b"ata"), "end"]


def test_simultaneous_open_is_one_connection() -> None:
    talk = Talk()
    crossing = [
        talk.raw(CLIENT, talk.client_isn, 0, SYN),
        talk.raw(SERVER, talk.server_isn, 0, SYN),
        talk.raw(CLIENT, talk.client_isn, talk.server_isn + 1, SYN | ACK),
        talk.raw(SERVER, talk.server_isn, talk.client_isn + 1, SYN | ACK),
    ]
    talk.skip_handshake()
    events = run([*crossing, talk.c(b"ask"), talk.s(b"answer")])
    assert reported(events) == [(0, b"ask"), (1, b"answer"), "end"]
    assert {event.connection.number for event in events if isinstance(event, StreamBatch)} == {0}


def test_a_reused_pair_of_ports_is_another_connection() -> None:
    first, second = Talk(), Talk(client_isn=500_000, server_isn=900_000, first_frame=50)
    events = run([*first.open(), first.c(b"old"), *second.open(), second.c(b"new")])
    assert reported(events) == [(0, b"old"), "reused", (0, b"new"), "end"]
    assert [event.connection.number for event in events if isinstance(event, StreamBatch)] == [0, 1]


def test_reuse_whose_syn_was_not_captured_is_noticed_by_its_numbers() -> None:
    first, second = Talk(), Talk(client_isn=0x70000000, server_isn=0x90000000, first_frame=50).skip_handshake()
    fresh = [second.c(b"n1"), second.s(b"n2"), second.c(b"n3")]
    events = run([*first.open(), first.c(b"old"), *fresh])
    assert reported(events) == [(0, b"old"), "reused", (0, b"n1"), (1, b"n2"), (0, b"n3"), "end"]


def test_a_refused_client_that_tries_again_with_the_same_number_gets_its_connection() -> None:
    talk = Talk()
    syn = talk.raw(CLIENT, talk.client_isn, 0, SYN)
    refused = talk.raw(SERVER, 0, talk.client_isn + 1, RST | ACK)
    events = run([syn, refused, *talk.open(), talk.c(b"in")])
    assert reported(events) == [(0, b"in"), "end"]
    # It is another than the one that was refused.
    assert [event.connection.number for event in events if isinstance(event, StreamClosed)] == [1]


def test_a_reset_connection_ends_when_it_stays_silent() -> None:
    talk = Talk()
    streams = Streams()
    events = [event for segment in [*talk.open(), talk.c(b"ask"), talk.rst(SERVER)] for event in streams.feed(segment)]
    assert reported(events) == [(0, b"ask")]
    other = Talk(client=Endpoint("192.0.2.5", 1), first_frame=11_000)
    assert reported(list(streams.feed(other.open()[0]))) == ["rst"]


def test_a_reset_with_an_old_number_is_not_believed() -> None:
    talk = Talk()
    hello, ask = talk.open(), talk.c(b"ask")
    forged = talk.raw(CLIENT, talk.client_isn + 1, 0, RST)
    assert reported(run([*hello, ask, forged, talk.s(b"answer")])) == [(0, b"ask"), (1, b"answer"), "end"]


@pytest.mark.parametrize("is_in_order", [True, False])
def test_a_syn_within_a_stream_is_not_confirmed_by_what_goes_on_with_the_stream(is_in_order: bool) -> None:
    talk = Talk()
    segments = [*talk.open(), talk.c(b"ask"), talk.s(b"answer")]
    segments.append(talk.raw(CLIENT, talk.client_isn + 3, 0, SYN))
    more = [talk.c(b"more"), talk.c(b"still")]
    found = reported(run([*segments, *(more if is_in_order else more[::-1])]))
    assert found == [(0, b"ask"), (1, b"answer"), (0, b"more"), (0, b"still"), "note", "end"]


def test_one_direction_alone_comes_at_once_and_the_other_is_missing_as_a_whole() -> None:
    talk = Talk()
    hello = talk.open()
    streams = Streams()
    events = list(streams.feed(hello[1]))
    for number in range(20):
        talk.c(b"never captured")
        events += streams.feed(talk.s(b"answer %d" % number))
        assert reported(events)[-1] == (1, b"answer %d" % number)
    assert reported(list(streams.finish())) == [("gap", 0, 0, 20 * len(b"never captured")), "end"]


def test_a_loss_in_a_one_sided_capture_is_waited_for_as_long_as_a_retransmission_takes() -> None:
    talk = Talk().skip_handshake()
    one, lost, three = talk.c(b"one"), talk.c(b"lost"), talk.c(b"three")
    assert reported(run([one, three, talk.again(lost)])) == [(0, b"one"), (0, b"lost"), (0, b"three"), "end"]
    other = Talk().skip_handshake()
    one, _, three = other.c(b"one"), other.c(b"lost"), other.c(b"three")
    streams = Streams()
    came = [reported(streams.feed(segment)) for segment in (one, three)]
    for _ in range(12):
        other.wait(999)
        came.append(reported(streams.feed(other.c(b"."))))
    begun, given_up = (
        next(at for at, found in enumerate(came) if event in found) for event in ((0, b"one"), ("gap", 0, 3, 4))
    )
    assert came[given_up][:2] == [("gap", 0, 3, 4), (0, b"three")]
    assert given_up - begun == 5  # seconds


def test_what_was_cut_off_is_a_gap_once_the_next_segment_is_there() -> None:
    """The sender goes on; nobody has to acknowledge it."""
    talk, streams = Talk(), Streams()
    for segment in talk.open():
        streams.feed(segment)
    assert reported(streams.feed(talk.c(b"ab", missing=5))) == [(0, b"ab")]
    assert reported(streams.feed(talk.c(b"next"))) == [("gap", 0, 2, 5), (0, b"next")]


def test_a_whole_copy_fills_what_the_first_was_cut_short_of() -> None:
    talk = Talk()
    hello = talk.open()
    cut = talk.c(b"head", missing=6)
    whole = talk.again(replace(cut, missing=0), b"head and t")
    assert reported(run([*hello, cut, whole, talk.s(b"ok")])) == [(0, b"head"), (0, b" and t"), (1, b"ok"), "end"]


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


def test_too_much_in_all_connections_lets_the_oldest_go_first() -> None:
    limits = Limits(held_total=20_000)
    streams = Streams(limits)
    events: list[Event] = []
    for port in range(60_000, 60_030):
        talk = Talk(client=Endpoint("192.0.2.1", port))
        hello = talk.open()
        talk.c(b"lost")
        for segment in [*hello, talk.c(b"later" * 100)]:
            events += streams.feed(segment)
        assert streams.layer._order._held_total <= limits.held_total
    assert reported(events)[:3] == ["limit", ("gap", 0, 0, 4), (0, b"later" * 100)]


def test_too_many_connections_drop_what_is_missed_least() -> None:
    streams = Streams(Limits(connections=16))
    events: list[Event] = []
    kept = Talk(client=Endpoint("192.0.2.7", 1), first_frame=1)
    for segment in [*kept.open(), kept.c(b"ours")]:
        events += streams.feed(segment)
    for port in range(100):
        events += streams.feed(Talk(client=Endpoint("192.0.2.9", port + 1), first_frame=100 + port).open()[0])
    events += streams.feed(kept.s(b"still here"))
    assert reported(events) == [(0, b"ours"), (1, b"still here")]
    for port in range(100):
        talk = Talk(client=Endpoint("192.0.2.8", port + 1), first_frame=300 + port)
        for segment in [*talk.open(), talk.c(b"busy")]:
            events += streams.feed(segment)
    assert "limit" in reported(events)
    assert len(streams.layer._flows) <= 16


def test_a_connection_dropped_as_idle_goes_on_as_another() -> None:
    streams = Streams(Limits(connections=2), timeouts=TcpTimeouts(idle_ns=1_000_000_000))
    old = Talk(client=Endpoint("192.0.2.7", 1))
    events = [event for segment in [*old.open(), old.c(b"old")] for event in streams.feed(segment)]
    for port in (2, 3):
        talk = Talk(client=Endpoint("192.0.2.7", port), first_frame=5000 * port)
        events += [event for segment in [*talk.open(), talk.c(b"new")] for event in streams.feed(segment)]
    assert "idle" in reported(events)
    events += [*streams.feed(old.c(b"back")), *streams.finish()]
    back = next(event for event in events if isinstance(event, StreamBatch) and event.data.data == b"back")
    assert (back.offset, back.connection.initiator_known) == (0, False)


def test_data_behind_a_fin_is_ignored_with_a_word() -> None:
    talk = Talk()
    segments = [*talk.open(), talk.c(b"ask"), talk.fin(CLIENT)]
    extra = talk.raw(CLIENT, talk.seq[CLIENT], talk.received[CLIENT], ACK | PSH | FIN, b"more")
    assert reported(run([*segments, extra, talk.s(b"ok")])) == [(0, b"ask"), "note", (1, b"ok"), "end"]


def test_an_end_that_sends_to_itself_is_forgotten_like_any_other() -> None:
    alone = Talk(client=CLIENT, server=CLIENT).c(b"to myself")
    others = [Talk(client=Endpoint("192.0.2.1", 50001 + n), first_frame=n + 2).c(b"ask") for n in range(3)]
    events = run([alone, *others], Limits(connections=1))
    assert [event.data.data for event in events if isinstance(event, StreamBatch)] == [b"to myself", *[b"ask"] * 3]
    assert [event.reason for event in events if isinstance(event, StreamClosed)] == [*["limit"] * 3, "end"]


@pytest.mark.parametrize("order", [(3, 0, 1, 2, 4), (4, 0, 1, 2, 3), (4, 3, 1, 0, 2), (3, 4, 1, 0, 2), (4, 3, 0, 1, 2)])
def test_a_handshake_that_the_file_has_behind_the_data_says_who_began(order: tuple[int, ...]) -> None:
    talk = Talk()
    segments = [*talk.open(), talk.c(b"ask"), talk.s(b"answer")]
    events = run([segments[at] for at in order])
    assert reported(events) == [(0, b"ask"), (1, b"answer"), "end"]
    for event in events:
        if isinstance(event, StreamBatch):
            assert (event.connection.a, event.connection.initiator_known) == (CLIENT, True)
