"""The tasks and facts of the stages of `collect`: plain values that travel between processes and are stored.

Frames are ids (`core.frame_ids`) whose file is the number of the source in the dataset. That number never changes.
"""

from __future__ import annotations

import secrets
from collections import Counter
from hashlib import sha256
from typing import Literal

import msgspec
from msgspec import Struct, field

from analyzer.collect.capture_pieces import PiecePlace
from analyzer.collect.capture_sources import SourceFile
from analyzer.core.events import Problem
from analyzer.core.limits import Limits
from analyzer.results.records.session_and_host import HostRecord
from analyzer.results.reported_names.saved_metadata import Metadata
from analyzer.transport.packet.frame_tallies import Tallies
from analyzer.transport.packet.host_pair_sorter import FrameKind, Pair

# What machines of a file state of themselves: by what it is and whose (`mac 10.0.0.1`), all values that were met.
KnownAs = dict[str, list[str]]
# From this time on, and before that one, in nanoseconds since 1970 UTC; None is no bound.
Window = tuple[int | None, int | None]


class Job(Struct, frozen=True):
    """The settings that all tasks of a run of `collect` share. `retries` is how often a failed read is tried again, `profile` that
    of the audit, and `keys` the name by which workers hold the keys."""

    dataset: str
    limits: Limits
    retries: int = 3
    profile: str = "windows"
    keys: str = ""
    run: str = field(default_factory=lambda: secrets.token_hex(6))

    @property
    def staging(self) -> str:
        """Returns the directory in the dataset where all tasks of this job write tables, until the commit: other programs read
        everything in the directories of tables."""
        return f"_staging/{self.run}"


# ---------------------------------------------------------------------------------------------------------------- files


class CutTask(Struct, frozen=True):
    """The task to cut a capture file into pieces, with what is known of the file."""

    job: Job
    facts: FileFacts


class KindFacts(Struct, frozen=True):
    """The frames of one kind (pair of hosts) in a capture file: places of their pieces, whether any has TCP data, digest of the
    pieces."""

    kind: FrameKind
    has_data: bool
    places: list[PiecePlace]
    digest: bytes = b""


class FileFacts(Struct):
    """The facts that cutting gives of a capture file. Known before: its number, its source, the times that are read of it
    (`window`), where it was captured, if given (`site`), and flows that other files show to be ours (`wanted`).

    `pieces` is the name of the object with its pieces. `met` says where in it the numbers of the TCP flows lie that are not ours by
    port; `recognised` are those that are ours by content. `opens_ns` is the time of its first frame. `flows` are the numbers of its
    flows that are ours, `begun` those whose first segment is among its frames, `known_as` is what machines state of themselves.
    These three show whether two files have the same machines (`work_plan`). `set_back` are the numbers of the frames before
    which the clock went back.
    """

    number: int
    source: SourceFile
    window: Window
    status: Literal["read", "partial", "unreadable"] = "unreadable"
    problems: list[Problem] = field(default_factory=list)
    site: str = ""
    pieces: str | None = None
    pieces_bytes: int = 0
    sha256: str | None = None
    frames: int = 0
    bytes: int = 0
    opens_ns: int | None = None
    first_time_ns: int | None = None
    last_time_ns: int | None = None
    names: dict[str, str] = field(default_factory=dict)
    tallies: Tallies = field(default_factory=Tallies)
    kinds: list[KindFacts] = field(default_factory=list)
    recognised: list[int] = field(default_factory=list)
    wanted: list[int] = field(default_factory=list)
    met: tuple[int, int] = (0, 0)
    links: list[tuple[Pair, Pair]] = field(default_factory=list)
    flows: list[int] = field(default_factory=list)
    begun: list[int] = field(default_factory=list)
    known_as: KnownAs = field(default_factory=dict)
    has_secrets: bool = False
    set_back: list[int] = field(default_factory=list)
    seconds: float = 0.0


class MetTask(Struct, frozen=True):
    """A task that asks which of these flows have segments in a capture file."""

    job: Job
    number: int
    pieces: str
    met: tuple[int, int]
    flows: frozenset[int]


# -------------------------------------------------------------------------------------------------------- conversations


class FilePart(Struct, frozen=True):
    """A conversation's pieces in one capture file, for its task: its own, and those of KDCs that its hosts asked. `set_back` as for
    `FileFacts`."""

    number: int
    name: str
    opens_ns: int
    pieces: str
    own: list[KindFacts]
    kdc: list[KindFacts]
    set_back: list[int] = field(default_factory=list)

    @property
    def content(self) -> bytes:
        """Returns the digest of the pieces that the task has in this capture file."""
        return sha256(b"".join([*(one.digest for one in self.own), b"kdc", *(one.digest for one in self.kdc)])).digest()


class AnalyseTask(Struct, frozen=True):
    """The task to analyse a conversation; `parts` in the order of files. `secret_files` are the capture files that carry
    secrets."""

    job: Job
    number: int
    pairs: tuple[Pair, ...]
    parts: list[FilePart]
    secret_files: tuple[SourceFile, ...] = ()

    @property
    def size(self) -> int:
        return sum(place.size for part in self.parts for one in part.own for place in one.places)

    @property
    def inputs(self) -> str:
        """Returns the digest of all that this task is given to analyse: the pieces of a conversation."""
        parts = [(part.number, part.opens_ns, part.content) for part in self.parts]
        return sha256(msgspec.msgpack.encode((self.pairs, parts))).hexdigest()


class ConversationFacts(Struct):
    """The facts that the analysis of a conversation from `inputs` gives. `state` is the name of its case (None: it is empty),
    `files` the numbers of the sources of its frames, in the order that its own frame ids have. `links` are numbers of what pairs of
    hosts may share (`analyse_stage`): pairs that share one are one conversation. `sessions` are numbers of its SMB sessions,
    `bound` of those that its channels ask for but that it lacks: it is one with the conversations that have them. `readable` counts
    the requests and responses whose stubs are not sealed, `lacking` says what no key opened, and `tried` whose keys there were
    (`analyse_stage`). `known_as` is what servers state of themselves, by the number of the file. `rows` is what was written of it
    in the tables, None until then."""

    number: int
    pairs: tuple[Pair, ...]
    files: list[int]
    frames: int = 0
    inputs: str = ""
    calls: int = 0
    readable: int = 0
    lacking: list[str] = field(default_factory=list)
    tried: str = ""
    first_time_ns: int | None = None
    last_time_ns: int | None = None
    server: str = ""
    state: str | None = None
    state_bytes: int = 0
    links: list[int] = field(default_factory=list)
    sessions: list[int] = field(default_factory=list)
    bound: list[int] = field(default_factory=list)
    tallies: Tallies = field(default_factory=Tallies)
    # Whether there is a performance call in it, or something that may hide one.
    shows: bool = False
    known_as: dict[int, KnownAs] = field(default_factory=dict)
    failure: str | None = None
    seconds: float = 0.0
    rows: RowsFacts | None = None


# --------------------------------------------------------------------------------------------------------------- tables


class RenderTask(Struct, frozen=True):
    """The task to write a conversation's table rows. `first_time_ns` is the time of the dataset's first frame; `key` changes with
    whatever its rows depend on."""

    job: Job
    conversation: ConversationFacts
    first_time_ns: int
    metadata: tuple[Metadata, ...] = ()
    metadata_from: str | None = None
    key: str = ""


class TableFile(Struct, frozen=True):
    """The facts of a Parquet file that a task wrote."""

    table: str
    name: str
    rows: int
    bytes: int


class Judged(Struct):
    """The facts of the audit in a conversation: its counts for one requirement."""

    counts: dict[str, int] = field(default_factory=dict)
    excused: int = 0
    accepted: int = 0
    reasons: dict[str, int] = field(default_factory=dict)

    def add(self, other: Judged) -> None:
        self.counts = dict(Counter(self.counts) + Counter(other.counts))
        self.reasons = dict(Counter(self.reasons) + Counter(other.reasons))
        self.excused += other.excused
        self.accepted += other.accepted


class RowsFacts(Struct):
    """The facts of the rows that a task wrote to the dataset for a conversation, under a key: their files, and its share of the
    whole's tables."""

    key: str
    files: list[TableFile] = field(default_factory=list)
    hosts: list[HostRecord] = field(default_factory=list)
    coverage: dict[str, Judged] = field(default_factory=dict)
    failure: str | None = None
    seconds: float = 0.0
