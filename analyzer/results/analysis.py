"""The result of an analysis: everything a report may show, as plain values, and nothing that needs the capture again."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import overload

from msgspec import UNSET, Struct, UnsetType, field
from msgspec.structs import replace

from analyzer.core.errors import InputError
from analyzer.core.events import Problem
from analyzer.core.frame_ids import file_of, number_of
from analyzer.results.calls.call import Call
from analyzer.results.calls.ordered_calls import OrderedCalls
from analyzer.results.captured_packets import Packets
from analyzer.results.connection import Bound, ClientMarks, FeaturesOffered, FlowLink, Logon, Pdu, SmbSession
from analyzer.results.dataset_origin import DatasetOrigin
from analyzer.results.provenance import FileDigest, Given
from analyzer.results.records.capture_records import EventTrace
from analyzer.results.records.file import FileRecord, FoundFiles
from analyzer.results.reported_names.counter_name_tables import NameTables
from analyzer.results.reported_names.counterset_catalog import Catalogs


class CaptureFacts(Struct, frozen=True):
    """Facts about the capture: files as given, frames and captured bytes, the times of its first and last frame.

    `names` maps addresses to host names that the capture file itself carries (pcapng name-resolution blocks). `digests` states
    what the files were, where that was asked for; `traces` what event trace logs among them say. `redacted`: names and addresses
    are pseudonyms.
    """

    files: tuple[str, ...]
    frames: int
    bytes: int
    first_time_ns: int | None
    last_time_ns: int | None
    names: Mapping[str, str] = field(default_factory=dict)
    digests: tuple[FileDigest, ...] = ()
    traces: tuple[EventTrace, ...] = ()
    redacted: bool = False

    def numbered(self, frames: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...] | UnsetType]:
        """Frame ids as Wireshark's numbers, and with several files the position in `files` of each."""
        if len(self.files) <= 1:
            return frames, UNSET  # ids of the first file are the numbers
        return tuple([number_of(frame) for frame in frames]), tuple([file_of(frame) for frame in frames])


Numbered = tuple[int, Call]


class Selected(Sequence[Numbered]):
    """Selected calls of an analysis with their numbers, each made when it is looked at. `numbers` ascend."""

    def __init__(self, calls: Sequence[Call], numbers: Sequence[int]) -> None:
        self._calls, self.numbers = calls, numbers

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, where: int) -> Numbered: ...

    @overload
    def __getitem__(self, where: slice) -> Selected: ...

    def __getitem__(self, where: int | slice) -> Numbered | Selected:
        if isinstance(where, slice):
            return Selected(self._calls, self.numbers[where])
        number = self.numbers[where]
        return number, self._calls[number - 1]

    def __iter__(self) -> Iterator[Numbered]:
        calls = self._calls
        for number in self.numbers:
            yield number, calls[number - 1]

    def holds(self, number: int) -> bool:
        """Whether a call is among the selected ones."""
        at = bisect_left(self.numbers, number)
        return at < len(self.numbers) and self.numbers[at] == number

    def only(self, numbers: Iterable[int]) -> Selected:
        """The selected calls that have these numbers."""
        return Selected(self._calls, array("q", numbers))


class Part(Struct, frozen=True, eq=False):
    """The part of a capture that was asked for: numbers of calls, sessions, and what selects them in words."""

    numbers: Sequence[int]
    sessions: Sequence[SmbSession]
    words: str


class Analysis(Struct, frozen=True, eq=False, weakref=True):
    """The analysis of one capture: calls, sessions, logons, problems.

    `calls` are in the order of their request's first frame; a call's number is its position plus 1. `catalogs` and
    `name_tables` hold what the servers reported about their counters, over the whole capture. `closed` are the numbers of the
    channels whose end is in the capture. `connections` counts TCP connections by what they carry, `smb` or `dcerpc`. `flow_links`
    are of connections with sessions and logons alone.

    With a `part`, views and statistics speak of its calls and sessions alone (`shown`, `shown_sessions`). What the whole capture
    states of them (names, the state of handles, earlier readings of a counter) is used all the same.

    `files` are those of SMB sessions, where they were asked for, their frames as ids.

    So many processes read it (`jobs`), and may make what is shown of it.

    `packets` are none until somebody wants to look at them (`pipeline.packets`). `given` is what the command line asked for, None
    where none did. `dataset` is where it was made of one, and not of captures.
    """

    capture: CaptureFacts
    calls: OrderedCalls
    problems: Sequence[Problem]
    sessions: Sequence[SmbSession]
    bounds: Sequence[Bound]
    pdus: Sequence[Pdu]
    catalogs: Catalogs
    name_tables: NameTables
    secrets_given: bool = False
    jobs: int = 1
    features: Sequence[FeaturesOffered] = ()
    marks: Sequence[ClientMarks] = ()
    logons: Sequence[Logon] = ()
    closed: frozenset[int] = frozenset()
    connections: Mapping[str, int] = field(default_factory=dict)
    part: Part | None = None
    packets: Packets | None = None
    files: FoundFiles | None = None
    given: Given | None = None
    flow_links: Sequence[FlowLink] = ()
    dataset: DatasetOrigin | None = None

    @property
    def sources(self) -> tuple[str, ...]:
        """The names of what the analysis was made from: captures, or a dataset of them."""
        return self.capture.files if self.dataset is None else (self.dataset.path,)

    def known_as(self, number: int) -> int:
        """The number by which people know a call: its own, or that of the tables of its dataset."""
        return number if self.dataset is None else self.dataset.known_as(number)

    def number_of(self, known: int) -> int:
        """The number of a call, found by the number that people know (see `known_as`)."""
        return known if self.dataset is None else self.dataset.number_of(known)

    @property
    def logons_by_session(self) -> dict[int, list[Logon]]:
        """The logons by SMB of each session by its number, in the order they were made."""
        found: dict[int, list[Logon]] = {}
        for logon in self.logons:
            if logon.by == "smb" and logon.session is not None:
                found.setdefault(logon.session, []).append(logon)
        return found

    @property
    def shown_logons(self) -> Sequence[Logon]:
        """The logons of the analysis, of the sessions and calls that were asked for."""
        if self.part is None:
            return self.logons
        sessions = {session.number for session in self.part.sessions}
        first = self.calls.first_of_contexts(self.part.numbers)
        channels = {self.calls[number - 1].channel for number in first}
        return [one for one in self.logons if (one.session in sessions if one.by == "smb" else one.channel in channels)]

    @property
    def shown_files(self) -> Sequence[FileRecord]:
        """The SMB files of the sessions that were asked for, none where files were not."""
        files = self.files.files if self.files is not None else ()
        if self.part is None:
            return files
        sessions = {session.number for session in self.part.sessions}
        return [one for one in files if one.session in sessions]

    def listed_files(self) -> FoundFiles:
        """The shown SMB files with their frames as Wireshark counts them. Raises `InputError` where the analysis does not have
        them."""
        if self.files is None:
            raise InputError("files are read from captures", hint="Give the capture itself, and do not redact it.")

        def numbered(one: FileRecord) -> FileRecord:
            frames, files = self.capture.numbered(one.frames)
            return replace(one, frames=frames, frame_files=files)

        return FoundFiles(tuple(map(numbered, self.shown_files)), self.files.omissions)

    @property
    def shown(self) -> Selected:
        """The calls of the analysis that were asked for, with their numbers in the whole capture."""
        return Selected(self.calls, self.part.numbers if self.part is not None else range(1, len(self.calls) + 1))

    @property
    def shown_sessions(self) -> Sequence[SmbSession]:
        """The SMB sessions of the analysis that were asked for."""
        return self.part.sessions if self.part is not None else self.sessions
