"""The processes of this machine: the same rows, also where one is killed; no port, and keys in memory alone."""

import errno
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.context import SpawnProcess
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from analyzer.auth.keyring import Keyring
from analyzer.collect import local_workers as module
from analyzer.collect.dataset_manifest import read_manifest
from analyzer.collect.local_workers import KILLED, LocalWorkers, TaskError, memory_of
from analyzer.core.child_processes import environment
from analyzer.core.errors import InputError
from analyzer.core.output.file_store import Store, StoreError
from tests.collect.sets import CAPTURES, collected, keyring_of, of_dataset, rotated, same_rows
from tests.secrets import leaks

pytestmark = pytest.mark.needs("fsspec")
SEALED = "pcq_smbd_scapy_impacket_smb311_ntlm_privacy.pcap"


@pytest.fixture(scope="module")
def workers() -> Iterator[LocalWorkers]:
    with LocalWorkers(keyring_of(SEALED), workers=2, memory="600MB", retries=1) as found:
        yield found


@pytest.fixture(scope="module")
def ring(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return rotated(SEALED, tmp_path_factory.mktemp("ring"), 5, 2, sensors=2)


def rows(dataset: Path) -> Any:
    return same_rows(*of_dataset(dataset), alone=True)


def results(workers: LocalWorkers, function: Callable[[Any], Any], tasks: Sequence[Any]) -> list[Any]:
    found = dict(workers.run("stage", function, tasks))
    return [found[task] for task in tasks]


# Tasks, as the other process imports them.


def _twice(task: int) -> int:
    return 2 * task


def _fails(task: str) -> None:
    known = {"InputError": InputError("a sentence", hint="a hint"), "OSError": OSError(5, "no answer")}
    raise {**known, "StoreError": StoreError("full")}.get(task, KeyError("alice's password"))


def _dies_once(task: str) -> str:
    path = Path(task)
    if not path.exists():
        path.write_text("died")
        os.kill(os.getpid(), signal.SIGKILL)
    return path.read_text()


def _dies(task: str) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _eats(task: object) -> int:
    return len(bytearray(b"x") * 800_000_000)


def _of_process(task: int) -> tuple[int, bytes, bytes, bool]:
    """The process, its arguments and its environment, and whether it ignores Ctrl-C."""
    here = Path("/proc/self")
    ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    return os.getpid(), (here / "cmdline").read_bytes(), (here / "environ").read_bytes(), ignored


def _sleeps(task: str) -> None:
    Path(task).write_text(str(os.getpid()))
    Event().wait()


def test_each_task_has_its_result_and_the_first_begins_first() -> None:
    with LocalWorkers(Keyring(), workers=1, retries=3) as workers:
        assert list(workers.run("cut", _twice, [3, 1, 2])) == [(3, 6), (1, 2), (2, 4)]
        assert len(workers._workers) == 1
        assert list(workers.run("flows", _twice, [])) == []
    assert workers._workers == []


def test_why_a_task_failed_is_known_and_what_nobody_foresaw_by_its_kind_alone(workers: LocalWorkers) -> None:
    found = results(workers, _fails, ["InputError", "OSError", "KeyError", "StoreError"])
    assert [(type(one), str(one)) for one in found] == [
        (TaskError, str(InputError("a sentence", hint="a hint"))),
        (TaskError, "[Errno 5] no answer"),
        (TaskError, "the program failed (KeyError)"),
        (StoreError, "full"),
    ]


def test_a_task_whose_process_ends_is_tried_again_as_often_as_asked(workers: LocalWorkers, tmp_path: Path) -> None:
    assert results(workers, _dies_once, [str(tmp_path / "x")]) == ["died"]
    (lost,) = results(workers, _dies, ["x"])
    assert str(lost) == KILLED
    assert results(workers, _twice, [4]) == [8]


def test_a_worker_that_ended_while_idle_costs_no_attempt() -> None:
    with LocalWorkers(Keyring(), workers=1, retries=0) as workers:
        assert results(workers, _twice, [4]) == [8]
        (worker,) = workers._workers
        worker.process.kill()
        worker.process.join()
        assert results(workers, _twice, [5]) == [10]


def test_a_task_that_takes_more_memory_than_there_is_fails(workers: LocalWorkers) -> None:
    (lost,) = results(workers, _eats, [0])
    assert str(lost) == "memory ran out"


def test_workers_that_cannot_start_end_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_work", _dies)
    monkeypatch.setattr(module, "_MOST_STARTS", 2)
    with (
        LocalWorkers(Keyring(), workers=1, retries=3) as workers,
        pytest.raises(InputError, match="no worker could be started"),
    ):
        list(workers.run("cut", _twice, [1]))


def test_a_worker_that_ends_while_it_starts_costs_no_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    start = SpawnProcess.start

    def killed(process: Any) -> None:
        monkeypatch.setattr(SpawnProcess, "start", start)
        start(process)
        process.kill()

    monkeypatch.setattr(SpawnProcess, "start", killed)
    with LocalWorkers(Keyring(), workers=1, retries=0) as workers:
        assert results(workers, _twice, [4]) == [8]


@pytest.mark.parametrize("started", [0, 1])
def test_a_system_that_starts_no_further_process_is_told_of_or_done_without(
    started: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = SpawnProcess.start

    def refused(process: Any) -> None:
        nonlocal started
        started -= 1
        if started < 0:
            raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        start(process)

    monkeypatch.setattr(SpawnProcess, "start", refused)
    with LocalWorkers(Keyring(), workers=2, retries=3) as workers:
        if started:
            assert sorted(results(workers, _twice, [1, 2, 3])) == [2, 4, 6]
        else:
            with pytest.raises(InputError, match="no worker could be started: Resource temporarily unavailable"):
                results(workers, _twice, [1, 2, 3])


def test_no_key_is_in_a_task_or_seen_of_a_process(workers: LocalWorkers, ring: Path, tmp_path: Path) -> None:
    for _, arguments, variables, is_deaf in results(workers, _of_process, [1, 2]):
        assert is_deaf
        assert not leaks(arguments + variables)

    class Noting:
        packed = b""

        def run(self, stage: str, function: Any, tasks: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
            for task, result in workers.run(stage, function, tasks):
                self.packed += pickle.dumps((function, task, result))
                yield task, result

        def stop(self) -> None:
            workers.stop()

    noting = Noting()
    done = collected(ring, tmp_path / "out", executor=noting)
    assert done.manifest.tables["samples"].rows > 0
    assert noting.packed
    assert not leaks(noting.packed)


# --------------------------------------------------------------------------------------------------------- the command


def below(pid: int) -> set[int]:
    """A process and all that it has started, and these."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
        except (OSError, IndexError):
            continue
    found = {pid}
    while more := {one for one, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def sockets_of(pids: set[int]) -> set[str]:
    """The inodes of the sockets that processes have open."""
    found = set()
    for pid in pids:
        for path in Path(f"/proc/{pid}/fd").glob("*"):
            try:
                target = str(path.readlink())
            except OSError:
                continue
            if target.startswith("socket:["):
                found.add(target[8:-1])
    return found


def of_network() -> set[str]:
    """The inodes of the sockets that others can connect or send to: all of TCP and UDP, and those that listen on this machine."""
    found = set()
    for name in ("tcp", "tcp6", "udp", "udp6"):
        path = Path("/proc/net", name)
        found |= {line.split()[9] for line in (path.read_text().splitlines()[1:] if path.exists() else ())}
    accepts = 0x10000  # __SO_ACCEPTCON, linux/net.h
    for line in Path("/proc/net/unix").read_text().splitlines()[1:]:
        fields = line.split()
        if int(fields[3], 16) & accepts:
            found.add(fields[6])
    return found


def test_the_command_opens_no_port_and_says_what_was_done_and_what_could_not_be_read(
    ring: Path, tmp_path: Path
) -> None:
    (tmp_path / "bad.pcap").write_bytes(b"no capture at all")
    secrets = CAPTURES / f"{SEALED.removesuffix('.pcap')}.secrets.json"
    argv = ["collect", ring, tmp_path / "bad.pcap", "--secrets", secrets, "-o", tmp_path / "out", "--workers", "2"]
    command = [sys.executable, "-m", "analyzer", *map(str, argv)]
    seen, is_open = set(), set()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as ran:
        while ran.poll() is None:
            pids = below(ran.pid)
            seen |= pids
            is_open |= sockets_of(pids) & of_network()
            Event().wait(0.02)
        out, words = ran.communicate()
    assert len(seen) >= 3  # the command, and two workers
    assert is_open == set()
    assert (ran.returncode, out) == (6, ""), words
    assert "bad.pcap is not a capture" in words
    assert "\n11 of 11 files read; 1 conversations, 1 analyses\n" in words
    asked = read_manifest(Store(str(tmp_path / "out"))).asked
    assert asked == {"sources": f"{ring} {tmp_path / 'bad.pcap'}", "retries": "3", "workers": "2"}
    for stage in ("cut", "analyse", "render"):
        assert f"\n  {stage} " in words
    assert not leaks(words.encode())


def test_workers_end_with_the_command_however_that_ends(tmp_path: Path) -> None:
    code = (
        "from analyzer.auth.keyring import Keyring\n"
        "from analyzer.collect.local_workers import LocalWorkers\n"
        "from tests.collect.test_local_workers import _sleeps\n"
        f"list(LocalWorkers(Keyring(), workers=1, retries=0).run('cut', _sleeps, [{str(tmp_path / 'pid')!r}]))\n"
    )
    path = tmp_path / "pid"
    with subprocess.Popen([sys.executable, "-c", code], cwd=Path(__file__).parents[2]) as command:
        while not path.exists() or not path.read_text():
            Event().wait(0.02)
        command.kill()
    while Path(f"/proc/{path.read_text()}").exists():
        Event().wait(0.02)


# ---------------------------------------------------------------------------------------------------------- memory


@pytest.mark.parametrize(
    ("given", "limit"),
    [
        ("256MiB", 1 << 28),
        ("2GB", 2_000_000_000),
        ("1.5 GiB", 3 << 29),
        ("800MiB", 800 << 20),
        ("1t", 10**12),
        ("268435456", 1 << 28),
        ("268435455", "too little for a worker"),
        ("255MiB", "too little for a worker"),
        ("much", "is no size of memory"),
        ("2XB", "is no size of memory"),
        ("", "is no size of memory"),
    ],
)
def test_memory_is_what_a_worker_can_work_with(given: str, limit: Any) -> None:
    if isinstance(limit, str):
        with pytest.raises(InputError, match=limit) as caught:
            memory_of(given, 1)
        assert caught.value.hint in ("Write 2GB or 800MiB.", "It takes 256 MiB at least, 2GB do for most.")
    else:
        assert memory_of(given, 1) == limit


@pytest.mark.parametrize(
    ("group", "share"), [("max\n", 1 << 33), ("4294967296\n", 1 << 31), (None, 1 << 33), ("5\n", 1 << 28)]
)
def test_workers_share_the_memory_that_there_is(
    group: str | None, share: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module.os, "sysconf", {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 1 << 22}.__getitem__)
    monkeypatch.setattr(module, "_GROUP_LIMIT", tmp_path / "memory.max")
    if group is not None:
        (tmp_path / "memory.max").write_text(group)
    assert memory_of(None, 2) == share


def test_variables_of_the_user_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    monkeypatch.delenv("POLARS_MAX_THREADS", raising=False)
    with environment(module._ENVIRONMENT):
        assert (os.environ["OMP_NUM_THREADS"], os.environ["POLARS_MAX_THREADS"]) == ("5", "1")
    assert os.environ["OMP_NUM_THREADS"] == "5"
    assert "POLARS_MAX_THREADS" not in os.environ
