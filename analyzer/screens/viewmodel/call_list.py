"""Makes the rows of the call list: one row a call, in words."""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from msgspec.structs import replace

from analyzer.core.caches import Kept
from analyzer.core.frame_ids import file_of, number_of
from analyzer.results.analysis import Analysis, CaptureFacts
from analyzer.results.calls.call import Call
from analyzer.results.calls.call_row_columns import NOTHING_RARE
from analyzer.results.calls.held_calls import HeldCall, HeldSide
from analyzer.results.methods.perflib import INTERFACE
from analyzer.results.records.display_records import Outcome, Row
from analyzer.screens.viewmodel.call_summary_words import (
    KnownAnswers,
    answer_words,
    method_words,
    request_words,
    status_words,
)


def rows(analysis: Analysis) -> Iterator[Row]:
    """Yields the row of every call for the call list, in the order of the timeline."""
    made, calls = _AlikeRows(analysis), analysis.calls
    numbers = range(1, len(calls) + 1)
    return (made.row(number, held) for number, held in zip(numbers, calls.held(numbers), strict=True))


class _AlikeRows:
    """Makes the rows of the call list, and the words of calls that are alike only once. Most calls are polls, and a poll has the
    words of the poll before it."""

    # The longest buffer that is compared with others, the most bytes that are kept, and the bytes of a row.
    _LONGEST, _MOST_BYTES, _OF_A_ROW = 4 << 10, 4 << 20, 2 << 10

    def __init__(self, analysis: Analysis) -> None:
        self._analysis, self._calls, self._facts = analysis, analysis.calls, analysis.capture
        # For each call, a number of what its words depend on besides its sides.
        kinds: dict[Hashable, int] = {}
        kind_of = [
            kinds.setdefault((context.server, context.interface, context.syntax), len(kinds))
            for context in analysis.calls.table.contexts
        ]
        self._kinds = [kind_of[context] for context in analysis.calls.column("context").tolist()]
        # For each state of a query handle, a number of the countersets that the blocks of its answers show.
        self._shown: dict[int, int] = {}
        self._countersets: dict[Hashable, int] = {}
        self._known = KnownAnswers(analysis)
        self._rows: Kept[Row] = Kept(self._MOST_BYTES)

    def row(self, number: int, held: HeldCall | None) -> Row:
        """Returns the row of a call in the call list. `held` is its row of the call table, None if the call itself is needed."""
        view = self._calls.views[number - 1]
        query = self._calls.states[view] if view >= 0 else None
        key = self._alike(number, held, view) if held is not None else None
        if held is None or key is None:
            return self._looked_at(number)
        first = self._rows.get(key, lambda: self._looked_at(number), lambda _: self._OF_A_ROW)
        if first.number == number:
            return first
        frames = {frame for side in (held.request, held.response) if side is not None for frame in side.frames}
        auth = held.shared.auth
        return replace(
            first,
            number=number,
            time_ns=held.time_ns,
            client=held.shared.client,
            user=auth.user,
            claimed_user=auth.claimed_user,
            handle=f"q{query.number}" if query is not None else None,
            latency_ns=held.latency_ns,
            frames=tuple([frame_label(frame, self._facts) for frame in sorted(frames)]),
        )

    def _looked_at(self, number: int) -> Row:
        return row_of(self._calls[number - 1], self._analysis, self._known)

    def _alike(self, number: int, held: HeldCall, view: int) -> Hashable | None:
        """Returns a key that is equal for calls whose rows in the list differ only in number, time, client, user, latency, handle
        and frames. None if the call itself is needed."""
        shared, request, response = held.shared, held.request, held.response
        if held.rare is not NOTHING_RARE or shared.interface.uuid != INTERFACE or held.key_number is not None:
            return None
        if request is None or response is None or request.missing is not None or response.missing is not None:
            return None
        sides: list[Hashable] = []
        for side in (request, response):
            content = self._content(held, side, view)
            if content is None or any(isinstance(value, list) for value in side.params.values()):
                return None
            sides += (content, side.wire_length, side.stub_length, side.buffer_span, side.buffer_kind, side.big_endian)
            sides += [item for item in side.params.items() if not isinstance(item[1], dict)]
        of_call = held.opnum, held.method, held.state, held.status, held.fault
        return (self._kinds[number - 1], *of_call, *sides)

    def _content(self, held: HeldCall, side: HeldSide, view: int) -> Hashable | None:
        """Returns a key for the buffer of a side, to compare rows of the call list: its layout with what the blocks show, or its
        bytes. None if the call itself is needed."""
        if side.buffer_span is None or side.buffer_kind is None:
            return b""
        if not isinstance(side.stub, bytes):
            return None
        data = side.stub[slice(*side.buffer_span)]
        if side.buffer_kind == "perf-data":
            query = self._calls.states[view] if view >= 0 else None
            found = self._known.bindings.perflib(held.shared.server, query, data)
            if query is not None and view not in self._shown:
                shown = query.counterset, *[(block, one.counterset) for block, one in query.blocks.items()]
                self._shown[view] = self._countersets.setdefault(shown, len(self._countersets))
            return (found[0].layout, self._shown.get(view)) if found is not None else None
        return data if len(data) <= self._LONGEST else None


def row_of(call: Call, analysis: Analysis, known: KnownAnswers | None = None) -> Row:
    """Returns the row of a call in the call list. Takes the words for an answer that came before from `known`."""
    return Row(
        number=call.number,
        time_ns=call.time_ns,
        client=call.client,
        server=call.server,
        user=call.auth.user,
        claimed_user=call.auth.claimed_user,
        interface=call.interface.name or call.interface.uuid,
        method=method_words(call),
        handle=call.handle,
        asked=request_words(call, analysis),
        answered=answer_words(call, analysis, known=known),
        status=status_words(call),
        outcome=outcome_of(call),
        state=call.state,
        reason=call.reason,
        latency_ns=call.latency_ns,
        frames=tuple(frame_label(frame, analysis.capture) for frame in call.frames),
    )


def outcome_of(call: Call) -> Outcome:
    """Returns the outcome of a call, which gives its colour in the call list."""
    match call.outcome:
        case "answered":
            return "ok"
        case "refused":
            return "size" if call.asks_size else "failed"
        case _:
            if call.state == "sealed":
                return "sealed"
            return "one-sided" if call.state in ("request-only", "response-only") else "damaged"


def frame_label(frame: int, facts: CaptureFacts) -> str:
    """Names a frame as the rows of the call list do, for people: `12`, or `2:12` for frame 12 of the second of several files."""
    number = str(number_of(frame))
    return number if len(facts.files) <= 1 else f"{file_of(frame) + 1}:{number}"
