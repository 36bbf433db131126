"""Who may write to a dataset: one run at a time, also of several machines and on object storage.

`_lock/` holds a file that says who: run, host, process, and until when if nothing more is heard of it (its lease). A run
takes the lock by
making the file of the next number, which only one of many can; it renews its lease while it works, and gives it back by ending it.
The file stays, so that its number is never used twice: a run that was taken for dead finds a higher number than its own, and stops.
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

from analyzer.core.errors import InputError
from analyzer.core.output.store import Store, StoreError
from analyzer.core.times import NS_PER_S

LOCK = "_lock"
LEASE_S, RENEWED_S = 300, 60


class Owner(Struct, frozen=True):
    """A run that has the lock. `process` says which process of which machine it is, so that one of the same machine can see whether
    it still runs; empty where that cannot be known."""

    run: str
    host: str
    pid: int
    process: str
    until_ns: int


class LockLostError(StoreError):
    """Another run has the lock now."""


class Lock:
    """The lock of a dataset, once a run has it."""

    def __init__(self, store: Store, owner: Owner, number: int) -> None:
        self._store, self._owner, self._number = store, owner, number
        self._ended = Event()

    def check(self) -> None:
        """Raises `StoreError` where this run does not have the lock any more."""
        if max(_numbers(self._store), default=0) != self._number:
            raise LockLostError(
                f"{self._store.root} is being written by another run: this one was not heard of for {LEASE_S} s"
            )

    def renew(self) -> None:
        """Renews the lease. Raises `StoreError` where this run does not have the lock any more."""
        self.check()
        self._write(_now_ns() + LEASE_S * NS_PER_S)

    def keep(self) -> None:
        """Renews the lease from time to time, until the lock is given back."""
        while not self._ended.wait(RENEWED_S):
            with suppress(OSError):  # whether it is lost is asked before anything takes its place
                self.renew()

    def give_back(self) -> None:
        self._ended.set()
        with suppress(OSError):
            self.check()
            self._write(0)

    def _write(self, until_ns: int) -> None:
        self._store.write(_name(self._number), msgspec.json.encode(replace(self._owner, until_ns=until_ns)))


@contextmanager
def locked(store: Store, run: str) -> Iterator[Lock]:
    """The lock of a dataset, as long as this lasts. Raises `InputError` where another run has it."""
    owner = Owner(run, socket.gethostname(), os.getpid(), process_name(os.getpid()), _now_ns() + LEASE_S * NS_PER_S)
    newest = max(_numbers(store), default=0)
    if newest:
        _refuse(store, newest)
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
    lock = Lock(store, owner, number)
    Thread(target=lock.keep, daemon=True).start()
    try:
        yield lock
    finally:
        lock.give_back()


def _refuse(store: Store, number: int) -> None:
    """Raises `InputError` where the owner of this number still has the lock."""
    try:
        owner = msgspec.json.decode(store.read(_name(number)), type=Owner)
    except FileNotFoundError:
        raise InputError(f"{store.root} is being written by another run", hint="Run again when it has ended.") from None
    except msgspec.MsgspecError:
        return  # no run of ours writes that
    left_s = (owner.until_ns - _now_ns()) // NS_PER_S
    if left_s < 0 or _has_ended(owner):
        return
    raise InputError(
        f"{store.root} is being written by process {owner.pid} on {owner.host}",
        hint=f"Run again when it has ended; if it was lost, in {left_s} s.",
    )


def _has_ended(owner: Owner) -> bool:
    """Whether a process of this machine does not run any more. Of another machine nobody knows."""
    space = process_name(os.getpid()).rpartition(" ")[0]
    return bool(space) and owner.process.rpartition(" ")[0] == space and process_name(owner.pid) != owner.process


def process_name(pid: int) -> str:
    """A name that no other process has: start of the machine, processes that see each other, start of this one (Linux)."""
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
