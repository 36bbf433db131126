"""Tracks SMB opens of files until they are closed, and makes a `FileRecord` of each.

The content of a file passes in pieces: it is collected which ranges passed, and the digest of one run. The digest is made as pieces
come in order. Early pieces wait, up to a bound. Beyond it there is no digest. A digest is only given of one range without a hole,
without a byte that was written twice.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Mapping
from hashlib import sha256
from typing import NamedTuple, TypeVar

from msgspec import Struct, field

from analyzer.core.error_code_names import known_nt_status_name
from analyzer.results.records.opened_file import FileAction, FileRecord, FileWarning, PassedContent
from analyzer.results.records.record_types import Endpoint
from analyzer.transport.smb.smb_framing import Hole, Message
from analyzer.transport.smb.trees_and_opens import LOOKED_AT, RPC_PIPES, pipe_name
from analyzer.transport.tcp.protocol_recognition import looks_like_dcerpc
from analyzer.transport.tcp.stream_events import Connection, Direction

# ---------------------------------------------------------------------------------------------------------- file ranges


# Bytes that wait for those before them: of one file, and of all.
MAX_WAITING, MAX_WAITING_IN_ALL = 8 << 20, 64 << 20
_MAX_RANGES, _FIRST_BYTES = 256, 16


class EarlyBytes:
    """The number of bytes of early file content that wait, in all files."""

    def __init__(self) -> None:
        self.bytes = 0


class Content:
    """The content of one file that passed over SMB in one direction."""

    def __init__(self, waiting: EarlyBytes) -> None:
        self.bytes = 0
        self._waiting = waiting
        # Ranges that passed, sorted, none touching another: where they begin and where they end.
        self._starts: list[int] = []
        self._stops: list[int] = []
        self._is_crowded = False
        self._is_twice = False
        # The run that is hashed, None once it cannot be; pieces that came early, by their places.
        self._hash = sha256()
        self._begin: int | None = None
        self._at = 0
        self._early: dict[int, bytes] = {}
        self._early_bytes = 0
        self._is_lost = False
        self._first = b""

    def add(self, start: int, data: bytes, *, is_new: bool) -> None:
        """Adds to a tracked file's content a piece that passed over SMB. Bytes that passed before are not taken again. `is_new`:
        they may differ (a write)."""
        if not data:
            return
        self.bytes += len(data)
        if start < _FIRST_BYTES and start <= len(self._first):
            self._first = (self._first[:start] + data[: _FIRST_BYTES - start] + self._first[start + len(data) :])[
                :_FIRST_BYTES
            ]
        for first, last in self._fresh(start, start + len(data)):
            self._take(first, data[first - start : last - start])
        if is_new and self._overlaps(start, start + len(data)):
            self._is_twice = True
        self._note(start, start + len(data))

    def passed(self, size: int | None) -> PassedContent | None:
        """Returns of a tracked file's content the ranges and the digest that passed, None if nothing passed. `size` is that of the
        file."""
        if not self._starts:
            return None
        self._settle()
        ranges = tuple(zip(self._starts, self._stops, strict=True))[:_MAX_RANGES]
        is_one = len(self._starts) == 1 and not self._is_crowded
        is_hashed = is_one and not self._is_lost and (self._begin, self._at) == ranges[0] and not self._is_twice
        return PassedContent(
            bytes=self.bytes,
            ranges=ranges,
            is_whole=is_one and not self._is_twice and size is not None and ranges[0] == (0, size),
            sha256=self._hash.hexdigest() if is_hashed else None,
            begins=self._first.hex() if self._first else None,
        )

    def release(self) -> None:
        """Ends the file's content, and drops the pieces that still wait."""
        self._settle()
        self._waiting.bytes -= self._early_bytes
        self._early.clear()
        self._early_bytes = 0

    @property
    def first(self) -> bytes:
        """The first bytes of the file, as far as they passed over SMB."""
        return self._first

    @property
    def end(self) -> int:
        """The end of the last range of the file's content that passed."""
        return self._stops[-1] if self._stops else 0

    def _overlaps(self, start: int, stop: int) -> bool:
        at = bisect_right(self._stops, start)
        return at < len(self._starts) and self._starts[at] < stop

    def _fresh(self, start: int, stop: int) -> list[tuple[int, int]]:
        """Returns the parts of a range of file content that did not pass before."""
        found = []
        for number in range(bisect_right(self._stops, start), len(self._starts)):
            if self._starts[number] >= stop:
                break
            if self._starts[number] > start:
                found.append((start, self._starts[number]))
            start = self._stops[number]
        if start < stop:
            found.append((start, stop))
        return found

    def _note(self, start: int, stop: int) -> None:
        """Joins a range of file content with the ranges that it touches."""
        first, last = bisect_left(self._stops, start), bisect_right(self._starts, stop)
        if first < last:
            start, stop = min(start, self._starts[first]), max(stop, self._stops[last - 1])
        elif len(self._starts) >= _MAX_RANGES:
            self._is_crowded = True
            return
        self._starts[first:last], self._stops[first:last] = [start], [stop]

    def _take(self, start: int, data: bytes) -> None:
        if self._is_lost:
            return
        if self._begin is None and start == 0:
            self._begin = 0
        if self._begin is not None and start == self._at:
            self._hash.update(data)
            self._at += len(data)
            self._follow()
            return
        if self._early_bytes + len(data) > MAX_WAITING or self._waiting.bytes + len(data) > MAX_WAITING_IN_ALL:
            self._overflow(start, data)
            return
        self._early[start] = data
        self._early_bytes += len(data)
        self._waiting.bytes += len(data)

    def _follow(self) -> None:
        """Takes the file content that waited for the bytes before it."""
        while (data := self._early.pop(self._at, None)) is not None:
            self._early_bytes -= len(data)
            self._waiting.bytes -= len(data)
            self._hash.update(data)
            self._at += len(data)

    def _overflow(self, start: int, data: bytes) -> None:
        """Takes a piece of file content that is too much to wait. If nothing was hashed yet, the run begins with the first byte
        that waits; else the hash is given up."""
        if self._begin is None:
            self._settle()
            if start == self._at:
                self._take(start, data)
                return
        self._is_lost = True
        self.release()

    def _settle(self) -> None:
        """Settles where the hashed run of file content begins: at the first byte that passed, if the file's first byte did not."""
        if self._begin is None and self._early:
            self._begin = self._at = min(self._early)
            self._follow()


# ----------------------------------------------------------------------------------------------------------- file opens


_MAX_FRAMES = 64
# A share of the whole drive or of the system's folder, which only administrators may use.
_ADMINISTRATIVE = re.compile(r"\\(?:admin|[a-z])\$\\?\Z", re.IGNORECASE)
_PROGRAM = re.compile(r"\.(?:exe|dll|sys|scr|com|bat|cmd|ps1|vbs|js|hta|msi|cpl|ocx)\Z", re.IGNORECASE)
_MZ = b"MZ"


_Tree = TypeVar("_Tree", bound=Hashable)
# Whether the connecting of a share was captured, and its path; None where it is no disk.
_Share = tuple[bool, str | None]


def is_pipe(trees: Mapping[_Tree, str | None], tree: _Tree, name: str | None) -> bool:
    """Whether an SMB open is a pipe, no file to track. A share without a path is no disk, so it tells; else the open's name
    does."""
    if tree in trees:
        return trees[tree] is None
    return name is not None and pipe_name(name) in RPC_PIPES


def share_of(trees: Mapping[_Tree, str | None], tree: _Tree) -> _Share:
    """Returns what the tracker of files knows of an SMB share: whether the connecting of its tree was captured, and its path."""
    return tree in trees, trees.get(tree)


class Carried(NamedTuple):
    """How an SMB message about a file was carried: its ends, the session that it names, its time and frames."""

    client: Endpoint
    server: Endpoint
    session_id: int
    time_ns: int
    frames: tuple[int, ...]


class Sent(NamedTuple):
    """An SMB message in its sent form. Most concern no file, so its ends and frames are looked up only on demand."""

    connection: Connection
    direction: Direction
    message: Message

    def server(self, *, is_response: bool) -> Endpoint:
        """Returns the server's end of an SMB message that may be about a file: the sender of responses."""
        end = self.connection.sender if is_response else self.connection.receiver
        return end(self.direction)

    def carried(self, session_id: int, *, is_response: bool) -> Carried:
        """Returns how an SMB message about a file was carried, with the session that it names."""
        ends = self.connection.sender(self.direction), self.connection.receiver(self.direction)
        client, server = reversed(ends) if is_response else ends
        return Carried(client, server, session_id, self.message.time_ns, self.message.frames)


class FileOpen(Struct):
    """An SMB open of a file or directory, with what messages did to it so far."""

    carried: Carried
    share: str | None
    name: str | None
    is_directory: bool | None = None
    actions: dict[FileAction, None] = field(default_factory=dict)
    status: int | None = None
    size: int | None = None
    # Whether what is written makes the size: the file was empty when it was opened.
    is_new: bool = False
    renamed_to: str | None = None
    read: Content | None = None
    written: Content | None = None
    deletes: bool = False
    closed: bool = False
    frames: dict[int, None] = field(default_factory=dict)
    last_frames: tuple[int, ...] = ()
    last_time_ns: int = 0

    def note(self, carried: Carried, *actions: FileAction) -> None:
        """Notes one more SMB message about the opened file, with its actions."""
        self.actions.update(dict.fromkeys(actions))
        if len(self.frames) < _MAX_FRAMES // 2:
            self.frames.update(dict.fromkeys(carried.frames))
        self.last_frames = carried.frames
        self.last_time_ns = max(self.last_time_ns, carried.time_ns)

    def take_content(
        self, content: Content, message: Message, span: tuple[int, int], offset: int, *, is_new: bool
    ) -> None:
        """Takes file content: the bytes `span` of a message, which lie at `offset` of the file, as far as they were captured."""
        at = offset
        for part in message.spans(*span):
            if isinstance(part, Hole):
                at += part.length
                continue
            piece, start, stop = part
            content.add(at, piece.part(start, stop), is_new=is_new)
            at += stop - start

    def record(self, number: int | None, user: str | None) -> FileRecord:
        """Returns the record of what was done to the opened file, with the number and the user of its session."""
        size = self.size
        if self.is_new and self.written is not None:
            size = max(size or 0, self.written.end)
        begins = next((one.first for one in (self.written, self.read) if one is not None and one.first), b"")
        is_executable = begins.startswith(_MZ) if len(begins) >= len(_MZ) else None
        is_program = is_executable or (self.name is not None and _PROGRAM.search(self.name) is not None)
        warnings: tuple[FileWarning, ...] = ()
        if self.written is not None and is_program and _ADMINISTRATIVE.search(self.share or ""):
            warnings = ("executable-to-administrative-share",)
        frames = sorted({*self.frames, *self.last_frames})
        return FileRecord(
            session=number,
            user=user,
            client=self.carried.client,
            server=self.carried.server,
            share=self.share,
            name=self.name.lstrip("\\") if self.name is not None else None,
            is_directory=self.is_directory,
            actions=tuple(self.actions),
            status=self.status,
            status_name=known_nt_status_name(self.status) if self.status is not None else None,
            size=size,
            renamed_to=self.renamed_to.lstrip("\\") if self.renamed_to is not None else None,
            read=self.read.passed(size) if self.read is not None else None,
            written=self.written.passed(size) if self.written is not None else None,
            is_executable=is_executable,
            warnings=warnings,
            first_time_ns=self.carried.time_ns,
            last_time_ns=max(self.last_time_ns, self.carried.time_ns),
            closed=self.closed,
            frames=tuple(frames[:_MAX_FRAMES]),
        )


class FileOpens:
    """Tracks the opens of files of all SMB sessions. `done` has the opens that ended, in the order of their ends."""

    def __init__(self, most_opens: int, most_files: int) -> None:
        self.done: list[FileOpen] = []
        # Opens and files that were left out because there were too many.
        self.forgotten = 0
        self._most_opens, self._most_files = most_opens, most_files
        self._waiting = EarlyBytes()
        self._open: dict[Hashable, FileOpen] = {}
        self._no_files: set[Hashable] = set()

    def add(self, key: Hashable, opened: FileOpen) -> None:
        """Adds an SMB open of a file. If the same key is still open, its close was missed."""
        self._end(key)
        self._no_files.discard(key)
        if len(self._open) >= self._most_opens:
            self._end(next(iter(self._open)))
        self._open[key] = opened

    def get(self, key: Hashable) -> FileOpen | None:
        """Returns the open of a file with this key, None if there is none."""
        return self._open.get(key)

    def is_no_file(self, key: Hashable) -> bool:
        """Whether the SMB open with this key is tracked no more, because it is no file."""
        return key in self._no_files

    def met(
        self, key: Hashable, carried: Carried, share: _Share, message: Message, span: tuple[int, int]
    ) -> FileOpen | None:
        """Returns the open of a file that a message reads or writes, None if it is no file. An open from before the capture is made
        here. If nothing shows its share, its data decide."""
        opened = self._open.get(key)
        if opened is not None or key is None or key in self._no_files:
            return opened
        is_known, path = share
        start = span[0]
        if (is_known and path is None) or looks_like_dcerpc(message.begins_with(start + LOOKED_AT)[start:]):
            self.pass_over(key)
            return None
        opened = FileOpen(carried, path, None)
        self.add(key, opened)
        return opened

    def pass_over(self, key: Hashable) -> None:
        """Tracks the SMB open with this key no more, because it is no file."""
        self._end(key)
        if len(self._no_files) >= self._most_opens:
            self._no_files.clear()
        self._no_files.add(key)

    def close(self, key: Hashable, carried: Carried, size: int | None) -> None:
        """Closes the SMB open of a file with this key. `size` is the size of its file, None if unknown."""
        self._no_files.discard(key)
        opened = self._open.get(key)
        if opened is None:
            return
        opened.closed = True
        opened.size = size if size is not None else opened.size
        opened.note(carried, *(("deleted",) if opened.deletes else ()))
        self._end(key)

    def read(self, opened: FileOpen, carried: Carried, message: Message, span: tuple[int, int], offset: int) -> None:
        """Takes the bytes that an SMB message read from an opened file."""
        opened.note(carried, "read")
        opened.read = opened.read or Content(self._waiting)
        opened.take_content(opened.read, message, span, offset, is_new=False)

    def write(self, opened: FileOpen, carried: Carried, message: Message, span: tuple[int, int], offset: int) -> None:
        """Takes the bytes that an SMB message wrote to an opened file."""
        opened.note(carried, "written")
        opened.written = opened.written or Content(self._waiting)
        opened.take_content(opened.written, message, span, offset, is_new=True)

    def finish(self, opened: FileOpen) -> None:
        """Keeps an SMB open of a file that has ended or was refused, or a file that was deleted or renamed without an open."""
        for content in (opened.read, opened.written):
            if content is not None:
                content.release()
        if len(self.done) < self._most_files:
            self.done.append(opened)
        else:
            self.forgotten += 1

    def end(self) -> None:
        """Ends all opens of files at the end of the capture."""
        for key in list(self._open):
            self._end(key)

    def _end(self, key: Hashable) -> None:
        opened = self._open.pop(key, None)
        if opened is not None:
            self.finish(opened)
