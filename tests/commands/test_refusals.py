"""What a command refuses where something of this machine is another; `typed/` has what it refuses anywhere."""

import sys
from pathlib import Path

import pytest

from analyzer.commands.shared.guard import guarded
from tests.commands.test_all_commands import CLEAR, PCQ

TERMINAL = ("analyzer.commands.browse.is_terminal", lambda: True)
NO_METADATA = ("analyzer.pipeline.loaded_metadata.MAX_FILE_BYTES", 10)
NO_BUFFER = ("analyzer.commands.decode.MAX_BUFFER_BYTES", 10)
NO_DASK = "--scheduler needs Dask\n  pip install 'pcq-analyzer[cluster]'"


@pytest.mark.parametrize(
    ("other", "words", "sentence"),
    [
        (TERMINAL, "browse -", "browse reads its keys from standard input, so no capture can come from"),
        (NO_METADATA, "timeline {clear} --metadata {metadata}", "is larger than any metadata file (10 bytes)"),
        (NO_BUFFER, "decode {clear}", "is larger than any buffer of ours (10 bytes)"),
        ("analyzer.screens.browse.app", "browse {clear}", "browse needs Textual\n  pip install 'pcq-analyzer[browse]'"),
        ("analyzer.collect.dask_cluster", "collect {clear} -o out --scheduler tls://127.0.0.1:1", NO_DASK),
    ],
)
def test_what_is_not_there_or_too_large_is_named(
    other: tuple[str, object] | str,
    words: str,
    sentence: str,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    metadata = tmp_path / "metadata.json"
    assert guarded(["export-metadata", str(CLEAR), "-o", str(metadata)]) == 0
    capfd.readouterr()
    monkeypatch.setattr(*TERMINAL)
    if isinstance(other, str):
        monkeypatch.setitem(sys.modules, other, None)
    else:
        monkeypatch.setattr(*other)
    assert guarded(words.format(clear=CLEAR, sealed=PCQ, metadata=metadata).split()) == 1
    out, err = capfd.readouterr()
    assert (out, f"pcq-analyzer: {sentence}" in err or f"{sentence}\n" in err) == ("", True)
