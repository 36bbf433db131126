"""The result of an analysis: plain values for everything that a report shows. Nothing in it needs the capture again.

Provenance of a result: its input files, options and limits. They suffice to make it again, and to check its capture.

`DatasetOrigin` states the dataset of `collect` that an analysis was made of, and the numbers that its calls have there.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, overload

from msgspec import UNSET, Struct, UnsetType, field
from msgspec.structs import replace

from analyzer.core.errors import InputError
from analyzer.core.events import Problem
from analyzer.core.frame_ids import file_of, number_of
from analyzer.results.calls.call import Call
from analyzer.results.calls.ordered_calls import OrderedCalls
from analyzer.results.connection import Bound, ClientMarks, FeaturesOffered, FlowLink, Logon, Pdu, SmbSession
from analyzer.results.records.record_types import Record, Value, doc
from analyzer.results.reported_names.counter_name_tables import NameTables
from analyzer.results.reported_names.counterset_catalog import Catalogs

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from analyzer.results.captured_packets import Packets
    from analyzer.results.records.capture_records import EventTrace
    from analyzer.results.records.opened_file import FileRecord, FoundFiles

# ----------------------------------------------------------------------------------------------------------- provenance


class Given(Struct, frozen=True):
    """The files, options (in words), interfaces and filter of calls that a command was given."""

    files: tuple[str, ...]
    options: tuple[str, ...] = ()
    interfaces: tuple[str, ...] = ()
    filter: str | None = None


class FileDigest(Struct, frozen=True):
    """Size in bytes and SHA-256 in hexadecimal of an input file when it was read; both None if it could not be read."""

    name: str
    size: int | None
    sha256: str | None


class Input(Value, frozen=True, kw_only=True):
    """A file that went into a result. Files of secrets are not among them: their digests would help to guess them."""

    role: Annotated[str, doc("`capture`, `metadata`, `baseline` or `triggered`")]
    name: Annotated[str, doc("as given; `-` is standard input")]
    size: Annotated[int | None, doc("null where it could not be read", unit="bytes")]
    sha256: Annotated[str | None, doc("of the file as it is, compressed or not; null likewise", source="FIPS 180-4")]


class EvidenceRecord(Record, frozen=True, kw_only=True, tag="evidence"):
    """What a result was made from: the first record, with `--hash`."""

    tool: Annotated[str, doc("name of this program")]
    version: Annotated[str, doc("its version")]
    command: Annotated[str, doc("the command")]
    options: Annotated[
        dict[str, str], doc("options that were given, by name, but for secrets and where the result went")
    ]
    inputs: Annotated[tuple[Input, ...], doc("the files it was made from, captures in the order of `files`")]
    limits_reached: Annotated[tuple[str, ...], doc("each limit that was reached, once, as its problem says it")]
    result: Annotated[
        str | None,
        doc(
            "of all bytes of the result, with these 64 digits as zeros; null on a terminal",
            source="SHA-256, FIPS 180-4",
        ),
    ]


# Where the record stands in Parquet's metadata, and the name of the property that holds it in JUnit XML.
EVIDENCE_KEY = "pcq-analyzer.evidence"
# Stands before the record in text. The last such line is ours, whatever names a capture holds.
TEXT_MARK = "evidence: "
# Stands before the digest of a text.
TEXT_RESULT = "  result  sha256 "


def evidence_lines(record: EvidenceRecord) -> Iterator[str]:
    """Yields what an analysis was made from (its evidence record) as text for people: one line, then one for each file and
    limit."""
    options = "".join(f" --{name} {value}".rstrip() for name, value in record.options.items())
    yield f"{TEXT_MARK}{record.tool} {record.version}, {record.command}{options}"
    for item in record.inputs:
        size = f"{item.size} bytes" if item.size is not None else "unreadable"
        yield f"  {item.role}  sha256 {item.sha256 or '-'}  {size}  {item.name}"
    for text in record.limits_reached:
        yield f"  limit  {text}"
    if record.result is not None:
        yield f"{TEXT_RESULT}{record.result}"


# ------------------------------------------------------------------------------------------------------- dataset origin


# A conversation's number stands in front of its own numbers, which have so many bits.
NUMBER_SHIFT = 32


class DatasetOrigin:
    """The dataset that an analysis was made of, by its directory or URL. `numbers` are the numbers of calls in the dataset's
    tables, in the order of the analysis; they are not sorted. `cases` are the case files on this machine, by the number of their
    conversation."""

    def __init__(self, path: str, captures: int, numbers: npt.NDArray[np.int64], cases: Mapping[int, str]) -> None:
        self.path, self.captures, self.cases = path, captures, cases
        self._numbers = numbers
        self._order = numbers.argsort()

    def known_as(self, number: int) -> int:
        """Returns for a call of an analysis that was made of a dataset the number that the dataset's tables give it."""
        return int(self._numbers[number - 1])

    def number_of(self, known: int) -> int:
        """Returns for a call that the dataset's tables give this number its number in the analysis that was made of the dataset."""
        return int(self._order[self._numbers.searchsorted(known, sorter=self._order)]) + 1

    def in_case(self, known: int) -> tuple[str, int] | None:
        """Returns the case file that an analysis made of a dataset took a call from, and the call's number there, by its number in
        the tables; None if the file is on another machine."""
        case = self.cases.get(known >> NUMBER_SHIFT)
        return (case, known & ((1 << NUMBER_SHIFT) - 1)) if case is not None else None


# --------------------------------------------------------------------------------------------------------- the analysis


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
        """Returns frame ids of the analysed capture as Wireshark's numbers. With several capture files, also returns the position
        of each file."""
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
        """Whether a call with this number is among those that an analysis shows."""
        at = bisect_left(self.numbers, number)
        return at < len(self.numbers) and self.numbers[at] == number

    def only(self, numbers: Iterable[int]) -> Selected:
        """Returns those of the calls that an analysis shows which have these numbers."""
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
        """Returns the SMB logons that the analysis found by session number, each list in the order of the logons."""
        found: dict[int, list[Logon]] = {}
        for logon in self.logons:
            if logon.by == "smb" and logon.session is not None:
                found.setdefault(logon.session, []).append(logon)
        return found

    @property
    def shown_logons(self) -> Sequence[Logon]:
        """Returns the logons of the analysis, or those of the sessions and calls in the part of it that the user asked for."""
        if self.part is None:
            return self.logons
        sessions = {session.number for session in self.part.sessions}
        first = self.calls.first_of_contexts(self.part.numbers)
        channels = {self.calls[number - 1].channel for number in first}
        return [one for one in self.logons if (one.session in sessions if one.by == "smb" else one.channel in channels)]

    @property
    def shown_files(self) -> Sequence[FileRecord]:
        """Returns the SMB files of the analysis, or those of the sessions in the part of it that the user asked for; none if files
        were not asked for."""
        files = self.files.files if self.files is not None else ()
        if self.part is None:
            return files
        sessions = {session.number for session in self.part.sessions}
        return [one for one in files if one.session in sessions]

    def listed_files(self) -> FoundFiles:
        """Returns the SMB files that the analysis shows, with Wireshark's frame numbers. Raises `InputError` if the analysis has
        none."""
        if self.files is None:
            raise InputError("files are read from captures", hint="Give the capture itself, and do not redact it.")
        from analyzer.results.records.opened_file import FoundFiles  # few look at files

        def numbered(one: FileRecord) -> FileRecord:
            frames, files = self.capture.numbered(one.frames)
            return replace(one, frames=frames, frame_files=files)

        return FoundFiles(tuple(map(numbered, self.shown_files)), self.files.omissions)

    @property
    def unreadable_files(self) -> list[str]:
        """The sentences for those of several files that the analysis could not read at all."""
        return [problem.text for problem in self.problems if problem.kind == "unreadable"]

    @property
    def has_performance_call(self) -> bool:
        """Whether the analysis has a call of PerflibV2, or one of winreg that reads performance data or is sealed."""
        return any(call.is_performance for call in self.calls)

    @property
    def shown(self) -> Selected:
        """Returns the calls that the analysis shows, with their numbers in the whole capture."""
        return Selected(self.calls, self.part.numbers if self.part is not None else range(1, len(self.calls) + 1))

    @property
    def shown_sessions(self) -> Sequence[SmbSession]:
        """Returns the SMB sessions that this analysis shows: all it has, or those of the part of it that the user asked for."""
        return self.part.sessions if self.part is not None else self.sessions
