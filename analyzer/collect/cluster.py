"""Stages on a Dask cluster: tasks out, results back as they come, keys in the memory of the workers.

Dask schedules: it puts tasks on workers, repeats those of workers that died, and spills results that are too many. Ours is which
tasks there are, and that keys travel by a worker plugin: in no task, key or argument, of which Dask shows and spills parts.
"""

from __future__ import annotations

import logging
import os
import secrets
import signal
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from threading import current_thread, main_thread
from typing import Any, Literal, Protocol, TypeVar

import dask
from dask.utils import parse_bytes
from distributed import Client, LocalCluster, as_completed
from distributed.client import FutureCancelledError
from distributed.diagnostics.plugin import WorkerPlugin
from distributed.scheduler import NoWorkerError

from analyzer.auth.keyring import Keyring
from analyzer.collect.keys import forget, hold
from analyzer.core.errors import InputError

Task = TypeVar("Task")
Result = TypeVar("Result")
# numpy and polars would start a thread a core in each worker, of which there is one a core already.
_ENVIRONMENT = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "POLARS_MAX_THREADS": "1",
    "MALLOC_TRIM_THRESHOLD_": "65536",
    "DASK_LOGGING__DISTRIBUTED": "critical",
}
# What befalls workers is stated by what becomes of their tasks.
_LOGGERS = ("distributed", "distributed.client", "distributed.http.proxy", "bokeh", "tornado")
_DASHBOARD = "127.0.0.1:8787"
_PATIENCE_S = 30
# Dask does not start a worker again that dies while it is being started: tasks that no worker is left for would wait for ever.
_WITHOUT_WORKERS_S = 300
# A worker takes 110 MB before it has read a byte; with less than this, one that is started again would be ended at once, for ever.
_LEAST_MEMORY = 256 << 20


class Watcher(Protocol):
    """Hears how far a stage has come: its name, bytes done and in all, tasks done and in all."""

    def __call__(self, stage: str, done: int, total: int, tasks: int, of: int) -> None: ...


class KeysPlugin(WorkerPlugin):  # type: ignore[misc]
    """Brings the keys to each worker, also to one that joins or is started again later."""

    def __init__(self, keyring: Keyring, keys: str = "") -> None:
        self._keyring, self._keys = keyring, keys
        self.name = f"pcq-keys-{keys}"

    def setup(self, worker: Any) -> None:
        hold(self._keyring, self._keys)

    def teardown(self, worker: Any) -> None:
        forget(self._keys)

    def __repr__(self) -> str:
        return f"KeysPlugin({self.name})"


class AsidePlugin(WorkerPlugin):  # type: ignore[misc]
    """Puts a worker in a process group of its own: Ctrl-C on the terminal is for the command, which ends its workers."""

    name = "pcq-aside"

    def setup(self, worker: Any) -> None:
        if hasattr(os, "setpgid"):
            os.setpgid(0, 0)


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """What is started meanwhile never hears of Ctrl-C, until the plugin is there."""
    if current_thread() is not main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class DaskExecutor:
    """Runs stages on a cluster (`collection.Executor`)."""

    def __init__(self, client: Client, retries: int, watcher: Watcher | None = None) -> None:
        self._client, self._retries, self._watcher = client, retries, watcher
        self._run = secrets.token_hex(4)
        self._count = 0

    def run(
        self, stage: str, function: Callable[[Task], Result], tasks: Sequence[Task], size: Callable[[Task], int]
    ) -> Iterator[tuple[Task, Result | Exception]]:
        """The longest tasks begin first, so that none of them is alone at the end. Raises `InputError` where the scheduler is
        lost, or all of its workers."""
        total, done = sum(map(size, tasks)), 0
        self._report(stage, 0, total, 0, len(tasks))
        waiting = {}
        for task in sorted(tasks, key=size, reverse=True):
            self._count += 1
            key = f"{stage}-{self._run}-{self._count}"
            waiting[self._client.submit(function, task, key=key, retries=self._retries, pure=False)] = task
        finished = 0
        for future in as_completed(list(waiting)):
            task = waiting.pop(future)
            result: Result | Exception
            try:
                result = future.result()
            except FutureCancelledError:
                raise InputError(
                    "the scheduler was lost", hint="The dataset is as it was; run again when there is a scheduler."
                ) from None
            except NoWorkerError:
                raise InputError(
                    "all workers were lost, and none was started again",
                    hint="The dataset is as it was. With fewer --workers, each has more memory.",
                ) from None
            except Exception as error:
                result = error
            future.release()
            finished, done = finished + 1, done + size(task)
            self._report(stage, done, total, finished, len(tasks))
            yield task, result

    def _report(self, stage: str, done: int, total: int, tasks: int, of: int) -> None:
        if self._watcher is not None:
            self._watcher(stage, done, total, tasks, of)


@contextmanager
def cluster(
    keyring: Keyring,
    *,
    keys: str = "",
    scheduler: str | None = None,
    workers: int | None = None,
    memory: str | None = None,
    retries: int = 3,
) -> Iterator[Client]:
    """A client of the scheduler at an address, else of one on this machine with so many workers (a process each, one a core if not
    given), each with so much memory, where a task is tried so often again after its worker died (a scheduler elsewhere has a number
    of its own). The workers have the keys by a name as long as it lives, beside those of others.

    Raises `InputError` where there is no scheduler, where its workers have another version of this program, or where `memory` is no
    size, or one with which no worker could work.
    """
    for name in _LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    if scheduler is not None:
        try:
            client = Client(scheduler, timeout=_PATIENCE_S)
        except (OSError, ValueError, TimeoutError) as error:
            raise InputError(
                f"the scheduler {scheduler} cannot be reached: {str(error).splitlines()[0] if str(error) else 'no answer'}",
                hint="dask scheduler starts one, dask worker ADDRESS its workers.",
            ) from None
        with client, _keys(client, keyring, keys):
            _check_workers(client, scheduler)
            yield client
        return
    limit = _memory_of(memory)
    before = {name: os.environ.get(name) for name in _ENVIRONMENT}
    os.environ.update({name: value for name, value in _ENVIRONMENT.items() if before[name] is None})
    try:
        with (
            # A worker has one task and keeps no results: one that paused for want of memory would wait for nothing, for ever.
            dask.config.set(
                {
                    "distributed.scheduler.allowed-failures": retries,
                    "distributed.scheduler.no-workers-timeout": f"{_WITHOUT_WORKERS_S}s",
                    "distributed.worker.memory.pause": False,
                }
            ),
            _local(workers, limit) as local,
            Client(local) as client,
            _keys(client, keyring, keys),
        ):
            client.register_plugin(AsidePlugin())
            yield client
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)


def _memory_of(given: str | None) -> int | Literal["auto"]:
    """In bytes; Dask's share of what there is if not given."""
    if given is None:
        return "auto"
    try:
        limit = int(parse_bytes(given))
    except ValueError:
        raise InputError(f"{given} is no size of memory", hint="As 2GB or 800MiB.") from None
    if limit < _LEAST_MEMORY:
        raise InputError(
            f"{given} of memory is too little for a worker", hint="It takes 256 MiB at least, 2GB do for most."
        )
    return limit


def _local(workers: int | None, memory: int | Literal["auto"]) -> LocalCluster:
    # That the usual port of the dashboard is taken is no warning: another is stated.
    with warnings.catch_warnings(action="ignore"), _interrupts_ignored():
        return LocalCluster(
            n_workers=workers or os.cpu_count() or 1,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address=_DASHBOARD,
            memory_limit=memory,
            silence_logs=logging.CRITICAL,
        )


@contextmanager
def _keys(client: Client, keyring: Keyring, keys: str) -> Iterator[None]:
    """The workers have the keys, and have them no more afterwards."""
    plugin = KeysPlugin(keyring, keys)
    client.register_plugin(plugin)
    try:
        yield
    finally:
        if client.status == "running":
            client.unregister_worker_plugin(plugin.name)


def _check_workers(client: Client, scheduler: str) -> None:
    found = client.run(program_version)
    if not found:
        raise InputError(f"the scheduler {scheduler} has no workers", hint=f"dask worker {scheduler} starts one.")
    ours = program_version()
    for worker, theirs in sorted(found.items()):
        if theirs != ours:
            raise InputError(
                f"worker {worker} has pcq-analyzer {theirs}, this is {ours}",
                hint="Install the same version on all of them.",
            )


def program_version() -> str:
    """The version of this program where it is called."""
    return version("pcq-analyzer")
