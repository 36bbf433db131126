"""Reassembly against a slow model: per direction a dictionary from position to the first captured byte, nothing else."""

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from analyzer.core.events import Event, Problem
from analyzer.core.limits import Limits
from analyzer.core.tcpip_encoding import ACK, FIN, PSH, SYN
from analyzer.core.traced_bytes import TracedBytes
from analyzer.results.records.record_types import Endpoint
from analyzer.transport.packet.segment import Segment
from analyzer.transport.tcp.stream_events import Gap, StreamBatch, StreamClosed
from analyzer.transport.tcp.tcp_states import TcpTimeouts
from tests.build.tcp import CLIENT, PAYLOAD_AT, SERVER, Streams, Talk
from tests.transport.tcp.test_reassembler import run

RELAXED = settings(max_examples=40)
Case = tuple[list[Segment], dict[int, bytes]]


def renumbered(segments: list[Segment]) -> list[Segment]:
    """Frames and times as the file has them now."""
    out = []
    for number, segment in enumerate(segments, 1):
        payload = TracedBytes.of_frame(segment.payload.data, number, PAYLOAD_AT, number * 1_000_000)
        out.append(replace(segment, payload=payload, frame=number, time_ns=number * 1_000_000))
    return out


@st.composite
def conversations(draw: st.DrawFn) -> Case:
    """Segments in true order, and the two streams."""
    isns = st.one_of(st.integers(0, 0xFFFFFFFF), st.integers(0xFFFFFFF0, 0xFFFFFFFF))
    talk = Talk(client_isn=draw(isns), server_isn=draw(isns))
    segments = talk.open()
    streams = {0: bytearray(), 1: bytearray()}
    parts = draw(st.lists(st.tuples(st.sampled_from([0, 1]), st.integers(1, 40), st.integers(1, 15)), max_size=7))
    for direction, size, cut in parts:
        data = bytes((len(streams[direction]) + at) * 7 + direction * 131 & 0xFF for at in range(size))
        streams[direction] += data
        for at in range(0, size, cut):
            segments.append(talk.send((CLIENT, SERVER)[direction], data[at : at + cut]))
        if draw(st.booleans()):
            segments.append(talk.ack((SERVER, CLIENT)[direction]))
    if draw(st.booleans()):
        segments += [talk.fin(CLIENT), talk.fin(SERVER), talk.ack(CLIENT)]
    return segments, {0: bytes(streams[0]), 1: bytes(streams[1])}


@st.composite
def disturbed(draw: st.DrawFn, *, loss: bool, copies: bool) -> Case:
    """A conversation as a bad capture holds it."""
    segments, streams = draw(conversations())
    captured = [*segments]
    if copies:
        for segment in draw(st.lists(st.sampled_from(segments), max_size=6)):
            low = draw(st.integers(0, len(segment.payload)))
            high = draw(st.integers(low, len(segment.payload)))
            whole = draw(st.booleans())
            copy = segment
            if not whole and high > low:
                seq = (segment.seq + low) & 0xFFFFFFFF
                copy = replace(segment, seq=seq, payload=segment.payload[low:high], flags=ACK | PSH)
            at = draw(st.integers(segments.index(segment) + 1, len(segments)))
            captured.insert(min(at, len(captured)), copy)
    for at in draw(st.lists(st.integers(0, len(captured) - 2), max_size=8)):
        captured[at], captured[at + 1] = captured[at + 1], captured[at]
    if loss:
        # The model needs the SYNs; everything else may go.
        may_go = [at for at, segment in enumerate(captured) if not segment.flags & SYN]
        lost = set(draw(st.lists(st.sampled_from(may_go), max_size=3)))
        captured = [segment for at, segment in enumerate(captured) if at not in lost]
    return renumbered(captured), streams


def model(segments: list[Segment]) -> dict[int, dict[int, int]]:
    """For each direction: stream position of every captured byte, and the byte as first captured. Needs both SYNs."""
    isn = {segment.src: segment.seq for segment in segments if segment.flags & SYN}
    reported: dict[int, dict[int, int]] = {0: {}, 1: {}}
    for segment in segments:
        start = (segment.seq - isn[segment.src] - 1 + bool(segment.flags & SYN)) & 0xFFFFFFFF
        for at, byte in enumerate(segment.payload.data):
            reported[int(segment.src == SERVER)].setdefault(start + at, byte)
    return reported


def delivered(events: list[Event]) -> dict[int, dict[int, int]]:
    """The same from the events, after making sure that they follow one another without hole or overlap."""
    reported: dict[int, dict[int, int]] = {0: {}, 1: {}}
    reached = {0: 0, 1: 0}
    for event in events:
        if isinstance(event, StreamBatch):
            assert event.offset == reached[event.direction]
            reached[event.direction] += len(event.data)
            reported[event.direction].update(enumerate(event.data.data, event.offset))
        elif isinstance(event, Gap):
            assert event.offset == reached[event.direction]
            assert event.length
            reached[event.direction] += event.length
    return reported


@RELAXED
@given(disturbed(loss=False, copies=True))
def test_swaps_copies_and_overlaps_change_nothing(case: Case) -> None:
    segments, streams = case
    events = run(segments)
    assert not [event for event in events if isinstance(event, Gap | Problem)]
    chunks = [event for event in events if isinstance(event, StreamBatch)]
    for direction in (0, 1):
        assert b"".join(chunk.data.data for chunk in chunks if chunk.direction == direction) == streams[direction]


@RELAXED
@given(disturbed(loss=True, copies=True))
def test_every_captured_byte_arrives_once_and_every_lost_one_is_in_a_gap(case: Case) -> None:
    segments, _ = case
    assert delivered(run(segments)) == model(segments)


@RELAXED
@given(disturbed(loss=True, copies=False))
def test_no_byte_comes_before_those_it_acknowledges(case: Case) -> None:
    segments, _ = case
    isn = {segment.src: segment.seq for segment in segments if segment.flags & SYN}
    by_frame = {segment.frame: segment for segment in segments}
    reached: dict[Endpoint, int] = {CLIENT: 0, SERVER: 0}
    for event in run(segments):
        if isinstance(event, StreamBatch):
            segment = by_frame[event.data.frames[0]]
            acknowledged = (segment.ack - isn[segment.dst] - 1) & 0xFFFFFFFF if segment.flags & ACK else 0
            if not any(earlier.src == segment.dst for earlier in segments[: segment.frame]):
                reached[segment.src] += len(event.data)
                continue  # nothing is waited for in a direction of which nothing was seen
            # A last byte that only an acknowledgement describes is taken for a FIN until more data follows it.
            assert reached[segment.dst] >= acknowledged - 1
            reached[segment.src] += len(event.data)
        elif isinstance(event, Gap):
            reached[event.connection.sender(event.direction)] += event.length or 0


@RELAXED
@given(disturbed(loss=True, copies=True))
def test_the_origin_of_any_slice_leads_back_to_the_same_bytes(case: Case) -> None:
    segments, _ = case
    by_frame = {segment.frame: segment.payload.data for segment in segments}
    for event in run(segments):
        if isinstance(event, StreamBatch):
            for low in range(len(event.data)):
                for extent in event.data.origin(low, len(event.data)):
                    start = extent.start - PAYLOAD_AT
                    assert by_frame[extent.frame][start : start + extent.length] == event.data.data[low:]


@RELAXED
@given(conversations(), st.lists(st.integers(1, 9), min_size=1, max_size=5))
def test_cutting_never_changes_the_streams(case: Case, cuts: list[int]) -> None:
    segments, streams = case
    pieces: list[Segment] = []
    for segment in segments:
        data, at, part = segment.payload, 0, 0
        if not len(data):
            pieces.append(segment)
        while at < len(data):
            step = cuts[part % len(cuts)]
            pieces.append(replace(segment, seq=(segment.seq + at) & 0xFFFFFFFF, payload=data[at : at + step]))
            at, part = at + step, part + 1
    events = run(renumbered(pieces))
    chunks = [event for event in events if isinstance(event, StreamBatch)]
    for direction in (0, 1):
        assert b"".join(chunk.data.data for chunk in chunks if chunk.direction == direction) == streams[direction]
    # In what order the directions take turns does not depend on the cuts either.
    assert _turns(events) == _turns(run(segments))


def _turns(events: list[Event]) -> list[tuple[int, bytes]]:
    parts: list[tuple[int, bytes]] = []
    for event in events:
        if isinstance(event, StreamBatch):
            if parts and parts[-1][0] == event.direction:
                parts[-1] = (event.direction, parts[-1][1] + event.data.data)
            else:
                parts.append((event.direction, event.data.data))
    return parts


numbers = st.one_of(st.integers(0, 400), st.sampled_from([0, 0x7FFFFFFF, 0x80000000, 0xC0000000, 0xFFFFFFFF]))


@st.composite
def wild(draw: st.DrawFn) -> list[Segment]:
    ends = [CLIENT, SERVER, Endpoint("2001:db8::1", 445)]
    made = []
    for frame in range(1, draw(st.integers(1, 40))):
        src, dst = draw(st.permutations(ends))[:2]
        data = draw(st.binary(max_size=12))
        flags = draw(st.one_of(st.just(ACK), st.just(ACK | PSH), st.integers(0, 255)))
        time_ns = draw(st.one_of(st.just(frame), st.integers(-(2**63), 2**63)))
        payload = TracedBytes.of_frame(data, frame, 0, time_ns)
        missing = draw(st.sampled_from([0, 0, 0, 1, 50]))
        made.append(Segment(src, dst, draw(numbers), draw(numbers), flags, 0, payload, missing, frame, time_ns))
    return made


@RELAXED
@given(wild(), st.booleans())
def test_any_segments_make_events_and_nothing_else(segments: list[Segment], tight: bool) -> None:
    limits = Limits(connections=2, held_stream=2000, held_total=3000)
    timeouts = TcpTimeouts(patience_segments=2, lone_ns=2)
    streams = Streams(limits, timeouts=timeouts) if tight else Streams()
    reached: dict[tuple[int, int], int] = {}
    ended: set[int] = set()
    for event in [*(event for segment in segments for event in streams.feed(segment)), *streams.finish()]:
        if isinstance(event, StreamBatch | Gap):
            assert event.connection.number not in ended
            key = (event.connection.number, event.direction)
            assert event.offset == reached.get(key, 0)
            size = len(event.data) if isinstance(event, StreamBatch) else event.length
            assert size
            reached[key] = event.offset + size
        elif isinstance(event, StreamClosed):
            assert event.connection.number not in ended
            ended.add(event.connection.number)
    assert {number for number, _ in reached} == ended
    assert streams.layer._order._held_total == 0  # the account of what is held must come out even


def test_the_model_sees_what_the_builder_says() -> None:
    talk = Talk()
    segments = [*talk.open(), talk.c(b"one"), talk.s(b"two"), talk.c(b"three")]
    assert model(segments) == {0: dict(enumerate(b"onethree")), 1: dict(enumerate(b"two"))}
    assert segments[-1].flags & FIN == 0
