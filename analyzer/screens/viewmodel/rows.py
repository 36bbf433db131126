"""The rows of the call list: one a call, in words."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.core.frames import file_of, number_of
from analyzer.results.analysis import Analysis, CaptureFacts
from analyzer.results.call import Call
from analyzer.results.view import Outcome, Row
from analyzer.screens.viewmodel.words import KnownAnswers, answer_words, method_words, request_words, status_words


def rows(analysis: Analysis) -> Iterator[Row]:
    """Every call, in the order of the timeline."""
    known = KnownAnswers(analysis)
    return (row_of(call, analysis, known) for call in analysis.calls)


def row_of(call: Call, analysis: Analysis, known: KnownAnswers | None = None) -> Row:
    """The row of a call. What was said of the same answer before is taken from `known`."""
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
    """What became of a call, for its colour."""
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
    """A frame's name: `12`, `2:12` for frame 12 of the second of several files."""
    number = str(number_of(frame))
    return number if len(facts.files) <= 1 else f"{file_of(frame) + 1}:{number}"
