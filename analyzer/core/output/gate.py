"""Opens files for writing, and writes to standard output and standard error: all output of the program goes through here.

A file is written beside its place and takes that place when it is whole, so that nobody ever finds half of it. An incomplete file
is removed. It never replaces a file that the command reads, and another existing file only if the user says so. A path that is no
regular file (a terminal, a pipe, `/dev/null`) is written to directly.
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
from analyzer.core.printable_text import printable, without_raw_bytes

STANDARD_OUTPUT = "-"
PRIVATE = 0o600
# The names of files that are being written.
_PART_BEGINS, _PART_ENDS = ".pcq-", ".part"
# Names of what was opened before the program began; what they lead to has been opened for writing already.
_DESCRIPTORS = ("/dev/fd/", "/proc/self/fd/")


class StreamClosedError(Exception):
    """The error that standard output was closed before the program began (`>&-`)."""


class _Raw(io.FileIO):
    """An output file that remembers why a write failed. Libraries raise errors of their own instead, or end the process."""

    failure: OSError | None = None

    def write(self, data: object) -> int | None:  # type: ignore[override]
        try:
            return os.write(self.fileno(), data)  # type: ignore[arg-type]
        except OSError as error:
            self.failure = error
            raise


class _Writer(io.BufferedWriter):
    """The buffered writer of an output file. With a plain `BufferedWriter`, polars would write to the file's descriptor itself."""


def _failure(out: object) -> OSError | None:
    """Returns the error why open output could not be written, None if there is none or it is unknown."""
    return getattr(getattr(out, "raw", None), "failure", None)


@contextmanager
def writer(file: Path | int) -> Iterator[BinaryIO]:
    """Opens an output file for bytes, and closes it at the end. Raises the `OSError` of a failed write."""
    with _Writer(_Raw(file if isinstance(file, int) else os.fspath(file), "wb")) as out:
        try:
            yield out
        except BaseException as error:
            failure = _failure(out)
            if failure is None or failure is error or isinstance(error, KeyboardInterrupt):
                raise
            raise failure from error


class Destination:
    """The place where a result is written: a file, or standard output if `path` is None or `-`.

    `force` lets it replace an existing file. `reads` are files that it never replaces. A `private` file can be read by its owner
    only. With a `mark`, the first text of this kind in the output becomes the digest of the whole output (`output_digest.py`).
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
        """Returns an output destination with the same settings that does not replace these files either."""
        more = tuple(Path(name) for name in names)
        return Destination(self.path, force=self._force, reads=self.reads + more, private=self._private, mark=self.mark)

    def seal(self) -> None:
        """Sets a new `mark` at this output destination, unless it leads to a terminal."""
        if self.path is not None or not is_terminal():
            from analyzer.core.output.output_digest import new_mark

            self.mark = new_mark()

    def check(self) -> None:
        """Raises `InputError` if the output destination cannot be written, before anything is read in vain."""
        if self.path is not None:
            _target(self.path, self._force, self.reads)

    @contextmanager
    def opened(self, check: Callable[[Path], None] | None = None) -> Iterator[BinaryIO]:
        """Opens this output destination (file or standard output) for bytes. An `InputError` states what could not be written, and
        that it was removed.

        `check` reads back a written file before it takes its place, and raises an `InputError` if it is not good.
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
    """Returns the file that the output replaces, with links followed; None if the path is written to directly."""
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
    """Opens a new output file beside the target. It replaces the target when everything is written."""
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
    """A new file in a directory, for output that is being written. Its writer holds a lock, which tells `tidy` that it is in use.

    A `private` file can be read by its owner only. Raises `OSError` if no file can be made.
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
        """Opens the new output file (`.part`) for bytes. It stays locked after it is closed."""
        return writer(os.dup(self._descriptor))

    def close(self) -> None:
        """Unlocks the output file, when it has taken its place or is removed."""
        os.close(self._descriptor)


def tidy(directory: Path) -> None:
    """Removes output files that killed runs left in a directory: those without a lock of a writer."""
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
    """Locks an output file for this process. Returns False if another process has it, or the system has no such locks."""
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
    """Whether standard output, to which the gate writes, is a terminal."""
    return sys.stdout is not None and sys.stdout.isatty()


@contextmanager
def standard_output() -> Iterator[BinaryIO]:
    """Opens standard output for bytes. A reader that went away (`| head`) ends the writing and is no error."""
    with text_output() as stream:
        out = stream.buffer  # type: ignore[attr-defined]
        yield out
        out.flush()


@contextmanager
def text_output() -> Iterator[IO[str]]:
    """Opens standard output as a stream of text. Raises `StreamClosedError` if there is none, `InputError` if it is full."""
    if sys.stdout is None:
        raise StreamClosedError("standard output is closed")
    try:
        yield sys.stdout
    except OSError as error:
        _end_output(_failure(getattr(sys.stdout, "buffer", None)) or error)


@contextmanager
def watched_output() -> Iterator[None]:
    """Opens standard output anew, so that a failed write to it ends as in `text_output`, whoever wrote."""
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
        _end_output(failure)


def _end_output(error: OSError) -> None:
    """Writes no more to standard output after a failed write. A reader that went away is no error; anything else raises
    `InputError`."""
    abandon_output()
    if not isinstance(error, BrokenPipeError):
        raise InputError(f"standard output cannot be written: {error.strerror or error}") from None


def is_read(out: BinaryIO) -> bool:
    """Whether output may still be read. It is false for a pipe whose reader went away, as far as the system can tell."""
    try:
        watched = select.poll()
        watched.register(out.fileno(), 0)
        return not any(state & (select.POLLERR | select.POLLHUP) for _, state in watched.poll(0))
    except (AttributeError, OSError, ValueError):  # a system without poll, or no file of the system
        return True


def abandon_output() -> None:
    """Redirects standard output to nothing. Python flushes it once more at its end, and nobody is left to read it."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(raw := getattr(getattr(sys.stdout, "buffer", None), "raw", None), _Raw):
            raw.failure = None


def flush_streams() -> bool:
    """Flushes standard output and standard error, before a process ends without Python's own end. Returns False if one of them
    could not be written."""
    are_written = True
    # Who started this program in his own process may have written to the standard output that it began with.
    for stream in (sys.__stdout__, sys.stdout, sys.stderr):
        if stream is not None:
            try:
                stream.flush()
            except (OSError, ValueError):
                are_written = False
    return are_written


def occupy_standard_descriptors() -> None:
    """Opens closed standard streams on `/dev/null`, so that no file that is opened later for output gets one of their numbers.

    They are opened the wrong way round: reading from standard input, and writing to the others, still fails.
    """
    for descriptor, way in enumerate((os.O_WRONLY, os.O_RDONLY, os.O_RDONLY)):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, way)


def buffer_standard_output() -> None:
    """Opens standard output with a buffer for writing if Python was told to use none (PYTHONUNBUFFERED). A full file takes a part
    of a write, and only a buffer turns that into an error."""
    out = sys.stdout
    if isinstance(getattr(out, "buffer", None), io.RawIOBase):
        raw = io.FileIO(out.fileno(), "w", closefd=False)
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(raw), out.encoding, out.errors, line_buffering=True)


def write_document(document: bytes, destination: Destination) -> None:
    """Writes a text that is complete in memory to a destination."""
    with destination.opened() as out:
        out.write(document)


def put(*lines: str) -> None:
    """Prints lines of text on standard output. Characters that do not print are escaped."""
    with standard_output() as out:
        for line in lines:
            out.write(f"{printable(without_raw_bytes(line))}\n".encode("utf-8", "backslashreplace"))


def say(*lines: str) -> None:
    """Prints lines for people on standard error, escaped, and all at once: a reader that acts on the first finds the others too.
    Without such a stream it prints nothing."""
    if sys.stderr is None:
        return
    text = "".join([f"{printable(without_raw_bytes(line))}\n" for line in lines])
    with suppress(OSError, ValueError):
        sys.stderr.write(text)
        sys.stderr.flush()
