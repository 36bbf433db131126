"""The guard around every command: it turns every end into an exit code, and every failure into one sentence.

There are three kinds of ends. The command's own. A signal (Ctrl-C, SIGTERM, SIGHUP): what is open is closed in good order, and the
exit code is 128 plus the signal's number. An end that nobody foresaw (a mistake of this program, memory that ran out, a closed
standard stream): the exit code is 70, with the command line that shows it again, without its secrets. With PCQ_DEBUG set, the
traceback is shown as well, also for unusable input.
"""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn

from analyzer.commands.shared.exit_codes import EXIT_DONE, EXIT_FAILED, EXIT_UNUSABLE, ReadingFailedError, say_why
from analyzer.core.errors import InputError
from analyzer.core.output.gate import (
    StreamClosedError,
    buffer_standard_output,
    flush_streams,
    occupy_standard_descriptors,
    say,
    watched_output,
)

DEBUG_VARIABLE = "PCQ_DEBUG"
# Options whose values are secrets.
_SECRET = ("--password", "--nt-hash", "--smb-session-key", "--redact-key")
# Reserved, and freed when memory has run out, so that the program can say so.
_RESERVE_BYTES = 1 << 20
# Address space that numpy takes when it is loaded, about.
_LEAST_ADDRESS_SPACE = 112 << 20
# A supervised process adds this to its exit code, to tell it from an exit code of a library.
_OURS = 64
# Places for tools in `sys.monitoring`.
_TOOLS = 6


def run_process() -> NoReturn:
    """Runs the command line of this process under guard, and ends the process."""
    # numpy's linear algebra, of which we use nothing, would start a thread a core.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    buffer_standard_output()
    arguments = sys.argv[1:]
    _end(_supervised(arguments) if _address_space() is not None and hasattr(os, "fork") else guarded(arguments))


def _end(code: int) -> NoReturn:
    """Ends the process, without Python's own end if nothing waits for that: it takes apart all that was read, piece by piece."""
    if not _is_end_awaited() and flush_streams():
        os._exit(code)
    # The interpreter looks for cycles once more when it ends, in all that was read, which goes with it anyway.
    gc.freeze()
    # Where a signal came while Python ran source text (it makes named tuples so), it notes that nobody caught the interrupt, and
    # ends by SIGINT after all. Whenever it runs text, it begins with another note.
    exec("")
    sys.exit(code)


def _is_end_awaited() -> bool:
    """Tells whether Python's own end of the process has work to do: threads, handlers of modules (temporary directories, child
    processes, logs), or what watches the whole run (a debugger, a profiler, coverage, the prompt of `python -i`)."""
    from threading import active_count  # which the command line has loaded

    monitoring = getattr(sys, "monitoring", None)  # of Python 3.12
    return (
        active_count() > 1
        or atexit._ncallbacks() > 0
        or sys.gettrace() is not None
        or sys.getprofile() is not None
        or (monitoring is not None and any(monitoring.get_tool(number) for number in range(_TOOLS)))
        or bool(sys.flags.inspect)
    )


def guarded(arguments: Sequence[str]) -> int:
    """Runs a command under guard. Returns its exit code, or the one of what ended it."""
    signals, reserve = None, b""
    try:
        occupy_standard_descriptors()
        reserve, signals = bytes(_RESERVE_BYTES), _Signals()
        code = EXIT_DONE
        with watched_output(), signals:
            from analyzer.commands.shared.all_commands import run

            code = run(arguments)
        return code if signals.caught is None else signals.code
    except InputError as error:
        _say_traceback(error)
        say_why(error)
        return EXIT_UNUSABLE
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else EXIT_DONE
    except BaseException as error:  # Rust's panics are no `Exception`
        del reserve
        if signals is not None and signals.caught is not None:
            return signals.code
        _say_failure(error, arguments)
        return EXIT_FAILED


@contextmanager
def ending_well() -> Iterator[None]:
    """Makes Ctrl-C a good end of a command that runs until the user ends it. A process that ignores Ctrl-C (nohup) goes on."""
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class _Signals:
    """Turns the first signal that ends a command into `KeyboardInterrupt`, so that what is open is closed; the next one ends the
    process at once. Ignored signals (nohup) stay ignored."""

    def __init__(self) -> None:
        self.caught: int | None = None
        self._before: dict[int, Any] = {}
        self._unraisable = sys.unraisablehook

    @property
    def code(self) -> int:
        return 128 + (self.caught or signal.SIGINT)

    def __enter__(self) -> None:
        sys.unraisablehook = _unraisable
        for number in _ENDING:
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._interrupt)

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        sys.unraisablehook = self._unraisable

    def _interrupt(self, number: int, _: FrameType | None) -> None:
        if self.caught is not None:
            os._exit(128 + number)
        self.caught = number
        # Where it cannot be raised (in a finalizer), Python would show it with a traceback.
        sys.unraisablehook = lambda _: None
        raise KeyboardInterrupt


def _unraisable(found: sys.UnraisableHookArgs) -> None:
    """Ignores memory that ran out where nothing can be raised (in a finalizer): it runs out elsewhere too, and is reported
    there."""
    if not issubclass(found.exc_type, MemoryError):
        sys.__unraisablehook__(found)


_ENDING = (signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else []))


# --------------------------------------------------------------------------------------------------------- failures


def _say_failure(error: BaseException, arguments: Sequence[str]) -> None:
    """Says in a sentence why a command failed, and the command line that shows it again."""
    _say_traceback(error)
    say(f"pcq-analyzer: {sentence_of(error)}", f"  shown again by: pcq-analyzer {' '.join(shown_again(arguments))}")


def _say_traceback(error: BaseException) -> None:
    """Prints the traceback of a command's error if PCQ_DEBUG asks for it, also for unusable input: a mistake of ours may be its
    cause."""
    if os.environ.get(DEBUG_VARIABLE):
        from traceback import format_exception

        say(*"".join(format_exception(error)).splitlines())


def sentence_of(error: BaseException) -> str:
    """Returns the sentence that says what failed in a command. For an unforeseen exception it states kind and place, since the text
    may hold secrets."""
    if isinstance(error, ReadingFailedError):
        inner = error.__cause__ or error
        return f"{error}, because {_what(inner)}"
    return _what(error)


def _what(error: BaseException) -> str:
    limit = _address_space()
    limited = f" (the limit of address space is {limit >> 20:,} MiB)" if limit is not None else ""
    if isinstance(error, StreamClosedError):
        return str(error)
    if isinstance(error, MemoryError):
        return f"memory ran out{limited}"
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    where = ""
    if place is not None:
        name = place.tb_frame.f_globals.get("__name__", "?")
        where = f" in {name}, line {place.tb_lineno}"
    kind = type(error).__name__
    if isinstance(error, RecursionError):
        return f"something is nested too deep{where}"
    return f"an error in this program ended it: {kind}{where}{limited}; PCQ_DEBUG=1 shows more"


def shown_again(arguments: Sequence[str]) -> Iterator[str]:
    """Yields the arguments of a command that failed under guard as a shell takes them, with `-` for each secret, which makes the
    command ask for it."""
    from analyzer.core.printable_text import shell_word

    is_secret = False
    for word in arguments:
        name, equals, _ = word.partition("=")
        if is_secret and word != "-":
            yield "-"
        elif equals and name in _SECRET:
            yield f"{name}=-"
        else:
            yield shell_word(word)
        is_secret = not is_secret and word in _SECRET


# --------------------------------------------------------------------------------------------------- limited memory


def _address_space() -> int | None:
    """Returns the bytes of address space that the command's process may have (`ulimit -v`); None without a limit."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if limit == resource.RLIM_INFINITY else limit


def _has_address_space() -> bool:
    """Tells whether the command's process has the address space for loading: with less, numpy's libraries wait for ever."""
    from mmap import mmap

    try:
        mmap(-1, _LEAST_ADDRESS_SPACE).close()
    except (OSError, MemoryError):
        return False
    return True


def _supervised(arguments: Sequence[str]) -> int:
    """Runs a command in a child process: if address space is short, native libraries end it by a signal or an exit code of
    theirs."""
    if not _has_address_space():
        _say_failure(MemoryError(), arguments)
        return EXIT_FAILED
    # polars: a thread a core takes address space. Rust's backtrace of memory that ran out needs memory too, and may wait for ever.
    os.environ.update(POLARS_MAX_THREADS="1", RUST_BACKTRACE="0")
    child = os.fork()
    if child == 0:
        code = -_OURS
        try:
            code = guarded(arguments)
            flush_streams()
        finally:
            os._exit(code + _OURS)
    handed: list[int] = []

    def hand_on(number: int, _: FrameType | None) -> None:
        # The second one kills: native code that waits for ever lets no handler of Python run.
        os.kill(child, signal.SIGKILL if handed else number)
        handed.append(number)

    for number in _ENDING:
        # The terminal sends Ctrl-C to both processes; what is sent to this one alone is handed on.
        signal.signal(number, signal.SIG_IGN if number == signal.SIGINT else hand_on)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code - 128 in _ENDING:  # the second signal
        return code
    if code == -signal.SIGKILL and len(handed) > 1:
        return 128 + handed[-1]
    if code >= _OURS:
        return code - _OURS
    _say_failure(MemoryError(), arguments)
    return EXIT_FAILED
