"""Runs stages of `collect` in worker processes on this machine, each behind a pipe of its own. No port is opened.

Keys travel through these pipes and stay in the memory of the processes.
"""

from __future__ import annotations

import os
import resource
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Self, TypeVar

from msgspec import Struct

from analyzer.auth.keyring import Keyring
from analyzer.collect.analyse_stage import HELD
from analyzer.core.child_processes import ONE_THREAD, StartedProcess, works_for_parent
from analyzer.core.errors import InputError
from analyzer.core.output.file_store import StoreError

Task = TypeVar("Task")
Result = TypeVar("Result")
# numpy and polars would start a thread for each core in each worker, and there is a worker for each core already. Memory of a table
# that is written goes back at once: that of the next table is asked for elsewhere.
_ENVIRONMENT = {
    **ONE_THREAD,
    "POLARS_MAX_THREADS": "1",
    "MALLOC_TRIM_THRESHOLD_": "65536",
    "_RJEM_MALLOC_CONF": "dirty_decay_ms:0,muzzy_decay_ms:0",
}
KILLED = "each worker that tried was killed (out of memory, perhaps: the limit is that of --memory)"
# A worker takes 150 MB before it has read a byte.
_LEAST_MEMORY = 256 << 20
_UNITS = {"": 1, "B": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_UNITS |= {f"{unit}I": 1 << 10 * power for power, unit in enumerate("KMGT", 1)}
# The run fails if this many workers in a row end while they start.
_MOST_STARTS = 5
# The limit that a control group sets for the memory of its processes (Linux, cgroup v2).
_GROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")


class TaskError(Exception):
    """Says in a sentence why a worker's task failed finally."""


def reason_of(error: BaseException) -> str:
    """Says in words why a worker's task of `collect` failed. For an unforeseen exception it states only the kind, since the text
    may hold anything."""
    if isinstance(error, MemoryError):
        return "memory ran out"
    if isinstance(error, InputError | OSError | TaskError):
        return str(error)
    return f"the program failed ({type(error).__name__})"


class _Attempt(Struct, frozen=True):
    """A task for a worker, and how many attempts failed before."""

    task: Any
    failures: int = 0


class _Worker(StartedProcess):
    """A worker process, its present task, and whether it has finished starting."""

    def __init__(self, keyring: Keyring, keys: str, memory: int) -> None:
        super().__init__(_work, keyring, keys, memory, variables=_ENVIRONMENT)
        self.attempt: _Attempt | None = None
        self.is_ready = False

    def give(self, function: Callable[[Any], Any], attempt: _Attempt) -> None:
        self.attempt = attempt
        with suppress(OSError):  # it has ended; the next read says so
            self.pipe.send((function, attempt.task))


class LocalWorkers:
    """Runs the stages of `collect` in processes of this machine (`collect_run.Executor`). `workers` is their number (default: one
    for each core), `memory` the limit of each. A task that fails, or whose process ends, is tried again up to `retries` times."""

    def __init__(
        self,
        keyring: Keyring,
        *,
        keys: str = "",
        workers: int | None = None,
        memory: str | None = None,
        retries: int,
    ) -> None:
        """Raises `InputError` if `memory` is no size, or too small for a worker."""
        self._most = workers or os.cpu_count() or 1
        self._of_each = keyring, keys, memory_of(memory, self._most)
        self._retries = retries
        self._workers: list[_Worker] = []
        self._failed_starts = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def run(
        self, stage: str, function: Callable[[Task], Result], tasks: Sequence[Task]
    ) -> Iterator[tuple[Task, Result | Exception]]:
        """Runs tasks in worker processes; raises `InputError` where no worker can be started."""
        finished = 0
        waiting = deque(map(_Attempt, tasks))
        while finished < len(tasks):
            self._hand_out(function, waiting)
            for attempt, result in self._answers():
                if isinstance(result, Exception) and attempt.failures < self._retries:
                    waiting.append(_Attempt(attempt.task, attempt.failures + 1))
                    continue
                finished += 1
                yield attempt.task, result

    def stop(self) -> None:
        """Ends the worker processes, whatever they are doing."""
        while self._workers:
            self._workers.pop().end()

    def _hand_out(self, function: Callable[[Any], Any], waiting: deque[_Attempt]) -> None:
        """Gives each idle worker process a task; starts more workers while tasks wait."""
        for worker in [worker for worker in self._workers if worker.attempt is None and not worker.process.is_alive()]:
            # It ended while it had nothing to do, which is no attempt at the next task.
            self._workers.remove(worker)
            worker.end()
        idle = [worker for worker in self._workers if worker.attempt is None]
        while waiting and (idle or len(self._workers) < self._most):
            if not idle:
                try:
                    idle.append(_Worker(*self._of_each))
                except OSError as error:
                    if self._workers:
                        return  # those that there are go on alone
                    raise InputError(
                        f"no worker could be started: {error.strerror or error}", hint="The dataset is unchanged."
                    ) from None
                self._workers += idle
            idle.pop().give(function, waiting.popleft())

    def _answers(self) -> Iterator[tuple[_Attempt, Any]]:
        """Waits for worker processes; yields the tasks that ended, each with its result or exception."""
        by_pipe = {worker.pipe: worker for worker in self._workers if worker.attempt is not None}
        for pipe in wait(list(by_pipe)):
            worker = by_pipe[pipe]  # type: ignore[index]
            attempt = worker.attempt
            assert attempt is not None
            try:
                answer = worker.pipe.recv()
            except (EOFError, OSError):
                yield self._lost(worker, attempt)
                continue
            if not worker.is_ready:
                worker.is_ready, self._failed_starts = True, 0
                continue
            worker.attempt = None
            yield attempt, answer

    def _lost(self, worker: _Worker, attempt: _Attempt) -> tuple[_Attempt, Exception]:
        self._workers.remove(worker)
        worker.end()
        if not worker.is_ready:
            self._failed_starts += 1
            if self._failed_starts >= _MOST_STARTS:
                raise InputError(
                    "no worker could be started",
                    hint="The dataset is unchanged. With fewer --workers, each has more memory.",
                )
            # The task was never begun: this attempt does not count.
            attempt = _Attempt(attempt.task, attempt.failures - 1)
        return attempt, TaskError(KILLED)


def _work(pipe: Connection, keyring: Keyring, keys: str, memory: int) -> None:
    """Runs in a worker process: performs one task after the other, until the other end of the pipe is closed."""
    works_for_parent()
    resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    HELD[keys] = keyring
    pipe.send(None)
    while True:
        try:
            function, task = pipe.recv()
        except EOFError:
            return
        try:
            result = function(task)
        except StoreError as error:
            result = error
        except Exception as error:
            result = TaskError(reason_of(error))
        pipe.send(result)


def memory_of(given: str | None, workers: int) -> int:
    """Returns how many bytes of memory each of `workers` processes may have: as given, else its share of the machine's memory."""
    if given is None:
        return max(_memory_there_is() // workers, _LEAST_MEMORY)
    text = given.strip().upper()
    unit = text.lstrip("0123456789. ")
    try:
        limit = int(float(text.removesuffix(unit)) * _UNITS[unit.removesuffix("B") or unit])
    except (ValueError, KeyError, OverflowError):
        raise InputError(f"{given} is no size of memory", hint="Write 2GB or 800MiB.") from None
    if limit < _LEAST_MEMORY:
        raise InputError(
            f"{given} of memory is too little for a worker", hint="It takes 256 MiB at least, 2GB do for most."
        )
    return limit


def _memory_there_is() -> int:
    there_is = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with suppress(OSError, ValueError):
        return min(there_is, int(_GROUP_LIMIT.read_text()))
    return there_is
