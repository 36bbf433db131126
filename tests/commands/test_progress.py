"""How far reading has come: bytes of the files, percent, and an estimate."""

import gzip
from pathlib import Path

from analyzer.auth.keyring import Keyring
from analyzer.pipeline.run import analyze, smb_session_keys
from tests.commands.test_all_commands import CAPTURES, CLEAR

OTHER = CAPTURES / "n_v1_midstream.pcap"


def test_reading_tells_the_bytes_of_all_files_packed_as_they_are(tmp_path: Path) -> None:
    packed = tmp_path / "x.pcap.gz"
    packed.write_bytes(gzip.compress(CLEAR.read_bytes()))
    for files in ([CLEAR], [CLEAR, OTHER], [packed], [packed, OTHER]):
        seen: list[tuple[int, int]] = []
        analysis = analyze(files, progress=lambda frames, done: seen.append((frames, done)))  # noqa: B023
        assert seen[-1] == (analysis.capture.frames, sum(path.stat().st_size for path in files))
        assert seen == sorted(seen)


def test_session_keys_are_looked_for_with_progress() -> None:
    seen: list[tuple[int, int]] = []
    smb_session_keys([CLEAR], Keyring(), progress=lambda frames, done: seen.append((frames, done)))
    assert seen[-1][1] == CLEAR.stat().st_size
