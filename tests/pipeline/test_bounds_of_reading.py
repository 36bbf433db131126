"""The numbers that bound what is read of a case, a result or a capture, and where each comes from."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from analyzer.capture.capture_reader import CaptureInfo
from analyzer.core.errors import InputError
from analyzer.core.traced_bytes import TracedBytes
from analyzer.pipeline import digest_verification, loaded_metadata
from analyzer.pipeline import packet_rereading as module
from analyzer.pipeline.digest_verification import _FIRST_ELEMENTS, _HEAD_BYTES, _TAIL_BYTES, _xml_property
from analyzer.pipeline.packet_rereading import MAX_PACKET_BYTES, _add_frames, _with_header, why_not


def test_what_of_a_result_is_read() -> None:
    """The record is at the beginning, at the end of text; in XML among the elements before the first test suite."""
    assert (_HEAD_BYTES, _TAIL_BYTES) == (16_777_216, 4_194_304)
    assert (digest_verification._PIECE, _FIRST_ELEMENTS) == (65_536, 16)
    ours, other = (f"<property name='{name}' value='{{}}'/>" for name in (digest_verification.EVIDENCE_KEY, "other"))
    for before in (0, 14, 15):
        assert _xml_property(f"<a>{'<b/>' * before}{ours.format(5)}</a>".encode()) == "5"
    # Beyond that nobody looks for it; of two the first counts.
    with pytest.raises(ValueError, match="not where we write it"):
        _xml_property(f"<a>{'<b/>' * 16}{ours.format(5)}</a>".encode())
    assert _xml_property(f"<a>{other.format(1)}{ours.format(2)}{ours.format(3)}</a>".encode()) == "2"


def test_the_evidence_of_a_text_begins_behind_its_last_mark() -> None:
    line = "  capture  sha256 " + "0" * 64 + "  5 bytes  {}"
    text = [
        line.format("before"),
        f"{digest_verification.TEXT_MARK} 1",
        line.format("a"),
        f"{digest_verification.TEXT_MARK} 2",
        line.format("b c"),
        "more",
    ]
    found = digest_verification._record_of_text("\n".join(text))
    assert found["inputs"] == [{"role": "capture", "sha256": "0" * 64, "size": 5, "name": "b c"}]
    above = [line.format("a"), digest_verification.TEXT_MARK, line.format("b")]
    assert [one["name"] for one in digest_verification._record_of_text("\n".join(above))["inputs"]] == ["b"]


# ------------------------------------------------------------------------------------------------ packets


def frames_of(*sizes: int) -> Any:
    frames = [
        SimpleNamespace(frame=at, link_type=1, data=b"x" * size, original_length=size)
        for at, size in enumerate(sizes, 1)
    ]
    return SimpleNamespace(frames=[one.frame for one in frames], frame=lambda index: frames[index])


@pytest.mark.parametrize(("most", "kept"), [(0, []), (9, []), (10, [1]), (29, [1]), (30, [1, 3]), (100, [1, 3])])
def test_so_many_bytes_of_packets_are_held(most: int, kept: list[int]) -> None:
    """A report stays what a browser opens: a quarter of a gigabyte of packets at most."""
    assert MAX_PACKET_BYTES == 268_435_456
    found: list[int] = []
    reader: Any = [frames_of(10, 99, 20)]
    holder: Any = SimpleNamespace(add_frame=lambda frame: found.append(frame.frame))
    _add_frames(holder, reader, {1, 3}, most)
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
    assert why_not(sources, engine) == why


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
    found = module.packets_of([tmp_path], None, None)
    assert found.lacking == "a case does not hold captured packets"


class Stated(list[Any]):
    """Calls of which columns state in which frames they are, and how SMB carried them."""

    @property
    def table(self) -> Any:
        return SimpleNamespace(meaning=lambda _: [one.smb for one in self].__getitem__)

    def frames(self, number: int) -> tuple[int, ...]:
        return self[number - 1].frames  # type: ignore[no-any-return]

    def column(self, _: str) -> Any:
        return np.arange(len(self))


def test_messages_are_followed_only_where_calls_came_over_smb(monkeypatch: pytest.MonkeyPatch) -> None:
    followed: list[Any] = []
    monkeypatch.setattr(module, "follow_messages", lambda sources, *given, **more: followed.append(sources))
    monkeypatch.setattr(module, "with_embedded", lambda sources, keyring: (keyring, []))
    monkeypatch.setattr(module, "CaptureReader", lambda sources, limits: SimpleNamespace(info=CaptureInfo()))
    monkeypatch.setattr(module, "_add_frames", lambda *given: None)
    for smb, expected in ((None, []), (object(), [["a"]])):
        followed.clear()
        calls = [SimpleNamespace(frames=frames, smb=one) for frames, one in (((1,), None), ((2,), smb), ((), None))]
        analysis: Any = SimpleNamespace(calls=Stated(calls), capture=CaptureInfo())
        found = module.packets_of(["a"], analysis, None)
        assert found.lacking == "it is beyond the first 256 MiB of packets with calls"
        assert followed == expected
        followed.clear()
        module.packets_of(["a"], analysis, None, numbers=[1])
        assert followed == []


def test_what_a_metadata_file_may_be_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """5,000 counters in a hundred languages of a hundred characters each are 50 MB; five times that is no such file."""
    assert (loaded_metadata.MAX_FILE_BYTES, loaded_metadata._HEAD) == (268_435_456, 4096)
    (tmp_path / "x").write_bytes(b'{"record": "metadata", "x": 1}')
    monkeypatch.setattr(loaded_metadata, "looks_like_metadata", lambda head: True)
    monkeypatch.setattr(loaded_metadata, "metadata_from_json", lambda data, source: (data, source))
    for most, is_read in ((30, True), (31, True), (29, False), (1, False)):
        monkeypatch.setattr(loaded_metadata, "MAX_FILE_BYTES", most)
        for head in (4096, 7):
            monkeypatch.setattr(loaded_metadata, "_HEAD", head)
            if is_read:
                found: Any = loaded_metadata.load_metadata(tmp_path / "x")
                assert found == ((tmp_path / "x").read_bytes(), str(tmp_path / "x"))
            else:
                with pytest.raises(InputError, match=f"larger than any metadata file \\({most} bytes\\)"):
                    loaded_metadata.load_metadata(tmp_path / "x")
