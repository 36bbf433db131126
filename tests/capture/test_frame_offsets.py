"""Offsets of frames in a file, against the frames that the reader gives of it."""

import struct
from pathlib import Path

import pytest

from analyzer.capture.frame_offsets import frame_offsets
from tests.build.capture import IXIA_HW, KUZNETZOV, MICRO, NANO, T0, Pcapng, frames_of, pcap, read

FRAMES = frames_of(20)
A = b"frame of sixteen"


def checked(path: Path, data: bytes) -> list[int]:
    """The numbers of the frames, each of which stands in the file where it is said to."""
    path.write_bytes(data)
    frames, problems, _ = read(path)
    assert {problem.kind for problem in problems} <= {"note"}
    offsets = frame_offsets(path, [frame.frame for frame in frames])
    assert {frame.frame: data[offsets[frame.frame] :][: len(frame.data)] for frame in frames} == {
        frame.frame: frame.data for frame in frames
    }
    assert frame_offsets(path, [frames[-1].frame, 99]) == {frames[-1].frame: offsets[frames[-1].frame]}
    return list(offsets)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("magic", [MICRO, NANO])
def test_records_of_pcap_follow_each_other(order: str, magic: int, tmp_path: Path) -> None:
    assert checked(tmp_path / "a.pcap", pcap(FRAMES, order=order, magic=magic)) == list(range(1, 21))


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("version", [(2, 2), (2, 3), (1, 2)])
def test_only_versions_before_2_3_have_their_lengths_the_other_way_round(
    order: str, version: tuple[int, int], tmp_path: Path
) -> None:
    record = struct.pack(f"{order}IIII", T0 // 10**9, 0, *((100, 4) if version == (2, 2) else (4, 100))) + b"abcd"
    assert checked(tmp_path / "a.pcap", pcap([], order=order, version=version) + record * 3) == [1, 2, 3]


@pytest.mark.parametrize("order", ["<", ">"])
def test_numbers_of_pcapng_are_those_of_the_reader(order: str, tmp_path: Path) -> None:
    """Wireshark numbers journal entries and custom blocks too, which are no frames."""
    file = Pcapng(order).section().interface().enhanced(1, A).names([("192.0.2.1", "name")])
    file.block(9, bytes(24)).simple(b"abc").obsolete(2, A + b"!").block(0xBAD, bytes(8)).enhanced(3, A)
    file.section(">" if order == "<" else "<").interface().enhanced(4, b"in another byte order")
    assert checked(tmp_path / "a.pcapng", file.data) == [1, 3, 4, 6, 7]
    assert frame_offsets(tmp_path / "a.pcapng", [2, 5]) == {}


@pytest.mark.parametrize("cut", [1, 15, 70, 75])
def test_what_is_cut_or_of_another_kind_ends_quietly(cut: int, tmp_path: Path) -> None:
    whole = pcap(FRAMES[:2])
    (tmp_path / "a.pcap").write_bytes(whole[:-cut])
    assert list(frame_offsets(tmp_path / "a.pcap", [1, 2])) == ([1, 2] if cut < 76 - 16 else [1])
    for number, data in enumerate(
        (b"", b"\xd4\xc3\xb2\xa1", pcap(FRAMES, magic=KUZNETZOV), pcap(FRAMES, magic=IXIA_HW))
    ):
        (tmp_path / f"{number}").write_bytes(data)
        assert frame_offsets(tmp_path / f"{number}", [1]) == {}
    stuck = Pcapng().section().data + struct.pack("<III", 5, 11, 0) + Pcapng().enhanced(1, A).data
    (tmp_path / "stuck").write_bytes(stuck)
    assert frame_offsets(tmp_path / "stuck", [1]) == {}
    with pytest.raises(FileNotFoundError):
        frame_offsets(tmp_path / "not there", [1])
    assert frame_offsets(tmp_path / "not there", []) == {}
