"""Whatever goes wrong in a command ends in one sentence and an exit code; Ctrl-C ends it at any moment without a traceback."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from analyzer.commands.shared.guard import guarded, sentence_of, shown_again
from analyzer.transport.rpc.rpc_layer import RpcLayer
from tests.commands.test_all_commands import CLEAR, PCQ, SECRETS, records

SECRET = "do-not-show-me"


@pytest.fixture(autouse=True)
def _signals_as_in_a_terminal() -> Iterator[None]:
    """A job in the background of a script, or under nohup, has signals that are ignored, and hands that on to what it starts."""
    defaults: dict[signal.Signals, Any] = {
        signal.SIGINT: signal.default_int_handler,
        signal.SIGTERM: signal.SIG_DFL,
        signal.SIGHUP: signal.SIG_DFL,
    }
    before = {number: signal.signal(number, default) for number, default in defaults.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (["timeline", "x y.pcap", "--password", SECRET], "timeline 'x y.pcap' --password -"),
        (["timeline", "x", f"--password={SECRET}", "--nt-hash", SECRET], "timeline x --password=- --nt-hash -"),
        (["keys", "wireshark", "--smb-session-key", SECRET, "x"], "keys wireshark --smb-session-key - x"),
        (["timeline", "--password", "-", "x"], "timeline --password - x"),
    ],
)
def test_the_command_line_is_shown_without_secrets(arguments: list[str], shown: str) -> None:
    assert " ".join(shown_again(arguments)) == shown


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> list[Exception]:
    """Errors that the reading of captures ends in, in the second of them."""
    errors: list[Exception] = []
    feed, seen = RpcLayer.feed, [0]

    def feed_and_fail(self: RpcLayer, event: object) -> object:
        seen[0] += 1
        if seen[0] > 40:
            raise errors[0]
        return feed(self, event)

    monkeypatch.setattr(RpcLayer, "feed", feed_and_fail)
    return errors


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (MemoryError(), "memory ran out"),
        (
            RecursionError("maximum recursion depth exceeded"),
            "something is nested too deep in tests.commands.test_guard, line ",
        ),
        (ValueError(SECRET), "an error in this program ended it: ValueError in tests.commands.test_guard, line "),
    ],
)
def test_what_was_read_before_a_failure_is_shown(
    error: Exception, words: str, failing: list[Exception], capfd: pytest.CaptureFixture[str]
) -> None:
    failing.append(error)
    assert guarded(["timeline", str(CLEAR), str(PCQ), "--password", SECRET, "--format", "jsonl"]) == 70
    out, err = capfd.readouterr()
    found = records(out)
    assert [one["record"] for one in found].count("call") > 1
    (problem,) = [one for one in found if one.get("kind") == "failed"]
    assert type(error).__name__ in str(problem["text"])
    sentence, again = err.splitlines()
    assert sentence.startswith(f"pcq-analyzer: the capture was read in part only, because {words}")
    assert again == f"  shown again by: pcq-analyzer timeline {CLEAR} {PCQ} --password - --format jsonl"
    assert SECRET not in out + err


def test_a_failure_while_a_file_is_written_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("analyzer.screens.views.timeline.timeline_records", fail)
    assert guarded(["timeline", str(CLEAR), "--format", "json", "-o", str(tmp_path / "x")]) == 70
    assert "\npcq-analyzer: memory ran out\n" in capfd.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_the_traceback_is_shown_on_request(
    failing: list[Exception], capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    failing.append(ValueError("what it was"))
    monkeypatch.setenv("PCQ_DEBUG", "1")
    assert guarded(["timeline", str(CLEAR), str(PCQ)]) == 70
    assert "ValueError: what it was" in capfd.readouterr().err


def test_the_traceback_of_unusable_input_is_shown_on_request(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Some of it may be a mistake of ours: what a case's state is decoded with raises what other code raises too."""
    case = tmp_path / "x.pcq"
    assert guarded(["save", str(CLEAR), "-o", str(case)]) == 0

    def fail(*_: object) -> None:
        raise LookupError("a mistake of ours")

    monkeypatch.setattr("analyzer.pipeline.case.load", fail)
    assert guarded(["timeline", str(case)]) == 1
    assert "Traceback" not in capfd.readouterr().err
    monkeypatch.setenv("PCQ_DEBUG", "1")
    assert guarded(["timeline", str(case)]) == 1
    err = capfd.readouterr().err
    assert "LookupError: a mistake of ours" in err
    assert f"{case} is a damaged case: a mistake of ours" in err


def test_panics_of_native_code_are_failures_too() -> None:
    class PanicException(BaseException):
        pass

    assert "PanicException" in sentence_of(PanicException("index out of bounds"))


@pytest.mark.parametrize(("mebibytes", "form"), [(135, "csv"), (250, "jsonl"), (400, "csv"), (900, "jsonl")])
def test_short_address_space_is_a_sentence_whoever_runs_out_of_it(mebibytes: int, form: str, tmp_path: Path) -> None:
    words = [sys.executable, "-m", "analyzer", "samples", str(PCQ), "--secrets", str(SECRETS), "--format", form]
    words += ["-o", str(tmp_path / "out")]
    limited = ["sh", "-c", f'ulimit -v {mebibytes * 1024} && exec "$@"', "sh", *words]
    done = subprocess.run(limited, capture_output=True, text=True, timeout=600)
    assert done.returncode in (0, 1, 70)
    assert "Traceback" not in done.stderr
    if done.returncode == 70:
        assert f"(the limit of address space is {mebibytes} MiB)" in done.stderr
        assert "shown again by: pcq-analyzer samples" in done.stderr
        assert not (tmp_path / "out").exists()
    elif done.returncode == 1:
        assert "not enough memory to read the secrets file" in done.stderr
    else:
        assert (tmp_path / "out").stat().st_size > 1000


def test_the_second_signal_ends_a_limited_process_whose_native_code_hangs(tmp_path: Path) -> None:
    # A module that is loaded by every command blocks all signals, as native code does that never comes back.
    stuck = "import os, signal, time\nsignal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())\n"
    (tmp_path / "typer.py").write_text(stuck + "os.write(1, b'stuck\\n')\ntime.sleep(600)\n")
    words = [sys.executable, "-m", "analyzer", "timeline", str(CLEAR)]
    limited = ["sh", "-c", f'ulimit -v {1 << 22} && exec "$@"', "sh", *words]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}
    with subprocess.Popen(limited, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "stuck\n"
        for _ in range(2):
            process.send_signal(signal.SIGTERM)
            time.sleep(0.2)
        assert process.wait(timeout=60) == 128 + signal.SIGTERM


# ------------------------------------------------------------------------------------------------ signals

# Sends a signal to its own process when a module is loaded, or when it is called.
INTERRUPTING = """
import os, signal, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), {number})
sys.meta_path.insert(0, Finder())
sys.argv = ["pcq-analyzer", *{arguments!r}]
from analyzer.__main__ import main
main()
"""


@pytest.mark.parametrize("module", ["analyzer.commands.shared.guard", "typer", "numpy", "orjson"])
def test_ctrl_c_while_modules_are_loaded_is_130(module: str) -> None:
    code = INTERRUPTING.format(module=module, number=signal.SIGINT.value, arguments=["timeline", str(CLEAR)])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stderr) == (130, "")


IN_TEXT = """
import atexit
from analyzer.commands.shared import guard
atexit.register(print)  # so that Python's own end is waited for
def interrupted(arguments):
    try:
        exec("raise KeyboardInterrupt")
    except KeyboardInterrupt:
        return 143
guard.guarded = interrupted
guard.run_process()
"""


def test_an_interrupt_in_source_text_that_was_caught_is_no_end_by_sigint(tmp_path: Path) -> None:
    (tmp_path / "ended_in_text.py").write_text(IN_TEXT)
    # Python looks at its note behind a module that `-m` names, and behind no other program.
    done = subprocess.run([sys.executable, "-m", "ended_in_text"], cwd=tmp_path, timeout=600, check=False)
    assert done.returncode == 143


def test_a_signal_while_writing_removes_what_is_not_whole(tmp_path: Path) -> None:
    code = INTERRUPTING.format(
        module="analyzer.screens.formats.sample_json_lines",  # which is loaded when the file has been opened
        number=signal.SIGTERM.value,
        arguments=["samples", str(CLEAR), "--format", "jsonl", "-o", str(tmp_path / "out")],
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    assert done.returncode == 143
    assert done.stderr == f"{tmp_path / 'out'} is not written; what was written of it has been removed\n"
    assert list(tmp_path.iterdir()) == []


def test_a_signal_that_is_ignored_stays_so() -> None:
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        assert guarded(["--version"]) == 0
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


# ------------------------------------------------------------------------------------------------ standard streams


@pytest.mark.parametrize("closed", ["<&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_standard_streams_harm_nothing(closed: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = [sys.executable, "-m", "analyzer", "timeline", str(CLEAR), "-o", str(out)]
    done = subprocess.run(["sh", "-c", f'exec "$@" {closed}', "sh", *words], timeout=600, env={**os.environ})
    assert done.returncode == 0
    assert out.read_text().startswith(str(CLEAR))
    again = ["sh", "-c", f'exec "$@" {closed}', "sh", *words[:-1], "-"]
    assert subprocess.run(again, timeout=600, capture_output=True).returncode == (70 if ">&- " in closed else 0)


def test_standard_input_that_is_closed_is_a_sentence() -> None:
    words = [sys.executable, "-m", "analyzer", "timeline", "-"]
    done = subprocess.run(["sh", "-c", 'exec "$@" <&-', "sh", *words], timeout=600, capture_output=True)
    assert done.returncode == 1
    assert done.stderr.startswith(b"pcq-analyzer: Standard input is not a capture.")
