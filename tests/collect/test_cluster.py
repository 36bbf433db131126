"""A run on a Dask cluster of two processes: the same rows, also where a worker is killed, and keys in memory alone."""

from __future__ import annotations

import os
import shutil
import signal
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from analyzer.auth.keyring import Keyring
from analyzer.collect.collection import Request, collect
from analyzer.collect.manifest import read_manifest
from analyzer.collect.sources import find_sources
from analyzer.core.errors import InputError
from analyzer.core.limits import DEFAULTS
from analyzer.output.store import Store
from tests.cli.test_commands import process
from tests.collect.sets import (
    CAPTURES,
    Here,
    difference,
    frames_of,
    keyring_of,
    of_dataset,
    rotated,
    same_rows,
    single,
)
from tests.secrets import leaks

pytestmark = pytest.mark.needs("distributed", "bokeh")
SEALED = "pcq_smbd_scapy_impacket_smb311_ntlm_privacy.pcap"


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with of_two_workers() as found:
        yield found


@pytest.fixture
def own() -> Iterator[Any]:
    """A cluster of its own, for what kills workers: Dask starts one again, but not one that dies while it is being started."""
    with of_two_workers() as found:
        yield found


def of_two_workers() -> AbstractContextManager[Any]:
    from analyzer.collect.cluster import cluster

    return cluster(keyring_of(SEALED), workers=2, memory="600MB", retries=1)


@pytest.fixture(scope="module")
def ring(tmp_path_factory: pytest.TempPathFactory) -> Path:
    link_type, frames = frames_of(CAPTURES / SEALED)
    directory = tmp_path_factory.mktemp("ring")
    rotated(frames, link_type, directory, 5, 2, sensors=2)
    return directory


def running(client: Any) -> list[int]:
    """The processes of the workers that have been started to the end."""
    found: list[int] = []
    while not found:
        found = [pid for pid in client.run(_running, nanny=True, on_error="ignore").values() if pid is not None]
        Event().wait(0 if found else 0.05)
    return found


def _running(dask_worker: Any) -> int | None:
    return dask_worker.process.pid if dask_worker.status.name == "running" else None


class Killing:
    """An executor that kills a worker as soon as the first task of each stage is done."""

    def __init__(self, client: Any) -> None:
        from analyzer.collect.cluster import DaskExecutor

        self._client, self._inner = client, DaskExecutor(client, 3)
        self.killed = 0

    def run(
        self, stage: str, function: Callable[[Any], Any], tasks: Sequence[Any], size: Callable[[Any], int]
    ) -> Iterator[tuple[Any, Any]]:
        for number, pair in enumerate(self._inner.run(stage, function, tasks, size)):
            if not number and stage in ("cut", "analyse"):
                victim = running(self._client)[0]
                os.kill(victim, signal.SIGKILL)
                self.killed += 1
            yield pair


def rows(dataset: Path) -> Any:
    return same_rows(*of_dataset(dataset), alone=True)


def request(ring: Path, dataset: Path) -> Request:
    return Request(find_sources([str(ring)], []), [], str(dataset), DEFAULTS)


def test_a_killed_worker_costs_nothing_but_time(own: Any, ring: Path, tmp_path: Path) -> None:
    executor = Killing(own)
    done = collect(request(ring, tmp_path / "out"), executor)
    assert executor.killed == 2
    assert not done.problems
    assert not difference(same_rows(*single(ring, keyring_of(SEALED)), alone=True), rows(tmp_path / "out"))


def test_no_key_is_in_logs_tasks_or_on_the_dashboard(client: Any, ring: Path, tmp_path: Path) -> None:
    from analyzer.collect.cluster import DaskExecutor, KeysPlugin

    seen: list[tuple[str, int]] = []
    done = collect(
        request(ring, tmp_path / "out"),
        DaskExecutor(client, 3, lambda stage, done, total, tasks, of: seen.append((stage, tasks))),
    )
    assert done.manifest.tables["samples"].rows > 0
    assert {stage for stage, _ in seen} >= {"cut", "analyse", "render"}
    shown = [
        str(client.scheduler_info()),
        str(client.story()),
        str(client.get_worker_logs()),
        str(client.get_scheduler_logs()),
    ]
    shown.append(str(client.get_task_stream()))
    shown.append(repr(KeysPlugin(keyring_of(SEALED))))
    base = client.dashboard_link.rsplit("/", 1)[0]
    for page in (
        "info/main/workers.html",
        "info/main/logs.html",
        "metrics",
        "status",
        "workers",
        "tasks",
    ):
        with urllib.request.urlopen(f"{base}/{page}", timeout=600) as answer:
            shown.append(answer.read().decode())
    assert not leaks("\n".join(shown).encode())
    for directory in client.run(_spilled).values():
        for path in Path(directory).rglob("*"):
            if path.is_file():
                assert not leaks(path.read_bytes()), path


def _spilled(dask_worker: Any) -> str:
    return str(dask_worker.local_directory)


def test_the_command_says_what_was_done_and_what_could_not_be_read(ring: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.pcap").write_bytes(b"no capture at all")
    secrets = CAPTURES / f"{SEALED.removesuffix('.pcap')}.secrets.json"
    result = process(
        "collect", ring, tmp_path / "bad.pcap", "--secrets", secrets, "-o", tmp_path / "out", "--workers", "1"
    )
    words = result.stderr.decode()
    assert result.returncode == 6, words
    assert result.stdout == b""
    assert "dashboard: http://127.0.0.1:" in words
    assert "bad.pcap is not a capture" in words
    assert "\n11 of 11 files read; 1 conversations, 1 analyses\n" in words
    asked = read_manifest(Store(str(tmp_path / "out"))).asked  # type: ignore[union-attr]
    assert asked == {"sources": f"{ring} {tmp_path / 'bad.pcap'}", "retries": "3", "workers": "1"}
    for stage in ("cut", "analyse", "render"):
        assert f"\n  {stage} " in words
    assert "distributed" not in words
    assert not leaks(result.stderr)


def test_an_interrupt_of_the_terminal_is_for_the_command_alone(client: Any) -> None:
    groups = list(client.run(os.getpgrp).values())
    assert len(groups) == 2
    assert os.getpgrp() not in groups


def test_a_scheduler_that_is_lost_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    from distributed.client import FutureCancelledError

    from analyzer.collect import cluster

    class Lost:
        def submit(self, *_: object, key: str, **__: object) -> Lost:
            self.key = key
            return self

        def result(self) -> None:
            raise FutureCancelledError(self.key, "scheduler-connection-lost")

    monkeypatch.setattr(cluster, "as_completed", list)
    with pytest.raises(InputError, match="the scheduler was lost"):
        list(cluster.DaskExecutor(Lost(), 0).run("cut", len, ["x"], len))  # type: ignore[arg-type]


def test_without_any_worker_the_run_ends(ring: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from analyzer.collect import cluster

    assert cluster._WITHOUT_WORKERS_S == 300  # a busy machine takes a minute to start them
    monkeypatch.setattr(cluster, "_WITHOUT_WORKERS_S", 1)
    with of_two_workers() as client:
        client.cluster.scale(0)
        while client.scheduler_info()["workers"]:
            Event().wait(0.05)
        with pytest.raises(InputError, match="all workers were lost, and none was started again"):
            collect(request(ring, tmp_path / "out"), cluster.DaskExecutor(client, 1))


class Hungry:
    """An executor whose analyses take more memory than a worker has."""

    def __init__(self, client: Any) -> None:
        from analyzer.collect.cluster import DaskExecutor

        self._inner = DaskExecutor(client, 0)

    def run(
        self, stage: str, function: Callable[[Any], Any], tasks: Sequence[Any], size: Callable[[Any], int]
    ) -> Iterator[tuple[Any, Any]]:
        return self._inner.run(stage, _eats if stage == "analyse" else function, tasks, size)


def _eats(task: object) -> None:
    eaten = bytearray(b"x") * 800_000_000
    Event().wait()  # for the nanny, which kills the worker
    assert eaten


def test_a_conversation_that_no_worker_has_the_memory_for_is_a_problem(own: Any, ring: Path, tmp_path: Path) -> None:
    done = collect(request(ring, tmp_path / "out"), Hungry(own))
    (problem,) = done.problems
    assert "could not be analysed: each worker that tried was killed (out of memory, perhaps" in problem.text
    tables, files = of_dataset(tmp_path / "out")
    assert len(files) == 10
    assert problem.text in tables["problems"]["text"].to_list()


def test_a_cluster_elsewhere_is_used_and_has_what_others_gave_it_still(client: Any, ring: Path, tmp_path: Path) -> None:
    secrets = CAPTURES / f"{SEALED.removesuffix('.pcap')}.secrets.json"
    address = client.scheduler_info()["address"]
    result = process("collect", ring, "--secrets", secrets, "-o", tmp_path / "out", "--scheduler", address)
    words = result.stderr.decode()
    assert result.returncode == 0, words
    assert "the keys travel to the workers as they are" in words
    assert f"dashboard: {client.dashboard_link}" in words
    assert not difference(same_rows(*single(ring, keyring_of(SEALED)), alone=True), rows(tmp_path / "out"))
    assert list(client.run(_names_of_keys).values()) == [("",), ("",)]
    for options in (("--workers", "2"), ("--memory", "1GB")):
        refused = process("collect", ring, "-o", tmp_path / "out", "--scheduler", address, *options)
        assert refused.returncode == 2
        assert b"the cluster has workers of its own" in refused.stderr


@pytest.mark.parametrize(("given", "words"), [("150MB", "too little for a worker"), ("much", "is no size of memory")])
def test_memory_with_which_no_worker_could_work_is_refused(given: str, words: str) -> None:
    from analyzer.collect.cluster import cluster

    with pytest.raises(InputError, match=words), cluster(Keyring(), memory=given):
        pytest.fail("there is a cluster")


def test_workers_never_pause_for_want_of_memory(client: Any) -> None:
    assert list(client.run(_fraction_to_pause_at).values()) == [False, False]


def _fraction_to_pause_at(dask_worker: Any) -> object:
    return dask_worker.memory_manager.memory_pause_fraction


def _names_of_keys() -> tuple[str, ...]:
    from analyzer.collect import keys

    return tuple(keys._here)


@pytest.mark.needs("moto", "flask", "s3fs")
def test_object_storage_is_read_and_written(ring: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import fsspec
    from moto.server import ThreadedMotoServer

    import analyzer as pcq
    from analyzer.collect.keys import forget, hold

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        for name, value in (
            ("AWS_ENDPOINT_URL", f"http://{host}:{port}"),
            ("AWS_ACCESS_KEY_ID", "test"),
            ("AWS_SECRET_ACCESS_KEY", "test"),
            ("AWS_DEFAULT_REGION", "us-east-1"),
            ("AWS_ALLOW_HTTP", "true"),
        ):
            monkeypatch.setenv(name, value)
        fs = fsspec.filesystem("s3")
        fs.mkdir("sensors")
        for path in sorted(ring.iterdir())[:3]:
            shutil.copy(path, tmp_path)
            fs.pipe(f"sensors/day/{path.name}", path.read_bytes())
        hold(keyring_of(SEALED))
        found = find_sources(["s3://sensors/day"], [])
        assert len(found) == 3
        done = collect(Request(found, [], "s3://sensors/tables", DEFAULTS), Here())
        assert not done.problems
        ds = pcq.open("s3://sensors/tables")
        expected = single(tmp_path, keyring_of(SEALED))[0]
        assert ds.calls.collect().height == expected["calls"].height
        assert ds.samples.collect()["raw"].sort().to_list() == expected["samples"]["raw"].sort().to_list()
        assert ds.conversation(1).calls.height == expected["calls"].height
        assert not collect(Request(found, [], "s3://sensors/tables", DEFAULTS), Here()).read
    finally:
        forget()
        server.stop()
