"""The one way out: the only place that opens a file for writing, or writes to standard output and standard error.

A file is written beside its place and takes that place when it is whole, so that nobody ever finds half of it; what did not become
whole is removed. It never takes the place of a file that the command reads, and that of another existing file only where the user
says so. A path that is no regular file (a terminal, a pipe, `/dev/null`) is written to directly.
"""

from __future__ import annotations

import io
import os
import select
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import IO, BinaryIO, cast

from analyzer.core.errors import InputError
from analyzer.core.file_names import without_raw_bytes
from analyzer.core.printable_text import printable

STANDARD_OUTPUT = "-"
PRIVATE = 0o600
# The names of files that are being written.
_PART_BEGINS, _PART_ENDS = ".pcq-", ".part"
# Names of what was opened before the program began; what they lead to has been opened for writing already.
_DESCRIPTORS = ("/dev/fd/", "/proc/self/fd/")


class StreamClosedError(Exception):
    """The error that standard output was closed before the program began (`>&-`)."""


class _Raw(io.FileIO):
    """An output file that remembers why it could not be written. Libraries raise errors of their own instead, or end the
    process."""

    failure: OSError | None = None

    def write(self, data: object) -> int | None:  # type: ignore[override]
        try:
            return os.write(self.fileno(), data)  # type: ignore[arg-type]
        except OSError as error:
            self.failure = error
            raise


class _Writer(io.BufferedWriter):
    """The buffered writer of an output file, a class of its own: past a plain `BufferedWriter`, polars writes to the file's
    descriptor."""


def _failure(out: object) -> OSError | None:
    """Why the output that is open could not be written, None where it could, or where that is not known."""
    return getattr(getattr(out, "raw", None), "failure", None)


@contextmanager
def writer(file: Path | int) -> Iterator[BinaryIO]:
    """An output file open for bytes, closed at the end. Raises `OSError`, whatever a library made of it."""
    with _Writer(_Raw(file if isinstance(file, int) else os.fspath(file), "wb")) as out:
        try:
            yield out
        except BaseException as error:
            failure = _failure(out)
            if failure is None or failure is error or isinstance(error, KeyboardInterrupt):
                raise
            raise failure from error


class Destination:
    """Where a result goes: standard output, where `path` is None or `-`, else a file.

    `force` lets it take the place of an existing file; `reads` are files that it never takes the place of; what is `private`
    can be read by its owner only. With a `mark`, the first text of this kind in what is written becomes the digest of all of it
    (`output_digest.py`).
    """

    def __init__(
        self,
        path: Path | None = None,
        *,
        force: bool = False,
        reads: Sequence[Path] = (),
        private: bool = False,
        mark: str | None = None,
    ) -> None:
        is_stdout = path is None or str(path) in (STANDARD_OUTPUT, "/dev/stdout")
        self.path = None if is_stdout else path
        self._force = force
        self.reads = tuple(reads)
        self._private = private
        self.mark = mark

    def sparing(self, names: Iterable[str | Path]) -> Destination:
        """A destination with these settings that does not take the place of these files either."""
        more = tuple(Path(name) for name in names)
        return Destination(self.path, force=self._force, reads=self.reads + more, private=self._private, mark=self.mark)

    def seal(self) -> None:
        """Gives the output a digest mark of its own, if it is no terminal."""
        if self.path is not None or not is_terminal():
            from analyzer.core.output.output_digest import new_mark

            self.mark = new_mark()

    def check(self) -> None:
        """Raises `InputError` where the destination cannot be written, before anything is read in vain."""
        if self.path is not None:
            _target(self.path, self._force, self.reads)

    @contextmanager
    def opened(self, check: Callable[[Path], None] | None = None) -> Iterator[BinaryIO]:
        """The destination, open for bytes. An `InputError` says what could not be written, and that it was removed.

        `check` reads back a file that is written, before it takes its place, and raises an `InputError` where it is not good.
        """
        with self._opened(check) as out:
            if self.mark is None:
                yield out
                return
            from analyzer.core.output.output_digest import SealedOutput

            sealed = SealedOutput(out, self.mark)
            yield cast(BinaryIO, sealed)
            sealed.finish()

    @contextmanager
    def _opened(self, check: Callable[[Path], None] | None) -> Iterator[BinaryIO]:
        if self.path is None:
            with standard_output() as out:
                yield out
            return
        with _failing(self.path):
            target = _target(self.path, self._force, self.reads)
        if target is None:
            with _failing(self.path), writer(self.path) as out:
                yield out
        else:
            with _replaced(self.path, target, force=self._force, private=self._private, check=check) as out:
                yield out


def _target(path: Path, force: bool, reads: Sequence[Path]) -> Path | None:
    """The file whose place the output is to take, links followed; None for what is written to directly."""
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
def _replaced(
    path: Path, target: Path, *, force: bool, private: bool, check: Callable[[Path], None] | None
) -> Iterator[BinaryIO]:
    """A new output file beside the target, which takes its place when everything is written."""
    tidy(target.parent)
    with _failing(path):
        part = PartFile(target.parent, private=private)
    beside = part.path
    removed = "; what was written of it has been removed"
    try:
        try:
            with part.opened() as out:
                yield out
                out.flush()
                os.fsync(out.fileno())
            if check is not None:
                _read_back(check, beside, path)
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
    finally:
        part.close()


def _read_back(check: Callable[[Path], None], beside: Path, path: Path) -> None:
    try:
        check(beside)
    except InputError as error:
        why = str(error).removeprefix(f"{beside} ")
        raise InputError(f"{path} is not written: what was written does not read back ({why})") from error


class PartFile:
    """A new file in a directory for output that is being written. It is locked while somebody writes it, so that `tidy` knows whose
    it is.

    What is `private` can be read by its owner only. Raises `OSError` where no file can be made.
    """

    def __init__(self, directory: Path, *, private: bool) -> None:
        mode = PRIVATE if private else 0o666
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        while True:
            self.path = directory / f"{_PART_BEGINS}{os.urandom(8).hex()}{_PART_ENDS}"
            self._descriptor = os.open(self.path, flags, mode)
            _locked(self._descriptor)
            if os.fstat(self._descriptor).st_nlink:
                return
            # Somebody tidied between the two.
            os.close(self._descriptor)

    def opened(self) -> AbstractContextManager[BinaryIO]:
        """The new output file, open for bytes. It stays locked when that is closed."""
        return writer(os.dup(self._descriptor))

    def close(self) -> None:
        """Closes the output file, once it has taken its place or is removed."""
        os.close(self._descriptor)


def tidy(directory: Path) -> None:
    """Removes output files that killed runs left in a directory: those that nobody who writes them has locked."""
    with suppress(OSError):
        for path in directory.glob(f"{_PART_BEGINS}*{_PART_ENDS}"):
            with suppress(OSError):
                descriptor = os.open(path, os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
                try:
                    if stat.S_ISREG(os.fstat(descriptor).st_mode) and _locked(descriptor):
                        path.unlink()
                finally:
                    os.close(descriptor)


def _locked(descriptor: int) -> bool:
    """Locks an output file for this process, where nobody else has it and the system has such locks."""
    try:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return False
    return True


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
    """Whether standard output is a terminal."""
    return sys.stdout is not None and sys.stdout.isatty()


@contextmanager
def standard_output() -> Iterator[BinaryIO]:
    """Opens standard output for bytes. A reader that went away (`| head`) ends the writing and is no error."""
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
        _give_up_output(_failure(getattr(sys.stdout, "buffer", None)) or error)


@contextmanager
def watched_output() -> Iterator[None]:
    """Guards standard output around a command: what it could not take ends that as `guarded_output` does, whoever wrote it."""
    before = sys.stdout
    if type(before) is io.TextIOWrapper:
        out = _Writer(_Raw(before.fileno(), "wb", closefd=False))
        sys.stdout = io.TextIOWrapper(
            out,
            before.encoding,
            before.errors,
            line_buffering=before.line_buffering,
            write_through=before.write_through,
        )
    try:
        yield
        if sys.stdout is not None:
            sys.stdout.flush()
    except BaseException as error:
        failure = _failure(getattr(sys.stdout, "buffer", None))
        if failure is None or isinstance(error, KeyboardInterrupt):
            raise
        _give_up_output(failure)


def _give_up_output(error: OSError) -> None:
    """Gives up standard output: a reader that went away is no error; anything else is an `InputError`."""
    abandon_output()
    if not isinstance(error, BrokenPipeError):
        raise InputError(f"standard output cannot be written: {error.strerror or error}") from None


def is_read(out: BinaryIO) -> bool:
    """Whether output may still be read: not where it is a pipe whose reader went away, as far as the system can say."""
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
        if isinstance(raw := getattr(getattr(sys.stdout, "buffer", None), "raw", None), _Raw):
            raw.failure = None


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


def buffer_standard_output() -> None:
    """Puts a buffer before standard output where Python was told to use none (PYTHONUNBUFFERED): a file that is full takes a part
    of a write, which is an error for the buffer alone."""
    out = sys.stdout
    if isinstance(getattr(out, "buffer", None), io.RawIOBase):
        raw = io.FileIO(out.fileno(), "w", closefd=False)
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(raw), out.encoding, out.errors, line_buffering=True)


def write_document(document: bytes, destination: Destination) -> None:
    """Writes a text that is made as a whole to a destination."""
    with destination.opened() as out:
        out.write(document)


def put(*lines: str) -> None:
    """Prints lines of text on standard output, whatever in them does not print shown as an escape."""
    with standard_output() as out:
        for line in lines:
            out.write(f"{printable(without_raw_bytes(line))}\n".encode("utf-8", "backslashreplace"))


def say(*lines: str) -> None:
    """Prints lines for people on standard error, escaped, and all at once: who reads the first and acts on it finds the others
    said. Nothing is stated where there is no such stream."""
    if sys.stderr is None:
        return
    text = "".join([f"{printable(without_raw_bytes(line))}\n" for line in lines])
    with suppress(OSError, ValueError):
        sys.stderr.write(text)
        sys.stderr.flush()
