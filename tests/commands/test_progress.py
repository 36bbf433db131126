"""How far reading has come: bytes of the files, percent, and an estimate."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from analyzer.auth.keyring import Keyring
from analyzer.core.output import terminal as progress_module
from analyzer.core.output.terminal import progress_words, watching
from analyzer.pipeline.run import analyze, smb_session_keys
from tests.commands.test_all_commands import CAPTURES, CLEAR

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


def test_nobody_is_shown_anything_where_standard_error_is_no_terminal() -> None:
    with watching([CLEAR]) as notify:
        assert notify is None


@pytest.mark.parametrize("notebook", [False, True])
def test_bytes_and_percent_are_shown_on_a_terminal_and_in_a_notebook(
    monkeypatch: pytest.MonkeyPatch, notebook: bool
) -> None:
    shown: list[str] = []
    asked: list[bool] = []

    @contextmanager
    def status_line(text: str, *, notebook: bool = False) -> Iterator[Callable[[str], None]]:
        asked.append(notebook)
        yield shown.append

    monkeypatch.setattr(progress_module, "status_line", status_line)
    with watching([str(CLEAR), OTHER, object()], notebook=notebook) as notify:
        analyze([CLEAR, OTHER], progress=notify)
    assert asked == [notebook]
    assert "(100 %)" in shown[-1]


def test_session_keys_are_looked_for_with_progress() -> None:
    seen: list[tuple[int, int]] = []
    smb_session_keys([CLEAR], Keyring(), progress=lambda frames, done: seen.append((frames, done)))
    assert seen[-1][1] == CLEAR.stat().st_size
