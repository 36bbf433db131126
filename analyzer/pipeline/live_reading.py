"""Reads captures live: chains the layers, takes events from them, yields calls in order, problems, and the ends of blocks."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Protocol

from msgspec.structs import replace

from analyzer.auth.kdc_replies import Tickets
from analyzer.auth.keyring import Keyring
from analyzer.core.errors import InputError
from analyzer.core.events import BlockEnds, Conflict, Event, Moment, Problem
from analyzer.core.limits import DEFAULTS, Limits
from analyzer.core.times import NS_PER_S
from analyzer.interfaces.calls_from_exchanges import plain_call
from analyzer.interfaces.pcq.perflib_layer import CatalogLearner, PerflibLayer
from analyzer.interfaces.resolution.streamed_calls import CallStream
from analyzer.interfaces.resolution.whole_capture_resolution import Marks
from analyzer.interfaces.winperf.winreg_layer import KeyFollower
from analyzer.pipeline.layer_chain import LayerChain, call_layers, decoding_layers, stream_layers
from analyzer.pipeline.run import Engine, EventCollector, with_digests, with_embedded
from analyzer.pipeline.segment_sources import Source, own_segments, tshark_segments
from analyzer.results.analysis import Analysis, CaptureFacts
from analyzer.results.calls.call import Call
from analyzer.results.calls.call_table import CallTable, Tally
from analyzer.results.calls.ordered_calls import OrderedCalls
from analyzer.results.reported_names.saved_metadata import fill_from_metadata
from analyzer.transport.rpc.exchange_maker import Exchange, OpenCall

if TYPE_CHECKING:
    from analyzer.capture.capture_reader import ReadBound
    from analyzer.results.reported_names.counter_name_tables import NameTables
    from analyzer.results.reported_names.counterset_catalog import Catalogs
    from analyzer.results.reported_names.saved_metadata import Metadata


class Collector(Protocol):
    """Collects the events of a live reading that are no calls (`pipeline.run.EventCollector`)."""

    problems: list[Problem]
    conflicts: list[Conflict]

    def take_event(self, event: Event) -> None: ...

    def ends_early(self, error: Exception, frames: int) -> None: ...

    def unlisted(self) -> Iterator[Problem]: ...

    def analysis(
        self, capture: CaptureFacts, calls: OrderedCalls, catalogs: Catalogs, names: NameTables, *, secrets_given: bool
    ) -> Analysis: ...


class Stream:
    """A capture that is read live, while the caller iterates over its calls.

    `analysis` holds what is known so far, without calls; before the end of the capture, only the files and the time of the first
    frame are known. `tally` counts calls.
    """

    analysis: Analysis

    def __init__(
        self,
        events: Generator[Event],
        open_since: Callable[[int], int | None],
        open_before: Callable[[int], Iterable[OpenCall]],
        calls: CallStream,
        collected: Collector,
        facts: Callable[[], CaptureFacts],
        catalogs: Catalogs,
        names: NameTables,
        limits: Limits,
        *,
        metadata: Sequence[Metadata] = (),
        metadata_from: str | None = None,
        notes: Iterable[Problem] = (),
        failed: Callable[[Exception], None] | None = None,
    ) -> None:
        """`events` come from the top of the layers while the capture is read. `open_since` returns the begin of the first
        incomplete event that began at a time or later. `open_before` returns the calls under way that began before a time. `notes`
        are stated at the end. All else is described at `pipeline.run.analyze`."""
        self._events, self._calls = events, calls
        self._open_since, self._open_before = open_since, open_before
        self._collected, self._facts, self._limits = collected, facts, limits
        self._catalogs, self._names = catalogs, names
        self._metadata, self._metadata_from, self._notes, self._failed = metadata, metadata_from, notes, failed
        self._servers: set[str] = set()
        self._marks = Marks()
        self._stated = 0
        self.is_finished = False

    @property
    def tally(self) -> Mapping[Tally, int]:
        """Returns how many calls of the live reading have each state, interface and method."""
        return self._calls.tally

    def __iter__(self) -> Iterator[Call | Problem | BlockEnds]:
        facts = self._facts()
        self.analysis = self._analysis(CaptureFacts(facts.files, 0, 0, None, None))
        try:
            with closing(self._events):
                for event in self._events:
                    if isinstance(event, BlockEnds):
                        yield from self._until(self._before(event.before))
                        yield event
                    else:
                        self._take(event)
        except Exception as error:
            if self._failed is None or isinstance(error, InputError):
                raise
            self._failed(error)
            self._collected.ends_early(error, self._facts().frames)
        yield from self._until(None)
        self._collected.problems += [
            *self._calls.notes(),
            *self._notes,
            *self._filled(self._servers),
            *self._collected.unlisted(),
        ]
        yield from self._problems()
        self.analysis = self._analysis(self._facts())
        self.is_finished = True

    def _analysis(self, facts: CaptureFacts) -> Analysis:
        none = OrderedCalls(CallTable(), ())
        return self._collected.analysis(facts, none, self._catalogs, self._names, secrets_given=False)

    def _take(self, event: Event) -> None:
        if isinstance(event, Call | Exchange):
            call = event if isinstance(event, Call) else plain_call(event)
            for problem in self._calls.take_call(call):
                self._collected.take_event(problem)
        else:
            self._collected.take_event(event)

    def _before(self, read: Moment) -> Moment:
        """Returns the moment before which nothing of the live reading is open, given the moment up to which it was read. Open
        events are not waited for longer than the limit."""
        since = read[0] - self._limits.order_time * NS_PER_S
        first_open = self._open_since(since)
        return read if first_open is None else min(read, (first_open, 0))

    def _until(self, before: Moment | None) -> Iterator[Call | Problem]:
        """Yields the calls and problems that are final now that the capture was read live up to a moment."""
        if self.analysis.capture.first_time_ns is None:
            facts = self._facts()
            known = CaptureFacts(facts.files, 0, 0, facts.first_time_ns, None, facts.names)
            self.analysis = replace(self.analysis, capture=known)
        yield from self._problems()
        passed_over = self._open_before(before[0]) if before is not None else ()
        for call in self._calls.until(before, passed_over):
            if (call.is_perflib or call.is_winreg) and call.server.ip not in self._servers:
                self._servers.add(call.server.ip)
                # Its notes come at the end, when the whole capture is known.
                list(self._filled({call.server.ip}))
            self._marks.add(self._collected.conflicts)
            yield self._marks.marked(call) if self._marks.frames else call

    def _problems(self) -> Iterator[Problem]:
        """The problems of the live reading that were listed since the last time."""
        problems = self._collected.problems
        stated, self._stated = self._stated, len(problems)
        yield from problems[stated:]

    def _filled(self, servers: Iterable[str]) -> Iterator[Problem]:
        if self._metadata:
            yield from fill_from_metadata(
                self._catalogs, self._names, servers, self._metadata, instead=self._metadata_from
            )


def stream(
    sources: Sequence[Source],
    keyring: Keyring | None = None,
    *,
    engine: Engine = "own",
    limits: Limits = DEFAULTS,
    progress: Callable[[int, int], None] | None = None,
    metadata: Sequence[Metadata] = (),
    metadata_from: str | None = None,
    failed: Callable[[Exception], None] | None = None,
    hashing: bool = False,
    bound: ReadBound | None = None,
    block_bytes: int | None = None,
) -> Stream:
    """Reads captures live, as a stream: they are read while calls are taken from them. All parameters are described at
    `run.analyze`.

    A call comes as soon as no call that began before its end is under way. The calls are in order, except those that the stream did
    not wait for any longer. A call is named by what the calls before it state. Memory does not grow with the calls. Captures are
    read in blocks of `block_bytes` at first. A case is no capture.
    """
    keyring, notes = with_embedded(sources, keyring if keyring is not None else Keyring())
    segments, facts = (
        own_segments(sources, progress, limits, hashing=hashing, bound=bound, streaming=True, block_bytes=block_bytes)
        if engine == "own"
        else tshark_segments(sources, streaming=True)
    )
    learner, follower = CatalogLearner(), KeyFollower(learning=False)
    pcq = PerflibLayer(learner, learning=False)
    channels, rpc = call_layers(keyring, limits, Tickets(), pdus=False)
    chain = LayerChain([*stream_layers(limits), *channels, rpc, *decoding_layers(pcq, follower)])
    return Stream(
        chain.run(segments),
        chain.open_since,
        rpc.open_before,
        CallStream(pcq.losses, learner, follower, limits.order_calls),
        EventCollector(limits),
        facts if not hashing else lambda: with_digests(facts()),
        learner.catalogs,
        follower.names,
        limits,
        metadata=metadata,
        metadata_from=metadata_from,
        notes=notes,
        failed=failed,
    )
