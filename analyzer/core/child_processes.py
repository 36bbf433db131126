"""Processes that work for this one: how they are started, and that they end with it."""

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
    """Prepares a child process: it ignores Ctrl-C, which is for the command, and ends when the one that started it has ended,
    however that was."""
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
    """A child process that does `work`, a function that is given one end of a pipe (the other is `pipe`) and the arguments, and
    first of all calls `works_for_parent`. It is a copy of this one where copies work, and needs no time to start then; otherwise it
    has the variables, where nobody has set them."""

    def __init__(self, work: Callable[..., None], *arguments: Any, variables: Mapping[str, str]) -> None:
        """Raises `OSError` where no process can be started."""
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
    """Makes child processes that are started meanwhile ignore Ctrl-C, which is for the command: it ends its workers."""
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
    """Gives child processes that are started meanwhile these environment variables, where nobody has set them."""
    before: Mapping[str, str | None] = {name: os.environ.get(name) for name in variables}
    os.environ.update({name: value for name, value in variables.items() if before[name] is None})
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)


class Copies:
    """This process and forked copies of it, which make parts of something long. The parts come in order, and go round: the first is
    made by this process, the next by the first copy.

    A copy has all that this process has in memory, and costs no start. What a copy cannot make, this process makes, so that an
    error is raised where it belongs.
    """

    def __init__(self, make: Callable[[int], Iterable[bytes]], count: int, jobs: int) -> None:
        """`make` gives the bytes of a part, in pieces that are not empty; there are so many parts (`count`), and so many processes
        make them (`jobs`), this one among them."""
        self._make, self._count, self._jobs = make, count, jobs
        self._children: list[tuple[int, BinaryIO] | None] = [None]
        for number in range(1, min(jobs, count)):
            self._children.append(self._copy(number))

    def parts(self) -> Iterator[Iterator[bytes]]:
        """The parts that the copied processes make, one after the other; each is to be taken to its end."""
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
        """A forked copy of the process, and where its parts come from; None where there is no room for one."""
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
    """Whether this process can be forked into copies that work. They work only where it has no other threads, since nobody would
    open the locks of those in a copy, and where the system's own libraries bear it."""
    return hasattr(os, "fork") and sys.platform != "darwin" and active_count() == 1 and "polars" not in sys.modules


_LENGTH = Struct("<Q")
# What a copy makes before what it made is read, in bytes; the system holds as much again, where it allows that.
_WAITING = 4 << 20


def _received(pipe: BinaryIO) -> Iterator[bytes]:
    """Pieces of bytes that a forked copy gives, an empty one at the end of a part; none where it has ended."""
    while len(head := pipe.read(_LENGTH.size)) == _LENGTH.size:
        (length,) = _LENGTH.unpack(head)
        piece = pipe.read(length)
        if len(piece) < length:
            return
        yield piece


def _end(child: int, pipe: BinaryIO) -> None:
    """Sees to it that a forked copy is gone."""
    pipe.close()
    with suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    with suppress(ChildProcessError):
        os.waitpid(child, 0)
