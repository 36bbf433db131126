"""How far reading has come: bytes of the files, percent, and an estimate."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from analyzer.cli.progress import progress_words
from analyzer.pipeline.run import analyze
from tests.cli.test_commands import CAPTURES, CLEAR

OTHER = CAPTURES / "n_v1_midstream.pcap"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ((11_000, 12_000_000, 40_000_000, 15.0), "12.0 of 40.0 MB (30 %), 11,000 frames read, about 35 s left"),
        ((5, 1_000_000, 100_000_000, 3.0), "1.0 of 100.0 MB (1 %), 5 frames read, about 4 min 57 s left"),
        ((5, 1_000_000, 100_000_000, 0.1), "1.0 of 100.0 MB (1 %), 5 frames read"),
        ((5, 40_000_000, 40_000_000, 9.0), "40.0 of 40.0 MB (100 %), 5 frames read"),
        ((7, 0, 0, 9.0), "7 frames read"),
        ((7, 2_000_000, 0, 9.0), "2.0 MB, 7 frames read"),
    ],
)
def test_what_is_known_is_stated(given: tuple[int, int, int, float], words: str) -> None:
    assert progress_words(*given) == words


def test_reading_tells_the_bytes_of_all_files_packed_as_they_are(tmp_path: Path) -> None:
    packed = tmp_path / "x.pcap.gz"
    packed.write_bytes(gzip.compress(CLEAR.read_bytes()))
    for files in ([CLEAR], [CLEAR, OTHER], [packed], [packed, OTHER]):
        seen: list[tuple[int, int]] = []
        analysis = analyze(files, progress=lambda frames, done: seen.append((frames, done)))  # noqa: B023
        assert seen[-1] == (analysis.capture.frames, sum(path.stat().st_size for path in files))
        assert seen == sorted(seen)
