"""What is read beside the frames of a capture: secrets in front of its packets, its digest, names for what it is not."""

import hashlib
from io import SEEK_CUR, BytesIO, FileIO
from pathlib import Path
from struct import pack
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.capture.decompression import capture_in
from analyzer.capture.embedded_secrets import embedded_secrets
from analyzer.capture.file_digest import HashedFile, digest_of
from analyzer.capture.first_bytes import capture_format, foreign_capture, looks_like
from analyzer.capture.frame_blocks import HEAD_BEFORE, HEAD_LEN, Frame, heads_of, rows_at
from analyzer.results.analysis import FileDigest
from tests.build.capture import KUZNETZOV, T0, Pcapng, as_given, frames_of, pcap, pcapng, read
from tests.build.packet import block

OURS = 0x50435153
SECRET = b'{"a": 1}'


def secrets(order: str, kind: int, data: bytes, *, stated: int | None = None) -> bytes:
    """The content of a decryption secrets block."""
    return pack(order + "II", kind, len(data) if stated is None else stated) + data


@pytest.mark.parametrize("order", ["<", ">"])
def test_secrets_of_ours_in_front_of_the_packets_are_found(order: str) -> None:
    file = Pcapng(order).section().interface()
    file.block(10, secrets(order, OURS, SECRET)).block(10, secrets(order, 0x544C534B, b"tls")).block(0x99, b"more")
    file.block(10, secrets(order, OURS, b"[5]")).enhanced(1, b"a" * 60).block(10, secrets(order, OURS, b"late"))
    assert embedded_secrets(BytesIO(file.data)) == (SECRET, b"[5]")
    # Nothing of what was cut is taken: the block has to be there whole.
    whole = Pcapng(order).section().block(10, secrets(order, OURS, SECRET)).data
    assert embedded_secrets(BytesIO(whole)) == (SECRET,)
    assert embedded_secrets(BytesIO(whole[:-1])) == ()
    for carrier in (2, 3, 6):
        front = Pcapng(order).section().block(carrier, bytes(40)).block(10, secrets(order, OURS, SECRET))
        assert embedded_secrets(BytesIO(front.data)) == ()


@pytest.mark.parametrize(("stated", "is_found"), [(8, True), (5, True), (9, False), (1 << 31, False)])
def test_secrets_do_not_reach_out_of_their_block(stated: int, is_found: bool) -> None:
    file = Pcapng().section().block(10, secrets("<", OURS, SECRET, stated=stated)).block(0x99, bytes(40))
    assert embedded_secrets(BytesIO(file.data)) == ((SECRET[:stated],) if is_found else ())


def test_a_damaged_block_ends_the_search_for_secrets() -> None:
    front = Pcapng().section().data
    behind = Pcapng().block(10, secrets("<", OURS, SECRET)).data
    assert embedded_secrets(BytesIO(front + Pcapng().block(0x99, b"").data + behind)) == (SECRET,)
    assert embedded_secrets(BytesIO(front + pack("<II", 0x99, 11) + bytes(4) + behind)) == ()
    assert embedded_secrets(BytesIO(front + pack("<II", 0x99, 0) + bytes(4) + behind)) == ()
    long = 256 * 1024
    assert embedded_secrets(BytesIO(front + Pcapng().block(0x99, bytes(long - 200)).data + behind)) == (SECRET,)
    assert embedded_secrets(BytesIO(front + Pcapng().block(0x99, bytes(long)).data + behind)) == ()


def test_what_is_no_pcapng_file_has_no_secrets(tmp_path: Path) -> None:
    assert embedded_secrets(BytesIO(pcap(frames_of(2)))) == ()
    assert embedded_secrets(BytesIO(b"")) == ()
    assert embedded_secrets(tmp_path / "none") == ()
    (tmp_path / "x").write_bytes(Pcapng().section().block(10, secrets("<", OURS, SECRET)).data)
    assert embedded_secrets(tmp_path / "x") == (SECRET,)


# ----------------------------------------------------------------------------------------------------------- digests


def test_a_file_is_hashed_as_it_is_read_and_each_byte_once(tmp_path: Path) -> None:
    data = bytes(range(256)) * 10
    right = FileDigest("x", 2560, hashlib.sha256(data).hexdigest())
    assert HashedFile(BytesIO(data)).digest("x") == right
    file = HashedFile(BytesIO(data))
    assert file.seekable()
    assert file.read(100) == data[:100]
    file.seek(-30, SEEK_CUR)
    # Read again in two parts, of which the second goes on into what is new.
    assert file.read(10) == data[70:80]
    assert file.read1(50) == data[80:130]
    file.seek(-130, SEEK_CUR)
    file.seek(0, SEEK_CUR)
    assert file.read(130) == data[:130]
    assert file.read(0) == b""
    assert file.read(1) == data[130:131]
    assert file.digest("x") == right
    assert file.digest("x") == right
    file.close()
    assert HashedFile(BytesIO(b"")).digest("e") == FileDigest("e", 0, hashlib.sha256(b"").hexdigest())
    (tmp_path / "x").write_bytes(data)
    assert digest_of(tmp_path / "x") == FileDigest(str(tmp_path / "x"), 2560, right.sha256)
    assert digest_of(tmp_path / "none") == FileDigest(str(tmp_path / "none"), None, None)


def test_a_file_that_fails_in_its_middle_is_hashed_as_far_as_it_goes() -> None:
    class Failing(BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            data = super().read(5)
            if self.tell() > 10:
                raise OSError("bad sector")
            return data

    assert HashedFile(Failing(b"0123456789abcdef")).digest("x") == FileDigest(
        "x", 10, hashlib.sha256(b"0123456789").hexdigest()
    )


# ------------------------------------------------------------------------------------------------------------- names


@pytest.mark.parametrize(
    ("head", "words"),
    [
        (b"\0" * 257 + b"ustar", "no format we know"),
        (b"a" * 257 + b"ustar\0", "a tar archive"),
        (b"a" * 257 + b"ustar", "text"),
        (b"a" * 256 + b"ustar\0", "no format we know"),
        (b"mz\x90", "a Windows program"),
        (b"<HTML>", "an HTML page"),
        (b" [1, 2]", "JSON text"),
        (b"[\x01]", "text"),
        (b"[\x01\0]", "no format we know"),
        ("\u00fcber \u00fcber \u00fcber".encode(), "text"),
        ("\u00fcber \u00fcber \u00fcber\0".encode(), "no format we know"),
        ("\u00fcber \u00fcber \U0001f600".encode()[:-2], "text"),
        (b"\xfcber, in another alphabet", "no format we know"),
        (b"\t\r\n\f\x1b ~", "text"),
        (b"\x7f text", "text"),
    ],
)
def test_what_is_no_capture_is_named_by_its_first_bytes(head: bytes, words: str) -> None:
    assert looks_like(head) == words


@pytest.mark.parametrize("order", ["<", ">"])
def test_captures_are_told_from_those_of_other_programs(order: str) -> None:
    for magic in (0xA1B2C3D4, 0xA1B23C4D, 0xA1B2CD34):
        assert capture_format(pack(order + "I", magic) + bytes(20)) == "a pcap capture"
    assert capture_format(pcapng([], order=order)) == "a pcapng capture"
    assert capture_format(b"GMBU") == foreign_capture(b"GMBU") == "a Microsoft Network Monitor 2 capture"
    assert (capture_format(b"%PDF"), foreign_capture(pcap([])), capture_format(b"")) == (None, None, None)
    assert capture_in(pcapng([], order=order)) == "a pcapng capture"


# ------------------------------------------------------------------------------------------------------------ frames


def test_frames_of_a_block_are_taken_with_their_bytes() -> None:
    made = block([b"first", (b"second", 900), b"", b"4"], first=7, time_ns=T0)
    frames = [made.frame(at) for at in range(len(made))]
    assert frames == [
        Frame(7, T0, 1, b"first", 5),
        Frame(8, T0 + 1000, 1, b"second", 900),
        Frame(9, T0 + 2000, 1, b"", 0),
        Frame(10, T0 + 3000, 1, b"4", 1),
    ]
    for count in range(5):
        first = made.some(slice(count))
        assert [first.frame(at) for at in range(len(first))] == frames[:count]
        assert first.heads.tobytes() == made.heads[:count].tobytes()
    for chosen in ([], [0], [1, 3], [3, 1, 1]):
        only = made.only(np.array(chosen, np.int64))
        assert [only.frame(at) for at in range(len(only))] == [frames[at] for at in chosen]
        assert only.data == b"".join(frames[at].data for at in chosen)
        assert only.heads.tobytes() == made.heads[chosen].tobytes()
    assert frames[1].traced().frames == (8,)
    assert frames[1].traced().times == (T0 + 1000, T0 + 1000)


@pytest.mark.parametrize("size", [1, 3, 8])
def test_bytes_at_some_places_are_zero_where_there_are_none(size: int) -> None:
    for length in (0, 1, 2, 7, 8, 9, 20):
        data = bytes(range(1, length + 1))
        around = bytes(12) + data + bytes(40)
        for places in (
            [],
            [-9],
            [-9, -1, 0],
            [0],
            [length - size],
            list(range(-10, length + 12)),
            [length, length + 3],
        ):
            rows = rows_at(data, np.array(sorted(places), np.int64), size)
            assert [row.tobytes() for row in rows] == [around[at + 12 :][:size] for at in sorted(places)]


def test_of_two_headers_the_one_that_fits_sixteen_records_is_taken() -> None:
    """All is zero in records of 28 bytes, but for one word, which stands where the tenth header of 24 bytes has its length."""
    records = bytearray(20 * 28)
    records[8 * 28 + 24 : 9 * 28] = pack("<I", 1 << 31)
    frames, problems, _ = read(BytesIO(pcap([], magic=KUZNETZOV) + bytes(records)))
    assert (as_given(frames), problems) == ([(0, b"")] * 20, [])


# What is read of each frame is what stands there, and zero where the data does not reach.


@given(st.binary(max_size=300), st.lists(st.integers(0, 300), max_size=12))
def test_heads_are_the_bytes_around_each_start(data: bytes, places: list[int]) -> None:
    starts = np.array(sorted(min(place, len(data)) for place in places), np.int64)
    around = bytes(HEAD_BEFORE) + data + bytes(HEAD_LEN)
    heads = heads_of(data, starts)
    assert [head.tobytes() for head in heads] == [around[start : start + HEAD_LEN] for start in starts.tolist()]


def test_a_file_that_cannot_be_read_to_its_end_has_no_digest_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"0123456789")
    assert digest_of(path) == FileDigest(str(path), 10, hashlib.sha256(b"0123456789").hexdigest())

    class Ends(FileIO):
        def readinto(self, buffer: Any) -> int:
            raise OSError(5, "Input/output error")

    monkeypatch.setattr(Path, "open", lambda path, mode, buffering: Ends(path))
    assert digest_of(path) == FileDigest(str(path), None, None)
