"""What a batch says of its segments together is what they say one by one."""

import random
from itertools import groupby, pairwise

import pytest

from analyzer.capture.frame_blocks import FrameBlock
from analyzer.core.tcpip_encoding import ACK, FIN, PSH, RST, SYN
from analyzer.core.traced_bytes import TracedBytes
from analyzer.results.records.record_types import Endpoint
from analyzer.transport.packet.block_dissector import Dissector
from analyzer.transport.packet.segment import Segment, SegmentBatch
from tests.build.packet import block, ethernet, ipv4, smb2, tcp
from tests.build.tcp import Talk
from tests.transport.tcp.test_batches_of_segments import frame_of


def batches_of(blocks: list[FrameBlock]) -> list[SegmentBatch]:
    dissector = Dissector()
    items = [*(item for made in blocks for item in dissector.feed(made)), *dissector.finish()]
    return [item for item in items if isinstance(item, SegmentBatch)]


def check(batch: SegmentBatch) -> bool:
    """Whether it is of several segments, of which none repeats another; then all of its fields are compared."""
    segments = list(batch)
    assert len(segments) == batch.stop - batch.first
    assert batch.latest_ns == max(segment.time_ns for segment in segments)
    assert (batch.time_ns, batch.src, batch.dst) == (segments[-1].time_ns, segments[0].src, segments[0].dst)
    data = [segment for segment in segments if segment.payload]
    kinds = {(segment.src, segment.seq) for segment in data}
    if len(segments) == 1 or not batch.in_sequence or len(kinds) < len(data):
        return False
    mine = [segment for segment in data if segment.src == batch.src]
    theirs = [segment for segment in data if segment.src != batch.src]
    assert batch.payload.data == b"".join(segment.payload.data for segment in data)
    assert [(e.frame, e.start, e.length) for e in batch.payload.extents()] == [
        (e.frame, e.start, e.length) for segment in data for e in segment.payload.extents()
    ]
    assert batch.count == len(data)
    assert batch.is_one_sided == (len(mine) == len(segments))
    assert batch.frame == (data[-1].frame if not theirs else max(batch.frame, 0))
    if mine:
        assert batch.seq == mine[0].seq
        assert batch.frame == mine[-1].frame
    assert batch.reply_seq == (theirs[0].seq if theirs else -1)
    assert batch.reply_frame == (theirs[-1].frame if theirs else 0)
    assert batch.ack == segments[0].ack
    # A part may go on where one of the same end stops; together they are the turns of both.
    turns = [
        (is_reply, sum(len(one.payload) for one in part)) for is_reply, part in groupby(data, lambda one: one in theirs)
    ]
    parts = [
        (is_reply, stop - start) for is_reply, (start, stop) in zip(batch.replies, pairwise(batch.borders), strict=True)
    ]
    joined = [(is_reply, sum(size for _, size in part)) for is_reply, part in groupby(parts, lambda one: one[0])]
    assert [each for each in joined if each[1]] == turns
    return True


def spoken(seed: int) -> list[bytes]:
    """A conversation in order: turns of any number of segments of any size, acknowledged now and then."""
    chance = random.Random(seed)
    client, server = (Endpoint("192.0.2.10", 50000 + seed), Endpoint("198.51.100.20", 445))
    talk = Talk(client, server, chance.randrange(1 << 32), chance.randrange(1 << 32))
    segments = talk.open()
    for turn in range(chance.randrange(10, 40)):
        src, dst = (client, server) if turn % 2 == 0 else (server, client)
        for _ in range(chance.randrange(1, 6)):
            begin = chance.choice([smb2(), b"\0", b"xx"])
            segments.append(talk.send(src, begin + chance.randbytes(chance.choice([16, 40, 1300]))))
            if chance.random() < 0.3:
                segments.append(talk.ack(dst))
    return [frame_of(chance, segment, spoil=False) for segment in segments]


@pytest.mark.parametrize("seed", range(12))
def test_fields_of_a_batch_are_those_of_its_segments(seed: int) -> None:
    frames = [*spoken(seed), *spoken(seed + 100)]
    batches = batches_of([block(frames), block(spoken(seed + 200), first=len(frames) + 1)])
    compared = [check(batch) for batch in batches]
    assert sum(compared) == 3
    # Nothing is taken one by one but the handshakes; a conversation is one batch.
    assert len(batches) <= 12
    assert sorted(batch.stop - batch.first for batch in batches)[:-3] == [1] * (len(batches) - 3)


def conversation(port: int, first: int = 1000) -> list[bytes]:
    """Twenty requests and answers of two segments each."""
    frames, seq, ack = [], first, 5000
    for _ in range(20):
        for part in (smb2(b"x" * 300), b"y" * 200):
            frames.append(ethernet(ipv4(tcp(part, sport=port, seq=seq, ack=ack))))
            seq = (seq + len(part)) & 0xFFFFFFFF
        for part in (smb2(b"z" * 100), b"w" * 50):
            frames.append(
                ethernet(
                    ipv4(tcp(part, sport=445, dport=port, seq=ack, ack=seq), src="198.51.100.20", dst="192.0.2.10")
                )
            )
            ack += len(part)
    return frames


def test_several_connections_of_a_block_have_a_batch_each() -> None:
    """The second and third begin behind others in the arrays of the block."""
    batches = batches_of([block([*conversation(1), *conversation(2, 2000), *conversation(3, 0xFFFFFF00)])])
    assert all(check(batch) for batch in batches)
    # A part for each turn, whose second segment goes on where the first ends.
    assert [len(batch.replies) for batch in batches] == [40, 40, 40]
    assert [
        (batch.src.port, batch.count, batch.seq, batch.reply_seq, batch.frame, batch.reply_frame) for batch in batches
    ] == [
        (1, 80, 1000, 5000, 78, 80),
        (2, 80, 2000, 5000, 158, 160),
        (3, 80, 0xFFFFFF00, 5000, 238, 240),
    ]


def test_segments_that_repeat_the_one_before_bring_nothing() -> None:
    """A mirror port of both ends sends every frame twice."""
    (batch,) = batches_of([block([frame for frame in conversation(1) for _ in range(2)])])
    segments: list[Segment] = list(batch)
    assert (len(segments), batch.count, len(batch.payload)) == (160, 80, sum(len(one.payload) for one in segments) // 2)
    assert (batch.frame, batch.reply_frame) == (155, 159)
    assert not batch.is_one_sided


def test_a_batch_of_one_end_alone_says_so() -> None:
    alone = [ethernet(ipv4(tcp(b"\0" + b"x" * 99, seq=1000 + 100 * at))) for at in range(20)]
    (batch,) = batches_of([block(alone)])
    assert check(batch)
    assert (batch.is_one_sided, batch.count, batch.reply_seq, batch.frame, batch.reply_frame) == (True, 20, -1, 20, 0)
    acknowledged = [*alone, ethernet(ipv4(tcp(b"", seq=3000)))]
    (batch,) = batches_of([block(acknowledged)])
    assert (batch.is_one_sided, batch.count, batch.frame) == (False, 20, 20)


@pytest.mark.parametrize(
    ("flags", "size", "missing", "in_sequence"),
    [
        (ACK, 5, 0, True),
        (ACK | PSH, 5, 0, True),
        (ACK | 0x20, 5, 0, True),
        (ACK, 0, 0, True),
        (ACK, 5, 1, False),
        (ACK, 0, 9, False),
        (PSH, 5, 0, False),
        (ACK | FIN, 5, 0, False),
        (ACK | SYN, 5, 0, False),
        (ACK | RST, 5, 0, False),
        (0, 0, 0, False),
    ],
)
def test_a_segment_alone_is_a_batch(flags: int, size: int, missing: int, in_sequence: bool) -> None:
    src, dst = Endpoint("192.0.2.1", 1), Endpoint("192.0.2.2", 445)
    payload = TracedBytes.of_frame(b"x" * size, 7, 54, 99)
    segment = Segment(src, dst, 0, 5, flags, 100, payload, missing, 7, 99)
    batch = SegmentBatch.of_segment(segment)
    assert batch.in_sequence is in_sequence
    assert (batch.src, batch.dst, batch.seq, batch.reply_seq, batch.ack, batch.payload) == (src, dst, 0, -1, 5, payload)
    assert (batch.borders, batch.replies) == ([0, size], [False])
    assert (batch.count, batch.frame, batch.reply_frame) == ((1, 7, 0) if size else (0, 0, 0))
    assert (batch.time_ns, batch.latest_ns, batch.first, batch.stop) == (99, 99, 0, 1)
    assert batch.is_one_sided is (size > 0)
    assert list(batch) == [segment]
