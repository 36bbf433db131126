"""One run at a time writes to a dataset; and whenever a run ends, the next one has a whole dataset."""

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from shutil import copytree
from threading import Event
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from analyzer.auth.keyring import Keyring
from analyzer.collect import dataset_lock as module
from analyzer.collect.dataset_lock import LEASE_S, LockLostError, Owner, locked, process_name
from analyzer.collect.dataset_manifest import MANIFEST, Manifest, read_manifest
from analyzer.core.errors import InputError
from analyzer.core.output.file_store import Store, StoreError
from analyzer.core.times import NS_PER_S
from tests.collect.sets import Here, collected, difference, rotated, same_rows, single
from tests.collect.test_local_workers import rows

pytestmark = pytest.mark.needs("fsspec")
# A time at which a machine was started.
STARTED = 1_700_000_000 * NS_PER_S
CLEAR = "v1_samba_sambapy_krb5sha384_krb5_seal.pcap"


@pytest.fixture(scope="module")
def ring(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return rotated(CLEAR, tmp_path_factory.mktemp("ring"), 3, 2)


@pytest.fixture(scope="module")
def expected(ring: Path) -> Any:
    return same_rows(*single(ring, Keyring()), alone=True)


@pytest.fixture(scope="module")
def some(ring: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The dataset of two of the files, to be copied."""
    dataset = tmp_path_factory.mktemp("some") / "out"
    collected(sorted(map(str, ring.iterdir()))[:2], dataset, Keyring())
    return dataset


@pytest.fixture(scope="module")
def whole(ring: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The dataset of all files, to be copied."""
    dataset = tmp_path_factory.mktemp("whole") / "out"
    collected(ring, dataset, Keyring())
    return dataset


@contextmanager
def as_another(monkeypatch: pytest.MonkeyPatch, later_s: int = 0) -> Iterator[None]:
    """Meanwhile this is another process, so much later."""
    with monkeypatch.context() as patched:
        now_ns = module._now_ns
        patched.setattr(module, "_now_ns", lambda: now_ns() + later_s * NS_PER_S)
        patched.setattr(module, "process_name", lambda pid: "" if later_s else f"boot pids {pid}")
        yield


class Between(Here):
    """Does something else when so many tasks are done."""

    def __init__(self, at: int, something: Callable[[], None]) -> None:
        super().__init__()
        self._at, self._something = at, something

    def run(self, stage: str, function: Any, tasks: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
        for pair in super().run(stage, function, tasks):
            self._at -= 1
            if self._at == 0:
                self._something()
            yield pair


# ---------------------------------------------------------------------------------------------------------------- lock


def test_a_lock_is_one_runs_at_a_time(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    for number in (1, 2):
        with locked(store, "mine") as lock:
            lock.renew()
            with (
                pytest.raises(InputError, match=f"is being written by process {os.getpid()} on ") as refused,
                locked(store, "other"),
            ):
                pytest.fail("two have it")
            assert str(refused.value.hint).startswith("Run again when it has ended; if it or its machine was lost, in ")
        assert [path.name for path in (tmp_path / "_lock").iterdir()] == [f"{number:012}.json"]


@pytest.mark.parametrize(
    ("changes", "is_free"),
    [
        ({}, False),
        ({"until_ns": 0}, True),
        # A process of this machine that has ended, or whose number another has now.
        ({"pid": 1 << 30}, True),
        ({"process": "SPACE 0"}, True),
        # This machine was started again since.
        ({"process": "BOOT pids 0", "until_ns": STARTED + LEASE_S * NS_PER_S - 1}, True),
        # Another machine of its name renewed its lease since this one was started.
        ({"process": "BOOT pids 0", "until_ns": STARTED + LEASE_S * NS_PER_S}, False),
        ({"process": "BOOT pids 0", "until_ns": STARTED + LEASE_S * NS_PER_S - 1, "host": "elsewhere"}, False),
        # Of another machine nobody knows, until its lease ends.
        ({"host": "elsewhere", "process": "other pids 0"}, False),
        ({"host": "elsewhere", "process": "other pids 0", "until_ns": 0}, True),
        ({"process": ""}, False),
    ],
)
def test_a_lock_is_free_when_its_owner_has_ended_or_its_lease_has(
    changes: dict[str, Any], is_free: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_started_ns", lambda: STARTED)
    monkeypatch.setattr(module, "_now_ns", lambda: STARTED + 1)
    monkeypatch.setattr(module.socket, "gethostname", lambda: "here")
    process = process_name(os.getpid())
    owner = Owner("r", "here", os.getpid(), process, module._now_ns() + LEASE_S * NS_PER_S)
    if "process" in changes:
        changes = {**changes, "process": changes["process"].replace("SPACE", process.rpartition(" ")[0])}
    store = Store(str(tmp_path))
    store.write("_lock/000000000007.json", msgspec.json.encode(replace(owner, **changes)))
    if is_free:
        with locked(store, "mine"):
            assert store.names("") == ["_lock/000000000008.json"]
    else:
        with pytest.raises(InputError, match="is being written by process"), locked(store, "mine"):
            pytest.fail("two have it")


@pytest.mark.parametrize("data", [b"", b'{"run": "\xf3x"}', b"[" * 5000])
def test_a_lock_that_no_run_wrote_is_free(data: bytes, tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    store.write("_lock/000000000007.json", data)
    with locked(store, "mine"):
        assert store.names("") == ["_lock/000000000008.json"]


def test_of_two_that_take_a_free_lock_at_once_one_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second sees no lock, and comes to write when the first has it, or has given it back, or another has it since. On this
    machine they wait for each other, in storage they do not."""
    monkeypatch.setattr(Store, "alone", lambda store, name: nullcontext())
    store = Store(str(tmp_path))
    create = Store.create

    def late(place: Store, name: str, data: bytes) -> bool:
        monkeypatch.setattr(Store, "create", create)
        for _ in range(runs):
            with locked(Store(str(tmp_path)), "first"):
                pass
        held.__enter__()
        return create(place, name, data)

    for runs in (0, 1, 2):  # noqa: B007 - `late` reads it
        held = locked(Store(str(tmp_path)), "holder")
        monkeypatch.setattr(Store, "create", late)
        with pytest.raises(InputError, match="is being written by"), locked(store, "second"):
            pytest.fail("two have it")
        held.__exit__(None, None, None)


def test_nobody_takes_the_lock_between_the_last_look_and_the_manifest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of storage that replaces on no condition: on this machine the other waits meanwhile, and is refused where that takes long."""
    monkeypatch.setattr("analyzer.core.output.file_store._ALONE_WITHIN_S", 0.05)
    write = Store.write

    def overtaken(store: Store, name: str, data: bytes) -> None:
        if name == MANIFEST:
            with (
                as_another(monkeypatch, LEASE_S + 1),
                pytest.raises(StoreError, match="by another process, which does not go on"),
                locked(Store(str(tmp_path)), "other"),
            ):
                pytest.fail("two have it")
        write(store, name, data)

    store = Store(str(tmp_path))
    with locked(store, "mine") as lock:
        monkeypatch.setattr(Store, "write", overtaken)
        lock.publish(Manifest(program="p", schema=2, run="mine"))
        monkeypatch.setattr(Store, "write", write)
        with as_another(monkeypatch, LEASE_S + 1), locked(Store(str(tmp_path)), "other"):
            pass
    assert Manifest(program="p", schema=2, run="mine") == read_manifest(store)


def test_when_this_machine_was_started_is_known() -> None:
    assert 0 < module._started_ns() < module._now_ns()


def test_a_lock_that_is_renewed_outlives_its_first_lease(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(str(tmp_path))
    with locked(store, "mine") as lock:
        with as_another(monkeypatch, LEASE_S - 1):
            lock.renew()
        with (
            as_another(monkeypatch, LEASE_S + 1),
            pytest.raises(InputError, match="is being written by process"),
            locked(store, "other"),
        ):
            pytest.fail("two have it")


def test_who_was_taken_for_dead_stops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(str(tmp_path))
    with locked(store, "mine") as lock:
        with as_another(monkeypatch, LEASE_S + 1), locked(store, "other") as theirs:
            with pytest.raises(LockLostError, match="is being written by another run"):
                lock.renew()
            theirs.renew()
        with pytest.raises(LockLostError):
            lock.check()


# ------------------------------------------------------------------------------------------------------- two at once


@pytest.mark.parametrize("at", [1, 3, 5])
def test_a_run_that_meets_another_is_refused_and_changes_nothing(
    at: int, ring: Path, expected: Any, tmp_path: Path
) -> None:
    said: list[str] = []

    def meet() -> None:
        with pytest.raises(InputError) as refused:
            collected(ring, tmp_path / "out", Keyring())
        said.append(str(refused.value))

    done = collected(ring, tmp_path / "out", Keyring(), executor=Between(at, meet))
    assert "is being written by process" in said[0]
    assert not done.problems
    assert not difference(expected, rows(tmp_path / "out"))


@pytest.mark.parametrize("at", [1, 3, 5])
def test_a_run_that_was_taken_for_dead_leaves_the_dataset_of_the_one_that_followed(
    at: int, ring: Path, expected: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def overtake() -> None:
        with as_another(monkeypatch, LEASE_S + 1):
            collected(ring, tmp_path / "out", Keyring())

    with pytest.raises(OSError, match=r"another run|changed by somebody else|No such file"):
        collected(ring, tmp_path / "out", Keyring(), executor=Between(at, overtake))
    assert not difference(expected, rows(tmp_path / "out"))
    again = collected(ring, tmp_path / "out", Keyring())
    assert (again.read, again.analysed, again.problems) == (0, 0, [])


# ------------------------------------------------------------------------------------------------------------ kills


class DeadError(BaseException):
    """The process was killed: nothing that it would do happens any more."""


@contextmanager
def killed_at(number: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """From its n-th change on, this process changes nothing of a dataset any more."""
    count = [0]
    with monkeypatch.context() as patched:
        for name in ("write", "create", "move", "remove", "_part", "prune"):
            whole = getattr(Store, name)

            def counted(*given: Any, whole: Any = whole, **more: Any) -> Any:
                count[0] += 1
                if count[0] >= number:
                    raise DeadError
                return whole(*given, **more)

            patched.setattr(Store, name, counted)
        space = process_name(os.getpid()).rpartition(" ")[0]
        patched.setattr(module, "process_name", lambda pid: f"{space} 0")
        yield count


def changes_of_a_run(ring: list[str], dataset: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    with killed_at(1 << 30, monkeypatch) as count:
        collected(ring, dataset, Keyring())
    return count[0]


@pytest.mark.parametrize("grows", [False, True])
def test_whenever_a_run_is_killed_the_next_has_a_whole_dataset(
    grows: bool, ring: Path, some: Path, expected: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = changes_of_a_run(sorted(map(str, ring.iterdir()))[:2], tmp_path / "part", monkeypatch)
    part = rows(some)
    points = range(1 + 5 * grows, 2 * before, 11)
    met = set()
    for point in points:
        out = tmp_path / f"out{point}"
        if grows:
            copytree(some, out)
        with killed_at(point, monkeypatch):
            try:
                collected(ring, out, Keyring())
                met.add("whole")
            except DeadError:
                met.add("killed")
        if grows and (out / "manifest.json").exists():
            # What there is can be read: what it was, or what it was to be.
            found = rows(out)
            assert not difference(part, found) or not difference(expected, found)
        again = collected(ring, out, Keyring())
        assert not again.problems
        assert not difference(expected, rows(out)), point
        assert {path.name for path in (out / "_lock").iterdir()} == {sorted((out / "_lock").iterdir())[-1].name}
        assert not (out / "_staging").exists()
    assert met == {"killed", "whole"}


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "full"), KeyboardInterrupt()])
@pytest.mark.parametrize("at", [1, 2])
def test_a_run_that_ends_after_its_manifest_leaves_its_dataset(
    at: int,
    error: BaseException,
    ring: Path,
    some: Path,
    expected: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is replaced could not be removed: of the new dataset nothing is, and the next run does it."""
    copytree(some, tmp_path / "out")
    remove, publish, left = Store.remove, module.Lock.publish, [0]

    def failing(store: Store, name: str) -> None:
        left[0] -= 1
        if left[0] == 0:
            raise error
        remove(store, name)

    def published(lock: Any, manifest: Manifest) -> None:
        publish(lock, manifest)
        left[0] = at

    monkeypatch.setattr(Store, "remove", failing)
    monkeypatch.setattr(module.Lock, "publish", published)
    with suppress(KeyboardInterrupt):
        assert collected(ring, tmp_path / "out", Keyring()).read > 0
    assert left[0] <= 0
    assert not difference(expected, rows(tmp_path / "out"))
    again = collected(ring, tmp_path / "out", Keyring())
    assert (again.read, again.restored) == (0, [])


def test_after_the_command_was_killed_it_runs_again_at_once(ring: Path, expected: Any, tmp_path: Path) -> None:
    """As a process; at each of its changes, the one above is killed in thought."""
    out = tmp_path / "out"
    argv = [sys.executable, "-m", "analyzer", "collect", str(ring), "-o", str(out), "--workers", "1"]
    with subprocess.Popen(argv, stderr=subprocess.DEVNULL) as command:
        while command.poll() is None and not list(out.glob("_state/*")):
            Event().wait(0.005)
        command.send_signal(signal.SIGKILL)
    again = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stderr
    assert not difference(expected, rows(out))


# ----------------------------------------------------------------------------------------------------------- repair


def files_of(dataset: Path, below: str) -> list[Path]:
    return sorted(path for path in (dataset / below).rglob("*") if path.is_file())


DAMAGE: dict[str, Callable[[Path], None]] = {
    "missing": lambda path: path.unlink(),
    "cut off": lambda path: path.write_bytes(path.read_bytes()[:-1]),
    "changed": lambda path: path.write_bytes(bytes([path.read_bytes()[0] ^ 1]) + path.read_bytes()[1:]),
}


@pytest.mark.parametrize(
    ("below", "words", "how"),
    [
        ("_pieces", "the frames of ", "missing"),
        ("_state", "conversation 1", "cut off"),
        ("calls", "calls: calls/", "missing"),
        ("_pieces", "the frames of ", "changed"),
        ("_state", "conversation 1", "changed"),
        ("calls", "calls: calls/", "changed"),
    ],
)
def test_what_is_damaged_is_made_anew(
    below: str, words: str, how: str, ring: Path, whole: Path, expected: Any, tmp_path: Path
) -> None:
    out = copytree(whole, tmp_path / "out")
    DAMAGE[how](files_of(out, below)[0])
    if how != "changed":  # sizes are compared in any case
        done = collected(ring, out, Keyring())
        assert [one.startswith(words) for one in done.restored] == [True]
        DAMAGE[how](files_of(out, below)[0])
    done = collected([], out, Keyring(), repair=True)
    assert [one.startswith(words) for one in done.restored] == [True]
    assert not done.problems
    assert not difference(expected, rows(out))
    assert collected([], out, Keyring(), repair=True).restored == []


def test_pieces_whose_capture_is_gone_cannot_be_made_anew(ring: Path, tmp_path: Path) -> None:
    given = copytree(ring, tmp_path / "in")
    collected(given, tmp_path / "out", Keyring())
    files_of(tmp_path / "out", "_pieces")[0].unlink()
    for path in given.iterdir():
        path.unlink()
    before = {path: path.read_bytes() for path in files_of(tmp_path / "out", "") if path.parent.name != "_lock"}
    with pytest.raises(InputError, match=r"frames of the dataset are lost, and .* cannot be read"):
        collected([], tmp_path / "out", Keyring(), repair=True)
    after = {path: path.read_bytes() for path in files_of(tmp_path / "out", "") if path.parent.name != "_lock"}
    assert after == before
