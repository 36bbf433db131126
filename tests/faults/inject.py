"""Makes the n-th operation of a process fail, or ends the process at it.

Operations are counted of a folder alone, and of the standard streams: those that load the program are not touched. Python's audit
events report opening, listing, renaming, linking, removing, mapping and starting of processes before they are done; reading and
writing has no event, so files are opened as `_File`. Native code that is given such a file writes through it. What native code does
with a descriptor of its own is reached by the size that the system allows a file (`FULL_AT`). Memory runs out at the n-th call of a
function of the program.
"""

import builtins
import errno
import io
import mmap
import os
import resource
import signal
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

_OF_PATHS = {
    "open": "open",
    "os.listdir": "open",
    "os.scandir": "open",
    "os.rename": "rename",
    "os.link": "rename",
    "os.remove": "rename",
    "os.mkdir": "rename",
    "os.rmdir": "rename",
    "os.chmod": "rename",
}
_ANYWHERE = {"mmap.__new__": "mmap", "subprocess.Popen": "spawn", "os.posix_spawn": "spawn", "os.fork": "spawn"}
# What can be wrong with each; KILL ends the process.
KILL = "KILL"
FAULTS: dict[str, tuple[str, ...]] = {
    "open": ("EMFILE", "ENOENT", "EIO", "ENOSPC", KILL),
    "read": ("EIO", KILL),
    "write": ("ENOSPC", "EIO", KILL),
    "rename": ("ENOSPC", "EIO", "ENOENT", KILL),
    "mmap": ("ENOMEM", KILL),
    "spawn": ("ENOENT", "EMFILE", KILL),
    "memory": ("MemoryError",),
}
# Not an operation: the most bytes that any file may have.
FULL_AT = "full-at"


class Injector:
    """Counts operations on what lies in `folder`; the `at`-th of its kind meets `fault`. With `at` 0 nothing fails."""

    def __init__(self, folder: str, operation: str = "", at: int = 0, fault: str = "") -> None:
        self._folder, self._operation, self._at, self._fault = folder, operation, at, fault
        self.counts: Counter[str] = Counter()

    def install(self) -> None:
        """From now on, for as long as the process lives."""
        if self._operation == FULL_AT:
            resource.setrlimit(resource.RLIMIT_FSIZE, (self._at, self._at))
            return
        self._open = io.open
        builtins.open = io.open = self._opened
        for name, kind in (("read", "read"), ("pread", "read"), ("write", "write"), ("fsync", "write")):
            setattr(os, name, self._of_descriptor(getattr(os, name), kind))
        if self._operation in ("write", ""):
            sys.stdout = io.TextIOWrapper(io.BufferedWriter(self._file(1, "w")), encoding="utf-8")
        sys.addaudithook(self._audit)
        os.register_at_fork(after_in_child=self._disarm)
        if self._operation in ("memory", ""):
            sys.setprofile(self._called)

    def _disarm(self) -> None:
        """What is forked from now on meets nothing."""
        self._at = 0

    def _meet(self, operation: str) -> None:
        self.counts[operation] += 1
        if operation != self._operation or self.counts[operation] != self._at:
            return
        if self._fault == KILL:
            os.kill(os.getpid(), signal.SIGKILL)
        if self._fault == "MemoryError":
            raise MemoryError
        number = getattr(errno, self._fault)
        raise OSError(number, os.strerror(number))

    def _is_inside(self, path: Any) -> bool:
        return isinstance(path, str | bytes | os.PathLike) and os.fsdecode(path).startswith(self._folder)

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        if (operation := _OF_PATHS.get(event)) is not None:
            if self._is_inside(arguments[0]):
                self._meet(operation)
        elif (operation := _ANYWHERE.get(event)) is not None and (operation != "mmap" or arguments[0] >= 0):
            self._meet(operation)

    def _called(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        # Before `guarded` nothing of a command has run.
        if event == "call" and "/analyzer/" in code.co_filename and code.co_name not in ("<module>", "guarded"):
            self._meet("memory")

    def _opened(self, file: Any, mode: str = "r", buffering: int = -1, *rest: Any, **more: Any) -> Any:
        if not (self._leads_inside(file) if isinstance(file, int) else self._is_inside(file)):
            return self._open(file, mode, buffering, *rest, **more)
        raw = self._file(file, mode.replace("b", "").replace("t", ""))
        buffered: Any = (
            io.BufferedRandom(raw) if "+" in mode else io.BufferedReader(raw) if "r" in mode else _Whole(raw)
        )
        return buffered if "b" in mode else io.TextIOWrapper(buffered, *rest, **more)

    def _file(self, file: Any, mode: str) -> io.RawIOBase:
        return _File(file, mode, self._meet)

    def _leads_inside(self, descriptor: int) -> bool:
        """Whether a descriptor is of standard output or of a file in the folder, however it was made."""
        try:
            return descriptor == 1 or self._is_inside(Path(f"/proc/self/fd/{descriptor}").readlink())
        except OSError:
            return False

    def _of_descriptor(self, real: Callable[..., Any], operation: str) -> Callable[..., Any]:
        def done(descriptor: int, *rest: Any) -> Any:
            if self._leads_inside(descriptor):
                self._meet(operation)
            return real(descriptor, *rest)

        return done


class _File(io.FileIO):
    """A file whose reads and writes are counted."""

    def __init__(self, file: Any, mode: str, meet: Callable[[str], None]) -> None:
        super().__init__(file, mode, closefd=file != 1)
        self._meet = meet

    def readinto(self, buffer: Any) -> int | None:
        self._meet("read")
        return super().readinto(buffer)

    def readall(self) -> bytes:
        self._meet("read")
        return super().readall()

    def write(self, data: Any) -> int | None:
        self._meet("write")
        return super().write(data)


class _Whole(io.BufferedWriter):
    """A file that native code writes through: it takes the descriptor of the class above, and of no other."""


assert mmap  # its event is of the module's class
