"""How far a collection has come, on a terminal: the stage, bytes, tasks, and an estimate."""

import io
import sys

import pytest

from analyzer.commands.collect import stage_words, watching_stages


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("cut", 12_000_000, 40_000_000, 3, 10, 15.0), "cut: 12.0 of 40.0 MB (30 %), 3 of 10 tasks, about 35 s left"),
        (("cut", 1_000_000, 100_000_000, 1, 9, 3.0), "cut: 1.0 of 100.0 MB (1 %), 1 of 9 tasks, about 4 min 57 s left"),
        (("cut", 1_000_000, 100_000_000, 1, 9, 0.1), "cut: 1.0 of 100.0 MB (1 %), 1 of 9 tasks"),
        (("flows", 0, 0, 1, 4, 4.0), "flows: 1 of 4 tasks, about 12 s left"),
        (("render", 5, 5, 2, 2, 9.0), "render: 0.0 of 0.0 MB (100 %), 2 of 2 tasks"),
    ],
)
def test_what_is_known_of_a_stage_is_stated(given: tuple[str, int, int, int, int, float], words: str) -> None:
    assert stage_words(*given) == words


def test_a_terminal_shows_the_stage_and_its_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    with watching_stages() as watcher:
        assert watcher is not None
        watcher("cut", 12_000_000, 40_000_000, 3, 10)
        watcher("analyse", 30_000_000, 40_000_000, 5, 8)
    assert "analyse: 30.0 of 40.0 MB (75 %), 5 of 8 tasks" in terminal.getvalue()


def test_nothing_is_shown_where_nobody_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with watching_stages() as watcher:
        assert watcher is None
