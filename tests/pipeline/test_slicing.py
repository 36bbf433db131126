"""Which frames a slice is made of, message by message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from analyzer.core.traced import TracedBytes
from analyzer.model.record import Endpoint
from analyzer.packet.segment import ACK, FIN, PSH, RST, SYN, Segment, SegmentBatch
from analyzer.pipeline import slicing
from analyzer.pipeline.slicing import _Needs, _Packets
from analyzer.smb.framing import Message
from analyzer.tcp.events import Connection, Direction
from tests.build.smb import CLIENT, PENDING, READ, SERVER, smb1, smb2

CONNECTION = Connection(0, CLIENT, SERVER, True)


def frames_for(needed: int, *sent: tuple[Direction, bytes]) -> set[int]:
    """The frames that come with one of these messages, which lie in frames 1, 2, ..."""
    packets = _Packets(_Needs({needed}, set(), set(), set()))
    for number, (direction, data) in enumerate(sent, 1):
        message = Message.of(TracedBytes.of_frame(data, number, 54, number))
        packets.take_message(CONNECTION, direction, message, message)
    return packets.frames()


@pytest.mark.parametrize(("needed", "expected"), [(1, {1, 3}), (4, {2, 4})])
@pytest.mark.parametrize("other", [0x0102, 0x0201])
def test_smb1_requests_differ_by_process_and_multiplex_id(needed: int, expected: set[int], other: int) -> None:
    """[MS-CIFS] 2.2.3.1: PIDLow and MID together name a request, all bits of both."""
    sent: list[tuple[Direction, bytes]] = [(0, smb1(0x2E, b"", pid=pid, mid=5)) for pid in (0x0101, other)]
    sent += [(1, smb1(0x2E, b"", response=True, pid=pid, mid=5)) for pid in (0x0101, other)]
    assert frames_for(needed, *sent) == expected


@pytest.mark.parametrize("other", [0x0106, 0x0205])
def test_smb1_requests_of_one_process_differ_by_all_of_their_multiplex_id(other: int) -> None:
    """What follows the header is no part of it: a response has another number of words than its request."""
    sent: list[tuple[Direction, bytes]] = [(0, smb1(0x2E, b"\x0c" + bytes(26), mid=mid)) for mid in (0x0105, other)]
    sent += [(1, smb1(0x2E, b"\x01" + bytes(4), response=True, mid=mid)) for mid in (0x0105, other)]
    assert frames_for(1, *sent) == {1, 3}
    assert frames_for(4, *sent) == {2, 4}


def test_smb1_transactions_go_on_in_messages_of_both_sides() -> None:
    """[MS-CIFS] 2.2.4.34: a secondary request belongs to the first, and so does every response."""
    both = [(0, smb1(0x25, b"")), (0, smb1(0x26, b"")), (1, smb1(0x25, b"", response=True))]
    sent: list[tuple[Direction, bytes]] = [*both, (1, smb1(0x25, b"", response=True)), (0, smb1(0x25, b""))]  # type: ignore[list-item]
    assert frames_for(2, *sent) == {1, 2, 3, 4}


def test_an_interim_response_is_not_the_last() -> None:
    """[MS-SMB2] 3.3.4.2: the final response has the same MessageId, and another READ with it is another exchange."""
    sent: list[tuple[Direction, bytes]] = [
        (0, smb2(READ, bytes(48), 7)),
        (1, smb2(READ, bytes(8), 7, response=True, status=PENDING, async_id=1)),
        (1, smb2(READ, bytes(16), 7, response=True, async_id=1)),
        (1, smb2(READ, bytes(16), 7, response=True)),
    ]
    assert frames_for(1, *sent) == {1, 2, 3}


@pytest.mark.parametrize("head", [b"\xffSMB\x2e", b"\xfeSMB" + bytes(30)])
def test_a_message_cut_in_its_header_is_no_exchange(head: bytes) -> None:
    assert frames_for(9, (0, head)) == {9}


# ---------------------------------------------------------------------------------- what belongs to the messages

KDC = Endpoint("10.0.0.53", 88)
OTHER = Endpoint("10.0.0.2", 50000)
STRANGER = Endpoint("192.0.2.9", 50000)


def a_frame(number: int, src: Endpoint, dst: Endpoint, flags: int = ACK, data: bytes = b"x") -> SegmentBatch:
    payload = TracedBytes.of_frame(data, number, 54, number)
    return SegmentBatch.of(Segment(src, dst, 1, 1, flags, 512, payload, 0, number, number))


def taken(
    needs: _Needs, segments: list[SegmentBatch], messages: Sequence[tuple[Connection, int, Direction, bytes]] = ()
) -> set[int]:
    packets = _Packets(needs)
    for segment in segments:
        packets.take_segments(segment)
    for connection, frame, direction, data in messages:
        message = Message.of(TracedBytes.of_frame(data, frame, 54, frame))
        packets.take_message(connection, direction, message, message)
    return packets.frames()


def needs_of(**changes: Any) -> _Needs:
    given = {"frames": {2}, "ends": {frozenset((CLIENT, SERVER))}, "hosts": {frozenset((CLIENT.ip, SERVER.ip))}}
    return _Needs(**(given | {"sessions": {0x1D}} | changes))


@pytest.mark.parametrize("flags", [SYN, FIN | ACK, RST, SYN | ACK])
def test_of_a_connection_with_calls_its_beginning_and_end_are_taken(flags: int) -> None:
    sent = [a_frame(1, CLIENT, SERVER, flags), a_frame(2, CLIENT, SERVER), a_frame(3, SERVER, CLIENT, ACK | PSH)]
    assert taken(needs_of(), sent) == {1, 2}
    # Other connections of the same hosts, and those of others, are not of it.
    beside = [
        a_frame(5, OTHER, SERVER, flags),
        a_frame(6, STRANGER, SERVER, flags),
        a_frame(7, SERVER, STRANGER, flags),
    ]
    assert taken(needs_of(), [*sent, *beside]) == {1, 2}


def test_a_connection_that_is_needed_whole_is_taken_whole() -> None:
    sent = [a_frame(number, CLIENT, SERVER, SYN if number == 1 else ACK) for number in (1, 2, 3, 4)]
    other = [a_frame(number, OTHER, SERVER) for number in (7, 8)]
    assert taken(needs_of(whole={frozenset((CLIENT, SERVER))}), [*sent, *other]) == {1, 2, 3, 4}
    assert taken(needs_of(whole={frozenset((OTHER, SERVER))}), [*sent, *other]) == {1, 2, 7, 8}


def test_of_a_kdc_the_connection_that_issued_a_ticket_is_taken_whole() -> None:
    """The reply alone is needed; what is asked of a KDC in other connections is not."""
    asked = [a_frame(1, STRANGER, KDC, SYN), a_frame(2, KDC, STRANGER), a_frame(3, STRANGER, KDC)]
    beside = [a_frame(4, OTHER, KDC, SYN), a_frame(5, KDC, OTHER)]
    assert taken(needs_of(), [*asked, *beside]) == {1, 2, 3}
    assert taken(needs_of(frames={9}), [*asked, *beside]) == {9}


SETUP = Connection(1, CLIENT, SERVER, True)
SAME_HOSTS = Connection(2, OTHER, SERVER, True)
ELSEWHERE = Connection(3, STRANGER, SERVER, True)


def of_session(command: int, message_id: int, session: int, *, response: bool = False) -> bytes:
    return smb2(command, bytes(8), message_id, response=response, session=session)


@pytest.mark.parametrize(
    ("connection", "session", "is_taken"),
    [
        (SETUP, 0x1D, True),
        # The connection of the calls is set up whatever session it is of.
        (SETUP, 0x99, True),
        # Another channel of the session between the same hosts; a session of another, and no session.
        (SAME_HOSTS, 0x1D, True),
        (SAME_HOSTS, 0x99, False),
        (SAME_HOSTS, 0, False),
        # A number that another client's session has by chance.
        (ELSEWHERE, 0x1D, False),
    ],
)
def test_setups_of_connections_that_share_a_session_are_taken(
    connection: Connection, session: int, is_taken: bool
) -> None:
    """NEGOTIATE, SESSION_SETUP, TREE_CONNECT and CREATE with their answers, but no READ."""
    sent = [
        (
            connection,
            10 + number * 2 + direction,
            direction,
            of_session(command, number, session, response=direction == 1),
        )
        for number, command in enumerate((0, 1, 3, 5, 8), 1)
        for direction in (0, 1)
    ]
    expected = set(range(12, 20)) if is_taken else set()
    assert taken(needs_of(sessions={0x1D, 0}), [], sent) == {2} | expected  # type: ignore[arg-type]


@pytest.mark.parametrize("command", [0x72, 0x73, 0x75, 0xA2, 0x2D])
def test_setups_of_smb1_are_taken(command: int) -> None:
    """NEGOTIATE, SESSION_SETUP_ANDX, TREE_CONNECT_ANDX, NT_CREATE_ANDX and OPEN_ANDX ([MS-CIFS] section 2.2.2.1)."""
    sent = [(SETUP, 11, 0, smb1(command, b"")), (SETUP, 12, 1, smb1(command, b"", response=True))]
    assert taken(needs_of(), [], sent) == {2, 11, 12}  # type: ignore[arg-type]
    sent = [(SETUP, 11, 0, smb1(0x2E, b"")), (SETUP, 12, 1, smb1(0x2E, b"", response=True))]
    assert taken(needs_of(), [], sent) == {2}  # type: ignore[arg-type]


def test_a_slice_is_read_piece_by_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slicing, "_PIECE", 10)
    made = slicing.Slice()
    for part in (b"12345", b"67890", b"abcdefghijklm", b"rest"):
        assert made.write(part) == len(part)
    assert list(made.pieces()) == [b"1234567890", b"abcdefghijklm", b"rest"]
    reader = made.reader()
    assert [(reader.read(size), reader.tell()) for size in (3, 8, 100, 5)] == [
        (b"123", 3),
        (b"4567890a", 11),
        (b"bcdefghijklmrest", 27),
        (b"", 27),
    ]
