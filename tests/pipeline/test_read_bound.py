"""A capture that is read up to a bound gives what the same capture gives that ends there."""

import gzip
import struct
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from analyzer.auth.keyring import Keyring
from analyzer.capture.capture_reader import CaptureReader, ReadBound
from analyzer.capture.frame_blocks import Frame, FrameBlock
from analyzer.core.times import UNITS_NS
from analyzer.pipeline.run import analyze, smb_session_keys
from analyzer.questions.filters.times_machines_and_users import TimeBound
from analyzer.results.analysis import Analysis
from tests import truth
from tests.commands.test_all_commands import CAPTURES, CLEAR

SEALED = next(one for one in truth.captures() if one.file == "pcq_smbd_scapy_impacket_smb311_ntlm_privacy.pcap")
FIRST = 1_795_213_816_196_339_000


def frames_of(*files: Path) -> list[Frame]:
    return [item.frame(at) for item in CaptureReader(files) if isinstance(item, FrameBlock) for at in range(len(item))]


def written(frames: Sequence[Frame], path: Path) -> Path:
    """A capture of these frames, with times in nanoseconds."""
    with path.open("wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, frames[0].link_type))
        for frame in frames:
            seconds, ns = divmod(frame.time_ns, 1_000_000_000)
            out.write(struct.pack("<IIII", seconds, ns, len(frame.data), frame.original_length) + frame.data)
    return path


def seen(analysis: Analysis) -> tuple[object, ...]:
    """Everything but the name of the file."""
    calls = [(call, call.request, call.response) for call in analysis.calls]
    return replace(analysis.capture, files=()), calls, analysis.problems, analysis.sessions, analysis.bounds


@pytest.fixture(scope="module")
def of_sealed() -> list[Frame]:
    return frames_of(SEALED.path)


@settings(max_examples=8)
@given(st.integers(1, 600), st.sampled_from(["frames", "time"]))
def test_bounded_is_as_if_it_ended_there(
    tmp_path_factory: pytest.TempPathFactory, of_sealed: list[Frame], count: int, kind: str
) -> None:
    kept = of_sealed[:count]
    bound = ReadBound(count)
    if kind == "time":
        last = kept[-1].time_ns
        kept = of_sealed[: next((at for at, one in enumerate(of_sealed) if one.time_ns > last), len(of_sealed))]
        bound = ReadBound(until=lambda first: last)
    cut = written(kept, tmp_path_factory.mktemp("cut") / "cut.pcap")
    keyring = Keyring.load(SEALED.secrets_path)
    assert seen(analyze([SEALED.path], keyring, bound=bound)) == seen(analyze([cut], keyring))


@pytest.mark.parametrize("count", [1, 30, 100, 101, 10_000])
def test_frames_are_counted_over_all_files_in_the_order_of_time(tmp_path: Path, count: int) -> None:
    packed = tmp_path / "other.pcap.gz"
    packed.write_bytes(gzip.compress((CAPTURES / "n_v1_midstream.pcap").read_bytes()))
    reader = CaptureReader([CLEAR, packed], bound=ReadBound(count))
    got = [item.frame(at) for item in reader if isinstance(item, FrameBlock) for at in range(len(item))]
    assert got == frames_of(CLEAR, packed)[:count]
    assert reader.info.frames == len(got)
    assert reader.info.bytes == sum(len(frame.data) for frame in got)
    assert reader.info.last_time_ns == max(frame.time_ns for frame in got)


def test_what_is_beyond_is_not_read() -> None:
    reader = CaptureReader([CLEAR], block_bytes=4096, bound=ReadBound(5))
    assert sum(len(item) for item in reader if isinstance(item, FrameBlock)) == 5
    assert reader.position < CLEAR.stat().st_size / 2


def test_a_time_before_the_first_frame_leaves_nothing() -> None:
    assert not analyze([CLEAR], bound=ReadBound(until=lambda first: first - 1)).capture.frames


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-11-20T22:30:17Z", FIRST // UNITS_NS["s"] * UNITS_NS["s"] + UNITS_NS["s"]),
        ("90s", FIRST + 90 * UNITS_NS["s"]),
        ("22:31", FIRST // UNITS_NS["d"] * UNITS_NS["d"] + (22 * 3600 + 31 * 60) * UNITS_NS["s"]),
        ("01:00", FIRST // UNITS_NS["d"] * UNITS_NS["d"] + 25 * 3600 * UNITS_NS["s"]),
    ],
)
def test_a_bound_of_time_is_known_from_the_first_frame(text: str, moment: int) -> None:
    assert TimeBound.from_text(text).after(FIRST) == moment


def test_session_keys_are_looked_for_up_to_there() -> None:
    keyring = Keyring.load(SEALED.secrets_path)
    assert not smb_session_keys([SEALED.path], keyring, bound=ReadBound(3))
    assert smb_session_keys([SEALED.path], keyring, bound=ReadBound(100))
