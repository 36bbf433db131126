"""Several files are one capture in time order, whatever they are and however they overlap."""

import gzip
import random
import sys
from io import BytesIO, TextIOWrapper
from struct import pack

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.capture.reader import MOST_FRAMES, CaptureReader, expand
from analyzer.core.errors import InputError
from analyzer.core.frames import file_of, number_of
from tests.build.capture import T0, as_given, frames_of, pcap, pcapng, read


def test_rotated_files_are_read_in_time_order_whatever_order_they_are_named_in(tmp_path):
    frames = frames_of(900)
    for number, start in enumerate((600, 0, 300)):
        writer = pcapng if number % 2 else pcap
        (tmp_path / f"ring_{number}.pcap").write_bytes(writer(frames[start : start + 300]))
    found, problems, reader = read(str(tmp_path / "ring_*.pcap"))
    assert as_given(found) == frames
    assert not problems
    assert [name[-6] for name in reader.info.files] == ["1", "2", "0"]
    assert [(file_of(frame.frame), number_of(frame.frame)) for frame in found] == [
        (n // 300, n % 300 + 1) for n in range(900)
    ]


def test_overlapping_files_are_merged_by_time():
    frames = frames_of(5000)
    chosen = random.Random(3).choices(range(3), k=len(frames))
    sources = [BytesIO(pcapng([f for f, c in zip(frames, chosen, strict=True) if c == n])) for n in range(3)]
    found, _, reader = read(sources)
    assert as_given(found) == frames
    assert reader.info.frames == 5000


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.integers(0, 50), max_size=40), min_size=1, max_size=5), st.integers(1, 3))
def test_merging_keeps_each_files_order_and_places_frames_by_the_latest_time_before_them(files, block_frames):
    sources = [
        BytesIO(pcap([(T0 + time * 1000, bytes([number, place])) for place, time in enumerate(times)]))
        for number, times in enumerate(files)
    ]
    found, _, _ = read(sources, fast=False, block_bytes=18 * block_frames)
    seen = [tuple(frame.data) for frame in found]
    order = sorted(range(len(files)), key=lambda n: (not files[n], files[n][0] if files[n] else 0))
    expected = sorted(
        (
            (max(files[number][: place + 1]), rank, place, number)
            for rank, number in enumerate(order)
            for place in range(len(files[number]))
        ),
    )
    assert seen == [(number, place) for _, _, place, number in expected]
    by_id = {frame.frame: tuple(frame.data) for frame in found}
    assert len(by_id) == len(found)


def test_files_of_different_link_types_are_merged_into_blocks_of_one_type():
    frames = frames_of(100)
    sources = [BytesIO(pcap(frames[::2], network=1)), BytesIO(pcap(frames[1::2], network=101))]
    found, _, _ = read(sources)
    assert as_given(found) == frames
    assert [frame.link_type for frame in found] == [1, 101] * 50


def test_a_problem_of_one_file_does_not_stop_the_others():
    frames = frames_of(300)
    sources = [BytesIO(pcap(frames[:100])[:-3]), BytesIO(pcap(frames[100:200])), BytesIO(pcap([]))]
    found, problems, _ = read(sources)
    assert as_given(found) == frames[:99] + frames[100:200]
    assert [(problem.kind, problem.frames) for problem in problems] == [("truncated", (99,))]


def test_frame_ids_of_a_stream_name_its_place_among_the_files():
    frames = frames_of(60)
    found, _, _ = read([BytesIO(pcap(frames[30:])), BytesIO(pcapng(frames[:30]))])
    assert [(file_of(frame.frame), number_of(frame.frame)) for frame in found] == [
        *((0, n + 1) for n in range(30)),
        *((1, n + 1) for n in range(30)),
    ]


def test_standard_input_is_a_source(monkeypatch):
    frames = frames_of(20)
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(gzip.compress(pcap(frames)))))
    found, _, reader = read("-")
    assert as_given(found) == frames
    assert reader.info.files == ("-",)


def test_no_standard_input_is_refused(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(InputError, match="Standard input"):
        CaptureReader(["-"])


def test_expanding_names_each_file_once(tmp_path):
    for name in ("a.pcap", "b[1].pcap", "c.pcapng"):
        (tmp_path / name).write_bytes(pcap([]))
    (tmp_path / "d.pcap").mkdir()
    found = expand([str(tmp_path / "*.pcap"), tmp_path / "a.pcap", str(tmp_path / "b[1].pcap"), str(tmp_path / "c*")])
    assert [path.name for path in found] == ["a.pcap", "b[1].pcap", "c.pcapng"]


def test_what_stands_for_no_file_is_reported_where_others_do(tmp_path):
    (tmp_path / "a.pcap").write_bytes(pcap([]))
    good, nothing = tmp_path / "a.pcap", str(tmp_path / "no*.pcap")
    with pytest.raises(InputError, match="no file matches"):
        expand([good, nothing])
    failures = []
    assert expand([good, nothing], failures) == (good,)
    assert [str(failure).endswith("no*.pcap: no file matches.") for failure in failures] == [True]
    with pytest.raises(InputError, match="None of 2 files can be read"):
        expand([nothing, nothing], [])


def test_many_files_are_not_open_at_once(tmp_path):
    import resource

    frames = frames_of(300)
    for number in range(300):
        (tmp_path / f"{number:03}.pcap").write_bytes(pcap(frames[number : number + 1]))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(200, hard), hard))
    try:
        found, _, _ = read(str(tmp_path / "*.pcap"))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert as_given(found) == frames


def test_many_files_at_the_same_time_share_the_memory_of_one(tmp_path):
    frames = frames_of(6000, size=1400)
    for number in range(60):
        (tmp_path / f"{number:02}.pcap").write_bytes(pcap(frames[number::60]))
    reader = CaptureReader([str(tmp_path / "*.pcap")])
    blocks = list(reader)
    assert [time for block in blocks for time in block.times_ns.tolist()] == [time for time, _ in frames]


@pytest.mark.parametrize("packed", [False, True])
def test_records_without_data_come_in_blocks_of_bounded_length(tmp_path, packed):
    count = 2 * MOST_FRAMES + 5
    data = pcap([]) + pack("<IIII", 1, 2, 0, 0) * count
    path = tmp_path / "empty.pcap"
    path.write_bytes(gzip.compress(data) if packed else data)
    blocks = list(CaptureReader([path]))
    sizes = [len(block) for block in blocks]
    assert sum(sizes) == count
    assert len(sizes) == 3
    assert MOST_FRAMES >= max(sizes) <= min(sizes) + 1
    assert blocks[1].frames[0] == sizes[0] + 1
