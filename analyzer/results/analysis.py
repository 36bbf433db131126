"""The result of an analysis: plain values for everything that a report shows. Nothing in it needs the capture again."""

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
from analyzer.results.provenance import DatasetOrigin, FileDigest, Given
from analyzer.results.records.capture_records import EventTrace
from analyzer.results.records.file import FileRecord, FoundFiles
from analyzer.results.reported_names.counter_name_tables import NameTables
from analyzer.results.reported_names.counterset_catalog import Catalogs


class CaptureFacts(Struct, frozen=True):
    """Facts about the capture: its files as given, frames and captured bytes, the times of its first and last frame.

    `names` maps addresses to host names that the capture file itself carries (pcapng name-resolution blocks). `digests` has size
    and SHA-256 of each file, if asked for. `traces` has the facts of event trace logs. If `redacted`, names and addresses are
    pseudonyms.
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
        """Returns frame ids as Wireshark's numbers. With several capture files, also returns the position of each file."""
        if len(self.files) <= 1:
            return frames, UNSET  # ids of the first file are the numbers
        return tuple([number_of(frame) for frame in frames]), tuple([file_of(frame) for frame in frames])


Numbered = tuple[int, Call]


class Selected(Sequence[Numbered]):
    """The selected calls of an analysis with their numbers. A `Call` is made when it is looked at. `numbers` ascend."""

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
        """Whether the selected calls of the analysis contain a call with this number."""
        at = bisect_left(self.numbers, number)
        return at < len(self.numbers) and self.numbers[at] == number

    def only(self, numbers: Iterable[int]) -> Selected:
        """Returns those selected calls of the analysis that have these numbers."""
        return Selected(self._calls, array("q", numbers))


class Part(Struct, frozen=True, eq=False):
    """The part of an analysis that the user asked for: numbers of calls, sessions, and the selection in words. With
    `has_quiet_sessions`, sessions are among these that carry none of the calls."""

    numbers: Sequence[int]
    sessions: Sequence[SmbSession]
    words: str
    has_quiet_sessions: bool = False


class Analysis(Struct, frozen=True, eq=False, weakref=True):
    """The analysis of one capture: calls, sessions, logons, problems.

    `calls` are in the order of their request's first frame; a call's number is its position plus 1. `catalogs` and `name_tables`
    hold what the servers reported about their counters in the whole capture. `closed` has the numbers of the channels whose end was
    captured. `connections` counts TCP connections by what they carry, `smb` or `dcerpc`. `flow_links` has only connections with
    sessions and logons.

    With a `part`, views and statistics show only its calls and sessions (`shown`, `shown_sessions`). They still use what the whole
    capture states about them: names, the state of handles, earlier readings of a counter.

    `files` has the files of SMB sessions, if asked for; their frames are ids. `jobs` is the number of processes that read the
    capture and may build its screens. `packets` is None until somebody looks at packets (`pipeline.packet_rereading`). `given` is
    what the command line asked for, None without one. `dataset` is set if the analysis was made of a dataset and not of captures.
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
        """Returns the number that people know for a call of the analysis: its own, or the one in the dataset's tables."""
        return number if self.dataset is None else self.dataset.known_as(number)

    def number_of(self, known: int) -> int:
        """Returns the number of a call in the analysis, given the number that people know (see `known_as`)."""
        return known if self.dataset is None else self.dataset.number_of(known)

    @property
    def logons_by_session(self) -> dict[int, list[Logon]]:
        """Returns the SMB logons of the analysis by session number, each list in the order of the logons."""
        found: dict[int, list[Logon]] = {}
        for logon in self.logons:
            if logon.by == "smb" and logon.session is not None:
                found.setdefault(logon.session, []).append(logon)
        return found

    @property
    def shown_logons(self) -> Sequence[Logon]:
        """Returns the logons that the analysis shows: those of the sessions and calls that were asked for."""
        if self.part is None:
            return self.logons
        sessions = {session.number for session in self.part.sessions}
        first = self.calls.first_of_contexts(self.part.numbers)
        channels = {self.calls[number - 1].channel for number in first}
        return [one for one in self.logons if (one.session in sessions if one.by == "smb" else one.channel in channels)]

    @property
    def shown_files(self) -> Sequence[FileRecord]:
        """Returns the SMB files of the sessions that the analysis shows; none if files were not asked for."""
        files = self.files.files if self.files is not None else ()
        if self.part is None:
            return files
        sessions = {session.number for session in self.part.sessions}
        return [one for one in files if one.session in sessions]

    def listed_files(self) -> FoundFiles:
        """Returns the shown SMB files with Wireshark's frame numbers. Raises `InputError` if the analysis has no files."""
        if self.files is None:
            raise InputError("files are read from captures", hint="Give the capture itself, and do not redact it.")

        def numbered(one: FileRecord) -> FileRecord:
            frames, files = self.capture.numbered(one.frames)
            return replace(one, frames=frames, frame_files=files)

        return FoundFiles(tuple(map(numbered, self.shown_files)), self.files.omissions)

    @property
    def shown(self) -> Selected:
        """Returns the calls that the analysis shows, with their numbers in the whole capture."""
        return Selected(self.calls, self.part.numbers if self.part is not None else range(1, len(self.calls) + 1))

    @property
    def shown_sessions(self) -> Sequence[SmbSession]:
        """Returns the SMB sessions that the analysis shows."""
        return self.part.sessions if self.part is not None else self.sessions
