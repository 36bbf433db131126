"""Compression is recognised by content, unwrapped in small steps, and damage in it costs only what follows."""

import bz2
import gzip
import lzma
import zlib
from io import BytesIO

import lz4.frame
import pytest
import zstandard

from analyzer.capture.capture_reader import CaptureReader
from analyzer.capture.decompression import DecompressorMemory, open_stream
from analyzer.capture.frame_blocks import FrameBlock
from analyzer.core.errors import InputError
from analyzer.core.events import Problem
from analyzer.core.limits import Limits
from tests.build.capture import as_given, frames_of, pcap, pcapng, read

FRAMES = frames_of(2000)
COMPRESSORS = {
    "gzip": gzip.compress,
    "zstd": zstandard.ZstdCompressor().compress,
    "lz4": lz4.frame.compress,
    "xz": lzma.compress,
    "bzip2": bz2.compress,
}


@pytest.mark.parametrize("kind", COMPRESSORS)
@pytest.mark.parametrize("write", [pcap, pcapng])
def test_every_compression_gives_the_same_frames(kind, write, tmp_path):
    path = tmp_path / "misleading.pdf"
    path.write_bytes(COMPRESSORS[kind](write(FRAMES)))
    frames, problems, _ = read(path)
    assert as_given(frames) == FRAMES
    assert not problems


@pytest.mark.parametrize("kind", COMPRESSORS)
def test_a_cut_archive_gives_the_frames_before_the_cut_and_a_problem(kind):
    compress = COMPRESSORS[kind]
    given = frames_of(10_000, size=90)
    data = pcap(given)
    frames, problems, _ = read(BytesIO(compress(data[:600_000]) + compress(data[600_000:])[:20]))
    assert len(frames) > 3000
    assert as_given(frames) == given[: len(frames)]
    assert [problem.kind for problem in problems] == ["truncated"]


def test_damage_inside_an_archive_is_a_problem():
    packed = bytearray(gzip.compress(pcap(frames_of(20_000)), 1))
    packed[len(packed) // 2 : len(packed) // 2 + 40] = b"\xff" * 40
    frames, problems, _ = read(BytesIO(bytes(packed)))
    assert as_given(frames)[:5000] == frames_of(5000)
    assert [problem.kind for problem in problems] in (["malformed"], ["truncated"])


def test_an_enormous_archive_is_read_in_small_steps(monkeypatch):
    # 1 GiB of zeros behind a capture whose first record is impossible: reading stops before it is unpacked.
    packer = zlib.compressobj(wbits=31)
    packed = packer.compress(pcap(FRAMES) + b"\xff" * 16)
    for _ in range(64):
        packed += packer.compress(bytes(1 << 20))
    frames, problems, _ = read(BytesIO(packed + packer.flush()))
    assert len(frames) == len(FRAMES)
    assert [problem.kind for problem in problems] == ["malformed"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"%PDF-1.7 ...", "a PDF document"),
        (b"PK\x03\x04" + bytes(20), "a ZIP archive"),
        (b"\x89PNG\r\n\x1a\n" + bytes(20), "a PNG picture"),
        (b"\x7fELF" + bytes(20), "an ELF program"),
        (b"Time,Source,Destination\n", "text"),
        (b'{"frames": []}', "JSON text"),
        ("Größe der Aufzeichnung: drei\n".encode(), "text"),
        (bytes(600), "nothing but zero bytes"),
        (b"\x93\x11\xfe" * 50, "no format we know"),
        (gzip.compress(b"hello there\n", mtime=0), "gzip of text"),
        (gzip.compress(b"", mtime=0), "gzip of nothing"),
        (bz2.compress(gzip.compress(b"%PDF-", mtime=0)), "bzip2 of gzip of a PDF"),
        (b"GMBU" + bytes(60), "Network Monitor"),
        (b"\x1f\x8b", "cannot be read"),
        (b"\x0a\x0d\x0d\x0a", "damaged section header"),
    ],
)
def test_what_is_no_capture_is_refused_with_one_sentence(content, words, tmp_path):
    path = tmp_path / "capture.pcap"
    path.write_bytes(content)
    with pytest.raises(InputError, match=words) as caught:
        CaptureReader([path])
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.hint


@pytest.mark.parametrize(("name", "compress"), [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress)])
def test_members_without_bytes_are_passed_over_however_many(tmp_path, name, compress):
    path = tmp_path / f"many.{name}"
    path.write_bytes(compress(b"first") + compress(b"") * 1500 + compress(b"last"))
    stream, _ = open_stream(path, "many")
    assert stream.read(100) == b"firstlast"
    assert stream.damage is None
    stream.close()


@pytest.mark.parametrize("name", COMPRESSORS)
def test_a_file_that_becomes_out_of_proportion_is_read_no_further(tmp_path, name):
    frame = pcap([(0, bytes(60_000))])[24:]
    path = tmp_path / "bomb"
    path.write_bytes(COMPRESSORS[name](pcap([]) + frame * 200))
    limits = Limits(decompressed_ratio=2, decompressed_free=1 << 20)
    size = path.stat().st_size
    found = list(CaptureReader([path], limits=limits))
    assert 10 < sum(len(item) for item in found if isinstance(item, FrameBlock)) <= ((1 << 20) + 2 * size) // 60_000
    (problem,) = (item for item in found if isinstance(item, Problem))
    assert problem.kind == "limit"
    assert "--max-ratio" in problem.text
    assert len(list(CaptureReader([path], limits=Limits(decompressed_ratio=100_000)))) >= 1


def zstd_frame(window_log):
    """An empty frame that asks for a window (RFC 8878 section 3.1.1.1.2): its exponent less ten in the upper five bits."""
    return b"\x28\xb5\x2f\xfd" + bytes((0, (window_log - 10) << 3)) + b"\x01\0\0"


@pytest.mark.parametrize(
    ("data", "cost"),
    [
        pytest.param(zstd_frame(10), 1 << 23, id="zstd 1 KiB"),
        pytest.param(zstd_frame(27), 1 << 27, id="zstd 128 MiB"),
        pytest.param(gzip.compress(b"x", mtime=0), 1 << 19, id="gzip"),
        pytest.param(lz4.frame.compress(b"x"), 1 << 23, id="lz4"),
        pytest.param(bz2.compress(b"x"), 1 << 22, id="bzip2"),
        pytest.param(lzma.compress(b"x", preset=0), 1 << 20, id="xz -0"),
        pytest.param(lzma.compress(b"x", preset=6), 1 << 24, id="xz -6"),
        pytest.param(lzma.compress(b"x", preset=9), 1 << 27, id="xz -9"),
    ],
)
def test_what_a_decompressor_takes_is_counted_until_its_file_is_closed(tmp_path, data, cost):
    (tmp_path / "a").write_bytes(data)
    memory = DecompressorMemory(Limits(decompressors=cost))
    stream, _ = open_stream(tmp_path / "a", "a", memory=memory)
    with pytest.raises(InputError, match=f"more than {cost} bytes of memory"):
        open_stream(tmp_path / "a", "another", memory=memory)
    stream.close()
    stream.close()
    open_stream(tmp_path / "a", "a", memory=memory)[0].close()
    with pytest.raises(InputError, match="decompress"):
        open_stream(tmp_path / "a", "a", memory=DecompressorMemory(Limits(decompressors=cost - 1)))
