"""Starts child processes that work for this process, and makes them end with it."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from struct import Struct
from threading import Thread, active_count, current_thread, main_thread
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

# Libraries of numpy would start a thread for each core in each process.
ONE_THREAD: Mapping[str, str] = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def works_for_parent() -> None:
    """Prepares a child process: it ignores Ctrl-C, which is for the command, and ends when its parent ends for any reason."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    from multiprocessing import parent_process  # slow to load, for those who start no process
    from multiprocessing.connection import wait

    parent = parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)


class StartedProcess:
    """A child process that runs `work`. `work` gets one end of a pipe (the other is `pipe`) and the arguments, and first calls
    `works_for_parent`. The child is a copy of this process if copies work, and then starts at once. Otherwise it gets the
    environment `variables`, unless somebody has set them."""

    def __init__(self, work: Callable[..., None], *arguments: Any, variables: Mapping[str, str]) -> None:
        """Starts the child process that runs `work`. Raises `OSError` if none can be started."""
        from multiprocessing import get_context  # slow to load, for those who start no process

        context = get_context("fork") if may_copy() else get_context("spawn")
        self.pipe: Connection
        self.pipe, other = context.Pipe()
        self.process: BaseProcess = context.Process(target=work, args=(other, *arguments), daemon=True)
        with _interrupts_ignored(), environment(variables):
            self.process.start()
        other.close()

    def end(self) -> None:
        """Ends the child process, whatever it is doing."""
        self.process.kill()
        self.process.join()
        self.pipe.close()


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """Makes child processes that start meanwhile ignore Ctrl-C. It is for their parent, which ends its children."""
    if current_thread() is not main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Gives child processes that start meanwhile these environment variables, unless somebody has set them."""
    before: Mapping[str, str | None] = {name: os.environ.get(name) for name in variables}
    os.environ.update({name: value for name, value in variables.items() if before[name] is None})
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)


class Copies:
    """This process and forked copies of it make the parts of something long. The parts come in order, and the processes take turns:
    this process makes the first, the first copy the next.

    A copy has all that this process has in memory, and starts at once. If a copy cannot make a part, this process makes it, so that
    an error is raised where it belongs.
    """

    def __init__(self, make: Callable[[int], Iterable[bytes]], count: int, jobs: int) -> None:
        """`make` yields the bytes of a part that a forked copy makes, in pieces that are not empty. There are `count` parts, made
        by `jobs` processes, this one among them."""
        self._make, self._count, self._jobs = make, count, jobs
        self._children: list[tuple[int, BinaryIO] | None] = [None]
        for number in range(1, min(jobs, count)):
            self._children.append(self._copy(number))

    def parts(self) -> Iterator[Iterator[bytes]]:
        """Yields all parts in order, made by this process and its forked copies. Read each part to its end."""
        try:
            for part in range(self._count):
                yield self._part(part)
        finally:
            for child in self._children:
                if child is not None:
                    _end(*child)

    def _part(self, part: int) -> Iterator[bytes]:
        at, given = part % self._jobs, 0
        child = self._children[at]
        if child is not None:
            for piece in _received(child[1]):
                if not piece:
                    return
                given += len(piece)
                yield piece
            self._children[at] = None
            _end(*child)
        # No copy makes it. What one that has ended gave of it is as it would be now.
        for piece in self._make(part):
            if left := piece[given:]:
                yield left
            given -= len(piece) - len(left)

    def _copy(self, number: int) -> tuple[int, BinaryIO] | None:
        """Forks a copy of this process and returns its id and the stream of its parts, None if it cannot be forked."""
        from socket import SO_SNDBUF, SOL_SOCKET, socketpair  # slow to load, for those who copy nothing

        here, there = socketpair()
        there.setsockopt(SOL_SOCKET, SO_SNDBUF, _WAITING)
        try:
            child = os.fork()
        except OSError:
            here.close()
            there.close()
            return None
        if child:
            with here, there:
                return child, here.makefile("rb")
        try:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            here.close()
            with there.makefile("wb", buffering=_WAITING) as out:
                for part in range(number, self._count, self._jobs):
                    for piece in self._make(part):
                        out.write(_LENGTH.pack(len(piece)))
                        out.write(piece)
                    out.write(_LENGTH.pack(0))
                    out.flush()
        finally:
            os._exit(0)  # nothing of what the parent has open is closed, or written, twice


def may_copy() -> bool:
    """Whether this process can be forked into copies that work. It may have no other threads, because nobody would release their
    locks in a copy, and the system's own libraries must bear it."""
    return hasattr(os, "fork") and sys.platform != "darwin" and active_count() == 1 and "polars" not in sys.modules


_LENGTH = Struct("<Q")
# Bytes that a copy makes ahead of the reader. The system holds as much again, if it allows that.
_WAITING = 4 << 20


def _received(pipe: BinaryIO) -> Iterator[bytes]:
    """Yields the pieces of bytes that a forked copy sends, an empty one at the end of a part. It stops if the copy has ended."""
    while len(head := pipe.read(_LENGTH.size)) == _LENGTH.size:
        (length,) = _LENGTH.unpack(head)
        piece = pipe.read(length)
        if len(piece) < length:
            return
        yield piece


def _end(child: int, pipe: BinaryIO) -> None:
    """Ends a forked copy of this process, and waits for it."""
    pipe.close()
    with suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    with suppress(ChildProcessError):
        os.waitpid(child, 0)
