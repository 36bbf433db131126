"""The one way out: the only place that opens a file for writing, or writes to standard output and standard error.

A file is written beside its place and takes that place when it is whole, so that nobody ever finds half of it; what did not become
whole is removed. It never takes the place of a file that the command reads, and that of another existing file only where the user
says so. What stands in a file system but is no file (a terminal, a pipe, `/dev/null`) is written to as it is.
"""

from __future__ import annotations

import os
import select
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, BinaryIO

from analyzer.core.errors import InputError
from analyzer.output.escapes import printable

STANDARD_OUTPUT = "-"
PRIVATE = 0o600
# Names of what was opened before the program began; what they lead to has been opened for writing already.
_DESCRIPTORS = ("/dev/fd/", "/proc/self/fd/")


class StreamClosedError(Exception):
    """Standard output was closed before the program began (`>&-`)."""


class Destination:
    """Where a result goes: standard output, where `path` is None or `-`, else a file.

    `force` lets it take the place of an existing file; `reads` are files that it never takes the place of; what is `private`
    can be read by its owner only.
    """

    def __init__(
        self, path: Path | None = None, *, force: bool = False, reads: Sequence[Path] = (), private: bool = False
    ) -> None:
        is_stdout = path is None or str(path) in (STANDARD_OUTPUT, "/dev/stdout")
        self.path = None if is_stdout else path
        self._force = force
        self.reads = tuple(reads)
        self._private = private

    def sparing(self, names: Iterable[str | Path]) -> Destination:
        """The same, which does not take the place of these files either."""
        more = tuple(Path(name) for name in names)
        return Destination(self.path, force=self._force, reads=self.reads + more, private=self._private)

    def check(self) -> None:
        """Raises `InputError` where it cannot be written, before anything is read in vain."""
        if self.path is not None:
            _target(self.path, self._force, self.reads)

    @contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """The destination, open for bytes. An `InputError` says what could not be written, and that it was removed."""
        if self.path is None:
            with standard_output() as out:
                yield out
            return
        with _failing(self.path):
            target = _target(self.path, self._force, self.reads)
        if target is None:
            with _failing(self.path), self.path.open("wb") as out:
                yield out
        else:
            with _replaced(self.path, target, force=self._force, private=self._private) as out:
                yield out


def _target(path: Path, force: bool, reads: Sequence[Path]) -> Path | None:
    """The file whose place is to be taken, links followed; None for what is written to as it is."""
    if str(path).startswith(_DESCRIPTORS):
        return None
    try:
        target = Path(os.path.realpath(path))
        found = target.stat() if target.exists() else None
        if found is not None and stat.S_ISDIR(found.st_mode):
            raise InputError(f"{path} cannot be written: it is a directory", hint="Name a file in it.")
        if found is not None and not stat.S_ISREG(found.st_mode):
            return None
        if found is not None and any(read.exists() and os.path.samestat(found, read.stat()) for read in reads):
            raise InputError(f"{path} is read by this command; it is not written over")
        if found is not None and not force:
            raise InputError(f"{path} exists already; it is not written over", hint="--force replaces it.")
        if not target.parent.is_dir():
            raise InputError(f"{path} cannot be written: there is no directory {target.parent}")
    except (OSError, ValueError) as error:
        raise _unwritable(path, error) from None
    return target


def _unwritable(path: Path, error: OSError | ValueError, removed: str = "") -> InputError:
    return InputError(f"{path} cannot be written: {getattr(error, 'strerror', None) or error}{removed}")


@contextmanager
def _failing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _unwritable(path, error) from None


@contextmanager
def _replaced(path: Path, target: Path, *, force: bool, private: bool) -> Iterator[BinaryIO]:
    """A new file beside the target, which takes its place when everything is written."""
    beside = target.parent / f".pcq-{os.urandom(8).hex()}.part"
    with _failing(path):
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), _mode(private))
    removed = "; what was written of it has been removed"
    try:
        try:
            with os.fdopen(descriptor, "wb") as out:
                yield out
                out.flush()
                os.fsync(out.fileno())
            if not private and target.exists():
                beside.chmod(stat.S_IMODE(target.stat().st_mode))
            _take_place(beside, target, force=force)
        except FileExistsError:
            raise InputError(f"{path} has come to exist meanwhile; it is not written over{removed}") from None
        except OSError as error:
            raise _unwritable(path, error, removed) from None
    except BaseException as error:
        with suppress(OSError):
            beside.unlink()
        if not isinstance(error, InputError):
            say(f"{path} is not written{removed}")
        raise


def _mode(private: bool) -> int:
    return PRIVATE if private else 0o666


def _take_place(beside: Path, target: Path, *, force: bool) -> None:
    if not force:
        try:
            # Unlike a renaming, a link fails where a file has appeared meanwhile.
            os.link(beside, target)
        except FileExistsError:
            raise
        except OSError:
            if target.exists():
                raise FileExistsError from None  # a file system without links
        else:
            beside.unlink()
            return
    beside.replace(target)


def is_terminal() -> bool:
    """Whether standard output is one."""
    return sys.stdout is not None and sys.stdout.isatty()


@contextmanager
def standard_output() -> Iterator[BinaryIO]:
    """Standard output for bytes. A reader that went away (`| head`) ends the writing and is no error."""
    with guarded_output() as stream:
        out = stream.buffer  # type: ignore[attr-defined]
        yield out
        out.flush()


@contextmanager
def guarded_output() -> Iterator[IO[str]]:
    """Standard output as a stream of text. Raises `StreamClosedError` where there is none, `InputError` where it is full."""
    if sys.stdout is None:
        raise StreamClosedError("standard output is closed")
    try:
        yield sys.stdout
    except OSError as error:
        abandon_output()
        if not isinstance(error, BrokenPipeError):
            raise InputError(f"standard output cannot be written: {error.strerror or error}") from None


def is_read(out: BinaryIO) -> bool:
    """Whether what is written may still be read: not where it is a pipe whose reader went away, as far as the system can say."""
    try:
        watched = select.poll()
        watched.register(out.fileno(), 0)
        return not any(state & (select.POLLERR | select.POLLHUP) for _, state in watched.poll(0))
    except (AttributeError, OSError, ValueError):  # a system without poll, or no file of the system
        return True


def abandon_output() -> None:
    """Lets standard output lead nowhere: Python flushes it once more when it ends, and there is nobody left to read it."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def flush_streams() -> None:
    """Writes what standard output and standard error still hold, before a process ends without Python's own way of ending."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            with suppress(OSError, ValueError):
                stream.flush()


def occupy_standard_descriptors() -> None:
    """Gives the numbers of standard streams that were closed to nothing, so that no file that is opened later gets one of them.

    They are opened the wrong way round: reading from standard input, and writing to the others, goes on to fail.
    """
    for descriptor, way in enumerate((os.O_WRONLY, os.O_RDONLY, os.O_RDONLY)):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, way)


def write_document(document: bytes, destination: Destination) -> None:
    """Writes what is made as a whole."""
    with destination.opened() as out:
        out.write(document)


def put(*lines: str) -> None:
    """Lines of text on standard output, whatever in them does not print shown as an escape."""
    with standard_output() as out:
        for line in lines:
            out.write(f"{printable(line)}\n".encode("utf-8", "backslashreplace"))


def say(*lines: str) -> None:
    """Lines for people on standard error, likewise. Nothing is stated where there is no such stream."""
    if sys.stderr is None:
        return
    with suppress(OSError, ValueError):
        for line in lines:
            sys.stderr.write(f"{printable(line)}\n")
        sys.stderr.flush()
