"""Batches of segments against batches of one: each segment on its own gives the same events."""

import random
from collections.abc import Iterable, Iterator, Sequence

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from analyzer.capture.frame_blocks import FrameBlock
from analyzer.core.byte_origins import FrameExtent
from analyzer.core.events import Event, Problem
from analyzer.core.limits import Limits
from analyzer.core.tcpip_encoding import ACK, FIN, PSH, RST, SYN
from analyzer.core.traced_bytes import TracedBytes
from analyzer.results.records.record_types import Endpoint
from analyzer.transport.packet.block_dissector import Dissector
from analyzer.transport.packet.segment import Segment, SegmentBatch
from analyzer.transport.tcp.protocol_recognition import Recognition
from analyzer.transport.tcp.reassembler import Reassembler
from analyzer.transport.tcp.stream_events import Gap, Recognised, StreamBatch, StreamClosed
from tests.build.chain import through
from tests.build.packet import block, ethernet, ipv4, ipv6, one_by_one, rpc, smb2, tcp, with_checksum
from tests.build.tcp import Everything, Talk

ENDS = [
    (Endpoint("192.0.2.1", 50000), Endpoint("198.51.100.2", 445)),
    (Endpoint("192.0.2.1", 50001), Endpoint("198.51.100.2", 445)),
    (Endpoint("192.0.2.2", 50000), Endpoint("192.0.2.1", 139)),
    (Endpoint("2001:db8::1", 50000), Endpoint("2001:db8::2", 445)),
    (Endpoint("2001:db8::1", 50000), Endpoint("2001:db8::3", 445)),
    (Endpoint("192.0.2.1", 445), Endpoint("192.0.2.2", 445)),
    # The same ports as the first, so that only an address distinguishes them.
    (Endpoint("192.0.2.7", 50000), Endpoint("198.51.100.2", 445)),
    (Endpoint("192.0.2.1", 50000), Endpoint("198.51.100.3", 445)),
]


def conversation(chance: random.Random, ends: tuple[Endpoint, Endpoint]) -> list[Segment]:
    """Requests and answers of any size, acknowledged now and then, disturbed as captures are."""
    client_isn, server_isn = (chance.choice([chance.randrange(1 << 32), 0xFFFFFF00]) for _ in range(2))
    talk = Talk(*ends, client_isn, server_isn)
    made = talk.open() if chance.random() < 0.8 else []
    if not made:
        talk.skip_handshake()
    in_turn = chance.random() < 0.5
    for number in range(chance.randrange(1, 12)):
        src, dst = ends if (number % 2 if in_turn else chance.random() < 0.5) else ends[::-1]
        whole = chance.choice([b"", smb2(), rpc(), smb2()[:5]]) + chance.randbytes(
            chance.choice([0, 5, 400, 9000, 90_000])
        )
        mss = chance.choice([3, 16, 100, 1460, 1460]) if len(whole) < 9000 else 1460
        for at in range(0, len(whole), mss):
            made.append(talk.send(src, whole[at : at + mss]))
            if chance.random() < 0.3:
                made.append(talk.ack(dst))
    made += [talk.fin(ends[0]), talk.fin(ends[1]), talk.ack(ends[0])] if chance.random() < 0.5 else []
    for _ in range(chance.choice([0, 0, 1, 4, 9])):
        disturb(chance, made)
    return made


def disturb(chance: random.Random, made: list[Segment]) -> None:
    if len(made) < 3:
        return
    at = chance.randrange(len(made) - 1)
    kind = chance.randrange(8)
    if kind == 7:
        # What bare acknowledgements say matters as much as data does.
        kind, at = 4, chance.choice([at, *(at for at, one in enumerate(made[:-1]) if not one.payload)])
    segment = made[at]
    if kind == 0:
        made[at], made[at + 1] = made[at + 1], segment
    elif kind == 1:
        del made[at]
    elif kind == 2:
        made.insert(chance.randrange(at, len(made)), segment)
    elif kind == 3:
        changed = segment.payload.data[::-1]
        made.insert(chance.randrange(at, len(made)), replace(segment, payload=segment.payload.replaced(changed, "x")))
    elif kind == 4:
        made[at] = replace(segment, ack=(segment.ack + chance.choice([-5000, -1, 1, 5000, 1 << 31])) & 0xFFFFFFFF)
    elif kind == 5:
        made[at] = replace(segment, flags=chance.choice([ACK | FIN, ACK | RST, SYN, PSH, ACK]))
    else:
        made[at] = replace(segment, seq=(segment.seq + chance.choice([-700, 700, 1 << 30])) & 0xFFFFFFFF)


def frame_of(chance: random.Random, segment: Segment, *, spoil: bool) -> bytes | tuple[bytes, int]:
    """The segment on Ethernet; now and then damaged, or cut by a snapshot length."""
    head = tcp(
        segment.payload.data,
        sport=segment.src.port,
        dport=segment.dst.port,
        seq=segment.seq,
        ack=segment.ack,
        flags=segment.flags,
        window=segment.window,
    )
    src, dst = segment.src.ip, segment.dst.ip
    odd = chance.random() if spoil else 0.75
    if odd < 0.01:
        head = head[:16] + b"\x12\x34" + head[18:]
    elif odd < 0.5:
        head = with_checksum(head, src, dst)
    if ":" in src:
        data = ethernet(ipv6(head, src=src, dst=dst), 0x86DD)
    else:
        data = ethernet(ipv4(head, src=src, dst=dst, checksum=7 if odd > 0.99 else None))
    if 0.5 < odd < 0.51:
        return data[: max(len(data) - 9, 50)], len(data)
    return data


def captured(seed: int) -> list[FrameBlock]:
    """Several conversations through each other, in a few blocks, times mostly ascending."""
    chance = random.Random(seed)
    waiting = [conversation(chance, ends) for ends in chance.sample(ENDS, chance.randrange(1, 5))]
    spoil = chance.random() < 0.5
    frames: list[bytes | tuple[bytes, int]] = []
    while waiting := [left for left in waiting if left]:
        left = chance.choice(waiting)
        for _ in range(min(chance.choice([1, 1, 5, 40]), len(left))):
            frames.append(frame_of(chance, left.pop(0), spoil=spoil))
    blocks, first = [], 1
    while frames:
        count = chance.choice([17, 60, 500])
        made = block(frames[:count], first=first, time_ns=10**18 + first * 10**6)
        if chance.random() < 0.2:
            made.times_ns[chance.randrange(len(made))] -= 10**9
        blocks.append(made)
        first += count
        frames = frames[count:]
    return blocks


def turns_of(events: Iterable[Event]) -> Iterator[Event]:
    for event in events:
        if isinstance(event, StreamBatch):
            yield from event
        else:
            yield event


def pieces(events: Iterable[Event]) -> list[Event]:
    """Turns cut into what one frame carried."""
    out: list[Event] = []
    for event in turns_of(events):
        if isinstance(event, StreamBatch):
            at = 0
            for extent in event.data.extents():
                data = event.data[at : at + extent.length]
                out.append(StreamBatch.of_part(event.connection, event.direction, event.offset + at, data))
                at += extent.length
        else:
            out.append(event)
    return out


def by_segments(blocks: list[FrameBlock], limits: Limits, recognition: type[Recognition] = Everything) -> list[Event]:
    """Each segment is a batch of its own."""
    dissector = Dissector(limits=limits)
    items = [*(item for made in blocks for item in dissector.feed(made)), *dissector.finish()]
    ones = (SegmentBatch.of_segment(item) if isinstance(item, Segment) else item for item in one_by_one(items))
    return through([Reassembler(limits, recognition())], ones)


def by_batches(blocks: list[FrameBlock], limits: Limits, recognition: type[Recognition] = Everything) -> list[Event]:
    dissector = Dissector(limits=limits)
    items = [*(item for made in blocks for item in dissector.feed(made)), *dissector.finish()]
    for item in items:
        if isinstance(item, SegmentBatch):
            assert len(item.payload) <= 1 << 19
            assert item.borders[-1] == len(item.payload)
    return through([Reassembler(limits, recognition())], items)


@settings(max_examples=60)
@given(st.integers(0, 2**48), st.booleans())
# The end that was not captured is acknowledged further first than later: its last acknowledgement counts.
@example(3221225874, False)
# How long a hole is waited for is counted in segments, however they came.
@example(219003820691938, True)
def test_batches_give_what_their_segments_give(seed: int, tight: bool) -> None:
    limits = Limits(connections=2, held_stream=4000, held_total=6000) if tight else Limits()
    blocks = captured(seed)
    assert pieces(by_batches(blocks, limits)) == pieces(by_segments(blocks, limits))


def overtaken(seed: int) -> list[FrameBlock]:
    """Conversations of which the capture has some segments a little late, with the time when they came or when they were sent."""
    chance = random.Random(seed)
    frames = [
        frame_of(chance, segment, spoil=False)
        for ends in chance.sample(ENDS, chance.choice([1, 2]))
        for segment in conversation(chance, ends)
    ]
    rate, far, pause = chance.choice([0.02, 0.05, 0.2]), chance.choice([1, 2, 3, 8, 40]), chance.choice([10**3, 10**6])
    late = [at + (chance.randint(1, far) + 0.5 if chance.random() < rate else 0) for at in range(len(frames))]
    order = sorted(range(len(frames)), key=late.__getitem__)
    made = block([frames[at] for at in order], time_ns=10**18)
    times = order if chance.random() < 0.5 else range(len(frames))
    made.times_ns[:] = [10**18 + pause * at for at in times]
    return [made]


@settings(max_examples=30)
@given(st.integers(0, 2**48), st.booleans())
def test_segments_that_were_overtaken_come_in_the_same_order(seed: int, tight: bool) -> None:
    limits = Limits(connections=2, held_stream=4000, held_total=6000) if tight else Limits()
    blocks = overtaken(seed)
    assert pieces(by_batches(blocks, limits)) == pieces(by_segments(blocks, limits))


@pytest.mark.parametrize("is_time_kept", [True, False])
def test_a_few_segments_that_were_overtaken_cut_no_batch(is_time_kept: bool) -> None:
    talk = Talk(*ENDS[0])
    segments = talk.open()
    for _ in range(40):
        segments += [talk.c(smb2()), talk.s(smb2(b"x" * 1000)), talk.s(b"y" * 1000), talk.ack(ENDS[0][0]), talk.s(b"z")]
    order = list(range(len(segments)))
    for at in range(10, len(segments) - 3, 20):
        order.insert(at + 2, order.pop(at))
    times = [1000 * at for at in (order if is_time_kept else sorted(order))]
    found = reported([segments[at] for at in order], cut=False, times_ns=times)
    batches = [event for event in found if isinstance(event, StreamBatch)]
    assert max(len(batch.replies) for batch in batches) >= 79
    assert len(batches) < 5


def test_what_comes_much_later_is_waited_for_segment_by_segment() -> None:
    """Whether a hole is given up depends on what comes meanwhile, so that nothing is put back from afar."""
    talk = Talk(*ENDS[0])
    segments = talk.open()
    for _ in range(60):
        segments += [talk.c(smb2()), talk.s(smb2(b"x" * 100))]
    segments.insert(110, segments.pop(11))
    assert [event for event in reported(segments, times_ns=range(0, 10**11, 10**8)) if isinstance(event, Gap)]


@settings(max_examples=15)
@given(st.integers(0, 2**48))
def test_the_same_connections_are_recognised_by_batches_and_by_segments(seed: int) -> None:
    blocks = captured(seed)
    found, alone = (way(blocks, Limits(), Recognition) for way in (by_batches, by_segments))
    recognised = [event for event in found if isinstance(event, Recognised)]
    assert recognised == [event for event in alone if isinstance(event, Recognised)]
    ours = {event.connection.number for event in recognised}
    assert {event.connection.number for event in found if isinstance(event, StreamBatch | Gap | StreamClosed)} <= ours


def test_data_in_order_comes_in_runs() -> None:
    talk = Talk(*ENDS[0])
    segments = [*talk.open(), talk.c(smb2())]
    for _ in range(100):
        segments += [talk.s(b"x" * 1000), talk.s(b"y" * 1000), talk.ack(ENDS[0][0])]
    chance = random.Random(1)
    blocks = [block([frame_of(chance, segment, spoil=False) for segment in segments])]
    chunks = [event for event in turns_of(by_batches(blocks, Limits())) if isinstance(event, StreamBatch)]
    assert max(len(list(chunk.data.extents())) for chunk in chunks) > 60
    assert len(chunks) < 10
    assert sum(len(chunk.data) for chunk in chunks) == 200_000 + len(smb2())


def test_turns_come_in_batches() -> None:
    talk = Talk(*ENDS[0], client_isn=0xFFFFF000)
    segments = talk.open()
    for _ in range(100):
        segments += [
            talk.c(smb2()),
            talk.ack(ENDS[0][1]),
            talk.s(smb2(b"x" * 1000)),
            talk.s(b"y" * 1000),
            talk.ack(ENDS[0][0]),
        ]
    batches = [event for event in reported(segments, cut=False) if isinstance(event, StreamBatch)]
    assert max(len(batch.replies) for batch in batches) == 200
    assert [len(chunk.data) for chunk in batches[-1]][-2:] == [len(smb2()), len(smb2(b"x" * 1000)) + 1000]


def test_long_batches_are_cut() -> None:
    talk = Talk(*ENDS[0])
    segments = talk.open()
    for _ in range(300):
        segments += [talk.c(smb2()), *(talk.s((smb2() if not at else b"") + b"y" * 1400) for at in range(10))]
    sizes = [len(event.data) for event in reported(segments, cut=False) if isinstance(event, StreamBatch)]
    assert len(sizes) > 10
    assert max(sizes) < (1 << 18) + 20_000


def test_answers_that_cross_the_next_request_are_in_batches_too() -> None:
    talk = Talk(*ENDS[0])
    segments = talk.open()
    for _ in range(20):
        asked = talk.c(smb2())
        crossing = replace(talk.c(smb2()), ack=asked.ack)
        segments += [asked, crossing, talk.s(smb2(b"y" * 300)), talk.s(smb2(b"z" * 300))]
        segments.append(replace(talk.c(smb2()), ack=(asked.ack + 10) & 0xFFFFFFFF))
    assert max(len(event.replies) for event in reported(segments, cut=False) if isinstance(event, StreamBatch)) > 50


def test_what_a_batch_held_is_compared_with_what_is_sent_again() -> None:
    talk = Talk(*ENDS[0])
    segments = talk.open()
    for _ in range(20):
        segments += [talk.c(smb2(b"a" * 100)), talk.s(smb2(b"b" * 100))]
    old = segments[-3]
    again = replace(
        old, payload=old.payload.replaced(old.payload.data[::-1], "x"), frame=900, time_ns=segments[-1].time_ns
    )
    found = reported([*segments, again, talk.c(smb2())])
    assert [event.kind for event in found if isinstance(event, Problem)] == ["conflict"]


def test_what_is_sent_again_and_again_is_looked_for_among_few() -> None:
    talk = Talk(*ENDS[0])
    segments = talk.open()
    for _ in range(2000):
        segments += [talk.c(b"\0"), talk.s(b"\0")]
    last = [segment for segment in segments if segment.src == ENDS[0][0]][-1]
    for number in range(500):
        payload = last.payload.replaced(b"x", "x")
        segments.append(replace(last, payload=payload, frame=9000 + number, time_ns=segments[-1].time_ns))
    kept: list[int] = []

    def counted(item: TracedBytes, most: int) -> Iterable[FrameExtent]:
        found = list(last_extents(item, most))
        kept.append(len(found))
        return found

    last_extents = TracedBytes.last_extents
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TracedBytes, "last_extents", counted)
        reported(segments)
    assert kept
    assert max(kept) <= 128


def reported(segments: list[Segment], *, cut: bool = True, times_ns: Sequence[int] = ()) -> list[Event]:
    """The events of segments that come in one block, which have to be the same in both ways; parts cut up, or batches."""
    chance = random.Random(1)
    blocks = [block([frame_of(chance, segment, spoil=False) for segment in segments], time_ns=10**18)]
    if times_ns:
        blocks[0].times_ns[:] = times_ns[: len(segments)]
    found = by_batches(blocks, Limits())
    cut_up = pieces(found)
    assert cut_up == pieces(by_segments(blocks, Limits()))
    return cut_up if cut else found


@settings(max_examples=10)
@given(st.integers(0, 2**32))
def test_frames_that_were_captured_twice_give_what_their_segments_give(seed: int) -> None:
    blocks = []
    for made in captured(seed):
        frames = [made.frame(at) for at in range(len(made)) for _ in range(2)]
        twice = block([(one.data, one.original_length) for one in frames], first=2 * int(made.frames[0]))
        twice.times_ns[:] = [one.time_ns for one in frames]
        blocks.append(twice)
    assert pieces(by_batches(blocks, Limits())) == pieces(by_segments(blocks, Limits()))


def test_what_is_captured_twice_is_in_runs_all_the_same() -> None:
    talk = Talk(*ENDS[0])
    segments = [*talk.open(), talk.c(smb2()), *[talk.s(smb2(b"x" * 900)) for _ in range(2)]]
    segments += [talk.s(b"y" * 900) for _ in range(30)]
    once = reported(segments, cut=False)
    twice = reported([one for one in segments for _ in range(2)], cut=False)
    assert [len(one.data) for one in twice if isinstance(one, StreamBatch)] == [
        len(one.data) for one in once if isinstance(one, StreamBatch)
    ]


def test_the_segments_around_one_that_is_out_of_order_are_in_runs() -> None:
    talk = Talk(*ENDS[0])
    segments = [*talk.open(), talk.c(smb2()), talk.s(smb2()), *[talk.s(b"y" * 900) for _ in range(40)]]
    segments[20], segments[21] = segments[21], segments[20]
    found = reported(segments, cut=False)
    assert sum(isinstance(event, StreamBatch) for event in found) < 10
    assert sum(len(event.data) for event in found if isinstance(event, StreamBatch)) == 40 * 900 + 2 * len(smb2())


@pytest.mark.parametrize("isn", [1000, 0xFFFFFFFF, 0xFFFFFFFF - 500, 0x7FFFFFFF])
def test_batches_stay_whole_wherever_their_numbers_lie(isn: int) -> None:
    """Sequence number 0 is one like any other, also as the first that is answered."""
    talk = Talk(*ENDS[0], isn, isn)
    segments = talk.open()
    for _ in range(20):
        segments += [talk.c(smb2(b"x" * 500)), talk.s(smb2(b"y" * 500))]
    segments += [talk.s(b"z" * 500) for _ in range(20)]
    batches = [event for event in reported(segments, cut=False) if isinstance(event, StreamBatch)]
    assert [(len(batch.data), batch.replied) for batch in batches] == [
        (40 * len(smb2(b"x" * 500)) + 10_000, 20 * len(smb2(b"x" * 500)) + 10_000)
    ]


def overtaken_batches(isn: int) -> list[tuple[int, int, int]]:
    """Connection, length and what is answered of each batch of two conversations; now and then a segment comes two later."""
    segments = []
    for ends in (ENDS[0], ENDS[6]):
        talk = Talk(*ends, isn, isn)
        hello = talk.open()
        for _ in range(40):
            hello += [talk.c(smb2()), talk.s(smb2(b"x" * 1000)), talk.s(b"y" * 1000), talk.ack(ends[0]), talk.s(b"zz")]
        for at in range(3, len(hello) - 3, 20):
            hello.insert(at + 2, hello.pop(at))
        segments += hello
    found = reported(segments, cut=False)
    return [
        (event.connection.number, len(event.data), event.replied) for event in found if isinstance(event, StreamBatch)
    ]


def test_batches_of_overtaken_segments_are_the_same_wherever_their_numbers_lie() -> None:
    usual = overtaken_batches(1000)
    each = 40 * (2 * len(smb2()) + 2002)
    assert usual == [(number, each, each - 40 * len(smb2())) for number in (0, 1)]
    for isn in (0xFFFFFFFF, 0xFFFFFFFE, 0, 0x7FFFFFFF, 0xFFFFFFFF - 68):
        assert overtaken_batches(isn) == usual


@pytest.mark.parametrize("with_acknowledgements", [False, True])
def test_what_one_end_goes_on_to_send_is_one_batch(with_acknowledgements: bool) -> None:
    """In a block of its own, behind what both ends said before."""
    talk = Talk(*ENDS[0])
    before = [*talk.open(), talk.c(smb2()), talk.s(smb2())]
    after = []
    for number in range(20):
        after.append(talk.s((smb2() if not number else b"") + b"x" * 1000))
        if with_acknowledgements:
            after.append(talk.ack(ENDS[0][0]))
    chance, blocks = random.Random(1), []
    for part in (before, after):
        first = 1 + sum(map(len, blocks))
        frames = [frame_of(chance, segment, spoil=False) for segment in part]
        blocks.append(block(frames, first=first, time_ns=10**18 + first))
    found = by_batches(blocks, Limits())
    assert pieces(found) == pieces(by_segments(blocks, Limits()))
    batches = [event for event in found if isinstance(event, StreamBatch)]
    assert [len(batch.data) for batch in batches[-1:]] == [20_000 + len(smb2())]
    assert len(batches) <= 3
