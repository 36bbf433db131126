"""Segments of a block in the order in which TCP delivers them, and the runs they make: by hand, each bound from both sides."""

from typing import Any, NamedTuple

import numpy as np
import pytest

from analyzer.capture.frame_blocks import FrameBlock
from analyzer.core.limits import DEFAULTS, Limits
from analyzer.core.tcpip_encoding import ACK, FIN, PSH, RST, SYN
from analyzer.transport.packet.common_frame_shapes import sort_out
from analyzer.transport.packet.segment import FARTHEST_AHEAD
from analyzer.transport.packet.segment_columns import SegmentColumns, columns_of
from analyzer.transport.packet.segment_runs import (
    _MOST_BYTES,
    _MOST_NS,
    _MOST_SEGMENTS,
    _PART_OF_HELD,
    _SEGMENT_COST,
    RUN_BYTES_BITS,
    Runs,
    _signed,
    closed_places,
    find_batches,
    find_runs,
    most_waiting,
    waiting_order,
)
from analyzer.transport.packet.tunnels import Views
from analyzer.transport.tcp.tcp_states import TcpTimeouts
from tests.build.packet import CLIENT, CLIENT6, SERVER, SERVER6, T0, block, ethernet, ipv4, ipv6, smb2, tcp


class Sent(NamedTuple):
    """A segment: which end sent it, its numbers, how many bytes it has, when it came."""

    side: int
    seq: int
    ack: int
    size: int
    at_ns: int = 0
    flags: int = ACK | PSH
    again: bool = False
    wall: bool = False


def order_of(sent: list[Sent], most: int = 1 << 30) -> list[int] | None:
    count = len(sent)

    def column(name: str, kind: Any = np.int64) -> Any:
        return np.array([getattr(one, name) for one in sent], kind)

    none, no = np.zeros(count, np.int64), np.zeros(count, np.bool_)
    columns = SegmentColumns(
        *(b"", ~no, np.arange(count), none, none, np.arange(1, count + 1), T0 + column("at_ns")),
        *(column("seq"), column("ack"), column("flags"), none, none, none, column("size"), none, ~no, no, no),
    )
    wall = column("wall", np.bool_)
    wall[0] = True
    sizes = np.where(column("again", np.bool_), 0, column("size"))
    found = waiting_order(columns, wall, column("side"), sizes, column("again", np.bool_), most)
    return found.tolist() if found is not None else None


def data(seq: int, size: int = 100, **more: Any) -> Sent:
    return Sent(0, seq & 0xFFFFFFFF, 5000, size, **more)


def reply(seq: int, ack: int, size: int = 0, **more: Any) -> Sent:
    return Sent(1, seq & 0xFFFFFFFF, ack & 0xFFFFFFFF, size, **more)


NEAR_END = 0xFFFFFF80


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ([data(1000)], None),
        ([data(1000), data(1100), data(1200)], None),
        ([data(1000), reply(5000, 1100), data(1100), reply(5000, 1200)], None),
        ([data(1000), reply(5000, 1100, 50), Sent(0, 1100, 5050, 100)], None),
        # One that was overtaken by one, and by two.
        ([data(1000), data(1200), data(1100)], [0, 2, 1]),
        ([data(1000), data(1200), data(1300), data(1100)], [0, 3, 1, 2]),
        ([data(1000), data(1300), data(1200), data(1100)], [0, 3, 2, 1]),
        ([data(1000), data(1200), data(1100), data(1300)], [0, 2, 1, 3]),
        # An acknowledgement, or an answer, that came before what it acknowledges.
        ([data(1000), reply(5000, 1200), data(1100)], [0, 2, 1]),
        ([data(1000), reply(5000, 1200, 30), data(1100)], [0, 2, 1]),
        ([data(1000), reply(5000, 1200, 30), reply(5030, 1200, 40), data(1100)], [0, 3, 1, 2]),
        ([data(1000), reply(5000, 1100), data(1200), data(1100), reply(5000, 1300)], [0, 1, 3, 2, 4]),
        ([data(1000), data(1200), reply(5000, 1100, flags=ACK), data(1100)], [0, 2, 3, 1]),
        # Around the end of the numbers.
        ([data(NEAR_END), data(NEAR_END + 200), data(NEAR_END + 100)], [0, 2, 1]),
        ([data(NEAR_END), reply(5000, NEAR_END + 200), data(NEAR_END + 100)], [0, 2, 1]),
        # What never came is waited for by none.
        ([data(1000), data(1200), data(1300)], None),
        # The same once more: nobody waits for it a second time.
        ([data(1000), data(1100), data(1000), data(1200)], None),
        # Two conversations, apart by a wall.
        ([data(1000), data(1200), data(1100), data(9000, wall=True), data(9100)], [0, 2, 1, 3, 4]),
        ([data(1000), data(1100), data(9000, wall=True), data(9200), data(9100)], [0, 1, 2, 4, 3]),
        # Behind a wall the first that the capture has may itself have overtaken another.
        ([data(1000), data(1200, wall=True), data(1100)], [0, 2, 1]),
    ],
)
def test_segments_leave_behind_what_they_waited_for(sent: list[Sent], expected: list[int] | None) -> None:
    assert order_of(sent) == expected


def late(count: int, **more: Any) -> list[Sent]:
    """The second of so many segments comes last."""
    return [data(1000, **more), *(data(1000 + 100 * at) for at in range(2, count)), data(1100)]


def test_more_than_half_of_what_a_hole_is_given_up_for_stays_where_it_is() -> None:
    """`tcp` gives up a hole that was acknowledged behind so many segments, or after so long."""
    timeouts = TcpTimeouts()
    assert (timeouts.patience_segments, timeouts.patience_long_ns) == (2 * _MOST_SEGMENTS, 2 * _MOST_NS)
    assert (_MOST_SEGMENTS, _MOST_NS, _MOST_BYTES) == (32, 1_000_000_000, 256 << 10)
    # The group is of those that wait, and the one that they wait for.
    assert order_of(late(33)) == [0, 32, *range(1, 32)]
    assert order_of(late(34)) is None


@pytest.mark.parametrize(("apart", "is_moved"), [(0, True), (_MOST_NS, True), (_MOST_NS + 1, False)])
def test_what_waits_for_more_than_a_second_stays_where_it_is(apart: int, is_moved: bool) -> None:
    sent = [data(1000), data(1200, at_ns=5), data(1100, at_ns=5 + apart)]
    assert order_of(sent) == ([0, 2, 1] if is_moved else None)
    # What did not wait counts for nothing.
    assert order_of([data(1000, at_ns=-(1 << 40)), *sent[1:]]) == ([0, 2, 1] if is_moved else None)


def test_what_waits_takes_no_more_than_its_part_of_memory() -> None:
    sent = [data(1000), data(1200), data(1100)]
    needed = 200 + 2 * _SEGMENT_COST
    assert order_of(sent, needed) == [0, 2, 1]
    assert order_of(sent, needed - 1) is None


@pytest.mark.parametrize(
    ("held_stream", "held_total", "expected"),
    [
        (1 << 40, 1 << 40, 256 << 10),
        (16 * (256 << 10), 1 << 40, 256 << 10),
        (16 * (256 << 10) - 1, 1 << 40, (256 << 10) - 1),
        (1 << 40, 16 * 1000 + 15, 1000),
        (16 * 3, 16 * 2, 2),
    ],
)
def test_a_sixteenth_of_what_may_be_held_may_wait(held_stream: int, held_total: int, expected: int) -> None:
    assert _PART_OF_HELD == 16
    assert most_waiting(Limits(held_stream=held_stream, held_total=held_total)) == expected
    assert most_waiting(DEFAULTS) <= _MOST_BYTES


@pytest.mark.parametrize(
    ("flags", "size", "is_moved"), [(ACK, 1, False), (ACK | PSH, 1, True), (ACK, 2, True), (ACK | PSH, 2, True)]
)
def test_a_single_byte_may_be_a_keep_alive(flags: int, size: int, is_moved: bool) -> None:
    """Which [RFC 9293 section 3.8.4] sends one byte from before the window: it is not known what becomes of it."""
    sent = [data(1000), data(1200, size=size, flags=flags), data(1100)]
    assert order_of(sent) == ([0, 2, 1] if is_moved else None)


def test_what_was_sent_again_among_those_that_wait_leaves_them_where_they_are() -> None:
    assert order_of([data(1000), data(1200), data(1200, again=True), data(1100)]) is None
    assert order_of([data(1000), data(1000, again=True), data(1200), data(1100)]) == [0, 1, 3, 2]


def test_a_group_that_is_too_large_does_not_keep_others() -> None:
    base = late(40)
    behind = [data(1000 + 4000), data(1000 + 4200), data(1000 + 4100)]
    assert order_of([*base, *behind]) == [*range(41), 42, 41]


def test_numbers_are_compared_around_a_circle() -> None:
    """RFC 1982 section 3.2, with 32 bits."""
    near = {number: number for number in (0, 1, -1, 0x7FFFFFFF)}
    around = {0x80000000: -0x80000000, 0xFFFFFFFF: -1, -0x80000001: 0x7FFFFFFF}
    assert _signed(np.array([*near, *around], np.int64)).tolist() == [*near.values(), *around.values()]


@pytest.mark.parametrize(
    "order", [[0], [0, 1, 2], [1, 0, 2], [0, 2, 1, 3], [2, 0, 1, 4, 3], [3, 2, 1, 0], [1, 2, 3, 0, 4]]
)
def test_a_place_is_closed_where_the_same_segments_come_before(order: list[int]) -> None:
    expected = [{*order[:at]} == {*range(at)} for at in range(len(order))]
    assert closed_places(np.array(order)).tolist() == expected


# ------------------------------------------------------------------------------------------------------------- runs


def runs_in(made: FrameBlock, cuts: tuple[int, ...] = ()) -> Runs:
    views = Views(made.data)
    found, left = sort_out(made, views)
    assert not len(left)
    return find_runs(columns_of(made, views, found), views, np.array(cuts, np.int64), 1 << 20)


def sent(seq: int, payload: bytes, *, ack: int = 5000, flags: int = ACK | PSH, port: int = 50000) -> bytes:
    return ethernet(ipv4(tcp(payload, sport=port, seq=seq, ack=ack, flags=flags)))


def answered(seq: int, payload: bytes, *, ack: int, flags: int = ACK, port: int = 50000) -> bytes:
    packet = tcp(payload, sport=445, dport=port, seq=seq, ack=ack, flags=flags)
    return ethernet(ipv4(packet, src=SERVER, dst=CLIENT))


def shown(runs: Runs) -> list[tuple[object, ...]]:
    """First and last segment, whether it is a run, sender, number, acknowledgement, data segments, bytes."""
    columns = (
        runs.first,
        runs.stop,
        runs.is_run,
        runs.side,
        runs.seq,
        runs.ack,
        runs.data_first,
        runs.data_stop,
        runs.sizes,
    )
    return list(zip(*(column.tolist() for column in columns), strict=True))


X = b"x" * 100


def test_a_run_is_data_of_one_end_with_acknowledgements_of_the_other() -> None:
    made = block(
        [sent(1000, X), sent(1100, X), answered(5000, b"", ack=1100), sent(1200, X), answered(5000, b"", ack=1300)]
    )
    runs = runs_in(made)
    assert shown(runs) == [(0, 5, True, 0, 1000, 5000, 0, 3, 300)]
    assert (runs.wall.tolist(), runs.closed.tolist(), runs.positions.tolist()) == ([True], [True], [0])
    assert runs.data_frames.tolist() == [1, 2, 4]
    assert (runs.data_ends - runs.data_begins).tolist() == [100, 100, 100]
    assert [made.data[a:b] for a, b in zip(runs.data_begins.tolist(), runs.data_ends.tolist(), strict=True)] == [X] * 3
    assert runs.table.ordered


def test_an_answer_begins_a_run_of_its_own() -> None:
    frames = [sent(1000, X), answered(5000, X, ack=1100), answered(5100, X, ack=1100), sent(1100, X, ack=5200)]
    assert shown(runs_in(block(frames))) == [
        (0, 1, True, 0, 1000, 5000, 0, 1, 100),
        (1, 3, True, 1, 5000, 1100, 1, 3, 200),
        (3, 4, True, 0, 1100, 5200, 3, 4, 100),
    ]


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        # Another connection; another acknowledgement; a number that does not continue; the first bytes of an SMB message.
        (sent(1100, X, port=50001), [(0, 1), (1, 3)]),
        (sent(1100, X, ack=5001), [(0, 1), (1, 3)]),
        (sent(1099, X), [(0, 1), (1, 3)]),
        (sent(1101, X), [(0, 1), (1, 3)]),
        (sent(1100, smb2(X)), [(0, 1), (1, 3)]),
        (sent(1100, smb2(X)[4:]), [(0, 3)]),
        (sent(1100, b"\5\0\x0b\3" + X), [(0, 1), (1, 3)]),
        (sent(1100, b"\5\1\x0b\3" + X), [(0, 1), (1, 3)]),
        (sent(1100, b"\5\2\x0b\3" + X), [(0, 3)]),
        (sent(1100, b"\4\0\x0b\3" + X), [(0, 3)]),
        (sent(1100, X), [(0, 3)]),
        (sent(1100, X, flags=ACK), [(0, 3)]),
    ],
)
def test_a_run_ends_where_something_new_begins(second: bytes, expected: list[tuple[int, int]]) -> None:
    """The third segment continues the second, whatever that is."""
    views = Views(block([second]).data)
    one = columns_of(block([second]), views, sort_out(block([second]), views)[0])
    port = int.from_bytes(second[34:36], "big")
    third = sent(int(one.seq[0]) + int(one.sizes[0]), X, ack=int(one.ack[0]), port=port)
    runs = runs_in(block([sent(1000, X), second, third]))
    assert list(zip(runs.first.tolist(), runs.stop.tolist(), strict=True)) == expected
    assert runs.is_run.all()


@pytest.mark.parametrize("flags", [ACK | FIN, ACK | SYN, ACK | RST, PSH, 0, ACK | PSH | FIN])
def test_a_segment_with_other_flags_stands_alone(flags: int) -> None:
    runs = runs_in(block([sent(1000, X), sent(1100, X, flags=flags), sent(1200, X)]))
    assert list(zip(runs.first.tolist(), runs.stop.tolist(), runs.is_run.tolist(), strict=True)) == [
        (0, 1, True),
        (1, 2, False),
        (2, 3, True),
    ]
    assert runs.wall.tolist() == [True, True, True]


@pytest.mark.parametrize(
    ("ack", "frames", "expected"),
    [
        *((ack, [1, 2, 3], [(0, 3, True)]) for ack in (0, 999, 1000, 1099, 1100)),
        # What acknowledges the second comes behind it.
        *((ack, [1, 3, 2], [(0, 3, True)]) for ack in (1101, 1200)),
        # What was never sent is acknowledged by none of a run.
        *((ack, [1, 3, 2], [(0, 3, False)]) for ack in (1201, 1300)),
    ],
)
def test_a_run_is_acknowledged_no_further_than_it_is_there(
    ack: int, frames: list[int], expected: list[tuple[int, int, bool]]
) -> None:
    runs = runs_in(block([sent(1000, X), answered(5000, b"", ack=ack), sent(1100, X)]))
    assert runs.columns.frames.tolist() == frames
    assert list(zip(runs.first.tolist(), runs.stop.tolist(), runs.is_run.tolist(), strict=True)) == expected


@pytest.mark.parametrize(
    ("behind", "is_run"),
    [(0, True), (1, True), ((1 << 32) - FARTHEST_AHEAD, True), ((1 << 32) - FARTHEST_AHEAD + 1, False)],
)
def test_an_acknowledgement_may_be_late(behind: int, is_run: bool) -> None:
    """Not later than a window reaches: beyond that it is taken for one that is ahead."""
    runs = runs_in(block([sent(1000, X), sent(1100, X), answered(5000, b"", ack=(1200 - behind) & 0xFFFFFFFF)]))
    assert runs.is_run.tolist() == [is_run]


@pytest.mark.parametrize("size", [7, 15, 16])
def test_a_short_segment_ends_a_run(size: int) -> None:
    """Bytes that begin like a PDU only together with those behind them are not to begin a run."""
    runs = runs_in(block([sent(1000, X), sent(1100, b"y" * size), sent(1100 + size, X), sent(1200 + size, X)]))
    assert runs.first.tolist() == ([0, 2] if size < 16 else [0])


def test_runs_are_cut_so_that_they_are_not_held_too_long() -> None:
    """128 KB: about what a read of a file brings at once."""
    assert RUN_BYTES_BITS == 17
    size = 1 << 12
    frames = [sent(1000 + at * size, bytes([1]) * size) for at in range(70)]
    runs = runs_in(block(frames))
    assert list(zip(runs.first.tolist(), runs.stop.tolist(), strict=True)) == [(0, 32), (32, 64), (64, 70)]
    assert runs.seq.tolist() == [1000, 1000 + 32 * size, 1000 + 64 * size]
    assert runs.positions.tolist() == [0, 32 * size, 64 * size]


def test_no_run_reaches_across_a_cut() -> None:
    runs = runs_in(block([sent(1000 + 100 * at, X) for at in range(6)]), (2, 5))
    assert list(zip(runs.first.tolist(), runs.stop.tolist(), strict=True)) == [(0, 2), (2, 5), (5, 6)]
    assert runs.wall.tolist() == [True, True, True]


def test_what_a_mirror_port_sends_twice_brings_nothing_again() -> None:
    runs = runs_in(block([sent(1000, X), sent(1000, X), sent(1100, X), sent(1100, X)]))
    assert shown(runs) == [(0, 4, True, 0, 1000, 5000, 0, 2, 200)]
    other = runs_in(block([sent(1000, X), sent(1000, b"y" + X[1:]), sent(1100, X)]))
    assert len(other.first) > 1
    for changed in (sent(1000, X, ack=5001), sent(1000, X, flags=ACK), sent(1000, X[1:])):
        assert runs_in(block([sent(1000, X), changed])).data_stop.tolist()[-1] == 2


def test_overtaken_segments_are_put_back_before_runs_are_made() -> None:
    runs = runs_in(block([sent(1000, X), sent(1200, X), sent(1100, X), sent(1300, X)]))
    assert shown(runs) == [(0, 4, True, 0, 1000, 5000, 0, 4, 400)]
    assert runs.data_frames.tolist() == [1, 3, 2, 4]
    assert not runs.table.ordered


@pytest.mark.parametrize("changed", [(12, 1), (15, 0x80), (16, 1), (19, 0x80)])
def test_each_byte_of_addresses_tells_connections_apart(changed: tuple[int, int]) -> None:
    at, bit = changed
    frame = bytearray(sent(1100, X))
    frame[14 + at] ^= bit
    frame[24:26] = bytes(2)
    runs = runs_in(block([sent(1000, X), bytes(frame), sent(1100, X)]))
    assert runs.first.tolist() == [0, 1, 2]
    assert runs.wall.all()


def six(
    seq: int, payload: bytes, *, src: str = CLIENT6, dst: str = SERVER6, back: bool = False, ack: int = 5000
) -> bytes:
    ports = {"sport": 445, "dport": 50000} if back else {"sport": 50000, "dport": 445}
    ends = {"src": dst, "dst": src} if back else {"src": src, "dst": dst}
    return ethernet(ipv6(tcp(payload, seq=seq, ack=ack, flags=ACK, **ports), **ends), 0x86DD)


def test_connections_of_both_versions_are_told_apart_by_all_of_their_addresses() -> None:
    frames = [
        *(six(1000, X), six(1100, X), six(5000, b"", back=True, ack=1200)),
        # The first and the last 8 bytes of either address.
        *(six(1200, X, src="2001:db9::10"), six(1200, X), six(1300, X, src="2001:db8::11"), six(1300, X)),
        *(six(1400, X, dst="2001:db9::20"), six(1400, X), six(1500, X, dst="2001:db8::21"), six(1500, X)),
        *(sent(7000, X), sent(7100, X), six(1600, X)),
    ]
    runs = runs_in(block(frames))
    assert list(zip(runs.first.tolist(), runs.stop.tolist(), strict=True)) == [
        *((0, 3), (3, 4), (4, 5), (5, 6), (6, 7), (7, 8), (8, 9), (9, 10), (10, 11), (11, 13), (13, 14)),
    ]
    assert runs.wall.all()


# ---------------------------------------------------------------------------------------------------------- batches


@pytest.mark.parametrize(
    ("frames", "expected"),
    [
        # Turns of both ends, each of which acknowledges what was there.
        (
            [sent(1000, X), answered(5000, X, ack=1100), sent(1100, X, ack=5100)],
            [(0, 3, True, 1000, 5000, 5000, 2, 1)],
        ),
        # An older acknowledgement fits where the other end has sent data in the batch.
        (
            [sent(1000, X), answered(5000, X, ack=1100), sent(1100, X, ack=5000)],
            [(0, 3, True, 1000, 5000, 5000, 2, 1)],
        ),
        # Where it has not, all acknowledgements are one.
        (
            [sent(1000, X), sent(1100, X, ack=5100)],
            [(0, 1, True, 1000, -1, 5000, 0, -1), (1, 2, True, 1100, -1, 5100, 1, -1)],
        ),
        (
            [sent(1000, X), sent(1100, X, ack=4990)],
            [(0, 1, True, 1000, -1, 5000, 0, -1), (1, 2, True, 1100, -1, 4990, 1, -1)],
        ),
        # What was never sent is acknowledged.
        (
            [sent(1000, X), answered(5000, X, ack=1101)],
            [(0, 1, True, 1000, -1, 5000, 0, -1), (1, 2, True, 5000, -1, 1101, 1, -1)],
        ),
        # A hole in what one end sends, or in what the other does.
        (
            [sent(1000, X), answered(5000, X, ack=1100), sent(1101, X, ack=5100)],
            [
                (0, 1, True, 1000, -1, 5000, 0, -1),
                (1, 2, True, 5000, -1, 1100, 1, -1),
                (2, 3, True, 1101, -1, 5100, 2, -1),
            ],
        ),
        # Two connections, of which the second begins with an acknowledgement alone.
        (
            [sent(1000, X), answered(5000, b"", ack=1100, port=50001), sent(1000, X, port=50001)],
            None,
        ),
    ],
)
def test_runs_that_answer_each_other_are_a_batch(
    frames: list[bytes], expected: list[tuple[object, ...]] | None
) -> None:
    batches = find_batches(runs_in(block(frames)))
    columns = (
        *(batches.first, batches.stop, batches.is_regular, batches.seq, batches.reply_seq, batches.ack),
        *(batches.last, batches.reply_last),
    )
    found = list(zip(*(column.tolist() for column in columns), strict=True))
    if expected is None:
        assert batches.first.tolist() == [0, 1]
    else:
        assert found == expected


def test_a_batch_has_no_more_than_256_kilobytes() -> None:
    size = 1 << 12
    batches = find_batches(runs_in(block([sent(1000 + at * size, bytes([1]) * size) for at in range(140)])))
    assert list(zip(batches.first.tolist(), batches.stop.tolist(), strict=True)) == [(0, 64), (64, 128), (128, 140)]
