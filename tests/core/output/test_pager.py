"""Text on a terminal goes through a pager, as git's does; nothing else does."""

import os
import pty
import subprocess
import sys
from pathlib import Path

from tests.commands.test_all_commands import CLEAR

PAGER = """sh -c 'echo "<paged $LESS>"; cat; echo "<end>"'"""


def on_terminal(*arguments: object, **variables: str) -> tuple[int, str]:
    """The exit code of a command whose standard output and standard error are a terminal, and what stands on it."""
    main, terminal = pty.openpty()
    environment = {name: value for name, value in os.environ.items() if name not in ("PAGER", "PCQ_PAGER", "LESS")}
    command = [sys.executable, "-m", "analyzer", *map(str, arguments)]
    process = subprocess.Popen(
        command, stdin=terminal, stdout=terminal, stderr=terminal, env={**environment, "TERM": "xterm", **variables}
    )
    os.close(terminal)
    shown = bytearray()
    while True:
        try:
            data = os.read(main, 65536)
        except OSError:  # the last writer has gone
            break
        if not data:
            break
        shown += data
    os.close(main)
    return process.wait(600), shown.decode().replace("\r\n", "\n")


def test_text_goes_through_the_pager() -> None:
    code, shown = on_terminal("hosts", CLEAR, PAGER=PAGER)
    assert code == 0
    body = shown[shown.index("<paged FRX>") : shown.index("<end>")]
    assert "127.0.0.1" in body
    assert "\x1b[1m" in body  # with its colours
    assert "<paged -x>\n# Filters" in on_terminal("docs", "filters", PAGER="false", PCQ_PAGER=PAGER, LESS="-x")[1]


def test_without_a_pager() -> None:
    for options, pager in ((["docs", "filters"], "no-such-program-at-all"), (["docs", "filters", "--no-pager"], PAGER)):
        code, shown = on_terminal(*options, PAGER=pager)
        assert code == 0
        assert "# Filters" in shown
        assert "<paged" not in shown
    # What is for programs is never paged.
    assert "<paged" not in on_terminal("hosts", CLEAR, "--format", "jsonl", PAGER=PAGER)[1]


def test_a_pager_that_is_left_early_is_no_error() -> None:
    code, shown = on_terminal("samples", CLEAR, PAGER="sh -c 'head -n 1; echo \"<left>\"'")
    assert code == 0
    assert shown.rstrip().endswith("<left>")
    assert shown.count("\n") < 10


def test_a_pipe_is_not_paged(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "analyzer", "hosts", str(CLEAR)],
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, "PAGER": PAGER},
    )
    assert done.returncode == 0
    assert "<paged" not in done.stdout
