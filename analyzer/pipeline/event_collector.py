"""Collects the events at the top of the layers by kind: events in, the contents of an `Analysis` out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from analyzer.core.events import CaptureEnds, Conflict, Event, Problem
from analyzer.core.limits import Limits
from analyzer.interfaces.calls_from_exchanges import plain_call
from analyzer.results.analysis import Analysis, CaptureFacts
from analyzer.results.calls.call import Call
from analyzer.results.calls.call_table import CallTable
from analyzer.results.calls.ordered_calls import OrderedCalls
from analyzer.results.connection import Bound, ClientMarks, FeaturesOffered, FlowLink, LateLogon, Logon, Pdu, SmbSession
from analyzer.results.records.record_types import Endpoint
from analyzer.results.reported_names.counter_name_tables import NameTables
from analyzer.results.reported_names.counterset_catalog import Catalogs
from analyzer.transport.channel.channel_events import ChannelClosed
from analyzer.transport.rpc.exchange import Exchange
from analyzer.transport.tcp.stream_events import Recognised

_Listed = TypeVar("_Listed")
# Memory of a listed item beside its text and numbers, as measured.
_LISTED_COST = 500
# In calls of so many is looked which of them used bytes with two versions.
_MOST_CONFLICTS = 4096


class EventCollector:
    """Collects the events that reach the top of the layers, by kind."""

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

    def _mark(self, event: ClientMarks) -> None:
        """Keeps the first of equal client marks of a connection. A connection shows the same marks again and again."""
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
        """Notes the problem that the program failed after this number of frames."""
        text = f"the program failed here ({type(error).__name__}): nothing beyond frame {frames} was read"
        self.problems.append(Problem("failed", "pipeline", (), text))

    def unlisted(self) -> Iterator[Problem]:
        """Yields problems that state how many events were not listed because of limits."""
        for what, count in self._unlisted.items():
            yield Problem("limit", "pipeline", (), f"{count} more {what} were met than are listed")

    def analysis(
        self, capture: CaptureFacts, calls: OrderedCalls, catalogs: Catalogs, names: NameTables, *, secrets_given: bool
    ) -> Analysis:
        """Returns the analysis of the collected events, with the calls in order and what servers stated about counters."""
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
        """Yields the flow links of connections that have SMB sessions or logons. Nobody asks for others."""
        ends = {(one.client, one.server) for one in self.sessions} | {(one.client, one.server) for one in self.logons}
        return (one for one in self.flow_links if (one.src, one.dst) in ends or (one.dst, one.src) in ends)

    def sessions_in_order(self) -> tuple[SmbSession, ...]:
        """The SMB sessions by the time of their first frame."""
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
                self._mark(event)
            case Pdu():
                self.pdus.append(event)
