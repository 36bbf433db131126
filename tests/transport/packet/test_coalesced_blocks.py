"""Few frames of a block wait for those of the next, and are the same segments then."""

from collections.abc import Callable

import pytest

from analyzer.capture.frame_blocks import FrameBlock
from analyzer.transport.packet import block_dissector as dissector_module
from analyzer.transport.packet.block_dissector import ENOUGH_BYTES, ENOUGH_FRAMES, FEW_FRAMES
from tests.build.packet import T0, block, both, ethernet, ipv4, rpc, smb2, tcp

ETHERNET, RAW_IP = 1, 101


def blocks(
    count: int, each: int, frame: Callable[[int], bytes], *, link_type: Callable[[int], int] = lambda number: ETHERNET
) -> list[FrameBlock]:
    """So many blocks of so many frames each; frame and link type by number."""
    return [
        block(
            [frame(number * each + at) for at in range(each)],
            link_type=link_type(number),
            first=1 + number * each,
            time_ns=T0 + number * 10**9,
        )
        for number in range(count)
    ]


def segment(number: int, *, port: int = 445, size: int = 10) -> bytes:
    data = smb2(bytes(size)) if number % 2 else b""
    return ipv4(tcp(data, sport=50000, dport=port, seq=number * 2000))


@pytest.fixture
def sizes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Of how many frames the columns were made, one number each time."""
    found: list[int] = []
    made = dissector_module.columns_of

    def counted(*given: object) -> object:
        columns = made(*given)
        found.append(len(columns))
        return columns

    monkeypatch.setattr(dissector_module, "columns_of", counted)
    return found


def test_few_frames_of_many_blocks_are_looked_at_together(sizes: list[int]) -> None:
    segments, _ = both(blocks(12, 20, lambda number: ethernet(segment(number))))
    assert len(segments) == 240
    assert sizes == [240]


def test_frames_of_another_link_type_do_not_wait_with_them(sizes: list[int]) -> None:
    def link_type(number: int) -> int:
        return RAW_IP if number // 2 % 2 else ETHERNET

    def frame(number: int) -> bytes:
        whole = segment(number)
        return whole if link_type(number // 20) == RAW_IP else ethernet(whole)

    segments, _ = both(blocks(8, 20, frame, link_type=link_type))
    assert len(segments) == 160
    assert sizes == [40, 40, 40, 40]


def test_no_more_wait_than_are_worth_it(sizes: list[int]) -> None:
    both(blocks(12, 512, lambda number: ethernet(segment(number))))
    assert max(sizes) <= ENOUGH_FRAMES + FEW_FRAMES
    sizes.clear()
    both(blocks(90, 20, lambda number: ethernet(segment(number, size=1300))))
    assert max(sizes) * 700 < 2 * ENOUGH_BYTES
    assert len(sizes) > 1


def test_many_frames_do_not_wait(sizes: list[int]) -> None:
    both(blocks(3, FEW_FRAMES, lambda number: ethernet(segment(number))))
    assert sizes == [FEW_FRAMES] * 3


def test_frames_of_flows_known_by_what_they_say_do_not_wait(sizes: list[int]) -> None:
    def frame(number: int) -> bytes:
        data = rpc(bytes(30)) if number % 3 else b""
        return ethernet(ipv4(tcp(data, sport=50000, dport=49152, seq=number * 100)))

    segments, _ = both(blocks(4, 20, frame))
    assert len(segments) == 80
    assert sizes == [20] * 4
