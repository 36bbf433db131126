"""Follows what SMB1 messages do to files ([MS-CIFS] section 2.2.4): messages become opens. TRANSACTION2 is not read.

Requests and answers meet by process and multiplex id. Commands may be chained (AndX). Those that read and write usually stand
alone; of a chain only the first of them is taken.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from analyzer.core.byte_cursor import Cursor
from analyzer.results.records.opened_file import FileAction
from analyzer.transport.smb.files.file_tracker import Carried, FileOpen, FileOpens, is_pipe, share_of
from analyzer.transport.smb.smb1_message import (
    FLAG2_NT_STATUS,
    HEADER_LEN,
    Smb1Block,
    Smb1Header,
    read_block,
    read_header,
)
from analyzer.transport.smb.smb_framing import Message

_CLOSE, _DELETE, _RENAME, _OPEN_ANDX, _READ_ANDX, _WRITE_ANDX = 0x04, 0x06, 0x07, 0x2D, 0x2E, 0x2F
_TREE_CONNECT_ANDX, _NT_CREATE_ANDX, _NO_ANDX = 0x75, 0xA2, 0xFF
_ANDX = frozenset((0x24, _OPEN_ANDX, _READ_ANDX, _WRITE_ANDX, 0x73, 0x74, _TREE_CONNECT_ANDX, _NT_CREATE_ANDX))
_MAX_CHAIN = 16
_WITH_HIGH_OFFSET = {_READ_ANDX: 12, _WRITE_ANDX: 14}
_DIRECTORY_FILE, _DELETE_ON_CLOSE, _ATTRIBUTE_DIRECTORY = 0x1, 0x1000, 0x10
# [MS-CIFS] section 2.2.4.64.2, CreateDisposition of the answer.
_CREATED: dict[int, FileAction] = {0: "overwritten", 1: "opened", 2: "created", 3: "overwritten"}
# [MS-CIFS] section 2.2.4.41.2, OpenResults.
_OPENED: dict[int, FileAction] = {1: "opened", 2: "created", 3: "overwritten"}


class _Smb1FileRequest(Struct):
    """An SMB1 request about a file that waits for its answer."""

    command: int
    name: str | None = None
    new_name: str | None = None
    fid: int | None = None
    offset: int = 0
    is_directory: bool = False
    deletes: bool = False
    message: Message | None = None
    span: tuple[int, int] = (0, 0)


class Smb1Files:
    """Follows the files of one SMB1 connection."""

    def __init__(self, opens: FileOpens, most_requests: int) -> None:
        self._opens, self._most = opens, most_requests
        self._asked: dict[tuple[int, int], dict[int, _Smb1FileRequest]] = {}
        self._trees: dict[int, str | None] = {}

    def take_message(self, message: Message, carried: Callable[[int], Carried], connection: int) -> None:
        """Notes what one SMB1 message does to files. `carried` tells how it was carried, for the session with a UID."""
        data = message.head.data
        header = read_header(data)
        key = header.pid, header.mid
        asked = self._asked.pop(key, {}) if header.is_response else {}
        at, command = HEADER_LEN, header.command
        for _ in range(_MAX_CHAIN):
            block = read_block(data, at, command, is_whole=message.whole)
            following = _NO_ANDX
            if command in _ANDX and block.word_count >= 2:
                following = block.words.u8("andx.command")
                block.words.skip("andx.reserved", 1)
                at = block.words.u16("andx.offset")
            if not header.is_response:
                if (one := self._request(header, block, message)) is not None:
                    asked[command] = one
            elif command in asked:
                self._response(header, block, message, asked[command], carried(header.uid), connection)
            if following == _NO_ANDX or at <= block.words.pos or header.failed:
                break
            command = following
        if not header.is_response and asked:
            if len(self._asked) >= self._most:
                del self._asked[next(iter(self._asked))]
            self._asked[key] = asked

    def _request(self, header: Smb1Header, block: Smb1Block, message: Message) -> _Smb1FileRequest | None:
        command, words, data = block.command, block.words, block.data
        asked = _Smb1FileRequest(command)
        if command == _TREE_CONNECT_ANDX:
            words.skip("tree_connect.flags", 2)
            data.skip("tree_connect.password", words.u16("tree_connect.len_password"))
            asked.name = block.text(header.unicode)
        elif command == _NT_CREATE_ANDX:
            words.skip("create.reserved", 1)
            length = words.u16("create.len_name")
            words.skip("create.to_options", 32)
            options = words.u32("create.options")
            asked.is_directory, asked.deletes = bool(options & _DIRECTORY_FILE), bool(options & _DELETE_ON_CLOSE)
            asked.name = block.text(header.unicode, length)
        elif command == _OPEN_ANDX:
            asked.name = block.text(header.unicode)
        elif command == _CLOSE:
            asked.fid = words.u16("close.fid")
        elif command == _DELETE:
            data.skip("delete.format", 1)
            asked.name = block.text(header.unicode)
        elif command == _RENAME:
            data.skip("rename.format", 1)
            asked.name = block.text(header.unicode)
            data.skip("rename.new_format", 1)
            asked.new_name = block.text(header.unicode)
        elif command == _READ_ANDX:
            asked.fid, asked.offset = words.u16("read.fid"), words.u32("read.offset")
            if block.word_count >= _WITH_HIGH_OFFSET[command]:
                words.skip("read.counts", 10)
                asked.offset |= words.u32("read.offset_high") << 32
        elif command == _WRITE_ANDX:
            self._write(words, block, message, asked)
        else:
            return None
        return asked

    @staticmethod
    def _write(words: Cursor, block: Smb1Block, message: Message, asked: _Smb1FileRequest) -> None:
        asked.fid, asked.offset = words.u16("write.fid"), words.u32("write.offset")
        words.skip("write.timeout_mode_and_remaining", 8)
        high, low = words.u16("write.len_data_high"), words.u16("write.len_data")
        start = words.u16("write.ofs_data")
        if block.word_count >= _WITH_HIGH_OFFSET[block.command]:
            asked.offset |= words.u32("write.offset_high") << 32
        asked.message, asked.span = message, (start, min(start + (high << 16 | low), message.length))

    def _response(
        self,
        header: Smb1Header,
        block: Smb1Block,
        message: Message,
        asked: _Smb1FileRequest,
        carried: Carried,
        connection: int,
    ) -> None:
        command, words, opens = block.command, block.words, self._opens
        if command == _TREE_CONNECT_ANDX and not header.failed:
            service = block.text(False)
            self._trees[header.tid] = None if service == "IPC" else asked.name
        elif command in (_NT_CREATE_ANDX, _OPEN_ANDX):
            self._opened(header, block, asked, carried, connection)
        elif command in (_DELETE, _RENAME) and not header.failed:
            named = FileOpen(carried, self._trees.get(header.tid), asked.name, renamed_to=asked.new_name)
            named.note(carried, "deleted" if command == _DELETE else "renamed")
            opens.finish(named)
        if header.failed or asked.fid is None:
            return
        key, share = (connection, header.uid, asked.fid), share_of(self._trees, header.tid)
        if command == _CLOSE:
            opens.close(key, carried, None)
        elif command == _READ_ANDX and block.word_count:
            words.skip("read.available", 6)
            low, start, high = words.u16("read.len_data"), words.u16("read.ofs_data"), words.u16("read.len_data_high")
            stop = min(start + (high << 16 | low), message.length)
            opened = opens.met(key, carried, share, message, (start, stop))
            if opened is not None:
                opens.read(opened, carried, message, (start, stop), asked.offset)
        elif command == _WRITE_ANDX and asked.message is not None:
            opened = opens.met(key, carried, share, asked.message, asked.span)
            if opened is not None:
                opens.write(opened, carried, asked.message, asked.span, asked.offset)

    def _opened(
        self, header: Smb1Header, block: Smb1Block, asked: _Smb1FileRequest, carried: Carried, connection: int
    ) -> None:
        if is_pipe(self._trees, header.tid, asked.name):
            if block.word_count and not header.failed:
                block.words.skip("create.oplock_level", int(block.command == _NT_CREATE_ANDX))
                self._opens.pass_over((connection, header.uid, block.words.u16("create.fid")))
            return
        status = header.status if header.flags2 & FLAG2_NT_STATUS else None
        opened = FileOpen(carried, self._trees.get(header.tid), asked.name, asked.is_directory or None, status=status)
        if header.failed or not block.word_count:
            opened.note(carried)
            self._opens.finish(opened)
            return
        words = block.words
        if block.command == _NT_CREATE_ANDX:
            words.skip("create.oplock_level", 1)
            fid, action = words.u16("create.fid"), _CREATED.get(words.u32("create.action"), "opened")
            words.skip("create.times", 32)
            opened.is_directory = bool(words.u32("create.attributes") & _ATTRIBUTE_DIRECTORY)
            words.skip("create.allocation", 8)
            opened.size = words.u64("create.end_of_file")
        else:
            fid = words.u16("open.fid")
            words.skip("open.attributes_and_time", 6)
            opened.size = words.u32("open.size")
            words.skip("open.access_type_and_state", 6)
            action = _OPENED.get(words.u16("open.results") & 3, "opened")
        opened.is_new = opened.size == 0
        opened.deletes = asked.deletes
        opened.note(carried, action)
        self._opens.add((connection, header.uid, fid), opened)
