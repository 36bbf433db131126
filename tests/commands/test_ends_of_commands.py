"""How the process of a command ends: what the guard hands on, asked without a command behind it."""

import atexit
import gc
import mmap
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from analyzer.__main__ import main
from analyzer.commands.shared import all_commands, guard
from analyzer.commands.shared.exit_codes import ReadingFailedError
from analyzer.core.errors import InputError
from analyzer.core.output.gate import StreamClosedError

UNLIMITED = resource.RLIM_INFINITY


@pytest.fixture(autouse=True)
def _as_they_were() -> Iterator[None]:
    """Handlers of signals and the pace of the collector; a job in the background of a script has signals that are ignored."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before, pace = {number: signal.getsignal(number) for number in numbers}, gc.get_threshold()
    for number in numbers:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    gc.unfreeze()
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
    gc.set_threshold(*pace)
    gc.freeze()


def limited(monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda what: (limit, UNLIMITED) if what == resource.RLIMIT_AS else None)


# ------------------------------------------------------------------------------------------------ the process


@pytest.mark.parametrize("code", [0, 3, 70, 130])
def test_a_process_ends_with_the_code_of_its_command(code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a limit of address space there is nobody to supervise it. numpy gets no threads. A handler waits for the end."""
    monkeypatch.setattr(atexit, "_ncallbacks", lambda: 1)
    limited(monkeypatch, UNLIMITED)
    monkeypatch.setattr(guard, "guarded", lambda words: code if words == ["timeline", "x"] else 99)
    monkeypatch.setattr(guard, "_supervised", lambda words: 98)
    monkeypatch.setattr(sys, "argv", ["pcq-analyzer", "timeline", "x"])
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == code
    assert os.environ["OPENBLAS_NUM_THREADS"] == "1"
    # Loading makes much that stays: the collector is to look seldom, and not at all when the process ends.
    assert gc.get_threshold()[:2] == (100_000, 10)
    assert gc.get_freeze_count() > 0
    limited(monkeypatch, 1 << 30)
    with pytest.raises(SystemExit) as ended:
        guard.run_process()
    assert ended.value.code == 98


# Says on standard output whether Python ends a process by itself.
ENDING = """
import sys
{}
from analyzer.commands.shared import guard
guard.guarded = len
print("said before", end=" ")
print("to both", end=" ", file=sys.stderr)
try:
    guard.run_process()
except SystemExit:
    print("by Python", end=" ")
    raise
"""
AWAITING = {
    "": "",
    "import atexit; atexit.register(print, 'with handlers')": "by Python with handlers\n",
    "import threading; threading.Thread(target=threading.main_thread().join).start()": "by Python ",
    "import threading, time; threading.Thread(target=time.sleep, args=(600,), daemon=True).start()": "by Python ",
    "sys.settrace(lambda *_: None)": "by Python ",
    "sys.setprofile(lambda *_: None)": "by Python ",
    "if hasattr(sys, 'monitoring'): sys.monitoring.use_tool_id(5, 'one')\nelse: sys.settrace(lambda *_: None)": "by Python ",
}


@pytest.mark.parametrize(("awaiting", "end"), AWAITING.items())
def test_python_ends_a_process_where_something_waits_for_that(awaiting: str, end: str) -> None:
    """Else the system frees what was read, which takes no time. What was said is said either way."""
    words = [sys.executable, "-c", ENDING.format(awaiting), "three", "little", "words"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (3, "to both ")
    # Where coverage is measured, it waits too.
    end = end or "by Python " * ("coverage" in sys.modules)
    assert done.stdout == f"said before {end}"


def test_standard_output_that_cannot_be_written_is_left_to_the_end_of_python() -> None:
    words = [sys.executable, "-c", ENDING.format("")]
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, check=False, env=buffered)
    assert done.returncode == 120
    assert b"No space left on device" in done.stderr


@pytest.mark.parametrize("code", [0, 1, 3, 12, 70, 129, 130, 143])
def test_a_supervised_command_ends_with_its_own_code(
    code: int, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(guard, "guarded", lambda words: code)
    assert guard._supervised(["timeline"]) == code
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_second_signal_ends_a_supervised_command_at_once(
    number: signal.Signals, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(guard, "guarded", lambda words: os._exit(128 + number))
    assert guard._supervised(["timeline"]) == 128 + number
    assert capfd.readouterr() == ("", "")


def killed(words: object) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return 0


def raised(words: object) -> int:
    raise ValueError("nobody sees it")


@pytest.mark.parametrize("end", [killed, raised, lambda words: os._exit(1), lambda words: os._exit(63)])
def test_a_library_that_ends_the_process_is_memory_that_ran_out(
    end: Callable[[object], int], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Native code that gets no memory aborts, or exits with a code of its own, which is none of ours."""
    limited(monkeypatch, 1 << 30)
    monkeypatch.setattr(guard, "guarded", end)
    assert guard._supervised(["timeline", "a b", "--password", "secret"]) == 70
    assert capfd.readouterr().err.splitlines() == [
        "pcq-analyzer: memory ran out (the limit of address space is 1,024 MiB)",
        "  shown again by: pcq-analyzer timeline 'a b' --password -",
    ]


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_is_handed_on_to_the_supervised_command(sent: signal.Signals, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C, which the terminal sends to both, is left to it."""

    def wait(_: object) -> int:
        signal.pthread_sigmask(signal.SIG_BLOCK, {sent})
        # The supervisor ignores Ctrl-C as soon as it listens.
        os.kill(os.getppid(), signal.SIGINT)
        time.sleep(0.2)
        os.kill(os.getppid(), sent)
        return 9 if signal.sigtimedwait({sent}, 20) else 1

    # Until the supervisor listens, the signals are for nobody.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    monkeypatch.setattr(guard, "guarded", wait)
    assert guard._supervised([]) == 9
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_without_the_address_space_that_loading_takes_nothing_is_started(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    asked: list[tuple[int, int]] = []

    class Mapped:
        def __init__(self, descriptor: int, size: int) -> None:
            asked.append((descriptor, size))
            if failing:
                raise failing[0]

        def close(self) -> None:
            asked.append((0, 0))

    failing: list[Exception] = []
    monkeypatch.setattr(mmap, "mmap", Mapped)
    assert guard._has_address_space()
    assert asked == [(-1, 112 * 1024 * 1024), (0, 0)]
    monkeypatch.setattr(guard, "guarded", lambda words: 0)
    for error in (OSError(12, "no memory"), MemoryError()):
        failing[:] = [error]
        assert not guard._has_address_space()
        limited(monkeypatch, 64 << 20)
        assert guard._supervised(["hosts", "x"]) == 70
        assert capfd.readouterr().err.splitlines()[0] == (
            "pcq-analyzer: memory ran out (the limit of address space is 64 MiB)"
        )


# ------------------------------------------------------------------------------------------------ the end of a command


def ends(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> int:
    def run(words: object) -> int:
        raise error

    monkeypatch.setattr(all_commands, "run", run)
    return guard.guarded(["timeline", "x"])


@pytest.mark.parametrize(
    ("error", "code", "sentences"),
    [
        (InputError("it is no capture"), 1, ["pcq-analyzer: it is no capture"]),
        (InputError("it is", hint="Look.\n  There."), 1, ["pcq-analyzer: it is", "  Look.", "  There."]),
        (SystemExit(5), 5, []),
        (SystemExit(None), 0, []),
        (SystemExit("words"), 0, []),
        (
            MemoryError(),
            70,
            ["pcq-analyzer: memory ran out", "  shown again by: pcq-analyzer timeline x"],
        ),
    ],
)
def test_each_end_has_its_code(
    error: BaseException,
    code: int,
    sentences: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    limited(monkeypatch, UNLIMITED)
    assert ends(monkeypatch, error) == code
    assert capfd.readouterr().err.splitlines() == sentences


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_is_128_and_its_number_whatever_came_of_it(
    number: signal.Signals, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for then in (None, ValueError("while closing"), 4):

        def run(words: object, then: Any = then) -> int:
            try:
                os.kill(os.getpid(), number)
                os.getpid()
            except KeyboardInterrupt:
                if then is None:
                    raise
                if isinstance(then, Exception):
                    raise then from None
            return 4

        before, unraisable = signal.getsignal(number), sys.unraisablehook
        monkeypatch.setattr(all_commands, "run", run)
        assert guard.guarded(["timeline"]) == 128 + number
        assert signal.getsignal(number) is before
        assert sys.unraisablehook is unraisable
    assert capfd.readouterr().err == ""


def test_the_second_signal_ends_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[int] = []
    monkeypatch.setattr(os, "_exit", ended.append)
    signals = guard._Signals()
    with pytest.raises(KeyboardInterrupt), signals:
        signals._interrupt(signal.SIGTERM, None)
    assert (signals.caught, signals.code, ended) == (signal.SIGTERM, 143, [])
    with pytest.raises(KeyboardInterrupt):
        signals._interrupt(signal.SIGHUP, None)
    assert ended == [129]
    assert guard._Signals().code == 130


def deep() -> BaseException:
    try:
        raise RecursionError
    except RecursionError as error:
        return error


def chained(cause: BaseException | None) -> BaseException:
    error = ReadingFailedError("the capture was read in part only")
    error.__cause__ = cause
    return error


OURS = "an error in this program ended it:"
LINE = deep.__code__.co_firstlineno + 2


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (StreamClosedError("standard output is closed"), "standard output is closed"),
        (MemoryError("words"), "memory ran out{}"),
        (deep(), f"something is nested too deep in tests.commands.test_ends_of_commands, line {LINE}"),
        (RecursionError(), "something is nested too deep"),
        (ValueError("secret"), f"{OURS} ValueError{{}}; PCQ_DEBUG=1 shows more"),
        (chained(MemoryError()), "the capture was read in part only, because memory ran out{}"),
        (
            chained(None),
            f"the capture was read in part only, because {OURS} ReadingFailedError{{}}; PCQ_DEBUG=1 shows more",
        ),
    ],
)
@pytest.mark.parametrize(
    ("limit", "words"),
    [
        (UNLIMITED, ""),
        (300 << 20, " (the limit of address space is 300 MiB)"),
        (0, " (the limit of address space is 0 MiB)"),
    ],
)
def test_what_failed_is_its_kind_and_place(
    error: BaseException, sentence: str, limit: int, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    limited(monkeypatch, limit)
    assert guard.sentence_of(error) == sentence.format(words)


# ------------------------------------------------------------------------------------------------ the command line


def test_a_question_that_is_answered_with_no_is_1(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def line(error: BaseException) -> Callable[[object], Callable[..., int]]:
        def app(words: list[str], *, standalone_mode: bool) -> int:
            assert (words, standalone_mode) == (["probe", "x"], False)
            raise error

        return lambda names: app

    monkeypatch.setattr(all_commands, "command_line", line(typer.Abort()))
    assert all_commands.run(["probe", "x"]) == 1
    assert capfd.readouterr().err == "Aborted.\n"
    monkeypatch.setattr(all_commands, "command_line", line(ValueError("ours")))
    with pytest.raises(ValueError, match="ours"):
        all_commands.run(["probe", "x"])


def test_a_command_line_of_no_words_is_2_and_shows_the_help(capfd: pytest.CaptureFixture[str]) -> None:
    assert all_commands.run([]) == 2
    out, err = capfd.readouterr()
    assert "Reads Windows performance-counter traffic" in " ".join(out.split())
    assert err == ""
    # How the program is called is known to whoever called it.
    assert all_commands.run(["timeline"]) == 2
    sentence, way = capfd.readouterr().err.splitlines()
    assert sentence == "pcq-analyzer: Invalid value for FILE: name a capture"
    assert way.endswith(" timeline --help shows how it is used.")


def test_memory_that_runs_out_in_a_finalizer_shows_no_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    class Dying:
        def __init__(self, error: type[Exception]) -> None:
            self.error = error

        def __del__(self) -> None:
            raise self.error

    with guard._Signals():
        Dying(MemoryError)
        assert capsys.readouterr().err == ""
        Dying(KeyError)
        assert "KeyError" in capsys.readouterr().err
