"""The log of files over SMB: a `FileRecord` for each open of a file or directory.

Ordinary traffic is full of files, and analyses of calls skip them. A reader that asks for files gives every readable message to the
`FileLog` here, decrypted (`MessageLog`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analyzer.core.errors import DecodeError
from analyzer.core.limits import Limits
from analyzer.core.printable_text import counted
from analyzer.results.connection import SmbSession
from analyzer.results.records.capture_records import OmissionRecord
from analyzer.results.records.opened_file import FileRecord, FoundFiles
from analyzer.results.records.record_types import Endpoint
from analyzer.transport.smb.files.file_tracker import Carried, FileOpens, Sent
from analyzer.transport.smb.files.smb1_files import Smb1Files
from analyzer.transport.smb.files.smb2_files import SessionKey, Smb2Files
from analyzer.transport.smb.smb_framing import Message
from analyzer.transport.tcp.protocol_recognition import SMB1_MAGIC
from analyzer.transport.tcp.stream_events import Connection, Direction

# A record of each is kept.
MAX_FILES = 100_000
# Dialects whose sessions have one connection. In SMB1 the sessions of other connections have the same UIDs.
_OF_ONE_CONNECTION = frozenset(("1.0", None))


class FileLog:
    """The log of all files of a capture that are used over SMB. `file_tracker` follows the opens."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._opens = FileOpens(limits.opens_in_all, MAX_FILES)
        # The trees of all connections: a session may have several.
        self._trees: dict[tuple[SessionKey, int], str | None] = {}
        self._smb2: dict[int, Smb2Files] = {}
        self._smb1: dict[int, Smb1Files] = {}

    def take_message(self, connection: Connection, direction: Direction, sent: Message, message: Message) -> None:
        """Takes one SMB message for the log of files, in its sent form and decrypted, and notes what it does to files."""
        number, requests, passing = connection.number, self._limits.requests, Sent(connection, direction, sent)
        try:
            start = message.begins_with(10)
            if start[:4] == SMB1_MAGIC:
                if (smb1 := self._smb1.get(number)) is None:
                    smb1 = self._smb1[number] = Smb1Files(self._opens, requests)
                # The highest bit of Flags; a message may be cut off before it.
                is_response = start[9:] >= b"\x80"
                smb1.take_message(message, lambda uid: passing.carried(uid, is_response=is_response), number)
            else:
                if (smb2 := self._smb2.get(number)) is None:
                    smb2 = self._smb2[number] = Smb2Files(self._opens, self._trees, requests)
                smb2.take_message(message, passing)
        except DecodeError:
            pass  # what is wrong with a message is stated where sessions are read

    def found(self, sessions: Sequence[SmbSession]) -> FoundFiles:
        """Ends the log of files over SMB: returns its records, in the order of their first messages. `sessions` are those of the
        capture."""
        self._opens.end()
        by_place = _BySession(sessions)
        omissions: tuple[OmissionRecord, ...] = ()
        if forgotten := self._opens.forgotten:
            first = f"beyond the first {MAX_FILES}"
            text = counted(forgotten, f"file {first} is not listed", f"files {first} are not listed")
            omissions = (OmissionRecord(text=text),)
        return FoundFiles(tuple(self._records(by_place)), omissions)

    def _records(self, sessions: _BySession) -> Iterator[FileRecord]:
        for opened in sorted(self._opens.done, key=lambda one: one.carried.time_ns):
            session = sessions.session_of(opened.carried)
            user = session.identity.account if session is not None else None
            yield opened.record(session.number if session is not None else None, user)


class _BySession:
    """Finds the SMB session of a message about a file: that of its connection, or an SMB2 session with this id on several
    connections. Sessions may follow each other on a connection: then it is the last one that had begun."""

    def __init__(self, sessions: Sequence[SmbSession]) -> None:
        self._of_connection: dict[tuple[Endpoint, Endpoint, int], list[SmbSession]] = {}
        self._of_machines: dict[tuple[str, str, int], list[SmbSession]] = {}
        for one in sorted(sessions, key=lambda one: (one.first_time_ns, one.number)):
            self._of_connection.setdefault((one.client, one.server, one.session_id), []).append(one)
            if one.dialect not in _OF_ONE_CONNECTION:
                self._of_machines.setdefault((one.client.ip, one.server.ip, one.session_id), []).append(one)

    def session_of(self, carried: Carried) -> SmbSession | None:
        client, server, number = carried.client, carried.server, carried.session_id
        found = self._of_connection.get((client, server, number))
        found = found or self._of_machines.get((client.ip, server.ip, number), [])
        begun = [one for one in found if one.first_time_ns <= carried.time_ns]
        return begun[-1] if begun else next(iter(found), None)
