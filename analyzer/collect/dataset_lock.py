"""Locks a dataset, so that one run at a time writes to it, also from several machines and on object storage.

`_lock/` holds a file that names the owner: run, host, process, and until when the lock holds without renewal (its lease). A run
takes the lock by creating the file of the next number, which only one run can. It renews its lease while it works, and ends it to
give the lock back. The file stays, so that its number is never used twice: a run that was taken for dead finds a higher number than
its own, and stops. On this machine nobody takes the lock between this look and the new manifest. On S3, a run that follows one that
did not give the lock back changes the manifest first (`fence`), and a manifest is replaced only if it is the one that the run
found.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from analyzer.collect.dataset_manifest import MANIFEST, Manifest
from analyzer.core.errors import CONTRADICTIONS, InputError
from analyzer.core.output.file_store import Store, StoreError
from analyzer.core.times import NS_PER_S

LOCK = "_lock"
LEASE_S, RENEWED_S = 300, 60


class Owner(Struct, frozen=True):
    """The run that has the lock of a dataset. `process` names its process, so that another run on the same machine can see whether
    it still runs; empty if that cannot be known."""

    run: str
    host: str
    pid: int
    process: str
    until_ns: int


class LockLostError(StoreError):
    """Says that another run has the dataset's lock now."""


class Lock:
    """The dataset's lock that this run holds."""

    def __init__(self, store: Store, owner: Owner, number: int, *, is_taken_over: bool) -> None:
        self.store, self._owner, self._number = store, owner, number
        self._is_taken_over = is_taken_over
        self._stamp = store.stamp(MANIFEST)
        self._ended = Event()

    def check(self) -> None:
        """Raises `StoreError` if this run does not hold the dataset's lock any more."""
        if max(_numbers(self.store), default=0) != self._number:
            raise LockLostError(
                f"{self.store.root} is being written by another run: this one was not heard of for {LEASE_S} s"
            )

    def renew(self) -> None:
        """Renews the lease of the dataset's lock. Raises `StoreError` if this run does not hold the lock any more."""
        self.check()
        self._write(_now_ns() + LEASE_S * NS_PER_S)

    def publish(self, manifest: Manifest) -> None:
        """Replaces the dataset's manifest while the lock is held. Raises `StoreError` if this run lost the lock, or another run
        wrote a manifest."""
        data = msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n"
        with self.store.alone(LOCK):
            self.renew()
            if not self.store.replace(MANIFEST, data, self._stamp):
                raise LockLostError(f"{self.store.root} was written by another run meanwhile")
        self._stamp = self.store.stamp(MANIFEST)

    def fence(self, manifest: Manifest) -> None:
        """Stops the lock's former owner, which may still run, from replacing the dataset's manifest. Raises `StoreError`."""
        if self._is_taken_over and self._stamp is not None:
            manifest.fence = self._number
            self.publish(manifest)

    def keep(self) -> None:
        """Renews the lease of the dataset's lock every `RENEWED_S` seconds, until the lock is given back."""
        while not self._ended.wait(RENEWED_S):
            with suppress(OSError):  # whether it is lost is asked before anything takes its place
                self.renew()

    def give_back(self) -> None:
        self._ended.set()
        with suppress(OSError):
            self.check()
            self._write(0)

    def _write(self, until_ns: int) -> None:
        self.store.write(_name(self._number), msgspec.json.encode(replace(self._owner, until_ns=until_ns)))


@contextmanager
def locked(store: Store, run: str) -> Iterator[Lock]:
    """Takes the lock of a dataset, and gives it back at the end of the `with`. Raises `InputError` if another run has it."""
    owner = Owner(run, socket.gethostname(), os.getpid(), process_name(os.getpid()), _now_ns() + LEASE_S * NS_PER_S)
    with store.alone(LOCK):
        newest = max(_numbers(store), default=0)
        before = _refuse(store, newest) if newest else None
        number = newest + 1
        if not store.create(_name(number), msgspec.json.encode(owner)):
            _refuse(store, number)
        if max(_numbers(store)) != number:
            store.remove(_name(number))
            _refuse(store, max(_numbers(store)))
    for old in _numbers(store):
        if old < number:
            with suppress(OSError):
                store.remove(_name(old))
    lock = Lock(store, owner, number, is_taken_over=before is not None and before.until_ns != 0)
    Thread(target=lock.keep, daemon=True).start()
    try:
        yield lock
    finally:
        lock.give_back()


def _refuse(store: Store, number: int) -> Owner | None:
    """Raises `InputError` if the owner of this lock number still holds the dataset's lock. Else returns that owner, None if its
    file names nobody."""
    try:
        owner = msgspec.json.decode(store.read(_name(number)), type=Owner)
    except FileNotFoundError:
        raise InputError(f"{store.root} is being written by another run", hint="Run again when it has ended.") from None
    except OSError as error:
        raise InputError(f"the lock of {store.root} cannot be read ({error.strerror or error})") from None
    except CONTRADICTIONS:
        return None  # no run of ours writes that
    left_s = (owner.until_ns - _now_ns()) // NS_PER_S
    if left_s < 0 or _has_ended(owner):
        return owner
    raise InputError(
        f"{store.root} is being written by process {owner.pid} on {owner.host}",
        hint=f"Run again when it has ended; if it or its machine was lost, in {left_s} s.",
    )


def _has_ended(owner: Owner) -> bool:
    """Tells whether the lock owner's process on this machine has ended, or the machine was started again since. Of another machine
    it cannot tell. One of the same name would have renewed its lease since this one was started."""
    ours, theirs = (name.rpartition(" ")[0] for name in (process_name(os.getpid()), owner.process))
    if not ours or not theirs:
        return False
    if ours.split()[0] != theirs.split()[0]:
        return owner.host == socket.gethostname() and owner.until_ns - LEASE_S * NS_PER_S < _started_ns()
    return ours == theirs and process_name(owner.pid) != owner.process


def _started_ns() -> int:
    """Returns when this machine was started, to judge old locks: ns since 1970 (Linux); 0 if unknown."""
    try:
        stated = Path("/proc/stat").read_text().partition("\nbtime ")[2].split()
        return int(stated[0]) * NS_PER_S
    except (OSError, IndexError, ValueError):
        return 0


def process_name(pid: int) -> str:
    """Names a lock owner's process uniquely: boot of the machine, pid namespace, start of the process (Linux); "" if unknown."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        started = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
        return f"{boot} {Path('/proc/self/ns/pid').readlink()} {started}"
    except (OSError, IndexError):
        return ""


def _now_ns() -> int:
    return time.time_ns()


def _name(number: int) -> str:
    return f"{LOCK}/{number:012}.json"


def _numbers(store: Store) -> list[int]:
    stems = (Path(name).stem for name in store.names(LOCK))
    return [int(stem) for stem in stems if stem.isdecimal()]
