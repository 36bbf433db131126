"""Which frames a slice is made of, message by message."""

from __future__ import annotations

import pytest

from analyzer.core.traced import TracedBytes
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
def test_smb1_requests_differ_by_process_and_multiplex_id(needed: int, expected: set[int]) -> None:
    """[MS-CIFS] 2.2.3.1: PIDLow and MID together name a request, all bits of both."""
    sent: list[tuple[Direction, bytes]] = [(0, smb1(0x2E, b"", pid=pid, mid=5)) for pid in (0x0101, 0x0201)]
    sent += [(1, smb1(0x2E, b"", response=True, pid=pid, mid=5)) for pid in (0x0101, 0x0201)]
    assert frames_for(needed, *sent) == expected


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
