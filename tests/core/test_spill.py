"""What lies in a log is what was appended, wherever it lies."""

import os
import pickle
from typing import IO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.core.spill import Log, LoggedBytes, LoggedParts
from analyzer.core.traced import Extent, FrameSource, TracedBytes

SEGMENT = 1 << 18


class Disk:
    """The temporary file of a log, in memory: a full disk fails no test. Other threads in files of theirs are not counted."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.read: list[int] = []
        self.written: list[int] = []
        self._own: set[int] = set()
        pread, pwrite = os.pread, os.pwrite

        def made(buffering: int) -> IO[bytes]:
            file = os.fdopen(os.memfd_create("spill"), "rb+", buffering)
            self._own.add(file.fileno())
            return file

        def reads(file: int, length: int, at: int) -> bytes:
            if file in self._own:
                self.read.append(length)
            return pread(file, length, at)

        def writes(file: int, data: bytes, at: int) -> int:
            if file in self._own:
                self.written.append(len(data))
            return pwrite(file, data, at)

        monkeypatch.setattr("tempfile.TemporaryFile", made)
        monkeypatch.setattr(os, "pread", reads)
        monkeypatch.setattr(os, "pwrite", writes)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


@given(
    st.lists(st.tuples(st.binary(max_size=20), st.sampled_from([1, 1, 1, 9000, 20_000])), max_size=12),
    st.integers(0, 600_000),
    st.data(),
)
def test_what_was_appended_is_read_back_wherever_it_lies(
    contents: list[tuple[bytes, int]], room: int, draw: st.DataObject
) -> None:
    log = Log(room)
    appended = [data * times for data, times in contents]
    places = [log.append(data) for data in appended]
    source = FrameSource(1, 10, 1000)
    for place, data in zip(places, appended, strict=True):
        held, plain = LoggedBytes(log, place, len(data), source, 5, ("step",)), TracedBytes(data, source, 5, ("step",))
        start = draw.draw(st.integers(0, len(data)))
        stop = draw.draw(st.integers(0, len(data)))
        assert held == plain
        assert held.part(start, stop) == held.view(start, stop).part(0, len(data)) == data[start:stop]
        assert held[start:stop] == plain[start:stop]
        assert pickle.loads(pickle.dumps(held)) == plain
        assert (len(held), held.steps, held.frames) == (len(data), plain.steps, plain.frames)


def test_what_is_beyond_the_room_leaves_memory(disk: Disk) -> None:
    log = Log(2 * SEGMENT)
    for _ in range(5):
        log.append(b"a" * (SEGMENT // 2))
        log.append(b"b" * (SEGMENT // 2))
    assert disk.written == [SEGMENT] * 3
    log.append(b"c" * 3 * SEGMENT)
    assert disk.written == [*[SEGMENT] * 3, 3 * SEGMENT]


def test_a_part_of_a_long_entry_is_read_alone(disk: Disk) -> None:
    log = Log(0)
    place = log.append(b"0123456789" * SEGMENT)
    held = LoggedBytes(log, place, 10 * SEGMENT, FrameSource(1, 0, 0))
    assert held.view(1_000_000, 1_000_020).part(5, 10) == b"56789"
    assert disk.read == [5]


def test_bytes_stay_in_memory_where_no_file_can_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError("no room")

    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    log = Log(0)
    place = log.append(b"x" * 2 * SEGMENT)
    assert log.read(place, 2 * SEGMENT) == b"x" * 2 * SEGMENT
    monkeypatch.undo()
    monkeypatch.setattr(os, "pwrite", refuse)
    place = log.append(b"y" * 2 * SEGMENT)
    assert log.read(place + 1, 5) == b"y" * 5


@given(st.lists(st.integers(0, 3 * SEGMENT // 2), min_size=1, max_size=6), st.integers(0, 2 * SEGMENT), st.data())
def test_what_was_appended_in_parts_is_read_at_once(lengths: list[int], room: int, draw: st.DataObject) -> None:
    log = Log(room)
    stated = b"".join(bytes([number]) * length for number, length in enumerate(lengths))
    for number, length in enumerate(lengths):
        log.append(bytes([number]) * length)
    start = draw.draw(st.integers(0, len(stated)))
    stop = draw.draw(st.integers(start, len(stated)))
    assert log.read(start, stop - start) == stated[start:stop]
    turned = LoggedParts(log, [(stop, len(stated) - stop), (start, stop - start)], FrameSource(1, 0, 0), 0)
    swapped = stated[stop:] + stated[start:stop]
    assert turned.data == swapped
    assert turned.part(1, len(swapped) - 1) == swapped[1:-1]
    assert b"".join(log.pieces()) == stated


def test_long_entries_that_follow_each_other_are_read_at_once(disk: Disk) -> None:
    log = Log(0)
    for _ in range(3):
        log.append(b"a" * SEGMENT)
    assert log.read(5, 2 * SEGMENT) == b"a" * 2 * SEGMENT
    assert disk.read == [2 * SEGMENT]


def test_logged_bytes_lie_at_the_beginning_of_their_source_unless_it_is_said_otherwise() -> None:
    log = Log(100)
    position = log.append(b"abcdef")
    source = FrameSource(3, 40, 7000)
    assert LoggedBytes(log, position, 6, source).origin(0, 6) == (Extent(3, 40, 6),)
    assert LoggedBytes(log, position + 2, 4, source, 2).origin(0, 4) == (Extent(3, 42, 4),)
    assert LoggedBytes(log, position + 2, 4, source, 2, ("unseal",)).steps == ("unseal",)
