"""Follows what SMB2 messages do to files ([MS-SMB2] sections 2.2.9 to 2.2.40): messages become opens.

A request waits for its response by its MessageId, because only granted requests were done. Written data counts if the server did
not refuse it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from msgspec import Struct

from analyzer.core.byte_cursor import Cursor
from analyzer.core.errors import DecodeError
from analyzer.results.records.opened_file import FileAction
from analyzer.transport.smb.files.file_tracker import Carried, FileOpen, FileOpens, Sent, is_pipe, share_of
from analyzer.transport.smb.smb2_header import (
    CLOSE,
    CREATE,
    FLAG_RELATED,
    HEADER_LEN,
    LONGEST,
    READ,
    READ_REQUEST,
    TREE_CONNECT,
    WRITE,
    WRITE_REQUEST,
    Smb2Header,
    buffer_span,
    read_header,
)
from analyzer.transport.smb.smb_framing import Message

SET_INFO = 0x11
_STATUS_PENDING = 0x103
_INFO_FILE, _RENAME, _DISPOSITION, _END_OF_FILE, _DISPOSITION_EX = 1, 10, 13, 20, 64
_DIRECTORY_FILE, _DELETE_ON_CLOSE, _ATTRIBUTE_DIRECTORY = 0x1, 0x1000, 0x10
_SHARE_DISK = 1
_ANY_FILE = b"\xff" * 16
# [MS-SMB2] section 2.2.14, CreateAction.
_CREATED: dict[int, FileAction] = {0: "overwritten", 1: "opened", 2: "created", 3: "overwritten"}
_MAX_COMPOUND = 256
_MAX_HELD = 64 << 20


# SessionId, and the port of the server: a relay that passes messages on has the same ids on both of its sides, and a session over
# several connections has one port.
SessionKey = tuple[int, int]


class _Smb2FileRequest(Struct):
    """An SMB2 request about a file that waits for its response, with the fields that the response needs."""

    command: int
    # The one before it in its compound, whose open it means where it names none.
    before: _Smb2FileRequest | None = None
    key: tuple[SessionKey, bytes] | None = None
    tree_id: int | None = None
    name: str | None = None
    is_directory: bool = False
    deletes: bool = False
    offset: int = 0
    message: Message | None = None
    span: tuple[int, int] = (0, 0)
    # Of SET_INFO: what it does to the open once it is granted.
    effect: Callable[[FileOpen], FileAction | None] | None = None


class _Operation(NamedTuple):
    """One SMB2 message about a file, alone or in a compound."""

    header: Smb2Header
    message: Message
    body: Cursor
    sent: Sent
    session: SessionKey
    tree_id: int | None

    @property
    def carried(self) -> Carried:
        """How this SMB2 message about a file was carried: its ends, session, time and frames."""
        return self.sent.carried(self.header.session_id, is_response=self.header.is_response)


class Smb2Files:
    """Follows the files of one SMB2 connection."""

    def __init__(self, opens: FileOpens, trees: dict[tuple[SessionKey, int], str | None], most_requests: int) -> None:
        """`trees` are the disk shares of all SMB2 sessions by session and tree id, None for shares that are no disk."""
        self._opens, self._trees, self._most = opens, trees, most_requests
        self._asked: dict[int, _Smb2FileRequest] = {}
        # Bytes of writes that wait.
        self._held = 0

    def take_message(self, message: Message, sent: Sent) -> None:
        """Notes what one SMB2 message, perhaps a compound, does to files."""
        at, tree_id = 0, None
        session: SessionKey = (0, 0)
        before: _Smb2FileRequest | None = None
        for _ in range(_MAX_COMPOUND):
            part = message.part(at, message.length) if at else message
            head = part.begins_with(LONGEST)
            header = read_header(head, 0, len(head))
            step = header.next_command
            if step:
                part = part.part(0, step)
            is_related = bool(header.flags & FLAG_RELATED)
            if not is_related or not at:
                tree_id = header.tree_id
                session = header.session_id, sent.server(is_response=header.is_response).port
            if at or step or is_related or not self._passes_over(header, head, session):
                operation = _Operation(header, part, Cursor(part.head.data, HEADER_LEN), sent, session, tree_id)
                try:
                    if header.is_response:
                        self._response(operation)
                    else:
                        before = self._request(operation, before if is_related else None)
                except DecodeError:
                    pass  # the reader of the session reports what is wrong with a message
            if step < HEADER_LEN:
                return
            at += step

    def _passes_over(self, header: Smb2Header, head: bytes, session: SessionKey) -> bool:
        """Whether an SMB2 message certainly concerns no file, like nearly all that carry calls. It reads or writes an open that was
        passed over, answers such a request, or has a command without files."""
        if header.is_response:
            return header.message_id not in self._asked
        if header.command not in _REQUESTS:
            return True
        fields = _OF_OPENS.get(header.command)
        if fields is None or len(head) < fields.stop:
            return False
        *_, file_id = fields.unpack(head, 0)
        if not self._opens.is_no_file((session, file_id)):
            return False
        self._forget(header.message_id)
        return True

    def _request(self, operation: _Operation, before: _Smb2FileRequest | None) -> _Smb2FileRequest:
        asked = _Smb2FileRequest(operation.header.command, before, tree_id=operation.tree_id)
        take = _REQUESTS.get(asked.command)
        if take is not None:
            take(self, operation, asked)
            if asked.key is not None and asked.key[1] == _ANY_FILE:
                asked.key = None
            self._forget(operation.header.message_id)
            while self._asked and (len(self._asked) >= self._most or self._held > _MAX_HELD):
                self._forget(next(iter(self._asked)))
            self._asked[operation.header.message_id] = asked
            self._held += asked.span[1] - asked.span[0]
        return asked

    def _forget(self, message_id: int) -> _Smb2FileRequest | None:
        asked = self._asked.pop(message_id, None)
        if asked is not None:
            self._held -= asked.span[1] - asked.span[0]
        return asked

    def _response(self, operation: _Operation) -> None:
        header = operation.header
        if header.status == _STATUS_PENDING:
            return
        asked = self._forget(header.message_id)
        if asked is None or asked.command != header.command:
            return
        if asked.key is None and asked.before is not None:
            asked.key = asked.before.key
        _RESPONSES[header.command](self, operation, asked)

    # Trees and opens

    def _tree_asked(self, operation: _Operation, asked: _Smb2FileRequest) -> None:
        body = operation.body
        body.skip("tree_connect.fixed", 4)
        asked.name = _text(operation.message, body.u16("tree_connect.ofs_path"), body.u16("tree_connect.len_path"))

    def _tree_answered(self, operation: _Operation, asked: _Smb2FileRequest) -> None:
        operation.body.skip("tree_connect.structure_size", 2)
        if not operation.header.failed and operation.tree_id is not None:
            is_disk = operation.body.u8("tree_connect.share_type") == _SHARE_DISK
            self._trees[operation.session, operation.tree_id] = asked.name if is_disk else None

    def _create_asked(self, operation: _Operation, asked: _Smb2FileRequest) -> None:
        body = operation.body
        body.skip("create.to_access", 36)
        body.skip("create.share_access_and_disposition", 4)
        options = body.u32("create.options")
        asked.name = _text(operation.message, body.u16("create.ofs_name"), body.u16("create.len_name"))
        asked.is_directory = bool(options & _DIRECTORY_FILE)
        asked.deletes = bool(options & _DELETE_ON_CLOSE)

    def _create_answered(self, operation: _Operation, asked: _Smb2FileRequest) -> None:
        place = self._place(operation, asked)
        header, body, carried = operation.header, operation.body, operation.carried
        if is_pipe(self._trees, place, asked.name):
            if not header.failed:
                body.skip("create.to_file_id", 64)
                self._opens.pass_over((operation.session, body.take_bytes("create.file_id", 16)))
            return
        opened = FileOpen(carried, self._trees.get(place), asked.name, asked.is_directory or None, status=header.status)
        if header.failed:
            opened.note(carried)
            self._opens.finish(opened)
            return
        body.skip("create.oplock", 4)
        action = body.u32("create.action")
        body.skip("create.times_and_allocation", 40)
        opened.size = body.u64("create.end_of_file")
        opened.is_directory = bool(body.u32("create.attributes") & _ATTRIBUTE_DIRECTORY)
        body.skip("create.reserved", 4)
        file_id = body.take_bytes("create.file_id", 16)
        opened.is_new = opened.size == 0
        opened.deletes = asked.deletes
        opened.note(carried, _CREATED.get(action, "opened"))
        self._opens.add((operation.session, file_id), opened)
        asked.key = operation.session, file_id

    def _close_asked(self, operation: _Operation, asked: _Smb2FileRequest) -> None:
        operation.body.skip("close.fixed", 8)
        asked.key = self._key(operation)

    def _close_answered(self, operation: _Operation, asked: _Smb2FileRequest) -> None:
        if operation.header.failed or asked.key is None:
            return
        body = operation.body
        body.skip("close.structure_size", 2)
        has_attributes = body.u16("close.flags") & 1
        body.skip("close.times_and_allocation", 44)
        size = body.u64("close.end_of_file")
        self._opens.close(asked.key, operation.carried, size if has_attributes else None)

    @staticmethod
    def _place(operation: _Operation, asked: _Smb2FileRequest) -> tuple[SessionKey, int]:
        return operation.session, asked.tree_id if asked.tree_id is not None else -1

    def _met(
        self, operation: _Operation, asked: _Smb2FileRequest, message: Message, span: tuple[int, int]
    ) -> FileOpen | None:
        share = share_of(self._trees, self._place(operation, asked))
        return self._opens.met(asked.key, operation.carried, share, message, span)

    def _key(self, operation: _Operation) -> tuple[SessionKey, bytes]:
        return operation.session, operation.body.take_bytes("file_id", 16)

    # Content

    def _read_asked(self, operation: _Operation, asked: _Smb2FileRequest) -> None:
        body = operation.body
        body.skip("read.fixed", 8)
        asked.offset = body.u64("read.offset")
        asked.key = self._key(operation)

    def _read_answered(self, operation: _Operation, asked: _Smb2FileRequest) -> None:
        if operation.header.failed:
            return
        body = operation.body
        body.skip("read.structure_size", 2)
        start = body.u8("read.ofs_data")
        body.skip("read.reserved", 1)
        span = buffer_span(operation.message, start, body.u32("read.len_data"))
        opened = self._met(operation, asked, operation.message, span)
        if opened is not None:
            self._opens.read(opened, operation.carried, operation.message, span, asked.offset)

    def _write_asked(self, operation: _Operation, asked: _Smb2FileRequest) -> None:
        body = operation.body
        body.skip("write.structure_size", 2)
        start, length = body.u16("write.ofs_data"), body.u32("write.len_data")
        asked.offset = body.u64("write.offset")
        asked.key = self._key(operation)
        asked.message, asked.span = operation.message, buffer_span(operation.message, start, length)

    def _write_answered(self, operation: _Operation, asked: _Smb2FileRequest) -> None:
        if operation.header.failed or asked.message is None:
            return
        opened = self._met(operation, asked, asked.message, asked.span)
        if opened is not None:
            self._opens.write(opened, operation.carried, asked.message, asked.span, asked.offset)

    def _set_info_asked(self, operation: _Operation, asked: _Smb2FileRequest) -> None:
        body = operation.body
        body.skip("set_info.structure_size", 2)
        kind, level = body.u8("set_info.info_type"), body.u8("set_info.file_info_class")
        length, start = body.u32("set_info.len_buffer"), body.u16("set_info.ofs_buffer")
        body.skip("set_info.additional", 6)
        asked.key = self._key(operation)
        if kind == _INFO_FILE:
            start, stop = buffer_span(operation.message, start, length)
            asked.effect = _effect(level, Cursor(operation.message.part(start, stop).head.data))

    def _set_info_answered(self, operation: _Operation, asked: _Smb2FileRequest) -> None:
        opened = self._opens.get(asked.key)
        if not operation.header.failed and opened is not None and asked.effect is not None:
            action = asked.effect(opened)
            opened.note(operation.carried, *([action] if action is not None else []))


def _effect(level: int, buffer: Cursor) -> Callable[[FileOpen], FileAction | None] | None:
    """Returns a function for what a level of SMB2 SET_INFO does to an open file ([MS-FSCC] section 2.4), or None."""
    if level == _RENAME:
        buffer.skip("rename.replace_and_root", 16)
        name = buffer.take_bytes("rename.name", buffer.u32("rename.len_name")).decode("utf-16-le", "replace")

        def rename(opened: FileOpen) -> FileAction | None:
            opened.renamed_to = name
            return "renamed"

        return rename
    if level in (_DISPOSITION, _DISPOSITION_EX):
        deletes = bool(buffer.u8("disposition.delete_pending") & 1)

        def dispose(opened: FileOpen) -> FileAction | None:
            opened.deletes = deletes
            return None

        return dispose
    if level == _END_OF_FILE:
        size = buffer.u64("end_of_file")

        def resize(opened: FileOpen) -> FileAction | None:
            opened.size, opened.is_new = size, False
            return None

        return resize
    return None


def _text(message: Message, start: int, length: int) -> str:
    start, stop = buffer_span(message, start, length)
    return message.part(start, stop).head.data.decode("utf-16-le", "replace")


_REQUESTS: dict[int, Callable[[Smb2Files, _Operation, _Smb2FileRequest], None]] = {
    TREE_CONNECT: Smb2Files._tree_asked,
    CREATE: Smb2Files._create_asked,
    CLOSE: Smb2Files._close_asked,
    READ: Smb2Files._read_asked,
    WRITE: Smb2Files._write_asked,
    SET_INFO: Smb2Files._set_info_asked,
}
# The fields of requests that concern only opens. The last field is the FileId.
_OF_OPENS = {READ: READ_REQUEST, WRITE: WRITE_REQUEST}
_RESPONSES: dict[int, Callable[[Smb2Files, _Operation, _Smb2FileRequest], None]] = {
    TREE_CONNECT: Smb2Files._tree_answered,
    CREATE: Smb2Files._create_answered,
    CLOSE: Smb2Files._close_answered,
    READ: Smb2Files._read_answered,
    WRITE: Smb2Files._write_answered,
    SET_INFO: Smb2Files._set_info_answered,
}
