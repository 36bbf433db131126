"""Joins the conversations of a dataset into one analysis, the same as one run over all captures gives: for `diff`.

Conversations are opened one after the other. Their calls go into one table, in the order of their first frames, and counter names
are learnt in that order. Sessions, logons and channels of a conversation have its number in front, as in the tables. An address is
one machine, whatever its site.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace

from analyzer.collect.dataset_manifest import Facts, Manifest, read_facts
from analyzer.collect.render_stage import opened_conversation
from analyzer.collect.stage_tasks_and_facts import ConversationFacts
from analyzer.collect.whole_dataset_tables import problems_of
from analyzer.core.byte_origins import PACKED_EXTENT, PACKED_SHARED, PackedOrigins
from analyzer.core.errors import InputError
from analyzer.core.events import Problem
from analyzer.core.frame_ids import file_of, frame_id, number_of
from analyzer.core.output.file_store import StorageError, Store
from analyzer.core.traced_bytes import TracedBytes
from analyzer.interfaces.pcq.perflib_layer import CatalogLearner, lesson_of
from analyzer.interfaces.resolution.whole_capture_resolution import call_order
from analyzer.interfaces.winperf.winreg_layer import KeyFollower, holds_names
from analyzer.results.analysis import NUMBER_SHIFT, Analysis, CaptureFacts, DatasetOrigin, FileDigest, Part
from analyzer.results.calls.call import Call, Side
from analyzer.results.calls.call_row_columns import Context
from analyzer.results.calls.call_table import CallTable
from analyzer.results.calls.merged_call_tables import Renumbering
from analyzer.results.calls.ordered_calls import OrderedCalls
from analyzer.results.calls.pdus import Fragment, Fragments, Pdus
from analyzer.results.calls.query_state import QueryView

# Numbers of calls by conversation, as their conversation counts them.
Chosen = Mapping[int, Sequence[int]]
# The fields of an analysis that hold events.
_EVENTS = ("problems", "sessions", "logons", "bounds", "features", "marks", "flow_links")


def joined(store: Store, manifest: Manifest, chosen: Chosen | None = None, words: str = "") -> Analysis:
    """Returns one analysis of all conversations of a dataset. `chosen` limits it to these calls; `words` describe the choice.

    Raises `InputError` if a case is damaged, or storage gives no answer.
    """
    all_of_them = _JoinedConversations()
    try:
        facts = read_facts(store, manifest)
        for one in facts.conversations:
            if one.state is not None:
                with opened_conversation(store, one.state) as analysis:
                    all_of_them.add_conversation(analysis, _Places(one))
    except StorageError as error:
        raise InputError(str(error)) from None
    problems = [*problems_of(facts.files, facts.conversations)]
    problems += [
        Problem("failed", "pipeline", (), one.failure) for one in facts.conversations if one.failure is not None
    ]
    analysis = all_of_them.analysis(_capture_of(manifest, facts), problems)
    numbers = np.asarray(all_of_them.numbers, np.int64)[np.asarray(analysis.calls.order, np.int64)]
    cases = {one.number: store.url(one.state) for one in facts.conversations if one.state is not None}
    root = store.root if store.local is None else str(store.local)
    origin = DatasetOrigin(root, len(manifest.sources), numbers, cases if store.local is not None else {})
    analysis = replace(analysis, dataset=origin)
    if chosen is None:
        return analysis
    known = ((conversation << NUMBER_SHIFT) + own for conversation, its in chosen.items() for own in its)
    shown = sorted(map(analysis.number_of, known))
    used = {analysis.calls[number - 1].session for number in shown}
    sessions = tuple(one for one in analysis.sessions if one.number in used)
    return replace(analysis, part=Part(shown, sessions, words))


def _capture_of(manifest: Manifest, facts: Facts) -> CaptureFacts:
    names = {ip: name for file in facts.files for ip, name in file.names.items()}
    return CaptureFacts(
        files=tuple(source.url for source in manifest.sources),
        frames=manifest.frames,
        bytes=manifest.bytes,
        first_time_ns=manifest.first_time_ns,
        last_time_ns=manifest.last_time_ns,
        names=names,
        digests=tuple(FileDigest(source.url, source.size, source.sha256) for source in manifest.sources),
    )


class _Places:
    """Converts the numbers and frames of one conversation to those of the joined dataset."""

    def __init__(self, one: ConversationFacts) -> None:
        self.base = one.number << NUMBER_SHIFT
        shifted = range(self.base, self.base + (1 << NUMBER_SHIFT))
        self.numbers = Renumbering(dict.fromkeys(("sessions", "smb_logons", "rpc_logons", "channels"), shifted))
        # A source's number is its index in the manifest.
        self._files = one.files
        self._stay = one.files == list(range(len(one.files)))
        self._contexts: dict[int, Context] = {}

    def frame(self, frame: int) -> int:
        return frame_id(self._files[file_of(frame)], number_of(frame))

    def frames(self, frames: Sequence[int]) -> tuple[int, ...]:
        return tuple(map(self.frame, frames))

    def event(self, event: Any) -> Any:
        """Returns an event of a conversation with the frames and numbers of the joined dataset."""
        return replace(self.numbers.event(event), frames=self.frames(event.frames))

    def call(self, call: Call, context: int, context_of: Sequence[Context]) -> Call:
        if (shared := self._contexts.get(context)) is None:
            shared = self._contexts[context] = self.numbers.context(context_of[context])
        return replace(
            call,
            session=shared.session,
            auth=shared.auth,
            channel=shared.channel,
            security=shared.security,
            key_number=self.base + call.key_number if call.key_number is not None else None,
            read=replace(call.read, number=self.base + call.read.number) if call.read is not None else None,
            request=self._side(call.request),
            response=self._side(call.response),
        )

    def _side(self, side: Side | None) -> Side | None:
        if side is None or self._stay:
            return side
        return replace(side, pdus=self._pdus(side.pdus), frames_of_dropped=self.frames(side.frames_of_dropped))

    def _pdus(self, pdus: Fragments) -> Fragments:
        if isinstance(pdus, tuple):
            return tuple([Fragment(self._moved(one.pdu), one.stub_start, one.stub_stop, one.plain) for one in pdus])
        return Pdus(self._moved(pdus.whole), pdus.stops, pdus.bounds, pdus.step, pdus.plains, pdus.unsealed)

    def _moved(self, data: TracedBytes) -> TracedBytes:
        """Returns traced bytes of a conversation with frames of the joined dataset as their origin."""
        out, sharing = bytearray(), 0
        for frame, start, length in PACKED_EXTENT.iter_unpack(data.packed_origins):
            is_count = not sharing and frame & PACKED_SHARED
            out += PACKED_EXTENT.pack(frame if is_count else self.frame(frame), start, length)
            sharing = start if is_count else max(sharing - 1, 0)
        return data.moved(0, len(data), PackedOrigins(bytes(out), len(data)))


class _JoinedConversations:
    """Joins the analyses of a dataset's conversations."""

    def __init__(self) -> None:
        self.numbers = array("q")
        self._calls = CallTable()
        # The calls that teach something of counters, by their position in the table.
        self._teaching: set[int] = set()
        self._views, self._states = array("q"), list[QueryView]()
        self._events: dict[str, Any] = {name: [] for name in _EVENTS}
        self._closed: set[int] = set()
        self._connections: Counter[str] = Counter()
        self._secrets_given = False

    def add_conversation(self, analysis: Analysis, places: _Places) -> None:
        """Adds the analysis of one conversation to the joined analysis."""
        calls = analysis.calls
        views = np.array(calls.views, np.int64)
        views[views >= 0] += len(self._states)
        self._views.frombytes(views.tobytes())
        self._states += [replace(state, number=places.base + state.number) for state in calls.states]
        contexts = calls.column("context").tolist()
        for number, (call, context) in enumerate(zip(calls, contexts, strict=True), 1):
            at = self._calls.append(places.call(call, context, calls.table.contexts))
            self.numbers.append(places.base + number)
            if holds_names(call) or (call.is_perflib and lesson_of(call) is not None):
                self._teaching.add(at)
        for name, events in self._events.items():
            events += map(places.event, getattr(analysis, name))
        self._closed.update(places.base + channel for channel in analysis.closed)
        self._connections.update(analysis.connections)
        self._secrets_given |= analysis.secrets_given

    def analysis(self, capture: CaptureFacts, problems: Sequence[Problem]) -> Analysis:
        """Returns the joined analysis of all conversations, its calls in the order of time."""
        order = call_order(self._calls, range(len(self.numbers)))
        learner, follower = CatalogLearner(), KeyFollower()
        for at in order:
            if at in self._teaching:
                learner.learn(self._calls[at])
                follower.learn(self._calls[at])
        views = np.asarray(self._views, np.int64)[np.asarray(order, np.int64)]
        # Query handles have the numbers of one run: in the order of their first uses.
        handles: dict[int, int] = {}
        for view in views[views >= 0].tolist():
            handles.setdefault(self._states[view].number, len(handles) + 1)
        states = [replace(one, number=handles.get(one.number, one.number)) for one in self._states]
        self._events["problems"] += problems
        for name in ("sessions", "logons"):
            self._events[name].sort(key=lambda one: (one.first_time_ns, one.number))
        return Analysis(
            capture=capture,
            calls=OrderedCalls(self._calls, order, array("q", views.tolist()), states),
            pdus=(),
            catalogs=learner.catalogs,
            name_tables=follower.names,
            secrets_given=self._secrets_given,
            closed=frozenset(self._closed),
            connections=self._connections,
            **self._events,
        )
