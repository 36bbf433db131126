"""What lies in a log is what was appended, wherever it lies."""

import os
import pickle
from typing import IO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.core.byte_log import Log, ReadLog, SpillFile
from analyzer.core.byte_origins import NOWHERE, FrameExtent, FrameTable
from analyzer.core.traced_bytes import StoredBytes, TracedBytes

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
    places = []
    for (data, times), whole in zip(contents, appended, strict=True):
        places.append(log.extend([data] * times, len(whole)) if times > 1 else log.append(whole))
        assert log.read(places[-1], len(whole)) == whole
    source = FrameTable.of_one(1 << 30, 1, 10, 1000)
    for place, data in zip(places, appended, strict=True):
        held, plain = (
            StoredBytes.from_store(log, place, len(data), source, 5, ("step",)),
            TracedBytes(data, source, 5, ("step",)),
        )
        start = draw.draw(st.integers(0, len(data)))
        stop = draw.draw(st.integers(0, len(data)))
        assert held == plain
        assert held.part(start, stop) == held.view(start, stop).part(0, len(data)) == data[start:stop]
        assert held[start:stop] == plain[start:stop]
        assert pickle.loads(pickle.dumps(held)) == plain
        assert (len(held), held.steps, held.frames) == (len(data), plain.steps, plain.frames)


def test_a_part_of_a_long_entry_is_read_alone(disk: Disk) -> None:
    log = Log(0)
    place = log.append(b"0123456789" * SEGMENT)
    held = StoredBytes.from_store(log, place, 10 * SEGMENT, NOWHERE)
    assert held.view(1_000_000, 1_000_020).part(5, 10) == b"56789"
    assert held[1_000_003:1_000_007].data == b"3456"
    assert disk.read == [5, 4]


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
    source = NOWHERE
    places = [(stop, len(stated) - stop), (start, stop - start)]
    turned = TracedBytes.rejoined([StoredBytes.from_store(log, *place, source) for place in places])
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
    source = FrameTable.of_one(1 << 30, 3, 40, 7000)
    assert StoredBytes.from_store(log, position, 6, source).origin(0, 6) == (FrameExtent(3, 40, 6),)
    assert StoredBytes.from_store(log, position + 2, 4, source, 2).origin(0, 4) == (FrameExtent(3, 42, 4),)
    assert StoredBytes.from_store(log, position + 2, 4, source, 2, ("unseal",)).steps == ("unseal",)


@pytest.mark.parametrize("room", [0, SEGMENT - 1, SEGMENT, SEGMENT + 1, 4 * SEGMENT, 99 * SEGMENT])
def test_any_range_is_read_across_memory_file_and_what_is_not_yet_full(room: int, disk: Disk) -> None:
    """Short entries, one that fills a segment to its last byte, long ones alone and behind each other, and a rest."""
    log = Log(room)
    lengths = [100, SEGMENT - 100, SEGMENT, 2 * SEGMENT + 5, SEGMENT // 2, 3, SEGMENT + 1, 7, SEGMENT - 8, 50, 20]
    stated, borders = b"", [0]
    for number, length in enumerate(lengths):
        data = bytes((number * 37 + at * 11) % 251 for at in range(64)) * (length // 64 + 1)
        assert log.append(data[:length]) == len(stated)
        stated += data[:length]
        borders.append(len(stated))
    ends = sorted({border + step for border in borders for step in (-1, 0, 1) if 0 <= border + step <= len(stated)})
    for start in ends:
        for stop in (end for end in ends if start <= end <= start + 2 * SEGMENT):
            assert log.read(start, stop - start) == stated[start:stop]
    # What is asked for beyond the end is not there.
    for start in (len(stated) - SEGMENT, len(stated) - 1, len(stated), len(stated) + 5):
        assert log.read(start, 2 * SEGMENT) == stated[start:]
    pieces = list(log.pieces())
    assert b"".join(pieces) == stated
    assert all(pieces)
    # And all of it once more, now that the rest was written too.
    assert log.append(b"more") == len(stated)
    assert log.read(len(stated) - 2, 9) == stated[-2:] + b"more"


def test_a_segment_of_short_entries_is_read_once_for_many(disk: Disk) -> None:
    log = Log(0)
    places = [log.append(bytes([at]) * 1000) for at in range(250)]
    log.append(b"x" * SEGMENT)
    log.append(b"y" * 100)
    disk.read.clear()
    assert [log.read(place, 3) for place in places] == [bytes([at]) * 3 for at in range(250)]
    assert disk.read == [250_000]
    # Of what goes on in the next segment, only that is read.
    assert log.read(places[-1], 1010) == bytes([249]) * 1000 + b"x" * 10
    assert disk.read == [250_000, 10]


def test_pieces_of_a_log_are_no_longer_than_a_segment(disk: Disk) -> None:
    log = Log(0)
    log.append(b"a" * (2 * SEGMENT + 5))
    log.append(b"b" * SEGMENT)
    log.append(b"c" * 9)
    # The long entries lie behind each other, and are one.
    assert [len(piece) for piece in log.pieces()] == [SEGMENT, SEGMENT, SEGMENT, 5, 9]
    assert disk.read == [SEGMENT, SEGMENT, SEGMENT, 5, 9]


def test_a_disk_that_reads_and_writes_less_than_it_is_asked_for_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    pread, pwrite = os.pread, os.pwrite
    monkeypatch.setattr(os, "pread", lambda file, length, at: pread(file, min(length, 1000), at))
    monkeypatch.setattr(os, "pwrite", lambda file, data, at: pwrite(file, data[:777], at))
    file = SpillFile()
    data = bytes(range(256)) * 20
    assert [file.put(data), file.put(b"xyz"), file.put(b"")] == [0, 5120, 5123]
    assert file.read(0, 5120) == data
    assert file.read(100, 2000) == data[100:2100]
    assert file.read(5119, 4) == data[-1:] + b"xyz"
    with pytest.raises(OSError, match="shorter than what was written"):
        file.read(5120, 4)


def test_a_disk_that_is_full_takes_no_more_and_keeps_what_it_has(disk: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    file = SpillFile()
    assert file.put(b"kept") == 0

    def refuse(*_: object) -> int:
        raise OSError("full")

    with monkeypatch.context() as full:
        full.setattr(os, "pwrite", refuse)
        assert file.put(b"lost") is None
    assert file.put(b"later") == 4
    assert file.read(0, 9) == b"keptlater"


def test_a_system_without_reading_at_a_place_writes_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "pwrite")
    assert SpillFile().put(b"data") is None


def test_a_temporary_file_goes_with_the_last_that_holds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[IO[bytes]] = []

    def temporary(buffering: int) -> IO[bytes]:
        made.append(os.fdopen(os.memfd_create("spill"), "rb+", buffering))
        return made[-1]

    monkeypatch.setattr("tempfile.TemporaryFile", temporary)
    file = SpillFile()
    file.put(b"data")
    file.put(b"more")
    assert len(made) == 1
    assert not made[0].closed
    del file
    assert made[0].closed


def test_a_log_that_lies_elsewhere_is_only_read() -> None:
    class Source:
        size = 10

        def read(self, position: int, length: int) -> bytes:
            return b"0123456789"[position : position + length]

    log = ReadLog(Source())
    assert (log.read(2, 3), StoredBytes.from_store(log, 4, 5, NOWHERE).part(1, 3)) == (b"234", b"56")
    assert (log.end, b"".join(log.pieces())) == (10, b"0123456789")
    with pytest.raises(TypeError):
        log.append(b"x")
