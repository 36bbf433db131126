"""Runs stages of `collect` on a Dask cluster: it submits tasks, yields results as they come, and keeps keys in the workers' memory.

Dask puts tasks on workers, repeats those of workers that died, and spills results that are too many. This module decides which
tasks there are. It also decides that keys travel by a worker plugin: never in a task, key or argument, since Dask shows and spills
parts of those.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from secrets import token_hex
from typing import Any, TypeVar

from distributed import Client, as_completed
from distributed.client import FutureCancelledError
from distributed.diagnostics.plugin import WorkerPlugin
from distributed.scheduler import NoWorkerError

from analyzer.auth.keyring import Keyring
from analyzer.collect.analyse_stage import HELD
from analyzer.collect.local_workers import KILLED, TaskError
from analyzer.core.errors import InputError

Task = TypeVar("Task")
Result = TypeVar("Result")
# Silenced: the results of tasks already say what happens to workers.
_LOGGERS = ("distributed", "distributed.client", "distributed.http.proxy", "bokeh", "tornado")
_PATIENCE_S, _PROGRAM = 30, "pcq-analyzer"
# Both ends of such a connection prove who they are by certificates (distributed.comm.tls in the configuration of Dask).
_TLS = "tls://"


class KeysPlugin(WorkerPlugin):  # type: ignore[misc]
    """Brings the keys to each Dask worker, also to one that joins or is started again later."""

    def __init__(self, keyring: Keyring, keys: str = "") -> None:
        self._keyring, self._keys = keyring, keys
        self.name = f"pcq-keys-{keys}"

    def setup(self, worker: Any) -> None:
        HELD[self._keys] = self._keyring

    def teardown(self, worker: Any) -> None:
        HELD.pop(self._keys, None)

    def __repr__(self) -> str:
        return f"KeysPlugin({self.name})"


class DaskExecutor:
    """Runs the stages of `collect` on a Dask cluster (`collect_run.Executor`)."""

    def __init__(self, client: Client, retries: int) -> None:
        self._client, self._retries = client, retries
        self._waiting: dict[Any, Any] = {}

    def run(
        self, stage: str, function: Callable[[Task], Result], tasks: Sequence[Task]
    ) -> Iterator[tuple[Task, Result | Exception]]:
        """Runs tasks on the Dask cluster; raises `InputError` if the scheduler or all of its workers are lost."""
        waiting = self._waiting
        for task in tasks:
            key = f"{stage}-{token_hex(8)}"
            waiting[self._client.submit(function, task, key=key, retries=self._retries, pure=False)] = task
        for future in as_completed(list(waiting)):
            task = waiting.pop(future)
            result: Result | Exception
            try:
                result = future.result()
            except FutureCancelledError:
                raise InputError(
                    "the scheduler was lost", hint="The dataset is unchanged; run again when there is a scheduler."
                ) from None
            except NoWorkerError:
                raise InputError(
                    "all workers were lost, and none was started again", hint="The dataset is unchanged."
                ) from None
            except Exception as error:
                result = TaskError(KILLED) if type(error).__name__ == "KilledWorker" else error
            future.release()
            yield task, result

    def stop(self) -> None:
        """Cancels the waiting tasks on the Dask cluster; running ones go on."""
        self._client.cancel(list(self._waiting))


@contextmanager
def cluster(keyring: Keyring, scheduler: str, *, keys: str = "", insecure: bool = False) -> Iterator[Client]:
    """Connects to the Dask scheduler at an address and yields the client. Meanwhile its workers hold the keys under the name
    `keys`, beside those of others.

    Raises `InputError` if there is no scheduler, if its workers have another version of this program, or if keys would travel over
    a connection without TLS (unless `insecure`). Whoever can reach such a scheduler can read the keys out of its workers.
    """
    if keyring and not insecure and not scheduler.startswith(_TLS):
        raise InputError(
            f"the scheduler {scheduler} has no TLS: whoever can reach it could read the secrets that are given here",
            hint="Give it certificates and name it by tls://, collect without secrets, or add --insecure.",
        )
    for name in _LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        client = Client(scheduler, timeout=_PATIENCE_S)
    except (OSError, ValueError, TypeError, TimeoutError) as error:
        raise InputError(
            f"the scheduler {scheduler} cannot be reached: {str(error).splitlines()[0] if str(error) else 'no answer'}",
            hint="dask scheduler starts one, dask worker ADDRESS its workers.",
        ) from None
    plugin = KeysPlugin(keyring, keys)
    with client:
        client.register_plugin(plugin)
        try:
            _check_workers(client, scheduler)
            yield client
        finally:
            if client.status == "running":
                client.unregister_worker_plugin(plugin.name)


def _check_workers(client: Client, scheduler: str) -> None:
    found = client.run(version, _PROGRAM)
    if not found:
        raise InputError(f"the scheduler {scheduler} has no workers", hint=f"dask worker {scheduler} starts one.")
    ours = version(_PROGRAM)
    for worker, theirs in sorted(found.items()):
        if theirs != ours:
            raise InputError(
                f"worker {worker} has pcq-analyzer {theirs}, this is {ours}",
                hint="Install the same version on each of these.",
            )
