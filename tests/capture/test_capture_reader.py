"""Several files are one capture in time order, whatever they are and however they overlap."""

import gzip
import os
import random
import sys
import threading
from hashlib import sha256
from io import BytesIO, TextIOWrapper
from itertools import accumulate
from pathlib import Path
from struct import pack
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.capture.capture_reader import (
    MOST_FRAMES,
    CaptureReader,
    ReadBound,
    named_captures,
    none_readable,
    unreadable,
)
from analyzer.capture.frame_blocks import Frame, FrameBlock
from analyzer.core.errors import InputError
from analyzer.core.events import Problem
from analyzer.core.frame_ids import file_of, frame_id, number_of
from analyzer.core.limits import Limits
from tests.build.capture import T0, Pcapng, as_given, frames_of, pcap, pcapng, read


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


@settings(max_examples=40)
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
    found = named_captures(
        [str(tmp_path / "*.pcap"), tmp_path / "a.pcap", str(tmp_path / "b[1].pcap"), str(tmp_path / "c*")]
    )
    assert [path.name for path in found] == ["a.pcap", "b[1].pcap", "c.pcapng"]


def test_what_stands_for_no_file_is_reported_where_others_do(tmp_path):
    (tmp_path / "a.pcap").write_bytes(pcap([]))
    good, nothing = tmp_path / "a.pcap", str(tmp_path / "no*.pcap")
    with pytest.raises(InputError, match="no file matches"):
        named_captures([good, nothing])
    failures = []
    assert named_captures([good, nothing], failures) == (good,)
    assert [str(failure).endswith("no*.pcap: no file matches.") for failure in failures] == [True]
    with pytest.raises(InputError, match="None of 2 files can be read"):
        named_captures([nothing, nothing], [])


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


# What a reader makes of its sources: how far it reads, what it says of them, and what becomes of those that cannot be read.

FRAMES = frames_of(30)


def numbers(items: list[Any]) -> list[int]:
    return [int(frame) for item in items if isinstance(item, FrameBlock) for frame in item.frames]


@pytest.mark.parametrize(
    ("bound", "count"),
    [
        (None, 30),
        (ReadBound(), 30),
        (ReadBound(frames=0), 0),
        (ReadBound(frames=1), 1),
        (ReadBound(frames=29), 29),
        (ReadBound(frames=30), 30),
        (ReadBound(frames=31), 30),
        # Behind the first frame by so many nanoseconds; a frame of that very time is within. Frames are 1 ms apart.
        (ReadBound(until=lambda first: first - 1), 0),
        (ReadBound(until=lambda first: first), 1),
        (ReadBound(until=lambda first: first + 999_999), 1),
        (ReadBound(until=lambda first: first + 1_000_000), 2),
        (ReadBound(until=lambda first: first + 29_000_000), 30),
        (ReadBound(until=lambda first: first + 28_999_999), 29),
        (ReadBound(frames=5, until=lambda first: first + 9_000_000), 5),
        (ReadBound(frames=20, until=lambda first: first + 9_000_000), 10),
    ],
)
@pytest.mark.parametrize("block_bytes", [6 << 20, 500])
def test_reading_ends_at_its_bound(bound: ReadBound | None, count: int, block_bytes: int) -> None:
    reader = CaptureReader([BytesIO(pcap(FRAMES))], bound=bound, block_bytes=block_bytes)
    items = list(reader)
    assert numbers(items) == list(range(1, count + 1))
    assert [
        as_given([item.frame(at)])[0] for item in items if isinstance(item, FrameBlock) for at in range(len(item))
    ] == (FRAMES[:count])
    assert reader.info.frames == count
    assert reader.info.bytes == sum(len(frame[1]) for frame in FRAMES[:count])
    times = [frame[0] for frame in FRAMES[:count]]
    assert (reader.info.first_time_ns, reader.info.last_time_ns) == ((times[0], times[-1]) if times else (None, None))
    assert reader._files[0].reader is None


def test_the_first_and_last_time_are_those_of_all_frames() -> None:
    times = [T0 + 5, T0 + 2, T0 + 9, T0 + 7]
    reader = CaptureReader([BytesIO(pcap([(time * 1, b"x" * 60) for time in times], magic=0xA1B23C4D))], block_bytes=80)
    assert len(numbers(list(reader))) == 4
    assert (reader.info.first_time_ns, reader.info.last_time_ns) == (T0 + 2, T0 + 9)


def test_a_pipe_is_read_as_its_bytes_come() -> None:
    """One frame, then another, and each is given out before the next is there."""
    out, into = os.pipe()
    data, begun = pcap(FRAMES), 24
    found: list[Frame] = []
    more = threading.Semaphore(0)
    # So many frames are there before the kind of the file is looked at, which takes 512 bytes.
    at_first = 10

    def write() -> None:
        at = 0
        for place, stop in enumerate(accumulate((16 + len(frame[1]) for frame in FRAMES), initial=begun)):
            os.write(into, data[at:stop])
            at = stop
            if place >= at_first:
                more.acquire(timeout=1)
        os.close(into)

    thread = threading.Thread(target=write)
    thread.start()
    with os.fdopen(out, "rb", buffering=0) as source:
        reader = CaptureReader([source], streaming=True)
        assert reader._files[0].is_live
        for item in reader:
            assert isinstance(item, FrameBlock)
            found += [item.frame(at) for at in range(len(item))]
            for _ in range(len(item)):
                more.release()
    thread.join()
    assert as_given(found) == FRAMES


@pytest.mark.parametrize(("streaming", "count", "is_live"), [(False, 1, False), (True, 1, True), (True, 2, False)])
def test_only_a_pipe_alone_is_live(streaming: bool, count: int, is_live: bool, tmp_path: Path) -> None:
    sources = [BytesIO(pcap(frames_of(3, start=T0 + at * 10**10))) for at in range(count)]
    reader = CaptureReader(sources, streaming=streaming)
    assert [file.is_live for file in reader._files] == [is_live] * count
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap(FRAMES))
    with_path = CaptureReader([path], streaming=True)
    assert not with_path._files[0].is_live
    assert len(numbers(list(with_path))) == 30


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0)])
def test_streams_have_the_ids_and_names_of_their_place(order: tuple[int, ...]) -> None:
    """They were looked at for their first frame before their place was known, and cannot be opened again."""
    made = [
        Pcapng()
        .section()
        .names([(f"192.0.2.{at}", f"host {at}")])
        .interface(resolution=9)
        .enhanced(T0 + at, b"x" * 20)
        .data
        + Pcapng().block(6, b"\5" + bytes(19)).data
        for at in range(3)
    ]
    reader = CaptureReader([BytesIO(made[at]) for at in order], hashing=True)
    items = list(reader)
    assert numbers(items) == [frame_id(0, 1), frame_id(1, 1), frame_id(2, 1)]
    assert dict(reader.info.names) == {f"192.0.2.{at}": f"host {at}" for at in range(3)}
    # A packet of an interface that is not described costs itself, and is named with its file.
    problems = [item.frames for item in items if isinstance(item, Problem)]
    assert sorted(problems) == [(frame_id(file, 2),) for file in range(3)]
    assert [digest.sha256 for digest in reader.digests] == [sha256(one).hexdigest() for one in made]


def test_files_that_begin_together_stay_in_their_order_and_empty_ones_come_last(tmp_path: Path) -> None:
    made = {
        "b": pcap(FRAMES[:2]),
        "empty": pcap([]),
        "a": pcap(FRAMES[:3]),
        "early": pcap(frames_of(1, start=T0 - 10**9)),
    }
    for name, data in made.items():
        (tmp_path / name).write_bytes(data)
    reader = CaptureReader([tmp_path / name for name in made])
    assert [Path(name).name for name in reader.info.files] == ["early", "b", "a", "empty"]
    assert numbers(list(reader)) == [
        *(frame_id(0, 1), frame_id(1, 1), frame_id(2, 1), frame_id(1, 2), frame_id(2, 2), frame_id(2, 3)),
    ]


def test_a_file_that_cannot_be_read_costs_no_other(tmp_path: Path) -> None:
    (tmp_path / "a.pcap").write_bytes(pcap(FRAMES))
    (tmp_path / "b.pcap").write_bytes(b"%PDF-1.4")
    frames, problems, reader = read([tmp_path / "a.pcap", tmp_path / "b.pcap"])
    assert as_given(frames) == FRAMES
    assert [(problem.kind, problem.layer, problem.frames) for problem in problems] == [("unreadable", "capture", ())]
    assert problems[0].text.startswith(f"{tmp_path}/b.pcap is not a capture: it looks like a PDF document.")
    assert reader.info.files == (f"{tmp_path}/a.pcap",)
    with pytest.raises(InputError, match="is not a capture"):
        CaptureReader([tmp_path / "b.pcap"])


def test_a_file_that_is_gone_when_its_time_comes_is_a_problem(tmp_path: Path) -> None:
    for name, start in (("a.pcap", T0), ("b.pcap", T0 + 10**12)):
        (tmp_path / name).write_bytes(pcap(frames_of(3, start=start)))
    reader = CaptureReader([tmp_path / "a.pcap", tmp_path / "b.pcap"])
    (tmp_path / "b.pcap").unlink()
    items = list(reader)
    assert numbers(items) == [1, 2, 3]
    assert [(item.kind, item.text) for item in items if isinstance(item, Problem)] == [
        (
            "unreadable",
            str(
                none_readable(
                    [
                        InputError(
                            f"{tmp_path}/b.pcap: there is no such file.",
                            hint="Check the path; quote it if it has spaces.",
                        )
                    ]
                )
            ),
        ),
    ]


def test_what_decompressors_may_not_take_is_a_limit_of_that_file(tmp_path: Path) -> None:
    for name in ("a.pcap.gz", "b.pcap.gz"):
        (tmp_path / name).write_bytes(gzip.compress(pcap(FRAMES)))
    frames, problems, _ = read([tmp_path / "a.pcap.gz", tmp_path / "b.pcap.gz"], limits=Limits(decompressors=1 << 19))
    assert len(frames) == 30
    assert [problem.kind for problem in problems] == ["limit", "unreadable"]
    assert problems[0].text == problems[1].text


def test_one_failure_is_what_it_is_and_several_are_counted() -> None:
    one, other = InputError("One.", hint="Do it."), InputError("Other.")
    assert none_readable([one]) is one
    both = none_readable([one, other])
    assert (str(both).startswith("None of 2 files can be read. One."), both.hint) == (True, "Do it.")
    assert unreadable(one) == Problem("unreadable", "capture", (), str(one))


def test_what_is_no_path_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No capture was named"):
        named_captures([])
    with pytest.raises(InputError, match="is no usable path"):
        named_captures(["a\0b"])
    with pytest.raises(InputError, match="is no usable path"):
        named_captures(["~nobody-of-this-name/a.pcap"])
    missing = tmp_path / "missing.pcap"
    assert named_captures([missing, str(missing)]) == (missing,)
    stream = BytesIO()
    assert named_captures([stream, stream]) == (stream,)


def test_a_position_is_known_after_a_file_is_closed(tmp_path: Path) -> None:
    data = gzip.compress(pcap(frames_of(2000)))
    (tmp_path / "a.pcap.gz").write_bytes(data)
    reader = CaptureReader([tmp_path / "a.pcap.gz"])
    assert 0 < reader.position <= len(data)
    list(reader)
    assert reader.position == len(data)
    assert CaptureReader([BytesIO(pcap([]))]).position == 24
