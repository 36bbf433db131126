"""Reads captures: capture files in, an `Analysis` out. Only this module and `live_reading` chain all layers.

A case needs no layer, so layers are imported when a capture is read.

`EventCollector` collects the events at the top of the layers by kind.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

import msgspec
from msgspec.structs import replace

from analyzer.auth.keyring import Keyring
from analyzer.capture.first_bytes import is_case
from analyzer.core.errors import InputError
from analyzer.core.events import CaptureEnds, Conflict, Event, Problem
from analyzer.core.limits import DEFAULTS, Limits
from analyzer.core.printable_text import path_of_text, text_of_path
from analyzer.interfaces.calls_from_exchanges import plain_call
from analyzer.pipeline.layer_chain import Layer, LayerChain, call_layers, channel_layers, decoding_layers, stream_layers
from analyzer.pipeline.segment_sources import Source, own_segments, segments_of, tshark_segments
from analyzer.results.analysis import Analysis, CaptureFacts
from analyzer.results.calls.call import Call
from analyzer.results.calls.call_table import CallTable
from analyzer.results.calls.ordered_calls import OrderedCalls
from analyzer.results.connection import Bound, ClientMarks, FeaturesOffered, FlowLink, LateLogon, Logon, Pdu, SmbSession
from analyzer.results.records.record_types import Endpoint
from analyzer.results.reported_names.counter_name_tables import NameTables
from analyzer.results.reported_names.counterset_catalog import Catalogs
from analyzer.transport.channel.channels import ChannelClosed
from analyzer.transport.rpc.exchange_maker import Exchange
from analyzer.transport.tcp.stream_events import Recognised

if TYPE_CHECKING:
    from analyzer.auth.kdc_replies import Tickets
    from analyzer.capture.capture_reader import ReadBound
    from analyzer.capture.frame_blocks import FrameBlock
    from analyzer.interfaces.call_contents.machine_names import NamingCalls
    from analyzer.interfaces.redaction.pseudonyms import Pseudonyms
    from analyzer.pipeline.shard_coordinator import Sharing
    from analyzer.results.analysis import FileDigest
    from analyzer.results.reported_names.saved_metadata import Metadata
    from analyzer.transport.packet.frame_tallies import Tallies
    from analyzer.transport.smb.files.file_log import FileLog


# ------------------------------------------------------------------------------------------------------ event collector


_Listed = TypeVar("_Listed")
# Memory of a listed item beside its text and numbers, as measured.
_LISTED_COST = 500
# In calls of so many is looked which of them used bytes with two versions.
_MOST_CONFLICTS = 4096


class EventCollector:
    """Collects the events that reach the top of the layers in a run over captures, by kind."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._unlisted: Counter[str] = Counter()
        self._listed_memory = 0
        self.calls = CallTable()
        self.problems: list[Problem] = []
        self.conflicts: list[Conflict] = []
        self.sessions: list[SmbSession] = []
        self.logons: list[Logon] = []
        self.late: list[LateLogon] = []
        self.flow_links: list[FlowLink] = []
        self.bounds: list[Bound] = []
        self.features: list[FeaturesOffered] = []
        self.marks: list[ClientMarks] = []
        self._known_marks: set[tuple[Endpoint, Endpoint, tuple[str, ...]]] = set()
        self._shared_marks: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._marks_memory = 0
        self.closed: set[int] = set()
        self.has_ended = False
        self.connections: Counter[str] = Counter()
        self.pdus: list[Pdu] = []
        self.jobs = 1

    def _list(self, listed: list[_Listed], item: _Listed, what: str, most: int) -> None:
        if len(listed) < most and self._listed_memory < self._limits.listed_memory:
            listed.append(item)
            self._listed_memory += _LISTED_COST + 2 * len(msgspec.msgpack.encode(item, enc_hook=str))
        else:
            self._unlisted[what] += 1

    def _collect_marks(self, event: ClientMarks) -> None:
        """Collects the first of equal events with client marks of a connection. A connection shows the same marks again and
        again."""
        key = event.client, event.server, event.marks
        if key in self._known_marks:
            return
        if len(self.marks) >= self._limits.listed or self._marks_memory >= self._limits.listed_memory:
            self._unlisted["marks of programs"] += 1
            return
        # Connections of a program show the same, which is kept once.
        shared = self._shared_marks.get(event.marks)
        self._marks_memory += _LISTED_COST
        if shared is None:
            shared = self._shared_marks[event.marks] = event.marks
            self._marks_memory += 2 * sum(map(len, shared))
        self._known_marks.add((event.client, event.server, shared))
        self.marks.append(replace(event, marks=shared))

    def ends_early(self, error: Exception, frames: int) -> None:
        """Notes the problem that the run failed after this number of frames."""
        text = f"the program failed here ({type(error).__name__}): nothing beyond frame {frames} was read"
        self.problems.append(Problem("failed", "pipeline", (), text))

    def unlisted(self) -> Iterator[Problem]:
        """Yields problems that state how many events of the run were not listed because of limits."""
        for what, count in self._unlisted.items():
            yield Problem("limit", "pipeline", (), f"{count} more {what} were met than are listed")

    def analysis(
        self, capture: CaptureFacts, calls: OrderedCalls, catalogs: Catalogs, names: NameTables, *, secrets_given: bool
    ) -> Analysis:
        """Returns the analysis of the events collected in the run, with the calls in order and what servers stated about
        counters."""
        return Analysis(
            capture=capture,
            calls=calls,
            problems=(*self.problems, *self.unlisted()),
            sessions=self.sessions_in_order(),
            logons=tuple(sorted(self.logons, key=lambda logon: (logon.first_time_ns, logon.number))),
            bounds=tuple(self.bounds),
            pdus=tuple(self.pdus),
            catalogs=catalogs,
            name_tables=names,
            secrets_given=secrets_given,
            features=tuple(self.features),
            marks=tuple(self.marks),
            closed=frozenset(self.closed),
            connections=self.connections,
            jobs=self.jobs,
            flow_links=tuple(self._flow_links_of_ours()),
        )

    def _flow_links_of_ours(self) -> Iterator[FlowLink]:
        """Yields the run's flow links of connections that have SMB sessions or logons. Nobody asks for others."""
        ends = {(one.client, one.server) for one in self.sessions} | {(one.client, one.server) for one in self.logons}
        return (one for one in self.flow_links if (one.src, one.dst) in ends or (one.dst, one.src) in ends)

    def sessions_in_order(self) -> tuple[SmbSession, ...]:
        """The SMB sessions of the run by the time of their first frame."""
        return tuple(sorted(self.sessions, key=lambda session: (session.first_time_ns, session.number)))

    def take_event(self, event: Event) -> None:
        match event:
            case Call():
                self.calls.append(event)
            case Exchange():
                self.calls.append(plain_call(event))
            case Problem():
                self._list(self.problems, event, f"problems of kind {event.kind}", self._limits.problems)
            case Conflict():
                self._list(self.conflicts, event, "conflicts", _MOST_CONFLICTS)
            case SmbSession():
                self._list(self.sessions, event, "SMB sessions", self._limits.listed)
            case Logon():
                self._list(self.logons, event, "logons", self._limits.listed)
            case LateLogon():
                self._list(self.late, event, "late logons", self._limits.listed)
            case FlowLink():
                self.flow_links.append(event)
            case Recognised(protocol=protocol):
                self.connections[protocol] += 1
            case Bound():
                self._list(self.bounds, event, "binds", self._limits.listed)
            case ChannelClosed(channel=channel):
                if not self.has_ended:
                    self.closed.add(channel.number)
            case CaptureEnds():
                self.has_ended = True
            case FeaturesOffered():
                self._list(self.features, event, "feature negotiations", self._limits.listed)
            case ClientMarks():
                self._collect_marks(event)
            case Pdu():
                self.pdus.append(event)


# ------------------------------------------------------------------------------------------------------------------ run


Engine = Literal["own", "tshark"]
# Which calls in SMB sessions are read: all, only those that name hosts and users, or none.
InSessions = Literal["all", "naming", "none"]


# A smaller capture is read by one process, whatever is in it.
_LEAST_SHARED = 4 << 20


def analyze(
    sources: Sequence[Source],
    keyring: Keyring | None = None,
    *,
    engine: Engine = "own",
    limits: Limits | None = None,
    progress: Callable[[int, int], None] | None = None,
    pdus: bool = True,
    metadata: Sequence[Metadata] = (),
    metadata_from: str | None = None,
    failed: Callable[[Exception], None] | None = None,
    hashing: bool = False,
    pseudonyms: Pseudonyms | None = None,
    bound: ReadBound | None = None,
    in_sessions: InSessions = "all",
    with_files: bool = False,
    with_links: bool = True,
    jobs: int | None = 1,
) -> Analysis:
    """Analyzes captures: reads them from start to end. Without `pdus`, the result does not list every PDU, which saves memory.

    `metadata` fills gaps in what servers state about their countersets and names, server by server; `metadata_from` names the
    server whose metadata the others get too.

    `sources` are paths, globs or binary files and count as one capture in time order, or they are a case (`case.py`). `progress` is
    called now and then with the numbers of frames and bytes that were read. Raises `InputError` for what cannot be read. `failed`
    is called with an unexpected error (a mistake of ours, memory that ran out); the result then holds what was read before it, and
    a problem. Without `failed` the error is raised. With `hashing`, `capture.digests` states the digests of the files. With
    `pseudonyms`, the result has these in place of names and addresses. With a `bound`, our own engine reads captures up to there,
    as if they ended there. `in_sessions` says which calls in SMB sessions are read. `with_files` also follows the files in SMB
    sessions; not with `pseudonyms`, because names of files are not replaced. `with_links` says whether our own engine notes from
    which MAC address and with which TTL a machine sent (`flow_links`). `jobs` processes make calls, None for as many as pay;
    only one for standard input, tshark, `pdus`, `pseudonyms`, `in_sessions` or `with_files`.
    """
    if any(is_case(source) for source in sources):
        return _run_over_case(sources, metadata, metadata_from, hashing=hashing, redacting=pseudonyms is not None)
    keyring, notes_on_keys = with_embedded(sources, keyring if keyring is not None else Keyring())
    limits, own = limits or DEFAULTS, engine == "own"
    redactor, metadata, metadata_from = _redaction(pseudonyms, metadata, metadata_from)
    is_named = pseudonyms is None
    is_plain = own and not pdus and is_named and in_sessions == "all" and not with_files
    sharing = _sharing(sources, bound, keyring, limits, jobs, with_links=with_links) if is_plain else None
    read = partial(
        _read, pdus=pdus, redactor=redactor, failed=failed, in_sessions=in_sessions, with_files=with_files and is_named
    )
    opened = partial(own_segments, sources, progress, limits, hashing=hashing, bound=bound, with_links=with_links)
    for shared in (sharing, None):
        segments, facts = opened() if own else tshark_segments(sources)
        waiting = [segments]
        del segments
        if (analysis := read(waiting, facts, keyring, limits, sharing=shared)) is not None:
            break
    assert analysis is not None
    problems = [*analysis.problems, *notes_on_keys]
    capture = with_digests(facts()) if hashing else facts()
    analysis = _filled(replace(analysis, capture=capture, problems=tuple(problems)), metadata, metadata_from)
    return analysis if pseudonyms is None else _without_names(analysis, pseudonyms)


def analyze_frames(
    frames: Iterable[FrameBlock | Problem],
    facts: Callable[[], CaptureFacts],
    keyring: Keyring,
    limits: Limits,
    *,
    tallies: Tallies,
    tickets: Tickets | None = None,
    set_back: Sequence[int] = (),
) -> Analysis:
    """Runs the layers over frames that were read elsewhere, in time order, to an analysis. `tallies` takes the counts of the whole
    capture. `tickets` are Kerberos tickets whose issue is known already. `set_back` are the frames before which the clock went
    back."""
    from analyzer.transport.packet.block_dissector import Dissector

    segments = segments_of(frames, Dissector(limits=limits, tallies=tallies), set_back=set_back)
    analysis = _read([segments], facts, keyring, limits, pdus=False, tickets=tickets)
    assert analysis is not None
    return analysis


def tickets_in(frames: Iterable[FrameBlock | Problem], limits: Limits) -> Tickets:
    """Runs the first layers over these frames; returns the Kerberos tickets that KDCs issue in them."""
    from analyzer.auth.kdc_replies import TicketIssued, Tickets
    from analyzer.transport.packet.block_dissector import Dissector
    from analyzer.transport.packet.frame_tallies import Tallies

    tickets = Tickets()
    segments = segments_of(frames, Dissector(limits=limits, tallies=Tallies(), with_links=False))
    for event in LayerChain(stream_layers(limits)).run(segments):
        if isinstance(event, TicketIssued):
            tickets.note(event.digest, event.issued)
    return tickets


def _read(
    waiting: list[Iterable[Event]],
    facts: Callable[[], CaptureFacts],
    keyring: Keyring,
    limits: Limits,
    *,
    pdus: bool,
    redactor: Sequence[Layer] = (),
    failed: Callable[[Exception], None] | None = None,
    tickets: Tickets | None = None,
    in_sessions: InSessions = "all",
    with_files: bool = False,
    sharing: Sharing | None = None,
) -> Analysis | None:
    """Reads the waiting segments through all layers, and resolves what only the whole capture shows. With `sharing`, several
    processes do that if it pays. Returns None if one process must read the capture instead."""
    from analyzer.auth.kdc_replies import Tickets
    from analyzer.interfaces.pcq.perflib_layer import CatalogLearner, PerflibLayer
    from analyzer.interfaces.resolution.whole_capture_resolution import resolved
    from analyzer.interfaces.winperf.winreg_layer import KeyFollower
    from analyzer.transport.rpc.client_marks_in_rpc import MarksInSessions

    learner, follower, collected = CatalogLearner(), KeyFollower(), EventCollector(limits)
    pcq = PerflibLayer(learner)
    above = (*redactor, *decoding_layers(pcq, follower))
    file_log = _file_log(limits) if with_files else None
    message_log = file_log.take_message if file_log is not None else None
    below, known = stream_layers(limits), tickets if tickets is not None else Tickets()
    selected = _naming_calls() if in_sessions == "naming" else None
    channels, rpc = call_layers(keyring, limits, known, pdus=pdus, message_log=message_log, selected=selected)
    before_rpc = [MarksInSessions()] if in_sessions == "none" else []
    upper = [*channels, *before_rpc, rpc, *above]
    if sharing is None:
        groups: list[Iterator[Sequence[Event]]] = [LayerChain([*below, *upper]).groups(waiting.pop())]
    else:
        from analyzer.pipeline.shard_coordinator import FoundInShards

        try:
            shared = sharing.read(LayerChain(below).groups(waiting.pop()), facts, learner, follower)
        except Exception as error:
            if isinstance(error, InputError):
                raise
            return None  # one process says how far it came
        if shared is None:
            return None
        if isinstance(shared, FoundInShards):
            groups = [iter([shared.events])]
            collected.calls, collected.closed = shared.calls, set(shared.closed)
            collected.jobs = shared.jobs
            pcq.losses += shared.losses
        else:
            groups = [LayerChain(upper).above(shared)]
    _collect(groups, collected, facts, failed)
    calls, notes = resolved(collected.calls, learner, follower, pcq.losses, collected.conflicts, collected.late)
    collected.problems += notes
    analysis = collected.analysis(facts(), calls, learner.catalogs, follower.names, secrets_given=bool(keyring))
    return analysis if file_log is None else replace(analysis, files=file_log.found(analysis.sessions))


def _sharing(
    sources: Sequence[Source],
    bound: ReadBound | None,
    keyring: Keyring,
    limits: Limits,
    jobs: int | None,
    *,
    with_links: bool,
) -> Sharing | None:
    """Returns how several processes share a run over captures; None if one process reads them alone."""
    if jobs == 1:
        return None
    from analyzer.capture.capture_reader import named_captures

    expanded = named_captures(sources, [])
    # Only files can be read by several processes.
    files = [source for source in expanded if isinstance(source, Path) and source.is_file()]
    if len(files) < len(expanded):
        return None
    size = sum(path.stat().st_size for path in files)
    if jobs is None and size < _LEAST_SHARED:
        return None
    from analyzer.pipeline.shard_coordinator import Sharing  # few captures are large

    return Sharing(files, size, bound, keyring, limits, jobs, with_links=with_links)


def _without_names(analysis: Analysis, pseudonyms: Pseudonyms) -> Analysis:
    from analyzer.interfaces.redaction.redactor import without_names  # few runs replace names

    return without_names(analysis, pseudonyms)


def _naming_calls() -> NamingCalls:
    from analyzer.interfaces.call_contents.machine_names import NamingCalls  # few commands read these calls alone

    return NamingCalls()


def _file_log(limits: Limits) -> FileLog:
    from analyzer.transport.smb.files.file_log import FileLog  # few commands ask for files

    return FileLog(limits)


def _redaction(
    pseudonyms: Pseudonyms | None, metadata: Sequence[Metadata], metadata_from: str | None
) -> tuple[list[Layer], Sequence[Metadata], str | None]:
    """Returns the redaction layer of a run, if asked for, and the metadata of servers by their pseudonyms."""
    if pseudonyms is None:
        return [], metadata, metadata_from
    from analyzer.interfaces.redaction.redactor import Redactor, redacted_metadata

    chosen = pseudonyms.address(metadata_from) if metadata_from is not None else None
    return [Redactor(pseudonyms)], redacted_metadata(metadata, pseudonyms), chosen


def _collect(
    waiting: list[Iterator[Sequence[Event]]],
    collected: EventCollector,
    facts: Callable[[], CaptureFacts],
    failed: Callable[[Exception], None] | None,
) -> None:
    """Collects the groups of events at the top of a run's layers; `failed` is described at `analyze`."""
    take = collected.take_event
    try:
        for group in waiting.pop():
            for event in group:
                take(event)
    except Exception as error:
        if failed is None or isinstance(error, InputError):
            raise
        failed(error)
        collected.ends_early(error, facts().frames)


def _run_over_case(
    sources: Sequence[Source],
    metadata: Sequence[Metadata],
    metadata_from: str | None,
    *,
    hashing: bool,
    redacting: bool,
) -> Analysis:
    """Runs no layers where a case is read: opens it, and its analysis stands in place of a run over its captures."""
    if redacting:
        raise InputError("a case is not redacted", hint="Save it with --redact from its captures.")
    case, *others = sources
    if others:
        raise InputError("a case is opened alone", hint="Save one case of all captures.")
    assert isinstance(case, str | Path)
    from analyzer.pipeline.case import open_case  # few analyses are of a case

    return _filled(open_case(case, hashing=hashing), metadata, metadata_from)


def _filled(analysis: Analysis, metadata: Sequence[Metadata], instead: str | None) -> Analysis:
    if not metadata:
        return analysis
    from analyzer.results.reported_names.saved_metadata import filled  # few runs have names of a file

    return filled(analysis, metadata, instead)


def with_embedded(sources: Sequence[Source], keyring: Keyring) -> tuple[Keyring, list[Problem]]:
    """Returns the keyring for a run, with the keys embedded in captures, which are tried last, and the problems of these keys."""
    from analyzer.capture.capture_reader import named_captures
    from analyzer.capture.embedded_secrets import embedded_secrets

    problems: list[Problem] = []
    for path in named_captures(sources, []):
        if isinstance(path, Path) and path.is_file() and (found := embedded_secrets(path)):
            from analyzer.auth.secrets import keyring_of_documents

            try:
                keyring = keyring.merged(keyring_of_documents(path, found))
            except InputError as error:
                problems.append(
                    Problem(
                        "note", "capture", (), f"the secrets that {text_of_path(path)} carries are not used: {error}"
                    )
                )
    return keyring, problems


def smb_session_keys(
    sources: Sequence[Source],
    keyring: Keyring,
    *,
    engine: Engine = "own",
    limits: Limits = DEFAULTS,
    lost: Callable[[Problem], None] | None = None,
    progress: Callable[[int, int], None] | None = None,
    bound: ReadBound | None = None,
) -> dict[int, bytes]:
    """Runs the layers over captures for the session key of every SMB2 session whose handshake the keyring opens, by session id.

    `progress` and `bound` are as for `analyze`; `lost` is called with each problem of the files themselves: one that
    cannot be read, or whose reading breaks off.
    """
    from analyzer.transport.tcp.reassembler import Reassembler

    segments, _ = own_segments(sources, progress, limits, bound=bound) if engine == "own" else tshark_segments(sources)
    found: dict[int, bytes] = {}
    chain = LayerChain([Reassembler(limits), *channel_layers(keyring, limits, key_log=found.setdefault)])
    for event in chain.run(segments):
        if lost is not None and isinstance(event, Problem) and event.is_of_file:
            lost(event)
    return found


def with_digests(facts: CaptureFacts) -> CaptureFacts:
    return replace(facts, digests=digests_of(facts))


def digests_of(facts: CaptureFacts) -> tuple[FileDigest, ...]:
    """Returns the digest of every capture file that a run read. A file that our own engine did not read to its end in that run is
    read again for it."""
    from analyzer.capture.file_digest import digest_of

    known = {digest.name: digest for digest in facts.digests}
    return tuple(known.get(name) or digest_of(path_of_text(name)) for name in facts.files)
