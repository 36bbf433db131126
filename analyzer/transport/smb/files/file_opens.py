"""Follows SMB opens of files until they are closed, and makes a `FileRecord` of each."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from typing import NamedTuple, TypeVar

from msgspec import Struct, field

from analyzer.core.ntstatus import known_nt_status_name
from analyzer.results.records.file import FileAction, FileRecord, FileWarning
from analyzer.results.records.record_types import Endpoint
from analyzer.transport.smb.files.file_ranges import Content, EarlyBytes
from analyzer.transport.smb.smb_framing import Hole, Message
from analyzer.transport.smb.trees_and_opens import LOOKED_AT, RPC_PIPES, pipe_name
from analyzer.transport.tcp.protocol_recognition import looks_like_dcerpc
from analyzer.transport.tcp.stream_events import Connection, Direction

_MAX_FRAMES = 64
# A share of the whole drive or of the system's folder, which only administrators may use.
_ADMINISTRATIVE = re.compile(r"\\(?:admin|[a-z])\$\\?\Z", re.IGNORECASE)
_PROGRAM = re.compile(r"\.(?:exe|dll|sys|scr|com|bat|cmd|ps1|vbs|js|hta|msi|cpl|ocx)\Z", re.IGNORECASE)
_MZ = b"MZ"


_Tree = TypeVar("_Tree", bound=Hashable)
# Whether the connecting of a share was captured, and its path; None where it is no disk.
_Share = tuple[bool, str | None]


def is_pipe(trees: Mapping[_Tree, str | None], tree: _Tree, name: str | None) -> bool:
    """Whether an SMB open is a pipe and no file. A share without a path is no disk, so it tells; else the open's name does."""
    if tree in trees:
        return trees[tree] is None
    return name is not None and pipe_name(name) in RPC_PIPES


def share_of(trees: Mapping[_Tree, str | None], tree: _Tree) -> _Share:
    """Returns what is known of the share that an SMB tree connects to: whether the connecting was captured, and its path."""
    return tree in trees, trees.get(tree)


class Carried(NamedTuple):
    """How an SMB message was carried: its ends, the session that it names, its time and frames."""

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
        """Returns the server's end of an SMB message: the sender of responses."""
        end = self.connection.sender if is_response else self.connection.receiver
        return end(self.direction)

    def carried(self, session_id: int, *, is_response: bool) -> Carried:
        """Returns how the SMB message was carried, for the session with this id."""
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
    """The opens of files of all SMB sessions. `done` has the opens that ended, in the order of their ends."""

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
        """Whether the SMB open with this key was passed over, because it is no file."""
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
        """Passes over the SMB open with this key, because it is no file."""
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
