"""The numbers that bound what is read of a case, a result or a capture, and where each comes from."""

from __future__ import annotations

import io
import struct
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from analyzer.core.errors import InputError
from analyzer.core.events import Problem
from analyzer.core.limits import DEFAULTS
from analyzer.core.traced import TracedBytes
from analyzer.model.packets import Packets
from analyzer.pipeline import metadata, verify
from analyzer.pipeline import packets as module
from analyzer.pipeline.case import (
    _DATE,
    _END,
    _END_64,
    _FREE_STATE,
    _IN_END_64,
    _LOCAL_HEADER,
    _LONGEST_END,
    _MOST_DIRECTORY,
    _MOST_MANIFEST,
    _MOST_RATIO,
    _PIECE,
    FORMAT,
    VERSION,
    _archive,
    _entry,
    _file,
    _is_file,
    _most_state,
    is_case,
    write_case,
)
from analyzer.pipeline.packets import MAX_PACKET_BYTES, _add_frames, _why_not, _with_header
from analyzer.pipeline.verify import _FIRST_ELEMENTS, _HEAD_BYTES, _TAIL_BYTES, _xml_property
from tests.build.buffers import Block, perf_data
from tests.build.calls import Calls, analysis_of


def test_what_a_case_may_be_long() -> None:
    """APPNOTE 4.3.7: a local header of 30 bytes. 4.3.14 to 4.3.16: the records at the end are 56, 20 and 22 bytes, a comment up to
    65,535; sizes of 32 bits that do not fit are all ones. 4.4.6: dates begin with 1980."""
    assert (_LOCAL_HEADER.size, _END, _END_64) == (30, b"PK\x05\x06", b"PK\x06\x06")
    assert (_IN_END_64, _DATE) == (0xFFFFFFFF, (1980, 1, 1, 0, 0, 0))
    assert 56 + 20 + 22 + 65_535 <= _LONGEST_END == 66 * 1024
    assert (FORMAT, VERSION) == ("pcq-case", 1)
    # A dozen entries with their names are below a megabyte; what is read at once of the calls is one.
    assert (_MOST_DIRECTORY, _MOST_MANIFEST, _PIECE) == (1_048_576, 16_777_216, 1_048_576)
    assert (_MOST_RATIO, _FREE_STATE) == (20, 2_097_152)
    assert [_most_state(packed) for packed in (0, 104_857, 104_858, 200_000)] == [
        2_097_152,
        2_097_152,
        2_097_160,
        4_000_000,
    ]


def test_what_of_a_result_is_read() -> None:
    """The record is at the beginning, at the end of text; in XML among the elements before the first test suite."""
    assert (_HEAD_BYTES, _TAIL_BYTES, verify._PIECE, _FIRST_ELEMENTS) == (16_777_216, 4_194_304, 65_536, 16)
    ours, other = (f"<property name='{name}' value='{{}}'/>" for name in (verify.EVIDENCE_KEY, "other"))
    for before in (0, 14, 15):
        assert _xml_property(f"<a>{'<b/>' * before}{ours.format(5)}</a>".encode()) == "5"
    # Beyond that nobody looks for it; of two the first counts.
    with pytest.raises(ValueError, match="not where we write it"):
        _xml_property(f"<a>{'<b/>' * 16}{ours.format(5)}</a>".encode())
    assert _xml_property(f"<a>{other.format(1)}{ours.format(2)}{ours.format(3)}</a>".encode()) == "2"


@pytest.mark.parametrize(
    ("size", "size64", "is_refused"),
    [
        (1_048_576, None, False),
        (1_048_577, None, True),
        (0xFFFFFFFF, None, False),
        (0xFFFFFFFE, None, True),
        (0xFFFFFFFF, 1_048_576, False),
        (0xFFFFFFFF, 1_048_577, True),
    ],
)
def test_a_directory_may_be_a_megabyte(
    size: int, size64: int | None, is_refused: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The size stands 12 bytes into the record that ends an archive, 40 into that of ZIP64; the last of each counts."""
    path = tmp_path / "x.pcq"
    wide = b"PK\6\6" + bytes(36) + struct.pack("<Q", size64) + bytes(8) if size64 is not None else b""
    path.write_bytes(b"PK\5\6" + b"\xee" * 70 + wide + b"PK\5\6" + bytes(8) + struct.pack("<I", size) + bytes(6))
    monkeypatch.setattr(zipfile, "ZipFile", lambda place: "opened")
    if is_refused:
        with pytest.raises(zipfile.BadZipFile, match="more entries than a case has"):
            _archive(path)
    else:
        assert _archive(path) == "opened"  # type: ignore[comparison-overlap]


def test_a_file_without_the_record_is_left_to_the_library(tmp_path: Path) -> None:
    for data in (b"", b"x" * 100, b"x" * 100_000):
        (tmp_path / "x").write_bytes(data)
        with pytest.raises(zipfile.BadZipFile, match="not a zip file"):
            _archive(tmp_path / "x")


@pytest.mark.parametrize(("most", "is_read"), [(None, True), (6, True), (5, True), (4, False)])
def test_a_file_of_an_unpacked_case_may_be_so_long(most: int | None, is_read: bool, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"12345")
    if is_read:
        assert _file(tmp_path / "x", most) == b"12345"
    else:
        with pytest.raises(zipfile.BadZipFile, match="x has more than 4 bytes"):
            _file(tmp_path / "x", most)
    for other in (tmp_path, tmp_path / "lost"):
        with pytest.raises(zipfile.BadZipFile, match="is not there, or no file"):
            _file(other)


def test_a_case_begins_with_its_manifest(tmp_path: Path) -> None:
    path = tmp_path / "x"
    head = b"PK\3\4" + bytes(26) + b"manifest.json"
    for data, found in (
        (head, True),
        (head + b"more", True),
        (head[:-1], False),
        (b"PK\3\5" + head[4:], False),
        (b"", False),
    ):
        path.write_bytes(data)
        assert is_case(path) is is_case(str(path)) is found
    path.write_bytes(head[:30] + b"xmanifest.json")
    assert not is_case(path)
    assert not is_case(tmp_path)
    (tmp_path / "manifest.json").write_bytes(b"{}")
    assert is_case(tmp_path)
    assert not is_case(tmp_path / "lost")
    assert not is_case(5)
    assert not is_case("a\0b")


@pytest.mark.parametrize(
    ("flags", "how", "is_read"),
    [
        (0, zipfile.ZIP_STORED, True),
        # APPNOTE 4.4.4: bit 0 is encryption; bits 1 and 2 say how deflate searched, bit 11 that names are UTF-8.
        (2, zipfile.ZIP_STORED, True),
        (0x800, zipfile.ZIP_DEFLATED, True),
        (1, zipfile.ZIP_STORED, False),
        (0x801, zipfile.ZIP_DEFLATED, False),
        (0, zipfile.ZIP_LZMA, False),
    ],
)
def test_entries_are_stored_or_deflated_and_not_encrypted(flags: int, how: int, is_read: bool) -> None:
    info = SimpleNamespace(flag_bits=flags, compress_type=how, file_size=3)
    archive: Any = SimpleNamespace(getinfo=lambda name: info, open=lambda info: io.BytesIO(b"12345"))
    for most in (3, 4):
        if is_read:
            assert _entry(archive, "x", most) == b"123"
        else:
            with pytest.raises(zipfile.BadZipFile, match="x is encrypted, or compressed"):
                _entry(archive, "x", most)
    if is_read:
        with pytest.raises(zipfile.BadZipFile, match="x would be 3 bytes, more than 2"):
            _entry(archive, "x", 2)


def test_what_can_be_gone_back_to_is_a_file(tmp_path: Path) -> None:
    with (tmp_path / "x").open("wb") as file, Path("/dev/null").open("wb") as device:
        assert _is_file(file)
        assert not _is_file(device)
    # What has no number says for itself.
    assert _is_file(io.BytesIO())
    assert not _is_file(SimpleNamespace(fileno=_no_number, seekable=lambda: False))  # type: ignore[arg-type]


def _no_number() -> int:
    raise OSError("it has none")


def test_the_evidence_of_a_text_begins_behind_its_last_mark() -> None:
    line = "  capture  sha256 " + "0" * 64 + "  5 bytes  {}"
    text = [
        line.format("before"),
        f"{verify.TEXT_MARK} 1",
        line.format("a"),
        f"{verify.TEXT_MARK} 2",
        line.format("b c"),
        "more",
    ]
    found = verify._record_of_text("\n".join(text))
    assert found["inputs"] == [{"role": "capture", "sha256": "0" * 64, "size": 5, "name": "b c"}]
    above = [line.format("a"), verify.TEXT_MARK, line.format("b")]
    assert [one["name"] for one in verify._record_of_text("\n".join(above))["inputs"]] == ["b"]


# ------------------------------------------------------------------------------------------------ packets


def frames_of(*sizes: int) -> Any:
    frames = [
        SimpleNamespace(frame=at, link_type=1, data=b"x" * size, original_length=size)
        for at, size in enumerate(sizes, 1)
    ]
    return SimpleNamespace(frames=[one.frame for one in frames], frame=lambda index: frames[index])


@pytest.mark.parametrize(("most", "kept"), [(0, []), (9, []), (10, [1]), (29, [1]), (30, [1, 3]), (100, [1, 3])])
def test_so_many_bytes_of_packets_are_held(most: int, kept: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """A report stays what a browser opens: a quarter of a gigabyte of packets at most."""
    assert MAX_PACKET_BYTES == 268_435_456
    found: list[int] = []
    monkeypatch.setattr(module, "CaptureReader", lambda sources, limits: iter([frames_of(10, 99, 20)]))
    holder: Any = SimpleNamespace(add_frame=lambda frame: found.append(frame.frame))
    _add_frames(holder, ["a"], {1, 3}, DEFAULTS, most)
    assert found == kept


@pytest.mark.parametrize(
    ("sources", "engine", "why"),
    [
        (["a"], "own", None),
        ([Path("a"), "b"], "own", None),
        (["a"], "tshark", "tshark gives no captured bytes"),
        (["a", object()], "own", "the capture came through a pipe, which is read once"),
        ([object()], "tshark", "the capture came through a pipe, which is read once"),
    ],
)
def test_why_there_are_no_packets(sources: list[Any], engine: str, why: str | None) -> None:
    assert _why_not(sources, engine) == why


@pytest.mark.parametrize(
    ("before", "start", "data"),
    [
        # [MS-SMB2] 2.1: a zero, then the length in three bytes, before the message.
        (b"\0\0\0\3", 4, b"\0\0\0\3abc"),
        (b"xx\0\0\0\3", 6, b"\0\0\0\3abc"),
        (b"\0\0\0\4", 4, b"abc"),
        (b"\1\0\0\3", 4, b"abc"),
        (b"\0\0\3", 3, b"abc"),
        (b"", 0, b"abc"),
    ],
)
def test_a_message_comes_with_its_framing_where_that_was_captured(before: bytes, start: int, data: bytes) -> None:
    whole = TracedBytes.of_frame(before + b"abcdef", 1, 54)

    class Data:
        def part(self, first: int, stop: int) -> bytes:
            return whole.data[first:stop]

        def __getitem__(self, span: slice) -> TracedBytes:
            return whole[span]

    stop = start + 3
    sent: Any = SimpleNamespace(data=Data(), start=start, stop=stop, length=3, head=whole[start:stop])
    assert _with_header(sent).data == data


def test_of_a_case_there_are_no_packets(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_bytes(b"{}")
    found = module.packets_of([tmp_path], None, None)  # type: ignore[arg-type]
    assert isinstance(found, Packets)
    assert found.lacking == "a case does not hold captured packets"


def test_messages_are_followed_only_where_calls_came_over_smb(monkeypatch: pytest.MonkeyPatch) -> None:
    followed: list[Any] = []
    monkeypatch.setattr(module, "follow_messages", lambda sources, *given, **more: followed.append(sources))
    monkeypatch.setattr(module, "with_embedded", lambda sources, keyring: (keyring, []))
    monkeypatch.setattr(module, "CaptureReader", lambda sources, limits: iter(()))
    for smb, expected in ((None, []), (object(), [["a"]])):
        followed.clear()
        calls = [
            SimpleNamespace(frames=(1,), smb=None),
            SimpleNamespace(frames=(2,), smb=smb),
            SimpleNamespace(frames=(), smb=None),
        ]
        analysis: Any = SimpleNamespace(calls=calls)
        found = module.packets_of(["a"], analysis, None)  # type: ignore[arg-type]
        assert found.lacking == "it is beyond the first 256 MiB of packets with calls"
        assert followed == expected
        followed.clear()
        module.packets_of(["a"], analysis, None, numbers=[1])  # type: ignore[arg-type]
        assert followed == []


@pytest.mark.parametrize("with_tables", [True, False])
def test_a_manifest_counts_problems_with_those_of_buffers_where_they_were_decoded(
    with_tables: bool, tmp_path: Path
) -> None:
    data = perf_data([Block(1, values=((b"\1\0\0\0",),))])[:-3]
    analysis = analysis_of(
        Calls().counter_data(data), Calls(first_frame=9).open_query(), Problem("gap", "tcp", (1,), "x")
    )
    with (tmp_path / "x").open("wb") as out:
        manifest = write_case(analysis, out, with_tables=with_tables)
    assert (manifest.problems, manifest.calls, manifest.profile, manifest.options) == (
        1 + with_tables,
        2,
        "windows",
        {},
    )
    assert bool(manifest.tables) is with_tables


def test_what_a_metadata_file_may_be_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """5,000 counters in a hundred languages of a hundred characters each are 50 MB; five times that is no such file."""
    assert (metadata.MAX_FILE_BYTES, metadata._HEAD) == (268_435_456, 4096)
    (tmp_path / "x").write_bytes(b'{"record": "metadata", "x": 1}')
    monkeypatch.setattr(metadata, "looks_like_metadata", lambda head: True)
    monkeypatch.setattr(metadata, "metadata_from_json", lambda data, source: (data, source))
    for most, is_read in ((30, True), (31, True), (29, False), (1, False)):
        monkeypatch.setattr(metadata, "MAX_FILE_BYTES", most)
        for head in (4096, 7):
            monkeypatch.setattr(metadata, "_HEAD", head)
            if is_read:
                assert metadata.load_metadata(tmp_path / "x") == ((tmp_path / "x").read_bytes(), str(tmp_path / "x"))  # type: ignore[comparison-overlap]
            else:
                with pytest.raises(InputError, match=f"larger than any metadata file \\({most} bytes\\)"):
                    metadata.load_metadata(tmp_path / "x")
